"""``eyechart init``: write a configuration with comments for the files in the current folder."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from eyechart.cli.config import is_config
from eyechart.console import check_targets, load_dotenv, note
from eyechart.data.files.formats import SUFFIXES
from eyechart.data.files.picture_folder import holds_images
from eyechart.data.samples import find_file_source
from eyechart.errors import EyechartError, UsageError
from eyechart.files import atomic_write
from eyechart.registry import Execute, command
from eyechart.runs.options import Options
from eyechart.terminal import to_one_line

HELP = """\
Write a configuration for eyechart run, with comments, from what is in the current folder: files with
questions, folders of images, a .env file, and the environment variables of endpoints. Nothing is sent, and no
key is written. An existing file is kept, unless --force is given.

examples:
  eyechart init
  eyechart run eyechart.yaml --dry-run
  eyechart init charts.yaml --force
"""

_MAX_FILES = 20  # that are opened
_MAX_ENTRIES = 10_000  # of the folder that are looked at
_HALF = re.compile("[\ud800-\udfff]")  # in names of other systems, which are no UTF-8 and cannot be written
_PLAIN = re.compile(r"[A-Za-z][\w./-]*")  # YAML reads it as text
_NOT_TEXT = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}
# Which variable means which provider, and a model to begin with.
PROVIDERS = {
    "OPENAI_BASE_URL": "openai/my-model",
    "OPENAI_API_BASE": "openai/my-model",
    "OPENAI_API_KEY": "openai/gpt-4o-mini",
    "ANTHROPIC_API_KEY": "anthropic/my-model",
    "GEMINI_API_KEY": "google/my-model",
    "GOOGLE_API_KEY": "google/my-model",
    "AZURE_OPENAI_API_KEY": "azure/my-deployment",
    "OPENROUTER_API_KEY": "openrouter/my-model",
    "AWS_BEARER_TOKEN_BEDROCK": "bedrock/my-model",
}


@command("init", "write a configuration for the files in this folder", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument(
        "file",
        nargs="?",
        default="eyechart.yaml",
        metavar="FILE",
        help="the file to write (default: eyechart.yaml)",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    return execute


def execute(args: argparse.Namespace) -> int:
    """Look around and write the file."""
    path = Path(args.file)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{path} is not a YAML file", hint=f"for example: eyechart init {path.stem}.yaml")
    if os.path.lexists(path) and not args.force:
        raise UsageError(f"{path} exists", hint=f"--force replaces it; to run it: eyechart run {path}")
    check_targets(args.file)
    load_dotenv()
    found = look_around(Path())
    with atomic_write(path) as draft:
        draft.write_text(write_config(found, str(path), os.environ), encoding="utf-8")
    what = found.sources[0].name if found.sources else f"no questions were found: set source in {path}"
    note(f"wrote {path} ({what})")
    note(f"next: eyechart run {path} --dry-run")
    return 0


@dataclass(frozen=True)
class FoundSource:
    """A file with questions, or a folder of images."""

    name: str
    columns: tuple[str, ...] = ()
    is_folder: bool = False


@dataclass(frozen=True)
class Found:
    """What a folder holds."""

    sources: Sequence[FoundSource]
    others: Mapping[str, str]  # files that are not read, and why


def look_around(folder: Path) -> Found:
    """The sources in a folder; files with questions come before folders of images."""
    entries = sorted(islice(folder.iterdir(), _MAX_ENTRIES))
    shown = [one for one in entries if not one.name.startswith(".") and _HALF.search(one.name) is None]
    files = [one for one in shown if one.is_file() and one.suffix.lower() in SUFFIXES]
    sources: list[FoundSource] = []
    others: dict[str, str] = {}
    for file in files[:_MAX_FILES]:
        try:
            sources.append(_open(file))
        except EyechartError as err:
            others[file.name] = err.message.removeprefix(f"{file}: ")
    folders = [one for one in shown if one.is_dir() and one.name != "runs"]
    sources += [
        FoundSource(f"{one.name}/", is_folder=True)
        for one in folders
        if _have_images(islice(one.rglob("*"), _MAX_ENTRIES))
    ]
    if not sources and _have_images(shown):
        sources.append(FoundSource("./", is_folder=True))
    return Found(sources, others)


def _have_images(paths: Iterable[Path]) -> bool:
    return any(one.is_file() and holds_images(one) for one in paths)


def _open(file: Path) -> FoundSource:
    """A file whose first row is read as a question; raises if there is none."""
    from eyechart.runs.sources import find_benchmark

    if is_config(str(file)):
        raise UsageError("a configuration")
    source = find_benchmark(str(file), Options()).source
    if next(iter(source), None) is None:
        raise UsageError("it contains no questions")
    opened = find_file_source(source)
    return FoundSource(file.name, opened.detection.columns if opened else ())


# -- writing


def write_config(found: Found, path: str, environment: Mapping[str, str]) -> str:
    """The text of a configuration."""
    path = to_one_line(shlex.quote(path))
    return "\n".join([
        f"# Written by `eyechart init`. To run it: eyechart run {path}",
        f"# What it would send and cost: eyechart run {path} --dry-run",
        "# Flags override this file. All options: eyechart run --help-all",
        "",
        *_write_source(found),
        "",
        *_write_model(environment),
        "",
        "# A part of the questions, for a first try:",
        "# limit: 20",
        "",
        "# Scoring: by default multiple choice by letter, other answers by kind (eyechart score --list).",
        "# scorer: default",
        "# judge: openai/gpt-4o-mini     # a model that judges replies which rules cannot decide",
        "",
        "# concurrency: 64               # requests in flight, at most",
        "# rpm: 500                      # requests per minute, at most",
        "# max_cost: 5                   # stop before more USD are spent",
        "",
        "out: runs                       # the folder for results; the same command again resumes",
        "",
    ])  # fmt: skip


def _write_source(found: Found) -> Iterator[str]:
    yield "# The questions: a file, a folder of images, or a name from `eyechart data list`."
    if not found.sources:
        yield "# No file with questions was found here; demo comes with eyechart."
        yield "source: demo"
    for at, one in enumerate(found.sources):
        yield f"{'# ' * (at > 0)}source: {quote(one.name)}"
    for name, why in found.others.items():
        yield f"# not read: {to_one_line(name)} ({to_one_line(why)})"
    if not found.sources:
        return
    first = found.sources[0]
    yield ""
    if first.is_folder:
        yield "# The question that is asked about every image, and the answers: a table with file names,"
        yield "# a pattern of file names such as '{answer}_*', or folder (the name of each image's folder)."
        yield "ask: What is in this image?"
        yield "# answers: answers.csv"
        return
    yield f"# How it is read: eyechart data check {to_one_line(shlex.quote(first.name))}"
    if first.columns:
        yield f"# Its columns: {to_one_line(', '.join(first.columns))}"
    yield "# If a column is not recognised, name it:"
    yield "# fields:"
    yield "#   question: COLUMN"
    yield "#   answer: COLUMN"
    yield "#   image: COLUMN"


def _write_model(environment: Mapping[str, str]) -> Iterator[str]:
    yield "# The model: provider/name, or python:file.py:Class; several as a list under `models`."
    known = [name for name in PROVIDERS if environment.get(name, "").strip()]
    if not known:
        yield "# No endpoint is set in the environment; baseline/random guesses. For a server of your own:"
        yield "# model: openai/my-model"
        yield "# base_url: http://localhost:8000/v1"
        yield "# temperature: 0"
        yield "# max_tokens: 512"
        yield "model: baseline/random"
        return
    for name in known:
        yield f"# ${name} is set."
    first, *others = dict.fromkeys(PROVIDERS[name] for name in known)
    yield f"model: {first}{'   # change: the name of your model' * ('my-' in first)}"
    yield from (f"# model: {other}" for other in others)
    yield "# base_url: http://localhost:8000/v1   # another endpoint than that of the environment"
    yield "# api_key_env: MY_KEY                  # another variable with the key"
    yield "temperature: 0"
    yield "# max_tokens: 512"


def quote(text: str) -> str:
    """A text as YAML reads it, in quotes where needed.

    >>> quote("questions.tsv"), quote("no"), quote("my file: 1.tsv")
    ('questions.tsv', '"no"', '"my file: 1.tsv"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _NOT_TEXT:
        return text
    return json.dumps(text, ensure_ascii=False)
