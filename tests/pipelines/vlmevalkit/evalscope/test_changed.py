"""Tasks whose data set's class somebody has changed, as the page on custom data sets teaches it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.compat.vlmeval.smp import dump, load
from eyechart.errors import EyechartError, UsageError
from eyechart.pipelines.vlmevalkit.evalscope.config import read_task
from eyechart.pipelines.vlmevalkit.evalscope.job import TaskFailed, run
from eyechart.pipelines.vlmevalkit.vlmeval.dataset import CustomMCQDataset, CustomVQADataset, ImageBaseDataset
from support.dataset_classes import restore_classes
from support.files import picture_base64
from support.runs import number_of
from support.server import Answer
from support.tasks import M, User, sheet, status

pytest.importorskip("pandas")


class Odd(Exception):
    """Of the user's own code."""


@pytest.fixture
def changing(user: User) -> Iterator[User]:
    """Four open questions, and classes that are put back afterwards."""
    rows = [f"{k}\tQuestion {k}?\t{k}\t{picture_base64((k, 9, 9))}" for k in range(4)]
    text = "\n".join(["index\tquestion\tanswer\timage", *rows]) + "\n"
    (user.data / "open.tsv").write_text(text, encoding="utf-8")
    user.server.answer = lambda asked: f" {number_of(asked)}\n"
    with restore_classes():
        yield user


def evaluate(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
    table = load(eval_file)
    hits = [str(a) == str(p) for a, p in zip(table["answer"], table["prediction"], strict=True)]
    return {"Overall": sum(hits) / len(hits), "at once": judge_kwargs["nproc"]}


def build_prompt(self: Any, line: Any) -> Any:
    said = ImageBaseDataset.build_prompt(self, line)
    said[-1]["value"] += "\nBriefly."
    return said


def test_what_evaluate_returns_is_the_result(changing: User, capsys: pytest.CaptureFixture[str]) -> None:
    CustomVQADataset.build_prompt = build_prompt  # type: ignore[method-assign]
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    assert run_task(changing.config("open", nproc=3)) == {f"{M}_open_acc": {"Overall": "1.0", "at once": "3"}}
    assert {asked.text for asked in changing.server.asked} == {f"Question {k}?\nBriefly." for k in range(4)}
    (folder,) = changing.folders()
    assert [row["prediction"] for row in sheet(folder / M / f"{M}_open.xlsx")] == [*map(str, range(4))]
    assert status(folder / M)["datasets"]["open"]["metrics"] == {"Overall": 1.0, "at once": 3.0}
    assert json.dumps({"Overall": 1.0, "at once": 3}, indent=2) in capsys.readouterr().out


@pytest.mark.slow
def test_scores_alone_by_the_class(changing: User) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    assert run_task(changing.config("open", mode="infer", limit=3)) == {}
    n_asked = changing.n_asked()
    assert run_task(changing.config("open", mode="eval", limit=3))[f"{M}_open_acc"]["Overall"] == "1.0"
    assert changing.n_asked() == n_asked == 3


@pytest.mark.slow
def test_rows_without_a_prediction_are_no_part_of_an_accuracy(
    changing: User, capsys: pytest.CaptureFixture[str]
) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    run_task(changing.config("open", mode="infer", limit=3))
    with pytest.raises(TaskFailed, match=f"1 of 4 .* no prediction in {M}_open.xlsx"):
        run_task(changing.config("open", mode="eval"))
    kept = run(read_task(changing.config("open", mode="eval", keep_failed=True)))
    assert (kept[f"{M}_open_acc"]["Overall"], kept.n_failed) == ("1.0", 1)
    assert "1 of 4 questions got no reply" in capsys.readouterr().err


@pytest.mark.slow
def test_the_first_rows_alone_are_scored(changing: User, capsys: pytest.CaptureFixture[str]) -> None:
    def written(self: Any, eval_file: str, **judge_kwargs: Any) -> None:
        result = evaluate(self, eval_file, **judge_kwargs)
        Path(eval_file.replace(".xlsx", "_acc.csv")).write_text(
            f'"Overall","n"\n"{result["Overall"]}","{len(load(eval_file))}"\n', encoding="utf-8"
        )

    CustomVQADataset.evaluate = written  # type: ignore[method-assign]
    changing.server.answer = lambda asked: "0" if number_of(asked) < 2 else str(number_of(asked))
    assert run_task(changing.config("open"))[f"{M}_open_acc"] == {"Overall": "0.75", "n": "4"}
    (folder,) = changing.folders()
    done = run_task(changing.config("open", mode="eval", limit=2))
    assert done == {f"{M}_open_acc": {"Overall": "0.5", "n": "2"}}
    assert "2 of the 4 rows" in capsys.readouterr().err
    assert len(sheet(folder / M / f"{M}_open.xlsx")) == 4
    assert not list((folder / M).glob(".scores*"))


@pytest.mark.parametrize("ending", ["tsv", "json"])
def test_scores_alone_of_predictions_in_other_formats(
    changing: User, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_table(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
        from eyechart.pipelines.vlmevalkit.vlmeval.smp import load_table

        table = load_table(Path(eval_file))
        return {"Overall": sum(map(str.isdigit, map(str, table["prediction"]))) / len(table)}

    monkeypatch.setenv("PRED_FORMAT", ending)
    CustomVQADataset.evaluate = by_table  # type: ignore[method-assign]
    done = run_task(changing.config("open"))
    assert done == {f"{M}_open_acc": {"Overall": "1.0"}}
    assert run_task(changing.config("open", mode="eval")) == done
    assert run_task(changing.config("open", mode="eval", limit=2)) == done


@pytest.mark.slow
def test_predictions_that_were_cut_are_not_scored(changing: User) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    changing.server.answer = lambda asked: "long " * 9_000
    run_task(changing.config("open", mode="infer"))
    with pytest.raises(TaskFailed, match=rf"{M}_open.xlsx: the prediction of 0 was cut"):
        run_task(changing.config("open", mode="eval"))


def test_an_evaluate_that_takes_only_a_file_is_refused_before_anything_is_asked(changing: User) -> None:
    CustomVQADataset.evaluate = lambda self, eval_file: {"Overall": 1.0}  # type: ignore
    with pytest.raises(UsageError, match=r"dataset open: evaluate cannot be called") as refused:
        run_task(changing.config("open"))
    assert "**judge_kwargs" in refused.value.hint
    assert changing.n_asked() == 0
    assert changing.folders() == []
    assert run_task(changing.config("open", mode="infer")) == {}


@pytest.mark.slow
def test_a_task_without_a_seed_has_the_usual_one(changing: User) -> None:
    import random

    def drawn(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
        return {"Overall": random.random()}

    CustomVQADataset.evaluate = drawn  # type: ignore[method-assign]
    first = run_task(changing.config("open"))
    assert run_task(changing.config("open")) == first == run_task({**changing.config("open"), "seed": 42})
    assert run_task({**changing.config("open"), "seed": 0}) != first


def test_the_file_that_evaluate_writes_goes_before_what_it_returns(changing: User) -> None:
    def written(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
        result = evaluate(self, eval_file, **judge_kwargs)
        Path(eval_file.replace(".xlsx", "_acc.csv")).write_text('"Overall"\n"0.5"\n', encoding="utf-8")
        return result

    CustomVQADataset.evaluate = written  # type: ignore[method-assign]
    assert run_task(changing.config("open")) == {f"{M}_open_acc": {"Overall": "0.5"}}


def test_the_judge_is_for_evaluate_to_ask(changing: User) -> None:
    given: dict[str, Any] = {}

    def remember(self: Any, eval_file: str, **judge_kwargs: Any) -> None:
        given.update(judge_kwargs)

    CustomVQADataset.evaluate = remember  # type: ignore[method-assign]
    said = {"judge": "j", "judge_base_url": f"{changing.server.base_url}", "judge_key": "sk-j-123456789"}
    assert run_task(changing.config("open", verbose=True, judge_timeout=9, **said)) == {}
    assert given == {
        "nproc": 4, "verbose": True, "retry": 1, "timeout": 9, "model": "j",
        "api_base": changing.server.base_url, "key": "sk-j-123456789",
    }  # fmt: skip
    assert changing.n_asked() == 4


def broken(*args: Any, **kwargs: Any) -> Any:
    raise Odd("by mistake")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["load_data", "build_prompt", "evaluate"])
def test_mistakes_of_the_class_are_named(changing: User, method: str) -> None:
    setattr(CustomVQADataset, method, broken)
    with pytest.raises(EyechartError) as failed:
        run_task(changing.config("open"))
    assert all(part in str(failed.value) for part in ("open", method, "Odd: by mistake"))
    assert isinstance(failed.value.__cause__, Odd)
    assert changing.n_asked() == (4 if method == "evaluate" else 0)
    if method == "evaluate":  # once mended, nothing is asked again
        CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
        assert run_task(changing.config("open"))[f"{M}_open_acc"]["Overall"] == "1.0"
        assert changing.n_asked() == 4
        assert len(changing.folders()) == 1


@pytest.mark.slow
def test_failures_reach_evaluate_only_if_they_are_to_be_kept(changing: User) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    changing.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) == 1 else str(number_of(asked))
    )
    with pytest.raises(TaskFailed, match="1 of 4 questions"):
        run_task(changing.config("open"))
    for mode in ("all", "eval"):
        done = run_task(changing.config("open", keep_failed=True, mode=mode))
        assert done[f"{M}_open_acc"]["Overall"] == "0.75"
    with pytest.raises(TaskFailed, match="1 of 4 questions got no reply"):
        run_task(changing.config("open", mode="eval"))


@pytest.mark.slow
def test_the_class_of_multiple_choice_can_be_changed_too(changing: User) -> None:
    CustomMCQDataset.build_prompt = build_prompt  # type: ignore[method-assign]
    changing.server.answer = lambda asked: "ABCD"[number_of(asked) % 4]
    done = run_task(changing.config("mine"))
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert all(asked.text.endswith("\nBriefly.") for asked in changing.server.asked)


def test_a_table_is_printed_as_a_table(changing: User, capsys: pytest.CaptureFixture[str]) -> None:
    from eyechart.compat.vlmeval.smp import d2df

    def tabular(self: Any, eval_file: str, **judge_kwargs: Any) -> Any:
        table = d2df({"Overall": 0.25, "odd": 0.5})
        dump(table, eval_file.replace(".xlsx", "_acc.csv"))
        return table

    CustomVQADataset.evaluate = tabular  # type: ignore[method-assign]
    assert run_task(changing.config("open")) == {f"{M}_open_acc": {"Overall": "0.25", "odd": "0.5"}}
    assert "-------  ----\nOverall  0.25\nodd      0.5\n-------  ----" in capsys.readouterr().out


def test_nothing_returned_is_remarked_on_and_numbers_are_printed_as_such(
    changing: User, capsys: pytest.CaptureFixture[str]
) -> None:
    CustomVQADataset.evaluate = lambda *args, **more: None  # type: ignore
    assert run_task(changing.config("open")) == {}
    assert f"{M}_open: evaluate returned no accuracies" in capsys.readouterr().err
    numpy = pytest.importorskip("numpy")
    result = {"Overall": numpy.float32(0.5), 3: numpy.int64(2), "all": numpy.array([1, 2])}
    CustomVQADataset.evaluate = lambda *args, **more: result  # type: ignore
    run_task(changing.config("open"))
    assert json.dumps({"Overall": 0.5, "3": 2, "all": [1, 2]}, indent=2) in capsys.readouterr().out


@pytest.mark.slow
def test_failed_predictions_that_are_kept_are_counted_when_only_scored(changing: User) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    changing.server.answer = lambda asked: (
        Answer(status=500) if number_of(asked) == 1 else str(number_of(asked))
    )
    kept = run(read_task(changing.config("open", keep_failed=True)))
    again = run(read_task(changing.config("open", keep_failed=True, mode="eval")))
    assert (kept.n_failed, again.n_failed) == (1, 1)
    assert again == kept


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False])
def test_replies_that_wait_for_a_judge_are_no_result(
    changing: User, is_there: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The class asks otherwise, and is scored by our own rules with a judge that is broken or gone."""
    CustomVQADataset.build_prompt = build_prompt  # type: ignore[method-assign]
    changing.server.answer = lambda asked: (
        Answer(status=500)
        if asked.body["model"] == "judge"
        else "who knows" if number_of(asked) in (1, 2) else str(number_of(asked))
    )  # fmt: skip
    base = changing.server.base_url if is_there else "http://127.0.0.1:9/v1"
    judge = {"judge": "judge", "judge_base_url": base}
    with pytest.raises(
        TaskFailed, match="2 of 4 replies wait for the judge, which gave no answer "
    ) as caught:
        run_task(changing.config("open", **judge))
    assert ("HTTP 500" if is_there else "cannot connect") in caught.value.message
    kept = run(read_task(changing.config("open", keep_failed=True, **judge)))
    assert (kept[f"{M}_open_acc"]["Overall"], kept.n_failed) == ("1.0", 2)
    assert "2 of 4 replies wait for the judge, not counted" in capsys.readouterr().err


@pytest.mark.slow
def test_a_judge_whose_words_cannot_be_read_is_spoken_of(
    changing: User, capsys: pytest.CaptureFixture[str]
) -> None:
    CustomVQADataset.build_prompt = build_prompt  # type: ignore[method-assign]
    changing.server.answer = lambda asked: (
        "Perhaps."
        if asked.body["model"] == "judge"
        else "who knows" if number_of(asked) == 1 else str(number_of(asked))
    )  # fmt: skip
    judge = {"judge": "judge", "judge_base_url": changing.server.base_url}
    assert run_task(changing.config("open", **judge))[f"{M}_open_acc"]["Overall"] == "1.0"
    said = "the judge's verdict on 1 reply cannot be read, not counted (e.g. 'Perhaps.')"
    assert said in capsys.readouterr().err


def test_a_run_that_ended_early_reaches_no_evaluate(changing: User) -> None:
    CustomVQADataset.evaluate = evaluate  # type: ignore[method-assign]
    rows = [f"{k}\tQuestion {k}?\t{k}\t{picture_base64((k, 9, 9))}" for k in range(40)]
    text = "\n".join(["index\tquestion\tanswer\timage", *rows]) + "\n"
    (changing.data / "more.tsv").write_text(text, encoding="utf-8")
    changing.server.answer = lambda asked: Answer(status=401) if number_of(asked) else "0"
    with pytest.raises(TaskFailed, match="dataset more: stopped early, 39 of 40 questions got no reply"):
        run_task(changing.config("more", nproc=1, keep_failed=True))
