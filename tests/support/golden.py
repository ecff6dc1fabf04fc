"""Golden vectors: what the official code said, one JSON object a line after a line of provenance."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden"


def vectors(name: str, provenance: str = "e8e78f05") -> list[dict[str, Any]]:
    """The vectors of a file whose first line names this repository or commit."""
    first, *lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    assert provenance in json.loads(first)["provenance"]
    return [json.loads(line) for line in lines if line]
