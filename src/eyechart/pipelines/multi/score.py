"""What MULTI's scorer reads out of a prediction: cleaned text, then letters or blanks.

The rules changed five times since the benchmark came out. A `Generation` is one state of them, named by the
month it began; leaderboard rows were scored with the one of their day.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from eyechart.errors import DataError, MissingExtra, UsageError
from eyechart.files import suppress_warnings
from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample, Score

Position = Literal["start", "end"]
REFUSAL = "缺少图片信息"  # what the prompts ask for when an image is missing; official scores know no other
REFUSAL_EN = "lack of image information"  # what the English prompts ask for, in any case

_LETTER = re.compile(r"[a-zA-Z]")
# Letters, blanks and commas hold a run of choices together; everything else ends it. Looking for whole runs
# finds what the official patterns find, but in linear time on any text.
_RUN = re.compile(r"[a-zA-Z ,]+")
_LONG_RUN = re.compile(r"[a-zA-Z ,]{2,}")
_THOUGHT = re.compile(r"Thought，持续 [0-9]+ 秒")
_NEWLINES = re.compile(r"\n{2,}")
_LABELS = ("Assistant:", "assistant:", "answer:", "答案：", "user\n", "我的分析如下：")
_BOX = re.compile(r"\\boxed\\?\{\\text\\?\{")
_BOX_END = re.compile(r"\\?\}\\?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One state of the official rules."""

    clean: Callable[[str], str]
    is_early: bool = False  # the first letter only, runs of two and more, blanks character for character
    knows_refusals: bool = True


def read_choice(text: str, position: Position) -> str | None:
    """The letter of a single choice: the first one, or the last. Full-width letters are none.

    >>> read_choice("Answer: B", "start"), read_choice("Answer: B", "end"), read_choice("Ｂ", "start")
    ('A', 'B', None)
    """
    found = _LETTER.search(text if position == "start" else text[::-1])
    return found[0].upper() if found else None


def read_choices(text: str, position: Position, *, is_early: bool = False) -> str | None:
    """The letters of a multiple choice: those of the first run, or the last, each once.

    `is_early`: the first run of at least two characters, be they blanks or commas.

    >>> read_choices("A, C", "start"), read_choices("A、B、D", "end"), read_choices("A and B", "start")
    ('AC', 'D', 'ANDB')
    >>> read_choices("A", "start", is_early=True) is None, read_choices("选 A", "start", is_early=True)
    (True, 'A')
    """
    if is_early:
        first = _LONG_RUN.search(text)
        runs = [first[0]] if first else []
    elif position == "start":
        runs = [next((run[0] for run in _RUN.finditer(text) if _LETTER.search(run[0])), "")]
    else:
        runs = [run for run in _RUN.findall(text) if _LETTER.search(run)]
    if not runs or not runs[-1]:
        return None
    letters = runs[-1].upper().replace(" ", "").replace(",", "")
    return "".join(dict.fromkeys(letters))


def read_blanks(text: str, *, is_early: bool = False) -> list[str]:
    r"""What a prediction puts into the blanks, one entry each.

    >>> read_blanks("$x = 2$；3\n\n4"), read_blanks("x = 2；3", is_early=True)
    (['x=2', '3', '4'], ['x = 2；3'])
    """
    if is_early:
        return text.split("\n")
    bare = _NEWLINES.sub("\n", text).replace("$", "").replace(" ", "")
    return [part.strip() for part in bare.replace(";", "\n").replace("；", "\n").split("\n")]


def split_label(label: str, *, is_early: bool = False) -> list[frozenset[str]]:
    r"""What each blank of a label accepts: its text, and where it says 或 ("or") each side of that.

    A semicolon divides predictions but not labels, so a label that holds one can never be met.

    >>> [sorted(blank) for blank in split_label("$3$或-3\n2; 4")]
    [['-3', '3', '3或-3'], ['2;4']]
    """
    bare = label if is_early else label.replace("$", "").replace(" ", "")
    lines = [[line, *line.split("或")] for line in bare.split("\n")]
    return [frozenset(lines_of if is_early else map(str.strip, lines_of)) for lines_of in lines]


def _as_it_is(text: str) -> str:
    return text


def _after_thought(text: str) -> str:
    parts = _THOUGHT.split(text)
    return text if len(parts) == 1 else parts[-1].strip()


def _after(mark: str, text: str) -> str:
    _, found, rest = text.rpartition(mark)
    return rest.strip() if found else text


def _without_labels(text: str) -> str:
    for label in _LABELS:
        text = text.replace(label, "")
    return text.strip()


def _unboxed(text: str) -> str:
    # A box that does not end leaves none behind it that does, so the first one decides.
    if (start := _BOX.search(text)) and (end := _BOX_END.search(text, start.end() + 1)):
        return text[start.end() : end.start()].strip()
    return text


def _clean_2025_01(text: str) -> str:
    return _without_labels(_after("答案", _after_thought(text)))


def _clean_2025_11(text: str) -> str:
    answer = _after("</think>", _after("答案", _after_thought(text.strip())))
    return _unboxed(_without_labels(answer))


def _clean(text: str) -> str:
    last = text.strip().rpartition("\n\n")[2].strip()  # an explanation after a blank line is what is read
    answer = _after("</think>", _after("答案为：", _after_thought(last)))
    return _unboxed(_without_labels(answer))


GENERATIONS = {
    "latest": Generation(clean=_clean),
    "2025-11": Generation(clean=_clean_2025_11),
    "2025-01": Generation(clean=_clean_2025_01),
    "2024-11": Generation(clean=_after_thought, is_early=True, knows_refusals=False),
    "2024-02": Generation(clean=_as_it_is, is_early=True, knows_refusals=False),
}


def find_rules(name: str) -> Generation:
    """The rules of that name."""
    if name not in GENERATIONS:
        known = ", ".join(GENERATIONS)
        raise UsageError(f"MULTI's scorer has no generation {name!r}", hint=f"use one of: {known}")
    return GENERATIONS[name]


# -- ROUGE-L over Chinese words: how MULTI scores open questions.
#
# The numbers are those of `jieba` 0.42 words in `rouge_chinese` 1.0: the longest common subsequence of the
# two word lists, as the F of its shares. The subsequence is found by rapidfuzz, some hundred times faster.

# Sentences end after these, unless a closing quote follows. The cut eats the character behind the mark
# (a blank, between words), so that the piece which follows begins with it.
_SENTENCE_END = re.compile(r"([。！？?]|\.{6})([^”’])")

# jieba copies its path at each character of a run that its dictionary does not know: 50,000 of them take 9 s.
# So longer runs are cut here. No real answer has as many characters without a punctuation mark.
_HAN_RUN = re.compile(r"[\u4e00-\u9fd5]+")
_LONGEST_RUN = 2000


def compute_rouge_l(prediction: str, label: str) -> float:
    """The F of ROUGE-L. The official formula keeps it just below 1 even for the same text.

    >>> round(compute_rouge_l("今天天气很好", "今天天气不错。"), 6), compute_rouge_l("略", "略")
    (0.333333, 0.999999995)
    """
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    said, wanted = (
        [numbers.setdefault(token, len(numbers)) for token in split_tokens(text)]
        for text in (prediction, label)
    )
    if not said or not wanted:
        return 0.0
    common = LCSseq.similarity(said, wanted)
    precision, recall = common / len(said), common / len(wanted)
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def split_tokens(text: str) -> list[str]:
    r"""The words of a text as they are compared.

    Quirk kept: a sentence of nothing but white space is one empty word, so that a blank line after a full
    stop costs two.

    >>> split_tokens("第一段。\n\n第二段。")
    ['第一段', '。', '', '', '第二段', '。']
    """
    cut = _tokenizer().cut
    words = (word for piece in _pieces(text) for word in cut(piece))
    spaced = _SENTENCE_END.sub(r"\1\n\2", " ".join(words)).rstrip()
    pieces = [piece.split() or [""] for piece in spaced.split("\n") if piece]
    return [token for piece in pieces for token in piece]


def _pieces(text: str) -> Iterator[str]:
    """Cut runs of Chinese characters that are too long for jieba.

    >>> [len(piece) for piece in _pieces("光" * 4500 + "。")]
    [2000, 2000, 501]
    """
    begin = 0
    for run in _HAN_RUN.finditer(text):
        for end in range(run.start() + _LONGEST_RUN, run.end(), _LONGEST_RUN):
            yield text[begin:end]
            begin = end
    yield text[begin:]


@functools.cache
def _tokenizer() -> Any:
    """A tokenizer of our own with jieba's dictionary.

    The global one logs to stderr, is open to changes by others, and keeps a cache in the shared temporary
    folder that it reads back without a check. Building this one takes about a second, once.
    """
    jieba = require_jieba()
    made = jieba.Tokenizer()
    with suppress_warnings():
        made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


def require_jieba() -> Any:
    """The library that finds words in Chinese text; `MissingExtra` where it is not installed."""
    try:
        with suppress_warnings():
            import jieba
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for="MULTI's open questions") from error
    return jieba


# -- MULTI (Zhu et al., 2024): points for single and multiple choices, blanks and open questions.
#
# Paper: https://arxiv.org/abs/2402.03173. Parity: OpenDFM/MULTI-Benchmark at aa40c5b and the earlier states
# of its `eval/metrics.py`; tests/golden/multi_*.jsonl.
#
# The earlier states are scorers named by the month they began: `multi-2025-11`, `multi-2025-01`,
# `multi-2024-11`, `multi-2024-02`. Two are not offered: that of 2025-10 (2025-11 without boxes), whose
# handling of thoughts is known in outline only; and one older than 2024-02, which compared letters as they
# were written and of which it is not known when it was in use.

__all__ = ["GENERATIONS", "clean", "count_points", "extract", "is_refusal", "read_kind", "score"]

Kind = Literal["SA", "MA", "FB", "OP", "other"]
KINDS: dict[str, Kind] = {"单选": "SA", "多选": "MA", "填空": "FB", "解答": "OP", "其他": "other"}
_NAMES: dict[str, Kind] = KINDS | {kind: kind for kind in KINDS.values()} | {"Other": "other"}
LATEST = "latest"
_QUOTES = " \n\"'*`.!“”‘’「」。！"  # round a refusal they add nothing to it


def clean(prediction: str | None, generation: str = LATEST) -> str:
    r"""The part of a prediction that is scored. A missing one is empty.

    Quirks kept: only what follows the last blank line counts; ``Answer:`` is not taken away, so that its A
    is read as a choice; a plain ``\boxed{C}`` is not opened.

    >>> clean("推理过程\n\n所以这道题的答案为：B"), clean("B\n\n因为A不对"), clean("答案：C")
    ('B', '因为A不对', 'C')
    """
    return find_rules(generation).clean(prediction or "")


def extract(
    prediction: str | None, kind: str, answer_position: str = "start", *, generation: str = LATEST
) -> str | list[str] | None:
    """What is read: a letter (SA), letters (MA), a list of blanks (FB), the text (OP); None if nothing.

    >>> extract("选B", "SA"), extract("A, C", "多选"), extract("1; 2", "FB")
    ('B', 'AC', ['1', '2'])
    """
    return _read(clean(prediction, generation), read_kind(kind), _position(answer_position), generation)


def score(
    prediction: str | None,
    answer: str,
    kind: str,
    answer_position: str = "start",
    *,
    generation: str = LATEST,
) -> tuple[float, float]:
    r"""The points a prediction earns, and those it could earn.

    Quirks kept: a wrong letter takes all points of a multiple choice; a prediction that says the picture is
    missing earns nothing even if it is right; an open answer never earns its whole point.

    >>> score("AC", "ACE", "MA"), score("ABC", "ACE", "MA"), score("2；x=3", "2\nx=3或x=-3", "FB")
    ((2, 3), (0, 3), (2, 2))
    >>> score("Answer: B", "B", "SA"), score("Answer: B", "B", "SA", answer_position="end")
    ((0, 1), (1, 1))
    """
    text, which = clean(prediction, generation), read_kind(kind)
    total = count_points(answer, which)
    if is_refusal(text, generation):
        return 0, total
    return _points(text, answer.strip(), which, _position(answer_position), generation), total


def count_points(label: str, kind: str) -> float:
    r"""The points that a question can earn: one per letter (MA) or blank (FB), one for the others.

    Questions of other kinds, and open ones without a label, earn none.

    >>> count_points("ACE", "MA"), count_points("2\n3", "填空"), count_points("", "OP")
    (3, 2, 0)
    """
    label, which = label.strip(), read_kind(kind)
    if which == "MA":
        return len(label)
    if which == "FB":
        return label.count("\n") + 1
    return int(which == "SA" or (which == "OP" and label != ""))


def is_refusal(cleaned: str, generation: str = LATEST) -> bool:
    """Whether the cleaned text says, in the words that the prompts ask for, that a picture is missing."""
    return find_rules(generation).knows_refusals and REFUSAL in cleaned


def read_kind(name: str) -> Kind:
    """The kind of question, by our name or the one in the files.

    >>> read_kind("单选"), read_kind("OP"), read_kind("其他")
    ('SA', 'OP', 'other')
    """
    if name not in _NAMES:
        raise UsageError(f"MULTI has no question type {name!r}", hint=f"use one of: {', '.join(_NAMES)}")
    return _NAMES[name]


def _position(name: str) -> Position:
    if name == "start":
        return "start"
    if name == "end":
        return "end"
    raise UsageError(f"answer_position {name!r} is not possible", hint="use start or end")


def _read(text: str, kind: Kind, position: Position, generation: str) -> str | list[str] | None:
    is_early = find_rules(generation).is_early
    if is_early:
        position = "start"  # the early rules know no other
    if kind == "SA":
        return read_choice(text, position)
    if kind == "MA":
        return read_choices(text, position, is_early=is_early)
    if kind == "FB":
        return read_blanks(text, is_early=is_early)
    return text if kind == "OP" else None


def _points(text: str, label: str, kind: Kind, position: Position, generation: str) -> float:
    read = _read(text, kind, position, generation)
    if kind == "SA":
        return int(read == label)
    if kind == "MA":
        return len(read) if read and all(letter in label for letter in read) else 0
    if kind == "FB":
        accepted = split_label(label, is_early=find_rules(generation).is_early)
        return sum(part in blank for part, blank in zip(read or (), accepted, strict=False))
    # A perfect score of nothing: no label, or nothing said, needs no words cut.
    return compute_rouge_l(text, label) if kind == "OP" and label and text.strip() else 0


def _scorer(position: Position, generation: str = LATEST) -> Callable[[Reply, Sample], Score]:
    def judge(reply: Reply, sample: Sample) -> Score:
        kind = _kind_of_sample(sample)
        text = clean(reply.text, generation)
        read = _read(text, kind, position, generation)
        written = "\n".join(read) if isinstance(read, list) else read
        route = f"multi:{kind}"
        if not sample.golds:
            return Score(outcome="unscored", value=0.0, read=written, route=route)
        (earned, total) = score(reply.text, sample.golds[0], kind, position, generation=generation)
        detail = {"score": earned, "total": total}
        if not total:
            return Score(outcome="unscored", value=0.0, read=written, route=route, detail=detail)
        if is_refusal(text, generation):
            detail["rejected"] = True
            return Score(outcome="refused", value=0.0, read=written, route=f"{route}:refusal", detail=detail)
        if _declines(text, earned):  # the official points stand; the outcome is ours
            return Score(
                outcome="refused",
                value=earned / total,
                read=written,
                route=f"{route}:refusal",
                detail=detail,
            )
        plain = score_official(
            reply,
            sample,
            value=earned / total,
            read=written,
            route=route,
            is_whole=text.upper() == written,
        )
        return Score(outcome=plain.outcome, value=plain.value, read=written, route=route, detail=detail)

    return judge


def _declines(text: str, earned: float) -> bool:
    """Whether a reply says that an image is missing, in the words of a prompt of either language.

    The official rules know the Chinese words alone, and the earliest not even these. A reply that earned
    something by what it says beside these words is an answer.

    >>> _declines("Lack of image information.", 0), _declines("B. Lack of image information", 1)
    (True, False)
    """
    said = text.casefold()
    return said.strip(_QUOTES) in (REFUSAL, REFUSAL_EN) or (
        not earned and (REFUSAL in said or REFUSAL_EN in said)
    )


def _kind_of_sample(sample: Sample) -> Kind:
    name = sample.meta.get("question_type")
    if not isinstance(name, str) or name not in _NAMES:
        raise DataError(
            f"{sample.id}: the scorer needs a question_type, found {name!r}",
            hint=f"use one of: {', '.join(_NAMES)}; or another scorer for what is no MULTI question",
        )
    return _NAMES[name]


score_multi = scorer("multi", version="2", parity="official")(_scorer("start"))
score_multi_end = scorer("multi-end", version="2", parity="official")(_scorer("end"))
for _name in GENERATIONS:
    if _name != LATEST:  # those before 2025 know no answer position
        scorer(f"multi-{_name}", version="2", parity="official")(_scorer("start", _name))
        if not GENERATIONS[_name].is_early:
            scorer(f"multi-{_name}-end", version="2", parity="official")(_scorer("end", _name))
