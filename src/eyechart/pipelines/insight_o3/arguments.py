"""The arguments of InSight-o3's evaluation command: the authors' names and defaults, and checks."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.errors import DataError, UsageError
from eyechart.models.redact import redact_parameters
from eyechart.option import REQUIRED, argument, check_limits
from eyechart.pipelines.insight_o3.score import MAX_ANSWER_LENGTH

DEFAULT_FIELDS: Mapping[str, Any] = {"max_completion_tokens": 16384}
NO_JUDGE = "none"
JUDGE = "gpt-5-nano"  # the authors' judge

# Headings of `--help`.
QUESTIONS = "the questions"
MODEL = "the model"
JUDGING = "the judge"
RUN = "the run"
_question, _model, _judging, _run = (
    partial(argument, group=group) for group in (QUESTIONS, MODEL, JUDGING, RUN)
)
_OF_A_SERVER = ("api_base_url", "api_key", "image_url_extra_settings")
_OF_A_JUDGE = ("judge_api_base_url", "judge_api_key", "judge_prompts", "max_answer_length")
_PATHS = ("ann_file", "img_dir", "output_dir")
LOCAL_PREFIXES = ("python:", "baseline/")


def read_object(text: str) -> dict[str, Any]:
    """A JSON object in an argument. Errors do not show it, because it may hold keys."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (ValueError, RecursionError) as err:  # of msgspec, or of half a character
        like = "write it like '{\"name\": 1}'"
        raise argparse.ArgumentTypeError(f"not a JSON object: {err}; {like}") from err


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The authors' arguments and defaults. `judge_prompts`, `thinking` and `full_images` are ours."""

    eval_name: str = _question(REQUIRED, metavar="NAME", help="the folder below OUTPUT_DIR")
    ann_file: str = _question(REQUIRED, metavar="FILE", help="the questions, as JSON Lines")
    img_dir: str = _question(REQUIRED, metavar="DIR", help="the folder that image paths are relative to")
    model: str = _model(REQUIRED, metavar="NAME", help="as it is served; or python:file.py:Class")
    api_base_url: str | None = _model(None, metavar="URL", help="default: OPENAI_BASE_URL")
    api_key: str | None = _model(None, metavar="KEY", help="default: OPENAI_API_KEY", is_secret=True)
    img_max_pixels: int = _question(
        3500 * 3500, metavar="N", at_least=0, help="shrink larger images (default: 12250000; 0: never)"
    )
    sys_prompt: Literal["model_default", "think"] = _question(
        "model_default",
        help="think: a system message asks for <think> and <answer> tags (default: model_default, none)",
    )
    chat_completion_kwargs: Mapping[str, Any] = _model(
        {**DEFAULT_FIELDS},
        metavar="JSON",
        convert=read_object,
        help='more fields of a request (default: {"max_completion_tokens": 16384})',
    )
    client_timeout: float | None = _model(
        None, metavar="S", above=0, help="seconds per request (default: 600)"
    )
    image_url_extra_settings: Mapping[str, Any] = _question(
        {"detail": "high"},
        metavar="JSON",
        convert=read_object,
        help='sent with each image (default: {"detail": "high"})',
    )
    judge_model: str | None = _judging(  # JUDGE, where a judge can be reached
        None, metavar="NAME", help="default: gpt-5-nano; none: eyechart's own rules, without a judge"
    )
    judge_api_base_url: str | None = _judging(None, metavar="URL", help="default: OPENAI_BASE_URL")
    judge_api_key: str | None = _judging(None, metavar="KEY", help="default: OPENAI_API_KEY", is_secret=True)
    output_dir: str = _run("./outputs/eval", metavar="DIR", help="default: ./outputs/eval")
    num_trials: int = _run(1, metavar="K", at_least=1, help="ask each question K times (default: 1)")
    separate_trial_requests: bool = _run(
        False, help="one request per trial, for endpoints that return one answer"
    )
    concurrency: int = _run(128, metavar="N", at_least=1, help="concurrent requests (default: 128)")
    max_answer_length: int = _judging(
        MAX_ANSWER_LENGTH,
        metavar="N",
        at_least=1,
        help="last characters of an answer that the judge is shown (default: 1000)",
    )
    judge_prompts: str | None = _judging(
        None, metavar="FILE", help="the judge's prompts, as JSON or YAML: mcqa, openqa, judge"
    )
    thinking: Literal["auto", "keep", "split"] | None = _judging(
        None,
        help="thoughts in replies; split: not judged, nor in the records (default: auto, which keeps them)",
    )
    full_images: bool = _run(
        False, help="eval_records.jsonl contains the images as they were sent, as theirs does"
    )

    @property
    def has_judge(self) -> bool:
        # Python's None, written into a script, arrives as the text "None"
        return (self.judge_model or "").lower() != NO_JUDGE

    @property
    def is_served(self) -> bool:
        return not self.model.startswith(LOCAL_PREFIXES)

    @property
    def is_judge_served(self) -> bool:
        return not (self.judge_model or "").startswith(LOCAL_PREFIXES)

    @property
    def unused(self) -> dict[str, str]:
        """Arguments that have no effect, with the reason."""
        found: dict[str, str] = {}
        if not self.is_served:
            found |= dict.fromkeys(_OF_A_SERVER, f"{self.model} runs locally")
        if not self.has_judge:
            found |= dict.fromkeys(_OF_A_JUDGE, "there is no judge")
        elif not self.is_judge_served:
            found |= dict.fromkeys(
                ("judge_api_base_url", "judge_api_key"), f"{self.judge_model} runs locally"
            )
        usual = Arguments(eval_name="", ann_file="", img_dir="", model="")
        return {name: why for name, why in found.items() if getattr(self, name) != getattr(usual, name)}

    @property
    def folder(self) -> Path:
        return Path(self.output_dir) / self.eval_name

    def without_idle_addresses(self) -> Arguments:
        """The same without unused URLs, which are not checked for passwords."""
        idle: dict[str, Any] = {name: None for name in self.unused if name.endswith("api_base_url")}
        return replace(self, **idle)

    def record(self) -> dict[str, Any]:
        """All arguments as in args.json, without the keys."""
        kept = self.without_idle_addresses()
        values = {name: getattr(kept, name) for name in self.__dataclass_fields__}
        return redact_parameters(values | {"judge_model": self.judge_model or JUDGE})


# -- Checks


def check_arguments(arguments: Arguments) -> None:
    """Refuse wrong values before anything is opened."""
    values = {name: getattr(arguments, name) for name in arguments.__dataclass_fields__}
    values |= {name: os.fspath(values[name]) for name in _PATHS if isinstance(values[name], os.PathLike)}
    try:
        msgspec.convert(values, Arguments)
    except msgspec.ValidationError as err:  # it shows no values, which may be keys
        raise UsageError(f"wrong argument: {err}") from err
    name = Path(arguments.eval_name)
    if not name.parts or name.is_absolute() or ".." in name.parts:
        raise UsageError(
            f"eval_name {arguments.eval_name!r} is not a folder name",
            hint="give a folder below output_dir, such as my-model/vstar",
        )
    if not arguments.model:
        raise UsageError("model is empty", hint="give the name under which the model is served")
    check_limits(arguments)
    if "n" in arguments.chat_completion_kwargs:
        raise UsageError("chat_completion_kwargs must not hold 'n'", hint="use num_trials")
    try:
        json.dumps(arguments.chat_completion_kwargs, allow_nan=False, default=str)
    except ValueError as err:
        raise UsageError(
            "chat_completion_kwargs: a number that JSON cannot hold", hint="write another, or leave it out"
        ) from err
    settings = arguments.image_url_extra_settings
    if set(settings) - {"detail"} or not isinstance(settings.get("detail", ""), str):
        raise UsageError(
            f"image_url_extra_settings: {', '.join(settings)} cannot be sent",
            hint='it takes {"detail": "high"}',
        )
    if not Path(arguments.ann_file).is_file():
        raise DataError(f"no annotation file {arguments.ann_file}", hint="ann_file is a JSON Lines file")
    if not Path(arguments.img_dir).is_dir():
        raise DataError(
            f"no folder of images {arguments.img_dir}",
            hint="image paths in the annotation file are relative to img_dir",
        )


# -- Flags by the authors' names: hints of the core name those of eyechart run


FLAG_NAMES: Mapping[str, str] = {
    "images are looked for beside the data file, then in --image-root": "paths start from --img_dir",
    "keep images below the data file's folder, or name their folder with --image-root": "paths start "
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
KNOWN_FLAGS = frozenset(f"--{name}" for name in Arguments.__dataclass_fields__)
