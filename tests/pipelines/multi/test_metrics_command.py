"""``eyechart multi-metrics``: the official step's lines, tables and files, and what is refused by name."""

from pathlib import Path

import pytest

from support.command import eyechart
from support.multi import make_multi, write_json
from support.multi_examples import official, read_json


@pytest.fixture
def place(tmp_path: Path) -> Path:
    given = official()
    write_json(tmp_path / "label.json", given["problems"])
    write_json(tmp_path / "prediction.json", given["predictions"])
    return tmp_path


USUAL = ("--label_file", "label.json", "--prediction_file", "prediction.json")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["start", "end"])
def test_it_prints_and_writes_what_the_official_step_does(place: Path, number: int) -> None:
    run = official()["runs"][number]
    position = ["--answer_position", run["answer_position"]] if number else []
    done = eyechart("multi-metrics", *USUAL, "--detail", *position, cwd=place)
    assert done.code == 0, done.err
    lines = run["expected"]["stdout_lines"]
    assert done.out.splitlines()[: len(lines)] == lines
    summary = (place / "summary.md").read_text(encoding="utf-8").splitlines()
    tables = [line for line in summary if line.startswith("|")]
    assert [line for line in done.out.splitlines() if line.startswith("|")] == tables != []
    assert sorted(path.name for path in place.iterdir()) == run["expected"]["files"]
    assert "zzzz_9_0" in done.err  # an id that no label has
    assert "result files: . (score.json, detail.json, statistics.csv, summary.md" in done.err


@pytest.mark.slow
def test_without_detail_there_are_two_files_and_no_tables(place: Path) -> None:
    done = eyechart("multi-metrics", *USUAL, "--output_dir", "own", cwd=place)
    assert done.code == 0
    assert "|" not in done.out
    assert sorted(path.name for path in (place / "own").iterdir()) == ["detail.json", "score.json"]


def test_as_json(place: Path) -> None:
    done = eyechart("multi-metrics", *USUAL, "--json", cwd=place)
    scores = read_json(place / "score.json").values()
    points, total = (sum(one[name] for one in scores) for name in ("score", "total_score"))
    assert done.json["points"] == pytest.approx(points)
    assert (done.json["total"], done.json["n"]) == (total, len(scores))
    assert done.json["score"] == pytest.approx(points / total)
    assert (done.json["unscored"], done.json["left_out"]) == ([], ["zzzz_9_0"])
    assert done.json["summary"]["Overall"] == pytest.approx(100 * points / total, abs=0.06)


def test_a_score_file_alone_is_added_up(place: Path) -> None:
    first = eyechart("multi-metrics", *USUAL, cwd=place)
    again = eyechart("multi-metrics", "--score_file", "score.json", cwd=place)
    assert (again.code, again.out) == (0, first.out.splitlines()[0] + "\n")
    values = eyechart("multi-metrics", "--score_file", "score.json", "--json", cwd=place).json
    assert values["n"] == len(read_json(place / "score.json"))
    both = eyechart("multi-metrics", *USUAL, "--score_file", "other.json", cwd=place)
    assert both.out == first.out
    assert "--score_file other.json: not read" in both.err
    assert not (place / "other.json").exists()


def test_the_list_of_models(place: Path) -> None:
    for flag in ("-l", "--model_list"):
        done = eyechart("multi-metrics", flag, cwd=place)
        assert (done.code, "openai-compatible" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            ["--score_file", "label.json"],
            "label.json: question 'czsx_0': Object missing required field `score`",
        ),
        (["--score_file", "gone.json"], "gone.json"),
        (["--score_file", "label.json", "--detail"], "--label_file is missing"),
        (
            [*USUAL, "--reference_file", "r.json"],
            "--reference_file is refused: the original fails with it",
        ),
        ([*USUAL, "--reference_dir", "r"], "--reference_dir is refused: it has no effect"),
        ([*USUAL, "--only_past"], "--only_past is refused: it has no effect"),
        ([*USUAL, "--answer_position", "middle"], "--answer_position"),
        (["--label_file", "label.json"], "--prediction_file is missing"),
        ([], "--label_file is missing"),
        (["--label_file", "gone.json", "--prediction_file", "prediction.json"], "gone.json"),
        ([*USUAL, "--details"], "--detail"),
    ],
)
def test_what_cannot_be_is_refused_by_name(place: Path, said: list[str], words: str) -> None:
    done = eyechart("multi-metrics", *said, cwd=place)
    assert done.code == 2
    assert words in done.err
    assert sorted(path.name for path in place.iterdir()) == ["label.json", "prediction.json"]


def test_a_release_file_holds_no_labels(tmp_path: Path) -> None:
    data = make_multi(tmp_path / "data")
    entry = {"question_id": "czsx_0_0", "question_image_number": 1, "prediction": "A"}
    write_json(tmp_path / "prediction.json", {"czsx_0_0": entry})
    said = ("--label_file", data.release_file, "--prediction_file", "prediction.json")
    done = eyechart("multi-metrics", *said, cwd=tmp_path)
    assert done.code == 2
    assert "give the file that has" in done.err
