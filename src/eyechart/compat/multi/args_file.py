"""The file args.json of a run: MULTI's arguments as they were, to go on with. There is never a key in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.compat.multi.arguments import Arguments
from eyechart.data.json_file import json_errors, read_bytes
from eyechart.errors import UsageError
from eyechart.replacing import replacing

ARGS_FILE = "args.json"
_PACE = ("num_workers", "save_every", "exp_name")  # of no consequence for what is asked


def read_arguments(folder: Path, given: Mapping[str, Any]) -> tuple[Arguments, list[str]]:
    """The arguments of a run that is gone on with, and what they overrule of those given now.

    As published, args.json counts; the key, which it does not hold, comes from the command line.
    """
    path = folder / ARGS_FILE
    if not path.is_file():
        raise UsageError(
            f"--checkpoint_dir {folder}: there is no {ARGS_FILE} in it",
            hint="give the folder of a run, the one that holds prediction.json or checkpoints",
        )
    with json_errors(f"{path}", hint="it is an object of MULTI's arguments"):
        kept = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    kept.pop("prediction_file", None)  # the original's own note; the folder may have been moved since
    overruled = [
        f"{_written(name, value)}: {ARGS_FILE} of the run says {kept[name]!r}, which counts"
        for name, value in given.items()
        if name in kept
        and name not in ("checkpoint_dir", "debug", "api_key")
        and kept[name] not in (value, value or None)
    ]
    kept |= {name: given[name] for name in ("api_key", "debug") if name in given}
    kept["checkpoint_dir"] = str(folder)
    return Arguments.of(kept, where=f"{path}"), overruled


def _written(name: str, value: Any) -> str:
    """An argument as it stands on the command line.

    >>> _written("random", True), _written("lang", "en"), _written("set", {"seed": "4"})
    ('--random', '--lang en', '--set seed=4')
    """
    if isinstance(value, dict):
        return " ".join(f"--{name} {key}={said}" for key, said in value.items())
    return f"--{name}" if value is True else f"--{name} {value}"


def differing(arguments: Arguments, before: Arguments) -> list[str]:
    """What a run was told before, where it is told something else now."""
    before = replace(before, **{name: getattr(arguments, name) for name in _PACE})
    names = [
        one.name for one in fields(Arguments) if getattr(before, one.name) != getattr(arguments, one.name)
    ]
    return [f"{name} is {getattr(before, name)!r} there, not {getattr(arguments, name)!r}" for name in names]


def write_arguments(arguments: Arguments, folder: Path) -> None:
    """Write args.json; there is no key in it."""
    text = msgspec.json.format(msgspec.json.encode(arguments.to_json(folder)), indent=4)
    with replacing(folder / ARGS_FILE) as place:
        place.write_bytes(text + b"\n")
