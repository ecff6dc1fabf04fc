"""Whom MULTI's arguments mean, and with what an evaluator class is made."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.models.specs import make_model
from eyechart.pipelines.multi.arguments import MultiArguments
from eyechart.pipelines.multi.models import LOCAL, OPENAI_URL, SERVED, choose_model, describe_models
from eyechart.runs.options import Options
from eyechart.types import ModelSettings, read_capabilities

CLASSES = """
class Answers:
    def generate_answer(self, question):
        return question | {"prediction": "A"}

class Plain(Answers):
    pass

class Local(Answers):
    def __init__(self, path, device_map="cpu"):
        self.path = path

class Device(Answers):
    def __init__(self, device_map):
        self.device_map = device_map

class Remote(Answers):
    def __init__(self, api_key, api_url, model):
        self.model = model

class Several(Answers):
    max_concurrency = 3

class Any(Answers):
    def __init__(self, **kwargs):
        self.kwargs = kwargs

ready = Plain()
"""

LOUD = """
with open("loaded.txt", "a") as log:
    log.write("x")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mine.py").write_text(CLASSES, encoding="utf-8")
    return tmp_path


def chosen(**said: Any) -> Any:
    return choose_model(MultiArguments.of(said))


@pytest.mark.parametrize(
    ("said", "spec", "options"),
    [
        ({"model_version": "qwen", "api_url": "http://a/v1"}, "openai/qwen", {"base_url": "http://a/v1"}),
        ({"model": "openai/Qwen/Q-7B", "api_key": "sk-1"}, "openai/Qwen/Q-7B", {"api_key": "sk-1"}),
        ({"model": "openai/q", "model_version": "q"}, "openai/q", {}),
        ({"model": "openai-compatible", "model_version": "q", "api_key": "k"}, "openai/q", {"api_key": "k"}),
        ({"model": "GPT-4o"}, "openai/gpt-4o-2024-08-06", {}),
        ({"model": "gpt-4o", "model_version": "gpt-4.1"}, "openai/gpt-4.1", {}),
        (
            {"model": "claude", "api_url": "http://a"},
            "openai/claude-3-opus-20240229",
            {"base_url": "http://a"},
        ),
    ],
)
def test_endpoints_are_asked_with_a_system_message(
    said: dict[str, Any], spec: str, options: dict[str, Any]
) -> None:
    found = chosen(**said)
    assert (found.spec, found.options, found.split_sys) == (spec, options, True)
    assert found.name == spec.removeprefix("openai/")


@pytest.mark.parametrize(
    ("said", "params"),
    [
        ({"model": "Plain"}, {}),
        ({"model": "ready"}, {}),
        ({"model": "Device"}, {"device_map": "auto"}),
        ({"model": "Device", "cuda_device": "0,1"}, {"device_map": "0,1"}),
        ({"model": "Local", "model_dir": "w"}, {"path": "w", "device_map": "auto"}),
        ({"model": "Any"}, {"device_map": "auto"}),
        ({"model": "Any", "model_dir": "w"}, {"model_dir": "w", "device_map": "auto"}),
        (
            {"model": "Remote", "model_version": "v", "api_key": "sk-1"},
            {"api_key": "sk-1", "api_url": OPENAI_URL, "model": "v"},
        ),
        (
            {"model": "Any", "model_version": "v", "api_url": "http://a"},
            {"api_url": "http://a", "model": "v", "api_key": None},
        ),
    ],
)
def test_a_class_is_made_as_published(said: dict[str, Any], params: dict[str, Any]) -> None:
    found = chosen(**{**said, "model": f"python:mine.py:{said['model']}"})
    assert {**found.params, **found.secrets} == params
    assert "api_key" not in found.params
    assert not found.split_sys
    assert found.name == said.get("model_version", said["model"])


def test_a_file_is_loaded_once_and_the_model_is_known_by_its_arguments(here: Path) -> None:
    (here / "slow.py").write_text(CLASSES + LOUD, encoding="utf-8")
    found = chosen(model="python:slow.py:Local", model_dir="w")
    model = found.model(Options())
    assert not isinstance(model, str)
    assert (model.name, model.identity["path"]) == ("python:slow.py:Local", "w")
    assert (here / "loaded.txt").read_text(encoding="utf-8") == "x"
    by_spec = make_model("python:slow.py:Local", ModelSettings(parameters=found.params))
    assert by_spec.identity == model.identity


def test_copies_are_known_as_their_class_is() -> None:
    said = {"model": "python:mine.py:Remote", "model_version": "v", "api_key": "k"}
    one, four = (chosen(**said, num_workers=n).model(Options(concurrency=n)) for n in (1, 4))
    said["api_key"] = "another"
    other = chosen(**said).model(Options())
    assert one.identity == four.identity == other.identity
    assert len(one.identity["source_sha256"]) == 64
    assert one.identity["source_sha256"] != hashlib.sha256(b"").hexdigest()
    assert [read_capabilities(model).max_concurrency for model in (one, four)] == [1, 4]


@pytest.mark.parametrize(
    ("name", "said", "n_copies", "words"),
    [
        ("Several", {"num_workers": 3}, 1, ""),
        ("Several", {"num_workers": 4}, 1, "allows 3 at a time"),
        ("Plain", {"num_workers": 4}, 1, "one question at a time, as published"),
        ("Plain", {}, 1, ""),
        ("Any", {"num_workers": 4, "model_version": "v"}, 4, "that many copies"),
        ("Any", {"num_workers": 4, "model_version": "v", "model_dir": "w"}, 1, "one question at a time"),
    ],
)
def test_how_many_are_asked_at_once_is_told(
    name: str, said: dict[str, Any], n_copies: int, words: str
) -> None:
    found = chosen(model=f"python:mine.py:{name}", **said)
    assert found.n_copies == n_copies
    assert words in " ".join(found.notes)
    assert bool(found.notes) == bool(words)


def test_the_key_of_a_class_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://b/v1")
    found = chosen(model="python:mine.py:Remote", model_version="v")
    assert found.params == {"api_url": "http://b/v1", "model": "v"}
    assert found.secrets == {"api_key": "sk-env"}
    assert "sk-env" not in repr(found)


def test_with_weights_a_version_only_names_the_run() -> None:
    found = chosen(model="python:mine.py:Local", model_dir="w", model_version="v2")
    assert (found.name, found.params) == ("v2", {"path": "w", "device_map": "auto"})
    assert "only names the run" in found.notes[0]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "no model given"),
        ({"api_url": "http://a"}, "no model given"),
        ({"model": "openai/a", "model_version": "b"}, "name two models"),
        ({"model": "gpt-4p"}, "did you mean gpt or gpt-4o"),
        ({"model": "nobody"}, "not in the original's list"),
        ({"model": "gpt", "input_type": 2}, "gpt does not take --input_type 2"),
        ({"model": "gpt-4v"}, "it takes: 2"),
        ({"model": "claude"}, "OpenAI-compatible URL with --api_url"),
        ({"model": "gpt-4o", "model_dir": "w"}, "--model_dir does not apply"),
        ({"model": "openai/a", "cuda_device": "0"}, "--cuda_device does not apply"),
        ({"model": "baseline/random", "api_key": "k"}, "--api_key does not apply"),
        ({"model": "gpt-4o", "use_modelscope": True}, "--use_modelscope chooses"),
        ({"model_version": "v", "use_modelscope": True}, "--use_modelscope chooses"),
        ({"model": "python:mine.py:Plain", "model_dir": "w"}, "--model_dir cannot be passed to"),
        ({"model": "python:mine.py:Plain", "cuda_device": "1"}, "--cuda_device cannot be passed to"),
        ({"model": "python:mine.py:Local", "api_key": "k", "model_dir": "w"}, "--api_key cannot"),
        ({"model": "python:mine.py:Device", "model_dir": "w"}, "--model_dir cannot be passed"),
        ({"model": "python:mine.py:Device", "model_version": "v"}, "--model_version cannot be passed"),
        ({"model": "python:mine.py:None_"}, "has no 'None_'"),
        ({"model": "python:gone.py:X"}, "no such file: gone.py"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(said: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        chosen(**said)


def test_local_names_run_in_the_originals_classes_or_by_their_weights(here: Path) -> None:
    with pytest.raises(UsageError, match=r"not at models/qwen2vl_hf\.py") as refusal:
        chosen(model="qwen2-vl")
    assert "python:file.py:XEvaluator --set split_sys=true" in refusal.value.hint
    assert "--model_dir FOLDER" in refusal.value.hint
    weights = chosen(model="qwen2-vl", model_dir="w", cuda_device="cuda:1")
    assert (weights.spec, weights.name, weights.split_sys) == ("hf/w", "qwen2-vl", True)
    assert weights.options == {"params": {"device": "cuda:1"}}
    with pytest.raises(UsageError, match="not at models/qwen2_hf"):  # it takes no images
        chosen(model="qwen2", model_dir="w", input_type=0)
    (here / "models").mkdir()
    (here / "models" / "qwen2vl_hf.py").write_text(
        CLASSES.replace("class Local", "class Qwen2VLEvaluator"), encoding="utf-8"
    )
    found = chosen(model="qwen2-vl", model_dir="w")
    assert (found.spec, found.name, found.split_sys) == (
        "python:models/qwen2vl_hf.py:Qwen2VLEvaluator",
        "qwen2-vl",
        True,
    )
    assert found.params == {"path": "w", "device_map": "auto"}
    with pytest.raises(UsageError, match=r"models/qwen2vl\.py"):
        chosen(model="qwen2-vl", use_modelscope=True)


def test_the_list_names_every_model() -> None:
    text = "\n".join(describe_models())
    assert all(f"  {name} " in text for name in (*SERVED, *LOCAL))


ARGS = """
import argparse
import nothing_of_this_name

NOT_A_LIST = {"a": 1}
model_list = {
    "gpt-4o": {"model_type": "api", "executor": "gpt", "evaluator": "GPTEvaluator", "split_sys": True},
    "qwen-vl": {"model_type": "local", "support_input": [0, 1, 2], "executor": "qwen", "evaluator": "Device"},
    "MyModel": {
        "model_type": "local",
        "support_input": [0, 2, 3],
        "executor": "mymodel",
        "evaluator": "Local",
        "split_sys": True,
    },
    "made": dict(executor="mymodel", evaluator="Local"),
    "bad": {"executor": "../mymodel", "evaluator": "Local"},
}
model_list["later"] = {
    "model_type": "api", "avail_model": ["v1", "v2"], "executor": "mymodel", "evaluator": "Remote"
}
open("executed.txt", "w").write("x")


def parse_args_for_eval():
    return argparse.ArgumentParser().parse_args()
"""


@pytest.mark.parametrize(
    ("args", "start"), [("eval/args.py", "eval"), ("eval/args.py", "eval/models"), ("eval/args.py", ".")]
)
def test_an_evaluator_that_is_listed_in_args_py_is_found(
    here: Path, monkeypatch: pytest.MonkeyPatch, args: str, start: str
) -> None:
    (here / "eval" / "models").mkdir(parents=True)
    (here / args).write_text(ARGS, encoding="utf-8")
    for name in ("mymodel.py", "qwen_hf.py"):
        (here / "eval" / "models" / name).write_text(CLASSES, encoding="utf-8")
    monkeypatch.chdir(here / start)
    mine = choose_model(MultiArguments(model="MyModel", model_dir="weights"))
    assert (mine.name, mine.split_sys, dict(mine.params)) == (
        "MyModel", True, {"path": "weights", "device_map": "auto"},
    )  # fmt: skip
    assert mine.spec.endswith("models/mymodel.py:Local")
    later = choose_model(MultiArguments(model="later", api_key="k"))
    assert (later.name, later.params["model"]) == ("v1", "v1")
    assert choose_model(MultiArguments(model="later", model_version="v9")).params["model"] == "v9"
    theirs = choose_model(MultiArguments(model="qwen-vl"))
    assert theirs.spec.endswith("models/qwen_hf.py:Device"), (
        "their own list counts, not ours of another version"
    )
    assert choose_model(MultiArguments(model="gpt-4o")).spec.startswith("openai/")
    with pytest.raises(UsageError, match="does not take --input_type 1"):
        choose_model(MultiArguments(model="MyModel", model_dir="w", input_type=1, caption_file="c.csv"))
    with pytest.raises(UsageError, match="'bad'") as caught:
        choose_model(MultiArguments(model="bad"))
    assert '"executor": "mymodel"' in caught.value.hint
    with pytest.raises(UsageError, match="MyModle"):
        choose_model(MultiArguments(model="MyModle"))
    assert "MyModel" in "\n".join(describe_models())
    assert not list(here.rglob("executed.txt")), "the file is read, not run"


@pytest.mark.parametrize("text", ["", "def (", "model_list = 7", "\0", "model_list = {'x': {**y}}"])
def test_an_args_py_of_another_kind_is_no_list(here: Path, text: str) -> None:
    (here / "args.py").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="not in the original's list") as caught:
        choose_model(MultiArguments(model="mymodel"))
    assert "args.py" in caught.value.hint


def test_a_name_whose_class_is_not_here_is_met_with_every_way() -> None:
    with pytest.raises(UsageError, match=r"which is not at models/moss_hf\.py") as caught:
        chosen(model="moss")
    assert "-v NAME --api_url URL" in caught.value.hint
    assert "folder eval of the authors' repository" in caught.value.hint
    assert "--model_dir" not in caught.value.hint  # it takes no images
    [told] = chosen(model="qwen-vl", model_dir="w").notes
    assert "extra hf" in told
