"""Data sets by name."""

from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import (
    DATASET_TYPE,
    SUPPORTED_DATASETS,
    CustomMCQDataset,
    CustomTextMCQDataset,
    CustomVQADataset,
    build_dataset,
)
from support.extras import extra
from support.tables import write_tsv


@pytest.mark.parametrize(
    ("heading", "kind", "type"),
    [
        (["index", "question", "A", "B", "image_path"], CustomMCQDataset, "MCQ"),
        (["index", "question", "A", "B"], CustomTextMCQDataset, "MCQ"),
        (["index", "question", "answer", "image_path"], CustomVQADataset, "VQA"),
        (["index", "question", "A"], CustomVQADataset, "VQA"),
    ],
)
def test_the_columns_choose_the_class(heading: list[str], kind: type, type: str, root: Path) -> None:
    extra("pandas")
    write_tsv(root / "mine.tsv", heading, [1, *(["x.png"] * (len(heading) - 1))])
    assert build_dataset("mine").__class__ is kind
    assert build_dataset("mine", skip_noimg=False).skip_noimg is False
    assert DATASET_TYPE("mine") == type


def test_names_that_lead_nowhere(root: Path) -> None:
    write_tsv(root / "mine.tsv", ["index", "text"], [1, "?"])
    with pytest.raises(DataError, match=r"no column 'question' \(found: index, text\)"):
        build_dataset("mine")
    with pytest.raises(DataError, match="gone: no such file"):
        build_dataset("gone")
    assert DATASET_TYPE("gone") == "MCQ"
    assert DATASET_TYPE("gone", default="VQA") == "VQA"


def test_published_sets_are_listed() -> None:
    assert "MMBench_DEV_EN" in SUPPORTED_DATASETS
