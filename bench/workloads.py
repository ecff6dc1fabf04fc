"""Data files to measure with, made once and kept in `$EYECHART_BENCH_DIR`, else <temp folder>/eyechart-bench.

    python bench/workloads.py                 make all but the huge one; print where they lie
    python bench/workloads.py tsv-20k huge    make these

    tsv-20k     2,000 rows, a distinct JPEG of 20 KB each, as base64 in a TSV
    tsv-2k      20,000 rows, 2 KB each, the same way
    files-6m    64 rows, a distinct JPEG of 6 MB each, a TSV of paths
    jsonl-20k   tsv-20k as JSON Lines and picture files
    jsonl-6m    files-6m as JSON Lines
    long        200,000 rows of JSON Lines, words only
    huge        5 GB of TSV: 24,985 rows of 150 KB pictures, 64 of them distinct; to be deleted after use

Beside most lies bodies.bin for bench/client.py: the requests that eyechart makes of the file, each after its
length.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from pictures import pictures

COLUMNS = ("index", "question", "A", "B", "C", "D", "answer", "category")
MODEL = "bench"  # the name the bodies ask for

_HUGE_BYTES = 5_000_000_000
_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A data file, how many rows it has, and the requests it makes where a bare client is to send them."""

    name: str
    file: Path
    n: int
    bodies: Path | None = None


def folder() -> Path:
    """Where workloads are kept."""
    given = os.environ.get("EYECHART_BENCH_DIR")
    return Path(given) if given else Path(tempfile.gettempdir()) / "eyechart-bench"


def row(k: int) -> dict[str, str]:
    """Row `k` without its picture: question, options, gold.

    >>> row(5)["question"], row(5)["answer"]
    ('Question 5: which of these is shown?', 'B')
    """
    cells = (str(k), f"Question {k}: which of these is shown?", "a cat", "a dog", "a bridge", "a clock")
    return dict(zip(COLUMNS, (*cells, "ABCD"[k % 4], f"kind {k % 7}"), strict=True))


def make(name: str, *, n: int | None = None) -> Workload:
    """The workload of that name, made unless it is there; `n` rows instead of its own number."""
    maker, n_own = MAKERS[name]
    n = n or n_own
    place = folder() / (name if n == n_own else f"{name}-{n}")
    file = place / ("data.jsonl" if name in JSONL else "data.tsv")
    has_bodies = name in BARE
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        maker(file, n)
        if has_bodies:
            _write_bodies(place / "bodies.bin", file)
        (place / "done").touch()
    return Workload(name=name, file=file, n=n, bodies=place / "bodies.bin" if has_bodies else None)


def read_bodies(path: Path) -> list[bytes]:
    """The requests, whole and in order."""
    with path.open("rb") as file:
        bodies = []
        while length := file.read(_LENGTH_BYTES):
            bodies.append(file.read(int.from_bytes(length, "big")))
        return bodies


def _tsv(file: Path, rows: Iterator[tuple[dict[str, str], bytes]], column: str) -> None:
    with file.open("wb", buffering=1 << 20) as out:
        out.write("\t".join((*COLUMNS, column)).encode() + b"\n")
        for cells, picture in rows:
            out.write("\t".join(cells.values()).encode() + b"\t" + picture + b"\n")


def _base64_tsv(n_bytes: int) -> Callable[[Path, int], None]:
    def write(file: Path, n: int) -> None:
        cells = (base64.b64encode(jpeg) for jpeg in pictures(n, n_bytes))
        _tsv(file, zip(map(row, range(n)), cells, strict=True), "image")

    return write


def _picture_files(file: Path, n: int, n_bytes: int) -> Iterator[str]:
    (file.parent / "images").mkdir()
    for k, jpeg in enumerate(pictures(n, n_bytes)):
        path = f"images/{k}.jpg"
        (file.parent / path).write_bytes(jpeg)
        yield path


def _path_tsv(n_bytes: int) -> Callable[[Path, int], None]:
    def write(file: Path, n: int) -> None:
        paths = (path.encode() for path in _picture_files(file, n, n_bytes))
        _tsv(file, zip(map(row, range(n)), paths, strict=True), "image_path")

    return write


def _path_jsonl(n_bytes: int) -> Callable[[Path, int], None]:
    def write(file: Path, n: int) -> None:
        with file.open("wb") as out:
            for k, path in enumerate(_picture_files(file, n, n_bytes)):
                out.write(msgspec.json.encode({**row(k), "image": path}) + b"\n")

    return write


def _words_jsonl(file: Path, n: int) -> None:
    with file.open("wb", buffering=1 << 20) as out:
        for k in range(n):
            out.write(msgspec.json.encode(row(k)) + b"\n")


def _huge_tsv(file: Path, n: int) -> None:
    cells = [base64.b64encode(jpeg) for jpeg in pictures(64, 150_000)]
    _tsv(file, ((row(k), cells[k % len(cells)]) for k in range(n)), "image")


MAKERS: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "tsv-20k": (_base64_tsv(20_000), 2_000),
    "tsv-2k": (_base64_tsv(2_000), 20_000),
    "files-6m": (_path_tsv(6_000_000), 64),
    "jsonl-20k": (_path_jsonl(20_000), 2_000),
    "jsonl-6m": (_path_jsonl(6_000_000), 64),
    "long": (_words_jsonl, 200_000),
    "huge": (_huge_tsv, _HUGE_BYTES // 200_120),
}
JSONL = frozenset({"jsonl-20k", "jsonl-6m", "long"})
BARE = frozenset({"tsv-20k", "tsv-2k", "files-6m", "jsonl-20k", "jsonl-6m"})


def _write_bodies(path: Path, file: Path) -> None:
    with path.open("wb", buffering=1 << 20) as out:
        for cells, picture in _rows(file):
            body = _body(cells, picture)
            out.write(len(body).to_bytes(_LENGTH_BYTES, "big") + body)


def _rows(file: Path) -> Iterator[tuple[dict[str, str], bytes]]:
    """Each row and its picture's base64 text."""
    with file.open("rb", buffering=1 << 20) as lines:
        columns = next(lines).decode().rstrip("\n").split("\t") if file.suffix == ".tsv" else []
        for line in lines:
            cells = (
                dict(zip(columns, line.decode().rstrip("\n").split("\t"), strict=True))
                if columns
                else json.loads(line)
            )
            picture = cells.pop("image", "") or cells.pop("image_path")
            if picture.startswith("images/"):
                yield cells, base64.b64encode((file.parent / picture).read_bytes())
            else:
                yield cells, picture.encode()


def _body(cells: dict[str, str], picture: bytes) -> bytes:
    options = [f"{letter}. {cells[letter]}" for letter in "ABCD"]
    asked = [f"Question: {cells['question']}", "Options:", *options]
    text = "\n".join([*asked, "Please select the correct answer from the options above. ", ""])
    url = {"url": msgspec.Raw(b'"data:image/jpeg;base64,' + picture + b'"')}
    parts = [{"type": "image_url", "image_url": url}, {"type": "text", "text": text}]
    return msgspec.json.encode({"model": MODEL, "messages": [{"role": "user", "content": parts}]})


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(MAKERS)}")
    parser.add_argument("--rows", type=int, metavar="N", help="N rows instead of as many as above")
    parser.add_argument("--json", action="store_true", help="a JSON object for each: name, file, n, bodies")
    args = parser.parse_args()
    for name in args.names or [name for name in MAKERS if name != "huge"]:
        if name not in MAKERS:
            parser.error(f"no workload is named {name} (there are: {', '.join(MAKERS)})")
        workload = make(name, n=args.rows)
        said = json.dumps(asdict(workload), default=str) if args.json else f"{name:10} {workload.file}"
        print(said, flush=True)


if __name__ == "__main__":
    main()
