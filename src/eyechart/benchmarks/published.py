"""Published sets that VLMEvalKit asks and scores by rules of their own, and that no catalogue of ours holds.

They go by the exact name of their file. Accuracies are fractions here, where it counts to a hundred or a
thousand; F1, points and accuracies by picture are left to whoever reads the verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from eyechart.prompt.custom import framed_prompt
from eyechart.registry import PublishedRule, record_published_rule
from eyechart.types import Benchmark, Message, Sample

_BRIEFLY = "Answer the question using a single word or phrase."
_YES_OR_NO = "Please answer yes or no."


RULES: Mapping[str, PublishedRule] = {
    "TextVQA_VAL": PublishedRule("VLMEvalKit", "vqa-accuracy", _BRIEFLY),
    "DocVQA_VAL": PublishedRule("VLMEvalKit", "anls", _BRIEFLY),
    "InfoVQA_VAL": PublishedRule("VLMEvalKit", "anls", _BRIEFLY),
    "ChartQA_TEST": PublishedRule("VLMEvalKit", "relaxed", _BRIEFLY),
    "OCRBench": PublishedRule("VLMEvalKit", "ocrbench"),
    "POPE": PublishedRule("VLMEvalKit", "yes-no-vlmevalkit"),
    "MME": PublishedRule("VLMEvalKit", "yes-no-vlmevalkit"),
    "HallusionBench": PublishedRule("VLMEvalKit", "yes-no-vlmevalkit"),
    "AMBER": PublishedRule("VLMEvalKit", "yes-no-vlmevalkit", _YES_OR_NO),
}


for _stem, _rule in RULES.items():
    record_published_rule(_stem, _rule)


def published(path: Path, rule: PublishedRule) -> Benchmark:
    """The file of a published set as a benchmark."""
    from eyechart.benchmarks.custom import custom
    from eyechart.data.source import open_source

    def prompt(sample: Sample) -> list[Message]:
        """One turn: the pictures, the question, and the line that the set closes with."""
        (message,) = framed_prompt(sample)
        *before, question = message.parts
        return [Message("user", (*before, f"{question}\n{rule.closing}" if rule.closing else question))]

    return replace(custom(open_source(path)), prompt=prompt, scorer=rule.scorer, judged_scorer="")
