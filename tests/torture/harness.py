"""A run that is disturbed on purpose, and what must hold all the same.

Only what any user has is looked at: the command, the files it leaves, and the server's log.

After every start that ended, however it ended:

1. a question whose answer was on disk before the start was not asked in it, and no answer was asked for
   more often than it was needed;
2. everything that was on disk before is still there, byte for byte;
3. every answer on disk is one that the server gave as an answer to those very words;
4. the SQLite file is whole.

At the end, besides: every sample has a reply or a failure, and the report, every verdict, every answer
and the pipeline's own result files are those of a run that nobody disturbed.
"""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from support.command import Outcome, environment
from torture import journal
from torture.endpoint import Endpoint, Entry, Logs, good_answer
from torture.journal import Journal
from torture.workloads import JUDGE, Workload

CONCURRENCY = 8
LONGEST_S = 60.0
# What may differ between two runs of the same questions: where it lies, and how long and often it took.
CHANGING = ("run", "requests", "seconds", "latency")
# What another start of the same run may have said otherwise, by the names of its options.
OF_A_START = ("out", "concurrency", "adaptive", "max_total_tokens")


@dataclass
class Case:
    """A workload at a server, to be run in several folders."""

    folder: Path
    workload: Workload
    endpoint: Endpoint
    flags: tuple[str, ...] = ()
    others: tuple[Endpoint, ...] = ()  # where the same model is served, too
    has_cache: bool = False  # else the journal alone keeps answers, and has to

    def __post_init__(self) -> None:
        self.workload.make(self.folder, self.workload.n)

    @cached_property
    def logs(self) -> Logs:
        """What its servers were asked."""
        return Logs((self.endpoint, *self.others))

    def arguments(self, out: str) -> list[str]:
        """The words of the command."""
        source, *own = self.workload.arguments
        served = [word for one in (self.endpoint, *self.others) for word in ("--base-url", one.base_url)]
        judge = ["--judge", f"openai/{JUDGE}", "--judge-base-url", self.endpoint.base_url]
        return [
            "run", source, "-m", "openai/m", *served, *own,
            *(judge if self.workload.has_judge else ()),
            *(() if self.has_cache else ("--no-cache",)),
            "--concurrency", str(CONCURRENCY), *self.flags, "--out", out, "--json", "-q",
        ]  # fmt: skip

    @cached_property
    def undisturbed(self) -> Report:
        """What a run that nobody disturbs makes of it; every answer is asked for once."""
        run = Disturbed(self, "calm")
        done = run.go_on()
        assert done.code == 0, done.err
        assert run.n_lost == 0
        return run.report(done)


@dataclass(frozen=True)
class Report:
    """All that a finished run says."""

    summary: dict[str, Any]
    scores: frozenset[journal.Row]
    answers: Counter[tuple[str, str]]
    files: dict[str, bytes]


@dataclass
class Disturbed:
    """One run folder through all its starts."""

    kills_of_all: ClassVar[int] = 0
    lost_of_all: ClassVar[int] = 0  # answers of these that were not on disk
    case: Case
    out: str
    before: Sequence[str] = ()  # the words before the command itself
    program: Sequence[str] = ("-m", "eyechart")
    flags: Sequence[str] = ()  # beside those of the case; may change from start to start
    cache: str = ""  # where another run's is used; else it has its own
    kills: int = 0
    kills_mid_run: int = 0
    n_repeated: int = 0  # answers that the server gave twice in one start
    may_repeat: int = 0  # as often as a dying server may have taken back what it had written
    longest_s: float = LONGEST_S  # that a start may take by itself
    place: Path | None = None  # the out folder, where it is not seen under its own name
    on_disk: Journal = field(default_factory=Journal)
    asked: list[Entry] = field(default_factory=list)  # the requests of all starts so far
    given: Counter[str] = field(default_factory=Counter)  # good answers in all starts so far, by words
    since: int = 0  # in the server's log, where the current start began

    # -- starting and ending it ------------------------------------------------------------------

    def start(self, terminal: int | None = None, /, **changes: str) -> subprocess.Popen[str]:
        """Start the command; it is to be ended by one of the methods below. `terminal`: its own, if any."""
        self.since = self.case.logs.position()
        return subprocess.Popen(
            [*self.before, sys.executable, *self.program, *self.case.arguments(self.out), *self.flags],
            cwd=self.case.folder,
            env=environment(EYECHART_CACHE=str(self.cache_file.parent), **changes),
            stdin=terminal,
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=subprocess.PIPE if terminal is None else terminal,
            text=True,
            start_new_session=terminal is not None,
            # So that the system itself tells the process when the terminal is closed.
            preexec_fn=None if terminal is None else lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def go_on(self, **changes: str) -> Outcome:
        """Start it and let it come to its end by itself."""
        return self.end(self.start(**changes))

    def kill(self, when: Moment, **changes: str) -> bool:
        """Start it and kill it when `when` returns; says whether it was still running."""
        n_lost = self.n_lost
        process = self.start(**changes)
        when(process, self)
        process.kill()
        process.communicate()
        was_running = process.returncode == -signal.SIGKILL  # it may end by itself at the very last moment
        if was_running:
            self.kills += 1
            Disturbed.kills_of_all += 1
            now = self.check()
            Disturbed.lost_of_all += max(0, self.n_lost - n_lost)
            self.kills_mid_run += bool(now.committed) and len(now.replies) < self.case.workload.n_replies
        else:
            assert process.returncode == 0
            self.check()
        return was_running

    def end(self, process: subprocess.Popen[str]) -> Outcome:
        """Wait for the end of a start that nobody kills."""
        try:
            out, err = process.communicate(timeout=self.longest_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"it did not end within {self.longest_s:g} s: {err}") from None
        assert "Traceback" not in err, err
        assert "internal error" not in err, err
        self.check()
        return Outcome(process.returncode, out, err)

    # -- what must hold --------------------------------------------------------------------------

    def check(self) -> Journal:
        """Everything that holds after any start; what is on disk now."""
        self.case.logs.settle()
        entries = self.case.logs.entries(self.since)
        before, now = self.on_disk, journal.read(self.file, self.case.workload.trials)
        for key, body in before.committed.items():
            assert now.committed.get(key) == body, f"lost or changed: {key}"
        self._check_asked(entries, before, now)
        self.asked.extend(entries)
        self._check_answers(now)
        self.on_disk, self.since = now, self.case.logs.position()
        return now

    def _check_asked(self, entries: Sequence[Entry], before: Journal, now: Journal) -> None:
        """Nothing is asked that was on disk, nor more than was missing."""
        had = before.answered
        given: Counter[str] = Counter()
        for entry in entries:
            missing = self.case.workload.trials - had[entry.words]
            assert missing > 0, f"asked again although it was on disk: {entry}"
            assert entry.choices <= missing, f"more was asked for than was missing: {entry}"
            given[entry.words] += entry.n_given
            if given[entry.words] > missing:
                self.n_repeated += entry.n_given
                assert self.n_repeated <= self.may_repeat, f"asked twice in one start: {entry}"
        self.given += given
        assert now.answered <= self.given, f"on disk, yet never given: {now.answered - self.given}"

    @staticmethod
    def _check_answers(now: Journal) -> None:
        for words, text in now.texts():
            assert text == good_answer(words), f"never given as an answer to {words!r}: {text!r}"

    def report(self, done: Outcome) -> Report:
        """What the finished run says; every sample is settled, and the files agree with what was printed."""
        now = self.check()
        assert not now.unsettled()
        assert not now.failures, now.failures
        assert not now.provisional
        assert len(now.replies) == self.case.workload.n_replies
        [folder] = self.root.glob("*/*")
        assert json.loads((folder / "summary.json").read_text()) == done.json
        assert not list(folder.rglob(".*.part")), "a half-written file was left"
        files = {
            str(path.relative_to(folder)): self._comparable(path)
            for path in sorted(folder.glob("official/**/*"))
            if path.is_file() and path.suffix != ".xlsx"
        }
        changing = (*CHANGING, *self.case.workload.changing)
        summary = {name: value for name, value in done.json.items() if name not in changing}
        for judge in (summary.get("judge") or {}).get("judges", ()):
            del judge["cached"]  # its verdicts may be those of another run
        return Report(summary, now.scores, Counter(now.texts()), files)

    @staticmethod
    def _comparable(path: Path) -> bytes:
        """A result file as it is, and of the one that says how the run was made what no start may change."""
        if path.name != "args.json":
            return path.read_bytes()
        said = json.loads(path.read_text())
        for name in OF_A_START:
            del said["options"][name]
        return json.dumps(said).encode()

    def finish(self, **changes: str) -> None:
        """Let it go on to its end, and compare it with the undisturbed run."""
        self.compare(self.go_on(**changes))

    def compare(self, done: Outcome) -> None:
        """A start that ended well says what the undisturbed run says."""
        assert done.code == 0, done.err
        mine, calm = self.report(done), self.case.undisturbed
        assert mine.summary == calm.summary
        assert mine.scores == calm.scores
        assert mine.answers == calm.answers
        assert mine.files.keys() == calm.files.keys()
        assert not [name for name in mine.files if mine.files[name] != calm.files[name]]

    # -- where it lies ---------------------------------------------------------------------------

    @property
    def n_lost(self) -> int:
        """Answers that the server gave and that something kept from the disk."""
        return (self.given - self.on_disk.answered).total()

    @property
    def root(self) -> Path:
        """The folder that `--out` names."""
        return self.place or self.case.folder / self.out

    @property
    def file(self) -> Path:
        """The journal; where there is none yet, where it could be."""
        return next(iter(self.root.glob("*/*/run.sqlite")), self.root / "run.sqlite")

    @property
    def cache_file(self) -> Path:
        """The response cache, where the case has one."""
        return self.case.folder / f"cache-{self.cache or self.out.replace('/', '-')}" / "responses.sqlite"


Moment = Callable[[subprocess.Popen[str], Disturbed], None]


def after_s(seconds: float) -> Moment:
    """Wait for a moment of the clock: anything may be going on by then."""

    def wait(process: subprocess.Popen[str], run: Disturbed) -> None:
        end = time.monotonic() + seconds
        _wait(process, lambda: time.monotonic() >= end)

    return wait


def after_answers(count: int, more_s: float = 0.0) -> Moment:
    """Wait until the server has given so many answers in this start, and a little more."""

    def wait(process: subprocess.Popen[str], run: Disturbed) -> None:
        _wait(process, lambda: run.case.logs.n_answered(run.since) >= count)
        time.sleep(more_s)

    return wait


def after_the_last(more_s: float = 0.0) -> Moment:
    """Wait until the server has been asked and has nothing more to do: scores and reports follow."""

    def is_quiet(run: Disturbed) -> bool:
        logs = run.case.logs
        if logs.position() == run.since or logs.in_flight():
            return False
        time.sleep(0.01)  # a client that goes on has asked again by now
        return not logs.in_flight()

    def wait(process: subprocess.Popen[str], run: Disturbed) -> None:
        _wait(process, lambda: is_quiet(run))
        time.sleep(more_s)

    return wait


def _wait(process: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    """Until it is so, or the process has ended by itself."""
    end = time.monotonic() + LONGEST_S
    while process.poll() is None and not until():
        assert time.monotonic() < end, "the server is not asked any more"
        time.sleep(0.002)
