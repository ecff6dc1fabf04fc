"""Can these runs be compared? What would make it meaningless is refused; other differences become warnings.

Refused: scorers that differ, and CircularEval on one side alone. (`run.comparison` refuses other questions.)
Warned about, with the value of every run: prompt, system message, input, images, selection, sampling
parameters, trials, the benchmark's settings, versions of the scorer, the judge, and prompts or images that
differ although the options are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from eyechart.errors import UsageError, join_names, shorten
from eyechart.option import list_options
from eyechart.report.conditions import hide_folders, list_options_apart, tell_judges
from eyechart.report.counting import is_voted
from eyechart.report.table import label_models
from eyechart.runs.options import BENCHMARK, DATA, IMAGES, LOOK, PROMPT, Options
from eyechart.runs.results import Run

_LOOKED_AT = 30  # samples whose prompts and images are compared
_CONTEXT = 30  # characters around the first difference of two prompts


def label_runs(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its model, with the end of its folder's name where models occur twice."""
    models = [hide_folders(str(run.manifest.get("model", ""))) for run in runs]
    labels = label_models(models, [run.folder.name for run in runs])
    return labels if len(set(labels)) == len(runs) else [str(run.folder) for run in runs]


def choose_scorer(runs: Sequence[Run], labels: Sequence[str], name: str | None) -> str:
    """The scorer to compare under: the one that is named, otherwise that of all runs."""
    known = [list(run.manifest.get("versions") or [run.manifest.get("scorer", "")]) for run in runs]
    common = [one for one in known[0] if all(one in names for names in known)]
    if name is not None:
        for run, label, names in zip(runs, labels, known, strict=True):
            if name not in names:
                raise UsageError(
                    f"{name} has not scored {label} (it has: {', '.join(names)})",
                    hint=f"add its scores: eyechart score {run.folder} --also-scorer {name}",
                )
        return name
    own = [str(run.manifest.get("scorer", "")) for run in runs]
    if len(set(own)) == 1:
        return own[0]
    lacking = next((run for run, names in zip(runs, known, strict=True) if own[0] not in names), runs[-1])
    add = f"add the scores of one to the other: eyechart score {lacking.folder} --also-scorer {own[0]}"
    raise UsageError(
        f"the runs have different scorers: {_tell_values(own, labels)}",
        hint=f"compare under one that scored all of them: --scorer {common[0]}" if common else add,
    )


def refuse_different_units(runs: Sequence[Run], labels: Sequence[str]) -> None:
    """Refuse questions that count once with all rotations beside questions that were asked once."""
    votes = ["vote" if is_voted(run.manifest) else "each trial" for run in runs]
    if len(set(votes)) > 1:
        raise UsageError(
            f"some runs count the vote of their trials, others every trial: {_tell_values(votes, labels)}",
            hint="run all of them with --vote, or none; or name the runs to compare",
        )
    kinds = ["CircularEval" if run.is_circular else "plain" for run in runs]
    if len(set(kinds)) > 1:
        raise UsageError(
            f"some runs count rotations of a question together, others do not: {_tell_values(kinds, labels)}",
            hint="run all of them with --circular, or none; or name the runs to compare",
        )


def list_differences(
    runs: Sequence[Run], labels: Sequence[str], scorer: str, ids: Sequence[str]
) -> Iterator[str]:
    """What differs between the runs besides their models, one line each, with every value."""
    benchmarks = [str(run.manifest.get("benchmark", "")) for run in runs]
    if len(set(benchmarks)) > 1:
        yield f"the benchmarks have different names: {_tell_values(benchmarks, labels)}"
    of_files = [label for run, label in zip(runs, labels, strict=True) if not run.manifest.get("options")]
    if of_files and len(of_files) < len(runs):
        yield f"how {join_names(of_files)} was asked is not known: it was scored from a file of replies"
    asked = [run for run in runs if run.manifest.get("options")]
    theirs = [label for label in labels if label not in of_files]
    # The seed is left out: runs that differ in it alone are two draws of the same thing.
    found = list_options_apart([run.manifest["options"] for run in asked], list_options(Options))
    different = [one for one in found if one[0] != "seed"]
    yield from (f"{flag} differs: {_tell_values(values, theirs)}" for _, flag, values in different)
    if len(asked) > 1:
        yield from _list_asked_apart(asked, theirs, ids, {option for option, _, _ in different})
    yield from _list_scoring_apart(runs, labels, scorer)


def _list_asked_apart(
    runs: Sequence[Run], labels: Sequence[str], ids: Sequence[str], known: Set[str]
) -> Iterator[str]:
    """Prompts and images that differ although no option does: another version of the benchmark."""
    groups = {list_options(Options)[name].group for name in known}
    has_other_prompt = not groups.isdisjoint({PROMPT, BENCHMARK, DATA, LOOK})
    has_other_size = not groups.isdisjoint({IMAGES, LOOK}) or "input" in known
    for name in dict.fromkeys(ids[place * (len(ids) - 1) // (_LOOKED_AT - 1)] for place in range(_LOOKED_AT)):
        asked = [run.journal.asked(name) for run in runs]
        if not all(asked):
            return
        texts = ["\n".join(_list_texts(turns)) for turns in asked]
        sizes = [", ".join(_list_sizes(turns)) or "no image" for turns in asked]
        contents = [", ".join(_list_contents(turns)) or "no image" for turns in asked]
        for what, values, is_known in (
            ("the prompts differ", texts, has_other_prompt),
            ("the images differ in size", sizes, has_other_size),
            ("the images differ", contents, has_other_size or any("?" in one for one in contents)),
        ):
            if len(set(values)) > 1 and not is_known:
                shown = _cut_to_difference(values) if values is texts else values
                yield f"{what}, e.g. of sample {name}: {_tell_values(shown, labels)}"
                return


def _list_texts(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for turn in turns:
        yield from (str(part["text"]) for part in turn["parts"] if part.get("text"))


def _list_sizes(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for image in (part["image"] for turn in turns for part in turn["parts"] if "image" in part):
        if isinstance(image, Mapping) and "width" in image:
            yield f"{image['width']} x {image['height']}"


def _list_contents(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The beginning of each image's SHA-256; ``?`` where the image was encoded anew, by whatever library."""
    for image in (part["image"] for turn in turns for part in turn["parts"] if "image" in part):
        is_original = isinstance(image, Mapping) and not image.get("reencoded") and not image.get("resized")
        yield f"SHA-256 {image['sha256'][:8]}" if is_original and image.get("sha256") else "?"


def _cut_to_difference(texts: Sequence[str]) -> list[str]:
    """The texts around the first character in which they differ.

    >>> _cut_to_difference(["Which? Answer with a letter.", "Which? Answer with a word."])
    ["'Which? Answer with a letter.'", "'Which? Answer with a word.'"]
    """
    first = next(
        (place for place, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1),
        min(map(len, texts)),
    )
    begin = max(0, first - _CONTEXT)
    return [
        repr("…" * (begin > 0) + text[begin : first + _CONTEXT] + "…" * (len(text) > first + _CONTEXT))
        for text in texts
    ]


def _list_scoring_apart(runs: Sequence[Run], labels: Sequence[str], scorer: str) -> Iterator[str]:
    trials = [str(run.trials) for run in runs]
    if len(set(trials)) > 1:
        yield f"--trials differs: {_tell_values(trials, labels)}"
    versions = [str((run.manifest.get("versions") or {}).get(scorer, "unknown")) for run in runs]
    if len(set(versions)) == 1:
        return
    judges = [tell_judges(run.manifest.get("judge")) for run in runs]
    if len(set(judges)) > 1:  # they are part of the version
        yield f"the judge differs: {_tell_values(judges, labels)}"
    else:
        add = "score the older run again with: eyechart score RUN"
        yield f"the version of the scorer {scorer} differs: {_tell_values(versions, labels)}; {add}"


def _tell_values(values: Sequence[str], labels: Sequence[str]) -> str:
    """Each value with the runs that have it.

    >>> _tell_values(["1", "2", "1"], ["a", "b", "c"])
    '1 (a, c) and 2 (b)'
    """
    holders: dict[str, list[str]] = {}
    for value, label in zip(values, labels, strict=True):
        holders.setdefault(value, []).append(label)
    return " and ".join(f"{shorten(value)} ({join_names(names)})" for value, names in holders.items())
