"""`vlmutil circular` of ms-vlmeval and ``--as mmbench --circular`` make the same rows of each question."""

from __future__ import annotations

import csv
import os
import random
import string
import subprocess

import pytest

from eyechart.circular import rotate_source_unless_rotated
from eyechart.pipelines.vlmevalkit.benchmark import open_mmbench
from parity.conftest import HERE, ORIGINAL, Programs
from support.files import picture_base64

N_QUESTIONS = 1500
LETTERS = string.ascii_uppercase[:6]
WORDS = "cat 红色 蓝色 rouge été naïve A1 x B2 tree Ärger CAB ABBA α β 12 3.5".split()  # noqa: SIM905
BETWEEN = [
    "和",
    "与",
    " and ",
    "、",
    ", ",
    "&",
    "/",
    "-",
    "_",
    "é",
    "1",
    " or ",
    "とか",
    "\u3000",
    "ß",
    "Ａ",
    "",
]
SHORT = ["AB", "BC", "ABC", "BA", "AC", "XYZ", "A", "C", "Z", " A", "B ", "b", "ab", "Ａ", "A.", "(A)"]
ODD_GOLDS = ["b", "AB", "F", "Z", "(A)", "cat", " A", "A "]
SCRIPT = "from vlmeval.tools import CIRCULAR\nCIRCULAR('questions.tsv')\n"

Row = dict[str, str]


def write_option(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(WORDS) + draw.choice(["", " one", " 二"])
    if kind < 0.75:
        before = draw.choice(["", "选项", "both ", "Option ", "以上"])
        first, second = draw.choices("ABCDEFZ", k=2)
        again = before * draw.randint(0, 1)
        return before + first + draw.choice(BETWEEN) + again + second + draw.choice(["", "都对", " fit", "."])
    if kind < 0.85:
        return draw.choice(SHORT)
    return "".join(draw.choices("AB C和，.ad1é", k=draw.randint(1, 6))).strip() or "x"


def write_question(draw: random.Random, index: int) -> Row:
    n_options = draw.randint(2, 6)
    options = [write_option(draw) for _ in range(n_options)]
    is_odd = draw.random() < 0.1
    answer = draw.choice(ODD_GOLDS) if is_odd else draw.choice(LETTERS[:n_options])
    cells = dict(zip(LETTERS, [*options, *[""] * 6], strict=False))
    return {"index": str(index), "question": f"Q{index}?", **cells, "answer": answer}


@pytest.mark.timeout(900)
def test_the_same_rows(programs: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("EYECHART_PARITY_SEED") or random.SystemRandom().randrange(10**6))
    with capsys.disabled():
        print(f"\n{N_QUESTIONS:,} questions: EYECHART_PARITY_SEED={seed}")  # noqa: T201
    draw = random.Random(seed)
    file = programs.home / "questions.tsv"
    image = picture_base64()
    with file.open("w", encoding="utf-8", newline="") as opened:
        rows = [{**write_question(draw, 3 * k + 1), "image": image} for k in range(N_QUESTIONS)]
        writer = csv.DictWriter(opened, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (programs.home / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [ORIGINAL, str(HERE / "original.py"), "script.py"],
        cwd=programs.home,
        env={**os.environ, "HOME": str(programs.home), "LMUData": str(programs.data)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    with (programs.home / "questions_circular.tsv").open(encoding="utf-8", newline="") as opened:
        made = list(csv.DictReader(opened, delimiter="\t"))
    theirs = {
        (row["index"], row["g_index"], *(row[letter] for letter in LETTERS), row["answer"]) for row in made
    }
    source = open_mmbench(file)
    ours = {
        (one.id, one.circle, *(one.choices.get(letter, "") for letter in LETTERS), *one.golds)
        for one in rotate_source_unless_rotated(source, source)
    }
    assert len(theirs) > 2 * N_QUESTIONS  # many are rotated, and many are not
    assert sorted(theirs - ours) == sorted(ours - theirs) == []
