"""``eyechart view``: the web page with runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from eyechart.console import note
from eyechart.errors import UsageError
from eyechart.option import read_count
from eyechart.registry import Execute, command
from eyechart.runs.listing import ROOT
from eyechart.terminal import print_text

HELP = """\
Serve web pages with the runs in and below a folder: scores by benchmark and model, every sample with its
image as it was sent, two runs side by side, and the progress of current runs.

The server only reads, unless --write adds a button that deletes a run. It listens on this machine only
(127.0.0.1) unless --host names another address; then everyone who can reach it can read the runs. From
another machine, use a tunnel: ssh -L 2020:localhost:2020 MACHINE.

examples:
  eyechart view                       the runs in runs/
  eyechart view /data/runs --port 8080
"""


@command("view", "a web page with runs: scores, samples, comparisons, live progress", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("folder", nargs="?", metavar="DIR", help=f"a folder with runs (default: {ROOT})")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="listen here (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port",
        type=read_count(0, 65_535),
        metavar="N",
        help="listen on this port; 0: any free one (default: 2020 or the next)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="also answer requests to this name, e.g. of a proxy; repeatable",
    )
    parser.add_argument("--write", action="store_true", help="runs can be deleted on their pages")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    return execute


def execute(args: argparse.Namespace) -> int:
    """Listen, print the address, serve until Ctrl-C."""
    folder = args.folder or ROOT
    if not Path(folder).is_dir():
        raise UsageError(
            f"no folder {folder}", hint="start a run first, or name the folder: eyechart view DIR"
        )
    from eyechart.view.server import make_server, open_socket, serve

    allowed = [name.lower() for name in args.allow_host]
    server = make_server(folder, allowed=allowed, writes=args.write)
    listening = open_socket(args.host, args.port)
    port = listening.getsockname()[1]
    shown = f"[{args.host}]" if ":" in args.host else args.host
    print_text(f"http://{shown}:{port}/")
    if args.host not in ("127.0.0.1", "::1", "localhost"):
        can = "read and delete" if args.write else "read"
        note(f"everyone who can reach {args.host}:{port} can {can} the runs in {folder}")
    note("Ctrl-C stops it")
    if args.open:
        import webbrowser

        webbrowser.open(f"http://{shown}:{port}/")
    serve(server, listening)
    return 0
