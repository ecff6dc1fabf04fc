"""A run as one page: what is in the file, and what can never be."""

import io
import itertools
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.data.images.loading import ImageLoader
from eyechart.option import list_options
from eyechart.report import run_page
from eyechart.report.conditions import describe_conditions, hide_folders
from eyechart.report.page import ASSETS, MODULES, ImagePolicy, read_script, write_policy
from eyechart.report.run_page import RunFacts, list_conditions, write_run_page
from eyechart.report.summary import summarise
from eyechart.runs.options import Options
from eyechart.types import ImageRef, Result
from support.files import noisy_picture, picture
from support.pages import list_images, read_blocks
from support.results import result

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \u202egnp.exe\u0000"


def write_page(
    path: Path, results: list[Result], policy: ImagePolicy | None = None, **manifest: Any
) -> dict[str, Any]:
    summary = summarise(results, benchmark="b<b>", model="m&m", group_by=["category"], scorer="choice")
    usual = {"group_by": ["category"], "options": {"input": "image"}, "versions": {"choice": "4"}}
    usual |= {"benchmark": "b<b>", "model": "m&m"}
    facts = RunFacts(name="run-1", manifest=usual | manifest, summary=summary, n_rows=len(results))
    write_run_page(path, facts, results, lambda: facts, ImageLoader(), policy or ImagePolicy())
    return read_blocks(path)


def image_of(path: Path, data: bytes) -> tuple[ImageRef, ...]:
    path.write_bytes(data)
    return (ImageRef(kind="file", location=str(path)),)


def test_all_of_a_sample_is_in_the_page(tmp_path: Path) -> None:
    images = image_of(tmp_path / "cat.bmp", picture(size=(40, 30), kind="BMP"))
    one = result(0, "wrong", reply="I say A", images=images, meta={"category": "cats"})
    found = write_page(
        tmp_path / "r.html", [one, result(1, meta={"category": "dogs"}), result(2, "failed"), result(3, None)]
    )
    sample = found["b0"][0]
    assert sample["question"] == "Which?"
    assert sample["reply"] == "I say A"
    assert (sample["read"], sample["route"], sample["golds"]) == ("B", "choice:letter", ["B"])
    assert sample["images"][0][0] == 0
    assert found["i0"].startswith("data:image/webp;base64,")
    index, lines = found["data"]["index"], found["x0"]
    assert index["n"] == 4
    kinds = [*run_page.CODES]
    assert [kinds[code] for code in lines["outcomes"]] == ["wrong", "correct", "failed", "pending"]
    assert index["groups"]["category"]["names"] == ["cats", "dogs", "(none)"]
    assert lines["groups"]["category"] == [0, 1, 2, 2]
    assert found["data"]["overall"]["score"] == 0.5


def test_no_text_of_a_sample_becomes_markup(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "id": HOSTILE,
        "question": HOSTILE,
        "golds": (HOSTILE,),
        "choices": {HOSTILE: HOSTILE},
        "meta": {HOSTILE: HOSTILE},
    }
    found = write_page(tmp_path / "r.html", [result(0, reply=HOSTILE, **fields)], about=HOSTILE)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "alert(1)" not in page
    assert "\u202e" not in page
    assert page.count("</script>") == len(found) + 2  # the blocks, the plots, the page's own
    assert "<title>b&lt;b&gt; · m&amp;m" in page
    assert found["b0"][0]["reply"] == HOSTILE


def test_the_policy_names_the_scripts_and_nothing_else(tmp_path: Path) -> None:
    write_page(tmp_path / "r.html", [result(0)])
    policy = re.search(
        r'Content-Security-Policy" content="([^"]+)"', (tmp_path / "r.html").read_text("utf-8")
    )
    assert policy is not None
    assert policy[1] == write_policy()
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")


def test_modules_share_one_scope() -> None:
    """The modules become one script: a name that two of them declare would be another's."""
    declared = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) \{?\s*(\w+)", re.MULTILINE)
    names = Counter(
        name for module in MODULES for name in declared.findall((ASSETS / module).read_text("utf-8"))
    )
    assert [name for name, n in names.items() if n > 1] == []
    assert not re.search(r"^(import|export)\b", read_script(), re.MULTILINE)
    assert not re.search(r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|eval\(", read_script())


def test_long_replies_are_shortened_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_page, "MAX_CHARS", 1200)
    said = "begin " + "x" * 100_000 + " the answer is B"
    found = write_page(tmp_path / "r.html", [result(0, reply=said), result(1)])
    shown = found["b0"][0]["reply"]
    assert len(shown) < 700
    assert shown.startswith("begin ")
    assert shown.endswith("the answer is B")
    assert "99,422 characters" in shown
    assert found["b0"][0]["cut"] is True
    assert found["data"]["index"]["cut"] == 1


def test_images_of_wrong_answers_come_first_and_share_the_bytes(tmp_path: Path) -> None:
    results = [
        result(
            k,
            "correct" if k < 6 else "wrong",
            images=image_of(tmp_path / f"{k}.jpg", noisy_picture("JPEG", (600, 400))),
        )
        for k in range(9)
    ]
    found = write_page(tmp_path / "r.html", results, ImagePolicy(max_images=4, max_bytes=40_000))
    assert list_images(found) == ["i6", "i7", "i8", "i0"]
    assert sum(len(found[name]) for name in list_images(found)) < 2 * 40_000
    assert found["data"]["images"] == {"n": 9, "shown": 4, "troubles": {}, "full": False, "sizes": {}}
    late = write_page(tmp_path / "r.html", results, ImagePolicy(max_s=-1.0))
    assert list_images(late) == []


def test_full_images_are_the_bytes_that_were_sent(tmp_path: Path) -> None:
    import base64

    data = noisy_picture("PNG", (50, 40))
    found = write_page(
        tmp_path / "r.html", [result(0, images=image_of(tmp_path / "a.png", data))], ImagePolicy(is_full=True)
    )
    assert found["i0"] == "data:image/png;base64," + base64.b64encode(data).decode()


def test_an_image_that_is_gone_or_no_image_is_told(tmp_path: Path) -> None:
    gone = (ImageRef(kind="file", location=str(tmp_path / "gone.png")),)
    secret = image_of(tmp_path / "passwd", b"root:x:0:0")
    far = (ImageRef(kind="url", location="http://[bad/x.png"),)
    found = write_page(
        tmp_path / "r.html", [result(k, images=refs) for k, refs in enumerate((gone, secret, far))]
    )
    assert list_images(found) == []
    troubles = found["data"]["images"]["troubles"]
    assert "no such file" in troubles["0"]
    assert "not a supported image" in troubles["1"]
    assert "root:x" not in str(found)


def test_conditions_tell_how_to_repeat_the_run() -> None:
    summary = summarise(
        [result(0)], benchmark="b", model="openai/m", scorer="choice", version="1.2", parity="official"
    )
    options = {
        "base_url": ["http://user:secret@host.example:8000/v1", "http://other/v1"], "temperature": 0,
        "seed": 3, "params": {"top_p": 0.9}, "max_pixels": 1_000_000, "system": "Be brief.",
        "limit": 5, "trials": 2,
    }  # fmt: skip
    manifest = {"options": options, "versions": {"choice": "4"}, "origin": "/home/me/questions.tsv"}
    manifest |= {"model": "openai/m", "scorer": "choice", "parity": "official"}
    conditions = describe_conditions(manifest, list_options(Options))
    facts = RunFacts(
        name="m-1",
        manifest=manifest,
        summary=summary,
        conditions=conditions,
        n_rows=1,
        started_at=1_700_000_000,
    )
    told = dict(list_conditions(facts, "0123456789abcdef0123"))
    assert told["endpoint"] == "host.example:8000, other"
    assert told["parameters"] == "temperature 0, seed 3, top_p=0.9"
    assert told["images"] == "max pixels 1000000"
    assert told["prompt"] == "the benchmark's own, system Be brief."
    assert told["scorer"] == "choice (version 4), parity: official"
    assert told["data"] == "questions.tsv"
    assert told["data hash"] == "sha256 0123456789abcdef"
    assert told["selection"] == "limit 5, trials 2"
    assert told["date"] == "2023-11-14 22:13 UTC"
    assert "secret" not in str(told)


def test_boxes_are_in_the_page_with_the_size_of_the_original(tmp_path: Path) -> None:
    images = image_of(tmp_path / "map.png", noisy_picture("PNG", (1400, 900)))
    layouts = {"1": {"bbox": [0, 0, 50, 40]}, "<b>": {"bbox": [60, 0, 90, 40]}}
    boxed = result(0, images=images, withheld={"layout_infos": layouts, "target_layouts": [1]})
    others = [
        result(1, images=image_of(tmp_path / "plain.png", picture())),
        result(2, images=(*images, *images), meta={"bbox": [1, 2, 3, 4]}),
    ]
    found = write_page(tmp_path / "r.html", [boxed, *others], ImagePolicy(max_bytes=30_000))
    first, *rest = found["b0"]
    assert [(box["label"], box["is_target"]) for box in first["boxes"]] == [("<b>", False), ("1", True)]
    assert first["images"][0][1].endswith("1 target box, 1 other box")
    assert found["data"]["images"]["sizes"] == {"0": [1400, 900]}
    assert not any("boxes" in one for one in rest)


def test_boxes_are_not_drawn_on_an_image_that_viewers_turn(tmp_path: Path) -> None:
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(data, "JPEG", exif=exif)
    images = image_of(tmp_path / "turned.jpg", data.getvalue())
    found = write_page(tmp_path / "r.html", [result(0, images=images, meta={"bbox": [1, 2, 30, 40]})])
    assert found["data"]["images"]["sizes"] == {}


def test_no_folder_of_this_machine_is_in_the_page(tmp_path: Path) -> None:
    missing = (ImageRef(kind="file", location=str(tmp_path / "gone.png")),)
    results = [
        result(0, images=missing, meta={"category": "x", "source": str(tmp_path / "scan.txt")}),
        result(1, "failed"),
    ]
    found = write_page(
        tmp_path / "r.html", results, about=f"{tmp_path}/questions.tsv", origin=f"{tmp_path}/questions.tsv"
    )
    assert str(tmp_path) not in str(found)
    assert found["data"]["about"] == "questions.tsv"
    assert found["b0"][0]["meta"]["source"] == "scan.txt"


@pytest.mark.parametrize("n", [2, 40])
def test_no_folder_is_in_the_columns_of_a_sample_however_many_there_are(tmp_path: Path, n: int) -> None:
    place = str(tmp_path / "scan.txt")
    meta = {"source": place, "parts": [place, 1], **{f"column-{number}": number for number in range(n)}}
    found = write_page(tmp_path / "r.html", [result(0, meta=meta)])
    shown = found["b0"][0]["meta"]
    assert (shown["source"], shown["parts"], shown["column-0"]) == ("scan.txt", '["scan.txt", 1]', 0)
    assert len(shown) == min(n + 2, 30)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /home/ada/a b.tsv", "at a b.tsv"),
        ("~/runs/one/report.html", "report.html"),
        ("C:\\Users\\ada\\q.csv: no such file", "q.csv: no such file"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("1/2 and 3/4/5", "1/2 and 3/4/5"),
        ("hf/ORG/NAME", "hf/ORG/NAME"),
        ("hf//home/ada/step-9 is better", "hf/step-9 is better"),
        ("python:/home/ada/mine.py:Mine", "python:mine.py:Mine"),
        ("file:///home/ada/a.png", "file://a.png"),
        ("", ""),
    ],
)
def test_hide_folders(text: str, shown: str) -> None:
    assert hide_folders(text) == shown


def test_hide_folders_takes_linear_time() -> None:
    began = time.process_time()
    for text in ("/" * 200_000, "/a" * 100_000, "/a " * 60_000, "/" + "a" * 200_000):
        hide_folders(text)
    assert time.process_time() - began < 5


def test_equal_images_are_in_the_page_once(tmp_path: Path) -> None:
    data = noisy_picture("PNG", (60, 40))
    results = [
        replace(result(k, images=image_of(tmp_path / f"{k}.png", data)), sent=({"sha256": "abc"},))
        for k in range(3)
    ]
    found = write_page(tmp_path / "r.html", results)
    assert list_images(found) == ["i0"]
    assert [sample["images"][0][0] for sample in found["b0"]] == [0, 0, 0]
    assert found["data"]["images"]["n"] == 1


def test_images_go_on_beyond_their_time_if_all_of_them_take_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [
        result(k, images=image_of(tmp_path / f"{k}.png", noisy_picture("PNG", (60, 40)))) for k in range(40)
    ]
    seconds = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))
    found = write_page(tmp_path / "r.html", results, ImagePolicy(max_s=5.0, whole_s=1000.0))
    assert len(list_images(found)) == 40
    fewer = write_page(tmp_path / "r.html", results, ImagePolicy(max_s=5.0, whole_s=10.0))
    assert 0 < len(list_images(fewer)) < 40


def test_the_script_for_markdown_is_there_only_where_a_reply_has_some(tmp_path: Path) -> None:
    write_page(tmp_path / "plain.html", [result(0, reply="The answer is B.")])
    write_page(tmp_path / "rich.html", [result(0, reply="**B**")])
    assert "var Rich=" not in (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "var Rich=" in (tmp_path / "rich.html").read_text(encoding="utf-8")
