"""Questions whose gold may be wrong: stored runs of several models, most of which agree against it.

Runs without the image tell which answer a text alone suggests: agreement on that answer says little. In runs
with rotated options a model's answer counts only if it is the same in every rotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError, join_names
from eyechart.report.counting import RIGHT, compute_credit, compute_digest
from eyechart.report.export import write_csv_rows
from eyechart.runs.corrections import COLUMNS, format_golds
from eyechart.runs.listing import find_runs
from eyechart.runs.results import Run
from eyechart.stats.suspects import Answers, rank
from eyechart.types import Result, Sample

_FEWEST = 2  # models
_CONTEXT = ("suggested", "chance %", "models for it", "models for old", "question", "options", "images")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A question whose gold may be wrong, and what is known of it."""

    id: str
    old: str  # the gold
    suggested: str  # the answer that models agree on: a letter, or a text
    chance: float  # that the gold is wrong and this answer right
    votes: int
    for_gold: int
    is_blind: bool  # a model gave this answer without the image, too
    question: str
    options: Mapping[str, str]
    images: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def find_suspects(given: Sequence[str | Path]) -> tuple[list[str], list[Suspect]]:
    """The models, and the questions on which one of them disagrees with the gold, most suspect first."""
    runs = [Run(folder) for one in given for folder in find_runs(one)]
    seeing: dict[str, Run] = {}
    blind: list[Run] = []
    for run in runs:
        if run.replaced_input:
            blind.append(run)
        else:
            seeing.setdefault(str(run.manifest.get("model")), run)  # one model is one opinion
    if len(seeing) < _FEWEST:
        raise UsageError(
            f"with the images, only {join_names(list(seeing)) or 'no model'} answered, but agreement "
            "needs at least two models",
            hint="give runs of several models that are independent of each other",
        )
    samples: dict[str, Sample] = {}
    answers = [_read_answers(run, samples) for run in seeing.values()]
    by_text = [_read_answers(run, samples) for run in blind]
    questions = {
        name: Answers(
            gold=_name_gold(sample),
            given=[one.get(name) for one in answers],
            n_options=len(sample.choices),
            blind=[read for one in by_text if (read := one.get(name)) is not None],
        )
        for name, sample in samples.items()
        if sample.golds
    }
    found = []
    for name, one in rank(questions):
        sample = samples[name]
        letter = next((key for key, text in sample.choices.items() if _fold(text) == one.answer), one.answer)
        found.append(
            Suspect(
                id=name, old=format_golds(sample.golds), suggested=letter, chance=one.chance, votes=one.votes,
                for_gold=one.for_gold, is_blind=one.answer in questions[name].blind,
                question=sample.question, options=dict(sample.choices), images=tuple(map(str, sample.images)),
            )
        )  # fmt: skip
    return list(seeing), found


def _read_answers(run: Run, samples: dict[str, Sample]) -> dict[str, str | None]:
    """What a run answered to each question, by content; of rotations, if all are answered alike."""
    found: dict[str, set[str | None]] = {}
    for result in run.samples(0):
        sample = result.sample
        name = sample.circle or sample.id
        if name == sample.id or name not in samples:
            known = samples.get(sample.id)
            if known is not None and compute_digest(known) != compute_digest(sample):
                golds = [format_golds(one.golds) for one in (known, sample)]
                what = "has the answer {!r} in one run, and {!r} in another".format(*golds)
                if golds[0] == golds[1]:
                    what = "has another question or other options in one run than in another"
                raise UsageError(
                    f"sample {name} of {run.manifest.get('benchmark')} {what}: the file "
                    "has changed under its name",
                    hint=f"give runs of one version of the file; another one is {run.folder}",
                )
            samples.setdefault(sample.id, sample)
        found.setdefault(name, set()).add(_read(result))
    return {name: next(iter(several)) if len(several) == 1 else None for name, several in found.items()}


def _read(result: Result) -> str | None:
    """The content of an answer: the text of the option, or what was read; the gold's where it is right."""
    value, read = compute_credit(result), result.score.read if result.score else None
    if value is None:
        return None
    if value >= RIGHT:
        return _name_gold(result.sample)
    return None if read is None else _fold(result.sample.choices.get(read, read))


def _name_gold(sample: Sample) -> str:
    gold = sample.golds[0] if sample.golds else ""
    return _fold(sample.choices.get(gold, gold))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


def write_sheet(path: str | Path, suspects: Sequence[Suspect]) -> None:
    """Write suspects as a CSV for a person, who fills in `new` and `why`: then it is a correction file."""
    if Path(path).exists():
        raise UsageError(f"{path} exists: it may hold a person's work", hint="choose another name")
    rows = (
        [one.id, one.old, "", "", one.suggested, round(100 * one.chance, 1), one.votes, one.for_gold,
         one.question, " ".join(f"({letter}) {text}" for letter, text in one.options.items()),
         " ".join(one.images)]
        for one in suspects
    )  # fmt: skip
    write_csv_rows(path, [*COLUMNS, *_CONTEXT], rows)
