import shlex
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.files import tables
from eyechart.data.files.rows import Blob, refuse_repeated_names
from eyechart.data.files.tables import DelimitedReader
from eyechart.errors import DataError


def reader(path: Path, data: bytes, *, as_pandas: bool = False) -> DelimitedReader:
    path.write_bytes(data)
    return DelimitedReader(path, path.suffix[1:], as_pandas=as_pandas)


def test_crlf_bom_and_a_missing_last_newline(tmp_path: Path) -> None:
    rows = list(reader(tmp_path / "a.tsv", b"\xef\xbb\xbfid\tq\r\n1\tone\r\n2\ttwo").rows(()))
    assert [row.values for row in rows] == [{"id": "1", "q": "one"}, {"id": "2", "q": "two"}]


def test_cells_are_text_exactly_as_in_the_file(tmp_path: Path) -> None:
    rows = list(reader(tmp_path / "a.tsv", b"a\tb\tc\td\tq\nNone\t007\t NA \t3.10\t\n").rows(()))
    assert rows[0].values == {"a": "None", "b": "007", "c": " NA ", "d": "3.10", "q": None}


def test_rows_and_lines_are_counted_as_people_count(tmp_path: Path) -> None:
    data = b'id\tq\n1\t"two\nlines"\n\n2\tx\n'
    assert [(row.number, row.line) for row in reader(tmp_path / "a.tsv", data).rows(())] == [(1, 2), (2, 5)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1\tx", "row 1 (line 2): 2 cells, but the header has 3 (the row begins '1')"),
        (b"1\tx\ty\tz", "row 1 (line 2): 4 cells, but the header has 3"),
        (b"1\tx\0y\tz", "row 1 (line 2): contains a NUL byte"),
        (b'1\t"x\tz', "row 1 (line 2): a quoted cell is not closed"),
        (b"1\tx\xff\tz", "row 1 (line 2), column 'q': not UTF-8 text"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, line: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(reader(tmp_path / "a.tsv", b"id\tq\tA\n" + line + b"\n").rows(()))
    assert f"a.tsv: {message}" in str(caught.value)


def test_a_malformed_row_can_be_reported_and_passed_over(tmp_path: Path) -> None:
    problems: list[DataError] = []
    rows = reader(tmp_path / "a.tsv", b"id\tq\n1\n2\tx\n3\ta\tb\n4\ty\n").rows((), problems.append)
    assert [row.values["id"] for row in rows] == ["2", "4"]
    assert ["row 1" in problems[0].message, "row 3" in problems[1].message] == [True, True]


def test_pandas_mode_fills_short_rows_up(tmp_path: Path) -> None:
    rows = reader(tmp_path / "a.tsv", b'id\tq\tA\n1\n2\t"x"\n', as_pandas=True).rows(())
    assert [row.values for row in rows] == [
        {"id": "1", "q": None, "A": None},
        {"id": "2", "q": "x", "A": None},
    ]


def test_a_line_of_blanks_is_no_row(tmp_path: Path) -> None:
    assert len(list(reader(tmp_path / "a.tsv", b"id\tq\n1\tx\n   \n").rows(()))) == 1


@pytest.mark.parametrize("blank", [b"\t\t", b'""\t""\t""'])
def test_a_row_of_empty_cells_is_no_row_but_is_counted(tmp_path: Path, blank: bytes) -> None:
    data = b"id\tq\tA\n1\tx\ty\n" + blank + b"\n3\tx\ty\n" + blank + b"\n"
    assert [row.number for row in reader(tmp_path / "a.tsv", data).rows(())] == [1, 3]
    as_pandas = reader(tmp_path / "a.tsv", data, as_pandas=True)  # which keeps them, as all that read with it
    assert len(list(as_pandas.rows(()))) == 4


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        (b"id\tquestion", "by tabs: --format tsv"),
        (b"sep=;", "remove the sep= line"),
        (b"id;question", "convert it: python -c"),
    ],
)
def test_a_header_with_another_separator_is_told_apart(tmp_path: Path, header: bytes, hint: str) -> None:
    with pytest.raises(DataError, match=r"a\.csv: read as csv, it has a single column") as caught:
        reader(tmp_path / "a.csv", header + b"\n1\tq, and more\n").columns()
    assert hint in caught.value.hint
    with pytest.raises(DataError, match="by commas: --format csv"):
        reader(tmp_path / "a.tsv", b"id,question\n").columns()


@pytest.mark.slow
def test_the_hint_for_semicolons_is_a_command_that_works(tmp_path: Path) -> None:
    path = tmp_path / "my data.csv"
    with pytest.raises(DataError) as caught:
        reader(path, b'id;question;image\n1;"a; b, c";' + b"QUJD" * 50_000 + b"\n").columns()
    command = caught.value.hint.replace("convert it: python", shlex.quote(sys.executable))
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    (row,) = DelimitedReader(tmp_path / "new-my data.csv", "csv").rows(())
    assert row.values == {"id": "1", "question": "a; b, c", "image": "QUJD" * 50_000}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"id\tq\tid\n", "the header names 'id' more than once"),
        (b"id\rq\r1\r", "carriage return only"),
        (b"id\tq\r1\tq\r", "carriage return only"),
        (b"i\0d\tq\n", r"header \(line 1\): contains a NUL byte"),
        ("id\tq\n".encode("utf-16"), "UTF-16LE"),
        ("id\tq\n".encode("utf-32"), "UTF-32LE"),
        (b"id\t\xff\n", "header"),
    ],
)
def test_bad_headers(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        reader(tmp_path / "a.tsv", data).columns()


def test_the_hint_for_utf16_is_a_command_that_works(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"iconv -f UTF-16 -t UTF-8 a\.tsv > utf8-a\.tsv"):
        reader(tmp_path / "a.tsv", "id\n".encode("utf-16")).columns()


def test_an_unnamed_index_column_gets_pandas_name(tmp_path: Path) -> None:
    assert reader(tmp_path / "a.csv", b",question\n0,x\n").columns() == ("Unnamed: 0", "question")


def test_chinese_text_in_another_encoding_is_recognised(tmp_path: Path) -> None:
    data = "id\tquestion\n1\t图中有几只猫\n".encode("gbk")
    with pytest.raises(DataError, match="--encoding gbk"):
        list(reader(tmp_path / "a.tsv", data).rows(()))
    rows = DelimitedReader(tmp_path / "a.tsv", "tsv", "gbk").rows(())
    assert next(rows).values["question"] == "图中有几只猫"


@pytest.mark.slow
def test_a_text_cell_of_ten_megabytes(tmp_path: Path) -> None:
    text = b"word and\n" * 1_200_000
    rows = list(
        reader(tmp_path / "a.tsv", b'id\tq\n1\t"' + text + b'"\n2\t' + b"x" * 10_000_000 + b"\n").rows(())
    )
    assert [len(row.values["q"]) for row in rows] == [len(text), 10_000_000]


def test_an_open_quote_does_not_swallow_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROW_BYTES", 1000)
    with pytest.raises(DataError, match="not closed"):
        list(reader(tmp_path / "a.tsv", b'id\tq\n1\t"x\n' + b"2\ty\n" * 1000).rows(()))
    with pytest.raises(DataError, match="no line break"):
        list(reader(tmp_path / "b.tsv", b"id\tq\n" + b"x" * 2000).rows(()))


@pytest.mark.slow
def test_memory_is_constant_and_speed_is_that_of_reading_lines(tmp_path: Path) -> None:
    path = tmp_path / "big.tsv"
    cell = b"QUJD" * 100_000
    with path.open("wb") as file:
        file.write(b"index\timage\tquestion\n")
        for index in range(500):
            file.write(
                b'%d\t%s\t"What is ""this""?"\n' % (index, cell)
                if index % 3
                else b"%d\t%s\tWhat?\n" % (index, cell)
            )

    def cpu_s(read: Callable[[], int]) -> float:
        """The least of three: other work on the machine only ever adds."""
        taken = []
        for _ in range(3):
            started = time.process_time()
            assert read() == 500
            taken.append(time.process_time() - started)
        return min(taken)

    def read_lines() -> int:
        with path.open("rb") as file:
            return sum(1 for _ in file) - 1

    plain_s = cpu_s(read_lines)
    ours_s = cpu_s(lambda: sum(1 for _ in DelimitedReader(path, "tsv").rows(("image",))))
    tracemalloc.start()
    assert sum(1 for _ in DelimitedReader(path, "tsv").rows(("image",))) == 500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * len(cell)
    assert ours_s < 10 * plain_s


def test_a_header_of_many_columns_is_looked_at_once() -> None:
    class Name(str):
        __slots__ = ()
        n_compared = 0

        def __eq__(self, other: object) -> bool:
            Name.n_compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    refuse_repeated_names([Name(f"c{n}") for n in range(20_000)], "q.tsv: the header")
    assert Name.n_compared < 100_000


def test_names_that_stand_twice_are_told_briefly() -> None:
    names = [f"c{n} " + "x" * 5_000 for n in range(5_000)] * 2
    with pytest.raises(DataError, match="4,990 more more than once") as caught:
        refuse_repeated_names(names, "q.tsv: the header")
    assert len(str(caught.value)) < 3_000


def test_a_picture_is_found_behind_others_that_begin_alike() -> None:
    """In linear time: a million places begin like the one that is looked for."""
    raw = b"['" + b"A" * 1_000_000 + b"C', '" + b"A" * 500_000 + b"B']"
    assert Blob(raw, offset=7).find(b"A" * 500_000 + b"B") == 7 + 2 + 1_000_000 + 5
