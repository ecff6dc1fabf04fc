"""Names to parts: plug-ins load on the first look-up, slips are answered, a user's part goes before ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.errors import EyechartError, UnknownName
from eyechart.registry import Registry, benchmarks, find_near_names, read_announced
from eyechart.types import JudgeCall, JudgedScorer, Judging, Reply, Sample, Score, answer_calls


@dataclass
class Entry:
    """What a package that is not installed announces."""

    name: str
    load: Callable[[], object]
    value: str = "their.module"


@dataclass
class Announced:
    """What the installed packages announce."""

    entries: list[Entry] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __call__(self, path: tuple[str, ...]) -> Announced:
        return self

    def get(self, group: str, default: object) -> dict[str, Entry]:
        self.asked.append(group)
        return {entry.name: entry for entry in self.entries}


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> Announced:
    made = Announced()
    monkeypatch.setattr(registry, "read_announced", made)
    return made


@pytest.fixture
def parts() -> Registry[str]:
    return Registry("thing", see="eyechart things")


def test_a_recorded_part_is_found_without_looking_further(parts: Registry[str], announced: Announced) -> None:
    parts.record("a", "mine")
    assert parts.get("a") == "mine"
    assert announced.asked == []


def test_a_plug_in_is_loaded_on_the_first_look_up_only(parts: Registry[str], announced: Announced) -> None:
    loads: list[str] = []

    def load() -> None:
        loads.append("once")
        parts.record("theirs", "plug-in")

    announced.entries.append(Entry("theirs", load))
    assert parts.names() == ["theirs"]
    assert loads == []
    assert [parts.get("theirs"), parts.get("theirs")] == ["plug-in", "plug-in"]
    assert loads == ["once"]
    assert set(announced.asked) == {"eyechart.things"}


def test_an_unknown_name_is_answered_with_near_ones_and_the_place_to_look(
    parts: Registry[str], announced: Announced
) -> None:
    parts.record("mmbench-dev-en", "x")
    announced.entries.append(Entry("o3-bench", lambda: None))
    with pytest.raises(UnknownName, match="no thing named 'mmbnch-dev-en'") as caught:
        parts.get("mmbnch-dev-en")
    assert caught.value.hint == "did you mean mmbench-dev-en? See: eyechart things"
    with pytest.raises(UnknownName) as caught:
        parts.get("zzz")
    assert caught.value.hint == "see: eyechart things"


def test_names_are_those_recorded_and_those_announced_each_once(
    parts: Registry[str], announced: Announced
) -> None:
    parts.record("b", "x")
    announced.entries += [Entry("a", lambda: None), Entry("b", lambda: None)]
    assert parts.names() == ["a", "b"]


@pytest.mark.parametrize("error", [ImportError("No module named 'torch'"), SyntaxError("bad"), KeyError("x")])
def test_a_plug_in_that_cannot_be_loaded_is_named_with_its_place(
    parts: Registry[str], announced: Announced, error: Exception
) -> None:
    def load() -> None:
        raise error

    announced.entries.append(Entry("theirs", load))
    with pytest.raises(EyechartError, match=r"'theirs' could not be loaded from their\.module") as caught:
        parts.get("theirs")
    assert type(error).__name__ in caught.value.message
    assert "install its dependencies" in caught.value.hint


def test_a_plug_in_that_does_not_keep_its_word_is_told_so(parts: Registry[str], announced: Announced) -> None:
    announced.entries.append(Entry("theirs", lambda: None))
    with pytest.raises(EyechartError, match="announces the thing 'theirs' but does not record it"):
        parts.get("theirs")


def test_the_part_recorded_last_wins(parts: Registry[str]) -> None:
    parts.record("a", "ours")
    parts.record("a", "the user's")
    assert parts.get("a") == "the user's"


def test_loading_a_neighbour_does_not_undo_what_a_user_put_in_place_of_ours(
    parts: Registry[str], announced: Announced
) -> None:
    def load() -> None:  # one module of ours records both
        parts.record("a", "ours")
        parts.record("b", "ours")

    announced.entries += [Entry("a", load), Entry("b", load)]
    parts.record("a", "the user's")
    assert parts.get("b") == "ours"
    assert parts.get("a") == "the user's"


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (registry.benchmarks, registry.scorers, registry.models):
        monkeypatch.setattr(kind, "_parts", {})


@pytest.mark.usefixtures("empty")
def test_a_scorer_is_found_with_its_name_and_version_and_stays_a_function() -> None:
    @registry.scorer("always", version="3")
    def always(reply: Reply, sample: Sample) -> Score:
        return Score(outcome="correct", value=1.0)

    found = registry.scorers.get("always")
    one = Reply(text="B"), Sample(id="1", question="?")
    assert (found.name, found.version) == ("always", "3")
    assert found(*one) == always(*one) == Score(outcome="correct", value=1.0)


NO_VERDICTS: list[Any] = [
    None,
    True,
    Score(outcome="right", value=1.0),  # type: ignore[arg-type]
    Score(outcome="correct", value=2.0),
    Score(outcome="partial", value=float("nan")),
    Score(outcome="correct", value=True),
    Score(outcome="correct", value="1"),  # type: ignore[arg-type]
    Score(outcome="correct", value=1.0, read=5),  # type: ignore[arg-type]
    Score(outcome="correct", value=1.0, route=None),  # type: ignore[arg-type]
]


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("returned", NO_VERDICTS, ids=repr)
def test_what_is_no_verdict_is_refused_before_it_is_kept(returned: Any) -> None:
    @registry.scorer("careless", version="1")
    def careless(reply: Reply, sample: Sample) -> Any:
        return returned

    @registry.judged_scorer("careless judge", version="1")
    def careless_judge(reply: Reply, sample: Sample) -> Judging[Any]:
        yield JudgeCall(stage="verdict", values={})
        return returned

    one = Reply(text="B"), Sample(id="1", question="?")
    if returned is not True:  # a truth value is a verdict of a function without a judge
        with pytest.raises((TypeError, ValueError), match="score"):
            registry.scorers.get("careless")(*one)
    judged = registry.scorers.get("careless judge")
    assert isinstance(judged, JudgedScorer)
    with pytest.raises((TypeError, ValueError), match="score"):
        answer_calls(judged.steps(*one), lambda call: "CORRECT")


@pytest.mark.usefixtures("empty")
def test_a_judged_scorer_that_is_no_generator_is_told_so() -> None:
    def plain(reply: Reply, sample: Sample) -> Any:
        return Score(outcome="correct", value=1.0)

    registry.judged_scorer("plain", version="1")(plain)
    with pytest.raises(TypeError, match="is a generator"):
        registry.scorers.get("plain")(Reply(text="B"), Sample(id="1", question="?"))


@pytest.mark.usefixtures("empty")
def test_decorators_only_record() -> None:
    def never(*args: object) -> Any:
        raise AssertionError("called")

    registry.benchmark("b")(never)
    registry.model("m")(never)
    assert registry.benchmarks.get("b") is never
    assert registry.models.get("m") is never


def test_our_own_parts_come_through_the_same_door() -> None:
    assert {"openai", "python", "baseline"} <= set(registry.models.names())
    assert "demo" in registry.benchmarks.names()
    assert callable(registry.models.get("openai"))


KINDS: list[Registry[Any]] = [registry.models, registry.scorers, registry.benchmarks]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_everything_that_we_announce_can_be_loaded(kind: Registry[Any]) -> None:
    for name in kind.names():
        assert kind.get(name) is not None


@given(st.text(), st.lists(st.text()))
def test_near_names_are_known_names(name: str, known: list[str]) -> None:
    assert set(find_near_names(name, known)) <= set(known)
    assert len(find_near_names(name, known)) <= 2


def test_all_that_a_benchmark_is_recognised_by_is_announced() -> None:
    """Its module is imported for its own files alone, so the entry points must name each of them."""
    for name in benchmarks.names():
        benchmarks.get(name)
    announced = set(read_announced(tuple(sys.path))["eyechart.published"])
    assert {f"file:{name}" for name in registry._files} <= announced
    hubs = {(place, part) for place, parts in registry._hubs.items() for part in parts}
    assert {f"hub:{place}:{part}".removesuffix(":") for place, part in hubs} <= announced
    assert {f"layout:{'/'.join(parts)}" for parts in registry._layouts.values()} <= announced
    columns = {frozenset(name.removeprefix("columns:").split("+")) for name in announced}
    assert {one for several in registry._columns.values() for one in several} <= columns


@pytest.mark.slow
def test_a_plain_file_imports_no_plug_in_of_another_package(tmp_path: Path) -> None:
    metadata = tmp_path / "theirs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[eyechart.benchmarks]\ntheirs = their_plug_in\n[eyechart.scorers]\ntheirs = their_plug_in\n"
        "[eyechart.exporters]\ntheirs = their_plug_in\n[eyechart.published]\nfile:Theirs = their_plug_in\n"
    )
    (tmp_path / "their_plug_in.py").write_text(
        "import pathlib\npathlib.Path('imported').touch()\nimport eyechart as ec\n"
        "@ec.benchmark('theirs', file='Theirs')\ndef theirs(file=None):\n"
        "    return ec.Benchmark(name='theirs', source=ec.load(file), prompt=None)\n"
        "@ec.scorer('theirs', version='1')\ndef score(reply, sample): ...\n"
    )
    rows = "index\tquestion\tA\tB\tanswer\n1\tWhich?\tcat\tdog\tB\n"
    (tmp_path / "mine.tsv").write_text(rows)
    (tmp_path / "Theirs.tsv").write_text(rows)
    run = [sys.executable, "-m", "eyechart", "run", "-m", "baseline/random", "--dry-run", "--out", "runs"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([*run, "mine.tsv"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert not (tmp_path / "imported").exists()
    subprocess.run([*run, "Theirs.tsv"], cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert (tmp_path / "imported").exists()
