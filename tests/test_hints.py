"""Advice at a door of another tool: flags by the names that they have there."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError, rename_flags, translate_errors, translate_hint
from eyechart.pipelines.insight_o3.arguments import rename_flags_in_hint

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
    ],
)
def test_at_the_door_of_insight_o3(said: str, meant: str) -> None:
    assert rename_flags_in_hint(said) == meant
