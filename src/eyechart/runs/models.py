"""The models of a run by name, each with its own URL, key and parameters if it has them.

On the command line they follow its name: ``openai/m1@http://node1:8000/v1,temperature=0``.
In a configuration file and in Python it can be a mapping with a `name`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from eyechart.errors import UsageError
from eyechart.models.specs import parse_parameters
from eyechart.option import list_file_keys, list_option_names, list_options
from eyechart.runs.options import IMAGES, MODEL, REQUESTS, SAMPLING, Options

# The options of a run that each model can set for itself. Any other name is a parameter of the model.
OWN_OPTIONS = frozenset({*list_option_names(Options, MODEL, IMAGES, REQUESTS), "prices"})
_OF_IMAGES = list_option_names(Options, IMAGES)
_OF_AN_ENDPOINT = ("base_url", "endpoint_name", "api_key", "api_key_env")
_LOCAL = ("baseline/", "python:", "hf/")
_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)  # names may hold an @, but not before a URL
_SETTING = re.compile(r",(?=[A-Za-z_][\w.]*=)")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and its own options."""

    model: str | object
    own: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`; may hold a key

    @property
    def is_baseline(self) -> bool:
        """Whether it takes no parameters except a seed; `tiny-vlm` takes those of local weights."""
        name = self.model if isinstance(self.model, str) else ""
        return name.startswith("baseline/") and name != "baseline/tiny-vlm"

    @property
    def takes_address(self) -> bool:
        """Whether it is served over the network: local models have no URL."""
        return isinstance(self.model, str) and not self.model.startswith(_LOCAL)


def read_model(given: str | Mapping[str, Any] | object) -> ModelChoice:
    """Read a model as users give it: a text, a mapping with a name, or their own object.

    >>> read_model("openai/m@2025@http://a:8000/v1@http://b:8000/v1,temperature=0").model
    'openai/m@2025'
    >>> dict(read_model("openai/m1@http://a:8000/v1,top_p=0.9,seed=7").own)
    {'base_url': 'http://a:8000/v1', 'seed': '7', 'params': {'top_p': 0.9}}
    """
    if isinstance(given, Mapping):
        settings = {str(name).replace("-", "_"): value for name, value in given.items()}
        model = settings.pop("name", None)
        if not isinstance(model, str) or not model:
            raise UsageError(
                "a model given as a mapping has no name", hint="write name: openai/NAME beside its base_url"
            )
        choice = read_model(model)
        return ModelChoice(choice.model, _merge(dict(choice.own), _split_own(settings, model), model))
    if not isinstance(given, str):
        return ModelChoice(given)
    named, *texts = _SETTING.split(given)
    model, *addresses = _ADDRESS.split(named)
    own: dict[str, Any] = {}
    params: dict[str, Any] = {}
    if addresses:
        own["base_url"] = addresses[0] if len(addresses) == 1 else addresses
    for text in texts:
        name, _, value = text.partition("=")
        if name == "api_key":
            raise UsageError(
                f"{model}: a key does not belong in a model's name",
                hint="api_key_env=NAME names the environment variable that holds it",
            )
        is_option = _find_option(name) in Options.__dataclass_fields__
        _merge(own if is_option else params, {name: value}, model)
    return ModelChoice(model, _split_own({**own, **parse_parameters(params, who=model)}, model))


def _find_option(name: str) -> str:
    """The option with this name; names of flags work as well: timeout, max_connections."""
    key = list_file_keys(Options).get(name)
    return key.option if key and key.option in OWN_OPTIONS and not key.is_inverted else name


def _split_own(settings: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Options by name; every other setting becomes a parameter of the model."""
    found: dict[str, Any] = {}
    params: dict[str, Any] = {}
    for name, value in settings.items():
        option = _find_option(name)
        if option == "params" and isinstance(value, Mapping):
            _merge(params, value, model)
        elif option in OWN_OPTIONS:
            _merge(found, {option: value}, model)
        elif option in Options.__dataclass_fields__:
            raise UsageError(
                f"{model}: {name} applies to the whole run, not to one model",
                hint=f"a model can set: {', '.join(sorted(OWN_OPTIONS - {'api_key'}))}, and its parameters",
            )
        else:
            _merge(params, {name: value}, model)
    return {**found, **({"params": params} if params else {})}


def _merge(known: dict[str, Any], more: Mapping[str, Any], model: str) -> dict[str, Any]:
    if twice := known.keys() & more.keys():
        raise UsageError(f"{model}: {min(twice)} is given twice", hint="leave one of them out")
    known.update(more)
    return known


def choose_models(
    models: Sequence[str | Mapping[str, Any] | object], options: Mapping[str, Any]
) -> list[tuple[str | object, Options]]:
    """Each model with its options: those of the run, overridden by its own.

    Several models and as many URLs are paired in order. An option that none of the models can use is refused;
    if only some can use it, local models ignore it.
    """
    choices = [one if isinstance(one, ModelChoice) else read_model(one) for one in models]
    common = Options.of(options)  # an error here names no model
    _refuse_unused(choices, options)
    addresses = _addresses(choices, options)
    given = {one.name: getattr(common, one.name) for one in fields(common)}
    chosen = []
    for n, choice in enumerate(choices):
        own: dict[str, Any] = {**({"base_url": addresses[n]} if n in addresses else {}), **choice.own}
        if not choice.takes_address and (unused := sorted(own.keys() & set(_OF_AN_ENDPOINT))):
            what = f"{choice.model} runs on this machine and takes no {unused[0]}"
            raise UsageError(what, hint=f"leave out {unused[0]}")
        if own.keys() & {"api_key", "api_key_env"}:
            own = {"api_key": None, "api_key_env": None, **own}
        params = {**common.params, **(own.get("params") or {})}
        try:
            whole = Options.of({**given, **own, "params": params}) if own else common
        except UsageError as err:
            raise UsageError(f"{choice.model}: {err.message}", hint=err.hint) from err
        chosen.append((choice.model, whole))
    return chosen


def _refuse_unused(choices: Sequence[ModelChoice], options: Mapping[str, Any]) -> None:
    """Refuse options for endpoints if no model is served, and those that every model sets itself."""
    for name in (*_OF_AN_ENDPOINT, "stream", "temperature", "max_tokens", *_OF_IMAGES):
        if options.get(name) in (None, (), list_options(Options)[name].default) or not choices:
            continue
        flag = f"--{name.replace('_', '-')}"
        is_address = name in (*_OF_AN_ENDPOINT, "stream")
        takers = list(choices)
        if name not in _OF_IMAGES:
            takers = [one for one in choices if (one.takes_address if is_address else not one.is_baseline)]
        kind = "served over the network" if is_address else "of a kind that takes it"
        why, hint = f"no model is {kind}", f"leave it out ({flag})"
        if takers:
            why, hint = "every model has its own", f"leave out {flag}, or the models' own"
        if all(name in one.own for one in takers):
            raise UsageError(f"{name} has no effect: {why}", hint=hint)


def _addresses(choices: Sequence[ModelChoice], options: Mapping[str, Any]) -> dict[int, str]:
    """The URL of each model by its position; empty if all models share them."""
    given = options.get("base_url")
    addresses = list(given) if isinstance(given, list | tuple) else []
    takers = [n for n, one in enumerate(choices) if one.takes_address and "base_url" not in one.own]
    if len(addresses) < 2 or len(takers) < 2:
        return {}
    if len(addresses) != len(takers):
        paired = zip(takers, itertools.cycle(addresses))
        names = " ".join(f"-m {choices[n].model}@{address}" for n, address in paired)
        raise UsageError(
            f"{len(takers)} models and {len(addresses)} URLs: it is not clear which model is served where",
            hint=f"give as many URLs as models, or each model its own: {names}",
        )
    return dict(zip(takers, map(str, addresses), strict=True))


def expand_role_options(options: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Options with the settings behind the name of the judge or the searcher moved to its own options."""
    choice = read_model(options[role])
    if not isinstance(choice.model, str):
        raise UsageError(f"{role} must be the name of a model", hint="write it as openai/NAME")
    found: dict[str, Any] = {}
    params: dict[str, Any] = {}
    for name, value in choice.own.items():
        if name in _OF_AN_ENDPOINT:
            found[f"{role}_{name}"] = value
        elif name in SAMPLING:
            given = {name: value}
            params |= parse_parameters(given, who=f"the {role}") if isinstance(value, str) else given
        elif name == "params":
            params |= value
        else:
            raise UsageError(f"the {role}: {name} applies to the whole run", hint="set it for the run")
    known = {name: value for name, value in options.items() if name != role}
    if params:
        of_role = f"{role}_params"
        found[of_role] = _merge(dict(known.pop(of_role, {})), params, f"the {role}")
    return {**_merge(known, found, f"the {role}"), role: choice.model}
