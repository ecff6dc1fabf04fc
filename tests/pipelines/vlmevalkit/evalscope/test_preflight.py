"""Tasks see the same of their data as runs do, before the first request."""

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.errors import DataError
from support.files import picture_base64
from support.tasks import User


def test_an_answer_that_is_no_option_is_named_with_its_row(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    path = user.data / "mine.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[3] = lines[3].replace("\tC\t", "\tE\t")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run_task(user.config())
    assert "answers that are not among the options: 1; first: row 3: 'E'" in capsys.readouterr().err
    assert [one["Overall"] for one in done.values()] == ["0.875"]  # wrong, as VLMEvalKit counts it


def test_images_that_nobody_sends_stop_the_task(user: User) -> None:
    rows = [f"{k}\tQuestion {k}?\tx\ty\tA\t{picture_base64()}" for k in range(3)]
    text = "\n".join(["index\tquestion\tA\tB\tanswer\tBild", *rows]) + "\n"
    (user.data / "mine.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="column Bild, row 1"):
        run_task(user.config())
    assert user.n_asked() == 0


def test_common_names_of_image_columns_are_sent(user: User) -> None:
    rows = [f"{k}\tQuestion {k}?\tx\ty\tA\t{picture_base64()}" for k in range(3)]
    text = "\n".join(["index\tquestion\tA\tB\tanswer\tpicture", *rows]) + "\n"
    (user.data / "mine.tsv").write_text(text, encoding="utf-8")
    run_task(user.config())
    assert [len(asked.images) for asked in user.server.asked] == [1, 1, 1]
