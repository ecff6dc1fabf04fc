"""Transcripts of pages and tables: edit distance, TEDS.

TEDS: Zhong et al., 2020 (https://arxiv.org/abs/1911.10683), the tree edit distance of two HTML tables.
Page-level ``edit-similarity`` is what OmniDocBench (https://arxiv.org/abs/2412.07626) reports as 1 - edit
distance, without the official matching of single blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

from rapidfuzz.distance import Levenshtein

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample, Score

MAX_CHARS = 200_000  # of a transcript; what follows is not compared
MAX_NODE_PAIRS = 4_000_000  # of two tables: more take too long, and the reply scores 0


def compute_edit_similarity(reply: str, gold: str) -> float:
    """1 - edit distance / length of the longer text; 1 of two empty texts.

    >>> compute_edit_similarity("kitten", "sitting")
    0.5714285714285714
    """
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


@scorer("teds", version="2")
def score_teds(reply: Reply, sample: Sample) -> Score:
    """Tree-edit-distance similarity of the first HTML table of the reply and that of a gold."""
    text = strip_fence(reply.text)
    scores = (compute_teds(text, gold, counts_markup_in_cells=False) for gold in sample.golds)
    value = max(scores, default=0.0)
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
    builder = _TableBuilder()
    for piece in _PIECE.finditer(text, start):
        if not piece[2]:
            builder.add_text(piece[0])
        elif piece[1]:
            builder.close(piece[2].lower())
            if not builder.stack:
                break
        else:
            builder.open(piece[2].lower(), piece[3])
    return builder.root


class _TableBuilder:
    """Builds the tree of a table. Each step takes a constant time on average, however deep the nesting."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.stack: list[Node] = []
        self.open_tags: Counter[str] = Counter()
        self.cell_depth: int | None = None  # where the outermost open cell stands in the stack

    @property
    def cell(self) -> Node | None:
        return None if self.cell_depth is None else self.stack[self.cell_depth]

    def add_text(self, text: str) -> None:
        if self.cell is not None and text != "<!--":
            self.cell.content += text

    def open(self, tag: str, attributes: str) -> None:
        while len(self.stack) > 1 and self.stack[-1].tag in _CLOSED_BY.get(tag, ()):
            self._pop()
        node = Node(tag, _read_spans(attributes) if tag == "td" else None)
        if self.root is None:
            self.root = node
        elif self.cell is None:
            self.stack[-1].children.append(node)
        else:
            self.cell.content.append(f"<{tag}>")
        if tag not in _VOID and not attributes.endswith("/"):
            if tag == "td" and self.cell_depth is None:
                self.cell_depth = len(self.stack)
            self.stack.append(node)
            self.open_tags[tag] += 1
        elif self.cell is not None:
            self.cell.content.append(f"</{tag}>")

    def close(self, tag: str) -> None:
        closed = ""
        while self.open_tags[tag] and closed != tag:
            closed = self._pop()
            if self.cell is not None:
                self.cell.content.append(f"</{closed}>")

    def _pop(self) -> str:
        tag = self.stack.pop().tag
        self.open_tags[tag] -= 1
        if self.cell_depth == len(self.stack):
            self.cell_depth = None
        return tag


def _read_spans(attributes: str) -> tuple[int, int]:
    found = dict(_SPAN.findall(attributes.lower()))
    return int(found.get("colspan", 1)), int(found.get("rowspan", 1))


def compute_teds(reply: str, gold: str, *, counts_markup_in_cells: bool = True) -> float:
    """1 - tree edit distance / nodes of the larger table; 0 if one of the two has no table.

    The kits divide by all elements, also those within cells, which the distance does not see: a reply of
    cells nested in cells then comes close to 1. `counts_markup_in_cells=False` counts what is compared.

    >>> cells = "<table><tr><td>{}</td><td>2</td></tr></table>"
    >>> compute_teds(cells.format(1), cells.format(1)), compute_teds(cells.format(3), cells.format(1))
    (1.0, 0.6666666666666667)
    """
    one, other = parse_table(reply), parse_table(gold)
    if one is None or other is None:
        return 0.0
    distance = compute_tree_distance(one, other, _rename)
    if distance is None:
        return 0.0
    n_nodes = max(_count_elements(table, counts_markup_in_cells) for table in (one, other))
    return max(0.0, 1 - distance / n_nodes) if n_nodes else 1.0


def _count_elements(table: Node, counts_markup_in_cells: bool) -> int:
    """The elements below the table."""
    stack, n = [table], -1
    while stack:
        node = stack.pop()
        n += 1
        if counts_markup_in_cells:
            n += sum(len(token) > 1 and token[0] == "<" and token[1] != "/" for token in node.content)
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


def compute_tree_distance(
    left: Node,
    right: Node,
    rename: Callable[[Node, Node], float],
    weigh: Callable[[Node], float] = lambda node: 1.0,
) -> float | None:
    """The least cost of turning one tree into the other (Zhang and Shasha, 1989); None if they are too large.

    `weigh` is the cost of inserting or deleting a node, `rename` that of turning a node into another.
    """
    one, other = _number(left), _number(right)
    if len(one.nodes) * len(other.nodes) > MAX_NODE_PAIRS:
        return None
    renaming = [[rename(mine, theirs) for theirs in other.nodes] for mine in one.nodes]
    deleting, inserting = ([weigh(node) for node in tree.nodes] for tree in (one, other))
    costs = [  # right for two leaves; the others are filled in below
        [min(cost, lost + gained) for cost, gained in zip(row, inserting, strict=True)]
        for row, lost in zip(renaming, deleting, strict=True)
    ]
    for i in one.keyroots:
        for j in other.keyroots:
            if one.leftmost[i] < i or other.leftmost[j] < j:
                _fill(one, other, i, j, costs, renaming, deleting, inserting)
    return costs[-1][-1]


def _fill(
    one: _Numbered, other: _Numbered, i: int, j: int, costs: list[list[float]], renaming: list[list[float]],
    deleting: list[float], inserting: list[float],
) -> None:  # fmt: skip
    first_i, first_j = one.leftmost[i], other.leftmost[j]
    columns = [(y, other.leftmost[y] - first_j, inserting[y]) for y in range(first_j, j + 1)]
    rows = [[0.0, *accumulate(inserting[first_j : j + 1])]]
    for x in range(first_i, i + 1):
        above, lost, known, renamed = rows[-1], deleting[x], costs[x], renaming[x]
        left = above[0] + lost
        row = [left]
        is_left_whole = one.leftmost[x] == first_i
        before = rows[one.leftmost[x] - first_i]
        for at, (y, skip_y, gained) in enumerate(columns, 1):
            left += gained
            if (other_way := above[at] + lost) < left:
                left = other_way
            if is_left_whole and not skip_y:
                if (other_way := above[at - 1] + renamed[y]) < left:
                    left = other_way
                known[y] = left
            elif (other_way := before[skip_y] + known[y]) < left:
                left = other_way
            row.append(left)
        rows.append(row)


def _rename(one: Node, other: Node) -> float:
    if one.tag != other.tag or one.spans != other.spans:
        return 1.0
    return (
        0.0 if one.content == other.content else Levenshtein.normalized_distance(one.content, other.content)
    )
