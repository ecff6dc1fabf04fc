"""Caption files: no header, no quotes, one comma that counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.substitutes import read_caption_lines
from eyechart.errors import DataError

WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n")).map(str.strip)
PATHS = st.text("abc/._0", min_size=1).map(str.strip)


def test_a_line_is_cut_at_its_first_comma(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text('a.png, a cat, a dog \r\n\n b.png ,"甲、乙"\nc.png,\na.png,later\n', encoding="utf-8")
    assert read_caption_lines(file.read_bytes(), file.name) == {
        "a.png": "later",
        "b.png": '"甲、乙"',
        "c.png": "",
    }


@pytest.mark.slow
@given(captions=st.dictionaries(PATHS, WORDS))
def test_what_is_written_is_read(captions: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("captions") / "c.csv"
    file.write_bytes("".join(f"{path},{text}\n" for path, text in captions.items()).encode())
    assert read_caption_lines(file.read_bytes(), file.name) == captions


def test_a_line_without_a_comma_is_named(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text("a.png,x\nb.png\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"c.csv: line 2 has no comma: 'b.png'"):
        read_caption_lines(file.read_bytes(), file.name)


def test_other_encodings_are_named_by_line(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_bytes(b"a.png,x\nb.png," + "红色的方块在左边".encode("gbk"))
    with pytest.raises(DataError, match=r"c.csv: line 2: not UTF-8 text") as caught:
        read_caption_lines(file.read_bytes(), file.name)
    assert "iconv" in caught.value.hint
