"""Replies that something else collected."""

from pathlib import Path

from eyechart.registry import scorer, scorers
from eyechart.run.options import Options
from eyechart.run.replies import score_replies
from eyechart.types import Reply, Sample, Score
from support.files import jsonl


def test_a_scorer_that_fails_costs_a_verdict_and_not_the_run(tmp_path: Path) -> None:
    rows = [{"id": name, "question": "?", "answer": "x", "reply": name} for name in ("fine", "odd", "bad")]
    jsonl(tmp_path / "q.jsonl", [{key: row[key] for key in ("id", "question", "answer")} for row in rows])
    jsonl(tmp_path / "r.jsonl", rows)

    @scorer("of-a-user", version="1")
    def of_a_user(reply: Reply, sample: Sample) -> Score:
        if reply.text == "bad":
            raise KeyError("bad")
        return Score(outcome="correct", value=1.0, detail={"what": object()} if reply.text == "odd" else {})

    options = Options.of({"scorer": "of-a-user", "out": str(tmp_path / "runs")})
    try:
        done = score_replies(tmp_path / "q.jsonl", tmp_path / "r.jsonl", options)
    finally:
        scorers._parts.pop("of-a-user")
    assert [result.outcome for result in done.samples()] == ["correct", "failed", "failed"]
    assert [result.reply.text for result in done.samples() if result.reply] == ["fine", "odd", "bad"]
