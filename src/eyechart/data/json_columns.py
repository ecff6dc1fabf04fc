"""A table as pandas writes it to JSON by default: an object of columns, each an object of row to value."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.json_file import json_errors, read_bytes
from eyechart.data.rows import OnProblem, Row, raise_problem
from eyechart.errors import DataError


@dataclass(slots=True)
class JsonColumnsReader:
    """Rows of such a file; columns may also be lists. It is read as a whole: its rows stand nowhere alone."""

    path: Path

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table())

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order."""
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
        with json_errors(self.path.name):
            table = msgspec.json.decode(read_bytes(self.path), type=dict[str, dict[str, Any] | list[Any]])
        return {
            name: values if isinstance(values, dict) else {str(at): v for at, v in enumerate(values)}
            for name, values in table.items()
        }
