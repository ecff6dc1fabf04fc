"""A user's own words in place of ours: a YAML or JSON file of names and texts, with clear errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.registry import did_you_mean


def read_yaml(path: str | Path) -> Any:
    """What a YAML or JSON file holds; `UsageError` for one that cannot be read."""
    import yaml

    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))  # JSON is YAML too
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as err:
        raise UsageError(f"{path} cannot be read: {' '.join(str(err).split())}") from err


def checked_wordings(content: Any, path: str | Path, names: Iterable[str], *, what: str) -> dict[str, str]:
    """Texts by name, if `content` is that and every name is one of `names`; `what` says what they name.

    >>> checked_wordings({"ending": "Go."}, "words.yaml", ["ending"], what="piece")
    {'ending': 'Go.'}
    """
    known = list(names)
    listed = f"the names are: {', '.join(known)}"
    if not isinstance(content, dict):
        raise UsageError(f"{path} does not map names to texts", hint=listed)
    for name, text in content.items():
        if name not in known:
            hint = did_you_mean(str(name), known, otherwise=listed)
            raise UsageError(f"{path}: no {what} is called {name!r}", hint=hint)
        if not isinstance(text, str):
            raise UsageError(f"{path}: {name!r} is {type(text).__name__}, not text", hint=listed)
    return content
