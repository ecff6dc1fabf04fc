"""What a question asks for: a small grammar of key words, the same for every picture."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eyechart.model.baseline import colours, shapes

# Words that mean "any thing"; a shape or colour word beside them narrows it.
ANYTHING = frozenset({"shape", "object", "figure", "item", "thing", "form", "one"})
_MOST = frozenset({
    "most", "highest", "largest", "biggest", "tallest", "greatest", "maximum", "max", "longest", "widest",
    "best", "top", "warmest", "hottest", "latest", "last", "heaviest", "fastest", "oldest", "dearest",
    "costliest", "more", "larger", "bigger", "taller", "higher", "greater", "longer", "farthest", "warmer",
})  # fmt: skip
_LEAST = frozenset({
    "least", "lowest", "smallest", "shortest", "fewest", "minimum", "min", "worst", "coldest", "coolest",
    "earliest", "first", "cheapest", "lightest", "slowest", "youngest", "less", "fewer", "smaller", "shorter",
    "lower", "nearest", "colder", "cooler", "cheaper",
})  # fmt: skip
_RANKS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}
_PLACES = (
    ("left", r"\bleft(?:-?most)?\b"), ("right", r"\bright(?:-?most)?\b"),
    ("top", r"\btop(?:-?most)?\b|\bupper\b|\bupmost\b|\bhighest\b"),
    ("bottom", r"\bbottom(?:-?most)?\b|\blower\b|\blowest\b"),
    ("middle", r"\bmiddle\b|\bcent(?:re|er)\b|\bcentral\b"),
)  # fmt: skip
_RELATIONS = (
    ("left", r"(?:to the |on the |directly |immediately |just )*left of"),
    ("right", r"(?:to the |on the |directly |immediately |just )*right of"),
    ("above", r"\babove\b|\bover\b|on top of"),
    ("below", r"\bbelow\b|\bbeneath\b|\bunder(?:neath)?\b"),
    ("inside", r"\binside\b|\bwithin\b"),
    ("between", r"\bbetween\b"),
)
_NO = re.compile(r"\bno\b|\bnot\b|\bwithout\b|n't\b")
_YES_NO = re.compile(
    r"^(?:no\b|is|are|was|were|does|do|did|has|have|can|could|will)\b|answer (?:with )?yes or no|\(yes/no\)"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


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
        """Whether it can be looked for among shapes at all."""
        return bool(self.colours or self.shapes or ANYTHING & {word.removesuffix("s") for word in self.words})


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart."""

    text: str
    subject: Phrase  # what is asked about
    relation: str = ""  # how the subject stands to the anchor
    anchor: Phrase | None = None
    is_yes_no: bool = False
    is_negated: bool = False
    asks_colour: bool = False
    asks_shape: bool = False
    asks_count: bool = False
    asks_place: bool = False
    tokens: tuple[str, ...] = ()


def split_words(text: str) -> tuple[str, ...]:
    """The words, in small letters.

    >>> split_words("What's the Bus's colour?")
    ("what's", 'the', "bus's", 'colour')
    """
    return tuple(word.casefold() for word in _WORD.findall(text))


def stem(word: str) -> str:
    """A crude stem: enough to see that "leaves" and "leave" are one word.

    >>> [stem(word) for word in ("leaves", "leave", "prices", "taught", "visitors")]
    ['leav', 'leav', 'pric', 'taught', 'visitor']
    """
    word = word.casefold().removesuffix("'s").removesuffix("’s")
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def read_phrase(text: str) -> Phrase:
    """Take a description apart."""
    words = split_words(text)
    extreme = next((1 if word in _MOST else -1 for word in words if word in _MOST | _LEAST), 0)
    rank = next((_RANKS[word] for word in words if word in _RANKS), 1)
    if rank > 1 and not extreme:
        extreme = 1  # "came second"
    return Phrase(
        text=text,
        words=words,
        colours=tuple(dict.fromkeys(n for w in words if (n := colours.read_colour(w)))),
        shapes=tuple(dict.fromkeys(n for w in words if (n := shapes.read_shape(w)))),
        places=tuple(name for name, pattern in _PLACES if re.search(pattern, text.casefold())),
        extreme=extreme,
        rank=rank,
    )


def read_question(text: str) -> Question:
    """Take a question apart.

    >>> q = read_question("What colour is the shape to the left of the star?")
    >>> q.asks_colour, q.relation, q.anchor.shapes
    (True, 'left', ('star',))
    """
    low = " ".join(text.casefold().split())
    body = re.sub(r"[\s.]*(?:please )?answer (?:with )?yes or no\.?|\(yes/no\)", "", low).strip()
    relation, before, after = _split_relation(body)
    subject = read_phrase(before if relation else body)
    asks_colour = bool(re.search(r"\bcolou?rs?\b", subject.text)) and not subject.colours
    return Question(
        text=body,
        subject=subject,
        relation=relation,
        anchor=read_phrase(after) if relation else None,
        is_yes_no=bool(_YES_NO.search(low)) and " or " not in body,
        is_negated=bool(_NO.search(body)),
        asks_colour=asks_colour,
        asks_shape=_asks_shape(body, subject) and not asks_colour,
        asks_count=bool(re.search(r"\bhow many\b|\bnumber of\b|\bcount\b", body)),
        asks_place=bool(re.search(r"^where|in (?:which|what) (?:part|corner|quadrant|half)", body)),
        tokens=split_words(body),
    )  # fmt: skip


def _asks_shape(body: str, subject: Phrase) -> bool:
    if subject.shapes:
        return False
    named = r"(?:what|which)(?: kind of| type of| is the| \w+)? (?:shape|figure|form)\b|shape of"
    return bool(re.search(named, body)) or bool(
        re.search(r"what is the (?:\w+ )*(?:shape|figure|object)", body)
    )


def _split_relation(body: str) -> tuple[str, str, str]:
    for name, pattern in _RELATIONS:
        if (match := re.search(pattern, body)) and body[match.end() :].strip(" ?"):
            return name, body[: match.start()], body[match.end() :]
    return "", body, ""
