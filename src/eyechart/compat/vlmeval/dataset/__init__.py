"""What scripts import from `vlmeval.dataset`."""

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import (
    DATASET_TYPE,
    SUPPORTED_DATASETS,
    CustomMCQDataset,
    CustomTextMCQDataset,
    CustomVQADataset,
    ImageBaseDataset,
    ImageMCQDataset,
    ImageVQADataset,
    TextMCQDataset,
    build_dataset,
)

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
