"""VLMEvalKit's run.py: its flags make a task, which is run like one of EvalScope's.

Results lie where VLMEvalKit puts them, ``<work_dir>/<model>/<model>_<data>.xlsx``, in no folder named after
the time. Models and sets are called by their names, or by the labels of a --config.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.files import atomic_write
from eyechart.model.environment import refuse_foreign_key
from eyechart.model.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task, Values
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import (
    read_data,
    read_eval_config,
    read_models,
    refuse_twins,
)
from eyechart.pipelines.vlmevalkit.evalscope.folders import find_prediction_files
from eyechart.pipelines.vlmevalkit.vlmeval.flags import (
    OF_A_MODEL,
    SHARED,
    Flags,
    as_flags,
    flag,
    in_flags,
    naming_flags,
)
from eyechart.registry import find_published_benchmark, suggest_name
from eyechart.registry import models as providers
from eyechart.run.options import decode_json

_ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def run(flags: Flags, *, say: Callable[[str], None] = lambda remark: None) -> int:
    """Run what the flags ask for, and return the exit code; what has no result is raised in the end."""
    from eyechart.pipelines.vlmevalkit.evalscope.job import run as run_task

    task = make_task(flags, os.environ)
    fetch_predictions(task, say)
    try:
        with naming_flags():
            results = run_task(task)
    except KeyboardInterrupt:
        say("the same command again goes on from here")
        raise
    if results.n_failed and task.mode != "eval":
        say("with --reuse and without --keep-failed, only what is missing is asked again")
    return 1 if results.n_failed else 0


def make_task(flags: Flags, environment: Mapping[str, str]) -> Task:
    """The task that the flags ask for. Everything is checked, nothing is touched."""
    flags.refuse()
    try:
        task = _configured(flags, environment) if flags.config else _named(flags, environment)
    except UsageError as err:
        raise in_flags(err) from err
    refuse_twins([one.name for one in task.models], "model")
    refuse_twins([one.name for one in task.data], "data set")
    return replace(
        task,
        work_dir=environment.get("MMEVAL_ROOT")
        or flags.work_dir
        or "outputs",  # as published: it comes first
        is_stamped=False,
        asks_anew=True,
        notes=(*flags.notes(), *map(as_flags, task.notes)),
        described=_described(flags),
    )


def _named(flags: Flags, environment: Mapping[str, str]) -> Task:
    """The task of --data and --model."""
    entries, remarks = [], []
    for name in flags.model or ():
        entry, notes = _model(name, flags, environment)
        entries.append(entry)
        remarks += notes
    return _task(flags, entries, read_data(flags.data), remarks)


def _model(name: str, flags: Flags, environment: Mapping[str, str]) -> tuple[ModelEntry, list[str]]:
    """A model that is only named, and remarks on it."""
    said = flags.said(OF_A_MODEL)
    shared: dict[str, Any] = {}
    given: dict[str, Any] | str = {"name": name, **said}
    if _is_served(name, flags):
        if flags.base_url is None and flags.mode != "eval":
            refuse_foreign_key(flags.key or environment.get("OPENAI_API_KEY"))
        base_url = flags.base_url or next(filter(None, map(environment.get, _ADDRESSES)), None)
        if base_url is None and flags.mode == "eval":  # its predictions are there: no request is sent
            return ModelEntry(spec=f"openai/{name}", name=make_file_name(name)), []
        if base_url is None:
            raise _no_address(name)
        if flags.base_url is None and environment.get("OPENAI_API_KEY"):
            said = {"key": environment["OPENAI_API_KEY"], **said}  # which stands beside the address
        given, shared = name.removeprefix("openai/"), {"base_url": base_url, **said}
    (entry,), notes = read_models([given], Values(shared, "eval_config"), flags.retry)
    return replace(entry, name=make_file_name(name)), notes


def _configured(flags: Flags, environment: Mapping[str, str]) -> Task:
    """The task of a --config; its labels name the files."""
    named, sets = read_config(flags.config or "")
    entries, remarks = [], []
    for one in named:
        if one.kind:
            given, about_key = served_entry(one, environment, base_url=flags.base_url, key=flags.key)
            (entry,), notes = read_models([given], Values({}, "--config"), flags.retry)
            notes += about_key
        else:  # a shortcut to a model that VLMEvalKit knows: here, one that is served by that name
            entry, notes = _model(one.label, flags, environment)
        if one.said.get("verbose"):
            notes.append(
                f"--config: model {one.label!r}: verbose has no effect; --verbose prints every reply"
            )
        entries.append(replace(entry, name=make_file_name(one.label)))
        remarks += notes
    data = [DataEntry(name=make_file_name(one.label), source=data_source(one)) for one in sets]
    return _task(flags, entries, tuple(data), remarks)


def _task(flags: Flags, models: list[ModelEntry], data: tuple[DataEntry, ...], remarks: list[str]) -> Task:
    """What the flags say of the run itself means what it means in an `eval_config`, and is read as one."""
    said = {**flags.said(SHARED), "model": models[0].spec, "data": data[0].source}  # each has at least one
    task = read_eval_config(said)
    return replace(task, models=tuple(models), data=data, notes=(*task.notes, *remarks))


def _is_served(name: str, flags: Flags) -> bool:
    """Whether a name is that of a served model rather than a model as we write it."""
    if name.startswith("openai/"):
        return flags.base_url is not None
    return not name.startswith("python:") and name.partition("/")[0] not in providers.names()


def _no_address(name: str) -> UsageError:
    return UsageError(
        f"--model {name}: it is not said where that model is served",
        hint=f"serve it (vllm serve {name}) and give --base-url http://localhost:8000/v1; "
        f"OpenAI's own are written openai/{name.rpartition('/')[2]}; see also: eyechart vlmeval --help",
    )


def make_file_name(name: str) -> str:
    """A model or a label as VLMEvalKit's files carry it: the last part, dots and all.

    >>> [make_file_name(name) for name in ("Qwen/Qwen2.5-VL-7B", "python:mine.py:Model", "GPT4o T00")]
    ['Qwen2.5-VL-7B', 'python_mine.py_Model', 'GPT4o_T00']
    """
    return re.sub(r"[^\w.-]+", "_", name.rstrip("/").rpartition("/")[2]).lstrip(".") or "model"


def _described(flags: Flags) -> dict[str, Any]:
    """The command as it can be typed again, without keys."""
    from eyechart.model.redact import is_secret

    words = ["eyechart", "vlmeval"]
    for name, value in flags.said(tuple(Flags.__dataclass_fields__)).items():
        if is_secret(name) or name in ("extra_body", "judge_args") or value == getattr(Flags(), name):
            continue
        given = [] if value is True else value if isinstance(value, list) else [value]
        words += [flag(name), *map(str, given)]
    return {"command": shlex.join(words)}


# -- VLMEvalKit's --config: a JSON file that names models and data sets, and gives each a label

# The classes of VLMEvalKit that speak OpenAI's chat completions; where each has its address and key.
_OPENAI_KEY = "OPENAI_API_KEY"
_SERVED: Mapping[str, tuple[str, str]] = {
    "GPT4V": ("OPENAI_API_BASE", _OPENAI_KEY),
    "OpenAIWrapper": ("OPENAI_API_BASE", _OPENAI_KEY),
    "CustomAPIModel": ("OPENAI_API_BASE", ""),
    "LMDeployAPI": ("LMDEPLOY_API_BASE", "LMDEPLOY_API_KEY"),
}
_OFFICIAL = "OFFICIAL"  # what an entry may call OpenAI's own address
# Its classes of data sets without rules of their own: here a set's columns say of which kind it is.
_KINDS = (
    "ImageMCQDataset", "ImageVQADataset", "ImageYORNDataset", "TextMCQDataset", "CustomMCQDataset",
    "CustomVQADataset", "CustomTextMCQDataset",
)  # fmt: skip
_VIDEO = ("nframe", "fps", "pack", "use_subtitle")
_KEYS = ("model", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """An entry of the file: what its files are called, and what it says. Without a class it says nothing."""

    label: str
    kind: str  # the class, or nothing
    said: Mapping[str, Any]


def read_config(path: str) -> tuple[list[Labelled], list[Labelled]]:
    """The models and the sets of a file."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"--config {path} cannot be read: {getattr(err, 'strerror', None) or err}") from err
    content = decode_json(text, f"--config {path}")
    if not isinstance(content, Mapping) or not all(content.get(name) for name in _KEYS):
        raise UsageError(
            f"--config {path} does not hold a model and a data object",
            hint='{"model": {"LABEL": {"class": "GPT4V", "model": "NAME"}}, "data": {"NAME": {}}}',
        )
    for name in content:
        if name not in _KEYS:
            hint = suggest_name(str(name), list(_KEYS), otherwise="it holds model and data alone", at_most=1)
            raise UsageError(f"--config {path} has an entry {name!r} that nobody reads", hint=hint)
    return _labelled(content, "model", path), _labelled(content, "data", path)


def _labelled(content: Mapping[str, Any], name: str, path: str) -> list[Labelled]:
    entries = content[name]
    if not isinstance(entries, Mapping):
        raise UsageError(f"--config {path}: {name} must hold labels, each with an object")
    found = []
    for label, said in entries.items():
        if not isinstance(said, Mapping) or not isinstance(said.get("class", ""), str):
            raise UsageError(f'--config {path}: {name} {label!r} must be an object with a "class", or {{}}')
        rest = {key: value for key, value in said.items() if key != "class"}
        if rest and not said.get("class"):
            raise UsageError(
                f'--config {path}: {name} {label!r} has no "class"',
                hint=_classes() if name == "model" else "",
            )
        found.append(Labelled(label=str(label), kind=str(said.get("class", "")), said=rest))
    return found


def served_entry(
    one: Labelled, environment: Mapping[str, str], *, base_url: str | None = None, key: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """A model of the file as EvalScope would write it, address and key included, and remarks on it."""
    if one.kind not in _SERVED:
        raise UsageError(
            f"--config: model {one.label!r} is of the class {one.kind}, which eyechart cannot run",
            hint=suggest_name(one.kind, list(_SERVED), otherwise=_classes(), at_most=1),
        )
    said = {name: value for name, value in one.said.items() if name not in ("model", "verbose")}
    kind = one.said.get("model")
    if not isinstance(kind, str) or not kind:
        raise UsageError(
            f"--config: model {one.label!r} does not say which model is served",
            hint='"model": "NAME", as the server calls it',
        )
    base_variable, key_variable = _SERVED[one.kind]
    base = said.pop("api_base", None) or base_url or environment.get(base_variable)
    said |= {"api_base": OpenAI.official_url if base == _OFFICIAL else base} if base else {}
    notes = []
    if "key" not in said and key:
        said["key"] = key
    elif "key" not in said and environment.get(key_variable):
        if _is_for(said.get("api_base"), environment.get(base_variable), key_variable):
            if "api_base" not in said or base == environment.get(base_variable):
                refuse_foreign_key(environment[key_variable])
            said["key"] = environment[key_variable]
        else:
            notes.append(
                f"--config: model {one.label!r}: ${key_variable} is not sent to an address that the "
                f"environment does not name; if it is for that server, say so with --key"
            )
    return {"name": "CustomAPIModel", "type": kind, **said}, notes


def _is_for(base: Any, own_base: str | None, key_variable: str) -> bool:
    """Whether a key of the environment is for an address, which may come from a file of another person.

    >>> _is_for("http://o/v1", "http://o/v1/chat/completions", "OPENAI_API_KEY")
    True
    >>> _is_for("http://x/v1", "http://o/v1", "OPENAI_API_KEY")
    False
    >>> _is_for(OpenAI.official_url, None, "OPENAI_API_KEY")
    True
    """
    if base is None:  # then it goes where the environment says, or to OpenAI
        return key_variable == _OPENAI_KEY
    places = [own_base, OpenAI.official_url if key_variable == _OPENAI_KEY else None]
    with suppress(UsageError):  # what is no address is refused where addresses are read
        return OpenAI.normalise_url(str(base)) in [OpenAI.normalise_url(place) for place in places if place]
    return False


def data_source(one: Labelled) -> str:
    """What a set of the file is looked for as."""
    for name in _VIDEO:
        if one.said.get(name):
            raise UsageError(
                f"--config: data {one.label!r} is about videos ({name})",
                hint="only pictures are asked about here",
            )
    for name in one.said:
        if name not in ("dataset", *_VIDEO):
            raise UsageError(
                f"--config: data {one.label!r} says {name}, which means nothing here",
                hint='"dataset" names the set; its columns say of which kind it is',
            )
    source = one.said.get("dataset", one.label)
    if not isinstance(source, str) or not source.strip():
        raise UsageError(f'--config: data {one.label!r}: "dataset" must be a name or a path')
    if one.kind not in ("", *_KINDS) and find_published_benchmark(Path(source.strip()).stem) is None:
        hint = suggest_name(one.kind, list(_KINDS), otherwise=f"known: {', '.join(_KINDS)}", at_most=1)
        raise UsageError(
            f"--config: data {one.label!r} is of the class {one.kind}, whose rules are not known here",
            hint=hint,
        )
    return source.strip()


def _classes() -> str:
    return (
        f'"class" is one of {", ".join(_SERVED)}, "api_base" the address of any OpenAI-compatible server; '
        "weights on this machine are served first (vllm serve NAME)"
    )


# -- Predictions that lie there from an earlier time, be it VLMEvalKit's own.


def fetch_predictions(task: Task, say: Callable[[str], None]) -> None:
    """For a task that only scores: fetch predictions out of VLMEvalKit's folder of the newest time.

    Those that VLMEvalKit wrote hold replies, but not what was asked for them: they can be scored, and none of
    them stands in for a request.
    """
    if task.mode != "eval":
        return
    root = Path(task.work_dir).expanduser()
    for model in task.models:
        for data in task.data:
            folder, stem = root / model.name, f"{model.name}_{data.name}"
            if next(find_prediction_files(folder, stem), None) is None:
                _fetch(folder, stem, say)


def _fetch(folder: Path, stem: str, say: Callable[[str], None]) -> None:
    """The newest of the folders T<date>…, which VLMEvalKit makes for every start."""
    starts = sorted(
        (one for one in folder.glob("T*") if one.is_dir()), key=lambda one: one.name, reverse=True
    )
    found = next((path for start in starts for path in find_prediction_files(start, stem)), None)
    if found is not None:
        with atomic_write(folder / found.name) as place:
            shutil.copyfile(found, place)
        say(f"scoring the predictions of {found.parent}")
