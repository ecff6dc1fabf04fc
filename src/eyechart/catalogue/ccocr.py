"""CC-OCR (Yang et al., 2024), as VLMEvalKit scores it (ms-vlmeval 0.0.20).

Texts in scenes and languages by the words that are found, documents, formulas and molecules by edit distance,
tables by TEDS, key information by the edit distance of two trees of fields. The aggregate ``ccocr`` averages
the 39 parts within these four kinds, and the kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask
from eyechart.registry import scorer
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.score.judges import get_fact, parse_json
from eyechart.score.markup import Node, compute_edit_similarity, compute_teds, compute_tree_distance
from eyechart.score.reading import score_official
from eyechart.score.text import FULL_WIDTH, parse_literal
from eyechart.types import Card, MetricTable, Reply, Sample, Score, ScoredRow

Entry(
    "ccocr",
    "text in scenes and ten languages, documents, key information",
    Card("documents", "7,058 images in 39 parts", "https://arxiv.org/abs/2412.02210", "MIT"),
    file="CCOCR",
    prompt=ask(),
    scorer="ccocr",
    group_by=("category", "l2-category"),
    aggregate="ccocr",
    metric="F1 of words, edit distance, TEDS, tree edit distance of fields; mean of four kinds",
).register()


@scorer("ccocr", version="1", parity="official")
def score_ccocr(reply: Reply, sample: Sample) -> Score:
    """CC-OCR by the kind of row: words or characters, fields, document, table, formula, molecule.

    The columns `category` (multi_lan_ocr, multi_scene_ocr, kie, doc_parsing), `l2-category` and `split` name
    it, as in VLMEvalKit's file.
    """
    group, kind, part = (get_fact(sample, name) for name in ("category", "l2-category", "split"))
    compare: Callable[[str, str], float]
    if "kie" in group:
        route, compare = "kie", compare_fields
    elif "doc_parsing" in group:
        route = next((name for name in ("table", "molecular", "formula") if name in kind), "doc")
        compare = partial(compare_ccocr, kind=route)
    else:
        is_by_character = part in ("Arabic", "Japanese", "Korean") or "zh" in part
        is_plain = "scene_ocr" in group and not is_by_character
        route, compare = "words", partial(compute_word_f1, is_by_character=is_by_character, is_plain=is_plain)
    value, read = max((compare(reply.text, gold) for gold in sample.golds), default=0.0), reply.text.strip()
    return score_official(reply, sample, value=value, read=read or None, route=f"ccocr:{route}")


# -- Documents, tables, formulas, molecules

_PREAMBLE = re.compile(
    r"\\documentclass\{[^\n}]{0,300}\}|\\usepackage\[[^\n\]]{0,300}\]\{[^\n}]{0,300}\}"
    r"|\\usepackage\{[^\n}]{0,300}\}"
    r"|\\geometry\{[^\n}]{0,300}\}|\\begin\{document\}|\\end\{document\}|\\noindent"
)


def compare_ccocr(reply: str, gold: str, kind: str) -> float:
    """The similarity of a document, table, formula or molecule, without white space.

    >>> compare_ccocr("```latex x ^ 2```", "x^2", "formula")
    1.0
    """
    gold = gold.replace(" ", "")
    if kind == "molecular":
        for mark in ("\n", " ", "<smiles>", "</smiles>"):
            reply = reply.replace(mark, "")
        return compute_edit_similarity(reply, gold)
    if kind == "formula":
        for mark in ("```latex", "```", "\n", "\t", " "):
            reply = reply.replace(mark, "")
        return compute_edit_similarity(reply, gold)
    text = _PREAMBLE.sub("", reply)
    fence = "```html" if kind == "table" else "```"
    parts = text.split(fence)
    text = (parts[1] if len(parts) > 1 else text).replace("```latex", "").replace("```", "")
    text, gold = (one.replace(" ", "").replace("\n", "") for one in (text, gold))
    if kind != "table":
        return compute_edit_similarity(text, gold)
    return compute_teds(text.replace("，", ","), gold)


# -- Words of a text


def compute_word_f1(reply: str, gold: str, *, is_by_character: bool, is_plain: bool) -> float:
    """F1 of the words that two texts share, in any order; `is_plain`: of their ASCII letters and digits.

    >>> round(compute_word_f1("stop sign", "STOP", is_by_character=False, is_plain=True), 6)
    0.666667
    """
    said, true = (_split_words(text, is_by_character, is_plain) for text in (reply, gold))
    shared = sum((Counter(said) & Counter(true)).values())
    recall, precision = shared / (len(true) + 1e-9), shared / (len(said) + 1e-9)
    return min(1.0, 2 * recall * precision / (recall + precision + 1e-9))


def _split_words(text: str, is_by_character: bool, is_plain: bool) -> Sequence[str]:
    text = text.strip().replace("###", "").replace("***", "")
    words = list("".join(text.split())) if is_by_character else text.split()
    lower = (word.lower() for word in words)
    return [one for word in lower if (one := re.sub("[^A-Za-z0-9]+", "", word) if is_plain else word)]


# -- Key information: the tree of fields and values

_PLAIN = FULL_WIDTH | {ord("、"): ord(",")}
_HAN = "\u4e00-\u9fff"
_SPACING = (
    (r"\s+", " "), (rf"(?<=[{_HAN}]) (?=[{_HAN}a-zA-Z0-9])", ""), (rf"(?<=[a-zA-Z0-9]) (?=[{_HAN}])", ""),
    (r"(?<![0-9]) ?([,.!?:;]) ?", r"\1 "),
    (r"(?<=[0-9])(?=[a-zA-Z])", " "), (r"(?<=[a-zA-Z])(?=[0-9])", " "),
    (r"\s+", " "),
)  # fmt: skip
_LEAF = "<leaf>"


def compare_fields(reply: str, gold: str) -> float:
    """1 - the cost of turning the reply's fields into the gold's, divided by that of writing them all.

    A field costs 1, a value its characters. A reply that is not JSON has no fields.

    >>> gold = '{"total": "12.50", "date": "2024"}'
    >>> compare_fields(gold, gold), compare_fields('{"total": "12.50"}', gold), compare_fields("none", gold)
    (1.0, 0.5454545454545454, 0.0)
    """
    wanted = parse_json(gold)
    if wanted is None:
        wanted = parse_literal(gold)
    _, is_fenced, inside = reply.partition("```json")
    said = parse_json((inside.partition("```")[0] if is_fenced else reply).strip().replace("\n", ""))
    try:
        data: tuple[Any, ...] = ({} if said is None else said, wanted, {})
        trees = [_grow("<root>", _arrange(_tidy_values(one))) for one in data]
    except RecursionError:
        return 0.0
    cost, whole = (compute_tree_distance(one, trees[1], _change, _weigh) for one in (trees[0], trees[2]))
    return max(0.0, 1 - cost / whole) if cost is not None and whole else 0.0


def _tidy_values(data: Any) -> Any:
    """Texts with ordinary signs and spaces. As published, texts in a list stay as they are."""
    if isinstance(data, dict):
        return {key: _tidy_values(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_tidy_values(one) if isinstance(one, dict) else one for one in data]
    if not isinstance(data, str):
        return data
    text = data.translate(_PLAIN)
    for pattern, written in _SPACING:
        text = re.sub(pattern, written, text)
    return text


def _arrange(data: Any) -> Any:
    """Fields by length and name, each with a list of values; empty ones are left out."""
    if isinstance(data, dict):
        fields = {key: _arrange(data[key]) for key in sorted(data, key=lambda key: (len(key), key))}
        return {key: one if isinstance(one, list) else [one] for key, one in fields.items() if one}
    if not isinstance(data, list):
        return [str(data).strip()]
    if all(isinstance(one, dict) for one in data):
        return [found for one in data if (found := _arrange(one))]
    return [str(one).strip() for one in data if type(one) in (str, int, float) and str(one).strip()]


def _grow(name: str, data: Any) -> Node:
    if isinstance(data, dict):
        return Node(name, children=[_grow(str(key), value) for key, value in data.items()])
    if all(isinstance(one, dict) for one in data):
        return Node(name, children=[_grow("<subtree>", one) for one in data])
    return Node(name, children=[Node(f"{_LEAF}{one}") for one in data])


def _weigh(node: Node) -> float:
    return len(node.tag.replace(_LEAF, "")) if _LEAF in node.tag else 1


def _change(one: Node, other: Node) -> float:
    from rapidfuzz.distance import Levenshtein

    texts, leaves = (
        [node.tag.replace(_LEAF, "") for node in (one, other)],
        [_LEAF in n.tag for n in (one, other)],
    )
    if all(leaves):
        return Levenshtein.distance(*texts)
    if any(leaves):
        return 1 + len(texts[leaves.index(True)])
    return float(one.tag != other.tag)


# -- The official number: the mean of four kinds, each the mean of its parts


def _find_part(row: ScoredRow) -> Iterable[str]:
    return ("_".join(get_column(row, name) for name in ("category", "l2-category", "split")),)


@declare_aggregate("ccocr", count_by(_find_part), headline="total")
def _combine_ccocr(total: Counts) -> MetricTable:
    """The mean of texts in languages and scenes, key information and documents, each of its parts."""
    parts = {group: one["accuracy"] or 0.0 for group, one in average(total).items() if group != ALL}
    values: dict[str, list[float]] = {"lan_ocr": [], "scene_ocr": [], "kie": [], "doc_parsing": []}
    for part, value in parts.items():
        if kind := next((kind for kind in values if kind in part), ""):
            values[kind].append(value)
    kinds = {kind: sum(several) / len(several) for kind, several in values.items() if several}
    whole = {"total": divide(sum(kinds.values()), len(kinds)), **kinds}
    return {ALL: whole, **{part: {"score": value} for part, value in parts.items()}}
