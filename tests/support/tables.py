"""Tables of questions for data set classes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path


def write_tsv(path: Path, heading: Sequence[str], *rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([heading, *rows])
    return path
