"""What a question asks for, how an answer is matched to an option, and what labelled values answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eyechart.baselines import Answer
from eyechart.baselines.shapes import WORDS, read_colour, read_shape

Choices = Mapping[str, str]  # letter -> text

_SAID = WORDS["question"]
_ANYTHING = frozenset(_SAID["anything"])  # words that mean "any thing"
_MOST, _LEAST, _SMALL_WORDS = (frozenset(_SAID[name]) for name in ("most", "least", "small"))
_YES_NO = re.compile(
    r"^(?:no\b|is|are|was|were|does|do|did|has|have|can|could|will)\b|answer (?:with )?yes or no|\(yes/no\)"
)
_SHAPE = re.compile(
    r"(?:what|which)(?: kind of| type of| is the| \w+)? (?:shape|figure|form)\b|shape of"
    r"|what is the (?:\w+ )*(?:shape|figure|object)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A description of things: "the large red circle on the left"."""

    text: str
    words: tuple[str, ...]
    colours: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    extreme: int = 0  # 1 the most, -1 the least
    rank: int = 1

    @property
    def is_of_things(self) -> bool:
        """Whether it describes shapes."""
        return bool(
            self.colours or self.shapes or _ANYTHING & {word.removesuffix("s") for word in self.words}
        )


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question parsed into what it asks and about what."""

    text: str
    subject: Phrase  # what is asked about
    relation: str  # of the subject to the anchor
    anchor: Phrase | None
    is_yes_no: bool
    is_negated: bool
    asks_colour: bool
    asks_shape: bool
    asks_count: bool
    asks_place: bool

    def has(self, *words: str) -> bool:
        """Whether it holds one of these words."""
        return not {*words}.isdisjoint(split_words(self.text))


def split_words(text: str) -> tuple[str, ...]:
    """The words, in lower case.

    >>> split_words("What's the Bus's colour?")
    ("what's", 'the', "bus's", 'colour')
    """
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold()))


def stem(word: str) -> str:
    """A crude stem: enough to see that "leaves" and "leave" are one word.

    >>> [stem(word) for word in ("leaves", "leave", "prices", "taught", "visitors")]
    ['leav', 'leav', 'pric', 'taught', 'visitor']
    """
    word = re.sub("['’]s$", "", word.casefold())
    return re.sub(r"(?<=^\w\w\w)(\w*?)(?:ing|ies|es|ed|s|e)$", r"\1", word)


def read_phrase(text: str) -> Phrase:
    """Parse a description."""
    words = split_words(text)
    rank = next((_SAID["ranks"][word] for word in words if word in _SAID["ranks"]), 1)
    return Phrase(
        text=text,
        words=words,
        colours=tuple(dict.fromkeys(filter(None, map(read_colour, words)))),
        shapes=tuple(dict.fromkeys(filter(None, map(read_shape, words)))),
        places=tuple(name for name, said in _SAID["places"].items() if re.search(said, text.casefold())),
        extreme=next((1 if w in _MOST else -1 for w in words if w in _MOST | _LEAST), int(rank > 1)),
        rank=rank,
    )


def read_question(text: str) -> ParsedQuestion:
    """Parse a question.

    >>> q = read_question("What colour is the shape to the left of the star?")
    >>> q.asks_colour, q.relation, q.anchor.shapes
    (True, 'left', ('star',))
    """
    low = " ".join(text.casefold().split())
    body = re.sub(r"[\s.]*(?:please )?answer (?:with )?yes or no\.?|\(yes/no\)", "", low).strip()
    relation, before, after = "", body, ""
    for name, pattern in _SAID["relations"].items():
        if (match := re.search(pattern, body)) and body[match.end() :].strip(" ?"):
            relation, before, after = name, body[: match.start()], body[match.end() :]
            break
    subject = read_phrase(before)
    asks_colour = bool(re.search(r"\bcolou?rs?\b", before)) and not subject.colours
    return ParsedQuestion(
        text=body,
        subject=subject,
        relation=relation,
        anchor=read_phrase(after) if relation else None,
        is_yes_no=bool(_YES_NO.search(low)) and " or " not in body,
        is_negated=bool(re.search(r"\bno\b|\bnot\b|\bwithout\b|n't\b", body)),
        asks_colour=asks_colour,
        asks_shape=bool(_SHAPE.search(body)) and not (subject.shapes or asks_colour),
        asks_count=bool(re.search(r"\bhow many\b|\bnumber of\b|\bcount\b", body)),
        asks_place=bool(re.search(r"^where|in (?:which|what) (?:part|corner|quadrant|half)", body)),
    )


def measure_mention(label: str, question: ParsedQuestion) -> float:
    """How much of a label the question says, 0 to 1.

    >>> measure_mention("Apples 1 kg", read_question("What do the apples cost?")) > 0.5
    True
    """
    words = [word for word in split_words(label) if word not in _SMALL_WORDS]
    said = set(map(stem, split_words(question.text)))
    return sum(len(word) for word in words if stem(word) in said) / max(1, sum(map(len, words)))


# -- From what was found to one of the options, or to none


def squeeze(text: str) -> str:
    """Letters and digits only: OCR drops spaces and doubles points.

    >>> squeeze("E 7"), squeeze("£4.50")
    ('e7', '4.50')
    """
    return re.sub(r"(?<!\d)[.]|[.](?!\d)|[^\w.]|_", "", text.casefold())


def read_number(text: str) -> float | None:
    """The only number in a text, of a time in minutes; None where there are none or several.

    >>> read_number("148 m"), read_number("1,250"), read_number("08:15"), read_number("2 of 3")
    (148.0, 1250.0, 495.0, None)
    """
    if match := re.fullmatch(r"(\d{1,2}):(\d\d)(?:\s*([ap])\.?m\.?)?", text.strip(), re.IGNORECASE):
        hours = int(match[1]) % 12 + 12 * (match[3].lower() == "p") if match[3] else int(match[1])
        return hours * 60.0 + int(match[2])
    found = re.findall(r"[-−]?\d[\d,]*(?:\.\d+)?", text)
    if len(found) != 1:
        return None
    number = re.sub(r"^(-?\d+),(\d{1,2})$", r"\1.\2", found[0].replace("−", "-"))  # a decimal comma
    return float(number.replace(",", ""))


def match_option(found: str, choices: Choices) -> str | None:
    """The letter of the one option that says what was found."""
    for read in (squeeze, read_number, _read_name):
        said = read(found)
        letters = [letter for letter, text in choices.items() if read(text) == said]
        if said not in ("", None) and len(letters) == 1:
            return letters[0]
    return None


def _read_name(text: str) -> str | None:
    """The one colour or shape in a text, under the name that we use: grey for gray, circle for disc."""
    names = {name for word in split_words(text) if (name := read_colour(word) or read_shape(word))}
    return names.pop() if len(names) == 1 else None


# -- Labelled values, from wherever they were read, and what they answer


@dataclass(frozen=True, slots=True)
class Fact:
    """One value with its label: a bar, a slice, a cell, a price."""

    label: str
    text: str  # as printed, or as measured; empty where only the order is known
    value: float | None = None  # as a number to compare by; a time in minutes
    series: str = ""  # the column, or the legend's key
    source: str = ""  # "bars", "table", ...
    colour: str = ""  # of the bar or slice


Facts = Sequence[Fact]

_DIFFERS = re.compile(r"\bdifference\b|\b(?:more|less|fewer|higher|lower|longer|taller)\b.*\bthan\b")
_ADDS = re.compile(r"\btogether\b|\bsum\b|\bcombined\b|\bin total\b|\bin all\b|\btotal of\b")
COMBINES = re.compile(f"{_DIFFERS.pattern}|{_ADDS.pattern}")
_BEYOND = re.compile(
    r"\b(?:(?P<up>more|higher|taller|above|over|larger|longer|greater)"
    r"|less|fewer|lower|shorter|below|under|smaller)\b(?: than)? (?P<limit>\d+(?:\.\d+)?)"
)


def answer_from_facts(question: ParsedQuestion, facts: Facts, choices: Choices) -> Answer | None:
    """Answer from labelled values: the largest, the value of one, a difference, a sum, a count."""
    said = {fact.series: measure_mention(fact.series, question) for fact in facts if fact.series}
    if (best := max(said.values(), default=0.0)) >= 0.5:
        facts = [fact for fact in facts if said.get(fact.series) == best]
    mentions = [(measure_mention(fact.label, question), fact) for fact in facts]
    named = [fact for mention, fact in mentions if mention >= 0.5]
    if len({fact.series for fact in facts}) > 1:
        return None if question.subject.extreme else _cell(question, facts, named, choices)
    if (answer := _combine(question, named) or _count_beyond(question, facts)) is not None:
        return answer
    if question.subject.extreme and not question.is_yes_no:
        return _extreme(question, facts)
    if not named or question.is_yes_no or question.asks_colour or COMBINES.search(question.text):
        return None
    highest = max(mention for mention, _ in mentions)
    meant = [fact for mention, fact in mentions if mention == highest]
    if len(meant) > 1 or not meant[0].text or (choices and not match_option(meant[0].text, choices)):
        return None
    return Answer(meant[0].text, _evidence("the value of the named label", meant))


def _evidence(rule: str, facts: Facts) -> dict[str, object]:
    source = facts[0].source if facts else ""
    return {"rule": rule, "read as": source, "values": [[f.label, f.series, f.text] for f in facts[:12]]}


def _cell(question: ParsedQuestion, facts: Facts, named: Facts, choices: Choices) -> Answer | None:
    """Several columns and none named: the row's one cell that can be meant, or the column of a named cell."""
    if question.has("time", "hour", "when"):
        named = [fact for fact in named if re.fullmatch(r"\d{1,2}[:.]\d\d", fact.text)]
    if choices:
        named = [fact for fact in named if match_option(fact.text, choices)]
    if len(named) == 1:
        return Answer(named[0].text, _evidence("the named row's fitting cell", named))
    cells = [fact for fact in facts if measure_mention(fact.text, question) >= 1]
    columns = {fact.series for fact in cells if match_option(fact.series, choices)}
    return Answer(columns.pop(), _evidence("column of the named cell", cells)) if len(columns) == 1 else None


def _combine(question: ParsedQuestion, named: Facts) -> Answer | None:
    """Two values compared, their difference, or the sum of several."""
    values = [fact.value for fact in named if fact.value is not None]
    if question.is_yes_no:
        if not question.subject.extreme or not len(values) == len(named) == 2:
            return None
        stems = " ".join(map(stem, split_words(question.text)))
        first, second = (stems.find(stem(split_words(fact.label)[0])) for fact in named)
        holds = (values[0] - values[1]) * question.subject.extreme * (second - first) > 0
        return Answer("yes" if holds else "no", _evidence("compared", named))
    if len(values) < 2 or not all(fact.text for fact in named):
        return None
    # With as many decimals as the values have.
    decimals = max((len(m[1]) for fact in named if (m := re.search(r"\d\.(\d+)", fact.text))), default=0)
    if _DIFFERS.search(question.text) and len(values) == 2:
        return Answer(f"{abs(values[0] - values[1]):.{decimals}f}", _evidence("difference", named))
    if _ADDS.search(question.text):
        return Answer(f"{sum(values):.{decimals}f}", _evidence("sum", named))
    return None


def _count_beyond(question: ParsedQuestion, facts: Facts) -> Answer | None:
    match = _BEYOND.search(question.text)
    if not (question.asks_count and match) or not all(fact.text for fact in facts):
        return None
    limit, sign = float(match["limit"]), 1 if match["up"] else -1
    beyond = [fact for fact in facts if fact.value is not None and sign * (fact.value - limit) > 0]
    return Answer(str(len(beyond)), _evidence(f"counted those beyond {limit:g}", facts))


def _extreme(question: ParsedQuestion, facts: Facts) -> Answer | None:
    extreme, rank = question.subject.extreme, question.subject.rank
    values = sorted((fact.value for fact in facts if fact.value is not None), key=lambda v: -extreme * v)
    if question.asks_count or question.has("than") or rank > len(values):
        return None
    found = [fact for fact in facts if fact.value == values[rank - 1]]
    if len(found) > 1 or not found[0].label:
        return None
    rule = f"{'largest' if extreme > 0 else 'smallest'}, rank {rank}"
    return Answer(found[0].label, _evidence(rule, facts))
