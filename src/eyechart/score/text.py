"""Text, yes and no, and the published metrics over text: ANLS, relaxed accuracy, VQA accuracy, OCRBench.

Our own comparisons come first, then the official ones, each with its paper and its golden vectors. VLMEvalKit
is meant at commit e8e78f05.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar

from eyechart.files import suppress_warnings
from eyechart.registry import scorer
from eyechart.replies import Reading, is_abstention, score_reading, unwrap
from eyechart.score.reading import score_official
from eyechart.stats.intervals import add_in_order
from eyechart.types import Reply, Sample, Score

# -- Exact text


@scorer("exact", version="1")
def score_exact(reply: Reply, sample: Sample) -> Score:
    """The reply is a gold, character for character."""
    answer = reply.text.strip()
    reading = Reading(answer or None, "exact")
    value = exact(reply.text, sample.golds)
    is_declined = not value and is_abstention(answer)
    return score_reading(reply, sample, Reading(None, "exact") if is_declined else reading, value)


def exact(prediction: str, golds: Sequence[str]) -> float:
    r"""1 when the reply is a gold, character for character; only outer white space is ignored.

    >>> exact(" Paris\n", ["Paris"]), exact("paris", ["Paris"])
    (1.0, 0.0)
    """
    return float(prediction.strip() in {gold.strip() for gold in golds})


# -- Yes or no


@scorer("yes-no-vlmevalkit", version="1", parity="official")
def score_yes_no_official(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's reading of yes and no; it must equal the gold as written, ``Yes`` or ``No``."""
    read = yes_no(reply.text)
    hit = read is not None and read in sample.golds
    route, is_whole = "yes-no-vlmevalkit", unwrap(reply.text).title() == read
    return score_official(reply, sample, value=float(hit), read=read, route=route, is_whole=is_whole)


def yes_no(reply: str) -> str | None:
    """Yes or No when exactly one of the two words occurs in the reply; else None. As VLMEvalKit reads it.

    It scores POPE, MME and HallusionBench. Golden vectors: tests/golden/yorn.jsonl. Quirk kept: asterisks,
    colons, single quotes and full-width marks stay attached to the word, so ``**Yes**`` and ``yes:`` are not
    read, and "No, ... yes ..." is not decided.

    >>> yes_no("Yes, it is."), yes_no("(no)"), yes_no("**Yes**"), yes_no("No, but yes")
    ('Yes', 'No', None, None)
    """
    words = set(strip_vqa_punctuation(str(reply).lower()).split())
    if ("yes" in words) == ("no" in words):
        return None
    return "Yes" if "yes" in words else "No"


# -- Published metrics

Answers: TypeAlias = str | float | Sequence[object]
MAX_CELL_CHARS = 1_000_000  # a longer cell is text, not a list written by hand


M = TypeVar("M", bound=Callable[..., float])


def metric(name: str, *, version: str, parity: str = "") -> Callable[[M], M]:
    """Register a function as the scorer `name`, applied to the reply's text. The function stays callable.

    >>> @metric("same-length", version="1")
    ... def same_length(prediction: str, answers: Answers) -> float:
    ...     return float(any(len(prediction) == len(str(answer)) for answer in answers))
    >>> same_length("abc", ["xyz"])
    1.0
    """

    def record(function: M) -> M:
        @scorer(name, version=version, parity=parity)
        def score(reply: Reply, sample: Sample) -> Score:
            value = function(reply.text, get_answers(sample)) if sample.golds else 0.0
            read = reply.text.strip() or None
            return score_official(reply, sample, value=value, read=read, route=name)

        score.__doc__ = function.__doc__  # for eyechart score --list
        return function

    return record


def list_accepted(answers: Answers) -> list[str]:
    """Every accepted answer, as text. A cell that spells a list is that list; any other is one answer.

    VLMEvalKit evaluates the cell as Python; here only literals are read. As there, a list in JSON's
    spelling (``[null]``) is one answer, not a list.

    An annotation of VQA's own files, ``{"answer": "net", "answer_id": 1}``, is its answer.

    >>> list_accepted("['12', 'twelve']"), list_accepted("[see note]"), list_accepted(["12", 12.5])
    (['12', 'twelve'], ['[see note]'], ['12', '12.5'])
    """
    if not isinstance(answers, str | Sequence):
        return [str(answers)]  # a bare number, as a JSON file holds it
    if not isinstance(answers, str):
        return [str(one.get("answer", one) if isinstance(one, Mapping) else one) for one in answers]
    listed = _list_literal(answers)
    return [answers] if listed is None else [str(answer) for answer in listed]


def get_answers(sample: Sample) -> Answers:
    """The golds as the official code gets them: a single one as its cell, which may spell a list.

    The reader of a file has turned cells that spell a list of texts or numbers into golds, once, as the
    official code does: the cell ``['[10, 20]']`` has the answer ``[10, 20]``, not 10. So a sample that has
    a row has no such cell; one that a program made may have.

    >>> get_answers(Sample(id="1", question="?", golds=("[10, 20]",), row=1))
    ('[10, 20]',)
    """
    golds = sample.golds
    if len(golds) != 1:
        return golds
    listed = _list_literal(golds[0]) if sample.row else None
    is_read = listed is not None and all(isinstance(item, str | int | float) for item in listed)
    return golds if is_read else golds[0]


def _list_literal(cell: str) -> list[object] | None:
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    value = parse_literal(text)
    return value if isinstance(value, list) else None


def parse_literal(text: str) -> object:
    """The value of a Python literal; None of any other text, and of one that is very long.

    >>> parse_literal("['a', 2]"), parse_literal("a + 2")
    (['a', 2], None)
    """
    if len(text) > MAX_CELL_CHARS:
        return None
    with suppress_warnings():  # of a stray backslash in the file
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None


# -- ANLS, average normalised Levenshtein similarity: DocVQA and InfoVQA
#
# Rule: Biten et al., 2019 (https://arxiv.org/abs/1907.00490), as VLMEvalKit computes it. Golden vectors:
# tests/golden/anls.jsonl.

THRESHOLD = 0.5


@metric("anls", version="2", parity="official")
def anls(prediction: str, answers: Answers) -> float:
    """DocVQA's ANLS: similarity to the most similar accepted answer; below 0.5 counts as 0.

    Quirks kept: the distance is taken between tidied strings but divided by the length of the untidied
    ones, upper-cased (so that ``ß`` counts two); a wrapped answer ("The answer is X") is penalised.

    >>> anls("Invoice ", ["invoice"]), anls("invoise", "['invoice', 'bill']"), anls("no", ["invoice"])
    (1.0, 0.8571428571428572, 0.0)
    """
    distances = [_distance(answer, str(prediction), _tidy) for answer in list_accepted(answers)]
    similarity = 1 - min(distances, default=1.0)
    return similarity if similarity >= THRESHOLD else 0.0


def _distance(true: str, said: str, tidy: Callable[[str], str] = str) -> float:
    from rapidfuzz.distance import Levenshtein

    longest = max(len(true.upper()), len(said.upper()))
    return Levenshtein.distance(tidy(true), tidy(said)) / longest if longest else 0.0


def _tidy(text: str) -> str:
    return " ".join(text.lower().split())


def compare_spelling(true: str, said: str) -> float:
    """Similarity by edit distance, without other preparation. Unlike in `anls`, exactly one half counts 0."""
    similarity = 1 - _distance(true, said)
    return similarity if similarity > THRESHOLD else 0.0


def to_number(text: str) -> float | None:
    """The number that a text is; None of any other text."""
    try:
        return float(text)
    except ValueError:
        return None


# -- Relaxed accuracy: ChartQA
#
# Rule: Masry et al., 2022 (https://arxiv.org/abs/2203.10244), as VLMEvalKit computes it. Golden vectors:
# tests/golden/relaxed.jsonl.


@metric("relaxed", version="2", parity="official")
def relaxed(prediction: str, answers: Answers, *, tolerance: float = 0.05) -> float:
    """ChartQA's relaxed match: a number within 5 % of an accepted answer, or text equal ignoring case.

    Quirks kept: ``50%`` is 0.5 and not 50; ``1,000`` and ``$5`` are no numbers; an answer of 0 is
    compared as text, so ``0.0`` misses ``0``. Answers keep their outer spaces, the prediction does not.

    >>> relaxed("104", ["100"]), relaxed("106", ["100"]), relaxed("50%", "0.5"), relaxed("0.0", "0")
    (1.0, 0.0, 1.0, 0.0)
    """
    text = str(prediction).strip()
    return float(any(_matches(text, answer, tolerance) for answer in list_accepted(answers)))


def _matches(prediction: str, answer: str, tolerance: float) -> bool:
    read, gold = _number(prediction), _number(answer)
    if read is not None and gold:  # as published: a gold of 0 falls through to the text match
        return abs(read - gold) / abs(gold) <= tolerance
    return prediction.lower() == answer.lower()


def _number(text: str) -> float | None:
    number = to_number(text.rstrip("%") if text.endswith("%") else text)
    return number / 100 if number is not None and text.endswith("%") else number


# -- VQA accuracy: TextVQA, VizWiz and others with ten human answers
#
# Rule: Antol et al., 2015 (https://arxiv.org/abs/1505.00468), as VLMEvalKit computes it. Golden vectors:
# tests/golden/vqa_acc.jsonl.

PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
ARTICLES = frozenset({"a", "an", "the"})
NUMBER_WORDS = {
    "none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4",
    "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip

# Contractions that get a missing apostrophe back: the set of the public VQA evaluation script
# (GT-Vision-Lab/VQA). Each spelling that lacks exactly one apostrophe is mapped to the full one. The script's
# entries with capitals (``Im``) are left out: they are looked up in lower case, so they never match.
COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_SPELLED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't
he'd he'd've he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't
must've needn't not've o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've
somebody'd've somebody'll somebody's someone'd someone'd've someone'll someone's something'd something'd've
something'll that's there'd there'd've there're there's they'd they'd've they'll they're they've 'twas
wasn't we'd've we've weren't what'll what're what's what've when's where'd where's where've who'd who'd've
who'll who's who've why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've
you'd you'd've you'll you're you've
"""


CONTRACTIONS: dict[str, str] = {
    word[:i] + word[i + 1 :]: word for word in _SPELLED.split() for i, char in enumerate(word) if char == "'"
}
CONTRACTIONS["somebody'd"] = "somebodyd"  # as published: this one goes the other way
_DIGIT_COMMA_DIGIT = re.compile(r"\d,\d")
_LONE_PERIOD = re.compile(r"(?<!\d)\.(?!\d)")
_SHORT = 200  # characters: longer answers are not cached
_PERIODS_DROPPED = 32  # as published: a regex flag is passed where the count belongs


@metric("vqa-accuracy", version="2", parity="official")
def vqa_accuracy(prediction: str, answers: Answers) -> float:
    """VQA accuracy: 1 if at least three other people gave this answer, averaged over the person left out.

    Quirk kept: with a single accepted answer the score is always 0, because no other answer can agree.

    >>> vqa_accuracy("The dog.", ["dog"] * 2 + ["cat"] * 8), vqa_accuracy("two", ["2"] * 10)
    (0.6, 1.0)
    >>> vqa_accuracy("dog", ["dog"])
    0.0
    """
    read = normalise_vqa(str(prediction))
    golds = [normalise_vqa(answer) for answer in list_accepted(answers)]
    if not golds:
        return 0.0
    agreeing = golds.count(read)
    credits = [min(1.0, (agreeing - (gold == read)) / 3) for gold in golds]
    return add_in_order(credits) / len(credits)


def normalise_vqa(text: str) -> str:
    """The form in which VQA accuracy compares answers.

    >>> normalise_vqa("The two dogs, dont they?")
    "2 dogs don't they"
    """
    return (_short_form if len(text) <= _SHORT else normalise_words)(text)


def normalise_words(
    text: str, digits: re.Pattern[str] = _DIGIT_COMMA_DIGIT, period: re.Pattern[str] = _LONE_PERIOD
) -> str:
    """The steps of the normal form: punctuation, number words, articles, contractions."""
    text = strip_vqa_punctuation(text.replace("\n", " ").replace("\t", " ").strip(), digits, period)
    words = [NUMBER_WORDS.get(word, word) for word in text.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


_short_form = lru_cache(maxsize=4096)(normalise_words)  # ten people often give the same answer


def strip_vqa_punctuation(
    text: str, digits: re.Pattern[str] = _DIGIT_COMMA_DIGIT, period: re.Pattern[str] = _LONE_PERIOD
) -> str:
    """The official punctuation step: a mark beside a space is deleted, any other becomes a space.

    Quirks kept: one ``digit,digit`` anywhere has every mark deleted; apostrophe, colon, ``*``, ``#``,
    ``$``, ``%`` and ``&`` are not marks; at most 32 full stops go.

    >>> strip_vqa_punctuation("dog/cat, pi 3.14"), strip_vqa_punctuation("1,000 dog/cat")
    ('dog cat pi 3.14', '1000 dogcat')
    """
    has_digit_comma = digits.search(text) is not None
    stripped = text
    for mark in PUNCTUATION:
        is_deleted = has_digit_comma or f"{mark} " in text or f" {mark}" in text
        stripped = stripped.replace(mark, "" if is_deleted else " ")
    return period.sub("", stripped, count=_PERIODS_DROPPED)


# -- OCRBench: whether the reply contains the text
#
# Rule: Liu et al., 2023 (https://arxiv.org/abs/2305.07895), as VLMEvalKit computes it. Golden vectors:
# tests/golden/ocrbench.jsonl.

FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: ord(" ")}
HANDWRITTEN_MATHS = "Handwritten Mathematical Expression Recognition"


@scorer("ocrbench", version="2", parity="official")
def score_ocrbench(reply: Reply, sample: Sample) -> Score:
    """OCRBench's hit, with the category taken from the sample."""
    hit = ocrbench(reply.text, get_answers(sample), str(sample.meta.get("category", "")))
    return score_official(reply, sample, value=float(hit), read=reply.text.strip() or None, route="ocrbench")


def ocrbench(prediction: str, answers: Answers, category: str = "") -> bool:
    """Whether an accepted answer occurs anywhere in the reply.

    Quirks kept: no word boundaries, and an empty answer always hits. Handwritten maths is compared
    without spaces but with its case; all other categories without case.

    >>> ocrbench("The word is Centre.", ["CENTRE"], "Regular Text Recognition")
    True
    >>> ocrbench("X ^ 2", ["x^2"], "Handwritten Mathematical Expression Recognition")
    False
    """

    def tidy(text: str) -> str:
        text = text.replace("\n", " ")
        return text.replace(" ", "") if category == HANDWRITTEN_MATHS else text.lower().strip()

    text = tidy(str(prediction))
    return any(tidy(answer) in text for answer in list_accepted(answers))
