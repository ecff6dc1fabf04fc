"""The evaluation of a data set whose class nobody changed: a file of predictions in, verdicts beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.accuracies import write_accuracies
from eyechart.compat.vlmeval.frames import Frame, is_missing, pandas, plain, require, rows_where
from eyechart.compat.vlmeval.judges import judge_options
from eyechart.compat.vlmeval.samples import is_circular, samples_of
from eyechart.compat.vlmeval.smp.file import dump, load_table
from eyechart.compat.vlmeval.unjudged import note_unjudged
from eyechart.data.fields import as_text
from eyechart.data.lazy import HeldSource
from eyechart.errors import DataError
from eyechart.exchange import API_FAILURE
from eyechart.prompt.custom import custom_prompt
from eyechart.registry import scorers
from eyechart.report.vlmevalkit.names import NO_JUDGE, model_name
from eyechart.report.vlmevalkit.rows import survey
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Failure, Reply, Result, Sample

CHOICE = "choice-vlmevalkit"
OPEN = "default"
JUDGED = "judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What is to be scored: questions, what was said to each, and of which kind they are."""

    samples: Sequence[Sample]
    replies: Sequence[Reply | None]  # None where nothing came back
    name: str  # of the data set
    is_choice: bool

    @property
    def scorer(self) -> str:
        return CHOICE if self.is_choice else OPEN


def score_file(eval_file: str | Path, name: str, *, is_choice: bool, judge: Mapping[str, Any]) -> Frame:
    """Score the predictions in a file.

    Beside it stand ``<stem>_acc.csv`` (or .json), whose table is returned, and
    ``<stem>_<judge>_result.xlsx`` with the `hit` and the `log` of every question. A judge is
    named by `model`, with `api_base` and `key`; see `judge_options` for all that is said of it.
    """
    path = Path(eval_file)
    frame = load_table(path)
    require(frame, ["index", "answer", "prediction"], path.name)
    samples = samples_of(frame.drop(columns="prediction"), name)
    if not any(sample.golds for sample in samples):
        raise DataError(
            f"{path.name}: no row has an answer to compare with", hint="mode: infer writes predictions only"
        )
    said = _Said(samples=samples, replies=_replies(frame), name=name, is_choice=is_choice)
    results = _by_rules(said) if _judge_name(judge) == NO_JUDGE else _by_judge(said, judge)
    found = survey(results)
    _say_uncounted(results, path.name)
    hits = [found.verdicts.of(result) if found.verdicts.has(result) else None for result in results]
    table = rows_where(frame, [verdict is not None for verdict in hits]).copy()
    table["hit"] = [verdict[0] for verdict in hits if verdict is not None]
    table["log"] = [verdict[1] for verdict in hits if verdict is not None]
    dump(table, path.with_name(f"{path.stem}_{_judge_name(judge)}_result.xlsx"))
    if not found.accuracies and not any(said.replies):
        raise DataError(f"{path.name}: no row has a reply", hint="ask again; failed requests are no answers")
    if not found.accuracies:
        raise DataError(f"{path.name}: no reply has a verdict", hint="another judge may say more")
    write_accuracies(found.accuracies, path.parent, path.stem)
    return pandas().DataFrame(found.accuracies)


def _replies(frame: Frame) -> list[Reply | None]:
    """What was said, row by row; None where nothing came back."""
    texts = ["" if is_missing(cell) else as_text(plain(cell)) for cell in frame["prediction"]]
    return [None if API_FAILURE in text else Reply(text=text) for text in texts]


def _by_rules(said: _Said) -> list[Result]:
    scorer = scorers.get(said.scorer)
    return [
        Result(
            sample=sample,
            position=position,
            reply=reply,
            failure=None if reply else Failure(stage="generate", reason=API_FAILURE),
            score=scorer(reply, sample) if reply else None,
        )
        for position, (sample, reply) in enumerate(zip(said.samples, said.replies, strict=True))
    ]


def _by_judge(said: _Said, judge: Mapping[str, Any]) -> list[Result]:
    """The same with a judge: a run of its own, made of the replies and kept nowhere."""
    from eyechart.run.options import Options
    from eyechart.run.replies import score_replies

    benchmark = Benchmark(
        name=said.name,
        source=HeldSource(said.name, said.name, tuple(said.samples)),
        prompt=custom_prompt,
        scorer=said.scorer,
        judged_scorer=CHOICE if said.is_choice else JUDGED,
        circular="headline" if is_circular(said.name) and said.is_choice else "",
    )
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        file = Path(folder) / "replies.jsonl"
        with file.open("w", encoding="utf-8", errors="backslashreplace") as lines:
            for sample, reply in zip(said.samples, said.replies, strict=True):
                if reply is not None:
                    lines.write(json.dumps({"id": sample.id, "reply": reply.text}) + "\n")
        options = {**judge_options(judge), "progress": False, "out": folder}
        run = score_replies(benchmark, file, Options.of(options))
        note_unjudged(run, len(said.samples), said.name)
        return list(run.samples())


def _judge_name(judge: Mapping[str, Any]) -> str:
    name = str(judge.get("model") or NO_JUDGE)
    return name if name == NO_JUDGE else model_name(name)


def _say_uncounted(results: Sequence[Result], file: str) -> None:
    counts = {
        "have no reply": sum(result.reply is None for result in results),
        "have no answer to compare with": sum(not result.sample.golds for result in results),
    }
    for what, n in counts.items():
        if n:
            note = f"{file}: {n:,} of {len(results):,} rows {what}; they are in no accuracy"
            print_note(f"eyechart: {note}")
