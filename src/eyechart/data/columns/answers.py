"""Options and answers of a row: every form in which files write them.

Options are columns, a list, an object, or one text with or without letters. Answers are a letter, the text of
an option, the number of an option, a text, a list of accepted texts, or an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.files.rows import Blob, Row, read_literal
from eyechart.errors import DataError, UsageError, join_names
from eyechart.types import ImageRef


def read_choices(
    letters: Mapping[str, str],
    values: Mapping[str, Any],
    take: Callable[[str], Any],
    where: str,
    separator: str = "",
) -> tuple[dict[str, str], str]:
    """Options by letter, and the block they are in if the file has its own letters."""
    lettered = {letter: to_text(values.get(column)) for letter, column in letters.items()}
    if lettered := {letter: text for letter, text in lettered.items() if text}:
        return lettered, ""
    value = take("options")
    literal = read_literal(value) if isinstance(value, str) else value
    if isinstance(literal, list):
        return _list_choices([_option(item, where) for item in literal], where), ""
    if isinstance(literal, dict):
        return read_lettered_choices(literal, lambda item: _option(item, where)), ""
    if not isinstance(value, str):
        return {}, ""
    if separator and separator in value and "\n" not in value.strip():
        texts = [part.strip() for part in value.split(separator)]
        return _list_choices([text for text in texts if text], where), ""
    if choices := parse_choices(value):
        return choices, value
    # Options without capital letters: ours are added, so the block is not sent as it is.
    if choices := parse_small_letters(value):
        return choices, ""
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    texts = parse_numbered(value) or (lines if len(lines) > 1 else [])
    return (_list_choices(texts, where), "") if texts else ({}, value)


def _option(value: Any, where: str) -> str:
    hint = 'write a list of texts, or an object of letters and texts: {"A": "left", "B": "right"}'
    return read_plain(value, f"{where}: an option", hint)


def _list_choices(texts: list[str], where: str) -> dict[str, str]:
    if len(texts) > len(LETTERS):
        raise DataError(f"{where}: {len(texts)} options", hint=f"at most {len(LETTERS)} are supported")
    return label_choices(texts)


def read_golds(value: Any, *, spells_lists: bool = True) -> tuple[str, ...]:
    """The accepted answers of a cell: one text, a list, or annotations as VQA and SQuAD publish them.

    `spells_lists`: a text may spell such a list.

    >>> read_golds(["12", 12]), read_golds([{"answer": "net", "answer_id": 1}, {"answer": "mesh"}])
    (('12', '12'), ('net', 'mesh'))
    """
    if isinstance(value, str) and spells_lists:
        literal = read_literal(value)
        items = literal if isinstance(literal, list) else [literal]
        if literal is not None and all(isinstance(_unwrap(item), str | int | float) for item in items):
            value = literal
    value = _unwrap(value)
    given = map(_unwrap, value) if isinstance(value, list) else (value,)
    return tuple(text for item in given if (text := to_text(item)))


def trim_golds(golds: tuple[str, ...]) -> tuple[str, ...]:
    """Golds without the blanks that spreadsheets leave around them. Official programs compare with them.

    >>> trim_golds(("B ", " ", "left side"))
    ('B', 'left side')
    """
    return tuple(text for gold in golds if (text := gold.strip()))


def _unwrap(item: Any) -> Any:
    """The answer of one annotation; anything else as it is."""
    if isinstance(item, dict) and ("answer" in item or {"text", "answer_start"} <= item.keys()):
        return item["answer"] if "answer" in item else item["text"]
    return item


_COMMA_NUMBER = re.compile(r"([+-]?)([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)(?:,([0-9]+))?(\s?\D{0,12})")


def write_with_point(text: str) -> str:
    """A number with a decimal comma, with a point instead; any other text as it is.

    >>> write_with_point("1.234,50 €"), write_with_point("3,5"), write_with_point("rot, blau")
    ('1234.50 €', '3.5', 'rot, blau')
    """
    match = _COMMA_NUMBER.fullmatch(text.strip())
    if match is None or ("." not in match[2] and match[3] is None):
        return text
    sign, whole, part, unit = match.groups()
    return f"{sign}{whole.replace('.', '')}{'.' + part if part else ''}{unit}"


# "(B)" and "B." mean B, and so do "Option B" and, if it is the text of B, "B) blue".
_MARKED_LETTER = re.compile(
    r"(?:(?:option|choice|answer|antwort|réponse|opción|respuesta|opzione)\s{1,3})?[(\[]?([a-z])[)\].:]{0,2}",
    re.IGNORECASE,
)
_LETTER_AND_TEXT = re.compile(r"[(\[]?([A-Za-z])(?:[)\].:]{1,2}|\s[-–])\s*(\S.*)", re.DOTALL)


def as_letters(
    golds: tuple[str, ...],
    choices: Mapping[str, str],
    first_option: int | None = None,
) -> tuple[str, ...]:
    """Golds as letters: the text of one option becomes its letter, and so does an option's number."""
    if not choices:
        return golds
    letters = []
    for gold in golds:
        number = None if first_option is None else _read_option_number(gold)
        at = -1 if number is None else number - (first_option or 0)
        is_number = 0 <= at < len(choices)
        letters.append(list(choices)[at] if is_number else _find_letter(gold, choices) or gold)
    return tuple(letters)


def _find_letter(gold: str, choices: Mapping[str, str]) -> str:
    """The letter that a gold means: its own, or that of the one option with this text; empty if none."""
    if gold in choices:
        return gold
    same = [letter for letter, text in choices.items() if text == gold]
    if not same:
        marked, written = _MARKED_LETTER.fullmatch(gold.strip()), _LETTER_AND_TEXT.fullmatch(gold.strip())
        if marked and len(gold.strip()) > 1 and marked[1].upper() in choices:
            return marked[1].upper()
        if written and _fold(choices.get(written[1].upper(), "")) == _fold(written[2]):
            return written[1].upper()
        same = [letter for letter, text in choices.items() if _fold(text) == _fold(gold)]
    return same[0] if len(same) == 1 else ""


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def to_text(value: Any) -> str:
    """A value as text: 3 is "3", true is "true", null is empty, a list is its JSON.

    >>> from datetime import datetime
    >>> to_text(3), to_text(True), to_text(["a"]), to_text(datetime(2024, 3, 5))
    ('3', 'true', '["a"]', '2024-03-05')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Blob):
        return value.data.decode("utf-8", "replace")
    if isinstance(value, list | tuple | Mapping | ImageRef):
        return msgspec.json.encode(value, enc_hook=str).decode()
    text = str(value)  # a date, a time, a decimal number
    return text.removesuffix(" 00:00:00") if isinstance(value, datetime) else text


def read_plain(value: Any, what: str, hint: str) -> str:
    """A value as text; a list or an object is refused."""
    if isinstance(value, list | dict):
        raise DataError(f"{what} is not text: {to_text(value)[:60]}", hint=hint)
    return to_text(value)


def find_value(rows: Sequence[Row], columns: Sequence[str]) -> Any:
    """The first value that is not empty, in these columns of these rows."""
    return next((row.values[name] for row in rows for name in columns if row.values.get(name)), None)


# -- Options as benchmarks write them
#
# Seen in the wild: ``(A) rubber``, ``A. left``, ``A.27B``, ``A) red``, ``A: red``, ``A、红``,
# ``A Cast iron``, leading blanks, two options on one line, a line break inside an option, a letter that is
# used twice.

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROTATION_OFFSET = 1_000_000  # as published: rotation i of a numbered question is its index plus i times this

# How a letter can be marked; the style that finds most letters, from A on, is used.
_STYLES = ("({})", "（{}）", "[{}]", "{}.", "{}．", "{})", "{}）", "{}:", "{}：", "{}、")
_BARE = re.compile(r"([A-Z])[ \t]+(\S.*)", re.DOTALL)


def parse_choices(block: str) -> dict[str, str]:
    r"""Letter to text for a block of options; empty if it has no letters.

    >>> parse_choices("A.27B\nB.37B")
    {'A': '27B', 'B': '37B'}
    >>> parse_choices("A. Bright gold  B. Matte black \nC. Bluish-green")
    {'A': 'Bright gold', 'B': 'Matte black', 'C': 'Bluish-green'}
    """
    found = (_parse_marked(block, style) for style in _STYLES if style.format("A") in block)
    best = max(found, key=len, default={})
    return best if len(best) > 1 else _parse_bare(block) or best


def parse_small_letters(block: str) -> dict[str, str]:
    r"""The same for options marked by small letters: ``a) red``, ``(a) red``, or lines with ``a. red``.

    >>> parse_small_letters("a) red b) blue"), parse_small_letters("a. red\nb. blue")
    ({'A': 'red', 'B': 'blue'}, {'A': 'red', 'B': 'blue'})
    """
    styles = ("({})", "{})", "{}.", "{}:") if "\n" in block.strip() else ("({})", "{})")
    found = (_parse_marked(block, style, LETTERS.lower()) for style in styles if style.format("a") in block)
    best = max(found, key=len, default={})
    return {letter.upper(): text for letter, text in best.items()} if len(best) > 1 else {}


_NUMBERED_LINE = re.compile(r"\(?([0-9]{1,2})[.):](?![0-9])\s*(\S.*)")
_NUMBER_IN_LINE = re.compile(r"(?:^|(?<=\s))\(?([0-9]{1,2})\)\s+")


def parse_numbered(block: str) -> list[str]:
    r"""The options of a block that counts them from 1, one per line or in one; empty for other blocks.

    >>> parse_numbered("1. red\n2. blue"), parse_numbered("1) red 2) blue"), parse_numbered("1.5\n2.5")
    (['red', 'blue'], ['red', 'blue'], [])
    """
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    before, *parts = _NUMBER_IN_LINE.split(block.strip())
    marked = [("", "")] if before else list(zip(parts[::2], parts[1::2], strict=True))
    if len(lines) != 1:
        matches = [_NUMBERED_LINE.fullmatch(line) for line in lines]
        marked = [(match[1], match[2]) if match else ("", "") for match in matches]
    is_counted = len(marked) > 1 and [int(one or 0) for one, _ in marked] == [*range(1, len(marked) + 1)]
    return [text.strip() for _, text in marked] if is_counted else []


def _parse_marked(block: str, style: str, letters: str = LETTERS) -> dict[str, str]:
    at_line_start = {
        letter: [match.span() for match in _find_marks(style, letter, r"^\s*").finditer(block)]
        for letter in letters
        if style.format(letter) in block
    }
    marks: list[tuple[str, int, int]] = []
    position = 0
    for index, letter in enumerate(letters):
        span = next((span for span in at_line_start.get(letter, ()) if span[0] >= position), None)
        if span is None and _may_be_inline(block, at_line_start, letters[index + 1 :], position):
            match = _find_marks(style, letter, r"(?<=\s)").search(block, position)
            span = match.span() if match else None
        if span is None:
            break
        marks.append((letter, *span))
        position = span[1]
    return _texts(block, marks, at_line_start)


def _find_marks(style: str, letter: str, before: str) -> re.Pattern[str]:
    return re.compile(before + re.escape(style.format(letter)), re.MULTILINE)


def _may_be_inline(
    block: str, at_line_start: Mapping[str, Sequence[tuple[int, int]]], later: str, position: int
) -> bool:
    """Whether a letter may be in the middle of a line.

    Only if a later letter begins a line, or the block is one line: the E in "D. Vitamin E. coli" is not an
    option.
    """
    if "\n" not in block.strip():
        return True
    return any(begin >= position for letter in later for begin, _ in at_line_start.get(letter, ()))


def _texts(
    block: str, marks: Sequence[tuple[str, int, int]], at_line_start: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[str, str]:
    ends = [begin for _, begin, _ in marks[1:]] + [len(block)]
    choices = {}
    for (letter, _, begin), end in zip(marks, ends, strict=False):
        # A repeated letter keeps its first text; the block itself is sent unchanged.
        repeats = [start for start, _ in at_line_start.get(letter, ()) if begin < start < end]
        choices[letter] = block[begin : min([end, *repeats])].strip()
    return choices


def _parse_bare(block: str) -> dict[str, str]:
    """``A Cast iron``: accepted only if every line begins with the next letter."""
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    found = [match for line in lines if (match := _BARE.fullmatch(line))]
    is_counted = [match[1] for match in found] == [*LETTERS[: len(lines)]]
    return {match[1]: match[2].strip() for match in found} if is_counted and len(lines) > 1 else {}


def label_choices(texts: Sequence[str | None]) -> dict[str, str]:
    """Letters for a list of options, by position; an empty entry is a missing option.

    The caller makes sure that there are enough letters.

    >>> label_choices(["cat", "dog"]), label_choices(["A) cat", "B) dog"])
    ({'A': 'cat', 'B': 'dog'}, {'A': 'cat', 'B': 'dog'})
    """
    lettered = dict(zip(LETTERS, texts, strict=False))
    return {letter: text for letter, text in _strip_prefixes(lettered).items() if text}


def _strip_prefixes(lettered: Mapping[str, str | None]) -> Mapping[str, str | None]:
    texts = {letter: (text or "").strip() for letter, text in lettered.items()}
    for style in _STYLES if len(lettered) > 1 else ():
        marks = {letter: style.format(letter) for letter in lettered}
        if all(text.startswith(marks[letter]) for letter, text in texts.items()):
            return {letter: text.removeprefix(marks[letter]).lstrip() for letter, text in texts.items()}
    return lettered


def read_lettered_choices(options: Mapping[str, Any], to_text: Callable[[Any], str]) -> dict[str, str]:
    """Letters as the file gives them, in its order; an empty text is a missing option."""
    texts = {str(letter): to_text(text) for letter, text in options.items()}
    return {letter: text for letter, text in texts.items() if text}


# -- Options in one text, and answers that are numbers of options

_SEPARATORS = ("|", ";", " / ", ",")
_MAX_FURTHER_ROWS = 2000


def find_separator(rows: Sequence[Row], fields: Mapping[str, tuple[str, ...]]) -> str:
    """What separates options that have no letters: the same in all rows, with the answer among the parts.

    The answer is the text of a part, its number or its letter.
    """
    blocks: list[tuple[str, tuple[str, ...]]] = []
    for row in rows:
        block = find_value([row], fields["options"])
        if block is None:
            continue
        is_listed = not isinstance(block, str) or read_literal(block) is not None or "\n" in block.strip()
        if is_listed or parse_choices(block) or parse_small_letters(block) or parse_numbered(block):
            return ""
        blocks.append((block, read_golds(find_value([row], fields.get("answer", ())))))
    for separator in _SEPARATORS if blocks else ():
        parts = [[part.strip() for part in block.split(separator)] for block, _ in blocks]
        is_usual = separator in ("|", ";") or all(
            _is_among(gold.strip(), one)
            for one, (_, golds) in zip(parts, blocks, strict=True)
            for gold in golds
        )
        if is_usual and all(len(one) > 1 for one in parts):
            return separator
    return ""


def _is_among(gold: str, parts: Sequence[str]) -> bool:
    marked = _MARKED_LETTER.fullmatch(gold)
    number = _read_option_number(gold)
    is_letter = marked is not None and marked[1].upper() in LETTERS[: len(parts)]
    return gold in parts or is_letter or (number is not None and number <= len(parts))


def find_first_option(
    path: Path,
    fields: Mapping[str, tuple[str, ...]],
    letters: Mapping[str, str],
    separator: str,
    rows: Sequence[Row],
    further: Iterable[Row],
) -> int | None:
    """Whether answers are numbers of options, counted from 0 or from 1; None: they are letters or texts.

    An answer that is the letter or the text of an option settles that they are not numbers.
    """
    if "answer" not in fields or not (letters or "options" in fields):
        return None
    block = find_value(rows, fields.get("options", ()))
    is_numbered = isinstance(block, str) and bool(parse_numbered(block))
    lowest, highest_of_row, n = 1, False, 0
    for row in chain(rows, islice(further, _MAX_FURTHER_ROWS)):

        def take(target: str, row: Row = row) -> Any:
            return find_value([row], fields.get(target, ()))

        try:
            choices, _ = read_choices(letters, row.values, take, "", separator)
        except DataError:  # reported when the row is read
            continue
        given = (row.values[name] for name in fields["answer"] if row.values.get(name) not in (None, ""))
        for answer in read_golds(next(given, None)) if choices else ():
            number = _read_option_number(answer)
            if number is None or number > len(choices) or _find_letter(answer, choices):
                return None
            n += 1
            lowest = min(lowest, number)
            highest_of_row |= number == len(choices)
        if n and (lowest == 0 or highest_of_row) and n >= len(rows):
            break
    if not n or (lowest == 0 and highest_of_row):
        return None
    if lowest == 0 or highest_of_row or is_numbered:
        return min(lowest, 1)
    what = f"{path.name}: answers are numbers of options, but nothing shows whether the first one is 0 or 1"
    raise DataError(what, hint="--first-option 0 or --first-option 1")


def _read_option_number(text: str) -> int | None:
    text = text.strip().removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else None


# -- Golds that are objects: read from a cell, or built from columns as a JSON schema says (``--fields``)

COLUMN = "fields"  # its cells are golds, if they are objects
_KINDS = {"string": "text", "number": "number", "integer": "number", "boolean": "boolean"}
_FORMATS = {"date": "date", "date-time": "date", "time": "date", "amount": "number"}
_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_HINT = 'write {"properties": {"total": {"type": "number"}, "date": {"type": "string", "format": "date"}}}'
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?")


class FieldSchema(msgspec.Struct, frozen=True):
    """The fields of a JSON schema: the rule of each property, and how to compare each field by its path."""

    text: str
    properties: Mapping[str, Mapping[str, Any]]
    kinds: Mapping[str, str]


def read_schema(given: str) -> FieldSchema:
    """Read a JSON schema from a file, or from the text itself.

    >>> schema = read_schema('{"properties": {"zip": {"type": "string"}, "tags": {"type": "array"}}}')
    >>> list(schema.properties), schema.kinds
    (['zip', 'tags'], {'zip': 'text'})
    """
    is_text = given.lstrip().startswith("{")
    name = "--fields" if is_text else f"--fields {given}"
    try:
        text = given if is_text else Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as err:
        hint = "give a JSON schema, as a file or as text; a column is named with --field"
        raise UsageError(f"{name}: cannot be read: {err}", hint=hint) from err
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as err:
        raise UsageError(f"{name}: not JSON: {err}", hint=_HINT) from err
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not properties:
        raise UsageError(f"{name}: not a JSON schema of an object with properties", hint=_HINT)
    kinds = _list_kinds({"type": "object", "properties": properties}, "", name)
    return FieldSchema(text, properties, dict(kinds))


def _list_kinds(rule: Any, path: str, name: str) -> Iterator[tuple[str, str]]:
    """How to compare the field at a path, or the fields inside it."""
    if not isinstance(rule, dict):
        raise UsageError(f"{name}: the property {path!r} is not an object", hint=_HINT)
    kind = _get_type(rule, path, name)
    if kind == "object" and isinstance(rule.get("properties"), dict):
        for key, inner in rule["properties"].items():
            yield from _list_kinds(inner, f"{path}.{key}" if path else key, name)
    elif kind == "array":
        if rule.get("ordered") is True:
            yield path, "ordered"
        if "items" in rule:
            yield from _list_kinds(rule["items"], f"{path}[]", name)
    elif found := _FORMATS.get(str(rule.get("format")), _KINDS.get(kind)):
        yield path, found


def _get_type(rule: Mapping[str, Any], path: str, name: str) -> str:
    """The type of a property without null; empty if there is none or if there are several."""
    given = rule.get("type", [])
    types = [one for one in (given if isinstance(given, list) else [given]) if one != "null"]
    if unknown := [str(one) for one in types if one not in _TYPES]:
        hint = f"known types: {', '.join(_TYPES)}, null"
        raise UsageError(f"{name}: the property {path!r} has the unknown type {unknown[0]!r}", hint=hint)
    return types[0] if len(types) == 1 else ""


class ObjectGolds(msgspec.Struct, frozen=True):
    """Reads golds that are objects. `columns`: from properties to the columns that golds are built from."""

    column: str = ""  # of objects, besides that of answers
    schema: FieldSchema | None = None
    columns: Mapping[str, str] = {}

    def read(self, answer: Any, values: Mapping[str, Any], used: set[str]) -> dict[str, Any] | None:
        """The gold object of a row; None if it has none. Columns that it is made of are added to `used`."""
        gold = read_gold_object(values.get(self.column)) if self.column else None
        used.update([self.column] if gold else ())
        gold = gold or read_gold_object(answer)
        if self.schema is None:
            return gold
        used.update(self.columns.values())
        if gold is None:
            rules = self.schema.properties
            gold = {
                name: _read_cell(values.get(column), rules[name]) for name, column in self.columns.items()
            }
            if all(value in (None, "") for value in gold.values()):
                return None
        return {name: gold.get(name) for name in self.schema.properties}


def read_gold_object(value: Any) -> dict[str, Any] | None:
    """An object, also as text; None for anything else, and for an annotation of one answer.

    >>> read_gold_object('{"total": 5}'), read_gold_object({"answer": "net", "answer_id": 1})
    ({'total': 5}, None)
    """
    found = read_literal(value) if isinstance(value, str) else value
    if not isinstance(found, dict) or not found or not all(isinstance(key, str) for key in found):
        return None
    is_annotation = "answer" in found and all("answer" in key for key in found)
    return None if is_annotation or {"text", "answer_start"} <= found.keys() else found


def _read_cell(value: Any, rule: Mapping[str, Any]) -> Any:
    """A cell as the type of its property: numbers, and lists that are written as text."""
    if not isinstance(value, str):
        return value
    kind, text = _get_type(rule, "", ""), value.strip()
    if kind in ("number", "integer") and _NUMBER.fullmatch(text):
        return msgspec.json.decode(text)
    if kind in ("array", "object") and text:
        found = read_literal(text)
        if found is None and kind == "array":
            found = [part.strip() for part in re.split("[;\n]" if re.search("[;\n]", text) else ",", text)]
        return text if found is None else found
    return value


def find_object_golds(
    path: Path, columns: Sequence[str], rows: Sequence[Row], answers: Sequence[str], given: str | None
) -> tuple[ObjectGolds, list[str]]:
    """How golds that are objects are read, from the first rows; and a remark if there are any."""
    schema = read_schema(given) if given else None
    folded = {name.strip().casefold(): name for name in reversed(columns)}
    column = folded.get(COLUMN, "")
    if column and not any(read_gold_object(row.values.get(column)) for row in rows):
        column = ""
    named = {name: folded.get(name.casefold(), "") for name in (schema.properties if schema else ())}
    golds = ObjectGolds(column, schema, {name: found for name, found in named.items() if found})
    missing = [name for name, found in named.items() if not found]
    if missing and not any(_read_first(ObjectGolds(column), row, answers) for row in rows):
        what = f"{path.name}: --fields: no column {join_names(missing)}, and no answer is an object"
        raise UsageError(what, hint=f"columns: {join_names(columns, 20)}")
    found = [gold for row in rows if (gold := _read_first(golds, row, answers)) is not None]
    names = join_names(list(dict.fromkeys(name for gold in found for name in gold)), 8)
    return golds, [f"answers are objects, scored field by field: {names}"] * bool(found)


def _read_first(golds: ObjectGolds, row: Row, answers: Sequence[str]) -> dict[str, Any] | None:
    answer = next((row.values[name] for name in answers if row.values.get(name) not in (None, "")), None)
    return golds.read(answer, row.values, set())
