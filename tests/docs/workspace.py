"""The folder and the endpoint that the documentation speaks of."""

from __future__ import annotations

import base64
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from docs.markdown import ROOT, blocks
from eyechart.catalogue.demo import QUESTIONS
from support.files import jsonl
from support.server import Answer, Asked

# Pictures of the demo serve as a user's own. What the server replies is beside each id.
CHOICES = {
    "charts-cups-1": "C",
    "charts-cups-2": "The answer is (D).",
    "charts-towers-1": "The tallest tower is Bellview.",
    "charts-visitors-2": "**B**",
    "tables-food-2": "A. 33 g",
    "tables-lessons-2": "I cannot tell from the picture.",
    "signs-ways-3": "B",
    "signs-bakery-2": r"\boxed{B}",
}
OPEN = {
    "charts-cups-3": "There were 20 cups of juice.",
    "charts-rain-4": "Yes, it did.",
    "signs-stop-1": "It says **STOP**.",
    "receipts-market-1": "The total is 15.95.",
    "shapes-pair-2": "violet",
    "counting-dots-1": "I count eleven circles.",
}
COLOURS = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}


def rows() -> dict[str, dict[str, Any]]:
    """The demo's rows by id."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def prepare(folder: Path) -> None:
    """Put into `folder` what the documentation takes as given."""
    (folder / "images").mkdir()
    known = rows()
    for sample in {**CHOICES, **OPEN}:
        name = known[sample]["file_name"]
        shutil.copyfile(QUESTIONS.parent / name, folder / name)
    header = ["index", "question", "A", "B", "C", "D", "answer", "category", "image"]
    table = [_cells(index, known[name], folder) for index, name in enumerate(CHOICES, start=1)]
    _tsv(folder / "mine.tsv", [header, *table])
    _tsv(folder / "broken.tsv", [header, *_broken(table)])
    for name in ("mine.jsonl", "open.jsonl"):
        jsonl(
            folder / name,
            [
                {
                    "id": name,
                    "image": row["file_name"],
                    **{k: row[k] for k in ("question", "answer", "category")},
                }
                for name, row in known.items()
                if name in OPEN
            ],
        )
    _published(folder, [header, *table])
    replies = [{"id": str(n), "reply": reply} for n, reply in enumerate(CHOICES.values(), start=1)]
    jsonl(folder / "replies.jsonl", replies)


def _published(folder: Path, table: list[list[str]]) -> None:
    """Small files of published shapes, where their benchmarks look for them; the pages spell them out."""
    _borrow("infochartqa.md", "rows.jsonl", folder / "rows.jsonl")
    _borrow("multi.md", "problem.json", folder / "problem.json")
    _borrow("insight-o3.md", "tiny.jsonl", folder / "data" / "vstar_bench" / "vstar_bench.jsonl")
    shutil.copytree(folder / "images", folder / "data" / "vstar_bench" / "images")
    (folder / "LMUData").mkdir()
    _tsv(folder / "LMUData" / "MMBench_DEV_EN.tsv", table)


def _borrow(page: str, file: str, to: Path) -> None:
    [text] = [block.text for block in blocks(ROOT / "docs" / page) if block.file == file]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text, encoding="utf-8")


def _cells(index: int, row: dict[str, Any], folder: Path) -> list[str]:
    options = [line[3:] for line in row["options"].splitlines()]
    picture = base64.b64encode((folder / row["file_name"]).read_bytes()).decode()
    options += [""] * (4 - len(options))
    return [str(index), row["question"], *options, row["answer"], row["category"], picture]


def _broken(table: list[list[str]]) -> list[list[str]]:
    """A gold that is no option, a picture cut off, a picture that is not there, a row without a question."""
    broken = [list(cells) for cells in table]
    broken[1][6] = "E"
    broken[2][8] = broken[2][8][:2000]
    broken[4][8] = "images/food-old.png"
    broken[6][1] = ""
    return broken


def _tsv(path: Path, table: list[list[str]]) -> None:
    path.write_text("".join("\t".join(cells) + "\n" for cells in table), encoding="utf-8")


def answer(asked: Asked) -> Answer | str:
    """The reply of the documentation's server, which also speaks the made-up API of docs/extending.md."""
    if asked.path.endswith(":answer"):
        [question] = [part["text"] for part in asked.body["turns"][-1] if "text" in part]
        as_chat = {"model": asked.body["model"], "messages": [{"role": "user", "content": question}]}
        return Answer(body=json.dumps({"output": answer(replace(asked, body=as_chat, path="/"))}).encode())
    if asked.body["model"] == "judge":
        return "CORRECT" if "CORRECT" in asked.text else "A"
    known = rows()
    for name, reply in {**CHOICES, **OPEN}.items():
        if known[name]["question"] in asked.text:
            return reply
    if asked.images:  # the pictures of `eyechart model check` are plain: their palette holds one colour
        data = base64.b64decode(asked.images[-1].partition(",")[2])
        at = data.find(b"PLTE") + 4
        colour = COLOURS.get((data[at], data[at + 1], data[at + 2]), "a picture")
        return {"red": "A", "blue": "B"}.get(colour, "?") if "Options:" in asked.text else colour
    return "yellow" if "banana" in asked.text else "green"
