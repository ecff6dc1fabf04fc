"""``eyechart cache``: replies and images that are kept between runs, and how to remove them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from rich.text import Text

from eyechart.console import JSON_HELP, add_verb, confirm, make_facts_table, note, print_json, print_rich
from eyechart.data.images.fetch import count_cached
from eyechart.errors import UsageError
from eyechart.option import read_count
from eyechart.registry import Execute, command, suggest_name
from eyechart.report.table import PlainTable
from eyechart.store.cache import clear_cache, inspect_cache, read_size_limit
from eyechart.store.folder import find_cache_folder
from eyechart.terminal import format_size, print_text, to_one_line

DESCRIPTION = """\
The cache keeps replies between runs. A reply is used again for exactly the same request: the same model,
endpoint, parameters, messages, images and trial. Images fetched from URLs are cached too. Runs keep their
own replies in their folders, so clearing the cache loses nothing of a run.
"""


@command("cache", "replies and images kept between runs", description=DESCRIPTION)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the actions of the command."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    info = add_verb(actions, "info", execute_info, help="path, size and models of the cache")
    info.add_argument("--json", action="store_true", help=JSON_HELP)
    clear = add_verb(
        actions,
        "clear",
        execute_clear,
        help="remove replies, and with --images fetched images",
        description="Removes all replies, or those that the flags select. Asks for confirmation.",
        examples="  eyechart cache clear --older-than 30 --yes\n  eyechart cache clear --model openai/mine\n",
    )
    clear.add_argument("--model", metavar="NAME", help="only replies of this model, as `info` names it")
    clear.add_argument(
        "--older-than",
        metavar="DAYS",
        type=read_count(0, 100_000),
        help="only what has not been used for this many days",
    )
    clear.add_argument("--images", action="store_true", help="also remove fetched images")
    clear.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    return execute_info


def execute_info(args: argparse.Namespace) -> int:
    """Print where the cache is and what it holds."""
    limit, info = read_size_limit(), inspect_cache()
    n_images, n_bytes = count_cached(images := find_cache_folder() / "images")
    if args.json:
        print_json(
            {
                "path": str(info.path),
                "entries": info.entries,
                "bytes": info.bytes_on_disk,
                "limit": limit,
                "models": {
                    name: {"entries": one.n, "bytes": one.n_bytes} for name, one in info.by_model.items()
                },
                "oldest": _moment(info.oldest),
                "newest": _moment(info.newest),
                "trouble": info.trouble or None,
                "images": {"path": str(images), "files": n_images, "bytes": n_bytes},
            }
        )
    else:
        facts = {
            "replies": str(info.path),
            "cached": f"{info.entries:,}",
            "on disk": f"{format_size(info.bytes_on_disk)}"
            + (f" of {format_size(limit)}" if limit else "; the cache is disabled"),
            "oldest": _moment(info.oldest) or "",
            "newest": _moment(info.newest) or "",
            "problem": info.trouble,
            "images": str(images),
            "fetched": f"{n_images:,}, {format_size(n_bytes)}",
        }
        print_rich(make_facts_table(item for item in facts.items() if item[1]))
        if info.by_model:
            rows = [
                [to_one_line(name), f"{one.n:,}", format_size(one.n_bytes)]
                for name, one in info.by_model.items()
            ]
            print_rich(Text(""), PlainTable(columns=["model", "replies", "size"], rows=rows))
    return 0


def execute_clear(args: argparse.Namespace) -> int:
    """Remove what the flags select, after confirmation."""
    _check_model(args.model)
    chosen = f" of {args.model}" if args.model else ""
    if args.older_than is not None:
        chosen += f" not used for {args.older_than} days"
    what = f"{'' if chosen else 'all '}replies{chosen}{' and fetched images' * args.images}"
    if not args.yes and not confirm(f"remove {what} from the cache"):
        note("nothing was removed")
        return 0
    n, n_bytes = clear_cache(model=args.model, unused_days=args.older_than)
    print_text(f"removed {_counted(n, 'reply', 'replies')}: {format_size(n_bytes)} freed")
    if args.images:
        images = find_cache_folder() / "images"
        n, n_bytes = count_cached(images, older_days=args.older_than or 0, is_removing=True)
        print_text(f"removed {_counted(n, 'image', 'images')}: {format_size(n_bytes)} freed")
    return 0


def _check_model(name: str | None) -> None:
    """Refuse a model that the cache does not know: probably a typo, and removing nothing would hide it."""
    if name is None or (info := inspect_cache()).trouble or name in info.by_model:
        return
    known = list(info.by_model)
    hint = suggest_name(name, known, otherwise="see: eyechart cache info", see="eyechart cache info")
    raise UsageError(f"the cache holds no reply of {name!r}", hint=hint)


def _moment(seconds: float | None) -> str | None:
    """A time in UTC; None where the clock that wrote it was far off."""
    try:
        return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, OSError, ValueError):
        return None


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
