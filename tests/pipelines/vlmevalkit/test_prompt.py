"""Both ways in which MMBench's questions are put."""

from eyechart.pipelines.vlmevalkit.benchmark import PROMPTS, build_note_prompt
from eyechart.types import ImageRef, Sample

PICTURE = ImageRef(kind="file", location="a.png")


def sample(**fields: str) -> Sample:
    return Sample(
        id="1",
        question="Which?",
        images=(PICTURE,),
        choices={"A": "cat", "C": "dog"},
        **fields,  # type: ignore[arg-type]
    )


def test_vlmevalkit() -> None:
    prompt = PROMPTS["vlmevalkit"]
    [message] = prompt(sample(hint="At sea."))
    assert message.parts == (
        PICTURE,
        "Hint: At sea.\nQuestion: Which?\nOptions:\nA. cat\nC. dog\n"
        "Please select the correct answer from the options above. \n",
    )
    [bare] = prompt(Sample(id="1", question="Why?"))
    assert bare.text == "Question: Why?\n"
    [written] = prompt(Sample(id="1", question="Which?", choices_text="one or two"))
    assert written.text == "Which?\none or two"


def test_the_note() -> None:
    assert PROMPTS["note"] is build_note_prompt
    [message] = build_note_prompt(sample(hint="At sea."))
    assert message.role == "user"
    assert message.parts == (PICTURE, "At sea. Which? There are several options:\nA. cat\nC. dog\n")
    [plain] = build_note_prompt(sample())
    assert plain.text == "Which? There are several options:\nA. cat\nC. dog\n"
    [bare] = build_note_prompt(Sample(id="1", question="Why?"))
    assert bare.text == "Why? There are several options:\n"
    many = dict(zip("ABCDEFG", "pqrstuv", strict=True))
    [six] = build_note_prompt(Sample(id="1", question="Why?", choices=many))
    assert six.text.endswith("\nD. s\nE. t\n")
