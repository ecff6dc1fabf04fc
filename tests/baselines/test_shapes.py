"""Names of outlines, at several sizes and turns."""

import math

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eyechart.baselines.shapes import name_outline

TURNS = [0.0, 0.3, 0.9, 2.0]


def mask_of(
    points: list[tuple[float, float]], turn: float
) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    cos, sin = math.cos(turn), math.sin(turn)
    side = int(2.6 * max(math.hypot(x, y) for x, y in points)) + 4
    picture = Image.new("1", (side, side))
    turned = [(side / 2 + x * cos - y * sin, side / 2 + x * sin + y * cos) for x, y in points]
    ImageDraw.Draw(picture).polygon(turned, fill=1)
    mask = np.asarray(picture).astype(np.uint8)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].copy()


def regular(n: int, size: float, inner: float = 1.0) -> list[tuple[float, float]]:
    reach = [size * (inner if i % 2 else 1) for i in range(n)]
    return [(r * math.cos(math.tau * i / n), r * math.sin(math.tau * i / n)) for i, r in enumerate(reach)]


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("size", [15.0, 40.0, 120.0])
@pytest.mark.parametrize(
    ("name", "n", "inner"),
    [
        ("triangle", 3, 1),
        ("pentagon", 5, 1),
        ("hexagon", 6, 1),
        ("circle", 90, 1),
        ("star", 10, 0.45),
        ("star", 12, 0.5),
    ],
)
def test_regular_shapes(name: str, n: int, inner: float, size: float, turn: float) -> None:
    assert name_outline(mask_of(regular(n, size, inner), turn)).name == name


@pytest.mark.parametrize("turn", TURNS)
def test_rectangles(turn: float) -> None:
    box = [(-50.0, -20.0), (50.0, -20.0), (50.0, 20.0), (-50.0, 20.0)]
    assert name_outline(mask_of(box, turn)).name == "rectangle"


def test_a_square_on_its_corner_is_a_diamond() -> None:
    square = [(-30.0, -30.0), (30.0, -30.0), (30.0, 30.0), (-30.0, 30.0)]
    assert name_outline(mask_of(square, 0)).name == "square"
    assert name_outline(mask_of(square, math.pi / 4)).name == "diamond"


@pytest.mark.parametrize("turn", TURNS)
def test_an_ellipse_is_not_a_circle(turn: float) -> None:
    points = [(1.8 * x, y) for x, y in regular(90, 30)]
    assert name_outline(mask_of(points, turn)).name == "ellipse"


def test_a_cross() -> None:
    quarter = [(-1, -3), (1, -3), (1, -1)]
    cross = list(quarter)
    for _ in range(3):
        quarter = [(-y, x) for x, y in quarter]
        cross += quarter
    assert name_outline(mask_of([(10.0 * x, 10.0 * y) for x, y in cross], 0)).name == "cross"


def test_a_ring_is_a_disc() -> None:
    mask = mask_of(regular(90, 40), 0)
    mask[30:50, 30:50] = 0
    assert name_outline(mask).name == "circle"


def test_specks_have_no_name() -> None:
    assert name_outline(np.ones((2, 9), dtype=np.uint8)).name is None
