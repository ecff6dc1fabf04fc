"""Where a task's files go: a folder named after the time, which the same task takes up again if cut off.

A marker in the folder says which task it is of and whether it is done. What decides is what is asked, not
how fast or how patiently.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from eyechart.compat.evalscope.task import Task
from eyechart.errors import DataError, EyechartError, StoreError, UsageError
from eyechart.store import folder as folders

MARKER = "eyechart_task.json"
CONFIGS = "configs"  # the configuration is kept there as soon as a task begins
RUNS = "runs"  # eyechart's own run folders
FORMATS = ("xlsx", "tsv", "json")  # of predictions
_STAMP = re.compile(r"\d{8}_\d{6}(_\d{3})?")
_PASSWORD = re.compile(r"(://)[^\s/@'\"]+@")
_FORMAT = "%Y%m%d_%H%M%S"
# What changes no answer: with these changed, it is still the same task.
_PACE = frozenset({
    "api_key", "judge_api_key", "timeout_s", "retries", "concurrency", "progress", "allow_private_urls",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder of a task."""

    folder: Path
    identity: str
    is_marked: bool
    is_new: bool = False

    def mark(self, *, is_done: bool) -> None:
        """Say in the folder how far the task is."""
        if self.is_marked:
            content = {"schema": 1, "task": self.identity, "state": "done" if is_done else "running"}
            folders.write_json(self.folder / MARKER, content)

    def discard(self) -> None:
        """Leave nothing behind of a task that did not begin; one that did keeps all."""
        if self.is_new and not (self.folder / CONFIGS).exists():
            folders.discard(self.folder)


@contextlib.contextmanager
def take_place(task: Task) -> Iterator[Place]:
    """The folder of a task, made or found, and kept from other processes meanwhile."""
    identity = identity_of(task)
    if task.use_cache is not None or not task.is_stamped:
        folder = _root(task)
        if task.use_cache is not None and not folder.is_dir():
            raise UsageError(
                f"use_cache: there is no folder {folder}", hint="it names that of an earlier task"
            )
        folders.make(folder)
        yield Place(folder=folder, identity=identity, is_marked=False)
        return
    with contextlib.ExitStack() as stack:
        root = _root(task)
        earlier = _earlier(root, identity, stack, with_done=task.reuse)
        folder = earlier or _new(root, stack)
        place = Place(folder=folder, identity=identity, is_marked=True, is_new=earlier is None)
        place.mark(is_done=False)
        yield place


def identity_of(task: Task) -> str:
    """What is asked, and of whom, as a short name; neither keys nor pace are in it."""
    content = {
        "models": [[one.spec, one.name, _lasting(one.options)] for one in task.models],
        "data": [[one.name, one.source] for one in task.data],
        "options": _lasting(task.options),
    }
    encoded = msgspec.json.encode(content, order="deterministic", enc_hook=repr)
    return hashlib.sha256(encoded).hexdigest()[:16]


def find_predictions(task: Task, model: str, stem: str) -> Path:
    """The newest file of predictions, for a task that only scores."""
    for place in places_of(task):
        if path := next(predictions_in(place / model, stem), None):
            return path
    between = "" if task.use_cache is not None or not task.is_stamped else "*/"
    looked = f"{Path(task.use_cache or task.work_dir)}/{between}{model}/{stem}.xlsx"
    hint = "mode: infer or mode: all makes them"
    pickles = (place / model / f"{stem}.pkl" for place in places_of(task))
    if pickle := next((path for path in pickles if path.is_file()), None):
        hint = f"{pickle.name} is a pickle, which can run any code: where you trust it, save it as .xlsx"
    raise DataError(
        f"{stem}: there are no predictions to score (looked for {looked}, .tsv, .json)", hint=hint
    )


def places_of(task: Task) -> list[Path]:
    """The folders in which a task's files may lie, the newest first."""
    root = _root(task)
    return [root] if task.use_cache is not None or not task.is_stamped else list(_stamped(root))


def predictions_in(folder: Path, stem: str) -> Iterator[Path]:
    """The files of predictions of one pair that lie in a folder, whoever wrote them."""
    yield from (path for ending in FORMATS if (path := folder / f"{stem}.{ending}").is_file())


def _root(task: Task) -> Path:
    """The folder that the task names."""
    root = Path(task.use_cache or task.work_dir).expanduser()
    if root.is_file():
        raise UsageError(
            f"{root} is a file, and results need a folder", hint="choose a work_dir of another name"
        )
    return root


def _lasting(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sorted(options.items()) if name not in _PACE}


def _stamped(root: Path) -> Iterator[Path]:
    """The folders of earlier tasks, the newest first."""
    if root.is_dir():
        found = [one for one in root.iterdir() if _STAMP.fullmatch(one.name) and one.is_dir()]
        yield from sorted(found, key=lambda one: one.name, reverse=True)


def _earlier(root: Path, identity: str, stack: contextlib.ExitStack, *, with_done: bool) -> Path | None:
    """The newest folder of the same task that is not done, unless another process is at it."""
    for folder in _stamped(root):
        try:
            said = msgspec.json.decode((folder / MARKER).read_bytes())
        except (OSError, msgspec.DecodeError):
            continue  # somebody else's, or of before there were markers
        if not isinstance(said, Mapping) or said.get("task") != identity:
            continue
        if said.get("state") == "done" and not with_done:
            continue
        with contextlib.suppress(StoreError):  # in use
            stack.enter_context(folders.hold(folder))
            return folder
    return None


def _new(root: Path, stack: contextlib.ExitStack) -> Path:
    """A folder named after the present second; further ones of the same second are numbered, in order."""
    folders.make(root)
    stamp = datetime.now().strftime(_FORMAT)  # by the clock of people
    for number in itertools.count(1):
        folder = root / (stamp if number == 1 else f"{stamp}_{number:03}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as err:
            raise StoreError(f"{folder}: {err.strerror or err}", hint="choose another work_dir") from err
        stack.enter_context(folders.hold(folder))
        return folder
    raise AssertionError("numbers do not end")


def write_config(place: Place, task: Task) -> None:
    """Keep the configuration beside the results, without keys; `eyechart run` runs it again."""
    import yaml

    from eyechart.replacing import replacing

    folders.make(place.folder / CONFIGS)
    text = yaml.safe_dump(plain(task), sort_keys=False, allow_unicode=True)
    with replacing(place.folder / CONFIGS / "task_config.yaml") as path:
        path.write_text(hidden(text, task), encoding="utf-8")


def plain(task: Task) -> Any:
    """The configuration of a task as plain values, without keys."""
    try:
        return msgspec.json.decode(msgspec.json.encode(dict(task.described), enc_hook=str))
    except (TypeError, ValueError) as err:
        raise EyechartError(f"the configuration cannot be written down: {err}") from err


def hidden(text: str, task: Task) -> str:
    """A text without the keys of a task, whoever put them there, nor a password in an address."""
    text = _PASSWORD.sub(r"\1[secret]@", text)
    for key in task.secrets():
        if len(key) > 3:  # what is shorter keeps nobody out, and stands in many a word
            text = text.replace(key, "[secret]")
    return text
