import json
from pathlib import Path

import pytest

from eyechart.catalogue.suites import read_suite
from eyechart.data.files.picture_folder import open_folder
from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.substitutes import read_texts
from eyechart.data.samples import FileSource
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError, EyechartError, ImageError, UsageError
from eyechart.types import ImageRef, Source
from support.files import jsonl, picture, picture_base64

RED = picture_base64("red", (64, 64))
BLUE = picture_base64("blue", (64, 64))


def tsv(path: Path, *rows: str) -> FileSource:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return open_source(path)


def test_a_vlmevalkit_file(tmp_path: Path) -> None:
    source: Source = tsv(
        tmp_path / "Demo.tsv",
        "index\timage\tquestion\thint\tA\tB\tC\tanswer\tcategory\tl2-category\tsplit\tsource",
        f"7\t{RED}\tWhat?\tlook\tcat\tdog\t\tB\tanimal\tCP\tdev\tweb",
    )
    assert (source.name, source.origin) == ("Demo", str(tmp_path / "Demo.tsv"))
    (sample,) = list(source)
    assert (sample.id, sample.question, sample.hint, sample.golds, sample.row) == (
        "7",
        "What?",
        "look",
        ("B",),
        1,
    )
    assert sample.choices == {"A": "cat", "B": "dog"}
    assert sample.meta == {"category": "animal", "l2-category": "CP", "split": "dev", "source": "web"}
    (ref,) = sample.images
    assert (ref.kind, ref.length) == ("cell", len(RED))
    assert ImageLoader().load(ref).base64.decode() == RED
    assert list(source) == [sample]


def test_csv_quoted_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'index,question,image\n1,"a, ""b""","{RED}"\n2,x,"[\'{RED}\', \'{BLUE}\']"\n')
    first, second = list(open_source(path))
    assert first.question == 'a, "b"'
    loader = ImageLoader()
    assert [loader.load(ref).base64.decode() for ref in first.images + second.images] == [RED, RED, BLUE]


def test_json_pictures_of_all_kinds(tmp_path: Path) -> None:
    rows = [{"question": "?", "image": RED}, {"question": "?", "images": [RED, BLUE]}]
    rows.append({"question": "?", "image": f"data:image/png;base64,{BLUE}"})
    text = [json.dumps(row) for row in rows] + [json.dumps(rows[0]).replace("/", "\\/")]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(text))
    loader = ImageLoader()
    loaded = [[loader.load(ref).base64.decode() for ref in sample.images] for sample in open_source(path)]
    assert loaded == [[RED], [RED, BLUE], [BLUE], [RED]]
    assert {ref.kind for sample in open_source(path) for ref in sample.images} <= {"cell", "data"}


def test_rows_that_use_another_rows_picture(tmp_path: Path) -> None:
    source = tsv(
        tmp_path / "a.tsv",
        "index\timage\tquestion",
        f"1\t{RED}\tx",
        "1000001\t1\tx",
        "3\t4\tx",
        f"4\t{BLUE}\tx",
        "5\t1000001\tx",
    )
    one, rotated, forward, four, chain = [sample.images for sample in source]
    assert one == rotated == chain
    assert forward == four
    assert one != four


@pytest.mark.parametrize("cell", ["99", "picture"])
def test_a_reference_that_points_nowhere(tmp_path: Path, cell: str) -> None:
    source = tsv(tmp_path / "a.tsv", "index\timage\tquestion", f"1\t{RED}\tx", f"2\t{cell}\tx")
    with pytest.raises(
        DataError, match=rf"a.tsv: row 2 \(line 3\), column 'image': '{cell}' is neither an image"
    ):
        list(source)


def test_a_forward_reference_to_a_reference_fails_as_officially(tmp_path: Path) -> None:
    source = tsv(tmp_path / "a.tsv", "index\timage\tquestion", "1\t2\tx", "2\t3\tx", f"3\t{RED}\tx")
    message = r"row 1 \(line 2\), column 'image': row '2' has no image of its own"
    with pytest.raises(DataError, match=message) as caught:
        list(source)
    assert caught.value.hint == "refer to the row that has the image"


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    source = tsv(tmp_path / "a.tsv", "index\timage\tquestion", f"007\t{RED}\tx", "8\t7\tx")
    first, second = source
    assert first.images == second.images


def test_duplicate_ids(tmp_path: Path) -> None:
    source = tsv(tmp_path / "a.tsv", "index\tquestion", "1\tx", "2\tx", "1\ty")
    with pytest.raises(DataError, match=r"row 3 \(line 4\): index '1' is already used by row 1"):
        list(source)


def test_numbers_that_start_again_or_are_missing_are_no_error(tmp_path: Path) -> None:
    source = tsv(tmp_path / "a.tsv", "Nr\tquestion\tanswer", "7\t?\tx", "7\t?\tx", "\t?\tx")
    assert [sample.id for sample in source] == ["7", "7#2", "3"]


def test_repeated_question_ids_get_numbers(tmp_path: Path) -> None:
    ids = ["a", "a", "a#2", "a", "b"]
    source = open_source(
        jsonl(tmp_path / "a.jsonl", [{"question_id": name, "question": "?"} for name in ids])
    )
    found = [sample.id for sample in source]
    assert len(set(found)) == 5
    assert found[:2] == ["a", "a#2"]
    assert found[4] == "b"


def test_rows_without_ids_are_numbered(tmp_path: Path) -> None:
    source = open_source(jsonl(tmp_path / "a.jsonl", [{"question": "x"}, {"question": "y"}]))
    assert [sample.id for sample in source] == ["1", "2"]


def test_values_that_only_later_rows_have(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    late = {"question": "?", "image": "a.png", "hint": "h", "A": "x", "B": "y", "subset": "map"}
    source = open_source(jsonl(tmp_path / "a.jsonl", [{"question": "?"}] * 30 + [late]))
    sample = list(source)[-1]
    assert (len(sample.images), sample.hint, sample.choices) == (1, "h", {"A": "x", "B": "y"})
    assert sample.meta == {"category": "map"}


def test_the_wrong_separator_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("index,question\n1,x\n")
    with pytest.raises(DataError, match="--format csv"):
        open_source(tmp_path / "a.tsv")


def test_missing_pictures_are_the_samples_problem(tmp_path: Path) -> None:
    source = open_source(
        jsonl(tmp_path / "a.jsonl", [{"question": "?", "image": f"{k}.jpg"} for k in range(3)])
    )
    samples = list(source)
    assert len(samples) == 3
    assert samples[0].images[0] == ImageRef(kind="file", location=str(tmp_path / "0.jpg"))
    with pytest.raises(ImageError, match="no such file"):
        ImageLoader().load(samples[0].images[0])


def test_where_pictures_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    places = {
        "beside": tmp_path / "d",
        "root": tmp_path / "root",
        "lmu": tmp_path / "lmu/images/a",
        "cwd": tmp_path / "w",
    }
    for name, folder in places.items():
        folder.mkdir(parents=True)
        (folder / f"{name}.png").write_bytes(picture())
        (folder / "all.png").write_bytes(picture())
    monkeypatch.chdir(tmp_path / "w")
    path = jsonl(
        tmp_path / "d/a.jsonl", [{"question": "?", "image": f"{name}.png"} for name in [*places, "all"]]
    )
    samples = list(open_source(path, SourceOptions(image_root=tmp_path / "root")))
    expected = [str(folder / f"{name}.png") for name, folder in places.items()]
    assert [sample.images[0].location for sample in samples] == [*expected, str(tmp_path / "d/all.png")]


def test_paths_that_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    (tmp_path / "d").mkdir()
    rows = [
        {"question": "?", "image": image}
        for image in ("../secret.png", str(tmp_path / "secret.png"), "http://x.org/a.png")
    ]
    path = jsonl(tmp_path / "d/a.jsonl", rows)
    loader = ImageLoader()
    outside, absolute, _ = [sample.images[0] for sample in open_source(path)]
    with pytest.raises(ImageError, match="leads out of the data set's folder"):
        loader.load(outside)
    assert loader.load(absolute).width == 32
    strict = SourceOptions(allow_absolute=False, allow_urls=False)
    _, absolute, address = [sample.images[0] for sample in open_source(path, strict)]
    with pytest.raises(ImageError, match="absolute paths are not followed"):
        loader.load(absolute)
    with pytest.raises(ImageError, match="not fetched from URLs"):
        loader.load(address)


def test_pandas_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("index\tquestion\tA\tB\tC\tanswer\n1\tx\tNone\t1\ty\tB\n2\tx\tcat\t\tz\tA\n")
    text = list(open_source(path))
    assert text[0].choices == {"A": "None", "B": "1", "C": "y"}
    pandas = list(open_source(path, SourceOptions(cells="pandas")))
    assert pandas[0].choices == {"B": "1.0", "C": "y"}
    assert pandas[1].choices == {"A": "cat", "C": "z"}


def test_options_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes("id\task\n1\t几只猫\n".encode("gbk"))
    options = SourceOptions(format="tsv", encoding="gbk", fields={"question": "ask"})
    assert next(iter(open_source(path, options))).question == "几只猫"
    with pytest.raises(UsageError, match="cells='pandas'"):
        open_source(jsonl(tmp_path / "a.jsonl", [{"question": "?"}]), SourceOptions(cells="pandas"))
    with pytest.raises(UsageError, match="unknown format"):
        open_source(path, SourceOptions(format="xml"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown text encoding"):
        open_source(path, SourceOptions(encoding="klingon"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tsv", "", "empty"),
        ("a.tsv", "index\tquestion\n", "no rows"),
        ("a.jsonl", "\n\n", "no rows"),
        ("a.jsonl", "nonsense\n", "row 1"),
        ("a.json", "[]", "no rows"),
        ("a.tsv", "a\tb\n1\t2\n", "no column 'question'"),
        ("a.tsv", "index\tquestion\timage\n1\tx\t['a', 3]\n", None),
    ],
)
def test_files_that_hold_nothing_to_ask(tmp_path: Path, name: str, data: str, message: str | None) -> None:
    (tmp_path / name).write_text(data)
    if message is None:
        with pytest.raises(DataError):
            list(open_source(tmp_path / name))
        return
    with pytest.raises(DataError, match=message):
        open_source(tmp_path / name)


def test_reading_can_go_on_after_a_bad_row(tmp_path: Path) -> None:
    source = tsv(tmp_path / "a.tsv", "index\tquestion", "1\tx", "bad", "1\ty", "3\tz")
    problems: list[DataError] = []
    assert [sample.id for sample in source.read(problems.append)] == ["1", "3"]
    assert len(problems) == 2


def test_a_data_file_that_is_moved_to_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tsv(tmp_path / "a.tsv", "index\tquestion\timage", f"1\tx\t{RED}")
    monkeypatch.chdir(tmp_path)
    source = open_source("a.tsv")
    monkeypatch.chdir("/")
    assert ImageLoader().load(next(iter(source)).images[0]).width == 64


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "set/images").mkdir(parents=True)
    (tmp_path / "set/images/a.png").write_bytes(picture())
    jsonl(
        tmp_path / "set/metadata.jsonl", [{"question": "?", "file_name": "images/a.png", "subset": "chart"}]
    )
    source = open_source(tmp_path / "set")
    (sample,) = source
    assert (source.name, sample.meta) == ("set", {"category": "chart"})
    assert ImageLoader().load(sample.images[0]).mime == "image/png"


ODD_PATHS = ("~no-such-user/a.tsv", "a\0b", "\ud800", "x" * 300, "a/" * 2500)


@pytest.mark.parametrize("path", ODD_PATHS, ids=["no user", "NUL", "half a character", "long", "deep"])
def test_what_cannot_be_a_path_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "a.tsv").write_text("index\tquestion\timage\n1\t?\ta.png\n")
    file = tmp_path / "a.tsv"
    attempts = (
        lambda: open_source(path),
        lambda: open_source(file, SourceOptions(image_root=path)),
        lambda: open_source(file, SourceOptions(schema=path)),
        lambda: open_source(file, SourceOptions(encoding=path)),
        lambda: open_folder(tmp_path, "What?", path),
        lambda: read_suite(path),
        lambda: read_texts(Path(path)),
    )
    for attempt in attempts:
        with pytest.raises(EyechartError):
            attempt()


def test_a_data_directory_of_no_user_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", "~no-such-user/data")
    with pytest.raises(DataError, match="no such file"):
        open_source("NoSuchBenchmark")
