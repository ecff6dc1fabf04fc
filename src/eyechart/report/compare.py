"""Compare runs on the questions that all of them scored: differences, ranks, categories, flips, a verdict.

The arithmetic of a comparison, over one value per question and run; `run.comparison` reads the values and
checks that the runs can be compared. What the numbers mean:

- **n** counts the shared questions: those that every run scored. All numbers are about these.
- **difference** is the mean of a run's value minus the reference's, question by question. Its interval and
  its p-value are paired and respect clusters, such as several questions on one image (`stats.paired`).
- The **reference** of two runs is the first one, the old one; of several, the run with the highest score, or
  the baseline that the user names. The highest run is chosen by looking at the scores, so its p-values are
  corrected for all pairs of runs; those against a named baseline are corrected for the number of other runs.
- A **flip** is a question that one run got right and the other wrong: values on different sides of one half.
- Where a run has no reply, or no verdict, on a question that the other scored, **ci95_with_failures** is the
  interval with these questions, from all counted against the first run of the pair to all counted for it.
- Two runs are **distinguishable** if the corrected p-value is below 0.05 and the interval excludes zero, that
  with failures as well.
- The **smallest difference** is the true difference that such a test finds with a power of 80 %. It is not
  below one that was measured here and not told apart.
- **ranks** is the interval of a run's rank, by bootstrap over the clusters (`stats.rank_intervals`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any, Literal

import msgspec

from eyechart import stats
from eyechart.errors import join_names
from eyechart.files import list_values, to_json_value
from eyechart.report.counting import MAX_VALUES, OTHER_VALUES, RIGHT, get_group_order
from eyechart.report.summary import Unread
from eyechart.terminal import to_one_line

Correction = Literal["holm", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "bh", "none")
ALPHA = 0.05
_EXCESS = 0.005  # how rarely two runs of one model may be said to flip more than noise explains
_CAUSE = 0.05
_OF_FIRST = ("difference", "ci95", "ci95_with_failures", "p", "discordant", "smallest_difference", "flipped")


class SharedQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """The questions that all runs scored, and the value of each run on each question."""

    ids: Sequence[str]
    values: Mapping[str, Sequence[float]]  # by the folder of the run, in the order of `ids`
    weights: Sequence[float] | None = None  # None: all count the same
    clusters: Sequence[str | int] | None = None  # None: all are independent
    groups: Mapping[str, Sequence[str]] = {}  # per key, the group of each question
    # With the questions that failed in some run: `values` with all failures wrong, and with all right.
    worst: SharedQuestions | None = None
    best: SharedQuestions | None = None


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a comparison: its folder, its model, and a label that no other run here has."""

    run: str
    model: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A question that one run got right and the other wrong, with the value of each."""

    id: str
    a: float
    b: float
    by: Mapping[str, str] = field(default_factory=dict)  # its group per key, e.g. its category


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Run `a` minus run `b` on the shared questions; the module's docstring defines each number."""

    a: str  # the folders of the runs
    b: str
    n: int
    n_clusters: int
    scores: tuple[float, float]
    difference: float
    ci95: tuple[float, float]
    p: float
    p_adjusted: float
    discordant: tuple[int, int]  # questions on which a has the higher value, and on which b has
    method: str
    smallest_difference: float | None  # None where all questions have the same difference; 1 for too few
    n_failed: int = 0  # questions without a reply or a verdict in one of the two
    ci95_with_failures: tuple[float, float] | None = None  # None where there are no such questions
    flipped: tuple[Flip, ...] = field(default=(), repr=False)

    @property
    def is_distinguishable(self) -> bool:
        low, high = self.ci95_with_failures or self.ci95
        return self.is_different_where_scored and not low <= 0 <= high

    @property
    def is_different_where_scored(self) -> bool:
        """Whether the shared questions alone, without those that failed, tell the runs apart."""
        low, high = self.ci95
        return self.p_adjusted < ALPHA and not low <= 0 <= high

    def to_json(self, *, with_flips: bool = True) -> dict[str, Any]:
        """Plain values for JSON; fractions from 0 to 1."""
        found: dict[str, Any] = to_json_value(self)
        flipped = found.pop("flipped")
        found["is_distinguishable"] = self.is_distinguishable
        return {**found, "flipped": flipped} if with_flips else found


class Standing(ComparedRun, frozen=True, kw_only=True):
    """A run's place among the compared runs."""

    score: float
    ci95: tuple[float, float]
    rank: int
    ranks: tuple[int, int]  # best and worst plausible rank

    def to_json(self) -> dict[str, Any]:
        return list_values(self, ("run", "model", "score", "ci95", "rank", "ranks"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """The shared questions of one group, such as a category: every run's score, and the differences."""

    n: int
    scores: Mapping[str, float]  # by run
    pairs: tuple[Difference, ...]  # as in `Comparison`, corrected over all groups of the key

    def to_json(self) -> dict[str, Any]:
        pairs = [pair.to_json(with_flips=False) for pair in self.pairs]
        return {"n": self.n, "scores": dict(self.scores), "pairs": pairs}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Runs compared on the questions they share. Scores and differences are fractions from 0 to 1.

    `difference`, `ci95`, `p`, `discordant` and `flipped` are those of the first pair: of two runs the second
    minus the first, of several the one that follows the reference in `standings` minus the reference.
    """

    benchmark: str
    scorer: str
    n: int
    n_clusters: int
    standings: tuple[Standing, ...]  # by score, highest first
    pairs: tuple[Difference, ...]  # every other run minus the reference, in the order of the standings
    reference: str  # the folder of the run that the others are compared with
    is_baseline: bool = False  # the user chose the reference
    correction: Correction = "holm"
    by: Mapping[str, Mapping[str, GroupComparison]] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by run: why, how many
    warnings: tuple[str, ...] = ()
    unread: Mapping[str, Unread] = field(default_factory=dict)  # by run: replies without a readable answer
    noise: Noise | None = None  # of the flips of the first pair, if it was asked for
    questions: SharedQuestions

    def __repr__(self) -> str:
        return f"Comparison(n={self.n}, verdict={self.verdict!r})"

    def _repr_html_(self) -> str:
        from eyechart.report.notebook import show_comparison

        return show_comparison(self)

    @property
    def is_many(self) -> bool:
        """Whether there are more than two runs."""
        return len(self.standings) > 2

    @property
    def scores(self) -> dict[str, float]:
        """Each run's score on the shared questions, by its folder."""
        return {standing.run: standing.score for standing in self.standings}

    @property
    def labels(self) -> dict[str, str]:
        """A label for each run, on one line."""
        return {standing.run: to_one_line(standing.label) for standing in self.standings}

    @property
    def difference(self) -> float:
        return self.pairs[0].difference

    @property
    def ci95(self) -> tuple[float, float]:
        """The 95 % interval of the difference."""
        return self.pairs[0].ci95

    @property
    def p(self) -> float:
        """The p-value of the difference, not corrected; `pairs` have both."""
        return self.pairs[0].p

    @property
    def discordant(self) -> tuple[int, int]:
        return self.pairs[0].discordant

    @property
    def flipped(self) -> tuple[Flip, ...]:
        return self.pairs[0].flipped

    @property
    def smallest_difference(self) -> float | None:
        return self.pairs[0].smallest_difference

    @property
    def verdict(self) -> str:
        """What the numbers say, in one sentence; and a line for each run whose unread replies outweigh it."""
        labels = self.labels
        sentence = write_verdict(self.pairs, labels, self.reference, is_baseline=self.is_baseline)
        lines = [f"{labels[run]}: {one.line}" for run, one in self.unread.items() if self.is_outweighed(run)]
        noise = [self.noise.verdict] if self.noise else []
        return "\n".join([sentence, *noise, *map(to_one_line, lines)])

    def is_outweighed(self, run: str) -> bool:
        """Whether more of a run's replies have no readable answer than its scores differ."""
        differences = [abs(pair.difference) for pair in self.pairs if run in (pair.a, pair.b)]
        return run in self.unread and self.unread[run].share > min(differences, default=1.0)

    def to_json(self, *, with_flips: bool = True) -> dict[str, Any]:
        """What ``--json`` prints; scripts rely on these names. `with_flips`: also list the samples."""
        pairs = [pair.to_json(with_flips=with_flips) for pair in self.pairs]
        return {
            **list_values(self, ("benchmark", "scorer", "n", "n_clusters", "scores")),
            **{name: one for name, one in pairs[0].items() if name in _OF_FIRST},
            "verdict": self.verdict,
            "runs": [standing.to_json() for standing in self.standings],
            "reference": self.reference,
            "correction": self.correction,
            "pairs": pairs,
            **list_values(self, ("by", "left_out", "warnings", "unread", *(["noise"] if self.noise else []))),
        }


# -- Comparing


def compare_values(
    questions: SharedQuestions,
    runs: Sequence[ComparedRun],
    *,
    baseline: str | None = None,
    correction: Correction = "holm",
    benchmark: str = "",
    scorer: str = "",
) -> Comparison:
    """Compare two runs or more; `baseline` is the folder of the run that the others are compared with.

    >>> runs = [ComparedRun(run=name, model=name, label=name) for name in ("a", "b")]
    >>> questions = SharedQuestions(ids=["1", "2", "3"], values={"a": [1, 0, 0], "b": [1, 1, 0]})
    >>> found = compare_values(questions, runs)
    >>> round(found.difference, 3), found.discordant, [flip.id for flip in found.flipped]
    (0.333, (1, 0), ['2'])
    """
    scores = {run: _estimate(questions, run) for run in questions.values}
    order = sorted(scores, key=lambda run: -scores[run].mean)
    reference = baseline or (runs[0].run if len(runs) == 2 else order[0])
    pairs = [(run, reference) for run in order if run != reference]
    # The highest run was chosen by its score: any other could have been, so all pairs count as tested.
    others = [pair for pair in combinations(order, 2) if baseline is None and reference not in pair]
    tested = _compare_pairs([questions], [*pairs, *others], correction)[: len(pairs)]
    return Comparison(
        benchmark=benchmark,
        scorer=scorer,
        n=len(questions.ids),
        n_clusters=tested[0].n_clusters,
        standings=tuple(_rank_runs(questions, runs, scores, tested)),
        pairs=tuple(replace(pair, flipped=tuple(_find_flips(questions, pair.a, pair.b))) for pair in tested),
        reference=reference,
        is_baseline=baseline is not None,
        correction=correction,
        by={key: _compare_groups(questions, pairs, key, correction) for key in questions.groups},
        questions=questions,
    )


def _rank_runs(
    questions: SharedQuestions,
    runs: Sequence[ComparedRun],
    scores: Mapping[str, stats.Interval],
    pairs: Sequence[Difference],
) -> list[Standing]:
    """The runs by score, highest first; equal scores share a rank."""
    rank = {run: 1 + sum(other.mean > one.mean for other in scores.values()) for run, one in scores.items()}
    ranks: Mapping[str, tuple[int, int]]
    if len(runs) > 2:
        ranks = stats.rank_intervals(questions.values, questions.clusters, questions.weights)
    else:  # the test of the pair answers it
        ranks = {run: (one, one) if pairs[0].is_distinguishable else (1, 2) for run, one in rank.items()}
    return [
        Standing(
            **msgspec.structs.asdict(one),
            score=scores[one.run].mean,
            ci95=(scores[one.run].low, scores[one.run].high),
            rank=rank[one.run],
            ranks=ranks[one.run],
        )
        for one in sorted(runs, key=lambda one: rank[one.run])
    ]


def _estimate(questions: SharedQuestions, run: str) -> stats.Interval:
    found = stats.interval(questions.values[run], questions.weights, questions.clusters)
    assert found is not None, "a comparison has questions"
    return found


def _compare_pairs(
    questions: Sequence[SharedQuestions], pairs: Sequence[tuple[str, str]], correction: Correction
) -> list[Difference]:
    """The first run of each pair minus the second, in each set of questions, corrected for all of them."""
    tested = [(part, a, b, pair_values(part, part, a, b)) for part in questions for a, b in pairs]
    alpha = ALPHA / len(tested) if correction == "holm" else ALPHA
    adjusted: Sequence[float] = [found.p for *_, found in tested]
    if correction != "none":
        adjust = stats.adjust_holm if correction == "holm" else stats.adjust_benjamini_hochberg
        adjusted = adjust(adjusted)
    return [
        Difference(
            a=a,
            b=b,
            n=found.n,
            n_clusters=found.n_clusters,
            scores=(found.mean_a, found.mean_b),
            difference=found.difference,
            ci95=(found.low, found.high),
            p=found.p,
            p_adjusted=p,
            discordant=found.discordant,
            method=found.method,
            smallest_difference=_find_smallest(found, p, alpha),
            **_add_failures(part, a, b),
        )
        for (part, a, b, found), p in zip(tested, adjusted, strict=True)
    ]


def _find_smallest(found: stats.Paired, p: float, alpha: float) -> float | None:
    smallest = stats.find_smallest_difference(found, alpha=alpha)
    if smallest is None or (p < ALPHA and not found.low <= 0 <= found.high):
        return smallest
    return max(smallest, abs(found.difference))


def _add_failures(part: SharedQuestions, a: str, b: str) -> dict[str, Any]:
    """How many questions failed in one of the runs, and the interval that they allow."""
    worst, best = part.worst, part.best
    if worst is None or best is None:
        return {}
    rows = zip(worst.values[a], best.values[a], worst.values[b], best.values[b], strict=True)
    n_failed = sum(low_a != high_a or low_b != high_b for low_a, high_a, low_b, high_b in rows)
    if not n_failed:
        return {}
    ends = pair_values(worst, best, a, b).low, pair_values(best, worst, a, b).high
    return {"n_failed": n_failed, "ci95_with_failures": ends}


def pair_values(
    part: SharedQuestions, other: SharedQuestions, a: str, b: str, *, confidence: float = 0.95
) -> stats.Paired:
    """Run `a` minus run `b`, whose values may be others of the same questions."""
    found = stats.paired(part.values[a], other.values[b], part.weights, part.clusters, confidence=confidence)
    assert found is not None, "a comparison has questions"
    return found


def _compare_groups(
    questions: SharedQuestions,
    pairs: Sequence[tuple[str, str]],
    key: str,
    correction: Correction,
) -> dict[str, GroupComparison]:
    """The same pairs within every group of a key, corrected over all of them."""
    names = sorted(set(questions.groups[key]), key=get_group_order)
    parts = {value: _select(questions, key, value) for value in names}
    tested = iter(_compare_pairs(list(parts.values()), pairs, correction))
    return {
        value: GroupComparison(
            n=len(part.ids), scores=compute_scores(part), pairs=tuple(islice(tested, len(pairs)))
        )
        for value, part in parts.items()
    }


def limit_groups(values: Sequence[str]) -> list[str]:
    """The group of each question, with the values beyond the first `MAX_VALUES` as one group."""
    kept = set(islice(dict.fromkeys(values), MAX_VALUES))
    return [value if value in kept else OTHER_VALUES for value in values]


def _select(questions: SharedQuestions, key: str, value: str) -> SharedQuestions:
    rows = [row for row, group in enumerate(questions.groups[key]) if group == value]
    return SharedQuestions(
        ids=[questions.ids[row] for row in rows],
        values={run: [values[row] for row in rows] for run, values in questions.values.items()},
        weights=questions.weights and [questions.weights[row] for row in rows],
        clusters=questions.clusters and [questions.clusters[row] for row in rows],
        worst=questions.worst and _select(questions.worst, key, value),
        best=questions.best and _select(questions.best, key, value),
    )


def compute_scores(questions: SharedQuestions) -> dict[str, float]:
    """Each run's score on the questions, by its folder."""
    weights = questions.weights or [1.0] * len(questions.ids)
    total = math.fsum(weights)
    return {
        run: math.fsum(map(operator.mul, values, weights)) / total for run, values in questions.values.items()
    }


def _find_flips(questions: SharedQuestions, a: str, b: str) -> Iterator[Flip]:
    for row, (mine, theirs) in enumerate(zip(questions.values[a], questions.values[b], strict=True)):
        if (mine >= RIGHT) != (theirs >= RIGHT):
            by = {key: values[row] for key, values in questions.groups.items()}
            yield Flip(id=questions.ids[row], a=mine, b=theirs, by=by)


# -- How many flips are noise: what asking the same model twice changes
#
# Rechecked questions were asked twice under the load of the run; the share of these that flipped, times the
# shared questions, is how many flips are expected of a model against itself. Its interval is that of the
# share (docs/intervals.md).


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRate:
    """How often two replies of one model to one question are on different sides of one half."""

    n: int
    n_flipped: int
    rate: float
    ci95: tuple[float, float]

    @classmethod
    def of(cls, flips: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> FlipRate:
        """The rate of some rechecked questions; at least one.

        >>> FlipRate.of([True, False, False, False]).rate
        0.25
        """
        found = stats.interval(map(float, flips), clusters=clusters)
        assert found is not None, "something was rechecked"
        ends = (found.low, found.high)
        return cls(n=len(flips), n_flipped=sum(flips), rate=found.mean, ci95=ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The flips between two runs, beside those that asking twice explains."""

    n: int  # shared questions
    flips: int
    rate: FlipRate  # at the load of the runs
    by_concurrency: Mapping[int, FlipRate] = field(default_factory=dict)  # of rechecks at other loads
    load: int = 0  # the concurrency of the runs

    @property
    def expected(self) -> float:
        """Flips that noise alone would give."""
        return self.n * self.rate.rate

    @property
    def expected_ci95(self) -> tuple[float, float]:
        low, high = self.rate.ci95
        return self.n * low, self.n * high

    @property
    def is_excess(self) -> bool:
        """Whether there are more flips than noise explains."""
        rate = self.rate
        return compute_excess(self.flips, self.n, rate.n_flipped, rate.n) < _EXCESS

    @property
    def floor(self) -> float:
        """The difference of two scores that noise alone exceeds in one of twenty repetitions."""
        return 1.96 * math.sqrt(self.expected) / self.n

    @property
    def cause(self) -> str:
        """Whether the load is the cause, as far as rechecks with less load say; empty without any."""
        less = min((one for one in self.by_concurrency if one < self.load), default=None)
        if less is None:
            return ""
        other = self.by_concurrency[less]
        p = compute_excess(self.rate.n_flipped, self.rate.n, other.n_flipped, other.n)
        shares = (
            f"{self.rate.n_flipped} of {self.rate.n} flip with {self.load} requests in flight, "
            f"{other.n_flipped} of {other.n} with {less}"
        )
        if p < _CAUSE:
            return f"{shares}: the load is a cause"
        return f"{shares}: no effect of the load shows"

    @property
    def verdict(self) -> str:
        """What the numbers say, in one sentence."""
        low, high = self.expected_ci95
        flips = f"{self.flips:,} flip{'s' * (self.flips != 1)}"
        are = "is" if round(self.expected) == 1 else "are"
        rechecked = f"{self.rate.n_flipped:,} of {self.rate.n:,} rechecked questions flipped"
        said = (
            f"of {flips}, {self.expected:,.0f} {are} expected from asking the same model twice "
            f"({low:,.0f} to {high:,.0f}; {rechecked})"
        )
        if self.is_excess:
            said += ": more than noise explains"
        return "; ".join(filter(None, (said, self.cause)))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = (
            "n", "flips", "expected", "expected_ci95", "is_excess", "floor", "rate", "load", "by_concurrency",
            "cause", "verdict",
        )  # fmt: skip
        return list_values(self, names)


def compute_excess(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """The mid-p value of as large a share as hits of n, if it is that of the others (Fisher, one-sided).

    >>> round(compute_excess(30, 100, 3, 100), 6), round(compute_excess(3, 100, 3, 100), 2)
    (0.0, 0.5)
    """
    total, most = hits + other_hits, min(n, hits + other_hits)
    whole = _log_ways(n + other_n, total)

    def chance(k: int) -> float:
        return math.exp(_log_ways(n, k) + _log_ways(other_n, total - k) - whole)

    return min(1.0, math.fsum(chance(k) for k in range(hits + 1, most + 1)) + chance(hits) / 2)


def _log_ways(n: int, k: int) -> float:
    if not 0 <= k <= n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# -- The verdict


def write_verdict(
    pairs: Sequence[Difference], labels: Mapping[str, str], reference: str, *, is_baseline: bool
) -> str:
    """One sentence about the differences of all other runs from the reference."""
    if len(pairs) == 1:
        return _write_verdict_of_two(pairs[0], labels)
    on = f"on {pairs[0].n:,} shared questions"
    distinguishable = [pair for pair in pairs if pair.is_distinguishable]
    alike = [pair for pair in pairs if not pair.is_distinguishable]
    limit = _tell_limit(alike)
    name = labels[reference]
    if is_baseline:
        better, worse = (
            [one for one in distinguishable if (one.difference > 0) == is_up] for is_up in (True, False)
        )
        parts = {
            f"better than {name}": better,
            f"worse than {name}": worse,
            f"not distinguishable from {name}{limit}": alike,
        }
        found = []
        for what, several in parts.items():
            if several:
                names = join_names([labels[pair.a] for pair in several], 5)
                found.append(f"{names} {'is' if len(several) == 1 else 'are'} {what}")
        return f"{on}: {'; '.join(found)}"
    if not alike:
        first = pairs[0]
        low, high = sorted(-end for end in first.ci95)
        ahead = f"{format_points(-first.difference)} points ({format_points(low)} to {format_points(high)})"
        return f"{name} is best {on}: {ahead} ahead of {labels[first.a]}, the next one"
    others = join_names([labels[pair.a] for pair in alike], 5) if distinguishable else "any other run"
    return f"{name} is highest {on}, but not distinguishable from {others}{limit}"


def _write_verdict_of_two(pair: Difference, labels: Mapping[str, str]) -> str:
    on = f"on {pair.n:,} shared question{'s' * (pair.n != 1)}"
    both = f"{labels[pair.b]} and {labels[pair.a]} are not distinguishable"
    if pair.is_distinguishable:
        better, sign = (pair.a, 1) if pair.difference > 0 else (pair.b, -1)
        low, high = sorted(sign * end for end in pair.ci95)
        by = f"{format_points(abs(pair.difference))} points ({format_points(low)} to {format_points(high)})"
        return f"{labels[better]} is better by {by} {on}"
    if pair.is_different_where_scored and pair.ci95_with_failures:
        least, most = map(format_points, pair.ci95_with_failures)
        failed = f"{pair.n_failed:,} question{'s' * (pair.n_failed != 1)}"
        return (
            f"{both}: {labels[pair.a]} minus {labels[pair.b]} is "
            f"{format_points(pair.difference)} points {on}, but {failed} failed, with which it could be "
            f"{least} to {most}"
        )
    if pair.discordant == (0, 0):
        each = f"each of {pair.n:,} shared questions" if pair.n > 1 else "1 shared question"
        return f"{both}: both have the same score on {each}"
    return f"{both} {on}{_tell_limit([pair])}"


def _tell_limit(pairs: Sequence[Difference]) -> str:
    hidden = max((pair.smallest_difference or 0.0 for pair in pairs), default=0.0)
    if hidden >= 1:
        return ": too few to show any difference"
    if not hidden:
        return ""
    return f": a difference of {format_points(hidden)} points would be found with a power of 80 %"


def format_points(fraction: float) -> str:
    """A difference in percentage points, with one decimal.

    >>> format_points(0.0213), format_points(-0.0001)
    ('2.1', '0.0')
    """
    return f"{100 * fraction:.1f}".replace("-0.0", "0.0")


def format_signed(fraction: float) -> str:
    """The same with its sign.

    >>> format_signed(0.0213), format_signed(-0.0213), format_signed(-0.0001)
    ('+2.1', '-2.1', '0.0')
    """
    text = format_points(fraction)
    return f"+{text}" if float(text) > 0 else text


def format_p(p: float) -> str:
    """A p-value with three decimals.

    >>> format_p(0.0312), format_p(0.00002), format_p(1.0)
    ('0.031', '<0.001', '1.000')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"
