"""Generated files for `general_vqa` and `general_vmcq`: rows in every form, and replies in many styles.

A marker in the question tells the test's server which reply to give. Everything follows from one seed.
"""

from __future__ import annotations

import base64
import csv
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from support.server import Answer, Asked

_WORDS = [
    "a",
    "the",
    "dog",
    "cat",
    "runs",
    "red",
    "bus",
    "two",
    "big",
    "of",
    "on",
    "in",
    "it",
    "is",
    "was",
    "not",
    "Mr.",
    "Dr.",
    "U.S.",
    "e.g.",
    "3.5",
    "$4.20",
    "10%",
    "1,000",
    "isn't",
    "can't",
    "John's",
    '"quoted"',
    "(paren)",
    "well-known",
    "and/or",
    "yes",
    "No",
    "Yes.",
    "end.",
    "really?",
    "wow!",
    "...",
    "--",
    "—",
    "“smart”",
    "The",
    "It",
    "Fig.",
    "2",
    "vs.",
    "p.m.",
    "B.",
    "5.",
]
_CHINESE = [
    "一",
    "只",
    "狗",
    "在",
    "红色",
    "的",
    "公交车",
    "上",
    "天气",
    "很",
    "好",
    "。",
    "，",
    "！",
    "？",
    "“",
    "”",
    "……",
    "今天",
    "北京",
    "3",
    "个",
    "苹果",
    "A",
    "选项",
]
JUDGE = "judge-model"
_MARKER = re.compile(r"\[[a-z]+-\d+\]")
# What differs between two runs, or is not copied: names, times, the text about the data set, and what the
# calls of a judge took.
_LEFT_OUT = frozenset({
    "id", "time", "perf_metrics", "dataset_description", "disagreement", "latency", "parsed_value",
    "redacted", "signature",
})  # fmt: skip
_ENDINGS = (".png", ".jpg", ".webp")
_OPTIONS = ("dog", "cat", "a red bus", "3.5", "狗", "None of these", "A and B", "<image 1>", "<image_2>")


@dataclass(frozen=True)
class Files:
    """The files of a data set, and what the model says."""

    folder: Path
    subsets: list[str] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)  # by marker

    @property
    def n_rows(self) -> int:
        return len(self.replies)


def write_pictures(folder: Path) -> list[Path]:
    """A few pictures in different formats."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (colour, suffix) in enumerate(
        [("red", "png"), ("blue", "jpg"), ("green", "webp"), ("gray", "png")]
    ):
        paths.append(folder / f"picture {number}.{suffix}")
        Image.new("RGB", (24 + number, 20), colour).save(paths[-1])
    return paths


def make_vqa(
    folder: Path,
    pictures: Sequence[Path],
    seed: int,
    n_rows: int,
    endings: Sequence[str] = ("jsonl", "tsv", "csv", "parquet"),
) -> Files:
    """Rows with messages, in several formats."""
    rng, made = random.Random(seed), Files(folder)
    for number, ending in enumerate(endings):
        rows = []
        for n in range(n_rows):
            marker = f"[{ending}-{n}]"
            gold = make_text(rng)
            row = _vqa_row(rng, marker, pictures, is_json=ending == "jsonl")
            several = [gold, f" {gold}", make_text(rng)]
            is_list = ending == "jsonl" and rng.random() < 0.1
            rows.append({**row, "answer": several if is_list else rng.choice([gold, f" {gold}\n"])})
            made.replies[marker] = style(rng, make_reply(rng, gold))
        name = f"open{number}" + rng.choice(["", "_test"])
        write_rows(folder / f"{name}.{ending}", rows)
        made.subsets.append(f"open{number}")
    return made


def make_vmcq(
    folder: Path,
    pictures: Sequence[Path],
    seed: int,
    n_rows: int,
    endings: Sequence[str] = ("jsonl", "tsv", "parquet"),
) -> Files:
    """Rows with options, in several formats."""
    rng, made = random.Random(seed), Files(folder)
    for ending in endings:
        rows = []
        for n in range(n_rows):
            marker = f"[{ending}-{n}]"
            options: list[Any] = rng.sample(_OPTIONS, k=rng.randint(2, 6))
            if rng.random() < 0.1:
                options = list(range(rng.choice([3, 28])))
            labels = [chr(ord("A") + i) if i < 26 else str(i - 25) for i in range(len(options))]
            gold = rng.choice(labels)
            row: dict[str, Any] = {
                "question": f"{rng.choice(['', '<image 1> ', '<image 2>'])}Which? {marker}"
            }
            is_listed = ending == "jsonl" and rng.random() < 0.2
            if is_listed:
                row["images"] = [_place(rng, picture) for picture in rng.sample(list(pictures), k=3)]
            else:
                row |= {f"image_{i}": _image(rng, pictures, ending) for i in range(1, rng.randint(2, 5))}
            as_text = ending == "tsv" or rng.random() < 0.1
            row["options"] = _list_text(rng, options) if as_text and ending != "parquet" else options
            if ending == "parquet":
                row["options"] = [str(one) for one in options]
            row["answer"] = rng.choice([gold] * 6 + [gold.lower(), f" {gold} "])
            rows.append(row)
            made.replies[marker] = style(rng, make_choice_reply(rng, gold, labels))
        write_rows(folder / f"choice_{ending}.{ending}", rows)
        made.subsets.append(f"choice_{ending}")
    return made


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows in the format of the path's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        if "messages" in columns:  # whose shapes differ
            columns["messages"] = [json.dumps(turns) for turns in columns["messages"]]
        pq.write_table(pa.table(columns), path)
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        with path.open("w", encoding="utf-8-sig" if path.suffix == ".csv" else "utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(names)
            for row in rows:
                cells = (row.get(name, "") for name in names)
                writer.writerow([one if isinstance(one, str) else json.dumps(one) for one in cells])


def _vqa_row(rng: random.Random, marker: str, pictures: Sequence[Path], *, is_json: bool) -> dict[str, Any]:
    row: dict[str, Any] = {}
    messages: list[dict[str, Any]] = []
    if rng.random() < 0.3:
        system = rng.choice(
            ["Be brief.", [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]]
        )
        messages.append({"role": "system", "content": system})
    if rng.random() < 0.2:
        messages += [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    if rng.random() < 0.5:
        parts: list[dict[str, Any]] = [{"type": "text", "text": f"{make_text(rng)} {marker}"}]
        for picture in rng.sample(list(pictures), k=rng.randint(0, 3)):
            url = {"type": "image_url", "image_url": {"url": _place(rng, picture)}}
            parts.insert(rng.randint(0, len(parts)), url)
        messages.append({"role": "user", "content": parts})
    else:
        begin = rng.choice(["", "<image 1> ", "Is <image_1> like <image 2>?", "<image 3>"])
        text = f"{begin} {make_text(rng)} {marker}"
        places = [_place(rng, rng.choice(pictures)) for _ in range(rng.randint(1, 3))]
        is_listed = is_json and rng.random() < 0.3
        row |= {"images": places} if is_listed else {f"image_{i}": one for i, one in enumerate(places, 1)}
        messages.append({"role": "user", "content": text})
    return {"messages": messages, **row}


def _place(rng: random.Random, picture: Path) -> str:
    if rng.random() < 0.7:
        return str(picture)
    kind = {".png": "png", ".jpg": "jpeg", ".webp": "webp"}[picture.suffix]
    return f"data:image/{kind};base64,{base64.b64encode(picture.read_bytes()).decode()}"


def _image(rng: random.Random, pictures: Sequence[Path], ending: str) -> Any:
    picture = rng.choice(pictures)
    if ending != "parquet":
        return _place(rng, picture)
    return (
        {"bytes": picture.read_bytes(), "path": None}
        if rng.random() < 0.5
        else {"bytes": None, "path": str(picture)}
    )


def _list_text(rng: random.Random, options: Sequence[Any]) -> str:
    return rng.choice(
        [json.dumps(list(options)), json.dumps(list(options), ensure_ascii=False), repr(list(options))]
    )


def make_text(rng: random.Random) -> str:
    n = rng.choice([1, 1, 2, 3, 5, 8, 15])
    if rng.random() < 0.25:
        return "".join(rng.choices(_CHINESE, k=n))
    return "".join(word + rng.choice([" "] * 9 + ["\n", "\n\n"]) for word in rng.choices(_WORDS, k=n)).strip()


def make_reply(rng: random.Random, gold: str) -> str:
    """A reply that shares some words with the gold."""
    if rng.random() < 0.2:
        return gold
    words = gold.split(" ")
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(words))
        if rng.random() < 0.5:
            words.insert(at, rng.choice([*_WORDS, *_CHINESE]))
        elif at < len(words):
            words.pop(at)
    return " ".join(words)


def make_choice_reply(rng: random.Random, gold: str, labels: Sequence[str]) -> str:
    said, other = rng.choice([gold, gold, rng.choice(labels)]), rng.choice(labels)
    return rng.choice([
        f"ANSWER: {said}", f"Let me see.\n\nANSWER: {said}", f"answer: **{said}**", f"**ANSWER: {said}**",
        f"ANSWER: ({said})", f"ANSWER: [{said}]", f"ANSWER: \\boxed{{{said}}}", f"ANSWER: ${said}$",
        f"ANSWER: {said}, not {other}", f"ANSWER: {said} and {other}", f"ANSWER: [LETTER]\nANSWER: {said}",
        f"ANSWER: {other}\nWait.\nANSWER: {said}", f"The answer is {said}.", f"I think {said}) dog", said,
        said.lower(), f"答案：{said}", f"{said} is wrong, {other} is right", "I cannot tell.", "", "ANSWER:",
        f"ANSWER: {said}{other}", f"ANSWER: {said}/{other}", "ANSWER: Z", f"Answer : {said}.",
        f"ANSWER: {said} because it fits",
    ])  # fmt: skip


def style(rng: random.Random, text: str) -> str:
    """The reply with thoughts, blanks or nothing around it."""
    thought = rng.choice(["The answer is B.", "先看图。", "ANSWER: C", ""])
    return rng.choice([
        *[text] * 4, f"  {text}\n", f"<think>{thought}</think>{text}",
        f"<think>\n{thought}\n</think>\n\n{text}", f"{thought}</think>{text}", f"<think>{thought}\n{text}",
        f"So:<think>{thought}</think> {text}",
        f"<think>a</think>{text}<think>{thought}</think>", f"<thinking>{thought}</thinking>{text}",
        f'<think redacted="true">{thought}</think>{text}', f"<THINK>{thought}</THINK>{text}",
    ])  # fmt: skip


# -- What the server answers


def make_answer(sets: Mapping[str, Files]) -> Callable[[Asked], Answer | str]:
    """The server's answer to any request about these files."""

    def answer(asked: Asked) -> Answer | str:
        marker = _MARKER.search(asked.text)
        assert marker, asked.text
        if asked.body["model"] == JUDGE:
            return _judge(asked.text)
        is_choice = "Which?" in asked.text and marker[0] in sets["general_vmcq"].replies
        reply = sets["general_vmcq" if is_choice else "general_vqa"].replies[marker[0]]
        kind = sum(map(ord, marker[0])) % 10
        if kind == 1 and "<think" not in reply.lower():
            return Answer(reply, message={"reasoning_content": "Hm, ANSWER: A."})
        return Answer(reply, finish_reason="length" if kind == 2 else "stop")

    return answer


def _judge(text: str) -> str:
    """A verdict that depends on what is asked, in a form that is sometimes wrong."""
    kind = sum(map(ord, text)) % 6
    verdict = json.dumps({"reasoning": "so {it} is", "verdict": "AB"[kind % 2]})
    return f"```json\n{verdict}\n```" if kind < 2 else verdict if kind < 5 else f"{verdict} {verdict}"


# -- Files of results, compared


def read_result(path: Path) -> Any:
    """The content of a file, without what differs between two runs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return strip(json.loads(text))
    return sorted((strip(json.loads(line)) for line in text.splitlines()), key=lambda line: line["index"])


def find_differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values differ, and how: ours and theirs."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from find_differences(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from find_differences(*pair, f"{place}[{number}]")
    elif one != other or type(one) is not type(other):
        yield place, one, other


def is_halfway(place: str, ours: Any, theirs: Any) -> bool:
    """Whether two means differ in the last digit only.

    evalscope adds up in the order in which replies came, so that a mean halfway between two roundings may
    fall to either side.
    """
    is_mean = place.endswith("score") and isinstance(ours, float) and isinstance(theirs, float)
    return is_mean and round(abs(ours - theirs), 6) == 0.0001


def strip(value: Any) -> Any:
    if isinstance(value, dict) and value.get("type") == "image" and not value["image"].endswith(_ENDINGS):
        return "an image inside the file"  # which evalscope copies, and eyechart names
    if isinstance(value, dict):
        is_attempt = "raw_response" in value
        return {
            name: strip(one)
            for name, one in value.items()
            if name not in _LEFT_OUT and not (is_attempt and name in ("model_output", "error"))
        }
    if isinstance(value, list):
        stripped = [strip(one) for one in value]
        if stripped and isinstance(stripped[0], dict) and {"identity", "is_aggregate"} & stripped[0].keys():
            # Metrics stand in the order in which replies came, and of judge and rules a subset has two.
            stripped.sort(key=lambda one: (str(one.get("identity")), one.get("name", ""), one["num"]))
        return stripped
    return value
