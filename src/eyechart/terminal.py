"""Safe output to a terminal: the only module that writes to stdout and stderr.

Data sets, replies and servers are untrusted. Terminals obey escape sequences, and Unicode direction marks can
disguise text, so both are escaped before anything is printed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable
from typing import TextIO

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, ESC among them; newline and tab are kept
    "\u2028-\u202e\u2066-\u2069"  # separators of lines and paragraphs, direction marks
    "\ud800-\udfff\ufffe\uffff]"  # surrogates and non-characters, which cannot be encoded
)
_MAX_VALUE = 200  # characters of a value that a message repeats
_MAX_MESSAGE = 1_500  # the longest messages list names to choose from
_LONG_VALUE = re.compile(rf"'[^'\n]{{{_MAX_VALUE},}}'|\"[^\"\n]{{{_MAX_VALUE},}}\"|\S{{1000,}}")
_ERASE_LINE = "\r\x1b[K"


def escape_controls(text: str) -> str:
    r"""Show control characters instead of obeying them; newlines and tabs stay.

    >>> escape_controls("\x1b[31mred\x07 \u202eback")
    '␛[31mred␇ <U+202E>back'
    """
    if text.isascii() and text.isprintable():  # nearly all text, and fast
        return text
    return UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def to_one_line(text: str) -> str:
    r"""Escape controls and join lines, for names and table cells.

    >>> to_one_line(" two\n lines\t")
    'two lines'
    """
    return " ".join(escape_controls(text).split())


def shorten_message(text: str) -> str:
    """Cut the long values in a message to about 200 characters each.

    Long values are quoted texts and words longer than any path; if that is not enough, the middle is cut.

    >>> shorten_message("no column 'image'"), len(shorten_message(f"--ids {'x' * 400_000!r}: no such sample"))
    ("no column 'image'", 246)
    """
    if len(text) <= _MAX_VALUE:
        return text
    text = _LONG_VALUE.sub(lambda found: f"{found[0][:_MAX_VALUE]}... ({len(found[0]):,} characters)", text)
    if len(text) <= _MAX_MESSAGE:
        return text
    left_out = f"... ({len(text) - 2 * _MAX_VALUE:,} characters left out) ..."
    return f"{text[:_MAX_VALUE]} {left_out} {text[-_MAX_VALUE:]}"


def print_text(text: str, *, end: str = "\n") -> None:
    """Print results on stdout."""
    write(sys.stdout, escape_controls(text) + end)


def print_note(text: str, *, end: str = "\n") -> None:
    """Print a note on stderr, or where a notebook has its text."""
    shown = escape_controls("\n".join(map(shorten_message, text.split("\n"))))
    stream = choose_note_stream()
    write(stream, wrap_lines(shown, find_width(stream)) + end)


def choose_note_stream() -> TextIO:
    """Where notes and progress go: stderr; stdout in a notebook, which paints stderr like an error."""
    is_notebook = type(sys.stdout).__module__.partition(".")[0] == "ipykernel"
    return sys.stdout if is_notebook else sys.stderr


def wrap_lines(text: str, width: int | None) -> str:
    r"""Wrap lines between words; paths and URLs stay whole.

    >>> print(wrap_lines("no such file\n  hint: look into the folder", 20))
    no such file
      hint: look into
        the folder
    """
    if width is None:
        return text
    import textwrap

    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
        lines += textwrap.wrap(
            line,
            width,
            subsequent_indent=indent if len(line) > width else "",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def find_width(stream: TextIO) -> int | None:
    """The columns of a terminal; None for a file or a pipe, where lines are not wrapped."""
    try:
        if not stream.isatty():
            return None
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def print_error(text: str) -> None:
    """Print why the command ends, on stderr if it is open."""
    with contextlib.suppress(OSError, ValueError):
        print_note(text)


def show_status(text: str) -> None:
    """Show the status on one line of a terminal, replaced by the next status."""
    if sys.stderr.isatty():
        write(sys.stderr, f"{_ERASE_LINE}{to_one_line(text)}\r")


def make_counter(what: str) -> Callable[[int], None]:
    """A function that shows a growing count on a terminal, a few times per second."""
    shown_at_s = time.monotonic()

    def show(count: int) -> None:
        nonlocal shown_at_s
        if time.monotonic() - shown_at_s > 0.2:
            shown_at_s = time.monotonic()
            show_status(f"{count:,} {what}")

    return show if sys.stderr.isatty() else lambda count: None


def write(stream: TextIO, text: str, *, errors: str = "backslashreplace") -> None:
    """Write and flush safe text; characters that the stream cannot encode are escaped."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, errors).decode(encoding))
    stream.flush()


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's symbols for control characters
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


def format_size(n_bytes: int) -> str:
    """Bytes for people.

    >>> format_size(0), format_size(20480), format_size(2_000_000_000), format_size(999_960)
    ('0 bytes', '20.5 KB', '2 GB', '1 MB')
    """
    size = float(n_bytes)
    for unit in ("bytes", "KB", "MB", "GB"):
        if round(size, 1) < 1000:
            return f"{round(size, 1):g} {unit}"
        size /= 1000
    return f"{round(size, 1):g} TB"
