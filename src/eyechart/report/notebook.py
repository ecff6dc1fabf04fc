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
from eyechart.report.compare import Comparison
from eyechart.report.comparison_table import list_notes as list_comparison_notes
from eyechart.report.comparison_table import make_tables
from eyechart.report.rows import explain_outcome
from eyechart.report.summary import Summary
from eyechart.report.table import PlainTable, format_percent, lay_out_run, list_metrics, list_notes
from eyechart.terminal import escape_controls
from eyechart.types import ImageRef, Result, Sample

_MOST_ROWS = 30
_MOST_CHARS = 5000
_SIDE, _BYTES = 480, 60_000  # of an image
_MUTED = "opacity:.7"
_SYMBOLS = {"correct": "✓", "partial": "½", "wrong": "✗", "failed": "!"}


def show_run(summary: Summary, conditions: Mapping[str, str], report: str = "") -> str:
    """The numbers of a run as a terminal has them, and its conditions. `report`: where its page is."""
    overall = summary.overall
    score = "—" if overall.score is None else f"{format_percent(overall.score)} %"
    told = [f"{_text(name)}: {_text(value)}" for name, value in conditions.items()]
    parts = [
        f"<strong>{_text(summary.benchmark)} · {_text(summary.model)}</strong>",
        f'<span style="font-size:1.6em;font-weight:600">{score}</span>',
        _table(lay_out_run(summary)),
        *map(_text, list_metrics(summary)),
        *map(_mute, list_notes(summary)),
        f"<details><summary>conditions</summary>{'<br>'.join(told)}</details>" if told else "",
        _mute(f"page: {report}") if report else "",
    ]
    return _stack(parts)


def show_comparison(comparison: Comparison) -> str:
    """The verdict, the runs by rank, the groups and the differences."""
    parts = [
        f"<strong>{_text(comparison.verdict)}</strong>",
        *map(_table, make_tables(comparison)),
        *map(_mute, (*comparison.warnings, *list_comparison_notes(comparison))),
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
    return _stack([*parts, _mute(explain_outcome(result))])


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
        yield _mute(f"gold: {' | '.join(sample.golds)}")


def _show_image(ref: ImageRef) -> str:
    """A small copy of the image; the reason where there is none. Nothing is downloaded."""
    loader = ImageLoader()
    try:
        small = loader.make_thumbnail(ref, max_side=_SIDE, max_bytes=_BYTES)
    except EyechartError as err:
        return _mute(err.message)
    finally:
        loader.close()
    data = base64.b64encode(small.data).decode()
    return f'<img alt="" style="max-width:{_SIDE}px" src="data:{MIME[small.format]};base64,{data}">'


# -- HTML


def _stack(parts: Iterable[str]) -> str:
    return "<div>" + "".join(f'<div style="margin:.3em 0">{part}</div>' for part in parts if part) + "</div>"


def _table(table: PlainTable) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        aligned = "".join(
            f'<{tag} style="text-align:{"left" if at < table.n_left else "right"}">{_text(cell)}</{tag}>'
            for at, cell in enumerate(cells)
        )
        return f"<tr>{aligned}</tr>"

    rows = [line(row, "td") for row in table.rows[:_MOST_ROWS]]
    more = f"… {len(table.rows) - _MOST_ROWS:,} more" if len(table.rows) > _MOST_ROWS else ""
    title = _mute(table.title) if table.title else ""
    return f"{title}<table>{line(table.columns, 'th')}{''.join(rows)}</table>{more}"


def _mute(text: str) -> str:
    return f'<span style="{_MUTED}">{_text(text)}</span>'


def _block(text: str, *, is_plain: bool = False) -> str:
    more = len(text) - _MOST_CHARS
    shown = f"{text[:_MOST_CHARS]}… ({more:,} characters more)" if more > 0 else text
    box = "" if is_plain else "border-left:3px solid currentColor;padding-left:.7em;"
    style = f"{box}white-space:pre-wrap;overflow-wrap:anywhere;max-width:60em"
    return f'<div style="{style}">{_text(shown)}</div>'


def _text(text: str) -> str:
    """Text for HTML; controls and marks of direction are shown, not obeyed."""
    return escape(escape_controls(text))
