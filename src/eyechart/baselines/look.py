"""baseline/look and baseline/ocr: simple programs that do look at the image.

They read text, measure patches of colour, and follow rules written for images in general; if no rule
applies they answer "cannot tell". They are not vision-language models: they show how much of a benchmark can
be answered by simple means.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from eyechart.baselines import CANNOT_TELL, Answer, Baseline
from eyechart.baselines.charts import answer_from_chart
from eyechart.baselines.question import Choices, ParsedQuestion, match_option, read_question
from eyechart.baselines.sight import Sight
from eyechart.baselines.things import answer_about_things
from eyechart.baselines.writing import answer_from_table, answer_from_writing
from eyechart.data.images import ocr
from eyechart.errors import ModelError
from eyechart.types import Image, Reply, Request

Rule = Callable[[ParsedQuestion, Sight, Choices], Answer | None]
_THREADS = 4  # more than cores: questions on one image wait for each other
REMEMBERED = 8  # measured images in memory: questions on one image mostly follow each other


class Look(Baseline):
    """Answer by colour, shape, count, place and text."""

    kind = "look"
    version = "4"
    rules: tuple[Rule, ...] = (answer_from_chart, answer_about_things, answer_from_table, answer_from_writing)
    measures = True

    def __init__(self, seed: int = 0, *, reads: bool = True) -> None:
        super().__init__(seed)
        self.reads = reads and ocr.has_reader()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"baseline-{self.kind}")
        self._seen: dict[str, Sight] = {}

    @property
    def remark(self) -> str:
        """A note for the user, shown beside the score."""
        return "" if self.reads else "baseline/look reads no text here: pip install 'eyechart[ocr]'"

    @property
    def identity(self) -> Mapping[str, Any]:
        """Includes the OCR version: without OCR, the answers differ."""
        return {**super().identity, "ocr": ocr.name_reader() if self.reads else "none"}

    async def reply(self, request: Request) -> Reply:
        """Answer one request on a thread: an image takes up to two seconds."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._reply, request)

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._seen.clear()

    def answer(self, request: Request) -> Answer:
        """Look at the image and use the first rule that gives an answer."""
        images = [part for message in request.messages for part in message.images]
        if not images:
            return Answer(CANNOT_TELL, {"rule": "no image"})
        if not isinstance(images[0], Image):
            raise ModelError("the image was not loaded before the request")
        sight = self._seen.get(images[0].sha256)
        if sight is None:
            sight = Sight(images[0].data(), reads=self.reads, measures=self.measures)
            self._seen = dict([*self._seen.items(), (images[0].sha256, sight)][-REMEMBERED:])
        sample = request.sample
        answer = self._follow_rules(read_question(sample.question), sight, sample.choices)
        about = {} if self.reads else {"text": "not read: the ocr extra is not installed"}
        if self.measures and not sight.is_drawing:
            share = f"a few colours cover only {sight.patches.flatness:.2f} of the image"
            about["shapes"] = f"not measured: {share}"
        if len(images) > 1:
            about["pictures"] = f"only the first of {len(images)} was used"
        return Answer(answer.text, {**answer.evidence, **about})

    def _follow_rules(self, question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer:
        for rule in self.rules:
            found = rule(question, sight, choices)
            if found is None:
                continue
            if not choices:  # in the question's spelling
                is_american = re.search(r"\bcolors?\b|\bgray\b", question.text)
                text = "gray" if found.text == "grey" and is_american else found.text
                return Answer(text, found.evidence)
            letter = match_option(found.text, choices)
            if letter is not None:
                return Answer(letter, {**found.evidence, "found": found.text})
        return Answer(CANNOT_TELL, {"rule": "no rule gave an answer"})


class OcrOnly(Look):
    """Answer by the text alone: no colours, no shapes."""

    kind = "ocr"
    rules = (answer_from_table, answer_from_writing)
    measures = False

    def __init__(self, seed: int = 0) -> None:
        ocr.require_reader()
        super().__init__(seed)
