"""The options of a run, each declared once.

`Options` holds everything about a run besides its source and its model. The command line, a configuration
file and `ec.run` use the same names; see `eyechart.option` for how a declaration becomes a flag.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import UsageError
from eyechart.models.specs import parse_parameters, refuse_unknown
from eyechart.option import (
    Affects,
    check_combinations,
    check_limits,
    expand_numbers,
    list_option_names,
    list_options,
    option,
    read_columns,
    read_ids,
    read_limit,
    read_pairs,
    read_points,
)
from eyechart.runs.plugins import load_plugin, name_scorer
from eyechart.types import ModelSettings

# The headings under which `--help` shows the options.
MODEL = "model"
BENCHMARK = "benchmark"
DATA = "data"
QUESTIONS = "questions and trials"
PROMPT = "prompt"
IMAGES = "images"
LOOK = "closer looks"
SCORING = "scoring"
REQUESTS = "requests"
COST = "cost and cache"
GATE = "gates"
RUN = "run"
GROUPS = (MODEL, BENCHMARK, DATA, QUESTIONS, PROMPT, IMAGES, LOOK, SCORING, REQUESTS, COST, GATE, RUN)
SAMPLING = ("temperature", "max_tokens", "seed")  # parameters of a model that are options of their own
NO_IMAGES = ("input=none", "input=caption", "input=ocr")  # nothing is sent that could be resized
SET_BY_CONDITIONS = ("input", "circular", "reword")  # options that the conditions of an audit set

_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text",
          "array": "a list", "object": "names with values"}  # fmt: skip


def read_parameters(given: Sequence[str], flag: str = "--param") -> dict[str, Any]:
    """Turn ``NAME=VALUE`` texts into parameters; values are JSON where they can be, text otherwise.

    >>> read_parameters(["top_p=0.9", "stop=###", "extra_body.skip=true"])
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    """
    return parse_parameters(read_pairs(given, flag), who=flag)


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the model may look closer: the argument `look` of ``ec.run``.

    >>> Look(protocol="zoom", max_looks=6, params={"scale": 0.5}).list_options()["look_params"]
    {'scale': 0.5}
    """

    protocol: Literal["auto", "search", "zoom", "tools"] = "auto"
    max_looks: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)  # as --look-param: scale, unit, strict, ...
    prompts: str | None = None
    searcher: str | None = None
    searcher_base_url: str | tuple[str, ...] | None = None
    searcher_endpoint_name: str | None = None
    searcher_api_key: str | None = field(default=None, repr=False)
    searcher_api_key_env: str | None = None
    searcher_params: Mapping[str, Any] = field(default_factory=dict)

    def list_options(self) -> dict[str, Any]:
        """The same as options of a run."""
        names = {"protocol": "look", "params": "look_params", "prompts": "look_prompts"}
        return {names.get(one.name, one.name): getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything about a run besides its source and its model.

    To add an option, add one entry here, in the order in which the help shows it, and say what it affects.
    """

    # fmt: off
    base_url: str | tuple[str, ...] | None = option(
        None, group=MODEL, affects="request", identified_by="endpoint", is_common=True, metavar="URL",
        help="OpenAI-compatible endpoint, with or without /chat/completions; repeatable: one model's "
        "requests are spread over all of them; several models and as many URLs are paired in order "
        "(default: $OPENAI_BASE_URL, $OPENAI_API_BASE, or OpenAI's own; others: eyechart docs models)",
    )
    endpoint_name: str | None = option(
        None, group=MODEL, affects="request", identified_by="endpoint", metavar="NAME",
        help="identifies the endpoint in place of its URL: the same model at another port or node then "
        "resumes its runs (default: the URL)",
    )
    api_key: str | None = option(
        None, group=MODEL, affects="pace", excludes=("api_key_env",), metavar="KEY", is_secret=True,
        help="the key; never written to disk (default: the provider's variable, e.g. $OPENAI_API_KEY)",
    )
    api_key_env: str | None = option(
        None, group=MODEL, affects="pace", is_common=True, metavar="NAME",
        help="the environment variable with the key",
    )
    temperature: float | None = option(
        None, group=MODEL, affects="request", identified_by="model", is_common=True, metavar="T",
        help="the sampling temperature (default: the endpoint's)",
    )
    max_tokens: int | None = option(
        None, group=MODEL, affects="request", identified_by="model", is_common=True, metavar="N",
        help="the maximum length of a reply (default: the endpoint's)",
    )
    seed: int | None = option(
        None, group=MODEL, affects="request", identified_by="model", metavar="N",
        help="passed to the model; seeds the baselines",
    )
    score_options: Literal["letter", "text"] | None = option(
        None, group=MODEL, affects="request", identified_by="model",
        help="answer with the option whose letter or text is most likely, instead of generating (hf/ models)",
    )
    params: dict[str, Any] = option(
        {}, "--param", "--model-arg", group=MODEL, affects="request", identified_by="model",
        metavar="NAME=VALUE", parse=read_parameters,
        help="any other parameter, e.g. top_p=0.9; extra_body.NAME=VALUE for parameters of your server; "
        "arguments of a Python class",
    )
    timeout_s: float = option(
        600.0, "--timeout", group=MODEL, affects="pace", metavar="S", above=0,
        help="seconds per attempt; with --stream, seconds without a new part of the reply (default: 600)",
    )
    stream: bool = option(
        False, group=MODEL, affects="pace", excludes=("batch",),
        help="replies arrive in parts: time to the first token and tokens per second are measured (default: "
        "only at vendors' endpoints with --max-tokens above 21,333, since these end long silent requests)",
    )

    read_as: str | None = option(
        None, "--as", group=BENCHMARK, affects="data", identified_by="benchmark", metavar="NAME",
        help="read SOURCE as a file of this benchmark, e.g. infochartqa; plain: as your own file "
        "(default: the benchmark that published a file of this name, else plain)",
    )
    settings: dict[str, Any] = option(
        {}, "--set", group=BENCHMARK, affects="data", identified_by="benchmark", metavar="NAME=VALUE",
        parse=read_pairs, help="a setting of the benchmark: see eyechart data show NAME",
    )
    parity: bool = option(
        False, group=BENCHMARK, affects="request", identified_by="options",
        help="ask and score exactly as the benchmark's authors do, including how images are encoded",
    )

    plugins: tuple[str, ...] = option(
        (), "--plugin", group=BENCHMARK, affects="data", identified_by="benchmark", metavar="FILE.py",
        is_path=True,
        help="run this file first, so that its benchmarks, scorers, models and exporters can be used by name",
    )

    format: Literal["tsv", "csv", "xlsx", "jsonl", "json", "parquet"] | None = option(
        None, group=DATA, affects="data", help="the format of the file (default: detected)",
    )
    fields: dict[str, str | tuple[str, ...]] = option(
        {}, "--field", group=DATA, affects="data", is_common=True, metavar="FIELD=COLUMN", parse=read_columns,
        help="the column of a field, e.g. question=ask; image=left,right for two images per row",
    )
    encoding: str | None = option(
        None, group=DATA, affects="data", identified_by="requests", metavar="NAME",
        help="of the file, e.g. gbk (default: utf-8)",
    )
    cells: Literal["text", "pandas"] | None = option(  # text, unless the benchmark says otherwise
        None, group=DATA, affects="data",
        help="text: cells as in the file (default); pandas: as pandas reads them, for official scores "
        'that depend on it ("None" is missing, "007" is 7)',
    )
    name: str | None = option(
        None, group=DATA, affects="data", identified_by="benchmark", metavar="NAME",
        help="a name for your data in tables and folders (default: the file's)",
    )
    delimiter: str | None = option(
        None, group=DATA, affects="data", metavar="CHAR",
        help="the character between the cells of a CSV, e.g. ';' or tab (default: detected)",
    )
    sheet: str | None = option(
        None, group=DATA, affects="data", metavar="NAME",
        help="the sheet of a workbook (default: the one with questions)",
    )
    decimal: Literal["comma", "point"] | None = option(
        None, group=DATA, affects="data", help="how answers write numbers: 3,5 or 3.5 (default: detected)",
    )
    first_option: int | None = option(
        None, group=DATA, affects="data", metavar="0|1", at_least=0, at_most=1,
        help="the number of the first option, if answers are numbers of options (default: detected)",
    )
    schema: str | None = option(
        None, "--fields", group=DATA, affects="data", metavar="SCHEMA", is_path=True,
        help="answers are objects with the properties of this JSON schema (a file or its text); golds are in "
        "the answer, or in columns with the properties' names (eyechart docs scoring)",
    )
    ask: str | None = option(
        None, group=DATA, affects="data", is_common=True, metavar="TEXT",
        help="one question for every image of a folder, or for every row of a file without questions",
    )
    answers: str | None = option(
        None, group=DATA, affects="data", needs="ask", metavar="FILE|PATTERN|folder", is_path=True,
        help="with --ask and a folder: a table of file names and answers, the part of the file name that is "
        "the answer ('{answer}_*'), or the name of each image's folder",
    )
    image_root: str | None = option(
        None, group=DATA, affects="data", identified_by="requests", metavar="DIR", is_path=True,
        help="another folder for relative image paths (default: the file's own)",
    )
    allow_urls: bool = option(
        True, "--no-urls", group=DATA, affects="data", identified_by="requests",
        help="do not download images from URLs (default: downloaded once, then cached)",
    )
    allow_private_urls: bool = option(
        False, group=DATA, affects="request", identified_by="requests",
        help="allow image URLs on private networks (default: refused)",
    )

    limit: int | None = option(
        None, group=QUESTIONS, affects="data", is_common=True, metavar="N", at_least=1,
        help="the first N samples",
    )
    ids: tuple[str, ...] = option(
        (), group=QUESTIONS, affects="data", metavar="ID,…", parse=read_ids,
        help="only these samples; @FILE reads the ids from a file",
    )
    where: dict[str, str] = option(
        {}, group=QUESTIONS, affects="data", is_common=True, metavar="FIELD=VALUE", parse=read_pairs,
        help="only samples with this value, e.g. category=map or category=map,chart",
    )
    trials: int = option(
        1, "--trials", "--epochs", "--repeats", group=QUESTIONS, affects="score", metavar="K", at_least=1,
        at_most=100_000, help="ask each question K times",
    )
    vote: bool = option(
        False, group=QUESTIONS, affects="score", needs="trials",
        help="with --trials: the answer that most trials give is the one that counts (self-consistency)",
    )
    separate_trials: bool = option(
        False, group=QUESTIONS, affects="pace",
        help="one request per trial (default: one for all trials, if the endpoint returns several replies)",
    )

    recheck: int = option(
        0, group=QUESTIONS, affects="pace", metavar="N", at_least=0,
        excludes=("batch", "shard", "circular", "look", "executor"),
        help="ask N questions, drawn at random, a second time under the same load, past the cache: how much "
        "of a score is noise? (eyechart docs compare#noise)",
    )
    shard: str | None = option(
        None, group=QUESTIONS, affects="pace", metavar="K/N",
        help="only part K of N, for array jobs; eyechart merge joins all parts (eyechart docs scale)",
    )

    input: Literal["image", "any", "none", "caption", "ocr", "blank", "shuffled"] = option(
        "image", group=PROMPT, affects="request",
        help="image (default): a row without an image fails if other rows have one; any: such a row is asked "
        "as text; none: no images are sent; caption, ocr: a text in place of each image; blank: a white "
        "image of the same size; shuffled: an image of another question (eyechart docs audit)",
    )
    captions: str | None = option(
        None, group=PROMPT, affects="request", needs="input=caption", metavar="FILE|COLUMN", is_path=True,
        help="the texts of --input caption: a file with a text per sample or image, or a column of the "
        "source (default: its column caption)",
    )
    ocr_texts: str | None = option(
        None, group=PROMPT, affects="request", needs="input=ocr", metavar="FILE|COLUMN", is_path=True,
        help="the texts of --input ocr, as --captions (default: read from the images, with eyechart[ocr])",
    )
    reword: Literal["please", "task", "end"] | None = option(
        None, group=PROMPT, affects="request",
        help="a neutral sentence around the question that should not change the answer (eyechart docs audit)",
    )
    system: str | None = option(
        None, group=PROMPT, affects="request", metavar="TEXT", help="a system message before the question",
    )
    prompt_template: str | None = option(
        None, group=PROMPT, affects="request", metavar="FILE|TEXT", is_path=True,
        help="your own prompt: Jinja over question, options, hint, category, ... (eyechart docs prompts)",
    )
    shots: int = option(
        0, group=PROMPT, affects="request", metavar="K", at_least=0, at_most=100,
        help="few-shot: K other questions with their answers before each question, drawn with --seed",
    )
    shots_from: str | None = option(
        None, group=PROMPT, affects="request", needs="shots", metavar="SOURCE", is_path=True,
        help="where the examples of --shots come from (default: the questions themselves)",
    )
    circular: bool = option(
        False, group=PROMPT, affects="data",
        help="CircularEval: ask every rotation of the options; a question is correct if all rotations are",
    )

    max_pixels: int | None = option(
        None, group=IMAGES, affects="request", excludes=NO_IMAGES, metavar="N", at_least=1,
        help="shrink larger images (default: no limit)",
    )
    max_side: int | None = option(
        None, group=IMAGES, affects="request", excludes=NO_IMAGES, metavar="N", at_least=1,
        help="shrink images whose longer side has more pixels",
    )
    jpeg_quality: int | None = option(
        None, group=IMAGES, affects="request", excludes=NO_IMAGES, metavar="Q", at_least=1, at_most=100,
        help="re-encode every image as JPEG of this quality (default: the original bytes)",
    )
    pass_urls: bool = option(
        False, group=IMAGES, affects="request", excludes=(*NO_IMAGES, "input=blank"),
        help="pass image URLs to the model, which downloads the images itself",
    )

    look: Literal["auto", "search", "zoom", "tools"] | None = option(
        None, group=LOOK, affects="request", identified_by="look", is_common=True, bare="auto",
        excludes=(*NO_IMAGES, "input=blank"),
        help="let the model ask for regions of its images and get them enlarged: by tool calls (tools), by "
        "calls written as text (zoom), or by descriptions that a second model finds (search, with "
        "--searcher); auto: tools at the endpoints of OpenAI, Anthropic and Google, else zoom "
        "(eyechart docs look)",
    )
    max_looks: int | None = option(
        None, group=LOOK, affects="request", identified_by="look", needs="look",
        metavar="N", at_least=1, at_most=1000,
        help="how often the model may ask (default: 6 in a search, else 10)",
    )
    look_params: dict[str, Any] = option(
        {}, "--look-param", group=LOOK, affects="request", identified_by="look", needs="look",
        metavar="NAME=VALUE", parse=read_pairs,
        help="a setting of the dialogue, e.g. scale=0.5, zoom=3, crop_max_area=800000, unit=pixels, "
        "index=question, strict=true (default: as the authors evaluate)",
    )
    look_prompts: str | None = option(
        None, group=LOOK, affects="request", identified_by="look", needs="look", metavar="FILE", is_path=True,
        help="your own texts for the dialogue",
    )
    searcher: str | None = option(
        None, group=LOOK, affects="request", identified_by="look", needs="look", metavar="MODEL",
        help="the model that finds the regions of --look=search",
    )
    searcher_base_url: str | tuple[str, ...] | None = option(
        None, group=LOOK, affects="request", identified_by="endpoint", needs="searcher", metavar="URL",
        help="endpoint of the searcher; repeatable (default: $OPENAI_BASE_URL, or OpenAI's own)",
    )
    searcher_endpoint_name: str | None = option(
        None, group=LOOK, affects="request", identified_by="endpoint", needs="searcher", metavar="NAME",
        help="as --endpoint-name, for the searcher",
    )
    searcher_api_key: str | None = option(
        None, group=LOOK, affects="pace", needs="searcher", excludes=("searcher_api_key_env",),
        metavar="KEY", is_secret=True,
        help="the searcher's key; never written to disk (default: $OPENAI_API_KEY)",
    )
    searcher_api_key_env: str | None = option(
        None, group=LOOK, affects="pace", needs="searcher", metavar="NAME",
        help="the environment variable with the searcher's key",
    )
    searcher_params: dict[str, Any] = option(
        {}, "--searcher-param", group=LOOK, affects="request", identified_by="look", needs="searcher",
        metavar="NAME=VALUE", parse=read_parameters, help="a parameter of the searcher, e.g. temperature=0",
    )

    scorer: str | None = option(
        None, group=SCORING, affects="score", is_common=True, metavar="NAME",
        help="the scorer, see eyechart score --list; python:file.py:name for your own function",
    )
    also_scorers: tuple[str, ...] = option(
        (), "--also-scorer", group=SCORING, affects="score", metavar="NAME",
        help="an additional scorer, shown beside the score; repeatable",
    )
    thinking: Literal["auto", "keep", "split"] | None = option(
        None, group=SCORING, affects="score",
        help="thoughts in a reply (<think>…</think>): keep scores the text as it came, split the answer "
        "alone (default: auto, keep for official scorers and result files, split for others)",
    )
    corrections: str | None = option(
        None, group=SCORING, affects="score", metavar="FILE", is_path=True,
        help="a CSV of corrected answers (id, old, new, why): the score with them stands beside the "
        "published one (eyechart docs audit)",
    )
    cluster: str | None = option(
        None, group=SCORING, affects="score", metavar="KEY|none",
        help="count samples with the same value in this column as one cluster when computing intervals; "
        "none: all samples are independent (default: the same image, rotations of one question, and what the "
        "benchmark declares)",
    )
    judge: str | tuple[str, ...] | None = option(
        None, group=SCORING, affects="score", is_common=True, metavar="MODEL",
        help="a model that judges replies which rules cannot decide; repeatable: the majority decides",
    )
    judge_base_url: str | tuple[str, ...] | None = option(
        None, group=SCORING, affects="score", needs="judge", identified_by="endpoint", metavar="URL",
        help="endpoint of the judge; repeatable (default: $OPENAI_BASE_URL, or OpenAI's own)",
    )
    judge_endpoint_name: str | None = option(
        None, group=SCORING, affects="score", needs="judge", identified_by="endpoint", metavar="NAME",
        help="as --endpoint-name, for the judge",
    )
    judge_api_key: str | None = option(
        None, group=SCORING, affects="pace", needs="judge", excludes=("judge_api_key_env",),
        metavar="KEY", is_secret=True,
        help="the judge's key; never written to disk (default: $OPENAI_API_KEY)",
    )
    judge_api_key_env: str | None = option(
        None, group=SCORING, affects="pace", needs="judge", metavar="NAME",
        help="the environment variable with the judge's key",
    )
    judge_params: dict[str, Any] = option(
        {}, "--judge-param", group=SCORING, affects="score", needs="judge",
        metavar="NAME=VALUE", parse=read_parameters,
        help="a parameter of the judge, e.g. max_tokens=256 (default: temperature=0, if the model takes it)",
    )
    judge_prompts: str | None = option(
        None, group=SCORING, affects="score", needs="judge", metavar="FILE", is_path=True,
        help="your own prompts for the judge (eyechart docs judges)",
    )
    judge_repeat: int = option(
        0, group=SCORING, affects="score", needs="judge", excludes=("shard",), metavar="N", at_least=0,
        help="ask the judge twice about N of the replies it judged: does it agree with itself? (default: 0)",
    )
    judge_check: int = option(
        0, group=SCORING, affects="score", needs="judge", excludes=("shard",), metavar="N", at_least=0,
        help="ask the judge about N replies that rules decided: do they agree? (default: 0)",
    )

    concurrency: int = option(
        64, "--concurrency", "--max-connections", "--api-nproc", group=REQUESTS, affects="pace",
        is_common=True, metavar="N", at_least=1,
        at_most=65_535,  # the ports of a machine; each slot takes memory
        help="maximum requests in flight; reduced while the endpoint is overloaded (default: 64)",
    )
    adaptive: bool = option(
        True, "--no-adapt", group=REQUESTS, affects="pace",
        help="do not reduce --concurrency when the endpoint is overloaded",
    )
    rpm: float | None = option(
        None, group=REQUESTS, affects="pace", metavar="N", above=0, help="maximum requests per minute",
    )
    tpm: float | None = option(
        None, group=REQUESTS, affects="pace", metavar="N", above=0, help="maximum tokens per minute",
    )
    retries: int = option(
        5, group=REQUESTS, affects="pace", metavar="N", at_least=0,
        help="retries of a failed request (default: 5)",
    )
    give_up_after: int = option(
        8, group=REQUESTS, affects="pace", metavar="N", at_least=1,
        help="stop after N consecutive failures (default: 8)",
    )

    batch: bool = option(
        False, group=COST, affects="request", excludes=("executor",),
        help="use the provider's batch API (OpenAI, Anthropic): half the price, replies within 24 hours; the "
        "same command collects them (eyechart docs cost)",
    )
    max_cost: float | None = option(
        None, group=COST, affects="pace", is_common=True, metavar="USD", above=0,
        help="stop before the cost exceeds this, including the judge",
    )
    max_total_tokens: int | None = option(
        None, group=COST, affects="pace", metavar="N", at_least=1,
        help="stop before more tokens are used, including the judge",
    )
    prices: str | None = option(
        None, group=COST, affects="output", metavar="FILE|TEXT", is_path=True,
        help="your own prices: a file (eyechart docs cost), or input=2.5,output=10 (USD per million tokens)",
    )
    cache: bool = option(
        True, "--no-cache", group=COST, affects="pace",
        help="do not use the response cache shared by all runs (--fresh asks everything again)",
    )

    stop_when: Literal["decided"] | None = option(
        None, group=GATE, affects="pace", excludes=("batch", "shard"),
        help="with --baseline or --at-least: ask in random order and stop when the result is clear; the same "
        "command without it asks the rest (eyechart docs gates)",
    )
    baseline: str | None = option(
        None, group=GATE, affects="pace", excludes=("at_least",), metavar="RUN", is_path=True,
        help="the run that this one is compared with",
    )
    max_drop: float = option(
        0.0, group=GATE, affects="pace", needs="baseline", metavar="P", convert=read_points, at_least=0,
        at_most=1,
        help="how many points worse than --baseline is allowed (default: 0; from 0 to 1 in files and Python)",
    )
    at_least: float | None = option(
        None, group=GATE, affects="pace", metavar="P", convert=read_limit, at_least=0, at_most=1,
        help="the score to reach, in points (from 0 to 1 in files and Python)",
    )

    executor: Literal["local", "ray"] = option(
        "local", group=RUN, affects="pace",
        help="ray: the same run on a Ray cluster, with one model per worker (eyechart docs scale)",
    )
    ray_address: str | None = option(
        None, group=RUN, affects="pace", needs="executor=ray", metavar="ADDR",
        help="the Ray cluster: auto, or HOST:PORT (default: $RAY_ADDRESS, one that runs on this machine, "
        "or a new one for this run)",
    )
    workers: int | None = option(
        None, group=RUN, affects="pace", needs="executor=ray", metavar="N", at_least=1, at_most=10_000,
        help="workers on the cluster (default: one per node, or as many as fit with --gpus-per-worker)",
    )
    gpus_per_worker: float | None = option(
        None, group=RUN, affects="pace", needs="executor=ray", metavar="G", above=0, at_most=64,
        help="GPUs of each worker, for local weights; 0.5: two workers share one (default: none)",
    )
    ship_images: bool = option(
        False, group=RUN, affects="pace", needs="executor=ray",
        help="send images through Ray's object store (default: only if a node cannot read the files)",
    )

    out: str = option(
        "runs", "--out", "--work-dir", "--log-dir", group=RUN, affects="output", is_common=True,
        metavar="DIR", is_path=True, help="folder for run folders (default: runs)",
    )
    by: tuple[str, ...] = option(
        (), "--by", "--group-by", group=RUN, affects="output", metavar="COLUMN[,COLUMN]",
        help="group the tables by a column of the data, or by several crossed; repeatable; none: no groups "
        "(default: the benchmark's own groups)",
    )
    exporters: tuple[str, ...] = option(
        (), "--exporter", group=RUN, affects="output", metavar="NAME",
        help="also write the files of this exporter, into the run folder; python:file.py:name for your own",
    )
    track: tuple[str, ...] = option(
        (), group=RUN, affects="output", metavar="NAME",
        help="report to a tracker: mlflow, wandb, or a callback of a --plugin; repeatable (eyechart docs "
        "publish)",
    )
    fresh: bool = option(
        False, group=RUN, affects="output", is_common=True, help="start over instead of resuming",
    )
    progress: bool = option(True, "-q", "--quiet", group=RUN, affects="output", help="no progress line")
    # fmt: on

    @classmethod
    def of(cls, given: Mapping[str, Any], *, is_whole: bool = True) -> Options:
        """Options from names and values, checked; text is converted to numbers where numbers are expected.

        Unless it `is_whole`, more options may follow, and which go together is not checked yet.
        """
        import msgspec

        refuse_unknown(set(given), set(cls.__dataclass_fields__), who="a run")
        plain = expand_numbers(cls, {name: value for name, value in given.items() if value is not None})
        for name, value in plain.items():
            if isinstance(value, Path) and list_options(cls)[name].is_path:
                plain[name] = str(value)
        if isinstance(plain.get("look"), Mapping):
            plain["look"] = msgspec.convert(plain["look"], Look)
        if isinstance(look := plain.get("look"), Look):
            of_look = {name: value for name, value in look.list_options().items() if value}
            if twice := sorted(of_look.keys() & plain.keys() - {"look"}):
                raise UsageError(f"{twice[0]} is given twice", hint="leave it out: look= has it, too")
            plain |= of_look
        if isinstance(judges := plain.get("judge"), list | tuple) and len(judges) == 1:
            [plain["judge"]] = judges
        elif isinstance(judges, list | tuple) and any(not isinstance(one, str) for one in judges):
            raise UsageError(
                "several judges must be texts", hint="write each as openai/NAME@URL,temperature=0"
            )
        for role in ("searcher", "judge"):
            if role in plain and not isinstance(plain[role], list | tuple):
                from eyechart.runs.models import expand_role_options

                plain = expand_role_options(plain, role)
        for name in ("base_url", "judge_base_url", "searcher_base_url"):
            if isinstance(plain.get(name), list | tuple):
                addresses = tuple(dict.fromkeys(_texts(plain[name])))
                plain[name] = addresses[0] if len(addresses) == 1 else addresses or None
        for name in ("plugins", "ids", "by"):
            if name in plain:
                plain[name] = _texts(plain[name])
        for file in plain.get("plugins", ()):
            load_plugin(file)
        if "also_scorers" in plain:
            several = plain["also_scorers"]
            several = several if isinstance(several, list | tuple) else [several]
            plain["also_scorers"] = [name_scorer(one) for one in several]
        if "scorer" in plain:
            plain["scorer"] = name_scorer(plain["scorer"])
        if isinstance(plain.get("where"), Mapping):
            plain["where"] = {key: ",".join(_texts(value)) for key, value in plain["where"].items()}
        try:
            options = msgspec.convert(plain, cls, strict=False)
        except msgspec.ValidationError as err:
            raise UsageError(_wrong_kind(str(err), plain)) from err
        options.check(is_whole=is_whole)
        return options

    def check(self, *, is_whole: bool = True) -> None:
        """Refuse numbers out of range, options without effect, and URLs with a password in them."""
        given = (self.base_url, self.judge_base_url, self.searcher_base_url)
        several = [one for each in given for one in (each if isinstance(each, tuple) else (each,))]
        for address in (*several, self.endpoint_name, self.judge_endpoint_name, self.searcher_endpoint_name):
            if address and "@" in address.partition("://")[2].partition("/")[0]:
                raise UsageError(
                    "the endpoint's URL holds a password",
                    hint="URLs are written to the run folder: give keys as OPENAI_API_KEY or --api-key",
                )
        check_limits(self)
        if not is_whole:
            return
        check_combinations(self)
        if self.allow_private_urls and not self.allow_urls:
            raise UsageError(
                "allow_private_urls has no effect: no image is downloaded",
                hint="leave out --no-urls or --allow-private-urls",
            )
        for name in ("endpoint_name", "judge_endpoint_name", "searcher_endpoint_name", "cluster"):
            if getattr(self, name) == "":
                raise UsageError(f"{name} is empty", hint="give it a name, or leave it out")
        if self.look is not None:
            self._check_look()
        if self.shard is not None:
            from eyechart.runs.shards import Shard

            Shard.parse(self.shard)
        if self.stop_when and self.baseline is None and self.at_least is None:
            raise UsageError("nothing to decide", hint="add --baseline RUN or --at-least P")

    def _check_look(self) -> None:
        """Refuse what does not go with ``--look``."""
        for name in (*list_option_names(Options, IMAGES), "shots", "batch", "score_options", "ship_images"):
            if getattr(self, name):
                hint = f"leave out --{name.replace('_', '-')}"
                if (why := _NOT_LOOKING.get(name)) is None:
                    why, hint = (
                        "the dialogue sizes its images",
                        f"{hint}; --look-param max_area=N limits images",
                    )
                raise UsageError(f"{name} does not go with look: {why}", hint=hint)

    def make_model_settings(self, role: Literal["", "judge", "searcher"] = "") -> ModelSettings:
        """The settings from which the run's model is made, or that of another role."""
        prefix = role and f"{role}_"
        names = ("base_url", "endpoint_name", "api_key", "api_key_env", "params")
        base_url, endpoint_name, api_key, variable, params = (getattr(self, prefix + one) for one in names)
        settings = ModelSettings(
            base_url=base_url,
            endpoint_name=endpoint_name,
            api_key=api_key or _key_in(f"{prefix}api_key_env", variable),
            parameters=params,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
        )
        if role:
            return settings
        said = {name: value for name in SAMPLING if (value := getattr(self, name)) is not None}
        return replace(
            settings, parameters={**said, **params}, score_options=self.score_options, stream=self.stream
        )

    def list_judges(self) -> list[Options]:
        """These options for each judge: of several, each with what stands behind its name."""
        if not isinstance(self.judge, tuple):
            return [self] if self.judge else []
        from eyechart.runs.models import expand_role_options

        each = []
        for judge in self.judge:
            own = expand_role_options({"judge": judge}, "judge")
            if isinstance(own.get("judge_base_url"), list):
                own["judge_base_url"] = tuple(own["judge_base_url"])
            own["judge_params"] = {**self.judge_params, **own.get("judge_params", {})}
            each.append(replace(self, **own))
            each[-1].check()
        return each

    def list_given(self, *affects: Affects) -> dict[str, Any]:
        """The options that affect one of these and differ from their defaults."""
        return {
            name: value
            for name, one in list_options(type(self)).items()
            if one.affects in affects and (value := getattr(self, name)) != one.default
        }

    def identity(self) -> dict[str, Any]:
        """The options that make this another run: those that affect the data or the requests.

        Left out is what the model, the benchmark or each request is identified by.

        >>> Options(limit=5, input="none", temperature=0, scorer="exact", retries=0).identity()
        {'limit': 5, 'input': 'none'}
        """
        declared = list_options(type(self))
        given = self.list_given("data", "request")
        return {name: value for name, value in given.items() if not declared[name].identified_by}

    def get_reading(self) -> dict[str, Any]:
        """Options on how a file is read that differ from the defaults; other sources do not take them."""
        names = set(list_option_names(Options, BENCHMARK, DATA)) - {"name", "plugins", "allow_urls"}
        return {name: value for name, value in self.list_given("data").items() if name in names}

    def fill_from(self, official: Mapping[str, Any]) -> Options:
        """These options, with the `official` ones wherever an option has its default."""
        usual = Options()
        taken: dict[str, Any] = {}
        for name, value in official.items():
            mine = getattr(self, name)
            if isinstance(value, Mapping):
                taken[name] = {**value, **mine}
            elif mine == getattr(usual, name):
                taken[name] = value
        return replace(self, **taken)

    def get_selection(self) -> dict[str, Any]:
        """Which samples are selected; empty for all."""
        names = list_option_names(Options, QUESTIONS)
        return {name: value for name, value in self.identity().items() if name in names}


_NOT_LOOKING = {
    "batch": "the next request depends on the last reply",
    "shots": "the examples show no dialogue",
    "score_options": "nothing is generated",
    "pass_urls": "crops have no URL",
    "ship_images": "workers cut crops from the originals",
}
# The options that decide how a reply is scored, and nothing else.
SCORING_OPTIONS = list_option_names(Options, SCORING)


def _key_in(option: str, variable: str | None) -> str | None:
    """The key that an environment variable holds."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(
            f"{option}: the environment variable {variable} is not set",
            hint=f"export {variable}=KEY, or add it to a .env file",
        )
    return key


def _wrong_kind(said: str, given: Mapping[str, Any]) -> str:
    """A decoder's message in the terms of the user who gave the value.

    >>> _wrong_kind("Expected `float | null`, got `str` - at `$.rpm`", {"rpm": "fast"})
    "rpm is 'fast', but must be a number"
    >>> _wrong_kind("Invalid enum value 'html' - at `$.thinking`", {"thinking": "html"})
    "thinking is 'html', but must be one of auto, keep, split"
    """
    found = re.fullmatch(r"Expected `([a-z |]+)`, got `\w+` - at `\$\.(\w+)`", said)
    if unknown := re.fullmatch(r"Invalid enum value ('.*') - at `\$\.(\w+)`", said):
        choices = ", ".join(map(str, list_options(Options)[unknown[2]].choices))
        return f"{unknown[2]} is {unknown[1]}, but must be one of {choices}"
    if found is None or found[2].endswith("api_key"):  # never show a key
        return f"an option of the run is not valid: {said}"
    kinds = [_KINDS[kind] for kind in found[1].split(" | ") if kind in _KINDS]
    value = repr(given.get(found[2]))
    return f"{found[2]} is {value[:60]}{'…' * (len(value) > 60)}, but must be {' or '.join(kinds)}"


def _texts(value: Any) -> list[str]:
    """One or several values as texts: configuration files write ids and years as numbers."""
    several = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in several]
