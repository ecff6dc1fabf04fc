"""``--recheck N``: ask some questions again, to learn how much of a score is noise of the server.

The second replies stand beside the run's own in its journal (as calls of the purpose ``recheck:…``, with
scores under names of their own) and change no number of the run. A recheck at the concurrency that the run
was asked with is compared with the run's replies; at another one, every question is asked twice, and the two
replies are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from eyechart.engine.executor import LocalExecutor
from eyechart.engine.judge import draw_sample, work_on_all
from eyechart.engine.sample import make_key
from eyechart.report.conditions import read_options
from eyechart.runs.plan import Plan, make_preparer
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import Answered, Task
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
    kept = journal.open_calls()
    preparer = make_preparer(plan)
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

    try:
        for name in names:
            work = ((result, name) for result in _draw(plan, journal))
            await work_on_all(work, ask, n_workers=concurrency, judge=None)
    finally:
        kept.close()
        preparer.close()
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
