"""Two questions for each benchmark of the catalogue, as its file and as its hub data set hold them.

Everything here is made up: the columns are those of the published files, the contents are not. A reply stands
beside each row of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.files import picture, picture_base64
from support.tables import write_tsv

Rows = Sequence[Mapping[str, Any]]
IMAGE = {"bytes": picture(), "path": "1.png"}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A tiny benchmark: rows of the file and of the hub, what the model says, what that is worth."""

    rows: Rows  # of the TSV, without the image
    hub: Rows = ()  # of the hub data set; empty: it is not on the hub in a form that is read
    replies: Sequence[str] = ()
    score: float = 0.5
    kits: Mapping[str, float] = field(default_factory=dict)  # the score by the rules of another kit
    settings: Mapping[str, str] = field(default_factory=dict)


def letters(**more: Any) -> list[dict[str, Any]]:
    """Two rows of multiple choice; B and A are right."""
    return [
        {
            "index": 0,
            "question": "Which colour?",
            "A": "red",
            "B": "green",
            "C": "blue",
            "D": "black",
            "answer": "B",
        }
        | more,
        {
            "index": 1,
            "question": "Which shape?",
            "A": "disc",
            "B": "box",
            "C": "ring",
            "D": "bar",
            "answer": "A",
        }
        | more,
    ]


def opened(first: str, second: str, **more: Any) -> list[dict[str, Any]]:
    """Two rows of open questions with these answers."""
    return [
        {"index": 0, "question": "How many cars?", "answer": first} | more,
        {"index": 1, "question": "What is it?", "answer": second} | more,
    ]


TWO = [["red", "green", "blue", "black"], ["disc", "box", "ring", "bar"]]
ASKED = ["Which colour?", "Which shape?"]

MADE: dict[str, Made] = {
    "mmstar": Made(
        rows=letters(category="math", **{"l2-category": "geometry"}),
        hub=[
            {
                "index": at,
                "question": f"{ASKED[at]}\nOptions: A: {a}, B: {b}, C: {c}, D: {d}",
                "answer": "BA"[at],
                "category": "math",
                "l2_category": "geometry",
                "image": IMAGE,
            }
            for at, (a, b, c, d) in enumerate(TWO)
        ],
        replies=["B", "C"],
    ),
    "ai2d": Made(
        rows=letters(),
        hub=[
            {"question": ASKED[at], "options": TWO[at], "answer": "10"[at], "image": IMAGE} for at in range(2)
        ],
        replies=["B", "C"],
    ),
    "ai2d-no-mask": Made(
        rows=letters(),
        hub=[
            {"question": ASKED[at], "options": TWO[at], "answer": "10"[at], "image": IMAGE} for at in range(2)
        ],
        replies=["B", "C"],
    ),
    "realworldqa": Made(
        rows=letters(),
        hub=[
            {
                "question": f"{ASKED[at]}\n\nA. {a}\nB. {b}\nC. {c}\nD. {d}\n"
                "Please answer directly with only the letter of the correct option and nothing else.",
                "answer": "BA"[at],
                "image": IMAGE,
            }
            for at, (a, b, c, d) in enumerate(TWO)
        ],
        replies=["B", "C"],
    ),
    "chartqa": Made(
        rows=[
            opened("100", "blue")[0] | {"split": "test_human"},
            opened("100", "blue")[1] | {"split": "test_augmented"},
        ],
        hub=[
            {"question": "How many cars?", "answer": "100", "type": "human_test", "image": IMAGE},
            {"question": "What is it?", "answer": "blue", "type": "augmented_test", "image": IMAGE},
        ],
        replies=["104", "red"],
        kits={"lmms-eval": 0.5},
    ),
    "docvqa-val": Made(
        rows=opened("['Lake', 'Sea']", "['invoice']"),
        hub=[
            {"questionId": "0", "question": "How many cars?", "answers": ["Lake", "Sea"], "image": IMAGE},
            {"questionId": "1", "question": "What is it?", "answers": ["invoice"], "image": IMAGE},
        ],
        replies=["lake", "no"],
    ),
    "infovqa-val": Made(
        rows=opened("['Lake', 'Sea']", "['invoice']"),
        hub=[
            {"questionId": "0", "question": "How many cars?", "answers": ["Lake", "Sea"], "image": IMAGE},
            {"questionId": "1", "question": "What is it?", "answers": ["invoice"], "image": IMAGE},
        ],
        replies=["lake", "no"],
    ),
    "textvqa-val": Made(
        rows=opened(str(["two"] * 10), str(["stop"] * 10)),
        hub=[
            {"question_id": 0, "question": "how many cars?", "answers": ["two"] * 10, "image": IMAGE},
            {"question_id": 1, "question": "what is it?", "answers": ["stop"] * 10, "image": IMAGE},
        ],
        replies=["2", "go"],
    ),
    "ocrbench": Made(
        rows=opened("['CENTRE']", "['exit']", category="Regular Text Recognition"),
        hub=[
            {
                "question": question,
                "answer": [answer],
                "question_type": "Regular Text Recognition",
                "dataset": "x",
                "image": IMAGE,
            }
            for question, answer in (("How many cars?", "CENTRE"), ("What is it?", "exit"))
        ],
        replies=["the centre", "in"],
        kits={"lmms-eval": 0.5},
    ),
    "pope": Made(
        rows=[
            {"index": 0, "question": "Is there a cat?", "answer": "Yes", "category": "random"},
            {"index": 1, "question": "Is there a dog?", "answer": "No", "category": "popular"},
        ],
        hub=[
            {
                "id": "0",
                "question_id": "1",
                "question": "Is there a cat?",
                "answer": "yes",
                "category": "random",
            }
            | {"image": IMAGE},
            {
                "id": "1",
                "question_id": "1",
                "question": "Is there a dog?",
                "answer": "no",
                "category": "popular",
            }
            | {"image": IMAGE},
        ],
        replies=["Yes", "Yes."],
    ),
    "mme": Made(
        rows=[
            {
                "index": 0,
                "question": "Is it red?",
                "answer": "Yes",
                "category": "color",
                "image_path": "c/1.png",
            },
            {
                "index": 1,
                "question": "Is it blue?",
                "answer": "No",
                "category": "color",
                "image_path": "c/1.png",
            },
        ],
        hub=[
            {"question_id": "c/1.png", "question": "Is it red?", "answer": "Yes", "category": "color"}
            | {"image": IMAGE},
            {"question_id": "c/1.png", "question": "Is it blue?", "answer": "No", "category": "color"}
            | {"image": IMAGE},
        ],
        replies=["Yes", "Yes"],
    ),
    "hallusionbench": Made(
        rows=[
            {"index": f"VD_chart_1_0_{figure}_0", "question": question, "answer": answer}
            | {"category": "VD", "l2-category": "chart"}
            for figure, question, answer in ((0, "Is it red?", "Yes"), (1, "Is it blue?", "No"))
        ],
        hub=[
            {
                "category": "VD",
                "subcategory": "chart",
                "visual_input": "1",
                "set_id": "0",
                "figure_id": str(figure),
            }
            | {"question_id": "0", "question": question, "gt_answer": gold, "image": IMAGE}
            for figure, question, gold in ((0, "Is it red?", "1"), (1, "Is it blue?", "0"))
        ],
        replies=["Yes", "Yes"],
    ),
    "amber": Made(
        rows=[
            {
                "index": 0,
                "question": "Is it red?",
                "answer": "Yes",
                "category": "discriminative-attribute-state",
            },
            {
                "index": 1,
                "question": "Is it blue?",
                "answer": "No",
                "category": "discriminative-hallucination",
            },
        ],
        replies=["Yes", "Yes"],
    ),
}


def write_file(folder: Path, stem: str, made: Made) -> Path:
    """The benchmark's TSV file, each row with an image of its own."""
    heading = list(dict.fromkeys(name for row in made.rows for name in row))
    lines = [
        [*(row.get(name, "") for name in heading), picture_base64((at * 90, 10, 10))]
        for at, row in enumerate(made.rows)
    ]
    return write_tsv(folder / f"{stem}.tsv", [*heading, "image"], *lines)


def write_clone(folder: Path, part: str, rows: Rows) -> Path:
    """The hub data set as `eyechart data get --to` leaves it: Parquet files by config and split."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    config, _, split = part.rpartition("/")
    place = folder / (config or "data")
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(map(dict, rows))), place / f"{split}-00000-of-00001.parquet")
    return folder
