"""How well wrong golds are found from the answers of five models: the table of docs/audit.md.

    python bench/suspects.py                       20 benchmarks of 2,000 questions per row

2 % of the golds are wrong; models have scores of 60 to 85 %, difficulties a standard deviation of 1. Prints
Markdown, with the seed: precision at recall .6, within which part of the list that is, and the precision of a
list by the number of models that agree against the gold, and of one that knows how the answers were drawn.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from populations import Rng

from eyechart.stats.suspects import Answers, Suspects, find_skill, rank

SEED = 33
BENCHMARKS = 20
QUESTIONS = 2000
SCORES = (0.60, 0.66, 0.72, 0.78, 0.85)
OPTIONS = "ABCDEFGHIJ"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--benchmarks", type=int, default=BENCHMARKS)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    began = time.perf_counter()
    print("| options | wrong replies on one distractor | precision at recall .6 | part of the list |", end="")
    print(" by agreement | parameters known |\n|---|---|---|---|---|---|")
    for n_options, common in ((4, 0.0), (5, 0.0), (10, 0.0), (4, 0.25), (4, 0.5), (5, 0.5), (10, 0.5)):
        rng = np.random.default_rng(args.seed)
        rows = [measure(rng, n_options, common) for _ in range(args.benchmarks)]
        precision, part, plain, best = np.mean(rows, axis=0)
        told = f"{precision:.3f} | {100 * part:.1f} % | {plain:.3f} | {best:.3f}"
        print(f"| {n_options} | {100 * common:.0f} % | {told} |", flush=True)
    print(f"\n{args.benchmarks} benchmarks per row, seed {args.seed}, {time.perf_counter() - began:.0f} s")


def measure(rng: Rng, n_options: int, common: float) -> tuple[float, float, float, float]:
    """Precision, place, precision by agreement, and precision with the true skills and distractors known."""
    questions, wrong = draw(rng, n_options, common)
    listed = [name for name, _ in rank(questions)]
    plain = sorted(questions, key=lambda name: -count_against(questions[name]))
    informed = Suspects([])
    informed.skills, informed.common = [find_skill(score) for score in SCORES], common
    judged = [(name, found.chance) for name, one in questions.items() if (found := informed.judge(one))]
    best = [name for name, _ in sorted(judged, key=lambda pair: -pair[1])]
    precision, place = find_precision(listed, wrong)
    return precision, place / QUESTIONS, find_precision(plain, wrong)[0], find_precision(best, wrong)[0]


def draw(rng: Rng, n_options: int, common: float) -> tuple[dict[str, Answers], set[str]]:
    """Questions with their golds, and the names of those whose gold is wrong."""
    skills = np.array([find_skill(score) for score in SCORES])
    questions, wrong = {}, set()
    for k in range(QUESTIONS):
        truth, gold = rng.choice(n_options, 2, replace=False)
        others = [one for one in range(n_options) if one != truth]
        favourite = rng.choice(others)
        is_right = rng.random(5) < 1 / (1 + np.exp(rng.normal() - skills))
        missed = np.where(rng.random(5) < common, favourite, rng.choice(others, 5))
        given = np.where(is_right, truth, missed)
        is_wrong = rng.random() < 0.02
        name = str(k)
        if is_wrong:
            wrong.add(name)
        gold = gold if is_wrong else truth
        questions[name] = Answers(
            gold=OPTIONS[gold], given=[OPTIONS[one] for one in given], n_options=n_options
        )
    return questions, wrong


def count_against(question: Answers) -> int:
    others = [one for one in question.given if one != question.gold]
    return max((others.count(one) for one in others), default=0)


def find_precision(listed: list[str], wrong: set[str]) -> tuple[float, int]:
    """The precision at the place where 60 % of the wrong golds have been listed, and the place."""
    found = 0
    for place, name in enumerate(listed, start=1):
        found += name in wrong
        if found >= 0.6 * len(wrong):
            return found / place, place
    return 0.0, len(listed)


if __name__ == "__main__":
    main()
