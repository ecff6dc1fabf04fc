"""Watching a training: every new checkpoint is evaluated, and the curve says what is sure of it.

A `Watch` keeps what was evaluated in ``watch-NAME.json`` below the folder for runs, which several processes
may write to: a trainer's callback, ``eyechart watch``, a cron job. The curve compares the checkpoints
question by question (`stats.curves`) and stays when old checkpoints are deleted. ``watch-NAME.html`` shows
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import EyechartError, UsageError
from eyechart.files import atomic_write, read_json
from eyechart.models.serving import keep_servers
from eyechart.option import with_options
from eyechart.report.pages import CurvePoint, WatchedCurve, write_watch_page
from eyechart.runs.comparison import label_runs, share_questions
from eyechart.runs.evaluate import evaluate
from eyechart.runs.models import choose_models
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.runs.results import Run
from eyechart.stats.curves import compare_checkpoints
from eyechart.store.folder import make_file_name, prepare_folder
from eyechart.terminal import print_note

EVERY_S, SETTLE_S, POINTS = 30.0, 3.0, 1.0
MakePlans = Callable[[str | object, Options], Sequence[Plan]]


class _Evaluated(msgspec.Struct, frozen=True):
    """A checkpoint in the file: its runs by benchmark."""

    step: int
    name: str
    signature: str  # of its files, by which a folder that is written again is noticed
    runs: dict[str, str]


@dataclass(kw_only=True)
class Watch:
    """The checkpoints of a folder, evaluated on the same questions."""

    folder: Path
    source: str  # names what is asked, for the name of the file
    make_plans: MakePlans  # from a model and its options to the runs of one checkpoint
    model: str = "hf"
    options: Mapping[str, Any]
    points: float = POINTS  # percentage points below which a gain does not count as one
    marker: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.points < 100:
            raise UsageError(f"{self.points} points", hint="give a number of percentage points above 0")
        options = Options.of(self.options)
        self.out = Path(options.out)
        digest = _hash([self.source, self.model, options.list_given("data", "request", "score")])[:6]
        self._file = self.out / f"watch-{make_file_name(self.folder.absolute().name)}-{digest}.json"
        self.page = self._file.with_suffix(".html")
        self._settled = SettledCheckpoints(self.folder, self.marker)
        self._failed: dict[str, Signature] = {}
        self._drawn: tuple[list[_Evaluated], list[WatchedCurve]] = ([], [])
        self.is_interrupted = False
        name_checkpoint(self.model, self.folder)  # a name that cannot be is refused at once

    def run(
        self, *, once: bool, every_s: float = EVERY_S, settle_s: float = SETTLE_S
    ) -> Iterator[Checkpoint]:
        """Evaluate what is complete; without `once`, look again every so often. Gives those evaluated.

        One that fails is left out with a note. Raises what was wrong with the first if all have failed: the
        questions or the options may be at fault.
        """
        with keep_servers(), _keep_weights(self.model):
            if self._settled.look(self._is_known) or self.waiting:
                time.sleep(settle_s)
            troubles: dict[str, EyechartError] = {}  # not told of yet
            while True:
                for checkpoint in self._settled.look(self._is_known):
                    try:  # another evaluation may have taken hours since that look
                        if self._settled.is_unchanged(checkpoint) and self.evaluate(checkpoint):
                            yield checkpoint
                    except EyechartError as err:
                        troubles[checkpoint.path.name] = err
                    if self.is_interrupted:
                        return
                if troubles and not self.read():
                    raise next(iter(troubles.values()))
                for name, trouble in troubles.items():
                    print_note(f"{name} is left out: {trouble}")
                troubles.clear()
                if once:
                    return
                time.sleep(every_s)

    @property
    def waiting(self) -> Mapping[str, str]:
        """Checkpoints that were not read at the latest look, and why."""
        return self._settled.faults

    def evaluate(self, checkpoint: Checkpoint) -> bool:
        """Run the benchmarks on a checkpoint; False if it was interrupted, or failed before as it is."""
        name = checkpoint.path.name
        try:
            signature = checkpoint.read_signature()
            if self._failed.get(name) == signature:
                return False
            self._failed[name] = signature
            runs = self._evaluate(checkpoint)
        except (EyechartError, OSError) as err:
            if not checkpoint.path.is_dir():
                raise EyechartError("its folder was deleted before it was evaluated") from err
            if isinstance(err, OSError):
                raise EyechartError(str(err)) from err
            raise
        if self.is_interrupted:
            return False
        self._write(_Evaluated(checkpoint.step, name, _hash(signature), runs))
        return True

    def _evaluate(self, checkpoint: Checkpoint) -> dict[str, str]:
        # A class is identified by its arguments, not by what is in the folder: nothing old may count.
        known = {one.name for one in self.read()}
        is_new = not self.model.startswith("python:") or checkpoint.path.name not in known
        given = self.options if is_new else {**self.options, "fresh": True}
        [(chosen, options)] = choose_models([name_checkpoint(self.model, checkpoint.path)], given)
        runs = {}
        for plan in self.make_plans(chosen, options):
            done = evaluate(plan)
            if done.is_interrupted:
                self.is_interrupted = True
                break
            if done.score is None:
                raise EyechartError(
                    f"none of its questions has a score ({done.outcomes.get('failed', 0)} failed)",
                    hint=f"see: eyechart show {done.folder}",
                )
            runs[plan.benchmark.name] = str(done.folder)
        return runs

    # -- What was evaluated

    def read(self) -> list[_Evaluated]:
        """By step; those whose runs are still there."""
        known = (read_json(self._file, dict[str, list[_Evaluated]]) or {}).get("checkpoints", [])
        found = [one for one in known if all(Path(run).is_dir() for run in one.runs.values())]
        return sorted(found, key=lambda one: (one.step, one.name))

    def _is_known(self, checkpoint: Checkpoint, signature: Signature) -> bool:
        return (checkpoint.path.name, _hash(signature)) in {(one.name, one.signature) for one in self.read()}

    def _write(self, new: _Evaluated) -> None:
        prepare_folder(self.out)
        others = [one for one in self.read() if one.name != new.name]
        with atomic_write(self._file) as place:
            place.write_bytes(msgspec.json.encode({"checkpoints": [*others, new]}))
        with contextlib.suppress(EyechartError):  # the runs may not be comparable: `curves` says so
            write_watch_page(self.page, self.folder.absolute().name, self.curves())

    def curves(self) -> list[WatchedCurve]:
        """A curve per benchmark, over the checkpoints that were evaluated on it."""
        evaluated = self.read()
        if evaluated != self._drawn[0]:
            by_name: dict[str, list[tuple[_Evaluated, Run]]] = {}
            for one in evaluated:
                for benchmark, folder in one.runs.items():
                    by_name.setdefault(benchmark, []).append((one, Run(folder)))
            self._drawn = evaluated, [self._draw(benchmark, found) for benchmark, found in by_name.items()]
        return self._drawn[1]

    def _draw(self, benchmark: str, evaluated: Sequence[tuple[_Evaluated, Run]]) -> WatchedCurve:
        runs = [run for _, run in evaluated]
        shared = share_questions(runs, label_runs(runs))
        if not shared.ids:
            why = "eyechart compare says why, run by run"
            raise UsageError("no question was scored in all runs", hint=why)
        curve = compare_checkpoints(
            [shared.values[str(run.folder)] for run in runs], shared.weights, shared.clusters
        )
        points = tuple(
            CurvePoint(
                step=one.step,
                name=one.name,
                run=str(run.folder),
                score=curve.means[at],
                ci95=run.ci95,
                since_first=curve.get_gain(0, at),
                since_best=curve.get_gain(curve.best, at),
            )
            for at, (one, run) in enumerate(evaluated)
        )
        plateau = curve.find_plateau(self.points / 100)
        return WatchedCurve(
            benchmark=benchmark,
            points=points,
            best=curve.best,
            plateau=None if plateau is None else points[plateau].step,
            margin=self.points / 100,
            n=len(shared.ids),
            n_clusters=len(set(shared.clusters)) if shared.clusters else len(shared.ids),
        )

    def to_json(self) -> dict[str, Any]:
        """The curves, and which checkpoints wait."""
        return {
            "curves": [one.to_json() for one in self.curves()],
            "waiting": dict(self.waiting),
            "page": str(self.page),
        }


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def name_checkpoint(model: str, folder: Path) -> str:
    """The model of a checkpoint, from the kind of model and its options.

    A Python class gets the folder as its argument `checkpoint`.

    >>> name_checkpoint("hf,compile=true", Path("out/checkpoint-10"))
    'hf/out/checkpoint-10,compile=true'
    >>> name_checkpoint("python:mine.py:Mine", Path("out/checkpoint-10"))
    'python:mine.py:Mine,checkpoint=out/checkpoint-10'
    """
    kind, comma, rest = model.partition(",")
    if kind.startswith("python:"):
        return f"{model},checkpoint={folder}"
    provider, slash, name = kind.partition("/")
    if slash and name:
        raise UsageError(
            f"-m {kind}: the checkpoints are the models",
            hint=f"name only what loads them, with its options: -m {provider}{comma}{rest}",
        )
    return f"{provider}/{folder}{comma}{rest}"


def _keep_weights(model: str) -> AbstractContextManager[None]:
    if model.partition(",")[0].strip("/") == "hf":
        with contextlib.suppress(ImportError):  # the first checkpoint is refused with the extra to install
            from eyechart.models.hf.weights import keep_weights

            return keep_weights()
    return contextlib.nullcontext()


@with_options(Options)
def watch(
    folder: str | Path,
    source: Any,
    model: str = "hf",
    *,
    once: bool = True,
    points: float = POINTS,
    marker: str = "",
    every_s: float = EVERY_S,
    settle_s: float = SETTLE_S,
    **options: Any,
) -> Watch:
    """Evaluate every new checkpoint in `folder` on `source`, and return the `Watch` with its `curves()`.

    `model`: what loads a checkpoint, with its options: ``hf``, ``hf,compile=true``, ``vllm``, or a class
    ``python:file.py:Class`` that takes the argument `checkpoint`. With ``once=False`` it looks again every
    `every_s` seconds until it is interrupted. A checkpoint is read when its weights are complete and two
    looks `settle_s` apart agree; `marker` names a file that it must have.
    """
    watching = Watch(
        folder=Path(folder),
        source=str(source),
        make_plans=lambda chosen, own: [make_plan(source, chosen, own)],
        model=model,
        options=options,
        points=points,
        marker=marker,
    )
    with contextlib.suppress(KeyboardInterrupt) if not once else contextlib.nullcontext():
        for _ in watching.run(once=once, every_s=every_s, settle_s=settle_s):
            pass
    if once and watching.is_interrupted:
        raise KeyboardInterrupt("what was evaluated is kept; the same call goes on with the next checkpoint")
    return watching


# -- Checkpoints in a folder


MARKER = "trainer_state.json"  # of transformers' Trainer, written after weights and optimizer
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
        files = [(path.name, path.stat()) for path in sorted(self.path.iterdir()) if path.is_file()]
        return tuple((name, status.st_size, status.st_mtime_ns) for name, status in files)


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
    """Why a checkpoint cannot be read yet; empty if it is complete.

    It needs its configuration and its weights in full: every file of weights that an index names, as long as
    its own header says; and the file that a trainer writes last (`MARKER`), if a folder beside it has one.
    """
    folder = checkpoint.path
    try:
        last = marker or (MARKER if any(folder.parent.glob(f"*/{MARKER}")) else "")
        if last and not (folder / last).is_file():
            return f"{last} is missing"
        if not {"config.json", "adapter_config.json"} & {path.name for path in folder.iterdir()}:
            return "config.json is missing"
        if weights := _list_weights(folder):
            return next((fault for path in weights if (fault := _check_weights(path))), "")
        # Older formats do not tell how long they are: the two looks must do.
        old = (path for pattern in _OLD_FORMATS for path in folder.glob(pattern))
        return "" if any(path.stat().st_size for path in old) else "there are no weights"
    except (OSError, ValueError) as err:  # a file that is half there, or gone since
        return f"it cannot be read: {err}"


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


def _list_weights(folder: Path) -> list[Path]:
    """The files of weights: those that the index names, or all."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        content = read_json(index, _Index)
        if content is None or not content.weight_map:
            raise ValueError(f"{index.name} names no files")
        return [folder / Path(name).name for name in sorted(set(content.weight_map.values()))]
    return sorted(folder.glob("*.safetensors"))


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
            try:
                signature = checkpoint.read_signature()
            except OSError:  # deleted meanwhile
                continue
            if is_known(checkpoint, signature):
                continue
            before, self._seen[checkpoint.path] = self._seen.get(checkpoint.path), signature
            fault = find_fault(checkpoint, self._marker)
            if fault or before != signature:
                self.faults[checkpoint.path.name] = fault or _UNSETTLED
            else:
                settled.append(checkpoint)
        return settled

    def is_unchanged(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint is as it was at the latest look, or gone; else it is being written again."""
        with contextlib.suppress(OSError):
            if checkpoint.read_signature() != self._seen.get(checkpoint.path):
                self.faults[checkpoint.path.name] = _UNSETTLED
                return False
        return True
