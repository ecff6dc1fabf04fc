"""Runs from a file: ``eyechart run config.yaml`` (also .json, and .py with a dict), ours or EvalScope's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import UsageError
from eyechart.model.specs import refuse_unknown
from eyechart.run.config_files import SUFFIXES, load_file
from eyechart.run.options import Options

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


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What a file asks for."""

    sources: tuple[str, ...]
    models: tuple[str, ...]
    options: Mapping[str, Any]


class Loaded(msgspec.Struct, frozen=True):
    """A configuration as it stands in its file."""

    path: str
    content: Any

    @property
    def is_task(self) -> bool:
        """Whether it is one of EvalScope's, by its keys."""
        from eyechart.compat.evalscope.config import is_task

        return is_task(self.content)


def find_config(sources: Sequence[str]) -> Loaded | None:
    """The configuration among the sources, which must be alone there; read once, since a .py is run."""
    configs = [source for source in sources if is_config(source)]
    if not configs:
        return None
    if len(sources) > 1:
        raise UsageError("a configuration is run alone", hint=f"eyechart run {configs[0]}")
    return Loaded(configs[0], load_file(Path(configs[0])))


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
    from eyechart.compat.evalscope.config import SIGNS  # which leads to all of that door

    content = load_file(file)
    return isinstance(content, Mapping) and bool(content.keys() & {*_MODELS, *_SOURCES[:2], *SIGNS})


def read_config(loaded: Loaded) -> Config:
    """Read a configuration. Names that no option has are refused here; one without a model when it is run."""
    path, content = loaded.path, loaded.content
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
