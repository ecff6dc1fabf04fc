"""One pass over results: counters for the whole run, for every group, and for every trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from eyechart.report.chance import chance_of
from eyechart.report.credit import SCORED, UNKNOWN, credit
from eyechart.report.statistics import Moments, spread
from eyechart.report.summary import Group, Trials
from eyechart.types import OUTCOMES, Outcome, Result, Sample, Usage

NO_VALUE = "(none)"  # the group of samples that lack the key
OTHER_VALUES = "(other)"  # the group of values beyond the first MAX_VALUES
MAX_VALUES = 200  # per key: a column of identifiers makes no table


class _Asked(msgspec.Struct):
    """One sample's trials so far, and the tallies it belongs to."""

    tallies: list[_Tally]
    chance: float
    weight: float
    total: float = 0.0
    scored: int = 0
    unknown: int = 0  # failed, unparsed, truncated
    failed: int = 0
    has_reply: bool = False
    has_usage: bool = False  # one of its trials has: an endpoint counts all replies to a request together


class _Tally:
    """The counters of one group."""

    __slots__ = ("bounded", "chance", "counts", "guessing", "highest", "lowest", "n", "pending", "values")

    def __init__(self) -> None:
        self.counts: dict[Outcome, int] = dict.fromkeys(OUTCOMES, 0)
        self.pending = 0
        self.n = 0
        self.guessing = Moments()  # what it gets on all samples
        self.chance = Moments()  # and on those that the score is over
        self.values = Moments()
        self.bounded = 0.0  # the weight of the samples that the bounds rest on
        self.lowest = 0.0
        self.highest = 0.0

    def close_sample(self, asked: _Asked) -> None:
        weight = asked.weight
        self.n += 1
        self.guessing.add(asked.chance, weight)
        if asked.scored:
            self.values.add(asked.total / asked.scored, weight)
            self.chance.add(asked.chance, weight)
        if n_trials := asked.scored + asked.failed:
            self.bounded += weight
            self.lowest += weight * asked.total / n_trials
            self.highest += weight * (asked.total + asked.unknown) / n_trials

    def group(self) -> Group:
        n_trials = sum(self.counts.values()) + self.pending
        n_scored = sum(count for outcome, count in self.counts.items() if outcome in SCORED)
        return Group(
            n=self.n,
            score=self.values.mean,
            ci95=self.values.interval(),
            outcomes=self.counts,
            pending=self.pending,
            coverage=n_scored / n_trials if n_trials else None,
            bounds=(self.lowest / self.bounded, self.highest / self.bounded) if self.bounded else None,
            chance=self.guessing.mean if self.chance.mean is None else self.chance.mean,
        )


class Count:
    """All counters of a run: those of each group, and a few numbers per sample until it is closed.

    The numbers per sample are needed because its trials may come in any order, unless they are `in_order`.
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

    def add(self, result: Result) -> None:
        """Count one trial of one sample."""
        key = (result.position, result.sample.id)
        asked = self._asked.get(key)
        if asked is None:
            if self._is_in_order:
                self.close()
            sample = result.sample
            tallies = list(self._tallies(sample))
            chance = chance_of(sample) ** result.n_rows  # every rotation would have to be guessed
            asked = _Asked(tallies=tallies, chance=chance, weight=sample.weight)
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
        value = credit(result)
        if value is not None:
            asked.scored += 1
            asked.total += value
            self._by_trial.setdefault(result.trial, Moments()).add(value, result.sample.weight)

    def groups(self) -> dict[str, dict[str, Group]]:
        """The groups of every key that some sample has: numbers by size, then texts, catch-alls last."""
        return {
            key: {value: tallies[value].group() for value in sorted(tallies, key=_place)}
            for key, tallies in self._by.items()
            if tallies.keys() - {NO_VALUE}
        }

    def close(self) -> None:
        """All results are in: each sample's trials become its one value.

        Added up in the benchmark's order, so that a resumed run gives the same last digit.
        """
        for _, asked in sorted(self._asked.items(), key=lambda item: item[0]):
            self._n_uncounted += asked.has_reply and not asked.has_usage
            for tally in asked.tallies:
                tally.close_sample(asked)
        self._asked.clear()

    @property
    def is_counted(self) -> bool:
        """The tokens of every sample that has a reply are known: only then do they add up to a cost."""
        return self._n_usages > 0 and not self._n_uncounted

    def usage(self) -> Usage:
        return Usage(**self._used)

    def tokens(self) -> dict[str, int]:
        """The same for people; those from the endpoint's cache where there were any."""
        named = {name.removesuffix("_tokens"): n for name, n in self._used.items()}
        return {name: n for name, n in named.items() if n or name != "cached"}

    def trials(self) -> Trials | None:
        """Over trials, when there were several."""
        over = spread(mean for moments in self._by_trial.values() if (mean := moments.mean) is not None)
        if over is None or len(self._by_trial) < 2:
            return None
        return Trials(k=len(self._by_trial), mean=over[0], std=over[1])

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
            value = _as_text(sample.meta.get(key))
            if value not in tallies and len(tallies) >= MAX_VALUES and value != NO_VALUE:
                value = OTHER_VALUES
            tally = tallies.get(value)
            if tally is None:
                tally = tallies[value] = _Tally()
            yield tally


def _as_text(value: Any) -> str:
    """A group's name. A cell that holds nothing (empty, or a number that is none) lacks the key."""
    if value is None or value != value:
        return NO_VALUE
    return str(value).strip() or NO_VALUE


def _place(value: str) -> tuple[bool, bool, float, str]:
    """Where a group stands among the others.

    >>> sorted(["10", "(none)", "b", "9", "a"], key=_place)
    ['9', '10', 'a', 'b', '(none)']
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    is_number = math.isfinite(number)
    return value in {NO_VALUE, OTHER_VALUES}, not is_number, number if is_number else 0.0, value
