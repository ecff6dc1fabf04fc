"""Somebody who runs tasks of EvalScope's: a home with data, a folder to work in, a server to ask."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl

from support.server import Server

KEY = "sk-task-0123456789abcdef"
MODEL = "org/Model-2.5:7b"
M = "Model-2_5-7b"  # as its files are called


@dataclass
class User:
    """Somebody with a home, a folder to work in, and a server to ask."""

    desk: Path
    data: Path
    server: Server

    def entry(self, kind: str = MODEL, **fields: Any) -> dict[str, Any]:
        address = f"{self.server.base_url}/chat/completions"
        return {"name": "CustomAPIModel", "type": kind, "api_base": address, "key": KEY, **fields}

    def config(self, *data: str, **inner: Any) -> dict[str, Any]:
        usual = {"model": [self.entry()], "data": list(data) or ["mine"], "retry": 1}
        return {"eval_backend": "VLMEvalKit", "eval_config": {**usual, **inner}}

    def folders(self) -> list[Path]:
        return sorted(self.desk.glob("outputs/*"))

    def n_asked(self) -> int:
        return len(self.server.asked)


def sheet(path: Path) -> list[dict[str, Any]]:
    heading, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, heading), row, strict=True)) for row in rows]


def status(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    return found


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
