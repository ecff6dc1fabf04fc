"""From a data set class to a run, and back to a table."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.vlmeval import bridge, dataset
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, CustomVQADataset, ImageBaseDataset
from eyechart.runs.evaluate import evaluate
from eyechart.runs.options import Options
from eyechart.runs.plan import make_plan
from eyechart.types import Failure, ImageRef, Message, Reply, Result, Sample
from support.extras import extra
from support.files import jsonl, picture, picture_base64
from support.parts import ScriptedModel
from support.tables import write_tsv

extra("pandas")
HEADING = ["index", "question", "answer", "image", "category"]


def vqa(root: Path) -> CustomVQADataset:
    rows = [[k, f"Question {k}?", str(k), picture_base64((k, 90, 30)), "even"] for k in range(4)]
    write_tsv(root / "mine.tsv", HEADING, *rows)
    return CustomVQADataset("mine")


@given(
    st.lists(st.sampled_from(["index", "question", "Question", "A", "B", "image", "image_path", "answer"]))
)
def test_the_kind_follows_the_columns(columns: list[str]) -> None:
    if not {"question", "Question"} & set(columns):
        with pytest.raises(DataError, match="no column 'question'"):
            dataset.choose_class(columns)
        return
    family = dataset.choose_class(columns)
    assert (family is not CustomVQADataset) == ({"A", "B"} <= set(columns))
    assert ("VQA" if family is CustomVQADataset else "MCQ") == family.TYPE
    assert not bridge.is_changed(family)


def test_the_columns_of_files(root: Path, tmp_path: Path) -> None:
    write_tsv(root / "mine.tsv", ["index", "question"], [1, "?"])
    jsonl(tmp_path / "rows.jsonl", [{"question": "?", "A": "x"}])
    assert dataset.list_columns("mine") == ("index", "question")
    assert dataset.list_columns(tmp_path / "rows.jsonl") == ("question", "A")


def test_a_sample_a_row(root: Path) -> None:
    heading = ["index", "hint", "question", "A", "B", "answer", "category", "level", "image_path"]
    row = ["q1", "Look.", "Which?", "cat", "dog", "B", "animals", 3, "a.png"]
    (root / "a.png").write_bytes(picture())
    write_tsv(root / "mine.tsv", heading, row)
    made = bridge.make_benchmark(CustomMCQDataset("mine"))
    [sample] = made.source
    assert sample == Sample(
        id="q1",
        question="Which?",
        images=(ImageRef(kind="file", location=str(root / "a.png")),),
        golds=("B",),
        choices={"A": "cat", "B": "dog"},
        hint="Look.",
        meta={"category": "animals", "level": 3},
        row=1,
    )
    assert (made.name, made.scorer, made.circular) == ("mine", "choice-vlmevalkit-2026-06", "")
    assert made.source.origin == str(root / "mine.tsv")


def test_the_prompt_is_the_classs_own(root: Path) -> None:
    def build_prompt(self: Any, line: Any) -> Any:
        msgs = ImageBaseDataset.build_prompt(self, line)
        msgs[-1]["value"] += f"\nThe answer has {len(str(line['answer']))} letters."
        return msgs

    CustomVQADataset.build_prompt = build_prompt  # type: ignore[method-assign]
    made = bridge.make_benchmark(vqa(root))
    [message] = made.prompt(list(made.source)[2].without_golds())
    place = root / "images" / "mine" / "2.png"
    assert message == Message(
        "user",
        (ImageRef(kind="file", location=str(place)), "Question 2?\nThe answer has 1 letters."),
    )


def test_a_whole_run_with_a_class_of_ones_own(root: Path, tmp_path: Path) -> None:
    mine = vqa(root)
    model = ScriptedModel(lambda asked: asked.sample.id)
    done = evaluate(
        make_plan(bridge.make_benchmark(mine), model, Options(out=str(tmp_path / "runs"), progress=False))
    )
    assert done.score == 1.0
    sent = [result.sent for result in done.samples()]
    assert all(len(pictures) == 1 for pictures in sent)
    assert len({str(pictures[0]["sha256"]) for pictures in sent}) == 4
    frame = bridge.make_predictions(mine, done.samples())
    assert list(frame.columns) == ["index", "question", "answer", "category", "prediction"]
    assert frame["prediction"].tolist() == ["0", "1", "2", "3"]


def test_predictions_of_some_rows_and_of_failures(root: Path) -> None:
    mine = vqa(root)
    samples = list(bridge.make_benchmark(mine).source)
    results = [
        Result(sample=samples[2], position=2, failure=Failure(stage="generate", reason="gone")),
        Result(sample=samples[0], position=0, reply=Reply(text="zero")),
        Result(sample=samples[0], position=0, trial=1, reply=Reply(text="another trial")),
    ]
    frame = bridge.make_predictions(mine, results)
    assert frame["index"].tolist() == [0, 2]
    assert frame["prediction"].tolist() == ["zero", "Failed to obtain answer via API."]
    assert "image" in mine.data


def test_an_error_in_build_prompt_is_that_samples_failure(root: Path, tmp_path: Path) -> None:
    def build_prompt(self: Any, line: Any) -> Any:
        if line["index"] == 1:
            raise ValueError("not this one")
        return ImageBaseDataset.build_prompt(self, line)

    CustomVQADataset.build_prompt = build_prompt  # type: ignore[method-assign]
    made = bridge.make_benchmark(vqa(root))
    options = Options(out=str(tmp_path / "runs"), progress=False)
    done = evaluate(make_plan(made, ScriptedModel(lambda asked: "x"), options))
    [failed] = [result for result in done.samples() if result.failure]
    assert failed.failure is not None
    assert "mine: build_prompt raised ValueError: not this one (index 1)" in failed.failure.reason
    assert "test_bridge.py, line" in failed.failure.reason


def test_names_that_stand_for_rotations(root: Path) -> None:
    rows = [[index, "?", "x", "y", "A", "a.png"] for index in (1, 1_000_001, 2_000_007)]
    write_tsv(root / "my_ccbench.tsv", ["index", "question", "A", "B", "answer", "image_path"], *rows)
    made = bridge.make_benchmark(CustomMCQDataset("my_ccbench"))
    assert made.circular == "headline"
    assert [(sample.circle, sample.weight) for sample in made.source] == [("1", 1.0), ("1", 1.0), ("", 0.0)]


def test_groups_of_rotations_may_be_named(root: Path) -> None:
    heading = ["index", "g_index", "question", "A", "B", "answer", "image_path"]
    write_tsv(root / "circular.tsv", heading, *([k, 5, "?", "x", "y", "A", "a.png"] for k in (5, 6)))
    made = bridge.make_benchmark(CustomMCQDataset("circular"))
    assert [sample.circle for sample in made.source] == ["5", "5"]
