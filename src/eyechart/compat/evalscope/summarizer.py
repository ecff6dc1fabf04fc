"""What scripts import from `evalscope.summarizer`."""

from eyechart.pipelines.vlmevalkit.evalscope.job import Summarizer

__all__ = ["Summarizer"]
