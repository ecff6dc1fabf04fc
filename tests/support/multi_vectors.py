"""MULTI's golden vectors, and the options that say which generation of its rules gave a value."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden"


def vectors(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    assert "MULTI-Benchmark" in json.loads(lines[0])["provenance"]
    return [json.loads(line) for line in lines[1:] if line]


def generations() -> list[tuple[str, str, dict[str, Any]]]:
    """Generation, answer position, vector with its `expected` pair."""
    return [
        (name.removesuffix("-end"), "end" if name.endswith("-end") else "start", vector | {"expected": pair})
        for vector in vectors("multi_generations")
        for name, pair in vector["expected"].items()
    ]
