import email.utils
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.models.chat import read_retry_after_s


def test_how_long_to_wait_is_read_from_seconds_and_dates() -> None:
    in_a_minute = email.utils.formatdate(time.time() + 60, usegmt=True)
    assert read_retry_after_s("7") == 7
    assert read_retry_after_s(" 0.5 ") == 0.5
    assert read_retry_after_s("-3") == 0
    assert 57 < (read_retry_after_s(in_a_minute) or 0) <= 60
    assert read_retry_after_s("Mon, 01 Jan 2001 00:00:00 GMT") == 0
    assert read_retry_after_s("") is None


@pytest.mark.slow
@given(st.text() | st.from_regex(r"Mon, 0\d Jan \d{1,6} \d\d:\d\d:\d\d [+-]?\d{0,20}", fullmatch=True))
def test_no_header_can_break_the_reader_of_waits(said: str) -> None:
    wait_s = read_retry_after_s(said)
    assert wait_s is None or wait_s >= 0
