"""What scripts import from `vlmeval.dataset.text_mcq`."""

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomTextMCQDataset, TextMCQDataset

__all__ = ["CustomTextMCQDataset", "TextMCQDataset"]
