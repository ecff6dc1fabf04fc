"""The demo benchmark: what ships is what the generator draws, and it is fair."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image, ImageChops

import eyechart

FOLDER = Path(eyechart.__file__).parent / "catalogue" / "demo_data"
GENERATOR = Path(__file__).parents[2] / "tools" / "draw_demo.py"
CATEGORIES = {"charts", "tables", "signs", "receipts", "shapes", "counting", "positions"}

ROWS = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
CHOICES = [row for row in ROWS if "options" in row]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_demo", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["draw_demo"] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


def texts(row: dict[str, str]) -> dict[str, str]:
    return dict(line.split(". ", 1) for line in row["options"].splitlines())


@pytest.mark.slow
def test_what_ships_is_what_is_drawn(generator: ModuleType, tmp_path: Path) -> None:
    generator.main(tmp_path)
    assert (tmp_path / "questions.jsonl").read_bytes() == (FOLDER / "questions.jsonl").read_bytes()
    drawn = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert drawn == sorted(path.name for path in (FOLDER / "images").iterdir())
    for name in drawn:
        with Image.open(tmp_path / "images" / name) as new, Image.open(FOLDER / "images" / name) as shipped:
            assert new.size == shipped.size
            assert ImageChops.difference(new, shipped).getbbox() is None, name


@pytest.mark.slow
def test_two_drawings_are_the_same_bytes(generator: ModuleType, tmp_path: Path) -> None:
    for turn in ("one", "two"):
        generator.main(tmp_path / turn)
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.slow
def test_the_panels_of_the_tutorials_are_what_is_drawn(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("draw_panels", GENERATOR.with_name("draw_panels.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path)
    names = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.png"))
    assert len(names) == 40
    for name in names:
        with Image.open(tmp_path / name) as new, Image.open(FOLDER / "panels" / name) as shipped:
            assert ImageChops.difference(new.convert("RGB"), shipped.convert("RGB")).getbbox() is None, name
    asked, expected = (
        [sample.question for sample in eyechart.load(folder / "questions.xlsx")]
        for folder in (tmp_path, FOLDER / "panels")
    )
    assert asked == expected


def test_there_is_enough_of_everything() -> None:
    assert len(ROWS) >= 60
    assert len({row["file_name"] for row in ROWS}) >= 20
    by_category = Counter(row["category"] for row in ROWS)
    assert set(by_category) == CATEGORIES
    assert min(by_category.values()) >= 8
    assert 0.5 < len(CHOICES) / len(ROWS) < 0.75
    golds = Counter(row["answer"] for row in ROWS if "options" not in row)
    assert golds["yes"] >= 3
    assert golds["no"] >= 3
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*")) < 1_000_000


def test_the_file_is_sound() -> None:
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert (FOLDER / row["file_name"]).is_file()
        assert row["answer"]
    for row in CHOICES:
        options = texts(row)
        assert row["answer"] in options
        assert len(set(options.values())) == len(options)
        assert list(options) == sorted(options)


def test_no_letter_is_a_good_guess() -> None:
    four = Counter(row["answer"] for row in CHOICES if len(texts(row)) == 4)
    assert max(four.values()) - min(four.values()) <= 1


def test_it_is_declared_and_loads() -> None:
    source = pytest.importorskip("eyechart.data.source")
    assert source is not None
    from eyechart.registry import benchmarks

    demo = benchmarks.get("demo")()
    samples = list(demo.source)
    assert demo.name == "demo"
    assert [sample.id for sample in samples] == [row["id"] for row in ROWS]
    by_id = {sample.id: sample for sample in samples}
    for row in CHOICES:
        assert dict(by_id[row["id"]].choices) == texts(row)
        assert by_id[row["id"]].golds == (row["answer"],)
    assert all(sample.images and demo.prompt(sample) for sample in samples)
