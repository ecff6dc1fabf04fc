"""Estimate a run: how many requests it would send, of how many bytes and tokens, and what they would cost.

The samples go through the steps of a real run up to the request: read, rendered, images found. Nothing is
sent or written, and of the images only the sizes are read.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from eyechart.data.images.loading import Measurer
from eyechart.engine.prepare import Prepared
from eyechart.look.crops import Rules
from eyechart.look.dialogue import Ask, start
from eyechart.look.wording import WORDS, fill_words
from eyechart.models.environment import NO_KEY
from eyechart.models.prices import PER_MESSAGE, Price, count_text_tokens, find_image_rule, format_usd
from eyechart.runs.evaluate import open_earlier
from eyechart.runs.inputs import make_loader
from eyechart.runs.models import choose_models
from eyechart.runs.options import Options
from eyechart.runs.plan import Plan, has_shared_requests, make_plan, make_preparer
from eyechart.runs.shards import select_shard
from eyechart.runs.sources import watch_samples
from eyechart.store.batches import BatchLog, has_pending
from eyechart.store.folder import EarlierRuns
from eyechart.store.journal import FILE_NAME
from eyechart.store.reader import list_tasks
from eyechart.terminal import make_counter
from eyechart.types import (
    MODELS_TURN,
    Benchmark,
    Image,
    ImageRef,
    JudgedScorer,
    Limited,
    Message,
    Model,
    Request,
    Sample,
    Source,
    Usage,
    read_capabilities,
)
from eyechart.validate import check_samples

SHORT_REPLY = 10  # tokens of a letter, a number, a few words
LONG_REPLY = 1000  # tokens of a reply that reasons first, if no limit is set
JUDGE_WORDING = 400  # tokens of the judge's instructions
JUDGE_REPLY = 200  # tokens of a verdict with its reason, at most
FIRST_TOKEN_S = 1.0  # until a reply begins: upload, queue, reading the image
TOKENS_PER_S = 50.0  # of one reply while it is written

_PER_REQUEST = 100  # bytes of a body besides the messages
_PER_PART = 45  # bytes around a text or an image
_LIMITS = ("max_completion_tokens", "max_tokens", "max_new_tokens")
_REASONS = 5  # shown of samples that would fail


@dataclass(frozen=True, slots=True)
class Looks:
    """What the dialogues of a look run add at most to one request for each question."""

    requests: int = 0
    prompt_tokens: int = 0
    searcher_requests: int = 0
    searcher_tokens: int = 0  # of the prompts

    def __add__(self, other: Looks) -> Looks:
        return Looks(*map(operator.add, astuple(self), astuple(other)))


Size = Counter[str]  # text_tokens, image_tokens, bytes and images of a request


@dataclass(kw_only=True, eq=False)
class Estimate:
    """What a run would still send. Pairs are the lowest and the highest estimate."""

    plan: Plan = field(repr=False)
    n: int = 0  # samples
    answered: int = 0  # sample-trials that already have a reply
    batched: int = 0  # sample-trials that a pending batch asks
    failing: int = 0  # sample-trials that cannot be asked
    reasons: list[str] = field(default_factory=list)  # the first few of them
    requests: int = 0
    replies: int = 0
    bytes: int = 0  # of all requests
    images: int = 0
    text_tokens: int = 0
    image_tokens: int = 0
    looks: Looks = Looks()  # what comes on top if every question takes all looks

    def __post_init__(self) -> None:
        plan, identity = self.plan, self.plan.model.identity
        self.benchmark, self.model, self.run = plan.benchmark.name, plan.model.name, str(plan.folder)
        self.trials, self.prices = plan.options.trials, dict(plan.prices)
        self.measurer = Measurer(make_loader(plan.options))
        self.n_assumed = 0  # images of unknown size
        self._rule = find_image_rule(plan.model.name)
        self._detail = str(identity.get("image_detail") or "")
        limits = (identity[name] for name in _LIMITS if isinstance(identity.get(name), int))
        self._limit: int | None = next(limits, None)
        self._capabilities = read_capabilities(plan.model)
        self._is_free = self._capabilities.is_free
        most = plan.options.concurrency
        self._n_at_once = min(most, self._capabilities.max_concurrency or most)
        scorers = (plan.scorers.scorer, *plan.scorers.also_scorers)
        self._judged = [one for one in scorers if isinstance(one, JudgedScorer)]
        self._apart_tokens = 0  # of the prompts, if every reply takes its own request
        self._judged_replies = 0
        self._judge_text = 0

    @property
    def prompt_tokens(self) -> int:
        """Of text and images together."""
        return self.text_tokens + self.image_tokens

    @property
    def image_rule(self) -> str:
        return self._rule.name

    def to_json(self) -> dict[str, Any]:
        plain = "run benchmark model n trials answered batched failing bytes images image_rule reasons"
        return {
            **{name: getattr(self, name) for name in plain.split()},
            "requests": {"sent": self.requests, "judge": list(self.judge_requests)},
            "tokens": {
                "prompt": self.prompt_tokens,
                "text": self.text_tokens,
                "image": self.image_tokens,
                "completion": list(self.completion_tokens),
                "judge": list(self.judge_tokens),
            },
            **({"looks_at_most": asdict(self.looks)} if self.looks.requests else {}),
            "cost": self.cost and list(self.cost),
            "time_s": self.time_s and list(self.time_s),
            "prices": {who: price and price.to_json() for who, price in self.prices.items()},
            "assumptions": list(self.assumptions),
        }

    # -- Adding up the requests

    def add(self, items: Sequence[Prepared]) -> None:
        """Add the trials of one sample that would be asked."""
        requests = [item.request for item in items if item.request is not None]
        if not requests:
            return
        first = requests[0]
        if self.plan.look is not None:
            for request in requests:
                self._add_dialogue(request, self.plan.look.rules)
        elif MODELS_TURN in first.messages and not self._capabilities.takes_rounds:
            for request in requests:
                self._add_rounds(request.messages)
        else:
            self._add_request(self._size(first.messages), n_replies=len(requests))
        if self._judged and self.plan.scorers.judge_setup:
            sample, n = first.sample, len(requests)
            asked = items[0].task.sample.question
            words = "\n".join((asked, *sample.choices.values(), sample.choices_text))
            self._judged_replies += n
            self._judge_text += n * (count_text_tokens(words) + JUDGE_WORDING)

    @property
    def _most_prompt_tokens(self) -> int:
        """If every reply takes its own request, and every question all looks."""
        return self._apart_tokens + self.looks.prompt_tokens

    @property
    def completion_tokens(self) -> tuple[int, int]:
        """If all replies are short, and if all have the maximum length."""
        if self._is_free:
            return 0, 0
        longest = LONG_REPLY if self._limit is None else self._limit
        return self.replies * min(SHORT_REPLY, longest), (self.replies + self.looks.requests) * longest

    @property
    def time_s(self) -> tuple[float, float] | None:
        """Seconds, if all replies are short, and if all have the maximum length; rate limits are kept."""
        options = self.plan.options
        if not self._capabilities.is_endpoint or options.batch or not self.requests:
            return None
        ends = []
        for end in (0, 1):
            n_rounds = math.ceil(self.requests / self._n_at_once)
            by_replies = n_rounds * (
                FIRST_TOKEN_S + self.completion_tokens[end] / self.replies / TOKENS_PER_S
            )
            n_tokens = self.prompt_tokens + self.completion_tokens[end]
            by_requests = 60 * (self.requests - 1) / options.rpm if options.rpm else 0.0
            by_tokens = 60 * n_tokens / options.tpm if options.tpm else 0.0
            ends.append(max(by_replies, by_requests, by_tokens))
        return ends[0], ends[1]

    @property
    def judge_requests(self) -> tuple[int, int]:
        """None if rules can decide everything; at most one per verdict and judge."""
        needed = sum(bool(getattr(getattr(one, "scorer", one), "needs_judge", False)) for one in self._judged)
        n_judges, options = len(self.plan.scorers.judges), self.plan.options
        n_asked = self._judged_replies * n_judges
        aside = n_judges * min(self._judged_replies, options.judge_repeat + options.judge_check)
        return n_asked * needed, n_asked * len(self._judged) + aside

    @property
    def judge_tokens(self) -> tuple[int, int]:
        """Prompt and completion together."""
        return self._judge_usage(0).total_tokens, self._judge_usage(1).total_tokens

    @property
    def cost(self) -> tuple[float, float] | None:
        """In USD, the judge's share included; None if a price is not known."""
        nothing, prices, looks = Price(input=0.0, output=0.0), self.prices, self.looks
        is_free = self._is_free or not self.requests  # nothing to ask: free at any price
        model = nothing if is_free else prices.get("model")
        searcher = prices.get("searcher") if looks.searcher_requests else nothing
        judges = [prices.get(who) for who in self.plan.scorers.judges] if self.judge_requests[1] else []
        known = [price for price in judges if price is not None]
        if model is None or searcher is None or len(known) < len(judges):
            return None
        ends = []
        for end, n_prompt in enumerate((self.prompt_tokens, self._most_prompt_tokens)):
            judged = self._judge_usage(end)
            asked = Usage(prompt_tokens=n_prompt, completion_tokens=self.completion_tokens[end])
            # Several judges have equal shares.
            ends.append(model.cost(asked) + sum(price.cost(judged) / len(known) for price in known))
        searched = looks.searcher_requests * JUDGE_REPLY
        searches = Usage(prompt_tokens=looks.searcher_tokens, completion_tokens=searched)
        return ends[0], ends[1] + searcher.cost(searches)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the estimate assumes, as sentences."""
        return tuple(self._list_assumptions())

    def _list_assumptions(self) -> Iterator[str]:
        options = self.plan.options
        if self._is_free and not self.judge_requests[1]:
            yield "the model runs on this machine: its tokens cost nothing"
            return
        yield "text: one token per 4 characters, or per Chinese, Japanese or Korean character"
        if self.images:
            yield f"images: {self._rule.name}"
        if self.n_assumed:
            yield (
                f"images at URLs are not downloaded for an estimate: {self.n_assumed:,} of unknown size "
                "count as 1024 x 768"
            )
        longest = f"{self._limit:,} (the limit set)" if self._limit is not None else f"{LONG_REPLY:,}"
        yield f"replies: {min(SHORT_REPLY, self._limit or SHORT_REPLY)} to {longest} tokens each"
        if self.looks.requests:
            yield (
                f"looks: from none to {self.looks.requests // self.replies} per question, each request with "
                "all before it; repeated requests for a reply in the right form, and a searcher's own zooms, "
                "are not counted"
            )
        if self.replies > self.requests:
            yield (
                "trials: one request returns all of a sample; an endpoint with one reply per request "
                f"takes {self.replies:,} requests, about {self._most_prompt_tokens:,} tokens in"
            )
        if self.judge_requests[1]:
            each = " and judge" if len(self.plan.scorers.judges) > 1 else ""
            yield f"judge: at most one call per verdict{each}; rules decide what they can"
        if options.cache and self.requests:
            yield "replies in the response cache are not taken into account"
        if self.time_s is not None:
            limits = [f"--{name} {value:g}" for name in ("rpm", "tpm") if (value := getattr(options, name))]
            within = f" and {' and '.join(limits)}" if limits else ""
            yield (
                f"time: {self._n_at_once:,} requests in flight{within}, a second until a reply begins, "
                f"{TOKENS_PER_S:g} tokens per second; the endpoint's own rate limit is not known"
            )
        if options.batch:
            yield "batch: half the price of single requests; replies within 24 hours"
        for who, price in self.prices.items():
            if price is not None:
                as_of = f" as of {price.as_of}" if price.as_of else ""
                yield f"price of the {who}: {price.source}{as_of}"
            elif self.requests and not (who == "model" and self._is_free):
                yield f"price of the {who}: not known; --prices gives one"
        if options.max_cost is not None and self.cost and self.cost[1] > options.max_cost:
            yield f"--max-cost {format_usd(options.max_cost)} may stop the run before everything is asked"

    def _add_request(self, size: Size, *, n_replies: int) -> None:
        self.requests += 1
        self.replies += n_replies
        if not self._is_free:
            self._apart_tokens += n_replies * (size["text_tokens"] + size["image_tokens"])
            for name, n in (size + Size(bytes=_PER_REQUEST)).items():
                setattr(self, name, getattr(self, name) + n)

    def _add_rounds(self, messages: Sequence[Message]) -> None:
        """A conversation: each round repeats all earlier rounds, with short replies."""
        so_far = Size()
        for message in messages:
            if message == MODELS_TURN:
                self._add_request(so_far, n_replies=1)
                so_far += Size(text_tokens=SHORT_REPLY + PER_MESSAGE, bytes=4 * SHORT_REPLY)
            else:
                so_far += self._size((message,))
        self._add_request(so_far, n_replies=1)

    def _add_dialogue(self, request: Request, rules: Rules) -> None:
        """The first request of a dialogue, and what the largest dialogue adds."""
        words = fill_words(WORDS, rules)
        images = [part for turn in request.messages for part in turn.images if isinstance(part, Image)]
        question = "\n".join(turn.text for turn in request.messages)
        asked = next(start(question, _sizes(images) if images else [], rules, words))
        assert isinstance(asked, Ask)
        parts: list[str | Image] = [words[rules.protocol]] if rules.protocol != "search" else []
        for part in (part for turn in asked.turns for part in turn.parts):
            if isinstance(part, str):
                parts.append(part)
                continue
            image = images[part.source]
            n_bytes = image.n_bytes * math.prod(part.size) // math.prod(part.original)
            width, height = part.size
            parts.append(replace(image, width=width, height=height, n_bytes=n_bytes))
        first = self._size([Message("user", tuple(parts))])
        self._add_request(first, n_replies=1)
        n = rules.max_looks
        side = math.isqrt(int(rules.crop_max_area) or max(map(math.prod, _sizes(images))))
        longest = LONG_REPLY if self._limit is None else self._limit
        each = self._rule.tokens(side, side, self._detail) + longest + PER_MESSAGE
        more = n * (first["text_tokens"] + first["image_tokens"]) + each * n * (n + 1) // 2
        seen_side = math.isqrt(int(rules.searcher_area))
        seen = self._rule.tokens(seen_side, seen_side, self._detail) + JUDGE_WORDING
        searches = n if self.plan.look and self.plan.look.searcher else 0
        self.looks += Looks(n, 0 if self._is_free else more, searches, searches * seen)

    def _judge_usage(self, end: int) -> Usage:
        share = self.judge_requests[end] / max(1, self._judged_replies)
        read = self.completion_tokens[end] if self._judged_replies else 0  # the judge reads the replies
        per_call = (min(SHORT_REPLY, JUDGE_REPLY), JUDGE_REPLY)[end]
        return Usage(
            prompt_tokens=round(share * (self._judge_text + read)),
            completion_tokens=self.judge_requests[end] * per_call,
        )

    def _size(self, messages: Sequence[Message]) -> Size:
        if self._is_free:
            return Size()
        words = images = n_image_tokens = n_bytes = 0
        for message in messages:
            words += PER_MESSAGE
            for part in message.parts:
                n_bytes += _PER_PART
                if isinstance(part, str):
                    words += count_text_tokens(part)
                    n_bytes += len(part.encode("utf-8", "replace"))
                    continue
                images += 1
                if isinstance(part, ImageRef):  # a URL that is passed on as it is
                    n_bytes += len(part.location)
                    image = self.measurer.load(part)
                else:
                    n_bytes += 4 * ((part.n_bytes + 2) // 3)
                    image = part
                n_image_tokens += self._rule.tokens(image.width, image.height, self._detail)
        return Size(text_tokens=words, image_tokens=n_image_tokens, bytes=n_bytes, images=images)


def _sizes(images: Sequence[Image]) -> list[tuple[int, int]]:
    return [(one.width, one.height) for one in images] or [(1, 1)]


def estimate_run(source: str | Path | Benchmark | Source, model: str | object, **options: Any) -> Estimate:
    """Estimate what `run` with the same arguments would send, and its cost. Sends nothing.

    >>> estimate_run("demo", model="baseline/random", limit=5, progress=False).requests
    5
    """
    [(chosen, of_model)] = choose_models([model], options)
    return estimate(make_plan(source, chosen, drop_keys(of_model)))


def drop_keys(options: Options) -> Options:
    """The same options without keys, which an estimate does not need: nothing is sent."""
    key = NO_KEY if options.judge else None
    return replace(options, api_key=NO_KEY, api_key_env=None, judge_api_key=key, judge_api_key_env=None)


def estimate(plan: Plan, *, notes_shown: set[str] | None = None) -> Estimate:
    """Go through all samples of a plan as its run would, up to the requests.

    Findings in the data are printed, except those in `notes_shown`.
    """
    found = Estimate(plan=plan)
    quick, exact = found.measurer, Measurer(make_loader(plan.options), is_exact=True)
    journal, waiting = plan.folder / FILE_NAME, set[tuple[str, int]]()  # what pending batches ask
    if plan.options.batch and not plan.options.fresh and journal.is_file() and has_pending(journal):
        waiting = {(sample, trial) for sample, trial, _ in BatchLog(journal).pending_keys()}
    for n, items in _prepared(plan, quick, exact, notes_shown):
        found.n, left = n, []
        for item in items:
            sample = item.task.sample.id
            if item.failure is None and item.is_answered:
                found.answered += 1
            elif item.failure is None and (sample, item.task.trial) in waiting:
                found.batched += 1
            elif problem := item.failure.reason if item.failure else _find_problem(plan.model, item):
                found.failing += 1
                found.reasons += [f"{sample}: {problem}"] if len(found.reasons) < _REASONS else []
            else:
                left.append(item)
        found.add(left)
    found.n_assumed = quick.n_assumed + exact.n_assumed
    quick.close()
    return found


def _find_problem(model: Model, item: Prepared) -> str:
    """What would keep the model from being asked, if anything."""
    [model, *_] = getattr(model, "members", (model,))
    problem = model.find_problem(item.request) if isinstance(model, Limited) and item.request else None
    return " (".join(problem) + ")" if problem else ""


def _prepared(
    plan: Plan, quick: Measurer, exact: Measurer, notes_shown: set[str] | None
) -> Iterator[tuple[int, list[Prepared]]]:
    """Number and trials of each sample in turn; trials that would share a request come together."""
    options, together = plan.options, has_shared_requests(plan)
    prepare, prepare_exactly = make_preparer(plan, quick).prepare, make_preparer(plan, exact).prepare
    with contextlib.ExitStack() as stack:
        runs = [None if options.fresh else EarlierRuns([plan.folder / FILE_NAME])]
        if not read_capabilities(plan.model).is_free:
            journals = () if options.fresh else plan.earlier
            runs.append(open_earlier(plan.folder, options, plan.model.identity, journals))
        kept = [stack.enter_context(contextlib.closing(run)) for run in runs if run is not None]
        shown = _shown(plan, notes_shown)
        samples = enumerate(shown) if plan.shard is None else select_shard(plan, plan.shard, shown)
        for n, (position, sample) in enumerate(samples, start=1):
            replies = [row for run in kept for row in run.replied(sample.id, options.trials)]
            for task in list_tasks(position, sample, replies, options.trials, together=together):
                # Only a request that was sent before can be recognised by the content of its images.
                is_known = any(one.keys for one in (task, *task.siblings))
                item = (prepare_exactly if is_known else prepare)(task)
                yield n, [item, *item.siblings]


def _shown(plan: Plan, notes_shown: set[str] | None) -> Iterator[Sample]:
    """The samples; on a terminal, shows how many there were so far."""
    count = make_counter("samples read") if plan.options.progress else lambda n: None
    for n, sample in enumerate(check_samples(watch_samples(plan, notes_shown)), start=1):
        yield sample
        count(n)
