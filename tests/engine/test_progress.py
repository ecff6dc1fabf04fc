"""The counters behind the live line."""

import time

import pytest

from eyechart.engine.executor import Progress
from eyechart.types import Score


def verdict(value: float) -> Score:
    return Score(outcome="correct" if value else "wrong", value=value)


def test_a_new_run_promises_nothing() -> None:
    shown = Progress(total=10).snapshot()
    assert (shown.done, shown.total, shown.score, shown.eta_s, shown.requests_per_s) == (0, 10, None, None, 0)


def test_done_is_all_that_has_an_outcome() -> None:
    shown = Progress(total=10, resumed=3, answered=2, failed=1).snapshot()
    assert (shown.done, shown.resumed, shown.failed) == (6, 3, 1)


def test_the_mean_leaves_out_what_has_no_public_answer() -> None:
    progress = Progress()
    for score in (verdict(1), verdict(0), Score(outcome="unscored", value=0)):
        progress.count_score(score)
    assert progress.snapshot().score == 0.5


def test_the_rate_and_the_time_left_follow_the_last_seconds() -> None:
    now = time.monotonic()
    progress = Progress(total=120, started_at=now - 100)
    progress._recent.append(now - 10.5)  # the one that came before them
    for _ in range(20):
        progress.count_answer()
    shown = progress.snapshot()
    assert len(progress._recent) == 20
    assert shown.requests_per_s == pytest.approx(20 / 10.5, rel=0.05)
    assert shown.eta_s == pytest.approx(52.5, rel=0.05)


def test_replies_that_come_all_at_once_are_as_fast_as_the_run() -> None:
    progress = Progress(total=384, started_at=time.monotonic() - 40)
    for _ in range(384):
        progress.count_answer()
    assert progress.snapshot().requests_per_s == pytest.approx(384 / 40, rel=0.05)


def test_the_rate_falls_while_no_reply_comes() -> None:
    progress = Progress(total=100, started_at=time.monotonic() - 100)
    progress._recent.extend([time.monotonic() - 60] * 8)
    assert progress.snapshot().requests_per_s == pytest.approx(8 / 100, rel=0.05)


def test_a_run_with_more_answers_than_samples_has_no_time_left() -> None:
    progress = Progress(total=1, answered=3, started_at=time.monotonic() - 1)
    progress.count_answer()
    assert progress.snapshot().eta_s == 0
