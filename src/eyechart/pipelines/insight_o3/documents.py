"""InSight-doc's files, from any run with ``--look``: ``--exporter insight-doc`` (commit 26d878b).

``samples.jsonl`` and ``metrics.json`` (trials and their summary), ``trajectories.jsonl`` (the authors'
figures of each dialogue) and, per dialogue, ``exported_conversations/*.json``, whose references restore every
picture from its original. What a run does not know is left out: times of single tokens, the authors' jobs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Any

from eyechart.files import make_folder
from eyechart.look.crops import side_lengths
from eyechart.look.evidence import summarize_cell
from eyechart.look.records import type_reply, write_image_ref
from eyechart.look.replies import write_tool_calls
from eyechart.pipelines.logs.writing import encode_json_line
from eyechart.registry import exporter
from eyechart.report.looks import measure_dialogue, read_look
from eyechart.report.rows import open_text_file, write_json_file
from eyechart.types import Export, Reply, Result

_SCHEMA = "vreasoner_v2_conversation_v2"


@exporter("insight-doc")
def write_insight_doc(export: Export) -> Sequence[Path]:
    """Write the files; a sample that failed has its reason, and counts as invalid."""
    folder, rescale = export.folder, (export.manifest.get("look") or {}).get("scale")
    conversations = folder / "exported_conversations"
    make_folder(conversations)
    n_trials = int(export.manifest.get("trials") or 1)
    samples, written = [], list[Path]()
    paths = [folder / name for name in ("samples.jsonl", "trajectories.jsonl", "metrics.json")]
    with open_text_file(paths[0]) as rows, open_text_file(paths[1]) as figures:
        for trial in range(n_trials):
            for result in export.results(trial):
                if result.outcome is None:
                    continue
                sample = _write_sample(export, result)
                if read_look(result) is not None:
                    path = conversations / f"{_name(export, result)}.json"
                    write_json_file(path, _write_conversation(export, result), indent=2)
                    sample["conversation_export_json_path"] = str(path.relative_to(folder))
                    written.append(path)
                    own = {"uid": result.sample.id, "trial_idx": trial, **measure_dialogue(result)}
                    figures.write(encode_json_line(own) + "\n")
                samples.append(sample)
                rows.write(encode_json_line(sample) + "\n")
    n_expected = len({sample["sample_index"] for sample in samples}) * n_trials
    trials, summary = summarize_cell(samples, n_expected=n_expected, n_trials=n_trials)
    same = {"benchmark": export.manifest.get("benchmark"), "rescale": str(rescale)}
    rows_of_trials = [{**same, **row} for row in trials]
    write_json_file(paths[2], {"trials": rows_of_trials, "summary": {**same, **summary}}, indent=2)
    return [*paths, *written]


def _name(export: Export, result: Result) -> str:
    source = str(export.manifest.get("benchmark") or "")
    digest = hashlib.sha1(f"{source}\0{result.sample.id}\0{result.trial}".encode()).hexdigest()  # noqa: S324
    readable = re.sub(r"[^\w.-]+", "_", f"{source}--val--trial{result.trial}--{result.sample.id}")[:100]
    return f"{readable}--{digest[:12]}"


def _write_sample(export: Export, result: Result) -> dict[str, Any]:
    reply, look = result.reply, read_look(result) or {}
    n_said = 0 if reply is None else 1 + sum(turn["role"] == "assistant" for turn in result.asked)
    n_followed = max(n_said - 1, 0)  # every turn but the last has a result
    why = result.failure.reason if result.failure else ""
    reasons = list(look.get("reasons") or ()) if reply else [f"query_api_failed:{why}"]
    return {
        "sample_index": result.position,
        "trial_idx": result.trial,
        "uid": result.sample.id,
        "data_source": export.manifest.get("benchmark"),
        "ground_truth": result.sample.golds[0] if result.sample.golds else None,
        "solution_str": _join_dialogue(result.asked, reply) if reply else "",
        "response_truncated": bool(reply and reply.finish_reason == "length"),
        "critical_failure": bool(look.get("critical")) or reply is None,
        "failure_reasons": reasons if look.get("critical") or reply is None else [],
        "num_turns": n_said + n_followed + 1,
        "n_tool_calls": n_followed,
        **_count_tokens(export, result),
        "score": {"accuracy_reward": result.score.value} if result.score else {},
    }


def _join_dialogue(asked: Sequence[Mapping[str, Any]], reply: Reply) -> str:
    """All that was said after the first prompt, joined as verl joins the turns that it decodes."""
    joined = ""
    turns = dropwhile(lambda turn: turn["role"] != "assistant", asked)
    for is_said, group in groupby(turns, key=lambda turn: turn["role"] == "assistant"):
        said = ((_read_text(turn), [{"function": one} for one in turn.get("calls") or ()]) for turn in group)
        text = "\n".join(write_tool_calls(words, calls) for words, calls in said)
        joined += text if is_said else f"\nuser\n{text}\nassistant\n"
    calls = [{"function": {"name": one.name, "arguments": one.arguments}} for one in reply.calls]
    return joined + write_tool_calls(reply.content, calls)


def _read_text(turn: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in turn["parts"] if "text" in part)


def _count_tokens(export: Export, result: Result) -> dict[str, Any]:
    """The first prompt, all that came after it, and the time of the requests."""
    rounds = [one.reply for one in export.find_calls(result) if one.purpose.startswith("round:")]
    rounds = rounds or ([result.reply] if result.reply else [])
    first, last = (rounds[at].usage if rounds else None for at in (0, -1))
    prompt = first.prompt_tokens if first else 0
    return {
        "prompt_tokens": prompt,
        "response_tokens_total": last.prompt_tokens + last.completion_tokens - prompt if last else 0,
        "core_inference_time": sum(one.latency_s for one in rounds),
    }


def _write_conversation(export: Export, result: Result) -> dict[str, Any]:
    look, reply = read_look(result) or {}, result.reply
    looks = [record for record in result.sent if "look" in record]
    refs = [_write_ref(number, record["look"]) for number, record in enumerate(looks)]
    originals = {record["look"]["source"]: record for record in reversed(looks)}
    return {
        "schema_version": _SCHEMA,
        "agent_name": export.manifest.get("model"),
        "status": {
            "critical_failure": bool(look.get("critical")),
            "final_failure_reasons": list(look.get("reasons") or ()),
        },
        "parameters": {"loop": export.manifest.get("look")},
        "extra_info": dict(result.sample.meta),
        "image_references": {
            "input_images": [
                {
                    "original_img_idx": source, "original_size": record["look"]["original"],
                    "source_type": "path", "value": record.get("origin"),
                }
                for source, record in sorted(originals.items())
            ],
            "presented_images": refs,
        },
        "conversation": list(_write_messages(result, reply.content if reply else "")),
        "failures": [],
        "reward": {"accuracy_reward": result.score.value} if result.score else None,
    }  # fmt: skip


def _write_ref(number: int, shown: Mapping[str, Any]) -> dict[str, Any]:
    sizes, box = shown.get("sizes"), shown["box"]
    return write_image_ref(
        number,
        "region_crop" if "parent" in shown else "initial",
        shown["original"],
        box,
        sizes[-1] if sizes else side_lengths(box),
        source=shown["source"],
        parent_presented_img_idx=shown.get("parent"),
        region_description=shown.get("label"),
        bbox_on_presented=shown.get("on_parent"),
    )


def _write_messages(result: Result, last: str) -> Iterator[dict[str, Any]]:
    """The messages with their types; images by number."""
    n_images = n_users = 0
    for number, turn in enumerate(result.asked):
        role, text = turn["role"], _read_text(turn)
        message: dict[str, Any] = {"message_idx": number, "role": role}
        if role == "assistant":
            yield {**message, **type_reply(text)}
            continue
        shown = [part for part in turn["parts"] if "image" in part]
        kind = "system_prompt" if role == "system" else "query" if not n_users else "tool_result"
        n_users += role != "system"
        images = [{"presented_img_idx": n_images + nth} for nth in range(len(shown))]
        n_images += len(shown)
        yield {**message, "type": kind, "content": {"text": text}, **({"parts": images} if images else {})}
    yield {"message_idx": len(result.asked), "role": "assistant", **type_reply(last)}
