"""Tables as people make them: read at the first attempt, and nothing decided in silence."""

import csv
import io
import json
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from PIL import Image

from eyechart.data.files import sheets
from eyechart.data.files.clean import write_clean
from eyechart.data.images.loading import ImageLoader
from eyechart.data.samples import FileSource
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError, ImageError, UsageError
from eyechart.types import Sample
from support.command import eyechart
from support.spreadsheets import COLOURS, MADE, draw_colours, embedded, german
from support.tables import write_workbook


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw_colours(tmp_path)
    return tmp_path


def colour_of(sample: Sample) -> str:
    image = ImageLoader().load(sample.images[0])
    red, green, blue = Image.open(io.BytesIO(image.data())).convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    return "red" if red > 200 else "blue" if blue > 200 else "green" if green > 100 else "?"


def check_colours(source: FileSource, *, golds: Sequence[str] = tuple(COLOURS)) -> list[Sample]:
    """Every sample shows its colour and has its answer."""
    samples = list(source)
    assert [colour_of(sample) for sample in samples] == list(COLOURS)
    assert [sample.golds for sample in samples] == [(gold,) for gold in golds]
    return samples


# -- The five spreadsheets of the acceptance


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_a_spreadsheet_works_at_the_first_attempt(folder: Path, kind: str) -> None:
    make, golds = MADE[kind]
    path = make(folder)
    samples = check_colours(open_source(path), golds=golds)
    if kind in ("merged", "google"):
        assert all(dict(sample.choices) == dict(zip("ABC", COLOURS, strict=True)) for sample in samples)
    done = eyechart("run", path.name, "-m", "baseline/random", "--json", "-q", cwd=folder)
    assert (done.code, done.json["n"]) == (0, 3)
    if kind != "embedded":  # its columns have the usual names
        assert f"{path.name} is read like this:" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_the_clean_file_has_the_same_samples(folder: Path, kind: str) -> None:
    make, golds = MADE[kind]
    source = open_source(make(folder))
    expected = [(s.id, s.question, dict(s.choices), s.meta) for s in source]
    for suffix in (".jsonl", ".csv", ".tsv"):
        out = folder / f"clean{suffix}"
        write_clean(source, out, ImageLoader())
        clean = open_source(out)
        found = check_colours(clean, golds=golds)
        assert [(s.id, s.question, dict(s.choices), s.meta) for s in found] == expected
        assert clean.detection.remarks == ()
        with pytest.raises(UsageError, match="exists"):
            write_clean(source, out, ImageLoader())


def test_the_same_file_in_utf_8_with_a_mark(folder: Path) -> None:
    source = open_source(german(folder, "utf-8-sig"))
    assert check_colours(source, golds=("1.034", "1.134", "1.234"))[0].question == "Größe?"
    assert "cp1252" not in " ".join(source.detection.remarks)
    by_point = open_source(german(folder, "utf-8-sig"), SourceOptions(decimal="point"))
    assert next(iter(by_point)).golds == ("1,034",)


def test_text_that_may_be_chinese_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("题目,答案\n这是什么颜色,红色\n".encode("gbk"))
    with pytest.raises(DataError, match="--encoding gbk"):
        list(open_source(tmp_path / "a.csv"))
    [sample] = open_source(tmp_path / "a.csv", SourceOptions(encoding="gbk"))
    assert (sample.question, sample.golds) == ("这是什么颜色", ("红色",))


# -- What is refused, with the flag that decides


@pytest.mark.parametrize(
    ("header", "row", "flag"),
    [
        ("prompt,text,answer", "a,b,c", "--field question=prompt or --field question=text"),
        ("Frage,label,target", "a,b,c", "--field answer=label or --field answer=target"),
        ("Prompt,Option A,Option B,Answer", "?,x,y,1", "--first-option 0 or --first-option 1"),
    ],
)
def test_two_readings_are_refused_with_the_flag(tmp_path: Path, header: str, row: str, flag: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n{row}\n")
    with pytest.raises(DataError) as caught:
        open_source(tmp_path / "a.csv")
    assert flag in caught.value.hint


@pytest.mark.parametrize(
    ("answers", "golds"),
    [
        (["0", "2"], ["A", "C"]),
        (["1", "3"], ["A", "C"]),
        (["red", "blue"], ["A", "B"]),
        (["(b)", "C."], ["B", "C"]),
        ([" RED", "A"], ["A", "A"]),
    ],
)
def test_answers_are_letters_texts_or_numbers_of_options(
    tmp_path: Path, answers: list[str], golds: list[str]
) -> None:
    rows = [{"question": "?", "choices": [*COLOURS], "answer": answer} for answer in answers]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [sample.golds for sample in open_source(tmp_path / "a.jsonl")] == [(gold,) for gold in golds]


def test_numbers_that_are_options_stay_texts(tmp_path: Path) -> None:
    rows = [{"question": "?", "choices": ["1", "2", "3"], "answer": answer} for answer in ("2", "1")]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [sample.golds for sample in open_source(tmp_path / "a.jsonl")] == [("B",), ("A",)]
    by_number = open_source(tmp_path / "a.jsonl", SourceOptions(first_option=0))
    assert [sample.golds for sample in by_number] == [("C",), ("B",)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", ["red|blue|green", "red; blue; green", "red, blue, green", "red\nblue\ngreen"]
)
def test_options_in_one_text(tmp_path: Path, options: str) -> None:
    path = write_workbook(tmp_path / "a.xlsx", ["Question", "Choices", "Label"], ["?", options, "blue"])
    [sample] = open_source(path)
    assert (dict(sample.choices), sample.golds) == (dict(zip("ABC", COLOURS, strict=True)), ("B",))


def test_files_of_the_published_form_are_read_as_before(tmp_path: Path) -> None:
    """Further names change nothing that is asked: ids, options and images stay, so that runs resume."""
    text = "question,candidates,answer a,answer b,prompt,Bild,label\n?,x|y,x,y,other,b.png,A\n"
    (tmp_path / "a.csv").write_text(text)
    [sample] = open_source(tmp_path / "a.csv")
    assert (sample.id, sample.question, sample.choices, sample.images) == ("1", "?", {}, ())


@pytest.mark.slow
def test_several_sheets_with_questions_need_a_choice(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for name in ("maps", "charts"):
        book.create_sheet(name).append(["Question", "Answer"])
        book[name].append([f"{name}?", "x"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match=r"2 sheets hold questions \(maps, charts\)") as caught:
        open_source(tmp_path / "a.xlsx")
    assert "--sheet maps" in caught.value.hint
    assert [
        sample.question for sample in open_source(tmp_path / "a.xlsx", SourceOptions(sheet="charts"))
    ] == ["charts?"]
    with pytest.raises(UsageError, match="has no sheet 'other'"):
        open_source(tmp_path / "a.xlsx", SourceOptions(sheet="other"))


def test_a_cell_merged_over_rows_counts_in_each(tmp_path: Path) -> None:
    path = write_workbook(
        tmp_path / "a.xlsx", ["Question", "Topic"], ["a", "maps"], ["b", None], ["c", "signs"]
    )
    book = openpyxl.load_workbook(path)
    book.worksheets[0].merge_cells("B2:B3")
    book.save(path)
    assert [sample.meta["Topic"] for sample in open_source(path)] == ["maps", "maps", "signs"]


# -- Pictures inside workbooks


def test_pictures_placed_in_cells(folder: Path) -> None:
    book = xlsxwriter.Workbook(folder / "a.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["Question", "Photo", "Answer"])
    for row, name in enumerate(COLOURS, start=1):
        sheet.write(row, 0, "Which?")
        sheet.embed_image(row, 1, folder / "pics" / f"{name}.png")
        sheet.write(row, 2, name)
    book.close()
    check_colours(open_source(folder / "a.xlsx"))


@pytest.mark.slow
def test_a_picture_belongs_to_the_row_under_its_centre(folder: Path) -> None:
    book = xlsxwriter.Workbook(folder / "a.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["Question", "Photo", "Answer"])
    for row, name in enumerate(COLOURS, start=1):
        sheet.set_row(row, 60)
        sheet.write_row(row, 0, ["Which?", "", name])
        above = row - 1
        offset = 15 if above == 0 else 75  # begins at the lower edge of the row above
        sheet.insert_image(above, 1, folder / "pics" / f"{name}.png", {"y_offset": offset})
    book.close()
    check_colours(open_source(folder / "a.xlsx"))


@pytest.mark.slow
def test_addresses_in_image_formulas(folder: Path) -> None:
    rows = [["Question", "Image", "Answer"], ["?", '=IMAGE("https://a.org/x.png")', "red"]]
    [sample] = open_source(write_workbook(folder / "a.xlsx", *rows))
    assert (sample.images[0].kind, sample.images[0].location) == ("url", "https://a.org/x.png")


def rewrite(path: Path, change: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**parts, **change}.items():
            archive.writestr(name, data)
    return path


def test_entities_in_a_workbook_are_refused(folder: Path) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    path = rewrite(embedded(folder), {"xl/drawings/drawing1.xml": bomb})
    with pytest.raises(DataError, match="declares a document type"):
        list(open_source(path))


@pytest.mark.slow
def test_a_member_that_is_no_picture_fails_its_sample(folder: Path) -> None:
    path = rewrite(embedded(folder), {"xl/media/image1.png": b"/etc/passwd"})
    first, second, _ = open_source(path)
    with pytest.raises(ImageError):
        ImageLoader().load(first.images[0])
    assert colour_of(second) == "blue"


# -- Conversations, nested objects, folders, PDF files


def test_conversations_of_both_forms(folder: Path) -> None:
    parts: list[Any] = [
        {"type": "image_url", "image_url": {"url": "pics/red.png"}},
        {"type": "text", "text": "Which colour?"},
    ]
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "red"},
    ]
    (folder / "a.jsonl").write_text(json.dumps({"messages": messages}))
    [sample] = open_source(folder / "a.jsonl")
    assert (sample.golds, colour_of(sample)) == (("red",), "red")
    shown = eyechart("data", "show", "a.jsonl", "--prompt", cwd=folder).out
    assert [line.split()[0] for line in shown.splitlines() if line[:1] != " "] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    turns = [{"from": "human", "value": "<image>\nWhich?"}, {"from": "gpt", "value": "blue"}]
    (folder / "b.json").write_text(
        json.dumps([{"id": "x", "image": "pics/blue.png", "conversations": turns}])
    )
    [sample] = open_source(folder / "b.json")
    assert (sample.id, sample.golds, colour_of(sample)) == ("x", ("blue",), "blue")
    (folder / "c.jsonl").write_text(json.dumps({"messages": [{"role": "robot", "content": "?"}]}))
    with pytest.raises(DataError, match=r"row 1.*role 'robot'"):
        list(open_source(folder / "c.jsonl"))


@pytest.mark.parametrize("format", ["tsv", "csv", "xlsx", "parquet"])
def test_conversations_in_tables(folder: Path, format: str) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "pics/red.png"}}, {"type": "text", "text": "Which?"}]
    rows: list[tuple[list[dict[str, Any]], str, str]] = [
        ([{"role": "user", "content": parts}], "red", ""),
        ([{"role": "user", "content": "Is <image 1> like <image 2>?"}], "no", "pics/blue.png"),
    ]
    path = folder / f"chat.{format}"
    names = ["messages", "answer", "image_1", "image_2"]
    table = [[json.dumps(turns), gold, place, place] for turns, gold, place in rows]
    if format == "xlsx":
        book = openpyxl.Workbook()
        for cells in [names, *table]:
            book.worksheets[0].append(cells)
        book.save(path)
    elif format == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table(dict(zip(names, map(list, zip(*table, strict=True)), strict=True))), path)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter="\t" if format == "tsv" else ",").writerows([names, *table])
    first, second = open_source(path)
    assert (first.golds, colour_of(first)) == (("red",), "red")
    assert (second.golds, len(second.images), colour_of(second)) == (("no",), 2, "blue")
    shown = eyechart("data", "show", path.name, "--prompt", cwd=folder)
    assert (shown.code, "Which?" in shown.out) == (0, True)


def test_a_conversation_in_a_table_must_be_json(folder: Path) -> None:
    (folder / "a.tsv").write_text('messages\tanswer\n[{"role": "user", "content": "?"}]\tA\nHi there\tB\n')
    with pytest.raises(DataError, match=r"a\.tsv"):
        list(open_source(folder / "a.tsv"))


def test_a_conversation_of_brackets_is_no_conversation(folder: Path) -> None:
    (folder / "a.csv").write_text(f"id,messages\n1,{'[' * 100_000}\n")
    with pytest.raises(DataError, match="no column 'question'"):
        open_source(folder / "a.csv")


def test_nested_fields_by_path_and_by_name(folder: Path) -> None:
    row = {"nr": 7, "picture": {"file": "pics/red.png", "w": 3}, "qa": {"question": "?", "truth": "red"}}
    (folder / "a.jsonl").write_text(json.dumps(row))
    [sample] = open_source(folder / "a.jsonl")
    assert (sample.question, sample.golds, colour_of(sample)) == ("?", ("red",), "red")
    (folder / "b.jsonl").write_text(
        json.dumps({"question": "?", "shots": [{"f": "pics/red.png"}], "t": {"x": "red"}})
    )
    options = SourceOptions(fields={"image": "shots.0.f", "answer": "t.x"})
    [sample] = open_source(folder / "b.jsonl", options)
    assert (sample.golds, colour_of(sample)) == (("red",), "red")


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["{answer}", "labels.csv", "none"])
def test_a_folder_of_pictures_with_one_question(folder: Path, answers: str) -> None:
    (folder / "labels.csv").write_text("file;label\nred.png;red\nblue;blue\ngone.png;x\n")
    flags = [] if answers == "none" else ["--answers", answers]
    done = eyechart(
        "run", "pics", "--ask", "Which colour?", *flags, "-m", "baseline/majority", "--json", "-q", cwd=folder
    )
    assert (done.code, done.json["n"]) == (0, 3)
    n_unscored = {"{answer}": 0, "labels.csv": 1, "none": 3}[answers]
    assert done.json["outcomes"]["unscored"] == n_unscored
    if answers == "labels.csv":
        assert "no image for 1 answers: gone.png" in done.err
        assert "1 images have no answer and are not scored: green.png" in done.err


@pytest.mark.slow
def test_answers_of_a_folder_that_fit_nothing_are_refused(folder: Path) -> None:
    asked = ("run", "pics", "--ask", "?", "-m", "baseline/random")
    assert "no answer for any image" in eyechart(*asked, "--answers", "x_{answer}", cwd=folder).err
    assert "no such file, and no pattern" in eyechart(*asked, "--answers", "gone.csv", cwd=folder).err
    assert "--ask" in eyechart("run", "pics", "-m", "baseline/random", cwd=folder).err
    (folder / "q.csv").write_text("question,image\n?,pics/red.png\n")
    assert "has its own questions" in eyechart("run", "q.csv", *asked[2:], cwd=folder).err


@pytest.mark.slow
def test_pages_of_a_pdf_are_pictures(folder: Path) -> None:
    pytest.importorskip("pypdfium2")
    pages = [Image.new("RGB", (200, 100), name) for name in COLOURS]
    pages[0].save(folder / "doc.pdf", save_all=True, append_images=pages[1:])
    rows = [["Question", "Image", "Answer"], ["?", "doc.pdf#page=2", "blue"], ["?", "doc.pdf", "red"]]
    one, all_pages = open_source(write_workbook(folder / "a.xlsx", *rows))
    assert (colour_of(one), len(all_pages.images)) == ("blue", 3)
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 rubbish")
    [broken] = open_source(write_workbook(folder / "b.xlsx", ["Question", "Image"], ["?", "bad.pdf#page=1"]))
    with pytest.raises(ImageError, match="cannot be rendered"):
        ImageLoader().load(broken.images[0])


@pytest.mark.slow
def test_a_page_that_takes_minutes_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr("eyechart.data.files.pdf._MAX_CPU_S", 2)
    strokes = zlib.compress(b"0 0 m 500 500 l S 500 0 m 0 500 l S\n" * 1_000_000)
    head = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    page = b"2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
    page += b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents 4 0 R>>endobj\n"
    content = b"4 0 obj<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream endobj\n" % (
        len(strokes),
        strokes,
    )
    (folder / "slow.pdf").write_bytes(head + page + content + b"trailer<</Root 1 0 R>>\n%%EOF")
    [slow] = open_source(write_workbook(folder / "a.xlsx", ["Question", "Image"], ["?", "slow.pdf#page=1"]))
    with pytest.raises(ImageError, match="more than 2 s of CPU time"):
        ImageLoader().load(slow.images[0])


def test_empty_rows_of_a_workbook_are_counted_not_printed(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "far.xlsx") as book:
        sheet = book.add_worksheet("S")
        for row, cells in {
            0: ("question", "answer"),
            1: ("a?", "x"),
            90_000: ("b?", 0),
            90_002: ("c?", "y"),
        }.items():
            sheet.write_row(row, 0, cells)
    what = (str(tmp_path / "far.xlsx"), str(2**33), "100", "--sheet", "S")
    command = [sys.executable, "-P", str(sheets._PROGRAM), *what]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    assert len(printed.splitlines()) == 7
    samples = list(open_source(tmp_path / "far.xlsx"))
    assert [(sample.question, sample.golds) for sample in samples] == [
        ("a?", ("x",)), ("b?", ("0",)), ("c?", ("y",)),
    ]  # fmt: skip


# -- Other programs' files, and forms of options and answers


def write_ods(path: Path, *rows: Sequence[str], pictures: Sequence[str] = ()) -> Path:
    """A LibreOffice workbook with one sheet."""
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    lines = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in rows)
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{urn}:{name}:1.0"' for name in ("office", "table", "text"))
    sheet = f'<office:spreadsheet><table:table table:name="A">{lines}</table:table></office:spreadsheet>'
    body = f"<office:body>{sheet}</office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        for name in pictures:
            archive.writestr(name, b"x")
    return path


@pytest.mark.slow
def test_workbooks_of_libreoffice_and_of_old_excel(folder: Path) -> None:
    header, rows = ["Frage", "Bild", "Antwort"], [["Which?", f"pics/{name}.png", name] for name in COLOURS]
    check_colours(open_source(write_ods(folder / "a.ods", header, *rows)))
    old = Path(__file__).with_name("colours.xls").read_bytes()
    for name in ("a.xls", "named-wrongly.xlsx"):
        (folder / name).write_bytes(old)
        check_colours(open_source(folder / name))


def test_pictures_that_cannot_be_read_are_never_left_out(folder: Path) -> None:
    path = write_ods(folder / "a.ods", ["Question"], ["?"], pictures=["Pictures/1.png"])
    with pytest.raises(DataError, match=r"pictures inside, which are read from \.xlsx files only"):
        list(open_source(path))


def test_a_workbook_with_a_password_is_called_that(tmp_path: Path) -> None:
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)
    (tmp_path / "a.xlsx").write_bytes(head + "EncryptedPackage".encode("utf-16-le") + bytes(90_000))
    with pytest.raises(DataError, match="protected by a password") as caught:
        open_source(tmp_path / "a.xlsx")
    assert "without a password" in caught.value.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ("a) red b) blue c) green", ["a", "b", "c"]),
        ("(a) red\n(b) blue\n(c) green", ["red", "blue", "green"]),
        ("1) red 2) blue 3) green", ["1", "2", "2"]),
        ("1. red\n2. blue\n3. green", ["1", "2", "3"]),
        ("red, blue, green", ["A", "B", "C"]),
        ("red, blue, green", ["1", "2", "3"]),
        ("red\nblue\ngreen", ["A) red", "b - blue", "C. green"]),
        ("red|blue|green", ["Option A", "Antwort B", "choice (c)"]),
    ],
)
def test_forms_of_options_and_answers(tmp_path: Path, options: str, answers: list[str]) -> None:
    rows = [["?", options, answer] for answer in answers]
    samples = list(open_source(write_workbook(tmp_path / "a.xlsx", ["Question", "Choices", "Answer"], *rows)))
    assert all(dict(sample.choices) == dict(zip("ABC", COLOURS, strict=True)) for sample in samples)
    meant = ["A", "B", "B" if answers[-1] == "2" else "C"]
    assert [sample.golds[0].upper() for sample in samples] == meant


@pytest.mark.parametrize("answer", ["A) blue", "D) red", "A: the red one"])
def test_an_answer_that_contradicts_itself_is_no_letter(tmp_path: Path, answer: str) -> None:
    row = ["?", "red", "blue", answer]
    [sample] = open_source(write_workbook(tmp_path / "a.xlsx", ["Question", "A", "B", "Answer"], row))
    assert sample.golds == (answer,)


@pytest.mark.parametrize("cell", ["„Öl“", "Öl", "naïve", "Größe", "“Où?”"])
def test_one_row_from_western_windows(tmp_path: Path, cell: str) -> None:
    (tmp_path / "a.csv").write_bytes(f"Frage;Antwort\r\n{cell} x?;{cell}\r\n".encode("cp1252"))
    [sample] = open_source(tmp_path / "a.csv")
    assert sample.golds == (cell,)


@pytest.mark.parametrize(
    ("text", "encoding"), [("题目", "gbk"), ("大会", "shift_jis"), ("質問", "shift_jis"), ("질문", "euc_kr")]
)
def test_other_encodings_are_not_taken_for_western(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(f"Question;Answer\r\n{text}?;{text}\r\n".encode(encoding))
    with pytest.raises(DataError, match="not UTF-8"):
        list(open_source(tmp_path / "a.csv"))


def test_one_question_for_a_table_with_other_names(folder: Path) -> None:
    (folder / "a.csv").write_text("Bild;Antwort\n" + "".join(f"pics/{name}.png;{name}\n" for name in COLOURS))
    check_colours(open_source(folder / "a.csv", SourceOptions(ask="Which colour?")))


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        (
            "a.csv",
            "What is it?,a.png,cat\nWhat is it?,b.png,dog\n",
            "add one, such as question, image, answer",
        ),
        ("a.csv", "image,answer\na.png,cat\n", "--ask TEXT"),
        ("a.tsv", "Frage;Antwort\nWas?;x\n", "--format csv"),
        ("a.csv", "question,answer\ra,b\r", "tr "),
    ],
)
def test_what_to_do_about_other_tables(tmp_path: Path, name: str, text: str, hint: str) -> None:
    (tmp_path / name).write_text(text, newline="")
    with pytest.raises(DataError) as caught:
        list(open_source(tmp_path / name))
    assert hint in caught.value.hint
