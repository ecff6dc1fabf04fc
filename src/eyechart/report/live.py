"""The progress line of a run.

On a terminal it is redrawn five times per second; a file or a pipe gets a few plain lines. Errors here never
stop a run: a closed stream or a failing snapshot loses a line of progress, not replies.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TextIO

from rich.cells import cell_len

from eyechart.models.prices import format_usd
from eyechart.terminal import choose_note_stream, escape_controls, find_width, to_one_line, write
from eyechart.types import NodeStatus, Snapshot

REFRESH_S = 0.2
PLAIN_EVERY_S = 10.0
PLAIN_EVERY_SHARE = 0.1
_DEFAULT_WIDTH = 80
_ERASE_LINE = "\r\x1b[2K"
_ERASE_BELOW = "\x1b[J"  # the lines of nodes
_UP = "\x1b[{}A\r"
_MAX_NODES = 16  # that have a line of their own
_SLOWING = 0.1  # so large a share of refused requests decides the speed of the run


class LiveLine:
    """Shows `snapshot()` on `stream` from ``with`` to the end of the block, the last state included.

    >>> import io
    >>> out = io.StringIO()
    >>> with LiveLine(lambda: Snapshot(done=3, total=4, score=2 / 3, failed=1), out, label="demo"):
    ...     pass
    >>> print(out.getvalue().strip())
    demo  3/4 75%  score 66.7  1 failed
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        stream: TextIO | None = None,
        label: str = "",
        *,
        quiet: bool = False,
    ) -> None:
        self._snapshot = snapshot
        self._stream = stream if stream is not None else choose_note_stream()
        self._label = to_one_line(label)
        self._is_quiet = quiet
        self._is_terminal = _is_terminal(self._stream)
        self._stop = threading.Event()
        self._lock = threading.Lock()  # whole lines, from this thread and from `say`
        self._thread: threading.Thread | None = None
        self._said_at_s = 0.0
        self._has_below = False  # lines of nodes are drawn
        self._said = Snapshot()

    def __enter__(self) -> LiveLine:
        if not self._is_quiet:
            self._said_at_s = time.monotonic()
            self._thread = threading.Thread(target=self._watch, name="eyechart-live", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join(timeout=2.0)  # a stream that blocks must not hold up the run's end
        self._thread = None
        state = self._look()
        if state is None:
            return
        is_complete = 0 < state.total <= state.done
        if not self._is_terminal and is_complete and state.done == self._said.done:
            return  # the log already has the final state
        self._write("\n".join(self._lines(state)) + "\n", erase=True)

    def say(self, text: str) -> None:
        """Print a message above the progress line, even if quiet."""
        self._write(to_one_line(text) + "\n", erase=self._thread is not None)

    def _watch(self) -> None:
        while not self._stop.wait(REFRESH_S):
            state = self._look()
            if state is None:
                continue
            lines = self._lines(state)
            if self._is_terminal:  # the cursor stays in the first line, where the next one is drawn
                self._write("\n".join(lines), erase=True, up=len(lines) - 1)
            elif self._is_news(state):
                self._write("\n".join(lines) + "\n")

    def _look(self) -> Snapshot | None:
        # Reading the counters of a running engine must not stop the run, whatever goes wrong.
        with contextlib.suppress(Exception):
            return self._snapshot()
        return None

    def _is_news(self, state: Snapshot) -> bool:
        """Whether to log a line: a tenth further, or after ten seconds (minutes, in runs of hours)."""
        now_s = time.monotonic()
        is_step = state.total > 0 and state.done - self._said.done >= PLAIN_EVERY_SHARE * state.total
        is_due = now_s - self._said_at_s >= max(PLAIN_EVERY_S, 0.02 * state.elapsed_s)
        if not is_step and not is_due:
            return False
        self._said_at_s, self._said = now_s, state
        return True

    def _lines(self, state: Snapshot) -> list[str]:
        """The progress line; of a run on a cluster, a line per node below it."""
        # Read every time, because windows are resized.
        width = (find_width(self._stream) or _DEFAULT_WIDTH) - 1 if self._is_terminal else None
        nodes = [f"  {line}" for line in format_nodes(state.nodes)]
        if width is not None:
            nodes = [_cut(line, width) for line in nodes]
        return [format_status(state, label=self._label, width=width), *nodes]

    def _write(self, text: str, *, erase: bool = False, up: int = 0) -> None:
        # OSError: the terminal is gone. ValueError: the stream was closed.
        with self._lock, contextlib.suppress(OSError, ValueError):
            start = _ERASE_LINE + _ERASE_BELOW * self._has_below if erase and self._is_terminal else ""
            self._has_below = up > 0
            end = _UP.format(up) if up else ""
            # Replacing what cannot be encoded keeps the line's width.
            write(self._stream, start + escape_controls(text) + end, errors="replace")


def format_status(state: Snapshot, *, label: str = "", width: int | None = None) -> str:
    """The progress line. If it exceeds `width`, the least important parts are left out first.

    >>> state = Snapshot(
    ...     done=1234, total=4329, score=0.7134, requests_per_s=12.4, in_flight=31, limit=32, p50_s=0.8,
    ...     p95_s=2.34, throttled=0.05, tokens=1_234_567, cost=1.5, eta_s=250,
    ... )
    >>> line = format_status(state)
    >>> print(line[:78])
    1,234/4,329 28%  score 71.3  12.4 req/s  31 of 32 in flight  p50 0.8s p95 2.3s
    >>> print(line[80:])
    429: 5%  1.2M tokens  $1.50  ETA 4m10s
    >>> format_status(state, width=40)
    '1,234/4,329 28%  score 71.3  ETA 4m10s'
    """
    parts = _parts(state, label)
    if width is None:
        return "  ".join(text for _, text in parts)
    while len(parts) > 1 and sum(cell_len(text) + 2 for _, text in parts) - 2 > width:
        parts.remove(max(parts))
    return _cut("  ".join(text for _, text in parts), width)


def format_nodes(nodes: Sequence[NodeStatus]) -> list[str]:
    """A line per node; of many, the first ones.

    >>> format_nodes([NodeStatus(name="node1", workers=2, done=1200, in_flight=32, per_s=8.25)])
    ['node1: 2 workers  1,200 done  8.2 samples/s  32 in flight']
    """
    lines = []
    for node in nodes[:_MAX_NODES]:
        parts = [f"{node.name}: {node.workers} worker{'s' * (node.workers != 1)}"]
        parts += [f"{node.lost} lost"] if node.lost else []
        parts += [f"{node.done:,} done", f"{node.per_s:.1f} samples/s"]
        parts += [f"{node.in_flight:,} in flight"] if node.in_flight else []
        lines.append("  ".join(to_one_line(part) for part in parts))
    if len(nodes) > _MAX_NODES:
        rest = nodes[_MAX_NODES:]
        lines.append(f"and {len(rest)} more nodes: {sum(node.done for node in rest):,} done")
    return lines


def _parts(state: Snapshot, label: str) -> list[tuple[int, str]]:
    """The parts of the line in order, each with its rank: the highest rank is left out first."""
    share = f" {100 * state.done // state.total}%" if state.total else ""
    of = f" of {state.limit:,}" if state.limit else ""
    times = ""
    if state.p50_s is not None and state.p95_s is not None:
        times = f"p50 {_seconds(state.p50_s)} p95 {_seconds(state.p95_s)}"
    parts = [
        (5, label),
        (0, f"{state.done:,}/{state.total:,}{share}"),
        (1, state.status),
        (1, "" if state.score is None else f"{state.score_name} {100 * state.score:.1f}"),
        (5, f"{state.requests_per_s:.1f} req/s" if state.requests_per_s else ""),
        (8, f"{state.in_flight:,}{of} in flight" if state.in_flight else ""),
        (9, times),
        (6, _throttled(state.throttled)),
        (6, f"slowed by {state.slowed_by}" if state.slowed_by else ""),
        (7, f"{state.retried:,} retried" if state.retried else ""),
        (2, f"{state.failed:,} failed" if state.failed else ""),
        (3, f"{state.waiting:,} waiting to retry" if state.waiting else ""),
        (11, f"{state.resumed:,} resumed" if state.resumed else ""),
        (12, f"{state.cached:,} reused" if state.cached else ""),
        (10, f"{_short(state.tokens)} tokens" if state.tokens else ""),
        (4, "" if state.cost is None else f"${format_usd(state.cost)}{' paid' * bool(state.cached)}"),
        (3, _ending(state)),
    ]
    return [(rank, text) for rank, text in parts if text]


def _cut(text: str, width: int) -> str:
    """As much of it as fits into `width` columns."""
    while text and cell_len(text) > width:
        text = text[:-1]
    return text


def _throttled(share: float) -> str:
    """The share of 429 replies among the latest requests; a small share is not shown as 0.

    >>> _throttled(0.05), _throttled(0.004), _throttled(0.0)
    ('429: 5%', '429: <1%', '')
    >>> _throttled(0.25)
    'slowed by the endpoint (429: 25%)'
    """
    if not share:
        return ""
    if share >= _SLOWING:
        return f"slowed by the endpoint (429: {100 * share:.0f}%)"
    return f"429: {100 * share:.0f}%" if share >= 0.005 else "429: <1%"


def _seconds(value: float) -> str:
    return f"{1000 * value:.0f}ms" if value < 0.1 else f"{value:.1f}s"


def _short(number: int) -> str:
    """A large number in a few characters.

    >>> [_short(n) for n in (999, 12_345, 1_234_567, 5_000_000_000)]
    ['999', '12.3k', '1.2M', '5.0G']
    """
    value = float(number)
    for unit in ("", "k", "M", "G", "T"):
        if value < 1000 or unit == "T":
            return f"{value:.1f}{unit}" if unit else str(number)
        value /= 1000
    return str(number)


def _ending(state: Snapshot) -> str:
    """Time left during the run, time taken at its end.

    No estimate if everything that is left waits for a retry.
    """
    if state.done < state.total:
        if state.waiting >= state.total - state.done:
            return ""
        return "" if state.eta_s is None else f"ETA {format_duration(state.eta_s)}"
    return f"in {format_duration(state.elapsed_s)}" if state.elapsed_s else ""


def format_duration(seconds: float) -> str:
    """Format seconds for people.

    >>> [format_duration(s) for s in (0.4, 42, 250, 7260, 100_000, float("inf"))]
    ['0s', '42s', '4m10s', '2h01m', '1d03h', '?']
    """
    if not 0 <= seconds < 1e9:  # a rate near zero makes estimates of centuries
        return "?"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d{hour:02}h"
    if hours:
        return f"{hours}h{minute:02}m"
    return f"{minute}m{second:02}s" if minutes else f"{second}s"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, OSError, ValueError):
        return False
