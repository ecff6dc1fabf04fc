"""Which sample a reply of somebody else's file belongs to: by its id, or by its place and its question."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from eyechart.errors import DataError, ModelError, UsageError
from eyechart.run.cost import find_judge_price, make_budget, record_judge_price, replace_prices
from eyechart.run.evaluate import make_settings, open_earlier, open_known_replies, score_rest
from eyechart.run.loop import run_async
from eyechart.run.options import Options
from eyechart.run.plan import (
    RunScorers,
    bind_scorers,
    choose_benchmark,
    choose_scorers,
    describe_run,
    find_judge,
    refuse_stray_judge,
)
from eyechart.run.run import Run
from eyechart.run.sources import find_benchmark, make_custom_benchmark
from eyechart.types import (
    Benchmark,
    JudgedScorer,
    LogEntry,
    Replies,
    Reply,
    ReplyLog,
    Request,
    Sample,
    Source,
)

if TYPE_CHECKING:
    from eyechart.engine.budget import BudgetGate
    from eyechart.engine.judge import JudgeSetup
    from eyechart.engine.retry import EngineSettings
    from eyechart.engine.sample import KnownReplies
    from eyechart.model.prices import Price
    from eyechart.store.journal import Journal
    from eyechart.store.reader import Answered, Verdict


T = TypeVar("T")

_MARKS = re.compile(r"<(?:image|video|audio)(?:[ _]?\d+)?>")

Key = tuple[str, int]  # sample and trial


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedReplies:
    """All replies of a file, and why others are missing."""

    replies: dict[Key, Reply]
    reasons: dict[Key, str] = field(default_factory=dict)
    source: Source | None = None  # the questions, where those of the file are the ones that count
    model: str = ""
    places: Mapping[str, str] = field(default_factory=dict)  # id to where it stands in the file, for messages

    @property
    def trials(self) -> int:
        """How often each question was asked, at most."""
        return 1 + max((trial for _, trial in (*self.replies, *self.reasons)), default=0)


def load_table(found: Replies, places: Mapping[str, str] = MappingProxyType({})) -> LoadedReplies:
    """The replies of a table, of which there is one a sample."""
    return LoadedReplies(
        replies={(name, 0): reply for name, reply in found.by_id.items()},
        reasons={(name, 0): reason for name, reason in found.skipped.items()},
        source=found.source,
        places=places,
    )


def load_log(log: ReplyLog, samples: Iterable[Sample] | None) -> LoadedReplies:
    """The replies of another tool's log to these samples; to the questions of the log itself without any."""
    entries = log.entries
    if samples is not None and any(entry.position is not None for entry in entries):
        entries = _by_place(log, samples)
    elif samples is not None:
        _refuse_other_questions(log, samples)
    return LoadedReplies(
        replies={(entry.id, entry.trial): entry.reply for entry in entries if entry.reply is not None},
        reasons={(entry.id, entry.trial): entry.failure for entry in entries if entry.reply is None},
        model=log.model,
        places={entry.id: entry.where for entry in entries},
    )


def read_log_questions(log: ReplyLog, path: Path) -> Source:
    """The questions that a log brings along."""
    from eyechart.data.source import MemorySource

    found: dict[str, Sample] = {}
    for entry in log.entries:
        if entry.sample is None:
            raise UsageError(
                f"{entry.where}: the file has no accepted answers",
                hint="name the questions with --benchmark, or give EvalScope's reviews or report",
            )
        found.setdefault(entry.id, replace(entry.sample, row=len(found) + 1))
    return MemorySource(log.task, str(path), tuple(found.values()))


def match_ids(said: LoadedReplies, samples: Iterable[Sample], file: str, benchmark: str) -> LoadedReplies:
    """The same under the samples' own names; a reply to no sample is refused, and so is a failure.

    A file that brings the questions may tell of others too, which the options leave out. A number is the
    same however it is written: pandas makes 7 of 007.
    """
    ids = [sample.id for sample in samples]
    known = set(ids)
    strays = {name for name, _ in (*said.replies, *said.reasons) if name not in known}
    if strays:
        same = _same_numbers(ids)
        names = {name: same[number] for name in strays if (number := _number(name)) in same}
        taken = {name for name, _ in (*said.replies, *said.reasons)}
        names = {name: new for name, new in names.items() if new not in taken}
        said = replace(said, replies=_renamed(said.replies, names), reasons=_renamed(said.reasons, names))
        strays -= names.keys()
    replied = strays & {name for name, _ in said.replies}
    lost = sorted(strays if said.source is None else replied)
    if lost:
        one, many = ("reply", "replies") if replied else ("failure", "failures")
        what = f"1 {one} belongs" if len(lost) == 1 else f"{len(lost)} {many} belong"
        listed = ", ".join(_placed(name, said.places, Path(file).name) for name in lost[:3])
        raise DataError(
            f"{file}: {what} to no sample of {benchmark} (e.g. {listed})",
            hint="these are replies to rotations of the options: add --circular"
            if all(_is_rotation(name, known) for name in lost)
            else "are these the replies to this benchmark?",
        )
    return said


def _is_rotation(name: str, known: Collection[str]) -> bool:
    """Whether an id is that of a rotation of a known question.

    >>> _is_rotation("1000007", {"7"}), _is_rotation("q7#r2", {"q7"}), _is_rotation("1000008", {"7"})
    (True, True, False)
    """
    from eyechart.data.choices import ROTATION_OFFSET

    question, mark, turn = name.rpartition("#r")
    if mark and turn.isdigit():
        return question in known
    number = _number(name)
    return number not in ("", *known) and str(int(number) % ROTATION_OFFSET) in known


def _placed(name: str, places: Mapping[str, str], file: str) -> str:
    """An id and where it stands in the file, which is named already.

    >>> _placed("q7", {"q7": "r.tsv: row 3 (line 4)"}, "r.tsv"), _placed("q8", {}, "r.tsv")
    ('q7: row 3 (line 4)', 'q8')
    """
    return f"{name}: {places[name].removeprefix(f'{file}: ')}" if name in places else name


def _by_place(log: ReplyLog, samples: Iterable[Sample]) -> Sequence[LogEntry]:
    """Entries under the names of the samples at their places, if those ask what was asked."""
    by_position = dict(enumerate(samples))
    named = []
    for entry in log.entries:
        if entry.position is None:
            named.append(entry)
            continue
        sample = by_position.get(entry.position)
        if sample is None:
            raise DataError(
                f"{entry.where}: there are {len(by_position)} questions, and it answers number "
                f"{entry.position}, counted from 0",
                hint="are these the replies to this benchmark?",
            )
        if not _asks(entry.asked, sample):
            raise DataError(
                f"{entry.where}: question number {entry.position} is {sample.question[:60]!r}, "
                f"but this was asked: {entry.asked[:60]!r}",
                hint="the file names questions by their place: it needs the very same questions in order",
            )
        named.append(replace(entry, id=sample.id))
    return named


def _refuse_other_questions(log: ReplyLog, samples: Iterable[Sample]) -> None:
    """Two data sets that number their questions look alike. If no question is the same, it is another one."""
    entries = {entry.id: entry for entry in log.entries if entry.asked}
    met = [sample for sample in samples if sample.id in entries]
    if met and not any(_asks(entries[sample.id].asked, sample) for sample in met):
        entry = entries[met[0].id]
        raise DataError(
            f"{entry.where}: {entry.id!r} was {entry.asked[:60]!r}, and here it is "
            f"{met[0].question[:60]!r}; no other question is the same either",
            hint="are these the replies to this benchmark?",
        )


def _asks(asked: str, sample: Sample) -> bool:
    r"""Whether the question is among the words that were sent; where nothing is known, it may be.

    >>> _asks("Look at\nand tell.", Sample(id="1", question="Look at <image 1> and tell."))
    True
    """
    return not asked or _words(sample.question) in _words(asked)


def _words(text: str) -> str:
    """The words alone, without the marks for pictures, which are taken out when a question is sent."""
    return " ".join(_MARKS.sub(" ", text).split())


def _same_numbers(ids: Iterable[str]) -> dict[str, str]:
    """Number to id, for the ids that are one number each."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name in ids:
        if number := _number(name):
            if number in found:
                twice.add(number)
            found[number] = name
    return {number: name for number, name in found.items() if number not in twice}


def _number(name: str) -> str:
    """A whole number as it is usually written; nothing for any other name.

    >>> _number("007"), _number("7.0"), _number("q7"), _number("7.5")
    ('7', '7', '', '')
    """
    whole, _, rest = name.strip().partition(".")
    is_whole = whole.isascii() and whole.isdigit() and not rest.strip("0")
    return (whole.lstrip("0") or "0") if is_whole else ""


def _renamed(values: dict[Key, T], names: dict[str, str]) -> dict[Key, T]:
    return {(names.get(name, name), trial): value for (name, trial), value in values.items()}


# -- Score stored replies again. Asks no model but a judge.

_Outcome = tuple[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose verdict moved."""

    sample: str
    trial: int
    before: str
    after: str
    value_before: float
    value_after: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rescore(folder: str | Path, options: Options | None = None) -> tuple[Run, list[Change]]:
    """Score the stored replies again, and tell which verdicts moved. Asks no model but a judge.

    Of `options`, those of the verdict, the pace and the bill count; what is not said of the verdict stays as
    it was. What a judge said before is found in the journal, and only what it was never asked is asked now,
    if a judge is given. Limits are the judge's alone: what it has taken in this run before counts.
    """
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    old = Run(folder)
    chosen = options or Options()
    verdicts = _verdicts(old, chosen)
    prices = find_judge_price(verdicts.judge, chosen)
    with folders.lock_folder(old.folder):
        journal = Journal.create(old.folder / FILE_NAME)
        try:
            before = _outcomes(old.verdicts())
            session = score_run(old, journal, verdicts, chosen, prices)
            journal.set_meta("manifest", replace_prices({**old.manifest, **verdicts.describe()}, prices))
        finally:
            journal.close()
        new = session.of(old.folder)
        new.keep_summary()
        if old.has_files:
            new.try_to_write_files()
    return new, _changes(before, new.verdicts())


def _verdicts(old: Run, options: Options) -> RunScorers:
    """Who scores now: as the options say, and where they say nothing, as before."""
    from eyechart.registry import scorers

    refuse_stray_judge(options)
    judge = find_judge(options) or _remembered(old.manifest.get("judge"))
    name = options.scorer or old.manifest.get("scorer", "default")
    if options.judge and not options.scorer and not isinstance(scorers.get(name), JudgedScorer):
        name = old.manifest.get("judged_scorer") or name  # as the run itself would have, with a judge
    beside = options.also_scorers or tuple(old.manifest.get("also_scorers", ()))
    asks_judges = any(isinstance(scorers.get(one), JudgedScorer) for one in (name, *beside))
    if options.judge is None and not asks_judges:
        judge = None  # what a judge said before concerns none of these
    return bind_scorers(name, beside, judge)


def _remembered(judge: Mapping[str, Any] | None) -> JudgeSetup | None:
    """The judge of the run as the journal knows it: what it said stands, and nothing more can be asked."""
    if not judge:
        return None
    from eyechart.engine.judge import JudgeSetup

    return JudgeSetup(_Remembered(judge["model"], judge["identity"]), judge["prompts"])


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A model that is known by what it said."""

    name: str
    identity: Mapping[str, Any]

    async def reply(self, request: Request) -> Reply:
        raise ModelError(f"{self.name} was not asked this before", hint="--judge asks it now")

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How the scoring went."""

    trouble: ModelError | None = None  # the judge's, if that ended it early
    cache_trouble: str = ""

    def of(self, folder: Path) -> Run:
        """The run as it stands now."""
        run = Run(folder, trouble=self.trouble)
        run.cache_trouble = self.cache_trouble
        return run


def score_run(
    old: Run, journal: Journal, verdicts: RunScorers, options: Options, prices: Mapping[str, Price | None]
) -> Session:
    """Score every reply of a run by every one of its scorers."""
    from eyechart.engine.budget import BudgetGate

    judge = verdicts.judge
    record_judge_price(journal, judge, prices)
    gate = BudgetGate(make_budget(journal, options, prices, judge))
    earlier = open_earlier(old.folder, options, None) if judge is not None else None
    known = open_known_replies(options, earlier, judge)
    try:
        trouble = run_async(_score(old, journal, verdicts, make_settings(options), known, gate))
    finally:
        known.close()
    return Session(trouble=trouble, cache_trouble=known.trouble)


async def _score(
    old: Run,
    journal: Journal,
    verdicts: RunScorers,
    settings: EngineSettings,
    known: KnownReplies,
    gate: BudgetGate,
) -> ModelError | None:
    from eyechart.engine.judge import Judge, Scoring
    from eyechart.engine.pool import StopSignal
    from eyechart.engine.sample import Calls, JournalCalls

    stop, store, setup = StopSignal(), JournalCalls(journal), verdicts.judge_setup
    calls = Calls(store, known)
    judge = Judge.open(setup, settings, stop, journal=journal, calls=calls, gate=gate) if setup else None
    is_circular = old.manifest.get("circular") == "headline"
    scoring = Scoring(journal, verdicts.scorer, verdicts.beside, judge, is_circular)
    try:
        await score_rest(
            journal,
            scoring,
            lambda scorer: _answered(old),
            trials=old.trials,
            n_at_once=settings.concurrency,
        )
    finally:
        store.close()
        if setup is not None:
            await setup.model.close()
    return stop.trouble if isinstance(stop.trouble, ModelError) else None


def _answered(run: Run) -> Iterator[Answered]:
    from eyechart.store.reader import Answered

    for result in run.samples():
        if result.reply is not None:
            yield Answered(sample=result.sample, trial=result.trial, key=result.key, reply=result.reply)


def compare_scorers(run: Run, scorer: str) -> list[Change]:
    """The samples on which a further scorer of a run disagrees with its own."""
    return _changes((outcome for _, outcome in run.verdicts()), run.verdicts(scorer))


def _outcomes(verdicts: Iterable[Verdict]) -> list[_Outcome]:
    """Outcomes and values in the run's order; equal ones are one object, of the few that a run has."""
    seen: dict[_Outcome, _Outcome] = {}
    return [seen.setdefault(outcome, outcome) for _, outcome in verdicts]


def _changes(before: Iterable[_Outcome], after: Iterable[Verdict]) -> list[Change]:
    """What moved. The replies are the same and so is their order: no new one comes while the run is held."""
    return [
        Change(
            sample=sample,
            trial=trial,
            before=was[0],
            after=now[0],
            value_before=was[1],
            value_after=now[1],
        )
        for was, ((sample, trial), now) in zip(before, after, strict=True)
        if was != now
    ]


# -- Score replies that something else collected, as if we had asked for them ourselves.


def score_replies(
    source: str | Path | Benchmark | Source | None, replies: str | Path, options: Options
) -> Run:
    """Make a run out of a file of replies. A sample without one has failed; it is not wrong.

    Without a `source` the questions are those that the file brings along. The same file again finds what a
    judge has said about it already.
    """
    from eyechart.data.replies import read_log
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    file = Path(replies)
    log = read_log(file, with_questions=source is None) if file.is_file() else None  # or only a name so far
    benchmark, options = _benchmark(source, file, log, options)
    verdicts = choose_scorers(benchmark, options)
    prices = find_judge_price(verdicts.judge, options)
    said = _read(benchmark, file, log, is_named=source is not None)
    samples = said.source or benchmark.source
    said = match_ids(said, samples, f"{replies}", benchmark.name)
    model = said.model or _model_in_name(file, benchmark) or f"replies/{file.stem}"
    folder = _folder(benchmark, samples, file, model, options)
    folders.prepare_folder(folder)
    with folders.lock_folder(folder):
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(samples)
            _keep(journal, said, model=model, file=str(replies))
            manifest = describe_run(benchmark, verdicts, model, trials=said.trials)
            journal.set_meta("manifest", replace_prices({**manifest, "replies": str(replies)}, prices))
            journal.flush()
            session = score_run(Run(folder), journal, verdicts, options, prices)
        finally:
            journal.close()
        done = session.of(folder)
        done.keep_summary()
        if benchmark.files:
            done.try_to_write_files()
    return done


def _folder(benchmark: Benchmark, samples: Source, file: Path, model: str, options: Options) -> Path:
    """The same file of replies to the same questions is the same run."""
    from eyechart.store.folder import name_folder

    identity = {
        "origin": samples.origin,
        "replies": str(file.resolve()),
        "settings": dict(benchmark.settings),
        "circular": options.circular,
        "selection": options.get_selection(),
    }
    return name_folder(Path(options.out), benchmark.name, model, identity)


def _benchmark(
    source: str | Path | Benchmark | Source | None, path: Path, log: ReplyLog | None, options: Options
) -> tuple[Benchmark, Options]:
    """What the replies answer: what is named, or else the questions in the file itself."""
    if source is not None:
        benchmark = find_benchmark(source, options)
        if benchmark.read_questions is None or log is not None:
            return choose_benchmark(source, options)
        benchmark = replace(benchmark, source=benchmark.read_questions(path))
        options = replace(options, settings={}, cells=None)  # it is made of them already
    else:
        if said := options.get_reading():
            raise UsageError(
                f"{', '.join(said)}: said of questions in a file of their own, and none is named",
                hint="--benchmark FILE names it; without it the file of replies brings its questions along",
            )
        benchmark = make_custom_benchmark(read_log_questions(log, path) if log else _table_questions(path))
        if log and any(entry.sample and entry.sample.circle for entry in log.entries):
            benchmark = replace(benchmark, circular="headline")
    return choose_benchmark(benchmark, options)


def _table_questions(path: Path) -> Source:
    from eyechart.data.replies import open_questions as in_table

    return in_table(path)


def _read(benchmark: Benchmark, path: Path, log: ReplyLog | None, *, is_named: bool) -> LoadedReplies:
    """The replies in a file: another tool's log, the benchmark's own format where it has one, or a table."""
    from eyechart.data.replies import read_replies, recognise

    if log is not None:
        return load_log(log, benchmark.source if is_named else None)
    own = benchmark.read_replies
    if (
        own is not None
        and path.suffix.lower() == ".json"
        and (not path.is_file() or recognise(path) == "table")
    ):
        return load_table(own(path))
    found = read_replies(path)
    return load_table(found, found.places)


def _model_in_name(path: Path, benchmark: Benchmark) -> str:
    """The model that a VLMEvalKit file is called after: ``<model>_<set>.xlsx``."""
    name = Path(benchmark.source.origin.replace("\\", "/")).stem
    model = path.stem.removesuffix(f"_{name}")
    return model if name and model != path.stem else ""


def _keep(journal: Journal, said: LoadedReplies, *, model: str, file: str) -> None:
    """Every sample's reply into the journal, or why it has none."""
    from eyechart.data.replies import parse_failure
    from eyechart.store.journal import Ask

    n_trials = said.trials  # which looks through all of them
    for sample in journal.samples():
        if journal.is_behind:
            journal.wait_for_room()
        for trial in range(n_trials):
            reply = said.replies.get((sample.id, trial))
            if reply is None:
                reason = said.reasons.get((sample.id, trial), f"{file} holds no reply to it")
                journal.append_failure(sample.id, trial, parse_failure(reason))
                continue
            of_trial = f"\0{trial}" if trial else ""
            asked = f"{model}\0{sample.id}\0{reply.text}{of_trial}"
            try:
                key = hashlib.sha256(asked.encode()).hexdigest()
                journal.append_reply(sample.id, trial, Ask(key=key, recipe=key[:32], messages=[]), reply)
            except UnicodeEncodeError as err:  # half of a surrogate pair, as JSON can hold
                raise DataError(
                    f"{file}: the reply to {sample.id!r} is not valid Unicode: {err.reason}"
                ) from err
