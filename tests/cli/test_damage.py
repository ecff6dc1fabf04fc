"""Damaged files and odd addresses: each has its message, and none is an internal error."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command import Outcome, eyechart, eyechart_process
from support.files import choice_tsv, jsonl, picture
from support.server import Answer, Server


def assert_told(done: Outcome, *codes: int) -> None:
    assert done.code in (codes or (2,)), done
    assert "internal error" not in done.err, done.err
    assert "Traceback" not in done.err, done.err


@pytest.fixture
def run(tmp_path: Path) -> Path:
    choice_tsv(tmp_path / "q.tsv", 4)
    done = eyechart("run", "q.tsv", "-m", "baseline/majority", "--out", "runs", "--json", cwd=tmp_path)
    return tmp_path / str(done.json["run"])


DAMAGES = {
    "no JSON": "{", "a list": "[]", "a number": "7", "null": "null", "others": '{"a":1}', "text": '"x"',
    "deep": "[" * 100_000 + "]" * 100_000,
}  # fmt: skip
CELLS = (("samples", "body"), ("asks", "body"), ("replies", "body"), ("scores", "body"), ("meta", "value"))


@pytest.mark.slow
@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_journal_with_damaged_cells(run: Path, tmp_path: Path, place: tuple[str, str], damage: str) -> None:
    table, column = place
    with sqlite3.connect(run / "run.sqlite") as db:
        db.execute(f"UPDATE {table} SET {column} = ?", (DAMAGES[damage],))
    db.close()
    for command in (
        ("report", run), ("report", run, "--csv", "r.csv"), ("show", run), ("show", run, "0"), ("score", run),
        ("run", "q.tsv", "-m", "baseline/majority", "--out", "runs"),
    ):  # fmt: skip
        assert_told(eyechart(*command, cwd=tmp_path), 0, 1, 2)


def test_a_journal_whose_samples_are_damaged_is_named(run: Path, tmp_path: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as db:
        db.execute("UPDATE samples SET body = '{'")
    db.close()
    done = eyechart("report", run, cwd=tmp_path)
    assert_told(done)
    assert "run.sqlite" in done.err
    assert "damaged" in done.err


def test_a_damaged_cache_is_told_by_cache_info(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server() as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--out", "runs")
        eyechart("run", "q.tsv", *flags, cwd=tmp_path, EYECHART_CACHE="cache")
    [file] = [path for path in (tmp_path / "cache").rglob("*.sqlite*") if path.suffix == ".sqlite"]
    for column, value in (("model", None), ("made", "yesterday"), ("model", b"\xff"), ("bytes", "many")):
        shutil.copy(file, tmp_path / "copy")
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
            db.execute("UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '')")
        db.close()
        with sqlite3.connect(file) as db:
            db.execute(f"UPDATE replies SET {column} = ?", (value,))
        db.close()
        for command in (("cache", "info"), ("cache", "info", "--json"), ("cache", "clear", "--yes")):
            done = eyechart(*command, cwd=tmp_path, EYECHART_CACHE="cache")
            assert_told(done, 0, 2)
            if command == ("cache", "info") and column != "bytes":  # which are counted from the text's digits
                assert "problem" in done.out
        shutil.copy(tmp_path / "copy", file)


@pytest.mark.parametrize(
    "address", ["http://[bad/x.png", "http://[::1/x", "http://a:b/x", "http://\u2100/x", "https://"]
)
def test_one_bad_address_hides_no_other_row(tmp_path: Path, address: str) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    rows = [{"image": one, "question": "Q?", "answer": "yes"} for one in (address, "a.png", "missing.png")]
    jsonl(tmp_path / "q.jsonl", rows)
    done = eyechart("data", "check", "q.jsonl", cwd=tmp_path)
    assert_told(done, 1)
    assert "missing.png" in done.out
    ran = eyechart("run", "q.jsonl", "-m", "baseline/majority", "--out", "runs", "--json", cwd=tmp_path)
    assert_told(ran, 1)
    assert ran.json["outcomes"]["failed"] == 2


class Redirecting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", "http://[bad/x")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.mark.slow
def test_a_redirect_to_what_is_no_address(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/x.png"
        jsonl(tmp_path / "q.jsonl", [{"image": address, "question": "Q?", "answer": "yes"}])
        done = eyechart("data", "check", "q.jsonl", "--allow-private-urls", cwd=tmp_path)
        server.shutdown()
    assert_told(done, 1)
    assert "redirects to an invalid URL" in done.out


@pytest.mark.slow
def test_damaged_parquet_pages(tmp_path: Path) -> None:
    rng = random.Random(4)
    n = 100
    table = pa.table({
        "index": list(range(n)), "question": [f"What is in picture {k}?" for k in range(n)],
        "A": ["x" * (k % 9) for k in range(n)], "B": ["y"] * n, "answer": ["A"] * n, "image": [picture()] * n,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "good.parquet", row_group_size=20)
    good = (tmp_path / "good.parquet").read_bytes()
    end = len(good) - 8 - int.from_bytes(good[-8:-4], "little")  # where the pages end and their list begins
    for _ in range(60):
        data = bytearray(good)
        for _ in range(rng.randint(1, 40)):
            data[rng.randrange(4, end)] = rng.randrange(256)
        (tmp_path / "q.parquet").write_bytes(data)
        assert_told(eyechart("data", "check", "q.parquet", cwd=tmp_path), 0, 1, 2)


def test_one_damaged_group_of_a_parquet_file_hides_no_other(tmp_path: Path) -> None:
    texts = [f"What is in picture {k}?" for k in range(40)]
    table = pa.table({"index": list(range(40)), "question": texts, "answer": ["A"] * 40})
    pq.write_table(table, tmp_path / "q.parquet", row_group_size=10, compression="zstd", use_dictionary=False)
    metadata = pq.ParquetFile(tmp_path / "q.parquet").metadata.row_group(1).column(1)
    data = bytearray((tmp_path / "q.parquet").read_bytes())
    start = metadata.data_page_offset
    data[start + 20 : start + metadata.total_compressed_size] = bytes(metadata.total_compressed_size - 20)
    (tmp_path / "q.parquet").write_bytes(data)
    done = eyechart("data", "check", "q.parquet", "--json", cwd=tmp_path)
    assert_told(done, 1)
    assert "row 11 (to 20, row group 2)" in done.out


@pytest.mark.parametrize("status", [200, 418])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_an_answer_nested_too_deeply_is_no_completion(
    tmp_path: Path, status: int, opening: str, closing: str
) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    deep = opening * 200_000 + "1" + closing * 200_000
    body = f'{{"choices": {deep}, "error": {deep}}}'.encode()
    with Server(lambda asked: Answer(status=status, body=body)) as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--retries", 0, "--out", "runs")
        done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert_told(done, 1, 2)
    assert "RecursionError" not in done.err


@pytest.mark.slow
def test_a_full_disk_while_a_sheet_is_written(run: Path, tmp_path: Path) -> None:
    done = eyechart_process("report", run, "--xlsx", "/dev/full", cwd=tmp_path)
    assert_told(done)
    assert "No space left" in done.err
    assert "ignored" not in done.err


def test_a_run_folder_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 40)

    def answer(asked: object) -> str:
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        return "A"

    with Server(answer) as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--out", "runs", "--concurrency", 2)
        done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert_told(done, 1, 2)
    assert "TaskGroup" not in done.err


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_nothing_of_a_file_that_is_no_image_is_shown(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"x.{suffix}").write_text("qwxz:*:20228:0:secret")
    jsonl(tmp_path / "q.jsonl", [{"image": f"x.{suffix}", "question": "Q?", "answer": "yes"}])
    done = eyechart("run", "q.jsonl", "-m", "baseline/majority", "--out", "runs", "--json", cwd=tmp_path)
    report = eyechart("report", done.json["run"], "--csv", "r.csv", cwd=tmp_path)
    check = eyechart("data", "check", "q.jsonl", cwd=tmp_path)
    written = (tmp_path / "r.csv").read_text()
    for text in (done.err, report.out + report.err, check.out, written):
        assert "qwxz" not in text
    assert "not a supported image" in written
    assert json.loads(done.out)["outcomes"]["failed"] == 1
