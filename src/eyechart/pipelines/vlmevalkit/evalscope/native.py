"""EvalScope's native backend, of which eyechart runs two data sets: `general_vqa` and `general_vmcq`.

``TaskConfig(model=..., api_url=..., datasets=["general_vqa"], dataset_args={...})``: each key is used, noted
as without effect, or refused.

A row of `general_vqa` has `messages` in OpenAI's form, one of `general_vmcq` a `question` with `options`.
Images are in the messages, or in the columns `image_1`, `image_2`, ... (or a list in `images`), from where
they are put in place of ``<image 1>``. Every subset is a file: JSON Lines, CSV, TSV or Parquet.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import random
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from eyechart.data.columns.image_columns import ImageCells
from eyechart.data.files.rows import Blob, Row, name_row
from eyechart.data.samples import MemorySource
from eyechart.data.source import SourceOptions, open_reader
from eyechart.errors import DataError, EyechartError, UsageError, join_names
from eyechart.models.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import (
    BACKEND,
    NO_KEY,
    TASK_KEYS,
    DataEntry,
    ModelEntry,
    Task,
    Values,
    drop_none,
)
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import read_url
from eyechart.pipelines.vlmevalkit.evalscope.general_score import (
    RULES,
    TURNS,
    VQA_METRICS,
    check_filters,
    is_chinese,
    read_wording,
    require_bleu,
)
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import format_judge_spec, make_judge_options
from eyechart.registry import models
from eyechart.score.chinese_words import require_jieba
from eyechart.types import Benchmark, ImageRef, Message, Role, Sample

Turn: TypeAlias = tuple[Role, str | list[str | int]]  # an int is the number of an image
GeneralName = Literal["general_vqa", "general_vmcq"]
NAMES: tuple[GeneralName, ...] = ("general_vqa", "general_vmcq")
SPLITS: Mapping[GeneralName, str] = {"general_vqa": "test", "general_vmcq": "val"}
FORMATS = ("jsonl", "csv", "tsv", "parquet")  # in the order in which files are looked for
PRETTY_NAMES: Mapping[str, str] = {"general_vqa": "General-VQA", "general_vmcq": "General-VMCQ"}
PLACES = "places"  # in the meta of a sample: its images as the file names them; empty for those inside it
MAX_IMAGES = 100  # numbered columns
_NUMBERED = tuple(f"image_{number}" for number in range(1, MAX_IMAGES + 1))
_IMAGE_COLUMNS = ("images", *_NUMBERED)
_PLACEHOLDER = re.compile(r"<(image|video|audio)[_ ](\d+)>")
_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
}  # fmt: skip
# Hashes of EvalScope's Chinese prompts: after one of them, a choice is read behind 答案.
_CHINESE_PROMPTS = ("b4e03be507f9c64d", "53033f941b15e693", "435e7c9be0ff6086", "76867440574b469e")

# Keys beside those of every task, with the values that change nothing.
_USUAL: Mapping[str, Any] = {
    "model_task": "text_generation", "model_args": {}, "chat_template": None, "dataset_hub": "modelscope",
    "analysis_report": False, "use_sandbox": False, "sandbox_type": "docker", "sandbox_manager_config": {},
    "rerun_review": False,
}  # fmt: skip
_REFUSED: Mapping[str, str] = {
    "model_args": "eyechart calls served models and starts none",
    "chat_template": "the server applies its own",
    "model_task": "only text is generated here",
    "agent_config": "a model is asked, not an agent",
    "use_sandbox": "no code is executed",
    "analysis_report": "no report is written by a model",
}
_NO_EFFECT: Mapping[str, str] = {
    "stream": "replies are the same, streamed or whole",
    "judge_worker_num": "EvalScope has removed it; eval_batch_size limits the judge, too",
    "rerun_review": "scores are computed again whenever a scorer changes",
    "dataset_hub": "the files are local",
}
_NO_FIELDS = dict.fromkeys(
    ("extra_headers", "extra_query", "response_schema"), "only fields of the request can be added"
)
_CONCURRENCY = 8  # EvalScope's default for served models
_PACE = ("timeout", "retries", "retry_interval", "batch_size", "stream", "n")
_DATA_KEYS = (
    "local_path", "dataset_id", "subset_list", "prompt_template", "system_prompt", "metric_list", "filters",
    "shuffle", "shuffle_choices", "few_shot_num", "few_shot_random", "aggregation", "review_timeout",
    "force_redownload", "extra_params", "max_image_bytes", "default_subset", "eval_split", "train_split",
)  # fmt: skip
_DATA_USUAL: Mapping[str, Any] = {"aggregation": "mean", "default_subset": "default", "extra_params": {}}
_DATA_REFUSED: Mapping[str, str] = {
    "few_shot_num": "the data set has no examples",
    "shuffle_choices": "EvalScope shuffles the labels but not the prompt, so that its scores mean nothing",
    "aggregation": "only the mean is computed",
    "max_image_bytes": "images are not shrunk to a number of bytes",
    "extra_params": "the data set has none",
    "eval_split": "a subset is one file",
}
_DATA_NO_EFFECT = dict.fromkeys(
    ("review_timeout", "force_redownload", "few_shot_random", "train_split"),
    "the files are local, and scoring has no time limit",
)
_JUDGE_KEYS = (
    "strategy", "models", "contract", "repeats", "position_swap", "aggregation", "min_valid_judges",
)  # fmt: skip
_ONE_JUDGE = dict.fromkeys(("repeats", "position_swap", "min_valid_judges"), "one judge is asked once")
_JUDGE_MODEL_KEYS = (
    "model_id", "judge_id", "api_url", "api_key", "eval_type", "model_args", "generation_config",
)  # fmt: skip
_CONTRACT = ("system_prompt", "prompt_template", "score_mapping", "score_type")


def read_native(given: Mapping[str, Any]) -> Task:
    """The task of the keys `given`, less those that every task has."""
    values = Values(given, "the task", usual=_USUAL)
    values.refuse(_REFUSED, unless=({},))
    if values.mapping("sandbox").get("enabled"):
        raise values.error("sandbox is not possible here: no code is executed", "leave it out")
    values.note(_NO_EFFECT)
    names = _read_names(values.raw("datasets"))
    judge, rules = _read_judge(values)
    config, n = _read_generation(values)
    arguments = values.mapping("dataset_args")
    if stray := sorted(arguments.keys() - {*names}):
        hint = f"datasets: {', '.join(names)}"
        raise UsageError(f"dataset_args has {stray[0]!r}, which is not one of datasets", hint=hint)
    seed, limit = values.whole("seed"), _read_limit(values)
    data, notes = [], values.notes
    for name in names:
        own = Values(arguments.get(name) or {}, f"dataset_args of {name}", usual=_DATA_USUAL)
        data.append(_read_data(name, own, rules, limit, TASK_KEYS["seed"] if seed is None else seed))
        notes = [*notes, *own.notes]
    repeats = n or values.whole("repeats", least=1) or 1
    return Task(
        models=(_read_model(values, config),),
        data=tuple(data),
        options={
            **({"trials": repeats, "separate_trials": True} if repeats > 1 else {}),
            "concurrency": values.whole("eval_batch_size", least=1) or _CONCURRENCY,
            **judge,
        },
        keep_failed=values.truth("ignore_errors"),
        reuse="use_cache" in values,
        notes=tuple(notes),
    )


def _read_names(given: Any) -> list[GeneralName]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, list | tuple) or not several:
        raise UsageError("the task names no datasets", hint=f"possible are: {', '.join(NAMES)}")
    for one in several:
        if one not in NAMES:
            raise UsageError(
                f"the task's datasets has {one!r}; of EvalScope's native backend, eyechart has "
                f"{' and '.join(NAMES)}",
                hint="published benchmarks: eyechart data list; a file of your own: eyechart run FILE -m "
                f"MODEL; VLMEvalKit's way: eval_backend: {BACKEND} with an eval_config",
            )
    return [NAMES[NAMES.index(one)] for one in dict.fromkeys(several)]


# -- The model and its requests


def _read_model(values: Values, config: Mapping[str, Any]) -> ModelEntry:
    """The model; `config` has the options of its requests."""
    name = values.text("model")
    if not name:
        hint = "model: the name under which it is served; api_url: http://localhost:8000/v1"
        raise UsageError("the task names no model", hint=hint)
    kind = values.text("eval_type")
    if kind not in (None, "openai_api", "server", "service"):
        raise UsageError(
            f"the task's eval_type is {kind!r}, which is not possible here",
            hint="eval_type: openai_api with the api_url of a server, such as vLLM or SGLang",
        )
    identity = values.text("model_id") or _make_file_name(name.rpartition("/")[2] or name)
    key, url = values.text("api_key"), values.text("api_url")
    if url:
        options = {"base_url": read_url(url, values.who, "api_url"), "api_key": key or NO_KEY}
        return ModelEntry(spec=f"openai/{name}", name=identity, options={**options, **config})
    if name.startswith("python:") or name.partition("/")[0] in models.names():
        own = {"api_key": key} if key and key != NO_KEY else {}
        return ModelEntry(spec=name, name=identity, options={**own, **config})
    raise UsageError(
        f"the task has no api_url, and eyechart cannot run {name!r}: it calls served models and starts none",
        hint="api_url: http://localhost:8000/v1; or a model of eyechart: openai/NAME, python:file.py:Class",
    )


def _read_generation(values: Values) -> tuple[dict[str, Any], int | None]:
    """The options of requests, and how often each is sent. By default, EvalScope sends a temperature of 0."""
    said = values.mapping("generation_config") or {"temperature": 0.0}
    config = Values(said, "generation_config")
    config.refuse(_NO_FIELDS, hint="extra_body: {...}")
    config.refuse_unknown((OpenAI.parameters | {"stop_seqs", *_PACE}) - {"image_detail"})
    params = {
        "stop" if name == "stop_seqs" else name: value
        for name, value in drop_none(said).items()
        if name not in (*_PACE, "temperature", "max_tokens")
    }
    timeout = values.number("timeout")
    options = {
        "temperature": config.number("temperature"),
        "max_tokens": config.whole("max_tokens", least=1),
        "timeout_s": config.number("timeout") if timeout is None else timeout,
        "retries": config.whole("retries", least=0),
        "params": params or None,
    }
    n = config.whole("n", least=1)
    return drop_none(options), n if n != 1 else None


def _make_file_name(name: str) -> str:
    """The name of a model's folder, as EvalScope makes it.

    >>> _make_file_name("Qwen2.5-VL:7b"), _make_file_name("模型")
    ('Qwen2.5-VL_7b', 'untitled')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9._-]", "_", plain)).strip("._") or "untitled"


# -- The data


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralData:
    """One of the two data sets as a task names it."""

    name: GeneralName
    path: str  # a folder of subsets, or a file
    subsets: tuple[str, ...] = ("default",)
    limit: int | float | None = None  # rows of each subset; a float is a share
    shuffle_seed: int | None = None  # rows are drawn in this order
    system_prompt: str | None = None
    template: str | None = None  # of a choice
    rules: Mapping[str, Any] = field(default_factory=dict)  # of the scorer


def _read_data(
    name: GeneralName, values: Values, rules: Mapping[str, Any], limit: int | float | None, seed: int
) -> DataEntry:
    values.refuse_unknown(_DATA_KEYS)
    values.refuse(_DATA_REFUSED, unless=(0, {}))
    values.note(_DATA_NO_EFFECT)
    path = values.text("local_path") or values.text("dataset_id")
    if not path or not Path(path).expanduser().exists():
        raise UsageError(
            f"{values.who}: no such file or folder: {path}" if path else f"{values.who} has no local_path",
            hint=f"dataset_args: {{{name}: {{local_path: FOLDER, subset_list: [FILE without its ending]}}}}",
        )
    subsets = values.raw("subset_list") or ["default"]
    if not isinstance(subsets, list | tuple) or not all(isinstance(one, str) and one for one in subsets):
        raise values.wrong("subset_list", subsets, "a list of names")
    data = GeneralData(
        name=name,
        path=path,
        subsets=tuple(dict.fromkeys(subsets)),
        limit=limit,
        shuffle_seed=seed if values.truth("shuffle") else None,
        system_prompt=values.text("system_prompt"),
        template=_read_template(name, values),
        rules={**rules, **_read_rules(name, values)},
    )
    return DataEntry(name=name, source=json.dumps(asdict(data), default=str), general=data)


def _read_limit(values: Values) -> int | float | None:
    """Rows of each subset, or a share of them below 1; 0 means all."""
    number = values.number("limit")
    if number is None or number == 0:
        return None
    if number < 0 or (number > 1 and number != int(number)):
        raise values.error(f"limit is {number:g}", "a number of rows, or a share between 0 and 1")
    return int(number) if number == int(number) else number


def _read_template(name: GeneralName, values: Values) -> str | None:
    """The prompt of a choice."""
    template = values.text("prompt_template")
    if template is None or name == "general_vqa":
        values.note({"prompt_template": "the messages of a row are sent as they are"})
        return None
    try:
        filled = template.format(question="[Q]", choices="[C]", letters="[L]")
    except (KeyError, IndexError, ValueError, AttributeError) as err:
        raise values.error(
            f"prompt_template cannot be filled in ({type(err).__name__}: {err})",
            "it may have {question}, {choices} and {letters}; write other braces twice: {{ }}",
        ) from err
    if "[Q]" not in filled:
        raise values.error("prompt_template has no {question}", "add it")
    return template


def _read_rules(name: GeneralName, values: Values) -> dict[str, Any]:
    """What the task changes of scoring."""
    rules: dict[str, Any] = {}
    metrics = values.raw("metric_list")
    possible = tuple(VQA_METRICS) if name == "general_vqa" else ("acc", "accuracy")
    if metrics is not None:
        if not isinstance(metrics, list) or not metrics or any(one not in possible for one in metrics):
            raise values.wrong("metric_list", metrics, f"a list of: {', '.join(possible)}")
        if name == "general_vqa":
            if "Rouge" not in metrics:
                raise values.error("metric_list has no Rouge, the main metric", "add Rouge")
            rules["metrics"] = metrics
    if filters := values.mapping("filters"):
        check_filters(filters)
        rules["filters"] = filters
    return rules


# -- The judge


def _read_judge(values: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the judge, and its part of the scorer's rules; both empty without one."""
    given = values.mapping("judge")
    old = values.mapping("judge_model_args")
    if (old or "judge_strategy" in values) and given:
        raise values.error("judge and judge_strategy or judge_model_args are both given")
    if not given:
        terms = {name: old.pop(name) for name in _CONTRACT if name in old}
        given = {"strategy": values.text("judge_strategy"), "models": [old] if old else [], "contract": terms}
    judge = Values(given, "judge", usual={"repeats": 1, "position_swap": "auto", "aggregation": "mean"})
    judge.refuse_unknown(_JUDGE_KEYS)
    judge.refuse(_ONE_JUDGE, unless=(1, "off"))
    strategy = judge.one_of("strategy", ("auto", "rule", "llm", "llm_recall"), "auto")
    several = judge.raw("models") or []
    entries = [several] if isinstance(several, Mapping) else several
    if strategy in ("auto", "rule"):
        judge.note({"models": f"strategy: {strategy} asks no judge"}, unless=([],))
        values.notes += judge.notes
        return {}, {}
    if len(entries) != 1:
        what = f"{len(entries) or 'no'} models are given"
        raise judge.error(what, "models: [{model_id: NAME, api_url: URL, api_key: KEY}], one judge")
    model = Values(entries[0], "the judge")
    model.refuse_unknown(_JUDGE_MODEL_KEYS)
    model.refuse({"model_args": "the judge is a served model"}, unless=({},))
    judge_name = model.text("model_id")
    if not judge_name:
        raise UsageError("the judge has no model_id", hint="model_id: the name under which it is served")
    contract = Values(judge.mapping("contract"), "the judge's contract", usual={"score_type": "pattern"})
    contract.refuse_unknown(_CONTRACT)
    contract.refuse({"score_type": "a verdict is one of labels"}, hint="score_type: pattern")
    contract.refuse({"system_prompt": "the judge gets one message"}, hint="put it into prompt_template")
    labels = {label: float(value) for label, value in contract.mapping("score_mapping").items()}
    if any(not 0 <= value <= 1 for value in labels.values()):
        raise contract.wrong("score_mapping", labels, "a mapping of labels to values from 0 to 1")
    url = model.text("api_url")
    options = make_judge_options(
        format_judge_spec(judge_name),
        read_url(url, model.who, "api_url") if url else None,
        model.text("api_key"),
        model.mapping("generation_config") or {"temperature": 0.0, "max_tokens": 4096},
    )
    rules = {"strategy": strategy, "prompt": contract.text("prompt_template"), "labels": labels or None}
    return options, drop_none(rules)


# -- The rows of the files, and their prompts


def open_general(data: GeneralData) -> tuple[Benchmark, list[str], str]:
    """Read and check every row of the data set.

    Also returns what a user should know before the run, and the detail of all images: low, high or auto.
    """
    remarks: list[str] = []
    rules = dict(data.rules)
    is_vqa = data.name == "general_vqa"
    if is_vqa and "BLEU" in rules.get("metrics", VQA_METRICS):
        try:
            require_bleu()
            rules.setdefault("metrics", [*VQA_METRICS])
        except EyechartError as err:
            if "metrics" in rules:
                raise
            rules["metrics"] = [name for name in VQA_METRICS if name != "BLEU"]
            if rules.get("strategy") != "llm":
                remarks.append(f"{data.name}: BLEU is left out: {err.message} ({err.hint})")
    if hashlib.sha256((data.template or "").encode()).hexdigest()[:16] in _CHINESE_PROMPTS:
        rules["chinese"] = True
    reading = _Reading(data, rules)
    samples = tuple(sample for subset in data.subsets for sample in reading.read(subset))
    if is_vqa and any(is_chinese(gold) for one in samples for gold in one.golds):
        require_jieba("Chinese answers")
    remarks += (f"{data.name}: {remark}" for remark in reading.list_remarks())
    scorer = data.name.replace("_", "-")
    benchmark = Benchmark(
        name=data.name,
        source=MemorySource(data.name, str(Path(data.path).absolute()), samples),
        prompt=build_prompt,
        scorer=scorer,
        judged_scorer=scorer,
        group_by=("subset",) if len(data.subsets) > 1 else (),
        settings={
            "subsets": list(data.subsets),
            **{name: getattr(data, name) for name in ("limit", "shuffle_seed", "system_prompt", "template")},
            RULES: rules,
        },
        about=f"{data.name}: questions of one's own, as EvalScope asks and scores them",
    )
    details = sorted(reading.details)
    if len(details) > 1:
        remarks.append(f"{data.name}: the detail of images differs ({', '.join(details)}): auto is sent")
    return benchmark, remarks, details[0] if len(details) == 1 else "auto"


def build_prompt(sample: Sample) -> list[Message]:
    """The messages of a sample, with its images in their places."""
    turns = ((role, [said] if isinstance(said, str) else said) for role, said in sample.meta[TURNS])
    return [
        Message(role, tuple(sample.images[part] if isinstance(part, int) else part for part in parts))
        for role, parts in turns
    ]


def find_subset(data: GeneralData, subset: str) -> Path:
    """The file of a subset, as EvalScope looks for it."""
    given = Path(data.path).expanduser()
    if given.is_file() and given.suffix[1:] in FORMATS:
        return given
    stems = (f"{subset}_{SPLITS[data.name]}", subset)
    names = [f"{stem}.{ending}" for ending in FORMATS for stem in stems]
    if found := next((path for name in names if (path := given / name).is_file()), None):
        return found
    there = sorted(path.name for path in given.glob("*") if path.suffix[1:] in FORMATS)
    hint = "local_path in dataset_args is the folder of the files, or a file"
    if there:
        hint = f"found there: {join_names(there, 10)}; subset_list names the files without their ending"
    looked = ", ".join(names)
    raise DataError(
        f"{data.name}: no file for the subset {subset!r} in {given} (looked for {looked})", hint=hint
    )


class _Reading:
    """One pass over the files of a data set, and what was noticed on the way."""

    def __init__(self, data: GeneralData, rules: Mapping[str, Any]) -> None:
        self._data = data
        self._rules = {RULES: dict(rules)} if rules else {}
        self._template = data.template or read_wording()["choice"]
        self._noticed: dict[str, list[str]] = {}
        self._where = ""
        self.details: set[str] = set()  # of the images in messages

    def read(self, subset: str) -> Iterator[Sample]:
        """The samples of a subset."""
        path = find_subset(self._data, subset)
        reader = open_reader(path, path.suffix[1:], "utf-8", SourceOptions())
        cells = ImageCells(str(path), partial(_find_image, (Path.cwd(), path.parent.absolute())))
        rows = list(reader.rows(_IMAGE_COLUMNS))
        if not rows:
            raise DataError(f"{path.name}: no rows", hint=f"{self._data.name} needs at least one")
        if self._data.shuffle_seed is not None:
            random.Random(self._data.shuffle_seed).shuffle(rows)  # noqa: S311 - the original's order
        limit = self._data.limit
        rows = rows[: int(len(rows) * limit) if isinstance(limit, float) else limit]
        begin = "" if len(self._data.subsets) == 1 else f"{subset}/"
        for number, row in enumerate(rows):
            self._where = name_row(path, row.number, row.line)
            try:
                sample = self._read_row(row, cells)
            except ValueError as err:
                raise DataError(f"{self._where}: {err}", hint="see: eyechart docs evalscope") from err
            meta = {"subset": subset, **sample.meta, **self._rules}
            yield replace(sample, id=f"{begin}{number}", row=row.number, meta=meta)

    def _read_row(self, row: Row, cells: ImageCells) -> Sample:
        is_choice = self._data.name == "general_vmcq"
        if (name := "question" if is_choice else "messages") not in row.values:
            raise ValueError(f"no column {name!r} (found: {', '.join(row.values)})")
        taking = _Taking(row, cells)
        choices: dict[str, str] = {}
        if is_choice:
            options = _read_options(row.values.get("options"))
            choices = {_label(number): text for number, text in enumerate(options)}
            taking.find()
            text = self._template.format(
                question=row.values["question"],
                letters=",".join(choices),
                choices="\n".join(f"{label}) {text}" for label, text in choices.items()),
            )
            turns: list[Turn] = [("user", taking.place(text))]
        else:
            turns = _read_messages(row, taking)
        if self._data.system_prompt and all(role != "system" for role, _ in turns):
            turns.insert(0, ("system", self._data.system_prompt))
        if taking.unfilled:
            self._notice("a placeholder without an image is left out of the text", taking.unfilled[0])
        self.details |= taking.details
        if not taking.images and any(row.values.get(name) for name in _IMAGE_COLUMNS):
            self._notice(
                "the images of a row are not sent, because its text has no placeholder such as <image 1>"
            )
        answer = row.values.get("answer")
        answers = answer if isinstance(answer, list) else [] if answer is None else [answer]
        golds = tuple(dict.fromkeys(text for one in answers if (text := str(one).strip())))
        if is_choice and golds and golds[0].upper() not in choices:
            self._notice("an answer that is none of the labels cannot be right", repr(golds[0]))
        last = next((content for role, content in reversed(turns) if role == "user"), "")
        shown = last if isinstance(last, str) else "\n".join(one for one in last if isinstance(one, str))
        return Sample(
            id="",
            question=str(row.values["question"]) if is_choice else shown,
            images=tuple(taking.images),
            golds=golds,
            choices=choices,
            meta={TURNS: [list(turn) for turn in turns], PLACES: taking.places},
        )

    def _notice(self, what: str, example: str = "") -> None:
        self._noticed.setdefault(what, []).append(f"{self._where}: {example}" if example else self._where)

    def list_remarks(self) -> Iterator[str]:
        """What was noticed, one line each."""
        for what, places in self._noticed.items():
            n = "1 row" if len(places) == 1 else f"{len(places)} rows"
            yield f"{what}: {n} (e.g. {places[0]})"


def _find_image(roots: Sequence[Path], place: str) -> ImageRef:
    """The image at a path, from the current folder as in EvalScope, or from the folder of the file."""
    found = [str(root / place) for root in roots]
    return ImageRef(kind="file", location=next(filter(os.path.exists, found), found[0]))


_Image: TypeAlias = tuple[ImageRef, str]  # and what the file calls it; empty for an image inside the file


class _Taking:
    """The images of a row, taken in the order in which they are sent."""

    def __init__(self, row: Row, cells: ImageCells) -> None:
        self._row, self._cells = row, cells
        self._found: dict[int, _Image] = {}
        self.images: list[ImageRef] = []
        self.places: list[str] = []  # the same, as the file names them
        self.details: set[str] = set()  # that messages ask for
        self.unfilled: list[str] = []

    def find(self, wanted: Collection[int] | None = None) -> None:
        """Find the images of the numbered columns, else of the list; if given, only those `wanted`."""
        values = self._row.values
        numbered = {n: values[name] for n, name in enumerate(_NUMBERED, 1) if values.get(name)}
        listed = values.get("images") or ()
        if isinstance(listed, Blob):
            listed = json.loads(listed.data)
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise ValueError("images is not a list")
        for by_number in (numbered, {n: one for n, one in enumerate(listed, 1) if one}):
            if chosen := {n: one for n, one in by_number.items() if wanted is None or n in wanted}:
                self._found = {n: self._read(one, f"image {n}") for n, one in chosen.items()}
                return

    def place(self, text: str) -> list[str | int]:
        """The text with numbers of taken images for its placeholders. Blank texts between are dropped."""
        parts: list[str | int] = []
        begin = 0
        for mark in _PLACEHOLDER.finditer(text):
            parts += [before] if (before := text[begin : mark.start()]).strip() else []
            begin = mark.end()
            if mark[1] != "image":
                raise ValueError(f"{mark[0]}: only images can be sent, no {mark[1]}")
            if int(mark[2]) in self._found:
                parts.append(self._take(self._found[int(mark[2])]))
            else:
                self.unfilled.append(mark[0])
        return [*parts, text[begin:]] if text[begin:].strip() else parts

    def take_url(self, given: Any) -> int:
        """The image of a message: its `image_url`."""
        url = given.get("url") if isinstance(given, dict) else given
        self.details.add(str(given.get("detail", "auto")) if isinstance(given, dict) else "auto")
        if not isinstance(url, str) or not url.strip():
            raise ValueError("an image_url has no url")
        return self._take(self._read(url, "image_url"))

    def _take(self, image: _Image) -> int:
        self.images.append(image[0])
        self.places.append(image[1])
        return len(self.images) - 1

    def _read(self, value: Any, what: str) -> _Image:
        found = self._cells.read(value, self._row.number, only_paths=True)
        if len(found) != 1 or not isinstance(found[0], ImageRef):
            raise ValueError(f"{what} is {len(found)} images, not one")
        text = value.data.decode() if isinstance(value, Blob) else value
        return found[0], text if isinstance(text, str) and found[0].kind in ("file", "url") else ""


def _read_messages(row: Row, taking: _Taking) -> list[Turn]:
    """The turns of a row of `general_vqa`."""
    messages = row.values["messages"]
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError) as err:
            raise ValueError(f"messages is not JSON ({err})") from err
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise ValueError("messages is not a list of objects with role and content")
    said = (one.get("content") for one in messages if one.get("role") == "user")
    marks = (_PLACEHOLDER.finditer(text) for text in said if isinstance(text, str))
    taking.find(wanted={int(mark[2]) for each in marks for mark in each})
    return [_read_message(one, taking) for one in messages]


def _read_message(message: Mapping[str, Any], taking: _Taking) -> Turn:
    """The turn of a message in OpenAI's form."""
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        raise ValueError(f"a message has the role {message.get('role')!r}; known: {', '.join(_ROLES)}")
    content = message.get("content")
    if isinstance(content, str):
        placed = taking.place(content) if role == "user" and _PLACEHOLDER.search(content) else []
        return role, placed or content
    if not isinstance(content, list):
        raise ValueError(
            f"the content of a message is {type(content).__name__}, not a text or a list of parts"
        )
    parts: list[str | int] = []
    for part in content:
        named = part if isinstance(part, dict) else {}
        kind = named.get("type", next(iter(named)) if len(named) == 1 else None)
        if kind == "text":
            parts.append(str(part.get("text", "")))
        elif kind == "image_url":
            parts.append(taking.take_url(part.get("image_url")))
        else:
            raise ValueError(f"a part of type {kind!r} cannot be sent; possible: text, image_url")
    return role, parts if role == "user" else [part for part in parts if isinstance(part, str)]


def _read_options(given: Any) -> list[str]:
    """The options: a list, or such a list as JSON or Python text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                given = ast.literal_eval(given)
    if not isinstance(given, list | tuple) or not given:
        raise ValueError(f"options is not a list (found {str(given)[:60]!r})")
    return [str(one) for one in given]


def _label(number: int) -> str:
    """The label of an option: A to Z, then 1, 2, ...

    >>> _label(0), _label(25), _label(26)
    ('A', 'Z', '1')
    """
    return chr(ord("A") + number) if number < 26 else str(number - 25)
