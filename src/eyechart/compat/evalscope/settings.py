"""The keys of an `eval_config`: each is honoured, remarked on, or refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.models import address, read_models, refuse_twins
from eyechart.compat.evalscope.task import DataEntry, Task
from eyechart.compat.evalscope.values import Values
from eyechart.compat.vlmeval.judges import judge_spec
from eyechart.errors import UsageError

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
