"""Judge prompts: ours by default, a user's from a file that is checked before the first request."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.registry import judge_prompts
from eyechart.score.judged import fill_names, list_names, read_prompts, render_call
from eyechart.types import JudgeCall


def read(folder: Path, content: str) -> dict[str, str]:
    path = folder / "judge.yaml"
    path.write_text(content, encoding="utf-8")
    return read_prompts(path)


@pytest.mark.parametrize("stage", judge_prompts.names())
def test_our_own_wording_could_be_a_users(stage: str, tmp_path: Path) -> None:
    ours = {stage: judge_prompts.get(stage).text}
    assert read(tmp_path, json.dumps(ours)) == ours
    assert "answer" in list_names(stage)


def test_a_users_wording_takes_the_place_of_ours(tmp_path: Path) -> None:
    prompts = read(tmp_path, 'mcqa: "Which of {options} is {answer}? \\\\boxed{letter}"\n')
    values = {"question": "Which?", "options": "A. cat", "answer": "{question}"}
    call = JudgeCall(stage="mcqa", values=values)
    assert render_call(call, prompts) == "Which of A. cat is {question}? \\boxed{letter}"
    assert render_call(call, {}).count("Which?") == 1


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("", "does not map names to texts", "mcqa, mmlongbench"),
        ("- a\n- b\n", "does not map names to texts", "mcqa, mmlongbench"),
        ("mcqa: [1]\n", "'mcqa' is list, not text", "mcqa, mmlongbench"),
        ("mcqa: [1", "cannot be read", "a YAML or JSON file"),
        ("mcqb: '{answer}'\n", "unknown stage of judging 'mcqb'", "mcqa"),
        ("mcqa: 'Which letter?'\n", "the prompt of mcqa lacks {answer}", "{answer}"),
        ("mcqa: '{question} {anwser}'\n", "mcqa does not fill in {anwser}", "{options}, {answer}"),
        ("mcqa: '{gold} {answer}'\n", "mcqa does not fill in {gold}", "{question}"),
    ],
)
def test_a_malformed_file_is_refused(content: str, message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, content)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("name", "reason"), [("nowhere.yaml", "No such file or directory"), ("", "Is a directory")]
)
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_prompts(tmp_path / name)
    assert refused.value.message == f"{tmp_path / name} cannot be read: {reason}"
    assert "--judge-prompts takes a YAML or JSON file" in refused.value.hint
    assert all(stage in refused.value.hint for stage in judge_prompts.names())


@given(question=st.text(), answer=st.text())
def test_what_is_filled_in_is_not_looked_at_again(question: str, answer: str) -> None:
    filled = fill_names("{question}|{answer}", {"question": question, "answer": answer})
    assert filled == f"{question}|{answer}"
