"""``eyechart completion``: tab completion for bash, zsh and fish.

The scripts are short: at each Tab they call `eyechart` with the words so far, and `_EYECHART_COMPLETE` set;
`suggest` answers. So completion knows plug-ins, and is current after an upgrade.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from eyechart.cli.main import ALIASES, build_parser, list_commands, summarise
from eyechart.console import HelpAll
from eyechart.errors import EyechartError
from eyechart.registry import Execute, benchmarks, command, models, scorers
from eyechart.terminal import print_text, to_one_line

VARIABLE = "_EYECHART_COMPLETE"
FILES = ":files"  # the line that asks the shell to add file names
_WIDTH = 60  # columns for what a suggestion means

DESCRIPTION = """\
Print a script for your shell that completes commands, actions, flags, choices, and names of benchmarks,
scorers, suites and models. To install it:

  bash   echo 'eval "$(eyechart completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(eyechart completion zsh)"' >> ~/.zshrc
  fish   eyechart completion fish > ~/.config/fish/completions/eyechart.fish

Then open a new shell.
"""

_BASH = """\
_eyechart() {
    local line current="${COMP_WORDS[COMP_CWORD]}"
    [[ $current == "=" ]] && current=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
        else
            line="${line%%$'\\t'*}"
            [[ $line == */ ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("$line")
        fi
    done < <(_EYECHART_COMPLETE=1 "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _eyechart eyechart
"""

_ZSH = """\
#compdef eyechart
_eyechart() {
    local line with_files=0
    local -a names texts open
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            with_files=1
        elif [[ ${line%%$'\\t'*} == */ ]]; then
            open+=("${line%%$'\\t'*}")
        else
            names+=("${line%%$'\\t'*}")
            texts+=("${line/$'\\t'/  }")
        fi
    done < <(_EYECHART_COMPLETE=1 "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( $#names )) && compadd -l -d texts -a names
    (( $#open )) && compadd -S '' -a open
    (( with_files )) && _files
    return 0
}
if ! (( $+functions[compdef] )); then
    autoload -Uz compinit && compinit
fi
if [[ $funcstack[1] == _eyechart ]]; then
    _eyechart "$@"
else
    compdef _eyechart eyechart
fi
"""

_FISH = """\
function __eyechart_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -e before[1]
    for line in (env _EYECHART_COMPLETE=1 eyechart $before "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            echo -- $line
        end
    end
end
complete -c eyechart -f -a "(__eyechart_complete)"
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@command("completion", "tab completion for bash, zsh and fish", description=DESCRIPTION)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help="bash, zsh or fish")
    return execute


def execute(args: argparse.Namespace) -> int:
    """Print the script."""
    print_text(SCRIPTS[args.shell].rstrip("\n"))
    return 0


def print_suggestions(words: Sequence[str]) -> int:
    """Print what can follow, one suggestion per line: the text, a tab, what it means."""
    for text, meaning in suggest(words):
        short = meaning if len(meaning) <= _WIDTH else f"{meaning[: _WIDTH - 1].rstrip()}…"
        print_text(f"{text}\t{short}" if short else text)
    return 0


def suggest(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last of the words after ``eyechart`` can be, with its meaning. Errors suggest nothing.

    >>> list(suggest(["compl"]))
    [('completion', 'tab completion for bash, zsh and fish')]
    >>> [text for text, _ in suggest(["run", "demo", "--input", "bl"])]
    ['blank']
    """
    *before, current = _join_equals(words) or [""]
    try:
        found = list(_suggest(before, current))
    except EyechartError:  # an unknown command, a plug-in that cannot be loaded
        return
    for text, meaning in found:
        if text == FILES or text.startswith(current):
            # bash splits at "=": what it replaces is the value alone
            yield (text.partition("=")[2] if "=" in words else text), meaning


def _join_equals(words: Sequence[str]) -> list[str]:
    """``--flag=value`` as one word; bash splits it into three.

    >>> _join_equals(["run", "--input", "=", "bl"]), _join_equals(["run", "--input", "="])
    (['run', '--input=bl'], ['run', '--input='])
    """
    joined: list[str] = []
    for at, word in enumerate(words):
        is_value = at > 0 and (words[at - 1] == "=" or word == "=") and joined[-1].startswith("--")
        if is_value:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _suggest(before: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    if not before:
        yield from ((name, summarise(name)) for name in list_commands())
        yield from ((flag, "") for flag in ("--help", "--version") if current.startswith("-"))
        return
    name = ALIASES.get(before[0], before[0])
    if name == "help" or name not in list_commands():
        yield from ((one, summarise(one)) for one in list_commands() if name == "help" and len(before) == 1)
        return
    parser, actions = _find_parser(build_parser(name), [name, *before[1:]])
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    flag, equals, _ = current.partition("=")
    if equals and flag in flags:
        for text, meaning in _suggest_value(flags[flag]):
            yield (text if text == FILES else f"{flag}={text}"), meaning
    elif current.startswith("-"):
        told = {
            one: text
            for action in parser._actions
            if isinstance(action, HelpAll)
            for one, text in action.left_out.items()
        }
        for flag, action in flags.items():
            yield flag, to_one_line(str(told.get(action, action.help) or "").replace("%%", "%"))
    elif before[-1] in flags and flags[before[-1]].nargs != 0:
        yield from _suggest_value(flags[before[-1]])
    elif actions is not None:
        helps = {one.dest: one.help or "" for one in actions._choices_actions}
        yield from ((one, helps.get(one, "")) for one in actions.choices)
    else:
        for action in parser._actions:
            if not action.option_strings:
                yield from _suggest_value(action)
                return


def _find_parser(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.ArgumentParser, argparse._SubParsersAction[argparse.ArgumentParser] | None]:
    """The parser of the command or action that the words name, and the actions that it has."""
    actions = _find_actions(parser)
    for word in words:
        if actions is not None and word in actions.choices:
            parser = actions.choices[word]
            actions = _find_actions(parser)
    return parser, actions


def _find_actions(
    parser: argparse.ArgumentParser,
) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    return next((one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None)


def _suggest_value(action: argparse.Action) -> Iterator[tuple[str, str]]:
    """The values of a flag or an argument: its choices, or known names by its metavar, or files."""
    kind = f"{action.dest} {action.metavar or ''}".casefold()
    if action.choices is not None:
        yield from ((str(one), "") for one in action.choices)
    elif "scorer" in kind:
        yield from ((name, "") for name in scorers.names())
    elif "suite" in kind:
        from eyechart.catalogue.suites import list_suites

        yield from ((name, "") for name in list_suites())
        yield FILES, ""
    elif kind.endswith((" model", " judge")):
        yield from ((f"{name}/", "") for name in models.names())
    elif "source" in kind or action.dest == "benchmark":
        yield from ((name, "") for name in benchmarks.names())
        yield FILES, ""
    elif action.dest == "page":
        from eyechart.cli.docs import find_folder

        yield from ((path.stem, "") for path in sorted(find_folder().rglob("*.md")))
    elif kind.endswith(" run"):
        yield "latest", "the run that was changed last"
        yield FILES, ""
    elif not action.option_strings or any(one in kind for one in ("file", "dir", "path", "folder")):
        yield FILES, ""
