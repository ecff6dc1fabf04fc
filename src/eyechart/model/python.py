"""People's own classes, from a file or a package: ``python:file.py:Class``."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from eyechart.errors import UsageError, listed
from eyechart.model.adapt import adapt
from eyechart.model.secrecy import Secrets, environment
from eyechart.model.shapes import answers_itself
from eyechart.model.specs import refuse_unknown
from eyechart.registry import did_you_mean, model
from eyechart.types import Model, ModelSettings


@model("python")
def python(name: str, settings: ModelSettings) -> Model:
    """The class, function or object that ``file.py:Name`` or ``package.module:Name`` holds."""
    return make(find(name), name, settings)


def make(found: Any, name: str, settings: ModelSettings, keys: Mapping[str, Any] | None = None) -> Model:
    """A model of what `find` found under that name.

    `keys`: parameters besides. No run is known by them, not even by whether they are there.
    """
    who, keys = f"python:{name}", keys or {}
    secrets = Secrets(settings.parameters, keys, environment())
    with secrets.out_of_errors(who):
        thing = _made(found, {**settings.parameters, **keys}, who=who)
    return adapt(thing, who, settings, keys=keys)


def find(name: str) -> Any:
    """What ``file.py:Name`` or ``package.module:Name`` names: a class, a function, an object."""
    place, colon, attribute = name.rpartition(":")
    if not colon:
        raise UsageError(f"python:{name} does not say which class", hint="write python:file.py:Class")
    module = _load_module(place)
    found = getattr(module, attribute, None)
    if found is None:
        public = [
            name for name, held in vars(module).items() if name[0] != "_" and not inspect.ismodule(held)
        ]
        near = did_you_mean(attribute, public, otherwise=f"it holds: {listed(public, 10) or 'nothing'}")
        raise UsageError(f"{place} has no {attribute!r}", hint=near)
    return found


def _load_module(place: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # modules beside a package, as MULTI's own; last, so that they hide no others
    if not place.endswith(".py"):
        try:
            return importlib.import_module(place)
        except ImportError as err:
            raise UsageError(f"cannot import {place!r}: {err}", hint="for a file, write its .py too") from err
        except (Exception, SystemExit) as err:
            raise UsageError(f"{place} cannot be loaded: {type(err).__name__}: {err}") from err
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {place}", hint="write python:path/to/file.py:Class")
    place_sha = hashlib.sha256(str(path).encode()).hexdigest()[:8]  # two folders may hold a model.py each
    spec = importlib.util.spec_from_file_location(f"eyechart_user_{path.stem}_{place_sha}", path)
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that dataclasses and pickles in the file find themselves
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # the file's neighbours, as when it is run as a script
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as err:  # a script may end itself
        del sys.modules[spec.name]
        raise UsageError(f"{place} cannot be loaded: {type(err).__name__}: {err}") from err
    return module


def _made(found: Any, parameters: Mapping[str, Any], *, who: str) -> Any:
    """An instance: of a class, from a function that makes one; or the object or the function itself."""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        refuse_unknown(set(parameters), set(), who=who)  # it is made already
        return found
    known = parameters_of(found)
    if known is not None:
        refuse_unknown(set(parameters), set(known), who=who)
    if inspect.isfunction(found) and answers_itself(found, parameters):
        return partial(found, **parameters) if parameters else found
    try:
        return found(**parameters)
    except (Exception, SystemExit) as err:
        hint = "give its arguments with --param NAME=VALUE"
        if any(word in str(err).casefold() for word in ("cuda", "gpu")):
            hint = "it found no GPU that it can use; if it takes a device: --param device_map=cpu"
        if inspect.isfunction(found):
            hint += "; a function that answers itself takes (text, images) or (messages)"
        raise UsageError(f"{who} could not be made: {type(err).__name__}: {err}", hint=hint) from err


def parameters_of(maker: Callable[..., Any]) -> list[str] | None:
    """The parameters that a class or a function takes, in order; None when it takes any, or does not say."""
    try:
        wanted = inspect.signature(maker).parameters
    except ValueError:  # written in C
        return None
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in wanted.values())
    return None if takes_any else list(wanted)
