"""Self-consistency (``--trials K --vote``): of several replies to a question the most frequent answer counts.

An answer is what the scorer read out of a reply, without regard to case and blanks. Replies without an answer
do not vote. Of answers with equally many votes the one given first is taken. A question with a trial that has
no score is left out: with fewer votes the wrong answer wins more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from eyechart.report.counting import group_trials, is_open
from eyechart.types import Result


def is_voted(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's headline is the vote of its trials."""
    options = manifest.get("options")
    return isinstance(options, Mapping) and bool(options.get("vote"))


def merge_votes(results: Iterable[Result]) -> Iterator[Result]:
    """One result per sample: the first trial with the winning answer; without any answer, the first trial.

    The first trial without a score, if there is one: it failed, or lacks a verdict.

    >>> from eyechart.types import Sample, Score
    >>> def trial(n, read, value):
    ...     score = Score(outcome="correct" if value else "wrong", value=value, read=read)
    ...     return Result(sample=Sample(id="1", question="?"), position=0, trial=n, score=score)
    >>> [one] = merge_votes([trial(0, "A", 1.0), trial(1, "B", 0.0), trial(2, "b", 0.0)])
    >>> one.score.read, one.trial, dict(one.score.detail)
    ('B', 0, {'votes': 2, 'of': 3})
    """
    for trials in group_trials(results):
        if (open_trial := next((one for one in trials if is_open(one)), None)) is not None:
            yield replace(open_trial, trial=0)
            continue
        answers = [_name_answer(result) for result in trials]
        votes = Counter(answer for answer in answers if answer)
        if not votes:
            yield replace(trials[0], trial=0)
            continue
        # The first of several with equally many votes: a Counter keeps the order of first occurrence.
        winner, n = max(votes.items(), key=lambda item: item[1])
        chosen = trials[answers.index(winner)]
        assert chosen.score is not None
        score = replace(chosen.score, detail={**chosen.score.detail, "votes": n, "of": votes.total()})
        yield replace(chosen, trial=0, score=score)


def _name_answer(result: Result) -> str:
    read = result.score.read if result.score else None
    return " ".join(read.split()).casefold() if read else ""
