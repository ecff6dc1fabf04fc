"""What is sent in place of images (``--input``): opens the texts, shuffles the images, checks that it works.

The prompt is changed by eyechart.prompt.inputs; blank images are made where images are loaded
(`make_preparer`).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.substitutes import shuffle_source
from eyechart.errors import DataError, UsageError, join_names
from eyechart.prompt.inputs import describe_images, refuse_hidden_images
from eyechart.runs.options import Options
from eyechart.store.folder import find_cache_folder
from eyechart.terminal import make_counter
from eyechart.types import Benchmark, ImageRef, Prompt, Sample

if TYPE_CHECKING:
    from eyechart.data.images.texts import ImageTexts
    from eyechart.runs.plan import Plan

IN_PLACE = ("caption", "ocr", "blank", "shuffled")  # inputs that put something in place of each image
_CAPTION_COLUMN = "caption"


def make_loader(options: Options) -> ImageLoader:
    """The loader of a run's images; images downloaded from URLs are cached for the next run."""
    return ImageLoader(
        max_pixels=options.max_pixels,
        max_side=options.max_side,
        jpeg_quality=options.jpeg_quality,
        allow_urls=options.allow_urls,
        allow_private_urls=options.allow_private_urls,
        cache_dir=find_cache_folder() / "images",
    )


# -- Captions and OCR texts


def find_text_files(options: Options) -> Options:
    """The options with absolute paths of the files of texts: the run folder is the same from everywhere."""
    files: dict[str, Any] = {
        name: str(Path(given).absolute())
        for name in ("captions", "ocr_texts")
        if (given := getattr(options, name)) and Path(given).is_file()
    }
    return replace(options, **files) if files else options


def put_texts(prompt: Prompt, benchmark: Benchmark, options: Options) -> Prompt:
    """The prompt with a caption or an OCR text in place of each image."""
    texts = _open_texts(benchmark, options)
    return describe_images(prompt, texts.find, "caption" if options.input == "caption" else "ocr")


def _open_texts(benchmark: Benchmark, options: Options) -> ImageTexts:
    from eyechart.data.images.texts import ColumnTexts, OcrTexts, read_texts

    is_ocr = options.input == "ocr"
    if is_ocr and not options.ocr_texts:
        return OcrTexts(make_loader(options), find_cache_folder() / "ocr")
    name = options.ocr_texts if is_ocr else options.captions or _CAPTION_COLUMN
    assert name is not None
    if (options.ocr_texts or options.captions) and Path(name).is_file():
        return read_texts(Path(name), allows_blank=is_ocr)
    first = next(iter(benchmark.source), None)
    columns = [] if first is None else [str(column) for column in first.meta]
    if name in columns:
        return ColumnTexts(name, allows_blank=is_ocr)
    flag = "--ocr-texts" if is_ocr else "--captions"
    if not (options.ocr_texts or options.captions):
        raise UsageError(
            f"--input {options.input} needs the texts: {benchmark.name} has no column {name!r}",
            hint=f"name a file or a column: {flag} FILE|COLUMN"
            + ("" if is_ocr else "; eyechart data caption SOURCE -m MODEL writes such a file"),
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


class InputCheck:
    """Checks, sample by sample, that something can be put in place of the images."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._kind = plan.options.input
        self._has_texts = self._kind == "caption" or bool(plan.options.ocr_texts)
        self._n_shown = 0
        self._missing: list[str] = []
        self._why: DataError | None = None

    def add(self, sample: Sample) -> None:
        """Look at one sample: the first with an image, and with texts from a file every one."""
        from eyechart.data.images.texts import MissingText

        if not sample.images:
            return
        if self.is_settled:
            return
        self._n_shown += 1
        try:
            turns = list(self._plan.prompt(sample.without_golds()))
        except MissingText as err:
            self._missing.append(sample.id)
            self._why = self._why or err
            return
        except UsageError:
            raise
        except Exception:  # a user's own prompt: its errors are reported per sample
            return
        if self._kind in ("blank", "shuffled"):
            refuse_hidden_images(turns, sample, self._kind)

    @property
    def is_settled(self) -> bool:
        """Whether further samples make no difference."""
        return bool(self._n_shown) and not self._has_texts

    def finish(self) -> None:
        """Refuse the run if no sample has an image, or if texts are missing."""
        if self._missing:
            assert self._why is not None
            origin = self._why.message.partition(": ")[0]
            raise DataError(
                f"{origin}: no text for {len(self._missing)} of {self._n_shown} samples with images: "
                f"{join_names(self._missing, 10)}",
                hint="a text belongs to the id of a sample, or to the path of an image as in the questions",
            )
        if not self._n_shown:
            raise DataError(
                f"{self._plan.benchmark.source.origin}: no sample has an image, so --input {self._kind} has "
                "nothing to replace",
                hint="leave out --input, or use --input none",
            )
