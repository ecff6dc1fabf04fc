"""``eyechart exec``: run a script written for EvalScope, VLMEvalKit or InfoChartQA, unchanged."""

from __future__ import annotations

import argparse
import builtins
import runpy
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from eyechart.compat.activate import PROVIDED, activate, prefer_local_copies, provide_in_children
from eyechart.console import load_dotenv
from eyechart.errors import EyechartError, UsageError
from eyechart.registry import Execute, command
from eyechart.terminal import print_note

DESCRIPTION = """\
Run a Python script as `python SCRIPT` would. eyechart provides the import names evalscope and vlmeval, and
checker as in InfoChartQA's example, if they are not installed. load_dataset("ORG/NAME") reads a local copy
in $EYECHART_DATA/NAME, data/NAME or ./NAME if there is one.
All arguments after SCRIPT are passed to the script.
"""

EXAMPLES = """\
  eyechart exec eval_custom.py                      a script with run_task(...) and its own class
  eyechart exec eval_custom.py --limit 20           flags after the script are passed to it
  eyechart exec -m my_package.evaluate              a module instead of a file"""

NOTES: Mapping[str, str] = {
    "eyechart": "provided by eyechart, because the package is not installed",
    "installed": "the installed package is used",
}


@command(
    "exec",
    "run a script written for EvalScope, VLMEvalKit or InfoChartQA",
    description=DESCRIPTION,
    examples=EXAMPLES,
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the verb."""
    parser.add_argument("-m", "--module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="do not print which names eyechart provides"
    )
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS", help="arguments of the script")
    return execute


def execute(args: argparse.Namespace) -> int:
    """Run the script. Its exceptions are shown as by Python, without frames of eyechart."""
    load_dotenv()
    path = Path(args.script).expanduser()
    if not args.module and not path.is_file():
        hint = "give the path of a Python file; -m NAME runs a module"
        if args.script == "evalscope":
            hint = "a command line of EvalScope runs with: eyechart evalscope eval ..."
        raise UsageError(f"no such script: {args.script}", hint=hint)
    folder = Path.cwd() if args.module else path.resolve().parent  # as Python does: links are followed
    with _as_main([str(path) if not args.module else args.script, *args.args], str(folder)):
        # After the script's folder, which takes precedence.
        activate(
            PROVIDED, None if args.quiet else lambda name, by: print_note(f"eyechart: {name}: {NOTES[by]}")
        )
        if args.module and not _has_module(args.script):
            raise UsageError(f"no such module: {args.script}", hint="run a file without -m")
        try:
            with provide_in_children(), prefer_local_copies():
                if args.module:
                    runpy.run_module(args.script, run_name="__main__", alter_sys=True)
                else:
                    _run_file(path.absolute())
        except EyechartError:
            raise
        except Exception as err:
            _show(err)
            return 1
    return 0


def _run_file(path: Path) -> None:
    """Run the file as the module `__main__`, with its full path as in Python."""
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(path), __builtins__=builtins, __cached__=None)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - the command runs scripts
    finally:
        sys.modules["__main__"] = before


def _has_module(name: str) -> bool:
    with suppress(ImportError, ValueError, AttributeError):  # its parent is missing or not a package
        return find_spec(name) is not None
    return False


@contextmanager
def _as_main(argv: Sequence[str], folder: str) -> Iterator[None]:
    """Set `sys.argv` and the head of `sys.path` for the script, and restore them."""
    before = list(sys.argv), list(sys.path)
    sys.argv[:] = argv
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv[:], sys.path[:] = before


def _show(err: BaseException) -> None:
    """Print the traceback as Python prints it for the script alone."""
    sys.stdout.flush()
    shown = traceback.TracebackException.from_exception(err)
    ours = ("<frozen runpy", "<frozen importlib", __file__, str(sys.modules[activate.__module__].__file__))
    theirs = [one for one in shown.stack if not one.filename.startswith(ours)]
    shown.stack = traceback.StackSummary.from_list(theirs)
    print_note("".join(shown.format()), end="")
