"""MULTI's arguments: checked by name, and named in the folder."""

import contextlib
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import UsageError
from eyechart.pipelines.multi.arguments import MultiArguments, generate_run_name, read_codes

NAME = re.compile(
    r"(?:(?P<exp>[^_]+)_)?(?P<who>[^_]+)_input_(?P<input>[0-2])_shot_(?P<shot>-?\d+)"
    r"(?P<flags>(?:_it)?(?:_cot)?(?:_cic)?(?:_bi)?(?:_kn)?)_(?P<time>\d{8}_\d{6})"
)
FLAGS = {"in_turn": "_it", "cot": "_cot", "cap_in_cnt": "_cic", "blank_image": "_bi", "knowledge_file": "_kn"}


@pytest.mark.slow
@given(
    exp=st.none() | st.text("abcXYZ019.-", min_size=1).filter(lambda text: text not in (".", "..")),
    who=st.text(min_size=1),
    input_type=st.integers(0, 2),
    few_shot=st.integers(-3, 9),
    flags=st.sets(st.sampled_from(sorted(FLAGS))),
    now=st.datetimes(datetime(2000, 1, 1), datetime(2999, 1, 1)),
)
def test_a_generated_name_says_what_was_asked(
    exp: str | None, who: str, input_type: int, few_shot: int, flags: set[str], now: datetime
) -> None:
    said: dict[str, Any] = dict.fromkeys(flags, True)
    if "knowledge_file" in said:
        said["knowledge_file"] = "k.json"
    arguments = MultiArguments.of({**said, "exp_name": exp, "input_type": input_type, "few_shot": few_shot})
    name = generate_run_name(arguments, who.replace("_", "-"), now)
    found = NAME.fullmatch(name)
    assert found is not None, name
    assert Path(name).name == name
    assert (found["exp"], int(found["input"]), int(found["shot"])) == (exp, input_type, few_shot)
    assert found["flags"] == "".join(short for flag, short in FLAGS.items() if flag in flags)
    assert datetime.strptime(found["time"], "%Y%m%d_%H%M%S") == now.replace(microsecond=0)


@given(st.lists(st.integers(-2, 7), max_size=6), st.sampled_from([",", ", ", " ,"]))
def test_lists_of_codes_are_read_or_refused(codes: list[int], between: str) -> None:
    text = between.join(map(str, codes))
    if codes and all(0 <= code <= 4 for code in codes):
        assert read_codes(text, range(5), name="questions_type") == set(codes)
    else:
        with pytest.raises(UsageError, match="questions_type"):
            read_codes(text, range(5), name="questions_type")


_KNOWN = sorted(MultiArguments.__dataclass_fields__)


@given(
    st.dictionaries(
        st.sampled_from(_KNOWN) | st.text(max_size=8),
        st.integers() | st.text(max_size=8) | st.none(),
        max_size=5,
    )
)
def test_whatever_args_json_holds_is_read_or_refused(content: dict[str, Any]) -> None:
    if not set(content) <= set(_KNOWN):
        with pytest.raises(UsageError, match="unknown argument"):
            MultiArguments.of(content)
        return
    with contextlib.suppress(UsageError):  # a number for a text, say
        found = MultiArguments.of(content)
        for name, value in content.items():
            read = getattr(found, name)  # null and an empty text both mean that nothing is given
            assert (None if read == "" else read) == (None if value == "" else value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"input_type": 3}, "never implemented"),
        ({"input_type": 7}, "must be 0, 1 or 2"),
        ({"num_workers": 0}, "at least 1"),
        ({"save_every": 0}, "-1 (no checkpoints)"),
        ({"num_workers": "\ud800"}, "wrong argument"),
        ({"save_every": -2}, "-1 (no checkpoints)"),
        ({"output_name": "a/b"}, "not a folder name"),
        ({"exp_name": ".."}, "not a folder name"),
        ({"set": {"cot": "true"}}, "write --cot"),
        ({"set": {"api_token": "sk-1"}}, "takes no keys"),
        ({"api_url": "http://me:pw@host/v1"}, "--api_url holds a password"),
        ({"api_url": "http://host/v1?api_key=1"}, "--api_url holds a password or a key"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        MultiArguments.of(said)


def test_an_empty_text_is_an_argument_left_out() -> None:
    empty = {"subset": "", "subject": "", "output_name": "", "exp_name": "", "caption_file": "", "model": ""}
    assert MultiArguments.of(empty) == MultiArguments()


@pytest.mark.parametrize("name", ["questions_type", "image_type", "output_dir"])
def test_a_list_or_a_folder_is_not_empty(name: str) -> None:
    with pytest.raises(UsageError, match=f"--{name} is empty"):
        MultiArguments.of({name: ""})
