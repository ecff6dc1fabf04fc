"""In a notebook: progress and notes on stdout, which is not painted red; hints in Python's names."""

import contextlib
import io
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.option import list_options, name_keywords
from eyechart.report.live import LiveLine
from eyechart.runs.options import Options
from eyechart.terminal import print_note
from eyechart.types import Snapshot
from support.files import jsonl


class OutStream(io.StringIO):
    """As ipykernel's, by the name of its module."""


def test_progress_and_notes_are_plain_text_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OutStream, "__module__", "ipykernel.iostream")
    out, err = OutStream(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        LiveLine(lambda: Snapshot(done=3, total=4, score=2 / 3), label="demo"),
    ):
        print_note("one thing to note")
    assert "demo  3/4 75%  score 66.7\n" in out.getvalue()
    assert "one thing to note\n" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert not err.getvalue()


def test_errors_name_keywords_not_flags(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "q.jsonl", [{"ask": "One?", "gold_answer": "1"}])
    with pytest.raises(ec.DataError) as caught:
        ec.run(file, "baseline/random", out=tmp_path, progress=False)
    assert "fields={'question': 'ask'}" in caught.value.hint or "fields=" in caught.value.hint
    assert "--" not in str(caught.value)
    with pytest.raises(ec.EyechartError) as refused:
        ec.run("demo", "openai/m", base_url="http://127.0.0.1:9/v1", out=tmp_path, progress=False, retries=0)
    assert "base_url= names another one" in str(refused.value)


@pytest.mark.parametrize("name", [name for name, one in list_options(Options).items() if one.flags])
def test_every_flag_has_a_keyword(name: str) -> None:
    one = list_options(Options)[name]
    told = name_keywords(f"leave out {one.flag}", list_options(Options))
    assert told.startswith(f"leave out {name}=")
