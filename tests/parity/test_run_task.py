"""`run_task` of evalscope 1.14.1 and of eyechart on the same files and the same replies, end to end."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image

from eyechart.errors import NO_ANSWER
from eyechart.pipelines.vlmevalkit.score import read_back
from parity.conftest import Programs
from parity.replies import STYLES, Question, make_sets
from support.server import Asked, Server
from support.tasks import sheet

MODEL = "parity-model"
JUDGE = "judge-model"
_MARKER = re.compile(r"\[[a-z_]+-\d+-\d+\]")


@pytest.mark.timeout(1800)
def test_every_verdict_is_that_of_evalscope(programs: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("EYECHART_PARITY_SEED") or random.SystemRandom().randrange(10**6))
    sets = make_sets(seed)
    n_replies = sum(map(len, sets.values()))
    with capsys.disabled():
        print(f"\n{n_replies:,} replies in {len(STYLES)} styles: EYECHART_PARITY_SEED={seed}")  # noqa: T201
    assert n_replies >= 10_000
    assert len(STYLES) >= 50
    theirs, ours = _run_both(programs, sets)
    differences: list[str] = []
    for name, rows in sets.items():
        differences += _compare(name, rows, theirs, ours)
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:40])


@pytest.mark.timeout(600)
def test_a_judge_is_asked_the_same_and_decides_the_same(programs: Programs) -> None:
    names = ("groups", "chinese", "two_to_six", "odd_golds")
    sets = {name: rows for name, rows in make_sets(7, n_rows=60).items() if name in names}
    asked: list[list[str]] = [[], []]  # by the released program, then here

    def judge(request: Asked) -> str:
        is_ours = (programs.home / "ours").exists()
        if request.text != "hello":  # by which VLMEvalKit finds out whether its judge works
            asked[is_ours].append(json.dumps(request.body, sort_keys=True, ensure_ascii=False))
        return "ABZ"[zlib.crc32(request.text.encode()) % 3]

    theirs, ours = _run_both(programs, sets, judge)
    assert asked[0]
    only_theirs, only_ours = (Counter(one) - Counter(other) for one, other in (asked, asked[::-1]))
    assert (only_theirs, only_ours) == (Counter(), Counter())
    differences = [one for name, rows in sets.items() for one in _compare(name, rows, theirs, ours, JUDGE)]
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:40])


def _run_both(
    programs: Programs, sets: dict[str, list[Question]], judge: Callable[[Asked], str] | None = None
) -> tuple[Path, Path]:
    image = programs.data / "picture.png"
    Image.new("RGB", (120, 120), "red").save(image)
    replies = {row.marker: row.reply for rows in sets.values() for row in rows}
    for name, rows in sets.items():
        with (programs.data / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow([*rows[0].values, "image_path"])
            for row in rows:
                writer.writerow(["" if value is None else value for value in (*row.values.values(), image)])

    def answer(asked: Asked) -> str:
        if judge is not None and asked.body["model"] == JUDGE:
            return judge(asked)
        found = _MARKER.search(asked.text)
        assert found, asked.text
        return replies[found[0]]

    with Server(answer) as server:
        model = {"name": "CustomAPIModel", "type": MODEL, "key": "EMPTY"}
        model["api_base"] = f"{server.base_url}/chat/completions"
        inner = {"model": [model], "data": list(sets), "nproc": 48, "retry": 1, "judge": "exact_matching"}
        if judge is not None:
            inner |= {"judge": JUDGE, "judge_base_url": server.base_url, "judge_key": "EMPTY"}
        config = json.dumps({"eval_backend": "VLMEvalKit", "eval_config": inner})
        run = f"import json\nfrom evalscope.run import run_task\nrun_task(json.loads({config!r}))\n"
        return programs.run(run)


def _compare(
    name: str, rows: list[Question], their_folder: Path, our_folder: Path, judge: str = "exact_matching"
) -> list[str]:
    """What differs in the files of a data set: the accuracies, and the hit of every row."""
    folders, result = (their_folder, our_folder), f"{judge}_result.xlsx"
    files = [_find(folder, f"{MODEL}_{name}_acc.csv") for folder in folders]
    theirs, ours = (path.read_text(encoding="utf-8") for path in files)
    found = [] if theirs == ours else [f"{name}: {theirs!r}, here {ours!r}"]
    of_theirs, of_ours = (_read_hits(_find(folder, f"{MODEL}_{name}_{result}")) for folder in folders)
    for row in rows:
        index = str(row.values["index"])
        hits = of_theirs.get(index), of_ours.get(index)
        if hits[0] != hits[1]:
            found.append(f"{name}: {row.style}: {hits[0]}, here {hits[1]}: {row.reply!r} {dict(row.values)}")
    for ending in (".xlsx", f"_{result}"):
        found += _compare_sheets(*(_find(folder, f"{MODEL}_{name}{ending}") for folder in folders))
    return found


def _compare_sheets(theirs: Path, ours: Path) -> Iterator[str]:
    """Columns, their order, the order of rows, and every cell."""
    rows, here = (_read_cells(path) for path in (theirs, ours))
    if rows[0] != here[0] or len(rows) != len(here):
        yield f"{ours.name}: {len(rows)} rows of {rows[0]}, here {len(here)} rows of {here[0]}"
        return
    for row, other in zip(rows, here, strict=True):
        for name, cell, own in zip(rows[0], row, other, strict=True):
            if cell != own and not (name == "prediction" and own and _is_read_back(cell, own)):
                yield f"{ours.name}: {name} of {row[0]}: {cell!r}, here {own!r}"


def _is_read_back(cell: Any, reply: str) -> bool:
    """Whether the cell has what is left of a reply in a file that pandas wrote and read again."""
    return str("nan" if cell is None else cell) == str(_plain(read_back(reply)))


def _read_cells(path: Path) -> list[list[Any]]:
    rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [[_plain(cell) for cell in row] for row in rows]


def _plain(cell: Any) -> Any:
    """Without what only the writers of the files differ in, and with one text for all failures.

    An empty reply is a failure there.
    """
    if not isinstance(cell, str):
        return cell
    text = cell.replace("_x000D_", "\r").replace("\r\n", "\n")
    return None if text.strip() == NO_ANSWER else text


def _find(folder: Path, name: str) -> Path:
    [path] = folder.glob(f"outputs/*/{MODEL}/{name}")
    return path


def _read_hits(path: Path) -> dict[str, Any]:
    return {str(row["index"]): row["hit"] for row in sheet(path)}
