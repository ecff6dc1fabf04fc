from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.data.files.rows import MAX_LITERAL_CHARS, read_list_items, read_literal

TEXTS = st.lists(st.text(max_size=20), max_size=5)


@settings(deadline=None)
@given(TEXTS)
@example(["(["] * 4)  # brackets in a text nest nothing
def test_python_lists_come_back(texts: list[str]) -> None:
    assert read_literal(repr(texts)) == texts
    assert read_literal(f"  {texts!r}\n") == texts


@settings(deadline=None)
@given(TEXTS)
def test_items_as_bytes_come_back(texts: list[str]) -> None:
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    assert read_list_items(repr(clean).encode()) == [text.encode() for text in clean]


@settings(deadline=None)
@given(st.text(alphabet="[]{}()'\",\\a1 \n", max_size=40))
def test_no_text_makes_it_fail(text: str) -> None:
    assert read_literal(text) is None or isinstance(read_literal(text), list | dict)
    items = read_list_items(text.encode())
    assert items is None or all(isinstance(item, bytes) for item in items)


def test_nothing_is_evaluated() -> None:
    assert read_literal("[__import__('os').getcwd()]") is None
    assert read_literal("['a'] * 1000000") is None


def test_limits() -> None:
    assert read_literal("[" * 5000 + "]" * 5000) is None
    assert read_literal("['" + "\\'" * (MAX_LITERAL_CHARS // 2 - 2) + "]") is None  # in one pass
    assert read_literal("['" + "x" * MAX_LITERAL_CHARS + "']") is None
    assert read_list_items(b"['" + b"x" * MAX_LITERAL_CHARS + b"']") == [b"x" * MAX_LITERAL_CHARS]


def test_json_and_python_spellings() -> None:
    assert read_literal('["a", null, 1.5]') == ["a", None, 1.5]
    assert read_literal("{'A': 'x', 'B': 3}") == {"A": "x", "B": 3}
    assert read_literal("('a', 'b')") is None
    assert read_literal("plain") is None
    assert read_literal("") is None
    assert read_list_items(b"[1, 2]") is None
    assert read_list_items(b"[]") == []
    assert read_list_items(b"['a', 'b', ]") == [b"a", b"b"]
