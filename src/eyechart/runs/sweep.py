"""Sweeps: one run per combination of settings, one table over them.

Every cell is an ordinary run with its own folder, so the same sweep again resumes it, a larger one asks only
for its new cells, and a request that two cells share is sent once (runs of one benchmark and model lend each
other replies to exactly the same request).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.engine.sample import make_key
from eyechart.errors import UsageError, join_names
from eyechart.models.specs import parse_parameters
from eyechart.option import list_file_keys, list_options, with_options
from eyechart.registry import suggest_name
from eyechart.report.compare import SharedQuestions, compute_scores
from eyechart.report.conditions import tell_value
from eyechart.report.pages import write_sweep_page
from eyechart.report.sweep import Cell, Sweep, compare_cells, find_dominated, list_measures, write_verdict
from eyechart.runs.comparison import share_questions
from eyechart.runs.evaluate import evaluate
from eyechart.runs.models import choose_models
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan, share_limits
from eyechart.runs.results import Run
from eyechart.store.journal import FILE_NAME

DEFAULT = "default"  # as a value: the option is left out
_DOTTED = ("params", "settings")  # options with names of their own: params.top_p
_MANY = 0.05  # a share of the replies that is pointed out


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A setting with the run that it stands for."""

    settings: Mapping[str, Any]
    given: Mapping[str, str]  # the same as texts
    plan: Plan

    @property
    def label(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.given.items())


@with_options(Options)
def sweep(
    source: Any, model: Any, *, vary: Mapping[str, Sequence[Any]], pairs: bool = False, **options: Any
) -> Sweep:
    """Ask with every combination of settings, and compare them: ``vary={"max_pixels": ["250k", "1M"]}``.

    `vary`: options that affect the data or the requests, each with its values; "default" leaves one out, and
    ``params.NAME`` is a parameter of the model. `model` may be a list. `pairs`: the first values of all
    options together, then the second ones, instead of every combination.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     settings = {"max_pixels": ["10k", "default"]}
    ...     found = sweep("demo", "baseline/random", vary=settings, limit=10, out=out, progress=False)
    >>> [cell.settings for cell in found.cells]
    [{'max_pixels': 10000}, {'max_pixels': None}]
    """
    return run_sweep(plan_sweep(source, model, vary=vary, pairs=pairs, **options))


def plan_sweep(
    source: Any, model: Any, *, vary: Mapping[str, Sequence[Any]], pairs: bool = False, **options: Any
) -> list[PlannedCell]:
    """The cells of a sweep, checked; nothing is written or spent."""
    models = list(model) if isinstance(model, list | tuple) else [model]
    if "model" in vary:
        raise UsageError("models are varied with -m", hint="-m openai/one -m openai/other; in Python, a list")
    combined = _combine(_read_axes(vary), pairs=pairs)
    planned, folders = [], dict[Path, str]()
    for settings in combined:
        for one, own in choose_models(models, _merge(options, settings)):
            plan = make_plan(source, one, own)
            name = {"model": plan.model.name} if len(models) > 1 else {}
            given = {key: _tell(value) for key, value in {**name, **settings}.items()}
            cell = PlannedCell(settings=name | _read_values(settings, own), given=given, plan=plan)
            if other := folders.get(plan.folder):
                hint = "leave one of the values out"
                raise UsageError(f"{cell.label} is the same run as {other}", hint=hint)
            if cell.label in folders.values():
                raise UsageError(
                    f"{cell.label} is given twice", hint="vary base_url: --vary base_url=URL,URL"
                )
            folders[plan.folder] = cell.label
            planned.append(cell)
    first, *others = planned
    for cell in others:  # scores that could not be compared
        what = "CircularEval" if cell.plan.benchmark.circular != first.plan.benchmark.circular else ""
        what = "the scorer" if cell.plan.scorer.name != first.plan.scorer.name else what
        if what:
            told = f"{first.label} and {cell.label} cannot be compared: {what} differs"
            raise UsageError(told, hint="sweep each separately")
    plans = share_limits([cell.plan for cell in planned])  # --max-cost is for the whole sweep
    return [replace(cell, plan=plan) for cell, plan in zip(planned, plans, strict=True)]


def _read_axes(vary: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The values of each varied option, by the option's own name."""
    if not vary:
        raise UsageError("nothing to vary", hint="--vary max_pixels=250k,1M,4M")
    known, declared = list_file_keys(Options), list_options(Options)
    varied = [name for name, one in declared.items() if one.affects in ("data", "request")]
    axes: dict[str, list[Any]] = {}
    for written, values in vary.items():
        first, dot, rest = str(written).replace("-", "_").partition(".")
        key = known.get(first)
        name = key.option if key else first
        if name not in declared:
            hint = suggest_name(first, varied, otherwise=f"options: {join_names(varied, 12)}")
            raise UsageError(f"no option is called {first!r}", hint=hint)
        if name not in varied:
            raise UsageError(
                f"{name} changes neither the questions nor the requests, so it cannot be varied",
                hint="eyechart docs command-line lists what each option affects",
            )
        if bool(dot) != (name in _DOTTED):
            raise UsageError(f"--vary {written}: write {name}{'' if dot else '.NAME'}=A,B")
        several = [values] if isinstance(values, str) or not isinstance(values, Sequence) else list(values)
        if not several or len({repr(value) for value in several}) < len(several):
            raise UsageError(f"--vary {written}: needs one value or more, each once")
        name = f"{name}.{rest}" if dot else name
        if name in axes:
            raise UsageError(f"{name} is varied twice", hint="give all its values at once")
        axes[name] = several
    return axes


def _combine(axes: Mapping[str, Sequence[Any]], *, pairs: bool) -> list[dict[str, Any]]:
    lengths = {name: len(values) for name, values in axes.items()}
    if pairs and len(set(lengths.values())) > 1:
        described = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise UsageError(f"--pairs needs as many values of every option: {described}")
    rows = zip(*axes.values(), strict=True) if pairs else itertools.product(*axes.values())
    return [dict(zip(axes, row, strict=True)) for row in rows]


def _merge(options: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a cell: those of the sweep, with its settings in them."""
    merged = dict(options)
    for name, value in settings.items():
        option, dot, part = name.partition(".")
        if value in (DEFAULT, None):
            merged.pop(name, None)
        elif dot:
            given = {part: value}
            parsed = parse_parameters(given, who="--vary") if isinstance(value, str) else given
            merged[option] = {**(merged.get(option) or {}), **parsed}
        elif isinstance(value, str) and (parse := list_options(Options)[name].parse):
            merged[name] = parse([value], f"--vary {name}")  # where=category=map
        else:
            merged[name] = value
    return merged


def _read_values(settings: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """The settings as values: numbers where the option is a number, None where it is left out."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        option, dot, part = name.partition(".")
        if value in (DEFAULT, None):
            found[name] = None if dot else getattr(options, name)
        elif isinstance(value, str) and name in ("prompt_template", "schema"):
            found[name] = value  # the name of the file, not its content
        else:
            found[name] = getattr(options, option)
            for step in part.split(".") if dot else ():
                found[name] = found[name][step]
    return found


def _tell(value: Any) -> str:
    return DEFAULT if value is None else str(value) if isinstance(value, str) else tell_value(value)


def run_sweep(planned: Sequence[PlannedCell], *, html: str | Path | None = None) -> Sweep:
    """Run every cell, and compare them; the page goes beside the runs."""
    runs: list[Run] = []
    notes_shown: set[str] = set()
    for cell in planned:
        # With --fresh, too, a request that cells share is sent once.
        plan = replace(cell.plan, fresh_from=tuple(run.folder / FILE_NAME for run in runs))
        done = evaluate(plan, notes_shown=notes_shown)
        if done.is_interrupted:
            raise KeyboardInterrupt("the same sweep again resumes")
        runs.append(done)
    cells = [_make_cell(cell, run) for cell, run in zip(planned, runs, strict=True)]
    names = {str(run.folder): cell.label for cell, run in zip(cells, runs, strict=True)}
    compared = [run for cell, run in zip(cells, runs, strict=True) if cell.score is not None]
    shared = SharedQuestions(ids=[], values={})
    if compared:
        shared = share_questions(compared, [names[str(run.folder)] for run in compared])
    labels = {run: names[run] for run in shared.values}
    pairs = compare_cells(shared, labels)
    scores = {labels[run]: score for run, score in compute_scores(shared).items()}
    dominated: dict[str, dict[str, str]] = {cell.label: {} for cell in cells}
    measured = [cell for cell in cells if cell.label in scores]
    for measure in list_measures(measured):
        prices = {cell.label: cell.get_price(measure) for cell in measured}
        for worse, better in find_dominated(pairs, prices).items():
            dominated[worse][measure] = better
    path = Path(html) if html else runs[0].folder.parent / f"sweep-{make_key(*sorted(names))[:8]}.html"
    found = Sweep(
        benchmark=str(runs[0].manifest.get("benchmark", "")),
        n=len(shared.ids),
        cells=tuple(replace(cell, dominated_by=dominated[cell.label]) for cell in cells),
        pairs=tuple(pairs),
        spread=_measure_spread(planned, scores),
        verdict=write_verdict(cells, pairs, scores),
        notes=tuple(_list_notes(cells, runs, len(shared.ids))),
        page=str(path),
        exit_code=max(run.exit_code for run in runs),
    )
    write_sweep_page(path, found)
    return found


def _make_cell(cell: PlannedCell, run: Run) -> Cell:
    summary = run.summary
    latencies: list[float] = []
    counts = dict.fromkeys(("unparsed", "truncated", "empty"), 0)
    n_replies = 0
    for result in run.counted():
        if (reply := result.reply) is None:
            continue
        n_replies += 1
        if result.outcome in counts:
            counts[result.outcome] += 1
        counts["empty"] += not reply.text.strip()
        latencies += [reply.latency_s] if reply.latency_s else []
    tokens = sum(summary.tokens.get(name, 0) for name in ("prompt", "completion"))
    n = max(1, n_replies)
    return Cell(
        settings=cell.settings,
        given=cell.given,
        run=str(run.folder),
        score=summary.score,
        ci95=summary.ci95,
        n=summary.n,
        outcomes={name: n for name, n in summary.outcomes.items() if n},
        shares={name: count / n for name, count in counts.items()},
        tokens=tokens / n if tokens else None,
        cost=summary.cost,
        n_replies=n_replies,
        seconds=summary.seconds,
        latency=statistics.median(latencies) if latencies else None,
    )


def _measure_spread(
    planned: Sequence[PlannedCell], scores: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """The mean score of the cells with each value of an option, where there are several."""
    found: dict[str, dict[str, float]] = {}
    for name in planned[0].given:
        by_value: dict[str, list[float]] = {}
        for cell in planned:
            if cell.label in scores:
                by_value.setdefault(cell.given[name], []).append(scores[cell.label])
        if len(by_value) > 1:
            found[name] = {value: statistics.fmean(held) for value, held in by_value.items()}
    return found


def _list_notes(cells: Sequence[Cell], runs: Sequence[Run], n: int) -> Iterator[str]:
    """What to know before the table is believed."""
    if 0 < n < max(cell.n for cell in cells):
        yield f"compared on the {n:,} questions that were scored with every setting"
    for cell, run in zip(cells, runs, strict=True):
        if run.trouble is not None:
            yield f"{cell.label}: the run was stopped: {run.trouble.message}"
        if failed := cell.outcomes.get("failed"):
            reason = next(result.failure.reason for result in run.counted() if result.failure is not None)
            left_out = "" if cell.score is not None else "not compared, "
            yield f"{cell.label}: {left_out}{failed:,} failed, e.g. {reason}"
        for name, share in cell.shares.items():
            if share >= _MANY:
                yield f"{cell.label}: {100 * share:.1f} % of the replies are {name}"
