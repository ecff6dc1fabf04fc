"""What is fuzzed: for each target some valid inputs, and what is done with an input."""
# ruff: noqa: E501 - inputs stand on one line

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from eyechart.data.images.pixels import inspect, make_thumbnail, reencode
from eyechart.errors import EyechartError
from eyechart.models.http import Response
from eyechart.models.specs import make_model
from eyechart.registry import scorers
from eyechart.types import ModelSettings, Reply, Sample, answer_calls
from eyechart.view.library import Library
from eyechart.view.pages import Choice, Pages
from support.command import eyechart
from support.files import choice_tsv, picture_base64

Run = Callable[[bytes, Path], str]  # returns what happened, in a word or two: new words are worth keeping


@dataclass(frozen=True)
class Target:
    """Something that reads from outside. `run` gets an input and a folder of its own with `prepare`d files."""

    name: str
    seeds: Callable[[Path], Sequence[bytes]]
    run: Run


# -- Files, through the command


def _command(*words: str, file: str) -> Run:
    """Write the input to `file` and run a command; `{}` stands for the file."""

    def run(data: bytes, folder: Path) -> str:
        (folder / file).write_bytes(data)
        done = eyechart(*(word.format(file) for word in words), cwd=folder, **_ENVIRONMENT)
        assert done.code in (0, 1, 2), done
        return f"{done.code} {_shape(done.err)}"

    return run


# The command raises what it does not expect instead of printing it.
_ENVIRONMENT = {"EYECHART_TRACEBACK": "1", "HF_HUB_OFFLINE": "1", "EYECHART_CACHE": "cache"}


def _shape(text: str) -> str:
    """A message without the values in it."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+|\S*[/\\.]\S*", "", text)[:160]


ROWS = [
    {
        "index": 1,
        "question": "Which?",
        "A": "cat",
        "B": "dog",
        "answer": "A",
        "category": "x",
        "image": picture_base64(),
    },
    {
        "index": 2,
        "question": "What?",
        "A": "1",
        "B": "2",
        "answer": "B",
        "category": "图",
        "image": picture_base64("blue"),
    },
]
_OPEN_ROWS = [
    {"id": "a", "question": "How many?", "answer": ["3", "three"], "image": picture_base64()},
    {"id": "b", "messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}], "answer": "x"},
]
_REPLIES = [{"id": 1, "reply": "A"}, {"id": 2, "reply": "<think>no</think> The answer is (B)."}]


def _table(delimiter: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _lines(rows: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _parquet(folder: Path) -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), folder / "seed.parquet")
    return [(folder / "seed.parquet").read_bytes()]


def _workbook(folder: Path) -> list[bytes]:
    import xlsxwriter

    with xlsxwriter.Workbook(folder / "seed.xlsx") as book:
        sheet = book.add_worksheet("S")
        sheet.write_row(0, 0, ["question", "answer", "image"])
        sheet.write_row(1, 0, ["What?", "a", ""])
        sheet.insert_image(1, 2, "a.png", {"image_data": io.BytesIO(_noise("PNG"))})
    return [(folder / "seed.xlsx").read_bytes()]


def _pdf(folder: Path) -> list[bytes]:
    from PIL import Image

    Image.new("RGB", (20, 10), "red").save(folder / "seed.pdf")
    return [(folder / "seed.pdf").read_bytes()]


# -- Logs of other tools


def _inspect_log() -> dict[str, Any]:
    sample = {
        "id": 1, "epoch": 1, "input": [{"role": "user", "content": "Which?"}], "choices": ["cat", "dog"],
        "target": "A", "messages": [{"role": "assistant", "content": "A"}],
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "A"}, "stop_reason": "stop"}],
                   "usage": {"input_tokens": 3, "output_tokens": 1}},
        "scores": {"choice": {"value": "C", "answer": "A"}},
    }  # fmt: skip
    spec = {"task": "t", "model": "openai/m", "created": "2026-01-01T00:00:00", "dataset": {"samples": 1}}
    return {"version": 2, "status": "success", "eval": spec, "samples": [sample]}


def _inspect_archive() -> bytes:
    log = _inspect_log()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
    return out.getvalue()


_LM_EVAL = {
    "doc_id": 0, "doc": {"question": "Which?", "answer": "A", "choices": ["cat", "dog"]}, "target": "A",
    "arguments": [["Which?", {"until": []}]], "resps": [["A"]], "filtered_resps": ["A"], "exact_match": 1.0,
}  # fmt: skip
_EVALSCOPE = {
    "index": 0, "model": "m", "messages": [{"role": "user", "content": "Which?"}], "metadata": {},
    "model_output": {"choices": [{"message": {"role": "assistant", "content": "A"}, "stop_reason": "stop"}]},
}  # fmt: skip
_MULTI_LABELS = {
    "czsx_0": {"problem_content": "", "problem_content_list": ["?", "?"], "problem_type_list": ["单选", "多选"],
               "problem_answer_list": ["A", "AB"], "img_paths": [], "education": "初中", "subject": ["数学"]},
}  # fmt: skip
_MULTI = {
    "czsx_0_0": {"prediction": "A", "question_image_number": 0},
    "czsx_0_1": {"prediction": "选AB", "question_image_number": 1},
}
_INFOCHARTQA = {"1": {"qtype": 40, "answer": "Japan, China", "question_id": 1, "response": "Japan, China"}}
_CONFIG = b"data: q.tsv\nmodel: baseline/majority\nlimit: 2\nwhere: {category: x}\nout: runs\n"
_TEMPLATE = b"{{ question }}\n{% for letter, text in options.items() %}{{ letter }}. {{ text }}\n{% endfor %}{{ hint }}"


# -- Images


def _read_image(data: bytes, folder: Path) -> str:
    header = inspect(data, "it")
    reencode(data, "it", max_side=64)
    make_thumbnail(data, "it", box=(0, 0, 5, 5), max_side=32, max_bytes=2_000)
    return f"{header.format} {header.is_animated}"


def _images(folder: Path) -> list[bytes]:
    kinds = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
    return [_noise(kind) for kind in kinds]


def _noise(kind: str) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGB", (24, 16), random.Random(1).randbytes(3 * 24 * 16)).save(out, kind)
    return out.getvalue()


# -- Answers of providers

_PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "bedrock", "openrouter", "azure")
_ANSWERS: tuple[Any, ...] = (
    {"id": "1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant",
     "content": "A", "reasoning_content": "hm"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
    {"id": "1", "model": "m", "status": "completed", "output": [{"type": "message", "role": "assistant",
     "content": [{"type": "output_text", "text": "A"}]}], "usage": {"input_tokens": 3, "output_tokens": 1}},
    {"id": "1", "model": "m", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "A"}],
     "usage": {"input_tokens": 3, "output_tokens": 1}},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "A"}]}, "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1}, "modelVersion": "m"},
    {"output": {"message": {"role": "assistant", "content": [{"text": "A"}]}}, "stopReason": "end_turn",
     "usage": {"inputTokens": 3, "outputTokens": 1}},
    {"error": {"message": "no such model", "code": 404, "type": "invalid_request_error"}},
)  # fmt: skip


@cache
def _endpoint(provider: str) -> Any:
    settings = ModelSettings(base_url="http://127.0.0.1:9", api_key="sk-0123456789abcdef")
    return make_model(f"{provider}/m", settings)


def _read_answer(data: bytes, folder: Path) -> str:
    seen = []
    for provider in _PROVIDERS:
        for status in (200, 400):
            try:
                reply = _endpoint(provider).read_response(Response(status, {}, data))
            except EyechartError as err:
                seen.append(f"{provider} {_shape(err.message)[:20]}")
                continue
            assert isinstance(reply.text, str)
            if (usage := reply.usage) is not None:
                assert all(
                    n is None or 0 <= n <= 2**53 for n in (usage.prompt_tokens, usage.completion_tokens)
                )
            json.dumps(reply.text)
            seen.append(f"{provider} {reply.finish_reason[:12]}")
    return " ".join(seen)[:300]


# -- Journals and pages


@contextlib.contextmanager
def _run_folder(folder: Path) -> Iterator[Path]:
    """A copy of a finished run, below `folder`."""
    if not (folder / "original").exists():
        choice_tsv(folder / "q.tsv", 4)
        done = eyechart("run", "q.tsv", "-m", "baseline/majority", "--out", "made", "--json", cwd=folder)
        shutil.move(folder / str(done.json["run"]), folder / "original")
    copy = folder / "runs" / "q" / "baseline-majority-12345678"
    shutil.copytree(folder / "original", copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _journals(folder: Path) -> list[bytes]:
    with _run_folder(folder) as run:
        return [(run / "run.sqlite").read_bytes()]


def _read_journal(data: bytes, folder: Path) -> str:
    with _run_folder(folder) as run:
        for beside in run.glob("run.sqlite-*"):
            beside.unlink()
        (run / "run.sqlite").write_bytes(data)
        seen = [
            eyechart(*words, cwd=folder, **_ENVIRONMENT)
            for words in (("report", run, "--csv", "r.csv"), ("show", run), ("runs",), ("score", run))
        ]
        _render_pages(folder / "runs")
        return " ".join(f"{done.code}{_shape(done.err)[:60]}" for done in seen)


def _summaries(folder: Path) -> list[bytes]:
    with _run_folder(folder) as run:
        return [(run / "summary.json").read_bytes()]


def _read_summary(data: bytes, folder: Path) -> str:
    with _run_folder(folder) as run:
        (run / "summary.json").write_bytes(data)
        done = eyechart("runs", "--json", cwd=folder, **_ENVIRONMENT)
        return f"{done.code} {len(_render_pages(folder / 'runs'))}"


def _render_pages(root: Path) -> str:
    """The pages of the viewer over these runs."""
    pages = Pages(Library(root))
    text = pages.render_index()
    for run in pages.library.list_runs():
        for render in (
            partial(pages.render_run, run.name, Choice()),
            partial(pages.render_sample, run.name, "1", 0, Choice()),
            partial(pages.render_judge, run.name),
        ):
            with contextlib.suppress(EyechartError):
                text += render()
    return text


class _Tags(HTMLParser):
    """Counts scripts and refuses what would run."""

    def __init__(self) -> None:
        super().__init__()
        self.n_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.n_scripts += tag == "script"
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert "javascript:" not in (value or "").lower().replace("\t", "").replace("\n", ""), (
                tag,
                value,
            )


def _count_scripts(page: str) -> int:
    tags = _Tags()
    tags.feed(page)
    return tags.n_scripts


def _show_text(data: bytes, folder: Path) -> str:
    """The input as id, question, option, category and reply: no page has one script more for it."""
    text = data.decode("utf-8", "replace")
    with _run_folder(folder) as run:
        before = _count_scripts(_render_pages(folder / "runs"))
        with closing(sqlite3.connect(run / "run.sqlite")) as db:
            changes = {
                "samples": {"question": text, "hint": text, "meta": {"category": text}},
                "replies": {"text": text},
            }
            for table, fields in changes.items():
                db.create_function(table, 1, lambda body, new=fields: json.dumps({**json.loads(body), **new}))
                db.execute(f"UPDATE {table} SET body = {table}(body)")
            db.commit()
        after = _count_scripts(_render_pages(folder / "runs"))
        assert after == before, (before, after)
        if len(data) % 4:
            return ""  # the page of a file takes much longer
        done = eyechart("report", run, "--html", "r.html", cwd=folder, **_ENVIRONMENT)
        assert done.code in (0, 1), done
        page = (folder / "r.html").read_text(encoding="utf-8")
        return f"{_count_scripts(page)}"


_PAYLOADS = (
    b"<script>alert(1)</script>", b"</script><script>x</script>", b"<img src=x onerror=alert(1)>", b"]]>--><svg onload=x>",
    b"[a](javascript:alert(1))", "\u202e<b>".encode(), b"{{ 7*7 }}", b"\"><a href='javascript:x'>", b"$x^2$ **b** `c`",
)  # fmt: skip


# -- Options, and what scorers read


def _read_options(data: bytes, folder: Path) -> str:
    """Words of a command line, separated by line breaks, after a run that sends nothing."""
    words = [word for word in data.decode("utf-8", "replace").replace("\0", "").split("\n") if word][:8]
    if any(Path(word.partition("=")[2] or word).is_absolute() for word in words):
        return "left out"  # nothing outside the folder is written or read
    given = ["run", "q.tsv", "-m", "baseline/majority", *words, "--dry-run", "--out", "runs"]
    done = eyechart(*given, cwd=folder, **_ENVIRONMENT)
    assert done.code in (0, 1, 2), done
    return f"{done.code} {_shape(done.err)}"


_OPTIONS = (
    b"--where\ncategory=map", b"--where\ncategory~m.*p\n--limit\n3", b"--ids\n1,2,3-4", b"--set\na=1", b"--param\nx.y=1",
    b"--max-pixels\n1000000", b"--trials\n2\n--circular", b"--prompt-template\n{{ question }}", b"--prices\n1,2",
    b"-m\nopenai/x@http://127.0.0.1:9/v1", b"--judge\nbaseline/majority", b"--shard\n1/2", b"--shots\n1", b"--seed\n3",
    b"--scorer\nchoice", b"--field\nanswer=A", b"--max-cost\n0.5\n--prices\n1,2", b"--rpm\n10", b"--cluster\ncategory",
)  # fmt: skip


def _score_reply(data: bytes, folder: Path) -> str:
    """Reply and gold, separated by a NUL, through every scorer; judges answer with the reply."""
    reply, _, gold = data.decode("utf-8", "replace").partition("\0")
    seen = []
    sample = Sample(
        id="1", question="Which?", golds=(gold or "A",), choices={"A": gold or "cat", "B": "dog", "C": "3.5 kg"},
        meta={"category": "x", "task": "text recognition en", "question_type": "reasoning"},
    )  # fmt: skip
    for name in _scorer_names():
        scorer = scorers.get(name)
        try:
            made: Any = scorer(Reply(text=reply), sample)
            score = made if hasattr(made, "outcome") else answer_calls(made, lambda call: reply)
        except EyechartError as err:
            seen.append(_shape(err.message)[:10])
            continue
        assert 0 <= score.value <= 1, (name, score)
        seen.append(f"{score.outcome[0]}{score.route[:6]}")
    return " ".join(seen)[:400]


@cache
def _scorer_names() -> tuple[str, ...]:
    return tuple(sorted(name for name in scorers.names() if scorers.is_built_in(name)))


_SPOKEN = (
    b"A", b"The answer is (B).\0B", b"\\boxed{\\frac{1}{2}}\x000.5", b"12 kg\0twelve kilograms", b"yes\0Yes", b"[1, 2, 3, 4]\0[1,2,3,4]",
    b"<table><tr><td>1</td></tr></table>\0<table><tr><td>1</td></tr></table>", "答案是B，因为".encode(), b"{\"a\": 1}\0{\"a\": 2}",
    b"It rose by 18 (from 12 to 30).\x0018", b"No, not A. Rather C.", b"(-4, 1)\x00(4, 1)", b"9:15\x009.15", b"UK\0Britain",
)  # fmt: skip


def _fixed(*seeds: bytes) -> Callable[[Path], Sequence[bytes]]:
    return lambda folder: seeds


def _json(*seeds: Any) -> Callable[[Path], Sequence[bytes]]:
    return _fixed(*(json.dumps(seed, ensure_ascii=False).encode() for seed in seeds))


def _beside(run: Run, **files: bytes) -> Run:
    """The same, with files beside the input: `q_tsv=` is written to `q.tsv`."""

    def prepared(data: bytes, folder: Path) -> str:
        for name, content in files.items():
            if not (path := folder / name.replace("_", ".")).exists():
                path.write_bytes(content)
        return run(data, folder)

    return prepared


_QUESTIONS = {"q_tsv": _table("\t", ROWS)}
_CHECK = ("data", "check", "{}")
_SCORE = ("score", "--replies", "{}", "--out", "runs")
_SCORE_ROWS = ("score", "--benchmark", "q.tsv", *_SCORE[1:])
_SCORE_CHARTS = ("score", "--benchmark", "infochartqa", *_SCORE[1:])
_DRY = ("run", "q.tsv", "-m", "baseline/majority", "--dry-run", "--out", "runs")
_METRICS = ("multi-metrics", "--label_file", "labels.json", "--prediction_file", "preds.json")
_labels, _predictions = json.dumps(_MULTI_LABELS).encode(), json.dumps(_MULTI).encode()

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("tsv", _fixed(_table("\t", ROWS)), _command(*_CHECK, file="f.tsv")),
        Target("csv", _fixed(_table(",", ROWS), _table(";", ROWS)), _command(*_CHECK, file="f.csv")),
        Target("jsonl", _fixed(_lines(_OPEN_ROWS), _lines(ROWS)), _command(*_CHECK, file="f.jsonl")),
        Target("json", _json(ROWS, {"data": ROWS}), _command(*_CHECK, file="f.json")),
        Target("parquet", _parquet, _command(*_CHECK, file="f.parquet")),
        Target("workbook", _workbook, _command(*_CHECK, file="f.xlsx")),
        Target("pdf", _pdf, _command("data", "check", ".", "--ask", "What?", file="f.pdf")),
        Target("image", _images, _read_image),
        Target("answer", _json(*_ANSWERS), _read_answer),
        Target(
            "replies", _fixed(_lines(_REPLIES)), _beside(_command(*_SCORE_ROWS, file="r.jsonl"), **_QUESTIONS)
        ),
        Target("inspect", _json(_inspect_log()), _command(*_SCORE, file="log.json")),
        Target("inspect-archive", lambda folder: [_inspect_archive()], _command(*_SCORE, file="log.eval")),
        Target("lm-eval", _fixed(_lines([_LM_EVAL])), _command(*_SCORE, file="samples_t_2026-01-01.jsonl")),
        Target(
            "evalscope",
            _fixed(_lines([_EVALSCOPE])),
            _beside(_command(*_SCORE_ROWS, file="predictions.jsonl"), **_QUESTIONS),
        ),
        Target("infochartqa", _json(_INFOCHARTQA), _command(*_SCORE_CHARTS, file="r.json")),
        Target(
            "multi",
            _fixed(_predictions),
            _beside(_command(*_METRICS, file="preds.json"), labels_json=_labels),
        ),
        Target(
            "multi-labels",
            _fixed(_labels),
            _beside(_command(*_METRICS, file="labels.json"), preds_json=_predictions),
        ),
        Target(
            "config",
            _fixed(_CONFIG),
            _beside(_command("run", "{}", "--dry-run", file="c.yaml"), **_QUESTIONS),
        ),
        Target(
            "template",
            _fixed(_TEMPLATE),
            _beside(_command(*_DRY, "--prompt-template", "{}", file="p.j2"), **_QUESTIONS),
        ),
        Target("options", _fixed(*_OPTIONS), _beside(_read_options, **_QUESTIONS)),
        Target("journal", _journals, _read_journal),
        Target("summary", _summaries, _read_summary),
        Target("pages", _fixed(*_PAYLOADS), _show_text),
        Target("scorers", _fixed(*_SPOKEN), _score_reply),
    )
}
