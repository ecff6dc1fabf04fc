"""InfoChartQA scored without the quirks of the authors' checker: `infochartqa-strict`.

The question's type says how its gold is read, by our own readers (`eyechart.readers`): amounts exactly or
within 5 %, lists in order or not, one or several option letters, and otherwise by what the gold is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from eyechart.pipelines.infochartqa.score import DEFAULT_TYPE, NO_RESPONSE, VAGUE, get_question_type
from eyechart.readers.answers import Verdict, find_kind, find_slots, judge_answer, judge_kind
from eyechart.readers.decide import read_choice
from eyechart.readers.default import find_written_choices
from eyechart.readers.wording import is_same_wording, split_list
from eyechart.registry import scorer
from eyechart.replies import Reading, score_reading, unwrap
from eyechart.score.text import list_accepted
from eyechart.types import Reply, Sample, Score

LETTERS = "ABCDEFGH"
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")  # 2018 is not nearly 2020
_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z'])")
_SEVERAL = re.compile(
    r"[\s(\[]*[A-H](?:[\s,;.)\](&+/、，]|\band\b|和)*(?:[A-H](?:[\s,;.)\](&+/、，]|\band\b|和)*)*"
)


@scorer("infochartqa-strict", version="11")
def score_strict(reply: Reply, sample: Sample) -> Score:
    """InfoChartQA's rule for the question's type, as it was intended."""
    sample = replace(sample, golds=tuple(gold for gold in sample.golds if gold.strip()))
    if reply.text.strip() == NO_RESPONSE or reply.evidence.get("response", "") is None:
        return score_reading(reply, sample, Reading(None, "strict:no-reply"), 0.0)
    judge = JUDGES.get(_type_id(sample.meta), _judge_gold)
    verdict = Verdict(Reading(None, "strict:no-gold"))
    for gold in sample.golds:
        verdict = judge(gold, reply.text, sample)
        if verdict.is_right:
            break
    return score_reading(reply, sample, verdict.reading, float(verdict.is_right))


def _type_id(meta: Mapping[str, object]) -> object:
    value = get_question_type(meta)
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("+-").isdecimal() else DEFAULT_TYPE
    return value if isinstance(value, int | float) else DEFAULT_TYPE


def _judge_gold(gold: str, text: str, sample: Sample) -> Verdict:
    return judge_answer(text, (gold,), sample.question)


def _judge_vaguely(gold: str, text: str, sample: Sample) -> Verdict:
    is_number = find_kind(gold) == "number" and not _YEAR.fullmatch(gold.strip())
    return judge_kind("number", text, (gold,), VAGUE) if is_number else _judge_gold(gold, text, sample)


def _judge_list(gold: str, text: str, *, is_ordered: bool) -> Verdict:
    wanted = _split(gold)
    if not wanted:
        return Verdict(Reading(None, "list:empty"))
    for slot in find_slots(text):
        said = _split(slot.text)
        if len(said) == len(wanted) and _match(said, wanted, is_ordered=is_ordered):
            return Verdict(Reading(", ".join(said), "list", (slot.start, slot.end)), is_right=True)
    said = _split(find_slots(text)[0].text) if text.strip() else []
    return Verdict(Reading(", ".join(said) or None, "list" if said else "list:empty"))


def _split(text: str) -> list[str]:
    return [element for part in re.split(r"[<>→]|\[|\]", text) for element in split_list(unwrap(part))]


def _match(said: list[str], wanted: list[str], *, is_ordered: bool) -> bool:
    left = list(wanted)
    for element in said:
        place = next((at for at, gold in enumerate(left) if is_same_wording(element, gold)), None)
        if place is None or (is_ordered and place):
            return False
        del left[place]
    return not left


def _judge_unordered(gold: str, text: str, sample: Sample) -> Verdict:
    return _judge_list(gold, text, is_ordered=False)


def _judge_ordered(gold: str, text: str, sample: Sample) -> Verdict:
    verdicts = [_judge_list(one, text, is_ordered=True) for one in (gold, *list_accepted(gold))]
    return next((verdict for verdict in verdicts if verdict.is_right), verdicts[0])


def _judge_letters(gold: str, text: str, sample: Sample) -> Verdict:
    if not _SEVERAL.fullmatch(gold.strip().upper().replace("AND", "and")):
        return _judge_gold(gold, text, sample)
    wanted = {char for char in gold.upper().replace("AND", " ") if char in LETTERS}
    for slot in find_slots(text):
        if len(wanted) > 1 and _SEVERAL.fullmatch(slot.text.strip()):
            letters = set(_LETTER.findall(slot.text))
            return Verdict(Reading(",".join(sorted(letters)), "choice:letters"), letters == wanted)
    written = sample.choices or find_written_choices(replace(sample, golds=tuple(wanted)))
    most = max([4, *(LETTERS.index(letter) + 1 for letter in wanted)])
    reading = read_choice(text, written or dict.fromkeys(LETTERS[:most], ""))
    return Verdict(reading, {reading.letter} == wanted)


# The same groups as the official table. Any other type is an amount, a range or a text, by its gold.
JUDGES: Mapping[object, Callable[[str, str, Sample], Verdict]] = {
    **dict.fromkeys((10, 11, 12, 50, 51, 52, 110), _judge_vaguely),
    **dict.fromkeys((40, 41, 42, 43, 44), _judge_unordered),
    **dict.fromkeys((71, 30), _judge_ordered),
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), _judge_letters),
}
