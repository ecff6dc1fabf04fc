"""VLMEvalKit's run.py: its flags, or a --config file, make a task, which runs like a task of EvalScope.

`Flags` declares every flag once, `make_task` reads them, `run` runs the task. Results are written to
``<work_dir>/<model>/<model>_<data>.xlsx`` as by VLMEvalKit, without a folder named after the time.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from argparse import SUPPRESS
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eyechart.errors import UsageError, rename_flags, reword_errors, translate_hint
from eyechart.files import atomic_write
from eyechart.models.environment import refuse_foreign_key
from eyechart.models.openai import OpenAI
from eyechart.models.redact import is_secret
from eyechart.option import option
from eyechart.pipelines.vlmevalkit.evalscope.config import IMAGE_HINTS, DataEntry, ModelEntry, Task, Values
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import (
    OF_A_MODEL,
    SERVED,
    read_data,
    read_eval_config,
    read_models,
    refuse_duplicates,
)
from eyechart.pipelines.vlmevalkit.evalscope.job import run as run_task
from eyechart.pipelines.vlmevalkit.evalscope.output import find_prediction_files
from eyechart.pipelines.vlmevalkit.report import to_file_name
from eyechart.registry import find_published_benchmark, suggest_name
from eyechart.registry import models as providers
from eyechart.runs.plugins import decode_json

# The groups of the help, and how a flag of each is declared.
WHAT = "data and models"
RUN = "run"
MODEL = "served model"
JUDGE = "judge (off unless --judge is given)"
ACCEPTED = "accepted for compatibility (a note says what they do here)"
REFUSED = "not supported (the error says why)"
GROUPS = (WHAT, RUN, MODEL, JUDGE, ACCEPTED, REFUSED)
_what, _run, _model, _judge, _accepted = (partial(option, None, group=group) for group in GROUPS[:-1])
_refused = partial(option, group=REFUSED, help=SUPPRESS)

# Other flags that are no keys of EvalScope's `eval_config`, or not with the same meaning.
_OWN = ("data", "model", "config", "work_dir", "base_url", "stream", "data_config")
# Flags of `eyechart run` that have another name here.
_NAMES: Mapping[str, str] = {
    "--api-key": "--key", "--judge-api-key": "--judge-key", "--concurrency": "--api-nproc",
    "--out": "--work-dir", **IMAGE_HINTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The command line; None or False for a flag that was not given."""

    data: list[str] | None = option(None, group=WHAT, metavar="DATA", help="datasets")
    model: list[str] | None = option(None, group=WHAT, metavar="MODEL", help="models")
    config: str | None = _what(metavar="FILE", help="a JSON file with both, instead of these two")
    limit: int | None = _what(metavar="N", help="the first N rows of every dataset")

    work_dir: str | None = _run(
        metavar="DIR", help="folder for the results (default: outputs; $MMEVAL_ROOT takes precedence)"
    )
    mode: Literal["all", "infer", "eval"] = option(
        "all",
        group=RUN,
        help="infer: only write predictions; eval: only score existing predictions (default: all)",
    )
    reuse: bool = option(False, group=RUN, help="reuse the predictions of a finished run")
    reuse_aux: str | None = _run(
        metavar="all|infer|none",
        help="with --reuse and a judge only all is possible: verdicts are stored with their replies",
    )
    keep_failed: bool = option(
        False, group=RUN, help="score the replies that came, even if some requests failed"
    )
    api_nproc: int | None = _run(
        "--api-nproc", "--nproc", metavar="N", help="concurrent requests, at most (default: 64)"
    )
    retry: int | None = _run(metavar="N", help="attempts per request (default: 6)")
    verbose: bool = option(False, group=RUN, help="print every reply (on stderr)")
    thinking: Literal["auto", "keep", "split"] | None = _run(
        help="thoughts in replies; split: neither scored nor in the files, as with $SPLIT_THINK (eyechart "
        "only; default: auto, which keeps them)",
    )
    allow_private_urls: bool = option(
        False, group=RUN, help="also fetch images from private network addresses (eyechart only)"
    )

    base_url: str | None = _model(metavar="URL", help="its URL, e.g. http://localhost:8000/v1")
    key: str | None = _model(
        metavar="KEY",
        is_secret=True,
        help="default: sk-admin with --base-url, else $OPENAI_API_KEY, which is sent to no address that a "
        "--config names; never written to a file",
    )
    max_tokens: int | None = _model(metavar="N", help="per reply (default: 32768 with --base-url, else 2048)")
    temperature: float | None = _model(metavar="T", help="default: the server's own with --base-url, else 0")
    top_p: float | None = _model(metavar="P", help="default: the server's own")
    top_k: int | None = _model(metavar="K", help="default: the server's own")
    repetition_penalty: float | None = _model(metavar="X", help="default: the server's own")
    extra_body: str | None = _model(
        metavar="JSON", is_secret=True, help="further fields of the request, e.g. '{\"top_a\": 0.1}'"
    )
    timeout: float | None = _model(
        metavar="S", help="seconds per attempt (default: 1800 with --base-url, else 300)"
    )

    judge: str | None = _judge(
        metavar="MODEL", help="reads replies that rules cannot read; exact_matching: no judge"
    )
    judge_base_url: str | None = _judge(metavar="URL", help="its URL")
    judge_key: str | None = _judge(
        metavar="KEY", is_secret=True, help="default: $OPENAI_API_KEY, sent only to OpenAI"
    )
    judge_args: str | None = _judge(
        metavar="JSON", is_secret=True, help="its parameters, e.g. '{\"temperature\": 0}'"
    )
    judge_api_nproc: int | None = _judge(
        metavar="N", help="passed to your own evaluate (default: --api-nproc)"
    )
    judge_retry: int | None = _judge(metavar="N", help="passed to your own evaluate (default: --retry)")
    judge_timeout: float | None = _judge(metavar="S", help="passed to your own evaluate (default: 600)")

    stream: bool = option(False, group=ACCEPTED, help="replies are the same, streamed or whole")
    api_mode: bool = option(False, group=ACCEPTED, help="requests and scoring always overlap")
    monitor_interval: float | None = _accepted(metavar="S", help="the progress line is always live")

    use_vllm: bool = _refused(False)
    use_verifier: bool = _refused(False)
    video_llm: bool = _refused(False)
    local_media: bool = _refused(False)
    custom_prompt: str | None = _refused(None, metavar="NAME")
    data_config: str | None = _refused(None, metavar="JSON")

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the named flags that were given."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and value is not False}

    def check(self) -> None:
        """Refuse flags that are not supported or contradict each other."""
        if self.data_config is not None:
            what = "--data-config is not possible: datasets are given by --data or --config"
            raise UsageError(what, hint="write them into a --config FILE")
        if self.config is None:
            for name in ("data", "model"):
                if not getattr(self, name):
                    raise UsageError(f"no --{name} given", hint="eyechart vlmeval --help shows examples")
            return
        if self.data or self.model:
            other = format_flag("data" if self.data else "model")
            raise UsageError(f"--config and {other} exclude each other", hint="leave one of them out")
        for name in self.select(name for name in OF_A_MODEL if name != "key"):
            raise UsageError(
                f"{format_flag(name)} does not apply to the models of a --config",
                hint=f'write it into the entry of the model: "{name}": …',
            )


def run(flags: Flags, *, say: Callable[[str], None] = lambda remark: None) -> int:
    """Run the task of the flags; return the exit code. What has no result is raised at the end."""
    task = make_task(flags, os.environ)
    fetch_predictions(task, say)
    try:
        with name_flags_in_errors():
            results = run_task(task)
    except KeyboardInterrupt:
        say("run the same command again to resume")
        raise
    if results.n_failed and task.mode != "eval":
        say("with --reuse and without --keep-failed, only what is missing is requested again")
    return 1 if results.n_failed else 0


def make_task(flags: Flags, environment: Mapping[str, str]) -> Task:
    """Check the flags and make the task that they describe. Nothing is written or sent."""
    flags.check()
    try:
        # The flags of the run itself are read as keys of an `eval_config`, where they mean the same.
        shared = flags.select(name for name in Flags.__dataclass_fields__ if name not in (*_OWN, *OF_A_MODEL))
        task = read_eval_config({**shared, "model": "baseline/random", "data": "replaced below"})
        if flags.config:
            config = _read_config(flags.config)
            models = [_read_labelled(label, said, flags, environment) for label, said in config.model.items()]
            data = tuple(_read_labelled_data(label, said) for label, said in config.data.items())
        else:
            models = [_read_model(name, flags, environment) for name in flags.model or ()]
            data = read_data(flags.data)
    except UsageError as err:
        raise UsageError(rewrite_text(err.message), hint=rewrite_hint(err.hint)) from err
    refuse_duplicates([one.name for one in models], "model")
    refuse_duplicates([one.name for one in data], "dataset")
    remarks = ["--stream has no effect: replies are the same, streamed or whole"] * flags.stream
    return replace(
        task,
        models=tuple(replace(one, notes=tuple(map(rewrite_text, one.notes))) for one in models),
        data=data,
        # As published: $MMEVAL_ROOT takes precedence over the flag.
        work_dir=environment.get("MMEVAL_ROOT") or flags.work_dir or "outputs",
        is_stamped=False,
        asks_anew=True,
        notes=(*remarks, *map(rewrite_text, task.notes)),
        described={"command": _format_command(flags)},
    )


def _read_model(name: str, flags: Flags, environment: Mapping[str, str]) -> ModelEntry:
    """A model given by its name alone."""
    said = flags.select(OF_A_MODEL)
    shared: dict[str, Any] = {}
    given: dict[str, Any] | str = {"name": name, **said}
    if _is_served(name, flags):
        if flags.base_url is None and flags.mode != "eval":
            refuse_foreign_key(flags.key or environment.get("OPENAI_API_KEY"))
        from_environment = map(environment.get, ("OPENAI_BASE_URL", "OPENAI_API_BASE"))
        base_url = flags.base_url or next(filter(None, from_environment), None)
        if base_url is None and flags.mode == "eval":  # its predictions are there: no request is sent
            return ModelEntry(spec=f"openai/{name}", name=make_label(name))
        if base_url is None:
            raise UsageError(
                f"--model {name}: no URL given for that model",
                hint=f"serve it (vllm serve {name}) and give --base-url http://localhost:8000/v1; "
                f"OpenAI's models are written openai/{name.rpartition('/')[2]}; see: eyechart vlmeval --help",
            )
        if flags.base_url is None and environment.get("OPENAI_API_KEY"):
            said = {"key": environment["OPENAI_API_KEY"], **said}  # the key that belongs to that URL
        given, shared = name.removeprefix("openai/"), {"base_url": base_url, **said}
    (entry,) = read_models([given], Values(shared, "eval_config"), flags.retry)
    return replace(entry, name=make_label(name))


def _is_served(name: str, flags: Flags) -> bool:
    """Whether a name is that of a served model rather than a model specification of eyechart."""
    if name.startswith("openai/"):
        return flags.base_url is not None
    return not name.startswith("python:") and name.partition("/")[0] not in providers.names()


def make_label(name: str) -> str:
    """A model or a label as VLMEvalKit names files after it: the last part, dots included.

    >>> [make_label(name) for name in ("Qwen/Qwen2.5-VL-7B", "python:mine.py:Model", "GPT4o T00")]
    ['Qwen2.5-VL-7B', 'python_mine.py_Model', 'GPT4o_T00']
    """
    return to_file_name(name.rstrip("/").rpartition("/")[2]) or "model"


def _format_command(flags: Flags) -> str:
    """The command as it can be typed again, without keys."""
    words = ["eyechart", "vlmeval"]
    for name, value in flags.select(Flags.__dataclass_fields__).items():
        if is_secret(name) or name in ("extra_body", "judge_args") or value == getattr(Flags(), name):
            continue
        given = [] if value is True else value if isinstance(value, list) else [value]
        words += [format_flag(name), *map(str, given)]
    return shlex.join(words)


# -- Errors about a configuration, in the words of someone who typed flags


def format_flag(name: str) -> str:
    """The flag of a field.

    >>> format_flag("judge_base_url")
    '--judge-base-url'
    """
    return f"--{name.replace('_', '-')}"


def name_flags_in_errors() -> AbstractContextManager[None]:
    """Errors raised inside name the flags of this command."""
    return reword_errors(lambda message: rename_flags(message, _NAMES), rewrite_hint)


def rewrite_hint(hint: str) -> str:
    """A hint with flags instead of keys, without the clauses about flags that this command lacks.

    >>> rewrite_hint("ulimit -n allows more, or ask fewer at once with --concurrency; --give-up-after 9")
    'ulimit -n allows more; ask fewer at once with --api-nproc'
    """
    known = {format_flag(name) for name in Flags.__dataclass_fields__}
    return translate_hint(rewrite_text(hint), _NAMES, known)


def rewrite_text(text: str) -> str:
    """A message about a configuration, with flags instead of keys.

    >>> rewrite_text("eval_config: judge_args is not valid JSON"), rewrite_text("judge: NAME names one")
    ('--judge-args is not valid JSON', '--judge NAME names one')
    """
    text = re.sub(r"\beval_config: (\w+)", lambda found: format_flag(found[1]), text)
    text = rename_flags(text.replace("keep_failed: true", "--keep-failed"), _NAMES)
    text = re.sub(r"\b(judge|mode|reuse_aux|reuse): ", lambda found: f"{format_flag(found[1])} ", text)
    return text.replace("eval_config", "the command").replace("a work_dir", "a --work-dir")


# -- VLMEvalKit's --config: a JSON file with models and datasets, each under a label

# The classes of VLMEvalKit that use OpenAI's chat completions, with the variables of their URL and key.
_OPENAI_KEY = "OPENAI_API_KEY"
_SERVED: Mapping[str, tuple[str, str]] = {
    "GPT4V": ("OPENAI_API_BASE", _OPENAI_KEY),
    "OpenAIWrapper": ("OPENAI_API_BASE", _OPENAI_KEY),
    "CustomAPIModel": ("OPENAI_API_BASE", ""),
    "LMDeployAPI": ("LMDEPLOY_API_BASE", "LMDEPLOY_API_KEY"),
}
_CLASSES = (
    f'"class" is one of {", ".join(_SERVED)}, "api_base" the URL of any OpenAI-compatible server; '
    "serve local weights first (vllm serve NAME)"
)
_OFFICIAL = "OFFICIAL"  # as an entry may write OpenAI's own URL
# Its dataset classes without rules of their own. Here the columns of a file decide its kind.
_KINDS = (
    "ImageMCQDataset", "ImageVQADataset", "ImageYORNDataset", "TextMCQDataset", "CustomMCQDataset",
    "CustomVQADataset", "CustomTextMCQDataset",
)  # fmt: skip
_VIDEO = ("nframe", "fps", "pack", "use_subtitle")


_Entries = Annotated[dict[str, dict[str, Any]], msgspec.Meta(min_length=1)]


class _Config(msgspec.Struct, forbid_unknown_fields=True):
    model: _Entries
    data: _Entries


def _read_config(path: str) -> _Config:
    """The models and the datasets of a file, each with its class, which may be empty."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"--config {path} cannot be read: {getattr(err, 'strerror', None) or err}") from err
    try:
        found = msgspec.convert(decode_json(text, f"--config {path}"), _Config)
    except msgspec.ValidationError as err:
        raise UsageError(
            f"--config {path} does not hold a model and a data object: {err}",
            hint='{"model": {"LABEL": {"class": "GPT4V", "model": "NAME"}}, "data": {"NAME": {}}}',
        ) from err
    for what, entries, hint in (("model", found.model, _CLASSES), ("data", found.data, "")):
        for label, said in entries.items():
            kind = said.setdefault("class", "")
            if not isinstance(kind, str) or (len(said) > 1 and not kind):
                raise UsageError(f'--config {path}: {what} {label!r} has no "class"', hint=hint)
    return found


def _read_labelled(
    label: str, given: Mapping[str, Any], flags: Flags, environment: Mapping[str, str]
) -> ModelEntry:
    """A model of the file. The flags fill in its URL and key."""
    said, who = dict(given), f"--config: model {label!r}"
    kind = said.pop("class")
    if not kind:  # the name of a model that VLMEvalKit knows: here, one that is served under that name
        return _read_model(label, flags, environment)
    if kind not in _SERVED:
        hint = suggest_name(kind, list(_SERVED), otherwise=_CLASSES, at_most=1)
        raise UsageError(f"{who} has the class {kind}, which eyechart cannot run", hint=hint)
    served, is_verbose = said.pop("model", None), said.pop("verbose", False)
    if not isinstance(served, str) or not served:
        raise UsageError(f"{who} names no served model", hint='"model": "NAME", as the server calls it')
    key_variable = _SERVED[kind][1]
    own_base, own_key = map(environment.get, _SERVED[kind])
    base = said.pop("api_base", None) or flags.base_url or own_base
    said |= {"api_base": OpenAI.official_url if base == _OFFICIAL else base} if base else {}
    notes = []
    if "key" not in said and flags.key:
        said["key"] = flags.key
    elif "key" not in said and own_key:
        if _is_for(said.get("api_base"), own_base, key_variable):
            if not base or base == own_base:
                refuse_foreign_key(own_key)
            said["key"] = own_key
        else:
            notes.append(
                f"{who}: ${key_variable} is not sent to a URL that the environment does not name; if it "
                "belongs to that server, give it with --key"
            )
    if is_verbose:
        notes.append(f"{who}: verbose has no effect; --verbose prints every reply")
    entry = {"name": SERVED, "type": served, **said}
    (found,) = read_models([entry], Values({}, "--config"), flags.retry)
    return replace(found, name=make_label(label), notes=(*found.notes, *notes))


def _is_for(base: Any, own_base: str | None, key_variable: str) -> bool:
    """Whether a key of the environment belongs to a URL, which may come from a file of another person.

    >>> _is_for("http://o/v1", "http://o/v1/chat/completions", "OPENAI_API_KEY")
    True
    >>> _is_for("http://x/v1", "http://o/v1", "OPENAI_API_KEY")
    False
    >>> _is_for(OpenAI.official_url, None, "OPENAI_API_KEY")
    True
    """
    if base is None:  # the URL is that of the environment, or OpenAI's
        return key_variable == _OPENAI_KEY
    places = [own_base, OpenAI.official_url if key_variable == _OPENAI_KEY else None]
    with suppress(UsageError):  # what is not a URL is refused where URLs are read
        return OpenAI.normalise_url(str(base)) in [OpenAI.normalise_url(place) for place in places if place]
    return False


def _read_labelled_data(label: str, said: Mapping[str, Any]) -> DataEntry:
    """A dataset of the file."""
    who = f"--config: data {label!r}"
    for name, value in said.items():
        if name not in ("class", "dataset", *_VIDEO):
            hint = '"dataset" names the file; its columns decide its kind'
            raise UsageError(f"{who} has the unknown key {name}", hint=hint)
        if name in _VIDEO and value:
            raise UsageError(f"{who} is a video dataset ({name})", hint="only images are supported")
    source, kind = said.get("dataset", label), said["class"]
    if not isinstance(source, str) or not source.strip():
        raise UsageError(f'{who}: "dataset" must be a name or a path')
    if kind not in ("", *_KINDS) and find_published_benchmark(Path(source.strip()).stem) is None:
        hint = suggest_name(kind, list(_KINDS), otherwise=f"known: {', '.join(_KINDS)}", at_most=1)
        raise UsageError(f"{who} has the class {kind}, whose rules are not built in", hint=hint)
    return DataEntry(name=make_label(label), source=source.strip())


# -- Existing predictions


def fetch_predictions(task: Task, say: Callable[[str], None]) -> None:
    """For a task that only scores: copy the predictions from the newest folder that VLMEvalKit wrote.

    Its files hold replies, but not the requests: they can be scored, and replace no request.
    """
    if task.mode != "eval":
        return
    root = Path(task.work_dir).expanduser()
    for model, data in product(task.models, task.data):
        folder, stem = root / model.name, f"{model.name}_{data.name}"
        starts = sorted((one for one in folder.glob("T*") if one.is_dir()), reverse=True)
        there = (path for one in (folder, *starts) for path in find_prediction_files(one, stem))
        found = next(there, folder)
        if found.parent in starts:
            with atomic_write(folder / found.name) as place:
                shutil.copyfile(found, place)
            say(f"scoring the predictions of {found.parent}")
