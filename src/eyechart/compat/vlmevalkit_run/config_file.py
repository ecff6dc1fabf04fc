"""VLMEvalKit's --config: a JSON file that names models and sets of questions, and gives each a label."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.errors import UsageError
from eyechart.model.environment import refuse_foreign_key
from eyechart.model.openai import OFFICIAL, normal_base_url
from eyechart.registry import did_you_mean, find_published_benchmark
from eyechart.run.config_files import decode_json

# The classes of VLMEvalKit that speak OpenAI's chat completions; where each has its address and key.
_OPENAI_KEY = "OPENAI_API_KEY"
_SERVED: Mapping[str, tuple[str, str]] = {
    "GPT4V": ("OPENAI_API_BASE", _OPENAI_KEY),
    "OpenAIWrapper": ("OPENAI_API_BASE", _OPENAI_KEY),
    "CustomAPIModel": ("OPENAI_API_BASE", ""),
    "LMDeployAPI": ("LMDEPLOY_API_BASE", "LMDEPLOY_API_KEY"),
}
_OFFICIAL = "OFFICIAL"  # what an entry may call OpenAI's own address
# Its classes of data sets without rules of their own: here a set's columns say of which kind it is.
_KINDS = (
    "ImageMCQDataset", "ImageVQADataset", "ImageYORNDataset", "TextMCQDataset", "CustomMCQDataset",
    "CustomVQADataset", "CustomTextMCQDataset",
)  # fmt: skip
_VIDEO = ("nframe", "fps", "pack", "use_subtitle")
_KEYS = ("model", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """An entry of the file: what its files are called, and what it says. Without a class it says nothing."""

    label: str
    kind: str  # the class, or nothing
    said: Mapping[str, Any]


def read_config(path: str) -> tuple[list[Labelled], list[Labelled]]:
    """The models and the sets of a file."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"--config {path} cannot be read: {getattr(err, 'strerror', None) or err}") from err
    content = decode_json(text, f"--config {path}")
    if not isinstance(content, Mapping) or not all(content.get(name) for name in _KEYS):
        raise UsageError(
            f"--config {path} does not hold a model and a data object",
            hint='{"model": {"LABEL": {"class": "GPT4V", "model": "NAME"}}, "data": {"NAME": {}}}',
        )
    for name in content:
        if name not in _KEYS:
            hint = did_you_mean(str(name), list(_KEYS), otherwise="it holds model and data alone", at_most=1)
            raise UsageError(f"--config {path} has an entry {name!r} that nobody reads", hint=hint)
    return _labelled(content, "model", path), _labelled(content, "data", path)


def _labelled(content: Mapping[str, Any], name: str, path: str) -> list[Labelled]:
    entries = content[name]
    if not isinstance(entries, Mapping):
        raise UsageError(f"--config {path}: {name} must hold labels, each with an object")
    found = []
    for label, said in entries.items():
        if not isinstance(said, Mapping) or not isinstance(said.get("class", ""), str):
            raise UsageError(f'--config {path}: {name} {label!r} must be an object with a "class", or {{}}')
        rest = {key: value for key, value in said.items() if key != "class"}
        if rest and not said.get("class"):
            raise UsageError(
                f'--config {path}: {name} {label!r} has no "class"',
                hint=_classes() if name == "model" else "",
            )
        found.append(Labelled(label=str(label), kind=str(said.get("class", "")), said=rest))
    return found


def served_entry(
    one: Labelled, environment: Mapping[str, str], *, base_url: str | None = None, key: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """A model of the file as EvalScope would write it, address and key included, and remarks on it."""
    if one.kind not in _SERVED:
        raise UsageError(
            f"--config: model {one.label!r} is of the class {one.kind}, which eyechart cannot run",
            hint=did_you_mean(one.kind, list(_SERVED), otherwise=_classes(), at_most=1),
        )
    said = {name: value for name, value in one.said.items() if name not in ("model", "verbose")}
    kind = one.said.get("model")
    if not isinstance(kind, str) or not kind:
        raise UsageError(
            f"--config: model {one.label!r} does not say which model is served",
            hint='"model": "NAME", as the server calls it',
        )
    base_variable, key_variable = _SERVED[one.kind]
    base = said.pop("api_base", None) or base_url or environment.get(base_variable)
    said |= {"api_base": OFFICIAL if base == _OFFICIAL else base} if base else {}
    notes = []
    if "key" not in said and key:
        said["key"] = key
    elif "key" not in said and environment.get(key_variable):
        if _is_for(said.get("api_base"), environment.get(base_variable), key_variable):
            if "api_base" not in said or base == environment.get(base_variable):
                refuse_foreign_key(environment[key_variable])
            said["key"] = environment[key_variable]
        else:
            notes.append(
                f"--config: model {one.label!r}: ${key_variable} is not sent to an address that the "
                f"environment does not name; if it is for that server, say so with --key"
            )
    return {"name": "CustomAPIModel", "type": kind, **said}, notes


def _is_for(base: Any, own_base: str | None, key_variable: str) -> bool:
    """Whether a key of the environment is for an address, which may be any that somebody wrote into a file.

    >>> _is_for("http://o/v1", "http://o/v1/chat/completions", "OPENAI_API_KEY")
    True
    >>> _is_for("http://x/v1", "http://o/v1", "OPENAI_API_KEY"), _is_for(OFFICIAL, None, "OPENAI_API_KEY")
    (False, True)
    """
    if base is None:  # then it goes where the environment says, or to OpenAI
        return key_variable == _OPENAI_KEY
    places = [own_base, OFFICIAL if key_variable == _OPENAI_KEY else None]
    with suppress(UsageError):  # what is no address is refused where addresses are read
        return normal_base_url(str(base)) in [normal_base_url(place) for place in places if place]
    return False


def data_source(one: Labelled) -> str:
    """What a set of the file is looked for as."""
    for name in _VIDEO:
        if one.said.get(name):
            raise UsageError(
                f"--config: data {one.label!r} is about videos ({name})",
                hint="only pictures are asked about here",
            )
    for name in one.said:
        if name not in ("dataset", *_VIDEO):
            raise UsageError(
                f"--config: data {one.label!r} says {name}, which means nothing here",
                hint='"dataset" names the set; its columns say of which kind it is',
            )
    source = one.said.get("dataset", one.label)
    if not isinstance(source, str) or not source.strip():
        raise UsageError(f'--config: data {one.label!r}: "dataset" must be a name or a path')
    if one.kind not in ("", *_KINDS) and find_published_benchmark(Path(source.strip()).stem) is None:
        hint = did_you_mean(one.kind, list(_KINDS), otherwise=f"known: {', '.join(_KINDS)}", at_most=1)
        raise UsageError(
            f"--config: data {one.label!r} is of the class {one.kind}, whose rules are not known here",
            hint=hint,
        )
    return source.strip()


def _classes() -> str:
    return (
        f'"class" is one of {", ".join(_SERVED)}, "api_base" the address of any OpenAI-compatible server; '
        "weights on this machine are served first (vllm serve NAME)"
    )
