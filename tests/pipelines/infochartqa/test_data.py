"""Rows of both releases of InfoChartQA: what becomes of them, and how bad ones are named."""

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.loading import ImageLoader
from eyechart.errors import DataError, ImageError
from eyechart.pipelines.infochartqa.data import open_infochartqa, tidy_url
from eyechart.types import ImageRef, Sample
from support.files import jsonl, picture, picture_base64
from support.hub import clone, library

NEW = {
    "question_id": 7,
    "question_type_id": "72",
    "question_type_name": "extreme",
    "figure_id": ["f1", "f2"],
    "question": "Which is\\nhighest?",
    "answer": "Japan",
    "instructions": "One word.\\nNo more.",
    "url": "hhttps://charts.example/f1.png",
    "extra_input_figure_ids": ["c1", "c2"],
    "extra_input_figure_bboxes": [[10, 20, 30, 40], [0, 0, 5.4, 6]],
    "difficulty": "hard",
    "chart_type": "bar",
    "topic": "energy",
}
OLD = {
    "question_id": "q1",
    "qtype": "202",
    "figure_path": "charts/f1.png",
    "visual_figure_path": ["charts/crop.png"],
    "question": "Which?",
    "answer": "A,B",
    "prompt": "Look.",
    "options": ["A) cat", "B) dog"],
    "instructions": "",
}


def read(path: Path, **settings: Any) -> list[Sample]:
    return list(open_infochartqa(path, **settings))


def one(tmp_path: Path, row: dict[str, Any], **settings: Any) -> Sample:
    [sample] = read(jsonl(tmp_path / "rows.jsonl", [row]), **settings)
    return sample


def refusal(tmp_path: Path, *rows: dict[str, Any], **settings: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(jsonl(tmp_path / "rows.jsonl", rows), **settings)
    return str(caught.value)


def test_a_row_of_the_current_release(tmp_path: Path) -> None:
    sample = one(tmp_path, NEW)
    assert sample.id == "7"
    assert sample.question == "Which is\nhighest?"
    assert sample.golds == ("Japan",)
    chart = ImageRef(kind="url", location="https://charts.example/f1.png")
    boxes = [image.box for image in sample.images]
    assert boxes == [None, (10, 20, 30, 40), (0, 0, 5, 6)]
    assert {image.location for image in sample.images} == {chart.location}
    assert sample.meta == {
        "question_id": 7,
        "question_type_id": 72,
        "question_type_name": "extreme",
        "chart_type": "bar",
        "difficulty": "hard",
        "figure_id": "f1",
        "instructions": "One word.\nNo more.",
        "topic": "energy",
    }


def test_a_row_of_the_earlier_release(tmp_path: Path) -> None:
    sample = one(tmp_path, {**OLD, "split": "info"}, split="info")
    assert [Path(image.location).name for image in sample.images] == ["f1.png", "crop.png"]
    assert (sample.choices, sample.choices_text) == ({"A": "cat", "B": "dog"}, "A) cat\nB) dog")
    assert sample.meta["question_type_id"] == 202
    assert sample.meta["prompt"] == "Look."
    assert (sample.meta["split"], sample.meta["chart_form"]) == ("info", "infographic")
    assert "instructions" not in sample.meta


@pytest.mark.parametrize("split", ["nonsense", "visual_metaphor"])
def test_a_split_is_not_a_label_for_rows_that_name_none(tmp_path: Path, split: str) -> None:
    said = refusal(tmp_path, NEW, split=split)
    assert f"no rows of the split {split!r}" in said
    assert "leave out --set split" in said
    assert "found: text" in refusal(tmp_path, {**NEW, "split": "text"}, split=split)


def test_options_may_be_an_object(tmp_path: Path) -> None:
    sample = one(tmp_path, {**OLD, "options": {"A": "cat", "B": "dog"}})
    assert sample.choices_text == "A) cat\nB) dog"


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_samples(tmp_path: Path, ending: str) -> None:
    rows = [NEW, {**NEW, "question_id": 8, "answer": "1,234"}]
    path = tmp_path / f"rows.{ending}"
    if ending == "json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif ending == "jsonl":
        jsonl(path, rows)
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet

        plain = [{**row, "extra_input_figure_bboxes": [[10, 20, 30, 40], [0, 0, 5, 6]]} for row in rows]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(NEW), delimiter="\t" if ending == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    samples = read(path)
    assert [sample.id for sample in samples] == ["7", "8"]
    assert samples[1].golds == ("1,234",)
    assert [image.box for image in samples[0].images] == [None, (10, 20, 30, 40), (0, 0, 5, 6)]
    assert samples[0].images[0].location == "https://charts.example/f1.png"
    assert samples[0].meta["figure_id"] == "f1"
    assert samples[0].meta["question_type_id"] == 72


def test_images_of_a_parquet_file_stay_in_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    row = {
        **OLD,
        "figure_path": picture("red", (40, 30)),
        "visual_figure_path": [],
        "extra_input_figure_bboxes": [[1, 2, 3, 4]],
    }
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    [sample] = read(path)
    assert [image.kind for image in sample.images] == ["parquet", "parquet"]
    loader = ImageLoader()
    assert [(image.width, image.height) for image in map(loader.load, sample.images)] == [(40, 30), (3, 4)]


def test_charts_are_found_in_a_folder_by_figure_id(tmp_path: Path) -> None:
    charts = tmp_path / "charts"
    for name in ("f1.jpg", "info/f1.png", "plain/f1.png"):
        (charts / name).parent.mkdir(parents=True, exist_ok=True)
        (charts / name).write_bytes(picture())
    assert one(tmp_path, NEW, image_root=charts).images[0].location == str(charts / "f1.jpg")
    plain = {**NEW, "split": "plain"}
    assert one(tmp_path, plain, image_root=charts).images[0].location == str(charts / "plain/f1.png")
    missing = {**NEW, "figure_id": "../f1"}
    assert one(tmp_path, missing, image_root=charts).images[0].kind == "url"
    assert "no '../f1' in" in refusal(tmp_path, {**missing, "url": ""}, image_root=charts)
    assert "no such folder" in refusal(tmp_path, NEW, image_root=tmp_path / "nowhere")


@pytest.mark.parametrize(
    "url", [["https://x.org/a.png", "x.org/b.png"], "['https://x.org/a.png', 'x.org/b.png']"]
)
def test_an_address_may_be_a_list(tmp_path: Path, url: Any) -> None:
    images = one(tmp_path, {**NEW, "url": url, "extra_input_figure_bboxes": None}).images
    assert [image.location for image in images] == ["https://x.org/a.png", "https://x.org/b.png"]


@given(st.text(max_size=40))
def test_any_address_can_be_tidied_and_once_is_enough(text: str) -> None:
    assert tidy_url(tidy_url(text)) == tidy_url(text)


def test_answers_are_texts_as_the_authors_make_them(tmp_path: Path) -> None:
    rows = [
        {**NEW, "question_id": k, "answer": answer}
        for k, answer in enumerate([5, 1.5, True, ["a"], "", None])
    ]
    golds = [sample.golds for sample in read(jsonl(tmp_path / "rows.jsonl", rows))]
    assert golds == [("5",), ("1.5",), ("True",), ("['a']",), ("",), ()]


def test_ids_repeat_across_splits_only(tmp_path: Path) -> None:
    info, plain = ({**NEW, "split": split} for split in ("info", "plain"))
    samples = read(jsonl(tmp_path / "rows.jsonl", [info, plain]))
    assert [sample.id for sample in samples] == ["7", "plain/7"]
    assert [sample.meta["question_id"] for sample in samples] == [7, 7]
    assert [sample.meta["chart_form"] for sample in samples] == ["infographic", "plain"]
    said = refusal(tmp_path, info, {**info, "question": "Another?"})
    assert "row 2 (line 2): the question_id '7' is already used in rows.jsonl: row 1 (line 1)" in said


def test_a_split_selects_rows_that_name_theirs(tmp_path: Path) -> None:
    rows = [{**NEW, "split": "info"}, {**NEW, "question_id": 8, "split": "plain"}]
    assert [sample.id for sample in read(jsonl(tmp_path / "rows.jsonl", rows), split="plain")] == ["8"]
    assert "found: info, plain" in refusal(tmp_path, *rows, split="text")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"question_type_id": "extreme"},
            "question_id '7', question_type_id: 'extreme' is not a question type",
        ),
        ({"question_type_id": None}, "no question type in question_type_id or qtype"),
        ({"question_type_id": True}, "True is not a question type"),
        (
            {"extra_input_figure_bboxes": [[1, 2, 3]]},
            "bboxes: '[[1, 2, 3]]' is not a list of",
        ),
        (
            {"extra_input_figure_bboxes": [[0, 0, 0, 5]]},
            "is not a list of [x, y, width, height]",
        ),
        ({"extra_input_figure_bboxes": [[-1, 0, 5, 5]]}, "is not a list of"),
        ({"extra_input_figure_bboxes": [[1, 2, "a", 4]]}, "is not a list of"),
        ({"extra_input_figure_bboxes": 5}, "is not a list of [x, y, width, height]"),
        ({"extra_input_figure_bboxes": "none here"}, "is not a list of [x, y, width, height]"),
        ({"url": None}, "no image in figure_path or image or url"),
        ({"url": 5.5}, "url: float"),
        ({"question": ""}, "'question' is empty"),
        ({"question_id": None}, "question_id: None is not an id"),
        ({"options": 5}, "options: '5' is not a list of options"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    message = refusal(tmp_path, {**NEW, **change})
    assert message.startswith("rows.jsonl: row 1 (line 1)")
    assert said in message


@pytest.mark.parametrize("column", ["question", "answer", "question_id"])
def test_missing_columns_are_named(tmp_path: Path, column: str) -> None:
    row = {name: value for name, value in NEW.items() if name != column}
    assert f"no '{column}' (found: " in refusal(tmp_path, row)


@pytest.mark.parametrize(("value", "number"), [(5, 5), ("5", 5), ("72.0", 72), (1.5, 1.5), (-1, -1)])
def test_any_number_is_a_type(tmp_path: Path, value: Any, number: float) -> None:
    assert one(tmp_path, {**NEW, "question_type_id": value}).meta["question_type_id"] == number


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.lists(st.integers() | st.text(max_size=5), max_size=4)
)


@pytest.mark.slow
@given(st.fixed_dictionaries({}, optional=dict.fromkeys({**NEW, **OLD}, VALUES)))
def test_any_row_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any]) -> None:
    path = jsonl(tmp_path_factory.getbasetemp() / "any.jsonl", [row or {"x": 1}])
    problem = None
    try:
        assert len(read(path)) == 1
    except DataError as err:
        problem = err.message
    assert problem is None or problem.startswith("any.jsonl: row 1")


def test_charts_whose_names_have_zeros_in_front(tmp_path: Path) -> None:
    charts = tmp_path / "charts"
    for name in ("info/00451.png", "plain/00451.png", "info/451.png"):
        (charts / name).parent.mkdir(parents=True, exist_ok=True)
        (charts / name).write_bytes(b"x")

    def chart(figure_id: object, split: str) -> str:
        return (
            one(tmp_path, {**NEW, "figure_id": figure_id, "split": split}, image_root=charts)
            .images[0]
            .location
        )

    assert chart(["00451"], "info") == str(charts / "info/00451.png")
    assert chart(451, "info") == str(charts / "info/451.png")
    assert chart(451, "plain") == str(charts / "plain/00451.png")


def test_instructions_that_are_no_text_are_named(tmp_path: Path) -> None:
    assert "instructions: '5' is not text" in refusal(tmp_path, {**NEW, "instructions": 5})
    assert len(refusal(tmp_path, {**NEW, "question_type_id": 10**400})) < 300


def test_empty_lists_in_a_table_are_empty(tmp_path: Path) -> None:
    (tmp_path / "f.png").write_bytes(b"x")
    columns = (
        "question_id,qtype,question,answer,figure_path,visual_figure_path,extra_input_figure_bboxes,options"
    )
    file = tmp_path / "rows.csv"
    file.write_text(f"\ufeff{columns}\r\n1,72,How many?,5,f.png,[],[],[]\r\n", encoding="utf-8", newline="")
    [sample] = open_infochartqa(file)
    assert [ref.location for ref in sample.images] == [str(tmp_path / "f.png")]
    assert (sample.choices, sample.choices_text) == ({}, "")


@pytest.mark.slow
def test_the_hubs_rows_choose_no_files_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = library(tmp_path / "home", monkeypatch)
    here, charts = tmp_path / "here", tmp_path / "charts"
    for folder in (here, charts):
        folder.mkdir()
    (here / "mine.png").write_bytes(picture("red"))
    (charts / "chosen.png").write_bytes(picture("green"))
    monkeypatch.chdir(here)
    paths = ["mine.png", "./mine.png", "../here/mine.png", str(here / "mine.png"), "own.png", "chosen.png"]
    rows = [
        {"question_id": n, "qtype": 72, "question": "?", "answer": "5", "figure_path": path}
        for n, path in enumerate([*paths, picture_base64("blue")])
    ]
    repository = clone(tmp_path / "set", {"text": datasets.Dataset.from_list(rows)})
    (repository / "own.png").write_bytes(picture("blue"))
    loader = ImageLoader()

    def readable(**settings: Any) -> list[str]:
        found = []
        for sample in open_infochartqa(f"hf:{repository}", **settings):
            with contextlib.suppress(ImageError):
                loader.load(sample.images[0])
                found.append(sample.id)
        return found

    assert readable() == ["4", "6"]  # those of the repository itself
    assert readable(image_root=charts) == ["4", "5", "6"]


def test_a_saved_folder_without_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = library(tmp_path / "home", monkeypatch)
    rows = [
        {
            "question_id": n,
            "qtype": 72,
            "question": "?",
            "answer": "5",
            "split": split,
            "figure_path": "a.png",
        }
        for n, split in enumerate(["info", "plain", "info"])
    ]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "saved"))
    spec = f"hf:{tmp_path / 'saved'}"
    assert [sample.id for sample in open_infochartqa(spec)] == ["0", "1", "2"]
    assert [sample.id for sample in open_infochartqa(spec, split="info")] == ["0", "2"]
