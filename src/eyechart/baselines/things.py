"""Questions about shapes: colour, kind, number, place, presence; and which of several places is meant."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from eyechart.baselines import Answer
from eyechart.baselines.question import Choices, ParsedQuestion, Phrase, read_phrase
from eyechart.baselines.shapes import SIDES, name_colour
from eyechart.baselines.sight import Box, Patch, Sight

MAX_THINGS = 120  # more patches are texture, not things to count
Things = Sequence[Patch]
Place = TypeVar("Place", bound=Box)


def answer_about_things(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from the shapes in the image, if the question is about shapes."""
    if not sight.is_drawing or len(sight.things) > MAX_THINGS:
        return None
    if question.asks_colour and (answer := _of_ground(question, sight)) is not None:
        return answer
    subject, anchor = question.subject, question.anchor
    anchors = select_things(anchor, sight.things) if anchor and anchor.is_of_things else []
    meant = find_meant(question, sight, select_things(subject, sight.things), anchors)
    match = re.search(r"(more|fewer|less) (.*) than (.*)", question.text)
    if match and (question.is_yes_no or question.asks_count):
        return _compare(question, match[1], read_phrase(match[2]), read_phrase(match[3]), sight.things)
    if question.is_yes_no:
        return _yes_no(question, sight.things, meant) if subject.is_of_things and sight.things else None
    if question.asks_count:
        return _count(question, sight.things, meant)
    if question.asks_place:
        return _place(sight, meant[0], choices) if subject.is_of_things and len(meant) == 1 else None
    return _property(question, sight.things, meant, choices)


def _evidence(rule: str, things: Things) -> dict[str, object]:
    return {"rule": rule, "n": len(things), "things": [thing.describe() for thing in things[:8]]}


# -- The rules: each gives an answer or None


def _of_ground(question: ParsedQuestion, sight: Sight) -> Answer | None:
    """The colour of the background or of the letters. In an empty image, only the background can be meant."""
    if re.search(r"\bbackground\b" if sight.things else r"\b(?:background|picture|image)\b", question.text):
        rgb = sight.patches.background
        return Answer(name_colour(rgb), {"rule": "most common colour of the rim", "rgb": list(rgb)})
    if not re.search(r"\b(?:letters?|text|words?|writing|font)\b", question.text):
        return None
    inks: Counter[str] = Counter()
    for patch in sight.patches.patches:
        for word in sight.words:
            if word.holds(patch) and patch.width < 0.8 * word.width:
                inks[patch.colour] += patch.area
    rule = "colour of the patches that are letters"
    return Answer(inks.most_common(1)[0][0], {"rule": rule, "areas": dict(inks)}) if inks else None


def _compare(
    question: ParsedQuestion, how: str, first: Phrase, second: Phrase, things: Things
) -> Answer | None:
    if not first.is_of_things or not second.is_of_things:
        return None
    more = len(select_things(first, things)) - len(select_things(second, things))
    evidence = {"rule": "two counts compared", "first": first.text, "second": second.text, "more": more}
    if question.asks_count:
        return Answer(str(abs(more)), evidence)
    return Answer("yes" if (more > 0 if how == "more" else more < 0) else "no", evidence)


def _yes_no(question: ParsedQuestion, things: Things, meant: Things) -> Answer | None:
    subjects = select_things(question.subject, things)
    if question.anchor is not None and not question.text.startswith(("is there", "are there")):
        anchors = select_things(question.anchor, things)
        if len(subjects) != 1 or len(anchors) != 1:
            return None
        holds = is_in_relation(question.relation, subjects[0], anchors[0])
        evidence = _evidence(f"is it {question.relation}", [*subjects, *anchors])
    elif re.search(r"^(?:are|is) (?:all|every)\b", question.text):
        holds, evidence = len(subjects) == len(things), _evidence("all of them", things)
    else:
        found = meant if question.relation else subjects
        holds, evidence = bool(found), {**_evidence("looked for", found), "seen": len(things)}
    return Answer("yes" if holds != question.is_negated else "no", evidence)


def _count(question: ParsedQuestion, things: Things, meant: Things) -> Answer | None:
    """How many there are, or how many corners."""
    if meant and re.search(r"\b(?:corners?|sides?|vertices|edges)\b", question.text):
        largest = max(meant, key=lambda t: t.size)
        sides = SIDES.get(largest.shape or "") or largest.outline.corners
        return Answer(str(sides), _evidence("corners of its outline", [largest])) if sides else None
    asked = re.search(r"(?:how many|number of|count(?: the)?)((?: \S+){1,5})", question.text)
    noun = read_phrase(re.split(r"\b(?:are|is|do|does|can|were|in|have)\b", asked[1])[0]) if asked else None
    if noun is None or not noun.is_of_things or not things:
        return None
    counted = meant if question.relation else select_things(noun, things)
    return Answer(str(len(counted)), _evidence(f"counted {noun.text.strip()!r}", counted))


def _place(sight: Sight, thing: Patch, choices: Choices) -> Answer | None:
    x, y = thing.cx / sight.width, thing.cy / sight.height
    evidence = {**_evidence("place of its middle", [thing]), "at": [round(x, 2), round(y, 2)]}
    across = "left" if x < 0.4 else "right" if x > 0.6 else ""
    down = "top" if y < 0.4 else "bottom" if y > 0.6 else ""
    if not choices:
        return Answer(f"{down} {across}".strip() or "centre", evidence)
    wanted = {across, down} - {""}
    best = [text for text in choices.values() if {*read_phrase(text).places} - {"middle"} == wanted]
    return Answer(best[0], evidence) if len(best) == 1 else None


def _property(question: ParsedQuestion, things: Things, meant: Things, choices: Choices) -> Answer | None:
    """The colour or the shape of what is meant, the most or least frequent shape, or the option that fits."""
    are_shapes = bool(choices) and all(read_phrase(text).shapes for text in choices.values())
    asks_shape = not question.asks_colour and (question.asks_shape or are_shapes)
    extreme, names, what = question.subject.extreme, set[str](), "option"
    if asks_shape and extreme and re.search(r"\b(?:often|common|kinds?|types?|frequent)", question.text):
        counts = Counter(t.shape for t in things if t.shape)
        best = max(counts, key=lambda name: extreme * counts[name], default=None)
        return Answer(best, {"rule": "counted by shape", "counts": dict(counts)}) if best else None
    if asks_shape:
        names, what = {t.shape for t in meant if t.shape}, "outline"
    elif question.asks_colour and question.subject.is_of_things:
        names, what = {t.colour for t in meant}, "colour"
    elif question.subject.is_of_things and question.text.startswith(("which", "what")) and len(meant) == 1:
        # "Which circle is the largest?", with options that name colours.
        names = {text for text in choices.values() if select_things(read_phrase(text), meant)}
    return Answer(names.pop(), _evidence(f"name of its {what}", meant)) if len(names) == 1 else None


# -- Which of several a description means: by colour, shape, place, size, and by how they stand to others


def select_things(phrase: Phrase, things: Things) -> Things:
    """The things a description fits; all of them for "shapes"."""
    if phrase.colours:
        things = [t for t in things if t.colour in phrase.colours]
    if phrase.shapes:
        things = [t for t in things if t.shape in phrase.shapes]
    return things


def find_meant(
    question: ParsedQuestion, sight: Sight, subjects: Sequence[Place], anchors: Sequence[Place]
) -> Sequence[Place]:
    """Those of the subjects, shapes or words, that stand to the anchors or lie as the question says."""
    if question.anchor is None:
        if not re.search(r"\b(?:inner|inside)\b", question.subject.text):
            return _narrow(question.subject, subjects, sight)
        return [
            one
            for one in subjects
            if any(o is not one and is_in_relation("inside", one, o) for o in subjects)
        ]
    if question.relation == "between":
        near = _between(subjects, anchors)
    else:
        anchors = _narrow(question.anchor, anchors, sight)[:1]
        near = [
            one
            for anchor in anchors
            for one in sorted(subjects, key=lambda one: _distance(one, anchor))
            if one is not anchor and is_in_relation(question.relation, one, anchor)
        ]
    return near if question.asks_count else near[:1]


def _narrow(phrase: Phrase, found: Sequence[Place], sight: Sight) -> Sequence[Place]:
    """Of those that fit, the ones at the place or of the size the description names."""
    if len(found) < 2:
        return found
    if side := re.search(r"from the (left|right|top|bottom)", phrase.text):  # "the second from the left"
        sign = 1 if side[1] in ("left", "top") else -1
        ordered = sorted(found, key=lambda one: sign * (one.cx if side[1] in ("left", "right") else one.cy))
    elif phrase.places:
        return _at(phrase.places, found, sight)
    elif phrase.extreme:
        ordered = sorted(found, key=lambda one: -phrase.extreme * one.size)
    else:
        return found
    return ordered[phrase.rank - 1 : phrase.rank]


def _at(places: tuple[str, ...], found: Sequence[Place], sight: Sight) -> list[Place]:
    """The one furthest to the named side, corner or middle."""
    x = 0.0 if "left" in places else 1.0 if "right" in places else None
    y = 0.0 if "top" in places else 1.0 if "bottom" in places else None
    if "middle" in places:
        x, y = (0.5 if x is None else x), (0.5 if y is None else y)

    def offsets(one: Box) -> tuple[float, float]:
        across, down = one.cx / sight.width, one.cy / sight.height
        return (0.0 if x is None else abs(across - x)), (0.0 if y is None else abs(down - y))

    nearest = min(found, key=lambda one: sum(offsets(one)))
    return [nearest]


def is_in_relation(relation: str, one: Box, anchor: Box) -> bool:
    """Whether something is left of, right of, above, below or inside something else."""
    if relation == "inside":
        is_across = anchor.x0 <= one.x0 and one.x1 <= anchor.x1
        return is_across and anchor.y0 <= one.y0 and one.y1 <= anchor.y1
    dx, dy = one.cx - anchor.cx, one.cy - anchor.cy
    directions = {"left": (-dx, dy), "right": (dx, dy), "above": (-dy, dx), "below": (dy, dx)}
    ahead, aside = directions.get(relation, (0.0, 0.0))
    return ahead > 0.3 * abs(aside)


def _between(subjects: Sequence[Place], anchors: Sequence[Place]) -> list[Place]:
    if len(anchors) != 2:
        return []
    one, other = anchors
    gap = 1.5 * _distance(one, other)
    near = [t for t in subjects if _distance(t, one) + _distance(t, other) < gap]
    return [t for t in near if t is not one and t is not other]


def _distance(one: Box, other: Box) -> float:
    return math.dist((one.cx, one.cy), (other.cx, other.cy))
