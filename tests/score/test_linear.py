"""Every registered scorer reads every reply in linear time: models degenerate, and the event loop waits.

One hostile corpus for all of them. What takes no time to speak of is fine; what takes longer
must not take more than its share more when the reply is four times as long, on a machine of any speed.
"""

# ruff: noqa: E501  (a row of pieces is one line, however long)

from __future__ import annotations

import contextlib
import gc
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from eyechart import registry
from eyechart.types import JudgedScorer, Reply, Sample, Scorer, answer_calls

N_CHARS = 8_000
QUICK_S = 0.025  # nothing is told apart below this
GROWTH = 8.0  # of four times as long a reply: linear is 4, quadratic is 16

BLANKS = (
    " ", "\t", "\n", "\u00a0", "\u3000", "\u200b", "a ",
)  # fmt: skip
PIECES = (
    *BLANKS, "\r\n", "\u2009", "\ufeff", "\x85", "\u2028", "a  ", "\n\n", " \n", "\n \n",
    # letters, words and digits
    "a", "A", "B", "z", "é", "ß", "İ", "\u0301", "A ", "A. ", "A, ", "(A) ", "A)", "(A", "[A]", "A or ", "A and ", "B, not ", "B, ", "a,", "no, ", "so 1 ", "dog ", "B or ", "Ｂ", "option A ",
    "the ", "cat ", "Japan, ", "Japan and ", "and ", " and", "not ", "no ", "yes ", "n't ", "is ", "in ", "in 2020 ", "which ", "because ",
    "1", "0", "1 ", "1,", "1.", "1,234", "1,234 ", "-1", "1-", "1/", "1e", "10^", "1%", "$1", "1st ", "2010-2012 ", "one ", "twenty-one ",
    "million ", "٣", "Ⅳ", "½", "²", "①",
    # marks, brackets and quotes
    ",", ", ", ";", "、", "，", "。", ".", "...", "…", "!", "?", ":", ": ", "-", "- ", "–", "* ", "**", "_", "#", "=", "= ", "+", "/", " / ", "|", "<", ">",
    "→", "&", "%", "'", '"', "`", "```", "“", "”", "’", "(", ")", "()", "((", "[", "]", "[]", "{", "}", "{}", "\\", "\\\\", "$", "$$", "~", "^", "@",
    # cues, lists, markup and code
    "the answer is ", "answer is ", "Answer: ", "answer:", "final answer ", "so ", "therefore ", "I think ", "\nAnswer: A\n", "Answer: **A** ",
    "\n- ", "\n1. ", "\n(1) ", "\n* a", "1) ", "(a) ", "\\boxed{", "\\boxed{A}", "\\text{", "\\frac{", "\\frac{1}{2}", "\\(", "\\[", "$A$ ",
    "<answer>", "</answer>", "<answer>A</answer>", "<think>", "</think>", "<br>", "<|im_end|>", "</s>", "<|", "&nbsp;", '{"answer": ', '"answer": "A", ', '"a",',
    "[1, ", "- A: ", "Step 1: ", "followed by ", "compared to ", "except ", "I cannot ", "sorry ", "out of ", "by about ",
    # Chinese
    "选", "答案是", "答案是A", "或", "亿", "万", "一", "十二", "是", "不是", "没有", "对", "错", "故选：", "（", "）", "（A）", "【", "】", "Ａ", "、A", "；", "图片缺失", "的",
    # denials, conditions and lists of other languages
    "not A, ", "A is wrong, ", "if A, ", "A. cat ", "(A) cat, ", "n'est pas A ", "kein ", "если A, ", "A değil ", "Aではなく", "정답은 A가 아니라 ", "A नहीं ", "ليس A ", "wait, A. ", "A because ",
)  # fmt: skip
AROUND = (("", ""), ("Japan", "China x"), ("The answer is ", " A. 1,234"), ("A (", "\n\nAnswer: B"))

QUESTION = "In which year was the total of Japan highest?\nA. cat\nB. dog"
CHOICES = {"A": "cat", "B": "the big dog", "C": "1,234", "D": "Japan and China"}


# Scorers that choose their rule by a row's columns.
BY_COLUMNS: dict[str, tuple[dict[str, object], ...]] = {
    "mathvista": (
        {"question_type": "free_form", "answer_type": "float"},
        {"question_type": "multi_choice", "choices": "['a', 'b']"},
    ),
    "mathvista-lmms": (
        {"question_type": "free_form", "answer_type": "float"},
        {"question_type": "multi_choice", "choices": "['a', 'b']"},
    ),
    "dynamath": ({"answer_type": "float"}, {"answer_type": "multiple choice"}, {"answer_type": "text"}),
    "mmlongbench": (
        {"answer_format": "Int"},
        {"answer_format": "Float"},
        {"answer_format": "Str"},
        {"answer_format": "List"},
    ),
    "ccocr": (
        {"category": "doc_parsing", "l2-category": "table"},
        {"category": "doc_parsing", "l2-category": "doc"},
        {"category": "scene_ocr"},
    ),
}
# Those of a declared scale are those that guess it but for a division; the others run the code of a neighbour.
SAME = ("mmmu-vlmevalkit-2026-06", "chartqapro-lmms", "screenspot-pro-lmms", "yes-no-judged-vlmevalkit")
# These read as `choice` and `default` do, which are given every piece: a sixth of them is enough.
SHARED = ("default-strict", "judge-only", "judged", "number", "text", "yes-no")
NAMES = sorted(
    name
    for name in registry.scorers.names()
    if name not in SAME and not name.endswith(("-unit", "-1000", "-pixels"))
)


def samples(scorer: str) -> Iterator[Sample]:
    """Samples of each kind that the scorer tells apart."""
    if scorer.startswith("multi"):
        for kind, gold in (
            ("单选", "B"),
            ("多选", "BC"),
            ("填空", "2\nx=3或x=-3"),
            ("解答", "因为 x>1，所以选择 B"),
        ):
            if kind == "解答" and scorer != "multi":
                continue  # one reading for all generations, and the slowest one
            yield Sample(id=kind, question="问题", golds=(gold,), meta={"question_type": kind})
        return
    if scorer.startswith("infochartqa"):
        for qtype, gold in (
            (72, "1234"), (72, "2010-2012"), (10, "45%"), (15, "Japan"), (15, "Yes"), (40, "Japan, China"),
            (71, "Japan, 1,234 and China"), (30, "Japan > China or China > Japan"), (202, "B"), (43, "China"),
        ):  # fmt: skip
            yield Sample(id=f"{qtype}", question=QUESTION, golds=(gold,), meta={"question_type_id": qtype})
        return
    if scorer in BY_COLUMNS or scorer.startswith(("screenspot", "refcoco")):
        facts = {"bbox": [1, 2, 3, 4], "width": 100, "height": 100}
        for meta in BY_COLUMNS.get(scorer, ({},)):
            yield Sample(id="row", question=QUESTION, golds=("12",), meta={**facts, **meta})
        return
    if scorer == "fields":
        yield Sample(id="object", question=QUESTION, golds=('{"a": 1, "answer": "A", "d": "2024-03-05"}',))
        yield Sample(id="list", question=QUESTION, golds=('{"answer": [{"a": 1}, {"a": 2}], "b": [1, 2]}',))
        return
    yield Sample(id="choice", question=QUESTION, golds=("B",), choices=CHOICES)
    if scorer.startswith(("choice", "insight")):
        return
    for gold in ("yes", "1,234", "007", "the big dog", "因为 x>1，所以选择 B"):
        yield Sample(id=gold, question=QUESTION, golds=(gold, gold[::-1]))


def cases(name: str) -> Iterator[tuple[str, tuple[str, str], Sample]]:
    """Every piece once, those of blanks in every kind of sample: what the fast suite has time for."""
    kinds = list(samples(name))
    for number, piece in enumerate(PIECES[:: 6 if name in SHARED else 1]):
        if piece in BLANKS:
            yield from ((piece, AROUND[1], sample) for sample in kinds)
        else:
            yield piece, AROUND[number // len(kinds) % len(AROUND)], kinds[number % len(kinds)]


def is_linear(name: str, piece: str, around: tuple[str, str], sample: Sample, n_all: int = N_CHARS) -> bool:
    scorer = registry.scorers.get(name)

    def cpu_s(n_chars: int) -> float:
        text = f"{around[0]}{piece * (n_chars // len(piece))}{around[1]}"
        began = time.process_time()
        if isinstance(scorer, JudgedScorer):
            answer_calls(
                scorer.steps(Reply(text=text), sample), lambda call: text
            )  # the judge is hostile, too
        else:
            scorer(Reply(text=text), sample)
        return time.process_time() - began

    if 64 * (part_s := cpu_s(n_all // 4)) < QUICK_S:
        return True  # even if it grew with the third power
    if (once_s := cpu_s(n_all)) < QUICK_S or once_s < GROWTH * part_s:
        return True
    # The least of three, twice: other work on the machine only ever adds.
    # CPU time grows, too, while other processes share the caches; a quadratic reader is slow every time.
    return any(
        min(cpu_s(n_all) for _ in range(3)) < GROWTH * min(cpu_s(n_all // 4) for _ in range(3))
        for _ in range(3)
    )


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["the big dog ", "1,234 ", "then B; "])
def test_long_replies_to_choices_are_read_in_linear_time(piece: str) -> None:
    """A slice or a copy per name is cheap: only many names show that there is one."""
    sample = next(samples("choice"))
    assert is_linear("choice", piece, AROUND[0], sample, n_all=400_000)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ['{"a": "', '{"a": 1}', "{", '"a": [', '{"b": 1, ', "}", "/* ", "'", '\\"'])
def test_long_replies_with_objects_are_read_in_linear_time(piece: str) -> None:
    for around in (("", ""), ('{"a": [', "]}"), ('{"a": "', '"}')):
        assert is_linear("fields", piece, around, next(samples("fields")), n_all=400_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_is_linear(name: str) -> None:
    assert not [case for case in cases(name) if not is_linear(name, *case)]


@pytest.fixture(scope="module")
def nothing_to_collect() -> None:
    """What other tests hold is not looked at."""
    gc.collect()
    gc.freeze()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_to_collect")
@pytest.mark.parametrize("name", NAMES)
def test_no_scorer_keeps_the_texts_of_long_replies(name: str) -> None:
    """What is remembered for the next reply must not grow with the replies."""
    n_chars, n_replies = 6_000, 6
    scorer, sample = registry.scorers.get(name), Sample(id="1", question="Q?", golds=("two",))

    def kept_bytes(of: str) -> int:
        replies = [
            Reply(text=f"{of}{n} " + "two dogs, dont they? " * (n_chars // 21)) for n in range(n_replies)
        ]
        for reply in replies[:2]:
            _score(scorer, reply, sample)  # what is made once, whatever the replies
        gc.collect()
        tracemalloc.start()
        for reply in replies[2:]:
            _score(scorer, reply, sample)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return kept

    # Twice if need be: threads of other tests may have asked for memory meanwhile.
    assert kept_bytes("a") < 3 * n_chars or kept_bytes("b") < 3 * n_chars


def _score(scorer: Scorer, reply: Reply, sample: Sample) -> None:
    with contextlib.suppress(Exception):  # a sample that is not of its kind
        scorer(reply, sample)
