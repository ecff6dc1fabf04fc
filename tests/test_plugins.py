"""What packages announce is found as Python's own library finds it."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.markdown import ROOT
from eyechart.registry import EntryPoint, parse_entry_points, read_announced, read_entry_points


def by_library(path: list[str]) -> dict[str, dict[str, str]]:
    """The same by `importlib.metadata`."""
    found: dict[str, dict[str, str]] = {}
    for package in metadata.distributions(path=path):
        for one in package.entry_points:
            if one.group.startswith("eyechart."):
                found.setdefault(one.group, {})[one.name] = one.value
    return found


def by_us(path: list[str]) -> dict[str, dict[str, str]]:
    read_entry_points.cache_clear()
    found = read_entry_points(tuple(path))
    read_entry_points.cache_clear()
    return {group: {name: one.value for name, one in named.items()} for group, named in found.items()}


def package(folder: Path, name: str, text: str, kind: str = "dist-info") -> None:
    place = folder / f"{name}.{kind}"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(text, encoding="utf-8")


def forget() -> None:
    read_entry_points.cache_clear()
    read_announced.cache_clear()


def test_packages_are_found_as_the_library_finds_them() -> None:
    assert by_us(sys.path) == by_library(sys.path)


def test_our_own_parts_are_listed_without_installation() -> None:
    forget()
    found = read_announced(())["eyechart.benchmarks"]
    forget()
    assert {"demo", "multi", "infochartqa", "mmbench-dev-en", "pope"} <= set(found)


def test_the_list_of_our_own_parts_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/write_names.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_an_earlier_version_that_is_still_installed_does_not_count(tmp_path: Path) -> None:
    package(
        tmp_path, "eyechart-0.1", "[eyechart.scorers]\nanls = eyechart.no_such_module\nold = eyechart.gone\n"
    )
    forget()
    found = read_announced((str(tmp_path),))["eyechart.scorers"]
    forget()
    assert found["anls"].module == "eyechart.score.text"
    assert "old" not in found


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_a_package_in_a_folder_of_the_path(tmp_path: Path, kind: str) -> None:
    package(tmp_path, "theirs-1.0", "[eyechart.scorers]\nmine = my.scorers\n", kind)
    (tmp_path / "silent-1.0.dist-info").mkdir()
    assert by_us([str(tmp_path), str(tmp_path / "nowhere")]) == {"eyechart.scorers": {"mine": "my.scorers"}}


def test_the_current_folder_is_on_the_path_by_an_empty_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, "theirs-1.0", "[eyechart.models]\nmine = my.models\n")
    monkeypatch.chdir(tmp_path)
    assert by_us([""]) == {"eyechart.models": {"mine": "my.models"}}


def test_of_a_package_in_two_places_the_first_counts(tmp_path: Path) -> None:
    package(tmp_path / "a", "The_Irs-2.0", "[eyechart.models]\nmine = new\n")
    package(tmp_path / "b", "the.irs-1.0", "[eyechart.models]\nmine = old\n")
    assert by_us([str(tmp_path / "a"), str(tmp_path / "b")]) == {"eyechart.models": {"mine": "new"}}


@pytest.mark.parametrize("value", ["their_parts", "their_parts:Thing", "their_parts [fast]"])
def test_loading_imports_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    (tmp_path / "their_parts.py").write_text("Thing = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_parts", raising=False)
    EntryPoint("theirs", value).load()
    assert "their_parts" in sys.modules


def test_a_package_lists_many_names_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "theirs-1.0", "[eyechart.names]\ntheirs = their.names\n[eyechart.scorers]\na = first\n")
    (tmp_path / "their").mkdir()
    (tmp_path / "their" / "names.txt").write_text("[eyechart.scorers]\na = second\nb = third\n")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    found = read_announced((str(tmp_path),))["eyechart.scorers"]
    forget()
    assert {name: found[name].value for name in ("a", "b")} == {"a": "first", "b": "third"}
    assert "their" not in sys.modules


NAMES = st.text("abcXYZ019._- ", min_size=1, max_size=8).filter(lambda name: name == name.strip())
LINES = st.one_of(
    st.builds("[{}]".format, st.sampled_from(["eyechart.models", "eyechart.scorers", "console_scripts"])),
    st.builds("{}{}={}a.b".format, NAMES, st.sampled_from(["", " ", "  "]), st.sampled_from(["", " "])),
    st.sampled_from(["", "# a remark = x", "   "]),
)


@given(st.lists(LINES, max_size=12))
def test_any_file_is_read_as_the_library_reads_it(lines: list[str]) -> None:
    text = "\n".join(["[eyechart.exporters]", *lines])

    class OnePackage(metadata.Distribution):
        def read_text(self, filename: str) -> str:
            return text

        def locate_file(self, path: object) -> Path:
            return Path()

    wanted = [
        (one.group, one.name, one.value)
        for one in OnePackage().entry_points
        if one.group.startswith("eyechart.")
    ]
    assert [(group, *one) for group, one in parse_entry_points(text)] == wanted
