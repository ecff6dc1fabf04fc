"""Selects samples by number, id or category (``--limit``, ``--ids``, ``--where``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from eyechart.data.columns.meaning import to_text
from eyechart.errors import UsageError
from eyechart.registry import suggest_name
from eyechart.types import Sample

_VALUES_REMEMBERED = 200
_VALUES_SHOWN = 12


def select(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """Samples that match `ids` and `where`, in order, at most `limit` of them.

    `where` compares text: ``{"category": "map,chart"}`` keeps both categories. Unknown names and an empty
    selection raise `UsageError` at the end of the pass.

    >>> two = [Sample(id="1", question="?", meta={"category": "map"}), Sample(id="2", question="?")]
    >>> [sample.id for sample in select(two, where={"category": "map"})]
    ['1']
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit} selects nothing", hint="leave it out to select all samples")
    return _select(samples, limit, None if ids is None else frozenset(ids), where or {})


def _select(
    samples: Iterable[Sample], limit: int | None, ids: frozenset[str] | None, where: Mapping[str, str]
) -> Iterator[Sample]:
    accepted = {key: {value, *map(str.strip, value.split(","))} for key, value in where.items()}
    # What was seen explains a selection that matches nothing.
    n, found, known = 0, set[str](), list[str]()
    keys, values = set[str](), {key: set[str]() for key in where}
    for sample in samples:
        if ids is not None:
            known += [sample.id] * (len(known) < _VALUES_REMEMBERED)
            if sample.id not in ids:
                continue
            found.add(sample.id)
        texts = {key: to_text(sample.meta.get(key)) for key in where}
        for key, text in texts.items():
            if text and len(values[key]) < _VALUES_REMEMBERED:
                values[key].add(text)
        keys.update(sample.meta if where else ())
        if all(text in accepted[key] for key, text in texts.items()):
            yield sample
            n += 1
            if n == limit:
                return
    if missing := sorted((ids or frozenset()) - found):
        hint = suggest_name(missing[0], known, otherwise=f"ids look like {', '.join(known[:5])}")
        raise UsageError(f"--ids: no sample {', '.join(missing[:5])}", hint=hint)
    for key in where:
        if key not in keys:
            have = f"samples have: {', '.join(sorted(keys)[:_VALUES_SHOWN]) or 'nothing'}"
            hint = suggest_name(key, sorted(keys), otherwise=have)
            raise UsageError(f"--where {key}=...: no sample has {key!r}", hint=hint)
    if not n:
        shown = {key: ", ".join(sorted(several)[:_VALUES_SHOWN]) for key, several in values.items()}
        hint = "; ".join(f"{key} is one of {text}" for key, text in shown.items())
        raise UsageError("no sample is selected", hint=hint or "the source has no samples")


def select_questions(
    samples: Iterable[Sample],
    *,
    limit: int | None = None,
    ids: Collection[str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Sample]:
    """`select` by question: all rotations of a question of which one matches, at most `limit` questions.

    The samples are read twice: rotations may be anywhere.
    """
    chosen: set[str] = set()
    for sample in select(samples, ids=ids, where=where):
        chosen.add(sample.circle or sample.id)
        if len(chosen) == limit:
            break
    return (sample for sample in samples if (sample.circle or sample.id) in chosen)
