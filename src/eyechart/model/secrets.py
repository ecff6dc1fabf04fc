"""Parameters without the keys among them: what may be written down."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[secret]"

# Only names that nobody gives to anything else: what is hidden no longer tells two runs apart, and
# `image_token` or `answer_key` may well change an answer.
_SECRET = re.compile(
    r"secret|passw(?:or)?d|passphrase|authorization|credential"
    r"|^(?:key|token)$"
    r"|api_?(?:keys?|token)$"
    r"|(?:^|_)(?:auth|access|private|signing|subscription|judge|hf|hub|huggingface"
    r"|openai|azure|anthropic|google|gemini|dashscope|github)_?keys?(?:_id)?$"
    r"|(?:^|_)(?:auth|access|bearer|refresh|session|judge|hf|hub|huggingface|openai|github)_?token$",
    re.IGNORECASE,
)


def is_secret(name: Any) -> bool:
    """Whether what goes by that name is a key or a password."""
    return _SECRET.search(str(name).replace("-", "_").lstrip("_")) is not None


def without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters with keys and passwords hidden, however deep they lie.

    >>> without_secrets({"max_tokens": 9, "api_key": "sk-1", "headers": {"X-Api-Key": "sk-2"}})
    {'max_tokens': 9, 'api_key': '[secret]', 'headers': {'X-Api-Key': '[secret]'}}
    """
    return {
        name: HIDDEN if value and is_secret(name) else _inside(value) for name, value in parameters.items()
    }


def is_no_answer(secret: str) -> bool:
    """Whether no answer holds it by chance, so that hiding it there moves no score.

    >>> [is_no_answer(key) for key in ("EMPTY", "sk-admin", "token-abc123", "correct-horse-battery")]
    [False, False, True, True]
    """
    has_both = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return len(secret) >= 16 or (len(secret) >= 8 and has_both)


def written_forms(secret: str) -> tuple[str, ...]:
    """A secret as it is, and as Python, JSON and addresses write it; the longest first."""
    from urllib.parse import quote, quote_plus

    quoted = {repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)}
    return tuple(sorted({secret, *quoted}, key=lambda form: (-len(form), form)))


def _inside(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return [_inside(one) for one in value] if isinstance(value, list | tuple) else value
