"""Many calls at once, in the way of `vlmeval.utils`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.smp.file import dump, load
from eyechart.errors import UsageError

__all__ = ["track_progress_rich"]

_SAVE_EVERY_S = 5.0


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Iterable[Any] = (),
    nproc: int = 1,
    save: str | os.PathLike[str] | None = None,
    keys: Iterable[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Call `func` for every task, `nproc` at once; a list or tuple holds its arguments, a dict names them.

    With `save` and `keys`, results are kept in that file under their keys, beside those that stand there
    already, also where one of the calls fails. Further arguments (`chunksize`, `desc`, ...) change nothing.

    >>> track_progress_rich(pow, [(2, 3), (3, 2)], nproc=2)
    [8, 9]
    """
    todo = list(tasks)
    names = list(keys) if keys is not None else list(range(len(todo)))
    if len(names) != len(todo):
        raise UsageError(
            f"track_progress_rich: {len(todo)} tasks and {len(names)} keys", hint="one key a task"
        )
    kept = _Kept(save)
    with ThreadPoolExecutor(max(1, nproc)) as pool:
        futures = {_submit(pool, func, task): name for task, name in zip(todo, names, strict=True)}
        try:
            for future in as_completed(futures):
                kept.add(futures[future], future.result())
        except BaseException:
            _end(pool, futures, kept)
            raise
        finally:
            kept.write()
    return [future.result() for future in futures]


def _end(pool: ThreadPoolExecutor, futures: Mapping[Future[Any], Any], kept: _Kept) -> None:
    """Begin no more calls. Those in flight may be paid for: they come to their end, and are kept as well."""
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    finally:  # who interrupts a second time does not wait for them
        for future, name in futures.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                kept.add(name, future.result())


def _submit(pool: ThreadPoolExecutor, func: Callable[..., Any], task: Any) -> Future[Any]:
    if isinstance(task, Mapping):
        return pool.submit(func, **task)
    return pool.submit(func, *task) if isinstance(task, list | tuple) else pool.submit(func, task)


class _Kept:
    """Results in a file, written now and then."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self._results: dict[Any, Any] = load(path) if path is not None and Path(path).exists() else {}
        self._written_at = time.monotonic()

    def add(self, key: Any, result: Any) -> None:
        self._results[key] = result
        if time.monotonic() - self._written_at > _SAVE_EVERY_S:
            self.write()

    def write(self) -> None:
        if self._path is not None:
            dump(self._results, self._path)
        self._written_at = time.monotonic()
