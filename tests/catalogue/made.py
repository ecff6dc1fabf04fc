"""Two questions for each benchmark of the catalogue, as its file and as its hub data set hold them.

Everything here is made up: the columns are those of the published files, the contents are not. A reply stands
beside each row of the file. Where the hub has VLMEvalKit's file, the rows of both are the same.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.catalogue.coco_captions import DESCRIBE
from eyechart.data.files.hub import names_file
from support.files import picture, picture_base64
from support.tables import write_tsv

Rows = Sequence[Mapping[str, Any]]
IMAGE = {"bytes": picture(), "path": "1.png"}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A tiny benchmark: rows of the file and of the hub, what the model says, what that is worth."""

    rows: Rows  # of the TSV, without the image
    hub: Rows = ()  # of the first part of the hub data set; empty: it is not on the hub, or is the file
    more_hub: Mapping[str, Rows] = field(default_factory=dict)  # of further parts: config/split to rows
    replies: Sequence[str] = ("B", "C")
    score: float = 0.5
    kits: Mapping[str, float] = field(default_factory=dict)  # the score by the rules of another kit
    judge: Mapping[str, str] = field(default_factory=dict)  # a text in the judge's prompt to what it says


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
WEMATH = (
    "Now, we require you to solve a multiple-choice math question. Please briefly describe your thought "
    "process and provide the final answer(option).",
    "Regarding the format, please answer following the template below, and be sure to include two <> "
    "symbols:\n<Thought process>: <<your thought process>> <Answer>: <<your option>>",
)
CHARXIV = "\n    * Your final answer must be an exact integer."
DESCRIPTIVE = {
    16: "For the subplot at row 1 and column 2, what is the general trend of data from left to right?\n"
    '    * Your final answer should be within a few words, such as "increases", "increases then stabilizes".',
    1: "For the subplot at row 1 and column 2, what is its title?\n"
    "    * Your final answer should be the most relevant title of the plot that is explicitly written.\n"
    "    * If the plot does not have an explicit title or contains only a letter, answer 'Not Applicable'.",
    10: "For the subplot at row 1 and column 2, how many lines are there?\n"
    "    * Your final answer should be the number of lines in the plot. Ignore grid lines, tick marks, and "
    "any vertical or horizontal auxiliary lines.\n"
    "    * If the plot does not contain any lines or is not considered a line plot, answer "
    '"Not Applicable".',
    19: "What is the number of subplots?\n"
    "    * Your final answer should be the total number of subplots in the plot.\n"
    '    * If the plot does not contain subplots, answer "1".',
}


def pair(make: Callable[[int], Mapping[str, Any]]) -> Rows:
    """Two rows of a hub data set, each with an image."""
    return [{"image": IMAGE, **make(at)} for at in range(2)]


def with_images(rows: Rows) -> Rows:
    """Rows of the file, each with an image, as a hub data set with the same columns."""
    return [{**row, "index": str(row["index"]), "image": IMAGE} for row in rows]


def variant(at: int) -> dict[str, Any]:
    """A row of DynaMath on the hub."""
    return {
        "id": "0", "question": OPEN[at], "image": "images/1.png", "decoded_image": IMAGE,
        "ground_truth": ["4.0", "5.0"][at], "answer_type": "float", "subject": "algebra",
        "knowledge_level": "high school",
    }  # fmt: skip


CAPTIONS = [["a cat on a mat", "a cat"], ["two dogs run", "dogs"]]
TABLE = "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"
PAGE = {
    "layout_dets": [
        {"category_type": "title", "order": 1, "anno_id": 1, "text": "A title"},
        {"category_type": "table", "order": 2, "anno_id": 2, "html": TABLE},
        {"category_type": "text_block", "order": 3, "anno_id": 3, "text": "Some text"},
    ],
    "page_info": {"page_attribute": {"language": "english"}},
}

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
        kits={"lmms-eval": 0.5},
    ),
    "ai2d": Made(
        rows=letters(),
        hub=pair(lambda at: {"question": ASKED[at], "options": TWO[at], "answer": "10"[at]}),
        kits={"lmms-eval": 0.5},
    ),
    "ai2d-no-mask": Made(
        rows=letters(),
        hub=pair(lambda at: {"question": ASKED[at], "options": TWO[at], "answer": "10"[at]}),
        kits={"lmms-eval": 0.5},
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
        kits={"lmms-eval": 0.5},
    ),
    "muirbench": Made(
        rows=[row | {"question": f"<image> {row['question']}"} for row in letters(category="Ordering")],
        hub=[
            {"idx": str(at), "task": "Ordering", "question": f"<image> {ASKED[at]}", "options": TWO[at]}
            | {"answer": "BA"[at], "image_list": [IMAGE]}
            for at in range(2)
        ],
        kits={"lmms-eval": 0.5},
    ),
    "seedbench-img": Made(
        rows=letters(),
        hub=[
            {"question_id": str(at), "question": ASKED[at], "answer": "BA"[at], "data_type": "image"}
            | {f"choice_{letter}": text for letter, text in zip("abcd", TWO[at], strict=True)}
            | {"image": [IMAGE]}
            for at in range(2)
        ],
        kits={"lmms-eval": 0.5},
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
        kits={"lmms-eval": 0.5},
    ),
    "scienceqa-test": Made(
        rows=letters(),
        hub=pair(lambda at: {"question": ASKED[at], "choices": TWO[at], "answer": 1 - at}),
        kits={"lmms-eval": 0.5},
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
        kits={"lmms-eval": 0.5},
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
        kits={"lmms-eval": 0.5},
    ),
    "hr-bench-4k-vlmevalkit": Made(
        rows=letters(category="single", cycle_category="0"),
        hub=with_images(letters(category="single", cycle_category="0")),
    ),
    "hr-bench-8k-vlmevalkit": Made(
        rows=letters(category="single", cycle_category="0"),
        hub=with_images(letters(category="single", cycle_category="0")),
    ),
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
    "omnispatial": Made(
        rows=letters(task_type="Complex_Logic", sub_task_type="Pattern_Recognition"),
        hub=pair(
            lambda at: (
                {"id": str(at), "question": ASKED[at], "options": TWO[at], "answer": 1 - at}
                | {"task_type": "Complex_Logic", "sub_task_type": "Pattern_Recognition"}
            )
        ),
        replies=["Answer: B", "Answer: C"],
        kits={"vlmevalkit": 0.5, "authors-default": 0.5, "authors-zeroshot-cot": 0.5},
    ),
    "3dsrbench": Made(
        rows=[
            row | {"qid": qid}
            for row, qid in zip(letters(category="height_higher"), ("VIN6MS3J", "VIN6MS3J-1"), strict=True)
        ]
    ),
    "visulogic": Made(
        rows=[
            {"index": at, "question": ASKED[at], "answer": "BA"[at], "category": "Style"} for at in range(2)
        ],
        hub=[
            {"id": str(at), "image_path": f"./images/{at}.png", "question": ASKED[at], "label": "BA"[at]}
            | {"tag": "Style"}
            for at in range(2)
        ],
        more_hub={"images.zip": [{"name": f"images/{at}.png"} for at in range(2)]},
        replies=["Answer: \\boxed{B}", "Answer: \\boxed{C}"],
        kits={"lmms-eval": 0.5},
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
        hub=[
            {"id": str(at), "imageId": f"n{at}", "question": OPEN[at], "answer": ["yes", "table"][at]}
            | {"fullAnswer": "It is.", "isBalanced": True}
            for at in range(2)
        ],
        more_hub={"testdev_balanced_images/testdev": [{"id": f"n{at}", "image": IMAGE} for at in (1, 0)]},
        replies=["Yes", "chair"],
        kits={"lmms-eval": 0.5},
    ),
    "tablevqa": Made(
        rows=[
            opened("34.2%", "1")[0] | {"split": "fintabnetqa"},
            opened("34.2%", "1")[1] | {"split": "vtabfact"},
        ],
        hub=[{"qa_id": "a.png", "image": IMAGE, "question": OPEN[0], "gt": "34.2%", "text_html_table": ""}],
        more_hub={
            "vtabfact": [
                {"qa_id": "b.png", "image": IMAGE, "question": OPEN[1], "gt": "1", "text_html_table": ""}
            ],
            "vwtq": [],
            "vwtq_syn": [],
        },
        replies=["34.2%", "False"],
    ),
    "ocrvqa": Made(rows=opened("Paris", "1999"), replies=["paris", "2001"]),
    "ocrvqa-test": Made(
        rows=opened("Paris", "1999"),
        hub=[
            {"image": IMAGE, "image_id": "1", "questions": OPEN, "answers": ["Paris", "1999"], "title": "x"}
        ],
        replies=["paris", "2001"],
    ),
    "countbenchqa": Made(
        rows=opened("4", "5"),
        hub=pair(lambda at: {"question": OPEN[at], "number": 4 + at}),
        replies=["4", "6"],
        kits={"lmms-eval": 0.5},
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
        kits={"lmms-eval": 0.0},
    ),
    "zerobench-sub": Made(
        rows=opened("42", "7"),
        hub=[
            {"question_id": str(at), "question_text": OPEN[at], "question_answer": ["42", "7"][at]}
            | {"question_images_decoded": [IMAGE]}
            for at in range(2)
        ],
        replies=["{42}", "{8}"],
        kits={"lmms-eval": 0.0},
    ),
    "mtvqa": Made(
        rows=opened("Haus", "Baum", category="DE"),
        hub=[
            {"image": IMAGE, "id": "7", "lang": "DE"}
            | {"qa_pairs": str([{"question": OPEN[at], "answer": ["Haus", "Baum"][at]} for at in range(2)])}
        ],
        replies=["Das Haus", "Wald"],
    ),
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

GROUPS = {
    "development": "Dev", "creative": "Creative", "cad": "CAD", "scientific": "Scientific",
    "office": "Office", "os": "OS",
}  # fmt: skip
BOXES: dict[str, Made] = {
    name: Made(
        rows=[
            {"index": at, "question": ["open the menu", "close it"][at], "bbox": box, "data_type": "text"}
            for at, box in enumerate(["[0, 0, 16, 12]", "[16, 12, 4, 4]"])
        ],
        hub=[  # of the rows of all platforms, those of two are left out
            {"file_name": "1.png", "instruction": text, "bbox": box, "data_type": "text", "image": IMAGE}
            | {"data_source": source}
            for text, box, sources in (
                ("open the menu", [0.0, 0.0, 0.5, 0.5], ("ios", "windows", "gitlab")),
                ("close it", [0.5, 0.5, 0.625, 16 / 24], ("android", "macos", "tool")),
            )
            for source in sources
        ],
        replies=["pyautogui.click(x=0.2, y=0.2)", "pyautogui.click(x=0.1, y=0.1)"],
    )
    for name in (
        *(f"screenspot-{part}" for part in ("mobile", "desktop", "web")),
        *(f"screenspot-v2-{part}" for part in ("mobile", "desktop", "web")),
    )
} | {
    f"screenspot-pro-{part}": Made(
        rows=[
            {"index": at, "question": ["open the menu", "close it"][at], "bbox": box, "ui_type": "text"}
            | {"category": group}
            for at, box in enumerate(["[0, 0, 16, 12]", "[16, 12, 20, 16]"])
        ],
        hub=[
            {"id": f"{name}_{at}", "instruction": ["open the menu", "close it"][at], "bbox": box}
            | {"ui_type": "text", "group": name, "img_size": [32, 24], "image": IMAGE}
            for at, box in enumerate([[0, 0, 16, 12], [16, 12, 20, 16]])
            for name in GROUPS.values()
        ],
        replies=["pyautogui.click(x=0.2, y=0.2)", "pyautogui.click(x=0.1, y=0.1)"],
    )
    for part, group in GROUPS.items()
}
MATHVERSE = Made(
    rows=[
        {"index": at, "question": OPEN[at], "answer": ["4", "5"][at], "problem_version": "Vision Only"}
        | {"question_for_eval": OPEN[at], "query_cot": f"Think. {OPEN[at]}"}
        for at in range(2)
    ],
    hub=pair(
        lambda at: {
            "sample_index": str(at),
            "question": "",
            "query_wo": OPEN[at],
            "query_cot": f"Think. {OPEN[at]}",
            "answer": ["4", "5"][at],
            "problem_version": "Vision Only",
            "question_for_eval": OPEN[at],
        }
    ),
    replies=["It is 4", "It is 6"],
    judge={"It is 4": "4", "It is 6": "6", "": "0"},
    kits={"vlmevalkit-cot": 0.5},
)
MADE |= BOXES
MADE |= {
    f"mathverse-mini{version}": MATHVERSE
    for version in (
        "", "-vision-only", "-vision-dominant", "-vision-intensive", "-text-lite", "-text-dominant",
    )
}  # fmt: skip
MADE |= {
    "screenspot": Made(
        rows=[
            {"index": at, "question": OPEN[at], "bbox": "[0, 0, 0.5, 0.5]", "data_type": "text"}
            for at in range(2)
        ],
        hub=pair(lambda at: {"instruction": OPEN[at], "bbox": [0.0, 0.0, 0.5, 0.5], "data_type": "text"}),
        replies=["[0, 0, 0.5, 0.5]", "[0.5, 0.5, 1, 1]"],
    ),
    "screenspot-v2": Made(
        rows=[
            {"index": at, "question": OPEN[at], "bbox": "[0, 0, 16, 12]", "data_type": "text"}
            for at in range(2)
        ],
        hub=pair(lambda at: {"instruction": OPEN[at], "bbox": [0.0, 0.0, 16.0, 12.0], "data_type": "text"}),
        replies=["[0.2, 0.2]", "[0.9, 0.9]"],
    ),
    "screenspot-pro": Made(
        rows=[
            {"index": at, "question": OPEN[at], "bbox": "[0, 0, 16, 12]", "ui_type": "text"}
            for at in range(2)
        ],
        hub=pair(lambda at: {"instruction": OPEN[at], "bbox": [0.0, 0.0, 16.0, 12.0], "ui_type": "text"}),
        replies=["[0.2, 0.2]", "[0.9, 0.9]"],
    ),
    "refcoco": Made(
        rows=[
            {"index": at, "question": ["the dog", "the cat"][at], "answer": "[0.0, 0.0, 0.5, 0.5]"}
            | {"category": "RefCOCO val"}
            for at in range(2)
        ],
        replies=["[0, 0, 0.5, 0.5]", "[0.5, 0.5, 1, 1]"],
        kits={"lmms-eval": 0.5},
    ),
    "chartqapro": Made(
        rows=[
            {"index": 0, "question": "['First?', 'Second?']", "answer": "['1', '20']", "year": "['NO', 'NO']"}
            | {"question_type": "Conversational", "paragraph": "Some context."},
            {"index": 1, "question": "['What is it?']", "answer": "['blue']", "year": "['NO']"}
            | {"question_type": "Factoid", "paragraph": ""},
        ],
        hub=[
            {"Question": ["First?", "Second?"], "Answer": ["1", "20"], "Question Type": "Conversational"}
            | {"Year": ["NO", "NO"], "Paragraph": "Some context.", "image": picture()},
            {"Question": ["What is it?"], "Answer": ["blue"], "Question Type": "Factoid", "Year": ["NO"]}
            | {"Paragraph": "", "image": picture()},
        ],
        replies=["20", "red"],
        kits={"lmms-eval": 0.5},
    ),
    "mathvista-mini": Made(
        rows=[
            {"index": 1, "question": "Hint: Please.\nQuestion: How many?", "answer": "4", "task": "figure"}
            | {"question_type": "free_form", "answer_type": "integer", "skills": "['arithmetic reasoning']"},
            {"index": 2, "question": "Hint: Please.\nQuestion: Which?\nChoices:\n(A) x\n(B) y", "answer": "y"}
            | {"question_type": "multi_choice", "answer_type": "text", "choices": "['x', 'y']"}
            | {"answer_option": "B", "task": "figure", "skills": "['arithmetic reasoning']"},
        ],
        hub=[
            {
                "pid": "1",
                "question": "How many?",
                "query": "Hint: Please.\nQuestion: How many?",
                "answer": "4",
            }
            | {"question_type": "free_form", "answer_type": "integer", "choices": None, "precision": None}
            | {"metadata": {"task": "figure", "skills": ["arithmetic reasoning"]}, "decoded_image": IMAGE}
            | {"image": "images/1.jpg", "unit": None},
            {"pid": "2", "question": "Which?", "answer": "y", "question_type": "multi_choice"}
            | {"query": "Hint: Please.\nQuestion: Which?\nChoices:\n(A) x\n(B) y", "answer_type": "text"}
            | {"choices": ["x", "y"], "precision": None, "image": "images/2.jpg", "unit": None}
            | {"metadata": {"task": "figure", "skills": ["arithmetic reasoning"]}, "decoded_image": IMAGE},
        ],
        replies=["4", "A"],
        judge={"": "A"},
        kits={"vlmevalkit": 0.5, "lmms-eval": 0.5},
    ),
    "mathvision": Made(
        rows=[
            {
                "index": at,
                "question": OPEN[at],
                "answer": ["4", "5"][at],
                "choices": "[]",
                "category": "algebra",
            }
            for at in range(2)
        ],
        hub=[
            {
                "id": str(at),
                "question": OPEN[at],
                "options": [],
                "answer": ["4", "5"][at],
                "subject": "algebra",
            }
            | {"image": "images/1.jpg", "decoded_image": IMAGE}
            for at in range(2)
        ],
        replies=["4", "6"],
        judge={"": "6"},
        kits={"lmms-eval": 0.5},
    ),
    "wemath": Made(
        rows=[
            row | {"ID": "1", "key": key, "hint": WEMATH[0], "requirement": WEMATH[1]}
            for row, key in zip(letters(), ("2steps_1", "2steps_2"), strict=True)
        ],
        hub=[
            {"ID": "1", "split": "testmini", "knowledge concept": "Area", "question": ASKED[at]}
            | {"option": ";".join(f"{letter}. {text}" for letter, text in zip("ABCD", TWO[at], strict=True))}
            | {"answer": "BA"[at], "image_path": IMAGE, "key": f"2steps_{at + 1}", "question number": at}
            for at in range(2)
        ],
        kits={"vlmevalkit-cot": 0.5},
    ),
    "dynamath": Made(
        rows=[
            {"index": at, "question": OPEN[at], "answer": ["4.0", "5.0"][at], "answer_type": "float"}
            | {"qid": 0, "varid": at + 1, "subject": "algebra", "knowledge_level": "high school"}
            for at in range(2)
        ],
        hub=[variant(0)],
        more_hub={f"sample_variant{n}": [variant(n - 1)] if n == 2 else [] for n in range(2, 11)},
        kits={"vlmevalkit-noprompt": 0.5},
        replies=['{"solution": "", "short answer": "4.000"}', '{"solution": "", "short answer": "6.000"}'],
    ),
    "logicvista": Made(
        rows=[
            {"index": at, "question": ASKED[at], "answer": ["A, B", "C"][at], "skill": "['deductive']"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: (
                {"id": str(at), "question": ASKED[at], "answer": ["A, B", "C"][at], "skill": "['deductive']"}
                | {"reasoning": "So it is."}
            )
        ),
        replies=["It is A and B.", "It is D."],
        judge={"It is A and B.": "AB", "": "D"},
    ),
    "mmvet": Made(
        rows=opened("a cat", "a dog", category="rec,ocr"),
        hub=pair(
            lambda at: {
                "question_id": f"v1_{at}",
                "question": OPEN[at],
                "answer": ["a cat", "a dog"][at],
                "capability": "rec,ocr",
            }
        ),
        replies=["It is a cat.", "It is a bird."],
        judge={"It is a cat.": "1.0", "": "0.0"},
    ),
    "llavabench": Made(
        rows=[
            {"index": at, "question": OPEN[at], "gpt4_ans": "a cat", "caption": "A cat.", "category": "conv"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: {
                "question_id": str(at),
                "question": OPEN[at],
                "gpt_answer": "a cat",
                "caption": "A cat.",
                "category": "conv",
            }
        ),
        replies=["It is a cat.", "It is a bird."],
        judge={"It is a cat.": "10 10\nGood.", "": "10 0\nBad."},
        kits={"lmms-eval": 0.5},
    ),
    "simplevqa": Made(
        rows=opened("a cat", "a dog"),
        hub=pair(lambda at: {"data_id": str(at), "question": OPEN[at], "answer": ["a cat", "a dog"][at]}),
        replies=["It is a cat.", "It is a bird."],
        judge={"It is a cat.": '{"a": "正确"}', "": '{"a": "错误"}'},
        kits={"lmms-eval": 0.0},
    ),
    "charxiv-reasoning": Made(
        rows=[
            {"index": at, "question": f"{ASKED[at]}{CHARXIV}", "answer": ["4", "5"][at], "inst_category": 4}
            | {"grading_query": "Grade {PREDICTION}"}
            for at in range(2)
        ],
        hub=pair(
            lambda at: (
                {"reasoning_q": ASKED[at], "reasoning_a": ["4", "5"][at], "reasoning_q_source": 4}
                | {"category": "cs", "figure_path": f"images/{at}.jpg"}
            )
        ),
        replies=["It is a cat.", "It is a bird."],
        judge={
            "It is a cat.": '{"extract_answer": "cat", "score": 1}',
            "": '{"extract_answer": "bird", "score": 0}',
        },
    ),
    "charxiv-descriptive": Made(
        rows=[
            {
                "index": at,
                "question": text,
                "answer": f"a{at}",
                "qid": qid,
                "grading_query": "Grade {PREDICTION}",
            }
            for at, (qid, text) in enumerate(DESCRIPTIVE.items())
        ],
        hub=[
            {"image": IMAGE, "subplot_row": 1, "subplot_col": 2, "subplot_loc": None, "category": "cs"}
            | {f"descriptive_q{at + 1}": qid for at, (qid, _) in enumerate(DESCRIPTIVE.items())}
            | {f"descriptive_a{at + 1}": f"a{at}" for at in range(4)}
        ],
        replies=["It is a cat.", "It is a bird.", "It is a cat.", "It is a bird."],
        judge={
            "It is a cat.": '{"extract_answer": "cat", "score": 1}',
            "": '{"extract_answer": "bird", "score": 0}',
        },
    ),
    "mmlongbench-doc": Made(
        rows=opened(
            "4", "5", answer_format="Int", doc_type="Report", evidence_pages="[1]", evidence_sources="[]"
        ),
        hub=[
            {"doc_id": "a.pdf", "doc_type": "Report", "question": OPEN[at], "answer": "45"[at]}
            | {"answer_format": "Int", "evidence_pages": "[1]", "evidence_sources": "[]"}
            for at in range(2)
        ],
        more_hub={"documents/": [{"name": "a.pdf"}]},
        replies=["4", "6"],
        kits={"lmms-eval": 0.5},
    ),
}
MADE |= {
    "ocrbench-v2": Made(
        rows=[
            {"index": 0, "question": OPEN[0], "answer": "['4', 'four']", "category": "cognition VQA en"}
            | {"eval": "without eval", "bbox": "without bbox", "content": "without content"},
            {"index": 1, "question": OPEN[1], "answer": "[0, 0, 10, 10]", "category": "text grounding en"}
            | {"eval": "without eval", "bbox": "without bbox", "content": "without content"},
        ],
        hub=pair(
            lambda at: (
                {"id": at, "question": OPEN[at], "answers": [["4", "four"], ["0", "0", "10", "10"]][at]}
                | {"type": ["cognition VQA en", "text grounding en"][at], "eval": None, "bbox": None}
                | {"content": None}
            )
        ),
        replies=["It is four.", "[20, 20, 30, 30]"],
    ),
    "ocrbench-v2-mini": Made(
        rows=[
            {"index": at, "question": OPEN[at], "answer": "['']", "category": "text spotting en"}
            | {"eval": "without eval", "bbox": "[[0, 0, 10, 0, 10, 10, 0, 10]]", "content": "['STOP']"}
            for at in range(2)
        ],
        replies=["[(0, 0, 10, 9, stop)]", "none"],
    ),
    "ccocr": Made(
        rows=[
            {"index": 0, "question": OPEN[0], "answer": '{"total": "4", "date": "2024"}', "category": "kie"}
            | {"l2-category": "constrained_category", "split": "CORD"},
            {"index": 1, "question": OPEN[1], "answer": "STOP here", "category": "multi_scene_ocr"}
            | {"l2-category": "scene_text", "split": "IC15"},
        ],
        replies=['```json\n{"total": "4", "date": "2024"}\n```', "go"],
    ),
    "omnidocbench": Made(
        rows=[{"index": at, "question": OPEN[at], "answer": json.dumps(PAGE)} for at in range(2)],
        replies=["# A title\n\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n\nSome text"] * 2,  # the prompts are the same
        score=1.0,
    ),
    "coco-caption-val": Made(
        rows=[{"index": at, "question": DESCRIBE, "answer": str(CAPTIONS[at])} for at in range(2)],
        hub=pair(lambda at: {"id": at, "question": "Caption?", "answer": CAPTIONS[at]}),
        replies=["a cat on a mat"] * 2,  # the prompts are the same
        kits={"lmms-eval": 0.5},
    ),
}
MADE["mathvision-mini"] = MADE["mathvision"]
MADE["hallusionbench"] = replace(
    MADE["hallusionbench"],
    kits={"lmms-eval": 0.5, "lmms-eval-no-judge": 0.5},
    judge={"Is it red?": "correct", "": "incorrect"},
)


def write_file(folder: Path, stem: str, made: Made) -> Path:
    """The benchmark's TSV file, each row with an image of its own."""
    heading = list(dict.fromkeys(name for row in made.rows for name in row))
    lines = [
        [*(row.get(name, "") for name in heading), picture_base64((at * 90, 10, 10))]
        for at, row in enumerate(made.rows)
    ]
    return write_tsv(folder / f"{stem}.tsv", [*heading, "image"], *lines)


def write_clone(folder: Path, part: str, rows: Rows) -> Path:
    """The hub data set as `eyechart data get --to` leaves it: Parquet by config and split, or a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    config, _, split = part.rpartition("/")
    place = folder / (config or ("" if names_file(part) else "data"))
    place.mkdir(parents=True, exist_ok=True)
    if part.endswith("/"):
        from PIL import Image

        for row in rows:
            Image.open(io.BytesIO(picture())).convert("RGB").save(place / row["name"])
    elif part.endswith(".zip"):
        with zipfile.ZipFile(place / split, "w") as archive:
            for row in rows:
                archive.writestr(row["name"], picture())
    elif part.endswith(".jsonl"):
        lines = (json.dumps(row) for row in rows)
        (place / split).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    elif rows:
        name = split if names_file(part) else f"{split}-00000-of-00001.parquet"
        pq.write_table(pa.Table.from_pylist(list(map(dict, rows))), place / name)
    return folder
