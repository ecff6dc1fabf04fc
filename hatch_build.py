"""Metadata that pyproject.toml leaves open: the README, with links that work on a package index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReadmeHook(MetadataHookInterface):
    """Puts the adapted README into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling when the package is built."""
        root = Path(self.root)
        sys.path.insert(0, str(root / "tools"))
        from package_readme import adapt_readme

        text = (root / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository", "")
        metadata["readme"] = {"content-type": "text/markdown", "text": adapt_readme(text, repository)}
