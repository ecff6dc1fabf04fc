"""--score-options: the likelihood of every option, in batches, is that of the whole text at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText

import eyechart as ec
from extras.questions import answer_all, mixed_questions, open_hf
from eyechart.errors import UsageError
from eyechart.models.hf.model import HfModel
from eyechart.types import Request

CHOICES = {"A": "a red cat", "B": "two", "C": "green and blue", "D": "dog"}
QUESTIONS = [
    replace(request, sample=replace(request.sample, choices=dict(list(CHOICES.items())[: 2 + k % 3])))
    for k, request in enumerate(mixed_questions(8))
]


def score_alone(model: HfModel, weights: AutoModelForImageTextToText, request: Request, text: str) -> float:
    """The mean log-likelihood per token of a text behind its prompt, from one run over all tokens."""
    inputs = model._chat.encode(request.messages)
    ids = torch.tensor([model._chat.encode_options({"A": text})["A"]])
    n = inputs["input_ids"].shape[1]
    whole = {
        name: torch.cat([one, ids if name == "input_ids" else torch.ones_like(ids)], 1)
        if one.shape == inputs["input_ids"].shape
        else one
        for name, one in inputs.items()
    }
    with torch.inference_mode():
        shares = weights(**whole).logits[0, n - 1 : -1].log_softmax(-1)
    return float(shares.gather(1, ids.T).mean())


@pytest.mark.parametrize("how", ["letter", "text"])
def test_likelihoods_are_those_of_the_whole_text(llava: Path, how: str) -> None:
    weights = AutoModelForImageTextToText.from_pretrained(llava, dtype=torch.float32).eval()
    model = open_hf(f"hf/{llava}", score_options=how)
    replies = answer_all(model, QUESTIONS)
    assert max(model.engine.batch_sizes) > 1
    for request, reply in zip(QUESTIONS, replies, strict=True):
        choices = request.sample.choices
        expected = {
            name: score_alone(model, weights, request, name if how == "letter" else text)
            for name, text in choices.items()
        }
        assert reply.evidence["log_likelihoods"] == pytest.approx(expected, abs=2e-3)
        assert reply.text == max(expected, key=lambda name: expected[name])
    assert len({reply.text for reply in replies}) > 1


def test_a_run_records_the_likelihoods_and_open_questions_are_generated(llava: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "1", "question": "Which?", "A": "cat", "B": "dog", "answer": "A"},
        {"id": "2", "question": "What?", "answer": "cat"},
    ]
    source = tmp_path / "q.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)))
    run = ec.run(source, model=f"hf/{llava}", out=tmp_path, score_options="letter", max_tokens=3)
    [choice, free] = run.samples()
    assert choice.reply is not None
    assert free.reply is not None
    assert choice.reply.text in "AB"
    assert set(choice.reply.evidence["log_likelihoods"]) == {"A", "B"}
    assert not free.reply.evidence


def test_other_models_refuse(tmp_path: Path) -> None:
    source = tmp_path / "q.jsonl"
    source.write_text(json.dumps({"id": "1", "question": "Which?", "A": "cat", "B": "dog", "answer": "A"}))
    with pytest.raises(UsageError, match="cannot score options"):
        ec.run(source, model="openai/m", base_url="http://127.0.0.1:9/v1", score_options="letter")
