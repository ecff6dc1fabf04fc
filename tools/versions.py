"""Run the fast tests with every other Python from 3.11 on that this machine has.

    python tools/versions.py [--except python3] [--newest] [-- PYTEST ARGUMENTS]

Interpreters are looked for on the PATH and among pyenv's. Each gets an environment of its own (.venv-3.12),
which the next call uses again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
NEWEST = (3, 20)  # names to look for on the PATH
EXTRAS = ".[parquet,hub,multi,pandas]"  # the fast tests need no OCR; the tools bring OpenCV
FAST = "not slow and not ocr and not torture and not extras"
ROOT = Path(__file__).parent.parent


def version_of(python: Path) -> tuple[int, int] | None:
    """Major and minor version; None for what does not start, such as a shim without its interpreter."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        said = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        major, minor = said.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return int(major), int(minor)


def find_interpreters() -> dict[tuple[int, int], Path]:
    """One interpreter per version, the newest patch of pyenv's first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = sorted(pyenv.glob("versions/3.*/bin/python3"), reverse=True)
    names = [f"python{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1])]
    candidates += [Path(place) for name in ("python3", *names) if (place := shutil.which(name))]
    found: dict[tuple[int, int], Path] = {}
    for candidate in candidates:
        version = version_of(candidate)
        if version is not None and version >= OLDEST:
            found.setdefault(version, candidate)
    return dict(sorted(found.items()))


def make_environment(python: Path, name: str) -> Path:
    """The interpreter of an environment with eyechart and what its tests need."""
    folder = ROOT / f".venv-{name}"
    inside = folder / "bin" / "python"
    done = folder / ".done"
    wanted = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "uv>=0.8"], check=True, cwd=ROOT)
        fill = [str(folder / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(inside)]
        subprocess.run([*fill, "--editable", EXTRAS, "--group", "dev"], check=True, cwd=ROOT)
        done.write_text(wanted, encoding="utf-8")
    return inside


def main() -> int:
    """Exit code 1 if the tests fail under any interpreter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--except", dest="skipped", default="", help="the interpreter that is tested anyway")
    parser.add_argument("--newest", action="store_true", help="only the newest of them")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest instead of those of `make fast`")
    args = parser.parse_args()
    skipped = shutil.which(args.skipped) if args.skipped else None
    tested = version_of(Path(skipped)) if skipped else None
    others = {version: python for version, python in find_interpreters().items() if version != tested}
    if args.newest and others:
        others = {max(others): others[max(others)]}
    if not others:
        print("no other Python from 3.11 on was found on this machine")
    failed = []
    for version, python in others.items():
        name = ".".join(map(str, version))
        print(f"Python {name}: {python}", flush=True)
        inside = make_environment(python, name)
        command = [str(inside), "-m", "pytest", "-p", "no:cacheprovider", "-n", "3", "--dist", "worksteal"]
        selected = args.pytest or ["--hypothesis-profile", "fast", "-m", FAST]
        if subprocess.run([*command, *selected], cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed with Python {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
