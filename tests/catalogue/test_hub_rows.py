"""Hub data sets of other shapes: several questions per row, several parts, images kept apart, plain files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalogue.made import IMAGE, MADE, write_clone, write_file
from eyechart.data.images.loading import ImageLoader
from eyechart.errors import DataError
from eyechart.registry import scorers
from eyechart.runs.sources import make_benchmark
from eyechart.types import Reply, Sample
from support.files import picture, picture_base64
from support.tables import write_tsv


def read(name: str, **settings: str) -> list[Sample]:
    return list(make_benchmark(name, settings).source)


def load(sample: Sample) -> bytes:
    loader = ImageLoader()
    try:
        return loader.original(sample.images[0])
    finally:
        loader.close()


def write_shards(folder: Path, split: str, *shards: list[dict[str, Any]]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True)
    for at, rows in enumerate(shards):
        name = f"{split}-{at:05}-of-{len(shards):05}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), folder / "data" / name)
    return folder


def test_several_questions_of_a_row_are_numbered_over_all_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")

    def make(*questions: str) -> dict[str, Any]:
        pairs = [{"question": one, "answer": "x"} for one in questions]
        return {"image": IMAGE, "id": "1", "lang": "DE", "qa_pairs": str(pairs)}

    clone = write_shards(tmp_path / "clone", "test", [make("a", "b"), make("c")], [make("d"), make("", "e")])
    found = read("mtvqa", file=f"hf:{clone}")
    assert [(one.id, one.question) for one in found] == list(zip("01234", "abcde", strict=True))
    assert all(load(one) == picture() for one in found)


QUESTION = {"index": 1, "question": "Which values?", "image": picture_base64()}


@pytest.mark.parametrize(
    ("name", "kit", "cell", "right", "wrong"),
    [
        ("chartqa", "vlmevalkit", "['[10, 20]']", "[10, 20]", "10"),
        ("chartqa", "vlmevalkit", "[10, 20]", "10", "[10, 20]"),
        ("chartqa", "lmms-eval", "['[10, 20]']", "[10, 20]", "10"),
        ("docvqa-val", "vlmevalkit", "['[10, 20]']", "[10, 20]", "10"),
        ("docvqa-val", "vlmevalkit", "['[10, 20]', 'ten']", "ten", "10"),
        ("gqa", "vlmevalkit", "['[10, 20]']", "[10, 20]", "10"),
        ("ocrbench", "vlmevalkit", "['[10, 20]']", "[10, 20]", "10"),
        ("zerobench", "vlmevalkit", "[10, 20]", "{[10, 20]}", "{10}"),
        ("mathvision", "vlmevalkit", "[10, 20]", "[10, 20]", "10"),
        ("mmlongbench-doc", "vlmevalkit", "['ten', 'two']", "['two', 'ten']", "ten"),
    ],
)
def test_a_cell_that_spells_a_list_is_evaluated_once_or_not_at_all(
    tmp_path: Path, name: str, kit: str, cell: str, right: str, wrong: str
) -> None:
    """As by the official code: once for several accepted answers, else the text is the answer."""
    row = {**QUESTION, "answer": cell, "answer_format": "List", "category": "Doc-oriented VQA"}
    file = write_tsv(tmp_path / "a.tsv", list(row), list(row.values()))
    benchmark = make_benchmark(name, {"file": str(file), "kit": kit})
    [sample] = benchmark.source
    scorer = scorers.get(benchmark.scorer)
    assert [scorer(Reply(text=said), sample).value == 1 for said in (right, wrong)] == [True, False]


def test_a_text_on_the_hub_is_not_evaluated_for_lmms_eval(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = {"image": IMAGE, "question": "Which values?", "answer": "[10, 20]", "type": "human_test"}
    clone = write_shards(tmp_path / "clone", "test", [row])
    [theirs], [ours] = (read("chartqa", file=f"hf:{clone}", kit=kit) for kit in ("lmms-eval", "vlmevalkit"))
    assert (theirs.golds, ours.golds) == (("[10, 20]",), ("10", "20"))


def test_a_list_that_cannot_be_read_names_the_row(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = {"image": IMAGE, "id": "1", "lang": "DE", "qa_pairs": "[{'question': "}
    clone = write_shards(tmp_path / "clone", "test", [row])
    with pytest.raises(
        DataError, match=r"row 1 does not have the benchmark's columns .*qa_pairs is not a list"
    ):
        read("mtvqa", file=f"hf:{clone}")


def test_images_of_another_config_and_of_an_archive(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name, column in (("gqa", "image"), ("visulogic", "images/1.png")):
        made, card = MADE[name], make_benchmark(name, {}).card
        clone = write_clone(tmp_path / name, card.hub[0].partition(":")[2], made.hub)
        write_clone(clone, card.images, made.more_hub[card.images])
        found = read(name, file=f"hf:{clone}")
        assert found[1].images[0].column == column
        assert load(found[1]) == picture()
    write_clone(tmp_path / "visulogic", "images.zip", [{"name": "images/0.png"}])
    with pytest.raises(DataError, match=r"row 2 .*images.zip has no image './images/1.png'"):
        read("visulogic", file=f"hf:{tmp_path / 'visulogic'}")
    (tmp_path / "visulogic" / "images.zip").write_bytes(b"half a download")
    with pytest.raises(DataError, match=r"images.zip: not a zip archive"):
        read("visulogic", file=f"hf:{tmp_path / 'visulogic'}")
    (tmp_path / "visulogic" / "images.zip").unlink()
    with pytest.raises(DataError, match=r"images.zip: no such file"):
        read("visulogic", file=f"hf:{tmp_path / 'visulogic'}")


def test_expressions_of_lmms_evals_refcoco(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = {"question_id": "7", "image": IMAGE, "question": "?", "answer": ["the dog", "left dog"]}
    clone = tmp_path / "RefCOCOplus"
    write_clone(clone, "testA", [row | {"bbox": [8.0, 6.0, 16.0, 12.0], "file_name": "1.png"}])
    for kit, gold in (("vlmevalkit", "[8, 6, 24, 18]"), ("lmms-eval", "[0.25, 0.25, 0.75, 0.75]")):
        made = make_benchmark("refcoco", {"file": f"hf:{clone}:testA", "kit": kit})
        found = list(made.source)
        assert [one.id for one in found] == ["RefCOCO+_testA_7_0", "RefCOCO+_testA_7_1"]
        assert {one.golds for one in found} == {(gold,)}
        assert made.prompt(found[1])[0].text.endswith("this sentence describes: left dog")


def test_ids_of_vlmevalkits_refcoco_may_repeat_between_splits(tmp_path: Path) -> None:
    rows = [
        {**row, "index": 0, "category": f"RefCOCO {split}"}
        for row, split in zip(MADE["refcoco"].rows, ("val", "test A"), strict=True)
    ]
    path = write_file(tmp_path, "RefCOCO", type(MADE["refcoco"])(rows=rows))
    found = read("refcoco", file=str(path))
    assert [one.id for one in found] == ["RefCOCO_val_0", "RefCOCO_testA_0"]
    assert {one.golds for one in found} == {("[0, 0, 16, 12]",)}


def test_a_file_of_the_hub_is_read_as_the_file(tmp_path: Path) -> None:
    write_file(tmp_path / "clone", "AMBER", MADE["amber"])
    assert len(read("amber", file=f"hf:{tmp_path / 'clone'}")) == 2
    with pytest.raises(DataError, match="no such file in this folder"):
        read("amber", file=f"hf:{tmp_path / 'clone'}:OTHER.tsv")


def test_a_files_name_chooses_the_kits_way(tmp_path: Path) -> None:
    for stem, kit in (("MMMU_Pro_10c", "lmms-eval"), ("MMMU_Pro_10c_COT", "vlmevalkit-cot")):
        path = write_file(tmp_path, stem, MADE["mmmu-pro"])
        assert make_benchmark("mmmu-pro", {"file": str(path)}).settings["kit"] == kit
        assert (
            make_benchmark("mmmu-pro", {"file": str(path), "kit": "vlmevalkit"}).settings["kit"]
            == "vlmevalkit"
        )


def test_copies_with_other_columns_or_parts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = [
        {"image": IMAGE, "query": "How many?", "label": ["4"], "human_or_machine": 0},
        {"image": IMAGE, "query": "Which?", "label": ["red"], "human_or_machine": 1},
    ]
    write_clone(tmp_path / "ChartQA", "test", rows)
    found = read("chartqa", file=f"hf:{tmp_path / 'ChartQA'}")
    assert [(one.golds, one.meta["split"]) for one in found] == [
        (("4",), "test_human"),
        (("red",), "test_augmented"),
    ]
    for subject in ("Art", "Music"):  # MMMU/MMMU has a config per subject
        rows = [row | {"id": f"validation_{subject}_1"} for row in map(dict, MADE["mmmu-val"].hub[:1])]
        write_clone(tmp_path / "MMMU", f"{subject}/validation", rows)
    found = [
        one
        for part in ("Art", "Music")
        for one in read("mmmu-val", file=f"hf:{tmp_path / 'MMMU'}:{part}/validation")
    ]
    assert [(one.id, one.meta["category"]) for one in found] == [
        ("validation_Art_1", "Art"),
        ("validation_Music_1", "Music"),
    ]
