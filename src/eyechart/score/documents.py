"""Answers about charts and documents: ChartQAPro and MMLongBench-Doc.

ChartQAPro: Masry et al., 2025 (https://arxiv.org/abs/2504.05506). MMLongBench-Doc: Ma et al., 2024
(https://arxiv.org/abs/2407.01523). As VLMEvalKit computes them (ms-vlmeval 0.0.20), ``chartqapro-lmms`` as
lmms-eval 0.7.3 does. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from eyechart.registry import judged_scorer, scorer
from eyechart.score.judges import ask_judge, get_fact, or_unscored
from eyechart.score.reading import score_official
from eyechart.score.text import parse_literal
from eyechart.score.thinking import cut_reasoning
from eyechart.types import Judging, NoJudge, Reply, Sample, Score

# -- ChartQAPro: numbers within 5 %, years exactly, texts by ANLS, lists element by element

EXACT_TYPES = ("Fact Checking", "Multi Choice")
_LIST = re.compile(r"\[(.*)\]")
_BARE = re.compile(r"(?<!['\w])(\w[^,]*?)(?!['\w])")


@scorer("chartqapro", version="1", parity="official")
def score_chartqapro(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's ChartQAPro. As published, its exact match for two question types is not applied."""
    return _score_chartqapro(reply, sample, "chartqapro", is_exact=False)


@scorer("chartqapro-lmms", version="2", parity="official", cut=cut_reasoning)
def score_chartqapro_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ChartQAPro: fact checking and multiple choice need the same text."""
    is_exact = get_fact(sample, "question_type", "Question Type", "type") in EXACT_TYPES
    return _score_chartqapro(reply, sample, "chartqapro-lmms", is_exact=is_exact)


def _score_chartqapro(reply: Reply, sample: Sample, route: str, *, is_exact: bool) -> Score:
    gold = (sample.golds[-1] if sample.golds else "").strip(".").strip("\n")
    years = list_years(sample)
    if get_fact(sample, "question_type", "Question Type", "type") == "Conversational":
        years = years[-1:]
    said = reply.text.strip(".").strip("\n")
    value = chartqapro(said, gold, years, is_exact=is_exact) if sample.golds else 0.0
    return score_official(reply, sample, value=value, read=said.strip() or None, route=route, is_whole=True)


def list_years(sample: Sample) -> list[bool]:
    """Which answers are years: the column ``year``, a list of YES and NO."""
    written: object = next(
        (sample.meta[name] for name in ("year", "Year") if sample.meta.get(name) is not None), []
    )
    listed = parse_literal(written) if isinstance(written, str) else written
    items = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [written]
    return [str(item).upper() == "YES" for item in items]


def chartqapro(reply: str, gold: str, years: Sequence[bool], *, is_exact: bool = False) -> float:
    """The mean over the elements of two lists, which must have the same length; one answer is a list of one.

    >>> chartqapro("104", "100", [False]), chartqapro("2019", "2020", [True])
    (1.0, 0.0)
    >>> chartqapro("[1, 2]", "[1, 3]", [False])
    0.5
    """
    wanted = _parse_list(_quote_items(gold)) or [gold]
    said = _parse_list(reply) or [reply]
    flags = list(years) * len(wanted) if len(years) < len(wanted) else list(years)
    n = max(len(wanted), len(said))
    scores = [
        _compare_item(mine, true, is_exact=is_exact or (at < len(flags) and flags[at]))
        for at, (mine, true) in enumerate(zip(said, wanted, strict=False))
    ]
    return sum(scores) / n


def _quote_items(gold: str) -> str:
    """A list whose items are not quoted, with quotes; anything else as it is."""
    found = _LIST.fullmatch(gold.strip())
    if found is None:
        return gold
    quoted = "[" + _BARE.sub(r"'\1'", found[1]) + "]"
    return quoted if isinstance(parse_literal(quoted), list) else gold


def _parse_list(text: str) -> list[str]:
    found = parse_literal(text)
    return [str(item).strip(" '") for item in found] if isinstance(found, list) else []


def _compare_item(said: str, true: str, *, is_exact: bool) -> float:
    if is_exact:
        return float(said.strip().lower() == true.strip().lower())
    said, true = (one.strip().strip("%").strip() for one in (said, true))
    numbers = [_to_number(one.strip("%")) for one in (said, true)]
    if numbers[0] is not None and numbers[1] is not None:
        number, gold = numbers[0], numbers[1]
        if gold == 0:
            return float(number == 0)
        return float(abs(number - gold) / abs(gold) <= 0.05)
    return _compute_anls(" ".join(true.lower().split()), " ".join(said.lower().split()))


# -- MMLongBench-Doc: whole numbers, numbers, texts and lists


@judged_scorer("mmlongbench", version="1", parity="official")
def score_mmlongbench(reply: Reply, sample: Sample) -> Judging[Score]:
    """MMLongBench-Doc: a judge extracts the answer, which is compared by the column ``answer_format``.

    Without a judge, the whole reply is the answer.
    """
    return (yield from or_unscored(_judge_mmlongbench(reply, sample), "mmlongbench"))


def _judge_mmlongbench(reply: Reply, sample: Sample) -> Judging[Score]:
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
    return (
        said.split("Answer format:")[0]
        .partition("Extracted answer:")[2]
        .split("Extracted answer:")[0]
        .strip()
    )


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
        return float(_is_same_float(_clean(gold), _clean(read)))
    if kind == "Str":
        return _compare_text(_clean(gold), _clean(read))
    wanted, said = _list_items(gold), _list_items(read)
    if wanted is None or said is None or len(wanted) != len(said) or not wanted:
        return 0.0
    if _to_number(wanted[0]) is not None or _needs_exact(wanted[0]):
        return float("-".join(wanted) == "-".join(said))
    return min(_compute_anls(true, mine) for true, mine in zip(wanted, said, strict=True))


# -- MMLongBench-Doc in lmms-eval: without a judge

UNANSWERABLE = "not answerable"
_KINDS = {"int": "int", "integer": "int", "float": "float", "list": "list", "none": "none"}
_FIRST_NUMBER = re.compile(r"[-+]?\d*\.?\d+")


@scorer("mmlongbench-lmms", version="2", parity="official", cut=cut_reasoning)
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
        return _compare_lmms(clean_mmlongbench(gold), clean_mmlongbench(read))
    wanted, mine = (sorted(map(clean_mmlongbench, _parse_items(text))) for text in (gold, read))
    if len(wanted) != len(mine):
        return 0.0
    if wanted and (_find_number(wanted[0]) is not None or _needs_exact_lmms(wanted[0])):
        return float(wanted == mine)
    return min((_compute_anls(true, said) for true, said in zip(wanted, mine, strict=True)), default=1.0)


def _compare_lmms(true: str, said: str) -> float:
    return float(true == said) if _needs_exact_lmms(true) else _compute_anls(true, said)


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
    found = _FIRST_NUMBER.search(text.replace(",", ""))
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


def _compare_text(true: str, said: str) -> float:
    return float(true == said) if _needs_exact(true) else _compute_anls(true, said)


def _compute_anls(true: str, said: str) -> float:
    """Similarity by edit distance. Unlike in text.py, exactly one half counts 0."""
    from rapidfuzz.distance import Levenshtein

    longest = max(len(true.upper()), len(said.upper()))
    similarity = 1 - Levenshtein.distance(true, said) / longest if longest else 1.0
    return similarity if similarity > 0.5 else 0.0


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_same_float(true: str, said: str) -> bool:
    gold, number = _to_number(true), _to_number(said)
    return gold is not None and number is not None and _is_close(gold, number)


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


_EXACT = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d+(?:[-\s]\d+)?", r"\d{4}[-\s]\d{2}[-\s]\d{2}", r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    )
)  # fmt: skip


def _needs_exact(text: str) -> bool:
    """Whether a gold is a URL, a file, a page, a number, a time, a date or an address: compared exactly."""
    return (
        any(mark in text for mark in ("https://", "a.m.", "p.m."))
        or text.endswith((".py", "ipynb"))
        or text.startswith("page")
        or any(pattern.fullmatch(text) for pattern in _EXACT)
    )
