"""A judge as an `evaluate` is told of it, and as a run of ours is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OURS = ("openai/", "python:", "baseline/")
# What the arguments of an `evaluate` say; all else is for the judge's requests.
_KNOWN = ("model", "api_base", "key", "nproc", "retry", "timeout", "verbose")


def judge_spec(name: str) -> str:
    """A judge as we name models: a name by itself is that of a served one.

    >>> [judge_spec(name) for name in ("gpt-4o", "openai/gpt-4o", "Qwen/Qwen3", "python:j.py:J")]
    ['openai/gpt-4o', 'openai/gpt-4o', 'openai/Qwen/Qwen3', 'python:j.py:J']
    """
    return name if name.startswith(_OURS) else f"openai/{name}"


def judge_options(said: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run, from the keyword arguments of an `evaluate`.

    >>> judge_options({"model": "j", "retry": 3, "verbose": True, "temperature": 0})
    {'judge': 'openai/j', 'judge_params': {'temperature': 0}, 'retries': 2}
    """
    found = {
        "judge": judge_spec(str(said["model"])),
        "judge_base_url": said.get("api_base"),
        "judge_api_key": said.get("key") or ("EMPTY" if said.get("api_base") else None),  # not another's key
        "judge_params": {name: value for name, value in said.items() if name not in _KNOWN} or None,
        "concurrency": said.get("nproc"),
        "retries": said["retry"] - 1 if said.get("retry") else None,
        "timeout_s": said.get("timeout"),
    }
    return {name: value for name, value in found.items() if value is not None}
