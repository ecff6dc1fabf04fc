"""``eyechart vlmeval``, VLMEvalKit's run.py by its own flags; ``eyechart run`` with a task of EvalScope."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyechart.console import load_dotenv, note, print_json, stdout_kept_for
from eyechart.errors import UsageError
from eyechart.option import declared_options, given_options
from eyechart.registry import ConfigReader, Execute, command, configurations
from eyechart.run.options import Options

if TYPE_CHECKING:
    from eyechart.pipelines.vlmevalkit.evalscope.config import Task

DESCRIPTION = """\
VLMEvalKit's run.py by its own flags: models times data sets, asked and scored by its rules. The files
are called and laid out as there: WORK_DIR/MODEL/MODEL_DATA.xlsx, MODEL_DATA_acc.csv, status.json.

DATA is a name in $LMUData or ~/LMUData, a published name (MMBench_DEV_EN, see: eyechart data list), or
the path of a file. MODEL is the name of a served model, reached at --base-url (or $OPENAI_BASE_URL,
$OPENAI_API_BASE); or one of ours: openai/NAME, python:file.py:Class, baseline/random. Weights are not
loaded here: serve them first. A --config names models of OpenAI's kind ("class": "GPT4V") and sets.

A start that was cut off, or in which requests failed, is taken up again by the same command. One that
is done is asked anew, unless --reuse says otherwise. What failed is never scored (--keep-failed: the
accuracy is that of the rest).
"""

EXAMPLES = """\
  eyechart vlmeval --data MMBench_DEV_EN --model my-model --base-url http://localhost:8000/v1
  eyechart vlmeval --data mine --model openai/gpt-4o --api-nproc 32 --work-dir results
  eyechart vlmeval --data mine other.tsv --model a b --base-url http://localhost:8000/v1 --mode infer
  eyechart vlmeval --data mine --model my-model --mode eval --judge gpt-4o-mini --judge-key $KEY
  eyechart vlmeval --config models_and_data.json --reuse
"""


@command("vlmeval", "VLMEvalKit's run.py: its flags, its files", description=DESCRIPTION, examples=EXAMPLES)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the verb."""
    _add_what(parser)
    _add_model_flags(parser)
    _add_judge_flags(parser)
    _add_other_flags(parser)
    return execute


def _add_what(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is asked, and of whom")
    group.add_argument("--data", nargs="+", action="extend", metavar="DATA", help="sets of questions")
    group.add_argument("--model", nargs="+", action="extend", metavar="MODEL", help="who answers them")
    group.add_argument("--config", metavar="FILE", help="a JSON file with both, instead of these two")
    group.add_argument("--limit", type=int, metavar="N", help="the first N rows of every set")
    group = parser.add_argument_group("the run")
    group.add_argument(
        "--work-dir", metavar="DIR", help="where the results go (default: outputs; $MMEVAL_ROOT comes first)"
    )
    group.add_argument(
        "--mode",
        choices=["all", "infer", "eval"],
        default="all",
        help="infer: predictions alone; eval: score those that lie there, ask nobody (default: all)",
    )
    group.add_argument(
        "--reuse", action="store_true", help="go on with the predictions of a start that is done"
    )
    group.add_argument(
        "--reuse-aux",
        metavar="all|infer|none",
        help="with --reuse and a judge only all is possible: verdicts are kept with their replies",
    )
    group.add_argument(
        "--keep-failed",
        action="store_true",
        help="score what was answered, although some requests failed",
    )
    group.add_argument(
        "--api-nproc", "--nproc", type=int, metavar="N", help="requests in flight, at most (default: 64)"
    )
    group.add_argument("--retry", type=int, metavar="N", help="tries of a request (default: 6)")
    group.add_argument("--verbose", action="store_true", help="print every reply (on stderr)")
    group.add_argument(
        "--allow-private-urls",
        action="store_true",
        help="fetch images from addresses of your own network, too (eyechart's own)",
    )


def _add_model_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the served model")
    group.add_argument("--base-url", metavar="URL", help="where it is served, e.g. http://localhost:8000/v1")
    group.add_argument(
        "--key",
        metavar="KEY",
        help="default: sk-admin with --base-url, else $OPENAI_API_KEY, which goes to no address that a "
        "--config names; never written anywhere",
    )
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help="of an answer (default: 32768 with --base-url, else 2048)"
    )
    group.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="default: as the server decides with --base-url, else 0",
    )
    group.add_argument("--top-p", type=float, metavar="P", help="default: as the server decides")
    group.add_argument("--top-k", type=int, metavar="K", help="the same")
    group.add_argument("--repetition-penalty", type=float, metavar="X", help="the same")
    group.add_argument(
        "--extra-body", metavar="JSON", help="what only your server knows, e.g. '{\"top_a\": 0.1}'"
    )
    group.add_argument(
        "--timeout", type=float, metavar="S", help="of one try (default: 1800 with --base-url, else 300)"
    )


def _add_judge_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the judge (none unless one is named)")
    group.add_argument("--judge", metavar="MODEL", help="who reads what rules cannot; exact_matching: nobody")
    group.add_argument("--judge-base-url", metavar="URL", help="where it is served")
    group.add_argument(
        "--judge-key", metavar="KEY", help="default: $OPENAI_API_KEY, to no address but OpenAI's"
    )
    group.add_argument("--judge-args", metavar="JSON", help="its parameters, e.g. '{\"temperature\": 0}'")
    group.add_argument(
        "--judge-api-nproc", type=int, metavar="N", help="for an evaluate of your own (default: --api-nproc)"
    )
    group.add_argument("--judge-retry", type=int, metavar="N", help="the same (default: --retry)")
    group.add_argument("--judge-timeout", type=float, metavar="S", help="the same (default: 600)")


def _add_other_flags(parser: argparse.ArgumentParser) -> None:
    """Flags of the original that change nothing here, and those that are refused with the reason."""
    group = parser.add_argument_group("accepted for the sake of scripts (a note says what they do here)")
    group.add_argument("--stream", action="store_true", help="answers are the same, streamed or whole")
    group.add_argument("--api-mode", action="store_true", help="asking and scoring always overlap here")
    group.add_argument("--monitor-interval", type=float, metavar="S", help="the progress line is always live")
    group.add_argument("--debug", action="store_true", help="mistakes of ours are shown with their traceback")
    group = parser.add_argument_group("refused, with the reason")
    for flag in ("--use-vllm", "--use-verifier", "--video-llm", "--local-media"):
        group.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--custom-prompt", metavar="NAME", help=argparse.SUPPRESS)
    group.add_argument("--data-config", metavar="JSON", help=argparse.SUPPRESS)
    group.description = (
        "--use-vllm, --use-verifier, --video-llm, --local-media, --custom-prompt, --data-config"
    )


def execute(args: argparse.Namespace) -> int:
    """Make the task of the flags, and run it."""
    from eyechart.pipelines.vlmevalkit.vlmeval.command import Flags, run

    load_dotenv()
    if args.debug:
        os.environ["EYECHART_TRACEBACK"] = "1"
    said = {name: getattr(args, name) for name in Flags.__dataclass_fields__}
    return run(Flags(**said), say=note)


# -- ``eyechart run`` with a configuration of EvalScope: run as a task, with its files and its table

# What may be said beside the file: how much, how often, how fast, for how much, and where to.
_BESIDE = frozenset({
    "limit", "ids", "where", "trials", "separate_trials", "concurrency", "adaptive", "rpm", "tpm", "retries",
    "give_up_after", "timeout_s", "cache", "fresh", "allow_urls", "allow_private_urls", "max_pixels",
    "max_side", "jpeg_quality", "max_cost", "max_total_tokens", "prices", "out", "progress",
})  # fmt: skip
# What the file has a key for: in the entry of a model, or beside `model` and `data`.
_KEYS: Mapping[str, str] = {
    "base_url": "api_base, in the model's entry", "api_key": "key, in the model's entry",
    "temperature": "temperature, in the model's entry", "max_tokens": "max_tokens, in the model's entry",
    "system": "system_prompt, in the model's entry", "judge": "judge", "judge_base_url": "judge_base_url",
    "judge_api_key": "judge_key", "judge_params": "judge_args",
}  # fmt: skip


def run_evalscope(path: str, content: Any, args: argparse.Namespace) -> int:
    """Run the task of a file, or its list of tasks.

    With --json, the accuracies are one object on stdout; tables go to stderr. Some flags take the place of
    what the file says; any other beside it is refused.
    """
    from eyechart.pipelines.vlmevalkit.evalscope.config import read_tasks
    from eyechart.pipelines.vlmevalkit.evalscope.evaluation import TaskFailed, TasksFailed
    from eyechart.pipelines.vlmevalkit.evalscope.job import naming_keys, run, run_and_print, run_several

    options = _beside(path, args)
    said = read_tasks(content)
    tasks = [_changed(task, options, args) for task in (said if isinstance(said, list) else [said])]
    if args.dry_run:
        return _estimate(tasks, as_json=args.json)
    try:
        with stdout_kept_for(is_json=args.json), naming_keys():
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


def _beside(path: str, args: argparse.Namespace) -> dict[str, Any]:
    """The flags that were given; those that change who is asked, or how, are refused."""
    options = given_options(Options, args)
    if args.models:
        raise _refusal("--model", f"write it into {path}: model")
    for name in sorted(options.keys() - _BESIDE):
        own = f"eyechart run DATA -m openai/NAME {_flag(name)} … asks the same data without the task"
        raise _refusal(_flag(name), f"write it into {path}: {_KEYS[name]}" if name in _KEYS else own)
    return options


def _refusal(flag: str, hint: str) -> UsageError:
    allowed = ", ".join(_flag(name) for name in sorted(_BESIDE) if name != "progress")
    return UsageError(
        f"{flag} is not possible beside a configuration of EvalScope's",
        hint=f"{hint}; beside it go: {allowed}, --dry-run, --json, -q, -v",
    )


def _flag(option: str) -> str:
    return declared_options(Options)[option].flag


def _changed(task: Task, options: dict[str, Any], args: argparse.Namespace) -> Task:
    """The task, as the flags beside it have it."""
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
    """Say what the tasks would take, and start none."""
    from eyechart.console import tell_estimates
    from eyechart.pipelines.vlmevalkit.evalscope.job import plan_only
    from eyechart.run.estimate import estimate

    with stdout_kept_for(is_json=as_json):
        estimates = [estimate(plan) for task in tasks for plan in plan_only(task)]
    tell_estimates(estimates, as_json=as_json)
    return 0


def _is_task(content: Any) -> bool:
    from eyechart.pipelines.vlmevalkit.evalscope.config import is_task

    return is_task(content)


for _key in ("eval_config", "eval_backend"):  # by which a task is known, as pyproject.toml announces them
    configurations.record(_key, ConfigReader(is_mine=_is_task, run=run_evalscope))
