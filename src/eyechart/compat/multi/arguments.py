"""MULTI's arguments by their published names, with their published defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from eyechart.errors import UsageError
from eyechart.model.redact import HIDDEN, without_secrets
from eyechart.registry import did_you_mean
from eyechart.store.folder import file_safe

PREDICTION_FILE = "prediction.json"

# Arguments that are options of the benchmark, under the same names.
SETTINGS = (
    "problem_file", "knowledge_file", "caption_file", "subset", "questions_type", "image_type", "subject",
    "input_type", "in_turn", "cot", "few_shot", "no_background", "no_sys", "cap_in_cnt", "lang",
    "blank_image", "eval_num", "random",
)  # fmt: skip

_NO_INPUT = "pictures without words exist there in name only, and break its program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments, with their published defaults. `set`: options that only our benchmark has."""

    problem_file: str | None = None
    knowledge_file: str | None = None
    caption_file: str | None = None
    output_dir: str = "../results"
    output_name: str | None = None
    exp_name: str | None = None
    checkpoint_dir: str | None = None
    model: str | None = None
    model_version: str | None = None
    model_dir: str | None = None
    cuda_device: str = "auto"
    api_key: str | None = field(default=None, repr=False)
    api_url: str | None = None
    use_modelscope: bool = False
    in_turn: bool = False
    cot: bool = False
    no_background: bool = False
    no_sys: bool = False
    few_shot: int = 0
    questions_type: str = "0,1,2"
    image_type: str = "0,1,2"
    subset: str | None = None
    subject: str | None = None
    input_type: int = 0
    eval_num: int = -1
    random: bool = False
    num_workers: int = 1
    save_every: int = 100
    cap_in_cnt: bool = False
    lang: Literal["zh", "en"] = "zh"
    blank_image: bool = False
    model_list: bool = False
    debug: bool = False
    set: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], *, where: str = "multi") -> Arguments:
        """The arguments, each of its own kind; unknown ones and values that cannot be meant are refused."""
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known, otherwise="it is none of MULTI's arguments")
                raise UsageError(f"{where}: there is no argument {name!r}", hint=hint)
        said = {name: value for name, value in given.items() if value != "" or not _is_optional(name)}
        try:
            arguments = msgspec.convert(said, cls)
        except msgspec.ValidationError as err:
            raise UsageError(f"{where}: an argument is wrong: {err}") from err
        arguments.check()
        return arguments

    def check(self) -> None:
        """Refuse what no run can be made of."""
        if self.input_type not in (0, 1, 2):
            hint = _NO_INPUT if self.input_type == 3 else ""
            raise UsageError(
                f"--input_type {self.input_type} is not possible", hint=f"use 0, 1 or 2; {hint}".rstrip("; ")
            )
        for name in ("output_dir", "questions_type", "image_type"):
            if not getattr(self, name).strip():
                raise UsageError(f"--{name} is empty", hint="leave it out, or say which")
        if self.num_workers < 1:
            raise UsageError(f"--num_workers is {self.num_workers}, but must be at least 1")
        if self.save_every == 0 or self.save_every < -1:
            raise UsageError(
                f"--save_every is {self.save_every}, but must be -1 (no checkpoints) or more than 0"
            )
        for name in ("output_name", "exp_name"):
            said = getattr(self, name)
            if said is not None and (said != Path(said).name or said in ("", ".", "..")):
                raise UsageError(f"--{name} {said!r} is no name of a folder", hint="--output_dir takes paths")
        if twice := [name for name in self.set if name in Arguments.__dataclass_fields__]:
            raise UsageError(f"--set {twice[0]}=… is an argument of its own", hint=f"write --{twice[0]}")
        if any(value == HIDDEN for value in without_secrets(self.set).values()):
            raise UsageError("--set takes no keys", hint="--api_key is written nowhere")
        if self.api_url is not None and _holds_secret(self.api_url):
            raise UsageError("--api_url holds a password or a key", hint="addresses are kept: use --api_key")

    def settings(self) -> dict[str, Any]:
        """The benchmark's options that were said."""
        found = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in found.items() if value is not None} | self.set

    def to_json(self, folder: Path) -> dict[str, Any]:
        """What args.json says: every argument but the key, and where the predictions lie."""
        names = [one.name for one in fields(self) if one.name != "api_key"]
        said = {name: getattr(self, name) for name in names}
        return {**said, "prediction_file": str(folder / PREDICTION_FILE)}


def _is_optional(name: str) -> bool:
    """Whether an argument may be left out altogether; as there, an empty text then means the same."""
    return Arguments.__dataclass_fields__[name].default is None


def _holds_secret(url: str) -> bool:
    """Whether an address would bring a secret into args.json.

    >>> [_holds_secret(f"http://{rest}") for rest in ("a/v1?api-version=1", "me:pw@a/v1", "a/v1?api-key=1")]
    [False, True, True]
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # no address at all, which is told where it is used
        return False
    return parts.username is not None or HIDDEN in without_secrets(dict(parse_qsl(parts.query))).values()


def generated_name(arguments: Arguments, who: str, now: datetime) -> str:
    """The name of a run folder: what was asked of whom, and when.

    >>> said = Arguments(input_type=2, in_turn=True, knowledge_file="k.json", exp_name="first")
    >>> generated_name(said, "gpt-4o", datetime(2026, 1, 2, 3, 4, 5))
    'first_gpt-4o_input_2_shot_0_it_kn_20260102_030405'
    """
    flags = {
        "it": arguments.in_turn,
        "cot": arguments.cot,
        "cic": arguments.cap_in_cnt,
        "bi": arguments.blank_image,
        "kn": bool(arguments.knowledge_file),
    }
    parts = [
        *([arguments.exp_name] if arguments.exp_name else []),
        file_safe(who),
        f"input_{arguments.input_type}_shot_{arguments.few_shot}",
        *(flag for flag, is_on in flags.items() if is_on),
        now.strftime("%Y%m%d_%H%M%S"),
    ]
    return "_".join(parts)
