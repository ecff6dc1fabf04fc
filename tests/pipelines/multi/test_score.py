import json
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.multi.score import (
    GENERATIONS,
    KINDS,
    clean,
    count_points,
    extract,
    is_refusal,
    read_kind,
    score,
)
from eyechart.registry import scorers
from eyechart.types import Reply, Sample, Score
from support.cases import for_each
from support.golden import vectors

MULTI = "MULTI-Benchmark"  # in the provenance of its vectors
KIND_NAMES = ["SA", "MA", "FB", "OP", "other", *KINDS]
# Predictions are made of what the rules look for, so that they meet it in every order.
PIECES = [
    "A", "B", "c", " ", ",", "、", "\n", "\n\n", "；", ";", "$", "或", "2", "。", "答案", "答案为：",
    "答案：", "Answer:", "user\n", "</think>", "Thought，持续 3 秒", "缺少图片信息", "我的分析如下：",
    "Assistant:", "\\boxed{\\text{B}}", "\\boxed{B}",
]  # fmt: skip
predictions = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)
labels = st.sampled_from(["A", "ABD", "2", "3或-3\n2", "", "a;b", "因为光的折射。", " B "]) | st.text(
    max_size=6
)


def scored(
    text: str, name: str = "multi", *, kind: str = "SA", gold: str | None = "B", **reply: Any
) -> Score:
    golds = () if gold is None else (gold,)
    sample = Sample(id="czsx_0_0", question="?", golds=golds, meta={"question_type": kind})
    return scorers.get(name)(Reply(text=text, **reply), sample)


@pytest.mark.slow
def test_every_score_is_the_official_one() -> None:
    wrong = []
    for vector in vectors("multi_score", MULTI):
        position = vector["answer_position"]
        got = score(vector["prediction"], vector["answer"], vector["type"], answer_position=position)
        if abs(got[0] - vector["score"]) > 1e-9 or got[1] != vector["total_score"]:
            wrong.append((vector, got))
    assert not wrong


def test_every_reading_is_the_official_one() -> None:
    for vector in vectors("multi_extract", MULTI):
        got = extract(vector["prediction"], vector["type"], vector["answer_position"])
        assert clean(vector["prediction"]) == vector["cleaned"], vector
        if vector["type"] == "MA":  # the official letters are told sorted
            assert sorted(got or "") == sorted(vector["extracted"] or ""), vector
        else:
            assert got == vector["extracted"], vector


@pytest.mark.slow
def generations() -> list[tuple[str, str, dict[str, Any]]]:
    """Generation, answer position, vector with its `expected` pair."""
    return [
        (name.removesuffix("-end"), "end" if name.endswith("-end") else "start", vector | {"expected": pair})
        for vector in vectors("multi_generations", MULTI)
        for name, pair in vector["expected"].items()
    ]


@pytest.mark.slow
def test_earlier_generations_score_as_they_did() -> None:
    wrong = []
    for generation, position, vector in generations():
        got = score(vector["prediction"], vector["answer"], vector["type"], position, generation=generation)
        if abs(got[0] - vector["expected"][0]) > 1e-9 or got[1] != vector["expected"][1]:
            wrong.append((generation, position, vector, got))
    assert not wrong
    assert {generation for generation, _, _ in generations()} == set(GENERATIONS) - {"latest"}


@pytest.mark.parametrize(
    ("generation", "prediction", "kind", "label", "points"),
    [
        ("2024-02", "Thought，持续 5 秒 B", "SA", "B", 0),
        ("2024-02", "b", "SA", "B", 0),  # letters as written
        ("2024-11", "b", "SA", "B", 1),
        ("2024-02", "ac", "MA", "AC", 0),
        ("2024-02", "A", "MA", "ABCE", 1),  # a letter alone was an answer, then was not, and is again
        ("2024-02", "选A", "MA", "AB", 1),
        ("2024-02", "E", "MA", "E", 1),
        ("2024-02", ", 选AB", "MA", "AB", 0),  # the first run has no letter
        ("2025-01", "A</think>B", "SA", "B", 0),
        ("2025-10", "A</think>B", "SA", "B", 1),
        ("2025-10", "\\boxed{\\text{C}}", "SA", "C", 0),
        ("2024-11", "Thought，持续 5 秒 B", "SA", "B", 1),
        ("2024-11", "A", "MA", "A", 0),  # a letter alone was no answer
        ("2025-01", "A", "MA", "A", 1),
        ("2024-11", "1; 2", "FB", "1\n2", 0),
        ("2025-01", "1; 2", "FB", "1\n2", 2),
        ("2024-11", "B 缺少图片信息", "SA", "B", 1),
        ("2025-01", "B 缺少图片信息", "SA", "B", 0),
        ("2025-01", "\\boxed{\\text{C}}", "SA", "C", 0),
        ("2025-11", "\\boxed{\\text{C}}", "SA", "C", 1),
        ("2025-11", "答案B", "SA", "B", 1),
        ("2025-11", "A 答案 B", "SA", "B", 1),
        ("latest", "A 答案 B", "SA", "B", 0),
        ("latest", "A\n\nB", "SA", "B", 1),
        ("2025-11", "A\n\nB", "SA", "B", 0),
    ],
)
def test_what_each_generation_changed(
    generation: str, prediction: str, kind: str, label: str, points: int
) -> None:
    assert score(prediction, label, kind, generation=generation)[0] == points


@given(
    predictions,
    labels,
    st.sampled_from(KIND_NAMES),
    st.sampled_from(["start", "end"]),
    st.sampled_from([*GENERATIONS]),
)
def test_any_text_earns_between_nothing_and_all(
    prediction: str, label: str, kind: str, position: str, generation: str
) -> None:
    earned, total = score(prediction, label, kind, position, generation=generation)
    assert 0 <= earned <= total == count_points(label, kind)
    extract(prediction, kind, position, generation=generation)


@given(predictions, st.sampled_from(["A", "ABD", "ac", "E"]))
def test_the_first_rules_take_letters_as_written(prediction: str, label: str) -> None:
    letter, run = re.search("[a-zA-Z]", prediction), re.search("[a-zA-Z ,]+", prediction)
    letters = set(run[0]) - set(" ,") if run else set()
    assert score(prediction, label, "SA", generation="2024-02")[0] == bool(letter and letter[0] == label)
    earned = len(letters) if letters <= set(label) else 0
    assert score(prediction, label, "MA", generation="2024-02")[0] == earned


@given(predictions, labels, st.sampled_from(["SA", "MA", "FB"]), st.sampled_from(["start", "end"]))
def test_boxes_are_what_came_after_2025_10(prediction: str, label: str, kind: str, position: str) -> None:
    if "boxed" not in prediction:
        before, after = (
            score(prediction, label, kind, position, generation=name) for name in ("2025-10", "2025-11")
        )
        assert before == after


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_without_a_label_there_is_nothing_to_earn(kind: str) -> None:
    assert score("A", None, kind) == (0, 0)
    assert scored("A", kind=kind, gold=None).outcome == "unscored"


@given(predictions)
def test_a_refusal_earns_nothing(prediction: str) -> None:
    said = "缺少图片信息" + prediction
    if is_refusal(clean(said)):
        assert all(
            score(said, label, kind)[0] == 0 for label, kind in [("B", "SA"), ("AB", "MA"), ("2", "FB")]
        )


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n:："), max_size=30))
def test_cleaning_plain_text_only_strips_it(text: str) -> None:
    marks = ("</think>", "boxed", "秒")
    if not any(mark in text for mark in marks):
        assert clean(text) == text.strip()
        assert clean(clean(text)) == clean(text)


@given(predictions, st.sampled_from([*GENERATIONS]))
def test_cleaned_text_is_made_of_the_prediction(prediction: str, generation: str) -> None:
    cleaned = clean(prediction, generation)
    letters = iter(prediction)
    assert all(letter in letters for letter in cleaned)  # nothing is added, nothing changes places
    if generation not in ("2024-02", "2024-11"):
        assert cleaned == cleaned.strip()


@given(st.permutations("ABCD"))
def test_the_order_of_chosen_letters_is_irrelevant(letters: list[str]) -> None:
    assert score("".join(letters), "ABCD", "MA") == (4, 4)
    assert score(", ".join(letters[:2]), "".join(letters[:3]), "MA") == (2, 3)


def test_a_long_run_without_letters_is_read_in_no_time() -> None:
    # The official pattern needs time that grows with the square of such a run.
    assert extract(" ," * 200_000, "MA") is None
    assert extract("\\boxed{\\text{" * 50_000, "SA") == "B"


def test_missing_predictions_are_empty() -> None:
    assert clean(None) == ""
    assert score(None, "B", "SA") == (0, 1)
    assert score(None, "", "FB") == (1, 1)  # as published: an empty label has one blank, and it is met


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: read_kind("判断"), "no question type '判断'"),
        (lambda: score("A", "A", "SA", "middle"), "use start or end"),
        (lambda: score("A", "A", "SA", generation="2023"), "use one of: latest"),
    ],
)
def test_names_that_are_not_known(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()


def test_outcomes() -> None:
    assert scored("B") == Score(
        outcome="correct", value=1.0, read="B", route="multi:SA", detail={"score": 1, "total": 1}
    )
    assert scored("A").outcome == "wrong"
    assert scored("我不知道").outcome == "refused"
    assert scored("").outcome == "unparsed"
    assert scored("Hmm", finish_reason="length").outcome == "truncated"
    assert scored("a", finish_reason="length").outcome == "wrong"  # all of it is the letter
    partial = scored("AC", kind="MA", gold="ACE")
    assert (partial.outcome, partial.value, partial.detail) == ("partial", 2 / 3, {"score": 2, "total": 3})
    assert scored("1;3", kind="FB", gold="1\n2").read == "1\n3"


def test_the_missing_image_is_a_refusal() -> None:
    refused = scored("B。缺少图片信息")
    assert (refused.outcome, refused.value, refused.route) == ("refused", 0.0, "multi:SA:refusal")
    assert refused.detail == {"score": 0, "total": 1, "rejected": True}
    assert scored("B。缺少图片信息", "multi-2024-11").outcome == "correct"


@pytest.mark.parametrize(("kind", "gold"), [("other", "无"), ("OP", ""), ("SA", None), ("MA", "")])
def test_what_can_earn_nothing_is_unscored(kind: str, gold: str | None) -> None:
    assert scored("B", kind=kind, gold=gold).outcome == "unscored"


def test_an_open_answer_is_never_quite_whole() -> None:
    same = scored("光的折射", kind="OP", gold="光的折射")
    assert same.outcome == "partial"
    assert same.value == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("meta", [{}, {"question_type": "judge"}, {"question_type": ["SA"]}])
def test_a_sample_of_no_known_type_is_named(meta: dict[str, Any]) -> None:
    sample = Sample(id="x_1", question="?", golds=("B",), meta=meta)
    with pytest.raises(DataError, match="x_1: the scorer needs a question_type"):
        scorers.get("multi")(Reply(text="B"), sample)


def test_scorers_by_name() -> None:
    names = [name for name in scorers.names() if name.split("-")[0] == "multi" and name != "multi-judged"]
    assert names == [
        "multi", "multi-2024-02", "multi-2024-11", "multi-2025-01", "multi-2025-01-end", "multi-2025-10",
        "multi-2025-10-end", "multi-2025-11", "multi-2025-11-end", "multi-end",
    ]  # fmt: skip
    assert {scorers.get(name).parity for name in names} == {"official"}
    said = "A 不对，答案是 B"
    assert [scored(said, name).value for name in ("multi", "multi-end", "multi-2025-11-end")] == [0, 1, 1]


def test_a_verdict_survives_the_journal() -> None:
    import msgspec

    kept = msgspec.json.decode(msgspec.json.encode(scored("光", kind="OP", gold="水")), type=Score)
    assert json.dumps(kept.detail["score"]) == "0.0"  # the files tell a fraction of nothing from no points


@for_each(
    product(
        [name for name in scorers.names() if name.startswith("multi")],
        ["Lack of image information", '"lack of image information."', "缺少图片信息"],
        [("SA", "L"), ("SA", "B"), ("MA", "AC"), ("FB", "2"), ("OP", "光")],
    )
)
def test_a_refusal_in_either_language_is_one_whatever_the_official_points(
    name: str, said: str, wanted: tuple[str, str]
) -> None:
    kind, label = wanted
    generation = name.removeprefix("multi").removesuffix("-end").removeprefix("-") or "latest"
    generation = "latest" if generation == "judged" else generation
    position = "end" if name.endswith("-end") else "start"
    sample = Sample(id="1", question="", golds=(label,), meta={"question_type": kind})
    found = scorers.get(name)(Reply(text=said), sample)
    earned, total = score(said, label, kind, position, generation=generation)
    assert (found.outcome, found.value) == ("refused", earned / total)


def test_an_answer_beside_the_english_refusal_keeps_its_official_points() -> None:
    assert scored("B. Lack of image information").outcome == "correct"
    assert score("Lack of image information", "L", "SA") == (1, 1)
