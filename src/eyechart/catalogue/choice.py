"""Multiple choice on images, each question alone: the letter that VLMEvalKit reads is the gold.

Without a judge, a reply that its rules cannot read is unparsed; with one (``--judge``), the judge reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, VLMEVALKIT, Apart, Kit, declare, read_letter
from eyechart.catalogue.prompts import LETTER, ask, ask_with, choose, frame, list_options, put_in_place
from eyechart.types import Message, Prompt, Sample

_INLINE = re.compile(r"\n?Options:\s*A: (.*?), B: (.*?), C: (.*?), D: (.*)$", re.DOTALL)
_LINES = re.compile(r"^\s*([A-Z])\. ?(.*)$", re.MULTILINE)
_CLOSING = re.compile(r"\s*Please answer directly with [^\n]*$")
EXACT = "accuracy"
KIT = "VLMEvalKit"


def split_inline_options(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question that ends in ``Options: A: ..., B: ..., C: ..., D: ...``."""
    found = _INLINE.search(row["question"])
    if found is None:
        return {}
    texts = [text.strip() for text in found.groups()]
    return {"question": row["question"][: found.start()].rstrip(), "options": texts}


def split_option_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question with a line ``A. text`` for each; the closing line is dropped."""
    text = _CLOSING.sub("", row["question"])
    found = list(_LINES.finditer(text))
    if not found:
        return {"question": text.strip()}
    options = {one[1]: one[2].strip() for one in found}
    return {"question": text[: found[0].start()].strip(), "options": options}


def ask_realworldqa(sample: Sample) -> str:
    """The question as published; put together again where only its parts are known."""
    if asked := sample.meta.get("asked"):
        return str(asked)
    if not sample.choices:
        return sample.question.strip()
    closing = "Please answer directly with only the letter of the correct option and nothing else."
    return f"{sample.question.strip()}\n\n{list_options(sample)}{closing}"


def ask_in_place(*, closing: str = "", trim: bool = False) -> Prompt:
    """Question and options as they are written, each image where the text has ``<image>``."""

    def prompt(sample: Sample) -> list[Message]:
        ending = closing if sample.choices else ""
        text = f"{sample.question}\n{list_options(sample)}{ending}" if not trim else sample.question
        return [Message("user", put_in_place(text, sample, trim=trim))]

    return prompt


def ask_blink(sample: Sample) -> str:
    """lmms-eval's prompt of BLINK: which letters there are, then the question as published on the hub."""
    letters = ", ".join(sample.choices)
    listed = "\n".join(f"({letter}) {text}" for letter, text in sample.choices.items())
    written = f"{sample.question}\nSelect from the following choices.\n{listed}"
    asked = str(sample.meta.get("prompt") or written)
    return f"Note: You only need to respond with {letters} without providing any additional information.\n{asked}"


def ask_mmstar(sample: Sample) -> str:
    """lmms-eval's prompt of MMStar: question and options on one line, as published on the hub."""
    listed = ", ".join(f"{letter}: {text}" for letter, text in sample.choices.items())
    text = f"{sample.question}\nOptions: {listed}" if listed else sample.question
    asked = text.strip().replace(" Please answer yes or no.", "")
    return f"{asked}\n{LETTER.removesuffix('.')}"


def ask_scienceqa(sample: Sample) -> str:
    """lmms-eval's prompt of ScienceQA."""
    context = f"Context: {sample.hint}\n" if sample.hint else ""
    return f"{context}{sample.question}\n{list_options(sample)}{LETTER}"


declare(
    "mmstar",
    "six abilities, questions that need the image",
    group="general",
    size="1,500 questions",
    paper="https://arxiv.org/abs/2403.20330",
    licence="see its page",
    file="MMStar",
    hub="Lin-Chen/MMStar:mmstar.parquet",
    also_hub=["Lin-Chen/MMStar:val"],
    change_row=split_inline_options,
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_with(ask_mmstar),
            scorer="choice-lmms",
            more={"group_by": ("category", "l2-category"), "aggregate": "macro-l2-category"},
        )
    },
    group_by=("category", "l2-category"),
    macro="category",
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
    note="All six categories have 250 questions, so the mean of categories is the same number; lmms-eval averages subcategories.",
)

declare(
    "ai2d",
    "diagrams of school science, labels replaced by letters",
    group="charts",
    size="3,088 questions",
    paper="https://arxiv.org/abs/1603.07396",
    licence="CC BY-SA 4.0",
    file="AI2D_TEST",
    hub="lmms-lab/ai2d:test",
    also_hub=["lmms-lab-encoder/ai2d"],
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="ai2d-lmms")},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "ai2d-no-mask",
    "the same diagrams with their labels",
    group="charts",
    size="3,088 questions",
    paper="https://arxiv.org/abs/1603.07396",
    licence="CC BY-SA 4.0",
    file="AI2D_TEST_NO_MASK",
    hub="Efficient-Large-Model/ai2d-no-mask:test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="ai2d-lmms")},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "realworldqa",
    "photographs, many from vehicles",
    group="general",
    size="765 questions",
    paper="https://x.ai/news/grok-1.5v",
    licence="CC BY-ND 4.0",
    file="RealWorldQA",
    hub="lmms-lab/RealWorldQA:test",
    also_hub=["lmms-lab-encoder/RealWorldQA", "xai-org/RealworldQA"],
    change_row=lambda row: {**split_option_lines(row), "asked": row["question"].strip()},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_with(ask_realworldqa),
            scorer="choice-lmms",
        )
    },
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
    note="lmms-eval sends the question as published, with its options and instruction; the file has these in "
    "columns, from which the question is put together again.",
)

declare(
    "blink",
    "14 tasks of perception that people do at a glance, several images",
    group="several images",
    size="1,901 questions",
    paper="https://arxiv.org/abs/2404.12390",
    licence="Apache-2.0",
    file="BLINK",
    hub=[
        f"BLINK-Benchmark/BLINK:{task}/val"
        for task in (
            "Art_Style",
            "Counting",
            "Forensic_Detection",
            "Functional_Correspondence",
            "IQ_Test",
            "Jigsaw",
            "Multi-view_Reasoning",
            "Object_Localization",
            "Relative_Depth",
            "Relative_Reflectance",
            "Semantic_Correspondence",
            "Spatial_Relation",
            "Visual_Correspondence",
            "Visual_Similarity",
        )
    ],
    change_row=lambda row: {
        "index": row["idx"],
        "answer": str(row["answer"]).strip("()"),
        "category": row["sub_task"],
    },
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_with(ask_blink),
            scorer="blink-lmms",
            more={"group_by": ("category",), "aggregate": "macro-category"},
        )
    },
    group_by=("category",),
    macro="category",
    aggregate="macro-category",
    metric="mean of the tasks' accuracies; the score is the mean over questions, as in VLMEvalKit",
    parity="VLMEvalKit, lmms-eval",
    note="The paper and lmms-eval average tasks, VLMEvalKit questions; both are shown.",
)

declare(
    "muirbench",
    "12 tasks over several images, some not answerable",
    group="several images",
    size="2,600 questions",
    paper="https://arxiv.org/abs/2406.09411",
    licence="CC BY 4.0",
    file="MUIRBench",
    hub="MUIRBENCH/MUIRBENCH:test",
    change_row=lambda row: {"index": row["idx"], "category": row["task"]},
    prompt=ask_in_place(closing="Answer with the option's letter from the given choices directly."),
    scorer="choice-vlmevalkit",
    kits={
        LMMS_EVAL: Kit(
            prompt=choose(),
            scorer="muirbench-lmms",
            more={"group_by": ("category",), "aggregate": "muirbench"},
        )
    },
    group_by=("category",),
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
    note="VLMEvalKit drops images that no `<image>` in the question refers to; here they come first.",
)

declare(
    "seedbench-img",
    "nine abilities on single images",
    group="general",
    size="14,232 questions",
    paper="https://arxiv.org/abs/2307.16125",
    licence="CC BY-NC 4.0",
    file="SEEDBench_IMG",
    hub="lmms-lab/SEED-Bench:test",
    also_hub=["lmms-lab-encoder/SEED-Bench"],
    change_row=lambda row: (
        [
            {
                "index": row["question_id"],
                "options": [row[f"choice_{letter}"] for letter in "abcd"],
            }
        ]
        if row["data_type"] == "image"
        else []
    ),
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="seedbench-lmms")},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
    note="The hub data set also has questions on videos; they are left out.",
)

declare(
    "seedbench2-plus",
    "charts, maps and web pages",
    group="charts",
    size="2,277 questions",
    paper="https://arxiv.org/abs/2404.16790",
    licence="CC BY-NC 4.0",
    file="SEEDBench2_Plus",
    hub="doolayer/SEED-Bench-2-Plus:test",
    also_hub=["AILab-CVC/SEED-Bench-2-plus"],
    change_row=lambda row: {
        "index": row["question_id"],
        "options": [row[f"choice_{letter}"] for letter in "ABCD"],
        "category": row["question_image_type"],
    },
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="seedbench-lmms", more={"aggregate": "seedbench-lmms"})},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "scienceqa-test",
    "school science, the questions with an image",
    group="knowledge",
    size="2,017 questions",
    paper="https://arxiv.org/abs/2209.09513",
    licence="CC BY-NC-SA 4.0",
    file="ScienceQA_TEST",
    hub="lmms-lab/ScienceQA:ScienceQA-IMG/test",
    also_hub=["lmms-lab-encoder/ScienceQA"],
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["choices"]))},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=ask_with(ask_scienceqa), scorer="scienceqa-lmms")},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "mmvp",
    "pairs of images that CLIP confuses",
    group="perception",
    size="300 questions",
    paper="https://arxiv.org/abs/2401.06209",
    licence="MIT",
    file="MMVP",
    hub="lmms-lab-eval/MMVP:train",
    change_row=lambda row: {
        "index": row["Index"],
        "question": row["Question"],
        "options": [text.strip() for text in re.split(r"\([a-z]\)", row["Options"]) if text.strip()],
        "answer": str(row["Correct Answer"]).strip("() ").upper(),
    },
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="mmvp-lmms", more={"aggregate": "mmvp-lmms"})},
    aggregate="mmvp",
    metric="pairs of which both questions are right",
    parity="VLMEvalKit, lmms-eval",
    note="A pair is two neighbouring rows with the same question; in lmms-eval, rows 2n - 1 and 2n.",
)

declare(
    "vstar-vlmevalkit",
    "small things in photographs, as VLMEvalKit asks (`vstar` is InSight-o3's way)",
    group="perception",
    size="191 questions",
    paper="https://arxiv.org/abs/2312.14135",
    licence="MIT",
    file="VStarBench",
    hub="lmms-lab/vstar-bench:test",
    also_hub=["lmms-lab-encoder/vstar-bench"],
    change_row=lambda row: {
        "index": row["question_id"],
        "question": re.split(r"\s*\([A-Z]\) ", row["text"])[0],
        "options": re.findall(r"\([A-Z]\) ([^\n(]*[^\s(])", row["text"]),
        "answer": row["label"],
    },
    prompt=frame(),
    scorer="choice-vlmevalkit",
    kits={LMMS_EVAL: Kit(prompt=choose(), scorer="vstar-lmms")},
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)

for _side in ("4k", "8k"):
    declare(
        f"hr-bench-{_side}-vlmevalkit",
        f"{_side.upper()} images, as VLMEvalKit asks (`hr-bench-{_side}` is InSight-o3's way)",
        group="perception",
        size="800 rows: 200 questions in four rotations",
        paper="https://arxiv.org/abs/2408.15556",
        licence="Apache-2.0",
        file=(f"HRBench{_side.upper()}", f"hr_bench_{_side}"),
        hub=f"DreamMr/HR-Bench:hr_bench_{_side}.parquet",
        also_hub=[f"DreamMr/HR-Bench:hrbench_version_split/hrbench_{_side}"],
        prompt=frame(),
        scorer="choice-vlmevalkit",
        group_by=("category", "cycle_category"),
        metric="accuracy over all rotations",
        parity=KIT,
    )

declare(
    "treebench-vlmevalkit",
    "crowded images, as VLMEvalKit asks (`treebench` is InSight-o3's way)",
    group="perception",
    size="405 questions",
    paper="https://arxiv.org/abs/2507.07999",
    licence="Apache-2.0",
    file="TreeBench",
    hub="HaochenWang/TreeBench:TreeBench.tsv",
    prompt=frame("Answer with the correct option's letter directly. \n"),
    scorer="choice-vlmevalkit",
    metric=EXACT,
    parity="VLMEvalKit, its reading of letters; the IoU of boxes in a chain of thought is not computed",
)

declare(
    "erqa",
    "embodied reasoning: robots, trajectories, several views",
    group="spatial",
    size="400 questions",
    paper="https://arxiv.org/abs/2503.20020",
    licence="Apache-2.0",
    file="ERQA",
    hub="FlagEval/ERQA:test",
    change_row=lambda row: {
        "index": row["question_id"],
        "category": row["question_type"],
    },
    prompt=ask_in_place(trim=True),
    scorer="choice-lmms",
    group_by=("category",),
    metric=EXACT,
    parity="lmms-eval (rule), VLMEvalKit (prompt)",
    note="The options are part of the question. VLMEvalKit requires the whole reply to be the letter.",
)

declare(
    "embspatial",
    "directions and distances in rooms",
    group="spatial",
    size="3,640 questions",
    paper="https://arxiv.org/abs/2406.05756",
    licence="Apache-2.0",
    file=("EmbSpatialBench", "EmbSpatial"),
    hub="FlagEval/EmbSpatial-Bench:test",
    change_row=lambda row: {
        "index": row["question_id"],
        "options": row["answer_options"],
        "answer": read_letter(row["answer"], len(row["answer_options"])),
        "category": row["relation"],
    },
    prompt=frame(),
    scorer="choice-vlmevalkit",
    metric=EXACT,
    parity=KIT,
)

_OMNISPATIAL = """
You are a spatial-reasoning assistant.

Task
-----
You will receive
1. **Image** - a single RGB frame depicting a scene.
2. **Question** - a natural-language query about spatial relationships between objects in the image.
3. **Options** - ≥2 answer candidates, each tagged by a capital letter (A, B, C, D…).

{told}Always ground your answer in the visual evidence; do not hallucinate unseen objects.
If uncertain, pick the most plausible option—never refuse or reply “insufficient information.”


End your answer with a separate line formatted exactly as:

Answer: X
where X ∈ {A, B, C, D}.


"""
_GUIDELINES = """Guidelines
----------
Please follow these steps to analyze the image and answer the question:
1. First, carefully observe the image and identify all relevant objects and their spatial relationships.
2. Next, break down the question into key components that need to be addressed.
3. Think through the spatial reasoning step-by-step to arrive at your answer. It may be necessary to transfer \
perspective to better understand the scene.
4. Finally, select the most appropriate option (A, B, C, or D) based on your analysis.

"""


def _ask_omnispatial(sample: Sample, told: str) -> str:
    """The authors' prompt, with what it says about how to reason."""
    options = "".join(f"\n{letter}. {text}" for letter, text in sample.choices.items())
    return f"{_OMNISPATIAL.replace('{told}', told)}{sample.question}{options}"


declare(
    "omnispatial",
    "dynamics, interaction, logic and perspective",
    group="spatial",
    size="1,533 questions",
    paper="https://arxiv.org/abs/2506.03135",
    licence="Apache-2.0",
    file={
        "OmniSpatialBench": "",
        "OmniSpatialBench_default": "authors-default",
        "OmniSpatialBench_zeroshot_cot": "authors-zeroshot-cot",
        "OmniSpatialBench_manual_cot": "authors",
    },
    hub="nv-njb/OmniSpatial-Test:test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=ask_with(lambda sample: _ask_omnispatial(sample, _GUIDELINES)),
    scorer="omnispatial",
    kit="authors",
    kits={
        VLMEVALKIT: Kit(
            prompt=choose("Answer directly with the option letter from the given choices. "),
            scorer="choice-vlmevalkit",
            more={"group_by": ("task_type", "sub_task_type")},
        ),
        "authors-default": Kit(
            prompt=ask_with(
                lambda sample: _ask_omnispatial(
                    sample, "Based on the image and question, provide your answer.\n"
                )
            ),
            scorer="omnispatial",
            more={"group_by": ("task_type", "sub_task_type")},
        ),
        "authors-zeroshot-cot": Kit(
            prompt=ask_with(
                lambda sample: _ask_omnispatial(sample, "Think step by step and provide the answer.\n")
            ),
            scorer="omnispatial",
            more={"group_by": ("task_type", "sub_task_type")},
        ),
    },
    group_by=("task_type", "sub_task_type"),
    metric=EXACT,
    parity="authors (prompt, rule), VLMEvalKit (prompts)",
    note="The authors' three prompts ask for a line `Answer: X`; a reply without one counts as A there and is unparsed here. "
    "VLMEvalKit's usual prompt asks for the letter, which is read as in its other benchmarks.",
)

declare(
    "3dsrbench",
    "height, location, orientation and several objects in 3D",
    group="spatial",
    size="11,686 rows: questions, mirrored and with options exchanged",
    paper="https://arxiv.org/abs/2412.07825",
    licence="CC BY 4.0",
    file="3DSRBench",
    hub="ccvl/3DSRBench:3dsrbench_v1_vlmevalkit_circular.tsv",
    also_hub=["oscarqjh/3DSRBench_lmmseval:3dsr_circular/test"],
    change_row=lambda row: {letter: None for letter in "ABCD" if str(row.get(letter)).lower() == "nan"},
    prompt=frame(),
    scorer="choice-vlmevalkit",
    group_by=("category",),
    aggregate="3dsrbench",
    metric="questions of which all rotations are right; also with the mirrored image, and over all rows",
    parity="VLMEvalKit",
    note="The score is the mean over all rows (VLMEvalKit's `vanilla`); `circular`, `flip` and `flip-circular` are shown too.",
)

declare(
    "visulogic",
    "logic puzzles in images",
    group="reasoning",
    size="1,000 questions",
    paper="https://arxiv.org/abs/2504.15279",
    licence="Apache-2.0",
    file="VisuLogic",
    hub="VisuLogic/VisuLogic:data.jsonl",
    images=Apart("images.zip", "image_path"),
    change_row=lambda row: {
        "image_path": None,
        "answer": row["label"],
        "category": row.get("tag", ""),
    },
    prompt=ask_with(
        lambda sample: (
            f"{sample.question}\nSolve the complex visual logical reasoning problem through step-by-step "
            "reasoning.Think about the reasoning process first and answer the question following this format: "
            "Answer: \\boxed{$LETTER}"
        )
    ),
    scorer="visulogic",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask("\nAnswer with the option letter only.", strip=True), scorer="visulogic-lmms"
        )
    },
    group_by=("category",),
    metric=EXACT,
    parity="VLMEvalKit, lmms-eval",
)
