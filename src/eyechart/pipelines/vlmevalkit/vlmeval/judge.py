"""What an `evaluate` of one's own calls: `build_judge(model=...).generate(prompt)`, `track_progress_rich`."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.data.images import ImageLoader
from eyechart.data.rows import PathRules
from eyechart.engine.retry import RetryPolicy
from eyechart.errors import NO_ANSWER, ModelError, UsageError
from eyechart.model.specs import make_model
from eyechart.pipelines.vlmevalkit.vlmeval.images import to_messages
from eyechart.pipelines.vlmevalkit.vlmeval.smp import dump, load
from eyechart.types import ImageRef, Message, Model, ModelSettings, Reply, Request, Sample

DEBUG_MESSAGE = (
    "The judge gave no answer. Is judge_base_url (or OPENAI_API_BASE) the address of a server, judge a model "
    "that it serves, and judge_key (or OPENAI_API_KEY) a key that it takes?"
)
_NOT_THE_JUDGES = ("nproc", "verbose", "wait", "use_verifier")  # of `evaluate`; no matter to who is asked


def build_judge(
    model: str,
    *,
    api_base: str | None = None,
    key: str | None = None,
    retry: int = 6,
    timeout: float = 600,
    system_prompt: str | None = None,
    **parameters: Any,
) -> Judge:
    """A judge at an OpenAI-compatible endpoint; `parameters` such as `temperature` go along with requests."""
    if not model:
        raise UsageError("build_judge: no model", hint="judge: NAME in eval_config says who judges")
    said = {name: value for name, value in parameters.items() if name not in _NOT_THE_JUDGES}
    judge = Judge(
        model=model,
        settings=ModelSettings(base_url=api_base, api_key=key, parameters=said, timeout_s=timeout),
        retry=retry,
        system_prompt=system_prompt,
    )
    judge.made()
    return judge


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Asked one thing at a time, from as many threads as one likes."""

    model: str
    settings: ModelSettings = field(repr=False)
    retry: int = 6
    system_prompt: str | None = None
    fail_msg: str = NO_ANSWER  # scripts look for it in replies; it never is in one

    def made(self, **parameters: Any) -> Model:
        """The model behind it; `UsageError` where there cannot be one."""
        settings = ModelSettings(
            base_url=self.settings.base_url,
            api_key=self.settings.api_key,
            parameters={"temperature": 0, **self.settings.parameters, **parameters},
            timeout_s=self.settings.timeout_s,
        )
        return make_model(f"openai/{self.model.removeprefix('openai/')}", settings)

    def generate(self, message: Any, dataset: str | None = None, **parameters: Any) -> str:
        """The reply to a text or a list of parts. `ModelError` where none came: that is no reply."""
        rules = PathRules([str(Path().absolute())])
        turns = [_loaded(turn) for turn in to_messages(message, rules, "the judge's prompt")]
        if self.system_prompt:
            turns.insert(0, Message("system", (self.system_prompt,)))
        return asyncio.run(self._ask(self.made(**parameters), turns)).text

    def working(self) -> bool:
        """Whether it answers at all."""
        try:
            self.generate("Say hello.")
        except ModelError:
            return False
        return True

    async def _ask(self, model: Model, turns: Sequence[Message]) -> Reply:
        request = Request(messages=tuple(turns), sample=Sample(id="judge", question=""))
        backoff, attempt, chance = RetryPolicy(attempts=self.retry), 1, random.Random()  # noqa: S311 - pauses only
        try:
            while True:
                try:
                    return await self._once(model, request)
                except ModelError as err:
                    if not backoff.may_retry(attempt, err):
                        raise
                    await asyncio.sleep(backoff.delay_s(attempt, err.retry_after_s, chance))
                    attempt += 1
        finally:
            await model.close()

    async def _once(self, model: Model, request: Request) -> Reply:
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                return await model.reply(request)
        except TimeoutError as err:
            what = f"{model.name} gave no answer within {self.settings.timeout_s:g} s"
            raise ModelError(what, is_retryable=True, was_silent=True) from err


def _loaded(turn: Message) -> Message:
    loader = ImageLoader()
    parts = (loader.load(part) if isinstance(part, ImageRef) else part for part in turn.parts)
    return Message(turn.role, tuple(parts))


# -- Many calls at once, as `vlmeval.utils` has it

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
