import sys
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files import parquet
from eyechart.data.files.parquet import ParquetCells, ParquetReader
from eyechart.data.images.loading import ImageLoader
from eyechart.data.source import open_source
from eyechart.errors import DataError, ImageError, MissingExtra
from eyechart.types import ImageRef
from support.files import picture, picture_base64

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path: Path, columns: dict[str, Any], *, rows_per_group: int = 2) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, row_group_size=rows_per_group)
    return path


def colours(path: Path) -> list[tuple[int, int] | None]:
    loader = ImageLoader()
    found = []
    for sample in open_source(path):
        images = [loader.load(ref) for ref in sample.images]
        found.append((images[0].width, images[0].height) if images else None)
    return found


def test_hugging_face_structs(tmp_path: Path) -> None:
    images = [{"bytes": picture(size=(10 + k, 5)), "path": f"{k}.png"} for k in range(5)]
    path = write(
        tmp_path / "a.parquet", {"question": ["?"] * 5, "image": images, "answer": [1, 2, 3, None, 5]}
    )
    samples = list(open_source(path))
    assert [sample.golds for sample in samples] == [("1",), ("2",), ("3",), (), ("5",)]
    assert samples[3].images == (ImageRef(kind="parquet", location=str(path), offset=3, column="image"),)
    assert colours(path) == [(10 + k, 5) for k in range(5)]
    assert "image" not in samples[0].meta


def test_missing_pictures_and_pictures_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(picture(size=(9, 9)))
    images = [{"bytes": picture(size=(3, 3)), "path": None}, None, {"bytes": None, "path": "b.png"}]
    path = write(tmp_path / "a.parquet", {"question": ["?"] * 3, "image": images})
    assert colours(path) == [(3, 3), None, (9, 9)]


def test_bytes_text_and_lists(tmp_path: Path) -> None:
    assert colours(write(tmp_path / "a.parquet", {"question": ["?"], "image": [picture(size=(7, 8))]})) == [
        (7, 8)
    ]
    text = write(
        tmp_path / "b.parquet", {"question": ["?"] * 2, "image": [picture_base64(size=(64, 64)), None]}
    )
    assert colours(text) == [(64, 64), None]
    many = write(
        tmp_path / "c.parquet",
        {"question": ["?"], "images": [[{"bytes": picture(size=(1, 2))}, {"bytes": picture(size=(3, 4))}]]},
    )
    refs = next(iter(open_source(many))).images
    assert [ref.column for ref in refs] == ["images[0]", "images[1]"]
    assert ImageLoader().load(refs[1]).width == 3


def test_data_urls_in_a_column_of_texts(tmp_path: Path) -> None:
    urls = [f"data:image/png;base64,{picture_base64(size=(n, 4))}" for n in (5, 6)]
    assert colours(write(tmp_path / "a.parquet", {"question": ["?"] * 2, "image": urls})) == [(5, 4), (6, 4)]
    assert colours(write(tmp_path / "b.parquet", {"question": ["?"], "images": [urls]})) == [(5, 4)]


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="not a Parquet file"):
        open_source(tmp_path / "a.parquet")
    damaged = bytearray(write(tmp_path / "c.parquet", {"question": ["?"]}).read_bytes())
    damaged[-13] ^= 0xFF  # in the description of the columns
    (tmp_path / "c.parquet").write_bytes(damaged)
    with pytest.raises(DataError, match="not a Parquet file"):
        open_source(tmp_path / "c.parquet")
    path = write(tmp_path / "b.parquet", {"question": ["?"], "image": [b""]})
    ref = next(iter(open_source(path))).images[0]
    with pytest.raises(ImageError, match="no image in column 'image'"):
        ImageLoader().load(ref)
    with pytest.raises(ImageError, match="cannot be read"):
        ImageLoader().load(ImageRef(kind="parquet", location=str(path), offset=9, column="image"))
    with pytest.raises(ImageError, match="no such file"):
        ImageLoader().load(ImageRef(kind="parquet", location=str(tmp_path / "x"), column="image"))


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"question": ["?"]})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eyechart\[parquet\]'"):
        open_source(path)


# -- a few bytes that unpack to very many ----------------------------------------------------------


def long_rows(path: Path, n_rows: int, long: int, **options: Any) -> Path:
    questions = ["Q?"] * n_rows
    questions[long] = "x" * 50_000
    table = pa.table({"id": [str(n) for n in range(n_rows)], "question": questions, "answer": ["A"] * n_rows})
    pq.write_table(table, path, compression="zstd", **options)
    return path


@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("n_rows", [1, 3, 200])
def test_a_row_has_the_limit_that_it_has_in_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_rows: int, use_dictionary: bool
) -> None:
    monkeypatch.setattr(parquet, "MAX_ROW_BYTES", 20_000)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 20_000)
    long = n_rows // 2
    path = long_rows(tmp_path / "a.parquet", n_rows, long, use_dictionary=use_dictionary)
    problems: list[DataError] = []
    rows = list(ParquetReader(path).rows((), problems.append))
    assert [row.number for row in rows] == [n + 1 for n in range(n_rows) if n != long]
    assert [f"row {long + 1}: more than 256 MB" in str(problem) for problem in problems] == [True]
    with pytest.raises(DataError, match="more than 256 MB"):
        list(ParquetReader(path).rows(()))


def test_a_value_that_stands_for_many_rows_is_not_unpacked_for_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 100), pa.array(["y" * 10_000]))
    pq.write_table(pa.table({"question": values}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 30_000)
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        sizes = [batch.num_rows for batch in parquet._batches(file, 0, ["question"])]
    assert sum(sizes) == 100
    assert max(sizes) <= 3


@settings(max_examples=30, deadline=None)
@given(order=st.lists(st.integers(0, 49), max_size=40), data=st.data())
def test_cells_are_found_in_any_order(
    order: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cells") / "a.parquet"
    cells = [bytes([n]) * (n + 1) * 100 for n in range(50)]
    table = pa.table({"image": pa.array([{"bytes": cell, "path": None} for cell in cells])})
    pq.write_table(table, path, row_group_size=data.draw(st.sampled_from([7, 20, 50])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "_BATCH_BYTES", data.draw(st.sampled_from([1, 300_000, 10**9])))
        patch.setattr(parquet, "_KEPT_BYTES", data.draw(st.sampled_from([1, 10_000, 10**9])))
        patch.setattr(parquet, "_WINDOWS", data.draw(st.sampled_from([1, 8])))
        reader = ParquetCells()
        for row in order:
            ref = ImageRef(kind="parquet", location=str(path), offset=row, column="image")
            assert reader.read(ref) == cells[row]
        reader.close()


def test_a_cell_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_ROW_BYTES", 20_000)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 20_000)
    table = pa.table({"image": pa.array([b"a" * 10, b"b" * 50_000, b"c" * 10], pa.binary())})
    pq.write_table(table, tmp_path / "a.parquet")
    reader = ParquetCells()
    refs = [
        ImageRef(kind="parquet", location=str(tmp_path / "a.parquet"), offset=n, column="image")
        for n in range(3)
    ]
    assert [reader.read(refs[0]), reader.read(refs[2])] == [b"a" * 10, b"c" * 10]
    with pytest.raises(ImageError, match="more than 256 MB"):
        reader.read(refs[1])
    reader.close()


def test_numbers_and_dates_are_what_people_write(tmp_path: Path) -> None:
    answers = {
        pa.float32(): (0.1, "0.1"),
        pa.float64(): (0.1, "0.1"),
        pa.decimal128(5, 2): (Decimal("12.50"), "12.50"),
        pa.date32(): (date(2024, 3, 5), "2024-03-05"),
        pa.timestamp("us"): (datetime(2024, 3, 5), "2024-03-05"),
        pa.timestamp("ms"): (datetime(2024, 3, 5, 14, 30), "2024-03-05 14:30:00"),
        pa.time32("s"): (time(14, 30), "14:30:00"),
    }
    for kind, (value, text) in answers.items():
        path = write(
            tmp_path / "a.parquet", {"question": ["?", "?"], "answer": pa.array([value, None], kind)}
        )
        assert [sample.golds for sample in open_source(path)] == [(text,), ()]
