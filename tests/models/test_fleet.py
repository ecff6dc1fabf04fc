"""One model at several addresses: who it is, and that it is still one model."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.models.specs import Fleet, make_model
from eyechart.types import Capabilities, ModelSettings, MultiReply
from support.parts import ScriptedModel, request

ADDRESSES = ("http://a:8000/v1", "http://b:8000/v1", "http://c:8000/v1")


def fleet(*addresses: str, **parameters: Any) -> Fleet:
    made = make_model("openai/m", ModelSettings(base_url=addresses, api_key="sk-1", parameters=parameters))
    assert isinstance(made, Fleet)
    return made


def test_it_is_a_fleet_of_one_model() -> None:
    made = fleet(*ADDRESSES)
    assert isinstance(made, MultiReply)
    assert made.name == "openai/m"
    assert [member.identity["endpoint"] for member in made.members] == list(ADDRESSES)
    assert made.capabilities == Capabilities(is_endpoint=True, takes_urls=True, takes_tools=True)


@pytest.mark.parametrize("takes_rounds", [True, False])
def test_it_takes_whole_conversations_if_all_its_members_do(takes_rounds: bool) -> None:
    members = [ScriptedModel(endpoint=name) for name in "ab"]
    members[0].capabilities = Capabilities(takes_rounds=True)  # type: ignore[attr-defined]
    members[1].capabilities = Capabilities(takes_rounds=takes_rounds)  # type: ignore[attr-defined]
    assert Fleet(members).capabilities.takes_rounds == takes_rounds


@pytest.mark.parametrize("order", list(permutations(ADDRESSES)))
def test_the_order_of_the_addresses_does_not_matter(order: tuple[str, ...]) -> None:
    assert fleet(*order).identity == fleet(*ADDRESSES).identity


def test_anything_else_does() -> None:
    known = [
        fleet(*ADDRESSES).identity,
        fleet(*ADDRESSES[:2]).identity,
        fleet(*ADDRESSES, temperature=0.5).identity,
        make_model("openai/m", ModelSettings(base_url=ADDRESSES[0])).identity,
    ]
    assert all(one != other for n, one in enumerate(known) for other in known[:n])
    assert "sk-1" not in str(known)


@pytest.mark.parametrize("twice", ["http://a:8000/v1/", "http://a:8000/v1/chat/completions"])
def test_an_address_that_is_given_twice_is_refused(twice: str) -> None:
    with pytest.raises(UsageError, match="given twice: http://a:8000/v1"):
        fleet(ADDRESSES[0], twice)


def test_whoever_asks_it_as_one_model_gets_them_in_turn() -> None:
    members = [ScriptedModel(lambda asked, n=n: f"from {n}", endpoint=str(n)) for n in range(3)]  # type: ignore[misc]
    made = Fleet(members)

    async def ask() -> list[str]:
        said = [(await made.reply(request())).text for _ in range(4)]
        said += [reply.text for reply in await made.replies(request(), 5)]
        await made.close()
        return said

    assert asyncio.run(ask()) == ["from 0", "from 1", "from 2", "from 0", "from 1"]
    assert all(member.is_closed for member in members)
    assert not made.capabilities.is_endpoint, "a user's own classes stay what they are"
