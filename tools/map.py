"""Print a map of the source: rooms, modules, lines, imports between rooms, names, and the path of one sample.

    python tools/map.py [--json]

`make map` runs it. The path is traced: one row of a TSV is sent to an endpoint in this process, and every
file of the package in which a function is called is counted, from the end of planning to the printed number.
"""

from __future__ import annotations

import argparse
import ast
import http.server
import inspect
import json
import statistics
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "eyechart"
# Rooms with one pipeline each, and rooms that may import them.
PIPELINES = ("pipelines", "compat")
ABOVE_PIPELINES = ("cli", "compat", "__init__", "__main__")
# What names of this package begin with when they begin with a verb.
_VERBS = """
    acquire add adjust allow announce append apply ask assert attach audit bind bound bring build cache
    call cancel cap carry change check choose clean clear close collect combine compare complete compute
    connect convert copy correct count create crop cut decide decode detect describe discard divide
    download draw drive drop dump embed encode end enqueue ensure enter escape estimate evaluate exclude
    execute expand expect explain export extract fail fetch fill filter find finish fit flush fold
    follow forget format gather generate get give go group guard guess handle has hash hide hold
    identify import infer insert inspect interrupt is join judge keep know label launch lay leave let
    lift limit list load lock log look lower make mark match may measure merge mix move must name
    normalise note offer open order pack pad paint parse pass pick place plan plot post pour prepare
    press price print probe put quote raise read rebuild recognise record redact refuse register release
    remember remove rename render renew reorder repair repeat replace report require rescore reserve
    reset resolve restore resume return rewrite rotate round run sample save say scale scan score search
    see select send serve set settle shift shorten show shrink shuffle skip snapshot sniff sort spare
    split start stop store strip study submit sum summarise sweep take tell test throttle tidy to trace
    translate trim try turn unpack update upgrade use validate verify visit wait walk warn watch weigh
    with wrap write yield adapt answer converse suggest work claim clip map number reencode suppress
    narrow squeeze stem unwrap activate deactivate provide survey
"""
VERBS = frozenset(_VERBS.split())


def room_of(path: Path) -> str:
    """The folder below the package, or the module itself at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def count_lines(path: Path) -> int:
    """Lines of the file, as `wc -l` counts them."""
    return path.read_text(encoding="utf-8").count("\n")


def imported_rooms(path: Path) -> Iterator[str]:
    """The room of every import, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eyechart"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("eyechart."):
                    yield alias.name.split(".")[1]


def find_edges() -> Counter[tuple[str, str]]:
    """How many imports lead from one room to another."""
    edges: Counter[tuple[str, str]] = Counter()
    for path in modules():
        edges.update((room_of(path), other) for other in imported_rooms(path) if other != room_of(path))
    return edges


def find_repeated_names() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Module names and class names that occur twice or more, with the files that have them."""
    stems: dict[str, list[str]] = defaultdict(list)
    classes: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        where = str(path.relative_to(PACKAGE))
        stems[path.parent.name if path.stem == "__init__" else path.stem].append(where)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(where)
    return (
        {name: found for name, found in sorted(stems.items()) if len(found) > 1},
        {name: found for name, found in sorted(classes.items()) if len(found) > 1},
    )


def count_verbs() -> tuple[int, int]:
    """Public functions at the top of modules that begin with a verb, and all of them."""
    names = [
        node.name
        for path in modules()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    return sum(name.split("_")[0].lower() in VERBS for name in names), len(names)


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers every request with B."""

    def do_POST(self) -> None:
        """One completion."""
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Trace:
    """The files of the package in which functions are called, in order; every thread is watched."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []  # file, function

    def __enter__(self) -> Trace:
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not a module or the body of a class
        if event == "call" and is_function and name.startswith(str(PACKAGE)):
            self.calls.append((name.removeprefix(f"{PACKAGE}/"), frame.f_code.co_name))

    @property
    def files(self) -> list[str]:
        """Each file once, in the order of its first call."""
        return list(dict.fromkeys(file for file, _ in self.calls))

    def files_to_the_model(self) -> list[str]:
        """The engine's files between a sample that is ready and the model that is called."""
        ready = next(k for k, call in enumerate(self.calls) if call == READY)
        called = next(k for k, call in enumerate(self.calls) if k > ready and call[0].startswith("models/"))
        return list(dict.fromkeys(file for file, _ in self.calls[ready:called] if file.startswith("engine/")))


READY = ("engine/sample.py", "run")  # where a prepared sample is handed to the engine


def trace_sample() -> Trace:
    """One plain TSV row, from the end of planning to the summary."""
    from eyechart.runs.evaluate import evaluate
    from eyechart.runs.options import Options
    from eyechart.runs.plan import make_plan

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.tsv")
        path.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tcat\tdog\tB\n", encoding="utf-8")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = Options(
            out=f"{folder}/runs",
            base_url=(f"http://127.0.0.1:{server.server_port}/v1",),
            api_key="none",
            progress=False,
            cache=False,
        )
        plan = make_plan(str(path), "openai/m", options)
        with Trace() as trace:
            run = evaluate(plan)
            assert run.score == 1.0, run.outcomes
        server.shutdown()
        server.server_close()
    return trace


def draw() -> dict[str, Any]:
    """All figures."""
    lines = {path: count_lines(path) for path in modules()}
    rooms: dict[str, list[int]] = defaultdict(list)
    for path, n in lines.items():
        rooms[room_of(path)].append(n)
    edges = find_edges()
    stems, classes = find_repeated_names()
    verbs, functions = count_verbs()
    trace = trace_sample()
    return {
        "modules": len(lines),
        "median_lines": statistics.median(lines.values()),
        "lines": sum(lines.values()),
        "rooms": {room: {"modules": len(of), "lines": sum(of)} for room, of in sorted(rooms.items())},
        "edges": {f"{a} -> {b}": n for (a, b), n in sorted(edges.items())},
        "core_to_pipelines": sum(
            n for (a, b), n in edges.items() if b in PIPELINES and a not in (*ABOVE_PIPELINES, *PIPELINES)
        ),
        "repeated_module_names": stems,
        "repeated_class_names": classes,
        "public_functions": functions,
        "public_functions_with_a_verb": verbs,
        "files_after_planning": trace.files,
        "files_from_ready_to_model": trace.files_to_the_model(),
    }


def tell(found: dict[str, Any]) -> Iterator[str]:
    """The map in words."""
    yield f"{found['modules']} modules, median {found['median_lines']:g} lines, {found['lines']:,} lines"
    yield ""
    for room, of in found["rooms"].items():
        yield f"  {room:16} {of['modules']:4} modules {of['lines']:7,} lines"
    yield ""
    yield "imports between rooms"
    for edge, n in found["edges"].items():
        yield f"  {edge:32} {n:4}"
    yield f"imports from the core to a pipeline: {found['core_to_pipelines']}"
    yield ""
    for kind in ("module", "class"):
        names = found[f"repeated_{kind}_names"]
        yield f"{kind} names that occur twice or more: {len(names)}"
        yield "  " + ", ".join(f"{name} ({len(where)})" for name, where in names.items())
    share = found["public_functions_with_a_verb"] / found["public_functions"]
    yield f"public functions that begin with a verb: {share:.0%} of {found['public_functions']:,}"
    yield ""
    for title, key in (
        ("files that a sample passes through after planning", "files_after_planning"),
        ("engine files from a ready sample to the model", "files_from_ready_to_model"),
    ):
        yield f"{title}: {len(found[key])}"
        yield "  " + " ".join(found[key])


def main() -> int:
    """Print the map."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one object in place of the text")
    found = draw()
    print(json.dumps(found, indent=1) if parser.parse_args().json else "\n".join(tell(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
