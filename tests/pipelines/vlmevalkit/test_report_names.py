"""Names of files, made of names from outside."""

from pathlib import Path

import pytest

from eyechart.pipelines.vlmevalkit.report import judge_name, model_name, set_name


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("hf/Org/Some Model.v2/", "Some_Model_v2"),
        ("baseline/..", "__"),
        ("", "model"),
        ("a/b\\..\\c", "b____c"),
    ],
)
def test_models_make_file_names(model: str, name: str) -> None:
    assert model_name(model) == name
    assert Path(name).name == name


def test_sets_make_file_names() -> None:
    assert set_name({"origin": "MMBench_TEST_CN"}) == "MMBench_TEST_CN"
    assert set_name({"origin": "hf:Org/Name", "benchmark": "x"}) == "Name"
    assert set_name({"benchmark": "a b/../c"}) == "a_b_.._c"
    assert set_name({}) == "data"
    assert judge_name({}) == judge_name({"judge": None}) == "exact_matching"
