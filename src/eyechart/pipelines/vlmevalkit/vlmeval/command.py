"""The flags of VLMEvalKit's run.py: declared once, refused where they cannot be honoured, named in errors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from argparse import SUPPRESS
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import EyechartError, UsageError, rename_flags, translate_hint
from eyechart.files import atomic_write
from eyechart.model.environment import refuse_foreign_key
from eyechart.model.openai import OpenAI
from eyechart.option import option
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task, Values
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import (
    read_data,
    read_eval_config,
    read_models,
    refuse_duplicates,
)
from eyechart.pipelines.vlmevalkit.evalscope.folders import find_prediction_files
from eyechart.registry import find_published_benchmark, suggest_name
from eyechart.registry import models as providers
from eyechart.run.options import decode_json

# The groups of the help.
WHAT = "what is asked, and of whom"
RUN = "the run"
MODEL = "the served model"
JUDGE = "the judge (none unless one is named)"
ACCEPTED = "accepted for the sake of scripts (a note says what they do here)"
REFUSED = "refused, with the reason"

# What says how a served model is asked; a model's entry in a --config says it there.
OF_A_MODEL = (
    "key", "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "extra_body", "timeout",
)  # fmt: skip
# What `eval_config` of EvalScope calls by the same name.
SHARED = (
    "mode", "limit", "reuse", "reuse_aux", "api_nproc", "retry", "verbose", "keep_failed", "judge",
    "judge_args", "judge_base_url", "judge_key", "judge_api_nproc", "judge_retry", "judge_timeout",
    "allow_private_urls",
)  # fmt: skip

_WHY_REFUSED: Mapping[str, tuple[str, str]] = {
    "use_vllm": ("no weights are loaded here", "serve the model (vllm serve NAME) and give its --base-url"),
    "use_verifier": ("no local verifier scores answers here", "--judge names a served model that reads them"),
    "video_llm": ("there are no videos here, only pictures", "leave it out"),
    "local_media": ("pictures are sent with the request, never as paths of the server's", "leave it out"),
    "custom_prompt": (
        "prompts of single models are not known here",
        "write your own with: eyechart run --prompt-template FILE",
    ),
    "data_config": ("sets of questions are named by --data or --config", "give them in a --config FILE"),
}
# Flags of `eyechart run` that go by another name here.
_NAMES: Mapping[str, str] = {
    "--api-key": "--key", "--judge-api-key": "--judge-key", "--concurrency": "--api-nproc",
    "--out": "--work-dir",
}  # fmt: skip
_NOTES: Mapping[str, str] = {
    "stream": "answers are taken whole, and are the same",
    "api_mode": "asking and scoring always overlap",
    "monitor_interval": "the progress line is always live",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What was said on the command line; None or false where nothing was."""

    data: list[str] | None = option(None, group=WHAT, metavar="DATA", help="sets of questions")
    model: list[str] | None = option(None, group=WHAT, metavar="MODEL", help="who answers them")
    config: str | None = option(
        None, group=WHAT, metavar="FILE", help="a JSON file with both, instead of these two"
    )
    limit: int | None = option(None, group=WHAT, metavar="N", help="the first N rows of every set")

    work_dir: str | None = option(
        None,
        group=RUN,
        metavar="DIR",
        help="where the results go (default: outputs; $MMEVAL_ROOT comes first)",
    )
    mode: Literal["all", "infer", "eval"] = option(
        "all",
        group=RUN,
        help="infer: predictions alone; eval: score those that lie there, ask nobody (default: all)",
    )
    reuse: bool = option(False, group=RUN, help="go on with the predictions of a start that is done")
    reuse_aux: str | None = option(
        None,
        group=RUN,
        metavar="all|infer|none",
        help="with --reuse and a judge only all is possible: verdicts are kept with their replies",
    )
    keep_failed: bool = option(
        False, group=RUN, help="score what was answered, although some requests failed"
    )
    api_nproc: int | None = option(
        None,
        "--api-nproc",
        "--nproc",
        group=RUN,
        metavar="N",
        help="requests in flight, at most (default: 64)",
    )
    retry: int | None = option(None, group=RUN, metavar="N", help="tries of a request (default: 6)")
    verbose: bool = option(False, group=RUN, help="print every reply (on stderr)")
    allow_private_urls: bool = option(
        False, group=RUN, help="fetch images from addresses of your own network, too (eyechart's own)"
    )

    base_url: str | None = option(
        None, group=MODEL, metavar="URL", help="where it is served, e.g. http://localhost:8000/v1"
    )
    key: str | None = option(
        None,
        group=MODEL,
        metavar="KEY",
        is_secret=True,
        help="default: sk-admin with --base-url, else $OPENAI_API_KEY, which goes to no address that a "
        "--config names; never written anywhere",
    )
    max_tokens: int | None = option(
        None, group=MODEL, metavar="N", help="of an answer (default: 32768 with --base-url, else 2048)"
    )
    temperature: float | None = option(
        None, group=MODEL, metavar="T", help="default: as the server decides with --base-url, else 0"
    )
    top_p: float | None = option(None, group=MODEL, metavar="P", help="default: as the server decides")
    top_k: int | None = option(None, group=MODEL, metavar="K", help="the same")
    repetition_penalty: float | None = option(None, group=MODEL, metavar="X", help="the same")
    extra_body: str | None = option(
        None,
        group=MODEL,
        metavar="JSON",
        is_secret=True,
        help="what only your server knows, e.g. '{\"top_a\": 0.1}'",
    )
    timeout: float | None = option(
        None, group=MODEL, metavar="S", help="of one try (default: 1800 with --base-url, else 300)"
    )

    judge: str | None = option(
        None, group=JUDGE, metavar="MODEL", help="who reads what rules cannot; exact_matching: nobody"
    )
    judge_base_url: str | None = option(None, group=JUDGE, metavar="URL", help="where it is served")
    judge_key: str | None = option(
        None,
        group=JUDGE,
        metavar="KEY",
        is_secret=True,
        help="default: $OPENAI_API_KEY, to no address but OpenAI's",
    )
    judge_args: str | None = option(
        None,
        group=JUDGE,
        metavar="JSON",
        is_secret=True,
        help="its parameters, e.g. '{\"temperature\": 0}'",
    )
    judge_api_nproc: int | None = option(
        None, group=JUDGE, metavar="N", help="for an evaluate of your own (default: --api-nproc)"
    )
    judge_retry: int | None = option(None, group=JUDGE, metavar="N", help="the same (default: --retry)")
    judge_timeout: float | None = option(None, group=JUDGE, metavar="S", help="the same (default: 600)")

    stream: bool = option(False, group=ACCEPTED, help="answers are the same, streamed or whole")
    api_mode: bool = option(False, group=ACCEPTED, help="asking and scoring always overlap here")
    monitor_interval: float | None = option(
        None, group=ACCEPTED, metavar="S", help="the progress line is always live"
    )

    use_vllm: bool = option(False, group=REFUSED, help=SUPPRESS)
    use_verifier: bool = option(False, group=REFUSED, help=SUPPRESS)
    video_llm: bool = option(False, group=REFUSED, help=SUPPRESS)
    local_media: bool = option(False, group=REFUSED, help=SUPPRESS)
    custom_prompt: str | None = option(None, group=REFUSED, metavar="NAME", help=SUPPRESS)
    data_config: str | None = option(None, group=REFUSED, metavar="JSON", help=SUPPRESS)

    def said(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Those of the named flags that were given a value."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and value is not False}

    def refuse(self) -> None:
        """Refuse what cannot be done here, and what contradicts itself."""
        for name, (why, hint) in _WHY_REFUSED.items():
            if getattr(self, name):
                raise UsageError(f"{format_flag(name)} is not possible: {why}", hint=hint)
        if self.config is not None:
            if self.data or self.model:
                both = format_flag("data" if self.data else "model")
                raise UsageError(f"--config and {both} exclude each other", hint="leave one of them out")
            for name in self.said(tuple(name for name in OF_A_MODEL if name != "key")):
                raise UsageError(
                    f"{format_flag(name)} does not reach the models of a --config",
                    hint=f'say it there, in the entry of the model: "{name}": …',
                )
            return
        for name, what in (("data", "DATA: what to ask"), ("model", "MODEL: whom to ask")):
            if not getattr(self, name):
                raise UsageError(
                    f"there is no --{name} {what}", hint="eyechart vlmeval --help shows examples"
                )

    def notes(self) -> list[str]:
        """Remarks on flags that change nothing here."""
        return [
            f"{format_flag(name)} has no effect: {why}" for name, why in _NOTES.items() if getattr(self, name)
        ]


def format_flag(name: str) -> str:
    """A flag as it is typed.

    >>> format_flag("judge_base_url")
    '--judge-base-url'
    """
    return f"--{name.replace('_', '-')}"


def rewrite_error(err: UsageError) -> UsageError:
    """An error about a configuration, for one who has written flags."""
    return UsageError(rewrite_text(err.message), hint=rewrite_hint(err.hint))


@contextmanager
def name_flags_in_errors() -> Iterator[None]:
    """Whatever of ours is raised inside speaks of the flags of this command."""
    try:
        yield
    except EyechartError as err:
        err.message = rename_flags(err.message, _NAMES)
        err.hint = rewrite_hint(err.hint)
        err.args = (err.message,)
        raise


def rewrite_hint(hint: str) -> str:
    """A hint in flags, without the clauses about those that this command has not.

    >>> rewrite_hint("ulimit -n allows more, or ask fewer at once with --concurrency; --give-up-after 9")
    'ulimit -n allows more; ask fewer at once with --api-nproc'
    """
    known = {format_flag(name) for name in Flags.__dataclass_fields__}
    return translate_hint(rewrite_text(hint), _NAMES, known)


def rewrite_text(text: str) -> str:
    """What is said of a configuration, in the words of one who has written flags.

    >>> rewrite_text("eval_config: judge_args is not valid JSON"), rewrite_text("judge: NAME names one")
    ('--judge-args is not valid JSON', '--judge NAME names one')
    """
    text = re.sub(r"\beval_config: (\w+)", lambda found: format_flag(found[1]), text)
    text = rename_flags(text.replace("keep_failed: true", "--keep-failed"), _NAMES)
    text = re.sub(r"\b(judge|mode|reuse_aux|reuse): ", lambda found: f"{format_flag(found[1])} ", text)
    return text.replace("eval_config", "the command").replace("a work_dir", "a --work-dir")


# -- VLMEvalKit's run.py: its flags make a task, which is run like one of EvalScope's.
#
# Results lie where VLMEvalKit puts them, ``<work_dir>/<model>/<model>_<data>.xlsx``, in no folder named after
# the time. Models and sets are called by their names, or by the labels of a --config.

_ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def run(flags: Flags, *, say: Callable[[str], None] = lambda remark: None) -> int:
    """Run what the flags ask for, and return the exit code; what has no result is raised in the end."""
    from eyechart.pipelines.vlmevalkit.evalscope.job import run as run_task

    task = make_task(flags, os.environ)
    fetch_predictions(task, say)
    try:
        with name_flags_in_errors():
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
        raise rewrite_error(err) from err
    refuse_duplicates([one.name for one in task.models], "model")
    refuse_duplicates([one.name for one in task.data], "data set")
    return replace(
        task,
        work_dir=environment.get("MMEVAL_ROOT")
        or flags.work_dir
        or "outputs",  # as published: it comes first
        is_stamped=False,
        asks_anew=True,
        notes=(*flags.notes(), *map(rewrite_text, task.notes)),
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
            given, about_key = make_served_entry(one, environment, base_url=flags.base_url, key=flags.key)
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
    data = [DataEntry(name=make_file_name(one.label), source=read_data_source(one)) for one in sets]
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
        words += [format_flag(name), *map(str, given)]
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


def make_served_entry(
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


def read_data_source(one: Labelled) -> str:
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
