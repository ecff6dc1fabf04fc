"""Literal expectations: what pandas 2 showed for these cells, as the reference notes and runs state."""

from pathlib import Path

import pytest

from eyechart.data.files.tables import NA_WORDS, DelimitedReader, infer_kinds, read_as_pandas


def column(*cells: str) -> list[str | None]:
    kind = infer_kinds(["x"], [{"x": cell} for cell in cells])["x"]
    return [read_as_pandas(cell, kind) for cell in cells]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("007", "8"), ["7", "8"]),
        (("3", "", "4"), ["3.0", None, "4.0"]),
        (("3", "NA", "4"), ["3.0", None, "4.0"]),
        (("None", "cat"), [None, "cat"]),
        (("True", "false"), ["True", "False"]),
        (("TRUE", "", "false"), ["True", None, "False"]),
        (("1.50", "2"), ["1.5", "2.0"]),
        (("1e3", ".5", "5."), ["1000.0", "0.5", "5.0"]),
        (("inf", "1"), ["inf", "1.0"]),
        ((" 7 ", "+8", "-0"), ["7", "8", "0"]),
        (("3", "red"), ["3", "red"]),
        (("007", "red"), ["007", "red"]),
        (("True", "3"), ["True", "3"]),
        (("1,000", "2"), ["1,000", "2"]),
        (("1_000", "2"), ["1_000", "2"]),
        (("１", "2"), ["１", "2"]),
        (("18446744073709551615", "0"), ["18446744073709551615", "0"]),
        (("18446744073709551616", "007"), ["18446744073709551616", "007"]),
        (("18446744073709551615", "-1"), ["18446744073709551615", "-1"]),
        (("9" * 5000, "1"), ["9" * 5000, "1"]),
        (("", "NA"), [None, None]),
        (("A", "n/a", "none"), ["A", None, "none"]),
    ],
)
def test_columns(cells: tuple[str, ...], expected: list[str | None]) -> None:
    assert column(*cells) == expected


def test_every_missing_word() -> None:
    assert column("x", *sorted(NA_WORDS)) == ["x"] + [None] * len(NA_WORDS)


def test_a_file_is_read_twice_and_pictures_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("index\timage\tA\tB\tC\n007\t12\t1\tNone\tx\n8\t\t\tNA\tnull\n")
    rows = list(DelimitedReader(path, "tsv", as_pandas=True).rows(("image",)))
    assert [row.values["index"] for row in rows] == ["7", "8"]
    assert [row.values["A"] for row in rows] == ["1.0", None]
    assert [row.values["B"] for row in rows] == [None, None]
    assert [row.values["C"] for row in rows] == ["x", None]
    assert rows[0].values["image"].data == b"12"
