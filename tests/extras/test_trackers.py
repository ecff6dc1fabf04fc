"""MLflow with a local SQLite store, and Weights & Biases offline: the real packages, read back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eyechart.report.conditions import hide_folders
from eyechart.runs.results import Run
from support.command import Outcome, eyechart_process
from support.files import choice_tsv, jsonl
from support.pages import read_blocks
from support.runs import write_model


def run(folder: Path, tracker: str, **changes: str) -> Run:
    model = f"python:{folder}/{write_model(folder).removeprefix('python:')}"
    done = command(folder, "run", "q.tsv", "-m", model, "--track", tracker, "-q", "--json", **changes)
    return Run(folder / done.json["run"])


def command(folder: Path, *words: object, **changes: str) -> Outcome:
    choice_tsv(folder / "q.tsv", 12)
    done = eyechart_process(*words, cwd=folder, timeout=800, HOME=str(folder), **changes)
    assert done.code == 0, done.err
    return done


@pytest.mark.filterwarnings("ignore")  # of the package
def test_mlflow_takes_groups_of_any_name(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/mlflow.db"
    odd = ["..", "24/7", f"{tmp_path}/animals", "a=b, ü", "x" * 300]
    rows = [{"id": k, "question": "Which?", "answer": "A", "kind/of": one} for k, one in enumerate(odd)]
    jsonl(tmp_path / "odd.jsonl", rows)
    words = ("run", "odd.jsonl", "-m", "baseline/majority", "--by", "kind/of", "--track", "mlflow", "-q")
    done = command(tmp_path, *words, MLFLOW_TRACKING_URI=address)
    assert "failed" not in done.err

    from mlflow import MlflowClient

    client = MlflowClient(address)
    [mine] = client.search_runs([client.get_experiment_by_name("odd").experiment_id])
    groups = {name for name in mine.data.metrics if name.startswith("by/kind_of/") and "_low" not in name}
    assert {"by/kind_of/_", "by/kind_of/24_7", "by/kind_of/animals"} <= groups
    assert not any("animals" not in name and tmp_path.name in name for name in mine.data.metrics)


@pytest.mark.filterwarnings("ignore")  # of the package
def test_mlflow(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/mlflow.db"
    ran = run(tmp_path, "mlflow", MLFLOW_TRACKING_URI=address, MLFLOW_EXPERIMENT_NAME="eyes")
    other = command(tmp_path, "run", "q.tsv", "-m", "baseline/majority", "-q", "--json").json["run"]
    words = ("compare", ran.folder, other, "--track", "mlflow", "--json")
    compared = command(tmp_path, *words, MLFLOW_TRACKING_URI=address, MLFLOW_EXPERIMENT_NAME="eyes").json

    from mlflow import MlflowClient

    client = MlflowClient(address)
    experiment = client.get_experiment_by_name("eyes")
    found = {one.info.run_name: one for one in client.search_runs([experiment.experiment_id])}
    mine = found.pop(f"python-mine.py-Mine-{ran.folder.name[-8:]}")
    assert mine.info.status == "FINISHED"
    assert mine.data.metrics["score"] == ran.score
    assert (mine.data.metrics["score_low"], mine.data.metrics["score_high"]) == ran.ci95
    assert mine.data.metrics["outcomes/wrong"] == ran.outcomes["wrong"]
    assert mine.data.metrics["progress/done"] == 12
    assert mine.data.metrics["by/category/odd"] == ran.by("category")["odd"].score
    assert mine.data.params["model"] == "python:mine.py:Mine"
    assert "mlflow.user" not in mine.data.tags
    assert [one.path for one in client.list_artifacts(mine.info.run_id)] == ["report.html"]
    report = Path(client.download_artifacts(mine.info.run_id, "report.html", str(tmp_path)))
    assert "q · python:mine.py:Mine" in report.read_text("utf-8")
    page = report.read_text("utf-8") + json.dumps(read_blocks(report))
    facts = [*mine.data.params.values(), *mine.data.tags.values(), page]
    assert not any(str(tmp_path) in fact for fact in facts)
    assert "data:image/png;base64" not in page
    [comparison] = found.values()
    assert comparison.data.metrics["difference"] == compared["difference"]
    assert comparison.data.params["verdict"] == hide_folders(compared["verdict"])
    assert not any(
        str(tmp_path) in fact for fact in (comparison.info.run_name, *comparison.data.params.values())
    )


def test_a_server_that_does_not_answer_costs_a_note(tmp_path: Path) -> None:
    words = ("run", "q.tsv", "-m", "baseline/majority", "--track", "mlflow", "-q", "--json")
    done = command(tmp_path, *words, MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert done.err.count("--track mlflow: ") == 1
    assert "on_run_start failed" in done.err
    assert done.json["n"] == 12


def test_wandb(tmp_path: Path) -> None:
    ran = run(tmp_path, "wandb", WANDB_MODE="offline")
    [left] = (ran.folder / "wandb").glob("offline-run-*/run-*.wandb")
    content = left.read_bytes()
    assert str(tmp_path).encode() not in content
    history = read_texts(content)
    assert "python:mine.py:Mine" in history
    assert re.search(rf"score\W+{re.escape(repr(ran.score))}", history)
    assert "score_low" in history
    assert "outcomes/wrong" in history


def read_texts(content: bytes) -> str:
    """The printable characters of the package's own format."""
    return "\n".join(one.decode() for one in re.findall(rb"[ -~]{3,}", content))


def test_without_a_key_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    """Offline is the default: no key, no address that answers, and the run is complete."""
    nowhere: dict[str, Any] = {"WANDB_BASE_URL": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    ran = run(tmp_path, "wandb", **nowhere)
    assert ran.exit_code == 0
    assert list((ran.folder / "wandb").glob("offline-run-*"))
