"""Golds that are objects: read from a cell, or built from columns as a JSON schema says (``--fields``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.files.rows import Row, read_literal
from eyechart.errors import UsageError, join_names

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
    text, name = given, "--fields"
    if not given.lstrip().startswith("{"):
        name = f"--fields {given}"
        try:
            text = Path(given).read_text(encoding="utf-8")
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
    return FieldSchema(text, properties, dict(_list_kinds(properties, "", name)))


def _list_kinds(properties: Mapping[str, Any], prefix: str, name: str) -> Iterator[tuple[str, str]]:
    for key, rule in properties.items():
        yield from _list_kind(rule, f"{prefix}{key}", name)


def _list_kind(rule: Any, path: str, name: str) -> Iterator[tuple[str, str]]:
    if not isinstance(rule, dict):
        raise UsageError(f"{name}: the property {path!r} is not an object", hint=_HINT)
    kind = _get_type(rule, path, name)
    if kind == "object" and isinstance(rule.get("properties"), dict):
        yield from _list_kinds(rule["properties"], f"{path}.", name)
    elif kind == "array":
        if rule.get("ordered") is True:
            yield path, "ordered"
        if "items" in rule:
            yield from _list_kind(rule["items"], f"{path}[]", name)
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
        if gold is not None:
            used.add(self.column)
        else:
            gold = read_gold_object(answer)
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
    golds = ObjectGolds(column, schema)
    if schema is not None:
        named = {name: folded.get(name.casefold(), "") for name in schema.properties}
        golds = ObjectGolds(column, schema, {name: found for name, found in named.items() if found})
        missing = [name for name, found in named.items() if not found]
        objects = [_read_first(ObjectGolds(column), row, answers) for row in rows]
        if missing and not any(objects):
            raise UsageError(
                f"{path.name}: --fields: no column {join_names(missing)}, and no answer is an object",
                hint=f"columns: {join_names(columns, 20)}",
            )
    found = [gold for row in rows if (gold := _read_first(golds, row, answers)) is not None]
    if not found:
        return golds, []
    names = join_names(list(dict.fromkeys(name for gold in found for name in gold)), 8)
    return golds, [f"answers are objects, scored field by field: {names}"]


def _read_first(golds: ObjectGolds, row: Row, answers: Sequence[str]) -> dict[str, Any] | None:
    answer = next((row.values[name] for name in answers if row.values.get(name) not in (None, "")), None)
    return golds.read(answer, row.values, set())
