"""A comparison as tables: names of many runs, escapes for papers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.report.compare import ComparedRun, Comparison, SharedQuestions, compare_values
from eyechart.report.comparison_table import make_tables, to_latex, to_markdown
from eyechart.report.table import PlainTable
from support.terminals import to_text


def compare(n_runs: int, name: str = "run") -> Comparison:
    names = [f"{name}-{k}" for k in range(n_runs)]
    values = {one: [float((row * (k + 2)) % 5 > 1) for row in range(40)] for k, one in enumerate(names)}
    questions = SharedQuestions(
        ids=[str(row) for row in range(40)], values=values, groups={"category": ["x", "y"] * 20}
    )
    return compare_values(questions, [ComparedRun(run=one, model=one, label=one) for one in names])


def test_names_that_do_not_fit_become_numbers() -> None:
    runs, groups = make_tables(compare(8, "organisation/model-of-some-size"))
    assert groups.columns == ["category", "n", *(f"#{k}" for k in range(1, 9))]
    assert groups.title == "by category (%; #1 to #8 are the runs above, in order)"
    assert [len(row) for row in groups.rows] == [10, 10]
    _, few = make_tables(compare(3))
    assert few.columns[2:] == [f"{row[0]} %" for row in make_tables(compare(3))[0].rows]
    assert len(runs.rows) == 8


def test_every_table_has_as_many_cells_as_columns() -> None:
    for n_runs in (2, 3, 9):
        for table in make_tables(compare(n_runs), n_flips=5):
            assert {len(row) for row in table.rows} == {len(table.columns)}


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30))
def test_any_name_keeps_the_form_of_a_paper_table(name: str) -> None:
    table = PlainTable(title="", columns=["model", "n"], rows=[[name, "1"]])
    latex = to_latex(table).splitlines()[4]
    bare = latex.removesuffix(r" & 1 \\")
    for one in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}", r"\textless{}"):
        bare = bare.replace(one, "")
    for one in (r"\textgreater{}", r"\textbar{}", r"\&", r"\%", r"\$", r"\#", r"\_", r"\{", r"\}", "$-$"):
        bare = bare.replace(one, "")
    bare = bare.removeprefix("{}").replace("-{}-", "--").replace("-{}-", "--")
    assert not set(bare) & set("\\&%$#_{}~^")
    row = to_markdown(table).splitlines()[2]
    assert row.replace("\\\\", "").replace("\\|", "").count("|") == 3


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("-1.2 to 3.4", "$-$1.2 to 3.4"),
        ("2–3", "2--3"),
        ("a-1", "a-1"),
        ("a--b---", "a-{}-b-{}-{}-"),
        ("[x]", "{}[x]"),
        ("*", "{}*"),
    ],
)
def test_signs_in_latex(cell: str, written: str) -> None:
    assert f"{written} & 1" in to_latex(PlainTable(title="", columns=["a", "b"], rows=[[cell, "1"]]))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_numbers_are_never_wrapped(width: int) -> None:
    rows = [["a rather long name of a group", "25", "76.0", "-43.3 to 13.7", "+20 -12"]]
    columns = ["doc_type,level", "n", "openai/a-model-of-ours %", "95 % interval", "flips"]
    text = to_text(PlainTable(columns=columns, rows=rows), width=width)
    assert max(map(len, text.splitlines())) <= width
    for cell in rows[0][1:]:
        assert cell in text


def test_optional_columns_go_first_and_are_named() -> None:
    table = PlainTable(
        columns=["run", "where", "score %", "when"], rows=[["1a2b", "host:80", "71.0", "today"]], n_left=2,
        n_last=1, optional=("where", "when"),
    )  # fmt: skip
    assert to_text(table, 29).splitlines()[2] == "1a2b  host:80     71.0  today"
    narrow = to_text(table, 22)
    assert "host:80" not in narrow
    assert "71.0" in narrow
    assert "not shown here: where" in narrow
