"""MULTI's settings and arguments with their published names and defaults; the file args.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.errors import UsageError
from eyechart.models.redact import HIDDEN, redact_parameters
from eyechart.option import argument, check_limits, read_pairs
from eyechart.registry import suggest_name
from eyechart.store.folder import make_file_name

PREDICTION_FILE = "prediction.json"
InputType = Literal[0, 1, 2]  # text only; captions or OCR texts; images
Numbering = Literal["official", "correct"]

# Headings of `--help`.
FILES = "the files"
MODEL = "the model"
QUESTION = "the question"
SELECTION = "which questions"
RUN = "the run"
OWN = "additional, not in the original"
_file, _model, _question, _selection, _run = (
    partial(argument, group=group) for group in (FILES, MODEL, QUESTION, SELECTION, RUN)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiSettings:
    """The arguments that are settings of the benchmark, too, in the order of the manifest."""

    problem_file: str = _file("", metavar="FILE", help="the questions, with or without answers")
    knowledge_file: str = _file("", metavar="FILE", help="MULTI-Extend: knowledge to add after the questions")
    caption_file: str = _file("", metavar="FILE", help="captions or OCR texts, for --input_type 1")
    subset: str = _selection("", metavar="FILE", help="a list of ids: only these questions, e.g. MULTI-Elite")
    questions_type: str = _selection(
        "0,1,2",
        "--questions_type",
        "--question_type",
        metavar="LIST",
        help="0 SA, 1 MA, 2 FB, 3 OP, 4 other (default: 0,1,2; of a --subset all)",
    )
    image_type: str = _selection(
        "0,1,2", metavar="LIST", help="questions with 0, 1, 2 or more images (default: all)"
    )
    subject: str = _selection("", metavar="CODE", help="prefix of the ids, e.g. czsx")
    input_type: int = _question(
        0, metavar="T", help="0 text only (default), 1 captions, 2 images; 3 is refused"
    )
    in_turn: bool = _question(False, help="ask questions with several images in rounds")
    cot: bool = _question(False, help="ask for reasoning first; not for open questions")
    few_shot: int = _question(
        0, "--few_shot", "-k", metavar="K", help="not 0: one example before the question"
    )
    no_background: bool = _question(False, help="leave out the sentence that names role and subject")
    no_sys: bool = _question(False, help="nothing before the question")
    cap_in_cnt: bool = _question(False, help="captions in the text instead of after it")
    lang: Literal["zh", "en"] = _question("zh", help="the prompt's language (default: zh)")
    blank_image: bool = _question(
        False, help="send a black image with questions that have none (input type 2)"
    )
    eval_num: int = _selection(
        -1, metavar="N", help="only the first N of the selected questions (default: -1; 0 and -1: all)"
    )
    random: bool = _selection(False, help="shuffle with a fixed seed (--set seed=N)")

    def __post_init__(self) -> None:
        if self.input_type not in (0, 1, 2):
            raise UsageError(
                f"input_type is {self.input_type}, but must be 0, 1 or 2",
                hint="3, images without text, was never implemented in the original",
            )
        if self.eval_num < -1:
            raise UsageError(f"eval_num is {self.eval_num}, but must be -1 or 0 (all), or a number")


@dataclass(frozen=True, kw_only=True)
class MultiOptions(MultiSettings):
    """All settings. They go to the manifest and into the run folder's name, so their names stay."""

    input_type: InputType = 0
    seed: int = 0
    split_sys: bool = False
    wording: str = ""
    answer_position: Literal["start", "end"] = "start"
    image_root: str = ""
    renumbering: Numbering = "official"
    allow_missing_captions: bool = False
    allow_unknown_ids: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.types, self.image_types  # refused before any file is read

    @property
    def problems(self) -> Path:
        """The problem file."""
        if (path := self.find("problem_file")) is None:
            raise UsageError(
                "multi needs a problem file",
                hint="eyechart run multi --set problem_file=data/problem_v1.3.1_20241210.json -m MODEL",
            )
        return path

    def find(self, name: str) -> Path | None:
        """The file or folder of a setting, if it is given."""
        text = getattr(self, name)
        return Path(text).expanduser().absolute() if text else None

    @property
    def types(self) -> frozenset[int]:
        """The numbers of question types."""
        return read_codes(self.questions_type, range(5), name="questions_type")

    @property
    def image_types(self) -> frozenset[int]:
        """0 no image, 1 one, 2 more."""
        return read_codes(self.image_type, range(3), name="image_type")


def read_codes(given: str, known: range, *, name: str) -> frozenset[int]:
    """Numbers from a list such as ``0,1,2``; unknown ones are refused.

    >>> sorted(read_codes("0,2", range(5), name="questions_type"))
    [0, 2]
    """
    codes = {str(code): code for code in known}
    texts = [text.strip() for text in given.split(",")]
    if wrong := [text for text in texts if text not in codes]:
        raise UsageError(
            f"{name} cannot be {wrong[0] or 'empty'!r}",
            hint=f"give numbers from {known[0]} to {known[-1]}, separated by commas",
        )
    return frozenset(codes[text] for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiArguments(MultiSettings):
    """All arguments, with their published defaults. `set`: options that the original lacks."""

    output_dir: str = _file(
        "../results", metavar="DIR", help="the parent of run folders (default: ../results)"
    )
    output_name: str | None = _file(None, metavar="NAME", help="the run folder's name (default: generated)")
    exp_name: str | None = _file(None, metavar="NAME", help="prefix of the generated name")
    checkpoint_dir: str | None = _file(
        None,
        metavar="DIR",
        help="resume that run: its args.json counts, only --api_key is taken from the command line; "
        "asks only for what is missing or failed",
    )
    model: str | None = _model(None, "--model", "-m", metavar="MODEL", help="see above")
    model_version: str | None = _model(
        None, "--model_version", "-v", metavar="NAME", help="the model's name at its endpoint"
    )
    model_dir: str | None = _model(
        None, "--model_dir", "-d", metavar="DIR", help="weights, passed to the evaluator class"
    )
    cuda_device: str = _model(
        "auto", "--cuda_device", "-c", metavar="MAP", help="device_map of the class (default: auto)"
    )
    api_key: str | None = _model(
        None, metavar="KEY", help="the key; never written to disk (default: $OPENAI_API_KEY)", is_secret=True
    )
    api_url: str | None = _model(
        None, metavar="URL", help="with or without /chat/completions (default: $OPENAI_BASE_URL, or OpenAI's)"
    )
    use_modelscope: bool = _model(False, help="use the original's module that ends in _ms")
    num_workers: int = _model(
        1,
        "--num_workers",
        "-n",
        metavar="N",
        at_least=1,
        help="concurrent questions (default: 1); for classes only with -v, or up to their max_concurrency",
    )
    save_every: int = _run(
        100,
        metavar="N",
        help="copy the predictions into checkpoints/ after about every N answers (default: 100; "
        "-1: never). Every answer is stored at once in any case",
    )
    model_list: bool = _run(
        False, "--model_list", "-l", help="print the names that --model accepts, and exit"
    )
    debug: bool = _run(False, help="exit after the questions are built; sends and writes nothing")
    thinking: Literal["auto", "keep", "split"] | None = argument(
        None,
        group=OWN,
        help="thoughts in replies; split: neither scored nor in the files (default: auto, which keeps them)",
    )
    set: dict[str, Any] = argument(
        {},
        group=OWN,
        metavar="NAME=VALUE",
        parse=read_pairs,
        help="an option that the original lacks: wording, split_sys, seed, image_root, renumbering, ...",
    )

    @classmethod
    def of(cls, given: Mapping[str, Any], *, where: str = "multi") -> MultiArguments:
        """The arguments, converted to their types; unknown ones and wrong values are refused."""
        usual = {one.name: one.default for one in fields(cls)}
        for name in given:
            if name not in usual:
                hint = suggest_name(name, list(usual), otherwise="it is not one of MULTI's arguments")
                raise UsageError(f"{where}: unknown argument {name!r}", hint=hint)
        # As published, an empty text means the same as leaving out what may be left out.
        empty = (None, "")
        said = {name: one for name, one in given.items() if one not in empty or usual[name] not in empty}
        try:
            arguments = msgspec.convert(said, cls)
        except ValueError as err:  # of msgspec, or of a text with half a character
            raise UsageError(f"{where}: wrong argument: {err}") from err
        arguments._check()
        return arguments

    def _check(self) -> None:
        for name in ("output_dir", "questions_type", "image_type"):
            if not getattr(self, name).strip():
                raise UsageError(f"--{name} is empty", hint="leave it out, or give a value")
        check_limits(self)
        if self.save_every == 0 or self.save_every < -1:
            raise UsageError(
                f"--save_every is {self.save_every}, but must be -1 (no checkpoints) or more than 0"
            )
        for name in ("output_name", "exp_name"):
            said = getattr(self, name)
            if said is not None and (said != Path(said).name or said in ("", ".", "..")):
                raise UsageError(f"--{name} {said!r} is not a folder name", hint="--output_dir takes paths")
        if twice := [name for name in self.set if name in MultiArguments.__dataclass_fields__]:
            raise UsageError(f"--set {twice[0]}=… is a separate argument", hint=f"write --{twice[0]}")
        if any(value == HIDDEN for value in redact_parameters(self.set).values()):
            raise UsageError("--set takes no keys", hint="use --api_key, which is never written to disk")
        if self.api_url is not None and _holds_secret(self.api_url):
            raise UsageError(
                "--api_url holds a password or a key", hint="use --api_key: args.json holds the URL"
            )

    def settings(self) -> dict[str, Any]:
        """The benchmark's options that were given."""
        found = {one.name: getattr(self, one.name) for one in fields(MultiSettings)}
        return {name: value for name, value in found.items() if value != ""} | self.set

    def to_json(self, folder: Path) -> dict[str, Any]:
        """The content of args.json: what is asked, without the key, and the path of the predictions."""
        names = [one.name for one in fields(self) if one.name not in ("api_key", "thinking")]
        said = {name: None if (value := getattr(self, name)) == "" else value for name in names}
        return {**said, "prediction_file": str(folder / PREDICTION_FILE)}


def _holds_secret(url: str) -> bool:
    """Whether a URL would bring a secret into args.json.

    >>> [_holds_secret(f"http://{rest}") for rest in ("a/v1?api-version=1", "me:pw@a/v1", "a/v1?api-key=1")]
    [False, True, True]
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # not a URL, which is reported where it is used
        return False
    return parts.username is not None or HIDDEN in redact_parameters(dict(parse_qsl(parts.query))).values()


def generate_run_name(arguments: MultiArguments, who: str, now: datetime) -> str:
    """The name of a run folder: model, settings, date.

    >>> said = MultiArguments(input_type=2, in_turn=True, knowledge_file="k.json", exp_name="first")
    >>> generate_run_name(said, "gpt-4o", datetime(2026, 1, 2, 3, 4, 5))
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
        arguments.exp_name,
        make_file_name(who),
        f"input_{arguments.input_type}_shot_{arguments.few_shot}",
        *(flag for flag, is_on in flags.items() if is_on),
        now.strftime("%Y%m%d_%H%M%S"),
    ]
    return "_".join(filter(None, parts))


# -- The file args.json of a run: MULTI's arguments as they were, to go on with. There is never a key in it.

ARGS_FILE = "args.json"
_PACE = ("num_workers", "save_every", "exp_name", "thinking")  # without effect on what is asked


def read_arguments(folder: Path, given: Mapping[str, Any]) -> tuple[MultiArguments, list[str]]:
    """The arguments of a run to resume, and notes on those given now that they override.

    As published, args.json counts; the key, which it never holds, comes from the command line.
    """
    path = folder / ARGS_FILE
    if not path.is_file():
        raise UsageError(
            f"--checkpoint_dir {folder}: it has no {ARGS_FILE}",
            hint="give the folder of a run, which holds prediction.json or checkpoints",
        )
    with translate_json_errors(f"{path}", hint="expected an object of MULTI's arguments"):
        kept = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    kept.pop("prediction_file", None)  # written by the original; the folder may have been moved
    for name in ("questions_type", "image_type"):
        if isinstance(codes := kept.get(name), list):  # as the original writes them
            kept[name] = ",".join(map(str, codes))
    overruled = [
        f"{_written(name, value)}: ignored, because {ARGS_FILE} of the run has {kept[name]!r}"
        for name, value in given.items()
        if name in kept
        and name not in ("checkpoint_dir", "debug", "api_key")
        and kept[name] not in (value, value or None)
    ]
    kept |= {name: given[name] for name in ("api_key", "debug", "thinking") if name in given}
    kept["checkpoint_dir"] = str(folder)
    return MultiArguments.of(kept, where=f"{path}"), overruled


def _written(name: str, value: Any) -> str:
    """An argument as on the command line.

    >>> _written("random", True), _written("lang", "en"), _written("set", {"seed": "4"})
    ('--random', '--lang en', '--set seed=4')
    """
    if isinstance(value, dict):
        return " ".join(f"--{name} {key}={said}" for key, said in value.items())
    return f"--{name}" if value is True else f"--{name} {value}"


def list_differences(arguments: MultiArguments, before: MultiArguments) -> list[str]:
    """The arguments of an earlier run that differ now."""
    return [
        f"{one.name} is {there!r} there, not {now!r}"
        for one in fields(MultiArguments)
        if one.name not in _PACE
        and (there := getattr(before, one.name)) != (now := getattr(arguments, one.name))
    ]
