"""Making the model that a user names: provider and name, parameters, URLs, several endpoints (`Fleet`)."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

from eyechart.errors import UnknownName, UsageError
from eyechart.option import expand_number
from eyechart.registry import models, suggest_name
from eyechart.types import Capabilities, Model, ModelSettings, MultiReply, Reply, Request, read_capabilities

SAMPLING = frozenset({"temperature", "top_p", "top_k"})
# Claude from Opus 4.7 on, OpenAI's reasoning models: any vendor's name of them.
_WITHOUT_SAMPLING = re.compile(r"claude-(?:opus-4-[7-9]|[a-z]+-(?:[5-9]|[1-9]\d)\b)|\b(?:o[1-9]|gpt-[5-9])\b")


def refuses_sampling(model: str) -> bool:
    """Whether a model is known to refuse temperature, top_p and top_k.

    >>> refuses_sampling("claude-opus-5-5"), refuses_sampling("anthropic/claude-opus-4.7")
    (True, True)
    >>> refuses_sampling("o3-mini"), refuses_sampling("claude-sonnet-4-20250514")
    (True, False)
    """
    return _WITHOUT_SAMPLING.search(model.replace(".", "-")) is not None


def takes_temperature(spec: str) -> bool:
    """Whether a model is of a provider over HTTP that documents the parameter, and not known to refuse it.

    >>> takes_temperature("openai/m"), takes_temperature("openai/o3"), takes_temperature("baseline/random")
    (True, False, False)
    """
    provider, name = split_spec(spec)
    documented: Collection[str] = getattr(models.get(provider), "parameters", ())
    return "temperature" in documented and not refuses_sampling(name)


def make_model(spec: str, settings: ModelSettings | None = None) -> Model:
    """Make the model that `spec` names: ``provider/name`` or ``python:file.py:Class``."""
    provider, name = split_spec(spec)
    refuse_unknown_provider(provider, name)
    factory, settings = models.get(provider), settings or ModelSettings()
    several = settings.base_url if isinstance(settings.base_url, tuple) else (settings.base_url,)
    made = (_check_model(factory(name, replace(settings, base_url=url)), provider) for url in several)
    first = next(made)
    is_single = len(several) == 1 and settings.endpoint_name is None
    is_addressed = "endpoint" in first.identity or hasattr(first, "address")
    if is_single or not is_addressed:  # one that runs here has no use for addresses
        return first
    return Fleet([first, *made], settings.endpoint_name)


class Fleet:
    """The same model behind several endpoints, or behind one that has a name.

    The engine sends requests to the `members` itself, to the least busy one first, and leaves out those that
    are dead. Asked as one model, it asks the members in turn. With an `endpoint_name`, that name and not the
    addresses is part of the identity: the same model at another port or node is the same model.
    """

    def __init__(self, members: Sequence[Model], endpoint_name: str | None = None) -> None:
        self.members = tuple(members)
        self._endpoint_name = endpoint_name
        self.name = self.members[0].name
        stated = [read_capabilities(member) for member in self.members]
        self.capabilities = Capabilities(
            is_endpoint=all(one.is_endpoint for one in stated),
            takes_rounds=all(one.takes_rounds for one in stated),
            takes_urls=all(one.takes_urls for one in stated),
            takes_tools=all(one.takes_tools for one in stated),
        )
        self._turns = itertools.cycle(self.members)
        self._has_places = "endpoint" in self.members[0].identity
        self.addresses = sorted(
            str(member.identity.get("endpoint") or getattr(member, "address", "")) for member in self.members
        )
        if twice := {one for one in self.addresses if self.addresses.count(one) > 1}:
            raise UsageError(f"a URL is given twice: {min(twice)}", hint="give every --base-url once")

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of any member, with the endpoint's name or all addresses: which of them answers is chance.

        Served weights are the same wherever they are: they have no address in their identity.
        """
        first = self.members[0].identity
        if not self._has_places and not self._endpoint_name:
            return first
        return {**first, "endpoint": self._endpoint_name or self.addresses}

    async def reply(self, request: Request) -> Reply:
        return await next(self._turns).reply(request)

    async def replies(self, request: Request, n: int) -> list[Reply]:
        member = next(self._turns)
        return (
            await member.replies(request, n)
            if isinstance(member, MultiReply)
            else [await member.reply(request)]
        )

    async def close(self) -> None:
        import asyncio  # names of models are read at every start, and this takes its time to import

        await asyncio.gather(*(member.close() for member in self.members))


def split_spec(spec: str) -> tuple[str, str]:
    """Take a model's name apart.

    >>> split_spec("openai/Qwen/Qwen2.5-VL-7B"), split_spec("python:mine.py:Model")
    (('openai', 'Qwen/Qwen2.5-VL-7B'), ('python', 'mine.py:Model'))
    """
    if spec.startswith("python:"):
        return "python", spec.removeprefix("python:")
    provider, slash, name = spec.partition("/")
    if provider and slash and not name:
        raise UsageError(f"{spec!r} has no model name", hint=f"write it as {provider}/NAME")
    if not slash or not provider:
        vendor = next((ours for family, ours in _ALSO_CALLED.items() if family in spec.lower()), "openai")
        raise UsageError(
            f"the model {spec!r} has no provider",
            hint=f"write it as provider/name, e.g. {vendor}/{spec or 'gpt-4o'}; "
            f"providers: {', '.join(models.names())}",
        )
    return provider, name


# Names that people use for providers of ours.
_ALSO_CALLED = {"gemini": "google", "claude": "anthropic"}
# Providers that people ask for by name, and where they serve OpenAI's chat completions.
_ELSEWHERE = {
    "mistral": "https://api.mistral.ai/v1",
    "together": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
    "ollama": "http://localhost:11434/v1",
}


def refuse_unknown_provider(provider: str, name: str) -> None:
    """Say which providers there are, and how to reach the others."""
    known = models.names()
    if provider in known:
        return
    ours = _ALSO_CALLED.get(provider.lower(), "")
    near = f"write {ours}/{name}" if ours in known else suggest_name(provider, known)
    address = _ELSEWHERE.get(provider.lower())
    if address is not None and not near:
        near = f"{provider} has an OpenAI API: -m openai/{name} --base-url {address}"
        near += " --api-key KEY" if address.startswith("https") else ""
    elif not near:
        near = "for an OpenAI-compatible server: -m openai/NAME --base-url URL"
    raise UnknownName(f"unknown provider {provider!r} (known: {', '.join(known)})", hint=near)


def _check_model(made: Model, provider: str) -> Model:
    """Refuse what is not a model: the provider may be a plug-in."""
    missing = [part for part in ("name", "identity", "reply", "close") if not hasattr(made, part)]
    if missing:
        raise UsageError(
            f"the provider {provider!r} returned {type(made).__name__}, which lacks {', '.join(missing)}",
            hint="it must return an eyechart.Model",
        )
    return made


# -- parameters


def parse_parameters(given: Mapping[str, str], *, who: str) -> dict[str, Any]:
    """Parameters of a model from texts: values are JSON where they can be; dotted names are nested.

    >>> parse_parameters({"top_p": "0.9", "stop": "###", "extra_body.skip": "true"}, who="--param")
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    >>> parse_parameters({"max_completion_tokens": "8k", "image_size": "4K"}, who="--param")
    {'max_completion_tokens': 8000, 'image_size': '4K'}
    """
    import msgspec

    found: dict[str, Any] = {}
    for name, text in given.items():
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = expand_number(text) if name.endswith("tokens") else text
        *path, last = name.split(".")
        place = found
        for step in path:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise UsageError(f"{who} {name}=...: {step} already has a value that is not a mapping")
        place[last] = value
    return found


def refuse_unknown(given: set[str], known: set[str], *, who: str, hint: str = "") -> None:
    """Refuse parameters that `who` does not know, naming the nearest known one."""
    for name in sorted(given - known):
        takes = f"parameters: {', '.join(sorted(known)) or 'none'}{'.' * bool(hint)}"
        advice = suggest_name(name, sorted(known), otherwise=takes, at_most=1)
        raise UsageError(f"{who} has no parameter {name!r}", hint=f"{advice} {hint}".strip())


# -- URLs


_WITH_SETTINGS = ("darwin", "win32")  # where the system's own settings may name a proxy


def split_address(url: str) -> SplitResult | None:
    """The parts of an http or https URL; None if it is not one.

    >>> split_address("http://localhost:8000/v1").port, split_address("localhost:8000"), split_address("http://a:b")
    (8000, None, None)
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, an unclosed bracket
        return None
    is_plain = all(mark.isprintable() and not mark.isspace() for mark in url)
    return parts if is_address and is_plain else None


def find_proxy(url: str) -> str | None:
    """The proxy that the environment names. Call it once: it takes longer than a request."""
    if sys.platform not in _WITH_SETTINGS and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # nothing to look up, and urllib.request takes its time to import
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(url)
    said = None if proxy_bypass(target.netloc) else getproxies().get(target.scheme)
    if not said:
        return None
    proxy = said if "://" in said else f"http://{said}"
    if split_address(proxy) is None:
        raise UsageError(
            f"the proxy in {target.scheme}_proxy is not a URL",
            hint="write it like http://proxy:3128, or exempt the endpoint with no_proxy",
        )
    return proxy


def strip_password(text: str) -> str:
    """Remove user and password from the URLs in a message.

    >>> strip_password("407, url='http://me:secret@proxy:3128'")
    "407, url='http://proxy:3128'"
    """
    return re.sub(r"://[^/\s'\"]*@", "://", text)
