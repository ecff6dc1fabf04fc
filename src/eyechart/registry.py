"""What installed packages announce to us: entry points, read from the very files that hold them.

`importlib.metadata` finds the same, but to import it and to have it look through every package takes as long
as a hundred requests, at every command. Where a place on the path is no folder (an archive), it is asked.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from eyechart.errors import EyechartError, UnknownName, UsageError
from eyechart.types import (
    Benchmark,
    Converter,
    Exporter,
    Judging,
    LogFormat,
    Model,
    ModelSettings,
    Reply,
    Sample,
    Score,
    Scorer,
    answer_calls,
)
from eyechart.validate import check_score

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


_FILE = "entry_points.txt"
_OURS = "eyechart."


class EntryPoint(NamedTuple):
    """A name, and the module to import for it."""

    name: str
    value: str

    @property
    def module(self) -> str:
        """What is imported, without the attribute or the extras that may stand behind it."""
        return re.split(r"[:\[]", self.value)[0].strip()

    def load(self) -> None:
        """Import the module, whose decorators record what was announced."""
        import_module(self.module)

    def read_source(self) -> str:
        """The text of the module, without importing it; empty where it is no file in a folder of the path."""
        path = self.module.replace(".", "/")
        for place in sys.path:
            for file in (f"{place or '.'}/{path}.py", f"{place or '.'}/{path}/__init__.py"):
                try:
                    with open(file, encoding="utf-8") as opened:  # noqa: PTH123 - as below
                        return opened.read()
                except (OSError, UnicodeDecodeError):
                    continue
        return ""


@lru_cache(maxsize=1)
def read_entry_points(path: tuple[str, ...]) -> Mapping[str, Mapping[str, EntryPoint]]:
    """All that is announced to us by packages on `path` (as in `sys.path`): by group, then by name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for text in _texts(path):
        for group, one in parse_entry_points(text):
            found.setdefault(group, {})[one.name] = one
    return found


def parse_entry_points(text: str) -> Iterator[tuple[str, EntryPoint]]:
    r"""Each announcement to us in an entry_points.txt, with its group.

    >>> list(parse_entry_points("[console_scripts]\nx = y:z\n\n[eyechart.models]\nmine = my.models\n"))
    [('eyechart.models', EntryPoint(name='mine', value='my.models'))]
    """
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group.startswith(_OURS) and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield group, EntryPoint(name.strip(), value.strip())


def _texts(path: tuple[str, ...]) -> Iterator[str]:
    """The files that mention us. Of a package that lies in two places, the first counts, as in an import."""
    seen: set[str] = set()
    for place in path:
        for package, folder in _packages(place or "."):
            if package in seen:
                continue
            seen.add(package)
            try:
                with open(f"{folder}/{_FILE}", "rb") as file:  # noqa: PTH123 - hundreds of them
                    data = file.read()
            except OSError:  # most packages announce nothing
                continue
            if _OURS.encode() in data:
                yield data.decode("utf-8", "replace")
        if os.path.isfile(place):  # noqa: PTH113 - the same
            yield from _texts_in_archive(place)


def _packages(place: str) -> Iterator[tuple[str, str]]:
    """Name and folder of the metadata of each package in a folder of the path."""
    try:
        names = os.listdir(place)  # noqa: PTH208 - the same
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            package = re.sub(r"[-_.]+", "-", name.rpartition(".")[0].partition("-")[0]).lower()
            yield package, f"{place}/{name}"


def _texts_in_archive(place: str) -> Iterator[str]:
    from importlib.metadata import distributions

    for package in distributions(path=[place]):
        if text := package.read_text(_FILE):
            yield text


# -- Names to parts: @benchmark, @scorer, @model, @exporter, @command, and plug-ins that load on first use.
#
# A decorator only records. Built-ins and plug-ins are announced the same way, by entry points
# (`eyechart.models`, `eyechart.scorers`, `eyechart.benchmarks`, `eyechart.exporters`, `eyechart.commands`,
# `eyechart.configurations`, `eyechart.checkups`), whose value is the module to import.

T = TypeVar("T")

_NEAR = 70.0  # of 100: a letter or two of a name are wrong, missing or too many
_BEGINNING = 85.0  # for a name that is the beginning of the other
_TELLING = 3  # letters, fewer of which begin too many names

ModelFactory = Callable[[str, ModelSettings], Model]
BenchmarkFactory = Callable[..., Benchmark]
ScoreFunction = Callable[[Reply, Sample], Score]
JudgingFunction = Callable[[Reply, Sample], Judging[Score]]


class Registry(Generic[T]):
    """One kind of part, by name."""

    def __init__(self, kind: str, *, see: str) -> None:
        self.kind = kind
        self.see = see
        self._parts: dict[str, T] = {}

    def record(self, name: str, part: T) -> T:
        """Remember `part`; a later one of the same name replaces it, so that a user can override ours."""
        self._parts[name] = part
        return part

    def get(self, name: str) -> T:
        """The part of that name, importing the module that announces it if need be."""
        if name not in self._parts and (entry := self._announced().get(name)) is not None:
            self._load(entry)
        if name not in self._parts:
            raise UnknownName(
                f"no {self.kind} named {name!r}", hint=suggest_name(name, self.names(), see=self.see)
            )
        return self._parts[name]

    def names(self) -> list[str]:
        """All names, recorded or announced."""
        return sorted({*self._parts, *self._announced()})

    def source_of(self, name: str) -> str:
        """The text of the module that announces the name, which is not imported."""
        entry = self._announced().get(name)
        return entry.read_source() if entry else ""

    def _load(self, entry: EntryPoint) -> None:
        before = dict(self._parts)
        load_entry(entry, self.kind)
        self._parts |= before  # a neighbour in that module must not undo what a user has put in its place
        if entry.name not in self._parts:
            raise EyechartError(
                f"{entry.value} announces the {self.kind} {entry.name!r} but does not record it",
                hint=f"its module must declare it with @{self.kind.replace(' ', '_')}({entry.name!r})",
            )

    def _announced(self) -> Mapping[str, EntryPoint]:
        return read_entry_points(tuple(sys.path)).get(f"eyechart.{self.kind.replace(' ', '_')}s", {})


def load_entry(entry: EntryPoint, kind: str) -> None:
    """Import the module of an entry point; whatever goes wrong in it becomes one clear error."""
    try:
        entry.load()
    except Exception as err:  # a plug-in's module: anything may go wrong in it
        raise EyechartError(
            f"the {kind} {entry.name!r} could not be loaded from {entry.value}: {type(err).__name__}: {err}",
            hint="install what it needs, or remove the package that announces it",
        ) from err


def find_near_names(name: str, known: list[str], *, at_most: int = 2) -> list[str]:
    """Known names that `name` is a slip or the beginning of.

    >>> find_near_names("mmbnch-dev-en", ["mmbench-dev-en", "o3-bench"])
    ['mmbench-dev-en']
    >>> find_near_names("--lim", ["--image-root", "--limit"])
    ['--limit']
    """
    from rapidfuzz import fuzz

    def folded(text: str) -> str:
        return text.strip("-").replace("_", "-").lower()

    def likeness(other: str) -> float:
        if "." in other and "." not in name:  # a file whose ending was left out
            other = other.rpartition(".")[0]
        longer, shorter = sorted((folded(name), folded(other)), key=len, reverse=True)
        starts = len(shorter) >= _TELLING and longer.startswith(shorter)
        return max(_BEGINNING if starts else 0.0, fuzz.ratio(longer, shorter))

    if len(folded(name)) < _TELLING - 1:
        return []
    scored = sorted(((likeness(one), -at) for at, one in enumerate(known)), reverse=True)
    return [known[-at] for score, at in scored[:at_most] if score >= _NEAR]


def suggest_name(name: str, known: list[str], *, otherwise: str = "", see: str = "", at_most: int = 2) -> str:
    """The hint for a name that is not known: those that look like it, or else what to do instead.

    >>> suggest_name("mmbnch", ["mmbench", "o3-bench"], see="eyechart data list")
    'did you mean mmbench? See: eyechart data list'
    >>> suggest_name("pope", ["mmbench"], otherwise="known: mmbench")
    'known: mmbench'
    """
    near = find_near_names(name, known, at_most=at_most)
    if not near:
        return otherwise or (f"see: {see}" if see else "")
    return f"did you mean {' or '.join(near)}?" + (f" See: {see}" if see else "")


def check_texts(content: Any, path: str | Path, names: Iterable[str], *, what: str) -> dict[str, str]:
    """Texts by name, if `content` is that and every name is one of `names`; `what` says what they name.

    >>> check_texts({"ending": "Go."}, "words.yaml", ["ending"], what="piece")
    {'ending': 'Go.'}
    """
    known = list(names)
    listed = f"the names are: {', '.join(known)}"
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not map names to texts", hint=listed)
    for name, text in content.items():
        if name not in known:
            hint = suggest_name(str(name), known, otherwise=listed)
            raise UsageError(f"{path}: no {what} is called {name!r}", hint=hint)
        if not isinstance(text, str):
            raise UsageError(f"{path}: {name!r} is {type(text).__name__}, not text", hint=listed)
    return content


@dataclass(frozen=True, slots=True)
class _NamedScorer:
    name: str
    version: str
    parity: str
    function: ScoreFunction

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return check_score(self.function(reply, sample))


@dataclass(frozen=True, slots=True)
class _NamedJudgedScorer:
    name: str
    version: str
    parity: str
    function: JudgingFunction
    needs_judge: bool

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        judging = self.function(reply, sample)
        if not isinstance(judging, Generator):
            raise TypeError(f"a judged scorer is a generator that returns a score; it gave {judging!r}")
        return check_score((yield from judging))

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return answer_calls(self.steps(reply, sample))


Execute = Callable[["Namespace"], int]  # runs a command, returns its exit code


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line; `add_arguments` declares its flags and returns what executes it."""

    name: str
    summary: str
    description: str
    examples: str
    add_arguments: Callable[[ArgumentParser], Execute]


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """Another tool's configuration, as a source of `eyechart run`."""

    is_mine: Callable[[Any], bool]  # the content of a file that has the key
    run: Callable[[str, Any, Namespace], int]  # path, content, the flags beside it; returns the exit code


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a pipeline adds to `eyechart model check`: flags, and questions of its own.

    `prepare` takes the flags and the run options; it returns the model that its own flags name, or none, and
    a function from the model to further cases (`model.checkup.Case`).
    """

    add_arguments: Callable[[ArgumentParser], None]
    prepare: Callable[[Namespace, Any], tuple[Model | None, Callable[[Model], list[Any]]]]


benchmarks: Registry[BenchmarkFactory] = Registry("benchmark", see="eyechart data list")
scorers: Registry[Scorer] = Registry("scorer", see="eyechart score --list")
models: Registry[ModelFactory] = Registry("model", see="eyechart run --help")
exporters: Registry[Exporter] = Registry("exporter", see="eyechart report --help")
converters: Registry[Converter] = Registry("converter", see="eyechart data convert --help")
log_formats: Registry[LogFormat] = Registry("log format", see="eyechart score --help")
commands: Registry[Command] = Registry("command", see="eyechart --help")
configurations: Registry[ConfigReader] = Registry("configuration", see="eyechart run --help")
checkups: Registry[Checkup] = Registry("checkup", see="eyechart model check --help")


_published: dict[str, str] = {}  # a data set of the hub or the stem of a file, to the benchmark that reads it
_columns: dict[str, tuple[frozenset[str], ...]] = {}  # a benchmark to columns that its files alone have
_rules: dict[str, PublishedRule] = {}
_layouts: dict[str, tuple[str, ...]] = {}  # a benchmark to the last parts of its file's path


def benchmark(
    name: str, *, hub: str = "", file: str = "", columns: Sequence[Collection[str]] = (), layout: str = ""
) -> Callable[[BenchmarkFactory], BenchmarkFactory]:
    """Declare a benchmark: the function returns its `Benchmark`, and its parameters are its own options.

    `hub` is the data set (``ORG/NAME``) and `file` the published file (without its suffix) that the benchmark
    reads. `layout` is the path of its file below a data folder (``Signs/test/metadata.jsonl``). A file that
    has all of one entry of `columns` is recognised as one of its files, and refused as a plain file.

    A package announces these names beside the benchmark, so that it is imported only for its own files:
    entry points of the group ``eyechart.published`` named ``hub:ORG/NAME``, ``file:STEM``, ``layout:PATH`` or
    ``columns:NAME+NAME``, whose value is the module.
    """
    for published in filter(None, (hub, file)):
        _published[published.lower()] = name
    _columns[name] = tuple(frozenset(one) for one in columns)
    if layout:
        _layouts[name] = tuple(layout.split("/"))
    return lambda factory: benchmarks.record(name, factory)


def find_published_benchmark(published: str, path: Path | None = None) -> str | None:
    """The benchmark that reads a data set of the hub, or a file of that name, as its own.

    `path` is that of the file, or of a folder, which may be part of a benchmark's layout.
    """
    wanted = published.lower()
    _load_announced("hub", lambda name: name.lower() == wanted)
    _load_announced("file", lambda name: name.lower() == wanted)
    found = _published.get(wanted)
    if found or path is None:
        return found
    whole = path.absolute()
    _load_announced("layout", lambda name: _leads_to(whole, tuple(name.split("/"))))
    laid_out = [name for name, parts in _layouts.items() if _leads_to(whole, parts)]
    return laid_out[0] if len(laid_out) == 1 else None  # a folder may hold the files of several


@dataclass(frozen=True, slots=True)
class PublishedRule:
    """How another tool asks and scores a published file that is no benchmark here."""

    tool: str
    scorer: str
    closing: str = ""  # a line behind the question


def record_published_rule(stem: str, rule: PublishedRule) -> None:
    """Remember how a tool treats the published file of that name."""
    _rules[stem] = rule


def find_published_rule(stem: str) -> PublishedRule | None:
    """The rule for a published file; its module is announced as ``file:STEM``, as a benchmark's is."""
    _load_announced("file", lambda name: name == stem)
    return _rules.get(stem)


def _leads_to(path: Path, parts: tuple[str, ...]) -> bool:
    """Whether a path is that of the file, or of a folder from which the rest of the parts lead to it."""
    return any(
        path.parts[-n:] == parts[:n] and path.joinpath(*parts[n:]).is_file() for n in range(1, len(parts) + 1)
    )


def find_benchmark_by_columns(columns: Collection[str]) -> tuple[str, frozenset[str]] | None:
    """The benchmark whose files have such columns, and the columns that identify it."""
    _load_announced("columns", lambda name: frozenset(name.split("+")).issubset(columns))
    return next(
        ((name, one) for name, several in _columns.items() for one in several if one.issubset(columns)), None
    )


def _load_announced(kind: str, is_wanted: Callable[[str], bool]) -> None:
    """Import the modules that announce something published which is wanted, and no others."""
    for name, entry in read_entry_points(tuple(sys.path)).get("eyechart.published", {}).items():
        found, _, rest = name.partition(":")
        if found == kind and is_wanted(rest):
            load_entry(entry, "benchmark")


def model(provider: str) -> Callable[[ModelFactory], ModelFactory]:
    """Declare a provider: ``provider/name`` calls the function with ``name`` and the run's settings.

    The function returns a `Model`. Settings are base_url, api_key, parameters, timeout_s and concurrency.
    """
    return lambda factory: models.record(provider, factory)


def log_format(name: str) -> Callable[[LogFormat], LogFormat]:
    """Declare a format of log files that ``score --replies`` reads.

    The function looks at a `FileSigns` and returns the reader for such a file, or None.
    """
    return lambda function: log_formats.record(name, function)


def command(
    name: str, summary: str, *, description: str = "", examples: str = ""
) -> Callable[[Callable[[ArgumentParser], Execute]], Callable[[ArgumentParser], Execute]]:
    """Declare a verb: the function adds arguments to its parser, and returns what executes it.

    Write name and summary as two texts in double quotes: `eyechart --help` reads them from the module's file,
    because importing every pipeline for a list would take longer than the list.
    """

    def record(add_arguments: Callable[[ArgumentParser], Execute]) -> Callable[[ArgumentParser], Execute]:
        commands.record(name, Command(name, summary, description or summary, examples, add_arguments))
        return add_arguments

    return record


def summarise_command(name: str, source: str = "") -> str:
    r"""The line of `eyechart --help` about a command, from the text of its module where it stands there.

    >>> summarise_command("hello", '@command("hello", "greet a model")\ndef add_arguments(parser): ...')
    'greet a model'
    """
    told = rf'@command\(\s*"{re.escape(name)}",\s*"([^"\\]+)"'
    if found := re.search(told, source or commands.source_of(name)):
        return found[1]
    try:
        return commands.get(name).summary
    except EyechartError:  # somebody's plug-in: the others are there all the same
        return "(cannot be loaded)"


_for_own_runs: set[str] = set()  # exporters whose files mean nothing for runs of other benchmarks


_submissions: set[str] = set()  # exporters whose first file is what an evaluation server takes


def exporter(
    name: str, *, only_own: bool = False, is_submission: bool = False
) -> Callable[[Exporter], Exporter]:
    """Declare a writer of a pipeline's own result files: a function of an `Export` that returns their paths.

    `only_own`: they can be made of runs of a benchmark that names this exporter, and of no other.
    `is_submission`: where answers are not public, the first of them is the file to submit for scoring.
    """
    if only_own:
        _for_own_runs.add(name)
    if is_submission:
        _submissions.add(name)
    return lambda function: exporters.record(name, function)


def has_submission(name: str) -> bool:
    """Whether the first file of an exporter is to be submitted for scoring."""
    exporters.get(name)
    return name in _submissions


def is_for_any_run(name: str) -> bool:
    """Whether the files of an exporter can be made of any run."""
    exporters.get(name)
    return name not in _for_own_runs


def scorer(name: str, *, version: str, parity: str = "") -> Callable[[ScoreFunction], ScoreFunction]:
    """Declare a scorer: a function of a `Reply` and a `Sample` that returns a `Score`, and nothing else.

    `version` is kept beside each score and must move whenever a score could; `parity` is ``"official"`` where
    the verdicts are those of a benchmark's own code. The function itself stays callable as it is.
    """

    def record(function: ScoreFunction) -> ScoreFunction:
        scorers.record(name, _NamedScorer(name, version, parity, function))
        return function

    return record


def judged_scorer(
    name: str, *, version: str, parity: str = "", needs_judge: bool = False
) -> Callable[[JudgingFunction], JudgingFunction]:
    """Declare a scorer that can ask a judge: a generator that yields `JudgeCall`s and returns a `Score`.

    It is sent the judge's reply at each `yield`; where there is none, `JudgeFailed` is raised there. With
    `needs_judge`, no run without a judge starts, because its numbers would mean nothing.
    `version` and `parity` are as in `scorer`.
    """

    def record(steps: JudgingFunction) -> JudgingFunction:
        scorers.record(name, _NamedJudgedScorer(name, version, parity, steps, needs_judge))
        return steps

    return record
