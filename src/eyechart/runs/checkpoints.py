"""Checkpoints of a training in a folder: which there are, and whether one is written to its end.

A folder is read only if it has its configuration and its weights in full: every file of weights that an index
names is there, and as long as its own header says. If it or a folder beside it has a file that a trainer
writes last (`MARKERS`), it must have that file as well. And it must be the same at two looks some time apart.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from eyechart.errors import UsageError
from eyechart.files import read_json

MARKERS = ("trainer_state.json",)  # of transformers' Trainer, written after weights and optimizer
_STEP = re.compile(r"(\d+)\D*$")
_UNFINISHED = re.compile(r"(^|[-_.])(tmp|temp|part|partial|incomplete)([-_.]|$)", re.IGNORECASE)
_MOST_HEADER = 100 * 2**20  # bytes, as the format's own library allows
_OLD_FORMATS = ("pytorch_model.bin", "*.gguf")
_UNSETTLED = "it may still be written"
Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """A folder of weights, and the step of the training that its name ends with."""

    step: int
    path: Path

    def read_signature(self) -> Signature:
        """Name, size and time of every file; another one when anything is written."""
        found = []
        for path in sorted(self.path.iterdir()):
            if path.is_file():
                status = path.stat()
                found.append((path.name, status.st_size, status.st_mtime_ns))
        return tuple(found)


def list_checkpoints(folder: Path) -> list[Checkpoint]:
    """The folders below `folder` whose names end with a step, by step; complete or not."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder", hint="name the folder that checkpoints are written to")
    named = (
        (found, path)
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and not _UNFINISHED.search(path.name)
        if (found := _STEP.search(path.name))
    )
    return sorted(Checkpoint(int(found[1]), path) for found, path in named)


def find_fault(checkpoint: Checkpoint, marker: str = "") -> str:
    """Why a checkpoint cannot be read yet; empty if it is complete."""
    folder = checkpoint.path
    try:
        for name in [marker] if marker else _list_markers(folder):
            if not (folder / name).is_file():
                return f"{name} is missing"
        if not {"config.json", "adapter_config.json"} & {path.name for path in folder.iterdir()}:
            return "config.json is missing"
        weights = list(_list_weights(folder))
        return next((fault for path in weights if (fault := _check_weights(path))), "") or (
            "" if weights or _has_old_weights(folder) else "there are no weights"
        )
    except (OSError, ValueError) as err:  # a file that is half there, or gone since
        return f"it cannot be read: {err}"


def _list_markers(folder: Path) -> Iterator[str]:
    """The last files of a trainer, if a checkpoint here has them."""
    for name in MARKERS:
        if any(folder.parent.glob(f"*/{name}")):
            yield name


def _list_weights(folder: Path) -> Iterator[Path]:
    """The files of weights: those that the index names, or all."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        content = read_json(index, dict[str, object])
        named = content.get("weight_map") if content else None
        if not isinstance(named, dict) or not named:
            raise ValueError(f"{index.name} names no files")
        yield from (folder / Path(str(name)).name for name in sorted(set(named.values())))
        return
    yield from sorted(folder.glob("*.safetensors"))


def _check_weights(path: Path) -> str:
    """Why a file of safetensors is not complete: it is as long as its header says."""
    if not path.is_file():
        return f"{path.name} is missing"
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size, _MOST_HEADER):
            return f"{path.name} is not complete"
        header = json.loads(file.read(length))
    ends = [one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"]
    return "" if 8 + length + max(ends, default=0) == size else f"{path.name} is not complete"


def _has_old_weights(folder: Path) -> bool:
    """Weights of formats that do not tell how long they are: the two looks must do."""
    return any(path.stat().st_size for pattern in _OLD_FORMATS for path in folder.glob(pattern))


class SettledCheckpoints:
    """Finds checkpoints that are complete and were the same at the look before."""

    def __init__(self, folder: Path, marker: str = "") -> None:
        self.folder = folder
        self.faults: dict[str, str] = {}  # of the latest look, by name
        self._marker = marker
        self._seen: dict[Path, Signature] = {}

    def look(self, is_known: Callable[[Checkpoint, Signature], bool]) -> list[Checkpoint]:
        """Those that can be read, without the known ones."""
        settled: list[Checkpoint] = []
        self.faults = {}
        for checkpoint in list_checkpoints(self.folder):
            name = checkpoint.path.name
            try:
                signature = checkpoint.read_signature()
            except OSError:  # deleted meanwhile
                continue
            if is_known(checkpoint, signature):
                continue
            before, self._seen[checkpoint.path] = self._seen.get(checkpoint.path), signature
            if fault := find_fault(checkpoint, self._marker):
                self.faults[name] = fault
            elif before == signature:
                settled.append(checkpoint)
            else:
                self.faults[name] = _UNSETTLED
        return settled

    def is_unchanged(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint is as it was at the latest look, or gone; else it is being written again."""
        with contextlib.suppress(OSError):
            if checkpoint.read_signature() != self._seen.get(checkpoint.path):
                self.faults[checkpoint.path.name] = _UNSETTLED
                return False
        return True
