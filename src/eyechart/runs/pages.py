"""HTML files of a run, of several, of a comparison and of an audit, from run folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart import __version__
from eyechart.errors import StoreError, UsageError
from eyechart.files import read_json
from eyechart.option import list_options
from eyechart.report.compare import Comparison
from eyechart.report.conditions import (
    hide_all_folders,
    hide_folders,
    list_options_apart,
    name_run,
    read_options,
)
from eyechart.report.counting import RIGHT
from eyechart.report.page import ImagePolicy
from eyechart.report.run_page import (
    RUN,
    Level,
    RunFacts,
    SampleFacts,
    describe_run,
    list_conditions,
    open_samples_page,
    write_run_page,
)
from eyechart.runs.comparison import compare_runs, label_runs
from eyechart.runs.inputs import make_sent_loader
from eyechart.runs.listing import Numbers, tell_selection
from eyechart.runs.options import IMAGES, Options
from eyechart.runs.results import Run
from eyechart.store.folder import SUMMARY_NAME, find_siblings
from eyechart.store.journal import Journal
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.runs.audit import Audit

# For small copies of images at the end of a run: this share of the run's duration, within limits, and as long
# as it takes if that is less than the most. `eyechart report --html` takes the time it needs.
_SHARE = 0.02
_MOST_S, _LEAST_S = 10.0, 0.25
_KINDS = {  # of a comparison's questions, by whether A and B are right
    (True, False): "only A right",
    (False, True): "only B right",
    (False, False): "both wrong",
    (True, True): "both right",
}
MAX_PAIRS = 20_000  # questions of a comparison: all that flipped, then others in the benchmark's order
_MAX_SIBLINGS = 50  # runs beside this one that are looked at for the score without images


def write_html(run: Run, path: str | Path, policy: ImagePolicy, *, is_after_run: bool = False) -> int:
    """Write a run as one self-contained HTML file, in one pass over its samples that counts them as well.

    After a run, its summary is written as soon as the samples are counted, before the images. Returns the
    number of images that could not be read.
    """
    about = SampleFacts(manifest=run.manifest, n_rows=_count_rows(run), price=run.price())

    def gather() -> RunFacts:
        if is_after_run:
            run.write_summary()
        return gather_facts(run)

    with contextlib.closing(make_sent_loader(run.manifest)) as loader:
        return write_run_page(path, about, run.count_samples(), gather, loader, policy)


def choose_policy(run: Run, *, full_images: bool, is_after_run: bool) -> ImagePolicy:
    """How the images get into the page."""
    if full_images or not is_after_run:
        return ImagePolicy(is_full=full_images)
    share_s = _SHARE * run.journal.totals()["seconds"]
    return ImagePolicy(max_s=min(_MOST_S, max(_LEAST_S, share_s)), whole_s=_MOST_S)


def gather_facts(run: Run) -> RunFacts:
    """What the page says besides the summary and the samples."""
    first, model = next(run.journal.samples(), None), str(run.manifest.get("model") or "")
    return RunFacts(
        name=name_run(run.folder, model, hide_folders(model)),
        manifest=run.manifest,
        summary=run.summary,
        conditions=run.conditions,
        n_rows=_count_rows(run),
        started_at=run.journal.read_starts()[1],
        price=run.price(),
        levels=list(_find_blind_levels(run)),
        notes=list(_list_notes(run)),
        asked=run.journal.asked(first.id) if first else (),
    )


def _count_rows(run: Run) -> int:
    return run.journal.count_samples() * run.trials


def _list_notes(run: Run) -> Iterator[str]:
    if kind := run.replaced_input:
        yield f"Asked with --input {kind}: this is not the score with the images."
    if run.trouble is not None:
        yield f"The run was stopped: {run.trouble.message}"
    n_pending = run.summary.overall.pending
    if n_pending:
        yield f"{n_pending:,} samples have not been asked yet: run the same command again to resume."


def _find_blind_levels(run: Run) -> Iterator[Level]:
    """The score of the same questions without the images, where a run beside this one has it."""
    if run.replaced_input:
        return
    for journal in islice(find_siblings(run.folder), _MAX_SIBLINGS):
        with contextlib.suppress(StoreError, OSError, msgspec.DecodeError, KeyError, TypeError, ValueError):
            manifest = Journal.open(journal).read_mapping("manifest")
            if read_options(manifest).get("input") != "none" or not _is_alike(run.manifest, manifest):
                continue
            found = read_json(journal.parent / SUMMARY_NAME, Numbers)
            if found is not None and found.score is not None and not found.pending:
                yield Level(name="without image", score=found.score, ci95=found.ci95)
                return


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both runs ask the same questions of the same model in the same way, but for the images."""
    names = ("origin", "benchmark", "identity", "scorer", "circular", "trials")
    apart = list_options_apart([read_options(one), read_options(other)], list_options(Options))
    return all(one.get(name) == other.get(name) for name in names) and all(
        name == "input" or list_options(Options)[name].group == IMAGES for name, _, _ in apart
    )


# -- Several runs


def write_runs_html(
    runs: Sequence[Run], path: str | Path, *, full_images: bool = False, max_s: float | None = None
) -> int:
    """Write several runs as one HTML file: their scores, what their comparisons say, and all samples.

    `max_s`: for small copies of images. Returns how many images could not be read.
    """
    facts, labels = [gather_facts(run) for run in runs], label_runs(runs)
    policy = ImagePolicy(is_full=full_images, max_s=max_s)
    keys = dict.fromkeys(str(key) for run in runs for key in run.manifest.get("group_by") or ())
    how: dict[str, Any] = {"groups": [RUN, *keys], "n_rows": sum(one.n_rows for one in facts)}
    title = f"{len(runs)} runs · eyechart"
    with (
        contextlib.closing(make_sent_loader(runs[0].manifest)) as loader,
        open_samples_page(path, title, facts[0], loader, policy, **how) as samples,
    ):
        for run, one, label in zip(runs, facts, labels, strict=True):
            samples.begin_run(one, label)
            for result in run.samples():
                samples.add(result)
        samples.told = {
            "kind": "runs",
            "name": facts[0].name,
            "runs": [
                {
                    **describe_run(one, samples),
                    "label": label,
                    "selection": hide_folders(tell_selection(run.manifest)),
                }
                for run, one, label in zip(runs, facts, labels, strict=True)
            ],
            "comparisons": [
                {
                    "benchmark": one.benchmark,
                    "verdict": hide_folders(one.verdict),
                    "warnings": [hide_folders(text) for text in one.warnings],
                }
                for one in _compare(runs)
            ],
            "eyechart": facts[0].summary.version,
        }
    return samples.n_unreadable


def _compare(runs: Sequence[Run]) -> Iterator[Comparison]:
    """The comparisons of those that can be compared, by benchmark."""
    by_benchmark: dict[str, list[Run]] = {}
    for run in runs:
        by_benchmark.setdefault(str(run.manifest.get("benchmark")), []).append(run)
    for alike in by_benchmark.values():
        if len(alike) > 1:
            with contextlib.suppress(UsageError):  # other questions, or another scorer
                yield compare_runs(alike)


# -- Comparisons


def write_comparison_html(comparison: Comparison, path: str | Path, *, full_images: bool = False) -> None:
    """Write a comparison as one HTML file, with the questions of its first pair, those that flipped first."""
    pair, labels = comparison.pairs[0], {one.run: one.label for one in comparison.standings}
    others = (one.run for one in comparison.standings if one.run not in (pair.a, pair.b))
    runs = {folder: Run(folder) for folder in (pair.a, pair.b, *others)}
    facts = {folder: gather_facts(run) for folder, run in runs.items()}
    told = {
        "comparison": comparison.to_json(with_flips=False),
        "labels": labels,
        "a": pair.a,
        "b": pair.b,
        "conditions": {folder: dict(list_conditions(one)) for folder, one in facts.items()},
    }
    title = f"{comparison.benchmark}: {labels[pair.a]} and {labels[pair.b]} · eyechart"
    policy, names = ImagePolicy(is_full=full_images), {run: f"run {at}" for at, run in enumerate(labels, 1)}
    with (
        contextlib.closing(make_sent_loader(runs[pair.a].manifest)) as loader,
        open_samples_page(path, title, facts[pair.a], loader, policy) as samples,
    ):
        for kind, mine, theirs in _pair_results(comparison, runs[pair.a], runs[pair.b]):
            other = samples.describe(theirs)
            shown = ("outcome", "reply", "thinking", "read", "route", "why", "place", "cut")
            samples.add(mine, code=kind, beside={name: getattr(other, name) for name in shown})
        own = {
            "kind": "comparison",
            "kinds": list(_KINDS.values()),
            "n": comparison.n,
            "eyechart": __version__,
        }
        samples.told = {**own, "name": facts[pair.a].name, **hide_all_folders(told, names)}


def _pair_results(comparison: Comparison, a: Run, b: Run) -> Iterator[tuple[int, Result, Result]]:
    """The shared questions with both results, in two passes: those that flipped, then the others.

    Of each its place in `_KINDS`, and the first trial of each run.
    """
    pair, questions = comparison.pairs[0], comparison.questions
    right = {
        name: (mine >= RIGHT, theirs >= RIGHT)
        for name, mine, theirs in zip(
            questions.ids, questions.values[pair.a], questions.values[pair.b], strict=True
        )
    }
    flipped = {flip.id for flip in pair.flipped}
    others = islice((one for one in questions.ids if one not in flipped), max(0, MAX_PAIRS - len(flipped)))
    for wanted in (flipped, set(others)):
        theirs = dict(_first_results(b, comparison.scorer, wanted))
        for name, mine in _first_results(a, comparison.scorer, wanted):
            if name in theirs:
                yield list(_KINDS).index(right[name]), mine, theirs.pop(name)


def _first_results(run: Run, scorer: str, wanted: Set[str]) -> Iterator[tuple[str, Result]]:
    """The first trial of each wanted question, of one asked in rotations that of the first rotation."""
    seen: set[str] = set()
    for result in run.samples(0, scorer):
        name = (run.is_circular and result.sample.circle) or result.sample.id
        if name in wanted and name not in seen:
            seen.add(name)
            yield name, result


# -- Audits


def write_audit_html(found: Audit, path: str | Path, *, full_images: bool = False) -> None:
    """Write an audit as one HTML file."""
    [image] = found.runs["image"]
    blind = found.runs.get("none", (image,))[0]
    solved = set(found.blind_solvable) if "none" in found.runs else set[str]()
    facts, numbers, policy = gather_facts(image), found.numbers, ImagePolicy(is_full=full_images)
    asked_blind, summary = gather_facts(blind), facts.summary
    names = {run: name for name, one in numbers.conditions.items() for run in one.runs}
    if numbers.leakage:
        names[numbers.leakage.run] = "text-only"
    title = f"{summary.benchmark} · {summary.model} · audit · eyechart"
    with (
        contextlib.closing(make_sent_loader(image.manifest)) as loader,
        open_samples_page(path, title, asked_blind, loader, policy) as samples,
    ):
        for _, result in _first_results(blind, str(blind.manifest.get("scorer", "")), solved):
            samples.add(result)
        samples.told = {
            "kind": "audit",
            "benchmark": summary.benchmark,
            "model": hide_folders(summary.model),
            "name": asked_blind.name,
            "is_complete": found.is_complete,
            "facts": list(list_conditions(facts)),
            "eyechart": summary.version,
            **hide_all_folders(numbers.to_json(), names),
        }
