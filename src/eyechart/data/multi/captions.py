"""MULTI's captions and OCR texts: a picture's path, a comma, and what the picture shows or says.

The files have no header and no quoting: a line is cut at its first comma, so texts may hold commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from eyechart.data.json_file import read_bytes
from eyechart.errors import DataError, listed


def read_captions(path: Path) -> dict[str, str]:
    """Path, as problem files write it, to caption. Of several lines for one picture the last counts."""
    data = read_bytes(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        begin = data.rfind(b"\n", 0, err.start) + 1
        number = data.count(b"\n", 0, begin) + 1
        raise DataError(
            f"{path.name}: line {number}: not UTF-8 text",
            hint="save the file as UTF-8, e.g. with iconv -f GBK -t UTF-8",
        ) from err
    captions: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        image, comma, caption = line.partition(",")
        if not comma:
            raise DataError(
                f"{path.name}: line {number} has no comma: {line.strip()[:60]!r}",
                hint="a line is the path of a picture, a comma, and its text",
            )
        captions[image.strip()] = caption.strip()
    return captions


def refuse_missing(images: Iterable[str], captions: Mapping[str, str], path: Path) -> None:
    """Refuse a file that lacks lines for pictures that questions show."""
    missing = [image for image in dict.fromkeys(images) if image not in captions]
    if missing:
        raise DataError(
            f"{path.name}: no line for {len(missing)} picture{'s' * (len(missing) != 1)} that the questions "
            f"show: {listed(missing)}",
            hint="paths must be written as in the problem file; "
            "with allow_missing_captions=true those pictures have empty captions",
        )
