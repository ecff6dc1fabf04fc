"""--executor ray without a cluster: what is refused, what is sent. Clusters: tests/extras/test_ray.py."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eyechart import baselines
from eyechart.engine.ray_cluster import (
    _delay_interrupt,
    _explain,
    _shorten_reason,
    describe_resources,
    refuse_lacking,
)
from eyechart.errors import UsageError
from eyechart.models import environment
from eyechart.models.specs import make_model
from eyechart.runs.cluster import _pickle, make_named_model, read_user_file
from eyechart.types import ModelSettings, Sample, SeesAllSamples
from support.command import eyechart
from support.runs import questions_fixture

questions = questions_fixture(4)


def test_a_missing_ray_is_answered_with_the_line_that_installs_it(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = eyechart(
        "run", questions, "-m", "baseline/random", "--executor", "ray", "-q", cwd=questions.parent
    )
    assert done.code == 2
    assert "pip install 'eyechart[ray]'" in done.err
    assert not (questions.parent / "runs").exists()


@pytest.mark.parametrize(
    "flag", ["--workers=2", "--gpus-per-worker=1", "--ship-images", "--ray-address=auto"]
)
def test_options_of_a_cluster_have_no_effect_on_a_local_run(questions: Path, flag: str) -> None:
    done = eyechart("run", questions, "-m", "baseline/random", flag, cwd=questions.parent)
    assert done.code == 2
    assert "has no effect: executor is local" in done.err
    assert f"add --executor ray, or leave out {flag.partition('=')[0]}" in done.err


class FakeRay:
    def __init__(self, *nodes: dict[str, float]) -> None:
        self._nodes = nodes

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": node} for node in self._nodes]

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}


def test_what_cannot_be_placed_is_refused_with_what_there_is() -> None:
    ray = FakeRay({"CPU": 8, "GPU": 1}, {"CPU": 8, "GPU": 1})
    assert describe_resources(ray) == "the cluster has 16 CPUs (1 free) and 2 GPUs (0 free) on 2 nodes"
    refuse_lacking(ray, 2, 1)
    refuse_lacking(ray, 4, 0.5)
    with pytest.raises(UsageError, match="3 workers with 1 CPU and 1 GPU each do not fit") as refused:
        refuse_lacking(ray, 3, 1)
    assert refused.value.hint == "--workers 2 fits"
    with pytest.raises(UsageError, match="1 worker with 1 CPU and 2 GPUs each do not fit"):
        refuse_lacking(ray, 1, 2)  # two on one node, which no node has


def test_an_interrupt_while_ray_starts_waits_until_it_has_started() -> None:
    steps = []

    def begin() -> None:
        with _delay_interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert steps == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.ocr
def test_what_a_baseline_studied_can_be_sent() -> None:
    """Others are sent by their names; a model that has studied goes as it is."""
    made = [make_model(f"baseline/{name}", ModelSettings()) for name in baselines.NAMES if name != "tiny-vlm"]
    learners = [one for one in made if isinstance(one, SeesAllSamples)]
    assert learners
    for one in learners:
        one.prepare([Sample(id="1", question="What?", images=(), golds=("a",))])
        assert pickle.loads(pickle.dumps(one)).identity == one.identity


def test_a_built_in_model_that_cannot_be_sent_is_refused_in_fitting_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = ModuleType("ray")
    ray.cloudpickle = pickle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.cloudpickle", pickle)
    with pytest.raises(UsageError, match="baseline/x cannot be sent") as refused:
        _pickle(lambda: None, "baseline/x")
    assert refused.value.hint == "leave out --executor ray"
    with pytest.raises(UsageError) as refused:
        _pickle(lambda: None, "python:Mine")
    assert "python:file.py:Class" in refused.value.hint


def test_messages_of_ray_are_made_short() -> None:
    said = (
        "Version mismatch: The cluster was started with: Ray: 2.40.0 Python: 3.10.1 This process: Ray: 2.60.0"
    )
    assert "have different versions: Version mismatch: The cluster" in str(
        _explain(RuntimeError(said), "auto")
    )
    nowhere = str(_explain(ConnectionError("Could not find any running Ray instance."), "auto"))
    assert "the Ray cluster at auto cannot be used" in nowhere
    assert "ray start --head" in nowhere
    assert _shorten_reason("Worker exit detail: Out of memory. More.") == "Out of memory"


def test_a_users_modules_travel_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.models.python import load_object

    (tmp_path / "helper_for_ray.py").write_text("LETTER = 'B'\n", encoding="utf-8")
    (tmp_path / "model_for_ray.py").write_text(
        "from helper_for_ray import LETTER\n\ndef answer(text, images):\n    return LETTER\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    load_object("model_for_ray.py:answer")
    file = read_user_file("model_for_ray.py")
    assert sorted(file.texts) == ["helper_for_ray.py", "model_for_ray.py"]
    assert file.find() == ("model_for_ray.py", None)  # the node has it
    (tmp_path / "model_for_ray.py").write_text("# another one\n", encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    state = environment.get_state()
    model = make_named_model("python:model_for_ray.py:answer", ModelSettings(), state, file)
    [folder] = (tmp_path / "scratch").iterdir()
    assert (folder / "helper_for_ray.py").read_text(encoding="utf-8") == "LETTER = 'B'\n"
    asyncio.run(model.close())
    assert not [*(tmp_path / "scratch").iterdir()], "nothing is left behind"
    del sys.modules["helper_for_ray"]


def test_keys_and_urls_of_the_driver_replace_those_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in environment._OF_PROVIDERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "of the driver")
    state = environment.get_state()
    monkeypatch.setenv("OPENAI_API_KEY", "of the node")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://node/v1")
    environment.restore_state(state)
    assert environment.find_key() == "of the driver"
    assert environment.find_address() is None
