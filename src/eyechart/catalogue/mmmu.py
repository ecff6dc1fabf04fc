"""MMMU and MMMU-Pro (Yue et al., 2023 and 2024): questions of college exams, with images in the text.

The authors' parser, which lmms-eval 0.7.3 has too, is the default. Where it finds no option it picks one at
random; here the reply is unparsed, and the detail of the score holds the probability with which the pick
would have been right, from which the aggregate ``mmmu`` computes the expectation and the range of the
official figure. Parity: tests/catalogue/vectors, ``mmmu``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from string import ascii_uppercase
from typing import Any

from eyechart.catalogue.entry import GROUPS, LMMS_EVAL, VLMEVALKIT, Entry, Kit
from eyechart.prompt.published import BRIEFLY, LETTER, ask_with, frame, list_options, put_in_place
from eyechart.registry import judged_scorer, scorer, scorers
from eyechart.replies import unwrap
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.score.choice_rules import RULES
from eyechart.score.lmms import lmms_scorer
from eyechart.score.reading import score_official
from eyechart.score.text import get_answers, list_accepted
from eyechart.score.thinking import show_reply
from eyechart.types import (
    CannotAggregate,
    Card,
    JudgedScorer,
    Judging,
    Message,
    MetricTable,
    Prompt,
    Reply,
    Sample,
    Score,
    ScoredRow,
)

DOMAINS: Mapping[str, tuple[str, ...]] = {
    "Art and Design": ("Art", "Art_Theory", "Design", "Music"),
    "Business": ("Accounting", "Economics", "Finance", "Manage", "Marketing"),
    "Science": ("Biology", "Chemistry", "Geography", "Math", "Physics"),
    "Health and Medicine": (
        "Basic_Medical_Science", "Clinical_Medicine", "Diagnostics_and_Laboratory_Medicine", "Pharmacy",
        "Public_Health",
    ),
    "Humanities and Social Science": ("History", "Literature", "Sociology", "Psychology"),
    "Tech and Engineering": (
        "Agriculture", "Architecture_and_Engineering", "Computer_Science", "Electronics", "Energy_and_Power",
        "Materials", "Mechanical_Engineering",
    ),
}  # fmt: skip
_DOMAIN_OF = {subject: domain for domain, subjects in DOMAINS.items() for subject in subjects}
_COT = (
    "The last line of your response should be of the following format: 'Answer: $LETTER' (without quotes) where "
    "LETTER is one of the options. Think step by step before answering. "
)
_DIRECT = "Answer directly with the option letter from the given choices. "
_LMMS_COT = (
    "Answer the following multiple choice question. The last line of your response should be of the following "
    "format: 'Answer: $LETTER' (without quotes) where LETTER is one of options. Think step by step before answering."
)
_IN_IMAGE = "Answer the following multiple-choice question in the image. "
_LMMS_DIRECT = "Answer with the option letter from the given choices directly."


def ask_lmms(closing: str, *, in_place: bool = False) -> Prompt:
    """lmms-eval's prompt: question, options, a blank line, the closing; of MMMU with images in the text."""

    def prompt(sample: Sample) -> list[Message]:
        text = f"{sample.question}\n{list_options(sample)}\n{closing if sample.choices else BRIEFLY}"
        if in_place:
            return [Message("user", put_in_place(text, sample, trim=True))]
        return [Message("user", (*sample.images, text))]

    return prompt


def show_image(closing: str) -> Prompt:
    """The question is in the image."""
    return ask_with(lambda sample: closing)


def name_subject(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that the file has and the hub has in the id: ``validation_Accounting_1``."""
    split, _, rest = str(row["id"]).partition("_")
    return {"category": rest.rpartition("_")[0], "split": split}


_vlmevalkit = partial(Kit, aggregate="", group_by=GROUPS)  # it reports no domains

Entry(
    "mmmu-val",
    "college exams in 30 subjects",
    Card("knowledge", "900 questions", "https://arxiv.org/abs/2311.16502", "Apache-2.0"),
    file="MMMU_DEV_VAL",
    hub="lmms-lab/MMMU:validation",
    also_hub=[f"MMMU/MMMU:{subject}/validation" for several in DOMAINS.values() for subject in several],
    change_row=name_subject,
    fields={"id": "id"},
    splits=("validation", "dev"),
    prompt=ask_lmms(LETTER, in_place=True),
    scorer="mmmu",
    kit=LMMS_EVAL,
    max_tokens=128,
    kits={VLMEVALKIT: _vlmevalkit(frame(in_place=True), "mmmu-vlmevalkit")},
    group_by=("category",),
    aggregate="mmmu",
    metric="accuracy over questions",
    parity="authors (lmms-eval), VLMEvalKit",
    note="VLMEvalKit turns open questions into A or `Other Answers`, and asks a judge where its rules read nothing. "
    "The file also has the 150 questions of dev: `--set split=all`.",
).register()

Entry(
    "mmmu-pro",
    "MMMU's questions with ten options",
    Card("knowledge", "1,730 questions", "https://arxiv.org/abs/2409.02813", "Apache-2.0"),
    aliases=("mmmu_pro_standard",),
    file={"MMMU_Pro_10c": "", "MMMU_Pro_10c_COT": "vlmevalkit-cot"},
    hub="MMMU/MMMU_Pro:standard (10 options)/test",
    change_row=lambda row: {"category": row["subject"]},
    fields={"id": "id"},
    prompt=ask_lmms(_LMMS_DIRECT),
    scorer="mmmu",
    kit=LMMS_EVAL,
    max_tokens=256,
    kits={
        "lmms-eval-cot": Kit(max_tokens=16384, prompt=ask_lmms(_LMMS_COT), scorer="mmmu", group_by=GROUPS),
        VLMEVALKIT: _vlmevalkit(frame(_DIRECT, hint=False, in_place=True), "choice-vlmevalkit"),
        "vlmevalkit-cot": _vlmevalkit(
            frame(f"Answer the following multiple-choice question. {_COT}", hint=False, in_place=True),
            "mmmu-pro-cot-vlmevalkit",
        ),
    },
    group_by=("category",),
    aggregate="mmmu",
    parity="authors (lmms-eval), VLMEvalKit",
    note="The paper's figure is the mean of this and `mmmu-pro-vision`; neither kit computes it.",
).register()

Entry(
    "mmmu-pro-vision",
    "the same questions, photographed or as a screenshot",
    Card("knowledge", "1,730 questions", "https://arxiv.org/abs/2409.02813", "Apache-2.0"),
    file={"MMMU_Pro_V": "", "MMMU_Pro_V_COT": "vlmevalkit-cot"},
    hub="MMMU/MMMU_Pro:vision/test",
    change_row=lambda row: {"category": row["subject"], "question": "placeholder"},
    fields={"id": "id"},
    prompt=show_image(_IN_IMAGE + _DIRECT),
    kits={
        "vlmevalkit-cot": Kit(
            prompt=show_image(_IN_IMAGE + _COT), scorer="mmmu-pro-cot-vlmevalkit", group_by=GROUPS
        ),
        LMMS_EVAL: Kit(
            max_tokens=256, prompt=show_image(_LMMS_DIRECT), scorer="mmmu-pro-vision-lmms", group_by=GROUPS
        ),
    },
    group_by=("category",),
    note="lmms-eval requires the whole reply to be the letter: `B.` and the `Answer: B` of its own step-by-step prompt "
    "count as wrong there. So VLMEvalKit's rule is the default.",
).register()


RANDOM_PICK = "random pick"  # in the detail of a score: the probability that the pick is right
OTHER_ANSWERS = "Other Answers"
_STRIPPED = ",.!?;:'"  # one mark after the other, as published
_MIN_WORDS = 5  # a reply of more words is searched for the text of an option


@scorer("mmmu", version="1", parity="official")
def score_mmmu(reply: Reply, sample: Sample) -> Score:
    """MMMU's own parser for options and open questions; where it picks at random, the reply is unparsed."""
    if not sample.choices:
        candidates = read_open(reply.text)
        hit = sample.golds and is_open_match(sample.golds, candidates)
        read = "; ".join(map(str, candidates)) or None
        return score_official(reply, sample, value=float(bool(hit)), read=read, route="mmmu:open")
    letter = read_option(reply.text, sample.choices)
    hit = letter is not None and letter in sample.golds
    is_whole = unwrap(reply.text) == letter
    score = score_official(
        reply, sample, value=float(hit), read=letter, route="mmmu:option", is_whole=is_whole
    )
    if letter is None and score.outcome != "unscored":
        chance = sum(gold in sample.choices for gold in set(sample.golds)) / len(sample.choices)
        return replace(score, detail={RANDOM_PICK: chance})
    return score


def read_option(reply: str, choices: Mapping[str, str]) -> str | None:
    """The option that a reply names last; None where the official parser picks one at random.

    It looks for ``(B)``, then for ``B`` before a space, then for ``B.``, then, in a reply of more than five
    words, for the text of an option. As published: ``B:``, ``**B**`` and ``b`` are not found, and "A
    picture of" is A.

    >>> options = {"A": "a cat", "B": "a dog"}
    >>> read_option("(A) or (B)", options), read_option("**B**", options), read_option("B: a dog", options)
    ('B', None, None)
    """
    text = reply
    for mark in _STRIPPED:
        text = text.strip(mark)
    text = f" {text} "
    for written, sought in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        found = [letter for letter in choices if written.format(letter) in text]
        if found:  # as published: "X." is located as " X ", so that the first of several counts
            return max(found, key=lambda letter: text.rfind(sought.format(letter)))
    if len(text.split()) <= _MIN_WORDS:
        return None
    lower = text.lower()
    named = [letter for letter, option in choices.items() if option.lower() in lower]
    return max(named, key=lambda letter: lower.rfind(choices[letter].lower()), default=None)


# -- Open questions: numbers and phrases of the reply, any of which may be the answer

_CUES = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_TRIVIAL = frozenset({":", ",", ".", "!", "?", ";", "'"})
# The official patterns, written so that a long run of digits takes linear time: a number can begin in the
# middle of a run only where it can begin at its start.
_WITH_COMMAS = re.compile(r"-?\b\d{1,3}(?:,\d{3}\b)++")
_SCIENTIFIC = re.compile(r"-?(?<!\d)\d++(?:\.\d++)?+[eE][+-]?\d+")
_SIMPLE = re.compile(r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])")


def read_open(reply: str) -> list[float | str]:
    """The candidates of a reply to an open question: what follows a cue, and the numbers in it.

    >>> read_open("The mass is 12 kg"), read_open("x = 1.2")
    (['12 kg', 12.0], [1.2])
    """
    phrases = _find_phrases(reply)
    numbers = [number for phrase in phrases for number in find_numbers(phrase)]
    return list(dict.fromkeys(form for text in (*phrases, *numbers) for form in normalise_answer(text)))


def _find_phrases(reply: str) -> list[str]:
    """The shortest text after a cue of each line; all of the reply if no line has one."""
    text = reply.strip().strip(".").lower()
    lines = text.split("\n")  # as published: sentences are sought by capitals, after lower-casing
    found = []
    for number, line in enumerate(lines):
        cues = (*_CUES, "=") if number == len(lines) - 1 else _CUES
        shortest = ""
        for cue in cues:
            _, is_there, after = line.rpartition(cue)
            if is_there and (not shortest or len(after.strip()) < len(shortest)):
                shortest = after.strip()
        if shortest and shortest not in _TRIVIAL:
            found.append(shortest)
    return found or [text]


def find_numbers(text: str) -> list[str]:
    """All numbers: with commas, then in scientific notation, then plain.

    As published, the last part of a number with commas is a number as well.

    >>> find_numbers("1,200 and 3e4, or .5")
    ['1,200', '3e4', '200', '.5']
    """
    return [found for pattern in (_WITH_COMMAS, _SCIENTIFIC, _SIMPLE) for found in pattern.findall(text)]


def normalise_answer(text: str) -> list[float | str]:
    """A number rounded to two decimals, or the text in lower case; one character needs a space beside it.

    >>> normalise_answer("1,234.567"), normalise_answer("Blue"), normalise_answer("x")
    ([1234.57], ['blue'], [' x', 'x '])
    """
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        lower = text.lower()
        return [f" {lower}", f"{lower} "] if len(lower) == 1 else [lower]


def is_open_match(golds: Sequence[str], candidates: Iterable[float | str]) -> bool:
    """Whether a gold is one of the numbers, or a part of one of the phrases.

    >>> is_open_match(["12"], read_open("It is 12 kg")), is_open_match(["blue"], read_open("dark blue"))
    (True, True)
    """
    wanted = [form for gold in golds for form in normalise_answer(gold)]
    return any(
        candidate in wanted
        if isinstance(candidate, float)
        else any(isinstance(form, str) and form in candidate for form in wanted)
        for candidate in candidates
    )


# -- VLMEvalKit: an open question is a choice between its answer and all others

_RELEASED = "choice-vlmevalkit-2026-06"
_RELEASE = RULES["vlmevalkit-2026-06"].source


@judged_scorer("mmmu-vlmevalkit", version="2", parity="official", rules=RULES["vlmevalkit"].source)
def score_mmmu_vlmevalkit(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's reading of MMMU; a judge reads what its rules cannot."""
    return (yield from _judge_choice(reply, to_choice(sample)))


@judged_scorer("mmmu-vlmevalkit-2026-06", version="2", parity="official", rules=_RELEASE)
def score_mmmu_vlmevalkit_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """The same with VLMEvalKit's rules until 2026-06-17, as in ms-vlmeval 0.0.20."""
    return (yield from _judge_choice(reply, to_choice(sample), _RELEASED))


def to_choice(sample: Sample) -> Sample:
    """An open question as VLMEvalKit asks its judge about it: A is the answer, B is any other.

    As published, an answer that is one capital letter is taken for the letter of an option.

    >>> to_choice(Sample(id="1", question="?", golds=("12",))).choices
    {'A': '12', 'B': 'Other Answers'}
    """
    if sample.choices or not sample.golds:
        return sample
    gold = sample.golds[0] if len(sample.golds) == 1 else str(list(sample.golds))
    is_letter = len(gold) == 1 and gold in ascii_uppercase
    return replace(sample, choices={"A": gold, "B": OTHER_ANSWERS}, golds=(gold if is_letter else "A",))


def _judge_choice(reply: Reply, sample: Sample, rules: str = "choice-vlmevalkit") -> Judging[Score]:
    choice = scorers.get(rules)
    assert isinstance(choice, JudgedScorer)
    return (yield from choice.steps(show_reply(reply, choice), sample))


# -- MMMU-Pro


@judged_scorer("mmmu-pro-cot-vlmevalkit", version="2", parity="official", rules=RULES["vlmevalkit"].source)
def score_mmmu_pro_cot(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's reading of a chain of thought: the one line ``Answer:``, then as any choice."""
    return (yield from _judge_choice(replace(reply, text=read_answer_line(reply.text)), sample))


@judged_scorer("mmmu-pro-cot-vlmevalkit-2026-06", version="1", parity="official", rules=_RELEASE)
def score_mmmu_pro_cot_2026_06(reply: Reply, sample: Sample) -> Judging[Score]:
    """The same with VLMEvalKit's rules until 2026-06-17, as in ms-vlmeval 0.0.20."""
    read = replace(reply, text=read_answer_line(reply.text))
    return (yield from _judge_choice(read, sample, _RELEASED))


def read_answer_line(reply: str) -> str:
    r"""What follows ``Answer:``, if exactly one line begins so; otherwise the whole reply.

    As published, the A of "Answer" counts as a capital: a line with no other capital becomes ``A``.

    >>> read_answer_line("Thus\nAnswer: B"), read_answer_line("Answer: b")
    (' B', 'A')
    """
    lines = [line.strip() for line in reply.strip().split("\n")]
    answers = [line for line in lines if line.startswith("Answer:")]
    if len(answers) != 1:
        return reply
    capitals = {char for char in answers[0] if char in ascii_uppercase}
    return capitals.pop() if len(capitals) == 1 else answers[0].removeprefix("Answer:")


@lmms_scorer("mmmu-pro-vision-lmms", version="2")
def score_mmmu_pro_vision(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's rule where the question is in the picture: the whole reply must be the letter."""
    hit = reply.text in sample.golds
    read = reply.text or None
    return score_official(reply, sample, value=float(hit), read=read, route="mmmu-pro:vision")


@lmms_scorer("mmmu-pro-composite-lmms", version="2")
def score_mmmu_pro_composite(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's rule for several questions in one picture: as many stand-alone capitals, in their order.

    The golds are the answers to all questions; the value is the share that is right.
    """
    golds = list_accepted(get_answers(sample))
    found = re.findall(r"\b[A-Z]\b", reply.text)[: len(golds)]
    letters = [*found, *[""] * (len(golds) - len(found))]
    n_right = sum(letter == gold for letter, gold in zip(letters, golds, strict=True))
    value, read = n_right / len(golds) if golds else 0.0, ", ".join(found) or None
    score = score_official(reply, sample, value=value, read=read, route="mmmu-pro:composite")
    return replace(score, detail={"letters": letters})


# -- The official numbers: all rows, six domains, their subjects


def find_subject(sample_id: str) -> str:
    """The subject in an id of MMMU: ``split_Subject_number``.

    >>> find_subject("validation_Art_Theory_12")
    'Art_Theory'
    """
    parts = sample_id.split("_")
    if len(parts) < 3 or not parts[-1].isdecimal():
        raise CannotAggregate(
            f"MMMU: the id {sample_id!r} does not name a subject", hint="e.g. validation_Art_1"
        )
    return "_".join(parts[1:-1])


def _groups_mmmu(row: ScoredRow) -> Iterable[str]:
    subject = (get_column(row, "subject", "category") or find_subject(row.id)).replace(" ", "_")
    domain = _DOMAIN_OF.get(subject)
    return (*((f"domain: {domain}",) if domain else ()), subject)


def _get_pick(row: ScoredRow) -> float | None:
    """The probability with which a random pick is right, where the official parser picks."""
    pick = row.detail.get(RANDOM_PICK)
    return float(pick) if isinstance(pick, int | float) else None


@declare_aggregate(
    "mmmu",
    count_by(
        _groups_mmmu,
        picks=lambda row: _get_pick(row) is not None,
        expected=lambda row: _get_pick(row) or 0,
    ),
    version="2",
    headline="accuracy",
)
def _combine_mmmu(total: Counts) -> MetricTable:
    """Accuracy over all rows, by domain and subject."""
    found = average(total)
    n, value, picks, expected = (total.get((ALL, name), 0) for name in ("n", "value", "picks", "expected"))
    if n and picks:
        found[ALL] |= {
            "n random picks": picks,
            "with random picks": (value + expected) / n,
            "at least": value / n,
            "at most": (value + picks) / n,
        }
    return found


# lmms-eval's MMMU-Pro: a row may hold several questions. The accuracy of a subject is over its questions,
# that of domains and of all is the mean of subjects by their rows.


def _count_questions(row: ScoredRow) -> int:
    letters = row.detail.get("letters")
    return len(letters) if isinstance(letters, list | tuple) else 1


@declare_aggregate(
    "mmmu-pro-lmms",
    count_by(
        lambda row: (get_column(row, "subject", "category").replace(" ", "_"),),
        questions=_count_questions,
        right=lambda row: _count_questions(row) * row.value,
    ),
    headline="accuracy",
)
def _combine_composite(total: Counts) -> MetricTable:
    """Accuracy by subject and domain; within a subject, a row counts once per question."""
    table: dict[str, dict[str, float | None]] = {ALL: {}}
    groups: dict[str, list[tuple[float, float]]] = {ALL: []}
    for subject in [group for group in average(total) if group != ALL]:
        share, n = divide(total[subject, "right"], total[subject, "questions"]), total[subject, "n"]
        table[subject] = {"accuracy": share, "n": n}
        domain = _DOMAIN_OF.get(subject)
        for group in (ALL, f"domain: {domain}") if domain else (ALL,):
            groups.setdefault(group, []).append((share or 0, n))
    for group, subjects in groups.items():
        n = sum(rows for _, rows in subjects)
        table[group] = {"accuracy": divide(sum(share * rows for share, rows in subjects), n), "n": n}
    return table
