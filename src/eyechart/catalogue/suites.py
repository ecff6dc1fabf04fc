"""Suites: several benchmarks run as one, with one table and a weighted mean.

A suite is a YAML file: a list of benchmarks, each with its settings and its weight in the mean, and a name.

    name: mine
    about: charts and documents
    benchmarks:
      - chartqa
      - {name: mmmu-val, set: {kit: vlmevalkit}, weight: 2}
      - {name: mme, points: 2800}        # the official number is in points, at most 2800
      - {name: pope, limit: 500}

The number of a benchmark is its official one if it has an aggregate (F1 of POPE, pairs of MMVP), otherwise the
mean over its questions. Each run has its own folder, so the same command resumes the whole suite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from eyechart.errors import DataError, UsageError
from eyechart.files import read_yaml
from eyechart.registry import scorers, suggest_name
from eyechart.types import JudgedScorer

if TYPE_CHECKING:
    from eyechart.runs.options import Options
    from eyechart.runs.plan import Plan
    from eyechart.runs.results import Run

FOLDER = Path(__file__).parent / "suite_data"


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A benchmark of a suite."""

    name: str  # of the catalogue, or a file
    set: dict[str, Any] = {}
    weight: Annotated[float, Meta(ge=0, lt=1e9)] = 1.0
    limit: Annotated[int, Meta(ge=1)] | None = None
    # Where the official number is in points: how many there are.
    points: Annotated[float, Meta(gt=0, lt=1e9)] | None = None


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Benchmarks that are run together."""

    benchmarks: list[Member | str]
    name: str = ""  # by default that of the file
    about: str = ""
    note: str = ""

    def members(self) -> list[Member]:
        return [Member(name=one) if isinstance(one, str) else one for one in self.benchmarks]


def list_suites() -> list[str]:
    """The names of the suites that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read_suite(given: str) -> Suite:
    """The suite of that name, or of that YAML file.

    >>> read_suite("docs").members()[0].name
    'docvqa-val'
    """
    path = Path(given)
    if given in list_suites():
        path = FOLDER / f"{given}.yaml"
    elif not os.path.isfile(path):  # noqa: PTH113 - of any length
        listed = f"suites: {', '.join(list_suites())}; or give a YAML file of your own (eyechart docs catalogue#suites)"
        raise UsageError(
            f"no suite named {given!r}", hint=suggest_name(given, list_suites(), otherwise=listed)
        )
    try:
        suite = msgspec.convert(read_yaml(path), Suite)
    except msgspec.ValidationError as err:
        of = Member if "$.benchmarks[" in str(err) else Suite
        keys = f"keys {'of a benchmark' if of is Member else 'of a suite'}: {', '.join(of.__struct_fields__)}"
        raise UsageError(f"{path}: {err}", hint=f"{keys}; see: eyechart docs catalogue#suites") from err
    suite = msgspec.structs.replace(suite, name=suite.name or path.stem)
    members = suite.members()
    if not members:
        raise UsageError(f"{path}: benchmarks is empty", hint="list at least one benchmark")
    if not any(member.weight for member in members):
        raise UsageError(f"{path}: all weights are 0", hint="leave weight out, or set one above 0")
    return suite


def make_plans(suite: Suite, models: Sequence[tuple[str | object, Options]]) -> list[Plan]:
    """The runs of a suite, one benchmark after the other; all problems are reported before anything is sent."""
    from eyechart.runs.plan import make_plan

    plans: list[Plan] = []
    problems: list[DataError] = []
    for member in suite.members():
        try:
            plans += [
                make_plan(member.name, model, apply_member(member, options)) for model, options in models
            ]
        except DataError as err:
            problems.append(err)
        except UsageError as err:
            raise UsageError(f"{suite.name}: {member.name}: {err.message}", hint=err.hint) from err
    if problems:
        listed = "\n    ".join(err.message for err in problems)
        hint = "\n    ".join(dict.fromkeys(err.hint for err in problems if err.hint))
        what = f"{len(problems)} benchmarks cannot be run"
        raise DataError(f"{suite.name}: {what}:\n    {listed}", hint=hint)
    return plans


def apply_member(member: Member, options: Options) -> Options:
    """The options of one benchmark: with its settings, and without the judge if its scorer asks none."""
    from eyechart.runs.sources import find_benchmark

    settings = {**member.set, **options.settings} if member.set else options.settings
    changed = replace(options, settings=settings, limit=options.limit or member.limit)
    if options.judge is None:
        return changed
    made = find_benchmark(member.name, changed)
    scorer = scorers.get(changed.scorer or made.judged_scorer or made.scorer)
    if isinstance(scorer, JudgedScorer):
        return changed
    usual = type(options)()
    judging = [name for name in options.__dataclass_fields__ if name.startswith("judge")]
    return replace(changed, **{name: getattr(usual, name) for name in judging})


# -- The number of each benchmark, and the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One benchmark of a suite with its number: a fraction from 0 to 1."""

    benchmark: str
    model: str
    metric: str = ""  # "accuracy", or the name of the aggregate's headline
    value: float | None = None
    ci95: tuple[float, float] | None = None
    weight: float = 1.0
    n: int = 0
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The lines of one model, and their weighted mean."""

    suite: str
    model: str
    lines: tuple[Line, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Benchmarks without a number, that count in the mean."""
        return [line.benchmark for line in self.lines if line.value is None and line.weight]

    @property
    def mean(self) -> float | None:
        """The weighted mean of all benchmarks; None if one has no number."""
        if self.missing or not self.lines:
            return None
        total = sum(line.weight for line in self.lines)
        return sum(line.weight * (line.value or 0.0) for line in self.lines) / total if total else None

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The mean's interval: the benchmarks are independent, their errors add up by squares."""
        mean = self.mean
        counted = [(line.weight, line.value or 0.0, line.ci95) for line in self.lines if line.weight]
        if mean is None or any(ends is None for _, _, ends in counted):
            return None
        total = sum(weight for weight, _, _ in counted)
        below, above = (
            sum((weight * (ends[end] - value)) ** 2 for weight, value, ends in counted if ends)
            for end in (0, 1)
        )
        return max(0.0, mean - below**0.5 / total), min(1.0, mean + above**0.5 / total)

    def to_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "model": self.model,
            "mean": self.mean,
            "ci95": list(self.ci95) if self.ci95 else None,
            "missing": self.missing,
            "benchmarks": msgspec.to_builtins(self.lines),
        }


def make_line(run: Run, *, weight: float = 1.0, points: float | None = None) -> Line:
    """The number of a run: its official one as a fraction, else its score.

    An official number in points counts only where `points` says how many there are.
    """
    summary, number, scale = run.summary, run.summary.number, 1.0
    if number.scale == "points":
        number, scale = (number, points) if points else (summary.mean, 1.0)
    return Line(
        benchmark=str(run.manifest.get("benchmark", "")),
        model=str(run.manifest.get("model", "")),
        metric=number.name,
        value=None if number.value is None else number.value / scale,
        ci95=(number.ci95[0] / scale, number.ci95[1] / scale) if number.ci95 else None,
        weight=weight,
        n=summary.n,
        run=str(run.folder),
    )


def collect(suite: Suite, runs: Iterable[Run], n_models: int) -> list[SuiteResult]:
    """The results of a suite, one per model; `runs` are in the order of `make_plans`."""
    members = suite.members()
    by_model: dict[str, list[Line]] = {}
    for number, run in enumerate(runs):
        member = members[number // n_models]
        line = make_line(run, weight=member.weight, points=member.points)
        by_model.setdefault(line.model, []).append(line)
    results = []
    for model, lines in by_model.items():
        missing = [Line(benchmark=one.name, model=model, weight=one.weight) for one in members[len(lines) :]]
        results.append(SuiteResult(suite=suite.name, model=model, lines=(*lines, *missing)))
    return results
