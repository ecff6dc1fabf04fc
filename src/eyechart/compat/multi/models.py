"""Whom MULTI's arguments mean: an endpoint, an evaluator class, or a name of the original's own list.

People add their evaluators to that list in the file args.py, in the folder above their class. It is read as
text: of its dictionaries only those that are written out are taken, and nothing in it is run.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eyechart.compat.multi.arguments import Arguments
from eyechart.compat.multi.evaluators import Chosen, evaluator
from eyechart.errors import UsageError
from eyechart.registry import did_you_mean

_EVALUATOR = "python:file.py:XEvaluator"


@dataclass(frozen=True, slots=True)
class Served:
    """A model of the original's list that is asked over the network."""

    version: str  # the one that is asked where none is named
    inputs: tuple[int, ...] = (0, 1, 2)
    is_foreign: bool = False  # asked there through an interface other than OpenAI's


@dataclass(frozen=True, slots=True)
class Local:
    """A model of the original's list that runs in its evaluator: module, class, whether it splits prompts."""

    module: str
    evaluator: str
    split_sys: bool = False
    inputs: tuple[int, ...] = (0, 1, 2)
    folder: Path = Path()  # in which the folder `models` lies
    version: str = ""  # of a class that asks an endpoint: the one that is asked where none is named


_WORDS, _PICTURES = (0, 1), (2,)

SERVED: Mapping[str, Served] = {
    "gpt-5": Served("gpt-5-nano-2025-08-07"),
    "gpt-4o": Served("gpt-4o-2024-08-06"),
    "gpt-4v": Served("gpt-4-vision-preview", _PICTURES),
    "gpt": Served("gpt-3.5-turbo", _WORDS),
    "internvl-api": Served("internvl"),
    "internvl3-api": Served("internvl-8b"),
    "qwen3-vl-api": Served("Qwen/Qwen3-VL-235B-A22B-Instruct"),
    "step-api": Served("step-1v-8k"),
    "claude-api": Served("claude-3-opus-20240229"),
    "gemini-api": Served("gemini-1.5-pro-latest"),
    "claude": Served("claude-3-opus-20240229", is_foreign=True),
    "gemini": Served("gemini-pro", _WORDS, is_foreign=True),
    "geminivision": Served("gemini-pro-vision", _PICTURES, is_foreign=True),
}
LOCAL: Mapping[str, Local] = {
    "moss": Local("moss", "MOSSEvaluator", inputs=_WORDS),
    "viscpm": Local("viscpm", "VisCPMEvaluator"),
    "minicpmv": Local("minicpmv", "MiniCPMEvaluator"),
    "qwen-vl": Local("qwenvl", "QwenVLEvaluator"),
    "qwen2-vl": Local("qwen2vl", "Qwen2VLEvaluator", split_sys=True),
    "qwen2.5-vl": Local("qwen25vl", "Qwen2_5VLEvaluator", split_sys=True),
    "qwen2": Local("qwen2", "Qwen2Evaluator", split_sys=True, inputs=_WORDS),
    "points": Local("points", "POINTSEvaluator"),
    "visualglm": Local("visualglm", "VisualGLMEvaluator"),
    "llama2": Local("llama2", "Llama2Evaluator", split_sys=True, inputs=_WORDS),
    "dfm": Local("dfm", "DFMEvaluator", split_sys=True, inputs=_WORDS),
    "intern-vl": Local("internvl", "InternVLEvaluator"),
    "intern-vl-2": Local("internvl2", "InternVLEvaluator"),
    "intern-vl-2.5": Local("internvl2", "InternVLEvaluator"),
    "internlm": Local("internlm", "InternLMEvaluator", inputs=_WORDS),
    "human": Local("human", "HumanEvaluator", split_sys=True),
    "deepseek-vl2": Local("deepseekvl2", "DeepSeekVL2Evaluator"),
    "deepseek-janus": Local("deepseekjanus", "DeepSeekJanusEvaluator"),
}


def choose_model(arguments: Arguments) -> Chosen:
    """The model that the arguments mean. Those that mean nothing to it are refused by name."""
    given = arguments.model
    file, own = registered()
    if arguments.use_modelscope and not {given, (given or "").lower()} & {*LOCAL, *own}:
        raise UsageError(
            "--use_modelscope chooses among the original's own modules",
            hint=f"give the evaluator that you want: --model {_EVALUATOR}",
        )
    if given is None:
        return _generic(arguments)
    if given.startswith("python:"):
        return evaluator(arguments, given)
    if "/" in given:
        return _by_spec(arguments, given)
    if given in own and given not in SERVED:
        return _local(arguments, given, _entry(given, own[given], file))
    if (name := given.lower()) in SERVED:
        return _served(arguments, name, SERVED[name])
    if name in LOCAL:
        return _local(arguments, name, LOCAL[name])
    near = did_you_mean(name, model_names(), otherwise="")
    mine = f"python:{given}:XEvaluator" if given.endswith(".py") else _EVALUATOR
    other = (
        f"write openai/NAME with --api_url, or {mine}, or add it to model_list of args.py in the folder eval"
    )
    raise UsageError(
        f"--model {given} is no model of the original's list",
        hint=f"{near} Else {other}" if near else f"{other}; --model_list names those of the list",
    )


def _generic(arguments: Arguments) -> Chosen:
    if arguments.model_version is None:
        raise UsageError(
            "nobody is said to answer",
            hint="--model_version NAME with --api_url URL for an endpoint, "
            f"or --model {_EVALUATOR} for a class of your own",
        )
    return _endpoint(arguments, f"openai/{arguments.model_version}", arguments.model_version)


def _by_spec(arguments: Arguments, spec: str) -> Chosen:
    provider, _, name = spec.partition("/")
    version = arguments.model_version
    if version is not None and version != name:
        raise UsageError(
            f"--model {spec} and --model_version {version} name two models", hint="leave one out"
        )
    if provider == "openai":
        return _endpoint(arguments, spec, name)
    _refuse(arguments, ("api_url", "api_key", "model_dir", "cuda_device"), of=spec)
    return Chosen(spec=spec, name=spec)


def registered() -> tuple[Path, dict[str, Mapping[str, Any]]]:
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


def _entry(name: str, said: Mapping[str, Any], file: Path) -> Local:
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
    return Local(
        module=str(module),
        evaluator=str(evaluator_name),
        split_sys=bool(said.get("split_sys", False)),
        inputs=tuple(one for one in inputs if one in (0, 1, 2)),
        folder=file.parent,
        version=str(versions[0]) if said.get("model_type") == "api" else "",
    )


def _served(arguments: Arguments, registered: str, served: Served) -> Chosen:
    _check_input(arguments, registered, served.inputs)
    if served.is_foreign and arguments.api_url is None:
        raise UsageError(
            f"--model {registered} is asked there through its maker's own interface, which is not ours",
            hint="name an OpenAI-compatible address of it with --api_url",
        )
    version = arguments.model_version or served.version
    return _endpoint(arguments, f"openai/{version}", version, registered=registered)


def _endpoint(arguments: Arguments, spec: str, name: str, registered: str = "") -> Chosen:
    _refuse(arguments, ("model_dir", "cuda_device"), of=f"the endpoint of {spec}")
    options = {"base_url": arguments.api_url, "api_key": arguments.api_key}
    said = {key: value for key, value in options.items() if value is not None}
    return Chosen(spec=spec, name=name, options=said, split_sys=True, registered=registered)


def _local(arguments: Arguments, registered: str, local: Local) -> Chosen:
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
    chosen = evaluator(arguments, f"python:{found.as_posix()}:{local.evaluator}")
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


def _check_input(arguments: Arguments, registered: str, inputs: tuple[int, ...]) -> None:
    asked = 0 if arguments.input_type == 1 and arguments.caption_file is None else arguments.input_type
    if asked not in inputs:
        raise UsageError(
            f"--input_type {arguments.input_type} is not one that {registered} takes",
            hint=f"it takes: {', '.join(map(str, inputs))}",
        )


def _refuse(arguments: Arguments, flags: tuple[str, ...], *, of: str) -> None:
    for flag in flags:
        if getattr(arguments, flag) != Arguments.__dataclass_fields__[flag].default:
            raise UsageError(f"--{flag} means nothing to {of}", hint="leave it out")


def model_names() -> list[str]:
    """The names of the original's list, and those of an args.py."""
    return list(dict.fromkeys([*SERVED, *LOCAL, *registered()[1]]))


def model_lines() -> list[str]:
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
    file, own = registered()
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
