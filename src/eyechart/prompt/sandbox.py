"""The part of Jinja that a prompt template may use: text, conditions, loops, filters, and no way out.

A template comes from a file that may be somebody else's. It sees plain values, changes nothing, gives the
same text every time, and cannot take more than a moment: loops, texts and numbers have limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from eyechart.errors import UsageError

MAX_CHARACTERS = 1_000_000
MAX_STEPS = 100_000  # turns of all loops together
_MAX_BITS = 256  # of a number
_COUNT = "_turns left"  # no template can write a name with a blank

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select",
    "selectattr", "sort", "string", "sum", "title", "tojson", "trim", "truncate", "unique", "upper",
    "wordcount",
)  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset({
        "capitalize", "count", "endswith", "find", "isalpha", "isdigit", "islower", "isupper", "lower",
        "lstrip", "removeprefix", "removesuffix", "rsplit", "rstrip", "split", "splitlines", "startswith",
        "strip", "title", "upper",
    }),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}  # fmt: skip

# Definitions, inclusions and blocks are left out: a prompt is one text.
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
    nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword,
    nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Call, nodes.Filter, nodes.Test,
    nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos,
    nodes.Concat, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip


class TooMuch(SecurityError):
    """A template that would take too long or too much memory."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja without files, without chance, and with limits."""

    intercepted_binops = frozenset({"+", "*", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
        self.code_generator_class = _Generator
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {"join": _join, "replace": _replace, "counted turns": _counted}
        self.globals = {"range": _range}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Only methods that give a text back which is no longer than what they were given."""
        for kind, names in _METHODS.items():
            if isinstance(obj, kind):
                return attr in names
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Jinja lets `str.format` through; a width in it can make a text of any length."""
        return

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, with the results bounded before they are made."""
        sizes = [len(side) for side in (left, right) if isinstance(side, str | list | tuple)]
        if operator == "%" and isinstance(left, str):
            raise SecurityError("texts are put together with ~, not with %")
        if operator == "*" and sizes:
            times = right if isinstance(left, str | list | tuple) else left
            _bounded(sizes[0] * times if isinstance(times, int) else 0)
        elif operator == "+":
            _bounded(sum(sizes))
        numbers = [side for side in (left, right) if isinstance(side, int)]
        if sum(number.bit_length() for number in numbers) > _MAX_BITS:
            raise TooMuch("a number is too large")
        return super().call_binop(context, operator, left, right)

    def joined(self, values: Iterable[Any]) -> str:
        """What ``~`` gives."""
        texts = list(map(str, values))
        _bounded(sum(map(len, texts)))
        return "".join(texts)

    def checked(self, tree: nodes.Template) -> nodes.Template:
        """The same template with its loops counted; `UsageError` for what no prompt needs."""
        for node in tree.find_all(nodes.Node):
            if not isinstance(node, (*_NODES, nodes.Helper)) or isinstance(node, nodes.NSRef):
                what = type(node).__name__
                raise UsageError(
                    f"the template, line {node.lineno}: {what} is not for prompts",
                    hint="a prompt is one text: values, if, for, set and filters",
                )
        for loop in list(tree.find_all(nodes.For)):
            loop.iter = nodes.Filter(loop.iter, "counted turns", [], [], None, None, lineno=loop.lineno)
        return tree

    def rendered(self, template: Any, values: Mapping[str, Any]) -> str:
        """The text, as long as it may be."""
        pieces: list[str] = []
        length = 0
        for piece in template.generate({**values, _COUNT: [MAX_STEPS]}):
            length += len(piece)
            _bounded(length)
            pieces.append(piece)
        return "".join(pieces)


class _Generator(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


def _bounded(length: int) -> None:
    if length > MAX_CHARACTERS:
        raise TooMuch(f"the text grows beyond {MAX_CHARACTERS:,} characters")


@pass_context
def _counted(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    """Every turn of every loop counts."""
    left = context[_COUNT]
    for value in values:
        left[0] -= 1
        if left[0] < 0:
            raise TooMuch(f"more than {MAX_STEPS:,} turns of loops")
        yield value


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > MAX_STEPS:
        raise TooMuch(f"a range of more than {MAX_STEPS:,} numbers")
    return found


def _join(values: Iterable[Any], d: str = "") -> str:
    texts = [str(_known(value)) for value in values]
    _bounded(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _replace(text: Any, old: str, new: str) -> str:
    whole = str(_known(text))
    _bounded(len(whole) + whole.count(old) * len(new))
    return whole.replace(old, new)


def _known(value: Any) -> Any:
    """The value; one that is missing says so when it is turned into text."""
    return str(value) if isinstance(value, Undefined) else value
