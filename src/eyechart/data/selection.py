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
    return _Selection(limit, None if ids is None else frozenset(ids), dict(where or {})).of(samples)


class _Selection:
    """One pass, and what it saw, to explain a selection that matches nothing."""

    def __init__(self, limit: int | None, ids: frozenset[str] | None, where: Mapping[str, str]) -> None:
        self.limit = limit
        self.ids = ids
        self.where = {key: {value, *map(str.strip, value.split(","))} for key, value in where.items()}
        self.seen_ids: set[str] = set()
        self.known_ids: list[str] = []
        self.known_keys: set[str] = set()
        self.known_values: dict[str, set[str]] = {key: set() for key in where}

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        count = 0
        for sample in samples:
            if not self._fits(sample):
                continue
            yield sample
            count += 1
            if count == self.limit:
                return
        self._explain(count)

    def _fits(self, sample: Sample) -> bool:
        if self.ids is not None:
            if len(self.known_ids) < _VALUES_REMEMBERED:
                self.known_ids.append(sample.id)
            if sample.id not in self.ids:
                return False
            self.seen_ids.add(sample.id)
        if not self.where:
            return True
        self.known_keys.update(sample.meta)
        fits = True
        for key, wanted in self.where.items():
            text = to_text(sample.meta.get(key))
            if text and len(self.known_values[key]) < _VALUES_REMEMBERED:
                self.known_values[key].add(text)
            fits &= text in wanted
        return fits

    def _explain(self, count: int) -> None:
        missing = sorted((self.ids or frozenset()) - self.seen_ids)
        if missing:
            alike = f"ids look like {', '.join(self.known_ids[:5])}"
            hint = suggest_name(missing[0], self.known_ids, otherwise=alike)
            raise UsageError(f"--ids: no sample {', '.join(missing[:5])}", hint=hint)
        for key in self.where:
            if key not in self.known_keys:
                known = sorted(self.known_keys)
                have = f"samples have: {', '.join(known[:_VALUES_SHOWN]) or 'nothing'}"
                hint = suggest_name(key, known, otherwise=have)
                raise UsageError(f"--where {key}=...: no sample has {key!r}", hint=hint)
        if count == 0:
            raise UsageError("no sample is selected", hint=self._values_hint())

    def _values_hint(self) -> str:
        values = {key: ", ".join(sorted(known)[:_VALUES_SHOWN]) for key, known in self.known_values.items()}
        shown = [f"{key} is one of {text}" for key, text in values.items()]
        return "; ".join(shown) or "the source has no samples"


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
