"""Charts: bars, slices and lines, with the words beside them, become labelled values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from eyechart.baselines import Answer
from eyechart.baselines.question import (
    Choices,
    Fact,
    ParsedQuestion,
    answer_from_facts,
    measure_mention,
    read_number,
)
from eyechart.baselines.sight import Box, Patch, Sight


def answer_from_chart(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from a chart, if there is one."""
    if not sight.is_drawing:
        return None
    facts = next((found for read in (_read_bars, _read_pie, _read_line) if len(found := read(sight)) > 1), [])
    if not question.asks_colour:
        return answer_from_facts(question, facts, choices) if facts else None
    named = [f for f in facts if any(measure_mention(said, question) >= 0.5 for said in (f.label, f.series))]
    colours = {fact.colour for fact in named}
    if len(colours) != 1:
        return None
    evidence = {"rule": "colour of the labelled part", "read as": facts[0].source, "label": named[0].label}
    return Answer(colours.pop(), evidence)


# -- Bars


def _read_bars(sight: Sight) -> list[Fact]:
    """Bars on one base line, each with the label below it and its value by print or by the axis."""
    bars = {
        Box(p.x0, p.y0, p.x1, p.y1): p.colour
        for p in sight.figures
        if p.fill > 0.9 and min(p.width, p.height) > 4
    }
    standing = _on_one_line(bars)
    lying = _on_one_line({_turn(bar): colour for bar, colour in bars.items()})
    if not standing and not lying:
        return []  # before any text is read, which takes far longer
    keys = _legend(sight)
    turned = [_turn(word) for word in sight.words]
    return max(_bar_facts(standing, sight.words, keys), _bar_facts(lying, turned, keys), key=len)


def _turn(box: Box) -> Box:
    """The box turned a quarter left: horizontal bars become vertical ones."""
    return Box(box.y0, -box.x1, box.y1, -box.x0, box.text)


Bars = Mapping[Box, str]  # with their colours


def _on_one_line(bars: Bars) -> Bars:
    """The largest set of bars that end at one base line and are about equally wide, from the left."""
    groups = (
        [b for b in bars if abs(b.y1 - bar.y1) <= 3 and 0.8 < b.width / bar.width < 1.25] for bar in bars
    )
    best = max(groups, key=len, default=[])
    if len({round(bar.y0) for bar in best}) < 2:
        return {}
    return {bar: bars[bar] for bar in sorted(best, key=lambda bar: bar.x0)}


def _bar_facts(bars: Bars, words: Sequence[Box], keys: Mapping[str, str]) -> list[Fact]:
    if not bars:
        return []
    base, wide = next((bar.y1, bar.width) for bar in bars)
    below = [w for w in words if w.y0 > base - 3 or (w.cy > base and read_number(w.text) is None)]
    labels = _first_row(below)
    to_value = _read_axis(words, min(bar.x0 for bar in bars), max(bar.x1 for bar in bars))
    facts = []
    for bar, colour in bars.items():
        label = min(labels, key=lambda w: abs(w.cx - bar.cx), default=bar)  # a bar without one still counts
        name = label.text if abs(label.cx - bar.cx) <= 1.4 * wide else ""
        text = _printed_value(bar, words)
        # Without a scale the height still tells which bar is larger, but gives no number.
        value: float | None = base - bar.y0
        if text:
            value = read_number(text)
        elif to_value:
            value = to_value(bar.y0)
            text = _round(value)
        facts.append(Fact(name, text, value, series=keys.get(colour, ""), source="bars", colour=colour))
    return facts if len({fact.label for fact in facts if fact.label}) > 1 else []


def _first_row(words: Sequence[Box]) -> list[Box]:
    """The row of words nearest to the base line."""
    first = min(words, key=lambda w: w.y0, default=None)
    return [w for w in words if first and min(w.y1, first.y1) - max(w.y0, first.y0) > 0.5 * w.height]


def _printed_value(bar: Box, words: Sequence[Box]) -> str:
    """The number printed at the end of a bar, or in it."""
    near = []
    for word in words:
        gap = bar.y0 - word.y1
        is_over = abs(word.cx - bar.cx) < bar.width / 2 + 2 and -2 < gap < 1.2 * min(word.height, word.width)
        if read_number(word.text) is not None and (is_over or bar.holds(word)):
            near.append((abs(bar.y0 - word.cy), word.text))
    return min(near)[1] if near else ""


def _read_axis(words: Sequence[Box], left: float, right: float) -> Callable[[float], float] | None:
    """From a place on the axis to its value, by at least three numbers in a column left or right."""
    ticks = [(w, n) for w in words if (n := read_number(w.text)) is not None and not left <= w.cx <= right]
    best, most = None, 2
    for anchor, _ in ticks:
        column = [(w, n) for w, n in ticks if min(abs(w.x1 - anchor.x1), abs(w.cx - anchor.cx)) < 6]
        if len(column) <= most:
            continue
        ys, values = np.array([(w.cy, n) for w, n in column]).T
        line = np.poly1d(np.polyfit(ys, values, 1))
        if float(np.abs(line(ys) - values).max()) < 0.04 * float(np.ptp(values)):
            best, most = line, len(column)
    return best


def _round(value: float) -> str:
    """A measured value, rounded: a pixel is seldom worth more than two digits."""
    return f"{value:.0f}" if abs(value) >= 5 else f"{value:.1f}".removesuffix(".0")


def _legend(sight: Sight) -> dict[str, str]:
    """Colour name to key: a small filled square with a word just right of it."""
    keys: dict[str, str] = {}
    for word in sight.words:
        high = word.height
        for patch in sight.figures:
            is_beside = 0 < word.x0 - patch.x1 < 1.5 * high and abs(patch.cy - word.cy) < 0.5 * high
            if is_beside and patch.height < 1.5 * high and patch.width < 2.5 * high and patch.fill > 0.7:
                keys[patch.colour] = word.text
    return keys


# -- Pie


def _read_pie(sight: Sight) -> list[Fact]:
    """Slices of a round whole, each with the nearest word outside it or its legend key."""
    slices = [p for p in sight.figures if p.area > 0.002 * sight.width * sight.height]
    slices.sort(key=lambda p: -p.area)
    while len(slices) > 1:
        disc, total = _surround(slices), sum(p.area for p in slices)
        is_round = abs(disc.width - disc.height) < 0.06 * disc.width
        if is_round and 0.68 < total / disc.size < 0.82:  # a disc fills 0.785 of its box, less the lines
            return [*_list_slices(slices, disc, 100 / total, sight)]
        slices.pop()  # the smallest: a legend's key
    return []


def _list_slices(slices: Sequence[Patch], disc: Box, percent: float, sight: Sight) -> Iterator[Fact]:
    keys = _legend(sight)
    for patch in slices:
        share = patch.area * percent
        if label := keys.get(patch.colour) or _word_towards(patch, disc, sight.words):
            name = re.sub(r"[\d.,]+\s*%", "", label).strip()
            yield Fact(name, f"{share:.0f}%", share, source="pie", colour=patch.colour)


def _surround(boxes: Sequence[Box]) -> Box:
    """The smallest box around all of them."""
    x0, y0, x1, y1 = (min(side) for side in zip(*((b.x0, b.y0, -b.x1, -b.y1) for b in boxes), strict=True))
    return Box(x0, y0, -x1, -y1)


def _word_towards(patch: Patch, disc: Box, words: Sequence[Box]) -> str:
    """The word in the slice's direction, seen from the middle of the disc."""
    angle = math.atan2(patch.middle[1] - disc.cy, patch.middle[0] - disc.cx)
    best, text = math.radians(35), ""
    for word in words:
        across, down = word.cx - disc.cx, word.cy - disc.cy
        turn = abs(math.remainder(math.atan2(down, across) - angle, math.tau))
        is_near = math.hypot(across, down) < 0.85 * disc.width
        if is_near and turn < best and re.search(r"[^\W\d]", word.text):
            best, text = turn, word.text
    return text


# -- Line


def _read_line(sight: Sight) -> list[Fact]:
    """A curve across the image, measured above each label of the bottom row."""
    wide = 0.4 * sight.width
    curves = [p for p in sight.figures if p.width > wide and p.height > 8 and p.fill < 0.2]
    if len(curves) != 1 or len(sight.words) < 5:
        return []
    curve = curves[0]
    to_value = _read_axis(sight.words, curve.x0, curve.x1)
    if to_value is None:
        return []
    below = [w for w in sight.words if w.cy > curve.y1 and curve.x0 - 20 < w.cx < curve.x1 + 20]
    facts = []
    for word in _first_row(below):
        column = min(max(round(word.cx - curve.x0), 0), curve.mask.shape[1] - 1)
        ys = np.flatnonzero(curve.mask[:, column])
        value = to_value(curve.y0 + float(ys.min() + ys.max()) / 2)
        facts.append(Fact(word.text, _round(value), value, source="line", colour=curve.colour))
    return facts
