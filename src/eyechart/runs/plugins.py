"""A user's own files: benchmarks, scorers and exporters in Python without a package, and configurations.

``bench.py`` and ``bench.py:name`` are benchmarks, ``python:file.py:name`` is a scorer or an exporter, and
with ``--plugin file.py`` everything that a file declares can be used by name. A file is run once.
A configuration is YAML, JSON, or Python with a dict.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from eyechart.errors import UnknownName, UsageError, join_names
from eyechart.registry import NamedScorer, benchmarks, exporters, scorers, suggest_name
from eyechart.types import Benchmark, Scorer

PYTHON = "python:"
SCORER_HINT = "def my_scorer(reply, sample), with reply.text and sample.golds; or def my_scorer(text, gold)"
_loaded: dict[tuple[str, int], ModuleType] = {}


def load_plugin(file: str | Path) -> ModuleType:
    """Run a file, once, so that what it declares is known."""
    from eyechart.models.python import load_module

    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise UsageError(
            f"--plugin {file}: no such Python file", hint="check the path, which must end in .py"
        )
    key = (str(path.resolve()), path.stat().st_mtime_ns)
    if key not in _loaded:
        _loaded[key] = load_module(str(path))
    return _loaded[key]


def is_ours(part: Any) -> bool:
    """Whether a function or an object is defined by this package."""
    return str(getattr(part, "__module__", "")).partition(".")[0] == "eyechart"


def try_part(what: str, hint: str, call: Callable[[], Any]) -> None:
    """Call a user's prompt or scorer once: a mistake in it must not show after requests were sent.

    Errors that may be due to the sample are left to the run, which reports them per sample.
    """
    from eyechart.models.python import describe_error

    try:
        call()
    except (TypeError, NameError, AttributeError, ImportError) as err:
        if "'NoneType' object has no attribute" in str(err):  # as of a pattern that this text does not match
            return
        raise UsageError(f"the {what} fails on the first sample: {describe_error(err)}", hint=hint) from err
    except UsageError:
        raise
    except Exception:
        return


# -- Benchmarks


def split_benchmark_spec(source: str) -> tuple[Path, str] | None:
    """File and name of ``bench.py`` or ``bench.py:name``; None for any other source.

    >>> split_benchmark_spec("mine.tsv") is None
    True
    """
    file, colon, name = source.rpartition(":")
    if source.endswith(".py"):
        file, name = source, ""
    elif not colon or not file.endswith(".py"):
        return None
    path = Path(file.removeprefix(PYTHON))
    return (path, name) if path.is_file() else None


def list_benchmarks(module: ModuleType) -> dict[str, Any]:
    """The benchmarks that a file declares, by name.

    Decorated functions, functions that say that they return a `Benchmark`, `Benchmark` objects, and classes
    with a method `to_benchmark`, such as data sets of other kits.
    """
    found: dict[str, Any] = {
        name: factory
        for name, factory in benchmarks.recorded().items()
        if factory.__module__ == module.__name__
    }
    known, own = list(found.values()), module.__name__
    for name, value in vars(module).items():
        if isinstance(value, Benchmark):
            found[value.name] = value
        elif inspect.isclass(value) and value.__module__ == own and hasattr(value, "to_benchmark"):
            found[name] = value.to_benchmark
        elif inspect.isfunction(value) and _returns_benchmark(value) and value not in known:
            found.setdefault(name, value)
    return found


def _returns_benchmark(function: Callable[..., Any]) -> bool:
    returned = getattr(function, "__annotations__", {}).get("return", None)
    is_named = returned is Benchmark or str(returned).rpartition(".")[2].strip("'\"") == "Benchmark"
    return is_named and not function.__name__.startswith("_")


def defines_benchmarks(path: Path) -> bool:
    """Whether a Python file declares benchmarks rather than a configuration."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    is_likely = ("enchmark(" in text and "eyechart" in text) or "Dataset)" in text
    return is_likely and bool(list_benchmarks(load_plugin(path)))


def find_python_benchmark(path: Path, name: str) -> Any:
    """The factory or the benchmark that a file declares under that name; without a name, its only one."""
    module = load_plugin(path)
    found = list_benchmarks(module)
    if name:
        attribute = getattr(module, name, None)
        chosen = found.get(name, attribute if attribute in found.values() else None)
        if chosen is None:
            listed = f"it declares: {join_names(list(found), 10) or 'none'}"
            hint = suggest_name(name, list(found), otherwise=listed)
            raise UnknownName(f"{path} declares no benchmark {name!r}", hint=hint)
        return chosen
    if len(found) != 1:
        hint = "declare one with @ec.benchmark('name'); see: eyechart docs one-file-benchmark"
        if found:
            hint = "choose one: " + " or ".join(f"{path}:{one}" for one in list(found)[:5])
        raise UsageError(f"{path} declares {len(found) or 'no'} benchmarks", hint=hint)
    return next(iter(found.values()))


# -- Scorers and exporters


def find_scorer(name: str) -> Scorer:
    """A scorer by its name, or ``python:file.py:name``."""
    if not name.startswith(PYTHON) or name in scorers.recorded():
        return scorers.get(name)
    return scorers.get(name_scorer(_load_named(name), name))


def _load_named(name: str) -> Any:
    """What ``python:file.py:name`` stands for; a file that was run already is not run again."""
    from eyechart.models.python import load_object

    place = name.removeprefix(PYTHON)
    file, _, attribute = place.rpartition(":")
    found = getattr(load_plugin(file), attribute, None) if file.endswith(".py") else None
    return found or load_object(place)


def name_scorer(thing: Any, name: str = "") -> str:
    """The name under which a function is registered as a scorer; a plain function is registered now.

    It is called as a decorated one (`eyechart.validate.apply_scorer`); its version is a hash of its text.
    """
    if isinstance(thing, str):
        return thing
    for known, part in scorers.recorded().items():
        if part is thing or getattr(part, "function", None) is thing:
            return known
    if not callable(thing) or inspect.isclass(thing):
        raise UsageError(
            f"{thing!r} is not a scorer", hint="give a name, or a function of a reply and a sample"
        )
    if all(hasattr(thing, part) for part in ("name", "version", "parity")):
        scorers.record(thing.name, thing)
        return str(thing.name)
    if inspect.iscoroutinefunction(thing):
        raise UsageError(f"the scorer {_call(thing)} is async", hint="write def instead of async def")
    try:
        inspect.signature(thing).bind("reply", "sample")
    except TypeError as err:
        raise UsageError(f"{_call(thing)} does not take a reply and a sample", hint=SCORER_HINT) from err
    name = name or f"{PYTHON}{_locate(thing)}"
    scorers.record(name, NamedScorer(name, _hash_source(thing), "", thing))
    return name


def _locate(thing: Any) -> str:
    """``file.py:name`` of a function in a loaded file, by which it is found again; else its name."""
    module = sys.modules.get(str(getattr(thing, "__module__", "")))
    file = getattr(module, "__file__", None)
    if module in _loaded.values() and file and getattr(module, _call(thing), None) is thing:
        return f"{os.path.relpath(file)}:{_call(thing)}"
    return _call(thing)


def _call(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__)).strip("<>")


def _hash_source(thing: Any) -> str:
    try:
        text = inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt
        code = getattr(thing, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(thing))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def find_exporter(name: str) -> str:
    """The name of an exporter; ``python:file.py:name`` is loaded and registered."""
    if not name.startswith(PYTHON):
        exporters.get(name)
        return name
    function = _load_named(name)
    if (known := next((one for one, part in exporters.recorded().items() if part is function), None)) is None:
        if not callable(function):
            raise UsageError(f"{name} is not a function", hint="an exporter takes an eyechart.Export")
        exporters.record(name, function)
    return known or name


# -- Configuration files

SUFFIXES = (".yaml", ".yml", ".json", ".py")
_NAMES = ("config", "task_cfg")  # the dict that is used, if a file defines several


def load_config_file(path: Path) -> Any:
    """The content of a configuration file, unchecked."""
    if path.suffix == ".py":
        return _load_python(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        why = getattr(err, "strerror", None) or err
        raise UsageError(f"{path} cannot be read: {why}", hint="is it a text file in UTF-8?") from err
    if path.suffix == ".json":
        return decode_json(text, str(path))
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        hint = "check quotes, brackets and indentation there"
        raise UsageError(f"{path} is not valid YAML: {_place(err)}", hint=hint) from err


def decode_json(text: str, who: str) -> Any:
    """The value of a JSON text; errors name `who`."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise UsageError(f"{who} is not valid JSON: {err}", hint="check quotes, commas and brackets") from err


def _place(err: Exception) -> str:
    """The problem and its position, without the line itself, which may hold a key."""
    mark = getattr(err, "problem_mark", None)
    said = getattr(err, "problem", None) or " ".join(str(err).split())
    return f"{said} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else said


def _load_python(path: Path) -> Any:
    """Run the user's file, and take the dict or list named `config` or `task_cfg`, or else the only dict."""
    try:
        names = runpy.run_path(str(path))
    except Exception as err:
        raise UsageError(
            f"{path} cannot be run: {type(err).__name__}: {err}", hint=f"try it with: python {path}"
        ) from err
    dicts = [one for name, one in names.items() if isinstance(one, dict) and not name.startswith("_")]
    for name in _NAMES:
        if isinstance(names.get(name), dict | list):
            return names[name]
    if len(dicts) != 1:
        many = f"defines {len(dicts)} dicts" if dicts else "defines no configuration"
        raise UsageError(f"{path} {many}", hint="it needs one dict, called `config`: config = {...}")
    return dicts[0]
