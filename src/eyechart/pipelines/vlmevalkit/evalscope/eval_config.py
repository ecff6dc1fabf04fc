"""The keys of an `eval_config`: each is honoured, remarked on, or refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.model.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task, Values
from eyechart.pipelines.vlmevalkit.report import model_name
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import judge_spec
from eyechart.registry import did_you_mean, models

# What each key is when nothing is said, as VLMEvalKit documents it.
EVAL_KEYS: Mapping[str, Any] = {
    "model": (), "data": (), "mode": "all", "limit": None, "reuse": False, "reuse_aux": "all",
    "work_dir": "outputs", "nproc": None, "api_nproc": 4, "retry": 6, "verbose": False, "keep_failed": False,
    "ignore": False, "thinker": False, "judge": None, "judge_args": None, "judge_base_url": None,
    "judge_key": None, "judge_api_nproc": None, "judge_retry": None, "judge_timeout": 600,
    "OPENAI_API_KEY": "EMPTY", "OPENAI_API_BASE": None, "LOCAL_LLM": None, "fps": -1, "nframe": 8,
    "pack": False, "use_subtitle": False, "use_vllm": False, "use_verifier": False, "config": None,
    "base_url": None, "key": "sk-admin", "max_tokens": 32768, "temperature": None, "top_k": None,
    "top_p": None, "repetition_penalty": None, "timeout": 1800, "custom_prompt": None, "extra_body": None,
    "video_llm": False, "local_media": False, "api_mode": False, "monitor_interval": 30, "debug": False,
    "allow_private_urls": False,  # our own
}  # fmt: skip

EXACT = "exact_matching"
_MODES = ("all", "infer", "eval")
_FOR_A_BASE_URL = (
    "key", "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "timeout", "extra_body",
)  # fmt: skip
_REFUSED = {
    "fps": "there are no videos to ask about",
    "nframe": "there are no videos to ask about",
    "pack": "there are no videos to ask about",
    "use_subtitle": "there are no videos to ask about",
    "video_llm": "there are no videos to send",
    "use_vllm": "models are asked where they are served, and none is started",
    "use_verifier": "no local model verifies answers",
    "custom_prompt": "how to ask is said by the data set's class",
    "local_media": "pictures are sent with the request",
}
_OF_A_JUDGE = (
    "judge_args", "judge_base_url", "judge_key", "OPENAI_API_KEY", "OPENAI_API_BASE", "LOCAL_LLM",
)  # fmt: skip
_AUX = {"true": "all", "1": "all", "false": "none", "0": "none"}


def read_eval_config(given: Any) -> Task:
    """The task that an `eval_config` asks for."""
    values = Values(given, "eval_config")
    values.refuse_unknown(EVAL_KEYS)
    for name, why in _REFUSED.items():
        values.refuse(name, why, hint="leave it out", unless=(EVAL_KEYS[name],))
    values.refuse(
        "config", "models and data are named here", hint="or run the file: eyechart vlmeval --config FILE"
    )
    for name in ("ignore", "thinker"):
        values.note(name, "it is deprecated, and did nothing for long")
    values.note("monitor_interval", "the progress line moves by itself", unless=(30,))
    values.truth("api_mode")  # requests are always asynchronous
    if "base_url" not in values:
        for name in _FOR_A_BASE_URL:
            why = "it is for models that are served at a base_url"
            values.refuse(name, why, hint="say it in the model's entry", unless=(EVAL_KEYS[name],))
    retry = values.whole("retry", least=1)
    models, remarks = read_models(values.raw("model"), values, retry)
    judge = _read_judge(values)
    _check_aux(values, has_judge="judge" in judge)
    at_once = values.whole("nproc", least=1) or values.whole("api_nproc", least=1)
    values.note("api_nproc", "nproc goes before it", unless=(EVAL_KEYS["api_nproc"], at_once))
    options = {"limit": _limit(values), "concurrency": at_once, **judge}
    if values.truth("allow_private_urls"):
        options["allow_private_urls"] = True
    return Task(
        models=tuple(models),
        data=read_data(values.raw("data")),
        mode=values.one_of("mode", _MODES, "all"),  # type: ignore[arg-type]  # it is one of them
        options={name: value for name, value in options.items() if value is not None},
        judging=_judging(values, judge, at_once, retry),
        reuse=values.truth("reuse"),
        keep_failed=values.truth("keep_failed"),
        is_verbose=values.truth("verbose") or values.truth("debug"),
        work_dir=values.text("work_dir") or "outputs",
        notes=(*values.notes, *remarks),
    )


def read_data(given: Any) -> tuple[DataEntry, ...]:
    """The sets of questions: names, or paths of files."""
    several = [given] if isinstance(given, str | Path) else given
    if not isinstance(several, Sequence) or not several:
        raise UsageError("eval_config names no data", hint="data: [NAME], for the file $LMUData/NAME.tsv")
    for one in several:
        if not isinstance(one, str | Path) or not str(one).strip():
            raise UsageError(f"eval_config: data holds {one!r}, which is no name of a data set")
    names = [str(one).strip() for one in several]
    entries = tuple(DataEntry(name=_data_name(name), source=name) for name in names)
    refuse_twins([entry.name for entry in entries], "data set")
    return entries


def _data_name(given: str) -> str:
    """The name that files carry: of a path, that of the file without its ending.

    >>> _data_name("my_set"), _data_name("data/my_set.tsv"), _data_name("hf:someone/signs:test")
    ('my_set', 'my_set', 'someone_signs_test')
    """
    from eyechart.data.formats import SUFFIXES

    if given.startswith("hf:"):
        return _for_a_file(given.removeprefix("hf:"))
    path = Path(given)
    return _for_a_file(path.stem if path.suffix.lower() in SUFFIXES else path.name)


def _for_a_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "data"


def _limit(values: Values) -> int | None:
    """The first N questions; 0 means all."""
    return values.whole("limit", least=0) or None


def _read_judge(values: Values) -> dict[str, Any]:
    """The judge's options. None where no judge is named: replies are then read by rules alone."""
    arguments = Values(values.mapping("judge_args"), "judge_args")
    name = arguments.text("model") or values.text("judge")
    if name == EXACT:
        for said in _OF_A_JUDGE:
            values.note(said, f"nobody is asked: judge is {EXACT}", unless=("", {}, EVAL_KEYS[said]))
        return {}
    base = arguments.text("api_base") or values.text("judge_base_url")
    key = arguments.text("key") or values.text("judge_key")
    local, local_base = values.text("LOCAL_LLM"), values.text("OPENAI_API_BASE")
    own_key = values.text("OPENAI_API_KEY")
    if local and local_base:
        name, base, key = local, local_base, own_key or "EMPTY"
    elif local or local_base:
        missing = "LOCAL_LLM" if local_base else "OPENAI_API_BASE"
        hint = "or name the judge with judge, judge_base_url and judge_key"
        raise UsageError(f"eval_config: the judge's {missing} is missing", hint=hint)
    elif own_key != "EMPTY":
        key = key or own_key
    if not name:
        for said in _OF_A_JUDGE:
            values.refuse(said, "there is no judge", hint="judge: NAME names one", unless=("", {}, "EMPTY"))
        return {}
    why = "the judge is asked at the pace of the model; only an evaluate of your own is told"
    for pace in ("judge_api_nproc", "judge_retry", "judge_timeout"):
        values.note(pace, why, unless=(EVAL_KEYS[pace], values.raw(pace.removeprefix("judge_"))))
    for pace in ("nproc", "retry", "timeout"):
        arguments.note(pace, why)
    values.notes += arguments.notes
    parameters = arguments.others(("model", "api_base", "key", "nproc", "retry", "timeout", "verbose"))
    found = {
        "judge": judge_spec(name),
        "judge_base_url": address(base, values.who, "the judge's address") if base else None,
        "judge_api_key": key or ("EMPTY" if base else None),
        "judge_params": parameters or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _check_aux(values: Values, *, has_judge: bool) -> None:
    """What is reused besides replies. Rules cost nothing: it matters only where a judge has spoken."""
    said = str(values.raw("reuse_aux") if values.raw("reuse_aux") is not None else "all").lower()
    said = _AUX.get(said, said)
    if said not in ("all", "infer", "none"):
        raise UsageError(f"eval_config: reuse_aux is {said!r}", hint="one of: all, infer, none")
    if said != "all" and has_judge and values.truth("reuse"):
        raise UsageError(
            f"eval_config: reuse_aux: {said} is not possible with reuse: true and a judge",
            hint="verdicts are kept with the replies they are about: leave out reuse to ask for both again",
        )


def _judging(
    values: Values, judge: Mapping[str, Any], at_once: int | None, retry: int | None
) -> dict[str, Any]:
    """What an `evaluate` of the user's own is called with."""
    timeout = values.number("judge_timeout")
    found: dict[str, Any] = {
        "nproc": values.whole("judge_api_nproc", least=1) or at_once or EVAL_KEYS["api_nproc"],
        "verbose": values.truth("verbose"),
        "retry": values.whole("judge_retry", least=1) or retry or EVAL_KEYS["retry"],
        "timeout": int(timeout) if timeout is not None and timeout == int(timeout) else timeout or 600,
    }
    name = values.text("judge") or str(judge.get("judge", "")).removeprefix("openai/")
    if name:
        found["model"] = name
    if "judge_base_url" in judge:
        found["api_base"] = judge["judge_base_url"]
    if "judge_api_key" in judge:
        found["key"] = judge["judge_api_key"]
    extra = values.mapping("judge_args")
    return {**found, **extra}


# -- The models of a task: ``CustomAPIModel`` entries, names at one `base_url`, and eyechart's own names.

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
        elif name in OpenAI.parameters:
            params[name] = value
        elif value is not None:
            params.setdefault("extra_body", {})[name] = value
            near = did_you_mean(name, sorted({*ENTRY_KEYS, *OpenAI.parameters}), at_most=1)
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
        return OpenAI.normalise_url(url or "")
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
