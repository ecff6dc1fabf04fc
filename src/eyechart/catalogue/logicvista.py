"""LogicVista (Xiao et al., 2024): diagrams, patterns, puzzles; a judge names the letters of the chosen options."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.judges import ask_judge, give, official_judged
from eyechart.score.reading import score_official
from eyechart.types import Card, Judging, NoJudge, Reply, Sample, Score

Entry(
    "logicvista",
    "diagrams, patterns, puzzles",
    Card("reasoning", "448 questions", "https://arxiv.org/abs/2407.04973", "Apache-2.0"),
    file="LogicVista",
    hub="lscpku/LogicVista:test",
    change_row=lambda row: {"index": row["id"]},
    prompt=ask(),
    scorer="logicvista",
    aggregate="logicvista",
    metric="accuracy: the set of letters is the gold's",
    note="Needs a judge for replies that are not letters.",
).register()


@official_judged("logicvista", version="2")
def score_logicvista(reply: Reply, sample: Sample) -> Judging[Score]:
    """LogicVista: the judge names letters; they must be those of the answer, repeated ones as often.

    Without a judge, a reply that is nothing but capital letters is read.
    """
    try:
        letters, said = yield from ask_judge(reply, sample, "logicvista", read_capitals)
    except NoJudge:
        letters, said = read_capitals(reply.text.strip()), ""
        hit = letters is not None and _is_same_letters(letters, sample)
        return score_official(reply, sample, value=float(hit), read=letters, route="logicvista")
    value = None if letters is None else float(_is_same_letters(letters, sample))
    return give(value, said, "logicvista", read=letters)


def read_capitals(text: str) -> str | None:
    """A text of capital letters only.

    >>> read_capitals("BD"), read_capitals("B, D")
    ('BD', None)
    """
    return text if text.isupper() and text.isalpha() else None


def _is_same_letters(letters: str, sample: Sample) -> bool:
    said = "".join(sorted(letters.lower()))  # as published, letters of a gold without commas are not sorted
    return any(said == "".join(sorted(gold.lower().split(", "))) for gold in sample.golds)


LOGIC_SKILLS = ("inductive", "deductive", "numerical", "spatial", "mechanical")


declare_means(
    "logicvista",
    "accuracy by skill; a question may need several",
    lambda row: [one for one in LOGIC_SKILLS if one in get_column(row, "skill")],
)


# The letters of the chosen options.
judge_prompt(
    "logicvista",
    """\
Which options does this reply choose? Write their capital letters next to each other and nothing else, such
as B or ACD. If the reply chooses none, and none can be inferred from the options, write Z.

Question: {question}
Reply: {answer}
Letters:""",
)
