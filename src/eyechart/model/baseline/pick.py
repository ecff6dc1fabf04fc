"""Which things a description means: by colour, shape, place, size, and by how they stand to others."""

from __future__ import annotations

import re

from eyechart.model.baseline.ask import Phrase, Question
from eyechart.model.baseline.sight import Sight, Thing

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
    if (rank := _rank_from_side(phrase)) is not None:
        side, position = rank
        ordered = sorted(things, key=_ORDERS[side])
        return [ordered[position - 1]] if position <= len(ordered) else []
    if phrase.places:
        return _at(phrase, things, sight)
    if phrase.extreme:
        ordered = sorted(things, key=lambda t: -phrase.extreme * t.outline.area)
        return [ordered[phrase.rank - 1]] if phrase.rank <= len(ordered) else []
    return things


_ORDERS = {
    "left": lambda t: t.patch.cx,
    "right": lambda t: -t.patch.cx,
    "top": lambda t: t.patch.cy,
    "bottom": lambda t: -t.patch.cy,
}


def _rank_from_side(phrase: Phrase) -> tuple[str, int] | None:
    """Read "the second shape from the left"."""
    match = re.search(r"from the (left|right|top|bottom)", phrase.text)
    return (match[1], phrase.rank) if match else None


def _at(phrase: Phrase, things: Things, sight: Sight) -> Things:
    """The thing furthest to the named side, corner or middle."""
    width, height = sight.picture.width, sight.picture.height
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


def select_related(question: Question, subjects: Things, anchors: Things) -> Things:
    """Those subjects that stand as asked to the anchor, the nearest first."""
    if question.relation == "between":
        return _between(subjects, anchors)
    if not anchors:
        return []
    anchor = anchors[0]
    fit = [t for t in subjects if t is not anchor and holds_relation(question.relation, t, anchor)]
    return sorted(
        fit, key=lambda t: (t.patch.cx - anchor.patch.cx) ** 2 + (t.patch.cy - anchor.patch.cy) ** 2
    )


def holds_relation(relation: str, thing: Thing, anchor: Thing) -> bool:
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
    (a, b) = (t.patch for t in anchors)
    inner = []
    for thing in subjects:
        p = thing.patch
        along = (p.cx - a.cx) * (b.cx - a.cx) + (p.cy - a.cy) * (b.cy - a.cy)
        length = (b.cx - a.cx) ** 2 + (b.cy - a.cy) ** 2
        if thing not in anchors and 0.1 * length < along < 0.9 * length:
            inner.append(thing)
    return inner


def find_things(question: Question, sight: Sight, things: Things) -> Things:
    """The things the question is about."""
    subjects = select_things(question.subject, things)
    if question.relation and question.anchor is not None:
        anchors = select_things(question.anchor, things) if question.anchor.is_of_things else []
        if question.relation == "between" and len(question.anchor.shapes) + len(question.anchor.colours) < 2:
            return []
        if question.relation != "between" and len(anchors) != 1:
            anchors = narrow_things(question.anchor, anchors, sight)[:1] if anchors else []
        nearest = select_related(question, subjects, anchors)
        return nearest if question.asks_count else nearest[:1]
    if re.search(r"\b(?:inner|inside)\b", question.subject.text):
        return [t for t in subjects if any(o is not t and holds_relation("inside", t, o) for o in things)]
    return narrow_things(question.subject, subjects, sight)
