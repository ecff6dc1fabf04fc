"""The hub's library `datasets`: imported late, kept quiet, and its errors said in our words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from eyechart.data.hub.spec import HubSpec
from eyechart.errors import DataError, MissingExtra
from eyechart.quiet import quiet


def library() -> Any:
    """The library; `MissingExtra` where it is not installed."""
    try:
        with quiet():
            import datasets
    except ImportError as err:
        raise MissingExtra.named("hub", needed_for="Data sets of the Hugging Face hub") from err
    return datasets


@contextmanager
def calm() -> Iterator[None]:
    """No log lines of the library; its progress bars only on a terminal, where somebody waits."""
    datasets = library()
    from huggingface_hub.utils import logging as hub_logging

    logs = (datasets.logging, hub_logging)
    levels = [log.get_verbosity() for log in logs]
    hide_bars = not sys.stderr.isatty() and not datasets.are_progress_bars_disabled()
    for log in logs:
        log.set_verbosity(50)
    if hide_bars:
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        if hide_bars:
            datasets.enable_progress_bars()
        for log, level in zip(logs, levels, strict=True):
            log.set_verbosity(level)


def explain(spec: HubSpec, err: Exception) -> NoReturn:
    """The library's error as one that says what to do."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if isinstance(err, ConnectionError):
        hint = "is there a connection? A folder is read without one: hf:./folder"
        if HF_HUB_OFFLINE:
            hint = "HF_HUB_OFFLINE is set: unset it to download, or bring the cache that HF_HOME points to"
        raise DataError(f"{spec}: not in the cache, and the hub cannot be reached", hint=hint) from err
    if isinstance(err, FileNotFoundError) and spec.is_local:
        raise DataError(
            f"{spec}: no data files in it",
            hint="it should hold Parquet, JSONL, CSV or what save_to_disk wrote",
        ) from err
    if isinstance(err, FileNotFoundError):
        raise DataError(
            f"{spec}: {first_line(err)}",
            hint="is the name right? For a private or gated data set, log in first: hf auth login",
        ) from err
    cause = err.__cause__ or err
    raise DataError(
        f"{spec}: cannot be loaded: {type(cause).__name__}: {first_line(cause)}",
        hint="are its files whole? A clone made with git needs git lfs for the large ones",
    ) from err


def first_line(err: BaseException) -> str:
    """What an error of the library says, without the pages that may follow."""
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:300]
