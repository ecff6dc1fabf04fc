"""What scripts import from `evalscope.run`."""

from eyechart.pipelines.vlmevalkit.evalscope.job import run_task

__all__ = ["run_task"]
