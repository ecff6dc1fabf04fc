"""The checkup tells models that see from models that do not."""

import asyncio
import io

import pytest
from PIL import Image as Pictures

from eyechart.errors import ModelError
from eyechart.models.checkup import CheckResult, check_model, draw_conclusions, find_usual_answer, list_cases
from eyechart.models.python import adapt
from eyechart.types import Image, Model, Reply, Request
from support.parts import ScriptedModel

COLOURS = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}
ABILITIES = [
    "text only",
    "one picture",
    "multiple choice",
    "several pictures",
    "multi-round",
    "very large picture",
]


def check(model: Model) -> list[CheckResult]:
    async def work() -> list[CheckResult]:
        try:
            return [finding async for finding in check_model(model)]
        finally:
            await model.close()

    return asyncio.run(work())


def colours_in(request: Request) -> list[str]:
    found = []
    for turn in request.messages:
        for picture in turn.images:
            assert isinstance(picture, Image)
            with Pictures.open(io.BytesIO(picture.data())) as opened:
                corner = opened.crop((0, 0, 1, 1)).convert("RGB").getpixel((0, 0))
            assert isinstance(corner, tuple)
            found.append(COLOURS[corner[0], corner[1], corner[2]])
    return found


def sees(request: Request) -> str:
    seen = colours_in(request)
    if not seen:
        return "Yellow."
    if request.sample.choices:
        return next(letter for letter, text in request.sample.choices.items() if text == seen[0])
    return f"It is {seen[-1]}."


def reads_only(request: Request) -> str:
    if any(turn.images for turn in request.messages):
        return "The picture was not rendered, so I referred to hundreds of words. I considered none."
    return "yellow"


def refuses_pictures(request: Request) -> str:
    if any(turn.images for turn in request.messages):
        raise ModelError("HTTP 400: this model takes no pictures", status=400)
    return "yellow"


def pixels(request: Request) -> int:
    pictures = [picture for turn in request.messages for picture in turn.images]
    return max((p.width * p.height for p in pictures if isinstance(p, Image)), default=0)


@pytest.fixture(autouse=True)
def large_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pictures, "MAX_IMAGE_PIXELS", None)


@pytest.mark.slow
def test_a_model_that_sees_can_do_everything() -> None:
    found = check(ScriptedModel(sees))
    assert [(one.ability, one.verdict) for one in found] == [(name, "yes") for name in ABILITIES]
    assert found[3].said == "It is green."
    assert found[3].reply == Reply(text="It is green.")


@pytest.mark.slow
def test_a_model_that_only_reads_is_never_said_to_see() -> None:
    verdicts = {one.ability: one.verdict for one in check(ScriptedModel(reads_only))}
    assert verdicts.pop("text only") == "yes"
    assert set(verdicts.values()) == {"unsure"}


@pytest.mark.slow
def test_a_model_that_refuses_pictures_cannot_and_says_why() -> None:
    found = check(ScriptedModel(refuses_pictures))
    assert [one.verdict for one in found] == ["yes", "no", "no", "no", "no", "no"]
    assert "takes no pictures" in found[1].said


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 413])
def test_a_model_that_refuses_large_pictures_cannot_do_those_alone(status: int) -> None:
    def script(request: Request) -> str:
        if pixels(request) > 50_000_000:
            raise ModelError(f"HTTP {status}: too large", status=status)
        return sees(request)

    verdicts = [one.verdict for one in check(ScriptedModel(script))]
    assert verdicts == ["yes"] * 5 + ["no"]


@pytest.mark.slow
def test_a_busy_server_says_nothing_about_its_model() -> None:
    def script(request: Request) -> str:
        raise ModelError("HTTP 429: slow down", status=429, is_retryable=True)

    assert {one.verdict for one in check(ScriptedModel(script))} == {"unsure"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "error",
    [
        ModelError("HTTP 401", is_fatal=True),
        ModelError("cannot connect", is_unreachable=True, is_retryable=True),
    ],
)
def test_a_model_that_cannot_be_asked_at_all_is_an_error(error: ModelError) -> None:
    def script(request: Request) -> str:
        raise error

    with pytest.raises(ModelError, match=error.message):
        check(ScriptedModel(script))


@pytest.mark.slow
def test_an_empty_answer_is_shown_with_its_reason() -> None:
    found = check(ScriptedModel(lambda request: Reply(text="", finish_reason="length")))
    assert {(one.verdict, one.said) for one in found} == {("unsure", "(nothing; finish reason length)")}


@pytest.mark.slow
def test_the_pictures_are_what_they_say_and_small_to_send() -> None:
    pictures = [
        part for case in list_cases() for turn in case.turns for part in turn.parts if isinstance(part, Image)
    ]
    for one in pictures:
        with Pictures.open(io.BytesIO(one.data())) as opened:
            assert opened.size == (one.width, one.height)
        assert one.n_bytes == len(one.data()) < 100_000
    assert max(one.width * one.height for one in pictures) > 100_000_000


@pytest.mark.slow
def test_a_model_that_never_answers_is_not_waited_for() -> None:
    class Silent(ScriptedModel):
        async def reply(self, request: Request) -> Reply:
            await asyncio.sleep(60)
            return Reply(text="late")

    async def work() -> list[CheckResult]:
        return [finding async for finding in check_model(Silent(sees), timeout_s=0.01)]

    found = asyncio.run(work())
    assert [finding.verdict for finding in found] == ["unsure"] * len(ABILITIES)
    assert found[0].said == "(no answer within 0.01 s)"


@pytest.mark.slow
def test_the_model_speaks_in_a_conversation_and_its_words_are_put_there() -> None:
    heard: list[list[str]] = []

    def script(request: Request) -> str:
        if request.sample.id == "check:multi-round":
            heard.append([turn.text for turn in request.messages])
        return "Noted." if len(heard) == 1 else sees(request)

    found = check(ScriptedModel(script))
    assert found[4].verdict == "yes"
    assert [len(turns) for turns in heard] == [1, 3]
    assert heard[1][1] == "Noted."


@pytest.mark.slow
def test_an_evaluator_class_is_handed_all_rounds_at_once() -> None:
    class Evaluator:
        def __init__(self) -> None:
            self.rounds: list[list[str]] = []

        def generate_answer(self, question: dict[str, object]) -> dict[str, object]:
            if "prompted_content_list" in question:
                self.rounds.append([str(path)[-4:] for path in question["image_list"]])  # type: ignore[attr-defined]
            return question | {"prediction": "green"}

    evaluator = Evaluator()
    found = check(adapt(evaluator, "python:Evaluator"))
    assert evaluator.rounds == [[".png", ""]]
    assert [one.verdict for one in found] == ["unsure", "unsure", "unsure", "yes", "yes", "unsure"]
    assert [one.expected for one in found] == ["yellow", "red", "B", "green", "green", "blue"]


@pytest.mark.slow
def test_conclusions_are_drawn_skill_by_skill() -> None:
    assert set(draw_conclusions(check(ScriptedModel(sees))).values()) == {"yes"}
    assert draw_conclusions(check(ScriptedModel(reads_only))) == {
        "sees pictures": "no",
        "tells several pictures apart": "no",
        "remembers earlier rounds": "not known",  # the rounds are about pictures
    }
    half = check(ScriptedModel(lambda request: "red" if request.messages[-1].images else "yellow"))
    assert draw_conclusions(half)["sees pictures"] == "partly"
    same = check(ScriptedModel(lambda request: "green"))
    assert set(draw_conclusions(same).values()) == {"not known"}
    nearly = check(ScriptedModel(lambda request: "red" if request.messages[-1].images else "Red."))
    assert find_usual_answer(nearly) == ("", 0)  # four of six


@pytest.mark.slow
def test_an_answer_to_nearly_everything_is_right_by_luck() -> None:
    def says_green(request: Request) -> str:
        return "yellow" if "banana" in request.sample.question else "green"

    found = check(ScriptedModel(says_green))
    assert sum(one.verdict == "yes" for one in found) == 3
    assert find_usual_answer(found) == ("green", 5)
    assert draw_conclusions(found) == {
        "sees pictures": "no",
        "tells several pictures apart": "no",
        "remembers earlier rounds": "not known",
    }


@pytest.mark.slow
def test_who_forgets_is_told_from_who_is_blind() -> None:
    def forgets(request: Request) -> str:
        return "Noted." if request.sample.id == "check:multi-round" else sees(request)

    assert draw_conclusions(check(ScriptedModel(forgets))) == {
        "sees pictures": "yes",
        "tells several pictures apart": "yes",
        "remembers earlier rounds": "no",
    }


@pytest.mark.slow
def test_no_answer_shows_nothing_and_a_refusal_does() -> None:
    def busy(request: Request) -> str:
        raise ModelError("overloaded", is_retryable=True)

    def refuses(request: Request) -> str:
        raise ModelError("no pictures here,\nnever", is_retryable=False)

    for silent in (busy, lambda request: ""):
        assert set(draw_conclusions(check(ScriptedModel(silent))).values()) == {"not known"}
    found = check(ScriptedModel(refuses))
    assert draw_conclusions(found)["sees pictures"] == "no"
    assert found[1].said == "no pictures here, never"
