"""EvalScope with its VLMEvalKit backend: the same configuration in, the same files and table out.

    from eyechart.compat.evalscope import TaskConfig, run_task

Unlike there, what failed is raised and never scored, every key is honoured or refused by its name, keys of
endpoints are written nowhere, and `run_task` returns the accuracies.
"""

from __future__ import annotations

from typing import Any

from eyechart.pipelines.vlmevalkit.evalscope.config import TaskConfig

__all__ = ["TaskConfig", "run_task"]

# The release of EvalScope whose VLMEvalKit backend this follows, for scripts that compare it.
__version__ = "1.14.1+eyechart"


def run_task(task_cfg: Any) -> Any:
    """Run a task, or a list of them; see `eyechart.pipelines.vlmevalkit.evalscope.job.run_task`."""
    from eyechart.pipelines.vlmevalkit.evalscope import (
        job,  # 0.2 s, which a script that only imports is spared
    )

    return job.run_task(task_cfg)
