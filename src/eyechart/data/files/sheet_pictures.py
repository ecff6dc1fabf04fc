"""Runs in a separate process: finds the pictures of a worksheet and the cell that each belongs to.

Pictures are in a sheet in four ways: floating over the cells (the cell under the centre is meant), placed in
a cell (Excel's rich values), as ``=DISPIMG("ID")`` (WPS), and as ``=IMAGE("https://...")``. A picture stays
in the archive; its cell gets the name of the archive's member, or the URL. XML with a document type is
refused, so that there are no entities to expand.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from xml.parsers import expat

_CHUNK_BYTES = 1 << 20
_EMU_PER_POINT = 12_700
_POINTS_PER_CHARACTER = 5.25  # of the width of a column in the usual font
_ROW_POINTS, _COLUMN_CHARACTERS = 15.0, 8.43  # Excel's defaults
_MAX_PICTURES = 100_000
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_FORMULA = re.compile(r'=?(?:_xlfn\.|_xludf\.)?(IMAGE|DISPIMG)\(\s*"([^"]{1,2000})"', re.IGNORECASE)

Cell = tuple[int, int]  # row and column, counted from 0
Found = dict[Cell, list[str]]


def find_pictures(archive: zipfile.ZipFile, sheet: str) -> Found:
    """The pictures of the sheet with that name: for each cell, names of members or URLs, in order."""
    part = _find_part(archive, sheet)
    if not part:
        return {}
    names = frozenset(archive.namelist())
    drawings = [
        target for kind, target in _relations(archive, part).values() if kind == "drawing" and target in names
    ]
    placed, wps = _list_rich_images(archive, names), _list_wps_images(archive, names)
    if not drawings and not placed and not _mentions_formula(archive, part):
        return {}
    grid = _Grid()
    grid.read(archive, part)
    found: Found = {}
    for drawing in drawings:
        for anchor in _read_anchors(archive, drawing):
            found.setdefault(grid.locate(anchor), []).extend(anchor.members)
    for cell, index in grid.rich.items():
        if index in placed:
            found.setdefault(cell, []).append(placed[index])
    for cell, (function, text) in grid.formulas.items():
        member = text if function == "IMAGE" else wps.get(text, "")
        if member and cell not in found:
            found[cell] = [member]
    if sum(map(len, found.values())) > _MAX_PICTURES:
        raise ValueError(f"more than {_MAX_PICTURES:,} pictures in one sheet")
    return found


# -- Parts of the archive


def _find_part(archive: zipfile.ZipFile, sheet: str) -> str:
    """The member that holds the sheet."""
    book = "xl/workbook.xml"
    parts = _relations(archive, book)
    for name, attributes, _ in _elements(archive, book):
        if name == "sheet" and attributes.get("name") == sheet:
            return parts.get(attributes.get("id", ""), ("", ""))[1]
    return ""


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Id to kind and member of what a part refers to; what is outside the archive is left out."""
    folder, name = posixpath.split(part)
    found = {}
    for tag, attributes, _ in _elements(archive, f"{folder}/_rels/{name}.rels"):
        if tag == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            member = (
                target.lstrip("/")
                if target.startswith("/")
                else posixpath.normpath(posixpath.join(folder, target))
            )
            found[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], member)
    return found


def _media(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Id to member of the images that a part refers to and that exist."""
    names = frozenset(archive.namelist())
    return {
        key: target
        for key, (kind, target) in _relations(archive, part).items()
        if kind == "image" and target in names
    }


def _elements(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Local name, attributes and own text of each element, at its end; nothing if the part does not exist."""
    if part not in archive.namelist():
        return
    done: list[tuple[str, dict[str, str], str]] = []
    open_elements: list[tuple[str, dict[str, str], list[str]]] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        open_elements.append((_local(name), {_local(key): value for key, value in attributes.items()}, []))

    def end(name: str) -> None:
        tag, attributes, texts = open_elements.pop()
        done.append((tag, attributes, "".join(texts)))

    def text(data: str) -> None:
        if open_elements:
            open_elements[-1][2].append(data)

    for _ in _parse(archive, part, begin, end, text):
        yield from done
        done.clear()


def _parse(
    archive: zipfile.ZipFile,
    part: str,
    begin: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> Iterator[None]:
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    with archive.open(part) as file:
        while chunk := file.read(_CHUNK_BYTES):
            parser.Parse(chunk)
            yield
        parser.Parse(b"", True)
        yield


def _refuse_doctype(*declared: object) -> None:
    raise ValueError("its XML declares a document type, which is not allowed")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


# -- Floating pictures


class _Anchor(NamedTuple):
    """Where a picture begins, and where it ends or how large it is."""

    begin: tuple[int, int, int, int]  # column, offset in it, row, offset in it (EMU)
    end: tuple[int, int, int, int] | None
    size: tuple[int, int]  # width and height (EMU)
    members: tuple[str, ...]


def _read_anchors(archive: zipfile.ZipFile, drawing: str) -> list[_Anchor]:
    media = _media(archive, drawing)
    anchors: list[_Anchor] = []
    values: dict[str, int] = {}
    places: dict[str, tuple[int, int, int, int]] = {}
    sizes: list[tuple[int, int]] = []
    members: list[str] = []
    for tag, attributes, text in _elements(archive, drawing):
        if tag in ("col", "colOff", "row", "rowOff"):
            values[tag] = _whole(text)
        elif tag in ("from", "to"):
            places[tag] = (
                values.get("col", 0), values.get("colOff", 0), values.get("row", 0), values.get("rowOff", 0),
            )  # fmt: skip
        elif tag == "ext" and "cx" in attributes:
            sizes.append((_whole(attributes["cx"]), _whole(attributes.get("cy", "0"))))
        elif tag == "blip" and attributes.get("embed") in media:
            members.append(media[attributes["embed"]])
        elif tag in ("twoCellAnchor", "oneCellAnchor", "absoluteAnchor"):
            if members and "from" in places:
                size = sizes[0] if sizes else (0, 0)  # the anchor's own extent comes first
                anchors.append(_Anchor(places["from"], places.get("to"), size, tuple(members)))
            values, places, sizes, members = {}, {}, [], []
    return sorted(anchors, key=lambda one: (one.begin[2], one.begin[0], one.begin[3], one.begin[1]))


def _whole(text: str) -> int:
    text = text.strip()
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else 0


class _Grid:
    """Heights of rows, widths of columns, and the cells that refer to pictures."""

    def __init__(self) -> None:
        self.heights: dict[int, float] = {}  # in points
        self.widths: list[tuple[int, int, float]] = []  # first column, last column, characters
        self.row_points = _ROW_POINTS
        self.column_characters = _COLUMN_CHARACTERS
        self.rich: dict[Cell, int] = {}
        self.formulas: dict[Cell, tuple[str, str]] = {}
        self._cell: Cell | None = None
        self._inside = ""
        self._texts: list[str] = []

    def read(self, archive: zipfile.ZipFile, part: str) -> None:
        for _ in _parse(archive, part, self._begin, self._end, self._add_text):
            pass

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        name = _local(name)
        if name == "c":
            self._cell = _cell(attributes.get("r", ""))
            if self._cell is not None and "vm" in attributes:
                self.rich[self._cell] = _whole(attributes["vm"])
        elif name in ("f", "v"):
            self._inside, self._texts = name, []
        elif name == "row" and "ht" in attributes:
            self.heights[_whole(attributes.get("r", "0")) - 1] = _number(attributes["ht"], _ROW_POINTS)
        elif name == "row" and attributes.get("hidden") in ("1", "true"):
            self.heights[_whole(attributes.get("r", "0")) - 1] = 0.0
        elif name == "sheetFormatPr":
            self.row_points = _number(attributes.get("defaultRowHeight", ""), _ROW_POINTS)
            self.column_characters = _number(attributes.get("defaultColWidth", ""), _COLUMN_CHARACTERS)
        elif name == "col":
            first, last = _whole(attributes.get("min", "1")) - 1, _whole(attributes.get("max", "1")) - 1
            self.widths.append((first, last, _number(attributes.get("width", ""), _COLUMN_CHARACTERS)))

    def _add_text(self, text: str) -> None:
        if self._inside:
            self._texts.append(text)

    def _end(self, name: str) -> None:
        if self._inside and self._cell is not None:
            match = _FORMULA.match("".join(self._texts)[:2100].strip())
            if match:
                self.formulas.setdefault(self._cell, (match[1].upper(), match[2]))
        self._inside = ""

    def locate(self, anchor: _Anchor) -> Cell:
        """The cell under the centre of a picture: people do not place pictures to the pixel."""
        column, column_off, row, row_off = anchor.begin
        end = anchor.end or (column, column_off + anchor.size[0], row, row_off + anchor.size[1])
        return (
            _middle((row, row_off), (end[2], end[3]), self._height),
            _middle((column, column_off), (end[0], end[1]), self._width),
        )

    def _height(self, row: int) -> float:
        return self.heights.get(row, self.row_points) * _EMU_PER_POINT

    def _width(self, column: int) -> float:
        found = (width for first, last, width in self.widths if first <= column <= last)
        return next(found, self.column_characters) * _POINTS_PER_CHARACTER * _EMU_PER_POINT


_MAX_SPAN = 10_000  # rows or columns under one picture


def _middle(begin: tuple[int, int], end: tuple[int, int], size: Callable[[int], float]) -> int:
    """The row or column in the middle between two places, each a row or column and an offset in it."""
    first, last = begin[0], min(end[0], begin[0] + _MAX_SPAN)
    length = sum(size(at) for at in range(first, last)) - begin[1] + end[1]
    left = begin[1] + max(length, 0) / 2
    at = first
    while left > size(at) and at < first + _MAX_SPAN:
        left -= size(at)
        at += 1
    return at


def _number(text: str, otherwise: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return value if 0 <= value < 1e6 else otherwise


def _cell(reference: str) -> Cell | None:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(match[2]) - 1, column - 1


# -- Pictures in cells


def _mentions_formula(archive: zipfile.ZipFile, part: str) -> bool:
    before = b""
    with archive.open(part) as file:
        while chunk := file.read(_CHUNK_BYTES):
            if b"IMAGE(" in before + chunk or b"DISPIMG(" in before + chunk:
                return True
            before = chunk[-16:]
    return False


def _list_rich_images(archive: zipfile.ZipFile, names: frozenset[str]) -> dict[int, str]:
    """The members of images placed in cells, by the number (from 1) that cells have as `vm`.

    A cell's number leads to an entry of metadata.xml, that to a rich value, that to a relation.
    """
    folder = "xl/richData"
    if f"{folder}/richValueRel.xml" not in names or "xl/metadata.xml" not in names:
        return {}
    media = _media(archive, f"{folder}/richValueRel.xml")
    relations = [
        media.get(attributes.get("id", ""), "")
        for tag, attributes, _ in _elements(archive, f"{folder}/richValueRel.xml")
        if tag == "rel"
    ]
    members = list(_read_rich_values(archive, folder, relations))
    entries, rich = _read_metadata(archive)
    found: dict[int, str] = {}
    for number, entry in enumerate(entries, start=1):
        value = rich[entry] if 0 <= entry < len(rich) else -1
        if 0 <= value < len(members) and members[value]:
            found[number] = members[value]
    return found


def _read_rich_values(archive: zipfile.ZipFile, folder: str, relations: list[str]) -> Iterator[str]:
    """The member of each rich value; empty for one that is not a local image."""
    keys: list[str] = []
    structures: list[int] = []  # where in a value the number of its relation is; -1: it has none
    for tag, attributes, _ in _elements(archive, f"{folder}/rdrichvaluestructure.xml"):
        if tag == "k":
            keys.append(attributes.get("n", ""))
        elif tag == "s":
            image = "_rvRel:LocalImageIdentifier"
            structures.append(keys.index(image) if image in keys else -1)
            keys = []
    values: list[str] = []
    for tag, attributes, text in _elements(archive, f"{folder}/rdrichvalue.xml"):
        if tag == "v":
            values.append(text)
        elif tag == "rv":
            kind = _whole(attributes.get("s", "0"))
            at = structures[kind] if 0 <= kind < len(structures) else -1
            number = _whole(values[at]) if 0 <= at < len(values) else -1
            yield relations[number] if 0 <= number < len(relations) else ""
            values = []


def _read_metadata(archive: zipfile.ZipFile) -> tuple[list[int], list[int]]:
    """For each value number the entry among the rich ones, and for each entry its rich value."""
    entries: list[int] = []
    rich: list[int] = []
    block: Mapping[str, str] | None = None
    records: list[int] = []
    for tag, attributes, _ in _elements(archive, "xl/metadata.xml"):
        if tag == "rc":
            block = attributes
        elif tag == "rvb":
            records.append(_whole(attributes.get("i", "-1")))
        elif tag == "cellMetadata":
            entries.clear()  # these belong to formulas
        elif tag == "futureMetadata":
            if attributes.get("name") == "XLRICHVALUE":
                rich = records
            records = []
        elif tag == "bk" and block is not None:
            entries.append(_whole(block.get("v", "-1")))
            block = None
    return entries, rich


def _list_wps_images(archive: zipfile.ZipFile, names: frozenset[str]) -> dict[str, str]:
    """The members of WPS's cell images by their names."""
    part = "xl/cellimages.xml"
    if part not in names:
        return {}
    media = _media(archive, part)
    found: dict[str, str] = {}
    name = member = ""
    for tag, attributes, _ in _elements(archive, part):
        if tag == "cNvPr":
            name = attributes.get("name", "")
        elif tag == "blip":
            member = media.get(attributes.get("embed", ""), "")
        elif tag == "cellImage":
            if name and member:
                found[name] = member
            name = member = ""
    return found
