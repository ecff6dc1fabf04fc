"""A model and a set of questions, and what came of the two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from eyechart.compat.evalscope.failures import PairFailed
from eyechart.compat.evalscope.predictions import ASKED_BY
from eyechart.compat.evalscope.printed import frame_lines, is_frame, remark
from eyechart.compat.evalscope.questions import Questions
from eyechart.compat.evalscope.task import ModelEntry, Task
from eyechart.compat.vlmeval.accuracies import files_of, read_accuracies, texts_of
from eyechart.errors import EyechartError
from eyechart.run.options import Options
from eyechart.types import Result

if TYPE_CHECKING:
    from eyechart.run.plan import Plan
    from eyechart.run.record import Run

Row = Mapping[str, str]
AGAIN = "the same call again asks only for what is missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model and a set of questions that can be asked: all was checked, nothing spent."""

    task: Task
    model: ModelEntry
    questions: Questions
    folder: Path  # of the model's files
    options: Options
    predictions: Path  # the file of what was answered
    plan: Plan | None = None  # None where predictions that are there already are scored
    slips: list[EyechartError] = field(default_factory=list, repr=False)  # of a user's `build_prompt`

    @property
    def data(self) -> str:
        """The set's name."""
        return self.questions.entry.name

    @property
    def stem(self) -> str:
        """How the names of the files begin."""
        return stem_for(self.model.name, self.data)

    @property
    def judge(self) -> str | None:
        """Who reads what rules cannot, if anybody does."""
        judge = self.task.judging.get("model") if self.questions.dataset is not None else self.options.judge
        return str(judge).removeprefix("openai/") if judge else None

    def failed(self, why: str, *, hint: str = "", counted: Outcome | None = None) -> PairFailed:
        """The error for this pair."""
        return PairFailed(self.model.name, self.data, why, hint=hint, counted=counted)

    def read_accuracies(self) -> tuple[Row, ...]:
        """The rows of the accuracy file, as texts; none where there is no such file."""
        return read_accuracies(self.folder, self.stem)

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A folder beside the files, for as long as something is made there; nobody else's, and then gone."""
        with TemporaryDirectory(prefix=".scores-", dir=self.folder) as folder:
            yield Path(folder)

    def drop_accuracies(self) -> None:
        """Those of an earlier time are not true any more, whatever happens now."""
        for path in (*files_of(self.folder, self.stem), self.folder / f"{self.stem}_acc.txt"):
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a pair."""

    n: int = 0
    n_failed: int = 0
    n_unjudged: int = 0
    n_without_gold: int = 0  # nobody can say whether they are right
    lines: tuple[Row, ...] = ()  # the accuracies, as they stand in the file
    result: Any = None  # to be printed
    failure: PairFailed | None = None


def stem_for(model: str, data: str) -> str:
    """How the names of the files of a pair begin.

    >>> stem_for("qwen-vl", "my_set")
    'qwen-vl_my_set'
    """
    return f"{model}_{data}"


def count(pair: Pair, done: Run) -> Outcome:
    """How many were asked and how many gave no answer, which is the end unless failures are to be kept."""
    n = n_failed = n_left = n_without_gold = 0
    first = remedy = ""
    for result in done.samples():
        n += 1
        n_without_gold += not result.sample.golds
        if result.reply is None:
            n_failed += 1
            n_left += result.failure is None
            first = first or f"{result.sample.id}: {_why(result, pair)}"
            remedy = remedy or _remedy(result)
        if pair.task.is_verbose:
            said = result.reply.text if result.reply else f"failed: {_why(result, pair)}"
            remark(f"{pair.data} {result.sample.id}: {said}")
    found = Outcome(n=n, n_failed=n_failed, n_without_gold=n_without_gold)
    if done.trouble is not None and n_left and pair.plan is not None:  # a part is nobody's accuracy
        what = f"it ended early, and {n_failed} of {n} questions got no answer: {done.trouble.message}"
        hint = "; ".join(filter(None, (done.trouble.hint, AGAIN)))
        raise pair.failed(what, hint=hint, counted=found)
    if n_failed and not pair.task.keep_failed:
        what = f"{n_failed} of {n} questions got no answer (e.g. {first})"
        left_out = f"{ASKED_BY}; keep_failed: true leaves them out"
        hint = (remedy or AGAIN) if pair.plan is not None else left_out
        raise pair.failed(what, hint=hint, counted=found)
    return found


def _why(result: Result, pair: Pair) -> str:
    """The reason without its hint, which is for another moment."""
    if pair.plan is None:
        return f"{pair.predictions.name} holds no answer to it"
    return result.failure.reason.partition("\n")[0] if result.failure else "it was not asked any more"


def _remedy(result: Result) -> str:
    """What to do about a failure: what its own error advises, else what helps with failures of its kind."""
    if result.failure is None:
        return ""
    own = result.failure.reason.partition("\n")[2].strip().removeprefix("hint: ")
    return f"{own}; then {AGAIN}" if own else result.failure.remedy


def lines_of(result: Any) -> tuple[Row, ...]:
    """What a user's `evaluate` returned, as texts."""
    lines: Iterable[Mapping[str, Any]] = ()
    if isinstance(result, Mapping):
        lines = [result]
    elif is_frame(result):
        lines = frame_lines(result)
    return tuple(texts_of(line) for line in lines)
