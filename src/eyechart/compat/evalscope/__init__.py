"""EvalScope's VLMEvalKit backend and two of its own data sets: the same configuration in, the same files out.

    from eyechart.compat.evalscope import TaskConfig, run_task

Unlike EvalScope, failures are raised and never scored, every key is used or refused, API keys are not written
to files, and `run_task` returns the accuracies (of its own data sets the reports, as there).
"""

from __future__ import annotations

import logging

from eyechart.pipelines.vlmevalkit.evalscope.config import TaskConfig
from eyechart.pipelines.vlmevalkit.evalscope.job import run_task
from eyechart.pipelines.vlmevalkit.vlmeval import smp

__all__ = ["TaskConfig", "run_task"]

# The release of EvalScope that this follows, for scripts that compare it.
__version__ = "1.14.1+eyechart"


# -- Names that scripts import from `evalscope.constants`, as plain texts


class EvalBackend:
    """The backends; eyechart replaces VLMEvalKit, and Native for two data sets."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


class EvalType:
    """How EvalScope's native backend calls a model."""

    CHECKPOINT = "llm_ckpt"
    OPENAI_API = SERVICE = "openai_api"
    CUSTOM = "custom"


class JudgeStrategy:
    """When EvalScope's native backend calls a judge."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"


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
    return smp.get_logger(called, log_file, log_level, file_mode=file_mode)
