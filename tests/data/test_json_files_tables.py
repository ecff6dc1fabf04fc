"""Tables as pandas writes them to JSON."""

import json
from pathlib import Path

import pytest

from eyechart.data.files.json_files import read_json_columns
from eyechart.errors import DataError


def test_columns_of_objects_and_of_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"index": {"0": 7, "1": 8}, "prediction": {"0": "A", "1": None}}))
    expected = [{"index": 7, "prediction": "A"}, {"index": 8, "prediction": None}]
    assert read_json_columns(path) == expected
    path.write_text(json.dumps({"index": [7, 8], "prediction": ["A", None]}))
    assert read_json_columns(path) == expected
    assert list(read_json_columns(path)[0]) == ["index", "prediction"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"index": {"0": 7}, "prediction": {"1": "A"}}', r"a\.json: the columns 'index' and 'prediction'"),
        ('{"index": [7, 8], "prediction": ["A"]}', r"a\.json: the columns 'index' and 'prediction'"),
        ('{"index": 7}', r"a\.json: .*Expected `object \| array`"),
        ('{"index": {', r"a\.json: invalid JSON"),
    ],
)
def test_what_is_no_table_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_json_columns(path)
