"""Flags that several verbs share, in the groups in which `--help` shows them."""

from __future__ import annotations

import argparse


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """How a model is reached and what it is told to do."""
    group = parser.add_argument_group("the model")
    group.add_argument(
        "--base-url",
        action="append",
        metavar="URL",
        help="OpenAI-compatible endpoint, with or without /chat/completions; repeatable: the requests of one "
        "model are spread over several, several models and as many addresses are pairs in order "
        "(default: $OPENAI_BASE_URL, $OPENAI_API_BASE, or OpenAI's own)",
    )
    group.add_argument(
        "--endpoint-name",
        metavar="NAME",
        help="stands in for the address in the run's identity: the same model at another port or node then "
        "continues its runs (default: the address)",
    )
    group.add_argument("--api-key", metavar="KEY", help="default: $OPENAI_API_KEY; never written anywhere")
    group.add_argument("--api-key-env", metavar="NAME", help="the environment variable that holds the key")
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
        help="the benchmark whose file SOURCE is, e.g. infochartqa; plain: a file like any other "
        "(default: by a published name, else plain)",
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
    group.add_argument(
        "--input",
        choices=["image", "any", "none"],
        help="image (default): a row without an image fails where others have one; any: it is asked as text; "
        "none: all rows are asked as text, without images",
    )
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
        action="append",
        metavar="URL",
        help="where the judge is served; repeatable (default: $OPENAI_BASE_URL, or OpenAI's own)",
    )
    group.add_argument("--judge-endpoint-name", metavar="NAME", help="as --endpoint-name, of the judge")
    group.add_argument(
        "--judge-api-key", metavar="KEY", help="default: $OPENAI_API_KEY; never written anywhere"
    )
    group.add_argument("--judge-api-key-env", metavar="NAME", help="the environment variable that holds it")
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
        help="which column holds a field, e.g. question=ask; image=left,right: two images in each row",
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


def add_pace_flags(parser: argparse.ArgumentParser, *, with_rates: bool = True) -> None:
    """How hard to push, and when to let go. Rates a minute are not a judge's."""
    group = parser.add_argument_group("the pace")
    group.add_argument(
        "--concurrency",
        "--max-connections",
        "--api-nproc",
        type=int,
        metavar="N",
        help="requests in flight at once, at most: fewer while the endpoint is overloaded (default: 64)",
    )
    group.add_argument(
        "--no-adapt",
        action="store_false",
        default=None,
        dest="adaptive",
        help="keep to --concurrency whatever the endpoint says",
    )
    if with_rates:
        group.add_argument("--rpm", type=float, metavar="N", help="requests a minute, at most")
        group.add_argument("--tpm", type=float, metavar="N", help="tokens a minute, at most")
    group.add_argument(
        "--retries", type=int, metavar="N", help="further tries of a failed request (default: 5)"
    )
    group.add_argument(
        "--give-up-after",
        type=int,
        metavar="N",
        help="stop after N failures in a row, without an answer between them (default: 8)",
    )


def add_bill_flags(parser: argparse.ArgumentParser, *, with_dry_run: bool = True) -> None:
    """What may be spent."""
    group = parser.add_argument_group("the bill")
    if with_dry_run:
        group.add_argument(
            "--dry-run",
            action="store_true",
            help="say how many requests, bytes, tokens and dollars it would take, and send nothing",
        )
    group.add_argument(
        "--max-cost", type=float, metavar="USD", help="stop before more is spent, the judge included"
    )
    group.add_argument(
        "--max-total-tokens", type=int, metavar="N", help="stop before more are used, the judge's included"
    )
    group.add_argument(
        "--prices",
        metavar="FILE|TEXT",
        help="your own prices: a file (see docs/cost.md), or input=2.5,output=10 in USD a million tokens",
    )
    group.add_argument(
        "--no-cache",
        action="store_false",
        default=None,
        dest="cache",
        help="do not use the cache of replies that all runs share (--fresh asks everything anew)",
    )
