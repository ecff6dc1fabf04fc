"""The evaluation of a data set whose class nobody changed: a file of predictions in, verdicts beside it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.accuracies import write_accuracies
from eyechart.compat.vlmeval.frames import Frame, is_missing, pandas, plain, require, rows_where
from eyechart.compat.vlmeval.samples import is_circular, samples_of
from eyechart.compat.vlmeval.smp.file import dump, load_table
from eyechart.compat.vlmeval.unjudged import note_unjudged
from eyechart.data.fields import as_text
from eyechart.data.lazy import HeldSource
from eyechart.errors import DataError
from eyechart.prompt.custom import custom_prompt
from eyechart.registry import scorers
from eyechart.report.vlmevalkit.names import NO_JUDGE, model_name
from eyechart.report.vlmevalkit.rows import survey
from eyechart.score.vlmevalkit import API_FAILURE
from eyechart.types import Benchmark, Failure, Reply, Result, Sample

CHOICE = "choice-vlmevalkit"
OPEN = "default"
JUDGED = "judged"


def score_file(eval_file: str | Path, name: str, *, is_choice: bool, judge: Mapping[str, Any]) -> Frame:
    """Score the predictions in a file.

    Beside it stand ``<stem>_acc.csv`` (or .json), whose table is returned, and
    ``<stem>_<judge>_result.xlsx`` with the `hit` and the `log` of every question. A judge is
    named by `model`, with `api_base` and `key`.
    """
    path = Path(eval_file)
    frame = load_table(path)
    require(frame, ["index", "answer", "prediction"], path.name)
    samples = samples_of(frame.drop(columns="prediction"), name)
    if not any(sample.golds for sample in samples):
        raise DataError(
            f"{path.name}: no row has an answer to compare with", hint="mode: infer writes predictions only"
        )
    results = _scored(samples, _replies(frame), name, is_choice=is_choice, judge=judge)
    found = survey(results)
    _say_failed(results, path.name)
    hits = [found.verdicts.of(result) if found.verdicts.has(result) else None for result in results]
    table = rows_where(frame, [verdict is not None for verdict in hits]).copy()
    table["hit"] = [verdict[0] for verdict in hits if verdict is not None]
    table["log"] = [verdict[1] for verdict in hits if verdict is not None]
    dump(table, path.with_name(f"{path.stem}_{_judge_name(judge)}_result.xlsx"))
    if not found.accuracies:
        raise DataError(f"{path.name}: no row has a reply", hint="ask again; failed requests are no answers")
    write_accuracies(found.accuracies, path.parent, path.stem)
    return pandas().DataFrame(found.accuracies)


def _replies(frame: Frame) -> list[Reply | None]:
    """What was said, row by row; None where nothing came back."""
    texts = ["" if is_missing(cell) else as_text(plain(cell)) for cell in frame["prediction"]]
    return [None if API_FAILURE in text else Reply(text=text) for text in texts]


def _scored(
    samples: Sequence[Sample],
    replies: Sequence[Reply | None],
    name: str,
    *,
    is_choice: bool,
    judge: Mapping[str, Any],
) -> list[Result]:
    if _judge_name(judge) != NO_JUDGE:
        return _judged(samples, replies, name, is_choice=is_choice, judge=judge)
    scorer = scorers.get(CHOICE if is_choice else OPEN)
    return [
        Result(
            sample=sample,
            position=position,
            reply=reply,
            failure=None if reply else Failure(stage="generate", reason=API_FAILURE),
            score=scorer(reply, sample) if reply else None,
        )
        for position, (sample, reply) in enumerate(zip(samples, replies, strict=True))
    ]


def _judged(
    samples: Sequence[Sample],
    replies: Sequence[Reply | None],
    name: str,
    *,
    is_choice: bool,
    judge: Mapping[str, Any],
) -> list[Result]:
    """The same with a judge: a run of its own, made of the replies and kept nowhere."""
    from eyechart.run.options import Options
    from eyechart.run.replies import score_replies

    benchmark = Benchmark(
        name=name,
        source=HeldSource(name, name, tuple(samples)),
        prompt=custom_prompt,
        scorer=CHOICE if is_choice else OPEN,
        judged_scorer=CHOICE if is_choice else JUDGED,
        circular="headline" if is_circular(name) and is_choice else "",
    )
    options = {
        "judge": f"openai/{judge['model']}",
        "judge_base_url": judge.get("api_base"),
        "judge_api_key": judge.get("key"),
        "concurrency": judge.get("nproc"),
        "retries": judge["retry"] - 1 if judge.get("retry") else None,
        "timeout_s": judge.get("timeout"),
        "progress": False,
    }
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        file = Path(folder) / "replies.jsonl"
        with file.open("w", encoding="utf-8", errors="backslashreplace") as lines:
            for sample, reply in zip(samples, replies, strict=True):
                if reply is not None:
                    lines.write(json.dumps({"id": sample.id, "reply": reply.text}) + "\n")
        run = score_replies(benchmark, file, Options.of({**options, "out": folder}))
        note_unjudged(run, len(samples), name)
        return list(run.samples())


def _judge_name(judge: Mapping[str, Any]) -> str:
    name = str(judge.get("model") or NO_JUDGE)
    return name if name == NO_JUDGE else model_name(name)


def _say_failed(results: Sequence[Result], file: str) -> None:
    n_failed = sum(result.reply is None for result in results)
    if n_failed:
        note = f"{file}: {n_failed:,} of {len(results):,} rows have no reply; they are in no accuracy"
        print(f"eyechart: {note}", file=sys.stderr)  # noqa: T201 - a script's user must see it
