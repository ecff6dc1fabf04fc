"""The images of a sample as they were sent: loaded again in the same way, compared with what was recorded.

Nothing is downloaded: an image at a URL is shown if it is in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyechart.data.images.boxes import Box, clip_boxes, read_boxes
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.substitutes import BlankImages
from eyechart.errors import EyechartError
from eyechart.look.crops import View
from eyechart.report.conditions import read_options
from eyechart.report.looks import list_crop_boxes
from eyechart.store.folder import find_cache_folder
from eyechart.types import Image, ImageRef, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class SentImage:
    """One image of a request, or of a question that was asked without it."""

    record: Mapping[str, Any]  # size, bytes, SHA-256 and origin, as in the journal; empty: it was not sent
    image: Image | None  # None: it cannot be loaded
    is_same: bool = False  # the bytes are those that were sent
    remark: str = ""  # why it is not, or cannot be loaded
    boxes: tuple[Box, ...] = ()  # where the row says to look, in pixels of the original image
    original_size: tuple[int, int] = (0, 0)  # known where there are boxes


def load_sent_images(manifest: Mapping[str, Any], result: Result) -> list[SentImage]:
    """The images of one sample-trial, in the order in which they were sent."""
    return [load_sent_image(manifest, result, number) for number in range(count_images(result))]


def count_images(result: Result) -> int:
    """How many images were sent; if none were, how many the question has."""
    return len(result.sent) or len(result.sample.images)


def load_sent_image(
    manifest: Mapping[str, Any], result: Result, number: int, record: Mapping[str, Any] | None = None
) -> SentImage:
    """One image by its place in the request, from 0; or that of another record of the sample."""
    if record is None:
        record = result.sent[number] if result.sent else {}
    ref = _find_ref(result, record, number)
    if ref is None:
        return SentImage(record=record, image=None, remark="the question does not say where it is")
    try:
        loader = make_sent_loader(manifest, is_sent=bool(record), allow_urls=False)
        try:
            image = _load(loader, ref, record)
            boxes, size = _find_boxes(loader, ref, record, result)
        finally:
            loader.close()
    except EyechartError as err:
        return SentImage(record=record, image=None, remark=err.message)
    is_same = bool(record) and record.get("sha256") == image.sha256
    changed = "the image has changed since it was sent, or is encoded differently here"
    remark = "" if is_same else changed if record else "not sent to the model"
    return SentImage(
        record=record,
        image=image,
        is_same=is_same,
        remark=remark,
        boxes=tuple(clip_boxes(boxes, *size)) if size else (),
        original_size=size or (0, 0),
    )


def _find_ref(result: Result, record: Mapping[str, Any], number: int) -> ImageRef | None:
    """The reference that was sent: by its origin, since a prompt may leave images out or repeat them."""
    refs = result.sample.images
    origin = str(record.get("origin", ""))
    for ref in refs:
        if origin and origin.endswith(str(ref)):  # "blank, in place of ..."
            return ref
    return refs[number] if number < len(refs) else None


def _find_boxes(
    loader: ImageLoader, ref: ImageRef, record: Mapping[str, Any], result: Result
) -> tuple[list[Box], tuple[int, int] | None]:
    """The boxes to draw on an image, and the size they refer to; in a dialogue also those of its crops."""
    boxes = read_boxes(result.sample)
    if isinstance(look := record.get("look"), Mapping):
        if "parent" in look or "cut" in look:
            return [], None
        width, height = look["original"]
        return [*boxes, *list_crop_boxes(result, look["source"])], (width, height)
    return boxes, _measure(loader, ref, record) if boxes else None


def make_sent_loader(
    manifest: Mapping[str, Any], *, is_sent: bool = True, allow_urls: bool = True
) -> ImageLoader:
    """The loader of a run's images as they were sent, or of the originals."""
    options = read_options(manifest) if is_sent else {}
    # As in a manifest, which may come from elsewhere.
    limits: dict[str, Any] = {
        name: value
        for name in ("max_pixels", "max_side", "jpeg_quality")
        if isinstance(value := options.get(name), int) and value > 0
    }
    return ImageLoader(**limits, allow_urls=allow_urls, cache_dir=find_cache_folder() / "images")


def _measure(loader: ImageLoader, ref: ImageRef, record: Mapping[str, Any]) -> tuple[int, int] | None:
    """The size of the row's own image; None where another one, or a blank one, was sent in its place."""
    return loader.measure(ref) if record.get("origin", str(ref)) == str(ref) else None


def _load(loader: ImageLoader, ref: ImageRef, record: Mapping[str, Any]) -> Image:
    if ref.kind == "url" and loader.is_cached(ref):
        loader = replace(loader, allow_urls=True)
    if isinstance(look := record.get("look"), Mapping):
        return View.of(look, str(record.get("mime"))).to_image(loader.open(ref), str(ref))
    if str(record.get("origin", "")).startswith("blank, in place of "):
        return BlankImages(loader).load(ref)
    return loader.load(ref)
