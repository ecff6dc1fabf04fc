"""Faster attention and compiled parts give what transformers' own code gives."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from transformers import AttentionInterface

from extras.architectures import make_qwen25_vl
from eyechart.models.hf import speed


def attend_in_a_loop(
    query: Any, key: Any, value: Any, begins: Any, _: Any, longest: int, also: int, **scale: float
) -> Any:
    """What torch's kernel computes, which needs a GPU: tokens x heads x dimensions."""
    edges = begins.tolist()
    assert longest == also == max(b - a for a, b in pairwise(edges))
    parts = []
    for a, b in pairwise(edges):
        heads = [one[a:b].transpose(0, 1)[None] for one in (query, key, value)]
        out = torch.nn.functional.scaled_dot_product_attention(*heads, **scale)
        parts.append(out[0].transpose(0, 1))
    return torch.cat(parts)


def test_features_are_those_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    tower = speed.find_tower(make_qwen25_vl())
    grid = torch.tensor([[1, 4, 6], [1, 8, 4]])
    pixels = torch.randn(56, 3 * 2 * 14 * 14, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = tower(pixels, grid_thw=grid).pooler_output
        monkeypatch.setattr(speed, "_find_kernel", lambda: attend_in_a_loop)
        AttentionInterface.register(speed.VARLEN, speed.attend_varlen)
        tower.config._attn_implementation = speed.VARLEN
        found = tower(pixels, grid_thw=grid).pooler_output
    assert torch.allclose(found, expected, atol=1e-5)
    assert expected.abs().max() > 0.1


def test_on_a_cpu_nothing_changes() -> None:
    model = make_qwen25_vl()
    before = speed.find_tower(model).config._attn_implementation
    speed.speed_up(model, is_compiled=False)
    assert speed.find_tower(model).config._attn_implementation == before


def test_grouped_attention_gives_the_tokens_of_sdpa() -> None:
    """Rows of different length, which need a mask; four heads of queries share two of keys."""
    model = make_qwen25_vl()
    assert model.get_decoder().config._attn_implementation == "sdpa"
    ids = torch.randint(20, 300, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, :4] = mask[1, :1] = 0
    wanted = {
        "max_new_tokens": 12,
        "do_sample": False,
        "return_dict_in_generate": True,
        "output_logits": True,
    }
    with torch.inference_mode():
        expected = model.generate(input_ids=ids, attention_mask=mask, **wanted)
        speed.use_grouped_attention(model.get_decoder())
        assert model.get_decoder().layers[0].self_attn.config._attn_implementation == speed.GROUPED
        found = model.generate(input_ids=ids, attention_mask=mask, **wanted)
    assert torch.equal(found.sequences, expected.sequences)
    for one, other in zip(found.logits, expected.logits, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_aligned_shapes_give_the_same_features() -> None:
    tower = speed.find_tower(make_qwen25_vl())
    grid = torch.tensor([[1, 4, 6], [1, 8, 4]])
    pixels = torch.randn(56, 3 * 2 * 14 * 14, generator=torch.Generator().manual_seed(0))
    gated = tower.blocks[0].mlp
    width = gated.down_proj.in_features
    assert width % 64
    with torch.inference_mode():
        expected = tower(pixels, grid_thw=grid).pooler_output
        speed.align_tower(tower)
        found = tower(pixels, grid_thw=grid).pooler_output
    assert gated.down_proj.in_features % 64 == 0
    assert gated.down_proj.weight.shape[1] == gated.gate_proj.weight.shape[0] == gated.down_proj.in_features
    assert torch.allclose(found, expected, atol=1e-5)


def test_weights_that_accelerate_moves_are_left_alone() -> None:
    tower = speed.find_tower(make_qwen25_vl())
    width = tower.blocks[0].mlp.down_proj.in_features
    tower.blocks[1]._hf_hook = object()
    speed.align_tower(tower)
    assert tower.blocks[0].mlp.down_proj.in_features == width


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's compiler
def test_prompts_are_compiled_and_single_tokens_are_not() -> None:
    def halve(states: Any) -> Any:
        return states / 2 if torch.compiler.is_compiling() else states / 4

    chosen = speed.compile_for_prompts(halve, at=1)
    assert torch.equal(chosen(torch.ones(2, 5, 3)), torch.full((2, 5, 3), 0.5))
    assert torch.equal(chosen(torch.ones(2, 1, 3)), torch.full((2, 1, 3), 0.25))
    assert speed.compile_for_prompts(chosen, at=1) is chosen
