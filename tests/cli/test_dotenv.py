"""A `.env` of the current folder: announced, and no way to send a key somewhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.models import environment
from support.command import Outcome, eyechart
from support.files import choice_tsv
from support.multi import make_multi
from support.runs import server_fixture
from support.server import Server

KEY = "sk-of-the-user-0123456789"
OTHER = "sk-of-the-file-0123456789"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    environment.load_dotenv(Path("no-such-file"))


server = server_fixture()


def run(folder: Path, server: Server, dotenv: str, *flags: object, **environment: str) -> Outcome:
    choice_tsv(folder / "q.tsv", 2)
    (folder / ".env").write_text(dotenv.replace("HERE", server.base_url), encoding="utf-8")
    known = {name: value.replace("HERE", server.base_url) for name, value in environment.items()}
    said = [str(flag).replace("HERE", server.base_url) for flag in flags]
    return eyechart("run", "q.tsv", "-m", "openai/m", "--out", "runs", "-q", *said, cwd=folder, **known)


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
@pytest.mark.parametrize("own", ["", f"OPENAI_API_KEY={OTHER}\n"])
def test_a_key_of_the_environment_does_not_go_to_an_address_of_the_file(
    tmp_path: Path, server: Server, name: str, own: str
) -> None:
    done = run(tmp_path, server, f"{own}{name}=HERE\n", OPENAI_API_KEY=KEY)
    assert done.code == 2
    assert not server.asked
    assert "the URL comes from .env and the key does not" in done.err
    assert "--base-url" in done.err
    assert KEY not in done.err


@pytest.mark.parametrize("flags", [("--api-key", KEY), ("--api-key-env", "MY_KEY")])
def test_a_key_that_is_given_does_not_go_there_either(
    tmp_path: Path, server: Server, flags: tuple[str, ...]
) -> None:
    done = run(tmp_path, server, "OPENAI_BASE_URL=HERE\n", *flags, MY_KEY=KEY)
    assert (done.code, server.asked) == (2, [])


def test_a_key_of_the_file_does_not_go_to_an_address_of_the_environment(
    tmp_path: Path, server: Server
) -> None:
    done = run(tmp_path, server, f"OPENAI_API_KEY={OTHER}\n", OPENAI_BASE_URL="HERE")
    assert (done.code, server.asked) == (2, [])
    assert "the key comes from .env and the URL does not" in done.err


def test_the_address_of_the_environment_wins_under_either_name(tmp_path: Path, server: Server) -> None:
    nowhere = "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n"
    done = run(tmp_path, server, nowhere, OPENAI_API_BASE="HERE", OPENAI_API_KEY=KEY)
    assert done.code in (0, 1)
    assert {one.headers["Authorization"] for one in server.asked} == {f"Bearer {KEY}"}


# What the file says, what the flags say, what the environment says, whose key is sent.
ALLOWED = {
    "both from the file": (f"OPENAI_API_KEY={OTHER}\nOPENAI_BASE_URL=HERE\n", (), {}, OTHER),
    "both from the environment": ("", (), {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "HERE"}, KEY),
    "the address by flag": ("", ("--base-url", "HERE"), {"OPENAI_API_KEY": KEY}, KEY),
    "by flag, too": ("OPENAI_BASE_URL=HERE\n", ("--base-url", "HERE"), {"OPENAI_API_KEY": KEY}, KEY),
    "the key of the file": (f"OPENAI_API_KEY={OTHER}\n", ("--base-url", "HERE"), {}, OTHER),
    "another key of the file": (
        f"MY_API_KEY={OTHER}\nOPENAI_BASE_URL=HERE\n", ("--api-key-env", "MY_API_KEY"), {}, OTHER
    ),
    "no key at all": ("OPENAI_BASE_URL=HERE\n", (), {}, None),
    "blanks around it": (f"OPENAI_API_KEY='{OTHER} '\nOPENAI_BASE_URL=HERE\n", (), {}, OTHER),
}  # fmt: skip


@pytest.mark.parametrize("what", ALLOWED)
def test_what_is_of_one_source_is_sent(tmp_path: Path, server: Server, what: str) -> None:
    dotenv, flags, known, key = ALLOWED[what]
    done = run(tmp_path, server, dotenv, *flags, **known)
    assert done.code in (0, 1), done.err
    sent = {one.headers.get("Authorization") for one in server.asked}
    assert sent == {f"Bearer {key}" if key else None}


def test_the_judge_is_asked_by_the_same_rule(tmp_path: Path, server: Server) -> None:
    flags = ("--judge", "openai/j", "--scorer", "judged", "--base-url", "HERE", "--api-key", "EMPTY")
    done = run(tmp_path, server, "OPENAI_BASE_URL=HERE\n", *flags, OPENAI_API_KEY=KEY)
    assert (done.code, server.asked) == (2, [])


DOORS = {
    "multi": ("multi", "--problem_file", "PROBLEMS", "-v", "m"),
    "a class of MULTI's shape": (
        "multi",
        "--problem_file",
        "PROBLEMS",
        "-v",
        "m",
        "--model",
        "python:mine.py:X",
    ),
    "vlmeval": ("vlmeval", "--data", "q.tsv", "--model", "m"),
    "model check": ("model", "check", "openai/m"),
}


@pytest.mark.parametrize("door", DOORS)
def test_other_commands_keep_to_it(tmp_path: Path, server: Server, door: str) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={server.base_url}\n")
    (tmp_path / "mine.py").write_text("class X:\n    def __init__(self, api_url, api_key, model): ...\n")
    problems = (
        str(make_multi(tmp_path / "multi").problem_file) if door not in ("vlmeval", "model check") else ""
    )
    done = eyechart(
        *(word.replace("PROBLEMS", problems) for word in DOORS[door]), cwd=tmp_path, OPENAI_API_KEY=KEY
    )
    assert (done.code, server.asked) == (2, [])
    assert "comes from .env" in done.err


def test_a_class_of_the_users_own_does_not_find_half_a_pair(tmp_path: Path, server: Server) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    (tmp_path / ".env").write_text(f"OPENAI_BASE_URL={server.base_url}\n")
    (tmp_path / "mine.py").write_text(
        "import os\n\nclass Mine:\n    def generate(self, text, images):\n"
        "        return os.environ.get('OPENAI_BASE_URL', 'none')\n"
    )
    flags = ("-m", "python:mine.py:Mine", "--out", "runs", "--json")
    done = eyechart("run", "q.tsv", *flags, cwd=tmp_path, OPENAI_API_KEY=KEY)
    assert "OPENAI_BASE_URL" in done.err
    assert "is not used" in done.err
    shown = eyechart("show", done.json["run"], "0", cwd=tmp_path)
    assert "none" in shown.out
    assert server.base_url not in shown.out


def test_only_documented_names_are_set_and_the_file_is_announced(tmp_path: Path, server: Server) -> None:
    dotenv = (
        f"OPENAI_API_KEY={OTHER}\nOPENAI_BASE_URL=HERE\nHTTP_PROXY=http://127.0.0.1:9\nhttp_proxy=http://127.0.0.1:9\n"
        "EYECHART_CACHE=evil\nSSL_CERT_FILE=x\nHF_ENDPOINT=http://127.0.0.1:9\nPYTHONPATH=x\nLD_PRELOAD=x\n"
    )
    done = run(tmp_path, server, dotenv)
    assert done.code in (0, 1)
    assert len(server.asked) == 2, "no proxy was asked"
    assert not (tmp_path / "evil").exists()
    [line] = [line for line in done.err.splitlines() if line.startswith(".env: ")]
    assert "OPENAI_API_KEY" in line
    assert server.base_url.removesuffix("/v1") in line
    assert "ignored: EYECHART_CACHE, HF_ENDPOINT, HTTP_PROXY" in line
    assert OTHER not in done.err


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL=HERE/${OPENAI_API_KEY}", "OPENAI_API_KEY=${SECRET_KEY}"])
def test_a_value_that_refers_to_another_variable_is_refused(
    tmp_path: Path, server: Server, name: str
) -> None:
    done = run(tmp_path, server, name, SECRET_KEY=KEY)
    assert (done.code, server.asked) == (2, [])
    assert "refers to another variable" in done.err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"=\n", b"\0", b"A" * 2_000_000, b"OPENAI_API_KEY\n"])
def test_odd_files(tmp_path: Path, content: bytes) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    (tmp_path / ".env").write_bytes(content)
    done = eyechart("run", "q.tsv", "-m", "baseline/majority", "--out", "runs", cwd=tmp_path)
    assert done.code in (0, 2)
    assert "mistake" not in done.err
    assert len(done.err) < 3_000


def test_a_folder_of_that_name_is_no_file(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 1)
    (tmp_path / ".env").mkdir()
    done = eyechart("run", "q.tsv", "-m", "baseline/majority", "--out", "runs", "-q", cwd=tmp_path)
    assert done.code == 0


def test_nothing_of_the_file_stays_for_the_next_call(tmp_path: Path, server: Server) -> None:
    run(tmp_path, server, f"OPENAI_API_KEY={OTHER}\nOPENAI_BASE_URL=HERE\n")
    assert environment.find_key() == os.environ.get("OPENAI_API_KEY")
    assert environment.find_address() == os.environ.get("OPENAI_BASE_URL")
