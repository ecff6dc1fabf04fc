import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.multi.files import IMAGES
from eyechart.pipelines.multi.report import (
    TYPES,
    QuestionScore,
    format_absolute_score,
    format_rejections,
    format_tables,
    group_by,
    make_statistics,
    make_summary,
)

rows = st.lists(
    st.builds(
        lambda kind, level, subject, n, total, share, rejected: QuestionScore(
            question_id="x_0_0",
            score=min(total, share),
            total=total,
            kind=kind,
            level=level,
            subject=subject,
            n_images=n,
            is_rejected=rejected,
        ),
        st.sampled_from([*TYPES, "other"]),
        st.sampled_from(["JuH", "SeH", "Uni", "Driving", "AAT", "Soc", "Other"]),
        st.sampled_from(["数学", "物理", '=cmd,"x"']),
        st.integers(0, 4),
        st.integers(0, 5),
        st.integers(0, 5),
        st.booleans(),
    ),
    max_size=30,
)


def row(**fields: object) -> QuestionScore:
    usual = {
        "question_id": "x_0_0",
        "score": 1,
        "total": 1,
        "kind": "SA",
        "level": "JuH",
        "subject": "数学",
        "n_images": 0,
    }
    return QuestionScore(**(usual | fields))  # type: ignore[arg-type]


@pytest.mark.slow
@given(rows)
def test_every_grouping_counts_every_question_once(rows: list[QuestionScore]) -> None:
    for groups in (group_by(rows, name) for name in ("level", "image", "type")):
        assert sum(tally.count for tally in groups.values()) == len(rows)
        assert sum(tally.score for tally in groups.values()) == sum(one.score for one in rows)
    lines = make_statistics(rows)[1:]
    assert sum(line[4] for line in lines) == len(rows)
    assert sum(line[6] for line in lines) == sum(one.total for one in rows)
    assert len(lines) == len({(one.level, one.subject) for one in rows}) * len(TYPES) * len(IMAGES)


@pytest.mark.slow
@given(rows)
def test_numbers_can_be_told_of_any_rows(rows: list[QuestionScore]) -> None:
    format_absolute_score(rows)
    format_rejections(rows)
    assert set(format_tables(rows)) == {"summary_education", "summary_image", "summary_type"}
    found = make_summary(rows)
    assert (found["Overall"] is None) == (sum(one.total for one in rows) == 0)
    assert all(
        0 <= ratio <= 100 for group in ("Education", "Image", "Type") for ratio in found[group].values()
    )


def test_levels_stand_in_the_order_of_school() -> None:
    levels = ["Other", "AAT", "Soc", "Driving", "Uni", "SeH", "JuH"]
    assert list(group_by([row(level=level) for level in levels], "level")) == [
        "JuH", "SeH", "Uni", "Driving", "AAT", "Other", "Soc",
    ]  # fmt: skip


def test_what_earns_nothing_is_correct_but_in_no_table() -> None:
    assert group_by([row(kind="other", score=0, total=0)], "type")["OP"].correct == 1
    assert len(format_tables([row(kind="other", score=0, total=0)])["summary_type"]) == 2
    assert format_absolute_score([row(score=0, total=0)]) == "Absolute Score: 0.00/0, n/a"


def test_rejections_without_an_image_are_not_told() -> None:
    assert format_rejections([row(is_rejected=True)]) is None
    line = "Rejection Number: (SI) 0.00/8540, 0.0% (MI) 3.00/255, 1.2%"
    assert format_rejections([row(is_rejected=True, n_images=5, total=3)]) == line


def test_formulas_in_subjects_are_guarded() -> None:
    assert make_statistics([row(subject="=1+1")])[1][1] == "'=1+1"
