"""What a model says is told without its secrets: in errors and replies, whoever made the class."""

import asyncio
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError, UsageError
from eyechart.models.python import adapt
from eyechart.models.redact import Secrets
from eyechart.models.specs import make_model
from eyechart.types import Model, ModelSettings, Reply
from support.parts import request

KEY = "sk-0123456789abcdef"

CLASSES = """
from eyechart.errors import ModelError
from eyechart.types import Reply

class Holder:
    def __init__(self, api_key):
        self.mine = api_key

class Raises(Holder):
    def generate(self, text, images):
        raise RuntimeError(f"401: {self.mine} is wrong")

class Waits(Holder):
    async def generate(self, messages):
        raise OSError(5, self.mine)

class Causes(Holder):
    def generate(self, text, images):
        try:
            raise KeyError(self.mine)
        except KeyError as err:
            raise RuntimeError("no luck") from err

class Ours(Holder):
    async def generate(self, messages):
        raise ModelError(f"{self.mine} is wrong", hint=f"not {self.mine}", status=401, is_fatal=True)

class Feeds(Holder):
    def generate_answer(self, question):
        return question | {"prediction": "", "feedback": f"401: {self.mine} is wrong"}

class Native(Holder):
    name, identity = "python:native", {}

    async def reply(self, request):
        raise RuntimeError(f"401: {self.mine} is wrong")

    async def close(self):
        pass

class Never:
    def __init__(self, api_key):
        raise ValueError(f"{api_key} is wrong")

    def generate(self, text, images):
        return "A"

class Closes(Holder):
    def generate(self, text, images):
        return "A"

    def close(self):
        raise RuntimeError(f"{self.mine} is still in use")

class Says(Holder):
    async def generate(self, messages):
        said = f"key {self.mine}"
        return Reply(
            text=said, thinking=said, earlier=(said,), model=said, evidence={"sent": [{"headers": said}]}
        )

class SaysPlainly(Holder):
    def generate(self, text, images):
        return f"<think>{self.mine}</think>key {self.mine}"

class SaysNatively(Native):
    async def reply(self, request):
        return Reply(text=f"key {self.mine}")

    async def replies(self, request, n):
        return [await self.reply(request)] * n
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "leaky.py"
    path.write_text(CLASSES, encoding="utf-8")
    return path


def made(file: Path, name: str, **parameters: Any) -> Model:
    settings = ModelSettings(parameters=parameters or {"api_key": KEY})
    return make_model(f"python:{file}:{name}", settings)


def reply(model: Model) -> Reply:
    async def ask() -> Reply:
        try:
            return await model.reply(request())
        finally:
            await model.close()

    return asyncio.run(ask())


def told(caught: BaseException) -> str:
    """All that anybody could show of an error."""
    return "".join(traceback.format_exception(caught)) + str(caught) + repr(caught.args)


@pytest.mark.parametrize("name", ["Raises", "Waits", "Causes", "Ours", "Feeds", "Native"])
def test_an_error_that_names_the_key_is_told_without_it(file: Path, name: str) -> None:
    with pytest.raises(ModelError) as caught:
        reply(made(file, name))
    assert KEY not in told(caught.value)
    assert "[secret]" in str(caught.value) or name == "Causes"
    if name == "Ours":
        assert (caught.value.status, caught.value.is_fatal) == (401, True)


class Unlucky:
    def generate(self, text: str, images: list[str]) -> str:
        raise LookupError("no luck")


def test_other_errors_keep_their_cause() -> None:
    with pytest.raises(ModelError) as caught:
        reply(adapt(Unlucky(), "python:mine", ModelSettings(parameters={"api_key": KEY})))
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_class_that_cannot_be_made_does_not_say_its_key(file: Path) -> None:
    with pytest.raises(UsageError, match=r"could not be created: ValueError: \[secret\] is wrong") as caught:
        made(file, "Never")
    assert KEY not in told(caught.value)


def test_nor_does_one_that_cannot_be_closed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reply(made(file, "Closes")).text == "A"
    said = capsys.readouterr().err
    assert "[secret] is still in use" in said
    assert KEY not in said


@pytest.mark.parametrize("name", ["Says", "SaysPlainly", "SaysNatively"])
def test_a_reply_holds_no_key(file: Path, name: str) -> None:
    said = reply(made(file, name))
    assert said.text == "key [secret]"
    assert KEY not in repr(said)


def test_nor_do_several_at_once(file: Path) -> None:
    model: Any = made(file, "SaysNatively")
    assert [one.text for one in asyncio.run(model.replies(request(), 2))] == ["key [secret]"] * 2


def test_an_answer_is_scored_as_it_was_given_where_it_only_looks_like_a_secret(file: Path) -> None:
    said = reply(made(file, "SaysPlainly", api_key="triangle"))
    assert (said.text, said.thinking) == ("key triangle", "[secret]")


@pytest.mark.parametrize("name", ["token", "secret", "password", "x_api_key", "headers"])
def test_secrets_are_known_by_their_names(name: str) -> None:
    value = {"Authorization": f"Bearer {KEY}"} if name == "headers" else KEY
    assert (
        Secrets({"other": "plain-and-long-enough", name: value}).hide(f"{KEY}: plain-and-long-enough")
        == "[secret]: plain-and-long-enough"
    )


class Finds:
    """Was given its key by somebody else, or took it from the environment."""

    def __init__(self, key: str, *, is_kept: bool) -> None:
        self._api_key = key if is_kept else ""
        self._say: Callable[[], str] = lambda: key

    def generate(self, text: str, images: list[str]) -> str:
        raise RuntimeError(f"{self._say()} is wrong")


@pytest.mark.parametrize("is_kept", [True, False], ids=["attribute", "environment"])
def test_a_key_that_no_parameter_brought(is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_kept:
        monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    with pytest.raises(ModelError, match=r"\[secret\] is wrong"):
        reply(adapt(Finds(KEY, is_kept=is_kept), "python:mine", is_ready_made=True))


@pytest.mark.parametrize(
    ("key", "text", "hidden"),
    [
        ("EMPTY", "EMPTY is NOT_EMPTY", "[secret] is NOT_EMPTY"),
        ("abc", "abc", "abc"),
        ("", "nothing", "nothing"),
        (None, "None of it", "None of it"),
        (True, "True", "True"),
        (12345678, "pin 12345678", "pin [secret]"),
        ("a b/c+d é", "a%20b%2Fc%2Bd%20%C3%A9 a+b%2Fc%2Bd+%C3%A9", "[secret] [secret]"),
    ],
)
def test_short_and_odd_secrets(key: Any, text: str, hidden: str) -> None:
    assert Secrets({"password": key}).hide(text) == hidden


@pytest.mark.slow
@given(st.text(min_size=8).filter(lambda key: len(key.strip()) >= 8), st.text(), st.text())
def test_no_secret_is_left_however_it_is_written(key: str, before: str, after: str) -> None:
    key = key.strip()
    secrets = Secrets({"api_key": key})
    for form in (key, repr(key)[1:-1], json.dumps(key)[1:-1]):
        assert form not in secrets.hide(f"{before}|{form}|{after}").replace("[secret]", "\0")
