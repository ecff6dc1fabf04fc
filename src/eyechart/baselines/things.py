"""Questions about shapes: colour, kind, number, place, presence."""

from __future__ import annotations

import math
import re
from collections import Counter

from eyechart.baselines import Answer
from eyechart.baselines.question import Choices, ParsedQuestion, Phrase, read_phrase
from eyechart.baselines.shapes import SIDES, name_colour
from eyechart.baselines.sight import Sight, Thing

MAX_THINGS = 120  # more patches are texture, not things to count


def answer_about_things(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from the shapes in the image, if the question is about shapes."""
    if not sight.is_drawing:
        return None
    things = list(sight.things)
    if len(things) > MAX_THINGS:
        return None
    rules = (_background, _ink, _sides, _compare_counts, _yes_no, _count, _place, _shape, _colour, _which)
    return next(filter(None, (rule(question, sight, things, choices) for rule in rules)), None)


def _evidence(rule: str, things: Things) -> dict[str, object]:
    return {"rule": rule, "n": len(things), "things": [thing.describe() for thing in things[:8]]}


# -- The rules: each gives an answer or None


def _background(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    # In an empty image, only the background can be meant.
    meant = r"\bbackground\b" if things else r"\b(?:background|picture|image)\b"
    if not (question.asks_colour and re.search(meant, question.text)):
        return None
    evidence = {"rule": "most common colour of the rim", "rgb": list(sight.background)}
    return Answer(name_colour(sight.background), evidence)


def _ink(question: ParsedQuestion, sight: Sight, _: Things, __: Choices) -> Answer | None:
    if not (question.asks_colour and re.search(r"\b(?:letters?|text|words?|writing|font)\b", question.text)):
        return None
    inks: Counter[str] = Counter()
    for patch in sight.patches.patches:
        for word in sight.words:
            is_inside = word.x0 <= patch.cx <= word.x1 and word.y0 <= patch.cy <= word.y1
            if is_inside and patch.width < 0.8 * word.width:
                inks[name_colour(patch.rgb)] += patch.area
    if not inks:
        return None
    evidence = {"rule": "colour of the patches that are letters", "areas": dict(inks)}
    return Answer(inks.most_common(1)[0][0], evidence)


def _sides(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not (question.asks_count and re.search(r"\b(?:corners?|sides?|vertices|edges)\b", question.text)):
        return None
    meant = find_things(question, sight, things)
    if not meant:
        return None
    largest = max(meant, key=lambda t: t.outline.area)
    sides = SIDES.get(largest.shape or "") or largest.outline.corners
    return Answer(str(sides), _evidence("corners of its outline", [largest])) if sides else None


def _compare_counts(question: ParsedQuestion, _: Sight, things: Things, __: Choices) -> Answer | None:
    match = re.search(r"(more|fewer|less) (.*) than (.*)", question.text)
    if not match:
        return None
    first, second = read_phrase(match[2]), read_phrase(match[3])
    if not first.is_of_things or not second.is_of_things:
        return None
    n_first, n_second = len(select_things(first, things)), len(select_things(second, things))
    evidence = {"rule": "two counts compared", first.text: n_first, second.text: n_second}
    if question.asks_count:
        return Answer(str(abs(n_first - n_second)), evidence)
    holds = n_first > n_second if match[1] == "more" else n_first < n_second
    return Answer("yes" if holds else "no", evidence) if question.is_yes_no else None


def _yes_no(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not question.is_yes_no or not question.subject.is_of_things or not things:
        return None
    meant = select_things(question.subject, things)
    if question.anchor is not None and not question.text.startswith(("is there", "are there")):
        anchors = select_things(question.anchor, things)
        if len(meant) != 1 or len(anchors) != 1:
            return None
        holds = is_in_relation(question.relation, meant[0], anchors[0])
        evidence = _evidence(f"is it {question.relation}", [*meant, *anchors])
    elif re.search(r"^(?:are|is) (?:all|every)\b", question.text):
        holds, evidence = len(meant) == len(things), _evidence("all of them", things)
    else:
        meant = find_things(question, sight, things) if question.relation else meant
        holds, evidence = bool(meant), {**_evidence("looked for", meant), "seen": len(things)}
    return Answer("yes" if holds != question.is_negated else "no", evidence)


def _count(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not question.asks_count:
        return None
    if re.search(r"how many (?:different )?colou?rs", question.text) and things:
        return Answer(str(len({t.colour for t in things})), _evidence("distinct colours", things))
    asked = re.search(r"(?:how many|number of|count(?: the)?)((?: \S+){1,5})", question.text)
    noun = read_phrase(re.split(r"\b(?:are|is|do|does|can|were|in|have)\b", asked[1])[0]) if asked else None
    if noun is None or not noun.is_of_things or not things:
        return None
    meant = find_things(question, sight, things) if question.relation else select_things(noun, things)
    return Answer(str(len(meant)), _evidence(f"counted {noun.text.strip()!r}", meant))


def _place(question: ParsedQuestion, sight: Sight, things: Things, choices: Choices) -> Answer | None:
    if not question.asks_place or not question.subject.is_of_things:
        return None
    meant = select_things(question.subject, things)
    if len(meant) != 1:
        return None
    x = meant[0].patch.cx / sight.image.width
    y = meant[0].patch.cy / sight.image.height
    evidence = {**_evidence("place of its middle", meant), "at": [round(x, 2), round(y, 2)]}
    across = "left" if x < 0.4 else "right" if x > 0.6 else ""
    down = "top" if y < 0.4 else "bottom" if y > 0.6 else ""
    if not choices:
        return Answer(f"{down} {across}".strip() or "centre", evidence)
    wanted = {across, down} - {""}
    best = [text for text in choices.values() if {*read_phrase(text).places} - {"middle"} == wanted]
    return Answer(best[0], evidence) if len(best) == 1 else None


def _shape(question: ParsedQuestion, sight: Sight, things: Things, choices: Choices) -> Answer | None:
    names_shapes = choices and all(read_phrase(text).shapes for text in choices.values())
    if not (question.asks_shape or names_shapes) or question.asks_colour or question.is_yes_no:
        return None
    if re.search(r"\b(?:often|common|kinds?|types?|frequent)", question.text) and question.subject.extreme:
        counts = Counter(t.shape for t in things if t.shape)
        ranked = sorted(counts, key=lambda name: -question.subject.extreme * counts[name])
        return Answer(ranked[0], {"rule": "counted by shape", "counts": dict(counts)}) if ranked else None
    meant = [t for t in find_things(question, sight, things) if t.shape]
    names = {t.shape for t in meant}
    if len(names) != 1:
        return None
    return Answer(str(meant[0].shape), _evidence("name of its outline", meant))


def _colour(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not question.asks_colour or not question.subject.is_of_things:
        return None
    meant = find_things(question, sight, things)
    names = {t.colour for t in meant}
    if len(names) != 1:
        return None
    return Answer(meant[0].colour, _evidence("name of its colour", meant))


def _which(question: ParsedQuestion, sight: Sight, things: Things, choices: Choices) -> Answer | None:
    """Read "which circle is the largest?", with options that name colours."""
    if not choices or not question.subject.is_of_things or not question.text.startswith(("which", "what")):
        return None
    meant = find_things(question, sight, things)
    if len(meant) != 1:
        return None
    fits = [text for text in choices.values() if select_things(read_phrase(text), meant)]
    return Answer(fits[0], _evidence("the one that fits", meant)) if len(fits) == 1 else None


# -- Which things a description means: by colour, shape, place, size, and by how they stand to others

Things = list[Thing]


def select_things(phrase: Phrase, things: Things) -> Things:
    """The things a description fits; all of them for "shapes"."""
    if phrase.colours:
        things = [t for t in things if t.colour in phrase.colours]
    if phrase.shapes:
        exact = [t for t in things if t.shape in phrase.shapes]
        # A square is a rectangle and a circle an ellipse, unless there are others that fit better.
        wider = {"rectangle": "square", "ellipse": "circle", "square": "diamond"}
        things = exact or [t for t in things if t.shape in {wider.get(name) for name in phrase.shapes}]
    return things


def narrow_things(phrase: Phrase, things: Things, sight: Sight) -> Things:
    """Of the things that fit, those at the place or of the size the description names."""
    if len(things) < 2:
        return things
    if side := re.search(r"from the (left|right|top|bottom)", phrase.text):  # "the second from the left"
        things = sorted(things, key=_ORDERS[side[1]])
    elif phrase.places:
        return _at(phrase, things, sight)
    elif phrase.extreme:
        things = sorted(things, key=lambda t: -phrase.extreme * t.outline.area)
    else:
        return things
    return things[phrase.rank - 1 : phrase.rank]


_ORDERS = {
    "left": lambda t: t.patch.cx,
    "right": lambda t: -t.patch.cx,
    "top": lambda t: t.patch.cy,
    "bottom": lambda t: -t.patch.cy,
}


def _at(phrase: Phrase, things: Things, sight: Sight) -> Things:
    """The thing furthest to the named side, corner or middle."""
    width, height = sight.image.width, sight.image.height
    x = 0.0 if "left" in phrase.places else width if "right" in phrase.places else None
    y = 0.0 if "top" in phrase.places else height if "bottom" in phrase.places else None
    if x is None and y is None:
        x, y = width / 2, height / 2
    if "middle" in phrase.places:
        x, y = (width / 2 if x is None else x), (height / 2 if y is None else y)

    def offsets(thing: Thing) -> tuple[float, float]:
        across = abs(thing.patch.cx - x) / width if x is not None else 0.0
        down = abs(thing.patch.cy - y) / height if y is not None else 0.0
        return across, down

    nearest = min(things, key=lambda thing: sum(offsets(thing)))
    # Something is always leftmost; a corner or the middle may be empty.
    is_open = x is None or y is None
    return [nearest] if is_open or max(offsets(nearest)) < 0.45 else []


def select_related(question: ParsedQuestion, subjects: Things, anchors: Things) -> Things:
    """Those subjects that stand as asked to the anchor, the nearest first."""
    if question.relation == "between":
        return _between(subjects, anchors)
    if not anchors:
        return []
    anchor = anchors[0]
    fit = [t for t in subjects if t is not anchor and is_in_relation(question.relation, t, anchor)]
    return sorted(fit, key=lambda t: math.dist(t.middle, anchor.middle))


def is_in_relation(relation: str, thing: Thing, anchor: Thing) -> bool:
    """Whether a thing is left of, right of, above, below or inside another."""
    a, b = thing.patch, anchor.patch
    if relation == "inside":
        return b.x0 <= a.x0 and b.y0 <= a.y0 and a.x1 <= b.x1 and a.y1 <= b.y1
    dx, dy = a.cx - b.cx, a.cy - b.cy
    return {
        "left": dx < -abs(dy) * 0.3,
        "right": dx > abs(dy) * 0.3,
        "above": dy < -abs(dx) * 0.3,
        "below": dy > abs(dx) * 0.3,
    }.get(relation, False)


def _between(subjects: Things, anchors: Things) -> Things:
    if len(anchors) != 2:
        return []
    one, other = (t.middle for t in anchors)
    gap = math.dist(one, other)
    return [
        t
        for t in subjects
        if math.dist(t.middle, one) + math.dist(t.middle, other) < 1.5 * gap and t not in anchors
    ]


def find_things(question: ParsedQuestion, sight: Sight, things: Things) -> Things:
    """The things the question is about."""
    subjects = select_things(question.subject, things)
    if question.relation and question.anchor is not None:
        anchors = select_things(question.anchor, things) if question.anchor.is_of_things else []
        if question.relation != "between":
            anchors = narrow_things(question.anchor, anchors, sight)[:1]
        nearest = select_related(question, subjects, anchors)
        return nearest if question.asks_count else nearest[:1]
    if re.search(r"\b(?:inner|inside)\b", question.subject.text):
        return [t for t in subjects if any(o is not t and is_in_relation("inside", t, o) for o in things)]
    return narrow_things(question.subject, subjects, sight)
