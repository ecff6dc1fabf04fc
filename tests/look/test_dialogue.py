"""Loops with models that behave badly, and strict mode."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.look import records, replies
from eyechart.look.crops import ZOOM_RULES, ProtocolError, Rules, ToolError, View
from eyechart.look.dialogue import (
    TOOL,
    Ask,
    Dialogue,
    Found,
    Heard,
    Outcome,
    Turn,
    find_answer,
    run_tool,
    search_one,
    search_several,
    zoom_by_tool,
)
from eyechart.types import ToolCall

NAMES = (
    "system", "crop", "not_found", "last", "format", "no_such_image", "not_located", "no_usable_view",
    "separator", "refine", "crop_n", *get_args(ToolError),
)  # fmt: skip
WORDS = {name: name for name in NAMES}
STRICT = Rules(strict=True, attempts=2, max_looks=2)


def write_call(box: object, image: int = 0) -> str:
    """A call of the zoom tool, without its tags."""
    return json.dumps({"name": TOOL, "arguments": {"bbox_2d": box, "label": "", "img_idx": image}})


PIECES = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<answer>", "</answer>", "\\boxed{", "}", "{", "region_description=",
        '{"region_description": "x", "img_idx": 0}', '"img_idx": 1e999', "[1, 2, 3, 4]", "[" * 2000,
        write_call([0, 0, 500, 500]), write_call(["x", None, float("nan"), 1e308]), "9" * 5000, "null",
        f'{{"name": "{TOOL}", "arguments": "{{"}}', "<think>", "</think>", " ", "\n",
        "\nuser\n", "\nassistant\n",
    ]
)  # fmt: skip
REPLIES = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=8).map("".join))


def play(dialogue: Dialogue, said: Iterable[str], boxes: Iterable[Any] = ()) -> tuple[Outcome, int]:
    """The outcome, and how many requests it took; the last reply and box are repeated."""
    texts, found, n = iter(said), iter(boxes), 0
    text, box = "", None
    send: Heard | Found | None = None
    outcome: Outcome | None = None
    try:
        while True:
            step = dialogue.send(send)
            if isinstance(step, Ask):
                n += 1
                text = next(texts, text)
                send = Heard(text)
            else:
                box = next(found, box)
                send = None if box is None else Found(box, (1000, 1000))
    except StopIteration as ended:
        outcome = ended.value
    assert outcome is not None
    return outcome, n


CALL = "<tool_call>region_description={sign}</tool_call>"


def test_strict_goes_on_where_the_searcher_has_no_box() -> None:
    said = [CALL, r"\boxed{B}"]
    outcome, _ = play(search_one("Q?", (900, 900), Rules(), WORDS), said, [None])
    assert (outcome.stop, outcome.answer) == ("no box", None)
    outcome, _ = play(search_one("Q?", (900, 900), STRICT, WORDS), said, [None])
    assert (outcome.stop, outcome.answer) == ("answered", "B")


def test_strict_takes_a_collapsed_box_for_not_found() -> None:
    said = [CALL, r"\boxed{B}"]
    with pytest.raises(ProtocolError):
        play(search_one("Q?", (9, 9), Rules(), WORDS), said, [(1, 1, 2, 2)])
    outcome, _ = play(search_one("Q?", (9, 9), STRICT, WORDS), said, [(1, 1, 2, 2)])
    assert (outcome.answer, len(outcome.crops)) == ("B", 0)


def test_strict_takes_calls_that_are_no_objects_for_malformed_ones() -> None:
    said = ["<tool_call>[1]</tool_call>", "<answer>B</answer>"]
    with pytest.raises(ProtocolError):
        play(search_several("Q?", [(900, 900)], Rules(), WORDS), said)
    assert play(search_several("Q?", [(900, 900)], STRICT, WORDS), said)[0].answer == "B"


def test_a_model_that_never_answers_is_cut_off() -> None:
    outcome, n = play(search_one("Q?", (900, 900), Rules(), WORDS), [CALL], [(0, 0, 500, 500)])
    assert outcome.is_critical
    assert n == 6 + 5  # rounds with a call, then the attempts of the last round
    again = f"<tool_call>{write_call([0, 0, 9, 9])}</tool_call>"
    outcome, n = play(zoom_by_tool("Q?", [(900, 900)], ZOOM_RULES, WORDS), [again])
    assert (outcome.stop, n, len(outcome.crops)) == ("max_assistant_turns", 11, 10)


def test_a_dialogue_without_a_valid_reply_ends_with_the_last_one() -> None:
    for rules, n_turns in ((Rules(attempts=2), 5), (Rules(attempts=2, max_looks=1), 5)):
        said = ["Hm."] if rules.max_looks > 1 else [CALL, "Hm."]
        outcome, _ = play(search_one("Q?", (900, 900), rules, WORDS), said, [(0, 0, 500, 500)])
        assert outcome.is_critical
        assert [turn.role for turn in outcome.turns][-2:] == ["user", "assistant"]
        assert (outcome.turns[-1].parts, len(outcome.turns)) == (("Hm.",), n_turns)


def test_only_the_questions_images_have_numbers_if_so_chosen() -> None:
    box = {"bbox_2d": [0, 0, 500, 500], "label": "", "img_idx": 1}
    first = View(source=0, original=(900, 900), box=(0, 0, 900, 900), sizes=((225, 225),))
    call = ToolCall(TOOL, json.dumps(box))
    assert run_tool(call, [first], ZOOM_RULES) == "no_such_image"
    said = [f"<tool_call>{write_call(box['bbox_2d'], n)}</tool_call>" for n in (0, 1)]
    for index, n_crops in (("all", 2), ("question", 1)):
        rules = replace(ZOOM_RULES, index=index)  # type: ignore[arg-type]
        assert len(play(zoom_by_tool("Q?", [(900, 900)], rules, WORDS), [*said, "B"])[0].crops) == n_crops


def test_boxes_in_pixels_of_the_presented_image() -> None:
    first = View(source=0, original=(800, 400), box=(0, 0, 800, 400), sizes=((200, 100),))
    call = ToolCall(TOOL, '{"bbox_2d": [50, 0, 100, 50], "label": "", "img_idx": 0}')
    crop = run_tool(call, [first], replace(ZOOM_RULES, unit="pixels"))
    assert isinstance(crop, View)
    assert (crop.box, crop.size) == ((200, 0, 400, 200), (100, 100))


@given(st.lists(REPLIES, min_size=1, max_size=4), st.booleans())
def test_no_reply_crashes_a_loop_or_keeps_it_going(said: list[str], strict: bool) -> None:
    rules = replace(STRICT, strict=strict)
    boxes = [replies.read_found_box(text) for text in said]
    for dialogue in (
        search_one("Q?", (300, 200), rules, WORDS),
        search_several("Q?", [(300, 200), (40, 40)], rules, WORDS),
        zoom_by_tool("Q?", [(300, 200), (40, 40)], replace(ZOOM_RULES, max_looks=2, strict=strict), WORDS),
    ):
        try:
            outcome, n = play(dialogue, said, boxes)
        except ProtocolError:
            assert not strict
            continue
        assert n <= 3 * 2
        assert outcome.is_critical or outcome.stop
        if outcome.answer:
            added = "" if strict else replies.END_CALL
            assert any(outcome.answer.removesuffix(added) in text for text in said)


@given(REPLIES)
def test_readers_take_any_text(reply: str) -> None:
    for read in (
        replies.read_description, replies.read_boxed, replies.read_feedback, replies.close_tags,
        replies.read_last_answer, replies.read_found_box, replies.read_own_zoom, replies.read_tool_calls,
        replies.text_to_judge, replies.read_judge, records.type_reply,
    ):  # fmt: skip
        read(reply)
    replies.read_indexed_call(reply, strict=True)
    replies.read_final_answer(reply, is_plain_allowed=True)
    replies.rate_format(reply, must_answer=False)


@pytest.mark.parametrize(
    "piece", ["<tool_call>", "</tool_call>", "<answer>", "\\boxed{", "[1, ", "[ ", "<think>", "{"]
)
def test_long_replies_are_read_at_once(piece: str) -> None:
    reply = piece * 200_000  # quadratic time would not end within the suite's time limit
    replies.read_tool_calls(reply + "</tool_call>")
    replies.read_found_box(reply)
    replies.read_last_answer(reply)
    replies.rate_format(reply, must_answer=True)
    records.type_reply(reply)


def ends(*said: str, calls: tuple[ToolCall, ...] = ()) -> str | None:
    """The text that is scored of a zoom dialogue with these turns of the model."""
    turns = [Turn("assistant", (text,), calls if text is said[-1] else ()) for text in said]
    span = find_answer(Outcome(stop="no_tool_calls", turns=turns), ZOOM_RULES)
    return None if span is None else said[span[0]][slice(*span[1:])]


def test_the_answer_of_a_zoom_dialogue_is_its_last_turn_without_thoughts_and_calls() -> None:
    assert ends(r"\boxed{A}", " B. \n") == "B."
    assert ends("<think>A <tool_call> or <answer>C</answer>?</think> B") == "B"
    assert ends("<think>it may be A") is None
    assert ends(r"<think>A</think> so <answer>\boxed{B}</answer>.") == "B"
    assert ends("A closer look: <tool_call>{}</tool_call>") is None
    assert ends("A closer look: <tool_call>{}</tool_call> <answer>B</answer>") == "B"
    assert ends("A closer look.", calls=(ToolCall(TOOL, "{}"),)) is None
