"""eyechart: an eye exam for vision-language models.

    import eyechart as ec

    run = ec.run("data.tsv", model="openai/served-name", base_url="http://localhost:8000/v1")
    run.score, run.ci95, run.outcomes, run.by("category"), run.samples()
    ec.compare(run, "runs/data/openai-other-model-1a2b3c4d").verdict

The names in `__all__` are the public API; anything else may change.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eyechart.aliases import Aliases
from eyechart.errors import (
    DataError,
    EyechartError,
    ImageError,
    MissingExtra,
    ModelError,
    StoreError,
    UnknownName,
    UsageError,
)
from eyechart.registry import benchmark, callback, exporter, judged_scorer, model, scorer
from eyechart.types import (
    MODELS_TURN,
    Benchmark,
    Capabilities,
    Export,
    Failure,
    Image,
    ImageRef,
    JudgeCall,
    JudgeFailed,
    Message,
    Model,
    ModelSettings,
    Replaceable,
    Reply,
    Request,
    Result,
    Sample,
    Score,
    Scorer,
    Source,
    Usage,
)

if TYPE_CHECKING:
    from eyechart.report.compare import Comparison
    from eyechart.report.sweep import Sweep
    from eyechart.runs.api import Run, arun, load, run
    from eyechart.runs.audit import Audit, audit
    from eyechart.runs.comparison import compare
    from eyechart.runs.estimate import Estimate
    from eyechart.runs.estimate import estimate_run as estimate
    from eyechart.runs.gate import Gate, gate
    from eyechart.runs.options import Look
    from eyechart.runs.sweep import sweep
    from eyechart.runs.watch import watch

__version__ = "0.2.0"

__all__ = [
    "MODELS_TURN",
    "Audit",
    "Benchmark",
    "Capabilities",
    "Comparison",
    "DataError",
    "Estimate",
    "Export",
    "EyechartError",
    "Failure",
    "Gate",
    "Image",
    "ImageError",
    "ImageRef",
    "JudgeCall",
    "JudgeFailed",
    "Look",
    "Message",
    "MissingExtra",
    "Model",
    "ModelError",
    "ModelSettings",
    "Reply",
    "Request",
    "Result",
    "Run",
    "Sample",
    "Score",
    "Scorer",
    "Source",
    "StoreError",
    "Sweep",
    "UnknownName",
    "Usage",
    "UsageError",
    "__version__",
    "arun",
    "audit",
    "benchmark",
    "callback",
    "compare",
    "estimate",
    "exporter",
    "gate",
    "judged_scorer",
    "load",
    "model",
    "run",
    "score",
    "scorer",
    "stats",
    "sweep",
    "watch",
]


_LAZY = {  # imported when they are first used
    **dict.fromkeys(("Run", "run", "arun", "load"), "runs.api"),
    **dict.fromkeys(("Audit", "audit"), "runs.audit"),
    **dict.fromkeys(("Estimate", "estimate"), "runs.estimate"),
    **dict.fromkeys(("Gate", "gate"), "runs.gate"),
    "Comparison": "report.compare",
    "Look": "runs.options",
    "Sweep": "report.sweep",
    "compare": "runs.comparison",
    "sweep": "runs.sweep",
    "watch": "runs.watch",
}


def _open_image(ref: ImageRef) -> Any:
    from eyechart.data.images.loading import open_picture

    return open_picture(ref)


def _show_html(value: Sample | Result) -> str:
    from eyechart.report.notebook import show_result, show_sample

    return show_result(value) if isinstance(value, Result) else show_sample(value)


Replaceable.open_image, Replaceable.show_html = _open_image, _show_html
sys.meta_path.insert(0, Aliases({"eyechart.run": "eyechart.runs", "eyechart.model": "eyechart.models"}))


def __getattr__(name: str) -> Any:
    if name in ("score", "stats"):
        return import_module(f"eyechart.{name}")
    if name in _LAZY:
        module = import_module(f"eyechart.{_LAZY[name]}")
        return getattr(module, "estimate_run" if name == "estimate" else name)
    raise AttributeError(f"module 'eyechart' has no attribute {name!r}")
