"""``eyechart run``: ask every model every question of every source, score the replies, print the table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.cli.config import Config, Switches, add_run_options, find_config, read_config
from eyechart.console import load_dotenv, note, print_estimates, print_runs, reserve_stdout, shorten_help
from eyechart.errors import EyechartError, UsageError
from eyechart.option import list_option_names, read_given_options
from eyechart.registry import Execute, command, models
from eyechart.runs.models import ModelChoice, choose_models
from eyechart.runs.options import GATE, Options
from eyechart.terminal import to_one_line

if TYPE_CHECKING:
    from eyechart.catalogue.suites import Suite
    from eyechart.runs.plan import Plan
    from eyechart.runs.results import Run

HELP = """\
Ask a model every question of a source, score the replies, print the table.

SOURCE is a file (XLSX, CSV, TSV, JSONL, JSON, Parquet), a folder with metadata.jsonl, a folder of images
with --ask, a name from `eyechart data list`, a name in $LMUData or ~/LMUData, or a configuration (.yaml,
.json, .py): one of eyechart, or one of EvalScope for general_vqa, general_vmcq or its VLMEvalKit backend
(which takes the options for questions, requests, cost and run). MODEL is provider/name: openai/gpt-4o;
openai/any-served-name with --base-url; python:file.py:Class; baseline/random, baseline/majority,
baseline/ocr, baseline/look. A model can carry its own URL, options and parameters:
openai/name@http://host:8000/v1,api_key_env=MY_KEY,temperature=0.

The same command again resumes: it asks only for what is missing. Ctrl-C stops cleanly.

examples:
  eyechart run mine.tsv -m openai/my-model --base-url http://localhost:8000/v1
  eyechart run photos/ --ask "What is the total?" --answers totals.csv -m openai/gpt-4o
  eyechart run mine.jsonl -m openai/gpt-4o --limit 50 --where category=map
  eyechart run demo -m baseline/random -m baseline/look
  eyechart run mine.tsv -m openai/a@http://node1:8000/v1 -m openai/b@http://node2:8000/v1
  eyechart run config.yaml
  eyechart run --suite openvlm -m openai/my-model --judge openai/gpt-4o
  eyechart run chartqa -m openai/my-model --beside published.csv
"""


@command("run", "evaluate models on benchmarks or files", HELP)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="questions to ask; several are run one after another"
    )
    parser.add_argument(
        "--data", action="extend", nargs="+", default=[], metavar="SOURCE", help="the same as SOURCE"
    )
    parser.add_argument(
        "-m",
        "--model",
        action=ModelsAction,
        nargs="+",
        default=[],
        metavar="MODEL",
        dest="models",
        help="model to evaluate; repeat to compare several",
    )
    parser.add_argument(
        "--suite",
        metavar="NAME|FILE",
        help="run the benchmarks of a suite and print their weighted mean: openvlm, docs, math, charts, "
        "quick, or a YAML file of your own (eyechart docs catalogue#suites)",
    )
    parser.add_argument(
        "--beside",
        metavar="FILE",
        help="a table of published numbers (model, benchmark, value, source) to print beside the results",
    )
    add_run_options(parser, without=())
    shorten_help(parser, Options, Switches, without=["data", "beside"])
    return execute


class ModelsAction(argparse.Action):
    """Takes one model or several; a source after them (``-m MODEL file.tsv``) is moved to the sources."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        first, *others = [str(value) for value in values or ()]
        sources = [text for text in others if _is_source(text)]
        models = [first, *(text for text in others if text not in sources)]
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *models])
        namespace.data = [*namespace.data, *sources]


def _is_source(text: str) -> bool:
    """Whether a text cannot be a model, which is written provider/name or python:file.py:Class.

    >>> [_is_source(text) for text in ("mine.tsv", "demo", "data/mine.tsv", "openai/m2", "python:m.py:Model")]
    [True, True, True, False, False]
    """
    provider, slash, _ = text.partition("/")
    if text.startswith("python:") or (slash and provider in models.names()):
        return False
    return not slash or text.startswith("hf:") or Path(text).exists() or bool(Path(text).suffix)


def execute(args: argparse.Namespace) -> int:
    """Run every source with every model."""
    load_dotenv()
    runs: list[Run] = []
    with reserve_stdout(is_json=args.json):
        loaded = find_config([*args.sources, *args.data])
    if loaded is not None and (reader := loaded.reader()) is not None:
        return reader.run(loaded.path, loaded.content, args)
    config = None
    if loaded is not None:
        config = read_config(loaded)
        if config.sweep:
            raise UsageError(f"{loaded.path} has a sweep", hint=f"eyechart sweep {loaded.path}")
        for name, is_on in config.switches.items():
            setattr(args, name, getattr(args, name) or is_on)
    suite = _read_suite(args)
    if args.dry_run:
        return _estimate(args, config, suite)
    sources, models, options = read_request(args, config)
    if args.beside:
        from eyechart.report.published import read_published

        read_published(args.beside)  # a problem in it is reported before anything is spent
    try:
        with reserve_stdout(is_json=args.json):
            runs.extend(evaluate_all(sources, models, options, is_verbose=args.verbose, suite=suite))
    except (EyechartError, KeyboardInterrupt):
        if runs and not args.json:
            print_runs(runs, as_json=False)  # those that finished before the error
        raise
    if suite is None and args.beside is None:
        print_runs(runs, as_json=args.json, with_groups=bool(options.get("by")))
    else:
        from eyechart.cli.suite import print_with_more

        print_with_more(runs, suite, args.beside, len(models), as_json=args.json)
    for done in runs:
        if not done.is_interrupted:
            _print_gate(done, options, is_named=len(runs) > 1)
    return max((done.exit_code for done in runs), default=0)  # interrupted before failed before success


def _read_suite(args: argparse.Namespace) -> Suite | None:
    if args.suite is None:
        return None
    if args.sources or args.data:
        raise UsageError(
            f"--suite {args.suite} brings its own benchmarks; {[*args.sources, *args.data][0]} is given too",
            hint="leave one of them out, or list the source in a suite of your own",
        )
    from eyechart.catalogue.suites import read_suite

    return read_suite(args.suite)


def _print_gate(done: Run, options: Mapping[str, Any], *, is_named: bool) -> None:
    """What --baseline or --at-least says of a run."""
    names = list_option_names(Options, GATE)
    given = {name: options[name] for name in names if options.get(name) is not None}
    if given.keys() & {"at_least", "baseline"}:
        from eyechart.runs.gate import gate

        found = gate(done, **given, ask=False)
        name = f"{done.summary.benchmark} · {done.summary.model}: " if is_named else ""
        note(to_one_line(f"{name}{found.result}: {found.verdict}"))


def _estimate(args: argparse.Namespace, config: Config | None, suite: Suite | None = None) -> int:
    """Print what the runs would take, and start none."""
    from eyechart.runs.estimate import drop_keys, estimate

    with reserve_stdout(is_json=args.json):
        sources, models, options = read_request(args, config)
        chosen = [(model, drop_keys(one)) for model, one in choose_models(models, options)]
        estimates = [estimate(plan) for plan in _make_plans(sources, chosen, suite)]
    print_estimates(estimates, as_json=args.json)
    return 0


def read_request(
    args: argparse.Namespace, config: Config | None
) -> tuple[list[str], list[str | ModelChoice], dict[str, Any]]:
    """Sources, models and options, from the flags and a configuration."""
    sources: list[str] = [*args.sources, *args.data]
    models: list[str | ModelChoice] = list(args.models)
    options = read_given_options(Options, args)
    if config is not None:
        of_file, options = config.under(options)
        sources, models = list(config.sources), models or [*of_file]
    has_source = bool(sources) or args.suite is not None
    if not has_source or not models:
        missing = (
            "no source given: add a file or a benchmark" if not has_source else "no model given: add -m MODEL"
        )
        raise UsageError(missing, hint="eyechart run --help shows examples")
    return sources, models, options


def _make_plans(
    sources: Sequence[str], models: Sequence[tuple[str | object, Options]], suite: Suite | None = None
) -> list[Plan]:
    from eyechart.runs.plan import make_plan

    if suite is not None:
        from eyechart.catalogue.suites import make_plans

        plans = make_plans(suite, models)
    else:
        plans = [make_plan(source, model, options) for source in sources for model, options in models]
    by_folder: dict[Path, Plan] = {}
    for plan in plans:
        other = by_folder.setdefault(plan.folder, plan)
        if other.options.base_url != plan.options.base_url:
            raise UsageError(
                f"{plan.model.name} is given twice: different URLs, but the same endpoint name",
                hint="an endpoint name stands for one model wherever it is served: "
                "give all URLs to one model, joined by @, or use different names",
            )
    return plans


def _list_urls(plans: Sequence[Plan]) -> str:
    """Which model is asked at which URL; empty if it is the same for all."""
    asked = dict.fromkeys((plan.model.name, plan.options.base_url) for plan in plans)
    if len({address for _, address in asked}) < 2:
        return ""
    shown = ((name, " and ".join(one) if isinstance(one, tuple) else one) for name, one in asked)
    return "; ".join(f"{name} at {address}" for name, address in shown if address)


def evaluate_all(
    sources: Sequence[str],
    models: Sequence[str | ModelChoice],
    options: Mapping[str, Any],
    *,
    is_verbose: bool = False,
    suite: Suite | None = None,
) -> Iterator[Run]:
    """Run all combinations, until one is interrupted. All are planned before the first one starts."""
    from eyechart.data.samples import get_reasons
    from eyechart.models.serving import keep_servers
    from eyechart.runs.evaluate import evaluate
    from eyechart.runs.plan import find_unpriced

    plans = _make_plans(sources, choose_models(models, options), suite)
    if places := _list_urls(plans):
        note(places)
    notes_shown: set[str] = set()
    with keep_servers():
        for plan in plans:
            if is_verbose:
                for reason in get_reasons(plan.benchmark.source):
                    note(f"{plan.benchmark.source.origin}: {reason}")
                note(f"scorer: {plan.scorer.name} {plan.scorer.version}; run folder: {plan.folder}")
            if remark := getattr(plan.model, "remark", ""):
                note(remark)
            for who in find_unpriced(plan):
                note(f"--prices has no entry for {who}: the cost will be unknown")
            done = evaluate(plan, notes_shown=notes_shown)
            yield done
            if done.is_interrupted:
                return
