"""`run`, `arun` and `load`: evaluations from Python, with the options as keywords.

A sample passes six steps: load, render, reply, append, score, summarise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from eyechart.data.samples import Samples
from eyechart.errors import UsageError
from eyechart.option import list_option_names, with_options
from eyechart.runs.evaluate import evaluate
from eyechart.runs.loop import run_aside
from eyechart.runs.models import choose_models
from eyechart.runs.options import Options
from eyechart.runs.plan import make_plan
from eyechart.runs.results import Run
from eyechart.runs.sources import apply_circular, apply_selection, find_benchmark

_LOADING = frozenset(list_option_names(Options, affects=["data"]))

__all__ = ["Run", "arun", "load", "run"]


@overload
def run(source: Any, model: list[Any] | tuple[Any, ...], **options: Any) -> list[Run]: ...


@overload
def run(source: Any, model: str | Mapping[str, Any] | object, **options: Any) -> Run: ...


@with_options(Options)
def run(source: Any, model: Any, **options: Any) -> Run | list[Run]:
    """Ask `model` every question of `source`, score the replies, and return the run.

    `source`: a file, a folder, a name from the catalogue, ``bench.py:name``, a `Benchmark` or a function that
    declares one, a DataFrame, a list of dicts or of `Sample`, or what `load` returns.
    `model`: ``provider/name``, ``python:file.py:Class``, a mapping with a name and the model's own options, a
    function ``(text, images) -> str``, or an object with ``generate``. A list of models gives a list of runs.

    Repeating the call resumes the run: only what is missing is asked. An interrupt (Ctrl-C, a notebook's Stop
    button) ends the run cleanly and raises KeyboardInterrupt; the answers so far are kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     done = run("demo", model="baseline/random", limit=5, out=out, progress=False)
    ...     done.summary.n
    5
    """
    is_list = isinstance(model, list | tuple)
    models = list(model) if is_list else [model]
    if not models:
        raise UsageError("no model given: the list is empty", hint="name one, e.g. openai/gpt-4o")
    plans = [make_plan(source, one, own) for one, own in choose_models(models, options)]
    runs = []
    notes_shown: set[str] = set()
    for plan in plans:
        done = evaluate(plan, notes_shown=notes_shown)
        if done.is_interrupted:
            raise KeyboardInterrupt(f"the answers so far are in {done.folder}; the same call resumes the run")
        runs.append(done)
    return runs if is_list else runs[0]


@with_options(Options)
async def arun(source: Any, model: Any, **options: Any) -> Run | list[Run]:
    """`run` for asynchronous code: ``await ec.arun(...)``; other tasks continue meanwhile.

    Cancelling the task ends the run cleanly; the answers so far are kept, and the same call resumes.
    """
    found: Run | list[Run] = await run_aside(lambda: run(source, model, **options))
    return found


@with_options(Options, _LOADING)
def load(source: Any, **options: Any) -> Samples:
    """The samples of a file, a folder, a benchmark or rows in memory; all of them, or the selected ones.

    Iterating reads lazily. ``len(...)``, an index and a slice work as with a list.

    >>> next(iter(load("demo"))).question
    'Which drink was sold most?'
    >>> len(load("demo", limit=3)), load("demo")[1].id
    (3, 'charts-cups-2')
    """
    chosen = Options.of(options)
    if others := sorted(options.keys() - _LOADING):
        raise UsageError(
            f"{', '.join(others)}: load() asks no questions, so this has no effect",
            hint=f"load() takes: {', '.join(sorted(_LOADING))}; ec.run takes the others",
        )
    benchmark = find_benchmark(source, chosen)
    asked = apply_selection(benchmark, chosen)
    return Samples((apply_circular(asked, benchmark.source) if chosen.circular else asked).source)
