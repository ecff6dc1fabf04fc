"""A run as an HTML file: what the page says about it, read from its folder and those beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.files import read_json
from eyechart.option import list_options
from eyechart.report.conditions import hide_folders, list_options_apart, name_run, read_options
from eyechart.report.run_page import Level, RunFacts, SampleFacts, write_run_page
from eyechart.report.thumbnails import ImagePolicy
from eyechart.runs.options import IMAGES, Options
from eyechart.runs.results import Run
from eyechart.runs.sent import make_sent_loader
from eyechart.store.folder import SUMMARY_NAME, find_siblings
from eyechart.store.journal import Journal

# For small copies of images at the end of a run: this share of the run's duration, within limits, and as long
# as it takes if that is less than the most. `eyechart report --html` takes the time it needs.
_SHARE = 0.02
_MOST_S, _LEAST_S = 10.0, 0.25
_MAX_SIBLINGS = 50  # runs beside this one that are looked at for the score without images


def write_html(run: Run, path: str | Path, policy: ImagePolicy, *, is_after_run: bool = False) -> int:
    """Write a run as one self-contained HTML file, in one pass over its samples that counts them as well.

    After a run, its summary is written as soon as the samples are counted, before the images. Returns the
    number of images that could not be read.
    """
    loader = make_sent_loader(run.manifest)
    about = SampleFacts(manifest=run.manifest, n_rows=_count_rows(run), price=run.price())

    def gather() -> RunFacts:
        if is_after_run:
            run.write_summary()
        return gather_facts(run)

    try:
        return write_run_page(path, about, run.count_samples(), gather, loader, policy)
    finally:
        loader.close()


def choose_policy(run: Run, *, full_images: bool, is_after_run: bool) -> ImagePolicy:
    """How the images get into the page."""
    if full_images or not is_after_run:
        return ImagePolicy(is_full=full_images)
    share_s = _SHARE * run.journal.totals()["seconds"]
    return ImagePolicy(max_s=min(_MOST_S, max(_LEAST_S, share_s)), whole_s=_MOST_S)


def gather_facts(run: Run) -> RunFacts:
    """What the page says besides the summary and the samples."""
    first, model = next(run.journal.samples(), None), str(run.manifest.get("model") or "")
    return RunFacts(
        name=name_run(run.folder, model, hide_folders(model)),
        manifest=run.manifest,
        summary=run.summary,
        conditions=run.conditions,
        n_rows=_count_rows(run),
        started_at=run.journal.read_starts()[1],
        price=run.price(),
        levels=list(_find_blind_levels(run)),
        notes=list(_list_notes(run)),
        asked=run.journal.asked(first.id) if first else (),
    )


def _count_rows(run: Run) -> int:
    return run.journal.count_samples() * run.trials


def _list_notes(run: Run) -> Iterator[str]:
    if kind := run.replaced_input:
        yield f"Asked with --input {kind}: this is not the score with the images."
    if run.trouble is not None:
        yield f"The run was stopped: {run.trouble.message}"
    n_pending = run.summary.overall.pending
    if n_pending:
        yield f"{n_pending:,} samples have not been asked yet: run the same command again to resume."


def _find_blind_levels(run: Run) -> Iterator[Level]:
    """The score of the same questions without the images, where a run beside this one has it."""
    if run.replaced_input:
        return
    for journal in islice(find_siblings(run.folder), _MAX_SIBLINGS):
        with contextlib.suppress(StoreError, OSError, msgspec.DecodeError, KeyError, TypeError, ValueError):
            manifest = Journal.open(journal).read_mapping("manifest")
            if read_options(manifest).get("input") != "none" or not _is_alike(run.manifest, manifest):
                continue
            found = read_json(journal.parent / SUMMARY_NAME, dict[str, Any])
            if found is not None and found["score"] is not None and not found["pending"]:
                ends = found["ci95"]
                yield Level(
                    name="without image",
                    score=float(found["score"]),
                    ci95=(float(ends[0]), float(ends[1])) if ends else None,
                )
                return


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both runs ask the same questions of the same model in the same way, but for the images."""
    names = ("origin", "benchmark", "identity", "scorer", "circular", "trials")
    apart = list_options_apart([read_options(one), read_options(other)], list_options(Options))
    return all(one.get(name) == other.get(name) for name in names) and all(
        name == "input" or list_options(Options)[name].group == IMAGES for name, _, _ in apart
    )
