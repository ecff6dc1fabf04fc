"""MMBench's front door: the note's data set, by position and lazily, and the file that is handed in."""

import base64
import csv
import io
import json
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eyechart.compat.mmbench import NO_ANSWER, MMBenchDataset, decode_base64_to_image, dump_submission
from eyechart.data.files.tables import NA_WORDS
from eyechart.errors import DataError, EyechartError, ImageError, UsageError
from support.files import noisy_picture, picture, picture_base64

HEADER = ["index", "image", "question", "hint", "A", "B", "C", "D", "answer", "category", "l2-category"]


def tsv(path: Path, rows: list[dict[str, Any]], header: list[str] | None = None) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, header or HEADER, delimiter="\t", restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    return path


def row(index: int, colour: str = "red", **changes: Any) -> dict[str, Any]:
    return {
        "index": index,
        "image": picture_base64(colour),
        "question": f"Question {index}?",
        "A": "one",
        "B": "two",
        "answer": "B",
        "category": "image_scene",
        "l2-category": "coarse_perception",
        **changes,
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        row(0, hint="Look closely.", C="three", D="four"),
        row(1, "blue", image="1000000"),  # the picture of a row further down
        row(1000000, "green", answer="A"),
        row(1000001, image="0"),
    ]
    return tsv(tmp_path / "mine.tsv", rows)


def test_a_row_has_the_fields_of_the_note(file: Path) -> None:
    data = MMBenchDataset(file)
    found = data[0]
    assert list(found) == [
        "img", "question", "answer", "options", "category", "l2-category", "options_dict", "index", "context",
    ]  # fmt: skip
    image = found.pop("img")
    assert isinstance(image, Image.Image)
    assert (image.mode, image.size, image.getpixel((0, 0))) == ("RGB", (32, 24), (255, 0, 0))
    assert found == {
        "question": "Question 0?",
        "answer": "B",
        "options": "There are several options:\nA. one\nB. two\nC. three\nD. four\n",
        "category": "image_scene",
        "l2-category": "coarse_perception",
        "options_dict": {"A": "one", "B": "two", "C": "three", "D": "four"},
        "index": 0,
        "context": "Look closely.",
    }
    assert MMBenchDataset(file, sys_prompt="Choose:")[1]["options"] == "Choose:\nA. one\nB. two\n"
    assert data[1]["context"] is None


def test_it_is_a_sequence_that_ends(file: Path) -> None:
    data = MMBenchDataset(str(file))
    assert len(data) == 4
    assert [one["index"] for one in data] == [0, 1, 1000000, 1000001]  # type: ignore[attr-defined]
    assert data[-1]["index"] == 1000001
    for beyond in (4, -5):
        with pytest.raises(IndexError, match="there are 4"):
            data[beyond]
    with pytest.raises(TypeError):
        data["0"]  # type: ignore[index]


def test_a_cell_that_names_another_row_has_its_picture(file: Path) -> None:
    data = MMBenchDataset(file)
    assert data.get_image(1).getpixel((0, 0)) == data[2]["img"].getpixel((0, 0)) == (0, 128, 0)
    assert data.get_image(3).getpixel((0, 0)) == (255, 0, 0)


def test_what_is_missing_is_none(tmp_path: Path) -> None:
    header = [name for name in HEADER if name not in ("hint", "answer", "l2-category")]
    rows = [{name: row(7).get(name, "") for name in header}]
    [found] = list(MMBenchDataset(tsv(tmp_path / "test.tsv", rows, header)))  # type: ignore[call-overload]
    assert (found["answer"], found["context"], found["l2-category"]) == (None, None, None)


def test_rows_without_a_picture_are_left_out(tmp_path: Path) -> None:
    data = MMBenchDataset(tsv(tmp_path / "gaps.tsv", [row(0, image=""), row(1)]))
    assert [one["index"] for one in data] == [1]  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="no row has an image"):
        len(MMBenchDataset(tsv(tmp_path / "none.tsv", [row(0, image="")])))


@pytest.mark.parametrize("mode", ["RGBA", "P", "LA", "L", "I;16", "CMYK"])
def test_every_picture_is_rgb(tmp_path: Path, mode: str) -> None:
    buffer = io.BytesIO()
    base = Image.new("L", (8, 8), 255)
    made = Image.new("I;16", (8, 8), 65535) if mode == "I;16" else base.convert(mode)
    made.save(buffer, "TIFF" if mode == "CMYK" else "PNG")
    cell = base64.b64encode(buffer.getvalue()).decode()
    image = MMBenchDataset(tsv(tmp_path / "one.tsv", [row(0, image=cell)]))[0]["img"]
    assert (image.mode, image.getpixel((3, 3))) == ("RGB", (255, 255, 255))


def test_no_picture_is_decoded_before_it_is_asked_for(tmp_path: Path) -> None:
    data = MMBenchDataset(tsv(tmp_path / "broken.tsv", [row(0), row(1, image="QUJD" * 40)]))
    assert len(data) == 2
    assert data[0]["index"] == 0
    with pytest.raises(ImageError, match="not a supported image"):
        data[1]


@pytest.mark.slow
def test_the_file_is_not_held_in_memory(tmp_path: Path) -> None:
    cell = base64.b64encode(noisy_picture("PNG", (512, 512))).decode()
    path = tsv(tmp_path / "large.tsv", [row(n, image=cell) for n in range(64)])
    size = path.stat().st_size
    assert size > 16_000_000
    tracemalloc.start()
    data = MMBenchDataset(path)
    assert len(data) == 64
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < size / 20


def test_a_file_that_changed_since_is_told(file: Path) -> None:
    data = MMBenchDataset(file)
    assert len(data) == 4
    with file.open("a", encoding="utf-8") as more:
        more.write("\n")
    with pytest.raises(DataError, match="file changed"):
        data[0]


def test_what_is_no_such_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.tsv"):
        MMBenchDataset(tmp_path / "nowhere.tsv")
    plain = tsv(tmp_path / "plain.tsv", [{"index": 1, "question": "?"}], ["index", "question"])
    with pytest.raises(DataError, match="no column 'A'"):
        MMBenchDataset(plain)
    two = json.dumps([picture_base64(), picture_base64("blue")])
    with pytest.raises(DataError, match="2 images"):
        MMBenchDataset(tsv(tmp_path / "two.tsv", [row(0, image=two)]))[0]


def test_a_copy_for_a_worker_gives_the_same(file: Path) -> None:
    data = MMBenchDataset(file)
    assert data[0]["img"]  # its own files are open by now
    copy = pickle.loads(pickle.dumps(data))
    assert len(copy) == 4
    for position in range(4):
        mine, other = data[position], copy[position]
        assert mine.pop("img").tobytes() == other.pop("img").tobytes()
        assert mine == other


WORKERS = """
import multiprocessing, sys
from eyechart.compat.mmbench import MMBenchDataset

def work(data, positions, out):
    out.put([(data[p]["index"], data[p]["img"].getpixel((0, 0))) for p in positions])

if __name__ == "__main__":
    data = MMBenchDataset(sys.argv[1])
    assert len(data) == 4 and data[0]["img"]
    context = multiprocessing.get_context(sys.argv[2])
    out = context.Queue()
    workers = [context.Process(target=work, args=(data, range(k, 4, 2), out)) for k in range(2)]
    for worker in workers: worker.start()
    print(sorted(one for _ in workers for one in out.get()))
    for worker in workers: worker.join()
    assert "torch" not in sys.modules and "pandas" not in sys.modules
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_read_for_themselves(file: Path, tmp_path: Path, method: str) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, file, method], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    green, red = (0, 128, 0), (255, 0, 0)
    assert done.stdout.strip() == str([(0, red), (1, green), (1000000, green), (1000001, red)])


def test_the_import_is_light() -> None:
    heavy = ("numpy", "pandas", "PIL", "torch", "xlsxwriter")
    code = f"import sys, eyechart.compat.mmbench; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")) | st.sampled_from('"\n\t,'),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() == text and text not in NA_WORDS and not text.startswith('"'))
words = texts.map(lambda text: f"x{text}")  # no column of numbers: those are tested with pandas_cells


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"question": words, "A": words, "B": words, "answer": st.sampled_from(["A", "B"])},
            optional={"C": words, "D": words, "hint": words},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_rows_are_what_pandas_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("given") / "given.tsv"
    tsv(path, [{**row(n), **one} for n, one in enumerate(rows)])
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, sep="\t")
    data = MMBenchDataset(path)
    assert len(data) == len(frame)
    for position, line in enumerate(frame.to_dict("records")):
        found = data[position]
        options = {letter: line[letter] for letter in "ABCD" if isinstance(line[letter], str)}
        assert (found["question"], found["answer"]) == (line["question"], line["answer"])
        assert (found["options_dict"], found["index"]) == (options, line["index"])
        assert found["context"] == (line["hint"] if isinstance(line["hint"], str) else None)


# -- the file that is handed in


def sheet(path: Path) -> list[dict[str, Any]]:
    [header, *rows] = openpyxl.load_workbook(path)["Sheet1"].iter_rows(values_only=True)
    return [dict(zip(map(str, header), cells, strict=True)) for cells in rows]


def test_the_results_of_a_data_set_are_handed_in(file: Path, tmp_path: Path) -> None:
    data = MMBenchDataset(file)
    results = ({**one, "prediction": "B"} for one in data)  # type: ignore[attr-defined]
    path = dump_submission(results, tmp_path / "new" / "submission.xlsx")
    found = sheet(path)
    assert list(found[0]) == [
        "question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index", "answer", "hint",
    ]  # fmt: skip
    assert [one["index"] for one in found] == [0, 1, 1000000, 1000001]
    assert found[1] == {
        "question": "Question 1?", "A": "one", "B": "two", "C": None, "D": None, "prediction": "B",
        "category": "image_scene", "l2_category": "coarse_perception", "index": 1, "answer": "B",
        "hint": None,
    }  # fmt: skip
    pandas = pytest.importorskip("pandas")
    assert list(pandas.read_excel(path, engine="openpyxl")["prediction"]) == ["B"] * 4


def test_rows_of_ones_own_making(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [
        {"index": 1, "prediction": 7, "question": "?", "A": "x"},
        {"index": "q2", "prediction": None, "l2_category": "LR", "E": "five", "mine": ["a"], "img": object()},
        {"index": pandas.Series([3])[0], "prediction": "ok", "A": float("nan"), "category": pandas.NA},
    ]
    found = sheet(dump_submission(rows, str(tmp_path / "own.xlsx")))
    assert list(found[0])[:6] == ["question", "A", "B", "C", "D", "E"]
    assert [one["prediction"] for one in found] == ["7", NO_ANSWER, "ok"]
    assert [one["index"] for one in found] == [1, "q2", 3]
    assert (found[1]["E"], found[1]["mine"], found[1]["l2_category"]) == ("five", "['a']", "LR")
    assert (found[2]["A"], found[2]["category"]) == (None, None)
    assert "img" not in found[0]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(
        st.text(max_size=30) | st.sampled_from(["=1+1", "+A1", "-2", "@SUM(A1)", "http://x.y"]), min_size=1
    )
)
def test_no_reply_is_a_formula_and_none_is_lost(
    tmp_path_factory: pytest.TempPathFactory, said: list[str]
) -> None:
    path = tmp_path_factory.mktemp("given") / "given.xlsx"
    dump_submission(({"index": n, "prediction": text} for n, text in enumerate(said)), path)
    cells = [row[5] for row in openpyxl.load_workbook(path)["Sheet1"].iter_rows(min_row=2)]
    assert len(cells) == len(said)
    assert {cell.data_type for cell in cells} <= {"s", "n"}  # n: an empty one
    assert not any(cell.hyperlink for cell in cells)
    for cell, text in zip(cells, said, strict=True):
        if text.isprintable():
            assert (cell.value or "") == text


def test_rows_are_taken_one_by_one_and_mistakes_are_named(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"index": 1, "prediction": "A"}
        yield {"index": 2, "answer": "B"}

    path = tmp_path / "x.xlsx"
    with pytest.raises(DataError, match="row 2 has no 'prediction' \\(found: index, answer\\)"):
        dump_submission(rows(), path)
    with pytest.raises(DataError, match="row 1 is a tuple"):
        dump_submission([("a", 1)], path)  # type: ignore[list-item]
    assert [one.name for one in tmp_path.iterdir()] == ["x.partial.jsonl"]  # of the first; it had a row


def asking(file: Path, error: BaseException) -> Iterator[dict[str, Any]]:
    """A loop that asks a model, which fails at the third row."""
    for position, one in enumerate(MMBenchDataset(file)):  # type: ignore[arg-type, var-annotated]
        if position == 2:
            raise error
        yield {**one, "prediction": f"said {position}\n\ud800"}


@pytest.mark.parametrize("error", [ConnectionError("down"), KeyError("x"), KeyboardInterrupt()], ids=repr)
def test_answers_before_a_failure_are_not_lost(file: Path, tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out" / "submission.xlsx"
    with pytest.raises(type(error)) as caught:
        dump_submission(asking(file, error), path)
    assert caught.value is error  # nor is it taken for a failure to write
    partial = tmp_path / "out" / "submission.partial.jsonl"
    assert caught.value.__notes__ == [f"eyechart: the rows so far are in {partial}, one JSON object per line"]
    assert [one.name for one in path.parent.iterdir()] == [partial.name]

    kept = [json.loads(line) for line in partial.read_text(encoding="utf-8").splitlines()]
    done = {one["index"] for one in kept}
    rest = ({**one, "prediction": "C"} for one in MMBenchDataset(file) if one["index"] not in done)  # type: ignore[attr-defined]
    found = sheet(dump_submission([*kept, *rest], path))
    whole = sheet(
        dump_submission(({**one, "prediction": "C"} for one in MMBenchDataset(file)), tmp_path / "w.xlsx")  # type: ignore[attr-defined]
    )
    assert [one.pop("prediction") for one in found] == ["said 0\n<U+D800>", "said 1\n<U+D800>", "C", "C"]
    assert [{**one, "prediction": "C"} for one in found] == whole


def test_one_failure_does_not_take_the_answers_of_another(file: Path, tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            dump_submission(asking(file, DataError("broken", hint="mend it")), tmp_path / "x.xlsx")
        names.append(caught.value.hint.removeprefix("mend it; the rows so far are in ").partition(",")[0])
    assert names == [str(tmp_path / "x.partial.jsonl"), str(tmp_path / "x.partial-2.jsonl")]
    assert [len(Path(name).read_text(encoding="utf-8").splitlines()) for name in names] == [2, 2]


def test_rows_are_on_disk_before_the_next_is_taken(tmp_path: Path) -> None:
    seen: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3):
            seen.append(len((tmp_path / "x.partial.jsonl").read_text(encoding="utf-8").splitlines()))
            yield {"index": number, "prediction": "A"}

    dump_submission(rows(), tmp_path / "x.xlsx")
    assert seen == [0, 1, 2]
    assert [one.name for one in tmp_path.iterdir()] == ["x.xlsx"]


def test_a_workbook_that_cannot_be_written_leaves_the_rows(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"index": 1, "prediction": "A"}
        (tmp_path / "x.xlsx").mkdir()

    with pytest.raises(EyechartError, match="cannot write") as caught:
        dump_submission(rows(), tmp_path / "x.xlsx")
    assert "x.partial.jsonl" in caught.value.hint
    assert json.loads((tmp_path / "x.partial.jsonl").read_text(encoding="utf-8"))["prediction"] == "A"


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 240 + ".xlsx")
    assert dump_submission([{"index": 1, "prediction": "A"}], path) == path
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([9, 32_767], ""),
        ([9, 40_000], "1 cell was cut at 32,767 characters, {}"),
        ([40_000] * 5, "5 cells were cut at 32,767 characters, {}"),
    ],
)
def test_what_was_cut_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lengths: list[int], words: str
) -> None:
    rows = ({"index": number, "prediction": "x" * length} for number, length in enumerate(lengths))
    found = sheet(dump_submission(rows, tmp_path / "x.xlsx"))
    assert [len(one["prediction"]) for one in found] == [min(length, 32_767) for length in lengths]
    shown = capsys.readouterr()
    assert shown.out == ""
    told = words.format("the limit of a cell")
    hint = "submit answers without reasoning"
    assert shown.err == (f"eyechart: x.xlsx: {told}\n  hint: {hint}\n" if words else "")


def test_what_cannot_be_written_is_told_before_a_row_is_taken(tmp_path: Path) -> None:
    taken: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        taken.append(1)
        yield {"index": 1, "prediction": "A"}

    (tmp_path / "file").write_bytes(picture())
    (tmp_path / "folder.xlsx").mkdir()
    for place, words in (
        ("x.csv", "not an .xlsx file"),
        ("x", "not an .xlsx file"),
        ("file/x.xlsx", "cannot write"),
        ("folder.xlsx", "cannot write"),
    ):
        with pytest.raises(EyechartError, match=words):
            dump_submission(rows(), tmp_path / place)
    assert not taken


def test_a_broken_picture_is_named_by_its_row(tmp_path: Path) -> None:
    data = MMBenchDataset(tsv(tmp_path / "mine.tsv", [row(3), row(7, image="x" * 100)]))
    with pytest.raises(ImageError, match=r"mine\.tsv: row 2 \(index 7\): .*not a supported image"):
        data[1]
    with pytest.raises(IndexError, match="no row 9, there are 2"):
        data.get_image(9)


def test_a_prompt_that_is_no_text_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match="sys_prompt is None"):
        MMBenchDataset(file, sys_prompt=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("index", [None, float("nan"), ""])
def test_a_row_without_an_index_cannot_be_handed_in(tmp_path: Path, index: Any) -> None:
    with pytest.raises(DataError, match="row 1 has no value in 'index'"):
        dump_submission([{"index": index, "prediction": "A"}], tmp_path / "out.xlsx")
    assert not list(tmp_path.iterdir())


def test_only_what_is_no_reply_is_written_as_a_failed_call(tmp_path: Path) -> None:
    said = [float("nan"), None, "<NA>", "nan", ""]
    rows = [{"index": n, "prediction": one} for n, one in enumerate(said)]
    sheet = openpyxl.load_workbook(dump_submission(rows, tmp_path / "out.xlsx"))["Sheet1"]
    found = [cells[5] for cells in sheet.iter_rows(min_row=2, values_only=True)]
    assert found == [NO_ANSWER, NO_ANSWER, "<NA>", "nan", None]


def test_a_table_of_pandas_is_told_how_to_be_given(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError) as caught:
        dump_submission(pandas.DataFrame([{"index": 1, "prediction": "A"}]), tmp_path / "out.xlsx")
    assert "to_dict('records')" in caught.value.hint


def test_advice_names_no_flag(tmp_path: Path) -> None:
    file = tsv(tmp_path / "mine.tsv", [{"index": 1, "A": "one"}], ["index", "A", "image"])
    with pytest.raises(DataError, match="no column 'question'") as caught:
        MMBenchDataset(file)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index": 0}, r"index .*0"),
        ({"image": "99"}, r"99"),
        ({"image": ""}, "no row has an image"),
    ],
)
def test_what_is_wrong_with_a_file_shows_when_the_class_is_made(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = [row(0), row(1)]
    rows = (
        [{**one, **changes} for one in rows]
        if changes == {"image": ""}
        else [rows[0], {**rows[1], **changes}]
    )
    with pytest.raises(DataError, match=message):
        MMBenchDataset(tsv(tmp_path / "bad.tsv", rows))


def test_the_frame_is_the_file_as_pandas_reads_it(file: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    data = MMBenchDataset(file)
    before = [data[position] for position in range(4)]
    assert data.load_from_df(0, "hint") == "Look closely."
    assert (data.load_from_df(1, "hint"), data.load_from_df(1, "C"), data.load_from_df(1, "no")) == (
        None,
    ) * 3
    pandas.testing.assert_frame_equal(data.df, pandas.read_csv(file, sep="\t"))
    assert data.load_from_df(0, "image") == picture_base64("red")
    for position, one in enumerate(before):  # and nothing changes by the look at it
        again = data[position]
        assert again.pop("img").tobytes() == one.pop("img").tobytes()
        assert again == one
    assert [type(data.load_from_df(0, key)) for key in ("index", "question", "A")] == [int, str, str]
    gaps = MMBenchDataset(tsv(tmp_path / "gaps.tsv", [row(0), row(1, image=""), row(2)]))
    assert (len(gaps), list(gaps.df["index"]), gaps[1]["index"]) == (2, [0, 2], 2)


def test_the_frame_may_be_changed_by_a_subclass(file: Path) -> None:
    pytest.importorskip("pandas")

    class Chosen(MMBenchDataset):
        def __init__(self, data_file: Path) -> None:
            super().__init__(data_file, sys_prompt="Choose:")
            self.df = self.df[self.df["index"] > 0]
            self.df = self.df.assign(question="Changed?")

        def load_from_df(self, idx: Any, key: str) -> Any:
            return "changed" if key == "A" else super().load_from_df(idx, key)

    data = Chosen(file)
    assert len(data) == 3
    first = data[0]
    assert (first["index"], first["question"], first["options"]) == (
        1,
        "Changed?",
        "Choose:\nA. changed\nB. two\n",
    )
    assert first["img"].getpixel((0, 0)) == (0, 128, 0)  # of the row that its cell names
    assert [data[position]["index"] for position in (-1, 1)] == [1000001, 1000000]
    with pytest.raises(IndexError):
        data[3]
    copy = pickle.loads(pickle.dumps(MMBenchDataset(file)))
    copy.df = copy.df.iloc[:1]
    assert len(pickle.loads(pickle.dumps(copy))) == 1


def test_the_class_and_the_module_decode_base64(file: Path) -> None:
    for decode in (decode_base64_to_image, MMBenchDataset.decode_base64_to_image):
        assert decode(picture_base64("blue")).convert("RGB").getpixel((0, 0)) == (0, 0, 255)
    with pytest.raises(ImageError, match="not a supported image"):
        decode_base64_to_image("QUJD")
    with pytest.raises(ImageError, match="not base64"):
        decode_base64_to_image("A")


def test_two_are_one_behind_the_other(file: Path) -> None:
    data = MMBenchDataset(file)
    both = data + data + data
    assert len(both) == 12
    assert [both[position]["index"] for position in (0, 4, 7, 11, -1)] == [0, 0, 1000001, 1000001, 1000001]
    for position in (12, -13):
        with pytest.raises((IndexError, ValueError)):  # torch's says ValueError for the second
            both[position]


WITH_TORCH = """
import pickle, sys
from eyechart.compat.mmbench import MMBenchDataset

class Before(MMBenchDataset):
    pass

plain = MMBenchDataset(sys.argv[1])
assert "torch" not in sys.modules and type(plain) is MMBenchDataset

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, random_split

class After(MMBenchDataset):
    def __getitem__(self, idx):
        return super().__getitem__(idx)["index"]

class Both(MMBenchDataset, Dataset):
    pass

if __name__ == "__main__":
    for kind in (MMBenchDataset, Before, After, Both):
        data = kind(sys.argv[1])
        assert isinstance(data, Dataset) and isinstance(data, kind), kind
        assert type(data).__name__ == kind.__name__
        copy = pickle.loads(pickle.dumps(data))
        assert type(copy) is type(data) and len(copy) == 4
        both = data + data
        assert isinstance(both, ConcatDataset) and len(both) == 8
        for context in (None, "spawn") if kind is Before else (None,):
            start = {"num_workers": 1, "multiprocessing_context": context} if context else {}
            loader = DataLoader(both, batch_size=2, collate_fn=list, **start)
            found = [one if kind is After else one["index"] for batch in loader for one in batch]
            assert found == [0, 1, 1000000, 1000001] * 2, found
        first, second = random_split(data, [1, 3])
        assert len(Subset(data, [0])) == len(first) == 1
    assert list(DataLoader(After(sys.argv[1]), batch_size=4))[0].tolist() == [0, 1, 1000000, 1000001]
    print("fine")
"""


@pytest.mark.slow
def test_it_is_a_data_set_of_torch_where_there_is_torch(file: Path, tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    script = tmp_path / "with_torch.py"
    script.write_text(WITH_TORCH, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, file], capture_output=True, text=True, timeout=110, check=False
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("again", [7, "7", 7.0])
def test_an_index_that_comes_twice_is_refused(again: Any, tmp_path: Path) -> None:
    rows = [
        {"index": 7, "prediction": "A"},
        {"index": 8, "prediction": "A"},
        {"index": again, "prediction": "B"},
    ]
    with pytest.raises(DataError, match="rows 1 and 3 have the same index") as caught:
        dump_submission(rows, tmp_path / "twice.xlsx")
    assert "partial.jsonl" in caught.value.hint
    assert not (tmp_path / "twice.xlsx").exists()


@pytest.mark.parametrize("rows", [[], iter(())])
def test_no_rows_are_no_submission(rows: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        dump_submission(rows, tmp_path / "none.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value",
    [
        Image.new("RGB", (2, 2)),
        b"bytes",
        picture_base64("red", (64, 64)),
        "data:image/png;base64,AAAA",
        pytest.importorskip("numpy").zeros((2, 2)),
    ],
    ids=["pillow", "bytes", "base64", "data URL", "array"],
)
def test_an_image_under_another_name_is_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1 holds an image in 'photo'"):
        dump_submission([{"index": 7, "prediction": "A", "photo": value}], tmp_path / "photo.xlsx")
    dump_submission([{"index": 7, "prediction": "A", "img": value, "image": value}], tmp_path / "known.xlsx")
    said = {"index": 7, "prediction": value if isinstance(value, str) else "A", "source": "web"}
    dump_submission([said], tmp_path / "text.xlsx")
