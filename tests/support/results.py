"""Results to report on, made by hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.circular import merge_rotations
from eyechart.report.summary import summarise
from eyechart.types import Export, Failure, Outcome, Reply, Result, Sample, Score, Usage

VALUES: Mapping[Outcome, float] = {"correct": 1.0, "partial": 0.5}
MANIFEST = {
    "eyechart": "1", "benchmark": "zoo", "model": "openai/m", "origin": "zoo.tsv", "scorer": "default",
    "versions": {},
}  # fmt: skip


def result(
    position: int,
    outcome: Outcome | None = "correct",
    *,
    trial: int = 0,
    value: float | None = None,
    reply: str = "The answer is B.",
    attempts: int = 1,
    **fields: Any,
) -> Result:
    """One result with the given outcome; `fields` are the sample's."""
    usual: dict[str, Any] = {"question": "Which?", "golds": ("B",), "choices": {"A": "cat", "B": "dog"}}
    sample = Sample(**({"id": f"q{position}"} | usual | fields))
    if outcome is None:
        return Result(sample=sample, position=position, trial=trial)
    if outcome == "failed":
        failure = Failure(stage="generate", reason="HTTP 503", retryable=True, status=503, attempts=5)
        return Result(sample=sample, position=position, trial=trial, failure=failure, attempts=attempts)
    worth = VALUES.get(outcome, 0.0) if value is None else value
    score = Score(outcome=outcome, value=worth, read="B", route="choice:letter")
    usage = Usage(prompt_tokens=100, completion_tokens=10, reasoning_tokens=3)
    came = Reply(text=reply, usage=usage, latency_s=0.5)
    return Result(sample=sample, position=position, trial=trial, reply=came, score=score, attempts=attempts)


def export_of(folder: Path, results: Sequence[Result], **manifest: Any) -> Export:
    """What an exporter is given of a run with these results."""

    def read(trial: int | None = None) -> Iterator[Result]:
        return (result for result in results if trial is None or result.trial == trial)

    names: dict[str, Any] = {"benchmark": "zoo", "model": "m", "group_by": manifest.get("group_by", ())}
    numbers = plain = summarise(read(), **names)
    if manifest.get("circular") == "headline":
        numbers = replace(summarise(merge_rotations(read()), **names), also={"plain": plain.overall})
    return Export(folder=folder, manifest={**MANIFEST, **manifest}, results=read, numbers=numbers.to_json())
