"""A program in place of ``vllm``, ``python -m sglang`` or ``transformers``: serves a model that says "A".

It is started as they are, and takes the same arguments. What it does is in the environment: STANDIN is
"crash" (ends before it is ready), "never" (is never ready), "die" (answers one request with HTTP 500, then
ends), "chatty" (prints 40 MB) or nothing. STANDIN_PIDS names a file that gets the numbers of its processes:
it has two helpers, as real servers do, of which one is in a session of its own.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HELPER = "import time\nwhile True: time.sleep(60)"


def install(folder: Path, name: str = "vllm") -> Path:
    """Put the program into a folder under the name of a real one."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Handler(BaseHTTPRequestHandler):
    name = ""
    mode = ""

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(503 if self.mode == "never" else 200, {})
        else:
            self.answer(200, {"data": [{"id": self.name, "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["model"] != self.name:
            self.answer(404, {"error": {"message": f"The model {asked['model']} does not exist."}})
            return
        if self.mode == "die":
            self.answer(500, {"error": {"message": "CUDA error: an illegal memory access"}})
            sys.stderr.write("EngineCore died\n")
            sys.stderr.flush()
            os._exit(3)
        message = {"role": "assistant", "content": "A"}
        self.answer(200, {"choices": [{"message": message, "finish_reason": "stop"}], "model": self.name})

    def answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    arguments = sys.argv[1:]
    Handler.mode = os.environ.get("STANDIN", "")
    port = int(arguments[arguments.index("--port") + 1])
    named = "--served-model-name"
    weights = arguments[arguments.index("--model-path") + 1] if "--model-path" in arguments else arguments[1]
    Handler.name = arguments[arguments.index(named) + 1] if named in arguments else weights
    helper = subprocess.Popen([sys.executable, "-c", HELPER])
    apart = subprocess.Popen([sys.executable, "-c", HELPER], start_new_session=True)
    with Path(os.environ["STANDIN_PIDS"]).open("a") as file:
        file.write(f"{os.getpid()} {helper.pid} {apart.pid}\n")
    sys.stderr.write(f"loading {weights}\n")
    names = sorted(os.environ)
    sys.stderr.write(f"environment: {' '.join(names)}\n")
    if Handler.mode == "chatty":
        for number in range(400_000):
            sys.stderr.write(f"{number:090}\n")
        sys.stderr.write("the last line\n")
    if Handler.mode == "crash":
        sys.exit("\x1b[31mValueError: no memory for the KV cache\x1b[0m")
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
