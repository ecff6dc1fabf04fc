"""Data sets as the Hugging Face hub has them, made in a folder. Nothing is fetched."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.files import picture

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the library is imported: no test may reach out
os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

COLOURS = ("red", "green", "blue")


def library(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library `datasets` with its cache in a folder of the test; skips where it is not installed."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache / "datasets")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache / "hub"))
    return datasets


def signs(datasets: Any, n: int = 3) -> Any:
    """Questions on one picture each, of the library's own picture type."""
    columns: Mapping[str, Sequence[Any]] = {
        "id": [f"s{k}" for k in range(n)],
        "question": [f"Question {k}?" for k in range(n)],
        "options": [["yes", "no"] for _ in range(n)],
        "answer": ["AB"[k % 2] for k in range(n)],
        "category": [k % 2 for k in range(n)],
        "image": [{"bytes": picture(COLOURS[k % 3]), "path": f"{k}.png"} for k in range(n)],
    }
    text = datasets.Value("string")
    features = datasets.Features(
        {
            "id": text,
            "question": text,
            "options": datasets.Sequence(text),
            "answer": text,
            "category": datasets.ClassLabel(names=["night", "day"]),
            "image": datasets.Image(),
        }
    )
    return datasets.Dataset.from_dict(dict(columns), features=features)


def clone(folder: Path, splits: Mapping[str, Any]) -> Path:
    """A repository of Parquet files, as `hf download` leaves it."""
    (folder / "data").mkdir(parents=True)
    for split, dataset in splits.items():
        dataset.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))
    return folder
