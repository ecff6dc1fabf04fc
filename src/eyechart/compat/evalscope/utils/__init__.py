"""The logger of `evalscope.utils` and `evalscope.utils.logger`."""

from __future__ import annotations

import logging

from eyechart.pipelines.vlmevalkit.vlmeval import smp

__all__ = ["get_logger"]


def get_logger(
    log_file: str | None = None,
    *,
    name: str | None = None,
    log_level: int = logging.INFO,
    file_mode: str = "w",
    force: bool = False,
) -> logging.Logger:
    """A logger that writes to stderr and optionally to a file; `force` replaces an existing one.

    >>> get_logger().name
    'evalscope'
    """
    called = name or "evalscope"
    if force:
        for old in list(logging.getLogger(called).handlers):
            logging.getLogger(called).removeHandler(old)
            old.close()
    logger = smp.get_logger(called, log_level=log_level)
    has_file = any(isinstance(handler, logging.FileHandler) for handler in logger.handlers)
    if log_file is not None and not has_file:
        handler = logging.FileHandler(log_file, mode=file_mode, encoding="utf-8")
        handler.setFormatter(logger.handlers[0].formatter)
        logger.addHandler(handler)
    return logger
