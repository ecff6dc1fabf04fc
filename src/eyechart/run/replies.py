"""Score replies that something else collected, as if we had asked for them ourselves."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.errors import DataError
from eyechart.run.options import Options
from eyechart.run.plan import describe, find_benchmark
from eyechart.run.record import Run
from eyechart.types import Benchmark, Failure, Reply, Scorer, Source

if TYPE_CHECKING:
    from eyechart.store.journal import Journal


def score_replies(source: str | Path | Benchmark | Source, replies: str | Path, options: Options) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong."""
    from eyechart.data.replies import read_replies
    from eyechart.registry import scorers
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    benchmark = find_benchmark(source, options)
    scorer = scorers.get(options.scorer or benchmark.scorer)
    said = read_replies(replies)
    model = f"replies/{Path(replies).stem}"
    identity = {"origin": benchmark.source.origin, "replies": str(Path(replies).resolve())}
    folder = folders.folder_for(Path(options.out), benchmark.name, model, identity)
    folders.make(folder)
    with folders.hold(folder):
        folders.make(folder, fresh=True)  # what the file says now is all there is
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(benchmark.source)
            strays = _keep(journal, said, scorer, model=model, file=str(replies))
            journal.set_meta("manifest", {**describe(benchmark, scorer, model), "replies": str(replies)})
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
    return done


def _keep(journal: Journal, said: dict[str, str], scorer: Scorer, *, model: str, file: str) -> list[str]:
    """Every sample's reply and verdict into the journal; the ids of replies that belong to no sample."""
    from eyechart.engine.scoring import score_reply
    from eyechart.store.journal import Ask

    left = dict(said)
    for sample in journal.samples():
        text = left.pop(sample.id, None)
        if text is None:
            failure = Failure(stage="load", reason=f"{file} holds no reply to it")
            journal.append_failure(sample.id, 0, failure)
            continue
        reply = Reply(text=text)
        key = hashlib.sha256(f"{model}\0{sample.id}\0{text}".encode()).hexdigest()
        journal.append_reply(sample.id, 0, Ask(key=key, recipe=key[:32], messages=[]), reply)
        score_reply(journal, scorer, sample, 0, key, reply)
    return list(left)
