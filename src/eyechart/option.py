"""Options: each is declared once, as a field of a frozen dataclass with its flag, group and help.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        limit: int | None = option(None, group="questions", affects="data", metavar="N", help="the first N")

From this follow ``--limit N`` on the command line (`add_options`, `read_given_options`), ``limit`` in a
configuration file (`list_file_keys`), the keyword in Python, the bounds of numbers (`check_limits`), and
whether another value makes another run (`run.options.Options.identity`).
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, field, fields
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from eyechart.errors import UsageError, reword_errors

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_KEY = "option"
F = TypeVar("F", bound=Callable[..., Any])
REQUIRED = MISSING  # the default of an option that must be given
Parse = Callable[[Sequence[str], str], Any]  # the texts after a flag, and the flag, to a value
Affects = Literal["data", "request", "score", "pace", "output"]


def option(
    default: Any,
    *flags: str,
    group: str,
    help: str,
    is_secret: bool = False,
    separator: str = "-",
    **declared: Any,
) -> Any:
    """Declare a field as an option; `declared` are further fields of `Option`.

    `default`: the value, or REQUIRED. `flags`: if not ``--name-of-field``; the flag of an option that is
    on by default turns it off (``--no-cache``). Kind of value, choices and whether the flag is repeatable
    come from the field's type. `is_secret`: not shown by `repr`. `separator`: between a flag's words.
    """
    metadata = {_KEY: (flags, separator, {"group": group, "help": help, **declared})}
    if isinstance(default, dict):
        return field(default_factory=default.copy, repr=not is_secret, metadata=metadata)
    return field(default=default, repr=not is_secret, metadata=metadata)


def argument(default: Any, *flags: str, **declared: Any) -> Any:
    """Declare a field as an argument of another tool, whose flag is written ``--name_of_field``."""
    return option(default, *flags, separator="_", **declared)


class Option(NamedTuple):
    """A declared option."""

    name: str
    default: Any
    kind: type  # int, float, bool or str
    choices: tuple[str, ...]
    is_repeatable: bool
    flags: tuple[str, ...]
    help: str
    group: str  # the heading in help
    # Which samples are asked and what is in them (data), what the model receives (request), how replies are
    # scored (score), how and where requests are sent (pace), or what is written and shown (output).
    affects: Affects = "request"
    identified_by: str = ""  # what tells runs with another value apart, if not the option itself
    metavar: str | None = None
    parse: Parse | None = None  # from the texts of a repeatable flag to the value
    convert: Callable[[str], Any] | None = None  # from the one text of another flag
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    is_path: bool = False
    is_common: bool = False  # shown by --help where that is short (`console.shorten_help`)
    bare: str = ""  # the value of a flag that stands alone
    needs: str = ""  # the option without which it has no effect: name, or name=value
    excludes: tuple[str, ...] = ()  # those that it cannot be combined with (`check_combinations`)

    @property
    def flag(self) -> str:
        return next(flag for flag in self.flags if flag.startswith("--"))

    @property
    def is_switched_off(self) -> bool:
        """Whether it is on by default, so that its flag turns it off."""
        return self.default is True

    def add_to(self, parser: Any, *more_flags: str, **changes: Any) -> None:
        """Add the flag to an argparse parser. A flag that is not given is None: fields have the defaults."""
        told: dict[str, Any] = {"dest": self.name, "default": None, "help": self.help}
        if self.kind is bool:
            told["action"] = "store_false" if self.is_switched_off else "store_true"
        else:
            told |= {"metavar": self.metavar, "choices": self.choices or None}
            told |= {"type": convert} if (convert := self.convert or _READERS.get(self.kind)) else {}
            told |= {"required": True} if self.default is REQUIRED else {}
            told |= {"action": "append"} if self.is_repeatable else {}
            told |= {"nargs": "?", "const": self.bare} if self.bare else {}
        parser.add_argument(*self.flags, *more_flags, **told | changes)


def read_whole(text: str) -> int:
    """A whole number; k stands for 1,000 and M for 1,000,000.

    >>> read_whole("250k"), read_whole("0.25M"), read_whole("-3"), read_whole("1,000")
    (250000, 250000, -3, 1000)
    """
    number = _expand(text)
    try:
        if number is not None:
            return int(number) if number == int(number) else int("")
        return int(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number, such as 500, 250k or 1M") from None


def read_count(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within bounds, for flags that are no options of a run.

    >>> read_count()("1k")
    1000
    """

    def read(text: str) -> int:
        number = read_whole(text)
        if number < least or (most is not None and number > most):
            bounds = f"{least} or more" if most is None else f"{least} to {most:,}"
            raise ArgumentTypeError(f"{text!r} is not a whole number of {bounds}")
        return number

    return read


def read_number(text: str) -> float:
    """A number; k stands for 1,000 and M for 1,000,000.

    >>> read_number("1.5k"), read_number("0.7")
    (1500.0, 0.7)
    """
    number = _expand(text)
    try:
        return float(text) if number is None else float(number)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None


def _expand(text: str) -> Decimal | None:
    """What a number with a k or M behind it stands for; None for any other text."""
    found = re.fullmatch(r"\s*([+-]?\d{1,15}(?:\.\d{1,15})?)\s*([kKM])\s*", text)
    return Decimal(found[1]) * (1_000_000 if found[2] == "M" else 1000) if found else None


_READERS: Mapping[type, Callable[[str], Any]] = {int: read_whole, float: read_number}


def expand_numbers(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with texts such as 250k as numbers where an option is one."""
    declared = list_options(cls)
    return {
        name: expand_number(value) if name in declared and declared[name].kind in _READERS else value
        for name, value in given.items()
    }


def expand_number(value: Any) -> Any:
    """The number that a text such as 250k stands for; any other value as it is.

    >>> expand_number("0.25M"), expand_number("1.0005k"), expand_number("250 km")
    (250000, 1000.5, '250 km')
    """
    number = _expand(value) if isinstance(value, str) else None
    if number is None:
        return value
    return int(number) if number == int(number) else float(number)


_declared: dict[type, Mapping[str, Option]] = {}


def list_options(cls: type) -> Mapping[str, Option]:
    """The options that a class declares, by name, in the order of its fields."""
    if cls not in _declared:
        types = get_type_hints(cls)
        told = ((one, *one.metadata[_KEY]) for one in fields(cls) if _KEY in one.metadata)
        _declared[cls] = {
            one.name: Option(
                **{**declared, **_read_type(types[one.name])},
                name=one.name,
                flags=flags or (f"--{one.name.replace('_', separator)}",),
                default=one.default_factory() if one.default_factory is not MISSING else one.default,
            )
            for one, flags, separator, declared in told
        }
    return _declared[cls]


def list_option_names(cls: type, *groups: str, affects: Collection[Affects] = ()) -> tuple[str, ...]:
    """The names of the options in some groups, or that affect one of these, in the order of the fields."""
    return tuple(
        name for name, one in list_options(cls).items() if one.group in groups or one.affects in affects
    )


def _read_type(annotation: Any) -> dict[str, Any]:
    """The kind of value that a type takes from the command line.

    >>> _read_type(int | None), _read_type(tuple[str, ...])["is_repeatable"]
    ({'kind': <class 'int'>, 'choices': (), 'is_repeatable': False}, True)
    """
    is_union = get_origin(annotation) in (Union, UnionType)
    parts = get_args(annotation) if is_union else (annotation,)
    choices = next((get_args(one) for one in parts if get_origin(one) is Literal), ())
    is_repeatable = any(get_origin(one) in (tuple, dict) for one in parts)
    kind = next((one for one in parts if one in (int, float, bool)), str)
    return {"kind": kind, "choices": choices, "is_repeatable": is_repeatable}


def add_options(parser: ArgumentParser, cls: type, *groups: str, without: Collection[str] = ()) -> None:
    """Add the flags of some groups of options, in this order; of all groups if none is named."""
    options = list_options(cls).values()
    for title in groups or dict.fromkeys(one.group for one in options):
        known = (group for group in parser._action_groups if group.title == title)
        group = next(known, None) or parser.add_argument_group(title)
        there = {action.dest for action in parser._actions}
        for one in options:
            if one.group == title and one.name not in {*without, *there}:
                one.add_to(group)


def add_option(parser: Any, cls: type, name: str, *more_flags: str, **changes: Any) -> None:
    """Add the flag of one option, with `more_flags` and changes such as another `help`."""
    list_options(cls)[name].add_to(parser, *more_flags, **changes)


def read_given_options(cls: type, args: Namespace) -> dict[str, Any]:
    """The options that were given as flags."""
    found = {}
    for one in list_options(cls).values():
        value = getattr(args, one.name, None)
        if value is not None and one.parse is not None:
            value = one.parse(value, one.flag)
        if value is not None and (value or not one.is_repeatable):  # --ids "," names none
            found[one.name] = value
    return found


class FileKey(NamedTuple):
    """What a name in a configuration file means."""

    option: str
    is_inverted: bool = False  # named after a flag that turns the option off: no_cache, quiet


def list_file_keys(cls: type) -> dict[str, FileKey]:
    """The names that a configuration file may use: those of the options and of their flags.

    The name of an option is stronger than another's flag: ``fields`` are columns, not ``--fields``.
    """
    options = list_options(cls).values()
    by_flag = {
        flag[2:].replace("-", "_"): FileKey(one.name, one.is_switched_off)
        for one in options
        for flag in one.flags
        if flag.startswith("--")
    }
    return by_flag | {one.name: FileKey(one.name) for one in options}


def check_limits(options: Any) -> None:
    """Refuse numbers outside the declared bounds."""
    for name, one in list_options(type(options)).items():
        value = getattr(options, name)
        if value is None:
            continue
        if one.at_least is not None and value < one.at_least:
            raise UsageError(f"{name} is {value}, but must be at least {one.at_least:g}")
        if one.at_most is not None and value > one.at_most:
            raise UsageError(f"{name} is {value:,}, but must be at most {one.at_most:,}")
        if one.above is not None and not value > one.above:  # refuses nan, too
            raise UsageError(f"{name} is {value:g}, but must be more than {one.above:g}")


def check_combinations(options: Any) -> None:
    """Refuse options without effect, and those that cannot be combined, as they are declared."""
    declared = list_options(type(options))
    for name, one in declared.items():
        if getattr(options, name) == one.default:
            continue
        if one.needs:
            other, is_valued, value = one.needs.partition("=")
            found, needed = getattr(options, other), declared[other]
            if (found != value) if is_valued else found == needed.default:
                why = f": {other} is {found}" if is_valued else f" without {other}"
                add = " ".join(filter(None, (needed.flag, value or needed.metavar)))
                hint = f"add {add}, or leave out {one.flag}"
                raise UsageError(f"{name} has no effect{why}", hint=hint)
        for other, is_valued, value in (text.partition("=") for text in one.excludes):
            found = getattr(options, other)
            if (found == value) if is_valued else found != declared[other].default:
                flags = f"leave out {one.flag} or {declared[other].flag}"
                if is_valued:
                    raise UsageError(f"{name} has no effect: {other} is {value}", hint=f"{flags} {value}")
                raise UsageError(f"{name} cannot be combined with {other}", hint=flags)


# -- functions that take options


def with_options(cls: type, names: Collection[str] | None = None) -> Callable[[F], F]:
    """Give a function with ``**options`` the signature and the documentation of the options of `cls`.

    Editors and notebooks (Shift-Tab) then show every option, or those in `names`, with default and help.
    """

    def describe(function: F) -> F:
        shown = [one for one in fields(cls) if _KEY in one.metadata and (names is None or one.name in names)]
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        options = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if one.default is MISSING else one.default,
                annotation=one.type,
            )
            for one in shown
        ]
        lines = [
            f"        {one.name}: {'if False, ' * (one.default is True)}{one.metadata[_KEY][-1]['help']}"
            for one in shown
        ]

        @functools.wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            with reword_errors(lambda text: name_keywords(text, list_options(cls))):
                return function(*args, **given)

        called.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        called.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", "    Options:", *lines, "    "])
        return cast("F", called)

    return describe


_FLAG_AND_VALUE = re.compile(r"(?<![\w-])(--[a-z][\w-]*)(?:[ =]([\w./:@=|-]*[\w/]))?")
_VALUE = re.compile(r"[A-Z][A-Z|.]*|\d[\w.]*|[\w./:@-]+=.+")  # a placeholder, a number or NAME=VALUE


def name_keywords(text: str, declared: Mapping[str, Option]) -> str:
    """A message with the keywords of Python in place of flags; whole commands stay as they are.

    >>> from eyechart.runs.options import Options
    >>> declared = list_options(Options)
    >>> name_keywords("is it up? --base-url names another one; --field question=ask", declared)
    "is it up? base_url= names another one; fields={'question': 'ask'}"
    >>> name_keywords("leave out --no-urls or --retries 3, or add --judge MODEL", declared)
    'leave out allow_urls=False or retries=3, or add judge=MODEL'
    """
    if "eyechart " in text:
        return text
    by_flag = {flag: one for one in declared.values() for flag in one.flags}

    def rename(found: re.Match[str]) -> str:
        one, value = by_flag.get(found[1]), found[2] or ""
        if one is None:
            return found[0]
        if one.kind is bool:
            return f"{one.name}={not one.default}" + found[0].removeprefix(found[1])
        if value in one.choices:
            return f"{one.name}={value!r}"
        if not _VALUE.fullmatch(value):
            return f"{one.name}=" + found[0].removeprefix(found[1])
        name, is_pair, content = value.partition("=")
        return f"{one.name}={{{name!r}: {content!r}}}" if is_pair else f"{one.name}={value}"

    return _FLAG_AND_VALUE.sub(rename, text)


# -- parsing the texts of flags


def read_points(text: str, *, fraction: float = 0.1) -> float:
    """A share from a text in points or percent: 2 and 2% are both two hundredths.

    A number up to `fraction` needs its ``%``: 0.02 is most likely meant as two hundredths.

    >>> read_points("2"), read_points("80%"), read_points("0.05 %")
    (0.02, 0.8, 0.0005)
    """
    try:
        points = float(text.strip().removesuffix("%"))
    except ValueError:
        points = math.nan
    if not 0 <= points <= 100:
        raise ArgumentTypeError(f"{text!r} is not a number of points from 0 to 100, such as 2 or 2%")
    if 0 < points <= fraction and "%" not in text:
        raise ArgumentTypeError(
            f"{text} is {points:g} %: write {100 * points:g} for a fraction of {text}, or {text}%"
        )
    return points / 100


def read_limit(text: str) -> float:
    """As `read_points`, for a score to reach, where 0.8 and 1 are most likely fractions.

    >>> read_limit("80"), read_limit("0.5%")
    (0.8, 0.005)
    """
    return read_points(text, fraction=1.0)


def read_pairs(given: Sequence[str], flag: str) -> dict[str, str]:
    """Turn ``NAME=VALUE`` texts into a mapping.

    >>> read_pairs(["category=map", "split=dev"], "--where")
    {'category': 'map', 'split': 'dev'}
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r} is not NAME=VALUE")
        if name.strip() in found:
            either = f"to allow several values: {flag} {name}={found[name.strip()]},{value}"
            hint = either if flag == "--where" else "leave one of them out"
            raise UsageError(f"{flag} {name.strip()}=... is given twice", hint=hint)
        found[name.strip()] = value
    return found


def read_columns(given: Sequence[str], flag: str = "--field") -> dict[str, str | list[str]]:
    """Turn ``FIELD=COLUMN`` texts into a mapping; a repeated field has several columns.

    >>> read_columns(["question=ask", "image=left", "image=right"])
    {'question': 'ask', 'image': ['left', 'right']}
    """
    found: dict[str, str | list[str]] = {}
    for text in given:
        for name, column in read_pairs([text], flag).items():
            before = found.get(name)
            found[name] = (
                column if before is None else [*([before] if isinstance(before, str) else before), column]
            )
    return found


def read_ids(given: Sequence[str], flag: str = "--ids") -> list[str]:
    """Ids from ``a,b,c``, or from ``@file`` with one id per line.

    >>> read_ids(["1,2", "7"])
    ['1', '2', '7']
    """
    ids: list[str] = []
    for text in given:
        if text.startswith("@"):
            try:
                lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as err:
                raise UsageError(f"{flag} {text}: the file cannot be read: {err}") from err
            ids.extend(line.strip() for line in lines if line.strip())
        else:
            ids.extend(part.strip() for part in text.split(",") if part.strip())
    return ids
