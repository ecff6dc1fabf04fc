"""The hub's library `datasets`: imported late, kept quiet, and its errors said in our words."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from eyechart.data.hub.spec import HubSpec
from eyechart.errors import DataError, MissingExtra
from eyechart.quiet import quiet

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_REACHED_WITHIN_S = 5.0


def library() -> Any:
    """The library; `MissingExtra` where it is not installed."""
    try:
        with quiet():
            import datasets
    except ImportError as err:
        raise MissingExtra.named("hub", needed_for="Data sets of the Hugging Face hub") from err
    return datasets


@contextmanager
def calm(spec: HubSpec) -> Iterator[None]:
    """No log lines of the library; its progress bars only on a terminal, where somebody waits.

    Where the hub cannot be reached, the library looks into its cache alone: by itself it would try again for
    half a minute before it did, or said that nobody answers.
    """
    datasets = library()
    from huggingface_hub import constants
    from huggingface_hub.utils import logging as hub_logging

    is_offline = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    if not spec.is_local and not any(is_offline) and not _is_reachable(constants.ENDPOINT):
        constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True

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
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = is_offline
        if hide_bars:
            datasets.enable_progress_bars()
        for log, level in zip(logs, levels, strict=True):
            log.set_verbosity(level)


def _is_reachable(endpoint: str) -> bool:
    """Whether somebody listens at the hub's address, or at that of the proxy on the way to it."""
    parts = urlsplit(endpoint)
    proxy = getproxies().get(parts.scheme) if not proxy_bypass(parts.hostname or "") else None
    if proxy:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    found = threading.Event()

    def connect() -> None:
        with suppress(OSError), socket.create_connection(address, timeout=_REACHED_WITHIN_S):
            found.set()

    looking = threading.Thread(target=connect, daemon=True)  # a name server may be silent for longer
    looking.start()
    looking.join(_REACHED_WITHIN_S)
    return found.is_set()


def explain(spec: HubSpec, err: Exception) -> NoReturn:
    """The library's error as one that says what to do."""
    if isinstance(err, ConnectionError) or "LocalEntryNotFoundError" in str(err):
        hint = "is there a connection? A folder is read without one: hf:./folder"
        if any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in _OFFLINE):
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
