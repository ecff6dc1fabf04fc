"""vllm/…, sglang/…, hf-serve/…: the server is started, asked, and gone whichever way the run ends."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models import serving
from eyechart.models.serving import Served, ServerProcess, Vllm, choose_port, keep_servers
from eyechart.models.specs import Fleet, make_model
from eyechart.runs import watch
from eyechart.runs.models import choose_models
from eyechart.runs.plan import make_plan
from eyechart.types import ModelSettings
from runs.test_checkpoints import write_checkpoint
from support import standin
from support.command import environment, eyechart
from support.files import choice_tsv
from support.parts import request
from support.runs import run_here
from support.server import Server
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="servers need POSIX process groups")


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    return tmp_path / "pids"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the three programs, found before any real one; no server at the usual ports."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("vllm", "sglang", "transformers"):
        standin.install(folder, name)
    (folder / "python").symlink_to(Path(sys.executable).resolve())
    monkeypatch.setattr(sys, "executable", str(folder / "python"))  # whose folder is searched first
    monkeypatch.setenv("STANDIN_PIDS", str(pids))
    monkeypatch.setattr(serving, "list_served", lambda port: [])


def all_gone(pids: Path, within_s: float = 60.0) -> bool:
    """Whether the server and its helpers have ended, or do within a moment."""
    numbers = [int(number) for number in pids.read_text().split()]
    assert len(numbers) >= 3
    until = time.monotonic() + within_s
    while any(map(is_alive, numbers)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # a zombie counts as dead
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["vllm", "sglang", "hf-serve"])
def test_a_run_starts_its_server_and_stops_it(tmp_path: Path, pids: Path, provider: str) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 8)
    done = run_here(questions, f"{provider}/org/name", cache=False)
    assert sum(done.outcomes.values()) == 8
    assert done.n_failed == 0
    assert all_gone(pids)
    log = (done.folder / "server.log").read_text()
    assert log.startswith("$ ")
    assert "loading org/name" in log
    again = run_here(
        questions, f"{provider}/org/name", cache=False, params={"serve": {"port": choose_port()}}
    )
    assert again.folder == done.folder  # another port is the same run
    assert again.n_asked == 0  # and nothing is started for it
    assert len(pids.read_text().splitlines()) == 1


@pytest.mark.slow
def test_the_log_is_private_and_bounded_and_the_server_has_no_foreign_keys(
    tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN", "chatty")
    foreign = [
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
    ]
    needed = ["VLLM_API_KEY", "HF_TOKEN", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES"]
    for name in (*foreign, *needed):
        monkeypatch.setenv(name, "none")
    before = os.umask(0o002)
    try:
        done = run_here(choice_tsv(tmp_path / "q.tsv", 2), "vllm/org/name", cache=False)
    finally:
        os.umask(before)
    assert done.n_failed == 0
    log = done.folder / "server.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.stat().st_size < 17 * 2**20
    text = log.read_text()
    assert "loading org/name" in text
    assert "eyechart left out the middle of a long log" in text
    assert "the last line" in text
    [said] = [line.split()[1:] for line in text.splitlines() if line.startswith("environment: ")]
    assert not set(foreign) & set(said)
    assert set(needed) <= set(said)
    assert all_gone(pids)


@pytest.mark.slow
def test_a_crash_before_it_is_ready_quotes_the_log(
    tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN", "crash")
    with pytest.raises(ModelError) as caught:
        run_here(choice_tsv(tmp_path / "q.tsv", 3), "vllm/org/name")
    assert "vllm serve ended before it was ready (exit code 1)" in caught.value.message
    assert "| ValueError: no memory for the KV cache" in caught.value.message
    [log] = (tmp_path / "runs").rglob("server.log")  # which is all that is left of the run
    assert str(log) in caught.value.hint
    assert [path for path in (tmp_path / "runs").rglob("*") if path.is_file()] == [log]
    assert all_gone(pids)


@pytest.mark.slow
def test_a_crash_during_the_run_is_told_with_the_last_error(
    tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN", "die")
    questions = choice_tsv(tmp_path / "q.tsv", 3)
    with pytest.raises(ModelError) as caught:
        run_here(questions, "vllm/org/name", concurrency=1)
    said = caught.value.message
    assert "vllm serve ended during the run" in said
    assert "HTTP 500: CUDA error: an illegal memory access" in said
    assert "| EngineCore died" in said
    assert all_gone(pids)


def test_a_missing_program_is_told_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = eyechart(
        "run",
        choice_tsv(tmp_path / "q.tsv", 3),
        "-m",
        "vllm/org/name",
        "-q",
        cwd=tmp_path,
        PATH=str(tmp_path),
    )
    assert done.code == 2
    assert "the command 'vllm' was not found" in done.err
    assert "pip install vllm" in done.err
    assert "serve.executable=PATH" in done.err


@pytest.mark.slow
def test_a_server_that_is_never_ready(tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN", "never")
    with pytest.raises(ModelError, match=r"not ready after 0\.5 s") as caught:
        run_here(
            choice_tsv(tmp_path / "q.tsv", 3), "vllm/org/name", params={"serve": {"startup_timeout": 0.5}}
        )
    assert "serve.startup_timeout" in caught.value.hint
    assert all_gone(pids)


COMMAND = [sys.executable, "-m", "eyechart", "run", "q.tsv", "-m", "vllm/org/name", "--no-cache"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_the_command(tmp_path: Path, pids: Path, number: int) -> None:
    choice_tsv(tmp_path / "q.tsv", 3)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    changes = {"PATH": path, "STANDIN": "never", "STANDIN_PIDS": str(pids)}
    chosen = [*COMMAND, "--param", f"serve.executable={tmp_path / 'bin' / 'vllm'}"]
    command = subprocess.Popen(chosen, cwd=tmp_path, env=environment(**changes), stderr=subprocess.PIPE)
    try:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        command.send_signal(number)
        _, err = command.communicate(timeout=60)
    finally:
        command.kill()
    assert command.returncode == (-9 if number == signal.SIGKILL else 130), err
    assert all_gone(pids)


@pytest.mark.slow
def test_runs_of_one_command_share_a_server(tmp_path: Path, pids: Path) -> None:
    for name in ("a", "b"):
        choice_tsv(tmp_path / f"{name}.tsv", 3)
    done = eyechart(
        "run", "a.tsv", "b.tsv", "-m", "vllm/org/name", "-q", "--json", "--no-cache", cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert len(pids.read_text().splitlines()) == 1
    assert all_gone(pids)


@pytest.mark.slow
def test_a_watched_training_has_a_server_per_checkpoint(
    tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one is started when the one before has ended: it needs its memory."""
    monkeypatch.chdir(tmp_path)
    for step in (1, 2):
        write_checkpoint(tmp_path / "ckpt" / f"step-{step}")
    started = ServerProcess.start
    alive: list[int] = []

    def note(self: ServerProcess) -> None:
        alive.append(sum(is_alive(int(one)) for one in pids.read_text().split()) if pids.exists() else 0)
        started(self)

    monkeypatch.setattr(ServerProcess, "start", note)
    questions = [choice_tsv(tmp_path / name, 4) for name in ("q.tsv", "other.tsv")]
    watching = watch.Watch(
        folder=tmp_path / "ckpt", source="q", model="vllm", options={"progress": False},
        make_plans=lambda model, options: [make_plan(one, model, options) for one in questions],
    )  # fmt: skip
    assert [one.step for one in watching.run(once=True, settle_s=0)] == [1, 2]
    assert [len(curve.points) for curve in watching.curves()] == [2, 2]
    assert alive == [0, 0]
    assert len(pids.read_text().splitlines()) == 2  # one server for both benchmarks
    assert all_gone(pids)


@pytest.mark.slow
def test_another_server_stops_the_idle_one(tmp_path: Path, pids: Path) -> None:
    async def ask(name: str) -> None:
        model = make_model(name)
        assert isinstance(model, Served)
        await model.start()
        try:
            assert (await model.reply(request())).text == "A"
        finally:
            await model.close()

    with keep_servers():
        asyncio.run(ask("vllm/org/one"))
        first = [int(number) for number in pids.read_text().split()]
        assert all(map(is_alive, first))
        asyncio.run(ask("vllm/org/two"))
        wait_until(lambda: not any(map(is_alive, first)))
    assert all_gone(pids)


def test_a_server_at_the_usual_port_is_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, pids: Path
) -> None:
    with Server() as server:
        monkeypatch.setattr(Vllm, "official_url", server.base_url)
        monkeypatch.setattr(serving, "list_served", lambda port: ["org/name"])

        async def ask(name: str, **parameters: Any) -> None:
            model = make_model(name, ModelSettings(parameters=parameters))
            assert isinstance(model, Served)
            await model.start()
            try:
                await model.reply(request())
            finally:
                await model.close()

        asyncio.run(ask("vllm/org/name"))
        assert len(server.asked) == 1
        assert f"asked at {server.base_url}, where it is served already" in capsys.readouterr().err
        assert not pids.exists()
        asyncio.run(ask("vllm/org/name", serve={"max_model_len": 512}))  # which that one may not have
        assert len(server.asked) == 1
    assert all_gone(pids)


def test_a_port_that_is_in_use(tmp_path: Path, pids: Path) -> None:
    with Server() as server:
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
        with pytest.raises(ModelError, match=f"port {port} is in use"):
            run_here(choice_tsv(tmp_path / "q.tsv", 1), "vllm/org/name", params={"serve": {"port": port}})
    assert not pids.exists()


@pytest.mark.slow
def test_model_check_starts_the_server(tmp_path: Path, pids: Path) -> None:
    done = eyechart("model", "check", "vllm/org/name", "--json", cwd=tmp_path)
    assert done.code == 1  # it says "A" to everything
    assert all(done.json["answered"].values()), done.err
    assert all_gone(pids)


def test_weights_identify_the_model_and_no_address(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}")

    def identity(spec: str, **settings: Any) -> Any:
        return make_model(spec, ModelSettings(**settings)).identity

    spec = f"vllm/{weights}"
    started = identity(spec)
    assert identity(spec, base_url="http://a:8000/v1") == started
    assert identity(spec, base_url=("http://a:8000/v1", "http://b:8000/v1")) == started
    assert identity(spec, parameters={"serve": {"port": 8001, "tensor_parallel_size": 2}}) == started
    assert identity(spec, parameters={"serve": {"quantization": "fp8"}}) != started
    assert identity(spec, parameters={"temperature": 0.5}) != started
    (weights / "model.safetensors").write_bytes(b"other weights")
    assert identity(spec) != started


def test_several_urls_share_the_requests() -> None:
    made = make_model("vllm/org/name", ModelSettings(base_url=("http://a:8000/v1", "http://b:8000/v1")))
    assert isinstance(made, Fleet)
    assert made.addresses == ["http://a:8000/v1", "http://b:8000/v1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"host": "0.0.0.0"}, "serve.host is set by eyechart"),
        ({"api_key": "secret"}, "visible in the list of processes"),
        ({"port": "many"}, "not a port"),
        ({"startup_timeout": "long"}, "not a number of seconds"),
    ],
)
def test_arguments_that_cannot_be_passed(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_model("vllm/org/name", ModelSettings(parameters={"serve": arguments}))


def test_arguments_for_a_server_that_runs_already() -> None:
    settings = ModelSettings(base_url="http://a:8000/v1", parameters={"serve": {"dtype": "float16"}})
    with pytest.raises(UsageError, match=r"serve\.dtype has no effect"):
        make_model("vllm/org/name", settings)


def test_a_folder_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no such folder"):
        make_model("vllm/./none")


def test_arguments_reach_the_command_and_stay_out_of_it_where_they_are_ours(tmp_path: Path) -> None:
    [(name, options)] = choose_models(["sglang/org/name,serve.tp=2,serve.port=9"], {})
    plan = make_plan(choice_tsv(tmp_path / "q.tsv", 1), name, options)
    assert isinstance(plan.model, Served)
    program = plan.model.find_program()
    assert program is not None
    command = plan.model._build_command(program, 9)
    assert command[1:] == [
        "serve", "--model-path", "org/name", "--host", "127.0.0.1", "--port", "9",
        "--served-model-name", "org/name", "--tp", "2",
    ]  # fmt: skip


def test_the_end_of_a_log_is_plain_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        b"first\n\x1b[32mINFO\x1b[0m ready\n 10%|#\r 50%|##\r100%|###\n" + b"x" * 500 + b"\n\n\xff\n"
    )
    lines = ServerProcess(["x"], log).read_tail()
    assert lines == ["first", "INFO ready", "100%|###", "x" * 160 + "…", "\ufffd"]


def test_the_cause_of_a_crash_is_found_above_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cause = "(EngineCore pid=7) ERROR 11-17 [core.py:9] ValueError: no memory for the KV cache"
    log.write_text("\n".join([cause, cause, *(f"frame {k}" for k in range(300)), "RuntimeError: see above"]))
    assert ServerProcess(["x"], log).find_trouble() == [
        "ValueError: no memory for the KV cache",
        *("frame 297", "frame 298", "frame 299"),
        "RuntimeError: see above",
    ]
