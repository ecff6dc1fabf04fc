"""Draws the pictures of `eyechart view` in docs/: real runs of the demo's questions, in Debian's Chromium.

.venv/bin/python tools/draw_view.py make FOLDER            # needs eyechart[ocr], for baseline/look
.venv-extras/bin/python tools/draw_view.py draw FOLDER docs    # needs Playwright, Chromium
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image

import eyechart as ec
from eyechart.catalogue.demo import QUESTIONS
from eyechart.runs.listing import list_runs

COLOURS = 192  # a palette keeps a picture below 200 kB
MODELS = ("baseline/look", "baseline/majority", "baseline/random")


def make_runs(folder: Path) -> None:
    """The demo's questions in two files, answered by the baselines."""
    folder.mkdir(parents=True)
    shutil.copytree(QUESTIONS.parent / "images", folder / "images")
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines(keepends=True)
    is_chart = ['"charts"' in line for line in lines]
    for name, wanted in (("charts", True), ("signs-and-shapes", False)):
        text = "".join(line for line, own in zip(lines, is_chart, strict=True) if own is wanted)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        for model in MODELS:
            ec.run(folder / f"{name}.jsonl", model, out=folder / "runs", progress=False)


def save_picture(page: Any, path: Path) -> None:
    """A picture of what is on the screen, with a small palette."""
    page.wait_for_timeout(500)  # images
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def draw_pages(folder: Path, target: Path) -> None:
    """Start the server, draw its pages."""
    from playwright.sync_api import sync_playwright

    names = {(run.benchmark, run.model): run.name for run in list_runs(folder / "runs")}
    look, other = (names["charts", model] for model in MODELS[:2])
    two = urlencode([("run", look), ("run", other)])
    pages = (
        ("view-runs", "/", (1180, 860), "light"),
        ("view-run", f"/run/{look}", (1180, 1000), "light"),
        ("view-sample", f"/sample/{look}?id=charts-cups-2", (1180, 800), "dark"),
        ("view-compare", f"/compare?{two}", (1180, 760), "light"),
        ("view-phone", f"/compare/sample?{two}&id=charts-cups-1&show=flips", (390, 800), "light"),
    )
    command = [sys.executable, "-m", "eyechart", "view", "runs", "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip().rstrip("/")
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for name, path, (width, height), scheme in pages:
                size: Any = {"width": width, "height": height}
                page = browser.new_page(viewport=size, color_scheme="dark" if scheme == "dark" else "light")
                page.goto(f"{address}{path}")
                save_picture(page, target / f"{name}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait(timeout=10)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make_runs(Path(sys.argv[2]))
    else:
        draw_pages(Path(sys.argv[2]), Path(sys.argv[3]))
