"""Everything that can be said about a run besides its source and its model."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import UsageError
from eyechart.option import (
    check_limits,
    list_option_names,
    list_options,
    option,
    read_columns,
    read_ids,
    read_pairs,
)
from eyechart.types import ModelSettings

# The headings under which `--help` shows the options.
MODEL = "the model"
BENCHMARK = "the benchmark"
DATA = "the data"
SELECTION = "which questions, and how often"
QUESTION = "the question"
PICTURES = "the pictures"
VERDICT = "the verdict"
PACE = "the pace"
BILL = "the bill"
RUN = "the run"
GROUPS = (MODEL, BENCHMARK, DATA, SELECTION, QUESTION, PICTURES, VERDICT, PACE, BILL, RUN)
# The options that decide which samples a source has, and what is in them.
LOADING_OPTIONS = frozenset({
    "read_as", "settings", "format", "fields", "encoding", "cells", "image_root", "allow_urls", "limit",
    "ids", "where", "circular",
})  # fmt: skip

_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text",
          "array": "a list", "object": "names with values"}  # fmt: skip


def read_parameters(given: Sequence[str], flag: str = "--param") -> dict[str, Any]:
    """Turn ``NAME=VALUE`` texts into parameters; values are JSON where they can be, text otherwise.

    >>> read_parameters(["top_p=0.9", "stop=###", "extra_body.skip=true"])
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    """
    from eyechart.model.specs import parse_parameters

    return parse_parameters(read_pairs(given, flag), who=flag)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that can be said about a run besides its source and its model.

    The command line, a configuration file and `run()` all speak these names. An option is added by one entry
    here (see `eyechart.option`), in the place where the help shows it.
    """

    base_url: str | tuple[str, ...] | None = option(
        None,
        group=MODEL,
        metavar="URL",
        help="OpenAI-compatible endpoint, with or without /chat/completions; repeatable: the requests of one "
        "model are spread over several, several models and as many addresses are pairs in order "
        "(default: $OPENAI_BASE_URL, $OPENAI_API_BASE, or OpenAI's own)",
    )
    endpoint_name: str | None = option(
        None,
        group=MODEL,
        metavar="NAME",
        help="stands in for the address in the run's identity: the same model at another port or node then "
        "continues its runs (default: the address)",
    )
    api_key: str | None = option(
        None,
        group=MODEL,
        metavar="KEY",
        help="default: $OPENAI_API_KEY; never written anywhere",
        is_secret=True,
    )
    api_key_env: str | None = option(
        None, group=MODEL, metavar="NAME", help="the environment variable that holds the key"
    )
    temperature: float | None = option(
        None, group=MODEL, metavar="T", help="default: as the endpoint decides"
    )
    max_tokens: int | None = option(None, group=MODEL, metavar="N", help="default: as the endpoint decides")
    seed: int | None = option(
        None, group=MODEL, metavar="N", help="handed to the model; baselines guess by it"
    )
    params: dict[str, Any] = option(
        {},
        "--param",
        group=MODEL,
        metavar="NAME=VALUE",
        parse=read_parameters,
        help="any further parameter, e.g. top_p=0.9; extra_body.NAME=VALUE for what only your server knows",
    )
    timeout_s: float = option(
        600.0, "--timeout", group=MODEL, metavar="S", above=0, help="for one try (default: 600)"
    )

    read_as: str | None = option(
        None,
        "--as",
        group=BENCHMARK,
        metavar="NAME",
        help="the benchmark whose file SOURCE is, e.g. infochartqa; plain: a file like any other "
        "(default: by a published name, else plain)",
    )
    settings: dict[str, Any] = option(
        {},
        "--set",
        group=BENCHMARK,
        metavar="NAME=VALUE",
        parse=read_pairs,
        help="an option of the benchmark's own: see eyechart data show NAME",
    )
    parity: bool = option(
        False,
        group=BENCHMARK,
        help="ask and score exactly as the benchmark's authors do, down to the encoding of pictures",
    )

    format: Literal["tsv", "csv", "jsonl", "json", "parquet"] | None = option(
        None, group=DATA, help="default: detected"
    )
    fields: dict[str, str | tuple[str, ...]] = option(
        {},
        "--field",
        group=DATA,
        metavar="FIELD=COLUMN",
        parse=read_columns,
        help="which column holds a field, e.g. question=ask; image=left,right: two images in each row",
    )
    encoding: str | None = option(None, group=DATA, metavar="NAME", help="e.g. gbk (default: utf-8)")
    cells: Literal["text", "pandas"] | None = option(  # text, unless the benchmark says otherwise
        None,
        group=DATA,
        help="text: cells as they stand in the file (default); pandas: as pandas would read them, where an "
        'official number depends on it ("None" is missing, "007" is 7)',
    )
    image_root: str | None = option(
        None,
        group=DATA,
        metavar="DIR",
        is_path=True,
        help="where relative image paths start, besides the file",
    )
    allow_urls: bool = option(
        True,
        "--no-urls",
        group=DATA,
        help="do not fetch pictures from web addresses (default: fetched once, then kept)",
    )
    allow_private_urls: bool = option(
        False, group=DATA, help="let image URLs reach private addresses (default: refused)"
    )

    limit: int | None = option(None, group=SELECTION, metavar="N", at_least=1, help="the first N samples")
    ids: tuple[str, ...] = option(
        (), group=SELECTION, metavar="ID,…", parse=read_ids, help="these samples, or @file"
    )
    where: dict[str, str] = option(
        {},
        group=SELECTION,
        metavar="FIELD=VALUE",
        parse=read_pairs,
        help="e.g. category=map (or =map,chart)",
    )
    trials: int = option(
        1,
        "--trials",
        "--epochs",
        "--repeats",
        group=SELECTION,
        metavar="K",
        at_least=1,
        at_most=100_000,
        help="ask each K times",
    )
    separate_trials: bool = option(
        False,
        group=SELECTION,
        help="one request a trial (default: one for all trials, where the endpoint gives several answers)",
    )

    input: Literal["image", "any", "none"] = option(
        "image",
        group=QUESTION,
        help="image (default): a row without an image fails where others have one; any: it is asked as text; "
        "none: all rows are asked as text, without images",
    )
    system: str | None = option(
        None, group=QUESTION, metavar="TEXT", help="a system message before the question"
    )
    prompt_template: str | None = option(
        None,
        group=QUESTION,
        metavar="FILE|TEXT",
        is_path=True,
        help="your own prompt: Jinja over question, options, hint, category, ... (see docs/prompts.md)",
    )
    circular: bool = option(
        False,
        group=QUESTION,
        help="CircularEval: ask every rotation of the options; a question counts if all are right",
    )

    max_pixels: int | None = option(
        None, group=PICTURES, metavar="N", at_least=1, help="shrink larger pictures (default: as they are)"
    )
    max_side: int | None = option(
        None, group=PICTURES, metavar="N", at_least=1, help="the same by the longer side, in pixels"
    )
    jpeg_quality: int | None = option(
        None,
        group=PICTURES,
        metavar="Q",
        at_least=1,
        at_most=100,
        help="encode every picture again, as JPEG of this quality (default: the original bytes)",
    )
    pass_urls: bool = option(
        False, group=PICTURES, help="hand addresses of pictures to the model, which fetches them itself"
    )

    scorer: str | None = option(None, group=VERDICT, metavar="NAME", help="see: eyechart score --list")
    also_scorers: tuple[str, ...] = option(
        (),
        "--also-scorer",
        group=VERDICT,
        metavar="NAME",
        help="a further scorer, whose score is shown beside; repeatable",
    )
    judge: str | None = option(
        None, group=VERDICT, metavar="MODEL", help="a model that reads what rules cannot"
    )
    judge_base_url: str | tuple[str, ...] | None = option(
        None,
        group=VERDICT,
        metavar="URL",
        help="where the judge is served; repeatable (default: $OPENAI_BASE_URL, or OpenAI's own)",
    )
    judge_endpoint_name: str | None = option(
        None, group=VERDICT, metavar="NAME", help="as --endpoint-name, of the judge"
    )
    judge_api_key: str | None = option(
        None,
        group=VERDICT,
        metavar="KEY",
        help="default: $OPENAI_API_KEY; never written anywhere",
        is_secret=True,
    )
    judge_api_key_env: str | None = option(
        None, group=VERDICT, metavar="NAME", help="the environment variable that holds it"
    )
    judge_params: dict[str, Any] = option(
        {},
        "--judge-param",
        group=VERDICT,
        metavar="NAME=VALUE",
        parse=read_parameters,
        help="a parameter of the judge, e.g. temperature=0",
    )
    judge_prompts: str | None = option(
        None,
        group=VERDICT,
        metavar="FILE",
        is_path=True,
        help="your own wording for the judge (see docs/scoring.md)",
    )

    concurrency: int = option(
        64,
        "--concurrency",
        "--max-connections",
        "--api-nproc",
        group=PACE,
        metavar="N",
        at_least=1,
        at_most=65_535,  # more ports than that no machine has; each place takes memory
        help="requests in flight at once, at most: fewer while the endpoint is overloaded (default: 64)",
    )
    adaptive: bool = option(
        True, "--no-adapt", group=PACE, help="keep to --concurrency whatever the endpoint says"
    )
    rpm: float | None = option(None, group=PACE, metavar="N", above=0, help="requests a minute, at most")
    tpm: float | None = option(None, group=PACE, metavar="N", above=0, help="tokens a minute, at most")
    retries: int = option(
        5, group=PACE, metavar="N", at_least=0, help="further tries of a failed request (default: 5)"
    )
    give_up_after: int = option(
        8,
        group=PACE,
        metavar="N",
        at_least=1,
        help="stop after N failures in a row, without an answer between them (default: 8)",
    )

    max_cost: float | None = option(
        None, group=BILL, metavar="USD", above=0, help="stop before more is spent, the judge included"
    )
    max_total_tokens: int | None = option(
        None, group=BILL, metavar="N", at_least=1, help="stop before more are used, the judge's included"
    )
    prices: str | None = option(
        None,
        group=BILL,
        metavar="FILE|TEXT",
        is_path=True,
        help="your own prices: a file (see docs/cost.md), or input=2.5,output=10 in USD a million tokens",
    )
    cache: bool = option(
        True,
        "--no-cache",
        group=BILL,
        help="do not use the cache of replies that all runs share (--fresh asks everything anew)",
    )

    out: str = option(
        "runs",
        "--out",
        "--work-dir",
        "--log-dir",
        group=RUN,
        metavar="DIR",
        is_path=True,
        help="where run folders are kept (default: runs)",
    )
    fresh: bool = option(False, group=RUN, help="start over instead of resuming")
    progress: bool = option(True, "-q", "--quiet", group=RUN, help="no progress line")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Check names and types of what was given; text is turned into numbers where one is meant."""
        import msgspec

        from eyechart.model.specs import refuse_unknown

        refuse_unknown(set(given), set(cls.__dataclass_fields__), who="a run")
        plain = {name: value for name, value in given.items() if value is not None}
        for name, value in plain.items():
            if isinstance(value, Path) and list_options(cls)[name].is_path:
                plain[name] = str(value)
        if "judge" in plain:
            from eyechart.run.models import expand_judge_options

            plain = expand_judge_options(plain)
        for name in ("base_url", "judge_base_url"):
            if isinstance(plain.get(name), list | tuple):
                addresses = tuple(dict.fromkeys(_texts(plain[name])))
                plain[name] = addresses[0] if len(addresses) == 1 else addresses or None
        if "also_scorers" in plain:
            plain["also_scorers"] = _texts(plain["also_scorers"])
        if "ids" in plain:
            plain["ids"] = _texts(plain["ids"])
        if isinstance(plain.get("where"), Mapping):
            plain["where"] = {key: ",".join(_texts(value)) for key, value in plain["where"].items()}
        try:
            options = msgspec.convert(plain, cls, strict=False)
        except msgspec.ValidationError as err:
            raise UsageError(_wrong_kind(str(err), plain)) from err
        options.check()
        return options

    def check(self) -> None:
        """Refuse numbers that cannot be meant, and addresses that would carry a password to disk."""
        check_limits(self)
        given = (self.base_url, self.judge_base_url)
        several = [one for each in given for one in (each if isinstance(each, tuple) else (each,))]
        for address in (*several, self.endpoint_name, self.judge_endpoint_name):
            if address and "@" in address.partition("://")[2].partition("/")[0]:
                raise UsageError(
                    "the endpoint's address holds a password",
                    hint="addresses are kept in the run folder: give keys as OPENAI_API_KEY or --api-key",
                )

        if self.allow_private_urls and not self.allow_urls:
            raise UsageError(
                "allow_private_urls has no effect: no address is fetched",
                hint="leave out --no-urls or --allow-private-urls",
            )
        for name in ("max_pixels", "max_side", "jpeg_quality", "pass_urls"):
            if self.input == "none" and getattr(self, name):
                raise UsageError(
                    f"{name} has no effect: input is none, so no image is sent",
                    hint=f"leave out --{name.replace('_', '-')} or --input none",
                )
        for name in ("api_key", "judge_api_key"):
            if getattr(self, name) and getattr(self, f"{name}_env"):
                raise UsageError(f"{name} and {name}_env are both given", hint="leave one of them out")
        for name in ("endpoint_name", "judge_endpoint_name"):
            if getattr(self, name) == "":
                raise UsageError(f"{name} is empty", hint="give it a name, or leave it out")

    def make_model_settings(self) -> ModelSettings:
        """What the maker of the model is handed."""
        common = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        said = {name: value for name, value in common.items() if value is not None}
        return ModelSettings(
            base_url=self.base_url,
            endpoint_name=self.endpoint_name,
            api_key=self.api_key or _key_in("api_key_env", self.api_key_env),
            parameters={**said, **self.params},
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
        )

    def make_judge_settings(self) -> ModelSettings:
        """What the maker of the judge is handed."""
        return ModelSettings(
            base_url=self.judge_base_url,
            endpoint_name=self.judge_endpoint_name,
            api_key=self.judge_api_key or _key_in("judge_api_key_env", self.judge_api_key_env),
            parameters=self.judge_params,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
        )

    def get_reading(self) -> dict[str, Any]:
        """What was said about how a source is read."""
        usual = Options()
        names = ("read_as", "settings", "format", "fields", "encoding", "cells", "image_root")
        return {name: value for name in names if (value := getattr(self, name)) != getattr(usual, name)}

    def get_judging(self) -> dict[str, Any]:
        """What was said about a judge."""
        names = [name for name in VERDICT_OPTIONS if name.startswith("judge")]
        return {name: value for name in names if (value := getattr(self, name))}

    def get_asking(self) -> dict[str, Any]:
        """What changes the questions themselves, beyond the benchmark's own settings."""
        names = ("input", "system", "max_pixels")
        more = ("prompt_template", "max_side", "jpeg_quality", "pass_urls", "circular")
        said = {name: getattr(self, name) for name in more if getattr(self, name)}
        return {name: getattr(self, name) for name in names} | said

    def fill_from(self, official: Mapping[str, Any]) -> Options:
        """These options, and `official` ones wherever nothing was said."""
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
        """Which samples are meant, if not all."""
        chosen = {"limit": self.limit, "ids": list(self.ids), "where": dict(self.where)}
        return {name: value for name, value in chosen.items() if value}


# The options that decide how a reply is scored, and nothing else.
VERDICT_OPTIONS = list_option_names(Options, VERDICT)


def _key_in(option: str, variable: str | None) -> str | None:
    """The key that an environment variable holds."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(
            f"{option} names {variable}, which the environment does not hold",
            hint=f"export {variable}=KEY, or write it into a .env file",
        )
    return key


def _wrong_kind(said: str, given: Mapping[str, Any]) -> str:
    """What the decoder says of a value, in the words of the one who wrote it.

    >>> _wrong_kind("Expected `float | null`, got `str` - at `$.rpm`", {"rpm": "fast"})
    "rpm is 'fast', but must be a number"
    """
    found = re.fullmatch(r"Expected `([a-z |]+)`, got `\w+` - at `\$\.(\w+)`", said)
    if found is None or found[2].endswith("api_key"):  # a key is shown to nobody
        return f"an option of the run is wrong: {said}"
    kinds = [_KINDS[kind] for kind in found[1].split(" | ") if kind in _KINDS]
    value = repr(given.get(found[2]))
    return f"{found[2]} is {value[:60]}{'…' * (len(value) > 60)}, but must be {' or '.join(kinds)}"


def _texts(value: Any) -> list[str]:
    """One value or several, as texts: a configuration writes ids and years as numbers."""
    several = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in several]


# -- Configurations in files: YAML, JSON, and Python with a dict.

SUFFIXES = (".yaml", ".yml", ".json", ".py")
_NAMES = ("config", "task_cfg")  # what the dict that is meant is called, where there are several


def load_file(path: Path) -> Any:
    """What a configuration holds, unchecked."""
    if path.suffix == ".py":
        return _load_python(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        why = getattr(err, "strerror", None) or err
        raise UsageError(f"{path} cannot be read: {why}", hint="is it a text file in UTF-8?") from err
    if path.suffix == ".json":
        return decode_json(text, str(path))
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        hint = "check quotes, brackets and indentation there"
        raise UsageError(f"{path} is not valid YAML: {_place(err)}", hint=hint) from err


def decode_json(text: str, who: str) -> Any:
    """A JSON text, refused by the name of `who` holds it."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise UsageError(f"{who} is not valid JSON: {err}", hint="check quotes, commas and brackets") from err


def _place(err: Exception) -> str:
    """What is wrong and where, without the line itself, which may hold a key."""
    mark = getattr(err, "problem_mark", None)
    said = getattr(err, "problem", None) or " ".join(str(err).split())
    return f"{said} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else said


def _load_python(path: Path) -> Any:
    """What is called `config` or `task_cfg`, a dict or a list of them, or else the only dict.

    The file is run: it is the user's.
    """
    try:
        names = runpy.run_path(str(path))
    except Exception as err:
        raise UsageError(
            f"{path} cannot be run: {type(err).__name__}: {err}", hint=f"try it with: python {path}"
        ) from err
    dicts = {
        name: value for name, value in names.items() if isinstance(value, dict) and not name.startswith("_")
    }
    for name in _NAMES:
        if isinstance(names.get(name), dict | list):
            return names[name]
    if len(dicts) != 1:
        many = f"defines {len(dicts)} dicts" if dicts else "defines no configuration"
        raise UsageError(f"{path} {many}", hint="it needs one dict, called `config`: config = {...}")
    return next(iter(dicts.values()))
