"""VLMEvalKit's run.py: its flags make a task, which the same core runs as EvalScope's.

Results lie where VLMEvalKit puts them, ``<work_dir>/<model>/<model>_<data>.xlsx``, in no folder named after
the time. Models and sets are called by their names, or by the labels of a --config.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from eyechart.compat.evalscope.models import read_models, refuse_twins
from eyechart.compat.evalscope.settings import read_data, read_eval_config
from eyechart.compat.evalscope.task import DataEntry, ModelEntry, Task
from eyechart.compat.evalscope.values import Values
from eyechart.compat.vlmevalkit_run.config_file import data_source, read_config, served_entry
from eyechart.compat.vlmevalkit_run.earlier import bring_predictions
from eyechart.compat.vlmevalkit_run.flags import (
    OF_A_MODEL,
    SHARED,
    Flags,
    as_flags,
    flag,
    in_flags,
    in_words_of_flags,
)
from eyechart.errors import UsageError
from eyechart.model.environment import refuse_foreign_key
from eyechart.registry import models as providers

__all__ = ["Flags", "run", "task_of"]

_ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def run(flags: Flags, *, say: Callable[[str], None] = lambda remark: None) -> int:
    """Run what the flags ask for, and return the exit code; what has no result is raised in the end."""
    from eyechart.compat.evalscope.run import run as run_task

    task = task_of(flags, os.environ)
    bring_predictions(task, say)
    try:
        with in_words_of_flags():
            results = run_task(task)
    except KeyboardInterrupt:
        say("the same command again goes on from here")
        raise
    if results.n_failed and task.mode != "eval":
        say("with --reuse and without --keep-failed, only what is missing is asked again")
    return 1 if results.n_failed else 0


def task_of(flags: Flags, environment: Mapping[str, str]) -> Task:
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
        if base_url is None and flags.mode == "eval":  # its predictions lie there: nobody is asked
            return ModelEntry(spec=f"openai/{name}", name=file_name(name)), []
        if base_url is None:
            raise _no_address(name)
        if flags.base_url is None and environment.get("OPENAI_API_KEY"):
            said = {"key": environment["OPENAI_API_KEY"], **said}  # which stands beside the address
        given, shared = name.removeprefix("openai/"), {"base_url": base_url, **said}
    (entry,), notes = read_models([given], Values(shared, "eval_config"), flags.retry)
    return replace(entry, name=file_name(name)), notes


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
        entries.append(replace(entry, name=file_name(one.label)))
        remarks += notes
    data = [DataEntry(name=file_name(one.label), source=data_source(one)) for one in sets]
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


def file_name(name: str) -> str:
    """A model or a label as VLMEvalKit's files carry it: the last part, dots and all.

    >>> file_name("Qwen/Qwen2.5-VL-7B"), file_name("python:mine.py:Model"), file_name("GPT4o T00")
    ('Qwen2.5-VL-7B', 'python_mine.py_Model', 'GPT4o_T00')
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
