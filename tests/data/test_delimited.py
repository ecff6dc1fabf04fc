import csv
import io
import string
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data import delimited
from eyechart.data.delimited import DelimitedReader, scan
from eyechart.errors import DataError

CELL = st.text(alphabet=string.ascii_letters + " \t\n\r\",;'|éß中🙂\\", max_size=12)


def tables(min_columns: int = 1) -> st.SearchStrategy[list[list[str]]]:
    def of_width(width: int) -> st.SearchStrategy[list[list[str]]]:
        return st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=6)

    return st.integers(min_columns, 5).flatmap(of_width)


def cells_of(data: bytes, separator: bytes = b"\t") -> list[list[str]]:
    rows = scan(io.BytesIO(data), separator, Path("x.tsv"))
    return [[cell.decode() for cell in row.cells] for row in rows]


def reader(path: Path, data: bytes, *, as_pandas: bool = False) -> DelimitedReader:
    path.write_bytes(data)
    return DelimitedReader(path, path.suffix[1:], as_pandas=as_pandas)


@pytest.mark.slow
@settings(deadline=None)
@given(table=tables(), separator=st.sampled_from("\t,"), newline=st.sampled_from(["\r\n", "\n"]))
def test_what_the_csv_module_writes_is_read_back(
    table: list[list[str]], separator: str, newline: str
) -> None:
    out = io.StringIO()
    # QUOTE_ALL where the writer of this Python would leave a lone carriage return unquoted.
    quoting = csv.QUOTE_ALL if newline == "\n" else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=separator, lineterminator=newline, quoting=quoting).writerows(table)  # type: ignore[arg-type]
    assert cells_of(out.getvalue().encode(), separator.encode()) == table


@settings(deadline=None)
@given(text=st.text(alphabet='ab"\t\n', max_size=30))
def test_any_text_is_read_as_the_csv_module_reads_it(text: str) -> None:
    expected = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter="\t") if row]
    try:
        found = cells_of(text.encode())
    except DataError:
        # csv takes the rest of the file for the cell; we say that a quote is open.
        assert '"' in text
        return
    assert found == expected


@pytest.mark.slow
@settings(deadline=None)
@given(table=tables(), quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), with_bom=st.booleans())
def test_offsets_point_at_the_cell(table: list[list[str]], quoting: int, with_bom: bool) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter="\t", quoting=quoting).writerows(table)  # type: ignore[arg-type]
    data = (b"\xef\xbb\xbf" if with_bom else b"") + out.getvalue().encode()
    for row in scan(io.BytesIO(data), b"\t", Path("x.tsv")):
        for index, cell in enumerate(row.cells):
            blob = row.blob(index)
            raw = blob.raw or blob.data
            assert data[blob.offset : blob.offset + len(raw)] == raw
            assert raw.replace(b'""', b'"') == cell


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
        (b"1\tx", "row 1 (line 2): 2 cells where the header has 3 (the row begins '1')"),
        (b"1\tx\ty\tz", "row 1 (line 2): 4 cells where the header has 3"),
        (b"1\tx\0y\tz", "row 1 (line 2): holds a NUL byte"),
        (b'1\t"x\tz', "row 1 (line 2): a quoted cell is never closed"),
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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"id\tq\tid\n", "the header names 'id' more than once"),
        (b"id\rq\r1\r", "lone carriage return"),
        (b"i\0d\tq\n", "holds a NUL byte"),
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
    monkeypatch.setattr(delimited, "MAX_ROW_BYTES", 1000)
    with pytest.raises(DataError, match="never closed"):
        list(reader(tmp_path / "a.tsv", b'id\tq\n1\t"x\n' + b"2\ty\n" * 1000).rows(()))
    with pytest.raises(DataError, match="no line break"):
        list(reader(tmp_path / "b.tsv", b"id\tq\n" + b"x" * 2000).rows(()))


@pytest.mark.slow
def test_memory_is_constant_and_speed_is_that_of_the_disk(tmp_path: Path) -> None:
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
    started = time.perf_counter()
    assert sum(1 for _ in DelimitedReader(path, "tsv").rows(("image",))) == 500
    megabytes_per_s = path.stat().st_size / 1e6 / (time.perf_counter() - started)
    tracemalloc.start()
    assert sum(1 for _ in DelimitedReader(path, "tsv").rows(("image",))) == 500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * len(cell)
    assert megabytes_per_s > 100  # about 1,000 on an idle machine
