"""The conditions of a run: described once, and the same in every place that shows them."""

import html
import re
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.option import list_options
from eyechart.report.conditions import describe_briefly, describe_conditions
from eyechart.runs.comparison import compare_runs
from eyechart.runs.options import Options
from eyechart.runs.pages import write_comparison_html
from eyechart.view.library import Library
from eyechart.view.pages import Choice, Pages
from support.command import eyechart
from support.files import choice_tsv
from support.pages import read_blocks

DECLARED = list_options(Options)


def describe(**options: Any) -> dict[str, str]:
    return describe_conditions({"options": options}, DECLARED)


@pytest.mark.parametrize(
    "options",
    [
        {"input": "none", "limit": 3, "system": "Be brief."},
        {"max_pixels": 300, "where": {"category": "odd"}, "trials": 2, "thinking": "keep"},
        {"input": "blank", "shots": 1, "seed": 7, "cells": "pandas"},
        {"circular": True, "prompt_template": "{{ question }}\n{{ options }}", "ids": ["0", "1"]},
    ],
)
def test_one_run_has_the_same_conditions_in_every_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    choice_tsv(tmp_path / "mine.tsv")
    run = ec.run("mine.tsv", model="baseline/random", progress=False, **options)
    told = run.conditions
    assert told["model"] == "baseline/random"

    listed = eyechart("runs", "--json", cwd=tmp_path).json["runs"][0]
    assert listed["conditions"] == told
    assert listed["selection"] in eyechart("show", str(run.folder), cwd=tmp_path).err
    assert eyechart("show", str(run.folder), "--json", cwd=tmp_path).json["conditions"] == told
    assert eyechart("show", str(run.folder), "1", "--json", cwd=tmp_path).json["conditions"] == told

    page = dict(read_blocks(run.folder / "report.html")["data"]["conditions"])
    assert page | told == page

    library = Library(tmp_path / "runs")
    name = library.list_runs()[0].name
    shown = Pages(library).render_run(name, Choice())
    facts = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", shown, re.DOTALL)
    viewed = {html.unescape(key).lower(): html.unescape(value) for key, value in facts}
    assert viewed | told == viewed

    notebook = html.unescape(run._repr_html_())
    assert all(f"{key}: {value}" in notebook for key, value in told.items())

    other = ec.run("mine.tsv", model="baseline/majority", progress=False, **options)
    compared = compare_runs([run, other])
    write_comparison_html(compared, tmp_path / "c.html")
    data = read_blocks(tmp_path / "c.html")["data"]
    [side] = [data["conditions"][one] for one, label in data["labels"].items() if label == "baseline/random"]
    assert side | told == side
    assert not [line for line in compared.warnings if "differs" in line]


def test_a_blind_run_says_that_no_image_was_sent() -> None:
    assert describe(input="none")["images"] == "not sent"
    assert describe(input="image", max_side=99)["images"] == "max side 99"
    assert describe(input="any")["images"] == "as published"
    assert describe_briefly({"options": {"input": "ocr", "limit": 2}}, DECLARED) == (
        "limit 2, images replaced by OCR texts"
    )


def test_every_option_that_can_change_a_score_is_shown_and_no_other() -> None:
    usual = describe(limit=None)
    for name, one in DECLARED.items():
        given: Any = {bool: not one.default, int: 3, float: 0.5, str: "none"}[one.kind]
        if isinstance(one.default, dict):
            given = {"some": "thing"}
        elif one.is_repeatable:
            given = [given]
        is_told = one.affects in ("pace", "output") or one.identified_by == "endpoint"
        is_told |= name.startswith("judge") or name == "scorer"  # beside the options, or not at all
        if name != "base_url":
            assert (describe(**{"limit": None, name: given}) == usual) == is_told, name


def test_an_option_that_is_added_later_is_shown_compared_and_listed() -> None:
    suffix = DECLARED["system"]._replace(name="suffix", flags=("--suffix",), default="")
    declared = {**DECLARED, "suffix": suffix}
    manifest = {"options": {"suffix": "Thanks."}}
    assert describe_conditions(manifest, declared)["prompt"] == "the benchmark's own, suffix Thanks."
    assert describe_briefly(manifest, declared) == "suffix Thanks."
    quick = {**DECLARED, "suffix": suffix._replace(affects="pace")}
    assert describe_conditions(manifest, quick)["prompt"] == "the benchmark's own"


def test_no_secret_and_no_folder_is_told() -> None:
    told = describe(
        base_url=["http://user:secret@host:8000/v1", "http://other/v1"], api_key="secret",
        captions="/home/secret/captions.csv",
    )  # fmt: skip
    assert "secret" not in str(told)
    assert told["endpoint"] == "host:8000, other"
    assert told["prompt"] == "the benchmark's own, captions captions.csv"
    named = {"identity": {"endpoint": "lab"}, "options": {"base_url": "http://a/v1", "limit": 1}}
    assert describe_conditions(named, DECLARED)["endpoint"] == "lab"


def test_a_damaged_manifest_is_described_as_far_as_it_goes() -> None:
    assert describe_conditions({}, DECLARED) == {}
    assert describe_conditions({"options": [], "versions": "x", "identity": 3}, DECLARED) == {}
    assert describe_conditions({"replies": ["/a/b.json", "c.json"]}, DECLARED) == {
        "replies": "b.json, c.json"
    }
    assert describe_briefly({"replies": "x"}, DECLARED) == "scored from a file"
