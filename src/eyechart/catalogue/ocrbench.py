"""OCRBench (Liu et al., 2023): the answer occurs in the reply; points of 1000. score/text.py has VLMEvalKit's rule."""

from __future__ import annotations

from collections.abc import Sequence

from eyechart.catalogue.entry import GROUPS, Entry, Kit
from eyechart.prompt.published import ask
from eyechart.score.aggregates import ALL, Counts, add_up, declare_aggregate, divide, get_column
from eyechart.score.lmms import lmms_scorer, score_short
from eyechart.score.text import FULL_WIDTH, HANDWRITTEN_MATHS, get_answers, list_accepted
from eyechart.types import CannotAggregate, Card, MetricTable, Reply, Sample, Score, ScoredRow

Entry(
    "ocrbench",
    "text recognition, documents, key information, handwritten formulas",
    Card("documents", "1,000 questions", "https://arxiv.org/abs/2305.07895", "MIT"),
    file="OCRBench",
    hub="echo840/OCRBench:test",
    change_row=lambda row: {"category": row["question_type"]},
    prompt=ask(),
    scorer="ocrbench",
    group_by=("category",),
    aggregate="ocrbench",
    lmms=Kit(max_tokens=128, prompt=ask(strip=True), scorer="ocrbench-lmms", group_by=GROUPS),
    metric="points of 1,000: the answer occurs in the reply",
).register()


@lmms_scorer("ocrbench-lmms", version="2")
def score_ocrbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's OCRBench: as VLMEvalKit's, with full-width ASCII folded.

    Formulas are told by the column ``dataset`` (HME100k), or by the category as in VLMEvalKit.
    """
    is_formula = sample.meta.get("dataset") == "HME100k" or HANDWRITTEN_MATHS in (
        sample.meta.get("category"), sample.meta.get("question_type"),
    )  # fmt: skip
    hit = ocrbench_lmms(reply.text, list_accepted(get_answers(sample)), is_formula=is_formula)
    return score_short(reply, sample, float(hit), reply.text.strip(), "ocrbench-lmms", is_whole=False)


def ocrbench_lmms(reply: str, answers: Sequence[str], *, is_formula: bool = False) -> bool:
    """Whether an accepted answer occurs in the reply.

    >>> ocrbench_lmms("It says ＡＢＣ", ["abc"]), ocrbench_lmms("X ^ 2", ["X^2"], is_formula=True)
    (True, True)
    """

    def tidy(text: str) -> str:
        if is_formula:
            return text.strip().replace("\n", " ").replace(" ", "")
        return text.translate(FULL_WIDTH).lower().strip().replace("\n", " ")

    text = tidy(reply.strip())
    return any(tidy(answer) in text for answer in answers)


# -- The official number: points of 1000

TEXT_RECOGNITION = (
    "Regular Text Recognition", "Irregular Text Recognition", "Artistic Text Recognition",
    "Handwriting Recognition", "Digit String Recognition", "Non-Semantic Text Recognition",
)  # fmt: skip
OTHER_PARTS = (
    "Scene Text-centric VQA", "Doc-oriented VQA", "Key Information Extraction",
    "Handwritten Mathematical Expression Recognition",
)  # fmt: skip


def _count_points(rows: Sequence[ScoredRow]) -> Counts:
    category = get_column(rows[0], "category", "question_type")
    if category not in (*TEXT_RECOGNITION, *OTHER_PARTS):
        raise CannotAggregate(
            f"OCRBench: {category!r} is not one of its ten categories", hint="see: eyechart docs metrics"
        )
    scored = [row.value for row in rows if row.is_scored]
    return {category: sum(scored), (category, "rows"): len(rows), (category, "scored"): len(scored)}


@declare_aggregate(
    "ocrbench", _count_points, headline="Final Score", scale="points", sees_unscored=True, version="2"
)
def _combine_points(total: Counts) -> MetricTable:
    """Right answers, of 1000 in the published set, and by part."""

    def count(category: str) -> float | None:
        """The points of a category; its rows without a score are taken to be as the others are."""
        rows = total.get((category, "rows"), 0)
        share = divide(total.get(category, 0), total.get((category, "scored"), 0))
        return 0 if not rows else None if share is None else rows * share

    parts = {"Text Recognition": add_up(map(count, TEXT_RECOGNITION))}
    parts |= {one: count(one) for one in OTHER_PARTS}
    return {ALL: {"Final Score": add_up(parts.values()), **parts}}
