"""EvalScope's VLMEvalKit backend and two of its own data sets: the same configuration in, the same files out.

    from eyechart.compat.evalscope import TaskConfig, run_task

Unlike EvalScope, failures are raised and never scored, every key is used or refused, API keys are not written
to files, and `run_task` returns the accuracies (of its own data sets the reports, as there).
"""

from __future__ import annotations

from eyechart.pipelines.vlmevalkit.evalscope.config import TaskConfig
from eyechart.pipelines.vlmevalkit.evalscope.job import run_task

__all__ = ["TaskConfig", "run_task"]

# The release of EvalScope that this follows, for scripts that compare it.
__version__ = "1.14.1+eyechart"
