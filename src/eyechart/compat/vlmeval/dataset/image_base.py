"""The base of all data sets: rows in a table, pictures as files, a prompt as a list of messages.

A script changes it by assigning functions onto a class, or by a class of its own. The hooks are `load_data`,
`build_prompt`, `dump_image`, `post_build` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from operator import index as as_position
from pathlib import Path
from typing import Any, ClassVar

from eyechart.compat.vlmeval.calling import calling
from eyechart.compat.vlmeval.changes import as_written
from eyechart.compat.vlmeval.frames import (
    FOLDER,
    WHOLE,
    Frame,
    Row,
    checked_frame,
    column_of,
    is_missing,
    plain,
    require,
    rows_where,
)
from eyechart.compat.vlmeval.pictures import found, names_for, unfold, written
from eyechart.compat.vlmeval.smp.file import data_root, load_table
from eyechart.compat.vlmeval.smp.misc import toliststr
from eyechart.data.fields import as_text
from eyechart.data.formats import find_file
from eyechart.data.paths import PathRules
from eyechart.errors import DataError

Part = dict[str, str]  # {"type": "image" or "text", "value": ...}


@as_written
class ImageBaseDataset:
    """Questions on pictures. `data` holds a row a question."""

    MODALITY: ClassVar[str] = "IMAGE"
    TYPE: ClassVar[str] = "VQA"
    DATASET_URL: ClassVar[Mapping[str, str]] = {}
    DATASET_MD5: ClassVar[Mapping[str, str]] = {}
    force_use_dataset_prompt: ClassVar[bool] = False

    data: Frame
    meta_only: bool

    def __init__(self, dataset: str = "", skip_noimg: bool = True) -> None:
        """`dataset` names a file in ``$LMUData`` or ``~/LMUData``; the path of a file is taken as well."""
        path = Path(dataset).expanduser()
        self._file = path.absolute() if path.suffix and path.is_file() else None
        self.dataset_name = path.stem if self._file else str(dataset)
        self.img_root = str(data_root() / "images" / self.dataset_name)
        with calling(self.dataset_name, "load_data"):
            frame = self.load_data(self.dataset_name)
        data = checked_frame(frame, f"{self.dataset_name}: load_data").copy()
        self.skip_noimg = skip_noimg
        require(data, ["index"], self.dataset_name)
        if skip_noimg and "image" in data:
            data = rows_where(data, [not is_missing(cell) for cell in data["image"]])
        if not len(data):
            raise DataError(f"{self.dataset_name}: there is no question in it", hint="is it the right file?")
        data = data.assign(index=_indices(data, self.dataset_name))
        self.meta_only = "image" not in data
        unfold(data, self.dataset_name)
        self.data = data
        with calling(self.dataset_name, "post_build"):
            self.post_build(self.dataset_name)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names that this class was written for."""
        return list(cls.DATASET_URL)

    def load_data(self, dataset: str) -> Frame:
        """The table of a data set: ``<root>/<dataset>.tsv``, or the file of that name in another format."""
        return load_table(self._file or self._find(dataset))

    def _find(self, dataset: str) -> Path:
        path = data_root() / f"{dataset}.tsv"
        if path.is_file():
            return path
        with suppress(DataError):
            return find_file(dataset).path
        address = self.DATASET_URL.get(dataset)
        hint = f"download {address} to that place" if address else "put the file there, or set $LMUData"
        raise DataError(f"{dataset}: there is no file {path}", hint=hint)

    def post_build(self, dataset: str) -> None:
        """Called once the table stands in `data`. A hook: nothing happens here."""

    def dump_image(self, line: Row) -> list[str]:
        """The pictures of a row as paths of files (or addresses); base64 is written to `img_root` first."""
        paths = [] if _is_empty(line, "image_path") else toliststr(line["image_path"])
        if _is_empty(line, "image"):
            return found(paths, path_rules(self))
        items = toliststr(line["image"])
        names = names_for(line["index"], len(items), paths)
        who = f"{self.dataset_name}: index {line['index']}"
        return written(items, names, Path(self.img_root), path_rules(self), who)

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The messages of a row, given by itself or by its position: its pictures, then the question."""
        line = row_of(self, line)
        return [*image_parts(self, line), {"type": "text", "value": as_text(plain(line["question"]))}]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Frame:
        """Score a file of predictions; writes the verdicts and the accuracies beside it, returns the latter.

        Multiple choice has VLMEvalKit's verdicts; open questions are read by our own scorer.
        """
        from eyechart.compat.vlmeval.scoring import score_file

        return score_file(eval_file, self.dataset_name, is_choice=self.TYPE == "MCQ", judge=judge_kwargs)


def row_of(dataset: ImageBaseDataset, line: Row | int) -> Row:
    """The row that is meant, which may be given by its position."""
    try:
        position = as_position(line)
    except TypeError:
        return line
    return dataset.data.iloc[position]


def image_parts(dataset: ImageBaseDataset, line: Row) -> list[Part]:
    """The pictures of a row as parts of a message."""
    return [{"type": "image", "value": path} for path in dataset.dump_image(line)]


def path_rules(dataset: ImageBaseDataset) -> PathRules:
    """Where relative paths are looked for: beside the data file, in the image folder, in this folder."""
    data = getattr(dataset, "data", None)
    folder = data.attrs.get(FOLDER) if data is not None else None
    places = [folder, data_root(), dataset.img_root, Path()]
    roots = dict.fromkeys(str(Path(place).absolute()) for place in places if place is not None)
    return PathRules(list(roots))


def _is_empty(line: Row, column: str) -> bool:
    return column not in line or is_missing(line[column])


def _indices(data: Frame, who: str) -> Any:
    """Whole numbers where all of them are, else texts; no two alike."""
    texts = [_index(value) for value in data["index"]]
    seen: set[str] = set()
    for number, text in enumerate(texts, 1):
        if text in seen or not text:
            what = f"the index {text!r} stands there twice" if text else "nothing in 'index'"
            raise DataError(f"{who}: row {number}: {what}", hint="every row needs its own index")
        seen.add(text)
    are_whole = all(map(WHOLE.fullmatch, texts))
    column = column_of([int(text) for text in texts] if are_whole else texts)
    column.index = data.index
    return column


def _index(value: Any) -> str:
    if is_missing(value):
        return ""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value).strip()
