"""Names that people's scripts import, and keys of `--json` that they read: these stay."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.cli.main import main

PUBLIC = """
    MODELS_TURN Benchmark DataError Estimate Export EyechartError Failure Image ImageError ImageRef JudgeCall
    JudgeFailed Message MissingExtra Model ModelError Reply Request Result Run Sample Score Scorer Source
    StoreError UnknownName Usage UsageError __version__ benchmark estimate exporter judged_scorer load model
    run score scorer
"""
CALLED = """
    eyechart.run eyechart.load eyechart.estimate eyechart.benchmark eyechart.scorer eyechart.model
    eyechart.exporter eyechart.judged_scorer
    eyechart.score.choice.infer
    eyechart.score.choice.read
    eyechart.score.text.anls eyechart.score.text.relaxed eyechart.score.text.vqa_accuracy
    eyechart.score.text.yes_no
    eyechart.score.infochartqa.check eyechart.score.multi.score
    eyechart.compat.activate.activate
    eyechart.compat.evalscope.run_task eyechart.compat.evalscope.TaskConfig
    eyechart.compat.infochartqa.evaluate eyechart.compat.infochartqa.build_question
    eyechart.compat.insight_o3.Arguments eyechart.compat.insight_o3.evaluate
    eyechart.compat.mmbench.MMBenchDataset eyechart.compat.mmbench.dump_submission
    eyechart.compat.multi.metrics
"""
# What scripts written for other tools import, once eyechart.compat.activate answers for these names.
PROVIDED = """
from evalscope import TaskConfig
from evalscope.config import TaskConfig
from evalscope.run import run_task
from evalscope.summarizer import Summarizer
import evalscope.constants, evalscope.utils.logger
from vlmeval.smp import d2df, dump, load, listinstr, LMUDataRoot
from vlmeval.dataset import SUPPORTED_DATASETS
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_mcq import CustomMCQDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.dataset.utils import DEBUG_MESSAGE, build_judge
from vlmeval.utils import track_progress_rich
"""
JSON_KEYS = "run benchmark model n score ci95 outcomes by requests tokens cost seconds"
OUTCOMES = "correct wrong partial unparsed refused truncated failed unscored"


def test_the_public_names_are_these() -> None:
    assert set(PUBLIC.split()) <= set(ec.__all__)


@pytest.mark.parametrize("path", CALLED.split())
def test_it_can_be_imported_and_called(path: str) -> None:
    found = import_module("eyechart")
    for name in path.split(".")[1:]:
        found = getattr(found, name, None) or import_module(f"{found.__name__}.{name}")
    assert callable(found)


def test_scores_are_reached_from_the_package() -> None:
    assert ec.score.choice.read("The answer is B.", {"A": "a pie chart", "B": "a bar chart"}) == "B"
    assert ec.score.choice.read("It is unclear.", {"A": "a pie chart", "B": "a bar chart"}) is None
    assert ec.score.choice.infer("The answer is B.", {"A": "a pie chart", "B": "a bar chart"}) == "B"
    assert ec.score.text.anls("ten", ["ten"]) == 1.0


@pytest.mark.slow
def test_names_of_other_tools_are_provided() -> None:
    program = f"import eyechart.compat.activate\n{PROVIDED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_json_holds_the_keys_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "demo", "-m", "baseline/majority", "--out", str(tmp_path), "-q", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(JSON_KEYS.split()) <= said.keys()
    assert {"sent", "retried", "cached"} <= said["requests"].keys()
    assert set(OUTCOMES.split()) == said["outcomes"].keys()
    assert json.loads((Path(said["run"]) / "summary.json").read_text(encoding="utf-8")) == said
