"""Score replies that something else collected, as if we had asked for them ourselves."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.errors import DataError
from eyechart.run.bill import find_judge_price, priced
from eyechart.run.options import Options
from eyechart.run.plan import asked_benchmark, describe
from eyechart.run.record import Run
from eyechart.run.rescore import score_all
from eyechart.run.verdicts import choose_verdicts
from eyechart.types import Benchmark, Failure, Replies, Source

if TYPE_CHECKING:
    from eyechart.store.journal import Journal


def score_replies(source: str | Path | Benchmark | Source, replies: str | Path, options: Options) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong.

    The same file again finds what a judge has said about it already.
    """
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    benchmark, options = asked_benchmark(source, options)
    verdicts = choose_verdicts(benchmark, options)
    prices = find_judge_price(verdicts.judge, options)
    said = read(benchmark, Path(replies))
    samples = said.source or benchmark.source
    _refuse_strays(said, samples, f"{replies}", benchmark.name)
    model = f"replies/{Path(replies).stem}"
    identity = {
        "origin": samples.origin,
        "replies": str(Path(replies).resolve()),
        "settings": dict(benchmark.settings),
        "circular": options.circular,
        "selection": options.selection(),
    }
    folder = folders.folder_for(Path(options.out), benchmark.name, model, identity)
    folders.make(folder)
    with folders.hold(folder):
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(samples)
            _keep(journal, said, model=model, file=str(replies))
            manifest = {**describe(benchmark, verdicts, model), "replies": str(replies)}
            journal.set_meta("manifest", priced(manifest, prices))
            journal.flush()
            session = score_all(Run(folder), journal, verdicts, options, prices)
        finally:
            journal.close()
        done = session.of(folder)
        done.keep_summary()
        if benchmark.files:
            done.try_to_write_files()
    return done


def read(benchmark: Benchmark, path: Path) -> Replies:
    """The replies in a file: a JSON file of the benchmark's own format where it has one, else any table."""
    from eyechart.data.replies import read_replies

    if benchmark.read_replies is not None and path.suffix.lower() == ".json":
        return benchmark.read_replies(path)
    return read_replies(path)


def _refuse_strays(said: Replies, samples: Source, file: str, benchmark: str) -> None:
    strays = dict(said.by_id)
    for sample in samples:
        strays.pop(sample.id, None)
    if strays:
        names = ", ".join(list(strays)[:3])
        what = "1 reply belongs" if len(strays) == 1 else f"{len(strays)} replies belong"
        raise DataError(
            f"{file}: {what} to no sample of {benchmark} (e.g. {names})",
            hint="are these the replies to this benchmark?",
        )


def _keep(journal: Journal, said: Replies, *, model: str, file: str) -> None:
    """Every sample's reply into the journal, or why it has none."""
    from eyechart.store.journal import Ask

    for sample in journal.samples():
        reply = said.by_id.get(sample.id)
        if reply is None:
            reason = said.skipped.get(sample.id, f"{file} holds no reply to it")
            journal.append_failure(sample.id, 0, Failure(stage="load", reason=reason))
            continue
        key = hashlib.sha256(f"{model}\0{sample.id}\0{reply.text}".encode()).hexdigest()
        journal.append_reply(sample.id, 0, Ask(key=key, recipe=key[:32], messages=[]), reply)
