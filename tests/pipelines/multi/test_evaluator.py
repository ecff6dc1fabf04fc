"""MULTI's evaluator classes get the documented structures, and what they return is read in full."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyechart.models.python import adapt
from eyechart.pipelines.multi.evaluators import build_question, read_prediction
from eyechart.pipelines.multi.report import RETURNED
from eyechart.runs.sources import make_benchmark
from eyechart.types import (
    MODELS_TURN,
    Image,
    ImageRef,
    Message,
    ModelSettings,
    Part,
    Reply,
    Request,
    Sample,
    Usage,
    read_capabilities,
)
from support.files import picture
from support.multi import make_multi
from support.parts import image

META = {"question_image_number": 2, "input_type": 2}


def user(*parts: Part) -> Message:
    return Message("user", parts)


def request(*messages: Message, **meta: Any) -> Request:
    return Request(messages=messages, sample=Sample(id="czsx_0_0", question="?", meta=META | meta))


def question(*messages: Message, folder: Path, **meta: Any) -> dict[str, Any]:
    return build_question(request(*messages, **meta), folder)[0]


def reply(**answered: Any) -> Reply:
    found = read_prediction(answered)
    assert isinstance(found, Reply)
    return found


@pytest.fixture
def red(tmp_path: Path) -> Image:
    path = tmp_path / "red.png"
    path.write_bytes(picture("red"))
    return image("red", path=str(path))


# -- what is given ---------------------------------------------------------------------------------


def test_one_round(red: Image, tmp_path: Path) -> None:
    assert question(user("甲", red, red), folder=tmp_path) == {
        "question_id": "czsx_0_0",
        "question_image_number": 2,
        "image_list": [red.path, red.path],
        "prompted_content": "甲",
    }


def test_a_system_message_is_apart(tmp_path: Path) -> None:
    found = question(Message("system", ("你是",)), user("甲"), folder=tmp_path)
    assert (found["prompted_system_content"], found["prompted_content"]) == ("你是", "甲")


@pytest.mark.parametrize("input_type", [0, 1])
def test_without_images_there_is_no_list_but_a_number(input_type: int, tmp_path: Path) -> None:
    assert question(user("甲"), folder=tmp_path, input_type=input_type) == {
        "question_id": "czsx_0_0",
        "question_image_number": 2,
        "prompted_content": "甲",
    }


def test_a_question_without_an_image_among_others_that_have_some(tmp_path: Path) -> None:
    found = question(user("甲"), folder=tmp_path, question_image_number=0)
    assert found["question_image_number"] == 0
    assert found.get("image_list", [""])[0] == ""  # as classes write it that need an image each time


def test_a_system_text_that_was_not_split_off_reads_as_empty(tmp_path: Path) -> None:
    found = question(user("甲"), folder=tmp_path)
    assert "prompted_system_content" not in found
    assert found["prompted_system_content"] == found.pop("prompted_system_content") == ""
    assert found.pop("prompted_system_content", None) is None


def test_the_text_before_the_question_is_there_where_the_original_has_an_empty_one(tmp_path: Path) -> None:
    data = make_multi(tmp_path / "data")
    usual = {"problem_file": str(data.problem_file), "no_sys": True}
    for split_sys in (False, True):
        benchmark = make_benchmark("multi", {**usual, "split_sys": split_sys})
        first = next(iter(benchmark.source))
        found = build_question(Request(messages=tuple(benchmark.prompt(first)), sample=first), tmp_path)[0]
        assert dict(found).get("prompted_system_content") == ("" if split_sys else None)


def test_paths_are_those_of_the_file_where_they_lead_to_the_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, red: Image
) -> None:
    (tmp_path / "eval").mkdir()
    monkeypatch.chdir(tmp_path / "eval")
    asked = user("甲", red, red)
    found = question(asked, folder=tmp_path, image_paths=["../red.png", "../data/red.png"])
    assert found["image_list"] == ["../red.png", str(tmp_path / "red.png")]
    assert question(asked, folder=tmp_path, image_paths=["../red.png"])["image_list"] == [red.path, red.path]
    with pytest.raises(KeyError):
        found["prompted_content_list"]
    with pytest.raises(KeyError):
        found.pop("prompted_content_list")


def test_other_samples_count_the_images_that_are_sent(red: Image, tmp_path: Path) -> None:
    asked = Request(messages=(user(red, "?"),), sample=Sample(id="1", question="?"))
    [found] = build_question(asked, tmp_path)
    assert (found["question_image_number"], found["image_list"]) == (1, [red.path])


def test_several_rounds(red: Image, tmp_path: Path) -> None:
    found = question(user(red, "甲"), MODELS_TURN, user(image("blue"), "乙"), folder=tmp_path)
    assert found == {
        "question_id": "czsx_0_0",
        "question_image_number": 2,
        "image_list": [red.path, str(tmp_path / "2.png")],
        "prompted_content_list": ["甲", "乙"],
    }
    assert (tmp_path / "2.png").read_bytes() == picture("blue")


def test_a_round_without_an_image_has_an_empty_path(red: Image, tmp_path: Path) -> None:
    turns = (user(red, "甲"), MODELS_TURN, user(red, "乙"), MODELS_TURN, user("答案？"))
    found = question(*turns, folder=tmp_path)
    assert found["image_list"] == [red.path, red.path, ""]
    assert found["prompted_content_list"] == ["甲", "乙", "答案？"]


def test_rounds_of_words_alone(tmp_path: Path) -> None:
    found = question(user("甲"), MODELS_TURN, user("乙"), folder=tmp_path, input_type=0)
    assert found["prompted_content_list"] == ["甲", "乙"]
    assert "image_list" not in found


def test_an_address_is_passed_on(tmp_path: Path) -> None:
    there = ImageRef(kind="url", location="https://example.org/1.png")
    assert question(user("甲", there), folder=tmp_path)["image_list"] == ["https://example.org/1.png"]


# -- what comes back -------------------------------------------------------------------------------


def test_a_plain_prediction() -> None:
    assert reply(prediction="A") == Reply(text="A")
    assert reply(prediction="") == Reply(text="")


def test_tokens_are_counted() -> None:
    assert reply(prediction="A", prompt_tokens=7, completion_tokens=2).usage == Usage(
        prompt_tokens=7, completion_tokens=2
    )
    assert reply(prediction="A", prompt_tokens="7").usage is None
    assert reply(prediction="A", prompt_tokens=True, completion_tokens=-1).usage is None


@pytest.mark.parametrize(
    ("answered", "earlier"),
    [
        ({"answer_history": ["一", "二", "A"], "input_message_list": ["x", "y", "z"]}, ("一", "二")),
        ({"answer_history": ["一", "二"], "input_message_list": ["x", "y", "z"]}, ("一", "二")),
        ({"answer_history": ["A", "A"], "input_message_list": ["x", "y"]}, ("A",)),
        ({"answer_history": ["一", "A"]}, ("一",)),
        ({"answer_history": [["问", "一"], ("问", "A")]}, ("一",)),
        ({"answer_history": []}, ()),
        ({"answer_history": "一"}, ()),
        ({}, ()),
    ],
)
def test_earlier_rounds(answered: dict[str, Any], earlier: tuple[str, ...]) -> None:
    assert reply(prediction="A", **answered).earlier == earlier


class Number:
    """As numpy's and torch's."""

    def tolist(self) -> float:
        return 0.5


def returned(**answered: Any) -> dict[str, Any]:
    found = reply(prediction="A", **answered)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Reply) == found
    return dict(found.evidence.get(RETURNED, {}))


def test_what_a_class_returns_is_kept_as_it_returned_it() -> None:
    told = {
        "input_message": [{"role": "user", "content": "甲"}],
        "answer_history": ["r1", "r2"],
        "thinking": {"steps": [1, 2.5, None, True]},
        "latency": 0.25,
    }
    assert returned(question_id="czsx_0_0", question_image_number=2, image_list=["a.png"], **told) == told
    assert returned() == {}


def test_what_json_cannot_hold_is_kept_as_far_as_it_can_be() -> None:
    endless: list[Any] = []
    endless.append(endless)
    told = returned(
        score=Number(), places=(1, 2), seen={3}, big=2**70, half="\ud83d", thing=object(), endless=endless
    )
    assert (told["score"], told["places"], told["seen"]) == (0.5, [1, 2], [3])
    assert (told["big"], told["half"]) == (str(2**70), "\ufffd")
    assert told["thing"].startswith("<object object")


def test_an_image_within_what_was_returned_is_cut() -> None:
    content = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 500_000}}]
    (sent,) = returned(input_message=[{"role": "user", "content": content}])["input_message"]
    assert sent["content"][0]["image_url"]["url"].startswith("data:image/png;base64,AAAA")
    assert len(str(sent)) < 300


def test_thinking_and_half_characters() -> None:
    found = reply(prediction="<think>嗯</think>A\ud83d", answer_history=["\ud83d", "A"])
    assert (found.text, found.thinking) == ("A\ufffd", "嗯")
    assert found.earlier[0] == "\ufffd"
    assert found.content == "<think>嗯</think>A\ufffd"
    cut_off = reply(prediction="<think>嗯")
    assert (cut_off.text, cut_off.content, cut_off.evidence) == ("", "<think>嗯", {})


class Evaluator:
    """As MULTI's own: changes the question it was given and returns it."""

    def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
        rounds = question.pop("prompted_content_list")
        assert len(rounds) == len(question["image_list"])
        answers = [f"{text}:{bool(path)}" for text, path in zip(rounds, question["image_list"], strict=True)]
        return question | {"input_message_list": rounds, "answer_history": answers, "prediction": answers[-1]}


def test_an_evaluator_takes_all_rounds_at_once() -> None:
    model = adapt(Evaluator(), "python:mine")
    assert read_capabilities(model).takes_rounds

    async def work() -> Reply:
        try:
            return await model.reply(request(user(image(), "甲"), MODELS_TURN, user("乙")))
        finally:
            await model.close()

    said = asyncio.run(work())
    assert (said.text, said.earlier) == ("乙:False", ("甲:True",))
    assert said.latency_s > 0


class Keeping:
    """As MULTI's own for endpoints: the question it is at lies in the object."""

    def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked = question.pop("prompted_content")
        time.sleep(0.001)
        return question | {"prediction": self.asked}


@pytest.mark.parametrize("at_once", [None, 3])
def test_evaluators_are_asked_one_question_at_a_time_unless_they_say_otherwise(at_once: int | None) -> None:
    thing = Keeping()
    if at_once is not None:
        thing.max_concurrency = at_once  # type: ignore[attr-defined]
    model = adapt(thing, "python:mine", ModelSettings(concurrency=8))
    assert read_capabilities(model).max_concurrency == (at_once or 1)

    async def work() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.reply(request(user(str(n)))) for n in range(8)))
        finally:
            await model.close()

    said = [reply.text for reply in asyncio.run(work())]
    assert at_once is not None or said == [str(n) for n in range(8)]


def test_other_shapes_are_asked_round_by_round() -> None:
    class Plain:
        def generate(self, text: str, images: list[str]) -> str:
            return " ".join(images)

    model = adapt(Plain(), "python:mine")
    assert not read_capabilities(model).takes_rounds

    async def work() -> Reply:
        try:
            return await model.reply(
                request(user(ImageRef(kind="url", location="https://example.org/1.png"), "?"))
            )
        finally:
            await model.close()

    assert asyncio.run(work()).text == "https://example.org/1.png"
