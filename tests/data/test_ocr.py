"""The reader of text in images: read once, in lines, by readers that are made once."""

import os
import subprocess
import sys
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

pytest.importorskip("numpy")

from eyechart.data.images import ocr
from eyechart.errors import ImageError
from support.looking import encode


def test_an_image_is_read_once_however_many_ask_for_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ocr.to_array(Pillow.new("RGB", (90, 60), "white"))
    readings: list[Any] = []

    def read(picture: Any) -> tuple[ocr.TextBox, ...]:
        readings.append(picture)
        time.sleep(0.05)
        return (ocr.TextBox(0.0, 0.0, 9.0, 9.0, "GATE"),)

    monkeypatch.setattr(ocr, "_read_page", read)
    monkeypatch.setattr(ocr, "_read", OrderedDict())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ocr.read_boxes, [page] * 8))
    assert {words[0].text for words in found} == {"GATE"}
    assert len(readings) == 1


def test_readers_are_made_once_however_many_begin_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def reader(params: object) -> object:
        made.append(params)
        time.sleep(0.02)
        return lambda page: SimpleNamespace(boxes=None, txts=None)

    pages = [ocr.to_array(Pillow.new("RGB", (90, 60), (n, 0, 0))) for n in range(4)]
    monkeypatch.setitem(sys.modules, "rapidocr", SimpleNamespace(RapidOCR=reader))
    monkeypatch.setattr(ocr, "_readers", cache(ocr._readers.__wrapped__))
    monkeypatch.setattr(ocr, "_read", OrderedDict())
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ocr.read_boxes, pages)) == [(), (), (), ()]
    assert len(made) == min(2, os.cpu_count() or 1)


def test_an_image_that_could_not_be_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ocr.to_array(Pillow.new("RGB", (90, 60), "white"))
    monkeypatch.setattr(ocr, "_read", OrderedDict())

    def read(picture: Any) -> tuple[ocr.TextBox, ...]:
        raise MemoryError("the picture is too large")

    monkeypatch.setattr(ocr, "_read_page", read)
    with pytest.raises(MemoryError):
        ocr.read_boxes(page)
    monkeypatch.setattr(ocr, "_read_page", lambda picture: ())
    assert ocr.read_boxes(page) == ()


def test_an_image_that_is_too_small_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "read_boxes", lambda page: pytest.fail("read"))
    assert ocr.read_text(encode(Pillow.new("RGB", (79, 40), "white")).data()) == ""


def test_what_is_no_image_is_an_image_error() -> None:
    with pytest.raises(ImageError, match="not a supported image"):
        ocr.read_text(b"not an image")


@pytest.mark.ocr
@pytest.mark.slow
def test_a_receipt_is_read_line_by_line() -> None:
    pytest.importorskip("rapidocr")
    picture = Pillow.new("RGB", (420, 200), "white")
    pen = ImageDraw.Draw(picture)
    for y, item, price in ((30, "Tea", "5.20"), (110, "Bread", "3.10")):
        pen.text((30, y), item, fill="black", font_size=40)
        pen.text((280, y), price, fill="black", font_size=40)
    assert ocr.read_text(encode(picture).data()) == "Tea 5.20\nBread 3.10"


_READS = """
import resource
from pathlib import Path
import numpy as np
from eyechart.data.images import ocr
rng = np.random.default_rng(0)
for height, width in ((1000, 1600), (1600, 1200), (800, 1600)):
    ocr.read_boxes(rng.integers(0, 255, (height, width, 3), dtype=np.uint8))
print(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
"""


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_what_readers_used_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", _READS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 350e6
