import threading
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.columns import lint
from eyechart.data.columns.lint import LintReport, check_source
from eyechart.data.images.loading import ImageLoader
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError
from eyechart.types import ImageRef, Sample
from support.files import choice_tsv, jsonl, picture, picture_base64


def looked_over(path: Path, **options: Any) -> LintReport:
    return check_source(open_source(path), ImageLoader(), **options)


def counts(report: LintReport) -> dict[str, int]:
    return {finding.code: finding.count for finding in report.findings}


def test_a_clean_file(tmp_path: Path) -> None:
    seen: list[int] = []
    report = looked_over(choice_tsv(tmp_path / "a.tsv", 8), progress=seen.append)
    assert (report.n_rows, report.n_images, report.findings, report.is_clean) == (8, 8, [], True)
    assert report.presence == {"question": 8, "picture": 8, "answer": 8, "options": 8, "category": 8}
    assert report.letters == {"A": 2, "B": 2, "C": 2, "D": 2}
    assert seen == list(range(1, 9))
    assert report.lines()[0].startswith("a: 8 rows, 8 images")
    assert report.lines()[-1] == "no problems found"


def test_everything_that_can_be_wrong(tmp_path: Path) -> None:
    image = picture_base64(size=(64, 64))
    rows = [
        "index\timage\tquestion\tA\tB\tC\tanswer",
        f"1\t{image}\tfine\tx\ty\tz\tA",
        f"1\t{image}\tagain\tx\ty\tz\tA",
        "too few",
        f"4\t{image}\t \tx\ty\tz\tA",
        "5\t\ttext only\tx\ty\tz\tA",
        f"6\t{image}\tsame options\tx\tx\tz\tC",
        f"7\t{image}\tone option\tx\t\t\tA",
        f"8\t{image}\tno such letter\tx\ty\tz\tE",
        f"9\t{image}\tsmall letter\tx\ty\tz\tb",
        f"10\t{image}\tno answer\tx\ty\tz\t",
        f"11\t{image[:-40]}\tcut off\tx\ty\tz\tA",
        "12\tnowhere.jpg\tmissing\tx\ty\tz\tA",
        "13\t99\tno such row\tx\ty\tz\tA",
        f"14\t{image}\tseveral\tx\ty\tz\tAC",
    ]
    path = tmp_path / "a.tsv"
    path.write_text("\n".join(rows) + "\n")
    report = looked_over(path)
    assert report.n_rows == 14
    assert counts(report) == {
        "malformed-row": 2, "duplicate-id": 1, "missing-image": 1, "bad-image": 1, "answer-not-an-option": 1,
        "empty-question": 1, "answer-case": 1, "one-option": 1, "repeated-option": 1,
        "no-image": 1, "no-answer": 1, "several-letters": 1,
    }  # fmt: skip
    assert not report.is_clean
    by_code = {finding.code: finding for finding in report.findings}
    assert by_code["malformed-row"].rows == [3, 13]
    assert by_code["duplicate-id"].rows == [2]
    assert by_code["answer-not-an-option"].examples == ["row 8: 'E' (options: A, B, C)"]
    assert report.letters["AC"] == 1
    text = "\n".join(report.lines())
    assert "error: rows with an id that is already in use: 1; rows 2 [duplicate-id]" in text


def test_findings_say_what_to_do_and_name_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,question,answer\n1,x,y\n,,\n,,\n4,caf\xe9,y\n5,x\n")
    report = looked_over(path)
    (finding,) = report.findings
    assert (finding.code, finding.rows, len(finding.hints)) == ("malformed-row", [4, 5], 2)
    assert report.lines()[-2].startswith("    hint: it may be Western text: --encoding cp1252")


def test_all_pictures_absent_is_one_finding(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "a.jsonl", [{"question": "?", "image": f"{k}.jpg", "answer": "x"} for k in range(30)]
    )
    report = looked_over(path)
    assert (report.n_rows, counts(report)) == (30, {"no-images": 30})
    assert [finding.severity for finding in report.findings] == ["error"]
    assert len(report.findings[0].examples) == 1
    assert counts(looked_over(path, look_at_images=False)) == {}


def test_large_pictures_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "LARGE_PIXELS", 100)
    (tmp_path / "a.png").write_bytes(picture())
    path = jsonl(tmp_path / "a.jsonl", [{"question": "?", "image": "a.png", "answer": "x"}] * 40)
    report = looked_over(path)
    assert (report.n_images, counts(report)) == (40, {"large-image": 1})


def test_pictures_that_wait_their_turn_are_left_after_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[ImageRef] = []
    may_go_on = threading.Event()

    def slow(loader: ImageLoader, ref: ImageRef) -> tuple[int, int, int]:
        looked_at.append(ref)
        may_go_on.wait(5)
        return 1, 1, 1

    def interrupted(n_rows: int) -> None:
        if n_rows == 25:
            threading.Timer(0.01, may_go_on.set).start()
            raise KeyboardInterrupt

    monkeypatch.setattr(ImageLoader, "check", slow)
    with pytest.raises(KeyboardInterrupt):
        looked_over(choice_tsv(tmp_path / "a.tsv", 30), progress=interrupted)
    assert len(looked_at) <= 8


def test_balance_and_repeats(tmp_path: Path) -> None:
    rows = [
        {"question_id": "q", "question": "?", "options": "A. x\nB. y\nC. z", "answer": "AAAAB"[k % 5]}
        for k in range(20)
    ]
    report = looked_over(jsonl(tmp_path / "a.jsonl", rows))
    assert counts(report) == {"letter-balance": 1, "repeated-id": 19}
    assert report.findings[0].examples == ["always A would score 80.0%"]


def test_options_without_letters(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"question": "?", "options": "whatever you like", "answer": "x"}])
    assert counts(looked_over(path)) == {"unread-options": 1}


def test_columns_that_nobody_named_as_options(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,a,b b,b,answer\n?,x,-,y,A\n")
    (finding,) = looked_over(path).findings
    assert (finding.code, finding.examples) == ("unused-options", ["a, b"])
    assert finding.hints == ["if they are options: --field A=a --field B=b"]
    named = SourceOptions(fields={"A": "a", "B": "b"})
    assert check_source(open_source(path, named), ImageLoader()).findings == []


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('index\tquestion\tanswer\n1\tx\ty\n2\t"open\n3\tx\ty\n')
    report = looked_over(path)
    assert (report.n_rows, counts(report)) == (1, {"stopped": 1})


def test_any_source_will_do() -> None:
    class Two:
        name = origin = "two"

        def __iter__(self) -> Any:
            yield Sample(id="1", question="?", golds=("x",), images=(ImageRef(kind="data", location="!"),))
            raise DataError("no more")

    report = check_source(Two(), ImageLoader())
    assert counts(report) == {"stopped": 1, "bad-image": 1}
