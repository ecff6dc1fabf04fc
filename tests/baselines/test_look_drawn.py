"""baseline/look on images unlike the demo's: other fonts, palettes, layouts, wordings."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from eyechart.types import Model
from support.looking import ask, encode

PALETTE = {
    "red": (196, 24, 36), "blue": (40, 90, 214), "green": (20, 140, 60), "yellow": (246, 214, 50),
    "orange": (250, 140, 10), "purple": (128, 30, 150), "black": (20, 20, 24), "brown": (110, 66, 30),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle", "star", "diamond", "rectangle")
PAPERS = ((255, 255, 255), (236, 232, 220), (214, 228, 240))
NAMES = ("Alder", "Birch", "Cedar", "Daisy", "Elder", "Ferns", "Grape", "Hazel", "Indigo", "Jasmine", "Lemon")


@dataclass(frozen=True)
class Question:
    text: str
    gold: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawing:
    picture: Pillow.Image
    questions: list[Question]


def accuracy(look: Model, draw: Callable[[random.Random], Drawing], seeds: range, kind: str = "PNG") -> float:
    hits = []
    for seed in seeds:
        drawing = draw(random.Random(seed))
        image = encode(drawing.picture, kind)
        for question in drawing.questions:
            choices = dict(zip("ABCDEFGH", question.choices, strict=False))
            reply = ask(look, image, question.text, choices)
            assert reply.evidence["rule"]
            gold = "ABCDEFGH"[question.choices.index(question.gold)] if question.choices else question.gold
            hits.append(reply.text.casefold() == gold.casefold())
    return sum(hits) / len(hits)


# ---- shapes, smoothed and scattered


def points_of(kind: str, size: float) -> list[tuple[float, float]]:
    if kind == "star":
        reach = [size if i % 2 == 0 else 0.45 * size for i in range(10)]
        return [(r * math.sin(math.pi * i / 5), -r * math.cos(math.pi * i / 5)) for i, r in enumerate(reach)]
    sides: dict[str, list[tuple[float, float]]] = {
        "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "rectangle": [(-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)],
        "triangle": [(0, -1), (1.1, 0.9), (-1.1, 0.9)],
        "diamond": [(0, -1.2), (0.85, 0), (0, 1.2), (-0.85, 0)],
    }
    return [(x * size, y * size) for x, y in sides[kind]]


def paint(pen: ImageDraw.ImageDraw, kind: str, at: tuple[float, float], size: float, colour: str) -> None:
    if kind == "circle":
        box = (at[0] - size, at[1] - size, at[0] + size, at[1] + size)
        pen.ellipse(box, fill=PALETTE[colour])
    else:
        pen.polygon([(at[0] + x, at[1] + y) for x, y in points_of(kind, size)], fill=PALETTE[colour])


def scatter(rng: random.Random) -> Drawing:
    """Three shapes of three colours in three of nine fields, drawn large and made smaller."""
    picture = Pillow.new("RGB", (900, 900), rng.choice(PAPERS))
    pen = ImageDraw.Draw(picture)
    kinds, tints = rng.sample(SHAPES[:5], 3), rng.sample(list(PALETTE), 3)
    fields = rng.sample([(x, y) for x in range(3) for y in range(3)], 3)
    for kind, tint, (x, y) in zip(kinds, tints, fields, strict=True):
        paint(pen, kind, (150 + 300 * x, 150 + 300 * y), rng.randint(70, 110), tint)
    absent = next(tint for tint in ("brown", "orange", "blue", "purple") if tint not in tints)
    leftmost = min(range(3), key=lambda i: fields[i][0])
    questions = [
        Question(f"What color is the {kinds[0]}?", tints[0]),
        Question(f"Which shape is {tints[1]}?", kinds[1], tuple(sorted(SHAPES[:5]))),
        Question(f"Can you see a {absent} object?", "no"),
        Question(f"Is there a {kinds[2]} in this picture?", "yes"),
        Question("How many shapes are in the picture?", "3", ("1", "2", "3", "4")),
    ]
    if sum(field[0] == fields[leftmost][0] for field in fields) == 1:
        questions.append(
            Question("Name the color of the leftmost shape: which color is it?", tints[leftmost])
        )
    (x0, y0), (x1, y1) = fields[0], fields[1]
    if y0 == y1:
        side = "left" if x0 < x1 else "right"
        questions.append(Question(f"Is the {kinds[0]} to the {side} of the {kinds[1]}?", "yes"))
    return Drawing(picture.resize((300, 300), Pillow.Resampling.LANCZOS), questions)


def crowd(rng: random.Random) -> Drawing:
    """A grid of small shapes to count."""
    columns, rows = rng.randint(3, 6), rng.randint(2, 4)
    picture = Pillow.new("RGB", (columns * 180, rows * 180), rng.choice(PAPERS))
    pen = ImageDraw.Draw(picture)
    kinds, tints = rng.sample(SHAPES[:4], 2), rng.sample(list(PALETTE), 3)
    drawn = []
    for row in range(rows):
        for column in range(columns):
            if rng.random() < 0.8:
                kind, tint = rng.choice(kinds), rng.choice(tints)
                paint(pen, kind, (90 + 180 * column, 90 + 180 * row), 50, tint)
                drawn.append((kind, tint))
    small = picture.resize((columns * 60, rows * 60), Pillow.Resampling.LANCZOS)
    return Drawing(small, [
        Question(f"How many {kinds[0]}s can you count?", str(sum(k == kinds[0] for k, _ in drawn))),
        Question(f"What is the number of {tints[0]} shapes?", str(sum(t == tints[0] for _, t in drawn))),
        Question("How many objects are there in total?", str(len(drawn))),
    ])  # fmt: skip


@pytest.mark.slow
def test_scattered_shapes(unread: Model) -> None:
    assert accuracy(unread, scatter, range(20)) >= 0.85


@pytest.mark.slow
def test_scattered_shapes_as_jpeg(unread: Model) -> None:
    assert accuracy(unread, scatter, range(20), "JPEG") >= 0.75


@pytest.mark.slow
def test_counts(unread: Model) -> None:
    assert accuracy(unread, crowd, range(20)) >= 0.85


def test_a_reader_that_does_not_read_says_so(unread: Model) -> None:
    reply = ask(unread, encode(scatter(random.Random(1)).picture), "What does the sign say?")
    assert reply.text == "cannot tell"
    assert "not read" in reply.evidence["text"]


# ---- pictures with text, in an old bitmap font made larger


def letter(picture: Pillow.Image, at: tuple[float, float], text: str, ink: str, scale: int = 3) -> None:
    """Write from the left end, middle height; letters have square dots, unlike the demo's."""
    font = ImageFont.load_default_imagefont()
    box = font.getbbox(text)
    stamp = Pillow.new("L", (int(box[2]) + 2, int(box[3]) + 2))
    ImageDraw.Draw(stamp).text((1, 1), text, fill=255, font=font)
    size = (int(stamp.width * scale * 0.62), int(stamp.height * scale * 0.62))
    stamp = stamp.resize(size, Pillow.Resampling.BICUBIC)
    place = (round(at[0]), round(at[1] - stamp.height / 2))
    picture.paste(Pillow.new("RGB", stamp.size, ink), place, stamp)


def width_of(text: str, scale: int = 3) -> float:
    return (float(ImageFont.load_default_imagefont().getbbox(text)[2]) + 2) * scale * 0.62


def columns(rng: random.Random) -> Drawing:
    """Upright bars of several colours on a dark page, the scale at the right."""
    picture = Pillow.new("RGB", (700, 460), (34, 40, 52))
    pen = ImageDraw.Draw(picture)
    names = rng.sample(NAMES, 4)
    values = rng.sample(range(10, 100, 8), 4)
    for tick in range(0, 101, 25):
        letter(picture, (620, 380 - 3 * tick), str(tick), "#e8e8e8")
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        x = 50 + 140 * i
        pen.rectangle(
            (x, 380 - 3 * value, x + 70, 380), fill=PALETTE[("orange", "green", "yellow", "red")[i]]
        )
        letter(picture, (x + 35 - width_of(name) / 2, 410), name, "#ffffff")
    options = tuple(names)
    ranked = sorted(names, key=lambda name: -values[names.index(name)])
    return Drawing(picture, [
        Question("Which one has the highest bar?", ranked[0], options),
        Question("Which category has the lowest value?", ranked[3], options),
        Question("Which has the second highest value?", ranked[1], options),
        Question(f"Is the value of {ranked[0]} higher than the value of {ranked[2]}?", "yes"),
        Question(f"What color is the bar of {names[0]}?", "orange"),
    ])  # fmt: skip


def rails(rng: random.Random) -> Drawing:
    """Bars from the left with printed numbers, labels flush left."""
    picture = Pillow.new("RGB", (760, 420), "white")
    pen = ImageDraw.Draw(picture)
    names = rng.sample(NAMES, 5)
    values = rng.sample(range(110, 480, 7), 5)
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        y = 40 + 76 * i
        letter(picture, (20, y + 18), name, "#333333")
        pen.rectangle((190, y, 190 + value, y + 36), fill=(70, 110, 190))
        letter(picture, (202 + value, y + 18), str(value), "#333333")
    options = tuple(names[:4])
    ranked = sorted(options, key=lambda name: -values[names.index(name)])
    best = max(names, key=lambda name: values[names.index(name)])
    return Drawing(picture, [
        Question(f"What is the value of {names[2]}?", str(values[2])),
        Question(f"What number belongs to {names[4]}?", str(values[4])),
        Question("Which is the largest?", best, tuple(names)),
        Question(f"What is the difference between {ranked[0]} and {ranked[1]}?",
                 str(values[names.index(ranked[0])] - values[names.index(ranked[1])])),
    ])  # fmt: skip


def ledger(rng: random.Random) -> Drawing:
    """A table without rules, shaded in turn."""
    picture = Pillow.new("RGB", (720, 400), (250, 250, 246))
    pen = ImageDraw.Draw(picture)
    heads = ("Name", "Age", "Height", "City")
    cities = rng.sample(("Paris", "Oslo", "Rome", "Cairo", "Lima", "Delhi"), 5)
    names = rng.sample(("Anna", "Boris", "Clara", "David", "Emma", "Felix"), 5)
    ages, heights = rng.sample(range(20, 80), 5), rng.sample(range(150, 199), 5)
    rows = [heads, *zip(names, map(str, ages), map(str, heights), cities, strict=True)]
    for i, row in enumerate(rows):
        if i % 2:
            pen.rectangle((0, 20 + 60 * i, 720, 80 + 60 * i), fill=(226, 232, 240))
        for x, text in zip((30, 210, 350, 540), row, strict=True):
            letter(picture, (x, 50 + 60 * i), text, "#101010")
    return Drawing(picture, [
        Question(f"How old is {names[1]}?", str(ages[1]), tuple(map(str, sorted(ages)))[:5]),
        Question(f"What is the height of {names[3]}?", str(heights[3])),
        Question(f"Which city does {names[0]} live in?", cities[0], tuple(sorted(cities))),
        Question("Whose age is the highest?", names[ages.index(max(ages))], tuple(sorted(names))),
    ])  # fmt: skip


def bill(rng: random.Random) -> Drawing:
    """A bill on grey, prices with a currency."""
    picture = Pillow.new("RGB", (520, 460), (228, 228, 228))
    items = rng.sample(("Soup", "Salad", "Pizza", "Pasta", "Coffee", "Juice"), 4)
    prices = rng.sample(range(195, 995, 5), 4)
    letter(picture, (150, 40), "CORNER DINER", "#222222")
    for i, (item, price) in enumerate(zip(items, prices, strict=True)):
        letter(picture, (40, 110 + 55 * i), item, "#222222")
        text = f"${price / 100:.2f}"
        letter(picture, (470 - width_of(text), 110 + 55 * i), text, "#222222")
    total = f"${sum(prices) / 100:.2f}"
    letter(picture, (40, 370), "TOTAL DUE", "#222222")
    letter(picture, (470 - width_of(total), 370), total, "#222222")
    options = tuple(f"${price / 100:.2f}" for price in prices)
    return Drawing(picture, [
        Question("What is the total due?", total, (total, *options[:3])),
        Question(f"How much is the {items[1].lower()}?", options[1], options),
        Question("Which item is the cheapest?", items[prices.index(min(prices))], tuple(items)),
    ])  # fmt: skip


def plate(rng: random.Random) -> Drawing:
    """A plate with two lines of text."""
    picture = Pillow.new("RGB", (560, 260), (70, 74, 80))
    tint = rng.choice(["blue", "green", "red"])
    ImageDraw.Draw(picture).rectangle((30, 30, 530, 230), fill=PALETTE[tint])
    town, hour = rng.choice(NAMES).upper(), rng.randint(10, 22)
    letter(picture, (70, 90), f"{town} GARDEN", "white", 5)
    letter(picture, (70, 180), f"closes at {hour}:00", "white", 3)
    return Drawing(picture, [
        Question("What is the name of the place?", f"{town} GARDEN"),
        Question("What time does it close?", f"{hour}:00"),
        Question("Which word is written on the plate?", town, (town, "STATION", "EXIT")),
        Question("What colour is the text?", "white"),
    ])  # fmt: skip


def wheel(rng: random.Random) -> Drawing:
    """A pie with its names in a legend at the right."""
    picture = Pillow.new("RGB", (640, 380), "white")
    pen = ImageDraw.Draw(picture)
    names, tints = rng.sample(NAMES, 4), rng.sample(["red", "blue", "green", "yellow", "purple", "brown"], 4)
    shares = rng.sample((10, 18, 31, 41), 4)
    start = 20.0
    for i, share in enumerate(shares):
        pen.pieslice((30, 40, 330, 340), start, start + 3.6 * share, fill=PALETTE[tints[i]])
        start += 3.6 * share
        pen.rectangle((400, 82 + 60 * i, 424, 106 + 60 * i), fill=PALETTE[tints[i]])
        letter(picture, (440, 94 + 60 * i), names[i], "#222222")
    return Drawing(picture, [
        Question("Which part is the biggest?", names[shares.index(41)], tuple(names)),
        Question("Which has the smallest share?", names[shares.index(10)], tuple(names)),
        Question(f"What colour is used for {names[0]}?", tints[0]),
    ])  # fmt: skip


def curve(rng: random.Random) -> Drawing:
    """A thin line without marks on a grey page."""
    picture = Pillow.new("RGB", (680, 420), (240, 240, 240))
    pen = ImageDraw.Draw(picture)
    years = ["1990", "1995", "2000", "2005", "2010"]
    values = rng.sample(range(20, 200, 20), 5)
    for tick in range(0, 201, 50):
        letter(picture, (20, 340 - 1.5 * tick), str(tick), "#222222")
    points = [(130 + 120 * i, 340 - 1.5 * value) for i, value in enumerate(values)]
    pen.line(points, fill=PALETTE["green"], width=3)
    for (x, _), year in zip(points, years, strict=True):
        letter(picture, (x - width_of(year) / 2, 385), year, "#222222")
    return Drawing(picture, [
        Question("In which year was it highest?", years[values.index(max(values))], tuple(years)),
        Question("Which year has the minimum?", years[values.index(min(values))], tuple(years)),
        Question("What was the value in 2000?", str(values[2]), tuple(map(str, sorted(values)))),
    ])  # fmt: skip


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.parametrize(
    "draw", [columns, rails, ledger, bill, plate, wheel, curve], ids=lambda draw: draw.__name__
)
def test_images_with_text(look: Model, draw: Callable[[random.Random], Drawing]) -> None:
    pytest.importorskip("rapidocr")
    assert accuracy(look, draw, range(1)) >= 0.6  # chance is 0.2 to 0.25 with options, 0 without
