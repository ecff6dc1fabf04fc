"""baseline/look and baseline/ocr: unusual images, no guesses, and the easy-vqa test split."""

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

from eyechart.baselines import make_baseline
from eyechart.data.images import ocr
from eyechart.errors import MissingExtra, ModelError
from eyechart.types import ImageRef, Message, Model, ModelSettings, Reply, Request, Sample
from support.looking import ask, encode, wrap

QUESTIONS = (
    "What shape is in the image?",
    "What colour is the circle?",
    "How many objects are there?",
    "Which is the highest?",
    "Where is the red shape?",
    "What does the sign say?",
    "Is the circle to the left of the square?",
    "What is the total?",
    "Why?",
    "",
)


def disc(mode: str = "RGB", size: tuple[int, int] = (200, 200), ink: object = (210, 30, 30)) -> Pillow.Image:
    paper: object = {"L": 255, "RGBA": (0, 0, 0, 0)}.get(mode, "white")
    picture = Pillow.new(mode, size, paper)  # type: ignore[arg-type]
    pen = ImageDraw.Draw(picture)
    w, h = size
    pen.ellipse((w * 0.3, h * 0.3, w * 0.3 + w * 0.4, h * 0.3 + w * 0.4), fill=ink)  # type: ignore[arg-type]
    return picture


# ---- silence


def noise(seed: int = 1) -> Pillow.Image:
    rng = np.random.default_rng(seed)
    return Pillow.fromarray(rng.integers(0, 256, (200, 240, 3), dtype=np.uint8))


def clouds(seed: int = 2) -> Pillow.Image:
    """Smooth noise with grain, as in a photograph."""
    rng = np.random.default_rng(seed)
    coarse = Pillow.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((360, 270), Pillow.Resampling.BICUBIC), dtype=np.int16)
    grain = rng.normal(0, 9, smooth.shape)
    return Pillow.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("picture", [noise(), clouds(), Pillow.new("RGB", (200, 150), "white")])
def test_where_nothing_is_seen_nothing_is_said(unread: Model, picture: Pillow.Image, question: str) -> None:
    reply = ask(unread, encode(picture), question)
    assert reply.text == "cannot tell"
    assert reply.evidence["rule"]


@pytest.mark.ocr
@pytest.mark.slow
def test_noise_is_not_read(look: Model) -> None:
    pytest.importorskip("rapidocr")
    for picture in (noise(), clouds(), Pillow.new("RGB", (200, 150), "white")):
        for question in QUESTIONS:
            choices = {"A": "red", "B": "three", "C": "12"} if question else {}
            assert ask(look, encode(picture), question, choices).text == "cannot tell"


def test_no_image(unread: Model) -> None:
    assert ask(unread, None, "What colour is it?").text == "cannot tell"


def test_an_image_that_was_not_loaded_is_our_mistake(unread: Model) -> None:
    ref = ImageRef(kind="file", location="x.png")
    request = Request(messages=(Message("user", (ref, "?")),), sample=Sample(id="1", question="?"))
    with pytest.raises(ModelError):
        asyncio.run(unread.reply(request))


def test_broken_bytes_are_an_error_not_an_answer(unread: Model) -> None:
    with pytest.raises(ModelError, match="not a supported image"):
        ask(unread, wrap(b"not a picture"), "What colour is it?")


# ---- odd pictures


@pytest.mark.parametrize(
    "picture",
    [
        disc(),
        disc("RGBA", ink=(210, 30, 30, 255)),
        disc().convert("P", palette=Pillow.Palette.ADAPTIVE),
        disc().convert("CMYK"),
    ],
    ids=lambda picture: picture.mode,
)
def test_any_mode_is_seen(unread: Model, picture: Pillow.Image) -> None:
    image = encode(picture, "TIFF" if picture.mode == "CMYK" else "PNG")
    assert ask(unread, image, "What colour is the circle?").text == "red"
    assert ask(unread, image, "What shape is in the image?").text == "circle"


def test_grey_images(unread: Model) -> None:
    for kind in (np.uint8, np.uint16):
        most = int(np.iinfo(kind).max)
        pixels = np.full((200, 200), most, dtype=kind)
        pixels[60:140, 60:140] = most // 2
        picture = Pillow.fromarray(pixels)
        assert ask(unread, encode(picture), "What color is the square?").text == "gray"
        assert ask(unread, encode(picture), "What colour is the square?").text == "grey"


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 300), (3, 3), (8, 8)])
def test_tiny_images(unread: Model, size: tuple[int, int]) -> None:
    for question in QUESTIONS:
        assert ask(unread, encode(Pillow.new("RGB", size, "red")), question).text == "cannot tell"


@pytest.mark.slow
def test_a_huge_image_takes_seconds_at_most(unread: Model) -> None:
    image = encode(disc(size=(4000, 3000)), "JPEG")
    started = time.process_time()
    assert ask(unread, image, "What shape is in the image?").text == "circle"
    assert time.process_time() - started < 5
    busy = encode(noise().resize((4000, 3000)), "JPEG")
    started = time.process_time()
    assert ask(unread, busy, "How many shapes are there?").text == "cannot tell"
    assert time.process_time() - started < 10


# ---- the outside


def test_name_and_identity(look: Model, unread: Model) -> None:
    assert look.name == "baseline/look"
    assert {"seed", "version", "ocr"} <= set(look.identity)
    assert ask(look, encode(disc()), "What colour is the circle?").model == "baseline/look"


def test_options_are_answered_by_letter(unread: Model) -> None:
    choices = {"A": "green", "B": "It is red.", "C": "blue"}
    reply = ask(unread, encode(disc()), "What colour is the circle?", choices)
    assert reply.text == "B"
    assert reply.evidence["found"] == "red"
    assert reply.evidence["things"][0]["shape"] == "circle"
    absent = {"A": "green", "B": "blue", "C": "grey"}
    assert ask(unread, encode(disc()), "What colour is the circle?", absent).text == "cannot tell"


@pytest.mark.slow
def test_many_at_once_do_not_block_the_loop(unread: Model) -> None:
    image = encode(disc(size=(800, 800)))
    sample = Sample(id="1", question="What colour is the circle?")
    request = Request(messages=(Message("user", (image, sample.question)),), sample=sample)

    async def main() -> list[Reply]:
        return await asyncio.gather(*(unread.reply(request) for _ in range(20)))

    assert {reply.text for reply in asyncio.run(main())} == {"red"}


def test_ocr_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "has_reader", lambda: False)
    with pytest.raises(MissingExtra, match=r"eyechart\[ocr\]"):
        make_baseline("ocr", ModelSettings())
    without = make_baseline("look", ModelSettings())
    assert without.identity["ocr"] == "none"
    asyncio.run(without.close())


@pytest.mark.ocr
@pytest.mark.slow
def test_one_reading_serves_all_questions(look: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rapidocr")
    picture = Pillow.new("RGB", (300, 120), "white")
    ImageDraw.Draw(picture).text((40, 40), "GATE 7", fill="black", font_size=44)
    readings: list[object] = []
    read_page = ocr._read_page

    def counted(page: Any) -> tuple[ocr.TextBox, ...]:
        readings.append(page)
        return read_page(page)

    monkeypatch.setattr(ocr, "_read_page", counted)
    text_only = make_baseline("ocr", ModelSettings())
    for model in (look, text_only):
        assert ask(model, encode(picture), "What does the sign say?").text.replace(" ", "") == "GATE7"
        assert ask(model, encode(picture), "What is the gate number?").text == "7"
    assert len(readings) == 1
    assert ask(text_only, encode(disc()), "What colour is the circle?").text == "cannot tell"
    asyncio.run(text_only.close())


@pytest.mark.slow
def test_easy_vqa(unread: Model) -> None:
    """Questions by other people: blind, 0.67 of them can be answered."""
    easy_vqa = pytest.importorskip("easy_vqa")
    questions, answers, pictures = easy_vqa.get_test_questions()
    paths = easy_vqa.get_test_image_paths()
    n = 600
    hits = sum(
        ask(unread, wrap(Path(paths[picture]).read_bytes(), (64, 64)), question).text == answer
        for question, answer, picture in zip(questions[:n], answers[:n], pictures[:n], strict=True)
    )
    assert hits / n > 0.9


def test_a_plain_image_has_a_colour(unread: Model) -> None:
    plain = encode(Pillow.new("RGB", (120, 80), (30, 60, 220)))
    assert ask(unread, plain, "What colour is this picture?").text == "blue"
    assert ask(unread, plain, "What color is the circle?").text == "cannot tell"


@pytest.mark.slow
def test_a_hundred_megapixels_bring_no_warning(unread: Model) -> None:
    vast = Pillow.new("P", (12_000, 9_000), 0)
    vast.putpalette([200, 30, 30])
    assert ask(unread, encode(vast), "What colour is this image?").text == "red"
