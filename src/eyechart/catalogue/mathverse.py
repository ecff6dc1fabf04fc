"""MathVerse (Zhang et al., 2024): one problem of geometry or functions in versions from text to image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.judges import ask_judge, official_judged
from eyechart.score.math import extract_answer, score_answer
from eyechart.score.text import parse_literal
from eyechart.types import Card, Judging, Reply, Sample, Score, ScoredRow

for _part in ("", "vision_only", "vision_dominant", "vision_intensive", "text_lite", "text_dominant"):
    _name = f"mathverse_mini_{_part}".strip("_").replace("_", "-")
    _file = f"MathVerse_MINI_{_part.title()}".strip("_")
    Entry(
        _name,
        "geometry and functions, one problem in versions from text to image",
        Card(
            "math",
            "3,940 rows" if _name == "mathverse-mini" else "788 questions",
            "https://arxiv.org/abs/2403.14624",
            "MIT",
        ),
        aliases=(_name.replace("mini", "testmini").replace("-", "_"),),
        file={_file: ""} | ({f"{_file}_cot": "vlmevalkit-cot"} if _part == "vision_only" else {}),
        hub=f"CaraJ/MathVerse-lmmseval:testmini{_part and f'_{_part}'}.parquet",
        also_hub=[
            f"CaraJ/MathVerse-lmmseval:testmini{f'_version_split/{_part}' if _part else '/testmini'}",
        ],
        change_row=lambda row: {"index": row["sample_index"], "question": row["query_wo"]},
        prompt=ask(),
        scorer="mathverse",
        kits={
            "vlmevalkit-cot": Kit(
                prompt=ask_with(lambda sample: str(sample.meta.get("query_cot") or sample.question)),
                scorer="mathverse",
            )
        },
        aggregate="mathverse",
        cluster=("problem_index",),
        metric="accuracy by a judge in two steps, extract and compare",
        note="Needs a judge. Model cards quote the version `vision-only`.",
    ).register()


# -- Scores


@official_judged("mathverse", version="1", is_settled=False)
def score_mathverse(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVerse: a judge extracts the answer, and decides unless it is the answer's own text.

    The judge must write 0 or 1; it is asked up to five times. As published, the reply then counts as wrong.
    """
    extracted = yield from extract_answer(reply, sample, "mathverse-extract")
    text = reply.text if extracted is None else extracted
    hit = any(text.strip() == gold.strip() for gold in sample.golds if gold.strip())
    said: str | None = None
    if extracted is not None and not hit:
        question = str(sample.meta.get("question_for_eval") or sample.question)
        verdict, said = yield from ask_judge(
            reply, sample, "mathverse-score", read_bit, values={"question": question, "answer": extracted}
        )
        hit = bool(verdict)
    read = text if hit or extracted is not None else None
    return score_answer(reply, sample, hit=hit, read=read, route="mathverse", judge=said)


def read_bit(said: str) -> int | None:
    """0 or 1, if the judge wrote nothing else.

    >>> read_bit(" 1"), read_bit("Judgement: 1")
    (1, None)
    """
    return int(said) if said.strip() in ("0", "1") else None


def _read_version(row: ScoredRow) -> Iterable[str]:
    """The version of a problem of MathVerse, and within it subject and subfield."""
    written = row.meta.get("metadata")
    told = parse_literal(written) if isinstance(written, str) else written
    facts = {**row.meta, **(told if isinstance(told, Mapping) else {})}
    version = get_column(row, "problem_version")
    finer = dict.fromkeys(str(facts[name]) for name in ("subject", "subfield") if facts.get(name))
    return (version, *(f"{version}: {one}" for one in finer))


declare_means(
    "mathverse", "accuracy by problem version, and within it by subject and subfield", _read_version
)


# The answer in a reply.
judge_prompt(
    "mathverse-extract",
    """\
Copy the final answer out of a model's reply to a question of mathematics. Write the answer alone: an option's
letter, a number with its unit, an equation. If the reply gives none, write None.

Question: {question}
Reply: {answer}
Answer:""",
)

# Whether it is right.
judge_prompt(
    "mathverse-score",
    """\
Are these two answers to the question the same? For an option, the letter must be the same. For other
answers it is enough that they mean the same: 0.5 m is 50 cm. Write 1 if they are the same and 0 if they are
not, and nothing else.

Question: {question}
Standard answer: {gold}
Model answer: {answer}
Judgement:""",
)
