"""Files that scripts name ``.pkl``: plain values, written as text, so that reading them runs nothing.

Scripts keep what a judge has said so far in such files. A real pickle is refused. What JSON has no form for
(keys that are no text, tuples, sets) is wrapped in an object that says what it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.frames import plain
from eyechart.data.json_file import json_errors, read_bytes
from eyechart.errors import UsageError
from eyechart.report.files import text_file

_MARK = "eyechart: plain values, no pickle"
_KINDS: Mapping[str, type[Any]] = {"dict": dict, "tuple": tuple, "set": set}


def write_values(data: Any, path: Path) -> None:
    """Write numbers, texts, lists, tuples, sets and dicts of them; anything else is refused."""
    wrapped = _wrapped(data, path.name)
    with text_file(path) as file:
        file.write(f"{_MARK}\n{json.dumps(wrapped, ensure_ascii=False)}\n")


def read_values(path: Path) -> Any:
    """What `write_values` wrote."""
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK.encode():
            raise UsageError(
                f"{path.name}: a pickle, which is not read here, because reading one can run any code",
                hint="convert it to .json, .jsonl, .tsv or .xlsx where you trust it",
            )
    with json_errors(path.name, hint="the file is damaged: remove it"):
        wrapped = json.loads(read_bytes(path).partition(b"\n")[2])
        try:
            return _unwrapped(wrapped)
        except (KeyError, TypeError) as err:
            raise ValueError(f"{err}, which is nothing that was written here") from err


def _wrapped(value: Any, name: str) -> Any:
    value = value if isinstance(value, float) else plain(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if getattr(value, "ndim", 0) and not hasattr(value, "columns"):
        value = value.tolist()
    if isinstance(value, list):
        return [_wrapped(item, name) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_wrapped(key, name), _wrapped(item, name)] for key, item in value.items()]}
    for kind in ("tuple", "set"):
        if isinstance(value, _KINDS[kind]):
            return {kind: [_wrapped(item, name) for item in value]}
    raise UsageError(
        f"{name}: a {type(value).__name__} is not written here, because no pickle is read back",
        hint="write plain values, or a table to .tsv or .xlsx",
    )


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list):
        return [_unwrapped(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, items)] = value.items()
    return _KINDS[kind](_unwrapped(items) if kind != "dict" else map(tuple, _unwrapped(items)))
