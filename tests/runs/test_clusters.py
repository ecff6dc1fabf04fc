"""Clusters of whole runs: found by image content, circle and columns, chosen with --cluster."""

import contextlib
import csv
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart import stats
from eyechart.runs.results import iterate_values
from support.command import eyechart
from support.files import jsonl, picture, picture_base64
from support.multi_examples import official
from support.runs import StubModel, run_here, write_model

COLOURS = ("red", "green", "blue", "white")


def pages(folder: Path, n: int = 3) -> Path:
    """Questions on four images, n on each; the last image has a file for every question."""
    rows = []
    for page, colour in enumerate(COLOURS):
        for question in range(n):
            name = f"{colour}{question}.png" if colour == "white" else f"{colour}.png"
            (folder / name).write_bytes(picture(colour))
            gold = "yes" if (page + question) % 3 else "no"
            rows.append(
                {"id": f"{colour}-{question}", "question": f"{question}?", "answer": gold, "image": name,
                 "page": page, "section": question % 2}
            )  # fmt: skip
    return jsonl(folder / "q.jsonl", rows)


def clusters(run: ec.Run) -> list[str]:
    return [value.cluster for value in iterate_values(run)]


def firsts(n: int = 3) -> list[str]:
    return [f"{colour}-0" for colour in COLOURS for _ in range(n)]


def test_questions_on_one_image_are_a_cluster(tmp_path: Path) -> None:
    run = run_here(pages(tmp_path), StubModel("yes"), trials=2)
    assert run.manifest["cluster"] == ["image", "circle"]
    values = list(iterate_values(run))
    assert [value.cluster for value in values] == firsts()
    assert [value.id for value in values[:2]] == ["red-0", "red-1"]
    assert [value.value for value in values[:3]] == [0.0, 1.0, 1.0]
    assert values[0].weight == 1.0
    both = [result for result in run.samples() if result.sample.id == "red-1"]
    assert [result.score.value for result in both if result.score] == [1.0, 1.0]
    assert (both[0].position, both[0].sample.meta["page"]) == (1, 0)
    assert [result.cluster for result in run.samples(0)] == firsts()


@pytest.mark.parametrize("images", ["files", "inline"])
def test_examples_in_the_prompt_make_no_cluster(tmp_path: Path, images: str) -> None:
    def rows(prefix: str, n: int) -> list[dict[str, Any]]:
        colours = [(10 * k, 0, len(prefix)) for k in range(n)]
        for k, colour in enumerate(colours):
            (tmp_path / f"{prefix}{k}.png").write_bytes(picture(colour))
        cells = [
            f"{prefix}{k}.png" if images == "files" else picture_base64(c) for k, c in enumerate(colours)
        ]
        return [
            {"id": str(k), "question": f"{prefix} {k}?", "answer": "yes", "image": c}
            for k, c in enumerate(cells)
        ]

    questions, examples = (
        jsonl(tmp_path / "q.jsonl", rows("q", 6)),
        jsonl(tmp_path / "x.jsonl", rows("ex", 4)),
    )
    own = run_here(questions, StubModel("yes"), shots=2)
    other = run_here(questions, StubModel("yes"), shots=3, shots_from=examples)
    assert clusters(own) == clusters(other) == [str(k) for k in range(6)]


def test_a_sample_that_is_alone_names_itself(tmp_path: Path) -> None:
    run = run_here(pages(tmp_path, 1), StubModel("yes"))
    assert clusters(run) == [f"{colour}-0" for colour in COLOURS]
    assert {result.cluster for result in run.samples()} == {""}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("none", [f"{colour}-{k}" for colour in COLOURS for k in range(3)]),
        ("page", firsts()),
        ("section", ["red-0", "red-1", "red-0"] * 4),
        ("image", firsts()),
    ],
)
def test_the_user_chooses(tmp_path: Path, chosen: str, expected: list[str]) -> None:
    run = run_here(pages(tmp_path), StubModel("yes"), cluster=chosen)
    assert run.manifest["cluster"] == ([] if chosen == "none" else [chosen])
    assert clusters(run) == expected
    usual = run_here(pages(tmp_path), StubModel("yes"))
    assert usual.folder == run.folder  # how numbers are computed is no part of the run's name
    assert clusters(usual) == firsts()
    assert clusters(ec.Run(run.folder, cluster=chosen)) == expected


def test_where_nothing_is_sent_the_reference_counts(tmp_path: Path) -> None:
    source = pages(tmp_path)
    lines = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    jsonl(tmp_path / "replies.jsonl", [{"id": line["id"], "reply": "yes"} for line in lines])
    done = eyechart(
        "score", "--benchmark", source, "--replies", "replies.jsonl", "--json", cwd=tmp_path
    )  # fmt: skip
    scored = ec.Run(tmp_path / done.json["run"])
    alone = [f"white-{k}" for k in range(3)]  # three files, which are not opened
    assert clusters(scored) == [*firsts()[:9], *alone]
    blind = run_here(source, StubModel("yes"), input="none")
    assert clusters(blind) == [*firsts()[:9], *alone]


def test_an_old_run_opens(tmp_path: Path) -> None:
    run = run_here(pages(tmp_path), StubModel("yes"))
    with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as db, db:
        db.execute("UPDATE meta SET value = json_remove(value, '$.cluster') WHERE name = 'manifest'")
    assert clusters(ec.Run(run.folder)) == firsts()
    with contextlib.closing(sqlite3.connect(run.folder / "run.sqlite")) as db, db:
        db.execute("UPDATE asks SET body = '[]'")  # without the images that were sent
    assert clusters(ec.Run(run.folder))[:9] == firsts()[:9]


def test_rotations_of_a_question_are_a_cluster(tmp_path: Path) -> None:
    rows = [
        {"id": str(k), "question": f"Which {k}?", "A": "cat", "B": "dog", "answer": "A", "category": "x"}
        for k in range(3)
    ]
    source = jsonl(tmp_path / "q.jsonl", rows)
    run = run_here(source, StubModel("A"), circular=True, input="none")
    assert [result.cluster for result in run.samples()] == ["0", "0", "1", "1", "2", "2"]
    assert clusters(run) == ["0", "1", "2"]  # one value a question


@pytest.mark.slow
def test_questions_of_a_problem_of_multi_are_a_cluster(tmp_path: Path) -> None:
    given = official()
    predictions = {name: entry for name, entry in given["predictions"].items() if name[:4] != "zzzz"}
    (tmp_path / "label.json").write_text(json.dumps(given["problems"]), encoding="utf-8")
    (tmp_path / "prediction.json").write_text(json.dumps(predictions), encoding="utf-8")
    done = eyechart(
        "score", "--benchmark", "multi", "--set", "problem_file=label.json", "--replies", "prediction.json",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    values = list(iterate_values(ec.Run(tmp_path / done.json["run"])))
    problems = [value.id.rpartition("_")[0] for value in values]
    assert [value.cluster.rpartition("_")[0] for value in values] == problems
    assert len(set(problems)) < len(problems)


def infochartqa_rows(folder: Path, forms: Sequence[str] = ("info", "plain")) -> list[dict[str, Any]]:
    for name in ("i1", "i2", "p1", "p2"):
        (folder / f"{name}.png").write_bytes(picture(COLOURS[("i1", "i2", "p1", "p2").index(name)]))
    return [
        {"question_id": number, "question_type_id": 72, "question": "How many?", "answer": "3",
         "split": split, "figure_path": f"{split[0]}{chart}.png"}
        for split in forms
        for number, chart in ((1, 1), (2, 1), (3, 2))
    ]  # fmt: skip


def test_an_infographic_and_its_plain_chart_are_a_cluster(tmp_path: Path) -> None:
    jsonl(tmp_path / "rows.jsonl", infochartqa_rows(tmp_path))
    model = write_model(tmp_path, "3")
    done = eyechart("run", "rows.jsonl", "--as", "infochartqa", "-m", model, "--json", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    run = ec.Run(tmp_path / done.json["run"])
    assert run.manifest["cluster"] == ["image", "circle", "figure_id", "chart_pair"]
    assert clusters(run) == ["1", "1", "3", "1", "1", "3"]


def test_a_column_that_no_sample_has_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    source, model = pages(tmp_path), write_model(tmp_path, "yes")
    done = eyechart("run", source, "-m", model, "-q", "--cluster", "pages", cwd=tmp_path)
    assert done.code == 2
    assert "--cluster pages: no sample has a value in this column" in done.err
    assert "did you mean page?" in done.err
    assert not list(tmp_path.glob("runs/*/*"))
    jsonl(tmp_path / "replies.jsonl", [{"id": "red-0", "reply": "yes"}])
    files = ("--benchmark", source, "--replies", "replies.jsonl")
    assert eyechart("score", *files, "--cluster", "pages", cwd=tmp_path).code == 2
    assert not list(tmp_path.glob("runs/*/*"))
    ran = eyechart("run", source, "-m", model, "-q", "--json", cwd=tmp_path)
    for verb in ("score", "report"):
        done = eyechart(verb, ran.json["run"], "--cluster", "pages", cwd=tmp_path)
        assert done.code == 2, verb
        assert "columns: page, section" in done.err
    assert ec.Run(tmp_path / ran.json["run"]).manifest["cluster"] == ["image", "circle"]
    assert eyechart("score", ran.json["run"], "--cluster", "page", cwd=tmp_path).code == 0
    assert ec.Run(tmp_path / ran.json["run"]).manifest["cluster"] == ["page"]


def interval_of(run: ec.Run, *, with_clusters: bool = True) -> stats.Interval:
    values = [value for value in iterate_values(run) if value.value is not None]
    found = stats.interval(
        [value.value or 0.0 for value in values],
        [value.weight for value in values],
        [value.cluster for value in values] if with_clusters else None,
    )
    assert found is not None
    return found


def test_the_report_is_computed_with_the_clusters(tmp_path: Path) -> None:
    source, model = pages(tmp_path), write_model(tmp_path, "yes")
    done = eyechart("run", source, "-m", model, "-q", "--json", cwd=tmp_path)
    run = ec.Run(tmp_path / done.json["run"])
    found = interval_of(run)
    assert (found.n, found.n_clusters) == (12, 4)
    assert done.json["score"] == found.mean
    assert done.json["ci95"] == [found.low, found.high]
    assert (done.json["n"], done.json["n_clusters"], done.json["method"]) == (12, 4, found.method)
    alone = eyechart("report", done.json["run"], "--cluster", "none", "--json", cwd=tmp_path).json
    plain = interval_of(run, with_clusters=False)
    assert (alone["ci95"], alone["n_clusters"], alone["method"]) == (
        [plain.low, plain.high],
        12,
        plain.method,
    )
    assert alone["score"] == done.json["score"]
    table = eyechart("report", done.json["run"], "--csv", "rows.csv", cwd=tmp_path)
    assert f"interval: {found.method}, 12 samples in 4 clusters" in table.out
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        assert [row["cluster"] for row in csv.DictReader(file)] == firsts()


@pytest.mark.slow
def test_a_run_that_was_cut_off_gives_the_same_digits(tmp_path: Path) -> None:
    is_down = True

    class Fails(StubModel):
        async def generate(self, messages: list[ec.Message]) -> str:
            if "2?" in messages[-1].text and is_down:
                raise ec.ModelError("down")
            return "yes"

    source = pages(tmp_path)
    first = run_here(source, Fails(), out=tmp_path / "one")
    assert first.outcomes["failed"] == 4
    assert first.summary.overall.ci95_with_failures is not None
    is_down = False
    resumed = run_here(source, Fails(), out=tmp_path / "one")
    whole = run_here(source, Fails(), out=tmp_path / "other")
    assert resumed.folder == first.folder
    assert resumed.summary.overall == whole.summary.overall
    assert resumed.clusters == whole.clusters


def test_rotations_are_one_cluster_in_the_plain_line(tmp_path: Path) -> None:
    rows = [
        {"id": str(k), "question": f"Which {k}?", "A": "cat", "B": "dog", "answer": "AB"[k % 2]}
        for k in range(6)
    ]
    source = jsonl(tmp_path / "q.jsonl", rows)
    run = run_here(source, StubModel("A"), circular=True, input="none")
    plain = run.summary.also["plain"]
    assert (plain.n, plain.n_clusters) == (12, 6)
    assert (run.summary.n, run.summary.overall.n_clusters) == (6, 6)
    found = stats.interval([1, 0, 0, 1] * 3, clusters=[k // 2 for k in range(12)])
    assert found is not None
    assert plain.ci95 == (found.low, found.high)


def embedded_tsv(path: Path) -> Path:
    """Six questions on three images, each image embedded in both of its rows."""
    lines = ["index\tquestion\tanswer\timage"]
    lines += [f"{k}\tQuestion {k}?\tyes\t{picture_base64(COLOURS[k // 2])}" for k in range(6)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("input", ["image", "none", "blank"])
def test_embedded_images_are_known_by_their_content(tmp_path: Path, input: str) -> None:
    source = embedded_tsv(tmp_path / "q.tsv")
    assert clusters(run_here(source, StubModel("yes"), input=input)) == ["0", "0", "2", "2", "4", "4"]


def test_embedded_images_of_replies_are_known_by_their_content(tmp_path: Path) -> None:
    source = embedded_tsv(tmp_path / "q.tsv")
    jsonl(tmp_path / "replies.jsonl", [{"id": k, "reply": "yes"} for k in range(6)])
    done = eyechart("score", "--benchmark", source, "--replies", "replies.jsonl", "--json", cwd=tmp_path)
    assert clusters(ec.Run(tmp_path / done.json["run"])) == ["0", "0", "2", "2", "4", "4"]
    assert done.json["n_clusters"] == 3
