"""The command. Builds the parser, calls one verb, turns errors into one message and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from eyechart import __version__, console
from eyechart.console import add_verb
from eyechart.errors import EyechartError, UsageError
from eyechart.registry import Command, EntryPoint, commands, summarise_command
from eyechart.terminal import escape_controls, print_error, shorten_message

ABOUT = """\
An eye exam for vision-language models: point it at a benchmark file and a model, get a number you can
defend. A run is a folder; the same command again resumes it and asks only for what is missing.
"""

EXAMPLES = """\
examples:
  eyechart demo                                              a first run: no key, no GPU, no download
  eyechart run mine.tsv -m openai/my-model --base-url http://localhost:8000/v1
  eyechart run mine.jsonl -m python:my_model.py:MyModel --limit 20
  eyechart data check mine.tsv                               what is it, and what is wrong with it
  eyechart report runs/mine/openai-my-model-1a2b3c4d --xlsx results.xlsx

exit codes: 0 all is well, 1 some samples failed, 2 wrong usage or bad input, 130 interrupted (resumable)
"""

# The commands of the core, in the order of the help, each a module here; those of pipelines and plug-ins
# follow, from the entry points `eyechart.commands`.
CORE = ("run", "score", "report", "show", "data", "model", "cache", "demo")
ALIASES = {"eval": "run"}


def list_commands() -> list[str]:
    """The commands there are, in the order of the help."""
    return [*CORE, *(name for name in commands.names() if name not in CORE)]


def find_command(name: str) -> Command:
    """A command, whose module is imported now and not before."""
    if name in CORE:
        import_module(_module(name))
    return commands.get(name)


def _module(name: str) -> str:
    return f"eyechart.cli.{name}"


def _aliases(name: str) -> list[str]:
    return [alias for alias, meant in ALIASES.items() if meant == name]


def _summary(name: str) -> str:
    return summarise_command(name, EntryPoint(name, _module(name)).read_source() if name in CORE else "")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line and a hint; of dozens of flags, usage would show all before that."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Leave, with a message that repeats what was typed and may hold anything."""
        super().exit(status, None if message is None else escape_controls(shorten_message(message)))

    def error(self, message: str) -> NoReturn:
        """Refuse, as any other mistake in a call is refused."""
        raise UsageError(message, hint=f"see: {self.prog} --help")

    def unrecognized(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse what nobody understands, with the nearest flag that exists."""
        from eyechart.registry import suggest_name

        flags = sorted(set(re.findall(r"--[a-z][a-z_-]*", self.format_help())))
        first = next((text for text in unknown if text.startswith("-")), unknown[0])
        see = f"{self.prog} --help"
        hint = suggest_name(first.partition("=")[0], flags, otherwise=f"see: {see}", see=see)
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}", hint=hint)


def build_parser(verb: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; or as much of it as one verb needs; or, for "", the list of verbs alone."""
    parser = Parser(
        prog="eyechart",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"eyechart {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=parser.prog)
    for name in [verb] if verb else list_commands():
        if verb == "":
            verbs.add_parser(name, help=_summary(name), aliases=_aliases(name))
            continue
        found = find_command(name)
        of_verb = add_verb(
            verbs,
            name,
            help=found.summary,
            aliases=_aliases(name),
            description=found.description,
            examples=found.examples,
        )
        of_verb.set_defaults(execute=found.add_arguments(of_verb))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    _open_closed_streams()
    console.n_printed = 0
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if not words or words[0] == "help":
            words = [*words[1:2], "--help"]
        args, unknown = build_parser(_verb(words[0])).parse_known_args(words)
        if unknown:
            args.parser.unrecognized(unknown)
        return int(args.execute(args))
    except EyechartError as err:
        return _ended(err, err.exit_code, words)
    except KeyboardInterrupt:
        return _ended(EyechartError("interrupted"), 130, words)
    except BrokenPipeError:
        return _leave_quietly()
    except OSError as err:
        return _ended(EyechartError(f"{err.filename or 'the system'}: {err.strerror or err}"), 2, words)
    except Exception as err:
        if os.environ.get("EYECHART_TRACEBACK"):
            raise
        hint = "EYECHART_TRACEBACK=1 shows where; please report it"
        return _ended(EyechartError(f"a mistake of ours: {type(err).__name__}: {err}", hint=hint), 2, words)


def _verb(word: str) -> str:
    """The command that the first word means; "" for a flag, which is one of the whole command's."""
    verb = ALIASES.get(word, word)
    if verb in CORE or verb in commands.names():
        return verb
    if word.startswith("-"):
        return ""
    from eyechart.registry import suggest_name

    names = [one for name in list_commands() for one in (name, *_aliases(name))]
    hint = suggest_name(word, names, otherwise=f"there are: {', '.join(names)}", see="eyechart --help")
    if Path(word).exists():
        hint = f"to evaluate a model on it: eyechart run {word} -m MODEL"
    raise UsageError(f"unknown command {word!r}", hint=hint)


def _ended(err: EyechartError, code: int, words: Sequence[str]) -> int:
    """Say why, if anybody listens; the exit code says it anyhow."""
    print_error(f"eyechart: {err}")
    if _wants_json(words) and not console.n_printed:
        with contextlib.suppress(OSError, ValueError):
            console.print_json({"error": err.message, "hint": err.hint, "exit_code": code})
    return code


def _wants_json(words: Sequence[str]) -> bool:
    """Whether stdout is for a JSON object: ``--json``, without the file that `report` can write instead."""
    if "--json" not in words:
        return False
    behind = words[words.index("--json") + 1 :][:1]
    return words[0] != "report" or not behind or behind[0].startswith("-")


def _open_closed_streams() -> None:
    """Started with stdout or stderr closed (``>&-``, some schedulers) Python has none: write nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (open to the end)
            setattr(sys, name, nowhere)


def _leave_quietly() -> int:
    """The reader of our output has gone (`| head`): keep Python from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
