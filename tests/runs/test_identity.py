"""What makes a run another run: folders of earlier versions are found again, and every new option counts."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import eyechart
from eyechart.option import list_options, option
from eyechart.runs import plan
from eyechart.runs.models import choose_models
from eyechart.runs.options import DATA, PROMPT, QUESTIONS, REQUESTS, RUN, SCORING, Options
from eyechart.runs.plan import make_plan
from eyechart.store import folder
from support.files import choice_tsv, picture

VECTORS = Path(__file__).parents[1] / "golden" / "run_folders.jsonl"
HERE = "<here>"  # in place of the folder that the test works in
PACKAGE = "<package>"  # in place of the folder that eyechart is installed in, where the demo's questions are


def write_sources(folder: Path) -> None:
    """The files that the combinations name."""
    choice_tsv(folder / "questions.tsv")
    rows = ["id;question;answer;hint;caption", *(f"{n};How many, {n}?;{n},5;;a dot" for n in range(1, 7))]
    (folder / "table.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "captions.csv").write_text(
        "id,text\n" + "".join(f"{n},a thing\n" for n in range(8)), encoding="utf-8"
    )
    book = openpyxl.Workbook()
    for sheet in (book.worksheets[0], book.create_sheet("more")):
        for row in (["question", "answer"], ["What is it?", "a cat"]):
            sheet.append(row)
    book.save(folder / "book.xlsx")
    (folder / "pictures").mkdir()
    for n in range(3):
        (folder / "pictures" / f"{n}_cat.png").write_bytes(picture(size=(8, 8 + n)))


def _without_path(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return value.replace(path, HERE).replace(str(Path(eyechart.__file__).parent), PACKAGE)
    if isinstance(value, Mapping):
        return {key: _without_path(one, path) for key, one in value.items()}
    return [_without_path(one, path) for one in value] if isinstance(value, list | tuple) else value


def find_folders(given: Mapping[str, Any]) -> list[str]:
    """The folders of the runs of a combination: one per model."""
    options = {"cache": False, **given["options"]}
    chosen = choose_models(given["models"], options)
    return [make_plan(given["source"], model, own).folder.as_posix() for model, own in chosen]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources, and names of folders that do not depend on where they are."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-none")
    write_sources(tmp_path)
    name_folder = folder.name_folder

    def name_here(root: Path, benchmark: str, model: str, identity: Mapping[str, Any]) -> Path:
        return name_folder(root, benchmark, model, _without_path(identity, str(tmp_path)))

    monkeypatch.setattr(plan, "name_folder", name_here)
    return tmp_path


@pytest.mark.ocr
def test_folders_of_earlier_versions_are_found_again(here: Path) -> None:
    _, *vectors = map(json.loads, VECTORS.read_text(encoding="utf-8").splitlines())
    assert len(vectors) >= 200
    moved = [one for one in vectors if find_folders(one) != one["folders"]]
    assert not moved


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSuffix(Options):
    """Options with one that says nothing about what it affects, and one of each kind."""

    suffix: str = option("", group=PROMPT, help="a text after the question")
    is_polite: bool = option(True, "--rude", group=PROMPT, help="no please")
    column: str | None = option(None, group=DATA, affects="data", help="a column")
    share: float = option(1.0, group=QUESTIONS, affects="data", help="of the samples")
    hurry: int = option(1, group=REQUESTS, affects="pace", help="how fast")
    strictness: int = option(1, group=SCORING, affects="score", help="how strict")
    colour: str = option("red", group=RUN, affects="output", help="of the page")


def test_a_new_option_makes_another_folder_unless_it_says_that_no_request_depends_on_it(here: Path) -> None:
    def find(**given: Any) -> Path:
        return make_plan("questions.tsv", "baseline/random", WithSuffix(**given)).folder

    usual = make_plan("questions.tsv", "baseline/random", Options()).folder
    assert find() == usual
    others: list[dict[str, Any]] = [
        {"suffix": "Thanks."}, {"suffix": "Now."}, {"is_polite": False}, {"column": "x"}, {"share": 0.5},
    ]  # fmt: skip
    assert len({usual, *(find(**one) for one in others)}) == 1 + len(others)
    assert {find(hurry=2), find(strictness=2), find(colour="blue")} == {usual}


def test_every_option_says_what_it_affects() -> None:
    source = Path(inspect.getsourcefile(Options) or "").read_text(encoding="utf-8")
    assert source.count(" affects=") == len(list_options(Options))
    known = {"", "model", "endpoint", "benchmark", "options", "requests", "look"}
    assert {one.identified_by for one in list_options(Options).values()} <= known
