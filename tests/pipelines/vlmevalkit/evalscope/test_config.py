"""Every documented key is accepted or refused by its name, in every form in which a task can be given."""

from __future__ import annotations

import argparse
import json
import string
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from eyechart.compat.evalscope import TaskConfig
from eyechart.errors import UsageError
from eyechart.models.openai import OpenAI
from eyechart.pipelines.vlmevalkit.evalscope.config import NATIVE_KEYS, TASK_KEYS, Task, read_task
from eyechart.pipelines.vlmevalkit.evalscope.eval_config import ENTRY_KEYS, EVAL_KEYS

SECRET = "sk-very-secret-0123456789"
ENTRY: dict[str, Any] = {
    "name": "CustomAPIModel",
    "type": "m",
    "api_base": "http://127.0.0.1:9/v1/chat/completions",
    "key": SECRET,
}
ENTRY_DEFAULTS: dict[str, Any] = {
    "temperature": 0, "max_tokens": 2048, "img_size": -1, "total_img_size": -1, "img_detail": "high",
    "max_file_size": 1e9, "system_prompt": None, "timeout": 300, "retry": 6, "wait": 1, "video_llm": False,
    "use_azure": False, "verbose": False,
}  # fmt: skip
NAMES = st.text(string.ascii_lowercase + "_", min_size=1, max_size=20)


def config(**inner: Any) -> dict[str, Any]:
    return {"eval_backend": "VLMEvalKit", "eval_config": {"model": [ENTRY], "data": ["mine"], **inner}}


def read(**inner: Any) -> Task:
    return read_task(config(**inner))


def entry(**fields: Any) -> dict[str, Any]:
    """The options of the one model of a task."""
    (model,) = read(model=[{**ENTRY, **fields}]).models
    return dict(model.options)


@given(st.sets(st.sampled_from(sorted(EVAL_KEYS.keys() - {"model", "data"}))))
def test_a_documented_key_with_its_default_is_as_if_nothing_was_said(names: set[str]) -> None:
    said = read(**{name: EVAL_KEYS[name] for name in names})
    usual = read()
    assert said.notes == ()
    assert said.models == usual.models or "retry" in names
    assert (said.mode, said.data, said.reuse, said.keep_failed) == ("all", usual.data, False, False)
    assert dict(said.options) == ({"concurrency": 4} if "api_nproc" in names else {})


@given(st.sets(st.sampled_from(sorted(ENTRY_DEFAULTS))))
def test_a_documented_key_of_a_model_with_its_default_changes_nothing(names: set[str]) -> None:
    assert entry(**{name: ENTRY_DEFAULTS[name] for name in names}) == entry()
    assert {*ENTRY_DEFAULTS, "name", "type", "api_base", "key"} == {*ENTRY_KEYS}


@given(st.sets(st.sampled_from(sorted(TASK_KEYS.keys() - {"eval_backend", "eval_config"}))))
def test_documented_keys_beside_eval_config_are_accepted(names: set[str]) -> None:
    task = read_task({**config(), **{name: TASK_KEYS[name] for name in names}})
    assert task.is_stamped
    assert task.use_cache is None
    assert not task.is_dry_run


@given(NAMES, st.booleans())
def test_an_unknown_key_is_refused_by_its_name(name: str, is_inner: bool) -> None:
    assume(name not in {**EVAL_KEYS, **TASK_KEYS} and name not in NATIVE_KEYS)
    given_task = config(**{name: 1}) if is_inner else {**config(), name: 1}
    with pytest.raises(UsageError) as refused:
        read_task(given_task)
    assert repr(name) in refused.value.message
    assert refused.value.hint


@given(NAMES, st.sampled_from([0, 1.5, True, "high", ["a"], {"b": 1}]))
def test_what_else_a_model_says_goes_into_the_request(name: str, value: Any) -> None:
    assume(
        name not in ENTRY_KEYS
        and name not in OpenAI.parameters
        and name not in ("model", "messages", "n", "stream")
    )
    task = read(model=[{**ENTRY, name: value}])
    assert task.models[0].options["params"]["extra_body"] == {name: value}
    assert any(name in note for note in task.models[0].notes)


ODD = st.sampled_from(
    [None, 0, 1, -1, 1.5, True, "", "x", "1", "{", "[]", "{}", [], {}, [1], {"a": 1}, ["x"], b"x",
     float("nan"), 10**400, "\ud800", object(), SECRET]
)  # fmt: skip


@given(
    st.sampled_from([*EVAL_KEYS]), ODD, st.sampled_from([*ENTRY_KEYS, "extra_body", "zz"]), ODD, st.booleans()
)
def test_whatever_stands_in_a_key_is_taken_or_refused(
    name: str, value: Any, field: str, said: Any, is_named: bool
) -> None:
    model: Any = "m" if is_named else {**ENTRY, field: said}
    base = {"base_url": "http://127.0.0.1:9/v1", "judge": "j"} if is_named else {}
    said_of_it = ""
    try:
        read(**{"model": model, **base, name: value})
    except UsageError as refused:
        said_of_it = str(refused)
    in_view = [value] if "key" not in name.lower() else []
    in_view += [said] if field != "key" else []
    if SECRET not in str(in_view):
        assert SECRET not in said_of_it  # a key is never shown


@given(st.sampled_from(sorted(NATIVE_KEYS)))
def test_keys_of_the_native_backend_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=rf"\b{name}\b") as refused:
        read_task({**config(), name: 1})
    assert "eval_config" in refused.value.hint


NOT_DONE: dict[str, Any] = {
    "fps": 2, "nframe": 4, "pack": True, "use_subtitle": True, "use_vllm": True, "use_verifier": True,
    "config": "models.json", "key": "x", "max_tokens": 5, "temperature": 0, "top_k": 3, "top_p": 0.5,
    "repetition_penalty": 1.1, "timeout": 5, "custom_prompt": "x", "extra_body": '{"a": 1}',
    "video_llm": True, "local_media": True, "limit": 2.5, "mode": "evaluate", "reuse_aux": "some",
    "nproc": 0, "retry": 0, "reuse": "perhaps", "judge_key": SECRET, "judge_base_url": "http://127.0.0.1:9",
    "LOCAL_LLM": "j", "OPENAI_API_BASE": "http://127.0.0.1:9", "OPENAI_API_KEY": SECRET,
    "judge_args": '{"temperature": 0}', "base_url": "http://127.0.0.1:9/v1",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_DONE)
def test_what_cannot_be_done_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(**{name: NOT_DONE[name]})
    said = str(refused.value)
    assert name in said or name in ("LOCAL_LLM", "OPENAI_API_BASE")
    assert SECRET not in said


BAD_ENTRIES: list[dict[str, Any]] = [
    {"img_size": 0}, {"img_size": 1.5}, {"img_detail": "auto"}, {"total_img_size": 512},
    {"max_file_size": 1000}, {"video_llm": True}, {"use_azure": True}, {"api_base": "localhost:8000"},
    {"temperature": "hot"}, {"max_tokens": 0}, {"stream": True}, {"n": 3}, {"messages": []}, {"model": "x"},
    {"key": [SECRET]}, {"type": None}, {"name": None}, {"odd": object()}, {"top_p": {1}},
]  # fmt: skip


@pytest.mark.parametrize("fields", BAD_ENTRIES, ids=lambda fields: next(iter(fields)))
def test_what_a_model_cannot_say_is_refused_by_its_name(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        entry(**fields)
    assert next(iter(fields)) in str(refused.value)
    assert SECRET not in str(refused.value)


def test_what_a_model_says_becomes_options_of_the_run() -> None:
    said = entry(
        temperature=0.7, max_tokens=64, img_size=512, img_detail="low", system_prompt="Be brief.", timeout=20,
        retry=3, top_p=0.9, seed=5, extra_body={"x": 1}, odd=2,
    )  # fmt: skip
    assert said == {
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": SECRET,
        "temperature": 0.7,
        "max_tokens": 64,
        "max_side": 512,
        "system": "Be brief.",
        "timeout_s": 20.0,
        "retries": 2,
        "params": {"image_detail": "low", "top_p": 0.9, "seed": 5, "extra_body": {"x": 1, "odd": 2}},
    }


def test_the_task_s_retry_goes_before_the_model_s() -> None:
    assert read(model=[{**ENTRY, "retry": 3}], retry=9).models[0].options["retries"] == 8


@pytest.mark.parametrize("kind", ["o1", "openai/o3-mini", "gpt-5.1", "o4-mini"])
def test_models_that_reason_take_no_temperature(kind: str) -> None:
    said = entry(type=kind, max_tokens=100)
    assert "temperature" not in said
    assert "max_tokens" not in said
    assert said["params"]["max_completion_tokens"] == 100


def test_a_name_that_only_looks_like_one_that_reasons_is_asked_as_usual() -> None:
    assert entry(type="demo1-vl")["temperature"] == 0


@pytest.mark.parametrize("name", ["qwen-vl-chat", "Qwen2-VL-7B-Instruct", "someone/weights"])
def test_models_that_would_have_to_be_started_are_refused_with_the_way_out(name: str) -> None:
    for given_model in (name, {"name": name, "model_path": "weights"}):
        with pytest.raises(UsageError) as refused:
            read(model=[given_model])
        assert repr(name) in refused.value.message
        assert "CustomAPIModel" in refused.value.hint


def test_our_own_names_of_models_are_taken() -> None:
    task = read(model=["baseline/random", {"name": "openai/a/b.c", "api_base": "http://127.0.0.1:9/v1"}])
    assert [(one.spec, one.name) for one in task.models] == [
        ("baseline/random", "random"),
        ("openai/a/b.c", "b_c"),
    ]
    assert task.models[0].options["params"] == {}
    assert "temperature" not in task.models[0].options
    assert task.models[1].options["max_tokens"] == 2048


def test_models_that_are_only_named_are_at_the_base_url() -> None:
    task = read(
        model="org/m.1",
        base_url="http://127.0.0.1:9/v1",
        key=SECRET,
        temperature=0.2,
        top_k=4,
        extra_body='{"a": 1}',
    )
    (model,) = task.models
    assert (model.spec, model.name) == ("openai/org/m.1", "m_1")
    assert model.options["api_key"] == SECRET
    assert (model.options["max_tokens"], model.options["timeout_s"]) == (32768, 1800)
    assert model.options["params"] == {"image_detail": "high", "top_k": 4, "extra_body": {"a": 1}}


def test_two_models_whose_files_would_be_the_same_are_refused() -> None:
    with pytest.raises(UsageError, match="two models have the name 'm'"):
        read(model=[ENTRY, {**ENTRY, "type": "org/m"}])
    with pytest.raises(UsageError, match="two datasets have the name 'mine'"):
        read(data=["mine", "folder/mine.tsv"])


def test_the_keys_of_a_task() -> None:
    task = read(mode="infer", limit="3", reuse=True, nproc=7, keep_failed="true", verbose=1, work_dir="there")
    assert (task.mode, task.reuse, task.keep_failed, task.is_verbose) == ("infer", True, True, True)
    assert dict(task.options) == {"limit": 3, "concurrency": 7}
    assert task.work_dir == "there"
    assert read_task({**config(work_dir="there"), "work_dir": "here"}).work_dir == "here"
    assert read(limit=0).options == {}
    assert task.judging["nproc"] == 7


@pytest.mark.parametrize("name", ["ignore", "thinker", "monitor_interval"])
def test_what_changes_nothing_is_remarked_on(name: str) -> None:
    (note,) = read(**{name: 60 if name == "monitor_interval" else True}).notes
    assert name in note


def test_a_judge() -> None:
    task = read(
        judge="gpt-4o-mini",
        judge_base_url="http://127.0.0.1:9/v1",
        judge_key=SECRET,
        judge_args='{"temperature": 0, "max_tokens": 9}',
        judge_timeout=30,
    )
    assert dict(task.options) == {
        "judge": "openai/gpt-4o-mini",
        "judge_base_url": "http://127.0.0.1:9/v1",
        "judge_api_key": SECRET,
        "judge_params": {"temperature": 0, "max_tokens": 9},
    }
    assert task.judging == {
        "nproc": 4, "verbose": False, "retry": 6, "timeout": 30, "model": "gpt-4o-mini",
        "api_base": "http://127.0.0.1:9/v1", "key": SECRET, "temperature": 0, "max_tokens": 9,
    }  # fmt: skip
    assert any("judge_timeout" in note for note in task.notes)
    assert any("gpt-4o-mini-2024-07-18" in note for note in task.notes)
    assert SECRET not in repr(task)


def test_no_judge_is_asked_unless_one_is_named() -> None:
    assert read(judge="exact_matching").options == {}
    assert read().options == {}
    local = read(OPENAI_API_BASE="http://127.0.0.1:9/v1/chat/completions", LOCAL_LLM="j")
    assert (local.options["judge"], local.options["judge_base_url"]) == ("openai/j", "http://127.0.0.1:9/v1")


def test_keys_of_a_judge_that_is_not_called_are_noted() -> None:
    said = {"judge_base_url": "http://127.0.0.1:9", "judge_key": SECRET, "LOCAL_LLM": "x"}
    task = read(judge="exact_matching", **said)
    assert task.options == {}
    assert [any(name in note for note in task.notes) for name in said] == [True] * 3
    assert SECRET not in str(task.notes)


def test_what_another_key_takes_the_place_of_is_remarked_on_or_refused() -> None:
    (note,) = read(nproc=3, api_nproc=5).notes
    assert "api_nproc" in note
    with pytest.raises(UsageError, match="base_url"):
        read(base_url="http://127.0.0.1:9/v1")
    (note,) = read(judge="j", judge_args={"retry": 3, "temperature": 0}).notes
    assert "judge_args: retry" in note


def test_a_judge_s_verdicts_cannot_be_had_anew_for_replies_that_are_reused() -> None:
    with pytest.raises(UsageError, match="reuse_aux"):
        read(judge="j", reuse=True, reuse_aux="none")
    assert read(reuse=True, reuse_aux=False).reuse


@pytest.mark.parametrize("backend", ["Native", "OpenCompass", "RAGEval", None, "VLMEvalkit"])
def test_other_backends_are_refused_with_what_to_do_instead(backend: str | None) -> None:
    with pytest.raises(UsageError, match="eval_backend") as refused:
        read_task({**config(), "eval_backend": backend})
    assert "VLMEvalKit" in refused.value.hint


def forms(folder: Path) -> dict[str, Any]:
    """One task in all the forms in which it may be given."""
    task = config(limit=2)
    (folder / "task.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    (folder / "task.py").write_text(f"other = {{}}\ntask_cfg = {task!r}\n", encoding="utf-8")
    (folder / "inner.yml").write_text(yaml.safe_dump(task["eval_config"]), encoding="utf-8")
    inner: dict[str, Any] = task["eval_config"]
    return {
        "dict": task,
        "TaskConfig": TaskConfig(**task),
        "TaskConfig of a dict": TaskConfig(task),
        "namespace": argparse.Namespace(**task, limit=None, debug=None),
        "object": SimpleNamespace(**task),
        "yaml": str(folder / "task.yaml"),
        "path": folder / "task.json",
        "python": str(folder / "task.py"),
        "inner file": {**task, "eval_config": str(folder / "inner.yml")},
        "inner text": {**task, "eval_config": json.dumps(inner)},
        "bare names": {**task, "eval_config": {**inner, "data": "mine", "model": inner["model"][0]}},
    }


def test_every_form_says_the_same(tmp_path: Path) -> None:
    first, *others = map(read_task, forms(tmp_path).values())
    for other in others:
        assert (other.models, other.data, other.options) == (first.models, first.data, first.options)


def test_objects_that_remember_what_was_set_say_only_that() -> None:
    class Remembering:
        model_fields_set = {"eval_backend", "eval_config"}  # noqa: RUF012
        eval_backend = "VLMEvalKit"
        eval_config = config()["eval_config"]
        eval_batch_size = 1  # a default that was not set

    assert read_task(Remembering()).data[0].name == "mine"


@pytest.mark.parametrize(
    ("given_task", "says"),
    [
        (3, "int"),
        ("nowhere.yaml", "nowhere.yaml"),
        ("task.txt", "task.txt"),
        ({"eval_backend": "VLMEvalKit"}, "eval_config"),
        ({"eval_backend": "VLMEvalKit", "eval_config": "{"}, "eval_config is not valid JSON"),
        (config(data=[]), "names no data"),
        (config(data=[3]), "data"),
        (config(model=[]), "names no model"),
        (config(model=None), "names no model"),
    ],
)
def test_what_is_no_task_is_refused(given_task: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_task(given_task)


def test_paths_may_be_paths() -> None:
    task = read_task({**config(data=[Path("there") / "mine.tsv"]), "work_dir": Path("here")})
    assert (task.work_dir, task.data[0].name, task.data[0].source) == (
        "here",
        "mine",
        str(Path("there/mine.tsv")),
    )


def test_what_was_given_is_left_as_it_was() -> None:
    task = config(judge_args='{"key": "x"}', judge="j")
    before = json.dumps(task)
    described = read_task(task).described
    assert json.dumps(task) == before
    assert SECRET not in json.dumps(described)
    assert described["eval_config"]["judge_args"] == {"key_env": "JUDGE_API_KEY"}


def test_what_is_written_down_is_the_same_task(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = {"judge": "j", "judge_base_url": "http://127.0.0.1:9/v1", "judge_key": "sk-judge-1"}
    free = {**ENTRY, "type": "other", "key": "EMPTY"}
    task = read_task(config(model=[ENTRY, free], limit=3, allow_private_urls=True, **judge))
    text = yaml.safe_dump(json.loads(json.dumps(task.described)))
    assert not any(key in text for key in (SECRET, "sk-judge-1", "[secret]"))
    written = yaml.safe_load(text)
    _, second = written["eval_config"]["model"]
    assert second["key"] == "EMPTY"
    with pytest.raises(UsageError, match=r"_API_KEY, which is not set") as refused:
        read_task(written)
    assert "export " in refused.value.hint
    first, _ = written["eval_config"]["model"]
    monkeypatch.setenv(first["key_env"], SECRET)
    monkeypatch.setenv(written["eval_config"]["judge_key_env"], "sk-judge-1")
    again = read_task(written)
    assert (again.models, again.options, again.data) == (task.models, task.options, task.data)
    assert again.described == task.described, "and can be written down again"


@pytest.mark.parametrize(
    "inner",
    [
        {"model": [{**ENTRY, "key": "[secret]"}]},
        {"model": {**ENTRY, "extra_body": {"api_key": "[secret]"}}},
        {"model": [{**ENTRY, "api_base": "http://h/v1?k=[secret]"}]},
        {"judge": "j", "judge_key": "[secret]"},
        {"judge": "j", "judge_args": {"key": "[secret]"}},
    ],
)
def test_the_placeholder_of_a_key_is_never_sent(inner: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"holds \[secret\], which stands for a key") as refused:
        read_task(config(**inner))
    assert "key_env: NAME" in refused.value.hint


def test_a_key_of_the_environment_is_written_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", SECRET)
    monkeypatch.setenv("MOTTO", SECRET)
    (entry,) = read_task(config()).described["eval_config"]["model"]
    assert entry["key_env"] == "DASHSCOPE_API_KEY"
    assert "key" not in entry
    with pytest.raises(UsageError, match="key and key_env are both given"):
        read_task(config(model=[{**entry, "key": "x"}]))


def test_a_key_of_the_inner_configuration_is_known_outside() -> None:
    with pytest.raises(UsageError, match="no key 'allow_private_urls'") as refused:
        read_task({**config(), "allow_private_urls": True})
    assert refused.value.hint == "write allow_private_urls inside eval_config"


def test_a_task_config_can_be_read_and_changed() -> None:
    task = TaskConfig(eval_backend="VLMEvalKit", eval_config={"model": [ENTRY], "data": []})
    task.eval_config["data"].append("mine")
    task.work_dir = "there"
    assert (task.seed, task.limit, read_task(task).work_dir) == (42, None, "there")
    assert SECRET not in repr(task)
    with pytest.raises(UsageError, match="eval_confg"):
        TaskConfig(eval_confg={})
    with pytest.raises(AttributeError):
        _ = task.nothing


@pytest.mark.parametrize("name", ["model", "messages", "stream", "n"])
def test_what_only_a_server_knows_replaces_nothing_of_the_request(name: str) -> None:
    extra = {"extra_body": {name: "x"}}
    with pytest.raises(UsageError, match=f"extra_body cannot set {name}"):
        read(model=[{**ENTRY, **extra}])
    with pytest.raises(UsageError, match=f"extra_body cannot set {name}"):
        read(model="m", base_url="http://127.0.0.1:9/v1", **extra)


@pytest.mark.parametrize("seconds", [0, -1.5])
def test_no_time_at_all_is_refused_by_the_key(seconds: float) -> None:
    with pytest.raises(UsageError, match=rf"timeout is {seconds:g}, but must be more"):
        read(model=[{**ENTRY, "timeout": seconds}])
    with pytest.raises(UsageError, match=rf"timeout is {seconds:g}, but must be more"):
        read(model="m", base_url="http://127.0.0.1:9/v1", timeout=seconds)


@pytest.mark.parametrize(
    "said",
    [
        {"extra_body": json.dumps({"api_key": "sk-inner-123456"})},
        {"extra_body": json.dumps({"more": json.dumps({"token": "sk-inner-123456"})})},
        {"of_the_server": "{'api_key': 'sk-inner-123456'}"},
        {"of_the_server": [json.dumps({"password": "sk-inner-123456"})]},
    ],
)
def test_keys_inside_the_texts_of_an_entry_are_not_described(said: dict[str, Any]) -> None:
    given_task = config(model=[{**ENTRY, **said}])
    described = repr(read_task(given_task).described)
    assert "sk-inner-123456" not in described
    assert "[secret]" in described


def test_other_texts_are_described_as_they_are() -> None:
    given_task = config(model=[{**ENTRY, "system_prompt": "{json} only", "extra_body": '{"top_k": 3}'}])
    (entry,) = read_task(given_task).described["eval_config"]["model"]
    assert (entry["system_prompt"], entry["extra_body"]) == ("{json} only", {"top_k": 3})


@pytest.mark.parametrize(("said", "seed"), [({}, 42), ({"seed": 0}, 0), ({"seed": None}, 42)])
def test_a_seed_that_is_not_said_is_the_usual_one(said: dict[str, Any], seed: int) -> None:
    assert read_task({**config(), **said}).seed == seed
