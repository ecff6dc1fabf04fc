"""Workloads are what they say: real, distinct pictures, and the requests that eyechart makes of them."""

from __future__ import annotations

import doctest
import importlib
import io
import json
from pathlib import Path

import pytest
from pictures import pictures
from PIL import Image
from workloads import MAKERS, make, read_bodies

from support.command import eyechart
from support.server import Server


@pytest.mark.parametrize("module", ["pictures", "switches", "table", "wire", "workloads"])
def test_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("n_bytes", [2_000, 20_000, 300_000])
def test_pictures_decode_and_differ(n_bytes: int) -> None:
    made = list(pictures(10, n_bytes))
    assert {len(jpeg) for jpeg in made} == {n_bytes}
    assert len(set(made)) == 10
    for jpeg in made:
        with Image.open(io.BytesIO(jpeg)) as picture:
            picture.load()
            assert picture.format == "JPEG"
    assert made == list(pictures(10, n_bytes))


@pytest.mark.parametrize("name", ["tsv-2k", "jsonl-20k"])
def test_bodies_are_what_eyechart_sends(name: str, workloads_here: Path, tmp_path: Path) -> None:
    workload = make(name, n=6)
    assert workload.bodies is not None
    with Server() as server:
        flags = ("--base-url", server.base_url, "--api-key", "x", "--concurrency", 1, "--scorer", "default")
        done = eyechart("run", workload.file, "-m", "openai/bench", *flags, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    sent = sorted((asked.body for asked in server.asked), key=json.dumps)
    assert sent == sorted(map(json.loads, read_bodies(workload.bodies)), key=json.dumps)


def test_a_workload_is_made_once(workloads_here: Path) -> None:
    first = make("long", n=10)
    written = first.file.stat().st_mtime_ns
    assert make("long", n=10) == first
    assert first.file.stat().st_mtime_ns == written
    assert len(first.file.read_text().splitlines()) == 10


def test_one_half_made_is_made_again(workloads_here: Path) -> None:
    (workloads_here / "long-10").mkdir(parents=True)
    (workloads_here / "long-10" / "data.jsonl").write_text("{")
    assert len(make("long", n=10).file.read_text().splitlines()) == 10


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "6m" in name else name for name in MAKERS]
)
def test_every_workload_is_read_without_complaint(name: str, workloads_here: Path, tmp_path: Path) -> None:
    file = make(name, n=2).file
    checked = eyechart("data", "check", file, cwd=tmp_path)
    assert checked.code == 0, checked.out
