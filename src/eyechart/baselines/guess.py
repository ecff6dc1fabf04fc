"""The baselines that do not look at the image: a random guess, and the most frequent answer.

``baseline/majority`` reads all questions with their golds and answers each with the most frequent gold of
similarly worded questions, leaving out the question itself. If it scores well, images are hardly needed.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from eyechart.baselines import CANNOT_TELL, Answer, Baseline
from eyechart.types import Request, Sample


class RandomGuess(Baseline):
    """Guess uniformly, by (seed, sample, trial); an open question has nothing to guess among."""

    kind = "random"

    def answer(self, request: Request) -> Answer:
        letters = list(request.sample.choices)
        if not letters:
            return Answer(CANNOT_TELL, {"rule": "no options to guess among"})
        rng = random.Random(f"{self.seed}/{request.sample.id}/{request.trial}")  # noqa: S311 not a secret
        return Answer(rng.choice(letters), {"rule": "uniform guess", "options": len(letters)})


# -- baseline/majority

Kind = Literal["text", "letter"]  # what is counted: an answer's text, or the letter of an option
MIN_OTHERS = 2  # a wording seen in fewer other questions is replaced by a coarser one
OPENINGS = (4, 3, 2, 1)  # words


def list_wordings(question: str) -> list[str]:
    """Wordings of a question, from fine to coarse: numbers and quoted words masked, then first words.

    >>> list_wordings('What is the value of "Tea" in 2023?')[:2]
    ['what is the value of @ in #', 'what is the value…']
    """
    text = re.sub(r'"[^"]*"|“[^”]*”|‘[^’]*’|「[^」]*」', " @ ", question.casefold())
    text = re.sub(r"\d+(?:[.,:]\d+)*", " # ", text)
    words = re.findall(r"[@#]|[^\W_]+", text)
    openings = [" ".join(words[:n]) + "…" for n in OPENINGS if len(words) > n]
    return list(dict.fromkeys([" ".join(words), *openings, "…"]))


@dataclass(frozen=True, slots=True)
class _Lesson:
    """What one sample adds to the counts."""

    wordings: tuple[str, ...]
    is_choice: bool
    texts: tuple[str, ...]  # golds as text; an option's text for multiple choice
    letters: tuple[str, ...]


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


def _lesson(sample: Sample) -> _Lesson:
    # Open golds keep their spelling: which of "STOP" and "stop" is right cannot be known.
    texts = (
        [_normalise(sample.choices.get(gold, "")) for gold in sample.golds]
        if sample.choices
        else sample.golds
    )
    return _Lesson(
        wordings=tuple(list_wordings(sample.question)),
        is_choice=bool(sample.choices),
        texts=tuple(dict.fromkeys(text for text in texts if text)),
        letters=tuple(dict.fromkeys(sample.golds)) if sample.choices else (),
    )


def _same_question(sample: Sample) -> tuple[object, ...]:
    """Equal for a sample and the same one with its options in another order."""
    if sample.circle:
        return ("circle", sample.circle)
    return sample.question, sample.images, frozenset(_normalise(text) for text in sample.choices.values())


class _Tally:
    """The counts of one wording, which can be queried without some of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._ranked: list[tuple[str, int]] | None = None

    def add(self, golds: Iterable[str]) -> None:
        self.counts.update(golds)
        self._ranked = None

    def best_without(self, own: Counter[str], allowed: set[str] | None = None) -> tuple[str, int] | None:
        """The most common gold without `own`; ties go to the first in the alphabet."""
        if allowed is not None:
            left = [(gold, self.counts[gold] - own[gold]) for gold in allowed]
            return min((item for item in left if item[1] > 0), key=lambda i: (-i[1], i[0]), default=None)
        if self._ranked is None:
            self._ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        best: tuple[str, int] | None = None
        for gold, count in self._ranked:
            if best is not None and count < best[1]:
                break  # the rest had fewer even before subtracting
            left_over = count - own[gold]
            if left_over > 0 and (best is None or (-left_over, gold) < (-best[1], best[0])):
                best = gold, left_over
        return best


class Majority(Baseline):
    """Answer by the frequencies of the other questions' golds."""

    kind = "majority"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._forget()

    def _forget(self) -> None:
        self._tallies: defaultdict[tuple[bool, Kind, str], _Tally] = defaultdict(_Tally)
        self._by_id: defaultdict[str, list[_Lesson]] = defaultdict(list)
        self._by_question: defaultdict[tuple[object, ...], list[_Lesson]] = defaultdict(list)
        self._studied = hashlib.sha256().hexdigest()

    @property
    def identity(self) -> Mapping[str, Any]:
        """Includes what was studied, which decides the answers."""
        return {**super().identity, "studied": self._studied[:16]}

    def prepare(self, samples: Iterable[Sample]) -> None:
        """Count the golds of every sample, under every wording of its question. Starts anew."""
        self._forget()
        digest = hashlib.sha256()
        for sample in samples:
            if not sample.golds:
                continue
            lesson = _lesson(sample)
            self._by_id[sample.id].append(lesson)
            self._by_question[_same_question(sample)].append(lesson)
            for wording in lesson.wordings:
                self._tallies[lesson.is_choice, "text", wording].add(lesson.texts)
                self._tallies[lesson.is_choice, "letter", wording].add(lesson.letters)
            digest.update(repr((sample.id, sample.question, sample.golds)).encode())
        self._studied = digest.hexdigest()

    def answer(self, request: Request) -> Answer:
        """Answer from the finest wording that enough other questions share."""
        sample = request.sample
        if not self._by_id:
            return Answer(CANNOT_TELL, {"rule": "nothing was studied"})
        own = self._own_lessons(sample)
        if sample.choices:
            by_text = {_normalise(text): letter for letter, text in reversed(list(sample.choices.items()))}
            found = self._most_common(sample, "text", own, set(by_text))
            if found is not None:
                return Answer(by_text[found.text], {**found.evidence, "option": found.text})
            found = self._most_common(sample, "letter", own, set(sample.choices), finest=-1)
        else:
            found = self._most_common(sample, "text", own, None)
        if found is None:
            return Answer(CANNOT_TELL, {"rule": "no other question has a gold that fits"})
        return found

    def _own_lessons(self, sample: Sample) -> list[_Lesson]:
        """The lessons of the sample itself and of its rotations, which are never used on it."""
        lessons = [*self._by_id.get(sample.id, ()), *self._by_question.get(_same_question(sample), ())]
        return list({id(lesson): lesson for lesson in lessons}.values())

    def _most_common(
        self, sample: Sample, kind: Kind, own: list[_Lesson], allowed: set[str] | None, finest: int = 0
    ) -> Answer | None:
        wordings = list_wordings(sample.question)[finest:]
        is_choice = bool(sample.choices)
        for wording in wordings:
            tally = self._tallies.get((is_choice, kind, wording))
            if tally is None:
                continue
            mine = Counter(
                gold
                for lesson in own
                if lesson.is_choice == is_choice and wording in lesson.wordings
                for gold in (lesson.texts if kind == "text" else lesson.letters)
            )
            others = tally.counts.total() - mine.total()
            best = tally.best_without(mine, allowed)
            if best is None or (others < MIN_OTHERS and wording != wordings[-1]):
                continue
            rule = f"most common gold {kind} of the other questions with this wording"
            return Answer(best[0], {"rule": rule, "wording": wording, "count": best[1], "others": others})
        return None
