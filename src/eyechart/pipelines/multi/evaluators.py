"""MULTI's evaluator classes: with which arguments they are made, and how many at once."""

from __future__ import annotations

import ast
import contextlib
import inspect
import queue
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError, UsageError
from eyechart.model import environment
from eyechart.model.python import Shape, list_image_paths, replace_surrogates, shapes
from eyechart.model.thinking import split_thinking
from eyechart.pipelines.multi.arguments import MultiArguments
from eyechart.pipelines.multi.report import NO_PREDICTION, RETURNED
from eyechart.registry import suggest_name
from eyechart.run.options import Options
from eyechart.types import Model, Reply, Request, Usage

OPENAI_URL = "https://api.openai.com/v1/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """The model of a run, and all that is said to it. `name` is what the run folder is called after."""

    spec: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of the run; may hold a key
    params: Mapping[str, Any] = field(default_factory=dict)  # of the class
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the same, not to be written down
    split_sys: bool = False
    registered: str = ""  # its name in the original's list
    notes: tuple[str, ...] = ()
    evaluator: Any = None  # the class, which is looked up once: its file may take long to load
    n_copies: int = 1  # of the class, each asked one question at a time

    def model(self, options: Options) -> str | Model:
        """What a plan is made with. A class is made into a model here, with its arguments."""
        if self.evaluator is None:
            return self.spec
        from eyechart.model.python import make_python_model

        settings = replace(options, params=dict(self.params)).make_model_settings()
        maker = self.evaluator if self.n_copies == 1 else make_copies(self.evaluator, self.n_copies)
        return make_python_model(maker, self.spec.removeprefix("python:"), settings, keys=self.secrets)


def load_evaluator(arguments: MultiArguments, spec: str) -> ChosenModel:
    """A class with ``generate_answer``, and the arguments that the original would make it with."""
    from eyechart.model.python import list_parameters, load_object

    found = load_object(spec.removeprefix("python:"))
    known = list_parameters(found) if _is_maker(found) else []
    params = _parameters(arguments, spec, known)
    n_copies, notes = _copies(arguments, found)
    if arguments.model_dir and arguments.model_version and "model" not in params:
        notes.append("--model_version names the run only: with --model_dir a class is made of that folder")
    return ChosenModel(
        spec=spec,
        name=arguments.model_version or spec.rpartition(":")[2],
        params={name: value for name, value in params.items() if name != "api_key"},
        secrets={name: value for name, value in params.items() if name == "api_key"},
        notes=tuple(notes),
        evaluator=found,
        n_copies=n_copies,
    )


def _parameters(arguments: MultiArguments, spec: str, known: list[str] | None) -> dict[str, Any]:
    """What the class is made with: (model_dir, device_map), or (api_url, api_key, model), or (device_map).

    What is said besides is handed over if the class takes it, and refused if not. None: it takes all.
    """
    if arguments.model_dir:
        usual = {"model_dir", "cuda_device"}
    else:
        usual = {"api_url", "api_key", "model_version"} if arguments.model_version else {"cuda_device"}
    folder = "model_dir"
    if known and folder not in known and known[0] not in ("device_map", "api_url", "api_key", "model"):
        folder = known[0]  # as published: whatever it is called, it comes first
    key = arguments.api_key or environment.find_key()
    if not arguments.api_url:
        environment.refuse_foreign_key(key)
    offered = {
        "model_dir": (folder, arguments.model_dir),
        "cuda_device": ("device_map", arguments.cuda_device),
        "api_url": ("api_url", arguments.api_url or environment.find_address() or OPENAI_URL),
        "api_key": ("api_key", key),
        "model_version": ("model", arguments.model_version),
    }
    params = {}
    for flag, (parameter, value) in offered.items():
        is_said = getattr(arguments, flag) != MultiArguments.__dataclass_fields__[flag].default
        if not (is_said or flag in usual):
            continue
        if known is None or parameter in known:
            params[parameter] = value  # as published: a key that nobody gave is handed over as None
        elif is_said and not (flag == "model_version" and arguments.model_dir):
            raise UsageError(
                f"--{flag} cannot be handed to {spec}: it takes no {parameter!r}",
                hint=f"it takes: {', '.join(known) or 'nothing'}",
            )
    return params


def _copies(arguments: MultiArguments, found: Any) -> tuple[int, list[str]]:
    """How many copies of a class are asked at once: as there, several only where it speaks to an endpoint."""
    n = arguments.num_workers
    if n == 1:
        return 1, []
    if most := getattr(found, "max_concurrency", None):
        fewer = [f"--num_workers {n}: asked {most} at a time, as the class says (max_concurrency)"]
        return 1, fewer if most < n else []
    if arguments.model_version and not arguments.model_dir and inspect.isclass(found):
        return n, [f"--num_workers {n}: so many copies of the class are asked at once"]
    why = "a class that runs here is asked one question at a time, as published"
    return 1, [f"--num_workers {n}: {why} (unless it says max_concurrency = {n})"]


def make_copies(maker: Callable[..., Any], n: int) -> Callable[..., Any]:
    """What makes `n` copies of the evaluator that take turns.

    An evaluator keeps the question it is at in itself; the original gives each of its processes its own one.
    """

    class Copies:
        max_concurrency = n

        def __init__(self, **params: Any) -> None:
            self._all = [maker(**params) for _ in range(n)]
            self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
            for one in self._all:
                self._free.put(one)

        def generate_answer(self, question: Any) -> Any:
            one = self._free.get()
            try:
                return one.generate_answer(question)
            finally:
                self._free.put(one)

        def close(self) -> None:
            for one in self._all:
                if callable(closing := getattr(one, "close", None)):
                    closing()

    for name in ("__module__", "__name__", "__qualname__", "__firstlineno__"):
        if hasattr(maker, name):  # a run is known by the source of its class, and that is theirs
            setattr(Copies, name, getattr(maker, name))
    return Copies


def _is_maker(found: Any) -> bool:
    return inspect.isclass(found) or inspect.isfunction(found)


# -- Whom MULTI's arguments mean: an endpoint, an evaluator class, or a name of the original's own list.
#
# People add their evaluators to that list in the file args.py, in the folder above their class. It is read as
# text: of its dictionaries only those that are written out are taken, and nothing in it is run.

_EVALUATOR = "python:file.py:XEvaluator"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of the original's list that is asked over the network."""

    version: str  # the one that is asked where none is named
    inputs: tuple[int, ...] = (0, 1, 2)
    is_foreign: bool = False  # asked there through an interface other than OpenAI's


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of the original's list that runs in its evaluator: module, class, whether it splits prompts."""

    module: str
    evaluator: str
    split_sys: bool = False
    inputs: tuple[int, ...] = (0, 1, 2)
    folder: Path = Path()  # in which the folder `models` lies
    version: str = ""  # of a class that asks an endpoint: the one that is asked where none is named


_WORDS, _PICTURES = (0, 1), (2,)

SERVED: Mapping[str, ServedModel] = {
    "gpt-5": ServedModel("gpt-5-nano-2025-08-07"),
    "gpt-4o": ServedModel("gpt-4o-2024-08-06"),
    "gpt-4v": ServedModel("gpt-4-vision-preview", _PICTURES),
    "gpt": ServedModel("gpt-3.5-turbo", _WORDS),
    "internvl-api": ServedModel("internvl"),
    "internvl3-api": ServedModel("internvl-8b"),
    "qwen3-vl-api": ServedModel("Qwen/Qwen3-VL-235B-A22B-Instruct"),
    "step-api": ServedModel("step-1v-8k"),
    "claude-api": ServedModel("claude-3-opus-20240229"),
    "gemini-api": ServedModel("gemini-1.5-pro-latest"),
    "claude": ServedModel("claude-3-opus-20240229", is_foreign=True),
    "gemini": ServedModel("gemini-pro", _WORDS, is_foreign=True),
    "geminivision": ServedModel("gemini-pro-vision", _PICTURES, is_foreign=True),
}
LOCAL: Mapping[str, LocalModel] = {
    "moss": LocalModel("moss", "MOSSEvaluator", inputs=_WORDS),
    "viscpm": LocalModel("viscpm", "VisCPMEvaluator"),
    "minicpmv": LocalModel("minicpmv", "MiniCPMEvaluator"),
    "qwen-vl": LocalModel("qwenvl", "QwenVLEvaluator"),
    "qwen2-vl": LocalModel("qwen2vl", "Qwen2VLEvaluator", split_sys=True),
    "qwen2.5-vl": LocalModel("qwen25vl", "Qwen2_5VLEvaluator", split_sys=True),
    "qwen2": LocalModel("qwen2", "Qwen2Evaluator", split_sys=True, inputs=_WORDS),
    "points": LocalModel("points", "POINTSEvaluator"),
    "visualglm": LocalModel("visualglm", "VisualGLMEvaluator"),
    "llama2": LocalModel("llama2", "Llama2Evaluator", split_sys=True, inputs=_WORDS),
    "dfm": LocalModel("dfm", "DFMEvaluator", split_sys=True, inputs=_WORDS),
    "intern-vl": LocalModel("internvl", "InternVLEvaluator"),
    "intern-vl-2": LocalModel("internvl2", "InternVLEvaluator"),
    "intern-vl-2.5": LocalModel("internvl2", "InternVLEvaluator"),
    "internlm": LocalModel("internlm", "InternLMEvaluator", inputs=_WORDS),
    "human": LocalModel("human", "HumanEvaluator", split_sys=True),
    "deepseek-vl2": LocalModel("deepseekvl2", "DeepSeekVL2Evaluator"),
    "deepseek-janus": LocalModel("deepseekjanus", "DeepSeekJanusEvaluator"),
}


def choose_model(arguments: MultiArguments) -> ChosenModel:
    """The model that the arguments mean. Those that mean nothing to it are refused by name."""
    given = arguments.model
    file, own = read_model_list()
    if arguments.use_modelscope and not {given, (given or "").lower()} & {*LOCAL, *own}:
        raise UsageError(
            "--use_modelscope chooses among the original's own modules",
            hint=f"give the evaluator that you want: --model {_EVALUATOR}",
        )
    if given is None:
        return _generic(arguments)
    if given.startswith("python:"):
        return load_evaluator(arguments, given)
    if "/" in given:
        return _by_spec(arguments, given)
    if given in own and given not in SERVED:
        return _local(arguments, given, _entry(given, own[given], file))
    if (name := given.lower()) in SERVED:
        return _served(arguments, name, SERVED[name])
    if name in LOCAL:
        return _local(arguments, name, LOCAL[name])
    near = suggest_name(name, list_models(), otherwise="")
    mine = f"python:{given}:XEvaluator" if given.endswith(".py") else _EVALUATOR
    other = (
        f"write openai/NAME with --api_url, or {mine}, or add it to model_list of args.py in the folder eval"
    )
    raise UsageError(
        f"--model {given} is no model of the original's list",
        hint=f"{near} Else {other}" if near else f"{other}; --model_list names those of the list",
    )


def _generic(arguments: MultiArguments) -> ChosenModel:
    if arguments.model_version is None:
        raise UsageError(
            "nobody is said to answer",
            hint="--model_version NAME with --api_url URL for an endpoint, "
            f"or --model {_EVALUATOR} for a class of your own",
        )
    return _endpoint(arguments, f"openai/{arguments.model_version}", arguments.model_version)


def _by_spec(arguments: MultiArguments, spec: str) -> ChosenModel:
    provider, _, name = spec.partition("/")
    version = arguments.model_version
    if version is not None and version != name:
        raise UsageError(
            f"--model {spec} and --model_version {version} name two models", hint="leave one out"
        )
    if provider == "openai":
        return _endpoint(arguments, spec, name)
    _refuse(arguments, ("api_url", "api_key", "model_dir", "cuda_device"), of=spec)
    return ChosenModel(spec=spec, name=spec)


def read_model_list() -> tuple[Path, dict[str, Mapping[str, Any]]]:
    """The evaluators that an args.py of the original's form lists: here, above, or in the folder eval."""
    for folder in (Path(), Path(".."), Path("eval")):
        file = folder / "args.py"
        if file.is_file() and (found := dict(_entries(file))):
            return file, found
    return Path("args.py"), {}


def _entries(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and description of every evaluator in a file, also of those that are added to the list later."""
    with contextlib.suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        for statement in ast.parse(file.read_bytes()).body:
            pairs: list[tuple[ast.expr | None, ast.expr]] = []
            match statement:
                case ast.Assign(targets=[ast.Subscript(slice=ast.Constant() as added)], value=value):
                    pairs = [(added, value)]
                case (
                    ast.Assign(value=ast.Dict() as listed)
                    | ast.AnnAssign(value=ast.Dict() as listed)
                    | ast.Expr(value=ast.Call(func=ast.Attribute(attr="update"), args=[ast.Dict() as listed]))
                ):
                    pairs = list(zip(listed.keys, listed.values, strict=True))
            for key, value in pairs:
                with contextlib.suppress(ValueError):  # not written out: made by code, which is not run
                    name = None if key is None else ast.literal_eval(key)
                    said = ast.literal_eval(value)
                    if isinstance(name, str) and isinstance(said, dict) and "evaluator" in said:
                        yield name, said


def _entry(name: str, said: Mapping[str, Any], file: Path) -> LocalModel:
    module, evaluator_name = said.get("executor"), said["evaluator"]
    inputs, versions = said.get("support_input", [0, 1, 2]), said.get("avail_model") or [""]
    is_sound = (
        all(isinstance(one, str) and one.isidentifier() for one in (module, evaluator_name))
        and isinstance(inputs, list | tuple)
        and isinstance(versions, list | tuple)
    )
    if not is_sound:
        raise UsageError(
            f"{file}: model_list[{name!r}] is no entry of the original's form: {dict(said)}",
            hint='e.g. {"executor": "mymodel", "evaluator": "MyEvaluator", "model_type": "local", '
            '"support_input": [0, 1, 2], "split_sys": False}',
        )
    return LocalModel(
        module=str(module),
        evaluator=str(evaluator_name),
        split_sys=bool(said.get("split_sys", False)),
        inputs=tuple(one for one in inputs if one in (0, 1, 2)),
        folder=file.parent,
        version=str(versions[0]) if said.get("model_type") == "api" else "",
    )


def _served(arguments: MultiArguments, registered: str, served: ServedModel) -> ChosenModel:
    _check_input(arguments, registered, served.inputs)
    if served.is_foreign and arguments.api_url is None:
        raise UsageError(
            f"--model {registered} is asked there through its maker's own interface, which is not ours",
            hint="name an OpenAI-compatible address of it with --api_url",
        )
    version = arguments.model_version or served.version
    return _endpoint(arguments, f"openai/{version}", version, registered=registered)


def _endpoint(arguments: MultiArguments, spec: str, name: str, registered: str = "") -> ChosenModel:
    _refuse(arguments, ("model_dir", "cuda_device"), of=f"the endpoint of {spec}")
    options = {"base_url": arguments.api_url, "api_key": arguments.api_key}
    said = {key: value for key, value in options.items() if value is not None}
    return ChosenModel(spec=spec, name=name, options=said, split_sys=True, registered=registered)


def _local(arguments: MultiArguments, registered: str, local: LocalModel) -> ChosenModel:
    """The original's own evaluator, where we stand in its folder; otherwise somebody must say where it is."""
    _check_input(arguments, registered, local.inputs)
    endings = ("_ms", "") if arguments.use_modelscope else ("", "_hf")
    files = [local.folder / "models" / f"{local.module}{ending}.py" for ending in endings]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        split = " --set split_sys=true" if local.split_sys else ""
        raise UsageError(
            f"--model {registered} runs in a class of the original's, and there is none at {files[-1]}",
            hint=f"start in its folder eval, or give an evaluator file: --model {_EVALUATOR}{split}",
        )
    if local.version and not arguments.model_dir:
        arguments = replace(arguments, model_version=arguments.model_version or local.version)
    chosen = load_evaluator(arguments, f"python:{found.as_posix()}:{local.evaluator}")
    note = f"--model {registered}: asked through {local.evaluator} of {found.as_posix()}"
    if arguments.use_modelscope and found != files[0]:
        note += f", because --use_modelscope found no {files[0].as_posix()}"
    return replace(
        chosen,
        name=arguments.model_version or registered,
        split_sys=local.split_sys,
        registered=registered,
        notes=(note, *chosen.notes),
    )


def _check_input(arguments: MultiArguments, registered: str, inputs: tuple[int, ...]) -> None:
    asked = 0 if arguments.input_type == 1 and arguments.caption_file is None else arguments.input_type
    if asked not in inputs:
        raise UsageError(
            f"--input_type {arguments.input_type} is not one that {registered} takes",
            hint=f"it takes: {', '.join(map(str, inputs))}",
        )


def _refuse(arguments: MultiArguments, flags: tuple[str, ...], *, of: str) -> None:
    for flag in flags:
        if getattr(arguments, flag) != MultiArguments.__dataclass_fields__[flag].default:
            raise UsageError(f"--{flag} means nothing to {of}", hint="leave it out")


def list_models() -> list[str]:
    """The names of the original's list, and those of an args.py."""
    return list(dict.fromkeys([*SERVED, *LOCAL, *read_model_list()[1]]))


def describe_models() -> list[str]:
    """The list of models for people: the original's names, and what becomes of them here."""
    lines = ["names of the original's list that are asked at an OpenAI-compatible endpoint (--api_url):"]
    for name, served in SERVED.items():
        needs = "; needs --api_url" if served.is_foreign else ""
        inputs = ",".join(map(str, served.inputs))
        lines.append(
            f"  {name:<14}  openai/{served.version} unless -v says another; input types {inputs}{needs}"
        )
    lines.append("names of the original's list that run in its own classes, when started in its folder eval:")
    for name, local in LOCAL.items():
        inputs = ",".join(map(str, local.inputs))
        lines.append(
            f"  {name:<14}  models/{local.module}.py or _hf.py: {local.evaluator}; input types {inputs}"
        )
    file, own = read_model_list()
    if own:
        lines.append(f"names in {file.as_posix()}:")
        lines += [
            f"  {name:<14}  {said['evaluator']} of {said.get('executor')}" for name, said in own.items()
        ]
    lines += [
        "any other model:",
        f"  {_EVALUATOR}  your own class with generate_answer(question)",
        "  openai/NAME                 any OpenAI-compatible endpoint, with --api_url",
        "  (no --model) -v NAME        the same",
    ]
    return lines


# -- MULTI's evaluator classes: what ``generate_answer(question)`` is given, and what is read from its return.
#
# One round: question_id, question_image_number, image_list, prompted_system_content, prompted_content.
# Several: prompted_content_list in place of the last, image k of image_list going with round k.

_SYSTEM = "prompted_system_content"
_OURS = ("question_id", "question_image_number", "image_list")  # handed over, so known without the class
_LONGEST_DATA_URL = 1000  # characters; longer ones are images, which the run knows already
_DEEPEST = 20


class _Question(dict[str, Any]):
    """A question in which a system text that was not split off reads as an empty one.

    Classes for endpoints look it up and take it out without asking whether it is there; others would send
    an empty one if it always were.
    """

    def __missing__(self, name: str) -> Any:
        if name == _SYSTEM:
            return ""
        raise KeyError(name)

    def pop(self, name: str, *default: Any) -> Any:
        return super().pop(name, *(default or ("",) if name == _SYSTEM else default))


def build_question(request: Request, folder: Path) -> tuple[dict[str, Any]]:
    """The question as MULTI prompts it."""
    meta = request.sample.meta
    images = list_image_paths(request.messages, folder)
    asked = [turn for turn in request.messages if turn.role == "user"]
    system = "\n".join(turn.text for turn in request.messages if turn.role == "system")
    question = _Question(
        question_id=request.sample.id,
        question_image_number=meta.get("question_image_number", len(images)),
    )
    if images:  # as published: without one there is no list, and classes count on that
        question["image_list"] = images
    if system:
        question[_SYSTEM] = system
    if len(asked) > 1:
        if images:  # a round without an image of its own has an empty path
            left = iter(images)
            question["image_list"] = [
                next(left) if image else "" for turn in asked for image in turn.images or [None]
            ]
        question["prompted_content_list"] = [turn.text for turn in asked]
    else:
        question["prompted_content"] = asked[0].text if asked else ""
    return (question,)


def read_prediction(answered: Any) -> Any:
    """The reply in a question as MULTI's evaluators return it; what is no text is returned as it is."""
    if not isinstance(answered, Mapping) or "prediction" not in answered:
        raise ModelError("generate_answer must return the question with a 'prediction'")
    prediction = answered["prediction"]
    if not prediction and answered.get("feedback"):
        raise ModelError(f"{NO_PREDICTION}{answered['feedback']}")
    if not isinstance(prediction, str):
        return prediction
    text, thinking = split_thinking(replace_surrogates(prediction))
    return Reply(
        text=text,
        thinking=thinking,
        usage=_usage(answered),
        earlier=_earlier(answered),
        evidence={RETURNED: returned} if (returned := _returned(answered, text)) else {},
    )


def _returned(answered: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Everything that a class returned and that nobody else knows, as values that can be kept.

    A prediction is among it where it held thoughts, and an answer besides.
    """
    told = {str(name): _plain(value) for name, value in answered.items() if name not in _OURS}
    if not text or told["prediction"] == text:
        del told["prediction"]
    return told


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: numbers of numpy as numbers, what is no plain value as its text.

    The base64 text of an image, which some classes return with all that they sent, is cut.
    """
    if isinstance(value, str):
        if value.startswith("data:") and len(value) > _LONGEST_DATA_URL:
            return f"{value[:40]}… ({len(value):,} characters)"
        return replace_surrogates(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {replace_surrogates(str(name)): _plain(one, depth + 1) for name, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [_plain(one, depth + 1) for one in value]
        if callable(to_list := getattr(value, "tolist", None)):  # numpy and torch
            with contextlib.suppress(Exception):
                return _plain(to_list(), depth + 1)
    return replace_surrogates(str(value)[:_LONGEST_DATA_URL])


def _usage(answered: Mapping[str, Any]) -> Usage | None:
    counts = {name: answered.get(name) for name in ("prompt_tokens", "completion_tokens")}
    known = {
        name: n for name, n in counts.items() if isinstance(n, int) and not isinstance(n, bool) and n >= 0
    }
    return Usage(**known) if known else None


def _earlier(answered: Mapping[str, Any]) -> tuple[str, ...]:
    """What was said in the rounds before the last. The history of some classes holds the last one too."""
    history = answered.get("answer_history")
    if not isinstance(history, list | tuple):
        return ()
    said = [replace_surrogates(_said(entry)) for entry in history]
    asked = answered.get("input_message_list")
    if isinstance(asked, list | tuple):
        return tuple(said[: max(0, len(asked) - 1)])
    return tuple(said[:-1] if said[-1:] == [answered["prediction"]] else said)


def _said(entry: Any) -> str:
    """The reply in an entry of a history: itself, or behind what was asked, as Qwen's chat keeps it."""
    if isinstance(entry, list | tuple) and entry:
        entry = entry[-1]
    return entry if isinstance(entry, str) else str(entry)


# One question at a time, as in the original: classes keep the question they are at in themselves.
shapes.record(
    "generate_answer", Shape(build_question, 1, read_prediction, takes_rounds=True, usual_concurrency=1)
)
