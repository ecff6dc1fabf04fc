"""MULTI's files become samples; what does not fit together is named by file, id and field."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.loading import ImageLoader
from eyechart.errors import DataError, ImageError
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.data import MultiSource, PlacedText, check_marks, open_multi, place_images
from eyechart.pipelines.multi.files import ImagePaths, find_unshown_images, rewrite_marks
from eyechart.types import Sample
from support.multi import CAPTIONS, KNOWLEDGE, MultiData, make_multi, problems, write_json

ALL = "0,1,2,3,4"


@pytest.fixture
def data(tmp_path: Path) -> MultiData:
    return make_multi(tmp_path / "data")


def opened(data: MultiData, **fields: Any) -> MultiSource:
    given: dict[str, Any] = {"problem_file": data.problem_file, "questions_type": ALL} | fields
    settings: dict[str, Any] = {
        name: str(value) if isinstance(value, Path) else value for name, value in given.items()
    }
    return open_multi(MultiOptions(**settings))


def samples(data: MultiData, **fields: Any) -> dict[str, Sample]:
    return {sample.id: sample for sample in opened(data, **fields)}


def changed(data: MultiData, problem: str, **fields: Any) -> MultiData:
    """The same data with some fields of one problem changed."""
    content = problems()
    content[problem] |= fields
    return replace(data, problem_file=write_json(data.folder / "changed.json", content))


def refusal(data: MultiData, **fields: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        list(opened(data, **fields))
    return caught.value


# -- marks of images -------------------------------------------------------------------------------


def with_old_marks(content: dict[str, Any]) -> Any:
    return json.loads(
        json.dumps(content).replace("[IMAGE_", "<img_").replace("_1]", "_1>").replace("_2]", "_2>")
    )


@pytest.mark.parametrize("input_type", [0, 1, 2])
def test_the_older_mark_of_an_image_is_read_as_todays(data: MultiData, input_type: int) -> None:
    more: dict[str, Any] = {"input_type": input_type, "knowledge_file": data.knowledge_file}
    more |= {"caption_file": data.caption_file} if input_type == 1 else {}
    expected = samples(data, **more)
    write_json(data.problem_file, with_old_marks(problems()))
    write_json(data.knowledge_file, with_old_marks(KNOWLEDGE))
    assert "<img_1>" in data.problem_file.read_text("utf-8")
    assert samples(data, **more) == expected
    remarks = opened(data, **more).remarks
    assert "problem.json: <img_n> is read as [IMAGE_n], in 2 of 4 entries" in remarks
    assert "knowledge.json: <img_n> is read as [IMAGE_n], in 1 of 2 entries" in remarks


def test_an_older_mark_without_its_image_is_refused(data: MultiData) -> None:
    error = refusal(changed(data, "shjk_2", problem_content="<img_2>"))
    assert "question 'shjk_2_0': the text has [IMAGE_2]" in error.message


def test_images_that_no_text_refers_to_are_told(data: MultiData) -> None:
    assert opened(data).remarks == ()
    (told,) = opened(changed(data, "shjk_2", problem_content="如图"), input_type=2).remarks
    assert told == (
        "changed.json: img_paths: 1 of 3 images not shown, because no text has [IMAGE_n] for it, "
        "e.g. ../data/images/shjk/2_1.png of 'shjk_2'"
    )
    (told,) = opened(data, knowledge_file=data.knowledge_file).remarks
    assert told.startswith("knowledge.json: knowledge_images: 1 of 2 images not shown")


def test_knowledge_that_no_question_has_is_told(data: MultiData) -> None:
    write_json(data.knowledge_file, {"别的": {"knowledge_content": "x"}})
    remarks = opened(data, knowledge_file=data.knowledge_file).remarks
    assert remarks == ("knowledge.json: it has no knowledge for any of the questions",)


def test_a_file_that_shows_none_of_its_images_is_refused_where_they_count(data: MultiData) -> None:
    blind = {
        name: {
            **problem,
            "problem_content": "",
            "problem_content_list": ["?"] * len(problem["problem_type_list"]),
        }
        for name, problem in problems().items()
    }
    write_json(data.problem_file, blind)
    for input_type in (1, 2):
        error = refusal(data, input_type=input_type, caption_file=data.caption_file)
        assert "img_paths: 3 of 3 images not shown" in error.message
        assert "write [IMAGE_1]" in error.hint
    (told,) = opened(data).remarks
    assert "3 of 3 images" in told


@given(st.lists(st.sampled_from(["[IMAGE_1]", "<img_2>", "[IMAGE_02]", "<img_9>", "x", "[IMAGE_0]"])))
def test_an_image_is_shown_or_told_never_neither(pieces: list[str]) -> None:
    images = ["a", "b"]
    text = rewrite_marks("".join(pieces))
    left = find_unshown_images(["".join(pieces)], images)
    with contextlib.suppress(DataError):  # of a mark that has no image
        check_marks(text, images, where="", field="")
        assert set(place_images(text, images).images) == set(images) - set(left)


# -- samples ---------------------------------------------------------------------------------------


def test_every_question_is_a_sample_in_the_files_order(data: MultiData) -> None:
    found = samples(data, input_type=2)
    assert list(found) == ["czsx_0_0", "czsx_0_1", "gzwl_1_0", "gzwl_1_1", "shjk_2_0", "dxyy_3_0"]
    assert [sample.row for sample in found.values()] == [1, 1, 2, 2, 3, 4]
    assert [sample.golds for sample in found.values()] == [
        ("A",), ("AB",), ("100\n0",), ("气压低，沸点降低。",), ("C",), ("hello",),
    ]  # fmt: skip


def test_what_a_sample_says_of_itself(data: MultiData) -> None:
    sample = samples(data, input_type=2)["czsx_0_1"]
    assert sample.question.startswith("观察图形[IMAGE_1]，回答问题。\n与[IMAGE_2]比较")
    assert sample.meta == {
        "question_type": "MA",
        "type_name": "多选",
        "education": "初中",
        "subject": "数学",
        "level": "JuH",
        "problem_id": "czsx_0",
        "question_image_number": 2,
        "image_class": "MI",
        "knowledge": "颜色",
        "input_type": 2,
        "image_paths": ["../data/images/czsx/0_1.png", "../data/images/czsx/0_2.png"],
    }
    assert sample.withheld == {"analysis": "一红一蓝。"}
    assert not sample.without_golds().withheld, "the worked solution is no model's to see"


def test_types_levels_and_image_classes(data: MultiData) -> None:
    found = samples(data)
    assert [sample.meta["question_type"] for sample in found.values()] == [
        "SA", "MA", "FB", "OP", "SA", "other",
    ]  # fmt: skip
    assert [sample.meta["level"] for sample in found.values()] == [
        "JuH", "JuH", "SeH", "SeH", "Driving", "Uni",
    ]  # fmt: skip
    assert [sample.meta["image_class"] for sample in found.values()] == ["SI", "MI", "NI", "NI", "SI", "NI"]
    assert found["gzwl_1_0"].question == "\n水的沸点是[MASK]度，冰点是[MASK]度。"  # the stem is empty
    assert found["shjk_2_0"].meta["knowledge"] == "交通标志"
    assert found["dxyy_3_0"].meta["knowledge"] == ""


def test_a_file_without_answers_gives_samples_without_golds(data: MultiData) -> None:
    assert all(sample.golds == () for sample in opened(data, problem_file=data.release_file))


def test_a_list_of_problems_is_the_same_as_an_object(data: MultiData) -> None:
    listed = write_json(data.folder / "hf.json", list(problems().values()))
    assert list(opened(data, problem_file=listed)) == list(opened(data))


def test_a_mark_at_the_beginning_of_the_file_is_skipped(data: MultiData) -> None:
    expected = list(opened(data))
    data.problem_file.write_bytes(b"\xef\xbb\xbf" + data.problem_file.read_bytes())
    assert list(opened(data)) == expected


@pytest.mark.parametrize("input_type", [0, 1])
def test_images_belong_to_input_type_2_but_are_counted_always(data: MultiData, input_type: int) -> None:
    for sample in opened(data, input_type=input_type, caption_file=data.caption_file):
        assert sample.images == ()
        assert sample.meta["question_image_number"] == {"S": 1, "M": 2, "N": 0}[sample.meta["image_class"][0]]


# -- images --------------------------------------------------------------------------------------


def test_official_paths_are_found_beside_the_problem_file(data: MultiData) -> None:
    sample = samples(data, input_type=2)["czsx_0_1"]
    assert [ref.location for ref in sample.images] == [
        str(data.folder / "images" / "czsx" / name) for name in ("0_1.png", "0_2.png")
    ]
    for ref in sample.images:
        assert ImageLoader().load(ref).width == 32


@pytest.mark.parametrize("root", ["data", "data/images", "."])
def test_a_folder_of_images_elsewhere(data: MultiData, root: str, tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    moved = data.problem_file.rename(tmp_path / "annotations" / "problem.json")
    found = samples(data, problem_file=moved, input_type=2, image_root=tmp_path / root)
    assert Path(found["shjk_2_0"].images[0].location).samefile(data.folder / "images/shjk/2_1.png")


def test_a_missing_image_is_its_samples_problem(data: MultiData) -> None:
    (data.folder / "images/shjk/2_1.png").unlink()
    found = samples(data, input_type=2)
    with pytest.raises(ImageError, match="no such file"):
        ImageLoader().load(found["shjk_2_0"].images[0])
    assert ImageLoader().load(found["czsx_0_0"].images[0]).mime == "image/png"


@pytest.mark.parametrize(
    "path", ["../../secret.png", "images/../../secret.png", "../data/images/../../../x/s.png"]
)
def test_paths_that_lead_out_are_not_followed(path: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.png").write_bytes(b"secret")
    ref = ImagePaths(tmp_path / "data").to_ref(path)
    assert ref.refused
    with pytest.raises(ImageError, match="leads out"):
        ImageLoader().load(ref)


@pytest.mark.parametrize("path", ["shjk/2_1.png", "./shjk/2_1.png", "images/shjk/2_1.png"])
def test_images_lie_in_the_folder_images_of_the_problem_file(path: str, tmp_path: Path) -> None:
    place = tmp_path / "images/shjk/2_1.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"")
    assert Path(ImagePaths(tmp_path).to_ref(path).location).samefile(place)


def test_addresses_are_addresses(data: MultiData) -> None:
    there = changed(data, "shjk_2", img_paths=["https://example.org/1.png"])
    [ref] = samples(there, input_type=2)["shjk_2_0"].images
    assert (ref.kind, ref.location) == ("url", "https://example.org/1.png")


# -- captions and knowledge ------------------------------------------------------------------------


def test_captions_follow_the_text(data: MultiData) -> None:
    text = samples(data, input_type=1, caption_file=data.caption_file)["czsx_0_1"].question
    assert text.endswith("C. 绿[IMAGE_1]: 一个红色方块，在左\n[IMAGE_2]: a blue square, on the right\n")


def test_captions_stand_in_the_text(data: MultiData) -> None:
    found = samples(data, input_type=1, caption_file=data.caption_file, cap_in_cnt=True)
    assert found["czsx_0_0"].question.startswith("观察图形[IMAGE_1:一个红色方块，在左]，")


def test_captions_are_left_out_of_other_input_types(data: MultiData) -> None:
    text = samples(data, input_type=2, caption_file=data.caption_file)["czsx_0_0"].question
    assert "红色方块" not in text


def test_knowledge_stands_beside_the_question_with_numbers_of_its_own(data: MultiData) -> None:
    found = samples(data, input_type=2, knowledge_file=data.knowledge_file)
    sample = found["czsx_0_0"]
    assert sample.meta["knowledge_content"] == "三原色见[IMAGE_1]。"
    assert sample.meta["knowledge_image_number"] == 1
    assert [Path(ref.location).name for ref in sample.images] == ["0_1.png", "2.png"]
    assert sample.meta["question_image_number"] == 1
    assert found["gzwl_1_0"].meta["knowledge_image_number"] == 0
    assert "knowledge_content" not in found["shjk_2_0"].meta  # no such piece: as published, no error


def test_knowledge_that_is_a_text_is_looked_up_by_its_first_character(data: MultiData) -> None:
    pieces = {name: {"knowledge_content": name} for name in ("交", "交通标志")}
    file = write_json(data.folder / "k.json", pieces)
    found = samples(data, knowledge_file=file)["shjk_2_0"].meta
    assert (found["knowledge"], found["knowledge_content"]) == ("交通标志", "交")


def test_knowledge_may_be_a_list_and_has_captions_too(data: MultiData) -> None:
    listed = write_json(data.folder / "k.json", list(KNOWLEDGE.values()))
    found = samples(data, input_type=1, knowledge_file=listed, caption_file=data.caption_file)
    assert found["czsx_0_0"].meta["knowledge_content"] == "三原色见[IMAGE_1]。[IMAGE_1]: 三个圆\n"


def test_a_prepared_question_and_its_knowledge(data: MultiData) -> None:
    source = opened(data, input_type=2, knowledge_file=data.knowledge_file)
    question, knowledge = source.prepare(source.questions[0])
    assert question == PlacedText(
        "观察图形[IMAGE_1]，回答问题。\n图形是什么颜色？\nA. 红\nB. 蓝\nC. 绿\nD. 黄",
        ("../data/images/czsx/0_1.png",),
    )
    assert knowledge == PlacedText("三原色见[IMAGE_1]。", ("../data/images/k/2.png",))


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"problem_type_list": ["单选", "判断"]},
            "problem 'czsx_0': field problem_type_list[1]: Invalid enum value '判断'",
        ),
        ({"problem_answer_list": ["A"]}, "problem 'czsx_0': problem_answer_list has 1 entry"),
        ({"problem_answer_list": []}, "problem_answer_list has 0 entries, but problem_content_list has 2"),
        ({"problem_type_list": ["单选"]}, "problem 'czsx_0': problem_type_list has 1 entry"),
        ({"problem_content_list": ["one"]}, "but problem_content_list has 1"),
        (
            {"img_paths": ["a.png"]},
            "question 'czsx_0_1': the text has [IMAGE_2], but img_paths holds 1",
        ),
        ({"problem_content": "[IMAGE_0]"}, "question 'czsx_0_0': the text has [IMAGE_0]"),
        ({"img_paths": "a.png"}, "problem 'czsx_0': field img_paths: Expected `array"),
        ({"problem_content_list": [1, 2]}, "field problem_content_list[0]: Expected `str`, got `int`"),
    ],
)
def test_a_problem_that_does_not_fit_together(data: MultiData, fields: dict[str, Any], told: str) -> None:
    error = refusal(changed(data, "czsx_0", **fields))
    assert error.message.startswith("changed.json: ")
    assert told in error.message


def test_a_null_among_the_answers_is_a_question_without_one(data: MultiData) -> None:
    found = samples(changed(data, "czsx_0", problem_answer_list=[None, "AB"]))
    assert (found["czsx_0_0"].golds, found["czsx_0_1"].golds) == ((), ("AB",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("[1, 2]", "row 1 has no problem_id"),
        ('{"czsx_0": {"problem_content_list": ["a"]', "invalid JSON at byte"),
        ('{"czsx_0": {"problem_content_list": ["a"],,}}', "problem 'czsx_0': invalid JSON"),
        ('{"czsx_0": {"problem_type_list": []}}', "problem 'czsx_0': problem_content_list is missing"),
        ('[{"problem_content_list": [], "problem_type_list": []}]', "row 1 has no problem_id"),
        (
            '{"a": {"problem_content_list": [], "problem_type_list": []},'
            ' "a": {"problem_content_list": [], "problem_type_list": []}}',
            "problem 'a' appears twice",
        ),
        ('"text"', "expected a list or an object"),
    ],
)
def test_a_problem_file_that_is_none(data: MultiData, text: str, told: str) -> None:
    data.problem_file.write_text(text, encoding="utf-8")
    error = refusal(data)
    assert error.message.startswith("problem.json: ")
    assert told in error.message


def test_a_file_that_is_not_there_or_no_file(data: MultiData) -> None:
    assert "no such file" in refusal(data, problem_file=data.folder / "none.json").message
    assert "cannot be read" in refusal(data, problem_file=data.folder).message


def test_wide_text_is_named(data: MultiData) -> None:
    data.problem_file.write_text(json.dumps(problems()), encoding="utf-16")
    assert "UTF-16" in refusal(data).message


def test_other_encodings_are_named_by_problem(data: MultiData) -> None:
    data.problem_file.write_text(json.dumps(problems(), ensure_ascii=False), encoding="gbk")
    error = refusal(data)
    assert (error.message, "iconv" in error.hint) == ("problem.json: problem 'czsx_0': not UTF-8 text", True)


def test_what_python_writes_for_a_missing_number_does_no_harm(data: MultiData) -> None:
    there = changed(data, "czsx_0", difficulty=float("nan"), quality=float("-inf"))
    assert "czsx_0_1" in samples(there)
    broken = changed(data, "czsx_0", problem_answer_list=["A", float("nan")])
    assert "field problem_answer_list[1]: Expected" in refusal(broken).message


def test_knowledge_that_marks_images_it_does_not_have(data: MultiData) -> None:
    broken = {"颜色": {"knowledge_content": "[IMAGE_2]", "knowledge_images": ["a.png"]}}
    file = write_json(data.folder / "k.json", broken)
    error = refusal(data, knowledge_file=file)
    assert error.message.startswith("k.json: knowledge '颜色': the text has [IMAGE_2], but knowledge_images")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([{"knowledge_content": "x"}], "row 1 has no name"),
        ([{"knowledge": "a", "knowledge_content": "x"}] * 2, "'a' appears twice"),
        ({"a": {"knowledge_content": 7}}, "knowledge 'a': field knowledge_content"),
    ],
)
def test_a_knowledge_file_that_is_none(data: MultiData, content: Any, told: str) -> None:
    assert told in refusal(data, knowledge_file=write_json(data.folder / "k.json", content)).message


def test_missing_captions_are_counted_and_named(data: MultiData) -> None:
    kept = [f"{path},{text}\n" for path, text in CAPTIONS.items() if "czsx" not in path]
    data.caption_file.write_text("".join(kept), encoding="utf-8")
    error = refusal(data, input_type=1, caption_file=data.caption_file)
    assert error.message == (
        "captions.csv: no line for 2 images that the questions show: "
        "../data/images/czsx/0_1.png, ../data/images/czsx/0_2.png"
    )
    assert "allow_missing_captions=true" in error.hint
    allowed = samples(data, input_type=1, caption_file=data.caption_file, allow_missing_captions=True)
    assert allowed["czsx_0_0"].question.endswith("[IMAGE_1]: \n")


def test_captions_of_images_that_are_not_asked_for_may_be_missing(data: MultiData) -> None:
    data.caption_file.write_text("../data/images/shjk/2_1.png,绿\n", encoding="utf-8")
    found = samples(data, input_type=1, caption_file=data.caption_file, subject="shjk")
    assert list(found) == ["shjk_2_0"]


def test_unknown_ids_of_a_hard_list_are_named(data: MultiData) -> None:
    write_json(data.hard_list, ["shjk_2_0", "czsx_9_0", "czsx_0_7"])
    error = refusal(data, subset=data.hard_list)
    assert error.message == "hard_list.json: 2 unknown ids, not in problem.json: czsx_9_0, czsx_0_7"
    assert list(samples(data, subset=data.hard_list, allow_unknown_ids=True)) == ["shjk_2_0"]


@pytest.mark.parametrize("text", ["{}", "[1]", "[", '"czsx_0_0"'])
def test_a_hard_list_that_is_none(data: MultiData, text: str) -> None:
    data.hard_list.write_text(text, encoding="utf-8")
    assert refusal(data, subset=data.hard_list).message.startswith(
        "hard_list.json: not a list of question ids"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.just("[IMAGE_1]x[IMAGE_9]"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted({name for problem in problems().values() for name in problem})


@pytest.mark.slow
@given(problem=st.dictionaries(st.sampled_from(FIELDS), JSON), rest=JSON)
def test_whatever_a_file_holds_is_read_or_refused(
    problem: dict[str, Any], rest: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    for content in (rest, {"czsx_0": problems()["czsx_0"] | problem}, [problem]):
        file = write_json(folder / "problem.json", content)
        with contextlib.suppress(DataError):
            for sample in open_multi(MultiOptions(problem_file=str(file), input_type=2, questions_type=ALL)):
                assert len(sample.images) == sample.meta["question_image_number"]
