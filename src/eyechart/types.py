"""The words everyone speaks: a question, what was asked, what came back, what it was worth.

Plain frozen dataclasses, so that a value can be compared, printed and shared between threads. What
comes from outside is checked once, at the door, and trusted from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from eyechart.errors import EyechartError, UsageError
from eyechart.thinking import split_thinking

T = TypeVar("T")

Outcome = Literal["correct", "wrong", "partial", "unparsed", "refused", "truncated", "failed", "unscored"]
OUTCOMES: tuple[Outcome, ...] = (
    "correct", "partial", "wrong", "unparsed", "refused", "truncated", "failed", "unscored",
)  # fmt: skip

Role = Literal["system", "user", "assistant", "tool"]
Stage = Literal["load", "render", "generate", "score"]  # where a sample can fail


class Replaceable:
    """What these values can do with the help of rooms above; `eyechart/__init__.py` fills it in."""

    open_image: Callable[[ImageRef], Any] | None = None
    show_html: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRef:
    """Where an image is. Nothing is read until the pixels are needed.

    ``file``: a path. ``cell``: base64 text at a byte range of a file. ``parquet``: row `offset` of
    column `column` of a file. ``hub``: the same of a hub's data set, named in `location`. ``member``: the
    file `column` in an archive, such as a workbook. ``page``: page `offset` of a PDF file. ``url``: an
    address. ``data``: the base64 text itself, in `location`.
    """

    kind: Literal["file", "cell", "parquet", "hub", "member", "page", "url", "data"]
    location: str
    offset: int = 0
    length: int = 0
    column: str = ""
    box: tuple[int, int, int, int] | None = None  # crop: x, y, width, height in pixels
    refused: str = ""  # why it is not followed; loading it fails with this reason
    # Of a cell: the same for the same content. Says which samples share an image without reading it again.
    content: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        """The location, for messages."""
        if self.kind == "data":
            return "inline base64"
        place = ""
        if self.kind == "cell":
            place = f" (byte {self.offset})"
        elif self.kind in ("parquet", "hub"):
            place = f" (row {self.offset})"
        elif self.kind == "member":
            place = f" ({self.column})"
        elif self.kind == "page":
            place = f" (page {self.offset + 1})"
        crop = " (crop {}, {}, {} x {})".format(*self.box) if self.box else ""
        return self.location + place + crop

    def open(self) -> Any:
        """The image as a `PIL.Image.Image`, decoded and cropped; `ImageError` if it cannot be read."""
        assert Replaceable.open_image is not None, "set by eyechart/__init__.py"
        return Replaceable.open_image(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image ready to send: checked, measured, and encoded again only if necessary.

    `base64` is the ASCII text of the encoded file; `sha256` is that of the file's bytes. `path` is the
    file on disk when the image is sent unchanged from one, for models that want a path.
    """

    base64: bytes
    mime: str
    width: int
    height: int
    sha256: str
    n_bytes: int  # of the encoded file, before base64
    resized: bool = False
    reencoded: bool = False
    origin: str = ""
    path: str | None = None

    @classmethod
    def encode(
        cls, data: bytes, mime: str, size: tuple[int, int], *, text: bytes = b"", **facts: Any
    ) -> Image:
        """The image in an encoded file, ready to send; `text`: its base64, if it is known."""
        import hashlib

        import pybase64

        return cls(
            base64=text or pybase64.b64encode(data),
            mime=mime,
            width=size[0],
            height=size[1],
            sha256=hashlib.sha256(data).hexdigest(),
            n_bytes=len(data),
            **facts,
        )

    def data(self) -> bytes:
        import pybase64

        return pybase64.b64decode(self.base64, validate=True)

    def record(self) -> dict[str, Any]:
        """What was sent, without the pixels: stored in the journal for every sample."""
        return {
            "mime": self.mime,
            "width": self.width,
            "height": self.height,
            "bytes": self.n_bytes,
            "sha256": self.sha256,
            "resized": self.resized,
            "reencoded": self.reencoded,
            "origin": self.origin,
        }


Part: TypeAlias = str | ImageRef | Image


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. The arguments are JSON text, which may be broken."""

    name: str
    arguments: str
    id: str = ""  # by which the result refers to it; empty if the call was written as text


@dataclass(frozen=True, slots=True)
class Message:
    """One turn: text and images in the order the model sees them."""

    role: Role
    parts: tuple[Part, ...]
    calls: tuple[ToolCall, ...] = ()  # of the assistant's turn
    answers: str = ""  # of a tool's turn: the id of the call

    @property
    def text(self) -> str:
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def images(self) -> tuple[ImageRef | Image, ...]:
        return tuple(part for part in self.parts if not isinstance(part, str))


# In a prompt: here the model speaks. What it says is put in its place before the next turn is asked.
MODELS_TURN = Message("assistant", ())


FIELD_KINDS = "field kinds"  # of what is withheld: how the fields of a gold object are compared, by path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question as the benchmark's authors published it.

    `choices` maps each option letter to its text, in printed order; empty for an open question.
    `choices_text` is the options block where the file holds it as one text, to be sent unchanged.
    `golds` holds every accepted answer (the letter, for multiple choice); empty when none is public.
    """

    id: str
    question: str
    images: tuple[ImageRef, ...] = ()
    golds: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    choices_text: str = ""
    hint: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)  # category, l2-category, split, other columns
    row: int = 0  # where it stands in its file, counted from 1 as people count
    weight: float = 1.0  # the points it can earn, where a benchmark counts points rather than questions
    circle: str = ""  # of a rotated question: the id that all its rotations share (CircularEval)
    withheld: Mapping[str, Any] = field(default_factory=dict)  # what gives the answer away; for reports alone

    def _repr_html_(self) -> str:
        assert Replaceable.show_html is not None, "set by eyechart/__init__.py"
        return Replaceable.show_html(self)

    def without_golds(self) -> Sample:
        """The question as a model may see it."""
        return Sample(  # written out, since `replace` takes twice as long and this is done for every request
            id=self.id,
            question=self.question,
            images=self.images,
            choices=self.choices,
            choices_text=self.choices_text,
            hint=self.hint,
            meta=self.meta,
            row=self.row,
            weight=self.weight,
            circle=self.circle,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the endpoint counted them. Reasoning is part of the completion, cached ones of the prompt.

    >>> (Usage(prompt_tokens=10, completion_tokens=2) + Usage(prompt_tokens=5)).total_tokens
    17
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0

    @classmethod
    def read(
        cls,
        prompt: Iterable[object],
        completion: Iterable[object],
        *,
        reasoning: object = None,
        cached: object = None,
    ) -> Usage | None:
        """Tokens as a server wrote them, in parts to be added; None if one of them is not a count.

        A count is a whole number from 0 to 2^53; a missing one is 0. Reasoning and cached tokens that are not
        counts are taken for missing.

        >>> Usage.read([10, None], ["2"]).total_tokens, Usage.read([-10], [2]), Usage.read([1e400], [2])
        (12, None, None)
        """
        asked, said = [_read_count(one) for one in prompt], [_read_count(one) for one in completion]
        if None in asked or None in said:
            return None
        return cls(
            prompt_tokens=sum(filter(None, asked)),
            completion_tokens=sum(filter(None, said)),
            reasoning_tokens=_read_count(reasoning) or 0,
            cached_tokens=_read_count(cached) or 0,
        )

    @property
    def total_tokens(self) -> int:
        """What counts against a limit of tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )


def _read_count(said: object) -> int | None:
    if said is None:
        return 0
    if isinstance(said, str):
        said = int(said) if said.isdecimal() and len(said) < 20 else None
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= 2**53:
        return None
    return int(said) if said % 1 == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply: its answer, and the thoughts before it. `content` is the text as it came.

    >>> reply = Reply.read("<think>A?</think> B")
    >>> reply.text, reply.thinking, reply.content
    ('B', 'A?', '<think>A?</think> B')
    """

    text: str
    thinking: str = ""
    # "length": cut off; "content_filter" or "refusal": withheld; empty: the endpoint gave none
    finish_reason: str = "stop"
    usage: Usage | None = None
    model: str = ""  # as the endpoint calls itself
    latency_s: float = 0.0
    first_token_s: float | None = None  # until its first words, thoughts included; None: it came at once
    evidence: Mapping[str, Any] = field(default_factory=dict)  # what a baseline saw, a judge said
    earlier: tuple[str, ...] = ()  # what it said in the rounds before the last, where there were several
    calls: tuple[ToolCall, ...] = ()  # of tools that the request offered
    # What was cut from the content: around the thoughts and the answer, or around the answer alone where the
    # thoughts came in a field of their own. Empty: nothing; None: not known, in journals of earlier versions.
    tags: tuple[str, ...] | None = field(default=None, compare=False)

    @classmethod
    def read(cls, content: str, *, thinking: str = "", **facts: Any) -> Reply:
        """A reply from its text as it came. `thinking`: thoughts that came in a field of their own."""
        answer, thoughts, tags = split_thinking(content)
        if thinking and tags:
            before, between, after = tags
            return cls(text=answer, thinking=thinking, tags=(before + thoughts + between, after), **facts)
        return cls(text=answer, thinking=thinking or thoughts, tags=tags, **facts)

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second after the first one, of a reply whose first words have a time.

        >>> Reply(text="A", usage=Usage(completion_tokens=5), latency_s=1.5, first_token_s=0.5).tokens_per_s
        4.0
        """
        if self.first_token_s is None or self.usage is None or self.latency_s <= self.first_token_s:
            return None
        n = self.usage.completion_tokens - 1
        return n / (self.latency_s - self.first_token_s) if n > 0 else None

    @property
    def content(self) -> str:
        """The text as it came, with its thoughts; thoughts in a field of their own are no part of it."""
        if not self.tags:
            return self.text
        *before, after = self.tags
        pieces = (self.thinking, self.text)[-len(before) :]
        return "".join(tag + piece for tag, piece in zip(before, pieces, strict=True)) + after


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no reply. Never an answer, never cached, asked again on the next run."""

    stage: Stage
    reason: str
    retryable: bool = False
    status: int | None = None
    attempts: int = 0
    partial: str = ""  # the words of a reply that was cut: to be looked at, never scored

    @property
    def remedy(self) -> str:
        """What to do about it.

        >>> Failure(stage="load", reason="no such image").remedy
        'correct the data, then run it again: only the failed samples are asked'
        """
        again = "then run it again: only the failed samples are asked"
        if self.stage == "score":
            return "the replies are kept: correct the scorer, then score the run again"
        if self.stage != "generate":
            return f"correct the {'data' if self.stage == 'load' else 'data or the prompt'}, {again}"
        if self.retryable:
            return "run it again to retry only the failed samples"
        if self.status is not None:
            return f"the endpoint refuses these requests: change model, parameters or images, {again}"
        return f"correct the model, {again}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A verdict with its reason: what was read out of the reply, and by which rule."""

    outcome: Outcome
    value: float  # 0 to 1
    read: str | None = None  # the answer we read; None when we could not
    route: str = ""  # the rule that decided, e.g. "exact", "choice:boxed"
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a model: the messages, and the sample without its golds."""

    messages: tuple[Message, ...]
    sample: Sample
    trial: int = 0
    more_temperature: float = 0.0  # added to the model's own temperature, if it is called with one
    tools: tuple[Mapping[str, Any], ...] = ()  # functions the model may call: name, description, parameters
    originals: tuple[ImageRef, ...] = ()  # of a look run: where the images of the messages are, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one trial of one sample: its reply or failure, and its score."""

    sample: Sample
    position: int
    trial: int = 0
    key: str = ""  # the name of what was asked
    reply: Reply | None = None
    failure: Failure | None = None
    score: Score | None = None
    sent: tuple[Mapping[str, Any], ...] = ()  # Image.record() of each image that was sent
    asked: tuple[Mapping[str, Any], ...] = ()  # the messages as sent: role, and parts with text or image
    attempts: int = 0
    n_rows: int = 1  # the rotations that it stands for, where a circle was made one result
    cluster: str = ""  # the id of the first sample that shares an image or the like; empty: it is alone

    @property
    def outcome(self) -> Outcome | None:
        """The sample's one outcome; None while it is still to be asked."""
        if self.score is not None:
            return self.score.outcome
        return "failed" if self.failure is not None else None

    def _repr_html_(self) -> str:
        assert Replaceable.show_html is not None, "set by eyechart/__init__.py"
        return Replaceable.show_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Where a run stands at one moment, for the live line."""

    done: int = 0  # samples (times trials) that have an outcome, those of an earlier start included
    total: int = 0
    resumed: int = 0  # of `done`: found in the journal, not asked again
    score: float | None = None  # so far
    score_name: str = "score"  # "plain" where the headline is another reading of the same replies
    waiting: int = 0  # requests that failed and will be tried again
    in_flight: int = 0
    limit: int = 0  # as many may be in flight now
    sent: int = 0  # requests, retries included
    retried: int = 0
    cached: int = 0  # replies that an earlier run got
    failed: int = 0
    throttled: float = 0.0  # the share of the latest requests that were refused for being too many
    slowed_by: str = ""  # the option that requests wait for: --rpm, --tpm
    p50_s: float | None = None  # of the latest answers: the latency that half of them stayed below
    p95_s: float | None = None
    tokens: int = 0
    cost: float | None = None  # in USD, paid by this run; None if a price is unknown
    requests_per_s: float = 0.0
    elapsed_s: float = 0.0
    eta_s: float | None = None
    status: str = ""  # what the run waits for besides replies: a server that starts, a batch
    nodes: tuple[NodeStatus, ...] = ()  # of a run on a cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """Where one node of a cluster stands, for the live line."""

    name: str
    workers: int
    lost: int = 0  # workers that are not there at the moment
    done: int = 0
    in_flight: int = 0
    per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The settings that a provider gets. A provider must refuse parameters that it does not know."""

    base_url: str | tuple[str, ...] | None = None
    endpoint_name: str | None = None  # stands in for the address in the model's identity
    api_key: str | None = field(default=None, repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict)  # temperature, max_tokens, seed, ...
    score_options: Literal["letter", "text"] | None = None  # answer with the most likely option
    timeout_s: float = 600.0
    concurrency: int = 64
    stream: bool = False  # replies arrive in parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the engine may do with a model. A model states them as its attribute `capabilities`."""

    is_endpoint: bool = False  # a server with other users: its rate is adapted, its replies are cached
    is_free: bool = False  # it runs here and no tokens are paid for
    takes_rounds: bool = False  # answers a whole conversation; others are asked round by round
    takes_urls: bool = False  # an image may be handed over as its URL
    wants_urls: bool = False  # images at a URL are handed over as such even if the run does not ask for it
    max_concurrency: int | None = None  # requests at a time; None: as many as the run allows
    # It queues requests itself, and is busy with so many at a time unless the user sets a number. Time in its
    # queue is not silence: no request times out.
    usual_concurrency: int | None = None
    scores_options: bool = False  # it can answer with the most likely option (--score-options)
    takes_messages: bool = True  # it is given turns with their images; others see one text, or the sample
    takes_tools: bool = False  # it can be offered tools, and its reply has the calls


def read_capabilities(model: object) -> Capabilities:
    """What a model states; the defaults where it states nothing, or nothing but `max_concurrency`.

    >>> read_capabilities(object()).is_endpoint
    False
    """
    stated = getattr(model, "capabilities", None)
    if isinstance(stated, Capabilities):
        return stated
    return Capabilities(max_concurrency=getattr(model, "max_concurrency", None))


class Model(Protocol):
    """Answers requests. models/python.py gives this interface to users' own classes.

    A request that fails raises `ModelError`; the engine decides on retries. `capabilities` may state what the
    engine may do with the model.
    """

    @property
    def name(self) -> str:
        """As the user wrote it: ``provider/name``."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that can change a reply, without secrets. Part of the request key."""

    async def reply(self, request: Request) -> Reply:
        """Answer one request."""

    async def close(self) -> None:
        """Release connections, threads and weights."""


@runtime_checkable
class MultiReply(Model, Protocol):
    """A model that can give several answers to one request."""

    async def replies(self, request: Request, n: int) -> list[Reply]:
        """Up to `n` answers. Fewer mean that the endpoint does not do this."""


@runtime_checkable
class Limited(Protocol):
    """A model with limits that are known before a request is sent."""

    def find_problem(self, request: Request) -> tuple[str, str] | None:
        """Which limit the request exceeds, and what to do about it; None if it exceeds none."""


@runtime_checkable
class Startable(Protocol):
    """A model that has to be started before its first request, which may take minutes: a server."""

    async def start(self) -> None:
        """Return when it can be asked. Called again, it returns at once."""


@runtime_checkable
class SeesAllSamples(Protocol):
    """A model that looks over the whole benchmark first (blind baselines learn answer frequencies)."""

    def prepare(self, samples: Iterable[Sample]) -> None:
        """See every sample, golds included. Must not let a sample's own gold decide its answer."""


class Scorer(Protocol):
    """Scores a reply to a sample: a pure function with a version that changes whenever a score could."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def version(self) -> str:
        """Stored with each score."""

    @property
    def parity(self) -> str:
        """``official`` if it gives the verdicts of a benchmark's own code, quirks included; else empty."""

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        """Score one reply, without a judge."""


# -- How a scorer asks a judge: it is a generator that yields calls, is sent replies, and returns its score.
#
# The scorer stays pure: its driver decides where the replies come from (a model, the journal, a test). The
# same replies always lead to the same score, so a run that was cut off between two calls goes on from the
# journal.


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question to a judge: which of its prompts, and the texts to fill it with."""

    stage: str  # names the prompt, e.g. "mcqa"; docs/scoring.md has the list
    values: Mapping[str, str]
    prompt: str = ""  # the wording of a stage that is not ours: {names} in it are filled with the values
    more_temperature: float = 0.0  # of a repeated question: added to the judge's temperature, if it has one


class JudgeFailed(EyechartError):
    """The judge gave no reply, or there is no judge. Raised inside the scorer, at its `yield`."""


class NoJudge(JudgeFailed):
    """The run has no judge."""


Judging: TypeAlias = Generator[JudgeCall, str, T]


def answer_calls(judging: Judging[T], judge: Callable[[JudgeCall], str] | None = None) -> T:
    """Answer every call with `judge`, which may raise `JudgeFailed`, and return what comes of it.

    Without a judge every call fails with `NoJudge`: the scorer decides by its rules alone.

    >>> def scorer():
    ...     said = yield JudgeCall(stage="verdict", values={"answer": "a cat"})
    ...     return said == "correct"
    >>> answer_calls(scorer(), lambda call: "correct")
    True
    """
    try:
        call = next(judging)
        while True:
            try:
                if judge is None:
                    raise NoJudge(f"no judge for {call.stage!r}", hint="name one with --judge MODEL")
                said = judge(call)
            except JudgeFailed as failure:
                call = judging.throw(failure)
            else:
                call = judging.send(said)
    except StopIteration as end:
        result: T = end.value
        return result


@runtime_checkable
class JudgedScorer(Scorer, Protocol):
    """A scorer that can ask a judge for what its rules leave open."""

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        """Score one reply: yields calls to the judge, is sent its replies, returns the score."""


# -- Aggregates: official numbers that are not the mean over rows (F1, pairs, points, the worst of variants)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """One reply, as an aggregate sees it."""

    value: float  # the credit of the score, 0 to 1
    is_scored: bool = True  # False: it failed, or was not asked yet; only for aggregates with `sees_unscored`
    read: str | None = None
    golds: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)  # the columns of the benchmark's file
    detail: Mapping[str, Any] = field(default_factory=dict)  # of the score
    id: str = ""
    question: str = ""
    position: int = 0  # in the benchmark's order, from 0
    cluster: str = ""  # rows that intervals count as one; empty: the row is alone


MetricTable: TypeAlias = Mapping[str, Mapping[str, float | None]]  # group to metric to value; "" is all rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """An official number over all rows of a benchmark, in two steps.

    `count` turns rows that belong together into counts, `combine` turns the sums of all counts into metrics,
    those of all rows under the key ``""`` and `headline` among them. `unit` says which rows belong together
    (two questions on one image, the variants of a question); without it, each row is counted alone. Because
    counts can be added up, an interval resamples clusters of them and never counts a row again. A sum may be
    0, for example of a category that a resample does not contain.

    A unit with a row that has no score is left out: a pair with one failed request is neither right nor
    wrong. An aggregate with finer groups in its units `sees_unscored` rows and leaves out those groups.

    `scale`: ``fraction`` (0 to 1, shown in percent) or ``points``. A number that cannot be computed from the
    rows is None; `CannotAggregate` says that the rows are not what the official code takes.
    """

    name: str
    version: str
    about: str
    count: Callable[[Sequence[ScoredRow]], Mapping[Hashable, float]]
    combine: Callable[[Mapping[Hashable, float]], MetricTable]
    headline: str
    unit: Callable[[ScoredRow], Hashable] | None = None
    scale: Literal["fraction", "points"] = "fraction"
    parity: str = ""
    has_interval: bool = True  # False where combining takes too long to be repeated
    sees_unscored: bool = False  # `count` also gets rows without a score
    has_group_intervals: bool = False  # the metrics of groups have intervals, too

    def __call__(self, rows: Iterable[ScoredRow]) -> MetricTable:
        """The metrics of these rows, without intervals."""
        total: dict[Hashable, float] = {}
        for unit in self.split(rows):
            for key, n in self.count(unit).items():
                total[key] = total.get(key, 0) + n
        return self.combine(total)

    def split(self, rows: Iterable[ScoredRow]) -> Sequence[Sequence[ScoredRow]]:
        """The rows that are counted together, in order of appearance, without units that are left out."""
        units: dict[Hashable, list[ScoredRow]] = {}
        for number, row in enumerate(rows):
            units.setdefault(self.unit(row) if self.unit else number, []).append(row)
        return [unit for unit in units.values() if self.sees_unscored or all(row.is_scored for row in unit)]


class CannotAggregate(EyechartError):
    """The rows are not what an aggregate's official code takes: half of a pair, an unknown category."""


class Source(Protocol):
    """Where samples come from. Iterating reads lazily, and may be done more than once."""

    @property
    def name(self) -> str:
        """Short name, used for the run folder."""

    @property
    def origin(self) -> str:
        """Its location: a path, a hub id, a package."""

    def __iter__(self) -> Iterator[Sample]:
        """Samples in published order."""


Prompt: TypeAlias = Callable[[Sample], Sequence[Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """A file of replies that something else collected.

    `source` holds the questions where the file brings them along; `skipped` the ids of entries that the
    format's own scorer leaves out.
    """

    by_id: Mapping[str, Reply]
    source: Source | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # id to the reason


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One reply in another tool's log, or why there is none."""

    id: str
    where: str  # names the entry in messages
    trial: int = 0
    reply: Reply | None = None
    failure: str = ""
    position: int | None = None  # in its data set, counted from 0, where the entry has no other name
    asked: str = ""  # the text of the question as it was sent
    sample: Sample | None = None  # the question, where the file brings it along with its answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLog:
    """A log file of another tool: which model was asked what, and every reply."""

    tool: str
    task: str  # the benchmark's name in it
    model: str
    entries: Sequence[LogEntry]


@dataclass(frozen=True, slots=True)
class FileSigns:
    """What the beginning of a file shows: the keys of its first object, or the members of an archive."""

    shape: Literal["object", "list", "archive"]
    names: frozenset[str]
    is_complete: bool = True  # False: further keys may follow, behind values that may be large


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What a conversion wrote."""

    annotations: Path
    n_rows: int
    n_images: int


class Converter(Protocol):
    """Writes a data set's original as the files that its benchmark reads, below the folder `out`."""

    def __call__(
        self, source: str, out: Path, *, force: bool = False, progress: Callable[[int], None] | None = None
    ) -> Converted: ...


LogReader = Callable[[Path, bool], ReplyLog]  # path, and whether the questions are wanted too
LogFormat = Callable[[FileSigns], LogReader | None]  # None: the file is of another format


@dataclass(frozen=True, slots=True)
class Card:
    """Facts about a published benchmark: no number depends on them. ``eyechart data list`` shows them."""

    group: str = ""  # charts, documents, math, ...
    size: str = ""  # how many questions
    paper: str = ""  # a URL
    licence: str = ""  # of the data, as its page states it
    _: KW_ONLY
    file: str = ""  # VLMEvalKit's name of the file, without its suffix
    files: tuple[str, ...] = ()  # other names of it
    hub: tuple[str, ...] = ()  # its parts on the hub: ORG/NAME:config/split, or ORG/NAME:file
    copies: tuple[str, ...] = ()  # the same elsewhere on the hub
    url: str = ""  # of the file, where it is not on the hub
    images: str = ""  # where the hub keeps the images apart: a config/split, or an archive
    metric: str = ""  # the published number, in words
    parity: str = ""  # with which kits the verdicts agree
    note: str = ""  # what differs from the kits or between them, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A source, a prompt, a scorer, and how the numbers are grouped.

    `judged_scorer` takes the scorer's place in a run that has a judge. `official` are the options of a run
    (by the names of `Options`) with which the authors' own pipeline asks and scores: ``--parity`` sets them.
    A run of a benchmark that `needs_images` is refused if no sample has one, except with ``--input none``.
    """

    name: str = ""  # by default that of its declaration
    source: Source
    prompt: Prompt
    scorer: str = "default"
    judged_scorer: str = ""
    group_by: tuple[str, ...] = ("split", "l2-category", "category")
    macro: str = (
        ""  # one of these: the mean over its groups, each counting the same, is shown beside the score
    )
    aggregate: str = ""  # an `Aggregate`: the official number, where it is not the mean over rows
    # Columns whose equal values belong together, besides samples with the same image and rotations of one
    # question: intervals then count them as one cluster.
    cluster: tuple[str, ...] = ()
    circular: Literal["", "headline", "beside"] = ""  # all rotations right: the number, or one beside it
    official: Mapping[str, Any] = field(default_factory=dict)
    # With what its kit asks, by the names of `Options`: used if the run sets nothing and the model takes it.
    sampling: Mapping[str, Any] = field(default_factory=dict)
    files: str = ""  # the exporter that writes the pipeline's own result files
    needs_images: bool = False
    # Reads the questions out of a file of replies, where a pipeline copies them there.
    read_questions: Callable[[Path], Source] | None = None
    read_replies: Callable[[Path], Replies] | None = None  # its own format of replies, besides ours
    settings: Mapping[str, Any] = field(default_factory=dict)  # its own options as they stand, for the record
    prompt_settings: tuple[str, ...] = ()  # those that only shape its prompt: nothing under another one
    about: str = ""
    card: Card = field(default_factory=Card)

    def __post_init__(self) -> None:
        _check_benchmark(self)


def _check_benchmark(benchmark: Any) -> None:
    if isinstance(benchmark.group_by, str):
        wrong = "group_by is a tuple of keys, not a text"
        hint = f"write group_by=({benchmark.group_by!r},)"
    elif benchmark.macro and benchmark.macro not in benchmark.group_by:
        wrong = f"macro is {benchmark.macro!r}, which is not one of group_by"
        hint = f"the mean is over these groups: {', '.join(benchmark.group_by)}"
    elif isinstance(benchmark.cluster, str):
        wrong = "cluster is a tuple of columns, not a text"
        hint = f"write cluster=({benchmark.cluster!r},)"
    elif benchmark.circular not in ("", "headline", "beside"):
        wrong = f"circular is 'headline' or 'beside', not {benchmark.circular!r}"
        hint = "leave it empty where rotations do not count as one question"
    elif isinstance(benchmark.source, str | Path | list | tuple):
        wrong = f"source is a Source, not a {type(benchmark.source).__name__}"
        hint = "ec.load(...) makes one from a file; to write your own, implement eyechart.Source"
    else:
        return
    raise UsageError(f"{benchmark.name or 'benchmark'}: {wrong}", hint=hint)


class Results(Protocol):
    """A run's results, read anew at every call, in the benchmark's order."""

    def __call__(self, trial: int | None = None) -> Iterable[Result]:
        """Those of one trial, counted from 0; of every trial of every sample where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The argument of an exporter, which writes a pipeline's own result files."""

    folder: Path  # where the files go; it exists
    manifest: Mapping[str, Any]  # benchmark, model, trials, settings, ... of the run
    results: Results  # as often as wanted; one trial's rows are cheaper than all
    full_images: bool = False  # files that can contain the images as they were sent should
    # What else was asked for a result, as the journal keeps it: earlier rounds, judges, searchers.
    find_calls: Callable[[Result], Sequence[Any]] = lambda result: ()
    numbers: Mapping[str, Any] = field(default_factory=dict)  # of the run, as ``--json`` prints them
    started_at: float = 0.0  # when the run was last started, in seconds since 1970
    settings: Mapping[str, str] = field(default_factory=dict)  # what only its user can say: an organisation


Exporter: TypeAlias = Callable[[Export], Sequence[Path]]
