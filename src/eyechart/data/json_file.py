"""JSON files read whole or row by row; an error names the file, the row and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from eyechart.data.encoding import BOM, refuse_wide_text
from eyechart.data.json_window import elements
from eyechart.errors import DataError

_EMPTY_BYTES = 64  # a file without any row is no longer than this
_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<field>.*)`)?", re.DOTALL)


def read_bytes(path: Path) -> bytes:
    """The whole file, without a mark at its beginning."""
    with _file_errors(path):
        data = path.read_bytes()
    refuse_wide_text(path, data[:4])
    return data.removeprefix(BOM)


def row_texts(
    path: Path, *, may_be_empty: bool = False, hint: str = ""
) -> Iterator[tuple[str | None, bytes]]:
    """Key (None in a list) and text of each row; `hint` says what the file should be where it is no such."""
    with _file_errors(path), path.open("rb") as file:
        head = file.read(_EMPTY_BYTES)
        refuse_wide_text(path, head)
        if may_be_empty and b"".join(head.removeprefix(BOM).split()) in (b"[]", b"{}"):
            return
        file.seek(len(BOM) if head.startswith(BOM) else 0)
        try:
            for key, _, text in elements(file, path):
                yield key, text
        except DataError as err:
            raise DataError(err.message, hint=hint or err.hint) from err


@contextmanager
def json_errors(where: str, *, hint: str = "check the file with a JSON tool") -> Iterator[None]:
    """What a decoder raises inside, as a `DataError` about `where`."""
    try:
        yield
    except UnicodeDecodeError as err:
        raise DataError(
            f"{where}: not UTF-8 text", hint="save the file as UTF-8, e.g. with iconv -f GBK -t UTF-8"
        ) from err
    except msgspec.ValidationError as err:
        raise DataError(f"{where}: {_with_field(str(err))}", hint=hint) from err
    except (msgspec.DecodeError, ValueError, RecursionError) as err:
        raise DataError(f"{where}: not JSON: {err}", hint=hint) from err


def _with_field(said: str) -> str:
    """What a decoder found wrong, with the field before it.

    >>> _with_field("Expected `str`, got `int` - at `$.subject[0]`")
    'field subject[0]: Expected `str`, got `int`'
    """
    found = _AT.fullmatch(said)
    assert found is not None, "the pattern takes any text"
    return f"field {found['field']}: {found['what']}" if found["field"] else found["what"]


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as err:
        raise DataError(f"{path}: no such file", hint="check the path") from err
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err
