"""Runs in a separate process: prints the rows of a workbook's sheets, one JSON value per line.

With ``--sheets`` it prints the beginning of every visible sheet; with ``--sheet NAME`` all rows of that
sheet, after one line with its merged cells and its pictures. A row is a list; after the first one, a number
stands for so many empty rows. Dates and similar values become text.
Libraries that write spreadsheets turn a text that begins with ``=`` into a formula without a value; such a
cell becomes the text again.

Pictures are in a sheet in four ways: floating over the cells (the cell under the centre is meant), placed in
a cell (Excel's rich values), as ``=DISPIMG("ID")`` (WPS), and as ``=IMAGE("https://...")``. A picture stays
in the archive; its cell gets the name of the archive's member, or the URL. XML with a document type is
refused, so that there are no entities to expand.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import python_calamine

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # Excel's limits
MAX_CELLS = 100_000_000  # a hundred full columns
BEGINNING_ROWS = 40  # of each sheet, to find the one with the questions
FAILED = 3  # exit code for an error with a message; Python and Rust use others

_CHUNK_BYTES = 1 << 20
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# In .xls files they are stored as they are.
_PICTURE = re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff[\xe0\xe1]")
_NEVER_CALCULATED = ("", "0")  # the value until a spreadsheet program calculates it

_EMU_PER_POINT = 12_700
_POINTS_PER_CHARACTER = 5.25  # of the width of a column in the usual font
_ROW_POINTS, _COLUMN_CHARACTERS = 15.0, 8.43  # Excel's defaults
_MAX_PICTURES = 100_000
_MAX_SPAN = 10_000  # rows or columns under one picture
_FORMULA = re.compile(r'=?(?:_xlfn\.|_xludf\.)?(IMAGE|DISPIMG)\(\s*"([^"]{1,2000})"', re.IGNORECASE)

Cell = tuple[int, int]  # row and column, counted from 0
Formulas = Mapping[int, Mapping[int, str]]  # row to column to text


def open_book(path: str) -> python_calamine.CalamineWorkbook:
    """A workbook by its ending or, if that misleads, by its content."""
    try:
        return python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError:
        raise
    except python_calamine.CalamineError:
        with open(path, "rb") as file:  # noqa: PTH123
            return python_calamine.CalamineWorkbook.from_filelike(file)


def _read_cells(path: str, sheet: python_calamine.CalamineSheet) -> Iterator[list[Any]]:
    _refuse_far_cells(sheet)
    texts: Formulas = read_formulas(path) if sheet.start == (0, 0) else {}
    for number, row in enumerate(sheet.iter_rows()):
        own = texts.get(number, {})
        yield [own.get(column, cell) for column, cell in enumerate(row)] if own else list(row)


def read_beginnings(path: str) -> Iterator[dict[str, Any]]:
    """The first rows of each worksheet that is not hidden, with its merged cells."""
    book = open_book(path)
    kinds = python_calamine.SheetTypeEnum, python_calamine.SheetVisibleEnum
    for told in book.sheets_metadata:
        if told.typ == kinds[0].WorkSheet and told.visible == kinds[1].Visible:
            sheet = book.get_sheet_by_name(told.name)
            rows = list(islice(_read_cells(path, sheet), BEGINNING_ROWS))
            yield {"name": told.name, **_describe(sheet), "rows": rows}


def read_sheet(path: str, name: str) -> Iterator[Any]:
    """Merged cells and pictures of a sheet, then its rows."""
    sheet = open_book(path).get_sheet_by_name(name)
    _refuse_far_cells(sheet)
    found = _find_pictures(path, name)
    yield {**_describe(sheet), "pictures": [[*cell, members] for cell, members in found.items()]}
    yield from _read_cells(path, sheet)


def _find_pictures(path: str, sheet: str) -> Mapping[Cell, list[str]]:
    """The pictures of a sheet. Formats whose pictures are not read are refused if they have one."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return find_pictures(archive, sheet)
            has_any = any(name.startswith(("Pictures/", "xl/media/")) for name in archive.namelist())
    else:
        with open(path, "rb") as file:  # noqa: PTH123
            has_any = _PICTURE.search(file.read()) is not None
    if has_any:
        raise ValueError("it has pictures inside, which are read from .xlsx files only")
    return {}


def _describe(sheet: python_calamine.CalamineSheet) -> dict[str, Any]:
    return {"left": (sheet.start or (0, 0))[1], "merged": sheet.merged_cell_ranges or []}


def _refuse_far_cells(sheet: python_calamine.CalamineSheet) -> None:
    """Every row up to the last cell is generated: a file of 5 KB can ask for a billion."""
    n_rows, n_columns = (last + 1 for last in sheet.end or (-1, -1))
    place, n_cells = f"row {n_rows:,}, column {n_columns:,}", n_rows * sheet.width
    if n_rows > MAX_ROWS or n_columns > MAX_COLUMNS:
        raise ValueError(f"a cell is in {place}; a sheet ends at row {MAX_ROWS:,}, column {MAX_COLUMNS:,}")
    if n_cells > MAX_CELLS:
        what = f"the last cell is in {place}, which makes {n_cells:,} cells"
        raise ValueError(f"{what}; the limit is {MAX_CELLS:,}")


def read_formulas(path: str) -> Formulas:
    """The formulas of a workbook with one sheet in which no formula was ever calculated."""
    found: dict[int, dict[int, str]] = {}
    with contextlib.suppress(zipfile.BadZipFile, NotImplementedError, expat.ExpatError, OSError, ValueError):  # noqa: SIM117
        with zipfile.ZipFile(path) as archive:
            sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
            if len(sheets) != 1 or not _mentions(archive, sheets[0], b"<f>"):
                return {}
            for tag, attributes, texts in _walk_sheet(archive, sheets[0]):
                if tag != "c" or "f" not in texts or (cell := _cell(attributes)) is None:
                    continue
                if texts.get("v", "") not in _NEVER_CALCULATED:
                    return {}
                found.setdefault(cell[0], {})[cell[1]] = f"={texts['f']}"
            return found
    return {}


def _mentions(archive: zipfile.ZipFile, part: str, *marks: bytes) -> bool:
    """Whether a part has one of these texts, which is much faster than parsing it."""
    before = b""
    with archive.open(part) as file:
        while chunk := file.read(_CHUNK_BYTES):
            if any(mark in before + chunk for mark in marks):
                return True
            before = (before + chunk)[-16:]
    return False


# -- Pictures and the cells they belong to


def find_pictures(archive: zipfile.ZipFile, sheet: str) -> dict[Cell, list[str]]:
    """The pictures of the sheet with that name: for each cell, names of members or URLs, in order."""
    part = _find_part(archive, sheet)
    if not part:
        return {}
    names = frozenset(archive.namelist())
    drawings = [
        target for kind, target in _relations(archive, part).values() if kind == "drawing" and target in names
    ]
    placed, wps = _list_rich_images(archive, names), _list_wps_images(archive, names)
    if not drawings and not placed and not _mentions(archive, part, b"IMAGE(", b"DISPIMG("):
        return {}
    grid = _Grid(archive, part)
    found: dict[Cell, list[str]] = {}
    for drawing in drawings:
        for begin, end, members in _read_anchors(archive, drawing):
            found.setdefault(grid.locate(begin, end), []).extend(members)
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
    named = (one for one in _parse(archive, book).iter("sheet") if one.get("name") == sheet)
    return next((parts.get(one.get("id", ""), ("", ""))[1] for one in named), "")


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Id to kind and member of what a part refers to; what is outside the archive is left out."""
    folder, name = posixpath.split(part)
    found: dict[str, tuple[str, str]] = {}
    for one in _parse(archive, f"{folder}/_rels/{name}.rels").iter("Relationship"):
        if one.get("TargetMode") != "External":
            member = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            found[one.get("Id", "")] = (one.get("Type", "").rpartition("/")[2], member)
    return found


def _media(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Id to member of the images that a part refers to and that exist."""
    names = frozenset(archive.namelist())
    return {
        key: target
        for key, (kind, target) in _relations(archive, part).items()
        if kind == "image" and target in names
    }


def _parse(archive: zipfile.ZipFile, part: str) -> ElementTree.Element:
    """The elements of a small part, by their local names; none if the part does not exist."""
    tree = ElementTree.TreeBuilder()
    tree.start("part", {})
    if part in archive.namelist():
        with archive.open(part) as file:
            _make_parser(tree.start, tree.end, tree.data).ParseFile(file)
    tree.end("part")
    return tree.close()


def _elements(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Local name, attributes and own text of each element of a sheet, at its end."""
    done: list[tuple[str, dict[str, str], str]] = []
    open_elements: list[tuple[dict[str, str], list[str]]] = []

    def end(name: str) -> None:
        attributes, texts = open_elements.pop()
        done.append((name, attributes, "".join(texts)))

    parser = _make_parser(
        lambda name, attributes: open_elements.append((attributes, [])),
        end,
        lambda data: open_elements[-1][1].append(data),
    )
    with archive.open(part) as file:
        while chunk := file.read(_CHUNK_BYTES):
            parser.Parse(chunk)
            yield from done
            done.clear()
        parser.Parse(b"", True)


def _walk_sheet(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """The elements of a sheet, a cell (`c`) with the texts of its formula (`f`) and value (`v`)."""
    texts: dict[str, str] = {}
    for tag, attributes, text in _elements(archive, part):
        if tag in ("f", "v"):
            texts[tag] = text
        else:
            yield tag, attributes, texts
            texts = {} if tag == "c" else texts


def _make_parser(
    begin: Callable[[str, dict[str, str]], Any], end: Callable[[str], Any], data: Callable[[str], Any]
) -> expat.XMLParserType:
    """A parser that tells local names."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = lambda name, attributes: begin(
        _local(name), {_local(key): value for key, value in attributes.items()}
    )
    parser.EndElementHandler = lambda name: end(_local(name))
    parser.CharacterDataHandler = data
    return parser


def _refuse_doctype(*declared: object) -> None:
    raise ValueError("its XML declares a document type, which is not allowed")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


# -- Floating pictures


# Row, column, and the offsets in them (EMU).
Place = tuple[int, int, int, int]


def _read_anchors(archive: zipfile.ZipFile, drawing: str) -> list[tuple[Place, Place, tuple[str, ...]]]:
    """Where pictures begin and end, and their members, in the order of their places."""
    media = _media(archive, drawing)
    anchors: list[tuple[Place, Place, tuple[str, ...]]] = []
    for one in _parse(archive, drawing).iter():
        marker, last = one.find("from"), one.find("to")
        if marker is None or not one.tag.endswith("Anchor"):
            continue
        members = tuple(media[at] for blip in one.iter("blip") if (at := blip.get("embed", "")) in media)
        begin = _read_place(marker)
        sizes = (ext for ext in one.iter("ext") if "cx" in ext.attrib)  # the anchor's own comes first
        size = next(sizes, marker)
        width, height = _whole(size.get("cx", "0")), _whole(size.get("cy", "0"))
        end = _read_place(last) if last is not None else (*begin[:2], begin[2] + height, begin[3] + width)
        if members:
            anchors.append((begin, end, members))
    return sorted(anchors, key=lambda one: one[0])


def _read_place(marker: ElementTree.Element) -> Place:
    row, column, row_off, column_off = (
        _whole(marker.findtext(name, "0")) for name in ("row", "col", "rowOff", "colOff")
    )
    return row, column, row_off, column_off


def _whole(text: str) -> int:
    text = text.strip()
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else 0


class _Grid:
    """Heights of rows, widths of columns, and the cells that refer to pictures."""

    def __init__(self, archive: zipfile.ZipFile, part: str) -> None:
        self.heights: dict[int, float] = {}  # in points
        self.widths: list[tuple[int, int, float]] = []  # first column, last column, characters
        self.row_points, self.column_characters = _ROW_POINTS, _COLUMN_CHARACTERS
        self.rich: dict[Cell, int] = {}
        self.formulas: dict[Cell, tuple[str, str]] = {}
        for tag, attributes, texts in _walk_sheet(archive, part):
            if tag == "c" and (cell := _cell(attributes)) is not None:
                if "vm" in attributes:
                    self.rich[cell] = _whole(attributes["vm"])
                matches = (_FORMULA.match(text[:2100].strip()) for text in texts.values())
                if formula := next(filter(None, matches), None):
                    self.formulas[cell] = (formula[1].upper(), formula[2])
            elif tag == "row" and "ht" in attributes:
                self.heights[_whole(attributes.get("r", "0")) - 1] = _number(attributes["ht"], _ROW_POINTS)
            elif tag == "row" and attributes.get("hidden") in ("1", "true"):
                self.heights[_whole(attributes.get("r", "0")) - 1] = 0.0
            elif tag == "sheetFormatPr":
                self.row_points = _number(attributes.get("defaultRowHeight", ""), _ROW_POINTS)
                self.column_characters = _number(attributes.get("defaultColWidth", ""), _COLUMN_CHARACTERS)
            elif tag == "col":
                first, last = _whole(attributes.get("min", "1")) - 1, _whole(attributes.get("max", "1")) - 1
                self.widths.append((first, last, _number(attributes.get("width", ""), _COLUMN_CHARACTERS)))

    def locate(self, begin: Place, end: Place) -> Cell:
        """The cell under the centre of a picture: people do not place pictures to the pixel."""
        return (
            _middle((begin[0], begin[2]), (end[0], end[2]), self._height),
            _middle((begin[1], begin[3]), (end[1], end[3]), self._width),
        )

    def _height(self, row: int) -> float:
        return self.heights.get(row, self.row_points) * _EMU_PER_POINT

    def _width(self, column: int) -> float:
        found = (width for first, last, width in self.widths if first <= column <= last)
        return next(found, self.column_characters) * _POINTS_PER_CHARACTER * _EMU_PER_POINT


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


def _cell(attributes: Mapping[str, str]) -> Cell | None:
    match = _REFERENCE.fullmatch(attributes.get("r", ""))
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(match[2]) - 1, column - 1


# -- Pictures in cells


def _list_rich_images(archive: zipfile.ZipFile, names: frozenset[str]) -> dict[int, str]:
    """The members of images placed in cells, by the number (from 1) that cells have as `vm`.

    A cell's number leads to an entry of metadata.xml, that to a rich value, that to a relation.
    """
    folder = "xl/richData"
    if f"{folder}/richValueRel.xml" not in names or "xl/metadata.xml" not in names:
        return {}
    media = _media(archive, f"{folder}/richValueRel.xml")
    rels = _parse(archive, f"{folder}/richValueRel.xml").iter("rel")
    relations = [media.get(one.get("id", ""), "") for one in rels]
    members = list(_read_rich_values(archive, folder, relations))
    entries, rich = _read_metadata(archive)
    values = ((number, rich[at]) for number, at in enumerate(entries, start=1) if 0 <= at < len(rich))
    return {number: members[at] for number, at in values if 0 <= at < len(members) and members[at]}


def _read_rich_values(archive: zipfile.ZipFile, folder: str, relations: list[str]) -> Iterator[str]:
    """The member of each rich value; empty for one that is not a local image."""
    structures = []  # where in a value the number of its relation is; -1: it has none
    for one in _parse(archive, f"{folder}/rdrichvaluestructure.xml").iter("s"):
        keys = [key.get("n", "") for key in one.iter("k")]
        image = "_rvRel:LocalImageIdentifier"
        structures.append(keys.index(image) if image in keys else -1)
    for one in _parse(archive, f"{folder}/rdrichvalue.xml").iter("rv"):
        values = [value.text or "" for value in one.iter("v")]
        kind = _whole(one.get("s", "0"))
        at = structures[kind] if 0 <= kind < len(structures) else -1
        number = _whole(values[at]) if 0 <= at < len(values) else -1
        yield relations[number] if 0 <= number < len(relations) else ""


def _read_metadata(archive: zipfile.ZipFile) -> tuple[list[int], list[int]]:
    """For each value number the entry among the rich ones, and for each entry its rich value."""
    root = _parse(archive, "xl/metadata.xml")
    blocks = [[*block.iter("rc")][-1:] for block in root.iterfind(".//valueMetadata/bk")]
    rich = next((one for one in root.iter("futureMetadata") if one.get("name") == "XLRICHVALUE"), None)
    return (
        [_whole(one.get("v", "-1")) for block in blocks for one in block],
        [] if rich is None else [_whole(one.get("i", "-1")) for one in rich.iter("rvb")],
    )


def _list_wps_images(archive: zipfile.ZipFile, names: frozenset[str]) -> dict[str, str]:
    """The members of WPS's cell images by their names."""
    part = "xl/cellimages.xml"
    if part not in names:
        return {}
    media = _media(archive, part)
    found: dict[str, str] = {}
    for one in _parse(archive, part).iter("cellImage"):
        label, blip = one.find(".//cNvPr"), one.find(".//blip")
        name = "" if label is None else label.get("name", "")
        member = "" if blip is None else media.get(blip.get("embed", ""), "")
        if name and member:
            found[name] = member
    return found


def _join_empty(rows: Iterator[Any]) -> Iterator[Any]:
    """Of empty rows in succession only their number: a cell at the end of a sheet makes a million of them."""
    yield from islice(rows, 1)
    n_empty = 0
    for row in rows:
        if isinstance(row, list) and all(cell is None or cell == "" for cell in row):
            n_empty += 1
            continue
        if n_empty:
            yield n_empty
            n_empty = 0
        yield row


def main(path: str, max_memory: int, max_cpu_s: int, *what: str) -> None:
    """Print the rows, within limits of memory and CPU time."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
        resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_s, max_cpu_s + 1))
    try:
        rows = read_sheet(path, what[1]) if what[0] == "--sheet" else read_beginnings(path)
        for line in _join_empty(rows):
            sys.stdout.write(json.dumps(line, default=str) + "\n")
    except BrokenPipeError:
        pass
    except (
        python_calamine.CalamineError, python_calamine.WorksheetNotFound, zipfile.BadZipFile,
        expat.ExpatError, NotImplementedError, OSError, ValueError,
    ) as error:  # fmt: skip
        is_own = type(error) is ValueError
        sys.stderr.write(f"{error}" if is_own else f"{type(error).__name__}: {error}")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
