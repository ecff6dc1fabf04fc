import builtins
import itertools
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart import registry
from eyechart.errors import MissingExtra
from eyechart.pipelines.multi.score import compute_rouge_l, score, split_tokens
from eyechart.score import chinese_words
from eyechart.types import Reply, Sample

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
    said, wanted = (" ".join(chinese_words._tokenizer().cut(text.strip())) for text in (prediction, label))
    if said.strip() and wanted.strip():
        official = theirs.get_scores(said, wanted, avg=True)["rouge-l"]["f"]
        assert compute_rouge_l(prediction.strip(), label.strip()) == pytest.approx(official, abs=1e-9)


def test_the_words_are_those_of_jieba() -> None:
    text = "小明硕士毕业于中国科学院计算所，后在日本京都大学深造。"
    # What jieba 0.42.1 prints for its own example.
    assert split_tokens(text) == [
        "小明", "硕士", "毕业", "于", "中国科学院", "计算所", "，", "后", "在", "日本京都大学", "深造", "。",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_said_scores_nothing(text: str) -> None:
    assert compute_rouge_l(text, "光") == compute_rouge_l("光", text) == 0


def test_long_texts_are_fast() -> None:
    said, wanted = "光的折射使光线改变方向。" * 1500, "光线在水面改变方向！" * 1500
    assert 0 < compute_rouge_l(said, wanted) < 1


HOSTILE = [
    "选", "或", "亿", "略。", "天气", "选A", "选 ", "答案为：", "a", "1", ".", "。", "\n", "；",
    "Thought，持续 1", "\\boxed{\\text{", "缺少图片信",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        pytest.param("OP", HOSTILE, marks=pytest.mark.slow),
        *[(kind, HOSTILE) for kind in ("SA", "MA", "FB", "other")],
    ],
)
def test_no_scorer_is_slow_on_a_reply_of_full_length(
    kind: str, pieces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """jieba's path through a run of unknown characters is the one step that is not linear."""
    finalseg = pytest.importorskip("jieba.finalseg")
    really, runs = finalseg.viterbi, [0]

    def watched(run: str, *rest: Any) -> Any:
        runs.append(len(run))
        return really(run, *rest)

    monkeypatch.setattr(finalseg, "viterbi", watched)
    scorers = [name for name in registry.scorers.names() if name.startswith("multi")]
    assert len(scorers) >= 10
    sample = Sample(id="1", question="", golds=("光或选的折射" * 40,), meta={"question_type": kind})
    # Every piece and every scorer; all pairs of open questions would take half a minute.
    n_pairs = max(len(pieces), len(scorers))
    for name, piece in itertools.islice(
        zip(itertools.cycle(scorers), itertools.cycle(pieces), strict=False), n_pairs
    ):
        began = time.process_time()
        registry.scorers.get(name)(Reply(text=piece * (50_000 // len(piece))), sample)
        assert time.process_time() - began < 20.0, (name, piece)  # less than a second, unless it hangs
    assert max(runs) == (2000 if kind == "OP" else 0)


def test_a_cut_moves_no_word_of_what_has_punctuation() -> None:
    text = "光的折射使光线改变方向，小明硕士毕业于中国科学院计算所。" * 400
    assert len(text) > 10_000
    assert [
        word for piece in chinese_words._split_runs(text) for word in chinese_words._tokenizer().cut(piece)
    ] == [*chinese_words._tokenizer().cut(text)]


def test_jieba_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("jieba"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    chinese_words._tokenizer.cache_clear()
    with pytest.raises(MissingExtra, match=r"Chinese text(?s:.*)eyechart\[multi\]"):
        score("光", "光的折射", "OP")
    # What needs no words is scored all the same.
    assert (score("", "光", "OP"), score("光", "", "OP"), score("B", "B", "SA")) == ((0, 1), (0, 0), (1, 1))


@pytest.mark.slow
def test_cutting_words_is_silent_and_leaves_nothing_behind(tmp_path: Any) -> None:
    code = "from eyechart.pipelines.multi.score import score; score('光的折射', '光', 'OP')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("", "", [])
