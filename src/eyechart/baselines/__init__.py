"""Baselines: simple models to compare a score with.

``baseline/random`` guesses, ``baseline/majority`` knows the questions but not the images, ``baseline/ocr``
reads the text in the image, ``baseline/look`` also measures colours, shapes, counts and positions. None of
them is a vision-language model. ``baseline/tiny-vlm`` is one, with 3.4 million weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import MissingExtra, UnknownName, UsageError
from eyechart.models.hf import open_model
from eyechart.registry import model, suggest_name
from eyechart.types import Capabilities, Model, ModelSettings, Reply, Request, Sample

NAMES = ("random", "majority", "ocr", "look", "tiny-vlm")
# Ignored rather than refused: they are given once for all models of a command.
COMMON = frozenset({"temperature", "max_tokens"})
CANNOT_TELL = "cannot tell"  # the reply where no rule gives an answer; scored like any other text


@model("baseline")
def make_baseline(name: str, settings: ModelSettings) -> Model:
    """Make the baseline of that name. Its one parameter is `seed`; `tiny-vlm` has those of local weights."""
    if name not in NAMES:
        hint = suggest_name(name, list(NAMES), otherwise=f"known: {', '.join(NAMES)}")
        raise UnknownName(f"no baseline named {name!r}", hint=hint)
    if name == "tiny-vlm":
        return open_model(str(Path(__file__).parent / "tiny_vlm"), "baseline/tiny-vlm", settings)
    refused = sorted(set(settings.parameters) - {"seed"} - COMMON)
    if refused:
        raise UsageError(
            f"baseline/{name} takes no {', '.join(refused)}",
            hint="a baseline has one parameter, seed; leave the others out",
        )
    seed = settings.parameters.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"baseline/{name}: seed must be a whole number, not {seed!r}")
    if name in ("random", "majority"):
        return RandomGuess(seed or 0) if name == "random" else Majority(seed or 0)
    if not can_look():
        raise MissingExtra.named("ocr", needed_for=f"baselines that look at images (baseline/{name})")
    from eyechart.baselines.look import Look, OcrOnly

    return Look(seed or 0) if name == "look" else OcrOnly(seed or 0)


def can_look() -> bool:
    """Whether numpy and OpenCV are installed, which the `ocr` extra brings."""
    return all(importlib.util.find_spec(name) is not None for name in ("numpy", "cv2"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A text to reply with, and how it was found."""

    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Baseline(ABC):
    """A model that is a plain function of the request. Subclasses define `kind` and `answer`."""

    kind: str
    version = "1"  # changes whenever an answer could change
    capabilities = Capabilities(is_free=True, takes_messages=False)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @property
    def name(self) -> str:
        return f"baseline/{self.kind}"

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that can change an answer."""
        return {"baseline": self.kind, "version": self.version, "seed": self.seed}

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Answer one request: same request, same answer."""

    async def reply(self, request: Request) -> Reply:
        """Answer one request. Slow baselines use a thread, see `Look`."""
        return self._reply(request)

    async def close(self) -> None:
        return

    def _reply(self, request: Request) -> Reply:
        started = time.perf_counter()  # without the wait for a free thread
        answer = self.answer(request)
        latency_s = time.perf_counter() - started
        return Reply(text=answer.text, model=self.name, latency_s=latency_s, evidence=answer.evidence)


class RandomGuess(Baseline):
    """Guess uniformly, by (seed, sample, trial); an open question has nothing to guess among."""

    kind = "random"

    def answer(self, request: Request) -> Answer:
        letters = list(request.sample.choices)
        if not letters:
            return Answer(CANNOT_TELL, {"rule": "no options to guess among"})
        rng = random.Random(f"{self.seed}/{request.sample.id}/{request.trial}")  # noqa: S311 not a secret
        return Answer(rng.choice(letters), {"rule": "uniform guess", "options": len(letters)})


# -- baseline/majority reads all questions with their golds and answers each with the most frequent gold of
# similarly worded questions, leaving out the question itself. If it scores well, images are hardly needed.

Kind = Literal["text", "letter"]  # what is counted: an answer's text, or the letter of an option
MIN_OTHERS = 2  # a wording seen in fewer other questions is replaced by a coarser one
OPENINGS = (4, 3, 2, 1)  # words
Key = tuple[bool, Kind, str]  # whether there are options, what is counted, the wording
Lessons = Mapping[Key, tuple[str, ...]]


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


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_lessons(sample: Sample) -> dict[Key, tuple[str, ...]]:
    """What a sample adds to the counts: its golds, as texts and for options as letters."""
    # Open golds keep their spelling: which of "STOP" and "stop" is right cannot be known.
    choices, golds = sample.choices, sample.golds
    texts = [_normalise(choices.get(gold, "")) for gold in golds] if choices else golds
    kinds: dict[Kind, Iterable[str]] = {"text": filter(None, texts), "letter": golds if choices else ()}
    counted = {kind: tuple(dict.fromkeys(answers)) for kind, answers in kinds.items()}
    return {
        (bool(choices), kind, wording): answers
        for wording in list_wordings(sample.question)
        for kind, answers in counted.items()
    }


def _list_names(sample: Sample) -> list[object]:
    """By which a sample is known: its id; and what it shares with the same one with reordered options."""
    options = frozenset(_normalise(text) for text in sample.choices.values())
    return [("id", sample.id), sample.circle or (sample.question, sample.images, options)]


class Majority(Baseline):
    """Answer by the frequencies of the other questions' golds."""

    kind = "majority"

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self._forget()

    def _forget(self) -> None:
        self._counts: defaultdict[Key, Counter[str]] = defaultdict(Counter)
        self._totals: Counter[Key] = Counter()
        self._ranked: dict[Key, list[str]] = {}
        self._lessons: defaultdict[object, list[Lessons]] = defaultdict(list)
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
            lessons = _list_lessons(sample)
            for name in _list_names(sample):
                self._lessons[name].append(lessons)
            for key, golds in lessons.items():
                self._counts[key].update(golds)
                self._totals[key] += len(golds)
            digest.update(repr((sample.id, sample.question, sample.golds)).encode())
        self._studied = digest.hexdigest()

    def answer(self, request: Request) -> Answer:
        """Answer from the finest wording that enough other questions share."""
        sample = request.sample
        if not self._lessons:
            return Answer(CANNOT_TELL, {"rule": "nothing was studied"})
        if sample.choices:
            by_text = {_normalise(text): letter for letter, text in reversed(list(sample.choices.items()))}
            if (found := self._most_common(sample, "text", by_text)) is not None:
                return Answer(by_text[found.text], {**found.evidence, "option": found.text})
            found = self._most_common(sample, "letter", sample.choices, finest=-1)
        else:
            found = self._most_common(sample, "text", None)
        return found or Answer(CANNOT_TELL, {"rule": "no other question has a gold that fits"})

    def _most_common(
        self, sample: Sample, kind: Kind, allowed: Iterable[str] | None, finest: int = 0
    ) -> Answer | None:
        # The lessons of the sample itself and of its rotations are never used on it.
        own = {id(one): one for name in _list_names(sample) for one in self._lessons.get(name, ())}
        wordings = list_wordings(sample.question)[finest:]
        for wording in wordings:
            key = bool(sample.choices), kind, wording
            if key not in self._counts:
                continue
            mine = Counter(gold for lessons in own.values() for gold in lessons.get(key, ()))
            others = self._totals[key] - mine.total()
            best = self._find_best(key, mine, allowed)
            if best is None or (others < MIN_OTHERS and wording != wordings[-1]):
                continue
            rule = f"most common gold {kind} of the other questions with this wording"
            evidence = {"rule": rule, "wording": wording, "count": best[1], "others": others}
            return Answer(best[0], evidence)
        return None

    def _find_best(
        self, key: Key, mine: Counter[str], allowed: Iterable[str] | None
    ) -> tuple[str, int] | None:
        """The most common gold without `mine`, and its count; ties go to the first in the alphabet."""
        counts = self._counts[key]
        if allowed is None:
            if key not in self._ranked:
                self._ranked[key] = sorted(counts, key=lambda gold: (-counts[gold], gold))
            first = next((gold for gold in self._ranked[key] if gold not in mine), None)
            allowed = [*mine, *([] if first is None else [first])]
        left = [(mine[gold] - counts[gold], gold) for gold in allowed if counts[gold] > mine[gold]]
        return (min(left)[1], -min(left)[0]) if left else None
