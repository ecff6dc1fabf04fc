"""What the command says when something is wrong: to people, to scripts, and at which width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from eyechart.option import list_options
from eyechart.runs.options import Options
from support.command import environment, eyechart
from support.files import choice_tsv, jsonl
from support.runs import questions_fixture
from support.server import Answer, Server

BASELINE = ["-m", "baseline/random", "-q"]
questions = questions_fixture(8)


def broken_plug_in(folder: Path, kind: str) -> None:
    package = folder / "theirs-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[eyechart.{kind}]\ntheirs = theirs_that_is_not_there\n")


# -- errors for scripts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["run", "nowhere.tsv", "-m", "baseline/random", "--json"],
        ["run", "q.tsv", "-m", "nobody/m", "--json"],
        ["run", "q.tsv", "--json"],
        ["run", "q.tsv", "-m", "baseline/random", "--nonsense", "--json"],
        ["run", "q.tsv", "-m", "baseline/random", "--limit", "ten", "--json"],
        ["report", "nowhere", "--json"],
        ["show", "nowhere", "1", "--json"],
        ["score", "nowhere", "--json"],
        ["data", "check", "nowhere.tsv", "--json"],
    ],
    ids=" ".join,
)
def test_an_error_is_an_object_on_stdout_where_json_is_asked_for(
    words: list[str], questions: Path, tmp_path: Path
) -> None:
    done = eyechart(*words, cwd=tmp_path)
    assert done.code == 2
    assert done.json["error"]
    assert done.json["hint"]
    assert done.json["exit_code"] == 2
    assert done.json["error"] in done.err, "people read the same"


def test_an_error_is_not_json_where_json_goes_into_a_file(tmp_path: Path) -> None:
    done = eyechart("report", "nowhere", "--json", "numbers.json", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")


# -- commands and flags ----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]])
def test_help_is_shown_where_nothing_is_asked(words: list[str], tmp_path: Path) -> None:
    done = eyechart(*words, cwd=tmp_path)
    assert done.code == 0
    assert "usage: eyechart" in done.out


def test_help_of_a_command(tmp_path: Path) -> None:
    assert eyechart("help", "run", cwd=tmp_path).out == eyechart("run", "--help", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("word", "hint"),
    [("reprot", "did you mean report?"), ("sho", "did you mean show?"), ("xyzzy", "commands: run, eval")],
)
def test_an_unknown_command_is_answered_with_the_nearest(word: str, hint: str, tmp_path: Path) -> None:
    done = eyechart(word, cwd=tmp_path)
    assert done.code == 2
    assert f"unknown command '{word}'" in done.err
    assert hint in done.err


def test_a_slip_in_an_action_or_a_choice_is_answered_with_the_nearest(tmp_path: Path) -> None:
    for words, near in [
        (["rnu"], "run"),
        (["data", "chek"], "check"),
        (["run", "demo", "--input", "blnak"], "blank"),
        (["run", "demo", "--tempurature", "0"], "--temperature"),  # hidden or not in --help
        (["run", "demo", "--jpeg-qualty=9"], "--jpeg-quality"),
    ]:
        done = eyechart(*words, cwd=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert f"hint: did you mean {near}?" in done.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--verson"], "did you mean --version?"),
        (["--help-all"], "did you mean --help?"),
        (["-x"], "see: eyechart --help"),
        (["--quiet", "run", "demo"], "flags come after the command: eyechart run ... --quiet"),
    ],
)
def test_an_unknown_flag_before_the_command(words: list[str], hint: str, tmp_path: Path) -> None:
    done = eyechart(*words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"unrecognized arguments: {words[0]}" in done.err
    assert f"hint: {hint}" in done.err


def test_run_shows_a_dozen_flags_and_all_of_them_on_request(tmp_path: Path) -> None:
    short, full = (eyechart("run", flag, cwd=tmp_path) for flag in ("--help", "--help-all"))
    assert (short.code, full.code) == (0, 0)
    in_short, in_full = (set(re.findall(r"^  (--[a-z-]+)", done.out, re.MULTILINE)) for done in (short, full))
    assert {"--base-url", "--limit", "--dry-run", "--help-all"} <= in_short < in_full
    assert len(in_short) < 20 < 60 < len(in_full)
    assert all(one.flag in in_full for one in list_options(Options).values() if one.name != "progress")
    assert eyechart("run", "--help", cwd=tmp_path).out == short.out


def test_other_tools_commands_are_named_in_a_line(tmp_path: Path) -> None:
    shown = eyechart(cwd=tmp_path).out
    [line] = [
        line for line in shown.splitlines() if line.startswith("commands written as other tools' own: ")
    ]
    for verb in ("exec", "insight", "multi", "multi-metrics", "vlmeval"):
        assert verb in line.partition(": ")[2].split(", ")
        assert not re.search(rf"^  {verb} ", shown, re.MULTILINE)


def test_a_file_in_place_of_a_command_is_answered_with_run(questions: Path, tmp_path: Path) -> None:
    assert "eyechart run q.tsv -m MODEL" in eyechart("q.tsv", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("flag", "near"), [("--lim", "did you mean --limit?"), ("-n", "see: eyechart run --help")]
)
def test_no_far_fetched_flags_are_suggested(flag: str, near: str, questions: Path, tmp_path: Path) -> None:
    done = eyechart("run", "q.tsv", flag, "3", *BASELINE, cwd=tmp_path)
    assert f"hint: {near}" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "baseline/random", "q.tsv"],
        ["-m", "baseline/random", "q"],
        ["-m", "baseline/random", "baseline/majority", "q.tsv"],
        ["--model", "baseline/random", "sub/q.tsv"],
        ["q.tsv", "-m", "baseline/random", "baseline/majority"],
    ],
    ids=" ".join,
)
def test_a_source_may_stand_behind_the_model(words: list[str], questions: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    choice_tsv(tmp_path / "sub/q.tsv", 8)
    done = eyechart("run", *words, "--json", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    runs = done.json.get("runs", [done.json])
    assert [one["benchmark"] for one in runs] == ["q"] * len(runs)
    assert [one["model"] for one in runs] == [word for word in words if word.startswith("baseline")]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("mistral/m", "-m openai/m --base-url https://api.mistral.ai/v1"),
        ("gemini/g", "write google/g"),
        ("ollama/m", "-m openai/m --base-url http://localhost:11434/v1"),
        ("nobody/x", "-m openai/NAME --base-url URL"),
    ],
)
def test_an_unknown_provider_is_answered_with_those_there_are(
    model: str, says: str, questions: Path, tmp_path: Path
) -> None:
    done = eyechart("run", "q.tsv", "-m", model, "-q", cwd=tmp_path)
    assert done.code == 2
    assert "(known: anthropic, azure, baseline, bedrock, google, hf, hf-serve, openai," in done.err
    assert says in done.err


# -- hints that fit --------------------------------------------------------------------------------


def test_a_missing_image_is_not_answered_with_try_again(tmp_path: Path) -> None:
    rows = [{"id": n, "question": "Which?", "answer": "A", "image": f"{n}.png"} for n in range(2)]
    jsonl(tmp_path / "q.jsonl", rows)
    with Server() as server:
        done = eyechart("run", "q.jsonl", "-m", "openai/m", "--base-url", server.base_url, "-q", cwd=tmp_path)
    assert done.code == 1
    assert "correct the data, then run it again" in done.err
    assert "retry" not in done.err


@pytest.mark.parametrize(
    ("status", "says"),
    [(400, "change model, parameters or images"), (500, "run it again to retry only the failed samples")],
)
def test_a_failed_request_is_answered_by_its_cause(
    status: int, says: str, questions: Path, tmp_path: Path
) -> None:
    with Server(
        lambda asked: Answer(status=status, body=b"{}") if "Question 3?" in asked.text else Answer()
    ) as server:
        flags = ["--base-url", server.base_url, "-q", "--retries", "0", "--concurrency", "1"]
        done = eyechart("run", "q.tsv", "-m", "openai/m", *flags, cwd=tmp_path)
    assert done.code == 1
    assert says in done.err


# -- run folders -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 404])
def test_a_start_on_which_nothing_was_answered_leaves_no_folder(
    status: int, questions: Path, tmp_path: Path
) -> None:
    with Server(lambda asked: Answer(status=status, body=b"{}")) as server:
        flags = ["-m", "openai/m", "--base-url", server.base_url, "-q"]
        done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
        assert done.code == 2, done.err
        assert not list((tmp_path / "runs").glob("**/run.sqlite"))
        server.answer = lambda asked: "A"
        assert eyechart("run", "q.tsv", *flags, cwd=tmp_path).code == 0
        server.answer = lambda asked: Answer(status=status, body=b"{}")
        eyechart("run", "q.tsv", *flags, "--fresh", "--no-cache", "--limit", "3", cwd=tmp_path)
    shown = eyechart("show", "runs/q", "0", cwd=tmp_path)
    assert shown.code == 0, "one run is left, so it is meant"
    assert "holds" not in shown.err


def test_what_was_answered_before_stays_when_a_later_start_fails(questions: Path, tmp_path: Path) -> None:
    refuse = Answer(status=401, body=b"{}")
    with Server(lambda asked: "A" if "Question 0?" in asked.text else refuse) as server:
        flags = ["-m", "openai/m", "--base-url", server.base_url, "-q", "--concurrency", "1"]
        eyechart("run", "q.tsv", *flags, cwd=tmp_path)
        server.answer = lambda asked: refuse
        eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert eyechart("show", "runs/q", "0", "--json", cwd=tmp_path).json["outcome"] == "correct"


def test_of_several_runs_all_are_reported_the_newest_is_shown_and_none_is_changed(
    questions: Path, tmp_path: Path
) -> None:
    folders = []
    for n in (3, 4, 5):
        done = eyechart("run", "q.tsv", *BASELINE, "--limit", n, "--json", cwd=tmp_path)
        folders.append(done.json["run"])
    for age, folder in enumerate(folders):  # the second is the newest
        at = 1_000_000 + (99 if age == 1 else age)
        os.utime(tmp_path / folder / "run.sqlite", (at, at))
    report = eyechart("report", "runs/q", "--json", cwd=tmp_path)
    assert report.code == 0
    assert sorted(run["n"] for run in report.json["runs"]) == [3, 4, 5]
    shown = eyechart("show", "runs", "3", cwd=tmp_path)
    assert shown.code == 0
    assert f"runs holds 3 runs; using the newest: {folders[1]}" in shown.err
    score = eyechart("score", "runs/q", cwd=tmp_path)
    assert score.code == 2
    assert score.err.index(folders[1]) < score.err.index(folders[2]) < score.err.index(folders[0])


# -- what was detected, and what there is ----------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["--limit", "2"], ["--where", "category=odd"], ["--circular"]])
def test_what_was_detected_is_said_whatever_is_asked(
    flags: list[str], questions: Path, tmp_path: Path
) -> None:
    done = eyechart("run", "q.tsv", *BASELINE, "-v", *flags, cwd=tmp_path)
    assert "by the extension .tsv" in done.err


@pytest.mark.parametrize("is_json", [False, True])
def test_a_broken_plug_in_does_not_hide_the_catalogue(
    is_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_plug_in(tmp_path, "benchmarks")
    monkeypatch.syspath_prepend(str(tmp_path))
    done = eyechart("data", "list", *["--json"] * is_json, cwd=tmp_path)
    assert done.code == 0
    assert "the benchmark 'theirs' could not be loaded from theirs_that_is_not_there" in done.err
    assert "mmbench-dev-en" in done.out
    if is_json:
        assert "theirs" not in done.json


# -- at which width --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80])
def test_errors_are_broken_between_words_at_the_terminals_width(width: int, tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    command = [sys.executable, "-m", "eyechart", "run", "nothing-of-that-name", "-m", "baseline/random"]
    with os.fdopen(outer, "rb", buffering=0) as read, os.fdopen(inner, "wb") as written:
        child = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=written)
        written.close()
        said = b""
        try:
            while part := read.read(4096):
                said += part
        except OSError:  # Linux's way to say that the other end is closed
            pass
    assert child.wait(60) == 2
    lines = said.decode().replace("\r\n", "\n").splitlines()
    assert len(lines) > 2
    words = {word for line in lines for word in line.split()}
    assert {"directory,", "benchmark"} <= words, "no word is broken"
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_errors_in_a_file_are_not_broken(tmp_path: Path) -> None:
    done = eyechart("run", "nothing-of-that-name", *BASELINE, cwd=tmp_path)
    assert len(done.err.splitlines()) == 2


def test_a_name_that_is_nowhere_is_told_as_such(tmp_path: Path) -> None:
    done = eyechart("run", "nowhere", *BASELINE, cwd=tmp_path)
    assert done.code == 2
    for part in ("no such benchmark", "eyechart data list", "hf:"):
        assert part in done.err


# -- what a run says of itself ---------------------------------------------------------------------


def test_the_same_command_again_says_that_nothing_was_asked(questions: Path, tmp_path: Path) -> None:
    with Server() as server:
        flags = ["-m", "openai/m", "--base-url", server.base_url, "-q"]
        first, second = (eyechart("run", "q.tsv", *flags, cwd=tmp_path) for _ in range(2))
    assert "nothing was asked" not in first.err
    assert "no requests sent: all samples have replies" in second.err
    assert len(server.asked) == 8


def test_the_live_line_of_a_circular_run_does_not_call_the_plain_score_the_score(
    questions: Path, tmp_path: Path
) -> None:
    with Server(lambda asked: "A") as server:
        flags = ["-m", "openai/m", "--base-url", server.base_url, "--limit", "2", "--circular"]
        done = eyechart("run", "q.tsv", *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "8/8 100%  plain 25.0" in done.err
    assert "overall   2      0.0" in done.out


# -- configurations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yaml", "source: q.tsv\nmodel: baseline/random\nlimit: ten\n"),
        ("c.yaml", "source: q.tsv\nmodel: baseline/random\nlimit: 0\n"),
        ("c.yaml", "source: q.tsv\nmodel: baseline/random\nrpm: -3\n"),
        ("c.yaml", "source: q.tsv\nmodel: [baseline/random, 7]\n"),
        ("c.yaml", "source: [q.tsv\nmodel: x\n"),
        ("c.yaml", "- 1\n"),
        ("c.yaml", "model: baseline/random\n"),
        ("c.yaml", "source: []\nmodel: baseline/random\n"),
        ("c.yaml", "source: q.tsv\nmodel: baseline/random\nfresh: maybe\n"),
        ("c.yaml", "source: q.tsv\nmodel: baseline/random\nlimmit: 3\n"),
        ("c.json", '{"source": "q.tsv", "model": '),
        ("c.py", "x = 1\n"),
        ("c.py", "a = {}\nb = {}\n"),
        ("c.py", "1 / 0\n"),
        ("missing.yaml", ""),
    ],
    ids=lambda text: text.replace("\n", " ") or "empty",
)
def test_what_is_wrong_with_a_configuration_is_said_with_its_name_and_a_hint(
    name: str, text: str, questions: Path, tmp_path: Path
) -> None:
    if text:
        (tmp_path / name).write_text(text)
    done = eyechart("run", name, "-q", cwd=tmp_path)
    assert done.code == 2
    assert name in done.err.splitlines()[0]
    assert "\n  hint: " in done.err


# -- files -----------------------------------------------------------------------------------------


def test_a_missing_extra_is_told_before_the_first_file_is_written(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = eyechart("run", "q.tsv", *BASELINE, "--json", cwd=tmp_path).json["run"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    files = ["--xlsx", "a.xlsx", "--csv", "a.csv", "--parquet", "a.parquet", "--json", "a.json"]
    done = eyechart("report", folder, *files, cwd=tmp_path)
    assert done.code == 2
    assert "pip install 'eyechart[parquet]'" in done.err
    assert not list(tmp_path.glob("a.*"))


def test_a_folder_that_is_not_there_is_told_before_the_first_file_is_written(
    questions: Path, tmp_path: Path
) -> None:
    folder = eyechart("run", "q.tsv", *BASELINE, "--json", cwd=tmp_path).json["run"]
    done = eyechart("report", folder, "--csv", "a.csv", "--jsonl", "nowhere/a.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert "nowhere" in done.err
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.slow
def test_what_the_demo_says_to_try_next_can_be_pasted(tmp_path: Path) -> None:
    for is_on_path in (True, False):  # the second run resumes the first
        check_what_to_try_next(tmp_path, is_on_path=is_on_path)


def check_what_to_try_next(tmp_path: Path, *, is_on_path: bool) -> None:
    command = Path(sys.executable).parent / "eyechart"
    path = f"{command.parent}:{os.environ['PATH']}" if is_on_path else "/usr/bin:/bin"
    env = environment(PATH=path)
    done = subprocess.run(
        [command, "demo", "--limit", "1", "-q"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = [line.strip() for line in done.stdout.splitlines() if "eyechart show runs" in line]
    assert shown[0].startswith("eyechart " if is_on_path else f"{command} ")
    pasted = subprocess.run(
        shown[0], shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert "sample charts-cups-1" in pasted.stdout


def test_the_files_of_the_quickstart_are_those_that_the_page_spells_out(tmp_path: Path) -> None:
    eyechart("demo", "--files", ".", cwd=tmp_path)
    page = (Path(__file__).parents[2] / "docs/quickstart.md").read_text(encoding="utf-8")
    spelled = page.partition('```json title="examples/mine.jsonl"\n')[2].partition("```")[0]
    assert (tmp_path / "mine.jsonl").read_text(encoding="utf-8") == spelled


def test_the_files_of_the_quickstart_are_written_by_a_command(tmp_path: Path) -> None:
    done = eyechart("demo", "--files", "mine", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "eyechart data check" in done.out
    for name, n in (("mine.jsonl", 4), ("mine.tsv", 8)):
        found = eyechart("data", "check", f"mine/{name}", "--json", cwd=tmp_path)
        assert (found.code, found.json["n_rows"]) == (0, n)
        run = eyechart("run", f"mine/{name}", *BASELINE, "--json", cwd=tmp_path)
        assert (run.code, run.json["outcomes"]["failed"]) == (0, 0)
    (tmp_path / "mine/mine.tsv").write_text("my own\n")
    again = eyechart("demo", "--files", "mine", cwd=tmp_path)
    assert again.code == 2
    assert "mine.tsv exists and differs" in again.err
    assert (tmp_path / "mine/mine.tsv").read_text() == "my own\n"
