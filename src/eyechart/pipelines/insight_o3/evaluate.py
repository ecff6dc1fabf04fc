"""The arguments of InSight-o3's evaluation command, under their names and with their defaults."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eyechart import errors
from eyechart.errors import DataError, StoreError, UsageError
from eyechart.files import make_folder
from eyechart.option import REQUIRED, argument
from eyechart.pipelines.insight_o3.benchmark import AnnotationSource
from eyechart.pipelines.insight_o3.score import MAX_ANSWER_LENGTH, InsightScorer
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_plan
from eyechart.types import Benchmark

if TYPE_CHECKING:
    from eyechart.run.plan import Plan
    from eyechart.run.run import Run


DEFAULT_FIELDS: Mapping[str, Any] = {"max_completion_tokens": 16384}
NO_JUDGE = "none"
JUDGE = "gpt-5-nano"  # the authors', for figures that can be compared with theirs

_OF_A_SERVER = ("api_base_url", "api_key", "image_url_extra_settings")
_OF_A_JUDGE = ("judge_api_base_url", "judge_api_key", "judge_prompts", "max_answer_length")

_RUN_HERE = ("python:", "baseline/")

_KINDS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "a text": (str, ("eval_name", "model")),
    "an address": (str | None, ("api_base_url", "judge_api_base_url")),
    "a path": (str | os.PathLike, ("ann_file", "img_dir", "output_dir")),
    "a whole number": (int, ("num_trials", "concurrency", "max_answer_length", "img_max_pixels")),
    "a number of seconds": (int | float | None, ("client_timeout",)),
    "names with values": (Mapping, ("chat_completion_kwargs", "image_url_extra_settings")),
}
_UNSHOWN = ("an address", "names with values")  # where a password or a key may stand


# The headings under which `--help` shows the arguments.
QUESTIONS = "the questions"
MODEL = "the model"
JUDGING = "the judge"
RUN = "the run"


def read_object(text: str) -> dict[str, Any]:
    """A JSON object in an argument. Refused without being shown, since keys may stand in it."""
    like = "write it like '{\"name\": 1}'"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise argparse.ArgumentTypeError(f"it is no JSON: {err}; {like}") from err
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"it is no JSON object; {like}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of the authors' command under their names and with their defaults.

    `judge_prompts` is ours: a file with the judge's wording.
    """

    eval_name: str = argument(REQUIRED, group=QUESTIONS, metavar="NAME", help="the folder below OUTPUT_DIR")
    ann_file: str = argument(REQUIRED, group=QUESTIONS, metavar="FILE", help="the questions, as JSON Lines")
    img_dir: str = argument(
        REQUIRED, group=QUESTIONS, metavar="DIR", help="where the paths of pictures start from"
    )
    model: str = argument(
        REQUIRED, group=MODEL, metavar="NAME", help="as it is served; or python:file.py:Class"
    )
    api_base_url: str | None = argument(None, group=MODEL, metavar="URL", help="default: OPENAI_BASE_URL")
    api_key: str | None = argument(
        None, group=MODEL, metavar="KEY", help="default: OPENAI_API_KEY", is_secret=True
    )
    img_max_pixels: int = argument(
        3500 * 3500,
        group=QUESTIONS,
        metavar="N",
        help="shrink larger pictures (default: 12250000; 0: never)",
    )
    sys_prompt: Literal["model_default", "think"] = argument(
        "model_default",
        group=QUESTIONS,
        help="think: a system message asks for <think> and <answer> tags (default: model_default, none)",
    )
    chat_completion_kwargs: Mapping[str, Any] = argument(
        {**DEFAULT_FIELDS},
        group=MODEL,
        metavar="JSON",
        convert=read_object,
        help='further fields of a request (default: {"max_completion_tokens": 16384})',
    )
    client_timeout: float | None = argument(
        None, group=MODEL, metavar="S", help="seconds for one request (default: 600)"
    )
    image_url_extra_settings: Mapping[str, Any] = argument(
        {"detail": "high"},
        group=QUESTIONS,
        metavar="JSON",
        convert=read_object,
        help='what is sent beside a picture (default: {"detail": "high"})',
    )
    judge_model: str | None = argument(  # JUDGE, where a judge can be reached
        None,
        group=JUDGING,
        metavar="NAME",
        help="default: gpt-5-nano; none: by eyechart's own rules, without a judge",
    )
    judge_api_base_url: str | None = argument(
        None, group=JUDGING, metavar="URL", help="default: OPENAI_BASE_URL"
    )
    judge_api_key: str | None = argument(
        None, group=JUDGING, metavar="KEY", help="default: OPENAI_API_KEY", is_secret=True
    )
    output_dir: str = argument("./outputs/eval", group=RUN, metavar="DIR", help="default: ./outputs/eval")
    num_trials: int = argument(1, group=RUN, metavar="K", help="ask each question K times (default: 1)")
    separate_trial_requests: bool = argument(
        False, group=RUN, help="one request a trial, for endpoints that give one answer only"
    )
    concurrency: int = argument(128, group=RUN, metavar="N", help="requests at once (default: 128)")
    max_answer_length: int = argument(
        MAX_ANSWER_LENGTH,
        group=JUDGING,
        metavar="N",
        help="characters of an answer that it is shown, the last ones (default: 1000)",
    )
    judge_prompts: str | None = argument(
        None, group=JUDGING, metavar="FILE", help="its wording, as JSON or YAML: mcqa, openqa, judge"
    )

    @property
    def has_judge(self) -> bool:
        """Whether somebody is to judge. Python's None, written into a script, means nobody, too."""
        return (self.judge_model or "").lower() != NO_JUDGE

    @property
    def is_served(self) -> bool:
        """Whether the model answers at an address, and does not run here."""
        return not self.model.startswith(_RUN_HERE)

    @property
    def is_judge_served(self) -> bool:
        """Whether the judge, if there is one, answers at an address."""
        return not (self.judge_model or "").startswith(_RUN_HERE)

    @property
    def unused(self) -> dict[str, str]:
        """What was said and changes nothing, with the reason."""
        found: dict[str, str] = {}
        if not self.is_served:
            found |= dict.fromkeys(_OF_A_SERVER, f"{self.model} runs here")
        if not self.has_judge:
            found |= dict.fromkeys(_OF_A_JUDGE, "there is no judge")
        elif not self.is_judge_served:
            found |= dict.fromkeys(("judge_api_base_url", "judge_api_key"), f"{self.judge_model} runs here")
        usual = Arguments(eval_name="", ann_file="", img_dir="", model="")
        return {name: why for name, why in found.items() if getattr(self, name) != getattr(usual, name)}

    @property
    def folder(self) -> Path:
        """Where the result files go."""
        return Path(self.output_dir) / self.eval_name

    def without_idle_addresses(self) -> Arguments:
        """The same without the addresses at which nobody is asked: nobody looks for a password in them."""
        said = self.unused
        return replace(
            self,
            api_base_url=None if "api_base_url" in said else self.api_base_url,
            judge_api_base_url=None if "judge_api_base_url" in said else self.judge_api_base_url,
        )

    def record(self) -> dict[str, Any]:
        """All arguments, as args.json holds them: without the keys."""
        from eyechart.model.redact import redact_parameters

        said = self.without_idle_addresses()
        values = {name: getattr(said, name) for name in self.__dataclass_fields__}
        return redact_parameters(values | {"judge_model": self.judge_model or JUDGE})


def check_arguments(arguments: Arguments) -> None:
    """Refuse what cannot be meant, before anything is opened."""
    _check_kinds(arguments)
    _check_name(arguments.eval_name)
    if not arguments.model:
        raise UsageError("model is empty", hint="it is the name under which the model is served")
    for flag in ("num_trials", "concurrency", "max_answer_length"):
        if getattr(arguments, flag) < 1:
            raise UsageError(f"{flag} is {getattr(arguments, flag)}, but must be at least 1")
    if arguments.img_max_pixels < 0:
        raise UsageError(f"img_max_pixels is {arguments.img_max_pixels}", hint="0 takes the limit away")
    if "n" in arguments.chat_completion_kwargs:
        raise UsageError("chat_completion_kwargs must not hold 'n'", hint="num_trials says how many")
    check_seconds("client_timeout", arguments.client_timeout)
    _check_numbers("chat_completion_kwargs", arguments.chat_completion_kwargs)
    _check_image_settings(arguments.image_url_extra_settings)
    _check_places(arguments)


def _check_kinds(arguments: Arguments) -> None:
    for what, (kind, names) in _KINDS.items():
        for said in names:
            value = getattr(arguments, said)
            if not isinstance(value, kind) or isinstance(value, bool):
                shown = type(value).__name__ if what in _UNSHOWN else repr(value)
                raise UsageError(f"{said} is {shown}, but must be {what}")


def _check_name(eval_name: str) -> None:
    name = Path(eval_name)
    if not name.parts or name.is_absolute() or ".." in name.parts:
        raise UsageError(
            f"eval_name {eval_name!r} is no name of a folder",
            hint="it names one below output_dir, such as my-model/vstar",
        )


def _check_image_settings(settings: Mapping[str, Any]) -> None:
    detail = settings.get("detail", "")
    if not isinstance(detail, str):
        raise UsageError(
            f"image_url_extra_settings: detail is {detail!r}, but must be a text", hint="such as high or low"
        )
    if stray := sorted(set(settings) - {"detail"}):
        raise UsageError(
            f"image_url_extra_settings: {', '.join(stray)} cannot be sent", hint='it takes {"detail": ...}'
        )


def _check_places(arguments: Arguments) -> None:
    if not Path(arguments.ann_file).is_file():
        raise DataError(
            f"there is no annotation file {arguments.ann_file}", hint="ann_file is a JSON Lines file"
        )
    if not Path(arguments.img_dir).is_dir():
        raise DataError(
            f"there is no folder of pictures {arguments.img_dir}",
            hint="img_dir is where the paths in the annotation file start from",
        )


def check_seconds(name: str, seconds: float | None) -> None:
    """Refuse a time that no request can take; `name` is where it was said."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise UsageError(f"{name} is {seconds:g}, but must be more than 0 seconds")


def _check_numbers(where: str, value: Any) -> None:
    """Refuse numbers that no request can hold: they would be sent as null."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(
            f"{where} is {value}, which JSON does not know", hint="write a number, or leave it out"
        )
    pairs = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, inner in pairs:
        _check_numbers(f"{where}: {name}", inner)


# -- Our advice names the flags of `eyechart run`; here they have the authors' names, or there are none.

_NAMES: Mapping[str, str] = {
    "pictures are looked for beside the data file, then in --image-root": "paths start from --img_dir",
    "keep pictures below the data file's folder, or name their folder with --image-root": "paths start "
    "from --img_dir, and must not lead out of it",
    "--param extra_body.NAME=VALUE": '--chat_completion_kwargs \'{"extra_body": {"NAME": VALUE}}\'',
    "--param NAME=VALUE": "--chat_completion_kwargs '{\"NAME\": VALUE}'",
    "--judge": "--judge_model",
    "--judge-base-url": "--judge_api_base_url",
    "--judge-api-key": "--judge_api_key",
    "--judge-prompts": "--judge_prompts",
    "--base-url": "--api_base_url",
    "--api-key": "--api_key",
    "--timeout": "--client_timeout",
    "--image-root": "--img_dir",
    "--out": "--output_dir",
}
_KNOWN = frozenset(f"--{name}" for name in Arguments.__dataclass_fields__)


def rename_flags_in_hint(hint: str) -> str:
    """A hint with the names that flags have here, without the clauses about others.

    >>> rename_flags_in_hint("is the server running? --base-url names another address")
    'is the server running? --api_base_url names another address'
    >>> rename_flags_in_hint("start the same command again; --give-up-after N tries for longer")
    'start the same command again'
    """
    return errors.translate_hint(hint, _NAMES, _KNOWN)


def rename_flags(text: str) -> str:
    """A text with the names that flags have here."""
    return errors.rename_flags(text, _NAMES)


def rename_flags_in_errors() -> AbstractContextManager[None]:
    """Whatever is wrong inside is told with the names that the arguments have here."""
    return errors.translate_errors(_NAMES, _KNOWN)


# -- From InSight-o3's arguments to a run of ours that could start.

RUNS = "run"  # the folder of our run, within that of the evaluation
_SCORER = "insight-o3"
_TIMEOUT_S = 600.0


def plan_evaluation(arguments: Arguments, *, progress: bool) -> Plan:
    """The run that the arguments mean, in a folder within that of the evaluation."""
    plan = make_plan(_benchmark(arguments), _model(arguments.model), _options(arguments, progress=progress))
    if arguments.max_answer_length != MAX_ANSWER_LENGTH and plan.scorers.judge_setup is not None:
        cropping = plan.scorers.judge_setup.bind(InsightScorer(max_answer_length=arguments.max_answer_length))
        plan = replace(plan, scorers=replace(plan.scorers, scorer=cropping))
    return replace(plan, folder=arguments.folder / RUNS / plan.folder.name)


def _benchmark(arguments: Arguments) -> Benchmark:
    from eyechart.pipelines.insight_o3.benchmark import render_question, render_think_question

    prompts = {"model_default": render_question, "think": render_think_question}
    if arguments.sys_prompt not in prompts:
        raise UsageError(f"no sys_prompt {arguments.sys_prompt!r}", hint=f"known: {', '.join(prompts)}")
    images = Path(arguments.img_dir).absolute()
    return Benchmark(
        name=arguments.eval_name,
        source=AnnotationSource(
            name=arguments.eval_name, path=Path(arguments.ann_file).absolute(), image_roots=(images,)
        ),
        prompt=prompts[arguments.sys_prompt],
        group_by=("category",),
        settings={"image_root": str(images), "think": arguments.sys_prompt == "think"},
        about="InSight-o3's evaluation of single pictures",
    )


def _model(name: str) -> str:
    """A served name, whatever stands in it; a model that runs here is told by its prefix.

    >>> _model("Qwen/Qwen3-VL-8B"), _model("openai/gpt-4o"), _model("python:mine.py:Model")
    ('openai/Qwen/Qwen3-VL-8B', 'openai/openai/gpt-4o', 'python:mine.py:Model')
    """
    return name if name.startswith(("python:", "baseline/")) else f"openai/{name}"


def _options(arguments: Arguments, *, progress: bool) -> Options:
    judge = _judge(arguments)
    arguments = arguments.without_idle_addresses()  # what goes into the options is written down
    return Options.of(
        {
            "base_url": arguments.api_base_url,
            "api_key": arguments.api_key,
            "params": _parameters(arguments),
            "max_pixels": arguments.img_max_pixels or None,
            "jpeg_quality": 75,  # as Pillow saves them, always anew
            "trials": arguments.num_trials,
            "separate_trials": arguments.separate_trial_requests,
            "concurrency": arguments.concurrency,
            "timeout_s": _timeout_s(arguments),
            "progress": progress,
            **(_judging(arguments, judge) if judge else {"scorer": "default"}),
        }
    )


def _parameters(arguments: Arguments) -> dict[str, Any]:
    """Fields of a request; of a model that runs here, what it is made with, if anything was said."""
    said = dict(arguments.chat_completion_kwargs)
    if not arguments.is_served:
        return {} if said == DEFAULT_FIELDS else said
    detail = arguments.image_url_extra_settings.get("detail")
    return {**said, **({"image_detail": detail} if detail else {})}


def _judging(arguments: Arguments, judge: str) -> dict[str, Any]:
    return {
        "scorer": _SCORER,
        "judge": judge,
        "judge_base_url": arguments.judge_api_base_url,
        "judge_api_key": arguments.judge_api_key,
        "judge_params": {"max_completion_tokens": 2048} if arguments.is_judge_served else {},
        "judge_prompts": arguments.judge_prompts,
    }


def _judge(arguments: Arguments) -> str | None:
    """Who judges. The authors' judge is taken only where somebody said how it is reached."""
    if not arguments.has_judge:
        return None
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE")
    is_reached = arguments.judge_api_base_url or arguments.judge_api_key or any(map(os.environ.get, names))
    if not arguments.judge_model and not is_reached:
        raise UsageError(
            "there is no judge to decide what is not the gold to the letter",
            hint=f"--judge_api_key KEY asks {JUDGE} (OPENAI_API_KEY does, too); --judge_model NAME "
            f"--judge_api_base_url URL asks your own; --judge_model {NO_JUDGE} scores by our rules alone",
        )
    return _model(arguments.judge_model or JUDGE)


def _timeout_s(arguments: Arguments) -> float:
    if arguments.client_timeout is not None:
        return float(arguments.client_timeout)
    said = os.environ.get("OPENAI_CLIENT_TIMEOUT") or _TIMEOUT_S
    try:
        seconds = float(said)
    except ValueError as err:
        raise UsageError(f"OPENAI_CLIENT_TIMEOUT is {said!r}, but must be seconds") from err
    check_seconds("OPENAI_CLIENT_TIMEOUT", seconds)
    return seconds


# -- What lies in the folder of an evaluation already, and whether this one can go on with it.


def find_earlier_summary(arguments: Arguments, plan: Plan) -> dict[str, Any] | None:
    """The figures of trials that the authors' own program completed there; None where there is work to do.

    Refuses a folder that this evaluation cannot go on with.
    """
    folder = arguments.folder
    runs = sorted(path.parent for path in (folder / RUNS).glob("*/run.sqlite"))
    if plan.folder in runs:
        return None
    if any(_has_replies(run) for run in runs):
        raise UsageError(
            f"{folder} holds another evaluation ({_difference(arguments)})",
            hint="choose another eval_name, or remove the folder",
        )
    if runs:  # a slip in the model's name or address: it never got an answer, so nothing is lost
        for run in runs:
            _drop(run)
        return None
    trials = [folder / f"trial_{trial}" for trial in range(arguments.num_trials)]
    n_done = sum((trial / "done").exists() for trial in trials)
    if n_done == len(trials):
        return _summary_of(trials)
    if any(folder.glob("trial_*/eval_metrics.json")):
        raise UsageError(
            f"{folder} holds trials of another program, {n_done} of {len(trials)} of them done",
            hint="choose another eval_name: what they were asked is not known here",
        )
    return None


def _has_replies(run: Path) -> bool:
    from eyechart.store.journal import FILE_NAME, Journal

    try:
        return Journal.open(run / FILE_NAME).has_replies()
    except StoreError:  # of a later version, say: better to keep it
        return True


def _drop(run: Path) -> None:
    from eyechart.store.folder import discard_folder, lock_folder

    with lock_folder(run):
        discard_folder(run)


def _summary_of(trials: list[Path]) -> dict[str, Any]:
    from eyechart.data.json_files import read_bytes, translate_json_errors
    from eyechart.pipelines.insight_o3.report import summarise_trials

    found = []
    for trial in trials:
        path = trial / "eval_metrics.json"
        with translate_json_errors(str(path), hint="remove the folder, or choose another eval_name"):
            found.append(json.loads(read_bytes(path)))
    try:
        return summarise_trials(found)
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(
            f"{trials[0].parent}: its eval_metrics.json are not those of this evaluation",
            hint="choose another eval_name",
        ) from err


def _difference(arguments: Arguments) -> str:
    """What is said otherwise now than when the folder was made, of that which changes the questions."""
    asked = ("ann_file", "img_dir", "model", "api_base_url", "img_max_pixels", "sys_prompt",
             "chat_completion_kwargs", "image_url_extra_settings")  # fmt: skip
    try:
        before = json.loads((arguments.folder / "args.json").read_bytes())
        now = json.loads(json.dumps(arguments.record(), default=str))
        changed = [
            f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
            for name in asked
            if _meant(name, before.get(name)) != _meant(name, now.get(name))
        ]
    except (OSError, ValueError, AttributeError):
        return "of which nothing is known"
    return "; ".join(changed) or "of other questions or another model"


def _meant(name: str, value: Any) -> Any:
    """A value without what makes no difference: how a path is written, a slash at the end of an address."""
    if not isinstance(value, str):
        return value
    return str(Path(value).absolute()) if name in ("ann_file", "img_dir") else value.rstrip("/")


# -- InSight-o3's evaluation command: its arguments in, its folder of result files out.
#
# from eyechart.pipelines.insight_o3.evaluate import Arguments, evaluate done =
# evaluate(Arguments(eval_name="qwen/vstar", ann_file="vstar.jsonl", img_dir="images", model="my-model"))
#
# The files lie in ``<output_dir>/<eval_name>``, and our own run in a folder below it. What a trial has
# already is never asked for again; a sample that failed is.

__all__ = ["Arguments", "InsightEvaluation", "evaluate"]

_ARGUMENTS = "args.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightEvaluation:
    """What came of it. `run` is None where the trials are those of another program, found complete."""

    folder: Path
    run: Run | None
    summary: Mapping[str, Any] | None  # what summary_metrics.json holds; None while a trial is not whole
    files: tuple[Path, ...] = ()

    @property
    def cell(self) -> str:
        """The accuracy as in the authors' table of results, such as ``55.6±11.1 @2``."""
        from eyechart.pipelines.insight_o3.report import format_results_row

        return format_results_row("", self.summary)[""]

    @property
    def warnings(self) -> list[str]:
        """The rates below 1: what has no verdict counts as wrong in the accuracy."""
        from eyechart.pipelines.insight_o3.report import find_low_rates

        return find_low_rates(self.summary) if self.summary else []

    @property
    def exit_code(self) -> int:
        """That of the run."""
        return self.run.exit_code if self.run else 0


def evaluate(arguments: Arguments, *, progress: bool = True) -> InsightEvaluation:
    """Ask, judge and write the files; a second call asks only for what is missing or has failed."""
    with rename_flags_in_errors():
        check_arguments(arguments)
        plan = plan_evaluation(arguments, progress=progress)
        if (found := find_earlier_summary(arguments, plan)) is not None:
            return InsightEvaluation(folder=arguments.folder, run=None, summary=found)
        done = _evaluated(arguments, plan)
        if done.trouble is not None:
            done.trouble.hint = rename_flags_in_hint(done.trouble.hint)
        if done.is_interrupted:
            _write_arguments(arguments)
            return InsightEvaluation(folder=arguments.folder, run=done, summary=None)
        return _written(arguments, done)


def _evaluated(arguments: Arguments, plan: Plan) -> Run:
    """The run. What it was asked is on disk meanwhile, for the day on which it is killed."""
    from eyechart.run import evaluate as evaluate_plan

    is_new = not (arguments.folder / _ARGUMENTS).exists()
    if is_new:
        _write_arguments(arguments)
    try:
        return evaluate_plan(plan)
    except BaseException:
        if is_new and not (plan.folder / "run.sqlite").exists():  # it never came to be one
            (arguments.folder / _ARGUMENTS).unlink(missing_ok=True)
        raise


def _written(arguments: Arguments, done: Run) -> InsightEvaluation:
    from eyechart.pipelines.insight_o3.report import write_insight_o3
    from eyechart.types import Export

    export = Export(folder=arguments.folder, manifest=done.manifest, results=done.samples)
    files = tuple(write_insight_o3(export))
    _write_arguments(arguments)  # those of the run are in its own folder
    summary = arguments.folder / "summary_metrics.json"
    found = json.loads(summary.read_bytes()) if summary in files else None
    return InsightEvaluation(folder=arguments.folder, run=done, summary=found, files=files)


def _write_arguments(arguments: Arguments) -> None:
    from eyechart.report.rows import write_json_file

    try:
        make_folder(arguments.folder)
    except OSError as err:
        raise StoreError(
            f"{arguments.folder}: {err.strerror or err}",
            hint="choose a folder you can write to with --output_dir",
        ) from err
    write_json_file(arguments.folder / _ARGUMENTS, arguments.record(), indent=4)
