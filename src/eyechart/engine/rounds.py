"""Conversations in rounds: each turn is asked when the model has answered the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from eyechart.engine.asking import Answer, Asker
from eyechart.engine.calls import Calls, key_of
from eyechart.memory import rest_claim
from eyechart.store.journal import Ask
from eyechart.types import MODELS_TURN, Message, Reply, Request, Usage

# The model's turn, as it is written before it has spoken.
_UNSAID: Mapping[str, Any] = {"role": MODELS_TURN.role, "parts": []}


def has_rounds(messages: Sequence[Message]) -> bool:
    """Whether the model speaks before the last turn."""
    return MODELS_TURN in messages


async def converse(asker: Asker, calls: Calls, request: Request, ask: Ask) -> tuple[Answer, Ask]:
    """Ask round by round; the last reply is the answer, and what was asked now holds the earlier ones.

    Every round is kept as soon as it is answered, so that a run which is cut off goes on from there.
    """
    turns = list(request.messages)
    written = [dict(turn) for turn in ask.messages]
    earlier: list[Reply] = []
    while MODELS_TURN in turns:
        here = turns.index(MODELS_TURN)
        so_far = replace(request, messages=tuple(turns[:here]))
        key = key_of("round", ask.key, written[:here])
        reply = await calls.reply(asker, so_far, key, written[:here], f"round:{len(earlier)}")
        earlier.append(reply)
        turns[here] = Message("assistant", (reply.text,))
        written[here] = {"role": "assistant", "parts": [{"text": reply.text}]}
    rest_claim()
    answer = await asker.ask(replace(request, messages=tuple(turns)))
    last = replace(
        answer.replies[0],
        earlier=tuple(reply.text for reply in earlier),
        usage=_together([*(reply.usage for reply in earlier), answer.replies[0].usage]),
    )
    return msgspec.structs.replace(answer, replies=[last]), msgspec.structs.replace(ask, messages=written)


def as_asked(ask: Ask, reply: Reply) -> Ask:
    """What was asked in all rounds of a conversation whose end is known."""
    if not reply.earlier:
        return ask
    said = iter(reply.earlier)
    turns = [
        {"role": "assistant", "parts": [{"text": next(said, "")}]} if turn == _UNSAID else turn
        for turn in ask.messages
    ]
    return msgspec.structs.replace(ask, messages=turns)


def _together(usages: Sequence[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    return sum(known, Usage()) if known else None
