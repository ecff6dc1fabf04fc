"""Making vision towers fast: variable-length attention without an extra package, and compiled blocks.

Towers that take images of any size (Qwen2-VL and its descendants, GLM-4V and others) attend within each image
or window of a long sequence. Without a flash-attention package transformers does that in a loop over the
windows, thousands of small kernels per layer: on an H200 the tower of Qwen2.5-VL-7B took 4.4 s for 32 images
of a megapixel, 1.2 s with a function as below and 0.6 s with its blocks compiled as well.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from transformers import AttentionInterface

Tensor: TypeAlias = Any

# transformers hands over the lengths of the sequences to every implementation that has "flash" in its name.
NAME = "eyechart_flash_varlen"


def speed_up_vision(model: Any, *, is_compiled: bool) -> None:
    """Use variable-length attention where the tower can, and compile its blocks if wanted."""
    tower = find_tower(model)
    if tower is None:
        return
    if can_attend_varlen(model, tower):
        AttentionInterface.register(NAME, attend)
        for part in tower.modules():
            if hasattr(part, "config"):  # most share one
                part.config._attn_implementation = NAME
    if is_compiled:
        for block in tower.blocks if hasattr(tower, "blocks") else []:
            block.compile(dynamic=True)


def compile_text(model: Any) -> None:
    """Compile what stands around the matrix products of the decoder's layers: norms and activations."""
    for layer in getattr(model.get_decoder(), "layers", ()):
        for name in ("input_layernorm", "post_attention_layernorm", "mlp"):
            part = getattr(layer, name, None)
            if isinstance(part, torch.nn.Module):
                part.compile(dynamic=True)


def find_tower(model: Any) -> Any:
    """The vision tower, if the model keeps it under one of the usual names."""
    inner = getattr(model, "model", model)
    return next((found for name in ("visual", "vision_tower") if (found := getattr(inner, name, None))), None)


def can_attend_varlen(model: Any, tower: Any) -> bool:
    """Whether the tower works on one long sequence, on a GPU whose torch has the kernel."""
    is_long = any(name.endswith("get_rope_index") for name in dir(getattr(model, "model", model)))
    is_half = model.dtype in (torch.bfloat16, torch.float16)
    is_usual = tower.config._attn_implementation in ("sdpa", "eager")
    return is_long and is_half and is_usual and model.device.type == "cuda" and _find_kernel() is not None


def _find_kernel() -> Any:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None
    return varlen_attn


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **lengths: Any,
) -> tuple[Tensor, None]:
    """Attention of transformers' interface (1 x heads x tokens x dimensions), each sequence for itself."""
    heads = [one.squeeze(0).transpose(0, 1) for one in (query, key, value)]
    usual = query.shape[-1] ** -0.5
    scale = {} if scaling is None or abs(scaling - usual) < 1e-9 else {"scale": scaling}
    begins = lengths["cu_seq_lens_q"].to(torch.int32)
    longest = int(lengths["max_length_q"])
    out = _find_kernel()(*heads, begins, begins, longest, longest, **scale)
    return out.unsqueeze(0), None
