"""Making transformers' models faster on a GPU: attention without copies, and compiled parts.

- Vision towers that take images of any size (Qwen2-VL and its descendants, GLM-4V and others) attend within
  each image or window of a long sequence. Without a flash-attention package transformers does that in a loop
  over the windows, thousands of small kernels per layer: on an H200 the tower of Qwen2.5-VL-7B took 4.4 s for
  32 images of a megapixel, 1.2 s with `attend_varlen` and 0.6 s with its blocks compiled as well.
- Most decoders have fewer heads of keys than of queries. While rows of different length are decoded, older
  versions of transformers copy the keys and values for every head of queries; `attend_grouped` does not.
- `compile_prompts` fuses what stands around the matrix products of the decoder's layers. Single tokens take
  the plain path: a step is bound by Python, and calling compiled code costs more of it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

Tensor: TypeAlias = Any

# transformers hands over the lengths of the sequences to every implementation that has "flash" in its name.
VARLEN = "eyechart_flash_varlen"
GROUPED = "eyechart_grouped"


def speed_up(model: Any, *, is_compiled: bool) -> None:
    """Do what helps this model on its device; on a CPU nothing."""
    if model.device.type != "cuda":
        return
    tower = find_tower(model)
    if tower is not None and can_attend_varlen(model, tower):
        AttentionInterface.register(VARLEN, attend_varlen)
        for part in tower.modules():
            if hasattr(part, "config"):  # most share one
                part.config._attn_implementation = VARLEN
    use_grouped_attention(model.get_decoder())
    align_tower(tower)
    if is_compiled:
        for block in getattr(tower, "blocks", ()):
            block.compile(dynamic=True)
        compile_prompts(model.get_decoder())


def find_tower(model: Any) -> Any:
    """The vision tower, if the model keeps it under one of the usual names."""
    inner = getattr(model, "model", model)
    return next((found for name in ("visual", "vision_tower") if (found := getattr(inner, name, None))), None)


# -- Attention


def can_attend_varlen(model: Any, tower: Any) -> bool:
    """Whether the tower works on one long sequence, in a precision that torch's kernel takes."""
    is_long = any(name.endswith("get_rope_index") for name in dir(getattr(model, "model", model)))
    is_half = model.dtype in (torch.bfloat16, torch.float16)
    is_usual = tower.config._attn_implementation in ("sdpa", "eager")
    return is_long and is_half and is_usual and _find_kernel() is not None


def _find_kernel() -> Any:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None
    return varlen_attn


def attend_varlen(
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


def use_grouped_attention(decoder: Any) -> None:
    """Let a decoder with torch's own attention use `attend_grouped`."""
    if decoder.config._attn_implementation == "sdpa":
        AttentionInterface.register(GROUPED, attend_grouped)
        AttentionMaskInterface.register(GROUPED, sdpa_mask)
        decoder.config._attn_implementation = GROUPED


def attend_grouped(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """As "sdpa", but for single tokens the queries that share a head of keys are its sequence of queries."""
    n_rows, n_heads, n_tokens, width = query.shape
    is_shared = attention_mask is not None and attention_mask.shape[1] == 1
    if n_tokens > 1 or key.shape[1] == n_heads or not is_shared or more.get("position_bias") is not None:
        out: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **more
        )
        return out
    groups = query.reshape(n_rows, key.shape[1], -1, width)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        groups, key, value, attn_mask=attention_mask, scale=scaling
    )
    return mixed.reshape(n_rows, 1, n_heads, -1), None


# -- Shapes that matrix products like


def align_tower(tower: Any) -> None:
    """Patches by a matrix product instead of a convolution, and widths that are multiples of 64 in the tower.

    The results are the same: a convolution whose kernel is as large as its step and its input is a product,
    and weights of zero add nothing. Qwen2.5-VL's width of 3,420 makes every product of its tower slower.
    """
    if tower is None or any(hasattr(part, "_hf_hook") for part in tower.modules()):
        return  # accelerate moves its weights, and expects them as they were
    for part in tower.modules():
        if isinstance(part, torch.nn.Conv3d) and part.kernel_size == part.stride and part.groups == 1:
            part.forward = functools.partial(_convolve_patches, part, part.forward)
        if all(isinstance(getattr(part, name, None), torch.nn.Linear) for name in _GATED):
            _widen(part)


_GATED = ("gate_proj", "up_proj", "down_proj")


def _convolve_patches(part: Any, convolve: Callable[[Tensor], Tensor], patches: Tensor) -> Tensor:
    if patches.shape[2:] != part.kernel_size:
        return convolve(patches)
    made = torch.nn.functional.linear(patches.flatten(1), part.weight.flatten(1), part.bias)
    return made[:, :, None, None, None]


def _widen(part: Any) -> None:
    missing = -part.down_proj.in_features % 64
    if not missing or any(type(getattr(part, name)) is not torch.nn.Linear for name in _GATED):
        return  # as it should be, or quantised
    pad = torch.nn.functional.pad
    part.published_width = part.down_proj.in_features
    with torch.no_grad():
        for one in (part.gate_proj, part.up_proj):
            one.weight = torch.nn.Parameter(pad(one.weight, (0, 0, 0, missing)), requires_grad=False)
            if one.bias is not None:
                one.bias = torch.nn.Parameter(pad(one.bias, (0, missing)), requires_grad=False)
            one.out_features += missing
        down = part.down_proj
        down.weight = torch.nn.Parameter(pad(down.weight, (0, missing)), requires_grad=False)
        down.in_features += missing


def list_tensors(model: Any) -> dict[str, Tensor]:
    """The model's tensors by name, in the shapes of its folder: without what `align_tower` has added."""
    own: dict[str, Tensor] = dict(model.state_dict())
    for place, part in model.named_modules():
        if width := getattr(part, "published_width", 0):
            for name in [f"{place}.{half}.{kind}" for half in _GATED[:2] for kind in ("weight", "bias")]:
                if name in own:
                    own[name] = own[name][:width]
            own[f"{place}.down_proj.weight"] = own[f"{place}.down_proj.weight"][:, :width]
    return own


# -- Compiled parts


def compile_prompts(decoder: Any) -> None:
    """Compile norms, activations and rotary positions for prompts."""
    for layer in getattr(decoder, "layers", ()):
        for name in ("input_layernorm", "post_attention_layernorm", "mlp"):
            part = getattr(layer, name, None)
            if isinstance(part, torch.nn.Module):
                part.forward = compile_for_prompts(part.forward, at=1)
    modules = {
        type(part).__module__ for part in decoder.modules() if type(part).__name__.endswith("Attention")
    }
    for module in map(sys.modules.__getitem__, modules):
        for name, function in vars(module).copy().items():
            if name in ("apply_rotary_pos_emb", "apply_multimodal_rotary_pos_emb"):
                setattr(module, name, compile_for_prompts(function, at=2))


def compile_for_prompts(function: Callable[..., Any], *, at: int) -> Callable[..., Any]:
    """The compiled function where the first tensor has several tokens in that dimension, else the plain."""
    if hasattr(function, "plain"):  # compiled for an earlier model
        return function
    compiled = torch.compile(function, dynamic=True)

    @functools.wraps(function)
    def choose(first: Tensor, *others: Any, **named: Any) -> Any:
        return (compiled if first.shape[at] > 1 else function)(first, *others, **named)

    choose.plain = function  # type: ignore[attr-defined]
    return choose
