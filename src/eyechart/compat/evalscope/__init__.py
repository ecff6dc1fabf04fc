"""EvalScope with its VLMEvalKit backend: the same configuration in, the same files and table out.

    from eyechart.compat.evalscope import TaskConfig, run_task

Unlike there, what failed is raised and never scored, every key is honoured or refused by its name, keys of
endpoints are written nowhere, and `run_task` returns the accuracies.
"""

from __future__ import annotations

from eyechart.pipelines.vlmevalkit.evalscope.config import TaskConfig
from eyechart.pipelines.vlmevalkit.evalscope.job import run_task

__all__ = ["TaskConfig", "run_task"]

# The release of EvalScope whose VLMEvalKit backend this follows, for scripts that compare it.
__version__ = "1.14.1+eyechart"
