import builtins
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.errors import MissingExtra
from eyechart.score.multi import rouge, score
from eyechart.score.multi.rouge import rouge_l, tokens

WORDS = [
    "今天", "天气", "不错", "。", "！", "？", "?", "”", "’", "……", "......", ".......", "\n", "\n\n", " ",
    "\r\n", "\t", "\u3000", "，", "abc", "3.5%", "C++", "光的折射",
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), min_size=1, max_size=12).map("".join)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(texts, texts)
@example("......" * 3 + "a", ".............b")
@example("第一段。\n\n第二段。", "第一段。第二段。")
def test_as_the_official_packages(prediction: str, label: str) -> None:
    theirs = pytest.importorskip("rouge_chinese").Rouge()
    said, wanted = (" ".join(rouge._tokenizer().cut(text.strip())) for text in (prediction, label))
    if said.strip() and wanted.strip():
        official = theirs.get_scores(said, wanted, avg=True)["rouge-l"]["f"]
        assert rouge_l(prediction.strip(), label.strip()) == pytest.approx(official, abs=1e-9)


def test_the_words_are_those_of_jieba() -> None:
    text = "小明硕士毕业于中国科学院计算所，后在日本京都大学深造。"
    # What jieba 0.42.1 prints for its own example.
    assert tokens(text) == [
        "小明", "硕士", "毕业", "于", "中国科学院", "计算所", "，", "后", "在", "日本京都大学", "深造", "。",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_said_scores_nothing(text: str) -> None:
    assert rouge_l(text, "光") == rouge_l("光", text) == 0


def test_long_texts_are_fast() -> None:
    said, wanted = "光的折射使光线改变方向。" * 1500, "光线在水面改变方向！" * 1500
    assert 0 < rouge_l(said, wanted) < 1


def test_jieba_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("jieba"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    rouge._tokenizer.cache_clear()
    with pytest.raises(MissingExtra, match=r"open questions(?s:.*)eyechart\[multi\]"):
        score("光", "光的折射", "OP")
    # What needs no words is scored all the same.
    assert (score("", "光", "OP"), score("光", "", "OP"), score("B", "B", "SA")) == ((0, 1), (0, 0), (1, 1))


@pytest.mark.slow
def test_cutting_words_is_silent_and_leaves_nothing_behind(tmp_path: Any) -> None:
    code = "from eyechart.score.multi import score; score('光的折射', '光', 'OP')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("", "", [])
