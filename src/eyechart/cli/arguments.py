"""Arguments that several verbs share, and how their texts become values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError

Verbs = Any  # argparse keeps the type of its sub-parsers to itself


def add_verb(
    verbs: Verbs,
    name: str,
    execute: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str = "",
    examples: str = "",
    aliases: Sequence[str] = (),
) -> argparse.ArgumentParser:
    """A sub-command with a description that teaches and examples that run."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=help,
        aliases=list(aliases),
        description=description or help,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(execute=execute)
    return parser


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """How a model is reached and what it is told to do."""
    group = parser.add_argument_group("the model")
    group.add_argument(
        "--base-url",
        metavar="URL",
        help="OpenAI-compatible endpoint, with or without /chat/completions "
        "(default: $OPENAI_BASE_URL, $OPENAI_API_BASE, or OpenAI's own)",
    )
    group.add_argument("--api-key", metavar="KEY", help="default: $OPENAI_API_KEY; never written anywhere")
    group.add_argument("--temperature", type=float, metavar="T", help="default: as the endpoint decides")
    group.add_argument("--max-tokens", type=int, metavar="N", help="default: as the endpoint decides")
    group.add_argument("--seed", type=int, metavar="N", help="handed to the model; baselines guess by it")
    group.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="params",
        help="any further parameter, e.g. top_p=0.9; extra_body.NAME=VALUE for what only your server knows",
    )
    group.add_argument(
        "--timeout", type=float, metavar="S", dest="timeout_s", help="for one try (default: 600)"
    )


def add_benchmark_flags(parser: argparse.ArgumentParser) -> None:
    """Which benchmark a source is, and that benchmark's own options."""
    group = parser.add_argument_group("the benchmark")
    group.add_argument(
        "--as",
        metavar="NAME",
        dest="read_as",
        help="the benchmark whose file SOURCE is, e.g. infochartqa (default: a file of one's own)",
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="an option of the benchmark's own: see eyechart data show NAME",
    )
    group.add_argument(
        "--parity",
        action="store_true",
        default=None,
        help="ask and score exactly as the benchmark's authors do, down to the encoding of pictures",
    )


def add_prompt_flags(parser: argparse.ArgumentParser) -> None:
    """How a question is asked."""
    group = parser.add_argument_group("the question")
    group.add_argument("--input", choices=["image", "none"], help="none: the words alone, without pictures")
    group.add_argument("--system", metavar="TEXT", help="a system message before the question")
    group.add_argument(
        "--prompt-template",
        metavar="FILE|TEXT",
        help="your own prompt: Jinja over question, options, hint, category, ... (see docs/prompts.md)",
    )
    group.add_argument(
        "--circular",
        action="store_true",
        default=None,
        help="CircularEval: ask every rotation of the options; a question counts if all are right",
    )


def add_verdict_flags(parser: argparse.ArgumentParser) -> None:
    """Who scores, and who judges what rules cannot read."""
    group = parser.add_argument_group("the verdict")
    group.add_argument("--scorer", metavar="NAME", help="see: eyechart score --list")
    group.add_argument(
        "--also-scorer",
        action="append",
        default=[],
        metavar="NAME",
        dest="also_scorers",
        help="a further scorer, whose score is shown beside; repeatable",
    )
    group.add_argument("--judge", metavar="MODEL", help="a model that reads what rules cannot")
    group.add_argument(
        "--judge-base-url",
        metavar="URL",
        help="where the judge is served (default: $OPENAI_BASE_URL, or OpenAI's own)",
    )
    group.add_argument(
        "--judge-api-key", metavar="KEY", help="default: $OPENAI_API_KEY; never written anywhere"
    )
    group.add_argument(
        "--judge-param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="judge_params",
        help="a parameter of the judge, e.g. temperature=0",
    )
    group.add_argument(
        "--judge-prompts", metavar="FILE", help="your own wording for the judge (see docs/scoring.md)"
    )


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    """How a file is read."""
    group = parser.add_argument_group("the data")
    group.add_argument(
        "--format", choices=["tsv", "csv", "jsonl", "json", "parquet"], help="default: detected"
    )
    group.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        dest="fields",
        help="which column holds a field, e.g. question=ask",
    )
    group.add_argument("--encoding", metavar="NAME", help="e.g. gbk (default: utf-8)")
    group.add_argument(
        "--cells",
        choices=["text", "pandas"],
        help="text: cells as they stand in the file (default); pandas: as pandas would read them, where an "
        'official number depends on it ("None" is missing, "007" is 7)',
    )
    group.add_argument(
        "--image-root", metavar="DIR", help="where relative image paths start, besides the file"
    )
    group.add_argument(
        "--no-urls",
        action="store_false",
        default=None,
        dest="allow_urls",
        help="do not fetch pictures from web addresses (default: fetched once, then kept)",
    )
    group.add_argument(
        "--allow-private-urls",
        action="store_true",
        default=None,
        help="let image URLs reach private addresses (default: refused)",
    )


# Flags whose values are options of the run under the same name.
_PLAIN = (
    "base_url", "api_key", "temperature", "max_tokens", "seed", "timeout_s", "format", "encoding", "cells",
    "image_root", "allow_urls", "allow_private_urls", "limit", "trials", "input", "system", "max_pixels",
    "scorer", "concurrency", "retries", "out", "fresh", "read_as", "parity", "prompt_template",
    "jpeg_quality", "pass_urls", "circular", "separate_trials", "also_scorers", "judge", "judge_base_url",
    "judge_api_key",
    "judge_prompts",
)  # fmt: skip


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options that flags name; what was not said is left to the defaults."""
    said: dict[str, Any] = {name: getattr(args, name, None) for name in _PLAIN}
    said["params"] = parameters(getattr(args, "params", []))
    said["judge_params"] = parameters(getattr(args, "judge_params", []), flag="--judge-param")
    said["settings"] = pairs(getattr(args, "settings", []), flag="--set")
    said["fields"] = pairs(getattr(args, "fields", []), flag="--field")
    said["where"] = pairs(getattr(args, "where", []), flag="--where")
    said["ids"] = id_list(getattr(args, "ids", []))
    if getattr(args, "quiet", False):
        said["progress"] = False
    return {name: value for name, value in said.items() if value not in (None, {}, [])}


def pairs(given: Sequence[str], *, flag: str) -> dict[str, str]:
    """Turn ``NAME=VALUE`` texts into a mapping.

    >>> pairs(["category=map", "split=dev"], flag="--where")
    {'category': 'map', 'split': 'dev'}
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r} is not of the form NAME=VALUE")
        found[name.strip()] = value
    return found


def parameters(given: Sequence[str], flag: str = "--param") -> dict[str, Any]:
    """Turn ``NAME=VALUE`` texts into parameters; values are JSON where they can be, text otherwise.

    >>> parameters(["top_p=0.9", "stop=###", "extra_body.skip=true"])
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    """
    import msgspec

    found: dict[str, Any] = {}
    for name, text in pairs(given, flag=flag).items():
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            value = text
        *path, last = name.split(".")
        place = found
        for step in path:
            place = place.setdefault(step, {})
        place[last] = value
    return found


def id_list(given: Sequence[str]) -> list[str]:
    """Ids from ``a,b,c`` or from ``@file`` with one id a line.

    >>> id_list(["1,2", "7"])
    ['1', '2', '7']
    """
    ids: list[str] = []
    for text in given:
        if text.startswith("@"):
            try:
                lines = Path(text[1:]).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as err:
                raise UsageError(f"--ids {text}: the file cannot be read: {err}") from err
            ids.extend(line.strip() for line in lines if line.strip())
        else:
            ids.extend(part.strip() for part in text.split(",") if part.strip())
    return ids


def find_run(given: str) -> Path:
    """The run folder that a user means: itself, its journal, or the only run below it."""
    from eyechart.store.journal import FILE_NAME

    path = Path(given)
    if path.name == FILE_NAME:
        path = path.parent
    if (path / FILE_NAME).is_file():
        return path
    below = sorted(found.parent for found in path.glob(f"**/{FILE_NAME}")) if path.is_dir() else []
    if len(below) == 1:
        return below[0]
    if below:
        listed = "\n    ".join(str(one) for one in below[:10])
        raise UsageError(f"{given} holds {len(below)} runs", hint=f"name one of them:\n    {listed}")
    raise UsageError(f"there is no run in {given}", hint=f"give the folder that holds {FILE_NAME}")


def load_dotenv() -> None:
    """Read a .env file of the current folder; what the environment says already stays."""
    from dotenv import load_dotenv as load

    load(".env")
