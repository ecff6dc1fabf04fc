"""MULTI as a benchmark: options by their official names, points as weights, replies from prediction.json."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError, EyechartError, UsageError
from eyechart.pipelines.multi.benchmark import multi
from eyechart.registry import benchmarks
from eyechart.runs.sources import make_benchmark
from eyechart.types import MODELS_TURN, Benchmark, Replies, Sample
from support.command import Outcome, eyechart
from support.multi import MultiData, make_multi, write_json
from support.server import Answer, Asked, Server


@pytest.fixture
def data(tmp_path: Path) -> MultiData:
    return make_multi(tmp_path / "data")


@pytest.fixture
def make(data: MultiData) -> Callable[..., Benchmark]:
    """The benchmark over the small data set, with options as the command line gives them."""

    def made(**settings: Any) -> Benchmark:
        return make_benchmark("multi", {"problem_file": str(data.problem_file), **settings})

    return made


def by_id(benchmark: Benchmark) -> dict[str, Sample]:
    return {sample.id: sample for sample in benchmark.source}


# -- options ---------------------------------------------------------------------------------------


def test_it_is_in_the_catalogue_and_naming_it_reads_nothing() -> None:
    assert "multi" in benchmarks.names()
    named = make_benchmark("multi", {"problem_file": "none.json", "wording": "none.yaml"})
    assert (named.scorer, named.files, named.settings["input_type"]) == ("multi", "multi", 0)
    assert named.group_by == ("level", "image_class", "question_type", "subject")


def test_without_a_file_it_says_which_one_it_needs() -> None:
    with pytest.raises(UsageError, match="needs a problem file"):
        list(multi().source)


def test_a_file_may_be_given_either_way(data: MultiData) -> None:
    assert by_id(multi(file=str(data.problem_file))) == by_id(multi(problem_file=str(data.problem_file)))
    with pytest.raises(UsageError, match="two problem files"):
        multi(file="a.json", problem_file="b.json")


def test_files_of_one_name_in_two_folders_are_two_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        made.append(multi(file="problem.json"))
    assert [one.source.origin for one in made] == [
        str(tmp_path / "one/problem.json"),
        str(tmp_path / "two/problem.json"),
    ]
    assert [one.settings["problem_file"] for one in made] == ["problem.json"] * 2
    assert multi().source.origin == "multi"


def test_the_settings_keep_their_names_and_order_which_name_run_folders() -> None:
    settings = multi(file="a.json", input_type=1, questions_type=[0, 3], image_type=1, seed=4).settings
    assert list(settings.items()) == [
        ("problem_file", "a.json"), ("knowledge_file", ""), ("caption_file", ""), ("subset", ""),
        ("questions_type", "0,3"), ("image_type", "1"), ("subject", ""), ("input_type", 0),
        ("in_turn", False), ("cot", False), ("few_shot", 0), ("no_background", False), ("no_sys", False),
        ("cap_in_cnt", False), ("lang", "zh"), ("blank_image", False), ("eval_num", -1), ("random", False),
        ("seed", 4), ("split_sys", False), ("wording", ""), ("answer_position", "start"), ("image_root", ""),
        ("renumbering", "official"), ("allow_missing_captions", False), ("allow_unknown_ids", False),
    ]  # fmt: skip


def test_the_usual_choice_is_the_official_one(make: Callable[..., Benchmark]) -> None:
    assert list(by_id(make())) == ["czsx_0_0", "czsx_0_1", "gzwl_1_0", "shjk_2_0"]
    assert make().settings["questions_type"] == make().settings["image_type"] == "0,1,2"


@pytest.mark.parametrize(
    ("settings", "ids"),
    [
        ({"questions_type": "3,4"}, ["gzwl_1_1", "dxyy_3_0"]),
        ({"questions_type": "3"}, ["gzwl_1_1"]),
        ({"questions_type": [0]}, ["czsx_0_0", "shjk_2_0"]),
        ({"image_type": "0"}, ["gzwl_1_0"]),
        ({"subject": "shjk"}, ["shjk_2_0"]),
        ({"eval_num": "2"}, ["czsx_0_0", "czsx_0_1"]),
        ({"questions_type": "0", "eval_num": "0"}, ["czsx_0_0", "shjk_2_0"]),
    ],
)
def test_choices(make: Callable[..., Benchmark], settings: dict[str, Any], ids: list[str]) -> None:
    assert list(by_id(make(**settings))) == ids


def test_the_hard_list_is_asked_in_the_files_order(make: Callable[..., Benchmark], data: MultiData) -> None:
    hard = str(data.hard_list)
    assert list(by_id(make(subset=hard))) == ["czsx_0_1", "gzwl_1_1", "shjk_2_0"]
    assert list(by_id(make(subset=hard, questions_type="0"))) == ["shjk_2_0"]
    assert list(by_id(make(subset=hard, subject="czsx"))) == ["czsx_0_1"]


def test_a_shuffle_is_the_same_every_time(make: Callable[..., Benchmark]) -> None:
    orders = {tuple(by_id(make(random="true", seed=str(seed)))) for seed in range(9)}
    assert len(orders) > 1
    assert list(by_id(make(random="true", seed="4"))) == list(by_id(make(random="true", seed="4")))


@pytest.mark.parametrize(
    "settings",
    [
        {"input_type": "3"},
        {"questions_type": "5"},
        {"image_type": "x"},
        {"lang": "fr"},
        {"eval_num": "-2"},
        {"answer_position": "middle"},
        {"renumbering": "other"},
        {"question_type": "0"},
    ],
)
def test_options_that_cannot_be_meant(make: Callable[..., Benchmark], settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        make(**settings)
    assert next(iter(settings)) in caught.value.message


def test_a_choice_of_nothing_says_what_was_chosen_and_what_there_is(
    make: Callable[..., Benchmark], data: MultiData
) -> None:
    with pytest.raises(UsageError) as caught:
        list(make(subject="czyw").source)
    assert caught.value.message == (
        "problem.json: 0 of 6 questions selected; left out: 2 by questions_type 0,1,2 (1 OP, 1 other), "
        "4 by subject czyw"
    )
    assert caught.value.hint == "its subjects are: czsx, gzwl, shjk"
    write_json(data.hard_list, ["shjk_2_0"])
    with pytest.raises(UsageError, match="5 by subset, 1 by image_type 0"):
        list(make(subset=str(data.hard_list), image_type="0").source)
    write_json(data.hard_list, [])
    with pytest.raises(UsageError, match="without subset there would be"):
        list(make(subset=str(data.hard_list)).source)


def test_a_folder_of_images_that_is_not_there(make: Callable[..., Benchmark]) -> None:
    with pytest.raises(DataError, match="image_root: no folder"):
        list(make(image_root="none").source)


def test_captions_need_a_file(make: Callable[..., Benchmark], data: MultiData) -> None:
    assert make(input_type="1").settings["input_type"] == 0
    chosen = make(input_type="1", caption_file=str(data.caption_file))
    assert chosen.settings["input_type"] == 1
    assert "一个红色方块" in by_id(chosen)["czsx_0_0"].question


def test_the_answer_at_the_end_has_a_scorer_of_its_own(make: Callable[..., Benchmark]) -> None:
    assert make(answer_position="end").scorer == "multi-end"


# -- samples and prompts ---------------------------------------------------------------------------


def test_a_sample_weighs_its_points(make: Callable[..., Benchmark], data: MultiData) -> None:
    weights = {name: sample.weight for name, sample in by_id(make(questions_type="0,1,2,3,4")).items()}
    assert weights == {
        "czsx_0_0": 1, "czsx_0_1": 2, "gzwl_1_0": 2, "gzwl_1_1": 1, "shjk_2_0": 1, "dxyy_3_0": 0,
    }  # fmt: skip
    release = multi(problem_file=str(data.release_file))
    assert {sample.weight for sample in release.source} == {0.0}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_our_own_words(make: Callable[..., Benchmark], lang: str) -> None:
    chosen = make(input_type="2", lang=lang, few_shot="1")
    [message] = chosen.prompt(by_id(chosen)["czsx_0_0"])
    assert "颜色" in message.text.splitlines()[0]
    assert "单选" in message.text.splitlines()[0]
    assert len(message.images) == 1
    is_chinese = "请" in message.text
    assert is_chinese == (lang == "zh")


def test_rounds(make: Callable[..., Benchmark]) -> None:
    chosen = make(input_type="2", in_turn="true", cot="true", split_sys="true")
    turns = chosen.prompt(by_id(chosen)["czsx_0_1"])
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert turns[2] is MODELS_TURN
    assert [len(turn.images) for turn in turns] == [0, 1, 0, 1, 0, 0]


def test_words_of_ones_own(make: Callable[..., Benchmark], tmp_path: Path) -> None:
    words = tmp_path / "words.yaml"
    words.write_text("ending: 答：\n", encoding="utf-8")
    chosen = make(wording=str(words))
    assert chosen.prompt(by_id(chosen)["gzwl_1_0"])[0].text.endswith("\n答：")


def test_wrong_words_stop_the_run_before_the_first_question(
    make: Callable[..., Benchmark], tmp_path: Path
) -> None:
    words = tmp_path / "words.yaml"
    words.write_text("endin: 答：\n", encoding="utf-8")
    with pytest.raises(UsageError, match="'endin'"):
        list(make(wording=str(words)).source)
    words.write_text("guide_image_in_turn: 如[IMAGE_1]\n", encoding="utf-8")
    assert list(make(wording=str(words)).source)
    with pytest.raises(UsageError, match="'guide_image_in_turn' holds an image mark"):
        list(make(wording=str(words), in_turn="true").source)


def test_corrected_numbers_can_be_asked_for(make: Callable[..., Benchmark], data: MultiData) -> None:
    problem = {
        "problem_content_list": ["[IMAGE_2]与[IMAGE_1]"],
        "problem_type_list": ["单选"],
        "img_paths": ["images/czsx/0_1.png", "images/czsx/0_2.png"],
    }
    file = write_json(data.folder / "swapped.json", {"czsx_7": problem})
    texts = [
        next(iter(make(problem_file=str(file), renumbering=way).source)).question
        for way in ("official", "correct")
    ]
    assert texts == ["\n[IMAGE_2]与[IMAGE_2]", "\n[IMAGE_1]与[IMAGE_2]"]


# -- replies ---------------------------------------------------------------------------------------


def read(benchmark: Benchmark, file: Path) -> Replies:
    assert benchmark.read_replies is not None
    return benchmark.read_replies(file)


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    return write_json(
        tmp_path / "prediction.json",
        {
            "shjk_2_0": {"question_id": "shjk_2_0", "question_image_number": 0, "prediction": "C"},
            "czsx_0_1": {"question_id": "czsx_0_1", "question_image_number": 2, "prediction": "A"},
            "gzwl_1_1": {"question_id": "gzwl_1_1", "question_image_number": 0},
        },
    )


def test_the_questions_of_the_file_are_scored_and_no_others(
    make: Callable[..., Benchmark], predictions: Path
) -> None:
    said = read(make(), predictions)
    assert {name: reply.text for name, reply in said.by_id.items()} == {
        "shjk_2_0": "C", "czsx_0_1": "A", "gzwl_1_1": "",
    }  # fmt: skip
    assert said.source is not None
    found = {sample.id: sample for sample in said.source}
    assert list(found) == ["czsx_0_1", "gzwl_1_1", "shjk_2_0"]  # the open question among them
    assert found["shjk_2_0"].meta["image_class"] == "NI"  # as the file says
    assert found["shjk_2_0"].meta["question_image_number"] == 0
    assert said.skipped == {}


@pytest.mark.parametrize(
    ("settings", "left_out"),
    [
        ({"questions_type": "0,1,2"}, {"gzwl_1_1"}),
        ({"subject": "czsx"}, {"shjk_2_0", "gzwl_1_1"}),
        ({"subset": "hard_list.json"}, set()),
    ],
)
def test_a_choice_of_questions_leaves_the_others_out_by_name(
    make: Callable[..., Benchmark],
    predictions: Path,
    data: MultiData,
    settings: dict[str, str],
    left_out: set[str],
) -> None:
    if "subset" in settings:
        settings = {"subset": str(data.folder / settings["subset"])}
    said = read(make(**settings), predictions)
    assert set(said.skipped) == left_out
    assert set(said.by_id) == {"shjk_2_0", "czsx_0_1", "gzwl_1_1"} - left_out


def test_a_smaller_list_leaves_the_others_out(
    make: Callable[..., Benchmark], predictions: Path, data: MultiData
) -> None:
    write_json(data.hard_list, ["shjk_2_0"])
    said = read(make(subset=str(data.hard_list)), predictions)
    assert (set(said.by_id), set(said.skipped)) == ({"shjk_2_0"}, {"czsx_0_1", "gzwl_1_1"})


def test_ids_of_no_question_are_refused_by_name(make: Callable[..., Benchmark], tmp_path: Path) -> None:
    file = write_json(tmp_path / "prediction.json", {"czsx_0_0": {}, "czsx_0_9": {}, "zz_0_0": {}})
    with pytest.raises(DataError) as caught:
        read(make(), file)
    assert caught.value.message == ("prediction.json: 2 unknown ids, not in problem.json: czsx_0_9, zz_0_0")


# -- whole runs ------------------------------------------------------------------------------------


def answer(asked: Asked) -> str:
    """Right on single choice, half right on multiple choice, one blank of two."""
    if "沸点" in asked.text:
        return "100\n1"
    return "C" if "底色" in asked.text else "A"


def run(cwd: Path, *words: object) -> Outcome:
    return eyechart("run", *words, "-q", "--json", cwd=cwd)


@pytest.mark.slow
def test_a_run_counts_points(data: MultiData, tmp_path: Path) -> None:
    with Server(answer) as server:
        done = run(
            tmp_path, "multi", "--set", f"problem_file={data.problem_file}", "--set", "input_type=2",
            "-m", "openai/served", "--base-url", server.base_url,
        )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["score"] == pytest.approx(4 / 6)  # 1 + 1 of 2 + 1 of 2 + 1
    assert sorted(len(asked.images) for asked in server.asked) == [0, 1, 1, 2]
    assert set(done.json["by"]) == {"level", "image_class", "question_type", "subject"}


@pytest.mark.slow
def test_rounds_are_one_conversation(data: MultiData, tmp_path: Path) -> None:
    with Server(answer) as server:
        done = run(
            tmp_path, data.problem_file, "--as", "multi", "--set", "input_type=2", "--set", "in_turn=true",
            "--set", "image_type=2", "-m", "openai/served", "--base-url", server.base_url,
        )  # fmt: skip
    assert done.code == 0, done.err
    first, second = server.asked
    assert [turn["role"] for turn in first.body["messages"]] == ["user"]
    assert [turn["role"] for turn in second.body["messages"]] == ["user", "assistant", "user"]
    assert len(first.images) == len(second.images) == 1
    assert first.images != second.images


@pytest.mark.slow
def test_a_conversation_goes_on_where_it_was_cut_off(data: MultiData, tmp_path: Path) -> None:
    def ask(server: Server) -> Outcome:
        return run(
            tmp_path, data.problem_file, "--as", "multi", "--set", "input_type=2", "--set", "in_turn=true",
            "--set", "image_type=2", "-m", "openai/served", "--base-url", server.base_url, "--out", "runs",
        )  # fmt: skip

    with Server(lambda asked: "看到了" if "[IMAGE_1]" in asked.text else Answer(status=400)) as server:
        assert ask(server).json["outcomes"]["failed"] == 1
        server.answer = lambda asked: "AB"
        assert ask(server).json["score"] == 1
    assert [len(asked.body["messages"]) for asked in server.asked] == [1, 3, 3]
    assert server.asked[-1].body["messages"][1]["content"] == "看到了"
    [file] = tmp_path.glob("runs/multi/*/official/prediction.json")
    entry = json.loads(file.read_text(encoding="utf-8"))["czsx_0_1"]
    assert entry["answer_history"] == ["看到了", "AB"]
    assert len(entry["input_message_list"]) == len(entry["image_list"]) == 2


EVALUATOR = """
class Evaluator:
    def generate_answer(self, question):
        if "prompted_content_list" in question:
            question["input_message_list"] = question.pop("prompted_content_list")
            question["answer_history"] = ["B", "A"]
            assert len(question["image_list"]) == question["question_image_number"] == 2
        else:
            assert not question["prompted_system_content"]
            question.pop("prompted_system_content")
            question["input_message"] = question.pop("prompted_content")
            assert len(question.get("image_list", [])) == question["question_image_number"]
        question["prediction"] = "A"
        return question
"""


@pytest.mark.slow
def test_an_evaluator_class_runs_unchanged(data: MultiData, tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text(EVALUATOR)
    done = run(
        tmp_path, data.problem_file, "--as", "multi", "--set", "input_type=2", "--set", "in_turn=true",
        "-m", "python:evaluator.py:Evaluator",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["outcomes"]["partial"] == 1
    assert done.json["score"] == pytest.approx(2 / 6)


def test_bad_input_costs_nothing(data: MultiData, tmp_path: Path) -> None:
    write_json(data.hard_list, ["nobody_0_0"])
    with Server() as server:
        done = run(
            tmp_path, "multi", "--set", f"problem_file={data.problem_file}", "--set",
            f"subset={data.hard_list}", "-m", "openai/served", "--base-url", server.base_url,
        )  # fmt: skip
    assert done.code == 2
    assert "nobody_0_0" in done.err
    assert server.asked == []


@pytest.mark.slow
def test_the_official_file_of_replies_is_scored(data: MultiData, predictions: Path, tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    done = eyechart(
        "score", "--benchmark", "multi", "--set", f"problem_file={data.problem_file}",
        "--replies", predictions, "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["n"] == 3
    assert done.json["score"] == pytest.approx(2 / 4)  # 1 of 1, 1 of 2, 0 of 1


@pytest.mark.slow
def test_what_open_questions_need_is_asked_for_only_where_there_are_some(
    data: MultiData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("jieba"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    said = {"shjk_2_0": {"question_id": "shjk_2_0", "question_image_number": 1, "prediction": "C"}}
    predictions = write_json(tmp_path / "prediction.json", said)
    problem = f"problem_file={data.problem_file}"
    scored = eyechart(
        "score", "--benchmark", "multi", "--set", problem, "--replies", predictions, "--json", cwd=tmp_path
    )
    assert (scored.code, scored.json["n"]) == (0, 1), "no open question is answered in that file"
    with Server() as server:
        refused = run(
            tmp_path, "multi", "--set", problem, "--set", "questions_type=0,3", "-m", "openai/served",
            "--base-url", server.base_url,
        )  # fmt: skip
    assert refused.code == 2
    assert "eyechart[multi]" in refused.err
    assert server.asked == []


def test_every_problem_of_ours_is_an_error_of_ours(make: Callable[..., Benchmark]) -> None:
    with pytest.raises(EyechartError):
        list(make(knowledge_file="none.json").source)


@pytest.mark.slow
def test_two_prediction_files_are_scored_as_one(data: MultiData, tmp_path: Path) -> None:
    """As the authors' merging script: the second file's entry counts, its number of images included."""
    entry = {"question_image_number": 0, "prediction": "A"}
    first = write_json(tmp_path / "text.json", dict.fromkeys(["czsx_0_0", "gzwl_1_0"], entry))
    other = {"question_image_number": 1, "prediction": "C"}
    second = write_json(tmp_path / "images.json", dict.fromkeys(["shjk_2_0", "czsx_0_0"], other))
    done = eyechart(
        "score", "--benchmark", "multi", "--set", f"problem_file={data.problem_file}", "-q", "--json",
        "--replies", first, "--replies", second, cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "2 in " in done.err
    assert "3 together, 1 replaced by those of a later file" in done.err
    assert done.json["n"] == 3
    folder = tmp_path / done.json["run"] / "official"
    merged = json.loads((folder / "prediction.json").read_text(encoding="utf-8"))
    assert [(name, one["prediction"], one["question_image_number"]) for name, one in merged.items()] == [
        ("czsx_0_0", "C", 1), ("gzwl_1_0", "A", 0), ("shjk_2_0", "C", 1),
    ]  # fmt: skip
