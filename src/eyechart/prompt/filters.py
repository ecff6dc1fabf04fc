"""The filters of a prompt template: Jinja's, and our own where Jinja's can be made to run on and on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import Environment, pass_environment, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS as _JINJAS
from jinja2.nodes import EvalContext
from jinja2.runtime import Undefined

from eyechart.prompt.budget import TooMuch, bounded, measure

_NAMES = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select",
    "selectattr", "sort", "string", "title", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
_MAX_DIGITS = 30  # that a number is rounded to
_MAX_INDENT = 16
_MAX_SEARCHED = 100  # characters that are looked for at every place of a text


def few_characters(number: int) -> None:
    """Refuse what would have to be looked for at every place of a text."""
    if number > _MAX_SEARCHED:
        raise TooMuch(f"more than {_MAX_SEARCHED} characters to look for")


def _join(values: Iterable[Any], d: str = "") -> str:
    texts = [str(_known(value)) for value in values]
    bounded(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _replace(text: Any, old: str, new: str) -> str:
    whole = str(_known(text))
    bounded(len(whole) + whole.count(old) * len(new))
    return whole.replace(old, new)


def _known(value: Any) -> Any:
    """The value; one that is missing says so when it is turned into text."""
    return str(value) if isinstance(value, Undefined) else value


def _round(value: float, precision: Any = 0, method: Any = "common") -> Any:
    measure(value)
    if isinstance(precision, int) and abs(precision) > _MAX_DIGITS:
        raise TooMuch(f"a number rounded to more than {_MAX_DIGITS} digits")
    return _JINJAS["round"](value, precision, method)


@pass_environment
def _sum(environment: Environment, values: Iterable[Any], attribute: Any = None, start: float = 0) -> Any:
    if not isinstance(start, int | float):  # lists would be copied again for each that is added
        raise SecurityError("sum adds numbers")
    return _JINJAS["sum"](environment, values, attribute, start)


@pass_eval_context
def _tojson(eval_ctx: EvalContext, value: Any, indent: Any = None) -> Any:
    if indent is not None:
        if not isinstance(indent, int) or indent > _MAX_INDENT:
            raise SecurityError(f"the indent of tojson is a number up to {_MAX_INDENT}")
        elements, _ = measure(value)
        bounded(elements * elements * indent // 4)  # as much as n lists in each other can be moved in
    return _JINJAS["tojson"](eval_ctx, value, indent)


def _trim(value: Any, chars: str | None = None) -> str:
    few_characters(len(chars or ""))
    return str(_JINJAS["trim"](value, chars))


FILTERS: Mapping[str, Callable[..., Any]] = {name: _JINJAS[name] for name in _NAMES} | {
    "join": _join, "replace": _replace, "round": _round, "sum": _sum, "tojson": _tojson, "trim": _trim,
}  # fmt: skip
