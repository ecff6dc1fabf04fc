"""``eyechart model check``: six questions for everybody, MULTI's kinds for those who are to answer them."""

import asyncio
import io
from pathlib import Path

import pytest

from eyechart.cli.model import _check
from eyechart.errors import ModelError
from eyechart.models.checkup import list_cases
from eyechart.types import Request
from support.command import eyechart
from support.parts import ScriptedModel
from support.server import Asked, Server

EVALUATOR = """
class XEvaluator:
    def __init__(self, device_map="cpu"):
        pass

    def generate_answer(self, question):
        if "image_list" in question and "prompted_content_list" not in question:
            return question | {"prediction": "", "feedback": "it takes no pictures"}
        return question | {"prediction": "B"}
"""


def knows_words(asked: Asked) -> str:
    return "B" if "triangle" in asked.text or "三角形" in asked.text else "yellow"


@pytest.mark.slow
def test_an_endpoint_is_asked_six_questions_unless_more_are_wanted(tmp_path: Path) -> None:
    with Server(knows_words) as server:
        usual = ("model", "check", "openai/m", "--base-url", server.base_url, "--json")
        six = eyechart(*usual, cwd=tmp_path)
        assert six.code == 1
        assert list(six.json["abilities"]) == [
            "text only", "one picture", "multiple choice", "several pictures", "multi-round",
            "very large picture",
        ]  # fmt: skip
        assert len(server.asked) == 7  # the conversation has two rounds
        assert six.json["abilities"]["text only"] == "yes"
        assert six.json["expected"]["several pictures"] == "green"
        assert set(six.json["conclusions"].values()) == {"not known"}  # it said yellow to all of them
        server.asked.clear()
        more = eyechart(*usual, "--multi", "--lang", "en", cwd=tmp_path)
        assert more.json["conclusions"] == {
            "sees pictures": "no",
            "tells several pictures apart": "no",
            "remembers earlier rounds": "not known",
        }
        assert more.json["abilities"]["single choice in words (en)"] == "yes"
        assert len(more.json["abilities"]) == 6 + 11
        assert set(more.json["answered"].values()) == {True}
        systems = [asked for asked in server.asked if asked.body["messages"][0]["role"] == "system"]
        assert len(systems) == 11 + 3  # every one of MULTI's, and what rounds add
        assert "triangle" not in str(systems[0].body["messages"][0])


@pytest.mark.slow
def test_an_evaluator_class_is_asked_everything(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EVALUATOR, encoding="utf-8")
    done = eyechart("model", "check", "python:mine.py:XEvaluator", cwd=tmp_path)
    assert done.code == 1
    rows = {line.partition("  ")[0]: line for line in done.out.splitlines()}
    assert "yes" in rows["single choice in words (zh)"]
    assert "yes" in rows["single choice in words (en)"]
    assert "it takes no pictures" in rows["blank on an image (en)"]
    assert rows["two images in rounds (zh)"].split()[-2:] == ["B", "C"]  # what it said, what is right
    assert "answered: 14 of 28, 2 correctly" in done.out
    assert "sees images: no" in done.out
    assert "does not work: one image," in done.out


@pytest.mark.parametrize("said", [["--lang", "zh"], ["--lang", "fr"]])
def test_a_language_is_that_of_multi(tmp_path: Path, said: list[str]) -> None:
    done = eyechart("model", "check", "openai/m", "--base-url", "http://127.0.0.1:9/v1", *said, cwd=tmp_path)
    assert done.code == 2
    assert "--lang" in done.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_a_terminal_shows_what_is_asked_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(request: Request) -> str:
        if request.sample.id == "check:one picture":
            raise ModelError("no such key", is_fatal=True)
        return "yellow"

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    with pytest.raises(ModelError, match="no such key"):
        asyncio.run(_check(ScriptedModel(dies), list_cases(), 9.0))
    clear = "\r\x1b[K"
    assert shown.getvalue() == f"{clear}1 of 6: text only\r{clear}2 of 6: one image\r{clear}\r"


TESTED = """
from pathlib import Path

class MyEvaluator:
    def __init__(self, model_dir, device_map):
        Path("made.txt").write_text(f"{model_dir} {device_map}")

    def generate_answer(self, question):
        with open("asked.txt", "a", encoding="utf-8") as log:
            log.write(f"{len(question.get('prompted_content_list', ['']))}\\n")
        return question | {"prediction": "A"}
"""
ARGS = (
    "model_list = {'mymodel': {'model_type': 'local', 'executor': 'mymodel', 'evaluator': 'MyEvaluator'}}\n"
)


@pytest.mark.slow
def test_the_arguments_of_multis_own_tester_are_taken(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mymodel.py").write_text(TESTED, encoding="utf-8")
    (tmp_path / "args.py").write_text(ARGS, encoding="utf-8")
    done = eyechart(
        "model", "check", "--model", "mymodel", "--model_dir", "weights", "--cuda_device", "cpu",
        "--lang", "zh", "--in_turn", "--input_type", 2, "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 1, done.err
    assert (tmp_path / "made.txt").read_text() == "weights cpu"
    assert len(done.json["abilities"]) == 6 + 7
    assert set(done.json["conclusions"].values()) == {"not known"}, "it always says the same"
    assert (tmp_path / "asked.txt").read_text().split().count("2") == 1 + 2  # ours, and MULTI's two in rounds


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([], "no model given"),
        (["openai/m", "--in_turn"], "add --multi"),
        (["openai/m", "--model", "gpt-4o"], "two models"),
        (["--model", "nonsense"], "is not in the original's list"),
        (["openai/m", "--cuda_device", "cpu"], "--cuda_device does not apply"),
    ],
)
def test_the_testers_arguments_are_refused_where_they_mean_nothing(
    tmp_path: Path, said: list[str], words: str
) -> None:
    done = eyechart("model", "check", *said, cwd=tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert done.code == 2
    assert words in done.err
