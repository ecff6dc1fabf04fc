"""What is asked in the crash tests: every way a run can keep an answer, in small.

Every text that is sent holds ``Question <number>?`` and is sent for one sample alone, so that the words in
the server's log say which sample was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.files import choice_tsv, jsonl, picture
from support.multi import write_json

JUDGE = "judge"


@dataclass(frozen=True)
class Workload:
    """A data file that `make` writes, and the words of the command that are its own."""

    name: str
    make: Callable[[Path, int], object]
    arguments: tuple[str, ...]
    n: int
    trials: int = 1
    has_judge: bool = False
    changing: tuple[str, ...] = ()  # what of its report may change with the number of requests

    @property
    def n_replies(self) -> int:
        """How many replies a whole run has."""
        return self.n * self.trials * (4 if "--circular" in self.arguments else 1)


def _pictures_beside(folder: Path, n: int) -> None:
    """JSONL with picture files; the answers are single letters, matched as text."""
    (folder / "pictures").mkdir()
    rows = []
    for k in range(n):
        (folder / "pictures" / f"{k}.png").write_bytes(picture((k % 256, 90, (k * 5) % 256)))
        kind = ("even", "odd")[k % 2]
        rows.append(
            {
                "id": f"q{k}",
                "question": f"Question {k}? One letter.",
                "image": f"pictures/{k}.png",
                "answer": "ABCD"[k % 4],
                "category": kind,
            }
        )
    jsonl(folder / "q.jsonl", rows)


def _two_options(folder: Path, n: int) -> None:
    """Half of the letters that the server says are no option here: a judge is asked which one is meant."""
    rows = [
        {
            "id": f"q{k}",
            "question": f"Question {k}?",
            "A": "one",
            "B": "two",
            "answer": "AB"[k % 2],
            "category": ("even", "odd")[k // 2 % 2],
        }
        for k in range(n)
    ]
    jsonl(folder / "q.jsonl", rows)


def _rounds(folder: Path, n: int) -> None:
    """Problems of two pictures, each shown in a round of its own."""
    (folder / "images").mkdir()
    problems = {}
    for k in range(n):
        for number, colour in enumerate(("red", "blue"), start=1):
            (folder / "images" / f"{k}_{number}.png").write_bytes(picture(colour))
        problems[f"czsx_{k}"] = {
            "problem_id": f"czsx_{k}",
            "problem_content": f"Question {k}? The first [IMAGE_1]",
            "problem_content_list": [
                f"and of Question {k}? the other [IMAGE_2]: which is it?\nA. one\nB. two\nC. three\nD. four"
            ],
            "problem_type_list": ["单选"],
            "problem_answer_list": ["ABCD"[k % 4]],
            "problem_analysis_list": [""],
            "img_paths": [f"../data/images/{k}_{number}.png" for number in (1, 2)],
            "knowledge": [],
            "education": "初中",
            "subject": ["数学"],
        }
    write_json(folder / "problem.json", problems)


def _choice(folder: Path, n: int) -> None:
    choice_tsv(folder / "q.tsv", n)


CHOICE = Workload("choice", _choice, ("q.tsv",), 96)
FILES = Workload("files", _pictures_beside, ("q.jsonl",), 96)
# Three answers to one request share its count of tokens; what a kill left of them is asked in another.
TRIALS = Workload("trials", _choice, ("q.tsv", "--trials", "3"), 64, trials=3, changing=("tokens", "cost"))
SEPARATE = Workload("separate", _choice, ("q.tsv", "--trials", "3", "--separate-trials"), 32, trials=3)
CIRCULAR = Workload("circular", _choice, ("q.tsv", "--circular"), 24)
JUDGED = Workload("judged", _two_options, ("q.jsonl", "--scorer", "judged"), 80, has_judge=True)
ROUNDS = Workload(
    "rounds",
    _rounds,
    ("problem.json", "--as", "multi", "--set", "input_type=2", "--set", "in_turn=true", "--set", "lang=en"),
    48,
)
ALL = (CHOICE, FILES, TRIALS, SEPARATE, CIRCULAR, JUDGED, ROUNDS)
