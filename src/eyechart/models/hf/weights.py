"""Loading a checkpoint: configuration and processor at once, weights with the first request.

In a block of `keep_weights` a run leaves its model in memory, for the checkpoints of one training. The next
run takes it if configuration and options are the same: the weights of another folder are copied into its
tensors, so that nothing is allocated or compiled again, and those of the same folder are used as they are.
What a processor has made of a question is kept, too, for all checkpoints with the same files of a processor.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import torch
import transformers
from safetensors import safe_open

from eyechart.errors import UsageError
from eyechart.models.hf import HfOptions, find_weights, hash_checkpoint
from eyechart.models.hf.decode import Decoder, Sampling, Tensor
from eyechart.models.hf.engine import BatchLimits
from eyechart.models.hf.speed import list_tensors, speed_up
from eyechart.types import Image, Message


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model on disk or on the hub: everything but its weights is loaded."""

    where: str  # a folder, or the name on the hub
    options: HfOptions
    config: Any
    processor: Any
    device: str
    dtype: Any

    @property
    def identity(self) -> dict[str, Any]:
        """What tells one checkpoint from another: the content of a folder, the commit of a hub's model."""
        found: dict[str, Any] = {"dtype": str(self.dtype).removeprefix("torch.")}
        if Path(self.where).is_dir():
            found["sha256"] = hash_checkpoint(Path(self.where))
        else:
            commit = getattr(self.config, "_commit_hash", None)
            found["revision"] = commit or self.options.revision or "main"
        if self.options.adapter:
            adapter = Path(self.options.adapter)
            found["adapter"] = hash_checkpoint(adapter) if adapter.is_dir() else self.options.adapter
        return found


def open_checkpoint(name: str, options: HfOptions) -> Checkpoint:
    """Load configuration and processor; raises an error that says what is missing."""
    where = find_weights(name, "hf")
    configs = (Path(where, one) for one in ("config.json", "adapter_config.json"))
    if Path(where).is_dir() and not any(one.is_file() for one in configs):
        hint = "name the folder that save_pretrained wrote"
        raise UsageError(f"hf/{name}: the folder has no config.json", hint=hint)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    common = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    with explain_errors(f"hf/{name}"):
        config = transformers.AutoConfig.from_pretrained(where, **common)
        _refuse_other_kinds(config, f"hf/{name}")
        processor = transformers.AutoProcessor.from_pretrained(where, **common, **options.processor)
    tokenizer = getattr(processor, "tokenizer", None)
    if tokenizer is None:
        raise UsageError(
            f"hf/{name} has no processor for images and text, only {type(processor).__name__}",
            hint="it needs preprocessor_config.json or processor_config.json beside its tokenizer",
        )
    tokenizer.padding_side = "left"
    usual = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = options.device or usual
    return Checkpoint(where, options, config, processor, device, choose_dtype(config, options.dtype, device))


def _refuse_other_kinds(config: Any, who: str) -> None:
    """Encoders with a decoder, and images by cross-attention: `decode` has no place for their states."""
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False) or kind == "mllama":
        raise UsageError(
            f"{who}: models of the kind {kind} are not supported here",
            hint="serve it and use -m openai/NAME --base-url URL, or write a class: python:FILE.py:NAME",
        )


@contextlib.contextmanager
def explain_errors(who: str) -> Iterator[None]:
    """What transformers raises while loading, as one message."""
    try:
        yield
    except UsageError:
        raise
    except ImportError as err:  # says which library it wants, at length
        missing = "torchvision" if "orchvision" in str(err) else ""
        hint = f"pip install {missing}" if missing else "install the library that it names"
        raise UsageError(f"{who} needs another library: {_first_line(err)}", hint=hint) from err
    except Exception as err:
        hint = "weights are a folder (hf/PATH) or a model of the hub (hf/ORG/NAME); is the name right?"
        if "trust_remote_code" in str(err):
            hint = "it needs the checkpoint's own code: read it, then add --param trust_remote_code=true"
        raise UsageError(f"{who} cannot be loaded: {_first_line(err)}", hint=hint) from err


def _first_line(err: Exception) -> str:
    lines = [line.strip() for line in str(err).splitlines() if line.strip()]
    return f"{type(err).__name__}: {lines[0] if lines else ''}"


def choose_dtype(config: Any, wanted: str, device: str) -> Any:
    """As the checkpoint was saved; on a CPU, where half precision is slow, 32 bits unless told otherwise."""
    if wanted != "auto":
        return getattr(torch, wanted)
    saved = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None)
    return torch.float32 if device == "cpu" or saved is None else saved


def load_decoder(checkpoint: Checkpoint) -> tuple[Decoder, BatchLimits]:
    """Load the weights onto their device, or take them from the run before (`keep_weights`)."""
    model = take_model(checkpoint)
    if model is None:
        model = _load_model(checkpoint)
        leave_model(checkpoint, model)
    tokenizer, stated = checkpoint.processor.tokenizer, model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(stated if isinstance(stated, list) else [stated])} - {None}
    # Any token would do for padding, since the mask hides it.
    pad_id = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    decoder = Decoder(model, pad_id=int(pad_id or 0), end_ids=set(map(int, ends)))
    return decoder, choose_limits(model, checkpoint.options.batch_size)


def _load_model(checkpoint: Checkpoint) -> Any:
    options, device = checkpoint.options, checkpoint.device
    more = dict(options.load)
    if options.attention:
        more["attn_implementation"] = options.attention
    is_placed = "device_map" in more
    if device == "auto" or getattr(checkpoint.config, "quantization_config", None) is not None:
        more.setdefault("device_map", device)  # needs accelerate
        is_placed = True
    with explain_errors(checkpoint.where):
        model = transformers.AutoModelForImageTextToText.from_pretrained(
            checkpoint.where,
            dtype=checkpoint.dtype,
            revision=options.revision,
            trust_remote_code=options.trust_remote_code,
            **more,
        )
        if options.adapter:
            model.load_adapter(options.adapter)
        if not is_placed:
            model.to(device)
    model.eval()
    if not options.attention:
        speed_up(model, is_compiled=options.compile)
    return model


# A CPU gains nothing from larger batches.
_CPU_LIMITS = BatchLimits(rows=16, tokens=2**14, prompt_tokens=2**14, ready_bytes=4 * 2**30)
_MOST_ROWS = 512
_MOST_PROMPT_TOKENS = 64 * 1024  # a GPU is busy with them for a second, and gains nothing beyond
_SHARE = 0.8  # of the free memory that batches may take
_PROMPT_SHARE = 0.3  # of that for the activations of prompts, at most
_PROMPTS_AT_ONCE = 2  # `Decoder.start` has two streams


def choose_limits(model: Any, batch_size: int | None) -> BatchLimits:
    """As many tokens as fit beside the weights; if the guess is too high, the engine halves it.

    A token takes its keys and values in every layer and, while the prompt runs, the widest activations: three
    times the intermediate size and eight times the hidden size. For Qwen2.5-VL-7B in bfloat16 that is 57 KB
    and 171 KB; a batch of 128 x 1,319 tokens that ran at once took 49 GiB with 16.6 GB of weights, or 213 KB
    per token.
    """
    if model.device.type != "cuda":
        given = {} if batch_size is None else {"rows": batch_size, "tokens": 2**31, "prompt_tokens": 2**31}
        return replace(_CPU_LIMITS, **given)
    text = model.config.get_text_config(decoder=True)
    n_bytes = torch.finfo(model.dtype).bits // 8
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head_dim = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    kept = 2 * text.num_hidden_layers * heads * head_dim * n_bytes
    active = (3 * getattr(text, "intermediate_size", 4 * text.hidden_size) + 8 * text.hidden_size) * n_bytes
    free, _ = torch.cuda.mem_get_info(model.device)
    # what an earlier model of this process has left in torch's hands is free, too
    free += torch.cuda.memory_reserved(model.device) - torch.cuda.memory_allocated(model.device)
    active *= _PROMPTS_AT_ONCE
    prompt_tokens = min(_MOST_PROMPT_TOKENS, int(_PROMPT_SHARE * _SHARE * free / active))
    tokens = int((_SHARE * free - prompt_tokens * active) / kept)
    return BatchLimits(batch_size or _MOST_ROWS, tokens, prompt_tokens, min(4 * 2**30, free // 16))


_own = threading.local()


def send_ahead(inputs: dict[str, Tensor], device: str) -> Mapping[str, Tensor]:
    """The tensors of a row on the GPU, copied while it computes something else; on a CPU as they are."""
    if not device.startswith("cuda"):
        return inputs
    if not hasattr(_own, "stream"):
        _own.stream = torch.cuda.Stream(device)
    try:
        with torch.cuda.stream(_own.stream):
            sent = {name: one.pin_memory().to(device, non_blocking=True) for name, one in inputs.items()}
    except torch.OutOfMemoryError:  # `Decoder.start` sends them
        return inputs
    _own.stream.synchronize()
    return sent


def read_sampling(checkpoint: Checkpoint) -> Sampling:
    """Greedy unless a temperature is given; the rest as given, else as the checkpoint's authors set it."""
    options = checkpoint.options
    try:
        usual = transformers.GenerationConfig.from_pretrained(checkpoint.where, revision=options.revision)
    except OSError:  # there is none
        usual = transformers.GenerationConfig()

    def choose(name: str, neutral: Any) -> Any:
        given = getattr(options, name)
        return given if given is not None else getattr(usual, name, None) or neutral

    return Sampling(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        top_p=float(choose("top_p", 1.0)),
        top_k=int(choose("top_k", 0)),
        repetition_penalty=float(choose("repetition_penalty", 1.0)),
        seed=options.seed,
    )


# -- Weights that stay in memory from one run to the next

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
