"""Variable-length attention in a vision tower gives the features of transformers' own loop."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from transformers import AttentionInterface

from extras.architectures import make_qwen25_vl
from eyechart.model.hf import vision


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
    tower = vision.find_tower(make_qwen25_vl())
    grid = torch.tensor([[1, 4, 6], [1, 8, 4]])
    pixels = torch.randn(56, 3 * 2 * 14 * 14, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = tower(pixels, grid_thw=grid).pooler_output
        monkeypatch.setattr(vision, "_find_kernel", lambda: attend_in_a_loop)
        AttentionInterface.register(vision.NAME, vision.attend)
        tower.config._attn_implementation = vision.NAME
        found = tower(pixels, grid_thw=grid).pooler_output
    assert torch.allclose(found, expected, atol=1e-5)
    assert expected.abs().max() > 0.1


def test_on_a_cpu_nothing_changes() -> None:
    model = make_qwen25_vl()
    before = vision.find_tower(model).config._attn_implementation
    vision.speed_up_vision(model, is_compiled=False)
    assert vision.find_tower(model).config._attn_implementation == before
