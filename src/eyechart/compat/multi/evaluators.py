"""MULTI's evaluator classes: with which arguments they are made, and how many at once."""

from __future__ import annotations

import inspect
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eyechart.compat.multi.arguments import Arguments
from eyechart.errors import UsageError
from eyechart.model import environment
from eyechart.run.options import Options
from eyechart.types import Model

OPENAI_URL = "https://api.openai.com/v1/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
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

        settings = replace(options, params=dict(self.params)).model_settings()
        maker = self.evaluator if self.n_copies == 1 else copies_of(self.evaluator, self.n_copies)
        return make_python_model(maker, self.spec.removeprefix("python:"), settings, keys=self.secrets)


def evaluator(arguments: Arguments, spec: str) -> Chosen:
    """A class with ``generate_answer``, and the arguments that the original would make it with."""
    from eyechart.model.python import load_object, parameters_of

    found = load_object(spec.removeprefix("python:"))
    known = parameters_of(found) if _is_maker(found) else []
    params = _parameters(arguments, spec, known)
    n_copies, notes = _copies(arguments, found)
    if arguments.model_dir and arguments.model_version and "model" not in params:
        notes.append("--model_version names the run only: with --model_dir a class is made of that folder")
    return Chosen(
        spec=spec,
        name=arguments.model_version or spec.rpartition(":")[2],
        params={name: value for name, value in params.items() if name != "api_key"},
        secrets={name: value for name, value in params.items() if name == "api_key"},
        notes=tuple(notes),
        evaluator=found,
        n_copies=n_copies,
    )


def _parameters(arguments: Arguments, spec: str, known: list[str] | None) -> dict[str, Any]:
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
    key = arguments.api_key or environment.key()
    if not arguments.api_url:
        environment.refuse_foreign_key(key)
    offered = {
        "model_dir": (folder, arguments.model_dir),
        "cuda_device": ("device_map", arguments.cuda_device),
        "api_url": ("api_url", arguments.api_url or environment.address() or OPENAI_URL),
        "api_key": ("api_key", key),
        "model_version": ("model", arguments.model_version),
    }
    params = {}
    for flag, (parameter, value) in offered.items():
        is_said = getattr(arguments, flag) != Arguments.__dataclass_fields__[flag].default
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


def _copies(arguments: Arguments, found: Any) -> tuple[int, list[str]]:
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


def copies_of(maker: Callable[..., Any], n: int) -> Callable[..., Any]:
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
