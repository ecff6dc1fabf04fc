"""`eyechart score explain`: the steps by which one reply is read."""

import pytest

from eyechart.cli.main import main


def run(*args: str) -> int:
    return main(["score", "explain", *args])


def test_the_steps_of_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("The answer is A. Wait, no: B.", "--options", "cat", "dog") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["mentions", "clauses", "stance", "decision"]
    assert lines[-1] == "decision   B by choice:stated: 'B'"


def test_the_steps_of_an_open_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("The answer is St. Louis.", "--gold", "St. Louis", "Saint Louis") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "decision   right: 'St. Louis' by text:stated"


def test_a_box_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(r"So \boxed{B}", "--options", "cat", "dog") == 0
    assert capsys.readouterr().out.startswith("container  boxed: 'B'")


@pytest.mark.parametrize("args", [(), ("B",), ("B", "--options", "cat", "--gold", "dog")])
def test_what_is_missing_is_named(args: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*args) == 2
    assert "explain takes a reply" in capsys.readouterr().err
