"""Everything that can be said about a run besides its source and its model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from eyechart.errors import UsageError
from eyechart.types import ModelSettings

# The options that decide how a reply is scored, and nothing else.
VERDICT_OPTIONS = (
    "scorer", "also_scorers", "judge", "judge_base_url", "judge_endpoint_name", "judge_api_key",
    "judge_api_key_env", "judge_params", "judge_prompts",
)  # fmt: skip
# The options that decide which samples a source has, and what is in them.
LOADING_OPTIONS = frozenset({
    "read_as", "settings", "format", "fields", "encoding", "cells", "image_root", "allow_urls", "limit",
    "ids", "where", "circular",
})  # fmt: skip

_AT_MOST = {
    "concurrency": 65_535,  # more ports than that no machine has; each place takes memory
    "trials": 100_000,
    "jpeg_quality": 100,
}
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text",
          "array": "a list", "object": "names with values"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that can be said about a run besides its source and its model.

    The command line, a configuration file and `run()` all speak these names.
    """

    # the model
    base_url: str | tuple[str, ...] | None = None  # several: the requests are spread over them
    endpoint_name: str | None = None  # what is asked there is known by this name, not by the address
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str | None = None  # the environment variable that holds the key
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    params: dict[str, Any] = field(default_factory=dict)  # further parameters of the model
    # the benchmark
    read_as: str | None = None  # the benchmark whose file the source is
    settings: dict[str, Any] = field(default_factory=dict)  # the benchmark's own options
    parity: bool = False  # ask and score as the benchmark's authors do
    # the data
    format: Literal["tsv", "csv", "jsonl", "json", "parquet"] | None = None
    fields: dict[str, str | tuple[str, ...]] = field(default_factory=dict)
    encoding: str | None = None
    cells: Literal["text", "pandas"] | None = None  # text, unless the benchmark has another habit
    image_root: str | None = None
    allow_urls: bool = True
    allow_private_urls: bool = False
    limit: int | None = None
    ids: tuple[str, ...] = ()
    where: dict[str, str] = field(default_factory=dict)
    # the question
    input: Literal["image", "any", "none"] = "image"  # any: rows without an image are asked as text
    system: str | None = None
    prompt_template: str | None = None  # a file of that name, or the template itself
    max_pixels: int | None = None
    max_side: int | None = None  # of a picture, in pixels
    jpeg_quality: int | None = None  # encode every picture again, as JPEG of this quality
    pass_urls: bool = False  # hand addresses of pictures to the model, which fetches them itself
    circular: bool = False  # ask every rotation of the options
    trials: int = 1
    separate_trials: bool = False  # one request a trial, even where the endpoint takes several
    # the verdict
    scorer: str | None = None
    also_scorers: tuple[str, ...] = ()  # further verdicts, shown beside
    judge: str | None = None
    judge_base_url: str | tuple[str, ...] | None = None
    judge_endpoint_name: str | None = None
    judge_api_key: str | None = field(default=None, repr=False)
    judge_api_key_env: str | None = None
    judge_params: dict[str, Any] = field(default_factory=dict)
    judge_prompts: str | None = None  # a file with the judge's wording
    # the engine
    concurrency: int = 64  # at most; fewer where the endpoint asks for mercy
    adaptive: bool = True
    rpm: float | None = None  # requests a minute, at most
    tpm: float | None = None  # tokens a minute, at most
    timeout_s: float = 600.0
    retries: int = 5
    give_up_after: int = 8  # failures in a row, without an answer between them
    cache: bool = True  # the replies that all runs share, wherever their folders are
    # the bill
    prices: str | None = None  # a file of prices, or input=2.5,output=10 in USD a million tokens
    max_cost: float | None = None  # in USD, the judge and earlier starts included
    max_total_tokens: int | None = None
    # the run
    out: str = "runs"
    fresh: bool = False
    progress: bool = True

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Check names and types of what was given; text is turned into numbers where one is meant."""
        import msgspec

        from eyechart.model.specs import refuse_unknown

        refuse_unknown(set(given), set(cls.__dataclass_fields__), who="a run")
        plain = {name: value for name, value in given.items() if value is not None}
        for name in ("out", "image_root", "prompt_template", "judge_prompts", "prices"):
            if isinstance(plain.get(name), Path):
                plain[name] = str(plain[name])
        if "judge" in plain:
            from eyechart.run.models import judge_options

            plain = judge_options(plain)
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
        at_least: dict[str, float] = {
            "limit": 1,
            "trials": 1,
            "concurrency": 1,
            "retries": 0,
            "give_up_after": 1,
            "max_total_tokens": 1,
            "max_pixels": 1,
            "max_side": 1,
            "jpeg_quality": 1,
        }
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}, but must be at least {least:g}")
        for name, most in _AT_MOST.items():
            value = getattr(self, name)
            if value is not None and value > most:
                raise UsageError(f"{name} is {value:,}, but must be at most {most:,}")
        for name in ("timeout_s", "rpm", "tpm", "max_cost"):
            value = getattr(self, name)
            if value is not None and not value > 0:  # which is so of nan as well
                raise UsageError(f"{name} is {value:g}, but must be more than 0")
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

    def model_settings(self) -> ModelSettings:
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

    def judge_settings(self) -> ModelSettings:
        """What the maker of the judge is handed."""
        return ModelSettings(
            base_url=self.judge_base_url,
            endpoint_name=self.judge_endpoint_name,
            api_key=self.judge_api_key or _key_in("judge_api_key_env", self.judge_api_key_env),
            parameters=self.judge_params,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
        )

    def reading(self) -> dict[str, Any]:
        """What was said about how a source is read."""
        usual = Options()
        names = ("read_as", "settings", "format", "fields", "encoding", "cells", "image_root")
        return {name: value for name in names if (value := getattr(self, name)) != getattr(usual, name)}

    def judging(self) -> dict[str, Any]:
        """What was said about a judge."""
        names = VERDICT_OPTIONS[2:]
        return {name: value for name in names if (value := getattr(self, name))}

    def asking(self) -> dict[str, Any]:
        """What changes the questions themselves, beyond the benchmark's own settings."""
        names = ("input", "system", "max_pixels")
        more = ("prompt_template", "max_side", "jpeg_quality", "pass_urls", "circular")
        said = {name: getattr(self, name) for name in more if getattr(self, name)}
        return {name: getattr(self, name) for name in names} | said

    def under(self, official: Mapping[str, Any]) -> Options:
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

    def selection(self) -> dict[str, Any]:
        """Which samples are meant, if not all."""
        chosen = {"limit": self.limit, "ids": list(self.ids), "where": dict(self.where)}
        return {name: value for name, value in chosen.items() if value}


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
