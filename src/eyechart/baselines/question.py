"""What a question asks for, and how an answer is matched to an option."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
