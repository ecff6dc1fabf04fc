"""Logs of Inspect, made by hand as it writes them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.logs.inspect import read_archive, read_json_log
from eyechart.types import Usage


def sample(id: Any = 1, epoch: Any = 1, **fields: Any) -> dict[str, Any]:
    content = fields.pop("content", "ANSWER: B")
    output = {
        "model": "gpt-4o-2024",
        "choices": [{"message": {"role": "assistant", "content": content}, "stop_reason": "stop"}],
        "completion": "ANSWER: B",
        "usage": {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "reasoning_tokens": 2},
        "time": 1.5,
    }
    return {
        "id": id,
        "epoch": epoch,
        "input": "Which?",
        "choices": ["cat", "dog"],
        "target": "B",
        "output": output,
        "metadata": {"category": "ocr", "deep": {"x": 1}},
        **fields,
    }


def log(path: Path, *samples: dict[str, Any], **fields: Any) -> Path:
    spec = {"task": "animals", "model": "openai/gpt-4o", "dataset": {}, "config": {}}
    content = {"version": 2, "status": "success", "eval": spec, "plan": {}, **fields, "samples": samples}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_replies_with_all_that_is_known_of_them(tmp_path: Path) -> None:
    cut = sample(2)
    cut["output"]["choices"][0]["stop_reason"] = "max_tokens"
    found = read_json_log(log(tmp_path / "a.json", sample("q1"), cut))
    assert (found.tool, found.task, found.model) == ("Inspect", "animals", "openai/gpt-4o")
    first, second = found.entries
    assert first.reply is not None
    assert second.reply is not None
    assert (first.id, first.trial, first.reply.text, first.reply.finish_reason) == (
        "q1",
        0,
        "ANSWER: B",
        "stop",
    )
    assert first.reply.usage == Usage(prompt_tokens=12, completion_tokens=3, reasoning_tokens=2)
    assert (first.reply.model, first.reply.latency_s) == ("gpt-4o-2024", 1.5)
    assert (second.id, second.reply.finish_reason) == ("2", "length")
    assert first.sample is not None
    assert (first.sample.question, first.sample.golds) == ("Which?", ("B",))
    assert first.sample.choices == {"A": "cat", "B": "dog"}
    assert first.sample.meta == {"category": "ocr"}


def test_epochs_are_trials(tmp_path: Path) -> None:
    found = read_json_log(log(tmp_path / "a.json", sample("q", 2), sample("q", 1)))
    assert [(entry.id, entry.trial) for entry in found.entries] == [("q", 1), ("q", 0)]


def test_messages_images_thinking_and_attachments(tmp_path: Path) -> None:
    asked = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "image", "image": "attachment://aa11"},
                {"type": "image", "image": "/etc/passwd"},
                {"type": "image", "image": "https://example.org/a.png"},
                {"type": "text", "text": "attachment://bb22"},
            ],
        },
    ]
    content = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "attachment://cc33"}]
    attached = {"aa11": "data:image/png;base64,AAAA", "bb22": "A long question?", "cc33": "B it is"}
    row = sample(input=asked, content=content, attachments=attached)
    [entry] = read_json_log(log(tmp_path / "a.json", row)).entries
    assert entry.reply is not None
    assert entry.sample is not None
    assert (entry.reply.text, entry.reply.thinking) == ("B it is", "Hm.")
    assert entry.sample.question == entry.asked == "A long question?"
    path, address = entry.sample.images
    assert (path.location, bool(path.refused)) == ("/etc/passwd", True)
    assert (address.kind, address.refused) == ("url", "")


def test_attachments_cannot_grow_without_bound(tmp_path: Path) -> None:
    attached = {"aa11": "x" * 10_000}
    for fields in (
        {"input": "attachment://aa11 " * 5_000},
        {"content": [{"type": "text", "text": "attachment://aa11"}] * 5_000},
        {"input": "attachment://aa11 " * 16, "content": "attachment://aa11 " * 10},
    ):
        path = log(tmp_path / "a.json", sample("q"), sample("bomb", attachments=attached, **fields))
        with pytest.raises(DataError, match=r"a\.json: sample 2 \(id 'bomb', epoch 1\): field attachments: "):
            read_json_log(path)


def test_a_text_that_is_attached_may_stand_in_some_places(tmp_path: Path) -> None:
    row = sample(input="attachment://aa11 " * 8, attachments={"aa11": "x" * 100_000})
    [entry] = read_json_log(log(tmp_path / "a.json", row)).entries
    assert entry.asked == ("x" * 100_000 + " ") * 8
    row = sample(input="attachment://aa11 " * 200, attachments={"aa11": "yes"})
    [entry] = read_json_log(log(tmp_path / "a.json", row)).entries
    assert entry.asked == "yes " * 200


@pytest.mark.parametrize("depth", [200, 450, 700, 900])
def test_a_deep_value_is_read_or_refused(tmp_path: Path, depth: int) -> None:
    text = json.dumps(sample(input="HERE"))
    path = log(tmp_path / "a.json", sample("q"))
    deep = text.replace('"HERE"', "[" * depth + "]" * depth)
    path.write_text(path.read_text().replace('"samples": [', f'"samples": [{deep}, '))
    said = ""
    try:
        assert len(read_json_log(path).entries) == 2
    except DataError as err:
        said = err.message
    assert not said or "sample 1" in said


def test_a_sample_with_an_error_has_no_reply(tmp_path: Path) -> None:
    failed = sample(1, error={"message": "rate limit", "traceback": "", "traceback_ansi": ""})
    empty = sample(2, output={"model": "m", "choices": []})
    first, second = read_json_log(log(tmp_path / "a.json", failed, empty)).entries
    assert (first.reply, first.failure) == (None, "rate limit")
    assert (second.reply, second.failure) == (None, "the log holds no output of the model")


def test_an_empty_reply_is_a_reply(tmp_path: Path) -> None:
    [entry] = read_json_log(log(tmp_path / "a.json", sample(content=""))).entries
    assert entry.reply is not None
    assert entry.reply.text == ""


def test_not_a_number_is_no_trouble(tmp_path: Path) -> None:
    row = sample(scores={"s": {"value": float("nan")}})
    [entry] = read_json_log(log(tmp_path / "a.json", row)).entries
    assert entry.reply is not None


def test_an_archive_holds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "animals", "model": "m"}}))
        archive.writestr("samples/q1_epoch_1.json", json.dumps(sample("q1")))
        archive.writestr("samples/q1_epoch_2.json", json.dumps(sample("q1", 2)))
    found = read_archive(path)
    assert [(entry.id, entry.trial) for entry in found.entries] == [("q1", 0), ("q1", 1)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(DataError, match=r"a\.eval: header\.json: .*eval"):
        read_archive(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"epoch": 1}, r"a\.json: sample 1: .*missing required field `id`"),
        (sample([1]), r"a\.json: sample 1: field id: "),
        (sample(1, 0), r"a\.json: sample 1 \(id 1, epoch 0\): field epoch"),
        (sample(1, 10**30), r"a\.json: sample 1: field epoch"),
        (sample(1, 1001), r"sample 1 \(id 1, epoch 1001\): field epoch: it is counted from 1, to 1000"),
        (sample(10**400), r"a\.json: sample 1: field id"),
        (sample(choices=["x"] * 27), r"a\.json: sample 1 \(id 1, epoch 1\): 27 choices"),
        (sample(choices="AB"), r"a\.json: sample 1: field choices"),
        (sample(metadata={"eyechart": {"id": 7}}), r"a\.json: sample 1 .*eyechart: field id: Expected `str`"),
        ("no sample", r"a\.json: sample 1: Expected `object`"),
    ],
)
def test_what_is_wrong_names_file_and_sample(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_json_log(log(tmp_path / "a.json", row))


def test_what_is_wrong_with_the_whole(tmp_path: Path) -> None:
    path = log(tmp_path / "a.json", sample(1), sample(1))
    with pytest.raises(DataError, match=r"sample 2 .*second reply to '1'; the first is in a\.json: sample 1"):
        read_json_log(path)
    path.write_text(path.read_text()[:-200])
    with pytest.raises(DataError, match=r"a\.json: invalid JSON at byte"):
        read_json_log(path)
    with pytest.raises(DataError, match=r"a\.json: no replies found"):
        read_json_log(log(tmp_path / "a.json"))
    with pytest.raises(DataError, match=r"a\.json: eval: .*model"):
        read_json_log(log(tmp_path / "a.json", sample(), eval={"task": "t"}))


@pytest.mark.parametrize(
    "usage", [{"input_tokens": "many"}, {"input_tokens": 1e300}, {"input_tokens": -1}, 7]
)
def test_tokens_that_are_none_are_not_counted(tmp_path: Path, usage: Any) -> None:
    row = sample()
    row["output"]["usage"] = usage
    [entry] = read_json_log(log(tmp_path / "a.json", row)).entries
    assert entry.reply is not None
    assert entry.reply.usage is None


def test_several_letters_are_one_answer_and_no_alternatives(tmp_path: Path) -> None:
    path = log(
        tmp_path / "a.json",
        sample(1, target=["A", "B"]),
        sample(2, target=["cat", "dog"]),
        sample(3, target=["A", "B"], choices=None),
    )
    golds = [entry.sample.golds for entry in read_json_log(path).entries if entry.sample]
    assert golds == [("AB",), ("cat", "dog"), ("A", "B")]
