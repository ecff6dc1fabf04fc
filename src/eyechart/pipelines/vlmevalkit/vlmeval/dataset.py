"""The dataset classes of VLMEvalKit: rows in a table, images as files, a prompt as a list of parts.

A script changes them by assigning functions to a class, or by a subclass. The hooks are `load_data`,
`build_prompt`, `dump_image`, `post_build` and `evaluate`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar

from eyechart.data.columns.image_columns import REFERENCE_CHARS
from eyechart.data.columns.meaning import to_text
from eyechart.data.files.formats import guess_format
from eyechart.data.files.rows import PathRules
from eyechart.data.files.sheets import format_cell
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, join_names
from eyechart.files import atomic_write
from eyechart.pipelines.vlmevalkit.benchmark import SETS, build_vlmevalkit_prompt
from eyechart.pipelines.vlmevalkit.vlmeval import smp
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import (
    ADDRESSES,
    is_place,
    label_errors,
    make_benchmark,
    make_path_rules,
    remember_class,
)
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import score_file
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Sample

Part = dict[str, str]  # {"type": "image" or "text", "value": ...}


@remember_class
class ImageBaseDataset:
    """Questions on images. `data` holds one row per question."""

    MODALITY: ClassVar[str] = "IMAGE"
    TYPE: ClassVar[str] = "VQA"
    DATASET_URL: ClassVar[Mapping[str, str]] = {}
    DATASET_MD5: ClassVar[Mapping[str, str]] = {}
    force_use_dataset_prompt: ClassVar[bool] = False

    data: smp.Frame
    meta_only: bool

    def __init__(self, dataset: str = "", skip_noimg: bool = True) -> None:
        """`dataset` is a name in ``$LMUData`` or ``~/LMUData``, or the path of a file."""
        path = Path(dataset).expanduser()
        self._file = path.absolute() if path.suffix and path.is_file() else None
        self.dataset_name = path.stem if self._file else str(dataset)
        self.img_root = str(smp.find_data_root() / "images" / self.dataset_name)
        with label_errors(self.dataset_name, "load_data"):
            frame = self.load_data(self.dataset_name)
        if not smp.is_frame(frame):
            what = f"{self.dataset_name}: load_data returned {type(frame).__name__}, not a pandas DataFrame"
            raise DataError(what, hint="load() of a .tsv file gives one")
        data = frame.copy()
        self.skip_noimg = skip_noimg
        smp.require(data, ["index"], self.dataset_name)
        if skip_noimg and "image" in data:
            data = smp.select_rows(data, [not smp.is_missing(cell) for cell in data["image"]])
        if not len(data):
            raise DataError(f"{self.dataset_name}: no questions", hint="is it the right file?")
        data = data.assign(index=_check_indices(data, self.dataset_name))
        self.meta_only = "image" not in data
        expand_images(data, self.dataset_name)
        self.data = data
        with label_errors(self.dataset_name, "post_build"):
            self.post_build(self.dataset_name)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """The names of the published datasets of this class."""
        return list(cls.DATASET_URL)

    @classmethod
    def to_benchmark(cls, dataset: str = "") -> Benchmark:
        """The class as a benchmark, for ``eyechart run FILE.py:CLASS``; by default of its first name."""
        if cls.evaluate is not ImageBaseDataset.evaluate:
            print_note(f"{cls.__name__}.evaluate is not called by eyechart run; run_task calls it")
        return make_benchmark(cls(dataset or next(iter(cls.DATASET_URL), cls.__name__)))

    def load_data(self, dataset: str) -> smp.Frame:
        """The table of a dataset: ``<root>/<dataset>.tsv``, or the file of that name in another format."""
        return smp.load_table(self._file or self._find(dataset))

    def _find(self, dataset: str) -> Path:
        with suppress(DataError):
            return smp.find_dataset(dataset)
        path, address = smp.find_data_root() / f"{dataset}.tsv", self.DATASET_URL.get(dataset)
        hint = f"download {address} to that path" if address else "put the file there, or set $LMUData"
        raise DataError(f"{dataset}: no such file: {path}", hint=hint)

    def post_build(self, dataset: str) -> None:
        """A hook, called when `data` holds the table."""

    def dump_image(self, line: smp.Row) -> list[str]:
        """The images of a row as file paths or URLs; base64 is written to files in `img_root`."""
        paths = [] if _is_empty(line, "image_path") else smp.toliststr(line["image_path"])
        if _is_empty(line, "image"):
            return find_images(paths, make_path_rules(self))
        items = smp.toliststr(line["image"])
        names = name_images(line["index"], len(items), paths)
        who = f"{self.dataset_name}: index {line['index']}"
        return write_images(items, names, Path(self.img_root), make_path_rules(self), who)

    def build_prompt(self, line: smp.Row | int) -> list[Part]:
        """The prompt of a row, given as a row or by position: its images, then the question."""
        line = get_row(self, line)
        return make_parts(self, line, to_text(smp.to_plain(line["question"])))

    def display(self, line: smp.Row | int) -> None:
        """Show a row, given as a row or by position: its images, then its columns by name."""
        row = dict(get_row(self, line))
        if _is_empty(row, "image") and not _is_empty(row, "image_path"):
            row["image_path"] = find_images(smp.toliststr(row["image_path"]), make_path_rules(self))
        smp.mmqa_display(row)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> smp.Frame:
        """Score a file of predictions: write verdicts and accuracies beside it, return the accuracies.

        Multiple choice is scored by VLMEvalKit's rules, open questions by eyechart's default scorer.
        """
        return score_file(eval_file, self.dataset_name, is_choice=self.TYPE == "MCQ", judge=judge_kwargs)


def get_row(dataset: ImageBaseDataset, line: smp.Row | int) -> smp.Row:
    """The row, which may be given by its position."""
    return dataset.data.iloc[line] if hasattr(line, "__index__") else line


def make_parts(dataset: ImageBaseDataset, line: smp.Row, text: str) -> list[Part]:
    """The images of a row, then a text, as parts of a message."""
    images = [{"type": "image", "value": path} for path in dataset.dump_image(line)]
    return [*images, {"type": "text", "value": text}]


def _is_empty(line: smp.Row, column: str) -> bool:
    return column not in line or smp.is_missing(line[column])


def list_indices(frame: smp.Frame) -> list[str]:
    """The index of every row as text: pandas turns 7 into 7.0 in a column with gaps."""
    return [(format_cell(smp.to_plain(value)) or "").strip() for value in frame["index"]]


def _check_indices(data: smp.Frame, who: str) -> Any:
    """The indices, all as numbers or all as texts; duplicates are refused."""
    texts = list_indices(data)
    seen: set[str] = set()
    for number, text in enumerate(texts, 1):
        if text in seen or not text:
            what = f"duplicate index {text!r}" if text else "nothing in 'index'"
            raise DataError(f"{who}: row {number}: {what}", hint="every row needs its own index")
        seen.add(text)
    are_whole = all(map(smp.WHOLE.fullmatch, texts))
    column = smp.make_column([int(text) for text in texts] if are_whole else texts)
    column.index = data.index
    return column


# -- Image cells and their files


def expand_images(data: smp.Frame, who: str) -> None:
    """Image cells as scripts see them: a text or a list of texts; an index becomes that row's image."""
    for name in {"image", "image_path"} & set(data):
        cells = [[] if smp.is_missing(cell) else smp.toliststr(cell) for cell in data[name]]
        if name == "image":
            own = dict(zip(map(str, data["index"]), cells, strict=True))
            cells = [_refer(cell, own, f"{who}: index {index}") for index, cell in own.items()]
        plain = [cell[0] if len(cell) == 1 else cell or float("nan") for cell in cells]
        data[name] = smp.import_pandas().Series(plain, dtype="object", index=data.index)


def _refer(cell: list[str], own: dict[str, list[str]], where: str) -> list[str]:
    """The images of a cell, or of the row that it names by its index."""

    def is_reference(images: list[str]) -> bool:
        return len(images) == 1 and len(images[0]) <= REFERENCE_CHARS and not is_place(images[0])

    if not is_reference(cell):
        return cell
    found = own.get(cell[0], [])
    if not found or is_reference(found):
        raise DataError(
            f"{where}: the image {cell[0]!r} is neither an image nor the index of a row with one",
            hint="write base64, a path with its extension, or the index of another row",
        )
    return found


def find_images(places: Sequence[str], rules: PathRules) -> list[str]:
    """Paths resolved to files if these exist; URLs unchanged."""
    refs = [None if place.startswith(ADDRESSES) else rules.to_ref(place) for place in places]
    return [
        place if ref is None or ref.refused else ref.location for place, ref in zip(places, refs, strict=True)
    ]


def write_images(
    items: Sequence[str], names: Sequence[str], folder: Path, rules: PathRules, who: str
) -> list[str]:
    """Write the images of cells to files in a folder, each under its name; paths and URLs stay."""
    paths = []
    for item, name in zip(items, names, strict=True):
        if is_place(item) and not item.startswith("data:"):
            paths += find_images([item], rules)
        else:
            paths.append(_write(smp.decode_image_bytes(item, who), folder / _inside(name)))
    return paths


def _write(data: bytes, path: Path) -> str:
    """Write an image file; an existing file is never replaced.

    Another row may use the same name, in a thread or process at the same time. If the name is taken, the
    file gets a name with a hash.
    """
    if _holds(path, data):
        return str(path)
    own = path.with_name(f"{path.stem}-{hashlib.sha256(data).hexdigest()[:8]}{path.suffix}")
    with suppress(OSError):  # other errors happen again below, and are raised there
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:  # who reads half of it finds other bytes and takes another name
            file.write(data)
        return str(path)
    if not _holds(own, data):
        with atomic_write(own) as place:
            place.write_bytes(data)
    return str(own)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _inside(name: str) -> Path:
    """A name as a path that cannot lead out of a folder.

    >>> str(_inside("7.png")), str(_inside("a/b.png")), str(_inside("../../etc/x.png"))
    ('7.png', 'a/b.png', 'etc/x.png')
    """
    parts = [part for part in re.split(r"[/\\\0]+", name) if part not in ("", ".", "..")]
    return Path(*parts) if parts else Path("picture.png")


def name_images(index: Any, n_images: int, paths: Sequence[str]) -> list[str]:
    """The file names of the images of a row: from `image_path`, else from its index.

    >>> name_images(7, 1, []), name_images(7, 2, []), name_images(7, 1, ["cat.jpg"])
    (['7.png'], ['7_0.png', '7_1.png'], ['cat.jpg'])
    """
    if len(paths) == n_images:
        return [str(path) for path in paths]
    stem = re.sub(r"[/\\\0]", "_", str(index))
    return [f"{stem}.png"] if n_images == 1 else [f"{stem}_{k}.png" for k in range(n_images)]


# -- Multiple choice on images: `vlmeval.dataset.image_mcq`


def format_choice_question(line: smp.Row) -> str:
    """Hint, question and options in VLMEvalKit's frame."""
    names = (*ascii_uppercase, "hint", "question")
    here = {name: to_text(smp.to_plain(line[name])) for name in names if name in line}
    choices = {letter: here[letter] for letter in ascii_uppercase if here.get(letter)}
    sample = Sample(id="", question=here["question"], choices=choices, hint=here.get("hint", ""))
    return build_vlmevalkit_prompt(sample)[-1].text


@remember_class
class ImageMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..."""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: smp.Row | int) -> list[Part]:
        """The images, then hint, question and options as one text."""
        line = get_row(self, line)
        return make_parts(self, line, format_choice_question(line))


@remember_class
class CustomMCQDataset(ImageMCQDataset):
    """Custom multiple choice. Scripts assign their functions to it."""


# -- Open questions on images: `vlmeval.dataset.image_vqa`

SHORT_ANSWER = "\nAnswer the question using a single word or phrase."


@remember_class
class ImageVQADataset(ImageBaseDataset):
    """Open questions with a short answer."""

    TYPE: ClassVar[str] = "VQA"

    def build_prompt(self, line: smp.Row | int) -> list[Part]:
        """The images, then the question with the request for a short answer."""
        parts = ImageBaseDataset.build_prompt(self, line)
        parts[-1]["value"] += SHORT_ANSWER
        return parts


@remember_class
class CustomVQADataset(ImageBaseDataset):
    """Custom open questions, sent unchanged. Scripts assign their functions to it."""

    TYPE: ClassVar[str] = "VQA"


# -- Multiple choice without images: `vlmeval.dataset.text_mcq`


@remember_class
class TextMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..., and no image."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: smp.Row | int) -> list[Part]:
        """Hint, question and options as one text."""
        return [{"type": "text", "value": format_choice_question(get_row(self, line))}]


@remember_class
class CustomTextMCQDataset(TextMCQDataset):
    """Custom multiple choice without images. Scripts assign their functions to it."""


# -- Datasets by name: `vlmeval.dataset`


def build_dataset(dataset_name: str, **kwargs: Any) -> ImageBaseDataset:
    """The dataset of a file in ``$LMUData`` or ``~/LMUData``; its columns choose the class."""
    return find_class(dataset_name)(dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:  # noqa: N802 - called by that name
    """``MCQ`` or ``VQA``, by the columns of the file; `default` without a file."""
    try:
        return find_class(dataset).TYPE
    except DataError:
        return default


def list_columns(name: str | Path) -> tuple[str, ...]:
    """The columns of the file of a dataset, given by name or path."""
    file = smp.find_dataset(name)
    format, _ = guess_format(file)
    reader = open_reader(file, format, "utf-8", SourceOptions())
    first = None if (columns := reader.columns()) else next(iter(reader.rows(())), None)
    return tuple(first.values) if first else columns


def choose_class(columns: Sequence[str]) -> type[ImageBaseDataset]:
    """The class of a file, by its columns.

    >>> choose_class(["index", "question", "A", "B", "image"]).__name__
    'CustomMCQDataset'
    >>> choose_class(["question", "A", "B"]).__name__, choose_class(["Question", "image_path"]).__name__
    ('CustomTextMCQDataset', 'CustomVQADataset')
    """
    if "question" not in [column.lower() for column in columns]:
        raise DataError(f"no column 'question' (found: {join_names(columns, 12) or 'none'})", hint="add it")
    if not {"A", "B"} <= set(columns):
        return CustomVQADataset
    return CustomMCQDataset if {"image", "image_path"} & set(columns) else CustomTextMCQDataset


def find_class(name: str | Path) -> type[ImageBaseDataset]:
    """The class of a dataset, given by name or path: its columns choose it. Scripts change these classes."""
    return choose_class(list_columns(name))


SUPPORTED_DATASETS = [published for published, _ in SETS.values()]  # with published scoring
