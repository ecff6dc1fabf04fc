"""What scripts import from `vlmeval.dataset.utils.judge_util`."""

from eyechart.pipelines.vlmevalkit.vlmeval.bridge import DEBUG_MESSAGE, build_judge

__all__ = ["DEBUG_MESSAGE", "build_judge"]
