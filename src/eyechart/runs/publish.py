"""What of a run may leave this machine, and files for a model's repository on the Hugging Face hub.

`write_hub_results` writes a list of evaluation results (``.eval_results/NAME.yaml``), `write_model_index` the
older ``model-index`` block of a model card. Both say which data set of the hub was asked, so a run of any
other file is refused. The newer format has no field for an interval, n or the scorer: they are in `notes`.
Nothing is uploaded. What is written holds no path, no address of an endpoint and no question; `SharedRun` is
for files that hold the samples as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import yaml

from eyechart.data.files.hub import HubSpec, is_hub, parse_hub
from eyechart.errors import EyechartError, UsageError
from eyechart.files import atomic_write
from eyechart.models.specs import strip_password
from eyechart.option import list_options
from eyechart.report.conditions import describe_conditions, hide_folders, name_run
from eyechart.runs.listing import tell_selection
from eyechart.runs.options import Options
from eyechart.runs.results import Run
from eyechart.runs.sources import make_benchmark
from eyechart.types import OUTCOMES, Result

_COMMIT = re.compile("[0-9a-f]{40}")
_URL = re.compile(r"\w+://[^\s'\"<>]+")
_PATH = re.compile(r"""(?<![\w.:/~\\])(?:file://|~)?/[^\s'"()<>]+""")
# The first folder of a path on another machine; on this one, any that exists.
_TOPS = frozenset({"data", "home", "media", "mnt", "opt", "root", "scratch", "srv", "tmp", "usr", "var",
                   "Users", "Volumes", "private"})  # fmt: skip
_TASK = {"type": "image-text-to-text", "name": "Image and text to text"}


def write_hub_results(
    runs: Sequence[Run], path: str | Path, tasks: Sequence[str] = (), *, url: str = "", org: str = ""
) -> None:
    """Write the runs of one model as a list of evaluation results of the hub.

    `tasks`: the id of the task in the data set's `eval.yaml`, or ``BENCHMARK=ID`` for each of several runs;
    ``ORG/NAME:ID`` also names the data set, where the run read a copy. `url` and `org`: where the report can
    be read, and whose it is.
    """
    entries: list[dict[str, Any]] = []
    for run in refuse_several_models(runs):
        hub = find_data_set(run)
        name, given = str(run.manifest.get("benchmark")), [one for one in tasks if "=" not in one]
        named = dict(one.split("=", 1) for one in tasks if "=" in one)
        chosen = named.get(name) or (given[0] if len(given) == 1 else "")
        if not chosen:
            raise UsageError(
                f"{name}: which task of {hub.place} is it?",
                hint="give the id of a task in the data set's eval.yaml: --hub-task ID; of several runs "
                f"--hub-task {name}=ID for each",
            )
        place, _, task = chosen.rpartition(":")
        is_commit = _COMMIT.fullmatch(hub.revision) and place in ("", hub.place)
        revision = {"revision": hub.revision} if is_commit else {}
        dataset = {"id": place or hub.place, "task_id": task, **revision}
        if any(one["dataset"] == dataset for one in entries):
            raise UsageError(
                f"{path}: two runs are results of the task {task} of {dataset['id']}",
                hint="write two settings of a benchmark to two files",
            )
        source = {"url": url, "name": "eyechart report", **({"org": org} if org else {})}
        date = datetime.fromtimestamp(run.journal.read_starts()[1], UTC).date()
        entry = {"dataset": dataset, "value": _read_value(run), "date": date.isoformat()}
        entry |= {"source": source} if url else {}
        entries.append({**entry, "notes": "; ".join(list_notes(run))})
    _write_yaml(path, entries)


def write_model_index(runs: Sequence[Run], path: str | Path, *, url: str = "") -> None:
    """Write the runs of one model as the ``model-index`` block of a model card, to be pasted into it."""
    results: list[dict[str, Any]] = []
    for run in refuse_several_models(runs):
        hub, number, group = find_data_set(run), run.summary.number, run.summary.overall
        facts = _drop_empty(
            ci95=list(number.ci95) if number.ci95 else None,
            interval=number.method,
            unit="points" if number.scale == "points" else "percent",
            n=group.n_scored,
            clusters=group.n_clusters,
            outcomes=_drop_empty(**{str(name): count for name, count in group.outcomes.items()}),
            notes="; ".join(list_notes(run)),
        )
        kind = "accuracy" if number.name == run.summary.mean.name else number.name
        metric = {"type": kind, "name": number.name, "value": _read_value(run), "args": facts}
        split = "" if hub.is_file else hub.split
        named = _drop_empty(config=hub.config, split=split, revision=hub.revision)
        dataset = {"type": hub.place, "name": str(run.manifest.get("benchmark", "")), **named}
        if any(one["dataset"] == dataset for one in results):
            raise UsageError(f"{path}: two runs are results of {hub}", hint="write them to two files")
        source = {"source": {"url": url, "name": "eyechart report"}} if url else {}
        results.append({"task": _TASK, "dataset": dataset, "metrics": [metric], **source})
    name = name_model(runs[0].manifest).rpartition("/")[2]
    _write_yaml(path, {"model-index": [{"name": name, "results": results}]})


def _drop_empty(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value}


def refuse_several_models(runs: Sequence[Run]) -> Sequence[Run]:
    """The runs; a file of the hub belongs to one model."""
    names = list(dict.fromkeys(name_model(run.manifest) for run in runs))
    if len(names) > 1:
        raise UsageError(
            f"the runs are of {len(names)} models: {', '.join(names[:3])}",
            hint="the file is put into one model's repository: write one for each model",
        )
    return runs


def name_model(manifest: Mapping[str, Any]) -> str:
    """The model's name without folders of this machine.

    >>> name_model({"model": "hf//home/me/ckpt/step-9"}), name_model({"model": "vllm/Qwen/Qwen3-VL-8B"})
    ('hf/step-9', 'vllm/Qwen/Qwen3-VL-8B')
    >>> name_model({"model": "python:/home/me/mine.py:Mine"})
    'python:mine.py:Mine'
    """
    name, identity = str(manifest.get("model") or "model"), manifest.get("identity")
    if name.startswith("python:"):
        return f"python:{PurePath(name.removeprefix('python:')).name}"
    provider, slash, rest = name.partition("/")
    is_folder = isinstance(identity, Mapping) and "sha256" in identity  # its weights were hashed
    if is_folder or rest.startswith(("/", "~", ".")) or rest.count("/") > 1:
        rest = PurePath(rest).name
    return provider + slash + rest


def share_name(folder: Path, manifest: Mapping[str, Any]) -> str:
    """The name of a run's folder, without folders of this machine in it."""
    return name_run(folder, str(manifest.get("model") or ""), name_model(manifest))


def share_conditions(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The conditions of a run by name, without folders of this machine and addresses of endpoints.

    >>> share_conditions({"model": "hf//home/me/step-9", "origin": "/home/me/mine.tsv"})
    {'model': 'hf/step-9', 'data': 'mine.tsv'}
    """
    rows = {**describe_conditions(manifest, list_options(Options)), "model": name_model(manifest)}
    return {name: hide_folders(text) for name, text in rows.items() if name != "endpoint"}


class SharedRun(Run):
    """A run as others may see it: without folders of this machine, addresses of endpoints and images."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.folder)
        self.folder = run.folder.with_name(share_name(run.folder, run.manifest))
        self.manifest["model"] = name_model(run.manifest)

    @property
    def conditions(self) -> dict[str, str]:
        return share_conditions({**self.manifest, "parity": self.summary.parity})

    def _results(self, *given: Any, **named: Any) -> Iterator[Result]:
        for one in super()._results(*given, **named):
            sample, reply, failure = one.sample, one.reply, one.failure
            yield replace(
                one,
                sample=replace(sample, meta=clean(sample.meta), withheld=clean(sample.withheld)),
                reply=reply and replace(reply, model=clean(reply.model), evidence=clean(reply.evidence)),
                failure=failure and replace(failure, reason=_URL.sub("(address)", failure.reason)),
            )


def clean(value: Any) -> Any:
    r"""A value of a column without folders of this machine, passwords in addresses, and images.

    >>> clean({"file": "/home/me/a.png", "also": [r"C:\me\b.png", "data:image/png;base64,AAAA", "/m/01g"]})
    {'file': 'a.png', 'also': ['b.png', '(image)', '/m/01g']}
    >>> clean("a copy of /home/me/a.png from https://me:secret@example.org/home/a.png")
    'a copy of a.png from https://example.org/home/a.png'
    """
    if isinstance(value, Mapping):
        return {clean(key): clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    if not isinstance(value, str):
        return value
    if value.startswith("data:image/"):
        return "(image)"
    if re.match(r"[A-Za-z]:\\", value):
        return PureWindowsPath(value).name
    if _is_path(value):
        return PurePosixPath(value).name
    known = strip_password(value)
    return _PATH.sub(lambda found: PurePosixPath(found[0]).name if _is_path(found[0]) else found[0], known)


def _is_path(text: str) -> bool:
    """Whether a text is an absolute path, and not a name such as ``/m/01g317``."""
    top, below, _ = text[1:].partition("/")
    is_known = text.startswith("/") and bool(top and below) and (top in _TOPS or Path(f"/{top}").is_dir())
    return is_known or text.startswith(("~/", "file://"))


def find_data_set(run: Run) -> HubSpec:
    """The data set of the hub that a run asked; `UsageError` for a file of one's own."""
    found = find_hub_id(run.manifest)
    if found is None:
        raise UsageError(
            f"{run.manifest.get('benchmark')} is not a data set of the Hugging Face hub",
            hint="results are published for data sets there: run it as hf:ORG/NAME:split, or by its name in "
            "eyechart data list",
        )
    return found


def find_hub_id(manifest: Mapping[str, Any]) -> HubSpec | None:
    """The data set of the hub: the source of the run, or where the catalogue's benchmark is published."""
    origin, name = str(manifest.get("origin") or ""), str(manifest.get("benchmark") or "")
    if is_hub(origin):
        spec = parse_hub(origin)
        return None if spec.is_local else spec
    try:
        benchmark = make_benchmark(name, {})
    except EyechartError:  # not in the catalogue
        return None
    # A file of one's own may have the name of a benchmark.
    is_same = bool(benchmark.about) and benchmark.about == manifest.get("about")
    return parse_hub(f"hf:{benchmark.card.hub[0]}") if is_same and benchmark.card.hub else None


def list_notes(run: Run) -> Iterator[str]:
    """What the number means, one fact each."""
    summary, number, manifest = run.summary, run.summary.number, run.manifest
    group, percent = summary.overall, number.scale != "points"
    if number.ci95:
        low, high = (f"{end * (100 if percent else 1):.1f}" for end in number.ci95)
        yield f"95 % interval {low} to {high}"
    clusters = f" in {group.n_clusters:,} clusters" if group.n_clusters < group.n_scored else ""
    yield f"n {group.n_scored:,}{clusters}" + (f", {run.trials} trials" if run.trials > 1 else "")
    lost = [f"{group.outcomes[name]:,} {name}" for name in OUTCOMES[-2:] if group.outcomes[name]]
    lost += [f"{group.pending:,} not asked"] if group.pending else []
    if lost:
        yield f"without a score: {', '.join(lost)}"
    yield f"{number.name}, {'percent' if percent else 'points'}"
    version = manifest.get("versions", {}).get(summary.scorer, "")
    yield f"scorer {summary.scorer} {version}".strip() + (f" ({summary.parity})" if summary.parity else "")
    if summary.judge and summary.judge.judges:
        yield f"judge {', '.join(one.model for one in summary.judge.judges)}"
    if selection := tell_selection(manifest):
        yield selection
    yield f"eyechart {summary.version}"


def _read_value(run: Run) -> float:
    number = run.summary.number
    if number.value is None:
        raise UsageError(f"{run.folder} has no score", hint="finish or score the run first")
    return round(number.value * (1 if number.scale == "points" else 100), 4)


def _write_yaml(path: str | Path, content: Any) -> None:
    if Path(path).suffix not in (".yaml", ".yml"):  # above all, a README is not to be replaced
        raise UsageError(f"{path} is not the name of a YAML file", hint="give a name that ends in .yaml")
    with atomic_write(path) as place:
        place.write_text(
            yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100), encoding="utf-8"
        )
