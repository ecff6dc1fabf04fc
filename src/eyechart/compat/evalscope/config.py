"""The configuration of a task, in every form in which EvalScope takes one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.compat.evalscope.task import Task
from eyechart.compat.evalscope.values import Values
from eyechart.errors import UsageError
from eyechart.model.redact import HIDDEN, is_secret, without_secrets
from eyechart.registry import did_you_mean
from eyechart.run.config_files import SUFFIXES, decode_json, load_file

BACKEND = "VLMEvalKit"
_BACKENDS = ("Native", "OpenCompass", BACKEND, "RAGEval", "ThirdParty")
# The keys beside `eval_config` that mean something with this backend, and what they are when not said.
TASK_KEYS: Mapping[str, Any] = {
    "eval_backend": "Native", "eval_config": None, "work_dir": "./outputs", "no_timestamp": False,
    "use_cache": None, "seed": 42, "debug": False, "dry_run": False,
}  # fmt: skip
_KEYS = ("key", "judge_key", "OPENAI_API_KEY")  # where a task holds the keys of endpoints
_FROM_ENVIRONMENT = "_env"  # ends the name of a key that stands in an environment variable
NO_KEY = "EMPTY"  # what servers without a key are sent
SIGNS = frozenset({"eval_backend", "eval_config"})  # the keys by which a task is known
# Those that only EvalScope's native backend reads.
NATIVE_KEYS = frozenset({
    "analysis_report", "api_key", "api_url", "chat_template", "dataset_args", "dataset_dir", "dataset_hub",
    "datasets", "enable_progress_tracker", "eval_batch_size", "eval_type", "generation_config",
    "ignore_errors", "judge", "judge_model_args", "judge_strategy", "judge_worker_num", "limit", "model",
    "model_args", "model_id", "model_task", "outputs", "repeats", "rerun_review", "sandbox_manager_config",
    "sandbox_type", "stream", "timeout", "use_sandbox",
})  # fmt: skip


class TaskConfig:
    """A task in Python: ``TaskConfig(eval_backend="VLMEvalKit", eval_config={...}, work_dir="outputs")``.

    Takes keywords or one mapping; what is said can be read, and changed, as attributes.

    >>> config = TaskConfig(eval_backend="VLMEvalKit", eval_config={"data": ["mine"]})
    >>> config.eval_config["data"], config.work_dir, config.said()["eval_backend"]
    (['mine'], './outputs', 'VLMEvalKit')
    """

    eval_backend: Any
    eval_config: Any
    work_dir: Any

    def __init__(self, given: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        said = {**(given or {}), **more}
        _refuse_unknown(said)
        self.__dict__.update(said)

    def __getattr__(self, name: str) -> Any:
        if name in TASK_KEYS or name in NATIVE_KEYS:
            return TASK_KEYS.get(name)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"TaskConfig({', '.join(self.__dict__)})"  # values may be keys

    def said(self) -> dict[str, Any]:
        """What was set, by keyword or as an attribute."""
        return dict(self.__dict__)

    def to_dict(self) -> dict[str, Any]:
        """Every key that matters here, those that were not set included."""
        return {**TASK_KEYS, **self.__dict__}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> TaskConfig:
        """The same as ``TaskConfig(given)``."""
        return cls(given)

    @classmethod
    def from_yaml(cls, path: str) -> TaskConfig:
        """A configuration in a file, which may be JSON or Python as well."""
        return cls(_mapping(path))

    from_json = from_yaml


def read_task(given: Any) -> Task:
    """The task that a dict, an object, or a file asks for. Everything is checked, nothing is touched."""
    said = {name: value for name, value in _mapping(given).items() if value is not None}
    _refuse_unknown(said)
    values = Values(said, "the task")
    _check_backend(values)
    for name in said:
        if name in NATIVE_KEYS:
            raise UsageError(
                f"the task's {name} is for EvalScope's native backend, and would be ignored here",
                hint=f"what {name} is to say belongs into eval_config",
            )
    config = _eval_config(values.raw("eval_config"))
    _refuse_hidden({**said, "eval_config": config})
    seed = values.whole("seed")
    from eyechart.compat.evalscope.settings import read_eval_config

    task = read_eval_config(_with_keys(config))
    return replace(
        task,
        work_dir=values.text("work_dir") or task.work_dir,
        is_stamped=not values.truth("no_timestamp"),
        use_cache=values.text("use_cache"),
        seed=TASK_KEYS["seed"] if seed is None else seed,
        is_verbose=task.is_verbose or values.truth("debug"),
        is_dry_run=values.truth("dry_run"),
        described=_described({**said, "eval_config": config}),
    )


def read_tasks(given: Any) -> Task | list[Task]:
    """The task that is given in any form, or the tasks of a list, which may also stand in a file."""
    content = _file(Path(given)) if isinstance(given, str | Path) else given
    if not isinstance(content, list | tuple):
        if isinstance(given, str | Path) and not isinstance(content, Mapping):
            raise UsageError(f"{given} does not hold a mapping of names to values, or a list of these")
        return read_task(content)
    found: list[Task] = []
    for number, one in enumerate(content, start=1):
        try:
            several = read_tasks(one)
        except UsageError as err:
            raise UsageError(f"task {number} of {len(content)}: {err.message}", hint=err.hint) from err
        found += several if isinstance(several, list) else [several]
    return found


def is_task(content: Any) -> bool:
    """Whether a configuration is one of EvalScope's, or a list with such: by its keys."""
    if isinstance(content, list):  # a row of data may have such a column, but hardly an object in it
        return any(is_task(one) and isinstance(one.get("eval_config"), Mapping) for one in content)
    return isinstance(content, Mapping) and bool(content.keys() & SIGNS)


def _mapping(given: Any) -> Mapping[str, Any]:
    """A configuration as names with values."""
    if isinstance(given, str | Path):
        content = _file(Path(given))
        if not isinstance(content, Mapping):
            raise UsageError(f"{given} does not hold a mapping of names to values")
        return content
    if isinstance(given, Mapping):
        return given
    if isinstance(given, TaskConfig):
        return given.said()
    if hasattr(given, "eval_config"):
        return _said_by(given)
    raise UsageError(
        f"{type(given).__name__} is no kind of task",
        hint="give a dict, a TaskConfig, the path of a .yaml, .json or .py file, or a list of these",
    )


def _file(path: Path) -> Any:
    path = path.expanduser()
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path} is no configuration by its ending", hint=f"known: {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    return load_file(path)


def _said_by(given: Any) -> dict[str, Any]:
    """What an object says of itself; one that remembers what was set, as pydantic's do, says only that."""
    names = getattr(given, "model_fields_set", None)
    if names is None:
        names = getattr(given, "__dict__", None) or [*TASK_KEYS, *NATIVE_KEYS]
    return {name: getattr(given, name, None) for name in names if not name.startswith("_")}


def _refuse_unknown(said: Mapping[str, Any]) -> None:
    known = sorted({*TASK_KEYS, *NATIVE_KEYS})
    for name in said:
        if name not in known:
            from eyechart.compat.evalscope.settings import EVAL_KEYS

            listed = f"it knows: {', '.join(TASK_KEYS)}"
            hint = did_you_mean(str(name), known, otherwise=listed, at_most=1)
            raise UsageError(
                f"the task has no key {str(name)!r}",
                hint=f"write {name} inside eval_config" if name in EVAL_KEYS else hint,
            )


def _check_backend(values: Values) -> None:
    backend = values.text("eval_backend")
    if backend == BACKEND:
        return
    if backend is None or backend in _BACKENDS:
        what = "is not given, which means Native" if backend is None else f"is {backend}"
        raise UsageError(
            f"the task's eval_backend {what}, and eyechart takes the place of VLMEvalKit alone",
            hint=f"write eval_backend: {BACKEND}; to ask a file of your own: eyechart run FILE -m MODEL",
        )
    hint = did_you_mean(backend, list(_BACKENDS), otherwise=f"write eval_backend: {BACKEND}", at_most=1)
    raise UsageError(f"there is no eval_backend named {backend!r}", hint=hint)


def _eval_config(given: Any) -> Mapping[str, Any]:
    """The inner configuration: names with values, the path of a file, or a JSON text."""
    if given is None:
        raise UsageError("the task has no eval_config", hint="it says which model to ask about which data")
    if isinstance(given, str | Path):
        is_text = str(given).lstrip().startswith("{")
        given = decode_json(str(given), "eval_config") if is_text else _file(Path(given))
    if not isinstance(given, Mapping):
        raise UsageError(
            "eval_config holds no names with values", hint="give a dict, the path of a file, or a JSON text"
        )
    return given


def _with_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """An `eval_config` with the keys that it leaves to the environment: `key_env` in place of `key`."""
    filled = _filled(config, "eval_config")
    if isinstance(config.get("judge_args"), Mapping):
        filled["judge_args"] = _filled(config["judge_args"], "judge_args")
    if isinstance(config.get("model"), Mapping | list | tuple):
        filled["model"] = [
            _filled(one, f"model {str(one.get('type') or one.get('name'))!r}")
            if isinstance(one, Mapping)
            else one
            for one in _several(config["model"])
        ]
    return filled


def _filled(given: Mapping[str, Any], who: str) -> dict[str, Any]:
    found = {str(name): value for name, value in given.items()}
    for name in _KEYS:
        variable = found.pop(f"{name}{_FROM_ENVIRONMENT}", None)
        if variable is None:
            continue
        if found.get(name) is not None:
            raise UsageError(
                f"{who}: {name} and {name}{_FROM_ENVIRONMENT} are both given", hint="leave one out"
            )
        found[name] = os.environ.get(str(variable))
        if not found[name]:
            raise UsageError(
                f"{who}: its key is to be in the environment variable {variable}, which is not set",
                hint=f"export {variable}=..., or write {name} in place of {name}{_FROM_ENVIRONMENT}",
            )
    return found


def _refuse_hidden(value: Any, place: str = "the task") -> None:
    """Refuse what stands in for a key that was hidden when this was written down: it must not be sent."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if name != "system_prompt":
                _refuse_hidden(one, str(name) if place == "the task" else f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for one in value:
            _refuse_hidden(one, place)
    elif isinstance(value, str) and HIDDEN in value:
        raise UsageError(
            f"{place} holds {HIDDEN}, which stands for a key that was not written down",
            hint="write the key there, or for key: and judge_key: the name of an environment variable "
            "(key_env: NAME, judge_key_env: NAME)",
        )


def _described(said: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as it can be written down and run again: keys by the variables that are to hold them.

    What else may be a key, by its name or inside a text of JSON, is hidden, and refused when it is read.
    """
    opened = {name: _opened(value) for name, value in said.items()}
    shown, config = without_secrets(opened), opened["eval_config"]
    written: dict[str, Any] = shown["eval_config"]
    _name_keys(written, config, "MODEL")
    if isinstance(config.get("judge_args"), Mapping):
        _name_keys(written["judge_args"], config["judge_args"], "JUDGE")
    entries = zip(_several(written.get("model")), _several(config.get("model")), strict=True)
    for entry, given in entries:
        if isinstance(given, Mapping):
            _name_keys(entry, given, str(given.get("type") or "MODEL"))
    return shown


def _name_keys(written: dict[str, Any], given: Mapping[str, Any], whose: str) -> None:
    """Write the variable of each key in place of what hides it; a key that is none stays."""
    for name in _KEYS:
        key = given.get(name)
        if isinstance(key, str) and key == NO_KEY:
            written[name] = key
        elif isinstance(key, str) and key:
            del written[name]
            written[f"{name}{_FROM_ENVIRONMENT}"] = _variable(key, whose if name == "key" else "JUDGE")


def _several(given: Any) -> list[Any]:
    """What a list holds, or one value by itself."""
    return list(given) if isinstance(given, list | tuple) else [given]


def _variable(key: str, whose: str) -> str:
    """The environment variable that holds a key, or one that can be set to it.

    >>> _variable("sk-of-nobody-here", "org/Model-2.5:7b"), _variable("sk-of-nobody-here", "")
    ('MODEL_2_5_7B_API_KEY', 'MODEL_API_KEY')
    """
    held = next((name for name, value in os.environ.items() if value == key and is_secret(name)), None)
    name = re.sub(r"[^A-Z0-9]+", "_", whose.rpartition("/")[2].upper()).strip("_") or "MODEL"
    return held or f"{'MODEL_' * name[0].isdigit()}{name}_API_KEY"


def _opened(value: Any) -> Any:
    """A value with the texts of JSON in it read, however deep they lie: keys may stand inside."""
    if isinstance(value, Mapping):
        return {name: one if name == "system_prompt" else _opened(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_opened(one) for one in value]
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return _opened(decode_json(value, "it"))
    except UsageError:
        return HIDDEN  # who knows what it holds
