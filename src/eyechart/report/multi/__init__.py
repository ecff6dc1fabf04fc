"""A run of MULTI in the benchmark's own files: predictions to hand in, arguments, and what its scorer writes.

The score files hold what the official metrics step makes of prediction.json, so a question that failed counts
there as an empty prediction. Our own summary leaves it out; summary.md says how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.model.redact import without_secrets
from eyechart.registry import exporter
from eyechart.replacing import make_folder
from eyechart.report.files import drop_files, write_json
from eyechart.report.multi.files import INDENT, RESULT_FILES, write_scores, write_summary
from eyechart.report.multi.labels import detail_of
from eyechart.report.multi.tables import Row, in_order, rejection_line
from eyechart.score.multi import KINDS, kind_of
from eyechart.score.multi import score as score_prediction
from eyechart.types import Export, Result, Sample

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
        drop_files(folder, set(FILES) - {path.name for path in found})
        written += found
    if several:
        drop_files(export.folder, FILES)  # of an earlier time with a single trial
    _drop_trials(export.folder, len(several))
    return written


def _is_asked(result: Result) -> bool:
    return result.outcome is not None or result.reply is not None


def _trial_folder(folder: Path, trial: int) -> Path:
    return folder / f"trial-{trial}"


def _drop_trials(folder: Path, trial: int) -> None:
    """Trials from an earlier time, when there were more of them. What others keep there is left alone."""
    while (of_trial := _trial_folder(folder, trial)).is_dir():
        drop_files(of_trial, FILES)
        trial += 1


def answered(result: Result) -> dict[str, Any]:
    """A question as prediction.json holds it. What failed has an empty prediction; `feedback` says why."""
    sample, reply = result.sample, result.reply
    entry: dict[str, Any] = {"question_id": sample.id, "question_image_number": _image_number(sample)}
    asked = _input_messages(result)
    if result.sent:  # a round without a picture, and the black one, have an empty path, as published
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


def arguments(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What args.json says: the benchmark's own settings, then how the run was made. Never a key."""
    about = {name: manifest.get(name) for name in ("benchmark", "model", "scorer", "trials", "eyechart")}
    settings = manifest.get("settings") or {}
    return without_secrets({**settings, **about, "options": manifest.get("options") or {}})


def scored(result: Result) -> Row:
    """The points of one question, as its score says, or of an empty prediction where there is no reply."""
    sample, verdict = result.sample, result.score
    meta = sample.meta
    kind = kind_of(str(meta.get("question_type", "other")))
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
    return Row(
        question_id=sample.id,
        score=_whole(earned),
        total=_whole(total),
        kind=kind,
        level=str(meta.get("level", "Other")),
        subject=str(meta.get("subject", "")),
        n_images=_image_number(sample),
        is_rejected=verdict is not None and bool(verdict.detail.get("rejected")),
    )


def _write(folder: Path, manifest: Mapping[str, Any], results: Sequence[Result]) -> list[Path]:
    entries = {result.sample.id: answered(result) for result in results}
    paths = [
        write_json(folder / "prediction.json", entries, indent=INDENT),
        write_json(folder / "args.json", arguments(manifest), indent=INDENT),
    ]
    if not any(result.sample.golds for result in results):
        return paths  # the release file has no answers: prediction.json is there to be handed in
    by_id = {result.sample.id: result for result in results}
    ordered = [by_id[name] for name in in_order(by_id)]
    rows = [scored(result) for result in ordered]
    details = {
        row.question_id: _detail(entries[row.question_id], result.sample, row)
        for row, result in zip(rows, ordered, strict=True)
    }
    return [
        *paths,
        *write_scores(folder, rows, details),
        *write_summary(folder, rows, notes=_notes(rows, results)),
    ]


def _detail(entry: Mapping[str, Any], sample: Sample, row: Row) -> dict[str, Any]:
    meta = sample.meta
    return detail_of(
        entry,
        analysis=str(sample.withheld.get("analysis", "")),
        answer=sample.golds[0] if sample.golds else "",
        score=row.score,
        total=row.total,
        type=str(meta.get("type_name") or _TYPE_NAMES[kind_of(row.kind)]),
        education=str(meta.get("education", "")),
        subject=row.subject,
    )


def _notes(rows: Sequence[Row], results: Sequence[Result]) -> list[str]:
    rejected = rejection_line(rows)
    notes = [rejected] if rejected else []
    if n_failed := sum(result.outcome == "failed" for result in results):
        notes.append(f"Failed: {n_failed} of {len(results)} questions, which earn nothing here.")
    return notes


def _image_number(sample: Sample) -> int:
    found = sample.meta.get("question_image_number", len(sample.images))
    return found if isinstance(found, int) and found >= 0 else len(sample.images)


def _whole(points: float) -> float:
    """Points without a needless fraction; a fraction that is 0 stays one, as open questions write it."""
    return int(points) if points and points == int(points) else points
