"""Continue a stored run: the command that made it, from what its folder says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eyechart.errors import EyechartError, UsageError
from eyechart.models.redact import HIDDEN
from eyechart.option import list_option_names, list_options
from eyechart.report.conditions import read_options
from eyechart.runs.evaluate import evaluate
from eyechart.runs.options import GATE, Options
from eyechart.runs.plan import Plan, make_plan
from eyechart.runs.results import Run


def continue_run(run: Run, **changes: Any) -> Run:
    """Ask what a run has not asked yet; `changes` are options that make no other run."""
    return evaluate(plan_again(run, **changes))


def plan_again(run: Run, **changes: Any) -> Plan:
    """The plan of a stored run, with other options where `changes` says so."""
    given = run.manifest.get("given") or {}
    source, model = given.get("source"), given.get("model")
    hint = "repeat the command that made it, with the same options"
    if not source or not model:
        raise UsageError(f"{run.folder}: how it was started is not stored", hint=hint)
    stored = {
        name: value
        for name, value in read_options(run.manifest).items()
        if name in list_options(Options) and value != HIDDEN
    }
    gates = {name: list_options(Options)[name].default for name in list_option_names(Options, GATE)}
    usual = {**gates, "fresh": False, "out": str(run.folder.parent.parent)}
    try:
        plan = make_plan(source, model, Options.of({**stored, **usual, **changes}))
    except EyechartError as err:
        raise UsageError(f"{run.folder} cannot be continued: {err.message}", hint=err.hint or hint) from err
    if plan.folder.resolve() != Path(run.folder).resolve():
        raise UsageError(f"{run.folder} cannot be continued from here: it would be {plan.folder}", hint=hint)
    return plan
