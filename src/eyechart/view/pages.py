"""HTML of the web page, made on the server: every value is escaped by Jinja.

The style is that of report.html (report/assets/page.css). Characters that hide or reverse text are shown by
their codes, as in report.html (report/assets/dom.js).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import structs

from eyechart.data.images.boxes import describe_boxes
from eyechart.errors import UsageError
from eyechart.report.compare import Comparison, format_signed
from eyechart.report.conditions import REPLACED, hide_folders
from eyechart.report.counting import RIGHT, name_group
from eyechart.report.looks import list_turns, read_look, tell_crop
from eyechart.report.rows import describe_speed, to_json_text
from eyechart.report.run_page import describe_result, list_thoughts
from eyechart.report.table import format_percent, format_range, list_spent
from eyechart.runs.comparison import compare_runs
from eyechart.runs.inputs import SentImage, count_images, load_sent_images
from eyechart.runs.listing import ListedRun, select_runs
from eyechart.store.browse import PENDING, SampleEntry, SampleFilter
from eyechart.store.folder import AUDIT
from eyechart.types import OUTCOMES, Result
from eyechart.view.library import Library, NotFound

T = TypeVar("T")
HERE = Path(__file__).parent
SYMBOLS = {
    "correct": "✓", "partial": "½", "wrong": "✗", "unparsed": "?", "refused": "⊘", "truncated": "…",
    "failed": "!", "unscored": "–", PENDING: "·",
}  # fmt: skip
STATES = (*OUTCOMES, PENDING)
PAGE = 50  # samples
_MOST_RUNS = 500  # on one page; the search finds the others
_MOST_BLIND = 200
_MOST_SHOWN = 100_000  # characters of one text; a browser lays out more slowly than anybody reads
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which samples of a run are listed: the query of its pages."""

    outcomes: tuple[str, ...] = ()
    text: str = ""
    key: str = ""  # a column, and its value
    value: str = ""
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Choice:
        """From the query of a URL; unknown outcomes and odd numbers are dropped."""
        named = tuple(name for name in query.get("outcome", "").split(",") if name in STATES)
        key, _, value = query.get("by", "").partition("=")
        return cls(
            outcomes=named,
            text=clean_query(query.get("q", "")),
            key=key,
            value=value,
            page=read_number(query.get("page"), 1),
        )

    def to_query(self, **changes: Any) -> str:
        """The same with changes, as the end of a URL."""
        one = replace(self, **changes)
        named = {
            "outcome": ",".join(one.outcomes),
            "by": f"{one.key}={one.value}" if one.key else "",
            "q": one.text,
            "page": str(one.page) if one.page > 1 else "",
        }
        return urlencode({name: value for name, value in named.items() if value})

    def toggle(self, outcome: str) -> str:
        """The query with an outcome added or taken away."""
        left = tuple(name for name in self.outcomes if name != outcome)
        return self.to_query(outcomes=left if outcome in self.outcomes else (*self.outcomes, outcome), page=1)


class Pages:
    """Renders the pages of a library."""

    def __init__(self, library: Library, token: str = "") -> None:
        self.library = library
        self.token = token  # with which runs may be deleted; empty: they may not

    def render_index(self, words: str = "") -> str:
        """All runs: what is running, scores by benchmark and model, and a table per benchmark."""
        runs = self.library.list_runs()
        found = list(select_runs(runs, words.split()))
        shown = found[:_MOST_RUNS]
        sections: dict[str, list[ListedRun]] = {}
        for run in shown:
            sections.setdefault(run.benchmark or "unreadable", []).append(run)
        for several in sections.values():
            several.sort(key=lambda run: (run.score is None, -(run.score or 0.0), -run.changed))
        return self._render(
            "index.html",
            words=words,
            runs=runs,
            found=found,
            n_hidden=len(found) - len(shown),
            sections=sections,
            matrix=_make_matrix(found),
            trends={name: _draw_trend(several) for name, several in sections.items()},
            running=[run for run in shown if run.state == "running"],
            audits=self.library.list_audits(),
            root=self.library.shown_root,
        )

    def render_run(self, name: str, choice: Choice) -> str:
        """One run: its numbers, its conditions, its groups, and a page of its samples."""
        line, run = self.library.find(name), self.library.open(name)
        listed = self.library.list_samples(name)
        entries, part = _take_page(self._find(name, choice), choice.page)
        summary = self.library.read_summary(name)
        return self._render(
            "run.html",
            run=line,
            manifest=run.manifest,
            summary=summary,
            facts=_list_facts(line, run.manifest, summary),
            notes=list(_list_notes(summary)),
            groups=_read_groups(summary),
            counts=listed.count(),
            choice=replace(choice, page=part["page"]),
            rows=[self._make_row(name, entry.id, entry.trial) for entry in entries],
            **part,
            with_trial=run.trials > 1,
            others=self._list_others([name]),
            token=self.token,
            audit=beside if (beside := name + AUDIT) in self.library.list_audits() else None,
            downloads=[file for file in ("report.html",) if self.library.find_file(name, file)],
        )

    def render_sample(self, name: str, sample: str, trial: int, choice: Choice) -> str:
        """One sample in full, with the way to its neighbours among those that were listed."""
        line, run = self.library.find(name), self.library.open(name)
        result = self.library.read_sample(name, sample, trial)
        calls = run.journal.calls(result.sample.id, trial)
        before, after, place, n = _find_neighbours(self._find(name, choice), result)
        return self._render(
            "sample.html",
            run=line,
            choice=choice,
            before=before,
            after=after,
            place=place,
            n_found=n,
            card=_make_card(name, result, load_sent_images(run.manifest, result)),
            calls=[call for call in calls if call.purpose.startswith("judge:")],
        )

    def render_comparison(self, names: Sequence[str], kind: str, page: int) -> str:
        """Two runs: the verdict, the groups, and the samples, those that flipped first.

        A third one is only shown with the samples.
        """
        runs = [self.library.find(name) for name in names]
        a, b = names[:2]
        found = self.compare(a, b)
        kinds = _sort_questions(found)
        kind = kind if kind in kinds else "flips"
        ids, part = _take_page(kinds[kind], page)
        rows = []
        for one in ids:
            both = [self._make_row(name, one) for name in (a, b)]
            rows.append({**both[0], **{f"{key}s": [row[key] for row in both] for key in ("outcome", "read")}})
        verdict, *notes = map(hide_folders, (*found.verdict.split("\n"), *found.warnings))
        return self._render(
            "compare.html",
            runs=runs,
            link=_link(names),
            others=self._list_others(names),
            found=found,
            verdict=verdict,
            notes=notes,
            pair=found.pairs[0],
            kinds={name: len(several) for name, several in kinds.items()},
            kind=kind,
            rows=rows,
            **part,
        )

    def render_pair(self, names: Sequence[str], sample: str, kind: str) -> str:
        """One sample as two or three runs answered it."""
        runs = [self.library.find(name) for name in names]
        ids = _sort_questions(self.compare(*names[:2])).get(kind) or []
        place = ids.index(sample) if sample in ids else -1
        results = [self.library.read_sample(name, sample) for name in names]
        images = load_sent_images(self.library.open(names[0]).manifest, results[0])
        cards = [
            _make_card(name, result, images if name == names[0] else [])
            for name, result in zip(names, results, strict=True)
        ]
        return self._render(
            "pair.html",
            runs=runs,
            link=_link(names),
            cards=cards,
            reads=[(card["read"], side) for card, side in zip(cards, "ABC", strict=False)],
            kind=kind,
            place=place,
            n_found=len(ids),
            before=ids[place - 1] if place > 0 else None,
            after=ids[place + 1] if 0 <= place < len(ids) - 1 else None,
        )

    def render_judge(self, name: str) -> str:
        """Who judged a run, how far the verdicts agree, and what a person found."""
        card = self.library.read_summary(name).get("judge")
        if not isinstance(card, Mapping):
            raise NotFound(f"{name} has no judge and was not checked by a person")
        return self._render(
            "judge.html", run=self.library.find(name), card=card, compared=_list_compared(card)
        )

    def render_audit(self, name: str) -> str:
        """What an audit of a benchmark and a model found."""
        found = self.library.list_audits().get(name)
        if found is None:
            raise NotFound(f"no audit named {name!r} here")
        names = {str(run.folder.resolve()): run.name for run in self.library.list_runs()}
        ends = {run.name.rpartition("/")[2]: run.name for run in self.library.list_runs()}
        runs = {
            condition: names.get(folder) or ends.get(folder.replace("\\", "/").rpartition("/")[2])
            for condition, one in _items(found.get("conditions"))
            for folder in [str(next(iter(one.get("runs") or [""])))]
        }
        return self._render(
            "audit.html",
            name=name,
            found=found,
            conditions=dict(_items(found.get("conditions"))),
            runs=runs,
            blind=self.library.read_blind_solvable(name, _MOST_BLIND),
        )

    def render_error(self, status: int, message: str, hint: str = "") -> str:
        return self._render("error.html", status=status, message=message, hint=hint)

    # -- What several pages need

    def compare(self, a: str, b: str) -> Comparison:
        """The comparison of two runs, kept until one of them changes."""
        if a == b:
            raise UsageError("a run is not compared with itself", hint="choose two different runs")
        runs = [self.library.open(a), self.library.open(b)]
        return self.library.compute(("compare", a, b), (a, b), lambda: compare_runs(runs))

    def _find(self, name: str, choice: Choice) -> list[SampleEntry]:
        listed, words = self.library.list_samples(name), choice.text.casefold().split()

        def fits(meta: Mapping[str, Any]) -> bool:
            return name_group(meta.get(choice.key)) == choice.value

        def matches(found: str) -> bool:
            return all(word in found.casefold() for word in words)

        wanted = SampleFilter(
            outcomes=choice.outcomes,
            fits=fits if choice.key else None,
            matches=matches if words else None,
        )
        key = ("find", name, ",".join(choice.outcomes), choice.text, choice.key, choice.value)
        return self.library.compute(key, (name,), lambda: listed.find(wanted))

    def _list_others(self, names: Sequence[str]) -> list[ListedRun]:
        """The other runs of the benchmark of the first."""
        benchmark = self.library.find(names[0]).benchmark
        return [
            one
            for one in self.library.list_runs()
            if one.benchmark == benchmark and one.name not in names and one.state != "unreadable"
        ]

    def _make_row(self, name: str, sample: str, trial: int = 0) -> dict[str, Any]:
        result = self.library.read_sample(name, sample, trial)
        return {
            "id": sample,
            "trial": trial,
            "outcome": result.outcome or PENDING,
            "question": result.sample.question,
            "said": result.reply.text if result.reply else result.failure.reason if result.failure else "",
            "read": result.score.read if result.score else None,
            "golds": result.sample.golds,
            "n_images": count_images(result),
        }

    def load_templates(self) -> None:
        """Compile the templates now rather than for the first page."""
        for name in self._templates.list_templates():
            self._templates.get_template(name)

    def _render(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(values)

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.filters |= {
            "shown": show_text,
            "brief": _make_brief,
            "percent": format_percent,
            "points": lambda fraction: format_signed(fraction).replace("-", "−"),
            "span": format_range,
            "count": lambda n: f"{n:,}",
            "date": _format_date,
            "path": lambda name: quote(name, safe="/", errors="replace"),
            "query": lambda text: quote(str(text), safe="", errors="replace"),
        }
        made.globals |= {"SYMBOLS": SYMBOLS, "STATES": STATES}
        return made


def show_text(text: object) -> Any:
    r"""Untrusted text for a page: escaped, with characters that cannot be seen shown by their codes.

    >>> print(show_text("<b>\u202eback"))
    &lt;b&gt;<span class="unsafe-character" title="characters that cannot be seen">U+202E</span>back
    """
    whole = str(text).replace("\r\n", "\n")
    cut = whole[:_MOST_SHOWN]
    parts, end = [], 0
    for found in _UNSAFE.finditer(cut):
        span = Markup('<span class="unsafe-character" title="characters that cannot be seen">{}</span>')
        parts += [escape(cut[end : found.start()]), span.format(_tell_codes(found))]
        end = found.end()
    parts.append(escape(cut[end:]))
    if len(whole) > _MOST_SHOWN:
        left = Markup('<span class="muted"> … {} characters more; the downloads have them</span>')
        parts.append(left.format(f"{len(whole) - _MOST_SHOWN:,}"))
    return Markup("").join(parts)


def _tell_codes(found: re.Match[str]) -> str:
    codes = " ".join(f"U+{ord(one):04X}" for one in found[0][:8])
    return codes + (f" … {len(found[0])} in all" if len(found[0]) > 8 else "")


def clean_query(text: str) -> str:
    """What a user searches for, as it is shown again in its field."""
    return _UNSAFE.sub(" ", text[:200])


def _make_brief(text: object, limit: int = 160) -> str:
    """The beginning of a text on one line, for titles and attributes as well: codes are plain text."""
    words = " ".join(_UNSAFE.sub(_tell_codes, str(text)[: 4 * limit]).split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def read_number(text: str | None, otherwise: int, *, least: int = 1) -> int:
    """A number in the query of a URL."""
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 8
    return max(least, int(text)) if is_number and text else otherwise


def _items(value: object) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The mappings in a mapping that came from a file."""
    if isinstance(value, Mapping):
        yield from ((str(key), one) for key, one in value.items() if isinstance(one, Mapping))


def _format_date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}" if seconds else ""


def _take_page(found: Sequence[T], page: int) -> tuple[Sequence[T], dict[str, int]]:
    """What is on a page, the last one at most; and which page it is, for its template."""
    n_pages = max(1, -(-len(found) // PAGE))
    page = max(1, min(page, n_pages))
    start = (page - 1) * PAGE
    part = {"page": page, "n_pages": n_pages, "start": start, "n_found": len(found)}
    return found[start : start + PAGE], part


# -- What pages show


def _make_matrix(runs: Sequence[ListedRun]) -> dict[str, Any] | None:
    """Models by benchmark, where there are several of both; of several runs the most complete.

    A benchmark has a best score if all of its runs shown are finished and were scored in the same way.
    """
    cells: dict[tuple[str, str], ListedRun] = {}

    def rank(run: ListedRun) -> tuple[bool, int, bool, float]:
        return not _is_finished(run), -run.n, bool(run.selection), -run.changed

    for run in sorted(runs, key=rank):
        if run.score is not None and _has_images(run):
            cells.setdefault((run.model, run.benchmark), run)
    benchmarks = sorted({benchmark for _, benchmark in cells})
    models = sorted({model for model, _ in cells})
    if len(benchmarks) < 2 or len(models) < 2:
        return None
    best = {}
    for benchmark in benchmarks:
        several = [run for (_, one), run in cells.items() if one == benchmark]
        if all(map(_is_finished, several)) and len({(_tell_scoring(run), run.n) for run in several}) == 1:
            best[benchmark] = max(run.score or 0.0 for run in several)
    return {"benchmarks": benchmarks, "models": models, "cells": cells, "best": best}


def _is_finished(run: ListedRun) -> bool:
    return run.state in ("complete", "failures")


def _has_images(run: ListedRun) -> bool:
    """Whether the model was sent the images as published, not blank ones or none, as in an audit."""
    return REPLACED.isdisjoint(run.conditions.get("images", "").split(", "))


def _tell_scoring(run: ListedRun) -> tuple[str, str]:
    """The scorer with its version, and the judge."""
    return run.conditions.get("scorer", "").partition(", parity")[0], run.conditions.get("judge", "")


def _draw_trend(runs: Sequence[ListedRun]) -> dict[str, Any] | None:
    """The scores of a benchmark over time, a line for each model: finished runs of the most questions.

    None where there are fewer than four, or several ways of scoring.
    """
    n = max((run.n for run in runs if _has_images(run)), default=0)
    several = sorted(
        (run for run in runs if run.n == n and run.ci95 and _is_finished(run) and _has_images(run)),
        key=lambda run: run.at or run.changed,
    )
    if len(several) < 4 or len({_tell_scoring(run) for run in several}) > 1:
        return None
    lines: dict[str, list[tuple[float, ListedRun]]] = {}
    for place, run in enumerate(several):
        lines.setdefault(run.model, []).append(((place + 0.5) * 600 / len(several), run))
    return {"runs": several, "lines": lines}


def _link(names: Sequence[str]) -> str:
    """The runs of a comparison in the query of a URL."""
    return urlencode([("run", name) for name in names], quote_via=quote, safe="", errors="replace")


def _list_facts(
    line: ListedRun, manifest: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The conditions of a run: name and value."""
    facts = [
        *line.conditions.items(),
        ("started", _format_date(line.at)),
        *list_thoughts(summary),
        *list_spent(summary),
        ("eyechart", str(manifest.get("eyechart", ""))),
        ("folder", line.name),
    ]
    return [(name.capitalize(), hide_folders(value)) for name, value in facts if value]


def _list_notes(summary: Mapping[str, Any]) -> Iterator[str]:
    """What a reader must know before the score."""
    yield from map(hide_folders, summary.get("remarks") or ())
    worst, best = summary.get("bounds") or (None, None)
    if worst is not None and best is not None and best > worst:
        yield (
            f"Between {format_percent(worst)} and {format_percent(best)} % if every failed, unparsed and "
            "truncated sample had been wrong, or right."
        )


def _read_groups(summary: Mapping[str, Any]) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """The groups of a summary by key, those with the most samples first; none of a key with one value."""
    found = {}
    for key, groups in _items(summary.get("by")):
        rows = [(name, one) for name, one in _items(groups) if isinstance(one.get("n"), int)]
        found[key] = sorted(rows, key=lambda row: -row[1]["n"])
    return {key: rows for key, rows in found.items() if len(rows) > 1}


def _make_card(name: str, result: Result, images: Sequence[SentImage]) -> dict[str, Any]:
    detail, reply = describe_result(result, _MOST_SHOWN), result.reply
    tokens = "{:,} in, {:,} out".format(*detail.tokens) if detail.tokens else ""
    facts = [
        ("Trial", str(result.trial) if result.trial else ""),
        ("Finish", (reply.finish_reason or "none given") if reply else ""),
        ("Latency", describe_speed(reply) if reply else ""),
        ("Tokens", tokens),
        ("Answered by", hide_folders(reply.model) if reply else ""),
        *(
            (str(key), value if isinstance(value, str) else to_json_text(value))
            for key, value in detail.meta.items()
        ),
    ]
    return {
        **structs.asdict(detail),
        "run": name,
        "value": result.score.value if result.score else None,
        "facts": [(key, value) for key, value in facts if value],
        "images": [_make_figure(number, found) for number, found in enumerate(images)],
        "asked": list(list_turns(result.asked)),
        "is_dialogue": read_look(result) is not None,
    }


def _make_figure(number: int, found: SentImage) -> dict[str, Any]:
    record, image = found.record, found.image
    told: list[str] = []
    if image is not None:
        told += [f"{image.width} × {image.height}", image.mime, f"{image.n_bytes:,} bytes"]
    told += [name for name in ("resized", "reencoded") if record.get(name)]
    if found.is_same:
        told.append("exactly as it was sent")
    if isinstance(look := record.get("look"), Mapping):
        told.insert(0, tell_crop(number, look))
    if found.boxes:
        told.append(describe_boxes(found.boxes))
    width, height = found.original_size
    return {
        "number": number,
        "is_there": image is not None,
        "facts": " · ".join(told),
        "remark": found.remark,
        "origin": hide_folders(str(record.get("origin", ""))),
        "boxes": found.boxes,
        "width": width,
        "height": height,
        "letter": max(width, height) / 28,  # the height of a box's label, as in report.html
    }


def _find_neighbours(
    entries: Sequence[SampleEntry], result: Result
) -> tuple[SampleEntry | None, SampleEntry | None, int, int]:
    """The entries before and after a sample, its place among them, and how many there are."""
    key = (result.position, result.trial)
    at = bisect_left(entries, key, key=lambda entry: (entry.position, entry.trial))
    is_listed = at < len(entries) and (entries[at].position, entries[at].trial) == key
    following = at + 1 if is_listed else at
    return (
        entries[at - 1] if at > 0 else None,
        entries[following] if following < len(entries) else None,
        at + 1 if is_listed else 0,
        len(entries),
    )


def _sort_questions(found: Comparison) -> dict[str, list[str]]:
    """The shared questions by how the two runs did on them."""
    a, b = found.pairs[0].b, found.pairs[0].a  # the first run is the reference
    kinds: dict[str, list[str]] = {"flips": [], "a": [], "b": [], "wrong": [], "right": []}
    values = zip(found.questions.ids, found.questions.values[a], found.questions.values[b], strict=True)
    for one, mine, theirs in values:
        if (mine >= RIGHT) != (theirs >= RIGHT):
            kinds["flips"].append(one)
            kinds["a" if mine >= RIGHT else "b"].append(one)
        else:
            kinds["right" if mine >= RIGHT else "wrong"].append(one)
    return kinds


def _list_compared(card: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Agreements on a judge card: a name and its figures."""
    found = [(" and ".join(map(str, one.get("judges") or ())), one) for one in card.get("pairs") or ()]
    found += [(f"{one.get('judge')}, asked twice", one) for one in card.get("repeat") or ()]
    if isinstance(check := card.get("check"), Mapping):
        found.append(("the judge and the rules", check))
    return found + [(f"this scoring and {one.get('scorer')}", one) for one in card.get("beside") or ()]
