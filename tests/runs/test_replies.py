"""Replies that something else collected."""

from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pytest

import eyechart as ec
from eyechart.errors import DataError
from eyechart.registry import scorer, scorers
from eyechart.runs.options import Options
from eyechart.runs.replies import score_replies
from eyechart.types import Reply, Sample, Score
from support.files import choice_tsv, jsonl, picture_base64
from support.server import Answer, Server


def test_a_scorer_that_fails_costs_a_verdict_and_not_the_run(tmp_path: Path) -> None:
    rows = [{"id": name, "question": "?", "answer": "x", "reply": name} for name in ("fine", "odd", "bad")]
    jsonl(tmp_path / "q.jsonl", [{key: row[key] for key in ("id", "question", "answer")} for row in rows])
    jsonl(tmp_path / "r.jsonl", rows)

    @scorer("of-a-user", version="1")
    def of_a_user(reply: Reply, sample: Sample) -> Score:
        if reply.text == "bad":
            raise KeyError("bad")
        return Score(outcome="correct", value=1.0, detail={"what": object()} if reply.text == "odd" else {})

    options = Options.of({"scorer": "of-a-user", "out": str(tmp_path / "runs")})
    try:
        done = score_replies(tmp_path / "q.jsonl", tmp_path / "r.jsonl", options)
    finally:
        scorers._parts.pop("of-a-user")
    assert [result.outcome for result in done.samples()] == ["correct", "failed", "failed"]
    assert [result.reply.text for result in done.samples() if result.reply] == ["fine", "odd", "bad"]


class Model:
    """Right, wrong, silent, unreadable, broken: each question gets its own."""

    async def generate(self, messages: list[ec.Message]) -> str:
        text = messages[-1].text
        number = int(text.partition("Question ")[2].partition("?")[0].rpartition(" ")[2])
        if number == 5:
            raise RuntimeError("broken")
        replies = ["A", "=B", "I cannot say", "", "The answer is \x07(A)", "", "C\r\nor \u2028 C", "**D**"]
        return replies[number % 8]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ec.Run:
    folder = tmp_path_factory.mktemp("run")
    source = choice_tsv(folder / "zoo.tsv", 12)
    return ec.run(source, Model(), out=folder / "runs", progress=False, trials=2)


def verdicts(run: ec.Run) -> dict[tuple[str, int], tuple[object, ...]]:
    return {
        (one.sample.id, one.trial): (one.outcome, one.score and one.score.value, one.score and one.score.read)
        for one in run.samples()
    }


def log_in(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if not path.name.startswith("results_"))


@pytest.mark.parametrize("exporter", ["inspect", "lm-eval", "evalscope-report"])
@pytest.mark.parametrize("is_named", [True, False], ids=["benchmark", "alone"])
def test_a_run_comes_back_with_the_same_verdicts(
    finished: ec.Run, tmp_path: Path, exporter: str, is_named: bool
) -> None:
    path = log_in(finished.write_files(tmp_path, exporter))
    options = Options(out=str(tmp_path / "runs"))
    again = score_replies(finished.manifest["origin"] if is_named else None, path, options)
    assert verdicts(again) == verdicts(finished)
    assert again.score == finished.score
    assert again.trials == 2
    assert again.manifest["model"] in (finished.manifest["model"], "python-Model")
    assert again.by("category").keys() == finished.by("category").keys()


@pytest.mark.slow
def test_a_spreadsheet_comes_back_with_the_verdicts_of_its_trial(finished: ec.Run, tmp_path: Path) -> None:
    first, *_ = finished.write_files(tmp_path, "vlmevalkit")
    options = Options(out=str(tmp_path / "runs"))
    wanted = {key: verdict for key, verdict in verdicts(finished).items() if key[1] == 0}
    for source in (finished.manifest["origin"], None):
        again = score_replies(source, first, options)
        assert verdicts(again) == wanted
    again = score_replies(finished.manifest["origin"], first, options)
    assert again.manifest["model"] == "python-Model"
    assert [one.failure.reason for one in again.samples() if one.failure] == [
        f"{first.name}: Failed to obtain answer via API."
    ]


@pytest.mark.parametrize("exporter", ["inspect", "lm-eval", "evalscope-report"])
def test_why_a_reply_is_missing_stays_the_same_from_file_to_file(
    finished: ec.Run, tmp_path: Path, exporter: str
) -> None:
    run = finished
    for number in range(3):
        path = log_in(run.write_files(tmp_path / f"{number}", exporter))
        run = score_replies(finished.manifest["origin"], path, Options(out=str(tmp_path / f"runs{number}")))
    found = [(one.failure.stage, one.failure.reason) for one in run.samples() if one.failure]
    assert found == [(one.failure.stage, one.failure.reason) for one in finished.samples() if one.failure]
    assert {stage for stage, _ in found} == {"generate"}


@pytest.mark.parametrize("failed", ["no reply", "Failed to obtain answer via API."])
def test_rows_to_no_sample_are_named(tmp_path: Path, failed: str) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 2)
    (tmp_path / "m.tsv").write_text(f"index\tprediction\n0\tA\n1\tB\nodd\t{failed}\n")
    with pytest.raises(
        DataError, match=r"m\.tsv: 1 \w+ belongs to no sample of q \(e\.g\. odd: row 3 \(line 4\)\)"
    ):
        score_replies(questions, tmp_path / "m.tsv", Options(out=str(tmp_path / "runs")))


@pytest.mark.parametrize("exporter", ["inspect", "lm-eval", "evalscope-report"])
@pytest.mark.parametrize("is_named", [True, False], ids=["benchmark", "alone"])
def test_what_is_known_of_a_reply_is_kept(tmp_path: Path, exporter: str, is_named: bool) -> None:
    with Server(lambda asked: Answer("It is B", finish_reason="length")) as server:
        run = ec.run(
            choice_tsv(tmp_path / "q.tsv", 2),
            "openai/m",
            base_url=server.base_url,
            out=tmp_path / "runs",
            progress=False,
            cache=False,
        )
    path = log_in(run.write_files(tmp_path / "files", exporter))
    again = score_replies(tmp_path / "q.tsv" if is_named else None, path, Options(out=str(tmp_path / "r")))
    assert again.manifest["model"] in ("openai/m", "m")
    assert again.outcomes["truncated"] == 2
    assert [one.reply for one in again.samples()] == [one.reply for one in run.samples()]
    assert again.summary.tokens == run.summary.tokens


def mmbench(path: Path) -> Path:
    """Two questions with two rotations each; the first row's picture is everybody's."""
    lines = ["\t".join(["index", "question", "A", "B", "answer", "category", "image"])]
    for turn in (0, 1):
        for question in (7, 8):
            options = ["cat", "dog"] if turn == 0 else ["dog", "cat"]
            picture = picture_base64() if (turn, question) == (0, 7) else "7"
            lines.append(
                "\t".join([str(question + turn * 1_000_000), "Which?", *options, "BA"[turn], "ocr", picture])
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("as_number", [int, float, str])
def test_the_circular_score_of_a_prediction_file(
    tmp_path: Path, as_number: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    file = mmbench(tmp_path / "MMBench_DEV_EN.tsv")
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["index", "question", "A", "B", "answer", "category", "prediction"])
    for index, options, answer, reply in [
        (7, ("cat", "dog"), "B", "B"),
        (8, ("cat", "dog"), "B", "B"),
        (1_000_007, ("dog", "cat"), "A", "A"),
        (1_000_008, ("dog", "cat"), "A", "B"),
    ]:
        book.active.append([as_number(index), "Which?", *options, answer, "ocr", reply])
    replies = tmp_path / "served_MMBench_DEV_EN.xlsx"
    book.save(replies)
    common = {"out": str(tmp_path / "runs")}
    by_name = score_replies("mmbench-dev-en", replies, Options.of(common))
    by_file = score_replies("mmbench", replies, Options.of({**common, "settings": {"file": str(file)}}))
    alone = score_replies("mmbench", replies, Options.of(common))
    for done in (by_name, by_file, alone):
        assert (done.score, done.summary.n, done.summary.also["plain"].score) == (0.5, 2, 0.75)
        assert done.manifest["scorer"] == "choice-vlmevalkit"
    assert by_name.manifest["model"] == by_file.manifest["model"] == "served"


def test_an_evalscope_file_names_questions_by_their_place(tmp_path: Path) -> None:
    jsonl(tmp_path / "q.jsonl", [{"question": f"Is it {n}?", "answer": "yes"} for n in range(3)])
    said = {"role": "assistant", "content": "yes"}
    rows = [
        {
            "index": n,
            "model": "m",
            "model_output": {"model": "m", "choices": [{"message": said}]},
            "messages": [{"role": "user", "content": f"Look.\nIs it {n}?"}, said],
        }
        for n in (0, 2)
    ]
    jsonl(tmp_path / "p.jsonl", rows)
    done = score_replies(tmp_path / "q.jsonl", tmp_path / "p.jsonl", Options(out=str(tmp_path / "runs")))
    assert [one.outcome for one in done.samples()] == ["correct", "failed", "correct"]
    assert done.manifest["model"] == "m"


def test_half_a_character_is_told_and_not_a_crash(tmp_path: Path) -> None:
    jsonl(tmp_path / "q.jsonl", [{"id": "1", "question": "?", "answer": "x"}])
    (tmp_path / "r.jsonl").write_text('{"id": "1", "reply": "\\ud800", "other": NaN}\n')
    with pytest.raises(ec.DataError, match=r"r\.jsonl"):
        score_replies(tmp_path / "q.jsonl", tmp_path / "r.jsonl", Options(out=str(tmp_path / "runs")))


# -- several files ---------------------------------------------------------------------------------


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return jsonl(
        tmp_path / "q.jsonl", [{"id": name, "question": f"{name}?", "answer": name} for name in "abcd"]
    )


def test_files_are_merged_by_question_and_the_last_reply_counts(
    tmp_path: Path, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        jsonl(tmp_path / "one.jsonl", [{"id": name, "reply": "a"} for name in "abc"]),
        jsonl(tmp_path / "two.jsonl", [{"id": name, "reply": "b"} for name in "b"]),
    ]
    options = Options(out=str(tmp_path / "runs"))
    done = score_replies(questions, files, options)
    assert {one.sample.id: one.outcome for one in done.samples()} == {
        "a": "correct", "b": "correct", "c": "wrong", "d": "failed",
    }  # fmt: skip
    told = f"replies: 3 in {files[0]}, 1 in {files[1]}; 3 together, 1 replaced by those of a later file"
    assert told in capsys.readouterr().err
    assert done.manifest["replies"] == [*map(str, files)]
    [failed] = [one.failure.reason for one in done.samples() if one.failure]
    assert "one.jsonl or " in failed
    assert score_replies(questions, files, options).folder == done.folder
    turned = score_replies(questions, files[::-1], options)
    assert turned.folder != done.folder
    assert {one.sample.id: one.outcome for one in turned.samples()}["b"] == "wrong"
    alone = score_replies(questions, files[0], options)
    assert alone.folder == score_replies(questions, [files[0]], options).folder


def test_a_failure_replaces_no_reply(finished: ec.Run, tmp_path: Path) -> None:
    full = log_in(finished.write_files(tmp_path, "inspect"))
    rows = [{"id": one.sample.id, "reply": "A"} for one in finished.samples(0) if one.failure]
    patch = jsonl(tmp_path / "patch.jsonl", rows)
    options = Options(out=str(tmp_path / "runs"))
    for files in ([full, patch], [patch, full]):
        done = score_replies(finished.manifest["origin"], files, options)
        first = {one.sample.id: one for one in done.samples(0)}
        assert rows
        assert all(first[str(row["id"])].reply is not None for row in rows)
        assert len(verdicts(done)) == len(verdicts(finished))


def test_files_that_hold_their_questions_are_merged_without_a_benchmark(tmp_path: Path) -> None:
    row = {"question": "Which?", "answer": "x", "reply": "x"}
    one = jsonl(tmp_path / "one.jsonl", [{"id": "1", **row}, {"id": "2", **row}])
    two = jsonl(tmp_path / "two.jsonl", [{"id": "3", **row}])
    done = score_replies(None, [one, two], Options(out=str(tmp_path / "runs")))
    assert [result.sample.id for result in done.samples()] == ["1", "2", "3"]
    other = jsonl(tmp_path / "other.jsonl", [{"id": "1", **row, "question": "Who?"}])
    with pytest.raises(DataError, match=r"other.jsonl: '1' is 'Who\?', but in .*one.jsonl it is 'Which\?'"):
        score_replies(None, [one, other], Options(out=str(tmp_path / "runs")))
