"""Draws the control panels of the tutorials, and the spreadsheet with questions on them.

    python tools/draw_panels.py [FOLDER]        (default: src/eyechart/catalogue/demo_data/panels)

`eyechart demo --files DIR` copies them. A panel has a lamp and a gauge of up to ten bars; half of the
photos are dark. The same bytes come out again with the same Pillow, apart from the date in the workbook.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import xlsxwriter
from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent.parent / "src" / "eyechart" / "catalogue" / "demo_data" / "panels"
LAMPS = {"red": "#dc2828", "amber": "#fab41e", "green": "#28b446"}
N_PANELS = 40


def draw_panel(number: int, lamp: str, bars: int, light: str) -> Image.Image:
    """One photo: 640 by 400 pixels; a bar of the gauge is 16 pixels wide and 4 from the next."""
    photo = Image.new("RGB", (640, 400), "#d8d8d8" if light == "day" else "#303030")
    draw = ImageDraw.Draw(photo)
    draw.ellipse((40, 40, 140, 140), fill=LAMPS[lamp])
    draw.text((480, 40), f"PANEL {number}", fill="#808080", font_size=24)
    draw.rectangle((198, 248, 402, 312), fill="black")
    for bar in range(bars):
        draw.rectangle((202 + 20 * bar, 252, 217 + 20 * bar, 308), fill="#30a0ff")
    return photo.quantize(64)


def main(folder: Path = FOLDER) -> None:
    """Write the photos and the workbook."""
    (folder / "photos").mkdir(parents=True, exist_ok=True)
    rng = random.Random(4)
    rows = [["Photo", "Question", "Answer", "Category", "Light"]]
    for number in range(1, N_PANELS + 1):
        lamp, bars, light = rng.choice(list(LAMPS)), rng.randint(1, 10), rng.choice(["day", "night"])
        name = f"photos/panel-{number:02}.png"
        draw_panel(number, lamp, bars, light).save(folder / name, optimize=True)
        rows.append([name, "Which lamp is lit: red, amber or green?", lamp, "lamp", light])
        rows.append([name, "What charge does the gauge show, in percent?", f"{10 * bars}%", "charge", light])
    with xlsxwriter.Workbook(str(folder / "questions.xlsx")) as book:
        sheet = book.add_worksheet("Panels")
        for line, cells in enumerate(rows):
            sheet.write_row(line, 0, cells)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
