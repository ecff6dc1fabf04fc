"""Connected patches of one colour."""

import numpy as np
from PIL import Image, ImageDraw

from eyechart.baselines.sight import find_patches


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
    assert figures[0].mask.all()


def test_smoothed_edges_are_no_patches() -> None:
    picture = Image.new("RGB", (400, 400), "white")
    ImageDraw.Draw(picture).ellipse((100, 100, 300, 300), fill=(200, 20, 20))
    small = picture.resize((67, 67), Image.Resampling.LANCZOS)
    seen = find_patches(np.asarray(small))
    assert len([patch for patch in seen.patches if not patch.is_background]) == 1


def test_noise_is_not_flat() -> None:
    rng = np.random.default_rng(0)
    assert find_patches(rng.integers(0, 256, (100, 100, 3), dtype=np.uint8)).flatness < 0.8
