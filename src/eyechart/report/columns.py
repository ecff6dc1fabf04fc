"""The columns of a table, and which of them find room.

A table fits itself to the terminal. Where room is short, the columns that matter least are left out, and
a line below says which; names are wrapped only when nothing else is left to give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eyechart.report.summary import Group
from eyechart.types import OUTCOMES, Outcome

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_GAP = 2  # blank columns between two columns
_STYLES = {
    "correct": "green",
    "partial": "yellow",
    "failed": "red",
    "unparsed": "yellow",
    "truncated": "yellow",
}
_ALWAYS_TELLING = frozenset({"n", "score %", "95 % interval"})
# Who goes first when room is short. Right and wrong are what people look for beside the score; failures stay
# to the last, and the interval goes only where the names beside it could no longer be read.
_FIRST_TO_GO = (
    "unscored", "chance", "truncated", "refused", "unparsed", "worst–best", "partial", "pending", "wrong",
    "correct", "failed", "95 % interval",
)  # fmt: skip


def percent(fraction: float | None) -> str:
    """A fraction for people; a dash for none.

    >>> percent(0.7134), percent(None)
    ('71.3', '—')
    """
    return "—" if fraction is None else f"{100 * fraction:.1f}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table; without a group it is a heading."""

    name: str
    group: Group | None
    style: str = ""
    indent: int = 0
    is_chance: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cell: Callable[[Group], str]
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittingTable:
    """A table that chooses its columns when it learns how wide it may be."""

    rows: Sequence[Row]
    name_heading: str
    min_name: int | None = None  # None: a name is not wrapped while a column can go
    is_noting: bool = False  # say below what the columns left out would have shown
    hidden: frozenset[str] = field(default=frozenset())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        columns = [column for column in _COLUMNS if self._is_telling(column)]
        left_out: list[_Column] = []
        for heading in _FIRST_TO_GO:
            if self._width(columns) <= options.max_width:
                break
            left_out += [column for column in columns if column.heading == heading]
            columns = [column for column in columns if column.heading != heading]
        yield self._table(columns, is_tight=self._width(columns) > options.max_width)
        left_out.sort(key=_COLUMNS.index)
        if left_out and self.is_noting and (overall := self.rows[0].group):
            facts = ", ".join(f"{column.heading} {column.cell(overall) or '—'}" for column in left_out)
            yield Text(f"not shown here: {facts}", style="dim")
        elif left_out:
            yield Text("not shown here: " + ", ".join(c.heading for c in left_out), style="dim")

    def _is_telling(self, column: _Column) -> bool:
        if column.heading in self.hidden:
            return False
        if column.heading in _ALWAYS_TELLING:
            return True
        return any(column.cell(row.group).strip("0.") for row in self.rows if row.group)

    def _width(self, columns: Sequence[_Column]) -> int:
        from rich.cells import cell_len

        names = max(cell_len(row.name) + row.indent for row in self.rows) if self.rows else 0
        if self.min_name is not None:
            names = min(names, self.min_name)
        widths = [
            max([cell_len(c.heading), *(cell_len(self._cell(c, row)) for row in self.rows)]) for c in columns
        ]
        return max(names, cell_len(self.name_heading)) + sum(widths) + _GAP * len(columns)

    def _table(self, columns: Sequence[_Column], *, is_tight: bool) -> Table:
        from rich import box
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        table = Table(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), collapse_padding=True
        )
        is_wrapping = is_tight or self.min_name is not None
        table.add_column(Text(self.name_heading), no_wrap=not is_wrapping, overflow="fold")
        for column in columns:
            table.add_column(Text(column.heading), justify="right", no_wrap=True, style=column.style)
        for row in self.rows:
            cells = (Text(self._cell(column, row)) for column in columns)
            table.add_row(Padding(Text(row.name), (0, 0, 0, row.indent)), *cells, style=row.style)
        return table

    def _cell(self, column: _Column, row: Row) -> str:
        if row.group is None:
            return ""
        if row.is_chance:
            return percent(row.group.chance) if column.heading == "score %" else ""
        return column.cell(row.group)


def _outcome_column(outcome: Outcome) -> _Column:
    def cell(group: Group) -> str:
        return f"{group.outcomes[outcome]:,}"

    return _Column(outcome, cell, _STYLES.get(outcome, ""))


_COLUMNS = (
    _Column("n", lambda group: f"{group.n:,}"),
    _Column("score %", lambda group: percent(group.score), "bold"),
    _Column("95 % interval", lambda group: _range(group.ci95)),
    _Column("worst–best", lambda group: _range(group.bounds) if group.is_bounded_apart else ""),
    _Column("chance", lambda group: percent(group.chance), "dim"),
    *map(_outcome_column, OUTCOMES),
    _Column("pending", lambda group: f"{group.pending:,}", "dim"),
)


def _range(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{percent(ends[0])}–{percent(ends[1])}"
