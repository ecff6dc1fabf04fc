"""Which tool a file of replies is from, told by what stands in it and never by its name."""

from __future__ import annotations

import itertools
from collections.abc import Set
from pathlib import Path
from typing import Literal

import msgspec

from eyechart.data.columns import ALIASES
from eyechart.data.encoding import BOM
from eyechart.data.json_columns import SPLIT
from eyechart.data.json_window import Window
from eyechart.data.logs import evalscope, evalscope_report, inspect, lm_eval
from eyechart.data.logs.entries import Log
from eyechart.data.sheets import archive_names, is_workbook
from eyechart.errors import DataError

Kind = Literal[
    "workbook",
    "columns",
    "inspect",
    "inspect-archive",
    "lm-eval",
    "predictions",
    "reviews",
    "report",
    "table",
]
TEXTS = ("reply", "prediction", "response")

TABLES: tuple[Kind, ...] = ("table", "columns", "workbook")

_KEYS_LOOKED_AT = 16
_PICKLE = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_INSPECT = frozenset({"version", "status", "eval"})
_RESULTS = frozenset({"results", "configs", "versions"})


def recognise(path: Path) -> Kind:
    """What kind of file it is; a ``table`` is what the readers of data files read."""
    if path.exists() and not path.is_file():
        raise DataError(
            f"{path}: it is no plain file, and a file of replies is read more than once",
            hint="write it to a file first",
        )
    try:
        with path.open("rb") as file:
            head = file.read(65536).removeprefix(BOM).lstrip()
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}", hint="check the path") from err
    if head.startswith(_PICKLE) or path.suffix.lower() in (".pkl", ".pickle"):
        raise DataError(
            f"{path.name}: a pickle is not read, because reading one can run any program",
            hint="give the .xlsx, .tsv or .json that VLMEvalKit writes beside it (PRED_FORMAT=tsv)",
        )
    if head.startswith(b"PK"):
        return _archive(path)
    if head.startswith(b"{"):
        return _of_object(path)
    if head.startswith(b"["):
        return _of_list(path)
    return "table"


def read_log(path: Path, kind: Kind, *, with_questions: bool) -> Log:
    """The log of a kind that is no table."""
    if kind == "inspect":
        return inspect.read_json_log(path)
    if kind == "inspect-archive":
        return inspect.read_archive(path)
    if kind == "lm-eval":
        return lm_eval.read_samples(path)
    if kind == "report":
        return evalscope_report.read_report(path, with_questions=with_questions)
    return evalscope.read_reviews(path) if kind == "reviews" else evalscope.read_predictions(path)


def _archive(path: Path) -> Kind:
    if is_workbook(path):
        return "workbook"
    if inspect.is_archive(archive_names(path)):
        return "inspect-archive"
    raise DataError(
        f"{path.name}: the archive is neither a spreadsheet (.xlsx) nor a log of Inspect (.eval)",
        hint="was the file cut off? Unpack it if it holds a file of replies",
    )


def _of_line(keys: Set[str]) -> Kind | None:
    """What a line with these keys is an entry of."""
    if lm_eval.is_line(keys):
        return "lm-eval"
    if keys >= evalscope.REVIEW_KEYS:
        return "reviews"
    return "predictions" if keys >= evalscope.PREDICTION_KEYS else None


def _of_object(path: Path) -> Kind:
    """One object, or the first of many: told by its first keys, without decoding what is behind them."""
    openings: dict[str, bytes] = {}
    with path.open("rb") as file:
        file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
        try:
            for key, _, opening in itertools.islice(Window(file, path).openings(), _KEYS_LOOKED_AT):
                openings[key] = opening
                if openings.keys() >= _INSPECT:
                    return "inspect"
        except DataError:
            return "table"  # whose reader says what is wrong
    if kind := _of_line(openings.keys()):
        return kind
    if openings.keys() >= evalscope_report.REPORT_KEYS:
        return "report"
    if openings.keys() >= _RESULTS:
        raise DataError(
            f"{path.name}: these are lm-eval's results, which hold no replies",
            hint="give the samples_*.jsonl beside it (--log_samples writes it)",
        )
    if openings.keys() == SPLIT and set(openings.values()) == {b"["}:
        return "columns"
    is_named = any(name in openings for name in ALIASES["id"]) and any(name in openings for name in TEXTS)
    return "columns" if is_named and set(openings.values()) in ({b"{"}, {b"["}) else "table"


def _of_list(path: Path) -> Kind:
    """A list of records: told by the first."""
    with path.open("rb") as file:
        file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
        try:
            _, _, text = next(Window(file, path).items(), (None, 0, b""))
            record = msgspec.json.decode(text) if text else None
        except (DataError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "table"
    return "lm-eval" if isinstance(record, dict) and lm_eval.is_line(record.keys()) else "table"
