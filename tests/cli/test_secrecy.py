"""Keys of people's own classes: written nowhere, whatever the class says of them."""

from pathlib import Path

import pytest

from support.command import eyechart
from support.files import choice_tsv

LEAKY = """
class Leaky:
    def __init__(self, {name}):
        self.mine = {name}

    def generate(self, text, images):
        if "1?" in text:
            return f"A. The key is {{self.mine}}"
        raise RuntimeError(f"401: {{self.mine}} is wrong")
"""


@pytest.mark.parametrize("name", ["api_key", "token", "secret", "password"])
def test_a_key_that_a_class_repeats_is_in_no_file_and_no_message(tmp_path: Path, name: str) -> None:
    key = "0123456789-" + "-".join("abcdef")
    choice_tsv(tmp_path / "q.tsv", 3)
    (tmp_path / "leaky.py").write_text(LEAKY.format(name=name), encoding="utf-8")
    model = ("-m", "python:leaky.py:Leaky", "--param", f"{name}={key}")
    done = eyechart("run", "q.tsv", *model, "--out", "runs", "-v", "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    report = eyechart("report", done.json["run"], "--xlsx", "r.xlsx", "--csv", "r.csv", cwd=tmp_path)
    shown = [eyechart("show", done.json["run"], sample, cwd=tmp_path) for sample in ("0", "1")]
    said = "".join(one.out + one.err for one in (done, report, *shown))
    assert "[secret] is wrong" in said
    assert "The key is [secret]" in said
    assert key not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if key.encode() in path.read_bytes()]
