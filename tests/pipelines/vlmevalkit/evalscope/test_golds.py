"""Golds at the doors of official programs stay as the file has them, and what can never match is named."""

from __future__ import annotations

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, ImageMCQDataset
from support.command import eyechart
from support.dataset_classes import restore_classes
from support.files import picture
from support.tasks import M, User, sheet

# An answer that means B, and the finding about it. EvalScope counts all of these as wrong.
NEVER_RIGHT = {
    "B ": "answers with blanks around them",
    " B": "answers with blanks around them",
    "b": "lower-case answers",
    "B.": "answers that are not among the options",
    "(B)": "answers that are not among the options",
    "dog": "answers that are not among the options",
}


def write(user: User, name: str, answer: str) -> None:
    (user.data / "a.png").write_bytes(picture())
    rows = [f"{k}\tQ{k}?\tcat\tdog\t{gold}\ta.png" for k, gold in enumerate(("B", answer))]
    text = "\n".join(["index\tquestion\tA\tB\tanswer\timage_path", *rows]) + "\n"
    (user.data / f"{name}.tsv").write_text(text, encoding="utf-8")
    user.server.answer = lambda asked: "B"


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "finding"), NEVER_RIGHT.items())
@pytest.mark.parametrize("name", ["mine", "my_circular"])
def test_a_gold_that_is_no_letter_is_wrong_and_named(
    user: User, name: str, answer: str, finding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(user, name, answer)
    done = run_task(user.config(name))
    assert done[f"{M}_{name}_acc"]["Overall"] == "0.5"
    said = capsys.readouterr().err
    assert finding in said or (name == "my_circular" and "answers that are not among the options" in said)
    (folder,) = user.folders()
    assert [row["answer"] for row in sheet(folder / M / f"{M}_{name}_exact_matching_result.xlsx")] == [
        "B",
        answer,
    ]


@pytest.mark.slow
def test_classes_keep_golds_too(user: User) -> None:
    write(user, "mine", "B ")
    with restore_classes():
        CustomMCQDataset.build_prompt = lambda self, line: ImageMCQDataset.build_prompt(self, line)  # type: ignore[method-assign]
        done = run_task(user.config("mine"))
    assert done[f"{M}_mine_acc"]["Overall"] == "0.5"


@pytest.mark.slow
@pytest.mark.parametrize("answer", NEVER_RIGHT)
def test_our_own_run_reads_them(user: User, answer: str) -> None:
    write(user, "mine", answer)
    place = str(user.data / "mine.tsv")
    done = eyechart(
        "run", place, "-m", "openai/m", "--base-url", user.server.base_url, "--json", "-q", cwd=user.desk
    )
    assert done.json["score"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["B ", " B"])
def test_the_check_of_a_file_names_blanks(user: User, answer: str) -> None:
    write(user, "mine", answer)
    done = eyechart("data", "check", str(user.data / "mine.tsv"), cwd=user.desk)
    assert "[answer-blanks]" in done.out
    assert repr(answer) in done.out


@pytest.mark.slow
def test_hints_of_a_task_name_no_flags(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    write(user, "mine", "B")
    with (user.data / "mine.tsv").open("a", encoding="utf-8") as file:
        file.write("2\tQ2?\tcat\tdog\tA\t\n")
    with pytest.raises(Exception, match="row 3 has no image") as caught:
        run_task(user.config("mine"))
    said = capsys.readouterr().err + str(caught.value)
    assert "give them an image, or leave them out" in said
    assert "--input" not in said
