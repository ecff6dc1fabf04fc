"""Arguments that several verbs share, and how their texts become values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.terminal import print_note

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
    parser.set_defaults(execute=execute, parser=parser)
    return parser


# Flags whose values are options of the run under the same name.
_PLAIN = (
    "base_url", "endpoint_name", "api_key", "api_key_env", "temperature", "max_tokens", "seed", "timeout_s",
    "format", "encoding", "cells",
    "image_root", "allow_urls", "allow_private_urls", "limit", "trials", "input", "system", "max_pixels",
    "max_side", "scorer", "concurrency", "adaptive", "rpm", "tpm", "retries", "give_up_after", "cache",
    "prices", "max_cost", "max_total_tokens", "out", "fresh", "read_as", "parity", "prompt_template",
    "jpeg_quality", "pass_urls", "circular", "separate_trials", "also_scorers", "judge", "judge_base_url",
    "judge_api_key", "judge_api_key_env", "judge_endpoint_name", "judge_prompts",
)  # fmt: skip


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options that flags name; what was not said is left to the defaults."""
    said: dict[str, Any] = {name: getattr(args, name, None) for name in _PLAIN}
    said["params"] = parameters(getattr(args, "params", []))
    said["judge_params"] = parameters(getattr(args, "judge_params", []), flag="--judge-param")
    said["settings"] = pairs(getattr(args, "settings", []), flag="--set")
    said["fields"] = columns(getattr(args, "fields", []))
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
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r} is not of the form NAME=VALUE")
        if name.strip() in found:
            either = f"one of several values: {flag} {name}={found[name.strip()]},{value}"
            hint = either if flag == "--where" else "leave one of them out"
            raise UsageError(f"{flag} {name.strip()}=... is given twice", hint=hint)
        found[name.strip()] = value
    return found


def columns(given: Sequence[str]) -> dict[str, str | list[str]]:
    """Turn ``FIELD=COLUMN`` texts into a mapping; a field that is named again has several columns.

    >>> columns(["question=ask", "image=left", "image=right"])
    {'question': 'ask', 'image': ['left', 'right']}
    """
    found: dict[str, str | list[str]] = {}
    for text in given:
        for name, column in pairs([text], flag="--field").items():
            before = found.get(name)
            found[name] = (
                column if before is None else [*([before] if isinstance(before, str) else before), column]
            )
    return found


def parameters(given: Sequence[str], flag: str = "--param") -> dict[str, Any]:
    """Turn ``NAME=VALUE`` texts into parameters; values are JSON where they can be, text otherwise.

    >>> parameters(["top_p=0.9", "stop=###", "extra_body.skip=true"])
    {'top_p': 0.9, 'stop': '###', 'extra_body': {'skip': True}}
    """
    from eyechart.model.specs import nested_parameters

    return nested_parameters(pairs(given, flag=flag), who=flag)


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


class ModelsAction(argparse.Action):
    """Takes one model or several; a source behind them (``-m MODEL file.tsv``) goes to the sources."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Sort what stands behind one ``-m``; the first is always a model."""
        first, *others = [str(value) for value in values or ()]
        sources = [text for text in others if _is_source(text)]
        models = [first, *(text for text in others if text not in sources)]
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *models])
        namespace.data = [*namespace.data, *sources]


def _is_source(text: str) -> bool:
    """Whether it can be no model: those are written provider/name or python:file.py:Class.

    >>> [_is_source(text) for text in ("mine.tsv", "demo", "data/mine.tsv", "openai/m2", "python:m.py:Model")]
    [True, True, True, False, False]
    """
    from eyechart.registry import models

    provider, slash, _ = text.partition("/")
    if text.startswith("python:") or (slash and provider in models.names()):
        return False
    return not slash or text.startswith("hf:") or Path(text).exists() or bool(Path(text).suffix)


def find_run(given: str, *, is_changed: bool = False) -> Path:
    """The run folder that a user means: itself, its journal, or the newest run below it, which is said.

    A run that is going to be changed must be named where there are several.
    """
    from eyechart.store.journal import FILE_NAME

    path = Path(given)
    if path.name == FILE_NAME:
        path = path.parent
    if (path / FILE_NAME).is_file():
        return path
    found = path.glob(f"**/{FILE_NAME}") if path.is_dir() else ()
    below = [file.parent for file in sorted(found, key=lambda file: (-file.stat().st_mtime, str(file)))]
    if is_changed and len(below) > 1:
        listed = "\n    ".join(str(one) for one in below[:10])
        raise UsageError(
            f"{given} holds {len(below)} runs", hint=f"name one of them, the newest first:\n    {listed}"
        )
    if len(below) > 1:
        from eyechart.cli.output import note

        note(f"{given} holds {len(below)} runs; this is the newest: {below[0]}")
    if below:
        return below[0]
    raise UsageError(f"there is no run in {given}", hint=f"give the folder that holds {FILE_NAME}")


def load_dotenv() -> None:
    """Read a .env file of the current folder, and say so; what the environment says already stays."""
    from eyechart.model.environment import load_dotenv as load

    if said := load():
        print_note(said)
