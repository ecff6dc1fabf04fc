"""InSight-o3's benchmarks: six of its own table and HR-Bench 8K, their prompt, and their annotation files.

Paper: https://arxiv.org/abs/2512.18745. The data lie below one folder, laid out as in the authors' repository
(commit 21acec8). Parity: the scorer ``insight-o3``, tests/golden/insight_o3.jsonl; by default replies are
scored by eyechart's own rules, and by ``judged`` if a judge is given.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from eyechart.data.columns.answers import parse_choices
from eyechart.data.columns.image_columns import ImageCells
from eyechart.data.columns.meaning import to_text
from eyechart.data.files.formats import find_file, guess_format
from eyechart.data.files.rows import PathRules, Row, name_row
from eyechart.data.images.boxes import TARGET_BOXES
from eyechart.data.samples import LazySource
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, UsageError
from eyechart.files import read_json
from eyechart.pipelines.insight_o3.score import OFFICIAL_GOLD
from eyechart.prompt.default import with_system
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.types import Benchmark, Card, ImageRef, Message, Sample, Source

NO_GROUP = "unknown"
AS_WRITTEN = "as-written"  # in meta: the row's own names, in its order
Kind: TypeAlias = Literal["as written", "whole", "real"]  # what a column's values are made
_SEEN = ("question_id", "image", "file_name", "category", "subset")  # what a model may see of a row, besides
_KNOWN = (*_SEEN, "question", "options", "answer")


# -- The benchmarks, declared in a table

# As the authors ask and score: images of at most 3500 x 3500 pixels, always encoded again.
OFFICIAL = {
    "scorer": "insight-o3",
    "max_pixels": 3500 * 3500,
    "jpeg_quality": 75,
    "params": {"image_detail": "high", "max_completion_tokens": 16384},
    "judge_params": {"max_completion_tokens": 2048},
}


class Dataset(msgspec.Struct, frozen=True):
    """Where a benchmark lies below the data folder, and what it contains."""

    name: str
    annotations: str  # the file of questions
    images: str  # the folder that its paths are relative to
    rows: int
    hub: str  # where its data come from
    about: str
    is_rotated: bool = False  # each question four times, with rotated options
    macro: str = ""  # the authors also report the mean over these groups

    @property
    def title(self) -> str:
        return self.about.partition(":")[0]

    @property
    def images_beside(self) -> str:
        """The folder of images, relative to that of the file of questions."""
        return os.path.relpath(self.images or ".", Path(self.annotations).parent)


DATASETS = (
    Dataset(
        "vstar", "vstar_bench/vstar_bench.jsonl", "vstar_bench", 191, "craigwu/vstar_bench",
        "V*Bench: attributes and positions of small things in photographs; direct and relative",
    ),
    Dataset(
        "hr-bench-4k", "HR-Bench/hrbench_4k.jsonl", "HR-Bench/images_4k", 800, "DreamMr/HR-Bench",
        "HR-Bench 4K: 200 questions on 4K images, each in four rotations; single and cross", is_rotated=True,
    ),
    Dataset(
        "hr-bench-8k", "HR-Bench/hrbench_8k.jsonl", "HR-Bench/images_8k", 800, "DreamMr/HR-Bench",
        "HR-Bench 8K: the same on 8K images", is_rotated=True,
    ),
    Dataset(
        "treebench", "TreeBench/treebench.jsonl", "TreeBench/images", 405, "HaochenWang/TreeBench",
        "TreeBench: perception and reasoning on crowded images; ten groups",
    ),
    Dataset(
        "visual-probe-hard", "VisualProbe_Hard/visual_probe_hard.jsonl", "", 106, "Mini-o3/VisualProbe_Hard",
        "VisualProbe Hard: open questions on small things in large images",
    ),
    Dataset(
        "mme-realworld-lite", "MME-RealWorld-Lite/MME_RealWorld_Lite.jsonl", "MME-RealWorld-Lite/imgs", 1919,
        "yifanzhang114/MME-RealWorld-Lite",
        "MME-RealWorld-Lite: driving, monitoring, documents, diagrams, remote sensing", macro="category",
    ),
    Dataset(
        "o3-bench", "O3-Bench/test/metadata.jsonl", "O3-Bench/test", 345, "m-Just/O3-Bench",
        "O3-Bench: several steps of looking and reasoning on large charts and maps",
    ),
)  # fmt: skip


def find_data_folder() -> Path:
    """The default folder of data sets: `$EYECHART_DATA`, or ``data`` in the current folder."""
    return Path(os.environ.get("EYECHART_DATA") or "data").expanduser()


def _factory(dataset: Dataset) -> BenchmarkFactory:
    def declare(
        file: Path | None = None,
        root: Path | None = None,
        image_root: Path | None = None,
        think: bool = False,
    ) -> Benchmark:
        """`file` and `image_root` replace the places below `root`; `think` asks for tags."""
        if file and image_root and root:
            raise UsageError(
                f"{dataset.name}: --set root={root} has no effect with a file and its image_root",
                hint="leave out --set root",
            )
        folder = (root or find_data_folder()).expanduser()
        path = _annotations(dataset, file.expanduser()) if file else folder / dataset.annotations
        given = {"file": file, "root": root, "image_root": image_root}
        # Images lie where the published ones do, or beside the file; those of a user's file beside it first.
        beside = (path.parent, path.parent / dataset.images_beside) if file else ()
        roots = (*beside, folder / dataset.images, path.parent)
        roots = (image_root.expanduser(),) if image_root else tuple(dict.fromkeys(roots))
        return Benchmark(
            name=dataset.name,
            source=LazySource(
                dataset.name,
                str(path.absolute()),
                lambda: _opened(dataset, path, roots, is_own=file is not None),
            ),
            prompt=render_think_question if think else render_question,
            scorer="default",
            judged_scorer="judged",
            group_by=("category",),
            macro=dataset.macro,
            circular="beside" if dataset.is_rotated else "",
            official=OFFICIAL,
            prompt_settings=("think",),
            files="insight-o3",
            settings={name: str(place) for name, place in given.items() if place} | {"think": think},
            about=f"{dataset.about}; {dataset.rows} rows",
            card=Card(url=f"hf:{dataset.hub}"),
        )

    aliases = ("mmerealworld_lite",) if dataset.name == "mme-realworld-lite" else ()  # in lmms-eval
    return benchmark(dataset.name, layout=dataset.annotations, aliases=aliases)(declare)


def _annotations(dataset: Dataset, given: Path) -> Path:
    """The file of questions: the given one, or the one in a folder of the published layout."""
    if not given.is_dir():
        return given
    parts = Path(dataset.annotations).parts
    published = (given.joinpath(*parts[n:]) for n in range(len(parts)))
    found = next((path for path in published if path.is_file()), None)
    if found is None:
        with contextlib.suppress(DataError):  # raised again when the questions are read
            found = find_file(given).path
    return found or given


def _opened(dataset: Dataset, path: Path, roots: tuple[Path, ...], *, is_own: bool) -> Source:
    if path.is_dir():
        path = find_file(path).path  # its error says what the folder holds instead
    if not path.is_file():
        hint = (
            f"download {dataset.hub} from the hub and run eyechart data convert {dataset.name}; "
            "give the data folder with $EYECHART_DATA or --set root=DIR, the file with --set file=FILE"
        )
        raise DataError(
            f"{dataset.name}: no file of questions at {path}",
            hint="give the path of a JSON Lines file" if is_own else hint,
        )
    return AnnotationSource(name=dataset.name, path=path, image_roots=roots, is_rotated=dataset.is_rotated)


# -- The prompt
#
# The image, then the question and its options as in the file; nothing is said about the form of the answer.
# `render_think_question` adds a system message that asks for the tags the official verdict looks for.


THINK = """\
Before you answer a question about a picture, think it through step by step. Write your reasoning between \
<think> and </think>. Then write your final answer, and only that, between <answer> and </answer>."""


def render_question(sample: Sample) -> list[Message]:
    r"""One user turn.

    >>> [turn] = render_question(Sample(id="0", question="Which?", choices_text="(A) red\n(B) blue"))
    >>> turn.text
    'Which?\n(A) red\n(B) blue'
    """
    text = f"{sample.question}\n{sample.choices_text}" if sample.choices_text else sample.question
    return [Message("user", (*sample.images, text))]


render_think_question = with_system(render_question, THINK)


# -- The annotation files


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationSource:
    """Samples of one annotation file: JSON Lines with one image per row and the options as one text.

    A row has `image` (or `file_name`), `question`, `answer` and, for multiple choice, `options`; its group is
    `category`, else `subset`, else ``unknown``. Texts are kept unchanged, because the official pipeline sends
    and compares them so. Everything else is kept under its own name, so that `rebuild_row` can restore the
    row; explanations and boxes of where to look are withheld from the model.

    Images are looked for below each of `image_roots` in turn. `is_rotated`: successive rows may be rotations
    of one question (HR-Bench).
    """

    name: str
    path: Path
    image_roots: tuple[Path, ...]
    is_rotated: bool = False

    @property
    def origin(self) -> str:
        return str(self.path)

    def __iter__(self) -> Iterator[Sample]:
        samples = self._samples()
        return mark_rotations(samples) if self.is_rotated else samples

    def _samples(self) -> Iterator[Sample]:
        rules = PathRules([str(root.absolute()) for root in self.image_roots])
        cells = ImageCells(str(self.path), rules.to_ref)
        uses: dict[str, int] = {}
        golds = guess_kind(row.values.get("answer", math.nan) for row in self._rows())
        for row in self._rows():
            sample = _to_sample(row, cells, name_row(self.path, row.number, row.line), golds)
            yield replace(sample, id=_unique(sample.id, uses))

    def _rows(self) -> Iterator[Row]:
        format, _ = guess_format(self.path)
        if format not in ("jsonl", "json"):
            raise DataError(
                f"{self.path}: the questions of {self.name} are read from JSON Lines, not {format}",
                hint="leave out --as to read it as a file of your own",
            )
        return open_reader(self.path, format, "utf-8", SourceOptions()).rows(())


def mark_rotations(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; rotations of one question share a circle.

    Rotations are successive, at most as many as there are options, and agree in the question, the texts of
    the options and the correct text.

    >>> pair = [Sample(id="0", question="?", golds=("A",), choices={"A": "x", "B": "y"}),
    ...         Sample(id="1", question="?", golds=("B",), choices={"A": "y", "B": "x"})]
    >>> [sample.circle for sample in mark_rotations(pair)]
    ['0', '0']
    """
    key, first, members = None, "", 0
    for sample in samples:
        right = tuple(sample.choices.get(gold, gold) for gold in sample.golds)
        own = (sample.question, tuple(sorted(sample.choices.values())), right)
        if own != key or members >= len(sample.choices):
            key, first, members = own, sample.id, 0
        members += 1
        yield replace(sample, circle=first)


def _to_sample(row: Row, cells: ImageCells, where: str, golds: Kind) -> Sample:
    values = row.values
    options = _text(values, "options", where)
    image = _image(row, cells, where)
    return Sample(
        id=to_text(values.get("question_id")) or str(row.number),
        question=_text(values, "question", where, is_needed=True),
        images=(image,),
        golds=_golds(values, where),
        choices=parse_choices(options),
        choices_text=options,
        meta=_meta(values),
        withheld={**_withheld(values, golds), **_find_boxes(values, image)},
        row=row.number,
    )


def _text(values: Mapping[str, Any], name: str, where: str, *, is_needed: bool = False) -> str:
    value = values.get(name)
    if value is None and not is_needed:
        return ""
    if not isinstance(value, str) or (is_needed and not value.strip()):
        found = "nothing" if value in (None, "") else f"{type(value).__name__} {str(value)[:40]!r}"
        hint = "one option per line, letters included" if name == "options" else ""
        raise DataError(f"{where}: {name!r} must be text, found {found}", hint=hint)
    return value


def _golds(values: Mapping[str, Any], where: str) -> tuple[str, ...]:
    answer = values.get("answer")
    if isinstance(answer, list | dict):
        raise DataError(
            f"{where}: 'answer' must be a single text, found {type(answer).__name__} {str(answer)[:40]!r}",
            hint="leave out --as to read a file with several accepted answers",
        )
    text = to_text(answer)
    return (text,) if text else ()


def _image(row: Row, cells: ImageCells, where: str) -> ImageRef:
    name = next((name for name in ("image", "file_name") if row.values.get(name) is not None), "")
    if not name:
        raise DataError(f"{where}: no image", hint="give its path in 'image' (or 'file_name')")
    path = _text(row.values, name, where, is_needed=True)
    [found] = cells.read([path], row.number, only_paths=True)
    assert isinstance(found, ImageRef), "an item of a list refers to no row"
    return found


def _meta(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a model may see of a row, besides the question."""
    kept = {
        name: value
        for name, value in values.items()
        if name in _SEEN or (name in _KNOWN and value in (None, ""))
    }
    return {**kept, "category": _group(values), AS_WRITTEN: list(values)}


def _withheld(values: Mapping[str, Any], golds: Kind) -> dict[str, Any]:
    """What a model may not see; and a category or an answer that is not text, as records repeat it."""
    kept = {name: value for name, value in values.items() if name not in _KNOWN}
    if "category" in values and values["category"] != _group(values):
        kept["category"] = values["category"]
    if (answer := values.get("answer")) is not None:
        kept |= {} if isinstance(answer, str) else {"answer": answer}
        gold = convert_value(answer, golds)
        kept |= {} if isinstance(gold, str) else {OFFICIAL_GOLD: gold}
    return kept


def _find_boxes(values: Mapping[str, Any], image: ImageRef) -> dict[str, Any]:
    """The row's own boxes; else those of the JSON file beside the image, as V*Bench has them."""
    if "bbox" in values:
        return {TARGET_BOXES: values["bbox"]}
    if image.kind != "file" or image.refused:
        return {}
    found = read_json(Path(image.location).with_suffix(".json").resolve(), _Sidecar)
    if found is None:  # or it is some other file of that name
        return {}
    return {TARGET_BOXES: [[x, y, x + width, y + height] for x, y, width, height in found.bbox]}


class _Sidecar(msgspec.Struct):
    bbox: list[tuple[float, float, float, float]]  # x, y, width, height


def _group(values: Mapping[str, Any]) -> str:
    return to_text(values.get("category")) or to_text(values.get("subset")) or NO_GROUP


def _unique(name: str, uses: dict[str, int]) -> str:
    """MME-RealWorld-Lite repeats ids: the second row of an id gets #2, in the order of the file."""
    unique = name
    while unique in uses:
        uses[name] += 1
        unique = f"{name}#{uses[name]}"
    uses[unique] = 1
    return unique


def rebuild_row(sample: Sample) -> dict[str, Any]:
    """The row that a sample was read from; for other samples, what such a row would hold.

    >>> rebuild_row(Sample(id="7", question="Which?", golds=("B",), choices_text="A. cat"))
    {'question': 'Which?', 'options': 'A. cat', 'answer': 'B'}
    """
    texts: dict[str, Any] = {"question": sample.question}
    if sample.choices_text:
        texts["options"] = sample.choices_text
    if sample.golds:
        texts["answer"] = sample.golds[0]
    kept = {**sample.meta, **sample.withheld}
    known = texts | {name: value for name, value in kept.items() if name != AS_WRITTEN}
    names = sample.meta.get(AS_WRITTEN)
    return known if names is None else {name: known[name] for name in names if name in known}


# -- Rows as the authors' loader reads them, without pandas
#
# They read annotation files with `pandas.read_json`, which guesses types over whole columns (quirk Q7): texts
# that all look like numbers become numbers, and a key that a row lacks is NaN. Golds, records and groups
# follow. Not reproduced: a row without options in a file that has them is asked without the word ``nan``, and
# columns whose name looks like a date, at which the official code fails, are read as they are.


def make_official_records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `pandas.read_json` gives them back.

    >>> make_official_records([{"answer": "5", "options": "A. 1"}, {"answer": " 7"}])
    [{'answer': 5, 'options': 'A. 1'}, {'answer': 7, 'options': nan}]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        values = [row.get(name, math.nan) for row in rows]
        kind = guess_kind(values)
        columns.append([convert_value(value, kind) for value in values])
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def find_group(record: Mapping[str, Any]) -> str:
    """The group that a record counts in, as a key of JSON: its category, else its subset, else unknown.

    >>> find_group({"category": math.nan, "subset": "map"}), find_group({"subset": "map"}), find_group({})
    ('NaN', 'map', 'unknown')
    """
    group = next((record[name] for name in ("category", "subset") if name in record), NO_GROUP)
    return group if isinstance(group, str) else json.dumps(group, default=str)


def guess_kind(values: Iterable[Any]) -> Kind:
    """What the values of a column are made; looks no further than the first that is no number.

    >>> guess_kind(["5", " 7"]), guess_kind(["5", "2.5"]), guess_kind(["5", math.nan]), guess_kind(["5", "B"])
    ('whole', 'real', 'real', 'as written')
    """
    kinds: set[type] = set()
    is_whole = True
    for value in values:
        number = _number(value)
        if number is None:
            return "as written"
        kinds.add(type(value))
        is_whole = is_whole and number.is_integer() and abs(number) < 2**63
    if kinds <= {bool} or kinds == {int}:
        return "as written"
    return "whole" if is_whole else "real"


def convert_value(value: Any, kind: Kind) -> Any:
    """A value of a column of this kind."""
    if kind == "as written":
        return value
    number = _number(value)
    assert number is not None, "the kind was guessed from all values"
    return int(number) if kind == "whole" else number


def _number(value: Any) -> float | None:
    """A cell as a float, null as NaN; None if it is not a number."""
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


BENCHMARKS = {dataset.name: _factory(dataset) for dataset in DATASETS}
