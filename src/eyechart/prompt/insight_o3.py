"""InSight-o3's question: the picture, then the question and its options as the file holds them.

No word is added about the form of the answer. With `think_prompt` a system message asks for the tags that
the official verdict looks for; its wording is ours.
"""

from __future__ import annotations

from eyechart.prompt.default import with_system
from eyechart.types import Message, Sample

THINK = """\
Before you answer a question about a picture, think it through step by step. Write your reasoning between \
<think> and </think>. Then write your final answer, and only that, between <answer> and </answer>."""


def insight_o3_prompt(sample: Sample) -> list[Message]:
    r"""One user turn.

    >>> [turn] = insight_o3_prompt(Sample(id="0", question="Which?", choices_text="(A) red\n(B) blue"))
    >>> turn.text
    'Which?\n(A) red\n(B) blue'
    """
    text = f"{sample.question}\n{sample.choices_text}" if sample.choices_text else sample.question
    return [Message("user", (*sample.images, text))]


think_prompt = with_system(insight_o3_prompt, THINK)
