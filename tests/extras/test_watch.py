"""Watching real trainings: the tiny VLM in ten checkpoints, weights swapped in one process, a Trainer."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, Trainer, TrainingArguments

import eyechart as ec
from extras.architectures import make_qwen25_vl
from extras.test_tiny_vlm import COLOURS, SHAPES, draw_shape
from eyechart import baselines
from eyechart.integrations.transformers import EvaluateCheckpoints
from eyechart.models.hf import speed, weights
from eyechart.models.hf.model import Chat, decode_image
from support.pages import read_blocks

TINY = Path(baselines.__file__).parent / "tiny_vlm"
QUESTION, STEPS = "What color is the shape?", 10


def make_training(folder: Path, callback: EvaluateCheckpoints, *, steps: int, every: int) -> Trainer:
    """The tiny VLM without what connects image and text, which a few dozen steps bring back."""
    torch.manual_seed(1)
    processor = AutoProcessor.from_pretrained(TINY)
    model = AutoModelForImageTextToText.from_pretrained(TINY, dtype=torch.float32)
    for part in model.model.multi_modal_projector.parameters():
        torch.nn.init.normal_(part, std=0.02)
    model.model.vision_tower.requires_grad_(requires_grad=False)
    rng = random.Random(1)
    rows = [draw_row(processor, rng.choice(SHAPES), rng.choice(COLOURS)) for _ in range(128)]
    given = TrainingArguments(
        output_dir=str(folder), max_steps=steps, save_steps=every, per_device_train_batch_size=8,
        learning_rate=2e-3, lr_scheduler_type="constant", logging_strategy="no", report_to=[], use_cpu=True,
        disable_tqdm=True, seed=1, remove_unused_columns=False, dataloader_pin_memory=False,
    )  # fmt: skip
    return Trainer(
        model=model, args=given, train_dataset=rows, data_collator=collate, processing_class=processor,
        callbacks=[callback],
    )  # fmt: skip


def draw_row(processor: Any, shape: str, colour: str) -> dict[str, Any]:
    """A question on a drawn image with its answer, of which only the answer is learned."""
    asked: dict[str, Any] = {
        "role": "user",
        "content": [
            {"type": "image", "image": decode_image(draw_shape(shape, colour, 112))},
            {"type": "text", "text": QUESTION},
        ],
    }
    row = processor.apply_chat_template(
        [asked], tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    answer = processor.tokenizer(f"{colour}<|im_end|>", add_special_tokens=False, return_tensors="pt")
    ids = torch.cat([row["input_ids"], answer["input_ids"]], dim=1)[0]
    labels = ids.clone()
    labels[: row["input_ids"].shape[1]] = -100
    return {"input_ids": ids, "labels": labels, "pixel_values": row["pixel_values"][0]}


def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
    pad = torch.nn.utils.rnn.pad_sequence
    ids = pad([row["input_ids"] for row in rows], batch_first=True)
    return {
        "input_ids": ids,
        "labels": pad([row["labels"] for row in rows], batch_first=True, padding_value=-100),
        "attention_mask": pad([torch.ones_like(row["input_ids"]) for row in rows], batch_first=True),
        "pixel_values": torch.stack([row["pixel_values"] for row in rows]),
    }


def write_questions(folder: Path, n: int = 40) -> Path:
    rng = random.Random(7)
    lines = []
    for k in range(n):
        shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
        (folder / f"{k}.png").write_bytes(draw_shape(shape, colour, 112).data())
        lines.append(json.dumps({"id": f"q{k}", "question": QUESTION, "image": f"{k}.png", "answer": colour}))
    path = folder / "shapes.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Trainer]:
    """A training whose ten checkpoints were evaluated while it ran."""
    place = tmp_path_factory.mktemp("training")
    source = write_questions(place)
    callback = EvaluateCheckpoints(source, max_tokens=4, scorer="exact", out=str(place / "runs"))
    trainer = make_training(place / "ckpt", callback, steps=5 * STEPS, every=5)
    trainer.train()
    return place, source, trainer


def watch(place: Path, source: Path, **more: Any) -> Any:
    options = {"max_tokens": 4, "scorer": "exact", "out": str(place / "runs"), "progress": False, **more}
    return ec.watch(place / "ckpt", source, settle_s=0, **options)


def test_the_curve_of_a_training(trained: tuple[Path, Path, Trainer]) -> None:
    place, source, trainer = trained
    found = watch(place, source)
    [curve] = found.curves()
    assert [point.step for point in curve.points] == [5 * k for k in range(1, STEPS + 1)]
    assert all(ec.Run(point.run).exit_code == 0 for point in curve.points)
    assert curve.points[curve.best].since_first.low > 0, curve.verdict
    logged = [row["eyechart/shapes"] for row in trainer.state.log_history if "eyechart/shapes" in row]
    assert logged == [point.score for point in curve.points]
    assert trainer.model.training
    [drawn] = read_blocks(found.page)["data"]["curves"]
    assert [point["step"] for point in drawn["points"]] == [5 * k for k in range(1, STEPS + 1)]


def test_all_in_one_process_with_one_model(
    trained: tuple[Path, Path, Trainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded once, each question prepared once, and the replies are those of the training's own weights."""
    place, source, _ = trained
    loaded, prepared = [], []
    load, encode = weights._load_model, Chat.encode

    def note_load(checkpoint: Any) -> Any:
        loaded.append(checkpoint.where)
        return load(checkpoint)

    def note_encode(self: Any, messages: Any) -> Any:
        prepared.append(messages)
        return encode(self, messages)

    monkeypatch.setattr(weights, "_load_model", note_load)
    monkeypatch.setattr(Chat, "encode", note_encode)
    [again] = watch(place, source, out=str(tmp_path / "runs")).curves()
    [first] = watch(place, source).curves()
    n_images = len({result.sent[0]["sha256"] for result in ec.Run(again.points[0].run).samples()})
    assert (len(loaded), len(prepared)) == (1, n_images)
    for one, other in zip(first.points, again.points, strict=True):
        replies = [
            [result.reply and result.reply.text for result in ec.Run(point.run).samples()]
            for point in (one, other)
        ]
        assert replies[0] == replies[1]


def test_swapped_weights_are_those_of_the_folder(trained: tuple[Path, Path, Trainer], tmp_path: Path) -> None:
    """One after the other in one model, and each loaded alone: the same replies."""
    place, source, _ = trained
    point = watch(place, source).curves()[0].points[4]
    alone = ec.run(
        source, f"hf/{place}/ckpt/{point.name}", max_tokens=4, scorer="exact", out=tmp_path, progress=False
    )
    pairs = zip(alone.samples(), ec.Run(point.run).samples(), strict=True)
    assert all(a.reply and b.reply and a.reply.text == b.reply.text for a, b in pairs)


def test_weights_are_copied_by_the_names_that_their_files_have(tmp_path: Path) -> None:
    """Also of models whose parts are called otherwise in the folder; nothing is loaded a second time."""
    model = AutoModelForImageTextToText.from_pretrained(TINY, dtype=torch.float32)
    model.save_pretrained(tmp_path)
    wanted = {name: one.clone() for name, one in model.state_dict().items()}
    with torch.no_grad():
        for part in model.parameters():
            part.zero_()
        assert weights._copy_files(weights._list_saved_names(model), sorted(tmp_path.glob("*.safetensors")))
    assert all(torch.equal(one, wanted[name]) for name, one in model.state_dict().items())


def test_weights_are_copied_into_a_widened_tower(tmp_path: Path) -> None:
    """On a GPU the tower of Qwen2.5-VL has wider products than its folder; what was added stays zero."""
    model, other = make_qwen25_vl(), make_qwen25_vl()
    with torch.no_grad():
        for part in other.parameters():
            part.mul_(1.5)
    other.save_pretrained(tmp_path)
    speed.align_tower(speed.find_tower(model))
    assert weights._copy_files(weights._list_saved_names(model), sorted(tmp_path.glob("*.safetensors")))
    copied = speed.list_tensors(model)
    assert all(torch.equal(one, copied[name]) for name, one in other.state_dict().items())
    gated = speed.find_tower(model).blocks[0].mlp
    width = gated.published_width
    assert 0 < width < gated.down_proj.in_features
    for added in (
        gated.gate_proj.weight[width:],
        gated.up_proj.bias[width:],
        gated.down_proj.weight[:, width:],
    ):
        assert not added.any()


def test_another_architecture_is_loaded_anew(tmp_path: Path, llava: Path) -> None:
    """Weights that do not fit are never copied."""
    import shutil

    source = write_questions(tmp_path, 4)
    for step, folder in ((1, TINY), (2, llava), (3, TINY)):
        shutil.copytree(folder, tmp_path / "ckpt" / f"step-{step}")
    [curve] = watch(tmp_path, source).curves()
    assert [point.step for point in curve.points] == [1, 2, 3]
    first, _, last = (list(ec.Run(point.run).samples()) for point in curve.points)
    assert [one.reply and one.reply.text for one in first] == [one.reply and one.reply.text for one in last]


def test_in_another_process(tmp_path: Path) -> None:
    source = write_questions(tmp_path, 8)
    callback = EvaluateCheckpoints(source, aside=True, max_tokens=4, scorer="exact", out=tmp_path / "runs")
    make_training(tmp_path / "ckpt", callback, steps=2, every=1).train()
    assert callback.watch is not None
    assert [point.step for point in callback.watch.curves()[0].points] == [1, 2]
    assert [point.step for point in watch(tmp_path, source).curves()[0].points] == [1, 2]


def test_an_evaluation_that_fails_ends_no_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    callback = EvaluateCheckpoints(tmp_path / "gone.jsonl", out=str(tmp_path / "runs"))
    assert make_training(tmp_path / "ckpt", callback, steps=1, every=1).train().global_step == 1
    assert "checkpoint-1 is not evaluated: " in capsys.readouterr().err
    with pytest.raises(ec.UsageError):
        EvaluateCheckpoints("mine.tsv", max_tokns=3)
    with pytest.raises(ec.UsageError, match="another process"):
        EvaluateCheckpoints("mine.tsv", aside=True, scorer=lambda text, gold: True)


def test_an_interrupt_during_an_evaluation_ends_the_training(tmp_path: Path) -> None:
    def score(text: str, gold: str) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    source = write_questions(tmp_path, 4)
    callback = EvaluateCheckpoints(source, max_tokens=4, scorer=score, out=str(tmp_path / "runs"))
    trainer = make_training(tmp_path / "ckpt", callback, steps=2, every=1)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert trainer.state.global_step == 1
    assert trainer.model.training
