"""From the source that a user names to the benchmark that is asked, and the checks before the first request.

`find_benchmark` opens a file or a benchmark of the catalogue; `apply_selection` and `apply_circular` change
which questions are asked. `watch_samples` checks the data while it is loaded, as ``eyechart data check``
does: some findings stop the run, others are printed because they can change the score.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import msgspec

from eyechart.circular import rotate_source, rotate_source_unless_rotated
from eyechart.data.changed_rows import ChatReader
from eyechart.data.columns.lint import Finding, Lint
from eyechart.data.files.formats import UnknownFile, find_file
from eyechart.data.files.hub import is_hub, parse_hub
from eyechart.data.files.picture_folder import holds_images, open_folder
from eyechart.data.samples import ChangedSource, find_file_source, select, select_questions
from eyechart.data.source import SourceOptions, is_table, open_memory, open_source
from eyechart.errors import DataError, EyechartError, UnknownName, UsageError, adapt_hint, join_names
from eyechart.files import look_beside
from eyechart.models.specs import refuse_unknown
from eyechart.prompt.default import PROMPT_HINT, build_chat_prompt, build_custom_prompt, make_prompt
from eyechart.registry import (
    benchmarks,
    find_benchmark_names,
    find_hub_benchmarks,
    find_published_benchmark,
    scorers,
    suggest_name,
)
from eyechart.report.clusters import check_column
from eyechart.report.counting import check_groups
from eyechart.runs.inputs import IN_PLACE, InputCheck
from eyechart.runs.options import Options
from eyechart.runs.plugins import (
    find_python_benchmark,
    is_ours,
    name_scorer,
    split_benchmark_spec,
    try_part,
)
from eyechart.score.text import get_answers, list_accepted
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Sample, Source
from eyechart.validate import check_samples

if TYPE_CHECKING:
    from eyechart.runs.plan import Plan


PLAIN = "plain"  # --as plain: read as a user's own file, whatever its name

# Findings that stop a run: the questions would be asked without their images, or scored by the wrong rule.
_STOPS = ("other-benchmark", "unused-images", "unused-media")
# Findings that can change the score.
_TOLD = (
    *_STOPS, "no-image", "answer-not-an-option", "empty-question", "several-letters", "single-answer",
    "one-option",
    "unread-options", "unused-options", "one-option-column", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image", "rotations", "published-file", "remark",
)  # fmt: skip
# Findings that change only official scores: our own ignore case and blanks.
_OF_PARITY = ("answer-case", "answer-blanks", "missing-option")
_OF_IMAGES = (
    "no-image", "unused-images", "unused-media", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image",
)  # fmt: skip
_COUNT_PEOPLE = ("vqa-accuracy", "vqa-accuracy-lmms", "vqav2-lmms")  # score by how many others agree
_MAX_LINES = 8
_PEEK = 1000  # samples in which the columns of groups are looked for
_USUAL_GROUPS = Benchmark.__dataclass_fields__["group_by"].default


def find_benchmark(source: Any, options: Options) -> Benchmark:
    """The benchmark of the catalogue that `source` names, or one made from a file or a `Source`.

    A source may also be a function that declares a benchmark, ``bench.py:name``, a DataFrame, or a list.
    """
    if callable(source) and not isinstance(source, Benchmark):
        return _make_by_function(source, options)
    if isinstance(source, list | tuple) or is_table(source):
        return make_custom_benchmark(_open_memory(source, options))
    if isinstance(source, str | Path) and (spec := split_benchmark_spec(str(source))) is not None:
        found = find_python_benchmark(*spec)
        if isinstance(found, Benchmark):
            return find_benchmark(found, options)
        return _make_by_function(found, options)
    if not isinstance(source, str | Path):
        refuse_reading(options, "the source is already open", "set it when the source is created")
        if isinstance(source, Benchmark):
            return complete_benchmark(source)
        if not (hasattr(source, "__iter__") and hasattr(source, "name") and hasattr(source, "origin")):
            raise UsageError(
                f"{type(source).__name__} is not a source of samples",
                hint="give a path, a name from the catalogue, a Benchmark, what ec.load returns, or rows: a "
                "DataFrame, a list of dicts or of Sample",
            )
        return make_custom_benchmark(source, options.name)
    if not str(source).strip():  # as a path it would be the current folder
        raise UsageError("the source is an empty text", hint="give a path, or a name from eyechart data list")
    source = source if options.read_as else resolve_name(source)
    is_name = str(source) in benchmarks.names() and not Path(source).exists()
    read_as = options.read_as or (None if is_name else _find_published(source))
    if read_as and read_as not in (PLAIN, *benchmarks.names()):
        hint = suggest_name(read_as, [PLAIN, *benchmarks.names()], see="eyechart data list")
        raise UnknownName(f"no benchmark named {read_as!r}", hint=hint)
    if read_as and read_as != PLAIN:
        _refuse_twice(options, "file", f"the source is already {source}")
        settings = _merge_settings(read_as, options)
        if not options.read_as and _is_catalogue_file(source):
            usual, stem = make_benchmark(read_as, settings), Path(source).stem
            names = (usual.card.file, *usual.card.files)
            if stem in names or find_published_benchmark(stem) != read_as:
                return usual
        return make_benchmark(read_as, {**settings, "file": str(source)})
    if is_name and not read_as:
        made = make_benchmark(str(source), _merge_settings(str(source), options))
        return made if is_ours(benchmarks.get(str(source))) else complete_benchmark(made)
    if options.settings:
        raise UsageError(
            f"{source} is a plain file, which has no settings ({', '.join(options.settings)})",
            hint="name the benchmark that the file belongs to with --as NAME",
        )
    return make_custom_benchmark(_open_file(source, options), options.name)


def refuse_reading(
    options: Options, why: str, hint: str = "leave it out", *, but: Collection[str] = ()
) -> None:
    """Refuse options on how a file is read, but some, where none is read."""
    if given := [name for name in options.get_reading() if name not in but]:
        raise UsageError(f"{', '.join(given)}: {why}", hint=hint)


def resolve_name(source: str | Path) -> str | Path:
    """The name of the benchmark that is meant by another spelling or another kit's name; else the source.

    A file of that name comes first.
    """
    if str(source) in benchmarks.names():
        return source
    try:
        find_file(source)
    except UnknownFile:
        found = find_benchmark_names(str(source))
        if len(found) == 1:
            if str(source).casefold().replace("_", "-") != found[0]:
                print_note(f"{source} is {found[0]} in the catalogue: eyechart data show {found[0]}")
            return found[0]
    except EyechartError:  # said again where the file is opened
        pass
    return source


def _make_by_function(function: Callable[..., Any], options: Options) -> Benchmark:
    """The benchmark of a function that declares one, decorated or not."""
    name = next((one for one, factory in benchmarks.recorded().items() if factory is function), None)
    if name is not None:
        return complete_benchmark(make_benchmark(name, _merge_settings(name, options)))
    if not inspect.isroutine(function):
        raise UsageError(
            f"{type(function).__name__} is not a source of samples",
            hint="give a path, rows, or a function that returns a Benchmark",
        )
    return complete_benchmark(call_factory(function.__name__, function, options.settings))


def complete_benchmark(benchmark: Benchmark) -> Benchmark:
    """A user's benchmark with its scorer by name, and its prompt as a function that returns messages.

    The prompt is tried on the first sample, and groups that no sample has are refused: but for a benchmark of
    the catalogue, of which a file of one's own need not have all columns.
    """
    if not benchmark.name:
        raise UsageError("the benchmark has no name", hint='ec.Benchmark(name="mine", ...)')
    is_published = bool(benchmark.card.group)
    own_groups = () if is_published or benchmark.group_by == _USUAL_GROUPS else benchmark.group_by
    peeked = list(islice(benchmark.source, _PEEK if own_groups else 1))
    if peeked and not is_ours(benchmark.prompt):
        from eyechart.prompt.template import list_known_names

        benchmark = replace(benchmark, prompt=make_prompt(benchmark.prompt, list_known_names(peeked[0])))
        try_part("prompt", PROMPT_HINT, lambda: benchmark.prompt(peeked[0].without_golds()))
    if 0 < len(peeked) < _PEEK:
        check_groups(own_groups, peeked, what=f"{benchmark.name}: group_by has a column that no sample has:")
    return replace(benchmark, scorer=name_scorer(benchmark.scorer))


def _open_memory(rows: Any, options: Options) -> Source:
    used = ("fields", "image_root", "first_option", "schema")
    refuse_reading(options, "the rows are in memory, not in a file", but=used)
    chosen = {name: getattr(options, name) for name in (*used, "allow_urls")}
    return open_memory(rows, SourceOptions(**chosen), options.name)


def _merge_settings(name: str, options: Options) -> dict[str, Any]:
    """The benchmark's settings, including the run's reading options that it accepts; others are refused."""
    apart = ("read_as", "settings")
    reading = {one: value for one, value in options.get_reading().items() if one not in apart}
    for one in reading.keys() - inspect.signature(benchmarks.get(name)).parameters.keys():
        raise UsageError(
            f"{name} has its own file format and does not take {one}",
            hint=f"eyechart data show {name} lists its options; --as plain reads a file of your own",
        )
    for one in reading:
        _refuse_twice(options, one, f"--{one.replace('_', '-')} sets it too")
    return {**reading, **options.settings}


def _refuse_twice(options: Options, name: str, why: str) -> None:
    if name in options.settings:
        raise UsageError(f"--set {name}={options.settings[name]}: {why}", hint="leave one of them out")


def _is_catalogue_file(source: str | Path) -> bool:
    """Whether a file is the one that the catalogue would find by name: both then give the same run."""
    if is_hub(source) or Path(source).is_dir():
        return False
    with contextlib.suppress(EyechartError, OSError):
        return find_file(Path(source).stem).path.samefile(find_file(source).path)
    return False


def _find_published(source: str | Path) -> str | None:
    """The catalogue's benchmark with this hub id or published file name, if there is one."""
    if is_hub(source):
        spec = parse_hub(str(source))
        found = find_hub_benchmarks(spec.place, spec.part)
        if len(found) > 1:
            raise UsageError(
                f"{source} is the data of several benchmarks: {', '.join(found)}",
                hint=f"run one by name: eyechart run {found[0]}, or add --as NAME",
            )
        return found[0] if found else None
    return find_published_benchmark(Path(source).stem, Path(source))


def make_benchmark(name: str, settings: Mapping[str, Any]) -> Benchmark:
    """A benchmark of the catalogue with these settings.

    The parameters of the benchmark's function are its settings; their annotations say which values they take.
    """
    return call_factory(name, benchmarks.get(name), settings)


def call_factory(name: str, factory: Callable[..., Benchmark], settings: Mapping[str, Any]) -> Benchmark:
    """Make a benchmark with settings, which are the parameters of its function."""
    known = inspect.signature(factory, eval_str=True).parameters
    if "file" in settings and "file" not in known:
        raise UsageError(f"{name} cannot be read from a file", hint=f"run it by name: eyechart run {name}")
    refuse_unknown(set(settings), set(known), who=name)
    values = {}
    for option, value in settings.items():
        try:
            values[option] = msgspec.convert(
                value, known[option].annotation, strict=False, dec_hook=lambda kind, text: kind(text)
            )
        except (msgspec.ValidationError, TypeError, ValueError) as err:
            choices = _list_choices(known[option].annotation)
            listed = f"one of: {', '.join(choices)}"
            hint = suggest_name(str(value), choices, otherwise=listed) if choices else ""
            raise UsageError(f"{name}: {option}={value!r} is not valid: {err}", hint=hint) from err
    try:
        with look_beside(getattr(getattr(factory, "__code__", None), "co_filename", "")):
            made = factory(**values)
    except EyechartError:
        raise
    except Exception as err:  # a plug-in may raise anything
        raise UsageError(f"the benchmark {name!r} cannot be created: {type(err).__name__}: {err}") from err
    if not isinstance(made, Benchmark):
        raise UsageError(
            f"the benchmark {name!r} cannot be created: its function returns {type(made).__name__}",
            hint="it must return an eyechart.Benchmark",
        )
    return made if made.name else replace(made, name=name)


def list_setting_choices(name: str, setting: str) -> list[str]:
    """The values that a benchmark's setting may have; empty where it takes any."""
    if name not in benchmarks.names():
        return []
    parameter = inspect.signature(benchmarks.get(name), eval_str=True).parameters.get(setting)
    return _list_choices(parameter.annotation) if parameter is not None else []


def _list_choices(kind: Any) -> list[str]:
    """The values of a `Literal`, also of an optional one."""
    chosen = next((one for one in (kind, *get_args(kind)) if get_origin(one) is Literal), None)
    return [str(one) for one in get_args(chosen)]


def list_settings(name: str) -> dict[str, str]:
    """A benchmark's settings with their defaults; empty for one that is not in the catalogue."""
    if name not in benchmarks.names():
        return {}
    known = inspect.signature(benchmarks.get(name)).parameters
    return {option: "" if p.default is None else str(p.default) for option, p in known.items()}


def _open_file(source: str | Path, options: Options) -> Source:
    path = Path(source)
    is_asked = options.ask is not None and path.exists()
    if is_asked and (options.answers is not None or _is_picture_folder(path)):
        refuse_reading(options, f"{path} is a folder of images, not a table", but=("ask", "answers"))
        return open_folder(path, options.ask or "", options.answers)
    # A file that is read without any benchmark's rules and scored by an official scorer, as by a task.
    scorer = options.scorer or ""
    is_official = options.read_as == PLAIN and scorer in scorers.names() and bool(scorers.get(scorer).parity)
    names = SourceOptions.__dataclass_fields__.keys() & Options.__dataclass_fields__.keys()
    chosen = {name: getattr(options, name) for name in names} | {"cells": options.cells or "text"}
    return open_source(source, SourceOptions(**chosen, keeps_golds=is_official))


def _is_picture_folder(path: Path) -> bool:
    """Whether a path is a folder of images without a data file, or an image."""
    if path.is_dir():
        with contextlib.suppress(DataError):
            find_file(path)
            return False
    return holds_images(path)


def make_custom_benchmark(source: Source, name: str | None = None) -> Benchmark:
    """A benchmark made from a user's own file.

    The scorer reads multiple choice with eyechart's own reader, and open questions by the kind of their gold:
    yes or no, a number, or text. No parity is claimed; `--scorer choice-vlmevalkit` gives VLMEvalKit's
    verdicts.
    """
    file = find_file_source(source)
    is_chat = file is not None and isinstance(file.reader, ChatReader)
    return Benchmark(
        name=name or source.name,
        source=source,
        prompt=build_chat_prompt if is_chat else build_custom_prompt,
        judged_scorer="judged",
        about=source.origin,
    )


def apply_selection(benchmark: Benchmark, options: Options) -> Benchmark:
    """The same benchmark with the selected questions; rotations of a question stay together."""
    if not options.get_selection():
        return benchmark
    is_circular = benchmark.circular == "headline" or (benchmark.circular and options.circular)
    choose = select_questions if is_circular else select
    limit, ids, where = options.limit, options.ids or None, options.where or None
    chosen = partial(choose, limit=limit, ids=ids, where=where)
    return replace(benchmark, source=ChangedSource(_checked(benchmark.source), chosen))


def apply_circular(benchmark: Benchmark, whole: Source) -> Benchmark:
    """The same benchmark by CircularEval: every rotation of the options is asked, and all must be right.

    A file that already holds the rotations is asked as it is; `whole` is that file before any selection.
    """
    source = _checked(benchmark.source)
    turned = rotate_source_unless_rotated(source, whole) if benchmark.circular else rotate_source(source)
    return replace(benchmark, source=turned, circular="headline")


def _checked(source: Source) -> Source:
    """The same samples, checked before they are selected or changed."""
    return ChangedSource(source, check_samples)


# -- Checks before the first request


def list_excused(options: Options) -> tuple[str, ...]:
    """The codes of findings that do not matter because ``--input`` allows missing images."""
    return {"any": ("no-image",), "none": _OF_IMAGES}.get(options.input, ())


def make_lint(benchmark: Benchmark, options: Options) -> Lint:
    """The checks of a benchmark as this run asks it."""
    lint = Lint(benchmark.source, needs_images=benchmark.needs_images, is_plain=options.read_as == PLAIN)
    stem = lint.file.path.stem if lint.file is not None else ""
    if (name := find_published_benchmark(stem)) is not None and name != benchmark.name:
        theirs, ours = benchmarks.get(name)().scorer, options.scorer or benchmark.scorer
        lint.add("published-file", 0, f"{stem} is {name}, scored by {theirs}; here: {ours}", f"--as {name}")
    return lint


def refuse_blind_run(benchmark: Benchmark, options: Options) -> None:
    """Refuse, from the first rows, images that would not be sent and rows of another benchmark."""
    lint = make_lint(benchmark, options)
    _refuse(lint, options, lint.found.values())


def watch_samples(plan: Plan, notes_shown: set[str] | None = None) -> Iterator[Sample]:
    """Yield the samples of a run and check each; at the end, stop the run or print what was found.

    Findings in `notes_shown` were printed before and are not repeated; new ones are added to it.
    """
    lint = make_lint(plan.benchmark, plan.options)
    check = InputCheck(plan) if plan.options.input in IN_PLACE else None
    counts_people = plan.scorer.name in _COUNT_PEOPLE
    for sample in check_column(plan.benchmark.source, plan.options.cluster):
        yield sample
        lint.check_sample(sample)  # after the consumer accepted it as a sample
        if counts_people and len(list_accepted(get_answers(sample))) == 1:
            lint.add("single-answer", sample.row, hint="--scorer default accepts the answer itself")
        if check is not None:
            check.add(sample)
    report = lint.finish()
    _refuse(lint, plan.options, report.findings)
    if not lint.n_samples:
        raise DataError(f"{report.origin}: contains no questions", hint="is this the right file?")
    if plan.options.input == "image":
        _refuse_no_images(lint)
    if check is not None:
        check.finish()
    codes = {*_TOLD, *(_OF_PARITY if plan.scorer.parity else ())} - {*list_excused(plan.options)}
    if (remarks := lint.found.get("remark")) is not None and notes_shown:
        remarks.examples = [remark for remark in remarks.examples if remark not in notes_shown]
    found = [one for one in report.findings if one.code in codes and (one.code != "remark" or one.examples)]
    decided = lint.file.detection.remarks if lint.file else ()  # without the user
    heading = f"{lint.file.path.name} is read like this:" if lint.file else ""
    notes = ["\n  ".join((heading, *decided)) if decided else "", _format_findings(report.name, found)]
    for note in notes:
        if note and note not in (notes_shown or ()):
            print_note(note)
            if notes_shown is not None:
                notes_shown.add(note)


def _refuse_no_images(lint: Lint) -> None:
    """Refuse image questions if not one row has an image."""
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


def _format_findings(name: str, findings: list[Finding]) -> str:
    if not findings:
        return ""
    lines = [f"{name}: findings in the data that can change the score:"]
    for finding in findings[:_MAX_LINES]:
        if finding.code == "remark":
            lines += [f"  {remark}" for remark in finding.examples]
            continue
        example = finding.examples[0] if finding.examples else ""
        if not example and finding.rows:
            example = f"row {finding.rows[0]}"
        advice = adapt_hint(finding.hints[0]) if finding.hints else ""
        hint = f" (hint: {advice})" if advice else ""
        lines.append(f"  {finding.about}: {finding.count}; first: {example}{hint}")
    if len(findings) > _MAX_LINES:
        lines.append(f"  and {len(findings) - _MAX_LINES} more kinds: eyechart data check")
    return "\n".join(lines)
