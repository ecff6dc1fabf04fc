"""Prompts from Jinja templates over the sample's fields.

Whitespace is kept, except for one line end at the end of the template (Jinja's defaults); ``{%-`` and ``-%}``
strip it beside a tag. ``{{ image }}`` inserts all images, ``{{ image1 }}`` the first one; line ends next to
an image are dropped. A template without them gets the images in place of placeholders in its text (``<image
1>``), or else in front. In a text without tags, ``{question}`` stands for ``{{ question }}``, as other tools
write it. Golds are not available. Templates run in a sandbox without files and randomness, and with a length
limit.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, UndefinedError, meta, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from eyechart.errors import DataError, UsageError, join_names, quote_value, shorten
from eyechart.prompt.default import fill_placeholders
from eyechart.registry import suggest_name
from eyechart.types import ImageRef, Message, Prompt, Sample

FIELDS = (
    "question", "options", "choices", "letters", "hint", "category", "id", "n_images", "meta", "image",
    "images",
)  # fmt: skip
MAX_CHARACTERS = 1_000_000  # of a prompt
_GOLDS = frozenset({"answer", "answers", "gold", "golds"})
_GLOBALS = frozenset({"range"})
_IMAGE = re.compile(r"image([1-9][0-9]{0,2})")
_SINGLE = re.compile(r"(?<![\w\\}])\{ ?([A-Za-z_]\w*) ?\}")  # not \boxed{...}
_USUAL = ["question", "options"]  # whose misspellings are refused in single braces, too
_MARK = "\ue000{}:{}\ue001"  # private-use characters around a number: filters leave it unchanged
_MAX_TEMPLATE_BYTES = 1_000_000
_FILE_NAME = re.compile(r"[^\s{}%]+\.(j2|jinja|jinja2|txt|md|tmpl)", re.IGNORECASE)


def make_template_prompt(template: str, *, columns: Iterable[str] = ()) -> Prompt:
    """The prompt of a template: one user turn.

    `columns` are further names that samples may have (see `list_known_names`); those that a sample lacks are
    empty. Any other name, and any syntax error, raises `UsageError` right away.

    >>> ask = make_template_prompt("{{ question }} ({{ letters | join('/') }})")
    >>> [turn] = ask(Sample(id="1", question="Which?", choices={"A": "cat", "B": "dog"}))
    >>> turn.text
    'Which? (A/B)'
    """
    extra = {name for name in columns if name.isidentifier() and name not in _GOLDS} - {*FIELDS}
    known = {*FIELDS, *extra, *_GLOBALS}
    compiled, named = _compile(_double_braces(template, known), known)
    places_images = any(name in ("image", "images") or _IMAGE.fullmatch(name) for name in named)
    blanks = dict.fromkeys((name for name in extra if not _IMAGE.fullmatch(name)), "")

    def prompted(sample: Sample) -> list[Message]:
        nonce = secrets.randbits(64)
        values = {**blanks, **_values(sample, nonce)}
        try:
            text = _render(compiled, values)
        except Exception as err:  # filters can raise anything
            raise _failed(sample, err) from err
        parts: Sequence[str | ImageRef] = fill_placeholders(text, sample.images)
        if places_images:
            parts = _cut_at_images(text, sample, nonce)
        if not any(not isinstance(part, str) or part.strip() for part in parts):
            raise DataError(f"sample {sample.id}: the template renders an empty prompt")
        return [Message("user", tuple(part for part in parts if part != ""))]

    return prompted


def _double_braces(template: str, known: set[str]) -> str:
    """The template with ``{name}`` as ``{{ name }}`` where no tag of Jinja shows that it means its braces.

    >>> _double_braces("{question} Reply as {json}.", {"question"})
    '{{ question }} Reply as {json}.'
    """
    if re.search("{[{%#]", template):
        return template

    def double(found: re.Match[str]) -> str:
        name = found[1]
        is_meant = name in known or _IMAGE.fullmatch(name) or suggest_name(name, _USUAL)
        return f"{{{{ {name} }}}}" if is_meant else found[0]  # an unknown name is refused later

    return _SINGLE.sub(double, template)


def list_known_names(sample: Sample) -> set[str]:
    """The names that a template may use for samples like this one."""
    own = {f"image{number}" for number in range(1, len(sample.images) + 1)}
    return {*FIELDS, *own, *_columns(sample)}


def read_template(text_or_path: str) -> str:
    """The template in the file with that path, or the text itself.

    >>> read_template("Look: {{ question }}")
    'Look: {{ question }}'
    """
    try:
        path = Path(text_or_path).expanduser()
        if path.is_file():
            return _read_file(path)
    except (OSError, ValueError, RuntimeError):  # too long for a path, or NUL: a text
        return text_or_path
    if _FILE_NAME.fullmatch(text_or_path):
        hint = "use the path of a file, or the text of the template"
        raise UsageError(f"--prompt-template {shorten(text_or_path)}: no such file", hint=hint)
    if not text_or_path.strip():
        raise UsageError("--prompt-template is empty", hint="e.g. '{{ question }}'")
    return text_or_path


def _read_file(path: Path) -> str:
    if path.stat().st_size > _MAX_TEMPLATE_BYTES:
        raise UsageError(f"{path}: too large for a template", hint="check the path")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        raise UsageError(f"{path}: not UTF-8 text: {err}", hint="save the template as UTF-8") from err


def _compile(template: str, known: set[str]) -> tuple[Template, set[str]]:
    """The template and the names in it; `UsageError` for syntax errors and unknown names."""
    sandbox = _Sandbox()
    try:
        tree = sandbox.parse(template)
        _refuse_foreign(tree)
        named = meta.find_undeclared_variables(tree)
        named |= {node.name for node in tree.find_all(nodes.Name) if node.name == "self"}  # added by Jinja
        _refuse_unknown(tree, named, known)
        return sandbox.from_string(tree), named
    except TemplateSyntaxError as err:
        what, hint = err.message or "", ""
        if found := re.search(r"[Nn]o filter named '([^']*)'", what):
            hint = f"{suggest_name(found[1], list(_FILTERS))} filters: {', '.join(_FILTERS)}".strip()
        raise UsageError(f"the template, line {err.lineno}: {shorten(what)}", hint=hint) from err
    except (SyntaxError, MemoryError, RecursionError) as err:  # Python allows about 20 nested loops
        hint = "use fewer nested loops and brackets"
        raise UsageError(f"the template is nested too deeply: {shorten(str(err))}", hint=hint) from err
    except (ValueError, OverflowError, TemplateError) as err:  # ValueError: a number of 5000 digits
        why = shorten(f"{type(err).__name__}: {err}")
        raise UsageError(f"the template cannot be read: {why}") from err


def _render(template: Template, values: Mapping[str, Any]) -> str:
    """The text, up to the length limit."""
    pieces: list[str] = []
    length = 0
    for piece in template.generate(values):
        length += len(piece)
        _limit_length(length)
        pieces.append(piece)
    return "".join(pieces)


def _refuse_unknown(tree: Any, named: Iterable[str], known: set[str]) -> None:
    for name in sorted(named):
        if name in known or _IMAGE.fullmatch(name):
            continue
        line = min((node.lineno for node in tree.find_all(nodes.Name) if node.name == name), default=1)
        hint = "the answer must not be in the prompt"
        if name not in _GOLDS:
            names = f"known names: {join_names(sorted(known - _GLOBALS), 40)}"
            hint = f"{suggest_name(name, sorted(known))} {names}".strip()
        raise UsageError(f"the template, line {line}: unknown name {quote_value(name)}", hint=hint)


def _failed(sample: Sample, err: Exception) -> DataError:
    hint = "test it with {% if ... is defined %}" if isinstance(err, UndefinedError) else ""
    if hint and (found := re.search(r"'(image[0-9]+)'", str(err))):
        many = f"{len(sample.images)} image{'s' * (len(sample.images) != 1)}"
        hint = f"it has {many}: put {{% if n_images ... %}} around {found[1]}"
    why = shorten(str(err)) or type(err).__name__
    return DataError(f"sample {sample.id}: the template: {why}", hint=hint)


def _values(sample: Sample, nonce: int) -> dict[str, Any]:
    marks = [_MARK.format(nonce, number) for number in range(len(sample.images))]
    options = "\n".join(f"{letter}. {text}" for letter, text in sample.choices.items())
    every = "".join(marks)
    return {
        **{f"image{number}": mark for number, mark in enumerate(marks, start=1)},
        **_columns(sample),
        "question": sample.question,
        "options": sample.choices_text or options,
        "choices": dict(sample.choices),
        "letters": list(sample.choices),
        "hint": sample.hint,
        "category": str(sample.meta.get("category", "")),
        "id": sample.id,
        "n_images": len(sample.images),
        "meta": {name: value for name, value in sample.meta.items() if name not in _GOLDS},
        "image": every,
        "images": every,
    }


def _columns(sample: Sample) -> Mapping[str, Any]:
    """Columns of the file whose names are valid in a template."""
    return {
        name: value
        for name, value in sample.meta.items()
        if name.isidentifier() and name not in _GOLDS and name not in FIELDS and not _IMAGE.fullmatch(name)
    }


def _cut_at_images(text: str, sample: Sample, nonce: int) -> list[str | ImageRef]:
    """The text split at its marks, without line ends beside an image and without blank pieces."""
    pieces = re.split(_MARK.format(nonce, "([0-9]+)"), text)
    parts: list[str | ImageRef] = []
    for index, piece in enumerate(pieces):
        if index % 2:
            parts.append(sample.images[int(piece)])
            continue
        kept = piece if index == 0 else piece.lstrip("\r\n")
        kept = kept if index == len(pieces) - 1 else kept.rstrip("\r\n")
        if kept.strip():
            parts.append(kept)
    return parts


# -- The sandbox: no files, no randomness, and limits on ranges, repetition and length

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "join",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse",
    "round", "select", "selectattr", "sort", "string", "sum", "title", "tojson", "trim", "truncate", "unique",
    "upper", "wordcount",
)  # fmt: skip
# String methods with a width: one number can make a text of any length.
_PADDING = frozenset({"center", "expandtabs", "format", "format_map", "ljust", "rjust", "zfill"})
# Without definitions, inclusions and blocks: a prompt is one text.
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
    nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword,
    nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Call, nodes.Filter, nodes.Test,
    nodes.Compare, nodes.Operand, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos,
    nodes.Concat, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip


class _Sandbox(ImmutableSandboxedEnvironment):
    # Intercepted operators are not evaluated at compile time, either.
    intercepted_binops = frozenset({"*", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.globals = {"range": safe_range}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr in _PADDING:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Without this override, Jinja allows `str.format`."""

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            raise SecurityError("use ~ to join texts, not %")
        if operator == "*":
            for some, times in ((left, right), (right, left)):
                if isinstance(some, str | list | tuple) and isinstance(times, int):
                    _limit_length(len(some) * times)
        return super().call_binop(context, operator, left, right)


def _limit_length(length: int) -> None:
    if length > MAX_CHARACTERS:
        raise SecurityError(f"the text exceeds {MAX_CHARACTERS:,} characters")


def _refuse_foreign(tree: nodes.Template) -> None:
    """`UsageError` for constructs that prompts do not need, before Jinja evaluates constants."""
    for node in tree.find_all(nodes.Node):
        is_known = isinstance(node, (*_NODES, nodes.Helper)) and not isinstance(node, nodes.NSRef)
        if not is_known or (isinstance(node, nodes.For) and node.recursive):
            what = "a recursive loop" if is_known else type(node).__name__
            hint = "supported: values, if, for, set and filters"
            raise UsageError(f"the template, line {node.lineno}: {what} is not supported", hint=hint)
