"""Rows of the original files of seven benchmarks, made into those that InSight-o3 reads.

Each function takes a row as its authors publish it, the number of rows before it, and the picture's name in
the original; what comes back is the entry of the annotation file and the picture's name beside it. The
order of the keys and the texts are those of the published annotation files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from eyechart.data.columns import to_text
from eyechart.data.formats import guess_format
from eyechart.data.hub import fetch_repository, is_hub, open_hub
from eyechart.data.images import ImageLoader, MissingImage
from eyechart.data.rows import Blob, Row, name_row
from eyechart.data.source import FileSource, SourceOptions, open_reader, open_source
from eyechart.errors import DataError, UsageError
from eyechart.files import atomic_write
from eyechart.registry import converters
from eyechart.types import Converted, ImageRef

Values = Mapping[str, Any]

_LETTERED = re.compile(r"\(([A-Z])\)")
_PLACEHOLDER = re.compile(r"\s*<\|?image(?:_\d+|_pad)?\|?>[ \t]*\n?")


@dataclass(frozen=True, slots=True)
class AnnotationEntry:
    """One line of the annotation file; `picture` is the name of the file below the folder of pictures."""

    values: dict[str, Any]
    picture: str


def convert_vstar(values: Values, position: int, name: str) -> AnnotationEntry:
    """V*Bench: one text holds question, options and an instruction, which is dropped."""
    question, options = split_options(to_text(values["text"]))
    label = to_text(values["label"])
    if f"({label})" not in options:
        raise ValueError(f"the label {label!r} is none of the options")
    row = {
        "question_id": to_text(values.get("question_id", position)),
        "image": name,
        "question": question,
        "options": options,
        "category": to_text(values["category"]),
        "answer": label,
    }
    return AnnotationEntry(row, name)


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


def convert_hr_bench(values: Values, position: int, name: str) -> AnnotationEntry:
    """HR-Bench: options in columns; the index names the picture."""
    number = _number(values["index"])
    options = [f"{letter}.{_text(values, letter)}" for letter in "ABCD"]
    row = {
        "question_id": number,
        "image": f"{number}.jpg",
        "question": _text(values, "question"),
        "options": "\n".join(options),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }
    return AnnotationEntry(row, f"{number}.jpg")


def convert_treebench(values: Values, position: int, name: str) -> AnnotationEntry:
    """TreeBench: texts stay as they are, blanks and all; boxes become a text that holds a list."""
    number = _number(values.get("index", values.get("question_id", position)))
    picture = f"image_{number:06d}.jpg"
    row: dict[str, Any] = {
        "question_id": number,
        "image": picture,
        "question": _text(values, "question"),
        "options": _text(values, "multi-choice options"),
        "answer": _text(values, "answer"),
        "category": _text(values, "category"),
    }
    boxes = values.get("target_instances")
    if boxes is not None:
        row["target_instances"] = boxes if isinstance(boxes, str) else json.dumps(boxes)
    return AnnotationEntry(row, picture)


def convert_visual_probe(values: Values, position: int, name: str) -> AnnotationEntry:
    """VisualProbe Hard: the place of the picture is taken out of the question; the picture names the row."""
    file = PurePosixPath(name).name or f"visual_probe_hard_{position}.jpg"
    picture = f"VisualProbe_Hard/data/{file}"
    row = {
        "question_id": PurePosixPath(file).stem,
        "image": picture,
        "question": _PLACEHOLDER.sub("", _text(values, "problem")).strip(),
        "answer": _text(values, "solution"),
        "category": "visual_probe_hard",
    }
    return AnnotationEntry(row, picture)


def convert_mme_realworld(values: Values, position: int, name: str) -> AnnotationEntry:
    """MME-RealWorld-Lite: options are a list of lettered texts; the subtask is the group."""
    choices = values["Answer choices"]
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"'Answer choices' is no list of options: {str(choices)[:60]!r}")
    row = {
        "question_id": _text(values, "Question_id"),
        "image": name,
        "question": _text(values, "Text"),
        "answer": _text(values, "Ground truth"),
        "options": "\n".join(map(to_text, choices)),
        "category": _text(values, "Subtask"),
    }
    return AnnotationEntry(row, name)


def convert_o3_bench(values: Values, position: int, name: str) -> AnnotationEntry:
    """O3-Bench comes in this form: it is looked at and taken over."""
    for column in ("question", "options", "answer"):
        _text(values, column)
    row = {column: name if column in ("image", "file_name") else value for column, value in values.items()}
    return AnnotationEntry(row, name)


def _text(values: Values, column: str) -> str:
    text = to_text(values[column])
    if not text.strip():
        raise ValueError(f"nothing in {column!r}")
    return text


def _number(value: Any) -> int:
    text = to_text(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{text[:40]!r} is no number of a row")
    return int(text)


# -- The data sets that can be converted: what each looks like on the hub, and where it goes.
#
# Columns and file names of the originals are as the hub's loaders know them; the layout is that of
# InSight-o3's data folder.


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One data set: what its original looks like, and where it goes."""

    about: str
    hub: str
    files: tuple[str, ...]  # names of the original's data file, the first kind that is found
    fields: Mapping[str, str]  # what a sample needs to the original's columns
    columns: tuple[str, ...]  # further columns that must be there
    entry: Callable[[Mapping[str, Any], int, str], AnnotationEntry]
    annotations: str
    pictures: str
    is_ascii: bool = False  # the published file escapes what is not
    has_files: bool = True  # pictures are files of their own, not cells


def _hr_bench(size: str) -> Layout:
    return Layout(
        about=f"HR-Bench {size.upper()}",
        hub="DreamMr/HR-Bench",
        files=(f"*{size}*.parquet", f"*{size}*.tsv"),
        fields={"id": "index", "image": "image"},
        columns=("question", "A", "B", "C", "D", "answer", "category"),
        entry=convert_hr_bench,
        annotations=f"HR-Bench/hrbench_{size}.jsonl",
        pictures=f"HR-Bench/images_{size}",
        has_files=False,
    )


LAYOUTS: Mapping[str, Layout] = {
    "vstar": Layout(
        about="V*Bench",
        hub="craigwu/vstar_bench",
        files=("test_questions.jsonl", "*.jsonl"),
        fields={"question": "text", "answer": "label", "image": "image"},
        columns=("category",),
        entry=convert_vstar,
        annotations="vstar_bench/vstar_bench.jsonl",
        pictures="vstar_bench",
    ),
    "hr-bench-4k": _hr_bench("4k"),
    "hr-bench-8k": _hr_bench("8k"),
    "treebench": Layout(
        about="TreeBench",
        hub="HaochenWang/TreeBench",
        files=("*.parquet", "*.tsv", "*.jsonl", "*.json"),
        fields={"options": "multi-choice options", "image": "image"},
        columns=("question", "answer", "category"),
        entry=convert_treebench,
        annotations="TreeBench/treebench.jsonl",
        pictures="TreeBench/images",
        is_ascii=True,
        has_files=False,
    ),
    "visual-probe-hard": Layout(
        about="VisualProbe Hard",
        hub="Mini-o3/VisualProbe_Hard",
        files=("val.json", "*.json", "*.jsonl"),
        fields={"question": "problem", "answer": "solution", "image": "images"},
        columns=(),
        entry=convert_visual_probe,
        annotations="VisualProbe_Hard/visual_probe_hard.jsonl",
        pictures="",
    ),
    "mme-realworld-lite": Layout(
        about="MME-RealWorld-Lite",
        hub="yifanzhang114/MME-RealWorld-Lite",
        files=("*lite*.json", "*.json"),
        fields={
            "id": "Question_id",
            "question": "Text",
            "answer": "Ground truth",
            "options": "Answer choices",
            "image": "Image",
        },
        columns=("Subtask",),
        entry=convert_mme_realworld,
        annotations="MME-RealWorld-Lite/MME_RealWorld_Lite.jsonl",
        pictures="MME-RealWorld-Lite/imgs",
    ),
    "o3-bench": Layout(
        about="O3-Bench",
        hub="m-Just/O3-Bench",
        files=("metadata.jsonl",),
        fields={"image": "file_name"},
        columns=("question", "options", "answer", "subset"),
        entry=convert_o3_bench,
        annotations="O3-Bench/test/metadata.jsonl",
        pictures="O3-Bench/test",
    ),
}


# -- Original data sets to the annotation file and picture folder that InSight-o3 reads.
#
# Rows are read and written one by one. Pictures are written as they are, under names that cannot lead out of
# the folder; what stands there already stays unless it is asked to go.

Progress = Callable[[int], None]


def convert_dataset(
    converter: Layout,
    source: str,
    out: Path,
    *,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Converted:
    """Write a data set's annotation file and pictures below `out`, from its original at `source`."""
    annotations = out / converter.annotations
    if annotations.exists() and not force:
        raise UsageError(f"{annotations} is there already", hint="--force writes it anew")
    sources = list(_sources(converter, source))
    pictures = _Pictures(converter, out / converter.pictures, force, _folder(source))
    n_rows = 0
    _make_folder(annotations.parent)
    with atomic_write(annotations) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for opened in sources:
            for row, images in opened.rows_with_images():
                entry = _entry(converter, opened, row, n_rows, images)
                pictures.write(entry.picture, images[0], name_row(opened.path, row.number, row.line))
                file.write(json.dumps(entry.values, ensure_ascii=converter.is_ascii) + "\n")
                n_rows += 1
                if progress is not None:
                    progress(n_rows)
    return Converted(annotations=annotations, n_rows=n_rows, n_images=len(pictures.written))


def _sources(converter: Layout, source: str) -> Iterator[FileSource]:
    if is_hub(source) and not converter.has_files:
        yield _opened(converter, source, open_hub(source).columns())
        return
    place = fetch_repository(source) if is_hub(source) else Path(source).expanduser()
    for path in _data_files(converter, place):
        format, _ = guess_format(path)
        reader = open_reader(path, format, "utf-8", SourceOptions())
        columns = reader.columns()
        if not columns:
            columns = tuple(next(reader.rows(()), Row(0, 0, {})).values)
        yield _opened(converter, path, columns)


def _opened(converter: Layout, source: str | Path, columns: tuple[str, ...]) -> FileSource:
    wanted = (*converter.fields.values(), *converter.columns)
    if missing := [column for column in wanted if column not in columns]:
        name = source if isinstance(source, str) else source.name
        listed = ", ".join(wanted)
        raise DataError(
            f"{name}: no column {missing[0]!r} (found: {', '.join(columns) or 'nothing'})",
            hint=f"the original of {converter.about} is wanted, as {converter.hub} has it: {listed}",
        )
    return open_source(source, SourceOptions(fields=converter.fields, allow_absolute=False))


def _data_files(converter: Layout, source: Path) -> list[Path]:
    """The file itself, or those of its kind in a folder: one, or the parts of a Parquet table."""
    if source.is_file():
        return [source.absolute()]
    if not source.is_dir():
        raise DataError(
            f"{source}: no such file or folder", hint=f"download {converter.hub} and give its folder"
        )
    inside = [path for path in sorted(source.absolute().rglob("*")) if path.is_file()]
    visible = [
        path
        for path in inside
        if not any(part.startswith(".") for part in path.relative_to(source.absolute()).parts)
    ]
    for pattern in converter.files:
        found = [path for path in visible if fnmatch(path.name.lower(), pattern.lower())]
        if len(found) > 1 and not pattern.endswith(".parquet"):
            listed = ", ".join(str(path.relative_to(source.absolute())) for path in found[:5])
            raise DataError(
                f"{source}: {len(found)} files could be meant ({listed})", hint="name the file itself"
            )
        if found:
            return found
    raise DataError(
        f"{source}: no data file of {converter.about} in it",
        hint=f"expected one like {' or '.join(converter.files)}, as {converter.hub} has it",
    )


def _folder(source: str) -> Path | None:
    """Where pictures may lie under other beginnings of their paths."""
    if is_hub(source):
        return None
    path = Path(source).expanduser().absolute()
    return path if path.is_dir() else path.parent


def _entry(
    converter: Layout, source: FileSource, row: Row, position: int, images: tuple[ImageRef, ...]
) -> AnnotationEntry:
    where = name_row(source.path, row.number, row.line)
    if len(images) != 1:
        raise DataError(f"{where}: {len(images)} pictures", hint=f"{converter.about} has one in every row")
    value = row.values.get(converter.fields["image"])
    try:
        name = make_safe_name(_written(value)) if converter.has_files else ""
        return converter.entry(row.values, position, name)
    except KeyError as err:
        raise DataError(f"{where}: no value {err.args[0]!r}", hint=f"is it {converter.about}?") from err
    except ValueError as err:
        raise DataError(
            f"{where}: {err}", hint=f"is it {converter.about} as {converter.hub} has it?"
        ) from err


def _written(value: Any) -> str:
    """The path of a picture as the row writes it; the first one of a list."""
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
        raise ValueError(f"{path[:80]!r} is not a name for a picture's file")
    return str(PurePosixPath(*parts))


@dataclass(slots=True)
class _Pictures:
    """The folder that pictures are written to; one that several rows share is written once."""

    converter: Layout
    folder: Path
    force: bool
    original: Path | None
    loader: ImageLoader = field(default_factory=ImageLoader)
    written: dict[str, ImageRef] = field(default_factory=dict)

    def write(self, name: str, ref: ImageRef, where: str) -> None:
        if self.written.get(name) == ref:
            return
        data = self._read(ref, where)
        target = self.folder / name
        if not _holds(target, data):
            if name in self.written:
                raise DataError(f"{where}: another row has a different picture of the name {name}")
            if target.exists() and not self.force:
                raise UsageError(f"{target} is there already and differs", hint="--force writes it anew")
            _make_folder(target.parent)
            with atomic_write(target) as draft:
                draft.write_bytes(data)
        self.written[name] = ref

    def _read(self, ref: ImageRef, where: str) -> bytes:
        try:
            return self.loader.original(self._found(ref))
        except MissingImage as err:
            raise DataError(
                f"{where}: {err.message}",
                hint="unpack the pictures beside the data file, as the hub has them",
            ) from err
        except DataError as err:
            raise DataError(f"{where}: {err.message}", hint=err.hint) from err

    def _found(self, ref: ImageRef) -> ImageRef:
        """The file, also where the original's folder is laid out a little differently."""
        if ref.kind != "file" or ref.refused or self.original is None or Path(ref.location).is_file():
            return ref
        parts = PurePosixPath(os.path.relpath(ref.location, self.original)).parts
        tails = [Path(*parts[n:]) for n in range(len(parts)) if ".." not in parts[n:]]
        for folder in ("", "imgs", "images", "data"):
            for tail in tails:
                if (path := self.original / folder / tail).is_file():
                    return ImageRef(kind="file", location=str(path))
        return ref


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() == data
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise DataError(f"cannot write to {folder}: {err.strerror or err}") from err


for _name, _layout in LAYOUTS.items():
    converters.record(_name, partial(convert_dataset, _layout))
