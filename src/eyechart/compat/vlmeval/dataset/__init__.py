"""Data sets by name, in the way of `vlmeval.dataset`."""

from __future__ import annotations

from typing import Any

from eyechart.compat.vlmeval.bridge import class_of, columns_of, kind_of
from eyechart.compat.vlmeval.dataset.image_base import ImageBaseDataset
from eyechart.compat.vlmeval.dataset.image_mcq import CustomMCQDataset, ImageMCQDataset
from eyechart.compat.vlmeval.dataset.image_vqa import CustomVQADataset, ImageVQADataset
from eyechart.compat.vlmeval.dataset.text_mcq import CustomTextMCQDataset, TextMCQDataset
from eyechart.errors import DataError

__all__ = [
    "DATASET_TYPE",
    "SUPPORTED_DATASETS",
    "CustomMCQDataset",
    "CustomTextMCQDataset",
    "CustomVQADataset",
    "ImageBaseDataset",
    "ImageMCQDataset",
    "ImageVQADataset",
    "TextMCQDataset",
    "build_dataset",
]


def build_dataset(dataset_name: str, **kwargs: Any) -> ImageBaseDataset:
    """The data set of a file in ``$LMUData`` or ``~/LMUData``, of the class that its columns ask for."""
    return class_of(kind_of(columns_of(dataset_name)))(dataset_name, **kwargs)


def DATASET_TYPE(dataset: str, *, default: str = "MCQ") -> str:  # noqa: N802 - called by that name
    """``MCQ`` or ``VQA``, by the columns of the file; `default` where there is no such file."""
    try:
        return class_of(kind_of(columns_of(dataset))).TYPE
    except DataError:
        return default


def __getattr__(name: str) -> Any:
    """`SUPPORTED_DATASETS`: the published files whose scoring we know."""
    if name == "SUPPORTED_DATASETS":
        from eyechart.benchmarks.mmbench import SETS

        return [published for published, _ in SETS.values()]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
