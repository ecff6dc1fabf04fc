"""The keys of an `eval_config`: each one is used, noted as without effect, or refused.

`read_eval_config` turns them into a `Task`; `read_models` reads the entries of `model`, `read_data` those of
`data`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.data.files.formats import SUFFIXES
from eyechart.errors import UsageError
from eyechart.models.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import (
    NO_KEY,
    DataEntry,
    ModelEntry,
    Task,
    Values,
    drop_none,
)
from eyechart.pipelines.vlmevalkit.report import NO_JUDGE, format_model_name, to_file_name
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import (
    JUDGE_ARGUMENTS,
    REASONING,
    find_judge_spec,
    format_judge_spec,
    make_judge_options,
)
from eyechart.registry import models, suggest_name

DEFAULT_JUDGE = "gpt-4o-mini"  # of VLMEvalKit, for multiple choice
# Every key with its default, as VLMEvalKit documents it.
EVAL_KEYS: Mapping[str, Any] = {
    "model": (), "data": (), "mode": "all", "limit": None, "reuse": False, "reuse_aux": "all",
    "work_dir": "outputs", "nproc": None, "api_nproc": 4, "retry": 6, "verbose": False, "keep_failed": False,
    "ignore": False, "thinker": False, "judge": None, "judge_args": None, "judge_base_url": None,
    "judge_key": None, "judge_api_nproc": None, "judge_retry": None, "judge_timeout": 600,
    "OPENAI_API_KEY": NO_KEY, "OPENAI_API_BASE": None, "LOCAL_LLM": None, "fps": -1, "nframe": 8,
    "pack": False, "use_subtitle": False, "use_vllm": False, "use_verifier": False, "config": None,
    "base_url": None, "key": "sk-admin", "max_tokens": 32768, "temperature": None, "top_k": None,
    "top_p": None, "repetition_penalty": None, "timeout": 1800, "custom_prompt": None, "extra_body": None,
    "video_llm": False, "local_media": False, "api_mode": False, "monitor_interval": 30, "debug": False,
    "allow_private_urls": False, "thinking": None,  # of eyechart
}  # fmt: skip
# Keys that are refused unless they have their default, and why.
_NO_VIDEOS = "only images are supported, not videos"
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("fps", "nframe", "pack", "use_subtitle", "video_llm"), _NO_VIDEOS),
    "use_vllm": "eyechart calls served models and starts none; serve it: vllm serve NAME",
    "use_verifier": "there is no local verifier; judge: NAME is a served model that reads replies",
    "custom_prompt": "the class of the dataset makes the prompt; eyechart run has --prompt-template",
    "local_media": "images are sent inside the request",
}
_NO_EFFECT: Mapping[str, str] = {
    **dict.fromkeys(("ignore", "thinker"), "it is deprecated and unused"),
    "monitor_interval": "the progress line is always live",
    "api_mode": "requests and scoring always overlap",
}
_LISTED = {"config": "eval_config itself names models and data"}
# How a model is called that is only named.
OF_A_MODEL = (
    "key", "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "extra_body", "timeout",
)  # fmt: skip
_FOR_A_BASE_URL = dict.fromkeys(OF_A_MODEL, "it applies to models at a base_url")
_OF_A_JUDGE = (
    "judge_args", "judge_base_url", "judge_key", "OPENAI_API_KEY", "OPENAI_API_BASE", "LOCAL_LLM",
)  # fmt: skip
_PACE = ("nproc", "retry", "timeout")
_OWN_PACE = "the judge has the limits of the model; only your own evaluate receives it"
_AUX = {"true": "all", "1": "all", "false": "none", "0": "none"}


def read_eval_config(given: Any) -> Task:
    """The task of an `eval_config`."""
    values = Values(given, "eval_config", usual=EVAL_KEYS)
    values.refuse_unknown(EVAL_KEYS)
    values.refuse(_REFUSED)
    values.refuse(_LISTED, hint="eyechart vlmeval --config FILE runs it")
    values.note(_NO_EFFECT)
    if "base_url" not in values:
        values.refuse(_FOR_A_BASE_URL, hint="write it into the model's entry")
    retry = values.whole("retry", least=1)
    models = read_models(values.raw("model"), values, retry)
    judge = _read_judge(values)
    _check_aux(values, has_judge="judge" in judge)
    at_once = values.whole("nproc", least=1) or values.whole("api_nproc", least=1)
    values.note({"api_nproc": "nproc takes precedence"}, unless=(at_once,))
    thinking = values.one_of("thinking", ("auto", "keep", "split"), "")
    named = values.mapping("judge_args").get("model") or values.text("judge")
    options = {
        "limit": values.whole("limit", least=0) or None,  # 0 means all
        "concurrency": at_once,
        **judge,
        "allow_private_urls": values.truth("allow_private_urls") or None,
        # As published: with SPLIT_THINK, predictions have no thoughts.
        "thinking": thinking or ("split" if os.environ.get("SPLIT_THINK") else None),
    }
    return Task(
        models=models,
        data=read_data(values.raw("data")),
        mode=values.one_of("mode", ("all", "infer", "eval"), "all"),  # type: ignore[arg-type]  # it is one
        options=drop_none(options),
        # As published, a local judge replaces the judge and not its name in files.
        judge_name=str(named or (DEFAULT_JUDGE if values.text("LOCAL_LLM") else "")) if judge else "",
        local_judge=values.text("LOCAL_LLM") or "",
        judging=_make_judging(values, judge, at_once, retry),
        reuse=values.truth("reuse"),
        keep_failed=values.truth("keep_failed"),
        is_verbose=values.truth("verbose") or values.truth("debug"),
        work_dir=values.text("work_dir") or "outputs",
        notes=tuple(values.notes),
    )


def read_data(given: Any) -> tuple[DataEntry, ...]:
    """The datasets: names, or paths of files."""
    several = [given] if isinstance(given, str | Path) else given
    if not isinstance(several, Sequence) or not several:
        raise UsageError("eval_config names no data", hint="data: [NAME], for the file $LMUData/NAME.tsv")
    for one in several:
        if not isinstance(one, str | Path) or not str(one).strip():
            raise UsageError(f"eval_config: data holds {one!r}, which is not the name of a dataset")
    sources = [str(one).strip() for one in several]
    refuse_duplicates(names := [*map(_data_name, sources)], "dataset")
    return tuple(DataEntry(name=name, source=source) for name, source in zip(names, sources, strict=True))


def _data_name(given: str) -> str:
    """The name of its files: of a path, the file name without its ending.

    >>> _data_name("my_set"), _data_name("data/my_set.tsv"), _data_name("hf:someone/signs:test")
    ('my_set', 'my_set', 'someone_signs_test')
    """
    if given.startswith("hf:"):
        return to_file_name(given.removeprefix("hf:")) or "data"
    path = Path(given)
    return to_file_name(path.stem if path.suffix.lower() in SUFFIXES else path.name) or "data"


def refuse_duplicates(names: Sequence[str], what: str) -> None:
    """Refuse two of the same name: they would write the same files."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two {what}s have the name {name!r}: one would overwrite the files of the other",
                hint="run them as two tasks, each with its own work_dir",
            )


# -- The judge


def _read_judge(values: Values) -> dict[str, Any]:
    """The options of the judge; empty without one: replies are then read by rules alone."""
    arguments = Values(values.mapping("judge_args"), "judge_args")
    name = arguments.text("model") or values.text("judge")
    if name == NO_JUDGE:
        values.note(dict.fromkeys(_OF_A_JUDGE, f"judge: {NO_JUDGE} calls no judge"), unless=("", {}))
        return {}
    base = arguments.text("api_base") or values.text("judge_base_url")
    key = arguments.text("key") or values.text("judge_key")
    local, local_base = values.text("LOCAL_LLM"), values.text("OPENAI_API_BASE")
    own_key = values.text("OPENAI_API_KEY") or NO_KEY
    if local and local_base:
        name, base, key = local, local_base, own_key
    elif local or local_base:
        missing = "LOCAL_LLM" if local_base else "OPENAI_API_BASE"
        raise values.error(f"the judge's {missing} is missing", "or give judge, judge_base_url and judge_key")
    elif own_key != NO_KEY:
        key = key or own_key
    if not name:
        no_judge = dict.fromkeys(_OF_A_JUDGE, "no judge is given")
        values.refuse(no_judge, hint="add judge: NAME", unless=("", {}, NO_KEY))
        return {}
    for pace in _PACE:
        values.note({f"judge_{pace}": _OWN_PACE}, unless=(values.raw(pace),))
    arguments.note(dict.fromkeys(_PACE, _OWN_PACE))
    values.notes += arguments.notes
    asked = name if local else find_judge_spec(name).removeprefix("openai/")
    if asked != name.removeprefix("openai/"):
        values.notes.append(f"judge {name}: requested as {asked}, as by VLMEvalKit")
    url = read_url(base, values.who, "the URL of the judge") if base else None
    return make_judge_options(format_judge_spec(name), url, key, arguments.others(JUDGE_ARGUMENTS))


def _check_aux(values: Values, *, has_judge: bool) -> None:
    """`reuse_aux`: what is reused besides replies. It only matters with a judge, since rules cost nothing."""
    said = str("all" if values.raw("reuse_aux") is None else values.raw("reuse_aux")).lower()
    said = _AUX.get(said, said)
    if said not in ("all", "infer", "none"):
        raise values.error(f"reuse_aux is {said!r}", "one of: all, infer, none")
    if said != "all" and has_judge and values.truth("reuse"):
        raise values.error(
            f"reuse_aux: {said} is not possible with reuse: true and a judge",
            "verdicts are stored with their replies: leave out reuse to request both again",
        )


def _make_judging(
    values: Values, judge: Mapping[str, Any], at_once: int | None, retry: int | None
) -> dict[str, Any]:
    """The arguments of a user's `evaluate`."""
    timeout = values.number("judge_timeout")
    found: dict[str, Any] = {
        "nproc": values.whole("judge_api_nproc", least=1) or at_once or EVAL_KEYS["api_nproc"],
        "verbose": values.truth("verbose"),
        "retry": values.whole("judge_retry", least=1) or retry or EVAL_KEYS["retry"],
        "timeout": int(timeout) if timeout is not None and timeout == int(timeout) else timeout or 600,
        "model": values.text("judge") or str(judge.get("judge", "")).removeprefix("openai/") or None,
        "api_base": judge.get("judge_base_url"),
        "key": judge.get("judge_api_key"),
    }
    return {**drop_none(found), **values.mapping("judge_args")}


# -- The models: ``CustomAPIModel`` entries, names at one `base_url`, and model specifications of eyechart

SERVED = "CustomAPIModel"
ENTRY_KEYS = (
    "name", "type", "api_base", "key", "temperature", "max_tokens", "img_size", "total_img_size",
    "img_detail", "max_file_size", "system_prompt", "timeout", "retry", "wait", "video_llm", "use_azure",
    "verbose",
)  # fmt: skip
_ENTRY_USUAL = {"total_img_size": -1, "wait": 1, "max_file_size": 1e9}
_ENTRY_REFUSED: Mapping[str, str] = {
    "total_img_size": "image sizes are limited one by one; img_size: N limits the longer side of each image",
    "max_file_size": "images are not shrunk to a number of bytes; img_size: N limits the longer side of each",
    "video_llm": _NO_VIDEOS,
    "use_azure": "Azure's API is not supported; give api_base and key",
}
_ENTRY_NO_EFFECT: Mapping[str, str] = {
    "wait": "delays between attempts increase, and follow Retry-After",
    "verbose": "verbose in eval_config prints the replies of all models",
}
# Fields of the request that eyechart sets itself.
_OWN_FIELDS = ("model", "messages", "n", "stream")


def read_models(given: Any, shared: Values, retry: int | None) -> tuple[ModelEntry, ...]:
    """The models. `shared` holds the keys beside `model`."""
    several = [given] if isinstance(given, str | Mapping) else given
    if not isinstance(several, Sequence) or not several:
        raise UsageError(f"{shared.who} names no model", hint=_format_model_hint("model"))
    if "base_url" in shared and all(
        isinstance(one, Mapping) and one.get("name") == SERVED for one in several
    ):
        hint = "leave it out, or give the names alone: model: [NAME]"
        raise shared.error("base_url is not possible: every model has its api_base", hint)
    entries = []
    for number, one in enumerate(several, start=1):
        said, who = ({"name": one}, f"model {one!r}") if isinstance(one, str) else (one, f"model {number}")
        entries.append(_read_model(Values(said, who, usual=_ENTRY_USUAL), shared, retry))
    refuse_duplicates([entry.name for entry in entries], "model")
    return tuple(entries)


def _read_model(values: Values, shared: Values, retry: int | None) -> ModelEntry:
    name = values.text("name")
    if not name:
        raise UsageError(f"{values.who} has no name", hint=_format_model_hint(str(values.raw("type") or "")))
    spec, kind = name, name
    if name == SERVED:
        kind = values.text("type") or ""
        if not kind:
            raise UsageError(
                f"{values.who} has no type", hint="type: the name under which the model is served"
            )
        values.who = f"model {kind!r}"
        spec, options = f"openai/{kind}", _read_served_options(values, kind, retry)
    elif "base_url" in shared:
        values.refuse_unknown(("name",))  # everything else stands beside it
        spec, options = f"openai/{name}", _read_base_url_options(shared, name, retry)
    elif name.startswith("openai/"):
        kind = name.removeprefix("openai/")
        options = _read_served_options(values, kind, retry)
    elif name.startswith("python:") or name.partition("/")[0] in models.names():
        options = _read_own_options(values, retry)
    else:
        raise UsageError(
            f"eyechart cannot run {name!r}: it calls served models and starts none",
            hint=_format_model_hint(name),
        )
    return ModelEntry(spec=spec, name=format_model_name(kind), options=options, notes=tuple(values.notes))


def _format_model_hint(name: str) -> str:
    return (
        "serve it (vLLM, SGLang, any OpenAI-compatible server) and write "
        f"{{name: {SERVED}, type: {name or 'served-name'}, "
        "api_base: http://localhost:8000/v1/chat/completions, key: EMPTY}; "
        "or use a model of eyechart: openai/NAME, python:file.py:Class, baseline/random"
    )


def _read_served_options(values: Values, kind: str, retry: int | None) -> dict[str, Any]:
    """The options of a run, from the entry of a served model."""
    options = _read_common_options(values, retry)
    params: dict[str, Any] = {"image_detail": values.one_of("img_detail", ("high", "low"), "high")}
    max_tokens = values.whole("max_tokens", least=1) or 2048
    if REASONING.search(kind):
        params["max_completion_tokens"] = max_tokens
        values.note({"temperature": f"{kind} takes none"}, unless=(0,))
    else:
        options |= {"max_tokens": max_tokens, "temperature": values.number("temperature") or 0.0}
    return {**options, "params": {**params, **_read_other_keys(values)}}


def _read_own_options(values: Values, retry: int | None) -> dict[str, Any]:
    """The options of a local model or of another provider: only what is given."""
    values.refuse({"type": "the name already identifies the model"})
    own = {"temperature": values.number("temperature"), "max_tokens": values.whole("max_tokens", least=1)}
    params = drop_none({"image_detail": values.text("img_detail")}) | values.others(ENTRY_KEYS)
    return {**_read_common_options(values, retry), **drop_none(own), "params": params}


def _read_base_url_options(shared: Values, name: str, retry: int | None) -> dict[str, Any]:
    """The options of a model that is only named, from the keys beside it."""
    limit = shared.whole("max_tokens", least=1) or 32768
    is_reasoning = REASONING.search(name) is not None
    params = {
        "image_detail": "high",
        "top_p": shared.number("top_p"),
        "repetition_penalty": shared.number("repetition_penalty"),
        "top_k": shared.whole("top_k"),
        "extra_body": _read_extra_body(shared) or None,
        "max_completion_tokens": limit if is_reasoning else None,
    }
    return drop_none(
        {
            "base_url": read_url(shared.text("base_url"), shared.who, "base_url"),
            "api_key": shared.text("key") or "sk-admin",
            "timeout_s": _read_timeout(shared, 1800.0),
            "retries": (retry or 6) - 1,
            "params": drop_none(params),
            "max_tokens": None if is_reasoning else limit,
            "temperature": None if is_reasoning else shared.number("temperature"),
        }
    )


def _read_common_options(values: Values, retry: int | None) -> dict[str, Any]:
    """The URL of a model and the limits of its requests; refuses what is not supported."""
    limit = values.number("max_file_size")
    values.refuse(_ENTRY_REFUSED, unless=(limit,) if limit is not None and limit >= 1e9 else ())
    values.note(_ENTRY_NO_EFFECT)
    attempts = retry if retry is not None else values.whole("retry", least=1)
    options: dict[str, Any] = {"timeout_s": _read_timeout(values, 300.0), "retries": (attempts or 6) - 1}
    if "api_base" in values:
        options["base_url"] = read_url(values.text("api_base"), values.who, "api_base")
        options["api_key"] = values.text("key") or NO_KEY  # never a key of the environment
    elif "key" in values:
        options["api_key"] = values.text("key")
    if system := values.text("system_prompt"):
        options["system"] = system
    side = values.whole("img_size")
    if side is not None and side != -1:
        if side < 1:
            raise values.error(f"img_size is {side}", "-1: unchanged; N: at most N pixels per side")
        options["max_side"] = side
    return options


def _read_other_keys(values: Values) -> dict[str, Any]:
    """All other keys of an entry go into the request, as parameters or as fields for the server."""
    params: dict[str, Any] = {}
    for name, value in values.others(ENTRY_KEYS).items():
        if name in _OWN_FIELDS:
            hint = "type names the model" if name == "model" else "leave it out"
            raise values.error(f"{name} cannot be set in an entry", hint)
        try:
            json.dumps(value).encode()
        except (TypeError, ValueError) as err:
            raise values.wrong(name, value, "a JSON value") from err
        if name == "extra_body":
            params.setdefault("extra_body", {}).update(_read_extra_body(values))
        elif name in OpenAI.parameters:
            params[name] = value
        elif value is not None:
            params.setdefault("extra_body", {})[name] = value
            near = suggest_name(name, sorted({*ENTRY_KEYS, *OpenAI.parameters}), at_most=1)
            values.notes.append(f"{values.who}: {name} is sent to the server unchanged. {near}".rstrip())
    return params


def _read_extra_body(values: Values) -> dict[str, Any]:
    """Further fields for the server. They must not replace a field of the request."""
    fields = values.mapping("extra_body")
    for name in fields.keys() & {*_OWN_FIELDS}:
        raise values.error(f"extra_body cannot set {name}", "leave it out")
    return fields


def _read_timeout(values: Values, usual: float) -> float:
    seconds = values.number("timeout")
    if seconds is not None and seconds <= 0:
        raise values.error(f"timeout is {seconds:g}, but must be more than 0 seconds")
    return seconds or usual


def read_url(url: str | None, who: str, name: str) -> str:
    """The URL of an endpoint, with or without /chat/completions; errors name the key."""
    try:
        return OpenAI.normalise_url(url or "")
    except UsageError as err:
        raise UsageError(f"{who}: {name}: {err.message}", hint=err.hint) from err
