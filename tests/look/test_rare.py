"""Rules of the authors' programs that no vector shows, as their sources have them."""

from __future__ import annotations

from typing import Any

import pytest

from eyechart.look.crops import ProtocolError
from look import adapter

_ZOOM = {"originals": [[400, 300]], "presented": [[100, 75]], "zoom": 2.0, "rescale": 0.25,
         "presented_max_area": 0, "crop_max_area": 0}  # fmt: skip
_PARENT = {"original": [1000, 1000], "parent_box": [100, 100, 300, 300], "display": [100, 100],
           "processed": [200, 200], "zoom": 2.0, "max_area": 0}  # fmt: skip
_SAMPLE = {"sample_index": 0, "trial_idx": 0, "prompt_tokens": 10, "response_tokens_total": 5,
           "core_inference_time": 1.0, "score": {"accuracy_reward": 1.0}}  # fmt: skip


def call(**arguments: Any) -> dict[str, Any]:
    return {"bbox_2d": [0, 0, 500, 500], "label": "", "img_idx": 0, **arguments}


def judged(reply: str) -> Any:
    return adapter.answers("doc_judge_reply", {"reply": reply})


def typed(reply: str) -> Any:
    return adapter.records("export_assistant", {"reply": reply})


def final(dialogue: str) -> Any:
    return adapter.answers("final", {"dialogue": dialogue, "plain_allowed": True})["answer"]


def rated(dialogue: str) -> Any:
    found = adapter.answers("format", {"dialogue": dialogue, "must_have_answer": True})
    return found["strict"], found["simple"]


def cell(*samples: dict[str, Any], expected: int = 1) -> Any:
    return adapter.metrics("cell", {"samples": samples, "expected_samples": expected, "trials": 1})


def why(**changed: Any) -> list[str]:
    """The group of the failure of a sample."""
    return list(cell({**_SAMPLE, **changed})["summary"]["failure_breakdown"])


def zoomed(arguments: Any) -> Any:
    return adapter.boxes("doc_zoom", {**_ZOOM, "calls": [arguments]})[0].get("error")


def box_of(reply: str) -> Any:
    return adapter.answers("searcher", {"reply": reply})


def test_searchers_boxes_are_read_by_pythons_rules() -> None:
    assert box_of("<answer>[00, 0, 0, 0]</answer>") == (0, 0, 0, 0)
    assert box_of("<answer>[01, 2, 3, 4]</answer>") is None
    assert box_of("<answer>[\u0661, 2, 3, 4]</answer>") is None
    assert box_of("[1, 2, 3, 4]</answer> [5, 6, 7, 8]") == (1, 2, 3, 4)
    own = {"reply": '<tool_call>{"arguments": {"bbox_2d": [1, 2, 3, 4]}}'}
    assert adapter.calls("searcher", own) == (1, 2, 3, 4), "the closing tag may be missing"


def test_descriptions_keep_their_blanks_and_a_box_ends_at_its_first_brace() -> None:
    asked = {"reply": '<tool_call>{"region_description": "  price tag  ", "img_idx": 0}</tool_call>'}
    assert adapter.calls("o3v2", asked) == {"description": "  price tag  ", "img_idx": 0}
    assert adapter.answers("o3", {"reply": r"\boxed{a \boxed{b} c}"}) == r"a \boxed{b"


def test_numbers_beyond_floats_are_no_box_and_those_beyond_python_an_exception() -> None:
    assert zoomed(call(bbox_2d=[0, 0, 10**400, 5])) == "empty_box"
    assert zoomed(call(bbox_2d=[0, 0, 1e308, 5])) == "exception"
    assert zoomed('{"bbox_2d": [' + "9" * 5000 + "]}") == "exception"
    assert zoomed("{") == "bad_json"


def test_a_box_beyond_its_parent_reaches_into_the_original() -> None:
    found = adapter.boxes("o3v2_zoom", {**_PARENT, "box": [100, 100, 400, 200]})
    assert found == {
        "on_presented": (50, 50, 100, 100),
        "on_original": (200, 200, 500, 300),
        "size": (100, 100),
    }


def test_qwens_tool_takes_reversed_boxes_that_grow_to_a_region() -> None:
    found = adapter.boxes("qwen_tool", {"size": [333, 333], "box": [901, 901, 100, 100]})
    assert found["box"] == (150, 150, 183, 183)
    assert adapter.boxes("qwen_tool", {"size": [333, 333], "box": [900, 0, 100, 900]}) == {
        "error": "ValueError"
    }


def test_the_scale_is_raised_to_one_where_that_just_has_the_pixels() -> None:
    given = {"sizes": [[100, 100]], "rescale": 0.25, "pixels_at_least": 2500, "max_area": 2500}
    assert adapter.boxes("doc_rescale", {**given, "rescale": 0.1}) == 1.0


def test_pairs_of_tags_in_a_judges_reply_are_read_one_after_the_other() -> None:
    assert judged("<answer>a</answer> <answer>b") == "a"
    assert judged("<answer>a<answer>b</answer>") == "a<answer>b"
    assert judged("</answer> <answer>x") == "</answer> <answer>x"
    assert judged(r"\boxed{a \boxed{b}") == r"a \boxed{b"
    assert judged(r"\boxed{x") == r"\boxed{x"


def test_turns_are_split_wherever_their_roles_are_written() -> None:
    assert final("A\nuser\nimage\nassistant\nB<|im_end|>") == "B"
    assert final("told by the user\nB") == "B"
    assert final("A\nuser\nimage") == "image"
    assert final("</tool_call> B") is None
    assert rated("<answer>as the user\nsaid</answer>") == (0.0, 0.0)
    assert rated("<answer><think>a</think>B</answer>") == (0.0, 1.0)
    assert rated("<think>a</think> <answer>B</answer>") == (1.0, 1.0)


def test_exported_replies() -> None:
    assert typed("<think></think><answer>B</answer>")["type"] == "answer"
    assert typed("Hm.")["content"] == {"text": "Hm."}
    assert typed("a </think> <answer>B</answer>")["type"] == "others"
    assert typed("<answer>B</answer> <think>")["type"] == "others"
    assert typed("a <answer>B</answer> <think>")["type"] == "answer"
    assert typed("a <tool_call>null</tool_call>")["content"]["tool_call"] == "null"
    assert "tool_call_parse_error" in typed("a <tool_call>```json\n{}\n```</tool_call>")


def test_native_messages_lose_their_calls() -> None:
    result = {"role": "tool", "content": [{"type": "other", "x": 1}, "y"], "tool_call_id": "1"}
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, result]
    given = {"messages": messages, "images": [], "image_format": "PNG", "image_detail": None}
    parts = [{"type": "text", "text": '{"type": "other", "x": 1}'}, {"type": "text", "text": "y"}]
    assert adapter.records("native_messages", {**given, "tool_as_user": False}) == [
        {"role": "assistant", "content": None}, {"role": "tool", "content": parts, "tool_call_id": "1"},
    ]  # fmt: skip


def test_crops_without_an_area_or_outside_their_page_are_not_measured() -> None:
    crops = [{"source_original_img_idx": page, "bbox_on_original": box, "parent_presented_img_idx": 0}
             for page, box in ((0, [5, 5, 5, 9]), (0, [200, 0, 300, 50]), (7, [0, 0, 1, 1]))]  # fmt: skip
    found = adapter.metrics("evidence", {"pages": [[100, 100]], "crops": crops, "evidence": [], "limit": 2,
                                         "coverage": 0.5, "redundant_iou": 0.8})  # fmt: skip
    names = ("same_page_crop_pairs", "num_zoomed_source_pages", "num_crops_missing_page_size",
             "zoom_area_fraction_union", "exhausted_tool_call_limit")  # fmt: skip
    assert [found[name] for name in names] == [1, 0, 1, None, True]


@pytest.mark.parametrize(
    ("crops", "gold"), [([[-5, 0, 9, 9]], [[0, 0, 5, 5]]), ([], [[5, 5, 5, 9]]), ([], [])]
)
def test_boxes_that_end_the_authors_program(crops: list[list[int]], gold: list[list[int]]) -> None:
    with pytest.raises(ProtocolError):
        adapter.metrics(
            "tool_iou", {"crops": crops, "gold": gold, "processed": [50, 50], "original": [50, 50]}
        )


def test_failures_of_a_cell() -> None:
    assert why(failure_reasons=["a : b: c"]) == ["a:b"]
    assert why(failure_reasons="Too many requests") == ["rate_limit"]
    assert why(failure_reasons=["", "api_error"]) == ["api_error"]
    assert why(failure_reasons=[], critical_failure=True) == ["critical_failure"]
    assert why(score={"accuracy_reward": 1.0, "error_type": "judge: broken"}) == ["judge"]
    assert why(score={"accuracy_reward": float("nan"), "reward": "0.5"}) == []
    assert why(score=None) == ["invalid_or_unscored"]
    row = cell({"score": {"reward": 1}}, expected=0)["trials"][0]
    assert (row["n_fail_or_missing"], row["seq_len_mean"], row["core_time_s_mean"]) == (0, None, None)
    parts = {"response_tokens_total": None, "response_tokens_generated": 3, "response_tokens_tool": 4}
    assert cell({**_SAMPLE, **parts})["trials"][0]["seq_len_mean"] == 17


def test_a_prompt_that_never_fits_is_a_failure_but_not_cut_off() -> None:
    settings = {"max_user_turns": 10, "max_assistant_turns": 11, "max_parallel_calls": 1, "rescale": 1.0,
                "zoom": 2.0, "crop_max_area": 0, "prompt_length": 1, "response_length": 100,
                "max_tokens": None}  # fmt: skip
    given = {"question": "What is it?", "images": [[640, 640]], "settings": settings, "replies": []}
    found = adapter.loop("doc_length", given)
    assert found["failure_reasons"] == ["initial_prompt_overflow_after_shrink"]
    assert (found["truncated"], found["critical_failure"], found["shrunk"]) == (False, True, 4)
