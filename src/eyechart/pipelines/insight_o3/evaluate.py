"""InSight-o3's evaluation command from Python: its arguments in, its folder of result files out.

    from eyechart.compat.insight_o3 import Arguments, evaluate
    done = evaluate(Arguments(eval_name="x", ann_file="vstar.jsonl", img_dir="images", model="my-model"))

The files lie in ``<output_dir>/<eval_name>``, eyechart's own run in a folder below it. Calling it again asks
only for what is missing or failed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import DataError, StoreError, UsageError, translate_errors, translate_hint
from eyechart.pipelines.insight_o3.arguments import (
    DEFAULT_FIELDS,
    FLAG_NAMES,
    JUDGE,
    KNOWN_FLAGS,
    LOCAL_PREFIXES,
    NO_JUDGE,
    Arguments,
    check_arguments,
)
from eyechart.pipelines.insight_o3.benchmark import AnnotationSource, render_question, render_think_question
from eyechart.pipelines.insight_o3.report import (
    find_low_rates,
    format_results_row,
    read_result_file,
    summarise_trials,
    write_insight_o3,
)
from eyechart.pipelines.insight_o3.score import MAX_ANSWER_LENGTH, InsightScorer
from eyechart.report.rows import write_json_file
from eyechart.runs.evaluate import evaluate as evaluate_plan
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.score.thinking import set_thinking
from eyechart.store.folder import discard_folder, lock_folder, prepare_folder
from eyechart.store.journal import FILE_NAME, Journal
from eyechart.types import Benchmark, Export, JudgedScorer

if TYPE_CHECKING:
    from eyechart.runs.results import Run

RUNS = "run"  # the folder of our run, below that of the evaluation
_ARGUMENTS = "args.json"
_TIMEOUT_S = 600.0


def evaluate(arguments: Arguments, *, progress: bool = True) -> InsightEvaluation:
    """Ask, judge and write the files; a second call asks only for what is missing or has failed."""
    with translate_errors(FLAG_NAMES, KNOWN_FLAGS):
        check_arguments(arguments)
        plan = plan_evaluation(arguments, progress=progress)
        if (found := find_earlier_summary(arguments, plan)) is not None:
            return InsightEvaluation(folder=arguments.folder, run=None, summary=found)
        is_new = not (arguments.folder / _ARGUMENTS).exists()
        if is_new:
            _write_arguments(arguments)  # so that it exists if the run is killed
        try:
            done = evaluate_plan(plan)
        except BaseException:
            if is_new and not (plan.folder / FILE_NAME).exists():  # the run did not start
                (arguments.folder / _ARGUMENTS).unlink(missing_ok=True)
            raise
        if done.trouble is not None:
            done.trouble.hint = translate_hint(done.trouble.hint, FLAG_NAMES, KNOWN_FLAGS)
        export = Export(
            folder=arguments.folder,
            manifest=done.manifest,
            results=done.list_for_files,
            full_images=arguments.full_images,
            find_calls=done.find_calls,
        )
        files = () if done.is_interrupted else tuple(write_insight_o3(export))
        _write_arguments(arguments)  # the exporter wrote the run's, which are in its own folder too
        summary = arguments.folder / "summary_metrics.json"
        found = json.loads(summary.read_bytes()) if summary in files else None
        return InsightEvaluation(folder=arguments.folder, run=done, summary=found, files=files)


def _write_arguments(arguments: Arguments) -> None:
    prepare_folder(arguments.folder)
    write_json_file(arguments.folder / _ARGUMENTS, arguments.record(), indent=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightEvaluation:
    """The result. `run` is None if another program completed all trials before."""

    folder: Path
    run: Run | None
    summary: Mapping[str, Any] | None  # as in summary_metrics.json; None until every trial is complete
    files: tuple[Path, ...] = ()

    @property
    def cell(self) -> str:
        """The accuracy as in the authors' results table, such as ``55.6±11.1 @2``."""
        return format_results_row("", self.summary)[""]

    @property
    def warnings(self) -> list[str]:
        """The rates below 1: samples without a verdict count as wrong in the accuracy."""
        return find_low_rates(self.summary) if self.summary else []

    @property
    def exit_code(self) -> int:
        return self.run.exit_code if self.run else 0


# -- From the arguments to a run


def plan_evaluation(arguments: Arguments, *, progress: bool) -> Plan:
    """The run that the arguments ask for, in a folder below that of the evaluation."""
    plan = make_plan(_benchmark(arguments), _model(arguments.model), _options(arguments, progress=progress))
    if arguments.max_answer_length != MAX_ANSWER_LENGTH and plan.scorers.judge_setup is not None:
        scorer = set_thinking(
            InsightScorer(max_answer_length=arguments.max_answer_length), plan.options.thinking
        )
        assert isinstance(scorer, JudgedScorer)
        cropping = plan.scorers.judge_setup.bind(scorer)
        plan = replace(plan, scorers=replace(plan.scorers, scorer=cropping))
    return replace(plan, folder=arguments.folder / RUNS / plan.folder.name)


def _benchmark(arguments: Arguments) -> Benchmark:
    thinks = arguments.sys_prompt == "think"
    images = Path(arguments.img_dir).absolute()
    return Benchmark(
        name=arguments.eval_name,
        source=AnnotationSource(
            name=arguments.eval_name, path=Path(arguments.ann_file).absolute(), image_roots=(images,)
        ),
        prompt=render_think_question if thinks else render_question,
        group_by=("category",),
        settings={"image_root": str(images), "think": thinks},
        about="InSight-o3's evaluation of single images",
    )


def _model(name: str) -> str:
    """The model as eyechart names it: a served name, unless a prefix says that it runs locally.

    >>> _model("Qwen/Qwen3-VL-8B"), _model("openai/gpt-4o"), _model("python:mine.py:Model")
    ('openai/Qwen/Qwen3-VL-8B', 'openai/openai/gpt-4o', 'python:mine.py:Model')
    """
    return name if name.startswith(LOCAL_PREFIXES) else f"openai/{name}"


def _options(arguments: Arguments, *, progress: bool) -> Options:
    judge = _judge(arguments)
    arguments = arguments.without_idle_addresses()  # options are written to disk
    given: dict[str, Any] = {
        "base_url": arguments.api_base_url,
        "api_key": arguments.api_key,
        "params": _parameters(arguments),
        "max_pixels": arguments.img_max_pixels or None,
        "jpeg_quality": 75,  # Pillow's default; every image is encoded again
        "trials": arguments.num_trials,
        "separate_trials": arguments.separate_trial_requests,
        "concurrency": arguments.concurrency,
        "timeout_s": _timeout_s(arguments),
        "progress": progress,
        "thinking": arguments.thinking,
        "scorer": "default",
    }
    if judge:
        given |= {
            "scorer": "insight-o3",
            "judge": judge,
            "judge_base_url": arguments.judge_api_base_url,
            "judge_api_key": arguments.judge_api_key,
            "judge_params": {"max_completion_tokens": 2048} if arguments.is_judge_served else {},
            "judge_prompts": arguments.judge_prompts,
        }
    return Options.of(given)


def _parameters(arguments: Arguments) -> dict[str, Any]:
    """Fields of a request; for a local model, the arguments it is made with, if any were given."""
    fields = dict(arguments.chat_completion_kwargs)
    if not arguments.is_served:
        return {} if fields == DEFAULT_FIELDS else fields
    detail = arguments.image_url_extra_settings.get("detail")
    return {**fields, **({"image_detail": detail} if detail else {})}


def _judge(arguments: Arguments) -> str | None:
    """The judge. The authors' judge is the default only if a key or a URL is given for it."""
    if not arguments.has_judge:
        return None
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE")
    is_reached = arguments.judge_api_base_url or arguments.judge_api_key or any(map(os.environ.get, names))
    if not arguments.judge_model and not is_reached:
        raise UsageError(
            "no judge given, but replies that differ from the gold need one",
            hint=f"add --judge_api_key KEY (or OPENAI_API_KEY) for {JUDGE}, --judge_model NAME "
            f"--judge_api_base_url URL for another, or --judge_model {NO_JUDGE} to score by eyechart's rules",
        )
    return _model(arguments.judge_model or JUDGE)


def _timeout_s(arguments: Arguments) -> float:
    if arguments.client_timeout is not None:
        return float(arguments.client_timeout)
    stated = os.environ.get("OPENAI_CLIENT_TIMEOUT") or _TIMEOUT_S
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(stated)) < math.inf:
            return seconds
    raise UsageError(f"OPENAI_CLIENT_TIMEOUT is {stated!r}, but must be seconds, more than 0")


# -- An evaluation that is in the folder already


def find_earlier_summary(arguments: Arguments, plan: Plan) -> dict[str, Any] | None:
    """The figures of trials that the authors' program completed there; None if there is work to do.

    Refuses a folder that this evaluation cannot continue.
    """
    folder = arguments.folder
    runs = sorted(path.parent for path in (folder / RUNS).glob(f"*/{FILE_NAME}"))
    if plan.folder in runs:
        return None
    has_replies = any(map(_has_replies, runs))
    trials = [folder / f"trial_{trial}" for trial in range(arguments.num_trials)]
    n_done = sum((trial / "done").exists() for trial in trials)
    # The authors' program keeps nothing of a trial before its end.
    is_theirs = not runs and (n_done == len(trials) or any(folder.glob("trial_*/eval_metrics.json")))
    is_known = has_replies or (is_theirs and (folder / _ARGUMENTS).exists())
    changes = _list_changes(arguments) if is_known else ""
    if changes or has_replies:
        raise UsageError(
            f"{folder} holds another evaluation ({changes or 'other questions or another model'})",
            hint="choose another eval_name, or remove the folder",
        )
    for run in runs:  # they never got an answer (a wrong model name or URL, say): nothing is lost
        with lock_folder(run):
            discard_folder(run)
    if not is_theirs:
        return None
    if n_done < len(trials):
        shown = f"; --num_trials {n_done} shows the finished ones" if (trials[0] / "done").exists() else ""
        raise UsageError(
            f"{folder} was written by another program, and {n_done} of {len(trials)} trials are done: "
            "eyechart cannot continue them, because it does not have their replies",
            hint=f"choose another eval_name, or finish them with the program that began them{shown}",
        )
    found = [read_result_file(trial / "eval_metrics.json", dict[str, Any]) or {} for trial in trials]
    try:
        return summarise_trials(found)
    except (KeyError, TypeError, AttributeError) as err:
        raise DataError(
            f"{folder}: its eval_metrics.json are not those of this evaluation",
            hint="choose another eval_name",
        ) from err


def _has_replies(run: Path) -> bool:
    try:
        return Journal.open(run / FILE_NAME).has_replies()
    except StoreError:  # a later version, say: keep it
        return True


def _list_changes(arguments: Arguments) -> str:
    """The arguments that change the questions and differ from those in the folder; empty if none does."""
    asked = ("ann_file", "img_dir", "model", "api_base_url", "img_max_pixels", "sys_prompt",
             "chat_completion_kwargs", "image_url_extra_settings")  # fmt: skip
    try:
        before = json.loads((arguments.folder / _ARGUMENTS).read_bytes())
        now = json.loads(json.dumps(arguments.record(), default=str))
        changed = [
            f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
            for name in asked
            if _meant(name, before.get(name)) != _meant(name, now.get(name))
        ]
    except (OSError, ValueError, AttributeError):
        return "its args.json cannot be read"
    return "; ".join(changed)


def _meant(name: str, value: Any) -> Any:
    """A value without differences that do not matter: the spelling of a path, a URL's last slash."""
    if not isinstance(value, str):
        return value
    return str(Path(value).absolute()) if name in ("ann_file", "img_dir") else value.rstrip("/")
