"""Whole tasks against a local server: what is asked, written, printed and returned, and what fails."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyechart.compat.evalscope import run_task
from eyechart.errors import DataError, EyechartError, UsageError
from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, read_task
from eyechart.pipelines.vlmevalkit.evalscope.job import Summarizer, TaskFailed, run
from eyechart.pipelines.vlmevalkit.evalscope.output import MARKER
from support.files import choice_tsv, picture, picture_base64
from support.runs import number_of, right, write_model
from support.server import Answer, Asked
from support.tasks import KEY, M, User, files_with, sheet, status

NO_ANSWER = "Failed to obtain answer via API."


@pytest.mark.slow
def test_a_task_as_the_documentation_describes_it(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_task(user.config())
    accuracy = {"split": "none", "Overall": "1.0", "even": "1.0", "odd": "1.0"}
    assert done == {f"{M}_mine_acc": accuracy}

    assert sorted(map(number_of, user.server.asked)) == list(range(8))
    for asked in user.server.asked:
        assert asked.headers["Authorization"] == f"Bearer {KEY}"
        assert asked.path == "/v1/chat/completions"
        (message,) = asked.body.pop("messages")
        assert asked.body == {"model": "org/Model-2.5:7b", "temperature": 0, "max_tokens": 2048}
        image, text = message["content"]
        assert message["role"] == "user"
        assert (image["type"], image["image_url"]["detail"]) == ("image_url", "high")
        assert text["text"].endswith("Please select the correct answer from the options above. \n")

    (folder,) = user.folders()
    assert re.fullmatch(r"\d{8}_\d{6}", folder.name)
    with (folder / M / f"{M}_mine_acc.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == [accuracy]
    rows = sheet(folder / M / f"{M}_mine.xlsx")
    assert list(rows[0]) == ["index", "question", "A", "B", "C", "D", "answer", "category", "prediction"]
    assert [(row["index"], row["prediction"]) for row in rows] == [(k, "ABCD"[k % 4]) for k in range(8)]
    assert [row["hit"] for row in sheet(folder / M / f"{M}_mine_exact_matching_result.xlsx")] == [1] * 8
    state = status(folder / M)
    assert (state["model_name"], state["mode"]) == (M, "all")
    assert state["datasets"]["mine"]["status"] == "done"
    assert state["datasets"]["mine"]["metrics"]["split=none|even"] == 1.0
    kept = yaml.safe_load((folder / "configs" / "task_config.yaml").read_text(encoding="utf-8"))
    assert kept["eval_config"]["model"][0]["key_env"] == "MODEL_2_5_7B_API_KEY"

    out, err = capsys.readouterr()
    assert f"The evaluation of model {M} x dataset mine has finished!\nEvaluation Results:\n-------" in out
    assert out.splitlines()[-1] == str({f"{M}_mine_acc": accuracy})
    assert "Run Summary Report:" in out
    assert "0.00% (0/8)" in out
    assert KEY not in out + err
    assert not files_with(user.desk, KEY)


@pytest.mark.slow
def test_the_first_rows_alone_and_n_at_once(user: User) -> None:
    user.server.answer = lambda asked: Answer(right(asked), delay_s=0.05)
    choice_tsv(user.data / "more.tsv", 40)
    run_task(user.config("more", limit=24, nproc=6))
    assert sorted(map(number_of, user.server.asked)) == list(range(24))
    assert user.server.most_at_once == 6
    (folder,) = user.folders()
    assert len(sheet(folder / M / f"{M}_more.xlsx")) == 24


@pytest.mark.slow
def test_models_times_sets_of_questions(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: right(asked) if asked.body["model"] == "a" else "A"
    models = [user.entry("a"), user.entry("b", max_tokens=7, top_p=0.5, odd="x")]
    done = run_task(user.config("mine", "other", model=models))
    assert [*done] == ["a_mine_acc", "a_other_acc", "b_mine_acc", "b_other_acc"]
    assert [row["Overall"] for row in done.values()] == ["1.0", "1.0", "0.25", "0.25"]
    assert [asked.body["model"] for asked in user.server.asked] == ["a"] * 12 + ["b"] * 12
    assert {
        (one.body["max_tokens"], one.body["top_p"], one.body["odd"]) for one in user.server.asked[12:]
    } == {(7, 0.5, "x")}
    out, err = capsys.readouterr()
    assert out.count("Run Summary Report:") == 2
    assert "odd" in err
    (folder,) = user.folders()
    assert {path.name for path in folder.iterdir()} >= {"a", "b", "configs"}


@pytest.mark.slow
def test_predictions_first_and_scores_later(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_task(user.config(mode="infer")) == {}
    (folder,) = user.folders()
    assert not list(folder.rglob("*_acc.csv"))
    assert status(folder / M)["datasets"]["mine"]["status"] == "infer"
    n_asked = user.n_asked()
    done = run_task(user.config(mode="eval"))
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert user.n_asked() == n_asked
    assert user.folders() == [folder]
    assert status(folder / M)["datasets"]["mine"]["status"] == "done"
    assert len(sheet(folder / M / f"{M}_mine.xlsx")) == 8
    done = run_task(user.config(mode="eval", limit=2))
    assert done[f"{M}_mine_acc"] == {"split": "none", "Overall": "1.0", "even": "1.0", "odd": "1.0"}
    assert "0.00% (0/2)" in capsys.readouterr().out


def test_scores_of_predictions_that_are_not_there(user: User) -> None:
    with pytest.raises(DataError, match=f"{M}_mine: no predictions to score") as refused:
        run_task(user.config(mode="eval"))
    assert f"{M}/{M}_mine.xlsx" in refused.value.message
    assert user.folders() == []
    (user.desk / "outputs" / "20260101_000000" / M).mkdir(parents=True)
    (user.desk / "outputs" / "20260101_000000" / M / f"{M}_mine.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(DataError) as refused:
        run_task(user.config(mode="eval"))
    assert f"{M}_mine.pkl is a pickle" in refused.value.hint


@pytest.mark.parametrize("ending", ["tsv", "json"])
def test_predictions_in_other_formats(user: User, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRED_FORMAT", ending)
    run_task(user.config())
    (folder,) = user.folders()
    assert (folder / M / f"{M}_mine.{ending}").is_file()
    assert not (folder / M / f"{M}_mine.xlsx").exists()
    assert run_task(user.config(mode="eval"))[f"{M}_mine_acc"]["Overall"] == "1.0"


def test_accuracies_as_json(
    user: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVAL_FORMAT", "json")
    done = run_task(user.config())
    (folder,) = user.folders()
    assert not list(folder.rglob("*.csv"))
    (line,) = json.loads((folder / M / f"{M}_mine_acc.json").read_text(encoding="utf-8"))
    assert line == {"split": "none", "Overall": 1.0, "even": 1.0, "odd": 1.0}
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert status(folder / M)["eval_format"] == "json"
    assert Summarizer.get_report_from_cfg(user.config()) == [done]
    monkeypatch.setenv("EVAL_FORMAT", "xml")
    n = user.n_asked()
    with pytest.raises(UsageError, match="EVAL_FORMAT is 'xml'"):
        run_task(user.config())
    assert user.n_asked() == n


@pytest.mark.slow
def test_failures_are_raised_and_asked_again_alone(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b'{"error": {"message": "too dark"}}')
        if number_of(asked) == 5
        else right(asked)
    )
    with pytest.raises(TaskFailed) as failed:
        run_task(user.config("mine", "other"))
    said = str(failed.value)
    assert all(part in said for part in (M, "dataset mine", "1 of 8", "too dark", "refuses these requests"))
    assert "other" not in said
    assert failed.value.exit_code == 1
    assert failed.value.results == {
        f"{M}_other_acc": {"split": "none", "Overall": "1.0", "even": "1.0", "odd": "1.0"}
    }
    (folder,) = user.folders()
    assert sheet(folder / M / f"{M}_mine.xlsx")[5]["prediction"] == NO_ANSWER
    assert not (folder / M / f"{M}_mine_acc.csv").exists()
    state = status(folder / M)["datasets"]["mine"]
    assert state["status"] == "infer"
    assert "too dark" in state["error_message"]

    user.server.answer = right
    n_asked = user.n_asked()
    assert run_task(user.config("mine", "other"))[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert [number_of(asked) for asked in user.server.asked[n_asked:]] == [5]
    assert user.folders() == [folder]


def test_every_failed_pair_is_named(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) < 2 else right(asked)
    )
    with pytest.raises(TaskFailed) as failed:
        run_task(user.config("mine", "other"))
    assert "dataset mine: 2 of 8" in str(failed.value)
    assert "dataset other: 2 of 4" in str(failed.value)
    assert len(failed.value.failures) == 2


@pytest.mark.slow
def test_failures_that_are_kept_are_in_no_accuracy(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    user.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) == 5 else right(asked)
    )
    done = run_task(user.config(keep_failed=True))
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    (folder,) = user.folders()
    assert sheet(folder / M / f"{M}_mine.xlsx")[5]["prediction"] == NO_ANSWER
    assert (done.n_failed, type(done).__name__) == (1, "TaskResults")
    assert "1 of 8 questions got no reply" in capsys.readouterr().err
    with pytest.raises(TaskFailed, match="1 of 8"):
        run_task(user.config(mode="eval"))
    assert run_task(user.config(mode="eval", keep_failed=True)) == done


def test_questions_without_an_answer_are_in_no_accuracy_and_spoken_of(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    heading, *rows = (user.data / "mine.tsv").read_text(encoding="utf-8").splitlines()
    rows[3:] = ["\t".join([*cells[:6], "", *cells[7:]]) for cells in (row.split("\t") for row in rows[3:])]
    (user.data / "mine.tsv").write_text("\n".join([heading, *rows]) + "\n", encoding="utf-8")
    done = run_task(user.config())
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert "5 of 8 questions have no answer in the file, not counted" in capsys.readouterr().err


def test_a_server_that_is_not_there(user: User) -> None:
    gone = {**user.entry(), "api_base": "http://127.0.0.1:9/v1/chat/completions"}
    with pytest.raises(TaskFailed, match=r"dataset mine: .*cannot connect") as failed:
        run_task(user.config(model=[gone]))
    assert failed.value.exit_code == 2  # nothing was spent


@pytest.mark.slow
def test_a_start_that_was_cut_off_is_taken_up_again(user: User) -> None:
    """Ctrl-C in the middle: the same task goes on in the same folder; another one has its own."""
    import os
    import signal
    import threading

    n_before_the_end = 3
    seen = Counter[int]()
    gate = threading.Event()

    def answer(asked: Asked) -> Answer | str:
        seen[number_of(asked)] += 1
        if len(seen) > n_before_the_end:
            if not gate.is_set():
                gate.set()
                os.kill(os.getpid(), signal.SIGINT)
            return Answer(right(asked), delay_s=0.3)
        return right(asked)

    user.server.answer = answer
    with pytest.raises(KeyboardInterrupt):
        run_task(user.config(nproc=1))
    (folder,) = user.folders()
    assert json.loads((folder / MARKER).read_text(encoding="utf-8"))["state"] == "running"
    assert not list(folder.rglob("*_acc.csv"))

    user.server.answer = right
    n_asked = user.n_asked()
    assert run_task(user.config(nproc=4))[f"{M}_mine_acc"]["Overall"] == "1.0"
    asked = [number_of(one) for one in user.server.asked[n_asked:]]
    assert 0 < len(asked) <= 8 - n_before_the_end
    assert user.folders() == [folder]
    assert json.loads((folder / MARKER).read_text(encoding="utf-8"))["state"] == "done"


@pytest.mark.slow
def test_a_finished_task_is_asked_anew_unless_it_is_reused(user: User) -> None:
    run_task(user.config())
    run_task(user.config())
    assert user.n_asked() == 16
    assert len(user.folders()) == 2  # two within one second, and neither knows of the other
    run_task(user.config(reuse=True))
    assert user.n_asked() == 16
    assert len(user.folders()) == 2
    run_task(user.config(reuse=True, limit=3))
    assert len(user.folders()) == 3  # another task


@pytest.mark.slow
@pytest.mark.parametrize("door", ["reuse", "use_cache", "no_timestamp"])
def test_another_limit_asks_only_for_what_no_folder_has(
    user: User, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "0")
    outer: dict[str, Any] = {"no_timestamp": True} if door == "no_timestamp" else {}
    inner: dict[str, Any] = {"reuse": True} if door == "reuse" else {}
    run_task({**user.config(limit=3), **outer})
    if door == "use_cache":
        outer = {"use_cache": str(user.folders()[0])}
    found = [
        run_task({**user.config(limit=limit, **inner), **outer})[f"{M}_mine_acc"]["Overall"]
        for limit in (5, 2, None, 100)
    ]
    assert sorted(map(number_of, user.server.asked)) == list(range(8))
    assert found == ["1.0"] * 4


@pytest.mark.slow
def test_another_model_or_set_beside_it_asks_nothing_again(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "0")
    choice_tsv(user.data / "more.tsv", 2)
    run_task(user.config())
    run_task(user.config("mine", "more", reuse=True))
    assert user.n_asked() == 10
    run_task(user.config("more", "mine", reuse=True, model=[user.entry(), user.entry("other")]))
    assert user.n_asked() == 20
    run_task(user.config("more"))
    assert user.n_asked() == 22, "without reuse a task asks anew"


@pytest.mark.slow
def test_a_judge_is_not_asked_again_for_another_limit(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "0")
    user.server.answer = lambda asked: "A" if asked.body["model"] == "reader" else "Well, who knows."
    judge = {"judge": "reader", "judge_base_url": user.server.base_url, "judge_key": KEY}
    run_task(user.config(limit=3, reuse=True, **judge))
    n_judged = sum(asked.body["model"] == "reader" for asked in user.server.asked)
    assert n_judged == 3
    run_task(user.config(limit=4, reuse=True, **judge))
    assert user.n_asked() == 3 + 1 + n_judged + 1


@pytest.mark.slow
def test_an_earlier_folder_and_one_without_a_time(user: User) -> None:
    first = run_task({**user.config(), "no_timestamp": True, "work_dir": "there"})
    assert (user.desk / "there" / M / f"{M}_mine_acc.csv").is_file()
    assert run_task({**user.config(), "use_cache": "there"}) == first
    assert user.n_asked() == 8
    assert user.folders() == []


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_category_cannot_replace_the_headline(
    user: User, ending: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVAL_FORMAT", ending)
    rows = ["index\tcategory\tanswer\tquestion\tA\tB"]
    rows += [
        f"{k}\t{name}\t{gold}\tQuestion 0?\tx\ty"
        for k, (name, gold) in enumerate([("Overall", "A"), ("split", "B"), ("z", "A"), ("Overall", "A")])
    ]
    (user.data / "o.tsv").write_text("\n".join(rows) + "\n")
    done = run_task(user.config("o"))
    groups = {"Overall (category)": "1.0", "split (category)": "0.0", "z": "1.0"}
    accuracy = {"split": "none", "Overall": "0.75", **groups}
    assert done == {f"{M}_o_acc": accuracy}
    (folder,) = user.folders()
    said = status(folder / M)["datasets"]["o"]
    assert (said["primary_metric"], said["metrics"]["split=none|Overall"]) == ("Overall Acc", 0.75)
    assert re.search(r"^Overall +0\.75$", capsys.readouterr().out, re.MULTILINE)
    assert "0.75" in (folder / M / f"{M}_o_acc.{ending}").read_text()


def test_two_pairs_of_one_name_are_refused(user: User) -> None:
    choice_tsv(user.data / "b_c.tsv", 1)
    choice_tsv(user.data / "c.tsv", 1)
    models = [user.entry("a"), user.entry("a_b")]
    with pytest.raises(UsageError, match="have the name 'a_b_c'"):
        run_task(user.config("b_c", "c", model=models))
    assert user.n_asked() == 0


def test_where_results_go(user: User) -> None:
    run_task(user.config(work_dir="inner"))
    run_task({**user.config(work_dir="inner"), "work_dir": "outer"})
    assert len(list(user.desk.glob("inner/*"))) == len(list(user.desk.glob("outer/*"))) == 1


def test_a_list_of_tasks(user: User) -> None:
    assert run_task([user.config(limit=1), user.config(limit=2)]) == [
        {f"{M}_mine_acc": {"split": "none", "Overall": "1.0", "even": "1.0"}},
        {f"{M}_mine_acc": {"split": "none", "Overall": "1.0", "even": "1.0", "odd": "1.0"}},
    ]
    n_asked = user.n_asked()
    with pytest.raises(UsageError, match="limt"):
        run_task([user.config(), user.config(limt=2)])
    assert user.n_asked() == n_asked  # all are read before the first is run


def test_a_dry_run_asks_nothing(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_task({**user.config(), "dry_run": True}) == {}
    out = capsys.readouterr().out
    assert "CustomAPIModel" in out
    assert KEY not in out
    assert user.n_asked() == 0
    assert user.folders() == []


def test_data_that_is_not_there(user: User) -> None:
    with pytest.raises(DataError, match="dataset mini: no such file") as refused:
        run_task(user.config("mine", "mini"))
    assert "LMUData" in refused.value.message
    assert "mine" in refused.value.hint
    assert user.n_asked() == 0
    assert user.folders() == []


def test_data_without_a_question(user: User) -> None:
    (user.data / "odd.tsv").write_text("index\task\n1\tWhy?\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"dataset odd: .*no column 'question'"):
        run_task(user.config("odd"))


def test_the_root_of_the_data_is_named_by_the_environment(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lmu").mkdir()
    choice_tsv(tmp_path / "lmu" / "mine.tsv", 2)
    choice_tsv(user.desk / "mine.tsv", 5)  # a file that only happens to lie where we are
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    run_task(user.config())
    assert user.n_asked() == 2
    run_task(user.config("mine.tsv"))
    assert user.n_asked() == 7


def test_open_questions_without_a_class_are_read_by_our_own_rules(user: User) -> None:
    rows = [f"{k}\tQuestion {k}?\t{k}\t{user.data / 'p.png'}" for k in range(4)]
    (user.data / "p.png").write_bytes(picture())
    text = "\n".join(["index\tquestion\tanswer\timage_path", *rows]) + "\n"
    (user.data / "open.tsv").write_text(text, encoding="utf-8")
    user.server.answer = lambda asked: f"It is {number_of(asked)}." if number_of(asked) else "It is 7."
    assert run_task(user.config("open"))[f"{M}_open_acc"] == {"split": "none", "Overall": "0.75"}
    assert {asked.text for asked in user.server.asked} == {f"Question {k}?" for k in range(4)}
    (folder,) = user.folders()
    rows_kept = sheet(folder / M / f"{M}_open.xlsx")
    assert list(rows_kept[0]) == ["index", "question", "answer", "image_path", "prediction"]


@pytest.mark.slow
def test_a_judge_whose_words_cannot_be_read_is_spoken_of(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{k}\tQuestion {k}?\tcat\t{user.data / 'p.png'}" for k in range(4)]
    (user.data / "p.png").write_bytes(picture())
    text = "\n".join(["index\tquestion\tanswer\timage_path", *rows]) + "\n"
    (user.data / "open.tsv").write_text(text, encoding="utf-8")
    user.server.answer = lambda asked: (
        "Perhaps." if asked.body["model"] == "judge" else "a tiger" if number_of(asked) else "cat"
    )
    done = run_task(user.config("open", judge="judge", judge_base_url=user.server.base_url))
    assert done[f"{M}_open_acc"]["Overall"] == "1.0"
    said = "the judge's verdict on 3 of 4 replies cannot be read, not counted (e.g. 'Perhaps.')"
    assert said in capsys.readouterr().err
    user.server.answer = lambda asked: "Perhaps." if asked.body["model"] == "judge" else "a tiger"
    assert run_task(user.config("open", judge="judge", judge_base_url=user.server.base_url)) == {}
    assert f"{M}_open: no reply has a verdict; the predictions: " in capsys.readouterr().err


@pytest.mark.slow
def test_names_that_stand_for_circular_evaluation(user: User) -> None:
    heading = ["index", "question", "A", "B", "answer", "image"]
    lines = [
        [str(k + 1_000_000 * turn), f"Question {k}?", *(["no", "yes"][:: 1 - 2 * turn]), "BA"[turn]]
        for k in range(4)
        for turn in (0, 1)
    ]
    text = "\n".join("\t".join(row) for row in [heading, *([*line, picture_base64()] for line in lines)])
    (user.data / "my_circular.tsv").write_text(text + "\n", encoding="utf-8")
    user.server.answer = lambda asked: "yes" if number_of(asked) < 3 else "B"
    assert run_task(user.config("my_circular"))[f"{M}_my_circular_acc"]["Overall"] == "0.75"
    task = read_task(user.config("my_circular"))
    labelled = replace(task, data=(DataEntry(name="plain", source="my_circular"),))
    assert run(labelled)[f"{M}_plain_acc"]["Overall"] == "0.75"  # the file decides, and not its label
    user.server.answer = right
    labelled = replace(task, data=(DataEntry(name="circular", source="mine"),))
    assert "circular" not in run(labelled)[f"{M}_circular_acc"]
    (folder,) = {path.parent for path in user.desk.glob(f"outputs/*/{M}/{M}_circular_acc.csv")}
    assert len(sheet(folder / f"{M}_circular.xlsx")) == 8


def test_pictures_are_shrunk_and_a_system_message_goes_before(user: User) -> None:
    import base64
    import io

    from PIL import Image

    path = user.desk / "large.png"
    path.write_bytes(picture(size=(300, 150)))
    (user.data / "large.tsv").write_text(
        f"index\tquestion\tA\tB\tanswer\timage_path\n0\tQuestion 0?\tx\ty\tA\t{path}\n", encoding="utf-8"
    )
    entry = user.entry(img_size=100, img_detail="low", system_prompt="Look.", timeout=5)
    run_task(user.config("large", model=[entry]))
    (asked,) = user.server.asked
    assert asked.body["messages"][0] == {"role": "system", "content": "Look."}
    content = asked.body["messages"][1]["content"]
    assert content[0]["image_url"]["detail"] == "low"
    sent = base64.b64decode(asked.images[0].partition("base64,")[2])
    assert Image.open(io.BytesIO(sent)).size == (100, 50)


def test_a_judge_reads_what_rules_cannot(user: User) -> None:
    user.server.answer = lambda asked: (
        "B" if asked.body["model"] == "judge" else "the second, or the first, who knows"
    )
    done = run_task(
        user.config(judge="judge", judge_base_url=user.server.base_url, judge_key="sk-judge-987654321")
    )
    assert done[f"{M}_mine_acc"]["Overall"] == "0.25"
    judged = [asked for asked in user.server.asked if asked.body["model"] == "judge"]
    assert len(judged) == 8
    assert {asked.headers["Authorization"] for asked in judged} == {"Bearer sk-judge-987654321"}
    for asked in judged:
        assert {**asked.body, "messages": []} == {
            "model": "judge", "messages": [], "temperature": 0, "max_tokens": 2048,
        }  # fmt: skip
        assert asked.text.startswith("You are an AI assistant who will help me to match an answer")
        assert asked.text.endswith("Answer: the second, or the first, who knows\nYour output: ")
    (folder,) = user.folders()
    assert (folder / M / f"{M}_mine_judge_result.xlsx").is_file()
    assert status(folder / M)["datasets"]["mine"]["judge_model"] == "judge"
    assert not files_with(user.desk, "sk-judge-987654321")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "label"), [("chatgpt-0125", "openai"), ("gpt-4.1", "gpt-4.1"), (None, "gpt-4o-mini")]
)
def test_a_local_judge_replaces_the_named_one_and_not_its_name(
    user: User, judge: str | None, label: str
) -> None:
    user.server.answer = lambda asked: "B" if asked.body["model"] == "local" else "no idea"
    base = f"{user.server.base_url}/chat/completions"
    run_task(user.config(judge=judge, LOCAL_LLM="local", OPENAI_API_BASE=base))
    assert [asked.body["model"] for asked in user.server.asked].count("local") == 8
    (folder,) = user.folders()
    assert (folder / M / f"{M}_mine_{label}_result.xlsx").is_file()


@pytest.mark.slow
def test_a_short_name_of_a_judge_is_the_version_that_vlmevalkit_requests(user: User) -> None:
    user.server.answer = lambda asked: "no idea" if asked.images else "B"
    args = {"temperature": 0.5, "top_p": 0.9}
    run_task(user.config(judge="gpt-4o", judge_base_url=user.server.base_url, judge_args=args))
    judged = [asked.body for asked in user.server.asked if not asked.images]
    assert {body["model"] for body in judged} == {"gpt-4o-2024-05-13"}
    assert {(body["temperature"], body["max_tokens"], body["top_p"]) for body in judged} == {(0.5, 2048, 0.9)}


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False])
def test_a_judge_that_gives_no_answer_leaves_replies_waiting(
    user: User, is_there: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(asked: Asked) -> Answer | str:
        if asked.body["model"] == "judge":
            return Answer(status=500)
        return "the second, or the first" if number_of(asked) in (2, 5) else right(asked)

    user.server.answer = answer
    base = user.server.base_url if is_there else "http://127.0.0.1:9/v1"
    judged = user.config(judge="judge", judge_base_url=base)
    with pytest.raises(
        TaskFailed, match="2 of 8 replies wait for the judge, which gave no answer "
    ) as caught:
        run_task(judged)
    assert ("HTTP 500" if is_there else "cannot connect") in caught.value.message
    kept = run(read_task(user.config(judge="judge", judge_base_url=base, keep_failed=True)))
    assert (kept[f"{M}_mine_acc"]["Overall"], kept.n_failed) == ("1.0", 2)
    assert "2 of 8 replies wait for the judge, not counted" in capsys.readouterr().err


def test_our_own_models_and_sets(user: User) -> None:
    done = run_task(user.config("demo", model="baseline/random", limit=5))
    assert [*done] == ["random_demo_acc"]
    done = run_task(user.config(model=[write_model(user.desk)]))
    assert done["python-mine_py-Mine_mine_acc"]["Overall"] == "0.25"


def test_a_task_that_cannot_begin_leaves_nothing(user: User) -> None:
    with pytest.raises(EyechartError, match="temprature"):
        run_task(user.config(judge="j", judge_args={"temprature": 0}, judge_base_url=user.server.base_url))
    assert user.folders() == []
    assert user.n_asked() == 0


@pytest.mark.slow
def test_the_newest_results_are_found_again(user: User) -> None:
    assert Summarizer.get_report_from_cfg(user.config()) == []
    user.server.answer = lambda asked: "A"
    run_task(user.config())
    user.server.answer = right
    done = run_task(user.config())
    assert Summarizer.get_report_from_cfg(user.config()) == [done]


@pytest.mark.slow
def test_the_layout_of_vlmevalkit_asks_anew_what_is_done(user: User) -> None:
    task = replace(read_task(user.config(work_dir="kit")), is_stamped=False, asks_anew=True)
    run(task)
    assert (user.desk / "kit" / M / f"{M}_mine.xlsx").is_file()
    run(task)
    assert user.n_asked() == 16
    run(replace(task, reuse=True))
    assert user.n_asked() == 16


def test_bad_rows_and_missing_pictures_are_named(user: User) -> None:
    table = (user.data / "mine.tsv").read_text(encoding="utf-8").splitlines()
    (user.data / "twice.tsv").write_text("\n".join([*table[:3], table[2]]) + "\n", encoding="utf-8")
    with pytest.raises(TaskFailed, match=r"dataset twice: twice.tsv: row 3") as failed:
        run_task(user.config("twice"))
    assert failed.value.exit_code == 2
    (user.data / "gone.tsv").write_text(
        "index\tquestion\tA\tB\tanswer\timage_path\n7\tQuestion 7?\tx\ty\tA\tnowhere.png\n", encoding="utf-8"
    )
    with pytest.raises(TaskFailed, match=r"dataset gone: 1 of 1 .*7: .*nowhere.png"):
        run_task(user.config("gone"))
    assert user.n_asked() == 0


@pytest.mark.parametrize("said", [{}, {"no_timestamp": True}, {"mode": "eval"}], ids=str)
def test_a_file_where_results_should_go(user: User, said: dict[str, Any]) -> None:
    (user.desk / "notes.txt").write_text("mine", encoding="utf-8")
    outer = {name: said[name] for name in said if name != "mode"}
    inner = {name: said[name] for name in said if name == "mode"}
    with pytest.raises(UsageError, match=r"^notes.txt is a file, not a folder\n") as refused:
        run_task({**user.config(**inner), "work_dir": "notes.txt", **outer})
    assert "work_dir" in refused.value.hint
    with pytest.raises(EyechartError) as caught:
        run_task({**user.config(), "work_dir": "notes.txt/below"})
    assert "--out" not in str(caught.value)
    assert user.n_asked() == 0


def test_what_another_process_is_making_is_left_alone(user: User) -> None:
    draft = user.desk / "there" / M / ".scores"
    draft.mkdir(parents=True)
    (draft / "half.csv").write_text("on its way", encoding="utf-8")
    run_task({**user.config(), "no_timestamp": True, "work_dir": "there"})
    assert (draft / "half.csv").is_file()
    assert [path.name for path in draft.parent.glob(".scores*")] == [".scores"]
