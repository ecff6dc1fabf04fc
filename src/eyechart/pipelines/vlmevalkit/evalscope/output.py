"""What a task writes: its folder, the status file of each model, files of predictions, and what it prints.

A task has a folder named after the time, in which the same task resumes after an interruption. A marker file
holds the identity of the task and whether it is done; another concurrency or timeout is still the same task.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import yaml
from rich.cells import cell_len

from eyechart.data.files.replies import read_replies
from eyechart.errors import API_FAILURE, DataError, EyechartError, StoreError, UsageError
from eyechart.files import atomic_write, lock_handle, make_folder, read_json
from eyechart.option import list_option_names
from eyechart.pipelines.vlmevalkit.evalscope.config import Task
from eyechart.pipelines.vlmevalkit.report import (
    Line,
    TrialFiles,
    get_prediction,
    survey_results,
    write_trials,
)
from eyechart.pipelines.vlmevalkit.vlmeval.smp import CUT_HINT, is_frame, to_json_value
from eyechart.registry import exporter
from eyechart.report.export import open_sheet
from eyechart.report.rows import open_text_file
from eyechart.report.table import describe_scorer
from eyechart.runs.options import Options
from eyechart.runs.plan import choose_benchmark
from eyechart.store.folder import discard_folder, lock_folder, prepare_folder, write_json
from eyechart.terminal import print_text, to_one_line
from eyechart.types import Export, Result

MARKER = "eyechart_task.json"
CONFIGS = "configs"  # holds the configuration as soon as a task runs
RUNS = "runs"  # eyechart's own run folders
FORMATS = ("xlsx", "tsv", "json")  # of predictions
_STAMP = re.compile(r"\d{8}_\d{6}(_\d{3})?")
_PASSWORD = re.compile(r"(://)[^\s/@'\"]+@")
# Options that change no reply: with other values of these, it is still the same task.
_PACE = frozenset({
    *list_option_names(Options, affects=["pace", "output"]), "allow_private_urls", "thinking",
})  # fmt: skip


class TaskFolder(NamedTuple):
    """The folder of a task."""

    folder: Path
    identity: str = ""  # empty for a folder that the task names, which gets no marker

    def mark(self, *, is_done: bool) -> None:
        if self.identity:
            content = {"schema": 1, "task": self.identity, "state": "done" if is_done else "running"}
            write_json(self.folder / MARKER, content)


@contextmanager
def take_folder(task: Task) -> Iterator[TaskFolder]:
    """Make or find the folder of a task, and lock it. A new folder is removed if the task does not run."""
    root = _root(task)
    if _is_named(task):
        if task.use_cache is not None and not root.is_dir():
            raise UsageError(f"use_cache: no such folder: {root}", hint="give the folder of an earlier task")
        prepare_folder(root)
        yield TaskFolder(root)
        return
    identity = identify_task(task)
    with ExitStack() as stack:
        earlier = _earlier(root, identity, stack, with_done=task.reuse)
        place = TaskFolder(earlier or _new(root, stack), identity)
        place.mark(is_done=False)
        try:
            yield place
        finally:
            if earlier is None and not (place.folder / CONFIGS).exists():
                discard_folder(place.folder)


def identify_task(task: Task) -> str:
    """A hash of the models, the data and the options that change replies; without API keys."""

    def lasting(options: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in sorted(options.items()) if name not in _PACE}

    content = {
        "models": [[one.spec, one.name, lasting(one.options)] for one in task.models],
        "data": [[one.name, one.source] for one in task.data],
        "options": lasting(task.options),
    }
    encoded = msgspec.json.encode(content, order="deterministic", enc_hook=repr)
    return hashlib.sha256(encoded).hexdigest()[:16]


def find_predictions(task: Task, model: str, stem: str) -> Path:
    """The newest file of predictions of a model and a dataset, for a task that only scores."""
    for place in find_folders(task):
        if path := next(find_prediction_files(place / model, stem), None):
            return path
    between = "" if _is_named(task) else "*/"
    looked = f"{Path(task.use_cache or task.work_dir)}/{between}{model}/{stem}.xlsx"
    hint = "mode: infer or mode: all writes them"
    if any((place / model / f"{stem}.pkl").is_file() for place in find_folders(task)):
        hint = f"{stem}.pkl is a pickle, which can run any code: if you trust it, save it as .xlsx"
    raise DataError(f"{stem}: no predictions to score (looked for {looked}, .tsv, .json)", hint=hint)


def find_folders(task: Task) -> list[Path]:
    """The folders that may hold the files of a task, the newest first."""
    root = _root(task)
    return [root] if _is_named(task) else _stamped(root)


def _is_named(task: Task) -> bool:
    """Whether the files go into the folder that the task names, not into one named after the time."""
    return task.use_cache is not None or not task.is_stamped


def find_prediction_files(folder: Path, stem: str) -> Iterator[Path]:
    """The files of predictions of a model and a dataset in a folder."""
    yield from (path for ending in FORMATS if (path := folder / f"{stem}.{ending}").is_file())


def _root(task: Task) -> Path:
    """The folder that the task names."""
    root = Path(task.use_cache or task.work_dir).expanduser()
    if root.is_file():
        raise UsageError(f"{root} is a file, not a folder", hint="choose a work_dir of another name")
    return root


def _stamped(root: Path) -> list[Path]:
    """The folders of earlier tasks, the newest first."""
    return sorted(
        (one for one in root.glob("*") if _STAMP.fullmatch(one.name) and one.is_dir()), reverse=True
    )


def _earlier(root: Path, identity: str, stack: ExitStack, *, with_done: bool) -> Path | None:
    """The newest folder of the same task that is not done and not in use by another process."""
    for folder in _stamped(root):
        said = read_json(folder / MARKER, dict[str, Any]) or {}  # none: no task, or older than markers
        if said.get("task") != identity or (said.get("state") == "done" and not with_done):
            continue
        with suppress(StoreError):  # in use
            stack.enter_context(lock_folder(folder))
            return folder
    return None


def _new(root: Path, stack: ExitStack) -> Path:
    """A folder named after the current second; further ones of the same second are numbered."""
    prepare_folder(root)
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")  # local time
    for number in itertools.count(1):
        folder = root / (stamp if number == 1 else f"{stamp}_{number:03}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as err:
            raise StoreError(f"{folder}: {err.strerror or err}", hint="choose another work_dir") from err
        stack.enter_context(lock_folder(folder))
        return folder
    raise AssertionError("numbers do not end")


def write_config(folder: Path, task: Task) -> None:
    """Save the configuration beside the results, without API keys; `eyechart run` runs it again."""
    prepare_folder(folder / CONFIGS)
    with atomic_write(folder / CONFIGS / "task_config.yaml") as path:
        path.write_text(format_config(task), encoding="utf-8")


def format_config(task: Task) -> str:
    """The configuration of a task as YAML, without API keys."""
    try:
        values = msgspec.json.decode(msgspec.json.encode(dict(task.described), enc_hook=str))
    except (TypeError, ValueError) as err:
        raise EyechartError(f"the configuration cannot be saved: {err}") from err
    return hide_keys(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), task)


def hide_keys(text: str, task: Task) -> str:
    """A text without the API keys of a task and without passwords in URLs."""
    text = _PASSWORD.sub(r"\1[secret]@", text)
    for key in task.list_secrets():
        if len(key) > 3:  # shorter texts are not secret and occur in many words
            text = text.replace(key, "[secret]")
    return text


# -- ``status.json``: the progress of each dataset of a model, as VLMEvalKit writes it

FILE_NAME = "status.json"
_LOCK_NAME = ".status.lock"
State = Literal["pending", "infer", "eval", "done"]
_USUAL: Mapping[str, Any] = {
    "prediction_file": None, "judge_model": None, "source_run": None, "reuse_aux": "all",
    "skip_reason": None, "error_message": None, "primary_metric": None, "metrics": {},
}  # fmt: skip


class Status(msgspec.Struct):
    """What is kept of an existing file."""

    eval_id: str = ""
    created_at: str = ""
    datasets: dict[str, dict[str, Any]] = {}


def read_status(folder: Path) -> Status:
    """What the status file of a model in its folder says; nothing without one."""
    return read_json(folder / FILE_NAME, Status) or Status()


def write_status(folder: Path, model: str, task: Task, data: str, status: State, **fields: Any) -> None:
    """Write the progress of a model on a dataset.

    Several processes may evaluate one model on different datasets: each adds to what the others wrote.
    """
    if error := fields.get("error_message"):
        fields["error_message"] = hide_keys(str(error), task)
    prepare_folder(folder)
    with (folder / _LOCK_NAME).open("wb") as file:
        # Where locks are not supported, the file is valid, but may lack what another process wrote.
        lock_handle(file.fileno(), wait=True)
        earlier, now = read_status(folder), datetime.now(UTC)
        content = {
            "schema_version": "1.0",
            "eval_id": earlier.eval_id or f"T{now:%Y%m%d-%H%M%S}",
            "created_at": earlier.created_at or now.isoformat(timespec="seconds"),
            "updated_at": now.isoformat(timespec="seconds"),
            "commit": "",
            # Other arguments may hold keys.
            "argv": shlex.split(hide_keys(task.described.get("command", ""), task)) or sys.argv[:1],
            "model_name": model,
            "mode": task.mode,
            "reuse": task.reuse,
            "reuse_aux": "all",
            "api_mode": False,  # of VLMEvalKit's scheduler
            "world_size": 1,
            "pred_format": os.environ.get("PRED_FORMAT", "xlsx"),
            "eval_format": os.environ.get("EVAL_FORMAT", "csv"),
        }
        line = {"status": status, **_USUAL, **fields, "updated_at": content["updated_at"]}
        write_json(folder / FILE_NAME, {**content, "datasets": {**earlier.datasets, data: line}})


def read_metrics(lines: Iterable[Mapping[str, str]]) -> dict[str, float]:
    """The numbers of an accuracy table, by split and column.

    >>> read_metrics([{"split": "none", "Overall": "1.0", "map": "0.5"}])
    {'split=none|Overall': 1.0, 'split=none|map': 0.5}
    >>> read_metrics([{"Overall": "0.25"}])
    {'Overall': 0.25}
    """
    found: dict[str, float] = {}
    for line in lines:
        split = f"split={line['split']}|" if "split" in line else ""
        for name, text in line.items():
            if name != "split":
                try:
                    found.setdefault(f"{split}{name}", float(text))
                except (TypeError, ValueError):
                    continue
    return found


# -- What is printed. The table of accuracies is also an exporter, ``evalscope``

COLUMNS = (
    "benchmark", "infer_fail_rate", "judge_fail_rate", "primary_metric", "primary_metric_value",
    "skip_reason", "eval_error",
)  # fmt: skip

_WIDEST = 120  # the raised error shows all of it


def print_done(model: str, data: str, result: Any, scorer: str = "", rules: str = "") -> None:
    """Print the result of an evaluation, and by which rules it was scored if eyechart's scorers did."""
    print_text(f"The evaluation of model {model} x dataset {data} has finished!")
    if text := format_result(result):
        foot = f"\nscorer {describe_scorer(scorer, rules=rules)}" if scorer else ""
        print_text(f"Evaluation Results:\n{text}{foot}")


def format_result(result: Any) -> str:
    """A result as EvalScope prints it: a transposed table, or a dict as JSON.

    >>> print(format_result({"Overall": 0.5}))
    {
      "Overall": 0.5
    }
    """
    if result is None:
        return ""
    if isinstance(result, Mapping):
        texts = {str(name): value for name, value in result.items()}
        return json.dumps(texts, indent=2, ensure_ascii=False, default=to_json_value)
    lines = read_frame(result) if is_frame(result) else result
    is_table = isinstance(lines, list) and lines and all(isinstance(one, Mapping) for one in lines)
    return format_table(lines) if is_table else str(result)


def read_frame(frame: Any) -> list[Line]:
    """The rows of a DataFrame as dicts of plain numbers and texts."""

    def plain(value: Any) -> str | float:
        found = value.item() if hasattr(value, "item") else value  # numpy's numbers
        return found if isinstance(found, str | int | float) else str(found)

    rows = frame.to_dict(orient="records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def format_summary(rows: Sequence[Mapping[str, str]]) -> str:
    """The summary of a model: one line per dataset."""

    def cell(text: str) -> str:
        line = to_one_line(text) or "-"
        return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"

    table = [COLUMNS, *(tuple(cell(row.get(name, "")) for name in COLUMNS) for row in rows)]
    return "\n".join(["Run Summary Report:", *align_rows(table)])


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose first row is its heading, with a rule below it."""
    rule, heading, *lines = _draw(map(_pad, zip(*rows, strict=True)))
    return [heading, rule, *lines]


def _draw(columns: Iterable[Sequence[str]]) -> list[str]:
    """A rule, then the rows of a table whose columns have cells of one width."""
    rows = list(zip(*columns, strict=True))
    rule = "  ".join("-" * cell_len(cell) for cell in rows[0])
    return [rule, *("  ".join(row).rstrip() for row in rows)]


def _pad(cells: Sequence[str]) -> list[str]:
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) for cell in cells]


def format_rate(part: int, whole: int) -> str:
    """A rate as the summary shows it.

    >>> format_rate(0, 10), format_rate(1, 3), format_rate(0, 0)
    ('0.00% (0/10)', '33.33% (1/3)', '0.00% (0/0)')
    """
    return f"{100 * part / whole if whole else 0:.2f}% ({part}/{whole})"


# -- Accuracies as EvalScope prints them: one row per name, one column per split, between two dashed lines
#
# A table with more columns than rows is transposed and has no heading. Any other (the single number of a
# custom VQA class) is printed with row numbers. The file is ``<model>_<data>_acc.txt``.


@exporter("evalscope")
def write_evalscope(export: Export) -> Sequence[Path]:
    """Write VLMEvalKit's files and, per trial, the table that EvalScope prints."""
    return [path for trial in write_task_files(export) for path in trial.paths]


def write_task_files(export: Export, file: Path | None = None, stem: str = "") -> list[TrialFiles]:
    """The same; `file` and `stem` as in `write_trials`."""
    trials = write_trials(export, file=file, stem=stem)
    for number, trial in enumerate(trials):
        path = export.folder / f"{trial.stem}_acc.txt"
        path.unlink(missing_ok=True)
        if trial.accuracies:
            with open_text_file(path) as text:
                text.write(format_table(trial.accuracies) + "\n")
            trials[number] = trial._replace(paths=(*trial.paths, path))
    return trials


def format_table(lines: Sequence[Line]) -> str:
    """The printed table.

    >>> print(format_table([{"split": "none", "Overall": 1.0, "Activities": 1.0}]))
    ----------  ----
    split       none
    Overall     1.0
    Activities  1.0
    ----------  ----
    >>> print(format_table([{"Overall": 2 / 3}]))
    -  --------
    0  0.666667
    -  --------
    """
    if not lines:
        return ""
    names = list(lines[0])
    if len(names) > len(lines):
        columns = [list[str | float](names), *(list(line.values()) for line in lines)]
    else:
        columns = [[*map(str, range(len(lines)))], *([line[name] for line in lines] for name in names)]
    rule, *rows = _draw(map(_column, columns))
    return "\n".join([rule, *rows, rule])


def _column(values: Sequence[str | float]) -> list[str]:
    """Cells of one width. Numbers in a column of numbers have six digits and aligned points."""
    with suppress(ValueError, TypeError, OverflowError):  # it holds a text, or what an `evaluate` put there
        if not any("_" in str(value) for value in values):  # which Python reads as a number
            cells = [f"{float(value):g}" for value in values]
            decimals = [_decimals(cell) for cell in cells]
            padded = [cell + " " * (max(decimals) - n) for cell, n in zip(cells, decimals, strict=True)]
            width = max(map(len, padded))
            return [cell.rjust(width) for cell in padded]
    return _pad([to_one_line(value) if isinstance(value, str) else repr(value) for value in values])


def _decimals(number: str) -> int:
    """Characters after the point, or after the e of an exponent; -1 for a whole number.

    >>> _decimals("0.25"), _decimals("1e-09"), _decimals("12"), _decimals("nan")
    (2, 3, -1, -1)
    """
    at = number.rfind(".") if "." in number else number.rfind("e")
    return len(number) - at - 1 if at >= 0 else -1


# -- Files of predictions

# The hint for questions without a prediction. Files of other programs are never replaced.
HOW_TO_FILL = "mode: all requests them, in a work_dir of another name if eyechart did not write the file"

_CUT = re.compile(r"… \[cut: [\d,]+ characters\]\Z")  # as `eyechart.report.export.fit` writes it


def write_predictions(results: Callable[[], Iterable[Result]], path: Path, file: Path | None) -> None:
    """Write the questions with their replies, in the format of the path's ending.

    The columns are those of the `file` of questions without its images; without a file, those of the
    questions.
    """
    found = survey_results(results, file=file)
    heading = (*found.own, "prediction")
    rows = ([*found.make_cells(result), get_prediction(result)] for result in results())
    if path.suffix == ".xlsx":
        with open_sheet(heading, path, cut_hint=CUT_HINT) as add:
            for row in rows:
                add(row)
    elif path.suffix == ".tsv":
        with open_text_file(path) as out:
            writer = csv.writer(out, delimiter="\t", lineterminator="\n")
            writer.writerow(heading)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    else:
        with open_text_file(path) as out:
            json.dump([dict(zip(heading, row, strict=True)) for row in rows], out, ensure_ascii=False)


def extract_replies(path: Path, source: Any, options: Options, kept: Path) -> Path:
    """Write the replies among the predictions in `path` to the file `kept`.

    Failed predictions and those beyond the limit are left out.
    """
    beyond: set[str] = set()
    if options.limit is not None:
        every, _ = choose_benchmark(source, replace(options, limit=None))
        meant, _ = choose_benchmark(source, options)
        beyond = {sample.id for sample in every.source} - {sample.id for sample in meant.source}
    found = {name: reply.content for name, reply in read_replies(path).by_id.items()}
    said = {name: text for name, text in found.items() if API_FAILURE not in text and name not in beyond}
    if cut := next((name for name, text in said.items() if _CUT.search(text)), None):
        raise DataError(  # the missing part may hold the answer
            f"{path.name}: the prediction of {cut} was cut at the limit of a cell",
            hint="PRED_FORMAT=tsv with mode: all and reuse: true writes the whole text, without new requests",
        )
    if not said:
        raise DataError(f"{path.name} holds no reply", hint=HOW_TO_FILL)
    make_folder(kept.parent)
    with open_text_file(kept) as file:
        for name, text in said.items():
            file.write(json.dumps({"index": name, "prediction": text}, ensure_ascii=False) + "\n")
    return kept
