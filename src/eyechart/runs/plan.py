"""Plan a run: find its benchmark, model, prompt, scorers and judge, and check that they fit together.

A `Plan` is a run that could start now. Nothing is written and no request is sent before it exists.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from eyechart import __version__
from eyechart.data.columns.answers import read_schema
from eyechart.data.images.substitutes import BlankImages
from eyechart.data.samples import find_file_source, list_columns
from eyechart.engine.judge import JudgeSetup
from eyechart.engine.prepare import ImageSource, LookPreparer, Preparer
from eyechart.errors import EyechartError, UsageError, name_role
from eyechart.models.prices import Price
from eyechart.models.python import adapt, name_of
from eyechart.models.redact import redact_parameters
from eyechart.models.specs import make_model, refuse_unknown, refuses_sampling, takes_temperature
from eyechart.option import expand_number, list_options
from eyechart.prompt.default import with_system
from eyechart.prompt.inputs import (
    PromptWithShots,
    describe_images,
    draw_shots,
    drop_images,
    reword,
    with_images_only,
)
from eyechart.registry import aggregates, callbacks, scorers
from eyechart.report.clusters import choose_rules
from eyechart.report.counting import NO_GROUPS, check_groups
from eyechart.runs.corrections import Correction, read_corrections
from eyechart.runs.cost import find_prices, tell_role
from eyechart.runs.inputs import apply_shuffle, make_loader, open_texts
from eyechart.runs.options import DATA, QUESTIONS, Options
from eyechart.runs.plugins import SCORER_HINT, find_exporter, find_scorer, is_ours, try_part
from eyechart.runs.sources import apply_circular, apply_selection, find_benchmark, refuse_blind_run
from eyechart.score.judged import name_prompts, read_prompts
from eyechart.score.thinking import ThinkingOption, set_thinking
from eyechart.store.cache import read_size_limit
from eyechart.store.folder import name_folder
from eyechart.store.journal import FILE_NAME
from eyechart.store.reader import JournalReader
from eyechart.terminal import print_note
from eyechart.types import (
    Benchmark,
    JudgedScorer,
    Model,
    MultiReply,
    Prompt,
    Reply,
    Scorer,
    Source,
    read_capabilities,
)

if TYPE_CHECKING:
    from eyechart.engine.look import LookSetup
    from eyechart.look.crops import Rules
    from eyechart.runs.shards import Shard

_KEPT = ("about", "macro", "aggregate", "circular", "files", "judged_scorer")  # of a benchmark, by name
_LOOKED_AT = 1000  # samples at most, to find the first question with rotations


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that could start now: everything is checked, nothing is written or spent."""

    benchmark: Benchmark
    model: Model
    prompt: Prompt
    scorers: RunScorers
    options: Options
    folder: Path
    model_spec: str | object = field(default="", repr=False)  # as given: workers make it again
    corrections: Sequence[Correction] = ()
    source_spec: str = ""  # as the user gave the source, if by name
    prices: Mapping[str, Price | None] = field(default_factory=dict)  # of the "model" and the judges, by role
    earlier: tuple[Path, ...] = ()  # further journals to look up replies in, besides those next to `folder`
    fresh_from: tuple[Path, ...] = ()  # the same with --fresh: of runs of the same command
    shares_budget: tuple[Path, ...] = ()  # journals of other runs whose spending counts against the limits
    look: LookSetup | None = None

    @property
    def helpers(self) -> Mapping[str, Model]:
        """The models that are asked besides the run's own, by role: judges and the searcher."""
        searcher = self.look.searcher if self.look else None
        return {**self.scorers.judges, **({"searcher": searcher} if searcher else {})}

    @property
    def shard(self) -> Shard | None:
        """Which part of the samples is asked; None for all."""
        from eyechart.runs.shards import Shard

        return Shard.parse(self.options.shard) if self.options.shard else None

    @property
    def asked_identity(self) -> dict[str, Any]:
        """What is part of the key of every request: the model, and how it looks."""
        look = {"look": self.look.identity(with_wording=True)} if self.look else {}
        return {"model": self.model.name, **self.model.identity, **look}

    @property
    def scorer(self) -> Scorer:
        """The scorer of the headline."""
        return self.scorers.scorer

    def manifest(self) -> dict[str, Any]:
        """The description of the run in its folder, without keys."""
        options = {name: getattr(self.options, name) for name in self.options.__dataclass_fields__}
        described = describe_run(
            self.benchmark, self.scorers, self.model.name, self.options.trials, self.options.cluster
        )
        is_named = isinstance(self.model_spec, str)
        return {
            **described,
            "identity": dict(self.model.identity),
            **({"look": self.look.describe()} if self.look else {}),
            "options": redact_parameters(options),
            **({"corrections": msgspec.to_builtins(self.corrections)} if self.corrections else {}),
            "given": {"source": self.source_spec, "model": str(self.model_spec) if is_named else ""},
            "prices": {who: price and price.to_json() for who, price in self.prices.items()},
        }


def make_plan(source: str | Path | Benchmark | Source, model: str | object, options: Options) -> Plan:
    """Find the parts of a run and check that they fit. Writes nothing, spends nothing."""
    if options.cache:
        read_size_limit()  # a bad value in the environment is an error before anything is spent
    benchmark, options = choose_benchmark(source, options)
    options = take_sampling(options, benchmark, model)
    the_model = find_model(model, options)
    stated = read_capabilities(the_model)
    of_batch = "--batch is for openai/, openai-responses/ and anthropic/ models at one URL; leave it out"
    of_scoring = "cannot score options: only local weights (hf/...) give their likelihood"
    for is_asked, is_possible, why, hint in (
        (options.pass_urls, stated.takes_urls, "does not take image URLs", "leave out --pass-urls"),
        (options.batch, getattr(the_model, "batch_api", ""), "has no batch API", of_batch),
        (options.score_options, stated.scores_options, of_scoring, "leave out --score-options"),
    ):
        if is_asked and not is_possible:
            raise UsageError(f"{the_model.name} {why}", hint=hint)
    look = choose_look(options, the_model)
    identity = make_identity(benchmark, the_model, options)
    if look is not None:
        identity["look"] = look.identity()
    folder = name_folder(Path(options.out), benchmark.name, the_model.name, identity)
    if options.shard:
        from eyechart.runs.shards import Shard

        folder = Shard.parse(options.shard).name_folder(folder)
    known: list[Mapping[str, Any]] = []
    if not options.fresh and (folder / FILE_NAME).exists():
        known = list_judge_identities(JournalReader(folder / FILE_NAME).read_mapping("manifest").get("judge"))
    scorers = choose_scorers(benchmark, options, known)
    for name in options.exporters:
        find_exporter(name)
    for name in options.track:
        callbacks.get(name)
    several = (scorers.scorer, *scorers.also_scorers)
    own = [one for one in several if not is_ours(getattr(one, "function", one))]
    if own and (first := next(iter(benchmark.source), None)):
        said = Reply(text=next(iter(first.golds), ""))
        for one in own:
            try_part(f"scorer {one.name}", SCORER_HINT, partial(one, said, first))
    refuse_blind_run(benchmark, options)
    if options.by and options.by != (NO_GROUPS,):
        check_groups(options.by, islice(benchmark.source, _LOOKED_AT))
    prompt = choose_prompt(benchmark, options)
    if options.circular:
        refuse_hidden_options(benchmark, prompt)
    plan = Plan(
        benchmark=benchmark,
        model=the_model,
        prompt=prompt,
        scorers=scorers,
        options=options,
        folder=folder,
        model_spec=model,
        corrections=find_corrections(options, scorers.judge_setup is not None),
        source_spec=str(source) if isinstance(source, str | Path) else "",
        look=look,
    )
    return replace(plan, prices=find_prices(the_model, plan.helpers, options))


def share_limits(plans: Sequence[Plan]) -> list[Plan]:
    """The plans with limits on cost and tokens that hold for all of them together."""
    journals = dict.fromkeys(plan.folder / FILE_NAME for plan in plans)
    return [
        replace(plan, shares_budget=tuple(one for one in journals if one.parent != plan.folder))
        for plan in plans
    ]


def find_unpriced(plan: Plan) -> list[str]:
    """The model and judges without a price although prices are given: most likely a typo in a name."""
    return [
        tell_role(one, who)
        for who, one in {"model": plan.model, **plan.helpers}.items()
        if plan.options.prices and plan.prices.get(who) is None and not read_capabilities(one).is_free
    ]


def make_identity(benchmark: Benchmark, model: Model, options: Options) -> dict[str, Any]:
    """What the hash in the name of a run's folder is computed from.

    Folders keep their names from version to version, so the first six options are there even if not given,
    and an option that comes later enters the section of its group only where it is given.
    """
    asked = {"input": options.input, "system": options.system, "max_pixels": options.max_pixels}
    read = {"format": options.format, "fields": options.fields, "cells": options.cells or "text"}
    sections: dict[str, dict[str, Any]] = {"asked": asked, "read": read, "reading": {}, "selection": {}}
    declared = list_options(type(options))
    for name, value in options.identity().items():
        section = {DATA: "reading", QUESTIONS: "selection"}.get(declared[name].group, "asked")
        if name not in read and (value != "" or section != "asked"):  # an empty text changes no request
            sections[section][name] = value
    if options.input == "shuffled":
        asked["shuffled_by"] = options.seed or 0
    if options.shots:
        asked |= {"shots_from": options.shots_from, "shots_by": options.seed or 0}
    if not sections["reading"]:
        del sections["reading"]
    settings = {"settings": dict(benchmark.settings)} if benchmark.settings else {}
    return {"origin": benchmark.source.origin, "model": dict(model.identity), **sections, **settings}


def choose_benchmark(source: str | Path | Benchmark | Source, options: Options) -> tuple[Benchmark, Options]:
    """The benchmark with the selected questions, and the options with the files they name read in."""
    if options.schema:
        options = replace(options, schema=read_schema(options.schema).text)
    benchmark = find_benchmark(source, options)
    options = apply_parity(options, benchmark)
    if options.prompt_template:
        from eyechart.prompt.template import read_template

        options = replace(options, prompt_template=read_template(options.prompt_template))
    texts: dict[str, Any] = {  # with absolute paths: the run folder is the same from everywhere
        name: str(Path(given).absolute())
        for name in ("captions", "ocr_texts")
        if (given := getattr(options, name)) and Path(given).is_file()
    }
    options = replace(options, **texts)
    if options.shots:
        benchmark, options = add_shots(benchmark, options)
    asked = apply_selection(benchmark, options)
    asked = apply_circular(asked, benchmark.source) if options.circular else asked
    return apply_shuffle(asked, options) if options.input == "shuffled" else asked, options


def apply_parity(options: Options, benchmark: Benchmark) -> Options:
    """With ``--parity``, add the options of the benchmark's official pipeline."""
    if not options.parity:
        return options
    if not benchmark.official and not scorers.get(benchmark.scorer).parity:
        raise UsageError(
            f"{benchmark.name} has no official pipeline to match",
            hint="--scorer chooses another scorer: see eyechart score --list",
        )
    official = dict(benchmark.official)
    if options.max_tokens is not None:  # the same limit by another name
        params = official.get("params", {})
        official["params"] = {name: params[name] for name in params if name != "max_completion_tokens"}
    if options.judge is None:
        official.pop("judge_params", None)
    return options.fill_from(official)


def take_sampling(options: Options, benchmark: Benchmark, model: str | object) -> Options:
    """The options with the sampling of the benchmark's kit, if the run sets none and the model takes it."""
    if not isinstance(model, str) or model.startswith(("baseline/", "python:")):
        return options
    taken = dict(benchmark.sampling)
    if refuses_sampling(model):
        taken.pop("temperature", None)
    if options.params.keys() & {"max_completion_tokens", "max_output_tokens"}:  # the same by another name
        taken.pop("max_tokens", None)
    return options.fill_from(taken)


def choose_prompt(benchmark: Benchmark, options: Options) -> Prompt:
    """The benchmark's prompt or the user's template, changed as the options say."""
    prompt = benchmark.prompt
    shots = prompt if isinstance(prompt, PromptWithShots) else None
    if shots is not None:
        prompt = shots.prompt
    if options.prompt_template:
        from eyechart.prompt.template import list_known_names, make_template_prompt

        if unused := [name for name in options.settings if name in benchmark.prompt_settings]:
            raise UsageError(
                f"--set {unused[0]} has no effect: a prompt template replaces the benchmark's prompt",
                hint=f"leave out --set {unused[0]} or --prompt-template",
            )
        first = next(iter(benchmark.source), None)
        columns = list_known_names(first) if first else ()
        prompt = make_template_prompt(options.prompt_template, columns=columns)
    if options.reword:
        prompt = reword(prompt, options.reword)
    if options.input == "none":
        prompt = drop_images(prompt)
    elif options.input in ("caption", "ocr"):
        texts = open_texts(benchmark, options, is_ocr=options.input == "ocr")
        prompt = describe_images(prompt, texts.find, "caption" if options.input == "caption" else "ocr")
    elif options.input == "image":
        file = find_file_source(benchmark.source)
        prompt = with_images_only(prompt) if file and "image" in file.detection.fields else prompt
    if shots is not None:
        prompt = replace(shots, prompt=prompt)
        refuse_rounds(prompt)
    if options.system:
        prompt = with_system(prompt, options.system)
    return prompt


def refuse_rounds(prompt: PromptWithShots) -> None:
    """Refuse a prompt that cannot be shown as an example."""
    try:
        prompt(prompt.pool[-1])
    except EyechartError:
        raise
    except Exception:  # a user's own prompt: its errors are reported per sample
        return


def add_shots(benchmark: Benchmark, options: Options) -> tuple[Benchmark, Options]:
    """The benchmark with a prompt that shows examples; from a file, the options hold its absolute path."""
    pool: Source = benchmark.source
    if options.shots_from is not None:
        if Path(options.shots_from).exists():
            options = replace(options, shots_from=str(Path(options.shots_from).absolute()))
        pool = find_benchmark(options.shots_from, Options()).source
    drawn = draw_shots(pool, options.shots, options.seed or 0)
    if len(drawn) <= options.shots and (options.shots_from is None or len(drawn) < options.shots):
        raise UsageError(
            f"--shots {options.shots}: {pool.origin} has {len(drawn)} questions with answers to show",
            hint="take fewer, or take them from another file with --shots-from",
        )
    return replace(benchmark, prompt=PromptWithShots(benchmark.prompt, options.shots, drawn)), options


def refuse_hidden_options(benchmark: Benchmark, prompt: Prompt) -> None:
    """Refuse --circular if the prompt does not show the options, so that all rotations look the same."""
    question, is_same = None, False
    for sample in islice(benchmark.source, _LOOKED_AT):
        turn = sample.meta.get("rotation")
        question = sample if turn == 0 else question
        if turn != 1 or question is None:
            continue
        with contextlib.suppress(Exception):  # a user's own prompt: its errors are reported per sample
            first, second = (list(prompt(one.without_golds())) for one in (question, sample))
            is_same = first == second
        if is_same:
            raise UsageError(
                "--circular rotates the options, but the prompt does not show them",
                hint="leave out --circular, or ask with a prompt that shows the options",
            )
        return


def describe_run(
    benchmark: Benchmark, scorers: RunScorers, model: str, trials: int = 1, cluster: str | None = None
) -> dict[str, Any]:
    """What every manifest holds, whether the replies were asked for or loaded. `Run` reads it."""
    if benchmark.aggregate:
        aggregates.get(benchmark.aggregate)  # an unknown name is refused before anything is spent
    return {
        "eyechart": __version__,
        "benchmark": benchmark.name,
        "origin": benchmark.source.origin,
        "columns": list_columns(benchmark.source),
        "group_by": list(benchmark.group_by),
        "cluster": choose_rules(benchmark.cluster, cluster),
        **{name: getattr(benchmark, name) for name in _KEPT},
        "settings": redact_parameters(benchmark.settings),
        **scorers.describe(),
        "model": model,
        "trials": trials,
    }


def carry_kept(
    manifest: Mapping[str, Any], old: Mapping[str, Any], more: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The manifest with the earlier scorings of `old`, and `more`, that stay beside the run's own.

    An earlier scoring has a name, under which its scores are in the journal, and the version of its scorer.
    """
    current: dict[str, str] = manifest["versions"]
    own = current.get(manifest["scorer"])
    kept = {name: old["versions"][name] for name in old.get("kept", ())} | dict(more or {})
    kept = {name: one for name, one in kept.items() if name not in current and one != own}
    return {**manifest, "kept": list(kept), "versions": {**current, **kept}}


def find_model(model: str | object, options: Options) -> Model:
    """The model with this name, or a user's own object as a model."""
    settings = options.make_model_settings()
    if isinstance(model, str):
        return make_model(model, settings)
    name, hint = f"python:{name_of(model)}", "the model already exists: set them where it is created"
    refuse_unknown(set(settings.parameters), set(), who=name, hint=hint)
    return adapt(model, name, settings, is_ready_made=True)


def keep_log(model: Model, path: Path) -> None:
    """Have a model that starts a server write the server's log there."""
    if callable(set_path := getattr(model, "keep_log", None)):
        set_path(path)


def has_shared_requests(plan: Plan) -> bool:
    """Whether the trials of a sample share one request, if the endpoint supports it."""
    options = plan.options
    is_apart = options.separate_trials or options.batch or options.look
    return isinstance(plan.model, MultiReply) and not is_apart


def make_preparer(plan: Plan, images: ImageSource | None = None) -> Preparer:
    """The preparer, which turns samples into requests and knows which were answered before."""
    identity, options = plan.asked_identity, plan.options
    loader = images or make_loader(options)
    if plan.look is not None:
        return LookPreparer(plan.prompt, loader, identity)  # type: ignore[arg-type]  # of a loader
    if options.input == "blank":
        return Preparer(plan.prompt, BlankImages(loader), identity)
    is_slow = options.shots > 0 or (options.input == "ocr" and not options.ocr_texts)
    return Preparer(plan.prompt, loader, identity, pass_urls=passes_urls(plan), is_slow=is_slow)


def passes_urls(plan: Plan) -> bool:
    """Whether image URLs are handed to the model as they are."""
    options = plan.options
    # The model would get another image from the URL.
    is_changed = options.max_pixels or options.max_side or options.jpeg_quality or options.input == "blank"
    return options.pass_urls or (read_capabilities(plan.model).wants_urls and not is_changed)


# -- Closer looks


def choose_look(options: Options, model: Model) -> LookSetup | None:
    """How the run looks, checked against its model; None: the images are sent once."""
    if options.look is None:
        return None
    from eyechart.engine.look import LookSetup
    from eyechart.look.wording import read_words

    stated = read_capabilities(model)
    if not stated.takes_messages or stated.takes_rounds:
        raise UsageError(
            f"{model.name} cannot look closer: it is not given messages, in which the crops would be",
            hint="a class of one's own needs generate(messages); leave out --look",
        )
    protocol: Any = options.look
    if protocol == "auto":
        # Many servers of one's own refuse tools unless they were started with a parser for them.
        members = getattr(model, "members", (model,))
        takes_tools = stated.takes_tools and all(getattr(one, "is_official", True) for one in members)
        protocol = "search" if options.searcher else "tools" if takes_tools else "zoom"
    if protocol == "tools" and not stated.takes_tools:
        raise UsageError(f"{model.name} takes no tools", hint="--look=zoom writes the calls as text")
    if (protocol == "search") != bool(options.searcher):
        what = "needs a searcher" if protocol == "search" else "has no searcher: the model names the regions"
        hint = "name it with --searcher MODEL" if protocol == "search" else "leave out --searcher"
        raise UsageError(f"--look={protocol} {what}", hint=hint)
    rules = make_rules(protocol, options.max_looks, options.look_params)
    words = read_words(options.look_prompts) if options.look_prompts else {}
    searcher = None
    if options.searcher:
        try:
            searcher = make_model(options.searcher, options.make_model_settings("searcher"))
        except EyechartError as err:
            name_role(err, "searcher")
            raise
        if not read_capabilities(searcher).takes_messages:
            raise UsageError(f"{searcher.name} cannot search: it is not given messages")
    return LookSetup(rules=rules, words=words, searcher=searcher)


def make_rules(
    protocol: Literal["search", "zoom", "tools"], max_looks: int | None, given: Mapping[str, Any]
) -> Rules:
    """The usual settings of a protocol, with those that are given.

    >>> rules = make_rules("zoom", 3, {"scale": "0.5", "unit": "pixels", "crop_max_area": "800k"})
    >>> rules.scale, rules.crop_max_area
    (0.5, 800000.0)
    """
    from eyechart.look.crops import Rules, usual_rules

    usual = usual_rules(protocol)
    # Of the rules, these two are options by themselves.
    names = {one.name for one in fields(Rules)} - {"protocol", "max_looks"}
    refuse_unknown(set(given), names, who="--look-param")
    try:
        numbers = {name: expand_number(value) for name, value in given.items()}
        read = msgspec.convert(numbers, Rules, strict=False)
    except msgspec.ValidationError as err:
        raise UsageError(f"--look-param: {err}", hint="see: eyechart docs look") from err
    for name in given:
        if protocol not in _ONLY_IN.get(name, (protocol,)):
            raise UsageError(f"--look-param {name} has no effect with --look={protocol}", hint="leave it out")
        value = getattr(read, name)
        least = 0 if name in _MAY_BE_ZERO else 1 if isinstance(value, int) else 0.01
        if not isinstance(value, str) and not least <= value < math.inf:
            raise UsageError(f"--look-param {name}={value:g}: must be at least {least:g}")
        if name == "scale" and value > 1:
            raise UsageError(f"--look-param scale={value:g}: must be at most 1")
    looks = usual.max_looks if max_looks is None else max_looks
    return replace(usual, max_looks=looks, **{name: getattr(read, name) for name in given})


_ONLY_IN = {  # protocols, of settings that not all of them have
    **dict.fromkeys(("attempts", "margin", "min_side", "min_area", "feedback"), ("search",)),
    **dict.fromkeys(("searcher_unit", "searcher_patch", "searcher_area", "searcher_looks"), ("search",)),
    **dict.fromkeys(("unit", "index", "calls_per_turn"), ("zoom", "tools")),
    "tool_images": ("tools",),
}
_MAY_BE_ZERO = ("margin", "min_side", "min_area", "max_area", "crop_max_area", "feedback", "strict",
                "tool_images", "searcher_looks")  # fmt: skip


# -- Scorers and the judge


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScorers:
    """The scorers of a run and its judges. Scorers that can ask a judge are bound to them."""

    scorer: Scorer
    also_scorers: tuple[Scorer, ...] = ()
    judge_setup: JudgeSetup | None = field(default=None)
    thinking: ThinkingOption = "auto"

    @property
    def judges(self) -> Mapping[str, Model]:
        """The models that judge, by role: "judge", or "judge:NAME" if there are several."""
        return self.judge_setup.roles if self.judge_setup else {}

    def describe(self) -> dict[str, Any]:
        """Their part of the manifest."""
        setup = self.judge_setup
        return {
            "scorer": self.scorer.name,
            "parity": self.scorer.parity,
            "thinking": self.thinking,
            "rules": getattr(self.scorer, "rules", ""),
            "also_scorers": [scorer.name for scorer in self.also_scorers],
            "versions": {scorer.name: scorer.version for scorer in (self.scorer, *self.also_scorers)},
            "judge": setup
            and {
                "model": setup.model.name,
                "identity": dict(setup.model.identity),
                "prompts": dict(setup.prompts),
                "prompt_versions": name_prompts(setup.prompts),
                "further": [{"model": one.name, "identity": dict(one.identity)} for one in setup.further],
            },
        }


def choose_scorers(
    benchmark: Benchmark, options: Options, known: Sequence[Mapping[str, Any]] = ()
) -> RunScorers:
    """The scorers of a run, bound to its judge; `known` are the identities of its judges so far."""
    judge = find_judge(options, known)
    scorer = options.scorer or (judge and benchmark.judged_scorer) or benchmark.scorer
    if scorer in options.also_scorers:
        raise UsageError(
            f"--also-scorer {scorer} has no effect: it is the scorer of the run", hint="leave it out"
        )
    return bind_scorers(scorer, options.also_scorers, judge, options.thinking)


def find_corrections(options: Options, has_judge: bool) -> list[Correction]:
    """The corrected golds of a run."""
    if options.corrections is None:
        return []
    if has_judge:
        raise UsageError(
            "corrections need a scorer by rules: nothing is asked for them",
            hint="leave out --judge or --corrections",
        )
    return read_corrections(options.corrections)


def bind_scorers(
    scorer: str,
    also_scorers: tuple[str, ...],
    judge: JudgeSetup | None,
    thinking: ThinkingOption | None = None,
) -> RunScorers:
    """Find scorers by name, set what they see of thoughts, and bind them to the judge, if there is one."""
    found: list[Scorer] = []
    for name in dict.fromkeys((scorer, *also_scorers)):
        one = set_thinking(find_scorer(name), thinking)
        if getattr(one, "needs_judge", False) and judge is None:
            raise UsageError(
                f"the scorer {name} needs a judge",
                hint="name one with --judge MODEL, or score by rules alone with --scorer default",
            )
        found.append(judge.bind(one) if judge and isinstance(one, JudgedScorer) else one)
    if judge and not any(isinstance(one, JudgedScorer) for one in found):
        raise UsageError(
            f"the scorer {scorer} asks no judge", hint="leave out --judge, or choose --scorer judged"
        )
    return RunScorers(
        scorer=found[0], also_scorers=tuple(found[1:]), judge_setup=judge, thinking=thinking or "auto"
    )


def list_judge_identities(judge: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The identities of the judges in a manifest."""
    return [one["identity"] for one in (judge, *judge.get("further", ()))] if judge else []


def find_judge(options: Options, known: Sequence[Mapping[str, Any]] = ()) -> JudgeSetup | None:
    """The judge that the options name, or the judges, with their prompts."""
    if not options.judge:
        return None
    prompts = read_prompts(options.judge_prompts) if options.judge_prompts else {}
    if doubled := [stage for stage, prompt in prompts.items() if "{{" in prompt]:
        print_note(
            f"{options.judge_prompts}: the prompt of {', '.join(doubled)} has doubled braces, as Python's "
            "templates write them; they are sent as they stand"
        )
    first, *further = (_make_judge(one, known) for one in options.list_judges())
    names = [first.name, *(one.name for one in further)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"the judge {twice[0]} is given twice",
            hint="to see how far a judge agrees with itself, use --judge-repeat N",
        )
    return JudgeSetup(first, prompts, tuple(further))


def _make_judge(options: Options, known: Sequence[Mapping[str, Any]]) -> Model:
    """A judge, asked at temperature 0 unless the options say otherwise.

    A run that was begun without, by an earlier version, goes on so: its verdicts stay those of one judge.
    """
    assert isinstance(options.judge, str)
    settings = options.make_model_settings("judge")
    try:
        judge = make_model(options.judge, settings)
        is_set = "temperature" in settings.parameters or judge.identity in known
        if is_set or not takes_temperature(options.judge):
            return judge
        cool = {"temperature": 0, **settings.parameters}
        return make_model(options.judge, replace(settings, parameters=cool))
    except UsageError as err:
        name_role(err, "judge")
        raise
