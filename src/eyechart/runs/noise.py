"""The noise behind a comparison, from the rechecks that its runs have stored."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.option import list_options
from eyechart.report.compare import RIGHT, Comparison
from eyechart.report.conditions import read_options
from eyechart.report.counting import compute_credit
from eyechart.report.noise import FlipRate, Noise
from eyechart.runs.options import Options
from eyechart.runs.recheck import LOAD, RECHECKS, list_names
from eyechart.runs.results import Run

_SHOWN = ("data", "request", "score")  # options of the command that rechecks
_USUAL = 100  # rechecked questions


def measure_noise(comparison: Comparison) -> Noise:
    """The flips of the first pair beside those expected of one model asked twice."""
    pair = comparison.pairs[0]
    runs = [Run(folder) for folder in (pair.a, pair.b)]
    flips: list[tuple[str, bool]] = []
    others: dict[int, list[bool]] = {}
    for run in runs:
        for concurrency in run.journal.meta(RECHECKS) or ():
            found = _list_flips(run, comparison.scorer, int(concurrency))
            if concurrency == run.journal.meta(LOAD):
                flips += found
            else:
                others.setdefault(int(concurrency), []).extend(is_flipped for _, is_flipped in found)
    if not flips:
        raise UsageError(
            "no recheck at the concurrency of these runs is stored, so their noise is not known",
            hint=f"ask some again: {tell_command(runs[0])}",
        )
    by_concurrency = {concurrency: FlipRate.of(found) for concurrency, found in others.items() if found}
    rate = FlipRate.of([is_flipped for _, is_flipped in flips], [cluster for cluster, _ in flips])
    load = max(int(run.journal.meta(LOAD) or 0) for run in runs)
    return Noise(n=pair.n, flips=len(pair.flipped), rate=rate, by_concurrency=by_concurrency, load=load)


def list_rechecks(run: Run) -> Iterator[str]:
    """A line for each concurrency at which a run was rechecked."""
    for concurrency in run.journal.meta(RECHECKS) or ():
        found = _list_flips(run, str(run.manifest.get("scorer", "")), int(concurrency))
        flipped = sum(is_flipped for _, is_flipped in found)
        yield f"rechecked with {concurrency} in flight: {flipped:,} of {len(found):,} questions flipped"


def _list_flips(run: Run, scorer: str, concurrency: int) -> list[tuple[str, bool]]:
    """The cluster of each rechecked question, and whether it flipped."""
    load = int(run.journal.meta(LOAD) or 0)
    names = [f"{scorer}:{name}" for name in list_names(concurrency, load)]
    first, second = ([scorer, *names] if len(names) == 1 else names)[:2]
    version = str(run.manifest.get("versions", {}).get(scorer, ""))
    values: list[dict[str, tuple[str, float]]] = []
    for name in (first, second):
        results = run.journal.results(name, version=version, trial=0, is_brief=True, clusters=run.clusters)
        values.append({
            result.sample.id: (result.cluster or result.sample.id, value)
            for result in results if (value := compute_credit(result)) is not None
        })  # fmt: skip
    return [
        (cluster, (value >= RIGHT) != (values[1][name][1] >= RIGHT))
        for name, (cluster, value) in values[0].items()
        if name in values[1]
    ]


def tell_command(run: Run) -> str:
    """The command that rechecks a run."""
    given: Mapping[str, Any] = run.manifest.get("given") or {}
    source, model = given.get("source"), given.get("model")
    if not source or not model:
        return f"repeat the command of {run.folder} with --recheck {_USUAL}"
    words = ["eyechart", "run", source, "-m", model]
    declared, stored = list_options(Options), read_options(run.manifest)
    for name, one in declared.items():
        value = stored.get(name)
        if one.affects not in _SHOWN or value in (None, (), [], {}) or value == one.default:
            continue
        words += _list_words(one.flag, value)
    if (out := Path(run.folder).parent.parent) != Path("runs"):
        words += ["--out", str(out)]
    load = run.journal.meta(LOAD) or stored.get("concurrency")
    if load != declared["concurrency"].default:
        words += ["--concurrency", str(load)]
    return shlex.join([*words, "--recheck", str(_USUAL)])


def _list_words(flag: str, value: Any) -> Sequence[str]:
    """An option as words of a command line."""
    if isinstance(value, bool):
        return [flag]
    if isinstance(value, Mapping):
        return [word for name, one in value.items() for word in (flag, f"{name}={one}")]
    several = value if isinstance(value, list | tuple) else [value]
    return [word for one in several for word in (flag, str(one))]
