"""What scripts import from `vlmeval.utils`."""

from eyechart.pipelines.vlmevalkit.vlmeval.bridge import track_progress_rich

__all__ = ["track_progress_rich"]
