"""Weights that stay in memory from one run to the next, for the checkpoints of one training.

In a block of `keep_weights` a run leaves its model behind. The next one takes it if configuration and options
are the same: the weights of another folder are copied into its tensors, so that nothing is allocated or
compiled again, and those of the same folder are used as they are. What a processor has made of a question is
kept as well, for all checkpoints whose processors have the same files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import torch
import transformers
from safetensors import safe_open

from eyechart.models.hf.decode import Tensor
from eyechart.models.hf.speed import list_tensors
from eyechart.types import Image, Message

if TYPE_CHECKING:
    from eyechart.models.hf.weights import Checkpoint

_MOST_BYTES = 4 * 2**30  # of processed questions, at most; and no more than a quarter of the free memory
_ASIDE: dict[str, Any] = {"max_tokens": 1, "temperature": 0.0, "seed": 0, "top_p": None, "top_k": None,
          "repetition_penalty": None, "template": {}, "processor": {}, "batch_size": None}  # fmt: skip
_PROCESSOR = ("*processor*", "*token*", "chat_template*", "vocab*", "merges*")


class _Kept:
    """What one block keeps."""

    def __init__(self, lent: Any = None) -> None:
        self.lent = lent  # a model that has the weights already, as a trainer's
        self.model: Any = None
        self.key = self.content = ""
        self.inputs: dict[bytes, Mapping[str, Tensor]] = {}
        self.making: dict[bytes, threading.Lock] = {}
        self.processors: dict[str, str] = {}
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
        self.bytes_left = min(_MOST_BYTES, free // 4)
        self.lock = threading.Lock()


_kept: _Kept | None = None


@contextlib.contextmanager
def keep_weights(lent: Any = None) -> Iterator[None]:
    """Let the runs in the block use one model in memory; with `lent`, that one, whatever folder they name."""
    global _kept
    before, _kept = _kept, _Kept(lent)
    try:
        yield
    finally:
        _kept = before


def has_lent_model() -> bool:
    """Whether the runs use a model that the caller owns, such as a trainer's."""
    return _kept is not None and _kept.lent is not None


def take_model(checkpoint: Checkpoint) -> Any:
    """A model in memory with these weights; None if one has to be loaded."""
    if _kept is None or _kept.lent is not None or _kept.model is None:
        return None if _kept is None else _kept.lent
    torch.cuda.empty_cache()  # what the streams of the run before have reserved serves no other stream
    content = str(checkpoint.identity.get("sha256", ""))
    is_alike = bool(content) and _kept.key == _describe(checkpoint)
    if is_alike and (content == _kept.content or copy_weights(_kept.model, checkpoint)):
        _kept.content = content
        return _kept.model
    _kept.model = None  # before the next one is loaded: both may not fit
    torch.cuda.empty_cache()
    return None


def leave_model(checkpoint: Checkpoint, model: Any) -> None:
    """Keep a model for the next run; outside of a block nothing happens."""
    if _kept is not None and _kept.lent is None and checkpoint.device != "auto":
        _kept.model, _kept.key = model, _describe(checkpoint)
        _kept.content = str(checkpoint.identity.get("sha256", ""))


def _describe(checkpoint: Checkpoint) -> str:
    """What must be equal for one model to take the weights of another."""
    config = {name: one for name, one in checkpoint.config.to_dict().items() if name[0] != "_"}
    config.pop("transformers_version", None)
    options = msgspec.structs.replace(checkpoint.options, **_ASIDE)
    return json.dumps([config, repr(options), checkpoint.device, str(checkpoint.dtype)], default=str)


def copy_weights(model: Any, checkpoint: Checkpoint) -> bool:
    """Copy a checkpoint's weights into the tensors of a model; False if they do not fit, nothing changed."""
    if checkpoint.options.adapter or getattr(checkpoint.config, "quantization_config", None) is not None:
        return False
    own = list_tensors(model)
    with torch.no_grad():
        files = sorted(Path(checkpoint.where).glob("*.safetensors"))
        if not _copy_files(_list_saved_names(model), files):
            # Tensors may have been split or merged since: the library knows how.
            other = transformers.AutoModelForImageTextToText.from_pretrained(
                checkpoint.where,
                dtype=checkpoint.dtype,
                trust_remote_code=checkpoint.options.trust_remote_code,
            ).state_dict()
            if {name: one.shape for name, one in own.items()} != {n: one.shape for n, one in other.items()}:
                return False
            for name, one in other.items():
                own[name].copy_(one)
    with contextlib.suppress(OSError):  # there is none
        model.generation_config = transformers.GenerationConfig.from_pretrained(checkpoint.where)
    return True


def _list_saved_names(model: Any) -> Mapping[str, Tensor]:
    """The model's tensors by their names in the folder that it came from, where only names differ."""
    own = list_tensors(model)
    with contextlib.suppress(Exception):  # the inside of a library: without it, loading takes longer
        from transformers.core_model_loading import revert_weight_conversion

        saved = revert_weight_conversion(model, dict(own))
        places = {(one.data_ptr(), one.shape) for one in own.values()}
        if len(saved) == len(own) and all((one.data_ptr(), one.shape) in places for one in saved.values()):
            return dict(saved)
    return own


def _copy_files(own: Mapping[str, Tensor], files: Sequence[Path]) -> bool:
    """Copy file by file, straight to the device, if the files have every tensor by its name in the model."""
    with contextlib.ExitStack() as opened:
        readers = [opened.enter_context(safe_open(str(file), framework="pt")) for file in files]
        names = [(name, reader) for reader in readers for name in [*reader.keys()]]
        shapes = {name: tuple(reader.get_slice(name).get_shape()) for name, reader in names}
        if any(name not in own or tuple(own[name].shape) != shape for name, shape in shapes.items()):
            return False
        given = {own[name].data_ptr() for name in shapes}
        if any(one.data_ptr() not in given for name, one in own.items() if name not in shapes):
            return False  # what is missing has to be tied to something that is there
        for name, reader in names:
            own[name].copy_(reader.get_tensor(name))
    return bool(files)


# -- Processed questions


def keep_inputs(
    checkpoint: Checkpoint, messages: Sequence[Message], make: Callable[[], Mapping[str, Tensor]]
) -> Mapping[str, Tensor]:
    """What the processor makes of a question, from an earlier checkpoint if it was kept."""
    kept = _kept
    if kept is None:
        return make()
    if checkpoint.where not in kept.processors:
        kept.processors[checkpoint.where] = _hash_processor(checkpoint)
    digest = hashlib.sha256(kept.processors[checkpoint.where].encode())
    for turn in messages:
        for part in turn.parts:
            told = part.sha256 if isinstance(part, Image) else f"text {part}"
            digest.update(f"{turn.role} {len(told)} {told}".encode("utf-8", "surrogatepass"))
    key = digest.digest()
    with kept.lock:
        making = kept.making.setdefault(key, threading.Lock())
    with making:  # another thread may be preparing the same question
        if (found := kept.inputs.get(key)) is None:
            found = make()
            n_bytes = sum(one.numel() * one.element_size() for one in found.values())
            with kept.lock:
                if n_bytes <= kept.bytes_left:
                    kept.bytes_left -= n_bytes
                    kept.inputs[key] = found
    return dict(found)


def _hash_processor(checkpoint: Checkpoint) -> str:
    """A digest of the files that a processor is made of."""
    digest = hashlib.sha256(repr((checkpoint.options.processor, checkpoint.options.template)).encode())
    folder = Path(checkpoint.where)
    files = {path for pattern in _PROCESSOR for path in folder.glob(pattern) if path.is_file()}
    if not files:
        digest.update(checkpoint.where.encode())
    for path in sorted(files):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
