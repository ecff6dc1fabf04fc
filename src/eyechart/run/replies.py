"""Score replies that something else collected, as if we had asked for them ourselves."""

from __future__ import annotations

import hashlib
from pathlib import Path

from eyechart.errors import DataError
from eyechart.run.options import Options
from eyechart.run.plan import find_benchmark
from eyechart.run.record import Run
from eyechart.types import Benchmark, Failure, Reply, Source


def score_replies(source: str | Path | Benchmark | Source, replies: str | Path, options: Options) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong."""
    from eyechart import __version__
    from eyechart.data.replies import read_replies
    from eyechart.registry import scorers
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Ask, Journal

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
            for sample in journal.samples():
                text = said.pop(sample.id, None)
                if text is None:
                    failure = Failure(stage="load", reason=f"{replies} holds no reply to it")
                    journal.append_failure(sample.id, 0, failure)
                    continue
                reply = Reply(text=text)
                key = hashlib.sha256(f"{model}\0{sample.id}\0{text}".encode()).hexdigest()
                journal.append_reply(sample.id, 0, Ask(key=key, recipe=key[:32], messages=[]), reply)
                journal.append_score(sample.id, 0, key, scorer, scorer(reply, sample))
            journal.set_meta(
                "manifest",
                {
                    "eyechart": __version__,
                    "benchmark": benchmark.name,
                    "origin": benchmark.source.origin,
                    "parity": benchmark.parity,
                    "group_by": list(benchmark.group_by),
                    "scorer": scorer.name,
                    "model": model,
                    "replies": str(replies),
                    "trials": 1,
                },
            )
        finally:
            journal.close()
        if said:
            folders.discard(folder)
            names = ", ".join(list(said)[:3])
            raise DataError(
                f"{replies}: {len(said)} replies belong to no sample of {benchmark.name} (e.g. {names})",
                hint="are these the replies to this benchmark?",
            )
        done = Run(folder)
        folders.write_json(folder / "summary.json", done.summary.to_json())
    return done
