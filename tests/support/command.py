"""The command as a user runs it: here, which is quick, or in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from eyechart.cli.main import main

# What a user's environment may hold, and a test must not depend on.
_FOREIGN = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "LMUData", "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL",
    "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION",
    "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION",
    "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, "NO_COLOR": "1", **changes}


def eyechart(*arguments: object, cwd: Path, **changes: str) -> Outcome:
    """Run the command in this process, with its own folder, environment and streams."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, environment(**changes), clear=True),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse's way to say no
            code = end.code if isinstance(end.code, int) else 1
    return Outcome(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def eyechart_process(*arguments: object, cwd: Path, timeout: float = 600, **changes: str) -> Outcome:
    """Run the command in a process of its own and wait for it."""
    return run_process(sys.executable, "-m", "eyechart", *arguments, cwd=cwd, timeout=timeout, **changes)


def run_process(*words: object, cwd: Path, timeout: float = 600, **changes: str) -> Outcome:
    """Run a program and wait for it."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def start(*arguments: object, cwd: Path, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "eyechart", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
