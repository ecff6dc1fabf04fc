"""A run that could start now: its parts found and checked, nothing written, nothing spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import UsageError
from eyechart.run.options import Options
from eyechart.types import Benchmark, Model, Prompt, Scorer, Source

if TYPE_CHECKING:
    from eyechart.data.images import ImageLoader


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that could start now: everything was checked, nothing was written or spent."""

    benchmark: Benchmark
    model: Model
    prompt: Prompt
    scorer: Scorer
    options: Options
    folder: Path

    def manifest(self) -> dict[str, Any]:
        """What the run folder says of itself. Holds no key."""
        from eyechart.model.secrets import without_secrets

        options = {name: getattr(self.options, name) for name in self.options.__dataclass_fields__}
        return {
            **describe(self.benchmark, self.scorer, self.model.name, trials=self.options.trials),
            "identity": dict(self.model.identity),
            "options": without_secrets(options),
        }


def make_plan(source: str | Path | Benchmark | Source, model: str | object, options: Options) -> Plan:
    """Find the parts of a run and check that they fit. Writes nothing, spends nothing."""
    from eyechart.prompt.variants import with_system, without_images
    from eyechart.registry import scorers
    from eyechart.store.folder import folder_for

    benchmark = find_benchmark(source, options)
    the_model = find_model(model, options)
    prompt = benchmark.prompt
    if options.input == "none":
        prompt = without_images(prompt)
    if options.system:
        prompt = with_system(prompt, options.system)
    identity = {
        "origin": benchmark.source.origin,
        "selection": options.selection(),
        "model": dict(the_model.identity),
        "asked": {"input": options.input, "system": options.system, "max_pixels": options.max_pixels},
        "read": {"format": options.format, "fields": options.fields, "cells": options.cells},
    }
    return Plan(
        benchmark=benchmark,
        model=the_model,
        prompt=prompt,
        scorer=scorers.get(options.scorer or benchmark.scorer),
        options=options,
        folder=folder_for(Path(options.out), benchmark.name, the_model.name, identity),
    )


def describe(benchmark: Benchmark, scorer: Scorer, model: str, *, trials: int = 1) -> dict[str, Any]:
    """What every manifest says, however the replies came about. `Run` reads it."""
    from eyechart import __version__

    return {
        "eyechart": __version__,
        "benchmark": benchmark.name,
        "about": benchmark.about,
        "origin": benchmark.source.origin,
        "parity": scorer.parity,
        "group_by": list(benchmark.group_by),
        "scorer": scorer.name,
        "model": model,
        "trials": trials,
    }


def find_benchmark(source: str | Path | Benchmark | Source, options: Options) -> Benchmark:
    """The benchmark that a user means: a declared one by name, or the one that a file makes."""
    from eyechart.benchmarks.custom import custom
    from eyechart.registry import benchmarks

    if isinstance(source, Benchmark):
        return source
    if not isinstance(source, str | Path):
        if not (hasattr(source, "__iter__") and hasattr(source, "name") and hasattr(source, "origin")):
            raise UsageError(
                f"{type(source).__name__} is not a source of samples",
                hint="give a path, a name from the catalogue, a Benchmark, or what ec.load returns",
            )
        return custom(source)
    if options.read_as:
        return make_benchmark(options.read_as, {**options.settings, "file": str(source)})
    if not Path(source).exists() and str(source) in benchmarks.names():
        return make_benchmark(str(source), options.settings)
    if options.settings:
        raise UsageError(
            f"{source} is a plain file, which knows no settings ({', '.join(options.settings)})",
            hint="--as NAME says which benchmark's file it is",
        )
    return custom(_open_file(source, options))


def make_benchmark(name: str, settings: Mapping[str, Any]) -> Benchmark:
    """A benchmark of the catalogue with options of its own; each is checked against what it declares.

    The parameters of a benchmark's function are its options; their annotations say which values they take.
    """
    import inspect

    import msgspec

    from eyechart.model.specs import refuse_unknown
    from eyechart.registry import benchmarks

    factory = benchmarks.get(name)
    known = inspect.signature(factory, eval_str=True).parameters
    if "file" in settings and "file" not in known:
        raise UsageError(f"{name} is no benchmark that is read from a file of one's own")
    refuse_unknown(set(settings), set(known), who=name)
    values = {}
    for option, value in settings.items():
        try:
            values[option] = msgspec.convert(
                value, known[option].annotation, strict=False, dec_hook=lambda kind, text: kind(text)
            )
        except (msgspec.ValidationError, TypeError, ValueError) as err:
            raise UsageError(f"{name}: {option}={value!r} is not possible: {err}") from err
    return factory(**values)


def find_model(model: str | object, options: Options) -> Model:
    """The model that a user means: by name, or an object of their own."""
    from eyechart.model.adapt import adapt
    from eyechart.model.specs import make_model, refuse_unknown

    settings = options.model_settings()
    if isinstance(model, str):
        return make_model(model, settings)
    name = f"python:{type(model).__name__}"
    refuse_unknown(set(settings.parameters), set(), who=name, hint="It is made already: give it them there.")
    return adapt(model, name, settings, is_ready_made=True)


def _open_file(source: str | Path, options: Options) -> Source:
    from eyechart.data.source import SourceOptions, open_source

    chosen = SourceOptions(
        format=options.format,
        fields=options.fields,
        encoding=options.encoding,
        cells=options.cells,
        image_root=options.image_root,
        allow_urls=options.allow_urls,
    )
    return open_source(source, chosen)


def make_loader(options: Options) -> ImageLoader:
    """What loads the pictures of a run; those fetched from the web are kept for the next one."""
    from eyechart.data.images import ImageLoader
    from eyechart.store.folder import cache_home

    return ImageLoader(
        max_pixels=options.max_pixels,
        allow_urls=options.allow_urls,
        allow_private_urls=options.allow_private_urls,
        cache_dir=cache_home() / "images",
    )
