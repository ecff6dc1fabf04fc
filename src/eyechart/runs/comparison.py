"""Compare runs: find them, check that they can be compared, and join their samples.

Samples are joined by id. Where the same id stands for another question, the runs are refused, as are runs
with different scorers or with CircularEval on one side alone. Differences in prompt, images, selection,
sampling or judge weaken a comparison: they become warnings that name every value (`run.comparability`).
`report.compare` has the arithmetic.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from eyechart.circular import merge_rotations
from eyechart.errors import UsageError, join_names, shorten
from eyechart.report.compare import (
    CORRECTIONS,
    ComparedRun,
    Comparison,
    Correction,
    SharedQuestions,
    compare_values,
    limit_groups,
)
from eyechart.report.counting import NO_VALUE, compute_credit, group_trials, name_group
from eyechart.report.unread import find_unread
from eyechart.runs.comparability import choose_scorer, label_runs, list_differences, refuse_different_units
from eyechart.runs.listing import find_run, find_runs
from eyechart.runs.results import Run
from eyechart.terminal import show_status

if TYPE_CHECKING:
    from eyechart.types import Result, Sample

NO_GROUPS = "none"  # as a key: no groups
_STEP = 5000  # samples between two status lines
_PEEK = 1000  # samples whose columns are suggested for an unknown key


def compare(
    *runs: Run | str | Path,
    by: str | Sequence[str] | None = None,
    baseline: Run | str | Path | None = None,
    scorer: str | None = None,
    correction: Correction = "holm",
    cluster: str | None = None,
    benchmark: str | None = None,
    out: str | Path = "runs",
) -> Comparison:
    """Compare two runs or more on the questions that all of them scored.

    `runs` are `Run` objects, run folders, folders with runs, or files of replies to `benchmark`, which are
    scored into a run folder below `out`. `by` names the keys to compare by (default: the benchmark's own;
    "none": no groups); `baseline` is the run that all others are compared with (default: of two the second,
    of several the one with the highest score); `scorer` is one that scored every run; `correction` is how
    p-values are corrected for several tests: "holm", "bh" (Benjamini-Hochberg) or "none"; `cluster` is a
    column or "none".

    >>> import tempfile, eyechart as ec
    >>> with tempfile.TemporaryDirectory() as out:
    ...     models = ("baseline/random", "baseline/majority")
    ...     runs = [ec.run("demo", model, limit=20, out=out, progress=False) for model in models]
    ...     found = compare(*runs)
    ...     found.n, len(found.scores)
    (20, 2)
    """
    found = compare_all(
        runs,
        by=by,
        baseline=baseline,
        scorer=scorer,
        correction=correction,
        cluster=cluster,
        benchmark=benchmark,
        out=out,
    )
    if len(found) > 1:
        names = ", ".join(one.benchmark for one in found)
        raise UsageError(f"these are runs of several benchmarks: {names}", hint="compare each one separately")
    return found[0]


def compare_all(
    given: Sequence[Run | str | Path],
    *,
    by: str | Sequence[str] | None = None,
    baseline: Run | str | Path | None = None,
    scorer: str | None = None,
    correction: Correction = "holm",
    cluster: str | None = None,
    benchmark: str | None = None,
    out: str | Path = "runs",
) -> list[Comparison]:
    """As `compare`, for folders with runs of several benchmarks: one comparison per benchmark."""
    if correction not in CORRECTIONS:
        raise UsageError(f"unknown correction {correction!r}", hint=f"choose one of {', '.join(CORRECTIONS)}")
    runs, is_listed = _find_runs(given, cluster=cluster, benchmark=benchmark, out=out)
    reference = None if baseline is None else _find_baseline(baseline, runs)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        # Runs that are named one by one are meant to be compared, whatever their benchmark is called.
        groups.setdefault("" if is_listed else str(run.manifest.get("benchmark")), []).append(run)
    alone = [several[0] for several in groups.values() if len(several) == 1]
    groups = {name: several for name, several in groups.items() if len(several) > 1}
    if not groups:
        raise UsageError(
            f"nothing to compare: {_tell_runs(runs) or 'no run is given'}",
            hint="give two runs of one benchmark or more",
        )
    if reference is not None:
        groups = {name: several for name, several in groups.items() if reference in several}
    keys = [by] if isinstance(by, str) else by
    keys = None if keys is None else [key for key in keys if key != NO_GROUPS]
    found = [
        compare_runs(several, by=keys, baseline=reference, scorer=scorer, correction=correction)
        for several in groups.values()
    ]
    if alone:
        left = f"not compared, because no other run is of its benchmark: {_tell_runs(alone)}"
        found[0] = replace(found[0], warnings=(*found[0].warnings, left))
    return found


def compare_runs(
    runs: Sequence[Run],
    *,
    by: Sequence[str] | None = None,
    baseline: Run | None = None,
    scorer: str | None = None,
    correction: Correction = "holm",
) -> Comparison:
    """Compare opened runs of one benchmark."""
    labels = label_runs(runs)
    name = choose_scorer(runs, labels, scorer)
    refuse_different_units(runs, labels)
    joined = _join_runs(runs, labels, name, by)
    shared = joined.share(runs)
    missing = list(_warn_of_missing(joined, labels))
    if not shared.ids:
        names = sorted({str(run.manifest.get("benchmark")) for run in runs})
        different = [f"the runs are of different benchmarks: {', '.join(names)}"] if len(names) > 1 else []
        raise UsageError(
            "no question was scored in all runs",
            hint="; ".join([*different, *missing]) or "the questions earn no points",
        )
    warnings = [*list_differences(runs, labels, name, shared.ids), *missing]
    found = compare_values(
        shared,
        [
            ComparedRun(run=str(run.folder), model=str(run.manifest.get("model", "")), label=label)
            for run, label in zip(runs, labels, strict=True)
        ],
        baseline=None if baseline is None else str(baseline.folder),
        correction=correction,
        benchmark=str(runs[0].manifest.get("benchmark", "")),
        scorer=name,
    )
    left_out = {str(run.folder): dict(why) for run, why in zip(runs, joined.missing, strict=True)}
    unread = {
        str(run.folder): one
        for run, outcomes in zip(runs, joined.outcomes, strict=True)
        if (one := find_unread(outcomes, name, run.manifest, str(run.folder), has_fields=joined.has_fields))
    }
    found = replace(found, left_out=left_out, unread=unread)
    warnings += [
        f"{label}: {unread[str(run.folder)].line}"
        for run, label in zip(runs, labels, strict=True)
        if str(run.folder) in unread and unread[str(run.folder)].is_many
        if not found.is_outweighed(str(run.folder))  # the verdict says it
    ]
    return replace(found, warnings=tuple(warnings))


# -- Finding the runs


def _find_runs(
    given: Sequence[Run | str | Path], *, cluster: str | None, benchmark: str | None, out: str | Path
) -> tuple[list[Run], bool]:
    """The runs that are meant, and whether each was named by itself."""
    from eyechart.store.journal import FILE_NAME

    found: list[Run] = []
    is_listed = True
    for one in given:
        if isinstance(one, Run):
            found.append(one if cluster is None else Run(one.folder, cluster=cluster))
            continue
        path = Path(one)
        if path.is_file() and path.name != FILE_NAME:
            folder = _score_file(path, benchmark, out)
            found.append(Run(folder, cluster=cluster))
            continue
        is_listed &= not path.is_dir() or (path / FILE_NAME).is_file()
        found += [Run(place, cluster=cluster) for place in find_runs(one)]
    by_place: dict[Path, Run] = {}
    for run in found:
        place = run.folder.resolve()
        if place in by_place and is_listed:
            raise UsageError(f"{run.folder} is given twice", hint="give two different runs")
        by_place.setdefault(place, run)
    return list(by_place.values()), is_listed


def _score_file(path: Path, benchmark: str | None, out: str | Path) -> Path:
    from eyechart.runs.options import Options
    from eyechart.runs.replies import score_replies

    return score_replies(benchmark, path, Options.of({"out": out, "progress": False})).folder


def _find_baseline(baseline: Run | str | Path, runs: Sequence[Run]) -> Run:
    """The run that is meant: by its folder, or by the name of its model."""
    folder = baseline.folder if isinstance(baseline, Run) else Path(baseline)
    found = [run for run in runs if run.folder.resolve() == folder.resolve()]
    found = found or [run for run in runs if run.manifest.get("model") == str(baseline)]
    if not found and not isinstance(baseline, Run):
        with contextlib.suppress(UsageError):  # the beginning of a name, a hash
            named = find_run(baseline).resolve()
            found = [run for run in runs if run.folder.resolve() == named]
    if len(found) != 1:
        what = "is not among the runs" if not found else f"names {len(found)} of the runs"
        raise UsageError(f"the baseline {baseline} {what}", hint=f"name a run folder: {_tell_runs(runs)}")
    return found[0]


def _tell_runs(runs: Sequence[Run]) -> str:
    return join_names([f"{run.folder} ({run.manifest.get('benchmark')})" for run in runs], 5)


# -- Joining the samples


class _JoinedRuns:
    """The samples of several runs by id, with one value per run; NaN where a run has none."""

    def __init__(self, n_runs: int, keys: Sequence[str]) -> None:
        self.rows: dict[str, int] = {}  # id to row
        self.digests: list[bytes] = []
        self.weights = array("d")
        self.groups: dict[str, list[str]] = {key: [] for key in keys}
        self.values = [array("d") for _ in range(n_runs)]
        self.clusters: list[dict[int, str]] = [{} for _ in range(n_runs)]  # by row, of samples not alone
        self.missing: list[Counter[str]] = [Counter() for _ in range(n_runs)]  # why a run has no value
        self.has_fields = False  # some reply was scored field by field
        self.outcomes: list[Counter[str]] = [Counter() for _ in range(n_runs)]  # of each row and trial

    def add(self, place: int, trials: Sequence[Result]) -> int:
        """Add a sample of the run at `place`, with the mean over its scored trials; returns its row."""
        sample = trials[0].sample
        row = self.rows.setdefault(sample.id, len(self.rows))
        if row == len(self.digests):
            self.digests.append(compute_digest(sample))
            self.weights.append(sample.weight)
            for key, values in self.groups.items():
                values.append(name_group(sample.meta.get(key)))
        scored = [value for result in trials if (value := compute_credit(result)) is not None]
        own = self.values[place]
        own.extend([math.nan] * (row + 1 - len(own)))
        if scored:
            own[row] = math.fsum(scored) / len(scored)
        else:
            self.missing[place][trials[0].outcome or "pending"] += 1
        if trials[0].cluster:
            self.clusters[place][row] = trials[0].cluster
        return row

    def close(self, n_samples: Sequence[int]) -> None:
        """After the last sample of the last run; `n_samples`: how many each run has."""
        n = len(self.rows)
        for values, missing, own in zip(self.values, self.missing, n_samples, strict=True):
            values.extend([math.nan] * (n - len(values)))
            if own < n:
                missing["not asked"] = n - own

    def share(self, runs: Sequence[Run]) -> SharedQuestions:
        """The questions that every run scored; those that earn no points are left out."""
        kept = [
            row
            for row, (weight, *values) in enumerate(zip(self.weights, *self.values, strict=True))
            if weight > 0 and not any(map(math.isnan, values))
        ]
        ids = list(self.rows)
        weights = [self.weights[row] for row in kept]
        # Runs may have sent one image in different sizes: use the run that saw most questions share one.
        counts = [len({clusters.get(row, row) for row in kept}) for clusters in self.clusters]
        clusters = self.clusters[counts.index(min(counts))]
        groups = {key: [values[row] for row in kept] for key, values in self.groups.items()}
        return SharedQuestions(
            ids=[ids[row] for row in kept],
            values={
                str(run.folder): [values[row] for row in kept]
                for run, values in zip(runs, self.values, strict=True)
            },
            weights=weights if len(set(weights)) > 1 else None,
            clusters=[clusters.get(row, row) for row in kept] if min(counts) < len(kept) else None,
            groups={key: limit_groups(values) for key, values in groups.items() if len(set(values)) > 1},
        )


def _join_runs(
    runs: Sequence[Run], labels: Sequence[str], scorer: str, by: Sequence[str] | None
) -> _JoinedRuns:
    keys = by if by is not None else [str(key) for key in runs[0].manifest.get("group_by", ())]
    joined = _JoinedRuns(len(runs), keys)
    n_samples = [0] * len(runs)
    columns: dict[str, None] = {}
    for place, run in enumerate(runs):
        for trials in _list_samples(run, scorer, joined.outcomes[place]):
            sample, score = trials[0].sample, trials[0].score
            joined.has_fields |= score is not None and "fields" in score.detail
            row = joined.add(place, trials)
            n_samples[place] += 1
            if not n_samples[place] % _STEP:
                show_status(f"reading {labels[place]}: {n_samples[place]:,} samples")
            if place == 0:
                columns |= dict.fromkeys(map(str, sample.meta)) if n_samples[0] <= _PEEK else {}
            elif joined.digests[row] != compute_digest(sample):
                _refuse_other_question(sample, runs, labels, place)
    show_status("")
    joined.close(n_samples)
    for key in by or ():
        if set(joined.groups[key]) <= {NO_VALUE}:
            from eyechart.registry import suggest_name

            known = f"columns: {join_names(list(columns), 20) or 'none'}"
            raise UsageError(f"no sample has {key!r}", hint=suggest_name(key, list(columns), otherwise=known))
    return joined


def _list_samples(run: Run, scorer: str, outcomes: Counter[str]) -> Iterator[list[Result]]:
    """The trials of each sample; where CircularEval is the headline, all rotations of a question are one.

    `outcomes` counts each row and trial.
    """
    results = _count_outcomes(run.counted(scorer), outcomes)
    is_circular = run.manifest.get("circular") == "headline"
    return group_trials(merge_rotations(results) if is_circular else results)


def _count_outcomes(results: Iterable[Result], outcomes: Counter[str]) -> Iterator[Result]:
    for result in results:
        outcomes[result.outcome or "pending"] += 1
        yield result


def compute_digest(sample: Sample) -> bytes:
    """What makes a question the same: its text, options and accepted answers."""
    options = (part for option in sorted(sample.choices.items()) for part in option)
    parts = [sample.question, *options, "", *sorted(sample.golds)]
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).digest()


def _refuse_other_question(
    sample: Sample, runs: Sequence[Run], labels: Sequence[str], place: int
) -> NoReturn:
    first = next(run for run in runs if sample.id in {one.id for one in run.journal.samples()})
    theirs = first.sample(sample.id).sample
    told = [
        f"{name}: {shorten(str(other))!r} and {shorten(str(ours))!r}"
        for name, other, ours in (
            ("question", theirs.question, sample.question),
            ("options", dict(theirs.choices), dict(sample.choices)),
            ("answers", ", ".join(sorted(theirs.golds)), ", ".join(sorted(sample.golds))),
        )
        if ours != other
    ]
    both = f"{labels[runs.index(first)]} and {labels[place]}"
    raise UsageError(
        f"{both} did not answer the same questions: sample {sample.id} differs ({'; '.join(told)})",
        hint="compare runs of the same file; ids that only number the rows change with the file",
    )


def _warn_of_missing(joined: _JoinedRuns, labels: Sequence[str]) -> Iterator[str]:
    """For each run, how many questions are left out because of it."""
    for label, missing in zip(labels, joined.missing, strict=True):
        if missing:
            told = ", ".join(f"{n:,} {why}" for why, n in missing.most_common())
            whole = f"{missing.total():,} of {len(joined.rows):,} questions"
            yield f"{label} has no score on {whole} ({told}): they are left out"
