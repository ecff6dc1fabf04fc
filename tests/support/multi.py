"""A small MULTI data set of our own: every type, no picture to two, knowledge, hard list, captions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.files import picture


def problems() -> dict[str, dict[str, Any]]:
    """Problems by id. The pictures are named as the authors name them: from a folder beside `data`."""
    return {
        "czsx_0": {
            "problem_id": "czsx_0",
            "problem_content": "观察图形[IMAGE_1]，回答问题。",
            "problem_content_list": [
                "图形是什么颜色？\nA. 红\nB. 蓝\nC. 绿\nD. 黄",
                "与[IMAGE_2]比较，两图中出现的颜色有\nA. 红\nB. 蓝\nC. 绿",
            ],
            "problem_type_list": ["单选", "多选"],
            "problem_answer_list": ["A", "AB"],
            "problem_analysis_list": ["图形为红色。", "一红一蓝。"],
            "img_paths": ["../data/images/czsx/0_1.png", "../data/images/czsx/0_2.png"],
            "knowledge": ["颜色", "图形"],
            "education": "初中",
            "subject": ["数学"],
            "difficulty": 2,
        },
        "gzwl_1": {
            "problem_id": "gzwl_1",
            "problem_content": "",
            "problem_content_list": ["水的沸点是[MASK]度，冰点是[MASK]度。", "为什么高山上水先沸腾？"],
            "problem_type_list": ["填空", "解答"],
            "problem_answer_list": ["100\n0", "气压低，沸点降低。"],
            "problem_analysis_list": ["", ""],
            "img_paths": [],
            "knowledge": ["沸点"],
            "education": "高中",
            "subject": ["物理"],
        },
        "shjk_2": {
            "problem_id": "shjk_2",
            "problem_content": "[IMAGE_1]",
            "problem_content_list": ["标志的底色是\nA. 红\nB. 蓝\nC. 绿"],
            "problem_type_list": ["单选"],
            "problem_answer_list": ["C"],
            "problem_analysis_list": ["绿色。"],
            "img_paths": ["../data/images/shjk/2_1.png"],
            "knowledge": "交通标志",
            "education": "社会",
            "subject": ["驾考"],
        },
        "dxyy_3": {
            "problem_id": "dxyy_3",
            "problem_content": "Read aloud.",
            "problem_content_list": ["Say hello."],
            "problem_type_list": ["其他"],
            "problem_answer_list": ["hello"],
            "problem_analysis_list": [""],
            "img_paths": [],
            "knowledge": [],
            "education": "大学",
            "subject": ["英语"],
        },
    }


KNOWLEDGE = {
    "颜色": {
        "knowledge": "颜色",
        "knowledge_content": "三原色见[IMAGE_2]。",
        "knowledge_images": ["../data/images/k/1.png", "../data/images/k/2.png"],
    },
    "沸点": {"knowledge": "沸点", "knowledge_content": "气压越低，沸点越低。", "knowledge_images": []},
}
CAPTIONS = {
    "../data/images/czsx/0_1.png": "一个红色方块，在左",
    "../data/images/czsx/0_2.png": "a blue square, on the right",
    "../data/images/shjk/2_1.png": "绿色标志",
    "../data/images/k/2.png": "三个圆",
}
COLOURS = {
    "czsx/0_1.png": "red",
    "czsx/0_2.png": "blue",
    "shjk/2_1.png": "green",
    "k/1.png": "white",
    "k/2.png": "black",
}


@dataclass(frozen=True)
class MultiData:
    """The files of the data set, in a folder of any name."""

    folder: Path
    problem_file: Path
    release_file: Path
    knowledge_file: Path
    caption_file: Path
    hard_list: Path


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def make_multi(folder: Path) -> MultiData:
    """Write the whole data set into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, colour in COLOURS.items():
        path = folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(colour))
    release = {
        name: {key: value for key, value in problem.items() if key != "problem_answer_list"}
        for name, problem in problems().items()
    }
    lines = "".join(f"{path},{caption}\n" for path, caption in CAPTIONS.items())
    (folder / "captions.csv").write_text(lines, encoding="utf-8")
    return MultiData(
        folder,
        write_json(folder / "problem.json", problems()),
        write_json(folder / "problem_release.json", release),
        write_json(folder / "knowledge.json", KNOWLEDGE),
        folder / "captions.csv",
        write_json(folder / "hard_list.json", ["shjk_2_0", "czsx_0_1", "gzwl_1_1"]),
    )
