"""MULTI's own front doors: asking with its arguments, and its metrics step on files."""

from __future__ import annotations

from eyechart.compat.multi.scoring import Metrics, metrics

__all__ = ["Metrics", "metrics"]
