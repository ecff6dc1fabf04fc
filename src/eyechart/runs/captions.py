"""Captions of a source's images by any model, in a file for ``--input caption``, audits and MULTI.

Every image is asked about once, as a sample of a run of its own: answers are kept in its journal, so the same
command resumes, and in the response cache. The file has a text per image, by its path, or per sample, by its
id, where an image has no file of its own (an embedded one, a page, a crop).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.files.json_files import read_bytes
from eyechart.data.images.substitutes import IMAGE_PATHS, read_caption_lines
from eyechart.data.samples import MemorySource
from eyechart.errors import DataError, UsageError, join_names
from eyechart.files import atomic_write
from eyechart.option import list_option_names
from eyechart.runs.evaluate import evaluate
from eyechart.runs.models import choose_models
from eyechart.runs.options import COST, IMAGES, MODEL, REQUESTS, Options
from eyechart.runs.plan import choose_benchmark, make_plan
from eyechart.runs.results import Run
from eyechart.types import Benchmark, ImageRef, Message, Sample

PROMPT = (
    "Describe this image for somebody who cannot see it and has to answer questions about it: what it shows, "
    "where, how many, in which colours. Copy all text, numbers and labels. Write one paragraph, without an "
    "introduction."
)
_ASKING = frozenset({
    *list_option_names(Options, MODEL, IMAGES, REQUESTS, COST),
    "progress", "fresh", "allow_urls", "allow_private_urls",
})  # fmt: skip
_LINES, _TABLE = ".csv", ".jsonl"


@dataclass(frozen=True, slots=True)
class CaptionRow:
    """A line of the file: its key, and the images that its text or texts describe."""

    key: str
    images: tuple[ImageRef, ...]
    is_path: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Captions:
    """The finished run, the file, and which images have no text."""

    run: Run
    file: Path
    n_images: int
    missing: tuple[str, ...] = ()  # names of images without a text


def write_captions(
    source: str, model: str, given: Mapping[str, Any], *, file: Path | None, prompt: str, force: bool = False
) -> Captions:
    """Ask `model` to describe every image of a source, and write the texts to `file`.

    `given`: the options of a run that were given, to find the questions and to ask. Refuses what cannot be
    written before anything is asked. Images that failed or got no text have no line.
    """
    reading = {name: value for name, value in given.items() if name not in _ASKING or "urls" in name}
    benchmark, _ = choose_benchmark(source, Options.of(reading))
    rows = list_rows(benchmark)
    file = file or Path(f"{Path(source).stem}_captions{_LINES}")
    check_file(file, rows, force=force)
    names: dict[ImageRef, str] = {}  # in the run: the key of the row, numbered if that has several images
    for row in rows:
        for number, ref in enumerate(row.images, start=1):
            names.setdefault(ref, row.key if len(row.images) == 1 else f"{row.key} ({number})")
    samples = tuple(
        Sample(id=name, question=prompt, images=(ref,), row=number)
        for number, (ref, name) in enumerate(names.items(), start=1)
    )
    asked = Benchmark(
        name="captions",
        source=MemorySource("captions", benchmark.source.origin, samples),
        prompt=lambda sample: [Message("user", (*sample.images, sample.question))],
        scorer="default",
        settings={"prompt": prompt},
        about=f"captions of the images of {benchmark.name}",
    )
    asking = {name: value for name, value in given.items() if name in _ASKING}
    [(spec, options)] = choose_models([model], asking)
    done = evaluate(make_plan(asked, spec, options))
    said = {one.sample.id: " ".join(one.reply.text.split()) for one in done.samples(0) if one.reply}
    texts = {ref: said[name] for ref, name in names.items() if said.get(name)}
    with atomic_write(file) as place:
        place.write_text("".join(format_rows(rows, texts, file.suffix)), encoding="utf-8")
    missing = tuple(name for ref, name in names.items() if ref not in texts)
    return Captions(run=done, file=file, n_images=len(names), missing=missing)


def list_rows(benchmark: Benchmark) -> list[CaptionRow]:
    """A row per image that has a file or a URL, and per sample with other images; each once."""
    folder = Path(benchmark.source.origin).parent
    rows: dict[str, CaptionRow] = {}
    for sample in benchmark.source:
        named = sample.meta.get(IMAGE_PATHS)
        names = named if isinstance(named, list) and len(named) == len(sample.images) else None
        if not all(ref.kind in ("file", "url") and ref.box is None for ref in sample.images):
            key = sample.circle or sample.id
            rows.setdefault(key, CaptionRow(key, sample.images, is_path=False))
            continue
        for at, ref in enumerate(sample.images):
            path = Path(ref.location)
            short = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ref.location
            key = str(names[at]) if names else short
            rows.setdefault(key, CaptionRow(key, (ref,), is_path=True))
    if not rows:
        raise DataError(
            f"{benchmark.source.origin}: no sample has an image",
            hint="settings may leave images out: eyechart data show SOURCE lists them, e.g. input_type=2",
        )
    return list(rows.values())


# -- The file


def check_file(file: Path, rows: Sequence[CaptionRow], *, force: bool) -> None:
    """Refuse a file that cannot hold the texts, or that holds something else."""
    if file.suffix not in (_LINES, _TABLE):
        raise UsageError(
            f"--out {file}: captions are written as {_LINES} or {_TABLE}",
            hint=f"{_LINES}: lines of path, comma, text; {_TABLE}: a row per image",
        )
    if not file.parent.is_dir():
        raise UsageError(f"--out {file}: no folder {file.parent}", hint="create it, or choose another path")
    odd = [row.key for row in rows if "," in row.key or "\n" in row.key or row.key != row.key.strip()]
    several = [row.key for row in rows if len(row.images) > 1]
    if file.suffix == _LINES and (odd or several):
        what = "have commas or outer blanks" if odd else "have several images that are not files"
        raise UsageError(
            f"--out {file}: a line is a path, a comma and one text, but {join_names(odd or several)} {what}",
            hint=f"write a table instead: --out {file.with_suffix(_TABLE)}",
        )
    if file.exists() and not force and not _is_ours(file, {row.key for row in rows}):
        raise UsageError(
            f"--out {file} exists and is not a file of captions of these images",
            hint="choose another --out, or overwrite it with --force",
        )


def _is_ours(file: Path, keys: set[str]) -> bool:
    """Whether all keys in a file are those of the images, so that writing it again loses nothing."""
    try:
        if file.suffix == _LINES:
            return read_caption_lines(read_bytes(file), file.name).keys() <= keys
        found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return all((one.get("image") or one.get("id")) in keys for one in found)
    except (DataError, OSError, ValueError, AttributeError):
        return False


def format_rows(rows: Sequence[CaptionRow], texts: Mapping[ImageRef, str], suffix: str) -> Iterator[str]:
    """The lines of the file; rows without all their texts are left out."""
    for row in rows:
        said = [texts[ref] for ref in row.images if ref in texts]
        if len(said) < len(row.images):
            continue
        if suffix == _LINES:
            yield f"{row.key},{said[0]}\n"
        else:
            name = "image" if row.is_path else "id"
            value = {name: row.key, "caption": said[0] if len(said) == 1 else said}
            yield json.dumps(value, ensure_ascii=False) + "\n"
