"""Every Eval Ever: what is written is valid by the published schemas and comes back equal."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyechart as ec
from eyechart.errors import DataError, UsageError
from eyechart.pipelines.logs.every_eval_ever import format_line, hash_sample, read_samples
from eyechart.report.counting import compute_credit
from eyechart.runs.options import Options
from eyechart.runs.publish import clean
from eyechart.runs.replies import score_replies
from eyechart.runs.results import Run
from eyechart.types import Message, Reply
from support.command import eyechart
from support.files import choice_tsv, jsonl, picture
from support.looks import Table, perfect, write_cards
from support.results import result
from support.runs import StubModel
from support.server import Server

# As published at github.com/evaleval/every_eval_ever, commit 9bce413; MIT, the licence is beside them.
SCHEMAS = Path(__file__).parents[2] / "golden" / "every-eval-ever"


def validator(name: str) -> Any:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


AGGREGATE, SAMPLE = validator("eval.schema.json"), validator("instance_level_eval.schema.json")


class Some(StubModel):
    """Fails on every fifth question, is silent on every seventh."""

    async def generate(self, messages: list[Message]) -> Any:
        number = int(messages[-1].text.split("?")[0].split()[-1])
        if not number % 5:
            raise ValueError("no reply")
        said = "I see.</think>" if number % 2 else ""
        return Reply.read(f"<think>{said}{'' if not number % 7 else 'ABCD'[number % 3]}")


def export(run: Run, folder: Path, **said: str) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    numbers, samples = run.write_files(folder, "every-eval-ever", settings=said)
    record = json.loads(numbers.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    AGGREGATE.validate(record)
    for line in lines:
        SAMPLE.validate(line)
    return record, lines, samples


@pytest.fixture
def ran(tmp_path: Path) -> Run:
    questions = choice_tsv(tmp_path / "q.tsv", 40)
    return ec.run(questions, Some(), out=tmp_path / "runs", retries=0, max_pixels=40, progress=False)


def test_numbers_with_what_no_field_is_for(tmp_path: Path, ran: Run) -> None:
    record, lines, samples = export(ran, tmp_path / "eee", org="acme", relationship="third_party")
    top = record["evaluation_results"][0]
    details = top["score_details"]
    interval = details["uncertainty"]["confidence_interval"]
    assert details["score"] == ran.score
    assert (interval["lower"], interval["upper"]) == ran.ci95
    assert interval["method"] == ran.summary.overall.method
    assert json.loads(details["details"]["outcomes"]) == ran.outcomes
    assert json.loads(details["details"]["left_out"]) == {"failed": 8}
    assert details["details"]["n_clusters"] == str(ran.summary.overall.n_clusters)
    assert details["uncertainty"]["num_samples"] == len(lines) == 32
    policy = top["generation_config"]["additional_details"]
    assert json.loads(policy["images"]) == {"input": "image", "max_pixels": 40}
    assert json.loads(policy["images_sent"])["images"] >= 32
    assert top["metric_config"]["additional_details"]["scorer_version"] == ran.manifest["versions"]["default"]
    assert record["source_metadata"]["source_organization_name"] == "acme"
    told = record["detailed_evaluation_results"]
    assert (tmp_path / "eee" / told["file_path"]) == samples
    assert told["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    names = [one["evaluation_name"] for one in record["evaluation_results"]]
    assert names == ["q", "q, category=even", "q, category=odd"]


def test_samples_hold_outcome_and_cluster(tmp_path: Path, ran: Run) -> None:
    _, lines, _ = export(ran, tmp_path)
    by_id = {line["sample_id"]: line for line in lines}
    assert set(by_id) == {one.sample.id for one in ran.samples() if compute_credit(one) is not None}
    for one in ran.samples():
        if (line := by_id.get(one.sample.id)) is None:
            continue
        assert one.score is not None
        assert line["evaluation"]["score"] == one.score.value
        assert line["metadata"]["outcome"] == one.score.outcome
        assert line["metadata"].get("cluster", "") == one.cluster
        assert line["sample_hash"] == hash_sample(one.sample.question, list(one.sample.golds))
        [image] = json.loads(line["metadata"]["images"])
        assert image["sha256"] == one.sent[0]["sha256"]
        assert image["resized"]


def test_a_second_export_replaces_the_first(tmp_path: Path, ran: Run) -> None:
    first, _, path = export(ran, tmp_path / "eee")
    again, _, same = export(ran, tmp_path / "eee")
    assert (path, first["evaluation_id"]) == (same, again["evaluation_id"])
    assert len([one for one in (tmp_path / "eee").rglob("*") if one.is_file()]) == 2


def test_it_comes_back_equal(tmp_path: Path, ran: Run) -> None:
    """Scored again, with the questions of the file or of the benchmark, and compared with the run."""
    _, _, samples = export(ran, tmp_path / "eee")
    for flags in ((), ("--benchmark", tmp_path / "q.tsv")):
        done = eyechart("score", *flags, "--replies", samples, "--out", "again", "--json", cwd=tmp_path)
        assert done.json["score"] == ran.score
        found = ec.compare(ran, Run(tmp_path / done.json["run"]))
        assert (found.n, found.difference) == (32, 0.0)
    back = {(entry.id, entry.trial): entry for entry in read_samples(samples).entries}
    for one in ran.samples():
        if (entry := back.get((one.sample.id, one.trial))) is None:
            continue
        assert entry.reply == one.reply
        assert entry.sample is not None
        assert (entry.sample.golds, entry.sample.choices) == (one.sample.golds, one.sample.choices)


@pytest.mark.parametrize("exporter", ["every-eval-ever", "inspect", "lm-eval"])
def test_questions_on_one_image_stay_together(tmp_path: Path, exporter: str) -> None:
    """The files have no images, but the interval of what comes back is that of the run."""
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "b.png").write_bytes(picture((9, 9, 9)))
    rows = [
        {"id": k, "question": f"Question {k}?", "options": ["x", "y"], "answer": "AB"[k % 3 > 0]}
        | {"image": "ab"[k % 2] + ".png"}
        for k in range(8)
    ]
    run = ec.run(jsonl(tmp_path / "q.jsonl", rows), StubModel("A"), out=tmp_path / "runs", progress=False)
    files = run.write_files(tmp_path / "files", exporter)
    replies = max(files, key=lambda file: "sample" in file.name)
    back = score_replies(None, replies, Options(out=str(tmp_path / "again")))
    assert run.summary.overall.n_clusters == 2
    assert (back.score, back.ci95, back.summary.overall.n_clusters) == (run.score, run.ci95, 2)


def test_trials_and_rotations(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 8)
    twice = ec.run(questions, StubModel("A"), trials=2, out=tmp_path / "runs", progress=False)
    _, lines, samples = export(twice, tmp_path / "a")
    assert sorted({(line["metadata"]["trial"]) for line in lines}) == ["0", "1"]
    assert {entry.trial for entry in read_samples(samples).entries} == {0, 1}
    turned = ec.run(questions, StubModel("A"), circular=True, out=tmp_path / "runs", progress=False)
    record, lines, _ = export(turned, tmp_path / "b")
    rows = {line["evaluation_result_id"] for line in lines}
    [of_rows] = [one for one in record["evaluation_results"] if one["evaluation_result_id"] in rows]
    mean = sum(line["evaluation"]["score"] for line in lines) / len(lines)
    assert of_rows["score_details"]["score"] == pytest.approx(mean)


def test_rounds_are_messages(tmp_path: Path) -> None:
    asked = ({"role": "user", "parts": [{"text": "One?"}]}, {"role": "assistant", "parts": [{"text": "1"}]},
             {"role": "user", "parts": [{"text": "Two?"}]})  # fmt: skip
    one = result(0)
    assert one.reply is not None
    reply = ec.Reply(text="2 B", earlier=("1",), usage=one.reply.usage)
    several = type(one)(sample=one.sample, position=0, reply=reply, score=one.score, asked=asked)
    line = format_line(several, 1.0) | {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m/n", "evaluation_name": "q",
    }  # fmt: skip
    SAMPLE.validate(line)
    assert (line["interaction_type"], line["output"]) == ("multi_turn", None)
    assert [turn["content"] for turn in line["messages"]] == ["One?", "1", "Two?", "2 B"]
    path = jsonl(tmp_path / "s.jsonl", [line])
    assert read_samples(path).entries[0].reply == reply


@pytest.mark.parametrize("protocol", ["zoom", "tools", "search"])
def test_looks_are_agentic(tmp_path: Path, protocol: Any) -> None:
    cards = write_cards(tmp_path, 3)
    with Server(Table(cards, perfect)) as server:
        given = {"searcher": "openai/s", "searcher_base_url": server.base_url} if protocol == "search" else {}
        run = ec.run(
            tmp_path / "cards.jsonl", "openai/m", look=protocol, base_url=server.base_url, api_key="k",
            out=tmp_path / "runs", progress=False, **given,
        )  # fmt: skip
    record, lines, samples = export(run, tmp_path / "eee")
    assert run.score == 1
    for line in lines:
        assert (line["interaction_type"], line["evaluation"]["tool_calls_count"]) == ("agentic", 1)
        calls = [call for turn in line["messages"] for call in turn.get("tool_calls", ())]
        assert len(calls) == (protocol == "tools")
    config = record["evaluation_results"][0]["generation_config"]["generation_args"]["agentic_eval_config"]
    assert config["available_tools"][0]["name"]
    assert config["additional_details"]["protocol"] == protocol
    for entry, one in zip(read_samples(samples).entries, run.samples(), strict=True):
        assert entry.reply == one.reply


def test_a_judge_is_described(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("def judge(text, images):\n    return 'correct'\n", encoding="utf-8")
    rows = [{"id": f"q{k}", "question": f"Question {k}?", "answer": "a long tale"} for k in range(3)]
    run = ec.run(
        jsonl(tmp_path / "q.jsonl", rows),
        StubModel("something else"),
        judge=f"python:{tmp_path}/judge.py:judge",
        out=tmp_path / "runs",
        progress=False,
    )
    record, _, _ = export(run, tmp_path / "eee")
    scoring = record["evaluation_results"][0]["metric_config"]["llm_scoring"]
    assert scoring["judges"][0]["model_info"]["name"] == "python:judge.py:judge"
    assert json.loads(scoring["input_prompt"])
    assert str(tmp_path) not in json.dumps(record)


def test_nothing_of_this_machine_leaves(tmp_path: Path) -> None:
    """No path, no key, no address, no image, wherever they may hide."""
    (tmp_path / "a.png").write_bytes(picture())
    image, key = str(tmp_path / "a.png"), "sk-secret-of-mine"
    hidden = {"source_file": f"{tmp_path}/a.doc", "more": {"at": [f"{tmp_path}/b.doc"]}}
    hidden["category"] = f"{tmp_path}/animals"
    rows = [
        {"id": k, "question": f"Question {k}?", "image": image, "answer": "A", **hidden} for k in range(3)
    ]
    with Server(lambda asked: "A") as server:
        run = ec.run(
            jsonl(tmp_path / "q.jsonl", rows),
            f"openai/{tmp_path}/weights",
            base_url=server.base_url,
            params={"extra_body": {"token": key}},
            api_key=key,
            out=tmp_path / "runs",
            progress=False,
        )
        address = server.base_url.partition("://")[2].partition("/")[0]
    record, lines, samples = export(run, tmp_path / "eee")
    for text in (json.dumps(record), samples.read_text(encoding="utf-8")):
        assert str(tmp_path) not in text
        assert key not in text
        assert address not in text
        assert "base64" not in text
    assert lines[0]["metadata"]["source_file"] == "a.doc"


def test_a_run_without_a_score_is_refused(tmp_path: Path) -> None:
    rows = [{"id": "1", "question": "Which?"}]
    run = ec.run(jsonl(tmp_path / "q.jsonl", rows), StubModel(), out=tmp_path / "runs", progress=False)
    with pytest.raises(UsageError, match="the run has no score"):
        export(run, tmp_path / "eee")


# -- Files of others


def line_of(**more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "acme/m", "evaluation_name": "animals",
        "sample_id": "1", "interaction_type": "single_turn",
        "input": {"raw": "Which?", "reference": ["dog"], "choices": ["cat", "dog"]},
        "output": {"raw": ["It is B."], "reasoning_trace": ["Hm."]}, "messages": None,
        "answer_attribution": [], "evaluation": {"score": 1, "is_correct": True}, **more,
    }  # fmt: skip


def test_a_file_of_another_tool(tmp_path: Path) -> None:
    failed = line_of(sample_id="2", output={"raw": []}, error="HTTP 503")
    repeated = line_of(evaluation_result_id="f1")
    path = jsonl(tmp_path / "s.jsonl", [line_of(), failed, repeated])
    found = read_samples(path)
    assert (found.task, found.model, len(found.entries)) == ("animals", "acme/m", 2)
    first, second = found.entries
    assert first.sample is not None
    assert first.reply is not None
    assert (first.sample.golds, first.reply.text, first.reply.thinking) == (("B",), "It is B.", "Hm.")
    assert (second.reply, second.failure) == (None, "HTTP 503")
    done = eyechart("score", "--replies", path, "--json", cwd=tmp_path)
    assert (done.code, done.json["score"], done.json["outcomes"]["failed"]) == (1, 1.0, 1)


@pytest.mark.parametrize(
    "changed",
    [
        {"input": "Which?"},
        {"sample_id": 7},
        {"output": {"raw": "B"}},
        {"metadata": {"eyechart": "{"}},
        {"metadata": {"eyechart": '{"sample": {"id": 1}, "reply": {}}'}},
        {"input": {"raw": "Which?", "choices": ["x"] * 27}},
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, changed: Mapping[str, Any]) -> None:
    path = jsonl(tmp_path / "s.jsonl", [line_of(), line_of(sample_id="2") | dict(changed)])
    with pytest.raises(DataError, match=r"s\.jsonl: row 2"):
        read_samples(path)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_cleaning_keeps_what_is_no_path(value: Any) -> None:
    assert clean(clean(value)) == clean(value)


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=50)
@given(question=any_text, golds=st.lists(any_text, min_size=1, max_size=3), reply=any_text, column=any_text)
def test_any_text_comes_back(question: str, golds: list[str], reply: str, column: str) -> None:
    one = result(0, reply=reply, question=question, golds=tuple(golds), choices={}, meta={"column": column})
    head = {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "q"}
    line = {**head, **format_line(one, 1.0)}
    SAMPLE.validate(line)
    with tempfile.TemporaryDirectory() as folder:
        [entry] = read_samples(jsonl(Path(folder) / "s.jsonl", [line])).entries
    assert entry.reply == one.reply
    assert entry.sample is not None
    assert (entry.sample.question, entry.sample.golds) == (question, tuple(golds))
