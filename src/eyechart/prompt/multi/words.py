"""The words of MULTI's prompts, in Chinese and English: our own, piece by piece.

The official pieces can be put in their place by a file (``wording=FILE``). What scoring looks for is the
same in both: 缺少图片信息, 我的分析如下：, 所以这道题的答案为：{…}, [MASK], [IMAGE_i].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from eyechart.wordings import checked_wordings, read_yaml

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
    own = checked_wordings(content, path, NAMES, what="piece of MULTI's prompt")
    return {**WORDS[lang], **{name: text.strip("\n") for name, text in own.items()}}
