"""Counting: one pass over the results of a run gives the numbers of every group.

A sample's trials are averaged into one value; `Moments` of these give score and interval. What each number
means is said in summary.py.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from eyechart import stats
from eyechart.errors import UsageError, join_names
from eyechart.files import list_values, to_json_value
from eyechart.registry import suggest_name
from eyechart.report.choices import compute_chance
from eyechart.stats.intervals import add_in_order, measure_overlap
from eyechart.types import OUTCOMES, Outcome, Reply, Result, Sample, Usage

RIGHT = 0.5  # a value from here on counts as right, where only right and wrong are told apart
NO_GROUPS = "none"  # as a key: no groups
NO_VALUE = "(none)"  # the group of samples that lack the key
OTHER_VALUES = "(other)"  # the group of values beyond the first MAX_VALUES
MAX_TRIALS = 1000  # per sample, for pass@k and the like: binomial coefficients grow long
_FEW = 25  # samples of equal weight
MAX_VALUES = 200  # per key: a column of identifiers makes no table

SCORED = frozenset({"correct", "partial", "wrong", "unparsed", "refused", "truncated"})
_CREDITED = frozenset({"correct", "partial", "wrong"})
UNKNOWN = frozenset({"failed", "unparsed", "truncated"})  # they could have been right: see bounds
# Why a judge left a reply unscored that has an answer to compare with: it could have been right, too.
_NO_VERDICT = frozenset(
    {"judge_failed", "judge_unreadable", "judges_disagree", "no_judge", "answer_extraction_failed"}
)


def count_results(results: Iterable[Result]) -> Group:
    """The numbers of all results together, without groups."""
    counted = ResultCounter(())
    for result in results:
        counted.add(result)
    counted.close()
    return counted.overall.group()


_JSON_NAMES = (
    "n", "n_scored", "n_clusters", "score", "ci95", "method", "stderr", "ci95_with_failures", "outcomes",
    "pending", "coverage", "bounds", "chance",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Group:
    """The numbers of some samples; summary.py defines each."""

    n: int
    measured: stats.Interval | None  # of the score
    ends: tuple[stats.Interval, stats.Interval] | None  # of the worst and the best score
    has_failures: bool  # so that the worst and the best score may differ
    outcomes: Mapping[Outcome, int]
    pending: int  # sample-trials not asked yet
    coverage: float | None
    chance: float | None
    n_open: int = 0  # sample-trials that failed, lack a judge's verdict, or were not asked yet
    shrunk: float | None = None

    def __repr__(self) -> str:
        score = None if self.score is None else round(self.score, 4)
        ends = self.ci95 and tuple(round(end, 4) for end in self.ci95)
        return f"Group(score={score}, ci95={ends}, n={self.n}, outcomes={dict(self.outcomes)})"

    @property
    def n_scored(self) -> int:
        return self.measured.n if self.measured else 0

    @property
    def n_clusters(self) -> int:
        return self.measured.n_clusters if self.measured else 0

    @property
    def score(self) -> float | None:
        return self.measured.mean if self.measured else None

    @property
    def ci95(self) -> tuple[float, float] | None:
        return (self.measured.low, self.measured.high) if self.measured else None

    @property
    def method(self) -> str:
        return self.measured.method if self.measured else ""

    @property
    def stderr(self) -> float | None:
        return self.measured.stderr if self.measured else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The worst and the best score."""
        return (self.ends[0].mean, self.ends[1].mean) if self.ends else None

    @property
    def ci95_with_failures(self) -> tuple[float, float] | None:
        return stats.compute_union_interval(*self.ends) if self.ends and self.has_failures else None

    @property
    def is_bounded_apart(self) -> bool:
        """Whether the worst or best score differs from the score, so that they are worth showing."""
        if self.bounds is None:
            return False
        worst, best = self.bounds
        return self.score is None or not (math.isclose(worst, self.score) and math.isclose(best, self.score))

    @property
    def rests_on_few(self) -> bool:
        """Whether a few samples carry most of the points, so that no interval is sure to be long enough."""
        found = self.measured
        if found is None or found.n_even is None:
            return False
        return found.n_even < min(_FEW, found.n / 3)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; fractions from 0 to 1."""
        found = list_values(self, _JSON_NAMES)
        return found if self.shrunk is None else {**found, "shrunk": self.shrunk}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How the score moved between trials: mean and population standard deviation over `k` of them.

    `samples` says how the trials of one sample differ, over the samples that have a score in every trial.
    """

    k: int
    mean: float
    std: float
    samples: stats.TrialStatistics | None = None

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
        found = to_json_value(self.samples) if self.samples else {}
        return {**found, "k": self.k, "mean": self.mean, "std": self.std}


CONTRADICTION = "choice:contradiction"  # the route of our own reader of choices


class ResultCounter:
    """All counters of a run: one set per group, and a few numbers per sample until it is closed.

    Trials of a sample may come in any order, unless they are `in_order`.
    """

    def __init__(self, group_by: Sequence[str], *, in_order: bool = False) -> None:
        self.overall = _Tally()
        self._is_in_order = in_order
        self.sent = 0
        self.retried = 0
        self.n_thoughts = 0  # replies with thoughts in their text
        self.n_unknown_thoughts = 0  # of an earlier version: it is not known where the thoughts were
        self.speed = SpeedCounter()
        self.n_contradictions = 0  # replies that name a letter beside the words of another option
        self.has_fields = False  # some reply was scored field by field
        self._n_usages = 0
        self._n_uncounted = 0  # samples whose replies came without their tokens
        self.usage = Usage()
        self._by: dict[str, dict[str, _Tally]] = {key: {} for key in group_by}
        self._asked: dict[tuple[int, str], _Asked] = {}
        self._by_trial: dict[int, stats.Moments] = {}
        self._trials: list[tuple[list[float], list[Hashable]]] = []  # values and answers of each sample

    def add(self, result: Result) -> None:
        """Count one trial of one sample."""
        key = (result.position, result.sample.id)
        asked = self._asked.get(key)
        if asked is None:
            if self._is_in_order:
                self.close()
            sample = result.sample
            tallies = self._list_tallies(sample)
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
        lacks_score = is_open(result)
        self.n_contradictions += result.score is not None and result.score.route == CONTRADICTION
        self.has_fields |= result.score is not None and "fields" in result.score.detail
        for tally in asked.tallies:
            tally.counts[outcome] += 1
            tally.open += lacks_score
        asked.unknown += lacks_score or outcome in UNKNOWN
        asked.failed += lacks_score
        value = compute_credit(result)
        if value is not None:
            asked.scored += 1
            asked.total += value
            asked.values.append(value)
            asked.answers.append(_name_answer(result, value))
            self._by_trial.setdefault(result.trial, stats.Moments()).add(value, result.sample.weight)

    def groups(self) -> dict[str, dict[str, Group]]:
        """The groups of every key that some sample has: numbers first, then texts, catch-alls last."""
        return {
            key: _shrink({value: tallies[value].group() for value in sorted(tallies, key=get_group_order)})
            for key, tallies in self._by.items()
            if tallies
        }

    def measure_overlap(self, key: str) -> float:
        """How much more the mean over the groups of a key varies because groups share clusters."""
        tallies = self._by.get(key, {})
        return measure_overlap(tally.values for name, tally in tallies.items() if name != NO_VALUE)

    def close(self) -> None:
        """After the last result: average each sample's trials into one value.

        Summed in the benchmark's order, so that a resumed run gives the same last digit.
        """
        for key in sorted(self._asked):
            asked = self._asked[key]
            self._n_uncounted += asked.has_reply and not asked.has_usage
            if asked.scored > 1:
                self._trials.append((asked.values, asked.answers))
            for tally in asked.tallies:
                tally.close_sample(asked)
        self._asked.clear()

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of every sample with a reply are known: only then is there a cost."""
        return self._n_usages > 0 and not self._n_uncounted

    def tokens(self) -> dict[str, int]:
        """Token counts by short names; those from the endpoint's cache if there were any."""
        named = {name.removesuffix("_tokens"): n for name, n in asdict(self.usage).items()}
        return {name: n for name, n in named.items() if n or name != "cached"}

    def trials(self) -> Trials | None:
        """How the score varied over trials; None for a single trial."""
        over = stats.compute_spread(
            mean for moments in self._by_trial.values() if (mean := moments.mean) is not None
        )
        k = len(self._by_trial)
        if over is None or k < 2:
            return None
        complete = [both for both in self._trials if len(both[0]) == k]
        rows, answers = (values for values, _ in complete), (answers for _, answers in complete)
        samples = stats.summarise_trials(rows, answers) if k <= MAX_TRIALS else None
        return Trials(k=k, mean=over[0], std=over[1], samples=samples)

    def _add_costs(self, result: Result, asked: _Asked) -> None:
        self.sent += result.attempts
        self.retried += max(0, result.attempts - 1)
        if result.reply is None:
            return
        asked.has_reply = True
        self.speed.add(result.reply)
        thinking, tags = result.reply.thinking, result.reply.tags
        is_look = "look" in result.reply.evidence  # whose tags are the whole turn around the answer
        self.n_thoughts += bool(tags and (not is_look or (thinking and thinking in tags[0])))
        self.n_unknown_thoughts += result.reply.tags is None and bool(result.reply.thinking)
        if usage := result.reply.usage:
            asked.has_usage = True
            self._n_usages += 1
            self.usage += usage

    def _list_tallies(self, sample: Sample) -> list[_Tally]:
        """The tallies that a sample counts in. Without a tally: keys that no sample has had so far."""
        found = [self.overall]
        for key, tallies in self._by.items():
            value = find_group(sample, key)
            if not tallies:
                if value == NO_VALUE:
                    continue
                # The first sample that has the key: all before it are the group of those that lack it.
                if self.overall.n or self._asked:
                    tallies[NO_VALUE] = copy.deepcopy(self.overall)
                    for asked in self._asked.values():
                        asked.tallies.append(tallies[NO_VALUE])
            if value not in tallies:
                if len(tallies) >= MAX_VALUES and value != NO_VALUE:
                    value = OTHER_VALUES
                tallies.setdefault(value, _Tally())
            found.append(tallies[value])
        return found


class _Tally:
    """The counters of one group."""

    __slots__ = ("best", "chance", "counts", "guessing", "n", "open", "pending", "values", "worst")

    def __init__(self) -> None:
        self.counts: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
        self.pending = 0
        self.open = 0  # failed, or without a judge's verdict
        self.n = 0
        self.guessing = _Mean()  # what it gets on all samples
        self.chance = _Mean()  # and on those that the score is over
        self.values = stats.Moments()
        # With every unknown trial counted wrong, then right; as `values` until there is one.
        self.worst = self.best = self.values

    def close_sample(self, asked: _Asked) -> None:
        weight, cluster = asked.weight, asked.cluster
        self.n += 1
        self.guessing.add(asked.chance, weight)
        if asked.unknown and self.worst is self.values:
            self.worst, self.best = self.values.copy(), self.values.copy()
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
        has_failures = self.worst is not self.values
        worst, best = (self.worst.interval(), self.best.interval()) if has_failures else (found, found)
        return Group(
            n=self.n,
            measured=found,
            ends=(worst, best) if worst and best else None,
            has_failures=has_failures,
            outcomes=self.counts,
            pending=self.pending,
            n_open=self.open + self.pending,
            coverage=n_scored / n_trials if n_trials else None,
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
    unknown: int = 0  # failed, unparsed, truncated, without a verdict
    failed: int = 0  # failed, without a verdict
    has_reply: bool = False
    has_usage: bool = False  # one of its trials has: an endpoint counts all replies to a request together


class SpeedCounter:
    """The times of all replies that have them: 24 bytes each."""

    def __init__(self) -> None:
        self._latency_s, self._first_s, self._rate = array("d"), array("d"), array("d")

    def add(self, reply: Reply) -> None:
        if reply.first_token_s is None:
            return
        self._latency_s.append(reply.latency_s)
        self._first_s.append(reply.first_token_s)
        if (rate := reply.tokens_per_s) is not None:
            self._rate.append(rate)

    def close(self) -> dict[str, Any] | None:
        """Medians, and what the slowest twentieth of the replies exceeds; of tokens per second, stays below.

        None if no reply has the time of its first words.
        """
        if not self._first_s:
            return None
        return {
            "n": len(self._first_s),
            "first_token_s": {"p50": _quantile(self._first_s, 0.5), "p95": _quantile(self._first_s, 0.95)},
            "tokens_per_s": {"p50": _quantile(self._rate, 0.5), "p5": _quantile(self._rate, 0.05)}
            if self._rate  # else the endpoint counts no tokens, or each reply has one
            else None,
            "latency_s": {"p50": _quantile(self._latency_s, 0.5), "p95": _quantile(self._latency_s, 0.95)},
        }


def describe_speeds(speed: Mapping[str, Any]) -> str:
    """What a `SpeedCounter` found, on one line.

    >>> first, rate, whole = {"p50": 0.21, "p95": 0.5}, {"p50": 61.24, "p5": 30}, {"p50": 2.5, "p95": 4}
    >>> describe_speeds({"n": 80, "first_token_s": first, "tokens_per_s": rate, "latency_s": whole})
    'first token 0.21 s (p95 0.50), 61.2 tokens/s (p5 30.0), whole reply 2.50 s (p95 4.00)'
    """
    rate = speed["tokens_per_s"]
    parts = [
        "first token {p50:.2f} s (p95 {p95:.2f})".format(**speed["first_token_s"]),
        "{p50:.1f} tokens/s (p5 {p5:.1f})".format(**rate) if rate else "",
        "whole reply {p50:.2f} s (p95 {p95:.2f})".format(**speed["latency_s"]),
    ]
    return ", ".join(filter(None, parts))


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed.

    >>> [_quantile([4, 1, 3, 2], share) for share in (0.05, 0.5, 0.95)]
    [1, 2, 4]
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def is_open(result: Result) -> bool:
    """Whether a score is still to come: it is pending, failed, or a judge should have decided and did not."""
    score = result.score
    if result.outcome in (None, "failed") or score is None:
        return True
    return score.outcome == "unscored" and score.detail.get("fail_reason") in _NO_VERDICT


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
    if len(totals) < 2:
        return groups
    shrunk = stats.shrink_groups(
        [(group.score or 0.0) * group.n_scored for group in measured.values()], totals
    )
    shares = dict(zip(measured, shrunk, strict=True))
    return {name: replace(group, shrunk=shares.get(name)) for name, group in groups.items()}


def average_groups(groups: Mapping[str, Group], overall: Group, overlap: float = 1.0) -> Group | None:
    """The mean of the groups' scores, each counting the same; None unless two groups have a score.

    Samples without the key are in no group. `overall` has the outcomes; `overlap` is that of the groups.
    """
    named = [group for name, group in groups.items() if name != NO_VALUE]
    held = [group for group in named if group.measured is not None]
    if len(held) < 2:
        return None
    chances = [group.chance for group in held if group.chance is not None]
    # A group in which every sample failed has no score, but a worst and a best one.
    bounded = [group for group in named if group.ends is not None]
    worst, best = (
        stats.combine_means([group.ends[end] for group in bounded if group.ends], overlap=overlap)
        for end in (0, 1)
    )
    return replace(
        overall,
        n=sum(group.n for group in held),
        measured=stats.combine_means([group.measured for group in held if group.measured], overlap=overlap),
        ends=(worst, best),
        has_failures=any(group.has_failures for group in bounded),
        chance=add_in_order(chances) / len(chances) if chances else None,
    )


def find_group(sample: Sample, key: str) -> str:
    """The group of a sample by a column, or by several columns crossed: ``category,level``.

    >>> find_group(Sample(id="1", question="?", meta={"category": "map", "level": 2}), "category,level")
    'map, 2'
    """
    if key in sample.meta or "," not in key:
        return name_group(_get_cell(sample, key))
    values = [name_group(_get_cell(sample, part.strip())) for part in key.split(",")]
    return NO_VALUE if set(values) == {NO_VALUE} else ", ".join(values)


_FIELDS = ("answer", "question", "hint")  # columns that are parts of every sample


def _get_cell(sample: Sample, column: str) -> Any:
    if column in sample.meta or column not in _FIELDS:
        return sample.meta.get(column)
    return " | ".join(sample.golds) if column == "answer" else getattr(sample, column)


def check_groups(keys: Iterable[str], samples: Iterable[Sample], *, what: str = "no sample has") -> None:
    """Refuse a column that none of these samples has: its groups would be missing from every table."""
    columns = list(dict.fromkeys(str(name) for sample in samples for name in sample.meta))
    columns += [name for name in _FIELDS if name not in columns]
    for key in keys:
        for part in [key] if key in columns else map(str.strip, key.split(",")):
            if not part:
                raise UsageError(
                    f"{key!r} has no column name before or after a comma", hint="e.g. category,level"
                )
            if part not in columns:
                known = f"columns: {join_names(columns, 20) or 'none'}"
                hint = suggest_name(part, columns, otherwise=known)
                raise UsageError(f"{what} {part!r}", hint=hint)


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


def bound_credit(trials: Sequence[Result]) -> tuple[float, float] | None:
    """The value of a sample, a mean over its trials, with those that failed wrong, then right.

    None if there is nothing to score.
    """
    scored = [value for result in trials if (value := compute_credit(result)) is not None]
    n_failed = sum(result.outcome is not None and is_open(result) for result in trials)
    if not (n := len(scored) + n_failed):
        return None
    total = math.fsum(scored)
    return total / n, (total + n_failed) / n


def compute_digest(sample: Sample) -> bytes:
    """What makes a question the same: its text, options and accepted answers."""
    options = (part for option in sorted(sample.choices.items()) for part in option)
    parts = [sample.question, *options, "", *sorted(sample.golds)]
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).digest()


def group_trials(results: Iterable[Result]) -> Iterator[list[Result]]:
    """The trials of each sample together; the results are in the run's order."""
    for _, trials in itertools.groupby(results, key=lambda result: (result.position, result.sample.id)):
        yield list(trials)


# -- Self-consistency (--trials K --vote): of several replies to a question the most frequent answer counts
#
# An answer is what the scorer read out of a reply, without regard to case and blanks. Replies without an
# answer do not vote. Of answers with equally many votes the one given first is taken. A question with a trial
# that has no score is left out: with fewer votes the wrong answer wins more often.


def is_voted(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's headline is the vote of its trials."""
    options = manifest.get("options")
    return isinstance(options, Mapping) and bool(options.get("vote"))


def merge_votes(results: Iterable[Result]) -> Iterator[Result]:
    """One result per sample: the first trial with the winning answer; without any answer, the first trial.

    The first trial without a score, if there is one: it failed, or lacks a verdict.

    >>> from eyechart.types import Sample, Score
    >>> def trial(n, read, value):
    ...     score = Score(outcome="correct" if value else "wrong", value=value, read=read)
    ...     return Result(sample=Sample(id="1", question="?"), position=0, trial=n, score=score)
    >>> [one] = merge_votes([trial(0, "A", 1.0), trial(1, "B", 0.0), trial(2, "b", 0.0)])
    >>> one.score.read, one.trial, dict(one.score.detail)
    ('B', 0, {'votes': 2, 'of': 3})
    """
    for trials in group_trials(results):
        if (open_trial := next((one for one in trials if is_open(one)), None)) is not None:
            yield replace(open_trial, trial=0)
            continue
        reads = [(result.score and result.score.read) or "" for result in trials]
        answers = [" ".join(read.split()).casefold() for read in reads]
        votes = Counter(answer for answer in answers if answer)
        if not votes:
            yield replace(trials[0], trial=0)
            continue
        # The first of several with equally many votes: a Counter keeps the order of first occurrence.
        winner, n = max(votes.items(), key=lambda item: item[1])
        chosen = trials[answers.index(winner)]
        assert chosen.score is not None
        score = replace(chosen.score, detail={**chosen.score.detail, "votes": n, "of": votes.total()})
        yield replace(chosen, trial=0, score=score)
