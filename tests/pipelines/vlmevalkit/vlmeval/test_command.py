"""`eyechart vlmeval`: VLMEvalKit's run.py by its own flags, its files and its folders."""

from __future__ import annotations

import csv
import json
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError, UsageError
from eyechart.pipelines.vlmevalkit.cli import DESCRIPTION
from eyechart.pipelines.vlmevalkit.vlmeval.command import (
    Flags,
    make_label,
    make_task,
    name_flags_in_errors,
    rewrite_text,
)
from support.command import Outcome, eyechart, eyechart_process, start
from support.server import Answer, Asked, Server
from support.sight import (
    Question,
    answer_noisily,
    is_right_noisily,
    noisy_reply,
    number_of,
    questions,
    write_choices,
)

KEY = "sk-flag-1234567890"


@dataclass
class Desk:
    """A folder to work in, a home with a file of questions, and a server."""

    folder: Path
    home: Path
    server: Server
    rows: list[Question]

    def __call__(self, *flags: object, **environment: str) -> Outcome:
        return eyechart("vlmeval", *flags, cwd=self.folder, **{"HOME": str(self.home), **environment})

    def served(
        self, *flags: object, model: str = "my-model", data: str = "mine", **environment: str
    ) -> Outcome:
        url = ("--base-url", self.server.base_url, "--key", KEY)
        return self("--data", data, "--model", model, *url, *flags, **environment)

    @property
    def n_asked(self) -> int:
        return len(self.server.asked)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    folder, rows = tmp_path / "desk", questions(11)
    folder.mkdir()
    write_choices(tmp_path / "home" / "LMUData" / "mine.tsv", rows, inline=True)
    with Server(answer_noisily) as server:
        yield Desk(folder, tmp_path / "home", server, rows)


def sheet(path: Path) -> list[dict[str, Any]]:
    heading, *rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, heading), row, strict=True)) for row in rows]


def accuracy(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def share(rows: list[Question]) -> float:
    return sum(is_right_noisily(row, is_choice=True) for row in rows) / len(rows)


def test_a_served_model(desk: Desk) -> None:
    done = desk.served("--verbose")
    assert done.code == 0, done.err
    folder = desk.folder / "outputs" / "my-model"
    kept = sheet(folder / "my-model_mine.xlsx")
    assert [row["prediction"] for row in kept] == [noisy_reply(row, is_choice=True) for row in desk.rows]
    assert accuracy(folder / "my-model_mine_acc.csv")["Overall"] == str(share(desk.rows))
    hits = [row["hit"] for row in sheet(folder / "my-model_mine_exact_matching_result.xlsx")]
    assert hits == [int(is_right_noisily(row, is_choice=True)) for row in desk.rows]
    status = json.loads((folder / "status.json").read_text())
    assert status["datasets"]["mine"]["status"] == "done"
    assert re.search(rf"^Overall +{share(desk.rows)}$", done.out, re.MULTILINE)
    assert "Run Summary Report:" in done.out
    assert noisy_reply(desk.rows[7], is_choice=True) in done.err  # --verbose
    assert desk.n_asked == 11
    for one in desk.server.asked:
        assert one.headers["Authorization"] == f"Bearer {KEY}"
        assert one.body.keys() == {"model", "messages", "max_tokens"}
        assert (one.body["model"], one.body["max_tokens"]) == ("my-model", 32768)
        assert one.text == desk.rows[number_of(one)].choice_text


def test_the_flags_of_the_model_are_in_every_request(desk: Desk) -> None:
    said = ["--temperature", 0.5, "--top-p", 0.9, "--top-k", 3, "--repetition-penalty", 1.1]
    more = ["--max-tokens", 99, "--extra-body", '{"grammar": "one letter"}', "--limit", 2, "--nproc", 2]
    assert desk.served(*said, *more, "--timeout", 9, "--retry", 2).code == 0
    assert desk.n_asked == 2
    for one in desk.server.asked:
        del one.body["messages"]
        assert one.body == {
            "model": "my-model", "temperature": 0.5, "top_p": 0.9, "top_k": 3, "repetition_penalty": 1.1,
            "max_tokens": 99, "grammar": "one letter",
        }  # fmt: skip


@pytest.mark.slow
def test_several_models_and_sets_by_name_and_by_path(desk: Desk) -> None:
    write_choices(desk.folder / "data" / "other.tsv", questions(3), inline=True)
    flags = ["--data", "mine", "data/other.tsv", "--model", "org/one", "two", "baseline/look", "--limit", 3]
    done = desk(*flags, "--base-url", desk.server.base_url, "--work-dir", "results")
    assert done.code == 0, done.err
    for model in ("one", "two", "look"):
        for data in ("mine", "other"):
            assert len(sheet(desk.folder / "results" / model / f"{model}_{data}.xlsx")) == 3
    assert [one.body["model"] for one in desk.server.asked] == [*["org/one"] * 6, *["two"] * 6]
    assert {one.headers["Authorization"] for one in desk.server.asked} == {"Bearer sk-admin"}


def test_the_environment_says_where(desk: Desk) -> None:
    address = f"{desk.server.base_url}/chat/completions"
    done = desk(
        "--data", "mine", "--model", "m", OPENAI_API_BASE=address, OPENAI_API_KEY=KEY, MMEVAL_ROOT="r"
    )
    assert done.code == 0, done.err
    assert {one.headers["Authorization"] for one in desk.server.asked} == {f"Bearer {KEY}"}
    assert (desk.folder / "r" / "m" / "m_mine_acc.csv").is_file()


@pytest.mark.slow
def test_infer_then_eval(desk: Desk) -> None:
    folder = desk.folder / "outputs" / "my-model"
    assert desk.served("--mode", "infer").code == 0
    assert (folder / "my-model_mine.xlsx").is_file()
    assert not list(folder.glob("*_acc.csv"))
    done = desk(
        "--data", "mine", "--model", "my-model", "--mode", "eval"
    )  # sends no request, so needs no URL
    assert done.code == 0, done.err
    assert desk.n_asked == 11
    assert accuracy(folder / "my-model_mine_acc.csv")["Overall"] == str(share(desk.rows))


def test_predictions_of_vlmevalkit_itself_are_scored(desk: Desk) -> None:
    """They lie in a folder named after the time; the newest counts."""
    folder = desk.folder / "outputs" / "kit"
    for moment, reply in (("T20260801_Gaaa", "A"), ("T20260802_Gbbb", None)):
        book = openpyxl.Workbook()
        book.worksheets[0].append(["index", "question", "answer", "prediction"])
        for row in desk.rows:
            book.worksheets[0].append([row.number, row.words, row.letter, reply or f"({row.letter})"])
        (folder / moment).mkdir(parents=True)
        book.save(folder / moment / "kit_mine.xlsx")
    done = desk("--data", "mine", "--model", "kit", "--mode", "eval")
    assert done.code == 0, done.err
    assert "T20260802_Gbbb" in done.err
    assert accuracy(folder / "kit_mine_acc.csv")["Overall"] == "1.0"
    refused = desk.served("--reuse", model="kit")
    assert refused.code == 2
    assert "kit_mine.xlsx was not made by eyechart" in refused.err
    assert "--mode eval" in refused.err
    assert desk.n_asked == 0


def test_eval_without_predictions(desk: Desk) -> None:
    done = desk("--data", "mine", "--model", "absent", "--mode", "eval")
    assert done.code == 2
    assert "absent_mine.xlsx" in done.err
    assert "mine" in done.err


@pytest.mark.slow
def test_what_is_done_is_asked_anew_unless_it_is_reused(desk: Desk) -> None:
    assert desk.served().code == 0
    assert desk.served("--reuse").code == 0
    assert desk.n_asked == 11
    assert desk.served().code == 0
    assert desk.n_asked == 22


@pytest.mark.slow
def test_a_first_part_counts_for_the_whole(desk: Desk) -> None:
    for flags in (["--limit", 4], ["--reuse", "--limit", 6], ["--reuse", "--limit", 2], ["--reuse"]):
        assert desk.served(*flags, EYECHART_CACHE_SIZE="0").code == 0
    assert sorted(map(number_of, desk.server.asked)) == list(range(11))


@pytest.mark.slow
def test_what_failed_has_no_score_and_is_asked_alone_again(desk: Desk) -> None:
    def shaky(asked: Asked) -> Answer | str:
        if number_of(asked) in (2, 5):
            return Answer(status=400, body=b'{"error": {"message": "too blurred"}}')
        return answer_noisily(asked)

    desk.server.answer = shaky
    folder = desk.folder / "outputs" / "my-model"
    done = desk.served("--retry", 1)
    assert done.code == 1
    assert "2 of 11" in done.err
    assert "too blurred" in done.err
    replies = [row["prediction"] for row in sheet(folder / "my-model_mine.xlsx")]
    assert [replies[2], replies[5]] == ["Failed to obtain answer via API."] * 2
    assert not (folder / "my-model_mine_acc.csv").exists()

    kept = desk.served("--retry", 1, "--keep-failed")
    assert kept.code == 1, kept.err  # some samples failed, whatever is made of the rest
    assert kept.err.count("my-model_mine: 2 of 11 questions got no reply, not counted") == 1
    assert "with --reuse and without --keep-failed" in kept.err
    rest = [row for row in desk.rows if row.number not in (2, 5)]
    assert accuracy(folder / "my-model_mine_acc.csv")["Overall"] == str(share(rest))

    desk.server.answer, n_before = answer_noisily, desk.n_asked
    assert desk.served("--reuse").code == 0
    assert sorted(map(number_of, desk.server.asked[n_before:])) == [2, 5]
    assert accuracy(folder / "my-model_mine_acc.csv")["Overall"] == str(share(desk.rows))


def test_a_judge_reads_what_rules_cannot(desk: Desk) -> None:
    asked = []

    def judge(one: Asked) -> str:
        asked.append(one)
        return "Z"

    with Server(judge) as judging:
        url = ["--judge", "jury-4", "--judge-base-url", judging.base_url, "--judge-key", "sk-jury-99887766"]
        done = desk.served(*url, "--judge-args", '{"temperature": 0.25}', "--judge-timeout", 30)
    assert done.code == 0, done.err
    assert asked
    assert {one.body["model"] for one in asked} == {"jury-4"}
    assert {one.body["temperature"] for one in asked} == {0.25}
    assert {one.headers["Authorization"] for one in asked} == {"Bearer sk-jury-99887766"}
    assert (desk.folder / "outputs/my-model/my-model_mine_jury-4_result.xlsx").is_file()
    assert "--judge-timeout" in done.err  # what it does not do is said
    assert not any(b"sk-jury" in path.read_bytes() for path in desk.folder.rglob("*") if path.is_file())


def config(desk: Desk, models: Any, data: Any) -> Path:
    path = desk.folder / "config.json"
    path.write_text(json.dumps({"model": models, "data": data}), encoding="utf-8")
    return path


@pytest.mark.slow
def test_replies_that_wait_for_a_judge_are_no_success(desk: Desk) -> None:
    dead = ["--judge", "jury-4", "--judge-base-url", "http://127.0.0.1:9/v1", "--retry", 1]
    done = desk.served(*dead)
    assert done.code == 1
    assert "wait for the judge, which gave no answer (the judge: cannot connect" in done.err
    done = desk.served(*dead, "--keep-failed")
    assert done.code == 1
    assert "wait for the judge, not counted" in done.err
    assert "with --reuse and without --keep-failed, only what is missing is requested again" in done.err
    n_before = desk.n_asked
    with Server(lambda one: "Z") as judging:
        again = desk.served(
            "--judge", "jury-4", "--judge-base-url", judging.base_url, "--retry", 1, "--reuse"
        )
        assert judging.asked
    assert (again.code, desk.n_asked) == (0, n_before), again.err


@pytest.mark.slow
def test_a_config_gives_labels(desk: Desk) -> None:
    address = f"{desk.server.base_url}/chat/completions"
    cold = {"class": "GPT4V", "model": "org/served-1", "api_base": address, "key": KEY, "img_detail": "low"}
    warm = {"class": "CustomAPIModel", "model": "org/served-1", "temperature": 0.7, "verbose": True}
    write_choices(desk.folder / "data" / "other.tsv", questions(3), inline=True)
    sets = {
        "mine": {"class": "ImageMCQDataset", "dataset": "mine"},
        "again": {"class": "CustomMCQDataset", "dataset": "data/other.tsv"},
    }
    path = config(desk, {"cold": cold, "warm T07": warm, "plain": {}}, sets)
    done = desk("--config", path, "--base-url", desk.server.base_url, "--limit", 2)
    assert done.code == 0, done.err
    for model in ("cold", "warm_T07", "plain"):
        assert {"mine", "again"} == {
            path.stem.removeprefix(f"{model}_").removesuffix("_acc")
            for path in (desk.folder / "outputs" / model).glob("*_acc.csv")
        }
    asked = [(one.body["model"], one.body.get("temperature")) for one in desk.server.asked]
    assert asked == [*[("org/served-1", 0)] * 4, *[("org/served-1", 0.7)] * 4, *[("plain", None)] * 4]
    details = [one.body["messages"][0]["content"][0]["image_url"]["detail"] for one in desk.server.asked]
    assert details == ["low"] * 4 + ["high"] * 8
    keys = [one.headers["Authorization"].removeprefix("Bearer ") for one in desk.server.asked]
    assert keys == [*[KEY] * 4, *["EMPTY"] * 4, *["sk-admin"] * 4]
    assert "verbose has no effect" in done.err


GPT4V = {"class": "GPT4V", "model": "m"}
BAD_CONFIGS = [
    ({"m": {"class": "LLaVA", "model_path": "x"}}, {"mine": {}}, "LLaVA"),
    ({"m": {"class": "GPT4v", "model": "x"}}, {"mine": {}}, "did you mean GPT4V"),
    ({"m": {"class": "GPT4V"}}, {"mine": {}}, '"model": "NAME"'),
    ({"m": {"model": "x"}}, {"mine": {}}, 'no "class"'),
    ({"m": GPT4V}, {"v": {"class": "VideoMME", "dataset": "Video-MME", "nframe": 8}}, "video"),
    ({"m": GPT4V}, {"v": {"class": "WildDocBenchmark", "dataset": "mine"}}, "WildDocBenchmark"),
    ({"m": GPT4V}, {"v": {"class": "ImageMCQDataset", "dataset": "mine", "shuffle": 1}}, "shuffle"),
    ({"m": GPT4V}, {}, "a model and a data object"),
    ([], {"mine": {}}, "a model and a data object"),
    ({"m": {**GPT4V, "use_azure": True}}, {"mine": {}}, "use_azure"),
    ({"m": GPT4V, "n/m": GPT4V}, {"mine": {}}, "two models have the name 'm'"),
]


@pytest.mark.parametrize(("models", "data", "said"), BAD_CONFIGS)
def test_a_config_that_cannot_be_run_is_refused_before_anything_is_asked(
    desk: Desk, models: Any, data: Any, said: str
) -> None:
    done = desk("--config", config(desk, models, data), "--base-url", desk.server.base_url)
    assert done.code == 2
    assert said in done.err
    assert desk.n_asked == 0
    assert not (desk.folder / "outputs").exists()


REFUSED = [
    (["--use-vllm"], "vllm serve"),
    (["--use-verifier"], "--judge"),
    (["--video-llm"], "videos"),
    (["--local-media"], "images"),
    (["--custom-prompt", "Qwen3VL"], "--prompt-template"),
    (["--data-config", "{}"], "--config"),
    (["--config", "x.json"], "exclude each other"),
    (["--extra-body", "{"], "--extra-body is not valid JSON"),
    (["--judge-args", "[1]", "--judge", "j"], "--judge-args"),
    (["--judge-key", "sk-x"], "--judge NAME"),
    (["--reuse-aux", "some"], "--reuse-aux"),
    (["--retry", "0"], "--retry"),
    (["--limit", "-1"], "--limit"),
    (["--max-tokens", "0"], "max"),
    (["--temperatur", "1"], "did you mean --temperature"),
    (["--base-url", "localhost:8000"], "http://localhost:8000/v1"),
]


@pytest.mark.parametrize(("flags", "said"), REFUSED, ids=lambda value: str(value[0]))
def test_what_is_not_possible_is_refused_by_its_name(desk: Desk, flags: list[str], said: str) -> None:
    done = desk.served(*flags)
    assert done.code == 2
    assert said in done.err
    assert "eval_config" not in done.err
    assert KEY not in done.err
    assert desk.n_asked == 0
    assert not (desk.folder / "outputs").exists()


def test_a_name_alone_says_not_where_the_model_is(desk: Desk) -> None:
    done = desk("--data", "mine", "--model", "Qwen2.5-VL-7B-Instruct")
    assert done.code == 2
    assert "--base-url" in done.err
    assert "vllm serve" in done.err
    assert desk("--model", "m").code == desk("--data", "mine").code == 2


def test_flags_that_change_nothing_are_remarked_on(desk: Desk) -> None:
    done = desk.served("--stream", "--api-mode", "--monitor-interval", 5, "--limit", 1)
    assert done.code == 0
    for flag in ("--stream", "--api-mode", "--monitor-interval"):
        assert flag in done.err
    assert "stream" not in desk.server.asked[0].body


def test_a_set_that_is_nowhere(desk: Desk) -> None:
    done = desk.served(data="mien")
    assert done.code == 2
    assert "mien" in done.err
    assert "did you mean mine" in done.err


def test_exit_codes_tell_what_was_spent(desk: Desk) -> None:
    desk.server.answer = lambda asked: Answer(status=401, body=b'{"error": {"message": "who are you"}}')
    refused = desk.served()
    assert refused.code == 2
    assert "who are you" in refused.err
    assert "--key" in refused.err
    table = (desk.home / "LMUData" / "mine.tsv").read_text().splitlines()
    (desk.home / "LMUData" / "twice.tsv").write_text("\n".join([*table[:3], table[2]]) + "\n")
    twice = desk.served(data="twice")
    assert twice.code == 2
    assert "twice.tsv: row 3" in twice.err


@pytest.mark.slow
def test_a_failed_prediction_is_named_by_its_file(desk: Desk) -> None:
    desk.server.answer = lambda one: Answer(status=400) if number_of(one) == 3 else "A"
    assert desk.served("--mode", "infer").code == 1
    done = desk("--data", "mine", "--model", "my-model", "--mode", "eval")
    assert done.code == 1
    assert "3: no prediction in my-model_mine.xlsx" in done.err
    assert "runs" not in done.err


def test_failed_predictions_are_not_scored(desk: Desk) -> None:
    folder = desk.folder / "outputs" / "m"
    folder.mkdir(parents=True)
    lines = [f"{row.number}\t{row.letter}" for row in desk.rows[:-1]]
    (folder / "m_mine.tsv").write_text(
        "\n".join(["index\tprediction", *lines, "10\tFailed to obtain answer via API."])
    )
    done = desk("--data", "mine", "--model", "m", "--mode", "eval")
    assert done.code == 1
    assert "--keep-failed" in done.err
    assert not (folder / "m_mine_acc.csv").exists()
    kept = desk("--data", "mine", "--model", "m", "--mode", "eval", "--keep-failed")
    assert kept.code == 1
    assert accuracy(folder / "m_mine_acc.csv")["Overall"] == "1.0"


@pytest.mark.slow
def test_an_interrupted_start_is_taken_up_again(desk: Desk) -> None:
    desk.server.answer = lambda asked: Answer(answer_noisily(asked), delay_s=0.2)
    flags = ["--data", "mine", "--model", "m", "--base-url", desk.server.base_url, "--api-nproc", 2]
    process = start("vlmeval", *flags, cwd=desk.folder, HOME=str(desk.home))
    while desk.n_asked < 3:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command again to resume" in err
    assert desk.n_asked < 11
    assert desk(*flags).code == 0
    assert sorted(map(number_of, desk.server.asked)) == list(range(11))


@pytest.mark.slow
def test_keys_are_written_nowhere(desk: Desk) -> None:
    """In a process of its own, whose arguments are kept in status.json."""
    flags = ["--data", "mine", "--model", "m", "--base-url", desk.server.base_url, "--key", KEY]
    done = eyechart_process("vlmeval", *flags, "--limit", 2, cwd=desk.folder, HOME=str(desk.home))
    assert done.code == 0, done.err
    files = [path for path in desk.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in done.out + done.err
    argv = json.loads((desk.folder / "outputs/m/status.json").read_text())["argv"]
    assert argv[-2:] == ["--base-url", desk.server.base_url]


def test_help_teaches(desk: Desk) -> None:
    shown = desk("--help").out
    assert DESCRIPTION in shown
    assert shown.count("eyechart vlmeval --") >= 4
    assert "no address that a --config names" in " ".join(shown.split())
    for field in fields(Flags):
        assert f"--{field.name.replace('_', '-')}" in shown


def test_addresses_and_keys_that_an_entry_leaves_to_others(tmp_path: Path) -> None:
    models = {
        "a": {"class": "GPT4V", "model": "m"},
        "b": {"class": "LMDeployAPI", "model": "m"},
        "c": {"class": "GPT4V", "model": "m", "api_base": "OFFICIAL", "key": "sk-c"},
        "d": {"class": "CustomAPIModel", "model": "m", "api_base": "http://d/v1"},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model": models, "data": {"x": {}}}))
    environment = {
        "OPENAI_API_BASE": "http://o/v1/chat/completions", "OPENAI_API_KEY": "sk-o",
        "LMDEPLOY_API_BASE": "http://l/v1", "LMDEPLOY_API_KEY": "sk-l",
    }  # fmt: skip

    def places(flags: Flags) -> list[tuple[str, str]]:
        options = [one.options for one in make_task(flags, environment).models]
        return [(one["base_url"], one["api_key"]) for one in options]

    openai = ("https://api.openai.com/v1", "sk-c")
    assert places(Flags(config=str(path))) == [
        ("http://o/v1", "sk-o"), ("http://l/v1", "sk-l"), openai, ("http://d/v1", "EMPTY"),
    ]  # fmt: skip
    assert places(Flags(config=str(path), base_url="http://f/v1", key="sk-f")) == [
        ("http://f/v1", "sk-f"), ("http://f/v1", "sk-f"), openai, ("http://d/v1", "sk-f"),
    ]  # fmt: skip


OWN = {"OPENAI_API_KEY": "sk-own", "LMDEPLOY_API_KEY": "sk-lmd", "LMDEPLOY_API_BASE": "http://l/v1"}


@pytest.mark.parametrize(
    ("entry", "more", "key"),
    [
        ({"api_base": "http://stranger/v1"}, {}, "EMPTY"),
        ({"api_base": "http://stranger/v1"}, {"OPENAI_API_BASE": "http://o/v1"}, "EMPTY"),
        ({"api_base": "https://api.openai.com.stranger/v1"}, {}, "EMPTY"),
        ({"api_base": "http://api.openai.com/v1"}, {}, "EMPTY"),  # in clear
        ({"api_base": "http://o/v1"}, {"OPENAI_API_BASE": "http://o/v1/chat/completions"}, "sk-own"),
        ({"api_base": "OFFICIAL"}, {}, "sk-own"),
        ({"api_base": "https://api.openai.com/v1/chat/completions"}, {}, "sk-own"),
        ({}, {"OPENAI_API_BASE": "http://o/v1"}, "sk-own"),
        ({}, {}, "sk-own"),
        ({"class": "LMDeployAPI", "api_base": "http://stranger/v1"}, {}, "EMPTY"),
        ({"class": "LMDeployAPI", "api_base": "OFFICIAL"}, {}, "EMPTY"),
        ({"class": "LMDeployAPI"}, {}, "sk-lmd"),
        ({"api_base": "http://stranger/v1", "key": "sk-entry"}, {}, "sk-entry"),
    ],
)
def test_the_key_of_the_environment_goes_to_no_address_of_a_file(
    tmp_path: Path, entry: dict[str, str], more: dict[str, str], key: str
) -> None:
    path = tmp_path / "config.json"
    models = {"a": {"class": "GPT4V", "model": "m", **entry}}
    path.write_text(json.dumps({"model": models, "data": {"x": {}}}))
    task = make_task(Flags(config=str(path)), OWN | more)
    assert task.models[0].options["api_key"] == key
    assert [note for note in task.models[0].notes if "is not sent to a URL" in note] == [
        f"--config: model 'a': ${name}_API_KEY is not sent to a URL that the environment does not name; "
        "if it belongs to that server, give it with --key"
        for name in ["LMDEPLOY" if "class" in entry else "OPENAI"]
        if key == "EMPTY"
    ]


def test_the_key_of_the_environment_goes_not_to_a_flags_address(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model": {"a": {"class": "GPT4V", "model": "m"}}, "data": {"x": {}}}))
    task = make_task(Flags(config=str(path), base_url="http://f/v1"), OWN)
    assert task.models[0].options["api_key"] == "EMPTY"


def test_the_task_of_our_own_models() -> None:
    flags = Flags(data=["d"], model=["openai/gpt-4o", "python:m.py:M"], temperature=0.3, max_tokens=7)
    first, second = make_task(flags, {}).models
    assert (first.spec, first.name) == ("openai/gpt-4o", "gpt-4o")
    assert (second.spec, second.name) == ("python:m.py:M", "python_m.py_M")
    for entry in (first, second):
        assert (entry.options["temperature"], entry.options["max_tokens"]) == (0.3, 7)


NAMES = st.sampled_from(
    ["GPT4V", "CustomAPIModel", "ImageMCQDataset", "openai/m", "mine", "m", "", "../x", "-"]
)
WORDS = st.sampled_from(
    ["model", "data", "class", "dataset", "key", "api_base", "temperature", "img_size", "x", "nframe"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | NAMES, inner, max_size=4),
    max_leaves=12,
)
ENTRIES = (
    st.dictionaries(NAMES, st.dictionaries(WORDS, NAMES | VALUES, max_size=4) | VALUES, max_size=3) | VALUES
)
CONFIGS = st.fixed_dictionaries({"model": ENTRIES, "data": ENTRIES}) | VALUES


@pytest.mark.slow
@given(CONFIGS)
def test_any_config_is_a_task_or_is_refused(content: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        try:
            task = make_task(Flags(config=str(path), base_url="http://localhost/v1"), {})
        except UsageError:
            return
        assert task.models
        names = [*(one.name for one in task.models), *(one.name for one in task.data)]
        assert all(Path(name).name == name for name in names)


@given(st.text())
def test_any_name_is_a_file_name(name: str) -> None:
    made = make_label(name)
    assert made == Path(made).name
    assert make_label(made) == made


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("--out names another", "--work-dir names another"),
        ("--out_file and --concurrency_2 stay", "--out_file and --concurrency_2 stay"),
        ("eval_config: api_nproc is 0", "--api-nproc is 0"),
    ],
)
def test_flags_by_their_names_here(said: str, meant: str) -> None:
    assert rewrite_text(said) == meant


def test_what_is_raised_is_worded_and_stays_what_it_is() -> None:
    with pytest.raises(ModelError) as caught, name_flags_in_errors():
        raise ModelError("--concurrency 9: no", hint="mode: all asks again; --rpm 3 is slower", status=429)
    assert str(caught.value) == "--api-nproc 9: no\n  hint: --mode all asks again"
    assert (caught.value.args, caught.value.status) == (("--api-nproc 9: no",), 429)


SAID = [Flags(top_p=0.5), Flags(timeout=3), Flags(extra_body="{}"), Flags(max_tokens=1)]


@pytest.mark.parametrize("said", SAID, ids=["top-p", "timeout", "extra-body", "max-tokens"])
def test_a_config_says_itself_how_models_are_asked(said: Flags, request: pytest.FixtureRequest) -> None:
    with pytest.raises(UsageError, match=f"--{request.node.callspec.id}"):
        make_task(replace(said, config="c.json"), {})
