"""Multiple choice, with pictures and without: the prompt in VLMEvalKit's frame."""

from pathlib import Path

from eyechart.pipelines.vlmevalkit.vlmeval.dataset import (
    CustomMCQDataset,
    CustomTextMCQDataset,
    ImageMCQDataset,
)
from support.extras import extra
from support.files import picture_base64
from support.tables import write_tsv

extra("pandas")
HEADING = ["index", "hint", "question", "A", "B", "C", "answer"]


def test_hint_question_and_options(root: Path) -> None:
    rows = [[1, "At sea.", "Which?", "None", "3", "", "A"], [2, "", "Which?", "007", "", "", "A"]]
    write_tsv(root / "mine.tsv", [*HEADING, "image"], *([*row, picture_base64()] for row in rows))
    mine = CustomMCQDataset("mine")
    image, text = mine.build_prompt(mine.data.iloc[0])
    assert image == {"type": "image", "value": str(root / "images" / "mine" / "1.png")}
    assert text["value"] == (
        "Hint: At sea.\nQuestion: Which?\nOptions:\nA. None\nB. 3\n"
        "Please select the correct answer from the options above. \n"
    )
    assert "A. 007\nPlease" in ImageMCQDataset.build_prompt(mine, 1)[-1]["value"]
    assert mine.TYPE == "MCQ"


def test_a_question_without_options(root: Path) -> None:
    write_tsv(
        root / "mine.tsv", HEADING, [1, "", "Which?", "", "", "", ""], [2, "", "Which?", "x", "y", "", "A"]
    )
    text = CustomTextMCQDataset("mine")
    assert text.build_prompt(0) == [{"type": "text", "value": "Question: Which?\n"}]
    assert (text.TYPE, text.MODALITY) == ("MCQ", "TEXT")
