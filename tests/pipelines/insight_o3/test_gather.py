"""The authors' results table, from their folders and from eyechart's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.insight_o3.report import compute_trial_metrics, gather_results, summarise_trials
from support.command import eyechart
from support.files import jsonl, picture
from support.insight_o3 import E2E
from support.server import Server


def write_evaluation(folder: Path, *ends: str, arguments: Any = None) -> Path:
    """A folder as the authors' program leaves it; without ends, a trial that is not complete."""
    folder.mkdir(parents=True)
    (folder / "trial_0").mkdir()
    (folder / "trial_0" / "eval_metrics.json").write_text("{}", encoding="utf-8")
    if ends:
        metrics = compute_trial_metrics([("地图", end) for end in ends])  # type: ignore[misc]
        summary = json.dumps(summarise_trials([metrics]), ensure_ascii=False, indent=4)
        (folder / "summary_metrics.json").write_text(summary, encoding="utf-8")
    if arguments is not None:
        (folder / "args.json").write_text(json.dumps(arguments), encoding="utf-8")
    return folder


def read_table(shown: str) -> list[list[str]]:
    return [line.split() for line in shown.splitlines() if "──" not in line]


def test_the_authors_folders(tmp_path: Path) -> None:
    root = tmp_path / "eval"
    write_evaluation(root / "gpt" / "scale_1.0" / "vstar", "correct", "correct", "wrong")
    write_evaluation(root / "gpt" / "scale_1.0" / "o3_bench", "correct", "incomplete", "invalid", "wrong")
    write_evaluation(root / "qwen" / "zeta", "wrong")
    write_evaluation(root / "qwen" / "vstar")
    found = eyechart("insight", "gather", root, cwd=tmp_path)
    assert found.code == 0, found.err
    assert read_table(found.out) == [
        ["vstar", "o3_bench", "zeta"],
        ["gpt/scale_1.0", "66.7±0.0", "@1", "25.0±0.0", "@1", "N/A"],
        ["qwen", "N/A", "N/A", "0.0±0.0", "@1"],
    ]
    assert "gpt/scale_1.0 · o3_bench: success rate 50.0±0.0, completion rate 66.7±0.0" in found.err
    assert "qwen · vstar: not every trial is complete" in found.err
    assert "qwen · o3_bench: not evaluated" in found.err
    one = eyechart(
        "insight", "gather", root, "--datasets", "vstar", "--settings", "gpt/scale_1.0", cwd=tmp_path
    )
    assert read_table(one.out) == [
        ["vstar", "vstar-地图"],
        ["gpt/scale_1.0", "66.7±0.0", "@1", "66.7±0.0", "@1"],
    ]


def test_figures_are_those_of_the_authors_run(tmp_path: Path) -> None:
    folder = tmp_path / "eval" / "m" / "o3_bench"
    folder.mkdir(parents=True)
    shutil.copy(E2E / "expected_summary_metrics.json", folder / "summary_metrics.json")
    told = eyechart("insight", "gather", "eval", "--json", cwd=tmp_path).json["m"]["o3_bench"]
    summary = json.loads((folder / "summary_metrics.json").read_text(encoding="utf-8"))
    mean, std = (round(summary["overall_accuracy"][name] * 100, 1) for name in ("mean", "std"))
    assert told["accuracy"] == f"{mean}±{std} @3"
    assert told["summary_metrics"] == summary


@pytest.mark.parametrize("place", ["", "m", "m/small"])
def test_an_evaluation_is_named_wherever_one_looks_from(tmp_path: Path, place: str) -> None:
    write_evaluation(tmp_path / "eval" / "m" / "small", "correct")
    found = gather_results(tmp_path / "eval" / place)
    assert {setting: list(row) for setting, row in found.items()} == {"m": ["small"]}


def test_runs_of_eyechart_are_gathered_by_model_and_benchmark(tmp_path: Path) -> None:
    row = {"image": "a.png", "question": "Which?", "options": "A. x\nB. y", "answer": "B"}
    jsonl(tmp_path / "x.jsonl", [row])
    (tmp_path / "a.png").write_bytes(picture(size=(400, 300)))
    with Server(lambda asked: "B") as server:
        judge = ["--judge", "openai/j", "--judge-base-url", server.base_url]
        for name in ("vstar", "treebench"):
            done = eyechart(
                "run", "x.jsonl", "--as", name, "-m", "openai/big", "-m", "openai/small,max_pixels=1200",
                "-m", "openai/small,max_pixels=300", "--base-url", server.base_url, "--parity", *judge, "-q",
                cwd=tmp_path,
            )  # fmt: skip
            assert done.code == 0, done.err
        assert len(server.asked) == 3  # the two benchmarks ask the same
        done = eyechart(
            "run", "x.jsonl", "--as", "vstar", "-m", "openai/own", "--base-url", server.base_url, "-q",
            cwd=tmp_path,
        )  # fmt: skip
    found = eyechart("insight", "gather", "runs", "--datasets", "treebench", "vstar", "--json", cwd=tmp_path)
    cells = {
        setting: {dataset: cell["accuracy"] for dataset, cell in row.items()}
        for setting, row in found.json.items()
    }
    right = {"treebench": "100.0±0.0 @1", "vstar": "100.0±0.0 @1"}
    asked = "image_detail=high, max_completion_tokens=16384"
    assert cells == {
        "openai/big": right,
        "openai/own": {"treebench": "N/A", "vstar": "100.0±0.0 @1"},
        f"openai/small ({asked}, max pixels 1200, jpeg quality 75)": right,
        f"openai/small ({asked}, max pixels 300, jpeg quality 75)": right,
    }
    assert "openai/own · vstar: scored by default, not by InSight-o3's rules" in found.err


def test_settings_that_cannot_be_told_apart_have_their_folders_names(tmp_path: Path) -> None:
    manifest = {"eyechart": "0.2.0", "model": "openai/m", "benchmark": "vstar", "parity": "official"}
    for number in range(2):
        write_evaluation(tmp_path / f"run-{number}" / "official", "correct", arguments=manifest)
    assert list(gather_results(tmp_path)) == ["openai/m (run-0)", "openai/m (run-1)"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        gather_results(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no evaluation"):
        gather_results(tmp_path)
    folder = write_evaluation(tmp_path / "m" / "vstar", "correct")
    with pytest.raises(UsageError, match="'vsta'") as caught:
        gather_results(tmp_path, datasets=["vsta"])
    assert "vstar" in caught.value.hint
    for text in ("{", "[]", "{}", '{"overall_accuracy": {"mean": "x", "std": 0}}', "[" * 100_000):
        (folder / "summary_metrics.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"summary_metrics\.json"):
            gather_results(tmp_path)


def test_an_evaluation_still_needs_its_arguments(tmp_path: Path) -> None:
    assert "required: --eval_name" in eyechart("insight", "--model", "m", cwd=tmp_path).err


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "a\x1b[31m[bold]b" / "vstar", "invalid")
    found = eyechart("insight", "gather", tmp_path, cwd=tmp_path)
    assert found.code == 0, found.err
    assert "\x1b[31m" not in found.out + found.err
    assert "[bold]" in found.out
