"""The same replies, with thoughts in them, get the same verdicts by whichever way they come.

Each pipeline has its own ways: a run of an endpoint or of a class, the authors' script or command, a file of
replies, stored replies that are scored again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.compat import activate
from eyechart.compat.evalscope import run_task
from eyechart.data.samples import MemorySource
from eyechart.pipelines.infochartqa.score import check
from eyechart.pipelines.insight_o3.arguments import Arguments
from eyechart.pipelines.insight_o3.evaluate import evaluate as evaluate_insight
from eyechart.pipelines.multi.score import score as score_multi
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset
from eyechart.runs.api import run
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore, score_replies
from eyechart.runs.results import Run
from eyechart.score.choice import infer
from eyechart.thinking import split_thinking
from support.command import eyechart
from support.extras import extra
from support.files import choice_tsv, jsonl, picture
from support.multi import make_multi
from support.runs import number_of
from support.server import Asked, Server
from support.tasks import M, User, sheet

Verdicts = dict[str, float]
SHAPES: tuple[str, ...] = (
    "<think>{other}?</think>\n\n{right}",
    "<think>{right}, surely.</think>{other}",
    "<think>\nIt is {right}.\n</think>\n",
    "{other}, no.</think> {right}",
    "<thinking>Hm.</thinking>\n{right}",
    "<think>{other}",
    "{right}",
    "{other}",
)


def write_reply(number: int, right: str, other: str) -> str:
    return SHAPES[number % len(SHAPES)].format(right=right, other=other)


def see(reply: str, thinking: str) -> str:
    return split_thinking(reply).answer if thinking == "split" else reply


def verdicts_of(done: Run) -> Verdicts:
    return {result.sample.id: result.score.value for result in done.samples() if result.score}


def write_class(folder: Path, replies: dict[str, str], pattern: str) -> str:
    """A class that says what the endpoint says; returns its name for -m."""
    code = f"import re\nREPLIES = {replies!r}\nclass M:\n    def generate(self, text, images):\n"
    code += f"        return REPLIES[re.search({pattern!r}, text)[1]]\n"
    (folder / "m.py").write_text(code, encoding="utf-8")
    return f"python:{folder / 'm.py'}:M"


# -- Multiple choice by VLMEvalKit's rules


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    desk, data = tmp_path / "desk", tmp_path / "LMUData"
    desk.mkdir()
    data.mkdir()
    choice_tsv(data / "mine.tsv", 16)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "PRED_FORMAT", "SPLIT_THINK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMUData", str(data))
    monkeypatch.chdir(desk)
    with Server(lambda asked: CHOICES[str(number_of(asked))]) as server:
        yield User(desk, data, server)


CHOICES = {str(k): write_reply(k // 2, "ABCD"[k % 4], "BCDA"[k % 4]) for k in range(16)}
CHOICE: dict[str, Any] = {"scorer": "choice-vlmevalkit", "read_as": "plain", "progress": False}


def choices_of(thinking: str) -> Verdicts:
    options = {"A": "one", "B": "two", "C": "three", "D": "four"}
    return {
        name: float(infer(see(reply, thinking), options) == "ABCD"[int(name) % 4])
        for name, reply in CHOICES.items()
    }


def by_endpoint(user: User, thinking: str) -> Verdicts:
    address = {"base_url": user.server.base_url, "api_key": "sk-1"}
    return verdicts_of(run(user.data / "mine.tsv", "openai/m", thinking=thinking, **address, **CHOICE))


def by_class(user: User, thinking: str) -> Verdicts:
    model = write_class(user.desk, CHOICES, r"Question (\d+)\?")
    return verdicts_of(run(user.data / "mine.tsv", model, thinking=thinking, **CHOICE))


def by_replies(user: User, thinking: str) -> Verdicts:
    file = jsonl(user.desk / "r.jsonl", [{"id": name, "reply": said} for name, said in CHOICES.items()])
    return verdicts_of(
        score_replies(user.data / "mine.tsv", file, Options.of({"thinking": thinking, **CHOICE}))
    )


def by_rescoring(user: User, thinking: str) -> Verdicts:
    by_endpoint(user, "auto")
    n_asked = user.n_asked()
    (folder,) = (path.parent for path in user.desk.glob("runs/*/*/run.sqlite"))
    done, _ = rescore(folder, Options.of({"thinking": thinking}))
    by_endpoint(user, thinking)  # the same folder, and nothing is asked again
    assert [path.parent for path in user.desk.glob("runs/*/*/run.sqlite")] == [folder]
    assert user.n_asked() == n_asked
    return verdicts_of(done)


def by_task(user: User, thinking: str) -> Verdicts:
    run_task(user.config(thinking=thinking))
    return read_hits(user)


def by_predictions(user: User, thinking: str) -> Verdicts:
    folder = user.desk / "outputs" / "20260101_000000" / M
    folder.mkdir(parents=True)
    rows = [{"index": int(name), "prediction": said} for name, said in CHOICES.items()]
    (folder / f"{M}_mine.json").write_text(json.dumps(rows), encoding="utf-8")
    run_task(user.config(mode="eval", thinking=thinking))
    return read_hits(user)


def by_command(user: User, thinking: str) -> Verdicts:
    done = eyechart(
        "vlmeval", "--data", "mine", "--model", "m", "--base-url", user.server.base_url,
        "--thinking", thinking, cwd=user.desk, LMUData=str(user.data),
    )  # fmt: skip
    assert done.code == 0, done.err
    return read_hits(user)


def read_hits(user: User) -> Verdicts:
    (path,) = user.desk.glob("outputs/**/*_exact_matching_result.xlsx")
    return {str(row["index"]): float(row["hit"]) for row in sheet(path)}


@pytest.mark.parametrize("thinking", ["auto", "keep", "split"])
@pytest.mark.parametrize(
    "way", [by_endpoint, by_class, by_replies, by_rescoring, by_task, by_predictions, by_command]
)
def test_choices(way: Callable[[User, str], Verdicts], thinking: str, user: User) -> None:
    assert way(user, thinking) == choices_of(thinking)


def test_choices_by_a_dataset_class(user: User, tmp_path: Path) -> None:
    pd: Any = extra("pandas")
    frame = pd.read_csv(user.data / "mine.tsv", sep="\t").drop(columns="image")
    frame["prediction"] = [CHOICES[str(index)] for index in frame["index"]]
    frame.to_excel(user.desk / "m_mine.xlsx", index=False)
    CustomMCQDataset("mine").evaluate(str(user.desk / "m_mine.xlsx"))
    hits = sheet(user.desk / "m_mine_exact_matching_result.xlsx")
    assert {str(row["index"]): float(row["hit"]) for row in hits} == choices_of("auto")


def test_the_ways_of_reading_differ() -> None:
    """Otherwise these tests would show nothing."""
    kept, split = (choices_of(thinking) for thinking in ("keep", "split"))
    assert sum(kept[name] != split[name] for name in kept) >= 4


def test_split_think_of_vlmevalkit(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLIT_THINK", "True")
    run_task(user.config())
    assert read_hits(user) == choices_of("split")
    (path,) = user.desk.glob(f"outputs/*/{M}/{M}_mine.xlsx")
    assert not any("think>" in str(row["prediction"]) for row in sheet(path))


def test_files_of_predictions_hold_replies_as_they_came(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    run_task(user.config())
    (path,) = user.desk.glob(f"outputs/*/{M}/{M}_mine.xlsx")
    assert {str(row["index"]): row["prediction"] for row in sheet(path)} == {
        name: said.strip() for name, said in CHOICES.items()
    }
    assert f"{M}_mine: thoughts kept in 12 replies" in capsys.readouterr().err


# -- InfoChartQA

KINDS = [(13, "Yes", "No"), (40, "Japan, China", "Peru"), (72, "5", "7")]
CHARTS: dict[str, dict[str, Any]] = {
    str(k): {
        "question_id": str(k), "question": f"Question {k}?", "qtype": qtype, "answer": right,
        "url": "a.png", "figure_path": "a.png", "instructions": "", "prompt": "",
        "response": write_reply(k, right, other),
    }
    for k, (qtype, right, other) in enumerate(KINDS * 6)
}  # fmt: skip
SCRIPT = """
import json
from checker import evaluate

evaluate("./model_response.json", "./results.json")
"""


def charts(thinking: str) -> Verdicts:
    return {
        name: float(check(one["answer"], see(one["response"], thinking), one["qtype"])[1])
        for name, one in CHARTS.items()
    }


@pytest.fixture
def chart_rows(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "model_response.json").write_text(json.dumps(CHARTS), encoding="utf-8")
    columns = ("question_id", "question", "qtype", "answer", "url")
    return jsonl(tmp_path / "rows.jsonl", [{name: one[name] for name in columns} for one in CHARTS.values()])


@pytest.mark.parametrize("thinking", ["auto", "split"])
def test_charts(thinking: str, chart_rows: Path, tmp_path: Path) -> None:
    said = {name: one["response"] for name, one in CHARTS.items()}
    common: dict[str, Any] = {
        "read_as": "infochartqa",
        "thinking": thinking,
        "progress": False,
        "out": str(tmp_path / "runs"),
    }
    with Server(lambda asked: said[str(number_of(asked))]) as server:
        endpoint = run(chart_rows, "openai/m", base_url=server.base_url, api_key="sk-1", **common)
    own = run(chart_rows, write_class(tmp_path, said, r"Question (\d+)\?"), **common)
    file = score_replies(
        chart_rows, tmp_path / "model_response.json", Options.of({**common, "out": str(tmp_path / "more")})
    )
    for done in (endpoint, own, file):
        assert verdicts_of(done) == charts(thinking)
        assert done.summary.parity == ("official" if thinking == "auto" else "")
        assert done.summary.thinking is not None
        assert done.summary.thinking.seen == ("keep" if thinking == "auto" else "split")
    written = json.loads((own.folder / "official" / "model_response.json").read_text(encoding="utf-8"))
    assert {name: one["response"] for name, one in written.items()} == {
        name: see(text, thinking) for name, text in said.items()
    }


def test_charts_by_the_authors_script(chart_rows: Path, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(SCRIPT, encoding="utf-8")
    try:
        done = eyechart("exec", "example.py", cwd=tmp_path)
    finally:
        activate.deactivate()
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {str(one["question_id"]): float(one["score"]) for one in found} == charts("auto")


# -- InSight-o3

ASKED = {f"Question {k}?": write_reply(k, r"\boxed{B}", r"\boxed{A}") for k in range(16)}


def judge_or_answer(asked: Asked) -> str:
    """The judge names the letter that it is shown last."""
    if asked.body["model"] != "judge":
        return ASKED[asked.text.splitlines()[0]]
    return max("AB", key=asked.text.rfind)


@pytest.mark.parametrize("thinking", ["auto", "split"])
def test_insight(thinking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "judge.yaml").write_text('mcqa: "{answer}"\nopenqa: "{answer}"\n', encoding="utf-8")
    rows = [{"image": "a.png", "question": asked, "options": "A. x\nB. y", "answer": "B"} for asked in ASKED]
    jsonl(tmp_path / "ann.jsonl", rows)
    with Server(judge_or_answer) as server:
        said: dict[str, Any] = {
            "eval_name": "x", "ann_file": "ann.jsonl", "img_dir": ".", "model": "m", "api_key": "sk-1",
            "api_base_url": server.base_url, "judge_model": "judge", "judge_api_base_url": server.base_url,
            "judge_api_key": "sk-1", "judge_prompts": "judge.yaml", "thinking": thinking,
        }  # fmt: skip
        first = evaluate_insight(Arguments(**said), progress=False).run
        assert first is not None
        options = {
            "scorer": "insight-o3", "judge": "openai/judge", "judge_base_url": server.base_url,
            "judge_api_key": "sk-1", "judge_prompts": "judge.yaml", "thinking": thinking, "progress": False,
        }  # fmt: skip
        ids = [result.sample.id for result in first.samples()]
        replies = [{"id": name, "reply": said} for name, said in zip(ids, ASKED.values(), strict=True)]
        file = jsonl(tmp_path / "r.jsonl", replies)
        again = score_replies(_samples(first), file, Options.of(options))
    assert verdicts_of(again) == verdicts_of(first)
    records = (tmp_path / "outputs/eval/x/trial_0/eval_records.jsonl").read_text(encoding="utf-8")
    contents = [
        json.loads(line)["eval_result"]["inference_result"]["last_message_content"]
        for line in records.splitlines()
    ]
    assert contents == [see(reply, thinking) for reply in ASKED.values()]
    assert verdicts_of(first)[ids[2]] == (thinking == "auto")  # the box is in the thoughts
    assert first.manifest["parity"] == ("official" if thinking == "auto" else "")


def _samples(done: Run) -> MemorySource:
    return MemorySource("x", "x", tuple(result.sample for result in done.samples()))


# -- MULTI

EVALUATOR = """
import json
from pathlib import Path

REPLIES = json.loads(Path("replies.json").read_text(encoding="utf-8"))

class XEvaluator:
    def generate_answer(self, question):
        question["prediction"] = REPLIES[question["question_id"]]
        return question
"""


@pytest.mark.parametrize("thinking", ["auto", "split"])
def test_multi(thinking: str, tmp_path: Path) -> None:
    extra("jieba")
    data, place = make_multi(tmp_path / "data"), tmp_path / "eval"
    place.mkdir()
    replies = {"czsx_0_0": write_reply(0, "A", "C"), "czsx_0_1": write_reply(1, "AB", "C"),
               "gzwl_1_0": "<think>100\n0</think>\n100\n1", "shjk_2_0": write_reply(3, "C", "A")}  # fmt: skip
    golds = {"czsx_0_0": ("A", "SA"), "czsx_0_1": ("AB", "MA"), "gzwl_1_0": ("100\n0", "FB"),
             "shjk_2_0": ("C", "SA")}  # fmt: skip
    (place / "mine.py").write_text(EVALUATOR, encoding="utf-8")
    (place / "replies.json").write_text(json.dumps(replies), encoding="utf-8")
    expected = {}
    for name, (gold, kind) in golds.items():
        earned, total = score_multi(see(replies[name], thinking), gold, kind)
        expected[name] = earned / total
    done = eyechart(
        "multi", "--problem_file", "../data/problem.json", "--input_type", 2, "--output_name", "one",
        "-m", "python:mine.py:XEvaluator", "--thinking", thinking, "-q", cwd=place,
    )  # fmt: skip
    assert done.code == 0, done.err
    folder = place.parent / "results" / "one"
    assert verdicts_of(Run(folder / "eyechart")) == pytest.approx(expected)
    predictions = json.loads((folder / "prediction.json").read_text(encoding="utf-8"))
    assert {name: one["prediction"] for name, one in predictions.items()} == {
        name: see(reply, thinking) for name, reply in replies.items()
    }
    scored = eyechart(
        "score", "--benchmark", "multi", "--set", f"problem_file={data.folder / 'problem.json'}",
        "--replies", folder / "prediction.json", "--json", "--thinking", thinking, cwd=tmp_path,
    )  # fmt: skip
    assert scored.code == 0, scored.err
    assert verdicts_of(Run(tmp_path / scored.json["run"])) == pytest.approx(expected)
