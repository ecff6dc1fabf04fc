"""Every Eval Ever (schema 0.3.0): a JSON object with the numbers of a run, and beside it a line per sample.

``data/<benchmark>/<developer>/<model>/<uuid>.json`` and ``<uuid>_samples.jsonl``; the name follows from the
run, so that a second export replaces the first. What the schema has no field for, it takes as texts:
clusters, outcome counts, lost samples and bounds in `details`, the images' policy in `generation_config`,
outcome, cluster, trial, route and image hashes of a sample in `metadata`. There, under ``eyechart``, question
and reply are kept whole, so that `score --replies` reads them back.

The schema has no null score. Samples without one (failed, unscored, not asked) are left out and counted.
Nothing that tells of this machine is written: no path, no address, no image.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from eyechart.errors import UsageError
from eyechart.look.dialogue import TOOL
from eyechart.pipelines.logs import reading, writing
from eyechart.registry import exporter, judge_prompts, log_format
from eyechart.report.counting import compute_credit
from eyechart.report.rows import open_text_file
from eyechart.runs.publish import clean, find_hub_id, name_model, share_conditions
from eyechart.store.folder import prepare_folder
from eyechart.types import Export, FileSigns, LogEntry, LogReader, Reply, ReplyLog, Result, Sample, Score

SCHEMA = "0.3.0"
_LOCAL = {"hf": "transformers", "vllm": "vllm", "sglang": "sglang", "hf-serve": "transformers"}
_IMAGE_OPTIONS = ("input", "max_pixels", "max_side", "jpeg_quality", "pass_urls")
_SEARCH = "region_description"  # the call of --look=search
_SAID = ("model", "data", "scorer", "judge", "images")  # conditions that have their own place
_OPEN = ("meta", "withheld", "evidence", "model")  # of a sample or a reply: may hold anything
_FRACTION = {"score_type": "continuous", "min_score": 0.0, "max_score": 1.0}
_KEYS = frozenset({"schema_version", "evaluation_id", "sample_id", "interaction_type"})


@exporter("every-eval-ever")
def write_every_eval_ever(export: Export) -> list[Path]:
    """Write the samples, then the numbers."""
    if export.numbers["score"] is None:
        raise UsageError("the run has no score, which the format needs", hint="finish or score the run first")
    model = describe_model(export.manifest)
    identity = writing.compute_run_id(export.manifest)
    benchmark = export.manifest["benchmark"]
    developer, _, name = model["id"].partition("/")
    place = PurePosixPath("data", *(_name_folder(one) for one in (benchmark, developer, name)))
    stem = str(uuid.UUID(bytes=hashlib.sha256(identity.encode()).digest()[:16], version=4))
    folder = export.folder / place
    prepare_folder(folder)
    head = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{benchmark}/{model['id']}/{identity}",
        "model_id": model["id"],
        "evaluation_name": benchmark,
        "evaluation_result_id": f"{identity}/{writing.name_rows(export.numbers)}",
    }
    samples, numbers = folder / f"{stem}_samples.jsonl", folder / f"{stem}.json"
    sent: Counter[str] = Counter()
    n_rows = 0
    with open_text_file(samples) as file:
        for result in export.results():
            for one in result.sent:
                names = [name for name in ("resized", "reencoded") if one.get(name)]
                sent.update(["images", str(one.get("mime") or "url"), *names])
            if (value := compute_credit(result)) is not None:
                file.write(writing.encode_json_line({**head, **format_line(result, value)}) + "\n")
                n_rows += 1
    when = datetime.fromtimestamp(export.started_at, UTC).isoformat(timespec="seconds")
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": head["evaluation_id"],
        **({"evaluation_timestamp": when} if export.started_at else {}),
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "eyechart",
            "source_type": "evaluation_run",
            "source_organization_name": export.settings.get("org") or "unknown",
            "evaluator_relationship": export.settings.get("relationship") or "other",
        },
        "eval_library": {"name": "eyechart", "version": export.manifest["eyechart"]},
        "model_info": model,
        "evaluation_results": list(_list_results(export, identity, sent)),
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": str(place / samples.name),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples.read_bytes()).hexdigest(),
            "total_rows": n_rows,
        },
    }
    with open_text_file(numbers) as file:
        file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    return [numbers, samples]


def _name_folder(text: str) -> str:
    """A name as the layout allows it.

    >>> _name_folder("a/b: c."), _name_folder("data")
    ('a_b_ c', 'data_')
    """
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", text).rstrip(". ") or "unknown"
    return f"{name}_" if name == "data" else name


def describe_model(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The schema's `model_info`; what is not known is said to be unknown.

    >>> [describe_model({"model": one})["id"] for one in ("vllm/Qwen/Qwen3-VL-8B", "openai/gpt")]
    ['Qwen/Qwen3-VL-8B', 'openai/gpt']
    """
    name = name_model(manifest)
    provider, _, rest = name.partition("/")
    engine = _LOCAL.get(provider)
    is_of_hub = engine is not None and rest.count("/") == 1
    is_own = engine is not None or provider == "baseline" or name.startswith("python:")
    developer = "unknown" if engine or not rest else provider
    info: dict[str, Any] = {
        "name": name,
        "id": rest if is_of_hub else f"{developer}/{rest or name}",
        "additional_details": {
            "deployment_type": "self_deployed" if is_own else "unknown",
            "model_availability": "open_weights" if is_of_hub else "unknown",
        },
    }
    if engine:
        info["inference_engine"] = {"name": engine}
    elif not is_own:
        info["inference_platform"] = provider
    return info


# -- Numbers


def _list_results(export: Export, identity: str, sent: Counter[str]) -> Iterator[dict[str, Any]]:
    """The mean, the official number if there is another, and the mean of every group."""
    manifest, numbers = export.manifest, export.numbers
    benchmark = manifest["benchmark"]
    common = {
        "source_data": _describe_data(manifest, numbers),
        "generation_config": _describe_generation(manifest, sent),
        "metric_config": _describe_metric(manifest, numbers),
    }

    def describe(key: str, name: str, details: Mapping[str, Any], **other: Any) -> dict[str, Any]:
        names = {"evaluation_result_id": f"{identity}/{key}", "evaluation_name": f"{benchmark}{name}"}
        return {**names, **common, **other, "score_details": details}

    yield describe("score", "", _describe_group(numbers))
    if (of_rows := writing.name_rows(numbers)) != "score":
        yield describe(of_rows, f": {of_rows}", _describe_group(numbers["also"][of_rows]))
    metrics = numbers.get("metrics") or {"overall": {}, "headline": ""}
    headline = metrics["headline"]
    if (top := metrics["overall"].get(headline)) and top["value"] is not None:
        uncertainty = _describe_interval(top["ci95"], metrics["method"], numbers["n_scored"], None)
        details = {"score": top["value"], "uncertainty": uncertainty, "details": _details(numbers)}
        metric = _describe_aggregate(benchmark, metrics)
        yield describe(headline, f": {headline}", details, metric_config=metric)
    for column, groups in numbers.get("by", {}).items():
        for value, group in groups.items():
            if group["score"] is not None:
                name = f"{column}={clean(value)}"
                yield describe(name, f", {name}", _describe_group(group))


def _describe_group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "score": group["score"],
        "uncertainty": _describe_interval(group["ci95"], group["method"], group["n_scored"], group["stderr"]),
        "details": _details(group),
    }


def _describe_interval(
    ci95: tuple[float, float] | None, method: str, n: int, stderr: float | None
) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": n}
    if ci95:
        ends = {"lower": ci95[0], "upper": ci95[1]}
        found["confidence_interval"] = {**ends, "confidence_level": 0.95, "method": method}
    if stderr is not None:
        found["standard_error"] = {"value": stderr, "method": "clustered"}
    return found


def _details(group: Mapping[str, Any]) -> dict[str, str]:
    """What has no field: the sample-trials by outcome, those without a score, clusters, bounds."""
    outcomes = group["outcomes"]
    left_out = {name: outcomes[name] for name in ("failed", "unscored")} | {"not asked": group["pending"]}
    kept = ("n", "n_clusters", "coverage", "bounds", "ci95_with_failures", "chance")
    found = {"outcomes": outcomes, "left_out": {name: n for name, n in left_out.items() if n}}
    found |= {name: group[name] for name in kept}
    return {name: _to_text(value) for name, value in found.items() if value is not None}


def _describe_metric(manifest: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    facts = {
        "scorer": manifest["scorer"],
        "scorer_version": manifest["versions"].get(manifest["scorer"]),
        "parity": numbers.get("parity"),
        "rules": numbers.get("rules"),
        "trials": manifest.get("trials"),
        "circular": manifest.get("circular"),
    }
    return {
        "metric_id": "accuracy",
        "metric_name": "mean over questions",
        "metric_unit": "proportion",
        "lower_is_better": False,
        **_FRACTION,
        **_describe_judge(manifest, numbers),
        "additional_details": {name: _to_text(value) for name, value in facts.items() if value},
    }


def _describe_aggregate(benchmark: str, metrics: Mapping[str, Any]) -> dict[str, Any]:
    is_fraction = metrics["scale"] == "fraction"
    facts = {"aggregate": metrics["aggregate"], "version": metrics["version"], "parity": metrics["parity"]}
    return {
        "metric_id": f"{benchmark}.{metrics['headline']}",
        "metric_name": metrics["headline"],
        "metric_unit": "proportion" if is_fraction else "points",
        "lower_is_better": False,
        **(_FRACTION if is_fraction else {}),
        "additional_details": {name: _to_text(value) for name, value in facts.items() if value},
    }


def _describe_judge(manifest: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    judge, card = manifest.get("judge"), numbers.get("judge") or {}
    if not isinstance(judge, Mapping):
        return {}
    judges: list[dict[str, Any]] = []
    for one in (judge, *judge.get("further", ())):
        judges.append({"model_info": describe_model(one)})
        if isinstance(temperature := _read_parameters(one).get("temperature"), int | float):
            judges[-1]["temperature"] = temperature
    own: Mapping[str, str] = judge.get("prompts") or {}
    versions: Mapping[str, str] = card.get("prompts") or {}  # of the stages that were asked
    texts = {stage: own.get(stage) or judge_prompts.get(stage).text for stage in versions}
    facts = {"prompt_versions": versions, "decided": card.get("decided", "")}
    return {
        "llm_scoring": {
            "judges": judges,
            "input_prompt": _to_text(texts),
            **({"aggregation_method": "majority_vote"} if len(judges) > 1 else {}),
            "additional_details": {name: _to_text(one) for name, one in facts.items() if one != ""},
        }
    }


def _read_parameters(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a model was asked with: beside its name, or in a mapping of their own."""
    return {**(manifest.get("identity") or {}), **writing.read_parameters(manifest)}


def _describe_data(manifest: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    name = manifest["benchmark"]
    if (hub := find_hub_id(manifest)) is None:
        return {"source_type": "other", "dataset_name": name}
    split = {} if hub.is_file or not hub.split else {"hf_split": hub.split}
    more = {"config": hub.config, "revision": hub.revision}
    return {
        "source_type": "hf_dataset",
        "dataset_name": name,
        "hf_repo": hub.place,
        **split,
        "samples_number": numbers["n"],
        "additional_details": {name: value for name, value in more.items() if value},
    }


def _describe_generation(manifest: Mapping[str, Any], sent: Counter[str]) -> dict[str, Any]:
    options: Mapping[str, Any] = manifest.get("options") or {}
    stated = _read_parameters(manifest)
    given = {name: stated.get(name, options.get(name)) for name in ("temperature", "top_p", "top_k")}
    arguments: dict[str, Any] = {
        name: value for name, value in given.items() if isinstance(value, int | float)
    }
    limit = stated.get("max_tokens", options.get("max_tokens"))
    if isinstance(limit, int) and limit > 0:
        arguments["max_tokens"] = limit
    if options.get("prompt_template"):
        arguments["prompt_template"] = str(options["prompt_template"])
    if isinstance(look := manifest.get("look"), Mapping):
        rules = {name: _to_text(one) for name, one in look.items() if isinstance(one, str | int | float)}
        tool = {"name": _SEARCH if look.get("protocol") == "search" else TOOL}
        arguments["agentic_eval_config"] = {"available_tools": [tool], "additional_details": rules}
    policy = {name: options[name] for name in _IMAGE_OPTIONS if options.get(name)}
    conditions = {name: text for name, text in share_conditions(manifest).items() if name not in _SAID}
    details = {**conditions, "images": policy, "images_sent": dict(sent)}
    return {
        "generation_args": arguments,
        "additional_details": {name: _to_text(value) for name, value in details.items()},
    }


# -- Samples


def format_line(result: Result, value: float) -> dict[str, Any]:
    """One sample-trial that has a score."""
    sample, reply, score = result.sample, result.reply, result.score
    assert reply is not None
    assert score is not None
    golds = list(sample.golds)
    look: Mapping[str, Any] = reply.evidence.get("look") or {}
    rounds = _list_messages(result, reply) if reply.earlier or look else None
    where = "output.raw" if rounds is None else f"messages[{len(rounds) - 1}].content"
    read = {
        "turn_idx": 0 if rounds is None else len(rounds) - 1,
        "source": where,
        "extracted_value": str(score.read),
        "extraction_method": score.route or "whole reply",
        "is_terminal": True,
    }
    spoken = {"raw": [reply.text], "reasoning_trace": [reply.thinking] if reply.thinking else None}
    return {
        "sample_id": sample.id,
        "sample_hash": hash_sample(sample.question, golds),
        "interaction_type": "agentic" if look else "single_turn" if rounds is None else "multi_turn",
        "input": {
            "raw": sample.question,
            "formatted": writing.join_prompt(result),
            "reference": golds,
            "choices": list(sample.choices.values()) or None,
        },
        "output": spoken if rounds is None else None,
        "messages": rounds,
        "answer_attribution": [] if score.read is None else [read],
        "evaluation": {
            "score": value,
            "is_correct": value == 1,
            "num_turns": 1 + len(reply.earlier),
            **({"tool_calls_count": int(look.get("calls", 0))} if look else {}),
        },
        **({"token_usage": writing.format_usage(reply.usage)} if reply.usage else {}),
        "performance": {"latency_ms": 1000 * reply.latency_s},
        "metadata": _describe_sample(result, reply, score),
    }


def hash_sample(question: str, golds: list[str]) -> str:
    """The schema's name for a question: SHA-256 of its text and accepted answers as sorted JSON."""
    text = json.dumps({"raw": question, "reference": golds}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _list_messages(result: Result, reply: Reply) -> list[dict[str, Any]]:
    """A conversation of several rounds, with its calls of tools, without its images."""
    turns: list[dict[str, Any]] = []
    for number, turn in enumerate(result.asked):
        texts = (part["text"] for part in turn["parts"] if "text" in part)
        turns.append({"turn_idx": number, "role": turn["role"], "content": "\n".join(texts)})
        if calls := turn.get("calls"):
            named = ((str(one["name"]), {"json": _to_text(one["arguments"])}) for one in calls)
            turns[-1]["tool_calls"] = [
                {"id": f"{number}-{k}", "name": name, "arguments": given}
                for k, (name, given) in enumerate(named)
            ]
    last = {"role": "assistant", "content": reply.text, "reasoning_trace": reply.thinking or None}
    return [*turns, {"turn_idx": len(turns), **last}]


def _describe_sample(result: Result, reply: Reply, score: Score) -> dict[str, str]:
    """Texts only; the names of the data set's own columns stand last and replace none of ours."""
    kept = {"sample": writing.format_sample(result), "reply": writing.format_reply(reply)}
    shown = ("sha256", "mime", "width", "height", "resized")
    pictures = [{name: one[name] for name in shown if name in one} for one in result.sent]
    own: dict[str, Any] = {
        "outcome": score.outcome,
        "route": score.route,
        "trial": result.trial,
        "cluster": result.cluster,
        "images": pictures,
        reading.MARK: {
            kind: {name: clean(one) if name in _OPEN else one for name, one in values.items()}
            for kind, values in kept.items()
        },
    }
    columns = {str(key): clean(one) for key, one in result.sample.meta.items() if str(key) not in own}
    return {name: _to_text(value) for name, value in {**own, **columns}.items() if value not in ("", [])}


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else writing.encode_json_line(value)


# -- Reading


class _Input(msgspec.Struct, frozen=True):
    raw: str
    reference: list[str] = []
    choices: list[str] | None = None


class _Output(msgspec.Struct, frozen=True):
    raw: list[str] = []
    reasoning_trace: list[str] | None = None


class _Turn(msgspec.Struct, frozen=True):
    role: str
    content: str | None = None


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    sample_id: str
    input: _Input
    model_id: str = ""
    evaluation_name: str = ""
    evaluation_result_id: str | None = None
    output: _Output | None = None
    messages: list[_Turn] | None = None
    error: str | None = None
    metadata: dict[str, str] | None = None


@log_format("every-eval-ever")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell a file of samples by the keys of its first line."""
    return read_samples if signs.shape == "object" and signs.names >= _KEYS else None


def read_samples(path: Path, _with_questions: bool = True) -> ReplyLog:
    """The samples of one result; lines that repeat them for further results are left out."""
    entries: list[LogEntry] = []
    first: _Line | None = None
    for line, where in reading.read_lines(path, _Line):
        first = first or line
        if line.evaluation_result_id == first.evaluation_result_id:
            entries.append(_read_entry(line, f"{where} (sample_id {line.sample_id!r})"))
    reading.refuse_duplicates(entries, path)
    assert first is not None
    return ReplyLog(tool="Every Eval Ever", task=first.evaluation_name, model=first.model_id, entries=entries)


def _read_entry(line: _Line, where: str) -> LogEntry:
    facts = line.metadata or {}
    own: dict[str, Any] = {}
    if (kept := facts.get(reading.MARK)) is not None:
        own = reading.decode_entry(kept.encode(), dict[str, Any], f"{where}, {reading.MARK}")
    text = _read_text(line)
    reply = None
    if text is not None and not (line.error and not text):
        mine = {reading.MARK: own["reply"]} if own else None
        traces = (line.output.reasoning_trace if line.output else None) or [""]
        reply = reading.read_own_reply(mine, text, where) or Reply.read(text, thinking=traces[0])
    trial = facts.get("trial", "")
    return LogEntry(
        id=line.sample_id,
        where=where,
        trial=int(trial) if trial.isascii() and trial.isdigit() and len(trial) < 4 else 0,
        reply=reply,
        failure="" if reply else (line.error or "the line holds no reply")[:2000],
        asked=line.input.raw,
        sample=reading.read_own_sample({reading.MARK: own["sample"]} if own else None, where)
        or _read_sample(line, facts, where),
    )


def _read_text(line: _Line) -> str | None:
    if line.output is not None:
        return line.output.raw[0] if line.output.raw else None
    replies = [turn.content for turn in line.messages or () if turn.role == "assistant"]
    return replies[-1] if replies else None


def _read_sample(line: _Line, facts: Mapping[str, str], where: str) -> Sample:
    choices = reading.letter_choices(line.input.choices or [], where)
    letters = {text: letter for letter, text in reversed(choices.items())}
    golds = tuple(gold if gold in choices else letters.get(gold, gold) for gold in line.input.reference)
    return Sample(id=line.sample_id, question=line.input.raw, golds=golds, choices=choices, meta=dict(facts))
