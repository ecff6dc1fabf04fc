"""TableVQA-Bench (Kim et al., 2024): tables as images, from finance, facts and Wikipedia.

Each of its parts has a rule: WikiTableQuestions' comparison of lists of values, true or false, and numbers
with their units. As in VLMEvalKit (ms-vlmeval 0.0.20), whose code is that of the authors and of AllenNLP.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask_with
from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.types import Card, Reply, Sample, Score

_TABLES = {
    "fintabnetqa": """You are asked to answer questions asked on a image.
You should answer the question within a single word or few words.
If units can be known, the answer should include units such as $, %, million and etc.
Example:\x20
Question: What were the total financing originations for the fiscal year ended October 31, 2004?
Answer: $3,852 million
Question: What is the time period represented in the table?
Answer: October 31
Question: What was the percentage of net sales for selling, general and administrative expenses in 2006?
Answer: 34.2%
Question: {}
Answer:""",
    "vtabfact": """You are asked to answer whether the statement is True or False based on given image
You should only answer True or False.
Example:\x20
Statement: the milwaukee buck win 6 game in the 2010 - 11 season
Answer: True
Statement: only the top team score above the average of 8.8
Answer: False

Statement: {}
Answer:""",
    "vwtq": """You are asked to answer questions asked on an image.
You should answer the question with a single word.
Example:\x20
Question: what was the only year mr. wu competed in the olympic games?
Answer: 2004
Question: which township in pope county, arkansas has the least amount of water area?
Answer: Freeman
If you have multiple answers, please separate them with || marks. Example: Apple||Banana||Tomato

Question: {}
Answer:""",
}


def ask_tablevqa(sample: Sample) -> str:
    """The examples of the part that the question is from."""
    part = str(sample.meta.get("split", "vwtq")).removesuffix("_syn")
    return _TABLES.get(part, "{}").replace("{}", sample.question)


Entry(
    "tablevqa",
    "tables as images: finance, facts, Wikipedia",
    Card("documents", "1,500 questions", "https://arxiv.org/abs/2404.19205", "CC BY 4.0"),
    file=("TableVQABench", "tablevqa-bench"),
    hub=[f"terryoo/TableVQA-Bench:{part}" for part in ("fintabnetqa", "vtabfact", "vwtq", "vwtq_syn")],
    change_row=lambda row: {"answer": row["gt"], "split": row["part"]},
    prompt=ask_with(ask_tablevqa),
    scorer="tablevqa",
    group_by=("split",),
    macro="split",
    metric="accuracy by the rule of each of the four parts, and their mean",
    note="VLMEvalKit reports the four parts separately. For finance, it is the relaxed figure: an amount may lack its unit.",
).register()


_QUOTES = str.maketrans(dict.fromkeys("‘’´`", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-"))
_MARKS = "•♦†‡*#+"
_CLOSE = 1e-6
_MAX_NUMBER_CHARS = 400
_WORDS = re.compile(
    r"\b(?:dollar|gallons|square feet|shares|mbtu|mbpd|mbbls|mmbtu|unit|gwh|year|mmcf|mile|mboe)s?\b"
)
_UNITS = (
    (re.compile(r" ?\bthousand\b"), "e3"),
    (re.compile(r" ?\bmillion\b"), "e6"),
    (re.compile(r" ?\bbillion\b"), "e9"),
    (re.compile(r" ?%"), "e-2"),
)


@scorer("tablevqa", version="1", parity="official")
def score_tablevqa(reply: Reply, sample: Sample) -> Score:
    """TableVQA-Bench: by the row's `split`, true or false, numbers with units, or lists of values."""
    text = reply.text.removeprefix("Answer: ")
    gold = "|".join(sample.golds)
    part = str(sample.meta.get("split", ""))
    read: str | None = text
    if part == "vtabfact":
        truth, kind = read_truth(text), "truth"
        hit = truth is not None and truth == (gold.strip().removesuffix(".0") == "1")
        read = None if truth is None else str(truth)
    elif part == "fintabnetqa":
        hit, kind = bool(set(read_amounts(text)) & set(read_amounts(gold))), "amount"
    else:
        hit, kind = has_same_values(text.replace("||", "|"), gold), "values"
    return score_official(reply, sample, value=float(hit), read=read, route=f"tablevqa:{kind}")


def read_truth(reply: str) -> bool | None:
    """Whether a reply says true; None if it says both or neither.

    >>> read_truth("It is True."), read_truth("false"), read_truth("true or false")
    (True, False, None)
    """
    text = reply.lower()
    says_true, says_false = "true" in text, "false" in text
    return says_true if says_true != says_false else None


def read_amounts(text: str) -> tuple[float | str, float | str]:
    """An amount with its unit applied, and without its unit; the texts, if they are not numbers.

    >>> read_amounts("$3,852 million"), read_amounts("34.2%"), read_amounts("October 31")
    ((3852000000.0, 3852.0), (0.342, 34.2), ('october 31', 'october 31'))
    """
    plain = _WORDS.sub("", re.sub(r"[$(),]", "", normalise(text)))
    scaled = plain
    for pattern, exponent in _UNITS:
        scaled, plain = pattern.sub(exponent, scaled), pattern.sub("", plain)
    try:
        return float(scaled), float(plain)
    except ValueError:
        return scaled, plain


# -- WikiTableQuestions: a list of values equals another of the same length


@dataclass(frozen=True, slots=True)
class _Value:
    text: str  # normalised
    number: float | None = None
    date: tuple[int, int, int] | None = None  # year, month, day; -1: not said

    @property
    def key(self) -> object:
        """The same for values that count once in a list."""
        if self.number is not None:
            return self.number
        return self.date or self.text

    def matches(self, other: _Value) -> bool:
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < _CLOSE
        return self.date is not None and self.date == other.date


def has_same_values(reply: str, gold: str) -> bool:
    """Whether two lists, separated by ``|``, have as many different values, and each gold is in the reply.

    >>> has_same_values("2,000|b", "b|2,000"), has_same_values("4.0", "4"), has_same_values("a", "a|b")
    (True, True, False)
    """
    wanted, found = _read_values(gold), _read_values(reply)
    return len(wanted) == len(found) and all(any(one.matches(other) for other in found) for one in wanted)


def _read_values(text: str) -> list[_Value]:
    several: dict[object, _Value] = {}
    for one in text.split("|"):
        value = _read_value(one.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\"))
        several.setdefault(value.key, value)
    return list(several.values())


def _read_value(text: str) -> _Value:
    date = _read_date(text)
    number = _read_number(text)
    if number is None and date is not None and date[1] == date[2] == -1:
        number = float(date[0])
    if number is not None:
        return _Value(normalise(text), round(number) if abs(number - round(number)) < _CLOSE else number)
    return _Value(normalise(text), date=date)


def _read_number(text: str) -> float | None:
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def _read_date(text: str) -> tuple[int, int, int] | None:
    """A date written as year-month-day, with ``xx`` for what is not said."""
    parts = text.lower().split("-") if len(text) <= _MAX_NUMBER_CHARS else []
    if len(parts) != 3:
        return None
    try:
        year = -1 if parts[0] in ("xx", "xxxx") else int(parts[0])
        month, day = (-1 if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    is_date = (month == -1 or 1 <= month <= 12) and (day == -1 or 1 <= day <= 31)
    return (year, month, day) if is_date and not year == month == day == -1 else None


def normalise(text: str) -> str:
    """A value without accents, citations, details in brackets, outer quotes and final period, in lower case.

    >>> normalise('"Café" (closed)[3]*'), normalise("[12]"), normalise("(a) b.")
    ('cafe', '', '(a) b')
    """
    text = "".join(one for one in unicodedata.normalize("NFKD", text) if unicodedata.category(one) != "Mn")
    text = text.translate(_QUOTES)
    begin, end = 0, len(text)
    while True:  # by positions, so that a long reply takes linear time
        before = begin, end
        begin, end = _strip(text, begin, end)
        begin, end = _strip(text, begin, _drop_citations(text, begin, end))
        begin, end = _strip(text, begin, _drop_details(text, begin, end))
        is_quoted = end - begin >= 2 and text[begin] == text[end - 1] == '"'
        if is_quoted and text.find('"', begin + 1, end - 1) < 0:
            begin, end = begin + 1, end - 1
        if (begin, end) == before:
            break
    text = text[begin:end].removesuffix(".")
    return " ".join(text.lower().split())


def _strip(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return begin, end


def _drop_citations(text: str, begin: int, end: int) -> int:
    """Where the text ends without marks and ``[...]``; a whole text in brackets stays, but for numbers."""
    while end > begin:
        if text[end - 1] in _MARKS:
            end -= 1
            continue
        if text[end - 1] != "]":
            break
        start = text.find("[", text.rfind("]", begin, end - 1) + 1 or begin, end - 1)
        if start == begin and not text[begin + 1 : end - 1].isdecimal():
            start = text.find("[", begin + 1, end - 1)
        if start < 0:
            break
        end = start
    return end


def _drop_details(text: str, begin: int, end: int) -> int:
    """Where the text ends without details in round brackets after a space."""
    while end > begin and text[end - 1] == ")":
        start = text.find(" (", text.rfind(")", begin, end - 1) + 1 or begin, end - 1)
        if start < 0:
            break
        end = start
    return end
