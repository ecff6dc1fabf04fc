"""The arguments of InSight-o3's evaluation command, under their names and with their defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import DataError, UsageError
from eyechart.score.insight_o3 import MAX_ANSWER_LENGTH

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of the authors' command under their names and with their defaults.

    `judge_prompts` is ours: a file with the judge's wording.
    """

    eval_name: str
    ann_file: str
    img_dir: str
    model: str
    api_base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    img_max_pixels: int = 3500 * 3500  # 0: as large as they are
    sys_prompt: Literal["model_default", "think"] = "model_default"
    chat_completion_kwargs: Mapping[str, Any] = field(default_factory=lambda: dict(DEFAULT_FIELDS))
    client_timeout: float | None = None
    image_url_extra_settings: Mapping[str, Any] = field(default_factory=lambda: {"detail": "high"})
    judge_model: str | None = None  # JUDGE, where a judge can be reached
    judge_api_base_url: str | None = None
    judge_api_key: str | None = field(default=None, repr=False)
    output_dir: str = "./outputs/eval"
    num_trials: int = 1
    concurrency: int = 128
    max_answer_length: int = MAX_ANSWER_LENGTH
    separate_trial_requests: bool = False
    judge_prompts: str | None = None

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
        from eyechart.model.redact import without_secrets

        said = self.without_idle_addresses()
        values = {name: getattr(said, name) for name in self.__dataclass_fields__}
        return without_secrets(values | {"judge_model": self.judge_model or JUDGE})


def check(arguments: Arguments) -> None:
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
