"""The default scorer: the gold says how to read, and every scorer can be found by name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.score.default import matches
from eyechart.types import OUTCOMES, Reply, Sample

OPTIONS = {"A": "cat", "B": "dog"}
NAMES = [
    "default",
    "choice",
    "choice-vlmevalkit",
    "choice-vlmevalkit-2026-06",
    "choice-vlmevalkit-2025-08",
    "exact",
    "text",
]
NAMES += ["anls", "relaxed", "vqa-accuracy", "ocrbench", "yes-no", "yes-no-vlmevalkit", "number"]


@pytest.mark.parametrize(
    ("text", "sample", "outcome", "route"),
    [
        ("(b)", Sample(id="1", question="?", golds=("B",), choices=OPTIONS), "correct", "choice:bare-letter"),
        (
            "dog",
            Sample(id="1", question="?", golds=("dog",), choices=OPTIONS),
            "correct",
            "choice:option-text",
        ),
        ("**Yes**", Sample(id="1", question="?", golds=("yes",)), "correct", "yes-no:whole"),
        ("False.", Sample(id="1", question="?", golds=("False",)), "correct", "yes-no:whole"),
        ("There are 12.", Sample(id="1", question="?", golds=("12",)), "correct", "number:implied"),
        ("twelve", Sample(id="1", question="?", golds=("12", "12.0")), "correct", "number:whole"),
        ("7", Sample(id="1", question="?", golds=("007",)), "wrong", "text:whole"),
        ("007", Sample(id="1", question="?", golds=("007",)), "correct", "text:whole"),
        ("13800138000", Sample(id="1", question="?", golds=("13800138000",)), "correct", "text:whole"),
        (
            "+86 138 0013 8000",
            Sample(id="1", question="?", golds=("+86 138 0013 8000",)),
            "correct",
            "text:whole",
        ),
        ("It is Paris.", Sample(id="1", question="?", golds=("Paris",)), "correct", "text:whole-within"),
        ("12", Sample(id="1", question="?", golds=("12", "a dozen")), "correct", "number:whole"),
        (
            "The answer is B.",
            Sample(id="1", question="Which?\nA. cat\nB. dog", golds=("B",)),
            "correct",
            "choice:stated",
        ),
        (
            "dog",
            Sample(id="1", question="Which?\n(A) cat\n(B) dog", golds=("B",)),
            "correct",
            "choice:option-text",
        ),
        ("B", Sample(id="1", question="Which letter is on the sign?", golds=("B",)), "correct", "text:whole"),
        ("anything", Sample(id="1", question="?"), "unscored", "text:whole"),
        ("B", Sample(id="1", question="?", choices=OPTIONS), "unscored", "choice:bare-letter"),
    ],
)
def test_the_gold_says_how_to_read(text: str, sample: Sample, outcome: str, route: str) -> None:
    score = registry.scorers.get("default")(Reply(text=text), sample)
    assert (score.outcome, score.route) == (outcome, route)


VERSIONS = {
    "choice": "11",
    "default": "12",
    "text": "10",
    "number": "9",
    "yes-no": "9",
    **dict.fromkeys(("anls", "relaxed", "vqa-accuracy", "ocrbench"), "2"),
    **dict.fromkeys(("choice-vlmevalkit", "choice-vlmevalkit-2026-06", "choice-vlmevalkit-2025-08"), "2"),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_scorer_is_found_and_says_its_version(name: str) -> None:
    found = registry.scorers.get(name)
    assert (found.name, found.version) == (name, VERSIONS.get(name, "1"))


@pytest.mark.parametrize("name", NAMES)
def test_no_gold_is_unscored_everywhere(name: str) -> None:
    score = registry.scorers.get(name)(Reply(text="B"), Sample(id="1", question="?", choices=OPTIONS))
    assert (score.outcome, score.value) == ("unscored", 0.0)


@pytest.mark.parametrize("name", NAMES)
@given(
    st.text(max_size=80),
    st.lists(st.text(max_size=12), max_size=2),
    st.sampled_from(["stop", "length", "refusal"]),
)
def test_any_reply_to_any_sample_gets_a_score(name: str, text: str, golds: list[str], finish: str) -> None:
    for choices in ({}, OPTIONS):
        sample = Sample(id="1", question="?", golds=tuple(golds), choices=choices)
        score = registry.scorers.get(name)(Reply(text=text, finish_reason=finish), sample)
        assert score.outcome in OUTCOMES
        assert 0 <= score.value <= 1
        assert (score.value == 1) == (score.outcome == "correct")


@pytest.mark.slow
def test_the_room_is_light_and_its_modules_load_when_named() -> None:
    program = """
import sys
from pathlib import Path
import eyechart.score
assert "eyechart.score.choice" not in sys.modules
assert eyechart.score.choice.infer("B", {"A": "cat", "B": "dog"}) == "B"
assert eyechart.score.text.anls("a", ["a"]) == 1
heavy = {"numpy", "pandas", "PIL", "aiohttp"} & set(sys.modules)
assert not heavy, heavy
assert not hasattr(eyechart.score, "no_such_module")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("pad", ["\n\n{}", "{}\n\n", "\n \n{}\r\n\r\n", "  {}\t"])
def test_blank_lines_around_an_open_answer_change_nothing(pad: str) -> None:
    replies = Path(__file__).parent / "replies"
    rows = [
        json.loads(line)
        for path in sorted(replies.glob("open*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    changed = [
        row["reply"]
        for row in rows
        if matches(pad.format(row["reply"]), row["golds"]) != matches(row["reply"], row["golds"])
    ]
    assert changed == []
