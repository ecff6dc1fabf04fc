"""``eyechart multi``: MULTI's inference step, with its own arguments and its own folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eyechart.cli.arguments import Verbs, add_verb, load_dotenv
from eyechart.cli.multi_flags import add_flags, flag_names, given
from eyechart.cli.output import note, print_json, print_rich, stdout_kept_for
from eyechart.errors import EyechartError, ModelError, StoreError
from eyechart.terminal import print_text

if TYPE_CHECKING:
    from eyechart.compat.multi.inference import Finished

DESCRIPTION = """\
MULTI's own inference step: the arguments of its eval.py, by their names and with their meanings.

Writes OUTPUT_DIR/NAME/ with args.json (never a key), prediction.json, checkpoints/, and our own run in
eyechart/ (eyechart report, show and score take the folder). NAME is generated as people know it:
[exp_]model_input_T_shot_K[_it][_cot][_cic][_bi][_kn]_date_time.

--model is python:file.py:XEvaluator (a class with generate_answer(question)), openai/NAME, or a name of
the original's list (--model_list). It is made as there: (model_dir, device_map) with --model_dir;
(api_url, api_key, model) with --model_version; else (device_map). Without --model, --model_version is
asked at --api_url.
"""

EXAMPLES = """\
  eyechart multi --problem_file ../data/problem.json --input_type 2 -v my-model --api_url http://localhost:8000/v1
  eyechart multi --problem_file ../data/problem.json --input_type 2 -m python:mine.py:XEvaluator -d weights
  eyechart multi --checkpoint_dir ../results/my-model_input_2_shot_0_20260102_030405
  eyechart multi-metrics --label_file ../data/problem.json --prediction_file ../results/…/prediction.json
"""

# What advice for `eyechart run` calls by another name.
_NAMES = {
    "--base-url": "--api_url",
    "--api-key": "--api_key",
    "--image-root": "--set image_root=DIR",
    "--concurrency": "--num_workers",
    "--param NAME=VALUE": "--model_dir, --cuda_device, --model_version, --api_url or --api_key",
    "--param device_map=cpu": "--cuda_device cpu",
    "with --out": "with --output_name",
    "--fresh or another --out": "another --output_name",
    "if this is your own server: --allow-private-urls": "download it, and name the file in img_paths",
}


def add_parser(verbs: Verbs) -> None:
    """Declare the verb."""
    parser = add_verb(
        verbs,
        "multi",
        execute,
        help="MULTI's inference step, with its own arguments",
        description=DESCRIPTION,
        examples=EXAMPLES,
    )
    add_flags(parser)


def execute(args: argparse.Namespace) -> int:
    """Make the run, or say what it would be."""
    from eyechart.errors import in_words

    with in_words(_NAMES, known=flag_names()):
        return _execute(args)


def _execute(args: argparse.Namespace) -> int:
    from eyechart.compat.multi.inference import prepare
    from eyechart.compat.multi.models import model_lines, model_names

    said = given(args)
    if said.get("model_list"):
        print_json({"models": model_names()}) if args.json else print_text("\n".join(model_lines()))
        return 0
    load_dotenv()
    with stdout_kept_for(is_json=args.json):
        inference = prepare(said, progress=not args.quiet, cache=args.cache)
        for text in inference.notes:
            note(text)
    if inference.arguments.debug:
        for text in inference.remarks():
            note(text)
        return _describe(*inference.count(), as_json=args.json)
    with stdout_kept_for(is_json=args.json):
        try:
            finished = inference.infer(note)
        except StoreError:
            raise  # nothing can go on in that folder as it is
        except EyechartError as err:
            if inference.has_answers() or (isinstance(err, ModelError) and not err.is_unreachable):
                note(_again(inference.folder))
            if inference.arguments.checkpoint_dir:
                err.hint = err.hint.replace("--base-url names", "api_url in args.json names")
            raise
    _tell(finished, as_json=args.json)
    return finished.run.exit_code


def _describe(n_questions: int, n_images: int, *, as_json: bool) -> int:
    if as_json:
        print_json({"n": n_questions, "images": n_images})
    else:
        questions = f"{n_questions} question{'s' * (n_questions != 1)}"
        pictures = f"{n_images} picture{'s' * (n_images != 1)}"
        print_text(f"{questions} with {pictures} to send; nothing was asked")
    return 0


def _again(folder: Path) -> str:
    return f"to go on: eyechart multi --checkpoint_dir {folder}"


def _tell(finished: Finished, *, as_json: bool) -> None:
    from eyechart.errors import advice, renamed
    from eyechart.report.table import run_table

    done = finished.run
    if as_json:
        where = {"folder": str(finished.folder), "prediction_file": str(finished.predictions)}
        print_json({**done.summary.to_json(), **where})
    else:
        print_rich(run_table(done.summary))
    if done.trouble is not None:
        why, hint = renamed(done.trouble.message, _NAMES), advice(done.trouble.hint, _NAMES, flag_names())
        note(f"the run was stopped: {why}" + (f"\n  hint: {hint}" if hint else ""))
    if done.is_interrupted:
        note("interrupted")
    if done.n_failed and not done.is_interrupted:
        reasons = (f"{one.sample.id}: {one.failure.reason}" for one in done.samples() if one.failure)
        note(renamed(f"{done.n_failed} of the questions failed, e.g. {next(reasons, '')}", _NAMES))
    if done.exit_code:
        note(_again(finished.folder))
    for trouble in (done.files_trouble, done.cache_trouble):
        if trouble:
            note(trouble)
    note(f"predictions: {finished.predictions}")
