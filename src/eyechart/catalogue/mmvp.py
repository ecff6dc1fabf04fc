"""MMVP (Tong et al., 2024): pairs of images that CLIP confuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import choose
from eyechart.score.aggregates import ALL, Counts, declare_aggregate, divide
from eyechart.score.lmms import reading_scorer
from eyechart.types import CannotAggregate, Card, MetricTable, ScoredRow

Entry(
    "mmvp",
    "pairs of images that CLIP confuses",
    Card("perception", "300 questions", "https://arxiv.org/abs/2401.06209", "MIT"),
    file="MMVP",
    hub="lmms-lab-eval/MMVP:train",
    change_row=lambda row: {
        "index": row["Index"],
        "question": row["Question"],
        "options": [text.strip() for text in re.split(r"\([a-z]\)", row["Options"]) if text.strip()],
        "answer": str(row["Correct Answer"]).strip("() ").upper(),
    },
    lmms=Kit(max_tokens=16, prompt=choose(), scorer="mmvp-lmms", aggregate="mmvp-lmms"),
    aggregate="mmvp",
    metric="pairs of which both questions are right",
    note="A pair is two neighbouring rows with the same question; in lmms-eval, rows 2n - 1 and 2n.",
).register()


_MMVP = (
    r"\A\(?([AB])\)?\.?\Z", r"\A\(?([AB])\)?[.\s]", r"answer\s+is\s+\(?([AB])\)?",
    r"option\s+\(?([AB])\)?",
    r"\(?([AB])\)?(?:\s|\Z)",
)  # fmt: skip


@reading_scorer("mmvp-lmms", version="2", matches=lambda read, gold: read == read_mmvp_gold(gold))
def read_mmvp(reply: str) -> str | None:
    """lmms-eval's MMVP: A or B alone, at the start, after "answer is" or "option", or at a word's end.

    As published, a word that ends in a or b counts.

    >>> read_mmvp("(a) Open"), read_mmvp("grab it"), read_mmvp("**B**")
    ('A', 'B', None)
    """
    text = reply.strip()
    found = next((match for pattern in _MMVP if (match := re.search(pattern, text, re.IGNORECASE))), None)
    if found is not None:
        return found[1].upper()
    return text[0].upper() if text[:1].upper() in ("A", "B") else None


def read_mmvp_gold(gold: str) -> str:
    """The letter of an answer such as ``(a)``.

    >>> read_mmvp_gold("(b)"), read_mmvp_gold("A")
    ('B', 'A')
    """
    lower = gold.strip().lower()
    return next((letter.upper() for letter in "ab" if f"({letter})" in lower), lower.upper())


# -- The official number: pairs of neighbouring rows with the same question


def _count_pair(rows: Sequence[ScoredRow]) -> Counts:
    if len(rows) != 2 or rows[0].question != rows[1].question:
        raise CannotAggregate(
            f"MMVP: row {rows[0].position + 1} has no neighbour with the same question",
            hint="--limit must be even",
        )
    return _count_pair_lmms(rows)


def find_pair(sample_id: str) -> int:
    """The pair of an index that counts from 1: 1 and 2 are the first. As published, 0 falls among them.

    >>> find_pair("1"), find_pair("2"), find_pair("3")
    (0, 0, 1)
    """
    try:
        index = int(float(sample_id))
    except ValueError as err:
        raise CannotAggregate(
            f"MMVP: the index {sample_id!r} is not a number", hint="rows 2n - 1 and 2n are a pair"
        ) from err
    return (index - (index > 0)) // 2


def _count_pair_lmms(rows: Sequence[ScoredRow]) -> Counts:
    values = [row.value for row in rows]
    found: Counts = {"n": len(rows), "value": sum(values)}
    if len(rows) != 2:  # as published, no pair
        return found
    return {**found, "pairs": 1, "both": values[0] * values[1]}


@declare_aggregate("mmvp", _count_pair, unit=lambda row: row.position // 2, headline="pairs")
@declare_aggregate("mmvp-lmms", _count_pair_lmms, unit=lambda row: find_pair(row.id), headline="pairs")
def _combine_pairs(total: Counts) -> MetricTable:
    """The share of pairs with both questions right; lmms-eval pairs by index and leaves out single rows."""
    pairs = divide(total.get("both", 0), total.get("pairs", 0))
    return {ALL: {"pairs": pairs, "accuracy": divide(total.get("value", 0), total.get("n", 0))}}
