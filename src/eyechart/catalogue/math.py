"""Mathematics and logic in images. For most benchmarks a judge reads replies that rules cannot read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import ask, ask_with, frame
from eyechart.types import Sample

_QUESTION = re.compile(r"Question:\s*(.*?)(?:\nChoices:|\Z)", re.DOTALL)
_NUMBERS = {
    ("integer", ""): "requiring an integer answer and provide the final value, e.g., 1, 2, 3, at the end.",
    (
        "float",
        "1",
    ): "requiring a floating-point number with one decimal place and provide the final value, e.g., 1.2, 1.3, 1.4, at the end.",
    (
        "float",
        "2",
    ): "requiring a floating-point number with two decimal places and provide the final value, e.g., 1.23, 1.34, 1.45, at the end.",
    (
        "list",
        "",
    ): "requiring a Python list as an answer and provide the final list, e.g., [1, 2, 3], [1.2, 1.3, 1.4], at the end.",
}


def ask_mathvista(sample: Sample) -> str:
    """lmms-eval's prompt of MathVista: question, choices, then the hint on the kind of answer."""
    found = _QUESTION.search(sample.question)
    text = str(sample.meta.get("plain_question") or (found[1] if found else sample.question))
    if unit := sample.meta.get("unit"):
        text = f"{text} (Unit: {unit})"
    lines = [f"Question: {text}"]
    if sample.meta.get("question_type") == "multi_choice":
        lines += ["Choices:", *(f"({letter}) {choice}" for letter, choice in sample.choices.items())]
        hint = "and provide the correct option letter, e.g., A, B, C, D, at the end."
    else:
        kind = str(sample.meta.get("answer_type", ""))
        precision = str(sample.meta.get("precision") or "").removesuffix(".0") if kind == "float" else ""
        hint = _NUMBERS.get((kind, precision), _NUMBERS["integer", ""])
    return "\n".join([*lines, f"Hint: Please answer the question {hint}"])


def change_mathvista(row: Mapping[str, Any]) -> dict[str, Any]:
    """As in the file: the question is the query, with its hint and choices; skills and task are columns."""
    facts = row.get("metadata") or {}
    return {
        "index": row["pid"],
        "question": row["query"],
        "plain_question": row["question"],
        "task": facts.get("task"),
        "skills": facts.get("skills"),
    }


def ask_with_choices(sample: Sample) -> str:
    """The question, and its choices where it does not hold them."""
    missing = [text for text in sample.choices.values() if text not in sample.question]
    if not missing or not any(text.strip() for text in sample.choices.values()):
        return sample.question
    listed = "\n".join(f"{letter}. {text}" for letter, text in sample.choices.items())
    return f"{sample.question}\nChoices: {listed}"


_OPTION = re.compile(r"(?:^|;)\s*([A-Z])\.\s*")
_WEMATH_HINT = (
    "Now, we require you to solve a multiple-choice math question. Please briefly describe your thought process and "
    "provide the final answer(option)."
)
_WEMATH_FORM = (
    "Regarding the format, please answer following the template below, and be sure to include two <> symbols:\n"
    "<Thought process>: <<your thought process>> <Answer>: <<your option>>"
)


def change_wemath(row: Mapping[str, Any]) -> dict[str, Any]:
    """As in the file: the options, which are one text on the hub, and the authors' words around the question."""
    texts = _OPTION.split(row["option"])
    options = dict(zip(texts[1::2], (text.strip() for text in texts[2::2]), strict=True))
    words = {"hint": _WEMATH_HINT, "requirement": _WEMATH_FORM}
    return {"option": None, "split": None, "options": options, **words}


def ask_mathvision(sample: Sample) -> str:
    """lmms-eval's prompt of MathVision."""
    text = f'Please solve the problem step by step and put your answer in one "\\boxed{{}}".{sample.question}'
    if not sample.choices:
        return text
    listed = "\n".join(f"{letter}. {choice}" for letter, choice in sample.choices.items())
    return f"{text}\nChoices: {listed}\nAnswer the question with the option's letter from the given choices directly."


def ask_dynamath(sample: Sample) -> str:
    """The question, then the JSON that is asked for."""
    told = {
        "multiple choice": "Provide the corresponing choice option in the 'short answer' key, such as 'A', 'B', 'C', or 'D'.",
        "float": "Format the answer as a three-digit floating-point number and provide it in the 'short answer' key.",
    }.get(
        str(sample.meta.get("answer_type")),
        "Float numbers in the answer should be formatted as three-digit floating-point numbers.",
    )
    return (
        f"## Question\n {sample.question}\n## Answer Instruction Please provide an answer to the question outlined above. "
        "Your response should adhere to the following JSON format, which includes two keys: 'solution' and 'short answer'. "
        "The 'solution' key can contain detailed steps needed to solve the question, and the 'short answer' key should "
        f"provide a concise response. {told}\n\nExample of expected JSON response format:\n\n"
        '{\n    "solution": "[Detailed step-by-step explanation]",\n    "short answer": "[Concise Answer]"\n}'
    )


declare(
    "mathvista-mini",
    "figures, plots, geometry and puzzles",
    group="math",
    size="1,000 questions",
    paper="https://arxiv.org/abs/2310.02255",
    licence="CC BY-SA 4.0",
    file="MathVista_MINI",
    hub="AI4Math/MathVista:testmini",
    change_row=change_mathvista,
    prompt=ask(),
    scorer="mathvista-lmms",
    kits={
        "vlmevalkit": Kit(prompt=ask(), scorer="mathvista", more={"aggregate": "mathvista"}),
        LMMS_EVAL: Kit(
            prompt=ask_with(ask_mathvista), scorer="mathvista-lmms", more={"aggregate": "mathvista"}
        ),
    },
    kit="authors",
    aggregate="mathvista",
    metric="accuracy",
    parity="authors (lmms-eval), VLMEvalKit",
    note="Needs a judge for most replies. The default asks the authors' query and compares as they do (lmms-eval's code); "
    "VLMEvalKit counts answers that are text or lists as wrong and compares floats without tolerance.",
)

for _name, _file, _split, _size in (
    ("mathvision", "MathVision", "test", "3,040"),
    ("mathvision-mini", "MathVision_MINI", "testmini", "304"),
):
    declare(
        _name,
        "competition problems of all school years",
        group="math",
        size=f"{_size} questions",
        paper="https://arxiv.org/abs/2402.14804",
        licence="MIT",
        file=_file,
        hub=f"MathLLMs/MathVision:{_split}",
        change_row=lambda row: {"index": row["id"], "category": row["subject"]},
        prompt=ask_with(ask_with_choices),
        scorer="mathvision",
        kits={
            LMMS_EVAL: Kit(
                prompt=ask_with(ask_mathvision),
                scorer="mathvision-lmms",
                more={"group_by": ("category",), "aggregate": "mathvision"},
            )
        },
        group_by=("category",),
        aggregate="mathvision",
        metric="accuracy",
        parity="VLMEvalKit, lmms-eval",
        note="Needs a judge for replies that are not the answer alone. As published, the free answer `a` equals any "
        "number. lmms-eval takes the box and needs no judge.",
    )

_Files = str | dict[str, str]
_VERSIONS: tuple[tuple[str, _Files, str], ...] = (
    ("mathverse-mini", "MathVerse_MINI", ""),
    (
        "mathverse-mini-vision-only",
        {"MathVerse_MINI_Vision_Only": "", "MathVerse_MINI_Vision_Only_cot": "vlmevalkit-cot"},
        "_vision_only",
    ),
    (
        "mathverse-mini-vision-dominant",
        "MathVerse_MINI_Vision_Dominant",
        "_vision_dominant",
    ),
    (
        "mathverse-mini-vision-intensive",
        "MathVerse_MINI_Vision_Intensive",
        "_vision_intensive",
    ),
    ("mathverse-mini-text-lite", "MathVerse_MINI_Text_Lite", "_text_lite"),
    ("mathverse-mini-text-dominant", "MathVerse_MINI_Text_Dominant", "_text_dominant"),
)
for _name, _version, _part in _VERSIONS:
    declare(
        _name,
        "geometry and functions, one problem in versions from text to image",
        group="math",
        size="3,940 rows" if _name == "mathverse-mini" else "788 questions",
        paper="https://arxiv.org/abs/2403.14624",
        licence="MIT",
        file=_version,
        hub=f"CaraJ/MathVerse-lmmseval:testmini{_part}.parquet",
        also_hub=[
            f"CaraJ/MathVerse-lmmseval:testmini_version_split/{_part[1:]}"
            if _part
            else "CaraJ/MathVerse-lmmseval:testmini/testmini"
        ],
        change_row=lambda row: {"index": row["sample_index"], "question": row["query_wo"]},
        prompt=ask(),
        scorer="mathverse",
        kits={
            "vlmevalkit-cot": Kit(
                prompt=ask_with(lambda sample: str(sample.meta.get("query_cot") or sample.question)),
                scorer="mathverse",
                more={"aggregate": "mathverse"},
            )
        },
        aggregate="mathverse",
        cluster=("problem_index",),
        metric="accuracy by a judge in two steps, extract and compare",
        parity="VLMEvalKit",
        note="Needs a judge. Model cards quote the version `vision-only`.",
    )

declare(
    "wemath",
    "steps of problems: knowing each, and all of them",
    group="math",
    size="1,740 questions",
    paper="https://arxiv.org/abs/2407.01284",
    licence="CC BY-NC 4.0",
    file={"WeMath": "", "WeMath_COT": "vlmevalkit-cot"},
    hub="We-Math/We-Math:testmini",
    change_row=change_wemath,
    prompt=frame(""),
    scorer="choice-vlmevalkit",
    kits={
        "vlmevalkit-cot": Kit(
            prompt=ask_with(
                lambda sample: (
                    str(next(iter(frame("")(sample))).text)
                    + (f"\n{sample.meta['requirement']}" if sample.meta.get("requirement") else "")
                )
            ),
            scorer="wemath",
            more={"aggregate": "wemath"},
        )
    },
    aggregate="wemath",
    cluster=("ID",),
    metric="strict score over problems of two and three steps",
    parity="VLMEvalKit",
    note="The accuracies by number of steps and by topic are shown beside the score. As published, the score is a share of 525 problems, "
    "so it is too low for a part of them (`--limit`). The authors' prompt asks for a form of the answer, as `vlmevalkit-cot` does.",
)

declare(
    "dynamath",
    "one problem in ten variants of its numbers",
    group="math",
    size="5,010 questions",
    paper="https://arxiv.org/abs/2411.00836",
    licence="Apache-2.0",
    file={"DynaMath": "", "DynaMath_noprompt": "vlmevalkit-noprompt"},
    hub=[f"DynaMath/DynaMath_Sample:sample_variant{number}" for number in range(1, 11)],
    also_hub=["lscpku/DynaMath_Sample"],
    change_row=lambda row: {
        "id": None,
        "qid": row["id"],
        "varid": int(row["part"].removeprefix("sample_variant")),
        "answer": row["ground_truth"],
    },
    prompt=ask_with(ask_dynamath),
    scorer="dynamath",
    kits={
        "vlmevalkit-noprompt": Kit(
            prompt=ask(lead="## Question\n "), scorer="dynamath", more={"aggregate": "dynamath"}
        )
    },
    aggregate="dynamath",
    cluster=("qid",),
    metric="worst case: a problem counts if all its variants are right; and the mean",
    parity="VLMEvalKit",
)

declare(
    "logicvista",
    "diagrams, patterns, puzzles",
    group="reasoning",
    size="448 questions",
    paper="https://arxiv.org/abs/2407.04973",
    licence="Apache-2.0",
    file="LogicVista",
    hub="lscpku/LogicVista:test",
    change_row=lambda row: {"index": row["id"]},
    prompt=ask(),
    scorer="logicvista",
    aggregate="logicvista",
    metric="accuracy: the set of letters is the gold's",
    parity="VLMEvalKit",
    note="Needs a judge for replies that are not letters.",
)
