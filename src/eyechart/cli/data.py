"""``eyechart data``: list the catalogue, show a source, check a file, convert a data set."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.console import JSON_HELP, add_verb, make_counter, note, print_json, print_rich
from eyechart.errors import EyechartError, UsageError
from eyechart.option import add_option, add_options, list_option_names, read_given_options
from eyechart.registry import Execute, command, converters
from eyechart.run.options import BENCHMARK, DATA, PROMPT, Options
from eyechart.terminal import print_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eyechart.types import Benchmark, Sample


@command("data", "list, show and check benchmarks and files")
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the actions of the command."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_verb(actions, "list", execute_list, help="the catalogue of benchmarks").add_argument(
        "--json", action="store_true", help=JSON_HELP
    )
    show = add_verb(
        actions,
        "show",
        execute_show,
        help="how a source was detected, its options, and its first sample",
        examples="  eyechart data show demo\n  eyechart data show mine.tsv --sample 17 --prompt\n",
    )
    show.add_argument("source", metavar="NAME", help="a file, a folder or a name from the catalogue")
    show.add_argument("--sample", metavar="ID", help="show this sample instead of the first")
    show.add_argument("--prompt", action="store_true", help="show the exact messages that would be sent")
    add_options(show, Options, PROMPT, BENCHMARK, DATA)
    check = add_verb(
        actions,
        "check",
        execute_check,
        help="how a file was detected, and what is wrong with it",
        description="Reads the whole file and opens every image. Exit code 1 if there are errors.",
        examples="  eyechart data check mine.tsv\n  eyechart data check mine.tsv --field question=ask\n",
    )
    check.add_argument("source", metavar="FILE", help="a file, a folder or a name from the catalogue")
    check.add_argument("--no-images", action="store_true", help="do not open the images")
    add_option(
        check,
        Options,
        "input",
        help="as in a run: any allows rows without an image; none: no images are sent",
    )
    check.add_argument("--json", action="store_true", help=JSON_HELP)
    add_options(check, Options, BENCHMARK, DATA)
    converting = add_verb(
        actions,
        "convert",
        execute_convert,
        help="write your file as a clean one, or an original data set as its benchmark reads it",
        description="Write a file of your own (a spreadsheet, a CSV, a folder of images, ...) as clean JSON\n"
        "Lines, TSV or CSV, with its images as files; or convert an original data set to the files that\n"
        f"its benchmark reads. Data sets: {', '.join(converters.names())}.",
        examples="  eyechart data convert questions.xlsx --out questions.jsonl\n"
        "  eyechart data convert vstar vstar_bench/ --out data\n"
        "  eyechart data convert treebench hf:HaochenWang/TreeBench:train --out data\n",
    )
    converting.add_argument("name", metavar="FILE|NAME", help="your file, or the data set")
    converting.add_argument(
        "source", metavar="SOURCE", nargs="?", help="of a data set: its file, its folder, or hf:ORG/NAME"
    )
    converting.add_argument(
        "--out",
        metavar="FILE|DIR",
        required=True,
        help="the file (.jsonl, .tsv, .csv) or folder to write",
    )
    converting.add_argument("--force", action="store_true", help="overwrite existing files")
    add_options(converting, Options, DATA)
    return execute_list


def execute_list(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    from eyechart.registry import benchmarks
    from eyechart.run.sources import make_benchmark

    known = {}
    for name in benchmarks.names():
        try:
            known[name] = make_benchmark(name, {}).about
        except EyechartError as err:  # a broken plug-in does not hide the others
            note(f"eyechart: {err}")
    if args.json:
        print_json(known)
    else:
        print_rich(_two_columns(known.items()))
    return 0


def execute_show(args: argparse.Namespace) -> int:
    """Print how a source was detected, and one sample."""
    from eyechart.run.plan import choose_benchmark, choose_prompt

    benchmark, options = choose_benchmark(args.source, Options.of(read_given_options(Options, args)))
    about = _about(benchmark) | ({"scorer": options.scorer} if options.scorer else {})
    args.prompt = args.prompt or any(
        (args.input, args.system, args.prompt_template)
    )  # nothing else shows them
    try:
        sample = next((one for one in benchmark.source if args.sample in (None, one.id)), None)
    except EyechartError as err:
        print_rich(_two_columns(about.items()))  # useful even if its files are missing
        if isinstance(err, UsageError) and not (args.settings or args.sample or args.prompt):
            note(str(err))  # to list its options, the benchmark needs no file
            return 0
        raise
    if sample is None:
        first = next(iter(benchmark.source)).id
        raise UsageError(f"{args.source} has no sample {args.sample!r}", hint=f"ids look like: {first}")
    if args.prompt:
        prompt = choose_prompt(benchmark, options)
        turns = [(turn.role, "\n".join(map(str, turn.parts))) for turn in prompt(sample.without_golds())]
        print_rich(_two_columns((role, text or "(the model's reply)") for role, text in turns))
    else:
        print_rich(_two_columns([*about.items(), *_why(benchmark), *_facts(sample).items()]))
    return 0


def _about(benchmark: Benchmark) -> dict[str, str]:
    from eyechart.run.sources import list_settings

    settings = {**list_settings(benchmark.name), **benchmark.settings}
    return {
        "name": benchmark.name,
        "from": benchmark.source.origin,
        "scorer": benchmark.scorer,
        **{f"set {name}": str(value) for name, value in settings.items()},
    }


def _why(benchmark: Benchmark) -> list[tuple[str, str]]:
    """How the source was detected."""
    from eyechart.data.source import get_reasons

    return [(f"why ({n})", reason) for n, reason in enumerate(get_reasons(benchmark.source), start=1)]


def _facts(sample: Sample) -> dict[str, str]:
    return {
        "sample": sample.id,
        "question": sample.question,
        **{f"option {letter}": text for letter, text in sample.choices.items()},
        "gold": " | ".join(sample.golds) or "(not public)",
        "images": "\n".join(str(image) for image in sample.images) or "(none)",
        **{str(name): str(value) for name, value in sample.meta.items()},
    }


def execute_check(args: argparse.Namespace) -> int:
    """Lint a source."""
    from eyechart.data.lint import check_source
    from eyechart.run.inputs import make_loader
    from eyechart.run.sources import find_benchmark, list_excused, make_lint

    if args.parity:
        raise UsageError("--parity has no effect: data check asks and scores nothing", hint="leave it out")
    options = Options.of(read_given_options(Options, args))
    lint = make_lint(find_benchmark(args.source, options), options)
    report = check_source(
        lint, make_loader(options), look_at_images=not args.no_images, progress=make_counter("rows checked")
    )
    report.findings = [one for one in report.findings if one.code not in list_excused(options)]
    if args.json:
        print_json(report.to_json())
    else:
        from rich.text import Text

        from eyechart.terminal import escape_controls

        print_rich(Text(escape_controls("\n".join(report.lines()))))
    return 0 if report.is_clean else 1


def _two_columns(facts: Iterable[tuple[str, str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    from eyechart.terminal import escape_controls

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in facts:
        table.add_row(Text(escape_controls(name)), Text(escape_controls(value)))
    return table


def execute_convert(args: argparse.Namespace) -> int:
    """Convert a file or a data set, and print how to run it."""
    if args.source is None:
        return _convert_file(args)
    if given := _read_data_options(args):
        raise UsageError(f"{', '.join(given)}: the data set has its own format", hint="leave it out")
    convert = converters.get(args.name)
    done = convert(args.source, Path(args.out), force=args.force, progress=make_counter("rows converted"))
    print_text(f"{done.annotations}: {done.n_rows:,} rows, {done.n_images:,} images")
    note(f"run it with: eyechart run {args.name} --set root={args.out} -m MODEL")
    return 0


def _read_data_options(args: argparse.Namespace) -> dict[str, Any]:
    names = list_option_names(Options, DATA)
    return {name: value for name, value in read_given_options(Options, args).items() if name in names}


def _convert_file(args: argparse.Namespace) -> int:
    from eyechart.data.clean import write_clean
    from eyechart.data.source import get_reasons
    from eyechart.run.inputs import make_loader
    from eyechart.run.sources import find_benchmark

    if args.name in converters.names() and not Path(args.name).exists():
        raise UsageError(
            f"{args.name}: which file?", hint=f"eyechart data convert {args.name} SOURCE --out {args.out}"
        )
    options = Options.of({**_read_data_options(args), "read_as": "plain"})
    source = find_benchmark(args.name, options).source
    done = write_clean(
        source,
        Path(args.out),
        make_loader(options),
        force=args.force,
        progress=make_counter("rows converted"),
    )
    for reason in get_reasons(source):
        note(reason)
    print_text(f"{done.annotations}: {done.n_rows:,} rows, {done.n_images:,} images")
    note(f"run it with: eyechart run {args.out} -m MODEL")
    return 0
