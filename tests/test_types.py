"""The words everyone speaks."""

import base64
import dataclasses
from typing import Any

import msgspec
import pytest

from eyechart.errors import UsageError
from eyechart.types import (  # fmt: skip
    OUTCOMES,
    Benchmark,
    Failure,
    ImageRef,
    Message,
    ModelSettings,
    Outcome,
    Reply,
    Result,
    Sample,
    Score,
    SeesAllSamples,
    Usage,
)
from support.files import picture
from support.parts import image


def test_values_cannot_be_changed_after_they_were_made() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sample(id="1", question="?").id = "2"  # type: ignore[misc]


def test_a_question_can_be_shown_without_its_golds() -> None:
    sample = Sample(id="1", question="?", golds=("A",), meta={"x": 1})
    assert sample.without_golds() == Sample(id="1", question="?", meta={"x": 1})


def test_a_message_tells_its_words_and_its_pictures_in_order() -> None:
    one, two = ImageRef(kind="file", location="a"), ImageRef(kind="file", location="b")
    message = Message("user", ("x", one, "y", two))
    assert message.text == "x\ny"
    assert message.images == (one, two)


def test_a_picture_gives_its_bytes_and_its_record_without_pixels() -> None:
    red = image("red")
    assert red.data() == picture("red")
    assert red.record()["bytes"] == len(picture("red"))
    assert not any(isinstance(value, bytes) for value in red.record().values())


def test_base64_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"(?i)base64|padding"):
        image(base64=base64.b64encode(b"abc") + b"!").data()


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        (ImageRef(kind="file", location="a.png"), "a.png"),
        (ImageRef(kind="cell", location="d.tsv", offset=120, length=9), "d.tsv (byte 120)"),
        (ImageRef(kind="parquet", location="d.parquet", offset=3), "d.parquet (row 3)"),
        (ImageRef(kind="url", location="https://x/y.png"), "https://x/y.png"),
        (ImageRef(kind="data", location="aGVsbG8=" * 1000), "inline base64"),
    ],
)
def test_where_a_picture_lies_is_said_for_people(ref: ImageRef, shown: str) -> None:
    assert str(ref) == shown


def result(**fields: Any) -> Result:
    return Result(sample=Sample(id="1", question="?"), position=0, **fields)


FAILURE = Failure(stage="generate", reason="busy")


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, None),
        ({"reply": Reply(text="A")}, None),
        ({"failure": FAILURE}, "failed"),
        ({"reply": Reply(text="A"), "failure": FAILURE}, "failed"),
        ({"reply": Reply(text="A"), "score": Score(outcome="partial", value=0.5)}, "partial"),
    ],
)
def test_a_result_has_one_outcome_or_none_yet(fields: dict[str, Any], outcome: Outcome | None) -> None:
    assert result(**fields).outcome == outcome


def test_outcomes_are_listed_once_each() -> None:
    assert len(set(OUTCOMES)) == len(OUTCOMES) == 8


@pytest.mark.parametrize(
    "value",
    [
        Sample(id="1", question="猫?", golds=("A",), images=(ImageRef(kind="file", location="a"),)),
        Sample(id="1", question="?", choices={"B": "x", "A": "y"}, meta={"n": [1, None]}),
        Reply(text="B", thinking="hm", usage=Usage(prompt_tokens=3), evidence={"seen": [1, 2]}),
        Failure(stage="load", reason="gone", status=404, retryable=True, attempts=2),
        Score(outcome="wrong", value=0.0, read=None, route="exact", detail={"gold": "A"}),
    ],
)  # fmt: skip
def test_what_the_journal_keeps_comes_back_the_same(value: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_settings_do_not_show_the_key() -> None:
    assert "sk-secret" not in repr(ModelSettings(api_key="sk-secret"))


def test_a_model_that_studies_is_known_by_its_method() -> None:
    class Learner:
        def prepare(self, samples: object) -> None: ...

    assert isinstance(Learner(), SeesAllSamples)
    assert not isinstance(object(), SeesAllSamples)


def test_a_question_without_its_golds_is_otherwise_the_same() -> None:
    full = Sample(
        id="1",
        question="?",
        images=(ImageRef(kind="file", location="a.png"),),
        golds=("A",),
        choices={"A": "x"},
        choices_text="A. x",
        hint="look",
        meta={"category": "c"},
        row=3,
        weight=2.0,
        circle="1",
        withheld={"solution": "A"},
    )
    plain = Sample(id="", question="")
    told = [
        field.name
        for field in dataclasses.fields(Sample)
        if getattr(full, field.name) == getattr(plain, field.name)
    ]
    assert told == [], "give the new field a value above"
    assert full.without_golds() == dataclasses.replace(full, golds=(), withheld={})


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ({"group_by": "category"}, r"group_by=\('category',\)"),
        ({"circular": "yes"}, "'headline' or 'beside'"),
        ({"source": "mine.tsv"}, "not a str"),
        ({"source": []}, "not a list"),
    ],
    ids=str,
)
def test_a_benchmark_that_nobody_can_mean_is_refused(slip: dict[str, Any], said: str) -> None:
    whole: dict[str, Any] = {"name": "b", "source": object(), "prompt": lambda sample: [], **slip}
    with pytest.raises(UsageError, match=said):
        Benchmark(**whole)


def test_a_crop_is_told_from_the_picture_it_is_cut_from() -> None:
    chart = ImageRef(kind="url", location="https://x.org/a.png")
    assert str(chart) == "https://x.org/a.png"
    assert str(dataclasses.replace(chart, box=(1, 2, 30, 40))) == "https://x.org/a.png (crop 1, 2, 30 x 40)"
