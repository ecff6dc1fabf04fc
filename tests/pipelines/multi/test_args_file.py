"""args.json: MULTI's arguments are kept without a key, and count when a run is gone on with."""

import json
import re
from pathlib import Path

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.pipelines.multi.arguments import ARGS_FILE, MultiArguments, read_arguments
from eyechart.store.folder import write_json


def write_arguments(arguments: MultiArguments, folder: Path) -> None:
    write_json(folder / ARGS_FILE, arguments.to_json(folder))


def test_they_are_kept_without_the_key_and_read_again(tmp_path: Path) -> None:
    first = MultiArguments(
        problem_file="p.json", api_key="sk-secret", input_type=2, cot=True, set={"seed": "3"}
    )
    write_arguments(first, tmp_path)
    text = (tmp_path / ARGS_FILE).read_text(encoding="utf-8")
    assert "sk-secret" not in text
    assert json.loads(text)["prediction_file"] == str(tmp_path / "prediction.json")
    given_now = {"checkpoint_dir": str(tmp_path), "api_key": "sk-other", "cot": True, "input_type": 0}
    again, notes = read_arguments(tmp_path, given_now)
    assert (again.input_type, again.cot, again.api_key, again.set) == (2, True, "sk-other", {"seed": "3"})
    assert again.checkpoint_dir == str(tmp_path)
    assert notes == ["--input_type 0: ignored, because args.json of the run has 2"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "invalid JSON"),
        ("[]", "args.json: "),
        ('{"nonsense": 1}', "unknown argument 'nonsense'"),
        ('{"cott": true}', "unknown argument 'cott'"),
        ('{"input_type": "two"}', "wrong argument"),
        ('{"lang": "fr"}', "wrong argument"),
        ('{"input_type": 3}', "input_type is 3"),
    ],
)
def test_a_broken_args_json_is_named(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / ARGS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises((UsageError, DataError), match=re.escape(words)):
        read_arguments(tmp_path, {})


def test_a_folder_without_arguments_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"it has no args.json"):
        read_arguments(tmp_path, {})


def test_what_is_overruled_is_told_as_it_was_written(tmp_path: Path) -> None:
    write_arguments(MultiArguments.of({"problem_file": "p.json", "set": {"seed": "3"}}), tmp_path)
    given = {"random": True, "lang": "en", "set": {"seed": "4"}, "debug": True, "subject": "", "cot": False}
    kept, overruled = read_arguments(tmp_path, given)
    assert kept.debug  # which is taken from the command line
    assert overruled == [
        "--random: ignored, because args.json of the run has False",
        "--lang en: ignored, because args.json of the run has 'zh'",
        "--set seed=4: ignored, because args.json of the run has {'seed': '3'}",
    ]


def test_a_key_in_a_file_of_others_is_not_spoken_of(tmp_path: Path) -> None:
    (tmp_path / ARGS_FILE).write_text('{"api_key": "sk-theirs", "cot": true}', encoding="utf-8")
    kept, overruled = read_arguments(tmp_path, {"api_key": "sk-mine", "cot": True})
    assert (kept.api_key, overruled) == ("sk-mine", [])
