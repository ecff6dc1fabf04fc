"""Data sets: rows in, pictures as files, messages out."""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eyechart.compat.vlmeval.smp import load
from eyechart.errors import DataError, ImageError, MissingExtra
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import UserCodeError
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomVQADataset, ImageBaseDataset, ImageVQADataset
from support.extras import extra
from support.files import jsonl, picture, picture_base64
from support.tables import write_tsv

pd: Any = extra("pandas")
RED, BLUE = picture_base64("red"), picture_base64("blue", (40, 30))


def vqa(root: Path, heading: list[str], *rows: Sequence[object], name: str = "mine") -> CustomVQADataset:
    write_tsv(root / f"{name}.tsv", heading, *rows)
    return CustomVQADataset(name)


def test_base64_becomes_a_file_named_after_its_index(root: Path) -> None:
    mine = vqa(root, ["index", "question", "answer", "image"], [7, "Which?", "red", RED])
    place = root / "images" / "mine" / "7.png"
    assert not mine.meta_only
    assert mine.img_root == str(place.parent)
    assert mine.build_prompt(mine.data.iloc[0]) == [
        {"type": "image", "value": str(place)},
        {"type": "text", "value": "Which?"},
    ]
    assert place.read_bytes() == picture("red")


def test_several_pictures_in_a_cell(root: Path) -> None:
    mine = vqa(root, ["index", "question", "image"], ["q", "Which?", str([RED, BLUE])])
    paths = mine.dump_image(mine.data.iloc[0])
    assert [Path(path).name for path in paths] == ["q_0.png", "q_1.png"]
    assert Path(paths[1]).read_bytes() == base64.b64decode(BLUE)


def test_names_of_pictures_that_the_file_gives(root: Path) -> None:
    mine = vqa(root, ["index", "question", "image", "image_path"], [1, "?", RED, "../a/../red.png"])
    [path] = mine.dump_image(mine.data.iloc[0])
    assert Path(path) == root / "images" / "mine" / "a" / "red.png"


def test_a_short_cell_names_another_rows_picture(root: Path) -> None:
    mine = vqa(root, ["index", "question", "image"], [2, "?", 1], [1, "?", RED], [3, "?", 1])
    assert mine.data["image"].tolist() == [RED] * 3
    with pytest.raises(DataError, match="mine: index 2: the image '9' is neither an image nor the index"):
        vqa(root, ["index", "question", "image"], [2, "?", 9], [1, "?", RED])
    with pytest.raises(DataError, match="index 1: the image '2'"):
        vqa(root, ["index", "question", "image"], [1, "?", 2], [2, "?", 1])


def test_a_changed_picture_is_never_taken_for_the_old_one(root: Path) -> None:
    seen = []
    for text in (RED, BLUE, RED, BLUE):
        [path] = vqa(root, ["index", "question", "image"], [1, "?", text]).dump_image(
            {"index": 1, "image": text}
        )
        assert Path(path).read_bytes() == base64.b64decode(text)
        seen.append((path, Path(path).stat().st_mtime_ns))
    assert seen[:2] == seen[2:]  # what is there is not written again
    assert seen[0][0] == str(root / "images" / "mine" / "1.png")


@pytest.mark.parametrize(
    "rows",
    [
        {"a/b": [RED], "a_b": [BLUE]},
        {"7": [RED, BLUE], "7_0": [BLUE], "7_1": [RED]},
    ],
    ids=["slash", "two-pictures"],
)
def test_rows_whose_names_meet_keep_their_own_pictures(root: Path, rows: dict[str, list[str]]) -> None:
    cells = [[index, "?", repr(pictures)] for index, pictures in rows.items()]
    mine = vqa(root, ["index", "question", "image"], *cells)
    paths = [mine.dump_image(mine.data.iloc[number]) for number in range(len(rows))]
    assert [[Path(one).read_bytes() for one in row] for row in paths] == [
        [base64.b64decode(text) for text in pictures] for pictures in rows.values()
    ]


def test_one_image_path_for_different_pictures(root: Path) -> None:
    rows = [[number, "?", (RED, BLUE)[number % 2], "cat.png"] for number in range(4)]
    mine = vqa(root, ["index", "question", "image", "image_path"], *rows)
    paths = [Path(*mine.dump_image(mine.data.iloc[number])) for number in range(4)]
    assert [path.read_bytes() for path in paths] == [base64.b64decode(str(row[2])) for row in rows]
    assert paths[0] == paths[2] == root / "images" / "mine" / "cat.png"
    assert paths[1] == paths[3]


def test_rows_without_a_picture_are_left_out_unless_wanted(root: Path) -> None:
    mine = vqa(root, ["index", "question", "image"], [1, "?", RED], [2, "blind?", ""])
    assert mine.data["index"].tolist() == [1]
    whole = CustomVQADataset("mine", skip_noimg=False)
    assert len(whole) == 2
    assert whole.build_prompt(1) == [{"type": "text", "value": "blind?"}]


def test_what_is_no_picture_is_refused_by_its_row(root: Path) -> None:
    mine = vqa(root, ["index", "question", "image"], [5, "?", "QUJD" * 40])
    with pytest.raises(ImageError, match="mine: index 5: not a supported image"):
        mine.dump_image(mine.data.iloc[0])


def test_paths_are_looked_for_beside_the_file_in_the_image_folder_and_here(
    root: Path, tmp_path: Path
) -> None:
    places = [root / "a.png", root / "images" / "mine" / "b.png", tmp_path / "c.png"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(picture())
    mine = vqa(
        root,
        ["index", "question", "image_path"],
        *(
            [k, "?", name]
            for k, name in enumerate(["a.png", "b.png", "c.png", "gone.png", "['a.png', 'b.png']"])
        ),
    )
    found = [mine.dump_image(mine.data.iloc[k]) for k in range(5)]
    assert mine.meta_only
    assert found[:3] == [[str(place)] for place in places]
    assert found[3] == [str(root / "gone.png")]
    assert found[4] == [str(places[0]), str(places[1])]


def test_absolute_paths_and_addresses_stay(root: Path, tmp_path: Path) -> None:
    given = [str(tmp_path / "x.png"), "https://example.org/x.png", f"data:image/png;base64,{RED}", "../x.png"]
    mine = vqa(root, ["index", "question", "image_path"], *([k, "?", path] for k, path in enumerate(given)))
    assert [mine.dump_image(mine.data.iloc[k]) for k in range(4)] == [[path] for path in given]


def test_a_table_that_was_read_elsewhere_knows_its_folder(root: Path, tmp_path: Path) -> None:
    write_tsv(tmp_path / "far" / "t.tsv", ["index", "question", "image_path"], [1, "?", "a.png"])
    (tmp_path / "far" / "a.png").write_bytes(picture())

    def load_data(self: Any, dataset: str) -> Any:
        return load(tmp_path / "far" / "t.tsv")

    CustomVQADataset.load_data = load_data  # type: ignore[method-assign]
    mine = CustomVQADataset("mine")
    assert mine.dump_image(mine.data.iloc[0]) == [str(tmp_path / "far" / "a.png")]


def test_a_question_without_a_picture_is_text_alone(root: Path) -> None:
    mine = vqa(root, ["index", "question"], [1, "Why?"], [2, 2024])
    assert mine.build_prompt(0) == [{"type": "text", "value": "Why?"}]
    assert mine.build_prompt(mine.data.iloc[1])[-1]["value"] == "2024"


def test_a_row_by_position_also_of_numpys_kind(root: Path) -> None:
    numpy = extra("numpy")
    mine = vqa(root, ["index", "question"], [1, "Why?"], [2, "How?"])
    assert ImageBaseDataset.build_prompt(mine, 1)[-1]["value"] == "How?"
    assert ImageBaseDataset.build_prompt(mine, numpy.int64(1))[-1]["value"] == "How?"
    assert ImageBaseDataset.build_prompt(mine, {"index": 3, "question": "Who?"})[-1]["value"] == "Who?"


def test_what_scripts_read(root: Path) -> None:
    mine = vqa(root, ["index", "question", "answer"], [3, "Why?", "because"], [4, "How?", "so"])
    assert len(mine) == 2
    assert mine[1] == {"index": 4, "question": "How?", "answer": "so"}
    assert (mine.dataset_name, mine.meta_only, mine.skip_noimg) == ("mine", True, True)
    assert (mine.TYPE, mine.MODALITY, mine.supported_datasets()) == ("VQA", "IMAGE", [])


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["a", "2"], ["a", "2"]),
        (["01", "2"], ["01", "2"]),
        (["--5", "2"], ["--5", "2"]),
    ],
)
def test_indices_are_whole_numbers_or_texts(indices: list[str], expected: list[object], root: Path) -> None:
    mine = vqa(root, ["index", "question"], *([index, "?"] for index in indices))
    assert mine.data["index"].tolist() == expected


def test_bad_indices_are_named(root: Path) -> None:
    with pytest.raises(DataError, match="mine: row 2: duplicate index '1'"):
        vqa(root, ["index", "question"], [1, "?"], [1, "?"])
    with pytest.raises(DataError, match="mine: row 2: nothing in 'index'"):
        vqa(root, ["index", "question"], [1, "?"], ["", "?"])
    with pytest.raises(DataError, match=r"mine: no column 'index' \(found: question\)"):
        vqa(root, ["question"], ["?"])


def test_a_missing_file_is_named_with_its_place(root: Path) -> None:
    with pytest.raises(DataError, match=r"gone: no such file: .*LMUData/gone\.tsv"):
        CustomVQADataset("gone")
    CustomVQADataset.DATASET_URL = {"gone": "https://example.org/gone.tsv"}
    with pytest.raises(DataError, match=r"download https://example\.org/gone\.tsv"):
        CustomVQADataset("gone")


def test_a_path_is_a_name_too(root: Path, tmp_path: Path) -> None:
    write_tsv(tmp_path / "far" / "own.tsv", ["index", "question"], [1, "?"])
    mine = CustomVQADataset(str(tmp_path / "far" / "own.tsv"))
    assert (mine.dataset_name, len(mine)) == ("own", 1)


def test_load_data_knows_the_name_and_the_image_folder(root: Path) -> None:
    seen: list[Any] = []

    def load_data(self: Any, dataset: str) -> Any:
        seen.append((dataset, self.dataset_name, self.img_root, hasattr(self, "data")))
        return pd.DataFrame({"index": [1], "question": ["?"]})

    def post_build(self: Any, dataset: str) -> None:
        self.data["question"] = [f"{question} {dataset}" for question in self.data["question"]]

    CustomVQADataset.load_data = load_data  # type: ignore[method-assign]
    CustomVQADataset.post_build = post_build  # type: ignore[method-assign]
    assert CustomVQADataset("mine").data["question"].tolist() == ["? mine"]
    assert seen == [("mine", "mine", str(root / "images" / "mine"), False)]


def test_errors_in_methods_of_ones_own_are_named(root: Path) -> None:
    def load_data(self: Any, dataset: str) -> Any:
        return dict[str, Any]()["nothing"]

    CustomVQADataset.load_data = load_data  # type: ignore[method-assign]
    with pytest.raises(UserCodeError, match=r"mine: load_data raised KeyError: 'nothing'") as caught:
        CustomVQADataset("mine")
    assert isinstance(caught.value.__cause__, KeyError)
    assert "test_image_base.py, line" in caught.value.hint


def test_a_load_data_that_returns_no_table(root: Path) -> None:
    CustomVQADataset.load_data = lambda self, dataset: None  # type: ignore[method-assign]
    with pytest.raises(DataError, match="mine: load_data returned NoneType"):
        CustomVQADataset("mine")


def test_the_kits_own_open_questions_ask_for_a_word_or_a_phrase(root: Path) -> None:
    write_tsv(root / "mine.tsv", ["index", "question"], [1, "Why?"])
    asked = "Why?\nAnswer the question using a single word or phrase."
    assert ImageVQADataset("mine").build_prompt(0) == [{"type": "text", "value": asked}]


def test_the_callers_table_is_not_changed(root: Path) -> None:
    frame = pd.DataFrame({"index": ["1"], "question": ["?"], "image": [RED]})
    CustomVQADataset.load_data = lambda self, dataset: frame  # type: ignore[method-assign]
    assert CustomVQADataset("mine").data["index"].tolist() == [1]
    assert frame["index"].tolist() == ["1"]


def test_files_without_rows(root: Path) -> None:
    with pytest.raises(DataError, match="mine: no questions"):
        vqa(root, ["index", "question", "image"])
    with pytest.raises(DataError, match="mine: no questions"):
        vqa(root, ["index", "question", "image"], [1, "?", ""])


def test_rows_in_other_formats(root: Path) -> None:
    jsonl(root / "other.jsonl", [{"index": 1, "question": "Why?"}, {"index": 2, "question": "How?"}])
    assert CustomVQADataset("other").build_prompt(1)[-1]["value"] == "How?"
    (root / "broken.json").write_text("[1, 2]")
    with pytest.raises(DataError, match="not a list of rows"):
        CustomVQADataset("broken")


def test_without_pandas_the_extra_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tsv(root / "mine.tsv", ["index", "question"], [1, "?"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"eyechart\[pandas\]"):
        CustomVQADataset("mine")
