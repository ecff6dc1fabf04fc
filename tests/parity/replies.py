"""Generated questions and replies: what models write, in more than eighty styles.

`make_sets` returns data sets of several shapes, whose rows have a marker in the question by which the test's
server finds the reply. Everything follows from one seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

N_ROWS = 500

_SURE = ("Looking at the picture, ", "I can see that ", "Based on the image, ", "After checking, ", "")
_THOUGHTS = (
    "Let me look. The first option seems plausible, but the colours do not fit.",
    "Hmm, {other} could be right. Option {o} has the wrong shape. So {text}?",
    "先看图片。选项{o}不对，{text}比较合理。",
    "We compare A, B, C and D one by one.\n\n- {o}: {other} is too small\n- {l}: fits",
    "The answer is {o}. Wait, no.",
    "",
)
_NOISE = "The light comes from the left and the objects cast long shadows on a wooden table. "


@dataclass(frozen=True)
class Asked:
    """What a style writes about: the letter that is meant, another one, and the options."""

    rng: random.Random
    options: Mapping[str, str]
    letter: str

    @property
    def l(self) -> str:  # noqa: E743 - as in the templates
        return self.letter

    @property
    def o(self) -> str:
        return self.rng.choice([letter for letter in self.options if letter != self.letter])

    @property
    def text(self) -> str:
        return self.options[self.letter]

    @property
    def other(self) -> str:
        return self.options[self.o]

    def fill(self, template: str) -> str:
        names = {"l": self.l, "o": self.o, "text": self.text, "other": self.other, "noise": _NOISE}
        for name, value in names.items():
            template = template.replace(f"{{{name}}}", value)
        return template

    def think(self) -> str:
        return self.fill(self.rng.choice(_THOUGHTS))


Style = Callable[[Asked], str]


def _say(template: str) -> Style:
    return lambda asked: asked.fill(template)


def _list(asked: Asked, mark: str) -> str:
    lines = [
        f"{mark} {letter}. {text}: {'fits' if letter == asked.letter else 'does not fit'}"
        for letter, text in asked.options.items()
    ]
    return "\n".join(lines)


def _random_words(asked: Asked) -> str:
    words = [
        *asked.options.values(),
        *asked.options,
        "the",
        "answer",
        "is",
        "option",
        "not",
        "or",
        "，",
        "和",
    ]
    return " ".join(asked.rng.choice(words) for _ in range(asked.rng.randrange(1, 30)))


def _mutated(asked: Asked) -> str:
    text = list(asked.fill("The answer is {l}. {text}"))
    for _ in range(asked.rng.randrange(1, 4)):
        at = asked.rng.randrange(len(text))
        text[at : at + 1] = asked.rng.choice(["", " ", "(", ")", "*", "\n", ".", asked.o, "a", "é"])
    return "".join(text)


STYLES: Mapping[str, Style] = {
    "letter": _say("{l}"),
    "letter and point": _say("{l}."),
    "letter in brackets": _say("({l})"),
    "letter in square brackets": _say("[{l}]"),
    "bold": _say("**{l}**"),
    "bold with text": _say("**{l}. {text}**"),
    "small letter": lambda asked: asked.l.lower(),
    "letter and text": _say("{l}. {text}"),
    "letter, bracket, text": _say("{l}) {text}"),
    "letter, colon, text": _say("{l}: {text}"),
    "option text": _say("{text}"),
    "option text, small": lambda asked: asked.text.lower(),
    "option text, capitals": lambda asked: asked.text.upper(),
    "option text, exclaimed": _say("{text}!"),
    "option text in a sentence": lambda asked: asked.rng.choice(_SURE) + asked.fill("it is {text}."),
    "two option texts": _say("Either {text} or {other}."),
    "answer is, letter": _say("The answer is {l}"),
    "answer is, letter, reasons": _say("The answer is {l} because {noise}"),
    "answer is, small letter": lambda asked: f"The answer is {asked.l.lower()}.",
    "answer is, text": _say("The answer is {text}."),
    "answer is, bold": _say("{noise}\n\nThe correct answer is **{l}**."),
    "answer is, bold text": _say("The correct answer is **{text}**."),
    "answer, colon": _say("Answer: {l}"),
    "answer, colon, after words": _say("{noise}{noise}\nANSWER: {l}"),
    "correct option": _say("The correct option is ({l}) {text}, since {noise}"),
    "boxed": _say(r"Therefore \boxed{{l}}"),
    "boxed text": _say(r"$\boxed{\text{{l}}}$"),
    "dollars": _say("${l}$"),
    "quoted": _say('"{l}"'),
    "backticks": _say("`{l}`"),
    "JSON": _say('{"answer": "{l}"}'),
    "JSON in a fence": _say('```json\n{"answer": "{l}", "why": "{text}"}\n```'),
    "answer tag": _say("<answer>{l}</answer>"),
    "answer tag with text": _say("<answer> {text} </answer>"),
    "thinking, letter": lambda asked: f"<think>{asked.think()}</think>\n\n{asked.l}",
    "thinking, sentence": lambda asked: (
        f"<think>\n{asked.think()}\n</think>\n\nThe answer is {asked.l}. {asked.text}"
    ),
    "thinking, text": lambda asked: f"<think>{asked.think()}</think>{asked.text}",
    "thinking, other tag": lambda asked: f"<thinking>{asked.think()}</thinking>\n{asked.l}",
    "thinking, closed only": lambda asked: f"{asked.think()}</think>\n\n{asked.l}",
    "thinking, never closed": lambda asked: f"<think>{asked.think()} {asked.l}",
    "thinking, long": lambda asked: (
        f"<think>{_NOISE * asked.rng.randrange(1, 30)}{asked.think()}</think>\n{asked.l}"
    ),
    "thinking, nothing after": lambda asked: f"<think>{asked.think()}</think>",
    "thinking, Chinese": lambda asked: f"<think>{asked.think()}</think>\n答案是{asked.l}",
    "steps": _say("Step 1: {noise}\nStep 2: {other} is out.\nStep 3: so it must be {l}"),
    "letter first, then reasons": _say("{l}\n\n{noise}{noise}"),
    "letter first, three words": _say("{l} it is indeed"),
    "letter first, four words": _say("{l} it is indeed so"),
    "two letters": _say("{l} or {o}"),
    "letters joined": _say("{l}{o}"),
    "not one but the other": _say("Not {o} but {l}"),
    "changed its mind": _say("At first {o}. Actually, {l}."),
    "bulleted list": lambda asked: _list(asked, "-") + f"\n\nSo {asked.l}.",
    "starred list": lambda asked: _list(asked, "*"),
    "numbered list": lambda asked: "\n".join(
        f"{n}. {text}" for n, text in enumerate(asked.options.values(), 1)
    ),
    "list of letters": lambda asked: ", ".join(asked.options),
    "table": lambda asked: "| option | fits |\n|---|---|\n" + "\n".join(
        f"| {letter} | {'yes' if letter == asked.l else 'no'} |" for letter in asked.options
    ),
    "Chinese, joined": _say("答案是{l}"),
    "Chinese, spaced": _say("答案是 {l} 。"),
    "Chinese, choose": _say("选{l}。{text}"),
    "Chinese, brackets": _say("正确答案：（{l}）"),
    "Chinese, text": _say("图中显示的是{text}。"),
    "Chinese, reasons": _say("根据图片，{other}不正确，因此正确选项是 {l}"),
    "Japanese": _say("正解は {l} です"),
    "German": _say("Die richtige Antwort ist {l}."),
    "Spanish": _say("La respuesta correcta es ({l}) {text}"),
    "empty": _say(""),
    "blanks": _say(" \n "),
    "line breaks around": _say("\n\n{l}\n"),
    "refusal, of people": _say("Sorry, I can't help with images of people yet."),
    "refusal, file": _say("I'm afraid I can't process this file. {l}"),
    "refusal, image": _say("I'm sorry, but without the image provided I would guess {l}."),
    "refusal, undetermined": _say("Cannot determine the answer: {text} or {other}."),
    "refusal, own words": _say("I cannot answer that."),
    "none of them": _say("Z"),
    "none of the above": _say("None of the above."),
    "long": lambda asked: _NOISE * asked.rng.randrange(20, 90) + asked.fill("{l}"),
    "long, no letter": lambda asked: _NOISE * asked.rng.randrange(1, 6) + asked.fill("{text}"),
    "article": _say("A {text} on a table"),
    "emoji": _say("👉 {l} ✅"),
    "full width": lambda asked: chr(ord(asked.l) - ord("A") + 0xFF21),
    "other alphabet": _say("В"),
    "marks": _say("[[{l}]] #{l}# {*{l}*}"),
    "code": _say("```python\nprint('{l}')\n```"),
    "HTML": _say("<b>{l}</b><br>{text}"),
    "tabs": _say("\t{l}\t{text}"),
    "carriage returns": _say("{noise}\r\n{l}\r\n"),
    "missing word": lambda asked: asked.rng.choice(["None", "N/A", "null", "nan", "NA", " None "]),
    "formula": _say("={l}"),
    "random words": _random_words,
    "mutated": _mutated,
}  # fmt: skip

_WORDS = (
    "Dog", "Cat", "Tiger", "Elephant", "Museum", "Park", "Tokyo", "Paris", "Tesla", "Audi", "Running",
    "Swimming", "red", "dark red", "light blue", "blue", "a cat on a mat", "two cats", "left", "the left one",
    "upper left", "Beethoven", "Bach", "concatenate", "bicycle", "cycle", "Answer", "A big tree", "B minor",
)  # fmt: skip
_CHINESE = (
    "猫",
    "狗",
    "老虎",
    "红色",
    "深红色",
    "博物馆",
    "左边",
    "左边的猫",
    "东京",
    "两只猫",
    "答案",
    "不确定",
)
_GROUPS = ("animals", "places", "Ünïcode & co", "图表", "coarse_perception", "maps / charts")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A row of a file, and the reply to it."""

    values: Mapping[str, object]
    reply: str
    style: str
    marker: str


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the rows of a data set look like."""

    name: str
    n_options: tuple[int, int] = (4, 4)
    options: Callable[[random.Random, int], list[str]] = lambda rng, n: rng.sample(_WORDS, n)
    more: Mapping[str, Callable[[random.Random, int], object]] = field(default_factory=dict)
    question: str = "What is in the picture"
    index: Callable[[int], object] = lambda row: row + 1
    gold: Callable[[random.Random, str, str], str] = lambda rng, letter, text: letter
    is_circular: bool = False


def _numbers(rng: random.Random, n: int) -> list[str]:
    return [str(number) for number in rng.sample(range(1, 200), n)]


def _yes_no(rng: random.Random, n: int) -> list[str]:
    return rng.sample(["Yes", "No", "Cannot be determined", "Maybe"], n)


def _chinese(rng: random.Random, n: int) -> list[str]:
    return rng.sample(_CHINESE, n)


def _nested(rng: random.Random, n: int) -> list[str]:
    word = rng.choice(_WORDS)
    return rng.sample([word, f"{word} and more", f"not {word}", f"a {word}", "nothing", "something"], n)


def _sentences(rng: random.Random, n: int) -> list[str]:
    return [f"The {rng.choice(_WORDS)} is {rng.choice(_WORDS)}, no. {k}" for k in range(n)]


def _odd_gold(rng: random.Random, letter: str, text: str) -> str:
    return rng.choice([letter, f"{letter} ", f" {letter}", letter.lower(), f"({letter})", f"{letter}.", text])


def _choose(*values: object) -> Callable[[random.Random, int], object]:
    return lambda rng, row: rng.choice(values)


_SHAPES = (
    Shape(name="plain"),
    Shape(name="groups", more={"category": _choose(*_GROUPS)}),
    Shape(name="two_levels", more={"l2-category": _choose(*_GROUPS[3:]), "category": _choose(*_GROUPS[:4])}),
    Shape(name="splits", more={"split": _choose("dev"), "category": _choose(*_GROUPS)}),
    Shape(name="numbered_groups", more={"category": _choose(1, 2, 10, 11, 100)}),
    Shape(name="two_options", n_options=(2, 2), options=_yes_no),
    Shape(name="two_to_six", n_options=(2, 6)),
    Shape(name="ten_options", n_options=(10, 10)),
    Shape(
        name="chinese",
        options=_chinese,
        question="图中最主要的物体是什么",
        more={"category": _choose("图表", "猫")},
    ),
    Shape(name="numbers", options=_numbers),
    Shape(name="nested", options=_nested),
    Shape(name="sentences", options=_sentences, n_options=(3, 5)),
    Shape(name="hints", more={"hint": _choose("Look closely.", "提示")}),
    Shape(name="named_rows", index=lambda row: f"q{row:03}"),
    Shape(name="unsorted", index=lambda row: (row * 7919) % 100_003),
    Shape(
        name="more_columns",
        more={"Source": _choose("web", "book"), "comment": _choose(None), "level": _choose(1, 2)},
    ),
    Shape(name="mmbench_like", is_circular=True, more={"category": _choose(*_GROUPS[:3])}),
    Shape(name="my_circular", is_circular=True, options=_chinese, n_options=(2, 4)),
    Shape(name="yes_no_circular", is_circular=True, options=_yes_no, n_options=(2, 3)),
    Shape(name="odd_golds", gold=_odd_gold),
    Shape(name="words_and_numbers", options=lambda rng, n: [rng.choice(_WORDS), *_numbers(rng, n - 1)]),
)  # fmt: skip
_ROTATION = 1_000_000


def make_sets(seed: int, n_rows: int = N_ROWS) -> dict[str, list[Question]]:
    """The data sets by name, each with so many rows."""
    rng = random.Random(seed)
    return {shape.name: _make_set(shape, n_rows, rng) for shape in _SHAPES}


def _make_set(shape: Shape, n_rows: int, rng: random.Random) -> list[Question]:
    found: list[Question] = []
    row = 0
    while len(found) < n_rows:
        texts = shape.options(rng, rng.randint(*shape.n_options))
        gold = rng.randrange(len(texts))
        more = {name: make(rng, row) for name, make in shape.more.items()}
        knows = rng.random() < 0.6  # a circle is only right if all of its rows are
        styles = (
            list(STYLES)
            if not shape.is_circular or rng.random() < 0.5
            else ["letter", "bold", "answer is, text"]
        )
        for turn in range(len(texts) if shape.is_circular else 1):
            turned = texts[turn:] + texts[:turn]
            options = dict(zip("ABCDEFGHIJ", turned, strict=False))
            letters = list(options)
            answer = letters[(gold - turn) % len(texts)]
            marker = f"[{shape.name}-{row}-{turn}]"
            values = {
                "index": row + 1 + turn * _ROTATION if shape.is_circular else shape.index(row),
                "question": f"{shape.question} {marker}",
                **{letter: options.get(letter) for letter in "ABCDEFGHIJ"[: shape.n_options[1]]},
                "answer": shape.gold(rng, answer, options[answer]),
                **more,
            }
            style = rng.choice(styles)
            meant = answer if knows and rng.random() < 0.95 else rng.choice(letters)
            reply = STYLES[style](Asked(rng, options, meant))
            found.append(Question(values=values, reply=reply, style=style, marker=marker))
        row += 1
    return found
