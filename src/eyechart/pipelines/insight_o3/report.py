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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from eyechart.files import make_folder
from eyechart.models.redact import redact_parameters
from eyechart.pipelines.insight_o3.benchmark import find_group, make_official_records, rebuild_row
from eyechart.pipelines.insight_o3.score import ASSISTANT, FINISHED
from eyechart.registry import exporter
from eyechart.report.rows import open_text_file, remove_trials, write_json_file
from eyechart.runs.inputs import SentImage, load_sent_image
from eyechart.stats.intervals import add_in_order
from eyechart.types import Export, Reply, Result

# How a sample ends: with a verdict, with a reply that was cut off, or without either.
End: TypeAlias = Literal["correct", "wrong", "incomplete", "invalid"]
_RATES = ("success_rate", "completion_rate", "accuracy")
NO_SUMMARY = "N/A"

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
    summary = folder / "summary_metrics.json"
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
        verdict = _verdict(result)
        return {
            "sample_index": result.position,
            "success": verdict["success"],
            "fail_reason": verdict["fail_reason"],
            "inference_result": self._make_inference_result(result),
            "extracted_answer": verdict["extracted_answer"],
            "is_correct": verdict["is_correct"],
        }

    def _make_inference_result(self, result: Result) -> dict[str, Any]:
        reply = result.reply
        if reply is None or not _is_from_assistant(reply):
            return make_inference_result(fail_reason="failed_to_parse_response" if reply else "api_error")
        conversations = self._list_conversations(result, reply)
        return make_inference_result(conversations, reply.finish_reason or None, _find_content(reply))

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
    if reply is None:
        return _failed("inference_failed")
    if score is not None and "success" in score.detail:  # of the official scorer
        return score.detail
    if not _is_from_assistant(reply):
        return _failed("inference_failed")
    if reply.finish_reason != FINISHED:
        return _failed(f"finish_reason:{reply.finish_reason or None}")
    if score is None:
        return _failed("scoring_failed")
    if score.outcome == "unscored":
        return _failed(str(score.detail.get("fail_reason") or "unscored"))
    is_correct = score.outcome == "correct"
    return {"success": True, "fail_reason": None, "extracted_answer": score.read, "is_correct": is_correct}


def _failed(reason: str) -> dict[str, Any]:
    return {"success": False, "fail_reason": reason, "extracted_answer": None, "is_correct": False}
