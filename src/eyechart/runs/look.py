"""``--look``: which protocol a run follows, with which settings, and who searches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from eyechart.errors import EyechartError, UsageError, name_role
from eyechart.types import Model, read_capabilities

if TYPE_CHECKING:
    from eyechart.engine.look import LookSetup
    from eyechart.look.crops import Rules
    from eyechart.runs.options import Options

_OWN = ("protocol", "max_looks")  # settings that are options by themselves


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the model may look closer: the argument `look` of ``ec.run``.

    >>> Look(protocol="zoom", max_looks=6, params={"scale": 0.5}).list_options()["look_params"]
    {'scale': 0.5}
    """

    protocol: Literal["auto", "search", "zoom", "tools"] = "auto"
    max_looks: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)  # as --look-param: scale, unit, strict, ...
    prompts: str | None = None
    searcher: str | None = None
    searcher_base_url: str | tuple[str, ...] | None = None
    searcher_endpoint_name: str | None = None
    searcher_api_key: str | None = field(default=None, repr=False)
    searcher_api_key_env: str | None = None
    searcher_params: Mapping[str, Any] = field(default_factory=dict)

    def list_options(self) -> dict[str, Any]:
        """The same as options of a run."""
        names = {"protocol": "look", "params": "look_params", "prompts": "look_prompts"}
        return {names.get(one.name, one.name): getattr(self, one.name) for one in fields(self)}


def choose_look(options: Options, model: Model) -> LookSetup | None:
    """How the run looks, checked against its model; None: the images are sent once."""
    if options.look is None:
        return None
    from eyechart.engine.look import LookSetup
    from eyechart.look.wording import read_words

    stated = read_capabilities(model)
    if not stated.takes_messages or stated.takes_rounds:
        raise UsageError(
            f"{model.name} cannot look closer: it is not given messages, in which the crops would be",
            hint="a class of one's own needs generate(messages); leave out --look",
        )
    protocol: Any = options.look
    if protocol == "auto":
        # Many servers of one's own refuse tools unless they were started with a parser for them.
        members = getattr(model, "members", (model,))
        takes_tools = stated.takes_tools and all(getattr(one, "is_official", True) for one in members)
        protocol = "search" if options.searcher else "tools" if takes_tools else "zoom"
    if protocol == "tools" and not stated.takes_tools:
        raise UsageError(f"{model.name} takes no tools", hint="--look=zoom writes the calls as text")
    if (protocol == "search") != bool(options.searcher):
        what = "needs a searcher" if protocol == "search" else "has no searcher: the model names the regions"
        hint = "name it with --searcher MODEL" if protocol == "search" else "leave out --searcher"
        raise UsageError(f"--look={protocol} {what}", hint=hint)
    rules = make_rules(protocol, options.max_looks, options.look_params)
    words = read_words(options.look_prompts) if options.look_prompts else {}
    return LookSetup(rules=rules, words=words, searcher=_make_searcher(options))


def make_rules(
    protocol: Literal["search", "zoom", "tools"], max_looks: int | None, given: Mapping[str, Any]
) -> Rules:
    """The usual settings of a protocol, with those that are given.

    >>> rules = make_rules("zoom", 3, {"scale": "0.5", "unit": "pixels", "crop_max_area": "800k"})
    >>> rules.scale, rules.crop_max_area
    (0.5, 800000.0)
    """
    import msgspec

    from eyechart.look.crops import Rules, usual_rules
    from eyechart.models.specs import refuse_unknown
    from eyechart.option import expand_number

    usual = usual_rules(protocol)
    names = {one.name for one in fields(Rules)} - set(_OWN)
    refuse_unknown(set(given), names, who="--look-param")
    try:
        numbers = {name: expand_number(value) for name, value in given.items()}
        read = msgspec.convert(numbers, Rules, strict=False)
    except msgspec.ValidationError as err:
        raise UsageError(f"--look-param: {err}", hint="see: eyechart docs look") from err
    for name in given:
        if protocol not in _ONLY_IN.get(name, (protocol,)):
            raise UsageError(f"--look-param {name} has no effect with --look={protocol}", hint="leave it out")
        value = getattr(read, name)
        least = 0 if name in _MAY_BE_ZERO else 1 if isinstance(value, int) else 0.01
        if not isinstance(value, str) and not least <= value < math.inf:
            raise UsageError(f"--look-param {name}={value:g}: must be at least {least:g}")
        if name == "scale" and value > 1:
            raise UsageError(f"--look-param scale={value:g}: must be at most 1")
    looks = usual.max_looks if max_looks is None else max_looks
    return replace(usual, max_looks=looks, **{name: getattr(read, name) for name in given})


_ONLY_IN = {  # protocols, of settings that not all of them have
    **dict.fromkeys(("attempts", "margin", "min_side", "min_area", "feedback"), ("search",)),
    **dict.fromkeys(("searcher_unit", "searcher_patch", "searcher_area", "searcher_looks"), ("search",)),
    **dict.fromkeys(("unit", "index", "calls_per_turn"), ("zoom", "tools")),
    "tool_images": ("tools",),
}
_MAY_BE_ZERO = ("margin", "min_side", "min_area", "max_area", "crop_max_area", "feedback", "strict",
                "tool_images", "searcher_looks")  # fmt: skip


def _make_searcher(options: Options) -> Model | None:
    if not options.searcher:
        return None
    from eyechart.models.specs import make_model

    try:
        searcher = make_model(options.searcher, options.make_model_settings("searcher"))
    except EyechartError as err:
        name_role(err, "searcher")
        raise
    if not read_capabilities(searcher).takes_messages:
        raise UsageError(f"{searcher.name} cannot search: it is not given messages")
    return searcher
