"""Advice about flags, in the words of one who has written a configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from eyechart.errors import EyechartError

# The flags of `eyechart run` that a configuration has a key for.
_KEYS: Mapping[str, str] = {
    "--judge-base-url": "judge_base_url", "--judge-api-key": "judge_key", "--judge": "judge:",
    "--base-url": "api_base", "--api-key": "key", "--concurrency": "nproc", "--timeout": "timeout",
    "--limit": "limit:", "--max-tokens": "max_tokens", "--temperature": "temperature",
    "--system": "system_prompt", "--max-side": "img_size:",
}  # fmt: skip
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_CLAUSE = re.compile(r"(; |, or |\. )")


@contextmanager
def in_words_of_a_task() -> Iterator[None]:
    """Whatever of ours is raised inside speaks of keys rather than of flags."""
    try:
        yield
    except EyechartError as err:
        err.message = renamed(err.message)
        err.hint = advice(err.hint)
        err.args = (err.message,)
        raise


def advice(hint: str, names: Mapping[str, str] = _KEYS, known: Collection[str] = ()) -> str:
    """A hint, as far as it is one here: flags go by their names here, clauses with others are left out.

    >>> advice("is the server running? --base-url names another address")
    'is the server running? api_base names another address'
    >>> advice("check the key (OPENAI_API_KEY or --api-key)")
    'check the key (OPENAI_API_KEY or key)'
    >>> advice("convert the file to UTF-8, or choose another with --encoding")
    'convert the file to UTF-8'
    >>> advice("to ask a file of your own: eyechart run FILE --as NAME")
    'to ask a file of your own: eyechart run FILE --as NAME'
    """
    if "eyechart " in hint:  # a whole command, which is typed as it stands
        return hint
    text = renamed(hint, names)
    if set(_FLAG.findall(text)) <= set(known):
        return text
    clauses = _CLAUSE.split(text)[::2]
    return "; ".join(one.strip() for one in clauses if set(_FLAG.findall(one)) <= set(known))


def renamed(text: str, names: Mapping[str, str] = _KEYS) -> str:
    """A text with flags by the names that they have here."""
    return _FLAG.sub(lambda found: names.get(found[0], found[0]), text)
