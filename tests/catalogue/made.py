"""Two questions for each benchmark of the catalogue, as its file and as its hub data set hold them.

Everything here is made up: the columns are those of the published files, the contents are not. A reply stands
beside each row of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    replies: Sequence[str] = ("B", "C")
    score: float = 0.5
    kits: Mapping[str, float] = field(default_factory=dict)  # the score by the rules of another kit


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
        {"index": 0, "question": OPEN[0], "answer": first} | more,
        {"index": 1, "question": OPEN[1], "answer": second} | more,
    ]


TWO = [["red", "green", "blue", "black"], ["disc", "box", "ring", "bar"]]
ASKED = ["Which colour?", "Which shape?"]
OPEN = ["How many cars?", "What is it?"]
YES_NO = ["Is it red?", "Is it blue?"]


def pair(make: Callable[[int], Mapping[str, Any]]) -> Rows:
    """Two rows of a hub data set, each with an image."""
    return [{"image": IMAGE, **make(at)} for at in range(2)]


MADE: dict[str, Made] = {
    "mmstar": Made(
        rows=letters(category="math", **{"l2-category": "geometry"}),
        hub=pair(
            lambda at: {
                "index": at,
                "question": f"{ASKED[at]}\nOptions: "
                + ", ".join(f"{letter}: {text}" for letter, text in zip("ABCD", TWO[at], strict=True)),
                "answer": "BA"[at],
                "category": "math",
                "l2_category": "geometry",
            }
        ),
    ),
    "ai2d": Made(
        rows=letters(), hub=pair(lambda at: {"question": ASKED[at], "options": TWO[at], "answer": "10"[at]})
    ),
    "ai2d-no-mask": Made(
        rows=letters(), hub=pair(lambda at: {"question": ASKED[at], "options": TWO[at], "answer": "10"[at]})
    ),
    "realworldqa": Made(
        rows=letters(),
        hub=pair(
            lambda at: {
                "question": f"{ASKED[at]}\n\n"
                + "".join(f"{letter}. {text}\n" for letter, text in zip("ABCD", TWO[at], strict=True))
                + "Please answer directly with only the letter of the correct option and nothing else.",
                "answer": "BA"[at],
            }
        ),
        kits={"lmms-eval": 0.5},
    ),
    "blink": Made(
        rows=letters(category="Jigsaw"),
        hub=[
            {"idx": str(at), "question": ASKED[at], "choices": TWO[at], "answer": f"({'BA'[at]})"}
            | {"sub_task": "Jigsaw", "image_1": IMAGE, "image_2": None, "prompt": ""}
            for at in range(2)
        ],
    ),
    "muirbench": Made(
        rows=[row | {"question": f"<image> {row['question']}"} for row in letters(category="Ordering")],
        hub=[
            {"idx": str(at), "task": "Ordering", "question": f"<image> {ASKED[at]}", "options": TWO[at]}
            | {"answer": "BA"[at], "image_list": [IMAGE]}
            for at in range(2)
        ],
    ),
    "seedbench-img": Made(
        rows=letters(),
        hub=[
            {"question_id": str(at), "question": ASKED[at], "answer": "BA"[at], "data_type": "image"}
            | {f"choice_{letter}": text for letter, text in zip("abcd", TWO[at], strict=True)}
            | {"image": [IMAGE]}
            for at in range(2)
        ],
    ),
    "seedbench2-plus": Made(
        rows=letters(category="Chart"),
        hub=pair(
            lambda at: (
                {
                    "question_id": str(at),
                    "question": ASKED[at],
                    "answer": "BA"[at],
                    "question_image_type": "Chart",
                }
                | {f"choice_{letter}": text for letter, text in zip("ABCD", TWO[at], strict=True)}
            )
        ),
    ),
    "scienceqa-test": Made(
        rows=letters(), hub=pair(lambda at: {"question": ASKED[at], "choices": TWO[at], "answer": 1 - at})
    ),
    "mmvp": Made(
        rows=[
            {"index": at, "question": "Is the door open?", "A": "Open", "B": "Closed", "answer": "AB"[at]}
            for at in range(2)
        ],
        hub=pair(
            lambda at: {
                "Index": at,
                "Question": "Is the door open?",
                "Options": "(a) Open (b) Closed",
                "Correct Answer": f"({'ab'[at]})",
            }
        ),
        replies=["A", "A"],
    ),
    "vstar-vlmevalkit": Made(
        rows=letters(category="direct_attributes"),
        hub=pair(
            lambda at: {
                "question_id": str(at),
                "text": f"{ASKED[at]} "
                + " ".join(f"({letter}) {text}" for letter, text in zip("ABCD", TWO[at], strict=True))
                + "\nAnswer with the option's letter from the given choices directly.",
                "label": "BA"[at],
                "category": "direct_attributes",
            }
        ),
    ),
    "hr-bench-4k-vlmevalkit": Made(rows=letters(category="single", cycle_category="0")),
    "hr-bench-8k-vlmevalkit": Made(rows=letters(category="single", cycle_category="0")),
    "treebench-vlmevalkit": Made(rows=letters(category="Perception/OCR")),
    "erqa": Made(
        rows=[
            {"index": at, "question": f"<image> {ASKED[at]} Choices: A. x B. y", "answer": "BA"[at]}
            | {"category": "Action Reasoning"}
            for at in range(2)
        ],
        hub=[
            {
                "question_id": str(at),
                "question": f"<image> {ASKED[at]} Choices: A. x B. y",
                "answer": "BA"[at],
            }
            | {"question_type": "Action Reasoning", "images": [IMAGE]}
            for at in range(2)
        ],
    ),
    "embspatial": Made(
        rows=letters(category="left"),
        hub=pair(
            lambda at: (
                {"question_id": str(at), "question": ASKED[at], "answer_options": TWO[at], "answer": 1 - at}
                | {"relation": "left"}
            )
        ),
    ),
    "omnispatial": Made(rows=letters(category="Complex_Logic")),
    "3dsrbench": Made(rows=letters(category="height_higher")),
    "visulogic": Made(
        rows=[
            {"index": at, "question": ASKED[at], "answer": "BA"[at], "category": "Style"} for at in range(2)
        ],
        replies=["Answer: \\boxed{B}", "Answer: \\boxed{C}"],
    ),
    "mmmu-val": Made(
        rows=[
            row
            | {"id": f"validation_Art_{at}", "question": f"<image 1> {row['question']}"}
            | {"category": "Art", "split": "validation"}
            for at, row in enumerate(letters())
        ],
        hub=[
            {"id": f"validation_Art_{at}", "question": f"<image 1> {ASKED[at]}", "options": str(TWO[at])}
            | {"answer": "BA"[at], "question_type": "multiple-choice", "image_1": IMAGE, "image_2": None}
            for at in range(2)
        ],
        replies=["(B)", "(C)"],
        kits={"vlmevalkit": 0.5},
    ),
    "mmmu-pro": Made(
        rows=[
            row | {"id": f"test_Art_{at}", "question": f"<image 1> {row['question']}", "category": "Art"}
            for at, row in enumerate(letters())
        ],
        hub=[
            {"id": f"test_Art_{at}", "question": f"<image 1> {ASKED[at]}", "options": str(TWO[at])}
            | {"answer": "BA"[at], "subject": "Art", "image_1": IMAGE, "image_2": None}
            for at in range(2)
        ],
        replies=["(B)", "(C)"],
        kits={"vlmevalkit": 0.5, "vlmevalkit-cot": 0.5, "lmms-eval-cot": 0.5},
    ),
    "mmmu-pro-vision": Made(
        rows=[
            row | {"id": f"test_Art_{at}", "question": "placeholder", "category": "Art"}
            for at, row in enumerate(letters())
        ],
        hub=pair(
            lambda at: (
                {"id": f"test_Art_{at}", "options": str(TWO[at]), "answer": "BA"[at], "subject": "Art"}
            )
        ),
        replies=["B", "B"],  # the prompts are the same
        kits={"vlmevalkit-cot": 0.5, "lmms-eval": 0.5},
    ),
    "chartqa": Made(
        rows=[
            opened("100", "blue")[0] | {"split": "test_human"},
            opened("100", "blue")[1] | {"split": "test_augmented"},
        ],
        hub=pair(
            lambda at: {
                "question": OPEN[at],
                "answer": ["100", "blue"][at],
                "type": ["human_test", "augmented_test"][at],
            }
        ),
        replies=["104", "red"],
        kits={"lmms-eval": 0.5},
    ),
    "docvqa-val": Made(
        rows=opened("['Lake', 'Sea']", "['invoice']"),
        hub=pair(
            lambda at: {
                "questionId": str(at),
                "question": OPEN[at],
                "answers": [["Lake", "Sea"], ["invoice"]][at],
            }
        ),
        replies=["lake", "no"],
    ),
    "infovqa-val": Made(
        rows=opened("['Lake', 'Sea']", "['invoice']"),
        hub=pair(
            lambda at: {
                "questionId": str(at),
                "question": OPEN[at],
                "answers": [["Lake", "Sea"], ["invoice"]][at],
            }
        ),
        replies=["lake", "no"],
    ),
    "textvqa-val": Made(
        rows=opened(str(["two"] * 10), str(["stop"] * 10)),
        hub=pair(lambda at: {"question_id": at, "question": OPEN[at], "answers": [["two", "stop"][at]] * 10}),
        replies=["2", "go"],
        kits={"lmms-eval": 0.5},
    ),
    "ocrbench": Made(
        rows=opened("['CENTRE']", "['exit']", category="Regular Text Recognition"),
        hub=pair(
            lambda at: (
                {"question": OPEN[at], "answer": [["CENTRE", "exit"][at]], "dataset": "x"}
                | {"question_type": "Regular Text Recognition"}
            )
        ),
        replies=["the centre", "in"],
        kits={"lmms-eval": 0.5},
    ),
    "vqav2-val": Made(
        rows=opened(str(["two"] * 10), str(["stop"] * 10)),
        hub=pair(
            lambda at: (
                {"question_id": at, "question": OPEN[at]}
                | {"answers": [{"answer": ["two", "stop"][at], "answer_id": k} for k in range(10)]}
            )
        ),
        replies=["two", "go"],
    ),
    "okvqa-val": Made(
        rows=opened(str(["two"] * 10), str(["stop"] * 10)),
        hub=pair(lambda at: {"question_id": at, "question": OPEN[at], "answers": [["two", "stop"][at]] * 10}),
        replies=["two", "go"],
    ),
    "vizwiz-val": Made(
        rows=opened(str(["two"] * 10), str(["stop"] * 10)),
        hub=pair(lambda at: {"question_id": at, "question": OPEN[at], "answers": [["two", "stop"][at]] * 10}),
        replies=["two", "go"],
        kits={"lmms-eval": 0.5},
    ),
    "gqa": Made(
        rows=opened("yes", "table"),
        hub=pair(lambda at: {"id": str(at), "question": OPEN[at], "answer": ["yes", "table"][at]}),
        replies=["Yes", "chair"],
        kits={"lmms-eval": 0.5},
    ),
    "ocrvqa": Made(rows=opened("Paris", "1999"), replies=["paris", "2001"]),
    "countbenchqa": Made(
        rows=opened("4", "5"),
        hub=pair(lambda at: {"question": OPEN[at], "number": 4 + at}),
        replies=["4", "6"],
    ),
    "pixmo-count": Made(
        rows=opened("4", "5"),
        hub=pair(lambda at: {"question": f"<image>{OPEN[at]}", "answer": str(4 + at)}),
        replies=["4", "6"],
    ),
    "tallyqa": Made(rows=opened("4", "5"), replies=["4", "6"]),
    "zerobench": Made(
        rows=opened("42", "7"),
        hub=[
            {"question_id": str(at), "question_text": OPEN[at], "question_answer": ["42", "7"][at]}
            | {"question_images_decoded": [IMAGE]}
            for at in range(2)
        ],
        replies=["{42}", "{8}"],
    ),
    "zerobench-sub": Made(rows=opened("42", "7"), replies=["{42}", "{8}"]),
    "mtvqa": Made(rows=opened("Haus", "Baum", category="DE"), replies=["Das Haus", "Wald"]),
    "pope": Made(
        rows=[
            {"index": at, "question": YES_NO[at], "answer": ["Yes", "No"][at], "category": "random"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: (
                {"id": str(at), "question_id": "1", "question": YES_NO[at], "answer": ["yes", "no"][at]}
                | {"category": "random"}
            )
        ),
        replies=["Yes", "Yes"],
        kits={"lmms-eval": 0.5},
    ),
    "mme": Made(
        rows=[
            {"index": at, "question": YES_NO[at], "answer": ["Yes", "No"][at], "category": "color"}
            | {"image_path": "c/1.png"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: (
                {"question_id": "c/1.png", "question": YES_NO[at], "answer": ["Yes", "No"][at]}
                | {"category": "color"}
            )
        ),
        replies=["Yes", "Yes"],
        kits={"lmms-eval": 0.5},
    ),
    "hallusionbench": Made(
        rows=[
            {"index": f"VD_chart_1_0_{at}_0", "question": YES_NO[at], "answer": ["Yes", "No"][at]}
            | {"category": "VD", "l2-category": "chart"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: (
                {"category": "VD", "subcategory": "chart", "visual_input": "1", "set_id": "0"}
                | {"figure_id": str(at), "question_id": "0", "question": YES_NO[at], "gt_answer": "10"[at]}
            )
        ),
        replies=["Yes", "Yes"],
    ),
    "amber": Made(
        rows=[
            {"index": at, "question": YES_NO[at], "answer": ["Yes", "No"][at]}
            | {"category": "discriminative-attribute-state"}
            for at in range(2)
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
