"""Workers in this process, each behind a link as one on another machine would be; they can be killed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from eyechart.engine.cluster import ClusterExecutor, ClusterSettings
from eyechart.engine.look import LookSetup
from eyechart.engine.peers import LinkLost
from eyechart.engine.prepare import ImageSource, LookPreparer, Preparer
from eyechart.engine.remote import RemoteWorker, WorkerSetup
from eyechart.engine.retry import EngineSettings
from eyechart.store.journal import Journal
from eyechart.types import Model, Sample
from support.parts import FAST, Pictures, SameText, ask_plainly

_made: dict[int, Callable[[], Any]] = {}  # what a setup makes: functions of a test do not pickle
_numbers = itertools.count()


def by_number(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same function, as one that pickles."""
    number = next(_numbers)
    _made[number] = make
    return partial(_make, number)


def _make(number: int) -> Any:
    return _made[number]()


class LocalLink:
    """A worker in this event loop."""

    def __init__(self) -> None:
        self.worker: RemoteWorker | None = None
        self.n_lives = 0
        self._death: asyncio.Future[LinkLost] | None = None

    async def open(self, data: bytes) -> bytes:
        self.worker, self._death = RemoteWorker(), asyncio.get_running_loop().create_future()
        self.n_lives += 1
        return await self.worker.open(data)

    async def exchange(self, data: bytes) -> bytes:
        assert self.worker is not None
        assert self._death is not None
        call = asyncio.create_task(self.worker.exchange(data))
        first: list[asyncio.Future[Any]] = [call, self._death]
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()
            raise
        if self._death.done():
            call.cancel()
            raise self._death.result()
        return await call

    def post(self, data: bytes) -> None:
        if self.worker is not None and self._death is not None and not self._death.done():
            self.worker.post(data)

    def kill(self, *, is_node: bool = False) -> None:
        """As by SIGKILL: nothing of it is heard again."""
        assert self._death is not None
        if self._death.done():
            return
        self._death.set_result(LinkLost("it was killed", is_node=is_node))
        state = self.worker._state if self.worker is not None else None
        if state is not None:
            for task in state._jobs:
                task.cancel()

    async def close(self) -> None:
        if self.worker is not None:
            await self.worker.close()


def run_cluster(
    journal: Journal,
    make_model: Callable[[], Model],
    *,
    of: Iterable[Sample] | None = None,
    links: list[LocalLink] | None = None,
    n_workers: int = 3,
    trials: int = 1,
    together: bool = False,
    prompt: Any = ask_plainly,
    pictures: ImageSource | None = None,
    worker_pictures: ImageSource | None = None,
    cluster: ClusterSettings | None = None,
    meanwhile: Callable[[ClusterExecutor], Any] | None = None,
    notes: list[str] | None = None,
    parts: dict[str, Any] | None = None,
    look: LookSetup | None = None,
    make_searcher: Callable[[], Model] | None = None,
    **settings: Any,
) -> ClusterExecutor:
    """One whole start of a run on workers in this process."""
    if of is not None:
        journal.replace_samples(of)
    usual: dict[str, Any] = {"concurrency": 12, "retry": FAST, "grace_s": 5.0}
    usual |= {"first_rest_s": 0.001, "give_up_after": 50}
    chosen = EngineSettings(**(usual | settings))
    model = make_model()
    identity = {"model": model.name, **model.identity}
    here = pictures or Pictures()
    setup = WorkerSetup(
        make_model=by_number(make_model),
        make_images=by_number(lambda: worker_pictures or here),
        identity=identity,
        settings=chosen,
        look=look,
        make_searcher=make_searcher and by_number(make_searcher),
    )
    preparer = LookPreparer(prompt, cast("Any", here), identity) if look else Preparer(prompt, here, identity)

    async def drive() -> ClusterExecutor:
        made = ClusterExecutor(
            links if links is not None else [LocalLink() for _ in range(n_workers)],
            setup,
            model,
            preparer,
            journal,
            SameText(),
            chosen,
            cluster=cluster,
            **(parts or {}),
        )
        if notes is not None:
            made.announce_to(notes.append)
        aside = asyncio.create_task(meanwhile(made)) if meanwhile is not None else None
        try:
            await made.run(journal.tasks(trials, together=together))
        finally:
            if aside is not None:
                aside.cancel()
            made.close()
        return made

    journal.start_session()
    try:
        return asyncio.run(drive())
    finally:
        journal.flush()
