"""Dates and times of day: the same moment in another form.

15:00, "3 pm", "three o'clock in the afternoon" and 下午3点 are one time; "March 5, 2021", "5 March 2021",
2021-03-05 and 2021年3月5日 one date. A date of figures alone (03/04/2021) may be read with the day or the
month first, unless both sides are written that way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from eyechart.readers.languages import load_languages
from eyechart.readers.mentions.numbers import find_numbers, parse_chinese

MONTHS = {
    name: place
    for table in load_languages().values()
    for place, names in enumerate(table.get("months", ()), start=1)
    for name in names.split("/")
}
MAX_FOUND = 16  # dates or times in one reply; more of them are a calendar, not an answer


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in minutes. `half`: am, pm, or empty where the text leaves it open."""

    minutes: int  # since midnight; since 12 o'clock of either half where that is open
    half: str
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Date:
    """A day, a month of a year, or a day of a month. `order` says how figures alone were read: dmy or mdy."""

    year: int | None
    month: int | None
    day: int | None
    order: str = ""
    span: tuple[int, int] = (0, 0)


_HALF = r"(?P<half>[ap]\.?\s?m\b\.?)"
_DAYTIME = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "pm"}
_CLOCK = re.compile(
    rf"(?<![\w:.,$€£-])(?P<hour>[01]?\d"
    rf"|2[0-4])(?:\s?(?P<dot>[:.h])\s?(?P<minute>[0-5]\d)(?::[0-5]\d)?(?!\d|\.\d))(?:\s?{_HALF})?(?!\w)"
    rf"|(?<![\w:.,$€£-])(?P<hour2>1[0-2]|0?[1-9])\s?(?P<half2>[ap]\.?\s?m\b\.?)"
    r"|(?<![\w:.,$])(?P<hour5>1[0-2]|0?[1-9])(?=\s(?:in\sthe\s(?:morning|afternoon|evening)|at\snight)\b)"
    r"|(?<![\w:.,])(?P<hour3>[01]?\d|2[0-4])\s?(?P<sharp>o'?\s?clock|uhr|heures?|horas)\b"
    r"|(?P<period>上午|早上|凌晨|中午|下午|晚上|傍晚|午前|午後|오전|오후)?\s?(?P<hour4>[01]?\d|2[0-4]|[一二三四五六七八九十两]{1,3})(?:点钟?"
    r"|點|時|시)"
    r"(?:(?P<minute4>[0-5]?\d|[一二三四五六七八九十]{1,3})(?:分|분)?|(?P<halfpast>半|반)|(?P<quarter>一刻))?(?!\w*之)"
    r"|\b(?P<word>noon|midday|midnight)\b",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b(?:(?P<part>half|(?:a\s)?quarter|[a-z]+(?:-[a-z]+)?|\d{1,2})(?:\sminutes)?\s(?P<way>past|after|to"
    r"|before|till)\s)?"
    r"(?P<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})\b"
    r"(?P<sharp>\s?o'?clock)?(?:\s(?P<half>[ap]\.?m\b\.?))?",
    re.IGNORECASE,
)
_IN_THE = re.compile(r"\s(?:in the\s(?P<part>morning|afternoon|evening)|at\snight)\b", re.IGNORECASE)
_MAY_BE_SPOKEN = re.compile(r" (?:past|to|after|before|till|[ap]m)\b|clock", re.IGNORECASE)


def find_clocks(text: str) -> list[Clock]:
    """The times of day in a text of plain characters, in order.

    >>> [(clock.minutes, clock.half) for clock in find_clocks("10:30 pm, half past ten, 15:00, 下午3点")]
    [(1350, 'pm'), (630, ''), (900, 'pm'), (900, 'pm')]
    """
    found = [clock for match in _CLOCK.finditer(text) if (clock := _read_clock(text, match))]
    if len(found) <= MAX_FOUND and _MAY_BE_SPOKEN.search(text):
        taken = {at for clock in found for at in range(*clock.span)}
        spoken = (match for match in _SPOKEN.finditer(text) if taken.isdisjoint(range(*match.span())))
        found += [clock for match in spoken if (clock := _read_spoken(text, match))]
    return sorted(found, key=lambda clock: clock.span) if len(found) <= MAX_FOUND else []


def _read_clock(text: str, match: re.Match[str]) -> Clock | None:
    if match["word"]:
        is_night = match["word"].lower() == "midnight"
        return Clock(0 if is_night else 720, "am" if is_night else "pm", match.span())
    hour = parse_chinese(next(filter(None, match.group("hour", "hour2", "hour3", "hour4", "hour5"))))
    minute = parse_chinese(match["minute"] or match["minute4"] or "0")
    is_decimal = match["dot"] == "." and not match["half"]
    if hour is None or minute is None or hour > 24 or minute > 59 or is_decimal:
        return None
    if match["halfpast"] or match["quarter"]:
        minute = 30 if match["halfpast"] else 15
    half = (match["half"] or match["half2"] or "")[:1].lower()
    if period := match["period"]:
        half = "a" if period in ("上午", "早上", "凌晨", "午前", "오전") else "p"
    return _make_clock(text, match, int(hour), int(minute), half)


def _read_spoken(text: str, match: re.Match[str]) -> Clock | None:
    hours = find_numbers(match["hour"], is_whole=True)
    half = (match["half"] or "")[:1].lower()
    if not hours or not 1 <= hours[0].value <= 12 or not (match["part"] or match["sharp"] or half):
        return None
    minute = 0
    if match["part"]:
        part = match["part"].lower().removeprefix("a ")
        spelled = [number.value for number in find_numbers(part)]
        amount = {"half": 30, "quarter": 15}.get(part, spelled[0] if spelled else 60)
        if amount > 59:
            return None
        minute = int(amount) if match["way"].lower() in ("past", "after") else -int(amount)
    return _make_clock(text, match, int(hours[0].value), minute, half)


def _make_clock(text: str, match: re.Match[str], hour: int, minute: int, half: str) -> Clock:
    last = match.end()
    if not half and (part := _IN_THE.match(text, last)):
        half, last = _DAYTIME[(part["part"] or "night").lower()][0], part.end()
    if not half and (hour > 12 or hour == 0):
        half = "a" if hour in (0, 24) else "p"
    elif half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    return Clock((hour * 60 + minute) % 1440, f"{half}m" if half else "", (match.start(), last))


def is_same_clock(said: Clock, gold: Clock) -> bool:
    """Whether two times agree; one that leaves am and pm open agrees with either.

    >>> one, other = find_clocks("3 pm, 15:00")
    >>> is_same_clock(one, other), is_same_clock(*find_clocks("3 am, 15:00"))
    (True, False)
    """
    if said.half and gold.half:
        return said.minutes == gold.minutes
    return said.minutes % 720 == gold.minutes % 720


_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:1[0-9]|20|21)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_DATE = (  # compiled at its first use, which takes as long as three dozen questions
    rf"(?<![\w/.-])(?P<y1>{_YEAR})\s?[-/.年년]\s?(?P<m1>1[0-2]|0?[1-9])\s?[-/.月월]\s?(?P<d1>{_DAY})(?:日|号"
    rf"|일)?(?![\d/])"
    rf"|(?<![\w/.-])(?P<a2>\d{{1,2}})(?P<sep>[-/.])(?P<b2>\d{{1,2}})(?P=sep)(?P<y2>{_YEAR}|\d\d)(?![\d/-])"
    rf"|(?<![\w/])(?P<d3>{_DAY})(?:st|nd|rd|th|\.|er|º|ª)?\s(?:of\s|de\s"
    rf"|d')?(?P<m3>{_MONTH})\.?(?:,?\s(?:of\s|de\s|del\s|do\s)?(?P<y3>{_YEAR}))?(?!\w)"
    rf"|(?<!\w)(?P<m4>{_MONTH})\.?\s(?P<d4>{_DAY})(?:st|nd|rd|th)?(?:,?\s(?P<y4>{_YEAR}))?(?![\w:])"
    rf"|(?<!\w)(?P<m5>{_MONTH})\.?,?\s(?:of\s|de\s|del\s|do\s)?(?P<y5>{_YEAR})(?!\w)"
    rf"|(?P<y6>{_YEAR})年(?P<m6>1[0-2]|0?[1-9])月|(?P<m7>1[0-2]|0?[1-9])[月월]\s?(?P<d7>{_DAY})[日号일]"
    rf"|(?<![\w/.-])(?P<y8>{_YEAR})-(?P<m8>1[0-2]|0[1-9])(?![\d/-])"
)  # fmt: skip


def find_dates(text: str) -> list[Date]:
    """The dates in a text of plain characters, in order; one of figures alone with each way to read it.

    >>> [(date.year, date.month, date.day) for date in find_dates("March 5, 2021; 2021-03-05; 5. März 2021")]
    [(2021, 3, 5), (2021, 3, 5), (2021, 3, 5)]
    """
    matches = re.finditer(_DATE, text, re.IGNORECASE)
    found = [date for match in islice(matches, MAX_FOUND + 1) for date in _read_date(match)]
    return found if len(found) <= MAX_FOUND else []


def _read_date(match: re.Match[str]) -> Iterator[Date]:
    named = match.groupdict()
    if named["a2"]:
        one, other, full = int(named["a2"]), int(named["b2"]), int(named["y2"])
        full += (2000 if full < 50 else 1900) if full < 100 else 0
        for order, day, month in (("dmy", one, other), ("mdy", other, one)):
            if 1 <= month <= 12 and 1 <= day <= 31:
                yield Date(full, month, day, order, match.span())
        return
    parts = {
        name[0]: int(value) if value.isdecimal() else MONTHS[value.lower()]
        for name, value in named.items()
        if value
    }
    yield Date(parts.get("y"), parts.get("m"), parts.get("d"), "", match.span())


def is_same_date(said: Date, gold: Date) -> bool:
    """Whether two dates agree in all that the gold states."""
    is_clear = (said.day or 0) > 12 < (gold.day or 0)  # there is no 25th month
    if said.order and gold.order and said.order != gold.order and not is_clear:
        return False
    return all(
        wanted is None or wanted == stated
        for wanted, stated in ((gold.year, said.year), (gold.month, said.month), (gold.day, said.day))
    )
