"""What goes into other tools' files comes back out of them."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files.replies import parse_failure, read_log, read_replies
from eyechart.pipelines.logs.writing import encode_json_line, format_failure, format_messages
from eyechart.registry import exporters, scorers
from eyechart.types import Failure, ImageRef, Reply, Result, Usage
from support.results import export_of, result

MANIFEST = {
    "benchmark": "zoo",
    "model": "openai/m",
    "scorer": "default",
    "trials": 1,
    "group_by": ["category"],
}
LOGS = ("inspect", "lm-eval", "evalscope-report")

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["=1+1", "@cmd", "B", "", " B ", "\x00B", "two\r\nlines\x85\u2028end", "🧪\u202e", "_x0041_", "nan"]
    ),
    st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20),
)


def replied(position: int, text: str, **fields: Any) -> Result:
    reply = Reply(text=text, usage=Usage(prompt_tokens=5, completion_tokens=2), finish_reason="stop")
    base = result(position, "correct", **fields)
    score = scorers.get("default")(reply, base.sample)
    return Result(sample=base.sample, position=position, trial=base.trial, reply=reply, score=score)


def exported(name: str, folder: Path, results: Sequence[Result], **manifest: Any) -> list[Path]:
    return list(exporters.get(name)(export_of(folder, results, **(MANIFEST | manifest))))


def log_of(name: str, folder: Path, results: Sequence[Result], **manifest: Any) -> Any:
    paths = exported(name, folder, results, **manifest)
    path = next(path for path in paths if "results_" not in path.name)
    return read_log(path)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("finish_reason", ["stop", "length", "", "tool_calls"])
def test_finish_reasons_come_back_as_they_were(name: str, finish_reason: str, tmp_path: Path) -> None:
    given = result(0, "correct")
    reply = Reply(text="B", finish_reason=finish_reason)
    found = log_of(name, tmp_path, [replace(given, reply=reply)])
    assert [entry.reply and entry.reply.finish_reason for entry in found.entries] == [finish_reason]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_every_text_comes_back_as_it_was(name: str, texts: list[tuple[str, str, str]]) -> None:
    results = [
        replied(n, said, question=asked or "?", meta={"category": f"c{n % 2}", "note": note})
        for n, (said, asked, note) in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        log = log_of(name, Path(folder), results)
    by_id = {entry.id: entry for entry in log.entries}
    assert len(by_id) == len(results)
    for expected in results:
        entry = by_id[expected.sample.id]
        assert expected.reply is not None
        assert entry.reply.text == expected.reply.text
        assert entry.sample == expected.sample
        assert scorers.get("default")(entry.reply, entry.sample) == expected.score


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_a_spreadsheet_keeps_every_verdict(texts: list[str]) -> None:
    results = [replied(n, said) for n, said in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        [path, *_] = exported("vlmevalkit", Path(folder), results, origin="zoo.tsv")
        found = read_replies(path)
    for expected in results:
        verdict = scorers.get("default")(found.by_id[expected.sample.id], expected.sample)
        assert expected.score is not None
        assert (verdict.outcome, verdict.value) == (expected.score.outcome, expected.score.value)


@pytest.mark.parametrize("name", LOGS)
def test_half_characters_harm_nobody(tmp_path: Path, name: str) -> None:
    [entry] = log_of(name, tmp_path, [replied(0, "B\ud800")]).entries
    assert entry.reply.text == "B\ufffd"


@pytest.mark.parametrize("name", LOGS)
def test_trials_failures_and_slips(tmp_path: Path, name: str) -> None:
    slipped = replied(2, "A")
    slipped = Result(
        sample=slipped.sample, position=2, reply=slipped.reply, failure=result(2, "failed").failure
    )
    results = [
        replied(0, "A", trial=0), replied(0, "B", trial=1),
        result(1, "failed", trial=0), result(1, "correct", trial=1),
        slipped, replied(2, "C", trial=1),
        result(3, "unscored", trial=0, golds=()), result(3, None, trial=1, golds=()),
    ]  # fmt: skip
    log = log_of(name, tmp_path, results, trials=2)
    found = {(entry.id, entry.trial): entry for entry in log.entries}
    assert found["q0", 1].reply.text == "B"
    assert (found["q1", 0].reply, found["q1", 0].failure) == (None, "generate: HTTP 503")
    assert found["q2", 0].reply.text == "A", "the scorer failed, not the model"
    assert found["q3", 0].reply is not None
    assert ("q3", 1) not in found or found["q3", 1].failure == "not asked yet"
    assert not found["q3", 0].sample.golds


@pytest.mark.parametrize("name", LOGS)
def test_a_file_that_cannot_be_finished_is_not_there(tmp_path: Path, name: str) -> None:
    def breaking(trial: int | None = None) -> Any:
        yield replied(0, "B")
        raise OSError("the disk is gone")

    whole = exported(name, tmp_path, [replied(0, "B")])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    broken = replace(export_of(tmp_path, [], **MANIFEST), results=breaking)
    with pytest.raises(Exception, match="the disk is gone"):
        exporters.get(name)(broken)
    assert whole
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_images_are_named_and_never_copied() -> None:
    refs = (
        ImageRef(kind="file", location="/data/a.png"),
        ImageRef(kind="url", location="https://example.org/b.png"),
        ImageRef(kind="data", location="AAAA" * 1000),
        ImageRef(kind="file", location="/data/a.png", box=(0, 0, 5, 5)),
    )
    record = {"width": 4, "height": 3, "mime": "image/png", "sha256": "ab" * 32}
    parts = [{"image": record} for _ in refs]
    base = result(0, images=refs)
    sent = Result(
        sample=base.sample,
        position=0,
        asked=(
            {"role": "system", "parts": [{"text": "Be brief."}]},
            {"role": "user", "parts": [*parts, {"text": "Which?"}]},
        ),
        sent=tuple(record for _ in refs),
    )
    system, user = format_messages(sent)
    assert system == {"role": "system", "content": "Be brief."}
    assert [part["type"] for part in user["content"]] == ["image", "image", "text", "text", "text"]
    assert [part.get("image") for part in user["content"][:2]] == ["/data/a.png", "https://example.org/b.png"]
    assert user["content"][2]["text"] == f"[image: inline base64, 4x3, image/png, sha256 {'ab' * 32}]"
    assert len(encode_json_line(user)) < 1000


@given(st.sampled_from(["load", "render", "generate"]), st.text(max_size=20))
def test_why_something_failed_comes_back(stage: Any, reason: str) -> None:
    failed = Result(sample=result(0).sample, position=0, failure=Failure(stage=stage, reason=reason))
    again = parse_failure(format_failure(failed))
    assert (again.stage, again.reason) == (stage, reason)


@pytest.mark.parametrize(
    ("text", "stage", "reason"),
    [
        ("rate limit", "load", "rate limit"),
        ("load: load: generate: HTTP 503", "generate", "HTTP 503"),
        ("score: no reply", "load", "score: no reply"),
        ("generate:", "load", "generate:"),
        ("", "load", ""),
    ],
)
def test_why_something_failed_in_anybodys_words(text: str, stage: str, reason: str) -> None:
    found = parse_failure(text)
    assert (found.stage, found.reason) == (stage, reason)
