"""One result as plain values, a nested record for JSON or a flat row for tables, and in words.

A record is complete. A row has one cell per column, and all rows of a file have the same columns: the
built-in ones first, then one for the status of each field where answers are objects, then one for each key of
the samples' meta, named as in the benchmark's file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from eyechart.errors import join_names
from eyechart.files import atomic_write
from eyechart.models.prices import Price
from eyechart.report.counting import compute_credit
from eyechart.types import FIELD_KINDS, Failure, Reply, Result, Sample

Cell: TypeAlias = str | int | float | None

PEEK = 1000  # results read for their meta keys before the first row is written
MAX_META = 100  # columns; keys beyond these share one
OTHER_META = "other_meta"
TAGS = "thinking_tags"  # with these, `eyechart score --replies` has the text as it came

_OPENING = (
    "id", "trial", "question", "hint", "choices", "gold", "reply", "read", "outcome", "score", "route",
    "failure", "thinking", "finish_reason",
)  # fmt: skip
_CLOSING = (
    "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost", "latency_s", "first_token_s",
    "tokens_per_s", "attempts", "images", "position", "cluster", TAGS,
)  # fmt: skip
INTEGERS = frozenset(
    {"trial", "prompt_tokens", "completion_tokens", "reasoning_tokens", "attempts", "position"}
)
FRACTIONS = frozenset({"score", "cost", "latency_s", "first_token_s", "tokens_per_s"})


def to_record(result: Result, price: Price | None = None) -> dict[str, Any]:
    """Everything known about one sample-trial, as nested values.

    >>> from eyechart.types import Sample
    >>> to_record(Result(sample=Sample(id="7", question="Which?"), position=0))["outcome"] is None
    True
    """
    sample, reply, score = result.sample, result.reply, result.score
    return {
        "id": sample.id,
        "trial": result.trial,
        "position": result.position,
        "cluster": result.cluster or sample.id,
        "question": sample.question,
        "hint": sample.hint,
        "choices": dict(sample.choices),
        "golds": list(sample.golds),
        "meta": get_facts(sample),
        "outcome": result.outcome,
        "score": compute_credit(result),
        "read": score.read if score else None,
        "route": score.route if score else "",
        "detail": dict(score.detail) if score else {},
        "reply": None
        if reply is None
        else {
            "text": reply.text,
            "thinking": reply.thinking,
            "finish_reason": reply.finish_reason,
            "usage": asdict(reply.usage) if reply.usage else None,
            "model": reply.model,
            "latency_s": reply.latency_s,
            "first_token_s": reply.first_token_s,
            "tokens_per_s": reply.tokens_per_s,
            "evidence": dict(reply.evidence),
            "earlier": list(reply.earlier),
            "tags": None if reply.tags is None else list(reply.tags),
        },
        "cost": compute_cost(result, price),
        "failure": asdict(result.failure) if result.failure else None,
        "images": [dict(image) for image in result.sent],
        "attempts": result.attempts,
    }


def to_json_text(value: Any) -> str:
    r"""JSON on one line, not limited to ASCII, and valid for every parser.

    NaN, which JSON does not have, becomes null. Lone surrogates and the Unicode line separators are escaped.

    >>> print(to_json_text({"图": float("nan"), "odd": "\u2028\ud800"}))
    {"图": null, "odd": "\u2028\ud800"}
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False, default=_plain)
    for separator in ("\x85", "\u2028", "\u2029"):
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Rows(msgspec.Struct, frozen=True):
    """A table: the columns, and an iterator over the rows."""

    columns: tuple[str, ...]
    cells: Iterator[list[Cell]]


def to_rows(results: Iterable[Result], price: Price | None = None) -> Rows:
    """One row per sample-trial. The columns come first: they are taken from the first results.

    Meta keys that appear only later, or beyond the first hundred, share one column of JSON.
    """
    stream = iter(results)
    ahead = list(itertools.islice(stream, PEEK))
    seen = list(dict.fromkeys(str(key) for result in ahead for key in get_facts(result.sample)))
    kept = seen[:MAX_META]
    paths = list(dict.fromkeys(path for result in ahead for path in _list_fields(result) if path))[:MAX_META]
    is_open = len(ahead) == PEEK or len(seen) > MAX_META
    columns = (
        *_OPENING,
        *(f"field.{path}" for path in paths),
        *(("extra_fields",) if paths else ()),
        *(f"meta.{key}" if key in {*_OPENING, *_CLOSING, OTHER_META} else key for key in kept),
        *((OTHER_META,) if is_open else ()),
        *_CLOSING,
    )
    results = itertools.chain(ahead, stream)
    return Rows(columns, (_row(result, paths, kept, is_open, price) for result in results))


def _list_fields(result: Result) -> dict[str, str]:
    """The status of each field of the gold; under "" the names of extra fields."""
    statuses: Mapping[str, str] = result.score.detail.get("fields", {}) if result.score else {}
    extra = ", ".join(path for path, status in statuses.items() if status == "extra")
    return {path: status for path, status in statuses.items() if status != "extra"} | {"": extra}


def _row(result: Result, paths: list[str], keys: list[str], is_open: bool, price: Price | None) -> list[Cell]:
    sample, reply, score, failure = result.sample, result.reply, result.score, result.failure
    usage = reply.usage if reply else None
    meta = {str(key): value for key, value in get_facts(sample).items()}
    cells: list[Cell] = [
        sample.id,
        result.trial,
        sample.question,
        sample.hint,
        to_json_text(dict(sample.choices)) if sample.choices else sample.choices_text,
        sample.golds[0] if len(sample.golds) == 1 else to_json_text(sample.golds) if sample.golds else None,
        reply.text if reply else None,
        score.read if score else None,
        result.outcome,
        compute_credit(result),
        score.route if score else None,
        f"{failure.stage}: {failure.reason}" if failure else None,
        reply.thinking if reply else None,
        reply.finish_reason if reply else None,
    ]
    if paths:
        statuses = _list_fields(result)
        cells += [statuses.get(path) for path in (*paths, "")]
    cells += [_cell(meta.pop(key, None)) for key in keys]
    if is_open:
        cells.append(to_json_text(meta) if meta else None)
    cells += [
        usage.prompt_tokens if usage else None,
        usage.completion_tokens if usage else None,
        usage.reasoning_tokens if usage else None,
        compute_cost(result, price),
        reply.latency_s if reply else None,
        reply.first_token_s if reply else None,
        reply.tokens_per_s if reply else None,
        result.attempts,
        to_json_text(result.sent) if result.sent else None,
        result.position,
        result.cluster or sample.id,
        to_json_text(reply.tags) if reply and reply.tags else None,
    ]
    return cells


def get_facts(sample: Sample) -> dict[str, Any]:
    """The columns of a sample's row that are not part of the question, also those that models never see."""
    return {**sample.meta, **{key: one for key, one in sample.withheld.items() if key != FIELD_KINDS}}


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None  # NaN and infinity become empty cells
    return to_json_text(value)


def _plain(value: Any) -> Any:
    """Convert for JSON: other mappings to objects, sets to lists, anything else to text."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, (set, frozenset)) else str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value


def compute_cost(result: Result, price: Price | None) -> float | None:
    """The cost of one reply in USD; None if its tokens or their price are not known."""
    usage = result.reply.usage if result.reply else None
    return price.cost(usage) if price and usage else None


# -- In words: why a sample ended as it did, and how fast its reply came


def explain_outcome(result: Result) -> str:
    """The outcome's reason in a sentence.

    >>> from eyechart.types import Sample
    >>> explain_outcome(Result(sample=Sample(id="1", question="Which?"), position=0))
    'not asked yet; run the same command again to continue'
    """
    score, failure = result.score, result.failure
    golds = " or ".join(repr(gold) for gold in result.sample.golds)
    if score is None:
        return _why_failed(failure) if failure else "not asked yet; run the same command again to continue"
    by = f" by rule {score.route}" if score.route else ""
    rule = f" (rule {score.route})" if score.route else ""
    match score.outcome:
        case "unscored" if "fail_reason" in score.detail:
            return f"no verdict: {score.detail['fail_reason']}; not part of the score"
        case "unscored" if golds:
            return f"the published answer {golds} cannot be used{rule}; not part of the score"
        case "unscored":
            return "no public answer to compare with; not part of the score"
        case "unparsed":
            return f"no answer could be read from the reply{rule}; counts 0"
        case "refused":
            return f"the model declined to answer{rule}; counts 0"
        case "truncated":
            return f"the reply was cut off before an answer{rule}; counts 0"
        case "failed":
            return "no reply; not part of the score"
        case _ if "fields" in score.detail:
            return f"{_count_fields(score.detail['fields'])}{by}; worth {score.value:.3g}"
        case _:
            read = "nothing" if score.read is None else repr(score.read)
            worth = f"; worth {score.value:g}" if score.outcome == "partial" else ""
            return f"read {read}{by}; accepted: {golds or 'nothing public'}{worth}"


def _count_fields(statuses: Mapping[str, str]) -> str:
    """How many fields are right, and which are not.

    >>> _count_fields({"a": "right", "b": "wrong", "c": "extra"})
    '1 of 2 fields right; wrong: b; extra: c'
    """
    named: dict[str, list[str]] = {}
    for path, status in statuses.items():
        named.setdefault(status, []).append(path)
    n = len(statuses) - len(named.get("extra", ()))
    others = [
        f"; {one}: {join_names(named[one], 20)}" for one in ("wrong", "missing", "extra") if one in named
    ]
    return f"{len(named.get('right', ()))} of {n} fields right{''.join(others)}"


def _why_failed(failure: Failure) -> str:
    status = (
        f" (HTTP {failure.status})" if failure.status and str(failure.status) not in failure.reason else ""
    )
    tries = f" after {failure.attempts} attempts" if failure.attempts > 1 else ""
    return (
        f"failed to {failure.stage}{tries}: {failure.reason}{status}; not part of the score; {failure.remedy}"
    )


def describe_speed(reply: Reply) -> str:
    """How fast a reply was.

    >>> from eyechart.types import Usage
    >>> describe_speed(Reply(text="A", latency_s=3, first_token_s=1, usage=Usage(completion_tokens=101)))
    '3.00 s, first token after 1.00 s, then 50.0 tokens/s'
    """
    if reply.first_token_s is None:
        return f"{reply.latency_s:.2f} s" if reply.latency_s else ""
    rate = "" if reply.tokens_per_s is None else f", then {reply.tokens_per_s:.1f} tokens/s"
    return f"{reply.latency_s:.2f} s, first token after {reply.first_token_s:.2f} s{rate}"


# -- Result files of other tools


@contextmanager
def open_text_file(path: str | Path) -> Iterator[IO[str]]:
    """A UTF-8 text file that is moved to `path` when the block ends without an error.

    Line ends are not changed. Lone surrogates, which UTF-8 cannot hold, are written as escapes, as in JSON.
    """
    with (
        atomic_write(path) as place,
        place.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def write_json_file(path: Path, value: Any, *, indent: int, is_ascii: bool = False) -> Path:
    """Write a value as `json.dump` does, without a final newline; values that JSON lacks become text."""
    with open_text_file(path) as file:
        json.dump(value, file, indent=indent, ensure_ascii=is_ascii, default=str)
    return path


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove outdated files, and the folder if it is empty then."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def remove_trials(first: int, list_files: Callable[[int], Sequence[Path]]) -> None:
    """Remove the files of further trials of an earlier export, from the number `first` on."""
    while any(map(Path.exists, files := list_files(first))):
        remove_files(files[0].parent, [path.name for path in files])
        first += 1
