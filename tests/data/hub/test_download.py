"""`eyechart data get` against a hub of our own: parts, checksums, damage, and advice without a network."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from catalogue.made import MADE, write_clone, write_file
from eyechart.data.files.download import RemoteFile, Repository, choose_files, verify
from eyechart.data.files.hub import choose_part_files, find_snapshot
from eyechart.errors import DataError
from eyechart.runs.sources import make_benchmark
from support.command import Outcome, eyechart_process
from support.trickle import trickling

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PLACE = "lmms-lab/DocVQA"


class Hub:
    """A server that speaks the hub's two verbs: what a repository holds, and a file of it."""

    def __init__(self, files: dict[str, bytes], place: str = PLACE) -> None:
        self.files = files
        self.place = place
        self.sent: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def answer(self, *, with_body: bool) -> None:
                path = self.path.partition("?")[0]
                if path.startswith(f"/api/datasets/{hub.place}"):
                    told = hub.list_tree() if "/tree/" in path else hub.describe()
                    self.reply(
                        200, json.dumps(told).encode(), {"Content-Type": "application/json"}, with_body=True
                    )
                    return
                name = path.rpartition(f"/{COMMIT}/")[2] if COMMIT in path else path.rpartition("/main/")[2]
                data = hub.files.get(name)
                if data is None:
                    self.reply(404, b"", {"X-Error-Code": "EntryNotFound"}, with_body=False)
                    return
                if with_body:
                    hub.sent.append(name)
                digest = hashlib.sha256(data).hexdigest()
                self.reply(200, data, {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT}, with_body=with_body)

            def reply(self, status: int, body: bytes, headers: dict[str, str], *, with_body: bool) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if with_body:
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.checksums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}

    def list_tree(self) -> list[dict[str, object]]:
        return [
            {"type": "file", "path": name, "size": len(data), "oid": "b"}
            | {"lfs": {"oid": self.checksums[name], "size": len(data), "pointerSize": 100}}
            for name, data in self.files.items()
        ]

    def describe(self) -> dict[str, object]:
        siblings = [
            {"rfilename": name, "size": len(data), "blobId": "b"}
            | ({"lfs": {"sha256": self.checksums[name], "size": len(data), "pointerSize": 100}})
            for name, data in self.files.items()
        ]
        return {
            "id": self.place,
            "sha": COMMIT,
            "siblings": siblings,
            "cardData": {"license": "mit"},
            "tags": [],
        }


@contextmanager
def serve(clone: Path, place: str) -> Iterator[Hub]:
    """A hub with the files of a folder."""
    files = {
        str(path.relative_to(clone)): path.read_bytes() for path in sorted(clone.rglob("*")) if path.is_file()
    }
    made = Hub({"README.md": b"# A data set\n", **files}, place)
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub")
    clone = write_clone(tmp_path / "made", "DocVQA/validation", MADE["docvqa-val"].hub)
    write_clone(clone, "InfographicVQA/validation", MADE["infovqa-val"].hub)
    with serve(clone, PLACE) as running:
        yield running


def get(hub_url: str, tmp_path: Path, *words: str) -> Outcome:
    changes = {
        "HF_ENDPOINT": hub_url,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HOME": str(tmp_path),
    }
    return eyechart_process("data", *words, cwd=tmp_path, timeout=60, **changes)


@pytest.mark.slow
def test_a_part_is_downloaded_and_run_from_its_folder(hub: Hub, tmp_path: Path) -> None:
    done = get(hub.url, tmp_path, "get", "docvqa-val", "--to", "doc")
    assert done.code == 0, done.err
    assert "2 of 3 files" in done.err
    assert "licence: mit" in done.err
    assert "eyechart run docvqa-val --set file=hf:./doc" in done.err
    assert not [name for name in hub.sent if name.startswith("InfographicVQA")]
    shown = get(hub.url, tmp_path, "show", "docvqa-val", "--set", "file=hf:./doc")
    assert shown.code == 0, shown.err
    assert "How many cars?" in shown.out
    assert "sample 1" in shown.out
    assert "prompt (user)" in shown.out
    n_sent = len(hub.sent)
    assert get(hub.url, tmp_path, "get", "docvqa-val", "--to", "doc").code == 0
    assert len(hub.sent) == n_sent, "nothing is fetched twice"


@pytest.mark.slow
def test_a_download_in_packets_of_one_byte(hub: Hub, tmp_path: Path) -> None:
    with trickling(hub.url) as url:
        done = get(url, tmp_path, "get", "docvqa-val", "--to", "doc")
    assert done.code == 0, done.err
    assert "2 of 3 files" in done.err
    for name in hub.sent:
        assert (tmp_path / "doc" / name).read_bytes() == hub.files[name]


@pytest.mark.slow
def test_the_cache_is_found_by_name_and_damage_is_refused(hub: Hub, tmp_path: Path) -> None:
    done = get(hub.url, tmp_path, "get", "infovqa-val")
    assert done.code == 0, done.err
    listed = get(hub.url, tmp_path, "list", "--here", "--json")
    assert set(listed.json) == {"infovqa-val"}  # not docvqa-val, another part of the same repository
    shown = get(hub.url, tmp_path, "show", "infovqa-val")
    assert "How many cars?" in shown.out, shown.err
    hub.checksums = dict.fromkeys(hub.checksums, "0" * 64)
    done = get(hub.url, tmp_path, "get", "docvqa-val", "--to", "doc")
    assert done.code == 2
    assert "its checksum is not the published one" in done.err


@pytest.mark.slow
def test_without_a_network_it_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    done = get("http://127.0.0.1:9", tmp_path, "get", "chartqa")
    assert done.code == 2
    for part in (
        "cannot be reached",
        "HF_ENDPOINT",
        "hf download lmms-lab/ChartQA",
        "--set file=hf:./ChartQA",
    ):
        assert part in done.err
    published = get("http://127.0.0.1:9", tmp_path, "get", "ocrvqa").err
    assert "curl -L --create-dirs -o ~/LMUData/OCRVQA_TESTCORE.tsv https://" in published


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_files"), [("gqa", 3), ("amber", 2), ("visulogic", 3)])
def test_files_and_images_kept_apart_are_downloaded(name: str, n_files: int, tmp_path: Path) -> None:
    """VLMEvalKit's file on the hub; images in another config, and in an archive."""
    pytest.importorskip("huggingface_hub")
    made, card = MADE[name], make_benchmark(name, {}).card
    place, _, part = card.hub[0].partition(":")
    clone = tmp_path / "made"
    if part.endswith(".tsv"):
        write_file(clone, part.removesuffix(".tsv"), made)
    else:
        write_clone(clone, part, made.hub)
        write_clone(clone, card.images, made.more_hub[card.images])
    (clone / "other.tsv").write_text("not wanted")
    with serve(clone, place) as hub:
        if part.endswith(".tsv"):  # a file is also read without a download before
            shown = get(hub.url, tmp_path, "show", f"hf:{place}:other2.tsv")
            assert "no such file in the repository" in shown.err
        done = get(hub.url, tmp_path, "get", name)
        assert done.code == 0, done.err
        assert f"{n_files} of {n_files + 1} files" in done.err
        assert set(get(hub.url, tmp_path, "list", "--here", "--json").json) == {name}
        shown = get(hub.url, tmp_path, "show", name)
        assert str(made.rows[0]["question"]) in shown.out, shown.err
        again = get(hub.url, tmp_path, "show", f"hf:{place}")
        assert str(made.rows[1]["question"]) in again.out, again.err


def test_files_of_parts_are_told_by_their_names() -> None:
    files = ("README.md", "A/test-0-of-1.parquet", "A/val-0-of-1.parquet", "B/test-0-of-1.parquet", "x.zip")
    repository = Repository("a/b", "main", "", tuple(RemoteFile(name, 1) for name in files))
    chosen = {file.name for file in choose_files(repository, ["A/test"])}
    assert chosen == {"README.md", "A/test-0-of-1.parquet"}
    assert len(choose_files(repository, ["C/test"])) == len(files), "unknown layout: everything"
    twice = ["d/test-00000-of-00001-a.parquet", "d/test-00000-of-00001-b.parquet"]
    assert choose_part_files(twice, "test") == [], "two uploads of the same shard"
    assert choose_part_files([twice[0], "d/val-00000-of-00001-b.parquet"], "test") == twice[:1]


def test_a_damaged_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"half")
    with pytest.raises(DataError, match="4 bytes, expected 8"):
        verify(tmp_path, [RemoteFile("a.parquet", 8)])
    assert not (tmp_path / "a.parquet").exists()
    with pytest.raises(DataError, match="missing"):
        verify(tmp_path, [RemoteFile("a.parquet", 8)])


def test_the_cache_is_read_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "datasets--a--b"
    assert find_snapshot("a/b") is None
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    assert find_snapshot("a/b") is None
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    assert find_snapshot("a/b") == folder / "snapshots" / COMMIT
