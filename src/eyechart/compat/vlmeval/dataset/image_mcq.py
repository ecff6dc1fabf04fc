"""What scripts import from `vlmeval.dataset.image_mcq`."""

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, ImageMCQDataset

__all__ = ["CustomMCQDataset", "ImageMCQDataset"]
