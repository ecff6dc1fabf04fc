"""The result files of InSight-o3's pipeline, from any run of one of its benchmarks.

``args.json``, ``summary_metrics.json`` and, per trial, ``eval_metrics.json``, ``eval_records.jsonl`` and
``done``, which marks a trial in which every sample has an outcome. Keys are never written; records name
images, and contain their pixels if the export asks for full images. Quirk kept (Q5): a sample without a
verdict stays in the denominator of the accuracy, as if it were wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.errors import DataError, UsageError
from eyechart.files import make_folder
from eyechart.models.redact import redact_parameters
from eyechart.pipelines.insight_o3.arguments import NO_JUDGE
from eyechart.pipelines.insight_o3.benchmark import (
    DATASETS,
    find_group,
    make_official_records,
    rebuild_row,
)
from eyechart.pipelines.insight_o3.score import ASSISTANT, FINISHED, InsightVerdict
from eyechart.registry import exporter, suggest_name
from eyechart.report.rows import open_text_file, remove_trials, write_json_file
from eyechart.runs.inputs import SentImage, load_sent_image
from eyechart.runs.listing import tell_selection
from eyechart.stats.intervals import add_in_order
from eyechart.terminal import to_one_line
from eyechart.types import Export, Reply, Result

# How a sample ends: with a verdict, with a reply that was cut off, or without either.
End: TypeAlias = Literal["correct", "wrong", "incomplete", "invalid"]
_RATES = ("success_rate", "completion_rate", "accuracy")
NO_SUMMARY = "N/A"
SUMMARY = "summary_metrics.json"

_OF_A_TRIAL = ("eval_metrics.json", "eval_records.jsonl", "done")


@exporter("insight-o3")
def write_insight_o3(export: Export) -> Sequence[Path]:
    """Write what the authors' command writes; the summary only if every trial is complete."""
    folder, n_trials = export.folder, int(export.manifest.get("trials") or 1)
    arguments = _write(folder / "args.json", redact_parameters(dict(export.manifest)))
    rows = {result.position: rebuild_row(result.sample) for result in export.results(0)}
    # The types of a column are guessed over all rows.
    records = dict(zip(rows, make_official_records(list(rows.values())), strict=True))
    recorder = Recorder.of(export)
    trials = [_write_trial(export, trial, records, recorder) for trial in range(n_trials)]
    remove_trials(n_trials, lambda trial: [_trial_folder(folder, trial) / name for name in _OF_A_TRIAL])
    written = [arguments, *(path for _, paths in trials for path in paths)]
    summary = folder / SUMMARY
    if all(len(paths) == len(_OF_A_TRIAL) for _, paths in trials):  # every trial is done
        written.append(_write(summary, summarise_trials([metrics for metrics, _ in trials])))
    else:
        summary.unlink(missing_ok=True)  # an earlier one is no longer true
    return written


def _write_trial(
    export: Export, trial: int, records: Mapping[int, Mapping[str, Any]], recorder: Recorder
) -> tuple[dict[str, Any], list[Path]]:
    """The figures of a trial and its files; `done` is one of them if every sample has an outcome."""
    folder = _trial_folder(export.folder, trial)
    make_folder(folder)
    metrics, found, done = (folder / name for name in _OF_A_TRIAL)
    ends: list[tuple[str, End]] = []
    n_open = 0
    with open_text_file(found) as file:
        for result in export.results(trial):
            if result.outcome is None:
                n_open += 1
                continue
            record, evaluated = records[result.position], recorder.make_eval_result(result)
            ends.append((find_group(record), find_end(evaluated)))
            plain = {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in record.items()
            }
            file.write(json.dumps({**plain, "eval_result": evaluated}, default=str) + "\n")
    figures = compute_trial_metrics(ends)
    _write(metrics, figures)
    if n_open or not ends:
        done.unlink(missing_ok=True)
        return figures, [metrics, found]
    with open_text_file(done):
        pass  # an empty file
    return figures, [metrics, found, done]


def _trial_folder(folder: Path, trial: int) -> Path:
    return folder / f"trial_{trial}"


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    return write_json_file(path, content, indent=4)


# -- Figures: rates by group, and their mean and deviation over trials


def compute_trial_metrics(ends: Iterable[tuple[str, End]]) -> dict[str, Any]:
    """The content of eval_metrics.json, from the group and the end of every sample of one trial.

    >>> metrics = compute_trial_metrics([("map", "correct"), ("map", "incomplete"), ("chart", "invalid")])
    >>> metrics["overall_accuracy"], metrics["category_completion_rate"]
    (0.3333333333333333, {'map': 0.5, 'chart': 0.0})
    """
    groups: dict[str, dict[str, int]] = {}
    for group, end in ends:
        groups.setdefault(group, dict.fromkeys(get_args(End), 0))[end] += 1
    for counts in groups.values():
        counts["total"] = sum(counts.values())
    overall = {name: sum(counts[name] for counts in groups.values()) for name in (*get_args(End), "total")}
    by_group = {group: _rates(counts) for group, counts in groups.items()}
    return {
        **{f"overall_{name}": rate for name, rate in _rates(overall).items()},
        "overall_stats": overall,
        **{f"category_{name}": {group: rates[name] for group, rates in by_group.items()} for name in _RATES},
        "category_stats": groups,
    }


def _rates(counts: Mapping[str, int]) -> dict[str, float]:
    judged = counts["correct"] + counts["wrong"]
    ended = judged + counts["incomplete"]
    total = counts["total"]
    return {
        "success_rate": judged / total if total else 0.0,
        "completion_rate": judged / ended if ended else 0.0,
        "accuracy": counts["correct"] / total if total else 0.0,
    }


def summarise_trials(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The content of summary_metrics.json: mean and population deviation of every rate over the trials."""
    overall = {f"overall_{name}": _spread([trial[f"overall_{name}"] for trial in trials]) for name in _RATES}
    by_group = {}
    for name in _RATES:
        tables = [trial[f"category_{name}"] for trial in trials]
        by_group[f"category_{name}"] = {
            group: _spread([table[group] for table in tables if group in table])
            for group in dict.fromkeys(group for table in tables for group in table)
        }
    return {"num_trials": len(trials), **overall, **by_group}


def _spread(values: Sequence[float]) -> dict[str, float]:
    mean = add_in_order(values) / len(values)
    squares = add_in_order((value - mean) ** 2 for value in values)
    return {"mean": mean, "std": math.sqrt(squares / len(values))}


def format_results_row(dataset: str, summary: Mapping[str, Any] | None) -> dict[str, str]:
    """The cells of the authors' results table: one for the benchmark, one per group.

    >>> format_results_row("vstar", summarise_trials([compute_trial_metrics([("direct", "correct")])]))
    {'vstar': '100.0±0.0 @1', 'vstar-direct': '100.0±0.0 @1'}
    >>> format_results_row("vstar", None)
    {'vstar': 'N/A'}
    """
    if summary is None:
        return {dataset: NO_SUMMARY}
    cells = {dataset: summary["overall_accuracy"]}
    cells |= {f"{dataset}-{group}": value for group, value in summary["category_accuracy"].items()}
    return {name: f"{format_spread(value)} @{summary['num_trials']}" for name, value in cells.items()}


def format_spread(value: Mapping[str, float]) -> str:
    """Mean and deviation in percent.

    >>> format_spread({"mean": 0.5556, "std": 0.1111})
    '55.6±11.1'
    """
    return f"{round(value['mean'] * 100, 1)}±{round(value['std'] * 100, 1)}"


def find_low_rates(summary: Mapping[str, Any]) -> list[str]:
    """The rates below 1, of which the authors' results table warns: they lower the accuracy."""
    rates = {"success_rate": "Overall success rate", "completion_rate": "Overall completion rate"}
    return [label for name, label in rates.items() if summary[f"overall_{name}"]["mean"] < 1]


# -- Records: what one result says


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Writes what was said to a model, and what it said, as the authors' records do."""

    agent: str = ""  # the model's name
    image_settings: Mapping[str, Any] = field(default_factory=dict)  # sent with each image
    # From a result and the record of an image; None: images are named, not included.
    load_image: Callable[[Result, int, Mapping[str, Any]], SentImage] | None = None
    find_calls: Callable[[Result], Sequence[Any]] = lambda result: ()

    @classmethod
    def of(cls, export: Export) -> Recorder:
        """One for the model and the images of a run."""
        asked = export.manifest.get("identity") or {}
        detail = asked.get("image_detail")
        return cls(
            agent=str(asked.get("model") or export.manifest.get("model") or ""),
            image_settings={"detail": detail} if detail else {},
            load_image=partial(load_sent_image, export.manifest) if export.full_images else None,
            find_calls=export.find_calls,
        )

    def make_eval_result(self, result: Result) -> dict[str, Any]:
        """The `eval_result` of a record, whichever scorer gave the verdict."""
        verdict, reply = _verdict(result), result.reply
        if reply is None or not _is_from_assistant(reply):
            inferred = make_inference_result(fail_reason="failed_to_parse_response" if reply else "api_error")
        else:
            conversations = self._list_conversations(result, reply)
            inferred = make_inference_result(conversations, reply.finish_reason or None, _find_content(reply))
        return {
            "sample_index": result.position,
            "success": verdict["success"],
            "fail_reason": verdict["fail_reason"],
            "inference_result": inferred,
            "extracted_answer": verdict["extracted_answer"],
            "is_correct": verdict["is_correct"],
        }

    def _list_conversations(self, result: Result, reply: Reply) -> list[dict[str, Any]]:
        """One per agent: the model's, then one for each region that a searcher was asked for."""
        images = (self._write_image(result, number, record) for number, record in enumerate(result.sent))
        message = {"role": ASSISTANT, "content": _find_content(reply)}
        if reply.finish_reason == "refusal":
            message["refusal"] = reply.text
        if reply.thinking and reply.tags is not None and len(reply.tags) < 3:  # not part of the content
            message["reasoning_content"] = reply.thinking
        return [make_conversation(self.agent, result.asked, images, message), *self._list_searches(result)]

    def _list_searches(self, result: Result) -> Iterator[dict[str, Any]]:
        """The searcher's dialogues; the last request of each holds all before it."""
        if "look" not in (result.reply.evidence if result.reply else {}):
            return
        last = {one.purpose.partition(".")[0]: one for one in self.find_calls(result)}
        for purpose, call in last.items():
            if not purpose.startswith("search:"):
                continue
            records = [part["image"] for turn in call.messages for part in turn["parts"] if "image" in part]
            images = (self._write_image(result, number, record) for number, record in enumerate(records))
            message = {"role": ASSISTANT, "content": call.reply.content}
            yield make_conversation(call.model, call.messages, images, message)

    def _write_image(self, result: Result, number: int, record: Mapping[str, Any]) -> dict[str, Any]:
        """An image as it was sent; if that is not wanted or not possible, where it is and what it was."""
        remark = ""
        if self.load_image is not None:
            sent = self.load_image(result, number, record)
            if sent.is_same and sent.image is not None:
                data = f"data:{sent.image.mime};base64,{sent.image.base64.decode('ascii')}"
                return {"url": data, **self.image_settings}
            remark = sent.remark
        facts = {name: value for name, value in record.items() if name not in ("url", "origin")}
        place = record.get("url") or record.get("origin") or ""
        return {"url": place, **self.image_settings, **facts, **({"remark": remark} if remark else {})}


def make_inference_result(
    conversations: Sequence[Mapping[str, Any]] = (),
    finish_reason: str | None = "",
    content: str | None = "",
    *,
    fail_reason: str = "",
) -> dict[str, Any]:
    """The `inference_result` of a record; of a failed request only the reason."""
    return {
        "success": not fail_reason,
        "fail_reason": fail_reason,
        "finish_reason": finish_reason,
        "conversations": list(conversations),
        "last_message_content": content,
    }


def make_conversation(
    agent: str,
    asked: Iterable[Mapping[str, Any]],
    images: Iterator[Mapping[str, Any]],
    reply: Mapping[str, Any],
) -> dict[str, Any]:
    """One agent's dialogue: the messages that it was sent, then what it said.

    `asked` are messages as the journal keeps them, `images` their images in order. As in the authors' files,
    the content of a user's message is a list of parts, that of other messages a text.

    >>> asked = [{"role": "user", "parts": [{"image": {}}, {"text": "Which?"}]}]
    >>> answer = {"role": "assistant", "content": "B"}
    >>> [user, reply] = make_conversation("m", asked, iter([{"url": "a.png"}]), answer)["messages"]
    >>> user["content"]
    [{'type': 'image_url', 'image_url': {'url': 'a.png'}}, {'type': 'text', 'text': 'Which?'}]
    """
    messages: list[Mapping[str, Any]] = []
    for turn in asked:
        texts = [part["text"] for part in turn["parts"] if "text" in part]
        calls = {"tool_calls": turn["calls"]} if turn.get("calls") else {}
        if turn["role"] != "user" and len(texts) == len(turn["parts"]):
            messages.append({"role": turn["role"], "content": "".join(texts), **calls})
            continue
        parts = [
            {"type": "text", "text": part["text"]}
            if "text" in part
            else {"type": "image_url", "image_url": next(images)}
            for part in turn["parts"]
        ]
        messages.append({"role": turn["role"], "content": parts})
    return {"agent": agent, "messages": [*messages, reply]}


def _is_from_assistant(reply: Reply) -> bool:
    return bool(reply.evidence.get("role", ASSISTANT) == ASSISTANT)


def _find_content(reply: Reply) -> str | None:
    """The text of the message; None where the endpoint sent null, perhaps with a refusal beside it."""
    is_null = reply.finish_reason == "refusal" or reply.evidence.get("null_content")
    return None if is_null else reply.content


def find_end(evaluated: Mapping[str, Any]) -> End:
    """How a sample counts, from its `eval_result`."""
    if evaluated["success"]:
        return "correct" if evaluated["is_correct"] else "wrong"
    return "incomplete" if evaluated["fail_reason"].startswith("finish_reason:") else "invalid"


def _verdict(result: Result) -> Mapping[str, Any]:
    reply, score = result.reply, result.score
    if reply is not None and score is not None and "success" in score.detail:  # of the official scorer
        return score.detail
    if reply is None or not _is_from_assistant(reply):
        found = InsightVerdict("inference_failed")
    elif reply.finish_reason != FINISHED:
        found = InsightVerdict(f"finish_reason:{reply.finish_reason or None}")
    elif score is None:
        found = InsightVerdict("scoring_failed")
    elif score.outcome == "unscored":
        found = InsightVerdict(str(score.detail.get("fail_reason") or "unscored"))
    else:
        found = InsightVerdict(extracted_answer=score.read, is_correct=score.outcome == "correct")
    return found.describe()


# -- The authors' results table: settings by data sets, from folders of their program or of eyechart
#
# An evaluation is a folder with ``summary_metrics.json``, or with trials that are not all complete yet. Below
# ``outputs/eval`` its path is ``<setting>/<data set>``; a setting may have several parts. In a run folder of
# eyechart it is ``official``, and the model and the benchmark are named in its ``args.json``.

_ORDER = [dataset.name for dataset in DATASETS]


class _Spread(msgspec.Struct):
    mean: float
    std: float


class _Summary(msgspec.Struct):
    """What is needed of a summary; files of other programs are checked against it."""

    overall_accuracy: _Spread
    overall_success_rate: _Spread
    overall_completion_rate: _Spread
    category_accuracy: dict[str, _Spread]
    num_trials: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One cell of the table."""

    setting: str
    dataset: str
    folder: Path
    summary: Mapping[str, Any] | None = None  # as in summary_metrics.json; None: not all trials are complete
    arguments: Mapping[str, Any] = field(default_factory=dict)  # args.json, of either program

    @property
    def own_rules(self) -> str:
        """What scored it, if not the authors' rules with a judge; empty otherwise, or if it is not known."""
        if "eyechart" in self.arguments and self.arguments.get("parity") != "official":
            return str(self.arguments.get("scorer"))
        return "default" if self.arguments.get("judge_model") == NO_JUDGE else ""


# Evaluations by setting and data set, in the order in which they are shown; None where there is none.
Results: TypeAlias = Mapping[str, Mapping[str, Evaluation | None]]


def gather_results(folder: str | Path, settings: Sequence[str] = (), datasets: Sequence[str] = ()) -> Results:
    """The results of all evaluations below a folder; of these settings and data sets, if some are named."""
    root = Path(folder)
    if not root.is_dir():
        raise DataError(
            f"no folder {root}", hint="give the folder with the evaluations, such as outputs/eval"
        )
    found = _tell_apart(_find_evaluations(root))
    if not found:
        raise DataError(
            f"{root}: no evaluation of InSight-o3 in it",
            hint=f"an evaluation is a folder with {SUMMARY}: eyechart insight writes it, and eyechart run "
            "for InSight-o3's benchmarks",
        )
    cells = {(one.setting, one.dataset): one for one in found}
    columns = _choose("data set", datasets, sorted({one.dataset for one in found}, key=_place))
    return {
        setting: {dataset: cells.get((setting, dataset)) for dataset in columns}
        for setting in _choose("setting", settings, sorted({one.setting for one in found}))
    }


def format_results(results: Results) -> dict[str, dict[str, str]]:
    """Cells such as ``55.6±11.1 @2`` by setting and column; with one data set, its groups are columns."""
    found: dict[str, dict[str, str]] = {setting: {} for setting in results}
    for setting, row in results.items():
        for dataset, one in row.items():
            cells = format_results_row(dataset, one.summary if one else None)
            found[setting] |= cells if len(row) == 1 else {dataset: cells[dataset]}
    return found


def describe_results(results: Results) -> dict[str, dict[str, Any]]:
    """The same for ``--json``, with the summaries."""
    texts = format_results(results)
    return {
        setting: {
            dataset: {
                "accuracy": texts[setting][dataset],
                "summary_metrics": one and one.summary,
                "folder": one and str(one.folder),
            }
            for dataset, one in row.items()
        }
        for setting, row in results.items()
    }


def _choose(what: str, wanted: Sequence[str], known: list[str]) -> list[str]:
    if unknown := [name for name in wanted if name not in known]:
        hint = suggest_name(unknown[0], known, otherwise=f"found: {', '.join(known)}")
        raise UsageError(f"no evaluation of the {what} {unknown[0]!r}", hint=hint)
    return list(dict.fromkeys(wanted)) or known


def _place(dataset: str) -> tuple[int, str]:
    """Data sets in the order of the paper, then by name."""
    name = dataset.replace("_", "-")
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), dataset)


def _find_evaluations(root: Path) -> list[Evaluation]:
    """Those below a folder, without folders inside of another one's."""
    complete = {path.parent for path in root.rglob(SUMMARY)}
    found = complete | {path.parent.parent for path in root.rglob("trial_*/eval_metrics.json")}
    outer = sorted(path for path in found if found.isdisjoint(path.parents))
    return [_read_evaluation(root, path) for path in outer]


def _read_evaluation(root: Path, path: Path) -> Evaluation:
    arguments = read_result_file(path / "args.json", dict[str, Any]) or {}
    summary = read_result_file(path / SUMMARY, _Summary)
    if "eyechart" in arguments:
        setting, dataset = str(arguments.get("model")), str(arguments.get("benchmark"))
    else:
        parts = path.relative_to(root).parts
        parts = parts if len(parts) > 1 else path.absolute().parts[-2:]
        setting, dataset = "/".join(parts[:-1]), parts[-1]
    return Evaluation(
        setting=setting,
        dataset=dataset,
        folder=path,
        summary=summary and {"num_trials": 1, **summary},
        arguments=arguments,
    )


def _tell_apart(found: Sequence[Evaluation]) -> list[Evaluation]:
    """Name the settings of one model that were asked differently: by their conditions, else their folder."""
    for name in (lambda one: tell_selection(one.arguments), lambda one: one.folder.parent.name):
        cells = [(one.setting, one.dataset) for one in found]
        twice = {setting for setting, dataset in cells if cells.count((setting, dataset)) > 1}
        found = [
            replace(one, setting=f"{one.setting} ({more})")
            if one.setting in twice and (more := to_one_line(name(one)))
            else one
            for one in found
        ]
    return list(found)


def read_result_file(path: Path, kind: Any) -> dict[str, Any] | None:
    """A file that fits `kind`, as it is; None if there is none."""
    if not path.is_file():
        return None
    hint = "InSight-o3's evaluation does not write this: repair the file, or move its folder elsewhere"
    with translate_json_errors(str(path), hint=hint):
        found: dict[str, Any] = json.loads(read_bytes(path))
        msgspec.convert(found, kind)
    return found
