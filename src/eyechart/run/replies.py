"""Score replies that something else collected, as if we had asked for them ourselves."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.errors import DataError, UsageError
from eyechart.run.bill import find_judge_price, priced
from eyechart.run.matching import Said, named_as, of_log, of_table, questions_of
from eyechart.run.options import Options
from eyechart.run.plan import asked_benchmark, describe
from eyechart.run.record import Run
from eyechart.run.rescore import score_all
from eyechart.run.sources import custom, find_benchmark
from eyechart.run.verdicts import choose_verdicts
from eyechart.types import Benchmark, ReplyLog, Source

if TYPE_CHECKING:
    from eyechart.store.journal import Journal


def score_replies(
    source: str | Path | Benchmark | Source | None, replies: str | Path, options: Options
) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong.

    Without a `source` the questions are those that the file brings along. The same file again finds what a
    judge has said about it already.
    """
    from eyechart.data.replies import read_log
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    file = Path(replies)
    log = read_log(file, with_questions=source is None) if file.is_file() else None  # or only a name so far
    benchmark, options = _benchmark(source, file, log, options)
    verdicts = choose_verdicts(benchmark, options)
    prices = find_judge_price(verdicts.judge, options)
    said = _read(benchmark, file, log, is_named=source is not None)
    samples = said.source or benchmark.source
    said = named_as(said, samples, f"{replies}", benchmark.name)
    model = said.model or _model_in_name(file, benchmark) or f"replies/{file.stem}"
    folder = _folder(benchmark, samples, file, model, options)
    folders.prepare_folder(folder)
    with folders.lock_folder(folder):
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(samples)
            _keep(journal, said, model=model, file=str(replies))
            manifest = describe(benchmark, verdicts, model, trials=said.trials)
            journal.set_meta("manifest", priced({**manifest, "replies": str(replies)}, prices))
            journal.flush()
            session = score_all(Run(folder), journal, verdicts, options, prices)
        finally:
            journal.close()
        done = session.of(folder)
        done.keep_summary()
        if benchmark.files:
            done.try_to_write_files()
    return done


def _folder(benchmark: Benchmark, samples: Source, file: Path, model: str, options: Options) -> Path:
    """The same file of replies to the same questions is the same run."""
    from eyechart.store.folder import folder_for

    identity = {
        "origin": samples.origin,
        "replies": str(file.resolve()),
        "settings": dict(benchmark.settings),
        "circular": options.circular,
        "selection": options.selection(),
    }
    return folder_for(Path(options.out), benchmark.name, model, identity)


def _benchmark(
    source: str | Path | Benchmark | Source | None, path: Path, log: ReplyLog | None, options: Options
) -> tuple[Benchmark, Options]:
    """What the replies answer: what is named, or else the questions in the file itself."""
    if source is not None:
        benchmark = find_benchmark(source, options)
        if benchmark.read_questions is None or log is not None:
            return asked_benchmark(source, options)
        benchmark = replace(benchmark, source=benchmark.read_questions(path))
        options = replace(options, settings={}, cells=None)  # it is made of them already
    else:
        if said := options.reading():
            raise UsageError(
                f"{', '.join(said)}: said of questions in a file of their own, and none is named",
                hint="--benchmark FILE names it; without it the file of replies brings its questions along",
            )
        benchmark = custom(questions_of(log, path) if log else _table_questions(path))
        if log and any(entry.sample and entry.sample.circle for entry in log.entries):
            benchmark = replace(benchmark, circular="headline")
    return asked_benchmark(benchmark, options)


def _table_questions(path: Path) -> Source:
    from eyechart.data.replies import questions_of as in_table

    return in_table(path)


def _read(benchmark: Benchmark, path: Path, log: ReplyLog | None, *, is_named: bool) -> Said:
    """The replies in a file: another tool's log, the benchmark's own format where it has one, or a table."""
    from eyechart.data.replies import read_replies, recognise

    if log is not None:
        return of_log(log, benchmark.source if is_named else None)
    own = benchmark.read_replies
    if (
        own is not None
        and path.suffix.lower() == ".json"
        and (not path.is_file() or recognise(path) == "table")
    ):
        return of_table(own(path))
    found = read_replies(path)
    return of_table(found, found.places)


def _model_in_name(path: Path, benchmark: Benchmark) -> str:
    """The model that a VLMEvalKit file is called after: ``<model>_<set>.xlsx``."""
    name = Path(benchmark.source.origin.replace("\\", "/")).stem
    model = path.stem.removesuffix(f"_{name}")
    return model if name and model != path.stem else ""


def _keep(journal: Journal, said: Said, *, model: str, file: str) -> None:
    """Every sample's reply into the journal, or why it has none."""
    from eyechart.data.replies import parse_failure
    from eyechart.store.journal import Ask

    n_trials = said.trials  # which looks through all of them
    for sample in journal.samples():
        if journal.is_behind:
            journal.wait_for_room()
        for trial in range(n_trials):
            reply = said.replies.get((sample.id, trial))
            if reply is None:
                reason = said.reasons.get((sample.id, trial), f"{file} holds no reply to it")
                journal.append_failure(sample.id, trial, parse_failure(reason))
                continue
            of_trial = f"\0{trial}" if trial else ""
            asked = f"{model}\0{sample.id}\0{reply.text}{of_trial}"
            try:
                key = hashlib.sha256(asked.encode()).hexdigest()
                journal.append_reply(sample.id, trial, Ask(key=key, recipe=key[:32], messages=[]), reply)
            except UnicodeEncodeError as err:  # half of a surrogate pair, as JSON can hold
                raise DataError(
                    f"{file}: the reply to {sample.id!r} is not valid Unicode: {err.reason}"
                ) from err
