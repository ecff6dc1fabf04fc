"""Sweeps: cells are runs, nothing is asked twice, and what settings do is found."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from eyechart.report.sweep import Sweep
from eyechart.runs.sweep import plan_sweep
from support.command import eyechart, eyechart_process
from support.files import jsonl, picture
from support.pages import read_blocks
from support.server import Server

# Right on half of the questions; 20 more of 100 with enough pixels, 15 more with enough tokens.
MODEL = """
import hashlib
from PIL import Image

class Mine:
    def __init__(self, max_tokens=1000, model="", style="", **more):
        self.max_tokens = int(max_tokens)

    def generate(self, text, images):
        with open("asked.txt", "a", encoding="utf-8") as file:
            file.write(text.split("Question ")[1].split("?")[0] + "\\n")
        with Image.open(images[0]) as image:
            pixels = image.width * image.height
        k = int(text.split("Question ")[1].split("?")[0])
        if self.max_tokens > 50_000:
            raise ValueError("max_tokens is too large")
        luck = int(hashlib.sha256(str(k).encode()).hexdigest(), 16) % 100
        right = luck < 50 + 20 * (pixels > 2000) + 15 * (self.max_tokens > 2000)
        return "ABC"[(k + (not right)) % 3]
"""
N = 120


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "p.png").write_bytes(picture(size=(64, 64)))
    rows = [
        {"id": f"q{k}", "question": f"Question {k}?", "answer": "ABC"[k % 3], "image": "p.png",
         "group": str(k), "A": "one", "B": "two", "C": "three"}
        for k in range(N)
    ]  # fmt: skip
    jsonl(tmp_path / "q.jsonl", rows)
    return tmp_path


def ask(vary: dict[str, Any], **options: Any) -> Sweep:
    usual: dict[str, Any] = {"progress": False, "cluster": "group", "concurrency": 4}
    return ec.sweep("q.jsonl", "python:m.py:Mine", vary=vary, **usual | options)


def count_asked(folder: Path) -> int:
    file = folder / "asked.txt"
    n = len(file.read_text(encoding="utf-8").split()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return n


def expect(*, pixels: bool, tokens: bool) -> float:
    luck = (int(hashlib.sha256(str(k).encode()).hexdigest(), 16) % 100 for k in range(N))
    return sum(one < 50 + 20 * pixels + 15 * tokens for one in luck) / N


def test_what_pixels_and_tokens_do_is_recovered(folder: Path) -> None:
    found = ask({"max_pixels": ["1k", "0.25M"], "max_tokens": ["1k", "8k"]})
    scores = {cell.label: cell.score for cell in found.cells}
    assert scores == {
        f"max_pixels={p}, max_tokens={t}": expect(pixels=p == "0.25M", tokens=t == "8k")
        for p in ("1k", "0.25M")
        for t in ("1k", "8k")
    }
    assert [cell.settings for cell in found.cells][:2] == [
        {"max_pixels": 1000, "max_tokens": 1000},
        {"max_pixels": 1000, "max_tokens": 8000},
    ]
    worst, best = min(scores, key=lambda one: scores[one] or 0), max(scores, key=lambda one: scores[one] or 0)
    pair = next(one for one in found.pairs if {one.a, one.b} == {worst, best})
    assert (pair.low > 0) == (pair.a == best)
    assert found.spread["max_tokens"]["8k"] > found.spread["max_tokens"]["1k"]
    assert best in found.verdict


def test_a_larger_sweep_asks_only_what_is_new_and_shares_equal_requests(folder: Path) -> None:
    first = ask({"max_pixels": ["1k", "1M"]})
    assert count_asked(folder) == 2 * N
    again = ask({"max_pixels": ["1k", "1M"]})
    assert count_asked(folder) == 0
    assert [cell.score for cell in again.cells] == [cell.score for cell in first.cells]
    ask({"max_pixels": ["1k", "1M", "4M", "default"]})
    assert count_asked(folder) == 0, "no image is larger than a megapixel: the same requests"
    ask({"max_pixels": ["1k", "1M", "4M"]}, fresh=True)
    assert count_asked(folder) == 2 * N, "all of it anew, but nothing twice"


def test_a_sweep_over_prompts_and_parameters(folder: Path) -> None:
    (folder / "a.j2").write_text("{{ question }} Look closely.", encoding="utf-8")
    found = ask(
        {"prompt_template": ["a.j2", "default"], "params.style": ["plain", "long"]}, pairs=True, limit=9
    )
    assert [cell.label for cell in found.cells] == [
        "prompt_template=a.j2, params.style=plain", "prompt_template=default, params.style=long",
    ]  # fmt: skip
    assert [cell.settings for cell in found.cells] == [
        {"prompt_template": "a.j2", "params.style": "plain"},
        {"prompt_template": None, "params.style": "long"},
    ]
    assert set(found.spread) == {"prompt_template", "params.style"}
    assert count_asked(folder) == 18


def test_models_are_varied_as_well(folder: Path) -> None:
    models = ["baseline/random", "baseline/majority"]
    found = ec.sweep("q.jsonl", models, vary={"input": ["image", "none"]}, limit=12, progress=False)
    assert {(cell.settings["model"], cell.settings["input"]) for cell in found.cells} == {
        (model, kind) for model in models for kind in ("image", "none")
    }


def test_options_with_a_notation_of_their_own_are_varied(folder: Path) -> None:
    found = ask({"where": ["group=3,4", "group=4,5"], "limit": ["0.001k", "2"]})
    assert [cell.settings for cell in found.cells] == [
        {"where": {"group": groups}, "limit": n} for groups in ("3,4", "4,5") for n in (1, 2)
    ]
    assert [cell.n for cell in found.cells] == [1, 2, 1, 2]
    assert found.n == 0, "no question is in all of them"
    command = ("sweep", "q.jsonl", "-m", "python:m.py:Mine", "-q")
    done = eyechart(*command, "--vary", "where=group=3,group=4", cwd=folder)
    assert done.code == 0
    assert "no question" in done.out + done.err


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({}, "nothing to vary"),
        ({"max_pixel": ["1"]}, "no option is called 'max_pixel'"),
        ({"concurrency": [1, 2]}, "cannot be varied"),
        ({"stop_when": ["decided"]}, "cannot be varied"),
        ({"input": ["image", "nose"]}, "input is 'nose', but must be one of image, any"),
        ({"max_pixels": []}, "needs one value or more"),
        ({"max_pixels": ["1k", "1k"]}, "each once"),
        ({"max_pixels": ["1k", "1000"]}, "is the same run as"),
        ({"max_pixels": ["many"]}, "must be a whole number"),
        ({"params": ["3"]}, "write params.NAME"),
        ({"max_pixels.x": ["3"]}, "write max_pixels"),
        ({"max_pixels": ["1k"], "max-pixels": ["2k"]}, "varied twice"),
        ({"model": ["baseline/random"]}, "varied with -m"),
        ({"circular": [True, False]}, "cannot be compared: CircularEval differs"),
    ],
)
def test_what_cannot_be_varied(folder: Path, vary: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_sweep("q.jsonl", "python:m.py:Mine", vary=vary, progress=False)
    assert not (folder / "runs").exists()


def test_pairs_need_as_many_values(folder: Path) -> None:
    with pytest.raises(UsageError, match="as many values"):
        plan_sweep("q.jsonl", "python:m.py:Mine", vary={"seed": [1, 2], "max_tokens": [1]}, pairs=True)


def test_the_command_prints_a_table_json_and_a_page(folder: Path) -> None:
    given = ("q.jsonl", "-m", "python:m.py:Mine", "--vary", "max_pixels=1k,1M", "--limit", "60", "-q")
    done = eyechart("sweep", *given, "--json", cwd=folder)
    assert done.code == 0
    told = done.json
    assert told.keys() >= {"cells", "frontier", "verdict"}
    for cell in told["cells"]:
        assert cell.keys() >= {"settings", "score", "ci95", "outcomes", "tokens", "cost", "seconds"}
    assert told["cells"][0]["settings"] == {"max_pixels": 1000}
    page = read_blocks(folder / told["page"])["data"]
    assert page["sweep"]["verdict"] == told["verdict"]
    assert str(folder) not in json.dumps(page)
    shown = eyechart("sweep", *given, "--html", "mine.html", cwd=folder)
    assert told["verdict"] in shown.out
    assert "frontier by latency: #" in shown.out
    assert (folder / "mine.html").is_file()


def test_a_configuration_has_a_sweep(folder: Path) -> None:
    (folder / "c.yaml").write_text(
        "source: q.jsonl\nmodel: python:m.py:Mine\nlimit: 9\n"
        "sweep:\n  max_pixels: [1k, 1M]\n  max_tokens: 1k,8k\n",
        encoding="utf-8",
    )
    done = eyechart("sweep", "c.yaml", "-q", "--json", cwd=folder)
    assert done.code == 0
    assert len(done.json["cells"]) == 4
    other = eyechart("run", "c.yaml", "-q", cwd=folder)
    assert other.code == 2
    assert "eyechart sweep c.yaml" in other.err


def test_a_dry_run_asks_nothing(folder: Path) -> None:
    given = ("q.jsonl", "-m", "python:m.py:Mine", "--vary", "max_pixels=1k,1M", "--dry-run")
    done = eyechart("sweep", *given, "--json", cwd=folder)
    assert (done.code, count_asked(folder)) == (0, 0)
    assert [one["setting"] for one in done.json["estimates"]] == ["max_pixels=1k", "max_pixels=1M"]
    assert done.json["requests"] == 2 * N
    assert "max_pixels=1M" in eyechart("sweep", *given, cwd=folder).out


def test_parameters_are_values_in_the_settings(folder: Path) -> None:
    [cell, other] = plan_sweep(
        "q.jsonl", "openai/m", vary={"params.top_p": ["0.5", "default"]}, base_url="http://localhost:1/v1"
    )
    assert (cell.settings, other.settings) == ({"params.top_p": 0.5}, {"params.top_p": None})


def test_a_setting_that_fails_is_named_and_the_others_are_compared(folder: Path) -> None:
    options: dict[str, Any] = {"retries": 0, "give_up_after": 10_000, "limit": 60}
    found = ask({"max_tokens": ["100k", "1k", "8k"]}, **options)
    assert [cell.score is None for cell in found.cells] == [True, False, False]
    assert found.n == 60
    assert [(pair.a, pair.b) for pair in found.pairs] == [("max_tokens=1k", "max_tokens=8k")]
    assert "max_tokens=100k" not in found.verdict
    [note] = found.notes
    assert note.startswith("max_tokens=100k: not compared, 60 failed, e.g. ")
    assert "max_tokens is too large" in note
    assert found.exit_code == 1
    none = ask({"max_tokens": ["100k", "101k"]}, **options)
    assert (none.n, none.pairs, none.frontier) == (0, (), {})
    assert none.verdict == "nothing to compare: no question was scored with every setting"
    alone = ask({"max_tokens": ["100k", "1k"]}, **options)
    assert alone.verdict == "only one setting has a score: max_tokens=1k"


def test_the_limits_are_those_of_the_whole_sweep(folder: Path) -> None:
    with Server(lambda asked: "A") as server:
        found = ec.sweep(
            "q.jsonl", "openai/m", vary={"max_tokens": [10, 20, 30]}, base_url=server.base_url,
            prices="input=100,output=100", max_cost=0.2, concurrency=1, progress=False,
        )  # fmt: skip
        costs = [cell.cost or 0.0 for cell in found.cells]
        assert 0.19 < sum(costs) <= 0.2
    assert found.cells[2].score is None
    assert found.exit_code == 1
    assert any("--max-cost 0.20 is reached" in note for note in found.notes)


def test_a_sweep_that_was_killed_goes_on(folder: Path) -> None:
    """The model ends the process in the second setting, at its 40th question."""
    (folder / "m.py").write_text(MODEL + KILLER, encoding="utf-8")
    given = ("sweep", "q.jsonl", "-m", "python:m.py:Killer", "--vary", "max_tokens=1k,8k", "--concurrency", 1)
    killed = eyechart_process(*given, "-q", cwd=folder, KILL_AT="160")
    assert killed.code == 9
    done = eyechart(*given, "-q", "--json", cwd=folder)
    assert done.code == 0
    assert [cell["n"] for cell in done.json["cells"]] == [N, N]
    assert count_asked(folder) == 2 * N + 1, "only the question that was being asked is asked again"


KILLER = """

class Killer(Mine):
    def generate(self, text, images):
        import contextlib, os, sqlite3, time
        from pathlib import Path

        def count_stored():
            for journal in Path("runs").rglob("run.sqlite"):
                with contextlib.closing(sqlite3.connect(journal)) as db:
                    yield db.execute("SELECT count(*) FROM replies").fetchone()[0]

        said = super().generate(text, images)
        with open("asked.txt", encoding="utf-8") as file:
            if len(file.read().split()) == int(os.environ.get("KILL_AT", 0)):
                while sum(count_stored()) < 159:  # all but this one
                    time.sleep(0.01)
                os._exit(9)
        return said
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--vary", "max_pixels=1k,1M", "-m", "baseline/random"), "no source given"),
        (("q.jsonl", "--vary", "max_pixels=1k,1M"), "no model given"),
        (("q.jsonl", "-m", "baseline/random"), "nothing to vary"),
        (("q.jsonl", "-m", "baseline/random", "--vary", "max_pixels"), "not NAME=VALUE"),
        (
            ("q.jsonl", "-m", "baseline/random", "--vary", "max_pixels=1k", "--html", "no/p.html"),
            "no such folder",
        ),
    ],
)
def test_wrong_usage(folder: Path, given: tuple[str, ...], said: str) -> None:
    done = eyechart("sweep", *given, "-q", cwd=folder)
    assert done.code == 2
    assert said in done.err
