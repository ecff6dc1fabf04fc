"""`eyechart init`: the configuration that it writes can be run as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from eyechart.cli.config import LoadedConfig, read_config
from eyechart.cli.init import Found, FoundSource, look_around, write_config
from eyechart.runs.plugins import load_config_file
from support.command import eyechart
from support.files import choice_tsv, picture_base64
from support.server import Server


def picture(path: Path) -> None:
    import base64

    path.parent.mkdir(exist_ok=True)
    path.write_bytes(base64.b64decode(picture_base64()))


def test_a_file_with_questions_is_found_among_others(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "my questions.tsv", 4)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other.json").write_text('{"source": "x.tsv", "model": "baseline/random"}')
    picture(tmp_path / "pictures" / "one.png")
    done = eyechart("init", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "next: eyechart run eyechart.yaml --dry-run" in done.err
    text = (tmp_path / "eyechart.yaml").read_text()
    assert '\nsource: "my questions.tsv"\n# source: pictures/\n' in text
    for name in ("notes.csv", "empty.jsonl", "other.json"):
        assert f"# not read: {name} (" in text
    ran = eyechart("run", "eyechart.yaml", "-q", "--json", cwd=tmp_path)
    assert (ran.code, ran.json["n"]) == (0, 4), ran.err


def test_a_file_in_another_encoding_is_found_with_its_columns(tmp_path: Path) -> None:
    rows = "Nr.;Frage;Antwort\n1;Größer?;ja\n"
    (tmp_path / "fragebögen.csv").write_bytes(rows.encode("cp1252"))
    done = eyechart("init", cwd=tmp_path)
    assert done.code == 0, done.err
    text = (tmp_path / "eyechart.yaml").read_text(encoding="utf-8")
    assert "source: fragebögen.csv" in text
    assert "# Its columns: Nr., Frage, Antwort" in text
    assert "# not read" not in text


def test_a_folder_of_images_is_asked_about(tmp_path: Path) -> None:
    picture(tmp_path / "photos" / "cat.png")
    assert eyechart("init", "photos.yaml", cwd=tmp_path).code == 0
    ran = eyechart("run", "photos.yaml", "--dry-run", "--json", cwd=tmp_path)
    assert (ran.code, ran.json["n"]) == (0, 1), ran.err


def test_an_empty_folder_gets_the_demo(tmp_path: Path) -> None:
    done = eyechart("init", cwd=tmp_path)
    assert "no questions were found" in done.err
    assert eyechart("run", "eyechart.yaml", "--limit", "2", "-q", cwd=tmp_path).code == 0


def test_an_endpoint_of_the_environment_is_used_and_no_secret_is_written(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    with Server(lambda asked: "A") as server:
        said = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "s3cret"}
        assert eyechart("init", cwd=tmp_path, **said).code == 0
        text = (tmp_path / "eyechart.yaml").read_text()
        assert "# $OPENAI_BASE_URL is set." in text
        assert "s3cret" not in text
        assert server.base_url not in text, "a URL can hold a password"
        ran = eyechart("run", "eyechart.yaml", "-q", "--json", cwd=tmp_path, **said)
    assert (ran.code, ran.json["model"]) == (0, "openai/my-model"), ran.err


def test_an_endpoint_of_a_dotenv_file_is_used(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 2)
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://localhost:9/v1\nOPENAI_API_KEY=s3cret\n")
    assert eyechart("init", cwd=tmp_path).code == 0
    text = (tmp_path / "eyechart.yaml").read_text()
    assert "\nmodel: openai/my-model " in text
    assert "s3cret" not in text
    estimated = eyechart("run", "eyechart.yaml", "--dry-run", "--json", cwd=tmp_path)
    assert (estimated.code, estimated.json["n"]) == (0, 2), estimated.err


def test_a_file_is_kept_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "eyechart.yaml"
    file.write_text("mine")
    refused = eyechart("init", cwd=tmp_path)
    assert refused.code == 2
    assert "eyechart.yaml exists" in refused.err
    assert file.read_text() == "mine"
    assert eyechart("init", "--force", cwd=tmp_path).code == 0
    assert "source: demo" in file.read_text()


@pytest.mark.parametrize("name", ["config.json", "config", "nowhere/config.yaml"])
def test_a_place_that_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    done = eyechart("init", name, cwd=tmp_path)
    assert (done.code, "hint:" in done.err) == (2, True)
    assert not any(tmp_path.iterdir())


def test_names_and_columns_cannot_break_out_of_the_file(tmp_path: Path) -> None:
    name = "a: b # \x1b[31m\n\"'c.tsv"
    columns = ("question", "x\nmodel: evil\u2028y: 1")
    text = write_config(Found([FoundSource(name, columns)], {name: "why\nnot: 1"}), "my\nown.yaml", {})
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    config = read_config(LoadedConfig(str(file), load_config_file(file)))
    assert config.sources == (name,)
    assert [one.model for one in config.models] == ["baseline/random"]
    assert dict(config.options) == {"out": "runs"}


def test_hidden_files_and_results_are_not_looked_at(tmp_path: Path) -> None:
    picture(tmp_path / "runs" / "one.png")
    choice_tsv(tmp_path / ".hidden.tsv", 2)
    assert look_around(tmp_path) == Found([], {})
