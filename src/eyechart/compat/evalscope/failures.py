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

    def __init__(self, failures: Sequence[EyechartError], results: Mapping[str, Mapping[str, str]]) -> None:
        message = failures[0].message
        if len(failures) > 1:
            lines = "".join(f"\n  {err.message}" for err in failures)
            message = f"{len(failures)} evaluations have no result:{lines}"
        super().__init__(message, hint=failures[0].hint)
        # Of pairs, and in a list of tasks also what kept one of them from its start.
        self.failures: tuple[EyechartError, ...] = tuple(failures)
        if not results and not any(_has_asked(err) for err in failures):
            self.exit_code = 2
        self.results = {name: dict(row) for name, row in results.items()}


class TasksFailed(TaskFailed):
    """Some pairs of a list of tasks have no result. `of_tasks` holds those of each task, in their order.

    In `results` they are together; where two tasks have one of the same name, it is that of the later one.
    """

    def __init__(
        self, failures: Sequence[EyechartError], of_tasks: Sequence[Mapping[str, Mapping[str, str]]]
    ) -> None:
        super().__init__(failures, {name: row for one in of_tasks for name, row in one.items()})
        self.of_tasks = [{name: dict(row) for name, row in one.items()} for one in of_tasks]


def _has_asked(err: EyechartError) -> bool:
    return err.has_asked if isinstance(err, PairFailed) else err.exit_code != 2
