"""Watching checkpoints: each is evaluated once, the curve is that of the runs, and faults are survived."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import EyechartError, UsageError
from eyechart.runs.plan import make_plan
from eyechart.runs.watch import Watch, name_checkpoint
from runs.test_checkpoints import write_checkpoint
from support.command import eyechart
from support.files import choice_tsv
from support.pages import read_blocks

MINE = """
import pathlib, random, re, struct

class Mine:
    def __init__(self, checkpoint):
        data = pathlib.Path(checkpoint, "model.safetensors").read_bytes()
        self.ability = struct.unpack("<f", data[-4:])[0]
        if self.ability < 0:
            raise ValueError("these weights are broken")

    def generate(self, text, images):
        k = int(re.search(r"Question (\\d+)", text)[1])
        return "ABCD"[(k + (random.Random(k).random() > self.ability)) % 4]
"""
MODEL = "python:mine.py:Mine"


def save(folder: Path, step: int, ability: float) -> None:
    path = write_checkpoint(folder / f"checkpoint-{step}").path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + struct.pack("<f", ability))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    choice_tsv(tmp_path / "q.tsv", 60)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def watch(place: Path, **more: Any) -> Any:
    return ec.watch("ckpt", "q.tsv", MODEL, settle_s=0, progress=False, **more)


def test_each_checkpoint_is_evaluated_once(place: Path) -> None:
    for step, ability in ((10, 0.3), (20, 0.6), (30, 0.9)):
        save(place / "ckpt", step, ability)
    [curve] = watch(place).curves()
    assert [point.step for point in curve.points] == [10, 20, 30]
    for point in curve.points:
        run = ec.Run(point.run)
        assert point.score == pytest.approx(run.score)
        assert point.ci95 == run.ci95
        assert run.n_asked is None or run.n_asked == 60
    assert curve.best == 2
    assert curve.points[2].since_first.low > 0
    assert "Step 30 is better than step 10" in curve.verdict
    before = {path: path.stat().st_mtime_ns for path in place.glob("runs/q/*/run.sqlite")}
    save(place / "ckpt", 40, 0.9)
    [longer] = watch(place).curves()
    assert [point.step for point in longer.points] == [10, 20, 30, 40]
    assert all(path.stat().st_mtime_ns == at for path, at in before.items())
    compared = ec.compare(curve.points[0].run, curve.points[2].run, baseline=curve.points[0].run)
    assert curve.points[2].since_first.difference == pytest.approx(compared.difference)
    assert curve.points[2].since_first.low < compared.ci95[0]  # simultaneous intervals are longer


def test_a_checkpoint_that_is_written_again_is_evaluated_again(place: Path) -> None:
    save(place / "ckpt", 10, 0.3)
    save(place / "ckpt", 20, 0.3)
    watch(place)
    path = place / "ckpt" / "checkpoint-20" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + struct.pack("<f", 0.9))
    [curve] = watch(place).curves()
    assert [point.step for point in curve.points] == [10, 20]
    assert curve.points[1].score > 0.7


def test_deleted_checkpoints_stay_on_the_curve(place: Path) -> None:
    save(place / "ckpt", 10, 0.3)
    watch(place)
    for path in (place / "ckpt" / "checkpoint-10").iterdir():
        path.unlink()
    (place / "ckpt" / "checkpoint-10").rmdir()
    save(place / "ckpt", 20, 0.9)
    assert [point.step for point in watch(place).curves()[0].points] == [10, 20]


def test_one_that_fails_is_left_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(place / "ckpt", 10, 0.5)
    save(place / "ckpt", 20, -1.0)
    save(place / "ckpt", 30, 0.9)
    [curve] = watch(place).curves()
    assert [point.step for point in curve.points] == [10, 30]
    assert "checkpoint-20 is left out: " in capsys.readouterr().err


def test_a_broken_first_one_does_not_hold_up_the_others(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(place / "ckpt", 10, -1.0)
    save(place / "ckpt", 20, 0.5)
    assert [point.step for point in watch(place).curves()[0].points] == [20]
    assert "checkpoint-10 is left out: " in capsys.readouterr().err


def test_one_that_is_deleted_while_another_is_evaluated(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a trainer does that keeps only the latest ones."""
    for step in (10, 20, 30):
        save(place / "ckpt", step, 0.5)
    (place / "mine.py").write_text(
        MINE.replace("        data =", "        import shutil\n"
                     "        shutil.rmtree(pathlib.Path(checkpoint).parent / 'checkpoint-20', True)\n"
                     "        data ="), encoding="utf-8",
    )  # fmt: skip
    assert [point.step for point in watch(place).curves()[0].points] == [10, 30]
    assert "checkpoint-20 is left out: its folder was deleted" in capsys.readouterr().err


def test_one_that_is_written_again_meanwhile_is_not_read(place: Path) -> None:
    for step in (10, 20):
        save(place / "ckpt", step, 0.5)
    (place / "mine.py").write_text(
        MINE.replace("        data =", "        later = pathlib.Path(checkpoint).parent / 'checkpoint-20'\n"
                     "        (later / 'model.safetensors').write_bytes(b'')\n"
                     "        data ="), encoding="utf-8",
    )  # fmt: skip
    found = watch(place)
    assert [point.step for point in found.curves()[0].points] == [10]
    assert dict(found.waiting) == {"checkpoint-20": "it may still be written"}


def test_one_without_any_score_is_left_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(place / "ckpt", 10, 0.5)
    save(place / "ckpt", 20, 7.0)
    (place / "mine.py").write_text(
        MINE.replace("        k =", "        assert self.ability < 2\n        k ="), encoding="utf-8"
    )
    [curve] = watch(place, retries=0).curves()
    assert [(point.step, curve.n) for point in curve.points] == [(10, 60)]
    assert (
        "checkpoint-20 is left out: none of its questions has a score (60 failed)" in capsys.readouterr().err
    )


def test_two_folders_with_one_step_are_told_apart(place: Path) -> None:
    save(place / "ckpt", 10, 0.2)
    save(place / "ckpt" / "other", 20, 0.9)
    save(place / "ckpt", 20, 0.3)
    (place / "ckpt" / "other" / "checkpoint-20").rename(place / "ckpt" / "step_20")
    [curve] = watch(place).curves()
    assert curve.labels == ["10", "20 (checkpoint-20)", "20 (step_20)"]
    assert [point.score > 0.7 for point in curve.points] == [False, False, True]
    words = ("watch", "ckpt", "q.tsv", "-m", MODEL, "--once", "--settle", 0, "-q")
    assert "20 (step_20)" in eyechart(*words, cwd=place).out


def test_an_empty_folder_is_no_error(place: Path) -> None:
    (place / "ckpt").mkdir()
    done = eyechart("watch", "ckpt", "q.tsv", "-m", MODEL, "--once", cwd=place)
    assert (done.code, "no complete checkpoint yet" in done.err) == (0, True)


def test_what_fails_at_the_first_is_an_error(place: Path) -> None:
    save(place / "ckpt", 10, -1.0)
    with pytest.raises(EyechartError, match="these weights are broken"):
        watch(place)
    with pytest.raises(EyechartError, match=r"gone\.tsv"):
        ec.watch("ckpt", "gone.tsv", MODEL, settle_s=0)


def test_other_questions_are_another_curve(place: Path) -> None:
    save(place / "ckpt", 10, 0.5)
    assert watch(place).curves()[0].n == 60
    assert watch(place, limit=20).curves()[0].n == 20
    assert len(list(place.glob("runs/watch-ckpt-*.json"))) == 2


def test_not_improving_since(place: Path) -> None:
    for step, ability in ((1000, 0.2), (4000, 0.8), (5000, 0.8), (6000, 0.8)):
        save(place / "ckpt", step, ability)
    [curve] = watch(place, points=30).curves()
    assert curve.plateau == 4000
    assert curve.verdict.startswith(
        "Not improving since step 4,000: every gain since then is below 30 points"
    )
    [strict] = watch(place, points=0.5).curves()
    assert strict.plateau is None
    with pytest.raises(UsageError, match="0 points"):
        watch(place, points=0)


def test_the_page_renews_itself_and_shows_names_as_text(place: Path) -> None:
    for step, ability in ((10, 0.3), (20, 0.9)):
        save(place / "ckpt", step, ability)
    found = watch(place, name="<b>mine</b>")
    data = read_blocks(found.page)["data"]
    [curve] = data["curves"]
    assert data["renew_s"] == 30
    assert "<b>" not in found.page.read_text(encoding="utf-8").partition("<script>")[0]
    assert curve["benchmark"] == "<b>mine</b>"
    assert [point["step"] for point in curve["points"]] == [10, 20]
    assert curve["rows"][0][0] == "step"
    assert str(place) not in str(data)


def test_the_command(place: Path) -> None:
    save(place / "ckpt", 10, 0.3)
    save(place / "ckpt", 20, 0.9)
    (place / "ckpt" / "checkpoint-30").mkdir()
    words = ("watch", "ckpt", "q.tsv", "-m", MODEL, "--once", "--settle", 0, "-q")
    done = eyechart(*words, cwd=place)
    assert done.code == 0
    assert "Step 20 is better than step 10" in done.out
    assert "checkpoint-30 was not read: config.json is missing" in done.err
    told = eyechart(*words, "--json", cwd=place).json
    assert [point["step"] for point in told["curves"][0]["points"]] == [10, 20]
    assert json.loads(json.dumps(told))["waiting"] == {"checkpoint-30": "config.json is missing"}
    for bad, why in (
        (("watch", "gone", "q.tsv", "--once"), "gone: no such folder"),
        (("watch", "ckpt", "--once"), "no questions given"),
        (("watch", "ckpt", "q.tsv", "--suite", "docs"), "--suite brings its own benchmarks"),
        (("watch", "ckpt", "q.tsv", "-m", "hf/acme/model"), "the checkpoints are the models"),
        (("watch", "ckpt", "q.tsv", "--every", "-1"), "not below 0"),
        (("watch", "ckpt", "q.tsv", "-m", "nobody", "--once", "--settle", "0"), "nobody"),
    ):
        refused = eyechart(*bad, cwd=place)
        assert (refused.code, why in refused.err) == (2, True), refused.err


def test_a_half_written_one_waits_while_others_are_evaluated(place: Path) -> None:
    """As while a trainer writes: looked at again and again, and read only when it is whole."""
    save(place / "ckpt", 10, 0.3)
    save(place / "ckpt", 20, 0.5)
    half = place / "ckpt" / "checkpoint-20" / "model.safetensors"
    whole = half.read_bytes()
    half.write_bytes(whole[:-2])
    watching = Watch(
        folder=place / "ckpt", source="q", model=MODEL, options={"progress": False},
        make_plans=lambda model, options: [make_plan("q.tsv", model, options)],
    )  # fmt: skip
    evaluated = watching.run(once=False, every_s=0, settle_s=0)
    assert next(evaluated).step == 10
    save(place / "ckpt", 30, 0.9)
    assert next(evaluated).step == 30
    assert dict(watching.waiting) == {"checkpoint-20": "model.safetensors is not complete"}
    half.write_bytes(whole)
    assert next(evaluated).step == 20
    assert [point.step for point in watching.curves()[0].points] == [10, 20, 30]


def test_a_suite_has_a_curve_per_benchmark(place: Path) -> None:
    save(place / "ckpt", 10, 0.3)
    choice_tsv(place / "other.tsv", 10)
    (place / "mine.yaml").write_text("benchmarks: [q.tsv, other.tsv]\n", encoding="utf-8")
    words = ("watch", "ckpt", "--suite", "mine.yaml", "-m", MODEL, "--once", "--settle", 0, "-q", "--json")
    told = eyechart(*words, cwd=place).json
    assert [(one["benchmark"], one["n"]) for one in told["curves"]] == [("q", 60), ("other", 10)]


def test_names_of_checkpoints() -> None:
    assert name_checkpoint("vllm", Path("a/step-1")) == "vllm/a/step-1"
    assert name_checkpoint("hf/", Path("/a/step-1")) == "hf//a/step-1"
