"""Runs, comparisons and samples as HTML in a notebook: small tables, no script, every text escaped.

Styles stand in the elements, because notebooks share one page; colours are the notebook's own, light or dark.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from eyechart.data.images.loading import ImageLoader
from eyechart.data.images.pixels import MIME
from eyechart.errors import EyechartError
from eyechart.report.compare import Comparison, format_points
from eyechart.report.counting import Group
from eyechart.report.reasons import explain_outcome
from eyechart.report.summary import Summary
from eyechart.report.table import format_percent
from eyechart.terminal import escape_controls
from eyechart.types import OUTCOMES, ImageRef, Result, Sample

_MOST_ROWS = 30
_MOST_CHARS = 5000
_SIDE, _BYTES = 480, 60_000  # of an image
_MUTED = "opacity:.7"
_NUMBER = "text-align:right"
_SYMBOLS = {"correct": "✓", "partial": "½", "wrong": "✗", "failed": "!"}


def show_run(summary: Summary, conditions: Mapping[str, str], report: str = "") -> str:
    """The headline of a run, its outcomes, groups and conditions. `report`: where its page is."""
    overall = summary.overall
    score = f"{format_percent(overall.score)} %" if overall.score is not None else "—"
    ends = f"95 % interval {_range(overall.ci95)}" if overall.ci95 else "nothing could be scored"
    chance = f", chance {format_percent(overall.chance)} %" if overall.chance is not None else ""
    outcomes = [f"{overall.outcomes[name]:,} {name}" for name in OUTCOMES if overall.outcomes[name]]
    outcomes += [f"{overall.pending:,} pending"] if overall.pending else []
    told = [f"{_text(name)}: {_text(value)}" for name, value in conditions.items()]
    parts = [
        f"<strong>{_text(summary.benchmark)} · {_text(summary.model)}</strong>",
        f'<span style="font-size:1.6em;font-weight:600">{score}</span> {ends}{chance}',
        f'<span style="{_MUTED}">{overall.n:,} questions: {", ".join(outcomes)}</span>',
        *(_show_groups(key, groups) for key, groups in summary.by.items()),
        f"<details><summary>conditions</summary>{'<br>'.join(told)}</details>" if told else "",
        f'<span style="{_MUTED}">page: <code>{_text(report)}</code></span>' if report else "",
    ]
    return _stack(parts)


def _show_groups(key: str, groups: Mapping[str, Group]) -> str:
    shown = list(groups.items())[:_MOST_ROWS]
    rows = [[name, f"{one.n:,}", format_percent(one.score), _range(one.ci95)] for name, one in shown]
    more = [f"… {len(groups) - len(shown):,} more", "", "", ""] if len(groups) > len(shown) else None
    return _table([key, "n", "score %", "95 % interval"], [*rows, *([more] if more else [])])


def show_comparison(comparison: Comparison) -> str:
    """The verdict, the runs by rank, and the differences."""
    labels = {one.run: one.label for one in comparison.standings}
    runs = [
        [one.label, "–".join(dict.fromkeys(map(str, one.ranks))), format_percent(one.score), _range(one.ci95)]
        for one in comparison.standings[:_MOST_ROWS]
    ]
    pairs = [
        [
            f"{labels[one.a]} − {labels[one.b]}",
            format_points(one.difference),
            " to ".join(map(format_points, one.ci95)),
            f"{one.p_adjusted:.3f}",
            f"{len(one.flipped):,}",
        ]
        for one in comparison.pairs[:_MOST_ROWS]
    ]
    parts = [
        f"<strong>{_text(comparison.verdict)}</strong>",
        _table(["run", "rank", "score %", "95 % interval"], runs),
        _table(["difference", "points", "95 % interval", "p", "flipped"], pairs),
        *(f'<span style="{_MUTED}">{_text(warning)}</span>' for warning in comparison.warnings),
    ]
    return _stack(parts)


def show_sample(sample: Sample) -> str:
    """A question with its images, options and accepted answers."""
    return _stack([f"<strong>{_text(sample.id)}</strong>", *_list_question(sample)])


def show_result(result: Result) -> str:
    """A question with the reply to it, and the reason of its score."""
    sample, reply, outcome = result.sample, result.reply, result.outcome or "pending"
    trial = f" · trial {result.trial}" if result.trial else ""
    parts = [
        f"<strong>{_text(sample.id)}{trial}</strong> · {_SYMBOLS.get(outcome, '·')} {outcome}",
        *_list_question(sample, result.score.read if result.score else None),
    ]
    if reply is not None:
        parts.append(_block(reply.text or "(empty)"))
    return _stack([*parts, f'<span style="{_MUTED}">{_text(explain_outcome(result))}</span>'])


def _list_question(sample: Sample, read: str | None = None) -> Iterable[str]:
    yield "".join(_show_image(ref) for ref in sample.images[:4])
    yield _block(sample.question, is_plain=True)
    for letter, option in sample.choices.items():
        marks = ["gold"] if letter in sample.golds else []
        marks += ["read"] if letter == read else []
        weight = "font-weight:600" if marks else ""
        told = f' <span style="{_MUTED}">({", ".join(marks)})</span>' if marks else ""
        yield f'<span style="{weight}">{_text(letter)}. {_text(option)}</span>{told}'
    if sample.golds and not set(sample.golds) <= set(sample.choices):
        yield f'<span style="{_MUTED}">gold: {_text(" | ".join(sample.golds))}</span>'


def _show_image(ref: ImageRef) -> str:
    """A small copy of the image; the reason where there is none. Nothing is downloaded."""
    loader = ImageLoader()
    try:
        small = loader.make_thumbnail(ref, max_side=_SIDE, max_bytes=_BYTES)
    except EyechartError as err:
        return f'<span style="{_MUTED}">{_text(err.message)}</span>'
    finally:
        loader.close()
    data = base64.b64encode(small.data).decode()
    return f'<img alt="" style="max-width:{_SIDE}px" src="data:{MIME[small.format]};base64,{data}">'


# -- HTML


def _stack(parts: Iterable[str]) -> str:
    return "<div>" + "".join(f'<div style="margin:.3em 0">{part}</div>' for part in parts if part) + "</div>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        styles = [f"text-align:left;{_MUTED if tag == 'th' else ''}", *[_NUMBER] * (len(cells) - 1)]
        shown = [
            f'<{tag} style="{style}">{_text(cell)}</{tag}>' for cell, style in zip(cells, styles, strict=True)
        ]
        return f"<tr>{''.join(shown)}</tr>"

    return f"<table>{line(heads, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _block(text: str, *, is_plain: bool = False) -> str:
    more = len(text) - _MOST_CHARS
    shown = f"{text[:_MOST_CHARS]}… ({more:,} characters more)" if more > 0 else text
    box = "" if is_plain else "border-left:3px solid currentColor;padding-left:.7em;"
    style = f"{box}white-space:pre-wrap;overflow-wrap:anywhere;max-width:60em"
    return f'<div style="{style}">{_text(shown)}</div>'


def _text(text: str) -> str:
    """Text for HTML; controls and marks of direction are shown, not obeyed."""
    return escape(escape_controls(text))


def _range(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{format_percent(ends[0])}–{format_percent(ends[1])}"
