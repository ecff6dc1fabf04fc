"""A pair in the usual way: asked and scored by rules that are there, with no class of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.compat.evalscope.outcome import AGAIN, Outcome, Pair, Row, count
from eyechart.compat.evalscope.predictions import answered_of, drop_other_formats, write_predictions
from eyechart.compat.evalscope.printed import remark
from eyechart.compat.vlmeval.unjudged import unjudged, unreadable

if TYPE_CHECKING:
    from eyechart.run.record import Run


def run_usual(pair: Pair, scoring: Callable[[], None]) -> Outcome:
    """Ask, write the predictions, and score them; `scoring` is called between the two."""
    from eyechart.run import evaluate

    done = evaluate(pair.plan) if pair.plan is not None else _score_file(pair)
    if done.is_interrupted:
        raise KeyboardInterrupt
    if pair.plan is not None:
        write_predictions(lambda: done.samples(0), pair.predictions, pair.questions.file)
        drop_other_formats(pair.predictions)
    outcome = count(pair, done)
    if pair.task.mode == "infer":
        return outcome
    scoring()
    n_unjudged, why = unjudged(done)
    outcome = replace(outcome, n_unjudged=n_unjudged)
    waiting = "1 reply waits" if n_unjudged == 1 else f"{n_unjudged} of {outcome.n} replies wait"
    reason = f" ({why})" if why else ""
    if n_unjudged and not pair.task.keep_failed:
        said = f"{waiting} for the judge, which gave no answer{reason}"
        raise pair.failed(said, hint=AGAIN, counted=outcome)
    _write_accuracies(pair, done)
    lines = pair.read_accuracies()
    for said in _uncounted(pair, done, outcome, is_scored=bool(lines)):
        remark(f"{pair.stem}: {said}")
    if trials := done.summary.trials:
        over = f"{trials.mean:.4f} ± {trials.std:.4f} over {trials.k} trials"
        remark(f"{pair.stem}: {over}; the table is that of the first, the others have files of their own")
    if n_unjudged:
        remark(f"{pair.stem}: {waiting} for the judge, and count nowhere{reason}")
    return replace(outcome, lines=lines, result=[_shown(line) for line in lines] or None)


def _uncounted(pair: Pair, done: Run, outcome: Outcome, *, is_scored: bool) -> Iterator[str]:
    """What the accuracy is without, a line each: VLMEvalKit counts all of these as wrong, or by chance."""
    n, n_without_gold = outcome.n, outcome.n_without_gold
    if not is_scored and outcome.n_failed < n:
        why = "no answer is public" if n_without_gold == n else "no reply has a verdict"
        yield f"{why}; the predictions: {pair.predictions}"
    if is_scored and n_without_gold:
        yield f"{n_without_gold} of {n} questions have no answer in the file, and count nowhere"
    if outcome.n_failed:
        yield f"{outcome.n_failed} of {n} questions got no answer, and count nowhere"
    if pair.judge and (unread := unreadable(done.samples(), n)):
        yield unread


def _score_file(pair: Pair) -> Run:
    """Predictions that are there already, as a run."""
    from eyechart.run.replies import score_replies

    kept = Path(pair.options.out) / "predictions" / f"{pair.stem}.jsonl"
    file = answered_of(pair.predictions, pair.questions.source, pair.options, kept)
    return score_replies(pair.questions.source, file, pair.options)


def _write_accuracies(pair: Pair, done: Run) -> None:
    """Write the accuracies and verdicts under the names that the task gives the two."""
    from eyechart.compat.vlmeval.accuracies import in_chosen_format
    from eyechart.report.evalscope_table import write_evalscope
    from eyechart.report.vlmevalkit.names import stem_of
    from eyechart.types import Export

    manifest = {**done.manifest, "model": pair.model.name, "origin": f"{pair.data}.tsv"}
    their_stem = stem_of(manifest, 0)
    # With them come predictions, which must not replace those that are there.
    with pair.draft() as draft:
        for path in write_evalscope(Export(folder=draft, manifest=manifest, results=done.samples)):
            if path.name != f"{their_stem}.xlsx":
                path.replace(pair.folder / f"{pair.stem}{path.name.removeprefix(their_stem)}")
    in_chosen_format(pair.folder, pair.stem)


def _shown(line: Row) -> dict[str, str]:
    """A line of the file as it is printed: what a split has nothing of is no number."""
    return {name: cell or "nan" for name, cell in line.items()}
