"""MULTI's commands: ``eyechart multi``, ``eyechart multi-metrics``, and its part of ``model check``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.console import load_dotenv, note, print_json, print_remarks, print_rich, reserve_stdout
from eyechart.errors import (
    EyechartError,
    ModelError,
    StoreError,
    UsageError,
    join_names,
    translate_errors,
    translate_hint,
)
from eyechart.option import add_option, add_options, list_options, read_given_options
from eyechart.pipelines.multi.arguments import FILES, MODEL, OWN, QUESTION, RUN, SELECTION, MultiArguments
from eyechart.registry import Checkup, Execute, checkups, command
from eyechart.report.table import make_run_table
from eyechart.terminal import print_text
from eyechart.types import Model, read_capabilities

if TYPE_CHECKING:
    from eyechart.models.checkup import CheckCase
    from eyechart.runs.options import Options
    from eyechart.runs.results import Run


DESCRIPTION = """\
MULTI's inference step: the arguments of its eval.py, with the same names and meanings.

Writes OUTPUT_DIR/NAME/ with args.json (never a key), prediction.json, checkpoints/, and eyechart's run
in eyechart/ (eyechart report, show and score take the folder). NAME is generated as in the original:
[exp_]model_input_T_shot_K[_it][_cot][_cic][_bi][_kn]_date_time.

--model is python:file.py:XEvaluator (a class with generate_answer(question)), openai/NAME, or a name of
the original's list (--model_list). It is called as in the original: (model_dir, device_map) with
--model_dir; (api_url, api_key, model) with --model_version; else (device_map). Without --model,
--model_version is called at --api_url.
"""

EXAMPLES = """\
  eyechart multi --problem_file ../data/problem.json --input_type 2 -v my-model --api_url http://localhost:8000/v1
  eyechart multi --problem_file ../data/problem.json --input_type 2 -m python:mine.py:XEvaluator -d weights
  eyechart multi --checkpoint_dir ../results/my-model_input_2_shot_0_20260102_030405
  eyechart multi-metrics --label_file ../data/problem.json --prediction_file ../results/…/prediction.json
"""

# Flags in hints for `eyechart run`, and their names here.
_NAMES = {
    "--base-url": "--api_url",
    "--api-key": "--api_key",
    "--image-root": "--set image_root=DIR",
    "--concurrency": "--num_workers",
    "--param NAME=VALUE": "--model_dir, --cuda_device, --model_version, --api_url or --api_key",
    "--param device_map=cpu": "--cuda_device cpu",
    "write to with --out": "write to with --output_dir",
    "with --out": "with --output_name",
    "--fresh or another --out": "another --output_name",
    "for your own server: --allow-private-urls": "download it, and name the file in img_paths",
}


@command(
    "multi", "MULTI's inference step, with its own arguments", description=DESCRIPTION, examples=EXAMPLES
)
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare MULTI's arguments, and those that the original lacks."""
    add_options(parser, MultiArguments, FILES, MODEL, QUESTION, SELECTION, RUN, OWN)
    [group] = [one for one in parser._action_groups if one.title == OWN]
    group.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    group.add_argument(
        "--no-cache",
        action="store_false",
        dest="cache",
        help="do not use replies of other runs, and store none for them",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress line")
    return execute


def list_flags() -> set[str]:
    """All flags of the command, for hints."""
    theirs = {flag for one in list_options(MultiArguments).values() for flag in one.flags}
    return theirs | {"--json", "--no-cache", "--quiet"}


def execute(args: argparse.Namespace) -> int:
    """Make the run, or describe it."""
    with translate_errors(_NAMES, known=list_flags()):
        return _execute(args)


def _execute(args: argparse.Namespace) -> int:
    from eyechart.data.samples import get_remarks
    from eyechart.pipelines.multi.inference import prepare_inference

    said = read_given_options(MultiArguments, args)
    if said.get("model_list"):
        return _print_models(as_json=args.json)
    load_dotenv()
    with reserve_stdout(is_json=args.json):
        inference = prepare_inference(said, progress=not args.quiet, cache=args.cache)
        for text in inference.notes:
            note(text)
    if inference.arguments.debug:
        for text in get_remarks(inference.benchmark.source) or ():
            note(text)
        n_images = [len(sample.images) for sample in inference.benchmark.source]
        n, images = len(n_images), sum(n_images)
        many = f"{n} question{'s' * (n != 1)} with {images} image{'s' * (images != 1)}"
        text = f"{many} to send; nothing was asked"
        return _print({"n": n, "images": images}, text, as_json=args.json)
    with reserve_stdout(is_json=args.json):
        try:
            done, predictions = inference.infer(note)
        except StoreError:
            raise  # that folder cannot be used as it is
        except EyechartError as err:
            if inference.has_answers() or (isinstance(err, ModelError) and not err.is_unreachable):
                note(_again(inference.folder))
            if inference.arguments.checkpoint_dir:
                err.hint = err.hint.replace("--base-url names", "api_url in args.json names")
            raise
    _tell(done, inference.folder, predictions, as_json=args.json)
    return done.exit_code


def _tell(done: Run, folder: Path, predictions: Path, *, as_json: bool) -> None:
    if as_json:
        where = {"folder": str(folder), "prediction_file": str(predictions)}
        print_json({**done.summary.to_json(), **where})
    else:
        print_rich(make_run_table(done.summary))
    if done.trouble is not None:
        done.trouble.hint = translate_hint(done.trouble.hint, _NAMES, list_flags())
    print_remarks(done, as_json=as_json, flags=_NAMES)
    if done.exit_code:
        note(_again(folder))
    note(f"predictions: {predictions}")


def _print_models(*, as_json: bool) -> int:
    from eyechart.pipelines.multi.models import describe_models, list_models

    return _print({"models": list_models()}, "\n".join(describe_models()), as_json=as_json)


def _print(values: dict[str, Any], text: str, *, as_json: bool) -> int:
    print_json(values) if as_json else print_text(text)
    return 0


def _again(folder: Path) -> str:
    return f"to resume: eyechart multi --checkpoint_dir {folder}"


# -- ``eyechart multi-metrics``: MULTI's metrics step on files.

METRICS_DESCRIPTION = """\
MULTI's metrics step: scores a prediction file against the problem file with answers, and writes
score.json and detail.json beside the predictions; with --detail also statistics.csv, summary.md and its
charts. Verdicts are those of the official code. Questions that are not in the prediction file do not
count, as published. Open questions need the extra multi.
"""

_REFUSED_METRICS = {
    "reference_file": "the original fails with it: relative scores never worked",
    "reference_dir": "it has no effect in the original",
    "only_past": "it has no effect in the original",
}


@command(
    "multi-metrics",
    "MULTI's metrics step, with its own arguments",
    description=METRICS_DESCRIPTION,
    examples="  eyechart multi-metrics --label_file ../data/problem.json "
    "--prediction_file results/prediction.json --detail --answer_position end\n",
)
def add_metrics_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the flags of the command."""
    parser.add_argument("--label_file", metavar="FILE", help="the problem file that has the answers")
    parser.add_argument("--prediction_file", metavar="FILE", help="prediction.json, or one of any other name")
    parser.add_argument(
        "--score_file", metavar="FILE", help="instead of the two: print the total of an existing score.json"
    )
    parser.add_argument(
        "--detail", action="store_true", help="also print the tables, and write them as files"
    )
    parser.add_argument(
        "--answer_position",
        choices=["start", "end"],
        default="start",
        help="which letters of a prediction count: the first (default), or the last, for models that reason",
    )
    parser.add_argument(
        "--output_dir",
        metavar="DIR",
        help="where the files go (default: beside the predictions); not in the original",
    )
    text = "print the names that eyechart multi accepts, and exit"
    add_option(parser, MultiArguments, "model_list", help=text)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    for name in _REFUSED_METRICS:
        form = {"action": "store_true"} if name == "only_past" else {"metavar": "PATH"}
        parser.add_argument(f"--{name}", help="refused, with the reason", **form)  # type: ignore[arg-type]
    return execute_metrics


def execute_metrics(args: argparse.Namespace) -> int:
    """Score, print what the official step prints, and list the files."""
    from eyechart.pipelines.multi.metrics import add_scores, compute_metrics

    if args.model_list:
        return _print_models(as_json=args.json)
    for name, reason in _REFUSED_METRICS.items():
        if getattr(args, name):
            raise UsageError(f"--{name} is refused: {reason}", hint="leave it out")
    if args.score_file and not (args.label_file or args.prediction_file or args.detail):
        line, totals = add_scores(args.score_file)
        return _print(totals, line, as_json=args.json)
    for name in ("label_file", "prediction_file"):
        if not getattr(args, name):
            raise UsageError(f"--{name} is missing", hint="eyechart multi-metrics --help shows an example")
    found = compute_metrics(
        args.label_file,
        args.prediction_file,
        detail=args.detail,
        answer_position=args.answer_position,
        output_dir=args.output_dir,
    )
    if args.json:
        print_json({**found.to_json(), "answer_position": args.answer_position})
    else:
        print_text("\n".join(found.lines))
        if args.detail:
            print_text("\n" + "\n\n".join("\n".join(lines) for lines in found.tables.values()))
    for text in found.notes:
        note(text)
    if args.score_file:
        note(f"--score_file {args.score_file}: not read, as published, because predictions are given")
    if not args.json:
        names = [path.name for path in found.files]
        note(f"result files: {found.files[0].parent} ({join_names(names, len(names))})")
    return 0


# -- ``eyechart model check``: MULTI's kinds of questions, and the arguments of its tester.

# Arguments of MULTI's tester, with their help if it differs from that of `eyechart multi`.
_TESTER_MODEL: dict[str, str | None] = {
    "model": "the same as MODEL, or a name of MULTI's list",
    "model_dir": None,
    "model_version": None,
    "cuda_device": None,
    "api_url": "of the endpoint, passed to the evaluator class",
    "use_modelscope": None,
}
_TESTER_PROMPT: dict[str, str | None] = {
    "in_turn": "questions with several images in rounds",
    "cot": "ask for reasoning first",
    "few_shot": None,
    "blank_image": "a black image with questions that have none",
}


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that are about MULTI's questions."""
    parser.add_argument(
        "--multi", action="store_true", help="also ask MULTI's kinds of questions (evaluator classes: always)"
    )
    parser.add_argument(
        "--lang", "-l", choices=["zh", "en"], help="language of MULTI's questions (default: both)"
    )
    tester = parser.add_argument_group("as MULTI's model_tester.py")
    for name, text in (_TESTER_MODEL | _TESTER_PROMPT).items():
        more_flags = ["-p"] if name == "model_dir" else []
        add_option(tester, MultiArguments, name, *more_flags, **({"help": text} if text else {}))
    tester.add_argument("--api_key", default=argparse.SUPPRESS, metavar="KEY", help="the same as --api-key")
    tester.add_argument(
        "--input_type", type=int, choices=[0, 1, 2], help="only questions with text, captions or images"
    )


def prepare_check(
    args: argparse.Namespace, options: Options
) -> tuple[Model | None, Callable[[Model], list[CheckCase]]]:
    """The model that the tester's arguments mean, and a function that gives its questions."""
    said, prompt = _said(args, _TESTER_MODEL), _said(args, _TESTER_PROMPT)
    tested, split_sys = _tested_model(args, said, options) if said else (None, False)

    def list_cases(model: Model) -> list[CheckCase]:
        from eyechart.pipelines.multi.tester import LANGUAGES, make_cases

        stated = read_capabilities(model)
        if not (tested or args.multi or stated.takes_rounds):
            if args.lang or prompt or args.input_type is not None:
                hint = "add --multi"
                raise UsageError("--lang and the tester's arguments are for MULTI's questions", hint=hint)
            return []
        # As `eyechart multi` asks them: endpoints get a system message, classes one text.
        splits = split_sys if tested else stated.is_endpoint
        cases: list[CheckCase] = []
        for lang in LANGUAGES:
            if args.lang in (None, lang):
                cases += make_cases(lang, split_sys=splits, input_type=args.input_type, options=prompt)
        return cases

    return tested, list_cases


def _said(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _tested_model(args: argparse.Namespace, said: dict[str, Any], options: Options) -> tuple[Model, bool]:
    """The model that the tester's arguments mean, and whether its prompts have a system message."""
    from eyechart.pipelines.multi.models import choose_model
    from eyechart.runs.plan import find_model

    if args.spec and said.setdefault("model", args.spec) != args.spec:
        raise UsageError(f"two models are given: {args.spec} and {said['model']}", hint="leave one out")
    if args.input_type not in (None, 1):  # 1 needs no file here
        said = {**said, "input_type": args.input_type}
    chosen = choose_model(MultiArguments.of(said))
    for text in chosen.notes:
        note(text)
    chosen = replace(chosen, params={**chosen.params, **options.params})
    options = replace(options, **chosen.options)
    model = chosen.model(options)
    return find_model(model, options) if isinstance(model, str) else model, chosen.split_sys


checkups.record("multi", Checkup(add_arguments=add_check_arguments, prepare=prepare_check))
