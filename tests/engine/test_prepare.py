"""From a task to a request: what changes the key, what does not, and how failures are told."""

from typing import Any

import pytest

from eyechart.engine.prepare import Prepared, Preparer
from eyechart.store.journal import Ask
from eyechart.store.reader import Task
from eyechart.types import ImageRef, Message, Prompt, Sample
from support.parts import Pictures, ask_plainly, image, sample

REF = ImageRef(kind="file", location="a.png")
IDENTITY = {"model": "openai/m", "temperature": 0}


def task(one: Sample | None = None, **fields: Any) -> Task:
    return Task(position=0, sample=one or sample(0, images=(REF,)), **({"trial": 0} | fields))


def prepare(
    what: Task | None = None,
    *,
    prompt: Prompt = ask_plainly,
    pictures: Pictures | None = None,
    identity: dict[str, Any] | None = None,
) -> Prepared:
    chosen = pictures or Pictures({"a.png": image("red")})
    return Preparer(prompt, chosen, identity or IDENTITY).prepare(what or task())


def asked(prepared: Prepared) -> Ask:
    assert prepared.failure is None
    assert prepared.ask is not None
    return prepared.ask


def test_a_request_holds_the_loaded_pictures_and_never_the_golds() -> None:
    prepared = prepare()
    assert prepared.request is not None
    assert prepared.request.messages == (Message("user", (image("red"), "Question 0?")),)
    assert prepared.request.sample.golds == ()
    assert prepared.n_bytes == len(image("red").base64)
    assert not prepared.is_answered


def test_the_prompt_never_sees_the_golds() -> None:
    seen: list[Sample] = []

    def prompt(one: Sample) -> list[Message]:
        seen.append(one)
        return ask_plainly(one)

    prepare(prompt=prompt)
    assert [one.golds for one in seen] == [()]


def test_what_is_written_down_holds_the_words_and_the_record_of_the_picture_without_pixels() -> None:
    assert asked(prepare()).messages == [
        {"role": "user", "parts": [{"image": image("red").record()}, {"text": "Question 0?"}]}
    ]


def other_prompt(one: Sample) -> list[Message]:
    return [Message("system", ("Be brief.",)), *ask_plainly(one)]


@pytest.mark.parametrize(
    "change",
    [
        {"identity": {"model": "openai/n", "temperature": 0}},
        {"identity": {"model": "openai/m", "temperature": 0.5}},
        {"identity": {"model": "openai/m", "temperature": 0, "endpoint": "http://other/v1"}},
        {"what": task(sample(0, images=(REF,), question="Another?"))},
        {"what": task(trial=1)},
        {"pictures": Pictures({"a.png": image("blue")})},
        {"pictures": Pictures({"a.png": image("red", mime="image/webp")})},
        {"prompt": other_prompt},
    ],
    ids=["model", "parameter", "endpoint", "text", "trial", "picture", "mime", "prompt"],
)
def test_the_key_changes_with_anything_that_could_change_the_answer(change: dict[str, Any]) -> None:
    assert asked(prepare(**change)).key != asked(prepare()).key


def test_the_key_depends_on_where_a_word_stands() -> None:
    def apart(one: Sample) -> list[Message]:
        return [Message("user", ("a", "b"))]

    def together(one: Sample) -> list[Message]:
        return [Message("user", ("a\x00b",))]

    def in_turns(one: Sample) -> list[Message]:
        return [Message("user", ("a",)), Message("user", ("b",))]

    def in_one(one: Sample) -> list[Message]:
        return [Message("user", ("auser", "b"))]

    asks = [asked(prepare(prompt=prompt)) for prompt in (apart, together, in_turns, in_one)]
    assert len({ask.key for ask in asks}) == 4
    assert len({ask.recipe for ask in asks}) == 4


def test_the_key_stays_when_the_file_is_moved_or_touched_but_the_recipe_changes() -> None:
    moved = task(sample(0, images=(ImageRef(kind="file", location="b.png"),)))
    there = Pictures({"b.png": image("red", origin="b.png", path="b.png")})
    touched = Pictures({"a.png": image("red")})
    touched.prints["a.png"] = "a.png 2027"
    for other in (prepare(moved, pictures=there), prepare(pictures=touched)):
        assert asked(other).key == asked(prepare()).key
        assert asked(other).recipe != asked(prepare()).recipe


def test_the_order_of_parameters_does_not_matter() -> None:
    assert asked(prepare(identity={"temperature": 0, "model": "openai/m"})) == asked(prepare())


def test_a_known_recipe_is_answered_without_loading_anything() -> None:
    pictures = Pictures({"a.png": image("red")})
    recipe = asked(prepare()).recipe
    prepared = prepare(task(recipe=recipe), pictures=pictures)
    assert prepared.is_answered
    assert (prepared.request, prepared.n_bytes) == (None, 0)
    assert not pictures.loaded


def test_a_known_key_under_another_recipe_is_answered_and_says_what_was_asked() -> None:
    key = asked(prepare()).key
    prepared = prepare(task(recipe="of the file before it was touched", keys=frozenset({"old", key})))
    assert prepared.is_answered
    assert asked(prepared).key == key


def test_a_prompt_that_raises_fails_its_sample_at_rendering() -> None:
    def broken(one: Sample) -> list[Message]:
        raise KeyError("hint")

    failure = prepare(prompt=broken).failure
    assert failure is not None
    assert (failure.stage, failure.reason) == ("render", "KeyError: 'hint'")


def test_a_prompt_that_makes_no_messages_fails_its_sample_at_rendering() -> None:
    def text_only(one: Sample) -> Any:
        return ["Question?"]

    failure = prepare(prompt=text_only).failure
    assert failure is not None
    assert failure.stage == "render"


def test_a_picture_that_is_missing_fails_its_sample_at_loading() -> None:
    prepared = prepare(pictures=Pictures())
    assert prepared.failure is not None
    assert (prepared.failure.stage, prepared.failure.reason) == ("load", "a.png: there is no such picture")
    assert (prepared.request, prepared.ask) == (None, None)


@pytest.mark.parametrize(
    "error", [OSError("disk"), ValueError("broken PNG"), MemoryError(), SyntaxError("chunk")]
)
@pytest.mark.parametrize("step", ["load", "fingerprint"])
def test_whatever_a_decoder_raises_concerns_that_sample_alone(
    monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    def broken(self: Pictures, ref: ImageRef) -> Any:
        raise error

    monkeypatch.setattr(Pictures, step, broken)
    failure = prepare().failure
    assert failure is not None
    assert failure.stage == "load"
    assert type(error).__name__ in failure.reason
