"""``--recheck N``: ask some questions again, to learn how much of a score is noise of the server.

The second replies stand beside the run's own in its journal (as calls of the purpose ``recheck:…``, with
scores under names of their own) and change no number of the run. A recheck at the concurrency that the run
was asked with is compared with the run's replies; at another one, every question is asked twice, and the two
replies are compared with each other.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.engine.executor import LocalExecutor
from eyechart.engine.judge import draw_sample, work_on_all
from eyechart.engine.sample import make_key
from eyechart.errors import UsageError
from eyechart.option import list_options
from eyechart.report.compare import Comparison, FlipRate, Noise
from eyechart.report.conditions import read_options
from eyechart.report.counting import RIGHT, compute_credit
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, make_preparer
from eyechart.runs.results import Run
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import Answered, StoredCalls, Task
from eyechart.types import Result

LOAD = "asked_at"  # in the journal's values: the concurrency that the replies were asked with
RECHECKS = "rechecks"  # the concurrencies of rechecks


def note_load(plan: Plan, journal: Journal) -> None:
    """Keep the concurrency of the start that asked first; before the new manifest is written."""
    if journal.meta(LOAD) is None:
        stored = read_options(journal.read_mapping("manifest")).get("concurrency")
        journal.set_meta(LOAD, int(stored or plan.options.concurrency))


def list_names(concurrency: int, load: int) -> list[str]:
    """The rechecks at this concurrency: one beside the run's own replies, otherwise two.

    >>> list_names(64, 64), list_names(1, 64)
    (['recheck:64'], ['recheck:1', 'recheck:1:again'])
    """
    name = f"recheck:{concurrency}"
    return [name] if concurrency == load else [name, f"{name}:again"]


async def recheck(plan: Plan, journal: Journal, executor: LocalExecutor) -> int:
    """Ask the drawn questions again, those that were not yet at this concurrency; returns how many were."""
    concurrency = plan.options.concurrency
    names = list_names(concurrency, int(journal.meta(LOAD) or concurrency))
    n_asked = 0

    async def ask(work: tuple[Result, str]) -> None:
        nonlocal n_asked
        result, name = work
        key = make_key(name, result.key)
        reply = kept.reply(result.sample.id, 0, key)
        if reply is None:
            task = Task(position=result.position, sample=result.sample, trial=0)
            n_asked += 1
            settled = await executor.ask_again(task, preparer)
            if not settled.replies:  # it failed this time: the next start asks again
                return
            [found] = settled.replies
            reply, asked = found.reply, Ask(key=key, recipe="", messages=[])
            journal.append_call(result.sample.id, 0, asked, name, reply, attempts=found.attempts,
                                paid=found.paid, model=plan.model.name)  # fmt: skip
        item = Answered(sample=result.sample, trial=0, key=result.key, reply=reply)
        await executor.scoring.score_beside(item, f"{plan.scorer.name}:{name}")

    with (
        contextlib.closing(StoredCalls(journal.path)) as kept,
        contextlib.closing(make_preparer(plan)) as preparer,
    ):
        for name in names:
            work = ((result, name) for result in _draw(plan, journal))
            await work_on_all(work, ask, n_workers=concurrency, judge=None)
    journal.flush()
    known = {int(one) for one in journal.meta(RECHECKS) or ()}
    journal.set_meta(RECHECKS, sorted(known | {concurrency}))
    return n_asked


def _draw(plan: Plan, journal: Journal) -> Iterator[Result]:
    """The questions that are asked again: a random part of those with a reply, the same at every start."""
    version = plan.scorer.version
    results = journal.results(plan.scorer.name, version=version, trial=0, is_brief=True)
    replied = [(result.sample.id, 0) for result in results if result.reply is not None]
    for name, _ in draw_sample(replied, plan.options.recheck, seed=1):
        yield from journal.results("", trial=0, sample=name)


# -- Reading rechecks: the noise behind a comparison


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
