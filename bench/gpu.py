"""How fast local weights run on a GPU: random weights at the size of Qwen2.5-VL-7B, without a network.

    python bench/gpu.py [--samples 512] [--runs 3] [--ours] [--eager] [--ragged] [--tiny --side 112]

One image of 1008 x 1008 pixels and 60 tokens of text per sample, 32 new tokens forced, bfloat16. Measured are
the loop that most evaluators have (one question at a time), stock `generate` on prepared batches of 32, whole
runs of eyechart (preparation and journal included), and the floor: the arithmetic of a sample at the speed of
large matrix products on this GPU. `--ragged` has questions of 20 to 60 tokens. `--watch 10` measures what ten
checkpoints cost beside their generation. `--tiny` tries it on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from PIL import Image as Pictures
from transformers import AutoConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

import eyechart as ec
from eyechart.models.hf import HfOptions
from eyechart.models.hf.decode import Decoder, Row
from eyechart.models.hf.engine import BatchLimits, Engine
from eyechart.models.hf.model import HfModel
from eyechart.models.hf.speed import speed_up
from eyechart.models.hf.weights import Checkpoint, choose_limits

NEW_TOKENS, TEXT_TOKENS = 32, 60
START, END, IMAGE = 151652, 151653, 151655
TEXT = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 128000,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
}  # fmt: skip
VISION = {
    "depth": 32, "hidden_size": 1280, "num_heads": 16, "intermediate_size": 3420, "out_hidden_size": 3584,
    "patch_size": 14, "spatial_merge_size": 2, "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31],
}  # fmt: skip
TINY_TEXT = {
    **TEXT, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "rope_parameters": {**TEXT["rope_parameters"], "mrope_section": [2, 3, 3]},  # type: ignore[dict-item]
}  # fmt: skip
TINY_VISION = {
    **VISION, "depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64,
    "fullatt_block_indexes": [1],
}  # fmt: skip


class Processor:
    """As Qwen2.5-VL's processor, whose video half needs torchvision: the images' own, and invented words."""

    chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"

    def __init__(self, *, is_ragged: bool) -> None:
        self.is_ragged = is_ragged
        self.images = Qwen2VLImageProcessorPil(min_pixels=56 * 56, max_pixels=1008 * 1008)
        self.tokenizer = self
        self.pad_token_id, self.eos_token_id = 151643, 151645

    def apply_chat_template(self, turns: list[Any], *, tokenize: bool = True, **_: Any) -> Any:
        if not tokenize:
            return json.dumps(turns)
        pictures = [part["image"] for turn in turns for part in turn["content"] if part["type"] == "image"]
        made = self.images(pictures, return_tensors="pt")
        n_image = int(made["image_grid_thw"].prod(-1).sum()) // 4
        rng = random.Random(str(turns[-1]["content"][-1]["text"]))
        n_words = rng.randint(20, TEXT_TOKENS) if self.is_ragged else TEXT_TOKENS
        words = rng.choices(range(1000, 90000), k=n_words)
        ids = torch.tensor([[START, *[IMAGE] * n_image, END, *words]])
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "mm_token_type_ids": (ids == IMAGE).int(),
            "pixel_values": made["pixel_values"],
            "image_grid_thw": made["image_grid_thw"],
        }

    def decode(self, tokens: list[int], **_: Any) -> str:
        return " ".join("".join("abcdefghij"[int(digit)] for digit in str(token)) for token in tokens)


def build_model(device: str, dtype: Any, *, is_tiny: bool) -> Any:
    config = Qwen2_5_VLConfig(
        text_config={"model_type": "qwen2_5_vl_text", **(TINY_TEXT if is_tiny else TEXT)},
        vision_config=TINY_VISION if is_tiny else VISION,
        image_token_id=IMAGE,
        vision_start_token_id=START,
        vision_end_token_id=END,
    )
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration(config)
    torch.set_default_dtype(torch.float32)
    return model.eval()


def write_samples(folder: Path, n: int, side: int) -> Path:
    """JPEG images with some texture, 32 of them, and questions that share them."""
    rng = random.Random(0)
    for k in range(32):
        small = Pictures.new("RGB", (64, 64))
        small.putdata([tuple(rng.randrange(256) for _ in range(3)) for _ in range(64 * 64)])
        small.resize((side, side), Pictures.Resampling.BICUBIC).save(folder / f"{k}.jpg", quality=90)
    rows = [
        {"id": str(k), "question": f"Question {k}?", "image": f"{k % 32}.jpg", "answer": "1"}
        for k in range(n)
    ]
    source = folder / f"samples-{n}.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    return source


def ask(processor: Processor, folder: Path, k: int) -> dict[str, Any]:
    picture = Pictures.open(folder / f"{k % 32}.jpg").convert("RGB")
    content = [{"type": "image", "image": picture}, {"type": "text", "text": f"Question {k}?"}]
    made: dict[str, Any] = processor.apply_chat_template([{"role": "user", "content": content}])
    return made


def measure_loop(model: Any, processor: Processor, folder: Path, n: int) -> float:
    """Samples per second, one at a time, preparation included."""
    began = time.perf_counter()
    for k in range(n):
        inputs = {name: one.to(model.device) for name, one in ask(processor, folder, k).items()}
        inputs["pixel_values"] = inputs["pixel_values"].to(model.dtype)
        generate(model, inputs)
    return n / (time.perf_counter() - began)


def measure_stock(model: Any, processor: Processor, folder: Path, n: int, size: int = 32) -> float:
    """Samples per second of stock `generate` on prepared batches."""
    rows = [ask(processor, folder, k) for k in range(size)]
    batch = {name: torch.cat([row[name] for row in rows]).to(model.device) for name in rows[0]}
    batch["pixel_values"] = batch["pixel_values"].to(model.dtype)
    generate(model, batch)
    synchronise(model)
    began = time.perf_counter()
    for _ in range(max(1, n // size)):
        generate(model, batch)
    synchronise(model)
    return max(1, n // size) * size / (time.perf_counter() - began)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def generate(model: Any, inputs: dict[str, Any]) -> Any:
    return model.generate(**inputs, max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False)


@dataclass
class Whole:
    """A whole run: its rate, when things happened (seconds from its start), and the rows of its prefills."""

    rate: float
    asked_s: float  # the first question was asked
    first_s: float  # the first reply
    last_s: float  # the last reply; what follows is the end of the run
    sizes: list[int]

    def __str__(self) -> str:
        return (
            f"asked after {self.asked_s:.1f} s, first reply {self.first_s:.1f} s, last "
            f"{self.last_s:.1f} s; prompts in parts of {self.sizes}"
        )


def measure_ours(model: Any, processor: Processor, source: Path, n: int) -> Whole:
    options = HfOptions(max_tokens=NEW_TOKENS)
    checkpoint = Checkpoint("bench/qwen", options, model.config, processor, str(model.device), model.dtype)
    made: list[HfModel] = []
    begun: list[float] = []
    ended: list[float] = []

    @ec.model("bench")
    def bench(name: str, settings: ec.ModelSettings) -> HfModel:
        ours = HfModel(f"bench/{name}", checkpoint)
        decoder = Decoder(model, pad_id=processor.pad_token_id, end_ids=())
        ours.engine = Engine(lambda: load(decoder), finish, name="bench")
        made.append(ours)
        return ours

    def load(decoder: Decoder) -> tuple[Decoder, BatchLimits]:
        begun.append(time.perf_counter())
        return decoder, choose_limits(model, None)

    def finish(row: Row) -> ec.Reply:
        ended.append(time.perf_counter())
        return made[0]._finish(row)

    with tempfile.TemporaryDirectory() as out:
        began = time.perf_counter()
        done = ec.run(source, model="bench/qwen", out=out, fresh=True)
        seconds = time.perf_counter() - began
        assert sum(done.outcomes.values()) == n
        assert not done.outcomes.get("failed"), done.outcomes
    asked, first, last = (one - began for one in (begun[0], ended[0], ended[-1]))
    return Whole(n / seconds, asked, first, last, made[0].engine.batch_sizes)


def measure_watch(
    model: Any, processor: Processor, source: Path, n_checkpoints: int, *, is_compiled: bool
) -> None:
    """Evaluate two folders of weights in turn, as `eyechart watch` does, and print what that costs.

    Generation is the time from a run's first prompts to its last reply.
    """
    spans: list[list[float]] = []  # of each run: when prompts were started and replies ended
    begin, finish = Decoder.start, HfModel._finish
    device, dtype = str(model.device), model.dtype

    def open_here(where: str, options: HfOptions) -> Checkpoint:
        spans.append([])
        return Checkpoint(where, options, AutoConfig.from_pretrained(where), processor, device, dtype)

    def note_begin(self: Decoder, rows: Any) -> Any:
        spans[-1].append(time.perf_counter())
        return begin(self, rows)

    def note_finish(self: HfModel, row: Row) -> ec.Reply:
        spans[-1].append(time.perf_counter())
        return finish(self, row)

    with tempfile.TemporaryDirectory() as place:
        for name in ("a", "b"):
            model.save_pretrained(Path(place, name))
            Path(place, name, "processor_config.json").write_text("{}")
            with torch.no_grad():
                for part in model.parameters():
                    part.mul_(1.01)
        Path(place, "ckpt").mkdir()
        for k in range(n_checkpoints):
            Path(place, "ckpt", f"step-{k + 1}").symlink_to(Path(place, "ab"[k % 2]))
        kind = f"hf,device={device},max_tokens={NEW_TOKENS}" + ",compile=true" * is_compiled
        with (
            mock.patch("eyechart.models.hf.model.open_checkpoint", open_here),
            mock.patch.object(Decoder, "start", note_begin),
            mock.patch.object(HfModel, "_finish", note_finish),
        ):
            began = time.perf_counter()
            watched = ec.watch(Path(place, "ckpt"), source, kind, out=f"{place}/runs", settle_s=0)
            seconds = time.perf_counter() - began
        [curve] = watched.curves()
        assert len(curve.points) == n_checkpoints
        generation = [max(one) - min(one) for one in spans if one]
        print(f"generation of each: {'  '.join(f'{one:.1f}' for one in generation)} s", flush=True)
        share = seconds / sum(generation)
        print(f"watch, {n_checkpoints} evaluations: {seconds:.1f} s, {share:.2f} of generation", flush=True)


def measure_floor(model: Any, n_tokens: int) -> float:
    """Samples per second if nothing but large matrix products took time."""
    size = 8192 if model.device.type == "cuda" else 512
    one = torch.randn(size, size, device=model.device, dtype=model.dtype)
    best = 1e9
    for _ in range(20):
        synchronise(model)
        began = time.perf_counter()
        one @ one
        synchronise(model)
        best = min(best, time.perf_counter() - began)
    rate = 2 * size**3 / best
    vision = sum(p.numel() for p in model.model.visual.blocks.parameters())
    text = sum(p.numel() for p in model.model.language_model.layers.parameters())
    head = model.lm_head.weight.numel()
    n_patches = 4 * (n_tokens - TEXT_TOKENS)
    full = model.config.vision_config.fullatt_block_indexes
    attention = 4 * n_patches**2 * model.config.vision_config.hidden_size * len(full)
    attention += (
        2 * n_tokens**2 * model.config.text_config.hidden_size * len(model.model.language_model.layers)
    )
    work = 2 * vision * n_patches + 2 * text * (n_tokens + NEW_TOKENS) + 2 * head * NEW_TOKENS + attention
    print(f"floor: {work / 1e12:.1f} TFLOP per sample at {rate / 1e12:.0f} TFLOP/s", flush=True)
    return float(rate / work)


def synchronise(model: Any) -> None:
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--samples", type=int, default=512)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--side", type=int, default=1008, help="pixels of an image's side")
    arguments.add_argument("--ours", action="store_true", help="measure eyechart alone")
    arguments.add_argument("--eager", action="store_true", help="without compile")
    arguments.add_argument("--ragged", action="store_true", help="questions of different length")
    arguments.add_argument(
        "--watch", type=int, metavar="N", help="only: N evaluations of two folders of weights in turn"
    )
    arguments.add_argument("--tiny", action="store_true", help="a tiny model on the CPU, to try the script")
    given = arguments.parse_args()
    device, dtype = ("cpu", torch.float32) if given.tiny else ("cuda", torch.bfloat16)
    print(
        f"torch {torch.__version__}, {torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}",
        flush=True,
    )
    model, processor = build_model(device, dtype, is_tiny=given.tiny), Processor(is_ragged=given.ragged)

    def report(name: str, measure: Callable[[], float]) -> None:
        rates = [measure() for _ in range(given.runs)]
        print(f"{name:<42} {'  '.join(f'{rate:6.2f}' for rate in rates)}  samples/s", flush=True)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        few, source = write_samples(folder, 64, given.side), write_samples(folder, given.samples, given.side)
        if given.watch:
            eager = given.eager or given.tiny
            measure_watch(model, processor, source, given.watch, is_compiled=not eager)
            return
        if not given.ours:
            n_tokens = ask(processor, folder, 0)["input_ids"].shape[1]
            floor = measure_floor(model, n_tokens)
            print(
                f"{'arithmetic floor':<42} {floor:6.2f}  samples/s, {n_tokens} tokens per sample", flush=True
            )
            measure_loop(model, processor, folder, 1)
            report("one at a time", lambda: measure_loop(model, processor, folder, 8))
            report("stock generate, batches of 32", lambda: measure_stock(model, processor, folder, 32))

        def ours() -> float:
            whole = measure_ours(model, processor, source, given.samples)
            print(f"  {whole}", flush=True)
            return whole.rate

        speed_up(model, is_compiled=not given.eager)
        began = time.perf_counter()
        measure_ours(model, processor, few, 64)
        print(f"  first 64 samples in {time.perf_counter() - began:.0f} s", flush=True)
        report(f"eyechart{', not compiled' * given.eager}{', ragged' * given.ragged}", ours)
        if device == "cuda":
            print(f"peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


if __name__ == "__main__":
    main()
