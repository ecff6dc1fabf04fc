"""OCRBench v2 (Fu et al., 2025): 31 kinds of tasks, each with its metric.

As VLMEvalKit scores them (ms-vlmeval 0.0.20). The column ``category`` (``type`` on the hub) names the task,
``eval`` a variant of its rule; ``bbox`` and ``content`` hold the boxes and texts to be found. The aggregate
``ocrbench-v2`` averages tasks within eight English and five Chinese parts, and parts within a language.

Transcripts (full pages, translations) score the mean of BLEU, METEOR, the F-measure of distinct words and
1 - edit distance. METEOR's matching of stems and synonyms needs WordNet; here words match exactly, which
lowers a score where a transcript has other forms of the same words. Where the official code gives less than
0, for documents and tables that are much too long, 0 is the least here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from eyechart.catalogue.entry import Entry, withhold
from eyechart.prompt.published import ask
from eyechart.registry import scorer
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.score.boxes import compute_iou
from eyechart.score.chinese_words import cut_words
from eyechart.score.judges import MAX_JSON_CHARS, get_fact, parse_json
from eyechart.score.markup import Node, compute_edit_similarity, compute_teds, compute_tree_distance
from eyechart.score.reading import score_official
from eyechart.score.text import get_answers, list_accepted, parse_literal
from eyechart.types import CannotAggregate, Card, MetricTable, Reply, Sample, Score, ScoredRow


def prepare_ocrbench(sample: Sample) -> Sample:
    """Boxes and texts are the answer; Chinese transcripts need the words of Chinese text."""
    if str(sample.meta.get("category", "")).endswith(" cn"):
        from eyechart.score.chinese_words import require_jieba

        require_jieba("the Chinese part of OCRBench v2")
    if not sample.golds and sample.meta.get("content"):  # text spotting: the texts at their places
        sample = replace(sample, golds=(str(sample.meta["content"]),))
    return withhold("bbox", "content")(sample)


def change_ocrbench(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of VLMEvalKit's file."""
    without = {name: row.get(name) or f"without {name}" for name in ("eval", "bbox", "content")}
    answers = row["answers"]
    listed = answers if isinstance(answers, list) else [answers]
    return {"index": row["id"], "category": row["type"], "answer": str(listed)} | {
        name: value if isinstance(value, str) else str(value) for name, value in without.items()
    }


for _name, _file, _size in (
    ("ocrbench-v2", "OCRBench_v2", "10,000 questions"),
    ("ocrbench-v2-mini", "OCRBench_v2_MINI", "a part of 10,000 questions"),
):
    Entry(
        _name,
        "31 kinds of tasks on text in images, English and Chinese",
        Card("documents", _size, "https://arxiv.org/abs/2501.00321", "MIT"),
        file=_file,
        hub="ling99/OCRBench_v2:test" if _name == "ocrbench-v2" else (),
        also_hub=["QYWH/ocrbench_v2:OCRBench_v2.tsv"] if _name == "ocrbench-v2" else (),
        change_row=change_ocrbench,
        prepare=prepare_ocrbench,
        prompt=ask(),
        scorer="ocrbench-v2",
        group_by=("category",),
        aggregate="ocrbench-v2",
        metric="by task: words found, TEDS, IoU, BLEU, edit distance; means of 8 English and 5 Chinese parts",
        note="METEOR of transcripts matches words exactly, without WordNet's stems and synonyms, so transcripts score slightly lower. "
        "The Chinese part needs the extra `[multi]`.",
    ).register()


MAX_REPLY_CHARS = 200_000
MAX_LINES = 10_000  # of a document
MAX_PAIRS_CHARS = 4_000  # of a reply whose pairs are not written as JSON

PARTS: Mapping[str, str] = {
    task: f"{language}_{part}"
    for language, parts in {
        "en": {
            "text_recognition": "text recognition, fine-grained text recognition, full-page OCR",
            "text_detection": "text grounding, VQA with position",
            "text_spotting": "text spotting",
            "relationship_extraction": "key information extraction, key information mapping",
            "element_parsing": "document parsing, chart parsing, table parsing, formula recognition",
            "mathematical_calculation": "math QA, text counting",
            "visual_text_understanding": "document classification, cognition VQA, diagram QA",
            "knowledge_reasoning": "reasoning VQA, science QA, APP agent, ASCII art classification",
        },
        "cn": {
            "text_recognition": "full-page OCR",
            "relationship_extraction": "key information extraction, handwritten answer extraction",
            "element_parsing": "document parsing, table parsing, formula recognition",
            "visual_text_understanding": "cognition VQA",
            "knowledge_reasoning": "reasoning VQA, text translation",
        },
    }.items()
    for part, tasks in parts.items()
    for task in (f"{name} {language}" for name in tasks.split(", "))
}


@scorer("ocrbench-v2", version="2", parity="official")
def score_ocrbench_v2(reply: Reply, sample: Sample) -> Score:
    """OCRBench v2: the metric of the row's task."""
    task = get_fact(sample, "category", "type")
    answers = list_accepted(get_answers(sample)) if sample.golds else []
    rule = _find_rule(task, get_fact(sample, "eval"), sample.question)
    if rule is None or (task == "text translation cn" and not any(answers)):
        reason = "unknown task" if rule is None else "the row has no answer"
        return Score(outcome="unscored", value=0.0, route="ocrbench-v2", detail={"fail_reason": reason})
    text = reply.text[:MAX_REPLY_CHARS]
    value = min(1.0, max(0.0, rule(text, answers, sample))) if answers else 0.0
    return score_official(reply, sample, value=value, read=text.strip() or None, route=f"ocrbench-v2:{task}")


Rule = Callable[[str, Sequence[str], Sample], float]


def _find_rule(task: str, variant: str, question: str) -> Rule | None:
    if task not in PARTS:
        return None
    if variant == "multiple choice":
        return lambda reply, answers, _: float("".join(filter(str.isalpha, reply)) == answers[0])
    if variant == "case sensitive":
        return partial(match_answer, has_case=True)
    if task == "handwritten answer extraction cn":
        return _compare_transcript if "简答" in question else _find_joined
    if task == "table parsing en" and "html" not in question.lower() and "markdown" in question.lower():
        return lambda reply, answers, _: compute_teds(*map(_from_markdown, (reply, answers[0])))
    name = task.rpartition(" ")[0]
    return _RULES.get(task) or _RULES.get(name) or match_answer


# -- Short answers


def match_answer(
    reply: str, answers: Sequence[str], sample: Sample | None = None, *, has_case: bool = False,
    is_chinese: bool = False,
) -> float:  # fmt: skip
    """1 if a short answer occurs in the reply; of a longer one the similarity, from one half on.

    An answer is short with up to four words, in Chinese with up to three parts between commas.

    >>> match_answer("It says STOP here", ["stop"])
    1.0
    >>> match_answer("one two three four fine", ["one two three four five"])
    0.9565217391304348
    """

    def tidy(text: str) -> str:
        text = (text if has_case else text.lower()).strip().replace("\n", " ")
        return text.replace(" ", "") if is_chinese else text

    said, best = tidy(reply), 0.0
    for answer in map(tidy, answers):
        is_short = len(answer.split(",")) < 4 if is_chinese else len(answer.split()) < 5
        if is_short:
            best = max(best, float(answer in said))
        else:
            similarity = compute_edit_similarity(said, answer)
            best = max(best, similarity if similarity >= 0.5 else 0.0)
    return best


def _find_formula(reply: str, answers: Sequence[str], sample: Sample) -> float:
    def tidy(text: str) -> str:
        return text.strip().replace("\n", " ").replace(" ", "")

    return float(any(tidy(answer) in tidy(reply) for answer in answers))


def _find_chinese_formula(reply: str, answers: Sequence[str], sample: Sample) -> float:
    said, *plain = (re.sub(r"\\text\{([^{}]*)\}", r"\1", text) for text in (reply, *answers))
    return _find_formula(said, plain, sample)


_JOINS = ("", ".", ". ", ",", ", ", "、", ";", "; ", " ", "和")


def _find_joined(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """Whether the answer's letters occur one after the other, with any of these between them."""
    return float(any(join.join(answers[0]) in reply for join in _JOINS))


def _count(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """Exactly, or by how far the first number is off, more than half of which counts."""
    if get_fact(sample, "eval") != "regression":
        return float(any(answer.lower().strip().replace("\n", " ") in reply for answer in answers))
    found = re.search(r"\d+", reply)
    number = float(found[0]) if found else 0.0
    shares = []
    for answer in answers:
        true = float(answer) if re.fullmatch(r"\s*\d+\s*", answer) else 0.0
        is_near = 0 < number < 2 * true
        shares.append(1 - abs(number - true) / true if is_near else 0.0)
    return max((share for share in shares if share > 0.5), default=0.0)


# -- Transcripts


def _compare_transcript(reply: str, answers: Sequence[str], sample: Sample) -> float:
    return compare_transcript(reply, answers[0]) if reply else 0.0


def compare_transcript(reply: str, gold: str) -> float:
    """The mean of BLEU, METEOR, F-measure of distinct words, and 1 - edit distance.

    >>> compare_transcript("a b c d", "a b c d") > 0.99, compare_transcript("x", "a b c d")
    (True, 0.0)
    """
    is_chinese = re.search(r"[\u4e00-\u9fa5]", reply + gold)
    said, true = (list(cut_words(text)) if is_chinese else text.split() for text in (reply, gold))
    shared, n_said, n_true = len(set(said) & set(true)), len(set(said)), len(set(true))
    f_measure = 2 * shared / (n_said + n_true) if shared else 0.0
    parts = (
        compute_sentence_bleu(said, true),
        compute_meteor(said, true),
        f_measure,
        compute_edit_similarity(reply, gold),
    )
    return sum(parts) / 4


def compute_sentence_bleu(said: Sequence[str], true: Sequence[str]) -> float:
    """BLEU-4 of one sentence, without smoothing: 0 if no four words in a row are shared.

    >>> compute_sentence_bleu("a b c d e".split(), "a b c d f".split()) == (4/5 * 3/4 * 2/3 * 1/2) ** 0.25
    True
    """
    if not said:
        return 0.0
    product = 1.0
    for n in range(1, 5):
        mine, theirs = (
            Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (said, true)
        )
        shared = sum((mine & theirs).values())
        product *= shared / max(1, len(said) - n + 1)
    brevity = 1.0 if len(said) > len(true) else math.exp(1 - len(true) / len(said))
    return float(brevity * product**0.25)


def compute_meteor(said: Sequence[str], true: Sequence[str]) -> float:
    """METEOR with exact matches of words, without case; the last words are matched first, as in nltk.

    >>> compute_meteor("the cat sat".split(), "The cat sat".split())
    0.9814814814814815
    """
    places: dict[str, list[int]] = {}
    for at, word in enumerate(true):
        places.setdefault(word.lower(), []).append(at)
    pairs = [
        (at, places[word].pop())
        for at, word in reversed([*enumerate(map(str.lower, said))])
        if places.get(word)
    ]
    if not pairs:
        return 0.0
    pairs.reverse()
    n_breaks = sum(
        (after[0] - before[0], after[1] - before[1]) != (1, 1) for before, after in pairwise(pairs)
    )
    precision, recall = len(pairs) / len(said), len(pairs) / len(true)
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    return (1 - 0.5 * ((n_breaks + 1) / len(pairs)) ** 3) * mean


# -- Tables, charts, documents


def _compare_table(reply: str, answers: Sequence[str], sample: Sample) -> float:
    text = reply.replace("\n", "")
    gold = answers[0].replace("\n", "")
    gold = gold if "<table" in gold else f"<table>{gold}</table>"
    return compute_teds(text, gold) if "<table" in text else 0.0


def _from_markdown(text: str) -> str:
    """A Markdown table in HTML; its second line, below the heading, is dropped."""
    first, *rest = text.strip("```markdown").strip("```").strip().split("\n")  # noqa: B005  as published
    rows = (line.strip().split("|")[1:-1] for line in (first, *rest[1:]))
    cells = ("".join(f"<td>{cell.strip() or ' '}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _compare_chart(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """TEDS of two dictionaries, each entry a row; values are spelt out, as published."""
    blocks = _find_fenced(reply)
    content = max(blocks, key=len) if blocks else reply.strip()
    content = re.sub(r"#.*", "", re.sub(r"\A\s*\w{1,100}\s*=\s*", "", content.strip()))
    said, true = parse_literal(content[: content.rfind("}") + 1] or content), parse_literal(answers[0])
    if not isinstance(said, dict) or not isinstance(true, dict) or not said:
        return 0.0
    return compute_teds(_list_entries(said), _list_entries(true))


def _list_entries(data: Mapping[Any, Any]) -> str:
    rows = (f"<tr><td>{key}</td><td>{' '.join(str(value))}</td></tr>" for key, value in data.items())
    return f"<table>{''.join(rows)}</table>"


def _compare_document(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """The likeness of two outlines: titles and the lines below them, whatever they say.

    A line that is empty differs from any other.
    """
    (one, n), (other, m) = _outline(reply), _outline(answers[0])
    distance = compute_tree_distance(
        one, other, lambda left, right: float(not left.tag.split() or not right.tag.split())
    )
    return 0.0 if distance is None else 1 - distance / max(n, m)


_CLEANED = (
    (re.compile(r"<bos>|<eos>|<pad>|<unk>"), ""), (re.compile(r"\s##(\S)"), r"\1"),
    (re.compile(r"\\\s"), r"\\"),
    (re.compile(r"\s\*\s\*\s"), "**"), (re.compile(r"\{\s"), "{"), (re.compile(r"\s\}"), "}"),
    (re.compile(r"\s\}"), "}"), (re.compile(r"\\(begin|end)\s"), r"\\\1"),
)  # fmt: skip


def _outline(text: str) -> tuple[Node, int]:
    """The tree of titles and lines, and its number of nodes."""
    root = Node("ROOT", children=[Node("TITLE")])
    below = root.children[0]
    named: dict[str, Node] = {"ROOT": root, "TITLE": below}
    lines = text.split("\n")[:MAX_LINES]
    for line in lines:
        for pattern, written in _CLEANED:
            line = pattern.sub(written, line)
        line = line.replace("*", " ").replace("_", " ")
        is_title = line.startswith("#")
        node = Node(line.replace("#", "") if is_title else line)
        (root if is_title else below).children.append(node)
        first = named.setdefault(node.tag, node)
        if is_title:  # as published: lines go below the first node that has the title's text
            below = first if node.tag else root.children[0]
    return root, len(lines) + 2


# -- Key information


def _extract(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """The share of keys, of the reply and of the gold, whose values are the same but for case and spaces."""
    gold = _parse_object(answers[0].strip('"'))
    if gold is None:
        return 0.0
    said, hits = read_pairs(reply), []
    for key in {*said, *gold}:
        value = gold.get(key)
        accepted = [_tidy_value(one) for one in (value if isinstance(value, list) else [value])]
        if key in said or accepted != [None]:
            hits.append(key in said and _tidy_value(said[key]) in accepted)
    return sum(hits) / len(hits) if hits else 0.0


def _tidy_value(value: object) -> str | None:
    return None if value is None else str(value).lower().strip().replace("\n", " ").replace(" ", "")


def _parse_object(text: str) -> dict[str, Any] | None:
    found = parse_json(text)
    if found is None and len(text) <= MAX_JSON_CHARS:
        found = parse_literal(text)
    return found if isinstance(found, dict) else None


_FENCE = re.compile(r"```(?:python|json)?\n", re.IGNORECASE)
_PAIR = re.compile(r"[\"']?([\w\s]+)[\"']?\s*[:=]\s*[\"']?([^\n,\"'{}]+)[\"']?")


def _find_fenced(text: str) -> list[str]:
    """What stands between fences, each on a line of its own."""
    found, at = [], 0
    while (opened := _FENCE.search(text, at)) and (end := text.find("\n```", opened.end())) >= 0:
        found.append(text[opened.end() : end])
        at = end + 4
    return found


def read_pairs(reply: str) -> dict[str, str]:
    """The keys and values of a reply: JSON, a Python dictionary, or lines such as ``total: 12``.

    >>> read_pairs('{"total": 12}'), read_pairs("Total: 12, date: today")
    ({'total': '12'}, {'Total': '12', 'date': 'today'})
    """
    fenced = _find_fenced(reply)
    content = fenced[0] if fenced else reply.strip()
    found = _parse_object(content)
    if found is None:
        found = {key.strip(): value.strip() for key, value in _PAIR.findall(content[:MAX_PAIRS_CHARS])}
    return {str(key).strip(): str(value).strip() for key, value in found.items()}


# -- Places

_FOUR = re.compile(r"[(\[]\s?(\d+)\s?,\s?(\d+)\s?,\s?(\d+)\s?,\s?(\d+)\s?[)\]]")


def _locate(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """IoU of the last four numbers in brackets, of 0 to 1000, with the gold."""
    found = [tuple(map(int, one)) for one in _FOUR.findall(re.sub(r"\s+", " ", reply))]
    boxes = [one for one in found if max(one) <= 1000]
    return _overlap(boxes[-1], answers) if boxes else 0.0


def _answer_and_locate(reply: str, answers: Sequence[str], sample: Sample) -> float:
    """Half for the answer, half for the box, of a reply with these two keys."""
    said = read_pairs(reply)
    content = match_answer(said["answer"], answers) if "answer" in said else 0.0
    return 0.5 * content + 0.5 * _overlap(parse_literal(said.get("bbox", "")), _get_list(sample, "bbox"))


def _overlap(one: object, other: object) -> float:
    try:
        boxes = [[int(side) for side in box] for box in (one, other)]  # type: ignore[attr-defined]
        (a, b, c, d), (e, f, g, h) = boxes
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, compute_iou((a, b, c, d), (e, f, g, h), is_signed=True))


def _get_list(sample: Sample, name: str) -> list[Any]:
    written = sample.withheld.get(name, sample.meta.get(name))
    found = parse_literal(written) if isinstance(written, str) else written
    return list(found) if isinstance(found, list | tuple) else []


_ITEM = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_MARKS = "!?.:,*\"()·[]/'"
_Placed = tuple[tuple[int, int, int, int], str]


def _spot(reply: str, answers: Sequence[str], sample: Sample) -> float:
    golds = []
    for box, text in zip(_get_list(sample, "bbox"), _get_list(sample, "content"), strict=False):
        xs, ys = [int(x) for x in box[::2]], [int(y) for y in box[1::2]]
        golds.append(((min(xs), min(ys), max(xs), max(ys)), str(text)))
    return compare_spots(read_spots(reply), golds)


def read_spots(reply: str) -> list[_Placed]:
    """All boxes of a reply with their text: ``(x1, y1, x2, y2, text)``, coordinates of 0 to 1000.

    >>> read_spots("[[1, 2, 30, 40, 'Stop'], (5, 5, 1, 9, no)]")
    [((1, 2, 30, 40), 'Stop')]
    """
    listed = parse_literal(reply)
    items: list[Sequence[Any]] = [one.split(",", 4) for one in _ITEM.findall(reply)]
    if isinstance(listed, list | tuple):
        items = [one for one in listed if isinstance(one, list | tuple)]
    found: dict[_Placed, None] = {}
    for item in items:
        try:
            x1, y1, x2, y2 = (int(str(side).strip()) for side in item[:4])
            text = str(item[4]).replace("\n", "").strip().strip('"').strip("'")
        except (IndexError, ValueError):
            continue
        if 0 <= x1 < x2 <= 1000 and 0 <= y1 < y2 <= 1000:
            found[(x1, y1, x2, y2), text] = None
    return list(found)


def compare_spots(said: Sequence[_Placed], golds: Sequence[_Placed]) -> float:
    """The F-measure of boxes with an IoU above one half and the same text; ``###`` in a gold is no text.

    >>> compare_spots([((0, 0, 10, 10), "stop"), ((50, 50, 60, 60), "no")], [((0, 0, 10, 9), "STOP!")])
    0.6666666666666666
    """
    unread = [box for box, text in golds if text == "###"]
    mine = [(box, text.upper()) for box, text in said if not any(_covers(box, one) for one in unread)]
    theirs = [(box, text.upper()) for box, text in golds if text != "###"]
    free, n_right = set(range(len(mine))), 0
    for box, text in theirs:
        at = next((at for at in sorted(free) if compute_iou(mine[at][0], box) > 0.5), None)
        if at is not None:
            free.discard(at)
            n_right += _is_same_text(text, mine[at][1])
    return 2 * n_right / (len(mine) + len(theirs)) if n_right else 0.0


def _covers(box: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    """Whether more than half of the box lies in the other."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    return max(0, width) * max(0, height) > 0.5 * (box[2] - box[0]) * (box[3] - box[1])


def _is_same_text(gold: str, said: str) -> bool:
    """Equal, where the gold may begin and end with one mark more."""
    forms = [gold, gold[1:]] if gold[:1] in _MARKS else [gold]
    return said in forms or (gold[-1:] in _MARKS and said in [form[:-1] for form in forms])


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("cognition VQA cn", "reasoning VQA cn"), partial(match_answer, is_chinese=True)),
    "formula recognition en": _find_formula, "formula recognition cn": _find_chinese_formula,
    "text counting": _count, "table parsing": _compare_table, "chart parsing": _compare_chart,
    "document parsing": _compare_document, "key information extraction": _extract,
    "key information mapping": _extract, "VQA with position": _answer_and_locate,
    "text translation": _compare_transcript, "fine-grained text recognition": _compare_transcript,
    "full-page OCR": _compare_transcript, "text grounding": _locate, "text spotting": _spot,
}  # fmt: skip


# -- The official numbers


def _find_part(row: ScoredRow) -> Sequence[str]:
    task = get_column(row, "category", "type")
    if task not in PARTS:
        raise CannotAggregate(f"OCRBench v2: {task!r} is not one of its tasks", hint="see docs/metrics.md")
    return (PARTS[task],)


@declare_aggregate("ocrbench-v2", count_by(_find_part), headline="English")
def _combine(total: Counts) -> MetricTable:
    """English and Chinese: the mean of their parts, each the mean of its rows."""
    found = average(total)
    table: dict[str, dict[str, float | None]] = {ALL: {}}
    for language, name in (("en", "English"), ("cn", "Chinese")):
        values = [one["accuracy"] or 0.0 for part, one in found.items() if part.startswith(f"{language}_")]
        table[ALL][name] = divide(sum(values), len(values))
    return table | {part: {"score": one["accuracy"], "n": one["n"]} for part, one in found.items() if part}
