"""The look at the data before the first request: what stops a run, and what can move its number.

Every way to start a run comes through here, and sees what ``eyechart data check`` sees. What the first rows
show stops a run before anything is read; the rest is looked at while the samples are read into the journal,
which they all are before the first request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eyechart.errors import DataError, listed
from eyechart.registry import benchmarks, find_published_benchmark, find_published_rule
from eyechart.run.options import Options
from eyechart.run.sources import PLAIN
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Sample

if TYPE_CHECKING:
    from eyechart.data.findings import Finding
    from eyechart.data.lint import Lint
    from eyechart.run.plan import Plan

# Findings with which no run starts: the questions would be asked without what they are about, or by no rule
# that was meant for them.
_STOPS = ("other-benchmark", "unused-images", "unused-media")
# Findings that can move the number.
_TOLD = (
    *_STOPS, "no-image", "answer-not-an-option", "empty-question", "several-letters", "one-option",
    "unread-options", "unused-options", "one-option-column", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image", "rotations", "published-file", "remark",
)  # fmt: skip
_OF_PARITY = ("answer-case",)  # our own scorers read it as it is meant
_OF_IMAGES = (
    "no-image", "unused-images", "unused-media", "option-images", "text-images", "unread-images",
    "unfilled-placeholder", "unplaced-image",
)  # fmt: skip
_MAX_LINES = 8


def excused(options: Options) -> tuple[str, ...]:
    """The findings that are no trouble, because ``--input`` says that images may be missing."""
    return {"image": (), "any": ("no-image",), "none": _OF_IMAGES}[options.input]


def make_lint(benchmark: Benchmark, options: Options) -> Lint:
    """The look at a benchmark as it is asked."""
    from eyechart.data.lint import Lint

    lint = Lint(benchmark.source, needs_images=benchmark.needs_images, is_plain=options.read_as == PLAIN)
    if lint.file is not None and (said := _published(lint.file.path.stem, benchmark, options)):
        lint.add("published-file", 0, *said)
    return lint


def _published(stem: str, benchmark: Benchmark, options: Options) -> tuple[str, str] | None:
    """What a published file of that name is and how it is asked as that, where it is asked otherwise."""
    scorer = options.scorer or benchmark.scorer
    if (name := find_published_benchmark(stem)) is not None:
        return f"{stem} is {name}, scored by {benchmarks.get(name)().scorer}; here: {scorer}", f"--as {name}"
    rule = find_published_rule(stem)
    if rule is not None and rule.scorer != scorer:
        closing = f" and with {rule.closing!r} behind each question" if rule.closing else ""
        hint = f"--scorer {rule.scorer}" + (", and a --prompt-template" if rule.closing else "")
        return f"{rule.tool} scores {stem} by {rule.scorer}{closing}; here: {scorer}", hint
    return None


def refuse_blind_run(benchmark: Benchmark, options: Options) -> None:
    """Refuse what the first rows show already: images that would not be sent, another benchmark's rows."""
    lint = make_lint(benchmark, options)
    _refuse(lint, options, lint.found.values())


def watch_samples(plan: Plan, told: set[str] | None = None) -> Iterator[Sample]:
    """The samples of a run, looked at as they pass; the end of them is refused, or told what was found.

    What is in `told` is not said again.
    """
    lint = make_lint(plan.benchmark, plan.options)
    for sample in plan.benchmark.source:
        yield sample
        lint.look_at(sample)  # once it was taken for a sample by whoever wanted it
    report = lint.finished()
    _refuse(lint, plan.options, report.findings)
    if plan.options.input == "image":
        _refuse_no_images(lint)
    codes = {*_TOLD, *(_OF_PARITY if plan.scorer.parity else ())} - {*excused(plan.options)}
    if (remarks := lint.found.get("remark")) is not None and told:
        remarks.examples = [remark for remark in remarks.examples if remark not in told]
    found = [one for one in report.findings if one.code in codes and (one.code != "remark" or one.examples)]
    text = _block(report.name, found)
    if text and text not in (told or ()):
        print_note(text)
        if told is not None:
            told.add(text)


def _refuse_no_images(lint: Lint) -> None:
    """Refuse a file or a benchmark of image questions of which no row has an image."""
    blind = lint.found.get("no-image")
    if blind is None or blind.count < lint.n_samples or not lint.expects_images:
        return
    columns = lint.file.detection.fields.get("image", ()) if lint.file else ()
    where = f" (column {columns[0]} is empty)" if columns else ""
    raise DataError(
        f"{lint.report.origin}: no row has an image{where}", hint="--input none asks without images"
    )


def _refuse(lint: Lint, options: Options, findings: Iterable[Finding]) -> None:
    for finding in findings:
        if finding.severity != "error" or finding.code not in _STOPS:
            continue
        if options.input == "none" and finding.code != "other-benchmark":
            continue
        what = listed(finding.examples)
        raise DataError(f"{lint.report.origin}: {finding.about} ({what})", hint="; ".join(finding.hints))


def _block(name: str, findings: list[Finding]) -> str:
    if not findings:
        return ""
    lines = [f"{name}: found in the data, and can move the score:"]
    for finding in findings[:_MAX_LINES]:
        if finding.code == "remark":
            lines += [f"  {remark}" for remark in finding.examples]
            continue
        example = finding.examples[0] if finding.examples else ""
        if not example and finding.rows:
            example = f"row {finding.rows[0]}"
        hint = f" (hint: {finding.hints[0]})" if finding.hints else ""
        lines.append(f"  {finding.about}: {finding.count}; first: {example}{hint}")
    if len(findings) > _MAX_LINES:
        lines.append(f"  and {len(findings) - _MAX_LINES} more kinds: eyechart data check")
    return "\n".join(lines)
