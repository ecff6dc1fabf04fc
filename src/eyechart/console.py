"""What commands share: adding a command, and printing runs, estimates and JSON.

Results go to stdout; everything else goes to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from eyechart.errors import EyechartError, StoreError, UsageError, join_names, rename_flags
from eyechart.option import list_options
from eyechart.registry import has_submission
from eyechart.terminal import (
    UNSAFE,
    escape_controls,
    format_size,
    print_note,
    print_text,
    to_one_line,
    write,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.report.compare import Comparison
    from eyechart.runs.estimate import Estimate
    from eyechart.runs.replies import Change
    from eyechart.runs.results import Run


JSON_HELP = "print one JSON object on stdout and nothing else"
RUN_HELP = "a run: its folder, the beginning of its name or hash, or latest; see eyechart runs"

Verbs = Any  # the type of argparse's sub-parsers is private


def add_verb(
    verbs: Verbs,
    name: str,
    execute: Callable[[argparse.Namespace], int] | None = None,
    *,
    help: str,
    description: str = "",
    examples: str = "",
    aliases: Sequence[str] = (),
) -> argparse.ArgumentParser:
    """Add a sub-command; its description may end with a section of `examples:`."""
    told, _, listed = description.partition("\nexamples:\n")
    examples = examples or listed
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=help,
        aliases=list(aliases),
        description=told or help,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(execute=execute, parser=parser)
    return parser


class HelpAll(argparse.Action):
    """``--help-all``: the help, with the flags that a short ``--help`` leaves out."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        nothing = argparse.SUPPRESS
        super().__init__(
            option_strings, nothing, nargs=0, default=nothing, help="show this help with all flags and exit"
        )
        self.left_out: dict[argparse.Action, str | None] = {}

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        self.restore()
        parser.print_help()
        parser.exit()

    def restore(self) -> None:
        """Give every flag its help text again."""
        for action, text in self.left_out.items():
            action.help = text


def shorten_help(parser: argparse.ArgumentParser, *declared: type, without: Collection[str] = ()) -> None:
    """Let ``--help`` show the options marked `is_common` alone, and ``--help-all`` show all.

    `declared` are the classes of the options; `without` names further flags to leave out.
    """
    rare = {one.name for cls in declared for one in list_options(cls).values() if not one.is_common}
    action = parser.add_argument("--help-all", action=HelpAll)
    assert isinstance(action, HelpAll)
    for one in parser._actions:
        if one.dest in rare | set(without) and one.option_strings:
            action.left_out[one], one.help = one.help, argparse.SUPPRESS
    shown = parser._optionals._group_actions
    shown.insert(1, shown.pop())  # below --help


def load_dotenv() -> None:
    """Read a .env file of the current folder and print which names it sets; the environment wins."""
    from eyechart.models.environment import load_dotenv as load

    if said := load():
        print_note(said)


n_printed = 0  # JSON values on stdout; at most one is allowed


def print_json(value: Any) -> None:
    """Print one JSON value."""
    global n_printed
    n_printed += 1
    from eyechart.report.rows import to_json_text

    text = json.dumps(json.loads(to_json_text(value)), indent=2, ensure_ascii=not _speaks_unicode())
    write(sys.stdout, UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


@contextlib.contextmanager
def reserve_stdout(*, is_json: bool) -> Iterator[None]:
    """If stdout is for JSON, what a user's model or configuration prints goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def print_rich(*renderables: RenderableType) -> None:
    """Print tables and text, as wide as the terminal."""
    from rich.console import Console
    from rich.segment import Segment

    class Tables(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError  # rich would exit with code 1, which here means failed samples

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                # A second defence, in case a table did not escape its cells.
                yield part if part.control else Segment(escape_controls(part.text), part.style)

    if not _speaks_unicode() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a dash that cannot be encoded must not fail the command
    # In a file or a pipe: wide enough for every table, no colours.
    console = Tables(width=None if sys.stdout.isatty() else 120)
    for renderable in renderables:
        console.print(renderable)


def make_facts_table(facts: Iterable[tuple[str, str]]) -> RenderableType:
    """Two columns without headings: names and values; values are wrapped."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(Text(escape_controls(name)), Text(escape_controls(value)))
    return table


def add_page_flags(parser: argparse.ArgumentParser, what: str, more: str = "") -> None:
    """``--html`` for a page with `what`, and ``--full-images``."""
    parser.add_argument("--html", metavar="FILE", help=f"write one page: {what}")
    full = "with --html: images as they were sent, not small copies"
    parser.add_argument("--full-images", action="store_true", help=f"{full}{more}")


def check_targets(*files: str | None, full_images: bool = False, otherwise: str = "") -> None:
    """Refuse files that cannot be written before anything is read; `full_images` needs a page among them.

    `otherwise` names another flag that takes full images.
    """
    if full_images and not any(files):
        raise UsageError(f"--full-images has no effect without --html{otherwise}", hint="add --html FILE")
    for path in (Path(one) for one in files if one):
        if not path.parent.is_dir():
            hint = f"create it: mkdir -p {path.parent}"
            raise StoreError(f"{path}: no such folder: {path.parent}", hint=hint)
        if path.is_dir():
            raise StoreError(f"{path} is a folder", hint="give a file name")


def confirm(question: str) -> bool:
    """Ask on the terminal; without one, `UsageError` asks for ``--yes``."""
    if not sys.stdin.isatty():
        raise UsageError("nothing was deleted: stdin is not a terminal to confirm it on", hint="add --yes")
    print_note(f"{question}? [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


note = print_note


def print_runs(
    runs: Sequence[Run], *, as_json: bool, more: Mapping[str, Any] | None = None, with_groups: bool = False
) -> None:
    """Print the numbers and the comparison of several models, then for each run what went wrong.

    `more` are further keys of the JSON object; `with_groups`: the groups of several runs as well.
    """
    compared = _compare(runs)
    if as_json:
        summaries = [done.summary.to_json() for done in runs]
        several = {"runs": summaries, "comparisons": [one.to_json(with_flips=False) for one in compared]}
        several = summaries[0] if len(summaries) == 1 and "suites" not in (more or {}) else several
        print_json({**several, **(more or {})})
    else:
        print_rich(*draw_tables(runs, with_groups=with_groups))
        for one in compared:
            _print_comparison(one, runs, is_named=len(compared) > 1)
    for warning in dict.fromkeys(warning for one in compared for warning in one.warnings):
        if as_json or not _is_in_table(warning, runs):
            note(f"comparison: {warning}")
    for done in runs:
        print_remarks(done, as_json=as_json)


def _compare(runs: Sequence[Run]) -> list[Comparison]:
    """The models of each benchmark compared; an obstacle is noted, since the runs themselves are complete."""
    if len(runs) < 2 or any(done.is_interrupted for done in runs):
        return []
    from eyechart.runs.comparison import compare_runs

    groups: dict[str, dict[Path, Run]] = {}
    for done in runs:
        groups.setdefault(str(done.manifest.get("benchmark")), {})[done.folder] = done
    compared = []
    for several in (list(group.values()) for group in groups.values() if len(group) > 1):
        try:
            compared.append(compare_runs(several))
        except EyechartError as err:
            note(f"the runs were not compared: {err.message}")
    return compared


def _is_in_table(text: str, runs: Sequence[Run]) -> bool:
    """Whether the table of runs has the line already: that on replies without a readable answer."""
    unread = [done.summary.unread for done in runs]
    return any(text.endswith(one.line) for one in unread if one is not None)


def _print_comparison(comparison: Comparison, runs: Sequence[Run], *, is_named: bool) -> None:
    """Below the scores: of several models their ranks and differences, then the verdict."""
    from eyechart.report.comparison_table import draw_ranks

    print_text("")
    if comparison.is_many:
        print_rich(draw_ranks(comparison))
    lines = [line for line in comparison.verdict.splitlines() if not _is_in_table(line, runs)]
    print_text("\n".join([f"{comparison.benchmark}: {lines[0]}" if is_named else lines[0], *lines[1:]]))


def print_remarks(done: Run, *, as_json: bool, flags: Mapping[str, str] | None = None) -> None:
    """Print on stderr what went wrong with a run, what to do next, and where its files are.

    `flags`: those of `eyechart run`, as the command that runs has them.
    """
    from eyechart.report.conditions import read_options
    from eyechart.runs.noise import list_rechecks
    from eyechart.runs.results import OFFICIAL

    def tell(text: str) -> None:
        note(rename_flags(text, flags or {}))

    if kind := done.replaced_input:
        tell(f"asked with --input {kind}: this is not the score with the images")
    if done.trouble is not None:
        tell(f"the run was stopped: {done.trouble}")
    if done.is_interrupted:
        tell(f"interrupted; run the same command again to resume ({done.folder})")
    elif n_failed := done.n_failed:
        what = "sample-trial" if done.trials > 1 else "sample"
        tell("\n  ".join([f"{n_failed} {what}{'s' * (n_failed != 1)} failed", *_failures(done)]))
    elif done.summary.is_stopped:
        n = done.summary.overall.pending
        tell(f"decided with {n:,} not asked: the same command without --stop-when asks the rest")
    elif done.n_asked == 0 and done.trouble is None:
        tell("no requests sent: all samples have replies (the totals above are those of the whole run)")
    if n_unjudged := done.n_unjudged:
        what = "1 reply has" if n_unjudged == 1 else f"{n_unjudged} replies have"
        tell(f"{what} no score, because the judge did not answer; run the same command again to ask it")
    for line in done.list_stale_corrections():
        tell(f"corrections: {line}")
    if read_options(done.manifest).get("recheck"):
        for line in list_rechecks(done):
            tell(line)
    if done.cache_trouble:
        tell(f"the response cache was not used: {done.cache_trouble}")
    if done.report_trouble:
        tell(f"report.html could not be written: {done.report_trouble}")
    if done.files_trouble:
        tell(f"the result files could not be written: {done.files_trouble}")
    has_golds = any(result.sample.golds for result in done.samples()) if done.summary.score is None else True
    if not done.n_failed and not has_golds:
        is_submission = done.files and has_submission(str(done.manifest["files"]))
        if is_submission:
            tell(f"the answers are not public; submit this file for scoring: {done.files[0]}")
        else:
            tell("no sample has a gold answer, so nothing can be scored")
    if not as_json:
        if done.files:
            folder = done.folder / OFFICIAL
            names = [path.relative_to(folder).as_posix() for path in done.files]
            tell(f"result files: {folder} ({join_names(names, 6)})")
        tell(f"run folder: {done.folder}")
        from eyechart.store.folder import REPORT_NAME

        if (page := done.folder / REPORT_NAME).is_file():
            tell(f"page: {page}")


def build_changes_table(
    changes: Sequence[Change], *, heading: str, columns: tuple[str, str]
) -> RenderableType:
    """A table of samples with two scores; the first 20 by id."""
    from rich.console import Group as Stack
    from rich.table import Table
    from rich.text import Text

    shown = 20
    rest = f", the first {shown}" if len(changes) > shown else ""
    table = Table(box=None, pad_edge=False)
    for name in ("sample", *columns):
        table.add_column(name)
    for change in changes[:shown]:
        name = change.sample if not change.trial else f"{change.sample} (trial {change.trial})"
        was = f"{change.before} {change.value_before:g}"
        table.add_row(Text(to_one_line(name)), was, f"{change.after} {change.value_after:g}")
    return Stack(Text(f"{heading}{rest}:"), table) if changes else Text(heading)


def draw_tables(runs: Sequence[Run], *, with_groups: bool) -> list[RenderableType]:
    """One run in full; several side by side, and with their groups below."""
    from eyechart.report.table import make_run_table, make_runs_table

    summaries = [done.summary for done in runs]
    if len(summaries) == 1:
        return [make_run_table(summaries[0])]
    below = [part for one in summaries for part in ("", make_run_table(one)) if with_groups]
    return [make_runs_table(summaries), *below]


def _failures(done: Run, at_most: int = 1000) -> Iterator[str]:
    """An example and a hint for each kind of failure."""
    failed = (result for result in done.samples() if result.outcome == "failed" and result.failure)
    kinds: dict[str, list[str]] = {}
    for result in islice(failed, at_most):
        assert result.failure is not None
        kinds.setdefault(result.failure.remedy, []).append(f"{result.sample.id}: {result.failure.reason}")
    for remedy, examples in kinds.items():
        yield f"e.g. {examples[0]}" if len(kinds) == 1 else f"{len(examples):,}, e.g. {examples[0]}"
        if "replies" not in done.manifest:  # scored from a file: no model to ask again
            yield f"hint: {remedy}"


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def print_estimates(estimates: Sequence[Estimate], *, as_json: bool) -> None:
    """Print what each run would take; as JSON one object, or a list of several under `estimates`."""
    if as_json:
        found = [estimate.to_json() for estimate in estimates]
        print_json(found[0] if len(found) == 1 else {"estimates": found})
        return
    print_rich(*(part for estimate in estimates for part in _parts(estimate)))


def print_estimate_table(
    heading: str, estimates: Sequence[tuple[str, Estimate]], *, as_json: bool, **more: Any
) -> None:
    """Print what each of several runs would take, by name, and all together; `more` is added to the JSON."""
    from rich.text import Text

    from eyechart.models.prices import format_usd
    from eyechart.report.table import PlainTable

    costs = [one.cost for _, one in estimates if one.cost is not None]
    total = [sum(ends) for ends in zip(*costs, strict=True)] if len(costs) == len(estimates) else None
    requests = sum(one.requests for _, one in estimates)
    if as_json:
        found = [{heading: name, **one.to_json()} for name, one in estimates]
        print_json({**more, "requests": requests, "cost": total, "estimates": found})
        return

    def show_cost(cost: Sequence[float] | None) -> str:
        return "unknown" if cost is None else " to ".join(dict.fromkeys(map(format_usd, cost)))

    rows = [
        [to_one_line(name),
         *(f"{n:,}" for n in (one.n, one.answered, one.requests, one.images, one.prompt_tokens)),
         show_cost(one.cost)]
        for name, one in estimates
    ]  # fmt: skip
    table = PlainTable(
        columns=[heading, "samples", "answered", "requests", "images", "tokens in", "cost in USD"],
        rows=[*rows, ["total", "", "", f"{requests:,}", "", "", show_cost(total)]],
    )
    remarks = dict.fromkeys(assumption for _, one in estimates for assumption in one.assumptions)
    print_rich(table, *(Text(remark, style="dim") for remark in remarks), Text("nothing was sent"))


def _parts(estimate: Estimate) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text(to_one_line(f"{estimate.benchmark} · {estimate.model} (nothing was sent)"), style="bold")
    yield make_facts_table(_rows(estimate))
    for assumption in estimate.assumptions:
        yield Text(to_one_line(assumption), style="dim")
    yield Text("")


def _rows(estimate: Estimate) -> Iterator[tuple[str, str]]:
    from eyechart.models.prices import format_usd
    from eyechart.report.live import format_duration

    trials = f", {estimate.trials} trials each" if estimate.trials > 1 else ""
    yield "samples", f"{estimate.n:,}{trials}"
    if estimate.answered:
        yield "already answered", f"{estimate.answered:,}, not asked again ({estimate.run})"
    if estimate.batched:
        yield "in pending batches", f"{estimate.batched:,}, not asked again; the same command collects them"
    if estimate.failing:
        yield "cannot be asked", f"{estimate.failing:,}"
        for reason in estimate.reasons:
            yield "", reason
    yield (
        "requests",
        f"{estimate.requests:,}" + (f", {format_size(estimate.bytes)}" if estimate.bytes else ""),
    )
    if estimate.judge_requests[1]:
        yield "to the judge", f"{_span(*estimate.judge_requests)}, {_span(*estimate.judge_tokens)} tokens"
    if (looks := estimate.looks).requests:
        yield "looks", f"at most {looks.requests:,} requests more, {looks.prompt_tokens:,} tokens in"
    if looks.searcher_requests:
        yield "to the searcher", f"at most {looks.searcher_requests:,}, {looks.searcher_tokens:,} tokens in"
    if estimate.images:
        yield "images", f"{estimate.images:,}, about {estimate.image_tokens:,} tokens"
    if estimate.prompt_tokens:
        yield "tokens in", f"about {estimate.prompt_tokens:,}"
        yield "tokens out", _span(*estimate.completion_tokens)
    if estimate.time_s is not None:
        yield "time", "about " + " to ".join(dict.fromkeys(map(format_duration, estimate.time_s)))
    if estimate.cost is None:
        yield "cost", "unknown"
    else:
        yield "cost", " to ".join(dict.fromkeys(map(format_usd, estimate.cost))) + " USD"


def _span(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
