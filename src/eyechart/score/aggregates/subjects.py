"""Aggregates of sets with subjects, skills or grades.

OCRBench, MMMU, MathVista, MathVision, MathVerse, LogicVista, CharXiv, MM-Vet, LLaVABench, SimpleVQA,
MMLongBench-Doc, ChartQA, ChartQAPro, MTVQA, CC-OCR. problems.py has We-Math and DynaMath.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from eyechart.score.aggregates import (
    ALL,
    Counts,
    add_up,
    average,
    count_by,
    declare_aggregate,
    declare_means,
    divide,
    get_column,
)
from eyechart.score.text import parse_literal
from eyechart.types import CannotAggregate, MetricTable, ScoredRow

# -- OCRBench: points of 1000

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


def _combine_points(total: Counts) -> MetricTable:
    def count(category: str) -> float | None:
        """The points of a category; its rows without a score are taken to be as the others are."""
        rows = total.get((category, "rows"), 0)
        share = divide(total.get(category, 0), total.get((category, "scored"), 0))
        return 0 if not rows else None if share is None else rows * share

    parts = {"Text Recognition": add_up(map(count, TEXT_RECOGNITION))}
    parts |= {one: count(one) for one in OTHER_PARTS}
    return {ALL: {"Final Score": add_up(parts.values()), **parts}}


declare_aggregate(
    name="ocrbench",
    about="right answers, of 1000 in the published set, and by part",
    count=_count_points,
    combine=_combine_points,
    headline="Final Score",
    scale="points",
    sees_unscored=True,
    version="2",
)


# -- MMMU, MMMU-Pro: all rows, six domains, their subjects
#
# Yue et al., 2023 (https://arxiv.org/abs/2311.16502). The official parser picks a letter at random where it
# reads none. Here such a reply is unparsed and counts 0; what the pick would have added is shown beside: its
# expectation (1 / options each), and the range from all wrong to all right.

DOMAINS: Mapping[str, tuple[str, ...]] = {
    "Art and Design": ("Art", "Art_Theory", "Design", "Music"),
    "Business": ("Accounting", "Economics", "Finance", "Manage", "Marketing"),
    "Science": ("Biology", "Chemistry", "Geography", "Math", "Physics"),
    "Health and Medicine": (
        "Basic_Medical_Science", "Clinical_Medicine", "Diagnostics_and_Laboratory_Medicine", "Pharmacy",
        "Public_Health",
    ),
    "Humanities and Social Science": ("History", "Literature", "Sociology", "Psychology"),
    "Tech and Engineering": (
        "Agriculture", "Architecture_and_Engineering", "Computer_Science", "Electronics", "Energy_and_Power",
        "Materials", "Mechanical_Engineering",
    ),
}  # fmt: skip
_DOMAIN_OF = {subject: domain for domain, subjects in DOMAINS.items() for subject in subjects}


def find_subject(sample_id: str) -> str:
    """The subject in an id of MMMU: ``split_Subject_number``.

    >>> find_subject("validation_Art_Theory_12")
    'Art_Theory'
    """
    parts = sample_id.split("_")
    if len(parts) < 3 or not parts[-1].isdecimal():
        raise CannotAggregate(
            f"MMMU: the id {sample_id!r} does not name a subject", hint="e.g. validation_Art_1"
        )
    return "_".join(parts[1:-1])


def _groups_mmmu(row: ScoredRow) -> Iterable[str]:
    subject = (get_column(row, "subject", "category") or find_subject(row.id)).replace(" ", "_")
    domain = _DOMAIN_OF.get(subject)
    return (*((f"domain: {domain}",) if domain else ()), subject)


def _count_mmmu(rows: Sequence[ScoredRow]) -> Counts:
    found = dict(count_by(_groups_mmmu)(rows))
    for row in rows:
        pick = row.detail.get("random pick")
        if isinstance(pick, int | float):
            found["picks"] = found.get("picks", 0) + 1
            found["expected"] = found.get("expected", 0) + float(pick)
    return found


def _combine_mmmu(total: Counts) -> MetricTable:
    found = average(total)
    n, value = total.get((ALL, "n"), 0), total.get((ALL, "value"), 0)
    if n and total.get("picks"):
        found[ALL] |= {
            "n random picks": total["picks"],
            "with random picks": (value + total["expected"]) / n,
            "at least": value / n,
            "at most": (value + total["picks"]) / n,
        }
    return found


declare_aggregate(
    name="mmmu",
    version="2",
    about="accuracy over all rows, by domain and subject",
    count=_count_mmmu,
    combine=_combine_mmmu,
    headline="accuracy",
)


# lmms-eval's MMMU-Pro: a row may hold several questions. The accuracy of a subject is over its questions,
# that of domains and of all is the mean of subjects by their rows.


def _count_composite(rows: Sequence[ScoredRow]) -> Counts:
    found: dict[Hashable, float] = {}
    for row in rows:
        subject = get_column(row, "subject", "category").replace(" ", "_")
        letters = row.detail.get("letters")
        n = len(letters) if isinstance(letters, list | tuple) else 1
        for name, value in (("n", 1), ("questions", n), ("right", n * row.value)):
            found[subject, name] = found.get((subject, name), 0) + value
    return found


def _combine_composite(total: Counts) -> MetricTable:
    table: dict[str, dict[str, float | None]] = {ALL: {}}
    groups: dict[str, list[str]] = {ALL: []}
    for subject in dict.fromkeys(str(key[0]) for key in total if isinstance(key, tuple)):
        share = divide(total[subject, "right"], total[subject, "questions"])
        table[subject] = {"accuracy": share, "n": total[subject, "n"]}
        groups[ALL].append(subject)
        if domain := _DOMAIN_OF.get(subject):
            groups.setdefault(f"domain: {domain}", []).append(subject)
    for group, subjects in groups.items():
        n = sum(table[one]["n"] or 0 for one in subjects)
        right = sum((table[one]["accuracy"] or 0) * (table[one]["n"] or 0) for one in subjects)
        table[group] = {"accuracy": divide(right, n), "n": n}
    return table


declare_aggregate(
    name="mmmu-pro-lmms",
    about="accuracy by subject and domain; within a subject, a row counts once per question",
    count=_count_composite,
    combine=_combine_composite,
    headline="accuracy",
)


# -- Means by the set's own groups


def _list_skills(row: ScoredRow) -> Iterable[str]:
    """Task and skills of MathVista; skills are written as a list."""
    written = row.meta.get("skills")
    skills = parse_literal(written) if isinstance(written, str) else written
    listed = skills if isinstance(skills, list | tuple) else [written]
    return [str(one) for one in (*listed, get_column(row, "task")) if one]


def _read_version(row: ScoredRow) -> Iterable[str]:
    """The version of a problem of MathVerse, and within it subject and subfield."""
    written = row.meta.get("metadata")
    told = parse_literal(written) if isinstance(written, str) else written
    facts = {**row.meta, **(told if isinstance(told, Mapping) else {})}
    version = get_column(row, "problem_version")
    finer = dict.fromkeys(str(facts[name]) for name in ("subject", "subfield") if facts.get(name))
    return (version, *(f"{version}: {one}" for one in finer))


LOGIC_SKILLS = ("inductive", "deductive", "numerical", "spatial", "mechanical")
CHARXIV_REASONING = {1: "Text-in-Chart", 2: "Text-in-General", 3: "Number-in-Chart", 4: "Number-in-General"}
CHARXIV_DESCRIPTIVE = {
    **dict.fromkeys(range(1, 8), "Information Extraction"),
    **dict.fromkeys((8, 9, 13, 14, 15), "Enumeration"),
    **dict.fromkeys((10, 12, 19), "Counting"),
    **dict.fromkeys((11, 16, 18), "Pattern Recognition"),
    17: "Compositionality",
}


def _find_charxiv(row: ScoredRow, column: str, names: Mapping[int, str]) -> Iterable[str]:
    number = get_column(row, column).removesuffix(".0")
    if not number.isdecimal() or int(number) not in names:
        raise CannotAggregate(
            f"CharXiv: the {column} {number!r} is unknown", hint=f"known: 1 to {max(names)}"
        )
    return (names[int(number)],)


_HUMAN = ("human_test", "test_human", "human", "0")

declare_means("mathvista", "accuracy by task and skill", _list_skills)
declare_means("visulogic", "accuracy by kind of reasoning", lambda row: (get_column(row, "category", "tag"),))
declare_means("mathvision", "accuracy by subject", lambda row: (get_column(row, "category", "subject"),))
declare_means(
    "mathverse", "accuracy by problem version, and within it by subject and subfield", _read_version
)
declare_means(
    "logicvista",
    "accuracy by skill; a question may need several",
    lambda row: [one for one in LOGIC_SKILLS if one in get_column(row, "skill")],
)
declare_means(
    "charxiv-reasoning",
    "accuracy by where the answer is: text or number, in the chart or in general",
    lambda row: _find_charxiv(row, "inst_category", CHARXIV_REASONING),
)
declare_means(
    "charxiv-descriptive", "accuracy by kind of question",
    lambda row: _find_charxiv(row, "qid", CHARXIV_DESCRIPTIVE),
)  # fmt: skip
declare_means(
    "chartqapro", "relaxed accuracy by question type", lambda row: (get_column(row, "question_type", "type"),)
)
declare_means("mtvqa", "accuracy by language", lambda row: (get_column(row, "category"),))
declare_means(
    "seedbench-lmms",
    "accuracy by type of data: image or video; chart, map or web page",
    lambda row: (get_column(row, "data_type", "question_image_type", "category").lower(),),
)
declare_means("muirbench", "accuracy by task", lambda row: (get_column(row, "task", "category"),))
declare_means(
    "chartqa",
    "relaxed accuracy of the human and the augmented split",
    lambda row: ("human" if get_column(row, "split", "type", "human_or_machine") in _HUMAN else "augmented",),
)


# -- MM-Vet: grades by capability, and by combination of capabilities
#
# Yu et al., 2023 (https://arxiv.org/abs/2308.02490).

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")


def _list_capabilities(row: ScoredRow) -> Iterable[str]:
    """The capabilities of a question, and their combination.

    As published, a combination of one has the name of its capability, so the two are counted together.
    """
    category = get_column(row, "category")
    return [*(one for one in CAPABILITIES if one in category), category.replace(",", "_")]


def _combine_mmvet(total: Counts) -> MetricTable:
    return average(total, name="score")


declare_aggregate(
    name="mmvet",
    about="the judge's grades, by capability and combination of capabilities",
    count=count_by(_list_capabilities),
    combine=_combine_mmvet,
    headline="score",
)


# -- LLaVABench: grades of 1 to 10, relative to those of the reference answers
#
# Liu et al., 2023 (https://arxiv.org/abs/2304.08485). `llavabench` of score/judges.py puts both grades into
# the detail of a score.


def _count_grades(rows: Sequence[ScoredRow]) -> Counts:
    found: dict[Hashable, float] = {}
    for row in rows:
        if "grade" not in row.detail:
            raise CannotAggregate(
                f"LLaVABench: the reply to {row.id!r} has no grade of the judge",
                hint="version 1 of the scorer did not judge empty replies: score the run again",
            )
        for group in dict.fromkeys((ALL, get_column(row, "category"))):
            for name in ("grade", "reference grade"):
                found[group, name] = found.get((group, name), 0) + float(row.detail[name])
            found[group, "n"] = found.get((group, "n"), 0) + 1
    return found


def _combine_grades(decimals: int | None) -> Callable[[Counts], MetricTable]:
    def combine(total: Counts) -> MetricTable:
        table = {}
        for group, n in (
            (str(key[0]), n) for key, n in total.items() if isinstance(key, tuple) and key[1] == "n"
        ):
            if not n:  # a category that a resample does not contain
                continue
            mine, theirs = (total[group, name] / n for name in ("grade", "reference grade"))
            if decimals is not None:
                mine, theirs = round(mine, decimals), round(theirs, decimals)
            table[group] = {
                "relative": 100 * mine / theirs if theirs else None,
                "grade": 10 * mine,
                "reference grade": 10 * theirs,
            }
        return table

    return combine


for _name, _decimals, _note in (
    ("llavabench", None, ""),
    ("llavabench-lmms", 3, "; both means rounded to three decimals (lmms-eval)"),
):
    declare_aggregate(
        name=_name,
        about=f"points: mean grade, as percent of the reference answers' mean grade{_note}",
        count=_count_grades,
        combine=_combine_grades(_decimals),
        headline="relative",
        scale="points",
    )


# -- SimpleVQA: F1 of the share of right answers and that among the attempted
#
# Cheng et al., 2025 (https://arxiv.org/abs/2502.13059). The score's detail says what the judge decided. As
# published, the shares are rounded to four decimals before F1 is taken.

JUDGED = ("correct", "incorrect", "not attempted")


def _count_attempts(rows: Sequence[ScoredRow]) -> Counts:
    found: dict[Hashable, float] = {"n": len(rows)}
    for row in rows:
        told = str(row.detail.get("judged"))
        found[told] = found.get(told, 0) + 1
    return found


def _combine_attempts(total: Counts) -> MetricTable:
    right, wrong, idle = (
        round(total.get(one, 0) / total["n"], 4) if total.get("n") else 0.0 for one in JUDGED
    )
    attempted = round(right + wrong, 4)
    given = divide(right, attempted) or 0.0
    f1 = divide(2 * given * right, given + right) or 0.0
    return {
        ALL: {
            "F1": f1, "correct": right, "incorrect": wrong, "not attempted": idle, "attempted": attempted,
            "accuracy given attempted": given,
        }
    }  # fmt: skip


declare_aggregate(
    name="simplevqa",
    about="F1 of right answers among all questions and among those attempted",
    count=_count_attempts,
    combine=_combine_attempts,
    headline="F1",
)


# -- MMLongBench-Doc: F1 over answerable questions, accuracy by source of evidence and number of pages
#
# Ma et al., 2024 (https://arxiv.org/abs/2407.01523).

NOT_ANSWERABLE = "Not answerable"
_SOURCES = {
    "Pure-text (Plain-text)": "text", "Generalized-text (Layout)": "layout", "Table": "table",
    "Chart": "chart", "Figure": "image",
}  # fmt: skip


def _list_evidence(row: ScoredRow) -> Iterable[str]:
    sources, pages = (
        parse_literal(value) if isinstance(value := row.meta.get(name), str) else value
        for name in ("evidence_sources", "evidence_pages")
    )
    listed = sources if isinstance(sources, list | tuple) else ()
    n_pages = len(pages) if isinstance(pages, list | tuple) else None
    by_pages = {0: "unanswerable", 1: "single-page", None: ""}.get(n_pages, "multi-page")
    return [
        *(name for source, name in _SOURCES.items() if source in listed),
        *([by_pages] if by_pages else []),
    ]


def _count_answerable(is_none: Callable[[str], bool]) -> Callable[[Sequence[ScoredRow]], Counts]:
    def count(rows: Sequence[ScoredRow]) -> Counts:
        found = dict(count_by(_list_evidence)(rows))
        for row in rows:
            for name, is_answered in (
                ("answerable", not any(map(is_none, row.golds))),
                ("answered", not is_none(row.read or "")),
            ):
                if is_answered:
                    found[name, "rows"] = found.get((name, "rows"), 0) + 1
                    found[name, "total"] = found.get((name, "total"), 0) + row.value
        return found

    return count


def _says_none(text: str) -> bool:
    """In lmms-eval: whatever the case and the marks around it."""
    from eyechart.score.documents import UNANSWERABLE, clean_mmlongbench

    return clean_mmlongbench(text) == UNANSWERABLE


def _combine_answerable(total: Counts) -> MetricTable:
    table = average(total)
    recall, precision = (
        divide(total.get((name, "total"), 0), total.get((name, "rows"), 0))
        for name in ("answerable", "answered")
    )
    f1 = None
    if recall is not None and precision is not None:
        f1 = divide(2 * recall * precision, recall + precision)
    return {**table, ALL: {"F1": f1, "recall": recall, "precision": precision, **table.get(ALL, {})}}


for _name, _is_none, _note in (
    ("mmlongbench", lambda text: text == NOT_ANSWERABLE, ""),
    ("mmlongbench-lmms", _says_none, ", in any spelling (lmms-eval)"),
):
    declare_aggregate(
        name=_name,
        about=f"F1 of recall (answerable questions) and precision (answered ones){_note}",
        count=_count_answerable(_is_none),
        combine=_combine_answerable,
        headline="F1",
    )


# -- CC-OCR: the mean of four kinds, each the mean of its parts


def _find_part(row: ScoredRow) -> Iterable[str]:
    return ("_".join(get_column(row, name) for name in ("category", "l2-category", "split")),)


def _combine_ccocr(total: Counts) -> MetricTable:
    parts = {group: one["accuracy"] or 0.0 for group, one in average(total).items() if group != ALL}
    kinds = {}
    names = ("lan_ocr", "scene_ocr", "kie", "doc_parsing")
    for kind in names:
        values = [value for part, value in parts.items() if next((n for n in names if n in part), "") == kind]
        if values:
            kinds[kind] = sum(values) / len(values)
    whole = {"total": divide(sum(kinds.values()), len(kinds)), **kinds}
    return {ALL: whole, **{part: {"score": value} for part, value in parts.items()}}


declare_aggregate(
    name="ccocr",
    about="the mean of texts in languages and scenes, key information and documents, each of its parts",
    count=count_by(_find_part),
    combine=_combine_ccocr,
    headline="total",
)
