"""Score replies that something else collected, as if we had asked for them ourselves."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.errors import DataError
from eyechart.run.loop import run_async
from eyechart.run.options import Options
from eyechart.run.plan import describe, with_parity
from eyechart.run.record import Run
from eyechart.run.rescore import score_all
from eyechart.run.sources import find_benchmark, rotated
from eyechart.run.verdicts import choose_verdicts
from eyechart.types import Benchmark, Failure, Replies, Source

if TYPE_CHECKING:
    from eyechart.store.journal import Journal


def score_replies(source: str | Path | Benchmark | Source, replies: str | Path, options: Options) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong."""
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    benchmark = find_benchmark(source, options)
    options = with_parity(options, benchmark)
    if options.circular:
        benchmark = rotated(benchmark)
    verdicts = choose_verdicts(benchmark, options)
    said = read(benchmark, Path(replies))
    samples = said.source or benchmark.source
    model = f"replies/{Path(replies).stem}"
    identity = {"origin": samples.origin, "replies": str(Path(replies).resolve())}
    folder = folders.folder_for(Path(options.out), benchmark.name, model, identity)
    folders.make(folder)
    with folders.hold(folder):
        folders.make(folder, fresh=True)  # what the file says now is all there is
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(samples)
            strays = _keep(journal, said, model=model, file=str(replies))
            manifest = {**describe(benchmark, verdicts, model), "replies": str(replies)}
            journal.set_meta("manifest", manifest)
            if not strays:
                journal.flush()
                run_async(score_all(Run(folder), journal, verdicts, options))
        finally:
            journal.close()
        if strays:
            folders.discard(folder)
            names = ", ".join(strays[:3])
            raise DataError(
                f"{replies}: {len(strays)} replies belong to no sample of {benchmark.name} (e.g. {names})",
                hint="are these the replies to this benchmark?",
            )
        done = Run(folder)
        done.keep_summary()
        if benchmark.files:
            done.write_files()
    return done


def read(benchmark: Benchmark, path: Path) -> Replies:
    """The replies in a file: a JSON file of the benchmark's own format where it has one, else any table."""
    from eyechart.data.replies import read_replies

    if benchmark.read_replies is not None and path.suffix.lower() == ".json":
        return benchmark.read_replies(path)
    return read_replies(path)


def _keep(journal: Journal, said: Replies, *, model: str, file: str) -> list[str]:
    """Every sample's reply into the journal; the ids of replies that belong to no sample."""
    from eyechart.store.journal import Ask

    left = dict(said.by_id)
    for sample in journal.samples():
        reply = left.pop(sample.id, None)
        if reply is None:
            reason = said.skipped.get(sample.id, f"{file} holds no reply to it")
            journal.append_failure(sample.id, 0, Failure(stage="load", reason=reason))
            continue
        key = hashlib.sha256(f"{model}\0{sample.id}\0{reply.text}".encode()).hexdigest()
        journal.append_reply(sample.id, 0, Ask(key=key, recipe=key[:32], messages=[]), reply)
    return list(left)
