"""From InSight-o3's arguments to a run of ours that could start."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.compat.insight_o3.arguments import DEFAULT_FIELDS, JUDGE, NO_JUDGE, Arguments, check_seconds
from eyechart.data.insight_o3 import AnnotationSource
from eyechart.errors import UsageError
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_plan
from eyechart.score.insight_o3 import MAX_ANSWER_LENGTH, InsightScorer
from eyechart.types import Benchmark

RUNS = "run"  # the folder of our run, within that of the evaluation
_SCORER = "insight-o3"
_TIMEOUT_S = 600.0


def planned(arguments: Arguments, *, progress: bool) -> Plan:
    """The run that the arguments mean, in a folder within that of the evaluation."""
    plan = make_plan(_benchmark(arguments), _model(arguments.model), _options(arguments, progress=progress))
    if arguments.max_answer_length != MAX_ANSWER_LENGTH and plan.verdicts.judge_setup is not None:
        cropping = plan.verdicts.judge_setup.bind(
            InsightScorer(max_answer_length=arguments.max_answer_length)
        )
        plan = replace(plan, verdicts=replace(plan.verdicts, scorer=cropping))
    return replace(plan, folder=arguments.folder / RUNS / plan.folder.name)


def _benchmark(arguments: Arguments) -> Benchmark:
    from eyechart.prompt.insight_o3 import insight_o3_prompt, think_prompt

    prompts = {"model_default": insight_o3_prompt, "think": think_prompt}
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
