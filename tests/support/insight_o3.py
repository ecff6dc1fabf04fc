"""InSight-o3's golden vectors, its scripted whole run, and the judge of that run."""

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden"
E2E = FOLDER / "insight_o3_e2e"


def vectors(kind: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "insight_o3.jsonl").read_text(encoding="utf-8").splitlines()
    assert "21acec8" in json.loads(lines[0])["provenance"]
    return [line for line in map(json.loads, lines[1:]) if line["kind"] == kind]


def expected(name: str) -> Any:
    text = (E2E / f"expected_{name}").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


def annotation_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (E2E / "ann.jsonl").read_text(encoding="utf-8").splitlines()]


def scripted() -> dict[str, dict[str, Any]]:
    """Question to status and choices."""
    replies: dict[str, dict[str, Any]] = json.loads((E2E / "model_replies.json").read_text(encoding="utf-8"))[
        "model"
    ]
    return replies


def stub_judge(answer: str) -> str:
    """The scripted run's judge: the last letter that stands alone, or Z."""
    return str((re.findall(r"\b[A-D]\b", answer) or ["Z"])[-1])
