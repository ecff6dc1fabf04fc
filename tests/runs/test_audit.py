"""Audits, counted at the endpoint: what every condition asks, what is asked again, and what comes of it."""

import base64
import io
import itertools
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import eyechart as ec
from eyechart.errors import DataError, UsageError
from eyechart.runs.audit import Audit
from support.command import Outcome, eyechart, start
from support.files import choice_tsv, jsonl, picture
from support.runs import number_of, questions_fixture, right, run_here, server_fixture
from support.server import Answer, Asked, Server

N = 8
A_REPLY = 12  # tokens, as the test server counts them
PATIENCE_S = 120
questions = questions_fixture(N)


def sees_own(asked: Asked) -> bool:
    """Whether the image is that of the question, by the colour that `choice_tsv` gives it."""
    k = number_of(asked)
    shown = [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in asked.images]
    return any(image.convert("RGB").getpixel((0, 0)) == (k % 256, (k * 7) % 256, 90) for image in shown)


def look(asked: Asked) -> str:
    """Right with the own image, in whatever order the options are; otherwise A. The text-only model: B."""
    if asked.body["model"] == "text":
        return "B"
    wanted = ("one", "two", "three", "four")[number_of(asked) % 4]
    lines = [line for line in asked.text.splitlines() if line.endswith(f". {wanted}")]
    return lines[0][0] if sees_own(asked) else "A"


server = server_fixture(look)


def audit(questions: Path, server: Server, **options: Any) -> Audit:
    usual: dict[str, Any] = {"base_url": server.base_url, "out": questions.parent / "runs", "progress": False}
    return ec.audit(questions, "openai/m", **(usual | options))


def audit_command(questions: Path, server: Server, *flags: object) -> Outcome:
    at = ("-m", "openai/m", "--base-url", server.base_url)
    return eyechart("audit", questions, *at, "-q", *flags, cwd=questions.parent)


def count_images(server: Server) -> Counter[int]:
    return Counter(len(asked.images) for asked in server.asked)


# -- what is asked


def test_every_condition_asks_every_question_once(questions: Path, server: Server) -> None:
    audit(questions, server)
    assert len(server.asked) == 4 * N
    assert count_images(server) == {1: 3 * N, 0: N}
    assert sum(map(sees_own, server.asked)) == N  # neither blank nor shuffled


@pytest.mark.slow
def test_nothing_is_asked_again(questions: Path, server: Server) -> None:
    first = audit(questions, server, conditions=["all"])
    n_asked = len(server.asked)
    second = audit(questions, server, conditions=["all"])
    assert len(server.asked) == n_asked
    assert second.numbers == first.numbers
    assert first.n_asked >= n_asked  # the first rotation was found among the replies
    assert second.n_asked == 0
    assert second.to_json()["requests"]["sent"] == n_asked


@pytest.mark.slow
def test_after_a_run_only_what_is_new_is_asked(questions: Path, server: Server) -> None:
    run_here(questions, "openai/m", base_url=server.base_url)
    run_here(questions, "openai/m", base_url=server.base_url, input="none")
    server.asked.clear()
    audit(questions, server)
    assert len(server.asked) == 2 * N  # blank and shuffled
    assert not any(map(sees_own, server.asked))


def test_without_the_cache_of_replies_the_journals_serve(questions: Path, server: Server) -> None:
    run_here(questions, "openai/m", base_url=server.base_url, cache=False)
    audit(questions, server, conditions=["rotations"], cache=False)
    assert len(server.asked) == 4 * N  # the first rotation is the question as it is


@pytest.mark.slow
def test_rewordings_and_a_text_model(questions: Path, server: Server) -> None:
    found = audit(questions, server, conditions=["rewordings"], text_model="openai/text")
    assert len(server.asked) == 5 * N
    assert len({asked.text.replace("0", "") for asked in server.asked if number_of(asked) == 0}) == 4
    of_text = [asked for asked in server.asked if asked.body["model"] == "text"]
    assert len(of_text) == N
    assert not any(asked.images for asked in of_text)
    assert found.score("rewordings") == 1.0
    assert found.gain("rewordings") == 0.0


def test_captions_and_ocr_texts(questions: Path, server: Server) -> None:
    texts = jsonl(questions.parent / "c.jsonl", [{"id": str(k), "caption": f"card {k}"} for k in range(N)])
    found = audit(questions, server, conditions=["caption", "ocr"], captions=texts, ocr_texts=texts)
    assert list(found.numbers.conditions) == ["image", "caption", "ocr"]
    said = [asked.text.partition("\n")[0] for asked in server.asked if not asked.images]
    assert sorted(said) == sorted(
        f"[{kind} the image: card {k}]" for k in range(N) for kind in ("Caption of", "Text in")
    )


def test_options_that_only_concern_images_do_not_split_the_blind_run(questions: Path, server: Server) -> None:
    run_here(questions, "openai/m", base_url=server.base_url, input="none")
    server.asked.clear()
    audit(questions, server, conditions=["none"], max_side=16)
    assert count_images(server) == {1: N}


# -- what comes of it


@pytest.mark.slow
def test_scores_gains_and_the_verdict(questions: Path, server: Server) -> None:
    found = audit(questions, server, text_model="openai/text")
    assert {name: one.score for name, one in found.numbers.conditions.items()} == {
        "image": 1.0, "none": 0.25, "blank": 0.25, "shuffled": 0.25,
    }  # fmt: skip
    none = found.numbers.conditions["none"]
    assert found.gain("none") == none.gain == 0.75
    assert none.gain_ci95 is not None
    assert none.gain_ci95[0] < 0.75 < none.gain_ci95[1]
    assert found.numbers.chance == 0.25
    assert found.blind_solvable == ("0", "4")
    assert found.numbers.leakage is not None
    assert (found.numbers.leakage.score, found.numbers.leakage.n_both) == (0.25, 0)
    assert found.verdict.startswith(
        "The image matters: with it 100.0 % of 8 questions are answered correctly, without it 25.0 %, "
        "a gain of 75.0 points ("
    )
    assert found.verdict.endswith("; guessing would give 25.0 %.")


def test_the_files_of_an_audit(questions: Path, server: Server) -> None:
    found = audit(questions, server, conditions=["none"], text_model="openai/text")
    assert found.folder.parent == found.runs["image"][0].folder.parent
    assert json.loads((found.folder / "audit.json").read_text()) == json.loads(json.dumps(found.to_json()))
    lines = [json.loads(line) for line in (found.folder / "blind-solvable.jsonl").read_text().splitlines()]
    assert [(line["id"], line["by"], line["answer"], line["gold"], line["chance"]) for line in lines] == [
        ("0", ["openai/m"], "A", ["A"], 0.25),
        ("4", ["openai/m"], "A", ["A"], 0.25),
        ("1", ["openai/text"], "B", ["B"], 0.25),
        ("5", ["openai/text"], "B", ["B"], 0.25),
    ]


def test_with_trials_a_question_is_blind_solvable_if_every_trial_solves_it(questions: Path) -> None:
    replies = iter("AB" * 1000)

    def waver(asked: Asked) -> str:
        return right(asked) if asked.images else "A" if number_of(asked) == 4 else next(replies)

    with Server(waver) as server:
        found = audit(questions, server, conditions=["none"], trials=3, separate_trials=True)
    assert "4" in found.blind_solvable
    assert len(found.blind_solvable) < 4


def test_a_preferred_letter_shows(questions: Path) -> None:
    with Server(lambda asked: "B") as server:
        found = audit(questions, server, conditions=["rotations"])
    bias = found.numbers.letters
    assert bias is not None
    assert bias.is_biased
    assert (bias.condition, bias.n) == ("rotations", 4 * N)
    assert {letter: (one.chosen, one.gold) for letter, one in bias.letters.items()} == {
        "A": (0, 0.25), "B": (1, 0.25), "C": (0, 0.25), "D": (0, 0.25),
    }  # fmt: skip
    rotations = found.numbers.conditions["rotations"]
    assert (rotations.score, rotations.changed) == (0.25, 1.0)


def test_a_model_that_reads_the_options_prefers_none(questions: Path, server: Server) -> None:
    found = audit(questions, server, conditions=["rotations"])
    bias = found.numbers.letters
    assert bias is not None
    assert not bias.is_biased
    assert found.numbers.conditions["rotations"].changed == 0.0


def test_questions_that_failed_are_left_out_of_the_pairs(questions: Path) -> None:
    def fail(asked: Asked) -> Answer | str:
        return Answer(status=400) if number_of(asked) == 3 and not asked.images else right(asked)

    with Server(fail) as server:
        found = audit(questions, server, conditions=["none"])
    none = found.numbers.conditions["none"]
    assert (none.n, none.n_paired, found.exit_code) == (N - 1, N - 1, 1)


def test_questions_on_one_image_are_one_cluster(tmp_path: Path) -> None:
    rows = []
    for k in range(8):
        (tmp_path / f"{k // 2}.png").write_bytes(picture((k // 2 * 60, 9, 9)))
        rows.append({"question": f"Question {k}?", "image": f"{k // 2}.png", "answer": "A"})
    with Server(lambda asked: "A") as running:
        found = audit(jsonl(tmp_path / "q.jsonl", rows), running)
    assert {one.n_clusters for one in found.numbers.conditions.values()} == {4}


def test_rows_without_an_image_are_left_out(tmp_path: Path) -> None:
    rows = []
    for k in range(6):
        (tmp_path / f"{k}.png").write_bytes(picture((k * 40, 9, 9)))
        row = {"id": str(k), "question": f"Question {k}?", "answer": "yes" if k < 3 else "red"}
        rows.append(row | ({"image": f"{k}.png"} if k != 2 else {}))
    with Server(lambda asked: "yes") as server:
        found = audit(jsonl(tmp_path / "q.jsonl", rows), server, input="any")
    assert (found.numbers.n, found.exit_code) == (5, 0)
    assert found.numbers.chance == pytest.approx(
        2 * 0.5 / 5
    )  # two of yes or no, three that cannot be guessed
    assert found.blind_solvable == ("0", "1")
    assert len([asked for asked in server.asked if number_of(asked) == 2]) == 1, (
        "it is the same in all conditions"
    )


# -- stopped and resumed


@pytest.mark.slow
def test_killed_and_resumed_to_the_same_numbers(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", N)

    is_over = threading.Event()
    with Server(hold_after(2 * N + 2, is_over)) as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--concurrency", 2, "--no-cache", "-q")
        process = start("audit", questions, *flags, cwd=tmp_path)
        wait_for(lambda: len(server.asked) > 2 * N + 2, process)
        process.kill()
        process.communicate()
        n_killed = len(server.asked)
        is_over.set()
        assert 2 * N < n_killed < 4 * N
        done = eyechart("audit", questions, *flags, "--json", cwd=tmp_path)
        assert done.code == 0, done.err
        n_whole = 4 * N
        assert n_whole <= len(server.asked) <= n_whole + 2 + 6, "at most what was under way is asked again"
        again = eyechart("audit", questions, *flags, "--json", "--out", "elsewhere", cwd=tmp_path)
    for name in ("n", "chance", "blind_solvable", "letter_bias", "verdict"):
        assert done.json[name] == again.json[name]


@pytest.mark.slow
def test_an_interrupt_ends_the_audit_and_not_only_the_run(questions: Path) -> None:
    is_seen = threading.Event()
    with Server(hold_after(N + 2, is_seen)) as server:
        flags = ("-m", "openai/m", "--base-url", server.base_url, "--concurrency", 1, "-q", "--json")
        process = start("audit", questions, *flags, cwd=questions.parent)
        wait_for(lambda: len(server.asked) > N + 2, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        seen = next(line for line in process.stderr if "stopping" in line)
        is_seen.set()
        out, rest = process.communicate(timeout=PATIENCE_S)
    err = seen + rest
    assert process.returncode == 130, err
    assert N < len(server.asked) < 2 * N
    assert list(json.loads(out)["conditions"]) == ["image", "none"]
    assert "the audit is not complete: run the same command again to resume" in err


def hold_after(n: int, opened: threading.Event) -> Callable[[Asked], Answer]:
    """Answers n requests at once, the others when it is `opened`."""
    counted = itertools.count(1)
    return lambda asked: Answer(look(asked), after=opened if next(counted) > n else None)


def wait_for(is_reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_reached() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)


@pytest.mark.slow
def test_limits_hold_for_all_conditions_together(questions: Path, server: Server) -> None:
    flags = ("--no-cache", "--concurrency", 1, "--json")
    done = audit_command(questions, server, "--max-total-tokens", 20 * A_REPLY, *flags)
    assert (done.code, len(server.asked)) == (1, 20)
    assert "--max-total-tokens 240 is reached" in done.err
    assert "not complete" in done.err
    assert not done.json["is_complete"]
    assert list(done.json["conditions"]) == ["image", "none", "blank"]
    again = audit_command(questions, server, "--max-total-tokens", 20 * A_REPLY, *flags)
    assert (again.code, len(server.asked)) == (1, 20), "earlier starts count"
    whole = audit_command(questions, server, "--max-total-tokens", 4 * N * A_REPLY, *flags)
    assert (whole.code, len(server.asked)) == (0, 4 * N)
    assert whole.json["is_complete"]


# -- the command


def test_the_command_prints_the_conditions_and_the_verdict(questions: Path, server: Server) -> None:
    done = audit_command(questions, server, "--conditions", "none,rotations", "--text-model", "openai/text")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[3:7]] == ["image", "none", "rotations", "(chance)"]
    assert "answered without looking: 2 of 8 questions" in done.out
    assert "verdicts that depend on the order of the options: 0.0 %" in done.out
    assert "leakage: openai/text answers 25.0 % without the image" in done.out
    assert "The image matters: with it 100.0 % of 8 questions" in done.out
    assert "audit folder: " in done.err


def test_an_estimate_counts_what_conditions_share_once(questions: Path, server: Server) -> None:
    done = audit_command(questions, server, "--dry-run", "--json", "--conditions", "rotations")
    assert done.json["requests"] == 4 * N
    audit(questions, server, conditions=["rotations"])
    assert len(server.asked) == 4 * N


def test_a_dry_run_sends_nothing(questions: Path, server: Server) -> None:
    done = audit_command(questions, server, "--dry-run", "--json", "--prices", "input=1,output=1")
    assert done.code == 0, done.err
    assert not server.asked
    assert done.json["requests"] == 4 * N
    assert [one["condition"] for one in done.json["estimates"]] == ["image", "none", "blank", "shuffled"]
    assert done.json["cost"][0] > 0
    table = audit_command(questions, server, "--dry-run").out
    assert "nothing was sent" in table
    assert not [*questions.parent.glob("runs/**/*")]


# -- refused before anything is asked


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"conditions": ["blnk"]}, "no condition named 'blnk'"),
        ({"input": "none"}, "input is set by the conditions of the audit"),
        ({"conditions": ["none"], "captions": "c.jsonl"}, "--captions has no effect"),
        ({"conditions": ["caption"]}, "has no column 'caption'"),
    ],
)
def test_what_cannot_work_is_refused(
    questions: Path, server: Server, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        audit(questions, server, **options)
    assert not server.asked


def test_missing_captions_are_named_before_the_first_condition_is_paid_for(
    questions: Path, server: Server
) -> None:
    texts = jsonl(questions.parent / "c.jsonl", [{"id": str(k), "caption": "c"} for k in range(1, N)])
    with pytest.raises(DataError, match="no text for 1 of 8 samples with images: 0"):
        audit(questions, server, captions=texts)
    assert not server.asked


def test_open_questions_have_no_rotations(tmp_path: Path, server: Server) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    rows = [{"question": "Question 1?", "image": "a.png", "answer": "red"}]
    with pytest.raises(UsageError, match="rotations: no question has options"):
        audit(jsonl(tmp_path / "q.jsonl", rows), server, conditions=["rotations"])
    assert not server.asked


def test_a_source_without_images_is_refused(tmp_path: Path, server: Server) -> None:
    file = jsonl(tmp_path / "q.jsonl", [{"question": "Question 1?", "answer": "red"}])
    with pytest.raises(DataError, match="no sample has an image"):
        audit(file, server)
    assert not server.asked


def test_an_audit_takes_one_model(tmp_path: Path) -> None:
    """`eyechart run` takes several: the first must not be dropped without a word."""
    done = eyechart("audit", "demo", "-m", "baseline/random", "-m", "baseline/majority", cwd=tmp_path)
    assert done.code == 2
    assert "an audit takes one model" in done.err
    assert not (tmp_path / "runs").exists()
