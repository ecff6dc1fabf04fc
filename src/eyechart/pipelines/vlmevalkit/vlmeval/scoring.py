"""`evaluate` of a dataset class that no script has changed: predictions in, verdicts and accuracies out."""

from __future__ import annotations

import csv
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.data.columns.image_columns import is_image_name
from eyechart.data.columns.meaning import SourceOptions, to_text
from eyechart.data.samples import FileSource, MemorySource
from eyechart.data.source import open_memory
from eyechart.errors import API_FAILURE, DataError, ModelError, UsageError, join_names
from eyechart.pipelines.vlmevalkit import report
from eyechart.pipelines.vlmevalkit.benchmark import find_question, mark_circle
from eyechart.pipelines.vlmevalkit.score import RELEASED
from eyechart.pipelines.vlmevalkit.vlmeval import smp
from eyechart.prompt.default import build_custom_prompt
from eyechart.report.rows import open_text_file
from eyechart.runs.options import Options
from eyechart.runs.replies import score_replies
from eyechart.score.judged import UNREADABLE
from eyechart.terminal import print_note
from eyechart.types import Benchmark, Prompt, Result, Sample, Source

if TYPE_CHECKING:
    from eyechart.runs.results import Run


def score_file(eval_file: str | Path, name: str, *, is_choice: bool, judge: Mapping[str, Any]) -> smp.Frame:
    """Score the predictions in a file.

    Writes ``<stem>_acc.csv`` (or .json), whose table is returned, and ``<stem>_<judge>_result.xlsx`` with the
    `hit` and `log` of every question. `judge` holds `model`, `api_base`, `key`; see `read_judge_arguments`.
    """
    path = Path(eval_file)
    frame = smp.load_table(path)
    smp.require(frame, ["index", "answer", "prediction"], path.name)
    samples = read_samples(frame.drop(columns="prediction"), name)
    if not any(sample.golds for sample in samples):
        raise DataError(
            f"{path.name}: no row has an answer to compare with", hint="mode: infer only writes predictions"
        )
    texts = ["" if smp.is_missing(cell) else to_text(smp.to_plain(cell)) for cell in frame["prediction"]]
    replies = {
        sample.id: text for sample, text in zip(samples, texts, strict=True) if API_FAILURE not in text
    }
    if not replies:
        raise DataError(f"{path.name}: no row has a reply", hint="run again; failed requests are not replies")
    benchmark = make_benchmark(name, MemorySource(name, name, tuple(samples)), is_choice=is_choice)
    judge_name = report.format_judge_name({"judge": judge.get("model")})
    results = _score(benchmark, replies, {} if judge_name == report.NO_JUDGE else read_judge_arguments(judge))
    found = report.survey_results(lambda: results)
    for what, n in (
        ("have no reply", sum(result.reply is None for result in results)),
        ("have no answer to compare with", sum(not sample.golds for sample in samples)),
    ):
        if n:
            print_note(f"eyechart: {path.name}: {n:,} of {len(results):,} rows {what}, not counted")
    smp.dump(_list_verdicts(frame, results, found), path.with_name(f"{path.stem}_{judge_name}_result.xlsx"))
    if not found.accuracies:
        raise DataError(f"{path.name}: no reply has a verdict", hint="try another judge")
    write_accuracies(found.accuracies, path.parent, path.stem)
    return smp.import_pandas().DataFrame(found.accuracies)


def make_benchmark(
    name: str, source: Source, prompt: Prompt = build_custom_prompt, *, is_choice: bool, about: str = ""
) -> Benchmark:
    """A dataset of a user as a benchmark: choices by VLMEvalKit's rules, open questions by eyechart's."""
    return Benchmark(
        name=name,
        source=source,
        prompt=prompt,
        scorer=RELEASED if is_choice else "default",
        judged_scorer=RELEASED if is_choice else "judged",
        circular="headline" if is_choice and is_circular(name) else "",
        about=about,
    )


def _score(benchmark: Benchmark, replies: Mapping[str, str], judging: Mapping[str, Any]) -> list[Result]:
    """The results of a temporary run on the replies, by the id of their sample."""
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        file = Path(folder) / "replies.jsonl"
        with file.open("w", encoding="utf-8", errors="backslashreplace") as lines:
            lines.writelines(json.dumps({"id": id, "reply": text}) + "\n" for id, text in replies.items())
        run = score_replies(benchmark, file, Options.of({**judging, "progress": False, "out": folder}))
        results = list(run.samples())
        note_unjudged(run, len(results), benchmark.name)
        return results


def _list_verdicts(frame: smp.Frame, results: Sequence[Result], found: report.Survey) -> smp.Frame:
    """The questions with `hit` and `log`, sorted by index."""
    columns = [str(name) for name in frame.columns if name != "prediction"]
    found.own = tuple(columns)
    rows = [
        (report.get_index_order(result.sample.id), found.make_verdict_row(result, row))
        for result, row in zip(results, frame[columns].itertuples(index=False, name=None), strict=True)
        if found.has_verdict(result)
    ]
    rows.sort(key=itemgetter(0))
    return smp.import_pandas().DataFrame([row for _, row in rows], columns=found.make_verdict_heading())


# -- Rows of a table as samples

# A dataset with one of these in its name holds rotations: a question is correct if all its rows are.
CIRCULAR_NAMES = ("mmbench", "ccbench", "circular", "mmcr")


def is_circular(name: str) -> bool:
    """Whether the name of a dataset marks its rows as rotations of fewer questions.

    >>> is_circular("my_MMBench"), is_circular("custom_mcq")
    (True, False)
    """
    return any(part in name.lower() for part in CIRCULAR_NAMES)


def read_samples(frame: smp.Frame, name: str) -> list[Sample]:
    """One sample per row, without images, which the prompt adds."""
    columns = [str(column) for column in frame.columns]
    if "question" not in [column.lower() for column in columns]:
        raise DataError(f"{name}: no column 'question' (found: {join_names(columns, 12)})", hint="add it")
    texts = frame.drop(columns=[column for column in frame.columns if is_image_name(str(column))])
    file = open_memory(texts, SourceOptions(keeps_golds=True), name)
    assert isinstance(file, FileSource)
    samples = list(file)
    if not is_circular(name) or not file.detection.letters:
        return samples
    known = {sample.id for sample in samples}
    questions = map(find_question, samples)  # unlike `MMBenchSource`, also by a `g_index` without a number
    return [
        sample if question is None else mark_circle(sample, question, is_known=str(question) in known)
        for sample, question in zip(samples, questions, strict=True)
    ]


# -- Replies without a verdict, because the judge failed or is unreadable: they are not counted

# Inside ``hold(KEPT, numbers)``, `evaluate` leaves them out instead of failing, and adds how many they are.
KEPT: ContextVar[list[int] | None] = ContextVar("kept", default=None)


def count_unjudged(done: Run) -> tuple[int, str]:
    """How many replies have no verdict because the judge failed, and why.

    An unreachable judge ends the scoring: all later replies have no verdict either.
    """
    if done.trouble is None and not done.n_unjudged:
        return 0, ""
    why = done.trouble.message if done.trouble is not None else ""
    n = done.n_unjudged
    for result in done.samples():
        if result.reply is not None and result.score is None and result.sample.golds:
            n += done.trouble is not None
        elif result.score is not None and not why:
            why = str(result.score.detail.get("judge") or "")
    return n, why.partition("\n")[0]


def describe_unreadable(results: Iterable[Result], n_all: int) -> str:
    """A note on replies whose verdict cannot be read; empty if there are none.

    They stay without a verdict: the judge's words are stored, and not requested again.
    """
    scores = (result.score for result in results if result.score is not None)
    said = [str(one.detail.get("judge")) for one in scores if one.detail.get("fail_reason") == UNREADABLE]
    if not said:
        return ""
    which = "1 reply" if len(said) == 1 else f"{len(said)} of {n_all} replies"
    return f"the judge's verdict on {which} cannot be read, not counted (e.g. {said[0][:40]!r})"


def note_unjudged(done: Run, n_all: int, file: str) -> None:
    """Raise if replies of a file wait for the judge, unless they are left out (`KEPT`)."""
    if unread := describe_unreadable(done.samples(), n_all):
        print_note(f"eyechart: {file}: {unread}")
    n, why = count_unjudged(done)
    if not n:
        return
    kept = KEPT.get()
    if kept is None:
        said = describe_unjudged(n, n_all, "which gave no answer", why)
        raise ModelError(
            f"{file}: {said}", hint="the same call asks it again; keep_failed: true scores the others"
        )
    kept.append(n)
    print_note(f"eyechart: {file}: {describe_unjudged(n, n_all, 'not counted', why)}")


def describe_unjudged(n: int, n_all: int, what: str, why: str) -> str:
    """How many replies have no verdict, what that means, and why.

    >>> describe_unjudged(2, 3, "not counted", "no connection")
    '2 of 3 replies wait for the judge, not counted (no connection)'
    """
    wait = "waits" if n == 1 else "wait"
    return f"{n} of {n_all} replies {wait} for the judge, {what}" + (f" ({why})" if why else "")


# -- The judge: from the arguments of an `evaluate` to the options of a run

_OURS = ("openai/", "python:", "baseline/")
# As published: the versions that stand for the short names of judges.
_VERSIONS = {
    "gpt-4-turbo": "gpt-4-1106-preview", "gpt-4-0125": "gpt-4-0125-preview",
    "gpt-4-0409": "gpt-4-turbo-2024-04-09", "chatgpt-1106": "gpt-3.5-turbo-1106",
    "chatgpt-0125": "gpt-3.5-turbo-0125", "gpt-4o": "gpt-4o-2024-05-13",
    "gpt-4o-0806": "gpt-4o-2024-08-06", "gpt-4o-1120": "gpt-4o-2024-11-20",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
}  # fmt: skip
_JUDGE_TOKENS = 2048
# OpenAI's reasoning models: they take no temperature, and their token limit has another name.
REASONING = re.compile(r"(?<![a-z0-9])(?:o1|o3|o4|gpt-5)", re.IGNORECASE)
# Arguments of an `evaluate`; all others are parameters of the judge.
JUDGE_ARGUMENTS = ("model", "api_base", "key", "nproc", "retry", "timeout", "verbose")


def format_judge_spec(name: str) -> str:
    """A judge as a model specification: a bare name is a served model.

    >>> [format_judge_spec(name) for name in ("gpt-4o", "openai/gpt-4o", "Qwen/Qwen3", "python:j.py:J")]
    ['openai/gpt-4o', 'openai/gpt-4o', 'openai/Qwen/Qwen3', 'python:j.py:J']
    """
    return name if name.startswith(_OURS) else f"openai/{name}"


# The model that is asked in place of every judge that an `evaluate` names.
LOCAL_JUDGE: ContextVar[str] = ContextVar("local judge", default="")


def find_judge_spec(name: str) -> str:
    """The model that is requested for a judge of this name: a local one, or the version that it stands for.

    >>> [find_judge_spec(name) for name in ("gpt-4o", "openai/gpt-4o", "Qwen/Qwen3")]
    ['openai/gpt-4o-2024-05-13', 'openai/gpt-4o', 'openai/Qwen/Qwen3']
    """
    return format_judge_spec(LOCAL_JUDGE.get() or _VERSIONS.get(name, name))


def fill_judge_params(spec: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a judge's requests: those that VLMEvalKit sends, where none are given.

    >>> fill_judge_params("openai/j", {"top_p": 0.5}), fill_judge_params("openai/o3", {"temperature": 1})
    ({'temperature': 0, 'max_tokens': 2048, 'top_p': 0.5}, {'max_completion_tokens': 2048})
    >>> fill_judge_params("python:j.py:J", {})
    {}
    """
    if not spec.startswith("openai/"):
        return dict(given)
    if not REASONING.search(spec):
        return {"temperature": 0, "max_tokens": _JUDGE_TOKENS, **given}
    kept = {name: value for name, value in given.items() if name not in ("temperature", "max_tokens")}
    return {"max_completion_tokens": given.get("max_tokens", _JUDGE_TOKENS), **kept}


def make_judge_options(
    spec: str, url: str | None, key: str | None, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a run that make it ask a judge."""
    key = key or ("EMPTY" if url else None)  # never a key of the environment
    found = {"judge": spec, "judge_base_url": url, "judge_api_key": key, "judge_params": params or None}
    return {name: value for name, value in found.items() if value is not None}


def read_judge_arguments(said: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run, from the keyword arguments of an `evaluate`.

    >>> read_judge_arguments({"model": "j", "retry": 3, "verbose": True, "temperature": 1})
    {'judge': 'openai/j', 'judge_params': {'temperature': 1, 'max_tokens': 2048}, 'retries': 2}
    """
    spec = find_judge_spec(str(said["model"]))
    params = {name: value for name, value in said.items() if name not in JUDGE_ARGUMENTS}
    judge = make_judge_options(spec, said.get("api_base"), said.get("key"), fill_judge_params(spec, params))
    retries = said["retry"] - 1 if said.get("retry") else None
    pace = {"concurrency": said.get("nproc"), "retries": retries, "timeout_s": said.get("timeout")}
    return {**judge, **{name: value for name, value in pace.items() if value is not None}}


# -- The file of accuracies beside the predictions: ``<stem>_acc.csv`` or ``.json``

ACCURACIES = ("EVAL_FORMAT", ("csv", "json"))  # the variable that names their format, and the formats


def choose_format(variable: str, formats: Sequence[str]) -> str:
    """The format that a variable of the environment names, else the first."""
    said = os.environ.get(variable) or formats[0]
    if said not in formats:
        hint = f"one of: {', '.join(formats)}"
        raise UsageError(f"{variable} is {said!r}, which is not possible", hint=hint)
    return said


def write_accuracies(lines: Sequence[report.Line], folder: Path, stem: str) -> Path:
    """Write the table in the chosen format; remove one in another format."""
    path, *others = list_accuracy_files(folder, stem)
    if path.suffix == ".csv":
        report.write_accuracy_csv(lines, path)
    else:
        with open_text_file(path) as file:
            shown = [{name: None if cell != cell else cell for name, cell in line.items()} for line in lines]
            json.dump(shown, file, indent=4, ensure_ascii=False)  # null for nan
    for other in others:
        other.unlink(missing_ok=True)
    return path


def read_accuracies(folder: Path, stem: str) -> tuple[dict[str, str], ...]:
    """The rows of the file as texts; empty without a file."""
    path = next(filter(Path.is_file, list_accuracy_files(folder, stem)), None)
    return tuple(map(to_texts, _read_rows(path))) if path else ()


def list_accuracy_files(folder: Path, stem: str) -> list[Path]:
    """The possible files of accuracies, the chosen format first."""
    chosen = choose_format(*ACCURACIES)
    endings = [chosen, *(ending for ending in ACCURACIES[1] if ending != chosen)]
    return [folder / f"{stem}_acc.{ending}" for ending in endings]


def to_texts(row: Mapping[Any, Any]) -> dict[str, str]:
    """A row as texts.

    >>> to_texts({"Overall": 1.0, "map": None})
    {'Overall': '1.0', 'map': ''}
    """
    return {str(name): "" if value is None else str(value) for name, value in row.items()}


def _read_rows(path: Path) -> list[Any]:
    """Rows, or a single row; empty if another program wrote something else."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
            return list(csv.DictReader(file))
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(path.read_bytes())
        rows = [content] if isinstance(content, Mapping) else content
        if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            return rows
    return []
