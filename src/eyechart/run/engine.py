"""What the options of a run say to the engine, whether a model is asked or a judge alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyechart.run.options import Options
from eyechart.types import Model

if TYPE_CHECKING:
    from eyechart.engine.local import Settings
    from eyechart.store.cache import ResponseCache


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
