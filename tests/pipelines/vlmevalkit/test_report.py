"""VLMEvalKit's result files, read back."""

import csv
from pathlib import Path
from typing import Any

import openpyxl

from eyechart import registry
from eyechart.errors import NO_ANSWER
from eyechart.types import Outcome, Result
from support.results import export_of, result

MANIFEST = {"model": "openai/Qwen/Qwen2.5-VL:7b", "origin": "somewhere/MMBench_DEV_EN.tsv", "trials": 1}
STEM = "Qwen2_5-VL-7b_MMBench_DEV_EN"


def export(
    folder: Path, results: list[Result], exporter: str = "mmbench", **manifest: Any
) -> dict[str, list[dict[str, Any]]]:
    """What the exporter wrote: file name to rows."""
    written = registry.exporters.get(exporter)(export_of(folder, results, **(MANIFEST | manifest)))
    assert sorted(written) == sorted(folder.iterdir())
    return {path.name: _rows(path) for path in written}


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    book = openpyxl.load_workbook(path)
    head, *rows = book.active.iter_rows(values_only=True)  # type: ignore[union-attr]
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def row(
    position: int, index: int, outcome: Outcome | None, reply: str = "B", *, gold: str = "B", **fields: Any
) -> Result:
    meta = {"category": "ocr", "l2-category": "coarse_perception", "split": "dev", "source": "web"}
    usual = {"meta": meta, "circle": str(index % 1_000_000), "golds": (gold,) if gold else ()}
    return result(position, outcome, id=str(index), reply=reply, **(usual | fields))


def test_a_split_with_answers(tmp_path: Path) -> None:
    other = {"category": "scene", "l2-category": "logic_reasoning", "split": "dev"}
    files = export(
        tmp_path,
        [
            row(0, 7, "correct", hint="At sea."),
            row(1, 8, "correct", meta=other),
            row(2, 1000007, "wrong", "A"),
            row(3, 1000008, "correct", "dog", meta={**other, "rotation": 1}),
        ],
    )
    assert list(files) == [f"{STEM}.xlsx", f"{STEM}_acc.csv", f"{STEM}_exact_matching_result.xlsx"]
    predictions = files[f"{STEM}.xlsx"]
    assert list(predictions[0]) == [
        *("index", "question", "hint", "A", "B", "C", "D", "answer", "category", "l2-category"),
        *("split", "source", "l2_category", "prediction"),
    ]
    assert predictions[0]["index"] == 7
    assert predictions[0]["hint"] == "At sea."
    assert [line["prediction"] for line in predictions] == ["B", "B", "A", "dog"]
    assert [line["source"] for line in predictions] == ["web", None, "web", None]
    assert files[f"{STEM}_acc.csv"] == [
        {"split": "dev", "Overall": "0.5", "CP": "0.0", "LR": "1.0", "ocr": "0.0", "scene": "1.0"}
    ]
    judged = files[f"{STEM}_exact_matching_result.xlsx"]
    assert [(line["index"], line["hit"]) for line in judged] == [(7, 0), (8, 1)]
    assert judged[0]["log"].splitlines() == [
        "7: correct: read B, answer B (choice:letter)",
        "1000007: wrong: read B, answer B (choice:letter)",
    ]


def test_the_file_has_every_column_of_the_note(tmp_path: Path) -> None:
    noted = {"question", "A", "B", "C", "D", "prediction", "category", "l2_category", "index"}
    [line] = export(tmp_path, [row(0, 7, "unscored", gold="")])[f"{STEM}.xlsx"]
    assert noted <= set(line)
    assert line["l2_category"] == line["l2-category"] == "coarse_perception"
    assert (line["C"], line["D"]) == (None, None)
    [line] = export(tmp_path, [row(0, 7, "unscored", gold="", meta={})])[f"{STEM}.xlsx"]  # as of CCBench
    assert noted <= set(line)
    assert (line["category"], line["l2_category"], "l2-category" in line) == (None, None, False)
    meta = {"l2_category": "LR"}
    [line] = export(tmp_path, [row(0, 7, "unscored", gold="", meta=meta)])[f"{STEM}.xlsx"]
    assert line["l2_category"] == "LR"
    [line] = export(tmp_path, [row(0, 7, "unscored", gold="")], "vlmevalkit")[f"{STEM}.xlsx"]
    assert not {"C", "D", "l2_category"} & set(line)  # a file of one's own has its own columns


def test_a_split_without_answers_has_only_the_file_to_upload(tmp_path: Path) -> None:
    files = export(tmp_path, [row(0, 7, "unscored", gold=""), row(1, 1000007, "unscored", gold="")])
    assert list(files) == [f"{STEM}.xlsx"]
    assert "answer" not in files[f"{STEM}.xlsx"][0]
    assert [line["index"] for line in files[f"{STEM}.xlsx"]] == [7, 1000007]


def test_what_never_came_is_marked_and_not_counted(tmp_path: Path) -> None:
    files = export(
        tmp_path,
        [row(0, 7, "correct"), row(1, 8, "failed"), row(2, 9, None), row(3, 1000007, "correct")],
    )
    predictions = files[f"{STEM}.xlsx"]
    assert [line["prediction"] for line in predictions] == ["B", NO_ANSWER, NO_ANSWER, "B"]
    assert files[f"{STEM}_acc.csv"][0]["Overall"] == "1.0"
    judged = files[f"{STEM}_exact_matching_result.xlsx"]
    assert [(line["index"], line["hit"]) for line in judged] == [(7, 1), (8, None), (9, None)]
    assert judged[1]["log"] == "8: HTTP 503"


def test_no_score_at_all_leaves_no_table(tmp_path: Path) -> None:
    files = export(tmp_path, [row(0, 7, "failed")])
    assert list(files) == [f"{STEM}.xlsx", f"{STEM}_exact_matching_result.xlsx"]


def test_a_table_of_an_earlier_time_does_not_stay(tmp_path: Path) -> None:
    export(tmp_path, [row(0, 7, "wrong")])
    assert (tmp_path / f"{STEM}_acc.csv").exists()
    export(tmp_path, [row(0, 7, "unscored")])
    assert not (tmp_path / f"{STEM}_acc.csv").exists()


def test_rotations_without_their_question_are_not_scored(tmp_path: Path) -> None:
    files = export(tmp_path, [row(0, 7, "correct"), row(1, 1000009, "wrong", circle="", weight=0.0)])
    assert len(files[f"{STEM}.xlsx"]) == 2
    assert files[f"{STEM}_acc.csv"][0]["Overall"] == "1.0"
    assert [line["index"] for line in files[f"{STEM}_exact_matching_result.xlsx"]] == [7]


def test_every_trial_has_files_of_its_own(tmp_path: Path) -> None:
    results = [row(0, 7, outcome, trial=trial) for trial, outcome in enumerate(("correct", "wrong"))]  # type: ignore[arg-type]
    files = export(tmp_path, results, trials=2)
    assert files[f"{STEM}_acc.csv"][0]["Overall"] == "1.0"
    assert files[f"{STEM}_trial2_acc.csv"][0]["Overall"] == "0.0"
    assert len(files) == 6
    (tmp_path / f"{STEM}_trial2_acc.txt").touch()  # EvalScope's
    assert len(export(tmp_path, results[:1])) == 3, "those of the second trial do not stay"


def test_where_circles_stand_beside_the_number_every_row_counts(tmp_path: Path) -> None:
    results = [row(0, 7, "correct"), row(1, 1000007, "wrong")]
    files = export(tmp_path, results, "vlmevalkit", circular="beside")
    assert files[f"{STEM}_acc.csv"][0]["Overall"] == "0.5"
    assert [line["hit"] for line in files[f"{STEM}_exact_matching_result.xlsx"]] == [1, 0]


def test_a_judge_is_in_the_name(tmp_path: Path) -> None:
    files = export(tmp_path, [row(0, 7, "correct")], judge={"model": "openai/gpt-4o-mini", "identity": {}})
    assert f"{STEM}_gpt-4o-mini_result.xlsx" in files


def test_files_of_ones_own(tmp_path: Path) -> None:
    """Open questions have fractions; ids and options are as the file has them."""
    files = export(
        tmp_path,
        [
            result(0, "partial", id="q-1", choices={}, golds=("red", "crimson"), value=0.25, reply="=red"),
            result(1, "wrong", id="007", choices={}, meta={"odd": [1], "real": True, "none": float("nan")}),
        ],
        "vlmevalkit",
        origin="mine.jsonl",
    )
    [second, first] = files["Qwen2_5-VL-7b_mine_exact_matching_result.xlsx"]  # sorted by index
    assert (first["index"], first["answer"], first["prediction"]) == ("q-1", '["red", "crimson"]', "=red")
    assert (first["hit"], second["hit"]) == (0.25, 0)
    assert (second["index"], second["odd"], second["real"], second["none"]) == ("007", "[1]", "True", None)
    assert files["Qwen2_5-VL-7b_mine_acc.csv"] == [{"split": "none", "Overall": "0.125"}]


def test_a_column_of_the_source_cannot_take_the_place_of_ours(tmp_path: Path) -> None:
    files = export(tmp_path, [result(0, "correct", id="1", meta={"hit": 0, "prediction": "C", "log": "x"})])
    [line] = files[f"{STEM}_exact_matching_result.xlsx"]
    assert (line["prediction"], line["hit"]) == ("The answer is B.", 1)
