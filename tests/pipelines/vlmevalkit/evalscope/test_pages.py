"""The two flows of EvalScope's page on custom data sets, as its readers do them.

A script is started with ``eyechart exec`` in a folder of its own, with a home that holds ``LMUData``; a local
server looks at the picture of every request and answers by what it sees. What must come out is worked out
here, from the questions alone.
"""

from __future__ import annotations

import ast
import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from support.command import Outcome, eyechart_process
from support.server import Answer, Asked, Server
from support.sight import (
    SUFFIX,
    Question,
    answer_noisily,
    answer_rightly,
    is_right_noisily,
    noisy_reply,
    number_of,
    questions,
    write_choices,
    write_open,
)

MODEL = "colour-vl-chat"
KEY = "sk-page-1234567890"
N = 22

CUSTOM_CLASS = f"""
import os
import numpy as np

from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.image_vqa import CustomVQADataset
from vlmeval.smp import d2df, dump, load


class CustomDataset:
    def load_data(self, dataset):
        folder = os.path.expanduser("~/LMUData")
        return load(os.path.join(folder, dataset + ".tsv"))

    def build_prompt(self, line):
        messages = ImageBaseDataset.build_prompt(self, line)
        messages[-1]["value"] += {SUFFIX!r}
        return messages

    def evaluate(self, eval_file, **judge_kwargs):
        table = load(eval_file)
        assert "answer" in table and "prediction" in table
        for column in ("prediction", "answer"):
            table[column] = [str(cell) for cell in table[column]]
        print("asked for", judge_kwargs["nproc"], "at once")
        share = np.mean(table["answer"] == table["prediction"])
        scores = d2df({{"Overall": share}}).round(2)
        ending = eval_file.split(".")[-1]
        dump(scores, eval_file.replace("." + ending, "_acc.csv"))
        return scores


CustomVQADataset.load_data = CustomDataset.load_data
CustomVQADataset.build_prompt = CustomDataset.build_prompt
CustomVQADataset.evaluate = CustomDataset.evaluate
"""


@dataclass
class User:
    """Somebody with a home, a folder for scripts and a server to ask."""

    home: Path
    desk: Path
    server: Server

    def table(self, name: str) -> Path:
        return self.home / "LMUData" / f"{name}.tsv"

    def config(self, data: str, **eval_config: Any) -> dict[str, Any]:
        """What the page's configuration says."""
        model = {
            "name": "CustomAPIModel",
            "type": MODEL,
            "api_base": f"{self.server.base_url}/chat/completions",
            "key": KEY,
            "temperature": 0.0,
            "img_size": -1,
        }
        usual = {"model": [model], "data": [data], "mode": "all", "reuse": False, "nproc": 16}
        return {
            "work_dir": "outputs",
            "eval_backend": "VLMEvalKit",
            "eval_config": {**usual, "work_dir": "outputs", **eval_config},
        }

    def script(self, form: str, config: Mapping[str, Any], *, imports: str = "") -> Path:
        """A script that takes its configuration in one of the three forms."""
        match form:
            case "yaml":
                (self.desk / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
                given = "'config.yaml'"
            case "json":
                (self.desk / "config.json").write_text(json.dumps(config), encoding="utf-8")
                given = "'config.json'"
            case _:
                given = repr(dict(config))
        path = self.desk / "evaluate.py"
        lines = [imports, "from evalscope.run import run_task", f"print(run_task(task_cfg={given}))", ""]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def run(self, script: Path, **environment: str) -> Outcome:
        kept = {"HOME": str(self.home), "OPENAI_API_KEY": "", **environment}
        return eyechart_process("exec", script.name, cwd=self.desk, timeout=60, **kept)

    @property
    def folder(self) -> Path:
        """Where the files of the one task lie."""
        (found,) = self.desk.glob(f"outputs/*/{MODEL}")
        return found


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    (tmp_path / "desk").mkdir()
    with Server(answer_rightly) as server:
        yield User(tmp_path / "home", tmp_path / "desk", server)


def returned(done: Outcome) -> Any:
    """What `run_task` gave back, from the last line that the script printed."""
    return ast.literal_eval(done.out.rstrip().splitlines()[-1])


def sheet(path: Path) -> list[dict[str, Any]]:
    heading, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, heading), row, strict=True)) for row in rows]


def cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def share(rows: Sequence[Question], is_right: Callable[[Question], bool]) -> float:
    return sum(map(is_right, rows)) / len(rows)


def status(user: User, data: str) -> dict[str, Any]:
    kept = json.loads((user.folder / "status.json").read_text(encoding="utf-8"))
    assert (kept["schema_version"], kept["model_name"]) == ("1.0", MODEL)
    found: dict[str, Any] = kept["datasets"][data]
    return found


def no_key_on_disk(user: User) -> bool:
    files = [path for path in (user.desk / "outputs").rglob("*") if path.is_file()]
    assert files
    return not any(KEY.encode() in path.read_bytes() for path in files)


def check_requests(asked: Sequence[Asked], text_of: Mapping[int, str]) -> None:
    """One a row, as the contract lays them out: picture before text, nothing more in the body."""
    assert sorted(map(number_of, asked)) == sorted(text_of)
    for one in asked:
        assert one.path.endswith("/v1/chat/completions")
        assert one.headers["Authorization"] == f"Bearer {KEY}"
        assert one.body.keys() == {"model", "messages", "temperature", "max_tokens"}
        assert (one.body["model"], one.body["temperature"], one.body["max_tokens"]) == (MODEL, 0, 2048)
        (message,) = one.body["messages"]
        image, text = message["content"]
        assert message["role"] == "user"
        assert image["type"] == "image_url"
        assert image["image_url"].keys() == {"url", "detail"}
        assert image["image_url"]["detail"] == "high"
        assert image["image_url"]["url"].startswith("data:image/")
        assert text == {"type": "text", "text": text_of[number_of(one)]}


CHOICE_RUNS = [
    ("yaml", False, False),
    ("json", True, True),
    pytest.param("dict", False, True, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "inline", "noisy"), CHOICE_RUNS)
def test_multiple_choice(user: User, form: str, inline: bool, noisy: bool) -> None:
    rows = questions(N)
    write_choices(user.table("custom_mcq"), rows, inline=inline)
    user.server.answer = answer_noisily if noisy else answer_rightly
    said = {"judge": "exact_matching"} if form == "dict" else {}  # with no judge named, none is looked for
    done = user.run(user.script(form, user.config("custom_mcq", **said)))
    assert done.code == 0, done.err
    assert "evalscope" in done.err  # says who answers to that name

    def is_right(row: Question) -> bool:
        return is_right_noisily(row, is_choice=True) if noisy else True

    accuracy = {"split": "none", "Overall": str(share(rows, is_right))}
    for category in ("Activities", "Textures"):
        accuracy[category] = str(share([row for row in rows if row.category == category], is_right))
    assert 0.3 < float(accuracy["Overall"]) < 0.7 or not noisy
    stem = f"{MODEL}_custom_mcq"
    assert returned(done) == {f"{stem}_acc": accuracy}
    assert cells(user.folder / f"{stem}_acc.csv") == [[*accuracy], [*accuracy.values()]]
    check_requests(user.server.asked, {row.number: row.choice_text for row in rows})

    kept = sheet(user.folder / f"{stem}.xlsx")
    columns = {"index", "category", "hint", "question", "A", "B", "C", "D", "answer", "prediction"}
    assert set(kept[0]) == columns | (set() if inline else {"image_path"})
    assert [row["index"] for row in kept] == list(range(N))
    replies = [noisy_reply(row, is_choice=True) if noisy else row.letter for row in rows]
    assert [row["prediction"] for row in kept] == replies
    assert [(row["question"], row["answer"]) for row in kept] == [(row.words, row.letter) for row in rows]
    judged = sheet(user.folder / f"{stem}_exact_matching_result.xlsx")
    assert [row["hit"] for row in judged] == [int(is_right(row)) for row in rows]

    printed = [line.split() for line in done.out.splitlines()]
    assert f"The evaluation of model {MODEL} x dataset custom_mcq has finished!" in done.out
    assert "Evaluation Results:" in done.out
    begins = printed.index(["split", "none"])
    assert printed[begins : begins + 4] == [[*pair] for pair in accuracy.items()]
    assert {*"".join(printed[begins - 1])} == {*"".join(printed[begins + 4])} == {"-"}
    assert "Run Summary Report:" in done.out
    assert f"0.00% (0/{N})" in done.out

    state = status(user, "custom_mcq")
    assert (state["status"], state["skip_reason"], state["error_message"]) == ("done", None, None)
    assert Path(state["prediction_file"]).name == f"{stem}.xlsx"
    assert state["metrics"]["split=none|Overall"] == pytest.approx(float(accuracy["Overall"]))
    assert no_key_on_disk(user)
    assert KEY not in done.out + done.err


OPEN_RUNS = [
    ("yaml", False, True),
    pytest.param("json", True, False, marks=pytest.mark.slow),
    pytest.param("dict", True, True, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "inline", "noisy"), OPEN_RUNS)
def test_open_questions_with_a_class(user: User, form: str, inline: bool, noisy: bool) -> None:
    pytest.importorskip("pandas")
    rows = questions(N)
    write_open(user.table("custom_vqa"), rows, inline=inline)
    (user.desk / "custom_dataset.py").write_text(CUSTOM_CLASS, encoding="utf-8")
    user.server.answer = answer_noisily if noisy else answer_rightly
    imports = "from custom_dataset import CustomDataset"
    done = user.run(user.script(form, user.config("custom_vqa"), imports=imports))
    assert done.code == 0, done.err

    overall = round(share(rows, lambda row: is_right_noisily(row, is_choice=False) if noisy else True), 2)
    assert (0 < overall < 1) is noisy
    stem = f"{MODEL}_custom_vqa"
    assert returned(done) == {f"{stem}_acc": {"Overall": str(overall)}}
    assert cells(user.folder / f"{stem}_acc.csv") == [["Overall"], [str(overall)]]
    check_requests(user.server.asked, {row.number: row.words + SUFFIX for row in rows})

    kept = sheet(user.folder / f"{stem}.xlsx")
    columns = ["index", "answer", "question", *([] if inline else ["image_path"]), "prediction"]
    assert list(kept[0]) == columns
    said = [noisy_reply(row, is_choice=False) if noisy else row.colour for row in rows]
    assert [(row["index"], row["answer"], row["prediction"]) for row in kept] == [
        (row.number, row.colour, reply) for row, reply in zip(rows, said, strict=True)
    ]

    assert f"The evaluation of model {MODEL} x dataset custom_vqa has finished!" in done.out
    assert "asked for 16 at once" in done.out  # what the class was handed
    shown = f"{overall:g}"
    rule = "-  " + "-" * len(shown)
    assert "\n".join([rule, f"0  {shown}", rule]) in done.out
    state = status(user, "custom_vqa")
    assert (state["status"], state["error_message"]) == ("done", None)
    assert [*state["metrics"].values()] == [overall]
    assert no_key_on_disk(user)


@pytest.mark.slow
def test_the_class_in_the_script_itself_with_a_limit_and_several_models(user: User) -> None:
    """All in one file, and what readers change first: how many questions, and which models."""
    pytest.importorskip("pandas")
    rows = questions(6)
    write_open(user.table("colours"), rows, inline=True)
    config = user.config("colours", limit=4)
    (entry,) = config["eval_config"]["model"]
    config["eval_config"]["model"] = [entry, {**entry, "type": "org/Other-2.5:7b", "max_tokens": 16}]
    done = user.run(user.script("dict", config, imports=CUSTOM_CLASS))
    assert done.code == 0, done.err
    assert returned(done) == {
        f"{MODEL}_colours_acc": {"Overall": "1.0"},
        "Other-2_5-7b_colours_acc": {"Overall": "1.0"},
    }
    assert [one.body["model"] for one in user.server.asked] == [MODEL] * 4 + ["org/Other-2.5:7b"] * 4
    assert {one.body["max_tokens"] for one in user.server.asked[4:]} == {16}
    assert {*map(number_of, user.server.asked)} == {0, 1, 2, 3}
    assert len(sheet(user.folder.parent / "Other-2_5-7b" / "Other-2_5-7b_colours.xlsx")) == 4


@pytest.mark.slow
def test_a_task_in_python_whose_results_are_read_later(user: User) -> None:
    """What other pages show: TaskConfig, the summariser, data elsewhere, a server that wants no key."""
    write_choices(user.desk / "elsewhere" / "pets.tsv", questions(3), inline=True)
    config = user.config("pets", judge="exact_matching")
    config["eval_config"]["model"][0]["key"] = "EMPTY"
    script = user.desk / "evaluate.py"
    script.write_text(
        f"""
from evalscope import TaskConfig
from evalscope.run import run_task
from evalscope.summarizer import Summarizer

task = TaskConfig(**{config!r})
first = run_task(task_cfg=task)
again = run_task(task)
print([first, again, *Summarizer.get_report_from_cfg(task)])
""",
        encoding="utf-8",
    )
    done = user.run(script, LMUData=str(user.desk / "elsewhere"))
    assert done.code == 0, done.err
    accuracy = {"split": "none", "Overall": "1.0", "Activities": "1.0", "Textures": "1.0"}
    assert returned(done) == [{f"{MODEL}_pets_acc": accuracy}] * 3
    assert len(user.server.asked) == 6  # the second time in a folder of its own
    assert len(list(user.desk.glob(f"outputs/*/{MODEL}/{MODEL}_pets.xlsx"))) == 2
    assert {one.headers["Authorization"] for one in user.server.asked} == {"Bearer EMPTY"}


@pytest.mark.slow
def test_what_was_not_answered_is_no_score_and_is_asked_alone_the_next_time(user: User) -> None:
    rows = questions(8)
    write_choices(user.table("custom_mcq"), rows, inline=True)
    script = user.script("yaml", user.config("custom_mcq", retry=1, judge="exact_matching"))
    user.server.answer = lambda asked: (
        Answer(status=400, body=b'{"error": {"message": "too blurred"}}')
        if number_of(asked) == 5
        else answer_rightly(asked)
    )
    failed = user.run(script)
    assert failed.code != 0
    assert all(word in failed.err for word in ("custom_mcq", "too blurred", "1"))
    assert f"{MODEL}_custom_mcq_acc" not in failed.out
    assert not (user.folder / f"{MODEL}_custom_mcq_acc.csv").exists()
    predictions = [row["prediction"] for row in sheet(user.folder / f"{MODEL}_custom_mcq.xlsx")]
    assert predictions[5] == "Failed to obtain answer via API."
    assert predictions.count(predictions[5]) == 1

    user.server.answer = answer_rightly
    n_before = len(user.server.asked)
    done = user.run(script)
    assert done.code == 0, done.err
    assert [number_of(one) for one in user.server.asked[n_before:]] == [5]
    assert returned(done)[f"{MODEL}_custom_mcq_acc"]["Overall"] == "1.0"
    assert math.isclose(status(user, "custom_mcq")["metrics"]["split=none|Overall"], 1.0)


@pytest.mark.slow
def test_a_mistake_in_the_class_is_told_with_its_place(user: User) -> None:
    pytest.importorskip("pandas")
    write_open(user.table("colours"), questions(2), inline=True)
    broken = CUSTOM_CLASS.replace("table = load(eval_file)", 'table = load(eval_file)["predictions"]')
    done = user.run(user.script("dict", user.config("colours"), imports=broken))
    assert done.code != 0
    assert all(word in done.err for word in ("colours", "evaluate", "predictions"))
    assert len(user.server.asked) == 2
    assert status(user, "colours")["status"] != "done"
