"""MM-Vet (Yu et al., 2023): six abilities at once; the judge's reply is a number from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterable

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import Counts, average, count_by, declare_aggregate, get_column
from eyechart.score.judges import ask_judge, give, official_judged, read_share
from eyechart.types import Card, Judging, MetricTable, Reply, Sample, Score, ScoredRow

Entry(
    "mmvet",
    "six abilities at once, answers of a sentence",
    Card("open", "218 questions", "https://arxiv.org/abs/2308.02490", "CC BY-NC 4.0"),
    file="MMVet",
    hub="lmms-lab/MMVet:test",
    change_row=lambda row: {
        "index": str(row["question_id"]).removeprefix("v1_"),
        "category": ",".join(row["capability"]) if isinstance(row["capability"], list) else row["capability"],
    },
    prompt=ask(),
    scorer="mmvet",
    group_by=(),
    aggregate="mmvet",
    metric="mean of the judge's scores, 0 to 1",
    note="Needs a judge, GPT-4 in the paper. The judge matters: the same model got 64.2 from GPT-4-0613 and 62.1 from GPT-4 Turbo.",
).register()


@official_judged("mmvet", version="1", needs_judge=True)
def score_mmvet(reply: Reply, sample: Sample) -> Judging[Score]:
    """MM-Vet: the judge's whole reply is a number from 0 to 1. Depends on the judge's version."""
    gold = (sample.golds[0] if sample.golds else "").replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    found, said = yield from ask_judge(reply, sample, "mmvet", read_share, values={"gold": gold})
    return give(found, said, "mmvet", read=reply.text.strip())


def _list_capabilities(row: ScoredRow) -> Iterable[str]:
    """The capabilities of a question, and their combination.

    As published, a combination of one has the name of its capability, so the two are counted together.
    """
    category = get_column(row, "category")
    capabilities = (one for one in ("rec", "ocr", "know", "gen", "spat", "math") if one in category)
    return [*capabilities, category.replace(",", "_")]


@declare_aggregate("mmvet", count_by(_list_capabilities), headline="score", version="2")
def _combine_mmvet(total: Counts) -> MetricTable:
    """The judge's grades, by capability and combination of capabilities."""
    return average(total, name="score")


# A grade from 0 to 1.
judge_prompt(
    "mmvet",
    """\
Grade a model's answer against the truth with a number: 0.0 (wrong), 0.1, 0.2, … 1.0 (right). In the truth,
<AND> means that all parts must be there for 1.0, and <OR> that any one is enough. Write the number and
nothing else.

Question | Truth | Answer | Grade
--- | --- | --- | ---
Which two values solve it? | 2 <AND> 7 | x = 2 | 0.5
Which two values solve it? | 2 <AND> 7 | x is 7 or 2 | 1.0
Which two values solve it? | 2 <AND> 7 | x = 3 | 0.0
{question} | {gold} | {answer} | """,
)
