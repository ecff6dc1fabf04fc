"""Questions about shapes: colour, kind, number, place, presence."""

from __future__ import annotations

import re
from collections import Counter

from eyechart.baselines import Answer
from eyechart.baselines.question import ANYTHING, Choices, ParsedQuestion, Phrase, read_phrase, split_words
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
    meant = r"\bbackground\b|\bbackdrop\b" + ("" if things else r"|\b(?:picture|image|canvas|screen)\b")
    if not (question.asks_colour and re.search(meant, question.text)):
        return None
    return Answer(
        name_colour(sight.background),
        {"rule": "most common colour of the rim", "rgb": list(sight.background)},
    )


def _ink(question: ParsedQuestion, sight: Sight, _: Things, __: Choices) -> Answer | None:
    if not (question.asks_colour and re.search(r"\b(?:letters?|text|words?|writing|font)\b", question.text)):
        return None
    inks: Counter[str] = Counter()
    for patch in sight.patches.patches:
        for word in sight.words:
            is_inside = word.x0 <= patch.cx <= word.x1 and word.y0 <= patch.cy <= word.y1
            if is_inside and patch.height <= 1.2 * word.height and patch.width < 0.8 * (word.x1 - word.x0):
                inks[name_colour(patch.rgb)] += patch.area
    if not inks:
        return None
    return Answer(
        inks.most_common(1)[0][0], {"rule": "colour of the patches that are letters", "areas": dict(inks)}
    )


def _sides(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not (question.asks_count and re.search(r"\b(?:corners?|sides?|vertices|edges)\b", question.text)):
        return None
    meant = find_things(question, sight, [t for t in things if t.outline.corners or t.shape])
    meant = meant or ([max(things, key=lambda t: t.outline.area)] if things else [])
    if len(meant) != 1:
        meant = sorted(meant, key=lambda t: -t.outline.area)[:1]
    if not meant:
        return None
    sides = SIDES.get(meant[0].shape or "") or meant[0].outline.corners
    return Answer(str(sides), _evidence("corners of its outline", meant)) if sides else None


def _compare_counts(question: ParsedQuestion, _: Sight, things: Things, __: Choices) -> Answer | None:
    match = re.search(r"(more|fewer|less) (.*) than (.*)", question.text)
    if not match:
        return None
    first, second = read_phrase(match[2]), read_phrase(match[3])
    if not first.is_of_things or not (second.colours or second.shapes):
        return None
    if not second.shapes and first.shapes:
        second = read_phrase(f"{match[3]} {first.shapes[0]}")
    n_first, n_second = len(select_things(first, things)), len(select_things(second, things))
    evidence = {"rule": "two counts compared", first.text: n_first, second.text: n_second}
    if question.asks_count:
        return Answer(str(abs(n_first - n_second)), evidence)
    holds = n_first > n_second if match[1] == "more" else n_first < n_second
    return Answer("yes" if holds else "no", evidence) if question.is_yes_no else None


def _yes_no(question: ParsedQuestion, sight: Sight, things: Things, _: Choices) -> Answer | None:
    if not question.is_yes_no or not question.subject.is_of_things or not things:
        return None
    if (
        question.relation
        and question.anchor is not None
        and not question.text.startswith(("is there", "are there"))
    ):
        return _yes_no_relation(question, things)
    if match := re.search(r"^(?:are|is) (?:all|every)\b(.*)", question.text):
        words = split_words(match[1])
        named = [w for w in words if w.removesuffix("s") not in ANYTHING]
        phrase = read_phrase(" ".join(named))
        return Answer(
            _say(len(select_things(phrase, things)) == len(things), question),
            _evidence("all of them", things),
        )
    meant = (
        find_things(question, sight, things) if question.relation else select_things(question.subject, things)
    )
    return Answer(_say(bool(meant), question), {**_evidence("looked for", meant), "seen": len(things)})


def _yes_no_relation(question: ParsedQuestion, things: Things) -> Answer | None:
    assert question.anchor is not None
    subjects, anchors = select_things(question.subject, things), select_things(question.anchor, things)
    if len(subjects) != 1 or len(anchors) != 1:
        return None
    holds = is_in_relation(question.relation, subjects[0], anchors[0])
    return Answer(_say(holds, question), _evidence(f"is it {question.relation}", [*subjects, *anchors]))


def _say(holds: bool, question: ParsedQuestion) -> str:
    return "yes" if holds != question.is_negated else "no"


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
    wanted = {*filter(None, (across, down))} or {"middle"}
    best = [
        text for text in choices.values() if set(read_phrase(text).places) - {"middle"} == wanted - {"middle"}
    ]
    if len(best) != 1:  # options that name one axis only
        named = {text: set(read_phrase(text).places) for text in choices.values()}
        best = [text for text, places in named.items() if places and places <= wanted]
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
    return Answer(
        meant[0].colour, {**_evidence("name of its colour", meant), "rgb": list(meant[0].patch.rgb)}
    )


def _which(question: ParsedQuestion, sight: Sight, things: Things, choices: Choices) -> Answer | None:
    """Read "which circle is the largest?", with options that name colours."""
    if not choices or not question.subject.is_of_things or not question.text.startswith(("which", "what")):
        return None
    if not all(read_phrase(text).colours or read_phrase(text).shapes for text in choices.values()):
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
    return sorted(
        fit, key=lambda t: (t.patch.cx - anchor.patch.cx) ** 2 + (t.patch.cy - anchor.patch.cy) ** 2
    )


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
    (a, b) = (t.patch for t in anchors)
    inner = []
    for thing in subjects:
        p = thing.patch
        along = (p.cx - a.cx) * (b.cx - a.cx) + (p.cy - a.cy) * (b.cy - a.cy)
        length = (b.cx - a.cx) ** 2 + (b.cy - a.cy) ** 2
        if thing not in anchors and 0.1 * length < along < 0.9 * length:
            inner.append(thing)
    return inner


def find_things(question: ParsedQuestion, sight: Sight, things: Things) -> Things:
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
        return [t for t in subjects if any(o is not t and is_in_relation("inside", t, o) for o in things)]
    return narrow_things(question.subject, subjects, sight)
