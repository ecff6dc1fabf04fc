"""MMBench's own files: which rows are one question."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from eyechart.data.columns.lint import check_source
from eyechart.data.images.loading import ImageLoader
from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.benchmark import open_mmbench
from support.files import jsonl, picture_base64


def write(path: Path, indices: Sequence[int | str], groups: Sequence[int | str] | None = None) -> Path:
    """A file with these rows; the first has the picture, the others refer to it."""
    head = ["index", "question", "A", "B", "answer", "image", *(["g_index"] if groups is not None else [])]
    lines = ["\t".join(head)]
    for number, index in enumerate(indices):
        picture = picture_base64() if number == 0 else str(indices[0])
        cells = [str(index), "Which?", "cat", "dog", "B", picture]
        lines.append("\t".join([*cells, *([str(groups[number])] if groups is not None else [])]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def circles(path: Path) -> list[str]:
    return [sample.circle for sample in open_mmbench(path)]


def test_rows_are_grouped_by_the_remainder_of_their_index(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", [241, 252, 1000241, 1000252, 2000241])
    assert circles(path) == ["241", "252", "241", "252", "241"]


def test_a_rotation_may_stand_above_its_question(tmp_path: Path) -> None:
    assert circles(write(tmp_path / "a.tsv", [1000241, 241, 2000241])) == ["241"] * 3


def test_a_rotation_without_its_question_weighs_nothing(tmp_path: Path) -> None:
    [first, lone, again] = open_mmbench(write(tmp_path / "a.tsv", [5, 1000241, 2000241]))
    assert (first.circle, first.weight) == ("5", 1.0)
    assert {(one.circle, one.weight) for one in (lone, again)} == {("", 0.0)}


def test_the_group_column_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", [5, 1000005, 10000005, 6], [5, 1000005, 5, 6])
    assert circles(path) == ["5", "1000005", "5", "6"]
    gaps = write(tmp_path / "gaps.tsv", [5, 10000005, 1000005], [5, 5, ""])  # pandas: 5.0
    assert circles(gaps) == ["5", "5", "5"]


def test_names_that_are_no_numbers_are_no_rotations(tmp_path: Path) -> None:
    samples = list(open_mmbench(write(tmp_path / "a.tsv", ["q1", "q2"])))
    assert [(one.circle, one.weight) for one in samples] == [("", 1.0)] * 2


def test_rows_without_a_picture_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(
        f"index\tquestion\tA\tB\tanswer\timage\n1\tWhich?\tcat\tdog\tA\t{picture_base64()}\n"
        "2\tWhich?\tcat\tdog\tA\t\n",
        encoding="utf-8",
    )
    assert [one.id for one in open_mmbench(path)] == ["1"]
    text_only = jsonl(tmp_path / "b.jsonl", [{"index": 3, "question": "Which?", "A": "p", "B": "q"}])
    assert [one.id for one in open_mmbench(text_only)] == ["3"]


def test_cells_are_read_as_pandas_reads_them_unless_asked_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(
        "index\tcontext\tquestion\tA\tB\tC\tanswer\n7\tLook.\tHow many?\t1\tNone\t\tA\n8\t\tHow?\t\t2\t3\tB\n"
    )
    [first, second] = open_mmbench(path)
    assert (dict(first.choices), first.hint) == ({"A": "1.0"}, "Look.")
    assert dict(second.choices) == {"B": "2.0", "C": "3.0"}
    assert dict(next(iter(open_mmbench(path, cells="text"))).choices) == {"A": "1", "B": "None"}


@pytest.mark.parametrize("letter", ["A", "B"])
def test_a_table_without_options_is_refused(letter: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", [7])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"\t{letter}\t", "\tother\t", 1), encoding="utf-8")
    with pytest.raises(DataError, match=f"a.tsv: no column '{letter}'"):
        open_mmbench(path)


def test_it_can_be_read_more_than_once(tmp_path: Path) -> None:
    source = open_mmbench(write(tmp_path / "set.tsv", [5, 1000005]))
    assert list(source) == list(source)
    assert (source.name, source.origin) == ("set", str(tmp_path / "set.tsv"))


def test_names_are_looked_up_where_the_other_tools_keep_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    write(tmp_path / "MMBench_DEV_EN.tsv", [5])
    assert open_mmbench("MMBench_DEV_EN").name == "MMBench_DEV_EN"
    with pytest.raises(DataError, match="MMBench_DEV_CN"):
        open_mmbench("MMBench_DEV_CN")


def test_rows_that_are_left_out_are_told(tmp_path: Path) -> None:
    lines = ["index\tquestion\tA\tB\tanswer\timage", *(f"{k}\tWhich?\tcat\tdog\tA\t" for k in range(2))]
    path = tmp_path / "m.tsv"
    path.write_text(
        "\n".join([*lines, f"2\tWhich?\tcat\tdog\tA\t{picture_base64()}"]) + "\n", encoding="utf-8"
    )
    source = open_mmbench(path)
    for _ in range(2):  # a second reading counts no row twice
        assert [sample.id for sample in source] == ["2"]
    told = [
        finding.examples
        for finding in check_source(source, ImageLoader()).findings
        if finding.code == "remark"
    ]
    assert told == [["rows without an image, left out as by the official loader: 2; first: row 1"]]
