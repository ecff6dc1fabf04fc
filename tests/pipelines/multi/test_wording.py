"""The authors' wording: prompts.py of their checkout is found where it lies, and read without running it."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.samples import get_remarks
from eyechart.errors import UsageError
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.prompt import (
    NAMES,
    WORDS,
    MultiPrompt,
    find_wording,
    read_authors_words,
    read_words,
)
from eyechart.runs.sources import make_benchmark
from eyechart.types import ImageRef, Sample
from support.command import eyechart
from support.multi import MultiData, make_multi
from support.server import Server

# The variables and the line breaks of the authors' file, with words of our own.
TYPES = {"单选": "一个字母。", "多选": "几个字母。", "填空": "每空一行：\n0.5\n①。", "解答": "请分析。"}
GUIDES = {
    name: f"\n（{name}）\n"
    for name in ("image", "image_in_turn", "caption", "no_image", "pure_text_with_blank_image", "pure_text")
}
LITERALS: dict[str, Any] = {
    "question_prompts": {"zh": TYPES, "en": TYPES},
    "knowledge_prompt": {"zh": "\n材料（100%%可靠）： \n%s", "en": "\nMaterial: \n%s"},
    "system_prompt": {"zh": "考生，用%s答%s题。\n%s", "en": "Use %s for this %s.\n%s"},
    "image_noncot_guide_prompts": {"zh": GUIDES, "en": GUIDES},
    "image_cot_guide_prompts": {"zh": dict.fromkeys(GUIDES, "\n不用\n")},
    "ending_prompt": {"zh": "\n作答：", "en": "\nAnswer:"},
    "ending_cot_prompt": {"zh": "\n先推理，以“{你的答案}”结尾：", "en": "\nReason:"},
    "ending_cot_doublecheck_prompt": {"zh": "\n最终答案：", "en": "\nFinal:"},
    "fs_shot_guide_example": {"zh": {name: f"\n例（{name}）\n答" for name in ("单选", "多选", "填空")}},
    "fs_end_example": {"zh": "\n请答：\n"},
}
AUTHORS = "".join(
    [
        "import re\nfrom tqdm import tqdm\nopen('executed.txt', 'w')\n",
        'ending_cot_prompt = {"zh": "\\n早先的：", "en": ""}\n',
        *(f"{name} = {value!r}\n" for name, value in LITERALS.items()),
        "# TODO\nquestion_noncot_prompts = question_prompts\nquestion_cot_prompts = question_prompts\n",
        "def get_prompts(questions, args):\n    return re.findall('\\[IMAGE_[0-9]+]', questions)\n",
    ]
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The authors' folder eval, beside data."""
    folder = tmp_path / "eval"
    folder.mkdir()
    (folder / "prompts.py").write_text(AUTHORS, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> MultiData:
    return make_multi(tmp_path / "data")


def compose(sample: Sample, options: dict[str, Any]) -> tuple[str, str]:
    """The texts before and after the cut of split_sys, put together as the authors' program does."""
    said = {name: value["zh"] for name, value in LITERALS.items()}
    meta = sample.meta
    kind = {"其他": "解答"}.get(meta["type_name"], meta["type_name"])
    instruction = said["question_prompts"][kind]
    role = said["system_prompt"] % (meta["knowledge"], kind, instruction)
    text = instruction if options["no_background"] else role
    n_images = meta["question_image_number"]
    if n_images == 0:
        guide = "pure_text_with_blank_image" if options["blank_image"] else "pure_text"
    else:
        guide = "image"
    text += said["image_noncot_guide_prompts"][guide]
    if options["few_shot"] and kind != "解答":
        text += said["fs_shot_guide_example"][kind] + said["fs_end_example"]
    after = sample.question
    if "knowledge_content" in meta:
        after += said["knowledge_prompt"] % meta["knowledge_content"]
    after += said["ending_cot_prompt" if options["cot"] and kind != "解答" else "ending_prompt"]
    return text, after


@pytest.mark.parametrize("type_name", ["单选", "多选", "填空", "解答", "其他"])
def test_prompts_are_those_of_the_authors(place: Path, type_name: str) -> None:
    names = ("few_shot", "no_background", "blank_image", "cot")
    for values, n_images, knows in product(product([False, True], repeat=4), [0, 1], [False, True]):
        options: dict[str, Any] = dict(zip(names, values, strict=True))
        meta = {"type_name": type_name, "knowledge": "50%的{圆}", "question_image_number": n_images}
        images = (ImageRef(kind="file", location="1.png"),) * n_images
        sample = Sample(id="a_0", question="{type} %s？", images=images, meta=meta)
        if knows:
            sample = Sample(
                id="a_0", question="？", images=images, meta=meta | {"knowledge_content": "知%s识"}
            )
        words = read_words("prompts.py", "zh", cot=options["cot"])
        before, after = compose(sample, options)
        prompt = MultiPrompt(MultiOptions(input_type=2, **options), words)
        assert prompt(sample)[0].text == before + after
        split = MultiPrompt(MultiOptions(input_type=2, split_sys=True, **options), words)
        assert [turn.text for turn in split(sample)] == [before, after]
    assert not (place / "executed.txt").exists()


def test_the_last_round_keeps_its_line_break(place: Path) -> None:
    assert read_words("prompts.py", "zh")["final_round"] == "\n最终答案："
    (place / "words.json").write_text(json.dumps({"final_round": "\n答案：\n", "ending": "\n答："}))
    words = read_words("words.json", "zh")
    assert (words["final_round"], words["ending"]) == ("\n答案：", "答：")
    meta = {"type_name": "单选", "knowledge": "圆", "question_image_number": 2}
    images = tuple(ImageRef(kind="file", location=f"{k}.png") for k in "12")
    sample = Sample(id="a_0", question="[IMAGE_1][IMAGE_2]", images=images, meta=meta)
    prompt = MultiPrompt(MultiOptions(input_type=2, in_turn=True, cot=True), words)
    assert prompt(sample)[-1].text == "\n答案："


@pytest.mark.usefixtures("place")
def test_what_the_file_lacks_is_ours_and_named() -> None:
    assert set(read_authors_words(Path("prompts.py"), "zh")) == set(NAMES)
    theirs = read_authors_words(Path("prompts.py"), "en")
    assert set(NAMES) - set(theirs) == {"example_sa", "example_ma", "example_fb", "example_end"}
    assert read_words("prompts.py", "en")["example_sa"] == WORDS["en"]["example_sa"]


def test_english_keys_of_the_first_releases(tmp_path: Path) -> None:
    file = tmp_path / "prompts.py"
    english = {"single_choice": "1", "multiple_choices": "2", "fill_in_the_blank": "3"}
    said = LITERALS | {"question_noncot_prompts": {"en": english}, "question_cot_prompts": {"en": {}}}
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in said.items()), encoding="utf-8")
    words = read_authors_words(file, "en")
    assert [words.get(f"instruction_{kind}") for kind in ("sa", "ma", "fb", "op")] == ["1", "2", "3", None]
    assert "instruction_sa" not in read_authors_words(file, "en", cot=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = (", "cannot be read"),
        ("x = 1", "none of MULTI's prompts for zh"),
        ("system_prompt = 'x'\nending_prompt = 'y'", "none of MULTI's prompts for zh"),
        (AUTHORS.replace("题。\\n%s", "题。%s"), "system_prompt['zh'] has not the form"),
        (AUTHORS.replace("用%s答", "答"), "system_prompt['zh'] has not the form"),
        (AUTHORS.replace("（image）\\n", "（image）"), "image_noncot_guide_prompts['zh']['image'] has not"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "prompts.py"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_words(file, "zh")
    assert told in caught.value.message
    assert caught.value.message.startswith(str(file))


@pytest.mark.parametrize(
    ("folder", "found"), [("eval", "prompts.py"), ("eval/models", "../prompts.py"), (".", "eval/prompts.py")]
)
def test_it_is_found_as_args_py_is(
    place: Path, folder: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "models").mkdir()
    monkeypatch.chdir(place.parent / folder)
    assert find_wording() == found
    (place / "prompts.py").write_text("system_prompt = 'You are kind.'", encoding="utf-8")
    assert find_wording() == ""  # somebody's own file of that name
    (place / "prompts.py").write_text("system_prompt = (", encoding="utf-8")
    assert find_wording() == ""


def test_a_run_says_whose_words_it_has(place: Path, data: MultiData, tmp_path: Path) -> None:
    usual = {"problem_file": str(data.problem_file)}
    theirs = make_benchmark("multi", usual)
    assert theirs.settings["wording"] == "prompts.py"
    assert (get_remarks(theirs.source) or ())[-1] == "the prompts have the authors' wording, from prompts.py"
    english = get_remarks(make_benchmark("multi", usual | {"lang": "en"}).source) or ()
    assert english[-1].endswith("except for example_sa, example_ma, example_fb, example_end, which it lacks")
    ours = make_benchmark("multi", usual | {"wording": "eyechart"})
    assert ours.settings["wording"] == ""
    told = (get_remarks(ours.source) or ())[-1]
    assert told.startswith("the prompts have eyechart's own wording, not the authors'")
    assert "--set wording=" in told
    (tmp_path / "words.yaml").write_text("ending: 答：\n", encoding="utf-8")
    own = make_benchmark("multi", usual | {"wording": str(tmp_path / "words.yaml")})
    assert not any("wording" in remark for remark in get_remarks(own.source) or ())


@pytest.mark.slow
def test_the_command_uses_them_and_resumes_with_the_same(place: Path, data: MultiData) -> None:
    def multi(*said: object) -> str:
        done = eyechart("multi", *said, "-q", cwd=place)
        assert done.code == 0, done.err
        return done.err

    def list_asked(server: Server) -> list[str]:
        return ["".join(turn["content"] for turn in asked.body["messages"]) for asked in server.asked]

    begin = ("--problem_file", "../data/problem.json", "--output_name", "mine", "-v", "m")
    results = data.folder.parent / "results"
    with Server(lambda asked: "A") as server:
        ask = (*begin, "--api_url", server.base_url)
        assert "the prompts have the authors' wording, from prompts.py" in multi(*ask)
        assert all(text.startswith("考生，用") for text in list_asked(server))
        assert json.loads((results / "mine" / "args.json").read_text())["set"] == {"wording": "prompts.py"}
        n_asked = len(server.asked)
        multi(*ask)
        multi("--checkpoint_dir", "../results/mine")
        assert len(server.asked) == n_asked
        # A run that began with our wording, before the authors' file was there, goes on with it.
        (place / "prompts.py").rename(place / "away.py")
        assert "the prompts have eyechart's own wording" in multi(*ask, "--output_name", "ours")
        (place / "away.py").rename(place / "prompts.py")
        n_asked = len(server.asked)
        assert "the prompts have eyechart's own wording" in multi(*ask, "--output_name", "ours")
        multi("--checkpoint_dir", "../results/ours")
        assert len(server.asked) == n_asked
    official = json.loads((results / "ours" / "eyechart" / "official" / "args.json").read_text())
    assert official["wording"] == "eyechart"
