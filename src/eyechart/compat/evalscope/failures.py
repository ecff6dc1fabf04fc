"""What went wrong with one model and one set of questions, and with a whole task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eyechart.errors import EyechartError

if TYPE_CHECKING:
    from eyechart.compat.evalscope.outcome import Outcome


class PairFailed(EyechartError):
    """One model and one set of questions have no result. Says which, why, and what the next start does."""

    exit_code = 1

    def __init__(
        self, model: str, data: str, why: str, *, hint: str = "", counted: Outcome | None = None
    ) -> None:
        super().__init__(f"model {model} x dataset {data}: {why}", hint=hint)
        self.why = why
        self.counted = counted  # what is known of the pair all the same

    @property
    def has_asked(self) -> bool:
        """Whether something came back before it failed."""
        cause = self.__cause__
        return self.counted is not None or not isinstance(cause, EyechartError) or cause.exit_code != 2


class TaskFailed(EyechartError):
    """Some pairs of a task have no result. `results` holds those of the others.

    The exit code is 1; it is 2 where all failed before anything was answered, by bad input or for want of a
    server.
    """

    exit_code = 1

    def __init__(self, failures: Sequence[PairFailed], results: Mapping[str, Mapping[str, str]]) -> None:
        message = failures[0].message
        if len(failures) > 1:
            lines = "".join(f"\n  {err.message}" for err in failures)
            message = f"{len(failures)} of the task's evaluations have no result:{lines}"
        super().__init__(message, hint=failures[0].hint)
        self.failures = tuple(failures)
        if not results and not any(err.has_asked for err in failures):
            self.exit_code = 2
        self.results = {name: dict(row) for name, row in results.items()}
