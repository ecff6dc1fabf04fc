"""Published sets that VLMEvalKit asks and scores by rules of their own, and that no catalogue of ours holds.

They go by the exact name of their file. Accuracies are fractions here, where it counts to a hundred or a
thousand; F1, points and accuracies by picture are left to whoever reads the verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eyechart.prompt.custom import framed_prompt
from eyechart.types import Benchmark, Message, Sample

_BRIEFLY = "Answer the question using a single word or phrase."
_YES_OR_NO = "Please answer yes or no."


@dataclass(frozen=True, slots=True)
class Rule:
    """How a set is asked and scored."""

    scorer: str
    closing: str = ""  # a line behind the question


RULES: Mapping[str, Rule] = {
    "TextVQA_VAL": Rule("vqa-accuracy", _BRIEFLY),
    "DocVQA_VAL": Rule("anls", _BRIEFLY),
    "InfoVQA_VAL": Rule("anls", _BRIEFLY),
    "ChartQA_TEST": Rule("relaxed", _BRIEFLY),
    "OCRBench": Rule("ocrbench"),
    "POPE": Rule("yes-no-vlmevalkit"),
    "MME": Rule("yes-no-vlmevalkit"),
    "HallusionBench": Rule("yes-no-vlmevalkit"),
    "AMBER": Rule("yes-no-vlmevalkit", _YES_OR_NO),
}


def published(path: Path, rule: Rule) -> Benchmark:
    """The file of a published set as a benchmark."""
    from eyechart.benchmarks.custom import custom
    from eyechart.data.source import open_source

    def prompt(sample: Sample) -> list[Message]:
        """One turn: the pictures, the question, and the line that the set closes with."""
        (message,) = framed_prompt(sample)
        *before, question = message.parts
        return [Message("user", (*before, f"{question}\n{rule.closing}" if rule.closing else question))]

    return replace(custom(open_source(path)), prompt=prompt, scorer=rule.scorer, judged_scorer="")
