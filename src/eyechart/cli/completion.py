"""``eyechart completion``: tab completion for bash, zsh and fish, by argcomplete.

At each Tab, the shell calls `eyechart` with the line so far and `_ARGCOMPLETE` set; `complete` answers. So
completion knows plug-ins, and is current after an upgrade.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from argcomplete import autocomplete
from argcomplete.completers import FilesCompleter, SuppressCompleter
from argcomplete.shell_integration import shellcode

from eyechart.cli.main import ALIASES, build_parser, list_commands
from eyechart.console import HelpAll
from eyechart.errors import EyechartError
from eyechart.registry import Execute, benchmarks, command, models, scorers
from eyechart.terminal import print_text

DESCRIPTION = """\
Print a script for your shell that completes commands, actions, flags, choices, and names of benchmarks,
scorers, suites and models. To install it:

  bash   echo 'eval "$(eyechart completion bash)"' >> ~/.bashrc
  zsh    echo 'autoload -Uz compinit && compinit; eval "$(eyechart completion zsh)"' >> ~/.zshrc
  fish   eyechart completion fish > ~/.config/fish/completions/eyechart.fish

Then open a new shell.
"""


@command("completion", "tab completion for bash, zsh and fish", description=DESCRIPTION)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    return execute


def execute(args: argparse.Namespace) -> int:
    """Print the script."""
    print_text(shellcode(["eyechart"], shell=args.shell).rstrip("\n"))
    return 0


def complete() -> None:
    """Answer the shell, which describes the line in the environment, and exit."""
    words = os.environ.get("COMP_LINE", "").split()[1:]
    name = ALIASES.get(words[0], words[0]) if words else ""
    try:
        parser = build_parser(name if name in list_commands() else "")
    except EyechartError:  # a plug-in that cannot be loaded
        parser = build_parser("")
    for one in _list_parsers(parser):
        for action in one._actions:
            if isinstance(action, HelpAll):
                action.restore()  # rare flags are suggested, too
            if completer := _choose_completer(action):
                action.completer = completer  # type: ignore[attr-defined]
    autocomplete(parser, default_completer=SuppressCompleter())


def _list_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of its commands and actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _list_parsers(one)


def _choose_completer(action: argparse.Action) -> Callable[..., Iterable[str]] | None:
    """What suggests the values of a flag or an argument, by its metavar: known names, files, or nothing."""
    kind = f"{action.dest} {action.metavar or ''}".casefold()
    if action.choices is not None or action.nargs == 0:
        return None
    if "scorer" in kind:
        return _suggest(lambda: dict.fromkeys(scorers.names(), ""))
    if "suite" in kind:
        return _suggest(_list_suites, with_files=True)
    if kind.endswith((" model", " judge")):
        return _suggest(lambda: {f"{name}/": "" for name in models.names()})
    if "source" in kind or action.dest == "benchmark":
        return _suggest(lambda: dict.fromkeys(benchmarks.names(), ""), with_files=True)
    if action.dest == "page":
        return _suggest(_list_pages)
    if kind.endswith(" run"):
        return _suggest(lambda: {"latest": "the run that was changed last"}, with_files=True)
    if not action.option_strings or any(one in kind for one in ("file", "dir", "path", "folder")):
        return _suggest(dict, with_files=True)
    return None


def _suggest(
    names: Callable[[], Mapping[str, str]], *, with_files: bool = False
) -> Callable[..., Mapping[str, str]]:
    """A completer of names with what they mean, and of files."""

    def complete_value(prefix: str, **more: Any) -> Mapping[str, str]:
        files = FilesCompleter()(prefix, **more) if with_files else ()
        return {**names(), **dict.fromkeys(files, "")}

    return complete_value


def _list_suites() -> dict[str, str]:
    from eyechart.catalogue.suites import list_suites

    return dict.fromkeys(list_suites(), "")


def _list_pages() -> dict[str, str]:
    from eyechart.cli.docs import find_folder

    return {path.stem: "" for path in sorted(find_folder().rglob("*.md"))}
