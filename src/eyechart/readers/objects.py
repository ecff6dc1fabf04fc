"""Answers that are objects: the JSON in a reply, compared with a gold object field by field.

A field is a leaf of the gold object, named by its path: `total`, `seller.name`, `items[].qty`. The gold
decides how a field is compared: as a number, an amount, a date, a boolean, a list or a text. The order of
keys, code fences, prose around the object, trailing commas, numbers as text and local dates do not matter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from math import isclose
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from eyechart.readers.mentions.dates import (
    MONTHS,
    Clock,
    Date,
    find_clocks,
    find_dates,
    is_same_clock,
    is_same_date,
)
from eyechart.readers.mentions.numbers import Quantity
from eyechart.readers.mentions.quantities import is_same_quantity, parse_quantity

Status = Literal["right", "wrong", "missing", "extra"]
Kind = Literal["number", "date", "boolean", "text", "ordered"]  # the last one: of a list

_MAX_EXTRA = 100  # fields too many that are listed
_MAX_DEPTH = 60  # of nested values
_MAX_ASSIGNED = 120  # elements without an equal that are assigned to each other; more of them by their order
_ABSENT = frozenset({"", "n/a", "na", "none", "null", "nil", "-", "–", "—", "not available", "not specified"})


@dataclass(frozen=True, slots=True)
class FieldScore:
    """The verdict on every field: those of the gold, then those that the reply has too much.

    `value` is the share of the gold's fields that are right. Extra fields are listed and do not count in it.
    """

    fields: Mapping[str, Status]
    answer: Mapping[str, Any] | None  # the object that was read; None if the reply has none

    @property
    def value(self) -> float:
        n = sum(status != "extra" for status in self.fields.values())
        return sum(status == "right" for status in self.fields.values()) / n if n else 1.0

    @property
    def all_right(self) -> bool:
        return all(status in ("right", "extra") for status in self.fields.values())


def score_object(
    reply: str, gold: Mapping[str, Any], *, kinds: Mapping[str, Kind] | None = None, ordered: bool = False
) -> FieldScore:
    r"""Compare the object in a reply with the gold object.

    `kinds` says how to compare a field, by its path, where the gold's value does not tell: a postal code is
    "text" even if it looks like a number. With `ordered` the order of all lists counts; with the kind
    "ordered" that of one.

    >>> gold = {"total": 1234.5, "date": "2024-03-05", "items": [{"qty": 2}, {"qty": 3}], "vat_id": None}
    >>> reply = '```json\n{"items": [{"qty": 3}, {"qty": "2"}], "total": "1.234,50 €",}\n```'
    >>> score = score_object(reply, gold)
    >>> score.value, score.fields["items[].qty"], score.fields["date"]
    (0.75, 'right', 'missing')
    """
    answer = find_object(reply, gold)
    if answer is None:
        return FieldScore(dict.fromkeys(list_fields(gold), "missing"), None)
    return FieldScore(_compare(gold, answer, kinds or {}, ordered=ordered), answer)


def list_fields(gold: Mapping[str, Any]) -> list[str]:
    """The paths of a gold object's leaves, in order.

    >>> list_fields({"a": 1, "b": {"c": 2}, "d": [{"e": 3}, {"f": 4}], "g": [1, 2], "h": {}})
    ['a', 'b.c', 'd[].e', 'd[].f', 'g', 'h']
    """
    return list(_compare(gold, {}))


def list_absent(gold: Mapping[str, Any]) -> list[str]:
    """The fields that a gold says are absent.

    >>> list_absent({"total": 5, "vat_id": None, "seller": {"phone": ""}})
    ['vat_id', 'seller.phone']
    """
    return [path for path, status in _compare(gold, {}).items() if status == "right"]


def read_object(text: str) -> Mapping[str, Any] | None:
    """The gold object that a text is; None for any other text.

    >>> read_object('{"total": 5}'), read_object("{5, 7}"), read_object("5")
    ({'total': 5}, None, None)
    """
    with suppress(ValueError, RecursionError):
        value = json.loads(text) if text.lstrip().startswith("{") else None
        return value if isinstance(value, dict) and value else None
    return None


def pair_values(
    statuses: Mapping[str, Status], gold: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[tuple[str, Status, Any, Any]]:
    """Every field with its status, its value in the gold and the one that was read, for people.

    >>> list(pair_values({"a.b": "right", "c": "extra"}, {"a": {"b": 1}}, {"A": {"b": "1"}, "c": 2}))
    [('a.b', 'right', 1, '1'), ('c', 'extra', None, 2)]
    """
    wanted, read = _collect_values(gold), _collect_values(answer)
    for path, status in statuses.items():
        key = _normalise_key(path)
        yield path, status, wanted.get(key), read.get(key)


def _collect_values(value: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all leaves by their paths; a list of those that have the same one."""
    found: dict[str, list[Any]] = {}
    for path, one in _list_leaves(value, ""):
        found.setdefault(_normalise_key(path), []).append(one)
    return {path: values if len(values) > 1 else values[0] for path, values in found.items()}


def _list_leaves(value: Mapping[str, Any], prefix: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, one in value.items():
        path = f"{prefix}{key}"
        objects = [one] if isinstance(one, dict) else one if isinstance(one, list) else []
        inner = [item for item in objects if isinstance(item, dict) and item and depth < _MAX_DEPTH]
        for item in inner:
            yield from _list_leaves(item, f"{path}[]." if isinstance(one, list) else f"{path}.", depth + 1)
        if not inner:
            yield path, one


# -- Finding the object


def find_object(text: str, gold: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON object of a reply that shares most keys with the gold; of equals, the last one.

    An object that is cut off is not one. `{"result": {...}}` and a list of one object are unwrapped.
    """
    wanted = {_normalise_key(key) for key in gold}
    values = (parse_lenient(text[start:end]) for start, end in _find_spans(text))
    found = [_unwrap(value, wanted) for value in values if isinstance(value, dict)]
    return max(reversed(found), key=lambda one: _count_shared(one, wanted), default=None)


def _find_spans(text: str) -> Iterator[tuple[int, int]]:
    """The outermost balanced braces, in one pass; quoted texts are skipped if they end on their line."""
    depth = start = at = stray = 0
    for match in _BRACE.finditer(text):
        if match.start() < at:
            continue
        if match[0] == "{":
            start = match.start() if depth == 0 else start
            depth += 1
        elif match[0] == "}":
            depth -= depth > 0
            if depth == 0 and text[start] == "{" and start < match.start():
                yield start, match.end()
                start = match.end() - 1
        elif depth and match.start() >= stray:
            quoted = _QUOTED.match(text, match.start())
            at = quoted.end() if quoted else at
            if quoted is None:  # nor is any other quote of this line the beginning of a text
                stray = text.find("\n", match.start()) % (len(text) + 1)


_BRACE = re.compile(r'[{}"]')
_QUOTED = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


def _unwrap(value: Mapping[str, Any], wanted: set[str]) -> Mapping[str, Any]:
    if len(value) != 1 or _count_shared(value, wanted):
        return value
    [inner] = value.values()
    if isinstance(inner, list) and len(inner) == 1:
        [inner] = inner
    return inner if isinstance(inner, dict) and _count_shared(inner, wanted) else value


def _count_shared(value: Mapping[str, Any], wanted: set[str]) -> int:
    return sum(_normalise_key(key) in wanted for key in value)


def _normalise_key(key: str) -> str:
    """A key without case and separators: `Invoice No.`, `invoice_no` and `invoiceNo` are one.

    >>> _normalise_key("Invoice No."), _normalise_key("invoiceNo")
    ('invoiceno', 'invoiceno')
    """
    kept = "".join(char for char in unicodedata.normalize("NFKC", key) if char.isalnum())
    return (kept or key).casefold()


_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/)){0,999}\*/)"""
    r"""|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|'(?P<single>[^'\\]*(?:\\.[^'\\]*)*)'"""
    r"""|(?P<mark>[{}\[\]:,])|(?P<number>-?(?:0|[1-9]\d{0,399})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?(?![^\s,:{}\[\]"']))"""
    r"""|(?P<word>[^\s,:{}\[\]"']+)""",
    re.DOTALL,
)
_WORDS = {
    "True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null", "NaN": "null",
    **{word: word for word in ("true", "false", "null")},
}  # fmt: skip
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def parse_lenient(text: str) -> Any:
    r"""A JSON value as models write it; None if it cannot be parsed.

    Trailing commas, comments, single quotes, bare keys and Python's words are understood.

    >>> parse_lenient("{'a': True, b: [1, 2,], // two\n}")
    {'a': True, 'b': [1, 2]}
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False)
    pieces, at = [""], 0
    while token := _TOKEN.match(text, at):
        kind, at = token.lastgroup or "", token.end()
        if kind == "mark" and token[0] in "}]" and pieces[-1] == ",":
            pieces.pop()
        if token[0] == ":" and not pieces[-1].startswith('"'):  # a key without quotes
            pieces[-1] = json.dumps(pieces[-1])
        if kind in ("double", "single"):
            pieces.append(json.dumps(_ESCAPE.sub(_unescape, token[kind])))
        elif kind != "skipped":
            is_word = kind == "word"
            pieces.append(_WORDS.get(token[0]) or json.dumps(token[0]) if is_word else token[0])
    with suppress(ValueError, RecursionError):
        return json.loads("".join(pieces)) if at == len(text) else None
    return None


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)


# -- Comparing objects


@dataclass(slots=True)
class _Comparison:
    """Collects the status of every field, by its path."""

    kinds: Mapping[str, Kind]
    ordered: bool
    statuses: dict[str, Status] = field(default_factory=dict)

    def compare(self, gold: Mapping[str, Any], answer: Mapping[str, Any], prefix: str) -> None:
        by_key = {_normalise_key(key): key for key in reversed(list(answer))}
        for key, wanted in gold.items():
            name = key if key in answer else by_key.get(_normalise_key(key), key)
            by_key.pop(_normalise_key(key), None)
            self._compare_field(wanted, answer.get(name), f"{prefix}{key}")
        for key in islice(reversed(by_key.values()), _MAX_EXTRA):
            if not is_absent(answer[key]):
                self.statuses.setdefault(f"{prefix}{key}", "extra")

    def _compare_field(self, gold: Any, said: Any, path: str) -> None:
        if isinstance(gold, dict) and gold:
            self.compare(gold, said if isinstance(said, dict) else {}, f"{path}.")
            if said is not None and not isinstance(said, dict) and not is_absent(said):
                self._mark_wrong(path)
        elif isinstance(gold, list) and any(isinstance(one, dict) and one for one in gold):
            self._compare_objects(gold, said, path)
        else:
            is_right = is_absent(said) if is_absent(gold) else self.is_same(gold, said, path)
            is_missing = is_absent(said) and not is_absent(gold)
            self._note(path, "missing" if is_missing else "right" if is_right else "wrong")

    def is_same(self, gold: Any, said: Any, path: str) -> bool:
        """Whether a value of the reply is the gold's."""
        if isinstance(gold, list):
            return self._is_same_list(gold, said, path)
        if isinstance(said, list) and len(said) == 1 and not isinstance(gold, dict):
            [said] = said
        if isinstance(said, dict | list):  # as such only within lists of lists
            return bool(said == gold)
        return is_same_value(gold, said, self.kinds.get(path))

    def _is_same_list(self, gold: Sequence[Any], said: Any, path: str) -> bool:
        if isinstance(said, str) and len(gold) > 1:
            said = re.split(r"\s*[,;\n]\s*", said.strip())  # a list as text: "red, blue"
        wanted = [one for one in gold if not is_absent(one)]
        values = [one for one in (said if isinstance(said, list) else [said]) if not is_absent(one)]
        if len(values) != len(wanted):
            return False
        inside = f"{path}[]"
        pairs = self._pair(wanted, values, path, lambda one, other: float(self.is_same(one, other, inside)))
        return all(self.is_same(wanted[row], values[column], inside) for row, column in pairs)

    def _compare_objects(self, gold: Sequence[Any], said: Any, path: str) -> None:
        """Objects in a list: each of the gold's with the one that fits best. An object too many is wrong."""
        wanted = [one for one in gold if isinstance(one, dict)]
        values = [one for one in (said if isinstance(said, list) else [said]) if isinstance(one, dict)]

        def compare_items(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Status]:
            return _compare(one, other, self.kinds, ordered=self.ordered, prefix=f"{path}[].")

        def count_right(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
            return sum(status == "right" for status in compare_items(one, other).values())

        taken = dict(self._pair(wanted, values, path, count_right))
        for row, one in enumerate(wanted):
            other = values[taken[row]] if row in taken else {}
            for name, status in compare_items(one, other).items():
                self._note(name, status)
        if len(values) > len(wanted):
            self._mark_wrong(f"{path}[]")

    def _pair(
        self, wanted: Sequence[Any], values: Sequence[Any], path: str, gain: Callable[[Any, Any], float]
    ) -> list[tuple[int, int]]:
        """Elements of two lists that belong together: equal ones first, then by best assignment."""
        if self.ordered or self.kinds.get(path) == "ordered":
            return list(zip(range(len(wanted)), range(len(values)), strict=False))
        places: dict[str, list[int]] = {}
        for column in reversed(range(len(values))):
            places.setdefault(_write(values[column]), []).append(column)
        equal = {row: found.pop() for row, one in enumerate(wanted) if (found := places.get(_write(one)))}
        rows = [row for row in range(len(wanted)) if row not in equal]
        columns = sorted(set(range(len(values))) - set(equal.values()))
        if max(len(rows), len(columns)) > _MAX_ASSIGNED:
            return [*equal.items(), *zip(rows, columns, strict=False)]
        found_pairs = assign([[gain(wanted[row], values[column]) for column in columns] for row in rows])
        return [*equal.items(), *((rows[row], columns[column]) for row, column in found_pairs)]

    def _note(self, path: str, status: Status) -> None:
        """A field that occurs several times is right if it is right everywhere; the worst status counts."""
        before = self.statuses.get(path, "right")
        self.statuses[path] = max(before, status, key=("right", "extra", "missing", "wrong").index)

    def _mark_wrong(self, path: str) -> None:
        for name, status in self.statuses.items():
            if name.startswith(path) and status != "extra":
                self.statuses[name] = "wrong"


def _compare(
    gold: Mapping[str, Any], answer: Mapping[str, Any], kinds: Mapping[str, Kind] = MappingProxyType({}), *,
    ordered: bool = False, prefix: str = "",
) -> dict[str, Status]:  # fmt: skip
    """The status of every field, by its path."""
    comparison = _Comparison(kinds, ordered)
    comparison.compare(gold, answer, prefix)
    return comparison.statuses


def _write(value: Any) -> str:
    return json.dumps(value, sort_keys=True).casefold()


def is_absent(value: Any) -> bool:
    """Whether a value says that there is none.

    >>> [is_absent(value) for value in (None, "", " N/A ", [], {}, 0, False, "no")]
    [True, True, True, True, True, False, False, False]
    """
    is_text = isinstance(value, str)
    return value.strip().casefold() in _ABSENT if is_text else value in (None, [], {})


def assign(gains: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs of rows and columns with the largest sum of gains, each row and column at most once.

    The Hungarian method with potentials (Kuhn 1955, Munkres 1957): cubic in the shorter side.

    >>> assign([[1, 2], [2, 4], [0, 3]])
    [(0, 0), (1, 1)]
    """
    if not gains or not gains[0]:
        return []
    if len(gains) > len(gains[0]):
        flipped = assign([[row[column] for row in gains] for column in range(len(gains[0]))])
        return sorted((row, column) for column, row in flipped)
    n_rows, n_columns = len(gains), len(gains[0])
    of_row, of_column = [0.0] * (n_rows + 1), [0.0] * (n_columns + 1)
    taken_by = [0] * (n_columns + 1)  # the row of each column, from 1; 0: none
    for row in range(1, n_rows + 1):
        taken_by[0], column = row, 0
        least, before = [float("inf")] * (n_columns + 1), [0] * (n_columns + 1)
        seen = [False] * (n_columns + 1)
        while taken_by[column]:
            seen[column] = True
            current, delta, following = taken_by[column], float("inf"), 0
            for other in range(1, n_columns + 1):
                if not seen[other]:
                    cost = -gains[current - 1][other - 1] - of_row[current] - of_column[other]
                    if cost < least[other]:
                        least[other], before[other] = cost, column
                    if least[other] < delta:
                        delta, following = least[other], other
            for other in range(n_columns + 1):
                if seen[other]:
                    of_row[taken_by[other]] += delta
                    of_column[other] -= delta
                else:
                    least[other] -= delta
            column = following
        while column:
            taken_by[column], column = taken_by[before[column]], before[column]
    return sorted((row - 1, column - 1) for column, row in enumerate(taken_by) if row and column)


# -- Comparing values


def is_same_value(gold: Any, said: Any, kind: Kind | None = None) -> bool:
    """Whether two values are the same, compared as the gold's type asks, or as `kind` says.

    >>> is_same_value(1234.5, "1.234,50"), is_same_value("$12", "12.00 USD"), is_same_value("$12", "€12")
    (True, True, False)
    >>> is_same_value("2024-03-05", "5. März 2024"), is_same_value("007", 7), is_same_value(True, "yes")
    (True, False, True)
    """
    if kind == "text":
        return _normalise_text(gold) == _normalise_text(said)
    if kind == "boolean" or isinstance(gold, bool) or str(gold).casefold() in ("true", "false", "yes", "no"):
        truth = _read_boolean(said if not isinstance(said, int | float) else str(said))
        return truth is not None and truth == _read_boolean(gold)
    if isinstance(said, bool):
        return False
    if _normalise_text(gold) == _normalise_text(said):
        return True
    if _CLOCK.fullmatch(f"{gold} {said}"):
        return False  # with both hours in two digits, 04:10 is not 16:10
    is_moment = isinstance(gold, str) and kind in (None, "date")
    if is_moment and (moments := _read_moments(gold.strip()[:_MAX_DATE])):
        read = _read_moments(str(said).strip()[:_MAX_DATE])
        return any(_is_same_moment(one, wanted) for one in read for wanted in moments)
    amounts = [] if kind == "date" else _read_amounts(gold)
    return any(_is_same_amount(one, wanted, str(said)) for one in _read_amounts(said) for wanted in amounts)


_CLOCK = re.compile(r"\d\d:\d\d \d\d:\d\d")
_YES = "true yes y ja oui sí si sim да 是 はい wahr vrai verdadero vero checked x ✓ ☑"
_NO = "false no n nein non não нет 否 いいえ falsch faux falso unchecked ☐"
_TRUTHS = {**dict.fromkeys(_YES.split(), True), **dict.fromkeys(_NO.split(), False)}
_DIGIT_TRUTHS = {"1": True, "0": False, "1.0": True, "0.0": False}


def _read_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    return _TRUTHS.get(value.strip().casefold(), _DIGIT_TRUTHS.get(value.strip()))


def _normalise_text(value: Any) -> str:
    """Text without case, repeated blanks, typographic quotes and a full stop at the end."""
    text = unicodedata.normalize("NFKC", str(value)).translate(_PLAIN)
    return " ".join(text.split()).casefold().removesuffix(".").strip("\"'` ")


_PLAIN = str.maketrans(
    {**dict.fromkeys("‐‑‒–—−", "-"), **dict.fromkeys("‘’‚´", "'"), **dict.fromkeys("“”„«»", '"')}
)


_Moment: TypeAlias = tuple[Date | None, Clock | None]


@lru_cache(maxsize=4096)
def _read_moments(text: str) -> list[_Moment]:
    """The date, time of day or both that a text is, in each way to read it; empty if there is more in it."""
    text = _MONTH_NAME.sub(_spell_month, _COMPACT.sub(r"\1-\2-\3", text))
    dates: Sequence[Date | None] = find_dates(text) or (None,)
    if dates[0] is not None:
        if any(date is None or date.span != dates[0].span or date.month is None for date in dates):
            return []
        text = text[: dates[0].span[0]] + " " + text[dates[0].span[1] :].removeprefix("T")
    text = _MIDNIGHT.sub("", text)
    clocks = find_clocks(text)
    clock = clocks[0] if clocks else None
    if clock is not None:
        text = _SECONDS.sub("", text[: clock.span[0]] + text[clock.span[1] :])
    is_whole = len(text.strip()) <= _MAX_AROUND_DATE and not any(char.isdigit() for char in text)
    return [(date, clock) for date in dates if date or clock] if is_whole and len(clocks) <= 1 else []


def _spell_month(match: re.Match[str]) -> str:
    """`05-Mar-2024`, `5. Dez. 2024`: a month between blanks, its name written out in some language.

    >>> _MONTH_NAME.sub(_spell_month, "5-Dez.-2024")
    '5 dezembro 2024'
    """
    name = match[1].casefold()
    if name not in MONTHS and len(name) > 2:
        found = {place: full for full, place in MONTHS.items() if full.startswith(name)}
        name = next(iter(found.values())) if len(found) == 1 else ""
    return f"{' ' * (match.start() > 0)}{name} " if name in MONTHS else match[0]


_MONTH_NAME = re.compile(r"(?:(?<=\d)|(?<=\d\.)|^)[-/. ]?([^\W\d_]{3,10})\.?[-/ ](?=\d)")
_COMPACT = re.compile(r"^((?:19|20)\d\d)(0[1-9]|1[0-2])([0-3]\d)(?!\d)")


def _is_same_moment(said: _Moment, gold: _Moment) -> bool:
    (date, clock), (gold_date, gold_clock) = said, gold
    if gold_date is not None and (date is None or not is_same_date(date, gold_date)):
        return False
    return gold_clock is None or (clock is not None and is_same_clock(clock, gold_clock))


_MIDNIGHT = re.compile(
    r"[T ,]*(?<![\d:])00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$"
)  # a date as programs print it
_SECONDS = re.compile(r"(?:\.0+)?(?:Z|[+-]00:?00)\s*$")
_MAX_DATE = 100  # characters of a value that may be a date
_MAX_AROUND_DATE = 14  # characters: a weekday, "on", a full stop


_CODE = re.compile(r"\D*0\d")  # digits that begin with 0 are no amount
_ATTACHED = re.compile(r"\d[^\W\d_]")  # "5x" is a name
_OTHER_MARKS = str.maketrans(",.", ".,")
_NO_CENTS = re.compile(r"[.,]-(?!\d)")  # 12,- €
_NEGATIVE = re.compile(r"(.*\d)-|- (\d.*)")  # 12-
_MAX_AMOUNT = 60


def _read_amounts(value: Any) -> list[Quantity]:
    """The number that a value is, with its unit, in each way to read its separators.

    >>> [amount.value for amount in _read_amounts("1.234")], _read_amounts("(12.50)")[0].value
    ([1.234, 1234.0], -12.5)
    """
    if isinstance(value, int | float):
        return [] if isinstance(value, bool) or value != value else [Quantity(float(value), float(value))]
    text = unicodedata.normalize("NFKC", str(value)).translate(_PLAIN).strip()
    if len(text) > _MAX_AMOUNT or _CODE.match(text):
        return []
    text = _NO_CENTS.sub("", text)
    if found := _NEGATIVE.fullmatch(text):
        text = f"-{found[1] or found[2]}"
    amounts = map(parse_quantity, (text, text.translate(_OTHER_MARKS)))
    return [amount for amount in amounts if amount is not None and not amount.bound]


def _is_same_amount(said: Quantity, gold: Quantity, said_as: str) -> bool:
    """Numbers must be equal, with their percent signs. Units and nouns are compared where both have one."""
    if said.units and gold.units:
        return is_same_quantity(said, gold)
    if (said.noun and gold.noun and said.noun != gold.noun) or (said.units and _ATTACHED.search(said_as)):
        return False
    return isclose(said.face, gold.face, rel_tol=1e-9, abs_tol=1e-12)
