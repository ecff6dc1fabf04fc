"""The flags of VLMEvalKit's run.py: declared once, refused where they cannot be honoured, named in errors."""

from __future__ import annotations

import re
from argparse import SUPPRESS
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from eyechart.errors import EyechartError, UsageError, rename_flags, translate_hint
from eyechart.option import option

# The groups of the help.
WHAT = "what is asked, and of whom"
RUN = "the run"
MODEL = "the served model"
JUDGE = "the judge (none unless one is named)"
ACCEPTED = "accepted for the sake of scripts (a note says what they do here)"
REFUSED = "refused, with the reason"

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

_WHY_REFUSED: Mapping[str, tuple[str, str]] = {
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

    data: list[str] | None = option(None, group=WHAT, metavar="DATA", help="sets of questions")
    model: list[str] | None = option(None, group=WHAT, metavar="MODEL", help="who answers them")
    config: str | None = option(
        None, group=WHAT, metavar="FILE", help="a JSON file with both, instead of these two"
    )
    limit: int | None = option(None, group=WHAT, metavar="N", help="the first N rows of every set")

    work_dir: str | None = option(
        None,
        group=RUN,
        metavar="DIR",
        help="where the results go (default: outputs; $MMEVAL_ROOT comes first)",
    )
    mode: Literal["all", "infer", "eval"] = option(
        "all",
        group=RUN,
        help="infer: predictions alone; eval: score those that lie there, ask nobody (default: all)",
    )
    reuse: bool = option(False, group=RUN, help="go on with the predictions of a start that is done")
    reuse_aux: str | None = option(
        None,
        group=RUN,
        metavar="all|infer|none",
        help="with --reuse and a judge only all is possible: verdicts are kept with their replies",
    )
    keep_failed: bool = option(
        False, group=RUN, help="score what was answered, although some requests failed"
    )
    api_nproc: int | None = option(
        None,
        "--api-nproc",
        "--nproc",
        group=RUN,
        metavar="N",
        help="requests in flight, at most (default: 64)",
    )
    retry: int | None = option(None, group=RUN, metavar="N", help="tries of a request (default: 6)")
    verbose: bool = option(False, group=RUN, help="print every reply (on stderr)")
    allow_private_urls: bool = option(
        False, group=RUN, help="fetch images from addresses of your own network, too (eyechart's own)"
    )

    base_url: str | None = option(
        None, group=MODEL, metavar="URL", help="where it is served, e.g. http://localhost:8000/v1"
    )
    key: str | None = option(
        None,
        group=MODEL,
        metavar="KEY",
        is_secret=True,
        help="default: sk-admin with --base-url, else $OPENAI_API_KEY, which goes to no address that a "
        "--config names; never written anywhere",
    )
    max_tokens: int | None = option(
        None, group=MODEL, metavar="N", help="of an answer (default: 32768 with --base-url, else 2048)"
    )
    temperature: float | None = option(
        None, group=MODEL, metavar="T", help="default: as the server decides with --base-url, else 0"
    )
    top_p: float | None = option(None, group=MODEL, metavar="P", help="default: as the server decides")
    top_k: int | None = option(None, group=MODEL, metavar="K", help="the same")
    repetition_penalty: float | None = option(None, group=MODEL, metavar="X", help="the same")
    extra_body: str | None = option(
        None,
        group=MODEL,
        metavar="JSON",
        is_secret=True,
        help="what only your server knows, e.g. '{\"top_a\": 0.1}'",
    )
    timeout: float | None = option(
        None, group=MODEL, metavar="S", help="of one try (default: 1800 with --base-url, else 300)"
    )

    judge: str | None = option(
        None, group=JUDGE, metavar="MODEL", help="who reads what rules cannot; exact_matching: nobody"
    )
    judge_base_url: str | None = option(None, group=JUDGE, metavar="URL", help="where it is served")
    judge_key: str | None = option(
        None,
        group=JUDGE,
        metavar="KEY",
        is_secret=True,
        help="default: $OPENAI_API_KEY, to no address but OpenAI's",
    )
    judge_args: str | None = option(
        None,
        group=JUDGE,
        metavar="JSON",
        is_secret=True,
        help="its parameters, e.g. '{\"temperature\": 0}'",
    )
    judge_api_nproc: int | None = option(
        None, group=JUDGE, metavar="N", help="for an evaluate of your own (default: --api-nproc)"
    )
    judge_retry: int | None = option(None, group=JUDGE, metavar="N", help="the same (default: --retry)")
    judge_timeout: float | None = option(None, group=JUDGE, metavar="S", help="the same (default: 600)")

    stream: bool = option(False, group=ACCEPTED, help="answers are the same, streamed or whole")
    api_mode: bool = option(False, group=ACCEPTED, help="asking and scoring always overlap here")
    monitor_interval: float | None = option(
        None, group=ACCEPTED, metavar="S", help="the progress line is always live"
    )

    use_vllm: bool = option(False, group=REFUSED, help=SUPPRESS)
    use_verifier: bool = option(False, group=REFUSED, help=SUPPRESS)
    video_llm: bool = option(False, group=REFUSED, help=SUPPRESS)
    local_media: bool = option(False, group=REFUSED, help=SUPPRESS)
    custom_prompt: str | None = option(None, group=REFUSED, metavar="NAME", help=SUPPRESS)
    data_config: str | None = option(None, group=REFUSED, metavar="JSON", help=SUPPRESS)

    def said(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Those of the named flags that were given a value."""
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None and value is not False}

    def refuse(self) -> None:
        """Refuse what cannot be done here, and what contradicts itself."""
        for name, (why, hint) in _WHY_REFUSED.items():
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
def naming_flags() -> Iterator[None]:
    """Whatever of ours is raised inside speaks of the flags of this command."""
    try:
        yield
    except EyechartError as err:
        err.message = rename_flags(err.message, _NAMES)
        err.hint = hint_in_flags(err.hint)
        err.args = (err.message,)
        raise


def hint_in_flags(hint: str) -> str:
    """A hint in flags, without the clauses about those that this command has not.

    >>> hint_in_flags("ulimit -n allows more, or ask fewer at once with --concurrency; --give-up-after 9")
    'ulimit -n allows more; ask fewer at once with --api-nproc'
    """
    known = {flag(name) for name in Flags.__dataclass_fields__}
    return translate_hint(as_flags(hint), _NAMES, known)


def as_flags(text: str) -> str:
    """What is said of a configuration, in the words of one who has written flags.

    >>> as_flags("eval_config: judge_args is not valid JSON"), as_flags("judge: NAME names one")
    ('--judge-args is not valid JSON', '--judge NAME names one')
    """
    text = re.sub(r"\beval_config: (\w+)", lambda found: flag(found[1]), text)
    text = rename_flags(text.replace("keep_failed: true", "--keep-failed"), _NAMES)
    text = re.sub(r"\b(judge|mode|reuse_aux|reuse): ", lambda found: f"{flag(found[1])} ", text)
    return text.replace("eval_config", "the command").replace("a work_dir", "a --work-dir")
