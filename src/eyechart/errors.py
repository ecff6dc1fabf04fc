"""Exceptions, and how their messages are written.

Each exception says what happened, to what, and (as its hint) what to do next. Below them: how messages quote
and list values, and how hints are translated for commands with other flag names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import TypeVar

from eyechart.terminal import escape_controls, shorten_message

T = TypeVar("T")

API_FAILURE = "Failed to obtain answer via API"  # the text by which VLMEvalKit marks a failed request
NO_ANSWER = f"{API_FAILURE}."  # as it is written in place of an answer


class EyechartError(Exception):
    """Base of all errors a user can act on. Shown as one message, never as a traceback.

    >>> print(DataError("demo.tsv: no column 'question'", hint="map it with --field question=ask"))
    demo.tsv: no column 'question'
      hint: map it with --field question=ask
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = shorten_message(message)
        self.hint = shorten_message(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        # Visible, since Python itself prints it where a script does not catch it.
        return escape_controls(f"{self.message}\n  hint: {self.hint}" if self.hint else self.message)


class UsageError(EyechartError):
    """A flag, a configuration or a call that is invalid."""


class UnknownName(EyechartError):
    """No benchmark, scorer or model of that name."""


class MissingExtra(EyechartError):
    """An optional dependency is not installed.

    >>> print(MissingExtra.named("parquet", needed_for="Parquet files"))
    Parquet files need an optional part that is not installed
      hint: pip install 'eyechart[parquet]'
    """

    @classmethod
    def named(cls, extra: str, *, needed_for: str) -> MissingExtra:
        """The error for one extra, with the command that installs it."""
        message = f"{needed_for} need an optional part that is not installed"
        return cls(message, hint=f"pip install 'eyechart[{extra}]'")


class DataError(EyechartError):
    """An error in a benchmark file. Names file, row and column."""


class ImageError(DataError):
    """An image that cannot be sent. Its sample fails; the run continues."""


class StoreError(EyechartError):
    """The run folder cannot be read or written."""


class ModelError(EyechartError):
    """A request that got no reply.

    `is_retryable`: the same request may succeed later. `is_fatal`: no request can succeed (wrong key,
    unknown model), so further requests would waste time and money. `is_unreachable`: no connection could be
    made. `was_silent`: nothing came back before the timeout. `partial`: the words of a reply that was cut.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        is_retryable: bool = False,
        is_fatal: bool = False,
        is_unreachable: bool = False,
        was_silent: bool = False,
        retry_after_s: float | None = None,
        partial: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.is_retryable = is_retryable
        self.is_fatal = is_fatal
        self.is_unreachable = is_unreachable
        self.was_silent = was_silent
        self.retry_after_s = retry_after_s
        self.partial = partial


MAX_QUOTED = 200  # characters of a value that a message repeats


def quote_value(value: object) -> str:
    r"""A value as Python writes it, cut if it is long.

    >>> quote_value("a\n"), quote_value("x" * 201)[-22:]
    ("'a\\n'", "x'... (201 characters)")
    """
    if isinstance(value, str | bytes) and len(value) > MAX_QUOTED:
        unit = "characters" if isinstance(value, str) else "bytes"
        return f"{value[:MAX_QUOTED]!r}... ({len(value):,} {unit})"
    return shorten(repr(value))


def shorten(text: str) -> str:
    """Text without quotes, cut if it is long.

    >>> shorten("abc"), shorten("x" * 300)[-22:]
    ('abc', 'xx... (300 characters)')
    """
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}... ({len(text):,} characters)"


def join_names(names: Sequence[str], at_most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> join_names(["a", "b"]), join_names(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - at_most:,} more" if len(names) > at_most else ""
    return ", ".join(map(shorten, names[:at_most])) + more


# -- translating hints: they name the flags of `eyechart run`, which other commands may name differently

_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_CLAUSE = re.compile(r"; |, or |\. ")
_CONNECTIVE = re.compile(r"^(?:then|or|and|otherwise)\s+")


def translate_errors(names: Mapping[str, str], known: Collection[str] = ()) -> AbstractContextManager[None]:
    """Translate errors raised and hints printed inside to the flags and keys of another command."""
    hints = partial(translate_hint, names=names, known=known)
    return reword_errors(partial(rename_flags, names=names), hints)


@contextmanager
def reword_errors(reword: Callable[[str], str], hints: Callable[[str], str] | None = None) -> Iterator[None]:
    """Reword the messages and hints of errors raised inside, and the hints that are printed there."""
    try:
        with hold(_TRANSLATE, hints or reword):
            yield
    except EyechartError as err:
        err.message, err.hint = reword(err.message), (hints or reword)(err.hint)
        err.args = (err.message,)
        raise


def name_role(err: EyechartError, role: str) -> None:
    """Let an error of a model say that it is the judge or the searcher, with its flags in the hint."""
    err.message = f"the {role}: {err.message}"
    err.args = (err.message,)
    err.hint = re.sub(r"--(?=(?:api-key|base-url|param)\b)", f"--{role}-", err.hint)
    err.hint = err.hint.replace("-m ", f"--{role} ")


# What `adapt_hint` does to hints that are printed without an error.
_TRANSLATE: ContextVar[Callable[[str], str]] = ContextVar("translate", default=str)


@contextmanager
def hold(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Inside, the variable has this value."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def adapt_hint(hint: str) -> str:
    """A hint in the words of the command that runs; it may be empty then."""
    return _TRANSLATE.get()(hint)


def translate_hint(hint: str, names: Mapping[str, str], known: Collection[str] = ()) -> str:
    """A hint with the flags of another command, without the clauses about flags that it lacks.

    `names` maps a flag or a phrase to that of the command; `known` are the flags that the command has.

    >>> translate_hint("is it up? --base-url names another; --retries N waits", {"--base-url": "api_base"})
    'is it up? api_base names another'
    >>> translate_hint("to ask a file of your own: eyechart run FILE --as NAME", {})
    'to ask a file of your own: eyechart run FILE --as NAME'
    >>> translate_hint("--image-root names the folder; then run it again", {})
    'run it again'
    """
    if "eyechart " in hint:  # a whole command, to be typed as it is
        return hint
    text = rename_flags(hint, names)
    if _has_flags(text, known):
        return text
    kept: list[str] = []
    clauses = [clause.strip() for clause in _CLAUSE.split(text)]
    for before, clause in pairwise(["", *clauses]):
        if _has_flags(clause, known):
            # Without the clause before it, "then" or "or" has nothing to refer to.
            kept.append(clause if _has_flags(before, known) else _CONNECTIVE.sub("", clause))
    return "; ".join(kept)


def rename_flags(text: str, names: Mapping[str, str]) -> str:
    """Replace whole flags and phrases by those of another command.

    >>> rename_flags("--out names it, --output_dir and --my--out stay", {"--out": "--work-dir"})
    '--work-dir names it, --output_dir and --my--out stay'
    """
    if not names:
        return text
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{longest_first})(?![\w-])", lambda found: names[found[0]], text)


def _has_flags(text: str, known: Collection[str]) -> bool:
    """Whether the command has all flags in a text."""
    return all(flag in known for flag in _FLAG.findall(text))
