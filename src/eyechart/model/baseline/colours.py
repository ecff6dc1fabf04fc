"""Names for colours, by hue, saturation and lightness as people use the words."""

from __future__ import annotations

import colorsys

RGB = tuple[int, int, int]

# Where one hue's name ends and the next begins, in degrees; red goes round through 0.
_HUES = (
    (14, "red"), (42, "orange"), (68, "yellow"), (165, "green"), (196, "teal"), (256, "blue"),
    (292, "purple"), (340, "pink"), (360, "red"),
)  # fmt: skip

# Other words for a name, the likelier first. Used when the name itself is not among the words on offer.
_NEIGHBOURS = {
    "red": ("pink", "brown", "orange", "purple"),
    "orange": ("yellow", "brown", "red", "beige"),
    "yellow": ("orange", "beige", "green"),
    "green": ("teal", "yellow"),
    "teal": ("blue", "green"),
    "blue": ("teal", "purple"),
    "purple": ("pink", "blue", "red"),
    "pink": ("purple", "red"),
    "brown": ("orange", "red", "beige"),
    "beige": ("yellow", "brown", "white", "orange"),
    "grey": ("black", "white"),
    "black": ("grey",),
    "white": ("grey", "beige"),
}
SYNONYMS = {
    "gray": "grey", "silver": "grey", "violet": "purple", "cyan": "teal", "turquoise": "teal", "aqua": "teal",
    "magenta": "pink", "fuchsia": "pink", "navy": "blue", "maroon": "red", "crimson": "red", "scarlet": "red",
    "lime": "green", "olive": "green", "golden": "yellow", "gold": "yellow", "tan": "beige", "cream": "beige",
}  # fmt: skip
NAMES = frozenset(_NEIGHBOURS)


def name_colour(rgb: RGB) -> str:
    """The everyday name of a colour.

    >>> [name_colour(rgb) for rgb in ((214, 47, 47), (125, 74, 38), (0, 128, 128), (139, 144, 150))]
    ['red', 'brown', 'teal', 'grey']
    """
    hue, light, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in rgb))
    chroma = (max(rgb) - min(rgb)) / 255
    if light < 0.09 or (light < 0.2 and chroma < 0.12):
        return "black"
    if light > 0.93 or (light > 0.88 and chroma < 0.1):
        return "white"
    if chroma < 0.1 or saturation < 0.12:
        return "grey"
    name = next(name for end, name in _HUES if hue * 360 <= end)
    if name in ("red", "orange") and hue * 360 < 60 and light < (0.42 if name == "orange" else 0.22):
        return "brown"
    if name in ("orange", "yellow") and light > 0.72 and saturation < 0.8:
        return "beige"
    if name == "red" and light < 0.45 and saturation < 0.65:
        return "brown"
    if name == "red" and light > 0.68:
        return "pink"
    if name == "pink" and light < 0.35:
        return "purple"
    return name


def read_colour(word: str) -> str | None:
    """The name we use for a colour word, or None.

    >>> read_colour("Gray"), read_colour("violet"), read_colour("round")
    ('grey', 'purple', None)
    """
    word = word.casefold()
    word = SYNONYMS.get(word, word)
    return word if word in NAMES else None


def compare_colours(name: str, wanted: str) -> int:
    """How well `wanted` names a colour called `name`: 0 the same, then worse; -1 not at all."""
    if name == wanted:
        return 0
    near = _NEIGHBOURS[name]
    return near.index(wanted) + 1 if wanted in near else -1
