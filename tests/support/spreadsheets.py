"""Five spreadsheets of different making, each with the same three questions on images of one colour."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import xlsxwriter
from PIL import Image

from support.tables import write_workbook

COLOURS = {"red": "A", "blue": "B", "green": "C"}


def draw_colours(folder: Path) -> None:
    (folder / "pics").mkdir()
    for name in COLOURS:
        Image.new("RGB", (64, 48), name).save(folder / "pics" / f"{name}.png")


def other_names(folder: Path) -> Path:
    rows = [[n, "Which colour is it?", f"pics/{name}.png", name] for n, name in enumerate(COLOURS, start=1)]
    return write_workbook(folder / "a.xlsx", ["No.", "Prompt", "Screenshot file", "Ground truth"], *rows)


def merged_header(folder: Path) -> Path:
    book = openpyxl.Workbook()
    book.worksheets[0].title = "Read me"
    book.worksheets[0].append(["Made by Ann"])
    sheet = book.create_sheet("Items")
    sheet.append(["Colours, March"])
    sheet.merge_cells("A1:F1")
    sheet.append(["Question", "Options", None, None, "Correct answer", "Picture"])
    sheet.append([None, "A", "B", "C", None, None])
    sheet.merge_cells("B2:D2")
    sheet.merge_cells("A2:A3")
    for name, letter in COLOURS.items():
        sheet.append(["Which colour is it?", *COLOURS, letter, f"pics/{name}.png"])
    book.save(folder / "b.xlsx")
    return folder / "b.xlsx"


def german(folder: Path, encoding: str = "cp1252") -> Path:
    lines = ["Frage;Bild;Antwort", *(f"Größe?;pics/{name}.png;1,{n}34" for n, name in enumerate(COLOURS))]
    (folder / "c.csv").write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return folder / "c.csv"


def google(folder: Path) -> Path:
    lines = [f"Which colour?,red,blue,green,{n},pics/{name}.png" for n, name in enumerate(COLOURS, start=1)]
    text = "\r\n".join(["Question,Option 1,Option 2,Option 3,Answer,Image", *lines, ",,,,,"])
    (folder / "d.csv").write_text(text, encoding="utf-8", newline="")
    return folder / "d.csv"


def embedded(folder: Path) -> Path:
    book = xlsxwriter.Workbook(folder / "e.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["Question", "Photo", "Answer"])
    for row, name in enumerate(COLOURS, start=1):
        sheet.set_row(row, 60)
        sheet.write_row(row, 0, ["Which colour is it?", "", name])
        sheet.insert_image(row, 1, folder / "pics" / f"{name}.png")
    book.close()
    return folder / "e.xlsx"


MADE = {
    "names": (other_names, tuple(COLOURS)),
    "merged": (merged_header, tuple(COLOURS.values())),
    "german": (german, ("1.034", "1.134", "1.234")),
    "google": (google, tuple(COLOURS.values())),
    "embedded": (embedded, tuple(COLOURS)),
}
