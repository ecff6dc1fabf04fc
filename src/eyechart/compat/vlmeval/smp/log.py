"""A logger in the way of `vlmeval.smp`."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from eyechart.terminal import visible


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to whatever stderr is at that moment, as `print` does."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        self.stream = sys.stderr
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """The line, with nothing in it that a terminal would obey."""
        return visible(super().format(record))


def get_logger(name: str, log_file: str | None = None, log_level: int = logging.INFO) -> logging.Logger:
    """A logger that writes to stderr and, where asked, to a file."""
    logger = logging.getLogger(name)
    if not logger.handlers:
        handlers: list[logging.Handler] = [_Stderr()]
        if log_file is not None:
            handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
        for handler in handlers:
            handler.setFormatter(logging.Formatter("[%(asctime)s] %(levelname)s - %(name)s: %(message)s"))
            logger.addHandler(handler)
        logger.propagate = False
    logger.setLevel(log_level)
    return logger
