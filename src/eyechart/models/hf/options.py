"""The parameters of a model of local weights: where it runs, how it is loaded, how it generates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from eyechart.errors import UsageError
from eyechart.models.specs import refuse_unknown

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class HfOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``--param NAME=VALUE`` can set, with ``--temperature``, ``--max-tokens`` and ``--seed``.

    What is None is the checkpoint's own, as its generation_config.json says.
    """

    device: str | None = None  # "cuda", "cuda:1", "cpu", "auto": spread over all by accelerate
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    attention: str | None = None  # sdpa, eager, flash_attention_2, ... as transformers calls them
    compile: bool = False  # vision blocks, norms and activations: half a minute once, then faster
    batch_size: _Positive | None = None  # rows; None: as many as memory allows
    replicas: _Positive | None = None  # processes with the weights; None: one per GPU
    revision: str | None = None
    adapter: str | None = None
    trust_remote_code: bool = False
    processor: dict[str, Any] = {}  # processor.max_pixels=... and so on, of AutoProcessor.from_pretrained
    load: dict[str, Any] = {}  # load.NAME=..., of AutoModelForImageTextToText.from_pretrained
    template: dict[str, Any] = {}  # template.enable_thinking=false and so on, of the chat template

    max_tokens: _Positive = 1024
    temperature: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    seed: int = 0
    top_p: _Share | None = None
    top_k: Annotated[int, msgspec.Meta(ge=0)] | None = None
    repetition_penalty: Annotated[float, msgspec.Meta(gt=0)] | None = None

    @classmethod
    def read(cls, parameters: Mapping[str, Any], *, who: str) -> HfOptions:
        """Check the parameters of a run."""
        refuse_unknown(set(parameters), set(cls.__struct_fields__), who=who)
        try:
            return msgspec.convert(dict(parameters), cls)
        except msgspec.ValidationError as err:
            raise UsageError(f"{who}: {err}", hint="see: eyechart docs checkpoint") from err
