"""Writes tests/golden/evalscope_*.jsonl with the released evalscope (`make golden-evalscope`).

Inputs are generated here, from a fixed seed; the expected values are what evalscope says.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jieba
from evalscope import __version__, run_task
from evalscope.api.judge.contracts import OutputContract
from evalscope.api.messages.utils import parse_content_with_reasoning
from evalscope.api.mixin.llm_judge_mixin import _correctness_model
from evalscope.benchmarks.general_qa_vqa_metrics import calculate_metric_score
from evalscope.utils.multi_choices import answer_character, parse_answers, parse_answers_zh
from nltk import word_tokenize

from parity.general import (
    make_answer,
    make_choice_reply,
    make_reply,
    make_text,
    make_vmcq,
    make_vqa,
    read_result,
    style,
    write_pictures,
)
from support.server import Server

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SEED = 20261118
_CHINESE = re.compile("[\u4e00-\u9fa5]")
_ODD = (
    "",
    "  ",
    "\n",
    " \n\n x",
    "?",
    "？”b",
    "a？”，b",
    "……”c",
    "……d",
    "x?y",
    "x？y。”z",
    "``a''",
    "a......b",
)
_PIECES = (
    '{"verdict": "A"}', '{"reasoning": "x", "verdict": "B"}', "{", "}", '"', "\\", '{"verdict": "C"}',
    '{"verdict": 1}', '{"reasoning": 3, "verdict": "A"}', "so ", "```json\n",
    '{"reasoning": "{b}", "verdict": "A"}',
    '{"verdict": "A", "more": {"y": 1}}', "[1]",
)  # fmt: skip
_LABEL_PIECES = (
    "ANSWER:", "Answer :", "answer: **", "答案：", "答案 : ", "A", "B", "C", "Z", "a", "AB", "A, C", "A、C",
    "A and B", "A or D", "(A)", "[B]", "（C）", "(A, C)", "\\boxed{", "$", "\\(", "\\text{B}", "}",
    "[LETTER]", "not", "because", "and", " ", "\n", ".", "。", "*", "X", "1", "Dog", "É", "$$",
)  # fmt: skip


def write(name: str, lines: Iterable[dict[str, Any]]) -> None:
    head = {"provenance": f"expected values produced by evalscope {__version__}; inputs are ours"}
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *lines))
    (GOLDEN / f"{name}.jsonl").write_text(text, encoding="utf-8")


def overlaps(rng: random.Random) -> Iterable[dict[str, Any]]:
    for n in range(400):
        wanted = _ODD[n % len(_ODD)] if n < 40 else make_text(rng)
        said = rng.choice(_ODD) if n < 20 else make_reply(rng, wanted)
        values = {
            **calculate_metric_score("BLEU", said, wanted),
            **calculate_metric_score("Rouge", said, wanted),
        }
        words = [None if _CHINESE.search(text) else word_tokenize(text) for text in (said, wanted)]
        yield {"said": said, "wanted": wanted, "words": words, "values": values}


def labels(rng: random.Random) -> Iterable[dict[str, Any]]:
    for n in range(600):
        count = rng.choice([2, 3, 4, 5, 28])
        named = [answer_character(i) for i in range(count)]
        text = style(rng, make_choice_reply(rng, rng.choice(named), "".join(named[:2])))
        if n % 2:
            text = "".join(
                rng.choice(_LABEL_PIECES) + rng.choice(["", " "]) for _ in range(rng.randint(0, 8))
            )
        text = parse_content_with_reasoning(text)[0]
        state: Any = SimpleNamespace(choices=named)
        found = ["".join(sorted(read(state, completion=text))) for read in (parse_answers, parse_answers_zh)]
        yield {"text": text, "labels": named, "english": found[0], "chinese": found[1]}


def verdicts(rng: random.Random) -> Iterable[dict[str, Any]]:
    contract = OutputContract(schema_model=_correctness_model(("A", "B")))
    for _ in range(200):
        text = "".join(rng.choice(_PIECES) for _ in range(rng.randint(0, 4)))
        found = contract.parse(text)
        yield {"text": text, "verdict": found.value.verdict if found.ok else ""}


def thoughts(rng: random.Random) -> Iterable[dict[str, Any]]:
    for _ in range(100):
        text = style(rng, make_text(rng))
        visible, thought = parse_content_with_reasoning(text)
        yield {"text": text, "visible": visible, "thought": thought.reasoning if thought else None}


def runs() -> dict[str, Any]:
    """Two data sets, and all that evalscope writes about them."""
    pictures = [path.relative_to(Path.cwd()) for path in write_pictures(Path.cwd() / "pictures")]
    sets = {
        "general_vqa": make_vqa(Path("vqa"), pictures, SEED, 6, endings=("jsonl", "tsv")),
        "general_vmcq": make_vmcq(Path("vmcq"), pictures, SEED, 6, endings=("jsonl", "tsv")),
    }
    arguments: dict[str, dict[str, Any]] = {
        name: {"local_path": str(files.folder), "subset_list": files.subsets} for name, files in sets.items()
    }
    arguments["general_vqa"]["metric_list"] = ["Rouge"]
    config = {"model": "org/Some-Model:7b", "datasets": list(sets), "dataset_args": arguments, "repeats": 2}
    with Server(make_answer(sets)) as server:
        run_task({**config, "api_url": server.base_url, "work_dir": "out", "no_timestamp": True})
    return {
        "provenance": f"written by evalscope {__version__}; questions and replies are ours",
        "config": config,
        "files": {
            str(path): path.read_text("utf-8") for name in sets.values() for path in name.folder.iterdir()
        },
        "replies": {name: files.replies for name, files in sets.items()},
        "written": {
            str(path.relative_to("out")): read_result(path) for path in Path("out").glob("*/*/general_*")
        },
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    jieba.setLogLevel(60)
    for title, made in (
        ("overlap", overlaps),
        ("labels", labels),
        ("verdicts", verdicts),
        ("thoughts", thoughts),
    ):
        write(f"evalscope_{title}", made(random.Random(SEED)))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        made_runs = runs()
    text = json.dumps(made_runs, ensure_ascii=False)
    (GOLDEN / "evalscope_general.json").write_text(text, encoding="utf-8")
