"""MULTI's totals: points by education level, images and question type, as its own summary shows them."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.errors import DataError, MissingExtra
from eyechart.files import atomic_write, make_folder, suppress_warnings
from eyechart.model.redact import redact_parameters
from eyechart.pipelines.multi.files import find_level
from eyechart.pipelines.multi.score import KINDS, clean, is_refusal, read_kind, score
from eyechart.pipelines.multi.score import score as score_prediction
from eyechart.registry import exporter
from eyechart.report.export import guard_formula
from eyechart.report.rows import open_text_file, remove_files, write_json_file
from eyechart.types import Export, Result, Sample

_LEVEL_ORDER = ("JuH", "SeH", "Uni", "Driving", "AAT")  # then the others, as they come
IMAGES = ("NI", "SI", "MI")
TYPES = ("SA", "MA", "FB", "OP")
CSV_HEADER = ("education", "subject", "type", "image", "qs_count", "qs_correct", "qs_total", "qs_score")

# Points of all questions with one image and with more, in the whole benchmark. The official line divides by
# these whatever part of it was run.
_ALL_SI, _ALL_MI = 8540, 255


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionScore:
    """One scored question, as the totals see it."""

    question_id: str
    score: float
    total: float
    kind: str  # SA, MA, FB, OP, other
    level: str
    subject: str
    n_images: int
    is_rejected: bool = False  # it said that an image is missing

    @property
    def image(self) -> str:
        """No image, a single one, many."""
        return IMAGES[min(self.n_images, 2)]

    @property
    def type(self) -> str:
        """The type it is counted under: other questions are counted with the open ones."""
        return self.kind if self.kind in TYPES else "OP"


@dataclass(slots=True)
class Tally:
    """What a group of questions came to.

    Quirk kept: a question is correct when it earned all it could, so that those which can earn nothing are
    correct and open ones never are.
    """

    count: int = 0
    correct: int = 0
    total: float = 0
    score: float = 0

    def add(self, row: QuestionScore) -> None:
        """Count one question."""
        self.count += 1
        self.correct += row.score == row.total
        self.total += row.total
        self.score += row.score

    @property
    def ratio(self) -> float | None:
        """Points earned, in percent of those there were; None when there were none."""
        return self.score / self.total * 100 if self.total else None

    @property
    def accuracy(self) -> float:
        """Questions with all their points, in percent."""
        return self.correct / self.count * 100 if self.count else 0.0


def sort_ids(ids: Iterable[str]) -> list[str]:
    """Question ids in the order of the result files: by the subject's code, else as they came.

    >>> sort_ids(["gz_10_0", "cz_2_0", "gz_9_0"])
    ['cz_2_0', 'gz_10_0', 'gz_9_0']
    """
    return sorted(ids, key=lambda name: name.split("_")[0])


def group_by_level(rows: Iterable[QuestionScore]) -> dict[str, Tally]:
    """Totals of each education level, in the order of the tables."""
    found = _by(rows, lambda row: row.level)
    return {level: found[level] for level in _ordered(found)}


def group_by_image(rows: Iterable[QuestionScore]) -> dict[str, Tally]:
    """Totals by the number of images."""
    return _by(rows, lambda row: row.image, IMAGES)


def group_by_type(rows: Iterable[QuestionScore]) -> dict[str, Tally]:
    """Totals of each question type."""
    return _by(rows, lambda row: row.type, TYPES)


def make_statistics(rows: Sequence[QuestionScore]) -> list[tuple[Any, ...]]:
    """The lines of statistics.csv: for each subject every type times every number of images."""
    cells: dict[str, dict[str, dict[tuple[str, str], Tally]]] = {}
    for row in rows:
        grid = cells.setdefault(row.level, {}).setdefault(row.subject, {})
        grid.setdefault((row.type, row.image), Tally()).add(row)
    lines: list[tuple[Any, ...]] = [CSV_HEADER]
    for level in _ordered(cells):
        for subject, grid in cells[level].items():
            for type, image in [(type, image) for type in TYPES for image in IMAGES]:
                tally = grid.get((type, image), Tally())
                place = (level, guard_formula(subject), type, image)
                lines.append((*place, tally.count, tally.correct, tally.total, tally.score))
    return lines


def format_absolute_score(rows: Iterable[QuestionScore]) -> str:
    """The headline: points earned, points there were."""
    tally = _all(rows)
    percent = "n/a" if tally.ratio is None else f"{tally.ratio:.2f}%"
    return f"Absolute Score: {tally.score:.2f}/{tally.total:.0f}, {percent}"


def format_rejections(rows: Iterable[QuestionScore]) -> str | None:
    """The points of questions that were turned down for want of an image; None when there are none."""
    lost = dict.fromkeys(IMAGES, 0.0)
    for row in rows:
        if row.is_rejected:
            lost[row.image] += row.total
    if not lost["SI"] + lost["MI"]:
        return None
    single, many = lost["SI"], lost["MI"]
    return (
        f"Rejection Number: (SI) {single:.2f}/{_ALL_SI}, {single / _ALL_SI * 100:.1f}% "
        f"(MI) {many:.2f}/{_ALL_MI}, {many / _ALL_MI * 100:.1f}%"
    )


def format_table(heading: str, groups: Mapping[str, Tally]) -> list[str]:
    """One table of summary.md. Groups that can earn nothing are left out."""
    lines = [f"| {heading} | Correct  | Score | Ratio |", "| ---- | ---------- | --------- | ------ |"]
    for name, tally in groups.items():
        if tally.ratio is None:
            continue
        ratio = f"{tally.ratio:.1f}" + (f" (Acc. {tally.accuracy:.1f})" if name == "MA" else "")
        points = f"{tally.score:.3f}/{tally.total}"
        lines.append(f"| {name} | {tally.correct}/{tally.count} | {points} | {ratio} |")
    return lines


def format_tables(rows: Sequence[QuestionScore]) -> dict[str, list[str]]:
    """The three tables of summary.md, by the name of the chart that goes with each."""
    return {
        "summary_education": format_table("Education", group_by_level(rows)),
        "summary_image": format_table("Image ", group_by_image(rows)),
        "summary_type": format_table("Type", group_by_type(rows)),
    }


def make_summary(rows: Sequence[QuestionScore]) -> dict[str, Any]:
    """The JSON block at the end of summary.md: percentages with one decimal."""
    levels = _ratios(group_by_level(rows))
    types: dict[str, float] = {}
    for name, tally in group_by_type(rows).items():
        types |= _ratios({name: tally})
        if name == "MA" and tally.total:
            types["MAAcc"] = round(tally.accuracy, 1)
    overall = _all(rows).ratio
    return {
        "Overall": None if overall is None else round(overall, 1),
        "Education": {"Driv" if level == "Driving" else level: ratio for level, ratio in levels.items()},
        "Image": _ratios(group_by_image(rows)),
        "Type": types,
    }


def _ratios(groups: Mapping[str, Tally]) -> dict[str, float]:
    return {name: round(tally.ratio, 1) for name, tally in groups.items() if tally.ratio is not None}


def _all(rows: Iterable[QuestionScore]) -> Tally:
    return _by(rows, lambda row: "all", ("all",))["all"]


def _by(
    rows: Iterable[QuestionScore], key: Callable[[QuestionScore], str], names: Sequence[str] = ()
) -> dict[str, Tally]:
    tallies = {name: Tally() for name in names}
    for row in rows:
        tallies.setdefault(key(row), Tally()).add(row)
    return tallies


def _ordered(levels: Iterable[str]) -> list[str]:
    """Levels of school first; `sorted` leaves the others as they came."""
    places = {level: place for place, level in enumerate(_LEVEL_ORDER)}
    return sorted(levels, key=lambda level: places.get(level, len(places)))


# -- The four charts beside MULTI's summary.md. They need matplotlib, which comes with the extra ``multi``.

CHARTS = ("summary_education", "summary_image", "summary_type", "heatmap")
_PER_COLUMN = 100  # questions, in the heat map
_SIZE_INCHES = (10, 6)
_TITLES = {
    "summary_education": "Points by education level",
    "summary_image": "Points by number of images",
    "summary_type": "Points by question type",
}
_GROUPS: dict[str, Callable[[Sequence[QuestionScore]], Mapping[str, Tally]]] = {
    "summary_education": group_by_level,
    "summary_image": group_by_image,
    "summary_type": group_by_type,
}


def write_charts(rows: Sequence[QuestionScore], folder: Path, prefix: str = "") -> list[Path]:
    """Draw the charts into PNG files. Says so with `MissingExtra` when there is nothing to draw with."""
    figure_of = _matplotlib()
    paths = []
    for name in CHARTS:
        figure = figure_of(figsize=_SIZE_INCHES)
        if name == "heatmap":
            _draw_heatmap(figure, rows)
        else:
            _draw_bars(figure, _TITLES[name], _GROUPS[name](rows))
        path = folder / f"{prefix}{name}.png"
        with atomic_write(path) as place:
            figure.savefig(place, format="png", dpi=100)
        paths.append(path)
    return paths


@functools.cache
def _matplotlib() -> Any:
    """What makes figures: without windows, and without the state that pyplot keeps for a whole process."""
    try:
        with suppress_warnings():
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for="MULTI's charts") from error

    def make(**options: Any) -> Any:
        figure = Figure(**options)
        FigureCanvasAgg(figure)
        return figure

    return make


def _draw_bars(figure: Any, title: str, groups: Mapping[str, Tally]) -> None:
    """One bar a group: how much of its points was earned, with the points written on it."""
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
    """One block a question, column after column; grey where there was nothing to earn."""
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
    axes.set_xlabel(f"{_PER_COLUMN} questions a column")
    axes.set_title("Share of points, question by question")
    figure.colorbar(drawn, ax=axes)


# -- MULTI's predictions against its labels, both as plain values: the official metrics step without files.

_EXTRACTED = "the answer extractor writes pairs: keep the first of each, or score the file it was made from"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPredictions:
    """The questions in the order of the result files, what detail.json says of each, ids left out."""

    rows: tuple[QuestionScore, ...]
    details: Mapping[str, Mapping[str, Any]]
    unlabelled: tuple[str, ...] = ()  # questions whose label is null: they are rows, of 0 points out of 0
    unknown: tuple[str, ...] = ()  # predictions whose problem is not among the labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Label:
    answer: str | None  # None: nobody has said what is right
    type: str  # as in the file, e.g. 单选
    education: str
    subject: str
    analysis: str


def summarise_predictions(
    problems: Mapping[str, Any], predictions: Mapping[str, Any], answer_position: str = "start"
) -> ScoredPredictions:
    """Score every prediction whose problem is known; the others are named, as the official step drops them.

    Questions that are not among the predictions do not count at all. Both arguments are objects as in the
    files: problem id to problem, question id to prediction.
    """
    rows, details, unlabelled, unknown = [], {}, [], []
    for name in sort_ids(predictions):
        problem_id, _, index = name.rpartition("_")
        if problem_id not in problems:
            unknown.append(name)
            continue
        entry = _entry(name, predictions[name])
        label = _label(name, problem_id, index, problems[problem_id])
        if label.answer is None:
            unlabelled.append(name)
        row, details[name] = _scored(name, entry, label, answer_position)
        rows.append(row)
    return ScoredPredictions(
        rows=tuple(rows), details=details, unlabelled=tuple(unlabelled), unknown=tuple(unknown)
    )


def _scored(
    name: str, entry: Mapping[str, Any], label: _Label, answer_position: str
) -> tuple[QuestionScore, dict[str, Any]]:
    """One prediction as a row of the tables and as an entry of detail.json."""
    said, n_images = entry.get("prediction") or "", _image_number(name, entry)
    earned, total = (0, 0) if label.answer is None else score(said, label.answer, label.type, answer_position)
    row = QuestionScore(
        question_id=name,
        score=earned,
        total=total,
        kind=KINDS[label.type],
        level=find_level(label.education, label.subject),
        subject=label.subject,
        n_images=n_images,
        is_rejected=label.answer is not None and is_refusal(clean(said)),
    )
    detail = make_detail(
        entry,
        analysis=label.analysis,
        answer=label.answer or "",
        score=earned,
        total=total,
        type=label.type,
        education=label.education,
        subject=label.subject,
    )
    return row, detail


def make_detail(
    entry: Mapping[str, Any],
    *,
    analysis: str,
    answer: str,
    score: float,
    total: float,
    type: str,
    education: str,
    subject: str,
) -> dict[str, Any]:
    """An entry of detail.json: the prediction's, and what became of it."""
    return {
        **entry,
        "analysis": analysis,
        "answer": answer,
        "score": score,
        "total_score": total,
        "type": type,
        "education": education,
        "subject": subject,
    }


def _entry(name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise DataError(
            f"prediction {name!r}: an object was expected, found {_kind(entry)}",
            hint="an entry holds question_id, question_image_number and prediction",
        )
    if entry.get("question_id", name) != name:
        raise DataError(
            f"prediction {name!r}: its question_id is {entry['question_id']!r}",
            hint="each entry stands under its own question id",
        )
    said = entry.get("prediction")
    if said is not None and not isinstance(said, str):
        hint = _EXTRACTED if isinstance(said, list) else "a prediction is the text that the model gave"
        raise DataError(f"prediction {name!r}: prediction is {_kind(said)}, not a text", hint=hint)
    return {"question_id": name, **entry}


def _image_number(name: str, entry: Mapping[str, Any]) -> int:
    found = entry.get("question_image_number")
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        was = "is missing" if found is None else f"is {found!r}"
        raise DataError(
            f"prediction {name!r}: question_image_number {was}",
            hint="it is the number of images of the question: 0, 1, ... The totals are grouped by it",
        )
    return found


def _label(name: str, problem_id: str, index: str, problem: Any) -> _Label:
    if not isinstance(problem, dict):
        raise DataError(f"problem {problem_id!r}: an object was expected, found {_kind(problem)}")
    subject, education = problem.get("subject") or "", problem.get("education") or ""
    if isinstance(subject, list):
        subject = subject[0]
    if not isinstance(subject, str) or not isinstance(education, str):
        field = "education" if isinstance(subject, str) else "subject"
        raise DataError(f"problem {problem_id!r}: {field} is no text", hint="the totals are grouped by it")
    type = _at(name, problem_id, problem, "problem_type_list", index)
    if type is None or type not in KINDS:
        said = "null" if type is None else repr(type)
        raise DataError(
            f"problem {problem_id!r}: problem_type_list[{index}] is {said}",
            hint=f"use one of: {', '.join(KINDS)}",
        )
    answer = _at(name, problem_id, problem, "problem_answer_list", index)
    analyses = problem.get("problem_analysis_list")  # the official step stops without it; scoring needs none
    known = analyses[int(index) : int(index) + 1] if isinstance(analyses, list) else []
    return _Label(
        answer=None if answer is None else answer.strip(),
        type=type,
        education=education,
        subject=subject,
        analysis=str(known[0]) if known else "",
    )


def _at(name: str, problem_id: str, problem: Mapping[str, Any], field: str, index: str) -> str | None:
    """The entry of one of a problem's lists that belongs to a question; null where there is none."""
    values = problem.get(field)
    if not isinstance(values, list):
        hint = "the release file has no answers: score with the file that has" if "answer" in field else ""
        raise DataError(f"problem {problem_id!r}: {field} is missing or no list", hint=hint)
    is_place = index.isascii() and index.isdigit() and len(index) < 10
    if not is_place or int(index) >= len(values):
        raise DataError(
            f"prediction {name!r}: problem {problem_id!r} has {len(values)} entries in {field}, "
            f"so there is no question {index!r}",
            hint="a question id ends in its place among the problem's questions, counted from 0",
        )
    value = values[int(index)]
    if value is not None and not isinstance(value, str):
        raise DataError(f"problem {problem_id!r}: {field}[{index}] is {_kind(value)}, not a text")
    return value


def _kind(value: Any) -> str:
    names = {"dict": "an object", "list": "a list", "str": "a text", "NoneType": "null", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")


# -- MULTI's result files: score.json, detail.json, statistics.csv, summary.md and its charts.

INDENT = 4  # of all JSON files, as published; characters stay as they are
RESULT_FILES = (
    "score.json",
    "detail.json",
    "statistics.csv",
    "summary.md",
    *(f"{name}.png" for name in CHARTS),
)


def write_scores(
    folder: Path, rows: Sequence[QuestionScore], details: Mapping[str, Mapping[str, Any]], prefix: str = ""
) -> list[Path]:
    """Write score.json and detail.json: every question's points, and all that is known of it."""
    scores = {
        row.question_id: {
            "question_id": row.question_id,
            "score": row.score,
            "total_score": row.total,
        }
        for row in rows
    }
    return [
        write_json_file(folder / f"{prefix}score.json", scores, indent=INDENT),
        write_json_file(
            folder / f"{prefix}detail.json",
            {row.question_id: details[row.question_id] for row in rows},
            indent=INDENT,
        ),
    ]


def write_summary(
    folder: Path, rows: Sequence[QuestionScore], prefix: str = "", notes: Sequence[str] = ()
) -> list[Path]:
    """Write statistics.csv, summary.md and charts; without matplotlib the summary says what is missing."""
    statistics = folder / f"{prefix}statistics.csv"
    with open_text_file(statistics) as file:
        csv.writer(file, lineterminator="\n").writerows(make_statistics(rows))
    remarks = list(notes)
    charts: list[Path] = []
    try:
        charts = write_charts(rows, folder, prefix)
    except MissingExtra as missing:
        remarks.append(f"{missing.message}: there are none here. {missing.hint}")
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


# -- A run of MULTI in the benchmark's own files: predictions to hand in, arguments, and what its scorer
# writes.
#
# The score files hold what the official metrics step makes of prediction.json, so a question that failed
# counts there as an empty prediction. Our own summary leaves it out; summary.md says how many there are.

NO_PREDICTION = "generate_answer gave no prediction: "  # in a failure, before the class's own reason
RETURNED = "returned"  # in a reply's evidence: what the class returned besides what we know
_TYPE_NAMES = {kind: name for name, kind in KINDS.items()}
FILES = ("prediction.json", "args.json", *RESULT_FILES)
_MESSAGES = ("input_message", "input_message_list")  # where a model's own class says what it sent


@exporter("multi", only_own=True, is_submission=True)
def export_multi(export: Export) -> Sequence[Path]:
    """Write MULTI's files; where there are several trials, those of each into a folder of its own."""
    n_trials = int(export.manifest.get("trials") or 1)
    several = [_trial_folder(export.folder, trial) for trial in range(n_trials)] if n_trials > 1 else []
    written: list[Path] = []
    for trial, folder in enumerate(several or [export.folder]):
        make_folder(folder)
        found = _write(folder, export.manifest, [*filter(_is_asked, export.results(trial))])
        remove_files(folder, set(FILES) - {path.name for path in found})
        written += found
    if several:
        remove_files(export.folder, FILES)  # of an earlier time with a single trial
    _drop_trials(export.folder, len(several))
    return written


def _is_asked(result: Result) -> bool:
    return result.outcome is not None or result.reply is not None


def _trial_folder(folder: Path, trial: int) -> Path:
    return folder / f"trial-{trial}"


def _drop_trials(folder: Path, trial: int) -> None:
    """Trials from an earlier time, when there were more of them. What others keep there is left alone."""
    while (of_trial := _trial_folder(folder, trial)).is_dir():
        remove_files(of_trial, FILES)
        trial += 1


def make_prediction(result: Result) -> dict[str, Any]:
    """A question as prediction.json holds it. What failed has an empty prediction; `feedback` says why."""
    sample, reply = result.sample, result.reply
    entry: dict[str, Any] = {"question_id": sample.id, "question_image_number": _count_images(sample)}
    asked = _input_messages(result)
    if result.sent:  # a round without an image, and the black one, have an empty path, as published
        images = [str(image) for image in sample.images]
        n_rounds = len(asked.get("input_message_list", [""]))
        entry["image_list"] = images + [""] * (n_rounds - len(images))
    if reply is None:
        # The reason alone, as the class gave it: advice names flags of other verbs.
        reason = result.failure.reason.partition("\n")[0] if result.failure else "not asked"
        return entry | {"prediction": "", "feedback": reason.removeprefix(NO_PREDICTION)}
    if (returned := reply.evidence.get(RETURNED)) is not None:  # by an evaluator class: as it returned it
        return {**entry, **asked, "prediction": reply.text, **returned}
    entry |= asked
    if reply.earlier:
        entry["answer_history"] = [*reply.earlier, reply.text]
    entry["prediction"] = reply.text
    if not reply.text and reply.finish_reason != "stop":
        entry["feedback"] = reply.finish_reason
    if reply.usage is not None:
        entry["prompt_tokens"] = reply.usage.prompt_tokens
        entry["completion_tokens"] = reply.usage.completion_tokens
    return entry


def _input_messages(result: Result) -> dict[str, Any]:
    """What was asked, round by round: as a model's own class says, else as it was sent."""
    evidence = result.reply.evidence if result.reply else {}
    told = evidence.get(RETURNED, evidence)
    found = {name: told[name] for name in _MESSAGES if name in told}
    if found or not result.asked:
        return found
    turns = [
        "\n".join(part["text"] for part in turn["parts"] if "text" in part)
        for turn in result.asked
        if turn["role"] == "user"
    ]
    return {"input_message_list": turns} if len(turns) > 1 else {"input_message": "".join(turns)}


def make_arguments(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What args.json says: the benchmark's own settings, then how the run was made. Never a key."""
    about = {name: manifest.get(name) for name in ("benchmark", "model", "scorer", "trials", "eyechart")}
    settings = manifest.get("settings") or {}
    return redact_parameters({**settings, **about, "options": manifest.get("options") or {}})


def make_row(result: Result) -> QuestionScore:
    """The points of one question, as its score says, or of an empty prediction where there is no reply."""
    sample, verdict = result.sample, result.score
    meta = sample.meta
    kind = read_kind(str(meta.get("question_type", "other")))
    earned: float
    total: float
    if verdict is not None and {"score", "total"} <= set(verdict.detail):
        earned, total = verdict.detail["score"], verdict.detail["total"]
    elif verdict is not None and sample.golds:  # by a scorer that does not count points
        earned, total = verdict.value * sample.weight, sample.weight
    elif sample.golds:
        earned, total = score_prediction("", sample.golds[0], kind)
    else:
        earned, total = 0, 0
    return QuestionScore(
        question_id=sample.id,
        score=_whole(earned),
        total=_whole(total),
        kind=kind,
        level=str(meta.get("level", "Other")),
        subject=str(meta.get("subject", "")),
        n_images=_count_images(sample),
        is_rejected=verdict is not None and bool(verdict.detail.get("rejected")),
    )


def _write(folder: Path, manifest: Mapping[str, Any], results: Sequence[Result]) -> list[Path]:
    entries = {result.sample.id: make_prediction(result) for result in results}
    paths = [
        write_json_file(folder / "prediction.json", entries, indent=INDENT),
        write_json_file(folder / "args.json", make_arguments(manifest), indent=INDENT),
    ]
    if not any(result.sample.golds for result in results):
        return paths  # the release file has no answers: prediction.json is there to be handed in
    by_id = {result.sample.id: result for result in results}
    ordered = [by_id[name] for name in sort_ids(by_id)]
    rows = [make_row(result) for result in ordered]
    details = {
        row.question_id: _detail(entries[row.question_id], result.sample, row)
        for row, result in zip(rows, ordered, strict=True)
    }
    return [
        *paths,
        *write_scores(folder, rows, details),
        *write_summary(folder, rows, notes=_notes(rows, results)),
    ]


def _detail(entry: Mapping[str, Any], sample: Sample, row: QuestionScore) -> dict[str, Any]:
    meta = sample.meta
    return make_detail(
        entry,
        analysis=str(sample.withheld.get("analysis", "")),
        answer=sample.golds[0] if sample.golds else "",
        score=row.score,
        total=row.total,
        type=str(meta.get("type_name") or _TYPE_NAMES[read_kind(row.kind)]),
        education=str(meta.get("education", "")),
        subject=row.subject,
    )


def _notes(rows: Sequence[QuestionScore], results: Sequence[Result]) -> list[str]:
    rejected = format_rejections(rows)
    notes = [rejected] if rejected else []
    if n_failed := sum(result.outcome == "failed" for result in results):
        notes.append(f"Failed: {n_failed} of {len(results)} questions, which earn nothing here.")
    return notes


def _count_images(sample: Sample) -> int:
    found = sample.meta.get("question_image_number", len(sample.images))
    return found if isinstance(found, int) and found >= 0 else len(sample.images)


def _whole(points: float) -> float:
    """Points without a needless fraction; a fraction that is 0 stays one, as open questions write it."""
    return int(points) if points and points == int(points) else points
