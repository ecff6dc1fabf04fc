"""InfoChartQA from end to end: rows in, an endpoint asked, the official files out."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyechart.pipelines.infochartqa.benchmark import infochartqa
from eyechart.pipelines.infochartqa.report import build_question
from eyechart.registry import benchmarks
from support.command import eyechart
from support.files import jsonl, picture
from support.server import Asked, Server

GOLDEN = Path(__file__).parents[2] / "golden" / "infochartqa_e2e"
REPLIES = {"How many": "About 2018.", "Rank": "", "Which letter": "(B)"}


def rows(folder: Path) -> Path:
    (folder / "f1.png").write_bytes(picture("red", (64, 48)))
    common = {"figure_path": "f1.png", "difficulty": "easy", "chart_type": "bar"}
    return jsonl(
        folder / "rows.jsonl",
        [
            {"question_id": 1, "question_type_id": "72", "question": "How many?", "answer": "2020", "split": "info", **common},
            {"question_id": 1, "question_type_id": "72", "question": "How many?", "answer": "2018", "split": "plain", **common},
            {"question_id": 2, "question_type_id": 71, "question": "Rank them.", "answer": "A, B", "split": "info", **common},
            {"question_id": 3, "question_type_id": 300, "question": "Which letter?", "answer": "B", "split": "info", "instructions": "Letter.", "extra_input_figure_bboxes": [[1, 2, 10, 12]], **common},
        ],
    )  # fmt: skip


def answer(asked: Asked) -> str:
    return next(reply for question, reply in REPLIES.items() if question in asked.text)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_naming_it_touches_nothing() -> None:
    made = benchmarks.get("infochartqa")()
    assert (made.name, made.scorer, made.files) == ("infochartqa", "infochartqa", "infochartqa")
    assert made.source.origin == "hf:Jietson/InfoChartQA"
    assert made.settings == {"builder": "seed"}
    assert infochartqa(file=Path("x.jsonl"), split="info").settings == {
        "file": "x.jsonl",
        "split": "info",
        "builder": "seed",
    }


def test_files_of_one_name_in_two_folders_are_two_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origins = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        origins.append(infochartqa(file=Path("rows.jsonl")).source.origin)
        origins.append(infochartqa(file=Path("hf:./set:text")).source.origin)
    assert origins == [
        str(tmp_path / "one/rows.jsonl"),
        f"hf:{tmp_path}/one/set:text",
        str(tmp_path / "two/rows.jsonl"),
        f"hf:{tmp_path}/two/set:text",
    ]
    assert infochartqa(file=Path("hf:a/b:text")).source.origin == "hf:a/b:text"


def test_runs_on_files_of_one_name_do_not_share_a_folder(tmp_path: Path) -> None:
    runs = set()
    with Server(answer) as server:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            file = rows(tmp_path / name)
            done = eyechart(
                "run", file.name, "--as", "infochartqa", "--out", tmp_path / "runs", "-m", "openai/m",
                "--base-url", server.base_url, "--json", "-q", cwd=tmp_path / name,
            )  # fmt: skip
            assert done.code == 0, done.err
            runs.add(done.json["run"])
    assert len(runs) == 2


def test_a_run_from_a_file(tmp_path: Path) -> None:
    with Server(answer) as server:
        asked = ["-m", "openai/m", "--base-url", server.base_url, "--json", "-q"]
        done = eyechart("run", rows(tmp_path), "--as", "infochartqa", *asked, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["score"] == 1.0  # the quirks: 2018 for 2020, and an empty list
    letter = next(one for one in server.asked if "letter" in one.text)
    assert letter.text == "Which letter?\nLetter."
    assert len(letter.images) == 2
    content = letter.body["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "image_url"]
    folder = Path(tmp_path, done.json["run"])
    report = load(next(folder.rglob("report.json")))
    assert report["overall_accuracy"] == 100.0
    assert load(next(folder.rglob("pairs.json")))["both_right"] == 1
    ours = eyechart("score", folder, "--scorer", "default", "--json", cwd=tmp_path)
    assert ours.code == 0, ours.err
    assert ours.json["score"] == 0.5


def test_the_form_without_a_line_break_is_chosen_by_name(tmp_path: Path) -> None:
    with Server(answer) as server:
        asked = ["-m", "openai/m", "--base-url", server.base_url, "--json", "-q", "--set", "builder=head"]
        done = eyechart("run", rows(tmp_path), "--as", "infochartqa", *asked, cwd=tmp_path)
        refused = eyechart(
            "run", rows(tmp_path), "--as", "infochartqa", *asked[:-1], "builder=by-row", cwd=tmp_path
        )
    assert done.code == 0, done.err
    assert {one.text for one in server.asked} == {"How many?", "Rank them.", "Which letter?Letter."}
    assert refused.code == 2
    assert "one of: seed, head" in refused.err


def asked_text(row: dict[str, Any]) -> str:
    """The text of a row by the rule of the authors' instructions, written down on its own."""
    lines = [row["prompt"]] if "prompt" in row else []
    lines += [row["question"], *row.get("options", [])]
    return "".join(f"{line}\n" for line in lines) + str(row.get("instructions", ""))


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\"), min_size=1).filter(
    str.strip
)


@given(
    question=WORDS,
    others=st.fixed_dictionaries(
        {},
        optional={
            "prompt": st.one_of(st.just(""), WORDS),
            "options": st.lists(WORDS, max_size=4),
            "instructions": st.one_of(st.just(""), WORDS),
        },
    ),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_row_is_built_alike_in_the_run_and_in_compat(
    question: str, others: dict[str, Any], tmp_path: Path
) -> None:
    row = {"question_id": 1, "question_type_id": 72, "answer": "5", "url": "f1.png", "question": question}
    row |= others
    made = infochartqa(file=jsonl(tmp_path / "rows.jsonl", [row]))
    [sample] = made.source
    assert made.prompt(sample)[0].text == build_question(row) == asked_text(row)


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_null_and_an_empty_cell_are_as_good_as_missing(ending: str, tmp_path: Path) -> None:
    row = {"question_id": "1", "question_type_id": "72", "answer": "5", "url": "f1.png", "question": "Which?"}
    rows: list[dict[str, Any]] = [
        {**row, "prompt": None, "options": None, "instructions": None},
        {**row, "question_id": "2", "prompt": "Look.", "options": "['A) 1', 'B) 2']", "instructions": "Now."},
    ]
    path = tmp_path / f"rows.{ending}"
    if ending == "jsonl":
        jsonl(path, rows)
    elif ending == "json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows)
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    made = infochartqa(file=path)
    texts = [made.prompt(sample)[0].text for sample in made.source]
    assert texts == ["Which?\n", "Look.\nWhich?\nA) 1\nB) 2\nNow."]


def test_a_row_of_the_earlier_release_is_asked_with_its_options(tmp_path: Path) -> None:
    (tmp_path / "f1.png").write_bytes(picture("red", (64, 48)))
    earlier = {
        "question_id": 1, "qtype": "202", "question": "Which letter?", "answer": "B", "prompt": "Look.",
        "options": ["A) cat", "B) dog"], "instructions": "Letter.", "figure_path": "f1.png",
    }  # fmt: skip
    file = jsonl(tmp_path / "rows.jsonl", [earlier])
    with Server(answer) as server:
        run = ("run", file, "--as", "infochartqa", "-m", "openai/m", "--base-url", server.base_url, "-q")
        assert eyechart(*run, cwd=tmp_path).code == 0
        assert eyechart(*run, "--set", "builder=head", cwd=tmp_path).code == 0
    asked = [one.text for one in server.asked]
    assert asked == ["Look.\nWhich letter?\nA) cat\nB) dog\nLetter.", "Which letter?Letter."]


@pytest.mark.parametrize("form", ["dict", "list"])
def test_a_response_file_is_scored(form: str, tmp_path: Path) -> None:
    replies = GOLDEN / f"input_{form}.json"
    done = eyechart("score", "--benchmark", "infochartqa", "--replies", replies, "--json", cwd=tmp_path)
    expected = load(GOLDEN / f"expected_report_{form}.json")
    assert round(done.json["score"] * 100, 2) == expected["overall_accuracy"]
    assert load(next(tmp_path.rglob("report.json"))) == expected
    written = load(next(tmp_path.rglob("results.json")))
    wanted = [{**record, "question": ""} for record in load(GOLDEN / f"expected_results_{form}.json")]
    assert written == wanted


@pytest.mark.slow
def test_the_hub_is_read_split_by_split(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for split, number in (("text", 1), ("visual_basic", 1)):
        row = {
            "question_id": number,
            "question_type_id": "72",
            "question": f"{split}?",
            "answer": "5",
            "url": "x.org/a.png",
        }
        datasets.Dataset.from_list([row]).to_parquet(
            tmp_path / "set" / "data" / f"{split}-00000-of-00001.parquet"
        )
    made = infochartqa(file=Path(f"hf:{tmp_path}/set"))
    assert [(sample.id, sample.meta["split"]) for sample in made.source] == [
        ("1", "text"),
        ("visual_basic/1", "visual_basic"),
    ]
    one = infochartqa(file=Path(f"hf:{tmp_path}/set"), split="visual_basic")
    assert [sample.question for sample in one.source] == ["visual_basic?"]
    assert [sample.id for sample in infochartqa(file=Path(f"hf:{tmp_path}/set:text")).source] == ["1"]
