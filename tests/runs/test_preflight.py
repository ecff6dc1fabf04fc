"""The look at the data before the first request: what stops a run, and what it is told of."""

from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import DataError
from eyechart.runs.estimate import estimate_run
from support.command import Outcome, eyechart
from support.files import choice_tsv, jsonl, picture, picture_base64
from support.runs import server_fixture
from support.server import Server

server = server_fixture()


def run(server: Server, path: Path, *flags: object) -> Outcome:
    address = ("-m", "openai/m", "--base-url", server.base_url, "--api-key", "k", "-q")
    return eyechart("run", path.name, *address, *flags, cwd=path.parent)


def outcomes(done: Outcome) -> dict[str, int]:
    return {name: n for name, n in done.json["outcomes"].items() if n}


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    for name in ("a.png", "b.png"):
        (path.parent / name).write_bytes(picture())
    return path


UNUSED = {
    "Bild": "a.png", "link": "https://a.org/a.jpg", "b": picture_base64(), "both": "['a.png', 'b.png']",
    "clip": "a.mp4", "sound": "a.wav",
}  # fmt: skip


@pytest.mark.parametrize(("column", "cell"), UNUSED.items())
def test_images_that_nobody_sends_stop_the_run(
    tmp_path: Path, server: Server, column: str, cell: str
) -> None:
    path = table(tmp_path / "q.tsv", f"question\tanswer\t{column}\nWhich?\tA\t{cell}\nWhich?\tA\t{cell}\n")
    done = run(server, path)
    assert (done.code, done.out, server.asked) == (2, "", [])
    assert f"column {column}, row 1: " in done.err
    assert not (tmp_path / "runs").exists()
    assert run(server, path, "--dry-run").code == 2
    assert eyechart("data", "check", path.name, cwd=tmp_path).code == 1
    assert run(server, path, "--input", "none").code == 0
    assert all(not asked.images for asked in server.asked)
    assert len(server.asked) == 2


def test_the_flag_of_the_hint_mends_it(tmp_path: Path, server: Server) -> None:
    path = table(tmp_path / "q.csv", "question,answer,my Bild,after\nWhich?,A,a.png,b.png\n")
    refused = run(server, path)
    assert "--field image='my Bild' --field image=after sends them" in refused.err
    assert run(server, path, "--field", "image=my Bild", "--field", "image=after").code == 0
    assert [len(asked.images) for asked in server.asked] == [2]
    done = run(server, path, "--field", "image=after", "--no-cache")  # said, so meant; and told
    assert (done.code, len(server.asked[-1].images)) == (0, 1)
    assert "column my Bild, row 1: 'a.png'" in done.err


def test_images_that_begin_in_a_later_row_stop_the_run(tmp_path: Path, server: Server) -> None:
    rows: list[dict[str, Any]] = [{"question": f"Which {k}?", "answer": "A"} for k in range(60)]
    path = jsonl(tmp_path / "q.jsonl", [*rows, {"question": "Which?", "answer": "A", "Bild": "a.png"}])
    done = run(server, path)
    assert (done.code, server.asked) == (2, [])
    assert "column Bild, row 61: 'a.png'" in done.err
    assert not list(tmp_path.rglob("run.sqlite"))
    assert run(server, path, "--field", "image=Bild", "--input", "any", "--limit", "3").code == 0


def test_the_library_refuses_the_same(tmp_path: Path) -> None:
    path = table(tmp_path / "q.csv", "question,answer,Bild\nWhich?,A,a.png\n")
    with pytest.raises(DataError, match="look like images"):
        ec.run(path, "baseline/random", out=tmp_path, progress=False)
    with pytest.raises(DataError, match="look like images"):
        estimate_run(path, "baseline/random", progress=False)


def test_a_row_without_an_image_fails_and_the_others_are_asked(tmp_path: Path, server: Server) -> None:
    path = table(tmp_path / "q.csv", "id,question,answer,image_path\n1,Which?,A,a.png\n2,Which?,A,\n")
    done = run(server, path, "--json")
    assert (done.code, outcomes(done)) == (1, {"correct": 1, "failed": 1})
    assert "rows without an image: 1; first: row 2" in done.err
    assert len(server.asked) == 1
    assert run(server, path, "--input", "any").code == 0
    assert [len(asked.images) for asked in server.asked][1:] in ([0], [1, 0])
    assert eyechart("data", "check", path.name, "--input", "any", cwd=tmp_path).code == 0
    checked = eyechart("data", "check", path.name, cwd=tmp_path)
    assert (checked.code, "rows without an image: 1; rows 2 [no-image]" in checked.out) == (1, True)


def test_a_column_of_images_without_any_stops_the_run(tmp_path: Path, server: Server) -> None:
    path = table(tmp_path / "q.tsv", "question\tanswer\timage\nWhich?\tA\t\nWhich?\tA\t\n")
    done = run(server, path)
    assert (done.code, server.asked) == (2, [])
    assert "no row has an image (column image is empty)" in done.err
    assert run(server, path, "--input", "none").code == 0


@pytest.mark.slow
def test_mmbench_without_images_is_refused_unless_it_is_meant(tmp_path: Path, server: Server) -> None:
    path = table(tmp_path / "q.tsv", "index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n")
    done = run(server, path, "--as", "mmbench")
    assert (done.code, server.asked) == (2, [])
    assert "no row has an image" in done.err
    assert not list(tmp_path.rglob("*.xlsx"))
    assert eyechart("data", "check", path.name, "--as", "mmbench", cwd=tmp_path).code == 1
    assert run(server, path, "--as", "mmbench", "--input", "none").code == 0
    assert run(server, path).code == 0  # a plain file of texts


@pytest.mark.parametrize("kind", ["question_type_id", "qtype"])
def test_rows_of_infochartqa_are_not_asked_as_plain_ones(tmp_path: Path, server: Server, kind: str) -> None:
    row = {"question_id": "1", kind: 72, "question": "How many?", "answer": "2", "url": "https://a.org/1.png"}
    path = jsonl(tmp_path / "q.jsonl", [row])
    done = run(server, path)
    assert (done.code, server.asked) == (2, [])
    assert "--as infochartqa" in done.err
    assert eyechart("data", "check", path.name, "--no-images", cwd=tmp_path).code == 1
    assert "no row has" not in run(server, path, "--as", "infochartqa", "--dry-run").err
    assert run(server, path, "--as", "plain", "--input", "none").code == 0


BLOCK = "findings in the data that can change the score:"


@pytest.mark.slow
def test_what_moves_the_number_is_told_with_its_row(tmp_path: Path, server: Server) -> None:
    lines = ["index\tquestion\tA\tB\tanswer", "1\tOne?\tx\ty\tA", "2\tTwo?\tx\ty\tE", "3\tThree?\tx\ty\tAB"]
    path = table(tmp_path / "q.tsv", "\n".join(lines) + "\n")
    done = run(server, path, "--json")
    assert outcomes(done) == {"correct": 1, "unscored": 2}
    assert "answers that are not among the options: 1; first: row 2: 'E' (options: A, B)" in done.err
    assert "first: row 3: 'AB'" in done.err
    official = run(server, path, "--json", "--scorer", "choice-vlmevalkit")
    assert outcomes(official) == {"correct": 1, "wrong": 2}  # as the official code has it
    assert "first: row 2: 'E'" in official.err


@pytest.mark.parametrize("scorer", ["vqa-accuracy", "vqa-accuracy-lmms", "vqav2-lmms", "text"])
def test_a_single_answer_is_told_where_agreement_of_people_is_scored(
    tmp_path: Path, server: Server, scorer: str
) -> None:
    path = table(tmp_path / "q.csv", "question,answer\nQ?,A\nR?,\"['A', 'A', 'A', 'A']\"\n")
    done = run(server, path, "--json", "--scorer", scorer)
    told = "rows with a single answer, for which VQA accuracy is always 0: 1; first: row 1" in done.err
    assert told == (scorer != "text")
    assert outcomes(done)["correct"] == (1 if told else 2)


TOLD = {
    "question,a,b,c,answer\nQ?,x,y,z,a\n": "columns that look like options; the questions are asked without",
    "question,A,answer\nQ?,x,A\n": "a single option column",
    "question,option_a,answer\nQ?,x,A\n": "a single option column",
    "index,g_index,question,A,B,answer\n1,1,Q?,x,y,A\n1000001,1,Q?,y,x,B\n": "rotations of other rows",
    "index,question,A,B,answer\n1,Q?,x,y,A\n1000001,Q?,y,x,B\n": "rotations of other rows",
    "question,image,answer\n<image> or <image>?,a.png,A\n": "more image placeholders than images",
    "question,image_1,image_2,answer\nWhat is <image 1>?,a.png,b.png,A\n": "no placeholder refers to",
    "image_id,question,answer\n12,What is it?,A\n": "columns named like image columns",
    "image_name,question,answer\nsunset,What is it?,A\n": "columns named like image columns",
    "question,answer\nLook: ![a](a.png),A\n": "an image in Markdown or HTML",
    "question,answer\nLook: <img width=3 src='a.png'>,A\n": "an image in Markdown or HTML",
    "question,image,A,B,answer\nWhich?,a.png,a.png,b.png,A\n": "options that look like images",
}


@pytest.mark.parametrize(("text", "said"), TOLD.items())
def test_each_of_these_is_told_before_the_first_request(
    tmp_path: Path, server: Server, text: str, said: str
) -> None:
    path = table(tmp_path / "q.csv", text)
    done = run(server, path)
    assert done.code == 0
    assert BLOCK in done.err
    assert said in done.err
    assert said in eyechart("data", "check", path.name, cwd=tmp_path).out


def test_a_sound_file_is_told_nothing(tmp_path: Path, server: Server) -> None:
    assert BLOCK not in run(server, choice_tsv(tmp_path / "q.tsv", 4)).err
    assert BLOCK not in eyechart("run", "demo", "-m", "baseline/random", "-q", cwd=tmp_path).err


@pytest.mark.slow
def test_published_files_asked_by_another_rule(tmp_path: Path, server: Server) -> None:
    path = choice_tsv(tmp_path / "MMBench_DEV_EN.tsv", 4)
    assert "MMBench_DEV_EN is mmbench-dev-en" in run(server, path, "--as", "plain").err
    assert BLOCK not in run(server, path).err
    path = table(tmp_path / "ChartQA_TEST.tsv", "question\tanswer\timage\nWhich?\tA\ta.png\n")
    assert (
        "ChartQA_TEST is chartqa, scored by relaxed; here: default" in run(server, path, "--as", "plain").err
    )
    assert BLOCK not in run(server, path).err


def test_the_same_block_is_printed_once_for_several_models(tmp_path: Path) -> None:
    path = table(tmp_path / "q.csv", "question,A,answer\nQ?,x,A\n")
    models = ("-m", "baseline/random", "-m", "baseline/majority", "-q")
    assert eyechart("run", path.name, *models, cwd=tmp_path).err.count(BLOCK) == 1


def test_all_images_missing_is_an_error_as_one_is(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "q.jsonl", [{"question": "?", "answer": "x", "image": f"{k}.png"} for k in range(3)]
    )
    assert eyechart("data", "check", path.name, cwd=tmp_path).code == 1


def test_placeholders_are_filled_where_they_stand(tmp_path: Path, server: Server) -> None:
    row = "Is <image 1> older than <image 2>?,A,a.png,b.png,\"['<image 2>', 'no']\""
    path = table(tmp_path / "q.csv", f"question,answer,image_1,image_2,options\n{row}\n")
    assert run(server, path).code == 0
    (asked,) = server.asked
    content = asked.body["messages"][-1]["content"]
    kinds = [part["text"] if part["type"] == "text" else "image" for part in content]
    assert kinds == [
        "Question: Is ",
        "image",
        " older than ",
        "image",
        "?\nOptions:\nA. ",
        "image",
        kinds[-1],
    ]
    assert kinds[-1].startswith("\nB. no\n")
    assert len(set(asked.images)) == 1  # both are the same red picture, from two files
    assert run(server, path, "--input", "none").code == 0
    assert server.asked[-1].text.startswith("Question: Is older than?\nOptions:\nA.\nB. no\n")


def test_a_model_of_text_and_images_is_told_where_images_stand(tmp_path: Path) -> None:
    texts: list[str] = []

    class Own:
        def generate(self, text: str, images: list[str]) -> str:
            texts.append(text)
            return "A"

    path = table(
        tmp_path / "q.csv", "question,answer,image_1,image_2\nIs <image 2> or <image 1>?,A,a.png,b.png\n"
    )
    ec.run(path, Own(), out=tmp_path, progress=False)
    assert texts == ["Is \n<image 1>\n or \n<image 2>\n?"]


def test_a_configuration_names_several_columns(tmp_path: Path, server: Server) -> None:
    table(tmp_path / "q.csv", "question,answer,left,right\nWhich?,A,a.png,b.png\n")
    lines = [
        "data: q.csv",
        "model: openai/m",
        f"base_url: {server.base_url}",
        "fields: {image: [right, left]}",
    ]
    (tmp_path / "c.yaml").write_text("\n".join(lines))
    assert eyechart("run", "c.yaml", "-q", cwd=tmp_path, OPENAI_API_KEY="k").code == 0
    assert [len(asked.images) for asked in server.asked] == [2]
