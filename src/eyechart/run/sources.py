"""From the source a user names to the benchmark that is asked."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from eyechart.errors import DataError, EyechartError, UnknownName, UsageError, join_names
from eyechart.prompt.default import build_custom_prompt
from eyechart.registry import benchmarks, find_published_benchmark, find_published_rule, suggest_name
from eyechart.run.options import Options
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Sample, Source
from eyechart.validate import check_samples

if TYPE_CHECKING:
    from eyechart.data.lint import Finding, Lint
    from eyechart.run.plan import Plan


PLAIN = "plain"  # --as plain: a file of one's own, whatever it is called


def find_benchmark(source: str | Path | Benchmark | Source, options: Options) -> Benchmark:
    """The benchmark that a user means: a declared one by name, or the one that a file makes."""
    if not isinstance(source, str | Path):
        if said := options.get_reading():
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
        return make_custom_benchmark(source)
    is_name = not Path(source).exists() and str(source) in benchmarks.names()
    read_as = options.read_as or (None if is_name else _benchmark_of(source))
    if read_as and read_as not in (PLAIN, *benchmarks.names()):
        hint = suggest_name(read_as, [PLAIN, *benchmarks.names()], see="eyechart data list")
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
    return make_custom_benchmark(_open_file(source, options))


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
    from eyechart.data.hub import is_hub

    if is_hub(source) or Path(source).is_dir():
        return False
    with contextlib.suppress(EyechartError, OSError):
        return find_file(Path(source).stem).path.samefile(find_file(source).path)
    return False


def _benchmark_of(source: str | Path) -> str | None:
    """The benchmark of the catalogue that a hub id or a published file is, if it is one."""
    from eyechart.data.hub import is_hub, parse_hub

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


def list_settings(name: str) -> dict[str, str]:
    """The options of a benchmark's own, and what they are unless set; none for what is in no catalogue."""
    if name not in benchmarks.names():
        return {}
    known = inspect.signature(benchmarks.get(name)).parameters
    return {option: "" if p.default is None else str(p.default) for option, p in known.items()}


def _reading(name: str, options: Options) -> dict[str, Any]:
    """The options of reading that a benchmark knows as its own; any other is refused, not ignored."""
    said = {one: value for one, value in options.get_reading().items() if one not in ("read_as", "settings")}
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


def rotate_options(benchmark: Benchmark, whole: Source) -> Benchmark:
    """The same benchmark by CircularEval: every rotation of its options is asked, and all must be right.

    A benchmark whose file holds the rotations already is asked as it is; `whole` is that file, of which
    the benchmark may have a selection.
    """
    from eyechart.circular import rotate_source, rotate_source_unless_rotated

    source = _sound(benchmark.source)
    turned = rotate_source_unless_rotated(source, whole) if benchmark.circular else rotate_source(source)
    return replace(benchmark, source=turned, circular="headline")


def select_questions(benchmark: Benchmark, options: Options) -> Benchmark:
    """The same benchmark with some of its questions; of a question with rotations, all or none."""
    if not options.get_selection():
        return benchmark
    from eyechart.data.source import ChangedSource, select, select_questions

    is_circular = benchmark.circular == "headline" or (benchmark.circular and options.circular)
    choose = select_questions if is_circular else select

    def chosen(samples: Iterable[Sample]) -> Iterator[Sample]:
        return choose(samples, limit=options.limit, ids=options.ids or None, where=options.where or None)

    return replace(benchmark, source=ChangedSource(_sound(benchmark.source), chosen))


def _sound(source: Source) -> Source:
    """Its samples, looked at before we choose among them or change them."""
    from eyechart.data.source import ChangedSource

    return ChangedSource(source, check_samples)


# -- A user's own file of image questions, asked and scored by our defaults.
#
# Multiple choice is read by our own reader of choices; open questions by the kind of their gold: yes or
# no, a number, or text. Parity: none claimed; `--scorer choice-vlmevalkit` gives VLMEvalKit's verdicts.


def make_custom_benchmark(source: Source) -> Benchmark:
    """The benchmark that a file makes, with no class to write."""
    return Benchmark(
        name=source.name,
        source=source,
        prompt=build_custom_prompt,
        judged_scorer="judged",
        about=source.origin,
    )


# -- The look at the data before the first request: what stops a run, and what can move its number.
#
# Every way to start a run comes through here, and sees what ``eyechart data check`` sees. What the first rows
# show stops a run before anything is read; the rest is looked at while the samples are read into the journal,
# which they all are before the first request.

# Findings with which no run starts: the questions would be asked without what they are about, or by no rule
# that was meant for them.
_STOPS = ("other-benchmark", "unused-images", "unused-media")
# Findings that can move the number.
_TOLD = (
    *_STOPS, "no-image", "answer-not-an-option", "empty-question", "several-letters", "one-option",
    "unread-options", "unused-options", "one-option-column", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image", "rotations", "published-file", "remark",
)  # fmt: skip
_OF_PARITY = ("answer-case",)  # our own scorers read it as it is meant
_OF_IMAGES = (
    "no-image", "unused-images", "unused-media", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image",
)  # fmt: skip
_MAX_LINES = 8


def list_excused(options: Options) -> tuple[str, ...]:
    """The findings that are no trouble, because ``--input`` says that images may be missing."""
    return {"image": (), "any": ("no-image",), "none": _OF_IMAGES}[options.input]


def make_lint(benchmark: Benchmark, options: Options) -> Lint:
    """The look at a benchmark as it is asked."""
    from eyechart.data.lint import Lint

    lint = Lint(benchmark.source, needs_images=benchmark.needs_images, is_plain=options.read_as == PLAIN)
    if lint.file is not None and (said := _published(lint.file.path.stem, benchmark, options)):
        lint.add("published-file", 0, *said)
    return lint


def _published(stem: str, benchmark: Benchmark, options: Options) -> tuple[str, str] | None:
    """What a published file of that name is and how it is asked as that, where it is asked otherwise."""
    scorer = options.scorer or benchmark.scorer
    if (name := find_published_benchmark(stem)) is not None:
        return f"{stem} is {name}, scored by {benchmarks.get(name)().scorer}; here: {scorer}", f"--as {name}"
    rule = find_published_rule(stem)
    if rule is not None and rule.scorer != scorer:
        closing = f" and with {rule.closing!r} behind each question" if rule.closing else ""
        hint = f"--scorer {rule.scorer}" + (", and a --prompt-template" if rule.closing else "")
        return f"{rule.tool} scores {stem} by {rule.scorer}{closing}; here: {scorer}", hint
    return None


def refuse_blind_run(benchmark: Benchmark, options: Options) -> None:
    """Refuse what the first rows show already: images that would not be sent, another benchmark's rows."""
    lint = make_lint(benchmark, options)
    _refuse(lint, options, lint.found.values())


def watch_samples(plan: Plan, told: set[str] | None = None) -> Iterator[Sample]:
    """The samples of a run, looked at as they pass; the end of them is refused, or told what was found.

    What is in `told` is not said again.
    """
    lint = make_lint(plan.benchmark, plan.options)
    for sample in plan.benchmark.source:
        yield sample
        lint.check_sample(sample)  # once it was taken for a sample by whoever wanted it
    report = lint.finish()
    _refuse(lint, plan.options, report.findings)
    if plan.options.input == "image":
        _refuse_no_images(lint)
    codes = {*_TOLD, *(_OF_PARITY if plan.scorer.parity else ())} - {*list_excused(plan.options)}
    if (remarks := lint.found.get("remark")) is not None and told:
        remarks.examples = [remark for remark in remarks.examples if remark not in told]
    found = [one for one in report.findings if one.code in codes and (one.code != "remark" or one.examples)]
    text = _block(report.name, found)
    if text and text not in (told or ()):
        print_note(text)
        if told is not None:
            told.add(text)


def _refuse_no_images(lint: Lint) -> None:
    """Refuse a file or a benchmark of image questions of which no row has an image."""
    blind = lint.found.get("no-image")
    if blind is None or blind.count < lint.n_samples or not lint.expects_images:
        return
    columns = lint.file.detection.fields.get("image", ()) if lint.file else ()
    where = f" (column {columns[0]} is empty)" if columns else ""
    raise DataError(
        f"{lint.report.origin}: no row has an image{where}", hint="--input none asks without images"
    )


def _refuse(lint: Lint, options: Options, findings: Iterable[Finding]) -> None:
    for finding in findings:
        if finding.severity != "error" or finding.code not in _STOPS:
            continue
        if options.input == "none" and finding.code != "other-benchmark":
            continue
        what = join_names(finding.examples)
        raise DataError(f"{lint.report.origin}: {finding.about} ({what})", hint="; ".join(finding.hints))


def _block(name: str, findings: list[Finding]) -> str:
    if not findings:
        return ""
    lines = [f"{name}: found in the data, and can move the score:"]
    for finding in findings[:_MAX_LINES]:
        if finding.code == "remark":
            lines += [f"  {remark}" for remark in finding.examples]
            continue
        example = finding.examples[0] if finding.examples else ""
        if not example and finding.rows:
            example = f"row {finding.rows[0]}"
        hint = f" (hint: {finding.hints[0]})" if finding.hints else ""
        lines.append(f"  {finding.about}: {finding.count}; first: {example}{hint}")
    if len(findings) > _MAX_LINES:
        lines.append(f"  and {len(findings) - _MAX_LINES} more kinds: eyechart data check")
    return "\n".join(lines)
