"""Captions and OCR texts: files by sample or image, columns, and our own OCR."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.data.images import substitutes as module
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.substitutes import (
    ColumnTexts,
    FileTexts,
    MissingText,
    OcrTexts,
    read_caption_lines,
    read_texts,
)
from eyechart.errors import DataError, MissingExtra
from eyechart.types import ImageRef, Sample
from support.files import jsonl, picture


def image(location: str, kind: Any = "file") -> ImageRef:
    return ImageRef(kind=kind, location=location)


def sample(*images: ImageRef, **fields: Any) -> Sample:
    return Sample(**{"id": "q1", "question": "Which?", "images": images or (image("/data/a.png"),), **fields})


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


FILES = {
    "by-id.jsonl": '{"id": "q1", "caption": "a bus, red"}\n{"id": "q2", "caption": "a car"}\n',
    "by-id.json": '{"q1": "a bus, red", "q2": "a car"}',
    "rows.json": '[{"index": "q1", "text": "a bus, red"}]',
    "by-id.csv": 'id,caption\nq1,"a bus, red"\nq2,a car\n',
    "by-id.tsv": "index\tcaption\nq1\ta bus, red\n",
    "by-image.csv": 'image,caption\na.png,"a bus, red"\n',
    "lines.csv": "../data/a.png,a bus, red\nb.png,a car\n",
    "lines.txt": "a.png,a bus, red\n",
    "by-path.jsonl": '{"image": "data/a.png", "Caption": "a bus, red"}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_a_text_per_sample_or_per_image(tmp_path: Path, name: str) -> None:
    texts = read_texts(write(tmp_path / name, FILES[name]))
    assert list(texts.find(sample())) == ["a bus, red"]
    with pytest.raises(MissingText, match=rf"{name}: no text for sample 'q9'"):
        texts.find(sample(image("/data/z.png"), id="q9"))


def test_images_are_found_by_how_their_paths_end() -> None:
    texts = FileTexts("t", {"1.png": ("one",), "b/1.png": ("other",), "http://x/2.png": ("two",)})
    assert texts.find(sample(image("/a/1.png"))) == ["one"]
    assert texts.find(sample(image("/a/b/1.png"))) == ["other"]
    assert texts.find(sample(image("http://x/2.png", "url"))) == ["two"]
    with pytest.raises(MissingText):
        texts.find(sample(image("1.png", "data")))  # base64 that looks like a name is not one


def test_a_path_for_other_folders_is_found_from_its_folder_images_on(tmp_path: Path) -> None:
    lines = (
        "../data/images/a/1.png,one\n../data/images/b/1.png,two\n../x/images/c.png,x\n../y/images/c.png,y\n"
    )
    texts = read_texts(write(tmp_path / "c.csv", lines))
    assert texts.find(sample(image("/mine/images/a/1.png"))) == ["one"]
    assert texts.find(sample(image("/mine/images/b/1.png"))) == ["two"]
    for name in ("/mine/images/c.png", "/mine/1.png"):  # two of that end; no folder images
        with pytest.raises(MissingText):
            texts.find(sample(image(name)))


def test_rotations_share_the_texts_of_their_question() -> None:
    texts = FileTexts("t", {"7": ("a bus",)})
    assert texts.find(sample(id="1000007", circle="7")) == ("a bus",)


def test_several_images_take_one_text_each_or_one_for_all() -> None:
    two = (image("/a.png"), image("/b.png"))
    texts = FileTexts("t", {"q1": ("one", "two"), "q2": ("both",), "q3": ("1", "2", "3"), "a.png": ("A",)})
    assert texts.find(sample(*two)) == ("one", "two")
    assert texts.find(sample(*two, id="q2")) == ("both",)
    with pytest.raises(DataError, match="3 texts for the 2 images of sample 'q3'"):
        texts.find(sample(*two, id="q3"))
    with pytest.raises(MissingText):
        texts.find(sample(*two, id="q4"))  # b.png has none


def test_a_blank_text_is_a_missing_caption_and_an_image_without_writing(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "t.jsonl", [{"id": "q1", "text": ""}, {"id": "q2", "text": "EXIT"}])
    with pytest.raises(MissingText):
        read_texts(path).find(sample())
    assert list(read_texts(path, allows_blank=True).find(sample())) == [""]
    assert list(ColumnTexts("ocr", allows_blank=True).find(sample(meta={"ocr": None}))) == [""]


def test_a_column_holds_a_text_or_a_list() -> None:
    two = (image("/a.png"), image("/b.png"))
    assert list(ColumnTexts("caption").find(sample(meta={"caption": "a bus"}))) == ["a bus"]
    assert list(ColumnTexts("caption").find(sample(*two, meta={"caption": ["a bus", "a car"]}))) == [
        "a bus",
        "a car",
    ]
    with pytest.raises(MissingText, match="column 'caption': no text for sample 'q1'"):
        ColumnTexts("caption").find(sample())


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.jsonl", '{"id": "1", "caption": "a"}\n{"id": "1", "caption": "b"}\n', "second text for '1'"),
        ("t.jsonl", '{"id": "1", "answer": "a"}\n', "no text"),
        ("t.jsonl", '{"what": "1", "caption": "a"}\n', "no key"),
        ("t.json", '{"q1": "a"', "invalid JSON"),
        ("t.json", "{}", "contains no texts"),
        ("t.txt", "a line without it\n", "line 1 has no comma"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(DataError, match=rf"{name}.*{said}"):
        read_texts(write(tmp_path / name, text))


def test_lines_are_utf8() -> None:
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read_caption_lines(b"a.png,x\nb.png,\xff", "captions.csv")


# -- our own OCR


def test_what_was_read_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[bytes] = []

    def read(data: bytes) -> str:
        readings.append(data)
        return "EXIT\n出口"

    monkeypatch.setattr(module, "require_reader", lambda: None)
    monkeypatch.setattr(module, "name_reader", lambda: "reader 1")
    monkeypatch.setattr(module, "read_text", read)
    (tmp_path / "a.png").write_bytes(picture())
    one = sample(image(str(tmp_path / "a.png")))
    for _ in range(2):
        assert OcrTexts(ImageLoader(), tmp_path / "ocr").find(one) == ["EXIT\n出口"]
    assert len(readings) == 1
    (tmp_path / "a.png").write_bytes(picture("blue", (40, 30)))
    OcrTexts(ImageLoader(), tmp_path / "ocr").find(one)
    monkeypatch.setattr(module, "name_reader", lambda: "reader 2")
    OcrTexts(ImageLoader(), tmp_path / "ocr").find(one)
    assert len(readings) == 3  # another image, another reader


def test_ocr_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.data.images.ocr.has_reader", lambda: False)
    with pytest.raises(MissingExtra, match=r"eyechart\[ocr\]"):
        OcrTexts(ImageLoader(), tmp_path)
