"""How well replies are read: our readers beside other evaluators' rules, on the same labelled replies.

    python bench/readers.py                                 the shipped sets, tests/score/replies/*.jsonl
    python bench/readers.py mine.jsonl --errors             another set, and every row that is read wrongly
    python bench/readers.py --lmms-eval ENV/lib/python3.12/site-packages

A row is `{"reply", "options", "expected", "style", "language"}` for multiple choice, where `expected` is a
letter or "none", and `{"reply", "golds", "expected", "style", "language"}` for an open question, where
`expected` says whether the reply is right. A file whose rows name a `set` gives a table per set.
Of choices the table gives

    precision    right letters / letters read
    recall       right letters / rows whose expected is a letter
    wrong reads  letters read that are not expected, those of rows expected to be "none" included

and of open answers how many wrong replies count as right, and how many right ones as wrong.

The plain baseline is bench/baseline.py.
VLMEvalKit's rules are called as `eyechart.score.choice.infer`, which agrees with the official code.
lmms-eval's `extract_mcq_answer` is called in the installation that --lmms-eval names (an environment with
`pip install --no-deps lmms_eval` is enough), after its own function that removes the reasoning.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from baseline import read_plain

from eyechart.score.choice import infer
from eyechart.score.default import score_default
from eyechart.types import Reply, Sample

SHIPPED = Path(__file__).parents[1] / "tests" / "score" / "replies"
NONE = "none"
GROUPS = ("all", "English", "Chinese", "other")

Row = Mapping[str, Any]
ChoiceReader = Callable[[str, Mapping[str, str]], str | None]


class ChoiceFigures(msgspec.Struct):
    """Counts of one reader on one group of rows."""

    n: int = 0
    n_letters: int = 0  # rows whose expected is a letter
    n_read: int = 0
    n_right: int = 0

    @property
    def precision(self) -> float:
        return self.n_right / self.n_read if self.n_read else 1.0

    @property
    def recall(self) -> float:
        return self.n_right / self.n_letters if self.n_letters else 1.0

    @property
    def wrong_reads(self) -> int:
        return self.n_read - self.n_right

    def add(self, read: str | None, expected: str) -> None:
        self.n += 1
        self.n_letters += expected != NONE
        self.n_read += read is not None
        self.n_right += read is not None and read == expected


class OpenFigures(msgspec.Struct):
    """Counts of the default scorer on one group of rows."""

    n_right: int = 0  # replies labelled right
    n_wrong: int = 0
    false_right: int = 0
    false_wrong: int = 0

    def add(self, is_right: bool, expected: bool) -> None:
        self.n_right += expected
        self.n_wrong += not expected
        self.false_right += is_right and not expected
        self.false_wrong += expected and not is_right


def load_rows(path: Path) -> list[Row]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [_to_row(row) for row in rows if not row.get("unsure")]


def _to_row(row: dict[str, Any]) -> Row:
    """A row of this page's form; replies of real models have `label` and `gold` instead."""
    if "label" not in row:
        return row
    gold = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
    found = {"style": "real", "language": "en", "set": row.get("stratum", "natural"), **row}
    if row.get("options"):
        return {**found, "expected": row["label"] or NONE}
    del found["options"]
    return {**found, "golds": [str(one) for one in gold], "expected": bool(row["label"])}


def split_sets(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each set by its name; rows that name none are the set ""."""
    sets: dict[str, list[Row]] = {}
    for row in rows:
        sets.setdefault(row.get("set", ""), []).append(row)
    return sets


def name_groups(row: Row) -> tuple[str, str]:
    """The groups that a row counts in.

    >>> name_groups({"language": "zh"}), name_groups({"language": "fr"})
    (('all', 'Chinese'), ('all', 'other'))
    """
    return "all", {"en": "English", "zh": "Chinese"}.get(row.get("language", "en"), "other")


def read_eyechart(reply: str, options: Mapping[str, str]) -> str | None:
    return infer(reply, options, rules="eyechart")


def read_vlmevalkit(reply: str, options: Mapping[str, str]) -> str | None:
    """VLMEvalKit's letter; its "Z", a refusal, is not a letter read."""
    letter = infer(reply, options)
    return letter if letter in options else None


def load_lmms_eval(site_packages: Path) -> ChoiceReader:
    """lmms-eval's `extract_mcq_answer`, from its own files; importing the package would need torch."""
    package = site_packages / "lmms_eval"
    extract = _load_module(package / "tasks" / "_task_utils" / "mcq_extract.py").extract_mcq_answer
    strip = _load_module(package / "api" / "reasoning.py").strip_reasoning_tags
    tags = [["<think>", "</think>"], ["<thinking>", "</thinking>"]]  # its filter's defaults

    def read(reply: str, options: Mapping[str, str]) -> str | None:
        return extract(strip(reply, tags), list(options)) or None

    return read


def _load_module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(
            f"{path}: no such file; --lmms-eval takes the site-packages folder that has lmms_eval"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_choice(rows: Sequence[Row], read: ChoiceReader) -> dict[str, ChoiceFigures]:
    figures = {group: ChoiceFigures() for group in GROUPS}
    for row in rows:
        letter = read(row["reply"], row["options"])
        for group in name_groups(row):
            figures[group].add(letter, row["expected"])
    return figures


def judge_open(row: Row) -> tuple[bool, str]:
    """Whether the default scorer takes the reply as right, and by which route."""
    sample = Sample(id="1", question=row.get("question") or "", golds=tuple(row["golds"]))
    score = score_default(Reply(text=row["reply"]), sample)
    return score.value == 1.0, f"{score.route} {score.read!r}"


def measure_open(rows: Sequence[Row]) -> dict[str, OpenFigures]:
    figures = {group: OpenFigures() for group in GROUPS}
    for row in rows:
        is_right, _ = judge_open(row)
        for group in name_groups(row):
            figures[group].add(is_right, row["expected"])
    return figures


def draw_choice(rows: Sequence[Row], readers: Mapping[str, ChoiceReader]) -> Iterator[str]:
    yield f"{'reader':<20} {'precision':>9} {'recall':>7} {'wrong reads':>11}   " + "   ".join(
        f"{'recall ' + group:>14}" for group in GROUPS[1:]
    )
    for name, read in readers.items():
        figures = measure_choice(rows, read)
        whole = figures["all"]
        by_group = "   ".join(f"{figures[group].recall:>14.3f}" for group in GROUPS[1:])
        yield f"{name:<20} {whole.precision:>9.3f} {whole.recall:>7.3f} {whole.wrong_reads:>11}   {by_group}"


def draw_open(rows: Sequence[Row]) -> Iterator[str]:
    yield f"{'rows':<20} {'false right':>16} {'false wrong':>16}"
    for group, figure in measure_open(rows).items():
        wrong = f"{figure.false_right} of {figure.n_wrong}"
        yield f"{group:<20} {wrong:>16} {f'{figure.false_wrong} of {figure.n_right}':>16}"


def draw_errors(rows: Sequence[Row]) -> Iterator[str]:
    """Every row on which our reader and the label differ."""
    for row in rows:
        place = f"{row.get('language', 'en')} {row['style']}: {row['reply']!r}"
        if "options" in row:
            read = read_eyechart(row["reply"], row["options"]) or NONE
            if read != row["expected"]:
                yield f"{row['expected']:>4} read {read:<4} {place} {row['options']}"
        else:
            is_right, why = judge_open(row)
            if is_right != row["expected"]:
                kind = "false right" if is_right else "false wrong"
                yield f"{kind} {place} for {row['golds']} ({why})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="labelled replies, JSONL")
    parser.add_argument("--lmms-eval", type=Path, metavar="DIR", help="site-packages that has lmms_eval")
    parser.add_argument("--errors", action="store_true", help="list the rows that our readers get wrong")
    args = parser.parse_args()
    readers: dict[str, ChoiceReader] = {
        "eyechart": read_eyechart,
        "plain baseline": read_plain,
        "VLMEvalKit's rules": read_vlmevalkit,
    }
    if args.lmms_eval:
        readers["lmms-eval"] = load_lmms_eval(args.lmms_eval)
    for path in args.files or sorted(SHIPPED.glob("*.jsonl")):
        for name, rows in split_sets(load_rows(path)).items():
            is_choice = "options" in rows[0]
            kind = "multiple choice" if is_choice else "open questions"
            print(f"\n{path.name}{name and f', set {name}'}: {len(rows)} replies, {kind}\n")
            print(*(draw_choice(rows, readers) if is_choice else draw_open(rows)), sep="\n")
            if args.errors:
                print(*draw_errors(rows), sep="\n")


if __name__ == "__main__":
    main()
