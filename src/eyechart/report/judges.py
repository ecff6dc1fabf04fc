"""The judge card: who judged, at which cost, and how far the verdicts can be trusted.

- **decided**: replies whose outcome rests on rules, on the judge, and those that wait for a verdict or got
  none (a failed call, a reply of the judge that cannot be read, a tie of several judges).
- **alpha**, **pairs**: several judges beside each other, on the replies that they judged.
- **repeat**: a judge beside itself, on replies that it was asked about twice (``--judge-repeat``).
- **check**: the judge beside the rules, on replies that rules decided (``--judge-check``).
- **beside**: the scoring beside an earlier one that rules or another judge made (``eyechart score --judge``).
- **by a person**: the score beside a person's verdicts (``eyechart judge check``), and corrected by them.

A verdict with at least half of the credit counts as right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any

import msgspec

from eyechart import stats
from eyechart.files import to_json_value
from eyechart.models.prices import Price, format_usd
from eyechart.report.counting import compute_credit
from eyechart.report.table import format_percent, format_range
from eyechart.score.judged import CHECK, REPEAT, UNREADABLE
from eyechart.store.reader import JournalReader
from eyechart.types import Reply, Result, Score, Usage

Key = tuple[str, int]  # sample and trial
Votes = Mapping[str, bool]  # judge to verdict
_MIN_CHECKED = 2  # replies, for a corrected score


class JudgeCard(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the judges of a run, and about its verdicts."""

    judges: tuple[JudgeFigures, ...] = ()
    prompts: Mapping[str, str] = {}  # stage to the version of its prompt
    decided: Mapping[str, int] = {}  # how many replies by "rules", by the "judge", by "none"
    alpha: float | None = None
    pairs: Mapping[tuple[str, str], Comparison] = {}
    repeat: Mapping[str, Comparison] = {}
    check: Comparison | None = None
    beside: Mapping[str, Comparison] = {}  # an earlier scoring to how far the scores agree with it
    by_person: PersonCheck | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; fractions from 0 to 1."""
        return {
            "judges": [one.to_json() for one in self.judges],
            "prompts": dict(self.prompts),
            "decided": {"rules": 0, "judge": 0, "none": 0, **self.decided},
            "alpha": self.alpha,
            "pairs": [{"judges": list(pair), **to_json_value(one)} for pair, one in self.pairs.items()],
            "repeat": [{"judge": name, **to_json_value(one)} for name, one in self.repeat.items()],
            "check": to_json_value(self.check),
            "beside": [{"scorer": name, **to_json_value(one)} for name, one in self.beside.items()],
            "audit": self.by_person.to_json() if self.by_person else None,
        }

    def lines(self) -> Iterator[str]:
        """The card for people, one fact per line."""
        for one in self.judges:
            yield one.line()
        if self.judges:
            prompts = ", ".join(f"{stage} {version}" for stage, version in self.prompts.items())
            by = self.decided
            undecided = f", {by['none']:,} undecided" if by["none"] else ""
            yield (
                f"decided: {by['rules']:,} by rules, {by['judge']:,} by "
                f"{'the judge' if len(self.judges) == 1 else 'the judges'}{undecided}"
                + (f"; prompts: {prompts}" if prompts else "")
            )
        if self.pairs:
            alpha = "—" if self.alpha is None else _number(self.alpha)
            each = "; ".join(f"{a} and {b} {found.line()}" for (a, b), found in self.pairs.items())
            yield f"judges beside each other: Krippendorff's alpha {alpha}; {each}"
        for name, found in self.repeat.items():
            yield f"judge {name} asked twice: agrees with itself on {found.line()}"
        if self.check is not None:
            yield f"judge beside the rules: agrees on {self.check.line()}"
        for name, found in self.beside.items():
            yield f"beside {name}: agrees on {found.line()}; {found.n_gained:,} gained, {found.n_lost:,} lost"
        if self.by_person is not None:
            yield from self.by_person.lines()

    def facts(self) -> Iterator[tuple[str, str | float | int | None]]:
        """The card for spreadsheets: names and values."""
        for one in self.judges:
            yield f"judge {one.model} calls", one.calls
            yield f"judge {one.model} failed", one.failed
            yield f"judge {one.model} cost (USD)", one.cost
        for stage, version in self.prompts.items():
            yield f"judge prompt {stage}", version
        if self.judges:
            yield "decided by rules", self.decided["rules"]
            yield "decided by the judge", self.decided["judge"]
            yield "undecided", self.decided["none"]
            yield "judges' alpha", self.alpha
        named = {f"judges {a}, {b}": found for (a, b), found in self.pairs.items()}
        named |= {f"judge {name} asked twice": found for name, found in self.repeat.items()}
        named |= {"judge beside the rules": self.check} if self.check else {}
        named |= {f"beside {name}": found for name, found in self.beside.items()}
        for name, found in named.items():
            yield f"{name}: n", found.n
            yield f"{name}: agreement", found.agreement
            yield f"{name}: kappa", found.kappa
        if self.by_person is not None:
            yield from self.by_person.facts()


class JudgeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One judge: its calls and what they cost."""

    model: str
    calls: int  # those that were asked aside included
    cached: int
    failed: int  # replies on which its call failed, after all attempts: asked again on the next start
    unreadable: int
    usage: Usage
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        tokens = {"prompt": self.usage.prompt_tokens, "completion": self.usage.completion_tokens}
        found = to_json_value(self)
        del found["usage"]
        return {**found, "tokens": tokens}

    def line(self) -> str:
        parts = [f"{self.calls:,} call{'s' * (self.calls != 1)}"]
        counts = {"cached": self.cached, "failed": self.failed, "unreadable": self.unreadable}
        parts += [f"{n:,} {name}" for name, n in counts.items() if n]
        parts += [f"{format_usd(self.cost)} USD"] if self.cost else []
        return f"judge {self.model}: {', '.join(parts)}"


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename={"n_gained": "gained", "n_lost": "lost"}):
    """Two verdicts on each of the same replies."""

    n: int
    agreement: float
    ci95: tuple[float, float]
    kappa: float | None
    n_gained: int  # right in the first verdict alone
    n_lost: int  # right in the second alone
    differ: tuple[str, ...]  # the ids of the samples

    def line(self) -> str:
        kappa = "" if self.kappa is None else f", kappa {_number(self.kappa)}"
        return f"{format_percent(self.agreement)} % of {self.n:,} ({format_range(self.ci95)}){kappa}"


def make_card(
    journal: JournalReader,
    manifest: Mapping[str, Any],
    *,
    prices: Mapping[str, Price | None],  # of judges, by name
    by_person: PersonCheck | None = None,
) -> JudgeCard | None:
    """The card of a run; None without a judge, a person's verdicts and an earlier scoring by a judge."""
    judge = manifest.get("judge")
    beside = {
        name: found for name in manifest.get("kept", ()) if (found := _compare_kept(journal, manifest, name))
    }
    if not isinstance(judge, Mapping):
        return JudgeCard(by_person=by_person, beside=beside) if by_person or beside else None
    names = [str(one["model"]) for one in (judge, *judge.get("further", ()))]
    scorer, trials = str(manifest.get("scorer", "")), int(manifest.get("trials", 1))
    version = manifest.get("versions", {}).get(scorer, "")

    def read(aside: str = "") -> Iterator[tuple[Key, Score, bool]]:
        name = f"{scorer}:{aside}" if aside else scorer
        for sample, trial, score, is_waiting in journal.scores(name, version=version, trials=trials):
            yield (sample, trial), score, is_waiting

    counted = _VerdictCounter(names, journal.find_judged(names))
    repeated = {key: read_votes(score, names) for key, score, _ in read(REPEAT)}
    checked = {key: score for key, score, _ in read(CHECK) if score.outcome != "unscored"}
    first: dict[Key, Votes] = {}
    spoken: list[tuple[Key, bool, bool]] = []  # by the judge and by the rules
    for key, score, is_waiting in read():
        counted.add(key, score, is_waiting=is_waiting)
        if key in repeated:
            first[key] = read_votes(score, names)
        if key in checked:
            spoken.append((key, is_right(checked[key].value), is_right(score.value)))
    pairs = {(a, b): _compare_votes(counted.votes, a, counted.votes, b) for a, b in combinations(names, 2)}
    again = {name: _compare_votes(first, name, repeated, name) for name in names}
    stages = {purpose.rpartition(":")[2] for purpose in journal.count_calls(names)}
    versions = judge.get("prompt_versions") or {}
    return JudgeCard(
        judges=tuple(_list_figures(journal, names, counted, prices)),
        prompts={stage: str(versions[stage]) for stage in sorted(stages) if stage in versions},
        decided=counted.decided,
        alpha=stats.compute_krippendorff_alpha(
            [votes.get(name) for name in names] for votes in counted.votes.values()
        ),
        pairs={pair: found for pair, found in pairs.items() if found},
        repeat={name: found for name, found in again.items() if found},
        check=compare(spoken),
        beside=beside,
        by_person=by_person,
    )


def _compare_kept(journal: JournalReader, manifest: Mapping[str, Any], kept: str) -> Comparison | None:
    """A run's scores beside an earlier scoring, on the replies that both have a score for."""
    versions, trials = manifest.get("versions", {}), int(manifest.get("trials", 1))
    now, before = (
        journal.verdicts(name, version=versions.get(name, ""), trials=trials)
        for name in (str(manifest.get("scorer", "")), kept)
    )
    pairs = (
        (key, is_right(value), is_right(value_before))
        for (key, (outcome, value)), (_, (outcome_before, value_before)) in zip(now, before, strict=True)
        if not {outcome, outcome_before} & {"unscored", "failed"}
    )
    return compare(list(pairs))


class _VerdictCounter:
    """Counts who decided, and holds what several judges said."""

    def __init__(self, names: Sequence[str], judged: set[Key]) -> None:
        self._names = names
        self._judged = judged
        self.votes: dict[Key, Votes] = {}  # of several judges
        self.decided = {"rules": 0, "judge": 0, "none": 0}
        self.failed = dict.fromkeys(names, 0)
        self.unreadable = dict.fromkeys(names, 0)

    def add(self, key: Key, score: Score, *, is_waiting: bool) -> None:
        reason = score.detail.get("fail_reason")
        has_verdict = score.outcome != "unscored"
        if key not in self._judged and not is_waiting:
            self.decided["rules"] += has_verdict
            return
        self.decided["judge" if has_verdict else "none"] += 1
        if len(self._names) == 1:
            self.failed[self._names[0]] += is_waiting
            self.unreadable[self._names[0]] += reason == UNREADABLE
            return
        for one in score.detail.get("judges", ()):
            if one["judge"] in self.failed:
                self.failed[one["judge"]] += bool(one.get("failed"))
                self.unreadable[one["judge"]] += one["outcome"] == "unscored" and not one.get("failed")
        self.votes[key] = read_votes(score, self._names)


def _list_figures(
    journal: JournalReader, names: Sequence[str], counted: _VerdictCounter, prices: Mapping[str, Price | None]
) -> Iterator[JudgeFigures]:
    totals = {one.model: one for one in journal.judged_totals()}
    for name in names:
        one, price = totals.get(name), prices.get(name)
        is_counted = one is not None and one.n_counted == one.n_asked + one.n_cached
        yield JudgeFigures(
            model=name,
            calls=one.n_asked + one.n_cached if one else 0,
            cached=one.n_cached if one else 0,
            failed=counted.failed[name],
            unreadable=counted.unreadable[name],
            usage=one.usage if one else Usage(),
            cost=price.cost(one.usage) if price and one and is_counted else None,
        )


def read_votes(score: Score, names: Sequence[str]) -> Votes:
    """What each judge said, as the score keeps it: right or not, without those that gave no verdict."""
    several = score.detail.get("judges")
    if isinstance(several, list | tuple):
        return {
            one["judge"]: is_right(one["value"])
            for one in several
            if one["outcome"] != "unscored" and not one.get("failed")
        }
    return {names[0]: is_right(score.value)} if score.outcome != "unscored" else {}


def is_right(value: float) -> bool:
    """Whether a verdict is right rather than wrong: at least half of the credit."""
    return value >= 0.5


def compare(verdicts: Sequence[tuple[Key, bool, bool]]) -> Comparison | None:
    """Compare two verdicts on each of some replies; None if there are none."""
    found = stats.compute_agreement([one for _, one, _ in verdicts], [other for _, _, other in verdicts])
    if found is None:
        return None
    return Comparison(
        n=found.n,
        agreement=found.agreement,
        ci95=found.agreement_interval,
        kappa=found.kappa,
        n_gained=found.only_judge,
        n_lost=found.only_person,
        differ=tuple(dict.fromkeys(key[0] for key, one, other in verdicts if one != other)),
    )


def _compare_votes(
    one: Mapping[Key, Votes], judge: str, other: Mapping[Key, Votes], other_judge: str
) -> Comparison | None:
    both = (key for key in one if judge in one[key] and other_judge in other.get(key, ()))
    return compare([(key, one[key][judge], other[key][other_judge]) for key in both])


# -- The check by a person


class Label(msgspec.Struct, frozen=True):
    """A person's verdict on a reply."""

    value: float  # from 0, wrong, to 1, right
    reply: str = ""  # `hash_reply` of what the person saw; empty if the sheet did not say


PERSON_META = "audit"  # the name in the journal's table `meta`


def read_labels(journal: JournalReader) -> dict[Key, Label]:
    """A person's verdicts that are kept with a run."""
    kept = journal.read_mapping(PERSON_META).get("verdicts", [])
    return {(sample, trial): Label(value, reply) for sample, trial, value, reply in kept}


def hash_reply(reply: Reply) -> str:
    """Tells whether a verdict belongs to this reply."""
    return sha256(reply.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class PersonCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A score beside a person's verdicts on a random part of its replies."""

    found: stats.Agreement
    kappa_interval: tuple[float, float] | None
    population: int  # scored replies, of which the checked ones are a random part
    n_outdated: int  # verdicts on replies that are no longer there, or not scored
    raw: stats.Interval
    corrected: stats.Interval | None
    differ: tuple[str, ...]  # the ids of the samples
    is_plain: bool = False  # of rotations one by one, where the headline counts whole questions

    def to_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "n": found.n,
            "population": self.population,
            "outdated": self.n_outdated,
            "both_right": found.both_right,
            "both_wrong": found.both_wrong,
            "only_scored_right": found.only_judge,
            "only_person_right": found.only_person,
            **{
                name: _estimate(getattr(found, name), getattr(found, f"{name}_interval"))
                for name in ("sensitivity", "specificity", "agreement")
            },
            "kappa": _estimate(found.kappa, self.kappa_interval),
            "of": "plain" if self.is_plain else "score",
            "score": _estimate(self.raw.mean, (self.raw.low, self.raw.high)),
            "corrected": self.corrected
            and {
                **_estimate(self.corrected.mean, (self.corrected.low, self.corrected.high)),
                "method": self.corrected.method,
            },
            "differ": list(self.differ),
        }

    def lines(self) -> Iterator[str]:
        found = self.found
        outdated = f"; {self.n_outdated:,} verdicts on replies no longer scored" if self.n_outdated else ""
        kappa = _show("kappa", found.kappa, self.kappa_interval, is_share=False)
        yield (
            f"checked by a person: {found.n:,} of {self.population:,} replies, "
            f"{_show('sensitivity', found.sensitivity, found.sensitivity_interval)}, "
            f"{_show('specificity', found.specificity, found.specificity_interval)}, {kappa}{outdated}"
        )
        if self.corrected is not None:
            ends = (self.corrected.low, self.corrected.high)
            raw = _show("as scored", self.raw.mean, (self.raw.low, self.raw.high))
            name = "corrected plain score" if self.is_plain else "corrected score"
            yield f"{_show(name, self.corrected.mean, ends)} by PPI++; {raw}"

    def facts(self) -> Iterator[tuple[str, float | int | None]]:
        yield "person: n", self.found.n
        yield "person: sensitivity", self.found.sensitivity
        yield "person: specificity", self.found.specificity
        yield "person: kappa", self.found.kappa
        if self.corrected is not None:
            yield "person: corrected score", self.corrected.mean
            yield "person: corrected ci95 low", self.corrected.low
            yield "person: corrected ci95 high", self.corrected.high


def compute_person_check(
    results: Iterable[Result], labels: Mapping[Key, Label], *, is_plain: bool = False
) -> PersonCheck | None:
    """Compare a run's scores with a person's verdicts; None if none of them applies.

    Every scored reply counts by its points, so that the raw score is the run's (with several trials: the mean
    over all of them). Replies to one sample, and samples of one cluster, count as one unit.
    """
    scored: list[tuple[float, float, str]] = []  # value, weight, cluster
    checked: list[tuple[Key, float, float, float, str]] = []  # value, the person's, weight, cluster
    for result in results:
        value, weight = compute_credit(result), result.sample.weight
        if value is None or result.reply is None or not weight:
            continue
        key, cluster = (result.sample.id, result.trial), result.cluster or result.sample.id
        scored.append((value, weight, cluster))
        label = labels.get(key)
        if label is not None and label.reply in ("", hash_reply(result.reply)):
            checked.append((key, value, label.value, weight, cluster))
    found = stats.compute_agreement(
        [is_right(one[1]) for one in checked], [is_right(one[2]) for one in checked]
    )
    if found is None:
        return None
    values, weights, clusters = zip(*scored, strict=True)
    raw = stats.interval(values, weights, clusters)
    assert raw is not None, "something was checked"
    average = sum(weights) / len(weights)
    corrected = None
    if len(checked) >= _MIN_CHECKED:
        corrected = stats.correct_by_person(
            [value * weight / average for value, weight in zip(values, weights, strict=True)],
            [value * weight / average for _, value, _, weight, _ in checked],
            [person * weight / average for _, _, person, weight, _ in checked],
            [cluster for *_, cluster in checked],
        )
    return PersonCheck(
        found=found,
        kappa_interval=compute_kappa_interval(found),
        population=len(values),
        n_outdated=len(labels) - len(checked),
        raw=raw,
        corrected=corrected,
        differ=tuple(dict.fromkeys(key[0] for key, a, b, *_ in checked if is_right(a) != is_right(b))),
        is_plain=is_plain,
    )


def compute_kappa_interval(found: stats.Agreement) -> tuple[float, float] | None:
    """The interval of Cohen's kappa with the chance agreement held fixed, as in Cohen (1960).

    The ends are those of the observed agreement, so that full agreement on few replies is not certainty.

    >>> found = stats.compute_agreement([True] * 30 + [False] * 20, [True] * 30 + [False] * 20)
    >>> low, high = compute_kappa_interval(found)
    >>> round(low, 3), high
    (0.851, 1.0)
    """
    if found.kappa is None:
        return None
    n = found.n
    judged, true = (found.both_right + found.only_judge) / n, (found.both_right + found.only_person) / n
    chance = judged * true + (1 - judged) * (1 - true)
    low, high = ((end - chance) / (1 - chance) for end in found.agreement_interval)
    return max(-1.0, low), min(1.0, high)


# -- Figures as text


def _estimate(value: float | None, ends: tuple[float, float] | None) -> dict[str, Any]:
    return {"value": value, "ci95": list(ends) if ends else None}


def _show(name: str, value: float | None, ends: tuple[float, float] | None, *, is_share: bool = True) -> str:
    if value is None:
        return f"{name} —"
    if is_share:
        return f"{name} {format_percent(value)} %" + (f" ({format_range(ends)})" if ends else "")
    return f"{name} {_number(value)}" + (f" ({_number(ends[0])} to {_number(ends[1])})" if ends else "")


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # no -0.00
