"""Addresses of endpoints and proxies: taken apart once, refused where no request could be sent."""

from __future__ import annotations

import os
import re
import sys
from urllib.parse import SplitResult, urlsplit

from eyechart.errors import UsageError

_WITH_SETTINGS = ("darwin", "win32")  # where the system's own settings may name a proxy


def split_address(url: str) -> SplitResult | None:
    """The parts of an address that a request can be sent to; None when none can.

    >>> split_address("http://localhost:8000/v1").port, split_address("localhost:8000"), split_address("http://a:b")
    (8000, None, None)
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return None
    is_plain = all(mark.isprintable() and not mark.isspace() for mark in url)
    return parts if is_address and is_plain else None


def proxy_for(url: str) -> str | None:
    """The proxy that the environment asks for. Ask once: it costs more than a request."""
    if sys.platform not in _WITH_SETTINGS and not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # nothing to look up, and urllib.request takes its time to import
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(url)
    said = None if proxy_bypass(target.netloc) else getproxies().get(target.scheme)
    if not said:
        return None
    proxy = said if "://" in said else f"http://{said}"
    if split_address(proxy) is None:
        raise UsageError(
            f"the proxy that {target.scheme}_proxy names cannot be used",
            hint="write it like http://proxy:3128, or exempt the endpoint with no_proxy",
        )
    return proxy


def without_password(text: str) -> str:
    """A message without what stands before the @ of an address in it.

    >>> without_password("407, url='http://me:secret@proxy:3128'")
    "407, url='http://proxy:3128'"
    """
    return re.sub(r"://[^/\s'\"]*@", "://", text)
