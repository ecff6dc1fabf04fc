"""``eyechart data caption``: every image described once, in a file that runs, audits and MULTI read."""

import json
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.data.images.substitutes import read_texts
from eyechart.runs.captions import PROMPT
from support.command import Outcome, eyechart
from support.files import choice_tsv, jsonl, picture, picture_base64
from support.multi import make_multi
from support.server import Answer, Asked, Server

COLOURS = ("red", "blue", "green")
MODEL = """
from pathlib import Path

def describe(text, images=None):
    with open("asked.txt", "a") as log:
        log.write(f"{Path(images[0]).name} {text}\\n")
    if Path("broken.txt").exists() and Path(images[0]).name in Path("broken.txt").read_text():
        raise RuntimeError("out of ink")
    return f"  a plain\\n {Path(images[0]).name}, one colour "
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three questions on two images in files, and a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    for name in ("red", "blue"):
        (tmp_path / "images" / f"{name}.png").write_bytes(picture(name))
    rows = [
        {"id": str(n), "question": "?", "answer": "x", "image_path": f"images/{name}.png"}
        for n, name in enumerate(("red", "blue", "red"))
    ]
    jsonl(tmp_path / "mine.jsonl", rows)
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def caption(place: Path, *said: object, source: str = "mine.jsonl", code: int = 0) -> Outcome:
    done = eyechart("data", "caption", source, "-m", "python:model.py:describe", "-q", *said, cwd=place)
    assert done.code == code, done.err
    return done


def list_asked(place: Path) -> list[str]:
    return sorted(line.split()[0] for line in (place / "asked.txt").read_text().splitlines())


@pytest.mark.slow
def test_every_image_is_described_once_and_a_run_reads_the_file(place: Path) -> None:
    done = caption(place)
    assert done.out == "mine_captions.csv: texts of 2 of 2 images\n"
    assert (place / "mine_captions.csv").read_text(encoding="utf-8") == (
        "images/red.png,a plain red.png, one colour\nimages/blue.png,a plain blue.png, one colour\n"
    )
    assert list_asked(place) == ["blue.png", "red.png"]
    assert PROMPT in (place / "asked.txt").read_text()
    caption(place)
    assert list_asked(place) == ["blue.png", "red.png"]
    usual = ("--input", "caption", "--captions", "mine_captions.csv")
    shown = eyechart("data", "show", "mine.jsonl", "--prompt", *usual, cwd=place)
    assert "a plain red.png, one colour" in shown.out
    audit = eyechart("audit", "mine.jsonl", "-m", "baseline/random", *usual[2:], "--conditions", "caption",
                     "--json", "-q", cwd=place)  # fmt: skip
    assert audit.code == 0, audit.err
    assert "caption" in audit.out


@pytest.mark.slow
def test_what_failed_is_asked_again_and_the_rest_is_kept(place: Path) -> None:
    (place / "broken.txt").write_text("red.png")
    done = caption(place, "--json", "--out", "c.csv", "--retries", 0, code=1)
    assert (done.json["images"], done.json["missing"]) == (2, ["images/red.png"])
    assert "out of ink" in done.err
    assert "asks again" in done.err
    assert [*(place / "c.csv").read_text().splitlines()] == ["images/blue.png,a plain blue.png, one colour"]
    (place / "broken.txt").unlink()
    (place / "asked.txt").unlink()
    caption(place, "--out", "c.csv")
    assert list_asked(place) == ["red.png"]
    assert len((place / "c.csv").read_text().splitlines()) == 2


@pytest.mark.slow
def test_an_empty_text_is_missing(place: Path) -> None:
    (place / "model.py").write_text("def describe(text, images=None):\n    return ' '", encoding="utf-8")
    done = caption(place, code=1)
    assert "no text for 2 images, e.g. images/red.png: empty reply; --fresh asks again" in done.err
    assert (place / "mine_captions.csv").read_text() == ""


@pytest.mark.slow
def test_an_endpoint_is_asked_with_its_options(place: Path) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer("seen")

    with Server(answer) as server:
        done = eyechart(
            "data", "caption", "mine.jsonl", "-m", "openai/m", "--base-url", server.base_url, "--limit", 1,
            "--prompt", "What is it?", "--temperature", 0, "--max-tokens", 99, "-q", cwd=place,
        )  # fmt: skip
    assert done.code == 0, done.err
    [asked] = server.asked
    assert (asked.body["max_tokens"], asked.body["temperature"]) == (99, 0)
    assert asked.text == "What is it?"
    assert len(asked.images) == 1


@pytest.mark.slow
def test_embedded_images_are_named_by_their_sample(place: Path) -> None:
    choice_tsv(place / "zoo.tsv", 3)
    caption(place, source="zoo.tsv")
    texts = read_texts(place / "zoo_captions.csv")
    assert [len(texts.find(sample)) for sample in ec.load(place / "zoo.tsv")] == [1, 1, 1]


@pytest.mark.slow
def test_several_embedded_images_need_a_table(place: Path) -> None:
    several = json.dumps([picture_base64(colour) for colour in COLOURS[:2]])
    (place / "two.tsv").write_text(f"index\timage\tquestion\tanswer\n7\t{several}\tWhich?\tx\n")
    done = caption(place, source="two.tsv", code=2)
    assert "7 have several images" in done.err
    assert "--out two_captions.jsonl" in done.err
    assert not (place / "asked.txt").exists()
    caption(place, "--out", "two.jsonl", source="two.tsv")
    [row] = [json.loads(line) for line in (place / "two.jsonl").read_text().splitlines()]
    assert (row["id"], len(row["caption"])) == ("7", 2)
    usual = ("--input", "caption", "--captions", "two.jsonl")
    assert eyechart("data", "show", "two.tsv", "--prompt", *usual, cwd=place).out.count("a plain") == 2


@pytest.mark.slow
def test_multi_gets_the_paths_of_its_problem_file(tmp_path: Path, place: Path) -> None:
    data = make_multi(tmp_path / "data")
    usual = (
        "--as",
        "multi",
        "--set",
        "questions_type=0,1,2,3,4",
        "--set",
        f"knowledge_file={data.knowledge_file}",
    )
    refused = caption(place, *usual, source=str(data.problem_file), code=2)
    assert "no sample has an image" in refused.err
    caption(place, *usual, "--set", "input_type=2", "--out", "c.csv", source=str(data.problem_file))
    lines = (place / "c.csv").read_text(encoding="utf-8").splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "../data/images/czsx/0_1.png", "../data/images/k/2.png", "../data/images/czsx/0_2.png",
        "../data/images/shjk/2_1.png",
    ]  # fmt: skip
    asked = eyechart(
        "data", "show", data.problem_file, *usual, "--set", "input_type=1", "--set", "caption_file=c.csv",
        "--prompt", cwd=place,
    )  # fmt: skip
    assert "[IMAGE_1]: a plain 0_1.png, one colour" in asked.out


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["--out", "c.txt"], "captions are written as .csv or .jsonl"),
        (["--out", "gone/c.csv"], "no folder gone"),
        (["--out", "mine.jsonl"], "exists and is not a file of captions of these images"),
        (["--out", "other.csv"], "exists and is not a file of captions of these images"),
        (["--field", "question=none"], "none"),
        (["--circular-eval"], "unrecognized"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(place: Path, said: list[str], told: str) -> None:
    (place / "other.csv").write_text("images/yellow.png,theirs\n")
    before = (place / "mine.jsonl").read_bytes()
    done = caption(place, *said, code=2)
    assert told in done.err
    assert not (place / "asked.txt").exists()
    assert (place / "mine.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_path_with_a_comma_needs_a_table(place: Path) -> None:
    (place / "a,b.png").write_bytes(picture("red"))
    jsonl(place / "odd.jsonl", [{"id": "1", "question": "?", "answer": "x", "image_path": "a,b.png"}])
    assert "a,b.png have commas" in caption(place, source="odd.jsonl", code=2).err
    caption(place, "--out", "odd_captions.jsonl", source="odd.jsonl")
    assert read_texts(place / "odd_captions.jsonl").by_key["a,b.png"]
    (place / "other.csv").write_text("images/yellow.png,theirs\n")
    caption(place, "--out", "other.csv", "--force")
    assert "theirs" not in (place / "other.csv").read_text()
