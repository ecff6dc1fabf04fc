"""``eyechart run`` with a configuration of EvalScope's: run as a task, with its files and its table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.cli.arguments import options_of
from eyechart.cli.config import Loaded
from eyechart.cli.output import print_json, stdout_kept_for
from eyechart.compat.evalscope.task import Task
from eyechart.errors import UsageError

# What may be said beside the file: how much, how fast, and where to.
_BESIDE = ("limit", "concurrency", "out", "progress")
# Flags that are not called after their option.
_FLAGS: Mapping[str, str] = {
    "adaptive": "--no-adapt", "allow_urls": "--no-urls", "also_scorers": "--also-scorer",
    "cache": "--no-cache", "fields": "--field", "judge_params": "--judge-param", "params": "--param",
    "read_as": "--as", "settings": "--set", "timeout_s": "--timeout",
}  # fmt: skip


def run_evalscope(config: Loaded, args: argparse.Namespace) -> int:
    """Run the task of a file, or its list of tasks.

    With --json, the accuracies are one object on stdout; tables go to stderr. Some flags take the place of
    what the file says; any other beside it is refused.
    """
    from eyechart.compat.evalscope.config import read_tasks
    from eyechart.compat.evalscope.failures import TaskFailed, TasksFailed
    from eyechart.compat.evalscope.run import run, run_and_print, run_several
    from eyechart.compat.evalscope.wording import in_words_of_a_task

    options = _beside(config, args)
    said = read_tasks(config.content)
    tasks = [_changed(task, options, args) for task in (said if isinstance(said, list) else [said])]
    try:
        with stdout_kept_for(is_json=args.json), in_words_of_a_task():
            if isinstance(said, list):
                results = run_several(tasks, is_printing=not args.json)
            else:
                results = [run(tasks[0]) if args.json else run_and_print(tasks[0])]
    except TaskFailed as err:
        if args.json:
            print_json({"tasks": err.of_tasks} if isinstance(err, TasksFailed) else err.results)
        raise
    if args.json:
        print_json({"tasks": results} if isinstance(said, list) else results[0])
    return 1 if any(one.n_failed for one in results) else 0


def _beside(config: Loaded, args: argparse.Namespace) -> dict[str, Any]:
    """The flags that were given, of which only a few are possible."""
    options = options_of(args)
    strays = [_FLAGS.get(name, f"--{name.replace('_', '-')}") for name in options if name not in _BESIDE]
    strays += ["--model"] if args.models else []
    strays += ["--dry-run"] if args.dry_run else []
    if strays:
        raise UsageError(
            f"{strays[0]} is not possible beside a configuration of EvalScope's",
            hint=f"write it into {config.path}; beside it go: --limit, --concurrency, --out, --json, -q, -v",
        )
    return options


def _changed(task: Task, options: dict[str, Any], args: argparse.Namespace) -> Task:
    """The task, as the flags beside it have it."""
    said: dict[str, Any] = {name: options[name] for name in ("limit", "concurrency") if name in options}
    judging = {"nproc": said["concurrency"]} if "concurrency" in said else {}
    task = replace(
        task,
        options={**task.options, **said},
        judging={**task.judging, **judging},
        progress=bool(options.get("progress", True)),
        is_verbose=task.is_verbose or args.verbose,
    )
    return replace(task, work_dir=options["out"], use_cache=None) if "out" in options else task
