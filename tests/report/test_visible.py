import re

from hypothesis import given
from hypothesis import strategies as st

from eyechart.report.visible import one_line, visible

any_text = st.text(st.characters())


def test_plain_text_stays_as_it_is() -> None:
    assert visible("答案是Ｂ [red] é\n\tnext 😀") == "答案是Ｂ [red] é\n\tnext 😀"


def test_line_ends_of_other_systems() -> None:
    assert visible("one\r\ntwo\rthree") == "one\ntwo␍three"


def test_escape_sequences_are_shown() -> None:
    assert visible("\x1b]0;title\x07\x9b2J\x7f") == "␛]0;title␇<U+009B>2J␡"


def test_direction_of_reading_cannot_be_turned() -> None:
    assert visible("a\u202eb\u2066c") == "a<U+202E>b<U+2066>c"


@given(any_text)
def test_nothing_is_obeyed_and_everything_can_be_encoded(text: str) -> None:
    shown = visible(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    shown.encode("utf-8")
    assert visible(shown) == shown


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
