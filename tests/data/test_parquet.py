import sys
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.images import ImageLoader
from eyechart.data.source import open_source
from eyechart.errors import DataError, ImageError, MissingExtra
from eyechart.types import ImageRef
from support.files import picture, picture_base64

pa = pytest.importorskip("pyarrow")


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


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="not a Parquet file"):
        open_source(tmp_path / "a.parquet")
    path = write(tmp_path / "b.parquet", {"question": ["?"], "image": [b""]})
    ref = next(iter(open_source(path))).images[0]
    with pytest.raises(ImageError, match="no picture in column 'image'"):
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
