"""`eyechart show`: lists of samples by filter, and one in full."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from support.command import Outcome, eyechart
from support.files import choice_tsv, jsonl, picture
from support.runs import number_of, right, run_command
from support.server import Asked, Server


def answer(asked: Asked) -> str:
    """Right on even questions; on odd ones model `good` is right, too, and the others cannot tell."""
    k = number_of(asked)
    if k % 2 == 0 or asked.body["model"] == "good":
        return right(asked)
    return "I cannot tell." if k == 1 else "ABCD"[(k + 1) % 4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("show")
    with Server(answer) as server:
        for model in ("openai/poor", "openai/good"):
            assert run_command(choice_tsv(place / "q.tsv", 30), server, model=model).code == 0
    return place


def show(folder: Path, *words: object) -> Outcome:
    return eyechart("show", *words, cwd=folder)


def ids(folder: Path, *words: object) -> list[str]:
    done = show(folder, *words, "--json")
    assert done.code == 0, done.err
    return [sample["id"] for sample in done.json["samples"]]


def test_a_list_is_paged(folder: Path) -> None:
    done = show(folder, "openai-poor")
    assert "1 to 20 of 30; --offset 20 shows the next" in done.err
    assert ids(folder, "openai-poor", "--offset", 28) == ["28", "29"]
    assert ids(folder, "openai-poor", "-n", 2) == ["0", "1"]
    assert show(folder, "openai-poor", "--json").json["n"] == 30


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--outcome", "refused,unparsed"], ["1"]),
        (["--outcome", "wrong", "-n", "3"], ["3", "5", "7"]),
        (["--outcome", "wrong", "--outcome", "refused", "-n", "2"], ["1", "3"]),
        (["--where", "category=odd", "--outcome", "correct"], []),
        (["--where", "category=even", "-n", "2"], ["0", "2"]),
        (["--grep", "cannot (see|TELL)"], ["1"]),
        (["--grep", r"^question 2\d", "--outcome", "correct"], ["20", "22", "24", "26", "28"]),
        (["--flipped", "openai-good", "-n", "2"], ["1", "3"]),
    ],
)
def test_filters(folder: Path, words: list[str], found: list[str]) -> None:
    assert ids(folder, "openai-poor", *words) == found


def test_a_random_draw_is_repeatable(folder: Path) -> None:
    once, again = (ids(folder, "openai-poor", "--random", 5) for _ in range(2))
    assert once == again
    assert len(once) == 5
    assert once != ids(folder, "openai-poor", "--random", 5, "--seed", 1)
    assert len(ids(folder, "openai-poor", "--random", 100)) == 30


def test_flips_show_both_runs(folder: Path) -> None:
    done = show(folder, "openai-poor", "--flipped", "openai-good")
    assert "other run" in done.out
    assert "15 in all" in done.err
    assert show(folder, "openai-good", "--flipped", "openai-good").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--outcome", "rong"], "did you mean wrong?"),
        (["--where", "categry=odd"], "did you mean category?"),
        (["--grep", "("], "is not a regular expression"),
        (["--random", "0"], "'0' is not a whole number of 1 or more"),
        (["--seed", "3"], "--seed has no effect without --random"),
        (["--trial", "1"], "has no trial 1"),
        (["3", "--outcome", "wrong"], "--outcome has no effect on one sample"),
        (["--images", "kitty"], "--images has no effect on a list"),
        (["3", "--images", "ascii"], "unknown protocol 'ascii'"),
    ],
)
def test_wrong_usage(folder: Path, words: list[str], said: str) -> None:
    done = show(folder, "openai-poor", *words)
    assert (done.code, said in done.err) == (2, True), done.err


def test_nothing_found_says_what_there_is(folder: Path) -> None:
    done = show(folder, "openai-good", "--outcome", "wrong")
    assert (done.code, "no sample matches" in done.err, "correct 30" in done.err) == (0, True, True)


def test_one_in_full_with_its_image(folder: Path) -> None:
    plain = show(folder, "openai-poor", "3")
    assert "sample 3" in plain.out
    assert "\x1b" not in plain.out
    shown: Any = show(folder, "openai-poor", "3", "--images", "kitty").out
    assert shown.startswith("\x1b_Ga=T,f=100")
    assert shown.count("\x1b") == 2, "one image, and nothing else that a terminal obeys"


@pytest.mark.parametrize("is_blind", [False, True])
def test_boxes_of_a_row_are_drawn_into_its_image(tmp_path: Path, is_blind: bool) -> None:
    row = {"id": "1", "question": "Which?", "image": "a.png", "A": "x", "B": "y", "answer": "A"}
    jsonl(tmp_path / "q.jsonl", [{**row, "bbox": "0, 0, 100, 100"}])
    (tmp_path / "a.png").write_bytes(picture("white", (400, 300)))
    more = ["--input", "none"] if is_blind else ["--max-pixels", "1200"]
    done = eyechart("run", "q.jsonl", "-m", "baseline/random", "-q", *more, cwd=tmp_path)
    assert done.code == 0, done.err
    found = show(tmp_path, "latest", "1", "--images", "iterm2")
    assert "boxes: 1 target box (targets red, others blue)" in found.err
    text = found.out.partition("File=inline=1;")[2].partition(":")[2].partition("\x07")[0]
    pixels = Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB")
    assert pixels.size == ((400, 300) if is_blind else (40, 30))
    assert pixels.getpixel((0, 5)) != (255, 255, 255)
    assert pixels.getpixel((pixels.width - 1, 5)) == (255, 255, 255)
