"""Inspect's logs: one JSON object with a list of samples (.json), or an archive of JSON files (.eval).

Samples are read one at a time. A long text or a picture may stand elsewhere in its sample, under a name
that begins ``attachment://``; texts are put back in their place. An epoch is a trial, counted from 1 there.
A sample with an error has no reply, whatever it holds besides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.choices import LETTERS, choices_from_list
from eyechart.data.encoding import BOM
from eyechart.data.json_window import Window
from eyechart.data.logs.archive import Archive
from eyechart.data.logs.entries import (
    MAX_TRIALS,
    Number,
    read_question,
    decode_entry,
    report_field_errors,
    read_golds,
    read_image_refs,
    read_reply,
    read_meta,
    refuse_duplicates,
)
from eyechart.data.logs.own import read_own_reply, read_own_sample
from eyechart.errors import DataError
from eyechart.registry import log_format
from eyechart.types import FileSigns, LogEntry, LogReader, Reply, ReplyLog, Sample

# What attached texts may become in their places, in characters: a text may stand in several of them.
_MAX_PLACED = 64 * 1024**2
_ALWAYS_PLACED = 64 * 1024
_TIMES_PLACED = 16

_ATTACHED = re.compile(r"attachment://([0-9a-zA-Z]+)")
_FIRST_KEYS = frozenset({"version", "status", "eval"})
_HEADERS = ("header.json", "_journal/start.json")


class _Spec(msgspec.Struct, frozen=True):
    task: str
    model: str


class _Sample(msgspec.Struct, frozen=True, kw_only=True):
    id: str | Number
    epoch: Number = 1
    input: Any = None
    choices: list[str] | None = None
    target: Any = None
    output: Any = None
    metadata: Any = None
    error: Any = None
    attachments: dict[str, Any] | None = None


class _Header(msgspec.Struct, frozen=True):
    eval: _Spec


@log_format("inspect")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell an archive by its header file, and JSON by its first keys, which stand before the samples."""
    if signs.shape == "archive":
        return read_archive if not signs.names.isdisjoint(_HEADERS) else None
    return read_json_log if signs.shape == "object" and signs.names >= _FIRST_KEYS else None


def read_json_log(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A log in one JSON file."""
    spec: _Spec | None = None
    entries: list[LogEntry] = []
    with path.open("rb") as file:
        file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
        window = Window(file, path)
        for key, _, opening in window.openings(skip=False):
            if key == "samples" and opening == b"[":
                texts = (text for _, _, text in window.items())
                entries = [_entry(text, _where(path, n)) for n, text in enumerate(texts, start=1)]
                continue
            _, text = window.value()
            if key == "eval":
                spec = decode_entry(text, _Spec, f"{path.name}: eval")
    return _log(path, spec, entries)


def read_archive(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A log in an archive."""
    with Archive(path) as archive:
        header = next(name for name in _HEADERS if name in archive.names)
        spec = decode_entry(archive.read(header), _Header, f"{path.name}: {header}").eval
        samples = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        entries = [_entry(archive.read(name), f"{path.name}: {name}") for name in samples]
    return _log(path, spec, entries)


def _log(path: Path, spec: _Spec | None, entries: list[LogEntry]) -> ReplyLog:
    if spec is None:
        raise DataError(f"{path.name}: the log does not say what was evaluated", hint="it has no 'eval'")
    refuse_duplicates(entries, path)
    return ReplyLog(tool="Inspect", task=spec.task, model=spec.model, entries=entries)


def _where(path: Path, number: int) -> str:
    return f"{path.name}: sample {number}"


def _entry(text: bytes, where: str) -> LogEntry:
    found = decode_entry(text, _Sample, where)
    name = f"{where} (id {found.id!r}, epoch {found.epoch})"
    if not 1 <= found.epoch <= MAX_TRIALS:
        raise DataError(f"{name}: field epoch: it is counted from 1, to {MAX_TRIALS} at most")
    attached = _Attached(found.attachments or {}, name)
    with report_field_errors(name):
        asked, output = attached.placed_in(found.input), attached.placed_in(found.output)
    own = read_own_sample(found.metadata, name)
    reply = _reply(output, name)
    # In our own logs an error beside a reply is that of the scorer, and the reply can be scored again.
    failure = "" if own and reply else _failure(found.error)
    return LogEntry(
        id=str(found.id),
        where=name,
        trial=found.epoch - 1,
        reply=None if failure else reply,
        failure=failure or ("" if reply else "the log holds no output of the model"),
        asked=read_question(asked),
        sample=own or _sample(found, asked, name),
    )


def _reply(output: Any, where: str) -> Reply | None:
    reply = read_reply(output)
    return read_own_reply(output.get("metadata"), reply.text, where) or reply if reply else None


def _failure(error: Any) -> str:
    if not error:
        return ""
    message = error.get("message") if isinstance(error, Mapping) else error
    return str(message)[:2000] or "an error without words"


def _sample(found: _Sample, asked: Any, where: str) -> Sample:
    texts = found.choices or []
    if len(texts) > len(LETTERS):
        raise DataError(f"{where}: {len(texts)} choices", hint=f"at most {len(LETTERS)} can be lettered")
    return Sample(
        id=str(found.id),
        question=read_question(asked),
        images=read_image_refs(asked),
        golds=_golds(found.target, len(texts)),
        choices=choices_from_list(texts),
        meta=read_meta(found.metadata),
    )


def _golds(target: Any, n_choices: int) -> tuple[str, ...]:
    """Accepted answers. Letters of a question with choices are no alternatives: all of them must be chosen.

    >>> _golds(["A", "C"], 3), _golds(["4", "four"], 0), _golds("B", 3)
    (('AC',), ('4', 'four'), ('B',))
    """
    golds = read_golds(target)
    letters = LETTERS[:n_choices]
    is_all = len(golds) > 1 and all(len(gold) == 1 and gold in letters for gold in golds)
    return ("".join(golds),) if is_all else golds


class _Attached:
    """The texts that are attached to a sample, to be put in their places; pictures stay where they are.

    One text can be named a million times, so what they become is counted.
    """

    def __init__(self, attachments: Mapping[str, Any], where: str) -> None:
        self._texts = {
            key: value
            for key, value in attachments.items()
            if isinstance(value, str) and not value.startswith("data:")
        }
        length = sum(map(len, self._texts.values()))
        self._left = min(_MAX_PLACED, _ALWAYS_PLACED + _TIMES_PLACED * length)
        self._where = where

    def placed_in(self, value: Any) -> Any:
        """The same value with the texts in it."""
        if isinstance(value, str):
            return _ATTACHED.sub(self._text, value) if "attachment://" in value else value
        if isinstance(value, list):
            return [self.placed_in(item) for item in value]
        if isinstance(value, dict):
            return {key: self.placed_in(item) for key, item in value.items()}
        return value

    def _text(self, found: re.Match[str]) -> str:
        text = self._texts.get(found[1])
        if text is None:
            return found[0]
        self._left -= len(text)
        if self._left < 0:
            raise DataError(
                f"{self._where}: field attachments: the same texts are named too often to put them in place",
                hint=f"{_TIMES_PLACED} times their length is read, and {_MAX_PLACED // 1024**2} million "
                "characters at most",
            )
        return text
