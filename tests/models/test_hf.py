"""Local weights without torch: what is missing is said. With torch, tests/extras/ covers them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from eyechart.errors import MissingExtra, UsageError
from eyechart.models.hf import HfOptions
from eyechart.models.specs import make_model
from eyechart.runs.models import read_model


@pytest.mark.parametrize("spec", ["hf/org/name", "baseline/tiny-vlm"])
def test_a_missing_torch_is_named_with_its_extra(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra) as caught:
        make_model(spec)
    assert spec in caught.value.message
    assert caught.value.hint == "pip install 'eyechart[hf]'"


def test_the_weights_of_tiny_vlm_come_with_the_package() -> None:
    import eyechart.baselines

    folder = Path(eyechart.baselines.__file__).parent / "tiny_vlm"
    assert (folder / "config.json").is_file()
    assert 3e6 < (folder / "model.safetensors").stat().st_size < 10e6


def test_parameters_are_checked() -> None:
    read = HfOptions.read({"processor": {"max_pixels": 100}, "temperature": 0.5}, who="hf/x")
    assert read.processor == {"max_pixels": 100}
    with pytest.raises(UsageError, match="no parameter 'max_token'"):
        HfOptions.read({"max_token": 5}, who="hf/x")
    with pytest.raises(UsageError, match="dtype"):
        HfOptions.read({"dtype": "int3"}, who="hf/x")


def test_local_weights_take_parameters_but_no_address() -> None:
    assert not read_model("hf/weights,dtype=float32").takes_address
    assert not read_model("baseline/tiny-vlm").is_baseline
    assert read_model("baseline/look").is_baseline
