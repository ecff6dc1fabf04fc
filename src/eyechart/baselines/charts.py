"""Charts: bars, slices and lines, with the words beside them, become labelled values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eyechart.baselines import Answer
from eyechart.baselines.patches import Patch
from eyechart.baselines.question import (
    Choices,
    Fact,
    ParsedQuestion,
    answer_from_facts,
    measure_mention,
    read_number,
)
from eyechart.baselines.shapes import name_colour
from eyechart.baselines.sight import Box, Sight


def answer_from_chart(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from a chart, if there is one."""
    if not sight.is_drawing:
        return None
    for read in (read_bars, read_pie, read_line):
        facts = read(sight)
        if len(facts) < 2:
            continue
        if question.asks_colour:
            return _colour_of(question, facts)
        return answer_from_facts(question, facts, choices)
    return None


def _colour_of(question: ParsedQuestion, facts: Sequence[Fact]) -> Answer | None:
    named = [f for f in facts if any(measure_mention(said, question) >= 0.5 for said in (f.label, f.series))]
    names = {fact.colour for fact in named if fact.colour}
    if len(names) != 1:
        return None
    evidence = {"rule": "colour of the labelled part", "read as": facts[0].source, "label": named[0].label}
    return Answer(names.pop(), evidence)


# -- Bars


def read_bars(sight: Sight) -> list[Fact]:
    """Bars on one base line, each with the label below it and its value by print or by the axis."""
    bars = [
        Box(p.x0, p.y0, p.x1, p.y1, colour=name_colour(p.rgb))
        for p in sight.figures
        if p.fill > 0.9 and min(p.width, p.height) > 4
    ]
    standing, lying = _on_one_line(bars), _on_one_line([bar.turned() for bar in bars])
    if not standing and not lying:
        return []  # before any text is read, which takes far longer
    keys = _legend(sight)
    turned = [word.turned() for word in sight.words]
    facts = _bar_facts(standing, sight.words, keys), _bar_facts(lying, turned, keys)
    return max(facts, key=len)


def _on_one_line(bars: Sequence[Box]) -> list[Box]:
    """The largest set of bars that end at one base line and are about equally wide."""
    best: list[Box] = []
    for bar in bars:
        group = [b for b in bars if abs(b.y1 - bar.y1) <= 3 and 0.8 < b.width / bar.width < 1.25]
        if len(group) > len(best):
            best = group
    heights = {round(bar.y0) for bar in best}
    return sorted(best, key=lambda bar: bar.x0) if len(best) >= 2 and len(heights) > 1 else []


def _bar_facts(bars: list[Box], words: Sequence[Box], keys: Mapping[str, str]) -> list[Fact]:
    if not bars:
        return []
    base, wide = bars[0].y1, bars[0].width
    labels = _first_row(
        [w for w in words if w.y0 > base - 3 or (w.cy > base and read_number(w.text) is None)]
    )
    to_value = read_axis(words, bars)
    facts = []
    for bar in bars:
        label = min(labels, key=lambda w: abs(w.cx - bar.cx), default=None)
        is_near = label is not None and abs(label.cx - bar.cx) <= 1.4 * wide
        name = label.text if label is not None and is_near else ""  # a bar we cannot name still counts
        printed = _printed_value(bar, words)
        # Without a scale the height still tells which bar is larger, but gives no number.
        value = read_number(printed) if printed else to_value(bar.y0) if to_value else base - bar.y0
        text = printed or (_round(value) if to_value and value is not None else "")
        series = keys.get(bar.colour, "")
        facts.append(Fact(name, text, value, series=series, source="bars", colour=bar.colour))
    if len({fact.label for fact in facts if fact.label}) < 2:
        return []
    return facts


def _first_row(words: Sequence[Box]) -> list[Box]:
    """The row of words nearest to the base line."""
    first = min(words, key=lambda w: w.y0, default=None)
    return [w for w in words if first and min(w.y1, first.y1) - max(w.y0, first.y0) > 0.5 * w.height]


def _printed_value(bar: Box, words: Sequence[Box]) -> str:
    """The number printed at the end of a bar."""
    near = []
    for word in words:
        is_over = abs(word.cx - bar.cx) < bar.width / 2 + 2 and (
            -2 < bar.y0 - word.y1 < 1.2 * min(word.height, word.width)
        )
        is_within = bar.x0 <= word.cx <= bar.x1 and bar.y0 < word.cy < bar.y1
        if read_number(word.text) is not None and (is_over or is_within):
            near.append((abs(bar.y0 - word.cy), word.text))
    return min(near)[1] if near else ""


def read_axis(words: Sequence[Box], bars: Sequence[Box]) -> Callable[[float], float] | None:
    """From a place on the axis to its value, by at least three numbers in a column beside the bars."""
    left, right = min(bar.x0 for bar in bars), max(bar.x1 for bar in bars)
    ticks = [
        (w, n) for w in words if (n := read_number(w.text)) is not None and (w.cx < left or w.cx > right)
    ]
    best, most = None, 2
    for anchor, _ in ticks:
        column = [(w, n) for w, n in ticks if min(abs(w.x1 - anchor.x1), abs(w.cx - anchor.cx)) < 6]
        if len(column) <= most:
            continue
        ys = np.array([w.cy for w, _ in column])
        values = np.array([n for _, n in column])
        slope, offset = np.polyfit(ys, values, 1)
        spread = float(np.ptp(values))
        if spread > 0 and float(np.abs(slope * ys + offset - values).max()) < 0.04 * spread:
            best, most = np.poly1d([slope, offset]), len(column)
    return best


def _round(value: float) -> str:
    """A measured value, rounded: a pixel is seldom worth more than two digits."""
    return f"{value:.0f}" if abs(value) >= 5 else f"{value:.1f}".removesuffix(".0")


def _legend(sight: Sight) -> dict[str, str]:
    """Colour name to key: a small filled square with a word just right of it."""
    keys: dict[str, str] = {}
    for word in sight.words:
        for patch in sight.figures:
            is_beside = (
                0 < word.x0 - patch.x1 < 1.5 * word.height and abs(patch.cy - word.cy) < 0.5 * word.height
            )
            is_small = patch.height < 1.5 * word.height and patch.width < 2.5 * word.height
            if is_beside and is_small and patch.fill > 0.7:
                keys[name_colour(patch.rgb)] = word.text
    return keys


# -- Pie


def read_pie(sight: Sight) -> list[Fact]:
    """Slices of a round whole, each with the nearest word outside it or its legend key."""
    slices = [p for p in sight.figures if p.area > 0.002 * sight.image.width * sight.image.height]
    disc = _disc_of(slices)
    if disc is None:
        return []
    cx, cy, radius, slices = disc
    keys = _legend(sight)
    total = sum(p.area for p in slices)
    facts = []
    for patch in slices:
        colour = name_colour(patch.rgb)
        label = keys.get(colour) or _word_towards(patch, cx, cy, radius, sight)
        if label:
            share = 100 * patch.area / total
            facts.append(Fact(re.sub(r"[\d.,]+\s*%", "", label).strip(), f"{share:.0f}%", share,
                              source="pie", colour=colour))  # fmt: skip
    return facts


def _disc_of(slices: list[Patch]) -> tuple[float, float, float, list[Patch]] | None:
    """Centre, radius and slices if the patches together fill a disc."""
    while len(slices) >= 2:
        x0, x1 = min(p.x0 for p in slices), max(p.x1 for p in slices)
        y0, y1 = min(p.y0 for p in slices), max(p.y1 for p in slices)
        wide, tall = x1 - x0, y1 - y0
        cx, cy, radius = (x0 + x1) / 2, (y0 + y1) / 2, (wide + tall) / 4
        filled = sum(p.area for p in slices) / (wide * tall)
        if abs(wide - tall) < 0.06 * wide and 0.68 < filled < 0.82:
            return cx, cy, radius, slices
        slices = sorted(slices, key=lambda p: -p.area)[:-1]  # leave the smallest out: a legend's key
    return None


def _word_towards(patch: Patch, cx: float, cy: float, radius: float, sight: Sight) -> str:
    """The word in the slice's direction, seen from the middle of the disc."""
    angle = math.atan2(patch.cy - cy, patch.cx - cx)
    best, text = math.radians(35), ""
    for word in sight.words:
        distance = math.hypot(word.cx - cx, word.cy - cy)
        turn = abs(math.remainder(math.atan2(word.cy - cy, word.cx - cx) - angle, math.tau))
        if distance < 1.7 * radius and turn < best and re.search(r"[^\W\d]", word.text):
            best, text = turn, word.text
    return text


# -- Line


def read_line(sight: Sight) -> list[Fact]:
    """A curve across the image, measured above each label of the bottom row."""
    wide = 0.4 * sight.image.width
    curves = [p for p in sight.figures if p.width > wide and p.height > 8 and p.fill < 0.2]
    if len(curves) != 1 or len(sight.words) < 5:
        return []
    curve = curves[0]
    to_value = read_axis(sight.words, [Box(curve.x0, curve.y0, curve.x1, curve.y1)])
    below = [w for w in sight.words if w.cy > curve.y1 and curve.x0 - 20 < w.cx < curve.x1 + 20]
    if to_value is None:
        return []
    facts = []
    for word in _first_row(below):
        ys = np.flatnonzero(curve.mask[:, min(max(round(word.cx) - curve.x0, 0), curve.width - 1)])
        value = to_value(curve.y0 + (float(ys.min()) + float(ys.max())) / 2)
        facts.append(Fact(word.text, _round(value), value, source="line", colour=name_colour(curve.rgb)))
    return facts
