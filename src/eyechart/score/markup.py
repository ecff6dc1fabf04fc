"""Transcripts of pages and tables: edit distance, TEDS, the words of CC-OCR.

TEDS: Zhong et al., 2020 (https://arxiv.org/abs/1911.10683), the tree edit distance of two HTML tables.
CC-OCR: Yang et al., 2024 (https://arxiv.org/abs/2412.02210), as VLMEvalKit scores it (ms-vlmeval 0.0.20).
Page-level ``edit-similarity`` is what OmniDocBench (https://arxiv.org/abs/2412.07626) reports as 1 - edit
distance, without the official matching of single blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from eyechart.registry import scorer
from eyechart.score.judges import get_fact
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample, Score

MAX_CHARS = 200_000  # of a transcript; what follows is not compared
MAX_NODE_PAIRS = 4_000_000  # of two tables: more take too long, and the reply scores 0


def compute_edit_similarity(reply: str, gold: str) -> float:
    """1 - edit distance / length of the longer text; 1 of two empty texts.

    >>> compute_edit_similarity("kitten", "sitting")
    0.5714285714285714
    """
    from rapidfuzz.distance import Levenshtein

    reply, gold = reply[:MAX_CHARS], gold[:MAX_CHARS]
    longest = max(len(reply), len(gold))
    return 1 - Levenshtein.distance(reply, gold) / longest if longest else 1.0


@scorer("edit-similarity", version="1")
def score_edit_similarity(reply: Reply, sample: Sample) -> Score:
    """How close the whole reply is to the nearest gold, in characters, without a Markdown fence."""
    text = strip_fence(reply.text).strip()
    value = max((compute_edit_similarity(text, gold.strip()) for gold in sample.golds), default=0.0)
    return score_official(reply, sample, value=value, read=text or None, route="edit-similarity")


def strip_fence(text: str) -> str:
    """The text between the first Markdown fence and the last; all of it without two fences.

    >>> strip_fence("```html <table></table>```")
    ' <table></table>'
    """
    start = text.find("```")
    end = text.rfind("```")
    if start < 0 or end <= start:
        return text
    return re.sub(r"\A[a-zA-Z]{0,20}", "", text[start + 3 : end])


# -- TEDS


@scorer("teds", version="1")
def score_teds(reply: Reply, sample: Sample) -> Score:
    """Tree-edit-distance similarity of the first HTML table of the reply and that of a gold."""
    text = strip_fence(reply.text)
    value = max((compute_teds(text, gold) for gold in sample.golds), default=0.0)
    read = text.strip() if parse_table(text) else None
    return score_official(reply, sample, value=value, read=read, route="teds")


@dataclass(slots=True)
class Node:
    """An element of a table; of a cell the characters and tags that it holds."""

    tag: str
    spans: tuple[int, int] | None = None  # of a cell: columns, rows
    content: list[str] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


_PIECE = re.compile(r"<(/?)([a-zA-Z][^\s<>/=]*)([^<>]*)>|<!--|[^<]+|<")
_SPAN = re.compile(r"(colspan|rowspan)\s*=\s*[\"']?(\d{1,4})")
_VOID = frozenset({"br", "img", "hr", "col", "input", "meta", "link", "wbr"})
_CLOSED_BY = {
    "td": {"td", "th"}, "th": {"td", "th"}, "tr": {"td", "th", "tr"},
    "thead": {"td", "th", "tr", "thead", "tbody", "tfoot"},
    "tbody": {"td", "th", "tr", "thead", "tbody", "tfoot"},
    "tfoot": {"td", "th", "tr", "thead", "tbody", "tfoot"},
}  # fmt: skip


def parse_table(text: str) -> Node | None:
    """The first table of an HTML text as a tree; None without one. End tags may be missing.

    >>> table = parse_table("<table><tr><td>1<td colspan='2'>2</table>")
    >>> [(cell.spans, cell.content) for cell in table.children[0].children]
    [((1, 1), ['1']), ((2, 1), ['2'])]
    """
    text = text[:MAX_CHARS]
    start = text.lower().find("<table")
    if start < 0:
        return None
    root: Node | None = None
    stack: list[Node] = []
    for piece in _PIECE.finditer(text, start):
        is_end, tag = bool(piece[1]), (piece[2] or "").lower()
        cell = next((node for node in stack if node.tag == "td"), None)
        if not tag:
            if cell is not None and piece[0] != "<!--":
                cell.content += piece[0]
            continue
        if is_end:
            if any(node.tag == tag for node in stack):
                while stack:
                    closed = stack.pop()
                    if cell is not None and closed is not cell and cell in stack:
                        cell.content.append(f"</{closed.tag}>")
                    if closed.tag == tag:
                        break
            if not stack:
                break
            continue
        while len(stack) > 1 and stack[-1].tag in _CLOSED_BY.get(tag, ()):
            stack.pop()
        cell = next((node for node in stack if node.tag == "td"), None)
        node = Node(tag, _read_spans(piece[3]) if tag == "td" else None)
        if root is None:
            root = node
        elif cell is None:
            stack[-1].children.append(node)
        else:
            cell.content.append(f"<{tag}>")
        if tag in _VOID or piece[3].endswith("/"):
            if cell is not None:
                cell.content.append(f"</{tag}>")
        else:
            stack.append(node)
    return root


def _read_spans(attributes: str) -> tuple[int, int]:
    found = dict(_SPAN.findall(attributes.lower()))
    return int(found.get("colspan", 1)), int(found.get("rowspan", 1))


def compute_teds(reply: str, gold: str, *, is_structure_only: bool = False) -> float:
    """1 - tree edit distance / nodes of the larger table; 0 if one of the two has no table.

    >>> cells = "<table><tr><td>{}</td><td>2</td></tr></table>"
    >>> compute_teds(cells.format(1), cells.format(1)), compute_teds(cells.format(3), cells.format(1))
    (1.0, 0.6666666666666667)
    """
    one, other = parse_table(reply), parse_table(gold)
    if one is None or other is None:
        return 0.0
    rename = _rename_structure if is_structure_only else _rename
    distance = compute_tree_distance(one, other, rename)
    if distance is None:
        return 0.0
    n_nodes = max(_count_elements(one), _count_elements(other))
    return max(0.0, 1 - distance / n_nodes) if n_nodes else 1.0


def _count_elements(table: Node) -> int:
    """The elements below the table, those within cells included."""
    stack, n = [table], -1
    while stack:
        node = stack.pop()
        n += 1 + sum(len(token) > 1 and token[0] == "<" and token[1] != "/" for token in node.content)
        stack += node.children
    return n


@dataclass(slots=True)
class _Numbered:
    """A tree in postorder: its nodes, the leftmost leaf below each, and the key roots."""

    nodes: list[Node]
    leftmost: list[int]
    keyroots: list[int]


def _number(root: Node) -> _Numbered:
    nodes: list[Node] = []
    leftmost: list[int] = []
    stack: list[tuple[Node, int, list[int]]] = [(root, 0, [])]
    while stack:
        node, at, firsts = stack.pop()
        if at < len(node.children):
            stack.append((node, at + 1, firsts))
            stack.append((node.children[at], 0, []))
            continue
        leftmost.append(firsts[0] if firsts else len(nodes))
        nodes.append(node)
        if stack:
            stack[-1][2].append(leftmost[-1])
    last_with = {left: number for number, left in enumerate(leftmost)}
    return _Numbered(nodes, leftmost, sorted(last_with.values()))


def compute_tree_distance(left: Node, right: Node, rename: Callable[[Node, Node], float]) -> float | None:
    """The least cost of turning one tree into the other (Zhang and Shasha, 1989); None if they are too large.

    Inserting or deleting a node costs 1, renaming at most 1.
    """
    one, other = _number(left), _number(right)
    if len(one.nodes) * len(other.nodes) > MAX_NODE_PAIRS:
        return None
    costs = [[0.0] * len(other.nodes) for _ in one.nodes]
    renaming = [[rename(mine, theirs) for theirs in other.nodes] for mine in one.nodes]
    for i in one.keyroots:
        for j in other.keyroots:
            _fill(one, other, i, j, costs, renaming)
    return costs[-1][-1]


def _fill(
    one: _Numbered, other: _Numbered, i: int, j: int, costs: list[list[float]], renaming: list[list[float]]
) -> None:
    first_i, first_j = one.leftmost[i], other.leftmost[j]
    width = j - first_j + 2
    above = [float(n) for n in range(width)]
    rows = [above]
    for x in range(first_i, i + 1):
        row = [rows[-1][0] + 1]
        is_left_whole = one.leftmost[x] == first_i
        skip_x = one.leftmost[x] - first_i
        for y in range(first_j, j + 1):
            at = y - first_j + 1
            best = min(rows[-1][at] + 1, row[at - 1] + 1)
            if is_left_whole and other.leftmost[y] == first_j:
                best = min(best, rows[-1][at - 1] + renaming[x][y])
                costs[x][y] = best
            else:
                best = min(best, rows[skip_x][other.leftmost[y] - first_j] + costs[x][y])
            row.append(best)
        rows.append(row)


def _rename_structure(one: Node, other: Node) -> float:
    return float(one.tag != other.tag or one.spans != other.spans)


def _rename(one: Node, other: Node) -> float:
    from rapidfuzz.distance import Levenshtein

    longest = max(len(one.content), len(other.content))
    if _rename_structure(one, other) or not longest or one.content == other.content:
        return _rename_structure(one, other)
    return Levenshtein.distance(one.content, other.content) / longest


# -- CC-OCR: texts, documents, tables, formulas

_PREAMBLE = re.compile(
    r"\\documentclass\{[^\n}]{0,300}\}|\\usepackage\[[^\n\]]{0,300}\]\{[^\n}]{0,300}\}"
    r"|\\usepackage\{[^\n}]{0,300}\}"
    r"|\\geometry\{[^\n}]{0,300}\}|\\begin\{document\}|\\end\{document\}|\\noindent"
)
_BY_CHARACTER = ("Arabic", "Japanese", "Korean")


@scorer("ccocr", version="1", parity="official")
def score_ccocr(reply: Reply, sample: Sample) -> Score:
    """CC-OCR by the kind of row: words or characters, document, table, formula, molecule.

    The columns `category` (lan_ocr, scene_ocr, doc_parsing), `l2-category` and `split` name it, as in
    VLMEvalKit's file. Extraction of key information (kie) is not scored.
    """
    group, kind, part = (get_fact(sample, name) for name in ("category", "l2-category", "split"))
    if "kie" in group:
        return Score(outcome="unscored", value=0.0, route="ccocr:kie", detail={"fail_reason": "kie"})
    if "doc_parsing" in group:
        route = next((name for name in ("table", "molecular", "formula") if name in kind), "doc")
        values = [compare_ccocr(reply.text, gold, route) for gold in sample.golds]
    else:
        route = "words"
        is_by_character = part in _BY_CHARACTER or "zh" in part
        is_plain = "scene_ocr" in group and not is_by_character
        values = [
            compute_word_f1(reply.text, gold, is_by_character=is_by_character, is_plain=is_plain)
            for gold in sample.golds
        ]
    read = reply.text.strip() or None
    return score_official(reply, sample, value=max(values, default=0.0), read=read, route=f"ccocr:{route}")


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
