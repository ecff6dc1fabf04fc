"""bench/scale.py: the driver with fake workers, and the planning table that follows from measured costs."""

from __future__ import annotations

import pytest
from scale import Costs, drive, format_plan, predict

COSTS = Costs(
    driver_ms=0.25,
    exchange_ms=0.5,
    ray_ms=0.5,
    ship_ms_per_mb=2.0,
    journal_per_s=20_000,
    journal_bytes=1400,
)


@pytest.mark.slow
def test_the_driver_answers_all_samples_of_many_fake_workers() -> None:
    found = drive(2_000, 100, 0.0)
    assert found.exchanges >= 100
    assert found.cpu_ms > 0
    assert 500 < found.journal_bytes < 5000


def test_the_bottleneck_is_named() -> None:
    assert predict(COSTS, 8, 2.0).bottleneck == "workers"
    assert predict(COSTS, 8, 2.0).per_s == pytest.approx(4.0)
    assert predict(COSTS, 1000, 0.02).bottleneck == "driver CPU"
    assert predict(COSTS, 1000, 0.02).driver_load == pytest.approx(1.0)
    assert predict(COSTS, 1000, 0.2, shipped_mb=1.0).bottleneck == "object store"
    table = format_plan(COSTS)
    assert "| 10,000,000 | 1,000 |" in table
    assert "(driver CPU)" in table
