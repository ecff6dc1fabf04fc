"""Compare runs: find them, check that they can be compared, and join their samples.

Samples are joined by id. Where the same id stands for another question, the runs are refused, as are runs
with different scorers or with CircularEval on one side alone. Differences in prompt, images, selection,
sampling, trials, the benchmark's settings, the scorer's version or the judge weaken a comparison: they become
warnings that name every value. `report.compare` has the arithmetic.
"""

from __future__ import annotations

import contextlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from eyechart.errors import UsageError, join_names, shorten
from eyechart.option import list_options
from eyechart.report.compare import (
    CORRECTIONS,
    ComparedRun,
    Comparison,
    Correction,
    SharedQuestions,
    compare_values,
    limit_groups,
)
from eyechart.report.conditions import hide_folders, list_options_apart, read_options, tell_judges
from eyechart.report.counting import (
    NO_GROUPS,
    bound_credit,
    check_groups,
    compute_credit,
    compute_digest,
    find_group,
    is_voted,
)
from eyechart.report.summary import find_unread
from eyechart.report.table import label_models
from eyechart.runs.evaluate import Callbacks
from eyechart.runs.listing import find_run, find_runs
from eyechart.runs.options import BENCHMARK, DATA, IMAGES, LOOK, PROMPT, Options
from eyechart.runs.replies import score_replies
from eyechart.runs.results import Run
from eyechart.store.journal import FILE_NAME
from eyechart.terminal import show_status
from eyechart.types import Result, Sample

_STEP = 5000  # samples between two status lines
_PEEK = 1000  # samples whose columns are suggested for an unknown key
_LOOKED_AT = 30  # samples whose prompts and images are compared
_CONTEXT = 30  # characters around the first difference of two prompts


def compare(
    *runs: Run | str | Path,
    by: str | Sequence[str] | None = None,
    baseline: Run | str | Path | None = None,
    scorer: str | None = None,
    correction: Correction = "holm",
    cluster: str | None = None,
    benchmark: str | None = None,
    out: str | Path = "runs",
    track: Sequence[str] = (),
) -> Comparison:
    """Compare two runs or more on the questions that all of them scored.

    `runs` are `Run` objects, run folders, folders with runs, or files of replies to `benchmark`, which are
    scored into a run folder below `out`. `by` names the keys to compare by (default: the benchmark's own;
    "none": no groups); `baseline` is the run that all others are compared with (default: of two the first,
    of several the one with the highest score); `scorer` is one that scored every run; `correction` is how
    p-values are corrected for several tests: "holm", "bh" (Benjamini-Hochberg) or "none"; `cluster` is a
    column or "none"; `track` names trackers that are told of the comparison.

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
        track=track,
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
    track: Sequence[str] = (),
) -> list[Comparison]:
    """As `compare`, for folders with runs of several benchmarks: one comparison per benchmark."""
    if correction not in CORRECTIONS:
        raise UsageError(f"unknown correction {correction!r}", hint=f"choose one of {', '.join(CORRECTIONS)}")
    callbacks = Callbacks(track)
    runs, is_listed = _find_runs(given, cluster=cluster, benchmark=benchmark, out=out)
    reference = None if baseline is None else _find_baseline(baseline, runs)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        # Runs that are named one by one are meant to be compared, whatever their benchmark is called.
        groups.setdefault("" if is_listed else str(run.manifest.get("benchmark")), []).append(run)
    alone = [several[0] for several in groups.values() if len(several) == 1]
    # In a folder, the run that was started first is the reference, as if the names were typed in this order.
    groups = {
        name: several if is_listed else sorted(several, key=lambda run: run.journal.read_starts()[0])
        for name, several in groups.items()
        if len(several) > 1
    }
    if not groups:
        raise UsageError(
            f"nothing to compare: {_tell_runs(runs) or 'no run is given'}",
            hint="give two runs of one benchmark or more",
        )
    if reference is not None:
        groups = {name: several for name, several in groups.items() if reference in several}
    keys = [by] if isinstance(by, str) else by
    keys = None if keys is None else [key for key in keys if key != NO_GROUPS]
    parts, left = _part_runs(list(groups.values()), scorer) if not is_listed else (list(groups.values()), [])
    found = [
        compare_runs(several, by=keys, baseline=reference, scorer=scorer, correction=correction)
        for several in parts
        if reference is None or reference in several
    ]
    if alone:
        left.append(f"not compared, because no other run is of its benchmark: {_tell_runs(alone)}")
    found[0] = replace(found[0], warnings=(*found[0].warnings, *left))
    with contextlib.closing(callbacks):
        for one in found:
            callbacks.call("on_compare", one)
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
    try:
        name = choose_scorer(runs, labels, scorer)
    except UsageError:
        _refuse_unrelated(runs)
        raise
    joined = join_runs(runs, labels, name, by)
    shared = joined.share(runs)
    missing = list(_warn_of_missing(joined, runs, labels))
    if not shared.ids:
        names = sorted({str(run.manifest.get("benchmark")) for run in runs})
        different = [f"the runs are of different benchmarks: {', '.join(names)}"] if len(names) > 1 else []
        raise UsageError(
            "no question was scored in all runs",
            hint="; ".join([*different, *missing]) or "the questions earn no points",
        )
    warnings = [*list_differences(runs, labels, name, shared.ids), *missing]
    compared = [
        ComparedRun(run=str(run.folder), model=str(run.manifest.get("model", "")), label=label)
        for run, label in zip(runs, labels, strict=True)
    ]
    found = compare_values(
        shared,
        compared,
        baseline=None if baseline is None else str(baseline.folder),
        correction=correction,
        benchmark=str(runs[0].manifest.get("benchmark", "")),
        scorer=name,
    )
    left_out = {one.run: dict(why) for one, why in zip(compared, joined.missing, strict=True)}
    unread = {
        str(run.folder): one
        for run, outcomes in zip(runs, joined.outcomes, strict=True)
        if (one := find_unread(outcomes, name, run.manifest, str(run.folder), has_fields=joined.has_fields))
    }
    found = replace(found, left_out=left_out, unread=unread)
    warnings += [
        f"{one.label}: {unread[one.run].line}"
        for one in compared
        if one.run in unread and unread[one.run].is_many and not found.is_outweighed(one.run)
    ]  # where it is outweighed, the verdict says it
    return replace(found, warnings=tuple(warnings))


def share_questions(runs: Sequence[Run], labels: Sequence[str]) -> SharedQuestions:
    """The values of all runs on the questions that every one of them scored; no runs where there are none."""
    shared = join_runs(runs, labels, choose_scorer(runs, labels), ()).share(runs)
    return shared if shared.ids else SharedQuestions(ids=[], values={})


# -- Finding the runs


def _part_runs(groups: Sequence[Sequence[Run]], scorer: str | None) -> tuple[list[Sequence[Run]], list[str]]:
    """Of each benchmark, the runs that can be compared with each other; and why others are left out."""
    parts: list[Sequence[Run]] = []
    left: list[str] = []
    for runs in groups:
        questions = {run: {one.id: compute_digest(one) for one in run.journal.samples()} for run in runs}
        found: list[list[Run]] = []
        for run in sorted(runs, key=lambda run: -len(questions[run])):
            fitting = next(
                (part for part in found if not _find_obstacle(part[0], run, questions, scorer)), None
            )
            if fitting is None:
                found.append([run])
            else:
                fitting.append(run)
        found.sort(key=len, reverse=True)
        parts += [[run for run in runs if run in part] for part in found if len(part) > 1]
        for [run, *others] in found[1:]:
            why = _find_obstacle(found[0][0], run, questions, scorer)
            left += [] if others else [f"{run.folder} is not compared: {why}"]
    return parts or list(groups), left  # if no two fit, the comparison of the first says what is in the way


def _refuse_unrelated(runs: Sequence[Run]) -> None:
    """Refuse runs of several benchmarks that have no question in common."""
    names = sorted({str(run.manifest.get("benchmark")) for run in runs})
    if len(names) == 1:
        return
    first, *others = ({(one.id, compute_digest(one)) for one in run.journal.samples()} for run in runs)
    if not first.intersection(*others):
        raise UsageError(
            f"no question is in all runs: they are runs of {', '.join(names)}",
            hint="compare runs of one benchmark; eyechart runs lists them",
        )


def _find_obstacle(
    first: Run, run: Run, questions: Mapping[Run, Mapping[str, bytes]], scorer: str | None
) -> str:
    """Why two runs of a folder are not compared; empty if they can be."""
    try:
        labels = label_runs([first, run])
        choose_scorer([first, run], labels, scorer)
    except UsageError as err:
        return err.message
    for one in (run, first):
        overall = one.summary.overall
        if 2 * overall.n_scored < one.summary.n - overall.outcomes.get("unscored", 0):
            return f"{overall.n_scored:,} of its {one.summary.n:,} questions have a score"
    mine, theirs = questions[run], questions[first]
    shared = mine.keys() & theirs.keys()
    if 2 * len(shared) < max(len(mine), len(theirs)):
        ids = f"{len(shared):,} of its {len(mine):,} ids are among the {len(theirs):,} of {first.folder}"
        return f"{ids}, e.g. {join_names(list(mine), 2)} and {join_names(list(theirs), 2)}"
    other = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    if other:
        return f"{len(other):,} questions or answers are not those of {first.folder}, e.g. sample {other[0]}"
    return ""


def _find_runs(
    given: Sequence[Run | str | Path], *, cluster: str | None, benchmark: str | None, out: str | Path
) -> tuple[list[Run], bool]:
    """The runs that are meant, and whether each was named by itself."""
    found: list[Run] = []
    is_listed = True
    for one in given:
        if isinstance(one, Run):
            found.append(one if cluster is None else Run(one.folder, cluster=cluster))
            continue
        path = Path(one)
        if path.is_file() and path.name != FILE_NAME:
            scored = score_replies(benchmark, path, Options.of({"out": out, "progress": False}))
            found.append(Run(scored.folder, cluster=cluster))
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


def label_runs(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its model, with the end of its folder's name where models occur twice."""
    models = [hide_folders(str(run.manifest.get("model", ""))) for run in runs]
    labels = label_models(models, [run.folder.name for run in runs])
    return labels if len(set(labels)) == len(runs) else [str(run.folder) for run in runs]


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
        # By run: the value, and the least and the most that it is with what failed.
        self.values, self.worst, self.best = ([array("d") for _ in range(n_runs)] for _ in range(3))
        self.has_failed = False
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
                values.append(find_group(sample, key))
            for column in (*self.values, *self.worst, *self.best):
                column.append(math.nan)
        scored = [value for result in trials if (value := compute_credit(result)) is not None]
        if not scored:
            self.missing[place][trials[0].outcome or "pending"] += 1
        self.values[place][row] = math.fsum(scored) / len(scored) if scored else math.nan
        worst, best = bound_credit(trials) or (math.nan, math.nan)
        self.worst[place][row], self.best[place][row] = worst, best
        self.has_failed |= worst < best
        if trials[0].cluster:
            self.clusters[place][row] = trials[0].cluster
        return row

    def share(self, runs: Sequence[Run]) -> SharedQuestions:
        """The questions that every run scored; those that earn no points are left out."""
        folders = [str(run.folder) for run in runs]
        shared = self._select(folders, self.values)
        if not shared.ids or not self.has_failed:
            return shared
        worst, best = (self._select(folders, ends) for ends in (self.worst, self.best))
        return msgspec.structs.replace(shared, worst=worst, best=best)

    def _select(self, folders: Sequence[str], given: Sequence[Sequence[float]]) -> SharedQuestions:
        """The questions with a value in every run."""
        kept = [
            row
            for row, (weight, *values) in enumerate(zip(self.weights, *given, strict=True))
            if weight > 0 and not any(map(math.isnan, values))
        ]
        ids = list(self.rows)
        weights = [self.weights[row] for row in kept]
        # Runs may have sent one image in different sizes: use the run that saw most questions share one.
        counts = [len({clusters.get(row, row) for row in kept}) for clusters in self.clusters]
        clusters = self.clusters[counts.index(min(counts))]
        limited = {key: limit_groups(values) for key, values in self.groups.items()}
        groups = {key: [values[row] for row in kept] for key, values in limited.items()}
        return SharedQuestions(
            ids=[ids[row] for row in kept],
            values={
                folder: [values[row] for row in kept] for folder, values in zip(folders, given, strict=True)
            },
            weights=weights if len(set(weights)) > 1 else None,
            clusters=[clusters.get(row, row) for row in kept] if min(counts) < len(kept) else None,
            groups={key: values for key, values in groups.items() if len(set(values)) > 1},
        )


def join_runs(
    runs: Sequence[Run], labels: Sequence[str], scorer: str, by: Sequence[str] | None
) -> _JoinedRuns:
    """The samples of several runs by id; raises where an id stands for another question."""
    keys = by if by is not None else [str(key) for key in runs[0].manifest.get("group_by", ())]
    joined = _JoinedRuns(len(runs), keys)
    n_samples = [0] * len(runs)
    check_groups(by or (), islice(runs[0].journal.samples(), _PEEK))
    for place, run in enumerate(runs):
        for trials in run.questions(_count_outcomes(run.counted(scorer), joined.outcomes[place])):
            sample, score = trials[0].sample, trials[0].score
            joined.has_fields |= score is not None and "fields" in score.detail
            row = joined.add(place, trials)
            n_samples[place] += 1
            if not n_samples[place] % _STEP:
                show_status(f"reading {labels[place]}: {n_samples[place]:,} samples")
            if place and joined.digests[row] != compute_digest(sample):
                _refuse_other_question(sample, runs, labels, place)
    show_status("")
    for missing, own in zip(joined.missing, n_samples, strict=True):
        if own < len(joined.rows):
            missing["not asked"] = len(joined.rows) - own
    return joined


def _count_outcomes(results: Iterable[Result], outcomes: Counter[str]) -> Iterator[Result]:
    """The results, each row and trial counted on the way."""
    for result in results:
        outcomes[result.outcome or "pending"] += 1
        yield result


def _refuse_other_question(
    sample: Sample, runs: Sequence[Run], labels: Sequence[str], place: int
) -> NoReturn:
    first = next(run for run in runs if sample.id in {one.id for one in run.journal.samples()})
    theirs = first.sample(sample.id).sample
    described = [
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
        f"{both} did not answer the same questions: sample {sample.id} differs ({'; '.join(described)})",
        hint="compare runs of the same file; ids that only number the rows change with the file",
    )


def _warn_of_missing(joined: _JoinedRuns, runs: Sequence[Run], labels: Sequence[str]) -> Iterator[str]:
    """For each run, how many questions are left out because of it."""
    for run, label, missing in zip(runs, labels, joined.missing, strict=True):
        if missing:
            described = ", ".join(f"{n:,} {why}" for why, n in missing.most_common())
            whole = f"{missing.total():,} of {len(joined.rows):,} questions"
            yield f"{label} has no score on {whole} ({described}): they are left out"
        if missing["pending"] and read_options(run.manifest).get("stop_when"):
            yield f"{label} was stopped when decided: intervals and p do not allow for it, eyechart gate does"


# -- What differs between the runs


def choose_scorer(runs: Sequence[Run], labels: Sequence[str], name: str | None = None) -> str:
    """The scorer to compare under: the one that is named, otherwise that of all runs.

    Refuses runs without a common one, and runs that count questions differently.
    """
    known = [list(run.manifest.get("versions") or [run.manifest.get("scorer", "")]) for run in runs]
    own = [str(run.manifest.get("scorer", "")) for run in runs]
    for run, label, names in zip(runs, labels, known, strict=True):
        if name is not None and name not in names:
            raise UsageError(
                f"{name} has not scored {label} (it has: {', '.join(names)})",
                hint=f"add its scores: eyechart score {run.folder} --also-scorer {name}",
            )
    if name is None and len(set(own)) > 1:
        common = [one for one in known[0] if all(one in names for names in known)]
        lacking = next((run for run, names in zip(runs, known, strict=True) if own[0] not in names), runs[-1])
        add = f"add the scores of one to the other: eyechart score {lacking.folder} --also-scorer {own[0]}"
        raise UsageError(
            f"the runs have different scorers: {_tell_values(own, labels)}",
            hint=f"compare under one that scored all of them: --scorer {common[0]}" if common else add,
        )
    refuse_different_units(runs, labels)
    return own[0] if name is None else name


def refuse_different_units(runs: Sequence[Run], labels: Sequence[str]) -> None:
    """Refuse questions that count once with all rotations beside questions that were asked once."""
    voted = ["vote" if is_voted(run.manifest) else "each trial" for run in runs]
    turned = ["CircularEval" if run.is_circular else "plain" for run in runs]
    for kinds, what, flag in (
        (voted, "count the vote of their trials, others every trial", "--vote"),
        (turned, "count rotations of a question together, others do not", "--circular"),
    ):
        if len(set(kinds)) > 1:
            raise UsageError(
                f"some runs {what}: {_tell_values(kinds, labels)}",
                hint=f"run all of them with {flag}, or none; or name the runs to compare",
            )


def list_differences(
    runs: Sequence[Run], labels: Sequence[str], scorer: str, ids: Sequence[str]
) -> Iterator[str]:
    """What differs between the runs besides their models, one line each, with every value."""
    benchmarks = [str(run.manifest.get("benchmark", "")) for run in runs]
    if len(set(benchmarks)) > 1:
        yield f"the benchmarks have different names: {_tell_values(benchmarks, labels)}"
    of_files = [label for run, label in zip(runs, labels, strict=True) if not run.manifest.get("options")]
    if of_files and len(of_files) < len(runs):
        yield f"how {join_names(of_files)} was asked is not known: it was scored from a file of replies"
    asked = [run for run in runs if run.manifest.get("options")]
    theirs = [label for label in labels if label not in of_files]
    # The seed is left out: runs that differ in it alone are two draws of the same thing.
    found = list_options_apart([run.manifest["options"] for run in asked], list_options(Options))
    different = [one for one in found if one[0] != "seed"]
    yield from (f"{flag} differs: {_tell_values(values, theirs)}" for _, flag, values in different)
    if len(asked) > 1:
        yield from _list_asked_apart(asked, theirs, ids, {option for option, _, _ in different})
    yield from _list_scoring_apart(runs, labels, scorer)


def _list_asked_apart(
    runs: Sequence[Run], labels: Sequence[str], ids: Sequence[str], known: Set[str]
) -> Iterator[str]:
    """Prompts and images that differ although no option does: another version of the benchmark."""
    groups = {list_options(Options)[name].group for name in known}
    has_other_prompt = not groups.isdisjoint({PROMPT, BENCHMARK, DATA, LOOK})
    has_other_size = not groups.isdisjoint({IMAGES, LOOK}) or "input" in known
    for name in dict.fromkeys(ids[place * (len(ids) - 1) // (_LOOKED_AT - 1)] for place in range(_LOOKED_AT)):
        asked = [run.journal.asked(name) for run in runs]
        if not all(asked):
            return
        texts = ["\n".join(_list_parts(turns, "text")) for turns in asked]
        images = [list(_list_parts(turns, "image")) for turns in asked]
        sizes = [", ".join(filter(None, map(_tell_size, several))) or "no image" for several in images]
        contents = [", ".join(map(_tell_content, several)) or "no image" for several in images]
        for what, values, is_known in (
            ("the prompts differ", texts, has_other_prompt),
            ("the images differ in size", sizes, has_other_size),
            ("the images differ", contents, has_other_size or any("?" in one for one in contents)),
        ):
            if len(set(values)) > 1 and not is_known:
                shown = _cut_to_difference(values) if values is texts else values
                yield f"{what}, e.g. of sample {name}: {_tell_values(shown, labels)}"
                return


def _list_parts(turns: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Any]:
    return (part[kind] for turn in turns for part in turn["parts"] if part.get(kind))


def _tell_size(image: Any) -> str:
    return f"{image['width']} x {image['height']}" if isinstance(image, Mapping) and "width" in image else ""


def _tell_content(image: Any) -> str:
    """The beginning of an image's SHA-256; ``?`` where it was encoded anew, by whatever library."""
    is_original = isinstance(image, Mapping) and not image.get("reencoded") and not image.get("resized")
    return f"SHA-256 {image['sha256'][:8]}" if is_original and image.get("sha256") else "?"


def _cut_to_difference(texts: Sequence[str]) -> list[str]:
    """The texts around the first character in which they differ.

    >>> _cut_to_difference(["Which? Answer with a letter.", "Which? Answer with a word."])
    ["'Which? Answer with a letter.'", "'Which? Answer with a word.'"]
    """
    first = next(
        (place for place, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1),
        min(map(len, texts)),
    )
    begin = max(0, first - _CONTEXT)
    return [
        repr("…" * (begin > 0) + text[begin : first + _CONTEXT] + "…" * (len(text) > first + _CONTEXT))
        for text in texts
    ]


def _list_scoring_apart(runs: Sequence[Run], labels: Sequence[str], scorer: str) -> Iterator[str]:
    trials = [str(run.trials) for run in runs]
    if len(set(trials)) > 1:
        yield f"--trials differs: {_tell_values(trials, labels)}"
    versions = [str((run.manifest.get("versions") or {}).get(scorer, "unknown")) for run in runs]
    if len(set(versions)) == 1:
        return
    judges = [tell_judges(run.manifest.get("judge")) for run in runs]
    if len(set(judges)) > 1:  # they are part of the version
        yield f"the judge differs: {_tell_values(judges, labels)}"
    else:
        add = "score the older run again with: eyechart score RUN"
        yield f"the version of the scorer {scorer} differs: {_tell_values(versions, labels)}; {add}"


def _tell_values(values: Sequence[str], labels: Sequence[str]) -> str:
    """Each value with the runs that have it.

    >>> _tell_values(["1", "2", "1"], ["a", "b", "c"])
    '1 (a, c) and 2 (b)'
    """
    holders: dict[str, list[str]] = {}
    for value, label in zip(values, labels, strict=True):
        holders.setdefault(value, []).append(label)
    return " and ".join(f"{shorten(value)} ({join_names(names)})" for value, names in holders.items())
