"""Models with an address, a key and parameters of their own: one command compares two servers."""

from __future__ import annotations

import base64
import io
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import eyechart as ec
from eyechart.errors import UsageError
from eyechart.runs.models import ModelChoice, choose_models, read_model
from eyechart.runs.options import Options
from support.command import Outcome, eyechart
from support.files import choice_tsv, jsonl, picture
from support.runs import right
from support.server import Asked, Server

A, B = "http://a:8000/v1", "http://b:8000/v1"


def addresses(models: list[Any], **options: Any) -> list[Any]:
    return [one.base_url for _, one in choose_models(models, options)]


@pytest.mark.parametrize(
    ("given", "model", "own"),
    [
        ("openai/m", "openai/m", {}),
        (f"openai/m@{A}", "openai/m", {"base_url": A}),
        (f"openai/m@{A}@{B}", "openai/m", {"base_url": [A, B]}),
        (f"openai/m@2025-08@{A},seed=1", "openai/m@2025-08", {"base_url": A, "seed": "1"}),
        ("openai/m@latest", "openai/m@latest", {}),
        ("openai/a,b", "openai/a,b", {}),
        ("openai/m,endpoint_name=8,api_key_env=K", "openai/m", {"endpoint_name": "8", "api_key_env": "K"}),
        (
            'openai/m,stop=["x","y"],extra_body.k=1',
            "openai/m",
            {"params": {"stop": ["x", "y"], "extra_body": {"k": 1}}},
        ),
        (
            "python:a.py:C,device=cpu,timeout=9",
            "python:a.py:C",
            {"timeout_s": "9", "params": {"device": "cpu"}},
        ),
        (
            {"name": f"openai/m@{A}", "temperature": 0, "top_p": 0.5, "params": {"top_k": 3}},
            "openai/m",
            {"base_url": A, "temperature": 0, "params": {"top_p": 0.5, "top_k": 3}},
        ),
        ({"name": "openai/m", "base-url": [A, B]}, "openai/m", {"base_url": [A, B]}),
        (
            "openai/m,max_pixels=1638400,top_p=1",
            "openai/m",
            {"max_pixels": "1638400", "params": {"top_p": 1}},
        ),
        ({"name": "openai/m", "max-side": 900}, "openai/m", {"max_side": 900}),
    ],
)
def test_a_model_carries_what_is_its_own(given: Any, model: str, own: dict[str, Any]) -> None:
    assert read_model(given) == ModelChoice(model, own)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"base_url": A}, "has no name"),
        ({"name": 3}, "has no name"),
        (f"openai/m@{A},base_url={B}", "base_url is given twice"),
        ({"name": f"openai/m@{A}", "base_url": B}, "base_url is given twice"),
        ("openai/m,seed=1,seed=2", "seed is given twice"),
        ("openai/m,limit=3", "limit applies to the whole run"),
        ({"name": "openai/m", "trials": 3}, "trials applies to the whole run"),
        ("openai/m,api_key=sk-123", "a key does not belong"),
        (f"openai/m@{A},temperature=hot", "temperature is 'hot', but must be a number"),
        ("openai/m@http://me:pw@a/v1", "holds a password"),
        (f"baseline/random@{A}", "takes no base_url"),
        ("python:a.py:C,api_key_env=K", "takes no api_key_env"),
        ("openai/m,max_pixels=many", "max_pixels is 'many'"),
        ("openai/m,max_pixels=0", "max_pixels is 0"),
    ],
)
def test_what_a_model_cannot_carry_is_refused_with_a_hint(given: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_models([given], {})
    assert said in caught.value.message
    assert "sk-123" not in f"{caught.value.message}{caught.value.hint}"


plain = st.text(st.characters(codec="ascii", exclude_characters=",@=/ ", categories=["L", "N"]), min_size=1)


@given(plain, st.lists(plain.map(lambda host: f"http://{host.lower()}:80/v1"), max_size=3), st.dictionaries(
    plain.filter(str.isidentifier).map(lambda name: f"x_{name}"), st.integers(), max_size=3))  # fmt: skip
def test_what_is_written_behind_a_name_is_read_back(
    name: str, places: list[str], params: dict[str, int]
) -> None:
    written = f"openai/{name}" + "".join(f"@{place}" for place in places)
    choice = read_model(written + "".join(f",{key}={value}" for key, value in params.items()))
    assert choice.model == f"openai/{name}"
    assert choice.own.get("params", {}) == params
    found = choice.own.get("base_url", [])
    assert ([found] if isinstance(found, str) else found) == places


@given(st.text())
def test_any_text_is_a_model_or_refused(text: str) -> None:
    try:
        choice = read_model(text)
    except UsageError:
        return
    assert text.startswith(str(choice.model))
    if "@http" not in text.lower() and "," not in text:
        assert choice == ModelChoice(text)


def test_several_models_and_as_many_addresses_are_pairs() -> None:
    assert addresses(["openai/m1", "openai/m2"], base_url=[A, B]) == [A, B]
    assert addresses(["openai/m1", "baseline/random", "openai/m2"], base_url=[A, B])[::2] == [A, B]


def test_several_addresses_and_one_model_share_the_load() -> None:
    assert addresses(["openai/m"], base_url=[A, B]) == [(A, B)]
    assert addresses(["baseline/random", "openai/m"], base_url=[A, B])[1] == (A, B)
    assert addresses([f"openai/m1@{A}", "openai/m2"], base_url=[B, "http://c/v1"]) == [A, (B, "http://c/v1")]
    assert addresses([f"openai/m1@{A}@{B}", "openai/m2"], base_url=B) == [(A, B), B]


def test_models_share_one_address() -> None:
    assert addresses(["openai/m1", "openai/m2"], base_url=A) == [A, A]


def test_a_number_of_addresses_that_fits_no_model_is_refused() -> None:
    with pytest.raises(UsageError, match="3 models and 2 URLs") as caught:
        addresses(["openai/m1", "openai/m2", "openai/m3"], base_url=[A, B])
    assert f"-m openai/m1@{A} -m openai/m2@{B}" in caught.value.hint


@pytest.mark.parametrize(
    ("models", "options"),
    [
        (["baseline/random"], {"base_url": A}),
        (["baseline/random", "python:a.py:C"], {"api_key": "k"}),
        (["baseline/random"], {"endpoint_name": "lab"}),
        (["baseline/random", "baseline/majority"], {"temperature": 0}),
        (["baseline/random"], {"max_tokens": 9}),
        ([f"openai/m1@{A}", f"openai/m2@{B}"], {"base_url": A}),
        (["openai/m,temperature=1"], {"temperature": 0}),
    ],
)
def test_an_option_that_no_model_can_use_is_refused(models: list[str], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(options))} has no effect") as caught:
        choose_models(models, options)
    assert f"--{next(iter(options)).replace('_', '-')}" in caught.value.hint


def test_a_model_of_its_own_options_leaves_the_others_alone() -> None:
    chosen = choose_models(
        ["openai/m1", f"openai/m2@{A},temperature=0.5,top_k=1,rpm=60"],
        {"temperature": 0, "params": {"top_p": 0.9, "top_k": 5}, "base_url": B, "limit": 3},
    )
    first, second = (options for _, options in chosen)
    assert first == Options(temperature=0, params={"top_p": 0.9, "top_k": 5}, base_url=B, limit=3)
    assert second == Options(temperature=0.5, params={"top_p": 0.9, "top_k": 1}, base_url=A, limit=3, rpm=60)


def two_servers(stack: ExitStack) -> tuple[Server, Server]:
    """One says A, which is right in a quarter; the other knows all of `choice_tsv`."""
    return stack.enter_context(Server(lambda asked: "A")), stack.enter_context(Server(right))


def scores(done: Outcome) -> dict[str, float]:
    assert done.code == 0, done.err
    return {run["model"]: run["score"] for run in done.json["runs"]}


@pytest.mark.parametrize("how", ["pairs", "own", "yaml", "json top level"])
def test_one_command_compares_two_servers(tmp_path: Path, how: str) -> None:
    choice_tsv(tmp_path / "q.tsv", 8)
    with ExitStack() as stack:
        poor, good = (server.base_url for server in two_servers(stack))
        models = [{"name": "openai/m1", "base_url": poor}, {"name": "openai/m2", "base_url": good}]
        (tmp_path / "own.yaml").write_text(json.dumps({"source": "q.tsv", "models": models}))
        (tmp_path / "top.json").write_text(
            json.dumps({"source": "q.tsv", "models": ["openai/m1", "openai/m2"], "base_url": [poor, good]})
        )
        arguments = {
            "pairs": ("q.tsv", "-m", "openai/m1", "-m", "openai/m2", "--base-url", poor, "--base-url", good),
            "own": ("q.tsv", "-m", f"openai/m1@{poor}", "-m", f"openai/m2@{good}"),
            "yaml": ("own.yaml",),
            "json top level": ("top.json",),
        }[how]
        done = eyechart("run", *arguments, "--json", "-q", "--no-cache", cwd=tmp_path)
        assert scores(done) == {"openai/m1": 0.25, "openai/m2": 1.0}
        assert f"openai/m1 at {poor}; openai/m2 at {good}" in done.err


def test_a_model_sends_its_own_key_and_parameters(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    with Server() as first, Server() as second:
        config = {
            "source": "q.tsv",
            "temperature": 0,
            "models": [
                f"openai/m1@{first.base_url},api_key_env=FIRST",
                {"name": "openai/m2", "base_url": second.base_url, "api_key_env": "SECOND",
                 "temperature": 1, "params": {"top_p": 0.5}},
            ],
        }  # fmt: skip
        (tmp_path / "two.yaml").write_text(json.dumps(config))
        keys = {"FIRST": "sk-first", "SECOND": "sk-second"}
        assert eyechart("run", "two.yaml", "-q", cwd=tmp_path, **keys).code == 0
    [one], [two] = first.asked, second.asked
    assert one.headers["Authorization"] == "Bearer sk-first"
    assert two.headers["Authorization"] == "Bearer sk-second"
    assert (one.body["temperature"], two.body["temperature"], two.body["top_p"]) == (0, 1, 0.5)
    assert "top_p" not in one.body
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"sk-" not in path.read_bytes(), path


def test_a_key_that_the_environment_does_not_hold_is_named(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    done = eyechart("run", "q.tsv", "-m", f"openai/m@{A},api_key_env=NOWHERE", cwd=tmp_path)
    assert done.code == 2
    assert "the environment variable NOWHERE is not set" in done.err
    dry = eyechart("run", "q.tsv", "-m", f"openai/m@{A},api_key_env=NOWHERE", "--dry-run", cwd=tmp_path)
    assert dry.code == 0, dry.err


def test_keys_in_a_file_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    model = {"name": "openai/m", "base_url": A}
    for config in (
        {"model": {**model, "api_key": "sk-1"}},
        {"models": ["openai/x", {**model, "api-key": "sk-1"}]},
        {"model": "openai/m", "judge": {"name": "openai/j", "api_key": "sk-1"}},
    ):
        (tmp_path / "c.yaml").write_text(json.dumps({"source": "q.tsv", **config}))
        done = eyechart("run", "c.yaml", cwd=tmp_path)
        assert done.code == 2
        assert "c.yaml holds an API key" in done.err
        assert "api_key_env" in done.err


def test_python_takes_a_mapping_or_a_text(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 4)
    with Server() as server:
        for model in ({"name": "openai/m", "base_url": server.base_url}, f"openai/m@{server.base_url}"):
            done = ec.run(file, model=model, out=tmp_path / "runs", progress=False, cache=False)
            assert done.score == 0.25
        assert len(server.asked) == 4
    assert ec.estimate(file, model=f"openai/m@{A}", progress=False).requests == 4


def test_the_same_model_elsewhere_is_the_same_model_under_the_name_of_its_endpoint(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 4)
    asked = ("run", "q.tsv", "--json", "-q", "--no-cache", "-m")
    with Server() as first:
        old = eyechart(*asked, "openai/m", "--base-url", first.base_url, cwd=tmp_path).json["run"]
        named = eyechart(
            *asked, "openai/m", "--base-url", first.base_url, "--endpoint-name", "lab", cwd=tmp_path
        ).json["run"]
        assert old != named
        assert len(first.asked) == 8
    with Server() as second, Server() as third:
        for model in (
            ("openai/m", "--base-url", second.base_url, "--endpoint-name", "lab"),
            (f"openai/m@{second.base_url},endpoint_name=lab",),
            (f"openai/m@{second.base_url}@{third.base_url},endpoint_name=lab",),
        ):
            assert eyechart(*asked, *model, cwd=tmp_path).json["run"] == named
        # A run from before there was a name goes on under its address.
        again = eyechart(
            *asked, f"openai/m@{second.base_url},endpoint_name={first.base_url}", cwd=tmp_path
        ).json["run"]
        assert again == old
        assert not second.asked
        assert not third.asked


def test_the_cache_knows_an_endpoint_by_its_name(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 4)
    asked = ("run", "q.tsv", "--json", "-q", "--endpoint-name", "lab", "-m")
    with Server() as first, Server() as second:
        for server, out in ((first, "one"), (second, "two")):
            done = eyechart(*asked, f"openai/m@{server.base_url}", "--out", out, cwd=tmp_path)
            assert done.json["score"] == 0.25
        assert (len(first.asked), len(second.asked)) == (4, 0)


def test_one_endpoint_name_is_not_two_models(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    done = eyechart(
        "run", "q.tsv", "-m", f"openai/m@{A}", "-m", f"openai/m@{B}", "--endpoint-name", "lab", cwd=tmp_path
    )
    assert done.code == 2
    assert "different URLs, but the same endpoint name" in done.err


@pytest.mark.parametrize("how", ["text", "mapping"])
def test_a_judge_carries_its_own_too(tmp_path: Path, how: str) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server(lambda asked: "hm") as server, Server() as judge:
        name: Any = f"openai/j@{judge.base_url},temperature=0,endpoint_name=judge"
        if how == "mapping":
            name = {
                "name": "openai/j",
                "base_url": judge.base_url,
                "temperature": 0,
                "endpoint_name": "judge",
            }
        config = {"source": "q.tsv", "model": f"openai/m@{server.base_url}", "judge": name}
        (tmp_path / "c.yaml").write_text(json.dumps(config))
        done = eyechart("run", "c.yaml", "--json", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    assert {one.body["temperature"] for one in judge.asked} == {0}
    assert len(server.asked) == 2
    manifest = ec.Run(tmp_path / done.json["run"]).manifest
    assert manifest["judge"]["identity"]["endpoint"] == "judge"


def test_the_command_line_wins_over_the_file_name_by_name(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 4)
    with Server() as server:
        config = {
            "source": "q.tsv",
            "model": {"name": "openai/m", "base_url": A, "endpoint_name": "lab", "temperature": 1,
                      "params": {"top_p": 0.1, "top_k": 1}},
            "params": {"min_p": 0.1},
            "where": {"category": "even"},
        }  # fmt: skip
        (tmp_path / "c.yaml").write_text(json.dumps(config))
        flags = ("--base-url", server.base_url, "--temperature", "0", "--param", "top_p=0.5", "--limit", "1")
        done = eyechart("run", "c.yaml", *flags, "--json", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    [asked] = server.asked
    sent = {name: asked.body[name] for name in ("temperature", "top_p", "top_k", "min_p")}
    assert sent == {"temperature": 0, "top_p": 0.5, "top_k": 1, "min_p": 0.1}


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        (("--trials", "2"), {"trials": 2}),
        (("--fresh",), {"fresh": True}),
        (("--no-cache",), {"no_cache": True}),
        (("--no-cache",), {"cache": False}),
        (("--dry-run",), {"dry-run": True}),
        (("--allow-private-urls",), {"allow_private_urls": True}),
        (("--no-urls",), {"no_urls": True}),
        (("--no-adapt",), {"no-adapt": True}),
        (("--quiet",), {"quiet": True}),
        (("--verbose",), {"verbose": True}),
        (("--endpoint-name", "lab"), {"endpoint_name": "lab"}),
    ],
)
def test_every_flag_works_beside_a_file_and_in_it(
    tmp_path: Path, flag: tuple[str, ...], key: dict[str, Any]
) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server() as server:
        plain = {"source": "q.tsv", "model": "openai/m", "base_url": server.base_url}
        (tmp_path / "plain.yaml").write_text(json.dumps(plain))
        (tmp_path / "said.yaml").write_text(json.dumps({**plain, **key}))
        beside = eyechart("run", "plain.yaml", *flag, "--json", "--out", "beside", cwd=tmp_path)
        n_beside = len(server.asked)
        inside = eyechart("run", "said.yaml", "--json", "--out", "inside", "--no-cache", cwd=tmp_path)
        assert (beside.code, inside.code) == (0, 0), beside.err + inside.err
        assert len(server.asked) == 2 * n_beside
        assert beside.json.get("score") == inside.json.get("score")


def test_a_model_has_its_own_limit_of_pixels(tmp_path: Path) -> None:
    """One command asks some models with smaller images; a model's run is that of the option for all."""
    jsonl(
        tmp_path / "x.jsonl",
        [{"image": "a.png", "question": "Which?", "options": "A. x\nB. y", "answer": "B"}],
    )
    (tmp_path / "a.png").write_bytes(picture(size=(400, 300)))
    with Server(lambda asked: "B") as server:
        base = ["run", "x.jsonl", "--as", "vstar", "--base-url", server.base_url, "-q", "--parity"]
        base += ["--judge", "openai/j", "--judge-base-url", server.base_url]
        own = ["-m", "openai/small,max_pixels=1200", "-m", "openai/large"]
        assert eyechart(*base, *own, cwd=tmp_path).code == 0
        sizes = {asked.body["model"]: find_size(asked) for asked in server.asked}
        assert sizes == {"small": (40, 30), "large": (400, 300)}
        n_asked = len(server.asked)
        again = eyechart(*base, "-m", "openai/small", "--max-pixels", "1200", cwd=tmp_path)
        assert (again.code, len(server.asked)) == (0, n_asked)
        assert len(list((tmp_path / "runs" / "vstar").iterdir())) == 2
        every = eyechart(*base, "-m", "openai/small,max_pixels=1200", "--max-pixels", "300", cwd=tmp_path)
    assert every.code == 2
    assert "max_pixels has no effect: every model has its own" in every.err


def find_size(asked: Asked) -> tuple[int, int]:
    [image, _] = asked.body["messages"][0]["content"]
    return Image.open(io.BytesIO(base64.b64decode(image["image_url"]["url"].partition(",")[2]))).size
