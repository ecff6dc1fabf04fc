"""The data set classes of VLMEvalKit: rows in a table, images as files, a prompt as a list of messages.

A script changes them by assigning functions onto a class, or by a class of its own. The hooks are
`load_data`, `build_prompt`, `dump_image`, `post_build` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import index as as_position
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from eyechart.data.columns import to_text
from eyechart.data.formats import find_file, guess_format
from eyechart.data.rows import PathRules
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, join_names
from eyechart.pipelines.vlmevalkit.benchmark import SETS, vlmevalkit_prompt
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import naming_errors, remember_class
from eyechart.pipelines.vlmevalkit.vlmeval.images import find_images, name_images, unfold_images, write_images
from eyechart.pipelines.vlmevalkit.vlmeval.smp import (
    FOLDER,
    WHOLE,
    Frame,
    Row,
    checked_frame,
    column_of,
    data_root,
    is_missing,
    load_table,
    plain,
    require,
    rows_where,
    toliststr,
)
from eyechart.types import Sample

Kind = Literal["mcq", "text-mcq", "vqa"]
Part = dict[str, str]  # {"type": "image" or "text", "value": ...}


@remember_class
class ImageBaseDataset:
    """Questions on images. `data` holds one row per question."""

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
        with naming_errors(self.dataset_name, "load_data"):
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
        unfold_images(data, self.dataset_name)
        self.data = data
        with naming_errors(self.dataset_name, "post_build"):
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
        """The images of a row as paths of files (or addresses); base64 is written to `img_root` first."""
        paths = [] if _is_empty(line, "image_path") else toliststr(line["image_path"])
        if _is_empty(line, "image"):
            return find_images(paths, path_rules(self))
        items = toliststr(line["image"])
        names = name_images(line["index"], len(items), paths)
        who = f"{self.dataset_name}: index {line['index']}"
        return write_images(items, names, Path(self.img_root), path_rules(self), who)

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The messages of a row, given by itself or by its position: its images, then the question."""
        line = row_of(self, line)
        return [*image_parts(self, line), {"type": "text", "value": to_text(plain(line["question"]))}]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Frame:
        """Score a file of predictions; writes the verdicts and the accuracies beside it, returns the latter.

        Multiple choice has VLMEvalKit's verdicts; open questions are read by our own scorer.
        """
        from eyechart.pipelines.vlmevalkit.vlmeval.scoring import score_file

        return score_file(eval_file, self.dataset_name, is_choice=self.TYPE == "MCQ", judge=judge_kwargs)


def row_of(dataset: ImageBaseDataset, line: Row | int) -> Row:
    """The row that is meant, which may be given by its position."""
    try:
        position = as_position(line)
    except TypeError:
        return line
    return dataset.data.iloc[position]


def image_parts(dataset: ImageBaseDataset, line: Row) -> list[Part]:
    """The images of a row as parts of a message."""
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


# -- Multiple choice on images: `vlmeval.dataset.image_mcq`


def choice_text(line: Row) -> str:
    """Hint, question and options in VLMEvalKit's frame."""
    here = {name: to_text(plain(line[name])) for name in (*ascii_uppercase, "hint") if name in line}
    choices = {letter: here[letter] for letter in ascii_uppercase if here.get(letter)}
    question = "" if is_missing(line["question"]) else to_text(plain(line["question"]))
    sample = Sample(id="", question=question, choices=choices, hint=here.get("hint", ""))
    return vlmevalkit_prompt(sample)[-1].text


@remember_class
class ImageMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..."""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The images, then hint, question and options as one text."""
        line = row_of(self, line)
        return [*image_parts(self, line), {"type": "text", "value": choice_text(line)}]


@remember_class
class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice of one's own. Scripts assign their functions onto it."""


# -- Open questions on images: `vlmeval.dataset.image_vqa`

SHORT_ANSWER = "\nAnswer the question using a single word or phrase."


@remember_class
class ImageVQADataset(ImageBaseDataset):
    """Open questions that ask for a short answer."""

    TYPE: ClassVar[str] = "VQA"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The images, then the question with the request for a word or a phrase."""
        parts = ImageBaseDataset.build_prompt(self, line)
        parts[-1]["value"] += SHORT_ANSWER
        return parts


@remember_class
class CustomVQADataset(ImageBaseDataset):
    """Open questions of one's own, asked as they stand. Scripts assign their functions onto it."""

    TYPE: ClassVar[str] = "VQA"


# -- Multiple choice without images: `vlmeval.dataset.text_mcq`


@remember_class
class TextMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..., and no image."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """Hint, question and options as one text."""
        return [{"type": "text", "value": choice_text(row_of(self, line))}]


@remember_class
class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice of one's own, without images. Scripts assign their functions onto it."""


# -- Data sets by name: `vlmeval.dataset`


def build_dataset(dataset_name: str, **kwargs: Any) -> ImageBaseDataset:
    """The data set of a file in ``$LMUData`` or ``~/LMUData``, of the class that its columns ask for."""
    return class_of(kind_of(columns_of(dataset_name)))(dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:  # noqa: N802 - called by that name
    """``MCQ`` or ``VQA``, by the columns of the file; `default` where there is no such file."""
    try:
        return class_of(kind_of(columns_of(dataset))).TYPE
    except DataError:
        return default


def columns_of(name: str | Path) -> tuple[str, ...]:
    """The columns of the file that a data set's name, or a path, stands for."""
    path = Path(name)
    found = data_root() / f"{name}.tsv"
    file = found if len(path.parts) == 1 and found.is_file() else find_file(name).path
    format, _ = guess_format(file)
    reader = open_reader(file, format, "utf-8", SourceOptions())
    columns = reader.columns()
    if columns:
        return columns
    first = next(iter(reader.rows(())), None)
    return tuple(first.values) if first else ()


def kind_of(columns: Sequence[str]) -> Kind:
    """Which class a file asks for, by its columns.

    >>> kind_of(["index", "question", "A", "B", "image"]), kind_of(["question", "A", "B"])
    ('mcq', 'text-mcq')
    >>> kind_of(["index", "Question", "answer", "image_path"])
    'vqa'
    """
    if "question" not in [column.lower() for column in columns]:
        raise DataError(
            f"no column 'question' (found: {join_names(columns, 12) or 'none'})",
            hint="every row asks something",
        )
    if not {"A", "B"} <= set(columns):
        return "vqa"
    return "mcq" if {"image", "image_path"} & set(columns) else "text-mcq"


def class_of(kind: Kind) -> type[ImageBaseDataset]:
    """The class that scripts change to change data sets of that kind."""
    classes: dict[Kind, type[ImageBaseDataset]] = {
        "mcq": CustomMCQDataset,
        "text-mcq": CustomTextMCQDataset,
        "vqa": CustomVQADataset,
    }
    return classes[kind]


SUPPORTED_DATASETS = [published for published, _ in SETS.values()]  # whose scoring is known
