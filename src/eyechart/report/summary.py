"""The numbers of a run: the headline with its interval, and the same for every group.

What counts as what, for a group and for the whole run alike:

- **n** counts samples, however many trials each had. **outcomes** counts sample-trials.
- **score** is the mean over samples of the mean over a sample's scored trials. `correct`, `wrong` and
  `partial` count their value; `unparsed`, `refused` and `truncated` count 0. Samples that `failed` (no
  reply), are `unscored` (no public answer) or pending (not asked yet) are excluded. Weighted samples count
  by their weight.
- **ci95** is the interval of that mean and **method** the rule (docs/intervals.md). It counts **n_clusters**
  clusters of the **n_scored** samples that the score is over: questions on one image are one cluster
  (report/clusters.py). **stderr** is the standard error, clustered as well.
- **coverage** is the share of sample-trials that the score rests on.
- **bounds** are the worst and best possible score: every `failed`, `unparsed` and `truncated` sample counted
  as wrong, then as right. Unscored and pending ones stay excluded.
- **ci95_with_failures** reaches from the lower end of the interval at worst to the upper end at best; None if
  no sample failed, was unparsed or truncated.
- **shrunk** is a group's score drawn towards that of all groups by how few samples it has (beta-binomial).
- **chance** is the mean of what guessing scores (report/chance.py), over the samples that have a score (over
  all, if none has); for CircularEval the product over all rotations.
- **cost** is in USD: the tokens of the replies that the numbers rest on and of all judge calls, at the prices
  of the run's last start; null if a price is not known. A cached reply counts what it originally cost.
- **judge** is the judge card: see judges.py.
- **also** holds other readings of the same replies: the plain score over all rotations of a circular run, the
  mean over groups where a benchmark declares it, and the scores of further scorers.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.circular import merge_rotations
from eyechart.model.prices import Price
from eyechart.report.chance import compute_chance
from eyechart.score.number import add_in_order
from eyechart.stats import (
    Interval,
    Moments,
    TrialStatistics,
    combine_means,
    compute_spread,
    compute_union_interval,
    shrink_groups,
    summarise_trials,
)
from eyechart.types import OUTCOMES, Export, Outcome, Result, Sample, Usage

if TYPE_CHECKING:
    from eyechart.report.judges import JudgeCard

NO_VALUE = "(none)"  # the group of samples that lack the key
OTHER_VALUES = "(other)"  # the group of values beyond the first MAX_VALUES
MAX_TRIALS = 200  # per sample, for pass@k and the like: they take k^2 steps
MAX_VALUES = 200  # per key: a column of identifiers makes no table

SCORED = frozenset({"correct", "partial", "wrong", "unparsed", "refused", "truncated"})
_CREDITED = frozenset({"correct", "partial", "wrong"})
UNKNOWN = frozenset({"failed", "unparsed", "truncated"})  # they could have been right: see bounds


def summarise(
    results: Iterable[Result],
    *,
    benchmark: str,
    model: str,
    group_by: Sequence[str] = (),
    macro: str = "",
    in_order: bool = False,
    run: str = "",
    requests: Mapping[str, int] | None = None,
    price: Price | None = None,
    seconds: float | None = None,
    scorer: str = "",
    parity: str = "",
    version: str = "",
) -> Summary:
    """Count the results in one pass, in any order.

    `in_order`: the results are in the benchmark's order, all trials of a sample together, so that a sample
    can be forgotten when the next one begins. `macro`: a key of `group_by` whose groups are averaged.
    `requests` (sent, retried, cached) are the engine's counts; without them, sent and retried are summed over
    the results' attempts. `price` is the price of the replies' tokens.

    >>> from eyechart.types import Sample, Score
    >>> def result(position, outcome):
    ...     sample = Sample(id=str(position), question="Is it red?", golds=("yes",), meta={"kind": "colour"})
    ...     value = 1.0 if outcome == "correct" else 0.0
    ...     return Result(sample=sample, position=position, score=Score(outcome=outcome, value=value))
    >>> results = [result(0, "correct"), result(1, "correct"), result(2, "wrong"), result(3, "unparsed")]
    >>> summary = summarise(results, benchmark="demo", model="baseline/random", group_by=["kind", "split"])
    >>> summary.score, summary.overall.bounds, summary.overall.chance, list(summary.by)
    (0.5, (0.5, 0.75), 0.5, ['kind'])
    """
    counted = ResultCounter(group_by, in_order=in_order)
    for result in results:
        counted.add(result)
    counted.close()
    overall, by = counted.overall.group(), counted.groups()
    mean = average_groups(by.get(macro, {}), overall)
    return Summary(
        benchmark=benchmark,
        model=model,
        overall=overall,
        by=by,
        also={f"macro by {macro}": mean} if mean else {},
        run=run,
        requests={"sent": counted.sent, "retried": counted.retried, "cached": 0, **(requests or {})},
        tokens=counted.tokens(),
        cost=price.cost(counted.usage()) if price and counted.is_counted else None,
        seconds=seconds,
        trials=counted.trials(),
        scorer=scorer,
        parity=parity,
        version=version,
    )


def count_results(results: Iterable[Result]) -> Group:
    """The numbers of all results together, without groups."""
    counted = ResultCounter(())
    for result in results:
        counted.add(result)
    counted.close()
    return counted.overall.group()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The numbers of some samples. The module's docstring defines each."""

    n: int
    n_scored: int
    n_clusters: int
    score: float | None
    ci95: tuple[float, float] | None
    method: str
    stderr: float | None
    ci95_with_failures: tuple[float, float] | None
    outcomes: Mapping[Outcome, int]
    pending: int  # sample-trials not asked yet
    coverage: float | None
    bounds: tuple[float, float] | None  # worst, best
    chance: float | None
    shrunk: float | None = None

    @property
    def is_bounded_apart(self) -> bool:
        """Whether the worst or best score differs from the score, so that they are worth showing."""
        if self.bounds is None:
            return False
        worst, best = self.bounds
        return self.score is None or not (math.isclose(worst, self.score) and math.isclose(best, self.score))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; fractions from 0 to 1."""
        return {
            "n": self.n,
            "n_scored": self.n_scored,
            "n_clusters": self.n_clusters,
            "score": self.score,
            "ci95": list(self.ci95) if self.ci95 else None,
            "method": self.method,
            "stderr": self.stderr,
            "ci95_with_failures": list(self.ci95_with_failures) if self.ci95_with_failures else None,
            "outcomes": dict(self.outcomes),
            "pending": self.pending,
            "coverage": self.coverage,
            "bounds": list(self.bounds) if self.bounds else None,
            "chance": self.chance,
            **({} if self.shrunk is None else {"shrunk": self.shrunk}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How the score moved between trials: mean and population standard deviation over `k` of them.

    `samples` says how the trials of one sample differ, over the samples that have a score in every trial.
    """

    k: int
    mean: float
    std: float
    samples: TrialStatistics | None = None

    def list_facts(self) -> Iterator[tuple[str, float]]:
        """The numbers of `samples` by name, with pass@k and pass^k for all trials."""
        if (found := self.samples) is None:
            return
        yield f"pass@{self.k}", found.pass_at[self.k]
        yield f"pass^{self.k}", found.pass_hat[self.k]
        yield "majority", found.majority
        if found.flip_rate is not None:
            yield "flip rate", found.flip_rate

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = msgspec.to_builtins(self.samples, str_keys=True) if self.samples else {}
        return {**found, "k": self.k, "mean": self.mean, "std": self.std}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All numbers of one run: what ``--json`` prints and ``summary.json`` keeps."""

    benchmark: str
    model: str
    overall: Group
    by: Mapping[str, Mapping[str, Group]] = field(default_factory=dict)
    also: Mapping[str, Group] = field(default_factory=dict)  # other readings of the same replies
    run: str = ""
    requests: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = None  # in USD, of all replies, cached ones included
    paid: float | None = None  # the part that this run paid: the rest came from the cache
    seconds: float | None = None
    trials: Trials | None = None
    scorer: str = ""
    parity: str = ""
    version: str = ""
    judge: JudgeCard | None = None  # if the run has a judge, or was audited by a person

    @property
    def n(self) -> int:
        return self.overall.n

    @property
    def score(self) -> float | None:
        """The headline; None when nothing could be scored."""
        return self.overall.score

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The headline's 95 % interval."""
        return self.overall.ci95

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """Sample-trials by outcome, zeros included."""
        return self.overall.outcomes

    def to_json(self) -> dict[str, Any]:
        """The object of the contract: scripts rely on these names."""
        return {
            "run": self.run,
            "benchmark": self.benchmark,
            "model": self.model,
            **self.overall.to_json(),
            "by": {
                key: {value: group.to_json() for value, group in groups.items()}
                for key, groups in self.by.items()
            },
            "also": {name: group.to_json() for name, group in self.also.items()},
            "trials": self.trials.to_json() if self.trials else None,
            "requests": dict(self.requests),
            "tokens": dict(self.tokens),
            "cost": self.cost,
            "paid": self.paid,
            "seconds": self.seconds,
            "scorer": self.scorer,
            "parity": self.parity,
            "version": self.version,
            "judge": self.judge.to_json() if self.judge else None,
        }


# -- Counting


class ResultCounter:
    """All counters of a run: one set per group, and a few numbers per sample until it is closed.

    Trials of a sample may come in any order, unless they are `in_order`.
    """

    def __init__(self, group_by: Sequence[str], *, in_order: bool = False) -> None:
        self.overall = _Tally()
        self._is_in_order = in_order
        self.sent = 0
        self.retried = 0
        self._n_usages = 0
        self._n_uncounted = 0  # samples whose replies came without their tokens
        self._used = dict.fromkeys(Usage.__dataclass_fields__, 0)
        self._by: dict[str, dict[str, _Tally]] = {key: {} for key in group_by}
        self._asked: dict[tuple[int, str], _Asked] = {}
        self._by_trial: dict[int, Moments] = {}
        self._trials: list[tuple[float, ...]] = []  # of each sample with several
        self._answers: list[tuple[Hashable, ...]] = []

    def add(self, result: Result) -> None:
        """Count one trial of one sample."""
        key = (result.position, result.sample.id)
        asked = self._asked.get(key)
        if asked is None:
            if self._is_in_order:
                self.close()
            sample = result.sample
            tallies = list(self._tallies(sample))
            chance = compute_chance(sample) ** result.n_rows  # every rotation would have to be guessed
            cluster = result.cluster or None
            asked = _Asked(tallies=tallies, chance=chance, weight=sample.weight, cluster=cluster)
            self._asked[key] = asked
        self._add_costs(result, asked)
        outcome = result.outcome
        if outcome is None:
            for tally in asked.tallies:
                tally.pending += 1
            return
        for tally in asked.tallies:
            tally.counts[outcome] += 1
        asked.unknown += outcome in UNKNOWN
        asked.failed += outcome == "failed"
        value = compute_credit(result)
        if value is not None:
            asked.scored += 1
            asked.total += value
            asked.values.append(value)
            asked.answers.append(_name_answer(result, value))
            self._by_trial.setdefault(result.trial, Moments()).add(value, result.sample.weight)

    def groups(self) -> dict[str, dict[str, Group]]:
        """The groups of every key that some sample has: numbers first, then texts, catch-alls last."""
        return {
            key: _shrink({value: tallies[value].group() for value in sorted(tallies, key=get_group_order)})
            for key, tallies in self._by.items()
            if tallies.keys() - {NO_VALUE}
        }

    def close(self) -> None:
        """After the last result: average each sample's trials into one value.

        Summed in the benchmark's order, so that a resumed run gives the same last digit.
        """
        for _, asked in sorted(self._asked.items(), key=lambda item: item[0]):
            self._n_uncounted += asked.has_reply and not asked.has_usage
            if asked.scored > 1:
                self._trials.append(tuple(asked.values))
                self._answers.append(tuple(asked.answers))
            for tally in asked.tallies:
                tally.close_sample(asked)
        self._asked.clear()

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of every sample with a reply are known: only then is there a cost."""
        return self._n_usages > 0 and not self._n_uncounted

    def usage(self) -> Usage:
        return Usage(**self._used)

    def tokens(self) -> dict[str, int]:
        """Token counts by short names; those from the endpoint's cache if there were any."""
        named = {name.removesuffix("_tokens"): n for name, n in self._used.items()}
        return {name: n for name, n in named.items() if n or name != "cached"}

    def trials(self) -> Trials | None:
        """How the score varied over trials; None for a single trial."""
        over = compute_spread(
            mean for moments in self._by_trial.values() if (mean := moments.mean) is not None
        )
        k = len(self._by_trial)
        if over is None or k < 2:
            return None
        complete = [number for number, values in enumerate(self._trials) if len(values) == k]
        rows = (self._trials[number] for number in complete)
        answers = (self._answers[number] for number in complete)
        samples = summarise_trials(rows, answers) if k <= MAX_TRIALS else None
        return Trials(k=k, mean=over[0], std=over[1], samples=samples)

    def _add_costs(self, result: Result, asked: _Asked) -> None:
        self.sent += result.attempts
        self.retried += max(0, result.attempts - 1)
        if result.reply is None:
            return
        asked.has_reply = True
        if usage := result.reply.usage:
            asked.has_usage = True
            self._n_usages += 1
            self._used["prompt_tokens"] += usage.prompt_tokens
            self._used["completion_tokens"] += usage.completion_tokens
            self._used["reasoning_tokens"] += usage.reasoning_tokens
            self._used["cached_tokens"] += usage.cached_tokens

    def _tallies(self, sample: Sample) -> Iterator[_Tally]:
        yield self.overall
        for key, tallies in self._by.items():
            value = name_group(sample.meta.get(key))
            if value not in tallies and len(tallies) >= MAX_VALUES and value != NO_VALUE:
                value = OTHER_VALUES
            tally = tallies.get(value)
            if tally is None:
                tally = tallies[value] = _Tally()
            yield tally


class _Tally:
    """The counters of one group."""

    __slots__ = ("best", "chance", "counts", "guessing", "n", "pending", "values", "worst")

    def __init__(self) -> None:
        self.counts: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
        self.pending = 0
        self.n = 0
        self.guessing = _Mean()  # what it gets on all samples
        self.chance = _Mean()  # and on those that the score is over
        self.values = Moments()
        # With every unknown trial counted wrong, then right; as `values` until there is one.
        self.worst = self.best = self.values

    def close_sample(self, asked: _Asked) -> None:
        weight, cluster = asked.weight, asked.cluster
        self.n += 1
        self.guessing.add(asked.chance, weight)
        if asked.unknown and self.worst is self.values:
            self.worst, self.best = copy.deepcopy(self.values), copy.deepcopy(self.values)
        if asked.scored:
            self.values.add(asked.total / asked.scored, weight, cluster)
            self.chance.add(asked.chance, weight)
        n_trials = asked.scored + asked.failed
        if n_trials and self.worst is not self.values:
            self.worst.add(asked.total / n_trials, weight, cluster)
            self.best.add((asked.total + asked.unknown) / n_trials, weight, cluster)

    def group(self) -> Group:
        found = self.values.interval()
        n_trials = sum(self.counts.values()) + self.pending
        n_scored = sum(count for outcome, count in self.counts.items() if outcome in SCORED)
        is_whole = self.worst is self.values
        worst, best = (found, found) if is_whole else (self.worst.interval(), self.best.interval())
        return Group(
            n=self.n,
            n_scored=self.values.n,
            n_clusters=found.n_clusters if found else 0,
            score=self.values.mean,
            ci95=(found.low, found.high) if found else None,
            method=found.method if found else "",
            stderr=found.stderr if found else None,
            ci95_with_failures=compute_union_interval(worst, best)
            if worst and best and not is_whole
            else None,
            outcomes=self.counts,
            pending=self.pending,
            coverage=n_scored / n_trials if n_trials else None,
            bounds=(worst.mean, best.mean) if worst and best else None,
            chance=self.guessing.value if self.chance.value is None else self.chance.value,
        )


class _Mean:
    """A weighted mean; None of nothing."""

    __slots__ = ("total", "weight")

    def __init__(self) -> None:
        self.total = self.weight = 0.0

    def add(self, value: float, weight: float) -> None:
        self.total += weight * value
        self.weight += weight

    @property
    def value(self) -> float | None:
        return self.total / self.weight if self.weight else None


class _Asked(msgspec.Struct):
    """One sample's trials so far, and the tallies it belongs to."""

    tallies: list[_Tally]
    chance: float
    weight: float
    cluster: str | None  # None: it is alone
    values: list[float] = msgspec.field(default_factory=list)  # of the scored trials
    answers: list[Hashable] = msgspec.field(default_factory=list)
    total: float = 0.0
    scored: int = 0
    unknown: int = 0  # failed, unparsed, truncated
    failed: int = 0
    has_reply: bool = False
    has_usage: bool = False  # one of its trials has: an endpoint counts all replies to a request together


def _name_answer(result: Result, value: float) -> Hashable:
    """What a trial votes for. All right answers are one answer; a reply that was not read is no vote."""
    score = result.score
    if score is None or score.outcome not in _CREDITED:
        return (result.trial,)
    return True if value >= 1 else score.read and score.read.casefold()


def _shrink(groups: dict[str, Group]) -> dict[str, Group]:
    """The groups with their scores drawn towards that of all of them."""
    measured = {name: group for name, group in groups.items() if group.score is not None}
    totals = [group.n_scored for group in measured.values()]
    if len(totals) < 2 or max(totals) < 2:  # groups of one sample do not show how much groups differ
        return groups
    shrunk = shrink_groups([(group.score or 0.0) * group.n_scored for group in measured.values()], totals)
    found = {
        name: replace(group, shrunk=share)
        for (name, group), share in zip(measured.items(), shrunk, strict=True)
    }
    return {name: found.get(name, group) for name, group in groups.items()}


def average_groups(groups: Mapping[str, Group], overall: Group) -> Group | None:
    """The mean of the groups' scores, each counting the same; None unless two groups have a score.

    Samples without the key are in no group. `overall` has the outcomes.
    """
    held = [group for name, group in groups.items() if name != NO_VALUE and group.score is not None]
    if len(held) < 2:
        return None
    found = combine_means([_to_interval(group) for group in held])
    bounds = [group.bounds for group in held if group.bounds is not None]
    chances = [group.chance for group in held if group.chance is not None]
    worst, best = (add_in_order(end) / len(bounds) for end in zip(*bounds, strict=True))
    return replace(
        overall,
        n=sum(group.n for group in held),
        n_scored=found.n,
        n_clusters=found.n_clusters,
        score=found.mean,
        ci95=(found.low, found.high),
        method=found.method,
        stderr=found.stderr,
        ci95_with_failures=None,
        bounds=(worst, best),
        chance=add_in_order(chances) / len(chances) if chances else None,
    )


def _to_interval(group: Group) -> Interval:
    assert group.score is not None
    assert group.ci95 is not None
    return Interval(
        mean=group.score,
        low=group.ci95[0],
        high=group.ci95[1],
        n=group.n_scored,
        n_clusters=group.n_clusters,
        method=group.method,
        stderr=group.stderr,
    )


def name_group(value: Any) -> str:
    """A group's name; an empty cell or NaN counts as a missing key."""
    if value is None or value != value:
        return NO_VALUE
    return str(value).strip() or NO_VALUE


def get_group_order(value: str) -> tuple[bool, bool, float, str]:
    """The sort key of a group.

    >>> sorted(["10", "(none)", "b", "9", "a"], key=get_group_order)
    ['9', '10', 'a', 'b', '(none)']
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    is_number = math.isfinite(number)
    return value in {NO_VALUE, OTHER_VALUES}, not is_number, number if is_number else 0.0, value


def compute_credit(result: Result) -> float | None:
    """What one result adds to the score; None if it is excluded from it.

    >>> from eyechart.types import Sample
    >>> compute_credit(Result(sample=Sample(id="1", question="?"), position=0)) is None
    True
    """
    if result.score is None or result.score.outcome not in SCORED:
        return None
    return float(result.score.value) if result.score.outcome in _CREDITED else 0.0


# -- For the files of other tools


def group_trials(results: Iterable[Result]) -> Iterator[list[Result]]:
    """The trials of each sample together; the results are in the run's order."""
    for _, trials in itertools.groupby(results, key=lambda result: (result.position, result.sample.id)):
        yield list(trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The headline score of a run and its standard error, for the files of other tools."""

    summary: Summary
    plain: Summary  # over all rows, if the headline counts the rotations of a question as one
    stderr: float | None  # of the headline; None for weighted samples or fewer than two
    n_scored: int  # samples in the headline

    @property
    def score(self) -> float | None:
        return self.summary.score


def compute_headline(export: Export) -> Headline:
    """Compute the headline in one pass over the results, or two for CircularEval."""
    group_by: Sequence[str] = export.manifest.get("group_by") or ()
    spread = _Spread()
    is_circular = export.manifest.get("circular") == "headline"
    counted = merge_rotations(export.results()) if is_circular else export.results()
    names: dict[str, Any] = {"benchmark": "", "model": "", "group_by": group_by}
    summary = summarise(spread.seen(counted), in_order=True, **names)
    plain = summarise(export.results(), in_order=True, **names) if is_circular else summary
    return Headline(summary=summary, plain=plain, stderr=spread.stderr, n_scored=spread.values.n)


class _Spread:
    """Computes the standard error of the mean over samples while they pass through."""

    def __init__(self) -> None:
        self.values = Moments()
        self.squares = 0.0
        self.is_even = True  # every sample counts the same

    def seen(self, results: Iterable[Result]) -> Iterator[Result]:
        for trials in group_trials(results):
            scored = [value for result in trials if (value := compute_credit(result)) is not None]
            self.is_even &= trials[0].sample.weight == 1
            if scored:
                value = add_in_order(scored) / len(scored)
                self.values.add(value)
                self.squares += value * value
            yield from trials

    @property
    def stderr(self) -> float | None:
        n, mean = self.values.n, self.values.mean
        if n < 2 or mean is None or not self.is_even:
            return None
        variance = max(0.0, (self.squares - n * mean * mean) / (n - 1))
        return float((variance / n) ** 0.5)
