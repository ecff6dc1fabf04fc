"""The blocks of a page that eyechart wrote, read as its script does."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r'<script type="text/plain" id="(\w+)">([^<]*)</script>')


def read_blocks(path: Path) -> dict[str, Any]:
    """Every block of JSON by its name, and every image as the address of its data."""
    found: dict[str, Any] = {}
    for name, content in _BLOCK.findall(path.read_text(encoding="utf-8")):
        is_image = content.startswith("data:")
        found[name] = content if is_image else json.loads(zlib.decompress(base64.b64decode(content)))
    return found


def list_images(blocks: dict[str, Any]) -> list[str]:
    return [name for name in blocks if re.fullmatch(r"i\d+", name)]
