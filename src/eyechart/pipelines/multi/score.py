"""How MULTI is scored (Zhu et al., 2024): points for choices, blanks and open questions.

A prediction is cleaned, its letters, blanks or text are read, and they earn points against the label. The
official rules changed over time: a `Generation` is one state of them, named by the month it began, and
leaderboard rows were scored with the one of their day.

Paper: https://arxiv.org/abs/2402.03173. Parity: OpenDFM/MULTI-Benchmark at aa40c5b and earlier states of its
`eval/metrics.py`; tests/golden/multi_*.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from eyechart.errors import DataError, UsageError
from eyechart.registry import judge_prompt, judged_scorer, scorer
from eyechart.replies import check_finish_reason, to_outcome
from eyechart.score import rouge
from eyechart.score.chinese_words import cut_words
from eyechart.score.judged import MAX_SHOWN_CHARS, UNREADABLE
from eyechart.score.reading import score_official
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

__all__ = ["GENERATIONS", "clean", "count_points", "extract", "is_refusal", "read_kind", "score"]

Position = Literal["start", "end"]
TypeName = Literal["单选", "多选", "填空", "解答", "其他"]
Kind = Literal["SA", "MA", "FB", "OP", "other"]
# By the names in the files, in the order in which `questions_type` numbers them.
KINDS: dict[str, Kind] = dict(zip(get_args(TypeName), get_args(Kind), strict=True))
_NAMES: dict[str, Kind] = KINDS | {kind: kind for kind in KINDS.values()} | {"Other": "other"}
LATEST = "latest"

REFUSAL = "缺少图片信息"  # the prompts ask for it when an image is missing; official scores know no other
REFUSAL_EN = "lack of image information"  # the English prompts ask for it, in any case


def score(
    prediction: str | None,
    answer: str | None,
    kind: str,
    answer_position: str = "start",
    *,
    generation: str = LATEST,
) -> tuple[float, float]:
    r"""The points that a prediction earns, and those that it could earn.

    Quirks kept: one wrong letter costs all points of a multiple choice; a prediction that says the image is
    missing earns nothing even if it is right; an open answer never earns its whole point. Without a label
    (None) there is nothing to earn.

    >>> score("AC", "ACE", "MA"), score("ABC", "ACE", "MA"), score("2；x=3", "2\nx=3或x=-3", "FB")
    ((2, 3), (0, 3), (2, 2))
    >>> score("Answer: B", "B", "SA"), score("Answer: B", "B", "SA", answer_position="end")
    ((0, 1), (1, 1))
    """
    text, which = clean(prediction, generation), read_kind(kind)
    total = count_points(answer, which)
    if answer is None or is_refusal(text, generation):
        return 0, total
    return _earn(text, answer.strip(), which, check_position(answer_position), generation), total


def extract(
    prediction: str | None, kind: str, answer_position: str = "start", *, generation: str = LATEST
) -> str | list[str] | None:
    """What is read: a letter (SA), letters (MA), a list of blanks (FB), the text (OP); None if nothing.

    >>> extract("选B", "SA"), extract("A, C", "多选"), extract("1; 2", "FB")
    ('B', 'AC', ['1', '2'])
    """
    text = clean(prediction, generation)
    return _read(text, read_kind(kind), check_position(answer_position), generation)


def clean(prediction: str | None, generation: str = LATEST) -> str:
    r"""The part of a prediction that is scored; empty if there is no prediction.

    Quirks kept: only the text after the last blank line counts; ``Answer:`` is not removed, so its A is read
    as a choice; a plain ``\boxed{C}`` is not opened.

    >>> clean("推理过程\n\n所以这道题的答案为：B"), clean("B\n\n因为A不对"), clean("答案：C")
    ('B', '因为A不对', 'C')
    """
    return find_rules(generation).clean(prediction or "")


def count_points(label: str | None, kind: str) -> float:
    r"""The points that a question can earn: one per letter (MA) or blank (FB), one for SA and OP.

    Questions of other kinds, open ones with an empty label, and all without one (None) earn none.

    >>> count_points("ACE", "MA"), count_points("2\n3", "填空"), count_points("", "OP")
    (3, 2, 0)
    """
    which = read_kind(kind)
    if label is None:
        return 0
    label = label.strip()
    if which == "MA":
        return len(label)
    if which == "FB":
        return label.count("\n") + 1
    return int(which == "SA" or (which == "OP" and label != ""))


def is_refusal(cleaned: str, generation: str = LATEST) -> bool:
    """Whether the cleaned text says, in the words that the prompts ask for, that an image is missing."""
    return find_rules(generation).knows_refusals and REFUSAL in cleaned


def read_kind(name: str) -> Kind:
    """The kind of a question, by our name or the one in the files.

    >>> read_kind("单选"), read_kind("OP"), read_kind("其他")
    ('SA', 'OP', 'other')
    """
    if name not in _NAMES:
        raise UsageError(f"MULTI has no question type {name!r}", hint=f"use one of: {', '.join(_NAMES)}")
    return _NAMES[name]


def check_position(name: str) -> Position:
    """Refuse what is neither ``start`` nor ``end``."""
    if name not in get_args(Position):
        raise UsageError(f"unknown answer_position {name!r}", hint="use start or end")
    return cast("Position", name)


def _earn(text: str, label: str, kind: Kind, position: Position, generation: str) -> float:
    read = _read(text, kind, position, generation)
    if kind == "SA":
        return int(read == label)
    if kind == "MA":
        return len(read) if read and all(letter in label for letter in read) else 0
    if kind == "FB":
        accepted = split_label(label, is_early=find_rules(generation).is_early)
        return sum(part in blank for part, blank in zip(read or (), accepted, strict=False))
    # Without a label or a prediction the points are 0, and jieba is not needed.
    return compute_rouge_l(text, label) if kind == "OP" and label and text.strip() else 0


def _read(text: str, kind: Kind, position: Position, generation: str) -> str | list[str] | None:
    rules = find_rules(generation)
    if rules.is_early:
        position = "start"  # the early rules know no other
    if kind == "SA":
        letter = read_choice(text, position)
        return letter if letter is None or rules.is_as_written else letter.upper()
    if kind == "MA":
        return _read_early_choices(text, rules) if rules.is_early else read_choices(text, position)
    if kind == "FB":
        return read_blanks(text, is_early=rules.is_early)
    return text if kind == "OP" else None


# -- Reading letters and blanks

_LETTER = re.compile(r"[a-zA-Z]")
# Letters, spaces and commas form a run of choices; everything else ends it. Matching whole runs finds what
# the official patterns find, but in linear time on any text.
_RUN = re.compile(r"[a-zA-Z ,]+")
_LONG_RUN = re.compile(r"[a-zA-Z ,]{2,}")
_NEWLINES = re.compile(r"\n{2,}")


def read_choice(text: str, position: Position) -> str | None:
    """The letter of a single choice, as written: the first Latin letter (none of full width), or the last.

    >>> read_choice("Answer: B", "start"), read_choice("Answer: B", "end"), read_choice("Ｂ", "start")
    ('A', 'B', None)
    """
    found = _LETTER.search(text if position == "start" else text[::-1])
    return found[0] if found else None


def read_choices(text: str, position: Position) -> str | None:
    """The letters of a multiple choice: those of the first run, or the last, each once.

    >>> read_choices("A, C", "start"), read_choices("A、B、D", "end"), read_choices("A and B", "start")
    ('AC', 'D', 'ANDB')
    """
    runs = (run[0] for run in _RUN.finditer(text) if _LETTER.search(run[0]))
    run = next(runs, "") if position == "start" else next(iter([*runs][-1:]), "")
    return _list_letters(run.upper()) or None


def _read_early_choices(text: str, rules: Generation) -> str | None:
    """The letters of the first run, even if it has none: in the first rules one blank is a run.

    >>> _read_early_choices("选 A", GENERATIONS["2024-11"]), _read_early_choices("b", GENERATIONS["2024-02"])
    ('A', 'b')
    """
    first = (_RUN if rules.is_as_written else _LONG_RUN).search(text)
    if first is None:
        return None
    return _list_letters(first[0] if rules.is_as_written else first[0].upper())


def _list_letters(run: str) -> str:
    return "".join(dict.fromkeys(run.replace(" ", "").replace(",", "")))


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
    r"""What each blank of a label accepts: its text, and each alternative that 或 ("or") separates.

    Quirk kept: a semicolon divides predictions but not labels, so a label that holds one is never met.

    >>> [sorted(blank) for blank in split_label("$3$或-3\n2; 4")]
    [['-3', '3', '3或-3'], ['2;4']]
    """
    bare = label if is_early else label.replace("$", "").replace(" ", "")
    lines = [[line, *line.split("或")] for line in bare.split("\n")]
    return [frozenset(accepted if is_early else map(str.strip, accepted)) for accepted in lines]


# -- Cleaning, by generation of the rules

_THOUGHT = re.compile(r"Thought，持续 [0-9]+ 秒")
_LABELS = ("Assistant:", "assistant:", "answer:", "答案：", "user\n", "我的分析如下：")
_BOX = re.compile(r"\\boxed\\?\{\\text\\?\{")
_BOX_END = re.compile(r"\\?\}\\?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One state of the official rules."""

    clean: Callable[[str], str]
    is_early: bool = False  # the first letters only, runs of two and more, blanks character for character
    is_as_written: bool = False  # early, too: the case of letters counts, and one letter or blank is a run
    knows_refusals: bool = True


def find_rules(name: str) -> Generation:
    """The rules of that name."""
    if name not in GENERATIONS:
        known = ", ".join(GENERATIONS)
        raise UsageError(f"MULTI's scorer has no generation {name!r}", hint=f"use one of: {known}")
    return GENERATIONS[name]


def _clean_latest(text: str) -> str:
    last = text.strip().rpartition("\n\n")[2].strip()  # the last paragraph, even if it is an explanation
    answer = _cut_before("</think>", _cut_before("答案为：", _cut_thought(last)))
    return _unbox(_drop_labels(answer))


def _clean_2025_10(text: str) -> str:
    return _drop_labels(_cut_before("</think>", _cut_before("答案", _cut_thought(text.strip()))))


def _cut_thought(text: str) -> str:
    parts = _THOUGHT.split(text)
    return text if len(parts) == 1 else parts[-1].strip()


def _cut_before(mark: str, text: str) -> str:
    _, found, rest = text.rpartition(mark)
    return rest.strip() if found else text


def _drop_labels(text: str) -> str:
    for label in _LABELS:
        text = text.replace(label, "")
    return text.strip()


def _unbox(text: str) -> str:
    # If the first box is not closed, no later one is, so the first one decides.
    if (start := _BOX.search(text)) and (end := _BOX_END.search(text, start.end() + 1)):
        return text[start.end() : end.start()].strip()
    return text


GENERATIONS = {
    "latest": Generation(clean=_clean_latest),
    "2025-11": Generation(clean=lambda text: _unbox(_clean_2025_10(text))),
    "2025-10": Generation(clean=_clean_2025_10),
    "2025-01": Generation(clean=lambda text: _drop_labels(_cut_before("答案", _cut_thought(text)))),
    "2024-11": Generation(clean=_cut_thought, is_early=True, knows_refusals=False),
    "2024-02": Generation(clean=lambda text: text, is_early=True, is_as_written=True, knows_refusals=False),
}


# -- ROUGE-L over Chinese words, for open questions: `jieba` 0.42 words in `rouge_chinese` 1.0


def compute_rouge_l(prediction: str, label: str) -> float:
    """The F-measure of ROUGE-L. The official formula keeps it just below 1 even for the same text.

    >>> round(compute_rouge_l("今天天气很好", "今天天气不错。"), 6), compute_rouge_l("略", "略")
    (0.333333, 0.999999995)
    """
    return rouge.compute_rouge_l(split_tokens(prediction), split_tokens(label)).f_measure


def split_tokens(text: str) -> list[str]:
    r"""The words of a text as they are compared. A blank line after a full stop costs two empty ones.

    >>> split_tokens("第一段。\n\n第二段。")
    ['第一段', '。', '', '', '第二段', '。']
    """
    return rouge.split_words(" ".join(cut_words(text)))


# -- The scorers of a run: `multi`, `multi-end`, and one per earlier generation

_QUOTES = " \n\"'*`.!“”‘’「」。！"  # around a refusal they add nothing to it


def _make_scorer(position: Position, generation: str) -> Callable[[Reply, Sample], Score]:
    def score_reply(reply: Reply, sample: Sample) -> Score:
        kind = read_sample_kind(sample)
        text = clean(reply.text, generation)
        read = _read(text, kind, position, generation)
        written = "\n".join(read) if isinstance(read, list) else read
        found = Score(outcome="unscored", value=0.0, read=written, route=f"multi:{kind}")
        if not sample.golds:
            return found
        earned, total = score(reply.text, sample.golds[0], kind, position, generation=generation)
        found = replace(found, detail={"score": earned, "total": total})
        if not total:
            return found
        refused = replace(found, outcome="refused", route=f"{found.route}:refusal")
        if is_refusal(text, generation):
            return replace(refused, detail={**found.detail, "rejected": True})
        if declines(text, earned):  # the points are the official ones; the outcome is ours
            return replace(refused, value=earned / total)
        plain = score_official(
            reply,
            sample,
            value=earned / total,
            read=written,
            route=found.route,
            is_whole=written == (text if find_rules(generation).is_as_written else text.upper()),
        )
        return replace(found, outcome=plain.outcome, value=plain.value)

    rules = "its latest rules" if generation == LATEST else f"its rules of {generation}"
    score_reply.__doc__ = (
        f"MULTI's points by question type, in {rules}; the answer is read at the {position}."
    )
    return score_reply


def declines(text: str, earned: float) -> bool:
    """Whether a reply says that an image is missing, in the words of a prompt of either language.

    The official rules know only the Chinese words, the earliest not even those. A reply that earned points
    with what it says besides is an answer.

    >>> declines("Lack of image information.", 0), declines("B. Lack of image information", 1)
    (True, False)
    """
    said = text.casefold()
    return said.strip(_QUOTES) in (REFUSAL, REFUSAL_EN) or (
        not earned and (REFUSAL in said or REFUSAL_EN in said)
    )


def read_sample_kind(sample: Sample) -> Kind:
    """The kind of a sample's question; `DataError` if it says none."""
    name = sample.meta.get("question_type")
    if not isinstance(name, str) or name not in _NAMES:
        raise DataError(
            f"{sample.id}: the scorer needs a question_type, found {name!r}",
            hint=f"use one of: {', '.join(_NAMES)}; or another scorer if this is not a MULTI question",
        )
    return _NAMES[name]


score_latest = _make_scorer("start", LATEST)

for _name, _rules in GENERATIONS.items():
    _suffix = "" if _name == LATEST else f"-{_name}"
    _version = "3" if _rules.is_as_written else "2"
    scorer(f"multi{_suffix}", version=_version, parity="official")(_make_scorer("start", _name))
    if not _rules.is_early:  # those before 2025 know no answer position
        scorer(f"multi{_suffix}-end", version="2", parity="official")(_make_scorer("end", _name))


# -- With a judge that finds the answer in a long reply, for models that reason in the open
#
# The official rules read the first letter of a text, whatever it belongs to. Here a reply that is more than
# its answer is given to a judge, which copies the answer out, as the authors' answer extractor does; the
# points of what it copied are the official ones. The judge sees no label.

NO_ANSWER = "没有给出答案"  # what the judge writes if there is none, as in the authors' extractor
_JUDGED: dict[Kind, str] = {"SA": "单选", "MA": "多选", "FB": "填空"}  # open answers are the reply itself
_COPIED_LETTERS = re.compile(r"[A-Z](?:[\s,，、;；和与]*[A-Z])*")
_BLANK_LINES = re.compile(r"\n\s*\n")
_AROUND = " \t\r\n*`\"'“”‘’()（）[]{}.。:："
_LONGEST_BLANK = 40  # characters; longer ones are sentences


@judged_scorer("multi-judged", version="1", needs_judge=True)
def score_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """MULTI's points for the answer that a judge finds in a long reply; short ones by its latest rules."""
    by_rule = score_latest(reply, sample)
    kind, text = read_sample_kind(sample), clean(reply.text)
    is_refused = is_refusal(text) or declines(text, by_rule.value)
    has_answer = reply.text.strip() and not check_finish_reason(reply, is_whole=False)
    is_open = kind in _JUDGED and by_rule.outcome != "unscored" and not is_bare(text, kind, sample.question)
    if is_refused or not has_answer or not is_open:
        return by_rule
    shown = {"type": _JUDGED[kind], "question": sample.question, "answer": reply.text[-MAX_SHOWN_CHARS:]}
    open_one = Score(outcome="unscored", value=0.0, read=by_rule.read, route=f"judge:{by_rule.route}")
    try:
        said = yield JudgeCall(stage="multi-extract", values=shown)
    except NoJudge:
        return by_rule
    except JudgeFailed as failure:
        return replace(open_one, detail={"fail_reason": "judge_failed", "judge": failure.message})
    answer = read_extracted(said, kind)
    if answer is None:
        return replace(open_one, detail={"fail_reason": UNREADABLE, "judge": said})
    earned, total = score(answer, sample.golds[0], kind)
    detail = {"score": earned if answer else 0, "total": total, "judge": said}
    if not answer:
        return replace(open_one, outcome="unparsed", read=None, detail=detail)
    value = earned / total
    return replace(open_one, outcome=to_outcome(value), value=value, read=answer, detail=detail)


def is_bare(text: str, kind: Kind, question: str) -> bool:
    r"""Whether a cleaned reply is its answer and nothing else, so that the rules read it as it is meant.

    Letters are capitals in one run; there are as many blanks as the question has, and none is a sentence.

    >>> is_bare("B。", "SA", ""), is_bare("A, C", "MA", ""), is_bare("12\n24", "FB", "[MASK]月[MASK]时")
    (True, True, True)
    >>> is_bare("Answer: B", "SA", ""), is_bare("A、C", "MA", ""), is_bare("x=1\n所以选1", "FB", "[MASK]")
    (False, False, False)
    """
    if kind == "FB":
        blanks = read_blanks(text)
        return len(blanks) == max(1, question.count("[MASK]")) and all(
            0 < len(blank) <= _LONGEST_BLANK for blank in blanks
        )
    letters = text.strip(_AROUND)
    return bool(re.fullmatch("[A-Z]" if kind == "SA" else "[A-Z](?:[ ,]*[A-Z])*", letters))


def read_extracted(said: str, kind: Kind) -> str | None:
    r"""The answer that a judge copied; empty if it found none, None if its reply is something else.

    >>> read_extracted(" **B**. ", "SA"), read_extracted("A、C", "MA"), read_extracted("1\n\n2", "FB")
    ('B', 'AC', '1\n2')
    >>> read_extracted("没有给出答案。", "MA"), read_extracted("The answer is B", "SA")
    ('', None)
    """
    text = said.strip(_AROUND)
    if text == NO_ANSWER:
        return ""
    if kind == "FB":
        return _BLANK_LINES.sub("\n", said.strip().strip("`").strip()) or None
    if not _COPIED_LETTERS.fullmatch(text):
        return None
    letters = "".join(filter(str.isalpha, text.replace("和", "").replace("与", "")))
    return letters if kind == "MA" or len(letters) == 1 else None


# -- prompts

# The answer in a long reply, in the form of its type.
judge_prompt(
    "multi-extract",
    """\
下面是一道{type}题和一个模型的回答。请找出回答最后确定的答案，照抄下来。

- 单选：只写一个大写字母。
- 多选：把选定的大写字母连着写，如 BD。
- 填空：按题中 [MASK] 的先后每空一行，只写填入的内容。
- 不解题，不改正，不写任何别的内容。
- 如果回答没有给出答案，只写：没有给出答案

题目：{question}
回答：{answer}

答案：""",
)
