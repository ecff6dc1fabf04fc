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
VISION = {
    "model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 2, "image_size": 56, "patch_size": 14, "projection_dim": 32,
}  # fmt: skip
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
    config = LlavaConfig(
        text_config=text_config(tokenizer),
        vision_config=VISION,
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
    torch.manual_seed(seed)
    model = kind(config)
    randomise(model)
    model.save_pretrained(folder)


def randomise(model: Any) -> None:
    """Random weights, larger than usual so that replies depend on every part of the question."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.15)


def make_llava_next(folder: Path) -> None:
    from transformers import LlavaNextConfig, LlavaNextForConditionalGeneration, LlavaNextProcessor
    from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil

    tokenizer = make_tokenizer()
    grid = [[56, 112], [112, 56], [112, 112]]
    config = LlavaNextConfig(
        text_config=text_config(tokenizer),
        vision_config=VISION,
        image_token_index=3,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
        image_grid_pinpoints=grid,
    )
    save(LlavaNextForConditionalGeneration, config, folder, 0)
    images = LlavaNextImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}, image_grid_pinpoints=grid
    )
    LlavaNextProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    ).save_pretrained(folder)


def make_idefics3(folder: Path) -> None:
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    tokenizer = make_tokenizer(
        image_token=IMAGE,
        fake_image_token="<fake_token_around_image>",
        global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
    )
    vision = {**VISION, "model_type": "idefics3_vision"}
    del vision["projection_dim"]
    config = Idefics3Config(
        text_config=text_config(tokenizer),
        vision_config=vision,
        image_token_id=3,
        scale_factor=2,
        pad_token_id=0,
    )
    save(Idefics3ForConditionalGeneration, config, folder, 0)
    images = Idefics3ImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    Idefics3Processor(
        image_processor=images, tokenizer=tokenizer, image_seq_len=4, chat_template=CHAT
    ).save_pretrained(folder)


def make_gemma3(folder: Path) -> None:
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    tokenizer = make_tokenizer(
        boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft_token>"
    )
    ids = tokenizer.convert_tokens_to_ids
    text = text_config(
        tokenizer, "gemma3_text", sliding_window=16, num_hidden_layers=3, tie_word_embeddings=False
    )
    config = Gemma3Config(
        text_config={**text, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
        vision_config={**VISION, "model_type": "siglip_vision_model"},
        mm_tokens_per_image=4,
        tie_word_embeddings=False,
        boi_token_index=ids("<start_of_image>"),
        eoi_token_index=ids("<end_of_image>"),
        image_token_index=ids("<image_soft_token>"),
    )
    save(Gemma3ForConditionalGeneration, config, folder, 0)
    images = Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    Gemma3Processor(
        image_processor=images,
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=CHAT.replace("<image>", "<start_of_image>"),
    ).save_pretrained(folder)


def make_qwen25_vl() -> Any:
    """Qwen2.5-VL in memory: its processor needs torchvision, whose build for CPUs may be missing."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    text = text_config(make_tokenizer(), "qwen2_5_vl_text", rope_parameters=rope)
    vision = {
        "depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 60, "out_hidden_size": 64,
        "patch_size": 14, "spatial_merge_size": 2, "window_size": 56, "fullatt_block_indexes": [1],
    }  # fmt: skip
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=3,
        vision_start_token_id=1,
        vision_end_token_id=2,
    )
    torch.manual_seed(0)
    model = Qwen2_5_VLForConditionalGeneration(config)
    randomise(model)
    return model.eval()


MAKERS: dict[str, Callable[[Path], None]] = {
    "llava": make_llava,
    "llava-next": make_llava_next,
    "idefics3": make_idefics3,
    "gemma3": make_gemma3,
}
