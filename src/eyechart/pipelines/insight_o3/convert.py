"""Original data sets of seven benchmarks, converted to the annotation files and images InSight-o3 reads.

`convert_dataset` reads rows one by one, writes each image unchanged under a name that stays below the output
folder, and overwrites existing files only with `force`. The order of keys and the texts are those of the
published annotation files. A `Layout` per benchmark, beside the function that converts a row, says what its
original looks like on the hub; where it goes is in the benchmark's own table (`DATASETS`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from eyechart.data.columns.meaning import to_text
from eyechart.data.files.hub import fetch_repository, is_hub
from eyechart.data.files.rows import Blob, Row, name_row
from eyechart.data.images.loading import ImageLoader, MissingImage
from eyechart.data.samples import FileSource
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError, UsageError
from eyechart.files import atomic_write
from eyechart.pipelines.insight_o3.benchmark import DATASETS, Dataset
from eyechart.registry import converters
from eyechart.types import Converted, ImageRef

Values = Mapping[str, Any]
Convert = Callable[[Values, int, str], dict[str, Any]]  # a row, its position, the image's name in it

_UNPACK = "unpack the images beside the data file, as on the hub"
_LETTERED = re.compile(r"\(([A-Z])\)")
_PLACEHOLDER = re.compile(r"\s*<\|?image(?:_\d+|_pad)?\|?>[ \t]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a data set's original looks like."""

    dataset: Dataset
    files: tuple[str, ...]  # patterns of the original's data file; the first one that matches counts
    fields: Mapping[str, str]  # the original's columns, by what a sample needs
    convert: Convert
    is_ascii: bool = False  # the published file escapes other characters
    has_files: bool = True  # images are files, not cells
    has_boxes: bool = False  # a JSON file beside each image says where to look


def convert_dataset(
    layout: Layout,
    source: str,
    out: Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Converted:
    """Write a data set's annotation file and images below `out`, from its original at `source`."""
    annotations = out / layout.dataset.annotations
    if annotations.exists() and not force:
        raise UsageError(f"{annotations} already exists", hint="--force overwrites it")
    sources = _open_sources(layout, source)
    writer = _ImageWriter(out / layout.dataset.images, force, layout.has_boxes)
    n_rows = 0
    with _explain_os_errors(annotations):
        annotations.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(annotations) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for opened in sources:
            for row, images in opened.rows_with_images():
                where = name_row(opened.path, row.number, row.line)
                values = _convert_row(layout, row, n_rows, images, where)
                writer.write(values.get("image") or values["file_name"], images[0], where)
                file.write(json.dumps(values, ensure_ascii=layout.is_ascii) + "\n")
                n_rows += 1
                if progress is not None:
                    progress(n_rows)
    return Converted(annotations=annotations, n_rows=n_rows, n_images=len(writer.written))


def _open_sources(layout: Layout, source: str) -> list[FileSource]:
    places: Sequence[str | Path] = [source]
    if layout.has_files or not is_hub(source):
        folder = fetch_repository(source) if is_hub(source) else Path(source).expanduser()
        places = _find_data_files(layout, folder)
    opened = []
    for place in places:
        # Where the paths of the data file do not say it, images are in one of these, or found by name.
        folders = [Path(place).parent / name for name in ("imgs", "images", "data")]
        root = next(filter(Path.is_dir, folders), None)
        options = SourceOptions(fields=layout.fields, allow_absolute=False, image_root=root)
        try:
            opened.append(open_source(place, options))
        except UsageError as err:  # a column is not there
            hint = f"give the original of {layout.dataset.title}, as in {layout.dataset.hub}; {err.hint}"
            raise DataError(err.message.partition(": ")[2], hint=hint) from err
        except DataError as err:
            err.hint = _UNPACK if "--image-root" in err.hint else err.hint
            raise
    return opened


def _find_data_files(layout: Layout, source: Path) -> list[Path]:
    """The file itself, or those of its kind in a folder: one, or the parts of a Parquet table."""
    title, hub = layout.dataset.title, layout.dataset.hub
    if source.is_file():
        return [source.absolute()]
    if not source.is_dir():
        raise DataError(f"{source}: no such file or folder", hint=f"download {hub} and give its folder")
    folder = source.absolute()
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    visible = [path for path in inside if not any(part.startswith(".") for part in path.parts)]
    for pattern in layout.files:
        found = [path for path in visible if fnmatch(path.name.lower(), pattern.lower())]
        if len(found) > 1 and not pattern.endswith(".parquet"):
            shown = ", ".join(map(str, found[:5]))
            raise DataError(f"{source}: {len(found)} files match ({shown})", hint="give the file itself")
        if found:
            return [folder / path for path in found]
    raise DataError(
        f"{source}: it has no data file of {title}",
        hint=f"expected one like {' or '.join(layout.files)}, as in {hub}",
    )


def _convert_row(
    layout: Layout, row: Row, position: int, images: tuple[ImageRef, ...], where: str
) -> dict[str, Any]:
    title, hub = layout.dataset.title, layout.dataset.hub
    if len(images) != 1:
        raise DataError(f"{where}: {len(images)} images", hint=f"{title} has one in every row")
    try:
        path = _read_path(row.values.get(layout.fields["image"])) if layout.has_files else ""
        return layout.convert(row.values, position, make_safe_name(path) if layout.has_files else "")
    except (KeyError, ValueError) as err:
        what = f"no column {err}" if isinstance(err, KeyError) else err
        raise DataError(f"{where}: {what}", hint=f"is it {title} as in {hub}?") from err


def _read_path(value: Any) -> str:
    """The path of an image as the row gives it; the first one of a list."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("path")
    if isinstance(value, Blob):
        return value.data.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def make_safe_name(path: str) -> str:
    """A relative path that stays below its folder; ValueError for any other.

    >>> make_safe_name("./maps/1.png")
    'maps/1.png'
    """
    parts = PurePosixPath(path).parts
    is_odd = any(ord(character) < 32 or character in '\\\\:*?"<>|' for character in path)
    if not parts or is_odd or path.startswith(("/", "~")) or ".." in parts or len(path.encode()) > 1000:
        raise ValueError(f"{path[:80]!r} is not a name for an image file")
    return str(PurePosixPath(*parts))


@dataclass(slots=True)
class _ImageWriter:
    """Writes images below a folder; one that several rows share is written once."""

    folder: Path
    force: bool
    has_boxes: bool
    loader: ImageLoader = field(default_factory=ImageLoader)
    written: dict[str, ImageRef] = field(default_factory=dict)

    def write(self, name: str, ref: ImageRef, where: str) -> None:
        if self.written.get(name) == ref:
            return
        target = self.folder / name
        self._write(target, self._read(ref, where), name, where)
        boxes = Path(ref.location).with_suffix(".json")
        if self.has_boxes and boxes.is_file():
            self._write(target.with_suffix(".json"), boxes.read_bytes(), name, where)
        self.written[name] = ref

    def _write(self, target: Path, data: bytes, name: str, where: str) -> None:
        with _explain_os_errors(target):
            if target.is_file() and target.read_bytes() == data:
                return
            if name in self.written:
                raise DataError(f"{where}: another row has a different image named {name}")
            if target.exists() and not self.force:
                raise UsageError(f"{target} already exists and differs", hint="--force overwrites it")
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(target) as draft:
                draft.write_bytes(data)

    def _read(self, ref: ImageRef, where: str) -> bytes:
        try:
            return self.loader.original(ref)
        except DataError as err:
            is_missing = isinstance(err, MissingImage)
            hint = _UNPACK if is_missing else err.hint
            raise DataError(f"{where}: {err.message}", hint=hint) from err


@contextmanager
def _explain_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise DataError(f"cannot write to {path}: {err.strerror or err}") from err


# -- One row of each original, with columns and file names as the hub's loaders know them

LAYOUTS: list[Layout] = []


def _reads(name: str, **layout: Any) -> Callable[[Convert], Convert]:
    """Record the function as the converter of a data set's rows."""

    def record(convert: Convert) -> Convert:
        [dataset] = [one for one in DATASETS if one.name == name]
        LAYOUTS.append(Layout(dataset=dataset, convert=convert, **layout))
        converters.record(name, partial(convert_dataset, LAYOUTS[-1]))
        return convert

    return record


@_reads(
    "vstar",
    files=("test_questions.jsonl", "*.jsonl"),
    fields={"question": "text", "answer": "label", "image": "image"},
    has_boxes=True,
)
def convert_vstar(values: Values, position: int, name: str) -> dict[str, Any]:
    """V*Bench: one text holds question, options and an instruction, which is dropped."""
    question, options = split_options(to_text(values["text"]))
    label = to_text(values["label"])
    if f"({label})" not in options:
        raise ValueError(f"the label {label!r} is not among the options")
    return {
        "question_id": to_text(values.get("question_id", position)),
        "image": name,
        "question": question,
        "options": options,
        "category": to_text(values["category"]),
        "answer": label,
    }


def split_options(text: str) -> tuple[str, str]:
    r"""The question and the options block, without the last line that says how to answer.

    >>> split_options("What is it made of?\n(A) wood\n(B) steel\nReply with a letter.")
    ('What is it made of?', '(A) wood\n(B) steel')
    """
    lines = text.strip().splitlines()
    first = next((n for n, line in enumerate(lines) if line.startswith("(A)")), None)
    if first is None:
        raise ValueError("no line of the text begins with (A)")
    options = lines[first:]
    if not _LETTERED.match(options[-1]):
        options.pop()
    return "\n".join(lines[:first]).strip(), "\n".join(options).strip()


_HR_BENCH: dict[str, Any] = {"fields": {"id": "index", "image": "image"}, "has_files": False}


@_reads("hr-bench-8k", files=("*8k*.parquet", "*8k*.tsv"), **_HR_BENCH)
@_reads("hr-bench-4k", files=("*4k*.parquet", "*4k*.tsv"), **_HR_BENCH)
def convert_hr_bench(values: Values, position: int, name: str) -> dict[str, Any]:
    """HR-Bench: options in columns; the index names the image."""
    number = _number(values["index"])
    options = [f"{letter}.{_text(values, letter)}" for letter in "ABCD"]
    return {
        "question_id": number,
        "image": f"{number}.jpg",
        "question": _text(values, "question"),
        "options": "\n".join(options),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }


@_reads(
    "treebench",
    files=("*.parquet", "*.tsv", "*.jsonl", "*.json"),
    fields={"options": "multi-choice options", "image": "image"},
    is_ascii=True,
    has_files=False,
)
def convert_treebench(values: Values, position: int, name: str) -> dict[str, Any]:
    """TreeBench: texts stay as they are, spaces included; boxes become a text that holds a list."""
    number = _number(values.get("index", values.get("question_id", position)))
    row: dict[str, Any] = {
        "question_id": number,
        "image": f"image_{number:06d}.jpg",
        "question": _text(values, "question"),
        "options": _text(values, "multi-choice options"),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }
    boxes = values.get("target_instances")
    if boxes is not None:
        row["target_instances"] = boxes if isinstance(boxes, str) else json.dumps(boxes)
    return row


@_reads(
    "visual-probe-hard",
    files=("val.json", "*.json", "*.jsonl"),
    fields={"question": "problem", "answer": "solution", "image": "images"},
)
def convert_visual_probe(values: Values, position: int, name: str) -> dict[str, Any]:
    """VisualProbe Hard: the image placeholder is removed from the question; the image names the row."""
    file = PurePosixPath(name).name or f"visual_probe_hard_{position}.jpg"
    return {
        "question_id": PurePosixPath(file).stem,
        "image": f"VisualProbe_Hard/data/{file}",
        "question": _PLACEHOLDER.sub("", _text(values, "problem")).strip(),
        "answer": _text(values, "solution"),
        "category": "visual_probe_hard",
    }


@_reads(
    "mme-realworld-lite",
    files=("*lite*.json", "*.json"),
    fields={
        "id": "Question_id", "question": "Text", "answer": "Ground truth", "options": "Answer choices",
        "image": "Image",
    },
)  # fmt: skip
def convert_mme_realworld(values: Values, position: int, name: str) -> dict[str, Any]:
    """MME-RealWorld-Lite: options are a list of lettered texts; the subtask is the group."""
    choices = values["Answer choices"]
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"'Answer choices' is not a list of options: {str(choices)[:60]!r}")
    return {
        "question_id": _text(values, "Question_id"),
        "image": name,
        "question": _text(values, "Text"),
        "answer": _text(values, "Ground truth"),
        "options": "\n".join(map(to_text, choices)),
        "category": _text(values, "Subtask"),
    }


@_reads("o3-bench", files=("metadata.jsonl",), fields={"image": "file_name"})
def convert_o3_bench(values: Values, position: int, name: str) -> dict[str, Any]:
    """O3-Bench comes in this form: it is checked and copied."""
    for column in ("question", "options", "answer", "subset"):
        _text(values, column)
    return {column: name if column in ("image", "file_name") else value for column, value in values.items()}


def _text(values: Values, column: str) -> str:
    text = to_text(values[column])
    if not text.strip():
        raise ValueError(f"{column!r} is empty")
    return text


def _number(value: Any) -> int:
    text = to_text(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{text[:40]!r} is not a row number")
    return int(text)
