"""Originals of seven benchmarks, in small, to the annotation files that are published."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.boxes import Box, read_boxes
from eyechart.data.images.loading import ImageLoader
from eyechart.data.source import open_source
from eyechart.errors import DataError, EyechartError, UnknownName, UsageError
from eyechart.pipelines.insight_o3.benchmark import DATASETS, AnnotationSource
from eyechart.pipelines.insight_o3.convert import LAYOUTS, make_safe_name, split_options
from eyechart.registry import converters
from support.command import eyechart, eyechart_process
from support.files import jsonl, picture, picture_base64
from support.hub import library

COLOURS = ("red", "green", "blue")


def pictures(folder: Path, *names: str) -> None:
    for name, colour in zip(names, COLOURS, strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture(colour, kind="JPEG"))


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def vstar(folder: Path) -> Path:
    pictures(folder, "direct_attributes/sa_1.jpg", "relative_position/sa_2.jpg")
    closing = "Say which letter it is."
    rows = [
        {
            "image": "direct_attributes/sa_1.jpg",
            "text": f"What is it made of?\n(A) wood\n(B) steel\n(C) glass\n(D) clay\n{closing}",
            "category": "direct_attributes",
            "label": "C",
            "question_id": "0",
        },
        {
            "image": "relative_position/sa_2.jpg",
            "text": f"Left or right?\n(A) left\n(B) right\n{closing}",
            "category": "relative_position",
            "label": "A",
            "question_id": "1",
        },
    ]
    jsonl(folder / "test_questions.jsonl", rows)
    return folder


VSTAR = (
    '{"question_id": "0", "image": "direct_attributes/sa_1.jpg", "question": "What is it made of?", '
    '"options": "(A) wood\\n(B) steel\\n(C) glass\\n(D) clay", "category": "direct_attributes", '
    '"answer": "C"}\n'
    '{"question_id": "1", "image": "relative_position/sa_2.jpg", "question": "Left or right?", '
    '"options": "(A) left\\n(B) right", "category": "relative_position", "answer": "A"}\n'
)


def hr_rows() -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "question": "Wie groß?",
            "answer": "AB"[number],
            "category": ("single", "cross")[number],
            **dict(zip("ABCD", options, strict=True)),
            "cycle_category": "circle",
            "image": picture_base64(COLOURS[number]),
        }
        for number, options in enumerate([("27B", "37B", "5", "6"), ("6", "27B", "37B", "5")])
    ]


def hr_bench(folder: Path) -> Path:
    parquet(folder / "hr_bench_4k.parquet", hr_rows())
    parquet(folder / "hr_bench_8k.parquet", hr_rows())
    return folder


HR_BENCH = (
    '{"question_id": 0, "image": "0.jpg", "question": "Wie groß?", "options": "A.27B\\nB.37B\\nC.5\\nD.6", '
    '"answer": "A", "category": "single"}\n'
    '{"question_id": 1, "image": "1.jpg", "question": "Wie groß?", "options": "A.6\\nB.27B\\nC.37B\\nD.5", '
    '"answer": "B", "category": "cross"}\n'
)


def tree_rows() -> list[dict[str, Any]]:
    return [
        {
            "image": picture_base64(COLOURS[number]),
            "question": "Which one – left? ",
            "multi-choice options": "A. one \nB. two",
            "answer": "B",
            "category": "Perception/OCR",
            "target_instances": [[1.0, 2.0, 30.0, 4.5]],
        }
        for number in range(2)
    ]


def treebench(folder: Path) -> Path:
    for number, row in enumerate(tree_rows()):
        parquet(folder / "data" / f"train-{number:05d}-of-00002.parquet", [row])
    return folder


TREEBENCH = "".join(
    f'{{"question_id": {number}, "image": "image_00000{number}.jpg", "question": "Which one \\u2013 left? ", '
    '"options": "A. one \\nB. two", "answer": "B", "category": "Perception/OCR", '
    '"target_instances": "[[1.0, 2.0, 30.0, 4.5]]"}\n'
    for number in range(2)
)


def visual_probe(folder: Path) -> Path:
    pictures(folder, "data/visual_probe_hard_7.jpg")
    row = {
        "problem": "<image>\nWhat colour is it?",
        "solution": " Déjà white.",
        "images": ["data/visual_probe_hard_7.jpg"],
    }
    (folder / "val.json").write_text(json.dumps([row]), encoding="utf-8")
    return folder


VISUAL_PROBE = (
    '{"question_id": "visual_probe_hard_7", "image": "VisualProbe_Hard/data/visual_probe_hard_7.jpg", '
    '"question": "What colour is it?", "answer": " Déjà white.", "category": "visual_probe_hard"}\n'
)


def mme(folder: Path) -> Path:
    pictures(folder, "imgs/a b (1).jpg")
    row = {
        "Question_id": "perception/remote_sensing/position/25",
        "Image": "a b (1).jpg",
        "Text": "Where is it?",
        "Question Type": "Multiple Choice",
        "Answer choices": ["(A) Here", "(B) There", "(E) It isn’t there."],
        "Ground truth": "E",
        "Category": "position",
        "Subtask": "Remote Sensing",
        "Task": "Perception",
    }
    (folder / "MME_RealWorld_Lite.json").write_text(json.dumps([row, row]), encoding="utf-8")
    return folder


MME = (
    '{"question_id": "perception/remote_sensing/position/25", "image": "a b (1).jpg", '
    '"question": "Where is it?", "answer": "E", '
    '"options": "(A) Here\\n(B) There\\n(E) It isn’t there.", "category": "Remote Sensing"}\n' * 2
)


def o3_bench(folder: Path) -> Path:
    pictures(folder, "test/images/chart/1-3.png")
    row = {
        "file_name": "images/chart/1-3.png",
        "subset": "chart",
        "question": "How many?",
        "options": "A. 1\nB. 2\nF. No right choice",
        "answer": "B",
        "explanation": "Zwei – schau",
        "target_layouts": [1, 2],
        "layout_infos": {"1": {"bbox": [0, 1, 2.5, 3]}},
        "img_width": 32,
    }
    jsonl(folder / "test" / "metadata.jsonl", [row])
    return folder


O3_BENCH = (
    '{"file_name": "images/chart/1-3.png", "subset": "chart", "question": "How many?", '
    '"options": "A. 1\\nB. 2\\nF. No right choice", "answer": "B", "explanation": "Zwei – schau", '
    '"target_layouts": [1, 2], "layout_infos": {"1": {"bbox": [0, 1, 2.5, 3]}}, "img_width": 32}\n'
)

PROBED = {"visual_probe_hard_7.jpg": "red"}
Case = tuple[str, Callable[[Path], Path], str, str, dict[str, str]]
CASES: list[Case] = [
    ("vstar", vstar, VSTAR, "vstar_bench", {"direct_attributes/sa_1.jpg": "red"}),
    ("hr-bench-4k", hr_bench, HR_BENCH, "HR-Bench/images_4k", {"0.jpg": "red", "1.jpg": "green"}),
    ("hr-bench-8k", hr_bench, HR_BENCH, "HR-Bench/images_8k", {"0.jpg": "red", "1.jpg": "green"}),
    ("treebench", treebench, TREEBENCH, "TreeBench/images", {"image_000001.jpg": "green"}),
    ("visual-probe-hard", visual_probe, VISUAL_PROBE, "VisualProbe_Hard/data", PROBED),
    ("mme-realworld-lite", mme, MME, "MME-RealWorld-Lite/imgs", {"a b (1).jpg": "red"}),
    ("o3-bench", o3_bench, O3_BENCH, "O3-Bench/test", {"images/chart/1-3.png": "red"}),
]  # fmt: skip
by_case = pytest.mark.parametrize(
    ("name", "make", "expected", "folder", "files"), CASES, ids=[case[0] for case in CASES]
)


@by_case
def test_every_data_set(
    tmp_path: Path,
    name: str,
    make: Callable[[Path], Path],
    expected: str,
    folder: str,
    files: dict[str, str],
) -> None:
    counted: list[int] = []
    done = converters.get(name)(str(make(tmp_path / "original")), tmp_path / "data", progress=counted.append)
    assert done.annotations.read_bytes() == expected.encode()
    assert counted == list(range(1, done.n_rows + 1))
    for file, colour in files.items():
        [layout] = [one for one in LAYOUTS if one.dataset.name == name]
        kind = "JPEG" if layout.has_files else "PNG"  # as the original has it, whatever its name
        assert (tmp_path / "data" / folder / file).read_bytes() == picture(colour, kind=kind)
    written = {path.name for path in (tmp_path / "data").rglob("*") if path.is_file()}
    assert not {one for one in written if one.endswith(".part")}
    assert len(written) == done.n_images + 1


@by_case
def test_the_benchmark_reads_what_was_written(
    tmp_path: Path,
    name: str,
    make: Callable[[Path], Path],
    expected: str,
    folder: str,
    files: dict[str, str],
) -> None:
    from eyechart.registry import benchmarks

    converters.get(name)(str(make(tmp_path / "original")), tmp_path / "data")
    samples = list(benchmarks.get(name)(root=tmp_path / "data").source)
    assert [sample.question for sample in samples] == [
        json.loads(line)["question"] for line in expected.splitlines()
    ]
    for sample in samples:
        assert ImageLoader().load(sample.images[0]).width == 32


def test_every_benchmark_can_be_converted() -> None:
    assert [one.dataset for one in LAYOUTS] == list(DATASETS)


def test_a_tsv_of_hr_bench(tmp_path: Path) -> None:
    rows = hr_rows()
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    (tmp_path / "hr.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = converters.get("hr-bench-4k")(str(tmp_path / "hr.tsv"), tmp_path / "data")
    assert done.annotations.read_text(encoding="utf-8") == HR_BENCH
    assert len(list(open_source(done.annotations))) == 2


def test_a_hub_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path / "home", monkeypatch)
    treebench(tmp_path / "tree")
    done = converters.get("treebench")(f"hf:{tmp_path}/tree:train", tmp_path / "data")
    assert done.annotations.read_text(encoding="utf-8") == TREEBENCH
    vstar(tmp_path / "vstar")
    done = converters.get("vstar")(f"hf:{tmp_path}/vstar", tmp_path / "data")
    assert done.annotations.read_text(encoding="utf-8") == VSTAR
    with pytest.raises(UsageError, match="without a split"):
        converters.get("vstar")(f"hf:{tmp_path}/vstar:test", tmp_path / "other")


@pytest.mark.slow
def test_a_hub_repository_that_cannot_be_fetched(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    done = eyechart_process(
        "data", "convert", "vstar", "hf:craigwu/vstar_bench", "--out", "data",
        cwd=tmp_path, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "home"),
    )  # fmt: skip
    assert done.code == 2
    assert "hf:craigwu/vstar_bench: not in the cache, and the hub cannot be reached" in done.err


def test_nothing_is_written_over_unless_asked(tmp_path: Path) -> None:
    source = str(vstar(tmp_path / "original"))
    converters.get("vstar")(source, tmp_path / "data")
    with pytest.raises(UsageError, match=r"vstar_bench.jsonl already exists\n  hint: --force"):
        converters.get("vstar")(source, tmp_path / "data")
    converters.get("vstar")(source, tmp_path / "data", force=True)
    (tmp_path / "data/vstar_bench/vstar_bench.jsonl").unlink()
    converters.get("vstar")(source, tmp_path / "data")  # the pictures there are the same
    (tmp_path / "data/vstar_bench/vstar_bench.jsonl").unlink()
    (tmp_path / "data/vstar_bench/direct_attributes/sa_1.jpg").write_bytes(b"mine")
    with pytest.raises(UsageError, match="already exists and differs"):
        converters.get("vstar")(source, tmp_path / "data")
    assert not (tmp_path / "data/vstar_bench/vstar_bench.jsonl").exists()
    assert converters.get("vstar")(source, tmp_path / "data", force=True).n_rows == 2


@pytest.mark.parametrize(
    "name", ["../secret.jpg", "/etc/passwd.jpg", "a/../../b.jpg", "~/b.jpg", "C:\\b.jpg", "a\nb.jpg", "."]
)
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.jpg").write_bytes(picture(kind="JPEG"))
    folder = vstar(tmp_path / "original")
    row = {"image": name, "text": "Q?\n(A) x\n(B) y\nZ.", "category": "c", "label": "A", "question_id": "0"}
    jsonl(folder / "test_questions.jsonl", [row])
    with pytest.raises(DataError, match=r"test_questions.jsonl: row 1"):
        converters.get("vstar")(str(folder), tmp_path / "data")
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "no options"}, r"row 1 .*: no line of the text begins with \(A\)"),
        ({"label": "E"}, "the label 'E' is not among the options"),
        ({"image": "direct_attributes/sa_9.jpg"}, r"sa_9.jpg: no such file\n  hint: unpack the images"),
        ({"image": ""}, "row 1 .*: 0 images"),
        ({"image": "test_questions.jsonl"}, "is neither an image"),
    ],
)
def test_rows_that_cannot_be_converted(tmp_path: Path, change: dict[str, str], message: str) -> None:
    folder = vstar(tmp_path / "original")
    path = folder / "test_questions.jsonl"
    first, *rest = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    jsonl(path, [{**first, **change}, *rest])
    with pytest.raises(DataError, match=message):
        converters.get("vstar")(str(folder), tmp_path / "data")
    assert not (tmp_path / "data/vstar_bench/vstar_bench.jsonl").exists()


def test_other_rows_that_cannot_be_converted(tmp_path: Path) -> None:
    parquet(tmp_path / "hr_4k.parquet", [{**hr_rows()[0], "index": -3}])
    with pytest.raises(DataError, match="'-3' is not a row number"):
        converters.get("hr-bench-4k")(str(tmp_path / "hr_4k.parquet"), tmp_path / "data")
    parquet(tmp_path / "hr_4k.parquet", [hr_rows()[0], {**hr_rows()[1], "index": 0}])
    with pytest.raises(DataError, match=r"row 2: another row has a different image named 0.jpg"):
        converters.get("hr-bench-4k")(str(tmp_path / "hr_4k.parquet"), tmp_path / "data")
    parquet(tmp_path / "hr_4k.parquet", [{**hr_rows()[0], "B": None}, hr_rows()[1]])
    with pytest.raises(DataError, match="row 1: 'B' is empty"):
        converters.get("hr-bench-4k")(str(tmp_path / "hr_4k.parquet"), tmp_path / "other")
    folder = mme(tmp_path / "mme")
    [row, _] = json.loads((folder / "MME_RealWorld_Lite.json").read_text(encoding="utf-8"))
    (folder / "MME_RealWorld_Lite.json").write_text(json.dumps([{**row, "Answer choices": "(A)"}]))
    with pytest.raises(DataError, match="'Answer choices' is not a list of options"):
        converters.get("mme-realworld-lite")(str(folder), tmp_path / "data")


def test_what_is_not_the_original(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with pytest.raises(UnknownName, match=r"no converter named 'vstr'\n  hint: did you mean vstar\?"):
        converters.get("vstr")(str(tmp_path), out)
    with pytest.raises(DataError, match=r"no such file or folder\n  hint: download craigwu/vstar_bench"):
        converters.get("vstar")(str(tmp_path / "nowhere"), out)
    with pytest.raises(DataError, match=r"it has no data file of V\*Bench"):
        converters.get("vstar")(str(tmp_path), out)
    jsonl(tmp_path / "a.jsonl", [{"question": "?", "image": "a.jpg"}])
    with pytest.raises(DataError, match=r"a.jsonl has no column 'text'(?s:.*)columns: question, image"):
        converters.get("vstar")(str(tmp_path), out)
    jsonl(tmp_path / "b.jsonl", [{"question": "?"}])
    with pytest.raises(DataError, match=r"2 files match \(a.jsonl, b.jsonl\)"):
        converters.get("vstar")(str(tmp_path), out)
    assert not out.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")
    with pytest.raises(DataError, match="cannot write"):
        converters.get("vstar")(str(vstar(tmp_path / "original")), tmp_path / "data")


def test_the_command(tmp_path: Path) -> None:
    vstar(tmp_path / "original")
    done = eyechart("data", "convert", "vstar", "original", "--out", "data", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out == "data/vstar_bench/vstar_bench.jsonl: 2 rows, 2 images\n"
    assert "eyechart run vstar --set root=data -m MODEL" in done.err
    again = eyechart("data", "convert", "vstar", "original", "--out", "data", cwd=tmp_path)
    assert (again.code, "--force" in again.err) == (2, True)
    assert (
        eyechart("data", "convert", "vstar", "original", "--out", "data", "--force", cwd=tmp_path).code == 0
    )


line = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12).map(
    str.strip
)
plain = line.filter(lambda text: bool(text) and not text.startswith("("))


@given(plain, st.lists(plain, min_size=1, max_size=6), plain)
def test_texts_come_apart_as_they_were_put_together(question: str, options: list[str], closing: str) -> None:
    block = "\n".join(f"({letter}) {text}" for letter, text in zip("ABCDEF", options, strict=False))
    assert split_options(f"{question}\n{block}\n{closing}") == (question, block)
    assert split_options(f"{question}\n{block}") == (question, block)


@given(st.text(max_size=30))
def test_names_stay_below_their_folder(name: str) -> None:
    try:
        safe = make_safe_name(name)
    except ValueError:
        return
    place = (Path("/data") / safe).resolve()
    assert place.is_relative_to("/data")
    assert place != Path("/data")


@pytest.mark.slow
@given(st.binary(max_size=40))
def test_any_file_gives_one_of_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "val.json").write_bytes(data)
    with pytest.raises(EyechartError):
        converters.get("visual-probe-hard")(str(folder), folder / "data")
    assert not list(folder.rglob("*.jsonl"))


def test_the_boxes_of_vstar_lie_beside_its_images(tmp_path: Path) -> None:
    folder = vstar(tmp_path / "original")
    boxes = {"target_object": ["cup"], "bbox": [[3, 4, 10, 5]]}
    (folder / "direct_attributes" / "sa_1.json").write_text(json.dumps(boxes), encoding="utf-8")
    converters.get("vstar")(str(folder), tmp_path / "data")
    written = tmp_path / "data" / "vstar_bench"
    assert sorted(path.name for path in written.rglob("*.json")) == ["sa_1.json"]
    source = AnnotationSource(name="vstar", path=written / "vstar_bench.jsonl", image_roots=(written,))
    found = [read_boxes(sample) for sample in source]
    assert found == [[Box(left=3, top=4, right=13, bottom=9)], []]


def test_what_was_written_into_the_original_is_not_mistaken_for_it(tmp_path: Path) -> None:
    folder = mme(tmp_path / "original")
    for force in (False, True):
        done = converters.get("mme-realworld-lite")(str(folder), folder / "out", force=force)
        assert done.annotations.read_text(encoding="utf-8") == MME


def test_images_that_cannot_be_told_apart_by_name(tmp_path: Path) -> None:
    folder = mme(tmp_path / "original")
    (folder / "imgs").rename(folder / "first")
    shutil.copytree(folder / "first", folder / "second")
    with pytest.raises(DataError, match="hint: unpack the images beside the data file"):
        converters.get("mme-realworld-lite")(str(folder), tmp_path / "data")
