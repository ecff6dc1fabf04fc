"""The runs below a folder, for the web page: found anew for every request, read again when they change.

A run is asked for by its name, which must be one of those that were found: no text from a request becomes a
path. Files that are links are left out. What was read is kept in memory until the files behind it change; the
run folders are never written to.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.errors import UsageError
from eyechart.files import read_json
from eyechart.report.conditions import hide_folders
from eyechart.runs.audit import AUDIT_NAME, BLIND_NAME
from eyechart.runs.listing import ListedRun, find_folders, find_locked, is_running, list_run, tell_apart
from eyechart.runs.results import Run
from eyechart.store.browse import SampleList
from eyechart.store.folder import REPORT_NAME, SUMMARY_NAME
from eyechart.store.journal import FILE_NAME
from eyechart.types import Result

T = TypeVar("T")
DOWNLOADS = {SUMMARY_NAME: "application/json", REPORT_NAME: "application/octet-stream"}  # with their types
_LOOK_EVERY_S = 0.5  # folders are not walked more often
_KEPT = 32  # opened runs, lists of samples, comparisons


class NotFound(UsageError):
    """There is no such run, sample or file."""


class Library:
    """All runs at and below `root`."""

    def __init__(self, root: str | Path) -> None:
        self.shown_root = str(root)  # as the user named it
        self.root = Path(root).resolve()
        self._lock = threading.Lock()
        self._lines: dict[Path, tuple[Hashable, ListedRun]] = {}
        self._kept: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
        self._looked: tuple[float, list[ListedRun]] = (-1e9, [])

    # -- The list

    def list_runs(self) -> list[ListedRun]:
        """Every run, the one written last first."""
        at, found = self._looked
        if time.monotonic() - at < _LOOK_EVERY_S:
            return found
        locked = find_locked()
        lines = []
        for folder in find_folders(self.root):
            if (folder / FILE_NAME).is_symlink():
                continue
            sign = (*_sign(folder), is_running(folder, locked))
            kept = self._lines.get(folder)
            if kept is None or kept[0] != sign:
                line = list_run(folder, self.root, locked)
                line = replace(line, name=_make_name(line.name), model=hide_folders(line.model))
                kept = self._lines[folder] = (sign, line)
            lines.append(kept[1])
        found = sorted(tell_apart(lines), key=lambda run: (-run.changed, run.name))
        self._looked = (time.monotonic(), found)
        return found

    def find(self, name: str) -> ListedRun:
        """The run of this name; `NotFound` if it is not in the list."""
        for run in self.list_runs():
            if run.name == name:
                return run
        raise NotFound(f"no run named {name!r} here", hint="it may have been moved or removed")

    # -- One run

    def open(self, name: str) -> Run:
        """The run, opened so that reading creates no files beside the journal."""
        line = self.find(name)
        return self._keep(("run", name), _sign(line.folder), lambda: Run(line.folder, is_untouched=True))

    def read_summary(self, name: str) -> dict[str, Any]:
        """summary.json, or an empty mapping where it is missing or cannot be read."""
        return self._read_json(self.find(name).folder / SUMMARY_NAME)

    def list_samples(self, name: str) -> SampleList:
        """Outcome of every sample-trial; read again only if the journal has changed."""
        run = self.open(name)
        return self._keep(("samples", name), _sign(run.folder), lambda: SampleList(run.journal, run.manifest))

    def read_sample(self, name: str, sample: str, trial: int = 0) -> Result:
        """One trial of one sample, in full."""
        run = self.open(name)
        if not 0 <= trial < run.trials:
            raise NotFound(f"{name} has no trial {trial}")
        scorer = run.manifest.get("scorer", "")
        version = run.manifest.get("versions", {}).get(scorer, "")
        found = run.journal.results(scorer, version=version, trials=run.trials, trial=trial, sample=sample)
        for result in found:
            return result
        raise NotFound(f"{name} has no sample {sample!r}")

    def compute(self, key: tuple[str, ...], names: tuple[str, ...], make: Callable[[], T]) -> T:
        """Keep what was computed from these runs until one of them changes."""
        return self._keep(key, tuple(_sign(self.find(name).folder) for name in names), make)

    # -- Files

    def find_file(self, name: str, file: str) -> Path | None:
        """A file of a run that may be downloaded; None if it is not there or is a link."""
        path = self.find(name).folder / file
        is_there = file in DOWNLOADS and path.is_file() and not path.is_symlink()
        return path if is_there else None

    def list_audits(self) -> dict[str, dict[str, Any]]:
        """The results of audits (``eyechart audit``), by the name of their folder."""
        found = {name: self._read_json(folder / AUDIT_NAME) for name, folder in self._find_audits()}
        return {name: read for name, read in found.items() if read}

    def _find_audits(self) -> Iterator[tuple[str, Path]]:
        for place, folders, files in os.walk(self.root):
            folders.sort()
            if AUDIT_NAME in files:
                yield _make_name(Path(place).relative_to(self.root).as_posix()), Path(place)

    def read_blind_solvable(self, audit: str, at_most: int) -> list[dict[str, Any]]:
        """The first questions that an audit found to be answered without the image."""
        folder = dict(self._find_audits()).get(audit)
        if folder is None:
            raise NotFound(f"no audit named {audit!r} here")
        path = folder / BLIND_NAME
        found: list[dict[str, Any]] = []
        if path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError, ValueError, msgspec.DecodeError), path.open("rb") as file:
                lines = islice(file, at_most)
                found.extend(msgspec.json.decode(line, type=dict[str, Any]) for line in lines)
        return found

    def _read_json(self, path: Path) -> dict[str, Any]:
        return self._keep(("json", path), _sign_file(path), lambda: read_json(path, dict[str, Any]) or {})

    def _keep(self, key: Hashable, sign: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] == sign:
                self._kept.move_to_end(key)
                value: T = kept[1]
                return value
        made = make()  # may take seconds: other requests go on
        with self._lock:
            self._kept[key] = (sign, made)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made


def _make_name(name: str) -> str:
    r"""A folder's name for pages and links: bytes that are not UTF-8 and control characters by their codes.

    >>> _make_name("mine/a\nb\udcff")
    'mine/a\\nb\\udcff'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in name)


def _sign(folder: Path) -> tuple[Hashable, ...]:
    """What changes with the files of a run."""
    return tuple(_sign_file(folder / name) for name in (FILE_NAME, f"{FILE_NAME}-wal", SUMMARY_NAME))


def _sign_file(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
