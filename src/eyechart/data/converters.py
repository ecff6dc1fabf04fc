"""The data sets that can be converted: what each looks like on the hub, and where it goes.

Columns and file names of the originals are as the hub's loaders know them; the layout is that of InSight-o3's
data folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.data import convert_rows
from eyechart.data.convert_rows import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """One data set: what its original looks like, and where it goes."""

    about: str
    hub: str
    files: tuple[str, ...]  # names of the original's data file, the first kind that is found
    fields: Mapping[str, str]  # what a sample needs to the original's columns
    columns: tuple[str, ...]  # further columns that must be there
    entry: Callable[[Mapping[str, Any], int, str], Entry]
    annotations: str
    pictures: str
    is_ascii: bool = False  # the published file escapes what is not
    has_files: bool = True  # pictures are files of their own, not cells


def _hr_bench(size: str) -> Converter:
    return Converter(
        about=f"HR-Bench {size.upper()}",
        hub="DreamMr/HR-Bench",
        files=(f"*{size}*.parquet", f"*{size}*.tsv"),
        fields={"id": "index", "image": "image"},
        columns=("question", "A", "B", "C", "D", "answer", "category"),
        entry=convert_rows.hr_bench,
        annotations=f"HR-Bench/hrbench_{size}.jsonl",
        pictures=f"HR-Bench/images_{size}",
        has_files=False,
    )


CONVERTERS: Mapping[str, Converter] = {
    "vstar": Converter(
        about="V*Bench",
        hub="craigwu/vstar_bench",
        files=("test_questions.jsonl", "*.jsonl"),
        fields={"question": "text", "answer": "label", "image": "image"},
        columns=("category",),
        entry=convert_rows.vstar,
        annotations="vstar_bench/vstar_bench.jsonl",
        pictures="vstar_bench",
    ),
    "hr-bench-4k": _hr_bench("4k"),
    "hr-bench-8k": _hr_bench("8k"),
    "treebench": Converter(
        about="TreeBench",
        hub="HaochenWang/TreeBench",
        files=("*.parquet", "*.tsv", "*.jsonl", "*.json"),
        fields={"options": "multi-choice options", "image": "image"},
        columns=("question", "answer", "category"),
        entry=convert_rows.treebench,
        annotations="TreeBench/treebench.jsonl",
        pictures="TreeBench/images",
        is_ascii=True,
        has_files=False,
    ),
    "visual-probe-hard": Converter(
        about="VisualProbe Hard",
        hub="Mini-o3/VisualProbe_Hard",
        files=("val.json", "*.json", "*.jsonl"),
        fields={"question": "problem", "answer": "solution", "image": "images"},
        columns=(),
        entry=convert_rows.visual_probe,
        annotations="VisualProbe_Hard/visual_probe_hard.jsonl",
        pictures="",
    ),
    "mme-realworld-lite": Converter(
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
        entry=convert_rows.mme_realworld,
        annotations="MME-RealWorld-Lite/MME_RealWorld_Lite.jsonl",
        pictures="MME-RealWorld-Lite/imgs",
    ),
    "o3-bench": Converter(
        about="O3-Bench",
        hub="m-Just/O3-Bench",
        files=("metadata.jsonl",),
        fields={"image": "file_name"},
        columns=("question", "options", "answer", "subset"),
        entry=convert_rows.o3_bench,
        annotations="O3-Bench/test/metadata.jsonl",
        pictures="O3-Bench/test",
    ),
}
