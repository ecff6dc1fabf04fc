"""Prompts are those that VLMEvalKit and lmms-eval send; prompts.jsonl has what their own code made."""

from __future__ import annotations

import ast
import json
import runpy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.catalogue.chartqapro import change_chartqapro, unfold
from eyechart.catalogue.charxiv import change_reasoning
from eyechart.runs.sources import make_benchmark
from eyechart.types import ImageRef, Message, Sample

ROOT = Path(__file__).parent.parent.parent
VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
]

# VLMEvalKit's name of a set to the benchmark and its kit.
SETS: Mapping[str, tuple[str, str]] = {
    name: (benchmark, "vlmevalkit")
    for name, benchmark in {
        "MMStar": "mmstar", "AI2D_TEST": "ai2d", "AI2D_TEST_NO_MASK": "ai2d-no-mask",
        "RealWorldQA": "realworldqa", "SEEDBench_IMG": "seedbench-img", "SEEDBench2_Plus": "seedbench2-plus",
        "BLINK": "blink", "ScienceQA_TEST": "scienceqa-test", "MMVP": "mmvp",
        "VStarBench": "vstar-vlmevalkit",
        "EmbSpatial": "embspatial", "HRBench4K": "hr-bench-4k-vlmevalkit", "3DSRBench": "3dsrbench",
        "TreeBench": "treebench-vlmevalkit", "ERQA": "erqa", "MUIRBench": "muirbench",
        "MMMU_DEV_VAL": "mmmu-val", "MMMU_Pro_10c": "mmmu-pro", "MMMU_Pro_V": "mmmu-pro-vision",
        "ChartQA_TEST": "chartqa", "DocVQA_VAL": "docvqa-val", "InfoVQA_VAL": "infovqa-val",
        "TextVQA_VAL": "textvqa-val", "GQA_TestDev_Balanced": "gqa", "OCRVQA_TESTCORE": "ocrvqa",
        "VizWiz": "vizwiz-val", "OCRBench": "ocrbench", "MTVQA_TEST": "mtvqa", "ZEROBench": "zerobench",
        "CountBenchQA": "countbenchqa", "TallyQA": "tallyqa", "MME": "mme", "POPE": "pope",
        "HallusionBench": "hallusionbench", "AMBER": "amber", "VisuLogic": "visulogic",
        "TableVQABench": "tablevqa",
        "MathVista_MINI": "mathvista-mini", "MathVision": "mathvision", "MathVerse_MINI": "mathverse-mini",
        "WeMath": "wemath", "DynaMath": "dynamath", "MMVet": "mmvet", "LLaVABench": "llavabench",
        "CharXiv_reasoning_val": "charxiv-reasoning", "CharXiv_descriptive_val": "charxiv-descriptive",
        "ScreenSpot_Mobile": "screenspot-mobile", "ScreenSpot_Pro_CAD": "screenspot-pro-cad",
    }.items()
} | {
    "MMMU_Pro_10c_COT": ("mmmu-pro", "vlmevalkit-cot"),
    "WeMath_COT": ("wemath", "vlmevalkit-cot"),
    "MMMU_Pro_V_COT": ("mmmu-pro-vision", "vlmevalkit-cot"),
    "DynaMath_noprompt": ("dynamath", "vlmevalkit-noprompt"),
}  # fmt: skip
# VLMEvalKit sends no image where no <image> stands in the question; here it comes first.
DROPS_IMAGES = ("MUIRBench", "ERQA")
# A task of lmms-eval to the benchmark and its kit.
TASKS: Mapping[str, tuple[str, str]] = {
    "mmmu_val": ("mmmu-val", "lmms-eval"),
    "mmmu_pro_standard": ("mmmu-pro", "lmms-eval"),
    "mmmu_pro_standard_cot": ("mmmu-pro", "lmms-eval-cot"),
    "chartqa": ("chartqa", "lmms-eval"),
    "ocrbench": ("ocrbench", "lmms-eval"),
    "infovqa_val": ("infovqa-val", "vlmevalkit"),
    "hallusion_bench_image": ("hallusionbench", "vlmevalkit"),
    "realworldqa": ("realworldqa", "lmms-eval"),
    "pope": ("pope", "lmms-eval"),
    "mme": ("mme", "lmms-eval"),
    "gqa": ("gqa", "lmms-eval"),
    "ok_vqa_val2014": ("okvqa-val", "lmms-eval"),
    "vizwiz_vqa_val": ("vizwiz-val", "lmms-eval"),
    "mathvista_testmini_cot": ("mathvista-mini", "lmms-eval"),
    "pixmo_count": ("pixmo-count", "lmms-eval"),
    "ai2d": ("ai2d", "lmms-eval"),
    "mmstar": ("mmstar", "lmms-eval"),
    "ai2d_no_mask": ("ai2d-no-mask", "lmms-eval"),
    "scienceqa_img": ("scienceqa-test", "lmms-eval"),
    "visulogic": ("visulogic", "lmms-eval"),
    "countbenchqa": ("countbenchqa", "lmms-eval"),
    "simplevqa": ("simplevqa", "lmms-eval"),
    "mmlongbench_doc": ("mmlongbench-doc", "lmms-eval"),
    "mathvision_test": ("mathvision", "lmms-eval"),
    "llava_in_the_wild": ("llavabench", "lmms-eval"),
}


def make_images(n: int) -> tuple[ImageRef, ...]:
    return tuple(ImageRef(kind="file", location=f"img{number}.png") for number in range(1, n + 1))


def make_sample(row: Mapping[str, Any]) -> Sample:
    """The sample of a row of a VLMEvalKit file."""
    choices = {name: str(row[name]) for name in "ABCDEFGHIJ" if row.get(name) is not None}
    known = {"index", "question", "hint", "images", *"ABCDEFGHIJ"}
    return Sample(
        id=str(row["index"]),
        question=row["question"],
        choices=choices,
        hint=row.get("hint") or "",
        images=make_images(row.get("images", 1)),
        meta={name: value for name, value in row.items() if name not in known and value is not None},
    )


def make_lmms_sample(doc: Mapping[str, Any]) -> Sample:
    """The sample of a row of a hub data set."""
    images = [name for name in doc if isinstance(doc[name], str) and doc[name].startswith("<img")]
    written = doc.get("options") or doc.get("choices") or []
    options = ast.literal_eval(written) if isinstance(written, str) else written
    return Sample(
        id="1",
        question=doc["question"].replace("<image>", ""),
        images=make_images(len(images)),
        choices=dict(zip("ABCDEFGHIJ", options, strict=False)),
        meta={name: value for name, value in doc.items() if value is not None},
    )


def tell(messages: list[Message]) -> list[tuple[str, str]]:
    """Role and text of each part, or the image's file."""
    return [
        (message.role, part.location if isinstance(part, ImageRef) else str(part))
        for message in messages
        for part in message.parts
    ]


def ask(name: str, kit: str, **facts: Any) -> list[tuple[str, str]]:
    """What a benchmark asks of a sample with these columns."""
    row = {"index": 1, "question": "Which?", **facts}
    return tell(list(make_benchmark(name, {"kit": kit}).prompt(make_sample(row))))


OF_VLMEVALKIT = [one for one in VECTORS if one["fn"] == "vlmeval.build_prompt"]
OF_LMMS = [one for one in VECTORS if one["fn"] == "lmms.prompt"]


@pytest.mark.parametrize("dataset", SETS)
def test_as_vlmevalkit(dataset: str) -> None:
    name, kit = SETS[dataset]
    vectors = [one for one in OF_VLMEVALKIT if one["input"]["dataset"] == dataset]
    assert vectors
    prompt = make_benchmark(name, {"kit": kit}).prompt
    for one in vectors:
        wanted = [(part.get("role", "user"), part["value"]) for part in one["expected"]["messages"]]
        found = tell(list(prompt(make_sample(one["input"]["row"]))))
        if dataset in DROPS_IMAGES:
            found = [part for part in found if not part[1].endswith(".png")]
        assert found == wanted


@pytest.mark.parametrize("task", TASKS)
def test_as_lmms_eval(task: str) -> None:
    vectors = [one for one in OF_LMMS if one["input"]["task"] == task and "model" not in one["input"]]
    assert vectors
    name, kit = TASKS[task]
    prompt = make_benchmark(name, {"kit": kit}).prompt
    for one in vectors:
        sample, wanted = make_lmms_sample(one["input"]["doc"]), one["expected"]
        if "messages" in wanted:
            parts = [part for message in wanted["messages"] for part in message["content"]]
            asked = [("user", part.get("text", part.get("url", ""))) for part in parts]
            found = [
                (role, text.replace("img", "<img").replace(".png", ">"))
                for role, text in tell(list(prompt(sample)))
            ]
            assert found == asked
        else:
            [message] = prompt(sample)
            assert message.text == wanted["text"]


def test_chartqapro_as_both_kits() -> None:
    """Its prompt is made of lists of questions and answers; an empty paragraph is not sent."""
    for one in OF_VLMEVALKIT + OF_LMMS:
        given = one["input"]
        if given.get("dataset", given.get("task")) not in ("ChartQAPro", "chartqapro"):
            continue
        kit, row = ("vlmevalkit", given["row"]) if "row" in given else ("lmms-eval", given["doc"])
        row = row if "row" in given else change_chartqapro({"Year": ["NO"], **row})
        answers = row["answer"] if isinstance(row["answer"], list) else ast.literal_eval(row["answer"])
        sample = unfold(replace(make_sample({"index": 1, **row}), golds=tuple(answers)))
        found = [text for _, text in tell(list(make_benchmark("chartqapro", {"kit": kit}).prompt(sample)))]
        wanted = one["expected"].get("messages")
        texts = (
            [part["value"] for part in wanted if part["value"]]
            if wanted
            else ["img1.png", one["expected"]["text"]]
        )
        assert found == texts


def test_boxes_and_points_as_lmms_eval() -> None:
    vectors = {one["input"]["task"]: one for one in OF_LMMS if "model" not in one["input"]}
    box = vectors["refcoco_bbox_rec_val"]
    assert (
        ask("refcoco", "lmms-eval", expression=box["input"]["doc"]["answer"])[1][1] == box["expected"]["text"]
    )
    point = vectors["screenspot_v2"]
    asked = ask("screenspot-v2", "lmms-eval", question=point["input"]["doc"]["instruction"])
    assert asked[1][1] == point["expected"]["text"]


def test_charxivs_questions_as_lmms_eval() -> None:
    vectors = [one for one in OF_LMMS if one["input"]["task"] == "charxiv_val_reasoning"]
    assert vectors
    for one in vectors:
        content = one["expected"]["messages"][0]["content"]
        assert change_reasoning(one["input"]["doc"])["question"] == content[1]["text"]


@pytest.mark.parametrize(
    "version", ["", "-vision-only", "-vision-dominant", "-vision-intensive", "-text-lite", "-text-dominant"]
)
def test_the_versions_of_mathverse(version: str) -> None:
    """VLMEvalKit asks the question of the file, or its `query_cot`; lmms-eval the hub's `query_wo`."""
    [one] = [one for one in OF_VLMEVALKIT if one["input"]["dataset"] == "MathVerse_MINI"]
    name, row = f"mathverse-mini{version}", one["input"]["row"]
    assert ask(name, "vlmevalkit", **row)[1][1] == one["expected"]["messages"][1]["value"]
    assert ask(name, "vlmevalkit-cot", **row | {"query_cot": "Think."})[1][1] == "Think."


def test_prompts_that_are_the_question_alone() -> None:
    """Of these, VLMEvalKit sends the image and the column `question` (its image_base.py and simplevqa.py)."""
    for name in ("simplevqa", "logicvista", "refcoco"):
        assert ask(name, "vlmevalkit") == [("user", "img1.png"), ("user", "Which?")]


def test_omnispatial() -> None:
    """VLMEvalKit's direct form, and the authors' prompt, which ends in question and options."""
    options = {"A": "left", "B": "right"}
    closing = "Answer directly with the option letter from the given choices. "
    assert ask("omnispatial", "vlmevalkit", **options)[1][1] == f"Which?\nA. left\nB. right\n{closing}"
    ways = {"authors": "break down the question", "authors-zeroshot-cot": "Think step by step and"}
    for kit, part in {**ways, "authors-default": "Based on the image and question, provide"}.items():
        asked = ask("omnispatial", kit, **options)[1][1]
        assert part in asked
        assert asked.endswith("Answer: X\nwhere X ∈ {A, B, C, D}.\n\n\nWhich?\nA. left\nB. right")


def test_what_is_written_follows_from_the_declarations() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "write_catalogue.py"))
    for path, text in tool["write_all"]().items():
        assert path.read_text(encoding="utf-8") == text, "run: make catalogue"
