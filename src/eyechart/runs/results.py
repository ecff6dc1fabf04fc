"""A run on disk: its numbers, its samples, and the files made from it."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from eyechart.circular import merge_rotations
from eyechart.errors import EyechartError, MissingExtra, ModelError, UsageError
from eyechart.models.prices import Price
from eyechart.option import list_options
from eyechart.registry import exporters, is_for_any_run, suggest_name
from eyechart.report.clusters import check_column, choose_rules, find_clusters
from eyechart.report.conditions import describe_conditions, read_options
from eyechart.report.counting import (
    NO_GROUPS,
    Group,
    ResultCounter,
    check_groups,
    compute_credit,
    count_results,
    group_trials,
    is_voted,
    merge_votes,
)
from eyechart.report.judges import JudgeCard, compute_person_check, make_card, read_labels
from eyechart.report.looks import summarise_looks
from eyechart.report.metrics import compute_metrics
from eyechart.report.rows import to_rows
from eyechart.report.summary import Summary, find_unread, make_summary, summarise
from eyechart.runs.corrections import Correction, correct_results, list_stale
from eyechart.runs.cost import compute_judge_cost, compute_paid_cost, read_judge_prices
from eyechart.runs.options import Options
from eyechart.runs.plugins import find_exporter, find_scorer
from eyechart.score.thinking import set_thinking
from eyechart.store.folder import REPORT_NAME, SUMMARY_NAME, prepare_folder, write_json
from eyechart.store.journal import FILE_NAME, Journal
from eyechart.store.reader import Call, Verdict
from eyechart.types import Export, Reply, Result, Usage

OFFICIAL = "official"  # the folder of the benchmark's own result files
_TRIALS = "mean of trials"  # beside the vote


class Run:
    """A run on disk: its numbers, and every sample behind them."""

    def __init__(
        self,
        folder: str | Path,
        *,
        cluster: str | None = None,  # as --cluster: a column, "image" or "none"
        by: Sequence[str] | None = None,  # as --by: columns, each alone or several crossed by commas
        is_untouched: bool = False,  # reading creates no files in the folder: for short reads only
    ) -> None:
        self.folder = Path(folder)
        self.is_interrupted = False
        self.trouble: ModelError | None = None  # what ended the run early, if anything did
        self.files: list[Path] = []  # the result files of the benchmark's own pipeline, once written
        self.exported: list[Path] = []  # the files of further exporters, once written
        self.files_trouble = ""  # why they could not be written
        self.report_trouble = ""  # why report.html could not be written
        self.n_asked: int | None = None  # requests that this start has sent; None: the run was only opened
        self.cache_trouble = ""  # why the response cache could not be used
        self.journal = Journal.open(self.folder / FILE_NAME, is_untouched=is_untouched)
        self.manifest: dict[str, Any] = self.journal.read_mapping("manifest")
        if cluster is not None or "cluster" not in self.manifest:
            self.manifest["cluster"] = choose_rules((), cluster)
        self._own_groups = [str(key) for key in self.manifest.get("group_by", ())]
        self._group(read_options(self.manifest).get("by") or () if by is None else by)

    def _group(self, by: Sequence[str]) -> None:
        """Show the groups of these columns; those of the benchmark are counted, too, for its own numbers."""
        self._shown = [key for key in by if key != NO_GROUPS] if by else self._own_groups
        own = [key for key in self._own_groups if key not in self._shown]
        self.manifest["group_by"] = [*self._shown, *own]

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, score={self.score})"

    def _repr_html_(self) -> str:
        from eyechart.report.notebook import show_run

        report = self.folder / REPORT_NAME
        return show_run(self.summary, self.conditions, str(report) if report.is_file() else "")

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions under which the score was measured, by name."""
        return describe_conditions({**self.manifest, "parity": self.summary.parity}, list_options(Options))

    @cached_property
    def _plain(self) -> Summary:
        """The summary over all rows, each rotation of a question counted as a row."""
        counter = ResultCounter(self.manifest.get("group_by", []), in_order=True)
        for result in self.counted():
            counter.add(result)
        return self._summarise(counter)

    def count_samples(self) -> Iterator[Result]:
        """As `samples`, counted on the way: after the last one, the summary needs no pass of its own."""
        counter = ResultCounter(self.manifest.get("group_by", []), in_order=True)
        for result in self.samples():
            counter.add(result)
            yield result
        self._plain = self._summarise(counter)

    def _summarise(self, counter: ResultCounter) -> Summary:
        self._has_fields = counter.has_fields
        totals = self.journal.totals()
        judged, searched = self.journal.judged_totals(), self.journal.judged_totals("search")
        requests = {name: int(totals[name]) for name in ("sent", "retried", "cached")}
        if judged:
            requests["judge"] = sum(one.n_asked for one in judged)
            cached = sum(one.n_cached for one in judged)
            requests |= {"judge_cached": cached} if cached else {}
        plain = make_summary(
            counter,
            benchmark=self.manifest.get("benchmark", ""),
            model=self.manifest.get("model", ""),
            macro=self.manifest.get("macro", ""),
            run=str(self.folder),
            requests=requests,
            price=self.price(),
            seconds=totals["seconds"],
            scorer=self.manifest.get("scorer", ""),
            parity=self.manifest.get("parity", ""),
            thinking=self.manifest.get("thinking", "auto"),
            rules=self.manifest.get("rules", ""),
            version=self.manifest.get("eyechart", ""),
        )
        tokens: dict[str, int] = {}
        for role, totalled in (("judge", judged), ("searcher", searched)):
            usage = sum((one.usage for one in totalled), Usage())
            counted = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
            tokens |= {f"{role}_{name}": n for name, n in counted.items() if n}
        cost = plain.cost
        if (judged or searched) and (cost is not None or "replies" in self.manifest):
            theirs = compute_judge_cost(self.journal, [*judged, *searched], otherwise=self.price("judge"))
            cost = None if theirs is None else (cost or 0.0) + theirs
        paid = None if cost is None else compute_paid_cost(self.journal, self.price(), self.price("judge"))
        return replace(plain, tokens={**plain.tokens, **tokens}, cost=cost, paid=paid)

    def price(self, who: str = "model") -> Price | None:
        """The price of the model's tokens in this run, or of the judge's; None if it is not known."""
        kept = self.manifest.get("prices")
        return Price.of(kept.get(who)) if isinstance(kept, Mapping) else None

    @cached_property
    def summary(self) -> Summary:
        """All numbers, counted from the journal."""
        plain, circular = self._plain, self.manifest.get("circular")
        summary, also = plain, dict(plain.also)
        unnamed: dict[str, Any] = {"benchmark": "", "model": ""}
        unnamed |= {"group_by": self.manifest.get("group_by", []), "macro": self.manifest.get("macro", "")}
        if is_voted(self.manifest):
            voted = summarise(merge_votes(self.counted()), **unnamed)
            also = {**voted.also, _TRIALS: plain.overall}
            summary = replace(plain, overall=voted.overall, by=voted.by)
        if circular:
            rotations = merge_votes(self.counted()) if is_voted(self.manifest) else self.counted()
            merged = summarise(merge_rotations(rotations), **unnamed)
            if circular == "headline":
                trials = {name: group for name, group in also.items() if name == _TRIALS}
                also = {**merged.also, "plain": summary.overall, **trials}
                summary = replace(plain, overall=merged.overall, by=merged.by, trials=merged.trials)
            else:
                also["circular"] = merged.overall
        further = {name: self._count(self.counted(name)) for name in self.list_further_scorers()}
        given = [key for key in self._shown if key not in self._own_groups]
        if unsure := [key for key in given if key not in summary.by or "," in key]:
            check_groups(unsure, self.journal.samples())
        # The benchmark's official number, if it is not the mean over rows; the table of fields.
        official = self.manifest.get("aggregate") or ("fields" if self._has_fields else "")
        unread = find_unread(  # over all rows, each rotation by itself
            plain.outcomes, plain.scorer, self.manifest, str(self.folder), has_fields=self._has_fields
        )
        return replace(
            summary,
            by={key: summary.by[key] for key in self._shown if key in summary.by},
            also={**also, **further, **self._by_corrections()},
            metrics=compute_metrics(official, self.counted()) if official else None,
            unread=unread if unread is not None and unread.is_many else None,
            is_stopped=summary.overall.pending > 0 and bool(read_options(self.manifest).get("stop_when")),
            judge=self._make_judge_card(),
            looks=summarise_looks(self.samples(), self.clusters) if self.manifest.get("look") else None,
            parity="" if summary.overall.n_open else summary.parity,
            lost_parity=summary.parity if summary.overall.n_open else "",
        )

    def _make_judge_card(self) -> JudgeCard | None:
        """Who judged, and what a person found; None where rules alone decided and no person looked."""
        by_person = None
        if labels := read_labels(self.journal):
            by_person = compute_person_check(self.counted(), labels, is_plain=self.is_circular)
        return make_card(
            self.journal, self.manifest, prices=read_judge_prices(self.journal), by_person=by_person
        )

    def list_further_scorers(self) -> list[str]:
        """Other scores of the run: those of additional scorers, and earlier ones by another judge."""
        return [*self.manifest.get("also_scorers", ()), *self.manifest.get("kept", ())]

    def _count(self, results: Iterable[Result]) -> Group:
        return count_results(itertools.chain.from_iterable(self.questions(results)))

    @cached_property
    def corrections(self) -> list[Correction]:
        """The corrected golds that the run was given, with ``--corrections``."""
        return msgspec.convert(self.manifest.get("corrections") or [], list[Correction])

    def list_stale_corrections(self) -> list[str]:
        """A line for each correction that does not fit the questions."""
        return list(list_stale(self.journal.samples(), self.corrections)) if self.corrections else []

    def _by_corrections(self) -> dict[str, Group]:
        """The score with the corrected golds, from the same replies."""
        if not (wanted := {one.id: one for one in self.corrections}):
            return {}
        originals = ((wanted[one.id], one) for one in self.journal.samples() if one.id in wanted)
        usable = [(one, sample) for one, sample in originals if one.fits(sample)]
        if not usable:
            return {}
        name, thinking = str(self.manifest.get("scorer", "")), self.manifest.get("thinking", "auto")
        results = correct_results(self.counted(), usable, set_thinking(find_scorer(name), thinking))
        return {f"with {len(usable):,} correction{'s' * (len(usable) != 1)}": self._count(results)}

    @cached_property
    def clusters(self) -> Mapping[int, str]:
        """The clusters of samples, by position: see `report.clusters.find_clusters`."""
        rules = [str(rule) for rule in self.manifest["cluster"]]
        if not rules:
            return {}
        # With other inputs, the image that was sent is not the one that the question is about.
        found = self.journal.belongings(with_sent=not self.replaced_input)
        # A single rule is the user's choice; a benchmark's own columns may be missing from a file, and a
        # shard may hold only samples without a value.
        is_checked = len(rules) == 1 and not read_options(self.manifest).get("shard")
        return find_clusters(check_column(found, rules[0]) if is_checked else found, rules)

    @property
    def is_circular(self) -> bool:
        """Whether CircularEval is the headline: a question counts once with all its rotations."""
        return self.manifest.get("circular") == "headline"

    @property
    def replaced_input(self) -> str:
        """What was sent in place of the images, as ``--input`` names it; empty if they were sent."""
        kind = str(read_options(self.manifest).get("input", "image"))
        return "" if kind in ("image", "any") else kind

    @property
    def trials(self) -> int:
        """How often each sample was asked."""
        return int(self.manifest.get("trials", 1))

    @property
    def score(self) -> float | None:
        """The headline, from 0 to 1; None when nothing could be scored."""
        return self.summary.score

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        return self.summary.ci95

    @property
    def cost(self) -> float | None:
        """In USD, including the judge; None if a price is unknown."""
        return self.summary.cost

    @property
    def outcomes(self) -> dict[str, int]:
        """How many samples ended in which outcome."""
        return {str(outcome): count for outcome, count in self.summary.outcomes.items()}

    def by(self, column: str | Sequence[str]) -> Mapping[str, Group]:
        """The numbers of each group of a column of the data, or of several crossed: ``by("category,level")``.

        Nothing is asked again.
        """
        key = column if isinstance(column, str) else ",".join(column)
        if key in self.summary.by:
            return self.summary.by[key]
        other = copy.copy(self)
        other.manifest = dict(self.manifest)
        for name in ("_plain", "summary"):
            other.__dict__.pop(name, None)
        other._group([key])
        return other.summary.by.get(key, {})

    def samples(self, trial: int | None = None, scorer: str | None = None) -> Iterator[Result]:
        """Every trial of every sample, or one trial of each, in the benchmark's order, read lazily.

        `scorer` names another scorer of the run.
        """
        return self._results(scorer, trial)

    def questions(self, results: Iterable[Result]) -> Iterator[list[Result]]:
        """Results by question, as the headline counts them: a vote for its trials, all rotations as one."""
        voted = merge_votes(results) if is_voted(self.manifest) else results
        return group_trials(merge_rotations(voted) if self.is_circular else voted)

    def list_for_files(self, trial: int | None = None) -> Iterator[Result]:
        """As `samples`, for the files of the benchmark's own pipeline, which hold replies as they came.

        With ``--thinking split`` they hold the answers alone.
        """
        for result in self.samples(trial):
            if self.manifest.get("thinking") == "split" and result.reply is not None and result.reply.tags:
                yield replace(result, reply=replace(result.reply, tags=()))
            else:
                yield result

    def find_calls(self, result: Result) -> list[Call]:
        """What else was asked for a result: earlier rounds, judges, searchers."""
        return list(self.journal.calls(result.sample.id, result.trial))

    def counted(self, scorer: str | None = None) -> Iterator[Result]:
        """Every trial of every sample, without what was asked: enough for counting."""
        return self._results(scorer, is_brief=True)

    def _results(
        self,
        scorer: str | None = None,
        trial: int | None = None,
        sample: str | None = None,
        *,
        is_brief: bool = False,
    ) -> Iterator[Result]:
        if trial is not None and not 0 <= trial < self.trials:
            hint = f"it has {self.trials}, counted from 0"
            raise UsageError(f"{self.folder} has no trial {trial}", hint=hint)
        name, version = self._find_version(scorer)
        return self.journal.results(
            name,
            version=version,
            trials=self.trials,
            trial=trial,
            sample=sample,
            is_brief=is_brief,
            clusters=self.clusters if sample is None else {},
        )

    def _find_version(self, scorer: str | None = None) -> tuple[str, str]:
        """A scorer of the run, or the run's own, with its version."""
        name = scorer or str(self.manifest.get("scorer", ""))
        return name, str(self.manifest.get("versions", {}).get(name, ""))

    def to_pandas(self, trial: int | None = None) -> Any:
        """Every sample as a row of a pandas DataFrame, with the columns of the exports.

        `eyechart docs report` explains the columns.

        One row per trial, or the rows of one `trial` (from 0). Needs ``eyechart[pandas]``.
        """
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError as err:
            raise MissingExtra.named("pandas", needed_for="DataFrames") from err
        rows = to_rows(self.samples(trial), self.price())
        return pandas.DataFrame(list(rows.cells), columns=list(rows.columns))

    def find_reply(self, sample: str, trial: int) -> Reply | None:
        """The current reply to a sample; None if there is none."""
        found = self.journal.results("", trials=self.trials, trial=trial, sample=sample, is_brief=True)
        return next((result.reply for result in found), None) if trial < self.trials else None

    def verdicts(self, scorer: str | None = None) -> Iterator[Verdict]:
        """Sample and trial, outcome and value of every reply, in order; of the run's scorer or another."""
        name, version = self._find_version(scorer)
        return self.journal.verdicts(name, version=version, trials=self.trials)

    def sample(self, name: str, trial: int = 0) -> Result:
        """One sample by its id, or by its position as ``#3``."""
        found = next(self._results(None, trial, sample=name), None)
        if found is not None:
            return found
        if name.startswith("#") and name[1:].isdigit():
            for result in self.samples(trial):
                if result.position + 1 == int(name[1:]):
                    return result
        known = [result.sample.id for result in self.counted()]
        hint = suggest_name(name, known, otherwise=f"ids look like: {', '.join(known[:3])}")
        raise UsageError(f"{self.folder} has no sample {name!r}", hint=hint)

    def write_summary(self) -> None:
        """Write summary.json beside the journal: what ``--json`` prints."""
        write_json(self.folder / SUMMARY_NAME, self.summary.to_json())

    def to_polars(self, trial: int | None = None) -> Any:
        """As `to_pandas`, a polars DataFrame. Needs ``eyechart[polars]``."""
        try:
            import polars
        except ImportError as err:
            raise MissingExtra.named("polars", needed_for="polars DataFrames") from err
        rows = to_rows(self.samples(trial), self.price())
        columns = list(rows.columns)
        return polars.DataFrame(
            list(rows.cells), schema=columns, orient="row", infer_schema_length=None, strict=False
        )

    def write_html(self, path: str | Path, *, full_images: bool = False, is_after_run: bool = False) -> int:
        """Write the run as one HTML file that needs no network: its numbers, plots and samples.

        `full_images`: images as they were sent, not small copies. `is_after_run`: within a limit of time.
        Returns the number of images that could not be read.
        """
        from eyechart.runs import pages

        policy = pages.choose_policy(self, full_images=full_images, is_after_run=is_after_run)
        return pages.write_html(self, path, policy, is_after_run=is_after_run)

    def try_to_write_report(self) -> None:
        """Write summary.json and report.html beside the journal; a page that fails does not fail the run."""
        try:
            self.write_html(self.folder / REPORT_NAME, is_after_run=True)
        except Exception as err:  # the run is complete: its exit code is about its samples
            self.report_trouble = _tell_error(err)
            self.write_summary()

    def write_files(
        self,
        folder: str | Path | None = None,
        exporter: str | None = None,
        *,
        full_images: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> list[Path]:
        """Write the result files of the benchmark's own pipeline, by default into the run folder.

        Returns their paths. `exporter` names another pipeline's files; see `eyechart report --help`.
        `full_images`: files that can contain images contain them as they were sent. `settings`: what only
        the exporter knows, such as the organisation that publishes.
        """
        own = self.manifest.get("files", "")
        name = find_exporter(exporter) if exporter else own
        if not name or (name != own and not is_for_any_run(name)):
            reason = f"{self.manifest.get('benchmark')} has no result files of its own"
            if name:
                reason = f"the files of {name} can be made only from its own runs"
            served = [one for one in exporters.names() if is_for_any_run(one)]
            raise UsageError(reason, hint=f"files for any run: {', '.join(served)}")
        where = Path(folder) if folder is not None else self.folder / OFFICIAL
        prepare_folder(where)
        written: object = exporters.get(name)(
            Export(
                folder=where,
                manifest=self.manifest,
                results=self.list_for_files,
                full_images=full_images,
                find_calls=self.find_calls,
                numbers=self.summary.to_json(),
                started_at=self.journal.read_starts()[1],
                settings=settings or {},
            )
        )
        # An exporter may come from a plug-in; a single string would be split into letters.
        if isinstance(written, str) or not isinstance(written, Iterable):
            raise UsageError(
                f"the exporter {name!r} returned {type(written).__name__}",
                hint="it must return the paths of the files it wrote, as a list",
            )
        self.files = [Path(path) for path in written]
        return self.files

    def try_to_write_files(self, exporter: str | None = None) -> None:
        """Write them after the run; a failure is recorded in `files_trouble` and does not fail the run.

        The files of an `exporter` that is not the benchmark's own go to a folder of its name.
        """
        own = self.files
        folder = None
        if exporter is not None:
            folder = self.folder / re.sub(r"[^\w.-]+", "-", exporter.rpartition(":")[2])
        try:
            written = self.write_files(folder, exporter)
            if exporter is not None:
                self.files, self.exported = own, [*self.exported, *written]
        except Exception as err:  # a plug-in may raise anything
            self.files_trouble = _tell_error(err)

    @property
    def has_files(self) -> bool:
        """Whether the benchmark's result files are in the run folder."""
        return bool(self.manifest.get("files")) and (self.folder / OFFICIAL).is_dir()

    @property
    def n_failed(self) -> int:
        """Sample-trials without an answer or without a verdict."""
        return self._plain.outcomes["failed"]

    @property
    def n_unjudged(self) -> int:
        """Replies whose verdict is pending because a judge call failed."""
        scorer, version = self._find_version()
        return self.journal.count_provisional(scorer, version=version, trials=self.trials)

    @property
    def exit_code(self) -> int:
        """0: no failures, 1: some samples failed, 130: interrupted."""
        if self.is_interrupted:
            return 130
        return 1 if self.n_failed or self.n_unjudged or self.trouble else 0


def _tell_error(err: Exception) -> str:
    return str(err) if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleValue:
    """One sample as statistics see it."""

    id: str
    value: float | None  # the mean over the scored trials, from 0 to 1; None if no trial is scored
    weight: float  # the points it can earn; 1 where all questions count the same
    cluster: str  # the id of the first sample of its cluster; its own id if it is alone


def iterate_values(run: Run) -> Iterator[SampleValue]:
    """One value per sample, in one pass and in the benchmark's order: what `eyechart.stats` takes.

    Where CircularEval is the headline, a question with all its rotations is one value, and questions without
    rotations come first. Samples that failed, have no public answer or are pending have the value None.
    """
    for trials in run.questions(run.counted()):
        first = trials[0]
        scored = [value for result in trials if (value := compute_credit(result)) is not None]
        yield SampleValue(
            id=first.sample.id,
            value=sum(scored) / len(scored) if scored else None,
            weight=first.sample.weight,
            cluster=first.cluster or first.sample.id,
        )
