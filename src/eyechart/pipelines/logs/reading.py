"""What every reader of another tool's file hands on: a reply and the question it answers."""

from __future__ import annotations

import importlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from eyechart.data.columns.answers import LETTERS, label_choices
from eyechart.data.files.json_files import JsonReader, translate_json_errors
from eyechart.data.files.rows import Reader, name_row
from eyechart.data.files.sheets import refuse_bomb
from eyechart.errors import DataError
from eyechart.report.clusters import OF_RUN
from eyechart.types import ImageRef, LogEntry, Reply, Sample, Usage

T = TypeVar("T")

MARK = "eyechart"  # the key under which our own exports keep what a format has no place for
TRIAL = "eyechart_trial"  # which of several answers it is, where EvalScope's files do not tell
MAX_TRIALS = 1000  # of one question; each becomes a row of every question's
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

NOT_OPENED = "it is named in the log of another tool, which may not point to files of this machine"


def decode_entry(text: bytes, kind: type[T], where: str) -> T:
    """An entry of a file. Python's NaN, which is no JSON but is common, is read as nothing."""
    with report_field_errors(where):
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            if b"NaN" not in text and b"Infinity" not in text:
                raise
            return msgspec.convert(json.loads(text, parse_constant=lambda word: None), kind)


def convert_entry(values: Mapping[str, Any], kind: type[T], where: str) -> T:
    """The same for an entry whose JSON was decoded already."""
    with report_field_errors(where):
        return msgspec.convert(values, kind)


def read_lines(path: Path, kind: type[T], reader: Reader | None = None) -> Iterator[tuple[T, str]]:
    """The entries of a file of JSON lines (or of another reader), each with its place."""
    for row in (reader or JsonReader(path, is_lines=True)).rows(()):
        where = name_row(path, row.number, row.line)
        yield convert_entry(row.values, kind, where), where


@contextmanager
def report_field_errors(where: str) -> Iterator[None]:
    """What a decoder finds wrong with an entry, as a `DataError` about it."""
    with translate_json_errors(where, hint="the file may be damaged, or of an unknown version"):
        yield


def refuse_duplicates(entries: Sequence[LogEntry], file: Path) -> None:
    """Refuse a log with two replies to the same question and trial, or with none at all."""
    first: dict[tuple[str, int], str] = {}
    for entry in entries:
        key = (entry.id, entry.trial)
        if key in first:
            raise DataError(
                f"{entry.where}: second reply to {entry.id!r}; the first is in {first[key]}",
                hint="keep one reply for each question and trial",
            )
        first[key] = entry.where
    if not entries:
        raise DataError(f"{file.name}: no replies found")


def read_text(content: Any) -> str:
    """The words of a message, whose content is a text or a list of parts.

    >>> read_text([{"type": "image", "image": "a.png"}, {"type": "text", "text": "Which?"}])
    'Which?'
    """
    return content if isinstance(content, str) else _join_parts(content, "text")


def read_thinking(content: Any) -> str:
    """The reasoning parts of a message, joined."""
    return _join_parts(content, "reasoning")


def _join_parts(content: Any, kind: str) -> str:
    """The texts of the parts of a kind, which have the same name; without those that were redacted."""
    parts = content if isinstance(content, list) else []
    kept = [part for part in parts if isinstance(part, Mapping) and part.get("type") == kind]
    texts = [part.get(kind) for part in kept if kind == "text" or not part.get("redacted")]
    return "\n".join(text for text in texts if isinstance(text, str))


def read_question(messages: Any) -> str:
    """The words of all that was said to the model, up to its first answer."""
    if isinstance(messages, str):
        return messages
    texts = []
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, Mapping) or message.get("role") == "assistant":
            break
        if message.get("role") == "user":
            texts.append(read_text(message.get("content")))
    return "\n".join(texts)


def read_image_refs(messages: Any) -> tuple[ImageRef, ...]:
    """The images of the questions as far as they have an address. None is opened, and none is copied."""
    found = []
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else []:
            match part:
                case {"type": "image", "image": str(place)} if len(place) <= 4096:
                    if place.startswith(("http://", "https://")):
                        found.append(ImageRef(kind="url", location=place))
                    elif not place.startswith(("data:", "attachment:")):
                        found.append(ImageRef(kind="file", location=place, refused=NOT_OPENED))
    return tuple(found)


def read_usage(usage: Any) -> Usage | None:
    """Tokens as Inspect and EvalScope count them; None where there are none or they are no numbers.

    >>> read_usage({"input_tokens": 12, "output_tokens": 3}).total_tokens
    15
    """
    if not isinstance(usage, Mapping):
        return None
    names = ("input_tokens", "output_tokens", "reasoning_tokens", "input_tokens_cache_read")
    prompt, completion, reasoning, cached = (usage.get(name) for name in names)
    if not (prompt or completion or reasoning or cached):
        return None
    return Usage.read([prompt], [completion], reasoning=reasoning, cached=cached)


_FINISHES = {"max_tokens": "length", "model_length": "length", "unknown": ""}


def read_reply(output: Any, where: str) -> Reply | None:
    """The reply in a model's output as Inspect and EvalScope write it; None where there is none."""
    reply = _read_reply(output) if isinstance(output, Mapping) else None
    return read_own_reply(output.get("metadata"), reply.text, where) or reply if reply else None


def _read_reply(output: Mapping[str, Any]) -> Reply | None:
    match output:
        case {"choices": [{"message": Mapping() as message} as first, *_]}:
            pass
        case {"completion": str(completion)} if completion:
            return Reply.read(completion)
        case _:
            return None
    content, seconds, model, stop = (
        message.get("content"),
        output.get("time"),
        output.get("model"),
        first.get("stop_reason"),
    )
    return Reply.read(
        read_text(content),
        thinking=read_thinking(content),
        finish_reason=_FINISHES.get(stop, stop) if isinstance(stop, str) else "",
        usage=read_usage(output.get("usage")),
        model=model if isinstance(model, str) else "",
        latency_s=float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else 0.0,
    )


def read_golds(target: Any) -> tuple[str, ...]:
    """Accepted answers: a text, a number, or a list of them; an empty text is none.

    >>> read_golds("B"), read_golds(["4", "four"]), read_golds(""), read_golds(7)
    (('B',), ('4', 'four'), (), ('7',))
    """
    values = target if isinstance(target, list) else [target]
    plain = (one for one in values if isinstance(one, str | int | float) and not isinstance(one, bool))
    return tuple(text for text in map(str, plain) if text)


def letter_choices(texts: Sequence[str], where: str, what: str = "choices") -> dict[str, str]:
    """The options by their letters; more than there are letters are refused."""
    if len(texts) > len(LETTERS):
        raise DataError(f"{where}: {len(texts)} {what}", hint=f"at most {len(LETTERS)} can be lettered")
    return label_choices(texts)


def read_meta(values: Any) -> dict[str, Any]:
    """Facts of a sample that can group it: texts and numbers, no deeper structures."""
    if not isinstance(values, Mapping):
        return {}
    return {str(name): value for name, value in values.items() if isinstance(value, str | int | float)}


# -- Questions and replies as our own exports keep them in other tools' files: they come back as they were.


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    question: str
    golds: tuple[str, ...] = ()
    choices: dict[str, str] = {}
    choices_text: str = ""
    hint: str = ""
    meta: dict[str, Any] = {}
    weight: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1.0
    circle: str = ""
    withheld: dict[str, Any] = {}
    cluster: str = ""


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    thinking: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None
    model: str = ""
    latency_s: float = 0.0
    evidence: dict[str, Any] = {}
    earlier: tuple[str, ...] = ()
    tags: tuple[str, ...] | None = None


def _read_own(metadata: Any, kind: type[T], where: str) -> T | None:
    record = metadata.get(MARK) if isinstance(metadata, Mapping) else None
    return None if record is None else convert_entry(record, kind, f"{where}, {MARK}")


def read_own_reply(metadata: Any, text: str, where: str) -> Reply | None:
    """The reply with all its fields, from a file that eyechart exported; None for other files."""
    if (found := _read_own(metadata, _Facts, where)) is None:
        return None
    return Reply(text=text, **msgspec.structs.asdict(found))


def read_own_sample(metadata: Any, where: str) -> Sample | None:
    """The sample with all its fields, from a file that eyechart exported; None for other files."""
    if (found := _read_own(metadata, _Record, where)) is None:
        return None
    fields = msgspec.structs.asdict(found)
    if cluster := fields.pop("cluster"):
        fields["withheld"] = {**found.withheld, OF_RUN: cluster}
    return Sample(**fields)


# -- Members of a zip archive, read one at a time up to a size limit; Zstandard compression included.

MAX_MEMBER_BYTES = 256 * 1024 * 1024

_ZSTANDARD = 93  # which Python's own zipfile knows from 3.14 on
_LOCAL_HEADER = struct.Struct("<26xHH")  # all that matters of it: how long the name and the rest are


class Archive(zipfile.ZipFile):
    """An archive to read from, in a `with` block."""

    def __init__(self, path: Path) -> None:
        refuse_bomb(path)
        super().__init__(path)
        self.path = path

    @property
    def names(self) -> list[str]:
        """The names of all members, each once."""
        return list(dict.fromkeys(self.namelist()))

    def unpack(self, name: str) -> bytes:
        """One member: as long as it says it is, or an error.

        Of members of one name, the last counts: that is how a log replaces what it wrote before.
        """
        entry = self.getinfo(name)
        if entry.file_size > MAX_MEMBER_BYTES:
            raise DataError(f"{self.path.name}: {name} is longer than {MAX_MEMBER_BYTES // 1024**2} MB")
        try:
            data = self._unpack(entry)
            if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
                raise ValueError("size or checksum differs from the archive's directory")
        except Exception as err:  # every way of packing has errors of its own for broken bytes
            what, hint = f"{name} cannot be unpacked: {err}", "was the download interrupted?"
            if isinstance(err, NotImplementedError) and entry.compress_type == _ZSTANDARD:
                what = "the archive is packed by Zstandard, which Python reads from 3.14 on"
                hint = (
                    "pip install 'eyechart[inspect]', or: inspect log convert FILE --to json --output-dir DIR"
                )
            raise DataError(f"{self.path.name}: {what}", hint=hint) from err
        return data

    def _unpack(self, entry: zipfile.ZipInfo) -> bytes:
        """The bytes, and one more than there should be where there are more."""
        zstandard = None
        if entry.compress_type == _ZSTANDARD:
            with suppress(ImportError):  # it unpacks no more than is asked of it
                zstandard = importlib.import_module("zstandard")
        if zstandard is None:
            with self.open(entry) as file:
                return file.read(entry.file_size + 1)
        with self.path.open("rb") as packed:
            packed.seek(entry.header_offset)
            lengths = _LOCAL_HEADER.unpack(packed.read(_LOCAL_HEADER.size))
            packed.seek(sum(lengths), 1)
            reader = zstandard.ZstdDecompressor().stream_reader(
                packed.read(entry.compress_size), read_across_frames=True
            )
        return bytes(reader.read(entry.file_size + 1))
