"""Replies in which a scorer read no answer: one line that says how many, by which rule, and what helps.

Such replies count 0, so a rule that cannot read a model's style measures the rule and not the model. Every
place that shows a score shows this line if they are more than 5 % of the replies.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.registry import scorers
from eyechart.report.counting import SCORED
from eyechart.types import JudgedScorer

UNREAD = ("unparsed", "refused", "truncated")
MAX_SHARE = 0.05


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
        return {
            "n": self.n, "of": self.of, "outcomes": dict(self.outcomes), "rule": self.rule,
            "help": list(self.help), "line": self.line,
        }  # fmt: skip


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
        help=tuple(_list_help(counts, scorer, manifest, shlex.quote(run), has_fields=has_fields)),
    )


def _list_help(
    counts: Mapping[str, int], scorer: str, manifest: Mapping[str, Any], run: str, *, has_fields: bool
) -> Iterator[str]:
    is_helped = "truncated" in counts
    if is_helped:
        yield "--max-tokens N allows longer replies"
    if counts.keys() != {"truncated"}:
        with_judge = _find(str(manifest.get("judged_scorer") or scorer))
        if isinstance(with_judge, JudgedScorer) and not manifest.get("judge") and not has_fields:
            is_helped = True
            yield f"eyechart score {run} --judge MODEL asks a judge about them"
        if getattr(_find(scorer), "parity", ""):
            is_helped = True
            name = "choice" if scorer.startswith("choice") else "default"
            yield f"eyechart score {run} --scorer {name} reads them by eyechart's own rules, at no cost"
    if not is_helped:
        yield f"eyechart show {run} --outcome {','.join(counts)} lists them"


def _find(name: str) -> Any:
    """The scorer of that name; None for one of a plug-in that is not loaded."""
    return scorers.get(name) if name in scorers.names() else None
