"""Where a task's files go, and when an earlier folder is taken up again."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task
from eyechart.pipelines.vlmevalkit.evalscope.output import (
    MARKER,
    find_folders,
    hide_keys,
    identify_task,
    take_folder,
    write_config,
)


def task(work_dir: Path | str = "outputs", **fields: Any) -> Task:
    model = ModelEntry(spec="openai/m", name="m", options={"api_key": "sk-123456", "temperature": 0.0})
    return Task(models=(model,), data=(DataEntry(name="d", source="d"),), work_dir=str(work_dir), **fields)


def take(asked: Task, *, finish: bool = True) -> Path:
    with take_folder(asked) as place:
        write_config(place.folder, asked)
        if finish:
            place.mark(is_done=True)
        return place.folder


def test_tasks_that_are_done_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = [take(task(tmp_path)) for _ in range(5)]  # all within a second
    assert len({*folders}) == 5
    assert sorted(folders) == folders
    assert folders[-1].name[:15] <= datetime.now().strftime("%Y%m%d_%H%M%S"), "none is ahead of the clock"
    assert find_folders(task(tmp_path)) == folders[::-1]


def test_one_that_is_not_done_is_taken_up_by_the_same_task_alone(tmp_path: Path) -> None:
    first = take(task(tmp_path), finish=False)
    assert take(task(tmp_path, options={"limit": 3})) != first
    assert take(task(tmp_path, options={"concurrency": 3}), finish=False) == first
    assert take(task(tmp_path)) == first
    assert take(task(tmp_path)) != first


def test_one_that_is_done_is_taken_up_if_it_is_to_be_reused(tmp_path: Path) -> None:
    first = take(task(tmp_path))
    assert take(task(tmp_path, reuse=True)) == first


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    with take_folder(task(tmp_path)) as one, take_folder(task(tmp_path)) as other:
        assert one.folder != other.folder


def test_markers_that_cannot_be_read_are_somebody_else_s(tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"task": 3}'):
        first = take(task(tmp_path), finish=False)
        (first / MARKER).write_text(text, encoding="utf-8")
        assert take(task(tmp_path)) != first


def test_keys_and_pace_are_no_part_of_what_is_asked() -> None:
    usual = task()
    (model,) = usual.models
    other = replace(model, options={**model.options, "api_key": "sk-999999", "timeout_s": 3.0, "retries": 0})
    assert identify_task(replace(usual, models=(other,))) == identify_task(usual)
    hotter = replace(model, options={**model.options, "temperature": 1.0})
    assert identify_task(replace(usual, models=(hotter,))) != identify_task(usual)


@given(st.text(max_size=30), st.text(max_size=30))
def test_keys_are_hidden_wherever_they_stand(before: str, after: str) -> None:
    assert "sk-123456" not in hide_keys(f"{before}sk-123456{after}", task())


def test_the_marker_holds_no_key(tmp_path: Path) -> None:
    folder = take(task(tmp_path))
    assert json.loads((folder / MARKER).read_text(encoding="utf-8")).keys() == {"schema", "task", "state"}
