"""A task is scored by the rules of the release that it stands for, and says which these are."""

from __future__ import annotations

import json

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.pipelines.vlmevalkit.vlmeval.command import Flags, run
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, ImageMCQDataset
from support.command import eyechart
from support.dataset_classes import restore_classes
from support.files import picture_base64
from support.server import Asked
from support.tasks import M, User, status

ROWS = (  # questions, options and golds of EvalScope's page on custom data sets
    ("Dog", "Cat", "Tiger", "Elephant", "A", "Animals"),
    ("Park", "Museum", "Library", "School", "B", "Buildings"),
    ("London", "Paris", "Tokyo", "New York", "C", "Cities"),
    ("BMW", "Audi", "Ford", "Tesla", "D", "Vehicles"),
    ("Running", "Swimming", "Reading", "Cycling", "A", "Activities"),
)
RULES = "ms-vlmeval 0.0.20"
SCORER = "choice-vlmevalkit-2026-06"


def write(user: User, name: str) -> None:
    lines = ["index\tquestion\tA\tB\tC\tD\tanswer\tcategory\timage"]
    lines += ["\t".join([str(k), f"What is it [{k}]?", *row, picture_base64()]) for k, row in enumerate(ROWS)]
    (user.data / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def answer(asked: Asked) -> str:
        row = next(row for k, row in enumerate(ROWS) if f"[{k}]" in asked.text)
        return f"The answer is {row['ABCD'.index(row[4])]}."

    user.server.answer = answer


@pytest.mark.slow
@pytest.mark.parametrize("name", ["example_mcq", "MMStar", "MMBench_DEV_EN", "my_circular", "MMMU_DEV_VAL"])
def test_right_answers_are_right_as_in_the_release(
    user: User, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(user, name)
    done = run_task(user.config(name))
    assert done[f"{M}_{name}_acc"]["Overall"] == "1.0"
    assert f"rules: {RULES}" in capsys.readouterr().out
    (folder,) = user.folders()
    said = status(folder / M)["datasets"][name]
    assert said["rules"] == RULES
    assert said["scorer"].endswith("-vlmevalkit-2026-06")
    [summary] = folder.glob("runs/*/*/summary.json")
    assert json.loads(summary.read_text(encoding="utf-8"))["rules"] == RULES


@pytest.mark.slow
def test_classes_and_their_evaluate_have_the_rules_of_the_release(user: User) -> None:
    write(user, "example_mcq")
    with restore_classes():
        CustomMCQDataset.build_prompt = lambda self, line: ImageMCQDataset.build_prompt(self, line)  # type: ignore[method-assign]
        done = run_task(user.config("example_mcq"))
    assert done[f"{M}_example_mcq_acc"]["Overall"] == "1.0"
    (folder,) = user.folders()
    said = status(folder / M)["datasets"]["example_mcq"]
    assert (said["scorer"], said["rules"]) == (SCORER, RULES)


@pytest.mark.slow
def test_an_evaluate_of_ones_own_has_no_rules_of_ours(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    write(user, "example_mcq")
    with restore_classes():
        CustomMCQDataset.evaluate = lambda self, eval_file, **kwargs: {"Overall": 0.5}  # type: ignore[method-assign]
        run_task(user.config("example_mcq"))
    assert "scorer " not in capsys.readouterr().out
    (folder,) = user.folders()
    assert status(folder / M)["datasets"]["example_mcq"]["rules"] is None


@pytest.mark.slow
def test_the_command_of_vlmevalkit_has_the_rules_of_the_release(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    write(user, "example_mcq")
    flags = Flags(data=["example_mcq"], model=["m"], base_url=user.server.base_url, work_dir="results")
    assert run(flags, say=lambda text: None) == 0
    assert f"scorer {SCORER}, rules: {RULES}" in capsys.readouterr().out
    assert (
        status(user.desk / "results" / "m")["datasets"]["example_mcq"]["metrics"]["split=none|Overall"] == 1.0
    )


@pytest.mark.slow
def test_mmbench_itself_keeps_the_rules_of_the_repository_and_names_them(user: User) -> None:
    write(user, "MMBench_DEV_EN")
    path = str(user.data / "MMBench_DEV_EN.tsv")
    asked = ("-m", "openai/m", "--base-url", user.server.base_url)
    done = eyechart("run", path, *asked, cwd=user.desk)
    assert "scorer choice-vlmevalkit, parity: official, rules: VLMEvalKit e8e78f05" in done.out
    found = json.loads(eyechart("run", path, *asked, "--json", cwd=user.desk).out)
    assert (found["score"], found["rules"]) == (0.8, "VLMEvalKit e8e78f05")  # "Dog" is read as D
