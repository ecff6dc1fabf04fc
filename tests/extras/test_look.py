"""``--look=zoom`` with local weights: a tiny LLaVA that is taught to ask for the quarter with the shape."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw
from transformers import AutoConfig, AutoProcessor, LlavaForConditionalGeneration

import eyechart as ec
from extras.architectures import make_llava
from eyechart.engine.look import _write_message
from eyechart.look.dialogue import TOOL, Ask, Heard, start
from eyechart.look.wording import fill_words
from eyechart.models.hf.model import _as_turn
from eyechart.runs.plan import make_rules

WORDS = "zoom: 'Zoom into the corner with the shape, then answer.'\n"
SETTINGS = {"scale": 1.0}
COLOURS = {"red": (220, 40, 40), "green": (40, 160, 60), "blue": (45, 80, 215), "black": (15, 15, 15)}
QUESTION = "What color is the shape?"
SIDE = 112
N_STEPS, BATCH = 240, 4


def draw(rng: random.Random) -> tuple[Image.Image, str, list[int]]:
    """A picture, the colour of its shape, and the quarter with it in thousandths."""
    picture, colour = Image.new("RGB", (SIDE, SIDE), (250, 250, 250)), rng.choice(list(COLOURS))
    across, down = rng.randrange(2), rng.randrange(2)
    x, y = across * SIDE // 2 + rng.randrange(4, 20), down * SIDE // 2 + rng.randrange(4, 20)
    ImageDraw.Draw(picture).rectangle((x, y, x + 28, y + 28), fill=COLOURS[colour])
    return picture, colour, [500 * across, 500 * down, 500 * across + 500, 500 * down + 500]


def write_call(box: list[int]) -> str:
    call = {"name": TOOL, "arguments": {"bbox_2d": box, "label": "shape", "img_idx": 0}}
    return f"<tool_call>{json.dumps(call)}</tool_call>"


def make_example(rng: random.Random, nth: int) -> tuple[list[Any], str]:
    """The turns before the model's first or second reply, as a run sends them, and the reply."""
    rules = make_rules("zoom", None, SETTINGS)
    picture, colour, box = draw(rng)
    words = fill_words({"zoom": "Zoom into the corner with the shape, then answer."}, rules)
    dialogue = start(QUESTION, [picture.size], rules, words)
    asked, said = next(dialogue), write_call(box)
    if nth:
        asked, said = dialogue.send(Heard(said)), colour
    assert isinstance(asked, Ask)
    views = [part for turn in asked.turns for part in turn.parts if not isinstance(part, str)]
    drawn = {view: view.to_image(picture, "drawn") for view in views}
    system = {"role": "system", "content": [{"type": "text", "text": words["zoom"]}]}
    return [system, *(_as_turn(_write_message(turn, drawn)) for turn in asked.turns)], said


def train(model: Any, processor: Any) -> Iterator[float]:
    """Steps on both turns in turn; only the model's own words count."""
    rng, tokenizer = random.Random(0), processor.tokenizer
    adam = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # The last steps are small: otherwise a late leap, on this processor or that, undoes what was learned.
    slower = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 1 - step / N_STEPS)
    for step in range(N_STEPS):
        pairs = [make_example(rng, step % 2) for _ in range(BATCH)]
        rows = []
        for turns, said in pairs:
            made = processor.apply_chat_template(
                turns, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
            )
            own = tokenizer(said + "<|im_end|>", add_special_tokens=False, return_tensors="pt")["input_ids"][
                0
            ]
            rows.append((made["input_ids"][0], own, made["pixel_values"]))
        longest = max(len(asked) + len(own) for asked, own, _ in rows)
        ids = torch.zeros(BATCH, longest, dtype=torch.long)
        mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
        for place, (asked, own, _) in enumerate(rows):
            end = len(asked) + len(own)
            ids[place, :end], mask[place, :end] = torch.cat([asked, own]), 1
            labels[place, len(asked) : end] = own
        pixels = torch.cat([one for _, _, one in rows])
        loss = model(input_ids=ids, attention_mask=mask, pixel_values=pixels, labels=labels).loss
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        slower.step()
        yield float(loss.detach())


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LLaVA with a hundred thousand weights, taught to look."""
    folder = tmp_path_factory.mktemp("weights") / "looking-llava"
    make_llava(folder)
    torch.manual_seed(0)
    model = LlavaForConditionalGeneration(AutoConfig.from_pretrained(folder)).train()
    for _ in train(model, AutoProcessor.from_pretrained(folder)):
        pass
    model.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_local_weights_look_and_answer(weights: Path, tmp_path: Path) -> None:
    rng, rows, n = random.Random(1), [], 12
    for number in range(n):
        picture, colour, box = draw(rng)
        picture.save(tmp_path / f"{number}.png")
        corners = [round(v * SIDE / 1000) for v in box]
        rows.append({"id": str(number), "question": QUESTION, "image": f"{number}.png", "answer": colour,
                     "bbox": corners})  # fmt: skip
    (tmp_path / "shapes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "words.yaml").write_text(WORDS)
    run = ec.run(
        tmp_path / "shapes.jsonl", f"hf/{weights}", look="zoom", max_looks=2, look_params=SETTINGS,
        look_prompts=str(tmp_path / "words.yaml"), prompt_template="{{ question }}", max_tokens=160,
        out=tmp_path / "runs", progress=False,
    )  # fmt: skip
    assert run.outcomes["failed"] == 0
    summary = run.summary.looks
    assert summary is not None
    n_valid = sum(count > 0 for count in summary.crops)
    assert n_valid >= n / 2  # at least half of the questions with a valid call
