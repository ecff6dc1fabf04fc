"""Which config and which split of a data set is meant. Where several could be, none is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eyechart.data.hub.library import first_line, library
from eyechart.data.hub.spec import HubSpec
from eyechart.errors import DataError
from eyechart.registry import did_you_mean


def resolved(spec: HubSpec) -> tuple[Any, str, str]:
    """The builder, the config if one has to be named, and the split."""
    if spec.config:
        builder = builder_of(spec, spec.config)
        return builder, spec.config, pick(spec, spec.split, splits_of(builder), config=spec.config)
    try:
        builder = library().load_dataset_builder(spec.place, **_revision(spec))
    except ValueError as err:  # the library's way to say that a config must be named
        configs = _configs(spec)
        if spec.split not in configs:
            raise wrong_part(spec, "config", configs) from err
        builder = None
    if builder is not None:
        splits = splits_of(builder)
        if not spec.split or spec.split in splits or spec.split not in _configs(spec):
            return builder, "", pick(spec, spec.split, splits)
    builder = builder_of(spec, spec.split)
    return builder, spec.split, pick(spec, "", splits_of(builder), config=spec.split)


def builder_of(spec: HubSpec, config: str | None) -> Any:
    """The library's builder of one config, or of the only one."""
    try:
        return library().load_dataset_builder(spec.place, config, **_revision(spec))
    except ValueError as err:
        configs = _configs(spec)
        if config in configs:
            raise DataError(f"{spec}: cannot be loaded: {first_line(err)}") from err
        raise wrong_part(spec, "config", configs, named=config or "") from err


def _revision(spec: HubSpec) -> dict[str, str]:
    return {"revision": spec.revision} if spec.revision else {}


def _configs(spec: HubSpec) -> list[str]:
    return list(library().get_dataset_config_names(spec.place, **_revision(spec)))


def splits_of(builder: Any) -> list[str]:
    """The splits that a builder can load, without loading them."""
    return [str(name) for name in (builder.config.data_files or builder.info.splits or ())]


def pick(spec: HubSpec, split: str, names: Sequence[str], *, config: str = "") -> str:
    """The split that is meant: the one that is named, or the only one."""
    if split in names:
        return split
    if not split and len(names) == 1:
        return names[0]
    raise wrong_part(spec, "split", names, named=split, config=config)


def wrong_part(
    spec: HubSpec, kind: str, known: Sequence[str], *, named: str | None = None, config: str = ""
) -> DataError:
    """The error for a config or a split that is not there, with those that are."""
    name = spec.split if named is None else named
    listed = ", ".join(known) or "one without a name"
    message = f"{spec}: " + (f"no {kind} {name!r}" if name else f"{len(known)} {kind}s, and none is named")
    before = f"{config}/" if config else ""
    example = f"hf:{spec.place}:{before}{known[0] if known else ''}".removesuffix(":")
    near = did_you_mean(name, list(known)) if name else ""
    return DataError(f"{message} (there are: {listed})", hint=f"{near} write e.g. {example}".strip())
