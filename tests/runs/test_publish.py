"""Numbers for the Hugging Face hub: what is written, and that its own package reads it back."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from eyechart.errors import UsageError
from eyechart.report.page import ImagePolicy
from eyechart.runs.api import run
from eyechart.runs.pages import write_html
from eyechart.runs.publish import SharedRun, find_hub_id, name_model, write_hub_results, write_model_index
from eyechart.runs.results import Run
from support.command import eyechart
from support.files import choice_tsv, jsonl, picture
from support.pages import list_images, read_blocks
from support.runs import StubModel
from support.server import Answer, Asked, Server


@pytest.fixture
def mmstar(tmp_path: Path) -> Run:
    """A run of a benchmark that is published on the hub, read from a file."""
    settings = {"file": str(choice_tsv(tmp_path / "MMStar.tsv", 40))}
    return run("mmstar", StubModel(), settings=settings, out=tmp_path / "runs", progress=False)


KEY = "sk-secret-of-mine"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_results_are_read_back(tmp_path: Path, mmstar: Run) -> None:
    path = tmp_path / "results.yaml"
    write_hub_results([mmstar], path, ["val"], url="https://example.org/r.html", org="acme")
    [entry] = parse_eval_result_entries(read(path))
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("Lin-Chen/MMStar", "val", None)
    assert entry.value == 25.0 == 100 * (mmstar.score or 0)
    assert (entry.source_url, entry.source_org) == ("https://example.org/r.html", "acme")
    assert entry.verify_token is None
    assert isinstance(entry.date, str)
    low, high = mmstar.ci95 or (0, 0)
    assert entry.notes is not None
    assert f"95 % interval {100 * low:.1f} to {100 * high:.1f}; n 40" in entry.notes
    assert "percent; scorer " in entry.notes


def test_a_copy_on_the_hub_is_named_by_the_user(tmp_path: Path, mmstar: Run) -> None:
    write_hub_results([mmstar], tmp_path / "r.yaml", ["mmstar=acme/Original:hard"])
    [entry] = parse_eval_result_entries(read(tmp_path / "r.yaml"))
    assert (entry.dataset_id, entry.task_id) == ("acme/Original", "hard")


def test_the_task_must_be_given(tmp_path: Path, mmstar: Run) -> None:
    for tasks in ([], ["other=x"], ["a", "b"]):
        with pytest.raises(UsageError, match=r"which task of Lin-Chen/MMStar is it\?"):
            write_hub_results([mmstar], tmp_path / "r.yaml", tasks)
    assert not (tmp_path / "r.yaml").exists()


def test_the_model_index_is_read_back(tmp_path: Path, mmstar: Run) -> None:
    write_model_index([mmstar], tmp_path / "index.yaml")
    name, [found] = model_index_to_eval_results(read(tmp_path / "index.yaml")["model-index"])
    assert name == name_model(mmstar.manifest).rpartition("/")[2]
    assert (found.dataset_type, found.dataset_name) == ("Lin-Chen/MMStar", "mmstar")
    assert (found.metric_type, found.metric_value) == ("accuracy", 25.0)
    assert found.metric_args is not None
    assert found.metric_args["ci95"] == list(mmstar.ci95 or ())
    assert found.metric_args["outcomes"] == {"correct": 10, "wrong": 30}


def test_a_file_of_ones_own_is_refused(tmp_path: Path) -> None:
    # Also one that is called as a benchmark: its name proves nothing.
    own = run(
        choice_tsv(tmp_path / "q.tsv", 4), StubModel(), name="mmstar", out=tmp_path / "runs", progress=False
    )
    assert own.manifest["benchmark"] == "mmstar"
    for write in (write_hub_results, write_model_index):
        with pytest.raises(UsageError, match="is not a data set of the Hugging Face hub"):
            write([own], tmp_path / "r.yaml")


def test_hub_sources_are_known_by_their_origin() -> None:
    found = find_hub_id({"origin": f"hf:acme/signs:night/test@{'a' * 40}", "benchmark": "signs"})
    assert found is not None
    assert (found.place, found.config, found.split, found.revision) == (
        "acme/signs",
        "night",
        "test",
        "a" * 40,
    )


def test_two_models_and_two_results_of_one_task_are_refused(tmp_path: Path, mmstar: Run) -> None:
    settings = mmstar.manifest["settings"] or {"file": str(tmp_path / "MMStar.tsv")}
    other = run("mmstar", StubModel(), settings=settings, limit=8, out=tmp_path / "runs", progress=False)
    with pytest.raises(UsageError, match="two runs are results of the task val"):
        write_hub_results([mmstar, other], tmp_path / "r.yaml", ["val"])
    with pytest.raises(UsageError, match="two runs are results of hf:Lin-Chen/MMStar"):
        write_model_index([mmstar, other], tmp_path / "r.yaml")
    blind = run(
        "mmstar", "baseline/random", settings=settings, limit=8, out=tmp_path / "runs", progress=False
    )
    with pytest.raises(UsageError, match="the runs are of 2 models"):
        write_hub_results([mmstar, blind], tmp_path / "r.yaml", ["val"])


def test_what_was_left_out_is_in_the_notes(tmp_path: Path, mmstar: Run) -> None:
    settings = {"file": str(tmp_path / "MMStar.tsv")}
    part = run(
        "mmstar", StubModel(), settings=settings, limit=8, max_pixels=100, out=tmp_path, progress=False
    )
    write_hub_results([part], tmp_path / "r.yaml", ["val"])
    notes = parse_eval_result_entries(read(tmp_path / "r.yaml"))[0].notes or ""
    assert "limit 8" in notes
    assert "max pixels 100" in notes


def test_no_path_of_this_machine(tmp_path: Path, mmstar: Run) -> None:
    write_hub_results([mmstar], tmp_path / "a.yaml", ["val"])
    write_model_index([mmstar], tmp_path / "b.yaml")
    for name in ("a.yaml", "b.yaml"):
        text = json.dumps(read(tmp_path / name))
        assert str(tmp_path) not in text
        assert "base64" not in text


def test_a_shared_run_holds_nothing_of_this_machine(tmp_path: Path) -> None:
    """Its page has no path, no key, no address and no image, wherever they may hide."""
    (tmp_path / "a.png").write_bytes(picture())
    row = {"question": "Which?", "image": str(tmp_path / "a.png"), "answer": "A", "file": f"{tmp_path}/a.doc",
           "category": f"{tmp_path}/animals", "more": {"at": [f"{tmp_path}/b.doc"]},
           "note": f"from {tmp_path}/c.doc, http://me:{KEY}@example.org/"}  # fmt: skip
    key = KEY

    def answer(asked: Asked) -> Answer | str:
        refused = Answer(status=400, body=f"{key} refused at {tmp_path}/server.py".encode())
        return "A" if asked.text.startswith("1") else refused

    with Server(answer) as server:
        rows = [{**row, "id": str(k), "question": f"{k}: which?"} for k in range(3)]
        ran = run(
            jsonl(tmp_path / "q.jsonl", rows),
            f"openai/{tmp_path}/weights/m",
            base_url=server.base_url,
            api_key=key,
            params={"extra_body": {"user": f"{tmp_path}/me", "token": key}},
            out=tmp_path / "runs",
            retries=0,
            progress=False,
        )
        address = server.base_url.partition("://")[2].partition("/")[0]
    assert ran.outcomes["failed"] == 2
    shared = SharedRun(ran)
    write_html(shared, page := tmp_path / "page.html", ImagePolicy(max_s=0.0))
    blocks = read_blocks(page)
    assert list_images(blocks) == []
    flat = str(tmp_path).strip("/").replace("/", "-")
    for text in (json.dumps(blocks), page.read_text(encoding="utf-8")):
        assert [one for one in (str(tmp_path), flat, key, address, "data:image/") if one in text] == []
    assert "server.py" in json.dumps(blocks)  # the reason is there
    assert shared.summary.by["category"].keys() == {"animals"}


def test_the_command(tmp_path: Path, mmstar: Run) -> None:
    folder = mmstar.folder.relative_to(tmp_path)
    done = eyechart("report", folder, "--hub", "r.yaml", "--hub-task", "val", cwd=tmp_path)
    assert done.code == 0
    assert "wrote r.yaml: put it below .eval_results/" in done.err
    assert len(read(tmp_path / "r.yaml")) == 1
    assert eyechart("report", folder, "--model-index", "i.yml", cwd=tmp_path).code == 0
    for flags, told in (
        (("--hub", "README.md", "--hub-task", "val"), "README.md is not the name of a YAML file"),
        (("--hub-task", "val"), "--hub-task has no effect without --hub FILE"),
        (("--hub", "r.yaml", "--hub-task", "v", "--org", "a"), "--org has no effect without"),
        (("--hub", "gone/r.yaml", "--hub-task", "v"), "no such folder"),
    ):
        refused = eyechart("report", folder, *flags, cwd=tmp_path)
        assert (refused.code, told in refused.err) == (2, True), refused.err
