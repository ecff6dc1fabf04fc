"""``eyechart demo``: a first run with no key, no GPU, no download."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from rich.text import Text

from eyechart.baselines import can_look
from eyechart.catalogue.demo import PANELS, QUESTIONS
from eyechart.cli.run import evaluate_all
from eyechart.console import JSON_HELP, note, print_rich, print_runs
from eyechart.errors import UsageError
from eyechart.option import add_option, read_given_options
from eyechart.registry import Execute, command
from eyechart.runs.options import Options
from eyechart.terminal import print_text

DESCRIPTION = """\
Run the benchmark that comes with eyechart: questions on drawn charts, tables, signs, receipts and shapes.
Three baselines answer it: baseline/random guesses, baseline/majority sees no image and picks the most
frequent answer, baseline/look reads text and measures colours, shapes and positions. None of them is a
vision-language model; they show what a score means before you spend anything on one.
"""

BASELINES = ("baseline/random", "baseline/majority", "baseline/look")

NEXT = """
What to try next:
  {eyechart} show {folder} {sample}
      one sample in full: prompt, images, reply, score
  {eyechart} report {folder} --xlsx demo.xlsx
      the same as a spreadsheet
  {eyechart} compare {runs}
      the models compared by category, and which questions flipped
  {eyechart} run demo -m openai/NAME --base-url http://localhost:8000/v1
      your own model against these baselines
  {eyechart} demo --files examples
      small example files to start your own from
  {eyechart} data check YOUR_FILE.tsv
      check your own questions"""

# The questions of the quickstart, by their ids in the demo and in the file.
OPEN = {"charts-cups-3": "cups", "charts-rain-4": "rain", "signs-stop-1": "stop", "shapes-pair-2": "pair"}
CHOICES = (
    "charts-cups-1", "charts-cups-2", "charts-towers-1", "charts-visitors-2", "tables-food-2",
    "tables-lessons-2", "signs-ways-3", "signs-bakery-2",
)  # fmt: skip


@command("demo", "a first run: no key, no GPU, no download", description=DESCRIPTION)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    for name in ("out", "limit", "fresh", "progress"):
        add_option(parser, Options, name)
    parser.add_argument(
        "--files",
        metavar="DIR",
        help="run nothing; write the files of the quickstart and the tutorials: mine.jsonl, mine.tsv, "
        "questions.xlsx and their images",
    )
    parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return execute


def execute(args: argparse.Namespace) -> int:
    """Run the three baselines and show them side by side."""
    if args.files:
        return _write_files(Path(args.files))
    models = BASELINES if can_look() else BASELINES[:-1]
    runs = list(evaluate_all(["demo"], models, read_given_options(Options, args)))
    print_runs(runs, as_json=args.json)
    if models != BASELINES:
        note("baseline/look, which reads the images, was left out: pip install 'eyechart[ocr]'")
    if not args.json and runs:
        last = runs[-1]
        read = [result.sample.id for result in last.samples() if result.outcome in ("wrong", "correct")]
        sample = read[0] if read else "'#1'"
        print_rich(
            Text(NEXT.format(eyechart=_command(), folder=last.folder, runs=last.folder.parent, sample=sample))
        )
    return max((done.exit_code for done in runs), default=0)


def _command() -> str:
    """How to call the command here: by name if the shell finds it, else by path."""
    called = Path(sys.argv[0])
    if called.name != "eyechart":
        return f"{sys.executable} -m eyechart"
    found = shutil.which("eyechart")
    return "eyechart" if found and Path(found).resolve() == called.resolve() else str(called)


def _write_files(folder: Path) -> int:
    """Write a file of open questions, one of multiple choice and a spreadsheet, with their images."""
    known = {row["id"]: row for row in map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())}
    lines, table = "", "index\tquestion\tA\tB\tC\tD\tanswer\tcategory\timage\n"
    for asked, name in OPEN.items():
        row = known[asked]
        line = {"id": name, "image": row["file_name"], "question": row["question"], "answer": row["answer"]}
        lines += json.dumps(line) + "\n"
    for number, asked in enumerate(CHOICES, start=1):
        row = known[asked]
        options = [line[3:] for line in row["options"].splitlines()]
        cells = (str(number), row["question"], *options, *[""] * (4 - len(options)), row["answer"])
        table += "\t".join((*cells, row["category"], row["file_name"])) + "\n"
    images = [QUESTIONS.parent / known[asked]["file_name"] for asked in (*OPEN, *CHOICES)]
    panels = [PANELS / "questions.xlsx", *sorted((PANELS / "photos").iterdir())]
    contents = {
        folder / "mine.jsonl": lines.encode(),
        folder / "mine.tsv": table.encode(),
        **{folder / path.relative_to(QUESTIONS.parent): path.read_bytes() for path in images},
        **{folder / path.relative_to(PANELS): path.read_bytes() for path in panels},
    }
    for path, content in contents.items():
        if path.exists() and path.read_bytes() != content:
            raise UsageError(
                f"{path} exists and differs from the example", hint="name another folder: --files DIR"
            )
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print_text(
        f"wrote mine.jsonl, mine.tsv, questions.xlsx and their images into {folder}\n"
        f"next: {_command()} data check {folder / 'mine.jsonl'}"
    )
    return 0
