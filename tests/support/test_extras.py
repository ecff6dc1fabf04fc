"""Tests that need an extra fail where it is missing by accident."""

import pytest

from support.extras import ABSENT, extra


def test_what_is_missing_by_accident_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ABSENT, raising=False)
    with pytest.raises(ModuleNotFoundError):
        extra("no_such_module")


def test_what_is_meant_to_be_absent_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ABSENT, "pandas, json")
    with pytest.raises(pytest.skip.Exception, match=r"json\.tool is absent"):
        extra("json.tool")
    assert extra("csv").__name__ == "csv"
