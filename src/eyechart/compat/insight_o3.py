"""InSight-o3's evaluation from Python: `evaluate(Arguments(...))`, with the arguments of its script."""

from __future__ import annotations

from eyechart.pipelines.insight_o3.arguments import Arguments
from eyechart.pipelines.insight_o3.evaluate import evaluate

__all__ = ["Arguments", "evaluate"]
