"""Names of files, made of names from outside."""

from pathlib import Path

import pytest

from eyechart.pipelines.vlmevalkit.report import format_judge_name, format_model_name, format_set_name


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
    assert format_model_name(model) == name
    assert Path(name).name == name


def test_sets_make_file_names() -> None:
    assert format_set_name({"origin": "MMBench_TEST_CN"}) == "MMBench_TEST_CN"
    assert format_set_name({"origin": "hf:Org/Name", "benchmark": "x"}) == "Name"
    assert format_set_name({"benchmark": "a b/../c"}) == "a_b_.._c"
    assert format_set_name({}) == "data"
    assert format_judge_name({}) == format_judge_name({"judge": None}) == "exact_matching"
