"""What scripts import from `evalscope.run`."""

from eyechart.compat.evalscope import run_task

__all__ = ["run_task"]
