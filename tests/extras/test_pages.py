"""The commands of docs/checkpoint.md that load weights do what the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.markdown import ROOT, commands
from docs.test_documentation import needs_torch
from docs.workspace import prepare
from support.command import eyechart_process
from support.multi import make_multi


def test_commands_do_what_the_page_says(llava: Path, tmp_path: Path) -> None:
    prepare(tmp_path)
    shutil.copytree(llava, tmp_path / "weights" / "my-vlm")
    loading = [one for one in commands(ROOT / "docs" / "checkpoint.md") if needs_torch(one.words)]
    assert len(loading) > 3
    for command in loading:
        done = eyechart_process(*command.words[1:], cwd=tmp_path, timeout=600, HOME=str(tmp_path))
        assert done.code == command.code, f"{' '.join(command.words)}\n{done.out}{done.err}"


def test_multi_runs_the_weights_of_a_model_of_its_list(llava: Path, tmp_path: Path) -> None:
    """Without the authors' classes, MULTI's names of local models lead to their weights."""
    data = make_multi(tmp_path / "data")
    asked = ["--problem_file", str(data.problem_file), "--input_type", "2", "--output_dir", "out"]
    done = eyechart_process(
        "multi", "--model", "qwen2.5-vl", "--model_dir", str(llava), *asked, cwd=tmp_path, timeout=600
    )
    assert done.code == 0, done.err
    assert f"its weights run as hf/{llava}" in done.err
    assert list(tmp_path.glob("out/*/prediction.json"))
