"""Take the pictures of the pages that README.md and docs/report.md show, from real runs of the demo.

    python tools/draw_pages.py        # needs eyechart[ocr], Playwright and Debian's Chromium

Writes docs/report.png, docs/report-sample.png, docs/report-dark.png and docs/compare.png.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import eyechart as ec
from eyechart.runs.pages import write_comparison_html

DOCS = Path(__file__).parents[1] / "docs"
COLOURS = 256  # of a picture: text and plots need no more, and the file is a third as large


def shoot(browser: Any, page: Path, name: str, *, fragment: str = "", **screen: Any) -> None:
    """One picture of a page."""
    usual = {"viewport": {"width": 1180, "height": 1130}, "color_scheme": "light"}
    context = browser.new_context(**(usual | screen))
    tab = context.new_page()
    tab.goto(page.as_uri() + fragment)
    tab.wait_for_selector("html[data-ready]")
    if fragment:
        tab.wait_for_selector(".reader .card")
    tab.wait_for_timeout(500)  # plots are drawn and images are decoded
    shot = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)
    print(f"{(DOCS / name).stat().st_size:>9,}  {name}")
    context.close()


def main() -> None:
    """Run the demo twice, write the pages, take the pictures."""
    with tempfile.TemporaryDirectory() as out, sync_playwright() as playwright:
        runs = [
            ec.run("demo", f"baseline/{name}", out=out, progress=False, input=kind)
            for name, kind in (("look", "none"), ("look", "image"), ("majority", "image"))
        ]
        report = runs[1].folder / "report.html"
        compared = Path(out) / "compare.html"
        write_comparison_html(ec.compare(runs[1], runs[2]), compared)
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot(browser, report, "report.png")
        shoot(browser, report, "report-sample.png", fragment="#sample=charts-visitors-1")
        phone = {"width": 390, "height": 1130}
        shoot(browser, report, "report-dark.png", color_scheme="dark", viewport=phone)
        shoot(browser, compared, "compare.png")
        browser.close()


if __name__ == "__main__":
    main()
