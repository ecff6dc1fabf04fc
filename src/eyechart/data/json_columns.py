"""A table as pandas writes it to JSON by default: an object of columns, each an object of row to value.

Or, with ``orient="split"``: the names of the columns, and the rows as lists of cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.json_file import json_errors, read_bytes
from eyechart.data.rows import OnProblem, Row, raise_problem
from eyechart.errors import DataError

SPLIT = frozenset({"columns", "index", "data"})


class _Split(msgspec.Struct, frozen=True):
    columns: list[str]
    data: list[list[Any]]


@dataclass(slots=True)
class JsonColumnsReader:
    """Rows of such a file; columns may also be lists. It is read as a whole: its rows stand nowhere alone."""

    path: Path

    def columns(self) -> tuple[str, ...]:
        return tuple(self._table())

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        table = self._table()
        first, column = next(iter(table.items()))
        for number, key in enumerate(column, start=1):
            for name, values in table.items():
                if key not in values or len(values) != len(column):
                    raise DataError(
                        f"{self.path.name}: the columns {first!r} and {name!r} have other rows",
                        hint="a table in JSON needs every row in every column; a list of records does not",
                    )
            yield Row(number, 0, {name: values[key] for name, values in table.items()})

    def _table(self) -> dict[str, dict[str, Any]]:
        text = read_bytes(self.path)
        with json_errors(self.path.name):
            table = msgspec.json.decode(text, type=dict[str, dict[str, Any] | list[Any]])
            if table.keys() == SPLIT:
                return self._joined(msgspec.convert(table, _Split))
        return {
            name: values if isinstance(values, dict) else {str(at): v for at, v in enumerate(values)}
            for name, values in table.items()
        }

    def _joined(self, found: _Split) -> dict[str, dict[str, Any]]:
        """The columns of a table whose names and rows stand apart."""
        names = found.columns
        if len(set(names)) != len(names):
            raise DataError(f"{self.path.name}: a column is named more than once", hint="rename one of them")
        for number, cells in enumerate(found.data, start=1):
            if len(cells) != len(names):
                raise DataError(
                    f"{self.path.name}: row {number}: {len(cells)} cells where there are {len(names)} columns"
                )
        return {
            name: {str(at): cells[column] for at, cells in enumerate(found.data)}
            for column, name in enumerate(names)
        }
