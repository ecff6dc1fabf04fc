"""Quantities: a number together with its unit, and when two of them are the same amount.

A unit is part of the value. Where both sides state one, the amounts must agree, converted where that is exact or
close to it (500 cm is 5 m, 68 °F is 20 °C; 5 m is not 5 km, $5 is not 5 %). A unit that only one side states may
be missing on the other; a multiplier may not (5M is neither 5 nor 5B). An abbreviation with several meanings
(``m``: metres or millions; ``pounds``: mass or money; ``degrees``) has them all, and the other side decides.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from eyechart.score.numerals import Number, find_numbers, normalise_numerals, unwrap_number_span

TOLERANCE = 1e-9  # relative: 0.1 + 0.2 is 0.3, and no more
CONVERTED = 5e-3  # between systems, where people round: 10 lb is 4.54 kg
MAX_CHARS = 500  # of a text that is one quantity
Bound = Literal["", "<", ">", "<=", ">=", "?"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One meaning of a unit: its dimension, its size in that dimension's base, and where its zero lies."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0
    system: str = ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the meanings of its unit (none: a bare number), its noun, and how it is bounded."""

    number: Number
    units: tuple[Unit, ...] = ()
    noun: str = ""  # what is counted, where that is not a unit: "apples"
    bound: Bound = ""
    span: tuple[int, int] = (0, 0)

    @property
    def value(self) -> float:
        return self.number.value


def is_same_quantity(said: Quantity, gold: Quantity, tolerance: float = TOLERANCE) -> bool:
    """Whether a reply's quantity is the gold.

    >>> same = lambda said, gold: is_same_quantity(parse_quantity(said), parse_quantity(gold))
    >>> same("500 cm", "5 m"), same("5 km", "5 m"), same("5", "5 m"), same("5 m", "5"), same("$5", "5%")
    (True, False, True, True, False)
    >>> same("5M", "5 million"), same("5M", "5B"), same("5m", "5 million"), same("5m", "5 metres")
    (True, False, True, True)
    """
    if said.bound != gold.bound:
        return False
    if said.units and gold.units:
        return any(
            _is_same_in(said, one, gold, other, tolerance) for one in said.units for other in gold.units
        )
    if ORDINAL in said.units or ORDINAL in gold.units:  # 3rd is not 3
        return False
    if (gold.units and said.noun) or (gold.noun and said.noun and not _share_word(gold.noun, said.noun)):
        return False  # 25 people are not 25 %, 3 cats are not 3 dogs
    if gold.noun and said.units and not any(unit.dimension in _COUNTS for unit in said.units):
        return False
    faces = _list_faces(said, gold)
    return any(is_close(a, b, tolerance) for a, b in faces)


def is_close(a: float, b: float, tolerance: float = TOLERANCE) -> bool:
    """Whether `a` is `b` but for rounding. Whole numbers are exact, however large.

    >>> is_close(0.1 + 0.2, 0.3), is_close(999_999_999, 1_000_000_000), is_close(104, 100, 0.05)
    (True, False, True)
    """
    if tolerance <= TOLERANCE and float(a).is_integer() and float(b).is_integer():
        return a == b
    return abs(a - b) <= tolerance * abs(b)


def _list_faces(said: Quantity, gold: Quantity) -> Iterator[tuple[float, float]]:
    """The pairs of numbers to compare where at most one side has a unit."""
    one = [said.value * unit.factor for unit in said.units if unit.dimension in _COUNTS] or [said.value]
    other = [gold.value * unit.factor for unit in gold.units if unit.dimension in _COUNTS] or [gold.value]
    if any(unit.dimension not in _COUNTS for unit in said.units):
        one.append(said.value)
    if any(unit.dimension not in _COUNTS for unit in gold.units):
        other.append(gold.value)
    yield from ((a, b) for a in one for b in other)
    # A percent sign on one side only may be read either way: 50 % is 50 as well as 0.5.
    if (said.number.value != said.number.face) != (gold.number.value != gold.number.face):
        yield said.number.face, gold.number.face


def _is_same_in(said: Quantity, one: Unit, gold: Quantity, other: Unit, tolerance: float) -> bool:
    if one.dimension != other.dimension:
        return False
    a = said.value * one.factor + one.offset
    b = gold.value * other.factor + other.offset
    if one == other:
        return is_close(said.value, gold.value, tolerance)
    if is_close(a, b, max(tolerance, TOLERANCE)) or abs(a - b) <= TOLERANCE * abs(b):
        return True
    is_rounded = one.system != other.system and abs(a - b) <= max(CONVERTED * abs(b - other.offset), 0.0)
    return is_rounded and one.dimension != "money"


def _share_word(one: str, other: str) -> bool:
    return not {_stem(word) for word in one.split()}.isdisjoint(_stem(word) for word in other.split())


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


# -- The table of units: dimension -> size -> names. Names with a capital or a sign are told apart by case.

_TABLE: Mapping[str, Mapping[float, str]] = {
    "mass": {
        1e-6: "µg μg mcg microgram micrograms 微克", 1e-3: "mg milligram milligrams 毫克 ミリグラム",
        1: "g gram grams gramme grammes gr 克 グラム г грамм граммов gramm gramos grammi gramas gramo",
        1e3: "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes 千克 公斤 キロ キログラム кг 킬로그램 kilogramm kilogramo kilogramos quilos quilogramas",
        500: "斤", 1e6: "t tonne tonnes mt 吨 噸 トン тонн тонна 톤 tonnen toneladas", 1e9: "kt kilotonnes",
    },
    "length": {
        1e-9: "nm nanometre nanometres nanometer nanometers 纳米", 1e-6: "µm μm micron microns micrometer micrometers micrometre micrometres 微米",
        1e-3: "mm millimetre millimetres millimeter millimeters 毫米 мм", 1e-2: "cm centimetre centimetres centimeter centimeters zentimeter centímetros centimètres centimetri 厘米 公分 センチ センチメートル см 센티미터",
        0.1: "dm decimetre decimeters decimeter 分米",
        1: "m metre metres meter meters 米 公尺 メートル м метр метров метра 미터 metros metri metro mètre mètres",
        1e3: "km kms kilometre kilometres kilometer kilometers kilómetros kilomètres chilometri quilômetros 公里 千米 キロメートル км километров 킬로미터",
    },
    "area": {
        1e-4: "cm² cm2 sq-cm square-centimetres square-centimeters 平方厘米", 1: "m² m2 sq-m sqm square-metres square-meters square-metre square-meter 平方米 ㎡",
        1e4: "ha hectare hectares 公顷", 1e6: "km² km2 sq-km square-kilometres square-kilometers 平方公里 平方千米",
    },
    "volume": {
        1e-3: "ml mL millilitre millilitres milliliter milliliters cc 毫升", 1e-2: "cl cL centilitre centilitres centiliter centiliters", 0.1: "dl dL decilitre decilitres",
        1: "l L ℓ litre litres liter liters 升 公升 リットル л литров litros litri 리터", 1e3: "m³ m3 cubic-metres cubic-meters cubic-metre cubic-meter 立方米",
    },
    "time": {
        1e-9: "ns nanoseconds", 1e-6: "µs microseconds", 1e-3: "ms millisecond milliseconds 毫秒", 1: "s sec secs second seconds 秒 秒钟 sekunden secondes segundos secondi секунд 초",
        60: "min mins minute minutes 分钟 分 minuten minutos minuti минут 분", 3600: "h hr hrs hour hours 小时 時間 stunden stunde heure heures hora horas ore ora часов часа час 시간",
        86400: "d day days 天 日 tag tage tagen jour jours día días dias dia giorni giorno дней дня день 일", 604800: "week weeks wk wks 周 星期 woche wochen semaine semaines semana semanas settimane недель 주",
    },
    "calendar": {
        1: "month months mo 个月 ヶ月 か月 monat monate mois mes meses mesi месяцев 개월", 12: "y yr yrs year years year-old years-old years-of-age 年 岁 歳 jahr jahre jahren an ans année années año años ano anos anno anni лет года год 년 세 살",
        120: "decade decades", 1200: "century centuries 世纪",
    },
    "speed": {
        1 / 3.6: "km/h kph kmh km/hour km-per-hour km/hr kmph kilometres-per-hour kilometers-per-hour kilometres-an-hour kilometers-an-hour 公里/小时 км/ч", 1: "m/s metres-per-second meters-per-second 米/秒",
    },
    "data": {
        1: "byte bytes", 1e3: "KB kB kilobyte kilobytes", 1e6: "MB megabyte megabytes mb", 1e9: "GB gigabyte gigabytes gb", 1e12: "TB terabyte terabytes tb", 1e15: "PB petabyte petabytes",
        0.125: "bit bits", 1024: "KiB", 1024**2: "MiB", 1024**3: "GiB", 1024**4: "TiB",
    },
    "rate": {1: "bps", 1e3: "kbps Kbps kbit/s", 1e6: "Mbps mbps Mb/s Mbit/s", 1e9: "Gbps gbps Gb/s Gbit/s"},
    "energy": {
        1: "J joule joules", 1e3: "kJ kj kilojoule kilojoules", 1e6: "MJ megajoules", 4184: "kcal kcals Cal kilocalorie kilocalories calorie calories cal 千卡 大卡",
        3600: "Wh watt-hours", 3.6e6: "kWh kwh kilowatt-hour kilowatt-hours", 3.6e9: "MWh", 3.6e12: "GWh", 3.6e15: "TWh",
    },
    "power": {1: "W watt watts 瓦", 1e-3: "mW", 1e3: "kW kw kilowatt kilowatts 千瓦", 1e6: "MW megawatt megawatts", 1e9: "GW gigawatt gigawatts", 745.7: "hp horsepower 马力"},
    "voltage": {1e-3: "mV", 1: "V volt volts 伏", 1e3: "kV"},
    "current": {1e-3: "mA milliamps", 1: "amp amps ampere amperes"},
    "charge": {3.6: "mAh mah", 3600: "Ah"},
    "frequency": {1: "Hz hz hertz 赫兹", 1e3: "kHz khz", 1e6: "MHz mhz", 1e9: "GHz ghz"},
    "pressure": {1: "Pa pascal", 100: "hPa mbar", 1e3: "kPa", 1e6: "MPa", 1e5: "bar", 6894.757: "psi", 101325: "atm", 133.322: "mmHg"},
    "force": {1: "N newton newtons", 1e3: "kN"},
    "resistance": {1: "Ω ohm ohms", 1e3: "kΩ"},
    "loudness": {1: "dB db decibel decibels 分贝"},
    "angle": {1: "° deg degree degrees 度 grad graus grados gradi", 57.29577951308232: "rad radian radians"},
    "percent": {1: "% percent per-cent pct percentage-points percentage-point pp 个百分点 pp."},
    "usd": {1: "$ us$ usd dollar dollars us-dollars us-dollar u.s.-dollars american-dollars bucks 美元 ドル 달러 dólares долларов", 0.01: "cent cents ¢"},
    "eur": {1: "€ eur euro euros 欧元 ユーロ евро 유로", 0.01: "cent cents eurocents"},
    "gbp": {1: "£ gbp pound pounds quid pounds-sterling 英镑 ポンド", 0.01: "p pence penny"},
    "cny": {1: "¥ cny rmb yuan 元 人民币 块钱 块 块錢 yuans"}, "jpy": {1: "¥ jpy yen 円 日元"}, "inr": {1: "₹ inr rs rs. rupee rupees 卢比"},
    "rub": {1: "₽ rub rouble roubles ruble rubles рублей руб"}, "krw": {1: "₩ krw won 원"}, "chf": {1: "chf francs"}, "cad": {1: "c$ cad canadian-dollars"},
    "aud": {1: "a$ aud australian-dollars"}, "hkd": {1: "hk$ hkd 港元"}, "brl": {1: "r$ brl real reais"}, "mxn": {1: "mxn pesos"},
    "ordinal": {1: "st nd rd th º ª"},
    "count": {12: "dozen"},
    "scale": {1e6: "m"},
}  # fmt: skip
_IMPERIAL: Mapping[str, Mapping[float, str]] = {
    "mass": {28.349523125: "oz ounce ounces", 453.59237: "lb lbs pound pounds 磅", 6350.29318: "stone stones", 907184.74: "ton tons short-tons"},
    "length": {0.0254: "in in. inch inches \" ” ″ '' 英寸", 0.3048: "ft ft. foot feet ' ’ ′ 英尺", 0.9144: "yd yds yard yards", 1609.344: "mi mile miles 英里", 1852: "nautical-miles nmi"},
    "area": {0.00064516: "sq-in square-inches in²", 0.09290304: "sq-ft sqft ft² ft2 square-feet square-foot", 4046.8564224: "acre acres 英亩", 2589988.110336: "sq-mi square-miles mi²"},
    "volume": {0.0295735295625: "fl-oz fl.-oz. oz fluid-ounces fluid-ounce ounces ounce", 0.2365882365: "cup cups", 0.473176473: "pt pint pints", 0.946352946: "qt quart quarts", 3.785411784: "gal gallon gallons", 0.01478676478125: "tbsp tablespoon tablespoons", 0.00492892159375: "tsp teaspoon teaspoons"},
    "speed": {0.44704: "mph mi/h miles/hour mile/h miles-per-hour miles-an-hour 英里/小时", 0.514444: "knot knots kn", 0.3048: "ft/s feet-per-second"},
    "energy": {1055.06: "BTU btu"},
}  # fmt: skip
_TEMPERATURES = (
    (Unit("temperature", 1.0, 273.15, "C"), "°c ℃ C c celsius centigrade degrees-celsius degree-celsius degrees-centigrade degrees-c deg-c 摄氏度 度 ° degrees degree 도 градусов grad graus grados gradi"),
    (Unit("temperature", 5 / 9, 273.15 - 160 / 9, "F"), "°f ℉ F fahrenheit degrees-fahrenheit degree-fahrenheit degrees-f deg-f 华氏度 ° degrees degree"),
    (Unit("temperature", 1.0, 0.0, "K"), "K kelvin kelvins"),
)  # fmt: skip
_COUNTS = frozenset({"count", "scale"})  # they multiply: a dozen is 12, whatever is counted
ORDINAL = Unit("ordinal")


def _list_units() -> Iterator[tuple[str, Unit]]:
    for table, system in ((_TABLE, "metric"), (_IMPERIAL, "imperial")):
        for dimension, sizes in table.items():
            for factor, names in sizes.items():
                for name in names.split():
                    yield name.replace("-", " "), Unit(dimension, factor, 0.0, system)
    for unit, names in _TEMPERATURES:
        for name in names.split():
            yield name.replace("-", " "), unit


_UNITS: dict[str, tuple[Unit, ...]] = {}
for _name, _unit in _list_units():
    _UNITS[_name] = (*_UNITS.get(_name, ()), _unit if _unit.dimension != "ordinal" else ORDINAL)
_LONGEST = max(name.count(" ") for name in _UNITS) + 1

# -- Reading quantities

_MONEY_BEFORE = re.compile(
    r"(?:(?:\b(?:US|USD|CA?|CAD|AU?|AUD|HK|R|NZ|S) ?)?\$|[€£¥₹₽₩]|\b(?:USD|EUR|GBP|RMB|CNY|JPY|INR|CHF|Rs\.?))\s?$",
    re.IGNORECASE,
)
_MONEY_NAMES = {
    "us$": "$",
    "usd$": "$",
    "ca$": "c$",
    "cad$": "c$",
    "au$": "a$",
    "aud$": "a$",
    "nz$": "",
    "s$": "",
}
_UNIT_GAP = re.compile(r"(?:\s{1,2}|-|\\[,; ]|~)?(?:\\(?:text|mathrm|rm)\s?\{\s?)?")
_SIGN = re.compile(
    r"(?:°|\^\s?\{?\\circ\}?)(?:\s?\\?(?:text|mathrm)?\{?[CFcf](?![a-z])\}?)?|℃|℉|[°º]|ª|\\?%|[€£¥₹₽₩¢$]|''|[\"'](?![A-Za-z])"
)
_UNIT_WORDS = re.compile(
    r"[A-Za-zµμΩÀ-ɏ\u0400-\u04ff\uac00-\ud7af]+\.?(?:[²³]|[23](?![\d.]))?(?:/[A-Za-z\u0400-\u04ff]+)?"
    r"(?:[ -][A-Za-z]+(?:[²³]|[23](?![\d.]))?){0,3}"
)
_WORD_BREAK = re.compile(r"[ -]")
_INCH_AFTER = re.compile(r"\s*(?:$|[.,;:)x×*]|tall\b|long\b|wide\b|high\b|deep\b|thick\b|by\b|and\b)")
_NOUN = re.compile(r"\s?[a-z]+(?:[ -][a-z]+){0,2}")
_NOT_NOUNS = frozenset(
    [
        "in",
        "on",
        "at",
        "of",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "to",
        "for",
        "with",
        "by",
        "from",
        "the",
        "a",
        "an",
        "total",
        "altogether",
        "overall",
        "more",
        "here",
        "there",
        "because",
        "as",
        "since",
        "but",
        "so",
        "which",
        "that",
        "this",
        "it",
        "i",
        "we",
        "you",
        "they",
        "he",
        "she",
        "per",
        "out",
        "left",
        "right",
        "each",
        "all",
        "visible",
        "shown",
        "if",
        "then",
        "when",
        "where",
        "while",
        "who",
        "can",
        "could",
        "will",
        "would",
        "have",
        "has",
        "had",
        "do",
        "does",
        "did",
        "not",
        "no",
        "than",
        "plus",
        "minus",
        "times",
        "x",
        "years",
        "year",
        "old",
        "different",
        "other",
        "only",
        "just",
        "also",
        "too",
        "now",
        "ago",
        "away",
        "long",
        "tall",
        "wide",
        "high",
        "deep",
        "thick",
        "heavy",
        "big",
        "ones",
        "items",
        "pieces",
        "things",
        "in-total",
        "according",
        "based",
        "after",
        "before",
        "during",
        "against",
        "versus",
        "vs",
        "about",
        "around",
        "approximately",
        "roughly",
        "exactly",
        "maybe",
        "perhaps",
        "probably",
        "likely",
        "i'd",
        "it's",
        "units",
        "unit",
        "points",
        "point",
        "o'clock",
    ]
)
_COMPOUND_GAP = re.compile(r",?\s{0,2}(?:and\s|&\s?)?")


def find_quantities(text: str, start: int, end: int, *, is_whole: bool = False) -> Iterator[Quantity]:
    """Every quantity in a part of a text that went through `normalise_numerals`; 5 ft 10 in is one.

    >>> text = "It is 5 ft 10 in, weighs 70 kg and costs $5 million."
    >>> [(found.value, found.units[0].dimension) for found in find_quantities(text, 0, len(text))]
    [(5.833333333333333, 'length'), (70.0, 'mass'), (5000000.0, 'usd')]
    """
    held: Quantity | None = None
    for number in find_numbers(text, start, end, is_whole=is_whole):
        found = _add_unit(text, number, start, end)
        if held is not None and (merged := _merge(text, held, found)):
            held = merged
            continue
        if held is not None:
            yield held
        held = found
    if held is not None:
        yield held


_AND_A_HALF = re.compile(r"\sand\sa\s(half|quarter)\b")


def _merge(text: str, one: Quantity, other: Quantity) -> Quantity | None:
    """Two quantities as one, where the second continues the first in a smaller unit."""
    if not one.units or not other.units or not one.span[1] <= other.span[0] <= one.span[1] + 6:
        return None
    if _COMPOUND_GAP.fullmatch(text, one.span[1], other.span[0]) is None or other.value < 0:
        return None
    pairs = [
        (large, small)
        for large in one.units
        for small in other.units
        if large.dimension == small.dimension and small.factor < large.factor and not large.offset
        and large.dimension != "percent"
    ]  # fmt: skip
    if not pairs:
        return None
    value = one.value + other.value * pairs[0][1].factor / pairs[0][0].factor
    units = tuple(large for large, _ in pairs)
    span = (one.span[0], other.span[1])
    return Quantity(Number(value, value, span), units, span=span)


def _add_unit(text: str, number: Number, start: int, end: int) -> Quantity:
    """The number with what is written before and after it: a currency, a unit, or the noun it counts."""
    first, last = number.span
    if number.value != number.face:
        return Quantity(number, _UNITS["%"], span=number.span)
    if money := _read_money(text, number, start):
        begin, units = money
        return Quantity(number, units, span=(begin, last))
    if found := _read_unit(text, last, end):
        units, stop = found
        if more := _AND_A_HALF.match(text, stop, end):  # two hours and a half
            value = number.value + (0.5 if more[1] == "half" else 0.25)
            number, stop = Number(value, value, number.span), more.end()
        # A multiplier letter that was a unit after all cannot be told here: 5M is read as millions.
        return Quantity(number, units, span=(first, stop))
    noun = _NOUN.match(text, last, end)
    words = [] if noun is None else re.split("[ -]", noun.group().strip())
    kept: list[str] = []
    for word in words:
        if word in _NOT_NOUNS:
            break
        kept.append(word)
    return Quantity(number, noun=" ".join(kept), span=number.span)


def _read_money(text: str, number: Number, start: int) -> tuple[int, tuple[Unit, ...]] | None:
    first, last = number.span
    head = text[first:last].lstrip("-+ ")
    at = last - len(head)
    inside = re.match(r"[$€£¥₹]|US\$|USD|EUR|RMB", head, re.IGNORECASE)
    until = at + inside.end() if inside else first
    before = _MONEY_BEFORE.search(text[max(start, until - 6) : until])
    if before is None:
        return None
    closing = text.find("$", last, last + 40) if before.group().endswith(("$", "$ ")) else -1
    if closing >= 0 and not text[closing + 1 : closing + 2].isdigit():
        return None  # a formula: $45^\\circ$
    name = before.group().lower().replace(" ", "")
    units = _UNITS.get(_MONEY_NAMES.get(name, name))
    return (min(first, until - len(before.group())), units) if units else None


def _read_unit(text: str, last: int, end: int) -> tuple[tuple[Unit, ...], int] | None:
    gap = _UNIT_GAP.match(text, last, end)
    at = gap.end() if gap else last
    if sign := _SIGN.match(text, at, end):
        name = sign.group().replace(" ", "").lstrip("\\").lower()
        if name.startswith(("°", "^")):
            name = "°" + re.sub(r"[^cf]", "", name.replace("circ", "").replace("mathrm", ""))
        if name == "$" and "$" in text[max(0, last - 100) : last]:
            return None  # the end of a formula
        units = _UNITS.get("°" if name == "º" and at > last else name)
        return (units, sign.end()) if units else None
    words = _UNIT_WORDS.match(text, at, end)
    if words is None:
        return _read_unspaced_unit(text, at, end)
    phrase = words.group()
    while phrase:
        if units := _find_unit(phrase, is_attached=at == last):
            stop = at + len(phrase)
            if (
                phrase.lower() == "in"
                and (at == last or not _INCH_AFTER.match(text, stop, end))
                and at != last
            ):
                return None
            return units, stop
        breaks = list(_WORD_BREAK.finditer(phrase))
        phrase = phrase[: breaks[-1].start()] if breaks else phrase[:-1] if phrase.endswith(".") else ""
    return None


def _find_unit(phrase: str, *, is_attached: bool) -> tuple[Unit, ...] | None:
    name = phrase.replace("-", " ")
    units = _UNITS.get(name)
    if units is None and len(name) > 1:
        units = _UNITS.get(name.lower())
    if units and (ORDINAL in units) != (is_attached and name.lower() in ("st", "nd", "rd", "th")):
        return None
    return units


def _read_unspaced_unit(text: str, at: int, end: int) -> tuple[tuple[Unit, ...], int] | None:
    """A unit in Chinese or Japanese, where other words may follow at once."""
    if not "\u2e80" <= text[at : at + 1] <= "\u9fff":
        return None
    for length in (6, 5, 4, 3, 2, 1):
        if at + length <= end and (units := _UNITS.get(text[at : at + length])):
            return units, at + length
    return None


# -- Bounds: "at least 8" is not 8

_BOUND_BEFORE: Mapping[Bound, str] = {
    ">=": "at least|no fewer than|no less than|not fewer than|not less than|a minimum of|minimum of|minimum|>=|≥|>\\s?=|"
          "至少|最少|不少于|不低于|不小于|mindestens|au moins|al menos|por lo menos|pelo menos|almeno|не менее|как минимум|少なくとも|최소|적어도|ít nhất|setidaknya|en az|على الأقل|कम से कम",
    "<=": "at most|no more than|not more than|a maximum of|maximum of|maximum|up to|<=|≤|<\\s?=|"
          "至多|最多|不超过|不多于|不大于|höchstens|maximal|bis zu|au plus|jusqu'à|como máximo|a lo sumo|hasta|no máximo|até|al massimo|fino a|не более|максимум|多くても|最大|최대|많아야|tối đa|nhiều nhất|paling banyak|en fazla|على الأكثر|अधिक से अधिक",
    ">": "more than|greater than|larger than|bigger than|higher than|over|above|exceeds|exceeding|exceed|beyond|upwards of|>|after|later than|since|"
         "超过|多于|大于|高于|不止|mehr als|über|plus de|plus que|más de|mais de|più di|oltre|больше|более|свыше|以上の|より多い|초과|보다 많은|hơn|lebih dari|أكثر من|से अधिक|से ज्यादा",
    "<": "less than|fewer than|smaller than|lower than|under|below|almost|nearly|just under|close to|<|before|earlier than|short of|"
         "少于|小于|低于|不到|不足|将近|接近|weniger als|unter|fast|moins de|moins que|presque|menos de|casi|quase|meno di|quasi|меньше|менее|почти|未満の|미만|거의|dưới|ít hơn|gần|kurang dari|hampir|أقل من|لगभग से कम|से कम",
    "?": "≠|!=|\\\\neq|\\\\ne|<>|±|between|from",
}  # fmt: skip
_BOUND_AFTER: Mapping[Bound, str] = {
    ">=": r"\+(?!\s?\d)|or more|or above|or higher|or greater|and above|and up|plus\b(?!\s\w)|以上|及以上|oder mehr|ou plus|o más|ou mais|o più|или более|以上|이상|trở lên|atau lebih|veya daha fazla",
    "<=": r"or less|or fewer|or below|or lower|and below|or under|以下|及以下|oder weniger|ou moins|o menos|ou menos|o meno|или менее|이하|trở xuống",
    ">": r"多(?!少)|余|'den fazla|'dan fazla|से अधिक|보다 많",
    "<": r"未満|미만|'den az|से कम",
}  # fmt: skip


def _compile_bounds() -> tuple[re.Pattern[str], re.Pattern[str], tuple[Bound, ...]]:
    names: tuple[Bound, ...] = (">=", "<=", ">", "<", "?")
    before = "|".join(f"(?P<b{place}>{_bounded(_BOUND_BEFORE[name])})" for place, name in enumerate(names))
    after = "|".join(
        f"(?P<b{place}>{_BOUND_AFTER[name]})" for place, name in enumerate(names) if name in _BOUND_AFTER
    )
    tail = r"\s{0,3}(?:the\s|a\s|about\s|around\s|exactly\s|roughly\s|en\s|de\s)?[$€£¥(\"'*]{0,3}$"
    return (
        re.compile(rf"(?:{before}){tail}", re.IGNORECASE),
        re.compile(
            rf"[*\"')]{{0,3}}\s?(?:[个個只人名条位本台枚匹개명마리대년岁]{{1,2}}\s?)?(?:{after})",
            re.IGNORECASE,
        ),
        names,
    )


def _bounded(phrases: str) -> str:
    return "|".join(
        (r"(?<![^\W_])" if phrase[0].isalpha() and not "\u2e80" <= phrase[0] <= "\ud7af" else "") + phrase
        for phrase in sorted(phrases.split("|"), key=len, reverse=True)
    )


_BEFORE, _AFTER, _BOUND_NAMES = _compile_bounds()
MAX_BOUND_CHARS = 32


def read_bound(text: str, span: tuple[int, int], start: int, end: int) -> tuple[Bound, tuple[int, int]]:
    """How the quantity at `span` is bounded, and the span with the words that say so.

    >>> read_bound("at least 8 dogs", (9, 10), 0, 15), read_bound("8 dogs", (0, 1), 0, 6)
    (('>=', (0, 10)), ('', (0, 1)))
    """
    first, last = span
    head = text[max(start, first - MAX_BOUND_CHARS) : first]
    if found := _BEFORE.search(head):
        return _BOUND_NAMES[int((found.lastgroup or "b4")[1:])], (first - len(head) + found.start(), last)
    if found := _AFTER.match(text, last, end):
        return _BOUND_NAMES[int((found.lastgroup or "b4")[1:])], (first, found.end())
    return "", span


# -- Ranges

_RANGE = re.compile(
    r"(?P<lead>between|from|von|zwischen|de|entre|da|от|между|从)?\s?(?P<low>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)\s?"
    r"(?P<join>-|~|\bto\b|\bthrough\b|\buntil\b|\band\b|\bbis\b|\bund\b|\bà\b|\ba\b|\by\b|至|到|до)\s?(?P<high>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)",
    re.IGNORECASE,
)


def parse_range(text: str) -> tuple[Quantity, Quantity] | None:
    """The two ends of a range and nothing else.

    >>> [(low.value, high.value) for low, high in map(parse_range, ("3-5", "between 3 and 5 km", "from 2010 to 2015"))]
    [(3.0, 5.0), (3.0, 5.0), (2010.0, 2015.0)]
    >>> parse_range("3 and 5"), parse_range("555-1234"), parse_range("5-3")
    (None, None, None)
    """
    if len(text) > 60:
        return None
    plain = normalise_numerals(text)
    found = _RANGE.fullmatch(plain, *unwrap_number_span(plain))
    if found is None or (found["join"].lower() in ("and", "und", "y", "a") and not found["lead"]):
        return None
    low, high = parse_quantity(found["low"]), parse_quantity(found["high"])
    if low is None or high is None or low.bound or high.bound or not 0 <= low.value < high.value:
        return None
    is_number = (
        found["join"] != "-"
        or len(found["low"]) == len(found["high"])
        or high.value < 1000
        or bool(high.units)
    )
    if not is_number or (
        found["low"].startswith("0") and len(found["low"]) > 1 and found["low"][1].isdigit()
    ):
        return None  # a telephone number
    return (replace(low, units=high.units, noun=high.noun) if not low.units else low), high


# -- A text that is one quantity

_APPROXIMATELY = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|exactly|only|just|some|a total of|total of|total:?|in|=|:|"
    r"大约|约|大概|共|一共|共有|总共|有|是|为|約|etwa|ungefähr|environ|unos|unas|aproximadamente|cerca de|circa|около|примерно|약)\s?",
    re.IGNORECASE,
)
_SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?!\d| \d)")
_MARKS = " .,;:!?*\"'`)]}|。，、；：！？~\\$"
_NEGATIVE = re.compile(r"\s*\(\s?[$€£¥]?\s?\d[\d,.]*\s?%?\s?\)\s*")


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that a short text is, with its unit, noun and bound; None when it is anything else.

    >>> found = parse_quantity("at least 12 kg")
    >>> found.value, found.units[0].dimension, found.bound
    (12.0, 'mass', '>=')
    >>> parse_quantity("room 12"), parse_quantity("12:30"), parse_quantity("12A"), parse_quantity("3 or 4")
    (None, None, None, None)
    """
    if len(text) > MAX_CHARS:
        return None
    plain = normalise_numerals(text)
    start, end = unwrap_number_span(plain)
    while start and plain[start - 1] in "<> ":  # signs, where they do not wrap
        start -= 1
    if plain[end : end + 1] in ("'", '"') and not plain.lstrip().startswith(plain[end]):
        end += 1  # 5'10"
    if _NEGATIVE.fullmatch(plain):  # in accounts, (5) is -5
        found = parse_quantity(plain.strip().strip("()"))
        return None if found is None else _negate(found)
    return parse_quantity_span(plain, start, end)


def parse_quantity_span(plain: str, start: int, end: int) -> Quantity | None:
    """Like `parse_quantity`, for a slice of a text that went through `normalise_numerals`."""
    if end - start > MAX_CHARS or start >= end:
        return None
    if spaced := _SPACED.match(plain, start, end):
        digits = plain[start : spaced.end()].replace(" ", "").rjust(spaced.end() - start)
        plain = plain[:start] + digits + plain[spaced.end() :]
    found = list(find_quantities(plain, start, end, is_whole=True))
    if _ONE_UNIT.match(plain, start, end) and all(one.value in (0.5, 0.25) for one in found):
        found = _read_one_unit(plain, start, end) or found
    if len({one.value for one in found}) != 1 or len(found) > 2:
        return None
    quantity = found[0]
    bound, span = read_bound(plain, quantity.span, start, end)
    begin = start
    while begin < span[0] and (about := _APPROXIMATELY.match(plain, begin, span[0])):
        begin = about.end()
    if plain[begin : span[0]].strip(" *\"'"):
        return None
    rest = plain[span[1] : end]
    if len(found) == 2:  # "8 (eight)"
        rest = (
            plain[found[1].span[1] : end]
            if re.fullmatch(r"\s?[(=]\s?", plain[span[1] : found[1].span[0]])
            else "?0"
        )
    if not _is_noun(rest, quantity.noun, is_attached=span[1] < end and plain[span[1]].isalnum()):
        return None
    return replace(quantity, bound=bound, span=span)


_ONE_UNIT = re.compile(r"an?\s(?=[A-Za-z])", re.IGNORECASE)


def _read_one_unit(text: str, start: int, end: int) -> list[Quantity]:
    """A unit with an article for its number: "an hour", "an hour and a half"."""
    article = _ONE_UNIT.match(text, start, end)
    found = _read_unit(text, article.end() - 1, end) if article else None
    if found is None:
        return []
    units, stop = found
    more = _AND_A_HALF.match(text, stop, end)
    value = 1.0 + (0.0 if more is None else 0.5 if more[1] == "half" else 0.25)
    span = (start, more.end() if more else stop)
    return [Quantity(Number(value, value, span), units, span=span)]


def _is_noun(rest: str, noun: str, *, is_attached: bool) -> bool:
    """Whether what follows a quantity is nothing, or the name of what is counted."""
    words = rest.strip(_MARKS)
    if not words:
        return True
    if (
        any(map(str.isdigit, words))
        or ":" in words
        or "/" in words
        or len(words) > 30
        or len(words.split()) > 3
    ):
        return False
    if "\u2e80" <= words[0] <= "\ud7af":
        return len(words) <= 4 and not words.endswith(("吗", "か"))
    if is_attached:
        return False
    return bool(noun) and noun.split()[0] == words.split()[0].split("-")[0]


def _negate(found: Quantity) -> Quantity:
    number = found.number
    return replace(found, number=Number(-number.value, -number.face, number.span))
