"""Questions on colours, and a server that answers them by what it sees in the picture, well or badly."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from support.files import picture
from support.server import Asked

COLOURS = {
    "red": (214, 32, 28),
    "green": (24, 150, 60),
    "blue": (36, 60, 208),
    "yellow": (244, 222, 40),
    "white": (250, 250, 250),
    "black": (8, 8, 8),
}
NAMES = tuple(COLOURS)
SUFFIX = "\nSay it in one word."  # what the custom class of the tests adds to every question


@dataclass(frozen=True)
class Question:
    """A row of the file, and all that the test knows about it without asking anybody."""

    number: int
    colour: str
    options: tuple[str, ...]
    category: str
    hint: str = ""

    @property
    def words(self) -> str:
        return f"Card {self.number}: which colour is it?"

    @property
    def letter(self) -> str:
        return "ABCD"[self.options.index(self.colour)]

    @property
    def choice_text(self) -> str:
        """The text part of the prompt, byte for byte."""
        hint = f"Hint: {self.hint}\n" if self.hint else ""
        options = "".join(f"{letter}. {name}\n" for letter, name in zip("ABCD", self.options, strict=False))
        return (
            f"{hint}Question: {self.words}\nOptions:\n{options}"
            "Please select the correct answer from the options above. \n"
        )


def questions(n: int) -> list[Question]:
    """Some with a hint, every fifth with three options."""
    made = []
    for number in range(n):
        colour = NAMES[number * 5 % 6]
        others = [name for name in NAMES if name != colour][: 2 if number % 5 == 3 else 3]
        place = number % (len(others) + 1)
        options = (*others[:place], colour, *others[place:])
        hint = "Look closely." if number % 4 == 1 else ""
        category = ("Textures", "Activities")[number % 3 == 0]
        made.append(Question(number, colour, options, category, hint))
    return made


def write_choices(path: Path, rows: Sequence[Question], *, inline: bool) -> Path:
    """Multiple choice as the page lays it out; pictures as base64 or by absolute path."""
    heading = ["index", "category", "hint", "question", "A", "B", "C", "D", "answer", picture_column(inline)]
    cells = [
        [str(row.number), row.category, row.hint, row.words, *row.options, *[""] * (4 - len(row.options)),
         row.letter, _picture(path, row, inline)]
        for row in rows
    ]  # fmt: skip
    return write_table(path, [heading, *cells])


def write_open(path: Path, rows: Sequence[Question], *, inline: bool) -> Path:
    """Open questions; the answer is the name of the colour."""
    cells = [[str(row.number), row.colour, row.words, _picture(path, row, inline)] for row in rows]
    return write_table(path, [["index", "answer", "question", picture_column(inline)], *cells])


def picture_column(inline: bool) -> str:
    return "image" if inline else "image_path"


def write_table(path: Path, lines: Sequence[Sequence[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(lines)
    return path


def _picture(path: Path, row: Question, inline: bool) -> str:
    data = picture(COLOURS[row.colour], (40 + row.number, 30), "PNG" if row.number % 2 else "JPEG")
    if inline:
        return base64.b64encode(data).decode()
    file = path.parent.parent / "pictures" / f"{row.number}.{'png' if row.number % 2 else 'jpg'}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return str(file)


def seen(asked: Asked) -> str:
    """The colour of the one picture of a request."""
    (url,) = asked.images
    opened = Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2], validate=True)))
    red, green, blue = opened.convert("RGB").resize((1, 1)).tobytes()

    def distance(name: str) -> int:
        r, g, b = COLOURS[name]
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    return min(COLOURS, key=distance)


def options_of(asked: Asked) -> dict[str, str]:
    """Name to letter, as the prompt lists them."""
    return {name: letter for letter, name in re.findall(r"^([A-D])\. (\w+)$", asked.text, re.MULTILINE)}


def number_of(asked: Asked) -> int:
    found = re.search(r"Card (\d+):", asked.text)
    assert found is not None, asked.text
    return int(found[1])


def answer_rightly(asked: Asked) -> str:
    """The letter of the colour that is seen, or its name where there are no letters."""
    options, colour = options_of(asked), seen(asked)
    return options[colour] if options else colour


@dataclass(frozen=True)
class Form:
    """A way to answer, and whether VLMEvalKit's rules count it when the picture was seen rightly."""

    say: Callable[[str, Mapping[str, str]], str]  # the colour that is seen, and name to letter
    is_right: bool


def _other(colour: str, options: Mapping[str, str]) -> str:
    return next(letter for name, letter in options.items() if name != colour)


CHOICE_FORMS = (
    Form(lambda colour, options: options[colour], True),
    Form(lambda colour, options: f"({options[colour]})", True),
    Form(lambda colour, options: f"Answer: {options[colour]}", True),
    Form(lambda colour, options: _other(colour, options), False),
    Form(lambda colour, options: f"I think {options[colour]}", True),
    Form(lambda colour, options: options[colour].lower(), False),
    Form(lambda colour, options: f"{colour.upper()}!", True),
    Form(lambda colour, options: f"It is {options[colour]} because nothing else is to be found in it", False),
    Form(lambda colour, options: f"{options[colour]}, {_other(colour, options)}", False),
    Form(lambda colour, options: "no idea", False),
    Form(lambda colour, options: f"**{options[colour]}**", True),
)
OPEN_FORMS = (
    Form(lambda colour, options: colour, True),
    Form(lambda colour, options: colour.capitalize(), False),
    Form(lambda colour, options: f" {colour}\n", True),
    Form(lambda colour, options: f"{colour}.", False),
    Form(lambda colour, options: NAMES[(NAMES.index(colour) + 1) % 6], False),
)


def answer_noisily(asked: Asked) -> str:
    """In a form that the question's number decides."""
    options = options_of(asked)
    forms = CHOICE_FORMS if options else OPEN_FORMS
    return forms[number_of(asked) % len(forms)].say(seen(asked), options)


def noisy_reply(row: Question, *, is_choice: bool) -> str:
    """What the noisy server says to a question, told without looking at the picture."""
    forms = CHOICE_FORMS if is_choice else OPEN_FORMS
    options = dict(zip(row.options, "ABCD", strict=False)) if is_choice else {}
    return forms[row.number % len(forms)].say(row.colour, options).strip()


def is_right_noisily(row: Question, *, is_choice: bool) -> bool:
    forms = CHOICE_FORMS if is_choice else OPEN_FORMS
    return forms[row.number % len(forms)].is_right
