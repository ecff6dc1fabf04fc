"""Parameters without the keys among them: what may be written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[secret]"

# Only names that nobody gives to anything else: `token` and `image_token` may well change an answer.
_SECRET = re.compile(
    r"(?:^|_)(?:api_?key|secret(?:_key)?|password|passwd|authorization|(?:access|auth|bearer|api|hf)_token)$|^key$",
    re.IGNORECASE,
)


def without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters with keys and passwords hidden, however deep they lie.

    >>> without_secrets({"max_tokens": 9, "api_key": "sk-1", "headers": {"X-Api-Key": "sk-2"}})
    {'max_tokens': 9, 'api_key': '[secret]', 'headers': {'X-Api-Key': '[secret]'}}
    """
    return {
        name: HIDDEN if value and _SECRET.search(str(name).replace("-", "_")) else _inside(value)
        for name, value in parameters.items()
    }


def _inside(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return [_inside(one) for one in value] if isinstance(value, list | tuple) else value
