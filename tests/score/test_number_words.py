"""Number words of other languages: what they spell, and where one is a part of a larger number."""

from __future__ import annotations

import pytest

from eyechart.readers.languages import find_languages, load_languages, spell_numbers
from eyechart.readers.mentions.numbers import find_numbers
from eyechart.score.choice import read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("vingt et un", 21), ("soixante-quinze", 75), ("quatre-vingt-dix-sept", 97), ("soixante et onze", 71),
        ("einundzwanzig", 21), ("siebenunddreißig", 37), ("veintidós", 22), ("treinta y uno", 31),
        ("ventuno", 21),
        ("trentotto", 38), ("vinte e um", 21), ("двадцать один", 21), ("сорок два", 42), ("yirmi iki", 22),
        ("hai mươi mốt", 21), ("ba mươi lăm", 35), ("dua puluh satu", 21), ("스물하나", 21), ("삼십오", 35),
        ("واحد وعشرون", 21), ("बाईस", 22),
    ],
)  # fmt: skip
def test_numbers_above_twenty(text: str, value: int) -> None:
    codes = find_languages(text.replace("-", " ").split())
    assert [number.value for number in find_numbers(text, codes, is_whole=True)] == [value]


@pytest.mark.parametrize(
    "text",
    ["cent vingt", "Il y a deux cent vingt voitures.", "doscientos veinte", "Hay mil veinte.", "сто двадцать",
     "yüz yirmi", "seratus dua puluh", "cento e vinte", "vingt mille", "zwanzig tausend"],
)  # fmt: skip
def test_a_part_of_a_larger_number_is_not_read(text: str) -> None:
    assert read(text, {"A": "20", "B": "21", "C": "2", "D": "22"}) is None


@pytest.mark.parametrize("code", list(load_languages()))
def test_a_language_spells_its_tens_in_order(code: str) -> None:
    tens, spelled = load_languages()[code].get("tens", ()), spell_numbers(code)
    assert len(tens) in (0, 8)
    found = [spelled[words.split("/")[0].replace("-", " ")] for words in tens]
    assert found == [20 + 10 * place for place in range(len(tens))]
