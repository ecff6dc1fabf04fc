"""The four charts beside MULTI's summary.md. They need matplotlib, which comes with the extra ``multi``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.quiet import quiet
from eyechart.replacing import replacing
from eyechart.report.multi.tables import Row, Tally, by_image, by_level, by_type

CHARTS = ("summary_education", "summary_image", "summary_type", "heatmap")
_PER_COLUMN = 100  # questions, in the heat map
_SIZE_INCHES = (10, 6)
_TITLES = {
    "summary_education": "Points by education level",
    "summary_image": "Points by number of images",
    "summary_type": "Points by question type",
}
_GROUPS: dict[str, Callable[[Sequence[Row]], Mapping[str, Tally]]] = {
    "summary_education": by_level,
    "summary_image": by_image,
    "summary_type": by_type,
}


def write_charts(rows: Sequence[Row], folder: Path, prefix: str = "") -> list[Path]:
    """Draw the charts into PNG files. Says so with `MissingExtra` when there is nothing to draw with."""
    figure_of = _matplotlib()
    paths = []
    for name in CHARTS:
        figure = figure_of(figsize=_SIZE_INCHES)
        if name == "heatmap":
            _draw_heatmap(figure, rows)
        else:
            _draw_bars(figure, _TITLES[name], _GROUPS[name](rows))
        path = folder / f"{prefix}{name}.png"
        with replacing(path) as place:
            figure.savefig(place, format="png", dpi=100)
        paths.append(path)
    return paths


@functools.cache
def _matplotlib() -> Any:
    """What makes figures: without windows, and without the state that pyplot keeps for a whole process."""
    try:
        with quiet():
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for="MULTI's charts") from error

    def make(**options: Any) -> Any:
        figure = Figure(**options)
        FigureCanvasAgg(figure)
        return figure

    return make


def _draw_bars(figure: Any, title: str, groups: Mapping[str, Tally]) -> None:
    """One bar a group: how much of its points was earned, with the points written on it."""
    axes = figure.add_subplot()
    shown = {name: tally for name, tally in groups.items() if tally.total}
    ratios = [tally.ratio for tally in shown.values()]
    bars = axes.bar(range(len(shown)), ratios, color="#4477aa", width=0.6)
    axes.bar_label(bars, [f"{tally.score:.1f}/{tally.total}" for tally in shown.values()], padding=3)
    axes.set_xticks(range(len(shown)), list(shown))
    axes.set_ylim(0, 110)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("% of points")
    axes.set_title(title)


def _draw_heatmap(figure: Any, rows: Sequence[Row]) -> None:
    """One block a question, column after column; grey where there was nothing to earn."""
    import numpy as np

    n_columns = max(1, -(-len(rows) // _PER_COLUMN))
    shares = np.full(n_columns * _PER_COLUMN, np.nan)
    for place, row in enumerate(rows):
        if row.total:
            shares[place] = row.score / row.total
    axes = figure.add_subplot()
    axes.set_facecolor("#dddddd")
    drawn = axes.imshow(
        shares.reshape(n_columns, _PER_COLUMN).T, cmap="RdYlBu", vmin=0, vmax=1, aspect="auto"
    )
    axes.set_xticks([])
    axes.set_xlabel(f"{_PER_COLUMN} questions a column")
    axes.set_title("Share of points, question by question")
    figure.colorbar(drawn, ax=axes)
