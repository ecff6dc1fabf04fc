"""Our advice names the flags of `eyechart run`; here they have the authors' names, or there are none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from eyechart import errors
from eyechart.compat.insight_o3.arguments import Arguments

_NAMES: Mapping[str, str] = {
    "pictures are looked for beside the data file, then in --image-root": "paths start from --img_dir",
    "keep pictures below the data file's folder, or name their folder with --image-root": "paths start "
    "from --img_dir, and must not lead out of it",
    "--param extra_body.NAME=VALUE": '--chat_completion_kwargs \'{"extra_body": {"NAME": VALUE}}\'',
    "--param NAME=VALUE": "--chat_completion_kwargs '{\"NAME\": VALUE}'",
    "--judge": "--judge_model",
    "--judge-base-url": "--judge_api_base_url",
    "--judge-api-key": "--judge_api_key",
    "--judge-prompts": "--judge_prompts",
    "--base-url": "--api_base_url",
    "--api-key": "--api_key",
    "--timeout": "--client_timeout",
    "--image-root": "--img_dir",
    "--out": "--output_dir",
}
_KNOWN = frozenset(f"--{name}" for name in Arguments.__dataclass_fields__)


def in_these_words(hint: str) -> str:
    """A hint with the names that flags have here, without the clauses about others.

    >>> in_these_words("is the server running? --base-url names another address")
    'is the server running? --api_base_url names another address'
    >>> in_these_words("start the same command again; --give-up-after N tries for longer")
    'start the same command again'
    """
    return errors.advice(hint, _NAMES, _KNOWN)


def renamed(text: str) -> str:
    """A text with the names that flags have here."""
    return errors.renamed(text, _NAMES)


def own_flags() -> AbstractContextManager[None]:
    """Whatever is wrong inside is told with the names that the arguments have here."""
    return errors.in_words(_NAMES, _KNOWN)
