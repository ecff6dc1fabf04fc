"""Small pictures and benchmark files, made as tests need them."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image


def picture(
    colour: str | tuple[int, int, int] = "red", size: tuple[int, int] = (32, 24), kind: str = "PNG"
) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, kind)
    return buffer.getvalue()


def noisy_picture(kind: str, size: tuple[int, int] = (64, 48), mode: str = "RGB", **options: Any) -> bytes:
    """A picture of noise, as large as such a file gets."""
    out = io.BytesIO()
    Image.effect_noise(size, 80).convert(mode).save(out, kind, **options)
    return out.getvalue()


def picture_base64(colour: str | tuple[int, int, int] = "red", size: tuple[int, int] = (32, 24)) -> str:
    return base64.b64encode(picture(colour, size)).decode()


def choice_tsv(path: Path, n: int = 8) -> Path:
    """A VLMEvalKit-style file: question k is answered by letter ABCD[k % 4]; categories even and odd."""
    lines = ["\t".join(["index", "question", "A", "B", "C", "D", "answer", "category", "image"])]
    for k in range(n):
        image = picture_base64((k % 256, (k * 7) % 256, 90))
        cells = [
            str(k),
            f"Question {k}?",
            "one",
            "two",
            "three",
            "four",
            "ABCD"[k % 4],
            ("even", "odd")[k % 2],
            image,
        ]
        lines.append("\t".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
