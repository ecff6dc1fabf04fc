"""Make src/eyechart/report/assets/vendor/plot.js: the parts of Observable Plot that the pages use.

    python tools/vendor_plot.py        # needs npm; users of eyechart do not

The packages come from the npm registry, which states their hashes; npm checks them. Plot and the bundler have
the versions named here, other packages the newest that Plot accepts. The licences, with the version of every
package in the bundle, are written beside it and at its top.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

PLOT, ESBUILD = "0.6.17", "0.28.2"
MARKS = ("plot", "barX", "barY", "rectY", "dot", "link", "ruleX", "ruleY", "text", "axisX", "axisY", "gridX",
         "gridY", "binX", "stackX", "tip", "pointer")  # fmt: skip
TARGET = Path(__file__).parents[1] / "src" / "eyechart" / "report" / "assets" / "vendor"


def bundle(work: Path) -> set[str]:
    """Write plot.js; returns the names of the packages that are in it."""
    npm = shutil.which("npm")
    assert npm, "npm is needed"
    (work / "package.json").write_text('{"private": true}')
    packages = [f"@observablehq/plot@{PLOT}", f"esbuild@{ESBUILD}"]
    subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=work, check=True)
    (work / "entry.js").write_text(f'export {{{", ".join(MARKS)}}} from "@observablehq/plot";\n')
    subprocess.run(
        [
            work / "node_modules" / ".bin" / "esbuild", "entry.js", "--bundle", "--minify", "--format=iife",
            "--global-name=Plot", "--legal-comments=none", "--target=es2020",
            f"--outfile={TARGET / 'plot.js'}", "--metafile=meta.json", "--charset=utf8", "--log-level=error",
        ],
        cwd=work,
        check=True,
    )  # fmt: skip
    inputs = json.loads((work / "meta.json").read_text())["inputs"]
    paths = [name.split("node_modules/")[-1].split("/") for name in inputs if "node_modules/" in name]
    return {"/".join(parts[:2]) if parts[0].startswith("@") else parts[0] for parts in paths}


def write_licences(work: Path, names: set[str]) -> None:
    """Write the licences of the packages in the bundle, each text once: beside it, and at its top.

    Every report.html is a copy of the bundle, and the licences ask for their notice in all copies.
    """
    holders: dict[str, list[str]] = {}
    for name in sorted(names):
        folder = work / "node_modules" / name
        about = json.loads((folder / "package.json").read_text())
        path = next(path for path in folder.iterdir() if path.name.lower().startswith("licen"))
        lines = path.read_text(encoding="utf-8").splitlines()
        notices = [line.strip() for line in lines if line.lower().startswith("copyright")]
        terms = " ".join(" ".join(line for line in lines if not line.lower().startswith("copyright")).split())
        title = f"{name} {about['version']} ({about['license']})"
        holders.setdefault(terms, []).append(": ".join([title, *notices]))
    parts = ["\n".join([*titles, "", *textwrap.wrap(terms, 100)]) for terms, titles in holders.items()]
    notice = f"Observable Plot {PLOT} and what it uses of D3 and other packages.\n\n" + "\n\n\n".join(parts)
    assert "*/" not in notice
    assert "</script" not in notice.lower()
    (TARGET / "plot.LICENSE.txt").write_text(notice + "\n", encoding="utf-8")
    script = TARGET / "plot.js"
    script.write_text(f"/*!\n{notice}\n*/\n{script.read_text(encoding='utf-8')}", encoding="utf-8")


def main() -> None:
    """Make both files."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        write_licences(Path(folder), bundle(Path(folder)))
    for path in sorted(TARGET.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path.name}")


if __name__ == "__main__":
    main()
