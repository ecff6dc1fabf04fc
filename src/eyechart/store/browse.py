"""Lists of samples: which have which outcome, which match a filter, and a page of them.

One query reads id and outcome of every sample-trial, without any text; 60,000 take about a quarter of a
second. Texts are read for the page that is shown, and in full only where a filter looks into them.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.store.reader import PROVISIONAL, JournalReader, open_to_read
from eyechart.store.sqlite import store_errors

PENDING = "pending"  # not asked yet
_NOT_SCORED = ("failed", "unscored", PENDING)
_MOST_TRIALS = 100_000  # as the option allows


class SampleEntry(msgspec.Struct, frozen=True):
    """One trial of one sample, without its texts."""

    position: int
    id: str
    trial: int
    outcome: str  # an outcome, or "pending"
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFilter:
    """Which samples to list; empty: all."""

    outcomes: Collection[str] = ()
    fits: Callable[[Mapping[str, Any]], bool] | None = None  # of the columns of its row
    matches: Callable[[str], object] | None = None  # of the texts: id, question, options, golds, reply
    ids: Collection[str] | None = None  # e.g. those that flipped


class _Texts(msgspec.Struct):
    question: str = ""
    golds: tuple[str, ...] = ()
    choices: dict[str, str] = {}
    choices_text: str = ""
    meta: dict[str, Any] = {}


class _Said(msgspec.Struct):
    text: str = ""


_texts = msgspec.json.Decoder(_Texts)
_said = msgspec.json.Decoder(_Said)


class SampleList:
    """Every sample-trial of a run by position, with the outcome that the run's scorer gave it."""

    def __init__(self, journal: JournalReader, manifest: Mapping[str, Any]) -> None:
        self._journal = journal
        self.entries = list(_read_entries(journal, manifest))

    def count(self) -> dict[str, int]:
        """How many sample-trials ended in which outcome, those not asked yet included."""
        return dict(Counter(entry.outcome for entry in self.entries))

    def find(self, wanted: SampleFilter) -> list[SampleEntry]:
        """The entries that match, in the benchmark's order."""
        found = self.entries
        if wanted.outcomes:
            found = [entry for entry in found if entry.outcome in wanted.outcomes]
        if wanted.ids is not None:
            ids = frozenset(wanted.ids)
            found = [entry for entry in found if entry.id in ids]
        if wanted.fits is not None or wanted.matches is not None:
            found = list(self._look_into(found, wanted))
        return found

    def _look_into(self, entries: Sequence[SampleEntry], wanted: SampleFilter) -> Iterator[SampleEntry]:
        reading = wanted.matches is not None
        sql = """
            SELECT s.body, CASE WHEN ?3 THEN r.body END FROM samples s
            LEFT JOIN asks a ON ?3 AND a.sample = s.id AND a.trial = ?2
            LEFT JOIN replies r ON ?3 AND r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            WHERE s.position = ?1"""
        journal = self._journal
        opened = open_to_read(journal.path, is_untouched=journal.is_untouched)
        with store_errors(journal.path), contextlib.closing(opened) as db:
            for entry in entries:
                row = db.execute(sql, (entry.position, entry.trial, reading)).fetchone()
                if row is None:  # the samples were replaced since
                    continue
                texts = _texts.decode(row[0])
                if wanted.fits is not None and not wanted.fits(texts.meta):
                    continue
                if wanted.matches is not None:
                    said = "" if row[1] is None else _said.decode(row[1]).text
                    options = (*texts.choices.values(), texts.choices_text)
                    if not wanted.matches(
                        "\n".join((entry.id, texts.question, *options, *texts.golds, said))
                    ):
                        continue
                yield entry


def tally_outcomes(
    journal: JournalReader, manifest: Mapping[str, Any]
) -> tuple[dict[str, int], float | None]:
    """Sample-trials by outcome, those not asked yet included, and the mean of the scored ones so far."""
    sql = f"""
        SELECT outcome, count(*), total(value * weight), total(weight) FROM (
          SELECT e.*, coalesce(json_extract(CAST(s.body AS TEXT), '$.weight'), 1) AS weight
          FROM ({_ENTRIES}) e JOIN samples s USING (position))
        GROUP BY outcome"""  # noqa: S608 - constants
    with _rows(journal, manifest, sql) as rows:
        found = {str(outcome): (int(n), total, weight) for outcome, n, total, weight in rows}
    scored = [one for outcome, one in found.items() if outcome not in _NOT_SCORED]
    weight = sum(weight for _, _, weight in scored)
    mean = sum(total for _, total, _ in scored) / weight if weight else None
    return {outcome: n for outcome, (n, _, _) in found.items()}, mean


_ENTRIES = f"""
    SELECT s.position AS position, s.id AS id, t.value AS trial,
           coalesce(c.outcome, CASE WHEN f.sample IS NULL AND p.sample IS NULL THEN '{PENDING}'
                                    ELSE 'failed' END) AS outcome,
           c.value AS value
    FROM samples s CROSS JOIN (SELECT value FROM json_each(?1)) t
    LEFT JOIN asks a ON a.sample = s.id AND a.trial = t.value
    LEFT JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
                      AND c.scorer = ?2 AND (?3 = '' OR c.version IN (?3, ?3 || ?4))
    LEFT JOIN failures f ON f.sample = s.id AND f.trial = t.value
    LEFT JOIN slips p ON p.sample = s.id AND p.trial = t.value AND p.scorer = ?2"""  # noqa: S608


def _read_entries(journal: JournalReader, manifest: Mapping[str, Any]) -> Iterator[SampleEntry]:
    with _rows(journal, manifest, f"{_ENTRIES} ORDER BY s.position") as rows:
        yield from (SampleEntry(*row) for row in rows)


@contextlib.contextmanager
def _rows(
    journal: JournalReader, manifest: Mapping[str, Any], sql: str
) -> Iterator[Iterator[tuple[Any, ...]]]:
    scorer = str(manifest.get("scorer", ""))
    version = str((manifest.get("versions") or {}).get(scorer, ""))
    n_trials = int(manifest.get("trials", 1))
    if not 1 <= n_trials <= _MOST_TRIALS:
        raise StoreError(f"{journal.path}: {n_trials} trials", hint="the file is damaged")
    trials = msgspec.json.encode(list(range(n_trials))).decode()
    opened = open_to_read(journal.path, is_untouched=journal.is_untouched)
    with store_errors(journal.path), contextlib.closing(opened) as db:
        yield db.execute(sql, (trials, scorer, version, PROVISIONAL))
