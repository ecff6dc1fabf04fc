import io
import os
import threading
import time

import pytest

from eyechart.report import live
from eyechart.report.live import LiveLine, format_status
from eyechart.types import Snapshot
from support.cases import for_each
from support.waiting import wait_until

BUSY = Snapshot(
    done=1234, total=4329, resumed=200, score=0.7134, in_flight=64, sent=1300, retried=12, failed=3,
    requests_per_s=12.4, elapsed_s=100, eta_s=250,
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(Terminal):
    def write(self, text: str) -> int:
        raise OSError("the terminal went away")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REFRESH_S", 0.005)
    monkeypatch.setenv("TERM", "xterm")


def test_the_whole_line() -> None:
    assert format_status(BUSY, label="mmbench") == (
        "mmbench  1,234/4,329 28%  score 71.3  12.4 req/s  64 in flight  12 retried  3 failed  "
        "200 resumed  ETA 4m10s"
    )


@for_each(range(120))
def test_a_narrow_terminal_gets_a_shorter_line(width: int) -> None:
    line = format_status(BUSY, label="mmbench", width=width)
    assert len(line) <= width
    assert line.startswith(("1,234/4,329 28%"[:width], "mmbench"))


def test_failures_stay_when_room_is_short() -> None:
    assert format_status(BUSY, label="mmbench", width=40) == "1,234/4,329 28%  score 71.3  3 failed"


CROWDED = Snapshot(
    done=1234, total=4329, resumed=200, cached=34, score=0.7134, in_flight=31, limit=32, retried=12,
    failed=3, throttled=0.054, p50_s=0.08, p95_s=12.34, tokens=1_234_567, cost=1.504, requests_per_s=12.4,
    elapsed_s=100, eta_s=250,
)  # fmt: skip


def test_all_that_the_endpoints_and_the_purse_have_to_say() -> None:
    assert format_status(CROWDED, label="mmbench") == (
        "mmbench  1,234/4,329 28%  score 71.3  12.4 req/s  31 of 32 in flight  p50 80ms p95 12.3s  429: 5%  "
        "12 retried  3 failed  200 resumed  34 reused  1.2M tokens  $1.50 paid  ETA 4m10s"
    )


@for_each(range(200))
def test_a_crowded_line_fits_any_terminal(width: int) -> None:
    line = format_status(CROWDED, label="mmbench", width=width)
    assert len(line) <= width
    assert line.startswith(("1,234/4,329 28%"[:width], "mmbench"))


def test_what_matters_least_goes_first() -> None:
    words = [
        "score",
        "failed",
        "ETA",
        "$1.50",
        "req/s",
        "429:",
        "retried",
        "in flight",
        "p50",
        "tokens",
        "resumed",
    ]
    gone: list[str] = []
    for width in range(200, 0, -1):
        line = format_status(CROWDED, label="mmbench", width=width)
        gone += [word for word in words if word not in line and word not in gone]
    assert gone == words[::-1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"in_flight": 7}, "7 in flight"),
        ({"in_flight": 7, "limit": 64}, "7 of 64 in flight"),
        ({"in_flight": 0, "limit": 64}, ""),
        ({"p50_s": 0.0994, "p95_s": 0.1}, "p50 99ms p95 0.1s"),
        ({"p50_s": 0.5}, ""),
        ({"throttled": 1.0}, "slowed by the endpoint (429: 100%)"),
        ({"throttled": 0.09}, "429: 9%"),
        ({"slowed_by": "--rpm"}, "slowed by --rpm"),
        ({"waiting": 3}, "3 waiting to retry"),
        ({"throttled": 0.001}, "429: <1%"),
        ({"tokens": 999}, "999 tokens"),
        ({"tokens": 12_345}, "12.3k tokens"),
        ({"cost": 0.0}, "$0.00"),
        ({"cost": 1234.5}, "$1,234.50"),
        ({"cached": 1500}, "1,500 reused"),
    ],
)
def test_each_part_by_itself(fields: dict[str, float], said: str) -> None:
    assert format_status(Snapshot(**fields)) == f"0/0  {said}".strip()  # type: ignore[arg-type]


def test_before_anything_is_known() -> None:
    assert format_status(Snapshot()) == "0/0"


def test_the_end_says_how_long_it_took() -> None:
    assert format_status(Snapshot(done=4, total=4, elapsed_s=75)) == "4/4 100%  in 1m15s"


def test_a_terminal_gets_one_line_drawn_over_and_over() -> None:
    out = Terminal()
    with LiveLine(lambda: BUSY, out, label="demo"):
        wait_until(lambda: out.getvalue().count("\r") > 3)
    text = out.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.rsplit("\r\x1b[2K", 1)[1].startswith("demo  1,234/4,329")


def test_a_file_gets_lines_at_each_tenth_and_at_the_end() -> None:
    out = io.StringIO()
    states = iter(range(101))
    last = 0

    def snapshot() -> Snapshot:
        nonlocal last
        last = next(states) if last < 10 else 100
        return Snapshot(done=last, total=100)

    with LiveLine(snapshot, out):
        wait_until(lambda: last == 100)
        time.sleep(0.05)
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["10/100", "100/100"]
    assert "\x1b" not in out.getvalue()


def test_a_file_gets_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PLAIN_EVERY_S", 0.03)
    out = io.StringIO()
    with LiveLine(lambda: Snapshot(done=1, total=1000), out):
        wait_until(lambda: out.getvalue().count("\n") >= 3)


def test_a_dumb_terminal_is_written_to_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    with LiveLine(lambda: BUSY, out):
        pass
    assert "\r" not in out.getvalue()


def test_quiet_is_quiet() -> None:
    out = Terminal()
    with LiveLine(lambda: BUSY, out, quiet=True):
        pass
    assert out.getvalue() == ""


def test_an_error_passes_through_and_the_last_state_is_shown() -> None:
    out = io.StringIO()

    def fail() -> None:
        with LiveLine(lambda: BUSY, out):
            raise KeyError("sample 7")

    with pytest.raises(KeyError, match="sample 7"):
        fail()
    assert out.getvalue().startswith("1,234/4,329")
    assert not [thread for thread in threading.enumerate() if thread.name == "eyechart-live"]


@pytest.mark.parametrize("make", [Gone, Terminal])
def test_a_terminal_that_goes_away_stops_nothing(make: type[Terminal]) -> None:
    out = make()
    with LiveLine(lambda: BUSY, out) as line:
        time.sleep(0.02)
        out.close()
        line.say("unheard")
        time.sleep(0.02)


def test_a_stream_closed_from_the_start() -> None:
    out = io.StringIO()
    out.close()
    with LiveLine(lambda: BUSY, out):
        pass


def test_a_snapshot_that_fails_costs_a_line() -> None:
    def broken() -> Snapshot:
        raise RuntimeError("dictionary changed size during iteration")

    out = io.StringIO()
    with LiveLine(broken, out):
        time.sleep(0.02)
    assert out.getvalue() == ""


def test_a_word_said_in_between_has_a_line_of_its_own() -> None:
    out = Terminal()
    with LiveLine(lambda: BUSY, out) as line:
        line.say("slowing down:\x1b[31m HTTP 429")
    assert "\r\x1b[2Kslowing down:␛[31m HTTP 429\n" in out.getvalue()


def test_a_stream_of_few_letters_gets_marks_for_the_rest() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    with LiveLine(lambda: BUSY, out, label="评测"):
        pass
    assert raw.getvalue().startswith(b"??  1,234/4,329")


def test_a_label_cannot_move_the_cursor() -> None:
    out = Terminal()
    with LiveLine(lambda: BUSY, out, label="a\x1b[2Jb\nc"):
        pass
    assert "a␛[2Jb c" in out.getvalue()


def test_a_real_terminal_is_never_filled_to_the_edge() -> None:
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with os.fdopen(follower, "w") as out:
        with LiveLine(lambda: BUSY, out):
            time.sleep(0.03)
        time.sleep(0.01)
        text = os.read(leader, 100_000).decode()
    os.close(leader)
    drawn = [line.strip("\r\n") for line in text.split("\r\x1b[2K")]
    assert max(map(len, drawn)) < 30
    assert drawn[-1] == "1,234/4,329 28%  score 71.3"


@for_each([*range(60), 80, 120])
def test_wide_characters_take_two_columns_and_the_line_still_fits(width: int) -> None:
    line = format_status(BUSY, label="数据集 · openai/模型", width=width)
    assert len(line) + sum("\u4e00" <= mark <= "\u9fff" for mark in line) <= width
    assert width < 48 or line.endswith("ETA 4m10s")


def test_a_label_alone_is_cut_by_columns() -> None:
    state = Snapshot(done=1, total=2)
    assert format_status(state, label="", width=3) == "1/2"
    assert live._cut("a地图b", 4) == "a地"
    assert live._cut("e\u0301" * 3 + "x", 3) == "e\u0301" * 3


def test_a_small_cost_is_not_shown_as_none() -> None:
    assert format_status(Snapshot(done=1, total=2, cost=0.0044)) == "1/2 50%  $0.0044"


def test_a_score_that_is_not_the_headline_is_called_by_its_name() -> None:
    state = Snapshot(done=3, total=4, score=0.754, score_name="plain")
    assert format_status(state) == "3/4 75%  plain 75.4"


def test_what_waits_to_be_tried_again_is_said_in_place_of_an_eta() -> None:
    state = Snapshot(done=496, total=500, waiting=4, requests_per_s=20.0, eta_s=0.2)
    assert format_status(state) == "496/500 99%  20.0 req/s  4 waiting to retry"
    some = Snapshot(done=400, total=500, waiting=4, requests_per_s=20.0, eta_s=5.0)
    assert format_status(some).endswith("4 waiting to retry  ETA 5s")
