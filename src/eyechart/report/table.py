"""Summaries as tables for people: percent with one decimal, and only the columns that have something to show.

A table fits itself to the terminal. If it is too wide, the least important columns are left out and listed
below the table; names are wrapped last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from eyechart.models.prices import format_usd
from eyechart.report.counting import Group, describe_speeds
from eyechart.report.live import format_duration
from eyechart.report.summary import Summary
from eyechart.terminal import to_one_line
from eyechart.types import OUTCOMES, Outcome

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from eyechart.report.metrics import Metrics


_GAP = 2  # blank columns between two columns
_MIN_HEADING = 10  # a heading is broken to the width of its column, but not to less
_STYLES = {
    "score %": "bold",
    "chance": "dim",
    "pending": "dim",
    "correct": "green",
    "partial": "yellow",
    "failed": "red",
    "unparsed": "yellow",
    "truncated": "yellow",
}
_SHRUNK = "shrunk %"
_ALWAYS_SHOWN = frozenset({"n", "score %", "95 % interval"})
# The order in which columns are left out. People look for correct and wrong beside the score; failures stay
# almost to the end, and the interval is left out only if names could not be read otherwise.
_DROP_ORDER = (
    "clusters", "unscored", "chance", "truncated", "refused", "unparsed", "worst–best", "partial", "pending",
    "wrong", "correct", "failed", _SHRUNK, "95 % interval",
)  # fmt: skip
_NO_PART: tuple[Outcome, ...] = ("failed", "unscored")
_MOST_GROUPS = 40  # of an official number; all of them are in --json
_MIN_NAME = 22  # a group's name is wrapped to this before a column is left out
_MAX_NAME = 200  # characters of a name from the data


def make_run_table(summary: Summary, *, with_shrunk: bool = False) -> RenderableType:
    """One run: an overall row, then a row for each value of each grouping key.

    `with_shrunk`: with the scores of groups drawn towards that of all, which is steadier for small groups.
    """
    from rich.console import Group as Stack
    from rich.text import Text

    title = Text(f"{to_one_line(summary.benchmark)} · {to_one_line(summary.model)}", style="bold")
    official = [Text(line) for line in list_metrics(summary)]
    notes = [Text(note, style="dim") for note in list_notes(summary)]
    return Stack(title, lay_out_run(summary, with_shrunk=with_shrunk), *official, *notes)


def lay_out_run(summary: Summary, *, with_shrunk: bool = False) -> PlainTable:
    """The table alone, for a terminal or a notebook."""
    rows = [_Row("overall", _describe(summary.overall), "bold")]
    rows += [_Row(_make_name(name), _describe(group), "dim", 2) for name, group in summary.also.items()]
    outcomes = {outcome for outcome, n in summary.overall.outcomes.items() if n}
    for key, groups in summary.by.items():
        if outcomes == {"unscored"}:  # no answers to score by: a table of dashes
            break
        # Groups by number add nothing to the same ones by name.
        named = summary.by.get(f"{key.removesuffix('_id')}_name") if key.endswith("_id") else None
        if named and sorted(group.n for group in named.values()) == sorted(one.n for one in groups.values()):
            continue
        rows.append(_Row(_make_name(key), {}, "italic"))
        rows += [_Row(_make_name(value), _describe(group), indent=2) for value, group in groups.items()]
    hidden = frozenset[str]() if with_shrunk else frozenset({_SHRUNK})
    return _draw_rows(rows, "", hidden=hidden, min_name=_MIN_NAME)


def list_metrics(summary: Summary, *, with_table: bool = True) -> Iterator[str]:
    """The lines of the benchmark's official number: over all rows with its interval, then by group.

    `with_table`: also groups that `list_metric_cells` has.
    """
    metrics = summary.metrics
    if metrics is None:
        return
    if metrics.problem:
        yield to_one_line(f"{metrics.aggregate}: not computed: {metrics.problem}")
        return

    def format_value(name: str, value: float | None) -> str:
        if value is None:
            return "—"
        if name.partition(" ")[0] == "n":
            return f"{value:,.0f}"
        return format_percent(value) if metrics.scale == "fraction" else f"{value:,.1f}"

    def join(values: Iterable[tuple[str, float | None]]) -> str:
        return " · ".join(f"{name} {format_value(name, value)}" for name, value in values)

    top = metrics.overall.get(metrics.headline)
    ends = [format_value("", end) for end in (top.ci95 if top and top.ci95 else ())]
    interval = f" ({'–'.join(ends)}, {metrics.method})" if ends else ""
    rest = join((name, one.value) for name, one in metrics.overall.items() if name != metrics.headline)
    headline = join([(metrics.headline, top.value if top else None)])
    yield to_one_line(f"{metrics.aggregate}: {headline}{interval}" + (f" · {rest}" if rest else ""))
    if rows := list_metric_cells(metrics):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *rest_of_row in rows if with_table else ():
            yield "  ".join((f"  {first:<{widths[0]}}", *map(str.rjust, rest_of_row, widths[1:])))
        if len(rows) <= len(metrics.by):
            yield f"  … {len(metrics.by) - len(rows) + 1} more: --json"
        return
    for number, (group, values) in enumerate(metrics.by.items()):
        if number == _MOST_GROUPS:
            yield f"  … {len(metrics.by) - number} more groups: --json"
            return
        yield "  " + to_one_line(f"{group}: {join(values.items())}")


def list_metric_cells(metrics: Metrics) -> list[list[str]]:
    """A table of groups whose metrics have intervals, with a row of headings; empty for other metrics."""
    if not metrics.by_ci95:
        return []
    rows = [["", *next(iter(metrics.by.values()))]]
    for group, values in list(metrics.by.items())[:_MOST_GROUPS]:
        cells = [_make_name(group)]
        for name, value in values.items():
            ends = metrics.by_ci95[group].get(name)
            shown = f"{value or 0:,.0f}" if name == "n" else format_percent(value)
            cells.append(f"{shown} ({'–'.join(map(format_percent, ends))})" if ends else shown)
        rows.append(cells)
    return rows


def make_runs_table(summaries: Iterable[Summary]) -> RenderableType:
    """Several runs: a section per benchmark, with a row for chance and a row per model."""
    from rich.console import Group as Stack
    from rich.text import Text

    sections: dict[str, list[Summary]] = {}
    for summary in summaries:
        sections.setdefault(summary.benchmark, []).append(summary)
    parts: list[RenderableType] = []
    for benchmark, runs in sections.items():
        if parts:
            parts.append(Text(""))
        parts.append(Text(to_one_line(benchmark), style="bold"))
        hidden = frozenset({"chance", _SHRUNK})
        names = label_models([run.model for run in runs], [run.run for run in runs])
        rows: list[_Row] = []
        largest = max(runs, key=lambda run: run.n).overall
        if largest.chance is not None:  # as the floor for the scores
            empty = dict.fromkeys(_describe(largest), "")
            rows.append(_Row("(chance)", {**empty, "score %": format_percent(largest.chance)}, "dim"))
        for name, run in zip(names, runs, strict=True):
            rows.append(_Row(_make_name(name), _describe(run.overall)))
            rows += [_Row(_make_name(name), _describe(group), "dim", 2) for name, group in run.also.items()]
        parts.append(_draw_rows(rows, "model", hidden=hidden))
        lines = [f"{name}: {line}" for name, run in zip(names, runs, strict=True) for line in run.remarks]
        parts += [Text(to_one_line(line)) for line in lines]
        methods = dict.fromkeys(run.overall.method for run in runs if run.overall.method)
        if methods:
            parts.append(Text(f"intervals: {', '.join(methods)}", style="dim"))
    return Stack(*parts) if parts else Text("no runs", style="dim")


def label_models(models: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The model of each run, with the end of its folder's name where a model occurs twice.

    >>> label_models(["m", "m", "n"], ["runs/q/m-12ab", "runs/q/m-34cd", "runs/q/n-56ef"])
    ['m (12ab)', 'm (34cd)', 'n']
    """
    ends = [re.split(r"[-/\\]", folder.rstrip("/"))[-1] for folder in folders]
    return [
        f"{model} ({end})" if end and models.count(model) > 1 else model
        for model, end in zip(models, ends, strict=True)
    ]


def list_notes(summary: Summary) -> Iterator[str]:
    """What the table cannot show, one line each."""
    overall = summary.overall
    if overall.coverage is not None and overall.coverage < 1:
        left = {name: overall.outcomes[name] for name in _NO_PART} | {"pending": overall.pending}
        listed = ", ".join(f"{n:,} {name}" for name, n in left.items() if n)
        claim = f", so it is not the {summary.lost_parity} number" if summary.lost_parity else ""
        yield f"coverage {format_percent(overall.coverage)} %: the score leaves out {listed}{claim}"
    yield from map(to_one_line, summary.remarks)
    if overall.method:
        clusters = f" in {overall.n_clusters:,} clusters" if overall.n_clusters < overall.n_scored else ""
        widest = format_range(overall.ci95_with_failures)
        failures = f"; with failures {widest}" if widest else ""
        samples = f"{overall.n_scored:,} sample{'s' * (overall.n_scored != 1)}"
        yield f"interval: {overall.method}, {samples}{clusters}{failures}"
    if trials := summary.trials:
        over = f"{format_percent(trials.mean)} ± {format_percent(trials.std)} over {trials.k} trials"
        yield f"score {over}; outcomes count sample-trials"
        if facts := ", ".join(f"{name} {format_percent(fact)}" for name, fact in trials.list_facts()):
            n = trials.samples.n if trials.samples else 0
            part = f"; over the {n:,} with a score in every trial" if n < overall.n_scored else ""
            yield f"trials: {facts}{part}"
    if summary.scorer:
        yield to_one_line(f"scorer {describe_scorer(summary.scorer, summary.parity, summary.rules)}")
    if summary.thinking is not None:
        yield from summary.thinking.lines()
    if summary.judge is not None:
        yield from map(to_one_line, summary.judge.lines())
    if summary.looks is not None:
        yield from summary.looks.lines()
    if spent := " · ".join(text for _, text in list_spent(summary.to_json())):
        yield spent


def describe_scorer(name: str, parity: str = "", rules: str = "") -> str:
    """A scorer with what it agrees with.

    >>> describe_scorer("choice-vlmevalkit", "official", "VLMEvalKit e8e78f05")
    'choice-vlmevalkit, parity: official, rules: VLMEvalKit e8e78f05'
    """
    facts = {"parity": parity, "rules": rules}
    return ", ".join([name, *(f"{fact}: {value}" for fact, value in facts.items() if value)])


def describe_tokens(tokens: Mapping[str, int]) -> str:
    """The model's tokens, and how many more the others took.

    >>> describe_tokens({"prompt": 1200, "completion": 30, "judge_prompt": 5, "searcher_prompt": 7})
    '1,200 tokens in, 30 out (5 more at the judge, 7 more at the searcher)'
    """
    n_more = {
        who: tokens.get(f"{who}_prompt", 0) + tokens.get(f"{who}_completion", 0)
        for who in ("judge", "searcher")
    }
    others = ", ".join(f"{n:,} more at the {who}" for who, n in n_more.items() if n)
    more = f" ({others})" if others else ""
    return f"{tokens.get('prompt', 0):,} tokens in, {tokens.get('completion', 0):,} out{more}"


def list_spent(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a run took, from its summary as JSON has it: for tables and pages."""
    requests, tokens, cost = summary.get("requests") or {}, summary.get("tokens") or {}, summary.get("cost")
    if any(requests.values()):
        words = {"retried": "retried", "cached": "known already", "judge": "more to the judge"}
        extras = [f"{requests[name]:,} {said}" for name, said in words.items() if requests.get(name)]
        sent = requests.get("sent", 0)
        more = f" ({', '.join(extras)})" if extras else ""
        yield "requests", f"{sent:,} request{'s' * (sent != 1)}{more}"
    if any(tokens.values()):
        yield "tokens", describe_tokens(tokens)
    if cost is not None:
        # Samples with a reply; a sample counts in part if only some of its trials have one.
        n_done = sum(summary["outcomes"].values())
        n_replies = n_done - summary["outcomes"].get("failed", 0)
        n = summary["n"] * n_replies / max(1, n_done + summary["pending"])
        each = f" ({format_usd(cost / n)} per sample)" if summary["n"] > 1 and n else ""
        is_shared = summary.get("paid") is not None and requests.get("cached")
        paid = f", of which {format_usd(summary['paid'])} paid by this run" if is_shared else ""
        yield "cost", f"{format_usd(cost)} USD{each}{paid}"
    if seconds := summary.get("seconds"):
        yield "duration", format_duration(seconds)
    if speed := summary.get("speed"):
        yield "speed", describe_speeds(speed)


def _make_name(text: str) -> str:
    """A name from the data for one line of a table; one of a million characters is cut."""
    line = to_one_line(text[:_MAX_NAME])
    return line if len(text) <= _MAX_NAME else f"{line}… ({len(text):,} characters)"


# -- Columns


def format_percent(fraction: float | None) -> str:
    """A fraction as percent; a dash for None.

    >>> format_percent(0.7134), format_percent(None)
    ('71.3', '—')
    """
    return "—" if fraction is None else f"{100 * fraction:.1f}"


def format_range(ends: Sequence[float] | None) -> str:
    """An interval of fractions as percent; empty for None.

    >>> format_range((0.7134, 1.0)), format_range(None)
    ('71.3–100.0', '')
    """
    return "–".join(map(format_percent, ends)) if ends else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTable:
    """A table of texts that fits itself to the width, which is known when it is rendered.

    If it is too wide, columns named in `optional` are left out and listed below; then headings are broken,
    and the columns aligned left are wrapped. Numbers are never wrapped.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    n_left: int = 1  # columns aligned left; the others are numbers,
    n_last: int = 0  # but for so many at the end
    optional: Sequence[str] = ()  # headings, in the order in which they are left out
    min_first: int | None = None  # the first column is wrapped to this before others are left out
    facts: Mapping[str, str] = field(default_factory=dict)  # by heading: told below where it is left out
    indents: Sequence[int] = ()  # of the first column, by row
    styles: Mapping[tuple[int, int], str] = field(default_factory=dict)  # of cells, by row and column

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        headings = [Text(heading) for heading in self.columns]
        indents = self.indents or [0] * len(self.rows)
        cells = [max([0, *(cell_len(row[place]) for row in self.rows)]) for place in range(len(headings))]
        cells[0] = max([0, *(cell_len(row[0]) + n for row, n in zip(self.rows, indents, strict=True))])

        def measure(shown: Sequence[int]) -> int:
            widths = [max(headings[place].cell_len, cells[place]) for place in shown]
            if self.min_first is not None:
                widths[0] = max(headings[0].cell_len, min(cells[0], self.min_first))
            return sum(widths) + _GAP * (len(widths) - 1)

        shown = list(range(len(self.columns)))
        for heading in self.optional:
            if measure(shown) <= options.max_width:
                break
            shown = [place for place in shown if self.columns[place] != heading]
        is_tight = measure(shown) > options.max_width
        table = Table(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), collapse_padding=True
        )
        for place in shown:
            is_left = place < self.n_left or place >= len(self.columns) - self.n_last
            text = headings[place]
            if is_tight and not is_left and not self.optional:
                text = Text("\n").join(text.wrap(console, max(cells[place], _MIN_HEADING)))
            may_wrap = place < self.n_left and (place > 0 or is_tight or self.min_first is not None)
            align: Literal["left", "right"] = "left" if is_left else "right"
            table.add_column(text, justify=align, no_wrap=not may_wrap, overflow="fold")
        for number, (row, indent) in enumerate(zip(self.rows, indents, strict=True)):
            texts = [Text(row[place], self.styles.get((number, place), "")) for place in shown]
            table.add_row(Padding(texts[0], (0, 0, 0, indent)), *texts[1:])
        if self.title:
            yield Text(self.title, style="bold")
        yield table
        if left_out := [name for place, name in enumerate(self.columns) if place not in shown]:
            told = (f"{name} {self.facts[name]}" if name in self.facts else name for name in left_out)
            yield Text(f"not shown here: {', '.join(told)}", style="dim")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a table of scores: its cells by heading; without any, a heading of the lines below."""

    name: str
    cells: Mapping[str, str]
    style: str = ""
    indent: int = 0


def _describe(group: Group) -> dict[str, str]:
    """The cells of a group by heading, in the order of the columns; 0 or empty: there is nothing to show."""
    return {
        "n": f"{group.n:,}",
        "score %": format_percent(group.score),
        "95 % interval": format_range(group.ci95),
        _SHRUNK: "" if group.shrunk is None else format_percent(group.shrunk),
        "clusters": f"{group.n_clusters:,}" * (group.n_clusters < group.n_scored),
        "worst–best": format_range(group.bounds) if group.is_bounded_apart else "",
        "chance": format_percent(group.chance),
        **{outcome: f"{group.outcomes[outcome]:,}" for outcome in OUTCOMES},
        "pending": f"{group.pending:,}",
    }


def _draw_rows(
    rows: Sequence[_Row], name_heading: str, *, hidden: frozenset[str], min_name: int | None = None
) -> PlainTable:
    """The columns that have something to show. With `min_name`, the first row has the values left out."""
    shown = [
        heading
        for heading in rows[0].cells
        if heading not in hidden
        if heading in _ALWAYS_SHOWN or any(row.cells.get(heading, "").strip("0.") for row in rows)
    ]
    styles = {
        (number, place): f"{_STYLES.get(heading, '')} {row.style}".strip()
        for number, row in enumerate(rows)
        for place, heading in enumerate(["", *shown])
    }
    return PlainTable(
        columns=[name_heading, *shown],
        rows=[[row.name, *(row.cells.get(heading, "") for heading in shown)] for row in rows],
        indents=[row.indent for row in rows],
        styles=styles,
        optional=_DROP_ORDER,
        min_first=min_name,
        facts={} if min_name is None else {name: rows[0].cells[name] or "—" for name in shown},
    )
