"""Connected patches: checked against a slow and simple count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from eyechart.baselines.patches import find_patches, label_areas


def label_slowly(grid: list[list[int]]) -> list[list[int]]:
    """Flood fill, one area after the other in reading order."""
    height, width = len(grid), len(grid[0])
    labels = [[-1] * width for _ in range(height)]
    number = 0
    for y in range(height):
        for x in range(width):
            if labels[y][x] >= 0:
                continue
            todo = [(y, x)]
            while todo:
                j, i = todo.pop()
                if 0 <= j < height and 0 <= i < width and labels[j][i] < 0 and grid[j][i] == grid[y][x]:
                    labels[j][i] = number
                    todo += [(j + 1, i), (j - 1, i), (j, i + 1), (j, i - 1)]
            number += 1
    return labels


@st.composite
def grids(draw: st.DrawFn) -> list[list[int]]:
    width = draw(st.integers(1, 9))
    row = st.lists(st.integers(0, 2), min_size=width, max_size=width)
    return draw(st.lists(row, min_size=1, max_size=9))


@pytest.mark.slow
@given(grid=grids())
def test_label_agrees_with_flood_fill(grid: list[list[int]]) -> None:
    assert label_areas(np.array(grid, dtype=np.int32)).tolist() == label_slowly(grid)


def test_patches_of_a_drawing() -> None:
    picture = Image.new("RGB", (120, 80), (250, 250, 240))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((10, 20, 39, 59), fill=(200, 20, 20))
    pen.rectangle((60, 20, 109, 29), fill=(20, 20, 200))
    seen = find_patches(np.asarray(picture))
    assert seen.flatness == 1
    figures = [patch for patch in seen.patches if not patch.is_background]
    assert [(p.x0, p.y0, p.x1, p.y1, p.area) for p in figures] == [
        (10, 20, 40, 60, 1200),
        (60, 20, 110, 30, 500),
    ]
    assert all(patch.fill == 1 for patch in figures)
    assert seen.mask(figures[0]).all()


def test_smoothed_edges_are_no_patches() -> None:
    picture = Image.new("RGB", (400, 400), "white")
    ImageDraw.Draw(picture).ellipse((100, 100, 300, 300), fill=(200, 20, 20))
    small = picture.resize((67, 67), Image.Resampling.LANCZOS)
    seen = find_patches(np.asarray(small))
    assert len([patch for patch in seen.patches if not patch.is_background]) == 1


def test_noise_is_not_flat() -> None:
    rng = np.random.default_rng(0)
    assert find_patches(rng.integers(0, 256, (100, 100, 3), dtype=np.uint8)).flatness < 0.8
