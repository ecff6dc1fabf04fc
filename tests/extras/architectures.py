"""Tiny models of real architectures, built without a network: random weights, a tokenizer of 400 tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

PAD, START, END, IMAGE = "<|pad|>", "<|im_start|>", "<|im_end|>", "<image>"
WORDS = "What is shown? Which colour has it? Answer with the option letter A B C D. yes no red green blue"
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for c in m['content'] %}{% if c['type']=='image' %}<image>\n{% else %}{{ c['text'] }}"
    "{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
)


def make_tokenizer(**special: str) -> Any:
    """A byte-level tokenizer that knows the words of the questions here."""
    tokens = [PAD, START, END, IMAGE, *(one for one in special.values() if one != IMAGE)]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=tokens, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([WORDS], trainer)
    special = special or {"image_token": IMAGE}
    return PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, extra_special_tokens=special
    )


def text_config(tokenizer: Any, kind: str = "llama", **others: Any) -> dict[str, Any]:
    return {
        "model_type": kind, "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 2048, "tie_word_embeddings": True,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **others,
    }  # fmt: skip


def make_llava(folder: Path, *, seed: int = 0, chat: str = CHAT) -> None:
    tokenizer = make_tokenizer()
    vision = {
        "model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "image_size": 56, "patch_size": 14, "projection_dim": 32,
    }  # fmt: skip
    config = LlavaConfig(
        text_config=text_config(tokenizer),
        vision_config=vision,
        image_token_index=3,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    save(LlavaForConditionalGeneration, config, folder, seed)
    LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
        ),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=chat,
    ).save_pretrained(folder)


def save(kind: Callable[[Any], Any], config: Any, folder: Path, seed: int) -> None:
    """Random weights, larger than usual so that replies depend on every part of the question."""
    torch.manual_seed(seed)
    model = kind(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.15)
    model.save_pretrained(folder)
