"""OmniDocBench (Ouyang et al., 2024): a page in Markdown, block by block.

The gold is the page's annotation, a JSON object with ``layout_dets``. The reply is split into paragraphs,
display formulas and tables; each is matched with the most similar gold block of its kind, and neighbours are
joined where that brings a match closer, because models and annotators divide pages differently. The metrics
are the official ones: edit distance of texts and formulas (the edits of a page divided by its characters),
TEDS and edit distance of tables, edit distance of the reading order. The matching is ours, simpler than the
official "quick match", so numbers differ from published ones. CDM compares rendered formulas, which needs
LaTeX and ImageMagick; it is not computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask_with
from eyechart.registry import scorer
from eyechart.score.aggregates import ALL, Counts, declare_aggregate, divide, get_column
from eyechart.score.judges import get_fact, parse_json
from eyechart.score.markup import MAX_CHARS, compute_teds
from eyechart.score.reading import score_official
from eyechart.types import Card, MetricTable, Reply, Sample, Score, ScoredRow

_TO_MARKDOWN = r"""You are an AI assistant specialized in converting PDF images to Markdown format. Please follow these instructions for the conversion:

    1. Text Processing:
    - Accurately recognize all text content in the PDF image without guessing or inferring.
    - Convert the recognized text into Markdown format.
    - Maintain the original document structure, including headings, paragraphs, lists, etc.

    2. Mathematical Formula Processing:
    - Convert all mathematical formulas to LaTeX format.
    # - Enclose inline formulas with \( \). For example: This is an inline formula \( E = mc^2 \)
    - Enclose block formulas with \\[ \\]. For example: \[ \frac{-b \pm \sqrt{b^2 - 4ac}}{2a} \]

    3. Table Processing:
    - Convert tables to HTML format.
    - Wrap the entire table with <table> and </table>.

    4. Figure Handling:
    - Ignore figures content in the PDF image. Do not attempt to describe or convert images.

    5. Output Format:
    - Ensure the output Markdown document has a clear structure with appropriate line breaks between elements.
    - For complex layouts, try to maintain the original document's structure and format as closely as possible.

    Please strictly follow these guidelines to ensure accuracy and consistency in the conversion. Your task is to accurately convert the content of the PDF image into Markdown format without adding any extra explanations or comments.
    """


Entry(
    "omnidocbench",
    "pages of nine kinds of documents, to be written in Markdown",
    Card("documents", "981 pages", "https://arxiv.org/abs/2412.07626", "see its page"),
    file="OmniDocBench",
    hub="ouyanglinke/OmniDocBench_tsv:OmniDocBench.tsv",
    change_file_row=lambda row: {"question": row.get("question") or "Write this page in Markdown."},
    prompt=ask_with(lambda sample: _TO_MARKDOWN),
    scorer="omnidocbench",
    aggregate="omnidocbench",
    metric="edit distance of texts, formulas, tables and order; TEDS",
    parity="VLMEvalKit (prompt and metrics); the matching of blocks is eyechart's own",
    note="The official matching of blocks is more elaborate, so numbers differ from published ones. CDM, which compares "
    "rendered formulas, needs LaTeX and is not computed.",
).register()


MAX_BLOCKS = 400  # of a kind on a page; what follows is joined to the last
MAX_GOLD_CHARS = 4_000_000
LIKE = 0.6  # of edit distances: blocks that are closer are matched before neighbours are joined

TEXTS = ("text_block", "title", "code_txt", "code_txt_caption", "reference")
# Matched, so that they take no other block's text, and not counted.
UNCOUNTED = (
    "equation_caption", "figure_caption", "figure_footnote", "table_caption", "table_footnote",
    "code_algorithm", "code_algorithm_caption", "header", "footer", "page_footnote", "page_number",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a page: the text that is compared, and its place in the reading order."""

    text: str
    order: int
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """The blocks of a page by kind; tables as HTML."""

    texts: list[Block]
    formulas: list[Block]
    tables: list[Block]


@scorer("omnidocbench", version="1")
def score_omnidocbench(reply: Reply, sample: Sample) -> Score:
    """OmniDocBench: the mean of 1 - edit distance (texts, formulas, order) and of TEDS (tables)."""
    gold = read_annotation(sample.golds[0]) if sample.golds else None
    if gold is None:
        detail = {"fail_reason": "the answer is not a page's annotation"} if sample.golds else {}
        return Score(outcome="unscored", value=0.0, route="omnidocbench", detail=detail)
    parts = compare_pages(split_page(reply.text), gold)
    values = [1 - value if "edit" in name else value for name, value in parts.items() if name != "table edit"]
    value = sum(values) / len(values) if values else 1.0
    score = score_official(reply, sample, value=value, read=reply.text.strip() or None, route="omnidocbench")
    return replace(score, detail={"parts": parts, "language": _find_language(sample)})


def compare_pages(said: Page, gold: Page) -> dict[str, float]:
    r"""The official numbers of one page; of kinds of blocks that the gold does not have, none.

    >>> page = split_page("# One\n\nSome text\n\n$$x^2$$")
    >>> compare_pages(page, page)
    {'text edit': 0.0, 'order edit': 0.0, 'formula edit': 0.0}
    """
    found: dict[str, float] = {}
    if gold.texts:
        pairs = match_blocks(said.texts, gold.texts)
        counted = [(mine, theirs) for mine, theirs in pairs if theirs and theirs[0].is_counted]
        places = sorted(
            (min(one.order for one in mine), max(one.order for one in theirs))
            for mine, theirs in counted
            if mine
        )
        wanted = sorted(theirs[-1].order for _, theirs in counted)
        found["text edit"] = _sum_edits(pairs, with_rest=True)
        found["order edit"] = _measure([order for _, order in places], wanted)
    if gold.formulas:
        found["formula edit"] = _sum_edits(match_blocks(said.formulas, gold.formulas), with_rest=False)
    if gold.tables:
        golds = [pair for pair in match_blocks(said.tables, gold.tables, joins=False) if pair[1]]
        found["table TEDS"] = sum(compute_teds(*map(_join, pair)) for pair in golds) / len(golds)
        found["table edit"] = _sum_edits(golds, with_rest=False)
    return found


# -- Matching

Pair = tuple[list[Block], list[Block]]  # blocks of the reply, blocks of the gold


def match_blocks(said: Sequence[Block], golds: Sequence[Block], *, joins: bool = True) -> list[Pair]:
    """Pairs of similar blocks; then blocks that belong to a neighbour's pair; then pairs of what is left.

    >>> said = [Block("some text", 0), Block("that goes on", 1)]
    >>> [(mine, theirs)] = match_blocks(said, [Block("some textthat goes on", 0)])
    >>> len(mine), len(theirs)
    (2, 1)
    """
    distances = sorted(
        (_measure(mine.text, theirs.text), i, j)
        for i, mine in enumerate(said)
        for j, theirs in enumerate(golds)
    )
    pair_of: dict[int, int] = {}
    pairs: dict[int, Pair] = {}
    for most in (LIKE, 1.0) if joins else (1.0,):
        for distance, i, j in distances:
            if distance < most and i not in pair_of and j not in pairs:
                pair_of[i], pairs[j] = j, ([said[i]], [golds[j]])
        if most == LIKE:
            for i in (i for i in range(len(said)) if i not in pair_of):
                nears = (pair_of[near] for near in (i - 1, i + 1) if near in pair_of)
                near = next((near for near in nears if _join_if_closer(said[i], *pairs[near])), None)
                if near is not None:
                    pair_of[i] = near
            for j in (j for j in range(len(golds)) if j not in pairs):
                for beside in (j - 1, j + 1):
                    is_alike = beside in pairs and golds[beside].is_counted == golds[j].is_counted
                    if is_alike and _join_if_closer(golds[j], *reversed(pairs[beside])):
                        pairs[j] = pairs[beside]
                        break
    rest = [block for i, block in enumerate(said) if i not in pair_of]
    lone: list[Pair] = [([], [gold]) for j, gold in enumerate(golds) if j not in pairs]
    return [*{id(pair): pair for pair in pairs.values()}.values(), *lone, *([(rest, [])] if rest else [])]


def _join_if_closer(block: Block, own: list[Block], others: list[Block]) -> bool:
    """Add a block to its side of a pair, if the match gets closer."""
    joined = sorted([*own, block], key=lambda one: one.order)
    is_closer = _measure(_join(joined), _join(others)) < _measure(_join(own), _join(others))
    if is_closer:
        own[:] = joined
    return is_closer


def _join(blocks: Iterable[Block]) -> str:
    return "".join(block.text for block in blocks)


def _measure(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Edit distance divided by the longer length; 0 of two empty ones."""
    from rapidfuzz.distance import Levenshtein

    longest = max(len(one), len(other))
    return Levenshtein.distance(one, other) / longest if longest else 0.0


def _sum_edits(pairs: Iterable[Pair], *, with_rest: bool) -> float:
    """All edits divided by all characters, of the longer text of each pair."""
    from rapidfuzz.distance import Levenshtein

    edits = length = 0
    for mine, theirs in pairs:
        if (theirs and not theirs[0].is_counted) or not (theirs or with_rest):
            continue
        said, true = _join(mine), _join(theirs)
        edits += Levenshtein.distance(said, true)
        length += max(len(said), len(true))
    return edits / length if length else 0.0


# -- The reply

_IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{0,500}\)")
_FENCE = re.compile(r"```\w{0,20}\n?")


def split_page(reply: str) -> Page:
    r"""The blocks of a reply in Markdown.

    >>> page = split_page("Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd $$x$$")
    >>> [block.text for block in page.texts], [block.text for block in page.formulas]
    (['Title', 'End'], ['x'])
    >>> page.tables[0].text
    '<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>'
    """
    text = _FENCE.sub("", _IMAGE.sub("", reply[:MAX_CHARS]))
    text, tables = _cut_out(text, "<table", "</table>", _clean_table)
    text, others = _cut_markdown_tables(text)
    tables += others
    formulas: list[Block] = []
    for opening, closing in (("$$", "$$"), ("\\[", "\\]")):
        text, found = _cut_out(text, opening, closing, clean_formula)
        formulas += found
    parts = text.split("\n\n")
    parts = parts if len([part for part in parts if part.strip()]) > 1 else text.split("\n")
    texts = [Block(clean, order) for order, part in enumerate(parts) if (clean := clean_text(part))]
    return Page(*(_limit(kind) for kind in (texts, formulas, tables)))


def _cut_out(text: str, opening: str, closing: str, clean: Callable[[str], str]) -> tuple[str, list[Block]]:
    """The text with blank lines in place of all that stands between two marks, and these blocks."""
    kept, found, at = [], [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
        if content := clean(text[start:at]):
            found.append(Block(content, start))
    return "\n\n".join([*kept, text[at:]]), found


def _cut_markdown_tables(text: str) -> tuple[str, list[Block]]:
    """The text without its tables in Markdown, two or more lines that begin with a bar, and these."""
    kept: list[str] = []
    found: list[Block] = []
    for is_table, lines in groupby(text.split("\n"), key=lambda line: line.lstrip().startswith("|")):
        run = list(lines)
        if is_table and len(run) > 1:
            found.append(Block(_from_markdown(run), len(kept)))
            run = ["", ""]
        kept += run
    return "\n".join(kept), found


def _limit(blocks: list[Block]) -> list[Block]:
    if len(blocks) <= MAX_BLOCKS:
        return blocks
    return [*blocks[: MAX_BLOCKS - 1], replace(blocks[MAX_BLOCKS - 1], text=_join(blocks[MAX_BLOCKS - 1 :]))]


def clean_text(text: str) -> str:
    """Letters, digits and underscores alone, as the official comparison of texts."""
    return re.sub(r"\W", "", text.replace("\\t", "").replace("\\n", ""))


_STYLES = re.compile(
    r"\\(?:math(?:bf|rm|normal|it|bb|cal|scr|frak|sf|tt)|textbf|text|boldmath|boldsymbol|operatorname|bm|notag"
    r"|quad|qquad|enspace|thinspace|space)|\\(?:tag|hspace|begin|end)\{[^{}]{0,200}\}|\s"
)


def clean_formula(text: str) -> str:
    r"""A formula in lower case, without its style, spaces and delimiters.

    >>> clean_formula(r"\[ \mathbf{X} = 1 \tag{2} \]")
    '{x}=1'
    """
    text = text.strip().removeprefix("\\[").removesuffix("\\]").strip("$")
    return _STYLES.sub("", text).strip(".").lower()


def _clean_table(text: str) -> str:
    """A table whose header cells are cells, without styles and line breaks."""
    text = re.sub(r"<(/?)th\b", r"<\1td", text.replace("\n", ""), flags=re.IGNORECASE)
    text = re.sub(
        r"</?(?:thead|tbody|b|strong|i|em|span|p|div)(?:\s[^<>]{0,300})?>", "", text, flags=re.IGNORECASE
    )
    return re.sub(r"\s(?:style|class|border|width|align|id)=(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}')", "", text)


def _from_markdown(lines: Sequence[str]) -> str:
    rows = [line.strip().strip("|").split("|") for line in lines if not re.fullmatch(r"[\s:|-]+", line)]
    cells = ("".join(f"<td>{cell.strip()}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


# -- The gold


def read_annotation(gold: str) -> Page | None:
    """The blocks of an annotated page; None of anything else. Blocks cut in two by a column are joined."""
    found = _parse(gold)
    listed = found.get("layout_dets")
    if not isinstance(listed, list):
        return None
    items = [item for item in listed if isinstance(item, dict) and not item.get("ignore")]
    page: dict[str, list[Block]] = {"texts": [], "formulas": [], "tables": []}
    for number, item in enumerate(_join_truncated(items, found)):
        kind, order = str(item.get("category_type")), item.get("order")
        place = order if isinstance(order, int) else number
        text = str(item.get("text") or "")
        if kind == "table" and item.get("html"):
            page["tables"].append(Block(_clean_table(str(item["html"])), place))
        elif kind == "equation_isolated":
            page["formulas"].append(Block(clean_formula(str(item.get("latex") or text)), place))
        elif kind in (*TEXTS, *UNCOUNTED) and (clean := clean_text(text)):
            page["texts"].append(Block(clean, place, is_counted=kind in TEXTS))
    return Page(**{name: _limit(sorted(blocks, key=lambda one: one.order)) for name, blocks in page.items()})


def _parse(gold: str) -> dict[str, Any]:
    found = parse_json(gold, max_chars=MAX_GOLD_CHARS)
    return found if isinstance(found, dict) else {}


def _join_truncated(items: Sequence[Mapping[str, Any]], page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    first: dict[Any, Any] = {}
    match page:
        case {"extra": {"relation": list(relations)}}:
            for one in relations:
                if isinstance(one, dict) and one.get("relation_type") == "truncated":
                    source = one.get("source_anno_id")
                    first[one.get("target_anno_id")] = first.get(source, source)
    by_id = {item.get("anno_id"): dict(item) for item in items}
    kept: list[Mapping[str, Any]] = []
    for item in sorted(items, key=lambda one: one["order"] if isinstance(one.get("order"), int) else 0):
        whole = by_id.get(first.get(item.get("anno_id")))
        if whole is not None and whole is not item:
            whole["text"] = f"{whole.get('text') or ''}{item.get('text') or ''}"
        else:
            kept.append(by_id.get(item.get("anno_id"), item))
    return kept


def _find_language(sample: Sample) -> str:
    if language := get_fact(sample, "language"):
        return language
    match _parse(sample.golds[0]):
        case {"page_info": {"page_attribute": {"language": language}}}:
            return str(language)
    return ""


# -- The numbers of all pages


def _count_parts(rows: Sequence[ScoredRow]) -> Counts:
    found: dict[Any, float] = {}
    for row in rows:
        language = str(row.detail.get("language") or get_column(row, "language"))
        for group in dict.fromkeys((ALL, language)):
            for name, value in (row.detail.get("parts") or {}).items():
                found[group, name, "n"] = found.get((group, name, "n"), 0) + 1
                found[group, name, "value"] = found.get((group, name, "value"), 0) + float(value)
    return found


_NAMES = ("text edit", "formula edit", "table TEDS", "table edit", "order edit")


@declare_aggregate("omnidocbench", _count_parts, headline="overall edit", parity="")
def _combine_parts(total: Counts) -> MetricTable:
    """Mean edit distance of texts, formulas, tables and order (lower is better), TEDS; by language."""
    table: dict[str, dict[str, float | None]] = {}
    for group in dict.fromkeys((ALL, *(str(key[0]) for key in total if isinstance(key, tuple)))):
        means = {
            name: divide(total.get((group, name, "value"), 0), total.get((group, name, "n"), 0))
            for name in _NAMES
        }
        edits = [value for name, value in means.items() if "edit" in name and value is not None]
        table[group] = {"overall edit": sum(edits) / len(edits) if edits else None, **means}
    return table
