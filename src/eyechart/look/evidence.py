"""Did the model look where the evidence is? The authors' figures of one dialogue, and of a cell of trials."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from eyechart.look.crops import ProtocolError, Size, to_original

Corners = Sequence[float]  # x1, y1, x2, y2

MIN_COVERED = 0.95  # of a gold box: InSight-o3's rule for a crop that counts


class Crop(NamedTuple):
    """A crop: which page it is on, where, and the number of the image it was cut from."""

    page: int
    box: Corners
    parent: int | None = None


class Evidence(NamedTuple):
    """Where the answer is; without a box only the page is known."""

    page: int
    box: Corners | None = None


def area(box: Corners) -> float:
    """The area of a box; 0 if it ends before it starts."""
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def intersection(a: Corners, b: Corners) -> float:
    """The area that two boxes share."""
    return area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))


def iou(a: Corners, b: Corners) -> float:
    """Intersection over union; 0 if the union is empty.

    >>> iou((0, 0, 10, 10), (0, 0, 10, 5))
    0.5
    """
    shared = intersection(a, b)
    union = area(a) + area(b) - shared
    return shared / union if union else 0.0


def mean_overlap(boxes: Sequence[Corners]) -> float:
    """How much each box repeats the earlier ones: the mean of its best IoU with any of them."""
    return _mean(max(iou(box, one) for one in boxes[:n]) for n, box in enumerate(boxes) if n) or 0.0


def tool_iou(crops: Sequence[Corners], golds: Sequence[Corners], processed: Size, original: Size) -> float:
    """InSight-o3's `tool_iou`: the gold box that was met worst. The whole image counts as a crop."""
    if not golds or not all(map(area, golds)):
        raise ProtocolError("there is no gold box, or one without an area")
    candidates: list[Corners] = [(0, 0, *original)]
    for crop in crops:
        x1, y1, x2, y2 = to_original(crop, processed, original)
        candidates.append((x1, y1, min(x2, original[0]), min(y2, original[1])))
    return min(
        max(iou(box, gold) if _share(box, gold) > MIN_COVERED else 0.0 for box in candidates)
        for gold in golds
    )


def _share(crop: Corners, gold: Corners) -> float:
    """How much of a gold box a crop covers."""
    return intersection(crop, gold) / area(gold) if area(gold) else 0.0


def measure(
    pages: Sequence[Size],
    crops: Sequence[Crop],
    evidence: Sequence[Evidence],
    *,
    limit: int | None = None,
    n_calls: int | None = None,
    coverage: float = 0.5,
    redundant_iou: float = 0.8,
) -> dict[str, Any]:
    """InSight-doc's figures of one dialogue, under its own names; `n_calls`: as many as crops."""
    crops = [crop for crop in crops if area(crop.box)]
    known = {entry.page for entry in evidence}
    boxes = [(entry.page, entry.box) for entry in evidence if entry.box is not None]
    box_pages = {page for page, _ in boxes}
    pairs = [(crop.box, box) for crop in crops for page, box in boxes if page == crop.page]
    hits = [
        any(page == crop.page and _share(crop.box, box) >= coverage for page, box in boxes) for crop in crops
    ]
    cropped = box_pages & {crop.page for crop in crops}
    covered = {crop.page for crop, is_hit in zip(crops, hits, strict=True) if is_hit}

    def best(figures: Iterable[float]) -> float | None:
        return max(figures, default=0.0) if boxes else None

    max_coverage = best(itertools.starmap(_share, pairs))
    return {
        "has_evidence": bool(evidence),
        "has_evidence_pages": bool(evidence),
        "has_evidence_boxes": bool(boxes),
        "num_evidence_pages": len(known),
        "num_evidence_boxes": len(boxes),
        "num_evidence_box_pages": len(box_pages),
        "num_cropped_evidence_box_pages": len(cropped),
        "num_cropped_evidence_box_pages_covered": len(covered),
        "num_crops_on_evidence_box_pages": sum(crop.page in box_pages for crop in crops),
        "num_crops_hit_evidence_region_at_threshold": sum(hits),
        "fraction_cropped_evidence_box_pages_covered": len(covered) / len(cropped) if cropped else None,
        "num_scaled_evidence_boxes": 0,
        "crop_hits_evidence_page": any(crop.page in known for crop in crops) if evidence else None,
        "max_crop_evidence_iou": best(itertools.starmap(iou, pairs)),
        "max_evidence_coverage": max_coverage,
        "max_crop_precision_vs_evidence": best(_share(box, crop) for crop, box in pairs),
        "crop_covers_evidence_at_threshold": None if max_coverage is None else max_coverage >= coverage,
        **_measure_steps(crops, known, hits),
        **_measure_pairs(crops, redundant_iou),
        **_measure_areas(crops, pages),
        **_measure_end(crops, limit, len(crops) if n_calls is None else n_calls),
    }


def _measure_steps(crops: Sequence[Crop], known: set[int], hits: Sequence[bool]) -> dict[str, Any]:
    """When evidence was first met, and whether the model stopped there."""
    seen = [{crop.page for crop in crops[:n]} for n in range(1, len(crops) + 1)]
    figures: dict[str, Any] = {}
    for name, flags in {
        "any_evidence_page_hit": [crop.page in known for crop in crops],
        "all_evidence_pages_hit": [bool(known) and known <= pages for pages in seen],
        "evidence_region_coverage_hit": hits,
    }.items():
        step = next((number for number, flag in enumerate(flags, 1) if flag), None)
        figures[f"first_{name}_step"] = step
        figures[f"stopped_at_first_{name}"] = None if step is None else step == len(crops)
        figures[f"extra_crops_after_first_{name}"] = None if step is None else len(crops) - step
    return figures


def _measure_pairs(crops: Sequence[Crop], redundant_iou: float) -> dict[str, Any]:
    """Crops of the same image. As published, page 0 and a crop of image 0 are the same source."""
    sources = [(crop.page if crop.parent is None else crop.parent, crop.box) for crop in crops]
    pairs = [iou(a, b) for (one, a), (other, b) in itertools.combinations(sources, 2) if one == other]
    return {
        "same_source_img_crop_pairs": len(pairs),
        "same_page_crop_pairs": len(pairs),
        "redundant_crop_pairs": sum(overlap >= redundant_iou for overlap in pairs),
        "max_crop_pair_iou": max(pairs, default=None),
        "mean_crop_pair_iou": _mean(pairs),
    }


def _measure_areas(crops: Sequence[Crop], pages: Sequence[Size]) -> dict[str, Any]:
    """How much of the pages that have a crop was cropped."""
    on_pages = [crop for crop in crops if 0 <= crop.page < len(pages) and 0 not in pages[crop.page]]
    clipped: dict[int, list[Corners]] = {}
    for page, (x1, y1, x2, y2), _ in on_pages:
        inside = (max(0, x1), max(0, y1), min(pages[page][0], x2), min(pages[page][1], y2))
        if area(inside):
            clipped.setdefault(page, []).append(inside)
    total = sum(math.prod(pages[page]) for page in clipped)
    shares = [area(box) / math.prod(pages[page]) for page, boxes in clipped.items() for box in boxes]
    nothing = None if crops else 0.0
    cropped = sum(area(box) for boxes in clipped.values() for box in boxes)
    return {
        "zoom_area_fraction_union": sum(map(_union, clipped.values())) / total if total else nothing,
        "zoom_area_fraction_sum": cropped / total if total else nothing,
        "mean_crop_area_fraction_of_page": _mean(shares),
        "max_crop_area_fraction_of_page": max(shares, default=None),
        "num_zoomed_source_pages": len(clipped),
        "num_crops_missing_page_size": len(crops) - len(on_pages),
    }


def _union(boxes: Sequence[Corners]) -> float:
    """The area that boxes cover together."""
    edges = sorted({x for box in boxes for x in (box[0], box[2])})
    total = 0.0
    for left, right in itertools.pairwise(edges):
        reached, height = -math.inf, 0.0
        for _, top, _, bottom in sorted(
            (box for box in boxes if box[0] <= left and right <= box[2]), key=lambda box: box[1]
        ):
            height += max(0, bottom - max(top, reached))
            reached = max(reached, bottom)
        total += height * (right - left)
    return total


def _measure_end(crops: Sequence[Crop], limit: int | None, n_calls: int) -> dict[str, Any]:
    """Whether the limit was reached, and on one and the same page."""
    run = len(list(itertools.takewhile(lambda crop: crop.page == crops[-1].page, reversed(crops))))
    is_exhausted = None if limit is None else n_calls >= limit
    return {
        "tool_call_limit": limit,
        "exhausted_tool_call_limit": is_exhausted,
        "last_same_page_crop_run_length": run,
        "last_crop_page_id": crops[-1].page if crops else None,
        "stuck_exhausted_same_page_tail": None if is_exhausted is None else is_exhausted and run >= 2,
    }


# -- A cell: all trials of a benchmark at one scale.


def summarize_cell(
    samples: Sequence[Mapping[str, Any]], *, n_expected: int, n_trials: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """InSight-doc's rows per trial, and their summary with standard deviations between trials."""
    per_trial = n_expected // n_trials
    rows: list[dict[str, Any]] = []
    failures, missing = Counter[str](), 0
    for trial in range(n_trials):
        own = [sample for sample in samples if int(sample.get("trial_idx", 0)) == trial]
        valid = [sample for sample in own if _why_invalid(sample) is None]
        failures.update(why for sample in own if (why := _why_invalid(sample)) is not None)
        missing += max(0, per_trial - len({int(sample.get("sample_index", -1)) for sample in own}))
        rewards = [reward for sample in valid if (reward := _reward(_score(sample))) is not None]
        expected = per_trial or len(own) or 1
        rows.append(
            {
                "trial_idx": trial,
                "n_expected": per_trial,
                "n_exported": len(own),
                "n_valid": len(valid),
                "valid_ratio": len(valid) / expected,
                "accuracy_valid": _mean(rewards),
                "accuracy_all": sum(rewards) / expected,
                "seq_len_mean": _mean(map(_length, valid)),
                "core_time_s_mean": _mean(_number(sample.get("core_inference_time")) for sample in valid),
                "n_fail_or_missing": expected - len(valid),
            }
        )
    if missing:
        failures["missing_sample"] = missing
    summary: dict[str, Any] = {
        "num_trials": n_trials,
        "n_expected_per_trial": per_trial,
        "n_expected_total": n_expected,
        "n_exported_total": len(samples),
        "n_fail_or_missing_total": sum(failures.values()),
        "failure_breakdown": dict(failures),
    }
    for name in ("valid_ratio", "accuracy_valid", "accuracy_all", "seq_len", "core_time_s"):
        column = f"{name}_mean" if name in ("seq_len", "core_time_s") else name
        values = [row[column] for row in rows if row[column] is not None]
        summary[f"{name}_mean"] = _mean(values)
        summary[f"{name}_std"] = (statistics.stdev(values) if len(values) > 1 else 0.0) if values else None
    return rows, summary


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _number(value: object) -> float | None:
    """A finite number, or a text that is one."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _length(sample: Mapping[str, Any]) -> float | None:
    """The tokens of a dialogue."""
    prompt, replies, *parts = (
        _number(sample.get(name))
        for name in (
            "prompt_tokens", "response_tokens_total", "response_tokens_generated", "response_tokens_tool",
        )
    )  # fmt: skip
    if replies is None and parts != [None, None]:
        replies = sum(part or 0.0 for part in parts)
    return None if prompt is None or replies is None else prompt + replies


def _reward(score: Mapping[str, Any]) -> float | None:
    rewards = (_number(score.get(key)) for key in ("accuracy_reward", "score", "reward"))
    return next((reward for reward in rewards if reward is not None), None)


def _why_invalid(sample: Mapping[str, Any]) -> str | None:
    """The group of the first reason why a sample does not count; None: it counts."""
    score, given = _score(sample), sample.get("failure_reasons")
    reasons = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
    own, failed, kind = (score.get(key) for key in ("failure_reason", "fail_reason", "error_type"))
    if sample.get("critical_failure") and not any(reasons):
        reasons.append("critical_failure")
    if score.get("compute_score_success") is False:
        reasons.append(own or failed or "score_failed")
    first = next((str(reason) for reason in (*reasons, failed, own, kind) if reason), None)
    if first is not None:
        return _group(first.strip())
    return None if _reward(score) is not None else "invalid_or_unscored"


def _score(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    score = sample.get("score")
    return score if isinstance(score, Mapping) else {}


def _group(reason: str) -> str:
    lower = reason.lower()
    for group, marks in _GROUPS.items():
        if any(mark in lower for mark in marks):
            return group
    if "empty" in lower and "assistant" in lower:
        return "empty_assistant_message"
    if "score" in lower or "judge" in lower:
        return reason.split(":", 1)[0]
    parts = [part.strip() for part in reason.split(":") if part.strip()]
    return (":".join(parts[:2]) if ":" in reason else reason[:96]) or "unknown_failure"


_GROUPS = {
    "timeout": ("timeout",),
    "rate_limit": ("rate limit", "429", "too many requests"),
    "context_overflow": ("context", "max_model_len", "prompt is too long"),
}
