import hashlib
import json
import shutil
import socket
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.columns.lint import check_source
from eyechart.data.files.hub import (
    is_reachable,
    list_splits,
    open_hub,
    parse_hub,
    raise_explained,
)
from eyechart.data.images.loading import ImageLoader
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError, ImageError, UsageError
from eyechart.types import Sample
from support.command import eyechart, eyechart_process
from support.files import jsonl, picture, picture_base64
from support.hub import COLOURS, clone, library, signs


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return library(tmp_path / "home", monkeypatch)


def samples(spec: str, options: SourceOptions | None = None) -> list[Sample]:
    return list(open_source(spec, options))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_clone_of_a_repository(tmp_path: Path, datasets: Any) -> None:
    folder = clone(tmp_path / "signs", {"test": signs(datasets)})
    source = open_source(f"hf:{folder}")
    assert source.name == "signs"
    assert source.origin == f"hf:{folder}:test"
    assert source.detection.reasons[0] == "hub: split test, 3 rows"
    found = list(source)
    assert [sample.id for sample in found] == ["s0", "s1", "s2"]
    assert found[0].choices == {"A": "yes", "B": "no"}
    assert found[1].golds == ("B",)
    assert [sample.meta["category"] for sample in found] == ["night", "day", "night"]
    assert list(source) == found
    loader = ImageLoader()
    for sample, colour in zip(found, COLOURS, strict=True):
        [ref] = sample.images
        assert (ref.kind, ref.location, ref.column) == ("hub", f"hf:{folder}:test", "image")
        assert loader.load(ref).sha256 == sha(picture(colour))
        assert loader.check(ref)[:2] == (32, 24)


def test_pictures_are_not_decoded_and_not_kept(tmp_path: Path, datasets: Any) -> None:
    broken = signs(datasets).map(
        lambda row: {"image": {"bytes": b"no picture", "path": None}},
        features=signs(datasets).features,
    )
    folder = clone(tmp_path / "signs", {"test": broken})
    found = samples(f"hf:{folder}")
    assert len(found) == 3
    with pytest.raises(ImageError, match=r"hf:.*signs:test \(row 1\): not a supported image"):
        ImageLoader().load(found[1].images[0])


def test_splits_are_not_guessed(tmp_path: Path, datasets: Any) -> None:
    folder = clone(tmp_path / "signs", {"train": signs(datasets, 2), "test": signs(datasets, 3)})
    assert len(samples(f"hf:{folder}:test")) == 3
    assert len(samples(f"hf:{folder}:train")) == 2
    assert list_splits(f"hf:{folder}") == ["train", "test"]
    with pytest.raises(DataError, match=r"choose one of 2 splits \(available: train, test\)"):
        open_source(f"hf:{folder}")
    with pytest.raises(
        DataError, match=r"no split 'tset' \(available: train, test\)\n  hint: did you mean test"
    ):
        open_source(f"hf:{folder}:tset")
    with pytest.raises(DataError, match=r"no config 'night' \(available: default\)"):
        open_source(f"hf:{folder}:night/test")


def test_configs(tmp_path: Path, datasets: Any) -> None:
    folder = tmp_path / "signs"
    for config in ("night", "day"):
        (folder / config).mkdir(parents=True)
        jsonl(folder / config / "rows.jsonl", [{"question": f"{config}?", "answer": "x"}])
    listed = "".join(
        f"- config_name: {config}\n  data_files:\n  - split: test\n    path: {config}/*.jsonl\n"
        for config in ("night", "day")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{listed}---\n", encoding="utf-8")
    assert samples(f"hf:{folder}:day")[0].question == "day?"
    assert open_source(f"hf:{folder}:day").origin == f"hf:{folder}:day/test"
    assert samples(f"hf:{folder}:night/test")[0].question == "night?"
    with pytest.raises(DataError, match=r"choose one of 2 configs \(available: night, day\)"):
        open_source(f"hf:{folder}")
    with pytest.raises(DataError, match=r"no config 'nigt' .*\n  hint: did you mean night\?"):
        open_source(f"hf:{folder}:nigt")
    with pytest.raises(DataError, match=r"(?s)no split 'dev' .*write e.g. hf:.*:night/test"):
        open_source(f"hf:{folder}:night/dev")


def test_what_save_to_disk_wrote(tmp_path: Path, datasets: Any) -> None:
    signs(datasets).save_to_disk(str(tmp_path / "one"))
    both = datasets.DatasetDict({"dev": signs(datasets, 1), "test": signs(datasets, 2)})
    both.save_to_disk(str(tmp_path / "both"))
    [first, *_] = samples(f"hf:{tmp_path}/one")
    assert ImageLoader().load(first.images[0]).sha256 == sha(picture("red"))
    assert len(samples(f"hf:{tmp_path}/both:test")) == 2
    assert list_splits(f"hf:{tmp_path}/both") == ["dev", "test"]
    with pytest.raises(DataError, match=r"available: dev, test"):
        open_source(f"hf:{tmp_path}/both")
    with pytest.raises(DataError, match=r"no split 'test' \(available: one unnamed\)"):
        open_source(f"hf:{tmp_path}/one:test")


def test_a_folder_of_pictures_with_metadata(tmp_path: Path, datasets: Any) -> None:
    folder = tmp_path / "signs"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "a.png").write_bytes(picture("blue"))
    jsonl(folder / "metadata.jsonl", [{"file_name": "images/a.png", "question": "?", "answer": "x"}])
    [sample] = samples(f"hf:{folder}")
    assert sample.images[0].kind == "file"
    assert ImageLoader().load(sample.images[0]).sha256 == sha(picture("blue"))


def test_other_ways_to_hold_pictures(tmp_path: Path, datasets: Any) -> None:
    folder = tmp_path / "signs"
    folder.mkdir()
    (folder / "a.png").write_bytes(picture("green"))
    rows: list[dict[str, Any]] = [
        {"question": "base64", "image": picture_base64("red")},
        {"question": "relative", "image": "a.png"},
        {"question": "nothing", "image": None},
        {"question": "list as text", "image": json.dumps([picture_base64("blue"), picture_base64("red")])},
    ]
    jsonl(folder / "test.jsonl", rows)
    found = samples(f"hf:{folder}:test")
    loaded = [[ImageLoader().load(ref).sha256 for ref in sample.images] for sample in found]
    red, green, blue = (sha(picture(colour)) for colour in COLOURS)
    assert loaded == [[red], [green], [], [blue, red]]
    assert found[0].images[0].kind == "hub"


def test_lists_of_pictures(tmp_path: Path, datasets: Any) -> None:
    cells = [
        [{"bytes": picture("red"), "path": None}, {"bytes": picture("blue"), "path": None}],
        [],
        None,
    ]
    features = datasets.Features(
        {"question": datasets.Value("string"), "images": datasets.Sequence(datasets.Image())}
    )
    data = datasets.Dataset.from_dict({"question": ["a", "b", "c"], "images": cells}, features=features)
    data.save_to_disk(str(tmp_path / "signs"))
    found = samples(f"hf:{tmp_path}/signs")
    assert [len(sample.images) for sample in found] == [2, 0, 0]
    assert [ImageLoader().load(ref).sha256 for ref in found[0].images] == [
        sha(picture("red")),
        sha(picture("blue")),
    ]
    texts = datasets.Dataset.from_dict(
        {"question": ["a"], "images": [[picture_base64("red"), picture_base64("blue")]]}
    )
    texts.save_to_disk(str(tmp_path / "texts"))
    [sample] = samples(f"hf:{tmp_path}/texts")
    assert [ref.column for ref in sample.images] == ["images[0]", "images[1]"]
    assert ImageLoader().load(sample.images[1]).sha256 == sha(picture("blue"))


def test_a_column_that_is_a_picture_by_its_type_is_the_picture(tmp_path: Path, datasets: Any) -> None:
    data = signs(datasets).rename_column("image", "figure").add_column("image", ["1.jpg", "2.jpg", "3.jpg"])
    data.save_to_disk(str(tmp_path / "signs"))
    source = open_source(f"hf:{tmp_path}/signs")
    assert "column figure is used as image" in source.detection.reasons
    first = next(iter(source))
    assert first.images[0].column == "figure"
    assert first.meta["image"] == "1.jpg"
    by_name = open_source(f"hf:{tmp_path}/signs", SourceOptions(fields={"image": "image"}))
    assert next(iter(by_name)).images[0].kind == "file"


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.png", "~/secret.png"])
def test_a_strangers_paths_are_not_followed(tmp_path: Path, datasets: Any, path: str) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "signs").mkdir()
    cell = pa.array([{"bytes": None, "path": path}], pa.struct({"bytes": pa.binary(), "path": pa.string()}))
    pq.write_table(pa.table({"question": ["a"], "image": cell}), tmp_path / "signs" / "test.parquet")
    [sample] = samples(f"hf:{tmp_path}/signs")
    with pytest.raises(ImageError, match=r"not followed|leads out"):
        ImageLoader().load(sample.images[0])


def test_a_strangers_paths_do_not_reach_the_current_folder(
    tmp_path: Path, datasets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "secret.png").write_bytes(picture())
    (tmp_path / "signs").mkdir()
    jsonl(tmp_path / "signs" / "test.jsonl", [{"question": "a", "image": "secret.png"}])
    monkeypatch.chdir(tmp_path / "here")
    [sample] = samples(f"hf:{tmp_path}/signs")
    with pytest.raises(ImageError, match="no such file"):
        ImageLoader().load(sample.images[0])
    [rooted] = samples(f"hf:{tmp_path}/signs", SourceOptions(image_root=tmp_path / "here"))
    assert ImageLoader().load(rooted.images[0]).width == 32


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, datasets: Any) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    (tmp_path / "signs").mkdir()
    (tmp_path / "signs" / "a.png").symlink_to(tmp_path / "secret.png")
    jsonl(tmp_path / "signs" / "metadata.jsonl", [{"file_name": "a.png", "question": "?"}])
    with pytest.raises(DataError, match="outside its repository"):
        open_source(f"hf:{tmp_path}/signs")


def test_files_that_are_not_the_repositorys_own_are_refused(tmp_path: Path, datasets: Any) -> None:
    jsonl(tmp_path / "secret.jsonl", [{"question": "a"}])
    folder = tmp_path / "signs"
    folder.mkdir()
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: default\n  data_files: {tmp_path}/secret.jsonl\n---\n",
        encoding="utf-8",
    )
    with pytest.raises(DataError, match=r"refers to a file outside its repository: .*secret.jsonl"):
        open_source(f"hf:{folder}")


def test_fingerprints_follow_the_data(tmp_path: Path, datasets: Any) -> None:
    loader = ImageLoader()
    folder = tmp_path / "signs"
    signs(datasets).save_to_disk(str(folder))
    first = [loader.fingerprint(sample.images[0]) for sample in samples(f"hf:{folder}")]
    assert len(set(first)) == 3
    assert first == [loader.fingerprint(sample.images[0]) for sample in samples(f"hf:{folder}")]
    shutil.rmtree(folder)
    signs(datasets, 4).save_to_disk(str(folder))
    changed = [loader.fingerprint(sample.images[0]) for sample in samples(f"hf:{folder}")]
    assert not set(first) & set(changed)


def test_a_picture_is_found_again_in_another_process(tmp_path: Path, datasets: Any) -> None:
    from eyechart.data.files import hub as loading

    folder = clone(tmp_path / "signs", {"test": signs(datasets)})
    [first, *_] = samples(f"hf:{folder}")
    loading._OPEN.clear()
    assert ImageLoader().load(first.images[0]).sha256 == sha(picture("red"))
    loading._OPEN.clear()
    shutil.rmtree(folder)
    with pytest.raises(ImageError, match="no such folder"):
        ImageLoader().load(first.images[0])
    with pytest.raises(ImageError, match="no such folder"):
        ImageLoader().fingerprint(first.images[0])


def test_rows_that_are_gone(tmp_path: Path, datasets: Any) -> None:
    folder = tmp_path / "signs"
    signs(datasets).save_to_disk(str(folder))
    last = samples(f"hf:{folder}")[-1].images[0]
    shutil.rmtree(folder)
    signs(datasets, 1).save_to_disk(str(folder))
    open_source(f"hf:{folder}")
    with pytest.raises(ImageError, match="this row or column no longer exists"):
        ImageLoader().load(last)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("notes.md", b"# Signs", "no data files in this folder"),
        ("test.parquet", b"PAR1 but not really", "cannot be loaded: ArrowInvalid"),
        ("test.jsonl", b"{", "cannot be loaded: "),
        ("test.csv", b"a,b\n1,2\n", "no column 'question' \\(found: a, b\\)"),
    ],
)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # old `datasets` leave a CSV open
def test_folders_that_cannot_be_read(
    tmp_path: Path, datasets: Any, name: str, data: bytes, message: str
) -> None:
    (tmp_path / "signs").mkdir()
    (tmp_path / "signs" / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        open_source(f"hf:{tmp_path}/signs")


def test_options_of_files_are_refused(tmp_path: Path, datasets: Any) -> None:
    folder = clone(tmp_path / "signs", {"test": signs(datasets)})
    with pytest.raises(UsageError, match="apply to files"):
        open_source(f"hf:{folder}", SourceOptions(format="tsv"))


def test_a_reader_of_rows(tmp_path: Path, datasets: Any) -> None:
    folder = clone(tmp_path / "signs", {"test": signs(datasets)})
    reader = open_hub(f"hf:{folder}:test")
    assert reader.columns() == ("id", "question", "options", "answer", "category", "image")
    assert reader.image_columns() == ("image",)
    assert [row.number for row in reader.rows(())] == [1, 2, 3]
    assert {row.values["image"] for row in reader.rows(())} == {None}
    assert next(reader.rows(("image",))).values["image"].kind == "hub"


def test_lint_and_a_run(tmp_path: Path, datasets: Any) -> None:
    clone(tmp_path / "signs", {"test": signs(datasets)})
    report = check_source(open_source(f"hf:{tmp_path}/signs"), ImageLoader())
    assert (report.n_rows, report.n_images, report.findings) == (3, 3, [])
    shown = eyechart("data", "show", "hf:./signs", "--sample", "s1", cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert "hub: split test, 3 rows" in shown.out
    done = eyechart("run", "hf:./signs:test", "-m", "baseline/random", "-q", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (done.json["benchmark"], done.json["n"]) == ("signs-test", 3)


def test_images_of_other_names_are_several_or_refused(tmp_path: Path, datasets: Any) -> None:
    one = signs(datasets)
    second = one.select_columns(["image"]).rename_column("image", "second")
    two = datasets.concatenate_datasets([one.rename_column("image", "first"), second], axis=1)
    clone(tmp_path / "pairs", {"test": two})
    done = eyechart("run", "hf:./pairs:test", "-m", "baseline/random", "-q", cwd=tmp_path)
    assert done.code == 2, done.err
    assert "--field image=first --field image=second sends them" in done.err
    named = SourceOptions(fields={"image": ("first", "second")})
    assert [len(sample.images) for sample in open_source(f"hf:{tmp_path}/pairs:test", named)] == [2, 2, 2]
    numbered = two.rename_columns({"first": "image_1", "second": "image_2"})
    clone(tmp_path / "numbered", {"test": numbered})
    assert [len(sample.images) for sample in open_source(f"hf:{tmp_path}/numbered:test")] == [2, 2, 2]


@pytest.mark.slow
def test_what_is_cached_is_read_offline_and_what_is_not_is_named(tmp_path: Path, datasets: Any) -> None:
    """A process of its own: the library reads HF_HUB_OFFLINE and HF_HOME when it is imported."""
    folder = clone(tmp_path / "signs", {"test": signs(datasets)})
    home = tmp_path / "home"
    open_source(f"hf:{folder}")
    # The library keeps what came from the hub as what came from a folder, under ORG___NAME.
    shutil.copytree(home / "datasets" / "signs", home / "datasets" / "someone___signs")
    run = partial(eyechart_process, "data", "check", cwd=tmp_path, HF_HUB_OFFLINE="1", HF_HOME=str(home))
    done = run("hf:someone/signs:test")
    assert done.code == 0, done.err
    assert "3 rows, 3 images (hf:someone/signs:test)" in done.out
    assert done.err == ""
    done = run("hf:someone/nothing")
    assert done.code == 2
    assert "hf:someone/nothing: not in the cache, and the hub cannot be reached" in done.err
    assert "hint: HF_HUB_OFFLINE is set" in done.err


def test_a_folder_does_not_take_the_place_of_a_data_set_of_the_hub(
    tmp_path: Path, datasets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone(tmp_path / "someone" / "signs", {"test": signs(datasets)})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"write hf:\./someone/signs for the folder"):
        open_source("hf:someone/signs")


@pytest.mark.slow
def test_without_the_extra(tmp_path: Path) -> None:
    (tmp_path / "signs").mkdir()
    (tmp_path / "datasets.py").write_text("raise ImportError('not installed')\n", encoding="utf-8")
    done = eyechart_process("data", "check", "hf:./signs", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.code == 2
    assert "pip install 'eyechart[hub]'" in done.err


@pytest.fixture
def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_hub_that_cannot_be_reached_is_not_asked_again_and_again(
    closed_port: int, datasets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is told that it is offline: it looks into its cache, and raises at once."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)  # as the library does between its attempts
    with pytest.raises(DataError, match="not in the cache, and the hub cannot be reached") as caught:
        open_hub("hf:someone/nothing")
    assert "check the connection" in caught.value.hint
    assert slept == []
    assert not constants.HF_HUB_OFFLINE
    assert not datasets.config.HF_HUB_OFFLINE


def test_who_listens_is_reached_through_a_proxy_too(
    closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        there = f"http://127.0.0.1:{listening.getsockname()[1]}"
        nowhere = f"http://127.0.0.1:{closed_port}"
        assert is_reachable(there)
        assert not is_reachable(nowhere)
        monkeypatch.setenv("http_proxy", there)
        assert is_reachable(nowhere), "it is the proxy that is connected to"
        monkeypatch.setenv("http_proxy", nowhere)
        assert not is_reachable(there)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert is_reachable(there)


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_data_set_that_does_not_exist_is_named(is_wrapped: bool) -> None:
    """The library raises the error of its HTTP client, whose message is about files."""
    errors = pytest.importorskip("huggingface_hub.errors")
    missing = errors.RepositoryNotFoundError.__new__(errors.RepositoryNotFoundError)
    err: Exception = RuntimeError("cannot load")
    err.__cause__ = missing
    with pytest.raises(DataError, match="me/nosuch: no such data set on the hub") as caught:
        raise_explained(parse_hub("hf:me/nosuch:test"), err if is_wrapped else missing)
    assert "huggingface.co/datasets/me/nosuch" in caught.value.hint
