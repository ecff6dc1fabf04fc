"""Local weights: ``hf/FOLDER`` or ``hf/ORG/NAME``, any image-text-to-text model that transformers can load.

`HfModel` (model.py) prepares requests in threads and hands them to an `Engine`, which decodes them
in batches. torch and transformers are imported when a model is made, never before.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eyechart.errors import MissingExtra, UsageError
from eyechart.models.specs import refuse_unknown
from eyechart.registry import model
from eyechart.types import Model, ModelSettings


@model("hf")
def hf(name: str, settings: ModelSettings) -> Model:
    """The model in a folder, or of the Hugging Face hub."""
    return open_model(name, f"hf/{name}", settings)


def open_model(where: str, name: str, settings: ModelSettings) -> Model:
    """The model of a folder or of the hub under any name, as `baseline/tiny-vlm` is one."""
    for library in ("torch", "transformers"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra.named("hf", needed_for=f"local weights ({name})")
    from eyechart.models.hf.replicas import open_replicas

    return open_replicas(where, name, settings)


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


# -- Checkpoints on disk, also for servers of weights

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_TEXTS = (".json", ".jinja", ".txt", ".model", ".py")
_SAMPLES = 64  # places at which a large file of weights is read
_SAMPLE_BYTES = 64 * 1024


def find_weights(name: str, provider: str) -> str:
    """The folder of that name if there is one, else the name on the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        hint = f"write {provider}/PATH for a folder, or {provider}/ORG/NAME for a model of the hub"
        raise UsageError(f"{provider}/{name}: no such folder", hint=hint)
    return name


def hash_checkpoint(folder: Path) -> str:
    """A digest of configuration, tokenizer and weights; of large files, parts all over them.

    Weights change everywhere when a model is trained further, so that a few megabytes tell two checkpoints of
    the same size apart; reading all of them would take minutes.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (*_WEIGHTS, *_TEXTS) or not path.is_file():
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        is_whole = path.suffix in _TEXTS or size <= _SAMPLES * _SAMPLE_BYTES
        with path.open("rb") as file:
            for begin in [0] if is_whole else range(0, size, max(1, (size - _SAMPLE_BYTES) // _SAMPLES)):
                file.seek(begin)
                digest.update(file.read() if is_whole else file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
