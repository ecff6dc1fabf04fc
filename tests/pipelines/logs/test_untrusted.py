"""Whatever stands in a file, reading it ends well or with one message that names the file."""

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files.replies import read_log, read_replies
from eyechart.errors import EyechartError
from eyechart.runs.replies import load_log, read_log_questions

SAID = {
    "role": "assistant",
    "content": [{"type": "text", "text": "B"}, {"type": "reasoning", "reasoning": "x"}],
}
ASKED = [
    {"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "Which?"}]}
]
OUTPUT = {
    "model": "m",
    "choices": [{"message": SAID, "stop_reason": "stop"}],
    "usage": {"input_tokens": 1},
    "time": 1,
}
OWN = {"id": "q", "question": "Which?", "golds": ["B"], "meta": {"a": 1}, "weight": 1.0}
KNOWN = {"eyechart": {"finish_reason": "length", "usage": {"prompt_tokens": 1}}}
SAMPLE = {
    "id": 1, "epoch": 1, "input": ASKED, "choices": ["cat"], "target": "A", "output": OUTPUT, "error": None,
    "metadata": {"k": "v"}, "attachments": {"ab": "text"}, "scores": {"s": {"value": "C"}},
}  # fmt: skip
FILES: dict[str, Any] = {
    "inspect": {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [SAMPLE]},
    "inspect of ours": {
        "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
        "samples": [{**SAMPLE, "metadata": {"eyechart": OWN}, "output": {**OUTPUT, "metadata": KNOWN}}],
    },
    "lm-eval": {
        "doc_id": 0, "doc": {"id": "q", "question": "?", "choices": ["a"], "eyechart": OWN}, "target": 0,
        "arguments": {"gen_args_0": {"arg_0": "?"}}, "resps": [["B"]], "errors": [None],
        "eyechart": [{"usage": None}],
    },
    "predictions": {
        "index": 0, "model": "m", "model_output": OUTPUT, "messages": ASKED, "metadata": {"eyechart": OWN},
    },
    "reviews": {
        "index": 0, "target": ["B"], "messages": [*ASKED, SAID],
        "sample_score": {
            "score": {"value": {"acc": 1}, "prediction": "B"}, "group_id": 0, "generation_index": 0,
            "sample_metadata": {"k": 1},
        },
    },
    "report": {
        "name": "n", "dataset_name": "d", "model_name": "m",
        "metrics": [{"categories": [{"subsets": [{"name": "default"}]}]}],
    },
    "columns": {"index": {"0": 1}, "prediction": {"0": "B"}},
    "records": [{"index": 1, "prediction": "B"}],
}  # fmt: skip

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -1, 2**64, 1e308, "", "attachment://ab", "data:image/png;base64,A", "\x00"])
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something could be changed."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(FILES)), cut=st.integers(0, 40))
def test_a_changed_or_cut_file_is_read_or_refused(data: st.DataObject, name: str, cut: int) -> None:
    content = copy.deepcopy(FILES[name])
    for _ in range(data.draw(st.integers(0, 2))):
        *above, last = data.draw(st.sampled_from(list(places(content)) or [("x",)]))
        place = content
        for key in above:
            place = place[key]
        if data.draw(st.booleans()):
            place[last] = data.draw(JSON)
        else:
            del place[last]
        if not content:
            break
    text = json.dumps(content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        path.write_text(text[: len(text) - cut] if cut < 20 and data.draw(st.booleans()) else text)
        try:
            log = read_log(path)
            if log is None:
                read_replies(path)
            else:
                load_log(log, read_log_questions(log, path))
        except EyechartError as error:
            assert "file.json" in str(error) or "file.jsonl" in str(error)  # noqa: PT017
