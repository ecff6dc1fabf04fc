"""The commands of others with their own flags, and ``eyechart run`` with a task of EvalScope.

``eyechart vlmeval`` is VLMEvalKit's run.py, ``eyechart evalscope eval`` is EvalScope's command.
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.console import load_dotenv, note, print_estimates, print_json, reserve_stdout
from eyechart.errors import UsageError
from eyechart.option import add_option, add_options, list_option_names, list_options, read_given_options
from eyechart.registry import ConfigReader, Execute, command, configurations
from eyechart.runs.options import COST, GATE, IMAGES, QUESTIONS, REQUESTS, Options

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

    what, _, _, _, accepted, refused = map(parser.add_argument_group, vlmeval.GROUPS)
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


# -- ``eyechart evalscope eval``: every flag is a key of a task

EVALSCOPE_DESCRIPTION = """\
EvalScope's command with its own flags, for two of its data sets: general_vqa (questions in OpenAI's message
format) and general_vmcq (multiple choice with images), both read from files of your own. With --eval-backend
VLMEvalKit and --eval-config FILE, it runs that configuration.

Requests, scores and files are those of evalscope 1.14.1: WORK_DIR/TIME/{predictions,reviews,reports}/MODEL.
The same command resumes a run that was interrupted or in which requests failed. Flags that have no effect
here are accepted and noted; those that would change a number are refused.
"""

EVALSCOPE_EXAMPLES = """\
  eyechart evalscope eval --model my-model --api-url http://localhost:8000/v1 --datasets general_vqa \\
    --dataset-args '{"general_vqa": {"local_path": "data", "subset_list": ["mine"]}}' --limit 5
  eyechart evalscope eval --eval-backend VLMEvalKit --eval-config config.yaml
"""

_EVALSCOPE_FLAGS: Mapping[str, str] = {
    "model": "the name under which the model is served",
    "api-url": "the server, e.g. http://localhost:8000/v1",
    "api-key": "its key; never written to a file (default: EMPTY)",
    "datasets": "general_vqa, general_vmcq",
    "dataset-args": "JSON: for each data set local_path, subset_list and more",
    "limit": "rows of each subset, or a share between 0 and 1",
    "repeats": "how often each question is asked",
    "generation-config": "JSON or NAME=VALUE,...: temperature, max_tokens, ...",
    "eval-batch-size": "concurrent requests (default: 8)",
    "judge": "JSON: strategy (rule, llm, llm_recall) and models",
    "judge-strategy": "the older form of --judge",
    "judge-model-args": "the older form of --judge",
    "work-dir": "folder for the results (default: outputs)",
    "use-cache": "an earlier folder to continue in",
    "model-id": "the model's name in files and reports",
    "timeout": "seconds per request",
    "seed": "of --dataset-args shuffle (default: 42)",
    "eval-type": "openai_api",
    "eval-backend": "Native or VLMEvalKit",
    "eval-config": "the configuration of VLMEvalKit",
}
_EVALSCOPE_SWITCHES: Mapping[str, str] = {
    "no-timestamp": "write into WORK_DIR itself",
    "ignore-errors": "score the replies that came, even if some requests failed",
    "dry-run": "print the task and run nothing",
    "debug": "print every reply",
}
# Accepted with a note, or refused with the reason; True for switches.
_EVALSCOPE_OTHERS: Mapping[str, bool] = {
    "agent-config": False, "analysis-report": True, "chat-template": False, "dataset-dir": False,
    "dataset-hub": False, "enable-progress-tracker": True, "judge-worker-num": False, "model-args": False,
    "model-task": False, "rerun-review": True, "sandbox": False, "sandbox-manager-config": False,
    "sandbox-type": False, "stream": True, "use-sandbox": True,
}  # fmt: skip


@command(
    "evalscope",
    "EvalScope's eval for general_vqa and general_vmcq: same flags, same files",
    description=EVALSCOPE_DESCRIPTION,
    examples=EVALSCOPE_EXAMPLES,
)
def add_evalscope_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags, which are the keys of a task."""
    parser.add_argument("verb", choices=["eval"], metavar="eval", help="evaluate; the only verb here")
    accepted = parser.add_argument_group("accepted without effect, or refused with the reason")
    accepted.description = ", ".join(f"--{name}" for name in (*_EVALSCOPE_OTHERS, "[no-]collect-perf"))
    hidden = dict.fromkeys(_EVALSCOPE_OTHERS, argparse.SUPPRESS)
    for name, about in {**_EVALSCOPE_FLAGS, **_EVALSCOPE_SWITCHES, **hidden}.items():
        declared: dict[str, Any] = {"metavar": name.rpartition("-")[2].upper()}
        if name in _EVALSCOPE_SWITCHES or _EVALSCOPE_OTHERS.get(name):
            declared = {"action": "store_true"}
        elif name == "datasets":
            declared["nargs"] = "+"
        parser.add_argument(f"--{name}", default=argparse.SUPPRESS, help=about, **declared)
    on_or_off = argparse.BooleanOptionalAction
    parser.add_argument("--collect-perf", action=on_or_off, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return execute_evalscope


def execute_evalscope(args: argparse.Namespace) -> int:
    """Make the task of the flags and run it."""
    from eyechart.pipelines.vlmevalkit.evalscope.config import read_task
    from eyechart.pipelines.vlmevalkit.evalscope.job import name_keys_in_errors, run

    load_dotenv()
    flags = (*_EVALSCOPE_FLAGS, *_EVALSCOPE_SWITCHES, *_EVALSCOPE_OTHERS, "collect-perf")
    said = vars(args)
    given = {name: said[name] for flag in flags if (name := flag.replace("-", "_")) in said}
    for name in given.keys() & {"generation_config", "model_args"}:
        given[name] = _read_pairs(given[name])
    with name_keys_in_errors():
        return 1 if run(read_task(given), is_printing=True).n_failed else 0


def _read_pairs(text: str) -> Any:
    """A JSON text as it is, or pairs as a mapping.

    >>> _read_pairs("max_tokens=9,stream=true,stop=x=y"), _read_pairs('{"a": 1}')
    ({'max_tokens': 9, 'stream': True, 'stop': 'x=y'}, '{"a": 1}')
    """
    if text.lstrip().startswith("{"):
        return text
    pairs = [one.partition("=") for one in text.strip().split(",")]
    if any(not sign for _, sign, _ in pairs):
        raise UsageError(
            f"{text!r} is not JSON and not NAME=VALUE,...", hint="e.g. max_tokens=64,temperature=0"
        )

    def literal(value: str) -> Any:
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return {"true": True, "false": False}.get(value.lower(), value)

    return {name.strip(): literal(value.strip()) for name, _, value in pairs}


# -- ``eyechart run`` with a configuration of EvalScope, which runs as a task with EvalScope's files and table

# Flags that may stand beside the file: which samples, how often, how fast, at what cost, and where to.
_BESIDE = frozenset({
    *list_option_names(Options, QUESTIONS, IMAGES, REQUESTS, COST, GATE),
    "timeout_s", "thinking", "allow_urls", "allow_private_urls", "out", "fresh", "progress",
}) - {"vote", "shard", "pass_urls", "batch"}  # fmt: skip


def run_evalscope(path: str, content: Any, args: argparse.Namespace) -> int:
    """Run the task of a file, or its list of tasks.

    With --json, the accuracies are one object on stdout; tables go to stderr. Some flags override the file;
    all others are refused.
    """
    from eyechart.pipelines.vlmevalkit.evalscope.config import read_tasks
    from eyechart.pipelines.vlmevalkit.evalscope.job import (
        TaskFailed,
        name_keys_in_errors,
        plan_only,
        run,
        run_several,
    )
    from eyechart.runs.estimate import estimate

    options = _read_flags(path, args)
    given = read_tasks(content)
    is_list = isinstance(given, list)
    tasks = [_apply_flags(task, options, args) for task in (given if isinstance(given, list) else [given])]
    if args.dry_run:
        with reserve_stdout(is_json=args.json):
            estimates = [estimate(plan) for task in tasks for plan in plan_only(task)]
        print_estimates(estimates, as_json=args.json)
        return 0
    try:
        with reserve_stdout(is_json=args.json), name_keys_in_errors():
            if is_list:
                results = run_several(tasks, is_printing=not args.json)
            else:
                results = [run(tasks[0], is_printing=not args.json)]
    except TaskFailed as err:
        if args.json:
            print_json({"tasks": err.of_tasks} if is_list else err.results)
        raise
    if args.json:
        print_json({"tasks": results} if is_list else results[0])
    return 1 if any(one.n_failed for one in results) else 0


def _read_flags(path: str, args: argparse.Namespace) -> dict[str, Any]:
    """The flags that were given. Those that change the model or its requests are refused."""
    from eyechart.pipelines.vlmevalkit.evalscope.job import KEYS

    options = read_given_options(Options, args)
    if args.models:
        raise _refusal("--model", f"write it into {path}: model")
    for flag in map(_flag, sorted(options.keys() - _BESIDE)):
        key = KEYS.get(flag, "").removesuffix(":")
        own = f"without the task: eyechart run DATA -m openai/NAME {flag} …"
        raise _refusal(flag, f"write it into {path}: {key}" if key else own)
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
    judging = {"nproc": options["concurrency"]} if "concurrency" in options else {}
    task = replace(
        task,
        options={
            **task.options,
            **{name: options[name] for name in options.keys() & {"limit", "concurrency"}},
        },
        flags={name: value for name, value in options.items() if name not in ("out", "progress")},
        judging={**task.judging, **judging},
        progress=bool(options.get("progress", True)),
        is_verbose=task.is_verbose or args.verbose,
    )
    return replace(task, work_dir=options["out"], use_cache=None) if "out" in options else task


def _is_task(content: Any) -> bool:
    from eyechart.pipelines.vlmevalkit.evalscope.config import is_task

    return is_task(content)


for _key in ("datasets", "eval_config", "eval_backend"):  # the keys that mark a task
    configurations.record(_key, ConfigReader(is_mine=_is_task, run=run_evalscope))
