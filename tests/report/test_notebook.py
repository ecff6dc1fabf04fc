"""Runs, comparisons and samples in a notebook: HTML without script, in which no text becomes markup."""

from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.errors import ImageError, MissingExtra
from support.files import choice_tsv, picture
from support.results import result
from support.runs import StubModel, run_here

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'&"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_texts_of_a_sample_stay_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    image = ec.ImageRef(kind="file", location=str(tmp_path / "a.png"))
    one = result(
        0, "wrong", id=HOSTILE, question=HOSTILE, reply=HOSTILE, choices={"A": HOSTILE}, images=(image,)
    )
    for shown in (one._repr_html_(), one.sample._repr_html_()):
        found = Tags(shown)
        assert "script" not in found.names
        assert found.names.count("img") == 1
        assert found.attributes <= {"style", "alt", "src"}
        assert "<script>alert(1)</script>" in found.text
        assert "\u202e" not in found.text
    assert "✗ wrong" in Tags(one._repr_html_()).text
    gone = ec.Sample(
        id="1", question="?", images=(ec.ImageRef(kind="url", location="http://x.example/a.png"),)
    )
    assert "not in the cache" in gone._repr_html_()


def test_runs_and_comparisons_show_their_numbers(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 8)
    runs = [run_here(questions, StubModel(letter), out=tmp_path / letter) for letter in ("A", "D")]
    shown = Tags(runs[0]._repr_html_()).text
    assert "25.0 %" in shown
    assert "report.html" in shown
    assert "even" in shown
    compared = ec.compare(*runs)
    assert compared.verdict in Tags(compared._repr_html_()).text


def test_a_reference_opens_as_a_pillow_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture("red", (32, 24)))
    ref = ec.ImageRef(kind="file", location=str(tmp_path / "a.png"))
    assert ref.open().getpixel((3, 3)) == (255, 0, 0)
    crop = ec.ImageRef(kind="file", location=str(tmp_path / "a.png"), box=(2, 2, 10, 5))
    assert crop.open().size == (10, 5)
    [sample, *_] = ec.load(choice_tsv(tmp_path / "q.tsv", 2))
    assert sample.images[0].open().size == (32, 24)
    with pytest.raises(ImageError, match="no such file"):
        ec.ImageRef(kind="file", location=str(tmp_path / "no.png")).open()


def test_samples_as_a_polars_frame(tmp_path: Path) -> None:
    run = run_here(choice_tsv(tmp_path / "q.tsv", 4), StubModel("A"))
    if find_spec("polars") is None:
        with pytest.raises(MissingExtra, match=r"eyechart\[polars\]"):
            run.to_polars()
        return
    frame = run.to_polars()
    assert frame.shape[0] == 4
    assert frame["outcome"].to_list() == ["correct", "wrong", "wrong", "wrong"]
    assert frame["score"].sum() == 1.0
