"""OmniSpatial (Jia et al., 2025): dynamics, interaction, logic and perspective."""

from __future__ import annotations

import re

from eyechart.catalogue.entry import VLMEVALKIT, Entry, Kit, read_letter
from eyechart.prompt.published import ask_with, choose
from eyechart.score.lmms import reading_scorer
from eyechart.types import Card, Sample

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


def _ask_authors(told: str) -> Kit:
    """The authors' prompt, with what it says about how to reason."""

    def write(sample: Sample) -> str:
        options = "".join(f"\n{letter}. {text}" for letter, text in sample.choices.items())
        return f"{_OMNISPATIAL.replace('{told}', told)}{sample.question}{options}"

    return Kit(prompt=ask_with(write), scorer="omnispatial")


Entry(
    "omnispatial",
    "dynamics, interaction, logic and perspective",
    Card("spatial", "1,533 questions", "https://arxiv.org/abs/2506.03135", "Apache-2.0"),
    file={
        "OmniSpatialBench": "",
        "OmniSpatialBench_default": "authors-default",
        "OmniSpatialBench_zeroshot_cot": "authors-zeroshot-cot",
        "OmniSpatialBench_manual_cot": "authors",
    },
    hub="nv-njb/OmniSpatial-Test:test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    prompt=_ask_authors(_GUIDELINES).prompt,
    scorer="omnispatial",
    kit="authors",
    kits={
        VLMEVALKIT: Kit(
            prompt=choose("Answer directly with the option letter from the given choices. "),
            scorer="choice-vlmevalkit",
        ),
        "authors-default": _ask_authors("Based on the image and question, provide your answer.\n"),
        "authors-zeroshot-cot": _ask_authors("Think step by step and provide the answer.\n"),
    },
    group_by=("task_type", "sub_task_type"),
    parity="authors (prompt, rule), VLMEvalKit (prompts)",
    note="The authors' three prompts ask for a line `Answer: X`; a reply without one counts as A there and is unparsed here. "
    "VLMEvalKit's usual prompt asks for the letter, which is read as in its other benchmarks.",
).register()


@reading_scorer("omnispatial", version="1", cut=None)
def read_answer_line(reply: str) -> str | None:
    """OmniSpatial's own rule: the letter of the last ``Answer: X``. As published, none is A; here, unread.

    >>> read_answer_line("Answer: A? No. Answer: b"), read_answer_line("It is B.")
    ('B', None)
    """
    found = re.findall(r"answer\s*:\s*([A-D])\b", reply, re.IGNORECASE)
    return found[-1].upper() if found else None
