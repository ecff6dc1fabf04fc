"""Files, tables, base64 and small helpers of `vlmeval.smp`.

`load` and `dump` choose the format by the ending. Nothing is unpickled: ``.pkl`` files written here hold text
(`write_values`). Tables are pandas DataFrames; pandas is imported when a table is used.
"""

from __future__ import annotations

import ast
import binascii
import csv
import json
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import pybase64

from eyechart.data.files.formats import find_file
from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.data.files.rows import MAX_LITERAL_CHARS, list_lmu_roots, read_list_items, read_literal
from eyechart.data.files.sheets import refuse_too_large
from eyechart.data.images.pixels import decode, inspect, open_image
from eyechart.errors import DataError, ImageError, MissingExtra, UsageError, join_names
from eyechart.files import atomic_write
from eyechart.report.export import MAX_ROWS, open_sheet
from eyechart.report.rows import Cell, open_text_file
from eyechart.terminal import escape_controls, print_text

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


def LMUDataRoot() -> str:  # noqa: N802 - called by that name
    """The folder of datasets: `$LMUData` if that is a folder, else ``~/LMUData``, which is created."""
    root = find_data_root()
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def find_data_root() -> Path:
    """The same folder, which may not exist yet."""
    return next((root for root in list_lmu_roots() if root.is_dir()), list_lmu_roots()[-1])


def find_dataset(name: str | Path) -> Path:
    """The file of a dataset: in that folder, or wherever eyechart finds files."""
    path = find_data_root() / f"{name}.tsv"
    return path if path.is_file() else find_file(name).path


def load(f: str | os.PathLike[str], fmt: str | None = None) -> Any:
    """The content of a file: a table for tsv, csv and xlsx, an object for json, a list for jsonl."""
    if isinstance(f, str) and "://" in f:
        raise UsageError(f"load: {f} is a URL", hint="download it and give the path of the file")
    path = Path(f).expanduser()
    read, _ = _by_ending(path, fmt)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise DataError(f"{path}: {what}", hint="check the path; datasets are in $LMUData or ~/LMUData")
    return read(path)


def load_table(path: Path) -> Frame:
    """The content of a file as a table, also of rows in a JSON file."""
    loaded = load(path)
    if is_frame(loaded):
        return loaded
    if not isinstance(loaded, list) or not all(isinstance(row, dict) for row in loaded):
        raise DataError(
            f"{path}: not a list of rows", hint="each row is an object of column names and values"
        )
    return _placed(import_pandas().DataFrame(loaded), path)


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """The name of a file beside the predictions; by default the suffix chooses its format.

    >>> get_intermediate_file_path("out/m_d.xlsx", "_acc"), get_intermediate_file_path("m_d.tsv", "_tmp")
    ('out/m_d_acc.csv', 'm_d_tmp.pkl')
    """
    usual = {
        ("_acc", "_fine", "_metrics"): os.environ.get("EVAL_FORMAT") or "csv",
        ("_tmp", "_response", "_processed"): "pkl",
        ("_rating", "_config", "_meta"): "json",
    }
    chosen = next((format for endings, format in usual.items() if suffix.endswith(endings)), None)
    ending = target_format or chosen or os.environ.get("PRED_FORMAT") or "xlsx"
    path = Path(eval_file)
    return str(path.with_name(f"{path.stem}{suffix}.{ending}"))


def dump(data: Any, f: str | os.PathLike[str], fmt: str | None = None) -> None:
    """Write a table or an object, whole or not at all."""
    path = Path(f).expanduser()
    _by_ending(path, fmt)[1](data, path)


def _by_ending(path: Path, fmt: str | None) -> tuple[Callable[[Path], Any], Callable[[Any, Path], None]]:
    ending = (fmt or path.suffix).lower().removeprefix(".")
    if ending not in _FILES:
        raise UsageError(f"{path.name}: unknown extension", hint=f"use .{', .'.join(_FILES)}")
    return _FILES[ending]


def _read_table(path: Path, separator: str = "\t") -> Frame:
    """Read every cell as text first, then infer types per column."""
    pd = import_pandas()
    try:
        raw = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (ValueError, UnicodeError, pd.errors.ParserError, csv.Error) as err:
        what = " ".join(str(err).split())
        raise DataError(
            f"{path}: cannot be read as a table: {what}", hint="eyechart data check FILE"
        ) from err
    columns = {name: make_column(infer_types(raw[name].tolist(), str(name))) for name in raw.columns}
    return _placed(pd.DataFrame(columns), path)


def _read_xlsx(path: Path) -> Frame:
    """The first sheet, with the types of its cells; no word means "missing"."""
    pd = import_pandas()
    try:
        refuse_too_large(path)
        frame = pd.read_excel(path, engine="calamine", keep_default_na=False, na_values=[""])
    except DataError:
        raise
    except Exception as err:  # a broken file raises errors of many kinds
        raise DataError(f"{path}: cannot be read as a spreadsheet: {err}") from err
    texts = [name for name in frame.columns if frame[name].dtype == "str"]
    return _placed(frame.astype(dict.fromkeys(texts, "object")), path)


def _placed(frame: Frame, path: Path) -> Frame:
    frame.attrs[FOLDER] = str(path.absolute().parent)
    return frame


def _read_json(path: Path) -> Any:
    with translate_json_errors(path.name, hint="is it one JSON value? .jsonl holds one per line"):
        return json.loads(read_bytes(path))


def _read_jsonl(path: Path) -> list[Any]:
    lines = read_bytes(path).decode("utf-8-sig", "replace").split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            with translate_json_errors(f"{path.name}: line {number}", hint="every line holds one JSON value"):
                found.append(json.loads(line))
    return found


def _write_table(data: Any, path: Path, separator: str = "\t") -> None:
    with atomic_write(path) as place:
        _as_frame(data).to_csv(
            place,
            sep=separator,
            index=False,
            quoting=csv.QUOTE_ALL,
            encoding="utf-8",
            errors="backslashreplace",
            lineterminator="\n",
        )


def _write_sheet(data: Any, path: Path) -> None:
    """Write a table to the first sheet of a workbook. Text stays text."""
    frame = _as_frame(data)
    if len(frame) >= MAX_ROWS:
        raise DataError(
            f"{path.name}: a sheet holds at most {MAX_ROWS:,} rows", hint="write .tsv or .json instead"
        )
    with open_sheet([str(name) for name in frame.columns], path, cut_hint=CUT_HINT) as add:
        for values in frame.itertuples(index=False, name=None):
            add([_cell(value) for value in values])


def _cell(value: Any) -> Cell:
    value = to_plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _write_json(data: Any, path: Path) -> None:
    with open_text_file(path) as file:
        json.dump(data, file, indent=4, ensure_ascii=False, default=to_json_value)


def _write_jsonl(data: Any, path: Path) -> None:
    with open_text_file(path) as file:
        for item in to_json_value(data) if is_frame(data) else data:
            file.write(json.dumps(item, ensure_ascii=False, default=to_json_value) + "\n")


def _as_frame(data: Any) -> Frame:
    return data if is_frame(data) else import_pandas().DataFrame(data)


def to_json_value(value: Any) -> Any:
    """Values without a JSON form: tables as lists of rows, numpy's as plain ones, others as text."""
    if is_frame(value):
        return value.to_dict("records")
    for method in ("tolist", "to_dict"):
        if callable(found := getattr(value, method, None)):
            return found()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


# -- Files named ``.pkl``: plain values, written as text, so that reading them runs no code
#
# Scripts store the verdicts of a judge in such files. A real pickle is refused. Values without a JSON form
# (keys that are not text, tuples, sets) are wrapped in an object that names the type.

_MARK = "eyechart: plain values, no pickle"
_KINDS: Mapping[str, type[Any]] = {"dict": dict, "tuple": tuple, "set": set}


def write_values(data: Any, path: Path) -> None:
    """Write numbers, texts, lists, tuples, sets and dicts of them; refuse anything else."""
    wrapped = _wrapped(data, path.name)
    with open_text_file(path) as file:
        file.write(f"{_MARK}\n{json.dumps(wrapped, ensure_ascii=False)}\n")


def read_values(path: Path) -> Any:
    """The values that `write_values` wrote."""
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK.encode():
            raise UsageError(
                f"{path.name}: a pickle, which is not read, because that can run any code",
                hint="if you trust it, convert it to .json, .jsonl, .tsv or .xlsx",
            )
    with translate_json_errors(path.name, hint="the file is damaged: remove it"):
        try:
            return json.loads(read_bytes(path).partition(b"\n")[2], object_hook=_unwrap)
        except (KeyError, TypeError) as err:
            raise ValueError(f"unexpected content: {err}") from err


def _wrapped(value: Any, name: str) -> Any:
    value = value if isinstance(value, float) else to_plain(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if getattr(value, "ndim", 0) and not hasattr(value, "columns"):
        value = value.tolist()
    if isinstance(value, list):
        return [_wrapped(item, name) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_wrapped(key, name), _wrapped(item, name)] for key, item in value.items()]}
    if isinstance(value, tuple | set):
        kind = "tuple" if isinstance(value, tuple) else "set"
        return {kind: [_wrapped(item, name) for item in value]}
    raise UsageError(
        f"{name}: a {type(value).__name__} cannot be written, because pickles are not read",
        hint="write plain values, or a table to .tsv or .xlsx",
    )


def _unwrap(wrapped: dict[str, Any]) -> Any:
    [(kind, items)] = wrapped.items()
    return _KINDS[kind](map(tuple, items) if kind == "dict" else items)


# By the ending of a file: its reader and its writer.
_FILES: Mapping[str, tuple[Callable[[Path], Any], Callable[[Any, Path], None]]] = {
    "tsv": (_read_table, _write_table),
    "csv": (partial(_read_table, separator=","), partial(_write_table, separator=",")),
    "xlsx": (_read_xlsx, _write_sheet),
    "json": (_read_json, _write_json),
    "jsonl": (_read_jsonl, _write_jsonl),
    "pkl": (read_values, write_values),
}


# -- Tables, and their cells as plain values

Frame: TypeAlias = Any  # pandas.DataFrame; pandas is not imported for a name
Row: TypeAlias = Any  # pandas.Series, or a dict of the same names

CUT_HINT = "PRED_FORMAT=tsv keeps the whole text"
FOLDER = "eyechart_folder"  # in a table's attrs: the folder of its file

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LETTER = re.compile(r"[A-Z]")


def import_pandas(needed_for: str = "the dataset classes of vlmeval") -> Any:
    """The library, or an error with the command that installs it."""
    try:
        return import_module("pandas")
    except ImportError as err:
        raise MissingExtra.named("pandas", needed_for=needed_for) from err


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas table."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NA or NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing([])
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def to_plain(value: Any) -> Any:
    """A cell as a plain Python value: numpy's numbers become plain ones, an empty cell None."""
    if is_missing(value):
        return None
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return to_plain(item())
    return value


def infer_types(texts: Sequence[str], name: str = "") -> list[Any]:
    """The cells of a column as scripts expect them: numbers if all are, else text; NaN for gaps.

    Unlike pandas' own reading, no word means "missing", a gap does not turn 3 into 3.0, 007 stays text, and
    options (columns named by a letter) are always text.

    >>> infer_types(["1", "2"]), infer_types(["0.5", "2"]), infer_types(["007", "1"])
    ([1, 2], [0.5, 2.0], ['007', '1'])
    >>> infer_types(["None", "NA"]), infer_types(["3"], "A")
    (['None', 'NA'], ['3'])
    >>> infer_types(["1", ""])
    [1, nan]
    """
    nan = float("nan")
    present = [text for text in texts if text]
    if not present or _LETTER.fullmatch(name):
        return [text or nan for text in texts]
    for pattern, convert in ((WHOLE, int), (_NUMBER, float)):
        if all(map(pattern.fullmatch, present)):
            return [convert(text) if text else nan for text in texts]
    if len(present) == len(texts) and set(present) <= {"True", "False"}:
        return [text == "True" for text in texts]
    return [text or nan for text in texts]


def make_column(values: Sequence[Any]) -> Any:
    """A column with unchanged values: of one type of number, or of objects."""
    kinds = {type(value) for value in values}
    dtype = {int: "int64", float: "float64", bool: "bool"}.get(next(iter(kinds), object))
    return import_pandas().Series(list(values), dtype=dtype if len(kinds) == 1 and dtype else "object")


def select_rows(frame: Frame, mask: Sequence[bool]) -> Frame:
    """The rows for which the mask is true, also of an empty table."""
    return frame.iloc[[position for position, is_meant in enumerate(mask) if is_meant]]


def require(frame: Frame, columns: Sequence[str], who: str) -> None:
    """Refuse a table without one of the columns."""
    found = [str(name) for name in frame.columns]
    for name in columns:
        if name not in found:
            shown = join_names(found, 12) or "none"
            raise DataError(f"{who}: no column {name!r} (found: {shown})", hint="add it to the file")


# -- Helpers that scripts import


def listinstr(lst: Iterable[str], s: str) -> bool:
    """Whether one of the texts is part of `s`.

    >>> listinstr(["mmbench", "ccbench"], "my_ccbench"), listinstr(["mmbench"], "pope")
    (True, False)
    """
    return any(item in s for item in lst)


def toliststr(s: Any) -> list[str]:
    """A list of texts from one text, a list, or a list written as text. Nothing is evaluated.

    >>> toliststr("a.png"), toliststr("['a.png', 'b.png']"), toliststr(["a.png", 2]), toliststr("[draft].png")
    (['a.png'], ['a.png', 'b.png'], ['a.png', '2'], ['[draft].png'])
    """
    if isinstance(s, list | tuple):
        return [str(item) for item in s]
    text = str(s)
    bare = text.strip()
    if bare[:1] + bare[-1:] == "[]":
        items = read_list_items(bare.encode("utf-8", "surrogatepass"))
        if items is not None:
            return [item.decode("utf-8", "surrogatepass") for item in items]
        literal = read_literal(bare)
        if isinstance(literal, list):
            return [str(item) for item in literal]
    return [text]


def istype(s: Any, type: type) -> bool:
    """Whether a value, or the literal that a text spells, is of a type.

    >>> istype("12", int), istype("12.5", int), istype("cat", int), istype("[1]", list)
    (True, False, False, True)
    """
    if isinstance(s, type):
        return True
    if not isinstance(s, str) or len(s) > MAX_LITERAL_CHARS:
        return False
    try:
        return isinstance(ast.literal_eval(s.strip()), type)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def d2df(D: Mapping[str, Any]) -> Frame:  # noqa: N803 - called by that name
    """A table of one row with a column per key, in order."""
    return import_pandas().DataFrame({name: [value] for name, value in D.items()})


# -- Base64 and images, as in `vlmeval.smp.vlm`; anything but an image is refused

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF", ".bmp": "BMP"}


def decode_image_bytes(base64_string: str, what: str = "the base64 text") -> bytes:
    """The bytes of an image file from base64 or a data URL, checked but not changed."""
    text = base64_string.partition(",")[2] if base64_string[:5].lower() == "data:" else base64_string
    try:
        data = pybase64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as err:
        raise ImageError(f"{what}: broken base64 ({err})", hint="the cell may be cut off") from err
    inspect(data, what)
    return data


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> Any:
    """The image for Pillow; in RGB if it has a palette or transparency."""
    return _open(decode_image_bytes(base64_string), "the base64 text", target_size)


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the image to a file, in the format of its ending."""
    data = decode_image_bytes(base64_string)
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    format = _FORMATS.get(path.suffix.lower(), "PNG")
    if target_size <= 0 and inspect(data, path.name).format == format:
        with atomic_write(path) as place:
            place.write_bytes(data)
        return
    picture = _open(data, path.name, target_size)
    with atomic_write(path) as place, place.open("wb") as file:
        picture.save(file, format)


def encode_image_to_base64(img: Any, target_size: int = -1, fmt: str = "JPEG") -> str:
    """A Pillow image as base64 of a file."""
    out = BytesIO()
    _shrink(img, target_size).save(out, fmt)
    return pybase64.b64encode(out.getvalue()).decode("ascii")


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str = "JPEG") -> str:
    """An image file as base64, re-encoded as `fmt`."""
    try:
        data = Path(image_path).read_bytes()
    except OSError as err:
        raise ImageError(f"{image_path}: cannot be read: {err.strerror or err}") from err
    return encode_image_to_base64(_open(data, str(image_path), -1), target_size, fmt)


def mmqa_display(question: Row, target_size: int = -1) -> None:
    """Print a row by column, its images first: shown in a notebook, by their size elsewhere.

    `image` holds base64 or a data URL, a list of them, or such a list as text; without it, `image_path` names
    files. `target_size` is the longest side of the images.
    """
    cells = {str(name).lower(): value for name, value in question.items()}
    print_text(f"INDEX: {cells.pop('index', 'XXX')}")
    own, paths = cells.pop("image", None), cells.get("image_path")
    texts = [] if is_missing(own) else toliststr(own)
    if is_missing(own) and not is_missing(paths):
        texts = [encode_image_file_to_base64(file) for file in toliststr(paths)]
    images = [decode_base64_to_image(text, target_size) for text in texts]
    shell = sys.modules.get("IPython")
    is_notebook = shell is not None and shell.get_ipython() is not None
    for image in images:
        if is_notebook:
            import_module("IPython.display").display(image)
        else:
            print_text(f"IMAGE: {image.width} x {image.height}")
    for name, value in cells.items():
        if not is_missing(value):
            print_text(f"{name.upper()}. {to_plain(value)}")


def _open(data: bytes, what: str, target_size: int) -> Picture:
    inspect(data, what)
    _, picture = open_image(data, what)
    decode(picture, what)
    return _shrink(picture, target_size)


def _shrink(picture: Picture, target_size: int) -> Picture:
    """Fit into a square of `target_size` pixels, never enlarged; -1 leaves the size."""
    picture = picture.convert("RGB") if picture.mode in ("RGBA", "P", "LA") else picture
    if target_size > 0 and max(picture.size) > target_size:
        picture = picture.copy()
        picture.thumbnail((target_size, target_size))
    return picture


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to the current stderr, as `print` does."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """The line without control characters."""
        return escape_controls(super().format(record))


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, *, file_mode: str = "a"
) -> logging.Logger:
    """A logger that writes to stderr and optionally to a file, the first that is named."""
    logger = logging.getLogger(name)
    handlers: list[logging.Handler] = [] if logger.handlers else [_Stderr()]
    if log_file is not None and not any(isinstance(one, logging.FileHandler) for one in logger.handlers):
        handlers.append(logging.FileHandler(log_file, mode=file_mode, encoding="utf-8"))
    for handler in handlers:
        handler.setFormatter(logging.Formatter("[%(asctime)s] %(levelname)s - %(name)s: %(message)s"))
        logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(log_level)
    return logger
