"""InfoChartQA's own functions: `evaluate` on a response file, `build_question` on a row.

from eyechart.compat.infochartqa import evaluate
results, report = evaluate("model_response.json", "out/results.json", "out/report.json")
"""

from __future__ import annotations

from eyechart.pipelines.infochartqa.report import build_question, evaluate

__all__ = ["build_question", "evaluate"]
