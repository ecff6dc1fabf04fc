"""report.html: a run as one page, from the headline down to every sample.

Python writes the data, assets/run_page.js and assets/samples.js show it. Three kinds of blocks
(report/page.py): the numbers with a short line per sample, the samples in full in blocks of a few hundred,
and the images. So the page shows its numbers and its list at once, and reads a sample's block when the
sample is opened or searched.

The budget of a page, whatever the run's size: about 8.5 MB of images (report/page.py), and texts that
are shortened in the middle where all replies together would exceed `MAX_CHARS`.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.images.boxes import Box, describe_boxes, read_boxes
from eyechart.data.images.loading import ImageLoader
from eyechart.models.prices import Price, format_usd
from eyechart.report.choices import LetterPairs
from eyechart.report.conditions import hide_folders, is_path
from eyechart.report.counting import MAX_VALUES, NO_VALUE, OTHER_VALUES, find_group, get_group_order
from eyechart.report.looks import list_crop_boxes, list_turns, read_look, tell_crop, tell_reply
from eyechart.report.page import ImagePolicy, ImageTable, PageWriter, make_page_images, open_page
from eyechart.report.rows import compute_cost, describe_speed, explain_outcome, get_facts, to_json_text
from eyechart.report.summary import Summary, Thoughts
from eyechart.report.table import list_metric_cells, list_metrics, list_spent
from eyechart.types import OUTCOMES, ImageRef, Result, Sample

MAX_CHARS = 60_000_000  # of all replies in a page
_LEAST_CHARS, _MOST_CHARS = 600, 20_000  # of one reply
_BLOCK_ROWS, _BLOCK_CHARS = 250, 1_000_000
_FEW_ROWS = 1000  # up to here, time at the end of a run is spent on a smaller file
_TITLE_CHARS = 110
_BRIEF_CHARS = 40
_MAX_META, _META_CHARS = 30, 300  # columns of the data set that are shown with a sample, and of each
MAX_LETTER_PAIRS = 5000  # above, the shares of the letters stand without a p-value, which takes long
PENDING = "pending"
RUN = "run"  # the key of the groups of several runs on one page
CODES = {outcome: code for code, outcome in enumerate((*OUTCOMES, PENDING))}
_TOLD_BY_ANSWERS = frozenset({"correct", "wrong", "partial"})
# What makes a text differ from its source when Markdown and formulas are shown.
_MARKDOWN = re.compile(r"\*\*|__|`|\$|\\[(\[]|^ *(?:#{1,6}|[-*+>]|\d+[.)]) |^ *\|", re.MULTILINE)
_NOT_SENT = ("none", "caption", "ocr")  # inputs without an image


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A score to compare the headline with: that of guessing, or without the image."""

    name: str
    score: float
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFacts:
    """What a page needs to know about a run to show its samples."""

    manifest: Mapping[str, Any]
    n_rows: int  # sample-trials
    price: Price | None = None

    @property
    def replaced_input(self) -> str:
        return str((self.manifest.get("options") or {}).get("input") or "image")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts(SampleFacts):
    """What a page says about a run besides its samples."""

    name: str  # of its folder
    summary: Summary
    conditions: Mapping[str, str] = field(default_factory=dict)  # by name (report.conditions)
    started_at: float = 0.0  # seconds since 1970
    levels: Sequence[Level] = ()
    notes: Sequence[str] = ()  # what a reader must know before the numbers
    asked: Sequence[Mapping[str, Any]] = ()  # the first request, as an example of the prompt


def write_run_page(
    path: str | Path,
    about: SampleFacts,
    results: Iterable[Result],
    gather_facts: Callable[[], RunFacts],
    loader: ImageLoader,
    policy: ImagePolicy,
) -> int:
    """Write the page; `results` are all sample-trials in the benchmark's order.

    `gather_facts` is called after the last of them: they may have been counted on the way. Returns how many
    images could not be read.
    """
    is_fast = policy.max_s is not None and about.n_rows > _FEW_ROWS
    title = f"{about.manifest.get('benchmark', '')} · {about.manifest.get('model', '')} · eyechart"
    with open_samples_page(path, title, about, loader, policy, is_fast=is_fast) as samples:
        for result in results:
            samples.add(result)
        told = describe_run(gather_facts(), samples)
        samples.told = {"kind": "run", "letters": samples.letters.compare("image"), **told}
    return samples.n_unreadable


@contextmanager
def open_samples_page(
    path: str | Path,
    title: str,
    about: SampleFacts,
    loader: ImageLoader,
    policy: ImagePolicy,
    *,
    is_fast: bool = False,
    **how: Any,
) -> Iterator[SampleBlocks]:
    """A page to fill with samples, `how` as for `SampleBlocks`; at the end of the block images are added."""
    with open_page(path, title, is_fast=is_fast) as page:
        samples = SampleBlocks(page, about, keeps_images=policy.is_full, **how)
        yield samples
        index = samples.close()
        images = {**samples.write_images(loader, policy), "full": policy.is_full}
        page.add_json("data", {**samples.told, "index": index, "images": images})


# -- Samples


class Detail(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One sample-trial in full; assets/samples.js makes the card of it."""

    id: str
    outcome: str
    question: str
    trial: int = 0
    hint: str = ""
    choices: list[tuple[str, str]] = []
    options: str = ""  # as one text, where the file has them so
    golds: Sequence[str] = ()
    reply: str | None = None
    thinking: str = ""
    read: str | None = None
    route: str = ""
    why: str = ""  # where it is not said by what was read, by which rule, and what is accepted
    meta: Mapping[str, Any] = {}
    latency_s: float = 0.0
    speed: str = ""  # of a reply that arrived in parts
    tokens: tuple[int, int] | None = None  # of the prompt and of the reply
    cost: str = ""
    finish: str = ""  # why the reply ended, unless it was complete
    evidence: str = ""
    place: str = ""  # the part of the reply that the answer was read from
    images: list[tuple[int, str]] = []  # number and caption
    boxes: list[Box] = []  # on its one image
    turns: list[tuple[str, str]] = []  # of a look run: the dialogue before the reply
    cut: bool = False
    beside: Mapping[str, Any] | None = None  # the answer of the other run of a comparison


class SampleBlocks:
    """Writes sample-trials in blocks: in full, and beside each such block the short lines of the list.

    What stays in memory does not grow with the samples, but for a number per image.
    """

    def __init__(
        self,
        page: PageWriter,
        about: SampleFacts,
        *,
        keeps_images: bool = False,
        groups: Iterable[str] | None = None,
        n_rows: int | None = None,
    ) -> None:
        self.images = ImageTable(keeps_all=keeps_images)
        self.letters = LetterPairs(at_most=MAX_LETTER_PAIRS)
        self.n_cut = 0
        self._page = page
        self.begin_run(about)
        self._limit = min(_MOST_CHARS, max(_LEAST_CHARS, MAX_CHARS // max(1, n_rows or about.n_rows)))
        self._rows: list[Detail] = []
        self._codes: list[int] = []  # of their outcomes
        self._n_chars = 0
        self._starts: list[int] = []  # the first row of each block
        self._n = 0
        keys = about.manifest.get("group_by") or () if groups is None else groups
        self._groups: dict[str, dict[str, int]] = {str(key): {} for key in keys}  # by number
        self._group_rows: dict[str, list[int]] = {key: [] for key in self._groups}
        self._digest = hashlib.sha256()
        self.told: dict[str, Any] = {}  # what else the page says
        self.n_unreadable = 0  # images

    def begin_run(self, about: SampleFacts, name: str = "") -> None:
        """The samples that follow are of this run; on a page of several it has a name."""
        self._price = about.price
        self._replaced_input = about.replaced_input
        self._run = name

    def add(
        self, result: Result, *, code: int | None = None, beside: Mapping[str, Any] | None = None
    ) -> None:
        """Add one sample-trial. `code` replaces that of its outcome, `beside` is another run's answer."""
        detail = self.describe(result)
        detail.beside = beside
        if not self._rows:
            self._starts.append(self._n)
        self._rows.append(detail)
        self._codes.append(CODES[detail.outcome] if code is None else code)
        self._n += 1
        self._n_chars += len(detail.question) + len(detail.reply or "") + len(detail.thinking)
        for key, numbers in self._groups.items():
            value = self._run if key == RUN else find_group(result.sample, key)
            if value not in numbers and len(numbers) >= MAX_VALUES:
                value = OTHER_VALUES
            self._group_rows[key].append(numbers.setdefault(value, len(numbers)))
        self.letters.add(result)
        if not result.trial:
            self._digest.update(_write_question(result.sample))
        if len(self._rows) >= _BLOCK_ROWS or self._n_chars >= _BLOCK_CHARS:
            self._write_block()

    def close(self) -> dict[str, Any]:
        """Write the last block; returns what the page needs to find the others."""
        self._write_block()
        groups = {}
        for key, numbers in self._groups.items():
            if numbers.keys() - {NO_VALUE}:
                order = [numbers[name] for name in sorted(numbers, key=get_group_order)]
                groups[key] = {"names": list(numbers), "order": order}
        return {"n": self._n, "starts": self._starts, "groups": groups, "cut": self.n_cut}

    def write_images(self, loader: ImageLoader, policy: ImagePolicy) -> dict[str, Any]:
        """Write the images; how many there are, why some could not be read, and sizes for boxes."""
        n_shown, troubles, sizes = 0, {}, {}
        for image in make_page_images(self.images, loader, policy):
            if image.trouble:
                troubles[str(image.number)] = hide_folders(image.trouble)
                continue
            self._page.add_image(f"i{image.number}", image.mime, image.data)
            n_shown += 1
            if image.size is not None:
                sizes[str(image.number)] = image.size
        self.n_unreadable = len(troubles)
        return {"n": len(self.images), "shown": n_shown, "troubles": troubles, "sizes": sizes}

    @property
    def data_hash(self) -> str:
        """Of all questions, options and accepted answers, in order."""
        return self._digest.hexdigest()

    def _write_block(self) -> None:
        if self._rows:
            number = len(self._starts) - 1
            self._page.add_json(f"b{number}", self._rows)
            self._page.add_json(f"x{number}", self._list_lines())
        self._rows, self._codes, self._n_chars = [], [], 0
        self._group_rows = {key: [] for key in self._groups}

    def _list_lines(self) -> dict[str, Any]:
        """What the list shows of the rows of a block, by column."""
        rows = self._rows
        return {
            "ids": [one.id for one in rows],
            "trials": [one.trial for one in rows],
            "outcomes": self._codes,
            "titles": [one.question[:_TITLE_CHARS] for one in rows],
            "reads": [one.read and one.read[:_BRIEF_CHARS] for one in rows],
            "golds": [one.golds[0][:_BRIEF_CHARS] if one.golds else "" for one in rows],
            "latency": [one.latency_s or None for one in rows],
            "tokens": [one.tokens and one.tokens[1] for one in rows],
            "pictures": [one.images[0][0] if one.images else -1 for one in rows],
            "groups": self._group_rows,
        }

    def describe(self, result: Result) -> Detail:
        """The sample-trial in full, with the numbers of its images."""
        detail = describe_result(result, self._limit, self._price)
        sample = result.sample
        if sample.images:
            crops = list_crop_boxes(result, 0) if len(sample.images) == 1 else []
            detail.boxes = [*read_boxes(sample), *crops]
            detail.images = self._list_images(result, detail.boxes, is_right=detail.outcome == "correct")
        self.n_cut += detail.cut
        self._page.has_markdown = self._page.has_markdown or _MARKDOWN.search(detail.reply or "") is not None
        return detail

    def _list_images(self, result: Result, boxes: Sequence[Box], *, is_right: bool) -> list[tuple[int, str]]:
        refs = result.sample.images
        sent = [record for record in result.sent if "parent" not in record.get("look", ())]
        replaced, drawn = self._replaced_input, describe_boxes(boxes) if boxes else ""
        found = []
        for place, ref in enumerate(refs):
            record = sent[place] if len(sent) == len(refs) else {}
            content = str(record.get("sha256") or "") if replaced == "image" else ""
            number = self.images.add(ref, is_right, is_boxed=bool(boxes), content=content)
            if replaced in _NOT_SENT:
                caption = f"not sent (--input {replaced})"
            elif replaced == "blank":
                caption = "a blank image was sent in its place"
            else:
                caption = _describe_image(ref, record)
            found.append((number, " · ".join(filter(None, (caption, drawn)))))
        return [*found, *self._list_crops(result, is_right=is_right)]

    def _list_crops(self, result: Result, *, is_right: bool) -> Iterator[tuple[int, str]]:
        """The crops of a dialogue, cut from the originals for the page."""
        for place, record in enumerate(result.sent):
            shown = record.get("look") or {}
            if "parent" not in shown:
                continue
            ref = next((one for one in result.sample.images if str(one) == record.get("origin")), None)
            if ref is not None and ref.box is None:
                x1, y1, x2, y2 = shown["box"]
                crop = replace(ref, box=(x1, y1, x2 - x1, y2 - y1))
                yield self.images.add(crop, is_right), tell_crop(place, shown)


def describe_result(result: Result, limit: int = _MOST_CHARS, price: Price | None = None) -> Detail:
    """A sample-trial in full, without its images; texts longer than `limit` are shortened in the middle."""
    outcome = result.outcome or PENDING
    sample, reply, score = result.sample, result.reply, result.score
    detail = Detail(
        id=sample.id,
        trial=result.trial,
        outcome=outcome,
        question=_cut(sample.question, limit),
        hint=_cut(sample.hint, limit),
        choices=list(sample.choices.items()),
        options="" if sample.choices else _cut(sample.choices_text, limit),
        golds=sample.golds,
        meta=_limit_meta(get_facts(sample) if sample.withheld else sample.meta),
    )
    if read_look(result) is not None:
        detail.turns = [(role, _cut(text, limit)) for role, text in list_turns(result.asked)]
    if score is not None:
        detail.read, detail.route = score.read, hide_folders(score.route)
        evidence = score.detail.get("evidence")
        detail.place = evidence if isinstance(evidence, str) and len(evidence) <= _MOST_CHARS else ""
    if outcome not in _TOLD_BY_ANSWERS or (score is not None and "fields" in score.detail):
        detail.why = hide_folders(_shorten(explain_outcome(result), 1000))
    if result.failure is not None and result.failure.partial:
        detail.why += f" What had come of the reply: {_cut(result.failure.partial, limit)}"
    if reply is not None:
        said = tell_reply(result)
        detail.reply, detail.thinking = _cut(said, limit), _cut(reply.thinking, limit)
        detail.cut = detail.reply is not said or detail.thinking is not reply.thinking
        detail.latency_s = round(reply.latency_s, 6)
        detail.speed = describe_speed(reply) if reply.first_token_s is not None else ""
        if reply.finish_reason != "stop":
            detail.finish = reply.finish_reason or "none given"
        if usage := reply.usage:
            detail.tokens = (usage.prompt_tokens, usage.completion_tokens)
            if price is not None:
                detail.cost = format_usd(compute_cost(result, price) or 0.0)
        if reply.evidence:
            detail.evidence = _shorten(to_json_text(reply.evidence), 600)
    return detail


def _cut(text: str, limit: int) -> str:
    """The text, shortened in the middle: replies end with the answer."""
    more = len(text) - limit
    if more <= 0:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n[… {more:,} characters …]\n{text[head + more :]}"


def _limit_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The first columns of the data set, long values shortened, absolute paths without their folders."""
    return {
        str(key): value if type(value) in (int, float) else _show_cell(value)
        for key, value in itertools.islice(meta.items(), _MAX_META)
        if value is not None
    }


def _show_cell(value: Any) -> str:
    if not isinstance(value, str):
        return _shorten(hide_folders(to_json_text(value)), _META_CHARS)
    shown = hide_folders(value) if is_path(value) else value
    return shown if len(shown) <= _META_CHARS else _shorten(shown, _META_CHARS)


def _shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _write_question(sample: Sample) -> bytes:
    parts = [sample.id, sample.question]
    for option in sample.choices.items():
        parts += option
    parts += ("", *sample.golds)
    return "\0".join(parts).encode("utf-8", "surrogatepass") + b"\1"


def _describe_image(ref: ImageRef, sent: Mapping[str, Any]) -> str:
    """Size, changes and name of an image."""
    told = [f"{sent['width']}×{sent['height']}"] if sent.get("width") else []
    if sent.get("resized"):
        told.append("resized")
    if ref.kind == "file":
        told.append(ref.location.replace("\\", "/").rpartition("/")[2])
    elif ref.kind == "url":
        told.append(_shorten(ref.location.partition("?")[0].rstrip("/").rpartition("/")[2], 80))
    if ref.box is not None:
        told.append("crop {}, {}, {}×{}".format(*ref.box))
    return " · ".join(told)


# -- The run


def describe_run(facts: RunFacts, samples: SampleBlocks) -> dict[str, Any]:
    """Everything above the samples."""
    summary = facts.summary
    overall = summary.overall
    levels = [Level(name="chance", score=overall.chance)] if overall.chance is not None else []
    trials = []
    if (over := summary.trials) is not None:
        trials.append(f"{100 * over.mean:.1f} ± {100 * over.std:.1f} over {over.k} trials")
        trials += [f"{name} {100 * value:.1f} %" for name, value in over.list_facts()]
    return {
        "benchmark": summary.benchmark,
        "model": hide_folders(summary.model),
        "about": hide_folders(str(facts.manifest.get("about") or "")),
        "name": facts.name,
        "overall": overall.to_json(),
        "also": {hide_folders(name): group.to_json() for name, group in summary.also.items()},
        "by": summary.to_json()["by"],
        "levels": [*levels, *facts.levels],
        "notes": [hide_folders(one) for one in (*facts.notes, *summary.remarks)],
        "trials": trials,
        "metrics": [
            *list_metrics(summary, with_table=False),
            *(summary.looks.lines() if summary.looks else ()),
        ],
        "metric_table": list_metric_cells(summary.metrics) if summary.metrics else [],
        "judge": list(summary.judge.lines()) if summary.judge else [],
        "conditions": list(list_conditions(facts, samples.data_hash)),
        "prompt": [{"role": role, "text": text[:_MOST_CHARS]} for role, text in list_turns(facts.asked)],
        "eyechart": summary.version,
    }


def list_conditions(facts: RunFacts, data_hash: str = "") -> Iterator[tuple[str, str]]:
    """Under which conditions the score was measured, and what it took: enough to repeat the run."""
    summary = facts.summary
    yield from ((name, hide_folders(value)) for name, value in facts.conditions.items())
    if data_hash:
        yield "data hash", f"sha256 {data_hash[:16]}"
    if facts.started_at:
        started = datetime.fromtimestamp(facts.started_at, UTC)
        yield "date", f"{started:%Y-%m-%d %H:%M} UTC"
    told = summary.to_json()
    yield from (*list_thoughts(told), *list_spent(told))
    yield "eyechart", summary.version
    yield "run", facts.name


def list_thoughts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Whether the scorer saw the thoughts in replies, from a summary as JSON has it."""
    if thinking := summary.get("thinking"):
        yield "thinking", "; ".join(Thoughts(**thinking).lines())
