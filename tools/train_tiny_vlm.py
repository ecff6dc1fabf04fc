"""Train `baseline/tiny-vlm`: a LLaVA of a few MB that really sees.

    python tools/train_tiny_vlm.py OUT --easy-vqa FOLDER [--minutes 8] [--device cuda]

It is trained on drawn pictures and on easy-vqa's train split (FOLDER is `easy_vqa/data` of that package).
Needs torch, transformers, Pillow and numpy. Writes a transformers folder (configuration, processor,
tokenizer, weights in half precision) and `card.json` with the accuracy seeing, blind and with shuffled
pictures, on easy-vqa's test split and on freshly drawn pictures. The seed is fixed; training ends by the
clock, so the number of steps depends on the machine, and with it the last digits.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

SIDE = 112  # pixels of the model's square input
PATCH = 14
SEED = 20261116
Pixels: TypeAlias = np.ndarray[Any, Any]
Tensor: TypeAlias = Any  # torch.Tensor
COLOURS = {
    "red": (220, 40, 40), "green": (40, 160, 60), "blue": (45, 80, 215), "yellow": (235, 215, 50),
    "black": (15, 15, 15), "gray": (128, 128, 128), "brown": (120, 70, 30), "teal": (20, 140, 140),
    "orange": (245, 140, 30), "purple": (130, 50, 170), "white": (250, 250, 250), "pink": (245, 150, 190),
}  # fmt: skip
SHAPES = ("circle", "rectangle", "triangle", "star")
PLACES = {"top left": (0, 0), "top right": (1, 0), "bottom left": (0, 1), "bottom right": (1, 1)}
LETTERS = "ABCDEFGHJKLMNPRSTUVXYZ"
SPECIAL = ["<|pad|>", "<|im_start|>", "<|im_end|>", "<image>"]
END, IMAGE = 2, 3  # their ids
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}{{ m['content'] }}"
    "{% else %}{% for c in m['content'] %}{% if c['type']=='image' %}<image>\n{% else %}{{ c['text'] }}"
    "{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass
class Example:
    """A question on one or two pictures; `images` are indices into the stack of all pictures."""

    images: tuple[int, ...]
    text: str
    answer: str
    options: tuple[str, ...] = ()  # wrong answers to offer, where the question can be multiple choice


# -- Drawn pictures


def draw_shape(
    pen: ImageDraw.ImageDraw, shape: str, box: tuple[float, float, float, float], colour: tuple[int, ...]
) -> None:
    """One shape in its box."""
    x0, y0, x1, y1 = box
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "rectangle":
        pen.rectangle(box, fill=colour)
    elif shape == "triangle":
        pen.polygon([((x0 + x1) / 2, y0), (x0, y1), (x1, y1)], fill=colour)
    else:
        cx, cy, r = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2
        points = [
            (
                cx + (r if i % 2 == 0 else 0.42 * r) * math.sin(i * math.pi / 5),
                cy - (r if i % 2 == 0 else 0.42 * r) * math.cos(i * math.pi / 5),
            )
            for i in range(10)
        ]
        pen.polygon(points, fill=colour)


def jitter(colour: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
    """The colour, a little off."""
    return tuple(max(0, min(255, c + rng.randint(-18, 18))) for c in colour)


def canvas(rng: random.Random) -> tuple[Image.Image, str]:
    """An empty picture of any size and shape, and the name of its colour."""
    name = rng.choice(["white", "white", "white", "black", "gray", "yellow", "blue", "pink"])
    width, height = (
        (rng.choice((64, 96, 112, 160, 224, 320)) for _ in range(2)) if rng.random() < 0.5 else (224, 224)
    )
    width = max(width, height // 2)
    height = max(height, width // 2)
    return Image.new("RGB", (width, height), jitter(COLOURS[name], rng)), name


def pick_colours(rng: random.Random, n: int, ground: str) -> list[str]:
    """Different colours, none of them the ground's."""
    return rng.sample([name for name in COLOURS if name != ground], n)


def fit(image: Image.Image) -> Pixels:
    """As the processor will: to the square, bicubic."""
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BICUBIC))


Question = tuple[str, str, tuple[str, ...]]  # text, answer, wrong answers


def draw_one(rng: random.Random) -> tuple[Pixels, list[Question]]:
    """One shape: its kind, its colour, its place, the ground's colour."""
    image, ground = canvas(rng)
    (colour,) = pick_colours(rng, 1, ground)
    shape, place = rng.choice(SHAPES), rng.choice(list(PLACES))
    w, h = image.size
    px, py = PLACES[place]
    side = min(w, h) * rng.uniform(0.26, 0.46)
    x = px * w / 2 + rng.uniform(0, max(0.0, w / 2 - side))
    y = py * h / 2 + rng.uniform(0, max(0.0, h / 2 - side))
    draw_shape(ImageDraw.Draw(image), shape, (x, y, x + side, y + side), jitter(COLOURS[colour], rng))
    others = tuple(name for name in COLOURS if name not in (colour, ground))
    wrong = rng.choice(others)
    asked_shape, asked_colour = rng.choice(SHAPES), rng.choice([colour, wrong])
    return fit(image), [
        (
            rng.choice(
                [
                    f"What color is the {shape}?",
                    f"What is the color of the {shape}?",
                    "Which color does the shape have?",
                ]
            ),
            colour,
            others,
        ),
        (
            rng.choice(["What shape is in the image?", "Which shape is shown?", "What shape is present?"]),
            shape,
            tuple(s for s in SHAPES if s != shape),
        ),
        (
            rng.choice([f"Where is the {shape}?", "In which corner is the shape?"]),
            place,
            tuple(p for p in PLACES if p != place),
        ),
        ("What color is the background?", ground, others),
        (f"Is there a {asked_shape}?", "yes" if asked_shape == shape else "no", ()),
        (f"Is there a {asked_colour} shape in the image?", "yes" if asked_colour == colour else "no", ()),
    ]


def draw_count(rng: random.Random) -> tuple[Pixels, list[Question]]:
    """Several shapes on a grid: how many, and how many of a colour."""
    image, ground = canvas(rng)
    w, h = image.size
    n = rng.randint(1, 9)
    colours = pick_colours(rng, 2, ground)
    shape = rng.choice(SHAPES)
    cells = rng.sample([(i, j) for i in range(3) for j in range(3)], n)
    counts = dict.fromkeys(colours, 0)
    pen = ImageDraw.Draw(image)
    for i, j in cells:
        colour = rng.choice(colours)
        counts[colour] += 1
        side = min(w, h) / 3 * rng.uniform(0.6, 0.9)
        x, y = i * w / 3 + rng.uniform(0, w / 3 - side), j * h / 3 + rng.uniform(0, h / 3 - side)
        draw_shape(pen, shape, (x, y, x + side, y + side), jitter(COLOURS[colour], rng))
    near = tuple(str(k) for k in range(1, 10) if k != n)
    name = rng.choice(colours)
    plural = f"{shape}s"
    return fit(image), [
        (
            rng.choice(
                [
                    f"How many {plural} are there?",
                    f"How many {plural} are in the image?",
                    "How many shapes do you see?",
                ]
            ),
            str(n),
            near,
        ),
        (
            f"How many {name} {plural} are there?",
            str(counts[name]),
            tuple(str(k) for k in range(10) if k != counts[name]),
        ),
        (f"Are there more than {rng.randint(1, 8)} shapes?", "", ()),
    ]


def draw_bars(rng: random.Random) -> tuple[Pixels, list[Question]]:
    """A bar chart: which colour is highest or lowest, how many bars."""
    image = Image.new("RGB", (224, 224), (250, 250, 250))
    pen = ImageDraw.Draw(image)
    n = rng.randint(2, 6)
    colours = pick_colours(rng, n, "white")
    heights = rng.sample(range(1, 13), n)
    pen.line([(20, 10), (20, 204), (214, 204)], fill=(60, 60, 60), width=2)
    width = 190 / n
    for i, (colour, height) in enumerate(zip(colours, heights, strict=True)):
        x = 24 + i * width
        pen.rectangle([x + 3, 204 - height * 15, x + width - 3, 203], fill=jitter(COLOURS[colour], rng))
    top, low = colours[heights.index(max(heights))], colours[heights.index(min(heights))]
    first, second = rng.sample(range(n), 2)
    return fit(image), [
        (
            rng.choice(
                [
                    "Which color is the highest bar?",
                    "What color is the tallest bar?",
                    "Which bar is the highest?",
                ]
            ),
            top,
            tuple(c for c in colours if c != top),
        ),
        (
            rng.choice(
                [
                    "Which color is the lowest bar?",
                    "What color is the shortest bar?",
                    "Which bar is the lowest?",
                ]
            ),
            low,
            tuple(c for c in colours if c != low),
        ),
        (
            rng.choice(["How many bars are there?", "How many bars does the chart have?"]),
            str(n),
            tuple(str(k) for k in range(1, 9) if k != n),
        ),
        (
            f"Is the {colours[first]} bar higher than the {colours[second]} bar?",
            "yes" if heights[first] > heights[second] else "no",
            (),
        ),
    ]


def draw_text(rng: random.Random) -> tuple[Pixels, list[Question]]:
    """A large digit, a two-digit number or a letter."""
    image, ground = canvas(rng)
    image = image.resize((224, 224))
    (colour,) = pick_colours(rng, 1, ground)
    kind = rng.random()
    text = (
        str(rng.randint(0, 9))
        if kind < 0.4
        else str(rng.randint(10, 99))
        if kind < 0.7
        else rng.choice(LETTERS)
    )
    font = ImageFont.load_default(size=rng.randint(80, 170))
    pen = ImageDraw.Draw(image)
    box = pen.textbbox((0, 0), text, font=font)
    x = (224 - box[2] + box[0]) / 2 - box[0] + rng.uniform(-12, 12)
    y = (224 - box[3] + box[1]) / 2 - box[1] + rng.uniform(-15, 15)
    pen.text((x, y), text, fill=jitter(COLOURS[colour], rng), font=font)
    if text.isdigit():
        wrong = tuple(str(k) for k in (range(10) if len(text) == 1 else range(10, 100)) if str(k) != text)
        ask = rng.choice(
            ["Which number is shown?", "What number is written in the image?", "What is the number?"]
        )
    else:
        wrong = tuple(k for k in LETTERS if k != text)
        ask = rng.choice(["Which letter is shown?", "What letter is written in the image?"])
    return fit(image), [
        (ask, text, tuple(rng.sample(wrong, 3))),
        ("What color is the text?", colour, tuple(c for c in COLOURS if c not in (colour, ground))),
    ]


def draw_many(task: tuple[int, int]) -> tuple[Pixels, list[list[Question]]]:
    """Pictures of all kinds, and the questions on each."""
    seed, n = task
    rng = random.Random(seed)
    pictures, questions = [], []
    for _ in range(n):
        picture, asked = rng.choice((draw_one, draw_one, draw_count, draw_bars, draw_text))(rng)
        pictures.append(picture)
        questions.append([q for q in asked if q[1]])
    return np.stack(pictures), questions


def make_examples(questions: list[list[Question]], offset: int, rng: random.Random) -> list[Example]:
    """Questions on single pictures, and half as many on two of them."""
    examples = []
    for i, asked in enumerate(questions):
        for text, answer, wrong in asked:
            examples.append(Example((offset + i,), text, answer, wrong))
    for _ in range(len(questions) // 2):  # two pictures: the order must matter
        i, j = rng.randrange(len(questions)), rng.randrange(len(questions))
        k = rng.randrange(2)
        text, answer, wrong = rng.choice(questions[(i, j)[k]])
        where = ("first", "second")[k]
        examples.append(
            Example(
                (offset + i, offset + j), f"In the {where} image: {text[0].lower()}{text[1:]}", answer, wrong
            )
        )
    return examples


OPEN_ENDINGS = (
    "",
    "",
    "\nAnswer with a single word or number.",
    "\nAnswer the question using a single word or phrase.",
)
CHOICE_ENDINGS = (
    "Please select the correct answer from the options above. \n",
    "Answer with the option's letter from the given choices directly.\n",
)


def phrase(example: Example, rng: random.Random) -> tuple[str, str]:
    """The question as eyechart and others ask it, and the answer: open, or by letter."""
    n_wrong = min(3, len(example.options))
    if n_wrong < 2 or rng.random() < 0.5:
        return example.text + rng.choice(OPEN_ENDINGS), example.answer
    offered = [example.answer, *rng.sample(example.options, n_wrong)]
    rng.shuffle(offered)
    letter = "ABCD"[offered.index(example.answer)]
    options = "".join(f"{name}. {option}\n" for name, option in zip("ABCD", offered, strict=False))
    return f"Question: {example.text}\nOptions:\n{options}{rng.choice(CHOICE_ENDINGS)}", letter


# -- easy-vqa


def read_easy_vqa(folder: Path, split: str) -> tuple[Pixels, list[list[Question]]]:
    """The pictures of a split, and the questions on each."""
    rows = json.loads((folder / split / "questions.json").read_text())
    images = sorted({row[2] for row in rows})
    place = {image: i for i, image in enumerate(images)}
    pictures = np.stack(
        [fit(Image.open(folder / split / "images" / f"{i}.png").convert("RGB")) for i in images]
    )
    questions: list[list[Question]] = [[] for _ in images]
    for text, answer, image in rows:
        questions[place[image]].append((text[0].upper() + text[1:], answer, ()))
    return pictures, questions


# -- The model


def build_model(corpus: list[str]) -> tuple[Any, Any]:
    """A LLaVA with random weights, and its processor with a tokenizer trained on the corpus."""
    from transformers import LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    tokenizer = build_tokenizer(corpus)
    text = {
        "model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 160, "intermediate_size": 432,
        "num_hidden_layers": 4, "num_attention_heads": 5, "num_key_value_heads": 5,
        "max_position_embeddings": 2048, "tie_word_embeddings": True,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    vision = {
        "model_type": "clip_vision_model", "hidden_size": 160, "intermediate_size": 640,
        "num_hidden_layers": 6, "num_attention_heads": 5, "image_size": SIDE, "patch_size": PATCH,
        "projection_dim": 160,
    }  # fmt: skip
    config = LlavaConfig(
        text_config=text,
        vision_config=vision,
        image_token_index=IMAGE,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    torch.manual_seed(SEED)
    model = LlavaForConditionalGeneration(config)
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"height": SIDE, "width": SIDE}, do_center_crop=False),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    return model, processor


def build_tokenizer(corpus: list[str]) -> Any:
    """A byte-level tokenizer of at most 800 tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(corpus, trainer)
    pad, _, end, image = SPECIAL
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token=end,
        pad_token=pad,
        padding_side="left",
        extra_special_tokens={"image_token": image},
    )


# -- Questions as tensors

Item = tuple[Example, str, str]  # with its text and its answer, phrased


@dataclass
class Rows:
    """Tokenised questions with their answers, as tables on the device: one row per question."""

    ids: Tensor  # padded on the right with 0
    begins: Tensor  # where the answer begins
    images: Tensor  # which pictures


def tokenise(items: list[Item], tokenizer: Any, device: Any) -> Rows:
    """The rows as the processor would make them: a run of image tokens per picture, then the question."""

    def encode(texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = tokenizer(texts, add_special_tokens=False)["input_ids"]
        return found

    n_tokens = (SIDE // PATCH) ** 2
    texts, answers = encode([text for _, text, _ in items]), encode([answer for *_, answer in items])
    head, tail, newline = encode(["<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "\n"])
    before = head + ([IMAGE] * n_tokens + newline) * len(items[0][0].images)
    rows = [before + text + tail + answer + [END] for text, answer in zip(texts, answers, strict=True)]
    ids = np.zeros((len(items), max(map(len, rows))), dtype=np.int16)
    begins = np.zeros(len(items), dtype=np.int64)
    for i, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        ids[i, : len(row)] = row
        begins[i] = len(row) - len(answer) - 1
    images = np.array([example.images for example, *_ in items])
    return Rows(*(torch.from_numpy(table).to(device) for table in (ids, begins, images)))


def encode_questions(items: list[Item], tokenizer: Any, device: Any) -> tuple[Tensor, Tensor]:
    """Questions without answers, padded on the left, for generation; and their mask."""
    rows = tokenise(items, tokenizer, "cpu")
    width = int(rows.begins.max())
    ids = torch.zeros((len(items), width), dtype=torch.long)
    for i, begin in enumerate(rows.begins.tolist()):
        ids[i, width - begin :] = rows.ids[i, :begin].long()
    return ids.to(device), (ids != 0).long().to(device)


MEAN = (0.48145466, 0.4578275, 0.40821073)  # CLIP's
STD = (0.26862954, 0.26130258, 0.27577711)


def load_pixels(stack: Tensor, picked: Tensor, *, how: str = "seeing") -> Tensor:
    """The pictures as the processor would give them; gray ones if blind, other questions' if shuffled."""
    if how == "shuffled":
        picked = picked.roll(len(picked) // 2)
    pixels = stack[picked].float().permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(v, device=stack.device).view(1, 3, 1, 1) for v in (MEAN, STD))
    if how == "blind":
        pixels = torch.full_like(pixels, 0.5)
    return (pixels - mean) / std


# -- Training and testing


def evaluate(model: Any, tokenizer: Any, stack: Tensor, examples: list[Example], *, how: str) -> float:
    """The share of exact answers, decoded greedily."""
    model.eval()
    right = 0
    rng = random.Random(0)
    for start in range(0, len(examples), 500):
        items = [(one, *phrase(one, rng)) for one in examples[start : start + 500]]
        for n_images in (1, 2):
            some = [item for item in items if len(item[0].images) == n_images]
            if not some:
                continue
            ids, mask = encode_questions(some, tokenizer, stack.device)
            picked = torch.tensor([i for example, *_ in some for i in example.images], device=stack.device)
            with torch.no_grad():
                out = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    pixel_values=load_pixels(stack, picked, how=how).to(model.dtype),
                    max_new_tokens=8,
                    do_sample=False,
                    pad_token_id=0,
                )
            said = tokenizer.batch_decode(out[:, ids.shape[1] :], skip_special_tokens=True)
            right += sum(a.strip() == answer for a, (*_, answer) in zip(said, some, strict=True))
    model.train()
    return right / len(examples)


def train(model: Any, stack: Tensor, tables: dict[int, Rows], *, batch: int, seconds: float) -> int:
    """Train until the time is over; returns the number of steps. One batch in four is of two pictures."""
    device = stack.device
    generator = torch.Generator(device=device).manual_seed(SEED)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.05},
        {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.98))
    model.train()
    step, start = 0, time.time()
    while (share := (time.time() - start) / seconds) < 1:
        for group in optimiser.param_groups:  # warm-up, then a cosine down to a fiftieth
            cosine = 0.5 * (1 + math.cos(math.pi * share)) * 0.98 + 0.02
            group["lr"] = 1.5e-3 * min(1.0, step / 500) * cosine
        rows = tables[2 if step % 4 == 3 else 1]
        size = (batch // rows.images.shape[1],)
        at = torch.randint(len(rows.ids), size, device=device, generator=generator)
        ids = rows.ids[at].long()
        mask = ids != 0
        columns = torch.arange(ids.shape[1], device=device)
        goal = torch.where(mask & (columns >= rows.begins[at, None]), ids, -100)
        pixels = load_pixels(stack, rows.images[at].flatten())
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            out = model(input_ids=ids, attention_mask=mask.long(), pixel_values=pixels, labels=goal)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step += 1
        if step % 1000 == 0:
            print(f"step {step}, {time.time() - start:.0f} s, loss {out.loss.item():.4f}", flush=True)
    return step


def main() -> None:
    """Draw, train, test, save."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--easy-vqa", type=Path, required=True)
    arguments.add_argument("--minutes", type=float, default=8)
    arguments.add_argument("--pictures", type=int, default=160_000)
    arguments.add_argument("--batch", type=int, default=512)
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--workers", type=int, default=16)
    arguments.add_argument("--tests", type=int, default=4_000, help="questions per test set")
    given = arguments.parse_args()
    device = torch.device(given.device)
    rng = random.Random(SEED)

    with ProcessPoolExecutor(given.workers) as pool:
        drawn = list(pool.map(draw_many, [(SEED + 1 + i, 500) for i in range(given.pictures // 500)]))
    fresh, fresh_questions = draw_many((SEED - 1, 1_000))
    easy, easy_questions = read_easy_vqa(given.easy_vqa, "train")
    test, test_questions = read_easy_vqa(given.easy_vqa, "test")
    stack = torch.from_numpy(np.concatenate([easy, *(pictures for pictures, _ in drawn)])).to(device)
    easy_examples = make_examples(easy_questions, 0, rng)
    drawn_examples = make_examples([q for _, asked in drawn for q in asked], len(easy), rng)
    print(f"{len(stack)} pictures, {len(easy_examples)} + {len(drawn_examples)} questions", flush=True)

    some = rng.sample(drawn_examples, min(20_000, len(drawn_examples))) + easy_examples[:5_000]
    model, processor = build_model([part for example in some for part in phrase(example, rng)])
    tokenizer = processor.tokenizer
    model.to(device)
    tables = {}
    for n_images in (1, 2):  # each question in two phrasings; those of easy-vqa three times more often
        chosen = [e for e in 6 * easy_examples + 2 * drawn_examples if len(e.images) == n_images]
        tables[n_images] = tokenise([(e, *phrase(e, rng)) for e in chosen], tokenizer, device)
    n_steps = train(model, stack, tables, batch=given.batch, seconds=given.minutes * 60)

    model.half().float()  # what the file will hold
    n_weights = sum(weight.numel() for weight in model.parameters())
    card: dict[str, Any] = {"weights": n_weights, "steps": n_steps, "minutes": given.minutes, "seed": SEED}
    tests = {
        "easy-vqa": (test, make_examples(test_questions, 0, random.Random(2))),
        "drawn": (fresh, make_examples(fresh_questions, 0, random.Random(1))),
    }
    for name, (pictures, examples) in tests.items():
        of_one = [e for e in examples if len(e.images) == 1] if name == "easy-vqa" else examples
        asked = random.Random(3).sample(of_one, min(given.tests, len(of_one)))
        shown = torch.from_numpy(pictures).to(device)
        card[name] = {
            how: (evaluate(model, tokenizer, shown, asked, how=how), len(asked))
            for how in ("seeing", "blind", "shuffled")
        }
        print(name, card[name], flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    model.half().to("cpu").save_pretrained(given.out)
    processor.save_pretrained(given.out)
    (given.out / "card.json").write_text(json.dumps(card, indent=1))


if __name__ == "__main__":
    main()
