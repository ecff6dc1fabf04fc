"""The arguments of MULTI's own inference step, as argparse is told of them."""

from __future__ import annotations

import argparse
from typing import Any

from eyechart.cli.arguments import pairs

_Flags = list[tuple[tuple[str, ...], dict[str, Any]]]

# (names, what argparse is told besides) in the order of the original's own help.
_FILES: _Flags = [
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
_MODEL: _Flags = [
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
_PROMPT: _Flags = [
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
_CHOICE: _Flags = [
    (
        ("--questions_type", "--question_type"),
        {
            "metavar": "LIST",
            "help": "0 SA, 1 MA, 2 FB, 3 OP, 4 other (default: 0,1,2; of a --subset all)",
        },
    ),
    (
        ("--image_type",),
        {"metavar": "LIST", "help": "questions with 0, 1, 2 or more pictures (default: all)"},
    ),
    (
        ("--subset",),
        {"metavar": "FILE", "help": "a list of ids: only these questions, e.g. MULTI-Elite"},
    ),
    (("--subject",), {"metavar": "CODE", "help": "the beginning of the ids, e.g. czsx"}),
    (
        ("--eval_num",),
        {"type": int, "metavar": "N", "help": "the first N, after all else (default: -1, all)"},
    ),
    (("--random",), {"help": "shuffle first; seeded, so always alike (--set seed=N)"}),
]
_OTHER: _Flags = [
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
_GROUPS = {
    "the files": _FILES,
    "the model": _MODEL,
    "the question": _PROMPT,
    "which questions": _CHOICE,
    "the run": _OTHER,
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare them, and those that the original lacks."""
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


def given(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments that were said, by their published names."""
    names = [flag[0].removeprefix("--") for flags in _GROUPS.values() for flag, _ in flags]
    said = {name: getattr(args, name) for name in names if hasattr(args, name)}
    return {**said, "set": pairs(args.own, flag="--set")} if args.own else said


def flag_names() -> set[str]:
    """All flags that the verb has, as advice may name them."""
    theirs = {name for flags in _GROUPS.values() for names, _ in flags for name in names}
    return theirs | {"--set", "--json", "--no-cache", "--quiet"}
