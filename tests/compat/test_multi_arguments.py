"""MULTI's arguments: checked by name, kept in args.json without a key, named in the folder."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.compat.multi.arguments import (
    ARGS_FILE,
    Arguments,
    adjusted,
    generated_name,
    read_arguments,
    write_arguments,
)
from eyechart.data.multi.select import read_codes
from eyechart.errors import DataError, UsageError

NAME = re.compile(
    r"(?:(?P<exp>[^_]+)_)?(?P<who>[^_]+)_input_(?P<input>[0-2])_shot_(?P<shot>-?\d+)"
    r"(?P<flags>(?:_it)?(?:_cot)?(?:_cic)?(?:_bi)?(?:_kn)?)_(?P<time>\d{8}_\d{6})"
)
FLAGS = {"in_turn": "_it", "cot": "_cot", "cap_in_cnt": "_cic", "blank_image": "_bi", "knowledge_file": "_kn"}


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
    arguments = Arguments.of({**said, "exp_name": exp, "input_type": input_type, "few_shot": few_shot})
    name = generated_name(arguments, who.replace("_", "-"), now)
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


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8) | st.none(), max_size=5))
def test_whatever_args_json_holds_is_read_or_refused(content: dict[str, Any]) -> None:
    if set(content) <= set(Arguments.__dataclass_fields__):
        assert Arguments.of(content) == Arguments()  # eight letters at random are no argument's name
        return
    with pytest.raises(UsageError, match="there is no argument"):
        Arguments.of(content)


def test_they_are_kept_without_the_key_and_read_again(tmp_path: Path) -> None:
    first = Arguments(problem_file="p.json", api_key="sk-secret", input_type=2, cot=True, set={"seed": "3"})
    write_arguments(first, tmp_path)
    text = (tmp_path / ARGS_FILE).read_text(encoding="utf-8")
    assert "sk-secret" not in text
    assert json.loads(text)["prediction_file"] == str(tmp_path / "prediction.json")
    given_now = {"checkpoint_dir": str(tmp_path), "api_key": "sk-other", "cot": True, "input_type": 0}
    again, notes = read_arguments(tmp_path, given_now)
    assert (again.input_type, again.cot, again.api_key, again.set) == (2, True, "sk-other", {"seed": "3"})
    assert again.checkpoint_dir == str(tmp_path)
    assert notes == ["--input_type 0: args.json of the run says 2, which counts"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "args.json: "),
        ('{"nonsense": 1}', "no argument 'nonsense'"),
        ('{"cott": true}', "no argument 'cott'"),
        ('{"input_type": "two"}', "an argument is wrong"),
        ('{"lang": "fr"}', "an argument is wrong"),
        ('{"input_type": 3}', "input_type 3"),
    ],
)
def test_a_broken_args_json_is_named(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / ARGS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises((UsageError, DataError), match=re.escape(words)):
        read_arguments(tmp_path, {})


def test_a_folder_without_arguments_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no args\.json"):
        read_arguments(tmp_path, {})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"input_type": 3}, "exist there in name only"),
        ({"input_type": 7}, "use 0, 1 or 2"),
        ({"num_workers": 0}, "at least 1"),
        ({"save_every": 0}, "-1 (no checkpoints)"),
        ({"save_every": -2}, "-1 (no checkpoints)"),
        ({"output_name": "a/b"}, "no name of a folder"),
        ({"exp_name": ".."}, "no name of a folder"),
        ({"set": {"cot": "true"}}, "write --cot"),
        ({"set": {"api_token": "sk-1"}}, "takes no keys"),
        ({"api_url": "http://me:pw@host/v1"}, "--api_url holds a password"),
        ({"api_url": "http://host/v1?api_key=1"}, "--api_url holds a password or a key"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        Arguments.of(said)


@pytest.mark.parametrize(
    ("said", "registered", "changed"),
    [
        ({"input_type": 2}, "viscpm", {"in_turn": True, "blank_image": True}),
        ({"input_type": 2}, "visualglm", {"in_turn": True}),
        ({"input_type": 0}, "visualglm", {}),
        ({"input_type": 2, "in_turn": True}, "gpt-4v", {"in_turn": False}),
        ({"input_type": 2, "in_turn": True}, "gpt-4o", {}),
        ({"input_type": 1}, "", {"input_type": 0}),
        ({"input_type": 1, "caption_file": "c.csv", "cap_in_cnt": True}, "", {}),
        ({"input_type": 2, "blank_image": True, "in_turn": True}, "", {}),
    ],
)
def test_they_are_adjusted_as_published_and_that_is_said(
    said: dict[str, Any], registered: str, changed: dict[str, Any]
) -> None:
    before = Arguments.of(said)
    after, notes = adjusted(before, registered=registered)
    assert {name: getattr(after, name) for name in Arguments.__dataclass_fields__} == {
        **{name: getattr(before, name) for name in Arguments.__dataclass_fields__},
        **changed,
    }
    assert len(notes) == len(changed)


@pytest.mark.parametrize(
    ("said", "void"),
    [
        ({"caption_file": "c.csv", "cap_in_cnt": True, "input_type": 2}, ["caption_file", "cap_in_cnt"]),
        ({"in_turn": True, "blank_image": True}, ["in_turn", "blank_image"]),
    ],
)
def test_arguments_that_change_nothing_are_told(said: dict[str, Any], void: list[str]) -> None:
    _, notes = adjusted(Arguments.of(said), registered="")
    assert [note.split()[0] for note in notes] == [f"--{name}" for name in void]


def test_a_picture_for_viscpm_is_not_spoken_of_where_none_is_sent() -> None:
    after, notes = adjusted(Arguments.of({"input_type": 0}), registered="viscpm")
    assert after.blank_image  # as published, and in the run's name
    assert notes == []


def test_an_empty_text_is_an_argument_left_out() -> None:
    empty = {"subset": "", "subject": "", "output_name": "", "exp_name": "", "caption_file": "", "model": ""}
    assert Arguments.of(empty) == Arguments()


@pytest.mark.parametrize("name", ["questions_type", "image_type", "output_dir"])
def test_a_list_or_a_folder_is_not_empty(name: str) -> None:
    with pytest.raises(UsageError, match=f"--{name} is empty"):
        Arguments.of({name: ""})


def test_what_is_overruled_is_told_as_it_was_written(tmp_path: Path) -> None:
    write_arguments(Arguments.of({"problem_file": "p.json", "set": {"seed": "3"}}), tmp_path)
    given = {"random": True, "lang": "en", "set": {"seed": "4"}, "debug": True, "subject": "", "cot": False}
    kept, overruled = read_arguments(tmp_path, given)
    assert kept.debug  # which is taken from the command line
    assert overruled == [
        "--random: args.json of the run says False, which counts",
        "--lang en: args.json of the run says 'zh', which counts",
        "--set seed=4: args.json of the run says {'seed': '3'}, which counts",
    ]
