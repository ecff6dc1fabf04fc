"""Runs from a file: ``eyechart run config.yaml`` (also .json, and .py with a dict)."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.model.specs import refuse_unknown
from eyechart.run.options import Options

SUFFIXES = (".yaml", ".yml", ".json", ".py")
_SOURCES = ("source", "sources", "data")
_MODELS = ("model", "models")
# Names that people know from other tools.
ALIASES = {
    "epochs": "trials",
    "repeats": "trials",
    "max_connections": "concurrency",
    "api_nproc": "concurrency",
    "work_dir": "out",
    "log_dir": "out",
    "timeout": "timeout_s",
    "field": "fields",
    "param": "params",
    "as": "read_as",
    "set": "settings",
    "also_scorer": "also_scorers",
    "judge_param": "judge_params",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a file asks for."""

    sources: tuple[str, ...]
    models: tuple[str, ...]
    options: Mapping[str, Any]


def is_config(path: str) -> bool:
    """Whether a source is a configuration rather than data: by its ending, and a .json by its keys."""
    file = Path(path)
    if file.suffix in (".yaml", ".yml") and not file.exists():
        raise UsageError(f"{path}: no such file")  # data has other endings
    if file.suffix not in SUFFIXES or not file.is_file():
        return False
    if file.suffix != ".json":
        return True
    with file.open("rb") as opened:
        if opened.read(1024).lstrip()[:1] != b"{":
            return False
    content = _load(file)
    return isinstance(content, Mapping) and bool(content.keys() & {*_MODELS, *_SOURCES[:2]})


def read_config(path: str) -> Config:
    """Read a configuration. Names that no option has are refused here; one without a model when it is run."""
    content = _load(Path(path))
    if not isinstance(content, Mapping):
        raise UsageError(
            f"{path} does not hold a mapping of names to values", hint="see docs/configuration.md"
        )
    options = {ALIASES.get(str(name).replace("-", "_"), str(name).replace("-", "_")): value
               for name, value in content.items()}  # fmt: skip
    if options.keys() & {"api_key", "judge_api_key"}:
        raise UsageError(
            f"{path} holds a key", hint="keys do not belong into files that are shared: set OPENAI_API_KEY"
        )
    known = {*Options.__dataclass_fields__, *_SOURCES, *_MODELS}
    refuse_unknown(set(options), known, who=path)
    sources = _names(options, _SOURCES, path)
    models = _names(options, _MODELS, path) if options.keys() & set(_MODELS) else ()
    return Config(sources=sources, models=models, options=options)


def _names(options: dict[str, Any], known: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Take the one of `known` that is there: a text or a list of texts."""
    found = [options.pop(name) for name in known if name in options]
    if len(found) != 1:
        raise UsageError(f"{path} must hold exactly one of: {', '.join(known)}")
    values = found[0] if isinstance(found[0], list) else [found[0]]
    if not values or not all(isinstance(value, str) for value in values):
        raise UsageError(f"{path}: {known[0]} must be a text or a list of texts")
    return tuple(values)


def _load(path: Path) -> Any:
    if path.suffix == ".py":
        return _load_python(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{path} cannot be read: {err}") from err
    if path.suffix == ".json":
        import msgspec

        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError as err:
            raise UsageError(f"{path} is not valid JSON: {err}") from err
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise UsageError(f"{path} is not valid YAML: {' '.join(str(err).split())}") from err


def _load_python(path: Path) -> Any:
    """The dict in the file called `config`, or the only dict there is. The file is run: it is the user's."""
    try:
        names = runpy.run_path(str(path))
    except Exception as err:
        raise UsageError(f"{path} cannot be run: {type(err).__name__}: {err}") from err
    dicts = {
        name: value for name, value in names.items() if isinstance(value, dict) and not name.startswith("_")
    }
    if "config" in dicts:
        return dicts["config"]
    if len(dicts) != 1:
        raise UsageError(f"{path} holds {len(dicts)} dicts", hint="call the one that is meant `config`")
    return next(iter(dicts.values()))
