"""Numerals, units, bounds, dates and times: written in many ways, read back as one value."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.readers.clauses import to_plain
from eyechart.readers.mentions.dates import find_clocks, find_dates, is_same_clock, is_same_date
from eyechart.readers.mentions.numbers import find_numbers, parse_chinese
from eyechart.readers.mentions.quantities import is_same_quantity, parse_quantity, parse_range, read_bound
from eyechart.readers.mentions.units import UNITS

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def spell(n: int, *, with_and: bool = False) -> str:
    """A number in English words, by the rules of school books: the yardstick of the reader."""
    if n < 20:
        return ONES.split()[n]
    if n < 100:
        return TENS.split()[n // 10 - 2] + (f"-{spell(n % 10)}" if n % 10 else "")
    for size, name in (
        (10**12, "trillion"),
        (10**9, "billion"),
        (10**6, "million"),
        (1000, "thousand"),
        (100, "hundred"),
    ):
        if n >= size:
            rest = (
                f" {'and ' if with_and and n % size < 100 else ''}{spell(n % size, with_and=with_and)}"
                if n % size
                else ""
            )
            return f"{spell(n // size, with_and=with_and)} {name}{rest}"
    raise AssertionError


def spell_chinese(n: int) -> str:
    """A number in Chinese numerals, with 零 where a step is left out."""
    for size, name in ((10**8, "亿"), (10**4, "万")):
        if n >= size:
            rest = n % size
            gap = "零" if rest and rest < size // 10 else ""
            return spell_chinese(n // size) + name + gap + (spell_chinese(rest) if rest else "")
    text, is_open = "", False
    for size, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = n // size % 10
        if digit:
            text += ("零" if is_open and text else "") + "零一二三四五六七八九"[digit] + name
            is_open = False
        else:
            is_open = True
    return text or "零"


def read(text: str) -> float | None:
    found = parse_quantity(text)
    return None if found is None else found.value


@given(st.integers(0, 10**15 - 1), st.booleans())
def test_english_words(n: int, with_and: bool) -> None:
    assert read(spell(n, with_and=with_and)) == n
    text = f"There were {spell(n)} of them in the hall."
    values = [found.value for found in find_numbers(text)]
    assert values == ([] if n == 1 else [n])  # "one of them" is a pronoun


@given(st.integers(1, 10**12 - 1))
def test_chinese_numerals(n: int) -> None:
    assert parse_chinese(spell_chinese(n)) == n
    text = f"图中有{spell_chinese(n)}个人。"
    assert [found.value for found in find_numbers(text)] == [n]


@given(
    st.integers(-(10**12), 10**12),
    st.sampled_from(["{:d}", "{:,d}", "{:d}.0", "{:d} people", "about {:,d}", "**{:,d}**", "{:e}"]),
)
def test_digits(n: int, form: str) -> None:
    value = read(form.format(n))
    assert value == pytest.approx(n, rel=1e-5 if "e}" in form else 0)


@given(
    st.integers(1, 999),
    st.sampled_from(
        [
            ("k", 1e3),
            ("K", 1e3),
            ("M", 1e6),
            (" million", 1e6),
            ("B", 1e9),
            (" bn", 1e9),
            (" billion", 1e9),
            ("万", 1e4),
            ("亿", 1e8),
            (" trillion", 1e12),
            (" crore", 1e7),
        ]
    ),
)
def test_multipliers(n: int, scale: tuple[str, float]) -> None:
    assert read(f"{n}{scale[0]}") == pytest.approx(n * scale[1])
    assert read(f"{n / 10}{scale[0]}") == pytest.approx(n / 10 * scale[1])


SAFE = sorted(
    name
    for name, units in UNITS.items()
    if len(units) == 1
    and name.isascii()
    and name.isalpha()
    and len(name) > 1
    and units[0].dimension not in ("ordinal", "count")
    and name not in ("in", "rs", "mes", "an")
)


@given(st.integers(1, 9999), st.sampled_from(SAFE), st.sampled_from(SAFE))
def test_conversion_is_symmetric(n: int, one: str, other: str) -> None:
    a, b = UNITS[one][0], UNITS[other][0]
    here, there = parse_quantity(f"{n} {one}"), None
    assert here is not None
    assert a in here.units
    if a.dimension == b.dimension and not a.offset and not b.offset:
        there = parse_quantity(f"{n * a.factor / b.factor:.15f} {other}")
        if there is not None and there.value > 1e-6:
            assert is_same_quantity(here, there)
            assert is_same_quantity(there, here)
    else:
        there = parse_quantity(f"{n} {other}")
        if there is not None and a.dimension != b.dimension:
            assert not is_same_quantity(here, there)
            assert not is_same_quantity(there, here)


@given(st.integers(-100, 300))
def test_temperatures(celsius: int) -> None:
    one, other = parse_quantity(f"{celsius} °C"), parse_quantity(f"{celsius * 9 / 5 + 32:.1f} °F")
    assert one is not None
    assert other is not None
    assert is_same_quantity(one, other)
    assert is_same_quantity(other, one)
    assert celsius == -40 or not is_same_quantity(one, parse_quantity(f"{celsius} °F") or one)


@given(st.integers(0, 23), st.integers(0, 59))
def test_times_of_day(hour: int, minute: int) -> None:
    half = "am" if hour < 12 else "pm"
    forms = [
        f"{hour:02}:{minute:02}",
        f"{(hour - 1) % 12 + 1}:{minute:02} {half}",
        f"{(hour - 1) % 12 + 1}:{minute:02}{half.upper()}",
    ]
    clocks = [clock for form in forms for clock in find_clocks(form)]
    assert len(clocks) == len(forms)
    assert all(is_same_clock(one, other) for one in clocks for other in clocks)
    [later] = find_clocks(f"{(hour + 1) % 24:02}:{minute:02}")
    assert not is_same_clock(clocks[1], later)


@given(st.dates())
def test_dates(date) -> None:  # type: ignore[no-untyped-def]
    if date.year < 1000 or date.year > 2199:
        return
    forms = [
        f"{date:%Y-%m-%d}",
        f"{date:%B} {date.day}, {date.year}",
        f"{date.day} {date:%b} {date.year}",
        f"{date.year}年{date.month}月{date.day}日",
    ]
    found = [find_dates(form) for form in forms]
    assert all(len(dates) == 1 for dates in found)
    assert all(is_same_date(one[0], other[0]) for one in found for other in found)
    figures = find_dates(f"{date.day}/{date.month}/{date.year}")
    assert any(is_same_date(one, found[0][0]) for one in figures)


@pytest.mark.parametrize(
    ("text", "bound"),
    [("at least 8", ">="), ("8 or more", ">="), ("8+", ">="), ("≥ 8", ">="), ("more than 8", ">"), ("no more than 8", "<="), ("under 8", "<"), ("8以上", ">="), ("超过8", ">"), ("mehr als 8", ">"),
     ("moins de 8", "<"), ("не менее 8", ">="), ("en az 8", ">="), ("≠ 8", "!="), ("8", ""), ("about 8", ""), ("8 dogs", ""), ("moreover 8", ""), ("8 plus 3", "")],
)  # fmt: skip
def test_bounds(text: str, bound: str) -> None:
    at = text.index("8")
    assert read_bound(text, (at, at + 1))[0] == bound


def test_ranges() -> None:
    assert [
        (low.value, high.value)
        for low, high in filter(
            None, map(parse_range, ("3-5", "3 to 5", "between 3 and 5", "from 3 to 5 km"))
        )
    ] == [(3, 5)] * 4
    assert not any(map(parse_range, ("5", "3 and 5", "5-3", "555-1234", "AB-12", "01-02")))


@given(st.text(max_size=80))
def test_any_text_can_be_asked(text: str) -> None:
    plain = to_plain(text)
    assert len(plain) == len(text)
    for found in find_numbers(plain):
        assert 0 <= found.span[0] < found.span[1] <= len(plain)
    parse_quantity(text), parse_range(text), find_clocks(plain), find_dates(plain)
