"""Runs: `run`, `load` and `evaluate`, where all rooms of the package come together.

A sample passes six steps: load, render, reply, append, score, summarise. Heavy modules are imported inside
the functions, so that `import eyechart` stays cheap.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.run.evaluate import evaluate
from eyechart.run.models import choose_models
from eyechart.run.options import LOADING_OPTIONS, Options
from eyechart.run.plan import make_plan
from eyechart.run.results import Run
from eyechart.run.sources import apply_circular, apply_selection, find_benchmark
from eyechart.types import Benchmark, Source

__all__ = ["Run", "evaluate", "load", "run"]


def run(source: str | Path | Benchmark | Source, model: str | object, **options: Any) -> Run:
    """Ask `model` every question of `source`, score the replies, and return the run.

    `source` is a file, a folder, a name from the catalogue, or a `Benchmark`; `model` is ``provider/name``,
    ``python:file.py:Class``, a mapping with a name and the model's own options (docs/models.md), or an object
    with one of the three interfaces. `options` are those of `Options`.
    Repeating the call resumes the run: only what is missing is asked. An interrupt (Ctrl-C, a notebook's Stop
    button) ends the run cleanly and raises KeyboardInterrupt; the answers so far are kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     done = run("demo", model="baseline/random", limit=5, out=out, progress=False)
    ...     done.summary.n
    5
    """
    [(chosen, of_model)] = choose_models([model], options)
    done = evaluate(make_plan(source, chosen, of_model))
    if done.is_interrupted:
        raise KeyboardInterrupt(f"the answers so far are in {done.folder}; the same call resumes the run")
    return done


def load(source: str | Path, **options: Any) -> Source:
    """The samples of a file, a folder or a benchmark, read lazily; all of them, or the selected ones.

    `options` are those of `Options` on reading a source and selecting samples, and `circular`.

    >>> next(iter(load("demo"))).question
    'Which drink was sold most?'
    >>> len(list(load("demo", limit=3)))
    3
    """
    chosen = Options.of(options)
    if others := sorted(options.keys() - LOADING_OPTIONS):
        raise UsageError(
            f"{', '.join(others)}: load() asks no questions, so this has no effect",
            hint=f"load() takes: {', '.join(sorted(LOADING_OPTIONS))}; ec.run takes the others",
        )
    benchmark = find_benchmark(source, chosen)
    asked = apply_selection(benchmark, chosen)
    return (apply_circular(asked, benchmark.source) if chosen.circular else asked).source
