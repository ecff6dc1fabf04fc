"""One way out for text to a terminal, and nothing in it is obeyed."""

import ast
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

import eyechart
from eyechart.console import print_json, print_rich
from eyechart.errors import DataError
from eyechart.terminal import UNSAFE, escape_controls, shorten_message, to_one_line, write

any_text = st.text(st.characters())


def test_plain_text_stays_as_it_is() -> None:
    assert escape_controls("答案是Ｂ [red] é\n\tnext 😀") == "答案是Ｂ [red] é\n\tnext 😀"


def test_line_ends_of_other_systems() -> None:
    assert escape_controls("one\r\ntwo\rthree") == "one\ntwo␍three"
    assert escape_controls("one\u2028two") == "one<U+2028>two"


def test_escape_sequences_are_shown() -> None:
    assert escape_controls("\x1b]0;title\x07\x9b2J\x7f") == "␛]0;title␇<U+009B>2J␡"


def test_direction_of_reading_cannot_be_turned() -> None:
    assert escape_controls("a\u202eb\u2066c") == "a<U+202E>b<U+2066>c"


@given(any_text)
def test_nothing_is_obeyed_and_everything_can_be_encoded(text: str) -> None:
    shown = escape_controls(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    shown.encode("utf-8")
    assert escape_controls(shown) == shown


@given(any_text)
def test_one_line_is_one_line(text: str) -> None:
    assert len(to_one_line(text).splitlines()) <= 1


WRITES = re.compile(r"\bprint\(|\bprint_exc\(|\.write\(")  # what is worth a closer look


@pytest.mark.slow
def test_nothing_else_in_the_package_writes_to_the_terminal() -> None:
    package = Path(eyechart.__file__).parent
    # The others are children: one speaks JSON to us by its stdout, one writes to the log of a server.
    allowed = {"terminal.py", "data/files/sheet_rows.py", "models/guard.py"}
    found = []
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(package).as_posix() in allowed or not WRITES.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            streams = ("sys.stdout.write", "sys.stderr.write", "sys.__stderr__.write", "sys.__stdout__.write")
            if called in ("print", "traceback.print_exc", "os.write", *streams):
                found.append(f"{path.relative_to(package)}:{node.lineno}")  # type: ignore[attr-defined]
    assert not found


EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egnp.\u2066"


def is_safe(text: str) -> bool:
    return not UNSAFE.search(text)


def test_an_error_of_ours_is_safe_where_python_itself_prints_it() -> None:
    assert is_safe(str(DataError(f"q.tsv: {EVIL}", hint=EVIL)))


def test_a_table_that_forgot_to_make_its_cells_safe(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("column", title=EVIL)
    table.add_row(EVIL)
    print_rich(table, Text(EVIL), EVIL)
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert is_safe(shown)


def test_json_says_the_same_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"reply": EVIL, EVIL: "名"})
    shown = capsys.readouterr().out
    assert is_safe(shown)
    assert json.loads(shown) == {"reply": EVIL, EVIL: "名"}


def test_text_that_the_streams_encoding_does_not_hold_is_written_as_an_escape() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write(stream, "名 x\n")
    assert stream.buffer.getvalue() == b"\\u540d x\n"


@pytest.mark.parametrize(
    "value", ["x" * 400_000, "two words " * 40_000, "it's " * 40_000, "\n" * 400_000, "/a/b" * 50_000]
)
@pytest.mark.parametrize("message", ["--ids {}: no such sample", "--ids {!r}: no such sample"])
def test_a_message_never_repeats_a_whole_long_value(message: str, value: str) -> None:
    text = str(DataError(message.format(value), hint=message.format(value)))
    assert len(text) < 1_500
    assert text.startswith("--ids ")
    assert "\n  hint: --ids " in text


def test_paths_and_lists_stay_whole() -> None:
    path = "run folder: " + "/folder" * 100
    assert shorten_message(path) == path
    names = "known names: " + ", ".join(f"name{n}" for n in range(100))
    assert shorten_message(names) == names
