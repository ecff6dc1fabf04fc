"""The repository's own files are true: the workflow's targets exist, versions agree, examples run."""

from __future__ import annotations

import re

import yaml

import eyechart
from docs.markdown import ROOT


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_workflow_calls_targets_of_the_makefile() -> None:
    jobs = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]
    called = {name for job in jobs.values() for step in job["steps"] for name in find_targets(step)}
    called |= set(jobs["other"]["strategy"]["matrix"]["target"])
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert {"lint", "test", "coverage", "demo"} <= called <= targets


def find_targets(step: dict[str, str]) -> list[str]:
    return re.findall(r"^make ([a-z-]+)", step.get("run", ""))


def test_every_template_is_a_form() -> None:
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    for form in (path for path in forms if path.name != "config.yml"):
        content = yaml.safe_load(form.read_text(encoding="utf-8"))
        assert content["name"]
        assert {part["type"] for part in content["body"]} <= {"input", "textarea"}


def test_the_citation_has_this_version() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert (citation["version"], citation["license"]) == (eyechart.__version__, "Apache-2.0")


def test_the_first_screen_of_the_readme_names_both_commands() -> None:
    first = "\n".join(read("README.md").splitlines()[:24])
    assert re.search(r"^make demo +# \w", first, re.MULTILINE)
    assert re.search(r"^make test +# \w", first, re.MULTILINE)
