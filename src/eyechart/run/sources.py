"""From the source a user names to the benchmark that is asked."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from eyechart.checks import sound_samples
from eyechart.errors import EyechartError, UnknownName, UsageError
from eyechart.prompt.default import custom_prompt
from eyechart.registry import benchmarks, did_you_mean, find_published_benchmark
from eyechart.run.options import Options
from eyechart.types import Benchmark, Sample, Source

PLAIN = "plain"  # --as plain: a file of one's own, whatever it is called


def find_benchmark(source: str | Path | Benchmark | Source, options: Options) -> Benchmark:
    """The benchmark that a user means: a declared one by name, or the one that a file makes."""
    if not isinstance(source, str | Path):
        if said := options.reading():
            raise UsageError(
                f"{', '.join(said)}: the source is opened already", hint="say it where the source is made"
            )
        if isinstance(source, Benchmark):
            return source
        if not (hasattr(source, "__iter__") and hasattr(source, "name") and hasattr(source, "origin")):
            raise UsageError(
                f"{type(source).__name__} is not a source of samples",
                hint="give a path, a name from the catalogue, a Benchmark, or what ec.load returns",
            )
        return custom(source)
    is_name = not Path(source).exists() and str(source) in benchmarks.names()
    read_as = options.read_as or (None if is_name else _benchmark_of(source))
    if read_as and read_as not in (PLAIN, *benchmarks.names()):
        hint = did_you_mean(read_as, [PLAIN, *benchmarks.names()], see="eyechart data list")
        raise UnknownName(f"no benchmark named {read_as!r}", hint=hint)
    if read_as and read_as != PLAIN:
        _refuse_twice(options, "file", f"the source is {source} already")
        is_usual = not options.read_as and _is_looked_up(source)
        settings = _settings(read_as, options) | ({} if is_usual else {"file": str(source)})
        return make_benchmark(read_as, settings)
    if is_name and not read_as:
        return make_benchmark(str(source), _settings(str(source), options))
    if options.settings:
        raise UsageError(
            f"{source} is a plain file, which knows no settings ({', '.join(options.settings)})",
            hint="--as NAME says which benchmark's file it is",
        )
    return custom(_open_file(source, options))


def _settings(name: str, options: Options) -> dict[str, Any]:
    """The benchmark's own options, those that have flags of the run included."""
    reading = _reading(name, options)
    for one in reading:
        _refuse_twice(options, one, f"--{one.replace('_', '-')} says it already")
    return {**reading, **options.settings}


def _refuse_twice(options: Options, name: str, why: str) -> None:
    if name in options.settings:
        raise UsageError(f"--set {name}={options.settings[name]}: {why}", hint="leave one of them out")


def _is_looked_up(source: str | Path) -> bool:
    """Whether a published file is the one that the catalogue's name stands for: they are one run."""
    from eyechart.data.formats import find_file
    from eyechart.data.hub.spec import is_hub

    if is_hub(source) or Path(source).is_dir():
        return False
    with contextlib.suppress(EyechartError, OSError):
        return find_file(Path(source).stem).path.samefile(find_file(source).path)
    return False


def _benchmark_of(source: str | Path) -> str | None:
    """The benchmark of the catalogue that a hub id or a published file is, if it is one."""
    from eyechart.data.hub.spec import is_hub, parse_hub

    if is_hub(source):
        return find_published_benchmark(parse_hub(str(source)).place)
    return find_published_benchmark(Path(source).stem, Path(source))


def make_benchmark(name: str, settings: Mapping[str, Any]) -> Benchmark:
    """A benchmark of the catalogue with options of its own; each is checked against what it declares.

    The parameters of a benchmark's function are its options; their annotations say which values they take.
    """
    import msgspec

    from eyechart.model.specs import refuse_unknown

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
            kind = known[option].annotation
            hint = f"one of: {', '.join(map(str, get_args(kind)))}" if get_origin(kind) is Literal else ""
            raise UsageError(f"{name}: {option}={value!r} is not possible: {err}", hint=hint) from err
    try:
        made = factory(**values)
    except EyechartError:
        raise
    except Exception as err:  # a benchmark may be anybody's
        raise UsageError(f"the benchmark {name!r} cannot be made: {type(err).__name__}: {err}") from err
    if not isinstance(made, Benchmark):
        raise UsageError(
            f"the benchmark {name!r} cannot be made: its function returns {type(made).__name__}",
            hint="it must return an eyechart.Benchmark",
        )
    return made


def settings_of(name: str) -> dict[str, str]:
    """The options of a benchmark's own, and what they are unless set; none for what is in no catalogue."""
    if name not in benchmarks.names():
        return {}
    known = inspect.signature(benchmarks.get(name)).parameters
    return {option: "" if p.default is None else str(p.default) for option, p in known.items()}


def _reading(name: str, options: Options) -> dict[str, Any]:
    """The options of reading that a benchmark knows as its own; any other is refused, not ignored."""
    said = {one: value for one, value in options.reading().items() if one not in ("read_as", "settings")}
    for one in said.keys() - inspect.signature(benchmarks.get(name)).parameters.keys():
        raise UsageError(
            f"{name} reads its files in its own way: {one} means nothing to it",
            hint=f"eyechart data show {name} lists its own options; --as plain reads a file of your own",
        )
    return said


def _open_file(source: str | Path, options: Options) -> Source:
    from eyechart.data.source import SourceOptions, open_source

    chosen = SourceOptions(
        format=options.format,
        fields=options.fields,
        encoding=options.encoding,
        cells=options.cells or "text",
        image_root=options.image_root,
        allow_urls=options.allow_urls,
    )
    return open_source(source, chosen)


def rotated(benchmark: Benchmark, whole: Source) -> Benchmark:
    """The same benchmark by CircularEval: every rotation of its options is asked, and all must be right.

    A benchmark whose file holds the rotations already is asked as it is; `whole` is that file, of which
    the benchmark may have a selection.
    """
    from eyechart.data.circular import circular, circular_unless_rotated

    source = _sound(benchmark.source)
    turned = circular_unless_rotated(source, whole) if benchmark.circular else circular(source)
    return replace(benchmark, source=turned, circular="headline")


def selected(benchmark: Benchmark, options: Options) -> Benchmark:
    """The same benchmark with some of its questions; of a question with rotations, all or none."""
    if not options.selection():
        return benchmark
    from eyechart.data.lazy import ChangedSource
    from eyechart.data.select import select, select_circles

    is_circular = benchmark.circular == "headline" or (benchmark.circular and options.circular)
    choose = select_circles if is_circular else select

    def chosen(samples: Iterable[Sample]) -> Iterator[Sample]:
        return choose(samples, limit=options.limit, ids=options.ids or None, where=options.where or None)

    return replace(benchmark, source=ChangedSource(_sound(benchmark.source), chosen))


def _sound(source: Source) -> Source:
    """Its samples, looked at before we choose among them or change them."""
    from eyechart.data.lazy import ChangedSource

    return ChangedSource(source, sound_samples)


# -- A user's own file of image questions, asked and scored by our defaults.
#
# Multiple choice is read by our own reader of choices; open questions by the kind of their gold: yes or
# no, a number, or text. Parity: none claimed; `--scorer choice-vlmevalkit` gives VLMEvalKit's verdicts.


def custom(source: Source) -> Benchmark:
    """The benchmark that a file makes, with no class to write."""
    return Benchmark(
        name=source.name, source=source, prompt=custom_prompt, judged_scorer="judged", about=source.origin
    )
