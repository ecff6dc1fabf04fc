"""Advice at a door of another tool: flags by the names that they have there."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyechart
from eyechart.errors import ModelError, rename_flags, translate_errors, translate_hint
from eyechart.pipelines.insight_o3.arguments import FLAG_NAMES, KNOWN_FLAGS
from eyechart.pipelines.multi import cli as multi_cli
from eyechart.pipelines.vlmevalkit.evalscope import job
from eyechart.pipelines.vlmevalkit.vlmeval import command

NAMES = {
    "--out": "--work-dir",
    "--judge": "--referee",
    "--judge-api-key": "--referee-key",
    "below it, or in --image-root": "below it",
}
KNOWN = {"--work-dir", "--referee", "--output_dir"}

flags = st.sampled_from(
    ["--out", "--output_dir", "--out-of", "--judge", "--judge-api-key", "--x--out", "-out"]
)
sentences = st.lists(flags | st.sampled_from(["choose", "or", "(see", "it)", "x", "."]), max_size=8).map(
    " ".join
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", ""),
        ("choose another with --out", "choose another with --work-dir"),
        ("--output_dir says where", "--output_dir says where"),
        ("--judge MODEL names one (--judge-api-key)", ""),
        ("--judge MODEL names one", "--referee MODEL names one"),
        ("wait a while; --give-up-after N tries for longer", "wait a while"),
        ("pictures lie below it, or in --image-root", "pictures lie below it"),
        ("see: eyechart run --help", "see: eyechart run --help"),
        ("write key=--out", "write key=--work-dir"),
        ("--image-root DIR names it; then another call asks for more", "another call asks for more"),
        ("put it there; then ask again", "put it there; then ask again"),
    ],
)
def test_hints(said: str, meant: str) -> None:
    assert translate_hint(said, NAMES, KNOWN) == meant


@pytest.mark.slow
@given(sentences)
def test_only_whole_flags_are_renamed_and_in_any_order_of_names(text: str) -> None:
    backwards = dict(reversed(NAMES.items()))
    words = [NAMES.get(word, word) for word in text.split(" ")]
    assert rename_flags(text, NAMES) == rename_flags(text, backwards) == " ".join(words)
    assert rename_flags(text, {}) == text


@given(sentences)
def test_no_other_flag_is_left(text: str) -> None:
    left = re.findall(r"(?<![\w-])--[a-z][\w-]*", translate_hint(text, NAMES, KNOWN))
    assert set(left) <= KNOWN


def test_what_is_raised_is_worded_and_stays_what_it_is() -> None:
    with pytest.raises(ModelError) as caught, translate_errors(NAMES, KNOWN):
        raise ModelError("--out: no", hint="--rpm asks slower; leave out --judge", status=429)
    assert str(caught.value) == "--work-dir: no\n  hint: leave out --referee"
    assert (caught.value.args, caught.value.status) == (("--work-dir: no",), 429)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("--out names another folder", "--output_dir names another folder"),
        ("--output_dir names another folder", "--output_dir names another folder"),
        ("name it with --judge MODEL", "name it with --judge_model MODEL"),
        ("--judge-prompts FILE; --judge-param N=V", "--judge_prompts FILE"),
        ("is it running? --base-url names another", "is it running? --api_base_url names another"),
        ("run the same command again; --give-up-after N tries for longer", "run the same command again"),
    ],
)
def test_at_the_door_of_insight_o3(said: str, meant: str) -> None:
    assert translate_hint(said, FLAG_NAMES, KNOWN_FLAGS) == meant


@cache
def read_sources() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in Path(eyechart.__file__).parent.rglob("*.py")}


@cache
def find_texts(path: Path) -> str:
    """Every string literal of a module, one per line, the keys of mappings left out."""
    tree = ast.parse(read_sources()[path])
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in keys)
    return "\n\n".join(text for text in texts if isinstance(text, str))


def occurs(phrase: str) -> bool:
    """Whether a literal has the phrase: first where the source has it in one line, then anywhere."""
    sources = read_sources()
    likely = [path for path, source in sources.items() if phrase in source]
    return any(phrase in find_texts(path) for path in (*likely, *sources))


@pytest.mark.parametrize(
    "names",
    [FLAG_NAMES, multi_cli._NAMES, job.KEYS, command._NAMES],
    ids=["insight", "multi", "evalscope", "kit"],
)
def test_phrases_that_are_translated_occur_in_our_messages(names: Mapping[str, str]) -> None:
    """A message that is reworded must be reworded in these tables, too."""
    phrases = [name for name in names if " " in name]
    assert [phrase for phrase in phrases if not occurs(phrase)] == []
