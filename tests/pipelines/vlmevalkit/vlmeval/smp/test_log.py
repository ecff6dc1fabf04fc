"""The logger."""

from pathlib import Path

import pytest

from eyechart.compat.vlmeval.smp import get_logger


def test_it_writes_to_stderr_once_and_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = get_logger("test-of-a-script", log_file=str(tmp_path / "a.log"))
    assert get_logger("test-of-a-script", log_file=str(tmp_path / "a.log")) is logger
    logger.info("three rows")
    logger.debug("not shown")
    for handler in logger.handlers:
        handler.flush()
    assert capsys.readouterr().err.count("INFO - test-of-a-script: three rows") == 1
    assert (tmp_path / "a.log").read_text(encoding="utf-8").count("three rows") == 1
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
