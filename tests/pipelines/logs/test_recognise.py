"""Files of replies are told by what stands in them."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.files.replies import recognise
from eyechart.errors import DataError
from eyechart.pipelines.logs.evalscope import read_predictions, read_report, read_reviews
from eyechart.pipelines.logs.inspect import read_archive, read_json_log
from eyechart.pipelines.logs.lm_eval import read_samples

INSPECT = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": []}
LM_EVAL = {"doc_id": 0, "doc": {}, "target": "B", "arguments": {}, "resps": [["B"]]}
PREDICTION = {"index": 0, "model": "m", "model_output": {}}
REVIEW = {"index": 0, "target": ["B"], "sample_score": {"score": {}}}
REPORT = {"name": "m@d", "dataset_name": "d", "model_name": "m", "metrics": []}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (INSPECT, read_json_log),
        ({**INSPECT, "eval": {"task": "x" * 100_000}}, read_json_log),
        (LM_EVAL, read_samples),
        ({**LM_EVAL, "doc": {"image": "x" * 100_000}}, read_samples),
        ([LM_EVAL], read_samples),
        (PREDICTION, read_predictions),
        (REVIEW, read_reviews),
        (REPORT, read_report),
        ({"index": {"0": 1}, "prediction": {"0": "B"}}, "columns"),
        ({"index": [1], "prediction": ["B"]}, "columns"),
        ({"columns": ["index", "prediction"], "index": [0], "data": [[1, "B"]]}, "columns"),
        ({"columns": {}, "index": [0], "data": [{"index": 1, "prediction": "B"}]}, "table"),
        ([{"index": 1, "prediction": "B"}], "table"),
        ({"index": 1, "prediction": "B"}, "table"),
        ({"q1": {"prediction": "B"}}, "table"),
        ({"q1": {"question_id": "q1", "response": "B"}, "q2": {}}, "table"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff", " \n"])
def test_json_by_its_keys(tmp_path: Path, content: Any, kind: object, mark: str) -> None:
    path = tmp_path / "misleading.name"
    path.write_text(mark + json.dumps(content), encoding="utf-8")
    assert recognise(path) == kind
    if isinstance(content, dict):
        path.write_text(mark + json.dumps(content) + "\n" + json.dumps(content) + "\n", encoding="utf-8")
        assert recognise(path) == kind
        path.write_text(mark + json.dumps(content, indent=1), encoding="utf-8")
        assert recognise(path) == kind


def test_archives_by_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for name, kind in {"xl/workbook.xml": "workbook", "header.json": read_archive}.items():
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "{}")
        assert recognise(path) == kind
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", "{}")
    with pytest.raises(DataError, match="a: the archive is neither a spreadsheet"):
        recognise(path)
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(DataError, match="a: the archive is neither a spreadsheet"):
        recognise(path)


def test_results_of_lm_eval_hold_no_replies(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {}, "configs": {}, "versions": {}, "date": 1}))
    with pytest.raises(DataError, match=r"results\.json: these are lm-eval's results") as caught:
        recognise(path)
    assert "samples_" in caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[", '{"a"', "\x00\x01", "[1", '{"version": 2, "status": {'])
def test_what_is_nothing_is_left_to_the_readers_of_tables(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert recognise(path) == "table"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        recognise(tmp_path / "none.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.json")
    with pytest.raises(DataError, match=r"r\.json: not a regular file"):
        recognise(tmp_path / "r.json")
