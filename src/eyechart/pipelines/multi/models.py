"""Which model MULTI's arguments mean: an endpoint, an evaluator class, or a name of the original's list.

People add their evaluators to that list in args.py, in the folder above their class. The file is read as
text: only dictionaries that are literals count, and nothing in it is executed.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from eyechart.errors import UsageError
from eyechart.models import environment
from eyechart.models.python import list_parameters, load_object, make_python_model
from eyechart.pipelines.multi.arguments import MultiArguments
from eyechart.pipelines.multi.prompt import PLACES, read_literals
from eyechart.registry import suggest_name
from eyechart.runs.options import Options
from eyechart.types import Model

GENERIC = "openai-compatible"  # the same as no --model: the endpoint at --api_url
OPENAI_URL = "https://api.openai.com/v1/chat/completions"
_EVALUATOR = "python:file.py:XEvaluator"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """The model of a run and its settings. `name` goes into the run folder's name."""

    spec: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of the run; may hold a key
    params: Mapping[str, Any] = field(default_factory=dict)  # of the class
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of the class; never on disk
    split_sys: bool = False
    registered: str = ""  # its name in the original's list
    notes: tuple[str, ...] = ()
    evaluator: Any = None  # the class, loaded once: its file may take long
    n_copies: int = 1  # of the class, each for one question at a time

    def model(self, options: Options) -> str | Model:
        """The model for the plan: its name, or a class made with its arguments."""
        if self.evaluator is None:
            return self.spec
        settings = replace(options, params=dict(self.params)).make_model_settings()
        maker = self.evaluator if self.n_copies == 1 else make_copies(self.evaluator, self.n_copies)
        return make_python_model(maker, self.spec.removeprefix("python:"), settings, keys=self.secrets)


def choose_model(arguments: MultiArguments) -> ChosenModel:
    """The model that the arguments mean. Arguments that it does not take are refused by name."""
    given = arguments.model
    file, own = read_model_list()
    if arguments.use_modelscope and not {given, (given or "").lower()} & {*LOCAL, *own}:
        raise UsageError(
            "--use_modelscope chooses among the original's own modules",
            hint=f"give the evaluator: --model {_EVALUATOR}",
        )
    if given is None or given.lower() == GENERIC:
        if (name := arguments.model_version) is None:
            raise UsageError(
                "no model given",
                hint="add --model_version NAME --api_url URL for an endpoint, "
                f"or --model {_EVALUATOR} for your own class",
            )
        return _endpoint(arguments, name)
    if given.startswith("python:"):
        return load_evaluator(arguments, given)
    if "/" in given:
        return _by_spec(arguments, given)
    if given in own and given not in SERVED:
        return _local(arguments, given, _read_entry(given, own[given], file), file.parent)
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
        f"--model {given} is not in the original's list",
        hint=f"{near} Else {other}" if near else f"{other}; --model_list shows the list",
    )


def _by_spec(arguments: MultiArguments, spec: str) -> ChosenModel:
    provider, _, name = spec.partition("/")
    version = arguments.model_version
    if version is not None and version != name:
        raise UsageError(
            f"--model {spec} and --model_version {version} name two models", hint="leave one out"
        )
    if provider == "openai":
        return _endpoint(arguments, name)
    _refuse(arguments, ("api_url", "api_key", "model_dir", "cuda_device"), of=spec)
    return ChosenModel(spec=spec, name=spec)


def _served(arguments: MultiArguments, registered: str, served: ServedModel) -> ChosenModel:
    _check_input(arguments, registered, served.inputs)
    if served.is_foreign and arguments.api_url is None:
        raise UsageError(
            f"--model {registered}: the original calls the API of the model's vendor, which is not supported",
            hint="give an OpenAI-compatible URL with --api_url",
        )
    return _endpoint(arguments, arguments.model_version or served.version, registered)


def _endpoint(arguments: MultiArguments, name: str, registered: str = "") -> ChosenModel:
    spec = f"openai/{name}"
    _refuse(arguments, ("model_dir", "cuda_device"), of=f"the endpoint of {spec}")
    options = {"base_url": arguments.api_url, "api_key": arguments.api_key}
    said = {key: value for key, value in options.items() if value is not None}
    return ChosenModel(spec=spec, name=name, options=said, split_sys=True, registered=registered)


def _local(
    arguments: MultiArguments, registered: str, local: LocalModel, folder: Path = Path()
) -> ChosenModel:
    """The original's evaluator class, which is found if eyechart is started in the folder eval."""
    _check_input(arguments, registered, local.inputs)
    endings = ("_ms", "") if arguments.use_modelscope else ("", "_hf")
    files = [folder / "models" / f"{local.module}{ending}.py" for ending in endings]
    found = next((file for file in files if file.is_file()), None)
    if found is None and arguments.model_dir and 2 in local.inputs:
        return _weights(arguments, registered, local)
    if found is None:
        split = " --set split_sys=true" if local.split_sys else ""
        weights = "; or give its weights: --model_dir FOLDER (extra hf)" if 2 in local.inputs else ""
        raise UsageError(
            f"--model {registered} runs in a class of the original, which is not at {files[-1]}",
            hint="start in the folder eval of the authors' repository, whose classes also know their default "
            f"weights; or give an evaluator file: --model {_EVALUATOR}{split}{weights}; or serve the model, "
            "and leave out --model: -v NAME --api_url URL",
        )
    if local.model_type == "api" and local.versions and not arguments.model_dir:
        arguments = replace(arguments, model_version=arguments.model_version or local.versions[0])
    chosen = load_evaluator(arguments, f"python:{found.as_posix()}:{local.evaluator}")
    note = f"--model {registered}: runs in {local.evaluator} of {found.as_posix()}"
    if arguments.use_modelscope and found != files[0]:
        note += f", because --use_modelscope found no {files[0].as_posix()}"
    return replace(
        chosen,
        name=arguments.model_version or registered,
        split_sys=local.split_sys,
        registered=registered,
        notes=(note, *chosen.notes),
    )


def _weights(arguments: MultiArguments, registered: str, local: LocalModel) -> ChosenModel:
    """The weights alone, without the original's class: loaded by transformers."""
    _refuse(arguments, ("api_url", "api_key"), of=f"weights ({registered})")
    device, spec = arguments.cuda_device, f"hf/{arguments.model_dir}"
    return ChosenModel(
        spec=spec,
        name=arguments.model_version or registered,
        options={} if device == "auto" else {"params": {"device": device}},
        split_sys=local.split_sys,
        registered=registered,
        notes=(
            f"--model {registered}: no class of the original is here, so its weights run as {spec}, with the "
            "extra hf; to use the class, start in the folder eval of the authors' repository",
        ),
    )


def _check_input(arguments: MultiArguments, registered: str, inputs: tuple[int, ...]) -> None:
    asked = 0 if arguments.input_type == 1 and not arguments.caption_file else arguments.input_type
    if asked not in inputs:
        raise UsageError(
            f"{registered} does not take --input_type {arguments.input_type}",
            hint=f"it takes: {', '.join(str(one) for one in inputs if one < 3)}",
        )


def _refuse(arguments: MultiArguments, flags: tuple[str, ...], *, of: str) -> None:
    for flag in flags:
        if getattr(arguments, flag) != MultiArguments.__dataclass_fields__[flag].default:
            raise UsageError(f"--{flag} does not apply to {of}", hint="leave it out")


# -- Evaluator classes: the arguments they are made with, and how many copies


def load_evaluator(arguments: MultiArguments, spec: str) -> ChosenModel:
    """A class with ``generate_answer``, and the arguments that the original makes it with."""
    found = load_object(spec.removeprefix("python:"))
    known = list_parameters(found) if inspect.isclass(found) or inspect.isfunction(found) else []
    params = _parameters(arguments, spec, known)
    n_copies, notes = _copies(arguments, found)
    if arguments.model_dir and arguments.model_version and "model" not in params:
        notes.append("--model_version only names the run: with --model_dir the class uses that folder")
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
    """The class's arguments: (model_dir, device_map), or (api_url, api_key, model), or (device_map).

    Others that are given are passed if the class takes them, and refused if not. `known` None: it takes all.
    """
    if arguments.model_dir:
        usual = {"model_dir", "cuda_device"}
    else:
        usual = {"api_url", "api_key", "model_version"} if arguments.model_version else {"cuda_device"}
    folder = "model_dir"
    if known and folder not in known and known[0] not in ("device_map", "api_url", "api_key", "model"):
        folder = known[0]  # as published: the first parameter, whatever its name
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
            params[parameter] = value  # as published: without a key, None is passed
        elif is_said and not (flag == "model_version" and arguments.model_dir):
            raise UsageError(
                f"--{flag} cannot be passed to {spec}: it has no parameter {parameter!r}",
                hint=f"it takes: {', '.join(known) or 'nothing'}",
            )
    return params


def _copies(arguments: MultiArguments, found: Any) -> tuple[int, list[str]]:
    """How many copies of a class run at once: as published, several only if it calls an endpoint."""
    n = arguments.num_workers
    if n == 1:
        return 1, []
    if most := getattr(found, "max_concurrency", None):
        fewer = [f"--num_workers {n}: the class allows {most} at a time (max_concurrency)"]
        return 1, fewer if most < n else []
    if arguments.model_version and not arguments.model_dir and inspect.isclass(found):
        return n, [f"--num_workers {n}: that many copies of the class run at once"]
    why = "a local class answers one question at a time, as published"
    return 1, [f"--num_workers {n}: {why} (unless it has max_concurrency = {n})"]


def make_copies(maker: Callable[..., Any], n: int) -> Callable[..., Any]:
    """A class that makes `n` copies of the evaluator and lets them take turns.

    An evaluator keeps the current question in its state; the original gives each process its own.
    """

    class Copies:
        max_concurrency = n

        def __init__(self, **params: Any) -> None:
            self._free = [maker(**params) for _ in range(n)]

        def generate_answer(self, question: Any) -> Any:
            one = self._free.pop()  # there is one, as at most n are asked at once
            try:
                return one.generate_answer(question)
            finally:
                self._free.append(one)

        def close(self) -> None:
            for one in self._free:
                if callable(closing := getattr(one, "close", None)):
                    closing()

    for name in ("__module__", "__name__", "__qualname__", "__firstlineno__"):
        if hasattr(maker, name):  # a run is identified by the source of its class
            setattr(Copies, name, getattr(maker, name))
    return Copies


# -- The original's list of models

_Identifier = Annotated[str, msgspec.Meta(pattern=r"^[^\W\d]\w*$")]


class ServedModel(NamedTuple):
    """A model of the original's list that is called over the network."""

    version: str  # the default version
    inputs: tuple[int, ...] = (0, 1, 2)
    is_foreign: bool = False  # the original calls it through another API than OpenAI's


class LocalModel(msgspec.Struct, frozen=True):
    """A model of the original's list that runs in an evaluator class: an entry of its form."""

    module: _Identifier = msgspec.field(name="executor")  # in the folder `models`
    evaluator: _Identifier
    split_sys: bool = False
    inputs: tuple[int, ...] = msgspec.field(name="support_input", default=(0, 1, 2))
    versions: list[str] | None = msgspec.field(name="avail_model", default=None)
    model_type: str = "local"  # api: the class calls an endpoint, by default for the first version


_WORDS, _IMAGES = (0, 1), (2,)

SERVED: Mapping[str, ServedModel] = {
    "gpt-5": ServedModel("gpt-5-nano-2025-08-07"),
    "gpt-4o": ServedModel("gpt-4o-2024-08-06"),
    "gpt-4v": ServedModel("gpt-4-vision-preview", _IMAGES),
    "gpt": ServedModel("gpt-3.5-turbo", _WORDS),
    "internvl-api": ServedModel("internvl"),
    "internvl3-api": ServedModel("internvl-8b"),
    "qwen3-vl-api": ServedModel("Qwen/Qwen3-VL-235B-A22B-Instruct"),
    "step-api": ServedModel("step-1v-8k"),
    "claude-api": ServedModel("claude-3-opus-20240229"),
    "gemini-api": ServedModel("gemini-1.5-pro-latest"),
    "claude": ServedModel("claude-3-opus-20240229", is_foreign=True),
    "gemini": ServedModel("gemini-pro", _WORDS, is_foreign=True),
    "geminivision": ServedModel("gemini-pro-vision", _IMAGES, is_foreign=True),
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


def read_model_list() -> tuple[Path, dict[str, Mapping[str, Any]]]:
    """The evaluators in an args.py of the original's form: here, one folder up, or in the folder eval."""
    for file in (folder / "args.py" for folder in PLACES):
        with contextlib.suppress(UsageError):  # there is none
            lists = [one for one in read_literals(file).values() if isinstance(one, dict)]
            found: dict[str, Mapping[str, Any]] = {
                name: said
                for one in lists
                for name, said in one.items()
                if isinstance(name, str) and isinstance(said, dict) and "evaluator" in said
            }
            if found:
                return file, found
    return Path("args.py"), {}


def _read_entry(name: str, said: Mapping[str, Any], file: Path) -> LocalModel:
    try:
        return msgspec.convert(said, LocalModel, strict=False)
    except msgspec.ValidationError as err:
        raise UsageError(
            f"{file}: model_list[{name!r}] is not an entry of the original's form ({err}): {dict(said)}",
            hint='e.g. {"executor": "mymodel", "evaluator": "MyEvaluator", "model_type": "local", '
            '"support_input": [0, 1, 2], "split_sys": False}',
        ) from err


def list_models() -> list[str]:
    """The names of the original's list, and those of an args.py."""
    return list(dict.fromkeys([*SERVED, GENERIC, *LOCAL, *read_model_list()[1]]))


def describe_models() -> list[str]:
    """The list of models as text: the original's names, and what they stand for here."""

    def line(name: str, text: str, inputs: tuple[int, ...] = ()) -> str:
        types = f"; input types {','.join(map(str, inputs))}" if inputs else ""
        return f"  {name:<14}  {text}{types}"

    file, own = read_model_list()
    url = {True: " (needs --api_url)", False: ""}
    return [
        "names of the original's list that are called at an OpenAI-compatible endpoint (--api_url):",
        *(
            line(name, f"openai/{one.version} unless -v names another{url[one.is_foreign]}", one.inputs)
            for name, one in SERVED.items()
        ),
        line(GENERIC, "openai/ and what -v names, as without --model"),
        "names of the original's list that run in its own classes (start in its folder eval):",
        *(
            line(name, f"models/{one.module}.py or _hf.py: {one.evaluator}", one.inputs)
            for name, one in LOCAL.items()
        ),
        *([f"names in {file.as_posix()}:"] if own else []),
        *(line(name, f"{said['evaluator']} of {said.get('executor')}") for name, said in own.items()),
        "any other model:",
        line(_EVALUATOR, "your own class with generate_answer(question)"),
        line("openai/NAME", "any OpenAI-compatible endpoint, with --api_url"),
        line("(no --model) -v NAME", "the same"),
    ]
