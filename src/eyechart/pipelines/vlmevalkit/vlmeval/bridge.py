"""Between eyechart and a script that changes a dataset class: the class as a benchmark, prompts, errors.

Also: which classes a script has changed, and the judge that its own `evaluate` calls.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from eyechart.data.columns.image_columns import IMAGE_SUFFIXES
from eyechart.data.files.rows import PathRules
from eyechart.data.images.loading import ImageLoader
from eyechart.data.samples import MemorySource
from eyechart.engine.retry import RetryPolicy
from eyechart.errors import NO_ANSWER, DataError, EyechartError, ModelError, UsageError
from eyechart.models.specs import make_model
from eyechart.pipelines.vlmevalkit.vlmeval import scoring, smp
from eyechart.types import (
    Benchmark,
    ImageRef,
    Message,
    Model,
    ModelSettings,
    Part,
    Reply,
    Request,
    Result,
    Role,
    Sample,
)

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.vlmeval.dataset import ImageBaseDataset


def make_benchmark(dataset: ImageBaseDataset) -> Benchmark:
    """The dataset as a benchmark: one sample per row, with the prompt of its `build_prompt`.

    Its scores are computed in addition to those of its `evaluate`.
    """
    name = dataset.dataset_name
    rules = make_path_rules(dataset)
    samples = tuple(scoring.read_samples(dataset.data, name))
    if dataset.meta_only and "image_path" in dataset.data:  # `build_prompt` writes base64 to files
        cells = [[] if smp.is_missing(cell) else smp.toliststr(cell) for cell in dataset.data["image_path"]]
        samples = tuple(
            replace(sample, images=tuple(make_image_ref(place, rules) for place in cell))
            for sample, cell in zip(samples, cells, strict=True)
        )
    positions = {sample.id: position for position, sample in enumerate(samples)}
    lock = threading.Lock()  # the methods of a script may not be thread-safe

    def prompt(sample: Sample) -> list[Message]:
        where = f"index {sample.id}"
        with lock:
            line = dataset.data.iloc[positions[sample.id]]
            with label_errors(name, "build_prompt", where):
                said = dataset.build_prompt(line)
            return to_messages(said, rules, f"{name}: build_prompt ({where})")

    folder = dataset.data.attrs.get(smp.FOLDER)
    source = MemorySource(name, str(Path(folder) / f"{name}.tsv") if folder else name, samples)
    about = f"{name}, by the class {type(dataset).__name__}"
    return scoring.make_benchmark(name, source, prompt, is_choice=dataset.TYPE == "MCQ", about=about)


def make_path_rules(dataset: ImageBaseDataset) -> PathRules:
    """Relative paths start at the folder of the data file, the image folder, or the current folder."""
    data = getattr(dataset, "data", None)
    folder = data.attrs.get(smp.FOLDER) if data is not None else None
    places = [folder, smp.find_data_root(), dataset.img_root, Path()]
    roots = dict.fromkeys(str(Path(place).absolute()) for place in places if place is not None)
    return PathRules(list(roots))


def make_predictions(dataset: ImageBaseDataset, results: Iterable[Result]) -> smp.Frame:
    """The requested rows, without images and with replies: a file of predictions.

    A failed request has the text that makes VLMEvalKit repeat it.
    """
    said = {
        result.sample.id: result.reply.content.strip() if result.reply else NO_ANSWER
        for result in results
        if result.trial == 0
    }
    data = dataset.data
    frame = smp.select_rows(data, [str(index) in said for index in data["index"]])
    frame = frame.drop(columns="image", errors="ignore")
    return frame.assign(prediction=[said[str(index)] for index in frame["index"]]).reset_index(drop=True)


# -- What `build_prompt` returns, as messages

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_SHAPE = 'a list of {"type": "image" or "text", "value": ...}, images first'


def to_messages(said: Any, rules: PathRules, who: str) -> list[Message]:
    """The messages of a row, system messages first.

    Accepted are a text, a part, a list of parts (``{"type": "image", "value": ...}``), a list of texts and
    paths, and a conversation (``{"role": ..., "content": ...}``).
    """
    items: Any = [said] if isinstance(said, str | Mapping) else said
    if not isinstance(items, Sequence) or not items:
        what = "nothing" if not items else type(said).__name__
        raise DataError(f"{who} returned {what}", hint=f"return {_SHAPE}")
    if all(isinstance(item, Mapping) and "content" in item for item in items):
        return [_turn(item, rules, who) for item in items]
    system = [item for item in items if isinstance(item, Mapping) and item.get("role") == "system"]
    first = tuple(_part(item, rules, who) for item in system)
    parts = tuple(_part(item, rules, who) for item in items if item not in system)
    if not parts:
        raise DataError(f"{who} returned nothing for the user's turn", hint=f"return {_SHAPE}")
    return [*([Message("system", first)] if first else []), Message("user", parts)]


def make_image_ref(place: str, rules: PathRules) -> ImageRef:
    """The image at a path, a URL or a data URL."""
    if place.startswith("data:"):
        return ImageRef(kind="data", location=place.partition(",")[2])
    if place.startswith(("http://", "https://")):
        return ImageRef(kind="url", location=place)
    return rules.to_ref(place)


def _turn(item: Mapping[str, Any], rules: PathRules, who: str) -> Message:
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        raise DataError(f"{who}: unknown role {item.get('role')!r}", hint=f"known: {', '.join(_ROLES)}")
    content = item["content"]
    parts = [content] if isinstance(content, str | Mapping) else content
    return Message(role, tuple(_part(part, rules, who) for part in parts))


def _part(item: Any, rules: PathRules, who: str) -> Part:
    if isinstance(item, str):
        return make_image_ref(item, rules) if is_place(item) and "\n" not in item else item
    if not isinstance(item, Mapping) or not {"type", "value"} <= set(item):
        raise DataError(f"{who}: a part without type and value: {str(item)[:80]}", hint=f"return {_SHAPE}")
    kind, value = item["type"], item["value"]
    if kind == "text":
        return str(value)
    if kind != "image":
        raise DataError(f"{who}: unknown type {kind!r}", hint="known: image, text")
    value = str(value) if isinstance(value, PurePath) else value
    if not isinstance(value, str) or not value:
        raise DataError(f"{who}: the image {str(value)[:80]!r} is not a path", hint="give a path or a URL")
    return make_image_ref(value, rules)


ADDRESSES = ("http://", "https://", "data:")
_SUFFIXES = tuple(suffix.decode() for suffix in IMAGE_SUFFIXES)


def is_place(text: str) -> bool:
    """Whether a cell names an image instead of holding it: a path or a URL. Base64 has no dot.

    >>> is_place("a/cat.PNG"), is_place("https://x.org/cat"), is_place("iVBORw0KGgo="), is_place("17")
    (True, True, False, False)
    """
    return text.startswith(ADDRESSES) or text[-5:].lower().endswith(_SUFFIXES)


# -- Which classes a script has changed
#
# Scripts assign functions to dataset classes (``CustomVQADataset.evaluate = ...``). The original content of
# each class is remembered, to detect changes.

C = TypeVar("C", bound=type)

_WRITTEN: dict[type, dict[str, Any]] = {}
_PYTHONS_OWN = frozenset(
    {"__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotations_cache__"}
)


def remember_class(cls: C) -> C:
    """Remember the content of a class. A decorator, so that it runs before any change."""
    _WRITTEN[cls] = _held(cls)
    return cls


def is_changed(cls: type) -> bool:
    """Whether a script has changed the class or one of its bases, or defined it."""

    def differs(one: type) -> bool:
        before, now = _WRITTEN.get(one, {}), _held(one)
        return set(before) != set(now) or any(before[name] is not now[name] for name in before)

    return any(differs(one) for one in cls.__mro__ if one is not object)


def is_evaluate_changed(cls: type) -> bool:
    """Whether the class scores by a method of a script."""
    first = next(one for one in cls.__mro__ if "evaluate" in vars(one))
    return _WRITTEN.get(first, {}).get("evaluate") is not vars(first)["evaluate"]


def _held(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if name not in _PYTHONS_OWN}


# -- Errors in a script's methods, named after the dataset and the method

_OURS = str(Path(__file__).resolve().parents[3])


class UserCodeError(EyechartError):
    """A method of a script raised; the exception is the cause."""


@contextmanager
def label_errors(dataset: str, method: str, about: str = "") -> Iterator[None]:
    """Around one call of a script's method. Errors of eyechart pass unchanged."""
    try:
        yield
    except EyechartError:
        raise
    except Exception as err:
        where = _place(err)
        what = f"{type(err).__name__}: {err}" if str(err) else type(err).__name__
        raise UserCodeError(
            f"{dataset}: {method} raised {what}{about and f' ({about})'}",
            hint=f"raised in {where}" if where else "",
        ) from err


def _place(err: BaseException) -> str:
    """The last line of code in the folder of the called method; frames below it belong to libraries."""
    frames = traceback.extract_tb(err.__traceback__)
    others = [one for one in frames if not one.filename.startswith((_OURS, "<"))]
    folder = str(Path(others[0].filename).parent) if others else ""
    near = [one for one in others if one.filename.startswith(folder) and "site-packages" not in one.filename]
    return f"{near[-1].filename}, line {near[-1].lineno}" if near else ""


# -- What a script's own `evaluate` calls: `build_judge(model=...).generate(prompt)`, `track_progress_rich`

DEBUG_MESSAGE = (
    "The judge gave no answer. Is judge_base_url (or OPENAI_API_BASE) the URL of a server, judge a model "
    "that it serves, and judge_key (or OPENAI_API_KEY) a valid key?"
)
_NOT_THE_JUDGES = ("nproc", "verbose", "wait", "use_verifier")  # arguments of `evaluate` that are not sent


class ScriptJudge:
    """A judge at an OpenAI-compatible endpoint: one blocking request per call, from any number of threads.

    `parameters` such as `temperature` are sent with requests.
    """

    fail_msg = NO_ANSWER  # scripts look for it in replies; `generate` raises instead

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        key: str | None = None,
        retry: int = 6,
        timeout: float = 600,
        system_prompt: str | None = None,
        **parameters: Any,
    ) -> None:
        if not model:
            raise UsageError("build_judge: no model", hint="set judge: NAME in eval_config")
        self.model, self.retry, self.system_prompt = model, retry, system_prompt
        self.spec = scoring.find_judge_spec(model)  # of the model that is asked
        said = {name: value for name, value in parameters.items() if name not in _NOT_THE_JUDGES}
        self.settings = ModelSettings(base_url=api_base, api_key=key, parameters=said, timeout_s=timeout)
        self.make_model()  # raises on bad settings

    def make_model(self, **parameters: Any) -> Model:
        """The model; `UsageError` for bad settings."""
        said = scoring.fill_judge_params(self.spec, {**self.settings.parameters, **parameters})
        return make_model(self.spec, replace(self.settings, parameters=said))

    def generate(self, message: Any, dataset: str | None = None, **parameters: Any) -> str:
        """The reply to a text or a list of parts; raises `ModelError` if there is none."""
        rules, load = PathRules([str(Path().absolute())]), ImageLoader().load
        turns = [Message("system", (self.system_prompt,))] if self.system_prompt else []
        for turn in to_messages(message, rules, "the judge's prompt"):
            parts = (load(part) if isinstance(part, ImageRef) else part for part in turn.parts)
            turns.append(Message(turn.role, tuple(parts)))
        return asyncio.run(self._ask(self.make_model(**parameters), turns)).content

    def working(self) -> bool:
        """Whether it answers."""
        try:
            self.generate("Say hello.")
        except ModelError:
            return False
        return True

    async def _ask(self, model: Model, turns: Sequence[Message]) -> Reply:
        request = Request(messages=tuple(turns), sample=Sample(id="judge", question=""))
        policy, attempt, chance = RetryPolicy(attempts=self.retry), 1, random.Random()  # noqa: S311 - pauses only
        try:
            while True:
                try:
                    return await self._once(model, request)
                except ModelError as err:
                    if not policy.may_retry(attempt, err):
                        raise
                    await asyncio.sleep(policy.delay_s(attempt, err.retry_after_s, chance))
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


build_judge = ScriptJudge  # as scripts call it


# -- Concurrent calls, as in `vlmeval.utils`

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

    With `save` and `keys`, results are added to that file under their keys, even if a call fails. Further
    arguments (`chunksize`, `desc`, ...) have no effect.

    >>> track_progress_rich(pow, [(2, 3), (3, 2)], nproc=2)
    [8, 9]
    """
    todo = list(tasks)
    names = list(keys) if keys is not None else list(range(len(todo)))
    if len(names) != len(todo):
        raise UsageError(
            f"track_progress_rich: {len(todo)} tasks and {len(names)} keys", hint="give one key per task"
        )
    results: dict[Any, Any] = smp.load(save) if save is not None and Path(save).exists() else {}
    written_at = time.monotonic()
    with ThreadPoolExecutor(max(1, nproc)) as pool:
        futures = {_submit(pool, func, task): name for task, name in zip(todo, names, strict=True)}
        try:
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                if save is not None and time.monotonic() - written_at > _SAVE_EVERY_S:
                    smp.dump(results, save)
                    written_at = time.monotonic()
        finally:  # after an error no more calls; those in flight may cost money: their results are saved
            try:
                pool.shutdown(wait=True, cancel_futures=True)
            finally:  # a second interrupt does not wait for them
                finished = (one for one in futures if one.done() and not one.cancelled())
                results |= {futures[one]: one.result() for one in finished if one.exception() is None}
                if save is not None:
                    smp.dump(results, save)
    return [future.result() for future in futures]


def _submit(pool: ThreadPoolExecutor, func: Callable[..., Any], task: Any) -> Future[Any]:
    if isinstance(task, Mapping):
        return pool.submit(func, **task)
    return pool.submit(func, *task) if isinstance(task, list | tuple) else pool.submit(func, task)
