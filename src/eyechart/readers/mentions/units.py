"""Units of measure: names, sizes and meanings, as plain data.

A name may have several meanings (``m``: metres or millions; ``pounds``: mass or money; ``degrees``), and which one
is meant follows from the other side of a comparison. Names with a capital are told apart by case (``Mb``, ``MB``);
a hyphen in the table is a space or a hyphen in the text.
"""

# ruff: noqa: E501  (a row of names is one line, however long)

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """One meaning of a unit: its dimension, its size in that dimension's base, and where its zero lies."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0
    system: str = ""


# -- The table of units: dimension -> size -> names. Names with a capital or a sign are told apart by case.

_TABLE: Mapping[str, Mapping[float, str]] = {
    "mass": {
        1e-6: "µg μg mcg microgram micrograms 微克", 1e-3: "mg milligram milligrams 毫克 ミリグラム",
        1: "g gram grams gramme grammes gr 克 グラム г грамм граммов gramm gramos grammi gramas gramo",
        1e3: "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes 千克 公斤 キロ キログラム кг 킬로그램 kilogramm kilogramo kilogramos quilos quilogramas",
        500: "斤", 1e6: "t T ton tons tonne tonnes mt 吨 噸 トン тонн тонна 톤 tonnen toneladas", 1e9: "kt kilotonnes",
    },
    "length": {
        1e-9: "nm nanometre nanometres nanometer nanometers 纳米", 1e-6: "µm μm micron microns micrometer micrometers micrometre micrometres 微米",
        1e-3: "mm millimetre millimetres millimeter millimeters 毫米 мм", 1e-2: "cm centimetre centimetres centimeter centimeters zentimeter centímetros centimètres centimetri 厘米 公分 センチ センチメートル см 센티미터",
        0.1: "dm decimetre decimeters decimeter 分米",
        1: "m metre metres meter meters 米 公尺 メートル м метр метров метра 미터 metros metri metro mètre mètres",
        1e3: "km kms kilometre kilometres kilometer kilometers kilómetros kilomètres chilometri quilômetros 公里 千米 キロメートル км километров 킬로미터",
    },
    "area": {
        1e-4: "cm² cm2 sq-cm sq.-cm square-centimetres square-centimeters 平方厘米", 1: "m² m2 sq-m sq.-m sqm square-metres square-meters square-metre square-meter 平方米 ㎡",
        1e4: "ha hectare hectares 公顷", 1e6: "km² km2 sq-km sq.-km square-kilometres square-kilometers 平方公里 平方千米",
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
    "acceleration": {1: "m/s² m/s2 metres-per-second-squared meters-per-second-squared"},
    "data": {
        1: "byte bytes", 1e3: "KB kB kilobyte kilobytes", 1e6: "MB megabyte megabytes mb", 1e9: "GB gigabyte gigabytes gb", 1e12: "TB terabyte terabytes tb", 1e15: "PB petabyte petabytes",
        0.125: "bit bits", 125: "kb Kb kbit kilobit kilobits", 1.25e5: "Mb Mbit megabit megabits", 1.25e8: "Gb Gbit gigabit gigabits", 1024: "KiB", 1024**2: "MiB", 1024**3: "GiB", 1024**4: "TiB",
    },
    "rate": {1: "bps", 1e3: "kbps Kbps kbit/s", 1e6: "Mbps mbps Mb/s Mbit/s", 1e9: "Gbps gbps Gb/s Gbit/s"},
    "energy": {
        1: "J joule joules", 1e3: "kJ kj kilojoule kilojoules", 1e6: "MJ megajoules", 4184: "kcal kcals Cal kilocalorie kilocalories calorie calories cal 千卡 大卡",
        3600: "Wh watt-hours", 3.6e6: "kWh kwh kilowatt-hour kilowatt-hours", 3.6e9: "MWh", 3.6e12: "GWh", 3.6e15: "TWh",
    },
    "power": {1: "W watt watts 瓦", 1e-3: "mW", 1e3: "kW kw kilowatt kilowatts 千瓦", 1e6: "MW megawatt megawatts", 1e9: "GW gigawatt gigawatts", 745.7: "hp horsepower 马力"},
    "voltage": {1e-3: "mV", 1: "V volt volts 伏", 1e3: "kV"},
    "current": {1e-3: "mA milliamps", 1: "A amp amps ampere amperes"},
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
    "sek": {1: "sek kr"}, "nok": {1: "nok kr"}, "dkk": {1: "dkk kr"}, "pln": {1: "pln zł"},
    "rub": {1: "₽ rub rouble roubles ruble rubles рублей руб"}, "krw": {1: "₩ krw won 원"}, "chf": {1: "chf francs"}, "cad": {1: "c$ cad canadian-dollars"},
    "aud": {1: "a$ aud australian-dollars"}, "hkd": {1: "hk$ hkd 港元"}, "brl": {1: "r$ brl real reais"}, "mxn": {1: "mxn pesos"},
    "ordinal": {1: "st nd rd th º ª"},
    "count": {12: "dozen"},
    "scale": {1e6: "m"},
}  # fmt: skip
_IMPERIAL: Mapping[str, Mapping[float, str]] = {
    "mass": {28.349523125: "oz ounce ounces", 453.59237: "lb lbs pound pounds 磅", 6350.29318: "stone stones", 907184.74: "ton tons short-tons"},
    "length": {0.0254: "in in. inch inches \" ” ″ '' 英寸", 0.3048: "ft ft. foot feet ' ’ ′ 英尺", 0.9144: "yd yds yard yards", 1609.344: "mi mile miles 英里", 1852: "nautical-miles nmi"},
    "area": {0.00064516: "sq-in sq.-in square-inches in²", 0.09290304: "sq-ft sq.-ft sqft ft² ft2 square-feet square-foot", 4046.8564224: "acre acres 英亩", 2589988.110336: "sq-mi square-miles mi²"},
    "volume": {0.0295735295625: "fl-oz fl.-oz. oz fluid-ounces fluid-ounce ounces ounce", 0.2365882365: "cup cups", 0.473176473: "pt pint pints", 0.946352946: "qt quart quarts", 3.785411784: "gal gallon gallons", 0.01478676478125: "tbsp tablespoon tablespoons", 0.00492892159375: "tsp teaspoon teaspoons"},
    "speed": {0.44704: "mph mi/h miles/hour mile/h miles-per-hour miles-an-hour 英里/小时", 0.514444: "knot knots kn", 0.3048: "ft/s feet-per-second"},
    "energy": {1055.06: "BTU btu"},
}  # fmt: skip
_TEMPERATURES = (
    (Unit("temperature", 1.0, 273.15, "C"), "°c ℃ C c celsius centigrade degrees-celsius degree-celsius degrees-centigrade degrees-c deg-c 摄氏度 度 ° degrees degree 도 градусов grad graus grados gradi"),
    (Unit("temperature", 5 / 9, 273.15 - 160 / 9, "F"), "°f ℉ F fahrenheit degrees-fahrenheit degree-fahrenheit degrees-f deg-f 华氏度 ° degrees degree"),
    (Unit("temperature", 1.0, 0.0, "K"), "K kelvin kelvins"),
)  # fmt: skip
COUNTS = frozenset({"count", "scale"})  # they multiply: a dozen is 12, whatever is counted
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


def _collect_units() -> dict[str, tuple[Unit, ...]]:
    found: dict[str, tuple[Unit, ...]] = {}
    for name, unit in _list_units():
        found[name] = (*found.get(name, ()), ORDINAL if unit.dimension == "ordinal" else unit)
    return found


UNITS: Mapping[str, tuple[Unit, ...]] = _collect_units()
