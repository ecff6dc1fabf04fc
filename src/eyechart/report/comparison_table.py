"""A comparison as tables: for a terminal, as Markdown or LaTeX for papers, and its samples as CSV.

Percent with one decimal; differences in percentage points.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from eyechart.report.compare import Comparison, Difference, format_p, format_points, format_signed
from eyechart.report.export import guard_formula
from eyechart.report.rows import open_text_file
from eyechart.report.table import PlainTable, format_percent, format_range
from eyechart.terminal import to_one_line

_METHODS = {
    "mcnemar": "McNemar's exact test",
    "sign-flip": "sign-flip test",
    "sign-flip-clustered": "sign-flip test over clusters",
    "t": "paired t test",
    "t-clustered": "paired t test over clusters",
}
_MAX_NAMES = 80  # columns of a terminal for the names of runs
MARK = "*"  # after a score: the run differs from the reference
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--", "—": "---", "\0": "{}",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#])")


def make_tables(comparison: Comparison, *, n_flips: int = 0) -> list[PlainTable]:
    """The runs; then the groups of each key, and the first samples that flipped."""
    labels = comparison.labels
    tables = [_make_runs_table(comparison)]
    tables += [_make_groups_table(comparison, key, labels) for key in comparison.by]
    if n_flips:
        tables += [_make_flips_table(pair, labels, n_flips) for pair in comparison.pairs if pair.flipped]
    return tables


def _make_runs_table(comparison: Comparison) -> PlainTable:
    """A row per run, by score: the score, its rank where there are several, and the difference."""
    pairs = {pair.a: pair for pair in comparison.pairs}
    is_many = comparison.is_many
    columns = ["model", "score %", "95 % interval", *(["rank", "ranks"] if is_many else [])]
    columns += ["difference", "95 % interval", _name_p(comparison, is_many)]
    rows = []
    for standing in comparison.standings:
        row = [to_one_line(standing.label), format_percent(standing.score), format_range(standing.ci95)]
        if is_many:
            row += [str(standing.rank), "–".join(map(str, dict.fromkeys(standing.ranks)))]
        pair = pairs.get(standing.run)
        rows.append([*row, *(["reference", "", ""] if pair is None else _tell_difference(pair))])
    return PlainTable(title=to_one_line(comparison.benchmark), columns=columns, rows=rows)


def _make_groups_table(comparison: Comparison, key: str, labels: Mapping[str, str]) -> PlainTable:
    """A row per group: every run's score; of two runs also the difference and the flips."""
    groups = comparison.by[key]
    runs = [standing.run for standing in comparison.standings]
    names = [f"{labels[run]} %" for run in runs]
    title = f"by {to_one_line(key)}"
    if comparison.is_many and sum(map(len, names)) > _MAX_NAMES:
        names = [f"#{place}" for place in range(1, len(runs) + 1)]
        title += f" (%; {names[0]} to {names[-1]} are the runs above, in order)"
    columns = [to_one_line(key), "n", *names]
    if not comparison.is_many:
        columns += ["difference", "95 % interval", _name_p(comparison, len(groups) > 1), "flips"]
    flips = Counter((flip.by[key], flip.a > flip.b) for flip in comparison.flipped)
    rows = []
    for value, group in groups.items():
        notes = {pair.a for pair in group.pairs if pair.is_distinguishable}
        scores = [format_percent(group.scores[run]) + MARK * (run in notes) for run in runs]
        row = [to_one_line(value), f"{group.n:,}", *scores]
        if not comparison.is_many:
            row += [*_tell_difference(group.pairs[0]), f"+{flips[value, True]} -{flips[value, False]}"]
        rows.append(row)
    return PlainTable(title=title, columns=columns, rows=rows)


def _make_flips_table(pair: Difference, labels: Mapping[str, str], n: int) -> PlainTable:
    keys = list(pair.flipped[0].by)
    rest = f", the first {n:,}" if n < len(pair.flipped) else ""
    return PlainTable(
        title=f"{len(pair.flipped):,} flipped between {labels[pair.a]} and {labels[pair.b]}{rest}",
        columns=["sample", *map(to_one_line, keys), labels[pair.a], labels[pair.b]],
        rows=[
            [to_one_line(flip.id), *(to_one_line(flip.by[key]) for key in keys), f"{flip.a:g}", f"{flip.b:g}"]
            for flip in sorted(pair.flipped, key=lambda flip: (list(flip.by.values()), flip.a))[:n]
        ],
        n_left=1 + len(keys),
    )


def _name_p(comparison: Comparison, is_many: bool) -> str:
    return "p corrected" if is_many and comparison.correction != "none" else "p"


def _tell_difference(pair: Difference) -> list[str]:
    low, high = pair.ci95
    return [
        format_signed(pair.difference),
        f"{format_points(low)} to {format_points(high)}",
        format_p(pair.p_adjusted),
    ]


def list_notes(comparison: Comparison) -> Iterator[str]:
    """What the tables cannot show, one line each."""
    n, pair, labels = comparison.n, comparison.pairs[0], comparison.labels
    clusters = f" in {comparison.n_clusters:,} clusters" if comparison.n_clusters < n else ""
    yield f"{n:,} shared question{'s' * (n != 1)}{clusters}; scorer {to_one_line(comparison.scorer)}"
    if not comparison.is_many:
        up = sum(flip.a > flip.b for flip in pair.flipped)
        down = len(pair.flipped) - up
        chosen = "" if comparison.is_baseline else ", the first run; --baseline RUN chooses another"
        yield f"differences: {labels[pair.a]} minus {labels[pair.b]}{chosen}"
        yield f"flips: +{up:,} right in {labels[pair.a]} alone, -{down:,} in {labels[pair.b]} alone"
    for one in comparison.pairs:
        if one.ci95_with_failures:
            low, high = map(format_points, one.ci95_with_failures)
            names = " minus ".join(labels[run] for run in (one.a, one.b))
            yield f"with {one.n_failed:,} failed questions, counted wrong or right: {names} {low} to {high}"
    notes = [f"difference by {_METHODS.get(pair.method, pair.method)}"]
    if comparison.correction != "none" and (comparison.is_many or comparison.by):
        pairs = ["all pairs" if not comparison.is_baseline else "all others"] if comparison.is_many else []
        over = " and ".join([*pairs, *(["the groups of a key"] if comparison.by else [])])
        notes.append(f"p corrected over {over} by {_CORRECTIONS[comparison.correction]}")
    yield "; ".join(notes)
    groups = [group for groups in comparison.by.values() for group in groups.values()]
    if comparison.is_many and any(pair.is_distinguishable for group in groups for pair in group.pairs):
        yield f"{MARK} differs from the reference"


# -- For people, for papers


def list_renderables(comparison: Comparison, *, n_flips: int = 0) -> Iterator[RenderableType]:
    """The tables and notes for a terminal; the verdict follows them."""
    for table in make_tables(comparison, n_flips=n_flips):
        yield table
        yield Text("")
    yield from (Text(notes, style="dim") for notes in list_notes(comparison))


def draw_ranks(comparison: Comparison) -> RenderableType:
    """Ranks and differences alone, below a table that has the scores."""
    whole = _make_runs_table(comparison)
    kept = [place for place, name in enumerate(whole.columns) if place not in (1, 2, 3)]
    return PlainTable(
        title=f"{whole.title}: comparison on {comparison.n:,} shared questions",
        columns=[whole.columns[place] for place in kept],
        rows=[[row[place] for place in kept] for row in whole.rows],
    )


def to_markdown(table: PlainTable) -> str:
    r"""The table in the dialect of GitHub.

    >>> print(to_markdown(PlainTable(title="t", columns=["a_b", "n"], rows=[["x|y", "1"]])))
    | a\_b | n |
    |:---|---:|
    | x\|y | 1 |
    """
    rule = "|".join(":---" if place < table.n_left else "---:" for place in range(len(table.columns)))
    lines = [" | ".join(_MARKDOWN.sub(r"\\\1", cell) for cell in row) for row in (table.columns, *table.rows)]
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def to_latex(table: PlainTable) -> str:
    r"""The table as a tabular of the package booktabs.

    >>> print(to_latex(PlainTable(title="t", columns=["a_b", "n"], rows=[["50 %", "1"]])))
    \begin{tabular}{lr}
    \toprule
    a\_b & n \\
    \midrule
    50 \% & 1 \\
    \bottomrule
    \end{tabular}
    """
    align = "l" * table.n_left + "r" * (len(table.columns) - table.n_left)
    head, *body = [" & ".join(map(_escape_latex, row)) + r" \\" for row in (table.columns, *table.rows)]
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"])


def _escape_latex(text: str) -> str:
    # "[" and "*" at the beginning of a row would be arguments of the \\ before it; "--" would be a dash.
    parted = re.sub(r"^(?=[\[*])|(?<=-)(?=-)", "\0", text.replace("\0", ""))
    escaped = "".join(_LATEX.get(letter, letter) for letter in parted)
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", escaped)  # a minus, not a hyphen


def write_samples(path: str | Path, comparison: Comparison) -> None:
    """Write every shared question as CSV: its groups, and the value of each run."""
    questions = comparison.questions
    labels = {standing.run: standing.label for standing in comparison.standings}
    with open_text_file(path) as file:
        writer = csv.writer(file)
        heads = ["id", *questions.groups, *(labels[run] for run in questions.values)]
        writer.writerow(map(guard_formula, heads))
        for row, name in enumerate(questions.ids):
            texts = [name, *(values[row] for values in questions.groups.values())]
            numbers = (f"{values[row]:.6g}" for values in questions.values.values())
            writer.writerow([*map(guard_formula, texts), *numbers])
