"""Common column names besides those of published files, and where a table's header is.

The names of columns.py (`question`, `answer`, ...) take precedence. If they are missing, these are tried:
first the names with one meaning ("Question text", "Frage"), then those that could be something else
("prompt", "text"). Two candidates are refused, with the flag that decides.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

# Field to names: those that say it, and those that may mean it.
FURTHER: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    field: (frozenset(names["certain"]), frozenset(names["possible"]))
    for field, names in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}

_CAMEL = re.compile(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])")
_BLANKS = re.compile(r"[\s_.\-/]+")
_REMARK = re.compile(r"\s*[(\[][^()\[\]]{0,80}[)\]]\s*$")
_OPTION = re.compile(
    r"(?:option|optionen|opcion|opción|opzione|choice|opt|ans|answer|antwort|réponse|respuesta|选项|auswahl)?_?"
    r"([a-h]|[1-9])"
)
_NAMED_OPTION = re.compile(r"(?:option|choice|opt)_?(?:[a-h]|[1-9])")  # answer_1 may be a person's answer


def normalise_name(column: str) -> str:
    """A column's name for comparison: case, blanks, punctuation and a remark in brackets are ignored.

    >>> normalise_name("Question Text:"), normalise_name("correctAnswer"), normalise_name("Bild (Datei)")
    ('question_text', 'correct_answer', 'bild')
    """
    name = _REMARK.sub("", column.strip().lstrip("\ufeff")).rstrip(":?*# ").lstrip("*# ")
    return _BLANKS.sub("_", _CAMEL.sub("_", name)).strip("_").casefold()


def find_candidates(target: str, columns: Sequence[str]) -> list[str]:
    """The columns that may be a field: those whose names say so, or else those that may mean it.

    >>> find_candidates("question", ["Nr", "Prompt", "Frage"]), find_candidates("answer", ["gt", "label"])
    (['Frage'], ['gt', 'label'])
    """
    plain = {column: normalise_name(column.rstrip(". ").rpartition(".")[2]) for column in columns}
    certain, possible = ([one for one in columns if plain[one] in names] for names in FURTHER[target])
    return certain or possible


def find_option_columns(columns: Sequence[str], *, only_named: bool = False) -> dict[str, str]:
    """Letter to column for ``Option A`` or ``choice_2`` and the like; empty unless they begin with A or 1.

    `only_named`: only columns whose names say option or choice.

    >>> find_option_columns(["Option A", "Option B", "Answer"]), find_option_columns(["choice 1", "choice 2"])
    ({'A': 'Option A', 'B': 'Option B'}, {'A': 'choice 1', 'B': 'choice 2'})
    """
    found: dict[str, str] = {}
    for column in columns:
        name = normalise_name(column)
        match = _OPTION.fullmatch(name)
        # A column called 1 is not an option by its name.
        if match is None or name.isdigit() or (only_named and not _NAMED_OPTION.fullmatch(name)):
            continue
        letter = "ABCDEFGHI"[int(match[1]) - 1] if match[1].isdigit() else match[1].upper()
        if letter in found:
            return {}  # Option A and choice 1: unclear
        found[letter] = column
    expected = "ABCDEFGHI"[: len(found)]
    return dict(sorted(found.items())) if len(found) > 1 and set(found) == set(expected) else {}


# -- The header of a table


class Header(msgspec.Struct, frozen=True):
    """The names of the columns; `above` rows precede it, and it has `n_rows` rows itself."""

    names: tuple[str, ...]
    above: int = 0
    n_rows: int = 1

    def describe(self) -> list[str]:
        """A remark on where it is, unless it is the first row."""
        first, last = self.above + 1, self.above + self.n_rows
        rows = f"row {last}" if self.n_rows == 1 else f"rows {first} and {last}"
        return [f"the header is in {rows}"] if last > 1 else []


_SEARCHED_ROWS = 20
_MAX_NAME_CHARS = 80

Cells = Sequence[str | None]
NamesQuestion = Callable[[Sequence[str]], bool]  # whether these are the names of the columns that are sought


def find_header(rows: Sequence[Cells], names_question: NamesQuestion) -> Header:
    """The header among the first rows: the first one that names a question, below titles at most.

    A title has at most half as many cells as the header. Where no row names a question it is the first row.
    A header of two rows has groups above ("Options" over A, B and C, merged or followed by empty cells).

    >>> rows = [["Our test", None, None], ["Question", "Options", None], [None, "A", "B"], ["?", "I", "we"]]
    >>> find_header(rows, lambda names: "Question" in names)
    Header(names=('Question', 'A', 'B'), above=1, n_rows=2)
    """
    filled = [sum(1 for cell in row if cell and cell.strip()) for row in rows[:_SEARCHED_ROWS]]
    at = next(
        (
            number
            for number, row in enumerate(rows[:_SEARCHED_ROWS])
            if filled[number] > 1
            and all(len(cell or "") <= _MAX_NAME_CHARS for cell in row)
            and all(2 * n <= filled[number] for n in filled[:number])
            and names_question([cell or "" for cell in row])
        ),
        None,
    )
    if at is None:
        at = next((number for number, n in enumerate(filled) if n), 0)
        return Header(_fill_names(rows[at] if rows else ()), at)
    below = rows[at + 1] if at + 1 < len(rows) else ()
    if _is_second_header(rows[at], below):
        return Header(_fill_names(_join_headers(rows[at], below)), at, 2)
    return Header(_fill_names(rows[at]), at)


def _is_second_header(upper: Cells, lower: Cells) -> bool:
    """Whether a row only divides columns of the row above: it has cells below groups, and nowhere else."""
    below = [*lower, *[None] * (len(upper) - len(lower))]
    is_grouped = in_group = False
    for index, cell in enumerate(upper):
        if cell:
            in_group = index + 1 < len(upper) and not upper[index + 1] and bool(below[index])
            is_grouped |= in_group
        if bool(below[index]) != in_group or len(below[index] or "") > _MAX_NAME_CHARS:
            return False
    return is_grouped


def _join_headers(upper: Cells, lower: Cells) -> list[str]:
    names: list[str] = []
    group = ""
    for cell, below in zip_longest(upper, lower[: len(upper)], fillvalue=None):
        group = cell or group
        below = below or ""
        names.append(f"{group} {below}" if below.strip().isdigit() else below or cell or "")
    return names


def _fill_names(cells: Cells) -> tuple[str, ...]:
    """Names as pandas gives them: a column without one is ``Unnamed: 3``."""
    return tuple(cell if cell else f"Unnamed: {index}" for index, cell in enumerate(cells))
