"""Callbacks: who is called when, and that a broken one costs a note and nothing else."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import eyechart as ec
from eyechart.errors import MissingExtra, UnknownName
from eyechart.registry import callbacks
from eyechart.runs.evaluate import Callbacks
from eyechart.types import Snapshot
from support.command import eyechart
from support.files import choice_tsv
from support.runs import StubModel


class Listener:
    """Notes its calls."""

    calls: ClassVar[list[tuple[str, Any]]] = []

    def on_run_start(self, folder: Path, manifest: dict[str, Any]) -> None:
        assert folder.is_dir()
        self.calls.append(("start", manifest["benchmark"]))

    def on_progress(self, snapshot: Snapshot) -> None:
        self.calls.append(("progress", snapshot.done))

    def on_run_end(self, run: ec.Run) -> None:
        assert (run.folder / "report.html").is_file()
        self.calls.append(("end", run.score))

    def on_compare(self, found: ec.Comparison) -> None:
        self.calls.append(("compare", found.n))

    def close(self) -> None:
        self.calls.append(("close", None))


class Broken:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


@pytest.fixture
def listener() -> Iterator[type[Listener]]:
    Listener.calls = []
    before = dict(callbacks.recorded())
    ec.callback("listener")(Listener)
    ec.callback("broken")(Broken)
    yield Listener
    for name in callbacks.recorded().keys() - before.keys():
        callbacks._parts.pop(name)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return choice_tsv(tmp_path / "q.tsv", 4)


def test_a_run_is_told_from_start_to_end(questions: Path, tmp_path: Path, listener: type[Listener]) -> None:
    run = ec.run(questions, StubModel(), track=["listener"], out=tmp_path / "runs", progress=False)
    assert listener.calls == [("start", "q"), ("progress", 4), ("end", run.score), ("close", None)]
    ec.compare(run, ec.run(questions, StubModel("B"), out=tmp_path / "b", progress=False), track=["listener"])
    assert listener.calls[4:] == [("compare", 4), ("close", None)]


def test_a_broken_one_is_a_note(
    questions: Path, tmp_path: Path, listener: type[Listener], capsys: pytest.CaptureFixture[str]
) -> None:
    run = ec.run(questions, StubModel(), track=["broken", "listener"], out=tmp_path / "runs", progress=False)
    assert (run.exit_code, len(listener.calls)) == (0, 4)
    said = capsys.readouterr().err
    assert "--track broken: on_run_start failed: RuntimeError: no on_run_start" in said


def test_a_run_that_ends_in_an_error_is_closed(
    questions: Path, tmp_path: Path, listener: type[Listener]
) -> None:
    class Dead:
        async def generate(self, messages: list[ec.Message]) -> str:
            raise ec.ModelError("no weights", is_fatal=True)

    with pytest.raises(ec.ModelError):
        ec.run(questions, Dead(), track=["listener"], out=tmp_path / "runs", progress=False)
    assert [name for name, _ in listener.calls if name != "progress"] == ["start", "close"]


def test_progress_is_told_while_it_runs(listener: type[Listener]) -> None:
    told = Callbacks(["listener"])
    with told.watch(lambda: Snapshot(done=1), every_s=0.001):
        deadline = time.monotonic() + 20
        while len(listener.calls) < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
    assert len(listener.calls) >= 3
    assert not any(thread.name == "eyechart-callbacks" for thread in threading.enumerate())


def test_an_unknown_name_is_refused_before_anything_is_asked(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no callback named 'mlflo'") as refused:
        ec.run(questions, StubModel(), track=["mlflo"], out=tmp_path / "runs", progress=False)
    assert "did you mean mlflow?" in refused.value.hint
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtra, match="not installed") as missing:
        Callbacks([name])
    assert missing.value.hint == f"pip install 'eyechart[{name}]'"


def test_the_commands_take_it(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(
        "import eyechart as ec\n\n\n@ec.callback('mine')\nclass Mine:\n"
        "    def on_run_end(self, run):\n        run.folder.with_name('said.txt').write_text('done')\n"
        "    def on_compare(self, found):\n        print('compared', found.n, flush=True)\n",
        encoding="utf-8",
    )
    flags = ("--plugin", "hooks.py", "--track", "mine", "-q")
    assert eyechart("run", questions, "-m", "baseline/random", *flags, cwd=tmp_path).code == 0
    assert (tmp_path / "runs" / "q" / "said.txt").read_text(encoding="utf-8")
    two = eyechart("run", questions, "-m", "baseline/majority", "-q", cwd=tmp_path)
    assert two.code == 0
    compared = eyechart("compare", "runs/q", "--plugin", "hooks.py", "--track", "mine", cwd=tmp_path)
    assert (compared.code, "compared 4" in compared.out) == (0, True)
    unknown = eyechart("compare", "runs/q", "runs/q", "--track", "nobody", cwd=tmp_path)
    assert (unknown.code, "no callback named 'nobody'" in unknown.err) == (2, True)
