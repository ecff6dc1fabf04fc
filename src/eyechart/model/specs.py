"""From the model a user names to the model that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.errors import UnknownName, UsageError
from eyechart.registry import did_you_mean, models
from eyechart.types import Model, ModelSettings


def make_model(spec: str, settings: ModelSettings | None = None) -> Model:
    """Make the model that `spec` names: ``provider/name`` or ``python:file.py:Class``."""
    provider, name = split_spec(spec)
    refuse_unknown_provider(provider, name)
    factory, settings = models.get(provider), settings or ModelSettings()

    def make(name: str, settings: ModelSettings) -> Model:
        return _checked(factory(name, settings), provider)

    several = settings.base_url if isinstance(settings.base_url, tuple) else (settings.base_url,)
    members = [make(name, replace(settings, base_url=several[0]))]
    if "endpoint" not in members[0].identity:  # it runs here: an address means nothing to it
        return members[0]
    members += (make(name, replace(settings, base_url=address)) for address in several[1:])
    if len(members) == 1 and settings.endpoint_name is None:
        return members[0]
    from eyechart.model.spread import Spread

    return Spread(members, settings.endpoint_name)


# Providers that people ask for by name, and where they serve OpenAI's chat completions.
_ELSEWHERE = {
    "anthropic": "https://api.anthropic.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "openrouter": "https://openrouter.ai/api/v1",
    "mistral": "https://api.mistral.ai/v1",
    "together": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
    "hf": "",
    "vllm": "",
    "sglang": "",
    "ollama": "http://localhost:11434/v1",
}


def refuse_unknown_provider(provider: str, name: str) -> None:
    """Say which providers there are, and how to reach the others."""
    known = models.names()
    if provider in known:
        return
    near = did_you_mean(provider, known)
    address = _ELSEWHERE.get(provider.lower())
    if address is not None and not near:
        near = f"serve it (vllm serve {name}), then " if not address else f"{provider} speaks OpenAI's API: "
        near += f"-m openai/{name} --base-url {address or 'http://localhost:8000/v1'}"
        near += " --api-key KEY" if address.startswith("https") else ""
    elif not near:
        near = "a server that speaks OpenAI's API is -m openai/NAME --base-url URL"
    raise UnknownName(f"no provider {provider!r} (there are: {', '.join(known)})", hint=near)


def _checked(made: Model, provider: str) -> Model:
    """What a provider made, which may be anybody's."""
    missing = [part for part in ("name", "identity", "reply", "close") if not hasattr(made, part)]
    if missing:
        raise UsageError(
            f"the provider {provider!r} returned {type(made).__name__}, which lacks {', '.join(missing)}",
            hint="it must return a model: eyechart.Model says what one has",
        )
    return made


def split_spec(spec: str) -> tuple[str, str]:
    """Take a model's name apart.

    >>> split_spec("openai/Qwen/Qwen2.5-VL-7B"), split_spec("python:mine.py:Model")
    (('openai', 'Qwen/Qwen2.5-VL-7B'), ('python', 'mine.py:Model'))
    """
    if spec.startswith("python:"):
        return "python", spec.removeprefix("python:")
    provider, slash, name = spec.partition("/")
    if provider and slash and not name:
        raise UsageError(f"{spec!r} does not say which model", hint=f"write it as {provider}/NAME")
    if not slash or not provider:
        raise UsageError(
            f"{spec!r} does not say who provides the model",
            hint=f"write it as provider/name, e.g. openai/{spec or 'gpt-4o'}; "
            f"providers: {', '.join(models.names())}",
        )
    return provider, name


def nested_parameters(given: Mapping[str, str], *, who: str) -> dict[str, Any]:
    """Parameters of a model from texts: values are JSON where they can be; dotted names are nested.

    >>> nested_parameters({"top_p": "0.9", "stop": "###", "extra_body.skip": "true"}, who="--param")
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    """
    import msgspec

    found: dict[str, Any] = {}
    for name, text in given.items():
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        *path, last = name.split(".")
        place = found
        for step in path:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise UsageError(f"{who} {name}=...: {step} has a value already, which holds no names")
        place[last] = value
    return found


def refuse_unknown(given: set[str], known: set[str], *, who: str, hint: str = "") -> None:
    """Refuse parameters that `who` does not know, naming the nearest known one."""
    for name in sorted(given - known):
        takes = f"it takes: {', '.join(sorted(known)) or 'none'}{'.' * bool(hint)}"
        advice = did_you_mean(name, sorted(known), otherwise=takes, at_most=1)
        raise UsageError(f"{who} has no parameter {name!r}", hint=f"{advice} {hint}".strip())
