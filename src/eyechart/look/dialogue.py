"""The loops: what is asked next, given the replies so far.

Each loop is a generator. It yields an `Ask` (a request to the model) or a `Locate` (one to the searcher), is
sent the `Heard` or the `Found`, and returns an `Outcome`. It does no input or output and keeps no clock, so
the same replies always lead to the same dialogue, which can thus be resumed by sending them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from eyechart.look import crops, replies
from eyechart.look.crops import NOT_FOUND, Box, ProtocolError, Rules, Size, ToolError, View
from eyechart.look.replies import CALL, END_ANSWER, Call
from eyechart.thinking import split_thinking
from eyechart.types import ToolCall

TOOL = "image_zoom_in_tool"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a dialogue."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[str | View, ...]
    calls: tuple[ToolCall, ...] = ()  # of the assistant (C)
    answers: str = ""  # the id of the call whose result this is (C)


class Ask(NamedTuple):
    """What the model is asked."""

    turns: tuple[Turn, ...]
    max_tokens: int | None = None


class Locate(NamedTuple):
    """What the searcher is asked: where on a view this is."""

    view: View
    number: int
    description: str


class Heard(NamedTuple):
    """The model's reply."""

    text: str
    finish: str = "stop"
    calls: tuple[ToolCall, ...] = ()  # of the API's own tools (C)


class Found(NamedTuple):
    """The searcher's box, on the region at the size that it saw."""

    box: Box
    processed: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a dialogue ended."""

    stop: str | None
    answer: str | None = None
    is_critical: bool = False
    reasons: Sequence[str] = ()  # of the last round (A, A2), or of the failure (B)
    n_calls: int = 0
    turns: Sequence[Turn] = ()
    views: Sequence[View] = ()
    feedback: Sequence[str] = ()
    is_truncated: bool = False
    n_shrunk: int = 0
    prompt_tokens: int = 0

    @property
    def crops(self) -> list[View]:
        return [view for view in self.views if view.parent is not None]

    @property
    def said(self) -> list[Turn]:
        """The model's own turns."""
        return _list_said(self.turns)


def _list_said(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.role == "assistant"]


# It is sent `Heard` (None: the request failed) after an `Ask`, `Found` (None: no box) after a `Locate`.
Dialogue: TypeAlias = Generator[Ask | Locate, Any, Outcome]
Wording: TypeAlias = Mapping[str, str]


def _fill(text: str, number: int) -> str:
    return text.replace("{n}", str(number))


def start(question: str, sizes: Sequence[Size], rules: Rules, words: Wording) -> Dialogue:
    """The dialogue about a question with images of these sizes."""
    if rules.protocol != "search":
        return zoom_by_tool(question, sizes, rules, words)
    if len(sizes) == 1:
        return search_one(question, sizes[0], rules, words)
    several = {name: words[f"{name}_several"] for name in ("system", "format", "last")}
    return search_several(question, sizes, rules, {**words, **several})


def find_answer(outcome: Outcome, rules: Rules) -> tuple[int, int, int] | None:
    """Which of the model's turns has the answer that is scored, where it begins and ends; None: none has.

    In a search the authors score the last answer of any turn, also if the dialogue ended without one. With
    a zoom tool the last turn is the answer, whatever it says after its thoughts; but if it is a call, working
    or broken, only an answer in tags or a box counts.
    """
    said = [str(turn.parts[0]) for turn in outcome.said]
    last = len(said) - 1
    if rules.protocol == "search":
        first = 0 if not rules.strict else last if outcome.stop == "answered" else last + 1
        for is_tagged in (True, False):
            for number in range(last, first - 1, -1):
                if (span := replies.find_answer_span(said[number], is_tagged=is_tagged)) is not None:
                    return number, *span
        return None
    if not said or outcome.is_critical or (rules.strict and outcome.stop in LIMITS_REACHED):
        return None
    answer, _, tags = split_thinking(said[last])
    at = len(said[last]) - len(answer) - (len(tags[-1]) if tags else 0)
    span = replies.find_answer_span(answer, is_tagged=True) or replies.find_answer_span(
        answer, is_tagged=False
    )
    if span is None and CALL not in answer and not outcome.said[last].calls:
        begin = len(answer) - len(answer.lstrip())
        span = begin, len(answer.rstrip())
    return (last, at + span[0], at + span[1]) if span and span[0] < span[1] else None


LIMITS_REACHED = ("max_assistant_turns", "max_user_turns", "over the limit")


# -- Protocol A: one image, described regions.


@dataclass(frozen=True, slots=True)
class _Round:
    """What came of one user turn."""

    reply: str | None = None  # None: every attempt failed
    call: Call | None = None
    answer: str | None = None
    reasons: Sequence[str] = ()  # why attempts failed


def _ask_round(
    turns: list[Turn], rules: Rules, hint: str, read: Callable[[Heard], _Round], *, is_reset: bool = False
) -> Generator[Ask | Locate, Any, _Round]:
    """Ask until `read` has nothing against a reply. `is_reset`: bad replies are forgotten, without a hint."""
    reasons: list[str] = []
    bad: list[Turn] = []  # the last reply, before it is known whether there is another attempt
    for _ in range(rules.attempts):
        if bad and not is_reset:
            turns += [*bad, Turn("user", (hint,))]
            bad = []
        heard: Heard | None = yield Ask(tuple(turns))
        if heard is None:
            reasons.append("query_api_failed")
            continue
        found = read(heard)
        said = Turn("assistant", (found.reply or "",))
        if not found.reasons:
            turns.append(said)
            return replace(found, reasons=reasons)
        reasons += found.reasons
        bad = [said]
    turns += bad
    return _Round(reasons=reasons)


def _end(stop: str, last: _Round, turns: Sequence[Turn], **counts: Any) -> Outcome:
    return Outcome(
        stop=stop,
        answer=last.answer,
        is_critical=last.reply is None,
        reasons=last.reasons,
        turns=turns,
        **counts,
    )


def search_one(question: str, size: Size, rules: Rules, words: Wording) -> Dialogue:
    """InSight-o3: the model describes a region, the searcher finds it on the whole original."""
    view = crops.present_whole(size, rules.max_area)
    turns = [Turn("system", (words["system"],)), Turn("user", (view, question))]
    views, feedback, n_calls, is_last = [view], list[str](), 0, False

    def end(stop: str) -> Outcome:
        return _end(stop, current, turns, n_calls=n_calls, views=views, feedback=feedback)

    while True:
        read = partial(_read_described, rules=rules, has_called=n_calls > 0, is_last=is_last)
        current = yield from _ask_round(turns, rules, words["format"], read, is_reset=is_last)
        if current.reply is None:
            return end("request failed")
        if rules.feedback:
            feedback.append(str(replies.read_feedback(current.reply)))
        if current.call is None:
            return end("answered")
        n_calls += 1  # as published, also the one that is not followed
        if n_calls > rules.max_looks:
            return end("over the limit")
        found: Found | None = yield Locate(view, 0, current.call.description)
        if found is None and not rules.strict:
            return end("no box")
        crop = _cut_found(found, size, rules)
        # As published, the tag counts and not the call: a malformed one uses up the limit too.
        said = sum(CALL in str(turn.parts[0]) for turn in _list_said(turns))
        is_last = (n_calls if rules.strict else said) >= rules.max_looks
        hint = words["last" if is_last else "not_found" if crop is None else "crop"]
        shown = [] if crop is None else [replace(crop, label=current.call.description)]
        views += shown
        turns.append(Turn("user", (*shown, hint)))


def _read_described(heard: Heard, *, rules: Rules, has_called: bool, is_last: bool) -> _Round:
    described, answer = replies.read_description(heard.text), replies.read_boxed(heard.text)
    wrong = []
    if is_last and not answer:
        wrong.append(f"no_answer_in_last_round({heard.finish})")
    elif not is_last and not described and not answer:
        wrong.append(f"no_tool_call_nor_answer({heard.finish})")
    allowed = ("helpful", "unhelpful") if has_called else ("NA",)
    if rules.feedback and replies.read_feedback(heard.text) not in allowed:
        wrong.append(f"no_feedback({heard.finish})")
    is_answer = described is None or (rules.strict and bool(answer) and (is_last or not described))
    call = None if is_answer else Call(described or "")
    return _Round(heard.text, call, answer, ["+".join(wrong)] if wrong else ())


def _cut_found(found: Found | None, size: Size, rules: Rules) -> View | None:
    """The crop of a searcher's box; None: not found. A collapsed box is an error, or strictly not found."""
    if found is None or tuple(found.box) == NOT_FOUND:
        return None
    try:
        box = crops.to_original(found.box, found.processed, size)
    except ProtocolError:
        if not rules.strict:
            raise
        return None
    return crops.cut_region(size, box, rules)


# -- Protocol A2: several images, crops have numbers too.


def _present(sizes: Sequence[Size], question: str, rules: Rules, separator: str) -> tuple[list[View], Turn]:
    """The images of a question and its first turn."""
    views = []
    for source, size in enumerate(sizes):
        whole = View(source=source, original=size, box=(0, 0, *size))
        views.append(
            crops.show(whole, crops.present_small(size, min(rules.scale, 1.0), rules.max_area), rules)
        )
    return views, _first_turn(views, question, separator)


def _first_turn(views: Sequence[View], question: str, separator: str) -> Turn:
    parts: list[str | View] = []
    for number, view in enumerate(views):
        parts += [*([separator] if number else []), f"Image {number}:", view]
    return Turn("user", (*parts, question))


def search_several(question: str, sizes: Sequence[Size], rules: Rules, words: Wording) -> Dialogue:
    """InSight-o3's later form: a description and the number of an image or a crop."""
    views, first = _present(sizes, f"\n\n{question}", rules, words["separator"])
    turns, n_calls = [Turn("system", (words["system"],)), first], 0
    while True:
        read = partial(_read_indexed, is_strict=rules.strict, is_last=n_calls >= rules.max_looks)
        current = yield from _ask_round(turns, rules, words["format"], read)
        if current.call is None:
            stop = "request failed" if current.reply is None else "answered"
            return _end(stop, current, turns, n_calls=n_calls, views=views)
        n_calls += 1
        parts = yield from _follow(current.call, views, rules, words)
        last = ("\n\n" + words["last"],) if n_calls >= rules.max_looks else ()
        turns.append(Turn("user", (*parts, *last)))


def _read_indexed(heard: Heard, *, is_strict: bool, is_last: bool) -> _Round:
    text = replies.close_tags(heard.text)
    call, answer = replies.read_indexed_call(text, strict=is_strict), replies.read_last_answer(text)
    if is_strict:  # as published, a box that is left open takes in the added tag
        answer = replies.read_last_answer(text if text.endswith(END_ANSWER) else heard.text) or None
    wrong = []
    if is_last:
        wrong += ["tool_call_budget_exceeded"] * (call is not None)
        if call is not None or answer is None:
            wrong.append(f"no_answer_in_last_round({heard.finish})")
    elif call is None and answer is None:
        wrong.append(f"no_tool_call_nor_answer({heard.finish})")
    return _Round(text, call, answer, wrong)


def _follow(
    call: Call, views: list[View], rules: Rules, words: Wording
) -> Generator[Ask | Locate, Any, tuple[str | View, ...]]:
    """What a call gets back: a crop, or why there is none."""
    refine = "\n\n" + _fill(words["refine"], call.image)
    if not 0 <= call.image < len(views):
        return (words["no_such_image"] + refine,)
    parent = views[call.image]
    found: Found | None = yield Locate(parent, call.image, call.description)
    if found is not None and tuple(found.box) == NOT_FOUND:
        return (words["not_located"] + refine,)
    crop = found and crops.zoom_found(parent, call.image, found.box, found.processed, rules)
    if crop is None:
        return (words["no_usable_view"] + refine,)
    crop = replace(crop, label=call.description)
    views.append(crop)
    number = len(views) - 1
    return f"Image {number}:", crop, "\n\n" + _fill(words["crop_n"], number)


# -- Protocols B and C: the model names boxes itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Tokens, where they can be counted before a request is sent."""

    context: int
    response: int  # of everything after the first prompt
    count: Callable[[str | View], int]
    max_tokens: int | None = None  # of one reply

    def total(self, turns: Sequence[Turn]) -> int:
        return sum(self.count(part) for turn in turns for part in turn.parts)


def zoom_by_tool(
    question: str,
    sizes: Sequence[Size],
    rules: Rules,
    words: Wording,
    *,
    max_assistant: int | None = None,
    limits: Limits | None = None,
) -> Dialogue:
    """InSight-doc and Qwen: calls of the zoom tool, as text. The reply without a call is the answer."""
    views, first = _present(sizes, question, rules, "\n---\n")
    n_shrunk = 0
    while limits and views and limits.total([first]) > limits.context and n_shrunk < 4:
        n_shrunk += 1
        views = [crops.show(view, crops.shrink_to_half(view.size, rules.max_area), rules) for view in views]
        first = _first_turn(views, question, "\n---\n")
    turns, n_calls, n_questions = [first], 0, len(views)
    prompt_tokens = limits.total([first]) if limits else 0

    def end(stop: str | None, failure: str = "", *, is_truncated: bool = False) -> Outcome:
        if "overflow" in failure:  # as published, with an empty turn of the model
            turns.append(Turn("assistant", ("",)))
        said = _list_said(turns)
        return Outcome(
            stop=stop, answer=str(said[-1].parts[0]) if said and not failure else None,
            is_critical=bool(failure), reasons=[failure] if failure else [], is_truncated=is_truncated,
            n_calls=n_calls, turns=turns, views=views, n_shrunk=n_shrunk, prompt_tokens=prompt_tokens,
        )  # fmt: skip

    if limits and prompt_tokens > limits.context:
        return end(None, "initial_prompt_overflow_after_shrink")
    while True:
        max_tokens = None
        if limits:
            used = limits.total(turns[1:])
            left = limits.context - prompt_tokens - used
            if left <= 0:
                return end(None, "prompt_context_overflow_before_generate", is_truncated=True)
            max_tokens = min(left, limits.response - used, limits.max_tokens or left)
        heard: Heard | None = yield Ask(tuple(turns), max_tokens)
        if heard is None:
            return end(None, "query_api_failed")
        turns.append(Turn("assistant", (heard.text,), heard.calls))
        if limits and limits.total(turns[1:]) >= limits.response:
            return end("response_length_reached", is_truncated=True)
        if len(_list_said(turns)) >= (max_assistant or rules.max_looks + 1):
            return end("max_assistant_turns")
        if n_calls >= rules.max_looks:
            return end("max_user_turns")
        calls = heard.calls or replies.read_tool_calls(heard.text)[0]
        if not calls:
            return end("no_tool_calls")
        seen = views if rules.index == "all" else views[:n_questions]
        made = [run_tool(call, seen, rules) for call in calls[: rules.calls_per_turn]]
        results = _write_results(heard.calls, made, len(views), rules, words)
        if limits and limits.total(turns[1:]) + limits.total(results) >= limits.response:
            unkept = (
                tuple("<image>" if isinstance(one, View) else one for one in turn.parts) for turn in results
            )
            turns += [Turn("tool", parts) for parts in unkept]
            return end("tool_response_length_reached", is_truncated=True)
        turns += results
        views = [*views, *(result for result in made if isinstance(result, View))]
        n_calls += 1


def _write_results(
    calls: Sequence[ToolCall], made: Sequence[View | ToolError], number: int, rules: Rules, words: Wording
) -> list[Turn]:
    """What calls get back: a turn for each. Every call of an API's own tools has to be answered, in text."""
    results, shown = list[Turn](), list[str | View]()
    for nth in range(max(len(calls), len(made))):
        result = made[nth] if nth < len(made) else "not_run"
        crop = (f"Image {number}:", result) if isinstance(result, View) else ()
        text = () if isinstance(result, View) else (words[result],)
        if calls and isinstance(result, View) and not rules.tool_images:
            shown += crop
            crop, text = (), (_fill(words["shown"], number),)
        results.append(Turn("tool", (*text, *crop), answers=calls[nth].id if calls else ""))
        number += isinstance(result, View)
    return [*results, *([Turn("user", tuple(shown))] if shown else [])]


def run_tool(call: ToolCall, views: Sequence[View], rules: Rules) -> View | ToolError:
    """The crop that a call of the zoom tool asks for, or the code of its error."""
    if call.name != TOOL:
        return "unknown_tool"
    try:
        arguments = replies.load_json(call.arguments)
    except json.JSONDecodeError:
        return "bad_json"
    except ValueError:  # too deep, or numbers of thousands of digits
        return "exception"
    if not isinstance(arguments, dict):
        return "exception"
    number, label, box = (arguments.get(name) for name in ("img_idx", "label", "bbox_2d"))
    if rules.strict:  # models that are not trained for it leave them out
        number, label = (0 if number is None else number), ("" if label is None else label)
    if not isinstance(number, int):
        return "bad_img_idx"
    if not isinstance(label, str):
        return "bad_label"
    if not isinstance(box, list) or len(box) != 4:
        return "bad_bbox"
    if not 0 <= number < len(views):
        return "no_such_image"
    view = crops.zoom_box(views[number], int(number), box, rules)
    return replace(view, label=label) if isinstance(view, View) else view


# -- The searcher: a dialogue of its own about each region.


def locate(asked: Locate, rules: Rules, words: Wording) -> Generator[Ask, Heard, Found | None]:
    """Where a region is on a view: the searcher sees the original behind it, and may zoom by itself."""
    box = asked.view.box
    side = rules.searcher_patch
    size = crops.fit_patches(crops.side_lengths(box), side, 4 * side**2, rules.searcher_area)
    whole = replace(asked.view, sizes=(size,), mime="image/jpeg")
    description = asked.description.encode("utf-8", "replace").decode()  # may hold half a surrogate pair
    question = words["searcher"].replace("{description}", description)
    turns = [Turn("system", (words["searcher_system"],)), Turn("user", (whole, question))]
    left = rules.searcher_looks
    while True:
        heard = yield Ask(tuple(turns))
        own = replies.read_own_zoom(heard.text)
        if own is None or END_ANSWER in heard.text or not left:
            break
        x1, y1, x2, y2 = (
            crops.scale_box(own, (1000, 1000), size) if rules.searcher_unit == "thousandths" else own
        )
        cut = crops.verl_box(size, (x1, y1, x2, y2))
        parts: tuple[str | View, ...] = (words["searcher_refused"],)
        if cut is not None:
            parts = (replace(whole, cut=cut), words["searcher_zoomed"].replace("{box}", str(list(own))))
        last = () if left > 1 else (words["searcher_last"],)
        turns += [Turn("assistant", (heard.text,)), Turn("user", (*parts, *last))]
        left -= 1
    found = replies.read_found_box(heard.text)
    if found is None:
        return None
    if rules.searcher_unit == "thousandths" and found != NOT_FOUND:
        try:
            found = crops.to_original(found, (1000, 1000), size)
        except ProtocolError:  # as published, a box that collapses here is none
            return None
    return Found(found, size)
