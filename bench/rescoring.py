"""How long it takes to score stored replies again: 50,000 of each family, in a run folder as a run leaves it.

    python bench/rescoring.py              all families
    python bench/rescoring.py multi choice --replies 10000

Prints seconds, replies a second, and the ratio to reading the same replies out of the journal without
scoring them, which says how much of the time is scoring. Machines differ; ratios travel.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from eyechart.runs.replies import rescore
from eyechart.store.journal import FILE_NAME, Ask, Journal
from eyechart.types import Reply, Sample

Case = tuple[Sample, str]

TEXT = (
    "the chart shows that sales rose in north while south fell by about a third over these years and east "
    "stayed level compared with west where values doubled"
)
WORDS = TEXT.split()
NAMES = ("Germany", "United States", "Nigeria", "Niger", "South Korea", "Brazil", "Norway", "Japan", "Peru")


def sentence(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n_words))


def choice_cases(rng: random.Random, n: int) -> Iterator[Case]:
    """Multiple choice: bare letters, statements and long explanations."""
    for k in range(n):
        choices = dict(zip("ABCD", rng.sample(NAMES, 4), strict=True))
        letter = rng.choice("ABCD")
        explained = f"{sentence(rng, 60)}. So I choose ({letter})"
        said = rng.choice((letter, f"The answer is {letter}.", explained))
        yield Sample(id=str(k), question="Which country?", golds=(rng.choice("ABCD"),), choices=choices), said


def infochartqa_cases(rng: random.Random, n: int) -> Iterator[Case]:
    """Every question type in about equal parts, with short and long replies."""
    for k in range(n):
        kind = rng.choice((1, 2, 10, 13, 40, 54, 60, 70, 71, 72, 90, 101, 202, 300))
        if kind in (202, 300):
            gold, said = rng.choice("ABCD"), rng.choice("ABCD")
        elif kind in (40, 71):
            gold, said = ", ".join(rng.sample(NAMES, 3)), ", ".join(rng.sample(NAMES, 3))
        elif kind in (60, 70, 90):
            gold, said = rng.choice(NAMES), rng.choice(NAMES)
        else:
            gold, said = f"{rng.uniform(1, 5000):.1f}", f"{rng.uniform(1, 5000):.1f} million"
        if rng.random() < 0.4:
            said = f"{sentence(rng, 50)}. {said}"
        sample = Sample(id=str(k), question="?", golds=(gold,), meta={"question_type_id": kind})
        yield sample, said


def multi_cases(rng: random.Random, n: int) -> Iterator[Case]:
    """SA, MA and FB, as the benchmark mixes them."""
    for k in range(n):
        kind = rng.choices(("SA", "MA", "FB"), (80, 12, 8))[0]
        letters = "".join(sorted(rng.sample("ABCDE", 1 if kind == "SA" else 3)))
        gold = letters if kind != "FB" else f"{rng.randint(1, 99)}\n{rng.randint(1, 99)}"
        said = gold if rng.random() < 0.5 else f"{sentence(rng, 30)}\n\n答案为：{rng.choice('ABCDE')}"
        yield Sample(id=f"czsx_{k}_0", question="?", golds=(gold,), meta={"question_type": kind}), said


FAMILIES: dict[str, tuple[str, Callable[[random.Random, int], Iterator[Case]]]] = {
    "choice": ("choice", choice_cases),
    "choice-vlmevalkit": ("choice-vlmevalkit", choice_cases),
    "infochartqa": ("infochartqa", infochartqa_cases),
    "default": ("default", infochartqa_cases),
    "multi": ("multi", multi_cases),
}


def make_run(folder: Path, scorer: str, cases: list[Case]) -> None:
    """A run folder that holds the replies and no verdict yet."""
    folder.mkdir(parents=True)
    journal = Journal.create(folder / FILE_NAME)
    journal.replace_samples(sample for sample, _ in cases)
    for sample, said in cases:
        journal.append_reply(sample.id, 0, Ask(key=sample.id, recipe="", messages=[]), Reply(text=said))
    journal.set_meta("manifest", {"benchmark": "bench", "model": "bench", "scorer": scorer, "trials": 1})
    journal.close()


def read_s(folder: Path, scorer: str) -> float:
    start = time.perf_counter()
    for _ in Journal.open(folder / FILE_NAME).results(scorer):
        pass
    return time.perf_counter() - start


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of: {', '.join(FAMILIES)}")
    parser.add_argument("--replies", type=int, default=50_000, metavar="N")
    args = parser.parse_args()
    print(f"{'family':20} {'replies':>8} {'seconds':>8} {'per s':>8} {'x reading':>9}")
    for family in args.families or FAMILIES:
        scorer, cases = FAMILIES[family]
        with tempfile.TemporaryDirectory() as out:
            folder = Path(out) / family
            make_run(folder, scorer, list(cases(random.Random(0), args.replies)))
            reading_s = read_s(folder, scorer)
            start = time.perf_counter()
            rescore(folder)
            seconds = time.perf_counter() - start
        rate = args.replies / seconds
        print(f"{family:20} {args.replies:8,} {seconds:8.1f} {rate:8,.0f} {seconds / reading_s:9.1f}")


if __name__ == "__main__":
    main()
