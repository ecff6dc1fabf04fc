"""`run_task` of evalscope 1.14.1 and of eyechart on the same files and the same replies, end to end."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from parity.conftest import Programs
from parity.replies import N_SETS, STYLES, Question, make_sets
from support.server import Asked, Server
from support.tasks import sheet

MODEL = "parity-model"
_MARKER = re.compile(r"\[[a-z_]+-\d+-\d+\]")


def _write(path: Path, rows: list[Question], image: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow([*rows[0].values, "image_path"])
        for row in rows:
            writer.writerow(["" if value is None else value for value in (*row.values.values(), image)])


def _find(folder: Path, name: str) -> Path:
    [path] = folder.glob(f"outputs/*/{MODEL}/{name}")
    return path


@pytest.mark.timeout(1800)
def test_every_verdict_is_that_of_evalscope(programs: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("EYECHART_PARITY_SEED") or random.SystemRandom().randrange(10**6))
    sets = make_sets(seed)
    n_replies = sum(map(len, sets.values()))
    with capsys.disabled():
        print(
            f"\n{n_replies:,} replies in {len(STYLES)} styles, {len(sets)} data sets; EYECHART_PARITY_SEED={seed}"
        )
    assert len(sets) == N_SETS and n_replies >= 10_000 and len(STYLES) >= 50
    image = programs.data / "picture.png"
    Image.new("RGB", (120, 120), "red").save(image)
    replies = {row.marker: row.reply for rows in sets.values() for row in rows}
    for name, rows in sets.items():
        _write(programs.data / f"{name}.tsv", rows, image)

    def answer(asked: Asked) -> str:
        found = _MARKER.search(asked.text)
        return replies[found[0]] if found else "hello"

    with Server(answer) as server:
        config = {
            "eval_backend": "VLMEvalKit",
            "eval_config": {
                "model": [
                    {
                        "type": MODEL,
                        "name": "CustomAPIModel",
                        "api_base": f"{server.base_url}/chat/completions",
                        "key": "EMPTY",
                    }
                ],
                "data": list(sets),
                "mode": "all",
                "nproc": 48,
                "retry": 1,
                "judge": "exact_matching",
            },
        }
        theirs, ours = programs.run(
            f"import json\nfrom evalscope.run import run_task\nrun_task(json.loads({json.dumps(config)!r}))\n"
        )
    differences: Counter[str] = Counter()
    for name, rows in sets.items():
        stem = f"{MODEL}_{name}"
        csvs = [_find(folder, f"{stem}_acc.csv").read_bytes() for folder in (theirs, ours)]
        if csvs[0] != csvs[1]:
            differences[f"{name}: _acc.csv"] += 1
            print(name, *csvs, sep="\n")
        result = f"{stem}_exact_matching_result.xlsx"
        hits = [
            {str(row["index"]): row["hit"] for row in sheet(_find(folder, result))}
            for folder in (theirs, ours)
        ]
        assert hits[0].keys() == hits[1].keys(), name
        for row in rows:
            index = str(row.values["index"])
            if hits[0].get(index) != hits[1].get(index):
                differences[f"{name}: {row.style}"] += 1
                print(name, row.style, hits[0][index], hits[1][index], row.values, repr(row.reply))
    assert not differences, f"seed {seed}: {differences.total()} differences: {dict(differences)}"
