"""Loading a checkpoint: configuration and processor at once, weights with the first request."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers

from eyechart.errors import UsageError
from eyechart.models.hf import HfOptions, find_weights, hash_checkpoint
from eyechart.models.hf.decode import Decoder, Sampling, Tensor
from eyechart.models.hf.engine import BatchLimits
from eyechart.models.hf.kept import leave_model, take_model
from eyechart.models.hf.speed import speed_up


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
    """Load the weights onto their device, or take them from the run before (`kept.keep_weights`)."""
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
