"""MULTI's totals: points by education level, pictures and question type, as its own summary shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.report.exports import guarded

_LEVEL_ORDER = ("JuH", "SeH", "Uni", "Driving", "AAT")  # then the others, as they come
IMAGES = ("NI", "SI", "MI")
TYPES = ("SA", "MA", "FB", "OP")
CSV_HEADER = ("education", "subject", "type", "image", "qs_count", "qs_correct", "qs_total", "qs_score")

# Points of all questions with one picture and with more, in the whole benchmark. The official line divides by
# these whatever part of it was run.
_ALL_SI, _ALL_MI = 8540, 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One scored question, as the totals see it."""

    question_id: str
    score: float
    total: float
    kind: str  # SA, MA, FB, OP, other
    level: str
    subject: str
    n_images: int
    is_rejected: bool = False  # it said that a picture is missing

    @property
    def image(self) -> str:
        """No image, a single one, many."""
        return IMAGES[min(self.n_images, 2)]

    @property
    def type(self) -> str:
        """The type it is counted under: other questions are counted with the open ones."""
        return self.kind if self.kind in TYPES else "OP"


@dataclass(slots=True)
class Tally:
    """What a group of questions came to.

    Quirk kept: a question is correct when it earned all it could, so that those which can earn nothing are
    correct and open ones never are.
    """

    count: int = 0
    correct: int = 0
    total: float = 0
    score: float = 0

    def add(self, row: Row) -> None:
        """Count one question."""
        self.count += 1
        self.correct += row.score == row.total
        self.total += row.total
        self.score += row.score

    @property
    def ratio(self) -> float | None:
        """Points earned, in percent of those there were; None when there were none."""
        return self.score / self.total * 100 if self.total else None

    @property
    def accuracy(self) -> float:
        """Questions with all their points, in percent."""
        return self.correct / self.count * 100 if self.count else 0.0


def in_order(ids: Iterable[str]) -> list[str]:
    """Question ids in the order of the result files: by the subject's code, else as they came.

    >>> in_order(["gz_10_0", "cz_2_0", "gz_9_0"])
    ['cz_2_0', 'gz_10_0', 'gz_9_0']
    """
    return sorted(ids, key=lambda name: name.split("_")[0])


def by_level(rows: Iterable[Row]) -> dict[str, Tally]:
    """Totals of each education level, in the order of the tables."""
    found = _by(rows, lambda row: row.level)
    return {level: found[level] for level in _ordered(found)}


def by_image(rows: Iterable[Row]) -> dict[str, Tally]:
    """Totals by the number of pictures."""
    return _by(rows, lambda row: row.image, IMAGES)


def by_type(rows: Iterable[Row]) -> dict[str, Tally]:
    """Totals of each question type."""
    return _by(rows, lambda row: row.type, TYPES)


def statistics_rows(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """The lines of statistics.csv: for each subject every type times every number of pictures."""
    cells: dict[str, dict[str, dict[tuple[str, str], Tally]]] = {}
    for row in rows:
        grid = cells.setdefault(row.level, {}).setdefault(row.subject, {})
        grid.setdefault((row.type, row.image), Tally()).add(row)
    lines: list[tuple[Any, ...]] = [CSV_HEADER]
    for level in _ordered(cells):
        for subject, grid in cells[level].items():
            for type, image in [(type, image) for type in TYPES for image in IMAGES]:
                tally = grid.get((type, image), Tally())
                place = (level, guarded(subject), type, image)
                lines.append((*place, tally.count, tally.correct, tally.total, tally.score))
    return lines


def absolute_line(rows: Iterable[Row]) -> str:
    """The headline: points earned, points there were."""
    tally = _all(rows)
    percent = "n/a" if tally.ratio is None else f"{tally.ratio:.2f}%"
    return f"Absolute Score: {tally.score:.2f}/{tally.total:.0f}, {percent}"


def rejection_line(rows: Iterable[Row]) -> str | None:
    """The points of questions that were turned down for want of a picture; None when there are none."""
    lost = dict.fromkeys(IMAGES, 0.0)
    for row in rows:
        if row.is_rejected:
            lost[row.image] += row.total
    if not lost["SI"] + lost["MI"]:
        return None
    single, many = lost["SI"], lost["MI"]
    return (
        f"Rejection Number: (SI) {single:.2f}/{_ALL_SI}, {single / _ALL_SI * 100:.1f}% "
        f"(MI) {many:.2f}/{_ALL_MI}, {many / _ALL_MI * 100:.1f}%"
    )


def table_lines(heading: str, groups: Mapping[str, Tally]) -> list[str]:
    """One table of summary.md. Groups that can earn nothing are left out."""
    lines = [f"| {heading} | Correct  | Score | Ratio |", "| ---- | ---------- | --------- | ------ |"]
    for name, tally in groups.items():
        if tally.ratio is None:
            continue
        ratio = f"{tally.ratio:.1f}" + (f" (Acc. {tally.accuracy:.1f})" if name == "MA" else "")
        points = f"{tally.score:.3f}/{tally.total}"
        lines.append(f"| {name} | {tally.correct}/{tally.count} | {points} | {ratio} |")
    return lines


def tables(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The three tables of summary.md, by the name of the chart that goes with each."""
    return {
        "summary_education": table_lines("Education", by_level(rows)),
        "summary_image": table_lines("Image ", by_image(rows)),
        "summary_type": table_lines("Type", by_type(rows)),
    }


def summary_object(rows: Sequence[Row]) -> dict[str, Any]:
    """The JSON block at the end of summary.md: percentages with one decimal."""
    levels = _ratios(by_level(rows))
    types: dict[str, float] = {}
    for name, tally in by_type(rows).items():
        types |= _ratios({name: tally})
        if name == "MA" and tally.total:
            types["MAAcc"] = round(tally.accuracy, 1)
    overall = _all(rows).ratio
    return {
        "Overall": None if overall is None else round(overall, 1),
        "Education": {"Driv" if level == "Driving" else level: ratio for level, ratio in levels.items()},
        "Image": _ratios(by_image(rows)),
        "Type": types,
    }


def _ratios(groups: Mapping[str, Tally]) -> dict[str, float]:
    return {name: round(tally.ratio, 1) for name, tally in groups.items() if tally.ratio is not None}


def _all(rows: Iterable[Row]) -> Tally:
    return _by(rows, lambda row: "all", ("all",))["all"]


def _by(rows: Iterable[Row], key: Callable[[Row], str], names: Sequence[str] = ()) -> dict[str, Tally]:
    tallies = {name: Tally() for name in names}
    for row in rows:
        tallies.setdefault(key(row), Tally()).add(row)
    return tallies


def _ordered(levels: Iterable[str]) -> list[str]:
    """Levels of school first; `sorted` leaves the others as they came."""
    places = {level: place for place, level in enumerate(_LEVEL_ORDER)}
    return sorted(levels, key=lambda level: places.get(level, len(places)))
