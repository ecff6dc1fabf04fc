"""Endpoint URLs and keys from the environment and from a `.env` file.

A `.env` in the current folder may have come with downloaded data. So it sets only the names below, a note is
printed, and a key is sent only to a URL of the same source: a key of the environment never goes to a URL of
the file, nor a key of the file to a URL of the environment. Flags and configurations are the user's decision.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from eyechart.errors import UsageError, join_names, shorten
from eyechart.models.specs import split_address

ADDRESSES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
KEY = "OPENAI_API_KEY"
NO_KEY = "none"  # in place of a key: nothing is sent, or the server takes any
# Each provider's keys, and the URLs that they may be sent to.
_PAIRS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((KEY,), ADDRESSES),
    (("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)),
    (("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)),
    (("AZURE_OPENAI_API_KEY",), ("AZURE_OPENAI_ENDPOINT",)),
    (("OPENROUTER_API_KEY",), ("OPENROUTER_BASE_URL",)),
    (("AWS_BEARER_TOKEN_BEDROCK",), ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)),
)
_ALL_ADDRESSES = frozenset(name for _, addresses in _PAIRS for name in addresses)
_PLAIN = _ALL_ADDRESSES | {
    "LMUData", "HF_HOME", "HF_HUB_OFFLINE", "PRED_FORMAT", "EVAL_FORMAT", "AZURE_OPENAI_API_VERSION",
    "OPENAI_API_VERSION", "AWS_BEARER_TOKEN_BEDROCK",
}  # fmt: skip
_KEYS = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_)?(?:KEY|TOKEN)")  # --api-key-env may name any of them
# What a server of weights may need: to load them, and its own settings.
_OF_SERVERS = (
    "HF_", "HUGGING_FACE_", "HUGGINGFACE_", "MODELSCOPE_", "TRANSFORMERS_", "VLLM_", "SGLANG_", "SGL_",
)  # fmt: skip
_SECRET = re.compile(
    r"(?:^|_)(?:(?:API)?KEYS?|TOKENS?|SECRETS?|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?)(?:_|$)"
)
_MAX_BYTES = 1_000_000
_OF_PROVIDERS = (
    *(name for keys, addresses in _PAIRS for name in (*keys, *addresses)),
    "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AWS_REGION", "AWS_DEFAULT_REGION",
)  # fmt: skip

_from_file: dict[str, str] = {}
# Those that are not put into the environment, where a user's class would find them.
_withheld: dict[str, str] = {}


def load_dotenv(path: Path = Path(".env")) -> str:
    """Set the known names of a .env file in the environment, which wins; returns a note that lists them.

    Variables are not expanded: ``http://host/${OPENAI_API_KEY}`` would leak a key.
    """
    _from_file.clear()
    _withheld.clear()
    if not path.is_file():
        return ""
    values = _read(path)
    known = {name: value for name, value in values.items() if name in _PLAIN or _KEYS.fullmatch(name)}
    for name, value in known.items():
        if "${" in value:
            raise UsageError(f"{path}: {name} refers to another variable", hint="write out the value")
        alike = next((group for pair in _PAIRS for group in pair if name in group), (name,))
        if value and not any(map(os.environ.get, alike)):
            _from_file[name] = value
    apart: set[str] = set()
    for keys, addresses in _PAIRS:
        if any(map(os.environ.get, keys)):
            apart.update(addresses)
        if any(map(os.environ.get, addresses)):
            apart.update(keys)
    _withheld.update((name, value) for name, value in _from_file.items() if name in apart)
    os.environ.update((name, value) for name, value in _from_file.items() if name not in apart)
    return _announcement(path, sorted(values.keys() - known.keys()))


class State(NamedTuple):
    """What is known of providers: of the environment, and of the .env file."""

    variables: dict[str, str]
    from_file: dict[str, str]
    withheld: dict[str, str]


def get_state() -> State:
    """The keys and URLs of providers, to be restored in another process. Holds secrets."""
    found = {name: os.environ[name] for name in _OF_PROVIDERS if name in os.environ}
    return State(found, dict(_from_file), dict(_withheld))


def restore_state(state: State) -> None:
    """Use the keys and URLs of another process: what it does not have is not used here, either."""
    for name in _OF_PROVIDERS:
        os.environ.pop(name, None)
    os.environ.update(state.variables)
    _from_file.clear()
    _from_file.update(state.from_file)
    _withheld.clear()
    _withheld.update(state.withheld)


def list_for_server(*needed: str) -> dict[str, str]:
    """The environment of a server that we start: without keys, except `needed` ones and those of weights."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in needed or name.startswith(_OF_SERVERS) or not _SECRET.search(name.upper())
    }


def find_address(names: Sequence[str] = ADDRESSES) -> str | None:
    """The endpoint URL in the environment, if any."""
    return next(filter(None, map(find_key, names)), None)


def find_key(name: str = KEY) -> str | None:
    """The key in the environment, if any."""
    return os.environ.get(name) or _withheld.get(name)


def refuse_foreign_key(key: str | None, names: Sequence[str] = ADDRESSES) -> None:
    """Refuse to send a key to the environment's URL if only one of the two comes from a .env file."""
    name = next(filter(find_key, names), None)
    if not key or key == NO_KEY or name is None:
        return
    place = find_key(name) or ""
    is_address_of_file = _from_file.get(name) == place
    is_key_of_file = key in (value.strip() for value in _from_file.values())
    if is_address_of_file == is_key_of_file:
        return
    where = place.strip().rpartition("@")[2].partition("?")[0]
    one, other = ("the URL", "the key") if is_address_of_file else ("the key", "the URL")
    raise UsageError(
        f"{one} comes from .env and {other} does not, so the key is not sent to {shorten(where)} ({name})",
        hint="if that server may have the key, name it with --base-url, or set both in the same place",
    )


def _read(path: Path) -> dict[str, str]:
    from dotenv import dotenv_values

    if path.stat().st_size > _MAX_BYTES:
        raise UsageError(f"{path}: larger than {_MAX_BYTES:,} bytes", hint="if it is not yours, rename it")
    try:
        found = dotenv_values(path, interpolate=False, encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        raise UsageError(f"{path}: not UTF-8 text: {err}", hint="save it as UTF-8, or rename it") from err
    return {name: value for name, value in found.items() if value is not None and "\0" not in value}


def _announcement(path: Path, ignored: Sequence[str]) -> str:
    parts = [
        f"{path}: sets {', '.join(map(_shown, sorted(_from_file.keys() - _withheld.keys()))) or 'nothing'}"
    ]
    for name in _withheld:
        other = "key" if name in _ALL_ADDRESSES else "URL"
        parts.append(f"{_shown(name)} is not used, because the environment has another {other}")
    return "; ".join([*parts, *([f"ignored: {join_names(ignored, 6)}"] if ignored else ())])


def _shown(name: str) -> str:
    """A name, with the server if it is a URL; never a key."""
    parts = split_address(_from_file[name].strip()) if name.endswith(("_BASE", "_BASE_URL", "_URL")) else None
    return name if parts is None else f"{name} ({parts.scheme}://{parts.netloc.rpartition('@')[2]})"
