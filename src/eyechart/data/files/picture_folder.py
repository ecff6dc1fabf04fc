"""A folder of images with one question for all of them (``--ask``).

Answers come from a table (``--answers labels.csv``), from the names of the files (``--answers
'{answer}_*'``) or from their folders (``--answers folder``). Ids are paths relative to the folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from eyechart.data.columns.answers import read_golds, trim_golds
from eyechart.data.columns.image_columns import ENDINGS, guess_media, is_image_name
from eyechart.data.columns.meaning import ALIASES
from eyechart.data.columns.names import find_candidates
from eyechart.data.files.formats import guess_format
from eyechart.data.files.pdf import list_pages, split_page
from eyechart.data.files.rows import Row
from eyechart.data.source import SourceOptions, open_table
from eyechart.errors import DataError, UsageError, join_names
from eyechart.types import ImageRef, Sample

FOLDER = "folder"  # --answers folder
_MARK = "{answer}"
_HELP = "a table with a column of file names, folder, or a pattern such as '{answer}_*'"
_TABLE_ROWS = 1_000_000


def holds_images(path: Path) -> bool:
    """Whether a path is an image, a PDF file, or a folder with one of them."""
    return next(_walk(path), None) is not None


def _walk(path: Path) -> Iterator[Path]:
    """The images and PDF files below a folder, by name; hidden ones and links to folders are left out."""
    if path.is_file() and _is_picture(path.name):
        yield path
    for place, folders, files in os.walk(path):
        folders[:] = sorted((name for name in folders if name[0] != "."), key=_natural)
        yield from (Path(place, name) for name in sorted(files, key=_natural) if _is_picture(name))


def _is_picture(name: str) -> bool:
    return name[0] != "." and name.lower().endswith((*ENDINGS["image"], ".pdf"))


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``page2`` before ``page10``."""
    parts = re.findall(r"[0-9]{1,15}|[^0-9]+", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


@dataclass(frozen=True)
class PictureFolder:
    """One sample per image of a folder, or per page of a PDF file, with the same question."""

    path: Path
    ask: str
    answers: str | None = None
    _seen: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.path.resolve().stem if self.path.is_file() else self.path.resolve().name

    @property
    def origin(self) -> str:
        return str(self.path.absolute())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Answers without an image, and images without an answer."""
        if self._table is None:
            return ()
        ids = [sample.id for sample in self]
        found = []
        if unused := sorted(set(self._table) - {key for one in ids for key in _keys(one)}):
            found.append(f"{self.answers}: no image for {len(unused)} answers: {join_names(unused, 5)}")
        if missing := [one for one in ids if self._find_golds(one) == ()]:
            found.append(f"{len(missing)} images have no answer and are not scored: {join_names(missing, 5)}")
        return tuple(found)

    def __iter__(self) -> Iterator[Sample]:
        base = self.path.parent if self.path.is_file() else self.path
        number = 0
        for file in _walk(self.path):
            name = file.relative_to(base).as_posix()
            parent = Path(name).parent.as_posix()
            meta = {} if parent == "." or self.answers == FOLDER else {"category": parent}
            located = ImageRef(kind="file", location=str(file.absolute()))
            for ref in list_pages(located) if split_page(name)[0] else [located]:
                number += 1
                one = f"{name}#page={ref.offset + 1}" if ref.kind == "page" else name
                golds = self._find_golds(one)
                yield Sample(id=one, question=self.ask, images=(ref,), golds=golds, meta=meta, row=number)
        if not number:
            raise DataError(f"{self.path}: no images in this folder", hint="expected .png, .jpg, .pdf, ...")

    def _find_golds(self, name: str) -> tuple[str, ...]:
        if self.answers is None:
            return ()
        if self._table is not None:
            return next((self._table[key] for key in _keys(name) if key in self._table), ())
        if self.answers == FOLDER:
            found = Path(name).parent.name
        else:
            match = _compile(self.answers).fullmatch(Path(name.partition("#page=")[0]).stem)
            found = match[1] if match else ""
        return (found,) if found else ()

    @cached_property
    def _table(self) -> Mapping[str, tuple[str, ...]] | None:
        """Golds by the name of the image; None if they are not in a table."""
        if self.answers is None or self.answers == FOLDER or _MARK in self.answers:
            return None
        return read_answers(Path(self.answers))


def open_folder(path: Path, ask: str, answers: str | None) -> PictureFolder:
    """The source for a folder of images; wrong answers are refused at once."""
    source = PictureFolder(path, ask, answers)
    is_known = answers is None or answers == FOLDER or _MARK in answers
    if not is_known and not os.path.isfile(str(answers)):  # noqa: PTH113 - of any length
        raise UsageError(f"--answers {answers}: no such file, and no pattern", hint=_HELP)
    if answers is not None and not any(sample.golds for sample in source):
        first = next(iter(source)).id
        raise DataError(f"--answers {answers}: no answer for any image (the first is {first})", hint=_HELP)
    return source


def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern with `*` and one ``{answer}`` as an expression.

    >>> _compile("{answer}_*").fullmatch("cat_003")[1], _compile("*-{answer}").fullmatch("a-b-12.50")[1]
    ('cat', '12.50')
    """
    if pattern.count(_MARK) != 1:
        raise UsageError(f"--answers {pattern!r} needs {_MARK} once", hint=_HELP)
    before, after = (
        "".join(".*" if c == "*" else re.escape(c) for c in part) for part in pattern.split(_MARK)
    )
    return re.compile(f"{before}(.+?){after}", re.DOTALL)


def _keys(name: str) -> list[str]:
    """The names by which a table may refer to an image, the most exact first."""
    file, _, page = name.partition("#page=")
    of_page = [name] if page else []
    return [*of_page, file, Path(file).name, Path(file).with_suffix("").as_posix(), Path(file).stem]


def read_answers(path: Path) -> dict[str, tuple[str, ...]]:
    """Golds by the name of the image, from a table with a column of names and one of answers."""
    format, _ = guess_format(path)
    reader = open_table(path, format, SourceOptions(), lambda names: _find_columns(names, ()) is not None)
    rows = list(reader.rows(()))[:_TABLE_ROWS]
    columns = list(reader.columns() or dict.fromkeys(name for row in rows for name in row.values))
    found = _find_columns(columns, rows[:20])
    if found is None:
        what = f"no columns of file names and answers (found: {join_names(columns, 10)})"
        raise DataError(f"{path.name}: {what}", hint="name them file and answer")
    named, answer = found
    golds: dict[str, tuple[str, ...]] = {}
    for row in rows:
        name = str(row.values.get(named) or "").strip().replace("\\", "/").removeprefix("./")
        if not name:
            continue
        if name in golds:
            what = f"{path.name}: row {row.number}: {name} appears twice"
            raise DataError(what, hint="give one answer each")
        golds[name] = trim_golds(read_golds(row.values.get(answer)))
    return golds


def _find_columns(columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, str] | None:
    """The columns of names and of answers: by their names, else by what is in them."""
    answers = [name for name in columns if name.strip().lower() in ALIASES["answer"]]
    answers = answers or find_candidates("answer", columns)
    others = [name for name in columns if name not in answers]
    names = [name for name in others if is_image_name(name)]
    names = names or [name for name in others if _looks_like_names(name, rows)]
    if not answers and len(columns) == 2 and len(names) == 1:
        answers = [name for name in columns if name != names[0]]
    return (names[0], answers[0]) if names and answers else None


def _looks_like_names(column: str, rows: Sequence[Row]) -> bool:
    cells: list[Any] = [row.values[column] for row in rows if row.values.get(column)]
    return bool(cells) and all(guess_media(cell) in ("image", "document") for cell in cells)
