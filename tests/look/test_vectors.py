"""The look loop against the originals: a spread of vectors of every kind."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from look import adapter
from support import golden

VECTORS = golden.vectors("look", "21acec8")
KINDS = sorted({(line["file"], line["kind"]) for line in VECTORS})


def is_same(got: Any, want: Any) -> bool:
    if isinstance(want, Mapping) and want.keys() == {"any"}:  # pixels that depend on Pillow's version
        return any(is_same(got, one) for one in want["any"])
    if isinstance(want, Mapping):
        return (
            isinstance(got, Mapping)
            and got.keys() == want.keys()
            and all(is_same(got[k], want[k]) for k in want)
        )
    if isinstance(want, list):
        return isinstance(got, list | tuple) and len(got) == len(want) and all(map(is_same, got, want))
    if isinstance(want, float) and got is not None:
        return math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    return bool(got == want)


@pytest.mark.parametrize(("file", "kind"), KINDS)
def test_agrees_with_the_originals(file: str, kind: str) -> None:
    for line in VECTORS:
        if (line["file"], line["kind"]) != (file, kind):
            continue
        if isinstance(line["expected"], dict) and "raises" in line["expected"]:
            with pytest.raises(adapter.REFUSALS):
                getattr(adapter, file)(kind, line["input"])
        else:
            assert is_same(getattr(adapter, file)(kind, line["input"]), line["expected"]), line["input"]
