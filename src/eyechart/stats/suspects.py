"""Is the gold wrong? How likely it is that several models agree on another answer because it is right.

A question has a difficulty d, normal with variance 1; a model with the skill s answers it right with the
chance 1 / (1 + exp(d - s)), independently of the others. A wrong answer is one of the k - 1 others: with the
share h it is the question's common distractor, otherwise any. If the gold is wrong, the right answer is any
of the others. Skills come from the models' scores, h from how often two wrong answers agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

ERRORS = 0.02  # of golds, before anything is known of a question
_STEPS = [-3 + 0.3 * step for step in range(21)]  # difficulties
_MASS = [math.exp(-d * d / 2) for d in _STEPS]
_OPEN = 10  # an open question has so many wrong answers, as far as their agreement goes
_TEXT_COMMON = 0.5  # the share of wrong answers that this distractor has at least
_TEXT_PRIOR = 0.9  # how likely the common distractor is what a model without the image answers


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What several models answered to one question; None: nothing could be read."""

    gold: str
    given: Sequence[str | None]  # by model, in one order
    n_options: int = 0  # 0: an open question
    blind: Sequence[str] = ()  # what models answered without the image


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """The most likely other answer, and how likely it is that the gold is wrong."""

    answer: str
    chance: float
    votes: int  # models that gave it
    for_gold: int


class Suspects:
    """Skills and the common distractor's share, from all questions; then each question's chance.

    >>> sure = [Answers(gold="A", given=["A"] * 4, n_options=4) for _ in range(19)]
    >>> odd = Answers(gold="A", given=["B"] * 4, n_options=4)
    >>> found = Suspects([*sure, odd]).judge(odd)
    >>> found.answer, found.votes, found.chance > 0.5
    ('B', 4, True)
    """

    def __init__(self, questions: Sequence[Answers]) -> None:
        n_models = len(questions[0].given) if questions else 0
        self.skills = [find_skill(_score(questions, model)) for model in range(n_models)]
        self.common = _find_common(questions, {})
        self._known: dict[tuple[object, ...], Suspicion | None] = {}
        # Models agree against a wrong gold as well: such questions say nothing about distractors.
        chances = {id(one): found.chance for one in questions if (found := self.judge(one))}
        self.common = _find_common(questions, chances)
        self._known.clear()

    def judge(self, question: Answers) -> Suspicion | None:
        """None if no model gave another answer than the gold."""
        key = (question.gold, tuple(question.given), question.n_options, tuple(question.blind))
        if key not in self._known:
            self._known[key] = self._judge(question)
        return self._known[key]

    def _judge(self, question: Answers) -> Suspicion | None:
        others = Counter(one for one in question.given if one is not None and one != question.gold)
        if not others:
            return None
        k = max(question.n_options, 2) if question.n_options else _OPEN
        whole = (1 - ERRORS) * self._likelihood(question, question.gold, k)
        each = {answer: ERRORS / (k - 1) * self._likelihood(question, answer, k) for answer in sorted(others)}
        answer = max(each, key=lambda one: each[one])
        unseen = max(0, k - 1 - len(each))
        whole += math.fsum(each.values()) + unseen * ERRORS / (k - 1) * self._likelihood(question, None, k)
        return Suspicion(
            answer=answer,
            chance=each[answer] / whole if whole else 0.0,
            votes=others[answer],
            for_gold=sum(one == question.gold for one in question.given),
        )

    def _likelihood(self, question: Answers, truth: str | None, k: int) -> float:
        """How likely the answers are if `truth` is right, over difficulties and common distractors."""
        blind = Counter(one for one in question.blind if one != truth)
        common_share = self.common
        wrong = sorted({one for one in question.given if one is not None and one != truth} | set(blind))
        rest = max(0, k - 1 - len(wrong))  # distractors without a vote: alike
        weights = dict.fromkeys(wrong, 1.0) | ({None: float(rest)} if rest else {})
        total = math.fsum(weights.values()) or 1.0
        shares: dict[str | None, float] = {one: weight / total for one, weight in weights.items()}
        if blind:
            first = blind.most_common(1)[0][0]
            shares = {one: share * (1 - _TEXT_PRIOR) for one, share in shares.items()}
            shares[first] = shares.get(first, 0.0) + _TEXT_PRIOR
            common_share = max(common_share, _TEXT_COMMON)
        spread = (1 - common_share) / (k - 1)
        found = 0.0
        for d, mass in zip(_STEPS, _MASS, strict=True):
            right = [1 / (1 + math.exp(d - skill)) for skill in self.skills]
            for common, share in shares.items():
                product = mass * share
                for chance, one in zip(right, question.given, strict=True):
                    if one is None:
                        continue
                    if one == truth:
                        product *= chance
                    else:
                        product *= (1 - chance) * (common_share * (one == common) + spread)
                found += product
        return found


def _score(questions: Sequence[Answers], model: int) -> float:
    given = [(one.given[model], one.gold) for one in questions if one.given[model] is not None]
    return (sum(answer == gold for answer, gold in given) + 1) / (len(given) + 2)


def find_skill(score: float) -> float:
    """The skill at which the mean chance over difficulties is this score."""
    low, high = -8.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        chances = (mass / (1 + math.exp(d - middle)) for d, mass in zip(_STEPS, _MASS, strict=True))
        low, high = (middle, high) if math.fsum(chances) / math.fsum(_MASS) < score else (low, middle)
    return (low + high) / 2


def _find_common(questions: Sequence[Answers], chances: Mapping[int, float]) -> float:
    """The share of wrong answers on a common distractor, from how often two wrong answers agree.

    `chances`: by identity, how likely the gold of a question is wrong; it counts for so much less.
    """
    pairs = agree = expected = 0.0
    for question in questions:
        wrong = [one for one in question.given if one is not None and one != question.gold]
        k = max(question.n_options, 2) if question.n_options else _OPEN
        if k < 3 or len(wrong) < 2:
            continue
        weight = 1 - chances.get(id(question), 0.0)
        for one, other in combinations(wrong, 2):
            pairs += weight
            agree += weight * (one == other)
            expected += weight / (k - 1)
    if not pairs:
        return 0.0
    by_chance = expected / pairs
    # h² + (1 - h²) / (k - 1) of the pairs agree.
    return math.sqrt(min(0.95, max(0.0, (agree / pairs - by_chance) / (1 - by_chance))))


def rank(questions: Mapping[str, Answers]) -> list[tuple[str, Suspicion]]:
    """The questions on which a model disagrees with the gold, the most suspect first."""
    suspects = Suspects(list(questions.values()))
    found = [(name, one) for name, answers in questions.items() if (one := suspects.judge(answers))]
    return sorted(found, key=lambda pair: -pair[1].chance)
