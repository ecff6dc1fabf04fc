"""What our own scorers make of many replies, to compare two states of the readers verdict by verdict.

    python bench/snapshot.py before.jsonl.gz                    write the verdicts
    python bench/snapshot.py after.jsonl.gz --against before.jsonl.gz    and list what changed, by class

The replies: the labelled sets (tests/score/replies and any FILE), the answers in the golden vectors, and
seeded splices, in which sentences of two labelled replies are joined. Splices have no label; they show how a
change of the readers spreads. A class of changes is the old route and outcome and the new ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyechart.score.choice import score_choice
from eyechart.score.default import score_default
from eyechart.types import Reply, Sample

TESTS = Path(__file__).parents[1] / "tests"
SENTENCE = re.compile(r"(?<=[.!?。！？\n])\s*")

Row = dict[str, Any]


def load(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def find_rows(files: list[Path], n_splices: int) -> Iterator[Row]:
    """Rows with `reply` and `options` or `golds`, and what is expected where that is known."""
    labelled: list[Row] = []
    for path in [*sorted((TESTS / "score" / "replies").glob("*.jsonl")), *files]:
        for row in load(path):
            expected = row.get("expected", row.get("label"))
            found = {"set": path.stem, "reply": row["reply"], "expected": expected}
            golds = row.get("golds", row.get("gold"))
            asked: Row = (
                {"options": row["options"]}
                if row.get("options")
                else {"golds": golds if isinstance(golds, list) else [golds]}
            )
            labelled.append(found | asked)
    yield from labelled
    for path in sorted((TESTS / "golden").glob("*.jsonl")):
        for row in load(path):
            if isinstance(row.get("prediction"), str) and isinstance(row.get("answers"), list):
                yield {"set": path.stem, "reply": row["prediction"], "golds": row["answers"]}
            elif isinstance(row.get("prediction"), str) and isinstance(row.get("choices"), dict):
                yield {"set": path.stem, "reply": row["prediction"], "options": row["choices"]}
            elif isinstance(row.get("reply"), str) and isinstance(row.get("gold"), str):
                yield {"set": path.stem, "reply": row["reply"], "golds": [row["gold"]]}
    rng = random.Random(4)
    sentences = [[part for part in SENTENCE.split(row["reply"]) if part] or [""] for row in labelled]
    for _ in range(n_splices):
        one, other = rng.randrange(len(labelled)), rng.randrange(len(labelled))
        parts = sentences[one][: rng.randint(1, 3)] + rng.sample(sentences[other], 1)
        asked = {key: labelled[one][key] for key in ("options", "golds") if key in labelled[one]}
        yield {"set": "splices", "reply": " ".join(parts)} | asked


def give_verdict(row: Row) -> list[str | None]:
    """Outcome, what was read, and the route."""
    if "options" in row:
        expected = row.get("expected")
        golds = (expected,) if expected in row["options"] else tuple(row["options"])[:1]
        sample = Sample(id="1", question="", golds=golds, choices=row["options"])
        score = score_choice(Reply(text=row["reply"]), sample)
    else:
        sample = Sample(id="1", question="", golds=tuple(map(str, row["golds"])))
        score = score_default(Reply(text=row["reply"]), sample)
    return [score.outcome, score.read, score.route]


def compare(before: list[Row], after: list[Row]) -> Iterator[str]:
    """The changed verdicts by class, most frequent first, with one reply of each."""
    classes: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], str] = defaultdict(str)
    for old, new in zip(before, after, strict=True):
        (was, read, by), (now, reads, how) = old["verdict"], new["verdict"]
        is_choice = "options" in new
        if (was, read) == (now, reads) if is_choice else was == now:
            continue
        group = "splices" if new["set"] == "splices" else "labelled"
        change = (group, f"{by} {was}", f"{how} {now}")
        classes[change] += 1
        examples[change] = examples[change] or f"{new['reply'][:120]!r}: {read!r} -> {reads!r}"
    yield f"{sum(classes.values())} of {len(after)} verdicts changed"
    for change, n in classes.most_common():
        yield f"{n:>6}  {change[0]}: {change[1]} -> {change[2]}\n        {examples[change]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="where to write the verdicts, .jsonl.gz")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="more labelled replies, JSONL")
    parser.add_argument(
        "--against", type=Path, metavar="BEFORE", help="list what changed since that snapshot"
    )
    parser.add_argument("--splices", type=int, default=100_000, metavar="N", help="number of splices")
    args = parser.parse_args()
    rows = [row | {"verdict": give_verdict(row)} for row in find_rows(args.files, args.splices)]
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(rows)} verdicts in {args.out}")
    if args.against:
        with gzip.open(args.against, "rt", encoding="utf-8") as lines:
            print(*compare([json.loads(line) for line in lines], rows), sep="\n")


if __name__ == "__main__":
    main()
