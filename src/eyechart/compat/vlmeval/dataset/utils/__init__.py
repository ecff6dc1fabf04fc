"""The judge for an `evaluate` of one's own, in the way of `vlmeval.dataset.utils`."""

from __future__ import annotations

from eyechart.pipelines.vlmevalkit.vlmeval.bridge import DEBUG_MESSAGE, build_judge

__all__ = ["DEBUG_MESSAGE", "build_judge"]
