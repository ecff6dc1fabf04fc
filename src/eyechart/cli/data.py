"""``eyechart data``: list the catalogue, show a source, download or convert a data set, check a file."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from eyechart.console import JSON_HELP, add_verb, load_dotenv, make_facts_table, note, print_json, print_rich
from eyechart.data.columns.lint import check_source
from eyechart.data.files.clean import write_clean
from eyechart.data.files.download import choose_files, download, find_local, look_up, measure, verify
from eyechart.data.files.hub import is_hub, names_file, parse_hub
from eyechart.data.samples import get_reasons
from eyechart.errors import EyechartError, UsageError
from eyechart.option import add_option, add_options, list_option_names, read_count, read_given_options
from eyechart.registry import (
    Execute,
    benchmarks,
    command,
    converters,
    find_benchmark_names,
    find_hub_benchmarks,
    suggest_name,
)
from eyechart.report.table import PlainTable
from eyechart.runs.options import BENCHMARK, COST, DATA, IMAGES, MODEL, PROMPT, REQUESTS, Options
from eyechart.terminal import escape_controls, format_size, make_counter, print_text, to_one_line
from eyechart.types import Benchmark, Card, Sample

CAPTION_DESCRIPTION = """\
Ask a model to describe every image of a source, once each, and write lines of path,text, as
--input caption --captions FILE, eyechart audit --captions FILE and MULTI's caption_file read them.
The same command again asks only for what is missing or failed. Exit code 1 if images have no text.
"""


@command("data", "list, show, download and check benchmarks and files")
def add_arguments(parser: argparse.ArgumentParser) -> Execute:
    """Declare the actions of the command."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = add_verb(
        actions,
        "list",
        execute_list,
        help="the catalogue of benchmarks: how large, where from, and which are on this machine",
        examples="  eyechart data list\n  eyechart data list chart\n  eyechart data list --group math\n"
        "  eyechart data list --here\n",
    )
    listing.add_argument("words", nargs="*", metavar="WORD", help="only those whose line has these words")
    listing.add_argument("--group", metavar="NAME", help="only this group, e.g. charts")
    listing.add_argument("--here", action="store_true", help="only those whose questions are on this machine")
    listing.add_argument("--json", action="store_true", help=JSON_HELP)
    show = add_verb(
        actions,
        "show",
        execute_show,
        help="how a source was detected, its options, three of its samples, and the prompt",
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
    _add_caption(actions)
    _add_suspects(actions)
    getting = add_verb(
        actions,
        "get",
        execute_get,
        help="download the questions of a benchmark from the Hugging Face hub",
        description="Download a benchmark's data set, or its part of one, from the Hugging Face hub.\n"
        "An interrupted download is resumed; files are compared with their published checksums.\n"
        "HF_TOKEN, HF_ENDPOINT (a mirror), HF_HOME and HTTPS_PROXY are respected. Needs eyechart[hub].",
        examples="  eyechart data get chartqa\n  eyechart data get docvqa-val --to data/docvqa\n",
    )
    getting.add_argument("name", metavar="NAME", help="a name from the catalogue, or hf:ORG/NAME")
    getting.add_argument("--to", metavar="DIR", help="the folder to write to (default: the hub's cache)")
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
    converting.add_argument("file", metavar="FILE|NAME", help="your file, or the data set")
    converting.add_argument(
        "source", metavar="SOURCE", nargs="?", help="the file, folder or hf:ORG/NAME of the data set"
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


def _add_caption(actions: Any) -> None:
    caption = add_verb(
        actions,
        "caption",
        execute_caption,
        help="describe every image with a model: a file for --captions, audits and MULTI",
        description=CAPTION_DESCRIPTION,
        examples="  eyechart data caption mine.tsv -m openai/gpt-4o --out captions.csv\n"
        "  eyechart data caption problem.json --as multi --set input_type=2 -m openai/my-model\n"
        "  eyechart run mine.tsv -m openai/text-model --input caption --captions captions.csv\n",
    )
    caption.add_argument("source", metavar="FILE", help="a file, a folder or a name from the catalogue")
    caption.add_argument("-m", "--model", metavar="MODEL", required=True, help="the model that describes")
    caption.add_argument(
        "--out",
        metavar="FILE",
        dest="captions_file",
        help="the file to write: .csv (path,text) or .jsonl (default: the source's name and _captions.csv)",
    )
    caption.add_argument("--prompt", metavar="TEXT", help="what is asked (default: a detailed description)")
    caption.add_argument("--force", action="store_true", help="overwrite a file with other content")
    caption.add_argument("--json", action="store_true", help=JSON_HELP)
    for name in ("limit", "ids", "where", "fresh", "progress"):
        add_option(caption, Options, name)
    add_options(caption, Options, MODEL, BENCHMARK, DATA, IMAGES, REQUESTS, COST, without=["batch"])


def _add_suspects(actions: Any) -> None:
    suspects = add_verb(
        actions,
        "suspects",
        execute_suspects,
        help="questions whose answer may be wrong: several models agree on another one",
        description="List questions on which independent models agree against the published answer, the\n"
        "most suspect first. Runs without the image, and with rotated options, count as evidence, too.\n"
        "A person fills in the sheet; eyechart run ... --corrections SHEET shows both scores.",
        examples="  eyechart data suspects runs/mine\n"
        "  eyechart data suspects 1a2b 3c4d 5e6f --sheet suspects.csv\n",
    )
    suspects.add_argument("runs", nargs="+", metavar="RUN", help="runs of several models, or their folder")
    suspects.add_argument(
        "--top", type=read_count(), default=50, metavar="N", help="how many to list (default: 50)"
    )
    suspects.add_argument("--sheet", metavar="FILE.csv", help="write them as a sheet for a person")
    suspects.add_argument("--json", action="store_true", help=JSON_HELP)


def execute_suspects(args: argparse.Namespace) -> int:
    """List the suspects, and write the sheet."""
    from eyechart.runs.suspects import find_suspects, write_sheet

    models, found = find_suspects(args.runs)
    listed = found[: args.top]
    if args.sheet:
        write_sheet(args.sheet, listed)
        note(f"wrote {args.sheet}: fill in new and why, then give it as --corrections")
    if args.json:
        print_json({"models": models, "n": len(found), "suspects": [one.to_json() for one in listed]})
        return 0
    rows = [
        [to_one_line(one.id), to_one_line(one.old), to_one_line(one.suggested), f"{100 * one.chance:.0f}",
         f"{one.votes} of {len(models)}", str(one.for_gold), "yes" if one.is_blind else ""]
        for one in listed
    ]  # fmt: skip
    columns = ["sample", "answer", "suggested", "chance %", "models for it", "for the answer", "also blind"]
    print_rich(PlainTable(columns=columns, rows=rows, n_left=3))
    likely = sum(one.chance >= 0.5 for one in found)
    answers = "1 answer is" if likely == 1 else f"{likely:,} answers are"
    print_text(f"{answers} more likely wrong than right, as far as {len(models)} models can tell")
    return 0


def execute_caption(args: argparse.Namespace) -> int:
    """Write the captions; print how many there are, and which images have none."""
    from eyechart.runs.captions import PROMPT as DESCRIBE
    from eyechart.runs.captions import write_captions

    load_dotenv()
    given, prompt = read_given_options(Options, args), args.prompt or DESCRIBE
    file = Path(args.captions_file) if args.captions_file else None
    done = write_captions(args.source, args.model, given, file=file, prompt=prompt, force=args.force)
    n_written = done.n_images - len(done.missing)
    if args.json:
        found = {"file": str(done.file), "images": done.n_images, "missing": list(done.missing)}
        print_json({**found, "run": str(done.run.folder)})
    else:
        print_text(f"{done.file}: texts of {n_written} of {done.n_images} images")
    if done.run.trouble is not None:
        note(f"the run was stopped: {done.run.trouble}")
    if done.missing:
        reasons = [one.failure.reason for one in done.run.samples(0) if one.failure]
        why = f"{reasons[0]}; the same command asks again" if reasons else "empty reply; --fresh asks again"
        note(f"no text for {len(done.missing)} images, e.g. {done.missing[0]}: {why}")
    return 130 if done.run.is_interrupted else int(bool(done.missing))


def execute_list(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    from eyechart.runs.sources import make_benchmark

    known: dict[str, Benchmark] = {}
    for name in benchmarks.names():
        try:
            known[name] = make_benchmark(name, {})
        except EyechartError as err:  # a broken plug-in does not hide the others
            note(f"eyechart: {err}")
    groups = sorted({one.card.group or OTHERS for one in known.values()})
    if args.group and args.group not in groups:
        hint = suggest_name(args.group, groups, otherwise=f"groups: {', '.join(groups)}")
        raise UsageError(f"no group {args.group!r}", hint=hint)
    shown = {
        name: (one, path)
        for name, one in known.items()
        if _has_words(one, args.words) and args.group in (None, one.card.group or OTHERS)
        if (path := find_local(one.card)) is not None or not args.here
    }
    if args.json:
        facts = {
            name: {
                "about": one.about,
                **asdict(one.card),
                "scorer": one.scorer,
                "here": str(path) if path else None,
                "bytes": measure(path) if path else None,
            }
            for name, (one, path) in shown.items()
        }
        print_json(facts)
    elif shown:
        print_rich(_list_by_group(shown))
    elif args.words and (near := suggest_name(" ".join(args.words), list(known), at_most=5)):
        note(f"no benchmark matches; {near}")
    else:
        note("no benchmark matches; all of them: eyechart data list")
    return 0


OTHERS = "others"


def _has_words(benchmark: Benchmark, words: Iterable[str]) -> bool:
    """Whether a benchmark's line has all the words; case, hyphens and underscores are ignored."""
    card = benchmark.card
    told = (benchmark.name, benchmark.about, card.group, card.file, *card.files, card.metric, *card.hub)
    line, *wanted = (re.sub("[-_]", "", text.casefold()) for text in (" ".join(told), *words))
    return all(word in line for word in wanted)


def _list_by_group(shown: Mapping[str, tuple[Benchmark, Path | None]]) -> Table:
    """A table with a heading per group: name, size on this machine, where from, what it is."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "here", "from", "about"):
        table.add_column(heading, no_wrap=heading in ("name", "here"), overflow="fold")
    groups = {one.card.group or OTHERS for one, _ in shown.values()}
    for group in sorted(groups, key=lambda name: (name == OTHERS, name)):
        table.add_row(Text(group, style="bold"))
        for name, (one, path) in shown.items():
            if (one.card.group or OTHERS) == group:
                repositories = dict.fromkeys(part.partition(":")[0] for part in one.card.hub)
                places = [f"{one.card.file}.tsv"] if one.card.file else []
                size = format_size(measure(path)) if path else ""
                cells = (f"  {name}", size, ", ".join([*places, *repositories]), one.about)
                table.add_row(*(Text(escape_controls(cell)) for cell in cells))
    return table


def execute_get(args: argparse.Namespace) -> int:
    """Download a data set, and print how to run it."""
    from eyechart.runs.sources import make_benchmark

    if is_hub(args.name):
        spec = parse_hub(args.name)
        if spec.is_local:
            raise UsageError(f"{args.name} is a folder", hint="give hf:ORG/NAME")
        place, parts, licence = spec.place, [spec.part] if spec.part else [""], ""
        names = find_hub_benchmarks(spec.place, spec.part)
        name = names[0] if len(names) == 1 else ""
    else:
        name = next(iter(find_benchmark_names(args.name)), args.name)
        benchmarks.get(name)  # an unknown name is answered with similar ones
        card = make_benchmark(name, {}).card
        if not card.hub and (here := find_local(card)):
            print_text(f"{name} is here: {here}")
            note(f"run it with: eyechart run {name} -m MODEL")
            return 0
        if not card.hub:
            raise UsageError(f"{name} cannot be downloaded by this command", hint=_tell_source(name, card))
        place, licence = card.hub[0].partition(":")[0], card.licence
        parts = [one.partition(":")[2] for one in card.hub] + ([card.images] if card.images else [])
    repository = look_up(place, without=_describe_offline(name, place, parts))
    files = choose_files(repository, parts)
    size = format_size(sum(file.n_bytes for file in files))
    note(f"{place}: {len(files):,} of {len(repository.files):,} files, {size}")
    told = repository.licence or licence or "not stated"
    note(f"licence: {told} (see https://huggingface.co/datasets/{place})")
    to = Path(args.to) if args.to else None
    folder = download(repository, files, to, show=sys.stderr.isatty())
    n = verify(folder, files, make_counter("files compared"))
    print_text(f"{folder}: {len(files):,} files, {size}; {n:,} compared with their checksums")
    place_to_run = f"--set file=hf:{to if to.is_absolute() else f'./{to}'} " if to else ""
    if name:
        note(f"run it with: eyechart run {name} {place_to_run}-m MODEL")
    return 0


# Where ms-vlmeval 0.0.20 gets the files that are not on the hub.
_VLMEVALKIT = "https://opencompass.openxlab.space/utils/VLMEval/"


def _tell_source(name: str, card: Card) -> str:
    """How to get the questions of a benchmark that this command does not download."""
    if card.file:
        url = card.url or f"{_VLMEVALKIT}{card.file}.tsv"
        to = "$LMUData" if os.environ.get("LMUData") else "~/LMUData"  # noqa: SIM112
        return f"get it from where VLMEvalKit does: curl -L --create-dirs -o {to}/{card.file}.tsv {url}"
    if name in converters.names():
        return f"eyechart data convert {name} {card.url} --out data downloads it and writes its files"
    return card.url or f"eyechart data show {name} says what it reads"


def _describe_offline(name: str, place: str, parts: Iterable[str]) -> str:
    """What to do where there is no network."""
    folder = place.rpartition("/")[2]
    chosen = "".join(f" --include '{_to_pattern(part)}'" for part in parts if part)
    runs = f" and run: eyechart run {name} --set file=hf:./{folder}" if name else ""
    return (
        "without a connection: on a machine that has one, run: "
        f"hf download {place} --repo-type dataset{chosen} --local-dir {folder}; copy the folder here{runs}"
    )


def _to_pattern(part: str) -> str:
    """The names of a part's files, for `hf download`.

    >>> _to_pattern("AMBER.tsv"), _to_pattern("documents/"), _to_pattern("night/test"), _to_pattern("test")
    ('AMBER.tsv', 'documents/*', 'night/*', '*test*')
    """
    if names_file(part):
        return part
    config, _, split = part.rpartition("/")
    return f"{config}/*" if config else f"*{split}*"


def execute_show(args: argparse.Namespace) -> int:
    """Print how a source was detected, and one sample."""
    from eyechart.runs.plan import choose_benchmark, choose_prompt

    benchmark, options = choose_benchmark(args.source, Options.of(read_given_options(Options, args)))
    about = _about(benchmark) | ({"scorer": options.scorer} if options.scorer else {})
    args.prompt |= any((args.input, args.system, args.prompt_template))  # nothing else shows them
    try:
        sample = next((one for one in benchmark.source if args.sample in (None, one.id)), None)
    except EyechartError as err:
        print_rich(make_facts_table(about.items()))  # useful even if its files are missing
        if isinstance(err, UsageError) and not (args.settings or args.sample or args.prompt):
            note(str(err))  # to list its options, the benchmark needs no file
            return 0
        raise
    if sample is None:
        first = next(iter(benchmark.source)).id
        raise UsageError(f"{args.source} has no sample {args.sample!r}", hint=f"ids look like: {first}")
    prompt = choose_prompt(benchmark, options)
    turns = [(turn.role, "\n".join(map(str, turn.parts))) for turn in prompt(sample.without_golds())]
    asked = [(role, text or "(the model's reply)") for role, text in turns]
    if args.prompt:
        print_rich(make_facts_table(asked))
        return 0
    why = [(f"why ({n})", reason) for n, reason in enumerate(get_reasons(benchmark.source), start=1)]
    print_rich(make_facts_table([*about.items(), *why, *_facts(sample).items()]))
    if args.sample is None:
        further = [_brief(one) for one in islice(benchmark.source, 1, 3)]
        print_rich(make_facts_table([*further, *((f"prompt ({role})", text) for role, text in asked)]))
    return 0


def _brief(sample: Sample) -> tuple[str, str]:
    """A further sample: its id, and question, options, gold and images on a few lines."""
    lines = [sample.question, *(f"{letter}. {text}" for letter, text in sample.choices.items())]
    gold = " | ".join(sample.golds) or "(none)"
    return f"sample {sample.id}", "\n".join([*lines, f"gold: {gold}; {len(sample.images)} image(s)"])


def _about(benchmark: Benchmark) -> dict[str, str]:
    """What is known about a benchmark, and its settings."""
    from eyechart.runs.sources import list_settings

    card = benchmark.card
    published = {
        **{name: getattr(card, name) for name in ("size", "metric", "parity", "note", "paper", "licence")},
        "file": f"{card.file}.tsv" if card.file else "",
        "hub": ", ".join(card.hub[:3]) + (f" and {len(card.hub) - 3} more" if len(card.hub) > 3 else ""),
        "aggregate": benchmark.aggregate,
    }
    settings = {**list_settings(benchmark.name), **benchmark.settings}
    return {
        "name": benchmark.name,
        "from": benchmark.source.origin,
        "scorer": benchmark.scorer,
        **{name: text for name, text in published.items() if text},
        **{f"set {name}": _tell_setting(benchmark.name, name, value) for name, value in settings.items()},
    }


def _tell_setting(benchmark: str, name: str, value: object) -> str:
    """A setting's value, and the other ones it may have."""
    from eyechart.runs.sources import list_setting_choices

    others = [one for one in list_setting_choices(benchmark, name) if one != value]
    if value is None or value == "":
        return f"({' or '.join(others)})" if others else ""
    return f"{value} (or {', '.join(others)})" if others else str(value)


def _facts(sample: Sample) -> dict[str, str]:
    return {
        "sample": sample.id,
        "question": sample.question,
        **{f"option {letter}": text for letter, text in sample.choices.items()},
        "gold": " | ".join(sample.golds) or "(none)",
        "images": "\n".join(str(image) for image in sample.images) or "(none)",
        **{str(name): str(value) for name, value in sample.meta.items()},
    }


def execute_check(args: argparse.Namespace) -> int:
    """Lint a source."""
    from eyechart.runs.inputs import make_loader
    from eyechart.runs.sources import find_benchmark, list_excused, make_lint

    if args.parity:
        raise UsageError("--parity has no effect: data check asks and scores nothing", hint="leave it out")
    options = Options.of(read_given_options(Options, args))
    lint = make_lint(find_benchmark(args.source, options), options)
    progress, has_images = make_counter("rows checked"), not args.no_images
    report = check_source(lint, make_loader(options), look_at_images=has_images, progress=progress)
    report.findings = [one for one in report.findings if one.code not in list_excused(options)]
    if args.json:
        print_json(report.to_json())
    else:
        print_rich(Text(escape_controls("\n".join(report.lines()))))
    return int(not report.is_clean)


def execute_convert(args: argparse.Namespace) -> int:
    """Convert a file or a data set, and print how to run it."""
    from eyechart.runs.inputs import make_loader
    from eyechart.runs.sources import find_benchmark

    names = list_option_names(Options, DATA)
    given = {name: value for name, value in read_given_options(Options, args).items() if name in names}
    out, progress = Path(args.out), make_counter("rows converted")
    if args.source is not None:
        if given:
            raise UsageError(f"{', '.join(given)}: the data set has its own format", hint="leave it out")
        done = converters.get(args.file)(args.source, out, force=args.force, progress=progress)
    elif args.file in converters.names() and not Path(args.file).exists():
        raise UsageError(
            f"{args.file}: no SOURCE given", hint=f"eyechart data convert {args.file} SOURCE --out {args.out}"
        )
    else:
        options = Options.of({**given, "read_as": "plain"})
        source = find_benchmark(args.file, options).source
        done = write_clean(source, out, make_loader(options), force=args.force, progress=progress)
        for reason in get_reasons(source):
            note(reason)
    print_text(f"{done.annotations}: {done.n_rows:,} rows, {done.n_images:,} images")
    what = args.out if args.source is None else f"{args.file} --set root={args.out}"
    note(f"run it with: eyechart run {what} -m MODEL")
    return 0
