"""The logger that scripts take from EvalScope."""

import logging
from pathlib import Path

import pytest

from eyechart.compat.evalscope import get_logger


def test_one_logger_on_stderr_and_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = get_logger(name="a-task")
    assert get_logger(str(tmp_path / "a.log"), name="a-task") is logger
    get_logger(str(tmp_path / "b.log"), name="a-task").warning("four rows")
    assert capsys.readouterr().err.count("four rows") == 1
    assert "four rows" in (tmp_path / "a.log").read_text(encoding="utf-8")
    assert not (tmp_path / "b.log").exists()
    anew = get_logger(name="a-task", log_level=logging.ERROR, force=True)
    anew.warning("five rows")
    assert "five rows" not in capsys.readouterr().err + (tmp_path / "a.log").read_text(encoding="utf-8")
    assert not any(isinstance(handler, logging.FileHandler) for handler in anew.handlers)
