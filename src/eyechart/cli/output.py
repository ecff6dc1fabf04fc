"""Text and JSON on stdout; everything else on stderr."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from eyechart.errors import listed
from eyechart.terminal import UNSAFE, print_note, show_status, visible, write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.run.record import Run
    from eyechart.run.rescore import Change


n_printed = 0  # JSON values on stdout, of which there may be one


def print_json(value: Any) -> None:
    """One JSON value, nothing else."""
    global n_printed
    n_printed += 1
    import json

    from eyechart.report.record import to_json_text

    text = json.dumps(json.loads(to_json_text(value)), indent=2, ensure_ascii=not _speaks_unicode())
    write(sys.stdout, UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


@contextlib.contextmanager
def stdout_kept_for(*, is_json: bool) -> Iterator[None]:
    """What a user's own model or configuration prints meanwhile goes to stderr when stdout is for JSON."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def print_rich(*renderables: RenderableType) -> None:
    """Tables and panels, as wide as the terminal."""
    from rich.console import Console
    from rich.segment import Segment

    class Tables(Console):
        def on_broken_pipe(self) -> NoReturn:
            """Rich would end the program with code 1, which means failed samples here."""
            raise BrokenPipeError

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            """What a cell holds is shown and never obeyed, even where a table forgot to see to it."""
            for part in super().render(renderable, options):
                yield part if part.control else Segment(visible(part.text), part.style)

    if not _speaks_unicode() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a dash that cannot be shown is no reason to fail
    # Into a file or a pipe: wide enough for any table of ours, no colours.
    console = Tables(width=None if sys.stdout.isatty() else 120)
    for renderable in renderables:
        console.print(renderable)


def note(text: str) -> None:
    """A remark for people, on stderr."""
    print_note(text)


def tell(runs: Sequence[Run], *, as_json: bool) -> None:
    """Print the numbers, then what went wrong and what to do next."""
    if as_json:
        summaries = [done.summary.to_json() for done in runs]
        print_json(summaries[0] if len(summaries) == 1 else {"runs": summaries})
    else:
        print_rich(*_tables(runs))
    for done in runs:
        remark(done, as_json=as_json)


def remark(done: Run, *, as_json: bool) -> None:
    """What went wrong with a run, what to do next, and what lies where; on stderr."""
    from eyechart.registry import writes_submission
    from eyechart.run.record import OFFICIAL

    if done.trouble is not None:
        note(f"the run was stopped: {done.trouble}")
    if done.is_interrupted:
        note(f"interrupted; start the same command again to go on ({done.folder})")
    elif n_failed := done.n_failed:
        note("\n  ".join([f"{n_failed} sample{'s' * (n_failed != 1)} failed", *_failures(done)]))
    elif done.n_asked == 0 and done.trouble is None:
        note(
            "nothing was asked: every sample has its reply already (requests, tokens and cost are the run's)"
        )
    if n_unjudged := done.n_unjudged:
        what = "1 reply waits" if n_unjudged == 1 else f"{n_unjudged} replies wait"
        note(f"{what} for the judge, which gave no answer; start the same command again to ask it")
    if done.cache_trouble:
        note(f"the response cache was not used: {done.cache_trouble}")
    if done.files_trouble:
        note(f"the result files could not be written: {done.files_trouble}")
    if done.summary.score is None and not done.n_failed and not _has_golds(done):
        is_submission = done.files and writes_submission(str(done.manifest["files"]))
        where = f"; the file to hand in: {done.files[0]}" if is_submission else ": nothing can be scored"
        note(f"no {'answer is public' if is_submission else 'question has an answer'}{where}")
    if not as_json:
        if done.files:
            folder = done.folder / OFFICIAL
            names = [path.relative_to(folder).as_posix() for path in done.files]
            note(f"result files: {folder} ({listed(names, 6)})")
        note(f"run folder: {done.folder}")


def changes_table(changes: Sequence[Change], *, heading: str, columns: tuple[str, str]) -> RenderableType:
    """Samples that have two verdicts, the first ones by name."""
    from rich.console import Group as Stack
    from rich.table import Table
    from rich.text import Text

    from eyechart.terminal import one_line

    shown = 20
    rest = f", the first {shown}" if len(changes) > shown else ""
    table = Table(box=None, pad_edge=False)
    for name in ("sample", *columns):
        table.add_column(name)
    for change in changes[:shown]:
        name = change.sample if not change.trial else f"{change.sample} (trial {change.trial})"
        was = f"{change.before} {change.value_before:g}"
        table.add_row(Text(one_line(name)), was, f"{change.after} {change.value_after:g}")
    return Stack(Text(f"{heading}{rest}:"), table) if changes else Text(heading)


def _tables(runs: Sequence[Run]) -> list[RenderableType]:
    """One run in full, several side by side."""
    from eyechart.report.table import run_table, runs_table

    summaries = [done.summary for done in runs]
    return [run_table(summaries[0])] if len(summaries) == 1 else [runs_table(summaries)]


def _has_golds(done: Run) -> bool:
    return any(result.sample.golds for result in done.samples())


def _failures(done: Run, at_most: int = 1000) -> Iterator[str]:
    """An example of each kind of failure, and what to do about it."""
    from itertools import islice

    failed = (result for result in done.samples() if result.outcome == "failed" and result.failure)
    kinds: dict[str, list[str]] = {}
    for result in islice(failed, at_most):
        assert result.failure is not None
        kinds.setdefault(result.failure.remedy, []).append(f"{result.sample.id}: {result.failure.reason}")
    for remedy, examples in kinds.items():
        yield f"e.g. {examples[0]}" if len(kinds) == 1 else f"{len(examples):,}, e.g. {examples[0]}"
        if "replies" not in done.manifest:  # scored from a file: there is nobody to ask
            yield f"hint: {remedy}"


def counting(what: str) -> Callable[[int], None] | None:
    """Something to call with a growing count: shown on a terminal, at a readable pace."""
    if not sys.stderr.isatty():
        return None
    shown_at_s = 0.0

    def show(count: int) -> None:
        nonlocal shown_at_s
        if time.monotonic() - shown_at_s > 0.2:
            shown_at_s = time.monotonic()
            show_status(f"{count:,} {what}")

    return show


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
