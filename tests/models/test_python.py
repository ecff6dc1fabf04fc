"""People's own classes as models: three shapes, plain or async, from files, packages and objects."""

import asyncio
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.python import adapt
from eyechart.models.specs import make_model
from eyechart.types import Capabilities, Message, Model, ModelSettings, Reply, Request, read_capabilities
from support.files import picture
from support.parts import image, no_thread_left, request, sample


def put(model: Model, *requests: Request) -> list[Reply]:
    """Ask all at once, then close."""

    async def work() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.reply(one) for one in requests))
        finally:
            await model.close()

    return asyncio.run(work())


def answer(thing: Any, one: Request | None = None) -> Reply:
    return put(adapt(thing, "python:mine"), one or request())[0]


def put_one(model: Model) -> Reply:
    return put(model, request("Which?"))[0]


def error_of(thing: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        answer(thing)
    return caught.value


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a user's file and return the model's name; what it imports is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())

    def written(source: str, what: str = "Mine", file: str = "mine.py") -> str:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return f"python:{path}:{what}"

    return written


def made(spec: str, **parameters: Any) -> Model:
    return make_model(spec, ModelSettings(parameters=parameters, concurrency=4))


# -- the shapes ------------------------------------------------------------------------------------


class Messages:
    def generate(self, messages: list[Message]) -> str:
        return f"{len(messages)} {messages[0].role} {messages[0].text}"


class AsyncMessages:
    async def generate(self, messages: list[Message]) -> Reply:
        return Reply(text=messages[0].text, finish_reason="length")


class MessagesAndMore:
    async def generate(self, messages: list[Message], temperature: float = 0.5) -> str:
        return f"{messages[0].text} {temperature}"


class TextAndImages:
    def generate(self, text: str, images: list[str]) -> str:
        return f"{text} {len(images)}"


class AsyncTextAndImages:
    async def generate(self, text: str, images: list[str]) -> str:
        return f"{text} {len(images)}"


class Question:
    def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
        return question | {
            "prediction": f"{question['prompted_content']} {question['question_image_number']}"
        }


class AsyncQuestion:
    async def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
        return question | {"prediction": question["prompted_content"]}


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Messages(), "1 user Why?"),
        (AsyncMessages(), "Why?"),
        (MessagesAndMore(), "Why? 0.5"),
        (TextAndImages(), "Why? 0"),
        (AsyncTextAndImages(), "Why? 0"),
        (Question(), "Why? 0"),
        (AsyncQuestion(), "Why?"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_shape_is_understood(thing: Any, text: str) -> None:
    assert answer(thing, request("Why?")).text == text


def test_a_native_model_is_taken_as_it_is() -> None:
    class Native:
        name = "native"
        identity: dict[str, Any] = {}  # noqa: RUF012

        async def reply(self, request: Request) -> Reply:
            return Reply(text="B")

        async def close(self) -> None: ...

    native = Native()
    assert adapt(native, "python:native") is native


def test_a_native_model_that_lacks_a_part_is_refused() -> None:
    class Half:
        name = "half"

        async def reply(self, request: Request) -> Reply:
            return Reply(text="B")

    with pytest.raises(UsageError, match="no identity and no close"):
        adapt(Half(), "python:half")


def test_what_has_none_of_the_methods_is_refused_with_their_names() -> None:
    with pytest.raises(UsageError, match="not a model") as caught:
        adapt(object(), "python:thing")
    for shape in ("generate(messages)", "generate(text, images)", "generate_answer(question)"):
        assert shape in caught.value.hint


def test_a_class_is_not_taken_for_the_model_that_it_makes() -> None:
    with pytest.raises(UsageError, match="TextAndImages is a class") as caught:
        adapt(TextAndImages, "python:type")
    assert "TextAndImages(...)" in caught.value.hint


def test_a_decorator_that_hides_async_does_no_harm() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(*args)

        return wrapper

    class Hidden:
        @logged
        async def generate(self, text: str, images: list[str]) -> str:
            found = await asyncio.to_thread(Path(images[0]).read_bytes)
            return f"{text} {found == picture('red')}"

    assert answer(Hidden(), request("Why?", image("red"))).text == "Why? True"


CONVERSATION = Request(
    messages=(
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "First?")),
        Message("assistant", ("Yes.",)),
        Message("user", (image("blue"), "Then?")),
    ),
    sample=sample(7),
)


def test_several_rounds_reach_a_multi_style_model_as_a_list() -> None:
    seen: list[dict[str, Any]] = []

    class Rounds:
        def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
            seen.append(question)
            return question | {"prediction": "B"}

    assert answer(Rounds(), CONVERSATION).text == "B"
    [question] = seen
    assert question["question_id"] == "q7"
    assert question["prompted_content_list"] == ["First?", "Then?"]
    assert question["prompted_system_content"] == "Be brief."
    assert "prompted_content" not in question
    assert question["question_image_number"] == len(question["image_list"]) == 2


def test_a_conversation_becomes_one_text_with_its_speakers() -> None:
    text = answer(TextAndImages(), CONVERSATION).text
    assert text == "system: Be brief.\n\nuser: First?\n\nassistant: Yes.\n\nuser: Then? 2"


def test_thinking_is_told_apart() -> None:
    class Thinking:
        def generate(self, text: str, images: list[str]) -> str:
            return "<think>hm</think>B"

    reply = answer(Thinking())
    assert (reply.text, reply.thinking) == ("B", "hm")
    assert reply.latency_s > 0


# -- pictures --------------------------------------------------------------------------------------


class Paths:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.read: list[bytes] = []

    def generate(self, text: str, images: list[str]) -> str:
        self.seen += images
        self.read += [Path(path).read_bytes() for path in images]
        return "B"


def test_a_picture_in_a_file_of_its_own_is_given_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.png"
    path.write_bytes(picture("red"))
    model = Paths()
    answer(model, request(image("red", path=str(path)), "?"))
    assert model.seen == [str(path)]
    assert path.exists()


def test_other_pictures_are_written_for_the_call_and_removed_after_it() -> None:
    model = Paths()
    answer(model, request(image("red"), image("blue", mime="image/jpeg"), image("red"), "?"))
    assert model.read == [picture("red"), picture("blue"), picture("red")]
    assert [Path(path).suffix for path in model.seen] == [".png", ".jpeg", ".png"]
    assert not any(Path(path).exists() or Path(path).parent.exists() for path in model.seen)


def test_pictures_are_removed_though_the_model_raises() -> None:
    seen: list[str] = []

    class Broken:
        def generate(self, text: str, images: list[str]) -> str:
            seen.extend(images)
            raise ValueError("no")

    with pytest.raises(ModelError):
        answer(Broken(), request(image(), "?"))
    assert not Path(seen[0]).exists()


def test_the_same_picture_in_many_threads_is_always_whole() -> None:
    model = Paths()
    put(adapt(model, "python:mine"), *[request(image("red"), "?")] * 50)
    assert model.read == [picture("red")] * 50


# -- what comes back -------------------------------------------------------------------------------


def returning(value: Any) -> Any:
    class Returning:
        def generate(self, text: str, images: list[str]) -> Any:
            return value

    return Returning()


@pytest.mark.parametrize("value", [None, 7, ["B"], b"B"])
def test_what_is_no_text_is_a_failure_that_names_it(value: Any) -> None:
    error = error_of(returning(value))
    assert f"returned {type(value).__name__}, not text" in error.message
    assert not error.is_fatal


def test_half_a_character_is_marked_and_the_answer_kept() -> None:
    assert answer(returning("B \ud83d!")).text == "B \ufffd!"
    assert answer(returning("B 😀")).text == "B 😀"


def test_a_reply_that_cannot_be_kept_is_a_failure() -> None:
    error = error_of(returning(Reply(text="B", evidence={"what": object()})))
    assert "cannot be stored" in error.message


def test_any_exception_is_that_samples_failure_told_in_full() -> None:
    class Raising:
        def generate(self, text: str, images: list[str]) -> str:
            raise RuntimeError("CUDA out of memory")

    error = error_of(Raising())
    assert error.message.startswith("python:mine raised RuntimeError: CUDA out of memory (")
    assert "test_python.py, line " in error.message
    assert (error.is_retryable, error.is_fatal) == (False, False)


def test_a_model_error_of_their_own_passes_as_it_is() -> None:
    class Busy:
        async def generate(self, messages: list[Message]) -> str:
            raise ModelError("busy", is_retryable=True, retry_after_s=3)

    error = error_of(Busy())
    assert (error.message, error.is_retryable, error.retry_after_s) == ("busy", True, 3)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("B", "must return the question"),
        ({"question_id": "q0"}, "must return the question"),
        ({"prediction": "", "feedback": "rate limited"}, "rate limited"),
        ({"prediction": ["A", "B"]}, "returned list"),
    ],
)
def test_a_multi_style_answer_without_a_prediction_is_a_failure(returned: Any, told: str) -> None:
    class Odd:
        def generate_answer(self, question: dict[str, Any]) -> Any:
            return returned

    assert told in error_of(Odd()).message


# -- how many at once ------------------------------------------------------------------------------


class Counting:
    def __init__(self, at_once: int) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()
        self._together = threading.Barrier(at_once, timeout=5)

    def generate(self, text: str, images: list[str]) -> str:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._together.wait()
        with self._lock:
            self._now -= 1
        return "B"


def test_plain_methods_run_as_many_at_once_as_the_run_allows() -> None:
    model = Counting(4)
    put(adapt(model, "python:mine", ModelSettings(concurrency=4)), *[request()] * 12)
    assert model.most == 4


def test_a_class_may_ask_for_less() -> None:
    class OneByOne(Counting):
        max_concurrency = 1

    model = OneByOne(1)
    put(adapt(model, "python:mine", ModelSettings(concurrency=8)), *[request()] * 8)
    assert model.most == 1


@pytest.mark.parametrize("shape", ["generate", "generate_answer"])
def test_a_class_may_state_its_capabilities(shape: str) -> None:
    stated = Capabilities(is_endpoint=True, takes_urls=True, max_concurrency=3)
    kind = type("Mine", (), {"capabilities": stated, shape: lambda self, messages: "A"})
    is_multi = shape == "generate_answer"
    expected = replace(stated, takes_rounds=is_multi, takes_messages=not is_multi, takes_urls=False)
    assert read_capabilities(adapt(kind(), "python:mine")) == expected, (
        "what it is called with is told by its shape"
    )


def test_an_attribute_of_that_name_may_mean_something_else() -> None:
    kind = type("Mine", (), {"capabilities": ["vision"], "generate": lambda self, messages: "A"})
    assert not read_capabilities(adapt(kind(), "python:mine")).is_endpoint


def test_an_async_class_may_ask_for_less_too() -> None:
    class TwoByTwo:
        max_concurrency = 2
        most = now = 0

        async def generate(self, messages: list[Message]) -> str:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return "B"

    model = TwoByTwo()
    put(adapt(model, "python:mine", ModelSettings(concurrency=8)), *[request()] * 8)
    assert model.most == 2


def test_closing_ends_the_threads_and_closes_the_object() -> None:
    class Closing(TextAndImages):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    class AsyncClosing(TextAndImages):
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    for model in (Closing(), AsyncClosing()):
        answer(model)
        assert model.is_closed
    assert no_thread_left()


@pytest.mark.slow
def test_a_call_that_never_returns_does_not_keep_the_program_from_ending() -> None:
    script = """
        import asyncio, threading
        from eyechart.models.python import adapt
        from eyechart.types import Message, Request, Sample

        class Hanging:
            def generate(self, text, images):
                threading.Event().wait()

        async def work():
            model = adapt(Hanging(), "python:hanging")
            request = Request(messages=(Message("user", ("?",)),), sample=Sample(id="1", question="?"))
            try:
                async with asyncio.timeout(0.1):
                    await model.reply(request)
            except TimeoutError:
                print("gave up")
            await model.close()

        asyncio.run(work())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("gave up\n", "")


# -- files -----------------------------------------------------------------------------------------

MINE = """
    class Mine:
        def __init__(self, greeting="hello", times=1):
            self.said = " ".join([greeting] * times)

        def generate(self, text, images):
            return self.said

    def make(greeting="made"):
        return Mine(greeting)

    ready = Mine("ready")
"""


def test_a_class_a_factory_and_an_object_can_be_named(write: Callable[..., str]) -> None:
    for what, said in (("Mine", "hello"), ("make", "made"), ("ready", "ready")):
        assert put(made(write(MINE, what)), request())[0].text == said


@pytest.mark.parametrize(
    "signature",
    [
        "text, images", "text, images=None", "prompt, image_paths=()", "text, images=None, *, seed=0",
        "question, image=None, temperature=0.1", "text=None, images=None", "messages", "messages=None",
    ],
)  # fmt: skip
@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_function_that_answers_is_a_model_and_not_a_factory(
    write: Callable[..., str], word: str, signature: str
) -> None:
    assert put(made(write(f"{word} m({signature}):\n    return 'B'", "m")), request())[0].text == "B"
    method = f"class Mine:\n    {word} NAME(self, {signature}):\n        return 'B'"
    for name in ("generate", "__call__"):
        assert put(made(write(method.replace("NAME", name), file=f"{name}.py")), request())[0].text == "B"


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("text", "called with messages"),  # as a model, which gets no images; not as a factory
        ("text, weights=None", "could not be created"),
        ("weights", "could not be created"),
    ],
)
def test_a_function_of_other_arguments_is_refused(
    write: Callable[..., str], signature: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        made(write(f"def m({signature}):\n    return 'B'", "m"))


def test_a_factory_may_have_a_text_and_images_among_its_settings(write: Callable[..., str]) -> None:
    source = MINE + "\n    def of(prompt='p', image_size=2):\n        return Mine(prompt * image_size)\n"
    assert put(made(write(source, "of")), request())[0].text == "pp"
    assert put(made(write(source, "of"), image_size=3), request())[0].text == "ppp"


def test_parameters_reach_the_class_and_its_identity(write: Callable[..., str]) -> None:
    model = made(write(MINE), greeting="hi", times=2)
    assert model.identity["greeting"] == "hi"
    assert put(model, request())[0].text == "hi hi"


@pytest.mark.parametrize("what", ["Mine", "make", "ready"])
def test_unknown_parameters_are_refused(write: Callable[..., str], what: str) -> None:
    with pytest.raises(UsageError, match="no parameter 'greting'") as caught:
        made(write(MINE, what), greting="hi")
    assert ("did you mean greeting?" in caught.value.hint) == (what != "ready")


def test_a_class_that_takes_anything_gets_anything(write: Callable[..., str]) -> None:
    source = """
        class Mine:
            def __init__(self, **options):
                self.options = options
            def generate(self, text, images):
                return str(self.options)
    """
    assert put(made(write(source), temperature=0), request())[0].text == "{'temperature': 0}"


def test_a_missing_argument_is_told_with_the_flag_that_gives_it(write: Callable[..., str]) -> None:
    source = """
        class Mine:
            def __init__(self, weights):
                self.weights = weights
            def generate(self, text, images):
                return "B"
    """
    with pytest.raises(UsageError, match="weights") as caught:
        made(write(source))
    assert "--param" in caught.value.hint


def test_a_missing_class_is_told_with_what_is_there(write: Callable[..., str]) -> None:
    with pytest.raises(UsageError, match="has no 'Yours'") as caught:
        made(write(MINE, "Yours"))
    assert caught.value.hint == "it holds: Mine, make, ready"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module\n", "no_such_module"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("raise SystemExit(3)\n", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_a_usage_error(
    write: Callable[..., str], source: str, told: str
) -> None:
    before = set(sys.modules)
    with pytest.raises(UsageError, match=told):
        made(write(source))
    assert not [name for name in set(sys.modules) - before if name.startswith("eyechart_user_mine")]


def test_a_missing_file_or_class_name_is_told_with_the_form(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file") as caught:
        made(f"python:{tmp_path / 'none.py'}:Mine")
    assert "python:path/to/file.py:Class" in caught.value.hint
    with pytest.raises(UsageError, match="names no class"):
        made("python:mine.py")


def test_neighbours_of_the_file_can_be_imported(write: Callable[..., str]) -> None:
    write("WORD = 'from next door'\n", file="neighbour_of_mine.py")
    source = """
        from neighbour_of_mine import WORD

        class Mine:
            def generate(self, text, images):
                return WORD
    """
    assert put(made(write(source)), request())[0].text == "from next door"


def test_modules_of_the_working_folder_can_be_imported(
    write: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("WORD = 'from above'\n", file="module_above_mine.py")
    source = """
        from module_above_mine import WORD

        class Mine:
            def generate(self, text, images):
                return WORD
    """
    assert put(made(write(source, file="below/mine.py")), request())[0].text == "from above"
    assert put(made("python:below.mine:Mine"), request())[0].text == "from above"


def test_dataclasses_in_the_file_find_themselves(write: Callable[..., str]) -> None:
    source = """
        from __future__ import annotations
        from dataclasses import dataclass

        @dataclass
        class Mine:
            word: str = "B"
            def generate(self, text, images):
                return self.word
    """
    assert put(made(write(source), word="C"), request())[0].text == "C"


def test_a_class_in_an_installed_package_can_be_named() -> None:
    with pytest.raises(UsageError, match="is not a model"):
        made("python:collections:OrderedDict")
    with pytest.raises(UsageError, match="cannot import 'no_such_package'"):
        made("python:no_such_package:Mine")


def test_the_identity_changes_when_the_class_is_edited(write: Callable[..., str]) -> None:
    one = dict(made(write(MINE, file="one.py")).identity)
    two = dict(made(write(MINE.replace("return self.said", "return 'B'"), file="two.py")).identity)
    assert one["source_sha256"] != two["source_sha256"]


def test_two_files_of_the_same_name_keep_their_own_source(write: Callable[..., str]) -> None:
    other = MINE.replace("return self.said", "return 'other'")
    one = made(write(MINE, file="a/model.py"))
    before = dict(one.identity)
    two = made(write(other, file="b/model.py"))
    assert one.identity == before
    assert one.identity["source_sha256"] != two.identity["source_sha256"]
    assert put(one, request())[0].text == "hello"
    assert put(two, request())[0].text == "other"


class Favourite:
    def __init__(self, letter: str) -> None:
        self._letter = letter
        self._client = object()

    def generate(self, text: str, images: list[str]) -> str:
        return self._letter


class Slotted:
    __slots__ = ("letter",)

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def generate(self, text: str, images: list[str]) -> str:
        return self.letter


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Favourite, Slotted])
def test_objects_that_hold_different_things_are_different_models(kind: Callable[[str], Any]) -> None:
    def identity(letter: str) -> dict[str, Any]:
        return dict(adapt(kind(letter), "python:mine", is_ready_made=True).identity)

    assert identity("A") == identity("A")
    assert identity("A") != identity("secret")
    assert "secret" not in str(identity("secret"))


def test_the_identity_stays_while_the_object_changes() -> None:
    thing = Favourite("A")
    model = adapt(thing, "python:mine", is_ready_made=True)
    before = dict(model.identity)
    thing._letter = "B"
    assert model.identity == before


class Leaves:
    def generate(self, text: str, images: list[str]) -> str:
        sys.exit(0)


class LeavesAsync:
    async def generate(self, messages: list[Message]) -> str:
        sys.exit(0)


@pytest.mark.parametrize("thing", [Leaves(), LeavesAsync()], ids=["sync", "async"])
def test_a_model_that_ends_the_program_fails_its_sample_instead(thing: Any) -> None:
    assert "SystemExit" in str(error_of(thing))


def test_a_constructor_that_ends_the_program_is_told(write: Callable[..., str]) -> None:
    source = """
        class Mine:
            def __init__(self):
                raise SystemExit("usage: mine --weights FILE")
            def generate(self, text, images):
                return "B"
    """
    with pytest.raises(UsageError, match="usage: mine"):
        made(write(source))


class Panics:
    def generate(self, text: str, images: list[str]) -> str:
        raise BaseException("a panic in Rust")  # which extension modules raise


class GivesUp:
    async def generate(self, messages: list[Message]) -> str:
        raise asyncio.CancelledError


class RunsOut:
    def generate(self, text: str, images: list[str]) -> str:
        return next(iter(images))


@pytest.mark.parametrize(
    ("thing", "told"),
    [(Panics(), "a panic in Rust"), (GivesUp(), "CancelledError"), (RunsOut(), "StopIteration")],
)
def test_what_is_no_exception_or_no_future_can_hold_is_a_failure_too(thing: Any, told: str) -> None:
    assert told in str(error_of(thing))


class Waits:
    async def generate(self, messages: list[Message]) -> str:
        await asyncio.sleep(5)
        return "late"


@pytest.mark.parametrize("thing", [Messages(), Waits()])
def test_a_request_that_is_given_up_is_no_failure_of_the_model(thing: Any) -> None:
    async def work() -> None:
        model = adapt(thing, "python:mine")
        asking = asyncio.create_task(model.reply(request()))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await model.close()

    asyncio.run(work())


class NoArguments:
    def generate(self) -> str:
        return "A"


class ThreeArguments:
    def generate(self, system: str, text: str, images: list[str]) -> str:
        return "A"


class Keywords:
    def generate(self, *, text: str, images: list[str]) -> str:
        return "A"


class TwoQuestions:
    def generate_answer(self, question: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return question


@pytest.mark.parametrize("thing", [NoArguments(), ThreeArguments(), Keywords(), TwoQuestions()])
def test_a_method_that_could_never_be_called_is_refused_at_once(thing: Any) -> None:
    with pytest.raises(UsageError, match=r"python:mine: generate\w*\(.*\).* cannot be called: ") as caught:
        adapt(thing, "python:mine")
    assert "generate(text, images)" in caught.value.hint


class ImagesFirst:
    def generate(self, images: list[str], text: str) -> str:
        return "A"


class TextAlone:
    def generate(self, prompt: str) -> str:
        return "A"


@pytest.mark.parametrize("thing", [ImagesFirst(), TextAlone()])
def test_a_method_whose_names_say_that_it_takes_something_else_is_refused(thing: Any) -> None:
    with pytest.raises(UsageError, match=r"python:mine: generate\(.*\) is called with ") as caught:
        adapt(thing, "python:mine")
    assert "generate(text, images)" in caught.value.hint


def test_a_method_that_takes_an_image_gets_one_path() -> None:
    class OneImage:
        def generate(self, text: str, image: str) -> str:
            return str(len(Path(image).read_bytes()))

    assert answer(OneImage(), request(image("red"), "?")).text == str(len(picture("red")))
    with pytest.raises(ModelError, match="takes one path"):
        answer(OneImage(), request(image("red"), image("blue"), "?"))


class Written:
    generate = dict.fromkeys  # in C


def test_a_method_that_does_not_say_what_it_takes_is_called() -> None:
    assert "returned dict" in str(error_of(Written()))


@pytest.mark.parametrize("said", ["two", float("inf"), [1]])
def test_a_concurrency_that_is_no_number_is_told(said: Any) -> None:
    class Odd(Messages):
        max_concurrency = said

    with pytest.raises(UsageError, match="python:mine: max_concurrency is"):
        adapt(Odd(), "python:mine")


def test_an_answer_is_not_lost_to_an_object_that_cannot_be_closed(capsys: pytest.CaptureFixture[str]) -> None:
    class Stuck(Messages):
        def close(self) -> None:
            raise OSError("still in use")

    assert answer(Stuck()).text
    assert capsys.readouterr().err == "python:mine could not be closed: OSError: still in use\n"


ANSWERING = {
    "text and images": "def f(text, images): return f'{text} {len(images)}'\n",
    "other names": "def f(q, img_paths): return f'{q} {len(img_paths)}'\n",
    "messages": "def f(messages): return f'{messages[-1].text} {len(messages[-1].images)}'\n",
    "async": "async def f(messages): return f'{messages[-1].text} {len(messages[-1].images)}'\n",
    "with a default": "def f(text, images, tail=''): return f'{text} {len(images)}{tail}'\n",
}


@pytest.mark.parametrize("source", ANSWERING.values(), ids=ANSWERING)
def test_a_function_that_answers_is_a_model(source: str, write: Callable[..., str]) -> None:
    assert put_one(made(write(source, "f"))).text == "Which? 0"


def test_a_parameter_of_a_function_that_answers_is_given_with_the_question(write: Callable[..., str]) -> None:
    place = write(ANSWERING["with a default"], "f")
    assert put_one(made(place, tail="!")).text == "Which? 0!"
    assert made(place, tail="!").identity != made(place, tail="?").identity
    with pytest.raises(UsageError, match="no parameter 'tial'"):
        made(place, tial="!")


@pytest.mark.parametrize("source", ["def f(weights): ...\n", "def f(weights, device): ...\n"])
def test_a_function_that_makes_a_model_is_not_taken_for_one(source: str, write: Callable[..., str]) -> None:
    with pytest.raises(UsageError, match="could not be created") as caught:
        made(write(source, "f"))
    assert "a function that answers itself takes (text, images)" in caught.value.hint


def test_functions_at_hand_are_told_apart_by_what_they_hold() -> None:
    def say(letter: str) -> Callable[..., str]:
        def answer_all(text: str, images: list[str]) -> str:
            return letter

        return answer_all

    one, same, other = (adapt(say(letter), "python:f", is_ready_made=True) for letter in "AAB")
    assert put_one(one).text == "A"
    assert one.identity == same.identity != other.identity
    first, second = (
        adapt(partial(lambda text, images, letter: letter, letter=letter), "python:f", is_ready_made=True)
        for letter in "AB"
    )
    assert put_one(second).text == "B"
    assert first.identity != second.identity


def test_what_is_called_with_something_else_is_no_model() -> None:
    for thing in (lambda: "A", lambda a, b, c: "A", 7, "A"):
        with pytest.raises(UsageError):
            adapt(thing, "python:f", is_ready_made=True)


def test_a_key_in_a_function_is_in_no_error() -> None:
    def make(api_key: str) -> Callable[..., str]:
        def fail(text: str, images: list[str]) -> str:
            raise RuntimeError(f"refused: {api_key}")

        return fail

    with pytest.raises(ModelError) as caught:
        put_one(adapt(make("sk-hunter2hunter2"), "python:f", is_ready_made=True))
    assert "hunter2" not in str(caught.value)


def test_a_class_that_finds_no_gpu_is_told_of_another_device(write: Callable[..., str]) -> None:
    text = (
        "class C:\n def __init__(self, device_map):\n  raise AssertionError('Torch not compiled with CUDA')\n"
    )
    with pytest.raises(UsageError, match="Torch not compiled") as caught:
        made(write(text, "C"), device_map="cuda:0")
    assert "--param device_map=cpu" in caught.value.hint


def test_a_class_that_is_nearly_named_is_suggested(write: Callable[..., str]) -> None:
    with pytest.raises(UsageError, match="has no 'Mime'") as caught:
        made(write("import os\n" + MINE.replace("\n    ", "\n"), "Mime"))
    assert caught.value.hint == "did you mean Mine?"


def test_files_are_made_for_images_in_no_file_only_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a process that is killed leaves no empty folders behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    class Looks:
        def generate(self, text: str, images: list[str]) -> str:
            assert all(Path(one).is_file() for one in images)
            return f"{len(images)} {len([*tmp_path.iterdir()])}"

    class Reads:
        def generate(self, messages: list[Message]) -> str:
            return str(len([*tmp_path.iterdir()]))

    assert answer(Reads(), request("?", image())).text == "0", "it is given no files"
    assert answer(Looks(), request("?", image())).text == "1 1"
    assert answer(Looks(), request("?", image(path=__file__))).text == "1 0"
    assert answer(Looks(), request("?")).text == "0 0"
    assert not [*tmp_path.iterdir()]
