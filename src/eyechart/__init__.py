"""eyechart: an eye exam for vision-language models.

    import eyechart as ec

    run = ec.run("data.tsv", model="openai/served-name", base_url="http://localhost:8000/v1")
    run.score, run.ci95, run.outcomes, run.by("category"), run.samples()

What is named in `__all__` is the public API; nothing else is promised.
"""

from __future__ import annotations

from typing import Any

import eyechart.model  # noqa: F401  (imported later, the package would take the place of the decorator)
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
from eyechart.registry import benchmark, exporter, judged_scorer, model, scorer
from eyechart.run import load, run
from eyechart.run.estimate import Estimate
from eyechart.run.estimate import estimate_run as estimate
from eyechart.run.run import Run
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
    Reply,
    Request,
    Result,
    Sample,
    Score,
    Scorer,
    Source,
    Usage,
)

__version__ = "0.1.0"

__all__ = [
    "MODELS_TURN",
    "Benchmark",
    "Capabilities",
    "DataError",
    "Estimate",
    "Export",
    "EyechartError",
    "Failure",
    "Image",
    "ImageError",
    "ImageRef",
    "JudgeCall",
    "JudgeFailed",
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
    "UnknownName",
    "Usage",
    "UsageError",
    "__version__",
    "benchmark",
    "estimate",
    "exporter",
    "judged_scorer",
    "load",
    "model",
    "run",
    "score",
    "scorer",
]


def __getattr__(name: str) -> Any:
    """`eyechart.score` is there without an import of its own, and costs nothing until it is used."""
    if name == "score":
        import importlib

        return importlib.import_module("eyechart.score")
    raise AttributeError(f"module 'eyechart' has no attribute {name!r}")
