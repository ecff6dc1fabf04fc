"""baseline/random: a fair guess among the options, the same one every time."""

from __future__ import annotations

import random

from eyechart.model.baseline.base import CANNOT_TELL, Answer, Baseline
from eyechart.types import Request


class RandomGuess(Baseline):
    """Guess uniformly, by (seed, sample, trial); an open question has nothing to guess among."""

    kind = "random"

    def answer(self, request: Request) -> Answer:
        """Answer with one of the option letters."""
        letters = list(request.sample.choices)
        if not letters:
            return Answer(CANNOT_TELL, {"rule": "no options to guess among"})
        rng = random.Random(f"{self.seed}/{request.sample.id}/{request.trial}")  # noqa: S311 not a secret
        return Answer(rng.choice(letters), {"rule": "uniform guess", "options": len(letters)})
