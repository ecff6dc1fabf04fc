"""Changes to bytes: plain ones, ones that keep JSON or an archive readable, and cells of SQLite files."""

# ruff: noqa: E501 - one line for many tokens
from __future__ import annotations

import io
import json
import random
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

MAX_BYTES = 200_000
TOKENS: tuple[bytes, ...] = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), b"\r\n", b"\t", b",",
    b'"', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b"null", b"true", b"NaN", b"1e999", b"-1",
    b"0", b"9" * 40, b"99999999999999999999", b"<script>", b"</td>", b"{{7*7}}", b"{%", b"%s", b"../../etc/passwd",
    b"file:///etc/passwd", b"http://127.0.0.1/", b"data:image/png;base64,", b"=1+1", b"A", b"(B)", b"\\boxed{",
    b"$", b"^{", b"<think>", b"</think>", "答案".encode(), b"not ", b"Answer: ", b"0x10", b"1/0", b"inf",
)  # fmt: skip
_ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**63, 10**40, "", "\x00", "x" * 5_000, [], {}, [[]], {"": None}, ["a", 1, None], "1e999",
)  # fmt: skip
_NUMBER = re.compile(rb"[0-9]+")


def mutate(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """One to four changes, at times of a kind that keeps the structure of JSON or of an archive."""
    if data.startswith(b"PK\x03\x04") and rng.random() < 0.8:
        return _mutate_member(rng, data, pool)
    if data.startswith(b"SQLite format 3") and rng.random() < 0.8:
        return _mutate_cell(rng, data, pool)
    if rng.random() < 0.4 and (changed := _mutate_json(rng, data)) is not None:
        return changed[:MAX_BYTES]
    for _ in range(rng.randint(1, 4)):
        data = rng.choice(_CHANGES)(rng, data, pool)
    return data[:MAX_BYTES]


def _place(rng: random.Random, data: bytes) -> tuple[int, int]:
    first = rng.randrange(len(data) + 1)
    return first, min(len(data), first + int(rng.expovariate(1 / 20)))


def _flip(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"\0")
    at = rng.randrange(len(changed))
    changed[at] = rng.choice((changed[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
    return bytes(changed)


def _delete(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    first, last = _place(rng, data)
    return data[:first] + data[last:]


def _insert(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    first, _ = _place(rng, data)
    return data[:first] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 300)) + data[first:]


def _replace(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    first, last = _place(rng, data)
    return data[:first] + rng.choice(TOKENS) + data[last:]


def _repeat(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    first, last = _place(rng, data)
    return data[:last] + data[first:last] * rng.choice((1, 2, 50)) + data[last:]


def _cut(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _splice(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    other = rng.choice(pool) if pool else data
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _renumber(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data, 0, 20_000))
    if not found:
        return data
    one = rng.choice(found)
    number = str(rng.choice((0, 1, -1, 255, 2**31, 2**63, 10**30))).encode()
    return data[: one.start()] + number + data[one.end() :]


_CHANGES = (_flip, _delete, _insert, _replace, _repeat, _cut, _splice, _renumber)


def _mutate_json(rng: random.Random, data: bytes) -> bytes | None:
    """Change one value of a JSON text, or of one of its lines; None if it is not JSON."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    for text, put in ((data, None), (lines[at], at)):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        try:
            changed = json.dumps(_change_value(rng, value)).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            return None
        return changed if put is None else b"\n".join([*lines[:put], changed, *lines[put + 1 :]])
    return None


def _change_value(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        kind = rng.randrange(8)
        if kind == 0:
            return {key: one for key, one in value.items() if key != name}
        if kind == 1:
            return {**value, rng.choice(("", "id", "A", "error", "\x00", name + "s")): value[name]}
        return {**value, name: _change_value(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        kind = rng.randrange(6)
        if kind == 0:
            return value[:at] + value[at + 1 :]
        if kind == 1:
            return value + value[at:]
        return [*value[:at], _change_value(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and rng.random() < 0.6:
        changed = rng.choice(_CHANGES)(rng, value.encode("utf-8", "surrogatepass"), ())
        return changed.decode("utf-8", "replace")
    return rng.choice(_ODD_VALUES)


def _mutate_member(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """Change one file of an archive and pack it again."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(list(members))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for each, content in members.items():
                archive.writestr(each, rng.choice(_CHANGES)(rng, content, pool) if each == name else content)
    except Exception:  # an archive that an earlier change damaged
        return rng.choice(_CHANGES)(rng, data, pool)
    return out.getvalue()


def _mutate_cell(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """Change one cell of a SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db.sqlite"
        path.write_bytes(data)
        try:
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA journal_mode=DELETE")
                tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
                table = rng.choice(tables)
                columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
                column = rng.choice(columns)
                [[n_rows]] = db.execute(f'SELECT count(*) FROM "{table}"')
                left = rng.randrange(n_rows)

                def change(value: Any) -> Any:
                    nonlocal left
                    left -= 1
                    return _change_cell(rng, value) if left == -1 else value

                db.create_function("change", 1, change)
                db.execute(f'UPDATE "{table}" SET "{column}" = change("{column}")')
                db.commit()
        except (sqlite3.Error, ValueError, IndexError, OverflowError):  # damaged, or an empty table
            return rng.choice(_CHANGES)(rng, data, pool)
        return path.read_bytes()


def _change_cell(rng: random.Random, value: Any) -> Any:
    if isinstance(value, str | bytes) and rng.random() < 0.8:
        raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        changed = _mutate_json(rng, raw) or rng.choice(_CHANGES)(rng, raw, ())
        return changed.decode("utf-8", "replace") if isinstance(value, str) else changed
    return rng.choice((None, 0, -1, 2**62, "", "x", b"\xff\x00", 1.5))
