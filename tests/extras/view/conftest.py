"""Runs to look at, and the server of the web page in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import eyechart as ec
from support.command import start

# The newline after it would end a line of the event stream, the rest an element or an attribute.
EVIL = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"></svg></div>\n\ndata: x\n\n\u202eevil " + "long" * 500
)


class Hostile:
    """A model whose replies attack the page."""

    def generate(self, text: str, images: list[str]) -> str:
        return EVIL


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the demo that differ, and a hostile one."""
    out = tmp_path_factory.mktemp("view") / "runs"
    for model in ("baseline/random", "baseline/majority", Hostile()):
        ec.run("demo", model, out=out, limit=60, progress=False)
    return out


Serve = Callable[..., str]


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Starts `eyechart view` on a folder, and returns its address without the slash at its end."""
    started: list[subprocess.Popen[str]] = []

    def serve_it(root: Path, *flags: str) -> str:
        process = start("view", root, "--port", "0", *flags, cwd=root)
        started.append(process)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=10)[1]
        return address.rstrip("/")

    yield serve_it
    for process in started:
        process.terminate()
        _, said = process.communicate(timeout=120)
        assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def address(runs: Path, serve: Serve) -> str:
    return serve(runs)
