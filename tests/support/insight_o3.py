"""InSight-o3's golden vectors, its scripted whole run, and the judge of that run."""

import json
import re
from typing import Any

from support import golden

E2E = golden.FOLDER / "insight_o3_e2e"


def vectors(kind: str) -> list[dict[str, Any]]:
    return [line for line in golden.vectors("insight_o3", "21acec8") if line["kind"] == kind]


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
