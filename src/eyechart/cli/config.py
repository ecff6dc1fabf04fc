"""Configuration files: ``eyechart run config.yaml`` (also .json, and .py with a dict).

`find_config` recognises one among the sources; `read_config` checks it. Another tool's configuration is
recognised by its keys and read by its own reader (entry points ``eyechart.configurations``).
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.console import JSON_HELP
from eyechart.errors import UsageError
from eyechart.models.specs import refuse_unknown
from eyechart.option import add_options, list_file_keys, list_options, option
from eyechart.registry import ConfigReader, configurations
from eyechart.runs.models import ModelChoice, read_model
from eyechart.runs.options import COST, GATE, GROUPS, RUN, Options
from eyechart.runs.plugins import SUFFIXES, defines_benchmarks, load_config_file

_HINT = "a configuration has the keys source and model, and options named as in: eyechart run --help-all"
_SOURCES = ("source", "sources", "data")
_MODELS = ("model", "models")


@dataclass(frozen=True, kw_only=True)
class Switches:
    """Options of the command rather than of a run, by flag or in a configuration."""

    dry_run: bool = option(
        False,
        group=COST,
        is_common=True,
        help="estimate requests, bytes, tokens, time and cost, and send nothing",
    )
    json: bool = option(False, group=RUN, is_common=True, help=JSON_HELP)
    verbose: bool = option(
        False, "-v", "--verbose", group=RUN, help="print what was detected and chosen, and why"
    )


def add_run_options(parser: ArgumentParser, *, without: Sequence[str] = ("verbose",)) -> None:
    """Add the flags of a run, in the order of its help; `without` names options and switches to leave out."""
    add_options(
        parser, Options, *(group for group in GROUPS if group not in (COST, GATE, RUN)), without=without
    )
    add_options(parser, Switches, COST, without=without)
    add_options(parser, Options, COST, GATE, without=without)
    add_options(parser, Options, RUN, without=["progress", *without])
    add_options(parser, Switches, RUN, without=["verbose", *without])
    add_options(parser, Options, RUN, without=without)
    add_options(parser, Switches, RUN, without=without)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a configuration file holds."""

    sources: tuple[str, ...]
    models: tuple[ModelChoice, ...]
    options: Mapping[str, Any]
    switches: Mapping[str, bool]
    sweep: Mapping[str, Any]  # what `eyechart sweep` varies

    def under(self, flags: Mapping[str, Any]) -> tuple[list[ModelChoice], dict[str, Any]]:
        """The file's models and options, overridden by those of the command line.

        Options that are mappings, such as `params`, are merged name by name.
        """
        options = dict(self.options)
        for name, value in flags.items():
            held = options.get(name)
            both = isinstance(held, Mapping) and isinstance(value, Mapping)
            options[name] = {**options[name], **value} if both else value
        models = []
        for choice in self.models:
            own = {name: value for name, value in choice.own.items() if name == "params" or name not in flags}
            if "params" in own:
                said = flags.get("params", {})
                own["params"] = {name: value for name, value in own["params"].items() if name not in said}
            if flags.keys() & {"api_key", "api_key_env"}:
                own = {name: value for name, value in own.items() if name not in ("api_key", "api_key_env")}
            models.append(ModelChoice(choice.model, own))
        return models, options


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration as it is written in its file."""

    path: str
    content: Any

    def reader(self) -> ConfigReader | None:
        """The reader of another tool's configuration, found by the keys that readers announce."""
        parts = self.content if isinstance(self.content, list) else [self.content]
        keys = {key for one in parts if isinstance(one, Mapping) for key in one if isinstance(key, str)}
        readers = (configurations.get(key) for key in configurations.names() if key in keys)
        return next((one for one in readers if one.is_mine(self.content)), None)


def find_config(sources: Sequence[str]) -> LoadedConfig | None:
    """The configuration among the sources, which must be the only source; read once, since a .py is run."""
    configs = [source for source in sources if is_config(source)]
    if not configs:
        return None
    if len(sources) > 1:
        raise UsageError(
            "a configuration must be the only source", hint=f"run it alone: eyechart run {configs[0]}"
        )
    return LoadedConfig(configs[0], load_config_file(Path(configs[0])))


def is_config(path: str) -> bool:
    """Whether a source is a configuration rather than data: by its suffix, and a .json by its keys.

    Another tool's may be a list.
    """
    file = Path(path)
    if file.suffix in (".yaml", ".yml") and not file.exists():
        raise UsageError(f"{path}: no such file", hint="check the path")  # data has other suffixes
    if file.suffix not in SUFFIXES or not file.is_file():
        return False
    if file.suffix == ".py":
        return not defines_benchmarks(file)
    if file.suffix != ".json":
        return True
    with file.open("rb") as opened:
        begin = opened.read(1 << 16).lstrip()
    foreign = configurations.names()
    is_list = begin[:1] == b"[" and any(f'"{key}"'.encode() in begin for key in foreign)
    if not is_list and begin[:1] != b"{":  # data, and perhaps too large to read here
        return False
    content = load_config_file(file)
    if is_list:
        return LoadedConfig(path, content).reader() is not None
    return isinstance(content, Mapping) and bool(content.keys() & {*_MODELS, *_SOURCES[:2], *foreign})


def read_config(loaded: LoadedConfig) -> Config:
    """Read a configuration and refuse unknown names; a missing model is refused when it is run."""
    with _named_errors(loaded.path, _HINT):
        config = _read(loaded)
    with _named_errors(loaded.path, f"correct it in {loaded.path}"):
        Options.of(config.options, is_whole=False)  # flags may add what an option needs
    return config


@contextmanager
def _named_errors(path: str, hint: str) -> Iterator[None]:
    """Errors about a configuration name its file and carry a hint."""
    try:
        yield
    except UsageError as err:
        message = err.message if path in err.message else f"{path}: {err.message}"
        raise UsageError(message, hint=err.hint or hint) from err


def _read(loaded: LoadedConfig) -> Config:
    path, content = loaded.path, loaded.content  # errors below get the path from `_named_errors`
    if not isinstance(content, Mapping):
        raise UsageError(f"{path} is not a mapping of names to values")
    if isinstance(command := content.get("command"), str):  # as `eyechart vlmeval` records it
        raise UsageError(
            f"{path} records the command of a run; it is not a configuration", hint=f"run: {command}"
        )
    keys = list_file_keys(Options)
    options: dict[str, Any] = {}
    for written, value in content.items():
        name = str(written).replace("-", "_")
        if (key := keys.get(name)) is not None:
            value = not _truth(value, name) if key.is_inverted else value
            name = key.option
        if name in options:
            raise UsageError(f"{name} is given twice, once as {written}", hint="leave one of them out")
        options[name] = value
    switches = list_options(Switches)
    varied = options.pop("sweep", {})
    if not isinstance(varied, Mapping):
        raise UsageError("sweep must be a mapping of options to lists of values")
    refuse_unknown(set(options), {*list_options(Options), *_SOURCES, *_MODELS, *switches}, who=path)
    said = {name: _truth(options.pop(name), name) for name in switches if name in options}
    sources = _listed(options, _SOURCES, path)
    if not all(isinstance(source, str) for source in sources):
        raise UsageError(f"{_SOURCES[0]} must be text or a list of texts")
    models = _listed(options, _MODELS, path) if options.keys() & set(_MODELS) else []
    if not all(isinstance(one, str | Mapping) for one in models):
        raise UsageError(f"{_MODELS[0]} must be text, a mapping with a name, or a list of these")
    for place in (options, options.get("judge"), *models):
        if isinstance(place, Mapping) and place.keys() & {"api_key", "api-key", "judge_api_key"}:
            hint = "set OPENAI_API_KEY, or name another environment variable with api_key_env"
            raise UsageError(f"{path} holds an API key", hint=f"keep keys out of files: {hint}")
    return Config(
        sources=tuple(sources),
        models=tuple(map(read_model, models)),
        options=options,
        switches=said,
        sweep=varied,
    )


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}, but must be true or false")
    return value


def _listed(options: dict[str, Any], known: tuple[str, ...], path: str) -> list[Any]:
    """Pop the one key of `known` that is given, as a list of values."""
    found = [options.pop(name) for name in known if name in options]
    if len(found) != 1:
        raise UsageError(f"{path} must hold exactly one of: {', '.join(known)}")
    values = found[0] if isinstance(found[0], list) else [found[0]]
    if not values:
        raise UsageError(f"{known[0]} is empty")
    return values
