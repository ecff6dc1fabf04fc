"""``eyechart vlmeval``: VLMEvalKit's run.py with its own flags. ``eyechart run`` with a task of EvalScope."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.console import load_dotenv, note, print_json, reserve_stdout
from eyechart.errors import UsageError
from eyechart.option import add_option, add_options, list_option_names, list_options, read_given_options
from eyechart.registry import ConfigReader, Execute, command, configurations
from eyechart.run.options import Options

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.evalscope.config import Task

DESCRIPTION = """\
VLMEvalKit's run.py with its own flags: evaluate every model on every dataset by VLMEvalKit's rules. File
names and layout are the same: WORK_DIR/MODEL/MODEL_DATA.xlsx, MODEL_DATA_acc.csv, status.json.

DATA is a name in $LMUData or ~/LMUData, a published name (MMBench_DEV_EN, see: eyechart data list), or
the path of a file. MODEL is the name of a model served at --base-url (or $OPENAI_BASE_URL,
$OPENAI_API_BASE), or a model of eyechart: openai/NAME, python:file.py:Class, baseline/random. To
evaluate weights, serve them first, or give hf/FOLDER. A --config has OpenAI-compatible models ("class":
"GPT4V") and datasets.

The same command resumes a run that was interrupted or in which requests failed. A finished run is
repeated unless --reuse is given. Failed requests are never scored; with --keep-failed the accuracy is
that of the other replies.
"""

EXAMPLES = """\
  eyechart vlmeval --data MMBench_DEV_EN --model my-model --base-url http://localhost:8000/v1
  eyechart vlmeval --data mine --model openai/gpt-4o --api-nproc 32 --work-dir results
  eyechart vlmeval --data mine other.tsv --model a b --base-url http://localhost:8000/v1 --mode infer
  eyechart vlmeval --data mine --model my-model --mode eval --judge gpt-4o-mini --judge-key $KEY
  eyechart vlmeval --config models_and_data.json --reuse
"""


@command("vlmeval", "VLMEvalKit's run.py: same flags, same files", description=DESCRIPTION, examples=EXAMPLES)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the verb."""
    from eyechart.pipelines.vlmevalkit.vlmeval import command as vlmeval

    what, *_ = [
        parser.add_argument_group(title)
        for title in (vlmeval.WHAT, vlmeval.RUN, vlmeval.MODEL, vlmeval.JUDGE)
    ]
    accepted = parser.add_argument_group(vlmeval.ACCEPTED)
    refused = parser.add_argument_group(vlmeval.REFUSED)
    for name in ("data", "model"):
        add_option(what, vlmeval.Flags, name, nargs="+", action="extend")
    add_options(parser, vlmeval.Flags)
    accepted.add_argument("--debug", action="store_true", help="show the traceback of internal errors")
    refused.description = ", ".join(
        map(vlmeval.format_flag, list_option_names(vlmeval.Flags, vlmeval.REFUSED))
    )
    return execute


def execute(args: argparse.Namespace) -> int:
    """Make the task of the flags and run it."""
    from eyechart.pipelines.vlmevalkit.vlmeval.command import Flags, run

    load_dotenv()
    if args.debug:
        os.environ["EYECHART_TRACEBACK"] = "1"
    return run(Flags(**read_given_options(Flags, args)), say=note)


# -- ``eyechart run`` with a configuration of EvalScope, which runs as a task with EvalScope's files and table

# Flags that may stand beside the file: which samples, how often, how fast, at what cost, and where to.
_BESIDE = frozenset({
    "limit", "ids", "where", "trials", "separate_trials", "concurrency", "adaptive", "rpm", "tpm", "retries",
    "give_up_after", "timeout_s", "cache", "fresh", "allow_urls", "allow_private_urls", "max_pixels",
    "max_side", "jpeg_quality", "max_cost", "max_total_tokens", "prices", "thinking", "out", "progress",
})  # fmt: skip
# Flags that have a key in the file: in the entry of a model, or beside `model` and `data`.
_KEYS: Mapping[str, str] = {
    "base_url": "api_base, in the model's entry", "api_key": "key, in the model's entry",
    "temperature": "temperature, in the model's entry", "max_tokens": "max_tokens, in the model's entry",
    "system": "system_prompt, in the model's entry", "judge": "judge", "judge_base_url": "judge_base_url",
    "judge_api_key": "judge_key", "judge_params": "judge_args",
}  # fmt: skip


def run_evalscope(path: str, content: Any, args: argparse.Namespace) -> int:
    """Run the task of a file, or its list of tasks.

    With --json, the accuracies are one object on stdout; tables go to stderr. Some flags override the file;
    all others are refused.
    """
    from eyechart.pipelines.vlmevalkit.evalscope.config import read_tasks
    from eyechart.pipelines.vlmevalkit.evalscope.job import (
        TaskFailed,
        TasksFailed,
        name_keys_in_errors,
        run,
        run_and_print,
        run_several,
    )

    options = _read_flags(path, args)
    given = read_tasks(content)
    is_list = isinstance(given, list)
    tasks = [_apply_flags(task, options, args) for task in (given if isinstance(given, list) else [given])]
    if args.dry_run:
        return _estimate(tasks, as_json=args.json)
    try:
        with reserve_stdout(is_json=args.json), name_keys_in_errors():
            if is_list:
                results = run_several(tasks, is_printing=not args.json)
            else:
                results = [run(tasks[0]) if args.json else run_and_print(tasks[0])]
    except TaskFailed as err:
        if args.json:
            print_json({"tasks": err.of_tasks} if isinstance(err, TasksFailed) else err.results)
        raise
    if args.json:
        print_json({"tasks": results} if is_list else results[0])
    return 1 if any(one.n_failed for one in results) else 0


def _read_flags(path: str, args: argparse.Namespace) -> dict[str, Any]:
    """The flags that were given. Those that change the model or its requests are refused."""
    options = read_given_options(Options, args)
    if args.models:
        raise _refusal("--model", f"write it into {path}: model")
    for name in sorted(options.keys() - _BESIDE):
        own = f"without the task: eyechart run DATA -m openai/NAME {_flag(name)} …"
        raise _refusal(_flag(name), f"write it into {path}: {_KEYS[name]}" if name in _KEYS else own)
    return options


def _refusal(flag: str, hint: str) -> UsageError:
    allowed = ", ".join(_flag(name) for name in sorted(_BESIDE) if name != "progress")
    return UsageError(
        f"{flag} is not possible with a configuration of EvalScope",
        hint=f"{hint}; possible are: {allowed}, --dry-run, --json, -q, -v",
    )


def _flag(option: str) -> str:
    return list_options(Options)[option].flag


def _apply_flags(task: Task, options: dict[str, Any], args: argparse.Namespace) -> Task:
    """The task with the flags applied."""
    said: dict[str, Any] = {name: options[name] for name in ("limit", "concurrency") if name in options}
    judging = {"nproc": said["concurrency"]} if "concurrency" in said else {}
    task = replace(
        task,
        options={**task.options, **said},
        flags={name: value for name, value in options.items() if name not in ("out", "progress")},
        judging={**task.judging, **judging},
        progress=bool(options.get("progress", True)),
        is_verbose=task.is_verbose or args.verbose,
    )
    return replace(task, work_dir=options["out"], use_cache=None) if "out" in options else task


def _estimate(tasks: Sequence[Task], *, as_json: bool) -> int:
    """Print an estimate of the tasks without running them."""
    from eyechart.console import print_estimates
    from eyechart.pipelines.vlmevalkit.evalscope.job import plan_only
    from eyechart.run.estimate import estimate

    with reserve_stdout(is_json=as_json):
        estimates = [estimate(plan) for task in tasks for plan in plan_only(task)]
    print_estimates(estimates, as_json=as_json)
    return 0


def _is_task(content: Any) -> bool:
    from eyechart.pipelines.vlmevalkit.evalscope.config import is_task

    return is_task(content)


for _key in ("eval_config", "eval_backend"):  # the keys that mark a task, as declared in pyproject.toml
    configurations.record(_key, ConfigReader(is_mine=_is_task, run=run_evalscope))
