"""hf/FOLDER: batches give the replies of batch 1, rows leave and join, memory runs out, whole runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, DynamicCache

import eyechart as ec
from extras.architectures import NO_SYSTEM, make_llava
from extras.questions import answer_all, ask, draw, encode, mixed_questions, open_hf
from eyechart.errors import ModelError, UsageError
from eyechart.models.hf.decode import Batch, Decoder, Row
from eyechart.models.hf.engine import BatchLimits, choose_rows
from eyechart.models.hf.weights import load_decoder

QUESTIONS = mixed_questions(16)


@pytest.fixture(scope="module")
def one_by_one(llava: Path) -> list[str]:
    return [
        reply.text for reply in answer_all(open_hf(f"hf/{llava}", max_tokens=12), QUESTIONS, at_once=False)
    ]


def test_batch_1_says_what_generate_says(llava: Path, one_by_one: list[str]) -> None:
    model = AutoModelForImageTextToText.from_pretrained(llava, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(llava)
    for request, said in zip(QUESTIONS[:4], one_by_one, strict=False):
        [turn] = request.messages
        from eyechart.models.hf.model import _as_turn

        inputs = processor.apply_chat_template(
            [_as_turn(turn)], tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        )
        out = model.generate(**inputs, max_new_tokens=12, do_sample=False)
        assert processor.decode(out[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True) == said


def test_the_test_model_looks_at_its_images(one_by_one: list[str]) -> None:
    """Otherwise the tests below would show nothing."""
    assert len(set(one_by_one)) >= 10


@pytest.mark.parametrize("batch_size", [2, 3, 16])
def test_batches_give_the_replies_of_batch_1(llava: Path, one_by_one: list[str], batch_size: int) -> None:
    model = open_hf(f"hf/{llava}", max_tokens=12, batch_size=batch_size)
    replies = answer_all(model, QUESTIONS)
    assert [reply.text for reply in replies] == one_by_one
    assert max(model.engine.batch_sizes) > 1
    assert max(model.engine.batch_sizes) <= batch_size


def end_replies_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of 1 to 40 tokens, depending on the question."""
    append = Decoder._append

    def end_some(self: Any, batch: Batch, logits: Any) -> None:
        append(self, batch, logits)
        for row in batch.rows:
            if len(row.tokens) >= 1 + (row.n_prompt * 7) % 40:
                row.finish_reason = "stop"

    monkeypatch.setattr(Decoder, "_append", end_some)


def test_finished_rows_leave_and_others_join(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With replies of 1 to 40 tokens, a batch of 4 is filled again while its longest reply goes on."""
    joined: list[tuple[int, int]] = []
    join = Decoder.join

    def watch(self: Decoder, batch: Batch, more: Batch, **room: int) -> Batch:
        joined.append((len(batch.running), len(more.rows)))
        return join(self, batch, more, **room)

    monkeypatch.setattr(Decoder, "join", watch)
    end_replies_early(monkeypatch)
    alone = answer_all(open_hf(f"hf/{llava}"), QUESTIONS, at_once=False)
    assert not joined
    together = answer_all(open_hf(f"hf/{llava}", batch_size=4), QUESTIONS)
    assert joined
    assert all(0 < before < 4 for before, _ in joined)
    assert [one.text for one in together] == [one.text for one in alone]
    assert len({one.usage.completion_tokens for one in alone if one.usage}) > 4


def test_replies_have_the_time_of_their_first_token(llava: Path) -> None:
    for reply in answer_all(open_hf(f"hf/{llava}", max_tokens=5), QUESTIONS[:8]):
        assert reply.first_token_s is not None
        assert 0 < reply.first_token_s <= reply.latency_s
        assert reply.tokens_per_s is not None
        assert reply.tokens_per_s > 0


def test_the_last_rows_do_not_wait_for_those_that_run(llava: Path) -> None:
    """Of 40 places 32 are taken: 2 more rows start if nothing else will come, else they wait for company."""
    model = open_hf(f"hf/{llava}")
    rows = [model._prepare(one) for one in QUESTIONS[:2]]
    answer_all(model, [])
    limits = BatchLimits(rows=40, tokens=2**20, prompt_tokens=2**20, ready_bytes=2**20)
    busy = Batch([rows[0]] * 32, DynamicCache(), torch.ones(32, 5), torch.ones(32), None)
    assert choose_rows(rows, limits, [busy], is_last=False) == []
    assert len(choose_rows(rows, limits, [busy], is_last=True)) > 0
    assert choose_rows(rows * 5, limits, [busy], is_last=True) != []
    assert choose_rows(rows * 5, limits, [busy, busy], is_last=True) == []


def test_a_batch_is_no_longer_than_its_longest_row(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of rows that have left are given up; else a batch that never empties would grow for ever."""
    lengths: list[tuple[int, int]] = []
    select = Decoder.select

    def watch(self: Decoder, batch: Batch, kept: Sequence[int]) -> None:
        select(self, batch, kept)
        longest = max(row.n_prompt + len(row.tokens) - 1 for row in batch.rows)
        lengths.append((batch.length, longest))
        assert all(layer.keys.shape[2] == longest for layer in batch.cache.layers)

    monkeypatch.setattr(Decoder, "select", watch)
    end_replies_early(monkeypatch)
    answer_all(open_hf(f"hf/{llava}", batch_size=4), QUESTIONS)
    assert len(lengths) > 5
    assert all(length == longest for length, longest in lengths)


def test_a_short_reply_does_not_wait_for_a_long_one(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[int, int]] = []
    step = Decoder.step

    def watch(self: Decoder, batch: Batch) -> Batch:
        ended.append((len(batch.rows), sum(row.reply.done() for row in batch.rows)))
        return step(self, batch)

    def one_ends_at_once(self: Any, batch: Batch, logits: Any) -> None:
        append(self, batch, logits)
        batch.rows[0].finish_reason = batch.rows[0].finish_reason or "stop"

    append = Decoder._append
    monkeypatch.setattr(Decoder, "step", watch)
    monkeypatch.setattr(Decoder, "_append", one_ends_at_once)
    answer_all(open_hf(f"hf/{llava}", max_tokens=30), QUESTIONS[:8])
    assert max(n for n, _ in ended) > 1
    assert not any(n_done for _, n_done in ended)  # whoever is done has left


def test_tokens_are_decoded_while_later_prompts_run(
    llava: Path, one_by_one: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, first = Decoder.start, list[Row]()

    def begin(self: Decoder, rows: list[Row]) -> Batch:
        """The third part waits until a row of the first one has its reply."""
        if len(first) == 2:
            wait([row.reply for row in first[:1]], timeout=600)
            done.append(first[0].reply.done())
        first.append(rows[0])
        return start(self, rows)

    done: list[bool] = []
    monkeypatch.setattr(Decoder, "start", begin)
    model = open_hf(f"hf/{llava}", max_tokens=12)
    model.engine._load = lambda: (load_decoder(model._checkpoint)[0], BatchLimits(16, 2**14, 1, 2**30))
    assert [reply.text for reply in answer_all(model, QUESTIONS)] == one_by_one
    assert done == [True]
    assert model.engine.batch_sizes == [1] * len(QUESTIONS)
    assert model.status == ""


def test_the_status_says_what_the_first_reply_waits_for(llava: Path) -> None:
    model, seen = open_hf(f"hf/{llava}", max_tokens=2), list[str]()
    load = model.engine._load

    def watch() -> Any:
        seen.append(model.status)
        return load()

    model.engine._load = watch
    answer_all(model, QUESTIONS[:1])
    assert seen == ["loading the weights"]
    assert model.status == ""


def test_out_of_memory_halves_the_batch(
    llava: Path, one_by_one: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, tried = Decoder.start, []

    def fail_if_large(self: Decoder, rows: list[Row]) -> Batch:
        tried.append(len(rows))
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return start(self, rows)

    monkeypatch.setattr(Decoder, "start", fail_if_large)
    model = open_hf(f"hf/{llava}", max_tokens=12)
    assert [reply.text for reply in answer_all(model, QUESTIONS)] == one_by_one
    assert max(tried) > 3
    assert len([n for n in tried if n > 3]) <= 4  # halved each time, not tried again and again


def test_out_of_memory_while_decoding(
    llava: Path, one_by_one: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Decoder.step

    def fail_if_large(self: Decoder, batch: Batch) -> Batch:
        if len(batch.rows) > 2 and len(batch.rows[0].tokens) > 5:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return step(self, batch)

    monkeypatch.setattr(Decoder, "step", fail_if_large)
    replies = answer_all(open_hf(f"hf/{llava}", max_tokens=12), QUESTIONS)
    assert [reply.text for reply in replies] == one_by_one


def test_one_row_that_does_not_fit_fails_alone(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Decoder, rows: list[Row]) -> Batch:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Decoder, "start", fail)
    with pytest.raises(ModelError, match="do not fit into the memory") as caught:
        answer_all(open_hf(f"hf/{llava}"), QUESTIONS[:1])
    assert "--max-pixels" in caught.value.hint


def test_a_sampled_reply_depends_on_its_seed_and_not_on_its_batch(llava: Path) -> None:
    def sample(**parameters: Any) -> list[str]:
        model = open_hf(f"hf/{llava}", max_tokens=12, temperature=1.0, **parameters)
        return [reply.text for reply in answer_all(model, QUESTIONS)]

    large = sample(seed=1)
    assert sample(seed=1, batch_size=3) == large
    assert sample(seed=2) != large
    assert sample(seed=1, top_k=1) == sample(seed=2, top_p=0.001)  # both leave the most probable token


def test_a_repetition_penalty_does_not_depend_on_padding(llava: Path, one_by_one: list[str]) -> None:
    def penalise(**parameters: Any) -> list[str]:
        model = open_hf(f"hf/{llava}", max_tokens=12, repetition_penalty=3.0, **parameters)
        return [reply.text for reply in answer_all(model, QUESTIONS)]

    assert penalise(batch_size=1) == penalise(batch_size=5) != one_by_one


def test_a_reply_that_is_cut_says_so(llava: Path) -> None:
    [reply] = answer_all(open_hf(f"hf/{llava}", max_tokens=1), QUESTIONS[:1])
    assert reply.finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 1
    assert reply.usage.prompt_tokens > 16  # an image is 16 tokens


def test_other_weights_are_another_model(llava: Path, tmp_path: Path) -> None:
    make_llava(tmp_path / "other", seed=1)
    copied = shutil.copytree(llava, tmp_path / "copied")
    first, other, copy = (open_hf(f"hf/{one}").identity for one in (llava, tmp_path / "other", copied))
    assert first["sha256"] == copy["sha256"] != other["sha256"]
    assert open_hf(f"hf/{llava}", max_tokens=7).identity != first


def test_what_the_template_refuses_is_said_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_llava(tmp_path, chat=NO_SYSTEM)
    model = open_hf(f"hf/{tmp_path}")
    assert "no system message" in capsys.readouterr().err
    with pytest.raises(ModelError, match="takes no system message") as caught:
        answer_all(model, [ask(draw("red"), "What?", system="Be brief.")])
    assert caught.value.is_fatal


def test_a_model_without_a_template_gets_plain_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_llava(tmp_path, chat="")
    (tmp_path / "chat_template.jinja").unlink(missing_ok=True)
    replies = answer_all(open_hf(f"hf/{tmp_path}", max_tokens=4), QUESTIONS[:3])
    assert "no chat template" in capsys.readouterr().err
    assert all(reply.usage and reply.usage.completion_tokens for reply in replies)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"dtype": "float8"}, "dtype"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"batchsize": 4}, "no parameter 'batchsize'"),
        ({"temperature": -1}, "temperature"),
    ],
)
def test_wrong_parameters_are_refused(llava: Path, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_hf(f"hf/{llava}", **parameters)


def test_folders_that_hold_no_model(tmp_path: Path, llava: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        open_hf(f"hf/{tmp_path}/none")
    with pytest.raises(UsageError, match=r"no config\.json"):
        open_hf(f"hf/{tmp_path}")
    (tmp_path / "config.json").write_text('{"model_type": "unheard-of"}')
    with pytest.raises(UsageError, match="cannot be loaded"):
        open_hf(f"hf/{tmp_path}")
    broken = shutil.copytree(llava, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        answer_all(open_hf(f"hf/{broken}"), QUESTIONS[:3])
    assert caught.value.is_fatal


def test_models_with_an_encoder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mllama"}')
    with pytest.raises(UsageError, match="mllama are not supported"):
        open_hf(f"hf/{tmp_path}")


def test_a_whole_run_and_its_continuation(llava: Path, tmp_path: Path) -> None:
    rows = []
    for k in range(12):
        image = encode_file(tmp_path / f"{k}.png", k)
        rows.append({"id": str(k), "question": "Which colour?", "image": image, "answer": "red"})
    source = tmp_path / "questions.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    options: dict[str, Any] = {"model": f"hf/{llava}", "out": tmp_path / "runs", "max_tokens": 6}
    part = ec.run(source, limit=5, **options)
    whole = ec.run(source, **options)
    again = ec.run(source, **options)
    assert sum(part.outcomes.values()) == 5
    assert sum(whole.outcomes.values()) == 12
    assert whole.outcomes.get("failed", 0) == 0
    assert (part.n_asked, whole.n_asked, again.n_asked) == (5, 12, 0)  # of the twelve, five were found
    assert again.score == whole.score


def encode_file(path: Path, k: int) -> str:
    path.write_bytes(draw(("red", "green", "blue")[k % 3], size=(80 + k, 90)).data())
    return path.name


def test_exif_and_modes_do_not_matter(llava: Path) -> None:
    from PIL import Image as Pictures

    gray = encode(Pictures.new("L", (40, 40), 90))
    palette = encode(Pictures.new("P", (40, 40), 3))
    replies = answer_all(open_hf(f"hf/{llava}", max_tokens=2), [ask(gray, "What?"), ask(palette, "What?")])
    assert len(replies) == 2
