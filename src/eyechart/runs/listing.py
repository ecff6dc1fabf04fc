"""Finding runs on disk: one line for each, and the run that a user names.

A run is named by its folder, by a unique beginning of its name or of its hash, or as `latest`. Everything
that takes a RUN finds it here. Nothing is written, so a run can be listed while it is in progress.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.errors import EyechartError, UsageError
from eyechart.files import read_json
from eyechart.option import list_options
from eyechart.registry import suggest_name
from eyechart.report.conditions import describe_briefly, describe_conditions, list_endpoints
from eyechart.runs.options import Options
from eyechart.store.browse import PENDING, tally_outcomes
from eyechart.store.folder import AUDIT, LOCK_NAME, SHARDS, SUMMARY_NAME
from eyechart.store.journal import FILE_NAME
from eyechart.store.reader import JournalReader
from eyechart.terminal import print_note

State = Literal["complete", "failures", "incomplete", "running", "unreadable"]
STATES: tuple[State, ...] = ("complete", "failures", "incomplete", "running", "unreadable")
ROOT = "runs"  # where runs are looked for by name: the default of --out
LATEST = "latest"
_MOST_LISTED = 10  # candidates in a message
_MIN_HASH = 3  # characters of a hash that may name a run
_FRESH_S = 2.0  # a summary this much older than the journal still belongs to it: clocks of file systems


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """One run folder in a list: what was asked of which model, and how it went."""

    folder: Path
    name: str  # the folder relative to the listed one, with slashes
    benchmark: str = ""
    model: str = ""
    address: str = ""  # of the endpoint; empty where none was asked
    selection: str = ""  # what is not the whole benchmark asked once
    conditions: Mapping[str, str] = field(default_factory=dict)  # by name (report.conditions)
    n: int = 0  # samples
    n_done: int = 0  # sample-trials with an outcome
    n_total: int = 0
    score: float | None = None
    ci95: tuple[float, float] | None = None
    chance: float | None = None
    outcomes: Mapping[str, int]
    cost: float | None = None
    state: State = "complete"
    at: float = 0.0  # when it was last started, in seconds since 1970; 0: scored from a file of replies
    changed: float = 0.0  # when its journal was last written
    trouble: str = ""  # why it cannot be read

    @property
    def n_failed(self) -> int:
        return self.outcomes.get("failed", 0)

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions from 0 to 1."""
        times = {
            name: datetime.fromtimestamp(one, UTC).isoformat(timespec="seconds") if one else None
            for name, one in (("at", self.at), ("changed", self.changed))
        }
        return {**asdict(self), "folder": str(self.folder), "ci95": self.ci95 and list(self.ci95), **times}


# -- Finding folders


def find_folders(root: str | Path) -> list[Path]:
    """Every run folder at or below `root`, by name. Links to folders are not followed.

    The shards of a run are left out where the whole run is there.
    """
    found = []
    for place, folders, files in os.walk(root):
        folders.sort()
        if FILE_NAME in files:
            found.append(Path(place))
    whole = {*found}
    return [
        folder
        for folder in found
        if not (above := folder.parent).name.endswith(SHARDS)
        or above.with_name(above.name.removesuffix(SHARDS)) not in whole
    ]


def find_run(given: str | Path, *, is_changed: bool = False) -> Path:
    """The run folder that a user means; `UsageError` with the candidates if it is not exactly one.

    `given` is the folder, its journal, a folder with runs (the newest of them, unless the run will be
    changed), `latest`, or the beginning of a run's name or hash below `runs`.
    """
    found = find_runs(given)
    if len(found) == 1:
        return found[0]
    if is_changed or not Path(given).is_dir():
        raise _tell_ambiguous(given, found)
    newest = _newest_first(found)[0]
    print_note(f"{given} holds {len(found)} runs; using the newest: {newest}")
    return newest


def find_runs(given: str | Path) -> list[Path]:
    """All runs that a user means: those of a folder, or the one that a name stands for.

    Shards of a folder count where no whole run is there; the page of an audit stands for the run with images,
    since a pattern of the shell (``runs/signs/*``) names it too.
    """
    path = Path(given)
    if path.name == FILE_NAME and path.is_file():
        return [path.parent]
    if path.is_dir():
        if found := find_folders(path):
            return [folder for folder in found if not folder.parent.name.endswith(SHARDS)] or found
        audited = path.with_name(path.name.removesuffix(AUDIT))
        if (audited / FILE_NAME).is_file():
            return [audited]
        raise UsageError(f"no run in {given}", hint=f"give the folder that contains {FILE_NAME}")
    return [find_named(str(given))]


def find_named(name: str, root: str | Path = ROOT) -> Path:
    """The run below `root` that `latest`, or the beginning of a name or of a hash, stands for."""
    typed = Path(name)
    below, beginning = Path(root), name.removeprefix("./").removeprefix(f"{root}/").rstrip("/")
    folders = find_folders(below)
    if typed.parent != Path() and (beside := find_folders(typed.parent)):
        below, beginning, folders = typed.parent, typed.name, beside  # as typed so far: runs/mine/openai
    if not folders:
        hint = f"give the folder that contains {FILE_NAME}; eyechart runs DIR lists the runs of a folder"
        raise UsageError(
            f"no run named {name!r}: there is no such folder, and there are no runs in {below}", hint=hint
        )
    if beginning == LATEST:
        return _newest_first(folders)[0]
    found = _match(beginning, folders, below)
    if not found:
        names = [folder.relative_to(below).as_posix() for folder in folders]
        command = "eyechart runs" if below == Path(ROOT) else f"eyechart runs {below}"
        hint = suggest_name(beginning, names, otherwise=f"{command} lists them")
        raise UsageError(
            f"no run named {name!r}: there is no such folder, and no run of that name in {below}", hint=hint
        )
    if len(found) > 1:
        raise _tell_ambiguous(name, found)
    return found[0]


def _match(beginning: str, folders: Sequence[Path], root: Path) -> list[Path]:
    """The runs whose name, path or hash begins so; a whole name wins over longer ones."""
    names = {folder: folder.relative_to(root).as_posix() for folder in folders}
    whole = [folder for folder, name in names.items() if beginning in (name, folder.name)]
    if whole or not beginning:
        return whole
    is_hash = len(beginning) >= _MIN_HASH
    return [
        folder
        for folder, name in names.items()
        if name.startswith(beginning)
        or folder.name.startswith(beginning)
        or (is_hash and folder.name.rpartition("-")[2].startswith(beginning))
    ]


def _tell_ambiguous(given: str | Path, found: Sequence[Path]) -> UsageError:
    newest = _newest_first(found)
    more = [f"and {len(found) - _MOST_LISTED} more"] if len(found) > _MOST_LISTED else []
    listed = "\n    ".join([*map(str, newest[:_MOST_LISTED]), *more])
    return UsageError(
        f"{given} {'holds' if Path(given).is_dir() else 'names'} {len(found)} runs",
        hint=f"name one of them (newest first):\n    {listed}",
    )


def _newest_first(folders: Iterable[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: (-read_changed(folder), str(folder)))


def read_changed(folder: Path) -> float:
    """When the journal of a run was last written, in seconds since 1970."""
    return max(_read_mtime(folder / name) for name in (FILE_NAME, f"{FILE_NAME}-wal"))


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


# -- One line per run


def list_runs(root: str | Path) -> list[ListedRun]:
    """All runs at or below a folder, the one that was written last first."""
    locked = find_locked()
    found = tell_apart(list_run(folder, root, locked) for folder in find_folders(root))
    return sorted(found, key=lambda run: (-run.changed, run.name))


def list_run(folder: Path, root: str | Path, locked: Mapping[int, int] | None = None) -> ListedRun:
    """One run; its numbers come from its summary, or are counted where that is missing or outdated."""
    relative = folder.relative_to(root)
    name = folder.name if relative == Path() else relative.as_posix()
    try:
        return _list(folder, name, find_locked() if locked is None else locked)
    except (EyechartError, OSError, ValueError, TypeError, AttributeError) as err:  # damaged in some way
        trouble = err.message if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
        found: dict[str, Any] = {"folder": folder, "name": name, "changed": read_changed(folder)}
        return ListedRun(**found, outcomes={}, state="unreadable", trouble=trouble)


def _list(folder: Path, name: str, locked: Mapping[int, int] | None) -> ListedRun:
    journal = JournalReader(folder / FILE_NAME, is_untouched=True)
    manifest = journal.read_mapping("manifest")
    is_active = is_running(folder, locked)
    summary, changed = folder / SUMMARY_NAME, read_changed(folder)
    # The journal may have changed since the summary was written.
    is_current = not is_active and _read_mtime(summary) + _FRESH_S >= changed
    numbers = (read_json(summary, Numbers) if is_current else None) or _count(journal, manifest)
    n_done = sum(numbers.outcomes.values())
    if numbers.pending or numbers.outcomes.get("failed"):  # no official number: see `Run.summary`
        manifest = {**manifest, "parity": ""}
    state: State = "failures" if numbers.outcomes.get("failed") else "complete"
    return ListedRun(
        folder=folder,
        name=name,
        benchmark=str(manifest.get("benchmark", "")),
        model=str(manifest.get("model", "")),
        address=", ".join(list_endpoints(manifest)),
        selection=tell_selection(manifest),
        conditions=describe_conditions(manifest, list_options(Options)),
        n_done=n_done,
        n_total=n_done + numbers.pending,
        **{name: getattr(numbers, name) for name in ("n", "score", "ci95", "chance", "outcomes", "cost")},
        state="running" if is_active else "incomplete" if numbers.pending or not manifest else state,
        at=journal.read_starts()[1],
        changed=changed,
    )


def tell_apart(runs: Iterable[ListedRun]) -> list[ListedRun]:
    """The runs, with scorer and judge where a benchmark has several: their scores are not comparable.

    Runs that would otherwise have the same line also have their data.
    """
    runs = list(runs)
    of_benchmark: dict[str, list[ListedRun]] = {}
    alike: dict[tuple[str, ...], list[ListedRun]] = {}
    for run in runs:
        of_benchmark.setdefault(run.benchmark, []).append(run)
        alike.setdefault((run.benchmark, run.model, run.address, run.selection), []).append(run)
    return [
        replace(run, selection=", ".join([
            *filter(None, [run.selection]),
            *_list_own(run, of_benchmark[run.benchmark], ("scorer", "judge")),
            *_list_own(run, alike[run.benchmark, run.model, run.address, run.selection], ("data", "replies")),
        ]))
        for run in runs
    ]  # fmt: skip


def _list_own(run: ListedRun, several: Sequence[ListedRun], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        for end in (" (version", ", parity"):  # no more than it takes to tell them apart
            told = [one.conditions.get(name, "").partition(end)[0] for one in (run, *several)]
            if len({*told}) > 1:
                yield from [f"{name} {told[0]}"] if told[0] else ()
                break


class Numbers(msgspec.Struct, frozen=True):
    """What a list shows of a summary."""

    n: int
    outcomes: dict[str, int]
    pending: int = 0
    score: float | None = None
    ci95: tuple[float, float] | None = None
    chance: float | None = None
    cost: float | None = None


def _count(journal: JournalReader, manifest: Mapping[str, Any]) -> Numbers:
    """The numbers of a run without a summary: counts, and the mean so far without its interval."""
    outcomes, score = tally_outcomes(journal, manifest)
    trials = max(1, int(manifest.get("trials", 1)))
    return Numbers(
        n=sum(outcomes.values()) // trials,
        outcomes={name: n for name, n in outcomes.items() if name != PENDING},
        pending=outcomes.get(PENDING, 0),
        # Where all rotations of a question count as one, the mean over rows is another number.
        score=None if manifest.get("circular") == "headline" else score,
    )


def tell_selection(manifest: Mapping[str, Any]) -> str:
    """Which samples were asked, and how, where it is not the whole benchmark once with its images.

    >>> tell_selection({"options": {"limit": 50, "where": {"category": "map"}, "input": "none"}})
    'limit 50, category=map, images not sent'
    """
    return describe_briefly(manifest, list_options(Options))


# -- Runs that are going on


def find_locked() -> dict[int, int] | None:
    """Inodes of the files that a process on this machine has locked, with its id; None where unknown.

    Read from the system's table: trying to lock a folder could turn away a run that starts at this moment.
    """
    found: dict[int, int] = {}
    try:
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if "FLOCK" in fields and "->" not in fields:  # an arrow: a process that waits
                inode = fields[-3].rpartition(":")[2]
                found[int(inode)] = int(fields[-4])
    except (OSError, ValueError, IndexError):
        return None
    return found


def is_running(folder: Path, locked: Mapping[int, int] | None) -> bool:
    """Whether a process works in the folder; `locked` is what `find_locked` found."""
    path = folder / LOCK_NAME
    with contextlib.suppress(OSError, ValueError):
        if locked is not None:
            return path.stat().st_ino in locked
        if sys.platform != "win32":  # no such table: does the process that locked it last still run?
            os.kill(int(path.read_text(encoding="ascii")), 0)
            return True
    return False


def sort_runs(runs: Iterable[ListedRun], key: str) -> list[ListedRun]:
    """Sorted by a column: scores and dates with the highest first, names from A on."""
    order: dict[str, Any] = {
        "date": lambda run: -run.changed,
        "score": lambda run: (run.benchmark, run.score is None, -(run.score or 0.0)),
        "benchmark": lambda run: (run.benchmark, run.model, -run.changed),
        "model": lambda run: (run.model, run.benchmark, -run.changed),
        "n": lambda run: -run.n,
    }
    return sorted(runs, key=order[key])


def select_runs(runs: Iterable[ListedRun], words: Sequence[str]) -> Iterator[ListedRun]:
    """The runs that have every word in their name, benchmark, model, address, selection or state."""
    wanted = [word.casefold() for word in words]
    for run in runs:
        shown = (run.name, run.benchmark, run.model, run.address, run.selection, run.state)
        text = " ".join(shown).casefold()
        if all(word in text for word in wanted):
            yield run
