"""Files in the way of `vlmeval.smp`: `load` and `dump` by the ending of the name.

Nothing is unpickled: ``.pkl`` files of ours hold text (values.py). Tables come as pandas has them, cells as
`frames.typed` reads them.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.frames import FOLDER, Frame, column_of, is_frame, pandas, typed
from eyechart.compat.vlmeval.smp.sheets import write_frame
from eyechart.compat.vlmeval.smp.values import read_values, write_values
from eyechart.data.json_file import json_errors, read_bytes
from eyechart.data.paths import lmu_roots
from eyechart.data.sheets import refuse_too_large
from eyechart.errors import DataError, MissingExtra, UsageError
from eyechart.replacing import replacing
from eyechart.report.files import text_file


def LMUDataRoot() -> str:  # noqa: N802 - called by that name
    """The folder of the data sets: `$LMUData` where that is a folder, else ``~/LMUData``, which is made."""
    root = data_root()
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def data_root() -> Path:
    """The same folder, which may not be there yet."""
    return next((root for root in lmu_roots() if root.is_dir()), lmu_roots()[-1])


def load(f: str | os.PathLike[str], fmt: str | None = None) -> Any:
    """What a file holds: a table for tsv, csv and xlsx, an object for json, a list for jsonl."""
    if isinstance(f, str) and "://" in f:
        raise UsageError(f"load: {f} is an address", hint="download it, and give the path of the file")
    path = Path(f).expanduser()
    reader = _by_ending(path, fmt, _READERS)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise DataError(f"{path}: {what}", hint="check the path; data sets lie in $LMUData or ~/LMUData")
    return reader(path)


def load_table(path: Path) -> Frame:
    """The same as a table, also of rows in a JSON file."""
    loaded = load(path)
    if is_frame(loaded):
        return loaded
    if not isinstance(loaded, list) or not all(isinstance(row, dict) for row in loaded):
        raise DataError(f"{path}: no list of rows", hint="each row is an object of column names and values")
    return _placed(pandas().DataFrame(loaded), path)


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """The name of a file beside the predictions; unless told otherwise, its format goes by the suffix.

    >>> get_intermediate_file_path("out/m_d.xlsx", "_acc"), get_intermediate_file_path("m_d.tsv", "_tmp")
    ('out/m_d_acc.csv', 'm_d_tmp.pkl')
    """
    if target_format is None and suffix.endswith(("_acc", "_fine", "_metrics")):
        target_format = os.environ.get("EVAL_FORMAT") or "csv"
    elif target_format is None and suffix.endswith(("_tmp", "_response", "_processed")):
        target_format = "pkl"
    elif target_format is None and suffix.endswith(("_rating", "_config", "_meta")):
        target_format = "json"
    ending = target_format or os.environ.get("PRED_FORMAT") or "xlsx"
    path = Path(eval_file)
    return str(path.with_name(f"{path.stem}{suffix}.{ending}"))


def dump(data: Any, f: str | os.PathLike[str], fmt: str | None = None) -> None:
    """Write a table or an object, whole or not at all."""
    path = Path(f).expanduser()
    _by_ending(path, fmt, _WRITERS)(data, path)


def _by_ending(path: Path, fmt: str | None, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    ending = (fmt or path.suffix).lower().removeprefix(".")
    if ending not in known:
        raise UsageError(f"{path.name}: files of that ending are not known", hint=f"use .{', .'.join(known)}")
    return known[ending]


def _read_tsv(path: Path) -> Frame:
    return _read_table(path, "\t")


def _read_csv(path: Path) -> Frame:
    return _read_table(path, ",")


def _read_table(path: Path, separator: str) -> Frame:
    """Read as text first, so that every cell is known as it stands."""
    pd = pandas()
    try:
        raw = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (ValueError, UnicodeError, pd.errors.ParserError, csv.Error) as err:
        what = " ".join(str(err).split())
        raise DataError(
            f"{path}: cannot be read as a table: {what}", hint="eyechart data check FILE"
        ) from err
    columns = {name: column_of(typed(raw[name].tolist(), str(name))) for name in raw.columns}
    return _placed(pd.DataFrame(columns), path)


def _read_xlsx(path: Path) -> Frame:
    """The first sheet. Cells have their own types there; a word is never taken for "missing"."""
    engine = next((engine for module, engine in _ENGINES if find_spec(module)), None)
    if engine is None:
        raise MissingExtra.named("pandas", needed_for="spreadsheets")
    pd = pandas()
    try:
        refuse_too_large(path)
        frame = pd.read_excel(path, engine=engine, keep_default_na=False, na_values=[""])
    except (MissingExtra, DataError):
        raise
    except Exception as err:  # each engine has errors of its own for a broken file
        raise DataError(f"{path}: cannot be read as a spreadsheet: {err}") from err
    texts = [name for name in frame.columns if frame[name].dtype == "str"]
    return _placed(frame.astype(dict.fromkeys(texts, "object")), path)


_ENGINES = (("python_calamine", "calamine"), ("openpyxl", "openpyxl"))


def _placed(frame: Frame, path: Path) -> Frame:
    frame.attrs[FOLDER] = str(path.absolute().parent)
    return frame


def _read_json(path: Path) -> Any:
    with json_errors(path.name, hint="is it one JSON value? .jsonl holds one a line"):
        return json.loads(read_bytes(path))


def _read_jsonl(path: Path) -> list[Any]:
    lines = read_bytes(path).decode("utf-8-sig", "replace").split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            with json_errors(f"{path.name}: line {number}", hint="every line holds one JSON value"):
                found.append(json.loads(line))
    return found


def _write_tsv(data: Any, path: Path) -> None:
    _write_table(data, path, "\t")


def _write_csv(data: Any, path: Path) -> None:
    _write_table(data, path, ",")


def _write_table(data: Any, path: Path, separator: str) -> None:
    frame = _as_frame(data)
    with replacing(path) as place:
        frame.to_csv(
            place,
            sep=separator,
            index=False,
            quoting=csv.QUOTE_ALL,
            encoding="utf-8",
            errors="backslashreplace",
            lineterminator="\n",
        )


def _write_xlsx(data: Any, path: Path) -> None:
    write_frame(_as_frame(data), path)


def _write_json(data: Any, path: Path) -> None:
    with text_file(path) as file:
        json.dump(_records(data), file, indent=4, ensure_ascii=False, default=_for_json)


def _write_jsonl(data: Any, path: Path) -> None:
    with text_file(path) as file:
        for item in _records(data):
            file.write(json.dumps(item, ensure_ascii=False, default=_for_json) + "\n")


def _as_frame(data: Any) -> Frame:
    return data if is_frame(data) else pandas().DataFrame(data)


def _records(data: Any) -> Any:
    return data.to_dict("records") if is_frame(data) else data


def _for_json(value: Any) -> Any:
    """What JSON has no word for: numpy's values as plain ones, anything else as its text."""
    if is_frame(value):
        return _records(value)
    for method in ("tolist", "to_dict"):
        if callable(found := getattr(value, method, None)):
            return found()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


_READERS: Mapping[str, Callable[[Path], Any]] = {
    "tsv": _read_tsv,
    "csv": _read_csv,
    "xlsx": _read_xlsx,
    "json": _read_json,
    "jsonl": _read_jsonl,
    "pkl": read_values,
}
_WRITERS: Mapping[str, Callable[[Any, Path], None]] = {
    "tsv": _write_tsv,
    "csv": _write_csv,
    "xlsx": _write_xlsx,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "pkl": write_values,
}
