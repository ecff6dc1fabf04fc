"""The configuration of a task, in every form that EvalScope accepts: read, checked, and saved without keys.

`read_tasks` accepts every form. The keys beside `eval_config` are read here, those inside it in
eval_config.py. `Values` reads and checks single values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from eyechart.errors import UsageError
from eyechart.models.redact import HIDDEN, is_secret
from eyechart.registry import suggest_name
from eyechart.runs.plugins import SUFFIXES, decode_json, load_config_file

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.evalscope.native import GeneralData

BACKEND = "VLMEvalKit"
NATIVE = "Native"
_BACKENDS = (NATIVE, "OpenCompass", BACKEND, "RAGEval", "ThirdParty")
# The keys of every task, with their defaults.
TASK_KEYS: Mapping[str, Any] = {
    "eval_backend": NATIVE, "eval_config": None, "work_dir": "./outputs", "no_timestamp": False,
    "use_cache": None, "seed": 42, "debug": False, "dry_run": False,
}  # fmt: skip
SIGNS = frozenset({"eval_backend", "eval_config"})  # the keys that mark a task
_NATIVE_SIGNS = frozenset({"api_url", "dataset_args", "eval_type"})  # of which one stands beside `datasets`
# In configurations that EvalScope saved, for information.
_GENERATED = frozenset({"evalscope_version", "evaluation_identity", "resolved_benchmarks"})
# Keys that only EvalScope's native backend reads.
NATIVE_KEYS = frozenset({
    "agent_config", "analysis_report", "api_key", "api_key_env", "api_url", "chat_template", "collect_perf",
    "dataset_args", "dataset_dir", "dataset_hub", "datasets", "enable_progress_tracker", "eval_batch_size",
    "eval_type", "generation_config", "ignore_errors", "judge", "judge_model_args", "judge_strategy",
    "judge_worker_num", "limit", "model", "model_args", "model_id", "model_task", "outputs", "repeats",
    "rerun_review", "sandbox", "sandbox_manager_config", "sandbox_type", "stream", "timeout", "use_sandbox",
})  # fmt: skip
# What hints on images say here instead of naming flags of `eyechart run`.
IMAGE_HINTS: Mapping[str, str] = {
    "then in --image-root": "in $LMUData/images/NAME and in the current folder",
    "--input any asks such rows without images": "give them an image, or leave them out",
}
NO_KEY = "EMPTY"  # sent to servers that need no key
T = TypeVar("T")

Mode = Literal["all", "infer", "eval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One model of a task."""

    spec: str  # as `make_plan` takes it: provider/name
    name: str  # of its folder and files
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`; may hold a key
    notes: tuple[str, ...] = ()  # printed before the run


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEntry:
    """One dataset of a task."""

    name: str  # of its files
    source: str  # a name in $LMUData, a path, or a name of the catalogue
    general: GeneralData | None = None  # of the native backend; `source` then only identifies it


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Every model on every dataset, and the options of the runs.

    `is_stamped`: results go into a folder below `work_dir` named after the time, as with EvalScope;
    otherwise into `work_dir` itself, as with VLMEvalKit.
    """

    models: tuple[ModelEntry, ...]
    data: tuple[DataEntry, ...]
    mode: Mode = "all"
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`, for every model
    flags: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`, beside the file
    judge_name: str = ""  # of the judge in file names
    local_judge: str = ""  # the model that is asked in place of the judge that a user's `evaluate` builds
    judging: Mapping[str, Any] = field(default_factory=dict, repr=False)  # arguments of a user's `evaluate`
    reuse: bool = False
    keep_failed: bool = False
    is_verbose: bool = False
    seed: int | None = None  # of `random`, for user code
    work_dir: str = "outputs"
    use_cache: str | None = None  # an earlier folder to continue in
    is_stamped: bool = True
    asks_anew: bool = False  # without `reuse`, finished datasets in this folder are evaluated again
    is_dry_run: bool = False
    progress: bool = True  # show the live line
    notes: tuple[str, ...] = ()  # printed before the run
    described: Mapping[str, Any] = field(default_factory=dict)  # the configuration, without keys

    def list_secrets(self) -> tuple[str, ...]:
        """The API keys of the task, which must not be written or shown."""
        held = [self.options, self.judging, *(model.options for model in self.models)]
        named = [one.get(name) for one in held for name in ("api_key", "judge_api_key", "key")]
        return tuple(dict.fromkeys(str(key) for key in named if key and key != NO_KEY))


class TaskConfig:
    """A task in Python: ``TaskConfig(eval_backend="VLMEvalKit", eval_config={...}, work_dir="outputs")``.

    Takes keywords or one mapping; values can be read and changed as attributes.

    >>> config = TaskConfig(eval_backend="VLMEvalKit", eval_config={"data": ["mine"]})
    >>> config.eval_config["data"], config.work_dir, config.to_dict()["eval_backend"]
    (['mine'], './outputs', 'VLMEvalKit')
    """

    eval_backend: Any
    eval_config: Any
    work_dir: Any

    def __init__(self, given: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        values = {**(given or {}), **more}
        _refuse_unknown(values)
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name in TASK_KEYS or name in NATIVE_KEYS:
            return TASK_KEYS.get(name)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"TaskConfig({', '.join(self.__dict__)})"  # values may be keys

    def to_dict(self) -> dict[str, Any]:
        """All keys that this backend uses, with defaults for those that were not set."""
        return {**TASK_KEYS, **self.__dict__}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> TaskConfig:
        return cls(given)

    @classmethod
    def from_yaml(cls, path: str) -> TaskConfig:
        """A configuration from a file, which may also be JSON or Python."""
        return cls(_to_mapping(path))

    from_json = from_yaml


def read_tasks(given: Any) -> Task | list[Task]:
    """The task, given in any form, or the tasks of a list, which may also be in a file."""
    content = _read_file(given) if isinstance(given, str | Path) else given
    if not isinstance(content, list | tuple):
        return read_task(content)
    found: list[Task] = []
    for number, one in enumerate(content, start=1):
        try:
            several = read_tasks(one)
        except UsageError as err:
            raise UsageError(f"task {number} of {len(content)}: {err.message}", hint=err.hint) from err
        found += several if isinstance(several, list) else [several]
    return found


def read_task(given: Any) -> Task:
    """The task of a dict, an object or a file. Everything is checked; nothing is written or sent."""
    from eyechart.pipelines.vlmevalkit.evalscope.eval_config import read_eval_config
    from eyechart.pipelines.vlmevalkit.evalscope.native import read_native

    said = {name: value for name, value in drop_none(_to_mapping(given)).items() if name not in _GENERATED}
    _refuse_unknown(said)
    values = Values(said, "the task")
    is_native = _is_native(values.text("eval_backend"), said)
    if not is_native:
        for stray in (name for name in said if name in NATIVE_KEYS):
            raise UsageError(
                f"the task's {stray} is for EvalScope's native backend, and would be ignored here",
                hint="remove it; eval_config holds what this backend reads",
            )
        said["eval_config"] = _read_eval_config(values.raw("eval_config"))
    filled = _fill_keys(said)
    task = read_native(filled) if is_native else read_eval_config(filled["eval_config"])
    seed = values.whole("seed")
    return replace(
        task,
        work_dir=values.text("work_dir") or task.work_dir,
        is_stamped=not values.truth("no_timestamp"),
        use_cache=values.text("use_cache"),
        seed=TASK_KEYS["seed"] if seed is None else seed,
        is_verbose=task.is_verbose or values.truth("debug"),
        is_dry_run=values.truth("dry_run"),
        described=_name_keys(said),
    )


def is_task(content: Any) -> bool:
    """Whether a configuration is a task of EvalScope, or a list that holds one."""
    if isinstance(content, list):  # a row of data may have such a column, but with no object in it
        inner = ("eval_config", "dataset_args")
        return any(
            is_task(one) and any(isinstance(one.get(key), Mapping) for key in inner) for one in content
        )
    if not isinstance(content, Mapping):
        return False
    return bool(content.keys() & SIGNS) or ("datasets" in content and bool(content.keys() & _NATIVE_SIGNS))


# -- The forms of a configuration


def drop_none(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given: a value of None is not."""
    return {name: value for name, value in given.items() if value is not None}


def _to_mapping(given: Any) -> Mapping[str, Any]:
    given = _read_file(given) if isinstance(given, str | Path) else given
    if isinstance(given, Mapping):
        return given
    if not hasattr(given, "eval_config"):
        raise UsageError(
            f"a task cannot be a {type(given).__name__}",
            hint="give a dict, a TaskConfig, the path of a .yaml, .json or .py file, or a list of these",
        )
    names = getattr(given, "model_fields_set", None)  # of pydantic: the fields that were set
    if names is None:
        names = getattr(given, "__dict__", None) or [*TASK_KEYS, *NATIVE_KEYS]
    return {name: getattr(given, name, None) for name in names if not name.startswith("_")}


def _read_file(place: str | Path) -> Mapping[str, Any] | list[Any]:
    path = Path(place).expanduser()
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: not a configuration file", hint=f"known extensions: {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    content = load_config_file(path)
    if not isinstance(content, Mapping | list):
        raise UsageError(f"{place} does not hold a mapping of names to values, or a list of these")
    return content


def _read_eval_config(given: Any) -> Mapping[str, Any]:
    """The inner configuration: a mapping, the path of a file, or a JSON text."""
    if given is None:
        raise UsageError("the task has no eval_config", hint="it names the models and the data")
    if isinstance(given, str | Path):
        is_text = str(given).lstrip().startswith("{")
        given = decode_json(str(given), "eval_config") if is_text else _read_file(given)
    if not isinstance(given, Mapping):
        raise UsageError(
            "eval_config is not a mapping of names to values", hint="give a dict, a file path, or a JSON text"
        )
    return given


def _refuse_unknown(said: Mapping[str, Any]) -> None:
    from eyechart.pipelines.vlmevalkit.evalscope.eval_config import EVAL_KEYS

    known = {*TASK_KEYS, *NATIVE_KEYS, *_GENERATED}
    if inner := next((name for name in said if name in EVAL_KEYS and name not in known), None):
        raise UsageError(f"the task has no key {inner!r}", hint=f"write {inner} inside eval_config")
    Values(said, "the task").refuse_unknown(known)


def _is_native(backend: str | None, said: Mapping[str, Any]) -> bool:
    """Whether a task is for the native backend; other backends than the two are refused."""
    if backend == BACKEND:
        return False
    if backend in (None, NATIVE) and "datasets" in said:
        return True
    if backend is None or backend in _BACKENDS:
        what = "is not given, which means Native" if backend is None else f"is {backend}"
        raise UsageError(
            f"the task's eval_backend {what}, and eyechart only replaces VLMEvalKit, and Native for the "
            "datasets general_vqa and general_vmcq",
            hint=f"write eval_backend: {BACKEND} with an eval_config, or datasets: [general_vqa]; to "
            "evaluate your own file: eyechart run FILE -m MODEL",
        )
    hint = suggest_name(backend, list(_BACKENDS), otherwise=f"write eval_backend: {BACKEND}", at_most=1)
    raise UsageError(f"unknown eval_backend {backend!r}", hint=hint)


# -- API keys: read from the environment if the configuration asks for it, and never saved

_KEYS = ("key", "api_key", "judge_key", "OPENAI_API_KEY")  # the names that hold one
_HIDDEN = (HIDDEN, "**********")  # what eyechart and EvalScope save in place of one
_ENV = "_env"  # `key_env: NAME` instead of `key`: the key is in the environment variable NAME


def _fill_keys(value: Any, place: str = "") -> Any:
    """A copy of a configuration with the keys of the environment in place of `key_env`.

    The placeholder of a key that was hidden when this configuration was saved is refused.
    """
    if isinstance(value, list | tuple):
        return [_fill_keys(one, place) for one in value]
    if isinstance(value, str) and (mark := next((mark for mark in _HIDDEN if mark in value), "")):
        raise UsageError(
            f"{place} holds {mark}, which stands for a key that was not saved",
            hint="write the key there, or the name of an environment variable: key_env: NAME instead of key, "
            "likewise judge_key_env, api_key_env",
        )
    if not isinstance(value, Mapping):
        return value
    filled = {
        name: one if name == "system_prompt" else _fill_keys(one, f"{place}.{name}".lstrip("."))
        for name, one in value.items()
    }
    for name in _KEYS:
        variable = filled.pop(f"{name}{_ENV}", None)
        if variable is None:
            continue
        who = place or "the task"
        if filled.get(name) is not None:
            raise UsageError(f"{who}: {name} and {name}{_ENV} are both given", hint="leave one out")
        filled[name] = os.environ.get(str(variable))
        if not filled[name]:
            raise UsageError(
                f"{who}: {name}{_ENV} names the environment variable {variable}, which is not set",
                hint=f"export {variable}=..., or write {name} instead of {name}{_ENV}",
            )
    return filled


def _name_keys(value: Any, whose: str = "MODEL") -> Any:
    """A configuration as it can be saved and run again, with environment variables in place of keys.

    Whatever else may be a key by its name is hidden, and refused when read. JSON texts are decoded: they may
    hold keys.
    """
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            value = decode_json(value, "it")
        except UsageError:
            return HIDDEN
    if isinstance(value, list | tuple):
        return [_name_keys(one, whose) for one in value]
    if not isinstance(value, Mapping):
        return value
    named = value.get("type") or value.get("model")
    whose = named if isinstance(named, str) and whose not in ("JUDGE", "") else whose
    shown: dict[str, Any] = {}
    for name, one in value.items():
        if name == "system_prompt":
            shown[name] = one
        elif name == "extra_body":
            shown[name] = _name_keys(one, "")
        elif whose and name in _KEYS and isinstance(one, str) and one and one != NO_KEY:
            shown[f"{name}{_ENV}"] = _variable(one, whose if name in ("key", "api_key") else "JUDGE")
        elif one and one != NO_KEY and is_secret(name):
            shown[name] = HIDDEN
        else:
            shown[name] = _name_keys(one, "JUDGE" if str(name).startswith("judge") else whose)
    return shown


def _variable(key: str, whose: str) -> str:
    """The environment variable that holds a key, or the name of one to set.

    >>> _variable("sk-unknown", "org/Model-2.5:7b"), _variable("sk-unknown", "")
    ('MODEL_2_5_7B_API_KEY', 'MODEL_API_KEY')
    """
    held = next((name for name, value in os.environ.items() if value == key and is_secret(name)), None)
    name = re.sub(r"[^A-Z0-9]+", "_", whose.rpartition("/")[2].upper()).strip("_") or "MODEL"
    return held or f"{'MODEL_' * name[0].isdigit()}{name}_API_KEY"


# -- Values, checked as they are read

_LARGEST = 2**53  # beyond it, floats skip whole numbers
_MUST_BE = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class Values:
    """A mapping whose values are read as what they must be. None means not given.

    `usual` holds the values that change nothing: a name with its usual value is neither refused nor noted.
    """

    def __init__(self, given: Any, who: str, *, usual: Mapping[str, Any] | None = None) -> None:
        if not isinstance(given, Mapping):
            raise UsageError(f"{who} is {_kind(given)}, but must be a mapping of names to values")
        self.who = who
        self.notes: list[str] = []
        self._given = {str(name): value for name, value in given.items()}
        self._usual = usual or {}

    def __contains__(self, name: str) -> bool:
        return self._given.get(name) is not None

    def refuse_unknown(self, known: Collection[str]) -> None:
        for name in self._given:
            if name not in known:
                listed = f"known keys: {', '.join(sorted(known))}"
                hint = suggest_name(name, sorted(known), otherwise=listed, at_most=1)
                raise UsageError(f"{self.who} has no key {name!r}", hint=hint)

    def refuse(
        self, whys: Mapping[str, str], *, hint: str = "leave it out", unless: Collection[Any] = ()
    ) -> None:
        """Refuse each name for its reason, unless its value changes nothing."""
        for name in self._find(whys, unless):
            raise self.error(f"{name} is not possible here: {whys[name]}", hint)

    def note(self, whys: Mapping[str, str], *, unless: Collection[Any] = ()) -> None:
        """Note that these names have no effect here, and why."""
        self.notes += [f"{self.who}: {name} has no effect: {whys[name]}" for name in self._find(whys, unless)]

    def _find(self, names: Collection[str], unless: Collection[Any]) -> Iterator[str]:
        """Those whose values change something."""
        for name in names:
            value = self.raw(name)
            if value is not None and value is not False and value not in (*unless, self._usual.get(name)):
                yield name

    def raw(self, name: str) -> Any:
        return self._given.get(name)

    def others(self, known: Collection[str]) -> dict[str, Any]:
        return {name: value for name, value in self._given.items() if name not in known}

    def text(self, name: str) -> str | None:
        value = self.raw(name)
        return self._convert(name, os.fspath(value) if isinstance(value, os.PathLike) else value, str)

    def whole(self, name: str, *, least: int | None = None) -> int | None:
        number = self._convert(name, self.raw(name), int)
        if number is not None and least is not None and number < least:
            raise self.error(f"{name} is {number}, but must be at least {least}")
        return number

    def number(self, name: str) -> float | None:
        return self._convert(name, self.raw(name), float)

    def truth(self, name: str) -> bool:
        """True or false, also as "yes" or 1; false if not given."""
        value = self.raw(name)
        if isinstance(value, str):
            value = {"yes": True, "no": False}.get(value.strip().lower(), value.strip())
        return bool(self._convert(name, value, bool))

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping, also as a JSON text."""
        value = self.raw(name)
        if isinstance(value, str) and value.strip():
            value = decode_json(value, f"{self.who}: {name}")
        if value in (None, ""):
            return {}
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, "a mapping of names to values (or such a JSON text)")
        return {str(key): one for key, one in value.items()}

    def one_of(self, name: str, possible: Collection[str], usual: str) -> str:
        value = self.text(name)
        if value is not None and value not in possible:
            raise self.error(f"{name} is {value!r}, which is not possible", f"one of: {', '.join(possible)}")
        return value or usual

    def error(self, what: str, hint: str = "") -> UsageError:
        return UsageError(f"{self.who}: {what}", hint=hint)

    def wrong(self, name: str, value: Any, must_be: str) -> UsageError:
        """The error for a value of a wrong type. The value of a key is not shown."""
        is_shown = isinstance(value, bool | int | float | str) and not is_secret(name)
        shown = f" {repr(value)[:40]}" if is_shown else ""
        return self.error(f"{name} is {_kind(value)}{shown}, but must be {must_be}")

    def _convert(self, name: str, value: Any, kind: type[T]) -> T | None:
        """A value as the type it must have; numbers and truth values may be given as text."""
        if value is None:
            return None
        try:
            found = msgspec.convert(value, kind, strict=False)
        except ValueError as err:  # of msgspec, or of a text with surrogates
            raise self.wrong(name, value, _MUST_BE[kind]) from err
        if isinstance(found, int | float) and not abs(found) <= _LARGEST:  # not <= : nan, too
            raise self.wrong(name, value, "a finite number below 2^53")
        return found


def _kind(value: Any) -> str:
    names = {bool: "the truth value", int: "the number", float: "the number", str: "the text"}
    return names.get(type(value), f"a {type(value).__name__}")
