"""stub."""

from eyechart.model.baseline.base import CANNOT_TELL, Answer, Baseline
from eyechart.types import Request


class Look(Baseline):
    """stub."""

    kind = "look"

    def answer(self, request: Request) -> Answer:
        """stub."""
        return Answer(CANNOT_TELL)


class OcrOnly(Look):
    """stub."""

    kind = "ocr"
