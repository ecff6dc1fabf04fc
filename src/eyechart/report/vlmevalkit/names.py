"""How VLMEvalKit's files are called: after the model, the set of questions, the trial and the judge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NO_JUDGE = "exact_matching"


def stem_of(manifest: Mapping[str, Any], trial: int) -> str:
    """How the names of a trial's files begin.

    >>> manifest = {"model": "openai/m", "origin": "mine.tsv"}
    >>> stem_of(manifest, 0), stem_of(manifest, 1)
    ('m_mine', 'm_mine_trial2')
    """
    name = f"{model_name(str(manifest.get('model', '')))}_{set_name(manifest)}"
    return f"{name}_trial{trial + 1}" if trial else name


def model_name(model: str) -> str:
    """A model as EvalScope names its files: the last part, with ``:`` and ``.`` written otherwise.

    >>> model_name("openai/Qwen/Qwen2.5-VL:7b"), model_name("python:mine.py:Model")
    ('Qwen2_5-VL-7b', 'python-mine_py-Model')
    """
    return _for_a_file(model.rstrip("/").rpartition("/")[2].replace(":", "-").replace(".", "_")) or "model"


def set_name(manifest: Mapping[str, Any]) -> str:
    """The name of the file that the questions came from, else that of the benchmark.

    >>> set_name({"origin": "data/MMBench_DEV_EN.tsv"}), set_name({"origin": "", "benchmark": "demo"})
    ('MMBench_DEV_EN', 'demo')
    """
    origin = str(manifest.get("origin") or "").replace("\\", "/")
    return _for_a_file(Path(origin).stem or str(manifest.get("benchmark", ""))) or "data"


def judge_name(manifest: Mapping[str, Any]) -> str:
    """The judge's name as the files have it."""
    judge = manifest.get("judge")
    name = judge.get("model") if isinstance(judge, Mapping) else judge
    return model_name(str(name)) if name else NO_JUDGE


def _for_a_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".")
