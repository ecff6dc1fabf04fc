"""Whole runs with ``--look``: every protocol, against a server that plays good and bad models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.look.dialogue import TOOL
from eyechart.report.table import make_run_table
from eyechart.view.library import Library
from eyechart.view.pages import Choice, Pages
from support.command import environment, eyechart
from support.looks import (
    Card,
    Play,
    Table,
    blind,
    find,
    is_searcher,
    perfect,
    pictures,
    stuck,
    texts,
    write_answer,
    write_call,
    write_cards,
)
from support.pages import list_images, read_blocks
from support.server import Answer, Asked, Server
from support.terminals import to_text
from support.waiting import wait_until

PROTOCOLS = ("search", "zoom", "tools")


def look(server: Server, folder: Path, protocol: str, **options: Any) -> ec.Run:
    """A run of the cards in `folder`."""
    given: dict[str, Any] = {"base_url": server.base_url, "out": folder / "runs", "progress": False} | options
    if protocol == "search":
        given |= {"searcher": "openai/finder", "searcher_base_url": server.base_url}
    found = ec.run(folder / "cards.jsonl", "openai/m", look=protocol, **given)
    assert isinstance(found, ec.Run)
    return found


def play(folder: Path, protocol: str, player: Play, n: int = 1, **options: Any) -> tuple[ec.Result, Server]:
    """The first card, as this player takes it."""
    with Server(Table(write_cards(folder, n), player)) as server:
        run = look(server, folder, protocol, **options)
        return next(iter(run.samples())), server


def images_of(result: ec.Result) -> list[dict[str, Any]]:
    return [part["image"] for turn in result.asked for part in turn["parts"] if "image" in part]


def told(result: ec.Result) -> dict[str, Any]:
    assert result.reply is not None
    found = result.reply.evidence["look"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_that_looks_gets_the_region_and_answers(tmp_path: Path, protocol: str) -> None:
    cards = write_cards(tmp_path, 3)
    with Server(Table(cards, perfect)) as server:
        run = look(server, tmp_path, protocol)
    assert run.score == 1.0
    for result in run.samples():
        [first, crop] = images_of(result)
        card = cards[int(result.sample.id)]
        assert "parent" not in first["look"]
        assert all(abs(a - b) <= 4 for a, b in zip(crop["look"]["box"], card.box, strict=True))
        assert result.reply is not None
        assert (result.reply.text, result.reply.content) == (card.letter, write_answer(card.letter))
        assert told(result)["calls"] == 1


def test_the_images_are_sized_as_the_protocol_says(tmp_path: Path) -> None:
    sizes = {}
    for protocol in PROTOCOLS:
        sizes[protocol] = [
            (image["width"], image["height"], image["mime"])
            for image in images_of(play(tmp_path, protocol, perfect, out=tmp_path / protocol)[0])
        ]
    [first, crop] = sizes["search"]
    assert first == (1478, 1108, "image/jpeg")  # at most 1280 x 1280 pixels
    assert crop[0] >= 160
    for protocol in ("zoom", "tools"):
        [first, crop] = sizes[protocol]
        assert first == (400, 300, "image/png")  # a quarter
        assert abs(crop[0] - 80) <= 4  # a tenth of that, twice as large


def test_several_images_are_searched_by_their_numbers(tmp_path: Path) -> None:
    cards = write_cards(tmp_path, 2)
    rows = [json.loads(line) for line in (tmp_path / "cards.jsonl").read_text().splitlines()]
    row = {**rows[1], "image": [rows[0]["image"], rows[1]["image"]]}
    (tmp_path / "cards.jsonl").write_text(json.dumps(row) + "\n")

    def second(card: Card, asked: Asked) -> Answer | str:
        if is_searcher(asked) or len(pictures(asked)) > 2:
            return perfect(card, asked)
        return write_call(asked, card, image=1)

    with Server(Table(cards, second)) as server:
        for protocol in PROTOCOLS:
            [result] = look(server, tmp_path, protocol).samples()
            assert result.outcome == "correct"
            assert [image["look"]["source"] for image in images_of(result)] == [0, 1, 1]


ENDS = {  # of a blind model, one that is stuck and one whose replies are no calls and no answers
    "search": (("correct", "answered"), ("unparsed", "no valid reply"), ("unparsed", "no valid reply")),
    "several": (("correct", "answered"), ("unparsed", "no valid reply"), ("unparsed", "no valid reply")),
    "zoom": (
        ("correct", "no_tool_calls"),
        ("unparsed", "max_assistant_turns"),
        ("unparsed", "no_tool_calls"),
    ),
    "tools": (
        ("correct", "no_tool_calls"),
        ("unparsed", "max_assistant_turns"),
        ("unparsed", "no_tool_calls"),
    ),
}


def malformed(card: Card, asked: Asked) -> str:
    return find(card, asked) if is_searcher(asked) else "<tool_call>{broken</tool_call>"


@pytest.mark.parametrize("name", ENDS)
def test_players_in_every_protocol(tmp_path: Path, name: str) -> None:
    [card] = write_cards(tmp_path, 1)
    assert card.letter == "A", "what the blind model says"
    if name == "several":
        row = json.loads((tmp_path / "cards.jsonl").read_text())
        (tmp_path / "cards.jsonl").write_text(json.dumps({**row, "image": [row["image"]] * 2}) + "\n")
    protocol = "search" if name == "several" else name
    for player, end in zip((blind, stuck, malformed), ENDS[name], strict=True):
        with Server(Table([card], player)) as server:
            run = look(server, tmp_path, protocol, max_looks=2, out=tmp_path / player.__name__)
        [result] = run.samples()
        assert (result.outcome, told(result)["stop"]) == end
        assert run.summary.looks is not None
        figures = {key: one.mean for key, one in run.summary.looks.figures.items()}
        assert (figures["no_look"], figures["unanswered"]) == (player is not stuck, player is not blind)
        assert figures.get("evidence") == (None if name == "several" else player is stuck)


def test_equal_crops_of_different_images_make_no_cluster(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 3), perfect)) as server:
        run = look(server, tmp_path, "search")
    crops = {images_of(result)[1]["sha256"] for result in run.samples()}
    assert len(crops) == 1, "the cards' marks are all drawn alike"
    assert run.clusters == {}


# -- Bad behaviour


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_model_that_never_answers_is_cut_off_without_an_answer(tmp_path: Path, protocol: str) -> None:
    result, server = play(tmp_path, protocol, stuck, max_looks=2)
    stop = "no valid reply" if protocol == "search" else "max_assistant_turns"
    assert (told(result)["stop"], result.score and result.score.route) == (stop, f"look:{stop}")
    assert (result.outcome, result.score and result.score.value) == ("unparsed", 0.0)
    assert told(result)["answered"] is False
    assert sum(not is_searcher(asked) for asked in server.asked) == (7 if protocol == "search" else 3)


BAD = {
    "broken json": "<tool_call>{\"name\": \"image_zoom_in_tool\", \"arguments\": {</tool_call>",
    "no call": "Hmm.",
    "a call without an end": "<tool_call>",
    "nothing": " ",
    "text for numbers": [["a", "b"], "here", None, True],
    "reversed": [900, 900, 100, 100],
    "outside": [2000, 2000, 3000, 3000],
    "tiny": [1, 1, 1.01, 1.01],
    "infinite": [0, 0, 1e999, 5],
    "calls without an end": "<tool_call>" * 5000,
    "another tool": "<tool_call>{\"name\": \"python\", \"arguments\": {}}</tool_call>",
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("case", BAD)
def test_bad_calls_end_in_an_outcome_with_a_reason(tmp_path: Path, protocol: str, case: str) -> None:
    bad = BAD[case]

    def player(card: Card, asked: Asked) -> Answer | str:
        if is_searcher(asked):
            return f"<answer>{bad}</answer>"
        if isinstance(bad, str):
            return bad
        return write_call(asked, card, bad)

    result, _ = play(tmp_path, protocol, player, max_looks=2)
    assert result.reply is not None
    if case == "no call" and protocol != "search":  # the reply is the answer, whatever it says
        assert result.reply.text == "Hmm."
    else:
        assert told(result)["answered"] is False
        assert result.reply.text == ""
    assert result.outcome == "unparsed"
    assert told(result)["stop"]


@pytest.mark.parametrize("protocol", ["zoom", "tools"])
def test_labels_that_no_file_can_hold_are_marked(tmp_path: Path, protocol: str) -> None:
    def player(card: Card, asked: Asked) -> Answer | str:
        if len(pictures(asked)) > 1:
            return write_answer(card.letter)
        arguments = {"bbox_2d": ["0", 0, 1e3, True * 900], "label": "\ud800<b>\x1b[31m", "img_idx": 0}
        if protocol == "zoom":
            return f"<tool_call>{json.dumps({'name': TOOL, 'arguments': arguments})}</tool_call>"
        function = {"name": TOOL, "arguments": json.dumps(arguments)}
        return Answer(
            None, message={"content": None, "tool_calls": [{"type": "function", "function": function}]}
        )

    result, _ = play(tmp_path, protocol, player)
    assert result.outcome == "correct"
    assert images_of(result)[1]["look"]["label"].endswith("<b>\x1b[31m")


def test_a_question_without_an_image_is_a_dialogue_without_one(tmp_path: Path) -> None:
    cards = write_cards(tmp_path, 1)
    row = {"id": "0", "question": cards[0].words, "A": "one", "B": "two", "answer": "A"}
    (tmp_path / "cards.jsonl").write_text(json.dumps(row) + "\n")
    with Server(Table(cards, lambda card, asked: write_answer("A"))) as server:
        for protocol in PROTOCOLS:
            assert look(server, tmp_path, protocol, input="any").score == 1.0


def test_broken_arguments_of_a_native_call_are_answered_as_an_error(tmp_path: Path) -> None:
    def player(card: Card, asked: Asked) -> Answer | str:
        if any(turn["role"] == "tool" for turn in asked.body["messages"]):
            return write_answer(card.letter)
        broken = {"id": "", "type": "function", "function": {"name": "image_zoom_in_tool", "arguments": "{"}}
        return Answer(None, finish_reason="stop", message={"content": None, "tool_calls": [broken, broken]})

    result, server = play(tmp_path, "tools", player)
    assert result.outcome == "correct"
    called, *answers = server.asked[-1].body["messages"][-3:]
    ids = [call["id"] for call in called["tool_calls"]]
    assert [turn["tool_call_id"] for turn in answers] == ids  # every call has an answer, also the one not run
    assert len(set(ids)) == 2
    assert "JSON" in answers[0]["content"]


def test_a_searcher_without_a_box_ends_the_search_but_not_strictly(tmp_path: Path) -> None:
    def player(card: Card, asked: Asked) -> Answer | str:
        if is_searcher(asked):
            return "I cannot see it."
        return perfect(card, asked) if len(asked.body["messages"]) == 2 else write_answer(card.letter)

    result, _ = play(tmp_path, "search", player)
    assert (result.outcome, told(result)["stop"]) == ("unparsed", "no box")
    result, _ = play(tmp_path, "search", player, look_params={"strict": True})
    assert result.outcome == "correct"


def test_a_searcher_may_zoom_by_itself(tmp_path: Path) -> None:
    def player(card: Card, asked: Asked) -> Answer | str:
        if is_searcher(asked) and len(pictures(asked)) == 1:
            own = {"name": "image_zoom_in_tool", "arguments": {"bbox_2d": [0, 0, 300, 200]}}
            return f"<tool_call>{json.dumps(own)}</tool_call>"
        if is_searcher(asked):
            assert pictures(asked)[1].size == (300, 200)
            return f"<answer>{list(card.box)}</answer>"
        return perfect(card, asked)

    result, server = play(tmp_path, "search", player)
    assert result.outcome == "correct"
    assert sum(is_searcher(asked) for asked in server.asked) == 2


def test_a_failed_request_fails_the_sample_and_is_asked_again(tmp_path: Path) -> None:
    is_down = True

    def player(card: Card, asked: Asked) -> Answer | str:
        if is_down and is_searcher(asked):
            return Answer("down", status=400)
        return perfect(card, asked)

    with Server(Table(write_cards(tmp_path, 1), player)) as server:
        run = look(server, tmp_path, "search")
        assert run.outcomes["failed"] == 1
        [result] = run.samples()
        assert result.failure is not None
        assert "the searcher" in result.failure.reason
        is_down = False
        before = len(server.asked)
        assert look(server, tmp_path, "search").score == 1.0
        assert len(server.asked) == before + 2  # the first round was kept


# -- The engine knows the loop


def test_the_same_command_again_asks_nothing(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 2), perfect)) as server:
        for protocol in PROTOCOLS:
            look(server, tmp_path, protocol)
            before = len(server.asked)
            look(server, tmp_path, protocol)
            assert len(server.asked) == before
            look(server, tmp_path, protocol, limit=1)  # another folder: the rounds are found one by one
            assert len(server.asked) == before


def test_trials_and_rotations_each_have_a_dialogue(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 1), perfect)) as server:
        assert len(list(look(server, tmp_path, "zoom", trials=3).samples())) == 3
        assert len(server.asked) == 6
        run = look(server, tmp_path, "zoom", circular=True, cache=False)
        assert len(list(run.samples())) == 4
        assert len(server.asked) == 12, "the first rotation was asked by the other run"


def test_every_request_counts_against_the_budget(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"  # a dollar for the ten tokens of each request
    prices.write_text("prices: {m: {input: 100000, output: 0}, finder: {input: 100000, output: 0}}\n")
    with Server(Table(write_cards(tmp_path, 3), stuck)) as server:
        options = {"prices": prices, "max_cost": 4.0, "concurrency": 1}
        run = look(server, tmp_path, "zoom", **options)
        assert run.exit_code == 1
        assert len(server.asked) == 4
        run = look(server, tmp_path, "search", cache=False, limit=1, max_looks=1, prices=prices)
    summary = run.summary
    assert summary.requests["sent"] == len(server.asked) - 4
    assert summary.tokens["searcher_prompt"] == 10
    assert "(12 more at the searcher)" in to_text(make_run_table(summary))
    assert summary.cost == pytest.approx(summary.requests["sent"])
    assert summary.paid == summary.cost


def test_killed_in_the_middle_of_dialogues_and_resumed(tmp_path: Path) -> None:
    n, served = 6, 0

    def slow(card: Card, asked: Asked) -> Answer | str:
        nonlocal served
        served += 1
        if served > 2 * n:
            return perfect(card, asked)
        said = perfect(card, asked)
        return Answer(said, delay_s=0.05) if isinstance(said, str) else said

    with Server(Table(write_cards(tmp_path, n), slow)) as server:
        command = [
            sys.executable, "-m", "eyechart", "run", "cards.jsonl", "-m", "openai/m", "--look=search",
            "--searcher", f"openai/finder@{server.base_url}", "--base-url", server.base_url,
            "--concurrency", str(n), "--no-cache", "-q",
        ]  # fmt: skip
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)
        wait_until(lambda: len(server.asked) >= n + 3)  # no dialogue has ended
        process.kill()
        process.communicate()
        done = eyechart(*command[3:], "--json", cwd=tmp_path)
    assert done.json["score"] == 1.0
    again = sum(count - 1 for count in Counter(json.dumps(one.body) for one in server.asked).values())
    assert again <= n  # of the requests that were answered, none is asked again
    assert done.json["requests"]["sent"] >= 3 * n  # those of the start that was killed, too


def test_an_audit_looks_only_where_there_is_an_image(tmp_path: Path) -> None:
    def player(card: Card, asked: Asked) -> Answer | str:
        return perfect(card, asked) if pictures(asked) and TOOL in texts(asked) else write_answer("A")

    with Server(Table(write_cards(tmp_path, 4), player)) as server:
        options: dict[str, Any] = {"base_url": server.base_url, "out": tmp_path / "runs", "progress": False}
        found = ec.audit(tmp_path / "cards.jsonl", "openai/m", look="zoom", max_looks=2, **options)
    looks = {name: run.manifest["options"].get("look") for name, [run] in found.runs.items()}
    assert looks == {"image": "zoom", "none": None, "blank": None, "shuffled": "zoom"}
    assert found.runs["image"][0].score == 1.0


def test_shards_of_a_look_run_make_the_same_run(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 4), perfect)) as server:
        parts = [look(server, tmp_path, "zoom", shard=f"{k}/2") for k in (1, 2)]
        merged = eyechart("merge", *(part.folder for part in parts), "--json", cwd=tmp_path)
    assert (merged.json["n"], merged.json["score"]) == (4, 1.0)


# -- What a user types


def run_command(folder: Path, *arguments: object, **changes: str) -> Any:
    return eyechart("run", *arguments, cwd=folder, **changes)


def test_a_source_after_look_is_refused_with_a_hint(tmp_path: Path) -> None:
    write_cards(tmp_path, 1)
    done = run_command(tmp_path, "-m", "openai/m", "--look", "cards.jsonl")
    assert done.code == 2
    assert "--look=auto cards.jsonl" in done.err


MINE = """
class Texts:
    def generate(self, text, images):
        return "A"

class Messages:
    def generate(self, messages):
        return "A"
"""
REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "no searcher": (["--look=search"], "--searcher"),
    "a searcher without a search": (["--look=zoom", "--searcher", "openai/x"], "no searcher"),
    "a batch": (["--look", "--batch"], "the next request depends on the last reply"),
    "no images": (["--look", "--input", "none"], "input is none"),
    "captions": (["--look", "--input", "caption"], "input is caption"),
    "OCR texts": (["--look", "--input", "ocr"], "input is ocr"),
    "sized images": (["--look", "--max-pixels", "100"], "max_area"),
    "an unknown setting": (["--look", "--look-param", "scal=2"], "scale"),
    "a bad setting": (["--look", "--look-param", "scale=0"], "at least"),
    "a wrong setting": (["--look", "--look-param", "unit=inches"], "unit"),
    "a setting of another protocol": (["--look=zoom", "--look-param", "margin=0.5"], "no effect"),
    "a limit without look": (["--max-looks", "3"], "add --look"),
    "a class that takes a text": (["--look", "-m", "python:mine.py:Texts"], "messages"),
    "a baseline": (["--look", "-m", "baseline/random"], "messages"),
    "tools of a class": (["--look=tools", "-m", "python:mine.py:Messages"], "takes no tools"),
    "no prompts": (["--look", "--look-prompts", "none.yaml"], "none.yaml"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_before_anything_is_sent(tmp_path: Path, case: str) -> None:
    given, words = REFUSED[case]
    write_cards(tmp_path, 1)
    (tmp_path / "mine.py").write_text(MINE)
    model = () if "-m" in given else ("-m", "openai/m", "--base-url", "http://127.0.0.1:9/v1")
    done = run_command(tmp_path, "cards.jsonl", *model, *given)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "runs").exists()


def test_own_texts_and_settings_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text("zoom: 'Use {tool} in {unit} {{looks}} {looks} times.'\n")
    card = write_cards(tmp_path, 1)[0]
    with Server(Table([card], lambda card, asked: write_answer("A"))) as server:
        done = run_command(
            tmp_path, "cards.jsonl", "-m", f"openai/m@{server.base_url}", "--look", "--max-looks", 3,
            "--look-param", "scale=0.5", "--look-param", "unit=pixels", "--look-prompts", "words.yaml", "-q",
        )  # fmt: skip
        assert done.code == 0, done.err
        system = server.asked[0].body["messages"][0]["content"]
        assert "pixels of the image" in system
        assert system.endswith("3 times.")
        assert pictures(server.asked[0])[0].size == (800, 600)
        other = look(server, tmp_path, "zoom", out=tmp_path / "runs")
        assert len(server.asked) == 2, "other settings are another run"
        assert other.conditions["closer looks"] == "look zoom"


def test_python_and_configuration_files_say_the_same(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 1), perfect)) as server:
        one = ec.run(
            tmp_path / "cards.jsonl", "openai/m", base_url=server.base_url, out=tmp_path / "runs",
            look=ec.Look(protocol="zoom", max_looks=6, params={"scale": 0.5}), progress=False,
        )  # fmt: skip
        text = f"""
source: {tmp_path / "cards.jsonl"}
model: openai/m
base_url: {server.base_url}
look: zoom
max_looks: 6
look_params: {{scale: 0.5}}
"""
        (tmp_path / "config.yaml").write_text(text)
        done = run_command(tmp_path, "config.yaml", "--json", "-q")
    assert Path(done.json["run"]).name == one.folder.name
    assert len(server.asked) == 2


def test_auto_is_tools_for_a_class_that_states_that_it_takes_them(tmp_path: Path) -> None:
    write_cards(tmp_path, 1)

    class Mine:
        name = "mine"
        identity: Mapping[str, Any] = {"model": "mine"}
        capabilities = ec.Capabilities(takes_tools=True)

        async def reply(self, request: ec.Request) -> ec.Reply:
            assert request.tools
            return ec.Reply(text="A")

        async def close(self) -> None: ...

    run = ec.run(tmp_path / "cards.jsonl", Mine(), look="auto", out=tmp_path / "runs", progress=False)
    assert run.manifest["look"]["protocol"] == "tools"


def test_auto_is_zoom_at_a_server_of_ones_own_and_search_with_a_searcher(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 1), blind)) as server:
        run = look(server, tmp_path, "auto")
        assert run.manifest["look"]["protocol"] == "zoom"
        run = look(server, tmp_path, "auto", searcher=f"openai/finder@{server.base_url}")
        assert run.manifest["look"]["protocol"] == "search"
        assert "region_description" in texts(server.asked[-1])


def test_a_class_that_takes_messages_can_look(tmp_path: Path) -> None:
    cards = write_cards(tmp_path, 2)

    class Mine:
        async def generate(self, messages: list[ec.Message]) -> ec.Reply:
            card = cards[int(messages[1].text.split("Card ")[1].split(":")[0])]
            if len(messages) == 2:
                call = {"name": "image_zoom_in_tool",
                        "arguments": {"bbox_2d": [0, 0, 500, 500], "label": "", "img_idx": 0}}  # fmt: skip
                return ec.Reply(text=f"<tool_call>{json.dumps(call)}</tool_call>")
            assert len(messages[-1].images) == 1
            return ec.Reply(text=card.letter)

    run = ec.run(tmp_path / "cards.jsonl", Mine(), look="zoom", out=tmp_path / "runs", progress=False)
    assert run.score == 1.0


def test_an_estimate_says_from_where_to_where(tmp_path: Path) -> None:
    write_cards(tmp_path, 2)
    prices = tmp_path / "prices.yaml"
    prices.write_text("prices: {m: {input: 1, output: 1}, finder: {input: 1, output: 1}}\n")
    options: dict[str, Any] = {"prices": prices, "base_url": "http://127.0.0.1:9/v1", "max_looks": 4}
    found = ec.estimate(tmp_path / "cards.jsonl", "openai/m", look="zoom", **options)
    assert (found.requests, found.looks.requests, found.looks.searcher_requests) == (2, 8, 0)
    assert found.cost is not None
    assert found.cost[1] > 5 * found.cost[0] > 0
    options |= {"searcher": "openai/finder@http://127.0.0.1:9/v1"}
    found = ec.estimate(tmp_path / "cards.jsonl", "openai/m", look="search", **options)
    assert found.looks.searcher_requests == 8
    assert found.to_json()["looks_at_most"]["searcher_tokens"] == found.looks.searcher_tokens > 0


# -- What dialogues show


def test_evidence_is_counted_with_intervals(tmp_path: Path) -> None:
    cards = write_cards(tmp_path, 6)

    def player(card: Card, asked: Asked) -> Answer | str:
        if card.number < 3:  # looks at the card
            return perfect(card, asked)
        if card.number == 3 and len(pictures(asked)) == 1:  # looks elsewhere
            far = [0, 0, 100, 100] if card.box[0] > 800 else [900, 900, 1000, 1000]
            return write_call(asked, card, far)
        return write_answer(card.letter)

    with Server(Table(cards, player)) as server:
        run = look(server, tmp_path, "zoom")
    summary = run.summary.looks
    assert summary is not None
    assert {name: round(one.mean, 2) for name, one in summary.figures.items()} | {
        "best_iou": 0, "tool_iou": 0
    } == {
        "no_look": 0.33, "at_limit": 0, "stuck": 0, "unanswered": 0, "critical": 0, "valid_calls": 1,
        "evidence": 0.5, "all_evidence": 0.5, "evidence_if_looked": 0.75, "best_iou": 0, "tool_iou": 0,
        "right_without_evidence": 0.5,
    }  # fmt: skip
    evidence = summary.figures["evidence"]
    assert evidence.low < 0.5 < evidence.high
    found = json.loads((run.folder / "summary.json").read_text())["look"]
    assert found["crops"]["histogram"]["1"] == 4
    shown = eyechart("report", run.folder, cwd=tmp_path)
    assert "a crop covers a gold box in 50.0 %" in shown.out


def test_what_looking_gained_is_one_difference(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 8), perfect)) as server:
        looked = look(server, tmp_path, "zoom")
    with Server(Table(write_cards(tmp_path, 8), blind)) as server:
        options: dict[str, Any] = {"out": tmp_path / "runs", "progress": False}
        plain = ec.run(tmp_path / "cards.jsonl", "openai/m", base_url=server.base_url, **options)
    gain = ec.compare(plain, looked)
    assert gain.difference > 0
    assert [one.partition(":")[0] for one in gain.warnings] == ["--look differs"]


def test_a_stuck_model_is_seen(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 2), stuck)) as server:
        summary = look(server, tmp_path, "zoom", max_looks=3).summary.looks
    assert summary is not None
    assert summary.figures["stuck"].mean == summary.figures["unanswered"].mean == 1.0
    assert summary.figures["evidence"].mean == 1.0


def test_the_images_of_a_dialogue_can_be_made_again(tmp_path: Path) -> None:
    from eyechart.runs.inputs import load_sent_images

    with Server(Table(write_cards(tmp_path, 1), perfect)) as server:
        for protocol in PROTOCOLS:
            run = look(server, tmp_path, protocol)
            [result] = run.samples()
            assert [one.is_same for one in load_sent_images(run.manifest, result)] == [True, True]


def test_insight_o3s_records_have_both_dialogues(tmp_path: Path) -> None:
    cards = write_cards(tmp_path, 1)
    row = {
        "question_id": "0", "question": cards[0].words, "options": "A. one\nB. two\nC. three\nD. four",
        "image": "card0.png", "answer": cards[0].letter,
    }  # fmt: skip
    (tmp_path / "cards.jsonl").write_text(json.dumps(row) + "\n")
    with Server(Table(cards, perfect)) as server:
        run = look(server, tmp_path, "search", read_as="o3-bench", judge=f"openai/judge@{server.base_url}")
    assert run.score == 1.0
    [path] = (run.folder / "official").rglob("eval_records.jsonl")
    inferred = json.loads(path.read_text())["eval_result"]["inference_result"]
    reasoner, searcher = inferred["conversations"]
    assert (reasoner["agent"], searcher["agent"]) == ("m", "openai/finder")
    assert [turn["role"] for turn in reasoner["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert reasoner["messages"][3]["content"][0]["type"] == "image_url"
    assert searcher["messages"][-1]["content"].endswith("</answer>")
    run.write_files(tmp_path / "full", "insight-o3", full_images=True)
    records = next((tmp_path / "full").rglob("eval_records.jsonl")).read_text()
    shown = json.loads(records)["eval_result"]["inference_result"]["conversations"]
    urls = [
        part["image_url"]["url"]
        for conversation in shown
        for turn in conversation["messages"]
        for part in (turn["content"] if isinstance(turn["content"], list) else ())
        if part["type"] == "image_url"
    ]
    assert len(urls) == 3
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)


def test_insight_docs_files(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 2), perfect)) as server:
        run = look(server, tmp_path, "zoom", exporters=["insight-doc"], trials=2)
    folder = run.folder / "insight-doc"
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["summary"]["accuracy_all_mean"] == 1.0
    assert [row["n_valid"] for row in metrics["trials"]] == [2, 2]
    figures = [json.loads(line) for line in (folder / "trajectories.jsonl").read_text().splitlines()]
    assert all(one["crop_covers_evidence_at_threshold"] for one in figures)
    conversations = sorted((folder / "exported_conversations").iterdir())
    assert len(conversations) == 4
    first = json.loads(conversations[0].read_text())
    presented = first["image_references"]["presented_images"]
    assert [one["kind"] for one in presented] == ["initial", "region_crop"]
    roles = ["system", "user", "assistant", "user", "assistant"]
    assert [one["role"] for one in first["conversation"]] == roles


@pytest.mark.parametrize("protocol", ["zoom", "tools"])
def test_insight_docs_samples_count_turns_as_the_authors_do(tmp_path: Path, protocol: str) -> None:
    options: dict[str, Any] = {"exporters": ["insight-doc"], "max_looks": 3}
    found = {}
    for player in (perfect, stuck):
        with Server(Table(write_cards(tmp_path, 1), player)) as server:
            run = look(server, tmp_path, protocol, **options, cache=False, fresh=True)
        found[player] = json.loads((run.folder / "insight-doc" / "samples.jsonl").read_text())
        [result] = run.samples()
        assert result.reply is not None
        usage = result.reply.usage
        assert usage is not None
        assert usage.prompt_tokens > found[player]["prompt_tokens"] == 10  # of the first request
        assert found[player]["response_tokens_total"] == 2
    counted = {who: (one["num_turns"], one["n_tool_calls"]) for who, one in found.items()}
    assert counted == {perfect: (4, 1), stuck: (8, 3)}  # the call at the limit is not followed
    said = found[perfect]["solution_str"]
    assert said.startswith("<tool_call>")
    assert said.count("\nuser\n") == said.count("\nassistant\n") == 1
    assert said.endswith("\nassistant\n" + write_answer(write_cards(tmp_path, 1)[0].letter))
    assert found[stuck]["solution_str"].count(TOOL) == 4


def test_a_dialogue_is_shown_turn_by_turn_with_its_boxes(tmp_path: Path) -> None:
    with Server(Table(write_cards(tmp_path, 2), perfect)) as server:
        run = look(server, tmp_path, "zoom")
    [shown, *_] = [result for result in run.samples() if result.sample.id == "0"]
    x1, y1, x2, y2 = images_of(shown)[1]["look"]["box"]

    done = eyechart("show", run.folder, "0", cwd=tmp_path)
    assert f"{x1}, {y1} to {x2}, {y2} of the original, cut from image 0" in " ".join(done.out.split())
    assert "a crop covers 1 of 1 gold boxes" in done.out

    blocks = read_blocks(run.folder / "report.html")
    first = next(one for one in blocks["b0"] if one["id"] == "0")
    assert [role for role, _ in first["turns"]] == ["system", "user", "assistant", "user"]
    assert "[image 1: " in first["turns"][3][1]
    assert [(box["is_target"], box["is_crop"]) for box in first["boxes"]] == [(True, False), (False, True)]
    assert len(first["images"]) == 2
    assert len(list_images(blocks)) == 4

    page = Pages(Library(run.folder.parent.parent)).render_sample(
        str(run.folder.relative_to(run.folder.parent.parent)), "0", 0, Choice()
    )
    assert f'<rect class="crop" x="{x1}' in page
    assert '<rect class="target"' in page
    assert page.count("<figure>") == 2
