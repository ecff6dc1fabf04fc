"""What a task asks for, once its configuration was read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["all", "infer", "eval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One model of a task."""

    spec: str  # as `make_plan` takes it: provider/name
    name: str  # as its folder and files are called
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`; may hold a key


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEntry:
    """One set of questions of a task."""

    name: str  # as its files are called
    source: str  # what is looked for: a name in $LMUData, a path, a name of the catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Models times sets of questions, and how to ask.

    `is_stamped`: the results go into a folder of their own below `work_dir`, named after the time, as
    EvalScope does it; otherwise into `work_dir` itself, as VLMEvalKit does it.
    """

    models: tuple[ModelEntry, ...]
    data: tuple[DataEntry, ...]
    mode: Mode = "all"
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`, for every model
    flags: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `Options`, said beside the file
    judging: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what a user's `evaluate` is given
    reuse: bool = False
    keep_failed: bool = False
    is_verbose: bool = False
    seed: int | None = None  # of random, for the user's own code
    work_dir: str = "outputs"
    use_cache: str | None = None  # an earlier folder to go on in
    is_stamped: bool = True
    asks_anew: bool = False  # without `reuse`, a set that is done in this very folder is asked again
    is_dry_run: bool = False
    progress: bool = True  # show the live line
    notes: tuple[str, ...] = ()  # remarks for people
    described: Mapping[str, Any] = field(default_factory=dict)  # the configuration, without keys

    def options_of(self, model: ModelEntry) -> dict[str, Any]:
        """All that is said about how `model` is asked; what is said beside the file wins."""
        return {**self.options, **model.options, **self.flags}

    def secrets(self) -> tuple[str, ...]:
        """The keys of the task: what must be written and shown nowhere."""
        held = [self.options, self.judging, *(model.options for model in self.models)]
        named = [one.get(name) for one in held for name in ("api_key", "judge_api_key", "key")]
        return tuple(dict.fromkeys(str(key) for key in named if key and key != "EMPTY"))
