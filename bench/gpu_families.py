"""Four families of local weights on a GPU: the replies of stock `generate`, and whole runs at real size.

    python bench/gpu_families.py [--only qwen3-vl] [--large] [--questions 24] [--cpu]

Each family is a folder with its real processor and random weights, built here without a network; the
processors need torchvision. Tiny weights in 32 bits answer questions on images of different sizes: one at a
time by `generate`, then by `eyechart run`, plain and compiled; all replies are to be equal. With `--large`,
weights of 7 to 9 billion parameters in bfloat16 answer 384 questions on images of 1008 x 1008 pixels.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from PIL import Image as Pictures
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import eyechart as ec

WORDS = "What is shown? Which colour has it? Answer with the option letter A B C D. yes no red green blue"
NEW_TOKENS = 12
SPECIAL = {
    "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>", "start_image_token": "<img>", "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
}  # fmt: skip
PAD, START, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}MARK\n{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Hidden size, layers, heads, heads of keys, width inside: as the weights of that name, or tiny.
TINY = (64, 2, 4, 2, 128)
QWEN2_7B, QWEN3_8B = (3584, 28, 28, 4, 18944), (4096, 36, 32, 8, 12288)


def make_tokenizer() -> Any:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[PAD, START, END, *SPECIAL.values()],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([WORDS], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, extra_special_tokens=SPECIAL
    )


TOKENIZER = make_tokenizer()
ID = TOKENIZER.convert_tokens_to_ids


def describe_text(size: tuple[int, int, int, int, int], **others: Any) -> dict[str, Any]:
    hidden, layers, heads, key_heads, inner = size
    is_tiny = size == TINY
    return {
        "vocab_size": len(TOKENIZER) if is_tiny else 152064, "hidden_size": hidden,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_heads,
        "intermediate_size": inner, "head_dim": 16 if is_tiny else 128, "max_position_embeddings": 32768,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **others,
    }  # fmt: skip


def describe_qwen(*, is_tiny: bool, size: tuple[int, int, int, int, int], more: Any) -> dict[str, Any]:
    """What Qwen2.5-VL and Qwen3-VL have in common."""
    sections = [2, 3, 3] if is_tiny else more.pop("sections")
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    kind = more.pop("kind")
    return {
        "text_config": {"model_type": kind, **describe_text(size, rope_parameters=rope)},
        "image_token_id": ID(SPECIAL["image_token"]),
        "video_token_id": ID(SPECIAL["video_token"]),
        "vision_start_token_id": ID(SPECIAL["vision_start_token"]),
        "vision_end_token_id": ID(SPECIAL["vision_end_token"]),
    }


def make_qwen25(*, is_tiny: bool) -> tuple[Any, Any]:
    size = TINY if is_tiny else QWEN2_7B
    vision: dict[str, Any] = {
        "patch_size": 14,
        "spatial_merge_size": 2,
        "window_size": 112,
        "out_hidden_size": size[0],
    }
    vision |= (
        {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "fullatt_block_indexes": [1]}
        if is_tiny
        else {
            "depth": 32,
            "hidden_size": 1280,
            "num_heads": 16,
            "intermediate_size": 3420,
            "fullatt_block_indexes": [7, 15, 23, 31],
        }
    )
    common = describe_qwen(
        is_tiny=is_tiny, size=size, more={"kind": "qwen2_5_vl_text", "sections": [16, 24, 24]}
    )
    config = transformers.Qwen2_5_VLConfig(vision_config=vision, **common)
    processor = transformers.Qwen2_5_VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=1008 * 1008),
        tokenizer=TOKENIZER,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=CHAT.replace("MARK", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return config, processor


def make_qwen3(*, is_tiny: bool) -> tuple[Any, Any]:
    size = TINY if is_tiny else QWEN3_8B
    vision: dict[str, Any] = {"patch_size": 16, "spatial_merge_size": 2, "num_position_embeddings": 2304}
    vision["out_hidden_size"] = size[0]
    vision |= (
        {
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 64,
            "deepstack_visual_indexes": [0],
        }
        if is_tiny
        else {"depth": 27, "hidden_size": 1152, "num_heads": 16, "intermediate_size": 4304}
    )
    common = describe_qwen(
        is_tiny=is_tiny, size=size, more={"kind": "qwen3_vl_text", "sections": [24, 20, 20]}
    )
    config = transformers.Qwen3VLConfig(vision_config=vision, **common)
    processor = transformers.Qwen3VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(
            patch_size=16,
            size={"shortest_edge": 64 * 64, "longest_edge": 1024 * 1024},
        ),
        tokenizer=TOKENIZER,
        video_processor=transformers.Qwen3VLVideoProcessor(),
        chat_template=CHAT.replace("MARK", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return config, processor


def make_internvl(*, is_tiny: bool) -> tuple[Any, Any]:
    size = TINY if is_tiny else QWEN2_7B
    side = 56 if is_tiny else 448
    vision: dict[str, Any] = {"image_size": [side, side], "patch_size": [14, 14]}
    vision |= (
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        if is_tiny
        else {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
    )
    config = transformers.InternVLConfig(
        text_config={"model_type": "qwen2", **describe_text(size)},
        vision_config=vision,
        image_token_id=ID(SPECIAL["context_image_token"]),
        image_seq_length=(side // 28) ** 2,
        tie_word_embeddings=False,
    )
    processor = transformers.InternVLProcessor(
        image_processor=transformers.GotOcr2ImageProcessor(
            size={"height": side, "width": side}, crop_to_patches=True, min_patches=1, max_patches=4
        ),
        tokenizer=TOKENIZER,
        video_processor=transformers.InternVLVideoProcessor(),
        image_seq_length=(side // 28) ** 2,
        chat_template=CHAT.replace("MARK", "<IMG_CONTEXT>"),
    )
    return config, processor


def make_onevision(*, is_tiny: bool) -> tuple[Any, Any]:
    size = TINY if is_tiny else QWEN2_7B
    side = 56 if is_tiny else 384
    grid = [[side * i, side * k] for i in (1, 2) for k in (1, 2)]
    vision: dict[str, Any] = {
        "model_type": "siglip_vision_model",
        "image_size": side,
        "patch_size": 14,
        "vision_use_head": False,
    }
    vision |= (
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        if is_tiny
        else {
            "hidden_size": 1152,
            "num_hidden_layers": 26,
            "num_attention_heads": 16,
            "intermediate_size": 4304,
        }
    )
    config = transformers.LlavaOnevisionConfig(
        text_config={"model_type": "qwen2", **describe_text(size)},
        vision_config=vision,
        image_token_index=ID(SPECIAL["image_token"]),
        video_token_index=ID(SPECIAL["video_token"]),
        image_grid_pinpoints=grid,
        vision_aspect_ratio="anyres_max_4",
    )
    processor = transformers.LlavaOnevisionProcessor(
        image_processor=transformers.LlavaOnevisionImageProcessor(
            size={"height": side, "width": side}, image_grid_pinpoints=grid
        ),
        tokenizer=TOKENIZER,
        video_processor=transformers.LlavaOnevisionVideoProcessor(size={"height": side, "width": side}),
        num_image_tokens=(side // 14) ** 2,
        vision_feature_select_strategy="full",
        vision_aspect_ratio="anyres_max_4",
        chat_template=CHAT.replace("MARK", "<|image_pad|>"),
    )
    return config, processor


FAMILIES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "qwen2.5-vl": make_qwen25,
    "qwen3-vl": make_qwen3,
    "internvl": make_internvl,
    "llava-onevision": make_onevision,
}


def save(family: str, folder: Path, device: str, *, is_tiny: bool) -> float:
    """Write the folder; gives the weights in billions."""
    config, processor = FAMILIES[family](is_tiny=is_tiny)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32 if is_tiny else torch.bfloat16)
    with torch.device(device):
        model = transformers.AutoModelForImageTextToText.from_config(config)
    torch.set_default_dtype(torch.float32)
    if is_tiny:
        with torch.no_grad():  # larger than usual, so that replies depend on every part of the question
            for weight in model.parameters():
                if weight.dim() > 1:
                    weight.normal_(std=0.15)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return float(sum(one.numel() for one in model.parameters()) / 1e9)


def write_questions(folder: Path, n: int, sizes: Iterator[tuple[int, int]]) -> Path:
    rng = random.Random(0)
    rows = []
    for k in range(n):
        small = Pictures.new("RGB", (16, 16))
        small.putdata([tuple(rng.randrange(256) for _ in range(3)) for _ in range(256)])
        small.resize(next(sizes), Pictures.Resampling.BICUBIC).save(folder / f"{k}.png")
        rows.append(
            {"id": str(k), "question": f"{WORDS[: 19 + k % 40]} {k}", "image": f"{k}.png", "answer": "1"}
        )
    source = folder / "questions.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    return source


def answer_stock(folder: Path, source: Path, device: str) -> dict[str, str]:
    """`generate`, one question at a time."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).to(device)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    replies = {}
    for row in map(json.loads, source.read_text().splitlines()):
        picture = Pictures.open(source.parent / row["image"]).convert("RGB")
        content = [{"type": "image", "image": picture}, {"type": "text", "text": row["question"]}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        ).to(device)
        with torch.inference_mode():
            out = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False)
        tokens = out[0, inputs["input_ids"].shape[1] :]
        replies[row["id"]] = processor.tokenizer.decode(tokens, skip_special_tokens=True)
    return replies


def run(folder: Path, source: Path, how: str) -> tuple[Any, float]:
    """A run of all questions, without the cache, and its seconds."""
    began = time.perf_counter()
    done = ec.run(
        source, model=f"hf/{folder},{how}", out=source.parent / "runs", fresh=True, cache=False,
        prompt_template="{{ question }}", progress=False,
    )  # fmt: skip
    return done, time.perf_counter() - began


def check(family: str, place: Path, n: int, device: str) -> None:
    folder = place / family
    save(family, folder, device, is_tiny=True)
    sizes = ((60 + 40 * (k % 5), 90 + 30 * (k % 4)) for k in range(n))
    source = write_questions(place, n, sizes)
    began = time.perf_counter()
    stock = answer_stock(folder, source, device)
    seconds = time.perf_counter() - began
    print(f"{family}: {len(set(stock.values()))} different replies by generate, {seconds:.0f} s", flush=True)
    for how in ("compile=false", "compile=true")[: 1 if device == "cpu" else 2]:
        done, seconds = run(folder, source, f"dtype=float32,max_tokens={NEW_TOKENS},{how}")
        same = sum(one.reply is not None and one.reply.text == stock[one.sample.id] for one in done.samples())
        print(f"  {how}: {same} of {n} replies as by generate, {seconds:.0f} s", flush=True)


def measure(family: str, place: Path, n: int) -> None:
    folder = place / f"{family}-large"
    billions = save(family, folder, "cuda", is_tiny=False)
    torch.cuda.empty_cache()
    source = write_questions(place, n, iter([(1008, 1008)] * n))
    for how in ("compile=false", "compile=true"):
        done, seconds = run(folder, source, f"max_tokens=32,{how}")
        waits = sorted(one.reply.latency_s for one in done.samples() if one.reply is not None)
        print(
            f"{family}, {billions:.1f} B weights, {how}: {n} questions in {seconds:.0f} s with loading, "
            f"first reply after {waits[0]:.1f} s, half after {waits[len(waits) // 2]:.1f} s, {done.outcomes}",
            flush=True,
        )
    shutil.rmtree(folder)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--only", choices=FAMILIES)
    arguments.add_argument(
        "--large", action="store_true", help="weights of real size; needs 20 GB of memory for files"
    )
    arguments.add_argument("--questions", type=int)
    arguments.add_argument(
        "--cpu", action="store_true", help="the tiny weights on the CPU, to try the script"
    )
    given = arguments.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 -- files in memory
    for family in [given.only] if given.only else FAMILIES:
        with tempfile.TemporaryDirectory(dir=where) as place:
            if given.large:
                measure(family, Path(place), given.questions or 384)
            else:
                check(family, Path(place), given.questions or 24, "cpu" if given.cpu else "cuda")


if __name__ == "__main__":
    main()
