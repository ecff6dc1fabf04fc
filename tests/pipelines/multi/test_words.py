"""The words of MULTI's prompts: complete in both languages, and a user's to replace."""

import json
from pathlib import Path

import pytest

from eyechart.errors import UsageError
from eyechart.pipelines.multi.files import MARK
from eyechart.pipelines.multi.prompt import NAMES, WORDS, Language, read_words


def test_both_languages_have_the_same_pieces() -> None:
    assert tuple(WORDS["en"]) == tuple(WORDS["zh"]) == NAMES


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_pieces_leave_line_breaks_and_numbered_marks_to_the_structure(lang: Language) -> None:
    for name, text in WORDS[lang].items():
        assert text == text.strip(), name
        assert not MARK.search(text), name


def test_what_scoring_looks_for_is_in_the_words() -> None:
    zh, en = WORDS["zh"], WORDS["en"]
    for name in ("guide_caption", "guide_no_image"):
        assert "缺少图片信息" in zh[name]
        assert "Lack of image information" in en[name]
    assert "我的分析如下：" in zh["instruction_op"]
    assert "My analysis is as follows:" in en["instruction_op"]
    assert zh["ending_cot"].endswith("所以这道题的答案为：{…}")
    assert en["ending_cot"].endswith("{…}")
    assert "[MASK]" in zh["instruction_fb"]
    assert "[MASK]" in en["instruction_fb"]
    for name in ("{subject}", "{type}"):
        assert name in zh["role"]
        assert name in en["role"]


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_replaces_the_pieces_that_it_names(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"words{suffix}"
    file.write_text(json.dumps({"ending": "\n直接回答。\n", "knowledge": "参考："}), encoding="utf-8")
    words = read_words(file, "zh")
    assert (words["ending"], words["knowledge"]) == ("直接回答。", "参考：")
    assert words["role"] == WORDS["zh"]["role"]


def test_a_file_may_hold_both_languages(tmp_path: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text("zh:\n  ending: 回答。\nen:\n  ending: Answer.\n", encoding="utf-8")
    assert read_words(file, "zh")["ending"] == "回答。"
    assert read_words(file, "en")["ending"] == "Answer."
    file.write_text("zh:\n  ending: 回答。\n", encoding="utf-8")
    assert read_words(file, "en") == WORDS["en"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("endng: x", "unknown piece of MULTI's prompt 'endng'"),
        ("ending: 7", "'ending' is int, not text"),
        ("- ending", "does not map names"),
        ("zh: [a]", "does not map names"),
        ("ending: [", "cannot be read"),
        ("", "does not map names"),
    ],
)
def test_a_file_that_holds_something_else(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=str(file)) as caught:
        read_words(file, "zh")
    assert told in caught.value.message


def test_a_slip_in_a_name_is_met_with_the_near_one(tmp_path: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text("guide_imagee: x", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_words(file, "zh")
    assert "guide_image" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be read"):
        read_words(tmp_path / "none.yaml", "zh")
