"""Draw the demo benchmark: pictures whose facts are known because we drew them.

    python tools/draw_demo.py [FOLDER]        (default: src/eyechart/catalogue/demo_data)

Everything follows from this file: no clock, no system font, one seed for the order of options. The
same Pillow gives the same bytes; another one may smooth letters a little differently.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FOLDER = Path(__file__).parent.parent / "src" / "eyechart" / "catalogue" / "demo_data"
SEED = 20  # of the order of options, nothing else

INK = "#22262b"
RED, BLUE, GREEN, YELLOW = "#d62f2f", "#2457c5", "#2c9a46", "#f2c21a"
ORANGE, PURPLE, GREY, BROWN, PINK = "#ee7d1b", "#7b3fa8", "#8b9096", "#7d4a26", "#ec7fb2"

Point = tuple[float, float]


@dataclass(frozen=True)
class Ask:
    """One question. With `wrong` options it is multiple choice; without, open."""

    question: str
    answer: str
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """One picture and what is asked about it."""

    name: str
    category: str
    picture: Image.Image
    asks: tuple[Ask, ...]


def tell(question: str, answer: object) -> Ask:
    """An open question."""
    return Ask(question, str(answer))


def choose(question: str, answer: object, *wrong: object) -> Ask:
    """A multiple choice question; the right option is given first, and moved later."""
    return Ask(question, str(answer), tuple(str(text) for text in wrong))


def others(names: Iterable[str], answer: str) -> list[str]:
    """Every name but the right one, as wrong options."""
    return [name for name in names if name != answer]


def largest(values: dict[str, float], rank: int = 1) -> str:
    """The name with the largest value, or the `rank`-th largest."""
    return sorted(values, key=lambda name: -values[name])[rank - 1]


# ---- pens


def sheet(width: int, height: int, paper: str = "white") -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """A blank picture and a pen for it."""
    picture = Image.new("RGB", (width, height), paper)
    return picture, ImageDraw.Draw(picture)


def write(
    pen: ImageDraw.ImageDraw,
    at: Point,
    text: str,
    size: int = 16,
    ink: str = INK,
    anchor: str = "mm",
) -> None:
    """Text in the font that comes with Pillow."""
    pen.text(at, text, fill=ink, font=ImageFont.load_default(size=size), anchor=anchor)


def corners(at: Point, radius: float, n: int, turn: float = -90, inner: float = 1.0) -> list[Point]:
    """Corners of a regular polygon, or of a star when every other one is drawn in by `inner`."""
    angles = [math.radians(turn + 360 * i / n) for i in range(n)]
    reach = [radius * (inner if inner < 1 and i % 2 else 1) for i in range(n)]
    return [(at[0] + r * math.cos(a), at[1] + r * math.sin(a)) for a, r in zip(angles, reach, strict=True)]


def shape(pen: ImageDraw.ImageDraw, kind: str, at: Point, radius: float, colour: str) -> None:
    """One filled shape, centred."""
    x, y = at
    if kind == "circle":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    elif kind == "square":
        pen.rectangle((x - radius, y - radius, x + radius, y + radius), fill=colour)
    elif kind == "rectangle":
        pen.rectangle((x - 1.6 * radius, y - 0.8 * radius, x + 1.6 * radius, y + 0.8 * radius), fill=colour)
    else:
        n, inner = {
            "triangle": (3, 1.0),
            "diamond": (4, 1.0),
            "hexagon": (6, 1.0),
            "octagon": (8, 1.0),
            "star": (10, 0.42),
        }[kind]
        turn = 22.5 if kind == "octagon" else -90
        pen.polygon(corners(at, radius, n, turn, inner), fill=colour)


def arrow(pen: ImageDraw.ImageDraw, start: Point, end: Point, ink: str) -> None:
    """A straight horizontal arrow."""
    pen.line((*start, *end), fill=ink, width=7)
    back = 18 if start[0] < end[0] else -18
    pen.polygon([end, (end[0] - back, end[1] - 14), (end[0] - back, end[1] + 14)], fill=ink)


# ---- charts


def bars(
    title: str,
    values: dict[str, float],
    colours: Sequence[str],
    *,
    top: int,
    step: int,
    is_labelled: bool,
) -> Image.Image:
    """Upright bars over a numbered axis."""
    picture, pen = sheet(560, 400)
    left, floor, height = 70, 340, 260
    write(pen, (300, 30), title, 22)
    for tick in range(0, top + 1, step):
        y = floor - height * tick / top
        pen.line((left, y, 530, y), fill="#d9dce0")
        write(pen, (left - 10, y), str(tick), 15, anchor="rm")
    wide = 460 / len(values)
    for i, (name, value) in enumerate(values.items()):
        x = left + wide * (i + 0.5)
        y = floor - height * value / top
        pen.rectangle((x - wide * 0.32, y, x + wide * 0.32, floor), fill=colours[i % len(colours)])
        write(pen, (x, floor + 20), name, 16)
        if is_labelled:
            write(pen, (x, y - 12), f"{value:g}", 15)
    pen.line((left, floor, 530, floor), fill=INK, width=2)
    return picture


def lying_bars(title: str, values: dict[str, float], colour: str, unit: str) -> Image.Image:
    """Bars from left to right with the number at the end."""
    picture, pen = sheet(600, 80 + 52 * len(values), "#fbf7ee")
    write(pen, (300, 28), title, 22)
    longest = max(values.values())
    for i, (name, value) in enumerate(values.items()):
        y = 80 + 52 * i
        end = 150 + 340 * value / longest
        write(pen, (140, y), name, 17, anchor="rm")
        pen.rectangle((150, y - 15, end, y + 15), fill=colour)
        write(pen, (end + 8, y), f"{value:g} {unit}", 16, anchor="lm")
    return picture


def grouped_bars(title: str, groups: dict[str, tuple[float, float]], keys: tuple[str, str]) -> Image.Image:
    """Pairs of bars with a legend."""
    picture, pen = sheet(600, 400)
    left, floor, top = 60, 330, 100
    write(pen, (300, 28), title, 22)
    for tick in range(0, top + 1, 20):
        y = floor - 240 * tick / top
        pen.line((left, y, 570, y), fill="#dddddd")
        write(pen, (left - 8, y), str(tick), 15, anchor="rm")
    wide = 510 / len(groups)
    for i, (name, pair) in enumerate(groups.items()):
        x = left + wide * (i + 0.5)
        for value, colour, shift in zip(pair, (BLUE, ORANGE), (-34, 2), strict=True):
            pen.rectangle((x + shift, floor - 240 * value / top, x + shift + 32, floor), fill=colour)
        write(pen, (x, floor + 18), name, 16)
    for i, (key, colour) in enumerate(zip(keys, (BLUE, ORANGE), strict=True)):
        pen.rectangle((210 + 110 * i, 368, 226 + 110 * i, 384), fill=colour)
        write(pen, (234 + 110 * i, 376), key, 16, anchor="lm")
    return picture


def pie(title: str, parts: dict[str, tuple[float, str]]) -> Image.Image:
    """A pie with the names beside the slices."""
    picture, pen = sheet(520, 400)
    write(pen, (260, 28), title, 22)
    start, total = -90.0, sum(value for value, _ in parts.values())
    for name, (value, colour) in parts.items():
        end = start + 360 * value / total
        pen.pieslice((130, 80, 390, 340), start, end, fill=colour, outline="white", width=2)
        middle = math.radians((start + end) / 2)
        write(pen, (260 + 172 * math.cos(middle), 210 + 152 * math.sin(middle)), name, 17)
        start = end
    return picture


def line(title: str, values: dict[str, float], *, low: int, high: int, step: int) -> Image.Image:
    """A line with marked points over a numbered axis."""
    picture, pen = sheet(600, 380)
    left, floor, height = 70, 320, 240
    write(pen, (310, 28), title, 22)
    for tick in range(low, high + 1, step):
        y = floor - height * (tick - low) / (high - low)
        pen.line((left, y, 570, y), fill="#dcdfe3")
        write(pen, (left - 10, y), str(tick), 15, anchor="rm")
    wide = 490 / len(values)
    points: list[Point] = []
    for i, (name, value) in enumerate(values.items()):
        points.append((left + wide * (i + 0.5), floor - height * (value - low) / (high - low)))
        write(pen, (points[-1][0], floor + 20), name, 16)
    pen.line(points, fill=PURPLE, width=4)
    for x, y in points:
        pen.ellipse((x - 6, y - 6, x + 6, y + 6), fill=PURPLE)
    return picture


def charts() -> list[Scene]:
    """Bars, a pie and a line."""
    cups: dict[str, float] = {"Tea": 35, "Coffee": 50, "Juice": 20, "Water": 30, "Milk": 10}
    rain: dict[str, float] = {"Jan": 82, "Feb": 64, "Mar": 71, "Apr": 38, "May": 45, "Jun": 23}
    towers: dict[str, float] = {"Harbour": 148, "Bellview": 212, "Old Mill": 96, "Summit": 187, "Gate": 133}
    visitors: dict[str, tuple[float, float]] = {
        "Zoo": (60, 80),
        "Museum": (70, 50),
        "Park": (90, 95),
        "Castle": (40, 65),
    }
    travel = {
        "Bus": (30.0, BLUE),
        "Train": (15.0, GREEN),
        "Car": (38.0, RED),
        "Bicycle": (12.0, YELLOW),
        "Walk": (5.0, GREY),
    }
    weather: dict[str, float] = {"Mon": 14, "Tue": 17, "Wed": 22, "Thu": 19, "Fri": 12, "Sat": 16, "Sun": 18}
    shares = {name: value for name, (value, _) in travel.items()}
    year_2023 = {name: pair[1] for name, pair in visitors.items()}
    fell = [name for name, (before, after) in visitors.items() if after < before]
    best, least = largest(cups), largest(rain, len(rain))
    drops = {later: weather[later] - weather[earlier] for earlier, later in pairwise(weather)}
    return [
        Scene("cups", "charts", bars(
            "Cups sold in one day", cups, [BLUE], top=60, step=10, is_labelled=False
        ), (
            choose("Which drink was sold most?", best, *others(cups, best)[:3]),
            choose("Which drink came second in cups sold?", largest(cups, 2), "Coffee", "Water", "Juice"),
            tell("How many cups of juice were sold?", 20),
            tell("How many more cups of coffee than of water were sold?", 50 - 30),
        )),
        Scene("rain", "charts", bars(
            "Rainfall in millimetres", rain, [GREEN, ORANGE, PURPLE], top=100, step=20, is_labelled=True
        ), (
            tell("What is the value for Mar?", 71),
            choose("Which month had the least rain?", least, "Apr", "May", "Feb"),
            choose("How much rain fell in Jan and Feb together?", 82 + 64, 136, 153, 128),
            tell("Did more rain fall in May than in Apr? Answer yes or no.", "yes"),
        )),
        Scene("towers", "charts", lying_bars("Height of towers", towers, "#3b7f86", "m"), (
            choose("Which tower is the tallest?", "Bellview", "Summit", "Harbour", "Gate"),
            tell("How tall is the Summit tower, in metres?", 187),
            choose("How many of the towers are taller than 140 m?", 3, 2, 4, 1),
        )),
        Scene("visitors", "charts", grouped_bars("Visitors (thousands)", visitors, ("2022", "2023")), (
            choose("Which place had fewer visitors in 2023 than in 2022?",
                   fell[0], *others(visitors, fell[0])),
            choose("Which place had the most visitors in 2023?",
                   largest(year_2023), *others(visitors, "Park")),
            choose("What colour stands for 2022?", "blue", "orange", "green", "red"),
        )),
        Scene("travel", "charts", pie("How people travel to work", travel), (
            choose("Which way of travelling has the largest share?", largest(shares), "Bus", "Train", "Walk"),
            choose("Which slice is the smallest?", largest(shares, 5), "Bicycle", "Train", "Bus"),
            tell("What colour is the Bus slice?", "blue"),
        )),
        Scene("weather", "charts", line("Temperature at noon", weather, low=10, high=24, step=2), (
            choose("On which day was it warmest?", largest(weather), "Thu", "Sun", "Tue"),
            choose("Between which two days did the temperature fall most?", "Thu and Fri", "Wed and Thu",
                   "Fri and Sat", "Mon and Tue"),
            tell("What was the temperature on Wed?", 22),
            tell("On how many days was it warmer than the day before?", sum(d > 0 for d in drops.values())),
        )),
    ]  # fmt: skip


# ---- tables


def table(title: str, rows: Sequence[Sequence[str]], widths: Sequence[int], header: str) -> Image.Image:
    """Ruled rows and columns; the first row is the header."""
    picture, pen = sheet(sum(widths) + 40, 80 + 38 * len(rows))
    write(pen, (20, 30), title, 21, anchor="lm")
    for i, row in enumerate(rows):
        y, x = 56 + 38 * i, 20
        if i == 0:
            pen.rectangle((20, y, 20 + sum(widths), y + 38), fill=header)
        for text, width in zip(row, widths, strict=True):
            pen.rectangle((x, y, x + width, y + 38), outline="#9aa0a6")
            write(pen, (x + 12, y + 19), text, 17, "white" if i == 0 else INK, "lm")
            x += width
    return picture


def tables() -> list[Scene]:
    """Departures, a league, food values and a timetable."""
    trains = [
        ["Train", "To", "Platform", "Leaves"],
        ["R 12", "Norwood", "4", "08:15"],
        ["E 7", "Castleton", "1", "08:32"],
        ["R 19", "Fairport", "6", "08:47"],
        ["N 3", "Westbay", "2", "09:05"],
        ["E 21", "Kingsley", "5", "09:20"],
    ]
    league = [
        ["Team", "Won", "Drawn", "Lost", "Points"],
        ["Falcons", "9", "2", "3", "29"],
        ["Otters", "7", "5", "2", "26"],
        ["Badgers", "6", "3", "5", "21"],
        ["Herons", "4", "1", "9", "13"],
    ]
    food = [
        ["Food", "Energy (kcal)", "Protein (g)", "Fat (g)"],
        ["Oats", "389", "17", "7"],
        ["Rice", "360", "7", "1"],
        ["Lentils", "352", "25", "2"],
        ["Walnuts", "654", "15", "65"],
        ["Cheese", "402", "26", "33"],
    ]
    lessons = [
        ["Hour", "Monday", "Tuesday", "Wednesday"],
        ["9:00", "Maths", "History", "Music"],
        ["10:00", "English", "Maths", "Biology"],
        ["11:00", "Art", "Sport", "English"],
        ["12:00", "Physics", "English", "Maths"],
    ]
    return [
        Scene("trains", "tables", table("Departures", trains, (100, 150, 110, 110), "#31456a"), (
            choose("From which platform does the train to Fairport leave?", 6, 4, 2, 5),
            tell("At what time does the train to Westbay leave?", "09:05"),
            choose("Which train leaves first?", "R 12", "E 7", "N 3", "E 21"),
        )),
        Scene("league", "tables", table("Final table", league, (130, 90, 90, 90, 100), "#2e6b4f"), (
            tell("How many points do the Otters have?", 26),
            choose("Which team lost the most games?", "Herons", "Badgers", "Falcons", "Otters"),
            choose("How many games did the Falcons play in all?", 9 + 2 + 3, 29, 12, 11),
        )),
        Scene("food", "tables", table("Per 100 grams", food, (120, 150, 130, 100), "#7a4b2b"), (
            choose("Which food has the most energy?", "Walnuts", "Cheese", "Oats", "Lentils"),
            choose("How much fat is in cheese?", "33 g", "65 g", "26 g", "7 g"),
            tell("How many of the foods have more than 20 g of protein?", 2),
            tell("What is the protein value of Lentils?", 25),
        )),
        Scene("lessons", "tables", table("Class 7b", lessons, (90, 130, 130, 140), "#5a3d7a"), (
            choose("Which lesson is on Tuesday at 11:00?", "Sport", "Art", "English", "Maths"),
            choose("On which day is Music taught?", "Wednesday", "Monday", "Tuesday"),
            tell("At what hour is English on Monday?", "10:00"),
        )),
    ]  # fmt: skip


# ---- signs


def stop_sign() -> Image.Image:
    """A red octagon on a grey post."""
    picture, pen = sheet(360, 420, "#bfe0f5")
    pen.rectangle((172, 230, 188, 420), fill=GREY)
    shape(pen, "octagon", (180, 160), 130, "white")
    shape(pen, "octagon", (180, 160), 120, RED)
    write(pen, (180, 160), "STOP", 72, "white")
    return picture


def board(
    size: tuple[int, int],
    paper: str,
    ink: str,
    lines: Sequence[tuple[str, int]],
    around: str = "#e9e9e4",
) -> Image.Image:
    """A rectangular sign with a rim and centred lines."""
    picture, pen = sheet(*size, around)
    pen.rounded_rectangle((24, 24, size[0] - 24, size[1] - 24), 18, fill=paper, outline=ink, width=5)
    y = 48.0
    for text, height in lines:
        write(pen, (size[0] / 2, y + height / 2), text, height, ink)
        y += height + 18
    return picture


def way_sign() -> Image.Image:
    """Two directions under each other."""
    picture, pen = sheet(520, 300, "#f2f2ee")
    pen.rounded_rectangle((20, 20, 500, 280), 16, fill="#1d6b3a")
    arrow(pen, (120, 90), (50, 90), "white")
    write(pen, (150, 90), "Lakeside 12 km", 34, "white", "lm")
    arrow(pen, (50, 205), (120, 205), "white")
    write(pen, (150, 205), "Old Town 3 km", 34, "white", "lm")
    return picture


def slippery_sign() -> Image.Image:
    """A yellow triangle that warns."""
    picture, pen = sheet(420, 440, "#dfe5ea")
    shape(pen, "triangle", (210, 250), 200, INK)
    shape(pen, "triangle", (210, 252), 176, YELLOW)
    write(pen, (210, 240), "WET", 54)
    write(pen, (210, 300), "FLOOR", 46)
    return picture


def signs() -> list[Scene]:
    """Things to be read in a street."""
    museum = board((460, 300), "#f7f1dc", "#3a2d1c", [
        ("Town Museum", 42), ("Open 9:30 to 17:00", 30), ("Closed on Monday", 30), ("Entry free", 26),
    ])  # fmt: skip
    speed = board(
        (300, 380), "white", "#111111", [("SPEED", 48), ("LIMIT", 48), ("40", 120)], around="#a9cbe0"
    )
    shop = board((520, 220), "#8c1f3f", "#ffffff", [("Rosa's Bakery", 56), ("bread · cakes · coffee", 30)])
    return [
        Scene("stop", "signs", stop_sign(), (
            tell("What does the sign say?", "STOP"),
            choose("What colour is the sign?", "red", "grey", "blue", "yellow"),
            choose("How many sides does the sign have?", 8, 6, 7, 4),
        )),
        Scene("speed", "signs", speed, (
            tell("What is the speed limit?", 40),
            choose("What is the colour of the letters on the sign?", "black", "white", "red", "blue"),
        )),
        Scene("museum", "signs", museum, (
            choose("On which day is the museum closed?", "Monday", "Sunday", "Tuesday", "Friday"),
            tell("At what time does the museum open?", "9:30"),
            choose("What does it cost to go in?", "nothing", "3 euros", "9.30 euros", "17 euros"),
        )),
        Scene("ways", "signs", way_sign(), (
            choose("Which place is to the left?", "Lakeside", "Old Town"),
            tell("How far is it to Old Town, in kilometres?", 3),
            choose("Which place is farther away?", "Lakeside", "Old Town", "both are equally far"),
        )),
        Scene("slippery", "signs", slippery_sign(), (
            choose("What does the sign warn of?", "a wet floor", "a steep hill", "falling rocks", "animals"),
            choose("What is the shape of the yellow sign?", "triangle", "circle", "square", "hexagon"),
        )),
        Scene("bakery", "signs", shop, (
            tell("What is the name on the sign?", "Rosa's Bakery"),
            choose("Which of these is named on the sign?", "cakes", "flowers", "pizza", "books"),
        )),
    ]  # fmt: skip


# ---- receipts


def receipt(
    shop: str, day: str, lines: Sequence[tuple[str, float]], last: Sequence[tuple[str, str]]
) -> Image.Image:
    """A paper slip: items, then the sums."""
    picture, pen = sheet(380, 190 + 30 * (len(lines) + len(last)), "#d7d3cb")
    height = picture.height
    pen.rectangle((20, 12, 360, height - 12), fill="#fdfdf8")
    write(pen, (190, 44), shop, 26)
    write(pen, (190, 76), day, 15)
    y = 116.0
    for name, price in lines:
        write(pen, (40, y), name, 17, anchor="lm")
        write(pen, (340, y), f"{price:.2f}", 17, anchor="rm")
        y += 30
    for x in range(40, 340, 10):
        pen.line((x, y - 4, x + 5, y - 4), fill=INK)
    y += 16
    for i, (name, value) in enumerate(last):
        size = 21 if i == 0 else 16
        write(pen, (40, y), name, size, anchor="lm")
        write(pen, (340, y), value, size, anchor="rm")
        y += 32
    write(pen, (190, height - 32), "Thank you!", 15)
    return picture


def receipts() -> list[Scene]:
    """Slips of paper with prices."""
    market = [("Apples 1 kg", 2.80), ("Bread", 3.20), ("Butter", 2.45), ("Milk 2 l", 1.90), ("Honey", 5.60)]
    cafe = [("2 Cappuccino", 7.40), ("1 Cheese cake", 4.50), ("1 Lemonade", 3.10)]
    tools = [("Hammer", 14.95), ("Nails 200 pc", 3.49), ("Paint brush", 5.25), ("Wood glue", 6.80)]
    total = {
        "market": sum(p for _, p in market),
        "cafe": sum(p for _, p in cafe),
        "tools": sum(p for _, p in tools),
    }
    dear = max(market, key=lambda item: item[1])[0]
    return [
        Scene("market", "receipts", receipt("GREEN MARKET", "14 May 2024  10:42", market, [
            ("TOTAL", f"{total['market']:.2f}"), ("CASH", "20.00"), ("CHANGE", f"{20 - total['market']:.2f}"),
        ]), (
            tell("What is the total?", f"{total['market']:.2f}"),
            choose("How much does the butter cost?", "2.45", "2.80", "3.20", "1.90"),
            choose("Which item is the most expensive?", dear, "Bread", "Butter", "Apples"),
            tell("How much change was given?", f"{20 - total['market']:.2f}"),
        )),
        Scene("cafe", "receipts", receipt("Cafe Luna", "Table 6   3 Aug 2023", cafe, [
            ("Total", f"{total['cafe']:.2f}"), ("Card", f"{total['cafe']:.2f}"),
        ]), (
            choose("What is the price of one cappuccino?", "3.70", "7.40", "4.50", "3.10"),
            tell("What is the table number?", 6),
            choose("How was the bill paid?", "by card", "in cash", "by cheque", "with a voucher"),
        )),
        Scene("tools", "receipts", receipt("Hardware & Home", "22 Nov 2022", tools, [
            ("Total", f"{total['tools']:.2f}"), ("VAT 20 %", f"{total['tools'] / 6:.2f}"),
        ]), (
            choose("What is the total amount?", f"{total['tools']:.2f}", "29.40", "34.95", "5.08"),
            tell("What is the price of the wood glue?", "6.80"),
            choose("How much do the hammer and the nails cost together?", "18.44", "20.20", "21.75", "14.95"),
            tell("Is there a saw on the receipt? Answer yes or no.", "no"),
        )),
    ]  # fmt: skip


# ---- shapes, counting, positions

Placed = tuple[str, Point, float, str]


def place(size: tuple[int, int], things: Sequence[Placed], paper: str = "white") -> Image.Image:
    """Shapes on paper, in the order given."""
    picture, pen = sheet(*size, paper)
    for kind, at, radius, colour in things:
        shape(pen, kind, at, radius, colour)
    return picture


def shapes() -> list[Scene]:
    """Kinds, colours and sizes."""
    trio = [
        ("circle", (110.0, 150.0), 62.0, RED),
        ("square", (270.0, 160.0), 55.0, BLUE),
        ("triangle", (430.0, 165.0), 72.0, GREEN),
    ]
    pair = [("star", (140.0, 160.0), 95.0, YELLOW), ("hexagon", (380.0, 160.0), 85.0, PURPLE)]
    nested = [("square", (230.0, 200.0), 140.0, BLUE), ("circle", (230.0, 200.0), 75.0, YELLOW)]
    discs = [
        ("circle", (90.0, 220.0), 38.0, ORANGE),
        ("circle", (240.0, 190.0), 85.0, GREEN),
        ("circle", (420.0, 215.0), 56.0, PINK),
    ]
    return [
        Scene("trio", "shapes", place((540, 320), trio), (
            choose("What colour is the triangle?", "green", "red", "blue", "yellow"),
            choose("What is the shape of the blue figure?", "square", "circle", "triangle", "star"),
            tell("Is there a yellow shape in the image? Answer yes or no.", "no"),
        )),
        Scene("pair", "shapes", place((520, 320), pair, "#1f2a38"), (
            choose("What shape is the yellow one?", "star", "hexagon", "triangle", "diamond"),
            tell("What colour is the hexagon?", "purple"),
            choose("How many corners does the purple shape have?", 6, 5, 8, 4),
        )),
        Scene("nested", "shapes", place((460, 400), nested, "#eef1e6"), (
            choose("Which shape is inside the square?", "circle", "triangle", "star", "diamond"),
            tell("What colour is the inner shape?", "yellow"),
            tell("Does the image contain a triangle? Answer yes or no.", "no"),
        )),
        Scene("discs", "shapes", place((520, 380), discs), (
            choose("What is the colour of the largest circle?", "green", "pink", "orange", "blue"),
            choose("Which circle is the smallest?", "the orange one", "the green one", "the pink one"),
            tell("Are all the shapes in the picture circles? Answer yes or no.", "yes"),
        )),
    ]  # fmt: skip


def house() -> Image.Image:
    """A house with windows to count."""
    picture, pen = sheet(480, 420, "#cfe8f7")
    pen.rectangle((0, 370, 480, 420), fill="#7fb562")
    pen.rectangle((100, 170, 380, 380), fill="#e7cfa4")
    pen.polygon([(80, 170), (240, 60), (400, 170)], fill="#a23b2a")
    for x in (125, 215, 305):
        pen.rectangle((x, 195, x + 50, 245), fill="#3d6fa3")
    for x in (125, 305):
        pen.rectangle((x, 290, x + 50, 340), fill="#3d6fa3")
    pen.rectangle((215, 285, 265, 380), fill="#6b4423")
    return picture


def counting() -> list[Scene]:
    """How many there are."""
    spots = [
        (70, 80),
        (160, 60),
        (260, 100),
        (360, 70),
        (450, 120),
        (110, 190),
        (210, 230),
        (330, 210),
        (430, 250),
        (80, 300),
        (250, 330),
    ]
    dots: list[Placed] = [("circle", spot, 27, RED if i % 3 else BLUE) for i, spot in enumerate(spots)]
    n_blue = sum(colour == BLUE for *_, colour in dots)
    kinds = [
        "star",
        "square",
        "triangle",
        "star",
        "triangle",
        "star",
        "square",
        "triangle",
        "star",
        "star",
        "triangle",
        "square",
    ]
    colours = [GREEN, ORANGE, PURPLE]
    mixed: list[Placed] = [
        (kind, (80 + 120 * (i % 4), 75 + 110 * (i // 4)), 36, colours[i % 3]) for i, kind in enumerate(kinds)
    ]
    filled = {(0, 1), (1, 0), (1, 3), (2, 2), (3, 1), (3, 3), (2, 0)}
    grid, pen = sheet(340, 340)
    for row in range(4):
        for column in range(4):
            x, y = 20 + 75 * column, 20 + 75 * row
            fill = "#33383d" if (row, column) in filled else "white"
            pen.rectangle((x, y, x + 75, y + 75), fill=fill, outline="#33383d", width=2)
    return [
        Scene("dots", "counting", place((520, 390), dots), (
            tell("How many circles are there?", len(dots)),
            choose("How many blue circles are there?", n_blue, 3, 5, 7),
            choose("How many more red circles than blue ones are there?", len(dots) - 2 * n_blue, 1, 2, 5),
        )),
        Scene("mixed", "counting", place((520, 370), mixed, "#f6f3ec"), (
            choose("How many stars are there?", kinds.count("star"), 4, 3, 6),
            tell("How many triangles are in the picture?", kinds.count("triangle")),
            choose("Which kind of shape appears least often?", "square", "star", "triangle"),
            tell("How many orange shapes are there?", sum(c == ORANGE for *_, c in mixed)),
        )),
        Scene("house", "counting", house(), (
            choose("How many windows does the house have?", 5, 6, 4, 3),
            choose("What colour is the door?", "brown", "blue", "red", "green"),
        )),
        Scene("grid", "counting", grid, (
            tell("How many squares of the grid are filled?", len(filled)),
            choose("How many squares does the grid have in all?", 16, 12, 9, 20),
        )),
    ]  # fmt: skip


def letters() -> Image.Image:
    """A board of nine letters."""
    picture, pen = sheet(360, 360, "#fffdf5")
    for i, letter in enumerate("KTRAMZEHB"):
        x, y = 70 + 110 * (i % 3), 70 + 110 * (i // 3)
        pen.rectangle((x - 45, y - 45, x + 45, y + 45), outline=INK, width=3)
        write(pen, (x, y), letter, 48)
    return picture


def positions() -> list[Scene]:
    """Where things are."""
    quarters: list[Placed] = [
        ("star", (90, 85), 58, RED),
        ("circle", (430, 85), 50, GREEN),
        ("square", (90, 300), 46, PURPLE),
        ("triangle", (430, 300), 58, ORANGE),
    ]
    row: list[Placed] = [
        ("square", (70, 120), 38, GREY),
        ("circle", (180, 120), 40, YELLOW),
        ("diamond", (290, 120), 48, BLUE),
        ("triangle", (400, 125), 48, RED),
        ("star", (510, 120), 50, GREEN),
    ]
    tower: list[Placed] = [
        ("rectangle", (200, 90), 50, PINK),
        ("circle", (200, 210), 52, BROWN),
        ("hexagon", (200, 340), 60, BLUE),
    ]
    return [
        Scene("quarters", "positions", place((520, 390), quarters), (
            choose("Which shape is in the top left corner?", "star", "circle", "square", "triangle"),
            choose("Where is the orange triangle?", "bottom right", "bottom left", "top right", "top left"),
            choose("What colour is the shape below the star?", "purple", "orange", "green", "red"),
            tell("Is the circle to the left of the star? Answer yes or no.", "no"),
        )),
        Scene("row", "positions", place((580, 240), row, "#fafafa"), (
            choose("Which shape is directly to the right of the diamond?",
                   "triangle", "star", "circle", "square"),
            tell("What colour is the leftmost shape?", "grey"),
            choose("Which shape is in the middle?", "diamond", "circle", "triangle", "star"),
            choose("What is the colour of the second shape from the right?",
                   "red", "blue", "green", "yellow"),
        )),
        Scene("tower", "positions", place((400, 430), tower, "#eef4fa"), (
            choose("Which shape is between the rectangle and the hexagon?",
                   "circle", "square", "star", "triangle"),
            choose("What colour is the shape at the bottom?", "blue", "brown", "pink", "green"),
            tell("Is the rectangle above the circle? Answer yes or no.", "yes"),
        )),
        Scene("letters", "positions", letters(), (
            choose("Which letter is in the centre?", "M", "A", "T", "H"),
            choose("Which letter is directly below T?", "M", "H", "K", "A"),
            tell("Which letter is in the bottom right corner?", "B"),
        )),
    ]  # fmt: skip


# ---- the file


def scenes() -> list[Scene]:
    """All pictures with their questions, in the order they are numbered."""
    return [*charts(), *tables(), *signs(), *receipts(), *shapes(), *counting(), *positions()]


def rows(drawn: Iterable[Scene]) -> list[dict[str, str]]:
    """The lines of the question file.

    The place of the right option is dealt from a deck that holds each place equally often, so that no
    letter is a good guess.
    """
    rng = random.Random(SEED)
    decks: dict[int, list[int]] = {}
    lines = []
    for scene in drawn:
        for number, ask in enumerate(scene.asks, 1):
            line = {
                "id": f"{scene.category}-{scene.name}-{number}",
                "file_name": f"images/{scene.name}.png",
                "question": ask.question,
            }
            answer = ask.answer
            if ask.wrong:
                options = list(ask.wrong)
                rng.shuffle(options)
                deck = decks.setdefault(len(options) + 1, [])
                if not deck:
                    deck.extend(range(len(options) + 1))
                    rng.shuffle(deck)
                place = deck.pop()
                options.insert(place, ask.answer)
                answer = chr(ord("A") + place)
                line["options"] = "\n".join(f"{chr(ord('A') + i)}. {text}" for i, text in enumerate(options))
            lines.append({**line, "answer": answer, "category": scene.category})
    return lines


def main(folder: Path) -> None:
    """Write the pictures and the question file."""
    drawn = scenes()
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for scene in drawn:
        scene.picture.save(folder / "images" / f"{scene.name}.png", optimize=True)
    lines = [json.dumps(row, ensure_ascii=False) for row in rows(drawn)]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} questions on {len(drawn)} pictures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
