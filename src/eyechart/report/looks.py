"""What a look run's dialogues show: how often the model looked, and whether at the evidence.

Gold boxes are those of `data.images.boxes`: a column `bbox`, TreeBench's and O3-Bench's columns, V*'s files.
A crop covers a box if it holds at least half of its area. Each figure is a mean over questions, of each the
mean over its trials, with an interval as the score has it. By the authors' rules are `evidence_if_looked`,
which leaves out questions without a crop (InSight-doc), and `tool_iou`, which counts the whole image as a
crop, and of crops those that hold more than 95 % of a box (InSight-o3).
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.data.images.boxes import Box, read_boxes
from eyechart.look.evidence import Crop, Evidence, area, intersection, measure, tool_iou
from eyechart.report.table import format_percent
from eyechart.stats.intervals import Interval, interval
from eyechart.terminal import to_one_line
from eyechart.types import Result

_SHARES = {  # of the lines, in order; the others are in JSON alone
    "no_look": "without a look",
    "at_limit": "at the limit",
    "stuck": "stuck there",
    "unanswered": "without an answer",
    "critical": "critical failures",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LookSummary:
    """The figures of a look run, by name: shares and IoUs from 0 to 1; `crops` is a number per question."""

    figures: Mapping[str, Interval]
    crops: Sequence[int]  # of each sample-trial, ascending

    def to_json(self) -> dict[str, Any]:
        n = len(self.crops)
        counts = {
            "mean": statistics.fmean(self.crops),
            "median": statistics.median(self.crops),
            "p90": self.crops[min(n - 1, int(0.9 * n))],
            "histogram": {
                f"{k}{'+' * (k == 5)}": sum(c == k or c > k == 5 for c in self.crops) for k in range(6)
            },
        }
        figures = {
            name: {"value": one.mean, "ci95": [one.low, one.high], "n": one.n}
            for name, one in self.figures.items()
        }
        return {"crops": counts, **figures}

    def lines(self) -> Iterator[str]:
        """What tables and pages say."""
        found, crops = self.figures, self.to_json()["crops"]
        shares = [f"{format_percent(found[name].mean)} % {words}" for name, words in _SHARES.items()]
        shown = {
            name: f"{format_percent(one.mean)} % [{format_percent(one.low)}, {format_percent(one.high)}]"
            for name, one in found.items()
        }
        valid = f"; {shown['valid_calls']} of the calls gave a crop" if "valid_calls" in found else ""
        yield f"looks: {crops['mean']:.2f} crops per question (median {crops['median']:g}){valid}"
        yield f"dialogues: {', '.join(shares)}"
        if "evidence" in found:
            right = shown.get("right_without_evidence")
            more = f"; of the right answers {right} without evidence" if right else ""
            yield (
                f"evidence: a crop covers a gold box in {shown['evidence']} of {found['evidence'].n:,} "
                f"questions, all boxes in {shown['all_evidence']}; "
                f"best IoU {found['best_iou'].mean:.2f}{more}"
            )


def summarise_looks(
    results: Iterable[Result], clusters: Mapping[int, Hashable] | None = None
) -> LookSummary | None:
    """The figures of these results, which have what was asked; None if none has a dialogue."""
    values: dict[str, dict[int, list[float]]] = {}
    crops: list[int] = []
    for result in results:
        facts = read_look(result)
        if facts is None:
            continue
        crops.append(len(list_crops(result)))
        for name, value in _measure(result, facts).items():
            values.setdefault(name, {}).setdefault(result.position, []).append(value)
    if not crops:
        return None
    figures = {}
    for name, by_position in values.items():
        means = [statistics.fmean(each) for each in by_position.values()]
        own = [(clusters or {}).get(position) for position in by_position]
        if (found := interval(means, clusters=own)) is not None:
            figures[name] = found
    return LookSummary(figures=figures, crops=sorted(crops))


def read_look(result: Result) -> Mapping[str, Any] | None:
    """What the engine noted about a dialogue; None if there is none."""
    look = result.reply.evidence.get("look") if result.reply is not None else None
    return look if isinstance(look, Mapping) else None


def list_crops(result: Result) -> list[Crop]:
    """The crops of a dialogue, on the originals, in order."""
    shown = [record["look"] for record in result.sent if isinstance(record.get("look"), Mapping)]
    return [Crop(one["source"], one["box"], one["parent"]) for one in shown if "parent" in one]


def measure_dialogue(result: Result) -> dict[str, Any]:
    """InSight-doc's figures of one dialogue, by its authors' names."""
    facts = read_look(result) or {}
    sizes = [one["look"]["original"] for one in result.sent if "look" in one and "parent" not in one["look"]]
    golds = [Evidence(0, box) for box in list_golds(result)]
    limit, n_calls = (
        value if isinstance(value := facts.get(name), int) else None for name in ("limit", "calls")
    )
    return measure(sizes, list_crops(result), golds, limit=limit, n_calls=n_calls)


def list_crop_boxes(result: Result, source: int) -> list[Box]:
    """The crops of one original, to be drawn on it, with the numbers that the model knows them by."""
    return [
        Box(left=x1, top=y1, right=x2, bottom=y2, is_target=False, is_crop=True, label=str(number))
        for number, record in enumerate(result.sent)
        if "parent" in (shown := record.get("look") or {}) and shown["source"] == source
        for x1, y1, x2, y2 in [shown["box"]]
    ]


def tell_crop(number: int, shown: Mapping[str, Any]) -> str:
    """What an image of a dialogue shows.

    >>> tell_crop(1, {"source": 0, "parent": 0, "box": [10, 20, 60, 40], "label": "the sign"})
    'image 1: 10, 20 to 60, 40 of the original, from image 0: the sign'
    """
    if "parent" not in shown:
        return f"image {number}"
    x1, y1, x2, y2 = shown["box"]
    label = f": {to_one_line(str(shown['label']))[:200]}" if shown.get("label") else ""
    return f"image {number}: {x1}, {y1} to {x2}, {y2} of the original, from image {shown['parent']}{label}"


def list_turns(asked: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    r"""What was sent as role and text: images by their size, those of a dialogue by their numbers.

    >>> parts = [{"image": {"width": 640, "height": 480}}, {"text": "Which?"}]
    >>> list(list_turns([{"role": "user", "parts": parts}]))
    [('user', '[image 640×480]\nWhich?')]
    """
    number = 0
    for turn in asked:
        texts = []
        for part in turn.get("parts") or ():
            image = part.get("image")
            if image is None:
                texts.append(str(part.get("text", "")))
                continue
            size = f" {image['width']}×{image['height']}" if image.get("width") else ""
            texts.append(f"[{tell_crop(number, image['look']) if image.get('look') else f'image{size}'}]")
            number += 1
        texts += [f"{call.get('name')}({call.get('arguments')})" for call in turn.get("calls") or ()]
        yield str(turn.get("role", "")), "\n".join(texts)


def tell_reply(result: Result) -> str:
    """The reply as people read it: of a dialogue the whole turn with the answer."""
    if result.reply is None:
        return ""
    return result.reply.text if read_look(result) is None else result.reply.content


def list_golds(result: Result) -> list[tuple[float, float, float, float]]:
    """The boxes that the question is about, in pixels of its one image."""
    boxes = read_boxes(result.sample)
    return [(one.left, one.top, one.right, one.bottom) for one in boxes if one.is_target]


def _measure(result: Result, facts: Mapping[str, Any]) -> dict[str, float]:
    """The figures of one dialogue: 0 or 1, or a share."""
    theirs, crops, golds = measure_dialogue(result), list_crops(result), list_golds(result)
    n_calls = int(facts.get("calls") or 0)
    found = {
        "no_look": not crops,
        "at_limit": bool(theirs["exhausted_tool_call_limit"]),
        "stuck": bool(theirs["stuck_exhausted_same_page_tail"]),
        "unanswered": not facts.get("answered"),
        "critical": bool(facts.get("critical")),
    }
    figures = {name: float(value) for name, value in found.items()}
    if n_calls:
        figures["valid_calls"] = min(1.0, len(crops) / n_calls)
    if not golds:
        return figures
    covered = [any(covers(crop.box, gold) for crop in crops) for gold in golds]
    figures |= {
        "evidence": float(any(covered)),
        "all_evidence": float(all(covered)),
        "best_iou": theirs["max_crop_evidence_iou"] or 0.0,
    }
    if crops:
        figures["evidence_if_looked"] = figures["evidence"]
    size = next(record["look"]["original"] for record in result.sent if "look" in record)
    boxes = [crop.box for crop in crops]
    figures["tool_iou"] = tool_iou(boxes, golds, size, size)
    if result.outcome == "correct":
        figures["right_without_evidence"] = 1.0 - figures["evidence"]
    return figures


def covers(crop: Sequence[float], gold: Sequence[float]) -> bool:
    """Whether a crop holds at least half of a box.

    >>> covers((0, 0, 10, 10), (5, 0, 15, 10)), covers((0, 0, 10, 10), (6, 0, 16, 10))
    (True, False)
    """
    return intersection(crop, gold) >= 0.5 * area(gold) > 0
