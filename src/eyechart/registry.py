"""Registries: benchmarks, scorers, models and other parts by name.

A decorator records a part when its module is imported, and a module is imported when its part is first used.
Which module has a built-in is in ``names.txt``, written by ``make catalogue``; plug-ins name theirs in entry
points (groups ``eyechart.benchmarks``, ``eyechart.scorers``, ``eyechart.models`` and so on).
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
    Aggregate,
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
from eyechart.validate import apply_scorer, check_score

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


T = TypeVar("T")
ModelFactory = Callable[[str, ModelSettings], Model]
BenchmarkFactory = Callable[..., Benchmark]
# Of a reply and a sample, or of a reply's text and a gold.
ScoreFunction = TypeVar("ScoreFunction", bound=Callable[..., Any])
JudgingFunction = Callable[[Reply, Sample], Judging[Score]]
Execute = Callable[["Namespace"], int]  # runs a command, returns its exit code


class Registry(Generic[T]):
    """Parts of one kind, by name. `see` is the command that lists them."""

    def __init__(self, kind: str, *, see: str) -> None:
        self.kind = kind
        self.see = see
        self.group = f"eyechart.{kind.replace(' ', '_')}s"  # of entry points
        self._parts: dict[str, T] = {}

    def record(self, name: str, part: T) -> T:
        """Record `part`. A later part of the same name replaces it, so that users can override built-ins."""
        self._parts[name] = part
        return part

    def get(self, name: str) -> T:
        """The part of that name; its module is imported if necessary."""
        if name not in self._parts and (entry := self._announced().get(name)) is not None:
            self._load(entry)
        if name not in self._parts:
            raise UnknownName(
                f"no {self.kind} named {name!r}",
                hint=suggest_name(name, self.names(), see=self.see, at_most=4),
            )
        return self._parts[name]

    def recorded(self) -> Mapping[str, T]:
        """The parts that are loaded already."""
        return self._parts

    def names(self) -> list[str]:
        return sorted({*self._parts, *self._announced()})

    def source_of(self, name: str) -> str:
        """The source text of the module that announces the name, without importing it."""
        entry = self._announced().get(name)
        return entry.read_source() if entry else ""

    def is_built_in(self, name: str) -> bool:
        """Whether the name is announced by a module of this package."""
        entry = self._announced().get(name)
        return entry is not None and entry.module.startswith(_OURS)

    def _load(self, entry: EntryPoint) -> None:
        before = dict(self._parts)
        load_entry(entry, self.kind)
        self._parts |= before  # other parts in that module must not undo a user's overrides
        if entry.name not in self._parts:
            raise EyechartError(
                f"{entry.value} announces the {self.kind} {entry.name!r} but does not record it",
                hint=f"its module must declare it with @{self.kind.replace(' ', '_')}({entry.name!r})",
            )

    def _announced(self) -> Mapping[str, EntryPoint]:
        return read_announced(tuple(sys.path)).get(self.group, {})


def load_entry(entry: EntryPoint, kind: str) -> None:
    """Import the module of an entry point; any exception in it becomes one error."""
    try:
        entry.load()
    except Exception as err:  # a plug-in may raise anything
        raise EyechartError(
            f"the {kind} {entry.name!r} could not be loaded from {entry.value}: {type(err).__name__}: {err}",
            hint="install its dependencies, or uninstall the package that provides it",
        ) from err


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line; `add_arguments` declares its flags and returns what executes it."""

    name: str
    summary: str
    description: str
    examples: str
    add_arguments: Callable[[ArgumentParser], Execute]


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """Reads another tool's configuration, given as the source of `eyechart run`."""

    is_mine: Callable[[Any], bool]  # takes the content of a file that has the key
    run: Callable[[str, Any, Namespace], int]  # path, content and flags; returns the exit code


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a pipeline adds to `eyechart model check`: flags, and questions of its own.

    `prepare` takes the flags and the run options; it returns the model that its own flags name, or none, and
    a function from the model to further cases (`model.checkup.Case`).
    """

    add_arguments: Callable[[ArgumentParser], None]
    prepare: Callable[[Namespace, Any], tuple[Model | None, Callable[[Model], list[Any]]]]


class JudgePrompt(NamedTuple):
    """The prompt of a stage of judging, with the names that its scorer fills in; and whose wording it is."""

    text: str
    by: str = "eyechart"


benchmarks: Registry[BenchmarkFactory] = Registry("benchmark", see="eyechart data list")
scorers: Registry[Scorer] = Registry("scorer", see="eyechart score --list")
aggregates: Registry[Aggregate] = Registry("aggregate", see="eyechart docs metrics")
judge_prompts: Registry[JudgePrompt] = Registry("judge prompt", see="eyechart docs judges")
models: Registry[ModelFactory] = Registry("model", see="eyechart run --help")
exporters: Registry[Exporter] = Registry("exporter", see="eyechart report --help")
converters: Registry[Converter] = Registry("converter", see="eyechart data convert --help")
log_formats: Registry[LogFormat] = Registry("log format", see="eyechart score --help")
commands: Registry[Command] = Registry("command", see="eyechart --help")
configurations: Registry[ConfigReader] = Registry("configuration", see="eyechart run --help")
callbacks: Registry[Callable[[], object]] = Registry("callback", see="eyechart docs extending")
# Import names of other kits, and what provides them to a user's file where the kit is not installed.
packages: Registry[Callable[[], object]] = Registry("package", see="eyechart exec --help")
checkups: Registry[Checkup] = Registry("checkup", see="eyechart model check --help")

# -- decorators


def model(provider: str) -> Callable[[ModelFactory], ModelFactory]:
    """Declare a provider: ``provider/name`` calls the function with ``name`` and the run's settings.

    The function returns a `Model`. Settings are base_url, api_key, parameters, timeout_s and concurrency.
    """
    return lambda factory: models.record(provider, factory)


def scorer(
    name: str, *, version: str, parity: str = "", rules: str = "", cut: Callable[[str], str] | None = None
) -> Callable[[ScoreFunction], ScoreFunction]:
    """Declare a scorer: a pure function of a `Reply` and a `Sample`, or of a reply's text and a gold.

    It returns a `Score`, a truth value or a number from 0 to 1 (`eyechart.validate.apply_scorer`).

    `version` is stored with each score and must change whenever a score could change; `parity` is
    ``"official"`` if the scores equal those of the benchmark's own code, and `rules` names the release or
    commit of that code if its rules changed over time. An official scorer is given the text of a reply as it
    came, with its thoughts; `cut` is what the official program does to it first. The function stays callable.
    """

    def record(function: ScoreFunction) -> ScoreFunction:
        scorers.record(name, NamedScorer(name, version, parity, function, rules, cut))
        return function

    return record


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A function with a name and a version as a scorer."""

    name: str
    version: str
    parity: str
    function: Callable[..., Any]
    rules: str = ""
    cut: Callable[[str], str] | None = None

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return apply_scorer(self.function, reply, sample, route=self.name)


def record_aggregate(part: Aggregate) -> Aggregate:
    """Declare an aggregate, for `Benchmark.aggregate`."""
    return aggregates.record(part.name, part)


def judged_scorer(
    name: str,
    *,
    version: str,
    parity: str = "",
    rules: str = "",
    needs_judge: bool = False,
    cut: Callable[[str], str] | None = None,
) -> Callable[[JudgingFunction], JudgingFunction]:
    """Declare a scorer that can ask a judge: a generator that yields `JudgeCall`s and returns a `Score`.

    It is sent the judge's reply at each `yield`; if the judge fails, `JudgeFailed` is raised there. With
    `needs_judge`, a run without a judge is refused.
    `version`, `parity`, `rules` and `cut` are as in `scorer`.
    """

    def record(steps: JudgingFunction) -> JudgingFunction:
        scorers.record(name, _NamedJudgedScorer(name, version, parity, steps, rules, cut, needs_judge))
        return steps

    return record


def judge_prompt(stage: str, text: str, *, by: str = "eyechart") -> None:
    """Record the prompt of a `JudgeCall.stage`, so that ``--judge-prompts`` can replace it."""
    judge_prompts.record(stage, JudgePrompt(text, by))


@dataclass(frozen=True, slots=True)
class _NamedJudgedScorer(NamedScorer):
    needs_judge: bool = False

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        judging = self.function(reply, sample)
        if not isinstance(judging, Generator):
            raise TypeError(f"a judged scorer is a generator that returns a score; it gave {judging!r}")
        return check_score((yield from judging))

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return answer_calls(self.steps(reply, sample))


_for_own_runs: set[str] = set()  # exporters that apply only to benchmarks that name them
_submissions: set[str] = set()  # exporters whose first file is submitted to an evaluation server


def exporter(
    name: str, *, only_own: bool = False, is_submission: bool = False
) -> Callable[[Exporter], Exporter]:
    """Declare a writer of a pipeline's own result files: a function of an `Export` that returns their paths.

    `only_own`: only for runs of a benchmark that names this exporter.
    `is_submission`: if the answers are not public, the first file is the one to submit for scoring.
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


def callback(name: str) -> Callable[[type[T]], type[T]]:
    """Declare a class that is told of runs and comparisons: ``--track name`` (`eyechart docs extending`)."""

    def record(made: type[T]) -> type[T]:
        callbacks.record(name, made)
        return made

    return record


def log_format(name: str) -> Callable[[LogFormat], LogFormat]:
    """Declare a format of log files that ``score --replies`` reads.

    The function looks at a `FileSigns` and returns the reader for such a file, or None.
    """
    return lambda function: log_formats.record(name, function)


def command(
    name: str, summary: str, description: str = "", *, examples: str = ""
) -> Callable[[Callable[[ArgumentParser], Execute]], Callable[[ArgumentParser], Execute]]:
    """Declare a command: the function adds arguments to its parser, and returns what executes it.

    Write name and summary as two string literals in double quotes: `eyechart --help` reads them from the
    module's file, because importing every pipeline would be slow. The description may end with a section
    of `examples:`.
    """

    def record(add_arguments: Callable[[ArgumentParser], Execute]) -> Callable[[ArgumentParser], Execute]:
        commands.record(name, Command(name, summary, description or summary, examples, add_arguments))
        return add_arguments

    return record


def summarise_command(name: str, source: str = "") -> str:
    r"""The summary of a command in `eyechart --help`, read from the text of its module if possible.

    >>> summarise_command("hello", '@command("hello", "greet a model")\ndef add_arguments(parser): ...')
    'greet a model'
    """
    pattern = rf'@command\(\s*"{re.escape(name)}",\s*"([^"\\]+)"'
    if found := re.search(pattern, source or commands.source_of(name)):
        return found[1]
    try:
        return commands.get(name).summary
    except EyechartError:  # a broken plug-in does not hide the others
        return "(cannot be loaded)"


# -- benchmarks and the files they are published as


_files: dict[str, str] = {}  # the stem of a published file to its benchmark
_hubs: dict[str, dict[str, list[str]]] = {}  # a hub data set to its parts and their benchmarks
_columns: dict[str, tuple[frozenset[str], ...]] = {}  # a benchmark to columns that only its files have
_aliases: dict[str, str] = {}  # a name in another kit to its benchmark
_layouts: dict[str, tuple[str, ...]] = {}  # a benchmark to the last parts of its file's path


def benchmark(
    name: str,
    *,
    hub: str | Sequence[str] = (),
    file: str | Sequence[str] = (),
    columns: Sequence[Collection[str]] = (),
    layout: str = "",
    aliases: Sequence[str] = (),
) -> Callable[[BenchmarkFactory], BenchmarkFactory]:
    """Declare a benchmark: the function returns a `Benchmark`; its parameters are the benchmark's options.

    `hub` is the data set (``ORG/NAME``, or one part of it: ``ORG/NAME:config/split``) and `file` the
    published file (without its suffix) that the benchmark reads; each may be several. `layout` is the path of
    its file below a data folder (``Signs/test/metadata.jsonl``). A file that has all of one entry of
    `columns` is recognised as one of its files, and refused as a plain file. `aliases` are its names in other
    kits that differ by more than case, hyphens and underscores.

    A package also announces these as entry points of the group ``eyechart.published``, so that it is imported
    only for its own files: ``hub:ORG/NAME``, ``file:STEM``, ``layout:PATH`` or ``columns:NAME+NAME``, whose
    value is the module; and aliases in the group ``eyechart.aliases``, whose value is the benchmark.
    """
    for one in filter(None, [file] if isinstance(file, str) else file):
        _files[one] = name
    for one in filter(None, [hub] if isinstance(hub, str) else hub):
        place, _, part = one.partition(":")
        names = _hubs.setdefault(place, {}).setdefault(part, [])
        names += [name] if name not in names else []
    _columns[name] = tuple(frozenset(one) for one in columns)
    if layout:
        _layouts[name] = tuple(layout.split("/"))
    _aliases.update(dict.fromkeys(aliases, name))
    return lambda factory: benchmarks.record(name, factory)


def find_published_benchmark(published: str, path: Path | None = None) -> str | None:
    """The benchmark that published a file of that name.

    `path` is the file, or a folder that may be part of a benchmark's layout.
    """
    if path is not None:  # first: a folder may be called as another benchmark's file
        whole = path.absolute()
        _load_announced("layout", lambda name: _leads_to(whole, tuple(name.split("/"))))
        laid_out = [name for name, parts in _layouts.items() if _leads_to(whole, parts)]
        if len(laid_out) == 1:  # a folder may hold the files of several
            return laid_out[0]
    _load_announced("file", lambda name: name == published)
    return _files.get(published)


def find_benchmark_names(given: str) -> list[str]:
    """The benchmarks that a name may stand for: its own, a published file's, or that of another kit's task.

    Case, hyphens and underscores do not matter where the name is none of these as it is.

    >>> find_benchmark_names("MMStar"), find_benchmark_names("mmbench_en_dev"), find_benchmark_names("mmmu")
    (['mmstar'], ['mmbench-dev-en'], [])
    >>> find_benchmark_names("HRBench4K"), find_benchmark_names("hrbench4k")
    (['hr-bench-4k-vlmevalkit'], ['hr-bench-4k', 'hr-bench-4k-vlmevalkit'])
    """
    announced = read_announced(tuple(sys.path))
    aliases = {name: entry.value for name, entry in announced.get("eyechart.aliases", {}).items()} | _aliases
    published = {name[5:] for name in announced.get("eyechart.published", {}) if name.startswith("file:")}
    if given in benchmarks.names():
        return [given]
    if exact := find_published_benchmark(given) or aliases.get(given):
        return [exact]
    if (plain := given.casefold().replace("_", "-")) in benchmarks.names():
        return [plain]
    wanted = _fold(given)
    found = {name for name in benchmarks.names() if _fold(name) == wanted}
    found |= {find_published_benchmark(stem) or "" for stem in published | {*_files} if _fold(stem) == wanted}
    return sorted(found | {name for alias, name in aliases.items() if _fold(alias) == wanted})


def _fold(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).casefold()


def find_hub_benchmarks(place: str, part: str = "") -> list[str]:
    """The benchmarks that read a hub data set, or this part (``config/split``, a config or a split) of it.

    Without a part, those that declare the whole data set go before those that declare parts of it.
    """
    wanted = place.lower()
    _load_announced("hub", lambda name: name.partition(":")[0].lower() == wanted)
    declared = [
        (known, name)
        for other, parts in _hubs.items()
        if other.lower() == wanted
        for known, names in parts.items()
        if not known or not part or part in (known, *known.split("/"))
        for name in names
    ]
    whole = [name for known, name in declared if not known and not part]
    return list(dict.fromkeys(whole or (name for _, name in declared)))


def _leads_to(path: Path, parts: tuple[str, ...]) -> bool:
    """Whether a path is the file itself, or a folder from which the remaining parts lead to it."""
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
    """Import the modules that announce a wanted name of that kind, and no others."""
    for name, entry in read_announced(tuple(sys.path)).get("eyechart.published", {}).items():
        found, _, rest = name.partition(":")
        if found == kind and is_wanted(rest):
            load_entry(entry, "benchmark")


# -- hints for unknown names


_NEAR = 70.0  # similarity of 100: one or two letters are wrong, missing or too many
_BEGINNING = 85.0  # if one name is the beginning of the other
MIN_PREFIX = 3  # letters; fewer begin too many names


def suggest_name(name: str, known: list[str], *, otherwise: str = "", see: str = "", at_most: int = 2) -> str:
    """The hint for an unknown name: similar names, else `otherwise`, else `see`.

    >>> suggest_name("mmbnch", ["mmbench", "o3-bench"], see="eyechart data list")
    'did you mean mmbench? See: eyechart data list'
    >>> suggest_name("pope", ["mmbench"], otherwise="known: mmbench")
    'known: mmbench'
    """
    near = find_near_names(name, known, at_most=at_most)
    if not near:
        return otherwise or (f"see: {see}" if see else "")
    return f"did you mean {' or '.join(near)}?" + (f" See: {see}" if see else "")


def find_near_names(name: str, known: list[str], *, at_most: int = 2) -> list[str]:
    """Known names that `name` may be a misspelling or the beginning of.

    >>> find_near_names("mmbnch-dev-en", ["mmbench-dev-en", "o3-bench"])
    ['mmbench-dev-en']
    >>> find_near_names("--lim", ["--image-root", "--limit"])
    ['--limit']
    >>> find_near_names("rnu", ["run", "runs", "show"])
    ['run']
    """
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA

    head = re.split(r"[-_. ]", name)[0].casefold()  # of another part: DocVQA_TEST is near docvqa-val

    def compare(other: str) -> float:
        if "." in other and "." not in name:  # a file name without its suffix
            other = other.rpartition(".")[0]
        longer, shorter = sorted((_fold(name), _fold(other)), key=len, reverse=True)
        starts = len(shorter) >= MIN_PREFIX and longer.startswith(shorter)
        starts |= len(head) > MIN_PREFIX and _fold(other).startswith(head)
        is_slip = len(shorter) >= MIN_PREFIX and OSA.distance(longer, shorter) == 1  # two letters swapped
        return max(_BEGINNING if starts else 0.0, _NEAR if is_slip else 0.0, fuzz.ratio(longer, shorter))

    if len(_fold(name)) < MIN_PREFIX - 1:
        return []
    scored = sorted(((compare(one), -at) for at, one in enumerate(known)), reverse=True)
    return [known[-at] for score, at in scored[:at_most] if score >= _NEAR]


def check_texts(content: Any, path: str | Path, names: Iterable[str], *, what: str) -> dict[str, str]:
    """Check that `content` maps some of `names` to texts, and return it; `what` says what a name stands for.

    >>> check_texts({"ending": "Go."}, "words.yaml", ["ending"], what="piece")
    {'ending': 'Go.'}
    """
    known = list(names)
    listed = f"known names: {', '.join(known)}"
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not map names to texts", hint=listed)
    for name, text in content.items():
        if name not in known:
            hint = suggest_name(str(name), known, otherwise=listed)
            raise UsageError(f"{path}: unknown {what} {name!r}", hint=hint)
        if not isinstance(text, str):
            raise UsageError(f"{path}: {name!r} is {type(text).__name__}, not text", hint=listed)
    return content


# -- which module has a part
#
# Entry points are read from the files of installed packages. `importlib.metadata` finds the same, but
# importing it and scanning every package takes as long as a hundred requests, at every command. Packages in
# archives are not found.


_FILE = "entry_points.txt"
_OURS = "eyechart."


class EntryPoint(NamedTuple):
    """The name of a part, and the module to import for it."""

    name: str
    value: str

    @property
    def module(self) -> str:
        """The module to import, without an attribute or extras after it."""
        return re.split(r"[:\[]", self.value)[0].strip()

    def load(self) -> None:
        """Import the module; its decorators record the parts."""
        import_module(self.module)

    def read_source(self) -> str:
        """The text of the module, without importing it; empty if it is not a file in a folder of the path."""
        return self._read(".py", "/__init__.py")

    def read_names(self) -> str:
        """The text of a file of names, ``my.package.names`` for ``my/package/names.txt``."""
        return self._read(".txt")

    def _read(self, *endings: str) -> str:
        path = self.module.replace(".", "/")
        for place in sys.path:
            for ending in endings:
                try:
                    with open(f"{place or '.'}/{path}{ending}", encoding="utf-8") as opened:  # noqa: PTH123
                        return opened.read()
                except (OSError, UnicodeDecodeError):
                    continue
        return ""


_BUILT_INS = EntryPoint("eyechart", "eyechart.names")


@lru_cache(maxsize=1)
def read_announced(path: tuple[str, ...]) -> Mapping[str, Mapping[str, EntryPoint]]:
    """The built-ins, the entry points of packages, and what packages list in files: by group, then by name.

    A package with many parts names such a file in the group ``eyechart.names``. It is written like an
    entry_points.txt and read without importing the package. Entry points have precedence.
    """
    theirs = read_entry_points(path)
    found: dict[str, dict[str, EntryPoint]] = {}
    for listed in (_BUILT_INS, *theirs.get("eyechart.names", {}).values()):
        for group, one in parse_entry_points(listed.read_names()):
            found.setdefault(group, {}).setdefault(one.name, one)
    for group, named in theirs.items():
        kept = {name: one for name, one in named.items() if not one.module.startswith(_OURS)}
        found.setdefault(group, {}).update(kept)  # ours are metadata of an earlier version, still installed
    return found


@lru_cache(maxsize=1)
def read_entry_points(path: tuple[str, ...]) -> Mapping[str, Mapping[str, EntryPoint]]:
    """The entry points for eyechart of all packages on `path` (as in `sys.path`): by group, then by name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for text in _texts(path):
        for group, one in parse_entry_points(text):
            found.setdefault(group, {})[one.name] = one
    return found


def parse_entry_points(text: str) -> Iterator[tuple[str, EntryPoint]]:
    r"""The entry points for eyechart in an entry_points.txt, each with its group.

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
    """Files that mention eyechart. Of a package in two places, the first counts, as in an import."""
    seen: set[str] = set()
    for place in path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208 - hundreds of them
        except OSError:  # no folder
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            package = re.sub(r"[-_.]+", "-", name.rpartition(".")[0].partition("-")[0]).lower()
            if package in seen:
                continue
            seen.add(package)
            try:
                with open(f"{place or '.'}/{name}/{_FILE}", "rb") as file:  # noqa: PTH123 - the same
                    data = file.read()
            except OSError:  # most packages have no entry points
                continue
            if _OURS.encode() in data:
                yield data.decode("utf-8", "replace")
