"""Golden vectors: what the official code said, one JSON object a line after a line of provenance."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden"


def vectors(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert "e8e78f05" in json.loads(lines[0])["provenance"]
    return [json.loads(line) for line in lines[1:]]
