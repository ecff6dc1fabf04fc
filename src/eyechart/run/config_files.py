"""Configurations in files: YAML, JSON, and Python with a dict."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError

SUFFIXES = (".yaml", ".yml", ".json", ".py")
_NAMES = ("config", "task_cfg")  # what the dict that is meant is called, where there are several


def load_file(path: Path) -> Any:
    """What a configuration holds, unchecked."""
    if path.suffix == ".py":
        return _load_python(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        why = getattr(err, "strerror", None) or err
        raise UsageError(f"{path} cannot be read: {why}", hint="is it a text file in UTF-8?") from err
    if path.suffix == ".json":
        return decode_json(text, str(path))
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        hint = "check quotes, brackets and indentation there"
        raise UsageError(f"{path} is not valid YAML: {_place(err)}", hint=hint) from err


def decode_json(text: str, who: str) -> Any:
    """A JSON text, refused by the name of `who` holds it."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise UsageError(f"{who} is not valid JSON: {err}", hint="check quotes, commas and brackets") from err


def _place(err: Exception) -> str:
    """What is wrong and where, without the line itself, which may hold a key."""
    mark = getattr(err, "problem_mark", None)
    said = getattr(err, "problem", None) or " ".join(str(err).split())
    return f"{said} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else said


def _load_python(path: Path) -> Any:
    """What is called `config` or `task_cfg`, a dict or a list of them, or else the only dict.

    The file is run: it is the user's.
    """
    try:
        names = runpy.run_path(str(path))
    except Exception as err:
        raise UsageError(
            f"{path} cannot be run: {type(err).__name__}: {err}", hint=f"try it with: python {path}"
        ) from err
    dicts = {
        name: value for name, value in names.items() if isinstance(value, dict) and not name.startswith("_")
    }
    for name in _NAMES:
        if isinstance(names.get(name), dict | list):
            return names[name]
    if len(dicts) != 1:
        many = f"defines {len(dicts)} dicts" if dicts else "defines no configuration"
        raise UsageError(f"{path} {many}", hint="it needs one dict, called `config`: config = {...}")
    return next(iter(dicts.values()))
