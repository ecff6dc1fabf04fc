"""From the model a user names to the model that answers."""

from __future__ import annotations

from dataclasses import replace

from eyechart.errors import UsageError
from eyechart.registry import did_you_mean, models
from eyechart.types import Model, ModelSettings


def make_model(spec: str, settings: ModelSettings | None = None) -> Model:
    """Make the model that `spec` names: ``provider/name`` or ``python:file.py:Class``."""
    provider, name = split_spec(spec)
    factory, settings = models.get(provider), settings or ModelSettings()

    def make(name: str, settings: ModelSettings) -> Model:
        return _checked(factory(name, settings), provider)

    if not isinstance(settings.base_url, tuple):
        return make(name, settings)
    from eyechart.model.spread import Spread

    first, *others = settings.base_url
    members = [make(name, replace(settings, base_url=first))]
    if "endpoint" not in members[0].identity:  # it runs here: an address means nothing to it
        return members[0]
    return Spread([*members, *(make(name, replace(settings, base_url=address)) for address in others)])


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


def refuse_unknown(given: set[str], known: set[str], *, who: str, hint: str = "") -> None:
    """Refuse parameters that `who` does not know, naming the nearest known one."""
    for name in sorted(given - known):
        takes = f"it takes: {', '.join(sorted(known)) or 'none'}{'.' * bool(hint)}"
        advice = did_you_mean(name, sorted(known), otherwise=takes, at_most=1)
        raise UsageError(f"{who} has no parameter {name!r}", hint=f"{advice} {hint}".strip())
