"""Which sample a reply of somebody else's file belongs to."""

from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.data.samples import MemorySource
from eyechart.errors import DataError, UsageError
from eyechart.runs.replies import LoadedReplies, load_log, load_table, match_ids, read_log_questions
from eyechart.types import LogEntry, Replies, Reply, ReplyLog, Sample

SAMPLES = [Sample(id=name, question=f"Which {name}?") for name in ("007", "8", "x")]


def said(*names: str) -> LoadedReplies:
    return LoadedReplies(replies={(name, 0): Reply(text=name) for name in names})


def names(found: LoadedReplies) -> dict[str, str]:
    return {name: reply.text for (name, _), reply in found.replies.items()}


def test_numbers_are_the_same_however_they_are_written() -> None:
    assert names(match_ids(said("7", "8.0", "x"), SAMPLES, "f", "b")) == {"007": "7", "8": "8.0", "x": "x"}


def test_an_id_that_is_there_is_never_taken_for_another() -> None:
    two = [Sample(id="07", question="?"), Sample(id="007", question="?")]
    with pytest.raises(DataError, match=r"f: 1 reply belongs to no sample of b \(e\.g\. 7\)"):
        match_ids(said("7"), two, "f", "b")
    with pytest.raises(DataError, match="1 reply belongs to no sample"):
        match_ids(said("7", "007"), SAMPLES, "f", "b")
    with pytest.raises(DataError, match=r"2 replies belong to no sample of b \(e\.g\. 9, y\)"):
        match_ids(said("y", "9"), SAMPLES, "f", "b")


def test_a_failure_to_no_sample_is_refused_like_a_reply() -> None:
    table = Replies(by_id={"8": Reply(text="B")}, skipped={"99": "lost", "7": "HTTP 500"})
    with pytest.raises(DataError, match=r"f: 1 failure belongs to no sample of b \(e\.g\. 99\)"):
        match_ids(load_table(table), SAMPLES, "f", "b")
    with pytest.raises(DataError, match=r"f: 2 replies belong to no sample of b \(e\.g\. 99, y\)"):
        match_ids(load_table(replace(table, by_id={"y": Reply(text="B")})), SAMPLES, "f", "b")
    failed = LogEntry(id="z", where="f.json: sample 3", failure="HTTP 500")
    with pytest.raises(DataError, match=r"1 failure belongs to no sample of b \(e\.g\. z: sample 3\)"):
        match_ids(load_log(log(failed), SAMPLES), SAMPLES, "f.json", "b")
    found = load_table(replace(table, skipped={"7": "HTTP 500"}))
    assert match_ids(found, SAMPLES, "f", "b").reasons == {("007", 0): "HTTP 500"}


def test_what_a_format_of_its_own_leaves_out_is_no_failure() -> None:
    chosen = MemorySource("b", "f", tuple(SAMPLES))
    found = load_table(Replies(by_id={"8": Reply(text="B")}, skipped={"99": "not chosen"}, source=chosen))
    assert names(match_ids(found, SAMPLES, "f", "b")) == {"8": "B"}
    found = replace(found, replies=said("y").replies)
    with pytest.raises(DataError, match=r"f: 1 reply belongs to no sample of b \(e\.g\. y\)"):
        match_ids(found, SAMPLES, "f", "b")


def entry(position: int, asked: str, *, trial: int = 0) -> LogEntry:
    return LogEntry(
        id=str(position),
        where=f"row {position}",
        trial=trial,
        reply=Reply(text="B"),
        position=position,
        asked=asked,
    )


def log(*entries: LogEntry) -> ReplyLog:
    return ReplyLog(tool="t", task="t", model="m", entries=entries)


def test_a_place_counts_where_the_question_is_the_same() -> None:
    found = load_log(log(entry(1, "Hint.\nWhich  8?\nA. cat"), entry(0, ""), entry(0, "", trial=1)), SAMPLES)
    assert list(found.replies) == [("8", 0), ("007", 0), ("007", 1)]
    assert (found.trials, found.model) == (2, "m")


def test_a_place_with_another_question_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"row 1: question number 1 is 'Which 8\?', but this was asked: 'Why\?'"
    ):
        load_log(log(entry(1, "Why?")), SAMPLES)
    with pytest.raises(DataError, match=r"row 3: answers question number 3 .*, but there are only 3"):
        load_log(log(entry(3, "")), SAMPLES)


def test_the_same_ids_of_another_data_set_are_refused() -> None:
    other = LogEntry(id="8", where="sample 1", reply=Reply(text="B"), asked="Why is the sky blue?")
    same = LogEntry(id="x", where="sample 2", reply=Reply(text="B"), asked="Look. Which x?")
    with pytest.raises(DataError, match=r"sample 1: '8' was 'Why is .*, and here it is 'Which 8\?'"):
        load_log(log(other), SAMPLES)
    assert len(load_log(log(other, same), SAMPLES).replies) == 2


def test_questions_that_the_log_does_not_bring() -> None:
    with pytest.raises(UsageError, match="row 0: the file has no accepted answers") as caught:
        read_log_questions(log(entry(0, "")), Path("p.jsonl"))
    assert "--benchmark" in caught.value.hint
