"""Boxes and crops: what part of which image is shown, at which size.

Everything is computed from sizes; pixels are touched by `View.draw` alone. Boxes are x1, y1, x2, y2. Python's
`round` (halves to even) and `int` are used exactly where the authors' programs use them: presented sizes and
boxes are rounded, area limits and minimum sides are truncated.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from eyechart.errors import EyechartError, ImageError
from eyechart.types import Image

if TYPE_CHECKING:
    from PIL import Image as Pillow

Size = tuple[int, int]
Box = tuple[int, int, int, int]
FloatBox = tuple[float, float, float, float]

NOT_FOUND: Box = (0, 0, 0, 0)  # a searcher's word for "it is not in the image"
MAX_RATIO = 200  # of the longer to the shorter side of a crop
_SIDE = 1280


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings of a loop: by default those of InSight-o3's evaluation, in `ZOOM_RULES` InSight-doc's."""

    protocol: Literal["search", "zoom", "tools"] = "search"
    max_looks: int = 6
    attempts: int = 5  # per round (A, A2)
    scale: float = 0.25  # of presented images (A2, B)
    max_area: float = _SIDE * _SIDE  # of presented images; 0: no limit
    crop_max_area: float = _SIDE * _SIDE
    png_max_area: float = _SIDE * _SIDE  # a larger one is sent as JPEG (A2)
    zoom: float = 4.0  # how much larger than on its parent a crop is shown (A2, B)
    margin: float = 0.0  # around a crop (A)
    min_side: int = 56
    min_area: int = 112 * 112
    unit: Literal["thousandths", "pixels"] = "thousandths"  # of a model's boxes (B, C)
    index: Literal["all", "question"] = "all"  # whether crops can be named, or the question's images alone
    calls_per_turn: int = 1
    tool_images: bool = False  # crops are part of a tool's result, not of a user's turn after it (C)
    searcher_unit: Literal["thousandths", "pixels"] = "pixels"  # of its boxes
    searcher_patch: int = 28  # the sides of its image are multiples of this: 32 for Qwen3-VL
    searcher_area: int = 16_384 * 28 * 28  # of its image at most
    searcher_looks: int = 6  # of its own, per region
    feedback: bool = False  # each reply must say whether the last crop helped; in training only
    strict: bool = False  # calls, boxes and searchers that end the authors' loop do not end this one


ZOOM_RULES = Rules(protocol="zoom", max_looks=10, max_area=3500 * 3500, png_max_area=math.inf, zoom=2.0)


def usual_rules(protocol: Literal["search", "zoom", "tools"]) -> Rules:
    """The settings that the authors of a protocol evaluate with."""
    return Rules() if protocol == "search" else replace(ZOOM_RULES, protocol=protocol)


class ProtocolError(EyechartError):
    """A step at which the authors' program ends with an exception, which nothing catches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """An image as the model sees it: a region of an original, and the sizes it is brought to in turn."""

    source: int  # which original, counted from 0
    original: Size
    box: Box  # the region of the original
    sizes: tuple[Size, ...] = ()  # one resize each: two resizes differ from one by their pixels
    mime: Literal["image/jpeg", "image/png"] = "image/jpeg"
    parent: int | None = None  # the number of the view that it was cut from; None: an image of the question
    on_parent: Box | None = None  # the region on its parent as shown
    label: str = ""  # what the model asked for
    cut: FloatBox | None = None  # a part of it at its last size: what a searcher zooms into

    @property
    def size(self) -> Size:
        if self.cut is not None:
            return side_lengths(tuple(map(round, self.cut)))
        return self.sizes[-1] if self.sizes else side_lengths(self.box)

    def draw(self, image: Pillow.Image) -> Pillow.Image:
        """The pixels, cut from the decoded original. A whole image becomes RGB before it is resized."""
        from PIL.Image import Resampling

        if self.parent is None and image.mode != "RGB":
            image = image.convert("RGB")
        cut = image if self.box == (0, 0, *image.size) else image.crop(self.box)
        for size in self.sizes:
            if cut.size != size:
                cut = cut.resize(size, Resampling.LANCZOS)
        if self.cut is not None:
            cut = cut.crop(self.cut)
        return cut if cut.mode in ("RGB", "L") else cut.convert("RGB")

    def encode(self, image: Pillow.Image) -> bytes:
        """The file that is sent: JPEG of Pillow's default quality, or PNG."""
        file = io.BytesIO()
        self.draw(image).save(file, self.mime.removeprefix("image/").upper())
        return file.getvalue()

    def to_image(self, original: Pillow.Image, origin: str) -> Image:
        """The file as an image that can be sent; `ImageError` where it cannot be encoded."""
        try:
            data = self.encode(original)
        except (OSError, ValueError, MemoryError) as err:
            raise ImageError(f"{origin}: the region {list(self.box)} cannot be sent: {err}") from err
        is_resized = bool(self.sizes)
        return Image.encode(data, self.mime, self.size, resized=is_resized, reencoded=True, origin=origin)

    def describe(self) -> dict[str, Any]:
        """What it shows, for the record: with the original, its pixels can be made again (`of`)."""
        shown: dict[str, Any] = {
            "source": self.source, "original": self.original, "box": self.box, "sizes": self.sizes,
        }  # fmt: skip
        if self.parent is not None:
            label = self.label.encode("utf-8", "replace").decode()  # JSON may escape half a surrogate pair
            shown |= {"parent": self.parent, "label": label}
            shown |= {"on_parent": self.on_parent} if self.on_parent else {}
        return shown | ({"cut": self.cut} if self.cut else {})

    @classmethod
    def of(cls, shown: Mapping[str, Any], mime: str) -> View:
        """The view of a record."""
        return msgspec.convert({**shown, "mime": mime}, cls)


def side_lengths(box: Sequence[int]) -> Size:
    """Width and height of a box."""
    return box[2] - box[0], box[3] - box[1]


def limit_area(size: Size, max_area: float) -> Size:
    """The size, shrunk to an area of at most `max_area`; 0 or less: no limit.

    >>> limit_area((4000, 3000), 1280 * 1280)
    (1478, 1108)
    """
    area = math.prod(size)
    return size if max_area <= 0 or area <= max_area else scale_size(size, (max_area / area) ** 0.5, int)


def scale_size(size: Size, by: float, to_whole: Callable[[float], int] = round) -> Size:
    """Both sides times `by`, rounded or truncated, at least 1."""
    return max(1, to_whole(size[0] * by)), max(1, to_whole(size[1] * by))


def scale_box(box: Sequence[float], source: Size, target: Size) -> Box:
    """A box on an image of one size, on the same image at another size."""
    x1, y1, x2, y2 = (round(v * target[n % 2] / source[n % 2]) for n, v in enumerate(box))
    return x1, y1, x2, y2


def clip_box(box: Sequence[int], size: Size) -> Box | None:
    """The part of a box inside an image; None if nothing is left."""
    clamped = _clamp_box(box, size)
    return clamped if min(side_lengths(clamped)) > 0 else None


def _clamp_box(box: Sequence[int], size: Size) -> Box:
    x1, y1, x2, y2 = (min(max(v, 0), size[n % 2]) for n, v in enumerate(box))
    return x1, y1, x2, y2


# -- Protocol A (InSight-o3): one image, the searcher's box is cut from the original.


def present_whole(size: Size, max_area: float) -> View:
    """The image of the question: whole, below the limit."""
    shown = limit_area(size, max_area)
    return View(source=0, original=size, box=(0, 0, *size), sizes=(shown,) if shown != size else ())


def to_original(box: Sequence[float], source: Size, target: Size) -> Box:
    """A searcher's box on the original. One that collapses ends the authors' program with an exception."""
    try:
        found = scale_box(box, source, target)
    except OverflowError:  # whole numbers of hundreds of digits
        found = NOT_FOUND
    if not (0 <= found[0] < found[2] and 0 <= found[1] < found[3]):
        raise ProtocolError(
            f"a searcher's box is empty on the original: {list(found)}",
            hint="with strict=True such a box counts as not found",
        )
    return found


def cut_region(size: Size, box: Sequence[object], rules: Rules) -> View | None:
    """The crop of a box on the original; None where nothing can be cut."""
    try:
        x1, y1, x2, y2 = (int(v) for v in box)  # type: ignore[call-overload]
        wider, higher = int((x2 - x1) * rules.margin), int((y2 - y1) * rules.margin)
    except (TypeError, ValueError, OverflowError):
        return None
    if x2 <= x1 or y2 <= y1:
        return None
    if (cut := clip_box((x1 - wider, y1 - higher, x2 + wider, y2 + higher), size)) is None:
        return None
    shown, sizes = side_lengths(cut), list[Size]()
    if min(shown) < rules.min_side:
        sizes.append(shown := scale_size(shown, rules.min_side / min(shown), int))
    if math.prod(shown) < rules.min_area:
        sizes.append(shown := scale_size(shown, (rules.min_area / math.prod(shown)) ** 0.5, int))
    if (limited := limit_area(shown, rules.crop_max_area)) != shown:
        sizes.append(limited)
    return View(source=0, original=size, box=cut, sizes=tuple(sizes), parent=0)


# -- Protocols A2, B and C: images are presented small; a crop of one is shown larger.


def present_small(size: Size, scale: float, max_area: float) -> Size:
    """The size at which an image of the question is presented."""
    return limit_area(scale_size(size, scale), max_area)


def show(view: View, size: Size, rules: Rules) -> View:
    """The same at another size: as PNG, or as JPEG if it is larger than the rules allow."""
    is_png = math.prod(size) <= rules.png_max_area
    sizes = (size,) if size != side_lengths(view.box) else ()
    return replace(view, sizes=sizes, mime="image/png" if is_png else "image/jpeg")


def raise_scale(sizes: Sequence[Size], scale: float, min_pixels: int, max_area: float) -> float:
    """The scale at which all images together have `min_pixels`, or 1 if they never do."""

    def total(at: float) -> int:
        return sum(math.prod(present_small(size, at, max_area)) for size in sizes)

    scale = min(scale, 1.0)
    if min_pixels <= 0 or not sizes or total(scale) >= min_pixels:
        return scale
    if total(1.0) <= min_pixels:
        return 1.0
    low, high = scale, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if total(middle) >= min_pixels else (middle, high)
    return high


def shrink_to_half(size: Size, max_area: float) -> Size:
    """Half of the area, where a prompt is too long for the model's context."""
    return limit_area(scale_size(size, math.sqrt(0.5)), max_area)


def zoom_found(parent: View, number: int, box: Sequence[float], processed: Size, rules: Rules) -> View | None:
    """A searcher's box on a view (A2). None if it is empty on the original."""
    try:
        shown = _clamp_box(scale_box(box, processed, parent.size), parent.size)
        return _cut_view(parent, number, box, processed, shown, rules)
    except OverflowError:
        return None


def _cut_view(
    parent: View, number: int, box: Sequence[float], size: Size, shown: Box, rules: Rules
) -> View | None:
    """The region of a box on a view of this size; `shown`: as the model sees it, None if it is empty.

    As published, a searcher's box may reach beyond the view, and one that is empty there counts as a pixel.
    """
    x1, y1, x2, y2 = scale_box(box, size, side_lengths(parent.box))
    x, y = parent.box[:2]
    if (on_original := clip_box((x1 + x, y1 + y, x2 + x, y2 + y), parent.original)) is None:
        return None
    width, height = side_lengths(shown)
    enlarged = limit_area(scale_size((max(1, width), max(1, height)), rules.zoom), rules.crop_max_area)
    return show(replace(parent, box=on_original, parent=number, on_parent=shown), enlarged, rules)


ToolError = Literal[
    "bad_json", "exception", "bad_img_idx", "bad_label", "bad_bbox", "no_such_image", "empty_box",
    "empty_on_original", "too_thin", "unknown_tool",
]  # fmt: skip


def zoom_box(parent: View, number: int, box: Sequence[object], rules: Rules) -> View | ToolError:
    """The region that a model's box names on a view (B and C), in thousandths or pixels of it as shown."""
    try:
        values = [float(v) for v in box]  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return "empty_box"
    if not all(map(math.isfinite, values)):
        return "exception"
    shown = parent.size
    try:
        unit = (1000, 1000) if rules.unit == "thousandths" else shown
        clipped = clip_box(scale_box(values, unit, shown), shown)
    except OverflowError:  # a finite number whose product is not
        return "exception"
    if clipped is None:
        return "empty_box"
    if (crop := _cut_view(parent, number, clipped, shown, clipped, rules)) is None:
        return "empty_on_original"
    return crop if max(crop.size) / min(crop.size) <= MAX_RATIO else "too_thin"


# -- Other forms of the tool: what the searcher's own zoom does, and the one of Qwen's cookbook.

_VERL_SIDE, _VERL_RATIO = 28, 100
_QWEN_SIDE, _QWEN_MIN_AREA, _QWEN_MAX_AREA = 32, 256 * 32 * 32, 12_845_056


def verl_box(size: Size, box: Sequence[float]) -> FloatBox | None:
    """The region that verl's zoom tool cuts, in pixels; None where it refuses."""
    x1, y1 = max(0.0, float(box[0])), max(0.0, float(box[1]))
    x2, y2 = min(float(size[0]), float(box[2])), min(float(size[1]), float(box[3]))
    if not _has_sides(x1, y1, x2, y2):
        return None
    wide, high = x2 - x1, y2 - y1
    if min(wide, high) < _VERL_SIDE:
        by = _VERL_SIDE / min(wide, high)
        wide, high = wide * by, high * by
        if wide > size[0]:
            wide, high = float(size[0]), high * (size[0] / wide)
        if high > size[1]:
            wide, high = wide * (size[1] / high), float(size[1])
        left, top = max((x1 + x2) / 2.0 - wide / 2.0, 0.0), max((y1 + y2) / 2.0 - high / 2.0, 0.0)
        left = size[0] - wide if left + wide > size[0] else left
        top = size[1] - high if top + high > size[1] else top
        x1, y1, x2, y2 = math.floor(left), math.floor(top), math.ceil(left + wide), math.ceil(top + high)
    whole = [math.floor(v) for v in (x1, y1, x2, y2)]
    return (x1, y1, x2, y2) if _has_sides(x1, y1, x2, y2) and min(side_lengths(whole)) >= _VERL_SIDE else None


def _has_sides(x1: float, y1: float, x2: float, y2: float) -> bool:
    return x1 < x2 and y1 < y2 and max(x2 - x1, y2 - y1) / min(x2 - x1, y2 - y1) <= _VERL_RATIO


def qwen_box(size: Size, box: Sequence[float]) -> FloatBox:
    """The region that Qwen-Agent's zoom tool cuts, from thousandths; ValueError where it is none."""
    width, height = size
    x1, y1 = max(0.0, box[0] / 1000.0 * width), max(0.0, box[1] / 1000.0 * height)
    x2, y2 = min(box[2] / 1000.0 * width, width), min(box[3] / 1000.0 * height, height)
    wide, high = x2 - x1, y2 - y1
    if wide < _QWEN_SIDE or high < _QWEN_SIDE:  # as published, also a box that ends before it starts
        by = _QWEN_SIDE / min(high, wide)
        half_high, half_wide = math.ceil(high * by * 0.5), math.ceil(wide * by * 0.5)
        x, y = (x1 + x2) / 2.0, (y1 + y2) / 2.0
        left, top = max(0, math.floor(x - half_wide)), max(0, math.floor(y - half_high))
        right, bottom = min(width, math.ceil(x + half_wide)), min(height, math.ceil(y + half_high))
        if bottom - top > _QWEN_SIDE and right - left > _QWEN_SIDE:
            return left, top, right, bottom
    if wide < 0 or high < 0:
        raise ValueError("the box ends before it starts")
    return x1, y1, x2, y2


def qwen_size(box: FloatBox) -> Size:
    """The size that Qwen-Agent gives the crop of a box."""
    return fit_patches((box[2] - box[0], box[3] - box[1]), _QWEN_SIDE, _QWEN_MIN_AREA, _QWEN_MAX_AREA)


def fit_patches(size: tuple[float, float], side: int, min_area: int, max_area: int) -> Size:
    """Qwen's own rule: sides that are multiples of `side`, between two areas.

    >>> fit_patches((8000, 6000), 28, 4 * 28 * 28, 16_384 * 28 * 28)
    (4116, 3080)
    """
    wide, high = (max(side, round(v / side) * side) for v in size)
    if wide * high > max_area:
        by = math.sqrt(math.prod(size) / max_area)
        wide, high = (max(side, math.floor(v / by / side) * side) for v in size)
    elif wide * high < min_area:
        by = math.sqrt(min_area / math.prod(size))
        wide, high = (math.ceil(v * by / side) * side for v in size)
    return wide, high


def qwen_crop(image: Pillow.Image, box: Sequence[float]) -> tuple[Size, Pillow.Image]:
    """The crop of Qwen-Agent's zoom tool: one bicubic resize."""
    from PIL.Image import Resampling

    region = qwen_box(image.size, box)
    size = qwen_size(region)
    return size, image.crop(region).resize(size, Resampling.BICUBIC)
