"""Importing is free: no heavy library comes along with `import eyechart` or `eyechart --help`."""

import os
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

HEAVY = {
    "aiohttp", "asyncio", "cv2", "datasets", "jinja2", "msgspec", "numpy", "onnxruntime", "pandas", "PIL",
    "pyarrow", "rapidocr", "ray", "rich", "sqlite3", "torch", "transformers", "xlsxwriter", "yaml",
}  # fmt: skip


def modules_after(code: str) -> set[str]:
    """The top-level names in sys.modules once `code` has run in a fresh interpreter."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    )
    # Without what measures coverage, which imports much itself.
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=bare
    )
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import eyechart",
        "import eyechart.cli.main",
        "from eyechart.cli.main import main; main(['--help'])",
        "from eyechart.cli.main import main; main(['run', '--help'])",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    assert not modules_after(code) & HEAVY


def test_an_endpoint_without_a_proxy_needs_no_aiohttp() -> None:
    assert "aiohttp" not in modules_after("import eyechart.models.openai")


@pytest.mark.slow
def test_a_plain_run_needs_no_templates(tmp_path: Path) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tcat\tdog\tB\n", encoding="utf-8")
    where = {"out": str(tmp_path / "runs"), "progress": False}
    found = modules_after(f"import eyechart; eyechart.run({str(file)!r}, 'baseline/random', **{where!r})")
    assert "sqlite3" in found
    assert not found & {"aiohttp", "datasets", "jinja2", "numpy", "pandas", "rapidfuzz", "xlsxwriter", "yaml"}


def test_scoring_alone_needs_little() -> None:
    light = modules_after("import eyechart.score.choice, eyechart.score.text, eyechart.score.number")
    assert not light & (HEAVY - {"msgspec"})


def test_statistics_alone_need_little() -> None:
    light = modules_after("import eyechart.stats; eyechart.stats.interval([1, 0.5, 0])")
    assert not light & ({*HEAVY, "scipy"} - {"msgspec"})


def test_the_core_brings_no_heavy_dependency() -> None:
    core = [line.partition(" ")[0] for line in requires("eyechart") or [] if "extra ==" not in line]
    names = {line.partition(">")[0].partition("=")[0].strip() for line in core}
    assert not names & {"torch", "transformers", "pandas", "datasets", "onnxruntime", "rapidocr", "pyarrow"}
