"""Score replies that another tool collected, as if eyechart had asked for them itself.

A file of replies is a table with an id and a text per row, a benchmark's own format, or another tool's log.
Each reply is matched to its sample by id, or by position where the log has only that. A mistake here would
silently score replies against the wrong questions, so what does not match is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from eyechart.data.columns.choices import ROTATION_OFFSET
from eyechart.data.files.replies import open_questions, parse_failure, read_log, read_replies, recognise
from eyechart.data.wrappers import MemorySource
from eyechart.errors import DataError, UsageError
from eyechart.report.clusters import OF_RUN, refuse_unknown_column
from eyechart.runs.cost import find_judge_prices, replace_prices
from eyechart.runs.evaluate import finish_run
from eyechart.runs.options import Options
from eyechart.runs.plan import choose_benchmark, choose_scorers, describe_run, find_corrections
from eyechart.runs.rescore import score_run
from eyechart.runs.results import Run
from eyechart.runs.sources import find_benchmark, make_custom_benchmark
from eyechart.store import folder as folders
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.terminal import print_note
from eyechart.types import Benchmark, LogEntry, Replies, Reply, ReplyLog, Sample, Source

T = TypeVar("T")
Key = tuple[str, int]  # sample and trial

_PLACEHOLDER = re.compile(r"<(?:image|video|audio)(?:[ _]?\d+)?>")


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
        print_note(_describe_merge(parts, loaded))
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
        journal = Journal.create(folder / FILE_NAME)
        try:
            journal.replace_samples(samples)
            _append_replies(journal, loaded, model=model, file=" or ".join(map(str, files)))
            manifest = describe_run(benchmark, scorers, model, trials=loaded.trials, cluster=options.cluster)
            manifest |= {"replies": given, "corrections": corrections}
            journal.set_meta("manifest", replace_prices(manifest, prices))
            journal.flush()
            session = score_run(Run(folder), journal, scorers, options, prices)
        finally:
            journal.close()
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


def _describe_merge(parts: Sequence[LoadedReplies], merged: LoadedReplies) -> str:
    counts = [f"{len(part.replies):,} in {part.file}" for part in parts]
    n_several = sum(len(part.replies) for part in parts) - len(merged.replies)
    repeated = f", {n_several:,} replaced by those of a later file" if n_several else ", none of them twice"
    return f"replies: {', '.join(counts)}; {len(merged.replies):,} together{repeated}"


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
        if given := options.get_reading():
            raise UsageError(
                f"{', '.join(given)}: applies to a file of questions, and none is given",
                hint="name one with --benchmark FILE; without it the questions are read from the replies",
            )
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
        same = _index_numbers(ids)
        names = {name: same[number] for name in strays if (number := _read_number(name)) in same}
        taken = {name for name, _ in (*loaded.replies, *loaded.reasons)}
        names = {name: new for name, new in names.items() if new not in taken}
        loaded = replace(
            loaded, replies=_rename(loaded.replies, names), reasons=_rename(loaded.reasons, names)
        )
        strays -= names.keys()
    replied = strays & {name for name, _ in loaded.replies}
    lost = sorted(strays if loaded.source is None else replied)
    if lost:
        one, many = ("reply", "replies") if replied else ("failure", "failures")
        what = f"1 {one} belongs" if len(lost) == 1 else f"{len(lost)} {many} belong"
        listed = ", ".join(_describe_place(name, loaded.places, Path(file).name) for name in lost[:3])
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


def _describe_place(name: str, places: Mapping[str, str], file: str) -> str:
    """An id with its row, without the name of the file, which the message already has.

    >>> _describe_place("q7", {"q7": "r.tsv: row 3 (line 4)"}, "r.tsv"), _describe_place("q8", {}, "r.tsv")
    ('q7: row 3 (line 4)', 'q8')
    """
    return f"{name}: {places[name].removeprefix(f'{file}: ')}" if name in places else name


def _index_numbers(ids: Iterable[str]) -> dict[str, str]:
    """Number to id, for the ids that are the only one with that number."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name in ids:
        if number := _read_number(name):
            if number in found:
                twice.add(number)
            found[number] = name
    return {number: name for number, name in found.items() if number not in twice}


def _read_number(name: str) -> str:
    """A whole number in its usual form; an empty text for any other id.

    >>> _read_number("007"), _read_number("7.0"), _read_number("q7"), _read_number("7.5")
    ('7', '7', '', '')
    """
    whole, _, rest = name.strip().partition(".")
    is_whole = whole.isascii() and whole.isdigit() and not rest.strip("0")
    return (whole.lstrip("0") or "0") if is_whole else ""


def _rename(values: dict[Key, T], names: dict[str, str]) -> dict[Key, T]:
    return {(names.get(name, name), trial): value for (name, trial), value in values.items()}


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
