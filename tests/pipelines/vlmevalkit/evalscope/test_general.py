"""`general_vqa` and `general_vmcq`: every form of a task, its files, its numbers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.compat.evalscope import TaskConfig, run_task
from eyechart.errors import EyechartError, UsageError
from eyechart.pipelines.logs.evalscope import read_report
from eyechart.pipelines.vlmevalkit.evalscope.job import Summarizer, TaskFailed
from parity.general import Files, find_differences, make_answer, read_result, write_pictures
from support.command import eyechart
from support.golden import FOLDER
from support.server import Answer, Asked, Server
from support.tasks import KEY, files_with

ANIMAL = [{"type": "text", "text": "What animal?"}, {"type": "image_url", "image_url": {"url": "a.png"}}]
VQA: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": ANIMAL}], "answer": "a dog"},
    {"messages": [{"role": "user", "content": "<image 1> And this?"}], "image_1": "a.png", "answer": "a cat"},
]
PICTURES = {"options": ["<image 1>", "<image 2>"], "image_1": "a.png", "image_2": "b.png"}
VMCQ: list[dict[str, Any]] = [
    {"question": "Which is red?", **PICTURES, "answer": "A"},
    {"question": "<image 1> Which?", "options": ["dog", "cat", "bus"], "image_1": "a.png", "answer": "B"},
]
JUDGES = {"strategy": "llm", "models": [{"model_id": "a"}]}


def say(asked: Asked) -> str:
    return "So it is.\nANSWER: A" if "ANSWER" in asked.text else "a dog"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, colour in (("a", "red"), ("b", "blue")):
        Image.new("RGB", (20, 20), colour).save(f"{name}.png")
    for name, rows in (("vqa", VQA), ("vmcq", VMCQ)):
        Path(name).mkdir()
        Path(name, "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Server(say) as running:
        yield running


def task(server: Server, *names: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A task on these data sets; `args` go to all of them."""
    names = names or ("general_vqa",)
    arguments = {
        name: {"local_path": name.removeprefix("general_"), "subset_list": ["mine"], **(args or {})}
        for name in names
    }
    return {
        "model": "org/Model-2.5:7b",
        "api_url": server.base_url,
        "api_key": KEY,
        "datasets": list(names),
        "dataset_args": arguments,
        **more,
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rouge(reports: Any) -> Any:
    return reports["general_vqa"].score


def test_reports_are_returned_printed_and_written(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    reports = run_task(task(server, "general_vqa", "general_vmcq", eval_type="openai_api"))
    assert (reports["general_vqa"].score, reports["general_vmcq"].score) == (0.75, 0.5)
    [metric] = reports["general_vmcq"].metrics
    assert (metric.identity.name, metric.num, metric.categories[0].subsets[0].name) == ("accuracy", 2, "mine")
    printed = capsys.readouterr().out
    assert "Model-2.5_7b  general_vqa  ROUGE-L recall" in printed
    assert printed.rstrip().endswith("'general_vmcq': Report(name='Model-2.5_7b@general_vmcq', score=0.5)}")
    [folder] = Path("outputs").iterdir()
    written = json.loads((folder / "reports/Model-2.5_7b/general_vqa.json").read_text())
    assert written == reports["general_vqa"].to_dict()
    names = {str(path.relative_to(folder)) for path in folder.glob("*/Model-2.5_7b/*")}
    both = ("general_vqa", "general_vmcq")
    lines = {f"{kind}/Model-2.5_7b/{name}_mine.jsonl" for kind in ("predictions", "reviews") for name in both}
    assert names == {*lines, *(f"reports/Model-2.5_7b/{name}.json" for name in both)}
    assert not files_with(folder, KEY)
    assert Summarizer.get_report_from_cfg(task(server)) == [{"general_vqa": written}]
    log = read_report(folder / "reports/Model-2.5_7b/general_vqa.json")
    assert [entry.reply.text for entry in log.entries if entry.reply] == ["a dog", "a dog"]


def test_requests_are_those_of_evalscope(server: Server) -> None:
    run_task(task(server, "general_vmcq"))
    body = next(asked.body for asked in server.asked if "Which is red?" in json.dumps(asked.body))
    assert body.keys() == {"model", "messages", "temperature"}
    assert (body["model"], body["temperature"]) == ("org/Model-2.5:7b", 0.0)
    [message] = body["messages"]
    first, image, text, other = message["content"]
    assert first["text"].startswith("Answer the following multiple choice question. The last line")
    assert first["text"].endswith("one of A,B. Think step by step before answering.\n\nWhich is red?\n\nA) ")
    assert (text["text"], image["image_url"]["detail"], other["type"]) == ("\nB) ", "auto", "image_url")
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("form", ["dict", "object", "yaml", "json", "list"])
def test_every_form_of_a_task(server: Server, form: str) -> None:
    given: Any = task(server)
    if form == "object":
        given = TaskConfig(**given)
    elif form in ("yaml", "json"):
        Path(f"task.{form}").write_text(json.dumps(given))  # JSON is YAML, too
        given = f"task.{form}"
    elif form == "list":
        given = [given]
    found = run_task(given)
    assert rouge(found[0] if form == "list" else found) == 0.75


def test_a_configuration_is_a_source_of_run(server: Server) -> None:
    Path("task.yaml").write_text(json.dumps(task(server)))
    done = eyechart("run", "task.yaml", "--json", cwd=Path.cwd())
    assert done.json["general_vqa"]["metrics"][-3]["score"] == 0.75
    estimate = eyechart("run", "task.yaml", "--dry-run", "--json", cwd=Path.cwd())
    assert (estimate.code, "general_vqa" in estimate.out) == (0, True)


def test_a_list_of_tasks_in_a_file(server: Server) -> None:
    Path("tasks.json").write_text(json.dumps([task(server), task(server, "general_vmcq")]))
    done = eyechart("run", "tasks.json", "--json", cwd=Path.cwd())
    assert [list(one) for one in done.json["tasks"]] == [["general_vqa"], ["general_vmcq"]]


def test_a_configuration_of_eyechart_with_a_wrong_key_is_not_a_task(server: Server) -> None:
    Path("own.yaml").write_text("model: baseline/random\ndatasets: demo\n")
    refused = eyechart("run", "own.yaml", cwd=Path.cwd())
    assert (refused.code, "EvalScope" in refused.err) == (2, False)


def test_the_saved_configuration_runs_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    run_task(task(server, judge={"strategy": "rule"}))
    [saved] = Path().glob("outputs/*/configs/task_config.yaml")
    assert "api_key_env: MODEL_2_5_7B_API_KEY" in saved.read_text()
    with pytest.raises(UsageError, match="MODEL_2_5_7B_API_KEY, which is not set"):
        run_task(str(saved))
    monkeypatch.setenv("MODEL_2_5_7B_API_KEY", KEY)
    assert rouge(run_task(str(saved))) == 0.75


def test_a_configuration_that_evalscope_saved(server: Server) -> None:
    """What evalscope 1.14.1 writes into configs/task_config.yaml, with its key put back."""
    judge = {"strategy": "auto", "models": [], "repeats": 1, "position_swap": "auto", "aggregation": "mean"}
    contract = {
        "prompt_template": None,
        "score_mapping": None,
        "score_type": "pattern",
        "system_prompt": None,
    }
    sandbox = {
        "default_config": {},
        "enabled": False,
        "engine": "docker",
        "manager_config": {},
        "pool_size": None,
    }
    saved: dict[str, Any] = {
        "agent_config": None, "analysis_report": False, "chat_template": None, "collect_perf": True,
        "dataset_dir": "datasets", "dataset_hub": "modelscope", "debug": False, "dry_run": False,
        "enable_progress_tracker": False, "eval_backend": "Native", "eval_batch_size": 8, "eval_config": None,
        "eval_type": "openai_api", "evalscope_version": "1.14.1", "evaluation_identity": {"benchmarks": {}},
        "generation_config": {"batch_size": 8, "temperature": 0.0}, "ignore_errors": False,
        "judge": {**judge, "contract": contract, "min_valid_judges": 1}, "limit": None, "model_args": {},
        "model_id": "Mine", "model_task": "text_generation", "no_timestamp": False, "repeats": 1,
        "rerun_review": False, "resolved_benchmarks": {"general_vqa": {}}, "sandbox": sandbox,
        "sandbox_manager_config": {}, "sandbox_type": "docker", "seed": 42, "stream": None, "timeout": None,
        "use_cache": None, "use_sandbox": False, "work_dir": "out",
    }  # fmt: skip
    assert rouge(run_task(TaskConfig({**task(server), **saved}))) == 0.75
    [config] = Path("out").glob("*/configs/task_config.yaml")
    assert "resolved_benchmarks" not in config.read_text()


def test_the_command_line_of_evalscope(server: Server) -> None:
    arguments = json.dumps({"general_vqa": {"local_path": "vqa", "subset_list": ["mine"]}})
    words = ["evalscope", "eval", "--model", "m", "--api-url", server.base_url, "--api-key", KEY]
    words += ["--eval-type", "openai_api", "--datasets", "general_vqa", "--dataset-args", arguments]
    words += ["--limit", "1", "--generation-config", "max_tokens=9,temperature=0.5,do_not=1"]
    refused = eyechart(*words, cwd=Path.cwd())
    assert (refused.code, "generation_config has no key 'do_not'" in refused.err) == (2, True)
    assert not server.asked
    words[-1] = "max_tokens=9,temperature=0.5"
    done = eyechart(*words, "--work-dir", "results", "--no-timestamp", cwd=Path.cwd())
    assert done.code == 0, done.err
    assert "ROUGE-L recall" in done.out
    assert [(asked.body["max_tokens"], asked.body["temperature"]) for asked in server.asked] == [(9, 0.5)]
    assert Path("results/reports/m/general_vqa.json").is_file()
    other = eyechart(
        "evalscope", "eval", "--model", "m", "--datasets", "gsm8k", "general_vqa", cwd=Path.cwd()
    )
    assert (other.code, "general_vqa and general_vmcq" in other.err) == (2, True)


# -- Data


def test_tables_parquet_and_lists(server: Server) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    image = {"bytes": Path("a.png").read_bytes(), "path": None}
    table = {
        "question": ["<image 1> Which?"],
        "options": [["dog", "cat"]],
        "images": [[image]],
        "answer": ["A"],
    }
    pq.write_table(pa.table(table), "vmcq/rows_val.parquet")
    Path("vmcq/tab.tsv").write_text(
        "question\toptions\tanswer\timage_1\n<image_1> Which?\t['dog', 'cat']\ta\ta.png\n"
    )
    Path("vqa/tab.tsv").write_text(f"messages\tanswer\n{json.dumps(VQA[0]['messages'])}\ta dog\n")
    Path("vqa/comma.csv").write_text(
        'messages,answer\n"[{""role"": ""user"", ""content"": ""Hi?""}]",a dog\n'
    )
    args = {"subset_list": ["rows", "tab", "mine"]}
    found = run_task(task(server, "general_vmcq", args=args))["general_vmcq"]
    subsets = found.metrics[0].categories[0].subsets
    assert [(one.name, one.score, one.num) for one in subsets] == [
        ("rows", 1.0, 1),
        ("tab", 1.0, 1),
        ("mine", 0.5, 2),
    ]
    assert (found.score, found.num, found.metrics[0].categories[0].macro_score) == (0.75, 4, 0.8333)
    assert all(len(asked.images) in (1, 2) for asked in server.asked)
    found = run_task(task(server, args={"subset_list": ["tab", "comma"]}))["general_vqa"]
    assert (found.score, found.num) == (1.0, 2)


def test_urls_are_sent_as_they_are(server: Server) -> None:
    place = "http://192.0.2.1/a.png"  # cannot be reached
    parts = [
        {"type": "image_url", "image_url": {"url": place, "detail": "low"}},
        {"type": "text", "text": "?"},
    ]
    row = {"messages": [{"role": "user", "content": parts}], "answer": "a dog"}
    Path("vqa/mine.jsonl").write_text(json.dumps(row))
    assert rouge(run_task(task(server))) == 1.0
    [asked] = server.asked
    assert asked.body["messages"][0]["content"][0]["image_url"] == {"url": place, "detail": "low"}


def test_images_are_found_from_here_or_beside_the_file(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.png").rename("vqa/a.png")
    assert rouge(run_task(task(server))) == 0.75
    Path("b").mkdir()
    monkeypatch.chdir("b")
    text = Path("../vqa/mine.jsonl").read_text().replace("a.png", "../b.png")
    Path("../vqa/mine.jsonl").write_text(text)
    assert rouge(run_task(task(server, args={"local_path": "../vqa"}))) == 0.75


def test_a_file_in_place_of_a_folder(server: Server) -> None:
    given = task(server, args={"local_path": "vqa/mine.jsonl", "subset_list": None})
    del given["dataset_args"]["general_vqa"]["subset_list"]
    found = run_task(given)["general_vqa"]
    assert found.metrics[0].categories[0].subsets[0].name == "default"


@pytest.mark.parametrize(("limit", "n"), [(1, 1), (0, 2), (0.5, 1), ("1", 1), (9, 2)])
def test_limit(server: Server, limit: Any, n: int) -> None:
    assert run_task(task(server, limit=limit))["general_vqa"].num == n


def test_repeats_are_rows_of_their_own(server: Server) -> None:
    found = run_task(task(server, "general_vmcq", repeats=3, work_dir="out", no_timestamp=True))[
        "general_vmcq"
    ]
    assert (found.num, found.score, len(server.asked)) == (6, 0.5, 6)
    reviews = read_lines(Path("out/reviews/Model-2.5_7b/general_vmcq_mine.jsonl"))
    lines = [line["sample_score"] for line in reviews]
    assert [(line["sample_id"], line["group_id"], line["generation_index"]) for line in lines] == [
        (n, n // 3, n % 3) for n in range(6)
    ]


def test_a_system_prompt_and_a_template(server: Server) -> None:
    args = {"system_prompt": "Look well.", "prompt_template": "{choices}\n{question} {{{letters}}}"}
    run_task(task(server, "general_vmcq", args=args, limit=1))
    [asked] = server.asked
    assert [one["role"] for one in asked.body["messages"]] == ["system", "user"]
    assert asked.text == "A) \n\nB) \n\nWhich is red? {A,B}"


def test_what_a_user_should_know_is_said(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**VMCQ[1], "question": "no mark", "answer": "dog"}, {**VMCQ[1], "question": "<image 7> Which?"}]
    Path("vmcq/mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run_task(task(server, "general_vmcq"))
    said = capsys.readouterr().err
    assert "the images of a row are not sent" in said
    assert "(e.g. mine.jsonl: row 1 (line 1))" in said
    assert (
        "an answer that is none of the labels cannot be right: 1 row (e.g. mine.jsonl: row 1 (line 1): 'dog')"
        in said
    )
    assert "a placeholder without an image is left out of the text: 1 row" in said


def test_questions_without_an_answer_are_left_out(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    Path("vqa/mine.jsonl").write_text(
        json.dumps(VQA[0]) + "\n" + json.dumps({"messages": VQA[0]["messages"]})
    )
    found = run_task(task(server))["general_vqa"]
    assert (found.num, found.score) == (1, 1.0)
    assert "1 of 2 questions have no answer in the file, not counted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": "x"}, "mine.jsonl: row 1 (line 1): no column 'messages' (found: answer)"),
        ({"messages": "[{"}, "messages is not JSON"),
        ({"messages": []}, "messages is not a list of objects"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "a message has the role 'tool'"),
        ({"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}, "a part of type 'video_url'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "an image_url has no url"),
        ({"messages": [{"role": "user", "content": "<video 1> what?"}]}, "only images can be sent, no video"),
        ({"messages": [{"role": "user", "content": 7}]}, "the content of a message is int"),
        ({**VQA[1], "image_1": "a sentence, not a path. " * 50}, "File name too long"),
        (
            {**VQA[1], "image_1": "half a character: \ud800", "note": float("nan")},
            "row 1 (line 1): invalid JSON",
        ),
    ],
)
def test_bad_rows_are_refused_before_a_request(server: Server, row: dict[str, Any], message: str) -> None:
    Path("vqa/mine.jsonl").write_text(json.dumps(row))
    with pytest.raises(EyechartError) as caught:
        run_task(task(server))
    assert message in str(caught.value)
    assert not server.asked


@pytest.mark.parametrize("options", ["dog, cat", 7, [], None])
def test_options_must_be_a_list(server: Server, options: Any) -> None:
    Path("vmcq/mine.jsonl").write_text(json.dumps({**VMCQ[1], "options": options}))
    with pytest.raises(EyechartError, match="options is not a list"):
        run_task(task(server, "general_vmcq"))


# -- Keys


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": ["mmmu", "general_vqa"]}, "datasets has 'mmmu'; of EvalScope's native backend"),
        ({"datasets": []}, "the task names no datasets"),
        ({"model": None}, "the task names no model"),
        ({"api_url": None}, "the task has no api_url"),
        ({"eval_type": "llm_ckpt"}, "eval_type is 'llm_ckpt'"),
        ({"limit": -1}, "limit is -1"),
        ({"limit": 2.5}, "limit is 2.5"),
        ({"repeats": 0}, "repeats is 0"),
        ({"generation_config": {"tempreture": 1}}, "did you mean temperature"),
        ({"generation_config": {"extra_headers": {"x": "y"}}}, "extra_headers is not possible"),
        ({"agent_config": {"mode": "native"}}, "agent_config is not possible"),
        ({"model_args": {"revision": "x"}}, "model_args is not possible"),
        ({"analysis_report": True}, "analysis_report is not possible"),
        ({"dataset_args": {"general_vqa": {"local_path": "nowhere"}}}, "no such file or folder: nowhere"),
        ({"dataset_args": {}}, "has no local_path"),
        ({"dataset_args": {"general_vmcq": {}}}, "dataset_args has 'general_vmcq', which is not one of"),
        ({"dataset_args": {"general_vqa": {"local_path": "vqa"}}}, "no file for the subset 'default' in vqa"),
        ({"args": {"few_shot_num": 2}}, "few_shot_num is not possible"),
        ({"args": {"shuffle_choices": True}}, "shuffle_choices is not possible"),
        ({"args": {"aggregation": "mean_and_pass_at_k"}}, "aggregation is not possible"),
        ({"args": {"metric_list": ["acc"]}}, "metric_list is a list, but must be a list of: BLEU, Rouge"),
        ({"args": {"metric_list": ["BLEU"]}}, "metric_list has no Rouge"),
        ({"args": {"filters": {"upper": 1}}}, "unknown filter 'upper'"),
        ({"args": {"filters": {"extract": "("}}}, "the filter extract cannot be applied"),
        ({"args": {"filters": {"extract": ["(a)", "x"]}}}, "the filter extract cannot be applied"),
        ({"args": {"subset_list": "mine"}}, "subset_list is the text 'mine'"),
        ({"args": {"colour": "red"}}, "dataset_args of general_vqa has no key 'colour'"),
        ({"judge": {"strategy": "llm"}}, "judge: no models are given"),
        ({"judge": {"strategy": "maybe"}}, "strategy is 'maybe'"),
        ({"judge": {"strategy": "llm", "models": [{}]}}, "the judge has no model_id"),
        ({"judge": {"strategy": "llm", "models": [{"model_id": "a"}, {"model_id": "b"}]}}, "2 models"),
        ({"judge": {**JUDGES, "repeats": 3}}, "repeats is not possible"),
        ({"judge": {**JUDGES, "contract": {"score_type": "numeric"}}}, "score_type is not possible"),
        ({"judge": {**JUDGES, "contract": {"score_mapping": {"A": 7}}}}, "labels to values from 0 to 1"),
        ({"judge": {"strategy": "llm"}, "judge_strategy": "llm"}, "are both given"),
        ({"eval_backend": "OpenCompass"}, "eval_backend is OpenCompass"),
        ({"api_key": "[secret]"}, "stands for a key that was not saved"),
        ({"api_key": "**********"}, "api_key holds **********, which stands for a key that was not saved"),
        ({"sandbox": {"enabled": True}}, "sandbox is not possible"),
    ],
)  # fmt: skip
def test_what_is_not_possible_is_refused(server: Server, changes: dict[str, Any], message: str) -> None:
    changes = dict(changes)
    given = {**task(server, args=changes.pop("args", None)), **changes}
    with pytest.raises(EyechartError) as caught:
        run_task({name: value for name, value in given.items() if value is not None})
    assert message in str(caught.value)
    assert not server.asked


def test_keys_without_effect_are_noted(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"stream": True, "judge_worker_num": 5, "dataset_hub": "huggingface", "collect_perf": False}
    assert rouge(run_task(task(server, args={"prompt_template": "x"}, **more))) == 0.75
    said = capsys.readouterr().err
    for name in ("stream", "judge_worker_num", "dataset_hub", "prompt_template"):
        assert f"{name} has no effect" in said


def test_bleu_is_left_out_without_its_parts(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(text: str) -> list[str]:
        raise LookupError("punkt_tab")

    monkeypatch.setattr("eyechart.pipelines.vlmevalkit.evalscope.general_score._tokenize", missing)
    found = run_task(task(server))["general_vqa"]
    assert {one.identity.name for one in found.metrics} == {"rouge"}
    assert "BLEU is left out: BLEU needs nltk's sentence model punkt_tab" in capsys.readouterr().err
    with pytest.raises(UsageError, match="BLEU needs nltk's sentence model"):  # asked for by name
        run_task(task(server, args={"metric_list": ["BLEU", "Rouge"]}))


# -- Runs


def test_a_judge_is_asked_as_evalscope_asks(server: Server) -> None:
    server.answer = lambda asked: (
        '{"verdict": "A"}' if asked.body["model"] == "j" else "<think>A dog?</think>no idea"
    )
    models = {"model_id": "j", "api_url": server.base_url, "api_key": "sk-judge-12345678"}
    found = run_task(task(server, judge_strategy="llm", judge_model_args=models))["general_vqa"]
    assert (found.score, found.primary_metric_identity) == (1.0, None)
    [metric] = found.metrics
    assert (metric.identity.name, found.judge_summary.judge_models) == ("accuracy", ["j"])
    body = next(asked.body for asked in server.asked if asked.body["model"] == "j")
    assert (body["temperature"], body["max_tokens"]) == (0.0, 4096)
    assert "[Predicted Answer]\nno idea\n" in body["messages"][0]["content"]  # without the thought
    [folder] = Path("outputs").iterdir()
    assert not files_with(folder, "sk-judge-12345678")
    review, _ = read_lines(folder / "reviews/Model-2.5_7b/general_vqa_mine.jsonl")
    [attempt] = review["sample_score"]["score"]["metadata"]["judge_attempts"]
    assert attempt["messages"][0]["content"] in (asked.text for asked in server.asked)


def test_failed_requests_are_not_scored(server: Server) -> None:
    server.answer = lambda asked: Answer(status=400) if "And this?" in asked.text else "a dog"
    with pytest.raises(TaskFailed, match="1 of 2 questions got no reply"):
        run_task(task(server))
    [folder] = Path("outputs").iterdir()
    assert not (folder / "reports/Model-2.5_7b/general_vqa.json").exists()
    found = run_task(task(server, ignore_errors=True))["general_vqa"]
    assert (found.score, found.num) == (1.0, 1)
    summary = found.execution_summary
    assert (summary.requested, summary.succeeded, summary.errored, summary.incomplete) == (2, 1, 1, True)


def test_an_interrupted_task_is_resumed(server: Server) -> None:
    server.answer = lambda asked: Answer(status=400) if "And this?" in asked.text else "a dog"
    with pytest.raises(TaskFailed):
        run_task(task(server))
    server.answer = say
    server.asked.clear()
    assert rouge(run_task(task(server))) == 0.75
    assert [asked.text for asked in server.asked] == [" And this?"]
    assert len(list(Path("outputs").iterdir())) == 1


def test_a_folder_is_continued_by_use_cache(server: Server) -> None:
    run_task(task(server, limit=1))
    [folder] = Path("outputs").iterdir()
    assert rouge(run_task(task(server, use_cache=str(folder)))) == 0.75
    assert len(server.asked) == 2


def test_another_prompt_or_judge_is_another_run(server: Server) -> None:
    same: dict[str, Any] = {"work_dir": "out", "no_timestamp": True}
    run_task(task(server, **same))
    run_task(task(server, args={"system_prompt": "Look."}, **same))
    assert [len(asked.body["messages"]) for asked in server.asked] == [1, 1, 2, 2]
    run_task(task(server, args={"filters": {"remove_until": "a"}}, **same))
    assert len(list(Path("out/runs").glob("*/*"))) == 3


def test_files_of_evalscope_are_not_replaced(server: Server) -> None:
    path = Path("theirs/reports/Model-2.5_7b/general_vqa.json")
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(UsageError, match="was not made by eyechart, and would be replaced"):
        run_task(task(server, use_cache="theirs"))
    assert path.read_text() == "{}"
    assert not server.asked


def test_all_files_are_those_of_evalscope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The questions, replies and files of a run of evalscope 1.14.1; tests/parity has many more."""
    golden = json.loads((FOLDER / "evalscope_general.json").read_text(encoding="utf-8"))
    assert "evalscope 1.14.1" in golden["provenance"]
    monkeypatch.chdir(tmp_path)
    write_pictures(Path("pictures"))
    for name, text in golden["files"].items():
        Path(name).parent.mkdir(exist_ok=True)
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            file.write(text)
    sets = {name: Files(Path(name), replies=replies) for name, replies in golden["replies"].items()}
    with Server(make_answer(sets)) as server:
        reports = run_task(
            {**golden["config"], "api_url": server.base_url, "work_dir": "out", "no_timestamp": True}
        )
    assert reports
    for name, expected in golden["written"].items():
        found = read_result(Path("out") / name)
        assert not list(find_differences(found, expected))[:3], name
    assert {os.fspath(path.relative_to("out")) for path in Path("out").glob("*/*/general_*")} == set(
        golden["written"]
    )
