"""The models of a task: ``CustomAPIModel`` entries, names at one `base_url`, and eyechart's own names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.compat.evalscope.task import ModelEntry
from eyechart.compat.evalscope.values import Values
from eyechart.errors import UsageError
from eyechart.model.openai import PARAMETERS, normal_base_url
from eyechart.registry import did_you_mean, models
from eyechart.report.vlmevalkit.names import model_name

SERVED = "CustomAPIModel"
ENTRY_KEYS = (
    "name", "type", "api_base", "key", "temperature", "max_tokens", "img_size", "total_img_size",
    "img_detail", "max_file_size", "system_prompt", "timeout", "retry", "wait", "video_llm", "use_azure",
    "verbose",
)  # fmt: skip
_MAX_FILE_SIZE = 1e9  # which no picture reaches
# What a request says anyway, or what no answer could be read from.
_OURS = ("model", "messages", "n", "stream")
# OpenAI's models that reason: they take no temperature, and their limit of tokens goes by another name.
_REASONING = re.compile(r"(?<![a-z0-9])(?:o1|o3|o4|gpt-5)", re.IGNORECASE)


def read_models(given: Any, shared: Values, retry: int | None) -> tuple[list[ModelEntry], list[str]]:
    """The models, and remarks on what they say. `shared` holds the keys that stand beside `model`."""
    several = [given] if isinstance(given, str | Mapping) else given
    if not isinstance(several, Sequence) or not several:
        raise UsageError(f"{shared.who} names no model", hint=_how_to_name_one("model"))
    if "base_url" in shared and all(
        isinstance(one, Mapping) and one.get("name") == SERVED for one in several
    ):
        hint = "leave it out, or name the models alone: model: [NAME]"
        raise UsageError(f"{shared.who}: base_url is not possible: every model says its api_base", hint=hint)
    entries, notes = [], []
    for position, one in enumerate(several):
        if isinstance(one, str):
            values = Values({"name": one}, f"model {one!r}")
        else:
            values = Values(one, f"model {position + 1}")
        entries.append(_read_model(values, shared, retry))
        notes += values.notes
    refuse_twins([entry.name for entry in entries], "model")
    return entries, notes


def _read_model(values: Values, shared: Values, retry: int | None) -> ModelEntry:
    name = values.text("name")
    if not name:
        raise UsageError(f"{values.who} has no name", hint=_how_to_name_one(str(values.raw("type") or "")))
    if name == SERVED:
        kind = values.text("type")
        if not kind:
            raise UsageError(
                f"{values.who} has no type", hint="type: the name under which the model is served"
            )
        values.who = f"model {kind!r}"
        return ModelEntry(
            spec=f"openai/{kind}", name=model_name(kind), options=served_options(values, kind, retry)
        )
    if "base_url" in shared:
        values.refuse_unknown(("name",))  # all else is said beside it
        return ModelEntry(
            spec=f"openai/{name}", name=model_name(name), options=_at_base_url(shared, name, retry)
        )
    if name.startswith("openai/"):
        kind = name.removeprefix("openai/")
        return ModelEntry(spec=name, name=model_name(kind), options=served_options(values, kind, retry))
    if name.startswith("python:") or name.partition("/")[0] in models.names():
        return ModelEntry(spec=name, name=model_name(name), options=_own_options(values, retry))
    raise UsageError(
        f"{name!r} is no model that eyechart can run: it asks models that are served, and starts none itself",
        hint=_how_to_name_one(name),
    )


def served_options(values: Values, kind: str, retry: int | None) -> dict[str, Any]:
    """The options of a run, from the keys of an entry of a served model."""
    _refuse_what_is_not_done(values)
    params: dict[str, Any] = {"image_detail": values.one_of("img_detail", ("high", "low"), "high")}
    max_tokens = values.whole("max_tokens", least=1) or 2048
    options: dict[str, Any] = {"params": params, **_common(values, retry)}
    if _REASONING.search(kind):
        params["max_completion_tokens"] = max_tokens
        values.note("temperature", f"{kind} takes none", unless=(0,))
    else:
        options |= {"max_tokens": max_tokens, "temperature": values.number("temperature", usual=0.0)}
    params |= _passed_on(values)
    return options


def _common(values: Values, retry: int | None) -> dict[str, Any]:
    """Where it is served and how patiently it is asked."""
    options: dict[str, Any] = {"timeout_s": _seconds(values, 300.0)}
    if "api_base" in values:
        options["base_url"] = address(values.text("api_base"), values.who, "api_base")
        options["api_key"] = values.text("key") or "EMPTY"  # no other key goes to an address by itself
    elif "key" in values:
        options["api_key"] = values.text("key")
    attempts = retry if retry is not None else values.whole("retry", least=1)
    options["retries"] = (attempts or 6) - 1
    values.note("wait", "pauses between tries grow by themselves and obey the endpoint", unless=(1,))
    values.note("verbose", "verbose in eval_config shows the replies of all models")
    if system := values.text("system_prompt"):
        options["system"] = system
    side = values.whole("img_size")
    if side is not None and side != -1:
        if side < 1:
            raise UsageError(
                f"{values.who}: img_size is {side}", hint="-1: as they are; N: at most N pixels a side"
            )
        options["max_side"] = side
    return options


def _refuse_what_is_not_done(values: Values) -> None:
    hint = "leave it out"
    values.refuse(
        "total_img_size",
        "pictures are measured one by one",
        hint="img_size: N limits the longer side of each",
        unless=(-1,),
    )
    size = values.number("max_file_size")
    if size is not None and size < _MAX_FILE_SIZE:
        raise UsageError(
            f"{values.who}: max_file_size is not possible here: pictures are not shrunk to a number of bytes",
            hint="img_size: N limits the longer side of each",
        )
    values.refuse("video_llm", "there are no videos to send", hint=hint)
    values.refuse("use_azure", "only OpenAI's own form of address is spoken", hint="give api_base and key")


def _passed_on(values: Values) -> dict[str, Any]:
    """What else an entry says goes into the request, as a parameter or as a field that a server may know."""
    params: dict[str, Any] = {}
    for name, value in values.others(ENTRY_KEYS).items():
        if name in _OURS:
            hint = "type names the model" if name == "model" else "leave it out"
            raise UsageError(f"{values.who}: {name} is not for an entry to say", hint=hint)
        if not _can_be_sent(value):
            raise values.wrong(name, value, "something that JSON can hold")
        if name == "extra_body":
            params.setdefault("extra_body", {}).update(_extra_body(values))
        elif name in PARAMETERS:
            params[name] = value
        elif value is not None:
            params.setdefault("extra_body", {})[name] = value
            near = did_you_mean(name, sorted({*ENTRY_KEYS, *PARAMETERS}), at_most=1)
            values.notes.append(f"{values.who}: {name} is sent to the server as it is. {near}".rstrip())
    return params


def _extra_body(values: Values) -> dict[str, Any]:
    """What only a server knows. What the request says anyway is not said twice."""
    said = values.mapping("extra_body")
    for name in said:
        if name in _OURS:
            hint = "leave it out; a model is named where models are named"
            raise UsageError(f"{values.who}: extra_body is not the place for {name}", hint=hint)
    return said


def _seconds(values: Values, usual: float) -> float | None:
    seconds = values.number("timeout", usual=usual)
    if seconds is not None and seconds <= 0:
        raise UsageError(f"{values.who}: timeout is {seconds:g}, but must be more than 0 seconds")
    return seconds


def _can_be_sent(value: Any) -> bool:
    import json

    try:
        json.dumps(value).encode()
    except (TypeError, ValueError):
        return False
    return True


def _own_options(values: Values, retry: int | None) -> dict[str, Any]:
    """A model that runs here, or of another provider: only what is said is handed to it."""
    _refuse_what_is_not_done(values)
    values.refuse("type", "the name says which model it is", hint="leave it out")
    options = _common(values, retry)
    for name in ("temperature", "max_tokens"):
        if name in values:
            options[name] = values.number(name) if name == "temperature" else values.whole(name, least=1)
    params = {"image_detail": values.text("img_detail")} if "img_detail" in values else {}
    return {**options, "params": {**params, **values.others(ENTRY_KEYS)}}


def _at_base_url(shared: Values, name: str, retry: int | None) -> dict[str, Any]:
    """A model that is only named: how it is asked stands beside it."""
    params: dict[str, Any] = {"image_detail": "high"}
    numbers = {one: shared.number(one) for one in ("top_p", "repetition_penalty")}
    said = {**numbers, "top_k": shared.whole("top_k"), "extra_body": _extra_body(shared) or None}
    params |= {one: value for one, value in said.items() if value is not None}
    limit = shared.whole("max_tokens", least=1) or 32768
    options: dict[str, Any] = {
        "base_url": address(shared.text("base_url"), shared.who, "base_url"),
        "api_key": shared.text("key") or "sk-admin",
        "timeout_s": _seconds(shared, 1800.0),
        "retries": (retry or 6) - 1,
        "params": params,
    }
    if _REASONING.search(name):
        params["max_completion_tokens"] = limit
        return options
    temperature = shared.number("temperature")
    return {**options, "max_tokens": limit, **({} if temperature is None else {"temperature": temperature})}


def address(url: str | None, who: str, name: str) -> str:
    """An endpoint's address, with or without /chat/completions; what is none is refused by the key's name."""
    try:
        return normal_base_url(url or "")
    except UsageError as err:
        raise UsageError(f"{who}: {name}: {err.message}", hint=err.hint) from err


def refuse_twins(names: Sequence[str], what: str) -> None:
    """Refuse two of one name: their files would be the same."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two {what}s go by the name {name!r}: the files of one would replace those of the other",
                hint="run them in two tasks, with a work_dir each",
            )


def _how_to_name_one(name: str) -> str:
    served = name or "served-name"
    return (
        "serve it (vLLM, SGLang, any OpenAI-compatible server) and write "
        f"{{name: {SERVED}, type: {served}, "
        "api_base: http://localhost:8000/v1/chat/completions, key: EMPTY}; "
        "or name one of eyechart's own: openai/NAME, python:file.py:Class, baseline/random"
    )
