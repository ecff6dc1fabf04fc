"""What ``eyechart run`` prints below its results: the table of a suite, and published numbers beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from rich.table import Table
from rich.text import Text

from eyechart.catalogue.suites import Line, Suite, SuiteResult, collect, make_line
from eyechart.console import note, print_rich, print_runs
from eyechart.errors import EyechartError
from eyechart.report.compare import format_signed
from eyechart.report.published import Beside, compare_published, read_published
from eyechart.report.table import PlainTable
from eyechart.runs.results import Run
from eyechart.runs.sources import make_benchmark
from eyechart.terminal import print_text, to_one_line


def print_with_more(
    runs: Sequence[Run], suite: Suite | None, published: str | None, n_models: int, *, as_json: bool
) -> None:
    """Print the results, the table of the suite and the published numbers; as JSON one object."""
    results = collect(suite, runs, n_models) if suite else []
    beside: list[Beside] = []
    if published is not None:
        lines: list[Line] = [line for one in results for line in one.lines] or [
            make_line(run) for run in runs
        ]
        own = [(line.benchmark, line.model, line.value, line.ci95) for line in lines]
        own += [(one.suite, one.model, one.mean, one.ci95) for one in results]
        beside = compare_published(read_published(published), own, _list_aliases(runs))
    more = {"suites": [one.to_json() for one in results], "beside": [one.to_json() for one in beside]}
    print_runs(runs, as_json=as_json, more={name: listed for name, listed in more.items() if listed})
    if as_json:
        return
    if suite and results:
        print_text("")
        print_rich(draw_suite(suite, results))
        if suite.note:
            note(f"{suite.name}: {suite.note}")
        for one in results:
            if one.missing:
                note(f"{one.model}: no mean, because these have no number: {', '.join(one.missing)}")
    if beside:
        print_text("")
        print_rich(draw_beside(beside))
    elif published is not None:
        note("--beside: no published number has the name of a model and a benchmark of these runs")


def _list_aliases(runs: Iterable[Run]) -> dict[str, tuple[str, ...]]:
    """Further names of each benchmark: VLMEvalKit's file, and its name without the split."""
    found: dict[str, tuple[str, ...]] = {}
    for run in runs:
        name = str(run.manifest.get("benchmark", ""))
        with suppress(EyechartError):  # a file of the user's own
            found[name] = tuple(filter(None, (make_benchmark(name, {}).card.file,)))
    return found


def draw_suite(suite: Suite, results: Sequence[SuiteResult]) -> PlainTable:
    """A line per benchmark, a column per model, the weighted mean below."""
    rows = [
        [to_one_line(line.benchmark), to_one_line(line.metric), f"{line.weight:g}",
         *(_show(one.lines[at].value, one.lines[at].ci95) for one in results)]
        for at, line in enumerate(results[0].lines)
    ]  # fmt: skip
    return PlainTable(
        title=f"suite {to_one_line(suite.name)}",
        columns=["benchmark", "number", "weight", *(to_one_line(one.model) for one in results)],
        rows=[*rows, ["mean", "", "", *(_show(one.mean, one.ci95) for one in results)]],
        n_left=2,
    )


def draw_beside(beside: Sequence[Beside]) -> Table:
    """One's own number, the published one, and the difference with its verdict."""
    table = Table(box=None, pad_edge=False)
    for heading in ("benchmark", "model", "score % (95 % interval)", "published", "difference", "", "source"):
        table.add_column(heading, justify="right" if heading in ("published", "difference") else "left")
    for one in beside:
        verdict = {None: "", True: "within the interval", False: "outside the interval"}[one.is_within]
        difference = "—" if one.difference is None else format_signed(one.difference)
        cells = (
            one.benchmark,
            one.model,
            _show(one.value, one.ci95),
            f"{100 * one.published.value:.1f}",
            difference,
            verdict,
            one.published.source,
        )
        table.add_row(*(Text(to_one_line(cell)) for cell in cells))
    return table


def _show(value: float | None, ci95: tuple[float, float] | None) -> str:
    """A fraction in percent, with its interval."""
    if value is None:
        return "—"
    interval = f" ({100 * ci95[0]:.1f}–{100 * ci95[1]:.1f})" if ci95 else ""
    return f"{100 * value:.1f}{interval}"
