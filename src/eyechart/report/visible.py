"""Text from outside, made safe to look at: nothing in it can move the cursor, recolour or hide.

Data sets and replies are untrusted. A terminal obeys escape sequences, and Unicode's direction marks can
make text read as what it is not, so both are shown as marks instead of being obeyed.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, ESC among them; newline and tab are kept
    "\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of reading
    "\ud800-\udfff\ufffe\uffff]"  # halves of characters and non-characters: no encoding holds them
)


def visible(text: str) -> str:
    r"""Show control characters instead of obeying them; newlines and tabs stay.

    >>> visible("\x1b[31mred\x07 \u202eback")
    '␛[31mred␇ <U+202E>back'
    """
    if text.isascii() and text.isprintable():  # nearly all text, in one quick look
        return text
    return _UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    r"""The same on one line, for names and table cells.

    >>> one_line(" two\n lines\t")
    'two lines'
    """
    return " ".join(visible(text).split())


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # the pictures Unicode has for them
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
