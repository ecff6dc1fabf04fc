"""`eyechart view` in Debian's Chromium: live progress, flips, images, hostile replies, accessibility.

Without Chromium these tests fail; they do not skip.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import eyechart as ec
from extras.browser.conftest import find_violations
from extras.view.conftest import Serve
from eyechart.runs.listing import list_runs
from support.command import start
from support.files import choice_tsv
from support.runs import right
from support.server import Asked, Server

WAIT_MS = 60_000
Open = Callable[..., Any]


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Opens an address; at the end no script has failed, and nothing broke the content security policy."""
    opened: list[tuple[Any, list[str]]] = []

    def visit_it(address: str, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": options.pop("width", 1280), "height": 900}, **options
        )
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)

        def refuse_dialog(dialog: Any) -> None:
            troubles.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", refuse_dialog)
        page.on(
            "request",
            lambda asked: None if asked.url.startswith("http://127.0.0.1:") else troubles.append(asked.url),
        )
        opened.append((context, troubles))
        page.goto(address)
        return page

    yield visit_it
    for context, troubles in opened:
        context.close()
        assert troubles == []


def wait_for(page: Any, expression: str) -> None:
    """Wait until an expression is true; `wait_for_function` is refused by the content security policy."""
    for _ in range(WAIT_MS // 100):
        with contextlib.suppress(Exception):  # the page is being loaded again
            if page.evaluate(expression):
                return
        page.wait_for_timeout(100)
    raise AssertionError(f"not true in time: {expression}\n{page.inner_text('body')[:2000]}")


def find_name(runs: Path, model: str) -> str:
    return next(run.name for run in list_runs(runs) if run.model == model)


def test_a_count_goes_up_while_a_run_goes_on(visit: Open, serve: Serve, tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 40)
    (tmp_path / "runs").mkdir()
    may_answer = threading.Semaphore(5)

    def answer(asked: Asked) -> str:
        may_answer.acquire(timeout=60)
        return right(asked)

    page = visit(serve(tmp_path / "runs"))
    assert "There are no runs here yet" in page.inner_text("main")
    with Server(answer) as server:
        flags = ("--base-url", server.base_url, "--concurrency", "2", "--no-cache", "-q")
        running = start("run", "q.tsv", "-m", "openai/m", *flags, cwd=tmp_path)
        try:
            page.wait_for_selector("section .live .live-done")  # the page found the run by itself
            wait_for_count(page, 5)
            for _ in range(10):
                may_answer.release()
            wait_for_count(page, 15)
            page.click(".live a")
            wait_for(page, "Number(document.querySelector('.live-row .live-done').textContent) >= 15")
            for _ in range(40):
                may_answer.release()
            assert running.wait(timeout=60) == 0
        finally:
            running.kill()
            running.communicate()
    wait_for(page, "!document.querySelector('.live-bar')")  # it says by itself that it is over
    assert "complete" in page.inner_text(".masthead")
    assert page.inner_text(".score b") == "100.0"
    assert "95 % interval" in page.inner_text(".score-interval")


def wait_for_count(page: Any, n: int) -> None:
    wait_for(page, f"Number(document.querySelector('.live .live-done')?.textContent) >= {n}")


def test_two_runs_are_compared_and_a_flip_is_found(visit: Open, address: str) -> None:
    page = visit(address)
    assert page.is_disabled("#compare")
    for model in ("baseline/random", "baseline/majority"):
        page.get_by_role("checkbox", name=f"Choose {model}").check()
    page.click("#compare")
    assert "flips" in page.inner_text(".chip.on")
    first = page.locator("a.row").first
    outcomes = first.locator(".chip").all_inner_texts()
    assert (outcomes[0] == "correct") != (outcomes[1] == "correct")
    first.click()
    sides = page.locator(".side .chip").all_inner_texts()
    assert sides == outcomes
    page.keyboard.press("j")
    wait_for(page, "document.querySelector('.steps').innerText.includes('2 of')")


def test_a_sample_shows_its_image(visit: Open, address: str, runs: Path) -> None:
    page = visit(f"{address}/run/{find_name(runs, 'baseline/majority')}")
    page.click("a.chip[data-outcome='wrong']")
    page.fill("input[type=search]", "cups")
    page.keyboard.press("Enter")
    wait_for(page, "location.search.includes('q=cups')")
    assert set(page.locator("a.row .chip").all_inner_texts()) == {"wrong"}
    page.locator("a.row").first.click()
    wait_for(page, "document.querySelector('.images img').naturalWidth === 560")
    assert "exactly as it was sent" in page.inner_text("figcaption")
    page.click("a.zoomable")
    shown = "document.querySelector('dialog.zoom[open] img')"
    wait_for(page, f"{shown}?.naturalWidth === 560")
    page.click("dialog.zoom button")
    assert page.evaluate(f"{shown}.width") == 560, "every pixel"
    page.keyboard.press("Escape")
    wait_for(page, "!document.querySelector('dialog')")


def test_samples_as_a_table_of_one_run_and_of_several(visit: Open, address: str, runs: Path) -> None:
    page = visit(f"{address}/run/{find_name(runs, 'baseline/random')}")
    page.get_by_role("link", name="Table of samples").click()
    page.wait_for_selector("html[data-ready]")
    page.get_by_role("button", name="Table").click()
    assert page.locator("#samples tbody tr").count() > 5
    page = visit(f"{address}/")
    for box in page.locator("input[name=run]").all()[:2]:
        box.check()
    page.get_by_role("button", name="Samples").click()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#scores table").count() == 1
    assert page.locator(".status").inner_text() == "120 samples"


def test_a_reply_is_markdown_and_the_page_dark_by_hand(visit: Open, serve: Serve, tmp_path: Path) -> None:
    def answer(text: str, images: object) -> str:
        return "It is **bold** and $x^2$.\n\nThe answer is A."

    run = ec.run(choice_tsv(tmp_path / "q.tsv", 4), answer, out=tmp_path / "runs", progress=False)
    page = visit(f"{serve(tmp_path / 'runs')}/sample/q/{run.folder.name}?id=1")
    page.locator(".reply strong", has_text="bold").wait_for()
    assert page.locator(".reply.rich math").count() == 1
    assert page.locator(".reply.rich mark").inner_text() == "A"
    page.get_by_role("button", name="Dark").click()
    page.reload()
    page.get_by_role("button", name="Light").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 28)"


def test_a_hostile_reply_is_inert(visit: Open, address: str, runs: Path) -> None:
    name = find_name(runs, "python:Hostile")
    page = visit(address)
    for path in ("/", f"/run/{name}", f"/sample/{name}?id=charts-cups-1"):
        page.goto(f"{address}{path}")
        page.wait_for_load_state("load")
        assert "owned" not in page.title()
        assert page.evaluate("[...document.scripts].every((one) => one.src.startsWith(location.origin))")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    reply = page.inner_text(".reply")
    assert "<script>document.title='owned'</script>" in reply
    assert "U+202E" in reply


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_trend(visit: Open, serve: Serve, tmp_path: Path, scheme: str) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 4)
    for model in ("random", "majority"):
        for system in ("a", "b"):
            ec.run(file, f"baseline/{model}", system=system, out=tmp_path / "runs", progress=False)
    page = visit(f"{serve(tmp_path / 'runs')}/", color_scheme=scheme)
    assert page.locator(".trend polyline").count() == 2
    assert find_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Open, address: str, runs: Path, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    names = [find_name(runs, f"baseline/{model}") for model in ("random", "majority")]
    two = urlencode([("run", name) for name in names])
    sample = "charts-cups-1"
    paths = ["/", f"/run/{names[0]}", f"/sample/{names[0]}?id={sample}", f"/compare?{two}"]
    paths.append(f"/compare/sample?{two}&id={sample}")
    for path in paths:
        page = visit(f"{address}{path}", color_scheme=scheme, width=390 if scheme == "dark" else 1280)
        page.wait_for_load_state("load")
        found = Axe().run(page).response["violations"]
        serious = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
