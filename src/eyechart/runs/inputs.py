"""The images of a run: their loader, what is sent in their place (``--input``), and those that were sent.

The prompt is changed by eyechart.prompt.inputs; blank images are made where images are loaded
(`make_preparer`). Images that were sent are loaded again in the same way and compared with what was recorded;
nothing is downloaded for that: an image at a URL is shown if it is in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.data.images.boxes import Box, clip_boxes, read_boxes
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.substitutes import (
    BlankImages,
    ColumnTexts,
    ImageTexts,
    MissingText,
    OcrTexts,
    read_texts,
    shuffle_source,
)
from eyechart.errors import DataError, EyechartError, UsageError, join_names
from eyechart.look.crops import View
from eyechart.prompt.inputs import refuse_hidden_images
from eyechart.report.conditions import read_options
from eyechart.report.looks import list_crop_boxes
from eyechart.runs.options import Options
from eyechart.store.folder import find_cache_folder
from eyechart.terminal import make_counter
from eyechart.types import Benchmark, Image, ImageRef, Result, Sample

if TYPE_CHECKING:
    from eyechart.runs.plan import Plan

IN_PLACE = ("caption", "ocr", "blank", "shuffled")  # inputs that put something in place of each image
_CAPTION_COLUMN = "caption"
RESIZING = ("max_pixels", "max_side", "jpeg_quality")


def make_loader(options: Options) -> ImageLoader:
    """The loader of a run's images; images downloaded from URLs are cached for the next run."""
    names = (*RESIZING, "allow_urls", "allow_private_urls")
    chosen: dict[str, Any] = {name: getattr(options, name) for name in names}
    return ImageLoader(**chosen, cache_dir=find_cache_folder() / "images")


# -- Captions and OCR texts


def open_texts(benchmark: Benchmark, options: Options, *, is_ocr: bool) -> ImageTexts:
    """The captions or OCR texts that are sent in place of each image."""
    given = options.ocr_texts if is_ocr else options.captions
    if is_ocr and not given:
        return OcrTexts(make_loader(options), find_cache_folder() / "ocr")
    if given and Path(given).is_file():
        return read_texts(Path(given), allows_blank=is_ocr)
    first, name = next(iter(benchmark.source), None), given or _CAPTION_COLUMN
    columns = [] if first is None else [str(column) for column in first.meta]
    if name in columns:
        return ColumnTexts(name, allows_blank=is_ocr)
    flag = "--ocr-texts" if is_ocr else "--captions"
    if not given:
        raise UsageError(
            f"--input {options.input} needs the texts: {benchmark.name} has no column {name!r}",
            hint=f"name a file or a column: {flag} FILE|COLUMN; eyechart data caption SOURCE -m MODEL writes "
            "such a file",
        )
    raise UsageError(
        f"{flag} {name}: neither a file nor a column of {benchmark.name}",
        hint=f"columns: {join_names(columns)}" if columns else "check the path",
    )


# -- Shuffled images


def apply_shuffle(benchmark: Benchmark, options: Options) -> Benchmark:
    """The same benchmark with every sample showing the images of other samples."""
    loader = make_loader(options)

    def hash_content(ref: ImageRef) -> bytes:
        # A URL stands for what is behind it: an estimate downloads nothing. A crop counts as its image.
        content = ref.location.encode() if ref.kind == "url" else loader.original(ref)
        return hashlib.sha256(content).digest()[:16]

    count = make_counter("samples: images compared") if options.progress else lambda n: None
    source = shuffle_source(benchmark.source, hash_content, options.seed or 0, count)
    return replace(benchmark, source=source)


# -- Checks before the first request


def check_input(plan: Plan) -> None:
    """Refuse a run with nothing to put in place of its images; reads as many samples as it takes."""
    check = InputCheck(plan)
    for sample in plan.benchmark.source:
        check.add(sample)
        if check.is_settled:
            break
    check.finish()


@dataclass(slots=True)
class InputCheck:
    """Checks, sample by sample, that something can be put in place of the images."""

    plan: Plan
    n_shown: int = 0
    missing: dict[str, DataError] = field(default_factory=dict)  # why samples have no text, by id

    @property
    def is_settled(self) -> bool:
        """Whether further samples make no difference. Texts from a file are looked up for each."""
        options = self.plan.options
        return self.n_shown > 0 and options.input != "caption" and not options.ocr_texts

    def add(self, sample: Sample) -> None:
        """Look at one sample."""
        if not sample.images or self.is_settled:
            return
        self.n_shown += 1
        try:
            turns = list(self.plan.prompt(sample.without_golds()))
        except MissingText as err:
            self.missing[sample.id] = err
            return
        except UsageError:
            raise
        except Exception:  # a user's own prompt: its errors are reported per sample
            return
        if (kind := self.plan.options.input) in ("blank", "shuffled"):
            refuse_hidden_images(turns, sample, kind)

    def finish(self) -> None:
        """Refuse the run if no sample has an image, or if texts are missing."""
        if names := list(self.missing):
            origin = self.missing[names[0]].message.partition(": ")[0]
            raise DataError(
                f"{origin}: no text for {len(names)} of {self.n_shown} samples with images: "
                f"{join_names(names, 10)}",
                hint="a text belongs to the id of a sample, or to the path of an image as in the questions",
            )
        if not self.n_shown:
            what = f"--input {self.plan.options.input} has nothing to replace"
            raise DataError(
                f"{self.plan.benchmark.source.origin}: no sample has an image, so {what}",
                hint="leave out --input, or use --input none",
            )


# -- Images as they were sent


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
    # By its origin, since a prompt may leave images out or repeat them: "blank, in place of ...".
    refs, origin = result.sample.images, str(record.get("origin", ""))
    sent = (ref for ref in refs if origin and origin.endswith(str(ref)))
    ref = next(sent, refs[number] if number < len(refs) else None)
    if ref is None:
        return SentImage(record=record, image=None, remark="the question does not say where it is")
    try:
        with contextlib.closing(make_sent_loader(manifest, is_sent=bool(record), allow_urls=False)) as loader:
            image = _load(loader, ref, record)
            boxes, size = _find_boxes(loader, ref, record, result)
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
    # Where another image, or a blank one, was sent in its place, the boxes are not drawn.
    is_own = boxes and record.get("origin", str(ref)) == str(ref)
    return boxes, loader.measure(ref) if is_own else None


def make_sent_loader(
    manifest: Mapping[str, Any], *, is_sent: bool = True, allow_urls: bool = True
) -> ImageLoader:
    """The loader of a run's images as they were sent, or of the originals."""
    options = read_options(manifest) if is_sent else {}
    # As in a manifest, which may come from elsewhere.
    limits: dict[str, Any] = {
        name: value for name in RESIZING if isinstance(value := options.get(name), int) and value > 0
    }
    return ImageLoader(**limits, allow_urls=allow_urls, cache_dir=find_cache_folder() / "images")


def _load(loader: ImageLoader, ref: ImageRef, record: Mapping[str, Any]) -> Image:
    if ref.kind == "url" and loader.is_cached(ref):
        loader = replace(loader, allow_urls=True)
    if isinstance(look := record.get("look"), Mapping):
        return View.of(look, str(record.get("mime"))).to_image(loader.open(ref), str(ref))
    if str(record.get("origin", "")).startswith("blank, in place of "):
        return BlankImages(loader).load(ref)
    return loader.load(ref)
