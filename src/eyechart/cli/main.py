"""The command line: builds the parser, executes one command, turns errors into a message and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from eyechart import __version__, console
from eyechart.console import add_verb
from eyechart.errors import EyechartError, UsageError
from eyechart.registry import Command, EntryPoint, commands, find_near_names, suggest_name, summarise_command
from eyechart.terminal import escape_controls, print_error, shorten_message

ABOUT = """\
Evaluate vision-language models: point it at a benchmark file and a model, get a number you can defend.
A run is a folder; the same command again resumes it and asks only for what is missing.
"""

EXAMPLES = """\
examples:
  eyechart demo                                              a first run: no key, no GPU, no download
  eyechart run mine.tsv -m openai/my-model --base-url http://localhost:8000/v1
  eyechart run mine.jsonl -m python:my_model.py:MyModel --limit 20
  eyechart data check mine.tsv                               how it is read, and what is wrong with it
  eyechart report runs/mine/openai-my-model-1a2b3c4d --xlsx results.xlsx
  eyechart compare runs/mine                                 is the difference between the models real?

exit codes: 0 success, 1 some samples failed, 2 wrong usage or bad input, 130 interrupted (resumable)
"""

# The commands of the core, in the order of the help and by its headings, each a module here; those of
# pipelines and plug-ins follow, from the entry points `eyechart.commands`.
HEADINGS = {
    "evaluate": ("run", "sweep", "watch", "score", "audit", "judge", "demo"),
    "look at results": ("report", "compare", "gate", "power", "runs", "show", "view", "merge"),
    "data, models, cache": ("data", "model", "cache"),
    "set up, read": ("init", "completion", "docs"),
}
CORE = tuple(name for names in HEADINGS.values() for name in names)
ALIASES = {"eval": "run"}
_FLAGS = ("-h", "--help", "--version")  # before a command


def list_commands() -> list[str]:
    """All commands, in the order of the help."""
    return [*CORE, *(name for name in commands.names() if name not in CORE)]


def find_command(name: str) -> Command:
    """A command; its module is imported now."""
    if name in CORE:
        import_module(f"eyechart.cli.{name}")
    return commands.get(name)


def _aliases(name: str) -> list[str]:
    return [alias for alias, meant in ALIASES.items() if meant == name]


def summarise(name: str) -> str:
    """What a command does, in a line; its module is not imported."""
    source = EntryPoint(name, f"eyechart.cli.{name}").read_source() if name in CORE else ""
    return summarise_command(name, source)


class Parser(argparse.ArgumentParser):
    """Reports an error as one line and a hint; argparse would print dozens of flags before it."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(status, None if message is None else escape_controls(shorten_message(message)))

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is not among the choices, such as an unknown action; suggest the nearest."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as err:
            if action.nargs == "?" and "." in str(value):  # a flag that may stand alone took the source
                hint = f"write {action.option_strings[-1]}={action.const} {value}, or put {value} first"
                raise UsageError(str(err), hint=hint) from err
            near = find_near_names(str(value), [str(one) for one in action.choices or ()])
            if not near:
                raise
            hint = f"did you mean {' or '.join(near)}? See: {self.prog} --help"
            raise UsageError(str(err), hint=hint) from err

    def take_rest(self, args: argparse.Namespace, rest: Sequence[str]) -> None:
        """Give what stands behind a flag (``show RUN --json SAMPLE``) to the arguments that are still open.

        argparse leaves it over. What is no argument is refused.
        """
        if any(text.startswith("-") for text in rest):
            self.unrecognized(rest)
        left = list(rest)
        for action in self._get_positional_actions():
            if action.nargs == "?" and left and getattr(args, action.dest) == action.default:
                setattr(args, action.dest, self._get_values(action, [left.pop(0)]))
            elif action.nargs in ("*", "+"):
                setattr(args, action.dest, [*getattr(args, action.dest), *left])
                left = []
        if left:
            self.unrecognized(rest)

    def unrecognized(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse unknown arguments and suggest the nearest flag."""
        flags = sorted({flag for one in self._actions for flag in one.option_strings if flag[:2] == "--"})
        first = next((text for text in unknown if text.startswith("-")), unknown[0])
        see = f"{self.prog} {'--help-all' if '--help-all' in flags else '--help'}"
        hint = suggest_name(first.partition("=")[0], flags, otherwise=f"see: {see}", see=see)
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}", hint=hint)


def build_parser(verb: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands; of one command alone; or, for "", the list of commands without flags."""
    parser = Parser(
        prog="eyechart",
        description=ABOUT,
        epilog=EXAMPLES,
        usage="eyechart [-h] [--version] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"eyechart {__version__}")
    verbs = parser.add_subparsers(
        metavar="COMMAND", required=True, prog=parser.prog, help=argparse.SUPPRESS
    )  # listed by `_list_under_headings`
    for name in [verb] if verb else list_commands():
        if verb == "":
            verbs.add_parser(name, aliases=_aliases(name))
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
    if not verb:
        _list_under_headings(parser)
    return parser


def _list_under_headings(parser: argparse.ArgumentParser) -> None:
    """List the commands in the help, those of plug-ins under a heading of their own.

    The commands of other tools, with their own arguments and files, are named in a line.
    """
    others = [name for name in list_commands() if name not in CORE]
    theirs = [name for name in others if commands.is_built_in(name)]
    headings = {**HEADINGS, "commands of other packages": [name for name in others if name not in theirs]}
    parser.epilog = f"commands written as other tools' own: {', '.join(theirs)}\n\n{parser.epilog}"
    for heading, names in headings.items():
        group = parser.add_argument_group(heading)
        for name in names:
            shown = ", ".join([name, *_aliases(name)])
            group._group_actions.append(argparse.Action([], dest=name, metavar=shown, help=summarise(name)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    _open_closed_streams()
    console.n_printed = 0
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if "_ARGCOMPLETE" in os.environ:
            from eyechart.cli.completion import complete

            complete()
        if not words or words[0] == "help":
            words = [*words[1:2], "--help"]
        args, unknown = build_parser(_verb(*words)).parse_known_args(words)
        if unknown:
            args.parser.take_rest(args, unknown)
        return int(args.execute(args))
    except EyechartError as err:
        return _end(err, err.exit_code, words)
    except KeyboardInterrupt:
        return _end(EyechartError("interrupted"), 130, words)
    except BrokenPipeError:
        return _leave_quietly()
    except OSError as err:
        return _end(EyechartError(f"{err.filename or 'the system'}: {err.strerror or err}"), 2, words)
    except Exception as err:
        if os.environ.get("EYECHART_TRACEBACK"):
            raise
        hint = "EYECHART_TRACEBACK=1 shows the traceback; please report it"
        return _end(EyechartError(f"internal error: {type(err).__name__}: {err}", hint=hint), 2, words)


def _verb(word: str, *others: str) -> str:
    """The command that the first word names; "" for a flag such as --version."""
    verb = ALIASES.get(word, word)
    if verb in CORE or verb in commands.names():
        return verb
    if word in _FLAGS:
        return ""
    names = [one for name in list_commands() for one in (name, *_aliases(name))]
    if word.startswith("-"):
        hint = suggest_name(word, list(_FLAGS), see="eyechart --help")
        if behind := next((one for one in others if one in names), ""):
            hint = f"flags come after the command: eyechart {behind} ... {word}"
        raise UsageError(f"unrecognized arguments: {word}", hint=hint)
    hint = suggest_name(word, names, otherwise=f"commands: {', '.join(names)}", see="eyechart --help")
    if Path(word).exists():
        hint = f"to evaluate a model on it: eyechart run {word} -m MODEL"
    raise UsageError(f"unknown command {word!r}", hint=hint)


def _end(err: EyechartError, code: int, words: Sequence[str]) -> int:
    """Print why the command failed; with --json also as JSON, unless a value was printed."""
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
    """Replace a closed stdout or stderr (``>&-``, some schedulers), which Python sets to None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (open until exit)
            setattr(sys, name, nowhere)


def _leave_quietly() -> int:
    """The reader of stdout is gone (`| head`): avoid Python's complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
