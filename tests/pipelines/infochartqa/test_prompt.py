"""InfoChartQA's two builders, to the character."""

from eyechart.pipelines.infochartqa.benchmark import (
    build_head_text,
    build_seed_text,
    render_head,
    render_seed,
)
from eyechart.types import ImageRef, Sample

PICTURES = (ImageRef(kind="url", location="https://x.org/a.png"), ImageRef(kind="file", location="crop.png"))
SAMPLE = Sample(
    id="1",
    question="Which is\nhighest?",
    images=PICTURES,
    choices={"A": "cat", "B": "dog"},
    choices_text="A) cat\nB) dog",
    meta={"prompt": "Look.", "instructions": "Letter only."},
)
BARE = Sample(id="1", question="Which?")


def test_the_question_is_followed_by_its_instructions_at_once() -> None:
    [message] = render_head(SAMPLE)
    assert message.parts == ("Which is\nhighest?Letter only.", *PICTURES)
    assert render_head(BARE)[0].parts == ("Which?",)


def test_the_earlier_release_puts_each_on_a_line() -> None:
    [message] = render_seed(SAMPLE)
    assert message.parts == ("Look.\nWhich is\nhighest?\nA) cat\nB) dog\nLetter only.", *PICTURES)
    assert render_seed(BARE)[0].parts == ("Which?\n",)


def test_null_instructions_are_none() -> None:
    assert build_head_text("Q?", None) == "Q?"
    assert build_seed_text("Q?", None, None) == "Q?\n"
    assert build_seed_text("Q?", prompt="") == "\nQ?\n"
