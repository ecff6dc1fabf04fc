"""Rows as the official loader reads them, and what a record says of a result."""

import io
import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.pipelines.insight_o3.benchmark import (
    convert_value,
    find_group,
    guess_kind,
    make_official_records,
)
from eyechart.pipelines.insight_o3.report import Recorder, find_end
from eyechart.types import Reply, Result, Score
from support.insight_o3 import vectors
from support.results import result


def marked(records: Any) -> list[dict[str, Any]]:
    """NaN by its name, so that it can be compared."""
    return [{name: "__nan__" if value != value else value for name, value in row.items()} for row in records]


@pytest.mark.parametrize("line", vectors("load"))
def test_rows_are_read_as_the_official_loader_reads_them(line: dict[str, Any]) -> None:
    records = make_official_records(line["rows"])
    assert marked(records) == line["expect"]["records"]
    assert [type(row["answer"]) for row in records] == [
        type(row["answer"]) for row in line["expect"]["records"]
    ]
    counts = {group: count["total"] for group, count in line["expect"]["category_stats"].items()}
    assert dict(Counter(map(find_group, records))) == counts


cells = (
    st.integers(-(10**6), 10**6)
    | st.sampled_from(["5", " 7 ", "1.50", "001", "x", "1,000", "5%", "", "-3", "1e3", "true", "0x1", "A. 1"])
    | st.sampled_from([2.5, 3.0])
)
rows = st.lists(
    st.dictionaries(st.sampled_from(["answer", "question_id", "options", "note"]), cells, min_size=1),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(deadline=None)  # the first example imports pandas
@given(rows)
def test_the_reading_is_that_of_pandas(found: list[dict[str, Any]]) -> None:
    pandas = pytest.importorskip("pandas")
    lines = "".join(json.dumps(row) + "\n" for row in found)
    read = pandas.read_json(io.StringIO(lines), lines=True).to_dict(orient="records")
    assert marked(make_official_records(found)) == marked(read)


def test_groups_as_json_names_them() -> None:
    groups = [None, True, 3, 1.5, math.nan, "map"]
    assert [find_group({"category": group}) for group in groups] == ["null", "true", "3", "1.5", "NaN", "map"]


def scored(outcome: Any, detail: dict[str, Any], finish_reason: str = "stop") -> Result:
    given = result(0, outcome)
    return Result(
        sample=given.sample,
        position=0,
        reply=Reply(text="B", finish_reason=finish_reason),
        score=Score(outcome=outcome, value=float(outcome == "correct"), read="B", detail=detail),
    )


@pytest.mark.parametrize(
    ("one", "end", "fail_reason", "extracted"),
    [
        (scored("correct", {}), "correct", None, "B"),
        (scored("wrong", {}), "wrong", None, "B"),
        (scored("unparsed", {}), "wrong", None, "B"),
        (scored("truncated", {}, "length"), "incomplete", "finish_reason:length", None),
        (scored("unscored", {"fail_reason": "judge_failed"}), "invalid", "judge_failed", None),
        (scored("unscored", {}), "invalid", "unscored", None),
        (result(0, "failed"), "invalid", "inference_failed", None),
    ],
)
def test_any_scorers_verdict_has_its_place(
    one: Result, end: str, fail_reason: str | None, extracted: str | None
) -> None:
    found = Recorder().make_eval_result(one)
    assert find_end(found) == end
    assert (found["fail_reason"], found["extracted_answer"]) == (fail_reason, extracted)
    assert found["is_correct"] == (end == "correct")


def test_the_official_scorers_words_are_taken_over() -> None:
    detail = {
        "success": False, "fail_reason": "null_content", "extracted_answer": None, "is_correct": False,
        "official": "aborts",
    }  # fmt: skip
    found = Recorder().make_eval_result(scored("refused", detail, "refusal"))
    assert (find_end(found), found["fail_reason"]) == ("invalid", "null_content")
    assert "official" not in found


def test_a_scorer_that_failed_leaves_no_verdict() -> None:
    given = scored("correct", {})
    lost = Result(sample=given.sample, position=0, reply=given.reply, failure=result(0, "failed").failure)
    assert Recorder().make_eval_result(lost)["fail_reason"] == "scoring_failed"


def test_messages_have_the_authors_form() -> None:
    picture = {"width": 32, "height": 24, "sha256": "ab", "origin": "a.png"}
    asked = (
        {"role": "system", "parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "An example."}]},
        {"role": "assistant", "parts": [{"text": "A"}]},
        {"role": "user", "parts": [{"image": picture}, {"text": "Which?"}]},
    )
    recorder = Recorder(agent="m", image_settings={"detail": "low"})
    found = recorder.make_eval_result(replace(result(0, "correct"), asked=asked, sent=(picture,)))
    [conversation] = found["inference_result"]["conversations"]
    facts = {"width": 32, "height": 24, "sha256": "ab"}
    assert conversation == {
        "agent": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "An example."}]},
            {"role": "assistant", "content": "A"},
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "a.png", "detail": "low", **facts}},
                    {"type": "text", "text": "Which?"},
                ],
            },
            {"role": "assistant", "content": "The answer is B."},
        ],
    }


def test_a_message_without_content_is_null() -> None:
    given = result(0, "correct")
    null = replace(given, reply=Reply(text="", finish_reason="length", evidence={"null_content": True}))
    refused = replace(given, reply=Reply(text="I cannot.", finish_reason="refusal"))
    for one, more in ((null, {}), (refused, {"refusal": "I cannot."})):
        found = Recorder().make_eval_result(one)["inference_result"]
        assert found["last_message_content"] is None
        assert found["conversations"][0]["messages"] == [{"role": "assistant", "content": None, **more}]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply.read("<think>A?</think>B"), {"content": "<think>A?</think>B"}),
        (Reply.read("B", thinking="A?"), {"content": "B", "reasoning_content": "A?"}),
        (Reply(text="B", thinking="A?"), {"content": "B"}),  # of an earlier version: not known how it came
    ],
)
def test_thoughts_are_where_the_endpoint_put_them(reply: Reply, message: dict[str, Any]) -> None:
    found = Recorder().make_eval_result(replace(result(0, "correct"), reply=reply))["inference_result"]
    assert found["conversations"][0]["messages"] == [{"role": "assistant", **message}]
    assert found["last_message_content"] == message["content"]


def test_a_failed_request_has_no_conversation() -> None:
    assert Recorder().make_eval_result(result(0, "failed"))["inference_result"]["conversations"] == []


@given(st.lists(cells, max_size=6))
def test_a_columns_kind_is_that_of_the_whole_column(values: list[Any]) -> None:
    rows = [{"answer": value} for value in values]
    kind = guess_kind(values)
    assert [convert_value(value, kind) for value in values] == [
        row["answer"] for row in make_official_records(rows)
    ]
