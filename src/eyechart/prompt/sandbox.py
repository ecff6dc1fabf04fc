"""The part of Jinja that a prompt template may use: text, conditions, loops, filters, and no way out.

A template comes from a file that may be somebody else's. It sees plain values, changes nothing, gives the
same text every time, and cannot take more than a moment: whatever it goes through is paid for (budget.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from eyechart.errors import UsageError
from eyechart.prompt.budget import MAX_BITS, MAX_STEPS, Budget, TooMuch, bounded
from eyechart.prompt.costs import TURNS, WEIGHED, with_costs
from eyechart.prompt.filters import FILTERS, few_characters

_BUDGET = "_what is left"  # no template can write a name with a blank
_WORD_BY_WORD = 4  # so much more a character costs where texts are cut into words
_CHARACTERS_A_STEP = 16  # of arguments that a filter may use for every element

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

# Filters that are quick whatever they are given; all others pay for what they are given and what they make.
_FREE = frozenset({"abs", "count", "d", "default", "first", "last", "length", "round"})
_ELEMENT_BY_ELEMENT = frozenset({
    "dictsort", "items", "join", "list", "map", "max", "min", "reject", "rejectattr", "reverse", "select",
    "selectattr", "sort", "sum", "unique",
})  # fmt: skip
_COMPARING_TESTS = frozenset({
    "!=", "<", "<=", "==", ">", ">=", "divisibleby", "eq", "equalto", "even", "ge", "greaterthan", "gt", "in",
    "le", "lessthan", "lower", "lt", "ne", "odd", "upper",
})  # fmt: skip
_FREE_METHODS = frozenset({"get", "items", "keys", "values"})  # of a dict: they do not go through it
_SEARCHING = frozenset({"lstrip", "rsplit", "rstrip", "strip"})  # their argument is looked at again and again

# Definitions, inclusions and blocks are left out: a prompt is one text.
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
    nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword,
    nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Call, nodes.Filter, nodes.Test,
    nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos,
    nodes.Concat, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip


class _Safe(ImmutableSandboxedEnvironment):
    """Jinja without files and without chance."""

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
        self.filters = dict(FILTERS)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Only methods that give a text back which is no longer than what they were given."""
        for kind, names in _METHODS.items():
            if isinstance(obj, kind):
                return attr in names
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Jinja lets `str.format` through; a width in it can make a text of any length."""
        return


class Sandbox(_Safe):
    """The same with a budget: everything that takes longer for longer values pays first."""

    # Jinja works out constants while it compiles, before there is a budget, but not with these operators.
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        super().__init__()
        self.code_generator_class = _Generator
        self._safe = _Safe()
        self.filters |= {name: self._paid_filter(name) for name in self.filters if name not in _FREE}
        self.filters |= {TURNS: _turns, WEIGHED: _weighed}
        self.tests = {
            name: self._paid_test(name) if name in _COMPARING_TESTS else test
            for name, test in self.tests.items()
        }
        self.globals = {"range": _range}

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Methods of values, and `range`."""
        budget = _budget(context)
        given = budget.weigh(*args, *kwargs.values())
        method, owner = getattr(obj, "__name__", ""), getattr(obj, "__self__", None)
        if method in _SEARCHING:
            few_characters(given)
        if method in _FREE_METHODS:
            return super().call(context, obj, *args, **kwargs)
        budget.weigh(owner)
        found = super().call(context, obj, *args, **kwargs)
        budget.weigh(None if isinstance(found, range) else found)  # a range is paid for where it is used
        return found

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, with the results bounded before they are made."""
        sizes = [len(side) for side in (left, right) if isinstance(side, str | list | tuple)]
        if operator == "%" and isinstance(left, str):
            raise SecurityError("texts are put together with ~, not with %")
        if operator == "*" and sizes:
            times = right if isinstance(left, str | list | tuple) else left
            bounded(sizes[0] * times if isinstance(times, int) else 0)
        elif operator == "+":
            bounded(sum(sizes))
        numbers = [side for side in (left, right) if isinstance(side, int)]
        if sum(number.bit_length() for number in numbers) > MAX_BITS:
            raise TooMuch("a number is too large")
        found = super().call_binop(context, operator, left, right)
        if sizes:
            _budget(context).weigh(found)
        return found

    def joined(self, context: Context, values: Iterable[Any]) -> str:
        """What ``~`` gives."""
        values = list(values)
        _budget(context).weigh(*values)
        texts = list(map(str, values))
        bounded(sum(map(len, texts)))
        return "".join(texts)

    def refuse_foreign(self, tree: nodes.Template) -> None:
        """`UsageError` for what no prompt needs. To be called before anything else looks at the tree."""
        for node in tree.find_all(nodes.Node):
            is_known = isinstance(node, (*_NODES, nodes.Helper)) and not isinstance(node, nodes.NSRef)
            if not is_known or (isinstance(node, nodes.For) and node.recursive):
                what = "a loop in itself" if is_known else type(node).__name__
                raise UsageError(
                    f"the template, line {node.lineno}: {what} is not for prompts",
                    hint="a prompt is one text: values, if, for, set and filters",
                )

    def priced(self, tree: nodes.Template) -> nodes.Template:
        """The same template with its costs in it."""
        return with_costs(tree)

    def rendered(self, template: Any, values: Mapping[str, Any]) -> str:
        """The text, as long as it may be."""
        pieces: list[str] = []
        length = 0
        for piece in template.generate({**values, _BUDGET: Budget()}):
            length += len(piece)
            bounded(length)
            pieces.append(piece)
        return "".join(pieces)

    def _paid_filter(self, name: str) -> Callable[..., Any]:
        @pass_context  # also keeps Jinja from working it out before there is a budget
        def paid(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
            budget = _budget(context)
            given = budget.weigh(*args, *kwargs.values())
            if name in _ELEMENT_BY_ELEMENT:
                again = 0 if name == "join" else given // _CHARACTERS_A_STEP
                value = budget.gone_through(value, 1 + again)
            else:
                length = budget.weigh(value)
                budget.take(0, _WORD_BY_WORD * length if name in ("title", "wordcount") else 0)
            found = self._safe.call_filter(name, value, args, kwargs, context=context)
            budget.weigh(found)
            return found

        return paid

    def _paid_test(self, name: str) -> Callable[..., Any]:
        @pass_context
        def paid(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
            _budget(context).weigh(value, *args, *kwargs.values())
            return self._safe.call_test(name, value, args, kwargs, context=context)

        return paid


class _Generator(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        self.write("environment.joined(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


def _budget(context: Context) -> Budget:
    found = context[_BUDGET]
    assert isinstance(found, Budget), "rendered puts one there"
    return found


@pass_context
def _turns(context: Context, values: Iterable[Any], cost: int) -> Iterator[Any]:
    """Every turn of every loop counts."""
    return _budget(context).turns(values, max(1, cost))  # `map` can name any filter, with any cost


@pass_context
def _weighed(context: Context, value: Any) -> Any:
    """The value itself, paid for."""
    _budget(context).weigh(value)
    return value


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > MAX_STEPS:
        raise TooMuch(f"a range of more than {MAX_STEPS:,} numbers")
    return found
