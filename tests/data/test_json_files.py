import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files import json_files
from eyechart.data.files.json_files import JsonReader
from eyechart.data.files.rows import Blob
from eyechart.data.source import open_source
from eyechart.errors import DataError

PICTURE = "iVBORw0KGgo" + "abcd/+" * 1000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=5)


def lines(path: Path, text: str | bytes, encoding: str = "utf-8") -> JsonReader:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return JsonReader(path, encoding, is_lines=True)


def listed(path: Path, text: str | bytes, encoding: str = "utf-8") -> JsonReader:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return JsonReader(path, encoding)


def only_blob(rows: Any) -> Blob:
    value = next(rows).values["image"]
    assert isinstance(value, Blob)
    return value


def test_lines_are_counted_and_blank_ones_skipped(tmp_path: Path) -> None:
    rows = list(lines(tmp_path / "a.jsonl", '\ufeff{"a": 1}\r\n\n{"a": null}').rows(()))
    assert [(row.number, row.line, row.values) for row in rows] == [(1, 1, {"a": 1}), (2, 3, {"a": None})]


def test_pictures_are_located(tmp_path: Path) -> None:
    text = json.dumps({"q": "ä", "image": PICTURE}, ensure_ascii=False)
    path = tmp_path / "a.jsonl"
    blob = only_blob(lines(path, "\n" + text).rows({"image"}))
    assert path.read_bytes()[blob.offset : blob.offset + len(PICTURE)].decode() == PICTURE
    assert blob.data.decode() == PICTURE


def test_escaped_slashes_keep_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    blob = only_blob(lines(path, json.dumps({"image": PICTURE}).replace("/", "\\/")).rows({"image"}))
    assert blob.data.decode() == PICTURE
    assert path.read_bytes()[blob.offset :].startswith(blob.raw)


def test_lists_of_pictures_are_located_where_possible(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = lines(path, json.dumps({"image": [PICTURE, PICTURE[::-1], "a.jpg"]})).rows({"image"})
    first, second, third = next(rows).values["image"]
    data = path.read_bytes().decode()
    assert data[first.offset :].startswith(PICTURE)
    assert data[second.offset :].startswith(PICTURE[::-1])
    assert (third.data, third.offset) == (b"a.jpg", -1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": ', "row 2 (line 2): invalid JSON"),
        ("[1]", "row 2 (line 2): a row must be an object"),
        ('{"a": 1} {"b": 2}', "row 2 (line 2): invalid JSON"),
        ('{"a": NaN', "row 2 (line 2): invalid JSON"),
        ('{"a": 1e999}', "row 2 (line 2)"),
        ('{"a": ' + "[" * 100_000 + "}", "row 2 (line 2)"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    problems: list[DataError] = []
    rows = lines(tmp_path / "a.jsonl", '{"a": 1}\n' + line + '\n{"a": 3}\n').rows((), problems.append)
    assert [row.values["a"] for row in rows] == [1, 3]
    assert f"a.jsonl: {message}" in problems[0].message
    with pytest.raises(DataError):
        list(JsonReader(tmp_path / "a.jsonl", is_lines=True).rows(()))


def test_nan_is_a_missing_value(tmp_path: Path) -> None:
    rows = list(
        lines(tmp_path / "a.jsonl", '{"a": NaN, "image": "x.jpg"}\n[NaN]').rows({"image"}, lambda _: None)
    )
    assert rows[0].values == {"a": None, "image": Blob(b"x.jpg")}


def test_encodings(tmp_path: Path) -> None:
    text = '{"id": 1, "question": "表示"}\n'
    with pytest.raises(DataError, match="not UTF-8 text"):
        list(lines(tmp_path / "a.jsonl", text.encode("shift_jis")).rows(()))
    with pytest.raises(DataError, match="column 'question': not UTF-8 text"):
        list(lines(tmp_path / "b.jsonl", '{"id": 1, "question": "你好"}'.encode("gbk")).rows(()))
    rows = lines(tmp_path / "a.jsonl", text.encode("shift_jis"), encoding="shift_jis").rows(())
    assert next(rows).values["question"] == "表示"
    rows = listed(tmp_path / "a.json", f"[{text}]".encode("shift_jis"), encoding="shift_jis").rows({"image"})
    assert next(rows).values["question"] == "表示"
    with pytest.raises(DataError, match="UTF-16"):
        list(lines(tmp_path / "b.jsonl", text.encode("utf-16")).rows(()))
    with pytest.raises(DataError, match="not SHIFT_JIS"):
        list(listed(tmp_path / "a.json", b"[\xff]", encoding="shift_jis").rows(()))


@pytest.mark.slow
@settings(deadline=None)
@given(rows=ROWS, indent=st.sampled_from([None, 2]), chunk=st.integers(1, 50))
def test_json_lists_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], indent: int | None, chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "list.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "_CHUNK_BYTES", chunk)
        for text in (
            json.dumps(rows, indent=indent),
            json.dumps({"n": 1, "data": rows, "x": []}, ensure_ascii=False),
        ):
            path.write_text(text, encoding="utf-8")
            assert [row.values for row in JsonReader(path).rows(())] == rows


def test_objects_of_rows(tmp_path: Path) -> None:
    rows = listed(tmp_path / "a.json", '{"7": {"q": 1}, "8": {"q": 2, "id": "x"}}').rows(())
    assert [row.values for row in rows] == [{"id": "7", "q": 1}, {"q": 2, "id": "x"}]


@pytest.mark.parametrize("key", ["data", "questions", "rows"])
def test_lists_under_a_key(tmp_path: Path, key: str) -> None:
    text = json.dumps({"info": {"q": 0}, key: [{"q": 1}, {"q": 2}], "licence": "x"})
    assert [row.values for row in listed(tmp_path / "a.json", text).rows(())] == [{"q": 1}, {"q": 2}]


def test_pictures_in_lists_are_located(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    blob = only_blob(listed(path, json.dumps([{"image": PICTURE}], indent=1)).rows({"image"}))
    assert path.read_bytes()[blob.offset :].startswith(PICTURE.encode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ('"text"', "expected a list or an object"),
        ('[{"a": 1}', "expected a comma or ]"),
        ('[{"a": 1} {"b": 2}]', "expected a comma or ]"),
        ('[{"a": "x', "expected the end of the string"),
        ('[{"a": 1', "expected the end of the value"),
        ('[{"a": 1}] x', "expected the end of the file"),
        ("[1, 2]", "row 1: a row must be an object"),
        ('[{"a": 1}, {"a": }]', "row 2: invalid JSON"),
        ('{"a": 1, "b": []}', "an object without rows (keys: a, b)"),
        ("{}", "an object without rows (keys: nothing)"),
        ('{"a": {"q": 1}', "expected a comma or }"),
        ('{1: {"q": 1}}', "expected a key in quotes"),
        ('{"a" {"q": 1}}', "expected a colon"),
        ('{"a": {"q": 1}, "b": 5}', "row 2: a row must be an object"),
        (r'{"\ud8": {"q": 1}}', "expected a key in quotes"),
    ],
)
def test_malformed_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(listed(tmp_path / "a.json", text).rows(()))
    assert "a.json: " in caught.value.message
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[{"a": 1},]', "remove the extra comma"),
        ("[[1, 2]]", "orient='records'"),
        ('[{"a": 1e400}]', "as a string"),
    ],
)
def test_what_to_do_about_a_malformed_file(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(DataError) as caught:
        list(listed(tmp_path / "a.json", text).rows(()))
    assert hint in caught.value.hint


def test_an_endless_row_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_ROW_BYTES", 1000)
    monkeypatch.setattr(json_files, "_CHUNK_BYTES", 100)
    with pytest.raises(DataError, match="at most"):
        list(listed(tmp_path / "a.json", '[{"a": "' + "x" * 5000).rows(()))


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize("between", ["\n", "\n\n", ",\n"])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_objects_of_several_lines_follow_one_another(
    tmp_path: Path, suffix: str, between: str, n_rows: int
) -> None:
    rows = [{"question": f"{k}?", "options": {"A": "x", "B": "y"}, "image": PICTURE} for k in range(n_rows)]
    path = tmp_path / f"a.{suffix}"
    path.write_text(between.join(json.dumps(row, indent=4) for row in rows), encoding="utf-8")
    source = open_source(path)
    assert [(sample.question, *sample.choices) for sample in source] == [
        (f"{k}?", "A", "B") for k in range(n_rows)
    ]
    content = path.read_bytes()
    for sample in source:
        [ref] = sample.images
        assert content[ref.offset : ref.offset + ref.length] == PICTURE.encode()


def test_what_follows_an_object_is_an_object(tmp_path: Path) -> None:
    reader = listed(tmp_path / "a.json", '{"question": "a"}\n[1]')
    with pytest.raises(DataError, match=r"expected an object, or the end of the file, found '\[1\]'"):
        list(reader.rows(()))


def test_a_half_character_beside_a_missing_number_is_reported(tmp_path: Path) -> None:
    problems: list[DataError] = []
    text = '{"question": "?", "n": NaN, "image": "\\ud800"}\n{"question": "!", "n": NaN, "image": "a.png"}'
    rows = list(lines(tmp_path / "a.jsonl", text).rows({"image"}, problems.append))
    assert [row.values["question"] for row in rows] == ["!"]
    assert [problem.message.partition(":")[2][:6] for problem in problems] == [" row 1"]
