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
Things = list[Thing]


def answer_about_things(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from the shapes in the image, if the question is about shapes."""
    if not sight.is_drawing or len(sight.things) > MAX_THINGS:
        return None
    things = list(sight.things)
    meant = find_things(question, sight, things)
    if (answer := _of_ground(question, sight, things)) is not None:
        return answer
    if question.is_yes_no or question.asks_count:
        return _count(question, things, meant)
    if question.asks_place:
        return _place(question, sight, meant, choices) if question.subject.is_of_things else None
    return _kind(question, things, choices) or _property(question, meant, choices)


def _evidence(rule: str, things: Things) -> dict[str, object]:
    return {"rule": rule, "n": len(things), "things": [thing.describe() for thing in things[:8]]}


# -- The rules: each gives an answer or None


def _of_ground(question: ParsedQuestion, sight: Sight, things: Things) -> Answer | None:
    """The colour of the background or of the letters. In an empty image, only the background can be meant."""
    if not question.asks_colour:
        return None
    if re.search(r"\bbackground\b" if things else r"\b(?:background|picture|image)\b", question.text):
        rgb = sight.patches.background
        return Answer(name_colour(rgb), {"rule": "most common colour of the rim", "rgb": list(rgb)})
    if not re.search(r"\b(?:letters?|text|words?|writing|font)\b", question.text):
        return None
    inks: Counter[str] = Counter()
    for patch in sight.patches.patches:
        for word in sight.words:
            is_inside = word.x0 <= patch.cx <= word.x1 and word.y0 <= patch.cy <= word.y1
            if is_inside and patch.width < 0.8 * word.width:
                inks[name_colour(patch.rgb)] += patch.area
    rule = "colour of the patches that are letters"
    return Answer(inks.most_common(1)[0][0], {"rule": rule, "areas": dict(inks)}) if inks else None


def _count(question: ParsedQuestion, things: Things, meant: Things) -> Answer | None:
    """How many, how many more, how many corners or colours, and whether there are any."""
    if (match := re.search(r"(more|fewer|less) (.*) than (.*)", question.text)) is not None:
        return _compare(question, match[1], read_phrase(match[2]), read_phrase(match[3]), things)
    if question.is_yes_no:
        return _yes_no(question, things, meant) if question.subject.is_of_things and things else None
    if meant and re.search(r"\b(?:corners?|sides?|vertices|edges)\b", question.text):
        largest = max(meant, key=lambda t: t.outline.area)
        sides = SIDES.get(largest.shape or "") or largest.outline.corners
        return Answer(str(sides), _evidence("corners of its outline", [largest])) if sides else None
    if things and re.search(r"how many (?:different )?colou?rs", question.text):
        return Answer(str(len({t.colour for t in things})), _evidence("distinct colours", things))
    asked = re.search(r"(?:how many|number of|count(?: the)?)((?: \S+){1,5})", question.text)
    noun = read_phrase(re.split(r"\b(?:are|is|do|does|can|were|in|have)\b", asked[1])[0]) if asked else None
    if noun is None or not noun.is_of_things or not things:
        return None
    counted = meant if question.relation else select_things(noun, things)
    return Answer(str(len(counted)), _evidence(f"counted {noun.text.strip()!r}", counted))


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


def _place(question: ParsedQuestion, sight: Sight, meant: Things, choices: Choices) -> Answer | None:
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


def _kind(question: ParsedQuestion, things: Things, choices: Choices) -> Answer | None:
    """Which kind of shape is most frequent, or least."""
    if not (question.asks_shape or _are_shapes(choices)) or not question.subject.extreme:
        return None
    if not re.search(r"\b(?:often|common|kinds?|types?|frequent)", question.text):
        return None
    counts = Counter(t.shape for t in things if t.shape)
    ranked = sorted(counts, key=lambda name: -question.subject.extreme * counts[name])
    return Answer(ranked[0], {"rule": "counted by shape", "counts": dict(counts)}) if ranked else None


def _are_shapes(choices: Choices) -> bool:
    return bool(choices) and all(read_phrase(text).shapes for text in choices.values())


def _property(question: ParsedQuestion, meant: Things, choices: Choices) -> Answer | None:
    """The colour or the shape of what is meant, or the option that describes it."""
    if question.asks_colour and question.subject.is_of_things:
        names, what = {t.colour for t in meant}, "colour"
    elif not question.asks_colour and (question.asks_shape or _are_shapes(choices)):
        names, what = {t.shape for t in meant if t.shape}, "outline"
    elif question.subject.is_of_things and question.text.startswith(("which", "what")) and len(meant) == 1:
        # "Which circle is the largest?", with options that name colours.
        names = {text for text in choices.values() if select_things(read_phrase(text), meant)}
        what = "option"
    else:
        return None
    return Answer(str(names.pop()), _evidence(f"name of its {what}", meant)) if len(names) == 1 else None


# -- Which things a description means: by colour, shape, place, size, and by how they stand to others


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
        sign = 1 if side[1] in ("left", "top") else -1
        axis = side[1] in ("top", "bottom")
        things = sorted(things, key=lambda t: sign * t.middle[axis])
    elif phrase.places:
        return _at(phrase.places, things, sight)
    elif phrase.extreme:
        things = sorted(things, key=lambda t: -phrase.extreme * t.outline.area)
    else:
        return things
    return things[phrase.rank - 1 : phrase.rank]


def _at(places: tuple[str, ...], things: Things, sight: Sight) -> Things:
    """The thing furthest to the named side, corner or middle."""
    x = 0.0 if "left" in places else 1.0 if "right" in places else None
    y = 0.0 if "top" in places else 1.0 if "bottom" in places else None
    if "middle" in places or (x is None and y is None):
        x, y = (0.5 if x is None else x), (0.5 if y is None else y)

    def offsets(thing: Thing) -> tuple[float, float]:
        across, down = thing.patch.cx / sight.image.width, thing.patch.cy / sight.image.height
        return (0.0 if x is None else abs(across - x)), (0.0 if y is None else abs(down - y))

    nearest = min(things, key=lambda thing: sum(offsets(thing)))
    # Something is always leftmost; a corner or the middle may be empty.
    is_open = x is None or y is None
    return [nearest] if is_open or max(offsets(nearest)) < 0.45 else []


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


def find_things(question: ParsedQuestion, sight: Sight, things: Things) -> Things:
    """The things the question is about."""
    subjects = select_things(question.subject, things)
    if question.anchor is None:
        if re.search(r"\b(?:inner|inside)\b", question.subject.text):
            return [t for t in subjects if any(o is not t and is_in_relation("inside", t, o) for o in things)]
        return narrow_things(question.subject, subjects, sight)
    anchors = select_things(question.anchor, things) if question.anchor.is_of_things else []
    if question.relation == "between":
        near = _between(subjects, anchors)
    else:
        anchors = narrow_things(question.anchor, anchors, sight)[:1]
        near = [
            t for t in subjects for o in anchors if t is not o and is_in_relation(question.relation, t, o)
        ]
        near.sort(key=lambda t: math.dist(t.middle, anchors[0].middle))
    return near if question.asks_count else near[:1]


def _between(subjects: Things, anchors: Things) -> Things:
    if len(anchors) != 2:
        return []
    one, other = (t.middle for t in anchors)
    gap = 1.5 * math.dist(one, other)
    near = [t for t in subjects if math.dist(t.middle, one) + math.dist(t.middle, other) < gap]
    return [t for t in near if t not in anchors]
