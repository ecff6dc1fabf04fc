"""InfoChartQA's file of replies, ``model_response.json``: an object by question id, or a list of entries.

An entry holds `question_id`, `answer`, `response` and the type as `qtype` (or `qid`; or none, which is 1).
As in the authors' code a list is keyed by `question_id`: a repeated one keeps its
first place and its last content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.data.json_file import json_errors, row_texts
from eyechart.data.lazy import HeldSource
from eyechart.errors import DataError
from eyechart.types import Replies, Reply, Sample

NO_RESPONSE = "Error!"  # what the authors' client writes after its last attempt
DEFAULT_TYPE = 1

Entry = dict[str, Any]


def read_entries(path: str | Path) -> list[Entry]:
    """Every entry in the order in which it counts. `DataError` names the first that is malformed."""
    file = Path(path)
    kept: dict[Any, Entry] = {}
    for number, (key, text) in enumerate(row_texts(file, may_be_empty=True), start=1):
        where = f"{file.name}: entry {number}" + ("" if key is None else f" ({key!r})")
        entry = _decoded(text, where)
        name = entry["question_id"] if key is None else key
        if isinstance(name, list | dict):
            raise DataError(f"{where}: the question_id {name!r} is no id", hint="write a text or a number")
        kept[name] = entry
    return list(kept.values())


def is_left_out(entry: Mapping[str, Any]) -> str:
    """Why the authors' code leaves an entry out of every total; empty if it does not.

    >>> is_left_out({"response": "Error!"}), is_left_out({}), is_left_out({"response": "error!"})
    ('the call failed (Error!)', 'no response', '')
    """
    if "response" not in entry:
        return "no response"
    return f"the call failed ({NO_RESPONSE})" if entry["response"] == NO_RESPONSE else ""


def type_of_entry(entry: Mapping[str, Any]) -> Any:
    """The type of the question, as it stands there.

    >>> type_of_entry({"qid": 300}), type_of_entry({"qtype": "72", "qid": 300}), type_of_entry({})
    (300, '72', 1)
    """
    return entry.get("qtype", entry.get("qid", DEFAULT_TYPE))


def read_model_response(path: Path) -> Replies:
    """The replies of a file, with the questions as far as it holds them."""
    by_id: dict[str, Reply] = {}
    skipped: dict[str, str] = {}
    samples: dict[str, Sample] = {}
    for number, entry in enumerate(read_entries(path), start=1):
        name = str(entry["question_id"])
        if name in samples:
            raise DataError(
                f"{path.name}: the question_id {name!r} is that of entries {samples[name].row} and {number}",
                hint="give every question its own id",
            )
        samples[name] = _sample(name, entry, number)
        if reason := is_left_out(entry):
            skipped[name] = reason
            continue
        said = entry["response"]
        # What is no text is scored as the text Python makes of it; evidence keeps that a null was none.
        text, evidence = (said, {}) if isinstance(said, str) else (str(said), {"response": said})
        by_id[name] = Reply(text=text, evidence=evidence)
    if not by_id:
        raise DataError(f"{path.name}: there is no reply in it", hint="entries need a 'response'")
    source = HeldSource("infochartqa", str(path), tuple(samples.values()))  # those without a reply included
    return Replies(by_id=by_id, source=source, skipped=skipped)


def _decoded(text: bytes, where: str) -> Entry:
    with json_errors(where):
        entry = json.loads(text)
    if not isinstance(entry, dict):
        raise DataError(f"{where}: {str(entry)[:60]!r} is no entry", hint="an entry is an object")
    needed = ["question_id"] if is_left_out(entry) else ["question_id", "answer"]
    for name in needed:
        if name not in entry:
            found = ", ".join(entry) or "nothing"
            raise DataError(
                f"{where}: no {name!r} (found: {found[:200]})", hint="is this a model_response.json?"
            )
    return entry


def _sample(name: str, entry: Entry, number: int) -> Sample:
    known = ("question_id", "answer", "response", "question", "qtype", "qid")
    rest = {
        key: value
        for key, value in entry.items()
        if key not in known and isinstance(value, str | int | float)
    }
    qtype = type_of_entry(entry)
    answer = entry.get("answer")
    return Sample(
        id=name,
        question=str(entry.get("question", "")),
        golds=(answer if isinstance(answer, str) else str(answer),),
        meta={**rest, "question_id": entry["question_id"], "question_type_id": qtype, "qtype": qtype},
        row=number,
    )
