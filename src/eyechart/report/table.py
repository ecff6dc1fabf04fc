"""Summaries as tables for people: percent with one decimal, and only the columns that say something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from eyechart.model.prices import usd
from eyechart.report.columns import FittingTable, Row, percent
from eyechart.report.live import duration
from eyechart.report.summary import Summary
from eyechart.terminal import one_line
from eyechart.types import Outcome

if TYPE_CHECKING:
    from rich.console import RenderableType

_NO_PART: tuple[Outcome, ...] = ("failed", "unscored")
_MIN_NAME = 22  # a group's name is wrapped to this before a column is left out


def run_table(summary: Summary) -> RenderableType:
    """One run: a row overall, then one for each value of each key it was grouped by."""
    from rich.console import Group as Stack
    from rich.text import Text

    rows = [Row("overall", summary.overall, "bold")]
    rows += [Row(one_line(name), group, "dim", indent=2) for name, group in summary.also.items()]
    outcomes = {outcome for outcome, n in summary.overall.outcomes.items() if n}
    for key, groups in summary.by.items():
        if outcomes == {"unscored"}:  # no answers to score by: a table of dashes
            break
        if _is_told_by_name(key, summary):
            continue
        rows.append(Row(one_line(key), None, "italic"))
        rows += [Row(one_line(value), group, indent=2) for value, group in groups.items()]
    title = Text(f"{one_line(summary.benchmark)} · {one_line(summary.model)}", style="bold")
    table = FittingTable(rows=rows, name_heading="", min_name=_MIN_NAME, is_noting=True)
    return Stack(title, table, *(Text(note, style="dim") for note in _notes(summary)))


def _is_told_by_name(key: str, summary: Summary) -> bool:
    """Whether the same groups stand in the table by their names: those by number say nothing more."""
    by_name = summary.by.get(f"{key.removesuffix('_id')}_name") if key.endswith("_id") else None
    counts = [sorted(group.n for group in groups.values()) for groups in (summary.by[key], by_name or {})]
    return counts[0] == counts[1]


def runs_table(summaries: Iterable[Summary]) -> RenderableType:
    """Several runs side by side: a section a benchmark, in it a row for chance and a row a model."""
    from rich.console import Group as Stack
    from rich.text import Text

    sections: dict[str, list[Summary]] = {}
    for summary in summaries:
        sections.setdefault(summary.benchmark, []).append(summary)
    parts: list[RenderableType] = []
    for benchmark, runs in sections.items():
        if parts:
            parts.append(Text(""))
        parts.append(Text(one_line(benchmark), style="bold"))
        parts.append(FittingTable(rows=_run_rows(runs), name_heading="model", hidden=frozenset({"chance"})))
    return Stack(*parts) if parts else Text("no runs", style="dim")


def to_text(renderable: RenderableType, width: int = 100, color: bool = False) -> str:
    """Any renderable as text, the same on every machine.

    >>> from rich.text import Text
    >>> to_text(Text("[red] is text", style="bold"))
    '[red] is text'
    """
    import io

    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        _environ={},  # the caller decides, not NO_COLOR or COLUMNS
    )
    with console.capture() as caught:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in caught.get().splitlines())


def _run_rows(runs: Sequence[Summary]) -> list[Row]:
    """Chance first, as the floor to read the scores by: that of the run with most samples."""
    rows: list[Row] = []
    largest = max(runs, key=lambda run: run.n)
    if largest.overall.chance is not None:
        rows.append(Row("(chance)", largest.overall, "dim", is_chance=True))
    names = [run.model for run in runs]
    for run in runs:
        # Two runs of one model differ in their settings, and so in their folders.
        folder = (
            run.run.replace("\\", "/").rstrip("/").rpartition("/")[2] if names.count(run.model) > 1 else ""
        )
        rows.append(Row(one_line(f"{run.model} ({folder})" if folder else run.model), run.overall))
        rows += [Row(one_line(name), group, "dim", indent=2) for name, group in run.also.items()]
    return rows


def _notes(summary: Summary) -> Iterator[str]:
    """What the table cannot show, a line each."""
    overall = summary.overall
    if overall.coverage is not None and overall.coverage < 1:
        left = {name: overall.outcomes[name] for name in _NO_PART} | {"pending": overall.pending}
        told = ", ".join(f"{n:,} {name}" for name, n in left.items() if n)
        yield f"coverage {percent(overall.coverage)} %: the score leaves out {told}"
    if trials := summary.trials:
        over = f"{percent(trials.mean)} ± {percent(trials.std)} over {trials.k} trials"
        yield f"score {over}; outcomes count sample-trials"
    if summary.scorer:
        parity = f", parity: {summary.parity}" if summary.parity else ""
        yield one_line(f"scorer {summary.scorer}{parity}")
    if spent := " · ".join(_spent(summary)):
        yield spent


def _spent(summary: Summary) -> Iterator[str]:
    requests, tokens = summary.requests, summary.tokens
    if any(requests.values()):
        extras = [f"{requests[name]:,} {name}" for name in ("retried", "cached") if requests.get(name)]
        extras += [f"{requests['judge']:,} more to the judge"] if requests.get("judge") else []
        sent = requests.get("sent", 0)
        yield f"{sent:,} request{'s' * (sent != 1)}" + (f" ({', '.join(extras)})" if extras else "")
    if any(tokens.values()):
        judged = sum(tokens.get(name, 0) for name in ("judge_prompt", "judge_completion"))
        more = f" ({judged:,} more at the judge)" if judged else ""
        yield f"{tokens.get('prompt', 0):,} tokens in, {tokens.get('completion', 0):,} out{more}"
    if summary.cost is not None:
        n = _n_answered(summary)
        each = f" ({usd(summary.cost / n)} per sample)" if summary.n > 1 and n else ""
        is_shared = summary.paid is not None and requests.get("cached")
        paid = f", of which {usd(summary.paid or 0)} paid by this run" if is_shared else ""
        yield f"{usd(summary.cost)} USD{each}{paid}"
    if summary.seconds:
        yield duration(summary.seconds)


def _n_answered(summary: Summary) -> float:
    """Samples that have a reply, in part where only some of their trials have; the others cost nothing."""
    overall = summary.overall
    n_done = sum(overall.outcomes.values())
    n_all = n_done + overall.pending
    return summary.n * (n_done - overall.outcomes.get("failed", 0)) / n_all if n_all else 0.0
