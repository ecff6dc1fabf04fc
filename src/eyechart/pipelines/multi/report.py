"""MULTI's result files, from a run: predictions to submit, arguments, scores, totals and charts.

`export_multi` writes them, and the metrics step uses the same functions. The score files hold what the
official metrics step makes of prediction.json, so a failed question counts there as an empty prediction.
eyechart's own summary leaves it out; summary.md says how many there are.
"""

from __future__ import annotations

import csv
import functools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from eyechart.data.images.substitutes import IMAGE_PATHS
from eyechart.errors import MissingExtra
from eyechart.files import atomic_write, make_folder, suppress_warnings
from eyechart.models.redact import redact_parameters
from eyechart.pipelines.multi.files import IMAGES, classify_images
from eyechart.pipelines.multi.prompt import OWN_WORDING
from eyechart.pipelines.multi.score import KINDS, read_kind, score
from eyechart.registry import exporter
from eyechart.report.export import guard_formula
from eyechart.report.rows import open_text_file, remove_files, remove_trials, write_json_file
from eyechart.types import Export, Result, Sample

TYPES = ("SA", "MA", "FB", "OP")
CSV_HEADER = ("education", "subject", "type", "image", "qs_count", "qs_correct", "qs_total", "qs_score")
# The groups that come first in a table, by the attribute of a question; then the others.
_ORDER: Mapping[str, Sequence[str]] = {
    "level": ("JuH", "SeH", "Uni", "Driving", "AAT"),
    "image": IMAGES,
    "type": TYPES,
}
# Of each table, by the name of its chart: its heading, and what it groups by.
_TABLES = {
    "summary_education": ("Education", "level"),
    "summary_image": ("Image ", "image"),
    "summary_type": ("Type", "type"),
}
CHARTS = (*_TABLES, "heatmap")
FILES = (
    "prediction.json", "args.json", "score.json", "detail.json", "statistics.csv", "summary.md",
    *(f"{name}.png" for name in CHARTS),
)  # fmt: skip
INDENT = 4  # of all JSON files, as published; characters stay as they are

# Points of all questions with one image and with more, in the whole benchmark. The official line divides by
# these even if only a part was run.
_ALL_SI, _ALL_MI = 8540, 255
NO_PREDICTION = "generate_answer gave no prediction: "  # in a failure, before the class's reason
RETURNED = "returned"  # in a reply's evidence: what else the class returned
_TYPE_NAMES: Mapping[str, str] = {kind: name for name, kind in KINDS.items()}
UNLABELLED_TYPE = "其他"  # as published: a question whose label is null counts in no other type
_MESSAGES = ("input_message", "input_message_list")  # where an evaluator class says what it sent


@exporter("multi", only_own=True, is_submission=True)
def export_multi(export: Export) -> Sequence[Path]:
    """Write MULTI's files; with several trials, one folder per trial."""
    n_trials = int(export.manifest.get("trials") or 1)
    several = [export.folder / f"trial-{trial}" for trial in range(n_trials)] if n_trials > 1 else []
    written: list[Path] = []
    for trial, folder in enumerate(several or [export.folder]):
        make_folder(folder)
        asked = [one for one in export.results(trial) if one.outcome is not None or one.reply is not None]
        found = _write(folder, export.manifest, asked)
        remove_files(folder, set(FILES) - {path.name for path in found})
        written += found
    if several:
        remove_files(export.folder, FILES)  # of an earlier run with a single trial
    remove_trials(len(several), lambda trial: [export.folder / f"trial-{trial}" / name for name in FILES])
    return written


def _write(folder: Path, manifest: Mapping[str, Any], results: Sequence[Result]) -> list[Path]:
    entries = {result.sample.id: make_prediction(result) for result in results}
    paths = [
        write_json_file(folder / "prediction.json", entries, indent=INDENT),
        write_json_file(folder / "args.json", make_arguments(manifest), indent=INDENT),
    ]
    if not any(result.sample.golds for result in results):
        return paths  # the release file has no answers: prediction.json is to be submitted
    by_id = {result.sample.id: result for result in results}
    rows = [_score_result(by_id[name]) for name in sort_ids(by_id)]
    details = {row.question_id: row.make_detail(entries[row.question_id]) for row in rows}
    rejected = format_rejections(rows)
    notes = [rejected] if rejected else []
    if n_failed := sum(result.outcome == "failed" for result in results):
        notes.append(f"Failed: {n_failed} of {len(results)} questions, which earn no points here.")
    return [*paths, *write_scores(folder, rows, details), *write_summary(folder, rows, notes=notes)]


def make_arguments(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The content of args.json: the benchmark's settings, then the run's. Never a key."""
    about = {name: manifest.get(name) for name in ("benchmark", "model", "scorer", "trials", "eyechart")}
    settings = dict(manifest.get("settings") or {})
    if not settings.get("wording", True):
        settings["wording"] = OWN_WORDING
    return redact_parameters({**settings, **about, "options": manifest.get("options") or {}})


# -- prediction.json


def make_prediction(result: Result) -> dict[str, Any]:
    """A question as in prediction.json. Failed ones have an empty prediction and the reason in `feedback`."""
    sample, reply = result.sample, result.reply
    entry: dict[str, Any] = {"question_id": sample.id, "question_image_number": _count_images(sample)}
    asked = _input_messages(result)
    if result.sent:  # as published: an empty path for a round without an image and for the black one
        images = _list_images(sample)
        rounds = asked.get("input_message_list", [""])
        n_rounds = sum(not isinstance(one, dict) or one.get("role") == "user" for one in rounds)
        entry["image_list"] = images + [""] * (n_rounds - len(images))
    if reply is None:
        # Only the reason: hints name flags of other commands.
        reason = result.failure.reason.partition("\n")[0] if result.failure else "not asked"
        return entry | {"prediction": "", "feedback": reason.removeprefix(NO_PREDICTION)}
    if (returned := reply.evidence.get(RETURNED)) is not None:  # of an evaluator class: as it returned it
        return {**entry, **asked, "prediction": reply.content, **returned}
    entry |= asked
    if reply.earlier:
        entry["answer_history"] = [*reply.earlier, reply.content]
    entry["prediction"] = reply.content
    if not reply.content and reply.finish_reason != "stop":
        entry["feedback"] = reply.finish_reason
    if reply.usage is not None:
        entry["prompt_tokens"] = reply.usage.prompt_tokens
        entry["completion_tokens"] = reply.usage.completion_tokens
    return entry


def _input_messages(result: Result) -> dict[str, Any]:
    """What was asked, per round: as an evaluator class says, else as it was sent.

    It is the text; if there was a system message, too, the list of messages, as the authors' classes for
    endpoints write it (with the paths of images, instead of their content).
    """
    evidence = result.reply.evidence if result.reply else {}
    told = evidence.get(RETURNED, evidence)
    if (found := {name: told[name] for name in _MESSAGES if name in told}) or not result.asked:
        return found
    turns = [turn for turn in result.asked if turn["role"] != "assistant"]
    texts = ["\n".join(part["text"] for part in turn["parts"] if "text" in part) for turn in turns]
    n_rounds = sum(turn["role"] == "user" for turn in turns)
    if n_rounds == len(turns):
        return {"input_message_list": texts} if n_rounds > 1 else {"input_message": "".join(texts)}
    images = iter(_list_images(result.sample))
    messages: list[dict[str, Any]] = []
    for turn, text in zip(turns, texts, strict=True):
        parts = [  # as the API takes them
            {"type": "text", "text": part["text"]}
            if "text" in part
            else {"type": "image_url", "image_url": {"url": next(images, "")}}
            for part in turn["parts"]
        ]
        has_image = any("image_url" in part for part in parts)
        messages.append({"role": turn["role"], "content": parts if has_image else text})
    return {"input_message_list" if n_rounds > 1 else "input_message": messages}


def _list_images(sample: Sample) -> list[str]:
    """The images of a sample as the problem file names them."""
    named = sample.meta.get(IMAGE_PATHS)
    return list(named) if isinstance(named, list) else [str(image) for image in sample.images]


def _count_images(sample: Sample) -> int:
    found = sample.meta.get("question_image_number", len(sample.images))
    return found if isinstance(found, int) and found >= 0 else len(sample.images)


# -- score.json, detail.json, statistics.csv, summary.md


def _score_result(result: Result) -> QuestionScore:
    """The points of one question: those of its score, or of an empty prediction if there is no reply."""
    sample, verdict = result.sample, result.score
    gold = sample.golds[0] if sample.golds else None
    earned, total = score("", gold, str(sample.meta.get("question_type", "other")))
    if verdict is not None and {"score", "total"} <= set(verdict.detail):
        earned, total = verdict.detail["score"], verdict.detail["total"]
    elif verdict is not None and sample.golds:  # of a scorer that does not count points
        earned, total = verdict.value * sample.weight, sample.weight
    # Whole points as int; 0.0 stays, as open questions write it.
    earned, total = (
        int(points) if points and points == int(points) else points for points in (earned, total)
    )
    is_rejected = verdict is not None and bool(verdict.detail.get("rejected"))
    return make_row(sample, earned, total, is_rejected=is_rejected)


def make_row(sample: Sample, earned: float, total: float, *, is_rejected: bool) -> QuestionScore:
    """The points of a sample's question, with what groups it."""
    meta = sample.meta
    return QuestionScore(
        question_id=sample.id,
        score=earned,
        total=total,
        kind=read_kind(str(meta.get("question_type", "other")) if sample.golds else UNLABELLED_TYPE),
        level=str(meta.get("level", "Other")),
        subject=str(meta.get("subject", "")),
        n_images=_count_images(sample),
        is_rejected=is_rejected,
        education=str(meta.get("education", "")),
        answer=sample.golds[0].strip() if sample.golds else "",
        analysis=str(sample.withheld.get("analysis", "")),
    )


def write_scores(
    folder: Path, rows: Sequence[QuestionScore], details: Mapping[str, Mapping[str, Any]], prefix: str = ""
) -> list[Path]:
    """Write score.json and detail.json: every question's points, and its details."""
    scores = {
        row.question_id: {"question_id": row.question_id, "score": row.score, "total_score": row.total}
        for row in rows
    }
    return [
        write_json_file(folder / f"{prefix}score.json", scores, indent=INDENT),
        write_json_file(folder / f"{prefix}detail.json", details, indent=INDENT),
    ]


def write_summary(
    folder: Path, rows: Sequence[QuestionScore], prefix: str = "", notes: Sequence[str] = ()
) -> list[Path]:
    """Write statistics.csv, summary.md and charts; without matplotlib the summary says so."""
    statistics = folder / f"{prefix}statistics.csv"
    with open_text_file(statistics) as file:
        csv.writer(file, lineterminator="\n").writerows(make_statistics(rows))
    remarks = list(notes)
    charts: list[Path] = []
    try:
        charts = write_charts(rows, folder, prefix)
    except MissingExtra as missing:
        remarks.append(f"{missing.message}: left out. {missing.hint}")
    summary = folder / f"{prefix}summary.md"
    with open_text_file(summary) as file:
        file.write(format_summary(rows, prefix, has_charts=bool(charts), notes=remarks))
    return [statistics, summary, *charts]


def format_summary(
    rows: Sequence[QuestionScore], prefix: str = "", *, has_charts: bool = True, notes: Sequence[str] = ()
) -> str:
    """The text of summary.md: the headline, three tables with their charts, and the numbers as JSON."""
    blocks = [format_absolute_score(rows), *(f"> {note}" for note in notes)]
    found = format_tables(rows)
    for name in CHARTS:
        if name in found:
            blocks.append("\n".join(found[name]))
        if has_charts:
            blocks.append(f"![{name}]({prefix}{name}.png)")
    numbers = json.dumps(make_summary(rows), indent=2, ensure_ascii=False)
    return "\n\n".join([*blocks, f"```json\n{numbers}\n```"]) + "\n"


# -- Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionScore:
    """One scored question."""

    question_id: str
    score: float
    total: float
    kind: str  # SA, MA, FB, OP, other
    level: str
    subject: str
    n_images: int
    is_rejected: bool = False  # the prediction says that an image is missing
    education: str = ""
    answer: str = ""  # empty: perhaps no label
    analysis: str = ""

    def make_detail(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """An entry of detail.json, from the one of prediction.json."""
        return {
            **entry,
            "analysis": self.analysis,
            "answer": self.answer,
            "score": self.score,
            "total_score": self.total,
            "type": _TYPE_NAMES[self.kind],
            "education": self.education,
            "subject": self.subject,
        }

    @property
    def image(self) -> str:
        return classify_images(self.n_images)

    @property
    def type(self) -> str:
        """Other questions are counted with the open ones."""
        return self.kind if self.kind in TYPES else "OP"


@dataclass(slots=True)
class Tally:
    """The totals of a group of questions, in the order of a line of statistics.csv.

    Quirk kept: a question is correct if it earned all its points, so questions without points are correct
    and open ones never are.
    """

    count: int = 0
    correct: int = 0
    total: float = 0
    score: float = 0

    @classmethod
    def of(cls, rows: Iterable[QuestionScore]) -> Tally:
        tally = cls()
        for row in rows:
            tally.add(row)
        return tally

    def add(self, row: QuestionScore) -> None:
        self.count += 1
        self.correct += row.score == row.total
        self.total += row.total
        self.score += row.score

    @property
    def ratio(self) -> float | None:
        """Points earned, in percent; None if there were none to earn."""
        return self.score / self.total * 100 if self.total else None

    @property
    def accuracy(self) -> float:
        return self.correct / self.count * 100 if self.count else 0.0


def sort_ids(ids: Iterable[str]) -> list[str]:
    """Question ids in the order of the result files: by the subject's code; `sorted` is stable.

    >>> sort_ids(["gz_10_0", "cz_2_0", "gz_9_0"])
    ['cz_2_0', 'gz_10_0', 'gz_9_0']
    """
    return sorted(ids, key=lambda name: name.split("_")[0])


def group_by(rows: Iterable[QuestionScore], attribute: str) -> dict[str, Tally]:
    """Totals by level, image or type, in the order of the tables."""
    tallies = {name: Tally() for name in _ORDER[attribute]}
    for row in rows:
        tallies.setdefault(getattr(row, attribute), Tally()).add(row)
    return tallies


def make_statistics(rows: Sequence[QuestionScore]) -> list[tuple[Any, ...]]:
    """The lines of statistics.csv: per subject, every type with every number of images."""
    found: defaultdict[tuple[str, ...], Tally] = defaultdict(Tally)
    for row in rows:
        found[row.level, row.subject, row.type, row.image].add(row)
    lines: list[tuple[Any, ...]] = [CSV_HEADER]
    for level in group_by(rows, "level"):
        for subject in dict.fromkeys(row.subject for row in rows if row.level == level):
            for type, image in product(TYPES, IMAGES):
                counts = astuple(found[level, subject, type, image])
                lines.append((level, guard_formula(subject), type, image, *counts))
    return lines


def format_absolute_score(rows: Iterable[QuestionScore]) -> str:
    """The headline: points earned of points possible."""
    tally = Tally.of(rows)
    return format_points(tally.score, tally.total)


def format_points(earned: float, total: float) -> str:
    """The line of the headline.

    >>> format_points(2.5, 4)
    'Absolute Score: 2.50/4, 62.50%'
    """
    percent = f"{earned / total * 100:.2f}%" if total else "n/a"
    return f"Absolute Score: {earned:.2f}/{total:.0f}, {percent}"


def format_rejections(rows: Iterable[QuestionScore]) -> str | None:
    """The points of questions refused because an image is missing; None if there are none."""
    lost = group_by((row for row in rows if row.is_rejected), "image")
    single, many = lost["SI"].total, lost["MI"].total
    if not single + many:
        return None
    return (
        f"Rejection Number: (SI) {single:.2f}/{_ALL_SI}, {single / _ALL_SI * 100:.1f}% "
        f"(MI) {many:.2f}/{_ALL_MI}, {many / _ALL_MI * 100:.1f}%"
    )


def format_tables(rows: Sequence[QuestionScore]) -> dict[str, list[str]]:
    """The three tables of summary.md, by the names of their charts. Groups without points are left out."""
    tables = {}
    for chart, (heading, attribute) in _TABLES.items():
        lines = [f"| {heading} | Correct  | Score | Ratio |", "| ---- | ---------- | --------- | ------ |"]
        for name, tally in group_by(rows, attribute).items():
            if tally.ratio is None:
                continue
            ratio = f"{tally.ratio:.1f}" + (f" (Acc. {tally.accuracy:.1f})" if name == "MA" else "")
            points = f"{tally.score:.3f}/{tally.total}"
            lines.append(f"| {name} | {tally.correct}/{tally.count} | {points} | {ratio} |")
        tables[chart] = lines
    return tables


def make_summary(rows: Sequence[QuestionScore]) -> dict[str, Any]:
    """The JSON block at the end of summary.md: percentages with one decimal."""
    overall = Tally.of(rows).ratio
    ratios: dict[str, dict[str, float]] = {}
    for attribute in _ORDER:
        found = ratios[attribute] = {}
        for name, tally in group_by(rows, attribute).items():
            if tally.ratio is not None:
                found["Driv" if name == "Driving" else name] = round(tally.ratio, 1)
                if name == "MA":
                    found["MAAcc"] = round(tally.accuracy, 1)
    return {
        "Overall": overall and round(overall, 1),
        "Education": ratios["level"],
        "Image": ratios["image"],
        "Type": ratios["type"],
    }


# -- Charts


_PER_COLUMN = 100  # questions, in the heat map
_SIZE_INCHES = (10, 6)
_TITLES = {"level": "education level", "image": "number of images", "type": "question type"}


def write_charts(rows: Sequence[QuestionScore], folder: Path, prefix: str = "") -> list[Path]:
    """Draw the charts into PNG files; `MissingExtra` without matplotlib."""
    figure_class = _matplotlib()
    paths = []
    for name in CHARTS:
        figure = figure_class(figsize=_SIZE_INCHES)
        if name == "heatmap":
            _draw_heatmap(figure, rows)
        else:
            attribute = _TABLES[name][1]
            _draw_bars(figure, f"Points by {_TITLES[attribute]}", group_by(rows, attribute))
        path = folder / f"{prefix}{name}.png"
        with atomic_write(path) as place:
            figure.savefig(place, format="png", dpi=100)
        paths.append(path)
    return paths


@functools.cache
def _matplotlib() -> Any:
    """The class of figures, without windows and without pyplot's global state."""
    try:
        with suppress_warnings():
            from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for="MULTI's charts") from error
    return Figure


def _draw_bars(figure: Any, title: str, groups: Mapping[str, Tally]) -> None:
    """One bar per group: the share of its points that was earned, labelled with the points."""
    axes = figure.add_subplot()
    shown = {name: tally for name, tally in groups.items() if tally.total}
    ratios = [tally.ratio for tally in shown.values()]
    bars = axes.bar(range(len(shown)), ratios, color="#4477aa", width=0.6)
    axes.bar_label(bars, [f"{tally.score:.1f}/{tally.total}" for tally in shown.values()], padding=3)
    axes.set_xticks(range(len(shown)), list(shown))
    axes.set_ylim(0, 110)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("% of points")
    axes.set_title(title)


def _draw_heatmap(figure: Any, rows: Sequence[QuestionScore]) -> None:
    """One block per question, column after column; grey if it has no points."""
    import numpy as np

    n_columns = max(1, -(-len(rows) // _PER_COLUMN))
    shares = np.full(n_columns * _PER_COLUMN, np.nan)
    for place, row in enumerate(rows):
        if row.total:
            shares[place] = row.score / row.total
    axes = figure.add_subplot()
    axes.set_facecolor("#dddddd")
    drawn = axes.imshow(
        shares.reshape(n_columns, _PER_COLUMN).T, cmap="RdYlBu", vmin=0, vmax=1, aspect="auto"
    )
    axes.set_xticks([])
    axes.set_xlabel(f"{_PER_COLUMN} questions per column")
    axes.set_title("Share of points, question by question")
    figure.colorbar(drawn, ax=axes)
