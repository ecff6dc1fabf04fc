"""What scripts import from `evalscope.utils`."""

from __future__ import annotations

from eyechart.compat.evalscope.utils.logger import get_logger

__all__ = ["get_logger"]
