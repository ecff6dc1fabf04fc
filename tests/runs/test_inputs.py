"""What is sent with each `--input`, counted at the endpoint; and what is refused before anything is."""

import base64
import hashlib
import io
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.source import open_source
from eyechart.errors import UsageError
from eyechart.runs.api import run
from eyechart.runs.estimate import estimate_run
from eyechart.runs.sources import make_custom_benchmark
from eyechart.types import Message
from support.command import Outcome
from support.files import jsonl, picture
from support.runs import run_command, run_here, server_fixture
from support.server import Asked, Server

server = server_fixture()
COLOURS = ("red", "green", "blue", "white", "black")
SIZES = ((32, 24), (20, 50), (64, 64))


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Ten questions on five images of three sizes: 2k and 2k + 1 show the same one, from two files."""
    rows = []
    for k in range(10):
        name = f"{k}.png"
        (tmp_path / name).write_bytes(picture(COLOURS[k // 2], SIZES[k % 10 // 2 % 3]))
        rows.append(
            {"id": f"q{k}", "question": f"Question {k}?", "image": name, "answer": "A", "note": f"about {k}"}
        )
    return jsonl(tmp_path / "q.jsonl", rows)


def ask(questions: Path, server: Server, *flags: object) -> list[Asked]:
    """The requests of one run, by the number of their question."""
    before = len(server.asked)
    done = run_command(questions, server, *flags)
    assert done.code == 0, done.err
    return sorted(server.asked[before:], key=lambda asked: asked.text.partition("Question")[2])


def refuse(questions: Path, server: Server, *flags: object) -> Outcome:
    """A run that is refused: nothing was sent, and no run folder is left."""
    done = run_command(questions, server, *flags)
    assert done.code == 2, done.out
    assert not server.asked
    assert not [*questions.parent.glob("runs/**/run.sqlite")]
    return done


def decode(asked: Asked) -> list[Image.Image]:
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in asked.images]


def hash_images(asked: Asked) -> list[str]:
    return [hashlib.sha256(url.encode()).hexdigest() for url in asked.images]


def test_none_sends_the_question_alone(questions: Path, server: Server) -> None:
    asked = ask(questions, server, "--input", "none")
    assert [one.body["messages"] for one in asked] == [
        [{"role": "user", "content": f"Question {k}?"}] for k in range(10)
    ]


def test_blank_sends_a_white_image_of_the_same_size(questions: Path, server: Server) -> None:
    own, blank = ask(questions, server), ask(questions, server, "--input", "blank")
    assert len(own) == len(blank) == 10
    for one, other in zip(own, blank, strict=True):
        assert one.text == other.text
        [before], [after] = decode(one), decode(other)
        assert before.size == after.size
        assert after.convert("RGB").getextrema() == ((255, 255),) * 3


def test_a_blank_image_is_as_small_as_the_image_would_be_sent(questions: Path, server: Server) -> None:
    asked = ask(questions, server, "--input", "blank", "--max-side", 16)
    assert {max(image.size) for one in asked for image in decode(one)} == {16}


def test_shuffled_never_sends_the_own_image_nor_a_copy_of_it(questions: Path, server: Server) -> None:
    own, shuffled = ask(questions, server), ask(questions, server, "--input", "shuffled")
    assert len(shuffled) == 10
    known = {content for one in own for content in hash_images(one)}
    for one, other in zip(own, shuffled, strict=True):
        assert one.text == other.text
        assert not set(hash_images(one)) & set(hash_images(other))
        assert set(hash_images(other)) <= known
    other_seed = ask(questions, server, "--input", "shuffled", "--seed", 3)
    assert [hash_images(one) for one in other_seed] != [hash_images(one) for one in shuffled]


def test_shuffled_images_of_several(tmp_path: Path, server: Server) -> None:
    for colour in COLOURS:
        (tmp_path / f"{colour}.png").write_bytes(picture(colour))
    shown = [("red", "green"), ("blue",), ("white", "black"), ("red", "blue", "white")]
    rows = [
        {"question": f"Question {k}?", "image": [f"{one}.png" for one in colours], "answer": "A"}
        for k, colours in enumerate(shown)
    ]
    questions = jsonl(tmp_path / "q.jsonl", rows)
    own, shuffled = ask(questions, server), ask(questions, server, "--input", "shuffled")
    for one, other in zip(own, shuffled, strict=True):
        assert len(one.images) == len(other.images) == len(set(other.images)) or len(one.images) == 3
        assert not set(one.images) & set(other.images)


def test_captions_from_a_column(questions: Path, server: Server) -> None:
    asked = ask(questions, server, "--input", "caption", "--captions", "note")
    assert [one.body["messages"][0]["content"] for one in asked] == [
        f"[Caption of the image: about {k}]\nQuestion {k}?" for k in range(10)
    ]


def test_texts_from_a_file_by_sample_or_image(questions: Path, server: Server) -> None:
    by_id = jsonl(questions.parent / "c.jsonl", [{"id": f"q{k}", "caption": f"c{k}"} for k in range(10)])
    asked = ask(questions, server, "--input", "caption", "--captions", by_id)
    assert asked[3].text == "[Caption of the image: c3]\nQuestion 3?"
    by_image = questions.parent / "ocr.txt"
    by_image.write_text("".join(f"{k}.png,{'' if k == 4 else f'text {k}, read'}\n" for k in range(10)))
    asked = ask(questions, server, "--input", "ocr", "--ocr-texts", by_image)
    assert asked[3].text == "[Text in the image: text 3, read]\nQuestion 3?"
    assert asked[4].text == "[Text in the image: none]\nQuestion 4?"


@pytest.mark.ocr
@pytest.mark.slow
def test_our_own_ocr_reads_the_images(tmp_path: Path, server: Server) -> None:
    pytest.importorskip("rapidocr")
    from PIL import ImageDraw

    sign = Image.new("RGB", (300, 120), "white")
    ImageDraw.Draw(sign).text((40, 40), "GATE 7", fill="black", font_size=44)
    sign.save(tmp_path / "a.png")
    questions = jsonl(tmp_path / "q.jsonl", [{"question": "Which?", "image": "a.png", "answer": "A"}])
    [asked] = ask(questions, server, "--input", "ocr")
    assert asked.text.replace(" ", "") == "[Textintheimage:GATE7]\nWhich?"


def test_a_neutral_wording(questions: Path, server: Server) -> None:
    for asked in ask(questions, server, "--reword", "please"):
        assert asked.text.startswith("Please answer the following question.\nQuestion ")
        assert len(asked.images) == 1


# -- runs


def test_the_score_of_a_blind_run_is_marked(questions: Path, server: Server) -> None:
    assert "asked with --input none" in run_command(questions, server, "--input", "none").err
    assert "--input" not in run_command(questions, server).err


@pytest.mark.slow
def test_each_input_is_a_run_of_its_own_and_says_so(questions: Path, server: Server) -> None:
    found = {}
    for kind in ("image", "none", "blank", "shuffled"):
        done = run_here(questions, "openai/m", base_url=server.base_url, input=kind)
        assert done.manifest["options"]["input"] == kind
        found[done.folder] = kind
    assert len(found) == 4
    assert len(server.asked) == 40
    for kind in found.values():
        run_here(questions, "openai/m", base_url=server.base_url, input=kind)
    assert len(server.asked) == 40  # nothing is asked twice


def test_an_estimate_counts_what_would_be_sent(questions: Path, server: Server) -> None:
    def count(kind: str) -> tuple[int, int]:
        found = estimate_run(
            questions, "openai/gpt-4o", base_url=server.base_url, input=kind, out=questions.parent / "runs"
        )
        return found.requests, found.images

    assert {kind: count(kind) for kind in ("image", "none", "blank", "shuffled")} == {
        "image": (10, 10), "none": (10, 0), "blank": (10, 10), "shuffled": (10, 10),
    }  # fmt: skip
    assert not server.asked


@pytest.mark.slow
def test_models_that_are_not_endpoints_get_no_path_to_the_image(questions: Path) -> None:
    given: list[object] = []

    class Own:
        def generate(self, text: str, images: list[str]) -> str:
            given.extend(Image.open(path).convert("RGB").getextrema() for path in images)
            return "A"

    run(questions, Own(), input="blank", out=questions.parent / "runs", progress=False)
    assert given == [((255, 255),) * 3] * 10
    given.clear()
    run(questions, Own(), input="none", out=questions.parent / "runs", progress=False)
    assert not given


# -- refused before anything is sent


def test_missing_texts_are_named(questions: Path, server: Server) -> None:
    some = jsonl(
        questions.parent / "c.jsonl", [{"id": f"q{k}", "caption": "c"} for k in (0, 1, 2, 4, 5, 6, 8, 9)]
    )
    said = refuse(questions, server, "--input", "caption", "--captions", some).err
    assert "c.jsonl: no text for 2 of 10 samples with images: q3, q7" in said


def test_texts_that_are_nowhere(questions: Path, server: Server) -> None:
    assert "has no column 'caption'" in refuse(questions, server, "--input", "caption").err
    said = refuse(questions, server, "--input", "caption", "--captions", "nota").err
    assert "neither a file nor a column" in said
    assert "note" in said


@pytest.mark.parametrize("kind", ["caption", "blank", "shuffled"])
def test_a_source_without_images(tmp_path: Path, server: Server, kind: str) -> None:
    questions = jsonl(tmp_path / "q.jsonl", [{"question": "Why?", "answer": "A", "caption": "c"}] * 2)
    said = refuse(questions, server, "--input", kind).err
    assert "no sample has an image" in said


def test_a_source_with_one_image_cannot_be_shuffled(tmp_path: Path, server: Server) -> None:
    for name in ("a.png", "copy.png"):
        (tmp_path / name).write_bytes(picture())
    rows = [{"question": f"Question {name}?", "image": name, "answer": "A"} for name in ("a.png", "copy.png")]
    said = refuse(jsonl(tmp_path / "q.jsonl", rows), server, "--input", "shuffled").err
    assert "there is no other image to show with sample" in said


def test_a_prompt_that_sends_no_images(questions: Path, server: Server) -> None:
    benchmark = replace(
        make_custom_benchmark(open_source(questions)),
        prompt=lambda sample: [Message("user", (sample.question,))],
    )
    for kind in ("blank", "shuffled", "caption"):
        more = {"captions": "note"} if kind == "caption" else {}
        with pytest.raises(UsageError, match=f"input='{kind}' replaces images, but the prompt sends none"):
            run(
                benchmark,
                "openai/m",
                base_url=server.base_url,
                input=kind,
                out=questions.parent / "runs",
                **more,
            )
    assert not server.asked


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--captions", "note"), "captions has no effect: input is image"),
        (("--ocr-texts", "note", "--input", "caption"), "ocr_texts has no effect: input is caption"),
        (("--input", "blank", "--pass-urls"), "pass_urls has no effect"),
        (("--input", "ocr", "--max-side", 9), "max_side has no effect"),
        (("--input", "sound"), "invalid choice"),
    ],
)
def test_options_without_effect(
    questions: Path, server: Server, flags: tuple[object, ...], said: str
) -> None:
    assert said in refuse(questions, server, *flags).err
