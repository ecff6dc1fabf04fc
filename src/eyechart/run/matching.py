"""Which sample a reply of somebody else's file belongs to: by its id, or by its place and its question."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from eyechart.errors import DataError, UsageError
from eyechart.types import LogEntry, Replies, Reply, ReplyLog, Sample, Source

T = TypeVar("T")

_MARKS = re.compile(r"<(?:image|video|audio)(?:[ _]?\d+)?>")

Key = tuple[str, int]  # sample and trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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


def of_table(found: Replies, places: Mapping[str, str] = MappingProxyType({})) -> Said:
    """The replies of a table, of which there is one a sample."""
    return Said(
        replies={(name, 0): reply for name, reply in found.by_id.items()},
        reasons={(name, 0): reason for name, reason in found.skipped.items()},
        source=found.source,
        places=places,
    )


def of_log(log: ReplyLog, samples: Iterable[Sample] | None) -> Said:
    """The replies of another tool's log to these samples; to the questions of the log itself without any."""
    entries = log.entries
    if samples is not None and any(entry.position is not None for entry in entries):
        entries = _by_place(log, samples)
    elif samples is not None:
        _refuse_other_questions(log, samples)
    return Said(
        replies={(entry.id, entry.trial): entry.reply for entry in entries if entry.reply is not None},
        reasons={(entry.id, entry.trial): entry.failure for entry in entries if entry.reply is None},
        model=log.model,
        places={entry.id: entry.where for entry in entries},
    )


def questions_of(log: ReplyLog, path: Path) -> Source:
    """The questions that a log brings along."""
    from eyechart.data.lazy import HeldSource

    found: dict[str, Sample] = {}
    for entry in log.entries:
        if entry.sample is None:
            raise UsageError(
                f"{entry.where}: the file has no accepted answers",
                hint="name the questions with --benchmark, or give EvalScope's reviews or report",
            )
        found.setdefault(entry.id, replace(entry.sample, row=len(found) + 1))
    return HeldSource(log.task, str(path), tuple(found.values()))


def named_as(said: Said, samples: Iterable[Sample], file: str, benchmark: str) -> Said:
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
    from eyechart.data.circular import OFFSET

    question, mark, turn = name.rpartition("#r")
    if mark and turn.isdigit():
        return question in known
    number = _number(name)
    return number not in ("", *known) and str(int(number) % OFFSET) in known


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
