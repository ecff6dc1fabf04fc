"""Comparing runs on disk: finding them, joining their samples, refusing and warning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.report.counting import compute_digest
from eyechart.runs.comparison import compare_all
from eyechart.runs.options import Options
from eyechart.runs.replies import score_replies
from support.files import jsonl, picture
from support.runs import StubModel, run_here

N = 12


def question(k: int, **more: Any) -> dict[str, Any]:
    choices = {"A": "one", "B": "two", "C": "three"}
    known = {"id": f"q{k}", "question": f"Question {k}?", "answer": "ABC"[k % 3], "category": "xy"[k % 2]}
    return {**known, **choices, **more}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "q.jsonl", [question(k) for k in range(N)])


def score(questions: Path, name: str, replies: Sequence[str | None], **options: Any) -> ec.Run:
    """The run of a file with these replies, in the order of the questions; None: no reply."""
    rows = [{"id": f"q{k}", "reply": reply} for k, reply in enumerate(replies) if reply is not None]
    file = jsonl(questions.parent / f"{name}.jsonl", rows)
    return score_replies(questions, file, Options.of({"out": questions.parent / "runs", **options}))


def right(n: int, *wrong: int) -> list[str | None]:
    return ["ABC"[(k + (k in wrong)) % 3] for k in range(n)]


def test_runs_are_joined_by_id(questions: Path) -> None:
    a, b = score(questions, "a", right(N, 1, 2)), score(questions, "b", right(N, 2, 3, 4))
    found = ec.compare(b, a)
    assert found.n == N
    assert found.scores == {str(a.folder): 10 / 12, str(b.folder): 9 / 12}
    assert {(flip.id, flip.a, flip.b) for flip in found.flipped} == {("q1", 0, 1), ("q3", 1, 0), ("q4", 1, 0)}
    assert found.discordant == (2, 1)
    assert (found.benchmark, found.scorer) == ("q", "default")
    assert isinstance(found, ec.Comparison)
    assert list(found.by) == ["category"]
    assert found.by["category"]["x"].n == 6
    assert found.questions.values[str(a.folder)][1] == 0


def test_folders_journals_and_reply_files_are_runs_too(questions: Path) -> None:
    a, b = score(questions, "a", right(N, 1)), score(questions, "b", right(N, 2, 3))
    folder = questions.parent / "runs"
    expected = ec.compare(a, b).difference
    assert ec.compare(str(a.folder), b.folder / "run.sqlite").difference == expected
    assert abs(ec.compare(folder).difference) == abs(expected)
    out = questions.parent / "other"
    files = [questions.parent / name for name in ("a.jsonl", "b.jsonl")]
    found = ec.compare(*files, benchmark=str(questions), out=out)
    assert found.difference == expected
    assert all(Path(run).is_relative_to(out) for run in found.scores)


def test_a_folder_with_several_benchmarks(questions: Path) -> None:
    other = jsonl(questions.parent / "other.jsonl", [question(k, question=f"Other {k}?") for k in range(N)])
    lonely = jsonl(questions.parent / "lonely.jsonl", [question(k) for k in range(N)])
    for file in (questions, other):
        for name, wrong in (("a", 1), ("b", 2)):
            score(file, name, right(N, wrong))
    score(lonely, "a", right(N))
    found = compare_all([questions.parent / "runs"])
    assert [one.benchmark for one in found] == ["other", "q"]
    with pytest.raises(ec.UsageError, match="several benchmarks: other, q"):
        ec.compare(questions.parent / "runs")


def test_runs_of_a_folder_that_do_not_belong_together_are_named(questions: Path) -> None:
    out = Options.of({"out": questions.parent / "runs"})

    def score_other(name: str, rows: list[dict[str, Any]]) -> ec.Run:
        (questions.parent / name).mkdir()
        file = jsonl(questions.parent / name / questions.name, rows)
        replies = [{"id": row["id"], "reply": "A"} for row in rows]
        return score_replies(file, jsonl(questions.parent / f"{name}.jsonl", replies), out)

    a, b = score(questions, "a", right(N, 1)), score(questions, "b", right(N, 2, 3))
    rows = [question(k) for k in range(N)]
    edited = score_other("edited", [*rows[:3], rows[3] | {"answer": "B"}, *rows[4:]])
    renamed = score_other("renamed", [row | {"id": f"n{k}"} for k, row in enumerate(rows)])
    found = ec.compare(questions.parent / "runs")
    assert set(found.scores) == {str(a.folder), str(b.folder)}
    said = {line.partition(" is not compared: ")[0]: line for line in found.warnings}
    assert "1 questions or answers are not those of" in said[str(edited.folder)]
    assert said[str(edited.folder)].endswith("e.g. sample q3")
    assert f"0 of its {N} ids are among the {N} of" in said[str(renamed.folder)]
    with pytest.raises(ec.UsageError, match="did not answer the same questions"):
        ec.compare(a, b, edited)


def test_a_benchmark_without_comparable_runs_does_not_stop_the_others(questions: Path) -> None:
    a, b = score(questions, "a", right(N, 1)), score(questions, "b", right(N, 2))
    other = jsonl(questions.parent / "other.jsonl", [question(k, question=f"Other {k}?") for k in range(N)])
    score(other, "a", right(N))
    text = score(other, "b", right(N), scorer="text")
    [found] = compare_all([questions.parent / "runs"])
    assert set(found.scores) == {str(a.folder), str(b.folder)}
    assert any(
        f"{text.folder} is not compared: the runs have different scorers" in one for one in found.warnings
    )
    with pytest.raises(ec.UsageError, match="different scorers"):
        compare_all([questions.parent / "runs" / "other"])


def test_the_run_of_a_folder_that_was_started_first_is_the_reference(questions: Path) -> None:
    settings: dict[str, Any] = {"out": questions.parent / "runs", "progress": False}
    old = ec.run(questions, "baseline/random", **settings)
    new = ec.run(questions, "baseline/majority", **settings)
    ec.run(questions, "baseline/random", **settings)  # started again: still the older one
    found = ec.compare(questions.parent / "runs")
    assert (found.reference, list(found.scores)) == (str(old.folder), [str(old.folder), str(new.folder)])


def test_runs_of_a_folder_with_hardly_a_score_are_named(questions: Path) -> None:
    a, b = score(questions, "a", right(N, 1)), score(questions, "b", right(N, 2))
    begun = score(questions, "begun", ["A", *[None] * (N - 1)])
    found = ec.compare(questions.parent / "runs")
    assert (found.n, set(found.scores)) == (N, {str(a.folder), str(b.folder)})
    said = {line.partition(" is not compared: ")[0]: line for line in found.warnings}
    assert said[str(begun.folder)].endswith(f": 1 of its {N} questions have a score")


def test_runs_of_other_benchmarks_are_not_sent_to_another_scorer(questions: Path) -> None:
    a = score(questions, "a", right(N))
    rows = [{"id": f"q{k}", "question": f"Other {k}?", "answer": "one"} for k in range(N)]
    b = score(jsonl(questions.parent / "other.jsonl", rows), "b", ["one"] * N, scorer="text")
    with pytest.raises(ec.UsageError, match="no question is in all runs: they are runs of other, q"):
        ec.compare(a, b)


@pytest.mark.parametrize("given", [["a"], ["a", "a"], ["a", "nowhere"], ["empty"]])
def test_what_cannot_be_compared(given: list[str], questions: Path) -> None:
    a = score(questions, "a", right(N))
    (questions.parent / "empty").mkdir()
    places = [a.folder if name == "a" else questions.parent / name for name in given]
    said = {
        "aa": "is given twice",
        "a": "nothing to compare",
        "empty": "no run in",
        "anowhere": "no run named",
    }
    with pytest.raises(ec.UsageError, match=said["".join(given)]):
        ec.compare(*places)


def test_samples_without_a_score_are_left_out_and_counted(questions: Path) -> None:
    replies = right(N, 1)
    replies[5] = replies[6] = None
    a, b = score(questions, "a", replies), score(questions, "b", right(N, 2)[:11], limit=11)
    found = ec.compare(a, b)
    assert found.n == 9
    assert found.left_out == {str(a.folder): {"failed": 2}, str(b.folder): {"not asked": 1}}
    assert "replies/a has no score on 2 of 12 questions (2 failed): they are left out" in found.warnings
    assert "replies/b has no score on 1 of 12 questions (1 not asked): they are left out" in found.warnings


def test_runs_without_a_shared_question(questions: Path) -> None:
    a = score(questions, "a", right(N)[:6], limit=6)
    rows = [question(k) for k in range(6, N)]
    b = score(jsonl(questions.parent / "rest.jsonl", rows), "b", [None] * 6 + right(N)[6:])
    with pytest.raises(ec.UsageError, match="no question was scored in all runs") as caught:
        ec.compare(a, b)
    assert "6 of 12 questions (6 not asked)" in caught.value.hint
    assert caught.value.hint.startswith("the runs are of different benchmarks: q, rest;")


def test_a_run_without_a_partner_is_named(questions: Path) -> None:
    other = score(jsonl(questions.parent / "other.jsonl", [question(k) for k in range(N)]), "c", right(N))
    runs = questions.parent / "runs" / "q"
    score(questions, "a", right(N)), score(questions, "b", right(N, 1))
    found = ec.compare(runs, other)
    assert found.n == N
    assert any("no other run is of its benchmark" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": "Another?"}, "question: 'Question 3?' and 'Another?'"),
        ({"B": "deux"}, "options: "),
        ({"answer": "C"}, "answers: 'A' and 'C'"),
    ],
    ids=["question", "option", "answer"],
)
def test_the_same_id_with_another_question_is_refused(
    change: Mapping[str, str], said: str, questions: Path
) -> None:
    rows = [question(k, **(change if k == 3 else {})) for k in range(N)]
    other = jsonl(questions.parent / "changed.jsonl", rows)
    a, b = score(questions, "a", right(N)), score(other, "b", right(N))
    with pytest.raises(ec.UsageError, match="sample q3 differs") as caught:
        ec.compare(a, b)
    assert said in caught.value.message


def test_the_order_of_options_and_answers_does_not_matter() -> None:
    one = ec.Sample(id="1", question="?", choices={"A": "x", "B": "y"}, golds=("A", "B"))
    turned = ec.Sample(id="2", question="?", choices={"B": "y", "A": "x"}, golds=("B", "A"), hint="h")
    assert compute_digest(one) == compute_digest(turned)
    assert compute_digest(one) != compute_digest(replace(one, choices={"A": "y", "B": "x"}))
    assert compute_digest(one) != compute_digest(replace(one, choices={"A": "x"}, golds=("A", "B", "y")))


def test_other_names_of_the_same_questions_are_compared_with_a_warning(questions: Path) -> None:
    copy = jsonl(questions.parent / "copy.jsonl", [question(k) for k in reversed(range(N))])
    a, b = score(questions, "a", right(N, 1)), score(copy, "b", right(N, 1, 2))
    found = ec.compare(a, b)
    assert [flip.id for flip in found.flipped] == ["q2"]
    assert found.warnings == ("the benchmarks have different names: q (replies/a) and copy (replies/b)",)


def test_scorers_must_be_the_same(questions: Path) -> None:
    a = score(questions, "a", right(N, 1), also_scorers=["choice-vlmevalkit"])
    b = score(questions, "b", right(N, 2, 3), scorer="choice-vlmevalkit")
    with pytest.raises(ec.UsageError, match=r"different scorers: default \(replies/a\)") as caught:
        ec.compare(a, b)
    assert caught.value.hint.endswith("--scorer choice-vlmevalkit")
    found = ec.compare(a, b, scorer="choice-vlmevalkit")
    assert found.scorer == "choice-vlmevalkit"
    assert len(found.flipped) == 3
    with pytest.raises(ec.UsageError, match="default has not scored replies/b") as caught:
        ec.compare(a, b, scorer="default")
    assert caught.value.hint == f"add its scores: eyechart score {b.folder} --also-scorer default"


def change_manifest(run: ec.Run, **changes: Any) -> ec.Run:
    """The run with other entries in its manifest, as an older run would have."""
    run.manifest.update(changes)
    return run


def test_versions_and_judges_are_named(questions: Path) -> None:
    a, b = score(questions, "a", right(N)), score(questions, "b", right(N, 2))
    now = a.manifest["versions"]["default"]
    change_manifest(b, versions={"default": "1"})
    change_manifest(a, versions={"default": now})
    # The verdicts of version 1 are not in the journal: only the check is of interest.
    from eyechart.runs.comparison import list_differences

    said = list(list_differences([a, b], ["A", "B"], "default", ["q1"]))
    assert said == [
        f"the version of the scorer default differs: {now} (A) and 1 (B); "
        "score the older run again with: eyechart score RUN"
    ]
    judge = {
        "model": "openai/j",
        "identity": {"temperature": 0},
        "prompts": {},
        "further": [{"model": "p/k"}],
    }
    change_manifest(b, judge=judge)
    said = list(list_differences([a, b], ["A", "B"], "default", ["q1"]))
    assert said == ["the judge differs: none (A) and openai/j temperature=0, p/k (B)"]
    change_manifest(b, versions={"default": now})  # the judge took no part in this scorer
    assert not list(list_differences([a, b], ["A", "B"], "default", ["q1"]))


@pytest.mark.slow
def test_trials_count_as_their_mean(questions: Path) -> None:
    class Learning:
        """Right from the second time on."""

        def __init__(self) -> None:
            self._seen: set[str] = set()

        def generate(self, text: str, images: list[str]) -> str:
            letter = "ABC"[int(text.partition("Question ")[2].partition("?")[0]) % 3]
            is_new = text not in self._seen
            self._seen.add(text)
            return "none of them" if is_new else letter

    a = run_here(questions, Learning(), trials=4, separate_trials=True, concurrency=1)
    b = score(questions, "b", right(N, 0, 1, 2))
    found = ec.compare(a, b)
    assert found.scores == {str(a.folder): 0.75, str(b.folder): 0.75}
    assert found.n == N
    assert [flip.id for flip in found.flipped] == ["q0", "q1", "q2"]
    assert "--trials differs: 4 (python:Learning) and 1 (replies/b)" in found.warnings
    assert any("python:Learning" not in said and "was asked is not known" in said for said in found.warnings)


@pytest.mark.slow
def test_circular_questions_are_one_unit(questions: Path) -> None:
    a = run_here(questions, StubModel("A"), circular=True)
    b = run_here(questions, StubModel("B"), circular=True)
    found = ec.compare(a, b)
    assert found.n == N
    assert found.scores == {str(a.folder): 0, str(b.folder): 0}
    plain = run_here(questions, StubModel("C"))
    with pytest.raises(ec.UsageError, match="count rotations of a question together"):
        ec.compare(a, plain)


@pytest.fixture
def with_images(tmp_path: Path) -> Path:
    """Twelve questions on four images."""
    for k in range(4):
        (tmp_path / f"{k}.png").write_bytes(picture((50 * k, 80, 90), (40, 30)))
    return jsonl(tmp_path / "q.jsonl", [question(k, image=f"{k // 3}.png") for k in range(N)])


def test_questions_on_one_image_are_a_cluster(with_images: Path) -> None:
    a, b = (run_here(with_images, StubModel(letter)) for letter in "AB")
    found = ec.compare(a, b)
    assert (found.n, found.n_clusters) == (N, 4)
    assert ec.compare(a, b, cluster="none").n_clusters == N
    assert ec.compare(a.folder, b.folder, cluster="category").n_clusters == 2
    # A file of replies knows the images of the questions only by name, which is enough.
    assert ec.compare(a, score(with_images, "r", right(N))).n_clusters == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_pixels": 100}, "--max-pixels differs: not given (A) and 100 (B)"),
        ({"jpeg_quality": 50}, "--jpeg-quality differs: not given (A) and 50 (B)"),
        ({"system": "Be brief."}, "--system differs: not given (A) and Be brief. (B)"),
        ({"input": "none"}, "--input differs: image (A) and none (B)"),
        (
            {"prompt_template": "{{ question }}"},
            "--prompt-template differs: not given (A) and {{ question }} (B)",
        ),
        ({"limit": 5}, "--limit differs: not given (A) and 5 (B)"),
        ({"where": {"category": "x"}}, "--where differs: not given (A) and category=x (B)"),
        ({"trials": 2}, "--trials differs: 1 (A) and 2 (B)"),
        ({"seed": 3}, None),
        ({"concurrency": 1}, None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_was_asked_differently_is_named(
    options: Mapping[str, Any], said: str | None, with_images: Path
) -> None:
    model = "baseline/random"
    a = run_here(with_images, "baseline/majority")
    b = run_here(with_images, model, **options)
    warnings = [
        one.replace("baseline/majority", "A").replace(model, "B") for one in ec.compare(a, b).warnings
    ]
    asked = [one for one in warnings if "differ" in one]
    assert asked == ([] if said is None else [said])


def test_prompts_and_sizes_are_compared_as_they_were_sent(with_images: Path) -> None:
    """Another version of a benchmark may ask otherwise with the same options."""
    a = run_here(with_images, "baseline/majority")
    b = run_here(with_images, "baseline/random", prompt_template="Look: {{ question }}")
    change_manifest(b, options={**b.manifest["options"], "prompt_template": None})
    [said] = [one for one in ec.compare(a, b).warnings if "prompts differ" in one]
    assert said.startswith("the prompts differ, e.g. of sample q0: ")
    assert "'Look: Question 0?' (baseline/random)" in said
    c = run_here(with_images, "baseline/random", max_pixels=300)
    change_manifest(c, options={**c.manifest["options"], "max_pixels": None})
    [said] = ec.compare(a, c).warnings
    assert said.startswith("the images differ in size, e.g. of sample q0: 40 x 30 (baseline/majority) and ")


def test_other_images_of_the_same_size_are_named(with_images: Path) -> None:
    """One image of four was replaced between the runs."""
    a = run_here(with_images, "baseline/majority")
    (with_images.parent / "2.png").write_bytes(picture((1, 2, 3), (40, 30)))
    [said] = ec.compare(a, run_here(with_images, "baseline/random")).warnings
    assert said.startswith("the images differ, e.g. of sample q6: SHA-256 ")


def test_the_hint_names_a_run_without_the_scores(questions: Path) -> None:
    runs = [run_here(questions, StubModel(letter)) for letter in "AB"]
    other = run_here(questions, StubModel("C"), scorer="text")
    with pytest.raises(ec.UsageError, match="different scorers") as caught:
        ec.compare(runs[0], other, runs[1])
    assert f"eyechart score {other.folder} --also-scorer default" in caught.value.hint


def test_parameters_are_compared_by_name(questions: Path) -> None:
    from eyechart.runs.comparison import list_differences

    a, b = score(questions, "a", right(N)), score(questions, "b", right(N))
    usual = {"temperature": 0.0, "params": {"top_p": 0.9, "detail": "high"}, "settings": {}}
    change_manifest(a, options=usual)
    change_manifest(b, options=usual | {"temperature": None, "params": {"top_p": 0.9, "detail": "low"}})
    assert list(list_differences([a, b], ["A", "B"], "default", ["q1"])) == [
        "--temperature differs: 0 (A) and not given (B)",
        "--param detail differs: high (A) and low (B)",
    ]


def test_several_runs_and_a_baseline(questions: Path) -> None:
    runs = [
        score(questions, name, right(N, *wrong)) for name, wrong in (("a", [1]), ("b", [1, 2, 3]), ("c", []))
    ]
    found = ec.compare(*runs)
    assert [one.model for one in found.standings] == ["replies/c", "replies/a", "replies/b"]
    assert found.reference == str(runs[2].folder)
    for baseline in (runs[1], str(runs[1].folder), "replies/b"):
        found = ec.compare(*runs, baseline=baseline)
        assert found.reference == str(runs[1].folder)
        assert [pair.difference > 0 for pair in found.pairs] == [True, True]
    with pytest.raises(ec.UsageError, match="the baseline replies/z is not among the runs"):
        ec.compare(*runs, baseline="replies/z")


def test_the_same_model_twice_is_told_apart_by_its_folder(questions: Path) -> None:
    a, b = (run_here(questions, StubModel(letter)) for letter in "AB")
    labels = [one.label for one in ec.compare(a, b).standings]
    assert set(labels) == {f"python:StubModel ({run.folder.name[-8:]})" for run in (a, b)}


def test_groups_by_any_column(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "q.jsonl", [question(k, place="mn"[k % 2]) for k in range(N)])
    a, b = score(file, "a", right(N, 1)), score(file, "b", right(N, 2))
    assert list(ec.compare(a, b, by="place").by["place"]) == ["m", "n"]
    assert ec.compare(a, b, by=[]).by == {}
    with pytest.raises(ec.UsageError, match="no sample has 'plaice'") as caught:
        ec.compare(a, b, by="plaice")
    assert "did you mean place?" in caught.value.hint


def test_an_unknown_correction(questions: Path) -> None:
    a = score(questions, "a", right(N, 1))
    with pytest.raises(ec.UsageError, match="unknown correction 'bonferroni'"):
        ec.compare(a, a, correction="bonferroni")  # type: ignore[arg-type]


def test_nothing_of_the_runs_is_changed(questions: Path) -> None:
    a, b = score(questions, "a", right(N, 1)), score(questions, "b", right(N, 2))
    before = {path: path.read_bytes() for path in questions.parent.rglob("*") if path.name == "summary.json"}
    json.dumps(ec.compare(a, b).to_json())
    assert all(path.read_bytes() == content for path, content in before.items())
    assert replace(ec.compare(a, b), warnings=()) == ec.compare(a, b)


def test_failed_questions_are_in_the_bounds_and_those_not_asked_are_not(tmp_path: Path) -> None:
    """A has no reply where it would be wrong: on the rest it is better, and the verdict is withheld."""
    rows = [question(k) for k in range(60)]
    file = jsonl(tmp_path / "q.jsonl", rows)

    def answer(wrong: set[int], fails: set[int]) -> Any:
        def reply(text: str, images: Sequence[Any]) -> str:
            k = int(text.split("Question ")[1].split("?")[0])
            if k in fails:
                raise ValueError("no reply")
            return "ABC"[(k + (k in wrong)) % 3]

        return reply

    a = run_here(file, answer(set(), set(range(20))), out=tmp_path / "a", retries=0, give_up_after=100)
    b = run_here(file, answer(set(range(12, 40)), set()), out=tmp_path / "b")
    found = ec.compare(b, a)
    pair = found.pairs[0]
    assert (found.n, pair.n_failed) == (40, 20)
    assert pair.difference == 0.5
    assert pair.p < 0.05
    low, high = pair.ci95_with_failures or (0, 0)
    assert low < 0 < high
    assert found.verdict.count(" are not distinguishable: ") == 1
    assert "20 questions failed" in found.verdict
    assert found.by["category"]["x"].pairs[0].n_failed == 10
    part = ec.compare(b, run_here(file, answer(set(), set()), out=tmp_path / "c", limit=30))
    assert part.pairs[0].n_failed == 0
    assert part.pairs[0].ci95_with_failures is None
