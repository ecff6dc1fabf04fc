"""MULTI's arguments by their published names: as given, as adjusted, as args.json keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from eyechart.data.json_file import json_errors, read_bytes
from eyechart.errors import UsageError
from eyechart.model.secrets import HIDDEN, without_secrets
from eyechart.registry import did_you_mean
from eyechart.replacing import replacing
from eyechart.store.folder import file_safe

ARGS_FILE = "args.json"
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


def read_arguments(folder: Path, given: Mapping[str, Any]) -> tuple[Arguments, list[str]]:
    """The arguments of a run that is gone on with, and what they overrule of those given now.

    As published, args.json counts; the key, which it does not hold, comes from the command line.
    """
    path = folder / ARGS_FILE
    if not path.is_file():
        raise UsageError(
            f"--checkpoint_dir {folder}: there is no {ARGS_FILE} in it",
            hint="give the folder of a run, the one that holds prediction.json or checkpoints",
        )
    with json_errors(f"{path}", hint="it is an object of MULTI's arguments"):
        kept = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    kept.pop("prediction_file", None)  # the original's own note; the folder may have been moved since
    overruled = [
        f"{_written(name, value)}: {ARGS_FILE} of the run says {kept[name]!r}, which counts"
        for name, value in given.items()
        if name in kept
        and name not in ("checkpoint_dir", "debug")
        and kept[name] not in (value, value or None)
    ]
    kept |= {name: given[name] for name in ("api_key", "debug") if name in given}
    kept["checkpoint_dir"] = str(folder)
    return Arguments.of(kept, where=f"{path}"), overruled


def _written(name: str, value: Any) -> str:
    """An argument as it stands on the command line.

    >>> _written("random", True), _written("lang", "en"), _written("set", {"seed": "4"})
    ('--random', '--lang en', '--set seed=4')
    """
    if isinstance(value, dict):
        return " ".join(f"--{name} {key}={said}" for key, said in value.items())
    return f"--{name}" if value is True else f"--{name} {value}"


_PACE = ("num_workers", "save_every", "exp_name")  # of no consequence for what is asked


def differing(arguments: Arguments, before: Arguments) -> list[str]:
    """What a run was told before, where it is told something else now."""
    before = replace(before, **{name: getattr(arguments, name) for name in _PACE})
    names = [
        one.name for one in fields(Arguments) if getattr(before, one.name) != getattr(arguments, one.name)
    ]
    return [f"{name} is {getattr(before, name)!r} there, not {getattr(arguments, name)!r}" for name in names]


def write_arguments(arguments: Arguments, folder: Path) -> None:
    """Write args.json; there is no key in it."""
    text = msgspec.json.format(msgspec.json.encode(arguments.to_json(folder)), indent=4)
    with replacing(folder / ARGS_FILE) as place:
        place.write_bytes(text + b"\n")


_ONLY_WITH = {"caption_file": 1, "cap_in_cnt": 1, "in_turn": 2, "blank_image": 2}  # input types


def _void(arguments: Arguments) -> list[str]:
    """Arguments that were said and, as published, change nothing at this input type."""
    said = {name: kind for name, kind in _ONLY_WITH.items() if getattr(arguments, name)}
    return [
        f"--{name} changes nothing here: it is for --input_type {kind}"
        for name, kind in said.items()
        if kind != arguments.input_type
    ]


def adjusted(arguments: Arguments, *, registered: str) -> tuple[Arguments, list[str]]:
    """The arguments as the original changes them before a run, and a note on every change.

    `registered` is the name of a model in the original's own list, where it is one.
    """
    notes = []
    changes: dict[str, Any] = {}
    has_images = arguments.input_type == 2
    if registered in ("viscpm", "visualglm") and has_images and not arguments.in_turn:
        changes["in_turn"] = True
        notes.append(f"{registered} takes one picture at a time: --in_turn is on, as published")
    if registered in ("gpt-4v", "geminivision") and has_images and arguments.in_turn:
        changes["in_turn"] = False
        notes.append(f"{registered} is not asked in rounds: --in_turn is off, as published")
    if registered == "viscpm" and not arguments.blank_image:
        changes["blank_image"] = True
        if has_images:
            notes.append("viscpm needs a picture with every question: --blank_image is on, as published")
    if arguments.input_type == 1 and arguments.caption_file is None:
        changes["input_type"] = 0
        notes.append("--input_type 1 without a --caption_file is asked as 0, as published")
    asked_as = changes.get("input_type", arguments.input_type)
    notes += _void(replace(arguments, input_type=asked_as))
    if arguments.subset is not None:
        notes.append(
            "--subset: only its questions; --questions_type and --subject do not count, as published"
        )
    if arguments.random:
        seed = arguments.set.get("seed", 0)
        notes.append(
            f"--random: shuffled with seed {seed}, the same order every time (--set seed=N changes it)"
        )
    return replace(arguments, **changes), notes
