"""``eyechart multi``: MULTI's inference step, with its own arguments and its own folder."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.cli.arguments import Verbs, add_verb, load_dotenv, pairs
from eyechart.cli.output import note, print_json, print_rich, stdout_kept_for
from eyechart.errors import EyechartError, ModelError, StoreError

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

# (names, what argparse is told besides) in the order of the original's own help.
_FILES: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--problem_file",), {"metavar": "FILE", "help": "the questions, with or without answers"}),
    (("--knowledge_file",), {"metavar": "FILE", "help": "MULTI-Extend: knowledge behind the questions"}),
    (("--caption_file",), {"metavar": "FILE", "help": "captions or OCR texts, for --input_type 1"}),
    (("--output_dir",), {"metavar": "DIR", "help": "the parent of run folders (default: ../results)"}),
    (("--output_name",), {"metavar": "NAME", "help": "the run folder's name (default: generated)"}),
    (("--exp_name",), {"metavar": "NAME", "help": "stands before the generated name"}),
    (
        ("--checkpoint_dir",),
        {
            "metavar": "DIR",
            "help": "go on with that run: its args.json counts, only --api_key is taken from here; "
            "asks only for what is missing or failed",
        },
    ),
]
_MODEL: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--model", "-m"), {"metavar": "MODEL", "help": "see above"}),
    (("--model_version", "-v"), {"metavar": "NAME", "help": "the model's name at its endpoint"}),
    (("--model_dir", "-d"), {"metavar": "DIR", "help": "weights, handed to the evaluator class"}),
    (("--cuda_device", "-c"), {"metavar": "MAP", "help": "device_map of the class (default: auto)"}),
    (("--api_key",), {"metavar": "KEY", "help": "default: $OPENAI_API_KEY; never written anywhere"}),
    (
        ("--api_url",),
        {
            "metavar": "URL",
            "help": "with or without /chat/completions (default: $OPENAI_BASE_URL, or OpenAI's)",
        },
    ),
    (("--use_modelscope",), {"help": "the original's module that ends in _ms"}),
    (
        ("--num_workers", "-n"),
        {
            "type": int,
            "metavar": "N",
            "help": "questions at once (default: 1); classes: only with -v, or as max_concurrency says",
        },
    ),
]
_PROMPT: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (
        ("--input_type",),
        {
            "type": int,
            "metavar": "T",
            "help": "0 words alone (default), 1 captions, 2 pictures; 3 is refused",
        },
    ),
    (("--in_turn",), {"help": "questions with several pictures in rounds"}),
    (("--cot",), {"help": "ask for reasoning first; not for open questions"}),
    (("--no_background",), {"help": "without the sentence that names role and subject"}),
    (("--no_sys",), {"help": "nothing before the question"}),
    (("--few_shot", "-k"), {"type": int, "metavar": "K", "help": "not 0: one example before the question"}),
    (("--cap_in_cnt",), {"help": "captions in the text instead of behind it"}),
    (("--lang",), {"choices": ["zh", "en"], "help": "of the prompt (default: zh)"}),
    (("--blank_image",), {"help": "a black picture with questions that have none (input type 2)"}),
]
_CHOICE: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (
        ("--questions_type",),
        {"metavar": "LIST", "help": "0 SA, 1 MA, 2 FB, 3 OP, 4 other (default: 0,1,2)"},
    ),
    (
        ("--image_type",),
        {"metavar": "LIST", "help": "questions with 0, 1, 2 or more pictures (default: all)"},
    ),
    (
        ("--subset",),
        {"metavar": "FILE", "help": "only these ids; then --questions_type and --subject do not count"},
    ),
    (("--subject",), {"metavar": "CODE", "help": "the beginning of the ids, e.g. czsx"}),
    (
        ("--eval_num",),
        {"type": int, "metavar": "N", "help": "the first N, after all else (default: -1, all)"},
    ),
    (("--random",), {"help": "shuffle first; seeded, so always alike (--set seed=N)"}),
]
_OTHER: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (
        ("--save_every",),
        {
            "type": int,
            "metavar": "N",
            "help": "copy the predictions into checkpoints/ after about every N answers (default: 100; "
            "-1: never). Every answer is safe at once, whatever N is",
        },
    ),
    (("--model_list", "-l"), {"help": "print the names that --model knows, and stop"}),
    (("--debug",), {"help": "stop after the questions are built; asks and writes nothing"}),
]
# What advice for `eyechart run` calls by another name.
_FLAGS = {
    "--base-url": "--api_url",
    "--api-key": "--api_key",
    "--image-root": "--set image_root=DIR",
    "--concurrency": "--num_workers",
    "--param NAME=VALUE": "--model_dir, --cuda_device, --model_version, --api_url or --api_key",
    "with --out\\b": "with --output_name",
    "--fresh or another --out\\b": "another --output_name",
    "if this is your own server: --allow-private-urls": "download it, and name the file in img_paths",
}
_GROUPS = {
    "the files": _FILES,
    "the model": _MODEL,
    "the question": _PROMPT,
    "which questions": _CHOICE,
    "the run": _OTHER,
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
    for title, flags in _GROUPS.items():
        group = parser.add_argument_group(title)
        for names, more in flags:
            kind = more if "metavar" in more or "choices" in more else {**more, "action": "store_true"}
            group.add_argument(*names, default=argparse.SUPPRESS, **kind)
    group = parser.add_argument_group("besides, of eyechart's own")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="own",
        help="an option that the original lacks: wording, split_sys, seed, image_root, renumbering, ...",
    )
    group.add_argument("--json", action="store_true", help="one JSON object on stdout, nothing else there")
    group.add_argument(
        "--no-cache",
        action="store_false",
        dest="cache",
        help="ask again what other runs asked before, and keep nothing for others",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress line")


def execute(args: argparse.Namespace) -> int:
    """Make the run, or say what it would be."""
    try:
        return _execute(args)
    except EyechartError as err:
        err.hint = in_these_words(err.hint)
        raise


def _execute(args: argparse.Namespace) -> int:
    from eyechart.compat.multi.inference import prepare
    from eyechart.compat.multi.models import model_lines, model_names

    given = _given(args)
    if given.get("model_list"):
        print_json({"models": model_names()}) if args.json else print("\n".join(model_lines()))
        return 0
    load_dotenv()
    with stdout_kept_for(is_json=args.json):
        inference = prepare(given, progress=not args.quiet, cache=args.cache)
        for text in inference.notes:
            note(text)
    if inference.arguments.debug:
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


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments that were said, by their published names."""
    names = [flag[0].removeprefix("--") for flags in _GROUPS.values() for flag, _ in flags]
    given = {name: getattr(args, name) for name in names if hasattr(args, name)}
    return {**given, "set": pairs(args.own, flag="--set")} if args.own else given


def in_these_words(text: str) -> str:
    """Advice that names flags of other verbs, with those of this one.

    >>> in_these_words("is the server running? --base-url names another address")
    'is the server running? --api_url names another address'
    """
    for theirs, ours in _FLAGS.items():
        text = re.sub(theirs, ours, text)
    return text


def _describe(n_questions: int, n_images: int, *, as_json: bool) -> int:
    if as_json:
        print_json({"n": n_questions, "images": n_images})
    else:
        questions = f"{n_questions} question{'s' * (n_questions != 1)}"
        pictures = f"{n_images} picture{'s' * (n_images != 1)}"
        print(f"{questions} with {pictures} to send; nothing was asked")
    return 0


def _again(folder: Path) -> str:
    return f"to go on: eyechart multi --checkpoint_dir {folder}"


def _tell(finished: Finished, *, as_json: bool) -> None:
    from eyechart.report.table import run_table

    done = finished.run
    if as_json:
        where = {"folder": str(finished.folder), "prediction_file": str(finished.predictions)}
        print_json({**done.summary.to_json(), **where})
    else:
        print_rich(run_table(done.summary))
    if done.trouble is not None:
        note(in_these_words(f"the run was stopped: {done.trouble}"))
    if done.is_interrupted:
        note("interrupted")
    if done.n_failed and not done.is_interrupted:
        reasons = (f"{one.sample.id}: {one.failure.reason}" for one in done.samples() if one.failure)
        note(in_these_words(f"{done.n_failed} of the questions failed, e.g. {next(reasons, '')}"))
    if done.exit_code:
        note(_again(finished.folder))
    for trouble in (done.files_trouble, done.cache_trouble):
        if trouble:
            note(trouble)
    note(f"predictions: {finished.predictions}")
