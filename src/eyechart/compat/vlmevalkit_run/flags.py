"""The flags of VLMEvalKit's run.py, as they were said, and those of them that cannot be honoured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from eyechart.compat.wording import advice, renamed
from eyechart.errors import EyechartError, UsageError

# What says how a served model is asked; a model's entry in a --config says it there.
OF_A_MODEL = (
    "key", "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "extra_body", "timeout",
)  # fmt: skip
# What `eval_config` of EvalScope calls by the same name.
SHARED = (
    "mode", "limit", "reuse", "reuse_aux", "api_nproc", "retry", "verbose", "keep_failed", "judge",
    "judge_args", "judge_base_url", "judge_key", "judge_api_nproc", "judge_retry", "judge_timeout",
    "allow_private_urls",
)  # fmt: skip

_REFUSED: Mapping[str, tuple[str, str]] = {
    "use_vllm": ("no weights are loaded here", "serve the model (vllm serve NAME) and give its --base-url"),
    "use_verifier": ("no local verifier scores answers here", "--judge names a served model that reads them"),
    "video_llm": ("there are no videos here, only pictures", "leave it out"),
    "local_media": ("pictures are sent with the request, never as paths of the server's", "leave it out"),
    "custom_prompt": (
        "prompts of single models are not known here",
        "write your own with: eyechart run --prompt-template FILE",
    ),
    "data_config": ("sets of questions are named by --data or --config", "give them in a --config FILE"),
}
# Flags of `eyechart run` that go by another name here.
_NAMES: Mapping[str, str] = {
    "--api-key": "--key", "--judge-api-key": "--judge-key", "--concurrency": "--api-nproc",
    "--out": "--work-dir",
}  # fmt: skip
_NOTES: Mapping[str, str] = {
    "stream": "answers are taken whole, and are the same",
    "api_mode": "asking and scoring always overlap",
    "monitor_interval": "the progress line is always live",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What was said on the command line; None or false where nothing was."""

    data: list[str] | None = None
    model: list[str] | None = None
    config: str | None = None
    work_dir: str | None = None
    mode: str = "all"
    limit: int | None = None
    reuse: bool = False
    reuse_aux: str | None = None
    keep_failed: bool = False
    api_nproc: int | None = None
    retry: int | None = None
    verbose: bool = False
    allow_private_urls: bool = False
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    extra_body: str | None = field(default=None, repr=False)
    timeout: float | None = None
    judge: str | None = None
    judge_base_url: str | None = None
    judge_key: str | None = field(default=None, repr=False)
    judge_args: str | None = field(default=None, repr=False)
    judge_api_nproc: int | None = None
    judge_retry: int | None = None
    judge_timeout: float | None = None
    stream: bool = False
    api_mode: bool = False
    monitor_interval: float | None = None
    use_vllm: bool = False
    use_verifier: bool = False
    video_llm: bool = False
    local_media: bool = False
    custom_prompt: str | None = None
    data_config: str | None = None

    def said(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Those of the named flags that were given a value."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and value is not False}

    def refuse(self) -> None:
        """Refuse what cannot be done here, and what contradicts itself."""
        for name, (why, hint) in _REFUSED.items():
            if getattr(self, name):
                raise UsageError(f"{flag(name)} is not possible: {why}", hint=hint)
        if self.config is not None:
            if self.data or self.model:
                both = flag("data" if self.data else "model")
                raise UsageError(f"--config and {both} exclude each other", hint="leave one of them out")
            for name in self.said(tuple(name for name in OF_A_MODEL if name != "key")):
                raise UsageError(
                    f"{flag(name)} does not reach the models of a --config",
                    hint=f'say it there, in the entry of the model: "{name}": …',
                )
            return
        for name, what in (("data", "DATA: what to ask"), ("model", "MODEL: whom to ask")):
            if not getattr(self, name):
                raise UsageError(
                    f"there is no --{name} {what}", hint="eyechart vlmeval --help shows examples"
                )

    def notes(self) -> list[str]:
        """Remarks on flags that change nothing here."""
        return [f"{flag(name)} has no effect: {why}" for name, why in _NOTES.items() if getattr(self, name)]


def flag(name: str) -> str:
    """A flag as it is typed.

    >>> flag("judge_base_url")
    '--judge-base-url'
    """
    return f"--{name.replace('_', '-')}"


def in_flags(err: UsageError) -> UsageError:
    """An error about a configuration, for one who has written flags."""
    return UsageError(as_flags(err.message), hint=hint_in_flags(err.hint))


@contextmanager
def in_words_of_flags() -> Iterator[None]:
    """Whatever of ours is raised inside speaks of the flags of this command."""
    try:
        yield
    except EyechartError as err:
        err.message = renamed(err.message, _NAMES)
        err.hint = hint_in_flags(err.hint)
        err.args = (err.message,)
        raise


def hint_in_flags(hint: str) -> str:
    """A hint in flags, without the clauses about those that this command has not.

    >>> hint_in_flags("ulimit -n allows more, or ask fewer at once with --concurrency; --give-up-after 9")
    'ulimit -n allows more; ask fewer at once with --api-nproc'
    """
    known = {flag(name) for name in Flags.__dataclass_fields__}
    return advice(as_flags(hint), _NAMES, known)


def as_flags(text: str) -> str:
    """What is said of a configuration, in the words of one who has written flags.

    >>> as_flags("eval_config: judge_args is not valid JSON"), as_flags("judge: NAME names one")
    ('--judge-args is not valid JSON', '--judge NAME names one')
    """
    text = re.sub(r"\beval_config: (\w+)", lambda found: flag(found[1]), text)
    text = renamed(text.replace("keep_failed: true", "--keep-failed"), _NAMES)
    text = re.sub(r"\b(judge|mode|reuse_aux|reuse): ", lambda found: f"{flag(found[1])} ", text)
    return text.replace("eval_config", "the command").replace("a work_dir", "a --work-dir")
