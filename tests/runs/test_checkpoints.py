"""Which folders are checkpoints, and that a half-written one is never read."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.runs.watch import Checkpoint, SettledCheckpoints, find_fault, list_checkpoints


def write_weights(path: Path, n: int = 4) -> Path:
    """A file of safetensors with n numbers."""
    header = {
        "__metadata__": {"format": "pt"},
        "w": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]},
    }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 4 * n)
    return path


def write_checkpoint(folder: Path, *, files: int = 1) -> Checkpoint:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if files == 1:
        write_weights(folder / "model.safetensors")
    else:
        names = [f"model-{k}-of-{files}.safetensors" for k in range(files)]
        for name in names:
            write_weights(folder / name)
        index = {"metadata": {}, "weight_map": {f"w{k}": name for k, name in enumerate(names)}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return Checkpoint(int(folder.name.rpartition("-")[2]), folder)


def test_they_are_found_by_their_steps(tmp_path: Path) -> None:
    for name in ("checkpoint-1000", "step_200", "epoch2-step30", "global_step5", "final", ".checkpoint-7",
                 "tmp-checkpoint-8", "checkpoint-9.tmp", "checkpoint-9-partial"):  # fmt: skip
        (tmp_path / name).mkdir()
    (tmp_path / "notes-12").write_text("")
    assert [(one.step, one.path.name) for one in list_checkpoints(tmp_path)] == [
        (5, "global_step5"), (30, "epoch2-step30"), (200, "step_200"), (1000, "checkpoint-1000"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no such folder"):
        list_checkpoints(tmp_path / "gone")


@pytest.mark.parametrize("files", [1, 3])
def test_a_whole_one_is_complete(tmp_path: Path, files: int) -> None:
    assert find_fault(write_checkpoint(tmp_path / "checkpoint-1", files=files)) == ""


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cut_file_of_weights_is_not_complete(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    checkpoint = write_checkpoint(tmp_path_factory.mktemp("cut") / "checkpoint-1", files=2)
    path = data.draw(st.sampled_from(sorted(checkpoint.path.glob("*.safetensors"))))
    os.truncate(path, data.draw(st.integers(0, path.stat().st_size - 1)))
    assert find_fault(checkpoint)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda at: (at / "config.json").unlink(), "config.json is missing"),
        (lambda at: (at / "model-1-of-3.safetensors").unlink(), "model-1-of-3.safetensors is missing"),
        (lambda at: (at / "model.safetensors.index.json").write_text("{"), "it cannot be read"),
        (lambda at: (at / "model-0-of-3.safetensors").write_bytes(b"\xff" * 64), "is not complete"),
        (lambda at: [path.unlink() for path in at.glob("model*")], "there are no weights"),
        (lambda at: [path.unlink() for path in at.iterdir()], "config.json is missing"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, harm: Any, told: str) -> None:
    checkpoint = write_checkpoint(tmp_path / "checkpoint-1", files=3)
    harm(checkpoint.path)
    assert told in find_fault(checkpoint)


def test_the_file_that_a_trainer_writes_last(tmp_path: Path) -> None:
    first, second = (write_checkpoint(tmp_path / f"checkpoint-{k}") for k in (1, 2))
    assert find_fault(second) == ""
    (first.path / "trainer_state.json").write_text("{}")
    assert find_fault(second) == "trainer_state.json is missing"  # its trainer is not done with it
    assert find_fault(first) == ""
    assert find_fault(first, "DONE") == "DONE is missing"
    (second.path / "DONE").write_text("")
    assert find_fault(second, "DONE") == ""


def test_only_what_stays_the_same_is_read(tmp_path: Path) -> None:
    settled = SettledCheckpoints(tmp_path)
    one = write_checkpoint(tmp_path / "checkpoint-1")

    def look() -> list[int]:
        return [found.step for found in settled.look(lambda *_: False)]

    assert look() == []
    assert settled.faults == {"checkpoint-1": "it may still be written"}
    assert look() == [1]
    (one.path / "optimizer.pt").write_bytes(b"0" * 10)
    assert look() == []
    assert look() == [1]
    assert settled.look(lambda checkpoint, signature: checkpoint == one) == []
