"""Every benchmark of the catalogue, asked of a local server: questions in, score, report and files out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from catalogue.made import MADE, write_clone, write_file
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry
from eyechart.pipelines.vlmevalkit.evalscope.evaluation import open_questions
from eyechart.registry import benchmarks, find_hub_benchmarks, scorers
from eyechart.runs.options import Options
from eyechart.runs.sources import find_benchmark, make_benchmark
from eyechart.types import Benchmark, JudgedScorer, Sample
from support.server import Asked, Server

DECLARED = sorted(
    name for name in benchmarks.names() if benchmarks.get(name).__module__.startswith("eyechart.catalogue.")
)
NAMES = [name for name in DECLARED if name != "demo"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def answer_from(name: str, kit: str, path: Path) -> Any:
    """What the model says: the reply of the row whose prompt it is."""
    made = make_benchmark(name, {"file": str(path), "kit": kit})
    told = {}
    for sample, reply in zip(made.source, MADE[name].replies, strict=True):
        told["\n".join(message.text for message in made.prompt(sample))] = reply

    def answer(asked: Asked) -> str:
        if asked.body["model"] == "judge":
            return next(said for text, said in MADE[name].judge.items() if text in asked.text)
        return next((reply for text, reply in told.items() if text.endswith(asked.text)), "?")

    return answer


def needs_judge(name: str, kit: str) -> bool:
    """Whether the judge is asked in this test: where the scorer asks one and the example has its words."""
    made = make_benchmark(name, {"kit": kit})
    return bool(MADE[name].judge) and isinstance(scorers.get(made.judged_scorer), JudgedScorer)


def test_there_is_an_example_of_each() -> None:
    assert set(NAMES) == set(MADE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_is_asked_and_scored(
    name: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, card = MADE[name], make_benchmark(name, {}).card
    path = write_file(tmp_path / "LMUData", card.file or "questions", made)
    monkeypatch.setenv("LMUData", str(path.parent))
    monkeypatch.chdir(tmp_path)
    kits = {str(make_benchmark(name, {}).settings["kit"]): made.score, **made.kits}
    for kit, score in kits.items():
        server.answer = answer_from(name, kit, path)
        settings = {"kit": kit} | ({} if card.file else {"file": str(path)})
        judge = {"judge": "openai/judge", "judge_base_url": server.base_url} if needs_judge(name, kit) else {}
        run = ec.run(
            name, model="openai/m", base_url=server.base_url, settings=settings, progress=False, **judge
        )
        assert run.score == pytest.approx(score), kit
        assert run.summary.n == len(made.rows)
        assert run.summary.metrics is None or not run.summary.metrics.problem
        assert run.files_trouble == ""
        assert run.files
        assert all(file.exists() for file in run.files)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_found_by_its_published_names(name: str, tmp_path: Path) -> None:
    card = make_benchmark(name, {}).card
    assert all((card.group, card.size, card.paper, card.licence, card.metric, card.parity))
    assert card.file or card.hub
    if card.file:
        path = write_file(tmp_path, card.file, MADE[name])
        assert find_benchmark(path, Options()).name == name
    for part in card.hub:
        found = find_hub_benchmarks(*part.split(":", 1))
        is_some = any(
            name.startswith(f"{one}-") for one in found
        )  # screenspot-pro-cad is some of screenspot-pro
        assert name in found or is_some, part


def test_all_are_known_at_the_evalscope_door(tmp_path: Path) -> None:
    """By every published name of the file, asked and scored as in VLMEvalKit."""
    for name in NAMES:
        card = make_benchmark(name, {}).card
        for stem in filter(None, (card.file, *card.files)):
            path = write_file(tmp_path, stem, MADE[name])
            made = open_questions(DataEntry(name=stem, source=str(path))).source
            assert isinstance(made, Benchmark)
            assert made.name == name
            assert str(made.settings["kit"]).startswith(("vlmevalkit", "authors"))
            assert len(list(made.source)) == len(MADE[name].rows)


def tell(made: Benchmark, sample: Sample) -> tuple[object, ...]:
    """What has to be the same: id, question, options, golds, groups, prompt and how many images there are."""
    groups = {group: str(sample.meta.get(group, "")) for group in made.group_by}
    asked = [
        (message.role, [part if isinstance(part, str) else "image" for part in message.parts])
        for message in made.prompt(sample.without_golds())
    ]
    return sample.id, sample.question, dict(sample.choices), sample.golds, groups, asked


def read(name: str, **settings: str) -> list[tuple[object, ...]]:
    made: Benchmark = make_benchmark(name, settings)
    return [tell(made, sample) for sample in made.source]


def list_kits(name: str) -> list[str]:
    return [str(make_benchmark(name, {}).settings["kit"]), *MADE[name].kits]


@pytest.mark.parametrize("name", [name for name in NAMES if make_benchmark(name, {}).card.hub])
def test_the_hub_and_the_file_give_the_same_samples(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    made, card = MADE[name], make_benchmark(name, {}).card
    path = write_file(tmp_path, card.file or "questions", made)
    first, *further = [part.partition(":")[2] for part in card.hub]
    clone = tmp_path / "clone"
    if first.endswith(".tsv"):  # the hub has the file
        write_file(clone, first.removesuffix(".tsv"), made)
    else:
        assert made.hub
        write_clone(clone, first, made.hub)
    if "documents/" in made.more_hub:
        pytest.importorskip("pypdfium2")
    for part, rows in made.more_hub.items():
        write_clone(clone, part, rows)
    is_whole = all(made.more_hub.get(part) for part in further)
    for kit in list_kits(name):
        wanted = read(name, file=str(path), kit=kit)
        assert len(wanted) == len(made.rows)
        if not further or is_whole:
            assert read(name, file=f"hf:{clone}", kit=kit) == wanted
        named = [part for part in (first, *further) if part == first or made.more_hub.get(part)]
        found = [one for part in named for one in read(name, file=f"hf:{clone}:{part}", kit=kit)]
        assert [one[1:] for one in found] == [one[1:] for one in wanted]
