"""The public API: what `__all__` names, and that the documentation names it too."""

import re
from pathlib import Path

import pytest

import eyechart as ec

DOCS = Path(__file__).parents[1] / "docs" / "python.md"


def test_all_is_true() -> None:
    assert len(ec.__all__) == len(set(ec.__all__))
    for name in ec.__all__:
        assert getattr(ec, name) is not None


def test_run_is_a_function_however_it_is_reached() -> None:
    from eyechart.runs.options import Options

    assert callable(ec.run)
    assert Options().concurrency == 64


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'scroe'"):
        _ = ec.scroe


def test_every_public_name_is_documented() -> None:
    page = DOCS.read_text(encoding="utf-8")
    documented = set(re.findall(r"(?:`(?:ec\.)?|^::: .*\.)(\w+)", page, re.MULTILINE))
    assert set(ec.__all__) - {"__version__"} <= documented
