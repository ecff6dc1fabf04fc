"""Short answers by the rules of two kits: GQA, MTVQA, counts, ZEROBench, and lmms-eval's for the classics.

text.py has VLMEvalKit's rules for ANLS, relaxed accuracy, VQA accuracy, OCRBench and yes or no. lmms-eval
0.7.3 strips every reply before it is scored; so do its rules here. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from decimal import Decimal
from string import punctuation

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.score.text import (
    ARTICLES,
    CONTRACTIONS,
    HANDWRITTEN_MATHS,
    NUMBER_WORDS,
    PUNCTUATION,
    get_answers,
    list_accepted,
    relaxed,
)
from eyechart.score.thinking import cut_reasoning
from eyechart.stats.intervals import add_in_order
from eyechart.types import Reply, Sample, Score

_PERIODS_DROPPED = 32  # as published: a regex flag is passed where the count belongs


def _score(
    reply: Reply, sample: Sample, value: float, read: str | None, route: str, *, is_whole: bool = True
) -> Score:
    return score_official(reply, sample, value=value, read=read or None, route=route, is_whole=is_whole)


# -- Exact matches


@scorer("gqa", version="2", parity="official")
def score_gqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's rule for GQA: equal, ignoring case and surrounding whitespace.

    As published, a list of accepted answers scores the share that is equal.
    """
    value = gqa(reply.text, list_accepted(get_answers(sample)))
    return _score(reply, sample, value, reply.text.strip(), "gqa")


def gqa(reply: str, answers: Sequence[str]) -> float:
    """The share of accepted answers that the reply equals.

    >>> gqa(" Left ", ["left"]), gqa("left.", ["left"]), gqa("a", ["a", "b"])
    (1.0, 0.0, 0.5)
    """
    text = reply.strip().lower()
    return sum(answer.strip().lower() == text for answer in answers) / len(answers) if answers else 0.0


@scorer("ocrvqa", version="2", parity="official")
def score_ocrvqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's rule for OCR-VQA: an accepted answer, ignoring case and surrounding whitespace."""
    hit = any(gqa(reply.text, [answer]) for answer in list_accepted(get_answers(sample)))
    return _score(reply, sample, float(hit), reply.text.strip(), "ocrvqa")


_WITHOUT_PUNCTUATION = str.maketrans("", "", punctuation)


@scorer("gqa-lmms", version="2", parity="official", cut=cut_reasoning)
def score_gqa_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's exact match: case and ASCII punctuation are deleted, so ``light-blue`` is ``lightblue``."""
    hit = any(gqa_lmms(reply.text, gold) for gold in sample.golds)
    return _score(reply, sample, float(hit), reply.text.strip(), "gqa-lmms")


def gqa_lmms(reply: str, answer: str) -> bool:
    """Whether the two are equal without case and ASCII punctuation.

    >>> gqa_lmms("Light-blue.", "lightblue")
    True
    """
    text, gold = (one.lower().translate(_WITHOUT_PUNCTUATION) for one in (reply.strip(), answer))
    return text == gold


@scorer("chartqa-lmms", version="2", parity="official", cut=cut_reasoning)
def score_chartqa_lmms(reply: Reply, sample: Sample) -> Score:
    """ChartQA's relaxed match against a single answer, as lmms-eval computes it."""
    value = relaxed(reply.text, list(sample.golds[:1]))
    return _score(reply, sample, value, reply.text.strip(), "chartqa-lmms")


# -- The answer within the reply


@scorer("mtvqa", version="1", parity="official")
def score_mtvqa(reply: Reply, sample: Sample) -> Score:
    """MTVQA: the answer occurs in the reply, without case and full stops. The same in both kits."""
    hit = any(mtvqa(reply.text, gold) for gold in sample.golds)
    return _score(reply, sample, float(hit), reply.text.strip(), "mtvqa", is_whole=False)


def mtvqa(reply: str, answer: str) -> bool:
    """Whether the answer occurs in the reply.

    >>> mtvqa("Das ist Nr. 5", "nr 5")
    True
    """
    text, gold = (one.strip().lower().replace(".", "") for one in (reply, answer))
    return gold in text


@scorer("countbenchqa", version="1", parity="official")
def score_countbenchqa(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's CountBenchQA: the number occurs in the reply. As published, 3 occurs in 13."""
    hit = any(gold in reply.text for gold in sample.golds)
    return _score(reply, sample, float(hit), reply.text.strip(), "countbenchqa", is_whole=False)


@scorer("zerobench", version="1", parity="official")
def score_zerobench(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's ZEROBench: the last braces of the reply contain the answer."""
    read = find_last_braces(reply.text.strip().lower()) or ""
    hit = any(gold.strip().lower() in read for gold in sample.golds)
    return _score(reply, sample, float(hit), read, "zerobench", is_whole=False)


def find_last_braces(text: str) -> str | None:
    """What the last pair of braces holds, from the first ``{`` after the pair before; None without a pair.

    >>> find_last_braces("{4} then {5 cm}"), find_last_braces("{a"), find_last_braces("{{b}")
    ('5 cm', None, '{b')
    """
    found = None
    for line in text.split("\n"):
        at = 0
        while (start := line.find("{", at)) >= 0 and (end := line.find("}", start)) >= 0:
            found, at = line[start + 1 : end], end + 1
    return found


_COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_COUNT = re.compile(rf"\b(?:[0-9]|1[0-9]|20|{'|'.join(_COUNTS)})\b")


@scorer("tallyqa", version="1", parity="official")
def score_tallyqa(reply: Reply, sample: Sample) -> Score:
    """TallyQA: the first number from 0 to 20, in digits or as an English word."""
    count = read_count(reply.text)
    hit = count is not None and any(gold.strip().removesuffix(".0") == str(count) for gold in sample.golds)
    return _score(reply, sample, float(hit), None if count is None else str(count), "tallyqa", is_whole=False)


def read_count(reply: str | float) -> int | None:
    """The first number from 0 to 20 in a reply; a number, as a spreadsheet holds it, must be in that range.

    >>> read_count("About 45, no: Three"), read_count("45"), read_count(20.5)
    (3, None, None)
    """
    if not isinstance(reply, str):
        return int(reply) if 0 <= reply <= 20 else None
    found = _COUNT.search(reply.lower())
    if found is None:
        return None
    return int(found[0]) if found[0].isdigit() else _COUNTS.index(found[0])


# -- lmms-eval: counts, and answers that are compared whole

_DIGITS = re.compile(r"\d+")
_WHITE = re.compile(r"\s+")
_DECIMAL = re.compile(r"-?(?:\d+\.\d+|\d+|\.\d+)")


@scorer("countbenchqa-lmms", version="2", parity="official", cut=cut_reasoning)
def score_countbenchqa_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's CountBenchQA: the whole reply is the number."""
    read = reply.text.strip()
    return _score(reply, sample, float(read in sample.golds), read, "countbenchqa-lmms")


@scorer("countbench-lmms", version="2", parity="official", cut=cut_reasoning)
def score_countbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's CountBench: the whole reply is the number, in digits or as a word to twenty."""
    read = name_count(reply.text)
    hit = read in map(name_count, sample.golds)
    return _score(reply, sample, float(hit), read, "countbench-lmms")


def name_count(text: str) -> str:
    """A number word in digits; any other text in lower case.

    >>> name_count(" Twelve "), name_count("none"), name_count("Three.")
    ('12', '0', 'three.')
    """
    word = text.strip().lower()
    if word == "none":
        return "0"
    return str(_COUNTS.index(word)) if word in _COUNTS else word


@scorer("pixmo-count-lmms", version="2", parity="official", cut=cut_reasoning)
def score_pixmo_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's PixMo-Count: the first digits of the reply, or all of a reply without any."""
    read = _find_digits(reply.text)
    hit = any(read == _find_digits(gold) for gold in sample.golds)
    return _score(reply, sample, float(hit), read, "pixmo-count-lmms")


def _find_digits(text: str) -> str:
    found = _DIGITS.search(text)
    return found[0] if found else text.strip()


@scorer("zerobench-lmms", version="2", parity="official", cut=cut_reasoning)
def score_zerobench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ZEROBench: equal as numbers, or as texts without case, quotation marks and a full stop."""
    hit = any(zerobench_lmms(reply.text, gold) for gold in sample.golds)
    return _score(reply, sample, float(hit), reply.text.strip(), "zerobench-lmms")


def zerobench_lmms(reply: str, gold: str) -> bool:
    """Whether the two are the same number or the same text.

    >>> zerobench_lmms("1,200.0", "1200"), zerobench_lmms("'Red.'", "red")
    (True, True)
    """
    texts = [_tidy_zerobench(text) for text in (reply, gold)]
    plain = [text.strip().replace(",", "") for text in texts]
    if all(_DECIMAL.fullmatch(text) for text in plain):
        return Decimal(plain[0]) == Decimal(plain[1])
    return texts[0] == texts[1]


def _tidy_zerobench(text: str) -> str:
    tidy = _WHITE.sub(" ", text.strip().lower().strip("\"'`"))
    return tidy[:-1].rstrip() if tidy.endswith(".") else tidy


@scorer("simplevqa-lmms", version="2", parity="official", cut=cut_reasoning)
def score_simplevqa_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's SimpleVQA, without a judge: equal in the form of VQA accuracy."""
    read = normalise_lmms(reply.text)
    hit = any(read == normalise_lmms(gold) for gold in sample.golds)
    return _score(reply, sample, float(hit), read, "simplevqa-lmms")


# -- lmms-eval: yes and no


@scorer("hallusion-yes-lmms", version="2", parity="official", cut=cut_reasoning)
def score_hallusion_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's HallusionBench without a judge: yes anywhere in the reply, else no."""
    read = "Yes" if "yes" in reply.text.lower() else "No"
    return _score(reply, sample, float(read in sample.golds), read, "hallusion-yes-lmms")


@scorer("pope-lmms", version="2", parity="official", cut=cut_reasoning)
def score_pope_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's POPE: the whole reply is yes or no. As published, ``Yes.`` is wrong."""
    read = reply.text.lower().strip()
    hit = read in {gold.lower().strip() for gold in sample.golds}
    return _score(reply, sample, float(hit), read, "pope-lmms")


@scorer("mme-lmms", version="2", parity="official", cut=cut_reasoning)
def score_mme_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's MME: yes or no within the first four characters. As published, ``snow`` is no."""
    read = read_mme(reply.text)
    hit = read in {gold.lower().strip().replace(".", "") for gold in sample.golds}
    return _score(reply, sample, float(hit), None if read == "other" else read, "mme-lmms")


def read_mme(reply: str) -> str:
    """``yes``, ``no`` or ``other``.

    >>> read_mme("Yes, it is"), read_mme("n"), read_mme("Maybe")
    ('yes', 'no', 'other')
    """
    text = reply.lower().strip().replace(".", "")
    if len(text) == 1:
        return {"y": "yes", "n": "no"}.get(text, "other")
    return next((word for word in ("yes", "no") if word in text[:4]), "other")


# -- lmms-eval: OCRBench

FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: ord(" ")}


@scorer("ocrbench-lmms", version="2", parity="official", cut=cut_reasoning)
def score_ocrbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's OCRBench: as VLMEvalKit's, with full-width ASCII folded.

    Formulas are told by the column ``dataset`` (HME100k), or by the category as in VLMEvalKit.
    """
    is_formula = sample.meta.get("dataset") == "HME100k" or HANDWRITTEN_MATHS in (
        sample.meta.get("category"), sample.meta.get("question_type"),
    )  # fmt: skip
    hit = ocrbench_lmms(reply.text, list_accepted(get_answers(sample)), is_formula=is_formula)
    return _score(reply, sample, float(hit), reply.text.strip(), "ocrbench-lmms", is_whole=False)


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


# -- lmms-eval: VQA accuracy of TextVQA, OK-VQA and VizWiz
#
# The steps are those of text.py but for two: commas, question marks and ``'s`` are dealt with first, and a
# full stop after a digit is deleted unless a digit follows.

_PERIOD = re.compile(r"\.(?!\d)")
_COMMA = re.compile(r"\d,+\d")


@scorer("vqa-accuracy-lmms", version="2", parity="official", cut=cut_reasoning)
def score_vqa_lmms(reply: Reply, sample: Sample) -> Score:
    """VQA accuracy as lmms-eval computes it for TextVQA, OK-VQA and VizWiz."""
    read = normalise_lmms(reply.text)
    value = vqa_accuracy_lmms(reply.text, list_accepted(get_answers(sample)))
    return _score(reply, sample, value, read, "vqa-accuracy-lmms")


def vqa_accuracy_lmms(reply: str, answers: Sequence[str]) -> float:
    """The share of three other people who gave this answer, averaged over the person left out.

    >>> vqa_accuracy_lmms("The dog's", ["dog 's"] * 4)
    1.0
    """
    read = normalise_lmms(reply.strip())
    golds = [normalise_lmms(answer) for answer in answers]
    return _average_credit(golds.count(read), [float(gold == read) for gold in golds])


def _average_credit(agreeing: float, left_out: Sequence[float]) -> float:
    """The mean credit, over the agreeing answers that are left out each time."""
    credits = [min(1.0, (agreeing - n) / 3) for n in left_out]
    return add_in_order(credits) / len(credits) if credits else 0.0


@scorer("vqav2-lmms", version="2", parity="official", cut=cut_reasoning)
def score_vqav2_lmms(reply: Reply, sample: Sample) -> Score:
    """VQA accuracy as lmms-eval computes it for VQAv2: without the first steps of ``vqa-accuracy-lmms``."""
    answers = [(answer, number) for number, answer in enumerate(list_accepted(get_answers(sample)))]
    read = normalise_marks(reply.text)
    return _score(reply, sample, vqav2_lmms(reply.text, answers), read, "vqav2-lmms")


def vqav2_lmms(reply: str, answers: Sequence[tuple[str, Hashable]]) -> float:
    """VQA accuracy of answers with the id of the person; as published, equal ones are left out together.

    >>> vqav2_lmms("dog", [("dog", 1), ("dog", 2), ("cat", 3)]) == (1 + 1 + 2) / 9
    True
    """
    read = normalise_marks(reply)
    golds = [(normalise_marks(answer), who) for answer, who in answers]
    n = Counter(golds)
    agreeing = sum(gold == read for gold, _ in golds)
    return _average_credit(agreeing, [n[one] if one[0] == read else 0 for one in golds])


def normalise_lmms(text: str) -> str:
    """The form in which lmms-eval compares answers.

    >>> normalise_lmms("The 2,000 dog's.")
    "2000 dog 's"
    """
    return normalise_marks(text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip())


def normalise_marks(text: str) -> str:
    """The steps after the first: punctuation, number words, articles, contractions.

    >>> normalise_marks("The 2,000 dog's.")
    "2000 dog's"
    """
    text = text.replace("\n", " ").replace("\t", " ").strip()
    stripped = text
    has_digit_comma = _COMMA.search(text) is not None
    for mark in PUNCTUATION:
        is_deleted = has_digit_comma or f"{mark} " in text or f" {mark}" in text
        stripped = stripped.replace(mark, "" if is_deleted else " ")
    stripped = _PERIOD.sub("", stripped, count=_PERIODS_DROPPED)
    words = [NUMBER_WORDS.get(word, word) for word in stripped.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)
