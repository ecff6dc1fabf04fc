"""The arithmetic of an audit: what a model scores with and without the image, what else moves its answers.

All conditions ask the same questions, so every comparison is paired, question by question, with the clusters
of the questions as they were published (eyechart.stats). `run.audit` asks and reads the values.

- A condition's **score** is the mean over its scored questions; its **gain** is what the image adds: the
  score with the image minus that of the condition, on the questions that have a score in both.
- **Blind-solvable** questions are answered right without the image, in every trial. Guessing solves some of
  them: `chance` says how many to expect.
- **Letter bias**: which letters the model prefers (report/choices.py).
- **Changed** is the share of questions whose verdict depends on the order of the options (rotations) or on
  the wording (rewordings).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from eyechart import stats
from eyechart.files import list_values, to_json_value
from eyechart.report.choices import LetterBias
from eyechart.report.compare import ALPHA, format_p, format_points, format_signed
from eyechart.report.counting import RIGHT, compute_credit
from eyechart.report.table import PlainTable, format_percent, format_range
from eyechart.types import Result

IMAGE = "image"
BLIND = "none"
TEXT_MODEL = "text-model"
_WITHOUT = {  # in the verdict
    "none": "without it",
    "blank": "with a blank image",
    "shuffled": "with another question's image",
    "caption": "with a caption in its place",
    "ocr": "with its text in its place",
}
_OTHER_IMAGES = {"blank": "a blank one", "shuffled": "another question's"}  # whether it is this one
_NO_EFFECT = "No effect of the image shows"


class AuditedQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of an audit, and the value of each under every condition; None where it has no score."""

    ids: Sequence[str]
    weights: Sequence[float]
    clusters: Sequence[str]
    chances: Sequence[float]  # what guessing scores
    values: Mapping[str, Sequence[float | None]]  # by condition
    # By condition: whether the verdict depends on the version.
    changed: Mapping[str, Sequence[bool | None]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCondition:
    """One condition: its score, and what the image adds to it."""

    runs: tuple[str, ...]  # folders
    n: int
    n_clusters: int
    score: float | None
    ci95: tuple[float, float] | None
    method: str = ""
    n_paired: int = 0  # questions with a score both with the image and here
    paired_scores: tuple[float, float] | None = None  # on these, with the image and here
    gain: float | None = None
    gain_ci95: tuple[float, float] | None = None
    p: float | None = None
    p_adjusted: float | None = None  # Holm, over all conditions
    smallest_difference: float | None = None  # the true gain that is found with a power of 80 %
    changed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """What a text-only model answers right without the image."""

    model: str
    run: str
    n: int
    score: float | None
    ci95: tuple[float, float] | None
    n_both: int  # questions that the audited model answers right without the image, too


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditNumbers:
    """Everything that an audit counts."""

    n: int
    chance: float | None
    conditions: Mapping[str, AuditedCondition]
    blind_solvable: tuple[str, ...] = ()
    letters: LetterBias | None = None
    leakage: Leakage | None = None
    verdict: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; fractions from 0 to 1."""
        return {
            **list_values(self, ("n", "chance", "conditions")),
            "blind_solvable": len(self.blind_solvable),
            "letter_bias": to_json_value(self.letters),
            **list_values(self, ("leakage", "verdict")),
        }


# -- Conditions


def compare_conditions(
    questions: AuditedQuestions, runs: Mapping[str, Sequence[str]]
) -> dict[str, AuditedCondition]:
    """The score of every condition, and the gain of the image over it."""
    compared = {
        name: stats.paired(questions.values[IMAGE], values, questions.weights, questions.clusters)
        for name, values in questions.values.items()
        if name not in (IMAGE, TEXT_MODEL)
    }
    known = {name: one.p for name, one in compared.items() if one is not None}
    adjusted = dict(zip(known, stats.adjust_holm([*known.values()]), strict=True))
    found = {}
    for name in questions.values:
        if name == TEXT_MODEL:
            continue
        score, gain = compute_interval(questions, name), compared.get(name)
        flags = [flag for flag in questions.changed.get(name, ()) if flag is not None]
        found[name] = AuditedCondition(
            runs=tuple(runs[name]),
            n=score.n if score else 0,
            n_clusters=score.n_clusters if score else 0,
            score=score.mean if score else None,
            ci95=(score.low, score.high) if score else None,
            method=score.method if score else "",
            n_paired=gain.n if gain else 0,
            paired_scores=(gain.mean_a, gain.mean_b) if gain else None,
            gain=gain.difference if gain else None,
            gain_ci95=(gain.low, gain.high) if gain else None,
            p=gain.p if gain else None,
            p_adjusted=adjusted.get(name),
            smallest_difference=stats.find_smallest_difference(gain) if gain else None,
            changed=sum(flags) / len(flags) if flags else None,
        )
    return found


def compute_interval(
    questions: AuditedQuestions, condition: str, *, of_chance: bool = False
) -> stats.Interval | None:
    """The mean of a condition over its scored questions, with its interval; or of what guessing scores."""
    found = stats.Moments()
    rows = zip(
        questions.values[condition], questions.chances, questions.weights, questions.clusters, strict=True
    )
    for value, chance, weight, cluster in rows:
        if value is not None:
            found.add(chance if of_chance else value, weight, cluster)
    return found.interval()


def find_blind_solvable(questions: AuditedQuestions, condition: str = BLIND) -> tuple[str, ...]:
    """The ids of questions that are answered right without the image, in every trial."""
    values = questions.values.get(condition, ())
    return tuple(name for name, value in zip(questions.ids, values, strict=bool(values)) if value == 1)


# -- Versions of a question: rotated options


def merge_versions(
    versions: Iterable[Sequence[float | None]],
) -> tuple[list[float | None], list[bool | None]]:
    """The mean of each question over its versions, and whether its verdict depends on the version.

    >>> merge_versions([[1.0, 0.0, None], [1.0], [None]])
    ([0.5, 1.0, None], [True, None, None])
    """
    means: list[float | None] = []
    changed: list[bool | None] = []  # None: fewer than two versions have a value
    for values in versions:
        known = [value for value in values if value is not None]
        means.append(sum(known) / len(known) if known else None)
        changed.append(len({value >= RIGHT for value in known}) > 1 if len(known) > 1 else None)
    return means, changed


def group_rotations(results: Iterable[Result]) -> dict[str, list[float | None]]:
    """The value of every rotation of a question, a mean over trials, by the id of the question."""
    rows: dict[str, dict[str, list[float]]] = {}
    for result in results:
        sample = result.sample
        trials = rows.setdefault(sample.circle or sample.id, {}).setdefault(sample.id, [])
        if (credit := compute_credit(result)) is not None:
            trials.append(credit)
    return {
        question: [sum(trials) / len(trials) if trials else None for trials in rotations.values()]
        for question, rotations in rows.items()
    }


# -- The verdict


def build_verdict(conditions: Mapping[str, AuditedCondition], chance: float | None) -> str:
    """One sentence: whether the image matters, by how much, and what other images in its place score."""
    paired = {name: conditions[name] for name in _WITHOUT if name in conditions and conditions[name].n_paired}
    if not paired:
        return "Nothing can be said: no question has a score both with and without the image."
    name, other = next(iter(paired.items()))
    gain, scores, ends = other.gain or 0.0, other.paired_scores or (0.0, 0.0), other.gain_ci95 or (0.0, 0.0)
    span = " to ".join(map(format_points, ends))
    if not _has_effect(other):
        change = f"a difference of {format_points(gain)} points ({span})"
        if other.smallest_difference and other.smallest_difference < 1:
            points = format_points(other.smallest_difference)
            change += f", where a true one of {points} would be found with a power of 80 %"
    else:
        change = f"{'a gain' if gain > 0 else 'a loss'} of {format_points(abs(gain))} points ({span})"
    further = [
        f"{_WITHOUT[one]} {format_percent(found.paired_scores[1])} %"
        for one, found in paired.items()
        if one != name and found.paired_scores
    ]
    rest = f"; {', '.join(further)}" if further else ""
    by_luck = f"; guessing would give {format_percent(chance)} %" if chance else ""
    with_it, without = map(format_percent, scores)
    return (
        f"{_judge_image(paired)}: with it {with_it} % of {other.n_paired:,} questions "
        f"are answered correctly, {_WITHOUT[name]} {without} %, {change}{rest}{by_luck}."
    )


def _judge_image(paired: Mapping[str, AuditedCondition]) -> str:
    """The beginning of the verdict: whether an image is needed, and whether it is this one."""
    name, first = next(iter(paired.items()))
    others = {said: paired[one] for one, said in _OTHER_IMAGES.items() if one in paired and one != name}
    if not _has_effect(first):
        moved = [said for said, found in others.items() if _has_effect(found)]
        return f"No image is needed, but {' and '.join(moved)} changes the score" if moved else _NO_EFFECT
    if (first.gain or 0.0) < 0:
        return "The image misleads the model"
    alike = [said for said, found in others.items() if not _has_effect(found) or (found.gain or 0.0) < 0]
    if not alike:
        return "The image matters"
    as_high = "not this one" if len(alike) == len(_OTHER_IMAGES) else f"no difference from {alike[0]} shows"
    return f"An image is needed, but {as_high}"


def _has_effect(condition: AuditedCondition) -> bool:
    """Whether the image adds or takes more than chance would."""
    low, high = condition.gain_ci95 or (0.0, 0.0)
    return condition.p is not None and condition.p < ALPHA and not low <= 0 <= high


# -- For people


def build_audit_tables(numbers: AuditNumbers) -> list[RenderableType]:
    """The conditions, the letters, and what there is to say about them, then the verdict."""
    letters = [_build_letters_table(numbers.letters)] if numbers.letters and numbers.letters.is_biased else []
    remarks = [Text(line) for line in _list_remarks(numbers)]
    return [
        _build_conditions_table(numbers),
        *remarks,
        *letters,
        Text(""),
        Text(numbers.verdict, style="bold"),
    ]


def _build_conditions_table(numbers: AuditNumbers) -> PlainTable:
    rows = [
        [
            name,
            f"{one.n:,}",
            format_percent(one.score),
            format_range(one.ci95),
            format_signed(one.gain) if one.gain is not None else "",
            " to ".join(map(format_signed, one.gain_ci95)) if one.gain_ci95 else "",
            "" if one.p_adjusted is None else format_p(one.p_adjusted),
        ]
        for name, one in numbers.conditions.items()
    ]
    if numbers.chance is not None:
        rows.append(["(chance)", "", format_percent(numbers.chance), "", "", "", ""])
    columns = ["condition", "n", "score %", "95 % interval", "image adds", "95 % interval", "p (Holm)"]
    return PlainTable(columns=columns, rows=rows)


def _list_remarks(numbers: AuditNumbers) -> Iterable[str]:
    if (blind := numbers.conditions.get(BLIND)) is not None and blind.n:
        n = len(numbers.blind_solvable)
        yield f"answered without looking: {n:,} of {blind.n:,} questions (blind-solvable.jsonl)"
    for name, what in (("rotations", "the order of the options"), ("rewordings", "the wording")):
        one = numbers.conditions.get(name)
        if one is not None and one.changed is not None:
            yield f"verdicts that depend on {what}: {format_percent(one.changed)} %"
    if (leak := numbers.leakage) is not None:
        span = f" ({format_range(leak.ci95)})" if leak.ci95 else ""
        yield (
            f"leakage: {leak.model} answers {format_percent(leak.score)} % without the image{span}; "
            f"{leak.n_both:,} questions are solved blind by both models"
        )
    if (bias := numbers.letters) is not None:
        said = "some letters are preferred" if bias.is_biased else "no letter is visibly preferred"
        size = "p < 0.001" if bias.p < 0.001 else f"p = {bias.p:.3f}"
        yield f"letters: {said} ({size}, {bias.n:,} answers, {bias.condition})"


def _build_letters_table(bias: LetterBias) -> PlainTable:
    rows = [
        [
            letter,
            format_percent(one.chosen),
            format_percent(one.gold),
            format_signed(one.difference),
            " to ".join(map(format_signed, one.ci95)),
            format_p(one.p_adjusted),
        ]
        for letter, one in bias.letters.items()
    ]
    columns = ["letter", "chosen %", "gold %", "difference", "95 % interval", "p (Holm)"]
    return PlainTable(columns=columns, rows=rows)
