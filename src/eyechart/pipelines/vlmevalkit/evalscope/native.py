"""The keys of a task for EvalScope's native backend, which eyechart runs for two data sets.

``TaskConfig(model=..., api_url=..., datasets=["general_vqa"], dataset_args={...})``: each key is used, noted
as without effect, or refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.models.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import (
    BACKEND,
    NO_KEY,
    TASK_KEYS,
    DataEntry,
    ModelEntry,
    Task,
    Values,
    drop_none,
)
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import read_url
from eyechart.pipelines.vlmevalkit.evalscope.general import NAMES, GeneralData, GeneralName
from eyechart.pipelines.vlmevalkit.evalscope.general_score import VQA_METRICS, check_filters
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import format_judge_spec, make_judge_options
from eyechart.registry import models

# Keys beside those of every task, with the values that change nothing.
_USUAL: Mapping[str, Any] = {
    "model_task": "text_generation", "model_args": {}, "chat_template": None, "dataset_hub": "modelscope",
    "analysis_report": False, "use_sandbox": False, "sandbox_type": "docker", "sandbox_manager_config": {},
    "rerun_review": False,
}  # fmt: skip
_REFUSED: Mapping[str, str] = {
    "model_args": "eyechart calls served models and starts none",
    "chat_template": "the server applies its own",
    "model_task": "only text is generated here",
    "agent_config": "a model is asked, not an agent",
    "use_sandbox": "no code is executed",
    "analysis_report": "no report is written by a model",
}
_NO_EFFECT: Mapping[str, str] = {
    "stream": "replies are the same, streamed or whole",
    "judge_worker_num": "EvalScope has removed it; eval_batch_size limits the judge, too",
    "rerun_review": "scores are computed again whenever a scorer changes",
    "dataset_hub": "the files are local",
}
_NO_FIELDS = dict.fromkeys(
    ("extra_headers", "extra_query", "response_schema"), "only fields of the request can be added"
)
_CONCURRENCY = 8  # EvalScope's default for served models
_PACE = ("timeout", "retries", "retry_interval", "batch_size", "stream", "n")
_DATA_KEYS = (
    "local_path", "dataset_id", "subset_list", "prompt_template", "system_prompt", "metric_list", "filters",
    "shuffle", "shuffle_choices", "few_shot_num", "few_shot_random", "aggregation", "review_timeout",
    "force_redownload", "extra_params", "max_image_bytes", "default_subset", "eval_split", "train_split",
)  # fmt: skip
_DATA_USUAL: Mapping[str, Any] = {"aggregation": "mean", "default_subset": "default", "extra_params": {}}
_DATA_REFUSED: Mapping[str, str] = {
    "few_shot_num": "the data set has no examples",
    "shuffle_choices": "EvalScope shuffles the labels but not the prompt, so that its scores mean nothing",
    "aggregation": "only the mean is computed",
    "max_image_bytes": "images are not shrunk to a number of bytes",
    "extra_params": "the data set has none",
    "eval_split": "a subset is one file",
}
_DATA_NO_EFFECT = dict.fromkeys(
    ("review_timeout", "force_redownload", "few_shot_random", "train_split"),
    "the files are local, and scoring has no time limit",
)
_JUDGE_KEYS = (
    "strategy", "models", "contract", "repeats", "position_swap", "aggregation", "min_valid_judges",
)  # fmt: skip
_ONE_JUDGE = dict.fromkeys(("repeats", "position_swap", "min_valid_judges"), "one judge is asked once")
_JUDGE_MODEL_KEYS = (
    "model_id", "judge_id", "api_url", "api_key", "eval_type", "model_args", "generation_config",
)  # fmt: skip
_CONTRACT = ("system_prompt", "prompt_template", "score_mapping", "score_type")


def read_native(given: Mapping[str, Any]) -> Task:
    """The task of the keys `given`, less those that every task has."""
    values = Values(given, "the task", usual=_USUAL)
    values.refuse(_REFUSED, unless=({},))
    if values.mapping("sandbox").get("enabled"):
        raise values.error("sandbox is not possible here: no code is executed", "leave it out")
    values.note(_NO_EFFECT)
    names = _read_names(values.raw("datasets"))
    judge, rules = _read_judge(values)
    config, n = _read_generation(values)
    arguments = values.mapping("dataset_args")
    if stray := sorted(arguments.keys() - {*names}):
        hint = f"datasets: {', '.join(names)}"
        raise UsageError(f"dataset_args has {stray[0]!r}, which is not one of datasets", hint=hint)
    seed, limit = values.whole("seed"), _read_limit(values)
    data, notes = [], values.notes
    for name in names:
        own = Values(arguments.get(name) or {}, f"dataset_args of {name}", usual=_DATA_USUAL)
        data.append(_read_data(name, own, rules, limit, TASK_KEYS["seed"] if seed is None else seed))
        notes = [*notes, *own.notes]
    repeats = n or values.whole("repeats", least=1) or 1
    return Task(
        models=(_read_model(values, config),),
        data=tuple(data),
        options={
            **({"trials": repeats, "separate_trials": True} if repeats > 1 else {}),
            "concurrency": values.whole("eval_batch_size", least=1) or _CONCURRENCY,
            **judge,
        },
        keep_failed=values.truth("ignore_errors"),
        reuse="use_cache" in values,
        notes=tuple(notes),
    )


def _read_names(given: Any) -> list[GeneralName]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, list | tuple) or not several:
        raise UsageError("the task names no datasets", hint=f"possible are: {', '.join(NAMES)}")
    for one in several:
        if one not in NAMES:
            raise UsageError(
                f"the task's datasets has {one!r}; of EvalScope's native backend, eyechart has "
                f"{' and '.join(NAMES)}",
                hint="published benchmarks: eyechart data list; a file of your own: eyechart run FILE -m "
                f"MODEL; VLMEvalKit's way: eval_backend: {BACKEND} with an eval_config",
            )
    return [NAMES[NAMES.index(one)] for one in dict.fromkeys(several)]


# -- The model and its requests


def _read_model(values: Values, config: Mapping[str, Any]) -> ModelEntry:
    """The model; `config` has the options of its requests."""
    name = values.text("model")
    if not name:
        hint = "model: the name under which it is served; api_url: http://localhost:8000/v1"
        raise UsageError("the task names no model", hint=hint)
    kind = values.text("eval_type")
    if kind not in (None, "openai_api", "server", "service"):
        raise UsageError(
            f"the task's eval_type is {kind!r}, which is not possible here",
            hint="eval_type: openai_api with the api_url of a server, such as vLLM or SGLang",
        )
    identity = values.text("model_id") or _make_file_name(name.rpartition("/")[2] or name)
    key, url = values.text("api_key"), values.text("api_url")
    if url:
        options = {"base_url": read_url(url, values.who, "api_url"), "api_key": key or NO_KEY}
        return ModelEntry(spec=f"openai/{name}", name=identity, options={**options, **config})
    if name.startswith("python:") or name.partition("/")[0] in models.names():
        own = {"api_key": key} if key and key != NO_KEY else {}
        return ModelEntry(spec=name, name=identity, options={**own, **config})
    raise UsageError(
        f"the task has no api_url, and eyechart cannot run {name!r}: it calls served models and starts none",
        hint="api_url: http://localhost:8000/v1; or a model of eyechart: openai/NAME, python:file.py:Class",
    )


def _read_generation(values: Values) -> tuple[dict[str, Any], int | None]:
    """The options of requests, and how often each is sent. By default, EvalScope sends a temperature of 0."""
    said = values.mapping("generation_config") or {"temperature": 0.0}
    config = Values(said, "generation_config")
    config.refuse(_NO_FIELDS, hint="extra_body: {...}")
    config.refuse_unknown((OpenAI.parameters | {"stop_seqs", *_PACE}) - {"image_detail"})
    params = {
        "stop" if name == "stop_seqs" else name: value
        for name, value in drop_none(said).items()
        if name not in (*_PACE, "temperature", "max_tokens")
    }
    timeout = values.number("timeout")
    options = {
        "temperature": config.number("temperature"),
        "max_tokens": config.whole("max_tokens", least=1),
        "timeout_s": config.number("timeout") if timeout is None else timeout,
        "retries": config.whole("retries", least=0),
        "params": params or None,
    }
    n = config.whole("n", least=1)
    return drop_none(options), n if n != 1 else None


def _make_file_name(name: str) -> str:
    """The name of a model's folder, as EvalScope makes it.

    >>> _make_file_name("Qwen2.5-VL:7b"), _make_file_name("模型")
    ('Qwen2.5-VL_7b', 'untitled')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9._-]", "_", plain)).strip("._") or "untitled"


# -- The data


def _read_data(
    name: GeneralName, values: Values, rules: Mapping[str, Any], limit: int | float | None, seed: int
) -> DataEntry:
    values.refuse_unknown(_DATA_KEYS)
    values.refuse(_DATA_REFUSED, unless=(0, {}))
    values.note(_DATA_NO_EFFECT)
    path = values.text("local_path") or values.text("dataset_id")
    if not path or not Path(path).expanduser().exists():
        raise UsageError(
            f"{values.who}: no such file or folder: {path}" if path else f"{values.who} has no local_path",
            hint=f"dataset_args: {{{name}: {{local_path: FOLDER, subset_list: [FILE without its ending]}}}}",
        )
    subsets = values.raw("subset_list") or ["default"]
    if not isinstance(subsets, list | tuple) or not all(isinstance(one, str) and one for one in subsets):
        raise values.wrong("subset_list", subsets, "a list of names")
    data = GeneralData(
        name=name,
        path=path,
        subsets=tuple(dict.fromkeys(subsets)),
        limit=limit,
        shuffle_seed=seed if values.truth("shuffle") else None,
        system_prompt=values.text("system_prompt"),
        template=_read_template(name, values),
        rules={**rules, **_read_rules(name, values)},
    )
    return DataEntry(name=name, source=json.dumps(asdict(data), default=str), general=data)


def _read_limit(values: Values) -> int | float | None:
    """Rows of each subset, or a share of them below 1; 0 means all."""
    number = values.number("limit")
    if number is None or number == 0:
        return None
    if number < 0 or (number > 1 and number != int(number)):
        raise values.error(f"limit is {number:g}", "a number of rows, or a share between 0 and 1")
    return int(number) if number == int(number) else number


def _read_template(name: GeneralName, values: Values) -> str | None:
    """The prompt of a choice."""
    template = values.text("prompt_template")
    if template is None or name == "general_vqa":
        values.note({"prompt_template": "the messages of a row are sent as they are"})
        return None
    try:
        filled = template.format(question="[Q]", choices="[C]", letters="[L]")
    except (KeyError, IndexError, ValueError, AttributeError) as err:
        raise values.error(
            f"prompt_template cannot be filled in ({type(err).__name__}: {err})",
            "it may have {question}, {choices} and {letters}; write other braces twice: {{ }}",
        ) from err
    if "[Q]" not in filled:
        raise values.error("prompt_template has no {question}", "add it")
    return template


def _read_rules(name: GeneralName, values: Values) -> dict[str, Any]:
    """What the task changes of scoring."""
    rules: dict[str, Any] = {}
    metrics = values.raw("metric_list")
    possible = tuple(VQA_METRICS) if name == "general_vqa" else ("acc", "accuracy")
    if metrics is not None:
        if not isinstance(metrics, list) or not metrics or any(one not in possible for one in metrics):
            raise values.wrong("metric_list", metrics, f"a list of: {', '.join(possible)}")
        if name == "general_vqa":
            if "Rouge" not in metrics:
                raise values.error("metric_list has no Rouge, the main metric", "add Rouge")
            rules["metrics"] = metrics
    if filters := values.mapping("filters"):
        check_filters(filters)
        rules["filters"] = filters
    return rules


# -- The judge


def _read_judge(values: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the judge, and its part of the scorer's rules; both empty without one."""
    given = values.mapping("judge")
    old = values.mapping("judge_model_args")
    if (old or "judge_strategy" in values) and given:
        raise values.error("judge and judge_strategy or judge_model_args are both given")
    if not given:
        terms = {name: old.pop(name) for name in _CONTRACT if name in old}
        given = {"strategy": values.text("judge_strategy"), "models": [old] if old else [], "contract": terms}
    judge = Values(given, "judge", usual={"repeats": 1, "position_swap": "auto", "aggregation": "mean"})
    judge.refuse_unknown(_JUDGE_KEYS)
    judge.refuse(_ONE_JUDGE, unless=(1, "off"))
    strategy = judge.one_of("strategy", ("auto", "rule", "llm", "llm_recall"), "auto")
    several = judge.raw("models") or []
    entries = [several] if isinstance(several, Mapping) else several
    if strategy in ("auto", "rule"):
        judge.note({"models": f"strategy: {strategy} asks no judge"}, unless=([],))
        values.notes += judge.notes
        return {}, {}
    if len(entries) != 1:
        what = f"{len(entries) or 'no'} models are given"
        raise judge.error(what, "models: [{model_id: NAME, api_url: URL, api_key: KEY}], one judge")
    model = Values(entries[0], "the judge")
    model.refuse_unknown(_JUDGE_MODEL_KEYS)
    model.refuse({"model_args": "the judge is a served model"}, unless=({},))
    judge_name = model.text("model_id")
    if not judge_name:
        raise UsageError("the judge has no model_id", hint="model_id: the name under which it is served")
    contract = Values(judge.mapping("contract"), "the judge's contract", usual={"score_type": "pattern"})
    contract.refuse_unknown(_CONTRACT)
    contract.refuse({"score_type": "a verdict is one of labels"}, hint="score_type: pattern")
    contract.refuse({"system_prompt": "the judge gets one message"}, hint="put it into prompt_template")
    labels = {label: float(value) for label, value in contract.mapping("score_mapping").items()}
    if any(not 0 <= value <= 1 for value in labels.values()):
        raise contract.wrong("score_mapping", labels, "a mapping of labels to values from 0 to 1")
    url = model.text("api_url")
    options = make_judge_options(
        format_judge_spec(judge_name),
        read_url(url, model.who, "api_url") if url else None,
        model.text("api_key"),
        model.mapping("generation_config") or {"temperature": 0.0, "max_tokens": 4096},
    )
    rules = {"strategy": strategy, "prompt": contract.text("prompt_template"), "labels": labels or None}
    return options, drop_none(rules)
