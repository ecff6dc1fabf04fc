"""Addresses of pictures, handed to models that fetch them themselves."""

from pathlib import Path

import pytest

import eyechart as ec
from support.files import jsonl
from support.server import Server

ADDRESS = "https://charts.example/one.png"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "q.jsonl", [{"id": "1", "question": "Which?", "answer": "A", "image": ADDRESS}])


def test_an_endpoint_is_sent_the_address_itself(questions: Path, tmp_path: Path) -> None:
    with Server() as server:
        options = {"out": tmp_path / "runs", "progress": False, "pass_urls": True}
        run = ec.run(questions, model="openai/m", base_url=server.base_url, **options)
        again = ec.run(questions, model="openai/m", base_url=server.base_url, **options)
    [asked] = server.asked
    assert asked.images == [ADDRESS]
    assert run.outcomes["failed"] == 0
    [result] = again.samples()
    assert result.sent == ({"url": ADDRESS},), "what was sent is on record"


def test_a_class_of_ones_own_gets_the_address(questions: Path, tmp_path: Path) -> None:
    class Mine:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def generate(self, text: str, images: list[str]) -> str:
            self.seen += images
            return "A"

    mine = Mine()
    run = ec.run(questions, model=mine, out=tmp_path / "runs", progress=False, pass_urls=True)
    assert (mine.seen, run.score) == ([ADDRESS], 1.0)


def test_a_model_that_takes_no_addresses_is_told_so(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(ec.UsageError, match="does not take image URLs"):
        ec.run(questions, model="baseline/random", out=tmp_path / "runs", pass_urls=True)
