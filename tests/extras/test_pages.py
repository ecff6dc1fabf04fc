"""The commands of docs/local-weights.md do what the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.markdown import ROOT, commands
from docs.workspace import prepare
from support.command import eyechart_process


def test_commands_do_what_the_page_says(llava: Path, tmp_path: Path) -> None:
    prepare(tmp_path)
    shutil.copytree(llava, tmp_path / "weights" / "my-vlm")
    for command in commands(ROOT / "docs" / "local-weights.md"):
        done = eyechart_process(*command.words[1:], cwd=tmp_path, timeout=100, HOME=str(tmp_path))
        assert done.code == command.code, f"{' '.join(command.words)}\n{done.out}{done.err}"
