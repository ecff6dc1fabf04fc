import csv
import io
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files.tables import scan_rows
from eyechart.errors import DataError

CELL = st.text(alphabet=string.ascii_letters + " \t\n\r\",;'|éß中🙂\\", max_size=12)


def tables(min_columns: int = 1) -> st.SearchStrategy[list[list[str]]]:
    def of_width(width: int) -> st.SearchStrategy[list[list[str]]]:
        return st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=6)

    return st.integers(min_columns, 5).flatmap(of_width)


def cells_of(data: bytes, separator: bytes = b"\t") -> list[list[str]]:
    rows = scan_rows(io.BytesIO(data), separator, Path("x.tsv"))
    return [[cell.decode() for cell in row.cells] for row in rows]


@pytest.mark.slow
@settings(deadline=None)
@given(table=tables(), separator=st.sampled_from("\t,"), newline=st.sampled_from(["\r\n", "\n"]))
def test_what_the_csv_module_writes_is_read_back(
    table: list[list[str]], separator: str, newline: str
) -> None:
    out = io.StringIO()
    # QUOTE_ALL where the writer of this Python would leave a carriage return only unquoted.
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
    for row in scan_rows(io.BytesIO(data), b"\t", Path("x.tsv")):
        for index, cell in enumerate(row.cells):
            blob = row.blob(index)
            raw = blob.raw or blob.data
            assert data[blob.offset : blob.offset + len(raw)] == raw
            assert raw.replace(b'""', b'"') == cell
