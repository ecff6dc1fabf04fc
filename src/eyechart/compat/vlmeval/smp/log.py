"""What scripts import from `vlmeval.smp.log`."""

from eyechart.pipelines.vlmevalkit.vlmeval.smp import get_logger

__all__ = ["get_logger"]
