"""Pages: what they show, and that untrusted text is shown as text."""

from __future__ import annotations

import contextlib
import csv
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pytest

from eyechart.errors import UsageError
from eyechart.runs.judge_check import read_check_sheet, write_check_sheet
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore
from eyechart.view.library import Library, NotFound
from eyechart.view.pages import Choice, Pages, clean_query, show_text
from support.files import choice_tsv, jsonl, picture
from support.runs import StubModel, run_here

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)></svg>"
    '</div></main>{{ 7 * 7 }}" onmouseover="alert(1)\' &lt;b&gt; \u202eevil\u200b javascript:alert(1)'
)


class Tags(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.shown = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        told = {"title", "alt", "aria-label", "placeholder", "label"}
        self.shown += " ".join(value or "" for name, value in attrs if name in told)
        self.shown += (
            dict(attrs).get("value") or "" if tag == "input" and dict(attrs).get("type") == "search" else ""
        )

    def handle_data(self, data: str) -> None:
        self.shown += data


def check_inert(page: str) -> None:
    """No element, attribute or link but those of the templates."""
    read = Tags(page)
    tags = read.found
    scripts = [attributes for tag, attributes in tags if tag == "script"]
    assert scripts == [{"type": "module", "src": "/static/view.js"}]
    names = {name for _, attributes in tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name == "style"}
    for tag, attributes in tags:
        for name in ("href", "src", "action"):
            target = attributes.get(name) or "/"
            assert re.match(r"(/(?!/)|#|\?)", target), (tag, target)
    assert "\u202e" not in read.shown
    assert "\u200b" not in read.shown


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    row = {"id": f"id {EVIL}", "question": EVIL, "A": EVIL, "B": "two", "answer": "A", "category": EVIL}
    questions = jsonl(tmp_path / "evil.jsonl", [row, {**row, "id": "2", "answer": "B"}])
    run_here(questions, StubModel(EVIL), input="any", out=tmp_path / "runs" / "a")
    run_here(questions, StubModel("A"), input="any", out=tmp_path / "runs" / "b")
    return Pages(Library(tmp_path / "runs"))


@pytest.mark.slow
def test_hostile_text_is_inert_on_every_page(pages: Pages) -> None:
    names = [run.name for run in pages.library.list_runs()]
    sample = pages.library.list_samples(names[0]).entries[0].id
    made = [
        pages.render_index(),
        pages.render_index(clean_query(EVIL)),
        pages.render_error(404, EVIL, EVIL),
        pages.render_comparison(names[:2], "flips", 1),
        pages.render_pair(names[:2], sample, EVIL),
    ]
    for name in names:
        made.append(pages.render_run(name, Choice()))
        made.append(pages.render_run(name, Choice(text=clean_query(EVIL), key="category", value=EVIL)))
        made.append(pages.render_sample(name, sample, 0, Choice(text=clean_query(EVIL))))
    for page in made:
        check_inert(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made[-1], "it is shown"
    assert "{{ 7 * 7 }}" in made[-1]
    assert "U+202E" in made[-1]


def test_long_texts_are_cut() -> None:
    shown = str(show_text("x" * 1_000_000))
    assert len(shown) < 110_000
    assert "900,000 characters more" in shown
    assert "12 in all" in show_text("\u202e" * 12)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder = tmp_path_factory.mktemp("many")
    questions = choice_tsv(folder / "q.tsv", 120)
    for text in ("A", "B"):
        run_here(questions, StubModel(text), out=folder / "runs" / text)
    return Pages(Library(folder / "runs"))


def list_ids(page: str) -> list[str]:
    return re.findall(r'class="row[^"]*" href="[^"]*[?&;]id=([^&"]*)', page)


@pytest.mark.slow
def test_samples_are_filtered_and_paged(many: Pages) -> None:
    run = next(one for one in many.library.list_runs() if one.score is not None)
    first = many.render_run(run.name, Choice())
    assert list_ids(first) == [str(k) for k in range(50)]
    assert "1 to 50 of 120" in first
    assert list_ids(many.render_run(run.name, Choice(page=3))) == [str(k) for k in range(100, 120)]
    assert "page 3 of 3" in many.render_run(run.name, Choice(page=99))
    odd = Choice(outcomes=("correct", "wrong"), key="category", value="odd", text="QUESTION 11")
    assert list_ids(many.render_run(run.name, odd)) == ["11", "111", "113", "115", "117", "119"]
    assert "No sample matches" in many.render_run(run.name, Choice(outcomes=("failed",)))


def test_a_sample_knows_its_neighbours(many: Pages) -> None:
    name = many.library.list_runs()[0].name
    page = many.render_sample(name, "11", 0, Choice(key="category", value="odd"))
    assert "6 of 60" in page
    assert re.search(r'rel="prev" href="[^"]*id=9&', page)
    assert re.search(r'rel="next" href="[^"]*id=13&', page)
    assert "exactly as it was sent" in page
    with pytest.raises(NotFound, match="no sample '999'"):
        many.render_sample(name, "999", 0, Choice())
    with pytest.raises(NotFound, match="no trial 5"):
        many.render_sample(name, "1", 5, Choice())


def test_flips_come_first(many: Pages) -> None:
    a, b = (run.name for run in many.library.list_runs())
    page = many.render_comparison([a, b], "", 1)
    assert "flips <b>60</b>" in page
    assert list_ids(page)[:4] == ["0", "1", "4", "5"]
    assert list_ids(many.render_comparison([a, b], "wrong", 2))[-1] == "119"
    with pytest.raises(UsageError, match="not compared with itself"):
        many.render_comparison([a, a], "", 1)


def test_the_leaderboard_has_models_by_benchmarks(many: Pages, tmp_path: Path) -> None:
    for name, models in {"one": ("random", "majority"), "two": ("random",)}.items():
        for model in models:
            run_here(choice_tsv(tmp_path / f"{name}.tsv", 8), f"baseline/{model}")
    page = Pages(Library(tmp_path / "runs")).render_index()
    assert "Leaderboard" in page
    rows = re.findall(r'<tr><th scope="row" class="untrusted">([^<]+)</th>(.*?)</tr>', page, re.DOTALL)
    assert [(name, cells.count("<a ")) for name, cells in rows] == [
        ("baseline/majority", 1),
        ("baseline/random", 2),
    ]
    assert "No run matches" in Pages(Library(tmp_path / "runs")).render_index("nothing")


def always_a(text: str, images: object) -> str:
    return "A"


def always_b(text: str, images: object) -> str:
    return "B"


def always_right(text: str, images: object) -> str:
    return "ABCD"[int(text.split("Question ")[1].partition("?")[0]) % 4]


def read_index(folder: Path) -> str:
    return Pages(Library(folder / "runs")).render_index()


def test_no_score_is_best_across_scorers_or_unfinished_runs(tmp_path: Path) -> None:
    runs = {
        (name, model): run_here(choice_tsv(tmp_path / f"{name}.tsv", 8), model).folder
        for name in ("one", "two")
        for model in (always_a, always_right)
    }

    def list_best() -> set[str]:
        return {*re.findall(r'href="/run/([^/]+)/[^"]*" class="best"', read_index(tmp_path))}

    assert list_best() == {"one", "two"}
    rescore(runs["one", always_a], Options(scorer="exact"))[0].write_summary()
    assert list_best() == {"two"}
    with contextlib.closing(sqlite3.connect(runs["two", always_a] / "run.sqlite")) as db, db:
        for table in ("replies", "scores"):
            db.execute(f"DELETE FROM {table} WHERE sample = '7'")
    (runs["two", always_a] / "summary.json").unlink()
    assert not list_best()


def test_the_trend_of_a_benchmark(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 8)
    for model in (always_a, always_b, always_right):
        run_here(file, model)
    assert 'class="trend"' not in read_index(tmp_path)
    run_here(file, always_a, system="Be brief.")
    trend = read_index(tmp_path).partition('class="trend"')[2].partition("</figure>")[0]
    assert (trend.count("<circle"), trend.count("<polyline")) == (4, 1)
    assert [trend.index(name) for name in ("always_a", "always_b", "always_right")] == sorted(
        trend.index(name) for name in ("always_a", "always_b", "always_right")
    ), "the oldest first"


def test_sides_and_signs_are_those_of_the_runs_as_chosen(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 8)
    names = [f"q/{run_here(file, model).folder.name}" for model in (always_right, always_b, always_a)]
    pages = Pages(Library(tmp_path / "runs"))
    page = " ".join(re.sub(r"<[^>]+>", " ", pages.render_comparison(names, "a", 1)).split())
    assert "B minus A: −75.0 points" in page
    assert "only A right 6 only B right 0" in page
    assert "even 4 100.0 0.0 −100.0" in page
    assert "each sample shows the reply of C: " in page
    pair = pages.render_pair(names, "0", "a")
    assert all(f'class="side {side}"' in pair for side in "abc")
    assert "Show" in pages.render_comparison(names[:2], "a", 1), "a third can be chosen"


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    page = Pages(Library(tmp_path)).render_index()
    assert "There are no runs here yet" in page
    assert "eyechart demo" in page


def test_a_judge_card_is_a_page(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 4)
    run = run_here(questions, StubModel())
    sheet = tmp_path / "sheet.csv"
    write_check_sheet(run.folder, sheet)
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "verdict": "right"} for row in rows)
    read_check_sheet(run.folder, sheet)
    pages = Pages(Library(tmp_path / "runs"))
    [line] = pages.library.list_runs()
    assert f'href="/judge/{line.name}"' in pages.render_run(line.name, Choice())
    page = pages.render_judge(line.name)
    assert "Audited by a person" in page
    assert "4 of 4 scored replies" in page


def test_a_query_is_read_with_care() -> None:
    choice = Choice.read({"outcome": "wrong,nonsense", "page": "-3", "by": "category=a=b", "q": "x" * 999})
    assert (choice.outcomes, choice.page, choice.key, choice.value, len(choice.text)) == (
        ("wrong",),
        1,
        "category",
        "a=b",
        200,
    )
    assert Choice.read({"page": "²"}).page == 1
    assert Choice(outcomes=("wrong",)).toggle("wrong") == ""


def test_boxes_are_drawn_on_the_image_of_a_sample(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(size=(400, 300)))
    layouts = {"1": {"bbox": [0, 0, 50, 40]}, EVIL: {"bbox": [60, 10, 1e300, 40]}}
    row = {"id": "1", "question": "Which?", "image": "a.png", "A": "x", "B": "y", "answer": "A"}
    questions = jsonl(tmp_path / "q.jsonl", [{**row, "layout_infos": layouts, "target_layouts": [1]}])
    run_here(questions, StubModel("A"), max_pixels=1200, out=tmp_path / "runs")
    shown = Pages(Library(tmp_path / "runs"))
    [run] = shown.library.list_runs()
    page = shown.render_sample(run.name, "1", 0, Choice())
    check_inert(page)
    tags = Tags(page).found
    [drawing] = [attributes for tag, attributes in tags if tag == "svg"]
    assert drawing["viewbox"] == "0 0 400 300"  # of the original; 40 x 30 were sent
    places = [
        tuple(attributes[name] for name in ("class", "x", "y", "width", "height"))
        for tag, attributes in tags
        if tag == "rect"
    ]
    assert places == [("other", "60.0", "10.0", "340.0", "30.0"), ("target", "0", "0", "50.0", "40.0")]
    assert "1 target box, 1 other box" in page


def test_a_run_says_what_to_know_before_its_score(tmp_path: Path) -> None:
    run_here(choice_tsv(tmp_path / "q.tsv", 8), StubModel("I see nothing of the kind."))
    pages = Pages(Library(tmp_path / "runs"))
    [run] = pages.library.list_runs()
    page = pages.render_run(run.name, Choice())
    assert "8 of 8 replies (100.0 %) have no answer that default reads" in page
    assert "Between 0.0 and 100.0 % if every failed, unparsed and truncated sample" in page
    assert page.index("8 of 8 replies") < page.index('aria-label="Score"')


def test_no_page_has_a_folder_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture(size=(40, 30)))
    (tmp_path / "own.py").write_text("def answer(text, images):\n    return 'A'\n")
    row = {"id": "1", "question": "Which?", "image": "images/a.png", "A": "x", "B": "y", "answer": "A"}
    questions = jsonl(tmp_path / "q.jsonl", [{**row, "page": "/home/ada/secret/7.pdf"}])
    run_here(questions, f"python:{tmp_path}/own.py:answer", out=tmp_path / "runs")
    shown = Pages(Library(tmp_path / "runs"))
    [run] = shown.library.list_runs()
    page = shown.render_sample(run.name, "1", 0, Choice())
    for name in ("a.png", "7.pdf", "python:own.py:answer"):
        assert name in page
    for text in (page, shown.render_run(run.name, Choice())):
        assert "ada" not in text
        assert str(tmp_path) not in text


def test_no_comparison_has_a_folder_of_this_machine(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 20)
    unread = run_here(file, StubModel("I see nothing of the kind."))
    names = [f"q/{one.folder.name}" for one in (unread, run_here(file, always_a))]
    page = Pages(Library(tmp_path / "runs")).render_comparison(names, "flips", 1)
    assert f"eyechart score {unread.folder.name} --judge MODEL" in page
    assert str(tmp_path) not in page


def test_a_key_with_one_value_has_no_table(tmp_path: Path) -> None:
    rows = [
        {"id": str(k), "question": f"{k}?", "answer": "x", "category": f"c{k % 2}", "split": "dev"}
        for k in range(4)
    ]
    run = run_here(jsonl(tmp_path / "q.jsonl", rows), always_a, input="none")
    page = Pages(Library(tmp_path / "runs")).render_run(f"q/{run.folder.name}", Choice())
    assert "By category" in page
    assert "By split" not in page


def test_lines_of_lists_run_as_their_text_does(tmp_path: Path) -> None:
    rows = [{"id": str(k), "question": "\u0645\u0627\u061f", "answer": "x"} for k in range(3)]
    file = jsonl(tmp_path / "q.jsonl", rows)
    names = [f"q/{run_here(file, one, input='none').folder.name}" for one in (always_a, always_b)]
    shown = Pages(Library(tmp_path / "runs"))
    for page in (shown.render_run(names[0], Choice()), shown.render_comparison(names, "wrong", 1)):
        assert page.count('<span class="title" dir="auto">\u0645') == 3


def test_runs_of_one_model_are_told_apart_beside_each_other(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 8)
    names = [f"q/{run_here(file, always_a, system=one).folder.name}" for one in ("Be brief.", "Be kind.")]
    page = Pages(Library(tmp_path / "runs")).render_pair(names, "0", "a")
    assert "system Be brief." in page
    assert "system Be kind." in page


def test_a_score_without_the_images_is_none_of_the_model(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 8)
    for model in (always_a, always_b, always_right):
        run_here(file, model)
    run_here(file, always_a, input="none")
    assert 'class="trend"' not in read_index(tmp_path)
