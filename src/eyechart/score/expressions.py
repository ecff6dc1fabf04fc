r"""The value of a short arithmetic expression, in Python's notation or in LaTeX: ``7/2``, ``\frac{7}{2}``.

Nothing is executed: an expression is parsed, and only numbers and arithmetic on them are computed, with
limits on length, depth and exponents. What is not such an expression (a variable, a root, a set) has no
value.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from eyechart.files import suppress_warnings

MAX_CHARS = 500
MAX_DEPTH = 60
MAX_POWER = 400  # of an exponent
MAX_BASE = 1e12

Number = int | float | complex
Names = Mapping[str, Number | None]


class _NoValue(Exception):
    """The text is not an expression that has a value here."""


# -- Python's notation

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitXor: operator.xor,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_CALLED: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "float": float, "int": int, "len": len, "max": max, "min": min, "round": round, "sum": sum,
}  # fmt: skip


def evaluate_python(text: str, names: Names | None = None) -> Number | None:
    """The value of an expression as Python writes it; None of anything else.

    >>> evaluate_python("10/4"), evaluate_python("max(1, 3)"), evaluate_python("9**9**9")
    (2.5, 3, None)
    """
    if len(text) > MAX_CHARS:
        return None
    try:
        with suppress_warnings():
            tree = ast.parse(text.strip(), mode="eval")
        value = _compute(tree.body, names or {}, 0)
    except (
        _NoValue, SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError,
    ):  # fmt: skip
        return None
    return value if isinstance(value, int | float | complex) else None


def _compute(node: ast.expr, names: Names, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _NoValue
    match node:
        case ast.Constant(value=int() | float() | complex() | str() as value):
            return value
        case ast.Name(id=name) if names.get(name) is not None:
            return names[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_compute(operand, names, depth + 1))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_compute(left, names, depth + 1), _compute(right, names, depth + 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            sides = [_compute(side, names, depth + 1) for side in (left, right)]
            if not all(isinstance(side, int | float | complex) for side in sides):
                raise _NoValue  # a text times a number would be a long text
            return _BINARY[type(op)](*sides)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLED:
            return _CALLED[name](*(_compute(arg, names, depth + 1) for arg in args))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_compute(item, names, depth + 1) for item in items]
        case _:
            raise _NoValue


def _power(base: Any, exponent: Any) -> Any:
    if not (isinstance(exponent, int | float) and isinstance(base, int | float)):
        raise _NoValue
    if abs(exponent) > MAX_POWER or abs(base) > MAX_BASE:
        raise _NoValue
    return base**exponent


# -- LaTeX

_WRAPPERS = r"text|textbf|mathrm|mathbf|mathit|mbox"
_DROPPED = re.compile(
    r"\\(?:left|right|displaystyle|quad|qquad|[,;!: ()]|\$)|\$|\^\s*\{?\s*\\circ\s*\}?", re.ASCII
)
_WRAPPED = re.compile(rf"\\(?:{_WRAPPERS})\s*\{{([^{{}}]*)\}}")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<sign>\\frac|\\sqrt|\\times|\\cdot|\\div|[-+*/:^%(){}\[\]])|(?P<name>[a-z]))",
    re.ASCII,
)
_CLOSING = {"(": ")", "[": "]"}
_TIMES = ("*", r"\times", r"\cdot")
_DIVIDED = ("/", ":", r"\div")


def evaluate_latex(text: str, names: Names | None = None) -> Number | None:
    r"""The value of an arithmetic expression in LaTeX, or as people write one; None of anything else.

    >>> evaluate_latex(r"$\frac{3}{4}$"), evaluate_latex("50%"), evaluate_latex("2^{3}+2")
    (0.75, 0.5, 10)
    >>> evaluate_latex(r"\sqrt{2}") is None, evaluate_latex("5 cm") is None
    (True, True)
    """
    if len(text) > MAX_CHARS:
        return None
    text = text.replace("\N{MINUS SIGN}", "-").replace(r"\%", "%").replace("{,}", ",")
    text = re.sub(r"\\[dtc]frac", r"\\frac", text)
    text = re.sub(r"(\d)_\d*", r"\1", text)  # as the library reads it: a subscript has no value
    text = _DROPPED.sub(" ", _WRAPPED.sub(_unwrap, _find_box(text))).strip()
    return _evaluate(_Latex, text, names or {})


def _evaluate(reader: type[_Latex], text: str, names: Names) -> Number | None:
    try:
        parser = reader(text, names)
        value = parser.sum(0)
        if parser.peek() not in parser.endings:
            raise _NoValue
    except (_NoValue, ValueError, TypeError, ArithmeticError):
        return None
    return value


_OLD_DROPPED = re.compile(r"\\(?:left|right|[,;!: ])|\$", re.ASCII)
_OLD_END = re.compile(r"_|\.(?!\d)", re.ASCII)
_ASSIGNED = re.compile(r"\s*[a-z](?:_[a-z\d])?\s*=([^=]*)")


def evaluate_old_latex(text: str) -> Number | None:
    r"""The value as latex2sympy2 1.9 reads LaTeX: factors may stand side by side, ``2\frac{1}{2}`` is 1.

    What follows a whole expression after a subscript, a full stop or a closing bracket is ignored, of ``x=5``
    the right side counts, and a percent sign has a backslash.

    >>> evaluate_old_latex("2(3)"), evaluate_old_latex("x=5"), evaluate_old_latex("50%") is None
    (6, 5, True)
    """
    if len(text) > MAX_CHARS or re.search(r"(?<!\\)%", text) or "{,}" in text:
        return None
    assigned = _ASSIGNED.fullmatch(text)
    text = _OLD_END.split(_OLD_DROPPED.sub(" ", assigned[1] if assigned else text), maxsplit=1)[0].strip()
    text = re.sub(r"\\[dtc]frac", r"\\frac", text).replace(r"\%", "%")
    return _evaluate(_OldLatex, text.replace(r"\{", "(").replace(r"\}", ")"), {})


def _find_box(text: str) -> str:
    """The content of the last box; the whole text without one."""
    _, is_boxed, rest = text.rpartition("\\boxed{")
    if not is_boxed:
        return text
    depth = 1
    for at, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if not depth:
            return rest[:at]
    return text


def _unwrap(found: re.Match[str]) -> str:
    """The content of ``text{...}``; a number in any notation is written plainly."""
    try:
        return f" {float(found[1]):f} " if "e" in found[1] or found[1].endswith(".") else f" {found[1]} "
    except (ValueError, OverflowError):
        return f" {found[1]} "


class _Latex:
    """Reads tokens from left to right; each method reads one level of an expression."""

    has_mixed_numbers = True
    endings: tuple[str, ...] = ("",)  # tokens that may follow the expression

    def __init__(self, text: str, names: Names) -> None:
        self.names = names
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while found := _TOKEN.match(text, at):
            self.tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()
        if text[at:].strip():
            raise _NoValue
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, *signs: str) -> str:
        """The next token if it is one of these, which is then read; otherwise an empty text."""
        if self.peek() not in signs:
            return ""
        self.at += 1
        return self.tokens[self.at - 1][1]

    def sum(self, depth: int) -> Number:
        if depth > MAX_DEPTH:
            raise _NoValue
        value = self.product(depth)
        while sign := self.take("+", "-"):
            value = _BINARY[ast.Add if sign == "+" else ast.Sub](value, self.product(depth))
        return value

    def product(self, depth: int) -> Number:
        value = self.signed(depth)
        while sign := self.take(*_TIMES, *_DIVIDED):
            value = _BINARY[ast.Mult if sign in _TIMES else ast.Div](value, self.signed(depth))
        return value

    def signed(self, depth: int) -> Number:
        is_negative = False
        while sign := self.take("+", "-"):
            is_negative ^= sign == "-"
        value = self.factors(depth)
        return -value if is_negative else value

    def factors(self, depth: int) -> Number:
        return self.power(depth)

    def power(self, depth: int) -> Number:
        value = self.atom(depth)
        while sign := self.take("%", "^"):
            if sign == "%":
                value = value * (1 / 100)
            else:
                is_digit = self.peek()[:1].isdigit()
                value = _power(value, self.atom(depth) if is_digit else self.group("{", "}", depth))
        return value

    def atom(self, depth: int) -> Number:
        if self.at >= len(self.tokens):
            raise _NoValue
        kind, text = self.tokens[self.at]
        if text in _CLOSING:
            return self.group(text, _CLOSING[text], depth)
        self.at += 1
        if kind == "number":
            plain = text.replace(",", "")
            value: Number = float(plain) if "." in plain else int(plain)
            is_mixed = self.has_mixed_numbers and self.peek() == r"\frac"
            return value + self.atom(depth) if is_mixed else value
        if text == r"\frac":
            return self.group("{", "}", depth) / self.group("{", "}", depth)
        if text == r"\sqrt" and self.peek() == "[":
            return self.root(depth)
        named = self.names.get(text) if kind == "name" else None
        if named is None:
            raise _NoValue
        return named

    def root(self, depth: int) -> Number:
        degree, value = self.group("[", "]", depth), self.group("{", "}", depth)
        if degree == 2:  # as published: a square root stays a root, which has no value
            raise _NoValue
        found: Number = _power(value, 1 / degree)
        return found

    def group(self, opening: str, closing: str, depth: int) -> Number:
        if not self.take(opening):
            raise _NoValue
        value = self.sum(depth + 1)
        if not self.take(closing):
            raise _NoValue
        return value


class _OldLatex(_Latex):
    """Factors without a sign between them are multiplied, before those with one."""

    has_mixed_numbers = False
    endings = ("", ")", "]", "}")

    def factors(self, depth: int) -> Number:
        value = self.power(depth)
        while self.peek() in ("(", "[", "{", r"\frac", r"\sqrt") or self.peek()[:1].isdigit():
            value = value * self.power(depth)
        return value

    def atom(self, depth: int) -> Number:
        return self.group("{", "}", depth) if self.peek() == "{" else super().atom(depth)
