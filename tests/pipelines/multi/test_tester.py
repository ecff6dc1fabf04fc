"""MULTI's kinds of questions as a check: who sees and remembers passes, who does not is found out."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from eyechart.models.checkup import CheckCase, CheckResult, check_model, draw_conclusions
from eyechart.models.checkup import list_cases as plain_cases
from eyechart.models.python import adapt
from eyechart.pipelines.multi.tester import LANGUAGES, make_cases
from eyechart.types import MODELS_TURN, Image

COLOURS = {
    (255, 0, 0): "red",
    (0, 0, 255): "blue",
    (0, 128, 0): "green",
    (255, 255, 0): "yellow",
    (0, 0, 0): "black",
}
NAMES = {"red": ("红", "A"), "blue": ("蓝", "B"), "green": ("绿", "C"), "yellow": ("黄", "D")}


def colour_of(path: str) -> str:
    with Pictures.open(path) as opened:
        corner = opened.convert("RGB").getpixel((0, 0))
    assert isinstance(corner, tuple)
    return COLOURS[corner[0], corner[1], corner[2]]


class Sighted:
    """Answers by what it reads and sees; in rounds, of what it was shown first."""

    remembers = True

    def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
        images = [path for path in question.get("image_list", []) if path]
        rounds = question.pop("prompted_content_list", None)
        text = "\n".join(rounds) if rounds else question.pop("prompted_content")
        text = question.pop("prompted_system_content", "") + text
        if rounds and not self.remembers:
            images = images[-1:]
        question["prediction"] = self.answer(text, [colour_of(path) for path in images])
        return question

    def answer(self, text: str, seen: list[str]) -> str:
        if "[MASK]" in text.rpartition("\n\n")[2] and ("狗" in text or "dog" in text):
            return "4\n2"
        words = {
            "三角形": "B",
            "triangle": "B",
            "可以吃": "AC",
            "eaten": "AC",
            "一加一": "C",
            "one and one": "C",
        }
        for known, answer in words.items():
            if known in text:
                return answer
        if "气球" in text or "balloon" in text:
            return "D" if "黄色的气球" in text or "a yellow balloon" in text else "?"
        colour = seen[0] if seen else "none"
        chinese, letter = NAMES.get(colour, ("?", "?"))
        if "A. 红色" in text or "A. red" in text:
            return letter
        return f"我的分析如下：{chinese}色" if "说说" in text else chinese if "汉字" in text else colour


class Forgetful(Sighted):
    remembers = False


class Blind(Sighted):
    def answer(self, text: str, seen: list[str]) -> str:
        return super().answer(text, [])


def check(
    model: Any, lang: Any = "zh", *, split_sys: bool = False, cases: list[CheckCase] | None = None
) -> list[CheckResult]:
    async def work() -> list[CheckResult]:
        asked, adapted = cases or make_cases(lang, split_sys=split_sys), adapt(model, "python:Sighted")
        try:
            return [found async for found in check_model(adapted, asked=asked)]
        finally:
            await adapted.close()

    return asyncio.run(work())


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("split_sys", [False, True])
def test_who_sees_and_remembers_passes(lang: Any, split_sys: bool) -> None:
    found = check(Sighted(), lang, split_sys=split_sys)
    assert {one.ability: one.said for one in found if one.verdict != "yes"} == {}
    assert set(draw_conclusions(found).values()) == {"yes"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_who_forgets_is_found_out(lang: Any) -> None:
    found = draw_conclusions(check(Forgetful(), lang))
    assert found == {
        "sees pictures": "yes",
        "tells several pictures apart": "yes",
        "remembers earlier rounds": "no",
    }


@pytest.mark.parametrize("lang", LANGUAGES)
def test_who_is_blind_answers_words_alone(lang: Any) -> None:
    found = check(Blind(), lang)
    assert draw_conclusions(found) == {
        "sees pictures": "no",
        "tells several pictures apart": "no",
        "remembers earlier rounds": "not known",  # the rounds are about images
    }
    assert [one.ability for one in found if one.verdict == "yes"] == [
        f"{name} ({lang})"
        for name in (
            "single choice in words",
            "multiple choice in words",
            "blanks in words",
            "words beside a black image",
            "caption for an image",
        )
    ]


@pytest.mark.parametrize("said", ["A", "B", "C", "D", "AC", "红", "red", "blue", "4\n2"])
def test_one_answer_to_everything_shows_nothing_even_where_it_is_right(said: str) -> None:
    class Constant:
        def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
            return question | {"prediction": said}

    asked = [*plain_cases(), *make_cases("zh"), *make_cases("en")]
    found = check(Constant(), cases=asked)
    assert set(draw_conclusions(found).values()) == {"not known"}
    assert said != "A" or not [one for one in found if one.verdict == "yes" and one.skill]


@pytest.mark.parametrize("said", ["B", "C", "D"])
def test_one_answer_to_all_but_rounds_is_right_by_luck(said: str) -> None:
    class NearlyConstant:
        def generate_answer(self, question: dict[str, Any]) -> dict[str, Any]:
            return question | {"prediction": "AB" if "prompted_content_list" in question else said}

    for asked in (make_cases("zh"), [*plain_cases(), *make_cases("zh"), *make_cases("en")]):
        found = check(NearlyConstant(), cases=asked)
        assert any(one.verdict == "yes" and one.skill for one in found) == (said != "D")
        assert draw_conclusions(found)["sees pictures"] == "no"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_testers_arguments_change_the_prompts(lang: Any) -> None:
    rounds = {one.ability: one for one in make_cases(lang, input_type=2, options={"in_turn": True})}
    assert rounds[f"two images at once ({lang})"].turns.count(MODELS_TURN) == 1
    assert len(rounds) == 7
    assert len(make_cases(lang, input_type=0)) == 3
    plain, shot = make_cases(lang)[0], make_cases(lang, options={"few_shot": 1, "cot": True})[0]
    assert len(shot.turns[0].text) > len(plain.turns[0].text)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_cases_hold_what_they_say(lang: Any) -> None:
    cases = {one.ability.removesuffix(f" ({lang})"): one for one in make_cases(lang)}
    assert len(cases) == len(make_cases(lang))
    n_images = {
        name: sum(isinstance(part, Image) for turn in case.turns for part in turn.parts)
        for name, case in cases.items()
    }
    assert n_images["single choice in words"] == n_images["caption for an image"] == 0
    assert n_images["words beside a black image"] == n_images["blank on an image"] == 1
    assert n_images["two images at once"] == n_images["two images in rounds"] == 2
    assert [case.turns.count(MODELS_TURN) for case in cases.values()] == [0] * 9 + [1, 2]
    assert all(not re.search(r"\(\w\w\)|,", name) for name in cases)  # names can be listed
    assert all(case.is_right(case.expected.replace("; ", "\n").split("或")[0]) for case in cases.values())
    assert not any(case.is_right("") for case in cases.values())


def test_no_file_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    check(Sighted(), "en")
    assert list(tmp_path.iterdir()) == []
