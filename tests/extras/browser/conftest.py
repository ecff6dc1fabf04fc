"""Pages in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens a file or an address; at the end no script has failed, and no rule was violated."""
    opened: list[tuple[Any, list[str]]] = []

    def open_it(where: Path | str, *, width: int = 1280, scheme: str = "light", fragment: str = "") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda told: troubles.append(told.text) if told.type == "error" else None)

        def refuse(dialog: Any) -> None:
            troubles.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", refuse)
        page.on("request", lambda asked: troubles.append(asked.url) if is_far(asked.url) else None)
        opened.append((context, troubles))
        page.goto((where.as_uri() if isinstance(where, Path) else where) + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_it
    for context, troubles in opened:
        context.close()
        assert troubles == []


def is_far(url: str) -> bool:
    """Whether a request leaves the file, and this machine."""
    return not url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))


def find_violations(page: Any) -> list[str]:
    """What axe finds that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:150]} {node.get('failureSummary', '')[:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]
