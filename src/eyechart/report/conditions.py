"""The conditions of a run, described once: from its manifest, for every list, page and table that shows them.

The declarations of the options say what belongs here: all that affects data, requests or scores. An option
that is added later is shown without further code, in the row of its group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from eyechart.option import Option
from eyechart.report.table import describe_scorer
from eyechart.store.folder import make_file_name

Declared = Mapping[str, Option]  # the options of a run by name: list_options(Options)
_ROWS = {"model": "parameters", "cost and cache": "parameters", "questions and trials": "selection",
         "benchmark": "reading", "data": "reading"}  # of groups; others have their own heading  # fmt: skip
_USUAL = {"parameters": "defaults", "images": "as published", "prompt": "the benchmark's own",
          "selection": "all questions"}  # fmt: skip
_IN_PLACE = {"none": "not sent", "blank": "replaced by blank ones", "caption": "replaced by captions",
             "ocr": "replaced by OCR texts", "shuffled": "replaced by those of other questions"}  # fmt: skip
REPLACED = frozenset(_IN_PLACE.values())  # conditions under which the images were not those published
_BRIEF_CHARS = 30
# Also behind a provider's name and a slash, and behind "python:" and "file://".
_PATH = re.compile(
    r"""(?:(?<![\w.:/\\])|(?<=\w/)|(?<=python:)|(?<=file://))"""
    r"""(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:'"()]+[/\\])+([^\s/\\:'"()]*)"""
)


def describe_conditions(manifest: Mapping[str, Any], declared: Declared) -> dict[str, str]:
    """The conditions under which a score was measured, by name."""
    rows = {"model": str(manifest.get("model") or ""), "endpoint": ", ".join(list_endpoints(manifest))}
    if options := read_options(manifest):
        given = _list_given(options, declared)
        if "prompt" in given and not options.get("prompt_template"):
            given["prompt"].insert(0, _USUAL["prompt"])
        rows |= {name: ", ".join(given.get(name, ())) or _USUAL[name] for name in {**_USUAL, **given}}
    elif replies := manifest.get("replies"):
        files = replies if isinstance(replies, list) else [replies]
        rows["replies"] = ", ".join(PurePath(str(file)).name for file in files)
    scorer = str(manifest.get("scorer") or "")
    versions = manifest.get("versions")
    if isinstance(versions, Mapping) and (version := versions.get(scorer)):
        scorer += f" (version {version})"
    followed = [str(manifest.get(name) or "") for name in ("parity", "rules")]
    rows |= {
        "scorer": describe_scorer(scorer, *followed),
        "judge": tell_judges(manifest["judge"]) if manifest.get("judge") else "",
        "data": _cut_path(str(manifest.get("origin") or "")),
    }
    return {name: value for name, value in rows.items() if value}


def describe_briefly(manifest: Mapping[str, Any], declared: Declared) -> str:
    """Which samples were asked, and how, where it is not the whole benchmark once with its images.

    `eyechart.runs.listing.tell_selection` shows it with the options of a run.
    """
    if "replies" in manifest:
        return "scored from a file"
    own = {name: one for name, one in declared.items() if one.identified_by in ("", "look", "model")}
    given = _list_given(read_options(manifest), own, _BRIEF_CHARS)
    rows = ("selection", "parameters", "prompt", "closer looks", "reading")
    parts = [part for row in rows for part in given.get(row, ())]
    images = [f"images {part}" if part in _IN_PLACE.values() else part for part in given.get("images", ())]
    return ", ".join([*parts, *images])


def read_options(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options in a manifest, with the protocol that `look` chose; empty if replies were loaded."""
    options, look = manifest.get("options"), manifest.get("look")
    if not isinstance(options, Mapping):
        return {}
    return {**options, "look": look["protocol"]} if isinstance(look, Mapping) else options


def list_endpoints(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the endpoints, or their hosts and ports, without paths and credentials."""
    identity = manifest.get("identity")
    named = identity.get("endpoint") if isinstance(identity, Mapping) else None
    named = named or read_options(manifest).get("base_url") or []
    # By hand: what a user's class states as its endpoint need not be a URL.
    return list(dict.fromkeys(
        str(one).partition("://")[2].partition("/")[0].rpartition("@")[2] or str(one)
        for one in (named if isinstance(named, list | tuple) else [named])
    ))  # fmt: skip


def _list_given(options: Mapping[str, Any], declared: Declared, limit: int = 80) -> dict[str, list[str]]:
    """The options that can change a score and differ from their defaults, in words, by row."""
    found: dict[str, list[str]] = {}
    for name, one in declared.items():
        value = options.get(name)
        if name == "input":
            if value in _IN_PLACE:
                found.setdefault("images", []).append(_IN_PLACE[value])
        elif (
            one.affects not in ("pace", "output")
            and one.identified_by != "endpoint"
            and value not in (None, "", [], {}, one.default)
            and name != "scorer"  # what scored is beside the options, with versions
            and not name.startswith("judge")
        ):
            found.setdefault(_ROWS.get(one.group, one.group), []).append(_tell_option(one, value, limit))
    return found


def _tell_option(one: Option, value: Any, limit: int) -> str:
    """An option as a list shows it: max pixels 400, circular, no urls, category=map."""
    words = one.name.replace("_", " ")
    if isinstance(value, bool):
        return words if value else one.flag[2:].replace("-", " ")
    if isinstance(value, Mapping):
        return tell_value(value)
    if isinstance(value, list | tuple) and len(value) > 3:
        return f"{len(value)} {words}"
    shown = " ".join((_cut_path(str(value)) if one.is_path else tell_value(value)).split())
    return f"{words} {shown if len(shown) <= limit else f'{shown[: limit - 1]}…'}"


def _cut_path(text: str) -> str:
    """A path without its folders, which may hold names of people; any other text as it is."""
    return PurePath(text).name if PurePath(text).is_absolute() else text


def list_options_apart(
    given: Sequence[Mapping[str, Any]], declared: Declared
) -> Iterator[tuple[str, str, list[str]]]:
    """Name, flag and values of every option on data and requests that is not the same in all runs.

    Not compared: the endpoint, where images are found, and what is compared beside the options.
    """
    for name, one in declared.items():
        if (
            one.affects not in ("data", "request")
            or one.identified_by in ("endpoint", "requests")
            or name in ("name", "circular")
        ):
            continue
        values = [options.get(name, one.default) for options in given]
        parts = {"": values}
        if isinstance(one.default, dict) and one.identified_by:  # names of the model's or benchmark's own
            keys = dict.fromkeys(key for value in values for key in value or {})
            parts = {f" {key}": [(value or {}).get(key) for value in values] for key in keys}
        for part, each in parts.items():
            shown = [tell_value(value) for value in each]
            if len(set(shown)) > 1:
                yield name, f"{one.flag}{part}", shown


def tell_judges(judge: Any) -> str:
    """The names of the judges with their parameters, and the user's own prompts."""
    if not isinstance(judge, Mapping):
        return str(judge or "none")
    several = [judge, *(judge.get("further") or ())]
    shown = ", ".join(
        " ".join([str(one.get("model")), *([tell_value(one["identity"])] if one.get("identity") else [])])
        for one in several
    )
    return f"{shown} with prompts {tell_value(judge['prompts'])}" if judge.get("prompts") else shown


def tell_value(value: Any) -> str:
    """A value as people write it.

    >>> tell_value(None), tell_value(0.0), tell_value(["a", "b"]), tell_value({"b": 1})
    ('not given', '0', 'a, b', 'b=1')
    """
    if value is None or value in ((), [], {}):
        return "not given"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={tell_value(one)}" for name, one in sorted(value.items()))
    return ", ".join(map(tell_value, value)) if isinstance(value, list | tuple) else str(value)


# -- Without folders of this machine


def hide_folders(text: str) -> str:
    """Absolute paths without their folders, which may hold names of people and projects.

    >>> hide_folders("no such file: /home/ada/secret/cats.tsv (see https://example.org/a/b)")
    'no such file: cats.tsv (see https://example.org/a/b)'
    """
    return _PATH.sub(r"\1", text)


def hide_all_folders(value: Any, names: Mapping[str, str]) -> Any:
    """The same value of JSON without folders in any text, and with other names for runs, which are paths."""
    if isinstance(value, Mapping):
        return {hide_all_folders(key, names): hide_all_folders(one, names) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [hide_all_folders(one, names) for one in value]
    return names.get(value) or hide_folders(value) if isinstance(value, str) else value


def is_path(text: str) -> bool:
    """Whether a text is an absolute path and nothing else."""
    return text[:1] in "/~" and _PATH.fullmatch(text) is not None


def name_run(folder: Path, model: str, shown: str) -> str:
    """The name of a run's folder, with the name of its model as it is shown.

    >>> name_run(Path("runs/q/hf-home-me-step-9-1a2b3c4d"), "hf//home/me/step-9", "hf/step-9")
    'hf-step-9-1a2b3c4d'
    """
    return folder.name if shown == model else f"{make_file_name(shown)}-{folder.name.rpartition('-')[2]}"
