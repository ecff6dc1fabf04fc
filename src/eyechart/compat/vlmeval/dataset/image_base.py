"""What scripts import from `vlmeval.dataset.image_base`."""

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import ImageBaseDataset

__all__ = ["ImageBaseDataset"]
