"""Score replies that are already there: those of a stored run, and those that another tool collected.

No model is asked, except a judge. A file of replies is a table with an id and a text per row, a benchmark's
own format, or another tool's log. Each reply is matched to its sample by id, or by position where the log has
only that. A mistake here would silently score replies against the wrong questions, so what does not match is
refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from eyechart.data.columns.answers import ROTATION_OFFSET
from eyechart.data.files.replies import open_questions, parse_failure, read_log, read_replies, recognise
from eyechart.data.samples import MemorySource
from eyechart.engine.budget import BudgetGate
from eyechart.engine.judge import Judge, JudgeSetup, Scoring
from eyechart.engine.pool import StopSignal
from eyechart.engine.sample import Calls, JournalCalls
from eyechart.errors import DataError, ModelError, UsageError
from eyechart.models.prices import Price
from eyechart.report.clusters import OF_RUN, refuse_unknown_column
from eyechart.runs.cost import find_judge_prices, make_budget, record_judge_prices, replace_prices
from eyechart.runs.evaluate import (
    Session,
    finish_run,
    make_settings,
    open_earlier,
    open_known_replies,
    score_rest,
)
from eyechart.runs.loop import run_async
from eyechart.runs.options import Options
from eyechart.runs.plan import (
    RunScorers,
    bind_scorers,
    carry_kept,
    choose_benchmark,
    choose_scorers,
    describe_run,
    find_corrections,
    find_judge,
    list_judge_identities,
)
from eyechart.runs.plugins import find_scorer
from eyechart.runs.results import Run
from eyechart.runs.sources import find_benchmark, make_custom_benchmark, refuse_reading
from eyechart.store import folder as folders
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.store.reader import Answered, Verdict
from eyechart.terminal import print_note
from eyechart.types import (
    Benchmark,
    JudgedScorer,
    LogEntry,
    Replies,
    Reply,
    ReplyLog,
    Request,
    Sample,
    Scorer,
    Source,
)

Key = tuple[str, int]  # sample and trial

_Outcome = tuple[str, float]

_PLACEHOLDER = re.compile(r"<(?:image|video|audio)(?:[ _]?\d+)?>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose verdict changed."""

    sample: str
    trial: int
    before: str
    after: str
    value_before: float
    value_after: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rescore(
    folder: str | Path, options: Options | None = None, progress: Callable[[int], None] | None = None
) -> tuple[Run, list[Change]]:
    """Score the stored replies of a run again, and list the verdicts that changed.

    Of `options`, those on scoring, request rates and cost apply; a scorer or judge that is not given stays as
    it was. The judge's earlier verdicts are read from the journal; with a judge given, what is missing is
    asked now. Limits on cost and tokens apply to the judge alone, and count what it took in this run before.
    Where the judge changes, or one is added or left out, the earlier scoring stays beside the new one.
    `progress` is told how many replies have been taken up.
    """
    options = options or Options()
    old = Run(folder, cluster=options.cluster)
    if options.cluster is not None:
        _ = old.clusters  # a column that does not exist is an error before anything is scored
    scorers = _choose_scorers(old, options)
    prices = find_judge_prices(scorers.judges, options)
    with folders.lock_folder(old.folder):
        with contextlib.closing(Journal.create(old.folder / FILE_NAME)) as journal:
            # Equal ones share one object: a run has few different ones.
            seen: dict[_Outcome, _Outcome] = {}
            before = [seen.setdefault(outcome, outcome) for _, outcome in old.verdicts()]
            kept = _keep_scoring(old, journal, scorers)
            session = score_run(old, journal, scorers, options, prices, progress)
            given = find_corrections(options, scorers.judge_setup is not None)
            more = {"corrections": msgspec.to_builtins(given)} if given else {}
            manifest = carry_kept({**old.manifest, **more, **scorers.describe()}, old.manifest, kept)
            journal.set_meta("manifest", replace_prices(manifest, prices))
        new = finish_run(old.folder, session, with_files=old.has_files)
    return new, _list_changes(before, new.verdicts())


def _keep_scoring(old: Run, journal: Journal, scorers: RunScorers) -> dict[str, str]:
    """Keep the scores that another judge, or none, gave before: the name of that scoring, and its version.

    Verdicts of one judged scorer share a place in the journal, so those of the earlier judge are copied.
    """
    name, judge = str(old.manifest.get("scorer", "")), old.manifest.get("judge")
    version = str(old.manifest.get("versions", {}).get(name, ""))
    new = scorers.scorer
    _, _, judge_before = version.partition("+")
    _, _, judge_now = new.version.partition("+")
    if judge_before == judge_now or not version:
        return {}
    if not isinstance(judge, Mapping) or not judge_before:
        return {name: version}
    judges = " + ".join(str(one["model"]) for one in (judge, *judge.get("further", ())))
    label = f"{name}, {judges}"
    if old.manifest["versions"].get(label, version) != version:  # with other parameters or prompts
        label = f"{label} ({judge_before})"
    journal.copy_scores(name, version, label)
    return {label: version}


def compare_scorers(run: Run, scorer: str) -> list[Change]:
    """The samples on which a further scorer of a run disagrees with its own."""
    return _list_changes((outcome for _, outcome in run.verdicts()), run.verdicts(scorer))


def _list_changes(before: Iterable[_Outcome], after: Iterable[Verdict]) -> list[Change]:
    """What changed. Both have the same replies in the same order: none is added while the run is locked."""
    return [
        Change(
            sample=sample, trial=trial, before=was[0], after=now[0], value_before=was[1], value_after=now[1]
        )
        for was, ((sample, trial), now) in zip(before, after, strict=True)
        if was != now
    ]


def _choose_scorers(old: Run, options: Options) -> RunScorers:
    """The scorers and the judge that the options name; for what they leave out, those of the run."""
    known = list_judge_identities(old.manifest.get("judge"))
    judge = find_judge(options, known) or _recall_judge(old.manifest.get("judge"))
    name = options.scorer or old.manifest.get("scorer", "default")
    if options.judge and not options.scorer and not isinstance(find_scorer(name), JudgedScorer):
        name = old.manifest.get("judged_scorer") or name  # as the run itself would have, with a judge
    also_scorers = options.also_scorers or tuple(old.manifest.get("also_scorers", ()))
    asks_judges = any(isinstance(find_scorer(one), JudgedScorer) for one in (name, *also_scorers))
    if options.judge is None and not asks_judges:
        judge = None  # none of these scorers uses the earlier verdicts
    return bind_scorers(name, also_scorers, judge, options.thinking or old.manifest.get("thinking"))


def _recall_judge(judge: Mapping[str, Any] | None) -> JudgeSetup | None:
    """The judge in the run's manifest: its stored verdicts count, and it cannot be asked again."""
    if not judge:
        return None
    first, *further = (
        _RecordedModel(one["model"], one["identity"]) for one in (judge, *judge.get("further", ()))
    )
    return JudgeSetup(first, judge["prompts"], tuple(further))


@dataclass(frozen=True, slots=True)
class _RecordedModel:
    """A model of which only the stored replies are available."""

    name: str
    identity: Mapping[str, Any]

    async def reply(self, request: Request) -> Reply:
        raise ModelError(f"{self.name} has no stored verdict on this", hint="ask it now with --judge")

    async def close(self) -> None:
        """Nothing is open."""


def score_run(
    run: Run,
    journal: Journal,
    scorers: RunScorers,
    options: Options,
    prices: Mapping[str, Price | None],
    progress: Callable[[int], None] | None = None,
) -> Session:
    """Score every reply of a run with each of its scorers."""
    setup, judges, stop = scorers.judge_setup, scorers.judges, StopSignal()
    record_judge_prices(journal, judges, prices)
    gate = BudgetGate(make_budget(journal, options, prices, judges))
    earlier = open_earlier(run.folder, options, None) if judges else None
    known = open_known_replies(options, earlier, *judges.values())

    def list_answered(_: Scorer) -> Iterator[Answered]:
        # Without verdicts, messages and clusters, which scoring does not need.
        for n, result in enumerate(run.journal.results("", trials=run.trials, is_brief=True), start=1):
            if progress is not None:
                progress(n)
            if result.reply is not None:
                sample, trial = result.sample, result.trial
                yield Answered(sample=sample, trial=trial, key=result.key, reply=result.reply)

    async def score() -> None:
        with contextlib.closing(JournalCalls(journal)) as store:
            calls, settings = Calls(store, known), make_settings(options)
            judge = Judge(setup, settings, stop, journal=journal, calls=calls, gate=gate) if setup else None
            scoring = Scoring(journal, scorers.scorer, scorers.also_scorers, judge, run.is_circular)
            try:
                await score_rest(journal, scoring, list_answered, trials=run.trials, options=options)
            finally:
                for one in judges.values():
                    await one.close()

    with contextlib.closing(known):
        run_async(score())
    trouble = stop.trouble if isinstance(stop.trouble, ModelError) else None
    return Session(trouble=trouble, cache_trouble=known.trouble)


# -- A file of replies


def score_replies(
    source: str | Path | Benchmark | Source | None,
    replies: str | Path | Sequence[str | Path],
    options: Options,
) -> Run:
    """Make a run from a file of replies, or several. A sample without a reply has failed; it is not wrong.

    Of several replies to a question, that of the last file counts. Without a `source`, the questions are read
    from the files themselves. Scoring the same files again reuses the judge's earlier verdicts.
    """
    files = [replies] if isinstance(replies, str | Path) else list(replies)
    parts, benchmarks, chosen = zip(*(_load_file(source, file, options) for file in files), strict=True)
    benchmark, options = benchmarks[0], chosen[0]
    scorers = choose_scorers(benchmark, options)
    prices = find_judge_prices(scorers.judges, options)
    corrections = msgspec.to_builtins(find_corrections(options, scorers.judge_setup is not None))
    loaded = parts[0]
    if len(parts) > 1:
        loaded = merge_replies(parts)
        counts = [f"{len(part.replies):,} in {part.file}" for part in parts]
        n_several = sum(len(part.replies) for part in parts) - len(loaded.replies)
        again = f"{n_several:,} replaced by those of a later file" if n_several else "none of them twice"
        print_note(f"replies: {', '.join(counts)}; {len(loaded.replies):,} together, {again}")
    samples, model = loaded.source or benchmark.source, loaded.model
    refuse_unknown_column(samples, options.cluster)
    # The same files of replies to the same questions are the same run.
    places = [str(Path(file).resolve()) for file in files]
    given = str(files[0]) if len(files) == 1 else [*map(str, files)]
    identity = {
        "origin": samples.origin,
        "replies": places[0] if len(places) == 1 else places,
        "settings": dict(benchmark.settings),
        "circular": options.circular,
        "selection": options.get_selection(),
    }
    folder = folders.name_folder(Path(options.out), benchmark.name, model, identity)
    folders.prepare_folder(folder)
    with folders.lock_folder(folder):
        with contextlib.closing(Journal.create(folder / FILE_NAME)) as journal:
            journal.replace_samples(samples)
            _append_replies(journal, loaded, model=model, file=" or ".join(map(str, files)))
            manifest = describe_run(benchmark, scorers, model, trials=loaded.trials, cluster=options.cluster)
            manifest |= {"replies": given, "corrections": corrections}
            journal.set_meta("manifest", replace_prices(manifest, prices))
            journal.flush()
            session = score_run(Run(folder), journal, scorers, options, prices)
        return finish_run(folder, session, with_files=bool(benchmark.files))


def _load_file(
    source: str | Path | Benchmark | Source | None, given: str | Path, options: Options
) -> tuple[LoadedReplies, Benchmark, Options]:
    file = Path(given)
    log = read_log(file, with_questions=source is None) if file.is_file() else None  # or only a name so far
    benchmark, options = _find_benchmark(source, file, log, options)
    loaded = _load(benchmark, file, log, is_named=source is not None)
    loaded = match_ids(loaded, loaded.source or benchmark.source, str(given), benchmark.name)
    model = loaded.model or _read_model_name(file, benchmark) or f"replies/{file.stem}"
    loaded = replace(loaded, file=str(given), source=loaded.source or benchmark.source, model=model)
    return loaded, benchmark, options


def merge_replies(parts: Sequence[LoadedReplies]) -> LoadedReplies:
    """The replies of several files as those of one, with the questions of all of them.

    Of several replies to a question, the last counts; a failure never replaces a reply. Two files that answer
    different questions under one id are refused.
    """
    samples: dict[str, tuple[Sample, str]] = {}
    replies: dict[Key, Reply] = {}
    for part in parts:
        answered = {name for name, _ in part.replies}
        for sample in part.source or ():
            known, file = samples.get(sample.id, (sample, part.file))
            if known.question != sample.question:
                raise DataError(
                    f"{part.file}: {sample.id!r} is {sample.question[:60]!r}, but in {file} it is "
                    f"{known.question[:60]!r}",
                    hint="merge replies to the same questions",
                )
            if sample.id not in samples or sample.id in answered:  # the file of the reply says how it counts
                samples[sample.id] = (sample, part.file)
        replies |= part.replies
    reasons = {key: why for part in parts for key, why in part.reasons.items() if key not in replies}
    first = parts[0].source
    assert first is not None
    return LoadedReplies(
        replies=replies,
        reasons=reasons,
        source=MemorySource(first.name, first.origin, tuple(sample for sample, _ in samples.values())),
        model="+".join(dict.fromkeys(part.model for part in parts)),
    )


def _find_benchmark(
    source: str | Path | Benchmark | Source | None, path: Path, log: ReplyLog | None, options: Options
) -> tuple[Benchmark, Options]:
    """The benchmark that the replies answer: the one that is named, or the questions in the file itself."""
    if source is not None:
        benchmark = find_benchmark(source, options)
        if benchmark.read_questions is None or log is not None:
            return choose_benchmark(source, options)
        benchmark = replace(benchmark, source=benchmark.read_questions(path))
        options = replace(options, settings={}, cells=None)  # they are part of the benchmark already
    else:
        hint = "name one with --benchmark FILE; without it the questions are read from the replies"
        refuse_reading(options, "applies to a file of questions, and none is given", hint)
        benchmark = make_custom_benchmark(read_log_questions(log, path) if log else open_questions(path))
        if log and any(entry.sample and entry.sample.circle for entry in log.entries):
            benchmark = replace(benchmark, circular="headline")
        if log and any(entry.sample and OF_RUN in entry.sample.withheld for entry in log.entries):
            benchmark = replace(benchmark, cluster=(OF_RUN,))
    return choose_benchmark(benchmark, options)


def read_log_questions(log: ReplyLog, path: Path) -> Source:
    """The questions that a log holds beside its replies."""
    found: dict[str, Sample] = {}
    for entry in log.entries:
        if entry.sample is None:
            raise UsageError(
                f"{entry.where}: the file has no accepted answers",
                hint="name the questions with --benchmark, or give EvalScope's reviews or report",
            )
        found.setdefault(entry.id, replace(entry.sample, row=len(found) + 1))
    return MemorySource(log.task, str(path), tuple(found.values()))


def _read_model_name(path: Path, benchmark: Benchmark) -> str:
    """The model in the name of a VLMEvalKit file: ``<model>_<set>.xlsx``."""
    name = Path(benchmark.source.origin.replace("\\", "/")).stem
    model = path.stem.removesuffix(f"_{name}")
    return model if name and model != path.stem else ""


def _append_replies(journal: Journal, loaded: LoadedReplies, *, model: str, file: str) -> None:
    """Write every sample's reply to the journal, or the reason why it has none."""
    n_trials = loaded.trials  # reads all replies: once is enough
    for sample in journal.samples():
        if journal.is_behind:
            journal.wait_for_room()
        for trial in range(n_trials):
            reply = loaded.replies.get((sample.id, trial))
            if reply is None:
                reason = loaded.reasons.get((sample.id, trial), f"no reply in {file}")
                journal.append_failure(sample.id, trial, parse_failure(reason))
                continue
            reply = reply if reply.tags is not None else replace(reply, tags=())
            of_trial = f"\0{trial}" if trial else ""
            asked = f"{model}\0{sample.id}\0{reply.content}{of_trial}"
            try:
                key = hashlib.sha256(asked.encode()).hexdigest()
                journal.append_reply(sample.id, trial, Ask(key=key, recipe=key[:32], messages=[]), reply)
            except UnicodeEncodeError as err:  # a lone surrogate, which JSON can hold
                raise DataError(
                    f"{file}: the reply to {sample.id!r} is not valid Unicode: {err.reason}"
                ) from err


# -- Loading


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedReplies:
    """All replies of a file, and why others are missing."""

    replies: dict[Key, Reply]
    reasons: dict[Key, str] = field(default_factory=dict)
    source: Source | None = None  # the questions, where those in the file are the ones to score
    model: str = ""
    file: str = ""
    places: Mapping[str, str] = field(default_factory=dict)  # id to its row in the file, for messages

    @property
    def trials(self) -> int:
        """How many trials the sample with the most trials has."""
        return 1 + max((trial for _, trial in (*self.replies, *self.reasons)), default=0)


def _load(benchmark: Benchmark, path: Path, log: ReplyLog | None, *, is_named: bool) -> LoadedReplies:
    """The replies of another tool's log, of the benchmark's own format if it has one, or of a table."""
    if log is not None:
        return load_log(log, benchmark.source if is_named else None)
    own = benchmark.read_replies
    is_json = path.suffix.lower() == ".json"
    if own is not None and is_json and (not path.is_file() or recognise(path) == "table"):
        return load_table(own(path))
    found = read_replies(path)
    return load_table(found, found.places)


def load_table(found: Replies, places: Mapping[str, str] = MappingProxyType({})) -> LoadedReplies:
    """The replies of a table, which has one per sample."""
    return LoadedReplies(
        replies={(name, 0): reply for name, reply in found.by_id.items()},
        reasons={(name, 0): reason for name, reason in found.skipped.items()},
        source=found.source,
        places=places,
    )


def load_log(log: ReplyLog, samples: Iterable[Sample] | None) -> LoadedReplies:
    """The replies of another tool's log to `samples`, or to the questions in the log itself."""
    entries = log.entries
    if samples is not None and any(entry.position is not None for entry in entries):
        entries = _match_positions(log, samples)
    elif samples is not None:
        _refuse_other_questions(log, samples)
    return LoadedReplies(
        replies={(entry.id, entry.trial): entry.reply for entry in entries if entry.reply is not None},
        reasons={(entry.id, entry.trial): entry.failure for entry in entries if entry.reply is None},
        model=log.model,
        places={entry.id: entry.where for entry in entries},
    )


# -- Matching


def match_ids(loaded: LoadedReplies, samples: Iterable[Sample], file: str, benchmark: str) -> LoadedReplies:
    """The same replies under the samples' ids; a reply or a failure that matches no sample is refused.

    A file with questions of its own may hold failures of others, which the options leave out. Numbers match
    however they are written: pandas turns 007 into 7.
    """
    ids = [sample.id for sample in samples]
    known = set(ids)
    strays = {name for name, _ in (*loaded.replies, *loaded.reasons) if name not in known}
    if strays:
        numbered = [(number, name) for name in ids if (number := _read_number(name))]
        counts = Counter(number for number, _ in numbered)
        same = {number: name for number, name in numbered if counts[number] == 1}
        names = {name: same[number] for name in strays if (number := _read_number(name)) in same}
        taken = {name for name, _ in (*loaded.replies, *loaded.reasons)}
        names = {name: new for name, new in names.items() if new not in taken}
        renamed = {(names.get(name, name), trial): one for (name, trial), one in loaded.replies.items()}
        reasons = {(names.get(name, name), trial): one for (name, trial), one in loaded.reasons.items()}
        loaded = replace(loaded, replies=renamed, reasons=reasons)
        strays -= names.keys()
    replied = strays & {name for name, _ in loaded.replies}
    lost = sorted(strays if loaded.source is None else replied)
    if lost:
        one, many = ("reply", "replies") if replied else ("failure", "failures")
        what = f"1 {one} belongs" if len(lost) == 1 else f"{len(lost)} {many} belong"
        start = f"{Path(file).name}: "  # which the message has already
        told = loaded.places
        places = {name: f": {told[name].removeprefix(start)}" for name in lost if name in told}
        listed = ", ".join(name + places.get(name, "") for name in lost[:3])
        raise DataError(
            f"{file}: {what} to no sample of {benchmark} (e.g. {listed})",
            hint="these are replies to rotations of the options: add --circular"
            if all(_is_rotation(name, known) for name in lost)
            else "are these the replies to this benchmark?",
        )
    return loaded


def _is_rotation(name: str, known: Collection[str]) -> bool:
    """Whether an id is that of a rotation of a known question.

    >>> _is_rotation("1000007", {"7"}), _is_rotation("q7#r2", {"q7"}), _is_rotation("1000008", {"7"})
    (True, True, False)
    """
    question, mark, turn = name.rpartition("#r")
    if mark and turn.isdigit():
        return question in known
    number = _read_number(name)
    return number not in ("", *known) and str(int(number) % ROTATION_OFFSET) in known


def _read_number(name: str) -> str:
    """A whole number in its usual form; an empty text for any other id.

    >>> _read_number("007"), _read_number("7.0"), _read_number("q7"), _read_number("7.5")
    ('7', '7', '', '')
    """
    whole, _, rest = name.strip().partition(".")
    is_whole = whole.isascii() and whole.isdigit() and not rest.strip("0")
    return (whole.lstrip("0") or "0") if is_whole else ""


def _match_positions(log: ReplyLog, samples: Iterable[Sample]) -> Sequence[LogEntry]:
    """The entries under the ids of the samples at their positions, if those ask the same question."""
    by_position = dict(enumerate(samples))
    matched = []
    for entry in log.entries:
        if entry.position is None:
            matched.append(entry)
            continue
        sample = by_position.get(entry.position)
        if sample is None:
            raise DataError(
                f"{entry.where}: answers question number {entry.position} (counted from 0), "
                f"but there are only {len(by_position)}",
                hint="are these the replies to this benchmark?",
            )
        if not _is_asked(sample, entry.asked):
            raise DataError(
                f"{entry.where}: question number {entry.position} is {sample.question[:60]!r}, "
                f"but this was asked: {entry.asked[:60]!r}",
                hint="the file numbers its questions: it needs the same questions in the same order",
            )
        matched.append(replace(entry, id=sample.id))
    return matched


def _refuse_other_questions(log: ReplyLog, samples: Iterable[Sample]) -> None:
    """Refuse a log of another data set whose ids happen to be the same: not one question matches."""
    entries = {entry.id: entry for entry in log.entries if entry.asked}
    met = [sample for sample in samples if sample.id in entries]
    if met and not any(_is_asked(sample, entries[sample.id].asked) for sample in met):
        entry = entries[met[0].id]
        raise DataError(
            f"{entry.where}: {entry.id!r} was {entry.asked[:60]!r}, and here it is "
            f"{met[0].question[:60]!r}; no other question matches either",
            hint="are these the replies to this benchmark?",
        )


def _is_asked(sample: Sample, asked: str) -> bool:
    r"""Whether the text that was sent holds the question; true where the text is not known.

    >>> _is_asked(Sample(id="1", question="Look at <image 1> and tell."), "Look at\nand tell.")
    True
    """

    def take_words(text: str) -> str:  # placeholders for images are removed when a question is sent
        return " ".join(_PLACEHOLDER.sub(" ", text).split())

    return not asked or take_words(sample.question) in take_words(asked)
