"""Whole runs against servers with limits, servers that die, and several of them, by the servers' own logs."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.command import Outcome, eyechart
from support.files import jsonl
from support.server import Answer, Asked, Server
from torture.endpoint import Endpoint

# What may differ between two runs of the same questions.
CHANGING = ("run", "requests", "seconds", "latency")
QUICK = 0.01
PATIENCE_S = 120  # on a busy machine


def questions(folder: Path, n: int) -> str:
    rows = [{"index": str(k), "question": f"Question {k}?", "answer": "ABCD"[k % 4]} for k in range(n)]
    return str(jsonl(folder / f"q{n}.jsonl", rows))


@contextmanager
def served(folder: Path, **switches: Any) -> Iterator[Endpoint]:
    folder.mkdir(exist_ok=True)
    with Endpoint(folder, **{"latency_s": QUICK, **switches}) as endpoint:
        yield endpoint


def run(folder: Path, n: int, *at: Endpoint | str, out: str = "runs", flags: str = "") -> Outcome:
    """One start of the run, here; every `out` has a cache of its own."""
    addresses = [one.base_url if isinstance(one, Endpoint) else one for one in at]
    base = [word for address in addresses for word in ("--base-url", address)]
    command = [
        "run",
        questions(folder, n),
        "-m",
        "openai/m",
        *base,
        "--out",
        out,
        "--json",
        "-q",
        *flags.split(),
    ]
    return eyechart(*command, cwd=folder, EYECHART_CACHE=str(folder / f"cache-{out}"))


@contextmanager
def once(holds: Callable[[], bool], do: Callable[[], object]) -> Iterator[None]:
    """Do something as soon as it is so, while the block runs."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            if holds():
                do()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def has_answered(endpoint: Endpoint, n: int) -> Callable[[], bool]:
    return lambda: int(endpoint.stats()["answered"]) >= n


def slack_s(folder: Path) -> float:
    """What a busy machine may add to a time: five times what such a run takes without any limit."""
    with served(folder / "free") as endpoint:
        return 5 * float(run(folder, 70, endpoint, out="free", flags="--concurrency 16").json["seconds"])


def log(endpoint: Endpoint, event: str = "asked", kind: str | None = None) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in endpoint._log.read_text().splitlines()]
    return [line for line in lines if line["event"] == event and kind in {None, line["kind"]}]


def times(lines: list[dict[str, Any]]) -> list[float]:
    return [line["at"] for line in lines]


def most_within(at: list[float], window_s: float) -> int:
    return max(sum(start <= one < start + window_s for one in at) for start in at)


def number(line: dict[str, Any]) -> int:
    """Which question it was."""
    found = re.search(r"Question (\d+)\?", line["text"])
    assert found
    return int(found[1])


def report(done: Outcome) -> dict[str, Any]:
    return {name: value for name, value in done.json.items() if name not in CHANGING}


@pytest.mark.slow
def test_n_at_once_are_n_at_the_server(tmp_path: Path) -> None:
    with served(tmp_path, latency_s=0.03) as endpoint:
        for n in (3, 17, 48):
            done = run(tmp_path, 2 * n, endpoint, out=str(n), flags=f"--concurrency {n}")
            assert done.code == 0
            assert endpoint.stats()["most_in_flight"] == n


@pytest.mark.slow
def test_n_at_once_are_n_over_all_addresses(tmp_path: Path) -> None:
    with served(tmp_path / "a", latency_s=0.03) as one, served(tmp_path / "b", latency_s=0.03) as other:
        assert run(tmp_path, 120, one, other, flags="--concurrency 24").code == 0
        for endpoint in (one, other):
            stats = endpoint.stats()
            assert stats["most_in_flight"] == pytest.approx(12, abs=2)
            assert stats["answered"] == pytest.approx(60, abs=10)
        assert one.stats()["answered"] + other.stats()["answered"] == 120


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [
        {"max_in_flight": 4, "retry_after_s": 0.05},
        {"max_in_flight": 4, "over_limit": "503", "retry_after_form": "none"},
        {"max_rps": 100.0, "burst": 4.0, "retry_after_form": "none"},
    ],
    ids=["429", "503", "rate"],
)
def test_a_server_that_limits_then_relents(tmp_path: Path, limits: dict[str, Any]) -> None:
    with served(tmp_path, latency_s=0.02, **limits) as endpoint:
        relented: list[float] = []

        def relent() -> None:
            endpoint.control(max_in_flight=0, max_rps=0)
            relented.append(time.monotonic())

        with once(has_answered(endpoint, 150), relent):
            done = run(tmp_path, 900, endpoint, flags="--concurrency 32")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        stats = endpoint.stats()
        assert stats["kinds"]["ok"] == 900
        assert stats["requests"] - 900 < 300, "two refusals for an answer at most, while it limits"
        assert 30 <= stats["most_in_flight"] <= 32, "in the end it is asked as much as the user said"
        after = sum(at > relented[0] for at in times(log(endpoint, "answered")))
        assert max(in_flight(endpoint)[-after // 2 :]) >= 30, "and it gets there once it limits no more"


@pytest.mark.slow
def test_a_server_that_chokes_is_sent_less_and_one_that_is_slow_is_not(tmp_path: Path) -> None:
    with served(tmp_path / "a", latency_s=0.02) as choking:
        change = lambda: choking.control(degrade_above=16, degrade_power=2)  # noqa: E731
        with once(has_answered(choking, 300), change):
            done = run(tmp_path, 900, choking, out="a", flags="--concurrency 64")
        assert done.code == 0
        at_once = in_flight(choking)
        assert max(at_once[:300]) == 64
        assert min(at_once[450:850]) <= 36, "about half, at least once"
    with served(tmp_path / "b", latency_s=0.02) as slow:
        with once(has_answered(slow, 300), lambda: slow.control(latency_s=0.2)):
            done = run(tmp_path, 900, slow, out="b", flags="--concurrency 64")
        assert done.code == 0
        assert max(in_flight(slow)[-200:]) == 64, "a cut in vain is taken back"


def in_flight(endpoint: Endpoint) -> list[int]:
    """How many were under way when each request came, itself included."""
    events = sorted(
        [(at, 1) for at in times(log(endpoint))] + [(at, -1) for at in times(log(endpoint, "answered"))]
    )
    now, seen = 0, []
    for _, step in events:
        now += step
        if step > 0:
            seen.append(now)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_wait_that_is_asked_for_is_kept_while_others_go_on(tmp_path: Path, form: str) -> None:
    switches = {"fail_first_n": 1, "fail_first_kind": "429", "retry_after_s": 1, "retry_after_form": form}
    with served(tmp_path, **switches) as endpoint:
        done = run(tmp_path, 400, endpoint, flags="--concurrency 4")
        assert done.code == 0, done.err
        [refused] = log(endpoint, kind="429")
        again = [line["at"] for line in log(endpoint, kind="ok") if line["text"] == refused["text"]]
        assert len(again) == 1
        assert again[0] - refused["at"] >= 0.99
        meanwhile = [at for at in times(log(endpoint, "answered")) if refused["at"] < at < again[0]]
        assert len(meanwhile) > 3, "more than the others that were under way"


@pytest.mark.slow
def test_a_storm_of_refusals_fails_no_sample_while_others_are_answered(tmp_path: Path) -> None:
    with served(tmp_path, max_rps=25, burst=2, retry_after_form="none") as endpoint:
        done = run(tmp_path, 70, endpoint, flags="--concurrency 64 --retries 2")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        assert 70 / 25 * 0.8 < done.json["seconds"] < 70 / 25 * 3 + slack_s(tmp_path)
        assert endpoint.stats()["requests"] < 70 * 6


# -- rates -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_more_requests_a_minute_than_allowed(tmp_path: Path) -> None:
    with served(tmp_path) as endpoint:
        done = run(tmp_path, 60, endpoint, flags="--concurrency 16 --rpm 1200")
        assert done.code == 0
        at = times(log(endpoint))
        assert most_within(at, 1.0) <= 20 * (1 + 1) + 1
        assert 59 / 20 - 1.1 < at[-1] - at[0] < 59 / 20 + 1 + slack_s(tmp_path)


@pytest.mark.slow
def test_no_more_tokens_a_minute_than_allowed(tmp_path: Path) -> None:
    """As the server counts them: the words alone are a few, the answers are long."""
    with served(tmp_path, prompt_tokens=100, completion_tokens=900) as endpoint:
        done = run(tmp_path, 24, endpoint, flags="--concurrency 2 --tpm 600000")
        assert done.code == 0
        at = times(log(endpoint))
        assert at[-1] - at[0] > 24 * 1000 / 10_000 - 1.2, "ten thousand tokens a second"
        assert at[-1] - at[0] < 24 * 1000 / 10_000 + 1 + slack_s(tmp_path)
        assert most_within(at, 1.0) <= 10 * (1 + 1) + 2


# -- several addresses -----------------------------------------------------------------------------


@pytest.mark.slow
def test_one_address_that_was_dead_from_the_start(tmp_path: Path) -> None:
    with served(tmp_path / "a", dead=True) as dead, served(tmp_path / "b") as alive:
        done = run(tmp_path, 200, dead, alive, flags="--concurrency 8")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        assert alive.stats()["answered"] == 200


@pytest.mark.slow
def test_one_address_that_dies_and_returns(tmp_path: Path) -> None:
    with served(tmp_path / "a", latency_s=0.04) as mortal, served(tmp_path / "b", latency_s=0.04) as other:
        with once(has_answered(mortal, 40), lambda: mortal.control(dead=1.5)):
            done = run(tmp_path, 1000, mortal, other, flags="--concurrency 8")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        at = times(log(mortal))
        pause = max(later - earlier for earlier, later in itertools.pairwise(at))
        assert pause > 1.4, "it was away"
        back = [one for one in at if one > at[39] + 1.5]
        assert len(back) > 100, "and is used again"


@pytest.mark.slow
def test_all_addresses_die_and_the_run_goes_on_later_in_any_order(tmp_path: Path) -> None:
    with served(tmp_path / "a") as one, served(tmp_path / "b") as other:

        def die() -> None:
            one.control(dead=True)
            other.control(dead=True)

        with once(has_answered(one, 40), die):
            done = run(tmp_path, 1200, one, other, flags="--concurrency 8 --give-up-after 3")
        assert done.code == 1
        assert "none of the 2 endpoints answers" in done.err
        assert "run the same command again" in done.err
        assert done.json["pending"] > 400
        for endpoint in (one, other):
            endpoint.control(dead=False)
        n_before = one.stats()["answered"] + other.stats()["answered"]
        ended = run(tmp_path, 1200, other, one, flags="--concurrency 8")
        assert ended.code == 0, ended.err
        n_asked = one.stats()["answered"] + other.stats()["answered"] - n_before
        assert n_asked <= 1200 - n_before + 16, "what was answered is not asked again"
        again = run(tmp_path, 1200, one, other)
        assert again.json["requests"] == ended.json["requests"]
        assert report(again) == report(ended)


@pytest.mark.slow
@pytest.mark.parametrize("turns_at", [0, 40])
@pytest.mark.parametrize("status", [400, 401, 404, 413, 422])
def test_one_address_that_refuses_all_loses_no_sample(tmp_path: Path, status: int, turns_at: int) -> None:
    """It refuses at once, so it would be sent most of the questions."""
    refusal = Answer(status=status, body=b'{"error": {"message": "no"}}')
    with Server() as wrong, served(tmp_path / "b") as right:
        wrong.answer = lambda asked: refusal if len(wrong.asked) > turns_at else Answer("A", delay_s=QUICK)
        done = run(tmp_path, 300, wrong.base_url, right, flags="--concurrency 16")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        assert right.stats()["answered"] == 300 - turns_at
        assert len(wrong.asked) <= turns_at + 40
        [note] = [line for line in done.err.splitlines() if "left out for now" in line]
        assert f"HTTP {status} from {wrong.base_url}: no" in note


@pytest.mark.slow
def test_a_wrong_model_at_all_addresses_ends_it_at_the_first_answers(tmp_path: Path) -> None:
    with served(tmp_path / "a", wrong_model=True) as one, served(tmp_path / "b", wrong_model=True) as other:
        done = run(tmp_path, 500, one, other, flags="--concurrency 8")
        assert done.code == 2
        assert "HTTP 404" in done.err
        assert "left out" not in done.err
        assert one.stats()["requests"] + other.stats()["requests"] <= 2 * 8


# -- a dead server ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_that_dies_for_good_is_noticed_and_the_run_goes_on_later(tmp_path: Path) -> None:
    with served(tmp_path) as endpoint:
        calm = run(tmp_path, 800, endpoint, out="calm")
        n_calm = endpoint.stats()["answered"]
        with once(has_answered(endpoint, n_calm + 100), lambda: endpoint.control(dead=True)):
            start = time.monotonic()
            done = run(tmp_path, 800, endpoint, flags="--give-up-after 3 --concurrency 16")
        assert time.monotonic() - start < PATIENCE_S
        assert done.code == 1
        assert "3 failures in a row without an answer" in done.err
        assert "run the same command again" in done.err
        assert done.json["pending"] > 300
        assert done.json["outcomes"]["failed"] <= 16
        endpoint.control(dead=False)
        ended = run(tmp_path, 800, endpoint, flags="--give-up-after 3")
        assert ended.code == 0, ended.err
        assert report(ended) == report(calm)


@pytest.mark.slow
def test_a_run_whose_server_is_away_when_it_is_resumed_can_be_resumed_again(tmp_path: Path) -> None:
    """It has answered before, so the address is right: it is tried for longer, and nothing is an error."""
    with served(tmp_path) as endpoint:
        with once(has_answered(endpoint, 50), lambda: endpoint.control(dead=True)):
            assert run(tmp_path, 400, endpoint, flags="--give-up-after 3").code == 1
        n_kept = endpoint.stats()["answered"]
        again = run(tmp_path, 400, endpoint, flags="--give-up-after 4")
        assert again.code == 1, again.err
        assert "4 failures in a row without an answer" in again.err
        assert "run the same command again" in again.err
        assert again.json["pending"] > 0
        endpoint.control(dead=False)
        ended = run(tmp_path, 400, endpoint)
        assert ended.code == 0, ended.err
        assert endpoint.stats()["answered"] <= 400 + 64
        assert n_kept >= 50


@pytest.mark.slow
def test_that_it_has_answered_is_known_before_the_first_answered_sample_comes_by(tmp_path: Path) -> None:
    refusal = Answer(status=400, body=b'{"error": {"message": "not yet"}}')
    with Server(lambda asked: refusal if int(re.findall(r"\d+", asked.text)[0]) < 70 else "A") as server:
        first = run(tmp_path, 90, server.base_url, flags="--give-up-after 100")
        assert first.json["outcomes"]["failed"] == 70
    done = run(tmp_path, 90, server.base_url, flags="--give-up-after 3 --concurrency 16")
    assert done.code == 1, done.err
    assert "3 failures in a row without an answer" in done.err


@pytest.mark.slow
def test_an_address_that_was_never_reached_ends_it_within_seconds(tmp_path: Path) -> None:
    with served(tmp_path, dead=True) as endpoint:
        start = time.monotonic()
        done = run(tmp_path, 400, endpoint, flags="--give-up-after 50")
        assert done.code == 2
        assert "cannot connect" in done.err
        assert time.monotonic() - start < PATIENCE_S


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 4, 64])
def test_samples_that_always_fail_are_failures_and_no_more(tmp_path: Path, concurrency: int) -> None:
    with served(tmp_path, latency_s=0.002, failures={"500": 0.05}, sticky=True, seed=1) as endpoint:
        done = run(tmp_path, 120, endpoint, flags=f"--concurrency {concurrency} --retries 1")
        poison = {line["text"] for line in log(endpoint, kind="500")}
        assert 3 <= len(poison) <= 15
        assert done.code == 1
        assert done.json["outcomes"]["failed"] == len(poison)
        assert done.json["pending"] == 0
        assert endpoint.stats()["answered"] == 120 - len(poison)
        assert "the run was stopped" not in done.err


@pytest.mark.slow
def test_a_restart_of_a_few_seconds_is_survived(tmp_path: Path) -> None:
    with served(tmp_path) as endpoint:
        with once(has_answered(endpoint, 200), lambda: endpoint.control(dead=3.0)):
            done = run(tmp_path, 600, endpoint, flags="--concurrency 32")
        assert done.code == 0, done.err
        assert done.json["outcomes"]["failed"] == 0
        assert done.json["requests"]["retried"] < 150


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["--concurrency 1", "--concurrency 64"])
@pytest.mark.parametrize(
    ("switch", "status", "hint"), [("wrong_key", 401, "key"), ("wrong_model", 404, "has: bench")]
)
def test_a_wrong_key_or_model_ends_it_at_the_first_answer(
    tmp_path: Path, switch: str, status: int, hint: str, flags: str
) -> None:
    with served(tmp_path, **{switch: True}) as endpoint:
        done = run(tmp_path, 500, endpoint, flags=flags)
        assert done.code == 2
        assert f"HTTP {status}" in done.err
        assert hint in done.err.split("hint:")[1]
        assert endpoint.stats()["requests"] <= int(flags.split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["--concurrency 1", "--concurrency 64"])
def test_a_key_that_was_withdrawn_since_the_last_start_leaves_the_report_of_what_is_kept(
    tmp_path: Path, flags: str
) -> None:
    with served(tmp_path) as endpoint:
        begun = run(tmp_path, 100, endpoint, flags="--concurrency 1 --max-total-tokens 300")
        n = 100 - begun.json["pending"]
        assert begun.code == 1
        assert 0 < n < 100
        endpoint.control(wrong_key=True)
        done = run(tmp_path, 100, endpoint, flags=flags)
        assert done.code == 1, "nothing was spent now, but what was spent before is worth a report"
        assert "the run was stopped: HTTP 401" in done.err
        assert sum(done.json["outcomes"].values()) - done.json["outcomes"]["failed"] == n
        endpoint.control(wrong_key=False)
        assert run(tmp_path, 100, endpoint, flags=flags).code == 0


@pytest.mark.parametrize(("flags", "n"), [("", 8), ("--give-up-after 3", 3)])
def test_an_endpoint_that_refuses_everything_is_not_asked_everything(
    tmp_path: Path, flags: str, n: int
) -> None:
    refusal = Answer(status=400, body=b'{"error": {"message": "this model takes no pictures"}}')
    with Server(lambda asked: refusal) as server:
        done = run(tmp_path, 500, server.base_url, flags=f"--concurrency 1 {flags}")
        assert len(server.asked) == n + 1  # a plain question as well
    assert done.code == 1
    assert f"the first {n} requests were all refused" in done.err
    assert "this model takes no pictures" in done.err
    assert done.json["pending"] == 500 - n


@pytest.mark.parametrize(
    ("first", "status", "n_plain"), [(0, 400, 2), (50, 400, 0), (0, 403, 8), (50, 403, 6)]
)
def test_questions_that_are_refused_for_ever_do_not_end_a_run(
    first: int, status: int, n_plain: int, tmp_path: Path
) -> None:
    """Neither at the beginning of a run, nor after replies that all come from the cache."""

    def answer(asked: Asked) -> Answer | str:
        found = re.search(r"Question (\d+)\?", asked.text)
        is_refused = found is not None and first <= int(found[1]) < first + 10
        return Answer(status=status, body=b'{"error": {"message": "not this one"}}') if is_refused else "A"

    with Server(answer) as server:
        for out in ("one", "two"):
            done = run(tmp_path, 60, server.base_url, flags=f"--concurrency 1 --out {out}")
            assert (done.code, "the run was stopped" in done.err) == (1, False), done.err
            assert (done.json["outcomes"]["failed"], done.json["pending"]) == (10, 0)
            assert ("a plain question is answered" in done.err) == (n_plain > 0)
        assert len(server.asked) == 60 + 10 + n_plain


@pytest.mark.slow
def test_a_storm_in_which_nothing_is_answered_is_sat_out(tmp_path: Path) -> None:
    with served(tmp_path) as endpoint:
        storm = {"failures": {"429": 1.0}, "retry_after_s": 0.5}
        stop = lambda: endpoint.control(failures={})  # noqa: E731

        def begin() -> None:
            endpoint.control(**storm)
            threading.Timer(2.0, stop).start()

        with once(has_answered(endpoint, 100), begin):
            done = run(tmp_path, 1000, endpoint, flags="--concurrency 32")
        assert done.code == 0, done.err
        assert endpoint.stats()["requests"] < 1000 + 300


@pytest.mark.slow
def test_the_first_lines_of_the_log_are_as_many_as_the_samples(tmp_path: Path) -> None:
    """What the other tests rely on: every question is asked once, whichever endpoint answers."""
    with served(tmp_path / "a") as one, served(tmp_path / "b") as other:
        assert run(tmp_path, 40, one, other).code == 0
        asked = Counter(number(line) for endpoint in (one, other) for line in log(endpoint))
        assert asked == dict.fromkeys(range(40), 1)
