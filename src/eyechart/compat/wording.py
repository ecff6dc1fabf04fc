"""Advice in the words of a door: our hints name the flags of `eyechart run`, which it may call otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from eyechart.errors import EyechartError

_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_CLAUSE = re.compile(r"; |, or |\. ")


@contextmanager
def in_words(names: Mapping[str, str], known: Collection[str] = ()) -> Iterator[None]:
    """Whatever of ours is raised inside speaks as the door does; see `advice`."""
    try:
        yield
    except EyechartError as err:
        err.message = renamed(err.message, names)
        err.hint = advice(err.hint, names, known)
        err.args = (err.message,)
        raise


def advice(hint: str, names: Mapping[str, str], known: Collection[str] = ()) -> str:
    """A hint, as far as it is one at this door: flags by their names here, without the clauses about others.

    `names` maps a flag, or a whole phrase, to what is said here; `known` are the flags that the door has.

    >>> advice("is it running? --base-url names another; --give-up-after N waits", {"--base-url": "api_base"})
    'is it running? api_base names another'
    >>> advice("to ask a file of your own: eyechart run FILE --as NAME", {})
    'to ask a file of your own: eyechart run FILE --as NAME'
    """
    if "eyechart " in hint:  # a whole command, which is typed as it stands
        return hint
    text = renamed(hint, names)
    if _speaks(text, known):
        return text
    return "; ".join(one.strip() for one in _CLAUSE.split(text) if _speaks(one, known))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with flags and phrases by the names that they have here; a part of a longer flag is none.

    >>> renamed("--out names it, --output_dir and --my--out stay", {"--out": "--work-dir"})
    '--work-dir names it, --output_dir and --my--out stay'
    """
    if not names:
        return text
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{longest_first})(?![\w-])", lambda found: names[found[0]], text)


def _speaks(text: str, known: Collection[str]) -> bool:
    """Whether all flags in a text are ones that the door has."""
    return all(flag in known for flag in _FLAG.findall(text))
