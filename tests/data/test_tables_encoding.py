import pytest

from eyechart.data.files.tables import check_encoding, make_decode_error
from eyechart.errors import UsageError


@pytest.mark.parametrize("name", ["gbk", "gb18030", "latin-1", "cp1252", "shift_jis", "big5", "euc-kr"])
def test_ascii_based_encodings_are_taken(name: str) -> None:
    assert "q".encode(check_encoding(name)) == b"q"


def test_a_mark_is_taken_off_anyway() -> None:
    assert check_encoding("utf-8-sig") == "utf-8"


@pytest.mark.parametrize("name", ["utf-16", "utf-32-le", "cp037", "utf-7"])
def test_others_would_hide_the_separators(name: str) -> None:
    with pytest.raises(UsageError, match="not based on ASCII"):
        check_encoding(name)


@pytest.mark.parametrize("name", ["klingon", "base64", "", "rot13"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(UsageError, match="unknown text encoding"):
        check_encoding(name)


def test_western_text_is_not_taken_for_chinese() -> None:
    assert "cp1252" in make_decode_error("x", "q", "café au lait".encode("cp1252"), "utf-8").hint
    assert "cp1252" in make_decode_error("x", "q", "élan".encode("cp1252"), "utf-8").hint
    assert "gbk" in make_decode_error("x", "q", "你好吗".encode("gbk"), "utf-8").hint
    assert "gbk" in make_decode_error("x", "q", "a你b".encode("gb18030"), "utf-8").hint
