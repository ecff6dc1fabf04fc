"""report.html, comparisons and audits, opened from disk and used as a reader does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import eyechart as ec
from extras.browser.conftest import find_violations
from eyechart.report.conditions import hide_folders
from eyechart.report.pages import CurvePoint, WatchedCurve, write_watch_page
from eyechart.runs.api import run
from eyechart.runs.comparison import compare
from eyechart.runs.pages import write_audit_html, write_comparison_html, write_runs_html
from eyechart.runs.results import Run
from eyechart.stats.curves import Gain
from eyechart.types import Message
from support.files import jsonl, picture

Open = Callable[..., Any]
HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    "<svg onload='window.hacked = 1'/>"
    "</script><style>body { display: none }</style>\u202ereversed\u0007 " + "endless" * 2000
)
LONG = "A word of a question that goes on. " * 60


class Answers:
    """Answers by the question's number: right, wrong, hostile, unreadable, in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies = replies

    async def generate(self, messages: list[Message]) -> str:
        number = int(messages[-1].text.split("#")[1].split(" ")[0])
        return self.replies[number % len(self.replies)].replace("RIGHT", "ABCD"[number % 4])


def write_questions(folder: Path, n: int) -> Path:
    rows = []
    for k in range(n):
        (folder / f"{k % 5}.png").write_bytes(picture((40 * (k % 5), 90, 160), (320, 200)))
        rows.append(
            {
                "id": HOSTILE[:60] if k == 2 else f"q{k}",
                "question": f"Question #{k} {LONG if k == 4 else 'what is it?'}",
                "image": f"{k % 5}.png",
                "options": {"A": "one", "B": "two", "C": "<b>three</b>", "D": "four"},
                "answer": "ABCD"[k % 4],
                "category": ("even", "odd")[k % 2],
            }
        )
    return jsonl(folder / "questions.jsonl", rows)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs on 120 questions; the second is right more often, and its third reply is hostile."""
    folder = tmp_path_factory.mktemp("pages")
    questions = write_questions(folder, 120)
    models = [Answers("A"), Answers("RIGHT", "RIGHT", HOSTILE, "I cannot say.", "The answer is A.")]
    return [run(questions, model, out=folder / f"runs{k}", progress=False) for k, model in enumerate(models)]


@pytest.fixture
def report(runs: list[Run]) -> Path:
    return runs[1].folder / "report.html"


def read_status(page: Any) -> str:
    return str(page.locator(".status").inner_text())


def test_filter_open_a_sample_and_see_its_image(open_page: Open, report: Path) -> None:
    page = open_page(report)
    assert page.locator(".score b").inner_text() == f"{100 * Run(report.parent).summary.score:.1f}"  # type: ignore[operator]
    assert read_status(page) == "120 samples"
    assert page.locator(".rows a").count() == 50
    page.get_by_role("button", name="wrong").click()
    n_wrong = int(read_status(page).split()[0])
    assert 0 < n_wrong < 120
    page.locator(".menu summary", has_text="category").click()
    page.get_by_label("odd (60)").check()
    assert int(read_status(page).split()[0]) < n_wrong
    page.locator(".rows a").first.click()
    card = page.locator(".reader .card")
    card.wait_for()
    assert "wrong" in card.locator("header .chip").inner_text()
    image = card.locator("img").first
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    image.click()
    page.locator("dialog[open] img").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_search_finds_words_of_replies(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.get_by_label("Search the samples").fill("cannot say")
    expect(page.locator(".status")).to_have_text("24 of 120 samples")
    page.get_by_label("Search the samples").fill("no such words")
    expect(page.locator(".status")).to_have_text("0 of 120 samples")
    assert "No sample matches" in page.locator(".rows").inner_text()


def test_keyboard_and_links(open_page: Open, report: Path) -> None:
    page = open_page(report, fragment="#sample=q7")
    title = page.locator(".reader .card header h3")
    expect(title).to_have_text("q7")
    page.keyboard.press("j")
    expect(title).to_have_text("q8")
    page.keyboard.press("k")
    expect(title).to_have_text("q7")
    assert page.evaluate("location.hash") == "#sample=q7"
    page.keyboard.press("Escape")
    page.locator(".reader").wait_for(state="hidden")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.get_by_role("button", name="Next →").click()
    assert page.locator(".rows a").first.get_attribute("href") == "#sample=q50"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_hostile_reply_is_text(open_page: Open, report: Path, scheme: str) -> None:
    page = open_page(report, scheme=scheme)
    page.locator(".rows a").nth(2).click()
    reply = page.locator(".reader .reply")
    reply.wait_for()
    shown = reply.inner_text()
    assert shown.startswith("<script>window.hacked = 1</script><img")
    assert "U+202E" in shown
    assert page.evaluate("window.hacked") is None
    assert page.locator(".reader script, .reader svg, .reader style, .reader img[onerror]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(17, 22, 28)")
    assert find_violations(page) == []


@pytest.mark.parametrize("width", [375, 1280])
def test_axe_and_no_sideways_scrolling(open_page: Open, report: Path, width: int) -> None:
    page = open_page(report, width=width)
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".rows a").nth(4).click()
    page.locator(".reader .card").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".listing").is_visible() is (width > 860)


def test_a_comparison_shows_a_flip_with_both_replies(
    open_page: Open, runs: list[Run], tmp_path: Path
) -> None:
    found = compare(runs[0], runs[1])
    write_comparison_html(found, tmp_path / "compare.html")
    page = open_page(tmp_path / "compare.html")
    verdict, *notes = hide_folders(found.verdict).split("\n")
    assert page.locator(".verdict").inner_text() == verdict
    assert page.locator(".note").all_inner_texts()[: len(notes)] == notes
    flip = found.flipped[0]
    first = page.locator(".rows a").first
    assert flip.id in first.inner_text()
    assert "only A right" in first.inner_text()
    first.click()
    sides = page.locator(".reader .side")
    sides.first.wait_for()
    assert [side.locator(".chip").inner_text() for side in sides.all()] == ["correct", "wrong"]
    assert sides.nth(1).locator(".reply").inner_text() == "A"
    assert find_violations(page) == []
    narrow = open_page(tmp_path / "compare.html", width=375, scheme="dark")
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 375
    assert find_violations(narrow) == []


def test_an_audit_shows_its_verdict_and_the_questions_solved_blind(open_page: Open, tmp_path: Path) -> None:
    from eyechart.runs.audit import audit

    questions = write_questions(tmp_path, 12)
    found = audit(questions, Answers("A"), conditions=["none"], out=tmp_path / "runs", progress=False)
    write_audit_html(found, tmp_path / "audit.html")
    page = open_page(tmp_path / "audit.html", width=375)
    assert found.verdict in page.locator(".verdict").inner_text()
    assert "verdict changes %" not in page.locator("#conditions thead").inner_text()  # none was tried
    assert page.locator(".rows a").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert find_violations(page) == []


def test_a_watched_training_has_a_curve_and_a_table(open_page: Open, tmp_path: Path) -> None:
    gains = [Gain(0.0, 0.0, 0.0), Gain(0.2, 0.1, 0.3)]
    points = tuple(
        CurvePoint(
            step=10 * k, name=f"c-{k}", run="r", score=0.4 + gain.difference, ci95=(0.3, 0.7),
            since_first=gain, since_best=gain,
        )
        for k, gain in enumerate(gains, 1)
    )  # fmt: skip
    curve = WatchedCurve(
        benchmark="<b>mine", points=points, best=1, plateau=None, margin=0.01, n=80, n_clusters=80
    )
    write_watch_page(tmp_path / "watch.html", "ckpt", [curve])
    for width in (375, 1280):
        page = open_page(tmp_path / "watch.html", width=width, scheme="dark")
        assert page.locator("h2").inner_text() == "<b>mine"
        assert page.locator(".verdict").inner_text() == curve.verdict
        assert page.locator("tbody tr").count() == 2
        page.locator(".plot svg").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert find_violations(page) == []


def test_one_sample_and_no_score(open_page: Open, tmp_path: Path) -> None:
    questions = tmp_path / "one.jsonl"
    questions.write_text(json.dumps({"id": "only", "question": "Question #0 ?"}) + "\n")
    done = run(questions, Answers("It is a cat."), input="none", out=tmp_path / "runs", progress=False)
    page = open_page(done.folder / "report.html")
    assert page.locator(".score b").inner_text() == "—"
    assert read_status(page) == "1 sample"
    page.locator(".rows a").click()
    assert page.locator(".reader .reply").inner_text() == "It is a cat."
    assert find_violations(page) == []


def test_boxes_lie_on_their_image_at_every_size(tmp_path: Path, open_page: Open) -> None:
    (tmp_path / "a.png").write_bytes(picture(size=(1600, 1000)))
    layouts = {"1": {"bbox": [0, 0, 400, 500]}, "2": {"bbox": [800, 500, 5000, 1000]}}
    row = {"question": "#0 which?", "image": "a.png", "options": {"A": "x", "B": "y"}, "answer": "A"}
    questions = jsonl(tmp_path / "q.jsonl", [{**row, "layout_infos": layouts, "target_layouts": [2]}])
    done = run(questions, model=Answers("A"), out=tmp_path / "runs", max_pixels=100_000, progress=False)
    page = open_page(done.folder / "report.html", fragment="#sample=1")
    for shown in (".images", "dialog.zoom"):
        image, target = page.locator(f"{shown} img"), page.locator(f"{shown} rect.target")
        expect(target).to_have_count(1)
        expect(page.locator(f"{shown} rect.other")).to_have_count(1)
        around, inside = image.bounding_box(), target.bounding_box()
        # The lower right quarter; the image has a border of a pixel.
        assert abs(inside["x"] - around["x"] - around["width"] / 2) < 4
        assert abs(inside["y"] - around["y"] - around["height"] / 2) < 4
        assert abs(inside["width"] - around["width"] / 2) < 6
        assert abs(inside["height"] - around["height"] / 2) < 6
        if shown == ".images":
            page.locator(".images button").click()


RICH = (
    "**Working**\n\n| side | cm |\n|---|---|\n| a | 3 |\n\nSo $\\frac{1}{2}\\sqrt{3}$, not $5 or $6.\n\n"
    + "The next step is long.\n\n" * 40
    + "<b>Not bold</b> [a link](javascript:alert(1)) `x < y`\n\nThe answer is (B)."
)


def test_markdown_and_formulas_are_shown_from_the_place_that_was_read(
    open_page: Open, tmp_path: Path
) -> None:
    questions = write_questions(tmp_path, 4)
    done = run(questions, Answers(RICH), out=tmp_path / "runs", progress=False)
    page = open_page(done.folder / "report.html", fragment="#sample=q0")
    reply = page.locator(".reader .reply.rich")
    reply.wait_for()
    assert reply.locator("strong").first.inner_text() == "Working"
    assert reply.locator("table td").all_inner_texts() == ["a", "3"]
    assert reply.locator("math mfrac").count() == 1
    assert "not $5 or $6." in reply.inner_text()
    assert "<b>Not bold</b>" in reply.inner_text()
    assert reply.locator("b, a").count() == 0
    assert reply.locator("code").inner_text() == "x < y"
    mark = reply.locator("mark")
    assert mark.inner_text() == "B"
    around, at = reply.bounding_box(), mark.bounding_box()
    assert around["y"] <= at["y"] < around["y"] + around["height"]  # scrolled to it
    assert find_violations(page) == []
    page.get_by_role("button", name="source").click()
    source = page.locator(".reader .reply:not(.rich)")
    assert source.inner_text().startswith("**Working**")
    assert not reply.is_visible()
    assert source.locator("mark").inner_text() == "B"


@pytest.mark.parametrize(
    "text",
    [
        "> " * 20_000,
        "- " * 20_000,
        "[" * 40_000,
        "**a " * 10_000,
        "$" * 40_000,
        "\\(" * 12_000,
        "|" * 40_000,
        "`" * 40_000,
    ],
)
def test_a_reply_made_to_be_slow_is_shown_at_once(open_page: Open, tmp_path: Path, text: str) -> None:
    questions = write_questions(tmp_path, 1)
    done = run(questions, Answers(text), out=tmp_path / "runs", progress=False)
    page = open_page(done.folder / "report.html")
    page.set_default_timeout(60_000)
    page.locator(".rows a").first.click()
    page.locator(".reader .reply").first.wait_for()


def test_the_table_sorts_and_filters_by_any_column(open_page: Open, report: Path) -> None:
    page = open_page(report)
    page.get_by_role("button", name="Table").click()
    rows = page.locator(".samples-table tbody tr")
    expect(rows).to_have_count(50)
    assert page.locator("body *").count() < 3000
    page.get_by_role("button", name="id", exact=True).click()
    page.get_by_role("button", name="id ↑").click()
    assert rows.first.locator("a").inner_text() == "q119"
    page.locator(".menu summary", has_text="Columns").click()
    page.get_by_label("read", exact=True).uncheck()
    assert "read" not in page.locator(".samples-table thead tr").first.inner_text()
    page.get_by_label("seconds", exact=True).check()
    page.locator(".menu summary", has_text="Columns").click()
    page.get_by_label("Filter outcome").fill("unparsed")
    expect(page.locator(".status")).to_have_text("24 of 120 samples")
    page.get_by_label("Filter seconds").fill("> 1000")
    expect(page.locator(".status")).to_have_text("0 of 120 samples")
    page.get_by_label("Filter seconds").fill("")
    expect(page.locator(".status")).to_have_text("24 of 120 samples")
    rows.first.locator("a").click()
    page.locator(".reader .card").wait_for()
    assert find_violations(page) == []


def test_on_a_phone_the_table_scrolls_and_its_questions_can_be_read(open_page: Open, report: Path) -> None:
    page = open_page(report, width=375)
    page.get_by_role("button", name="Table").click()
    assert page.locator(".samples-table td.text").first.bounding_box()["width"] >= 200
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_dark_by_hand_whatever_the_system_says(open_page: Open, report: Path) -> None:
    page = open_page(report, scheme="light")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 28)"
    assert find_violations(page) == []
    page.get_by_role("button", name="Light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_lines_of_the_list_run_from_right_to_left_where_their_text_does(
    open_page: Open, tmp_path: Path
) -> None:
    arabic = "#0 \u0645\u0627 \u0644\u0648\u0646 \u0627\u0644\u0642\u0637\u0629\u061f"
    questions = jsonl(tmp_path / "q.jsonl", [{"id": "a", "question": arabic[3:] + " #0 ", "answer": "x"}])
    done = run(questions, Answers("x"), input="none", out=tmp_path / "runs", progress=False)
    page = open_page(done.folder / "report.html")
    title = page.locator(".row .title").first
    assert title.evaluate("line => getComputedStyle(line).direction") == "rtl"


def test_two_runs_of_one_model_are_told_apart_in_the_scores(open_page: Open, tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "question": f"{k}?", "answer": "A"} for k in range(500)]
    file = jsonl(tmp_path / "q.jsonl", rows)
    settings: dict[str, Any] = {"out": tmp_path / "runs", "progress": False}
    two = [ec.run(file, "baseline/majority", system=one, **settings) for one in ("a", "b")]
    write_runs_html(two, tmp_path / "all.html")
    page = open_page(tmp_path / "all.html")
    names = page.locator("#scores tbody th").all_inner_texts()
    assert [name.partition(" (")[0] for name in names] == ["baseline/majority"] * 2
    assert [name.rpartition("\n")[2] for name in names] == ["system a", "system b"]
    assert all(run.folder.name.rpartition("-")[2] in name for run, name in zip(two, names, strict=True))
    page.get_by_role("button", name="Table").click()
    for _ in range(6):  # whatever is scrolled to, of 1,000 samples
        assert 0 < page.locator("#samples tr").count() <= 200
        page.mouse.wheel(0, 5000)


def test_several_runs_on_one_page(open_page: Open, runs: list[Run], tmp_path: Path) -> None:
    write_runs_html(runs, tmp_path / "all.html")
    page = open_page(tmp_path / "all.html")
    table = page.locator("#scores table").inner_text()
    for one in runs:
        assert f"{100 * one.summary.score:.1f}" in table  # type: ignore[operator]
    assert "120 shared questions" in page.locator("#comparisons").inner_text()
    assert read_status(page) == "240 samples"
    page.locator(".menu summary", has_text="run").first.click()
    page.locator(".menu-content label").first.click()
    expect(page.locator(".status")).to_have_text("120 of 240 samples")
    assert find_violations(page) == []
    second = open_page(tmp_path / "all.html", fragment="#sample=q1&run=1")
    card = second.locator(".reader .card")
    card.wait_for()
    assert card.locator(".reply").inner_text() == "B"
