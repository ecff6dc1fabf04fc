"""MULTI's metrics step from Python: `metrics(...)` on files of predictions."""

from __future__ import annotations

from eyechart.pipelines.multi.metrics import Metrics
from eyechart.pipelines.multi.metrics import compute_metrics as metrics

__all__ = ["Metrics", "metrics"]
