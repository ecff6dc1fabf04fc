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
- **bounds** are the worst and best possible score: every `failed`, `unparsed` and `truncated` sample, and
  every one that a judge should have decided and did not, counted as wrong, then as right. Samples that are
  unscored for lack of an answer, and pending ones, stay excluded.
- **ci95_with_failures** reaches from the lower end of the interval at worst to the upper end at best; None if
  no sample failed, was unparsed or truncated, or lacks a verdict.
- **shrunk** is a group's score drawn towards that of all groups by how few samples it has (beta-binomial).
- **chance** is the mean of what guessing scores (report/choices.py), over the samples that have a score (over
  all, if none has); for CircularEval the product over all rotations.
- **cost** is in USD: the tokens of the replies that the numbers rest on and of all judge calls, at the prices
  of the run's last start; null if a price is not known. A cached reply counts what it originally cost.
- **judge** is the judge card: see judges.py.
- **thinking** says whether the scorer saw the thoughts in replies: see score/thinking.py.
- **also** holds other readings of the same replies: the plain score over all rotations of a circular run, the
  mean over groups where a benchmark declares it, and the scores of further scorers.
- **look** holds how a look run's dialogues went, and whether crops cover gold boxes: see looks.py.
- **unread** says how many replies have no readable answer, if they are more than 5 %: see `Unread`.
- **metrics** holds the benchmark's official number where it is not the mean over rows: see metrics.py.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eyechart.files import list_values
from eyechart.models.prices import Price
from eyechart.registry import scorers
from eyechart.report.counting import (
    SCORED,
    Group,
    ResultCounter,
    Trials,
    average_groups,
)
from eyechart.types import JudgedScorer, Outcome, Result

UNREAD = ("unparsed", "refused", "truncated")
MAX_SHARE = 0.05

if TYPE_CHECKING:
    from eyechart.report.judges import JudgeCard
    from eyechart.report.looks import LookSummary
    from eyechart.report.metrics import Metrics


def summarise(
    results: Iterable[Result],
    *,
    group_by: Sequence[str] = (),
    in_order: bool = False,
    **facts: Any,
) -> Summary:
    """Count the results in one pass, in any order; `facts` are those of `make_summary`.

    `in_order`: the results are in the benchmark's order, all trials of a sample together, so that a sample
    can be forgotten when the next one begins.

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
    return make_summary(counted, **facts)


def make_summary(
    counted: ResultCounter,
    *,
    macro: str = "",
    requests: Mapping[str, int] | None = None,
    price: Price | None = None,
    parity: str = "",
    thinking: str = "auto",
    **facts: Any,
) -> Summary:
    """The numbers of results that were counted.

    `macro`: a key of the groups that are averaged. `requests` (sent, retried, cached) are the engine's
    counts; without them, sent and retried are summed over the results' attempts. `price` is the price of the
    replies' tokens. `facts` are further fields of the summary.
    """
    counted.close()
    overall, by = counted.overall.group(), counted.groups()
    seen = thinking if thinking in ("keep", "split") else "keep" if parity else "split"
    n_unknown = counted.n_unknown_thoughts if seen == "keep" else 0
    thoughts = Thoughts(seen=seen, n=counted.n_thoughts, n_unknown=n_unknown)
    mean = average_groups(by.get(macro, {}), overall, counted.measure_overlap(macro))
    return Summary(
        overall=overall,
        by=by,
        also={f"macro by {macro}": mean} if mean else {},
        requests={"sent": counted.sent, "retried": counted.retried, "cached": 0, **(requests or {})},
        tokens=counted.tokens(),
        cost=price.cost(counted.usage) if price and counted.is_counted else None,
        speed=counted.speed.close(),
        trials=counted.trials(),
        parity=parity,
        thinking=thoughts if thoughts.n or thoughts.n_unknown else None,
        contradictions=counted.n_contradictions,
        **facts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoughts:
    """Whether the scorer saw the thoughts in replies, and how many replies had them in their text.

    >>> list(Thoughts(seen="split", n=38).lines())
    ['thoughts separated in 38 replies; --thinking keep scores the whole text']
    """

    seen: str  # "keep" or "split"
    n: int
    n_unknown: int = 0  # replies of an earlier version, which did not keep the text as it came

    def lines(self) -> Iterator[str]:
        many = "1 reply" if self.n == 1 else f"{self.n:,} replies"
        if self.n and self.seen == "split":
            yield f"thoughts separated in {many}; --thinking keep scores the whole text"
        elif self.n:
            yield f"thoughts kept in {many}; --thinking split scores the answers alone"
        if self.n_unknown:
            yield (
                f"{self.n_unknown:,} repl{'y' if self.n_unknown == 1 else 'ies'} of an earlier version: "
                "scored without thoughts, because the text as it came was not stored"
            )


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a run with its interval; a fraction from 0 to 1, or points."""

    name: str
    value: float | None
    ci95: tuple[float, float] | None
    method: str
    scale: str = "fraction"


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
    speed: Mapping[str, Any] | None = None  # if replies arrived in parts, or of local weights
    trials: Trials | None = None
    scorer: str = ""
    parity: str = ""
    lost_parity: str = ""  # what it would be if every sample had a score
    thinking: Thoughts | None = None  # if replies had thoughts in their text
    rules: str = ""  # the release or commit whose rules the scorer follows, if they changed over time
    version: str = ""
    metrics: Metrics | None = None  # if the benchmark declares an aggregate
    contradictions: int = 0  # replies whose letter and words name different options
    unread: Unread | None = None  # replies without a readable answer, if they are more than 5 %
    judge: JudgeCard | None = None  # if the run has a judge, or was checked by a person
    looks: LookSummary | None = None  # of a look run
    is_stopped: bool = False  # before all was asked, because its gate was decided

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
    def number(self) -> Number:
        """The number to publish: the official one if the benchmark has an aggregate, else the score."""
        mean, metrics = self.mean, self.metrics
        if metrics is None or metrics.score is None:
            return mean
        top = metrics.overall[metrics.headline]
        is_mean = mean.value is not None and abs(metrics.score - mean.value) < 1e-12
        if is_mean and not top.ci95:  # of the plain mean, the run has an interval for small sets, too
            return replace(mean, name=metrics.headline)
        return Number(metrics.headline, top.value, top.ci95, metrics.method, metrics.scale)

    @property
    def mean(self) -> Number:
        """The score as a number to publish."""
        return Number("mean over questions", self.score, self.ci95, self.overall.method)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What every table and page says: replies that could not be read, intervals that are too short."""
        n = self.contradictions
        several = (
            f"{n:,} contradiction{'s' * (n != 1)}: a letter beside the words of another option, not read"
        )
        few = "a few samples carry most of the points: the interval may be too short"
        stopped = (
            "stopped when decided, which these intervals do not allow for: eyechart gate prints one that does"
        )
        unread = self.unread.line if self.unread else ""
        lines = {unread: unread, several: n, few: self.overall.rests_on_few, stopped: self.is_stopped}
        return tuple(line for line, holds in lines.items() if holds)

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
            **list_values(self, _JSON_NAMES),
            **({"look": self.looks.to_json()} if self.looks else {}),
            **({"is_stopped": True} if self.is_stopped else {}),
            "remarks": list(self.remarks),
        }


_JSON_NAMES = (
    "by", "also", "metrics", "trials", "requests", "tokens", "cost", "paid", "seconds", "speed", "scorer",
    "parity", "thinking", "rules", "version", "contradictions", "unread", "judge",
)  # fmt: skip


# -- Replies without a readable answer: they count 0, so a rule that cannot read a model's style measures the
# rule and not the model. Every place that shows a score says how many, if they are more than 5 %.


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Replies without a readable answer: `n` of the `of` replies that the score is over."""

    n: int
    of: int
    outcomes: Mapping[str, int]
    rule: str  # the scorer
    help: tuple[str, ...]  # commands, and what each does

    @property
    def share(self) -> float:
        return self.n / self.of

    @property
    def is_many(self) -> bool:
        return self.share > MAX_SHARE

    @property
    def line(self) -> str:
        """What every table, page and verdict says about them."""
        kinds = ", ".join(f"{n:,} {outcome}" for outcome, n in self.outcomes.items())
        which = f"{self.n:,} of {self.of:,} replies ({100 * self.share:.1f} %)"
        return f"{which} have no answer that {self.rule} reads and count 0 ({kinds}): {'; '.join(self.help)}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "help": list(self.help), "line": self.line}


def find_unread(
    outcomes: Mapping[Any, int],
    scorer: str,
    manifest: Mapping[str, Any],
    run: str,
    *,
    has_fields: bool = False,
) -> Unread | None:
    """The replies to sample-trials without a readable answer; None if there are none.

    `has_fields`: answers are objects, about which no judge is asked.

    >>> found = find_unread({"correct": 88, "unparsed": 72}, "choice-vlmevalkit", {}, "runs/mine")
    >>> found.n, found.of, found.is_many
    (72, 160, True)
    >>> found.help[-1]
    "eyechart score runs/mine --scorer choice reads them by eyechart's own rules, at no cost"
    """
    counts = {outcome: outcomes[outcome] for outcome in UNREAD if outcomes.get(outcome)}
    if not counts or str(manifest.get("model")).startswith("baseline/"):
        return None  # a baseline that guesses has no answer to open questions, and nothing helps
    return Unread(
        n=sum(counts.values()),
        of=sum(n for outcome, n in outcomes.items() if outcome in SCORED),
        outcomes=counts,
        rule=scorer,
        help=_list_help(counts, scorer, manifest, shlex.quote(run), has_fields=has_fields),
    )


def _list_help(
    counts: Mapping[str, int], scorer: str, manifest: Mapping[str, Any], run: str, *, has_fields: bool
) -> tuple[str, ...]:
    helped = ["--max-tokens N allows longer replies"] if "truncated" in counts else []
    if counts.keys() != {"truncated"}:
        with_judge = _find(str(manifest.get("judged_scorer") or scorer))
        if isinstance(with_judge, JudgedScorer) and not manifest.get("judge") and not has_fields:
            helped.append(f"eyechart score {run} --judge MODEL asks a judge about them")
        if getattr(_find(scorer), "parity", ""):
            name = "choice" if scorer.startswith("choice") else "default"
            own = f"eyechart score {run} --scorer {name} reads them by eyechart's own rules, at no cost"
            helped.append(own)
    return tuple(helped or [f"eyechart show {run} --outcome {','.join(counts)} lists them"])


def _find(name: str) -> Any:
    """The scorer of that name; None for one of a plug-in that is not loaded."""
    return scorers.get(name) if name in scorers.names() else None
