"""Audit a benchmark and a model: whether the image matters, and what else moves the answers.

Every condition is an ordinary run in its ordinary folder, so an audit resumes like a run, and shares replies
with the runs beside it: after ``eyechart run``, only the other conditions are asked. The results are in a
folder beside the run with the images: audit.json and blind-solvable.jsonl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from eyechart.circular import rotate_sample
from eyechart.data.samples import ChangedSource
from eyechart.errors import UsageError
from eyechart.files import atomic_write
from eyechart.option import list_option_names
from eyechart.prompt import inputs
from eyechart.registry import suggest_name
from eyechart.report import audit as report
from eyechart.report.choices import compute_chance, compute_letter_bias
from eyechart.report.rows import to_json_text
from eyechart.runs.estimate import Estimate, drop_keys, estimate
from eyechart.runs.evaluate import evaluate
from eyechart.runs.inputs import IN_PLACE, check_input
from eyechart.runs.models import choose_models
from eyechart.runs.options import LOOK, SET_BY_CONDITIONS, Options
from eyechart.runs.plan import Plan, make_plan, share_limits
from eyechart.runs.results import Run, iterate_values
from eyechart.store.folder import AUDIT, prepare_folder, write_json
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Sample, Source

Condition = Literal["none", "blank", "shuffled", "caption", "ocr", "rotations", "rewordings"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
USUAL: tuple[Condition, ...] = ("none", "blank", "shuffled")
_TEXT_ONLY = ("none", "caption", "ocr")
IMAGE, TEXT_MODEL, REWORDINGS = "image", "text-model", "rewordings"
AUDIT_NAME, BLIND_NAME = "audit.json", "blind-solvable.jsonl"


class AuditPlan(NamedTuple):
    """The runs of an audit, checked and not started: each with the condition that it belongs to."""

    runs: Sequence[tuple[str, Plan]]  # the first is the one with the images
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The results of an audit, and their folder."""

    folder: Path
    benchmark: str
    model: str
    numbers: report.AuditNumbers
    runs: Mapping[str, tuple[Run, ...]]  # by condition
    is_complete: bool = True  # False: stopped before all was asked

    @property
    def verdict(self) -> str:
        """One sentence: whether the image matters, and by how much."""
        return self.numbers.verdict

    @property
    def blind_solvable(self) -> tuple[str, ...]:
        """The ids of questions that the model answers right without the image, in every trial."""
        return self.numbers.blind_solvable

    @property
    def is_interrupted(self) -> bool:
        return any(run.is_interrupted for run in self._list_runs())

    @property
    def n_asked(self) -> int:
        """Requests that this start has sent or found in the cache; 0 if all replies were already stored."""
        return sum(run.n_asked or 0 for run in self._list_runs())

    @property
    def exit_code(self) -> int:
        """That of the runs: interrupted before failed before success."""
        return max((run.exit_code for run in self._list_runs()), default=0)

    def score(self, condition: str = IMAGE) -> float | None:
        """The score of a condition, from 0 to 1."""
        return self._find(condition).score

    def gain(self, condition: str = "none") -> float | None:
        """What the image adds to a condition: the paired difference of the scores."""
        return self._find(condition).gain

    def _find(self, condition: str) -> report.AuditedCondition:
        if condition not in self.numbers.conditions:
            known = ", ".join(self.numbers.conditions)
            raise UsageError(f"the audit has no condition {condition!r}", hint=f"it has: {known}")
        return self.numbers.conditions[condition]

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints and audit.json contains."""
        requests, costs = Counter[str](), list[float | None]()
        for run in self._list_runs():
            requests.update(run.summary.requests)
            costs.append(run.cost)
        return {
            "audit": str(self.folder),
            "benchmark": self.benchmark,
            "model": self.model,
            "is_complete": self.is_complete,
            **self.numbers.to_json(),
            "requests": dict(requests),
            "cost": None if None in costs else sum(filter(None, costs)),
        }

    def _list_runs(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs]


def audit(
    source: str | Path | Benchmark | Source,
    model: str | object,
    *,
    conditions: Sequence[str] | None = None,
    text_model: str | None = None,
    **options: Any,
) -> Audit:
    """Ask the questions of `source` with their images, without, and with something else in their place.

    `conditions` are some of: none, blank, shuffled, caption, ocr, rotations, rewordings (default: the first
    three, and caption or ocr if `captions` or `ocr_texts` is given). `text_model` is asked without images, to
    find questions that can be answered from their text. `options` are those of `ec.run`. Repeating the call
    asks only what is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     found = audit("demo", "baseline/majority", conditions=["none"], limit=5, out=out, progress=False)
    ...     found.gain("none")
    0.0
    """
    found = run_audit(plan_audit(source, model, options, conditions, text_model))
    if found.is_interrupted:
        raise KeyboardInterrupt(f"the answers so far are kept; the same call resumes ({found.folder})")
    return found


# -- Planning


def plan_audit(
    source: str | Path | Benchmark | Source,
    model: str | object,
    options: Mapping[str, Any],
    conditions: Sequence[str] | None = None,
    text_model: str | None = None,
    *,
    needs_keys: bool = True,
) -> AuditPlan:
    """Plan the runs of an audit. Writes nothing, spends nothing. An estimate needs no keys."""
    texts = {name: options.get(name) for name in ("captions", "ocr_texts")}
    names = choose_conditions(conditions, texts)
    given = {name: value for name, value in options.items() if name not in texts}
    for name in SET_BY_CONDITIONS:
        if given.get(name) not in (None, False, IMAGE, "any"):
            raise UsageError(f"{name} is set by the conditions of the audit", hint=f"leave out --{name}")
    if given.get("shard") is not None:
        raise UsageError("an audit compares whole runs", hint="leave out --shard")
    models = [model] if text_model is None else [model, text_model]
    chosen = [(one, own if needs_keys else drop_keys(own)) for one, own in choose_models(models, given)]
    (of_model, common), *rest = chosen
    runs: list[tuple[str, Plan]] = []
    for name in (IMAGE, *names):
        asked = runs[0][1].benchmark.source if name == "rotations" else ()
        if name == "rotations" and not any(one.circle or len(rotate_sample(one)) > 1 for one in asked):
            what = "rotations: no question has options that can be rotated"
            raise UsageError(what, hint="leave out this condition")
        for one in _list_options(name, common, texts):
            runs.append((name, make_plan(source, of_model, one)))
            if one.input in IN_PLACE:
                check_input(runs[-1][1])  # what is wrong with it must not show after others were paid for
    for of_text, one in rest:
        runs.append((TEXT_MODEL, make_plan(source, of_text, *_list_options("none", one, texts))))
    image = runs[0][1].folder
    shared = zip((name for name, _ in runs), share_limits([plan for _, plan in runs]), strict=True)
    return AuditPlan(list(shared), image.with_name(image.name + AUDIT))


def choose_conditions(given: Sequence[str] | None, texts: Mapping[str, Any]) -> list[str]:
    """The conditions besides the image, each once, in our order.

    >>> choose_conditions(None, {"captions": "c.jsonl"}), choose_conditions(["rotations", "none"], {})
    (['none', 'blank', 'shuffled', 'caption'], ['none', 'rotations'])
    """
    kinds = {"captions": "caption", "ocr_texts": "ocr"}
    asked = {kinds[name] for name, value in texts.items() if value}
    if given is None:
        wanted = {*USUAL, *asked}
    else:
        wanted = set(CONDITIONS[:3] + CONDITIONS[5:]) | asked if "all" in given else {*given} - {IMAGE}
        for name in sorted(wanted - {*CONDITIONS}):
            hint = suggest_name(name, list(CONDITIONS), otherwise=f"known: all, {', '.join(CONDITIONS)}")
            raise UsageError(f"no condition named {name!r}", hint=hint)
        if unused := sorted(asked - wanted):
            flag = next(name for name, kind in kinds.items() if kind == unused[0]).replace("_", "-")
            raise UsageError(
                f"--{flag} has no effect: {unused[0]} is not among the conditions",
                hint=f"add it to --conditions, or leave out --{flag}",
            )
    return [name for name in CONDITIONS if name in wanted]


def _list_options(condition: str, common: Options, texts: Mapping[str, Any]) -> Iterator[Options]:
    """The options of the runs of one condition, as ``eyechart run`` would have them."""
    if condition in _TEXT_ONLY:  # as in a run of their own, where options for images are refused
        common = replace(common, max_pixels=None, max_side=None, jpeg_quality=None, pass_urls=False)
    if condition in (*_TEXT_ONLY, "blank"):  # there is nothing to look at
        usual = Options()
        common = replace(common, **{name: getattr(usual, name) for name in list_option_names(Options, LOOK)})
    if condition == REWORDINGS:
        yield from (replace(common, reword=wording) for wording in inputs.REWORDINGS)
        return
    changes: dict[str, dict[str, Any]] = {
        IMAGE: {},
        "rotations": {"circular": True},
        "blank": {"input": "blank", "pass_urls": False},
        "caption": {"input": "caption", "captions": texts["captions"] and str(texts["captions"])},
        "ocr": {"input": "ocr", "ocr_texts": texts["ocr_texts"] and str(texts["ocr_texts"])},
    }
    yield replace(common, **changes.get(condition, {"input": condition}))


def estimate_audit(plan: AuditPlan) -> list[tuple[str, Estimate]]:
    """What each run of an audit would send and cost."""
    notes_shown: set[str] = set()
    found = []
    for name, one in plan.runs:
        source = ChangedSource(one.benchmark.source, _choose_turned)
        # The run with the images asks the questions as they are; a file may itself hold the rotations.
        if name == "rotations" and next(iter(source), None) is not None:
            one = replace(one, benchmark=replace(one.benchmark, source=source))
        found.append((name, estimate(one, notes_shown=notes_shown)))
    return found


def _choose_turned(samples: Iterable[Sample]) -> Iterator[Sample]:
    return (sample for sample in samples if sample.meta.get("rotation"))


# -- Running


def run_audit(plan: AuditPlan) -> Audit:
    """Run the conditions one after the other, until one is stopped, then count and write what was found."""
    runs: dict[str, list[Run]] = {}
    notes_shown: set[str] = set()
    is_complete = True
    for number, (name, one) in enumerate(plan.runs, start=1):
        if one.options.progress:
            worded = f" ({one.options.reword})" if one.options.reword else ""
            print_note(f"audit, run {number} of {len(plan.runs)}: {name}{worded}, {one.model.name}")
        done = evaluate(one, notes_shown=notes_shown)
        runs.setdefault(name, []).append(done)
        if done.is_interrupted or done.trouble is not None:
            is_complete = False
            break
    found = Audit(
        folder=plan.folder,
        benchmark=plan.runs[0][1].benchmark.name,
        model=plan.runs[0][1].model.name,
        numbers=count_audit(runs),
        runs={name: tuple(several) for name, several in runs.items()},
        is_complete=is_complete,
    )
    prepare_folder(found.folder)
    write_json(found.folder / AUDIT_NAME, found.to_json())
    if found.runs.keys() & {"none", TEXT_MODEL}:  # a model was asked without images
        with atomic_write(found.folder / BLIND_NAME) as place, place.open("w", encoding="utf-8") as file:
            file.writelines(to_json_text(line) + "\n" for line in _list_blind_solvable(found.runs))
    [image] = found.runs[IMAGE]
    if "none" in found.runs:
        image.try_to_write_report()  # again: its page shows the score without the images
    return found


def count_audit(runs: Mapping[str, Sequence[Run]]) -> report.AuditNumbers:
    """All numbers of an audit, from the journals of its runs."""
    [image] = runs[IMAGE]
    questions = _read_questions(runs)
    folders = {name: [str(run.folder) for run in several] for name, several in runs.items()}
    conditions = report.compare_conditions(questions, folders)
    blind = report.find_blind_solvable(questions)
    rotated = runs.get("rotations", (image,))[0]
    guessed = report.compute_interval(questions, IMAGE, of_chance=True)
    chance = guessed.mean if guessed else None
    return report.AuditNumbers(
        n=len(questions.ids),
        chance=chance,
        conditions=conditions,
        blind_solvable=blind,
        letters=compute_letter_bias(rotated.counted(), "rotations" if "rotations" in runs else IMAGE),
        leakage=_find_leakage(runs, questions, blind),
        verdict=report.build_verdict(conditions, chance),
    )


def _read_questions(runs: Mapping[str, Sequence[Run]]) -> report.AuditedQuestions:
    """The value under every condition of every question with an image, with the clusters of these images."""
    [image] = runs[IMAGE]
    chances = _compute_chances(image)
    asked = [one for one in iterate_values(image) if one.id in chances]
    ids, own = [one.id for one in asked], [one.value for one in asked]
    values: dict[str, Sequence[float | None]] = {IMAGE: own}
    changed: dict[str, Sequence[bool | None]] = {}
    for name, several in runs.items():
        if name == "rotations":
            rotations = report.group_rotations(several[0].counted())
            values[name], changed[name] = report.merge_versions(rotations.get(one, ()) for one in ids)
        elif name == REWORDINGS:
            found = [{one.id: one.value for one in iterate_values(run)} for run in several]
            versions = [[worded.get(one) for worded in found] for one in ids]
            values[name], _ = report.merge_versions(versions)
            _, changed[name] = report.merge_versions(
                [mine, *others] for mine, others in zip(own, versions, strict=True)
            )
        elif name != IMAGE:
            by_id = {one.id: one.value for one in iterate_values(several[0])}
            values[name] = [by_id.get(one) for one in ids]
    return report.AuditedQuestions(
        ids=ids,
        weights=[one.weight for one in asked],
        clusters=[one.cluster for one in asked],
        chances=[chances[one] for one in ids],
        values=values,
        changed=changed,
    )


def _compute_chances(image: Run) -> dict[str, float]:
    """What guessing scores on every question with an image; with rotations, all of them must be guessed."""
    found: dict[str, float] = {}
    for result in image.counted():
        sample = result.sample
        if result.trial == 0 and sample.images:
            question = sample.circle or sample.id if image.is_circular else sample.id
            found[question] = found.get(question, 1.0) * compute_chance(sample)
    return found


def _find_leakage(
    runs: Mapping[str, Sequence[Run]], questions: report.AuditedQuestions, blind: Sequence[str]
) -> report.Leakage | None:
    if TEXT_MODEL not in runs:
        return None
    [run] = runs[TEXT_MODEL]
    score = report.compute_interval(questions, TEXT_MODEL)
    return report.Leakage(
        model=str(run.manifest.get("model", "")),
        run=str(run.folder),
        n=score.n if score else 0,
        score=score.mean if score else None,
        ci95=(score.low, score.high) if score else None,
        n_both=len({*blind} & {*report.find_blind_solvable(questions, TEXT_MODEL)}),
    )


def _list_blind_solvable(runs: Mapping[str, Sequence[Run]]) -> Iterator[dict[str, Any]]:
    """A line per question that a model solves without the image, in the benchmark's order."""
    blind = [run for name in ("none", TEXT_MODEL) for run in runs.get(name, ())]
    asked = {str(run.manifest.get("model", "")): run for run in blind}
    solved = {name: {one.id for one in iterate_values(run) if one.value == 1} for name, run in asked.items()}
    read: set[str] = set()
    for model, run in asked.items():
        for result in run.counted():
            sample = result.sample
            question = sample.circle or sample.id
            is_new = question in solved[model] and question not in read and sample.images
            if not is_new or result.score is None:
                continue
            read.add(question)
            yield {
                "id": question,
                "by": [name for name, ids in solved.items() if question in ids],
                "question": sample.question,
                "gold": list(sample.golds),
                "answer": result.score.read,
                "chance": compute_chance(sample),
            }
