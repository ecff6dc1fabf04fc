"""InSight-o3's annotation files: rows to samples and back, repeated ids, groups, rotations."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.boxes import Box, read_boxes
from eyechart.errors import DataError
from eyechart.pipelines.insight_o3.benchmark import AS_WRITTEN, AnnotationSource, mark_rotations, rebuild_row
from eyechart.types import Sample
from support.files import jsonl, picture
from support.insight_o3 import annotation_rows

ROW = {"image": "a.png", "question": "Which?", "options": "(A) red\n(B) blue ", "answer": "B"}


def source(folder: Path, rows: list[dict[str, Any]], **fields: Any) -> AnnotationSource:
    path = jsonl(folder / "questions.jsonl", rows)
    return AnnotationSource(name="vstar", path=path, image_roots=(folder / "images",), **fields)


def samples(folder: Path, *rows: dict[str, Any]) -> list[Sample]:
    return list(source(folder, list(rows)))


def test_a_row_becomes_a_sample(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture())
    [sample] = samples(tmp_path, {**ROW, "question_id": "0", "category": "direct", "boxes": [1, 2]})
    assert (sample.id, sample.question, sample.golds, sample.row) == ("0", "Which?", ("B",), 1)
    assert sample.choices == {"A": "red", "B": "blue"}
    assert sample.choices_text == "(A) red\n(B) blue "  # sent unchanged
    assert [image.location for image in sample.images] == [str(tmp_path / "images" / "a.png")]
    assert sample.meta["category"] == "direct"
    assert "boxes" not in sample.meta, "it says where to look"
    assert sample.withheld == {"boxes": [1, 2]}
    assert not sample.without_golds().withheld


def test_texts_are_kept_as_they_stand(tmp_path: Path) -> None:
    [sample] = samples(tmp_path, {"image": "a.png", "question": " What? ", "answer": " One."})
    assert (sample.question, sample.golds, sample.choices) == (" What? ", (" One.",), {})


def test_no_gold_is_in_what_a_model_may_see(tmp_path: Path) -> None:
    [sample] = samples(tmp_path, {**ROW, "answer": "the secret"})
    assert "the secret" not in repr(sample.without_golds())


@pytest.mark.parametrize(
    ("fields", "group"),
    [
        ({"category": "x", "subset": "map"}, "x"),
        ({"subset": "map"}, "map"),
        ({"category": "", "subset": "map"}, "map"),
        ({"category": 3}, "3"),
        ({}, "unknown"),
    ],
)
def test_the_group_is_the_category_or_the_subset(tmp_path: Path, fields: dict[str, Any], group: str) -> None:
    [sample] = samples(tmp_path, {**ROW, **fields})
    assert sample.meta["category"] == group


@pytest.mark.parametrize("category", [None, "", "map", 3])
def test_the_row_comes_back_with_its_category_as_written(tmp_path: Path, category: Any) -> None:
    [sample] = samples(tmp_path, {**ROW, "category": category})
    assert rebuild_row(sample)["category"] == category


def test_ids_that_repeat_are_told_apart_by_their_place(tmp_path: Path) -> None:
    ids = ["p/7", "p/8", "p/7", "p/7#2", "p/7"]
    found = samples(tmp_path, *({**ROW, "question_id": name} for name in ids))
    assert [sample.id for sample in found] == ["p/7", "p/8", "p/7#2", "p/7#2#2", "p/7#3"]
    assert [sample.meta["question_id"] for sample in found] == ids


def test_rows_without_ids_are_numbered(tmp_path: Path) -> None:
    assert [sample.id for sample in samples(tmp_path, ROW, ROW)] == ["1", "2"]


def test_image_wins_over_file_name(tmp_path: Path) -> None:
    [first, second] = samples(tmp_path, {**ROW, "file_name": "b.png"}, {"file_name": "c.png", **_open()})
    assert first.images[0].location.endswith("a.png")
    assert second.images[0].location.endswith("c.png")


def test_a_path_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    [sample] = samples(tmp_path, {**ROW, "image": "../../etc/passwd"})
    assert sample.images[0].refused


def _open() -> dict[str, Any]:
    return {"question": "What?", "answer": "red"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"image": "a.png", "answer": "B"}, "row 2 (line 2): 'question' must be text, found nothing"),
        ({**ROW, "question": 7}, "'question' must be text, found int '7'"),
        ({**ROW, "options": ["red", "blue"]}, "'options' must be text, found list"),
        ({**ROW, "answer": ["B"]}, "'answer' must be a single text, found list"),
        (_open(), "row 2 (line 2): no image"),
        ({**ROW, "image": 4}, "'image' must be text, found int '4'"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        samples(tmp_path, ROW, row)
    assert "questions.jsonl: row 2" in caught.value.message
    assert said in caught.value.message


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("question\tanswer\nWhich?\tB\n")
    with pytest.raises(DataError, match="JSON Lines, not tsv"):
        list(AnnotationSource(name="vstar", path=tmp_path / "x.tsv", image_roots=(tmp_path,)))


def test_the_row_can_be_given_back(tmp_path: Path) -> None:
    rows = [
        *annotation_rows(),
        {"question_id": 3, **ROW, "category": "x", "boxes": {"1": [1, 2.5]}},
        {"image": "a.png", "question": "What?", "options": None, "answer": ""},
        {"image": "a.png", "question": "What?", "options": ""},
    ]
    given_back = [rebuild_row(sample) for sample in samples(tmp_path, *rows)]
    assert given_back == rows
    assert [list(row) for row in given_back] == [list(row) for row in rows]


words = st.text(min_size=1, max_size=8).filter(str.strip)
values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
row_strategy = st.builds(
    lambda question, answer, options, more: {
        "question": question, "image": "a.png", "answer": answer, "options": options, **more,
    },
    words, words, st.text(max_size=12),
    st.dictionaries(st.sampled_from(["question_id", "subset", "note", "boxes"]), values),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(row_strategy, min_size=1, max_size=4))
def test_every_row_can_be_given_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    found = samples(tmp_path_factory.mktemp("rows"), *rows)
    assert [rebuild_row(sample) for sample in found] == rows
    assert len({sample.id for sample in found}) == len(rows)
    assert all(sample.meta[AS_WRITTEN] for sample in found)


def rotation(name: int, right: str, options: str) -> Sample:
    choices = dict(zip("ABCD", options.split(), strict=False))
    gold = next(letter for letter, value in choices.items() if value == right)
    return Sample(id=str(name), question="Which?", golds=(gold,), choices=choices)


def test_rotations_share_a_circle() -> None:
    first = [rotation(k, "x", text) for k, text in enumerate(["x y z w", "w x y z", "z w x y", "y z w x"])]
    # The same question on another picture, and one whose right answer differs.
    again = [rotation(k + 4, "x", text) for k, text in enumerate(["x y z w", "w x y z"])]
    other = [rotation(6, "y", "x y z w")]
    found = list(mark_rotations([*first, *again, *other]))
    assert [sample.circle for sample in found] == ["0"] * 4 + ["4"] * 2 + ["6"]


def test_only_rotated_files_have_circles(tmp_path: Path) -> None:
    rows = [{**ROW, "question_id": "0"}, {**ROW, "options": "(A) blue\n(B) red", "answer": "A"}]
    assert [sample.circle for sample in source(tmp_path, rows, is_rotated=True)] == ["0", "0"]
    assert [sample.circle for sample in source(tmp_path, rows)] == ["", ""]


# -- Where to look


def test_boxes_of_a_row_and_of_a_file_beside_its_image(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "b.json").write_text(
        '{"bbox": [[10, 20, 5, 6], [0, 0, 1.5, 2]]}', encoding="utf-8"
    )
    rows: list[dict[str, Any]] = [
        {**ROW, "bbox": [1, 2, 30, 40]},
        {**ROW, "image": "b.png"},
        {**ROW, "image": "c.png"},
    ]
    own, beside, none = samples(tmp_path, *rows)
    assert read_boxes(own) == [Box(left=1, top=2, right=30, bottom=40)]
    assert read_boxes(beside) == [
        Box(left=10, top=20, right=15, bottom=26),
        Box(left=0, top=0, right=1.5, bottom=2),
    ]
    assert read_boxes(none) == []
    assert [rebuild_row(sample) for sample in (own, beside, none)] == rows
    assert not any(sample.without_golds().withheld for sample in (own, beside, none))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"bbox": 3}', '{"bbox": [[1, 2, 3]]}', '{"bbox": [["a", 1, 2, 3]]}', "[" * 50_000],
)
def test_another_file_beside_an_image_is_none_of_boxes(tmp_path: Path, text: str) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.json").write_text(text, encoding="utf-8")
    [sample] = samples(tmp_path, ROW)
    assert read_boxes(sample) == []
    assert not sample.withheld
