"""CONTRIBUTING.md is true: places and entry point groups exist. Its examples run in test_documentation.py."""

from __future__ import annotations

import re
import sys
import tomllib

from docs.markdown import ROOT
from eyechart.registry import read_announced
from test_layers import PACKAGE

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = [line.split("|")[1:-1] for line in TEXT.splitlines() if line.startswith("| ")][1:]


def test_every_place_exists() -> None:
    named = [place for row in TABLE for place in re.findall(r"`([a-z_]+/[\w./]*)`", row[1])]
    assert len(named) >= 9
    for place in named:
        folder = place.partition("NAME")[0]
        assert (PACKAGE / folder).exists(), place


def test_every_group_of_entry_points_is_named_and_no_other() -> None:
    groups = {*read_announced(tuple(sys.path)), "eyechart.names"}
    assert set(re.findall(r"`(eyechart\.[a-z_]+)`", TEXT)) == groups


def test_parts_are_not_listed_by_hand() -> None:
    """Those of the package are in names.txt; a group in pyproject.toml would be ignored."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "entry-points" not in project


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\$ make (\w+)", TEXT, re.MULTILINE)
    assert len(targets) > 5
    assert not [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
