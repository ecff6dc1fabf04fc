"""Agreement with VLMEvalKit's and lmms-eval's own code on golden vectors, one test per official function."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from catalogue.adapter import VERDICTS

FOLDER = Path(__file__).parent / "vectors"


@cache
def read_vectors() -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line:
                vector = json.loads(line)
                found[vector["fn"]].append(vector)
    return dict(found)


def is_same(got: Any, want: Any) -> bool:
    if isinstance(want, dict):
        return (
            isinstance(got, dict)
            and got.keys() == want.keys()
            and all(is_same(got[k], want[k]) for k in want)
        )
    if isinstance(want, list):
        return isinstance(got, list | tuple) and len(got) == len(want) and all(map(is_same, got, want))
    if isinstance(want, int | float) and isinstance(got, int | float) and not isinstance(want, bool):
        return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    return bool(got == want)


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_official_function(name: str) -> None:
    vectors = read_vectors()[name]
    assert vectors
    for vector in vectors:
        got = VERDICTS[name](vector["input"])
        assert is_same(got, vector["expected"]), f"{vector['input']}: {got} is not {vector['expected']}"


def test_every_vector_is_compared() -> None:
    assert read_vectors().keys() == VERDICTS.keys()
