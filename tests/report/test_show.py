import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.models.prices import Price
from eyechart.report.rows import explain_outcome
from eyechart.report.show import make_samples_table, show_json, show_sample
from eyechart.store.reader import Call
from eyechart.types import Failure, Outcome, Reply, Result, Score, Usage
from support.results import result
from support.terminals import to_text

IMAGE = {
    "mime": "image/png", "width": 640, "height": 480, "bytes": 12345, "sha256": "ab" * 32, "resized": True,
    "reencoded": False, "origin": "demo.tsv (byte 12)",
}  # fmt: skip
ASKED: list[dict[str, Any]] = [
    {"role": "system", "parts": [{"text": "Be brief."}]},
    {"role": "user", "parts": [{"image": IMAGE}, {"text": "Which?\nA. cat\nB. dog"}]},
]


def shown(one: Result, asked: list[dict[str, Any]] = ASKED) -> str:
    return to_text(show_sample(one, asked), width=100)


def test_a_sample_in_full() -> None:
    text = shown(result(3, meta={"category": "map", "tags": ["a"]}, hint="Look twice."))
    for expected in (
        "sample q3", "category: map · tags: [\"a\"]", "  Which?", "  hint: Look twice.", "    A. cat",
        "  → B. dog", "system:", "  Be brief.", "user:",
        "  image 640×480 · image/png · 12,345 bytes · resized · from demo.tsv (byte 12) · "
        "sha256 abababababab",
        "  The answer is B.", "finish: stop · 0.50 s · tokens: 100 in, 10 out (3 reasoning)", "correct",
        "  read 'B' by rule choice:letter; accepted: 'B'",
    ):  # fmt: skip
        assert expected in text.splitlines()


def test_golds_of_an_open_question() -> None:
    assert "gold: 42 | forty-two" in shown(result(0, choices={}, golds=("42", "forty-two")))
    assert "no public answer" in shown(result(0, "unscored", choices={}, golds=()))


def test_options_kept_as_one_text() -> None:
    assert "A) cat B) dog" in shown(result(0, choices={}, choices_text="A) cat B) dog"))


def test_thinking_stands_apart_and_dimmed() -> None:
    one = result(0)
    reply = Reply(text="B", thinking="It barks.", finish_reason="length", evidence={"seen": "a dog"})
    renderable = show_sample(replace(one, reply=reply), ASKED)
    lines = to_text(renderable).splitlines()
    assert lines.index("  It barks.") < lines.index("  B")
    assert "finish: length (cut off at the token limit)" in lines
    assert 'evidence: {"seen": "a dog"}' in lines
    assert re.search(r"\x1b\[2m *It barks\.", to_text(renderable, color=True))


def test_images_are_shown_even_without_the_prompt() -> None:
    assert "640×480" in shown(replace(result(0), sent=(IMAGE,)), [])


def test_an_empty_reply_is_said_to_be_empty() -> None:
    assert "  (empty)" in shown(result(0, "unparsed", reply="")).splitlines()


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("wrong", "read 'B' by rule choice:letter; accepted: 'B'"),
        ("partial", "read 'B' by rule choice:letter; accepted: 'B'; worth 0.5"),
        ("unparsed", "no answer could be read from the reply (rule choice:letter); counts 0"),
        ("refused", "the model declined to answer (rule choice:letter); counts 0"),
        ("truncated", "the reply was cut off before an answer (rule choice:letter); counts 0"),
        ("unscored", "the published answer 'B' cannot be used (rule choice:letter); not part of the score"),
        (None, "not asked yet; run the same command again to continue"),
    ],
)
def test_every_outcome_has_a_reason(outcome: Outcome | None, expected: str) -> None:
    assert explain_outcome(result(0, outcome)) == expected


def test_an_answer_that_was_never_published_is_no_answer_that_cannot_be_used() -> None:
    hidden = result(0, "unscored")
    hidden = replace(hidden, sample=replace(hidden.sample, golds=()))
    assert explain_outcome(hidden) == "no public answer to compare with; not part of the score"


def test_what_a_rule_kept_is_shown() -> None:
    score = Score(outcome="wrong", value=0.0, route="relaxed", detail={"distance": 0.06})
    text = shown(replace(result(0), score=score))
    assert "read nothing by rule relaxed" in text
    assert '{"distance": 0.06}' in text


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            Failure(stage="generate", reason="busy", retryable=True, status=503, attempts=5),
            "failed to generate after 5 attempts: busy (HTTP 503); not part of the score; "
            "run it again to retry only the failed samples",
        ),
        (
            Failure(stage="load", reason="no such picture"),
            "failed to load: no such picture; not part of the score; "
            "correct the data, then run it again: only the failed samples are asked",
        ),
        (
            Failure(stage="score", reason="the judge is away"),
            "failed to score: the judge is away; not part of the score; "
            "the replies are kept: correct the scorer, then score the run again",
        ),
    ],
)  # fmt: skip
def test_a_failure_says_what_happens_next(failure: Failure, expected: str) -> None:
    one = Result(sample=result(0).sample, position=0, failure=failure)
    assert explain_outcome(one) == expected
    assert "failed" in shown(one).splitlines()


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=30))
def test_no_text_is_obeyed(text: str) -> None:
    asked = [{"role": text, "parts": [{"text": text}, {"image": {"origin": text, "mime": text}}]}]
    one = result(0, id=text, question=text, reply=text, meta={text: text}, choices={text: text}, hint=text)
    seen = shown(one, asked)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", seen)
    seen.encode("utf-8")


def test_markup_prints_as_it_is() -> None:
    assert "  [red]no[/red] ␛[31m" in shown(result(0, reply="[red]no[/red] \x1b[31m")).splitlines()


def test_json_holds_the_record_the_prompt_and_the_reason() -> None:
    found = json.loads(json.dumps(show_json(result(0), ASKED)))
    assert found["asked"] == ASKED
    assert found["why"] == "read 'B' by rule choice:letter; accepted: 'B'"
    assert found["reply"]["text"] == "The answer is B."


def test_a_reply_without_end_is_cut_where_nobody_reads_on() -> None:
    text = shown(result(0, reply="word " * 100_000))
    assert "400,000 characters more; --json shows them" in " ".join(text.split())


def test_what_a_sample_cost_is_shown() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=500)
    call = Call(
        sample="q0", trial=0, key="k", purpose="judge:mcqa", messages=[], reply=Reply(text="A", usage=usage)
    )
    prices: dict[str, Price | None] = {
        "model": Price(input=100.0, output=100.0),
        "judge": Price(input=1.0, output=2.0),
    }
    said = to_text(show_sample(result(0), calls=[call], prices=prices))
    assert "0.011 USD" in said
    assert "the judge: 0.0020 USD" in said
    found = show_json(result(0), calls=[call], prices=prices)
    assert (found["cost"], found["judge_cost"]) == (pytest.approx(0.011), pytest.approx(0.002))
    assert "USD" not in to_text(show_sample(result(0), calls=[call]))
    assert show_json(result(0), calls=[call])["judge_cost"] is None
    other = replace(call, model="openai/other")
    prices["judge:openai/other"] = Price(input=10.0, output=20.0)
    found = show_json(result(0), calls=[call, other], prices=prices)
    assert found["judge_cost"] == pytest.approx(0.022), "each judge at its own price"
    prices["judge:openai/other"] = None
    assert show_json(result(0), calls=[call, other], prices=prices)["judge_cost"] is None
    uncounted = replace(call, reply=Reply(text="A"))
    assert show_json(result(0), calls=[call, uncounted], prices=prices)["judge_cost"] is None


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("n_words", [1, 400])
def test_a_list_keeps_ids_outcomes_and_golds_whatever_the_length_of_replies(width: int, n_words: int) -> None:
    rows = [
        result(number, "wrong", reply="slowly " * n_words, question="Which one? " * n_words, golds=("a dog",))
        for number in range(3)
    ]
    lines = to_text(make_samples_table(rows), width=width).splitlines()
    assert lines[0].split() == ["id", "outcome", "read", "gold", "question", "reply"]
    for number, line in enumerate(lines[2:]):
        assert line.startswith(f"q{number}  wrong    B     a dog  Which one?")
        assert "slowly" in line
        assert len(line) <= width
    assert len(lines) == 5, "one line per sample"
