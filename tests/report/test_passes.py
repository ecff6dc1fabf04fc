"""Every exporter reads the rows of one trial at a time, and those twice at most."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.registry import exporters
from eyechart.types import Result
from support.results import export_of, result

N_TRIALS = 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evalscope", "infochartqa", "insight-o3", "mmbench", "multi", "vlmevalkit"])
def test_passes(tmp_path: Path, name: str) -> None:
    results = [result(position, trial=trial) for position in range(3) for trial in range(N_TRIALS)]
    export = export_of(tmp_path, results, trials=N_TRIALS, model="openai/m", origin="mine.tsv")
    passes: Counter[int | None] = Counter()

    def read(trial: int | None = None) -> Iterable[Result]:
        passes[trial] += 1
        return export.results(trial)

    assert exporters.get(name)(replace(export, results=read))
    assert set(passes) == set(range(N_TRIALS))
    assert max(passes.values()) <= 2
