"""MMLongBench-Doc (Ma et al., 2024): documents of many pages, with some questions that are not answerable.

``mmlongbench`` is as VLMEvalKit computes it (ms-vlmeval 0.0.20), ``mmlongbench-lmms`` as lmms-eval 0.7.3 does.
Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from eyechart.catalogue.entry import Apart, Entry, Kit
from eyechart.prompt.published import ask
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide
from eyechart.score.judges import ask_judge, get_fact, official_judged
from eyechart.score.lmms import lmms_scorer
from eyechart.score.reading import score_official
from eyechart.score.text import compare_spelling, parse_literal, to_number
from eyechart.types import Card, Judging, MetricTable, NoJudge, Reply, Sample, Score, ScoredRow

_MAX_PAGES = 120  # of a document, as in the paper


Entry(
    "mmlongbench-doc",
    "documents of many pages, some questions not answerable",
    Card("documents", "1,082 questions", "https://arxiv.org/abs/2407.01523", "Apache-2.0"),
    file="MMLongBench_DOC",
    hub="yubo2333/MMLongBench-Doc:train",
    images=Apart("documents/"),
    change_row=lambda row: {"image_path": f"documents/{row['doc_id']}"},
    prepare=lambda sample: replace(sample, images=sample.images[:_MAX_PAGES]),
    prompt=ask(),
    scorer="mmlongbench",
    lmms=Kit(
        prompt=ask(
            "\nAnswer with a single word or phrase. If the answer is not in the document, answer 'Not answerable'.",
            strip=True,
        ),
        scorer="mmlongbench-lmms",
        aggregate="mmlongbench-lmms",
    ),
    group_by=("doc_type",),
    aggregate="mmlongbench",
    metric="accuracy and F1",
    note="Needs a judge, which extracts the answer. The first 120 pages are sent, each as an image, as VLMEvalKit does for "
    "GPT-4o. Pages of the hub's PDF files need the extra `[pdf]`; VLMEvalKit's file, which has the documents as base64, cannot "
    "be read: use the hub, or a file whose image column names PDF files.",
).register()


# -- VLMEvalKit: whole numbers, numbers, texts and lists


@official_judged("mmlongbench", version="1", is_settled=False)
def score_mmlongbench(reply: Reply, sample: Sample) -> Judging[Score]:
    """MMLongBench-Doc: a judge extracts the answer, which is compared by the column ``answer_format``.

    Without a judge, the whole reply is the answer.
    """
    route, detail = "mmlongbench", {}
    read: str = reply.text.strip()
    if sample.golds and read:
        try:
            found, said = yield from ask_judge(reply, sample, "mmlongbench", read_extracted)
        except NoJudge:
            pass
        else:
            route, detail, read = f"{route}:judge", {"judge": said}, found or ""
    kind = get_fact(sample, "answer_format")
    value = max((compare_mmlongbench(read, gold, kind) for gold in sample.golds), default=0.0)
    score = score_official(reply, sample, value=value, read=read or None, route=route)
    return replace(score, detail=detail)


def read_extracted(said: str) -> str:
    r"""The answer between the judge's two labels; empty without the first.

    >>> read_extracted("Extracted answer: 5\nAnswer format: Integer"), read_extracted("5")
    ('5', '')
    """
    _, *found = said.split("Answer format:")[0].split("Extracted answer:")
    return found[0].strip() if found else ""


def compare_mmlongbench(read: str, gold: str, kind: str) -> float:
    """The score of an extracted answer. A list must have the gold's length; its worst element counts.

    >>> compare_mmlongbench("5.9", "5", "Int"), compare_mmlongbench("0.25", "25%", "Float")
    (1.0, 1.0)
    >>> compare_mmlongbench("['b', 'a']", "['a', 'b']", "List")
    1.0
    """
    if kind == "Int":
        try:
            return float(int(gold) == int(float(read)))
        except (ValueError, OverflowError):
            return float(gold == "")
    if kind == "Float":
        true, said = to_number(_clean(gold)), to_number(_clean(read))
        return float(true is not None and said is not None and _is_close(true, said))
    if kind == "Str":
        return _compare_text(_clean(gold), _clean(read), _needs_exact)
    wanted, found = _list_items(gold), _list_items(read)
    if wanted is None or found is None or len(wanted) != len(found) or not wanted:
        return 0.0
    if to_number(wanted[0]) is not None or _needs_exact(wanted[0]):
        return float("-".join(wanted) == "-".join(found))
    return min(compare_spelling(one, mine) for one, mine in zip(wanted, found, strict=True))


# -- lmms-eval: without a judge

UNANSWERABLE = "not answerable"
_KINDS = {"int": "int", "integer": "int", "float": "float", "list": "list", "none": "none"}


@lmms_scorer("mmlongbench-lmms", version="2")
def score_mmlongbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's MMLongBench-Doc: the whole reply is the answer; of a number the first one in it."""
    read, kind = reply.text.strip(), get_fact(sample, "answer_format")
    value = max((compare_mmlongbench_lmms(read, gold, kind) for gold in sample.golds), default=0.0)
    return score_official(reply, sample, value=value, read=read or None, route="mmlongbench-lmms")


def compare_mmlongbench_lmms(read: str, gold: str, kind: str) -> float:
    """The score of a reply, by the kind of its gold.

    >>> compare_mmlongbench_lmms("about 5 pages", "5", "Int")
    1.0
    >>> compare_mmlongbench_lmms("10", "10 miles", "Str")
    1.0
    """
    kind = _KINDS.get((kind or "Str").strip().lower(), "str")
    if kind in ("int", "float"):
        true, said = _find_number(gold), _find_number(read)
        if true is None or said is None:
            return 0.0
        if kind == "float":
            return float(_is_close(true, said))
        return float(math.isfinite(true) and math.isfinite(said) and int(true) == int(said))
    if kind == "none":
        return float(clean_mmlongbench(read) == UNANSWERABLE)
    if kind == "str":
        return _compare_text(clean_mmlongbench(gold), clean_mmlongbench(read), _needs_exact_lmms)
    wanted, mine = (sorted(map(clean_mmlongbench, _parse_items(text))) for text in (gold, read))
    if len(wanted) != len(mine):
        return 0.0
    if wanted and (_find_number(wanted[0]) is not None or _needs_exact_lmms(wanted[0])):
        return float(wanted == mine)
    return min((compare_spelling(true, said) for true, said in zip(wanted, mine, strict=True)), default=1.0)


def clean_mmlongbench(text: str) -> str:
    """As VLMEvalKit's, and without a unit of length or size, white space made single.

    >>> clean_mmlongbench("'$5  Million'")
    '5'
    """
    text = _clean(text)
    for unit in (" miles", " mile", " million"):
        text = text.removesuffix(unit).strip()
    return " ".join(text.split())


def _parse_items(text: str) -> list[str]:
    found = parse_literal(text)
    if found is None:
        return [] if text.strip() == "None" else [text]
    return [str(item) for item in found] if isinstance(found, list) else [str(found)]


def _find_number(text: str) -> float | None:
    found = re.search(r"[-+]?\d*\.?\d+", text.replace(",", ""))
    return None if found is None else float(found[0])


def _needs_exact_lmms(text: str) -> bool:
    return (
        _needs_exact(text) or "http://" in text or text.endswith(".ipynb")
        or re.fullmatch(r"\d{4}[-\s]\d{2}", text) is not None
    )  # fmt: skip


# -- What the two share


def _list_items(text: str) -> list[str] | None:
    if not text.startswith("["):
        return [_clean(text)]
    found = parse_literal(text)
    return sorted(_clean(item) for item in found) if isinstance(found, list) else None


def _compare_text(true: str, said: str, needs_exact: Callable[[str], bool]) -> float:
    return float(true == said) if needs_exact(true) else compare_spelling(true, said)


def _is_close(gold: float, number: float) -> bool:
    """Equal within 1 %, or at the decimals that both have; a percentage may be written as a share."""
    for one in (gold / 100, gold, gold * 100):
        if math.isclose(one, number, rel_tol=0.01):
            return True
        places = max(min(_count_places(number), _count_places(one)), 2)
        if round(number, places) == round(one, places):
            return True
    return False


def _count_places(number: float) -> int:
    _, point, places = str(number).partition(".")
    return len(places) if point else 3


def _clean(value: object) -> str:
    """In lower case, without parentheses, one quotation mark at each end, leading $ and trailing %."""
    text = _drop_parentheses(str(value).lower().strip()).strip()
    text = text[1:] if text[:1] in ("'", '"') else text
    text = text[:-1] if text[-1:] in ("'", '"') else text
    return text.strip().lstrip("$").strip().rstrip("%").strip()


def _drop_parentheses(text: str) -> str:
    """Without what lies between ``(`` and the next ``)``, and without the white space before it."""
    kept, at = [], 0
    while (start := text.find("(", at)) >= 0 and (end := text.find(")", start)) >= 0:
        kept.append(text[at:start].rstrip())
        at = end + 1
    return "".join([*kept, text[at:]])


_EXACT = (
    r"\d+(?:[-\s]\d+)?", r"\d{4}[-\s]\d{2}[-\s]\d{2}", r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
)  # fmt: skip


def _needs_exact(text: str) -> bool:
    """Whether a gold is a URL, a file, a page, a number, a time, a date or an address: compared exactly."""
    return (
        any(mark in text for mark in ("https://", "a.m.", "p.m."))
        or text.endswith((".py", "ipynb"))
        or text.startswith("page")
        or any(re.fullmatch(pattern, text) for pattern in _EXACT)
    )


# -- The official number: F1 over answerable questions; accuracy by source of evidence and number of pages

NOT_ANSWERABLE = "Not answerable"
_SOURCES = {
    "Pure-text (Plain-text)": "text", "Generalized-text (Layout)": "layout", "Table": "table",
    "Chart": "chart", "Figure": "image",
}  # fmt: skip


def _list_groups(row: ScoredRow, *, is_none: Callable[[str], bool]) -> Iterable[str]:
    """Sources of evidence and number of pages; whether the question can be answered, and was."""
    sources, pages = (
        parse_literal(value) if isinstance(value := row.meta.get(name), str) else value
        for name in ("evidence_sources", "evidence_pages")
    )
    listed = sources if isinstance(sources, list | tuple) else ()
    n_pages = len(pages) if isinstance(pages, list | tuple) else None
    by_pages = {0: "unanswerable", 1: "single-page", None: ""}.get(n_pages, "multi-page")
    is_answerable, is_answered = not any(map(is_none, row.golds)), not is_none(row.read or "")
    groups = {"answerable": is_answerable, "answered": is_answered}
    by_source = (name for source, name in _SOURCES.items() if source in listed)
    return [*by_source, *filter(None, [by_pages]), *(name for name, holds in groups.items() if holds)]


def _says_none(text: str) -> bool:
    """In lmms-eval: whatever the case and the marks around it."""
    return clean_mmlongbench(text) == UNANSWERABLE


@declare_aggregate(
    "mmlongbench", count_by(partial(_list_groups, is_none=lambda text: text == NOT_ANSWERABLE)), headline="F1"
)
@declare_aggregate("mmlongbench-lmms", count_by(partial(_list_groups, is_none=_says_none)), headline="F1")
def _combine_answerable(total: Counts) -> MetricTable:
    """F1 of recall (answerable questions) and precision (answered ones)."""
    table = average(total)
    recall, precision = (table.pop(name, {}).get("accuracy") for name in ("answerable", "answered"))
    f1 = None
    if recall is not None and precision is not None:
        f1 = divide(2 * recall * precision, recall + precision)
    return {**table, ALL: {"F1": f1, "recall": recall, "precision": precision, **table.get(ALL, {})}}


# The answer in a reply, with its form.
judge_prompt(
    "mmlongbench",
    """\
Extract the answer to a question from an analysis of a document, in exactly these two lines:
Extracted answer: [the answer]
Answer format: [Integer, Float, String or List]

If the analysis says that the document does not answer the question, the answer is: Not answerable
If the analysis says only that it could not read the images, the answer is: Fail to answer

Question: {question}
Analysis: {answer}""",
)
