"""Reading replies: calls for a closer look, searchers' boxes, answers. All in linear time, for any text.

Each function keeps the rule of the authors' program with its quirks. Tags are searched as plain texts: a
`<tool_call>` that is only mentioned counts, as it does there.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eyechart.look.crops import NOT_FOUND, Box, ProtocolError
from eyechart.types import ToolCall

CALL, END_CALL = "<tool_call>", "</tool_call>"
ANSWER, END_ANSWER = "<answer>", "</answer>"
_BOXED = "\\boxed{"
_FOUR_NUMBERS = re.compile(r"\[\s*\d+\s*(?:,\s*\d+\s*){3}\]")


class Call(NamedTuple):
    """A region that is asked for by its description (A, A2). A has one image, number 0."""

    description: str
    image: int = 0


def between(text: str, opening: str, closing: str) -> str | None:
    """The text after the first opening tag up to the next closing one, if both tags occur anywhere."""
    if opening not in text or closing not in text:
        return None
    return text.split(opening, 1)[1].split(closing, 1)[0]


def last_between(text: str, opening: str, closing: str) -> str | None:
    """The same after the last opening tag, without blanks around it."""
    if opening not in text or closing not in text:
        return None
    return text.rsplit(opening, 1)[1].split(closing, 1)[0].strip()


def find_pairs(text: str, opening: str, closing: str) -> Iterator[tuple[int, int]]:
    """Where the insides of tags begin and end, one pair after the other."""
    end = -len(closing)
    while (found := text.find(opening, end + len(closing))) >= 0:
        begin = found + len(opening)
        if (end := text.find(closing, begin)) < 0:
            return
        yield begin, end


def load_json(text: str) -> Any:
    """JSON as Python reads it; ValueError for whatever is none, also if it is too deep."""
    try:
        return json.loads(text)
    except RecursionError as err:
        raise ValueError("JSON is nested too deeply") from err


# -- Protocol A


def read_description(reply: str) -> str | None:
    """The region that a reply asks for (A): the first call, between its first `{` and its last `}`.

    >>> read_description("<tool_call> region_description={the {old} sign} </tool_call>")
    'the {old} sign'
    """
    segment = between(reply, CALL, END_CALL)
    if segment is None or "region_description=" not in segment:
        return None
    described = segment.split("region_description=", 1)[1]
    if "{" not in described or "}" not in described:
        return None
    return described.split("{", 1)[1].rsplit("}", 1)[0].strip()


def read_boxed(reply: str) -> str | None:
    r"""The answer of a reply (A): the first box, up to the first `}`.

    >>> read_boxed(r"\boxed{\text{B}} or \boxed{C}")
    '\\text{B'
    """
    return reply.split(_BOXED, 1)[1].split("}", 1)[0].strip() if _BOXED in reply else None


def read_feedback(reply: str) -> str | None:
    """Whether the last crop helped, in the model's word; asked for in training only."""
    found = between(reply, "<tool_feedback>", "</tool_feedback>")
    return found and found.strip()


# -- Protocol A2


def close_tags(reply: str) -> str:
    """The reply with the closing tag that a server left out because it stops there."""
    for opening, closing in ((CALL, END_CALL), (ANSWER, END_ANSWER)):
        if opening in reply and closing not in reply:
            return reply.rstrip() + closing
    return reply


def read_indexed_call(reply: str, *, strict: bool = False) -> Call | None:
    """The region and the image that a reply asks for (A2).

    JSON that is not an object ends the authors' program; strictly, it is no call.
    """
    segment = between(reply, CALL, END_CALL)
    if segment is None:
        return None
    try:
        call = load_json(segment.strip())
    except ValueError:
        return None
    if not isinstance(call, dict):
        if strict:
            return None
        raise ProtocolError(
            f"a call is a JSON object, not {type(call).__name__}",
            hint="with strict=True such a reply counts as malformed",
        )
    description, image = call.get("region_description"), call.get("img_idx")
    if not isinstance(description, str) or not isinstance(image, int):
        return None
    return Call(description, int(image))


def read_last_answer(reply: str) -> str | None:
    """The last answer in tags, else the last box."""
    if (tagged := last_between(reply, ANSWER, END_ANSWER)) is not None:
        return tagged
    return reply.rsplit(_BOXED, 1)[1].split("}", 1)[0].strip() if _BOXED in reply else None


# -- Searchers


def read_found_box(reply: str) -> Box | None:
    """The box of a searcher's last reply; all zeros: not found; None: no box.

    >>> read_found_box("<answer>[10, 20, 30, 40]</answer>"), read_found_box("<answer>[9, 9, 1, 1]</answer>")
    ((10, 20, 30, 40), None)
    """
    text = reply.rsplit(ANSWER, 1)[-1].split(END_ANSWER, 1)[0]
    boxes = _FOUR_NUMBERS.findall(text)
    if not boxes:
        return None
    try:  # as published, by Python's rules for numbers: zeros may lead zeros, but no other digit
        x1, y1, x2, y2 = ast.literal_eval(boxes[-1])
    except (SyntaxError, ValueError):
        return None
    return (x1, y1, x2, y2) if (x1, y1, x2, y2) == NOT_FOUND or (x1 < x2 and y1 < y2) else None


def read_own_zoom(reply: str) -> Box | None:
    """The box of a searcher's own zoom call, whose closing tag may be missing."""
    if CALL not in reply:
        return None
    try:
        box = load_json(reply.split(CALL, 1)[1].split(END_CALL, 1)[0].strip())["arguments"]["bbox_2d"]
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(v, int) for v in box):
        return None
    x1, y1, x2, y2 = box
    return (x1, y1, x2, y2) if 0 <= x1 < x2 and 0 <= y1 < y2 else None


# -- Protocols B and C


def read_tool_calls(reply: str) -> tuple[list[ToolCall], str]:
    """The calls written as text (Hermes), and the text around them. Calls that are not JSON are dropped."""
    calls, kept, at = [], [], 0
    for begin, end in find_pairs(reply, CALL, END_CALL):
        kept.append(reply[at : begin - len(CALL)])
        at = end + len(END_CALL)
        try:
            call = load_json(reply[begin:end])
            name, arguments = call["name"], call["arguments"]
            if isinstance(name, str):
                calls.append(ToolCall(name, json.dumps(arguments, ensure_ascii=False)))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return calls, "".join((*kept, reply[at:]))


def write_tool_calls(content: str | None, calls: Sequence[Mapping[str, Any]]) -> str:
    """An API's `tool_calls` as text behind the content, as InSight-doc's client writes them."""
    pieces = [content] if content else []
    for call in calls:
        function = call.get("function") or {}
        if not function.get("name"):
            continue
        arguments: Any = function.get("arguments")
        with contextlib.suppress(ValueError, TypeError):
            arguments = load_json(arguments)
        written = json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)
        pieces.append(f"{CALL}\n{written}\n{END_CALL}")
    return "\n".join(pieces)


# -- What is scored


def find_answer_span(text: str, *, is_tagged: bool) -> tuple[int, int] | None:
    r"""Where the last answer begins and ends: in tags, or else in a box, whose braces are matched.

    >>> text = r"<answer>\boxed{A}</answer> or \boxed{\text{B}}"
    >>> [text[slice(*find_answer_span(text, is_tagged=tagged))] for tagged in (True, False)]
    ['A', '\\text{B}']
    """
    if is_tagged:
        begin = text.rfind(ANSWER) + len(ANSWER)
        end = text.find(END_ANSWER, begin)
        is_there = begin >= len(ANSWER) and end >= 0
    else:
        begin = text.rfind(_BOXED) + len(_BOXED)
        is_there, end, depth = begin >= len(_BOXED), begin, 1
        while is_there and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if not depth:
                break
            end += 1
    found = text[begin:end].strip() if is_there else ""
    if not found:
        return None
    begin = text.index(found, begin)
    inner = find_answer_span(found, is_tagged=False) if is_tagged else None
    return (begin, begin + len(found)) if inner is None else (begin + inner[0], begin + inner[1])


_MAX_JUDGED = 2000


def _split_turns(dialogue: str) -> list[str]:
    """The model's turns in a dialogue that was joined to one text. As published, without a look at lines."""
    return [turn.rsplit("assistant\n", 1)[-1] for turn in dialogue.split("user\n")]


def read_final_answer(dialogue: str, *, is_plain_allowed: bool) -> str | None:
    """The answer that InSight-o3 scores, out of the turns joined to one text: a box of any turn counts."""
    if (answer := read_last_answer(dialogue)) is not None or not is_plain_allowed:
        return answer
    last = _split_turns(dialogue)[-1].strip().removesuffix("<|im_end|>").strip()
    return None if CALL in last or END_CALL in last else last or None


def text_to_judge(reply: str) -> str:
    """What InSight-doc hands to its judge: the answer, else the box, else all, without the middle."""
    answer = read_last_answer(reply)
    text = reply.strip() if answer is None else answer
    return text if len(text) <= _MAX_JUDGED else f"{text[:997]} ... {text[-998:]}"


def read_judge(reply: str | None) -> str | None:
    """The answer that InSight-doc reads out of its judge's reply."""
    text = (reply or "").strip()
    tagged = [text[begin:end] for begin, end in find_pairs(text, ANSWER, END_ANSWER)]
    text = (tagged[-1] if tagged else text.removeprefix(ANSWER)).strip()
    boxed = [text[begin:end] for begin, end in find_pairs(text, _BOXED, "}")]
    text = (boxed[-1] if boxed else text).strip()
    return text.strip("`").strip() or None


def rate_format(dialogue: str, *, must_answer: bool) -> tuple[float, float]:
    """Whether a dialogue keeps to the form: with thoughts in every turn (strict), and without (simple)."""
    *turns, last = _split_turns(dialogue)
    strict, simple = (
        all(is_in_form(turn, "tool_call", "answer") for turn in turns)
        and (
            is_in_form(last, "answer", "tool_call")
            or (not must_answer and is_in_form(last, "tool_call", "answer"))
        )
        for is_in_form in (_is_thought_out, _ends_in)
    )
    return float(strict), float(simple)


def _has_tags(text: str, *names: str) -> bool:
    return any(f"<{slash}{name}>" in text for name in names for slash in ("", "/"))


def _is_thought_out(turn: str, wanted: str, excluded: str) -> bool:
    """Whether a turn is thoughts and then what is wanted, with blanks between and no tags inside."""
    rest = turn
    for name in ("think", wanted):
        before, found, rest = rest.partition(f"<{name}>")
        inside, closed, rest = rest.partition(f"</{name}>")
        if before.strip() or not found or not closed or _has_tags(inside, "think", wanted):
            return False
    return not rest.strip() and not _has_tags(turn, excluded)


def _ends_in(turn: str, wanted: str, excluded: str) -> bool:
    """Whether a turn ends in the only element that is wanted."""
    _, closed, rest = turn.partition(f"<{wanted}>")[2].partition(f"</{wanted}>")
    is_only = turn.count(f"<{wanted}>") == turn.count(f"</{wanted}>") == 1
    return is_only and bool(closed) and not rest.strip() and not _has_tags(turn, excluded)
