"""Replies without a verdict, since a judge gave none or one that cannot be read: they are in no accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from eyechart.errors import ModelError
from eyechart.score.judged import UNREADABLE
from eyechart.terminal import print_note
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.run.record import Run

_KEPT: ContextVar[list[int] | None] = ContextVar("kept", default=None)


def unjudged(done: Run) -> tuple[int, str]:
    """How many replies have no verdict for want of a judge, and why.

    A judge that cannot be reached at all ends the scoring: the replies after that have no verdict either.
    """
    if done.trouble is None and not done.n_unjudged:
        return 0, ""
    why = done.trouble.message if done.trouble is not None else ""
    n = done.n_unjudged
    for result in done.samples():
        if result.reply is not None and result.score is None and result.sample.golds:
            n += done.trouble is not None
        elif result.score is not None and not why:
            why = str(result.score.detail.get("judge") or "")
    return n, why.partition("\n")[0]


def unreadable(results: Iterable[Result], n_all: int) -> str:
    """What to say of replies on which the judge's words cannot be read; empty if there are none.

    They stay without a verdict: what a judge said is kept, and not asked for again.
    """
    scores = (result.score for result in results if result.score is not None)
    said = [str(one.detail.get("judge")) for one in scores if one.detail.get("fail_reason") == UNREADABLE]
    if not said:
        return ""
    which, they = (
        ("1 reply", "it counts") if len(said) == 1 else (f"{len(said)} of {n_all} replies", "they count")
    )
    return f"the judge's verdict on {which} cannot be read, and {they} nowhere (e.g. {said[0][:40]!r})"


@contextmanager
def leaving_them_out() -> Iterator[list[int]]:
    """Inside, an `evaluate` leaves such replies out rather than to fail. Their numbers are in the list."""
    kept: list[int] = []
    before = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(before)


def note_unjudged(done: Run, n_all: int, file: str) -> None:
    """Raise where replies of a file wait for the judge, unless they are to be left out."""
    if unread := unreadable(done.samples(), n_all):
        _note(f"{file}: {unread}")
    n, why = unjudged(done)
    if not n:
        return
    waiting = f"1 of {n_all} replies waits" if n == 1 else f"{n} of {n_all} replies wait"
    because = f" ({why})" if why else ""
    kept = _KEPT.get()
    if kept is None:
        said = f"{file}: {waiting} for the judge, which gave no answer{because}"
        raise ModelError(said, hint="the same call again asks it; keep_failed: true leaves them out")
    kept.append(n)
    _note(f"{file}: {waiting} for the judge, and {'counts' if n == 1 else 'count'} nowhere{because}")


def _note(text: str) -> None:
    print_note(f"eyechart: {text}")
