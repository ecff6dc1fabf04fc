"""What scripts import from `evalscope.config`."""

from eyechart.pipelines.vlmevalkit.evalscope.config import TaskConfig

__all__ = ["TaskConfig"]
