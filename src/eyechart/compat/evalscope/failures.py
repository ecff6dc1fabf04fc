"""What went wrong with one model and one set of questions, and with a whole task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.errors import EyechartError


class PairFailed(EyechartError):
    """One model and one set of questions have no result. Says which, why, and what the next start does."""

    exit_code = 1

    def __init__(self, model: str, data: str, why: str, *, hint: str = "") -> None:
        super().__init__(f"model {model} x dataset {data}: {why}", hint=hint)
        self.why = why
        self.counted: Any = None  # what is known of the pair all the same


class TaskFailed(EyechartError):
    """Some pairs of a task have no result. `results` holds those of the others."""

    exit_code = 1

    def __init__(self, failures: Sequence[EyechartError], results: Mapping[str, Mapping[str, str]]) -> None:
        first = failures[0]
        if len(failures) == 1:
            message, hint = first.message, first.hint
        else:
            lines = [f"\n  {err.message}" for err in failures]
            message = f"{len(failures)} of the task's evaluations have no result:{''.join(lines)}"
            hint = first.hint
        super().__init__(message, hint=hint)
        self.failures = tuple(failures)
        self.results = dict(results)
