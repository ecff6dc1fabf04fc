"""The images of a data set's rows: what `build_prompt` returns as messages, cells as files, base64 and back.

Understood of `build_prompt`: a text, one part, a list of parts (``{"type": "image", "value": ...}``), a list
of texts and paths, and a conversation (``{"role": ..., "content": ...}``).
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from eyechart.data.image_columns import IMAGE_SUFFIXES, REFERENCE_CHARS
from eyechart.data.pixels import decode, inspect, open_image
from eyechart.data.rows import PathRules
from eyechart.errors import DataError, ImageError
from eyechart.files import atomic_write
from eyechart.pipelines.vlmevalkit.vlmeval.smp import Frame, is_missing, pandas, toliststr
from eyechart.types import ImageRef, Message, Part, Role

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_SHAPE = 'a list of {"type": "image" or "text", "value": ...}, pictures first'


def to_messages(said: Any, rules: PathRules, who: str) -> list[Message]:
    """The messages of a row: what has the role of the system comes first, then the rest in order."""
    items: Any = [said] if isinstance(said, str | Mapping) else said
    if not isinstance(items, Sequence) or not items:
        what = "nothing" if not items else type(said).__name__
        raise DataError(f"{who} returned {what}", hint=f"it is {_SHAPE}")
    if all(isinstance(item, Mapping) and "content" in item for item in items):
        return [_turn(item, rules, who) for item in items]
    system = [item for item in items if isinstance(item, Mapping) and item.get("role") == "system"]
    first = tuple(_part(item, rules, who) for item in system)
    parts = tuple(_part(item, rules, who) for item in items if item not in system)
    if not parts:
        raise DataError(f"{who} returned nothing for the user's turn", hint=f"it is {_SHAPE}")
    return [*([Message("system", first)] if first else []), Message("user", parts)]


def make_image_ref(place: str, rules: PathRules) -> ImageRef:
    """The image at a path, an address or a data URL."""
    if place.startswith("data:"):
        return ImageRef(kind="data", location=place.partition(",")[2])
    if place.startswith(("http://", "https://")):
        return ImageRef(kind="url", location=place)
    return rules.to_ref(place)


def _turn(item: Mapping[str, Any], rules: PathRules, who: str) -> Message:
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        raise DataError(f"{who}: a turn of {item.get('role')!r}", hint=f"known: {', '.join(_ROLES)}")
    content = item["content"]
    parts = [content] if isinstance(content, str | Mapping) else content
    return Message(role, tuple(_part(part, rules, who) for part in parts))


def _part(item: Any, rules: PathRules, who: str) -> Part:
    if isinstance(item, str):
        return make_image_ref(item, rules) if is_place(item) and "\n" not in item else item
    if not isinstance(item, Mapping) or not {"type", "value"} <= set(item):
        raise DataError(f"{who}: a part without type and value: {str(item)[:80]}", hint=f"it is {_SHAPE}")
    kind, value = item["type"], item["value"]
    if kind == "text":
        return str(value)
    if kind != "image":
        raise DataError(f"{who}: a part of the type {kind!r}", hint="pictures and text can be sent")
    value = str(value) if isinstance(value, PurePath) else value
    if not isinstance(value, str) or not value:
        raise DataError(
            f"{who}: the picture {str(value)[:80]!r} is no path", hint="give a path or an address"
        )
    return make_image_ref(value, rules)


# -- Which cells hold images, and where they lie as files

_ADDRESSES = ("http://", "https://", "data:")
_SUFFIXES = tuple(suffix.decode() for suffix in IMAGE_SUFFIXES)


def is_place(text: str) -> bool:
    """Whether a cell names an image rather than holding it: a path or an address. Base64 has no dot.

    >>> is_place("a/cat.PNG"), is_place("https://x.org/cat"), is_place("iVBORw0KGgo="), is_place("17")
    (True, True, False, False)
    """
    return text.startswith(_ADDRESSES) or text[-5:].lower().endswith(_SUFFIXES)


def unfold_images(data: Frame, who: str) -> None:
    """Image cells as scripts see them: a text or a list of texts; an index becomes the image it names."""
    if "image" in data:
        cells = [_listed(cell) for cell in data["image"]]
        own = dict(zip(map(str, data["index"]), cells, strict=True))
        data["image"] = _column(
            [_referred(cell, own, f"{who}: index {index}") for index, cell in own.items()], data
        )
    if "image_path" in data:
        data["image_path"] = _column([_listed(cell) for cell in data["image_path"]], data)


def _listed(cell: Any) -> list[str]:
    return [] if is_missing(cell) else toliststr(cell)


def _referred(cell: list[str], own: dict[str, list[str]], where: str) -> list[str]:
    if len(cell) != 1 or len(cell[0]) > REFERENCE_CHARS or is_place(cell[0]):
        return cell
    found = own.get(cell[0], [])
    if not found or (len(found) == 1 and len(found[0]) <= REFERENCE_CHARS and not is_place(found[0])):
        raise DataError(
            f"{where}: the image {cell[0]!r} is neither a picture nor the index of a row that has one",
            hint="write base64, a path with its ending, or the index of another row",
        )
    return found


def _column(cells: Sequence[list[str]], data: Frame) -> Any:
    """Lists of one are written as what they hold."""
    plain = [cell[0] if len(cell) == 1 else cell or float("nan") for cell in cells]
    return pandas().Series(plain, dtype="object", index=data.index)


def find_images(places: Sequence[str], rules: PathRules) -> list[str]:
    """Paths where their files lie, as far as they are found; addresses as they are."""
    return [place if place.startswith(_ADDRESSES) else _followed(place, rules) for place in places]


def _followed(place: str, rules: PathRules) -> str:
    ref = rules.to_ref(place)
    return place if ref.refused else ref.location


def write_images(
    items: Sequence[str], names: Sequence[str], folder: Path, rules: PathRules, who: str
) -> list[str]:
    """Images out of cells as files of a folder, each under its name; those that are files already stay."""
    paths = []
    for item, name in zip(items, names, strict=True):
        if is_place(item) and not item.startswith("data:"):
            paths += find_images([item], rules)
        else:
            paths.append(_write(picture_bytes(item, who), folder / _inside(name)))
    return paths


def _write(data: bytes, path: Path) -> str:
    """The file's own bytes; a file that is there is never replaced.

    Another row may have its image under that name, be it in a thread or a process beside this one. An
    image that finds the name taken has one of its own.
    """
    if _holds(path, data):
        return str(path)
    own = path.with_name(f"{path.stem}-{hashlib.sha256(data).hexdigest()[:8]}{path.suffix}")
    with suppress(OSError):  # what is not about the name happens again below, and is said there
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:  # who reads half of it finds other bytes, and takes a name of its own
            file.write(data)
        return str(path)
    if not _holds(own, data):
        with atomic_write(own) as place:
            place.write_bytes(data)
    return str(own)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _inside(name: str) -> Path:
    """A name as a path below a folder, whatever it is made of.

    >>> str(_inside("7.png")), str(_inside("a/b.png")), str(_inside("../../etc/x.png"))
    ('7.png', 'a/b.png', 'etc/x.png')
    """
    parts = [part for part in re.split(r"[/\\\0]+", name) if part not in ("", ".", "..")]
    return Path(*parts) if parts else Path("picture.png")


def name_images(index: Any, n_pictures: int, paths: Sequence[str]) -> list[str]:
    """How the images of a row are called: as `image_path` says, else after its index.

    >>> name_images(7, 1, []), name_images(7, 2, []), name_images(7, 1, ["cat.jpg"])
    (['7.png'], ['7_0.png', '7_1.png'], ['cat.jpg'])
    """
    if len(paths) == n_pictures:
        return [str(path) for path in paths]
    stem = re.sub(r"[/\\\0]", "_", str(index))
    return [f"{stem}.png"] if n_pictures == 1 else [f"{stem}_{k}.png" for k in range(n_pictures)]


# -- Base64 and back, as `vlmeval.smp.vlm` has it. What is no image is refused

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF", ".bmp": "BMP"}


def picture_bytes(base64_string: str, what: str = "the base64 text") -> bytes:
    """The bytes of an image's file out of base64 or a data URL, looked at but not changed."""
    import pybase64

    text = base64_string.partition(",")[2] if base64_string[:5].lower() == "data:" else base64_string
    try:
        data = pybase64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as err:
        raise ImageError(f"{what}: broken base64 ({err})", hint="the cell may be cut off") from err
    inspect(data, what)
    return data


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> Any:
    """The image as Pillow has it, in RGB where it has a palette or transparency."""
    return _small(_opened(picture_bytes(base64_string), "the base64 text"), target_size)


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the image to a file, in the format that its name asks for."""
    data = picture_bytes(base64_string)
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    format = _FORMATS.get(path.suffix.lower(), "PNG")
    if target_size <= 0 and inspect(data, path.name).format == format:
        with atomic_write(path) as place:
            place.write_bytes(data)
        return
    picture = _small(_opened(data, path.name), target_size)
    with atomic_write(path) as place, place.open("wb") as file:
        picture.save(file, format)


def encode_image_to_base64(img: Any, target_size: int = -1, fmt: str = "JPEG") -> str:
    """An image of Pillow's as base64 of a file."""
    import pybase64

    out = BytesIO()
    _small(img, target_size).save(out, fmt)
    return pybase64.b64encode(out.getvalue()).decode("ascii")


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str = "JPEG") -> str:
    """An image's file as base64, encoded anew as `fmt`."""
    try:
        data = Path(image_path).read_bytes()
    except OSError as err:
        raise ImageError(f"{image_path}: cannot be read: {err.strerror or err}") from err
    return encode_image_to_base64(_opened(data, str(image_path)), target_size, fmt)


def _opened(data: bytes, what: str) -> Picture:
    inspect(data, what)
    _, picture = open_image(data, what)
    decode(picture, what)
    return picture


def _small(picture: Picture, target_size: int) -> Picture:
    """Fit into a square of `target_size` pixels, never enlarged; -1 leaves the size."""
    picture = picture.convert("RGB") if picture.mode in ("RGBA", "P", "LA") else picture
    if target_size > 0 and max(picture.size) > target_size:
        picture = picture.copy()
        picture.thumbnail((target_size, target_size))
    return picture
