"""The evaluation that a class has when nobody gave it another."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.compat.vlmeval.smp import dump, load
from eyechart.errors import DataError, ModelError, UsageError, hold
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, CustomVQADataset
from eyechart.pipelines.vlmevalkit.vlmeval.scoring import KEPT
from support.extras import extra
from support.server import Answer, Server
from support.tables import write_tsv

pd: Any = extra("pandas")
FAILED = "Failed to obtain answer via API."


def choices(*predictions: str, **columns: Any) -> Any:
    n = len(predictions)
    usual = {
        "index": list(range(1, n + 1)),
        "question": ["Which?"] * n,
        "A": ["dog"] * n,
        "B": ["cat"] * n,
        "answer": ["A"] * n,
        "category": [("even", "odd")[k % 2] for k in range(n)],
        "prediction": list(predictions),
    }
    return pd.DataFrame(usual | columns)


def mcq(root: Path, name: str = "mine") -> CustomMCQDataset:
    write_tsv(
        root / f"{name}.tsv", ["index", "question", "A", "B", "image_path"], [1, "?", "x", "y", "a.png"]
    )
    return CustomMCQDataset(name)


@pytest.mark.parametrize("ending", ["xlsx", "tsv", "json"])
def test_choices_have_vlmevalkits_verdicts(ending: str, root: Path, tmp_path: Path) -> None:
    file = tmp_path / f"m_mine.{ending}"
    dump(choices("A", "Answer: B", "a", "(A) dog"), file)
    frame = mcq(root).evaluate(str(file), nproc=4, verbose=False, retry=6, timeout=600)
    assert frame.to_dict("records") == [{"split": "none", "Overall": 0.5, "even": 0.5, "odd": 0.5}]
    acc = (tmp_path / "m_mine_acc.csv").read_text()
    assert acc == '"split","Overall","even","odd"\n"none","0.5","0.5","0.5"\n'
    verdicts = load(tmp_path / "m_mine_exact_matching_result.xlsx")
    assert verdicts["hit"].tolist() == [1, 0, 0, 1]
    assert list(verdicts.columns)[-3:] == ["prediction", "hit", "log"]
    assert verdicts["log"].tolist()[1:] == [
        "Match Log: Answer: B. ",
        "Match Log: Failed in Prefetch, no GPT-based answer matching under `exact_matching` policy.. ",
        "Match Log: (A) dog. ",
    ]


def test_failures_are_no_wrong_answers(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(choices("A", FAILED, "B", FAILED), tmp_path / "m_mine.xlsx")
    frame = mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"))
    assert frame["Overall"].tolist() == [0.5]
    assert "2 of 4 rows have no reply, not counted" in capsys.readouterr().err
    dump(choices(FAILED), tmp_path / "m_mine.xlsx")
    with pytest.raises(DataError, match="no row has a reply"):
        mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"))


def test_rows_without_an_answer_are_spoken_of(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump(choices("A", "B", "A").assign(answer=["A", "A", None]), tmp_path / "m_mine.xlsx")
    assert mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"))["Overall"].tolist() == [0.5]
    said = "1 of 3 rows have no answer to compare with, not counted"
    assert said in capsys.readouterr().err


def test_rotations_count_as_one_question(root: Path, tmp_path: Path) -> None:
    frame = choices("A", "A", "A", "B", index=[1, 1_000_001, 2, 1_000_002], category=["c"] * 4)
    dump(frame, tmp_path / "m_my_mmbench.xlsx")
    found = mcq(root, "my_mmbench").evaluate(str(tmp_path / "m_my_mmbench.xlsx"))
    assert found["Overall"].tolist() == [0.5]
    verdicts = load(tmp_path / "m_my_mmbench_exact_matching_result.xlsx")
    assert verdicts["index"].tolist() == [1, 2]
    assert verdicts["hit"].tolist() == [1, 0]


def test_open_questions_are_read_by_our_own_rules(root: Path, tmp_path: Path) -> None:
    write_tsv(root / "mine.tsv", ["index", "question"], [1, "?"])
    frame = pd.DataFrame(
        {
            "index": [1, 2, 3],
            "question": ["Which?"] * 3,
            "answer": ["red", "12", "yes"],
            "prediction": ["Red.", "It is 12", "No"],
        }
    )
    dump(frame, tmp_path / "m_mine.xlsx")
    found = CustomVQADataset("mine").evaluate(str(tmp_path / "m_mine.xlsx"))
    assert found["Overall"].round(2).tolist() == [0.67]


def test_a_judge_that_says_nothing_of_use_is_the_one_to_blame(root: Path, tmp_path: Path) -> None:
    write_tsv(root / "mine.tsv", ["index", "question"], [1, "?"])
    frame = {"index": [1], "question": ["Which?"], "answer": ["red"], "prediction": ["a warm tone"]}
    dump(pd.DataFrame(frame), tmp_path / "m_mine.xlsx")
    with (
        Server(lambda asked: "Perhaps.") as server,
        pytest.raises(DataError, match="no reply has a verdict"),
    ):
        CustomVQADataset("mine").evaluate(
            str(tmp_path / "m_mine.xlsx"), model="some-judge", api_base=server.base_url
        )


def test_a_judge_reads_what_the_rules_leave_open(root: Path, tmp_path: Path) -> None:
    dump(
        choices("A", "it barks, loudly and at length, so I would go for the former"), tmp_path / "m_mine.xlsx"
    )
    with Server(lambda asked: "A") as server:
        judge = {
            "model": "some-judge",
            "api_base": server.base_url,
            "key": "EMPTY",
            "retry": 2,
            "nproc": 4,
        }
        found = mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"), **judge)
        assert len(server.asked) == 1
    assert found["Overall"].tolist() == [1.0]
    assert (tmp_path / "m_mine_some-judge_result.xlsx").is_file()


OPEN = "it barks, loudly and at length, so I would go for the former"


def test_a_judge_may_be_named_as_we_name_models_and_have_parameters(root: Path, tmp_path: Path) -> None:
    dump(choices("A", OPEN, FAILED), tmp_path / "m_mine.xlsx")
    with Server(lambda asked: "A") as server:
        judge = {"model": "openai/some-judge", "api_base": server.base_url, "verbose": False}
        found = mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"), **judge, temperature=0.25, max_tokens=7)
        [asked] = server.asked
    assert found["Overall"].tolist() == [1.0]
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"]) == (
        "some-judge",
        0.25,
        7,
    )
    assert (tmp_path / "m_mine_some-judge_result.xlsx").is_file()


def test_a_judge_of_ones_own(root: Path, tmp_path: Path) -> None:
    code = "class Jury:\n    def generate(self, message):\n        return 'A'\n"
    (tmp_path / "jury.py").write_text(code)
    dump(choices("B", OPEN), tmp_path / "m_mine.xlsx")
    found = mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"), model=f"python:{tmp_path / 'jury.py'}:Jury")
    assert found["Overall"].tolist() == [0.5]


def test_the_key_of_the_environment_goes_to_no_judge_elsewhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    dump(choices("A", OPEN), tmp_path / "m_mine.xlsx")
    with Server(lambda asked: "A") as server:
        mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"), model="some-judge", api_base=server.base_url)
        assert [one.headers["Authorization"] for one in server.asked] == ["Bearer EMPTY"]


def test_a_parameter_that_no_judge_has_is_refused_by_its_name(root: Path, tmp_path: Path) -> None:
    dump(choices("A", OPEN), tmp_path / "m_mine.xlsx")
    judge = {"model": "some-judge", "api_base": "http://127.0.0.1:9/v1", "temprature": 0}
    with pytest.raises(UsageError, match="temprature"):
        mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"), **judge)


@pytest.mark.slow
def test_replies_that_wait_for_a_judge_are_left_out_only_if_that_is_said(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "m_mine.xlsx")
    dump(choices("A", OPEN, "B"), file)
    with Server(lambda asked: Answer(status=500)) as server:
        judge = {"model": "some-judge", "api_base": server.base_url, "retry": 1}
        with pytest.raises(ModelError, match="1 of 3 replies waits for the judge, which gave no answer"):
            mcq(root).evaluate(file, **judge)
        assert not (tmp_path / "m_mine_acc.csv").exists()
        numbers: list[int] = []
        with hold(KEPT, numbers):
            found = mcq(root).evaluate(file, **judge)
    assert (found["Overall"].tolist(), numbers) == ([0.5], [1])
    assert "1 of 3 replies waits for the judge, not counted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answer": [None] * 2}, "no row has an answer to compare with"),
        ({"question": None}, "no column 'question'"),
        ({"prediction": None}, "no column 'prediction'"),
        ({"index": None}, "no column 'index'"),
    ],
)
def test_files_that_cannot_be_scored_are_named(
    change: dict[str, Any], says: str, root: Path, tmp_path: Path
) -> None:
    frame = choices("A", "B")
    for name, values in change.items():
        frame = frame.drop(columns=name) if values is None else frame.assign(**{name: values})
    dump(frame, tmp_path / "m_mine.xlsx")
    with pytest.raises(DataError, match=says):
        mcq(root).evaluate(str(tmp_path / "m_mine.xlsx"))
