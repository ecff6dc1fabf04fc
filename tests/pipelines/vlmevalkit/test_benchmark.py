"""MMBench in the catalogue: found by name, read from its files, asked and scored."""

import csv
import json
import re
from pathlib import Path

import msgspec
import openpyxl
import pytest

import eyechart as ec
from eyechart import registry
from eyechart.errors import DataError, UsageError
from eyechart.pipelines.vlmevalkit.benchmark import SETS
from support.command import eyechart
from support.files import choice_tsv, jsonl, picture, picture_base64
from support.server import Asked, Server


def write(path: Path, answers: str = "BA") -> Path:
    """One question with two rotations; the second row takes the picture of the first."""
    lines = ["\t".join(["index", "question", "hint", "A", "B", "answer", "category", "image"])]
    for turn, (first, second) in enumerate([("cat", "dog"), ("dog", "cat")]):
        cells = [str(7 + turn * 1_000_000), "Which?", "", first, second, answers[turn : turn + 1], "ocr"]
        lines.append("\t".join([*cells, picture_base64() if turn == 0 else "7"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [*SETS, "mmbench"])
def test_naming_a_set_touches_no_disk(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    declared = registry.benchmarks.get(name)()
    assert (declared.name, declared.circular, declared.files) == (name, "headline", "mmbench")
    assert declared.about
    assert registry.scorers.get(declared.scorer).parity == "official"
    assert declared.judged_scorer == "choice-vlmevalkit"
    json.dumps(declared.settings)
    with pytest.raises(DataError) as caught:
        next(iter(declared.source))
    assert caught.value.hint
    assert (SETS[name][0] if name in SETS else "--as mmbench") in f"{caught.value}{caught.value.hint}"


def test_a_set_is_found_by_its_published_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    write(tmp_path / "MMBench_DEV_EN.tsv")
    declared = registry.benchmarks.get("mmbench-dev-en")()
    first, second = declared.source
    assert (first.id, second.id) == ("7", "1000007")
    assert first.circle == second.circle == "7"
    assert (first.golds, second.golds) == (("B",), ("A",))
    assert second.images == first.images
    [message] = declared.prompt(second)
    assert message.text.startswith("Question: Which?\nOptions:\nA. dog\nB. cat\n")
    assert declared.source.origin == "MMBench_DEV_EN"


def test_a_file_of_ones_own_with_settings(tmp_path: Path) -> None:
    path = write(tmp_path / "mmbench_dev_20230712.tsv")
    declared = registry.benchmarks.get("mmbench")(file=path, prompt="note", cells="text")
    assert declared.settings == {"file": str(path), "prompt": "note", "cells": "text"}
    assert msgspec.json.encode(declared.settings)
    sample = next(iter(declared.source))
    [message] = declared.prompt(sample)
    assert message.text == "Which? There are several options:\nA. cat\nB. dog\n"
    assert declared.source.origin == str(path)


def test_a_test_split_has_no_answers(tmp_path: Path) -> None:
    declared = registry.benchmarks.get("mmbench-test-en")(file=write(tmp_path / "a.tsv", ""))
    assert [sample.golds for sample in declared.source] == [(), ()]


@pytest.mark.parametrize("name", ["MMBench_TEST_EN_V11", "mmbench_test_en_20231003", "MMBench_DEV_KO"])
def test_a_test_split_with_answers_is_scored_like_a_dev_split(tmp_path: Path, name: str) -> None:
    write(tmp_path / f"{name}.tsv")
    done = eyechart("run", f"{name}.tsv", "-m", "baseline/random", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (done.json["n_scored"], done.json["also"]["plain"]["n"]) == (1, 2)
    assert "answers" not in done.err
    assert list((tmp_path / done.json["run"] / "official").glob(f"*_{name}_acc.csv"))


def test_a_set_is_found_by_an_earlier_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    write(tmp_path / "mmbench_dev_20230712.tsv")
    assert len(list(registry.benchmarks.get("mmbench-dev-en")().source)) == 2


WORDS = ["cat", "dog", "bird"]


def circles(path: Path, n: int = 3) -> Path:
    """Questions Q0, Q1, ... with three rotations each, all answered by "dog"; one picture for all."""
    head = ["index", "question", "A", "B", "C", "answer", "category", "l2-category", "image"]
    lines = ["\t".join(head)]
    for turn in range(3):
        for k in range(n):
            picture = picture_base64() if turn == k == 0 else "0"
            options = WORDS[turn:] + WORDS[:turn]
            cells = [str(k + turn * 1_000_000), f"Q{k}: which?", *options, "ABC"[(1 - turn) % 3]]
            lines.append("\t".join([*cells, ("ocr", "scene")[k % 2], "coarse_perception", picture]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def dog_in(text: str) -> str:
    found = re.search(r"([A-C])\. dog", text)
    assert found is not None
    return found[1]


def test_from_file_to_result_files(tmp_path: Path) -> None:
    """Q0 is right in words, Q1 cannot be read, Q2 is right but for its last rotation."""

    def answer(asked: Asked) -> str:
        if "Q0" in asked.text:
            return "It is a dog."
        if "Q1" in asked.text:
            return dog_in(asked.text).lower()
        return "A" if dog_in(asked.text) == "C" else dog_in(asked.text)

    circles(tmp_path / "MMBench_MINI.tsv")
    with Server(answer) as server:
        common = ("--as", "mmbench", "-m", "openai/my.model", "--base-url", server.base_url, "--json", "-q")
        plain = eyechart("run", "MMBench_MINI.tsv", *common, cwd=tmp_path)
        assert plain.code == 0, plain.err
        found = plain.json
        assert (found["n"], found["score"]) == (3, pytest.approx(1 / 3))
        assert (
            found["outcomes"]["correct"] == found["outcomes"]["wrong"] == found["outcomes"]["unparsed"] == 1
        )
        assert found["also"]["plain"]["n"] == 9
        assert found["also"]["plain"]["score"] == pytest.approx(5 / 9)
        folder = tmp_path / found["run"] / "official"
        stem = "my_model_MMBench_MINI"
        with (folder / f"{stem}_acc.csv").open(encoding="utf-8", newline="") as file:
            [line] = csv.DictReader(file)
        assert list(line) == ["split", "Overall", "CP", "ocr", "scene"]
        assert [float(line[name]) for name in ("Overall", "ocr", "scene")] == pytest.approx([1 / 3, 0.5, 0])
        book = openpyxl.load_workbook(folder / f"{stem}_exact_matching_result.xlsx")
        assert [row[0].value for row in book.active.iter_rows(min_row=2)] == [0, 1, 2]  # type: ignore[union-attr]


def test_a_judge_is_asked_for_circles_that_are_not_lost(tmp_path: Path) -> None:
    judged: list[str] = []

    def answer(asked: Asked) -> str:
        text = asked.text
        if asked.body["model"] == "judge":
            judged.append(text)
            return dog_in(text[text.rindex("Options") :])
        letter = dog_in(text)
        if "Q0" in text:  # undecided throughout
            return letter.lower()
        return letter.lower() if letter != "A" else "B"  # undecided twice, wrong once

    circles(tmp_path / "mini.tsv", 2)
    with Server(answer) as server:
        done = eyechart(
            *("run", "mini.tsv", "--as", "mmbench", "-m", "openai/m", "--base-url", server.base_url),
            *("--judge", "openai/judge", "--judge-base-url", server.base_url, "--json", "-q"),
            cwd=tmp_path,
        )
    assert done.code == 0, done.err
    assert done.json["score"] == 0.5
    assert len(judged) == 3
    assert all("Q0" in text for text in judged)
    assert list((tmp_path / done.json["run"] / "official").glob("*_judge_result.xlsx"))


def test_a_split_without_answers_is_asked_and_not_scored(tmp_path: Path) -> None:
    write(tmp_path / "MMBench_TEST_EN.tsv", "")
    done = eyechart("run", "mmbench-test-en", "-m", "baseline/random", cwd=tmp_path, LMUData=str(tmp_path))
    assert done.code == 0, done.err
    assert "random_MMBench_TEST_EN.xlsx" in done.out + done.err
    assert "the file has no answers, so nothing will be scored" in done.err
    assert "closed on 31 March 2026" in done.err
    assert "submit" not in done.err
    [path] = tmp_path.glob("runs/mmbench-test-en/*/official/*")
    rows = list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))  # type: ignore[union-attr]
    assert rows[0] == (  # the columns of the file, empty ones included, then those that only the note names
        "index", "question", "hint", "A", "B", "answer", "category", "C", "D", "l2_category", "prediction",
    )  # fmt: skip
    assert [row[0] for row in rows[1:]] == [7, 1000007]


def test_any_file_can_be_asked_in_circles(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "mine.tsv", 4)
    with Server(lambda asked: "A") as server:
        done = eyechart(
            *(
                "run",
                "mine.tsv",
                "--circular",
                "-m",
                "openai/m",
                "--base-url",
                server.base_url,
                "--json",
                "-q",
            ),
            cwd=tmp_path,
        )
    assert done.code == 0, done.err
    assert (done.json["n"], done.json["score"]) == (4, 0.0)
    assert (done.json["also"]["plain"]["n"], done.json["also"]["plain"]["score"]) == (16, 0.25)


def write_replies(path: Path, questions: Path, lost: str) -> None:
    """Replies "A" to the rows of a file, with its questions; the row with the index `lost` is missing."""
    head, *rows = (line.split("\t")[:-1] for line in questions.read_text(encoding="utf-8").splitlines())
    kept = [[*row, "A"] for row in rows if row[0] != lost]
    lines = ["\t".join(row) for row in ([*head, "prediction"], *kept)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("benchmark", ["mini.tsv", "mmbench"])
@pytest.mark.parametrize("lost", ["none", "1000001", "1"])
def test_a_question_with_a_missing_reply_is_left_out(tmp_path: Path, benchmark: str, lost: str) -> None:
    """Every question has a wrong rotation, so those that were left out used to be counted as wrong."""
    questions = circles(tmp_path / "mini.tsv")
    write_replies(tmp_path / "m_mini.tsv", questions, lost)
    source = ("--benchmark", benchmark, *(("--as", "mmbench") if "." in benchmark else ()))
    done = eyechart("score", *source, "--replies", "m_mini.tsv", "--json", cwd=tmp_path)
    n_failed = int(lost != "none")
    assert done.code == n_failed, done.err
    found = done.json
    assert (found["n"], found["n_scored"], found["outcomes"]["failed"]) == (3, 3 - n_failed, n_failed)
    assert found["parity"] == ("" if n_failed else "official")
    if n_failed:
        assert found["bounds"] == [0.0, pytest.approx(1 / 3)]
        shown = eyechart("report", found["run"], cwd=tmp_path)
        assert "leaves out 1 failed, so it is not the official number" in shown.out
        assert "parity" not in shown.out


def test_a_question_that_was_asked_once_lacks_no_rotation(tmp_path: Path) -> None:
    questions = circles(tmp_path / "mini.tsv")
    with questions.open("a", encoding="utf-8") as opened:
        opened.write("\t".join(["9", "Q9: which?", *WORDS, "A", "ocr", "coarse_perception", "0"]) + "\n")
    write_replies(tmp_path / "m_mini.tsv", questions, "none")
    done = eyechart("score", "--benchmark", "mmbench", "--replies", "m_mini.tsv", "--json", cwd=tmp_path)
    assert (done.json["n_scored"], done.json["score"], done.json["parity"]) == (4, 0.25, "official")


@pytest.mark.parametrize(
    ("options", "answer"), [(("C", "A", "E"), "A"), (("B", "AB", "O"), "AB"), (("cat", "dog", "x"), "dog")]
)
def test_an_answer_stays_as_it_is_written(tmp_path: Path, options: tuple[str, ...], answer: str) -> None:
    """The text of an option is not turned into its letter: in the official code it is never right."""
    letters = "BCD" if answer == "A" else "ABC"
    row = {
        "index": 7,
        "question": "Which?",
        "A": None,
        "B": None,
        "image": picture_base64(),
        "answer": answer,
    }
    row |= dict(zip(letters, options, strict=True)) | {"prediction": "C"}
    path = tmp_path / "m_mine.tsv"
    cells = ["" if value is None else str(value) for value in row.values()]
    path.write_text("\t".join(row) + "\n" + "\t".join(cells) + "\n", encoding="utf-8")
    assert [sample.golds for sample in ec.load(path, read_as="mmbench")] == [(answer,)]
    task = ("--as", "plain", "--scorer", "choice-vlmevalkit-2026-06")  # as tasks of EvalScope read and score
    for benchmark, flags in (
        ("m_mine.tsv", ("--as", "mmbench")),
        ("mmbench", ()),
        *([] if answer == "A" else [("m_mine.tsv", task)]),
    ):
        done = eyechart(
            "score", "--benchmark", benchmark, *flags, "--replies", path.name, "--json", cwd=tmp_path
        )
        assert (done.json["n_scored"], done.json["score"]) == (1, 0.0)
    if answer == "dog":
        checked = eyechart("data", "check", path.name, "--as", "mmbench", cwd=tmp_path)
        assert "row 1: 'dog' (options: A, B, C)" in checked.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "flags"),
    [
        ("mine.tsv", ("--as", "mmbench")),
        ("mine.tsv", ("--as", "mmbench", "--set", "prompt=note")),
        ("MMBench_DEV_EN.tsv", ()),
        ("CCBench.tsv", ()),
    ],
)
def test_circular_rotates_a_file_of_mmbench_that_holds_no_rotations(
    tmp_path: Path, file: str, flags: tuple[str, ...]
) -> None:
    choice_tsv(tmp_path / file, 4)
    with Server(lambda asked: "B") as server:
        model = ("-m", "openai/m", "--base-url", server.base_url)
        done = eyechart("run", file, *flags, "--circular", *model, "--json", "-q", cwd=tmp_path)
        assert len(server.asked) == 16
    assert done.code == 0, done.err
    assert (done.json["n"], done.json["score"], done.json["also"]["plain"]["score"]) == (4, 0.0, 0.25)
    [replies] = (tmp_path / done.json["run"] / "official").glob(f"*_{Path(file).stem}.xlsx")
    asked = ("score", "--benchmark", file, *flags, "--replies", replies, "--json")
    scored = eyechart(*asked, "--circular", cwd=tmp_path)
    assert scored.code == 0, scored.err
    assert (scored.json["n"], scored.json["score"]) == (4, 0.0)
    forgotten = eyechart(*asked, cwd=tmp_path)
    assert forgotten.code == 2
    assert "add --circular" in forgotten.err


def test_circular_leaves_a_file_with_rotations_as_it_is(tmp_path: Path) -> None:
    file = circles(tmp_path / "mini.tsv", 3)
    plain = list(ec.load(file, read_as="mmbench"))
    assert list(ec.load(file, read_as="mmbench", circular=True)) == plain
    # Nor is a question rotated that is chosen alone and has no rotations there.
    with file.open("a", encoding="utf-8") as opened:
        opened.write("\t".join(["9", "Q9: which?", *WORDS, "A", "ocr", "coarse_perception", "0"]) + "\n")
    assert [sample.id for sample in ec.load(file, read_as="mmbench", circular=True, ids=["9"])] == ["9"]


@pytest.mark.parametrize("name", ["hr-bench-4k", "vstar"])
def test_circular_rotates_any_benchmark_with_options(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    options = "(A) red\n(B) blue"
    rows = [
        {"image": "a.png", "question": f"Q{k}?", "options": options, "answer": "A", "category": "c"}
        for k in range(2)
    ]
    file = jsonl(tmp_path / "mine.jsonl", rows)
    asked = list(ec.load(file, read_as=name, circular=True))
    assert [(one.circle, one.choices_text[:7], one.golds) for one in asked] == [
        (circle, text, golds) for circle in "12" for text, golds in (("(A) red", ("A",)), ("(A) blu", ("B",)))
    ]
    done = ec.run(file, model="baseline/random", read_as=name, circular=True, out=tmp_path, progress=False)
    assert (done.summary.n, done.summary.also["plain"].n) == (2, 4)


def test_circular_is_refused_where_no_question_can_be_rotated(tmp_path: Path) -> None:
    no_answers = write(tmp_path / "a.tsv", "").read_text(encoding="utf-8").splitlines()
    (tmp_path / "b.tsv").write_text("\n".join(no_answers[:2]) + "\n", encoding="utf-8")
    for source in (("b.tsv",), ("b.tsv", "--as", "mmbench")):
        done = eyechart("run", *source, "--circular", "-m", "baseline/random", cwd=tmp_path)
        assert done.code == 2
        assert "no question can be rotated" in done.err
        assert not (tmp_path / "runs").exists()


def test_circular_is_refused_where_the_prompt_hides_the_options(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "mine.tsv", 2)
    asked = ("run", "mine.tsv", "--circular", "-m", "baseline/random", "--prompt-template")
    done = eyechart(*asked, "{{ question }}", cwd=tmp_path)
    assert done.code == 2
    assert "the prompt does not show them" in done.err
    assert eyechart(*asked, "{{ question }} {{ options }}", cwd=tmp_path).code == 0


def test_load_refuses_what_has_no_effect_on_samples(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"temperature, trials: load\(\) asks no questions") as caught:
        ec.load(choice_tsv(tmp_path / "mine.tsv"), trials=3, temperature=0)
    assert "limit" in caught.value.hint
