"""What the options of a run say to the engine, whether a model is asked or a judge alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.run.options import Options
from eyechart.types import Model

if TYPE_CHECKING:
    from eyechart.engine.local import Settings
    from eyechart.store.cache import ResponseCache
    from eyechart.store.kept import EarlierRuns


def make_settings(options: Options) -> Settings:
    """How hard to push, and when to give up."""
    from eyechart.engine.backoff import Backoff
    from eyechart.engine.local import Settings

    return Settings(
        concurrency=options.concurrency,
        is_adaptive=options.adaptive,
        rpm=options.rpm,
        tpm=options.tpm,
        give_up_after=options.give_up_after,
        timeout_s=options.timeout_s,
        backoff=Backoff(attempts=options.retries + 1),
    )


def open_cache(options: Options, *asked: Model | None) -> ResponseCache | None:
    """The replies of other runs, where an endpoint is asked at all; to be closed in the end."""
    if not options.cache or not any(getattr(model, "is_endpoint", False) for model in asked):
        return None
    from eyechart.store.cache import ResponseCache

    return ResponseCache.open()


def open_earlier(
    folder: Path, options: Options, identity: Mapping[str, Any] | None, journals: Iterable[Path] = ()
) -> EarlierRuns | None:
    """Other runs of the same benchmark and model, and `journals` besides; to be closed in the end.

    With another selection or other settings a run has another folder, and what both ask is asked once.
    """
    from eyechart.store.kept import EarlierRuns, find_siblings

    if options.fresh:
        return None
    return EarlierRuns([*find_siblings(folder), *journals], identity) or None
