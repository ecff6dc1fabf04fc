"""Tiny models of several architectures: batches give the replies of batch 1, and images change them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch

from extras.architectures import MAKERS, make_qwen25_vl
from extras.questions import answer_all, mixed_questions, open_hf
from eyechart.models.hf.decode import Batch, Decoder, Row, Sampling

QUESTIONS = mixed_questions(12)


@pytest.mark.parametrize("architecture", [name for name in MAKERS if name != "llava"])
def test_batches_give_the_replies_of_batch_1(architecture: str, tmp_path: Path) -> None:
    MAKERS[architecture](tmp_path)
    spec = f"hf/{tmp_path}"
    alone = [one.text for one in answer_all(open_hf(spec, max_tokens=10), QUESTIONS, at_once=False)]
    model = open_hf(spec, max_tokens=10, batch_size=5)
    together = [one.text for one in answer_all(model, QUESTIONS)]
    assert together == alone
    assert max(model.engine.batch_sizes) > 1
    assert len(set(alone)) >= 6


def make_qwen_rows() -> list[Row]:
    """Prompts as Qwen2.5-VL's processor would make them: one image of some size, two, or none."""
    rows = []
    for k in range(8):
        grids = [[1, 2 + 2 * (k % 3), 4], [1, 4, 4]][: (1, 2, 0)[k % 3]]
        ids, kinds = [5], [0]
        for _, height, width in grids:
            n = height * width // 4
            ids += [1, *[3] * n, 6]
            kinds += [0, *[1] * n, 0]
        words = [20 + (7 * k + i) % 300 for i in range(3 + k)]
        inputs: dict[str, Any] = {
            "input_ids": torch.tensor([ids + words]),
            "attention_mask": torch.ones(1, len(ids + words), dtype=torch.long),
            "mm_token_type_ids": torch.tensor([kinds + [0] * len(words)]),
        }
        if grids:
            n_patches = sum(height * width for _, height, width in grids)
            generator = torch.Generator().manual_seed(k)
            inputs["pixel_values"] = torch.randn(n_patches, 3 * 2 * 14 * 14, generator=generator)
            inputs["image_grid_thw"] = torch.tensor(grids)
        rows.append(Row(functools.partial(dict, inputs), Sampling(max_tokens=4 + 3 * (k % 4))))
    return rows


def run_out_of_memory(decoder: Decoder, batch: Batch) -> None:
    """A step that fails when the first layer has its token and the second one has not."""
    second = batch.cache.layers[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(second), "update", fail_in(second, type(second).update))
        with pytest.raises(torch.OutOfMemoryError):
            decoder.step(batch)


def fail_in(layer: Any, update: Any) -> Any:
    def fail(self: Any, *states: Any) -> Any:
        if self is layer:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return update(self, *states)

    return fail


def test_positions_of_qwen_stay_right_when_rows_leave_and_join() -> None:
    """An image of Qwen's moves the positions behind it, differently in every row."""
    model = make_qwen25_vl()
    decoder = Decoder(model, pad_id=0, end_ids={2})
    expected = []
    with torch.inference_mode():
        for row in make_qwen_rows():
            n = row.n_prompt
            out = model.generate(**row.inputs, max_new_tokens=row.sampling.max_tokens, do_sample=False)
            expected.append([token for token in out[0, n:].tolist() if token != 2])
        rows = make_qwen_rows()
        seeing, blind = (
            [row for row in rows if len(row.inputs) > 3],
            [row for row in rows if len(row.inputs) == 3],
        )
        batch = decoder.admit(decoder.start(seeing))
        decoder.step(batch)
        decoder.join(batch, decoder.admit(decoder.start(blind)))
        run_out_of_memory(decoder, batch)
        decoder.rewind(batch)
        while kept := batch.running:
            decoder.select(batch, kept)
            decoder.step(batch)
    assert [row.tokens for row in rows] == expected
    assert len({tuple(tokens) for tokens in expected}) > 5
