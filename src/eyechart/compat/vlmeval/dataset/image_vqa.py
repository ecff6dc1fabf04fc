"""What scripts import from `vlmeval.dataset.image_vqa`."""

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomVQADataset, ImageVQADataset

__all__ = ["CustomVQADataset", "ImageVQADataset"]
