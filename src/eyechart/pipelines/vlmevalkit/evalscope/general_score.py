r"""The verdicts of EvalScope 1.14.1 on `general_vqa` and `general_vmcq`.

An open answer is worth its ROUGE-L recall; BLEU and ROUGE in all forms stand beside it. A choice is read
after the last ``ANSWER:`` that is followed by a label, else it is the last capital letter. With a judge, the
judge decides alone (`llm`), or where the rules found no full match (`llm_recall`). What a task changes of
this is in the sample, under `RULES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import yaml

from eyechart.errors import MissingExtra, UsageError
from eyechart.files import suppress_warnings
from eyechart.registry import judged_scorer
from eyechart.score import rouge
from eyechart.score.chinese_words import cut_words
from eyechart.score.reading import score_official
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

RELEASE = "evalscope 1.14.1"
RULES = "evalscope"  # in the meta of a sample: metrics, filters, judge, ... of its task
TURNS = "turns"  # the messages of a sample: role and content, which is a text or a list of texts and images
METRICS = "metrics"  # in the detail of a score: its values by EvalScope's names
VQA_MAIN, CHOICE_MAIN, JUDGED_MAIN = "Rouge-L-R", "accuracy", "acc"
LABELS: Mapping[str, float] = {"A": 1.0, "B": 0.0}  # what the judge may say
_ENOUGH = 0.99  # a rule's score above which llm_recall asks no judge


_THOUGHT = re.compile(r'<think(?:\s+signature="[^"]*")?(?:\s+redacted="true")?\s*>(.*?)</think>', re.DOTALL)


def split_thought(text: str) -> tuple[str, str | None]:
    """The text without its first thought, the only one that EvalScope removes; and the thought.

    >>> split_thought("<think> A? </think>B<think>C?</think>"), split_thought("A?</think>B")
    (('B<think>C?</think>', 'A?'), ('A?</think>B', None))
    """
    found = _THOUGHT.search(text)
    if found is None:
        return text, None
    return (text[: found.start()] + text[found.end() :]).strip(), found[1].strip()


def _cut_thought(text: str) -> str:
    return split_thought(text)[0]


@judged_scorer("general-vqa", version="1", parity="official", rules=RELEASE, cut=_cut_thought)
def score_vqa(reply: Reply, sample: Sample) -> Judging[Score]:
    """ROUGE-L recall of an open answer, as EvalScope; BLEU and ROUGE in all forms are in the detail."""
    said = apply_filters(reply.text, _rules(sample))
    wanted = "\n".join(sample.golds)

    def by_rule() -> Values:
        found: Values = {}
        for name in _rules(sample).get("metrics", ("Rouge",)):
            found |= VQA_METRICS[name](said, wanted)
        return found

    return _score(reply, sample, said, by_rule, VQA_MAIN)


@judged_scorer("general-vmcq", version="1", parity="official", rules=RELEASE, cut=_cut_thought)
def score_vmcq(reply: Reply, sample: Sample) -> Judging[Score]:
    """Whether the label that a reply gives is the right one, as EvalScope reads it."""
    rules = _rules(sample)
    said = apply_filters(reply.text, rules)
    label = read_label(said, tuple(sample.choices), is_chinese=bool(rules.get("chinese")))

    def by_rule() -> Values:
        if len(sample.golds) != 1:
            return {}
        return {CHOICE_MAIN: float(label.lower() == sample.golds[0].strip().lower())}

    return _score(reply, sample, label, by_rule, CHOICE_MAIN)


def _rules(sample: Sample) -> Mapping[str, Any]:
    found = sample.meta.get(RULES)
    return found if isinstance(found, Mapping) else {}


def _score(
    reply: Reply, sample: Sample, read: str, by_rule: Callable[[], Values], main: str
) -> Judging[Score]:
    """The score by rules or judge; `read` is what was read out of the reply."""
    strategy = _rules(sample).get("strategy")
    values = by_rule() if sample.golds and strategy != "llm" else {}
    detail: dict[str, Any] = {}
    unscored = Score(outcome="unscored", value=0.0, read=read or None)
    is_unread = False
    if strategy and sample.golds and not values.get(main, 0.0) > _ENOUGH:
        try:
            verdict, detail = yield from _ask_judge(reply, sample)
        except NoJudge:
            verdict, values = None, values or by_rule()
        except JudgeFailed as failure:
            detail = {"fail_reason": "judge_failed", "judge": failure.message}
            return replace(unscored, route="judge:verdict", detail=detail)
        if verdict is not None:
            main = main if values else JUDGED_MAIN
            values[main] = max(values.get(main, 0.0), verdict)
        elif not values:  # as published, the rules' values then stand in the files; they are not the judge's
            values, is_unread = by_rule(), True
    route = f"evalscope:{main}"
    score = replace(unscored, route=route)
    if values and not is_unread:
        score = score_official(reply, sample, value=values[main], read=read or None, route=route)
    return replace(score, detail={METRICS: values, **detail})


# -- Filters of a task


def apply_filters(text: str, rules: Mapping[str, Any]) -> str:
    r"""The text after the filters of the task, in order.

    >>> apply_filters("so: [7]. Or 8", {"filters": {"remove_until": ":", "extract": r"(\d)"}})
    '7'
    """
    for name, given in rules.get("filters", {}).items():
        text = _FILTERS[name](text, given)
    return text


def _extract(text: str, given: Any) -> str:
    names = ("regex_pattern", "group_select", "fallback")
    listed = given if isinstance(given, list) else [given]
    said = given if isinstance(given, Mapping) else dict(zip(names, listed, strict=False))
    fallback, number = str(said.get(names[2], "[invalid]")), int(said.get(names[1], 0))
    found = re.findall(str(said[names[0]]), text)
    if not found:
        return fallback
    one = found[number]
    return (next(filter(None, one), fallback) if isinstance(one, tuple) else str(one)).strip()


_FILTERS: Mapping[str, Callable[[str, Any], str]] = {
    "remove_until": lambda text, given: text.split(str(given[0] if isinstance(given, list) else given), 1)[
        -1
    ],
    "remove_whitespace": lambda text, given: text.lstrip(),
    "extract": _extract,
    "regex": _extract,
}


def check_filters(filters: Mapping[str, Any]) -> None:
    """Refuse filters that are unknown or cannot be applied."""
    for name, given in filters.items():
        if name not in _FILTERS:
            raise UsageError(f"unknown filter {name!r}", hint=f"known: {', '.join(_FILTERS)}")
        try:
            _FILTERS[name]("text", given)
        except (re.error, TypeError, ValueError, KeyError, IndexError) as err:
            raise UsageError(f"the filter {name} cannot be applied: {err}") from err


# -- The label of a choice

_MARK = re.compile(r"answer\s*:\s*\**\s*", re.IGNORECASE)
_MARK_ZH = re.compile(r"答案\s*[:：]\s*\**\s*")
# Typesetting before a label: $B$, \(B\), \boxed{\text{B}}.
_LATEX = re.compile(r"(?:(?:\$+|\\\(|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\s*\{)\s*)*")
_BRACKETED = re.compile(r"[(\[（【]\s*([A-Za-z\d](?:\s*[,，/、]\s*[A-Za-z\d])*)\s*[)\]）】]")
_PLAIN = re.compile(r"([A-Za-z\d][A-Za-z\d ,，/、]*)")
_PLAIN_ZH = re.compile(r"([A-Za-z0-9][A-Za-z0-9 ,，/、]*)")
_WORD = re.compile(r"[A-Za-z\d]+")


def read_label(text: str, labels: Sequence[str], *, is_chinese: bool = False) -> str:
    r"""The label that a reply gives; empty if it gives none, or several.

    >>> options = ("A", "B", "C")
    >>> [read_label(text, options) for text in ("ANSWER: B, not C", r"Answer: **\boxed{C}**", "It is A.")]
    ['B', 'C', 'A']
    >>> read_label("ANSWER: A or B", options), read_label("ANSWER: D", options)
    ('', '')
    """
    marks = list((_MARK_ZH if is_chinese else _MARK).finditer(text))
    for mark in reversed(marks):  # replies repeat the required form before they use it
        begin = _LATEX.match(text, mark.end())
        at = begin.end() if begin else mark.end()
        for form in (_BRACKETED, _PLAIN_ZH if is_chinese else _PLAIN):
            if (found := form.match(text, at)) and (named := _cut_after_labels(found[1], labels)):
                return named if named in labels else ""
    last = next((letter for letter in reversed(text) if letter.isupper()), "")
    return last if last in labels else ""


def _cut_after_labels(text: str, labels: Collection[str]) -> str:
    """The beginning of a text that names nothing but labels; `and` and `or` may stand between two of them."""
    words = list(_WORD.finditer(text))
    end = 0
    for number, word in enumerate(words):
        if _is_labels(word[0], labels):
            end = word.end()
            continue
        is_joining = end and word[0].lower() in ("and", "or") and number + 1 < len(words)
        if not (is_joining and _is_labels(words[number + 1][0], labels)):
            break
    return text[:end].strip()


def _is_labels(word: str, labels: Collection[str]) -> bool:
    return word in labels or all(letter in labels for letter in word)


# -- BLEU and ROUGE of one reply
#
# BLEU is nltk's `sentence_bleu` for a single n at a time; ROUGE is `rouge_chinese` 1.0.3.
# Chinese texts are split into words by jieba. Other texts are split at spaces for ROUGE, and by nltk's
# `word_tokenize` for BLEU, whose sentence model (``punkt_tab``) is downloaded separately.

MAX_N = 4
_CHINESE = re.compile("[\u4e00-\u9fa5]")
Values = dict[str, float]


def is_chinese(text: str) -> bool:
    """Whether a text is split into words by jieba: one Chinese character is enough."""
    return _CHINESE.search(text) is not None


def compute_bleu(said: str, wanted: str) -> Values:
    """BLEU of 1-grams to 4-grams, each for itself."""
    return count_bleu(
        *(list(cut_words(text)) if is_chinese(text) else _tokenize(text) for text in (said, wanted))
    )


def count_bleu(said: Sequence[str], wanted: Sequence[str]) -> Values:
    """BLEU of words. Quirk kept: if a 1-gram matches, an n without a match is the smallest float, not 0."""
    from nltk.translate.bleu_score import sentence_bleu

    weights = {n: tuple(float(n == each) for each in range(1, MAX_N + 1)) for n in range(1, MAX_N + 1)}
    with suppress_warnings():  # of an n without a match
        return {f"bleu-{n}": sentence_bleu([wanted], said, of_n) for n, of_n in weights.items()}


def _tokenize(text: str) -> list[str]:
    from nltk.tokenize import word_tokenize

    return list(word_tokenize(text))


def require_bleu() -> None:
    """Refuse BLEU without nltk or its sentence model."""
    try:
        _tokenize("One. Two.")
    except ImportError as err:
        raise MissingExtra.named("evalscope", needed_for="BLEU scores") from err
    except LookupError as err:
        raise UsageError(
            "BLEU needs nltk's sentence model punkt_tab, which is not on this machine",
            hint="python -m nltk.downloader punkt_tab (or set NLTK_DATA to the folder that has it)",
        ) from err


# -- ROUGE


def compute_rouge(said: str, wanted: str) -> Values:
    """ROUGE-1, ROUGE-2 and ROUGE-L: recall, precision and F-measure. All are 0 if a text is blank.

    >>> values = compute_rouge("a red bus", "a red car")
    >>> round(values["Rouge-L-R"], 3), values["Rouge-2-P"]
    (0.667, 0.5)
    """
    mine, theirs = (
        rouge.split_words(" ".join(cut_words(text)) if is_chinese(text) else text) for text in (said, wanted)
    )
    found = {f"Rouge-{n}": rouge.compute_rouge_n(mine, theirs, n) for n in (1, 2)}
    found["Rouge-L"] = rouge.compute_rouge_l(mine, theirs)
    return {
        f"{name}-{letter}": value
        for name, values in found.items()
        for letter, value in zip("RPF", values, strict=True)
    }


VQA_METRICS: Mapping[str, Callable[[str, str], Values]] = {"BLEU": compute_bleu, "Rouge": compute_rouge}


# -- The judge


def _ask_judge(reply: Reply, sample: Sample) -> Judging[tuple[float | None, dict[str, Any]]]:
    """The judge's verdict as a value, None if it cannot be read; and what is kept of the call."""
    labels: Mapping[str, float] = _rules(sample).get("labels") or LABELS
    said = yield build_judge_call(reply.text, sample)
    label = read_verdict(said, labels)
    kept = {"judge": said} if label else {"judge": said, "fail_reason": "judge_unreadable"}
    return (labels[label] if label else None), kept


def build_judge_call(said: str, sample: Sample) -> JudgeCall:
    """The question to the judge about what a model said."""
    rules = _rules(sample)
    labels = " or ".join(f'"{one}"' for one in sorted(rules.get("labels") or LABELS))
    values = {
        "question": join_turns(sample.meta.get(TURNS, ())),
        "gold": "\n".join(sample.golds),
        "pred": said,
    }
    prompt = rules.get("prompt") or read_wording()["judge"]
    form = read_wording()["judge_form"].format(labels=labels)
    return JudgeCall(stage="evalscope", values=values, prompt=f"{prompt}{form}")


def join_turns(turns: Sequence[Any]) -> str:
    r"""The words of a dialogue, as the judge sees them.

    >>> join_turns([["system", "Be brief."], ["user", ["What", 0, "is it?"]]])
    '**System**: Be brief.\n\n**User**: What\nis it?'
    """
    texts = []
    for role, content in turns:
        words = [content] if isinstance(content, str) else [one for one in content if isinstance(one, str)]
        texts.append(f"**{role.capitalize()}**: {chr(10).join(words)}")
    return "\n\n".join(texts)


def read_verdict(said: str, labels: Collection[str]) -> str:
    """The verdict in the one JSON object of a judge's reply; empty if there is none, or several objects.

    >>> read_verdict('So: {"reasoning": "same {thing}", "verdict": "A"}', "AB"), read_verdict("A", "AB")
    ('A', '')
    """
    objects = _find_objects(said)
    if len(objects) != 1:
        return ""
    try:
        found = json.loads(objects[0])
    except (ValueError, RecursionError):
        return ""
    verdict = found.get("verdict")
    is_formed = isinstance(found.get("reasoning", ""), str) and isinstance(verdict, str)
    return verdict if is_formed and verdict in labels else ""


def _find_objects(text: str) -> list[str]:
    """The outermost objects in a text, by their braces; braces in quoted strings do not count."""
    found: list[str] = []
    depth = start = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)|[{}]', text, re.DOTALL):
        if token[0] == "{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == "}" and depth:
            depth -= 1
            if not depth:
                found.append(text[start : token.end()])
    return found


@cache
def read_wording() -> Mapping[str, str]:
    """The texts of EvalScope that a parity run sends: the prompt of a choice, and the judge's."""
    content = files("eyechart.pipelines.vlmevalkit.evalscope").joinpath("wording.yaml").read_text("utf-8")
    return msgspec.convert(yaml.safe_load(content), dict[str, str])
