"""The words of MULTI's prompts, in Chinese and English: our own, piece by piece.

The official pieces can be put in their place by a file (``wording=FILE``). What scoring looks for is the
same in both: 缺少图片信息, 我的分析如下：, 所以这道题的答案为：{…}, [MASK], [IMAGE_i].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from eyechart.data.formats import resolve_origin
from eyechart.data.source import ChangedSource, LazySource
from eyechart.errors import DataError, UsageError
from eyechart.files import read_yaml
from eyechart.pipelines.multi.data import MultiFiles, open_multi, read_replies
from eyechart.pipelines.multi.select import Selection, read_codes
from eyechart.registry import benchmark, check_texts
from eyechart.types import MODELS_TURN, Benchmark, ImageRef, Message, Replies, Sample, Source

Language = Literal["zh", "en"]

# Line breaks around a piece belong to the prompt's structure, not to the piece. In `role`, {subject} and
# {type} are filled in; other braces stand as they are.
WORDS: Mapping[Language, Mapping[str, str]] = {
    "zh": {
        "role": "请以熟悉{subject}的答题者的身份，完成下面这道{type}题。",
        "instruction_sa": "这道题只有一个选项正确。只写出这个选项的一个大写字母，不写任何说明。",
        "instruction_ma": (
            "这道题有不止一个选项正确。把所有正确选项的大写字母连着写出（形如 AC、BDE），"
            "字母之间不加符号，不写任何说明。"
        ),
        "instruction_fb": (
            "题目中的每个 [MASK] 是一处空。按先后顺序为每处空写一个尽量简短的答案，"
            "答案之间换行，不写任何说明。"
        ),
        "instruction_op": "请作简明的解答，并且必须用“我的分析如下：”开头。",
        "guide_image": "文中的 [IMAGE_i] 表示第 i 张图片所在的位置，图片已经附上，请看图作答。",
        "guide_image_in_turn": (
            "文中的 [IMAGE_i] 表示第 i 张图片所在的位置。这道题分几轮给出，每轮一段文字和一张图片；"
            "请记住前面各轮的内容，在最后一轮作答。"
        ),
        "guide_caption": (
            "文中的 [IMAGE_i] 表示第 i 张图片所在的位置，图片没有附上，只有描述图片的文字。"
            "如果凭这些文字无法作答，请回答“缺少图片信息”。"
        ),
        "guide_no_image": (
            "文中的 [IMAGE_i] 表示第 i 张图片所在的位置，但图片没有附上。"
            "请只凭文字作答；如果无法作答，请回答“缺少图片信息”。"
        ),
        "guide_black_image": "这道题只有文字。附上的黑色图片与题目无关，不必理会。",
        "guide_text": "这道题只有文字，不带图片。",
        "example_sa": "例题：\n一周有几天？\nA. 5\nB. 6\nC. 7\nD. 8\n例题的答案：\nC",
        "example_ma": "例题：\n下列数中，属于偶数的有\nA. 2\nB. 3\nC. 4\nD. 7\n例题的答案：\nAC",
        "example_fb": "例题：\n一年有[MASK]个月，一天有[MASK]小时。\n例题的答案：\n12\n24",
        "example_end": "现在请作答下面的题目：",
        "knowledge": "作答时可以参考下面的资料：",
        "ending": "请直接给出答案：",
        "ending_cot": "请先一步一步地推理，最后用一句话结束：所以这道题的答案为：{…}",
        "final_round": "请综合前面各轮的内容，给出这道题最终的答案。",
    },
    "en": {
        "role": "Answer as someone well versed in {subject}. What follows is a question of the type {type}.",
        "instruction_sa": (
            "Exactly one option is right. Write its capital letter alone, without any description."
        ),
        "instruction_ma": (
            "More than one option is right. Write the capital letters of all right options one after the "
            "other (such as AC or BDE), with nothing between them and without any description."
        ),
        "instruction_fb": (
            "Each [MASK] in the question is a blank. For every blank, in order, write the shortest answer "
            "that fills it, one a line, without any description."
        ),
        "instruction_op": 'Answer concisely. You must begin with "My analysis is as follows:".',
        "guide_image": (
            "[IMAGE_i] in the text stands where image i belongs. The images are attached: look at them."
        ),
        "guide_image_in_turn": (
            "[IMAGE_i] in the text stands where image i belongs. The question comes in several rounds, a "
            "piece of text and one image each. Keep the earlier rounds in mind, and answer in the last one."
        ),
        "guide_caption": (
            "[IMAGE_i] in the text stands where image i belongs. The images are not attached; texts that "
            'describe them are. If these are not enough to answer, reply "Lack of image information".'
        ),
        "guide_no_image": (
            "[IMAGE_i] in the text stands where image i belongs, but the images are not attached. Answer "
            'from the text alone; if that is not possible, reply "Lack of image information".'
        ),
        "guide_black_image": (
            "This question is text only. The black image attached to it has no meaning: pass over it."
        ),
        "guide_text": "This question is text only, without images.",
        "example_sa": (
            "Example:\nHow many days has a week?\nA. 5\nB. 6\nC. 7\nD. 8\nAnswer to the example:\nC"
        ),
        "example_ma": (
            "Example:\nWhich of these numbers are even?\nA. 2\nB. 3\nC. 4\nD. 7\nAnswer to the example:\nAC"
        ),
        "example_fb": (
            "Example:\nA year has [MASK] months, a day has [MASK] hours.\nAnswer to the example:\n12\n24"
        ),
        "example_end": "Now answer this question:",
        "knowledge": "You may draw on the following material:",
        "ending": "Give the answer directly:",
        "ending_cot": (
            "Reason step by step first, then close with the sentence: So the answer to this question is: {…}"
        ),
        "final_round": "Taking all rounds together, give the final answer to the question.",
    },
}
NAMES = tuple(WORDS["zh"])


def read_words(path: str | Path, lang: Language) -> dict[str, str]:
    """All pieces of a language: those that a YAML or JSON file names by its own words, the rest by ours.

    The file maps names to texts, or ``zh`` and ``en`` to such maps.
    """
    content = read_yaml(path)
    if isinstance(content, dict) and content and set(content) <= set(WORDS):
        content = content.get(lang, {})
    own = check_texts(content, path, NAMES, what="piece of MULTI's prompt")
    return {**WORDS[lang], **{name: text.strip("\n") for name, text in own.items()}}


# -- One prompt cut into rounds, an image each, for models that take one image at a time.
#
# Parity: tests/golden/multi_rounds.jsonl.

MARK = re.compile(r"\[IMAGE_[0-9]+]")  # where an image belongs


def split_rounds(text: str) -> list[str]:
    r"""Cut a text behind every mark of an image; what follows the last one joins the last round.

    >>> split_rounds("甲[IMAGE_1]乙[IMAGE_2]丙")
    ['甲[IMAGE_1]', '乙[IMAGE_2]\n丙']
    """
    marks = MARK.findall(text)
    if not marks:
        raise ValueError("a text without an image cannot be cut into rounds")
    *before, after = MARK.split(text)
    rounds = [said.strip() + mark for said, mark in zip(before, marks, strict=True)]
    rounds[-1] += "\n" + after.strip()  # as published: the line break is there even when nothing follows
    return rounds


# -- MULTI's prompt: role and instruction, image guide, example, question, knowledge, ending.
#
# The structure is the official one, in the official order, under the official names of its options; the
# words are in words.py. With `split_sys` the pieces before the question are the system message,
# otherwise all is one text. Images follow the text, except where a question with several of them is asked
# in rounds (`in_turn`): then every round brings its own.

# A black image of 224 x 224 pixels, a PNG of 86 bytes.
BLACK = ImageRef(
    kind="data",
    location="iVBORw0KGgoAAAANSUhEUgAAAOAAAADgAQAAAAAyVldMAAAAHUlEQVR42u3BMQEAAADCoPVPbQZ/oAAAAAAAAHgM"
    "GWAAAQrTbh4AAAAASUVORK5CYII=",
)

_OPEN = "解答"
_PIECES = {"单选": "sa", "多选": "ma", "填空": "fb", _OPEN: "op"}  # all others are asked like open ones


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiPrompt:
    """Makes messages of a sample of MULTI. Options are named as in the official arguments."""

    words: Mapping[str, str] = field(default_factory=lambda: WORDS["zh"])
    input_type: Literal[0, 1, 2] = 0
    in_turn: bool = False
    cot: bool = False
    no_background: bool = False
    no_sys: bool = False
    few_shot: int = 0
    blank_image: bool = False
    split_sys: bool = False

    def __call__(self, sample: Sample) -> list[Message]:
        """The messages of one question; several rounds have a place for what the model says to each."""
        system, text = self.system_text(sample), self.user_text(sample)
        turns = [Message("system", (system,))] if self.split_sys and system else []
        if not self.split_sys:
            text = system + text
        images = sample.images if self.input_type == 2 else ()
        if self.in_turn and len(images) > 1:
            return [*turns, *self._rounds(sample, text)]
        if self._is_black(sample):
            images = (BLACK,)
        return [*turns, Message("user", (text, *images))]

    def system_text(self, sample: Sample) -> str:
        """What comes before the question: role, instruction, image guide, example."""
        if self.no_sys:
            return ""
        words, kind = self.words, self._kind(sample)
        begin = words[f"instruction_{kind}"]
        if not self.no_background:
            role = words["role"].replace("{type}", _asked_as(sample))
            begin = f"{role.replace('{subject}', str(sample.meta.get('knowledge', '')))}\n{begin}"
        example = ""
        if self.few_shot and kind != "op":
            example = f"\n{words[f'example_{kind}']}\n{words['example_end']}\n"  # a line stays empty
        return f"{begin}\n{words[self.guide(sample)]}\n{example}"

    def user_text(self, sample: Sample) -> str:
        """The question, the knowledge where there is some, and the ending."""
        knowledge = sample.meta.get("knowledge_content")
        background = "" if knowledge is None else f"\n{self.words['knowledge']}\n{knowledge}"
        ending = "ending_cot" if self._reasons(sample) else "ending"
        return f"{sample.question}{background}\n{self.words[ending]}"

    def guide(self, sample: Sample) -> str:
        """The name of the piece that says how images are given."""
        n_images = _number(sample, "question_image_number") + _number(sample, "knowledge_image_number")
        if n_images == 0:
            return "guide_black_image" if self._is_black(sample) else "guide_text"
        if self.input_type == 2:
            return "guide_image_in_turn" if self.in_turn and n_images > 1 else "guide_image"
        return "guide_caption" if self.input_type == 1 else "guide_no_image"

    def _rounds(self, sample: Sample, text: str) -> list[Message]:
        rounds = split_rounds(text) if MARK.search(text) else []
        if len(rounds) != len(sample.images):
            raise DataError(
                f"question {sample.id!r}: the prompt marks {len(rounds)} images, but there are "
                f"{len(sample.images)}, so it cannot be asked in rounds",
                hint="write [IMAGE_i], without a number, where a piece of wording speaks of marks",
            )
        turns = [Message("user", (image, said)) for image, said in zip(sample.images, rounds, strict=True)]
        if self.cot:  # as published: open questions too, though their ending asks for no reasoning
            turns.append(Message("user", (self.words["final_round"],)))
        spoken = [turn for asked in turns for turn in (asked, MODELS_TURN)]
        return spoken[:-1]

    def _reasons(self, sample: Sample) -> bool:
        return self.cot and self._kind(sample) != "op"

    def _is_black(self, sample: Sample) -> bool:
        return self.blank_image and self.input_type == 2 and not sample.images

    @staticmethod
    def _kind(sample: Sample) -> str:
        return _PIECES[_asked_as(sample)]


def _asked_as(sample: Sample) -> str:
    name = str(sample.meta["type_name"])
    return name if name in _PIECES else _OPEN


def _number(sample: Sample, name: str) -> int:
    return int(sample.meta.get(name, 0))


# -- MULTI's options as they stand, and what they choose: questions, files, and how these are put together.

TYPES = range(5)  # of questions, as `questions_type` numbers them


@dataclass(frozen=True, kw_only=True)
class MultiOptions:
    """The options as they stand. They go to the manifest and name the run folder, so their names stay."""

    problem_file: str
    knowledge_file: str
    caption_file: str
    subset: str
    questions_type: str
    image_type: str
    subject: str
    input_type: Literal[0, 1, 2]
    in_turn: bool
    cot: bool
    few_shot: int
    no_background: bool
    no_sys: bool
    cap_in_cnt: bool
    lang: Language
    blank_image: bool
    eval_num: int
    random: bool
    seed: int
    split_sys: bool
    wording: str
    answer_position: Literal["start", "end"]
    image_root: str
    renumbering: Literal["official", "correct"]
    allow_missing_captions: bool
    allow_unknown_ids: bool

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.input_type not in (0, 1, 2):
            raise UsageError(
                f"multi: input_type is {self.input_type}, but must be 0, 1 or 2",
                hint="3, images without words, exists in name only",
            )
        if self.eval_num == 0 or self.eval_num < -1:
            raise UsageError(f"multi: eval_num is {self.eval_num}, but must be -1 (all) or more than 0")

    @property
    def origin(self) -> str:
        """Where the questions lie."""
        return resolve_origin(self.problem_file) if self.problem_file else "multi"

    def selection(self) -> Selection:
        """Which questions are asked."""
        return Selection(
            types=read_codes(self.questions_type, TYPES, name="questions_type"),
            image_types=read_codes(self.image_type, range(3), name="image_type"),
            subject=self.subject,
            eval_num=self.eval_num,
            shuffle=self.random,
            seed=self.seed,
        )

    def files(self, selection: Selection) -> MultiFiles:
        """The files, and how the chosen questions are put together from them."""
        if not self.problem_file:
            raise UsageError(
                "multi needs MULTI's problem file",
                hint="eyechart run multi --set problem_file=data/problem_v1.3.1_20241210.json -m MODEL",
            )
        return MultiFiles(
            problem_file=_path(self.problem_file),
            knowledge_file=_path(self.knowledge_file) if self.knowledge_file else None,
            caption_file=_path(self.caption_file) if self.caption_file else None,
            subset=_path(self.subset) if self.subset else None,
            image_root=_path(self.image_root) if self.image_root else None,
            input_type=self.input_type,
            cap_in_cnt=self.cap_in_cnt,
            numbering=self.renumbering,
            selection=selection,
            allow_missing_captions=self.allow_missing_captions,
            allow_unknown_ids=self.allow_unknown_ids,
        )

    def every(self) -> MultiFiles:
        """All questions of the problem file, to tell an id that was not chosen from one of no question."""
        return replace(self.files(Selection(types=frozenset(TYPES))), subset=None, input_type=0)


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


# -- What MULTI's declaration is made of: files, prompt, points. Imported when somebody wants MULTI itself.

_INPUT_TYPES = (
    "input type 0, the words alone",
    "input type 1, captions in place of images",
    "input type 2, images",
)


_OF_THE_PROMPT = (
    "in_turn", "cot", "few_shot", "no_background", "no_sys", "lang", "blank_image", "split_sys", "wording",
)  # fmt: skip


def declare_multi(options: MultiOptions, *, is_every_type_scored: bool) -> Benchmark:
    """MULTI with these options; a file of replies may hold every type though fewer are asked."""
    asked = options.selection()
    scored = replace(asked, types=frozenset(TYPES)) if is_every_type_scored else asked
    prompt = _Prompt(options)

    def opened(files: MultiFiles) -> Source:
        prompt.check()  # a mistake in the wording must show before the first question is asked
        return ChangedSource(open_multi(files), _weighed)

    def asked_about() -> Source:
        return ChangedSource(opened(options.files(asked)), _scorable)

    def read(path: Path) -> Replies:
        chosen = opened(options.files(scored))
        said = read_replies(path, chosen, LazySource("multi", chosen.origin, lambda: opened(options.every())))
        assert said.source is not None, "it holds the questions that the file answers"
        return replace(said, source=ChangedSource(said.source, _scorable))

    return Benchmark(
        name="multi",
        source=LazySource("multi", options.origin, asked_about),
        prompt=prompt,
        scorer="multi" if options.answer_position == "start" else "multi-end",
        group_by=("level", "image_class", "question_type", "subject"),
        files="multi",
        read_replies=read,
        settings=asdict(options),
        prompt_settings=_OF_THE_PROMPT,
        about=f"MULTI: Chinese exam questions with text and images; {_INPUT_TYPES[options.input_type]}",
    )


def _weighed(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples that weigh as many points as their label can earn."""
    from eyechart.pipelines.multi.score import count_points

    for sample in samples:
        kind = sample.meta["question_type"]
        points = float(count_points(sample.golds[0], kind)) if sample.golds else 0.0
        yield replace(sample, weight=points)


def _scorable(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; what scoring an open one needs is asked for before anything is spent on it."""
    from eyechart.pipelines.multi.score import require_jieba

    for sample in samples:
        if sample.meta["question_type"] == "OP" and sample.weight:
            require_jieba()
        yield sample


@dataclass(frozen=True)
class _Prompt:
    """The prompt, made at the first question: naming a benchmark reads no file."""

    options: MultiOptions

    def __call__(self, sample: Sample) -> list[Message]:
        return self._made(sample)

    def check(self) -> None:
        """Make it now; `UsageError` for words that are none of MULTI's."""
        _ = self._made

    @cached_property
    def _made(self) -> MultiPrompt:
        said = self.options
        words = read_words(said.wording, said.lang) if said.wording else WORDS[said.lang]
        marked = next((name for name, text in words.items() if MARK.search(text)), "")
        if said.in_turn and marked:
            raise UsageError(
                f"{said.wording}: the piece {marked!r} holds the mark of an image, where rounds are cut",
                hint="write [IMAGE_i], without a number",
            )
        return MultiPrompt(
            words=words,
            input_type=said.input_type,
            in_turn=said.in_turn,
            cot=said.cot,
            no_background=said.no_background,
            no_sys=said.no_sys,
            few_shot=said.few_shot,
            blank_image=said.blank_image,
            split_sys=said.split_sys,
        )


# -- MULTI (Zhu et al., 2024): exam questions in Chinese, from school to driving test, with text and images.
#
# Paper: https://arxiv.org/abs/2402.03173. Parity: the numbering of images
# (tests/golden/multi_prepare.jsonl), rounds (multi_rounds.jsonl), scores (multi_score.jsonl). The words of
# the prompts are ours; the authors' own can be given as a file. Options bear the names of the official
# arguments.

ASKED_TYPES = "0,1,2"  # asked when nothing else is said; a file of replies is scored whatever its types
EVERY_TYPE = "0,1,2,3,4"  # asked of a subset when nothing else is said, as published

Codes = str | int | list[int]


@benchmark("multi")
def multi(
    file: str = "",
    problem_file: str = "",
    knowledge_file: str = "",
    caption_file: str = "",
    subset: str = "",
    questions_type: Codes = "",
    image_type: Codes = "0,1,2",
    subject: str = "",
    input_type: Literal[0, 1, 2] = 0,
    in_turn: bool = False,
    cot: bool = False,
    few_shot: int = 0,
    no_background: bool = False,
    no_sys: bool = False,
    cap_in_cnt: bool = False,
    lang: Literal["zh", "en"] = "zh",
    blank_image: bool = False,
    eval_num: int = -1,
    random: bool = False,
    seed: int = 0,
    split_sys: bool = False,
    wording: str = "",
    answer_position: Literal["start", "end"] = "start",
    image_root: str = "",
    renumbering: Literal["official", "correct"] = "official",
    allow_missing_captions: bool = False,
    allow_unknown_ids: bool = False,
) -> Benchmark:
    """Return the questions of a problem file, chosen and prompted as the options say."""
    options = MultiOptions(
        problem_file=_only_one(file, problem_file),
        knowledge_file=knowledge_file,
        caption_file=caption_file,
        subset=subset,
        questions_type=_written(questions_type) or (EVERY_TYPE if subset else ASKED_TYPES),
        image_type=_written(image_type),
        subject=subject,
        input_type=input_type if input_type != 1 or caption_file else 0,  # as published: nothing to put in
        in_turn=in_turn,
        cot=cot,
        few_shot=few_shot,
        no_background=no_background,
        no_sys=no_sys,
        cap_in_cnt=cap_in_cnt,
        lang=lang,
        blank_image=blank_image,
        eval_num=eval_num,
        random=random,
        seed=seed,
        split_sys=split_sys,
        wording=wording,
        answer_position=answer_position,
        image_root=image_root,
        renumbering=renumbering,
        allow_missing_captions=allow_missing_captions,
        allow_unknown_ids=allow_unknown_ids,
    )
    return declare_multi(options, is_every_type_scored=not _written(questions_type))


def _only_one(file: str, problem_file: str) -> str:
    if file and problem_file and Path(file) != Path(problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {problem_file}")
    return file or problem_file


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)
