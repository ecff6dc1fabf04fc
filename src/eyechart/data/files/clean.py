"""Writes any source as a clean file: one row per sample, published column names, images as files.

What the reader decided (sheet, header, separator, option numbers) is then in the file and need not be decided
again. Images inside workbooks, cells and PDF files are written beside the file.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.answers import LETTERS, to_text
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.pixels import inspect
from eyechart.errors import DataError, UsageError
from eyechart.files import atomic_write
from eyechart.types import Converted, ImageRef, Source

SUFFIXES = (".jsonl", ".tsv", ".csv")
_FIELDS = ("id", "question", "options", "answer", "image", "hint")


def write_clean(
    source: Source,
    out: Path,
    loader: ImageLoader,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Converted:
    """Write the samples of a source as JSON Lines, TSV or CSV, by the ending of `out`."""
    if out.suffix.lower() not in SUFFIXES:
        hint = f"write to a file with one of: {', '.join(SUFFIXES)}"
        raise UsageError(f"{out}: unknown extension", hint=hint)
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out}: no such folder", hint=f"create it: mkdir -p {out.parent}")
    if out.exists() and not force:
        raise UsageError(f"{out} exists", hint="--force overwrites it, or choose another --out")
    images = _ImageFiles(out, loader)
    rows = list(_rows(source, images, progress))
    if not rows:
        raise DataError(f"{source.origin}: contains no questions", hint="is this the right file?")
    if out.suffix.lower() == ".jsonl":
        with atomic_write(out) as draft:
            draft.write_bytes(msgspec.json.Encoder(enc_hook=str).encode_lines(rows))
    else:
        _write_table(out, rows)
    return Converted(annotations=out, n_rows=len(rows), n_images=images.n)


def _rows(
    source: Source, images: _ImageFiles, progress: Callable[[int], None] | None
) -> Iterator[dict[str, Any]]:
    for number, sample in enumerate(source, start=1):
        if sample.meta.get("history"):
            what = f"{source.origin}: a conversation with earlier turns cannot be one row"
            raise UsageError(what, hint="such a file is read as it is")
        paths = [images.place(ref) for ref in sample.images]
        filled = {
            "options": sample.choices_text or dict(sample.choices),
            "answer": sample.golds[0] if len(sample.golds) == 1 else list(sample.golds),
            "image": paths[0] if len(paths) == 1 else paths,
            "hint": sample.hint,
        }
        row: dict[str, Any] = {"id": sample.id, "question": sample.question}
        row |= {name: value for name, value in filled.items() if value}
        row |= {name: value for name, value in sample.meta.items() if name not in row}
        yield row
        if progress is not None:
            progress(number)


def _write_table(out: Path, rows: list[dict[str, Any]]) -> None:
    """A table: options in columns A, B, ..., lists as JSON."""
    flat = [_flatten(row) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    letters = [letter for letter in LETTERS if letter in names]
    ahead = [name for name in ("id", "question", *letters, *_FIELDS[2:]) if name in names]
    columns = [*ahead, *(name for name in names if name not in ahead)]
    separator = "," if out.suffix.lower() == ".csv" else "\t"
    with atomic_write(out) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([[row.get(name, "") for name in columns] for row in flat])


def _flatten(row: dict[str, Any]) -> dict[str, str]:
    options = row.get("options")
    texts = {name: to_text(value) for name, value in row.items()}
    if isinstance(options, dict) and all(letter in LETTERS for letter in options):
        del texts["options"]
        texts |= options
    return texts


class _ImageFiles:
    """Paths for images, relative to the new file; images that are not files are written beside it."""

    def __init__(self, out: Path, loader: ImageLoader) -> None:
        self.base = out.absolute().parent
        self.folder = self.base / f"{out.stem}_images"
        self.loader = loader
        self.n = 0
        self._written: dict[ImageRef, str] = {}

    def place(self, ref: ImageRef) -> str:
        self.n += 1
        if ref.kind == "url":
            return ref.location
        if ref.kind == "file" and ref.box is None:
            path = os.path.relpath(ref.location, self.base)
            return path if not path.startswith("..") else str(Path(ref.location).absolute())
        if ref not in self._written:
            data = self.loader.original(ref)
            suffix = inspect(data, str(ref)).format.lower().replace("jpeg", "jpg")
            self.folder.mkdir(exist_ok=True)
            name = f"{len(self._written) + 1:05d}.{suffix}"
            (self.folder / name).write_bytes(data)
            self._written[ref] = f"{self.folder.name}/{name}"
        return self._written[ref]
