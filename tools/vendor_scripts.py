"""Make the scripts of others that the pages use, in src/eyechart/report/assets/vendor.

    python tools/vendor_scripts.py        # needs npm; users of eyechart do not

plot.js: the parts of Observable Plot that draw. rich.js: the lexer of marked for Markdown, and Temml, which
makes MathML of formulas. The packages come from the npm registry, which states their hashes; npm checks them.
Those named here have these versions, other packages the newest that they accept. The licences, with the
version of every package in a bundle, are written beside it and at its top.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

ESBUILD = "0.28.2"
MARKS = ("plot", "barX", "barY", "rectY", "dot", "link", "ruleX", "ruleY", "text", "axisX", "axisY", "gridX",
         "gridY", "binX", "stackX", "tip", "pointer")  # fmt: skip
TARGET = Path(__file__).parents[1] / "src" / "eyechart" / "report" / "assets" / "vendor"


@dataclass(frozen=True)
class Bundle:
    """A script: the packages that are asked for, and what is taken of them."""

    name: str
    scope: str  # the global variable
    packages: tuple[str, ...]
    entry: str
    title: str


PLOT = Bundle(
    "plot",
    "Plot",
    ("@observablehq/plot@0.6.17",),
    f'export {{{", ".join(MARKS)}}} from "@observablehq/plot";\n',
    "Observable Plot 0.6.17 and what it uses of D3 and other packages.",
)
RICH = Bundle(
    "rich",
    "Rich",
    ("marked@18.2.0", "temml@0.13.5"),
    'export { lexer } from "marked";\nimport temml from "temml";\nexport const render = temml.render;\n',
    "The lexer of marked 18.2.0, and Temml 0.13.5.",
)


def build(bundle: Bundle, work: Path) -> set[str]:
    """Write the script; returns the names of the packages that are in it."""
    npm = shutil.which("npm")
    assert npm, "npm is needed"
    (work / "package.json").write_text('{"private": true}')
    packages = [*bundle.packages, f"esbuild@{ESBUILD}"]
    subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=work, check=True)
    (work / "entry.js").write_text(bundle.entry)
    subprocess.run(
        [
            work / "node_modules" / ".bin" / "esbuild", "entry.js", "--bundle", "--minify", "--format=iife",
            f"--global-name={bundle.scope}", "--legal-comments=none", "--target=es2020",
            f"--outfile={TARGET / bundle.name}.js", "--metafile=meta.json", "--charset=utf8",
            "--log-level=error",
        ],
        cwd=work,
        check=True,
    )  # fmt: skip
    inputs = json.loads((work / "meta.json").read_text())["inputs"]
    paths = [name.split("node_modules/")[-1].split("/") for name in inputs if "node_modules/" in name]
    return {"/".join(parts[:2]) if parts[0].startswith("@") else parts[0] for parts in paths}


def write_licences(bundle: Bundle, work: Path, names: set[str]) -> None:
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
    notice = f"{bundle.title}\n\n" + "\n\n\n".join(parts)
    assert "*/" not in notice
    assert "</script" not in notice.lower()
    (TARGET / f"{bundle.name}.LICENSE.txt").write_text(notice + "\n", encoding="utf-8")
    script = TARGET / f"{bundle.name}.js"
    # Within a page these would begin a comment, or end the script; in patterns and texts they mean the same.
    text = script.read_text(encoding="utf-8").replace("<!--", "\\x3c!--").replace("</script", "\\x3c/script")
    script.write_text(f"/*!\n{notice}\n*/\n{text}", encoding="utf-8")


def main() -> None:
    """Make all files."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for bundle in (PLOT, RICH):
        with tempfile.TemporaryDirectory() as folder:
            write_licences(bundle, Path(folder), build(bundle, Path(folder)))
    for path in sorted(TARGET.iterdir()):
        print(f"{path.stat().st_size:>9,}  {path.name}")


if __name__ == "__main__":
    main()
